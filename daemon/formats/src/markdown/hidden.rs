//! Hidden text: parts of the source that are not shown: Obsidian comments, callout markers, heading attributes, and
//! the `^id` by which a link finds its block.
//!
//! Invariant: at any time one range is hidden, at or after the current place; the walk only moves forward.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;
use notes::target::is_block_id;

use super::MarkdownWalk;

/// Opens and closes an Obsidian comment.
const COMMENT: &str = "%%";
/// Built once, because building a searcher for every piece of text is slow.
static COMMENT_FINDER: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new(COMMENT));

/// False when the text cannot contain a comment, so that its pieces need not be searched.
pub(super) fn may_have_comments(text: &str) -> bool {
    COMMENT_FINDER.find(text.as_bytes()).is_some()
}

impl MarkdownWalk<'_> {
    /// True when a piece begins in the hidden range.
    pub(super) fn is_hidden(&self, range: &Range<usize>) -> bool {
        self.hidden.contains(&range.start)
    }

    /// Hides the comment that opens in `range`, if there is one and it closes. A `%%` alone on its line may span
    /// blocks; any other must close in its own block.
    pub(super) fn find_comment(&mut self, range: Range<usize>) {
        let bytes = self.source.as_bytes();
        let next = |from: usize, to: usize| {
            let found = COMMENT_FINDER.find(bytes.get(from..to).unwrap_or(&[]));
            found.map(|place| from + place)
        };
        let Some(open) = next(range.start, range.end) else { return };
        let is_alone = is_alone_on_line(self.source, open);
        let limit = if is_alone { bytes.len() } else { self.block_end };
        if let Some(close) = next(open + COMMENT.len(), limit) {
            self.hidden = open..close + COMMENT.len();
        }
    }

    /// Hides the `{#id}` that some dialects write after a heading.
    pub(super) fn hide_heading_attributes(&mut self, range: &Range<usize>) {
        let line = self.source.get(range.clone()).unwrap_or("");
        let line = line.lines().next().unwrap_or("").trim_end_matches(['#', ' ', '\t']);
        if let Some(open) = line.rfind("{#").filter(|_| line.ends_with('}')) {
            self.hidden = range.start + open..range.start + line.len();
        }
    }

    /// Hides the `^id` at the end of a piece that ends its block.
    pub(super) fn hide_block_id(&mut self, range: Range<usize>) {
        let piece = self.source.get(range.clone()).unwrap_or("");
        let Some((before, id)) = piece.rsplit_once('^') else { return };
        let is_parted = before.is_empty() || before.ends_with([' ', '\t']);
        let after = self.source.get(range.end..).unwrap_or("");
        if is_parted && is_block_id(id) && ends_block(after) {
            self.hidden = range.start + before.trim_end().len()..range.end;
        }
    }

    /// Hides the `[!kind]` of a callout and remembers where its title ends.
    pub(super) fn hide_callout_marker(&mut self, range: &Range<usize>) {
        let quote = self.source.get(range.clone()).unwrap_or("");
        let line = quote.split('\n').next().unwrap_or("");
        let Some(marked) = line.strip_prefix('>').map(str::trim_start) else { return };
        let Some(close) = marked.find(']').filter(|_| marked.starts_with("[!")) else { return };
        let after = marked.get(close + 1..).unwrap_or("");
        // `+` and `-` say whether the callout is unfolded.
        let n_fold = usize::from(after.starts_with(['+', '-']));
        let start = range.start + line.len() - marked.len();
        self.hidden = start..start + close + 1 + n_fold;
        // The parser moves trailing white space of a line into the break event.
        self.callout_title_end = Some(range.start + line.trim_end().len());
    }
}

/// True when what follows a piece is another block, as far as its next line shows.
fn ends_block(after: &str) -> bool {
    let mut lines = after.split('\n');
    let is_line_end = lines.next().is_none_or(|rest| rest.trim().is_empty());
    let next = lines.next().unwrap_or("").trim_start();
    let opens = |c: char| "-*+#>|`~".contains(c) || c.is_ascii_digit();
    is_line_end && next.chars().next().is_none_or(opens)
}

fn is_alone_on_line(text: &str, place: usize) -> bool {
    let bytes = text.as_bytes();
    let before = bytes.iter().take(place).rev().take_while(|byte| **byte != b'\n');
    let after = bytes.iter().skip(place + COMMENT.len()).take_while(|byte| **byte != b'\n');
    before.chain(after).all(u8::is_ascii_whitespace)
}
