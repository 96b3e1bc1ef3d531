//! Encoded: data that is written in letters, such as base64, is no text.
//!
//! In: a document as its format read it, or the text of its file. Out: the same with a mark in place of each run of
//! data, and of what a `data:` address holds, so that no later stage looks for names and sentences in it and no answer
//! shows it.
//! Invariants: linear; the map leads to all of the data; a line of a file stays a line; a digest, which people search
//! for, is shorter than data. Measured by its letters alone: no encoding is known by its name.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use model::document::{BlockKind, Parsed};
use model::terms::SpanMap;

/// Stands for data.
const MARK: &str = "[…]";
/// Shortest piece, in bytes, that may be one of several: a line of encoded data.
const MIN_PIECE: usize = 60;
/// Shortest run of pieces, in bytes.
const MIN_RUN: usize = 150;
/// Shortest content of an address, in bytes, that is left out.
const MIN_ADDRESS: usize = 32;
/// Shortest running text that may be a program, in bytes.
const MIN_DENSE: usize = 200;
/// Longest head of an address, such as `data:image/svg+xml;charset=utf-8,`.
const MAX_HEAD: usize = 100;
/// Most bytes between two pieces of a run.
const MAX_GAP: usize = 40;

/// Replaces data in a document by marks.
pub(crate) fn mark(parsed: &mut Parsed) {
    let block_of = |at: usize| parsed.blocks.partition_point(|block| block.span.end() <= at);
    let mut parts: Vec<(Range<usize>, &str)> = Vec::new();
    for Piece { place, continues, head } in pieces(&parsed.text) {
        match parts.last_mut() {
            Some((last, _)) if continues && block_of(last.start) == block_of(place.start) => {
                last.end = place.end;
            }
            _ => parts.push((bracketed(&parsed.text, head..place.end), MARK)),
        }
    }
    if !parts.is_empty() {
        let (text, map) = SpanMap::replacing(&parsed.text, parts);
        parsed.text = text;
        parsed.move_places(&map);
    }
}

/// Makes code of running text without blanks, such as a minified program: no later stage looks for names in it.
pub(crate) fn mark_dense(parsed: &mut Parsed) {
    for block in &mut parsed.blocks {
        let is_text = matches!(
            block.kind,
            BlockKind::Paragraph | BlockKind::Quote | BlockKind::ListItem { .. }
        );
        if is_text && block.span.len() >= MIN_DENSE && is_dense(block.span.of(&parsed.text)) {
            block.kind = BlockKind::Code { language: String::new() };
        }
    }
}

/// True for text of ASCII in which one letter of twelve at most is a blank, and one of eight at least a sign.
fn is_dense(text: &str) -> bool {
    let [mut n_blank, mut n_sign, mut n_other] = [0; 3];
    for byte in text.bytes() {
        n_blank += usize::from(byte.is_ascii_whitespace());
        n_sign += usize::from(byte.is_ascii_punctuation() && !b"-_./".contains(&byte));
        n_other += usize::from(!byte.is_ascii());
    }
    n_blank * 12 <= text.len() && n_sign * 8 >= text.len() && n_other * 10 <= text.len()
}

/// Returns a place with the brackets around it: markup of a link too long to be one.
fn bracketed(text: &str, mut place: Range<usize>) -> Range<usize> {
    let byte = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at));
    while byte(place.start.checked_sub(1)) == Some(&b'[') && byte(Some(place.end)) == Some(&b']') {
        place = place.start - 1..place.end + 1;
    }
    place
}

/// Returns a text with marks in place of data, line by line; of data on several lines, the other lines are empty.
pub fn without_data(text: &str) -> Cow<'_, str> {
    let pieces = pieces(text);
    if pieces.is_empty() {
        return Cow::Borrowed(text);
    }
    let marks = pieces.into_iter().map(|it| (it.place, if it.continues { "" } else { MARK }));
    Cow::Owned(SpanMap::replacing(text, marks).0)
}

/// Returns the bytes of a file without data.
pub(crate) fn shortened(file: &Arc<[u8]>) -> Arc<[u8]> {
    match std::str::from_utf8(file).map(without_data) {
        Ok(Cow::Owned(text)) => text.into_bytes().into(),
        _ => file.clone(),
    }
}

/// A piece of data.
struct Piece {
    place: Range<usize>,
    /// Where the address begins whose content it is, else the beginning of the piece.
    head: usize,
    /// True if it goes on from the piece before.
    continues: bool,
}

/// Returns the pieces of data in a text, in order.
fn pieces(text: &str) -> Vec<Piece> {
    let (addresses, mut out) = (addresses(text), Vec::new());
    let mut known = addresses.iter().peekable();
    let (mut run, mut at) = (Vec::new(), 0);
    while let Some(piece) = next_piece(text, at) {
        at = piece.end;
        // What an address holds is known already.
        while known.next_if(|it| it.place.end <= piece.start).is_some() {}
        let is_known = known.peek().is_some_and(|it| it.place.start < piece.end);
        let is_odd = is_known || Letters::of(text, &piece).n_signs() * 6 > piece.len();
        let goes_on = |last: &Range<usize>| is_gap(text, last.end..piece.start);
        if is_odd || !run.last().is_some_and(goes_on) {
            take_run(text, &mut run, &mut out);
        }
        if !is_odd {
            run.push(piece);
        }
    }
    take_run(text, &mut run, &mut out);
    out.extend(addresses);
    out.sort_by_key(|it| it.place.start);
    out
}

/// Adds a run, if it is data, with the shorter last line after it.
fn take_run(text: &str, run: &mut Vec<Range<usize>>, out: &mut Vec<Piece>) {
    let mut run = std::mem::take(run);
    let mut letters = Letters::default();
    run.iter().for_each(|piece| letters.add(text.get(piece.clone()).unwrap_or("")));
    let Some(last) = run.last().filter(|_| letters.is_data(run.len() == 1)) else { return };
    let rest = text.get(last.end..).unwrap_or("");
    let tail = rest.find(|c: char| !c.is_ascii_whitespace()).map_or(last.end, |n| last.end + n);
    let tail = tail..end_of_piece(text, tail);
    let is_tail = is_gap(text, last.end..tail.start) && tail.len() < MIN_PIECE;
    if is_tail && Letters::of(text, &tail).ends_data(text.get(tail.clone()).unwrap_or("")) {
        run.push(tail);
    }
    let pieces = run.into_iter().enumerate();
    out.extend(pieces.map(|(n, place)| Piece { head: place.start, place, continues: n > 0 }));
}

/// Counts of the letters of data, by class.
#[derive(Default)]
struct Letters {
    /// Small letters, capitals, digits, signs.
    by_class: [usize; 4],
    n_changes: usize,
}

impl Letters {
    fn of(text: &str, place: &Range<usize>) -> Self {
        let mut letters = Letters::default();
        letters.add(text.get(place.clone()).unwrap_or(""));
        letters
    }

    fn add(&mut self, piece: &str) {
        let mut last = None;
        for byte in piece.bytes() {
            let class = match byte {
                b'a'..=b'z' => 0,
                b'A'..=b'Z' => 1,
                b'0'..=b'9' => 2,
                _ => 3,
            };
            self.by_class[class] += 1;
            self.n_changes += usize::from(last.is_some_and(|last| last != class));
            last = Some(class);
        }
    }

    fn n_signs(&self) -> usize {
        self.by_class[3]
    }

    /// In names and paths, most letters are followed by one of their class; signs part words.
    fn is_mixed(&self) -> bool {
        self.n_changes * 10 >= self.by_class.iter().sum::<usize>() * 4
    }

    /// True for data: long, with few signs, and of several classes. Lines must also be mixed, and of all classes, since
    /// lists of digests and of long names are text.
    fn is_data(&self, is_single: bool) -> bool {
        let n = self.by_class.iter().sum::<usize>();
        let n_classes = self.by_class[..3].iter().filter(|it| *it * 50 >= n).count();
        let is_several = if is_single { n_classes >= 2 } else { n_classes == 3 && self.is_mixed() };
        n >= MIN_RUN && self.n_signs() * 12 <= n && is_several
    }

    /// True for what may be the last line of data: padded, or mixed and with digits.
    fn ends_data(&self, piece: &str) -> bool {
        let is_mixed = piece.len() >= 4 && self.by_class[2] > 0 && self.is_mixed();
        piece.ends_with('=') || is_mixed
    }
}

/// True for what may part two pieces of a run: no words.
fn is_gap(text: &str, gap: Range<usize>) -> bool {
    gap.len() <= MAX_GAP
        && text.get(gap).is_some_and(|gap| !gap.contains(|c: char| c.is_alphanumeric()))
}

/// Returns the next stretch of at least [`MIN_PIECE`] letters of data from `at` on, which no such letter precedes.
fn next_piece(text: &str, mut at: usize) -> Option<Range<usize>> {
    loop {
        // A step over text looks at one word of it.
        let window = text.as_bytes().get(at..at + MIN_PIECE)?;
        match window.iter().rposition(|byte| !is_letter(*byte)) {
            Some(last) => at += last + 1,
            None => return Some(at..end_of_piece(text, at)),
        }
    }
}

fn end_of_piece(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or(&[]);
    at + rest.iter().take_while(|byte| is_letter(**byte)).count()
}

/// True for the letters of base64 in both its forms; those of most other encodings are among them.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte)
}

/// Returns what the `data:` addresses in a text hold.
fn addresses(text: &str) -> Vec<Piece> {
    let is_end = |c: char| c.is_whitespace() || "\"'<>()[]`\\".contains(c);
    let (mut out, mut done) = (Vec::new(), 0);
    for head in memmem::find_iter(text.as_bytes(), b"data:").collect::<Vec<_>>() {
        if head < done {
            continue;
        }
        let rest = text.get(head..).unwrap_or("");
        done = head + rest.find(is_end).unwrap_or(rest.len());
        let written = text.get(head..done).unwrap_or("");
        let Some((kind, content)) = written.split_once(',') else { continue };
        let names_type = kind.len() <= MAX_HEAD && kind.contains(['/', ';']);
        if names_type && content.len() >= MIN_ADDRESS {
            out.push(Piece { place: done - content.len()..done, head, continues: false });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{BlockKind, pieces, shortened};
    use crate::tests::{check_invariants, normalized};
    use model::document::Parsed;
    use proptest::prelude::*;

    /// Letters without meaning, the same each time.
    fn data(n_bytes: usize) -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut state = 7_u64;
        let next = |_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            letters[(state >> 40) as usize % 64] as char
        };
        (0..n_bytes).map(next).collect()
    }

    fn lines(n_bytes: usize, width: usize) -> String {
        let all = data(n_bytes).into_bytes();
        let lines = all.chunks(width).map(|line| String::from_utf8_lossy(line).into_owned());
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    #[test]
    fn data_is_a_mark_in_every_format() {
        let (one, many) = (data(3_000), lines(1_976, 76));
        let rows = [
            ("a.txt", format!("Before it.\n\n{many}\nAfter it."), "Before it.\n\n[…]\n\nAfter it."),
            ("a.txt", format!("Before it\n{}So on.", lines(512, 64)), "Before it […] So on."),
            ("a.md", format!("Before\n{many}after."), "Before […] after."),
            ("a.md", format!("Keys:\n\n```\n{many}```\n\nAfter."), "Keys:\n\n[…]\n\nAfter."),
            ("a.md", format!("A ![map](data:image/png;base64,{one}) pier."), "A map pier."),
            ("a.md", format!("| k | v |\n|--|--|\n| x | {one} |\n"), "k | v\nx | […]"),
            ("a.org", format!("A pier\n[[data:image/png;base64,{one}]] here."), "A pier […] here."),
            (
                "a.html",
                format!("<p>A pier {one} here.<pre>{many}</pre>"),
                "A pier […] here.\n\n[…]",
            ),
            ("a.py", format!("X = \"{one}\"\n"), "X = \"[…]\""),
        ];
        for (path, source, expected) in rows {
            let doc = normalized(path, source.as_bytes());
            assert_eq!(doc.text, expected, "{path}: {source}");
            let parsed = Parsed {
                text: doc.text.clone(),
                blocks: doc.blocks,
                inlines: doc.inlines,
                links: doc.links,
                ..Parsed::default()
            };
            check_invariants("", &parsed);
            if let Some(last) = doc.text.rfind("fter") {
                let place = doc.map.source_range(last, last + 4);
                assert_eq!(source.get(place), Some("fter"), "{path}");
            }
        }
    }

    #[test]
    fn what_people_write_and_search_for_stays() {
        let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let name = "shouldReturnNotFoundWhenTheUserDoesNotExistInTheDatabaseOfTheProject";
        let kept = [
            format!("{digest}\n{digest}\n{digest}\n{digest}"),
            format!("{name}\n{name}\n{name}"),
            format!("integrity sha512-{}==", data(86)),
            "https://example.org/a/very/long/path/to/some/page/of/the/site/that/goes/on/and/on/"
                .repeat(4),
            "snake_case_".repeat(30),
            "=".repeat(500),
            "z".repeat(500),
            "data:text/plain,short".to_string(),
            "Donaudampfschifffahrtsgesellschaft".repeat(2),
        ];
        for text in kept {
            assert!(pieces(&text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_program_without_blanks_is_code() {
        let json: String = (0..30).map(|n| format!("{{\"Key\":\"Val{n}\"}},")).collect();
        let js = "!function(e,t){\"object\"==typeof exports?module.exports=t():e.Vue=t()}(this);"
            .repeat(4);
        let address = format!("See https://example.org/{}?a=1&b=2", "Harbor-Works/".repeat(30));
        for (text, is_code) in [(json, true), (js, true), (address, false)] {
            let doc = normalized("a.md", format!("# A\n\nBefore.\n\n{text}\n").as_bytes());
            let found = doc.blocks.iter().any(|it| matches!(it.kind, BlockKind::Code { .. }));
            assert_eq!(found, is_code, "{text}");
        }
    }

    #[test]
    fn lines_of_a_file_stay_lines() {
        let text = format!(
            "# Map\n\n![m](data:image/png;base64,{}) the pier\n{}end",
            data(900),
            lines(400, 76)
        );
        let file = shortened(&text.as_bytes().into());
        let shown = String::from_utf8_lossy(&file);
        assert_eq!(shown, "# Map\n\n![m](data:image/png;base64,[…]) the pier\n[…]\n\n\n\n\n\nend");
        assert_eq!(shown.lines().count(), text.lines().count());
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_places(parts in proptest::collection::vec(
            prop_oneof![Just("\n"), Just("\n\n"), Just(" "), Just("- "), Just("data:a/b,"), Just("|"),
                Just("Ab3Cd9EfG0hI1Jk2Lm4No5Pq6Rs7Tu8VwXyZ0a1B2c3D4e5F6g7H8i9J0kLmNoP"), Just("word"), Just("é")],
            0..40), ext in prop_oneof![Just("md"), Just("txt"), Just("org"), Just("html")]) {
            let source = parts.concat();
            let doc = normalized(&format!("a.{ext}"), source.as_bytes());
            for block in &doc.blocks {
                prop_assert!(!block.span.of(&doc.text).is_empty());
                let place = doc.map.source_range(block.span.start(), block.span.end());
                prop_assert!(place.end <= source.len());
            }
        }
    }
}
