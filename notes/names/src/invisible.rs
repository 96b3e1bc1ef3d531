//! Invisible: which characters nobody sees, and where they are needed all the same.
//!
//! In: text. Out: the characters that are nothing to names and words ([`is_ignorable`]), and those of them that writing
//! does not need where they stand ([`is_stray`]).
//! Invariant: an invisible character is needed only directly after a character that is none and that uses it, so that
//! nothing can be spelled in a row of them.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Unicode's property `Default_Ignorable_Code_Point`, version 16.0; unassigned ones are included, so that later
/// versions change nothing. A test compares it with the data of the crate `regex`.
const IGNORABLE: [RangeInclusive<char>; 17] = [
    '\u{ad}'..='\u{ad}',       // soft hyphen
    '\u{34f}'..='\u{34f}',     // combining grapheme joiner
    '\u{61c}'..='\u{61c}',     // Arabic letter mark
    '\u{115f}'..='\u{1160}',   // Hangul fillers
    '\u{17b4}'..='\u{17b5}',   // inherent vowels of Khmer
    '\u{180b}'..='\u{180f}',   // selectors and the vowel separator of Mongolian
    '\u{200b}'..='\u{200f}',   // zero width space, joiners, marks of direction
    '\u{202a}'..='\u{202e}',   // embeddings and overrides of direction
    '\u{2060}'..='\u{206f}',   // word joiner, invisible operators, isolates of direction
    '\u{3164}'..='\u{3164}',   // Hangul filler
    '\u{fe00}'..='\u{fe0f}',   // variation selectors
    '\u{feff}'..='\u{feff}',   // byte order mark
    '\u{ffa0}'..='\u{ffa0}',   // Hangul filler
    '\u{fff0}'..='\u{fff8}',   // unassigned
    '\u{1bca0}'..='\u{1bca3}', // format controls of shorthand
    '\u{1d173}'..='\u{1d17a}', // beams and slurs of music
    '\u{e0000}'..='\u{e0fff}', // tags, further variation selectors, unassigned
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

/// Characters other than emoji that have variants, with the selectors of these: the ranges of
/// `StandardizedVariants.txt` and, for Han, of the Ideographic Variation Database, in which no character has more than
/// 32. A selector says which glyph is drawn; after any other character it draws nothing and may carry a byte.
const VARIED: [(RangeInclusive<char>, RangeInclusive<char>); 22] = [
    // Keycaps, and the zero with a stroke.
    ('#'..='#', '\u{fe0e}'..='\u{fe0f}'),
    ('*'..='*', '\u{fe0e}'..='\u{fe0f}'),
    ('0'..='9', '\u{fe0e}'..='\u{fe0f}'),
    ('0'..='0', '\u{fe00}'..='\u{fe00}'),
    // Quotation marks and punctuation by width and place.
    ('\u{2018}'..='\u{201d}', '\u{fe00}'..='\u{fe01}'),
    ('\u{3001}'..='\u{3002}', '\u{fe00}'..='\u{fe01}'),
    ('\u{ff01}'..='\u{ff1f}', '\u{fe00}'..='\u{fe01}'),
    // Letters and operators of mathematics.
    ('\u{210b}'..='\u{2133}', '\u{fe00}'..='\u{fe01}'),
    ('\u{2205}'..='\u{22db}', '\u{fe00}'..='\u{fe00}'),
    ('\u{2a3c}'..='\u{2acc}', '\u{fe00}'..='\u{fe00}'),
    ('\u{1d49c}'..='\u{1d4b5}', '\u{fe00}'..='\u{fe01}'),
    // Myanmar, Phags-pa, Manichaean, Mongolian, Egyptian.
    ('\u{1000}'..='\u{1080}', '\u{fe00}'..='\u{fe00}'),
    ('\u{aa60}'..='\u{aa7a}', '\u{fe00}'..='\u{fe00}'),
    ('\u{a856}'..='\u{a868}', '\u{fe00}'..='\u{fe00}'),
    ('\u{10ac5}'..='\u{10ae1}', '\u{fe00}'..='\u{fe00}'),
    ('\u{1820}'..='\u{18aa}', '\u{180b}'..='\u{180f}'),
    ('\u{13000}'..='\u{1342f}', '\u{fe00}'..='\u{fe06}'),
    // Han.
    ('\u{3400}'..='\u{9fff}', '\u{fe00}'..='\u{fe02}'),
    ('\u{3400}'..='\u{9fff}', '\u{e0100}'..='\u{e011f}'),
    ('\u{f900}'..='\u{faff}', '\u{e0100}'..='\u{e011f}'),
    ('\u{20000}'..='\u{3ffff}', '\u{fe00}'..='\u{fe02}'),
    ('\u{20000}'..='\u{3ffff}', '\u{e0100}'..='\u{e011f}'),
];

/// First bytes of characters that may be invisible, and of control characters: the fast path checks only these.
const SUSPECT: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let is_control = byte < 0x20 && byte != b'\n' as usize && byte != b'\t' as usize;
        let begins =
            matches!(byte, 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf0 | 0xf3);
        table[byte] = is_control || begins;
        byte += 1;
    }
    table
};

/// Returns true for characters that are nothing to names and words: those that Unicode says to draw as nothing.
pub fn is_ignorable(c: char) -> bool {
    let n = IGNORABLE.partition_point(|range| *range.start() <= c);
    n.checked_sub(1).and_then(|at| IGNORABLE.get(at)).is_some_and(|range| range.contains(&c))
}

/// Returns true for a character that is ignorable and does nothing where it stands: not a joiner in a script that
/// joins letters or in an emoji, not the selector of a variant that the character before it has, not a soft hyphen
/// after a letter.
pub fn is_stray(before: Option<char>, c: char, after: Option<char>) -> bool {
    if !is_ignorable(c) {
        return false;
    }
    let owner = before.filter(|it| !is_ignorable(*it));
    let is_emoji = |it: char| is_in(&EMOJI, it);
    let is_at_home = match c {
        SOFT_HYPHEN => owner.is_some_and(char::is_alphabetic),
        ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER => {
            let joins = owner.is_some_and(|it| is_in(&JOINING, it));
            let is_in_emoji = before.is_some_and(|it| is_emoji(it) || is_presentation(it))
                && after.is_some_and(is_emoji);
            joins || (c == ZERO_WIDTH_JOINER && is_in_emoji)
        }
        c => owner.is_some_and(|it| {
            is_emoji(it) && is_presentation(c)
                || VARIED.iter().any(|(of, selectors)| of.contains(&it) && selectors.contains(&c))
        }),
    };
    !is_at_home
}

/// Returns true for the selectors that say whether a symbol is drawn as text or as emoji.
fn is_presentation(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Returns a text as words see it: without stray invisible characters and soft hyphens. Joiners and selectors that
/// writing needs stay.
pub fn seen(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, c) in places(text, is_unseen) {
        out.push_str(text.get(done..at).unwrap_or_default());
        done = at + c.len_utf8();
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// Returns true for what [`seen`] drops.
pub fn is_unseen(before: Option<char>, c: char, after: Option<char>) -> bool {
    c == SOFT_HYPHEN || is_stray(before, c, after)
}

/// Returns the places of the ignorable and control characters of which `is_meant` holds, given the characters before
/// and after. Plain ASCII, which is nearly everything, is skipped eight bytes at a time.
pub fn places(
    text: &str,
    is_meant: impl Fn(Option<char>, char, Option<char>) -> bool,
) -> impl Iterator<Item = (usize, char)> {
    suspects(text.as_bytes()).filter_map(move |at| {
        // Continuation bytes are never suspects, so this is the start of a character.
        let (before, from) = text.split_at_checked(at)?;
        let mut after = from.chars();
        let c = after.next()?;
        is_meant(before.chars().next_back(), c, after.next()).then_some((at, c))
    })
}

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

fn is_in(table: &[RangeInclusive<char>], c: char) -> bool {
    table.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The crate `regex` has the property from Unicode's own files.
    #[test]
    fn ignorable_is_what_unicode_says() {
        let property = regex::Regex::new(r"\p{Default_Ignorable_Code_Point}").expect("a property");
        for c in '\0'..=char::MAX {
            let text = c.encode_utf8(&mut [0; 4]).to_string();
            assert_eq!(is_ignorable(c), property.is_match(&text), "U+{:04X}", u32::from(c));
            let is_found = places(&text, |_, c, _| is_ignorable(c)).next().is_some();
            assert_eq!(is_found, is_ignorable(c), "U+{:04X} begins with a suspect", u32::from(c));
        }
    }

    #[test]
    fn words_are_seen_without_what_nobody_sees() {
        for (text, shown) in [
            (
                "Donau\u{ad}dampf pass\u{200b}word \u{feff}soft\u{2060}ware",
                "Donaudampf password software",
            ),
            ("inter\u{200c}national x\u{e0041}\u{e0042}\u{202e}y", "international xy"),
            ("a\u{fe00}\u{e0101}\u{34f}b\u{180b}\u{17b4}\u{1bca0}\u{1d173}\u{fff0}\u{e0fff}", "ab"),
        ] {
            assert_eq!(seen(text), shown);
        }
        for text in ["plain — “ünï”", "می\u{200c}خواهم", "👩\u{200d}💻 ❤\u{fe0f}", "葛\u{e0100}城"]
        {
            assert!(matches!(seen(text), Cow::Borrowed(_)), "{text}");
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
}
