//! Conflict: both versions of a note that somebody else has changed, in the form that a caller may
//! see.
//!
//! In: the bytes that are there and those that were to be written. Out: the lines in which they
//! differ.
//! Invariants: secrets are removed before anything is compared; at most a screenful of each is
//! returned.

use std::path::Path;

use proto::error::{ConflictView, VersionView};

use super::checksum;

/// Most characters shown of each version.
const MAX_CHARS: usize = 4_000;

/// Describes a conflict. `theirs` is `None` if the note is gone; `mine` is `None` if nothing was to
/// be written or the edit no longer applies.
pub(super) fn view(
    path: &str,
    theirs: Option<&[u8]>,
    mine: Option<&[u8]>,
    kept: Option<&Path>,
    shown: impl Fn(&str) -> String,
) -> ConflictView {
    let text = |bytes: &[u8]| shown(&String::from_utf8_lossy(bytes));
    let [their_text, my_text] = [theirs, mine].map(|it| it.map(text));
    let (their_version, my_version) = match (&their_text, &my_text) {
        (Some(theirs), Some(mine)) => {
            let (theirs, mine) = differing(theirs, mine);
            (Some(theirs), Some(mine))
        }
        (theirs, mine) => {
            let whole = |text: &String| cut(1, text);
            (theirs.as_ref().map(whole), mine.as_ref().map(whole))
        }
    };
    ConflictView {
        path: path.to_string(),
        checksum: theirs.map(checksum),
        theirs: their_version,
        yours: my_version,
        kept: kept.map(|file| file.display().to_string()),
    }
}

/// Returns the lines of two texts, without those at both ends that are equal.
fn differing(one: &str, other: &str) -> (VersionView, VersionView) {
    let lines = [one, other].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let [ones, others] = &lines;
    let n_before = ones.iter().zip(others).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[&str]| lines.len() - n_before;
    let n_after = ones.iter().rev().zip(others.iter().rev()).take_while(|(a, b)| a == b).count();
    let n_after = n_after.min(rest(ones)).min(rest(others));
    let version = |lines: &[&str]| {
        let text = lines.get(n_before..lines.len() - n_after).unwrap_or_default().concat();
        cut(n_before as u32 + 1, &text)
    };
    (version(ones), version(others))
}

fn cut(line: u32, text: &str) -> VersionView {
    let shown: String = text.chars().take(MAX_CHARS).collect();
    VersionView { line, is_cut: shown.len() < text.len(), text: shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_of(theirs: &str, mine: &str) -> String {
        let (theirs, mine) = (Some(theirs.as_bytes()), Some(mine.as_bytes()));
        let view = view("a.md", theirs, mine, None, |text| text.replace("hunter2", "[secret]"));
        let of = |it: Option<VersionView>| it.map(|it| format!("{} {:?}", it.line, it.text));
        [of(view.theirs), of(view.yours)].map(Option::unwrap_or_default).join(" | ")
    }

    #[test]
    fn only_lines_that_differ_are_told_without_secrets() {
        let table = [
            ("a\nb\nc\n", "a\nx\ny\nc\n", r#"2 "b\n" | 2 "x\ny\n""#),
            ("a\n", "a\na\n", r#"2 "" | 2 "a\n""#),
            ("a\na\n", "a\n", r#"2 "a\n" | 2 """#),
            ("a", "a\n", r#"1 "a" | 1 "a\n""#),
            ("", "a\n", r#"1 "" | 1 "a\n""#),
            ("k: hunter2\nb\n", "k: hunter2\nc\n", r#"2 "b\n" | 2 "c\n""#),
            ("k: hunter2\n", "k: x\n", r#"1 "k: [secret]\n" | 1 "k: x\n""#),
        ];
        for (theirs, mine, expected) in table {
            assert_eq!(diff_of(theirs, mine), expected, "{theirs:?} {mine:?}");
        }
        let long = "word ".repeat(2_000);
        let view = view("a.md", Some(long.as_bytes()), None, None, str::to_string);
        let theirs = view.theirs.expect("all of it");
        assert!(theirs.is_cut && theirs.text.len() == MAX_CHARS && view.yours.is_none());
    }
}
