//! Token: the words of a document with their shapes, made once and read by every pattern.
//!
//! In: the blocks of a document, its sentences and its code spans. Out: words in order of place,
//! each with what patterns check first (case, digits, underscores, humps; first of its sentence; in
//! code), and one range for each block.
//! Invariants: a word is a run of letters, digits and underscores on UTF-8 boundaries; words never
//! cross blocks; fenced code has no words. One pass, no allocation for a word.

use std::ops::Range;

use super::border::Borders;
use model::document::{Block, BlockKind, Document, InlineKind};
use model::terms::{Norm, Span};

/// What a word looks like: a set of flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Shape(u16);

impl Shape {
    /// Begins with an uppercase letter.
    pub(super) const CAPITAL: Shape = Shape(1);
    /// Contains an uppercase letter.
    pub(super) const UPPER: Shape = Shape(1 << 1);
    /// Contains a lowercase letter.
    pub(super) const LOWER: Shape = Shape(1 << 2);
    /// Contains a digit.
    pub(super) const DIGIT: Shape = Shape(1 << 3);
    /// Contains an underscore.
    pub(super) const UNDERSCORE: Shape = Shape(1 << 4);
    /// Contains a hump: an uppercase letter right after a lowercase one, as in `KeyJob`, or an
    /// acronym before a word, as in `HTTPServer`.
    pub(super) const HUMP: Shape = Shape(1 << 5);
    /// Contains characters outside ASCII.
    pub(super) const WIDE: Shape = Shape(1 << 6);
    /// The first word of a sentence, of a table cell, or after a colon or an opening quote.
    pub(super) const FIRST: Shape = Shape(1 << 7);
    /// Inside an inline code span.
    pub(super) const CODE: Shape = Shape(1 << 8);
    /// Parted from the word before it by a border (`border.rs`).
    pub(super) const PARTED: Shape = Shape(1 << 9);
    /// Any flag that makes a word worth a second look.
    const LOUD: Shape = Shape(1 | 1 << 1 | 1 << 3 | 1 << 4);

    /// Returns whether the two sets share a flag.
    pub(super) fn has(self, other: Shape) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the flags of both sets.
    pub(super) const fn or(self, other: Shape) -> Shape {
        Shape(self.0 | other.0)
    }

    /// Returns whether the word has lowercase letters only. No pattern begins with it.
    pub(super) fn is_quiet(self) -> bool {
        !self.has(Shape::LOUD)
    }

    /// Returns whether the word has capitals, and no lowercase letters, digits or underscores.
    pub(super) fn is_caps(self) -> bool {
        self.has(Shape::UPPER) && !self.has(Shape::LOWER.or(Shape::DIGIT).or(Shape::UNDERSCORE))
    }

    /// Returns whether the word has digits only.
    pub(super) fn is_number(self) -> bool {
        self.has(Shape::DIGIT) && !self.has(Shape::LOWER.or(Shape::UPPER).or(Shape::UNDERSCORE))
    }

    fn add(&mut self, other: Shape) {
        self.0 |= other.0;
    }
}

/// One word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// First byte in the document's text.
    pub(super) start: u32,
    /// One past the last byte.
    pub(super) end: u32,
    /// What it looks like.
    pub(super) shape: Shape,
}

/// The words of a document.
pub(super) struct Words<'a> {
    /// The document's text.
    pub(super) text: &'a str,
    all: Vec<Word>,
    blocks: Vec<Range<usize>>,
}

impl<'a> Words<'a> {
    /// Reads the words of every block except fenced code.
    pub(super) fn of(doc: &'a Document, sentences: &[Span<Norm>]) -> Self {
        let mut all = Vec::with_capacity(doc.text.len() / 6);
        let mut blocks = Vec::with_capacity(doc.blocks.len());
        for block in &doc.blocks {
            let from = all.len();
            if !matches!(block.kind, BlockKind::Code { .. }) {
                read_words(&doc.text, block.span, &mut all);
            }
            blocks.push(from..all.len());
        }
        let mut words = Words { text: &doc.text, all, blocks };
        words.mark_code(doc);
        words.mark_parted(doc);
        words.mark_first(&doc.blocks, sentences);
        words
    }

    /// Returns the words of one block, by its index.
    pub(super) fn of_block(&self, block_idx: usize) -> View<'_> {
        let range = self.blocks.get(block_idx).cloned().unwrap_or_default();
        View { text: self.text, words: self.all.get(range).unwrap_or(&[]) }
    }

    /// Returns every word, in order.
    pub(super) fn all(&self) -> &[Word] {
        &self.all
    }

    fn mark_code(&mut self, doc: &Document) {
        let mut word_idx = 0;
        for inline in doc.inlines.iter().filter(|i| i.kind == InlineKind::Code) {
            word_idx = self.seek(word_idx, inline.span.start());
            while let Some(word) = self.all.get_mut(word_idx) {
                if word.start as usize >= inline.span.end() {
                    break;
                }
                word.shape.add(Shape::CODE);
                word_idx += 1;
            }
        }
    }

    fn mark_parted(&mut self, doc: &Document) {
        let mut word_idx = 0;
        for place in Borders::of(doc).places() {
            word_idx = self.seek(word_idx, *place);
            if let Some(word) = self.all.get_mut(word_idx) {
                word.shape.add(Shape::PARTED);
            }
        }
    }

    fn mark_first(&mut self, blocks: &[Block], sentences: &[Span<Norm>]) {
        let mut word_idx = 0;
        for sentence in sentences {
            word_idx = self.seek(word_idx, sentence.start());
            if let Some(word) = self.all.get_mut(word_idx) {
                word.shape.add(Shape::FIRST);
            }
        }
        word_idx = 0;
        for block in blocks {
            word_idx = self.seek(word_idx, block.span.start());
            if let Some(word) = self.all.get_mut(word_idx) {
                word.shape.add(Shape::FIRST);
            }
        }
    }

    /// Returns the first word from `from` on that starts at or after `offset`.
    fn seek(&self, mut from: usize, offset: usize) -> usize {
        while self.all.get(from).is_some_and(|word| (word.start as usize) < offset) {
            from += 1;
        }
        from
    }
}

/// Returns the words of a text that is not a block of the document, such as its title.
pub(super) fn words_in(text: &str) -> Vec<Word> {
    let mut out = Vec::new();
    read_words(text, Span::new(0, text.len()), &mut out);
    out
}

/// The words of one block.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// The document's text.
    pub(super) text: &'a str,
    /// The block's words.
    pub(super) words: &'a [Word],
}

impl<'a> View<'a> {
    /// Returns the characters of word `i`; empty past the end.
    pub(super) fn word(&self, i: usize) -> &'a str {
        self.words
            .get(i)
            .and_then(|w| self.text.get(w.start as usize..w.end as usize))
            .unwrap_or("")
    }

    /// Returns the shape of word `i`; no flags past the end.
    pub(super) fn shape(&self, i: usize) -> Shape {
        self.words.get(i).map(|w| w.shape).unwrap_or_default()
    }

    /// Returns the text between word `i` and the next one; `None` at the end of the block.
    pub(super) fn gap(&self, i: usize) -> Option<&'a str> {
        let (this, next) = (self.words.get(i)?, self.words.get(i + 1)?);
        self.text.get(this.end as usize..next.start as usize)
    }

    /// Returns whether word `i` is followed by exactly `gap` and another word.
    pub(super) fn gap_is(&self, i: usize, gap: &str) -> bool {
        self.gap(i) == Some(gap)
    }

    /// Returns the byte before word `i`; a space at the start of the text.
    pub(super) fn byte_before(&self, i: usize) -> u8 {
        self.words
            .get(i)
            .and_then(|w| (w.start as usize).checked_sub(1))
            .and_then(|at| self.text.as_bytes().get(at).copied())
            .unwrap_or(b' ')
    }

    /// Returns the text after word `i`, to the end of the document.
    pub(super) fn after(&self, i: usize) -> &'a str {
        self.words.get(i).and_then(|w| self.text.get(w.end as usize..)).unwrap_or("")
    }

    /// Returns the text from the start of word `from` to the end of word `to`.
    pub(super) fn run(&self, from: usize, to: usize) -> &'a str {
        match (self.words.get(from), self.words.get(to)) {
            (Some(first), Some(last)) => {
                self.text.get(first.start as usize..last.end as usize).unwrap_or("")
            }
            _ => "",
        }
    }

    /// Returns whether words `from..=to` are a piece of something longer: a path, a URL, a host, a
    /// hyphenated token.
    pub(super) fn is_glued(&self, from: usize, to: usize) -> bool {
        let before = self.byte_before(from);
        if matches!(before, b'/' | b'\\' | b'-' | b'.' | b'@' | b'~' | b'$' | b'%' | b'=' | b'<') {
            return true;
        }
        let mut after = self.after(to).bytes();
        match after.next() {
            Some(b'/' | b'\\' | b'@' | b'*' | b'=') => true,
            Some(b'-' | b'.') => after.next().is_some_and(|b| b.is_ascii_alphanumeric()),
            Some(b':') => after.next() == Some(b'/'),
            _ => false,
        }
    }
}

/// The class of each byte for the reader of words.
const CLASS: [u8; 256] = {
    let mut class = [0u8; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        class[b] = if c.is_ascii_lowercase() {
            1
        } else if c.is_ascii_uppercase() {
            2
        } else if c.is_ascii_digit() {
            3
        } else if c == b'_' {
            4
        } else if c >= 0x80 {
            5
        } else {
            0
        };
        b += 1;
    }
    class
};

fn read_words(text: &str, span: Span<Norm>, out: &mut Vec<Word>) {
    let bytes = text.as_bytes();
    let end = span.end().min(bytes.len());
    let mut at = span.start();
    let mut opens = false;
    while at < end {
        let byte = bytes[at];
        if CLASS[byte as usize] == 0 {
            // A capital after a colon, an opening quote or a cell border says nothing about a name.
            opens = (opens && byte == b' ') || matches!(byte, b':' | b'"' | b'|');
            at += 1;
            continue;
        }
        let (mut word, next) = read_word(text, at, end);
        if word.end > word.start {
            if opens {
                word.shape.add(Shape::FIRST);
            }
            out.push(word);
        }
        opens = word.end == word.start && text[at..].starts_with(['“', '‘', '«', '•']);
        at = next;
    }
}

/// Reads one word from `start`, and returns it with the place to continue. An empty word means a
/// sign outside ASCII.
fn read_word(text: &str, start: usize, end: usize) -> (Word, usize) {
    let bytes = text.as_bytes();
    let mut shape = Shape::default();
    let (mut previous, mut n_capitals) = (0, 0);
    let mut at = start;
    while at < end {
        let class = CLASS[bytes[at] as usize];
        let mut width = 1;
        match class {
            0 => break,
            1 => {
                shape.add(Shape::LOWER);
                // `HTTPServer` has a hump, the plural `APIs` does not.
                let goes_on = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
                if previous == 2 && n_capitals >= 2 && goes_on {
                    shape.add(Shape::HUMP);
                }
            }
            2 => {
                shape.add(Shape::UPPER);
                if previous == 1 {
                    shape.add(Shape::HUMP);
                }
                n_capitals = if previous == 2 { n_capitals + 1 } else { 1 };
            }
            3 => shape.add(Shape::DIGIT),
            4 => shape.add(Shape::UNDERSCORE),
            _ => match wide_letter(text, at, &mut shape) {
                Some(wide) => width = wide,
                None => break,
            },
        }
        if at == start && shape.has(Shape::UPPER) {
            shape.add(Shape::CAPITAL);
        }
        previous = class;
        at += width;
    }
    let word = Word { start: start as u32, end: at as u32, shape };
    let next = if at == start { at + width_at(text, at) } else { at };
    (word, next)
}

/// Returns the width of a letter outside ASCII, combining marks included, or `None` for a sign.
fn wide_letter(text: &str, at: usize, shape: &mut Shape) -> Option<usize> {
    let c = text.get(at..)?.chars().next()?;
    if !c.is_alphanumeric() && !('\u{300}'..='\u{36f}').contains(&c) {
        return None;
    }
    shape.add(Shape::WIDE);
    shape.add(if c.is_uppercase() { Shape::UPPER } else { Shape::LOWER });
    Some(c.len_utf8())
}

fn width_at(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use model::document::testing;
    use std::fmt::Write;

    #[test]
    fn words_know_their_shape() {
        let doc = testing::doc("Use KeyRotationJob v2 at Zürich: The `seal_lag` “Next” one. ISO");
        let sentences = testing::sentences_of(&doc);
        let words = Words::of(&doc, &sentences);
        let mut out = String::new();
        for word in words.all() {
            let s = word.shape;
            let flags = [
                (Shape::CAPITAL, 'C'),
                (Shape::UPPER, 'u'),
                (Shape::LOWER, 'l'),
                (Shape::DIGIT, 'd'),
                (Shape::UNDERSCORE, '_'),
                (Shape::HUMP, 'h'),
                (Shape::WIDE, 'w'),
                (Shape::FIRST, '1'),
                (Shape::CODE, '`'),
            ];
            let shown: String = flags.iter().filter(|(f, _)| s.has(*f)).map(|(_, c)| c).collect();
            let surface = &doc.text[word.start as usize..word.end as usize];
            writeln!(out, "{surface:15} {shown}").expect("a string takes writes");
        }
        expect![[r#"
            Use             Cul1
            KeyRotationJob  Culh
            v2              ld
            at              l
            Zürich          Culw
            The             Cul1
            seal_lag        l_`
            Next            Cul1
            one             l
            ISO             Cu1
        "#]]
        .assert_eq(&out);
    }
}
