//! Cited: the documents whose file a question is, as `keys.md`, `docs/keys.md` or `keys.md:12` are.
//!
//! In: a question, what was ranked. Out: the same, with the passage of each such document first that is at the line,
//! else its first one.
//! Invariant: a question that is no file's name costs no look-up.
//! Not here: reading a passage by its place (`passage.rs`).

use rusqlite::{OptionalExtension, params};

use super::plan::Plan;
use super::rank::Ranked;
use super::{AskError, Desk, copies};

/// What the score tells of it.
pub(super) const COMPONENT: &str = "file";

/// Documents of one name that are put first.
const MAX_DOCS: i64 = 5;

/// Longest ending of a file's name, bytes.
const MAX_ENDING: usize = 8;

/// Puts first what a question cites.
pub(super) fn put_first(
    desk: &Desk<'_>,
    plan: &Plan,
    ranked: &mut Vec<Ranked>,
) -> Result<(), AskError> {
    let Some((path, line)) = file(&plan.question.text) else { return Ok(()) };
    let best = ranked.iter().map(|it| it.score).fold(1.0, f32::max);
    let mut first = Vec::new();
    for doc in documents(desk, path)? {
        let Some(chunk) = chunk_of(desk, doc, line)? else { continue };
        if !copies::passes(desk, plan, chunk)? {
            continue;
        }
        let known = ranked.iter().position(|it| it.chunk == chunk);
        let known = known.map(|at| ranked.remove(at));
        first.push(known.unwrap_or_else(|| Ranked { chunk, ..Ranked::default() }));
    }
    let n = first.len();
    for (at, one) in first.iter_mut().enumerate() {
        let value = best * (n - at) as f32;
        one.components.insert(COMPONENT, value);
        one.score += value;
    }
    ranked.splice(..0, first);
    Ok(())
}

/// The path and line that a question is, if it looks like one.
fn file(question: &str) -> Option<(&str, Option<i64>)> {
    let (path, line) = match question.rsplit_once(':') {
        Some((path, lines)) => (path, Some(lines.split('-').next()?.parse().ok()?)),
        None => (question, None),
    };
    let path = path.trim_start_matches("./").trim_start_matches('/');
    let (stem, ending) = path.rsplit_once('.')?;
    let is_ending = (1..=MAX_ENDING).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    (is_ending && !stem.is_empty()).then_some((path, line))
}

/// The documents of that path, or at that path in some folder; whole paths first.
fn documents(desk: &Desk<'_>, path: &str) -> Result<Vec<i64>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT id FROM docs WHERE path = ?1 COLLATE NOCASE OR substr(path, -length(?2)) = ?2 COLLATE NOCASE
         ORDER BY path = ?1 DESC, path = ?1 COLLATE NOCASE DESC, length(path), path LIMIT ?3",
    )?;
    let rows =
        statement.query_map(params![path, format!("/{path}"), MAX_DOCS], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The chunk of a document at a line, else its first: its name says nothing of the others.
fn chunk_of(desk: &Desk<'_>, doc: i64, line: Option<i64>) -> Result<Option<i64>, AskError> {
    let mut at = desk.snapshot.prepare_cached(
        "SELECT id FROM chunks WHERE doc_id = ?1 ORDER BY line_end < ?2, idx LIMIT 1",
    )?;
    Ok(at.query_row(params![doc, line.unwrap_or(0)], |row| row.get(0)).optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_s_name_is_told_from_a_question() {
        for (question, expected) in [
            ("keys.md", Some(("keys.md", None))),
            ("./docs/keys.md:12", Some(("docs/keys.md", Some(12)))),
            ("docs/keys.md:12-18", Some(("docs/keys.md", Some(12)))),
            ("Lighthouse Affair.md", Some(("Lighthouse Affair.md", None))),
            ("keys.md:", None),
            ("v1.2.3", None),
            (".md", None),
            ("who wrote it?", None),
            ("keys.md says what?", None),
        ] {
            assert_eq!(file(question), expected, "{question}");
        }
    }
}
