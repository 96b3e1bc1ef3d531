//! Dialogue: items that begin with who speaks (`- [Ann] We ship.`) state no observations.
//!
//! In: a note with all its observations. Out: the same without those whose category speaks in this file: it is on the
//! file's roll of attendees or speakers, or three items or more in a row, without tags, are a dialogue, in which one of
//! two categories at least comes back.
//! Invariant: other files, and what readers know of names, decide nothing.

use std::collections::HashSet;

use super::word::{is_filing_word, is_roll_word};
use super::{Note, Observation};

/// Fewest items of a dialogue.
const MIN_ITEMS: usize = 3;

/// Drops the observations whose categories are speakers.
pub(super) fn drop_speakers(text: &str, note: &mut Note) {
    if !note.observations.iter().any(may_speak) {
        return;
    }
    let roll = roll_of(text.get(note.body..).unwrap_or(""));
    let mut speakers: HashSet<String> = note
        .observations
        .iter()
        .map(|it| it.category.clone())
        .filter(|it| roll.contains(it.as_str()))
        .collect();
    let follows =
        |a: &Observation, b: &Observation| a.item + 1 == b.item && may_speak(a) && may_speak(b);
    for run in note.observations.chunk_by(follows).filter(|run| run.len() >= MIN_ITEMS) {
        let names: HashSet<&str> = run.iter().map(|it| it.category.as_str()).collect();
        if (2..run.len()).contains(&names.len()) {
            speakers.extend(names.into_iter().map(str::to_string));
        }
    }
    note.observations.retain(|it| !(may_speak(it) && speakers.contains(&it.category)));
}

/// Returns whether a category may be a name: capitalized, and no common word for a kind of fact.
fn may_speak(it: &Observation) -> bool {
    let mut letters = it.category.chars();
    letters.next().is_some_and(char::is_uppercase)
        && letters.any(char::is_lowercase)
        && it.tags.is_empty()
        && !is_filing_word(&it.category)
}

/// Returns the names, and their first words, of the lists of attendees and speakers: items below such a heading or
/// label, or words between commas behind one.
fn roll_of(body: &str) -> HashSet<&str> {
    let mut roll = HashSet::new();
    let mut is_roll = false;
    for line in body.lines() {
        let item = line.trim_start().strip_prefix(['-', '*', '+']).filter(|it| it.starts_with(' '));
        let bare = line.trim_start_matches(['#', ' ', '*', '-']);
        let (label, names) = bare.split_once(':').unwrap_or((bare, ""));
        let announces = label.split_whitespace().count() <= 3
            && label.split(|c: char| !c.is_alphabetic()).any(is_roll_word);
        if announces && !names.trim_matches(['*', ' ']).is_empty() {
            names.split([',', ';']).for_each(|it| add(it, &mut roll));
        } else if announces || line.starts_with('#') {
            is_roll = announces;
        } else if let Some(item) = item.filter(|_| is_roll) {
            add(item, &mut roll);
        }
    }
    roll
}

/// Adds the name that begins a text.
fn add<'t>(text: &'t str, roll: &mut HashSet<&'t str>) {
    let name = text.trim_matches(['*', '[', '@', ' ', '.']);
    let end = name.find(['(', '[', ']', ',', ':', '|', '<']).unwrap_or(name.len());
    let name = name.get(..end).unwrap_or("").trim();
    roll.insert(name);
    roll.extend(name.split(' ').next());
}
