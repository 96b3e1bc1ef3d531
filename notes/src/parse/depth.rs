//! Depth: whether a text nests too deep for the parser.
//!
//! In: the body of a note. Out: whether a line outside fenced code opens too many lists or quotations.
//! Invariant: the cost is linear in the text, whatever it contains.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::walk::options;

/// True when one line outside fenced code opens more than `limit` lists or quotations, or is indented as deep as
/// that.
pub(super) fn nests_deeper_than(text: &str, limit: usize) -> bool {
    // Only the parser knows what is fenced, and it must not see a deep line. So it gets the text with a mark in place
    // of what follows the quotation signs of each deep line. Marks in fenced code are harmless; any other mark is
    // deep.
    let (mut flat, mut marks, mut n_copied, mut at) = (String::new(), Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        // A line shorter than the limit cannot exceed it; most are.
        if line.len() > limit && depth_of(line.as_bytes()) > limit {
            flat.push_str(text.get(n_copied..at).unwrap_or(""));
            flat.push_str(quotation_signs(line, limit));
            marks.push(flat.len());
            flat.push('x');
            n_copied = at + line.trim_end_matches(['\n', '\r']).len();
        }
        at += line.len();
    }
    if marks.is_empty() {
        return false;
    }
    flat.push_str(text.get(n_copied..).unwrap_or(""));
    let mut marks = marks.into_iter().peekable();
    let mut is_fenced = false;
    for (event, range) in Parser::new_ext(&flat, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => is_fenced = kind.is_fenced(),
            Event::End(TagEnd::CodeBlock) => is_fenced = false,
            Event::Text(_) if is_fenced => {
                while marks.next_if(|at| range.contains(at)).is_some() {}
            }
            _ => {}
        }
    }
    marks.peek().is_some()
}

/// Returns the blanks and up to `limit` quotation signs at the start of a line.
fn quotation_signs(line: &str, limit: usize) -> &str {
    let mut n_signs = 0;
    let end = line.find(|sign: char| {
        n_signs += usize::from(sign == '>');
        n_signs > limit || !matches!(sign, '>' | ' ' | '\t')
    });
    line.get(..end.unwrap_or(0)).unwrap_or("")
}

/// Returns how many lists and quotations a line opens or continues: its markers, plus its indentation at four columns
/// each (two would be possible, but code is indented, too); 0 without a marker. A rule such as `+----+` has none.
fn depth_of(line: &[u8]) -> usize {
    let (mut n_markers, mut n_blank) = (0, 0);
    for (at, byte) in line.iter().enumerate() {
        let is_before_blank = line.get(at + 1).is_none_or(u8::is_ascii_whitespace);
        match byte {
            b'>' => n_markers += 1,
            b'-' | b'*' | b'+' | b'.' | b')' if is_before_blank => n_markers += 1,
            b'0'..=b'9' => {}
            blank if blank.is_ascii_whitespace() => n_blank += 1,
            _ => break,
        }
    }
    if n_markers == 0 { 0 } else { n_markers + n_blank / 4 }
}
