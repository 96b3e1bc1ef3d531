//! Naming: the known entities that a question names, exactly or nearly, and their other names.
//!
//! In: a question. Out: entities with the confidence of the link; further search terms: the right
//! spelling of a misspelled name, other names of the entity.
//! Invariants: a known name is matched as a whole, by its norm, never by a part of it; the longest
//! run of words wins. Only a run with a word that no document has is compared with known names for
//! misspellings, through the index of name keys (`extract/link/blocking.rs`), so other questions
//! cost nothing more.

use std::collections::BTreeSet;

use crate::plan::Plan;
use crate::plan::question::{Question, is_stop_word};
use crate::quote::matched::matched;
use crate::{AskError, QueryContext};
use extract::link::blocking::{MIN_EDIT_CHARS, keys_of};
use extract::link::features::digits_agree;
use index::read::Name;
use index::words::phrase_of;
use model::terms::{RelPath, norm_of};
use notes::resolve::folder_of_index;

/// Most entities that a question names.
const MAX_SEEDS: usize = 8;

/// Shortest single-word surface that is looked up as a name: shorter ones match by accident.
const MIN_NAME_CHARS: usize = 2;

/// Longest run of words tried as a misspelled name, and most runs per question.
const MAX_MISSPELT_WORDS: usize = 4;
const MAX_MISSPELT_RUNS: usize = 12;

/// Norms of at least this many characters may differ in two places.
const LONG_NORM_CHARS: usize = 12;

/// Confidence of a link by a misspelled name.
const MISSPELT: f32 = 0.8;

/// Most names compared with one misspelled run.
const MAX_COMPARED: usize = 200;

/// Most other names searched for, per entity and in total.
const MAX_OTHER_NAMES: usize = 2;
const MAX_OTHER_TERMS: usize = 8;

/// An entity that the question names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seed {
    pub entity: i64,
    pub link: f32,
    /// The words of the question that name it, one bit each, numbered as in [`matched`].
    pub words: u64,
}

/// The names in a question.
#[derive(Debug, Default)]
pub(crate) struct Named {
    pub seeds: Vec<Seed>,
    /// Terms that the question means but does not contain.
    pub more_terms: Vec<SearchTerm>,
}

/// What is searched for: a word of the question, or another name of an entity in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SearchTerm {
    /// An FTS5 expression.
    pub fts: String,
    /// The words of the question that it stands for, one bit each.
    pub words: u64,
}

/// A run of the question's words: first, one past the last, as written.
type Run<'q> = (usize, usize, &'q str);

/// Links words of the question to entities. The longest run of words that is a known name wins.
pub(crate) fn named(ctx: &QueryContext<'_>, plan: &Plan) -> Result<Named, AskError> {
    let mut named = Named::default();
    let mut taken: Vec<Run<'_>> = Vec::new();
    let mut runs = plan.question.name_runs();
    runs.sort_by_key(|(start, end, _)| (std::cmp::Reverse(end - start), *start));
    for run in &runs {
        if named.seeds.len() == MAX_SEEDS {
            return Ok(named);
        }
        if may_name(*run) && is_free(&taken, *run) {
            let Some((entity, link)) = known(ctx, &norm_of(run.2))? else { continue };
            taken.push(*run);
            let words = matched(run.2, &plan.question.words);
            add(&mut named, Seed { entity, link, words });
        }
    }
    misspelt(ctx, &runs, &plan.question.words, &mut taken, &mut named)?;
    if plan.other_names {
        for seed in named.seeds.clone() {
            let names = other_names(ctx, seed.entity)?;
            // A name that shares a word with the question would count that word twice: cranfield
            // loses .01 nDCG@10.
            let is_new = |name: &&String| matched(name, &plan.question.words) == 0;
            let new = names.iter().filter(is_new).take(MAX_OTHER_NAMES);
            let new = new
                .filter_map(|name| Some(SearchTerm { fts: phrase_of(name)?, words: seed.words }));
            named.more_terms.extend(new);
        }
    }
    named.more_terms.dedup_by(|one, other| one.fts == other.fts);
    named.more_terms.truncate(MAX_OTHER_TERMS);
    Ok(named)
}

fn may_name(run: Run<'_>) -> bool {
    let (start, end, surface) = run;
    let is_short = || norm_of(surface).chars().count() < MIN_NAME_CHARS;
    end - start > 1 || !(is_stop_word(&surface.to_lowercase()) || is_short())
}

fn is_free(taken: &[Run<'_>], run: Run<'_>) -> bool {
    !taken.iter().any(|(from, to, _)| run.0 < *to && *from < run.1)
}

fn add(named: &mut Named, seed: Seed) {
    if !named.seeds.iter().any(|known| known.entity == seed.entity) {
        named.seeds.push(seed);
    }
}

/// Returns the entity that a norm or its singular denotes.
fn known(ctx: &QueryContext<'_>, norm: &str) -> Result<Option<(i64, f32)>, AskError> {
    for norm in [Some(norm), norm.strip_suffix('s')].into_iter().flatten() {
        let name = ctx.snapshot.names().with_norm(norm)?;
        if let Some(found) = name.and_then(|name| Some((name.entity?, name.link))) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Links runs with a word that no document has to a known name with nearly the same spelling.
fn misspelt<'q>(
    ctx: &QueryContext<'_>,
    runs: &[Run<'q>],
    words: &[String],
    taken: &mut Vec<Run<'q>>,
    named: &mut Named,
) -> Result<(), AskError> {
    let mut unknown: BTreeSet<usize> = BTreeSet::new();
    for (start, _, word) in runs.iter().filter(|(start, end, _)| end - start == 1) {
        if !is_stop_word(&word.to_lowercase()) && !is_written(ctx, word)? {
            unknown.insert(*start);
        }
    }
    let mut n_tried = 0;
    for run in runs.iter().filter(|run| run.1 - run.0 <= MAX_MISSPELT_WORDS) {
        let is_due = unknown.range(run.0..run.1).next().is_some() && is_free(taken, *run);
        if !is_due || norm_of(run.2).chars().count() < MIN_EDIT_CHARS {
            continue;
        }
        n_tried += 1;
        if n_tried > MAX_MISSPELT_RUNS || named.seeds.len() == MAX_SEEDS {
            break;
        }
        if let Some((entity, link, surface)) = nearly(ctx, run.2)? {
            taken.push(*run);
            let words = matched(run.2, words);
            add(named, Seed { entity, link: link * MISSPELT, words });
            named.more_terms.extend(phrase_of(&surface).map(|fts| SearchTerm { fts, words }));
        }
    }
    Ok(())
}

/// Returns whether any chunk has a word.
fn is_written(ctx: &QueryContext<'_>, word: &str) -> Result<bool, AskError> {
    for term in Question::new(word).terms {
        if ctx.snapshot.full_text().has(&term)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns, of the known names with nearly this spelling, the one in most documents.
fn nearly(ctx: &QueryContext<'_>, surface: &str) -> Result<Option<(i64, f32, String)>, AskError> {
    let norm = norm_of(surface);
    let mut best: Option<Name> = None;
    for key in keys_of(surface, &norm, None) {
        for name in ctx.snapshot.names().keyed(key, MAX_COMPARED)? {
            let is_more = best.as_ref().is_none_or(|best| name.n_docs > best.n_docs);
            if is_more && is_nearly(&norm, &name.norm) {
                best = Some(name);
            }
        }
    }
    Ok(best.and_then(|name| Some((name.entity?, name.link, name.surface))))
}

/// Returns whether one typo, or two in long names, separates two norms: a letter added, missing or
/// replaced, or two swapped.
fn is_nearly(asked: &str, name: &str) -> bool {
    let n = asked.chars().count().min(name.chars().count());
    let most = if n >= LONG_NORM_CHARS { 2 } else { 1 };
    n >= MIN_EDIT_CHARS && digits_agree(asked, name) && strsim::osa_distance(asked, name) <= most
}

/// Returns other names of an entity: those that authors gave it, or that most documents use, and that of its file.
fn other_names(ctx: &QueryContext<'_>, entity: i64) -> Result<Vec<String>, AskError> {
    let names = ctx.snapshot.names().of(entity)?.into_iter();
    let sure = names.filter(|it| it.sense == 0 && !it.surface.is_empty() && it.link >= 1.0);
    let home = ctx.snapshot.entities().get(entity)?.and_then(|it| it.path);
    // Every folder may have an index, so its name says nothing of one.
    let file = home.filter(|path| folder_of_index(path).is_none());
    let file = file.map(|path| RelPath::new(path).stem().to_string());
    Ok(sure.map(|it| it.surface).take(MAX_OTHER_NAMES).chain(file).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_another_spelling_and_another_word_is_another_name() {
        for (asked, name) in [
            ("signnigservice", "signingservice"),
            ("lindqar", "lindqvar"),
            ("lindqvaar", "lindqvar"),
            ("keymanagmentservce", "keymanagementservice"),
        ] {
            assert!(is_nearly(asked, name), "{asked} {name}");
        }
        for (asked, name) in [
            ("alpha1", "alpha2"),
            ("store", "stone"),
            ("lindberg", "lindqvar"),
            ("porto", "portos"),
        ] {
            assert!(!is_nearly(asked, name), "{asked} {name}");
        }
    }
}
