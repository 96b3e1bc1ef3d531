//! Dated: the day of a statement, and where that day is stated.
//!
//! In: a statement with its place. Out: [`Dated`]: the day in its own words, else the day of the
//! turn or heading that it belongs to, else the day that its note states, else the day on which its
//! file was changed.
//! Invariant: a month or a year without a day stays as it is (`2026-02`, `2026`).

use notes::date::{self, Named};
use serde_json::{Map, Value};

use crate::{AskError, QueryContext};
use index::read::Dates;

/// A date within this many characters of a line's start dates the whole line: `2026-01-07: The disk
/// was full.`
const HEAD_CHARS: usize = 40;

/// Characters at the beginning of a text that may state its day.
const BEGINNING_CHARS: usize = 600;

/// Most characters of a date after `Date:`.
const MAX_DATE_CHARS: usize = 20;

/// Words before a bare year. Without one of them a four-digit number is not read as a year.
const BEFORE_YEAR: [&str; 9] =
    ["in", "since", "from", "until", "by", "of", "during", "before", "after"];

/// A day and where it is stated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Dated {
    /// `YYYY-MM-DD`, `YYYY-MM` or `YYYY`.
    pub day: String,
    /// `line`, `section`, `note` or `file`.
    pub by: &'static str,
}

impl Dated {
    /// Returns the day of the document at a path.
    pub(crate) fn of_path(ctx: &QueryContext<'_>, path: &str) -> Result<Dated, AskError> {
        let doc = ctx.snapshot.documents().at(path)?;
        doc.map_or_else(|| Ok(Dated::default()), |doc| of_document(ctx, doc))
    }

    /// Returns whether the day belongs to the statement itself rather than to its whole document.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.by, "line" | "section")
    }
}

/// The dates of one document's statements.
#[derive(Debug, Clone, Default)]
pub(crate) struct Days {
    of_document: Dated,
    /// First line, last line and day of each dated turn.
    turns: Vec<(u32, u32, String)>,
}

impl Days {
    /// Reads the days of a document.
    pub(crate) fn read(ctx: &QueryContext<'_>, doc: i64) -> Result<Days, AskError> {
        let turns = ctx.snapshot.memory().dated_lines(doc)?;
        Ok(Days { of_document: of_document(ctx, doc)?, turns })
    }

    /// Returns the day of a statement: from its words, its line, or the headings above it,
    /// innermost first.
    pub(crate) fn of<'h>(
        &self,
        words: &str,
        line: (u32, &str),
        headings: impl Iterator<Item = &'h str>,
    ) -> Dated {
        let (number, line) = line;
        let year = (self.of_document.by == "note").then_some(self.of_document.day.as_str());
        let year = year.and_then(|day| day.get(..4)?.parse().ok());
        let head: String = line.chars().take(HEAD_CHARS).collect();
        if let Some(day) = first_date(words, year).or_else(|| date::first_day(&head)) {
            return Dated { day, by: "line" };
        }
        let turn = self.turns.iter().find(|(from, to, _)| (*from..=*to).contains(&number));
        let of_heading = |heading: &str| first_date(heading, None);
        let above = turn.map(|it| it.2.clone()).or_else(|| {
            let mut headings = headings;
            headings.find_map(of_heading)
        });
        above.map_or_else(|| self.of_document.clone(), |day| Dated { day, by: "section" })
    }

    /// The day of the whole document.
    pub(crate) fn document(&self) -> &Dated {
        &self.of_document
    }
}

/// Returns the day that a document states in its front matter, its file name or a line of its text,
/// else the day on which it was changed.
fn of_document(ctx: &QueryContext<'_>, doc: i64) -> Result<Dated, AskError> {
    let documents = ctx.snapshot.documents();
    let Some(Dates { path, day, stated, extra }) = documents.dates(doc)? else {
        return Ok(Dated::default());
    };
    let stated = stated.and_then(|it| date::stated_day(&it)).or_else(|| date::day_of_path(&path));
    let extra: Map<String, Value> = serde_json::from_str(&extra).unwrap_or_default();
    let mut by_note = stated.or_else(|| date::changed_day(extra.iter()));
    if by_note.is_none() {
        let beginning = documents.heads([doc], BEGINNING_CHARS)?.remove(&doc);
        by_note = beginning.as_deref().and_then(stated_date);
    }
    let by = if by_note.is_some() { "note" } else { "file" };
    Ok(Dated { day: by_note.unwrap_or(day), by })
}

/// Returns the value after `Date:` at the beginning of a text, whatever markup surrounds it.
fn stated_date(beginning: &str) -> Option<String> {
    let lower = beginning.to_lowercase();
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | ':' | '|');
    let dates = lower.match_indices("date").filter_map(|(at, word)| {
        let before = lower.get(..at)?;
        let behind = lower.get(at + word.len()..)?;
        let value = behind.trim_start_matches(is_sign);
        let signs = behind.get(..behind.len() - value.len())?;
        let is_key = !before.ends_with(char::is_alphanumeric) && signs.contains([':', '|']);
        is_key.then(|| value.chars().take(MAX_DATE_CHARS).collect::<String>())
    });
    dates.filter_map(|it| date::first_day(&it)).next()
}

/// Returns the first date in a text; `year`, if given, completes a date without one.
pub(crate) fn first_date(text: &str, year: Option<i16>) -> Option<String> {
    let lower = text.to_lowercase();
    let words = date::words(&lower);
    let (mut at, mut less) = (0, None);
    while at < words.len() {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map(|it| it.text);
        let (found, n_words) = date::read(words.get(at..).unwrap_or_default(), before);
        at += n_words;
        match found {
            Some(Named { year: Some(year), month: Some(month), day: Some(day) }) => {
                return Some(format!("{year:04}-{month:02}-{day:02}"));
            }
            Some(Named { year: None, month: Some(month), day: Some(day) }) => {
                let of = |year| format!("{year:04}-{month:02}-{day:02}");
                less = less.or_else(|| year.map(of));
            }
            Some(Named { year: Some(year), month: Some(month), day: None }) => {
                less = less.or_else(|| Some(format!("{year:04}-{month:02}")));
            }
            Some(Named { year: Some(year), month: None, day: None }) => {
                let is_sure = before.is_some_and(|it| BEFORE_YEAR.contains(&it));
                less = less.or_else(|| is_sure.then(|| format!("{year:04}")));
            }
            _ => {}
        }
    }
    less
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_day_counts() {
        let turns = vec![(4, 5, "2026-05-03".to_string())];
        let note = Dated { day: "2026-03-12".to_string(), by: "note" };
        let days = Days { of_document: note, turns };
        for (words, line, headings, day, by) in [
            ("Moved on 2026-02-14.", (1, ""), &["2026-05-20"][..], "2026-02-14", "line"),
            ("It was full.", (1, "2026-01-07: Down. It was full."), &[], "2026-01-07", "line"),
            ("Live on 3 April.", (1, ""), &[], "2026-04-03", "line"),
            ("She joined in 2025.", (1, ""), &[], "2025", "line"),
            ("Port 2025 of the server.", (4, ""), &["2026-05-20"], "2026-05-03", "section"),
            ("Rain.", (9, "Rain."), &["Morning", "20 May 2026"], "2026-05-20", "section"),
            ("Rain.", (9, "Rain."), &["Weather"], "2026-03-12", "note"),
        ] {
            let found = days.of(words, line, headings.iter().copied());
            assert_eq!(found, Dated { day: day.to_string(), by }, "{words}");
        }
    }

    #[test]
    fn a_date_may_stand_at_the_beginning_of_a_text() {
        for (text, day) in [
            ("ADR 1\n\nStatus: accepted Date: 2026-01-20", Some("2026-01-20")),
            ("**Date**: 20 January 2026\n\nMore.", Some("2026-01-20")),
            ("| Date | 2026-01-20 |", Some("2026-01-20")),
            ("An update: 2026-01-20 was a date to remember, 2026-01-21 was not.", None),
        ] {
            assert_eq!(stated_date(text).as_deref(), day, "{text}");
        }
    }
}
