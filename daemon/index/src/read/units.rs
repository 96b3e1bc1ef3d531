//! Units: the smallest stretches of a text that say something together, with the names in them: a sentence of a
//! paragraph, a list item, a row of a table.
//!
//! In: the text of a document and its mentions. Out: its units with at least one name, in order of place.
//! Invariants: each mention is in at most one unit; headings and the header row of a table are none, because what they
//! name labels other text.

use std::hash::BuildHasher;
use std::ops::Range;

use super::{Mentions, Read};
use extract::chunk::sentences;
use model::document::{Naming, PlaceFeatures};
use rustc_hash::FxBuildHasher;

/// A unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Whether it is a sentence of running text.
    pub is_running: bool,
    /// Hash of its text.
    pub hash: u64,
    /// The names in it, each with the first byte of its mention in the document's text.
    pub names: Vec<(usize, i64)>,
}

/// Cuts a text into the units around mentions, which are given by place.
fn cut(text: &str, mentions: &[(usize, i64)]) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut rest = mentions;
    while let Some((at, _)) = rest.first() {
        let (line, kind) = line_at(text, *at);
        let own = text.get(line.clone()).unwrap_or_default();
        let parts: Vec<Range<usize>> = match kind {
            Line::Alone => sentences(own).collect(),
            Line::OfSeveral | Line::Header => std::iter::once(0..own.len()).collect(),
        };
        for part in parts {
            let (inside, later) =
                rest.split_at(rest.partition_point(|it| it.0 < line.start + part.end));
            rest = later;
            if !inside.is_empty() && kind != Line::Header {
                let hash = FxBuildHasher.hash_one(own.get(part));
                units.push(Unit { is_running: kind == Line::Alone, hash, names: inside.to_vec() });
            }
        }
        // Mentions in the blank at the end of a line belong to no sentence.
        rest = rest.split_at(rest.partition_point(|(at, _)| *at <= line.end)).1;
    }
    units
}

/// What a line of a normalized text is, by the lines beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// A paragraph.
    Alone,
    /// An item, row or line of code: only these have another one right above or below.
    OfSeveral,
    /// The first row of a table.
    Header,
}

/// Returns the line that holds a byte of a text, and what it is.
fn line_at(text: &str, at: usize) -> (Range<usize>, Line) {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |it| it + 1);
    let end = after.find('\n').map_or(text.len(), |it| at + it);
    let is_below = start > 0 && !text.get(..start).is_some_and(|it| it.ends_with("\n\n"));
    let is_above =
        text.get(end..).is_some_and(|it| it.starts_with('\n') && !it.starts_with("\n\n"));
    let is_row = text.get(start..end).is_some_and(|it| it.contains(" | "));
    let kind = match (is_below, is_above) {
        (false, true) if is_row => Line::Header,
        (false, false) => Line::Alone,
        _ => Line::OfSeveral,
    };
    (start..end, kind)
}

impl Mentions<'_> {
    /// Returns the units of a document, with its mentions outside headings. Words written as a common noun are none:
    /// `we conduct interviews` does not name the page `Conduct`.
    pub fn units(self, doc: i64) -> Read<Vec<Unit>> {
        let mentions = self.in_doc(doc)?.into_iter();
        let is_name = |place: PlaceFeatures| !place.in_heading && place.naming != Naming::Common;
        let named = mentions.filter(|it| is_name(it.features()));
        let mentions: Vec<(usize, i64)> = named.map(|it| (it.at, it.name)).collect();
        let text = if mentions.is_empty() { None } else { self.0.documents().text(doc)? };
        Ok(cut(&text.unwrap_or_default(), &mentions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_sentence_an_item_or_a_row() {
        let text = "Ann met Bob. Cid left.\n\nDee. Eve\nFay\n\nGus | Hal\nIda | Jon";
        let names = ["Ann", "Bob", "Cid", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon"];
        let mentions: Vec<(usize, i64)> =
            names.iter().zip(0..).map(|(it, name)| (text.find(it).expect("there"), name)).collect();
        let shown: Vec<String> = cut(text, &mentions)
            .iter()
            .map(|it| {
                let names: Vec<&str> = it.names.iter().map(|it| names[it.1 as usize]).collect();
                format!("{}{}", names.join(" "), if it.is_running { ", running" } else { "" })
            })
            .collect();
        assert_eq!(shown, ["Ann Bob, running", "Cid, running", "Dee Eve", "Fay", "Ida Jon"]);
    }
}
