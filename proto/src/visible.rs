//! Visible: makes every character of a text visible.
//!
//! In: text of a document. Out: the same, with invisible characters and terminal controls escaped as `\u{202e}`; and
//! back.
//! Why: such characters hide instructions from the person who reads along, reorder what is read, and disguise names,
//! while models and terminals obey them.
//! Invariants: text without them is neither copied nor changed; what writing needs is kept: line ends and tabs, joiners
//! in scripts that join letters and in emoji, one variation selector after a character that has such variants, and one
//! soft hyphen after a letter: text from pages and word processors is full of those, every program draws them as a
//! place to break, and an escape in each long word would make it unreadable.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use names::{fold, is_ignorable, is_stray, places};

/// Returns `text` with every hidden character escaped.
pub fn show(text: &str) -> Cow<'_, str> {
    write_out(text, |c, out| {
        let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
    })
}

/// Escapes hidden characters in every text of a value, including stored text and keys that the
/// author chose.
pub fn show_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(shown) = show(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show_value),
        Value::Object(fields) => {
            fields.values_mut().for_each(show_value);
            if fields.keys().any(|key| matches!(show(key), Cow::Owned(_))) {
                let shown = std::mem::take(fields).into_iter();
                *fields = shown.map(|(key, value)| (show(&key).into_owned(), value)).collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
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

fn write_out(text: &str, write: impl Fn(char, &mut String)) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, c) in places(text, is_hidden) {
        out.push_str(text.get(done..at).unwrap_or_default());
        write(c, &mut out);
        done = at + c.len_utf8();
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

/// Returns the name that an answer shows as `shown`, given the names that spell such an escape themselves: each part of
/// the path that is a part of one of them, as it is or as it is shown; the others as [`restore`] returns them. After a
/// name may stand a place in it: `:12`, `#Heading`.
pub fn named(shown: &str, spelled: &[String]) -> String {
    let meant = |part| {
        let Cow::Owned(restored) = restore(part) else { return part.to_string() };
        let parts = || spelled.iter().flat_map(|it| it.split('/'));
        let names = |text: &str, name: &str| {
            let place = text.strip_prefix(name);
            place.is_some_and(|it| it.is_empty() || it.starts_with([':', '#']))
        };
        if parts().any(|it| names(part, it) || names(&fold(part), it)) {
            return part.to_string();
        }
        let shown = parts().find(|it| names(part, &show(it)));
        shown.map_or(restored, |it| part.replacen(&*show(it), it, 1))
    };
    shown.split('/').map(meant).collect::<Vec<_>>().join("/")
}

/// Returns which of the `known` names a person means who types one as a list shows it: that very name, else the only
/// one that is shown so on one line, else the only one that folds alike.
///
/// # Errors
/// Those that it may be, in backticks, if there are several.
pub fn typed<'a>(given: &str, known: &BTreeSet<&'a str>) -> Result<Option<&'a str>, String> {
    let keys: [&dyn Fn(&str) -> String; 3] =
        [&str::to_string, &|name| show(name).replace(['\n', '\t'], " "), &|name| {
            fold(&restore(name))
        }];
    for key in keys {
        let given = key(given);
        let alike: Vec<&str> = known.iter().copied().filter(|it| key(it) == given).collect();
        match alike.as_slice() {
            [] => {}
            [one] => return Ok(Some(one)),
            several => {
                let names: Vec<String> = several.iter().map(|it| format!("`{it}`")).collect();
                return Err(names.join(", "));
            }
        }
    }
    Ok(None)
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

/// Returns true for characters that are ever escaped.
fn may_hide(c: char) -> bool {
    is_ignorable(c) || is_always_hidden(c) || c == '\r'
}

/// Returns true for characters that are always escaped, besides stray ignorable ones: controls, separators of lines
/// and paragraphs, interlinear annotations.
fn is_always_hidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t' | '\r')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
}

/// Returns true if a character is escaped in its context.
fn is_hidden(before: Option<char>, c: char, after: Option<char>) -> bool {
    is_always_hidden(c) || c == '\r' && after != Some('\n') || is_stray(before, c, after)
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
            ("x\u{fe00}\u{fe01} \u{e0100}", r"x\u{fe00}\u{fe01} \u{e0100}"),
            (
                "a\u{e0101}b\u{fe0f}漢\u{fe0f}葛\u{e0120}🎉\u{fe05}",
                r"a\u{e0101}b\u{fe0f}漢\u{fe0f}葛\u{e0120}🎉\u{fe05}",
            ),
            (
                "a\u{34f}\u{17b4}\u{180b}\u{fff0}\u{1bca0}",
                r"a\u{34f}\u{17b4}\u{180b}\u{fff0}\u{1bca0}",
            ),
            (
                "\u{1d173}\u{e01f0}\u{e0fff}\u{fff9}\u{2028}",
                r"\u{1d173}\u{e01f0}\u{e0fff}\u{fff9}\u{2028}",
            ),
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
            "葛\u{e0100}城 Donau\u{ad}dampf ᠠ\u{180b} ≨\u{fe00} ©\u{fe0f}",
        ] {
            assert!(matches!(show(text), Cow::Borrowed(_)), "{}", show(text));
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
    fn a_name_that_spells_an_escape_is_none_that_needs_it() {
        let spelled =
            [r"a/x\u{202e}.md", "\u{202e}b\\u{ad}.md", r"of \u{200b} it"].map(String::from);
        for (shown, meant) in [
            (r"a/x\u{202e}.md", r"a/x\u{202e}.md"),
            (r"memory://a/x\u{202e}.md", r"memory://a/x\u{202e}.md"),
            (r"a/x\u{202e}.md:12", r"a/x\u{202e}.md:12"),
            (r"a/x\u{202e}.mdx", "a/x\u{202e}.mdx"),
            (r"Of \u{200b} it", r"Of \u{200b} it"),
            (r"\u{202e}b\u{ad}.md#Of", "\u{202e}b\\u{ad}.md#Of"),
            (r"y\u{202e}/x\u{202e}.md", "y\u{202e}/x\\u{202e}.md"),
            (r"y\u{202e}.md", "y\u{202e}.md"),
            ("a/plain.md", "a/plain.md"),
        ] {
            assert_eq!(named(shown, &spelled), meant);
        }
    }

    #[test]
    fn a_typed_name_means_the_only_one_that_is_shown_or_folds_alike() {
        let names =
            ["new\nline.md", "two\nb.md", "two\tb.md", "Cafe\u{301} Notes.md", "z\u{200b}w.md"];
        let spelled =
            [r"a\u{200b}b.md", "a\u{200b}b.md", "plan.md", "Plan.md", "folder", "folder.md"];
        let known = names.into_iter().chain(spelled).collect();
        for (given, meant) in [
            ("new line.md", Ok(Some("new\nline.md"))),
            ("two b.md", Err("`two\tb.md`, `two\nb.md`")),
            ("two\nb.md", Ok(Some("two\nb.md"))),
            ("Caf\u{e9} Notes.md", Ok(Some("Cafe\u{301} Notes.md"))),
            ("caf\u{e9} notes.md", Ok(Some("Cafe\u{301} Notes.md"))),
            ("zw.md", Ok(Some("z\u{200b}w.md"))),
            (r"z\u{200b}w.md", Ok(Some("z\u{200b}w.md"))),
            (r"a\u{200b}b.md", Ok(Some(r"a\u{200b}b.md"))),
            ("plan.md", Ok(Some("plan.md"))),
            ("PLAN.md", Err("`Plan.md`, `plan.md`")),
            ("FOLDER.md", Ok(Some("folder.md"))),
            ("other.md", Ok(None)),
        ] {
            assert_eq!(typed(given, &known), meant.map_err(String::from), "{given:?}");
        }
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
