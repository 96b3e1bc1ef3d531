//! Planner: chooses the strategy that answers a question, by rules.
//!
//! In: a question and the existing nodes. Out: [`Planned`]: strategy, nodes, and the reason in
//! words.
//! Nodes are found in a question by id (`tag:python`, `kb-00042`) and by name, longest first,
//! unless the name is a common word. Cue words (`why did we`, `connected`, `history`) choose the
//! strategy.
//! Invariants: the same question and nodes give the same plan; a strategy that needs a node is
//! chosen only if the question names one; otherwise the plan is `auto`.

use std::collections::HashSet;

use notes::entry::id_text;
use notes::resolve::fold;
use proto::tool::kb::{EntryType, Strategy};

use super::entry_index::{EntryIndex, EntryRow};
use super::graph::{Graph, KINDS, node_id, words_of};
use crate::is_stop_word;

/// Longest name of a node that is searched for, words.
const MAX_WORDS: usize = 6;

/// How a question will be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The strategy.
    pub strategy: Strategy,
    /// The reason.
    pub reason: String,
    /// The first node in the question.
    pub scope: Option<String>,
    /// The second node.
    pub target: Option<String>,
}

/// Words that ask how two things connect.
pub(crate) const CONNECTION: &str = "connect, connected, connection, connects, between, relationship, link, relate, \
                          related, in common";

/// Words that ask for a comparison.
const COMPARISON: &str = "compare, comparison, difference, differ, versus";

/// Words that ask for all of something without saying of what.
pub(crate) const LISTING: &str = "list, show, tell, give, get, find, all, every, each, any, known, know, \
    learned, have, entries, things, everything, made, so, far, currently, \
    related, many, number, count, total, exist";

/// Words that ask for the story of a decision.
pub(crate) const DECISION: &str = "why did, why do we, why was, why were, why we, decide, decided, decision, \
    decisions, chose, chosen, rationale, instead of, supersede";

/// Words that ask when.
pub(crate) const TIMELINE: &str = "timeline, chronolog, history of, over time, when did, evolution of, \
    what happened, recently, changelog";

/// Words that ask for neighbors.
const RELATED: &str = "related to, relates to, relate to, what else, associated with, similar to, linked to, who uses, \
    everything about";

pub(crate) fn cues(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

/// Chooses a strategy.
pub fn plan(question: &str, entry_index: &EntryIndex) -> Planned {
    let folded = format!(" {} ", words_of(question).join(" "));
    let (nodes, other_words) = named(question, entry_index);
    // A cue may be a prefix of a word.
    let cue_of = |list: &'static str| cues(list).find(|cue| folded.contains(&format!(" {cue}")));
    let planned = |strategy: Strategy, why: String, n: usize| Planned {
        strategy,
        reason: why,
        scope: nodes.first().filter(|_| n > 0).cloned(),
        target: nodes.get(1).filter(|_| n > 1).cloned(),
    };
    if let (Some(cue), [one, other, ..]) = (cue_of(CONNECTION), nodes.as_slice()) {
        let why = format!("`{cue}` with two known names, {one} and {other}");
        return planned(Strategy::Connection, why, 2);
    }
    let rest = rest_of(&other_words, !nodes.is_empty());
    if let (Some(entry_type), []) = (type_of(&rest), nodes.as_slice()) {
        let name = entry_type.as_str();
        return Planned {
            strategy: Strategy::Timeline,
            reason: format!("the question asks for the entries of the type {name}"),
            scope: Some(name.to_string()),
            target: None,
        };
    }
    if let (Some(cue), [_, _, ..]) = (cue_of(COMPARISON), nodes.as_slice()) {
        let why = format!("`{cue}` with known names: the entries among them come first");
        return planned(Strategy::Auto, why, 1);
    }
    if let Some(cue) = cue_of(DECISION) {
        let why = format!("`{cue}` asks how a decision came about");
        return planned(Strategy::DecisionTrace, why, 1);
    }
    if let (Some(cue), Some(node)) = (cue_of(TIMELINE), nodes.first()) {
        return planned(Strategy::Timeline, format!("`{cue}` with the known name {node}"), 1);
    }
    if let (Some(cue), Some(node)) = (cue_of(RELATED), nodes.first()) {
        return planned(Strategy::Related, format!("`{cue}` with the known name {node}"), 1);
    }
    if let [node] = nodes.as_slice()
        && question.split_whitespace().count() == 1
        && node_id(question).is_some()
    {
        return planned(Strategy::Related, format!("the question is the node {node}"), 1);
    }
    if let ([node], true) = (nodes.as_slice(), rest.is_empty()) {
        return around(node.clone(), |node| {
            format!("the question asks for {node} and nothing else")
        });
    }
    let why = match nodes.is_empty() {
        true => "no cue for another strategy, no known name".to_string(),
        false => format!("no cue for another strategy; the question names {}", nodes.join(", ")),
    };
    planned(Strategy::Auto, why, 1)
}

/// Plans for the entries of a node: by day for a project, else by distance.
pub fn around(node: String, why: impl Fn(&str) -> String) -> Planned {
    let strategy = match node.starts_with("project:") {
        true => Strategy::Timeline,
        false => Strategy::Related,
    };
    Planned { strategy, reason: why(&node), scope: Some(node), target: None }
}

/// Returns the entries that a question names: by id, and, in a comparison, by title as well.
pub fn named_entries<'s>(question: &str, entry_index: &'s EntryIndex) -> Vec<&'s EntryRow> {
    let folded = words_of(question);
    let compares = folded.iter().any(|word| cues(COMPARISON).any(|cue| word.starts_with(cue)));
    let has_id = |row: &EntryRow| {
        let ids = question.split_whitespace().filter_map(|word| node_id(bare_id(word)));
        ids.filter(|id| !id.contains(':')).any(|id| id == id_text(row.number))
    };
    let nodes = named(question, entry_index).0;
    let rows = nodes.iter().filter_map(|node| entry_index.of_node(node));
    rows.filter(|row| compares || has_id(row)).collect()
}

/// Returns the words of a question that are neither part of a node's name nor cues.
pub fn words_beside(question: &str, node: &str, entry_index: &EntryIndex) -> Vec<String> {
    let (nodes, other_words) = named(question, entry_index);
    let others = nodes.into_iter().filter(|it| it != node);
    others.chain(rest_of(&other_words, true).into_iter().map(String::from)).collect()
}

/// Returns the type of entries that a question asks for, if it asks for nothing else besides the
/// nodes that it names.
pub fn type_asked(question: &str, entry_index: &EntryIndex) -> Option<EntryType> {
    let (nodes, other_words) = named(question, entry_index);
    type_of(&rest_of(&other_words, !nodes.is_empty()))
}

/// Returns whether a question asks for a number.
pub fn asks_how_many(question: &str) -> bool {
    let words = format!(" {}", words_of(question).join(" "));
    cues("how many, number of, count").any(|cue| words.contains(&format!(" {cue}")))
}

/// Returns the words of a question that are neither names nor cues for a list.
fn rest_of(other_words: &[String], has_names: bool) -> Vec<&str> {
    let is_kind = |word: &str| KINDS.contains(&word);
    let is_listing = |word: &str| cues(LISTING).any(|it| it == word) || word.chars().count() < 2;
    let words = other_words.iter().flat_map(|it| it.split(' ')).filter(|it| !it.is_empty());
    let is_filler =
        |word: &str| is_stop_word(word) || is_listing(word) || has_names && is_kind(word);
    words.filter(|word| !is_filler(word)).collect()
}

/// Returns the type of entries that all words name.
fn type_of(words: &[&str]) -> Option<EntryType> {
    let named = |word: &&str| {
        EntryType::ALL.into_iter().find(|it| {
            it.as_str().split('_').any(|part| part == *word || Some(part) == word.strip_suffix('s'))
        })
    };
    let mut types = words.iter().map(named);
    let first = types.next().flatten()?;
    types.all(|it| it == Some(first)).then_some(first)
}

/// Returns the node that a text denotes: by id, else by name; of several, the one with most
/// relations.
pub fn resolve(text: &str, entry_index: &EntryIndex) -> Option<String> {
    if let Some(id) = node_id(text) {
        return with_id(id, text, &entry_index.graph);
    }
    named_so(&words_of(text).join(" "), entry_index, true)
}

/// Returns the node with a name, of any kind; of several the one with most relations. Else, if it may be a title, the
/// entry with that.
fn named_so(key: &str, entry_index: &EntryIndex, may_be_title: bool) -> Option<String> {
    let titled = || entry_index.titled(key).filter(|_| may_be_title).map(|row| id_text(row.number));
    entry_index.graph.named(key).map(str::to_string).or_else(titled)
}

/// Returns the node with an id, else the one whose id differs from it in case only.
fn with_id(id: String, text: &str, graph: &Graph) -> Option<String> {
    let folded = || graph.with_folded_id(&fold(text.trim())).map(str::to_string);
    // Paths are case-sensitive, names of nodes are not.
    Some(id).filter(|id| graph.has(id)).or_else(folded)
}

/// Removes the punctuation around a word.
fn bare_id(word: &str) -> &str {
    let id = word.trim_matches(|c: char| {
        matches!(c, '`' | '"' | '\'' | ',' | '?' | '!' | '.' | '[' | ']' | '(' | ')')
    });
    id.trim_end_matches("'s")
}

/// Returns the nodes that a question names, in order, and its other words.
fn named(question: &str, entry_index: &EntryIndex) -> (Vec<String>, Vec<String>) {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut rest: Vec<&str> = question.split_whitespace().collect();
    // Ids first, because splitting into words would break them.
    for (at, word) in rest.iter_mut().enumerate() {
        let id = bare_id(word);
        if let Some(node) = node_id(id).filter(|_| id.contains([':', '-'])) {
            found.extend(with_id(node, id, &entry_index.graph).map(|node| (at, node)));
            *word = "";
        }
    }
    let plain = |word: &&str| words_of(word).join(" ").trim_end_matches(" s").to_string();
    let words: Vec<String> = rest.iter().map(plain).collect();
    let (mut at, mut others) = (0, Vec::new());
    while at < words.len() {
        let longest = (1..=MAX_WORDS.min(words.len() - at)).rev().find_map(|n| {
            let run = words.get(at..at + n)?;
            if run.iter().any(String::is_empty) || run.iter().all(|word| is_common(word)) {
                return None;
            }
            let key = run.join(" ");
            Some((n, named_so(&key, entry_index, n > 1)?))
        });
        match longest {
            Some((n, node)) => {
                found.push((at, node));
                at += n;
            }
            None => {
                others.extend(words.get(at).cloned());
                at += 1;
            }
        }
    }
    found.sort();
    let mut seen = HashSet::new();
    let nodes = found.into_iter().map(|it| it.1).filter(|node| seen.insert(node.clone())).collect();
    (nodes, others)
}

/// Returns whether a word is too common to be a name.
fn is_common(word: &str) -> bool {
    let is_type = EntryType::ALL.iter().any(|it| it.as_str().starts_with(word));
    is_stop_word(word) || is_type || word.chars().count() < 2
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry_index() -> EntryIndex {
        let mut entry_index = EntryIndex::default();
        let rows = [
            json!({"title": "WAL mode", "tags": ["sqlite", "async-io"], "project": "kgd"}),
            json!({"title": "Rust it is", "entry_type": "decision", "tags": ["sqlite"],
                "hints": {"person": "Ada Lovelace"}}),
        ];
        for (n, values) in rows.iter().enumerate() {
            let entry = notes::entry::of(values.as_object().expect("a map"));
            entry_index.put_entry(n as u64 + 1, entry, vec![]);
        }
        entry_index
    }

    #[test]
    fn a_question_determines_strategy_and_nodes() {
        let entry_index = entry_index();
        for (question, strategy, scope, target) in [
            (
                "How is Ada Lovelace connected to sqlite?",
                Strategy::Connection,
                "person:ada-lovelace",
                "tag:sqlite",
            ),
            (
                "relationship between tag:sqlite and kb-00002",
                Strategy::Connection,
                "tag:sqlite",
                "kb-00002",
            ),
            ("How is Ada connected to Nobody?", Strategy::Auto, "", ""),
            ("Why did we choose Rust?", Strategy::DecisionTrace, "", ""),
            ("What is the timeline of kgd?", Strategy::Timeline, "project:kgd", ""),
            ("history of async io", Strategy::Timeline, "tag:async-io", ""),
            ("what else relates to SQLite", Strategy::Related, "tag:sqlite", ""),
            ("tag:SQLite", Strategy::Related, "tag:sqlite", ""),
            ("what else is there", Strategy::Auto, "", ""),
            ("how do locks work", Strategy::Auto, "", ""),
            ("how does sqlite lock", Strategy::Auto, "tag:sqlite", ""),
            ("who is Ada Lovelace?", Strategy::Related, "person:ada-lovelace", ""),
            ("what do we know about project kgd", Strategy::Timeline, "project:kgd", ""),
            (
                "How are kb-00001 and kb-00002 related?",
                Strategy::Connection,
                "kb-00001",
                "kb-00002",
            ),
            ("compare kb-00002 and WAL mode", Strategy::Auto, "kb-00002", ""),
            ("list all decisions", Strategy::Timeline, "decision", ""),
            ("all lessons learned", Strategy::Timeline, "lesson_learned", ""),
            (
                "which patterns and conventions are there",
                Strategy::Timeline,
                "pattern_convention",
                "",
            ),
            ("decisions of kgd", Strategy::DecisionTrace, "project:kgd", ""),
            ("how many decisions are there?", Strategy::Timeline, "decision", ""),
        ] {
            let planned = plan(question, &entry_index);
            let found = (
                planned.strategy,
                planned.scope.unwrap_or_default(),
                planned.target.unwrap_or_default(),
            );
            assert_eq!(
                found,
                (strategy, scope.into(), target.into()),
                "{question}: {}",
                planned.reason
            );
        }
    }

    #[test]
    fn the_words_beside_a_name_are_found() {
        let entry_index = entry_index();
        for (question, words) in [
            ("list all decisions in project kgd", vec!["decisions"]),
            ("why kgd", vec![]),
            ("why did we choose WAL for kgd", vec!["choose", "wal"]),
            ("kgd and sqlite", vec!["tag:sqlite"]),
        ] {
            assert_eq!(words_beside(question, "project:kgd", &entry_index), words, "{question}");
        }
    }

    #[test]
    fn entries_are_named_by_id_and_where_they_are_compared_by_title() {
        let entry_index = entry_index();
        for (question, entries) in [
            ("what does kb-2 say of kb-00001?", vec![2, 1]),
            ("compare Rust it is with WAL mode", vec![2, 1]),
            ("is WAL mode on", vec![]),
        ] {
            let named: Vec<u64> =
                named_entries(question, &entry_index).iter().map(|row| row.number).collect();
            assert_eq!(named, entries, "{question}");
        }
    }

    #[test]
    fn nodes_are_meant_by_id_name_or_title() {
        let entry_index = entry_index();
        for (text, node) in [
            ("sqlite", Some("tag:sqlite")),
            ("Ada Lovelace", Some("person:ada-lovelace")),
            ("WAL mode", Some("kb-00001")),
            ("kb-2", Some("kb-00002")),
            ("tag:Async IO", Some("tag:async-io")),
            ("tag:none", None),
            ("nothing", None),
        ] {
            assert_eq!(resolve(text, &entry_index).as_deref(), node, "{text}");
        }
    }
}
