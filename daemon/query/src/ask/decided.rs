//! Decided: the decisions that the folder states about a subject, and their reasons.
//!
//! In: a question. Out: statements: observations of the category `decision`, text below a heading
//! such as `Decisions`, decision records (by type, folder or entry), and sentences that say that
//! something was decided. Documents that state decisions are searched separately, so that other
//! documents do not crowd them out.
//! Invariants: explicit decisions come before mere mentions; each statement is relevant to the
//! question by itself or by its headings; a reason follows the decision of its document.

use proto::error::ErrorView;
use proto::tool::core::Ask;
use proto::tool::kb::EntryType;
use rustc_hash::FxHashSet;

use super::choose::{asks_why, decides, gives_reason, has_no_content};
use super::found::{Found, Search, search};
use super::picked::{Choosing, Of, Picked, rank};
use super::{DEPTH, LEAST_OF_BEST, Sources};
use crate::graph::name_of;
use crate::kb::Library;
use crate::plan::when::When;
use crate::quote::source::Source;
use crate::{AskError, QueryContext};
use index::read::{Filter, OfNotes, Order, Under};

/// Categories of observations that count as decisions.
const CATEGORIES: [&str; 6] =
    ["decision", "decisions", "decided", "agreed", "agreement", "resolution"];

/// Prefixes of words in a heading above decisions, and the most words that such a heading has.
const HEADINGS: [&str; 5] = ["decision", "decided", "agreed", "agreement", "resolution"];
const MAX_HEADING_WORDS: usize = 4;

/// Words by which such a heading heads something else: nothing is decided yet (`Open decisions`), or links to decisions
/// follow (`Decisions she wrote`).
const OTHERWISE: [&str; 11] =
    ["not", "no", "open", "pending", "yet", "needed", "she", "he", "they", "wrote", "related"];

/// Headings above reasons.
const REASONS: [&str; 8] =
    ["context", "rationale", "reason", "reasons", "why", "motivation", "background", "drivers"];

/// Types of decision records, and beginnings of the names of their folders.
const RECORDS: [&str; 2] = ["decision", "adr"];

/// Bonus of a statement that is marked as a decision, and of one that only mentions one.
const STATED: f64 = 0.3;
const MENTIONED: f64 = 0.1;

/// Most documents read when all decisions are asked for.
const MAX_LATEST: usize = 100;

/// Most reasons per document.
const MAX_REASONS: usize = 2;

/// A question about decisions.
pub(super) struct Wanted<'a> {
    pub request: &'a Ask,
    /// The question without the words that ask for decisions; empty means all decisions.
    pub rest: &'a str,
    pub about: Option<i64>,
    pub limit: usize,
}

/// Returns the decisions that a question asks for, best match first; if it does not say which, all
/// of them, latest first.
pub(super) fn decided(
    sources: &Sources<'_>,
    found: &Found,
    wanted: &Wanted<'_>,
) -> Result<Vec<Picked>, ErrorView> {
    let (ctx, library) = (sources.ctx, sources.library);
    let named = wanted.about.map(|about| name_of(ctx, about)).transpose()?.flatten();
    // Dates select by time; the rest is the topic.
    let when = &found.asked.when;
    let topic = match when.is_empty() {
        true => wanted.rest.to_string(),
        false => When::parted(wanted.rest).1,
    };
    let query = match (has_no_content(&topic), named) {
        (true, name) => name.unwrap_or_default(),
        (false, _) => topic,
    };
    let is_then = |it: &Picked| when.is_empty() || when.holds(&it.dated.day);
    let Stating { docs, records } = Stating::read(ctx, library)?;
    if query.is_empty() {
        let latest = latest(ctx, wanted.request, docs)?;
        let all = latest.into_iter().map(|doc| Of { chunk: 0, doc, relevance: 0.0, rank: 0.0 });
        let mut all = of_documents(ctx, &records, found, all)?;
        all.retain(|it| !it.is_reason && is_then(&it.picked));
        // Of a record what it decides first; records before what other documents mention, the latest first.
        let mut seen = FxHashSet::default();
        all.retain(|it| !it.is_record || seen.insert(it.picked.doc));
        all.sort_by(|a, b| {
            let order = b.is_record.cmp(&a.is_record);
            order.then_with(|| b.picked.dated.day.cmp(&a.picked.dated.day))
        });
        let picked = all.into_iter().map(|it| it.picked);
        return Ok(Found::merge_repeats(picked).into_iter().take(wanted.limit).collect());
    }
    let among = Some(docs).filter(|docs| !docs.is_empty());
    let own = Search { query: &query, depth: DEPTH, among, ..Search::of(wanted.request) };
    let own = if own.among.is_some() { search(ctx, own)? } else { Found::default() };
    let mut seen = FxHashSet::default();
    let hits = own.hits.iter().filter(|hit| !hit.is_weak && seen.insert(hit.doc)).enumerate();
    let of = hits.map(|(at, hit)| Of {
        chunk: hit.chunk,
        doc: hit.doc,
        relevance: hit.relevance,
        rank: rank(at),
    });
    let all = of_documents(ctx, &records, &own, of)?;
    let (reasons, stated): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| it.is_reason);
    let wants_why = asks_why(&wanted.request.query);
    let mut stated: Vec<Picked> = stated.into_iter().map(|it| it.picked).collect();
    if wants_why {
        // A decision says what is; what it was before, and what happened, stands among its reasons.
        for it in &mut stated {
            let own = reasons.iter().filter(|one| one.picked.doc == it.doc);
            it.above.extend(own.map(|one| one.picked.statement.text.clone()));
        }
    }
    let choosing = Choosing { is_above_read: true, bonus: |_| STATED, ..Choosing::among(DEPTH) };
    let mut picked = own.best(ctx, library, stated, choosing);
    picked.retain(|it| own.asked.fits(it.own) && is_then(it));
    let bonus = |it: &Picked| if decides(&it.statement.text) { MENTIONED } else { -1.0 };
    let choosing = Choosing { bonus, ..Choosing::among(DEPTH) };
    let statements = found.statements(ctx, library, choosing)?;
    picked.extend(statements.into_iter().filter(|it| found.asked.fits(it.own) && is_then(it)));
    picked.sort_by(|a, b| b.score.total_cmp(&a.score));
    let best = picked.iter().map(|it| it.share).fold(0.0, f32::max);
    picked.retain(|it| it.share >= best * LEAST_OF_BEST);
    let mut picked = Found::merge_repeats(picked.into_iter());
    picked.truncate(wanted.limit);
    if wants_why {
        let reasons = of_first(reasons.into_iter().map(|it| it.picked), &picked);
        // The last one first, so that they stand in their order behind the best decision of their document.
        for reason in reasons.into_iter().rev() {
            let at = picked.iter().position(|it| it.doc == reason.doc).map_or(0, |at| at + 1);
            picked.insert(at, reason);
        }
        picked.truncate(wanted.limit);
    }
    Ok(picked)
}

/// A statement from a document that states decisions.
struct Stated {
    picked: Picked,
    is_reason: bool,
    /// Whether its document is the record of one decision.
    is_record: bool,
}

/// The documents that state decisions.
struct Stating {
    /// Ascending row ids.
    docs: Vec<i64>,
    /// Those that are the record of one decision.
    records: FxHashSet<i64>,
}

impl Stating {
    fn read(ctx: &QueryContext<'_>, library: &Library) -> Result<Stating, AskError> {
        let notes = ctx.snapshot.notes();
        let mut docs: Vec<i64> = notes.stating(Some(&CATEGORIES))?.into_iter().collect();
        notes.each_heading(|(doc, heading)| {
            let lower = heading.to_ascii_lowercase();
            docs.extend(HEADINGS.iter().any(|word| lower.contains(word)).then_some(doc));
        })?;
        let mut records: FxHashSet<i64> = entries(library).collect();
        ctx.snapshot.documents().each(|(doc, path, doc_type)| {
            records.extend(is_record(&path, &doc_type).then_some(doc));
        })?;
        docs.extend(&records);
        docs.sort_unstable();
        docs.dedup();
        Ok(Stating { docs, records })
    }
}

/// Returns whether a document is a decision record, by its type, or by the name of a folder or its file.
fn is_record(path: &str, doc_type: &str) -> bool {
    let path = format!("/{path}").to_ascii_lowercase();
    let is_in = |folder: &&str| {
        let inside = path.split_once(&format!("/{folder}"));
        inside.is_some_and(|(_, rest)| rest.contains('/'))
    };
    let mut names = path.split("/adr").skip(1);
    RECORDS.iter().any(|it| it.eq_ignore_ascii_case(doc_type))
        || RECORDS.iter().any(is_in)
        || names.any(|rest| rest.starts_with(|c: char| matches!(c, '-' | '_' | ' ' | '0'..='9')))
}

fn entries(library: &Library) -> impl Iterator<Item = i64> {
    let may =
        |row: &&crate::kb::EntryRow| row.entry.is_active && row.entry_type == EntryType::Decision;
    library.entry_index.entries().filter(may).map(|row| row.doc)
}

/// Returns the latest of some documents that pass the filters of a request.
fn latest(ctx: &QueryContext<'_>, request: &Ask, docs: Vec<i64>) -> Result<Vec<i64>, AskError> {
    let documents = ctx.snapshot.documents();
    let path = request.path.as_deref().map(|path| documents.spelled(Under::from(path)));
    let filter = Filter {
        paths: path.transpose()?.into_iter().collect(),
        after: request.after.clone(),
        before: request.before.clone(),
        of_notes: OfNotes { docs: Some(docs), ..OfNotes::default() },
        ..Filter::default()
    };
    let latest = documents.page(&filter, Order::Day, 0, MAX_LATEST)?;
    Ok(latest.into_iter().map(|it| it.id).collect())
}

/// Returns the decisions that documents state, and the reasons that they give.
fn of_documents(
    ctx: &QueryContext<'_>,
    records: &FxHashSet<i64>,
    found: &Found,
    documents: impl Iterator<Item = Of>,
) -> Result<Vec<Stated>, AskError> {
    let mut all = Vec::new();
    for of in documents {
        let Some(source) = Source::load(ctx, of.doc)? else { continue };
        let mut observations = ctx.snapshot.notes().observations(of.doc)?;
        observations
            .retain(|it| CATEGORIES.iter().any(|one| one.eq_ignore_ascii_case(&it.category)));
        let lines: Vec<u32> = observations.iter().map(|it| it.line).collect();
        let statements = found.statements_in(ctx, (&source, of), (0, &source.text))?;
        all.extend(stated(statements, records.contains(&of.doc), &lines));
    }
    Ok(all)
}

/// Separates decisions from reasons and drops the rest. `lines` are the lines of decision
/// observations.
fn stated(statements: Vec<Picked>, is_record: bool, lines: &[u32]) -> Vec<Stated> {
    let headings = |it: &Picked| it.above.len().saturating_sub(1);
    let below = |it: &Picked, is_such: fn(&str) -> bool| {
        it.above.iter().take(headings(it)).any(|heading| is_such(heading))
    };
    let is_stated = |it: &Picked| lines.contains(&it.source.line) || below(it, heads_decisions);
    let has_stated = statements.iter().any(is_stated);
    // A record without such a heading opens with the decision.
    let of_record = |(at, it): (usize, &Picked)| {
        is_record && !has_stated && (at == 0 || decides(&it.statement.text))
    };
    let decided: Vec<bool> = statements
        .iter()
        .enumerate()
        .map(|(at, it)| is_stated(it) || of_record((at, it)))
        .collect();
    let has_decided = decided.contains(&true);
    let sorted = statements.into_iter().zip(decided).filter_map(|(picked, is_decided)| {
        let is_reason = !is_decided
            && has_decided
            && (below(&picked, heads_reasons) || gives_reason(&picked.statement.text));
        (is_decided || is_reason).then_some(Stated { picked, is_reason, is_record })
    });
    sorted.collect()
}

fn heads_decisions(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    words.len() <= MAX_HEADING_WORDS
        && words.iter().any(|word| HEADINGS.iter().any(|it| word.starts_with(it)))
        && !words.iter().any(|word| OTHERWISE.contains(word))
}

fn heads_reasons(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| REASONS.contains(&word))
}

/// Keeps the first reasons of each document with a shown decision.
fn of_first(reasons: impl Iterator<Item = Picked>, shown: &[Picked]) -> Vec<Picked> {
    let mut kept: Vec<Picked> = Vec::new();
    for it in reasons {
        let n = kept.iter().filter(|one| one.doc == it.doc).count();
        if n < MAX_REASONS && shown.iter().any(|one| one.doc == it.doc) {
            kept.push(it);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_say_what_stands_below() {
        for (heading, is_decisions, is_reasons) in [
            ("Decisions", true, false),
            ("2. Decision outcome", true, false),
            ("What we decided", true, false),
            ("Agreed actions", true, false),
            ("How a committee comes to its decisions", false, false),
            ("Not decided", false, false),
            ("Open decisions", false, false),
            ("Decisions she wrote", false, false),
            ("Context", false, true),
            ("Why SQLite", false, true),
            ("Notes", false, false),
        ] {
            assert_eq!(heads_decisions(heading), is_decisions, "{heading}");
            assert_eq!(heads_reasons(heading), is_reasons, "{heading}");
        }
    }
}
