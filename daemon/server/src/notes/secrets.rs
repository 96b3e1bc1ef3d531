//! Secrets: restrictions on writes to notes that contain them.
//!
//! In: a note before and after an edit. Out: whether the edit is allowed.
//! Invariants: callers see marks instead of secrets. So a write that adds a mark would replace a
//! secret with it, and one that removes a secret would do so unseen: both are refused. Notes in
//! `privacy.allow_paths` are shown verbatim and may be changed freely.
//! What is hidden is what the detectors find in the file's text and what the index hides: that searches the text as its
//! format reads it, in which no markup parts a label from its value.

use std::collections::{BTreeMap, BTreeSet};

use config::Settings;
use config::settings::{Privacy, Watch};
use formats::Normalizer;
use model::Stage;
use model::document::SourceDoc;
use model::terms::{ContentHash, RelPath};
use notes::edit::Op;
use redact::{Kind, Place, Redactor};

/// Prefix of the marks that replace secrets.
pub const MARK: &str = "[redacted:";

/// What callers do not see of files.
#[derive(Debug)]
pub(super) struct Veil {
    redactor: Redactor,
    watch: Watch,
    privacy: Privacy,
}

impl Veil {
    /// Makes a veil from the user's settings.
    pub(super) fn new(settings: &Settings) -> Veil {
        let (watch, privacy) = (settings.watch.clone(), settings.privacy.clone());
        Veil { redactor: Redactor::new(&privacy), watch, privacy }
    }

    /// Returns the text of the file at `path` with marks in place of what is hidden.
    pub(super) fn shown(&self, path: &str, text: &str) -> String {
        self.redactor.shown(path, text, self.hidden_as_read(path, text))
    }

    /// Returns the parts of the file at `path` that are hidden.
    fn hidden_in(&self, path: &str, text: &str) -> Vec<Place> {
        if !self.redactor.shows_marks_in(path) {
            return vec![];
        }
        self.redactor.hidden_in(text, self.hidden_as_read(path, text))
    }

    /// Returns the kinds of the secrets, but not of personal data, that are hidden in the file at `path`, each once.
    pub(super) fn kinds_of_secrets(&self, path: &str, text: &str) -> Vec<&'static str> {
        let is_personal = |kind: &str| Kind::ALL.into_iter().any(|it| it.as_str() == kind);
        let kinds: BTreeSet<&str> = self.hidden_in(path, text).into_iter().map(|it| it.1).collect();
        kinds.into_iter().filter(|kind| !is_personal(kind)).collect()
    }

    /// Returns the places in a file for which its index has marks.
    fn hidden_as_read(&self, path: &str, text: &str) -> Vec<Place> {
        let path = RelPath::new(path);
        let is_confined = config::formats::of(&path.extension()).is_some_and(|it| it.is_confined);
        let source = SourceDoc {
            // Confined formats are not parsed in this process; Markdown has the markup of HTML, too.
            path: if is_confined { RelPath::new("a.md") } else { path },
            bytes: text.as_bytes().into(),
            hash: ContentHash::of(text.as_bytes()),
            mtime_ms: 0,
            pass: Default::default(),
        };
        let Ok(doc) = Normalizer::new(&self.watch, &self.privacy).run(source) else {
            return vec![];
        };
        let marks = doc.text.match_indices(MARK).filter_map(|(at, _)| {
            let (name, _) = doc.text.get(at + MARK.len()..)?.split_once(']')?;
            let range = doc.map.source_range(at, at + MARK.len() + name.len() + 1);
            let is_written = text.get(range.clone())?.contains(MARK);
            let kind = doc.findings.redacted.keys().find(|kind| **kind == name);
            (!is_written).then(|| (range, *kind.unwrap_or(&"secret")))
        });
        marks.collect()
    }
}

/// Returns why a write is refused, or `None`.
pub(super) fn objection(
    veil: &Veil,
    path: &str,
    before: &str,
    after: &str,
) -> Option<&'static str> {
    if !veil.redactor.shows_marks_in(path) {
        return None;
    }
    if after.matches(MARK).count() > before.matches(MARK).count() {
        return Some(
            "a secret where you read `[redacted:…]`; that mark may not be written in its place",
        );
    }
    let mut hidden: BTreeMap<&str, usize> = BTreeMap::new();
    for (range, _) in veil.hidden_in(path, before) {
        *hidden.entry(before.get(range).unwrap_or("")).or_insert(0) += 1;
    }
    let is_lost = hidden.into_iter().any(|(secret, n)| after.matches(secret).count() < n);
    is_lost.then_some("a secret in the text that would be replaced or removed")
}

/// Returns whether a text to find overlaps a secret: any answer but "not found" would reveal a part
/// of it.
pub(super) fn is_probed(veil: &Veil, path: &str, text: &str, ops: &[Op]) -> bool {
    let wanted = ops.iter().filter_map(|op| match op {
        Op::Replace { find, .. } if !find.is_empty() => Some(find.as_str()),
        _ => None,
    });
    let mut wanted = wanted.peekable();
    if wanted.peek().is_none() {
        return false;
    }
    let hidden = veil.hidden_in(path, text);
    wanted.any(|find| {
        let mut found = text.match_indices(find).map(|(at, _)| (at, at + find.len()));
        found.any(|(from, to)| {
            // A text around a whole secret would remove it: that is refused, which reveals nothing.
            let is_partly = |(it, _): &Place| {
                from < it.end && it.start < to && !(from <= it.start && it.end <= to)
            };
            hidden.iter().any(is_partly)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::settings::PiiMode;

    /// A fake token, in two parts so that no scanner takes this file for a leak.
    fn token() -> String {
        format!("gh{}", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    fn veil(privacy: Privacy) -> Veil {
        Veil::new(&Settings { privacy, ..Settings::default() })
    }

    #[track_caller]
    fn check(before: &str, after: &str, is_allowed: bool) {
        let veil = veil(Privacy::default());
        let objection = objection(&veil, "a.md", before, after);
        assert_eq!(objection.is_none(), is_allowed, "{objection:?}");
    }

    #[test]
    fn a_secret_is_neither_lost_nor_replaced_by_its_mark() {
        let secret = format!("The token is {}.\n", token());
        check(&secret, &format!("{secret}More.\n"), true);
        check(&secret, &format!("Moved: {}\n", token()), true);
        check(&secret, "The token is [redacted:github-token].\n", false);
        check(&secret, "The token is gone.\n", false);
        check("x\n", "We write [redacted:x] there.\n", false);
        check("We write [redacted:x] there.\n", "There we write [redacted:x].\n", true);
        check("We write [redacted:x] there.\n", "Nothing.\n", true);
        check(&format!("{secret}{secret}"), &secret, false);
    }

    #[test]
    fn a_secret_is_not_told_bit_by_bit() {
        let veil = veil(Privacy::default());
        let text = format!("The token is {}.\n", token());
        let probed = |find: &str| {
            let op = Op::Replace { find: find.into(), with: "x".into(), expected: 1 };
            is_probed(&veil, "a.md", &text, &[op])
        };
        assert!(probed(&token()[..6]) && probed(&format!("is {}", &token()[..5])));
        assert!(!probed("The token") && !probed("nowhere"));
    }

    #[test]
    fn paths_that_show_their_secrets_may_change_them() {
        let privacy = Privacy { allow_paths: vec!["open/**".into()], ..Privacy::default() };
        let veil = veil(privacy);
        let secret = format!("{}\n", token());
        assert_eq!(objection(&veil, "open/a.md", &secret, "gone"), None);
        assert!(objection(&veil, "a.md", &secret, "gone").is_some());
    }

    #[test]
    fn personal_data_that_is_hidden_counts_too() {
        let before = "Write to ada@lovelace.org.\n";
        let hidden = veil(Privacy { pii: PiiMode::Redact, ..Privacy::default() });
        assert!(objection(&hidden, "a.md", before, "Write to her.\n").is_some());
        let shown = veil(Privacy::default());
        assert_eq!(objection(&shown, "a.md", before, "Write to her.\n"), None);
    }

    #[test]
    fn markup_between_a_label_and_its_value_shows_nothing() {
        let veil = veil(Privacy::default());
        let texts = "_Password_: X; _Password:_ X; > _Password_: X; | _Password_ | X |; ~~Password~~: X; \
            Pass**word**: X; <i>Password:</i> X; Password\\: X; Password&#58 X; P&#97ssword: X; \
            Password <!-- x -->: X; Password:\\\nX; **Password**: X; \
            | [password](a) | b |\n|---|---|\n| X | c |; __*Password*__: X; [Password](a): X; - _Password_: `X`";
        for text in texts.split("; ") {
            let text =
                text.replace("&#58", "&#58;").replace("&#97", "&#97;").replace('X', "Rocky3000!x");
            for (path, text) in
                [("a.md", format!("{text}\n")), ("a.md", format!("# A\n\né\n\n{text}\n\nb\n"))]
            {
                let shown = veil.shown(path, &text);
                assert_eq!(shown, text.replace("Rocky3000!x", "[redacted:password]"));
                assert!(objection(&veil, path, &text, &text.replace("Rocky", "rocky")).is_some());
            }
        }
        let html = "<p>P&#97;ssword&#58; Rocky3000!x</p>\n";
        assert_eq!(veil.shown("a.html", html), html.replace("Rocky3000!x", "[redacted:password]"));
        let line = |name: &str| {
            format!("{{&quot;a&quot;: &quot;{name}&quot;, &quot;password&quot;: &quot;X&quot;}}\n")
        };
        let lines = format!("<pre>{}{}{}</pre>\n", line("ann"), line("bob"), line("cat"));
        let secret = lines.replace('X', "Rocky3000!x");
        assert_eq!(veil.shown("a.html", &secret), lines.replace('X', "[redacted:password]"));
        let footnote = "Password[^1]: Rocky3000!x\n\n[^1]: a note\n";
        assert!(!veil.shown("a.md", footnote).contains("Rocky"));
        let written = "The mark [redacted:x] and _this_ stay.\n";
        assert_eq!(veil.shown("a.md", written), written);
    }
}
