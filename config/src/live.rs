//! Live: a value that is replaced while others read it, and which settings can be reread.
//!
//! In: the settings in use, and those in the files now. Out: the differences, and the settings to continue with.
//! Invariants: a reference keeps pointing to the value it was taken from; a setting that needs a restart keeps its
//! value until then.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::Value;

use crate::fingerprint::exact;
use crate::load::leaves;
use crate::settings::Settings;

/// Sections and keys that take effect when settings are reread; the others need a restart.
pub const REREAD: &[&str] = &[
    "kb.max_ingest_bytes",
    "log.level",
    "memory.report",
    "projects",
    "retrieval",
    "serve.request_deadline_ms",
    "serve.structured",
    "watch",
    "write",
];

/// Keys in these sections that nevertheless need a restart: readers of formats and a loaded model hold them.
const AT_START: &[&str] =
    &["retrieval.rerank.model", "watch.max_document_bytes", "watch.max_file_bytes"];

/// Returns true when this setting takes effect without a restart.
pub fn is_reread(key: &str) -> bool {
    let is_in = |section: &&str| {
        key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    REREAD.iter().any(is_in) && !AT_START.contains(&key)
}

/// A setting whose value has changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The dotted key.
    pub key: String,
    /// The value in use; null if it had none.
    pub before: Value,
    /// The value from files, variables and flags now; null if it has none.
    pub after: Value,
}

/// Returns the differences by key, and the settings to continue with: those of `now` if they can be reread, else of
/// `before`.
pub fn merged(before: &Settings, now: &Settings) -> (Vec<Change>, Settings) {
    let (old, mut tree) = (leaves(&exact(before)), exact(now));
    let new = leaves(&tree);
    let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let value =
        |of: &BTreeMap<String, Value>, key: &String| of.get(key).cloned().unwrap_or_default();
    let change = |key: &String| Change {
        key: key.clone(),
        before: value(&old, key),
        after: value(&new, key),
    };
    let changes: Vec<_> = keys.into_iter().map(change).filter(|it| it.before != it.after).collect();
    // Keys that need a restart are set back to the value in use.
    for it in changes.iter().filter(|it| !is_reread(&it.key)) {
        *it.key.split('.').fold(&mut tree, |tree, part| &mut tree[part]) = it.before.clone();
    }
    let merged = Settings::deserialize(&tree).expect("each value was a setting's");
    (changes, merged)
}

/// A value that can be replaced. Clones share it.
///
/// Earlier values are kept until the last clone is dropped, so that references to them need no lock. A value takes a
/// few kilobytes, and is replaced only when a person changes a setting.
#[derive(Debug)]
pub struct Live<T>(Arc<Link<T>>);

#[derive(Debug)]
struct Link<T> {
    value: T,
    next: OnceLock<Box<Link<T>>>,
}

impl<T> Live<T> {
    /// Creates the first value.
    pub fn new(value: T) -> Self {
        Live(Arc::new(Link { value, next: OnceLock::new() }))
    }

    /// Replaces the value; readers see the new one from now on.
    pub fn replace(&self, value: T) {
        let mut link = Box::new(Link { value, next: OnceLock::new() });
        // Another thread may have appended a value first; then append after that one.
        while let Err(back) = self.last().next.set(link) {
            link = back;
        }
    }

    fn last(&self) -> &Link<T> {
        let mut link = &*self.0;
        while let Some(next) = link.next.get() {
            link = next;
        }
        link
    }
}

impl<T> Deref for Live<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.last().value
    }
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Live(Arc::clone(&self.0))
    }
}

impl<T> Drop for Link<T> {
    fn drop(&mut self) {
        // One by one: recursive drops of a long chain would overflow the stack.
        let mut next = self.next.take();
        while let Some(mut link) = next {
            next = link.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::leaves;

    #[test]
    fn every_entry_names_settings() {
        let keys = leaves(&exact(&Settings::default()));
        for entry in REREAD.iter().chain(AT_START) {
            let is_of = |key: &String| key == entry || key.starts_with(&format!("{entry}."));
            assert!(keys.keys().any(is_of), "{entry}");
        }
        assert!(is_reread("watch.ignore") && is_reread("retrieval.relation_weights.uses"));
        assert!(
            !is_reread("retrieval.rerank.model")
                && !is_reread("writer")
                && !is_reread("chunk.max_tokens")
        );
    }

    #[test]
    fn what_needs_a_restart_keeps_its_value() {
        let before = Settings::default();
        let mut now = before.clone();
        now.retrieval.k = 3;
        now.retrieval.relation_weights.remove("uses");
        now.chunk.max_tokens = 200;
        let (changes, merged) = merged(&before, &now);
        let keys: Vec<_> = changes.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, ["chunk.max_tokens", "retrieval.k", "retrieval.relation_weights.uses"]);
        assert_eq!((changes[1].before.clone(), changes[1].after.clone()), (10.into(), 3.into()));
        now.chunk.max_tokens = before.chunk.max_tokens;
        assert_eq!(merged, now);
    }

    #[test]
    fn readers_keep_what_they_have_and_get_the_newest() {
        let live = Live::new(1);
        let other = live.clone();
        let first: &i32 = &live;
        (2..=100).for_each(|n| other.replace(n));
        assert_eq!((*first, *live, *other), (1, 100, 100));
        let long = Live::new(0);
        let mut link = &*long.0;
        for n in 1..200_000 {
            link = link.next.get_or_init(|| Box::new(Link { value: n, next: OnceLock::new() }));
        }
        drop(long);
    }
}
