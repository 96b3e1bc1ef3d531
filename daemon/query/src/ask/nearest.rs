//! Nearest: compares a text that is about to be remembered with what the folder states.
//!
//! In: the text, and the note of its subject. Out: where it is stated already, similar statements,
//! and statements that contradict it.
//! Invariants: two statements are compared only if they have the same subject: in the note of that
//! subject, or where they name it, or where both state it themselves.

use proto::error::ErrorView;
use proto::shape::SourceView;

use super::found::{Search, search};
use super::picked::Choosing;
use crate::kb::Library;
use crate::quote::claim::Claim;
use crate::quote::source::Source;
use crate::quote::statement::{Statement, without_id, without_marks};
use crate::{AskError, QueryContext};

/// Least share of common words of a similar text.
const SIMILAR: f64 = 0.34;

/// Longest line that is compared, characters.
const MAX_LINE: usize = 500;

/// A text to remember.
#[derive(Debug, Clone, Default)]
pub struct NewText<'a> {
    /// What it says.
    pub text: &'a str,
    /// Row id of its subject's note.
    pub doc: Option<i64>,
    /// Names of its subject.
    pub names: &'a [String],
    /// Its own place, if it is already stored.
    pub own: Option<&'a SourceView>,
}

/// A statement similar to another.
#[derive(Debug, Clone)]
pub struct Nearest {
    /// Its text and place.
    pub source: SourceView,
    /// The reason for the conflict, if there is one.
    pub conflict: Option<String>,
}

/// Returns where the note of the subject already states a text, in the same words or in equivalent
/// ones.
///
/// # Errors
/// When the index cannot be read.
pub fn existing_statement(
    ctx: &QueryContext<'_>,
    new_text: &NewText<'_>,
) -> Result<Option<SourceView>, AskError> {
    let Some(doc) = new_text.doc else { return Ok(None) };
    let own = Claim::of(new_text.text, new_text.names);
    let is_same = |it: &SourceView| Claim::of(&it.text, new_text.names).is_same(&own);
    Ok(lines_of(ctx, doc)?.into_iter().rfind(is_same))
}

/// Returns the last line of a note that starts with the first words of a text.
///
/// # Errors
/// When the index cannot be read.
pub fn standing(
    ctx: &QueryContext<'_>,
    doc: i64,
    text: &str,
) -> Result<Option<SourceView>, AskError> {
    let plain = |line: &str| -> Vec<String> {
        bare(line.trim_start_matches('#')).split_whitespace().map(String::from).collect()
    };
    let first = text.lines().map(plain).find(|it| !it.is_empty()).unwrap_or_default();
    let claim = Claim::of(&first.join(" "), &[]);
    let (lines, is_same) =
        (lines_of(ctx, doc)?, |it: &&SourceView| Claim::of(&it.text, &[]).is_same(&claim));
    let exact = lines.iter().rfind(|it| plain(&it.text) == first);
    Ok(exact.or_else(|| lines.iter().rfind(is_same)).cloned())
}

/// Returns the lines of a note, without markup.
fn lines_of(ctx: &QueryContext<'_>, doc: i64) -> Result<Vec<SourceView>, AskError> {
    let Some(source) = Source::load(ctx, doc)? else { return Ok(vec![]) };
    let mut at = 0;
    let mut lines = Vec::new();
    for line in source.text.split_inclusive('\n') {
        let words = bare(line);
        if !words.is_empty() && words.len() <= MAX_LINE {
            lines.push(source.view(at, words.to_string()));
        }
        at += line.len();
    }
    Ok(lines)
}

/// Strips the markers of lists, categories, tags and numbers from a line.
fn bare(line: &str) -> &str {
    without_category(without_tags(without_marks(without_id(line.trim())))).trim()
}

/// Strips the category of a statement, `[decision] `.
fn without_category(text: &str) -> &str {
    let category = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    category.filter(|(name, _)| !name.contains(['[', ']'])).map_or(text, |(_, rest)| rest)
}

/// Strips the tags at the end of a statement.
fn without_tags(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some((rest, tag)) = text.rsplit_once(' ')
        && tag.len() > 1
        && tag.starts_with('#')
    {
        text = rest.trim_end();
    }
    text
}

/// Returns the statements of the folder that say nearly the same as a text, or the opposite:
/// contradictions first, then by similarity, at most `most`.
///
/// # Errors
/// When the index cannot be read.
pub fn nearest(
    ctx: &QueryContext<'_>,
    library: &Library,
    new_text: &NewText<'_>,
    most: usize,
) -> Result<Vec<Nearest>, ErrorView> {
    // As plain words: operators in the text must not be parsed as a query.
    let words: Vec<&str> = new_text.text.split(|c: char| !c.is_alphanumeric()).collect();
    let words: Vec<String> =
        words.into_iter().filter(|it| !it.is_empty()).map(str::to_lowercase).collect();
    let query: String = words.join(" ").chars().take(900).collect();
    if query.is_empty() {
        return Ok(vec![]);
    }
    let own = Statement::all_of(new_text.text);
    let own = match own.is_empty() {
        true => vec![Statement::new(new_text.text.to_string(), 0..new_text.text.len())],
        false => own,
    };
    let claims: Vec<Claim> = own.iter().map(|it| Claim::of(&it.text, new_text.names)).collect();
    let mut near: Vec<(f64, Nearest)> = Vec::new();
    let mut add = |statement: &Statement, source: SourceView, is_subject: bool| {
        let is_itself = new_text.own.is_some_and(|it| {
            it.path == source.path && (new_text.doc.is_none() || it.line == source.line)
        });
        let is_listed = near.iter().any(|(_, it)| {
            (&it.source.path, it.source.line) == (&source.path, source.line)
                && it.source.text == source.text
        });
        if is_itself || is_listed {
            return;
        }
        let likeness = own.iter().map(|one| one.likeness(statement)).fold(0.0, f64::max);
        let other = Claim::of(bare(&statement.text), new_text.names);
        if other.is_empty() {
            // A heading with the name of the subject states nothing about it.
            return;
        }
        let is_about = |it: &Claim| {
            is_subject || other.names_subject || new_text.names.is_empty() && it.stands_alone()
        };
        let conflict =
            claims.iter().filter(|it| is_about(it)).find_map(|it| it.contradicts(&other));
        if likeness >= SIMILAR || conflict.is_some() {
            near.push((likeness, Nearest { source, conflict }));
        }
    };
    for line in new_text.doc.map(|doc| lines_of(ctx, doc)).transpose()?.unwrap_or_default() {
        let statement = Statement::new(line.text.clone(), 0..line.text.len());
        add(&statement, line, true);
    }
    let found = search(ctx, Search { query: &query, depth: 20, ..Search::default() })?;
    for it in found.statements(ctx, library, Choosing::among(found.hits.len()))? {
        // An entry's only subject is what it states.
        let is_entry = new_text.names.is_empty() && library.entry_index.of_doc(it.doc).is_some();
        if new_text.doc != Some(it.doc) {
            add(&it.statement, it.source, is_entry);
        }
    }
    near.sort_by(|a, b| {
        let is_free = |it: &(f64, Nearest)| it.1.conflict.is_none();
        is_free(a).cmp(&is_free(b)).then(b.0.total_cmp(&a.0))
    });
    Ok(near.into_iter().take(most).map(|it| it.1).collect())
}
