//! Visible: makes every character of a text visible.
//!
//! In: text of a document. Out: the same, with invisible characters and terminal controls escaped as `\u{202e}`; and
//! back.
//! Why: such characters hide instructions from the person who reads along, reorder what is read, and disguise names,
//! while models and terminals obey them.
//! Invariants: text without them is neither copied nor changed; what writing needs is kept: line ends and tabs, joiners
//! in scripts that join letters and in emoji, and one variation selector or soft hyphen after the character it belongs
//! to.
//! Not here: secrets, and what leaves the daemon (`daemon/server/src/serve/leaving.rs`).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Characters that are always escaped, besides control characters.
const HIDDEN: [RangeInclusive<char>; 12] = [
    '\u{61c}'..='\u{61c}',     // Arabic letter mark
    '\u{115f}'..='\u{1160}',   // Hangul fillers
    '\u{180e}'..='\u{180e}',   // Mongolian vowel separator
    '\u{200b}'..='\u{200b}',   // zero width space
    '\u{200e}'..='\u{200f}',   // marks of direction
    '\u{2028}'..='\u{202e}', // separators of lines and paragraphs; embeddings and overrides of direction
    '\u{2060}'..='\u{206f}', // word joiner, invisible operators, isolates of direction, deprecated controls
    '\u{3164}'..='\u{3164}', // Hangul filler
    '\u{feff}'..='\u{feff}', // byte order mark
    '\u{ffa0}'..='\u{ffa0}', // Hangul filler
    '\u{fff9}'..='\u{fffb}', // interlinear annotations
    '\u{e0000}'..='\u{e007f}', // tags
];

const SOFT_HYPHEN: char = '\u{ad}';
const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// Scripts in which joiners are spelling: the Arabic ones, those of India and its neighbors, Mongolian.
const JOINING: [RangeInclusive<char>; 12] = [
    '\u{600}'..='\u{8ff}',
    '\u{900}'..='\u{dff}',
    '\u{f00}'..='\u{109f}',
    '\u{1780}'..='\u{18af}',
    '\u{1a20}'..='\u{1bff}',
    '\u{a800}'..='\u{a8ff}',
    '\u{a980}'..='\u{aa7f}',
    '\u{abc0}'..='\u{abff}',
    '\u{fb50}'..='\u{fdff}',
    '\u{fe70}'..='\u{fefc}',
    '\u{10a00}'..='\u{11fff}',
    '\u{1e900}'..='\u{1e95f}',
];

/// Symbols that emoji consist of; joiners connect several of them into one.
const EMOJI: [RangeInclusive<char>; 4] = [
    '\u{a9}'..='\u{ae}',
    '\u{203c}'..='\u{2bff}',
    '\u{3030}'..='\u{3299}',
    '\u{1f000}'..='\u{1faff}',
];

/// First bytes of characters that may be escaped: the fast path checks only these.
const SUSPECT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_control = byte < 0x20 && byte != b'\n' as usize && byte != b'\t' as usize;
        table[byte] =
            is_control || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf3);
        byte += 1;
    }
    table
};

/// Returns `text` with every hidden character escaped.
pub fn show(text: &str) -> Cow<'_, str> {
    write_out(text, |c, out| {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
    })
}

/// Returns JSON with the same content, with every hidden character as JSON's own escape, so that parsing gives the
/// original text.
pub fn show_json(json: &str) -> Cow<'_, str> {
    write_out(json, |c, out| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Returns the offsets at which a character to be escaped may begin. Plain ASCII, which is nearly everything, is
/// skipped eight bytes at a time.
fn suspects(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let within = |start: usize, bytes: &'_ [u8]| {
        let found = bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| SUSPECT.get(usize::from(**byte)).copied().unwrap_or(false));
        found.map(|(at, _)| start + at).collect::<Vec<_>>()
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let rest_at = bytes.len() - rest.len();
    let odd = words.iter().enumerate().filter(|(_, word)| !is_plain(u64::from_ne_bytes(**word)));
    odd.flat_map(move |(n, word)| within(n * 8, word)).chain(within(rest_at, rest))
}

/// Returns true if all eight bytes are from 0x20 to 0x7e.
fn is_plain(word: u64) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    // The usual tests within a word: the high bit of a byte is set if the byte is below 0x20, is 0x7f, or is not ASCII.
    // A borrow may mark the byte after such a one as well, which is only slower.
    let below_blank = word.wrapping_sub(0x20 * ONES) & !word;
    let is_delete = word ^ (0x7f * ONES);
    let deletes = is_delete.wrapping_sub(ONES) & !is_delete;
    (word | below_blank | deletes) & HIGH == 0
}

fn write_out(text: &str, write: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for at in suspects(text.as_bytes()) {
        // Continuation bytes are never suspects, so this is the start of a character.
        let Some((before, from)) = text.split_at_checked(at) else { continue };
        let mut after = from.chars();
        let Some(c) = after.next() else { continue };
        if is_hidden(before.chars().next_back(), c, after.next()) {
            out.push_str(text.get(done..at).unwrap_or_default());
            write(c, &mut out);
            done = at + c.len_utf8();
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// Returns the original of a text with escaped characters; escapes of other characters stay.
pub fn restore(text: &str) -> Cow<'_, str> {
    restore_where(text, |_| true)
}

/// Like [`restore`], but only for characters that `original` contains and does not also spell as escapes: a shown text
/// that comes back is restored, and a text about such characters is left alone.
pub fn restore_from<'a>(text: &'a str, original: &str) -> Cow<'a, str> {
    restore_where(text, |c| original.contains(c) && !original.contains(&written_out(c)))
}

fn restore_where(text: &str, is_meant: impl Fn(char) -> bool) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once("\\u{") {
        let known = from.split_once('}').and_then(|(digits, after)| {
            let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
            // Only in exactly our form: `\u{0041}` comes from elsewhere.
            (may_hide(c) && written_out(c).get(3..) == from.get(..=digits.len()) && is_meant(c))
                .then_some((c, after))
        });
        out.push_str(before);
        match known {
            Some((c, after)) => {
                out.push(c);
                rest = after;
            }
            None => {
                out.push_str("\\u{");
                rest = from;
            }
        }
    }
    if rest.len() == text.len() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn written_out(c: char) -> String {
    format!("\\u{{{:x}}}", u32::from(c))
}

fn is_in(table: &[RangeInclusive<char>], c: char) -> bool {
    table.iter().any(|range| range.contains(&c))
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns true for characters that are ever escaped.
fn may_hide(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    let depends = matches!(c, SOFT_HYPHEN | ZERO_WIDTH_NON_JOINER | ZERO_WIDTH_JOINER);
    is_control || depends || is_selector(c) || is_in(&HIDDEN, c)
}

/// Returns true if a character is escaped in its context. A character that may be hidden is never in place directly
/// after another such one, so that nothing can be spelled in a row of them.
fn is_hidden(before: Option<char>, c: char, after: Option<char>) -> bool {
    if !may_hide(c) {
        return false;
    }
    let owner = before.filter(|it| !may_hide(*it));
    let is_emoji = |it: char| is_in(&EMOJI, it);
    let is_at_home = match c {
        '\r' => after == Some('\n'),
        SOFT_HYPHEN => owner.is_some_and(char::is_alphabetic),
        ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER => {
            let joins = owner.is_some_and(|it| is_in(&JOINING, it));
            let is_in_emoji = before.is_some_and(|it| is_emoji(it) || is_selector(it))
                && after.is_some_and(is_emoji);
            joins || (c == ZERO_WIDTH_JOINER && is_in_emoji)
        }
        c if is_selector(c) => owner.is_some_and(|it| !it.is_whitespace()),
        _ => false,
    };
    !is_at_home
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_is_written_out() {
        for (text, shown) in [
            ("a\u{1b}[31mb\u{7f}\u{9b}\0", r"a\u{1b}[31mb\u{7f}\u{9b}\u{0}"),
            (
                "txt.\u{202e}exe \u{2066}x\u{2069}\u{61c}\u{200e}",
                r"txt.\u{202e}exe \u{2066}x\u{2069}\u{61c}\u{200e}",
            ),
            ("pass\u{200b}word\u{2060}\u{feff}", r"pass\u{200b}word\u{2060}\u{feff}"),
            ("hi\u{e0068}\u{e0069}", r"hi\u{e0068}\u{e0069}"),
            ("a\u{200d}b \u{200c}c", r"a\u{200d}b \u{200c}c"),
            ("x\u{fe00}\u{fe01}\u{fe02} \u{e0100}", "x\u{fe00}\\u{fe01}\\u{fe02} \\u{e0100}"),
            ("half\rline", r"half\u{d}line"),
            ("\u{ad}\u{ad}", r"\u{ad}\u{ad}"),
        ] {
            assert_eq!(show(text), shown);
            assert_eq!(restore(&show(text)), text);
        }
    }

    #[test]
    fn what_writing_needs_stays_and_is_not_copied() {
        for text in [
            "plain — “ünï” Straße 日本語、ひらがな\r\n\tcode\n",
            "می\u{200c}خواهم क्\u{200d}ष শ্\u{200c}",
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 👩🏽\u{200d}🚀 1\u{fe0f}\u{20e3} 🏳\u{fe0f}\u{200d}🌈",
            "葛\u{e0100}城 Donau\u{ad}dampf",
        ] {
            assert!(matches!(show(text), Cow::Borrowed(_)), "{}", show(text));
        }
    }

    #[test]
    fn plain_words_are_of_printable_ascii() {
        for byte in 0..=255 {
            for at in 0..8 {
                let mut word = [b'a'; 8];
                word[at] = byte;
                let is_printable = (0x20..0x7f).contains(&byte);
                assert_eq!(is_plain(u64::from_ne_bytes(word)), is_printable, "{byte}");
            }
        }
    }

    #[test]
    fn json_says_the_same() {
        let text = serde_json::Value::from("a\u{202e}\u{1b} \u{e0068}\"").to_string();
        let shown = show_json(&text);
        assert_eq!(shown, r#""a\u202e\u001b \udb40\udc68\"""#);
        let same = serde_json::from_str::<serde_json::Value>(&shown).expect("JSON");
        assert_eq!(same, "a\u{202e}\u{1b} \u{e0068}\"");
    }

    #[test]
    fn only_what_was_hidden_comes_back() {
        assert_eq!(
            restore(r"\u{41} \u{0202e} \u{202E} \u{a} \u{ \u{}"),
            r"\u{41} \u{0202e} \u{202E} \u{a} \u{ \u{}"
        );
        assert_eq!(restore_from(r"a \u{202e} \u{200b}", "x\u{202e}"), "a \u{202e} \\u{200b}");
        let about = "`\\u{202e}` is \u{202e}";
        assert_eq!(restore_from(r"see \u{202e}", about), r"see \u{202e}");
    }
}
