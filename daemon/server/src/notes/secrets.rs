//! Secrets: restrictions on writes to notes that contain them.
//!
//! In: a note before and after an edit. Out: whether the edit is allowed.
//! Invariants: callers see marks instead of secrets. So a write that adds a mark would replace a
//! secret with it, and one that removes a secret would do so unseen: both are refused. Notes in
//! `privacy.allow_paths` are shown verbatim and may be changed freely.
//! Not here: detecting secrets (`normalize/redact.rs`).

use std::collections::BTreeMap;

use notes::edit::Op;

use redact::Redactor;

/// Prefix of the marks that replace secrets.
pub const MARK: &str = "[redacted:";

/// Returns why a write is refused, or `None`.
pub(super) fn objection(
    redactor: &Redactor,
    path: &str,
    before: &str,
    after: &str,
) -> Option<&'static str> {
    if !redactor.shows_marks_in(path) {
        return None;
    }
    if after.matches(MARK).count() > before.matches(MARK).count() {
        return Some(
            "a secret where you read `[redacted:…]`; that mark may not be written in its place",
        );
    }
    let mut hidden: BTreeMap<&str, usize> = BTreeMap::new();
    for secret in redactor.hidden_in(before) {
        *hidden.entry(secret).or_insert(0) += 1;
    }
    let is_lost = hidden.into_iter().any(|(secret, n)| after.matches(secret).count() < n);
    is_lost.then_some("a secret in the text that would be replaced or removed")
}

/// Returns whether a text to find overlaps a secret: any answer but "not found" would reveal a part
/// of it.
pub(super) fn is_probed(redactor: &Redactor, path: &str, text: &str, ops: &[Op]) -> bool {
    let wanted = ops.iter().filter_map(|op| match op {
        Op::Replace { find, .. } if !find.is_empty() => Some(find.as_str()),
        _ => None,
    });
    let mut wanted = wanted.peekable();
    if wanted.peek().is_none() || !redactor.shows_marks_in(path) {
        return false;
    }
    let start = text.as_ptr() as usize;
    let hidden: Vec<(usize, usize)> = redactor
        .hidden_in(text)
        .into_iter()
        .map(|secret| (secret.as_ptr() as usize - start, secret.len()))
        .collect();
    wanted.any(|find| {
        let mut found = text.match_indices(find).map(|(at, _)| (at, at + find.len()));
        found.any(|(from, to)| {
            // A text around a whole secret would remove it: that is refused, which reveals nothing.
            let holds_it = |at: usize, n: usize| from <= at && at + n <= to;
            hidden.iter().any(|(at, n)| from < at + n && *at < to && !holds_it(*at, *n))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::settings::{PiiMode, Privacy};

    /// A fake token, in two parts so that no scanner takes this file for a leak.
    fn token() -> String {
        format!("gh{}", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    }

    #[track_caller]
    fn check(before: &str, after: &str, is_allowed: bool) {
        let redactor = Redactor::new(&Privacy::default());
        let objection = objection(&redactor, "a.md", before, after);
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
        let redactor = Redactor::new(&Privacy::default());
        let text = format!("The token is {}.\n", token());
        let probed = |find: &str| {
            let op = Op::Replace { find: find.into(), with: "x".into(), expected: 1 };
            is_probed(&redactor, "a.md", &text, &[op])
        };
        assert!(probed(&token()[..6]) && probed(&format!("is {}", &token()[..5])));
        assert!(!probed("The token") && !probed("nowhere"));
    }

    #[test]
    fn paths_that_show_their_secrets_may_change_them() {
        let privacy = Privacy { allow_paths: vec!["open/**".into()], ..Privacy::default() };
        let redactor = Redactor::new(&privacy);
        let secret = format!("{}\n", token());
        assert_eq!(objection(&redactor, "open/a.md", &secret, "gone"), None);
        assert!(objection(&redactor, "a.md", &secret, "gone").is_some());
    }

    #[test]
    fn personal_data_that_is_hidden_counts_too() {
        let before = "Write to ada@lovelace.org.\n";
        let hidden = Redactor::new(&Privacy { pii: PiiMode::Redact, ..Privacy::default() });
        assert!(objection(&hidden, "a.md", before, "Write to her.\n").is_some());
        let shown = Redactor::new(&Privacy::default());
        assert_eq!(objection(&shown, "a.md", before, "Write to her.\n"), None);
    }
}
