//! Graph: entries and the things they name, with typed relations between them (S2's deterministic edges, and those that
//! a model read).
//!
//! In: the entries of a shelf, with what a model read in them. Out: [`Graph`]; neighbors, breadth-first walks,
//! shortest ways, chains of supersession.
//! Nodes: `kb-00042`, `tag:python`, `project:kgd`, `person:ada`, `tool:cargo`, `concept:…`, `note:docs/a.md`.
//! Relations: `has_tag`, `in_project`, `supersedes`, `references`, those of `related_entities`, `mentions_person`,
//! `uses_tool`, `extracted_from`.
//! Invariants: rebuilt from the notes of each commit; an inactive entry states nothing; no relation leads to a missing
//! entry; a relation in a note is never attributed to a model, and precedes those of a model; the same entries give the
//! same order.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use notes::entry::{id_text, number_of};
use petgraph::algo::tarjan_scc;
use petgraph::graph::NodeIndex;
use serde_json::Value;

use super::shelf::{EntryRow, Shelf};

/// The relation of an entry to one that it replaces.
pub const SUPERSEDES: &str = "supersedes";

/// Kinds of nodes that have a prefix.
pub const KINDS: [&str; 7] = ["tag", "project", "person", "tool", "concept", "technology", "note"];

/// A relation, by the indices of its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct EntryEdge {
    from: usize,
    kind: String,
    to: usize,
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
pub fn told(edge: &str, by: By) -> String {
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
    /// Who says so.
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
    /// Who says so.
    pub by: By,
}

/// Nodes and relations.
#[derive(Debug, Default)]
pub struct Graph {
    ids: Vec<String>,
    places: HashMap<String, usize>,
    edges: Vec<EntryEdge>,
    /// Indices of the edges at each node: those that begin there, then those that end there.
    at: Vec<Vec<usize>>,
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
    let words: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
    Some(format!("{kind}:{}", words.join("-")))
}

impl Graph {
    /// Builds the graph of some entries.
    pub(super) fn of(shelf: &Shelf) -> Graph {
        let mut graph = Graph::default();
        shelf.entries().for_each(|row| {
            graph.place(&id_text(row.number));
        });
        let mut seen = HashSet::new();
        for row in shelf.entries().filter(|row| row.entry.is_active) {
            let stated = stated(row).into_iter().map(|it| (it, By::Note));
            let own = id_text(row.number);
            let read = shelf.read_in(row).iter();
            let read = read.map(|(kind, to)| ((own.clone(), kind.clone(), to.clone()), By::Llm));
            for ((from, kind, to), by) in stated.chain(read) {
                let is_there = |node: &str| {
                    node.contains(':') || number_of(node).is_some_and(|it| shelf.get(it).is_some())
                };
                if from == to || !is_there(&from) || !is_there(&to) {
                    continue;
                }
                let (from, to) = (graph.place(&from), graph.place(&to));
                if seen.insert((from, kind.clone(), to)) {
                    graph.edges.push(EntryEdge { from, kind, to, by });
                }
            }
        }
        graph.at = vec![Vec::new(); graph.ids.len()];
        let ends: [fn(&EntryEdge) -> usize; 2] = [|edge| edge.from, |edge| edge.to];
        for end in ends {
            for (number, edge) in graph.edges.iter().enumerate() {
                if let Some(at) = graph.at.get_mut(end(edge)) {
                    at.push(number);
                }
            }
        }
        graph
    }

    fn place(&mut self, id: &str) -> usize {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        self.ids.push(id.to_string());
        self.places.insert(id.to_string(), self.ids.len() - 1);
        self.ids.len() - 1
    }

    /// Returns whether there is such a node.
    pub fn has(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// Returns the ids of all nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    /// Returns how many relations begin or end at a node.
    pub fn degree(&self, id: &str) -> usize {
        self.places.get(id).and_then(|place| self.at.get(*place)).map_or(0, Vec::len)
    }

    /// Returns the neighbors of a node: first those that its relations point to, in the order of its note.
    pub fn neighbors<'g>(&'g self, id: &str) -> impl Iterator<Item = Neighbor<'g>> + use<'g> {
        let place = self.places.get(id).copied();
        let at = place.and_then(|place| self.at.get(place)).into_iter().flatten();
        at.filter_map(move |number| {
            let edge = self.edges.get(*number)?;
            let is_outgoing = Some(edge.from) == place;
            let other = if is_outgoing { edge.to } else { edge.from };
            let (node, by) = (self.ids.get(other)?, edge.by);
            Some(Neighbor { node, edge: &edge.kind, is_outgoing, by })
        })
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
        let mut older = VecDeque::from([number]);
        let mut chain = VecDeque::from([number]);
        let step = |at: u64, is_older: bool| -> Vec<u64> {
            let ends = self.neighbors(&id_text(at)).filter(|it| it.edge == SUPERSEDES);
            let ends = ends.filter(|it| it.is_outgoing == is_older);
            ends.filter_map(|it| number_of(it.node)).collect::<Vec<_>>()
        };
        while let Some(at) = older.pop_front() {
            for next in step(at, true).into_iter().filter(|it| seen.insert(*it)).collect::<Vec<_>>()
            {
                chain.push_front(next);
                older.push_back(next);
            }
        }
        let mut newer = VecDeque::from([number]);
        while let Some(at) = newer.pop_front() {
            for next in
                step(at, false).into_iter().filter(|it| seen.insert(*it)).collect::<Vec<_>>()
            {
                chain.push_back(next);
                newer.push_back(next);
            }
        }
        chain.into()
    }

    /// Returns the groups of entries that supersede each other in a circle, each ascending.
    pub(super) fn circles(&self) -> Vec<Vec<u64>> {
        let pairs = self.edges.iter().filter(|edge| edge.kind == SUPERSEDES);
        let pairs = pairs.map(|edge| (edge.from as u32, edge.to as u32));
        let supersession = petgraph::Graph::<(), ()>::from_edges(pairs);
        let number = |node: NodeIndex| number_of(self.ids.get(node.index())?);
        let circles = tarjan_scc(&supersession).into_iter().filter(|it| it.len() > 1);
        circles
            .map(|it| {
                it.into_iter().filter_map(number).collect::<BTreeSet<_>>().into_iter().collect()
            })
            .collect()
    }

    /// Counts the relations that a model read.
    pub fn n_by_llm(&self) -> u64 {
        self.edges.iter().filter(|edge| edge.by == By::Llm).count() as u64
    }

    /// Counts nodes and relations by kind.
    pub fn counts(&self) -> (BTreeMap<String, u64>, BTreeMap<String, u64>) {
        let (mut nodes, mut edges) = (BTreeMap::new(), BTreeMap::new());
        for id in &self.ids {
            let kind = id.split_once(':').map_or("entry", |it| it.0);
            *nodes.entry(kind.to_string()).or_insert(0) += 1;
        }
        for edge in &self.edges {
            *edges.entry(edge.kind.clone()).or_insert(0) += 1;
        }
        (nodes, edges)
    }
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

/// Returns the relations that an entry states, in S2's order.
fn stated(row: &EntryRow) -> Vec<(String, String, String)> {
    let own = id_text(row.number);
    let entry = &row.entry;
    let mut out: Vec<(String, String, String)> = Vec::new();
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

/// The names of a hint: one, or several.
fn hinted(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_string).collect()
        }
        _ => vec![],
    }
}

/// Targets and types of `related_entities`.
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

/// `depends on` as `depends_on`.
fn edge_kind(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() { "related_to".into() } else { words.join("_") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn shelf(entries: &[Value]) -> Shelf {
        let mut shelf = Shelf::default();
        for (n, values) in entries.iter().enumerate() {
            let mut values = values.as_object().expect("a map").clone();
            let text = values.remove("text").and_then(|it| it.as_str().map(String::from));
            let number = n as u64 + 1;
            let entry = notes::entry::of(&values);
            shelf.put(number, entry, notes::entry::references(&text.unwrap_or_default()));
        }
        shelf
    }

    fn table() -> Shelf {
        shelf(&[
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
        let shelf = table();
        let mut out = String::new();
        for number in 1..=5 {
            for it in shelf.graph.neighbors(&id_text(number)).filter(|it| it.is_outgoing) {
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
        let mut shelf = table();
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
        let shown = |shelf: &Shelf| {
            let near = shelf.graph.neighbors("kb-00001").filter(|it| it.is_outgoing);
            near.map(|it| format!("{} {}", told(it.edge, it.by), it.node)).collect::<Vec<_>>()
        };
        let stated = ["has_tag tag:db", "has_tag tag:async-io", "in_project project:kgd"];
        shelf.put_reading(read(1));
        assert_eq!(shown(&shelf), stated);
        shelf.put_reading(read(0));
        assert_eq!(shown(&shelf), [&stated[..], &["uses (llm) tool:cargo"]].concat());
        let way = shelf.graph.way("kb-00001", "kb-00003", 2).expect("a way");
        assert_eq!(way.len(), 1, "what notes state comes first: {way:?}");
        assert_eq!(shelf.graph.n_by_llm(), 1);
    }

    #[test]
    fn chains_and_ways_are_found_in_both_directions() {
        let shelf = table();
        assert_eq!(shelf.graph.chain(2), [1, 2, 3]);
        assert_eq!(shelf.graph.chain(1), [1, 2, 3]);
        let way = shelf.graph.way("project:kgd", "person:ada-lovelace", 4).expect("a way");
        let told: Vec<_> =
            way.iter().map(|it| (it.edge.as_str(), it.to.as_str(), it.is_outgoing)).collect();
        assert_eq!(
            told,
            [
                ("in_project", "kb-00001", false),
                ("related_to", "kb-00003", false),
                ("mentions_person", "person:ada-lovelace", true)
            ]
        );
        assert_eq!(shelf.graph.way("project:kgd", "person:ada-lovelace", 2), None);
        assert_eq!(shelf.graph.way("tag:db", "tag:db", 4), Some(vec![]));
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
