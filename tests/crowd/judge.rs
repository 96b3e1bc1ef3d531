//! Judge: whether a single commit could have given a reply.
//!
//! In: requests and replies of every connection. Out: what is wrong with a reply.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// Ticks whose replies are kept for comparison: a limit of memory, not of trust.
const MAX_TICKS: usize = 300;

/// Longest part of two differing replies that is printed, characters.
const MAX_SHOWN: usize = 300;

/// All recent replies.
#[derive(Debug, Default)]
pub(super) struct Judge {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// By tick, then by request.
    replies: BTreeMap<u64, BTreeMap<String, String>>,
    n_compared: usize,
    n_ticks: usize,
    n_versioned: usize,
}

impl Judge {
    /// Checks one reply.
    ///
    /// # Errors
    /// Why no commit could have given it.
    pub(super) fn look(&self, tool: &str, arguments: &Value, reply: &Value) -> Result<(), String> {
        let versions = versions(reply);
        for (path, versions) in &versions {
            if versions.len() > 1 {
                return Err(format!("`{path}` is of the versions {versions:?} at once: {reply}"));
            }
        }
        let Some(content) = comparable(tool, reply) else { return Ok(()) };
        let tick = reply["tick"].as_u64().ok_or("it names no tick")?;
        let request = format!("{tool} {arguments}");
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.n_versioned += usize::from(!versions.is_empty());
        seen.compare(tick, request, content)
    }

    /// Returns the numbers of compared replies, ticks, and replies that showed a versioned
    /// document.
    pub(super) fn numbers(&self) -> (usize, usize, usize) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        (seen.n_compared, seen.n_ticks, seen.n_versioned)
    }
}

impl Seen {
    fn compare(&mut self, tick: u64, request: String, content: String) -> Result<(), String> {
        if self.replies.len() >= MAX_TICKS && !self.replies.contains_key(&tick) {
            self.replies.pop_first();
        }
        let n_ticks = self.replies.len();
        let of_tick = self.replies.entry(tick).or_default();
        if of_tick.is_empty() {
            self.n_ticks += 1;
        }
        debug_assert!(n_ticks <= MAX_TICKS);
        let Some(before) = of_tick.get(&request) else {
            of_tick.insert(request, content);
            return Ok(());
        };
        self.n_compared += 1;
        if *before == content {
            return Ok(());
        }
        let at = before.bytes().zip(content.bytes()).take_while(|(a, b)| a == b).count();
        let part = |text: &str| -> String {
            let from = text.floor_char_boundary(at.saturating_sub(60));
            text[from..].chars().take(MAX_SHOWN).collect()
        };
        Err(format!("two replies of one tick differ:\n- {}\n+ {}", part(before), part(&content)))
    }
}

/// Returns the part of a reply that must be equal for equal requests at the same tick; `None` if
/// the tool waits for something, or changes it.
fn comparable(tool: &str, reply: &Value) -> Option<String> {
    match tool {
        "hybrid_query" | "entity_lookup" | "explain_entity" | "dump" => {
            let mut reply = reply.clone();
            // This is the daemon's progress, not the content of the commit.
            reply.as_object_mut()?.remove("building");
            Some(reply.to_string())
        }
        "status" => Some(format!("{} {}", reply["counts"], reply["formats"])),
        _ => None,
    }
}

/// Returns every version that a reply shows of each document, by path.
pub(super) fn versions(reply: &Value) -> BTreeMap<String, BTreeSet<usize>> {
    let mut found = BTreeMap::new();
    gather(reply, &mut found);
    found
}

/// Collects versions: an object with a path shows text of that document.
fn gather(value: &Value, found: &mut BTreeMap<String, BTreeSet<usize>>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(path)) = fields.get("path") {
                let marks = fields.values().filter_map(Value::as_str).flat_map(marks);
                for (desk, version) in marks {
                    if *path == format!("desks/Desk {desk}.md") {
                        found.entry(path.clone()).or_default().insert(version);
                    }
                }
            }
            fields.values().for_each(|value| gather(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        _ => {}
    }
}

/// Returns desk and version of every complete mark in a text.
fn marks(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for part in text.to_lowercase().split("qz").skip(1) {
        let mark = part.split_once('z').and_then(|(mark, _)| mark.split_once('v'));
        if let Some((desk, version)) = mark
            && let (Ok(desk), Ok(version)) = (desk.parse(), version.parse())
        {
            found.push((desk, version));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_torn_reply_is_noticed() {
        let judge = Judge::default();
        let reply = |tick: u64, texts: [&str; 2]| {
            let hit = |text: &str| json!({"path": "desks/Desk 3.md", "snippet": text});
            json!({"chunks": texts.map(hit), "tick": tick, "building": format!("{tick}")})
        };
        let whole = ["The Edition qz3v7z keeps", "…of qz3v7z and qz4v9z, qz3v"];
        let look = |reply: &Value| judge.look("hybrid_query", &json!({}), reply);
        assert_eq!(look(&reply(1, whole)), Ok(()));
        assert_eq!(look(&reply(1, whole)), Ok(()));
        assert_eq!(look(&reply(2, ["qz3v8z", "none"])), Ok(()));
        let mixed = look(&reply(3, ["qz3v7z", "qz3v8z"])).expect_err("two versions");
        assert!(mixed.contains("`desks/Desk 3.md` is of the versions {7, 8} at once"), "{mixed}");
        let other = look(&reply(1, ["qz3v7z", "other words"])).expect_err("another reply");
        assert!(other.starts_with("two replies of one tick differ"), "{other}");
        assert_eq!(judge.numbers(), (2, 2, 4));
    }
}
