//! The text builder: every format writes its normalized text through it.
//!
//! In: pieces of the source text in reading order, with their structure, and texts that were read by themselves
//! ([`TextBuilder::append`]). Out: normalized text, map, outline, inline marks and links ([`TextBuilder::finish`]).
//! Invariants: a block without visible text leaves no trace; blocks never overlap; white space at the ends of a block
//! is dropped, inside it a run becomes one space (except in code); marks and links stay inside one block; invisible
//! characters that writing does not need are dropped ([`names::seen`]), so that no later stage meets them. The map
//! leads over them, and the file keeps them.

mod marks;
mod structure;

use std::ops::Range;

use super::format::FormatLimits;
use marks::Mark;
use model::bytes::has_single_spaces;
use model::document::{Block, Inline, Link, Parsed};
use model::terms::SpanMap;
use structure::{CELL_SEPARATOR, Structure};

/// Longest separator that may precede a piece, in bytes.
const SEPARATOR_ROOM: usize = 4;

/// Builds a normalized text from pieces of `source`.
///
/// Structure is given by pairs of `begin_…` and `end_…`. Text outside any block opens a block whose kind depends on
/// the container: a list item, a quotation, otherwise a paragraph. Inside a table row, every block is only text.
pub(crate) struct TextBuilder<'a> {
    source: &'a str,
    max_bytes: usize,
    is_cut: bool,
    text: String,
    map: SpanMap,
    blocks: Vec<Block>,
    inlines: Vec<Inline>,
    links: Vec<Link>,
    warnings: Vec<String>,
    structure: Structure,
    /// Open marks, outermost first; those from `n_started` on have no visible text in this block yet.
    marks: Vec<Mark>,
    n_started: usize,
    space: Pending,
    /// Blank parts of a code block, written only if a line with text follows.
    held_lines: Vec<Range<usize>>,
}

/// White space that is written only if text follows in the same block.
#[derive(Clone, Copy)]
enum Pending {
    None,
    /// A run of white space that begins at this offset of the source.
    Source(usize),
    /// A space in place of markup, such as `<br>`.
    Inserted,
}

impl<'a> TextBuilder<'a> {
    /// Makes a builder for the text passed to [`super::format::Format::read`]; all ranges are byte ranges of it.
    pub(crate) fn new(source: &'a str, limits: &FormatLimits) -> Self {
        TextBuilder {
            source,
            max_bytes: limits.max_output_bytes,
            is_cut: false,
            text: String::with_capacity(source.len().min(limits.max_output_bytes)),
            map: SpanMap::default(),
            blocks: Vec::new(),
            inlines: Vec::new(),
            links: Vec::new(),
            warnings: Vec::new(),
            structure: Structure::default(),
            marks: Vec::new(),
            n_started: 0,
            space: Pending::None,
            held_lines: Vec::new(),
        }
    }

    /// Writes running text: a source range in which runs of white space (spaces, tabs, line ends) become one space.
    pub(crate) fn flow(&mut self, range: Range<usize>) {
        seen_parts(self.source, range).for_each(|part| self.flow_part(part));
    }

    fn flow_part(&mut self, range: Range<usize>) {
        let Some(piece) = self.source.get(range.clone()) else { return };
        let bytes = piece.as_bytes();
        // The common case: copied as a whole instead of word by word.
        if has_single_spaces(bytes) {
            return self.flow_evenly(bytes, range);
        }
        let mut at = 0;
        while at < bytes.len() {
            let words_end = end_of_words(bytes, at);
            if words_end > at {
                self.copied(range.start + at..range.start + words_end);
            }
            let blank = bytes.iter().skip(words_end).take_while(|byte| byte.is_ascii_whitespace());
            let n_blank = blank.count();
            if n_blank > 0 {
                self.space_at(range.start + words_end);
            }
            at = words_end + n_blank;
        }
    }

    /// Writes running text in which every white space is a single space: everything except the ends is copied.
    fn flow_evenly(&mut self, bytes: &[u8], range: Range<usize>) {
        let (begins, ends) = (bytes.starts_with(b" "), bytes.ends_with(b" "));
        if begins {
            self.space_at(range.start);
        }
        let words = range.start + usize::from(begins)..range.end - usize::from(ends);
        if !words.is_empty() {
            self.copied(words);
            if ends {
                self.space_at(range.end - 1);
            }
        }
    }

    /// Writes text that replaces a source range: a decoded entity, a resolved escape. If all of it is white space, it
    /// is a space; otherwise white space in it stays as it is.
    pub(crate) fn replaced(&mut self, text: &str, range: Range<usize>) {
        let text = &*names::seen(text);
        if text.trim_ascii().is_empty() {
            if !text.is_empty() {
                self.space_inserted();
            }
        } else {
            self.write_replaced(text, range);
        }
    }

    /// Adds a space for white space in the source; it is written if text follows in this block.
    pub(crate) fn space_at(&mut self, source: usize) {
        if matches!(self.space, Pending::None) {
            self.space = Pending::Source(source);
        }
    }

    /// Adds a space in place of markup (`<br>`, the end of a block inside a table cell).
    pub(crate) fn space_inserted(&mut self) {
        if matches!(self.space, Pending::None) {
            self.space = Pending::Inserted;
        }
    }

    /// Writes preformatted text of a code block unchanged, except blank lines at the ends of the block.
    pub(crate) fn code(&mut self, range: Range<usize>) {
        let Some(piece) = self.source.get(range.clone()) else { return };
        if self.structure.in_row() {
            return self.flow(range);
        }
        if piece.trim_ascii().is_empty() {
            return self.held_lines.push(range);
        }
        // Drop only whole blank lines: the first line with text keeps its indentation.
        let mut start = range.start;
        let mut held = std::mem::take(&mut self.held_lines);
        if self.structure.has_visible_text() {
            held.iter().for_each(|line| self.verbatim(line.clone()));
        } else {
            let n_blank = piece.len() - piece.trim_ascii_start().len();
            start += piece[..n_blank].rfind('\n').map_or(0, |line_end| line_end + 1);
        }
        held.clear();
        let shown_end = range.start + piece.trim_ascii_end().len();
        self.verbatim(start..shown_end);
        if shown_end < range.end {
            held.push(shown_end..range.end);
        }
        self.held_lines = held;
    }

    /// Writes preformatted text that replaces a source range: decoded entities, expanded tabs.
    pub(crate) fn code_replaced(&mut self, text: &str, range: Range<usize>) {
        if self.structure.in_row() {
            return self.replaced(text, range);
        }
        let is_blank = text.trim_ascii().is_empty();
        if is_blank && !self.structure.has_visible_text() {
            return;
        }
        let held = std::mem::take(&mut self.held_lines);
        if self.structure.has_visible_text() {
            held.iter().for_each(|line| self.verbatim(line.clone()));
        }
        self.write_replaced(&names::seen(text), range);
    }

    /// Returns the length of the text so far, without pending white space.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Removes one of these characters from the end of a word that has others; only for text without a source.
    pub(crate) fn drop_end(&mut self, characters: &[char]) {
        if !self.is_cut && self.source.is_empty() && self.text.ends_with(characters) {
            self.text.pop();
        }
    }

    /// Closes everything and returns the result; the format adds title and metadata.
    pub(crate) fn finish(mut self) -> Parsed {
        self.close_block();
        while !self.marks.is_empty() {
            self.end_mark();
        }
        // Marks were recorded as they ended; sort them by their beginning, the outer one first.
        self.inlines.sort_by_key(|inline| (inline.span.start(), usize::MAX - inline.span.end()));
        self.links.sort_by_key(|link| link.span.start());
        if self.is_cut {
            self.warn(format!(
                "text cut at {} bytes; the rest of the document is not indexed",
                self.max_bytes
            ));
        }
        let TextBuilder { text, map, blocks, inlines, links, warnings, .. } = self;
        Parsed { text, map, blocks, inlines, links, warnings, ..Parsed::default() }
    }

    /// Adds a warning, once.
    pub(crate) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Writes a source range unchanged, apart from invisible characters.
    fn verbatim(&mut self, range: Range<usize>) {
        seen_parts(self.source, range).for_each(|part| self.copied(part));
    }

    fn copied(&mut self, range: Range<usize>) {
        let Some(piece) = self.source.get(range.clone()) else { return };
        if !piece.is_empty() && self.make_room(piece.len()) {
            self.start_visible();
            self.map.push(self.text.len(), piece.len(), range.start, piece.len());
            self.text.push_str(piece);
        }
    }

    fn write_replaced(&mut self, text: &str, range: Range<usize>) {
        if !text.is_empty() && self.make_room(text.len()) {
            self.start_visible();
            // Without a source, there is nothing to lead to.
            if !self.source.is_empty() {
                self.map.push_replaced(self.text.len(), text.len(), range);
            }
            self.text.push_str(text);
        }
    }

    /// Returns whether `n_bytes` more, with separators, fit the limit. If not, all further text is dropped.
    fn make_room(&mut self, n_bytes: usize) -> bool {
        let n_cells = self.structure.n_pending_cells();
        let needed = self.text.len() + n_bytes + SEPARATOR_ROOM + n_cells * CELL_SEPARATOR.len();
        self.is_cut = self.is_cut || needed > self.max_bytes;
        !self.is_cut
    }

    /// Writes pending separators, cells and space before visible text; block and marks begin after them.
    fn start_visible(&mut self) {
        let is_new = self.start_block();
        let n_cells = self.structure.take_pending_cells();
        (0..n_cells).for_each(|_| self.text.push_str(CELL_SEPARATOR));
        match std::mem::replace(&mut self.space, Pending::None) {
            Pending::Source(place) if !is_new && n_cells == 0 => {
                self.map.push(self.text.len(), 1, place, 1);
                self.text.push(' ');
            }
            Pending::Inserted if !is_new && n_cells == 0 => self.text.push(' '),
            _ => {}
        }
        self.start_marks();
    }
}

/// Returns the parts of a range between invisible characters; usually the whole of it.
fn seen_parts(source: &str, range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let piece = source.get(range.clone()).unwrap_or("");
    let unseen = names::places(piece, names::is_unseen);
    let gaps = unseen.map(|(at, c)| (at, at + c.len_utf8())).chain([(piece.len(), 0)]);
    let mut from = 0;
    gaps.map(move |(at, next)| range.start + std::mem::replace(&mut from, next)..range.start + at)
}

/// Returns the end of a range from `at` on that needs no change: words with single spaces between them, without a
/// trailing space.
fn end_of_words(bytes: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(&byte) = bytes.get(end) {
        // One comparison decides for most bytes; control characters below the space are text.
        if byte <= b' ' && byte.is_ascii_whitespace() {
            let next_is_word = bytes.get(end + 1).is_some_and(|next| !next.is_ascii_whitespace());
            if byte != b' ' || end == at || !next_is_word {
                break;
            }
        }
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests;
