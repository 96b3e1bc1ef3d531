//! Graph: entries and the things that they name, with typed relations between them (S2's
//! deterministic edges, and those that a model read).
//!
//! In: the entries of an entry index, with the relations that a model read in them. Out: [`Graph`];
//! neighbors, breadth-first walks, shortest paths, chains of supersession.
//! Nodes: `kb-00042`, `tag:python`, `project:kgd`, `person:ada`, `tool:cargo`, `concept:…`,
//! `note:docs/a.md`.
//! Relations: `has_tag`, `in_project`, `supersedes`, `references`, those of `related_entities`,
//! `mentions_person`, `uses_tool`, `extracted_from`.
//! Invariants: entries are added and removed one by one, and their order changes nothing; an
//! inactive entry states nothing; no relation leads to a missing entry; a relation in a note is
//! never attributed to a model, and precedes those of a model; the same entries give the same
//! order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use notes::entry::{id_text, number_of};
use notes::resolve::fold;
use serde_json::Value;

use super::entry_index::EntryRow;

/// The relation from an entry to one that it replaces.
pub const SUPERSEDES: &str = "supersedes";

/// Kinds of nodes that have a prefix.
pub const KINDS: [&str; 7] = ["tag", "project", "person", "tool", "concept", "technology", "note"];

/// Where a relation is stated: the number of the entry, and its place there.
type Place = (u64, usize);

/// A relation, as one of its ends sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryEdge {
    kind: Arc<str>,
    /// The other end.
    other: Arc<str>,
    by: By,
}

/// The source of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum By {
    /// The note of an entry.
    Note,
    /// A language model that read it.
    Llm,
}

/// Formats a relation: `uses`, or `uses (llm)` where a model read it.
pub fn edge_label(edge: &str, by: By) -> String {
    match by {
        By::Note => edge.to_string(),
        By::Llm => format!("{edge} (llm)"),
    }
}

/// A neighbor of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbor<'g> {
    /// Its id.
    pub node: &'g str,
    /// The relation.
    pub edge: &'g str,
    /// Whether the relation points to it.
    pub is_outgoing: bool,
    /// Source of the relation.
    pub by: By,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where it begins.
    pub from: String,
    /// The relation.
    pub edge: String,
    /// Where it ends.
    pub to: String,
    /// Whether the relation is stated in this direction.
    pub is_outgoing: bool,
    /// Source of the relation.
    pub by: By,
}

/// A node with its relations, including those to entries that do not exist.
#[derive(Debug, Clone, Default, PartialEq)]
struct Node {
    is_entry: bool,
    /// Relations that start here.
    from_here: BTreeMap<Place, EntryEdge>,
    /// Relations that end here.
    to_here: BTreeMap<Place, EntryEdge>,
}

/// Nodes and relations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    nodes: HashMap<Arc<str>, Node>,
    /// Nodes other than entries, by the words of their names, of any kind.
    by_name: HashMap<String, BTreeSet<Arc<str>>>,
    /// The same nodes, by their ids in lowercase.
    by_folded_id: HashMap<String, BTreeSet<Arc<str>>>,
}

/// Returns the lookup key of a name: its words, folded, without punctuation.
pub(super) fn name_key(name: &str) -> String {
    words_of(name).join(" ")
}

/// Returns the words of a text, folded, without punctuation.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let folded = fold(text);
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '+' | '#');
    folded.split(|c: char| !is_part(c)).filter(|it| !it.is_empty()).map(str::to_string).collect()
}

/// Parses the id of a node: `Tag:Async IO` gives `tag:async-io`. `None` for anything else.
pub fn node_id(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some((kind, name)) = text.split_once(':') {
        let kind = kind.trim().to_lowercase();
        return KINDS.contains(&kind.as_str()).then(|| of_kind(&kind, name)).flatten();
    }
    number_of(text).map(id_text)
}

/// Returns the id of a node of a kind.
pub fn of_kind(kind: &str, name: &str) -> Option<String> {
    let name = name.trim().trim_start_matches('#');
    if name.is_empty() {
        return None;
    }
    if kind == "note" {
        return Some(format!("note:{name}"));
    }
    let words: Vec<String> = name.split_whitespace().map(fold).collect();
    Some(format!("{kind}:{}", words.join("-")))
}

impl Graph {
    /// Adds an entry with its relations; `read` are the relations that a model read in it.
    pub(super) fn add(&mut self, row: &EntryRow, read: &[(String, String)]) {
        self.node(&id_text(row.number)).is_entry = true;
        for (place, (from, kind, to), by) in relations(row, read) {
            let [from, to]: [Arc<str>; 2] = [from.into(), to.into()];
            let kind: Arc<str> = kind.into();
            let edge =
                |other: &Arc<str>| EntryEdge { kind: kind.clone(), other: other.clone(), by };
            self.node(&from).from_here.insert(place, edge(&to));
            self.node(&to).to_here.insert(place, edge(&from));
        }
    }

    /// Removes an entry with its relations, given as it was added.
    pub(super) fn remove(&mut self, row: &EntryRow, read: &[(String, String)]) {
        let own = id_text(row.number);
        self.node(&own).is_entry = false;
        for (place, (from, _, to), _) in relations(row, read) {
            self.node(&from).from_here.remove(&place);
            self.node(&to).to_here.remove(&place);
            [from, to].iter().for_each(|it| self.drop_if_empty(it));
        }
        self.drop_if_empty(&own);
    }

    fn node(&mut self, id: &str) -> &mut Node {
        if !self.nodes.contains_key(id) {
            let shared: Arc<str> = id.into();
            if let Some((_, name)) = id.split_once(':') {
                self.by_name.entry(name_key(name)).or_default().insert(shared.clone());
                self.by_folded_id.entry(fold(id)).or_default().insert(shared.clone());
            }
            self.nodes.insert(shared, Node::default());
        }
        self.nodes.get_mut(id).expect("it was added")
    }

    fn drop_if_empty(&mut self, id: &str) {
        let is_empty = |it: &Node| !it.is_entry && it.from_here.is_empty() && it.to_here.is_empty();
        if !self.nodes.get(id).is_some_and(is_empty) {
            return;
        }
        self.nodes.remove(id);
        let Some((_, name)) = id.split_once(':') else { return };
        for (ids, key) in [(&mut self.by_name, name_key(name)), (&mut self.by_folded_id, fold(id))]
        {
            let Some(same) = ids.get_mut(&key) else { continue };
            same.remove(id);
            if same.is_empty() {
                ids.remove(&key);
            }
        }
    }

    /// Returns whether a node exists.
    pub fn has(&self, id: &str) -> bool {
        // An entry that is only referenced does not exist.
        self.nodes.get(id).is_some_and(|node| node.is_entry || id.contains(':'))
    }

    /// Returns the ids of all nodes, in their order.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        let mut ids: Vec<&str> =
            self.nodes.keys().map(|id| &**id).filter(|id| self.has(id)).collect();
        ids.sort_unstable();
        ids.into_iter()
    }

    /// Returns the node with a name, of any kind; of several the one with most relations, then the first by id.
    pub(super) fn named(&self, key: &str) -> Option<&str> {
        let same = self.by_name.get(key)?.iter().map(|id| &**id);
        same.max_by(|a, b| self.degree(a).cmp(&self.degree(b)).then(b.cmp(a)))
    }

    /// Returns the node with an id, ignoring case; the first of several.
    pub(super) fn with_folded_id(&self, key: &str) -> Option<&str> {
        self.by_folded_id.get(key)?.first().map(|id| &**id)
    }

    /// Returns how many relations start or end at a node.
    pub fn degree(&self, id: &str) -> usize {
        match self.nodes.get(id) {
            Some(node) if !node.is_entry => node.to_here.len(),
            _ => self.neighbors(id).count(),
        }
    }

    /// Returns the neighbors of a node: first those that its relations point to, in the order of its note.
    pub fn neighbors<'g>(&'g self, id: &str) -> impl Iterator<Item = Neighbor<'g>> + use<'g> {
        let found = self.nodes.get_key_value(id).filter(|_| self.has(id));
        found.into_iter().flat_map(move |(id, node)| {
            let outgoing = node.from_here.iter().filter(|(place, edge)| {
                self.has(&edge.other) && !is_repeated(node, **place, &edge.kind, &edge.other)
            });
            let incoming = node.to_here.iter().filter(|(place, edge)| {
                let from = self.nodes.get(&edge.other).filter(|_| self.has(&edge.other));
                from.is_some_and(|from| !is_repeated(from, **place, &edge.kind, id))
            });
            let neighbor = |is_outgoing| {
                move |(_, edge): (&'g Place, &'g EntryEdge)| Neighbor {
                    node: &edge.other,
                    edge: &edge.kind,
                    is_outgoing,
                    by: edge.by,
                }
            };
            outgoing.map(neighbor(true)).chain(incoming.map(neighbor(false)))
        })
    }

    /// Returns every relation once, as seen from its start.
    fn edges(&self) -> impl Iterator<Item = Neighbor<'_>> {
        let entries = self.nodes.iter().filter(|(_, node)| node.is_entry);
        entries.flat_map(|(id, _)| self.neighbors(id).filter(|it| it.is_outgoing))
    }

    /// Returns the nodes within `depth` steps of one, nearest first, each with the path to it. By hand rather than with
    /// a graph library, because the order of neighbors decides which of several paths is returned.
    pub fn around(&self, id: &str, depth: usize) -> Vec<Vec<Step>> {
        let mut seen: HashSet<&str> = HashSet::from([id]);
        let mut queue: VecDeque<(&str, Vec<Step>)> = VecDeque::from([(id, vec![])]);
        let mut found = Vec::new();
        while let Some((at, way)) = queue.pop_front() {
            if way.len() >= depth {
                continue;
            }
            for next in self.neighbors(at) {
                if !seen.insert(next.node) {
                    continue;
                }
                let mut way = way.clone();
                way.push(step(at, &next));
                found.push(way.clone());
                queue.push_back((next.node, way));
            }
        }
        found
    }

    /// Returns the shortest path between two nodes, of at most `depth` steps; an empty one from a node to itself.
    pub fn way(&self, from: &str, to: &str, depth: usize) -> Option<Vec<Step>> {
        if from == to {
            return Some(vec![]);
        }
        let leads_there = |way: &Vec<Step>| way.last().is_some_and(|step| step.to == to);
        self.around(from, depth).into_iter().find(leads_there)
    }

    /// Returns the entries that one supersedes and those that supersede it, oldest first, with itself.
    pub fn chain(&self, number: u64) -> Vec<u64> {
        let mut seen = HashSet::from([number]);
        let mut chain = VecDeque::from([number]);
        for is_older in [true, false] {
            let mut open = VecDeque::from([number]);
            while let Some(at) = open.pop_front() {
                for next in self.beside(at, is_older).filter(|it| seen.insert(*it)) {
                    match is_older {
                        true => chain.push_front(next),
                        false => chain.push_back(next),
                    }
                    open.push_back(next);
                }
            }
        }
        chain.into()
    }

    /// Returns the entries that one supersedes itself, or those that supersede it.
    fn beside(&self, number: u64, is_older: bool) -> impl Iterator<Item = u64> {
        let near = self.neighbors(&id_text(number)).filter(|it| it.edge == SUPERSEDES);
        near.filter(move |it| it.is_outgoing == is_older).filter_map(|it| number_of(it.node))
    }

    /// Returns the other entries that supersede one and are superseded by it, in a cycle;
    /// ascending.
    pub(super) fn circle(&self, number: u64) -> BTreeSet<u64> {
        let reached = |is_older: bool| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![number]);
            while let Some(at) = open.pop() {
                let new = self.beside(at, is_older);
                open.extend(new.filter(|it| *it != number && seen.insert(*it)));
            }
            seen
        };
        let older = reached(true);
        // Most entries supersede nothing, so skip the second walk.
        if older.is_empty() { older } else { &older & &reached(false) }
    }

    /// Counts the relations that a model read.
    pub fn n_by_llm(&self) -> u64 {
        self.edges().filter(|edge| edge.by == By::Llm).count() as u64
    }

    /// Counts nodes and relations by kind.
    pub fn counts(&self) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
        let (mut nodes, mut edges) = (BTreeMap::new(), BTreeMap::new());
        for id in self.nodes() {
            let kind = id.split_once(':').map_or("entry", |it| it.0);
            *nodes.entry(kind.to_string()).or_insert(0) += 1;
        }
        for edge in self.edges() {
            *edges.entry(edge.edge.to_string()).or_insert(0) += 1;
        }
        (nodes, edges)
    }
}

/// Returns whether the same relation from `node` to `other` is also stated at an earlier place. Two
/// notes can state the same relation only for supersession.
fn is_repeated(node: &Node, place: Place, kind: &str, other: &str) -> bool {
    let is_same = |it: &EntryEdge| *it.kind == *kind && *it.other == *other;
    kind == SUPERSEDES && node.from_here.range(..place).any(|(_, it)| is_same(it))
}

fn step(at: &str, next: &Neighbor<'_>) -> Step {
    Step {
        from: at.to_string(),
        edge: next.edge.to_string(),
        to: next.node.to_string(),
        is_outgoing: next.is_outgoing,
        by: next.by,
    }
}

/// Start, type and end of a relation.
type Relation = (String, String, String);

/// Returns the relations that an entry adds to the graph, each once, those stated in its note
/// first. An inactive entry adds none.
fn relations(row: &EntryRow, read: &[(String, String)]) -> Vec<(Place, Relation, By)> {
    if !row.entry.is_active {
        return vec![];
    }
    let own = id_text(row.number);
    let read = read.iter().map(|(kind, to)| ((own.clone(), kind.clone(), to.clone()), By::Llm));
    let all = stated(row).into_iter().map(|it| (it, By::Note)).chain(read);
    let mut seen = HashSet::new();
    let new = all.filter(|((from, kind, to), _)| {
        from != to && seen.insert((from.clone(), kind.clone(), to.clone()))
    });
    new.enumerate().map(|(idx, (relation, by))| ((row.number, idx), relation, by)).collect()
}

/// Returns the relations that an entry states, in S2's order.
fn stated(row: &EntryRow) -> Vec<Relation> {
    let own = id_text(row.number);
    let entry = &row.entry;
    let mut out: Vec<Relation> = Vec::new();
    let mut add = |from: &str, kind: &str, to: Option<String>| {
        out.extend(to.map(|to| (from.to_string(), kind.to_string(), to)));
    };
    entry.tags.iter().for_each(|tag| add(&own, "has_tag", of_kind("tag", tag)));
    if let Some(project) = &entry.project {
        add(&own, "in_project", of_kind("project", project));
    }
    entry.supersedes.iter().for_each(|it| add(&own, "supersedes", Some(id_text(*it))));
    entry.superseded_by.iter().for_each(|it| add(&id_text(*it), "supersedes", Some(own.clone())));
    row.references.iter().for_each(|it| add(&own, "references", Some(id_text(*it))));
    for (target, kind) in related(entry.hints.get("related_entities")) {
        add(&own, &kind, node_id(&target).or_else(|| of_kind("concept", &target)));
    }
    for (hint, kind, edge) in
        [("person", "person", "mentions_person"), ("tool", "tool", "uses_tool")]
    {
        let names = hinted(entry.hints.get(hint));
        let bare = |name: &String| {
            let prefix = format!("{kind}:");
            name.strip_prefix(&prefix).unwrap_or(name).to_string()
        };
        names.iter().for_each(|name| add(&own, edge, of_kind(kind, &bare(name))));
    }
    if let Some(path) = &entry.extracted_from {
        add(&own, "extracted_from", of_kind("note", path));
    }
    out
}

/// Returns the names in a hint, which holds one or several.
fn hinted(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_string).collect()
        }
        _ => vec![],
    }
}

/// Returns the targets and types of `related_entities`.
fn related(value: Option<&Value>) -> Vec<(String, String)> {
    let text = |item: &Value, keys: &[&str]| {
        keys.iter().find_map(|key| item.get(key).and_then(Value::as_str)).map(str::to_string)
    };
    let one = |item: &Value| match item {
        Value::String(target) => Some((target.clone(), "related_to".to_string())),
        Value::Object(_) => {
            let kind = text(item, &["type", "relation", "edge_type", "relation_type"]);
            let target = text(item, &["id", "target", "entity", "name"])?;
            Some((target, kind.map_or("related_to".to_string(), |it| edge_kind(&it))))
        }
        _ => None,
    };
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(one).collect(),
        Some(item) => one(item).into_iter().collect(),
        None => vec![],
    }
}

/// Turns `depends on` into `depends_on`.
fn edge_kind(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(fold).collect();
    if words.is_empty() { "related_to".into() } else { words.join("_") }
}

#[cfg(test)]
mod tests {
    use super::super::entry_index::EntryIndex;
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn entry_index(entries: &[Value]) -> EntryIndex {
        let mut entry_index = EntryIndex::default();
        for (n, values) in entries.iter().enumerate() {
            let mut values = values.as_object().expect("a map").clone();
            let text = values.remove("text").and_then(|it| it.as_str().map(String::from));
            let number = n as u64 + 1;
            let entry = notes::entry::of(&values);
            entry_index.put_entry(
                number,
                entry,
                notes::entry::references(&text.unwrap_or_default()),
            );
        }
        entry_index
    }

    fn table() -> EntryIndex {
        entry_index(&[
            json!({"tags": ["db", "Async IO"], "project": "KGD"}),
            json!({"supersedes": ["kb-00001"], "tags": ["db"], "text": "see kb-00001, kb-00099 and kb-00002"}),
            json!({"supersedes": ["kb-00002"], "hints": {"person": "Ada Lovelace", "tool": ["Cargo"],
                "related_entities": [{"id": "concept:WAL", "type": "is about"}, "kb-00001", "locks"]}}),
            json!({"active": "False", "tags": ["db"]}),
            json!({"extracted_from": "docs/A.md", "superseded_by": "kb-00003"}),
        ])
    }

    #[test]
    fn statements_of_notes_are_relations() {
        let entry_index = table();
        let mut out = String::new();
        for number in 1..=5 {
            for it in entry_index.graph.neighbors(&id_text(number)).filter(|it| it.is_outgoing) {
                out += &format!("{number} {} {}\n", it.edge, it.node);
            }
        }
        expect![[r#"
            1 has_tag tag:db
            1 has_tag tag:async-io
            1 in_project project:kgd
            2 has_tag tag:db
            2 supersedes kb-00001
            2 references kb-00001
            3 supersedes kb-00002
            3 is_about concept:wal
            3 related_to kb-00001
            3 related_to concept:locks
            3 mentions_person person:ada-lovelace
            3 uses_tool tool:cargo
            3 supersedes kb-00005
            5 extracted_from note:docs/A.md
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn relations_of_a_model_hold_for_the_text_that_it_read() {
        let mut entry_index = table();
        let read = |hash: u8| index::store::Enriched {
            entry: 1,
            hash: [hash; 16],
            relations: vec![
                ("uses".into(), "tool:cargo".into()),
                ("has_tag".into(), "tag:db".into()),
                ("supersedes".into(), "kb-00099".into()),
            ],
            ..Default::default()
        };
        let shown = |entry_index: &EntryIndex| {
            let near = entry_index.graph.neighbors("kb-00001").filter(|it| it.is_outgoing);
            near.map(|it| format!("{} {}", edge_label(it.edge, it.by), it.node)).collect::<Vec<_>>()
        };
        let stated = ["has_tag tag:db", "has_tag tag:async-io", "in_project project:kgd"];
        entry_index.put_reading(read(1));
        assert_eq!(shown(&entry_index), stated);
        entry_index.put_reading(read(0));
        assert_eq!(shown(&entry_index), [&stated[..], &["uses (llm) tool:cargo"]].concat());
        let way = entry_index.graph.way("kb-00001", "kb-00003", 2).expect("a way");
        assert_eq!(way.len(), 1, "what notes state comes first: {way:?}");
        assert_eq!(entry_index.graph.n_by_llm(), 1);
    }

    #[test]
    fn chains_and_ways_are_found_in_both_directions() {
        let entry_index = table();
        assert_eq!(entry_index.graph.chain(2), [1, 2, 3]);
        assert_eq!(entry_index.graph.chain(1), [1, 2, 3]);
        let way = entry_index.graph.way("project:kgd", "person:ada-lovelace", 4).expect("a way");
        let steps: Vec<_> =
            way.iter().map(|it| (it.edge.as_str(), it.to.as_str(), it.is_outgoing)).collect();
        assert_eq!(
            steps,
            [
                ("in_project", "kb-00001", false),
                ("related_to", "kb-00003", false),
                ("mentions_person", "person:ada-lovelace", true)
            ]
        );
        assert_eq!(entry_index.graph.way("project:kgd", "person:ada-lovelace", 2), None);
        assert_eq!(entry_index.graph.way("tag:db", "tag:db", 4), Some(vec![]));
    }

    #[test]
    fn ids_of_nodes_are_read_as_people_write_them() {
        for (text, id) in [
            ("Tag:Python", Some("tag:python")),
            ("person: Ada Lovelace", Some("person:ada-lovelace")),
            ("KB-7", Some("kb-00007")),
            ("note:docs/A.md", Some("note:docs/A.md")),
            ("tag:", None),
            ("colour:red", None),
            ("python", None),
        ] {
            assert_eq!(node_id(text).as_deref(), id, "{text}");
        }
    }
}
