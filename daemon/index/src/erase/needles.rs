//! Needles: searches for several strings in all their forms at once.
//!
//! In: strings. Out: their positions in bytes; the bytes with each occurrence replaced.
//! Invariants: of two matches that start at the same byte the longer one wins; a name matches only as a whole word or
//! path; case of ASCII letters is ignored; search is linear in the text.

use std::ops::Range;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use serde::{Deserialize, Serialize};

use super::Rewrite;
use super::forms::{WrittenForm, forms_of};

/// A string to search for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Needle {
    /// The string.
    pub text: String,
    /// True for the name or path of something: inside a longer word or path it would mean something else.
    pub is_name: bool,
}

/// Strings to search for, compiled into one finder.
#[derive(Debug)]
pub struct Needles {
    finder: Option<AhoCorasick>,
    forms: Vec<(WrittenForm, bool)>,
    longest: usize,
}

impl Needles {
    /// Compiles a finder for these strings.
    ///
    /// # Errors
    /// When they are too many or too long for one finder.
    pub fn new<'n>(
        needles: impl IntoIterator<Item = &'n Needle>,
    ) -> Result<Self, aho_corasick::BuildError> {
        let each = needles.into_iter().flat_map(|it| {
            forms_of(&it.text).into_iter().map(|form| (form, it.is_name)).collect::<Vec<_>>()
        });
        let mut forms: Vec<(WrittenForm, bool)> = each.collect();
        // A form that comes from a name and from plain text matches anywhere: `false` sorts first, and the first is
        // kept.
        forms.sort();
        forms.dedup_by(|later, earlier| later.0 == earlier.0);
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest).ascii_case_insensitive(true);
        let patterns = forms.iter().map(|(form, _)| &form.bytes);
        let finder = (!forms.is_empty()).then(|| builder.build(patterns)).transpose()?;
        let longest = forms.iter().map(|(form, _)| form.bytes.len()).max().unwrap_or(0);
        Ok(Needles { finder, forms, longest })
    }

    /// Returns how many bytes two consecutive blocks must share so that no match is missed: the longest form and a
    /// byte on either side.
    pub fn overlap(&self) -> usize {
        self.longest + 2
    }

    /// Finds the matches in order, without overlap, each with its replacement.
    pub fn places<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = (Range<usize>, &'a [u8])> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let finder = self.finder.as_ref()?;
            loop {
                let found = finder.find(Input::new(bytes).span(from..bytes.len()))?;
                let (form, is_name) = self.forms.get(found.pattern().as_usize())?;
                // Part of a longer word. A shorter match may begin one byte later.
                if *is_name && !stands_alone(bytes, found.range()) {
                    from = found.start() + 1;
                    continue;
                }
                from = found.end();
                return Some((found.range(), form.mark.as_slice()));
            }
        })
    }

    /// Returns whether any of the strings occurs in these bytes.
    pub fn are_in(&self, bytes: &[u8]) -> bool {
        self.places(bytes).next().is_some()
    }

    /// Returns the bytes with every match replaced; `None` without a match.
    pub(crate) fn taken_out_of(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut last = 0;
        for (range, mark) in self.places(bytes) {
            out.extend_from_slice(bytes.get(last..range.start)?);
            out.extend_from_slice(mark);
            last = range.end;
        }
        // `last` is 0 only if nothing matched: no form is empty.
        (last > 0)
            .then(|| out.extend_from_slice(bytes.get(last..).unwrap_or_default()))
            .map(|()| out)
    }
}

impl Rewrite for Needles {
    fn text(&self, text: &str) -> Option<String> {
        let bytes = self.taken_out_of(text.as_bytes())?;
        // Cutting out a form of another encoding may break UTF-8; the rest is then read lossily.
        Some(
            String::from_utf8(bytes)
                .unwrap_or_else(|it| String::from_utf8_lossy(it.as_bytes()).into_owned()),
        )
    }

    fn version(&self, _: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        self.taken_out_of(bytes)
    }

    fn takes_names(&self) -> bool {
        true
    }
}

/// Returns whether a match is a whole word or path. A dot, dash or underscore after it joins it to more only where a
/// letter or digit follows: the full stop of a sentence does not.
pub(super) fn stands_alone(bytes: &[u8], range: Range<usize>) -> bool {
    let at = |place: Option<usize>| place.and_then(|it| bytes.get(it)).copied().unwrap_or(b' ');
    let (first, last) = (at(Some(range.start)), at(range.end.checked_sub(1)));
    let (before, after) = (at(range.start.checked_sub(1)), at(Some(range.end)));
    // `/` joins only before the name: `notes/NAME` is another path than `NAME`.
    let goes_on_before = is_word(first) && (is_word(before) || is_joint(before) || before == b'/');
    let behind = at(Some(range.end + 1));
    let goes_on_after = is_word(last) && (is_word(after) || (is_joint(after) && is_word(behind)));
    !goes_on_before && !goes_on_after
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_joint(byte: u8) -> bool {
    matches!(byte, b'.' | b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_out(needles: &[(&str, bool)], text: &str) -> String {
        let needles: Vec<Needle> = needles
            .iter()
            .map(|(text, is_name)| Needle { text: text.to_string(), is_name: *is_name })
            .collect();
        let needles = Needles::new(&needles).expect("a finder");
        needles.text(text).unwrap_or_else(|| "-".to_string())
    }

    #[test]
    fn spans_are_marked_in_every_form() {
        let secret = ("Zoë's \"7\" keys", false);
        for (text, wanted) in [
            ("of ZOë's \"7\" KEYS.", "of [forgotten]."),
            (r#"{"a":"Zoë's \"7\" keys"}"#, r#"{"a":"[forgotten]"}"#),
            ("zoës7keys and Zoë's 7 keys", "[forgotten] and Zoë's 7 keys"),
            ("nothing", "-"),
        ] {
            let secret = [secret, ("zoës7keys", false)];
            assert_eq!(taken_out(&secret, text), wanted, "{text}");
        }
    }

    #[test]
    fn a_name_is_no_part_of_a_longer_one() {
        let names = [("todo.md", true), ("Ada", true), ("/r/todo.md", true)];
        for (text, wanted) in [
            ("read todo.md.", "read [forgotten]."),
            ("sub/todo.md, my-todo.md, todo.mdx", "-"),
            ("at /r/todo.md", "at [forgotten]"),
            ("Adam and ada; [[Ada]]", "Adam and [forgotten]; [[[forgotten]]]"),
            ("Ada-2, Ada/x", "Ada-2, [forgotten]/x"),
        ] {
            assert_eq!(taken_out(&names, text), wanted, "{text}");
        }
    }
}
