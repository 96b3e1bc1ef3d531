//! Accept: whether a run with an entry's norm is a mention of the entry, by its spelling and place.
//!
//! In: an entry and the place of a run. Out: yes or no.
//! Invariants: it runs for few words, so it may bisect: the cost is logarithmic in the document's
//! marks.

use std::ops::Range;

use super::{CaseRule, Entry};
use crate::recognize::border::Borders;
use crate::recognize::words::is_ordinary;
use model::document::{Document, InlineKind};
use model::terms::{Norm, Span};

/// What a run is judged by besides its words.
pub(super) struct RunContext<'d> {
    pub(super) doc: &'d Document,
    pub(super) sentences: &'d [Span<Norm>],
    pub(super) borders: Borders,
}

impl RunContext<'_> {
    /// Returns whether the run at `place` is a mention of `entry`.
    pub(super) fn accepts(&self, entry: Entry<'_>, place: Range<usize>, is_plural: bool) -> bool {
        let Some(surface) = self.doc.text.get(place.clone()) else { return false };
        let is_whole = !self.borders.cross(Span::new(place.start, place.end));
        if !is_whole || self.is_part_of_path(&place) || self.is_part_of_compound(&place, surface) {
            return false;
        }
        // `files` are not the page of a program's `file`, nor `bearer tokens` the field `bearer_token`.
        let is_code = |name: &str| name.contains(['_', '.']) && !name.contains(' ');
        let is_word = |name: &str| !name.contains(char::is_uppercase) && is_ordinary(name);
        if is_plural && (is_code(entry.surface) || is_word(entry.surface)) {
            return false;
        }
        let singular =
            if is_plural { surface.strip_suffix('s').unwrap_or(surface) } else { surface };
        let is_alone = || self.is_marked(&place);
        if let Some(code) = self.code_around(&place) {
            // `git push origin` does not name a branch `origin`; `KeyRotationJob::run` does name
            // the job.
            let is_whole = code.start() == place.start && code.end() == place.end;
            return is_whole || (entry.case_rule == CaseRule::Folded && singular == entry.surface);
        }
        match entry.case_rule {
            CaseRule::Folded => true,
            CaseRule::Exact => is_alone() || self.is_written_like(entry, singular, place.start),
        }
    }

    /// Returns whether a word is spelled like its entry, with a capital that does not come from the
    /// start of a sentence.
    fn is_written_like(&self, entry: Entry<'_>, singular: &str, start: usize) -> bool {
        let has_capital = singular.bytes().any(|b| b.is_ascii_uppercase());
        let is_distinctive = singular.bytes().skip(1).any(|b| !b.is_ascii_lowercase());
        singular == entry.surface && has_capital && (is_distinctive || !self.begins_sentence(start))
    }

    /// Returns whether no letter or digit precedes `start` in its sentence or cell.
    fn begins_sentence(&self, start: usize) -> bool {
        let after = self.sentences.partition_point(|s| s.start() <= start);
        let sentence = after.checked_sub(1).and_then(|i| self.sentences.get(i));
        let from = sentence.filter(|s| start < s.end()).map_or(0, |s| s.start());
        let before = self.doc.text.get(from..start).unwrap_or("");
        !before
            .chars()
            .rev()
            .take_while(|c| !matches!(c, '|' | ':' | '\n'))
            .any(char::is_alphanumeric)
    }

    /// Returns whether the run is exactly the text of a bold span, a code span or a link.
    fn is_marked(&self, place: &Range<usize>) -> bool {
        let is_same = |span: Span<Norm>| {
            let text = span.of(&self.doc.text);
            span.start() == place.start
                && span.start() + text.trim_end_matches(['.', ':', ',']).len() == place.end
        };
        let from = self.doc.inlines.partition_point(|i| i.span.start() < place.start);
        let inlines = self.doc.inlines.iter().skip(from);
        if inlines.take_while(|i| i.span.start() == place.start).any(|i| is_same(i.span)) {
            return true;
        }
        let from = self.doc.links.partition_point(|l| l.span.start() < place.start);
        let links = self.doc.links.iter().skip(from);
        links.take_while(|l| l.span.start() == place.start).any(|l| is_same(l.span))
    }

    /// Returns the code span around the run.
    fn code_around(&self, place: &Range<usize>) -> Option<Span<Norm>> {
        let after = self.doc.inlines.partition_point(|i| i.span.start() <= place.start);
        let before = self.doc.inlines.get(..after)?.iter().rev().take(NESTED_MARKS);
        let is_around = |span: Span<Norm>| span.start() <= place.start && place.end <= span.end();
        before
            .map(|i| (i.kind, i.span))
            .find(|(kind, span)| *kind == InlineKind::Code && is_around(*span))
            .map(|(_, span)| span)
    }

    /// Returns true inside `src/kafka/main.go`, `/etc/kafka` and `~/kafka`, false in `Kafka/Redis`.
    fn is_part_of_path(&self, place: &Range<usize>) -> bool {
        let bytes = self.doc.text.as_bytes();
        let before = place.start.checked_sub(1).and_then(|i| bytes.get(i)).copied().unwrap_or(b' ');
        let after = bytes.get(place.end).copied().unwrap_or(b' ');
        if !matches!(before, b'/' | b'\\' | b'~' | b'.' | b'@') && !matches!(after, b'/' | b'\\') {
            return false;
        }
        let is_edge =
            |b: &u8| b.is_ascii_whitespace() || matches!(b, b'(' | b')' | b'"' | b'`' | b',');
        let head = bytes.get(..place.start).unwrap_or(&[]).iter().rev().take(MAX_PATH_BYTES);
        let tail = bytes.get(place.end..).unwrap_or(&[]).iter().take(MAX_PATH_BYTES);
        let n_before =
            head.take_while(|b| !is_edge(b)).filter(|b| matches!(b, b'/' | b'\\')).count();
        let n_after =
            tail.take_while(|b| !is_edge(b)).filter(|b| matches!(b, b'/' | b'\\')).count();
        matches!(before, b'~' | b'.' | b'@')
            || n_before + n_after >= 2
            || (before == b'/'
                && place.start.checked_sub(2).and_then(|i| bytes.get(i)).is_none_or(is_edge))
            || (after == b'/' && bytes.get(place.end + 1).is_none_or(is_edge))
    }

    /// Returns true inside `kafka-exporter` and `kafka_lag`, false in `Kafka-based` and
    /// `non-Kafka`.
    fn is_part_of_compound(&self, place: &Range<usize>, surface: &str) -> bool {
        let bytes = self.doc.text.as_bytes();
        let joins = |at: usize| match bytes.get(at) {
            Some(b'_') => true,
            Some(b'-') => !surface.bytes().any(|b| b.is_ascii_uppercase()),
            _ => false,
        };
        let is_name = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let before = place.start.checked_sub(2).is_some_and(|i| joins(i + 1) && is_name(i));
        before || (joins(place.end) && is_name(place.end + 1))
    }
}

/// Marks searched backward for the code span around a run. Marks nest no deeper than bold around
/// code.
const NESTED_MARKS: usize = 3;

/// Bytes searched on each side for the rest of a path.
const MAX_PATH_BYTES: usize = 200;
