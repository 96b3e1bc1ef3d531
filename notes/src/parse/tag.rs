//! Tags in running text: `#tag`, `#tag/sub`.
//!
//! Invariant: a tag begins where a word could and has a letter. It is read from the source itself, since the parser
//! divides text at `_` and `-`.

use std::ops::Range;

/// Longest tag, in bytes; longer ones are not meant as tags.
const MAX_TAG_BYTES: usize = 100;

/// Calls `found` with the place of every tag that begins in `range`, without its `#`.
pub fn find(source: &str, range: Range<usize>, mut found: impl FnMut(Range<usize>)) {
    let Some(piece) = source.get(range.clone()) else { return };
    for (at, _) in piece.match_indices('#') {
        let hash = range.start + at;
        if let Some(tag) = tag_at(source, hash) {
            found(hash + 1..hash + 1 + tag.len());
        }
    }
}

fn tag_at(source: &str, hash: usize) -> Option<&str> {
    let before = hash.checked_sub(1).and_then(|i| source.as_bytes().get(i));
    if before.is_some_and(|byte| !byte.is_ascii_whitespace() && !b"(,*_|\"'".contains(byte)) {
        return None;
    }
    let rest = source.get(hash + 1..)?;
    let end = rest
        .char_indices()
        .take_while(|(at, c)| *at <= MAX_TAG_BYTES && is_tag_char(*c))
        .last()
        .map(|(at, c)| at + c.len_utf8())?;
    let tag = rest.get(..end)?.trim_end_matches(['/', '-', '_']);
    let has_letter = names::fold(tag).chars().any(|c| c.is_alphabetic() || !c.is_ascii());
    (has_letter && end <= MAX_TAG_BYTES && !tag.starts_with('/')).then_some(tag)
}

fn is_tag_char(c: char) -> bool {
    let is_plain = c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    is_plain || !c.is_ascii() && (is_symbol(c) || names::is_ignorable(c))
}

/// True for symbols such as emoji; false for white space and punctuation beyond ASCII.
fn is_symbol(c: char) -> bool {
    let is_punctuation = matches!(c,
        '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff20}' | '\u{fffd}');
    !c.is_whitespace() && !is_punctuation
}

#[cfg(test)]
mod tests {
    #[test]
    fn tags_begin_where_a_word_could() {
        let rows = [
            ("#tag and #tag/sub-one.", "tag tag/sub-one"),
            ("a#b C# #1 #12a", "12a"),
            ("(#in) **#bold** \\#no &#35;", "in bold"),
            ("#наука #日本 #x_y_", "наука 日本 x_y"),
            ("# no ## ### #/a #a/", "a"),
            ("#soft\u{ad}tag #cafe\u{301} #1\u{ad}2", "soft\u{ad}tag cafe\u{301}"),
        ];
        for (text, expected) in rows {
            let mut tags = Vec::new();
            super::find(text, 0..text.len(), |tag| tags.push(&text[tag]));
            assert_eq!(tags.join(" "), expected, "{text}");
        }
    }
}
