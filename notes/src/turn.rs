//! Turn: who says a fact of a conversation, and on which day.
//!
//! In: the text of a fact, the heading above it. Out: [`Turn`].
//! Shape: `Ana: text`, `Ana (8 May 2023): text`, `[2023-05-08 13:56] Ana: text`, `8/5/23, 13:56 - Ana: text`,
//! `**Ana**: text`, each also with the date at the end, in parentheses.
//! Invariant: a name before a colon is a speaker only if there is a date, it is the usual name of a role, or another
//! fact of the note has it, too; so `Status: done` has none.

use std::collections::BTreeMap;

use crate::date::first_day;

/// Speakers of conversations with a language model.
const ROLES: [&str; 4] = ["assistant", "human", "system", "user"];

/// Marks of a question.
pub const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];

/// Most characters before the colon.
const MAX_HEAD: usize = 60;
/// Most words of a name.
const MAX_NAME_WORDS: usize = 3;

/// Who says a fact, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// Who says it.
    pub speaker: Option<String>,
    /// Its day in ISO form: at the start of its text, at the end, anywhere in it, otherwise in the heading above.
    pub day: Option<String>,
}

/// The part before the colon of a text.
struct Head<'t> {
    name: &'t str,
    day: Option<String>,
}

/// Reads the facts of a note, each given with the heading above it.
pub fn read<'t>(facts: impl Iterator<Item = (&'t str, Option<&'t str>)>) -> Vec<Turn> {
    let facts: Vec<_> = facts.map(|(text, heading)| (text, heading, head(text))).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for head in facts.iter().filter_map(|(.., head)| head.as_ref()) {
        *times.entry(head.name).or_insert(0) += 1;
    }
    let turn = |(text, heading, head): &(&str, Option<&str>, Option<Head<'_>>)| {
        let speaker = head.as_ref();
        let is_one = |head: &&Head<'_>| {
            head.day.is_some() || is_role(head.name) || times.get(head.name).is_some_and(|n| *n > 1)
        };
        let day = speaker.and_then(|it| it.day.clone()).or_else(|| first_day(last_bracket(text)));
        let day = day.or_else(|| first_day(text)).or_else(|| first_day(heading.as_ref()?));
        Turn { speaker: speaker.filter(is_one).map(|it| it.name.to_string()), day }
    };
    facts.iter().map(turn).collect()
}

/// Returns the name before the first colon of a text, if it may be that of a speaker.
pub fn speaker_of(text: &str) -> Option<&str> {
    head(text).map(|it| it.name)
}

/// Returns whether a name is that of a role in a conversation with a language model.
pub fn is_role(name: &str) -> bool {
    ROLES.contains(&name.to_lowercase().as_str())
}

/// Reads `[date] Name (date)` or `date - Name`; `None` when the part before the first colon is not a name.
fn head(text: &str) -> Option<Head<'_>> {
    let first = text.lines().next()?;
    // Only a colon before a blank: a time of day has a colon, too.
    let is_end = |(at, _): &(usize, &str)| first.get(at + 1..).is_none_or(|it| it.starts_with(' '));
    let (end, _) = first.match_indices(':').find(is_end)?;
    let head = first.get(..end).filter(|it| it.chars().count() <= MAX_HEAD)?;
    let after_time = head.strip_prefix('[').and_then(|it| it.split_once(']'));
    let bare = after_time.or_else(|| head.rsplit_once(" - ")).map_or(head, |(_, behind)| behind);
    let bare = bare.split_once(" (").map_or(bare, |(name, _)| name);
    // `13:56 Ana`: a time is no part of a name.
    let is_time = |c: char| c.is_ascii_digit() || matches!(c, ':' | '.' | '-' | '/' | ',' | ' ');
    let bare = bare.trim_start_matches(is_time);
    let name = bare.trim().trim_matches(['*', '_']).trim();
    let begins = |word: &str| word.chars().next().is_some_and(char::is_alphanumeric);
    let is_large = |word: &str| word.chars().next().is_some_and(|it| !it.is_lowercase());
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_name = (1..=MAX_NAME_WORDS).contains(&words.len())
        && words.iter().all(|it| begins(it))
        && (words.len() == 1 || words.iter().all(|it| is_large(it)));
    is_name.then(|| Head { name, day: first_day(head) })
}

/// Returns the text in the parentheses at the end of a text.
fn last_bracket(text: &str) -> &str {
    let inner = text.trim_end().strip_suffix(')').and_then(|it| it.rsplit_once('('));
    inner.map_or("", |(_, inner)| inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_a_speaker_and_a_day() {
        let rows = [
            ("Ana (8 May 2023): I keep the keys", None, Some("Ana"), Some("2023-05-08")),
            ("[2023-05-08 13:56] Ben Ito: hello", None, Some("Ben Ito"), Some("2023-05-08")),
            ("8/5/23, 13:56 - Ben Ito: hello", None, Some("Ben Ito"), None),
            ("2023-05-08 13:56 Ben: hello", None, Some("Ben"), Some("2023-05-08")),
            ("**user**: what is it?", Some("20 May 2023"), Some("user"), Some("2023-05-20")),
            ("Cleo: I go on 1 June 2023 (9 May 2023)", None, Some("Cleo"), Some("2023-05-09")),
            ("Cleo: and so on", None, Some("Cleo"), None),
            ("Status: done", None, None, None),
            ("Moved on 7 May 2023", None, None, Some("2023-05-07")),
            ("the meeting is at 13:56", None, None, None),
            ("what we saw that day: a bird", None, None, None),
        ];
        let turns = read(rows.iter().map(|(text, heading, ..)| (*text, *heading)));
        for ((text, _, speaker, day), turn) in rows.into_iter().zip(turns) {
            assert_eq!((turn.speaker.as_deref(), turn.day.as_deref()), (speaker, day), "{text}");
        }
    }
}
