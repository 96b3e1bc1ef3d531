//! Memory: notes as entities with facts and typed relations (S1).
//!
//! In: a snapshot, and the used ordinals from the ledger. Out: rows as types, in a stable order.
//! Invariants: names are compared in the same way as names of notes, and an ambiguous name is
//! refused; facts are ordered by ordinal, and those without one get ordinals above every one that
//! was ever used; a relation is a typed link in a note's text that leads to a note.
//! Not here: similarity and clusters (`alike.rs`), missing relations (`gaps.rs`), similar names
//! (`near.rs`), search (`search.rs`), the tools.

pub mod alike;
pub mod gaps;
mod near;
pub mod search;

pub use near::{Near, near};

use std::collections::{BTreeSet, HashMap};

use notes::memory::{numbered, stated_type};
use notes::parse::LinkKind;
use notes::resolve::{By, Keys, name_key};
use proto::error::{Code, ErrorView};
use rusqlite::{OptionalExtension, Row, params};

use crate::AskError;
use crate::address;
use index::store::resolve::{self, lead};
use index::store::{MemoryLedger, Snapshot};
use model::terms::norm_of;

/// Most paths in the error for an ambiguous name.
const MAX_LISTED: usize = 5;

/// An entity in brief.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeRow {
    /// Row id of its document.
    pub doc: i64,
    /// Path of its note.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: String,
    /// Its summary.
    pub summary: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// When its note was modified, milliseconds since 1970.
    pub modified_ms: i64,
    /// Whether it has a type or is in the memory folder; other notes can be named, but are not
    /// listed.
    pub is_node: bool,
    /// Whether it is in the memory folder.
    pub in_folder: bool,
    /// The highest ordinal in its front matter.
    pub last_ordinal: u64,
    /// The number of its facts.
    pub n_facts: u64,
}

/// A numbered fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactRow {
    /// Its index among the facts of its note.
    pub seq: i64,
    /// Its ordinal.
    pub ordinal: u64,
    /// Its text.
    pub content: String,
}

/// A relation between two notes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Row id of the document that states it.
    pub from: i64,
    /// Row id of its target; `None` if it is unresolved.
    pub to: Option<i64>,
    /// Its target as written.
    pub target: String,
    /// Its type.
    pub relation_type: String,
}

/// Selects nodes; `WHERE` and order are appended.
const NODE: &str = "SELECT n.doc_id, d.path, n.name, coalesce(n.type, 'note'), n.summary, n.tags, d.mtime_ms,
   n.is_node, n.in_folder, n.last_ordinal, n.n_facts FROM memory_nodes n JOIN docs d ON d.id = n.doc_id";

fn node_of(row: &Row<'_>) -> rusqlite::Result<NodeRow> {
    Ok(NodeRow {
        doc: row.get(0)?,
        path: row.get(1)?,
        name: row.get(2)?,
        entity_type: row.get(3)?,
        summary: row.get(4)?,
        tags: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        modified_ms: row.get(6)?,
        is_node: row.get(7)?,
        in_folder: row.get(8)?,
        last_ordinal: row.get::<_, i64>(9)?.max(0) as u64,
        n_facts: row.get::<_, i64>(10)?.max(0) as u64,
    })
}

/// Filters and paging of a list of nodes.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// Only this type, ignoring case.
    pub entity_type: Option<String>,
    /// Only nodes modified since, milliseconds since 1970, sorted by modification, latest first;
    /// otherwise sorted by name.
    pub since_ms: Option<i64>,
    /// Only nodes without a resolved relation.
    pub is_orphan: bool,
    /// Number of nodes to skip.
    pub skip: usize,
    /// Most nodes.
    pub most: usize,
}

/// Returns nodes in a stable order.
pub fn list(snapshot: &Snapshot, listed: &Listed) -> Result<Vec<NodeRow>, AskError> {
    let order = if listed.since_ms.is_some() { "d.mtime_ms DESC, d.path" } else { "n.key, d.path" };
    let orphan = "NOT EXISTS (SELECT 1 FROM note_links l JOIN memory_nodes t ON t.doc_id = l.dst
                    WHERE l.doc_id = n.doc_id AND l.is_typed AND l.kind = 0)
                  AND NOT EXISTS (SELECT 1 FROM note_links l WHERE l.dst = n.doc_id AND l.is_typed AND l.kind = 0)";
    let orphan = if listed.is_orphan { orphan } else { "1" };
    let mut statement = snapshot.prepare_cached(&format!(
        "{NODE} WHERE n.is_node AND (?1 IS NULL OR folded(coalesce(n.type, 'note')) = folded(?1))
           AND (?2 IS NULL OR d.mtime_ms >= ?2) AND {orphan} ORDER BY {order} LIMIT ?3 OFFSET ?4"
    ))?;
    let bounds = params![
        listed.entity_type,
        listed.since_ms,
        i64::try_from(listed.most).unwrap_or(i64::MAX),
        listed.skip as i64
    ];
    Ok(statement.query_map(bounds, node_of)?.collect::<Result<_, _>>()?)
}

/// Returns the note of a document as a node.
pub fn node(snapshot: &Snapshot, doc: i64) -> Result<Option<NodeRow>, AskError> {
    let mut statement = snapshot.prepare_cached(&format!("{NODE} WHERE n.doc_id = ?1"))?;
    Ok(statement.query_row([doc], node_of).optional()?)
}

/// Returns the note at a path as a node.
pub fn at(snapshot: &Snapshot, path: &str) -> Result<Option<NodeRow>, AskError> {
    let mut statement = snapshot.prepare_cached(&format!("{NODE} WHERE d.path = ?1"))?;
    Ok(statement.query_row([path], node_of).optional()?)
}

/// Returns the note that a name denotes: by name, title or file name, else by
/// displayed name, else by alias, else by path or permalink.
///
/// # Errors
/// `not_found`, and `ambiguous` with the paths.
pub fn named(snapshot: &Snapshot, name: &str) -> Result<NodeRow, ErrorView> {
    let name = name.trim();
    if let Some(node) = by_name(snapshot, name)? {
        return Ok(node);
    }
    let is_address = name.contains('/') || name.ends_with(".md") || !name.contains(' ');
    let found = if is_address { address::document(snapshot, name) } else { Err(missing(name)) };
    match found {
        Ok(doc) => node(snapshot, doc)?.ok_or_else(|| missing(name)),
        Err(error) if error.code == Code::Ambiguous => Err(error),
        Err(error) if error.code == Code::NotFound => {
            Err(ErrorView { hint: error.hint, ..missing(name) })
        }
        Err(_) => Err(missing(name)),
    }
}

/// As [`named`], for a change: not by what any note may say about itself to be taken for another, an alias or a
/// heading.
///
/// # Errors
/// As [`named`]; `refused` with the note that was meant.
pub fn named_to_change(snapshot: &Snapshot, name: &str) -> Result<NodeRow, ErrorView> {
    let found = named(snapshot, name)?;
    let has_name = |named: &[NodeRow]| named.iter().any(|it| it.doc == found.doc);
    let is_own =
        found.name == name.trim() || found.path == name || has_name(&bearing(snapshot, name)?);
    if is_own || address::document_to_change(snapshot, name).is_ok_and(|doc| doc == found.doc) {
        return Ok(found);
    }
    Err(ErrorView {
        code: Code::Refused,
        message: format!(
            "`{}` is only another name of `{}` (`{}`)",
            name.trim(),
            found.name,
            found.path
        ),
        hint: Some(format!("a change needs the name of the entity: give `{}`", found.name)),
        conflict: None,
    })
}

/// As [`named`], but `None` for a path, a permalink and a name that no note has.
///
/// # Errors
/// `ambiguous` with the paths.
pub fn by_name(snapshot: &Snapshot, name: &str) -> Result<Option<NodeRow>, ErrorView> {
    for step in NAMED_BY {
        let found = step(snapshot, name)?;
        let exact: Vec<&NodeRow> = found.iter().filter(|it| it.name == name).collect();
        match (found.as_slice(), exact.as_slice()) {
            ([], _) => {}
            ([one], _) => return Ok(Some(one.clone())),
            (_, [one]) => return Ok(Some((*one).clone())),
            (several, _) => return Err(ambiguous(name, several)),
        }
    }
    Ok(None)
}

/// One way to find the notes with a name.
type NodesNamed = fn(&Snapshot, &str) -> Result<Vec<NodeRow>, AskError>;

/// Ways to find notes by name, in order of precedence.
const NAMED_BY: [NodesNamed; 3] = [bearing, shown_as, of_alias];

/// Returns the one note with this name, alias or displayed name; `None` for a path or an ambiguous
/// name.
///
/// # Errors
/// When the index cannot be read.
pub fn called(snapshot: &Snapshot, name: &str) -> Result<Option<NodeRow>, AskError> {
    for step in NAMED_BY {
        if let [one] = step(snapshot, name)?.as_slice() {
            return Ok(Some(one.clone()));
        }
    }
    Ok(None)
}

fn missing(name: &str) -> ErrorView {
    let short: String = name.chars().filter(|c| !c.is_control()).take(120).collect();
    ErrorView {
        code: Code::NotFound,
        message: format!("no entity is called `{short}`"),
        hint: Some("`search_nodes` finds entities, `create_entities` makes them".into()),
        conflict: None,
    }
}

fn ambiguous(name: &str, several: &[NodeRow]) -> ErrorView {
    let short: String = name.chars().filter(|c| !c.is_control()).take(120).collect();
    let mut paths: Vec<String> =
        several.iter().take(MAX_LISTED).map(|it| format!("`{}`", it.path)).collect();
    if several.len() > MAX_LISTED {
        paths.push(format!("{} more", several.len() - MAX_LISTED));
    }
    ErrorView {
        code: Code::Ambiguous,
        message: format!("several notes are called `{short}`"),
        hint: Some(format!("give the path: {}", paths.join(", "))),
        conflict: None,
    }
}

fn bearing(snapshot: &Snapshot, name: &str) -> Result<Vec<NodeRow>, AskError> {
    let mut statement =
        snapshot.prepare_cached("SELECT doc_id FROM memory_nodes WHERE key = ?1")?;
    let docs = statement.query_map([name_key(name)], |row| row.get(0))?;
    let mut docs: Vec<i64> = docs.collect::<Result<_, _>>()?;
    docs.extend(resolve::named(snapshot, By::Title, name)?);
    docs.extend(resolve::named(snapshot, By::FileName, name)?);
    nodes(snapshot, docs)
}

fn of_alias(snapshot: &Snapshot, name: &str) -> Result<Vec<NodeRow>, AskError> {
    nodes(snapshot, resolve::named(snapshot, By::Alias, name)?)
}

fn nodes(snapshot: &Snapshot, docs: Vec<i64>) -> Result<Vec<NodeRow>, AskError> {
    let nodes = docs.into_iter().filter_map(|doc| node(snapshot, doc).transpose());
    let mut nodes: Vec<NodeRow> = nodes.collect::<Result<_, _>>()?;
    nodes.sort_by(|one, other| one.path.cmp(&other.path));
    nodes.dedup_by(|one, other| one.doc == other.doc);
    Ok(nodes)
}

/// Returns the notes displayed under a name: by their first heading, if they state no title and no
/// other note has it.
fn shown_as(snapshot: &Snapshot, name: &str) -> Result<Vec<NodeRow>, AskError> {
    let mut statement = snapshot.prepare_cached(
        "SELECT h.doc_id, h.surface FROM headings h JOIN entities e ON e.doc_id = h.doc_id AND e.name = h.surface
         WHERE h.norm = ?1",
    )?;
    let mut rows = statement.query([norm_of(name)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if name_key(row.get_ref(1)?.as_str().unwrap_or_default()) == name_key(name) {
            found.extend(node(snapshot, row.get(0)?)?);
        }
    }
    Ok(found)
}

/// Returns every name that a note states for itself.
///
/// # Errors
/// When the index cannot be read.
pub fn names(snapshot: &Snapshot, doc: i64) -> Result<Vec<String>, AskError> {
    let sql = "SELECT surface FROM stated WHERE doc_id = ?1 AND surface <> ''
               UNION SELECT name FROM memory_nodes WHERE doc_id = ?1 ORDER BY 1";
    let mut statement = snapshot.prepare_cached(sql)?;
    Ok(statement.query_map([doc], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Returns the targets with which a link from one note resolves to another, best first: the name,
/// if it is unique and does not look like a path; the path; the permalink, for a path that a link
/// cannot contain.
pub fn link_targets(
    snapshot: &Snapshot,
    from: &NodeRow,
    to: &NodeRow,
) -> Result<Vec<String>, AskError> {
    let is_path = to.name.contains('/') || to.name.ends_with(".md");
    let is_alone = !is_path && bearing(snapshot, &to.name)?.len() == 1;
    let sql = "SELECT permalink FROM notes WHERE doc_id = ?1";
    let permalink: Option<Option<String>> =
        snapshot.prepare_cached(sql)?.query_row([to.doc], |row| row.get(0)).optional()?;
    let forms = [
        is_alone.then(|| to.name.clone()),
        Some(notes::slug::without_extension(&to.path).to_string()),
        permalink.flatten(),
    ];
    let mut targets = Vec::new();
    for target in forms.into_iter().flatten() {
        let Some(keys) = Keys::of(LinkKind::Wiki, &target) else { continue };
        if lead(snapshot, &from.path, LinkKind::Wiki, &target, &keys)? == Some(to.doc) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// Returns the facts of a note, by ordinal.
pub fn facts(
    snapshot: &Snapshot,
    ledger: &MemoryLedger,
    node: &NodeRow,
) -> Result<Vec<FactRow>, ErrorView> {
    let rows = stored_facts(snapshot, node.doc)?;
    let own = rows.iter().filter_map(|(_, ordinal, _)| *ordinal).max().unwrap_or(0);
    let is_whole = rows.iter().all(|(_, ordinal, _)| ordinal.is_some());
    let used = if is_whole { 0 } else { ledger.highest(&node.path).map_err(AskError::from)? };
    let highest = own.max(node.last_ordinal).max(used);
    let ordinals = numbered(rows.iter().map(|(_, ordinal, _)| *ordinal), highest);
    let rows = rows.into_iter().zip(ordinals);
    let mut facts: Vec<FactRow> =
        rows.map(|((seq, _, content), ordinal)| FactRow { seq, ordinal, content }).collect();
    facts.sort_by_key(|it| it.ordinal);
    Ok(facts)
}

type Stored = (i64, Option<u64>, String);

fn stored_facts(snapshot: &Snapshot, doc: i64) -> Result<Vec<Stored>, AskError> {
    let sql = "SELECT seq, ordinal, content FROM memory_facts WHERE doc_id = ?1 ORDER BY seq";
    let mut statement = snapshot.prepare_cached(sql)?;
    let rows = statement.query_map([doc], |row| {
        let ordinal: Option<i64> = row.get(1)?;
        Ok((row.get(0)?, ordinal.map(|it| it.max(0) as u64), row.get(2)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

const EDGE: &str = "SELECT l.doc_id, t.doc_id, l.target, l.rel, l.context FROM note_links l
   LEFT JOIN memory_nodes t ON t.doc_id = l.dst WHERE l.is_typed AND l.kind = 0";

fn edge_of(row: &Row<'_>) -> rusqlite::Result<Edge> {
    let (relation, context): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
    Ok(Edge {
        from: row.get(0)?,
        to: row.get(1)?,
        target: row.get(2)?,
        relation_type: stated_type(&relation.unwrap_or_default(), context.as_deref()),
    })
}

/// Returns the relations that start or end in a note, each once.
pub fn edges_of(snapshot: &Snapshot, doc: i64) -> Result<BTreeSet<Edge>, AskError> {
    let mut statement = snapshot
        .prepare_cached(&format!("{EDGE} AND l.doc_id = ?1 UNION ALL {EDGE} AND l.dst = ?1"))?;
    Ok(statement.query_map([doc], edge_of)?.collect::<Result<_, _>>()?)
}

/// Returns all relations.
pub fn edges(snapshot: &Snapshot) -> Result<BTreeSet<Edge>, AskError> {
    let mut statement = snapshot.prepare_cached(EDGE)?;
    Ok(statement.query_map([], edge_of)?.collect::<Result<_, _>>()?)
}

/// All relations as an undirected graph.
#[derive(Default)]
pub struct Web {
    neighbors: HashMap<i64, BTreeSet<i64>>,
    /// The relations, ordered by their ends.
    pub edges: BTreeSet<Edge>,
}

impl Web {
    /// Reads the relations.
    pub fn read(snapshot: &Snapshot) -> Result<Web, AskError> {
        let edges = edges(snapshot)?;
        let mut neighbors: HashMap<i64, BTreeSet<i64>> = HashMap::new();
        for edge in &edges {
            let Some(to) = edge.to.filter(|to| *to != edge.from) else { continue };
            neighbors.entry(edge.from).or_default().insert(to);
            neighbors.entry(to).or_default().insert(edge.from);
        }
        Ok(Web { neighbors, edges })
    }

    /// Returns the nodes related to one, in either direction.
    pub fn neighbors(&self, doc: i64) -> impl Iterator<Item = i64> + '_ {
        self.neighbors.get(&doc).into_iter().flatten().copied()
    }

    /// Returns whether two nodes are related, in either direction.
    pub fn relates(&self, one: i64, other: i64) -> bool {
        self.neighbors.get(&one).is_some_and(|all| all.contains(&other))
    }
}

/// Counts nodes, facts, relations, and facts with a vector.
pub fn counts(snapshot: &Snapshot) -> Result<[u64; 4], AskError> {
    let (nodes, facts, vectors): (i64, i64, i64) = snapshot.query_row(
        "SELECT count(*), coalesce(sum(n_facts), 0), coalesce(sum(n_vectors), 0) FROM memory_nodes WHERE is_node",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let relations: i64 = snapshot.query_row(
        "SELECT count(*) FROM (SELECT DISTINCT l.doc_id, l.rel, l.context, coalesce(l.dst, l.target) FROM note_links l
           JOIN memory_nodes n ON n.doc_id = l.doc_id AND n.is_node WHERE l.is_typed AND l.kind = 0)",
        [],
        |row| row.get(0),
    )?;
    Ok([nodes, facts, relations, vectors].map(|n| n.max(0) as u64))
}
