//! Names: how names compare, and which characters are invisible.
//!
//! In: any words. Out: their [`fold`], which is equal for words that people take for the same.
//! Invariants: every comparison of titles, paths, tags, types, headings, links and queries is one of folded words, or
//! of something built on them; folding twice is folding once; text of plain ASCII costs a copy in lowercase.
//! Different on purpose, and said there: index words, which lose accents (`daemon/index/src/words/fold.rs`), slugs,
//! which lose signs (`notes/src/slug.rs`), and norms of entities (`daemon/model/src/terms/name.rs`).

mod invisible;

pub use invisible::{is_ignorable, is_stray, is_unseen, places, seen};

use std::ops::Range;

use unicode_normalization::char::{canonical_combining_class, is_combining_mark};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The mark that lowercase `İ` leaves on its `i`.
const DOT_ABOVE: char = '\u{307}';

/// Returns the form in which names are compared: composed (NFC), in one case, without invisible characters, with
/// plain blanks, quotation marks and hyphens. `I`, `i`, `İ` and `ı` are one letter, since nobody knows in which
/// language a name was typed.
///
/// `Maße` and `Masse` stay apart: letters are folded one by one, never to several.
pub fn fold(words: &str) -> String {
    if words.is_ascii() {
        let lower = words.to_ascii_lowercase();
        // A name is shown on one line.
        let is_one_line = !lower.bytes().any(|it| it.is_ascii_whitespace() && it != b' ');
        return if is_one_line { lower } else { lower.replace(char::is_whitespace, " ") };
    }
    let mut before = ' ';
    let visible = words.chars().filter(|c| !is_ignorable(*c)).nfc();
    let plain =
        visible.map(|c| if c.is_whitespace() { ' ' } else { fold_case(unquoted(alike(c))) });
    let folded = plain.filter(|c| {
        let is_kept = *c != DOT_ABOVE || before != 'i';
        if is_kept {
            before = *c;
        }
        is_kept
    });
    // Lowercase letters may compose where the capitals did not.
    folded.nfc().collect()
}

/// Returns whether two names are the same.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || fold(one) == fold(other)
}

/// Returns the lowercase form of a letter that all its forms share: `σ` for `ς`, `s` for `ſ`, `i` for `İ` and `ı`.
pub fn fold_case(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    if matches!(c, 'İ' | 'ı') {
        return 'i';
    }
    // Unicode's simple folding: by way of the capital, if both have one letter only.
    let upper = only(c.to_uppercase()).unwrap_or(c);
    only(upper.to_lowercase()).unwrap_or(c)
}

fn only(mut letters: impl Iterator<Item = char>) -> Option<char> {
    letters.next().filter(|_| letters.next().is_none())
}

/// Returns the plain form of a character that looks like it: blanks of any kind and width, hyphens.
fn alike(c: char) -> char {
    match c {
        '\u{2010}' | '\u{2011}' => '-',
        c if !c.is_ascii() && c.is_whitespace() => ' ',
        c => c,
    }
}

/// Returns the sign of a keyboard for the typographic ones that programs replace it with.
fn unquoted(c: char) -> char {
    match c {
        '\u{2012}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '\u{2018}'..='\u{201b}'
        | '\u{2032}'
        | '\u{2b9}'
        | '\u{2bc}'
        | '\u{2039}'
        | '\u{203a}'
        | '\u{ff07}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{2ba}' | '\u{ab}' | '\u{bb}' | '\u{ff02}' => '"',
        c => c,
    }
}

/// A text in a form in which others are looked for, with the way back to its bytes.
#[derive(Debug, Default)]
pub struct Look {
    text: String,
    /// For each letter with its marks: where it begins in `text`, and where it stands in the original.
    letters: Vec<(usize, Range<usize>)>,
}

impl Look {
    /// Returns what a reader sees of a text: composed, with `\n` as line end, without invisible characters, with plain
    /// blanks and hyphens; unlike [`fold`], in its own case.
    pub fn of(text: &str) -> Self {
        Look::read(
            text,
            |c| !is_ignorable(c),
            begins_letter,
            |letter, out| {
                out.extend(letter.chars().map(alike).nfc());
            },
        )
    }

    /// Returns a text with `\n` as line end, and otherwise as it is.
    pub fn of_lines(text: &str) -> Self {
        Look::read(text, |_| true, |_| true, |letter, out| out.push_str(letter))
    }

    fn read(
        text: &str,
        is_part: impl Fn(char) -> bool,
        begins: impl Fn(char) -> bool,
        write: impl Fn(&str, &mut String),
    ) -> Self {
        let bytes = text.as_bytes();
        let mut look = Look { text: String::with_capacity(text.len()), letters: Vec::new() };
        let (mut letter, mut span) = (String::new(), 0..0);
        let mut end = |letter: &mut String, span: &Range<usize>| {
            if !letter.is_empty() {
                look.letters.push((look.text.len(), span.clone()));
                write(letter, &mut look.text);
                letter.clear();
            }
        };
        for (at, c) in text.char_indices() {
            if !is_part(c) || c == '\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            if begins(c) {
                end(&mut letter, &span);
                let is_crlf = c == '\n' && at > 0 && bytes.get(at - 1) == Some(&b'\r');
                span.start = at - usize::from(is_crlf);
            }
            letter.push(c);
            span.end = at + c.len_utf8();
        }
        end(&mut letter, &span);
        look
    }

    /// Returns the text in this form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the places in the original of a text in the same form, whole letters each, in order.
    pub fn places_of(&self, wanted: &Look) -> Vec<Range<usize>> {
        let wanted = &wanted.text;
        let letter = |at: usize| self.letters.binary_search_by_key(&at, |it| it.0).ok();
        let place = |at: usize| {
            let first = letter(at)?;
            let end = at + wanted.len();
            let last = if end == self.text.len() { self.letters.len() } else { letter(end)? };
            Some(self.letters.get(first)?.1.start..self.letters.get(last.checked_sub(1)?)?.1.end)
        };
        let found = self.text.match_indices(wanted.as_str()).filter(|_| !wanted.is_empty());
        found.filter_map(|(at, _)| place(at)).collect()
    }
}

/// Returns false for characters that may compose with those before them.
fn begins_letter(c: char) -> bool {
    c.is_ascii()
        || canonical_combining_class(c) == 0
            && !is_combining_mark(c)
            && is_nfc_quick(std::iter::once(c)) != IsNormalized::Maybe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_people_take_for_the_same_are_the_same() {
        for (one, other) in [
            ("Überblick", "U\u{308}BERBLICK"),
            ("größe", "gro\u{308}ße"),
            ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"),
            ("ΟΔΟΣ", "οδος"),
            ("ẞtraẞe", "ßtraße"),
            ("a\tb\nc", "a b c"),
            ("İSTANBUL", "istanbul"),
            ("I\u{307}stanbul", "ıstanbul"),
            ("i\u{307}stanbul", "ISTANBUL"),
            ("Gesamt\u{ad}kon\u{200b}zept\u{feff}", "gesamtkonzept"),
            ("می\u{200c}خواهم", "میخواهم"),
            ("cafe\u{200b}\u{301}", "café"),
            ("x\u{e0041}\u{e01f0}\u{34f}\u{180b}\u{fff0}\u{1d173}", "X"),
            ("it’s “so” – ‘x’\u{2011}y", "It's \"so\" - 'x'-Y"),
            ("Signing\u{a0}Service", "signing service"),
            ("K\u{30c}", "ǩ"),
            ("J\u{30c}", "ǰ"),
        ] {
            assert!(is_same(one, other), "{one:?} {other:?} {:?} {:?}", fold(one), fold(other));
        }
        for (one, other) in [("Maße", "Masse"), ("é", "e"), ("a b", "ab"), ("ﬁ", "fi"), ("a", "а")]
        {
            assert!(!is_same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_looks_the_same_is_found_at_its_bytes() {
        for (text, wanted, found) in [
            ("Der Text der A\u{308}nderungen.", "der Änderungen", &["der A\u{308}nderungen"][..]),
            ("Der Text der Änderungen.", "der A\u{308}nderungen", &["der Änderungen"]),
            (
                "\u{200b}soft\u{ad}ware\u{200b}, software",
                "software",
                &["soft\u{ad}ware", "software"],
            ),
            ("a\r\nb\u{a0}c\r\nd", "b c\nd", &["b\u{a0}c\r\nd"]),
            ("x\u{2011}y x–y", "x-y", &["x\u{2011}y"]),
            // Not in the middle of a letter, and nothing is no text.
            ("cafe\u{301}", "cafe", &[]),
            ("a\u{200b}b", "\u{ad}", &[]),
            ("Case", "case", &[]),
        ] {
            let places = Look::of(text).places_of(&Look::of(wanted));
            let written: Vec<&str> = places.into_iter().map(|it| &text[it]).collect();
            assert_eq!(written, found, "{wanted:?} in {text:?}");
        }
    }

    proptest! {
        #[test]
        fn folding_twice_is_folding_once(words in "(\\PC|[A-Zıİ ]|[\u{300}-\u{310}\u{200b}\u{ad}\u{345}]){0,12}") {
            let once = fold(&words);
            prop_assert_eq!(fold(&once), once.clone());
            prop_assert_eq!(&fold(&words.nfd().collect::<String>()), &once);
            prop_assert_eq!(&fold(&seen(&words)), &once);
        }

        #[test]
        fn a_part_is_found_in_its_text(
            before in "(\\PC|[\u{300}\u{200b}]){0,6}", part in "(\\PC|[\u{300}\u{200b}]){1,6}", after in "[a-z]{0,4}",
        ) {
            let text = format!("{before} {part} {after}");
            let shown = seen(&part).nfd().collect::<String>();
            let places = Look::of(&text).places_of(&Look::of(&format!(" {shown} ")));
            prop_assert!(!places.is_empty(), "{:?} in {:?}", shown, text);
            prop_assert!(places.iter().all(|it| text.get(it.clone()).is_some()));
        }
    }
}
