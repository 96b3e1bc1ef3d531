//! Memory: notes as entities with facts and typed relations (S1).
//!
//! In: a snapshot, and the used ordinals from the ledger. Out: rows, in a stable order.
//! Invariants: names are compared in the same way as names of notes, and an ambiguous name is
//! refused; facts are ordered by ordinal, and those without one get ordinals above every one that
//! was ever used; a relation is a typed link in a note's text that leads to a note.

pub mod alike;
pub mod gaps;
mod near;
pub mod search;

pub use near::{Near, near};

use std::collections::{BTreeSet, HashMap};

use notes::memory::numbered;
use notes::parse::LinkKind;
use notes::resolve::{By, name_key};
use proto::error::{Code, ErrorView};

use crate::AskError;
use crate::address;
use crate::error::quoted;
use index::read::{Edge, Fact, Node};
use index::store::{MemoryLedger, Snapshot};
use model::terms::norm_of;

/// Most paths in the error for an ambiguous name.
const MAX_LISTED: usize = 5;

/// Returns the note that a name denotes: by name, title or file name, else by
/// displayed name, else by alias, else by path or permalink.
///
/// # Errors
/// `not_found`, and `ambiguous` with the paths.
pub fn named(snapshot: &Snapshot, name: &str) -> Result<Node, ErrorView> {
    let name = name.trim();
    if let Some(node) = by_name(snapshot, name)? {
        return Ok(node);
    }
    let is_address = name.contains('/') || name.ends_with(".md") || !name.contains(' ');
    let found = if is_address { address::document(snapshot, name) } else { Err(missing(name)) };
    match found {
        Ok(doc) => snapshot.memory().get(doc).map_err(AskError::from)?.ok_or_else(|| missing(name)),
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
pub fn named_to_change(snapshot: &Snapshot, name: &str) -> Result<Node, ErrorView> {
    let found = named(snapshot, name)?;
    let has_name = |named: &[Node]| named.iter().any(|it| it.doc == found.doc);
    let is_own =
        found.name == name.trim() || found.path == name || has_name(&bearing(snapshot, name)?);
    if is_own || address::document_to_change(snapshot, name).is_ok_and(|doc| doc == found.doc) {
        return Ok(found);
    }
    let (name, own, path) = (name.trim(), found.name, found.path);
    let message = format!("`{name}` is only another name of `{own}` (`{path}`)");
    let hint = format!("a change needs the name of the entity: give `{own}`");
    Err(ErrorView::hinted(Code::Refused, message, hint))
}

/// As [`named`], but `None` for a path, a permalink and a name that no note has.
///
/// # Errors
/// `ambiguous` with the paths.
pub fn by_name(snapshot: &Snapshot, name: &str) -> Result<Option<Node>, ErrorView> {
    for step in NAMED_BY {
        let found = step(snapshot, name)?;
        let exact: Vec<&Node> = found.iter().filter(|it| it.name == name).collect();
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
type NodesNamed = fn(&Snapshot, &str) -> Result<Vec<Node>, AskError>;

/// Ways to find notes by name, in order of precedence.
const NAMED_BY: [NodesNamed; 3] = [bearing, shown_as, of_alias];

/// Returns the one note with this name, alias or displayed name; `None` for a path or an ambiguous
/// name.
///
/// # Errors
/// When the index cannot be read.
pub fn called(snapshot: &Snapshot, name: &str) -> Result<Option<Node>, AskError> {
    for step in NAMED_BY {
        if let [one] = step(snapshot, name)?.as_slice() {
            return Ok(Some(one.clone()));
        }
    }
    Ok(None)
}

fn missing(name: &str) -> ErrorView {
    let message = format!("no entity is called `{}`", quoted(name, 120));
    ErrorView::hinted(
        Code::NotFound,
        message,
        "`search_nodes` finds entities, `create_entities` makes them",
    )
}

fn ambiguous(name: &str, several: &[Node]) -> ErrorView {
    let mut paths: Vec<String> =
        several.iter().take(MAX_LISTED).map(|it| format!("`{}`", it.path)).collect();
    if several.len() > MAX_LISTED {
        paths.push(format!("{} more", several.len() - MAX_LISTED));
    }
    let message = format!("several notes are called `{}`", quoted(name, 120));
    ErrorView::hinted(Code::Ambiguous, message, format!("give the path: {}", paths.join(", ")))
}

fn bearing(snapshot: &Snapshot, name: &str) -> Result<Vec<Node>, AskError> {
    let mut docs = snapshot.memory().with_key(&name_key(name))?;
    docs.extend(snapshot.documents().named(By::Title, name)?);
    docs.extend(snapshot.documents().named(By::FileName, name)?);
    nodes(snapshot, docs)
}

fn of_alias(snapshot: &Snapshot, name: &str) -> Result<Vec<Node>, AskError> {
    nodes(snapshot, snapshot.documents().named(By::Alias, name)?)
}

fn nodes(snapshot: &Snapshot, docs: Vec<i64>) -> Result<Vec<Node>, AskError> {
    let mut nodes = snapshot.memory().many(docs)?;
    nodes.sort_by(|one, other| one.path.cmp(&other.path));
    nodes.dedup_by(|one, other| one.doc == other.doc);
    Ok(nodes)
}

/// Returns the notes displayed under a name: by their first heading, if they state no title and no
/// other note has it.
fn shown_as(snapshot: &Snapshot, name: &str) -> Result<Vec<Node>, AskError> {
    let (key, memory) = (name_key(name), snapshot.memory());
    let shown = memory.shown_as(&norm_of(name))?.into_iter();
    Ok(memory.many(shown.filter(|(_, shown)| name_key(shown) == key).map(|it| it.0))?)
}

/// Returns the targets with which a link from one note resolves to another, best first: the name,
/// if it is unique and does not look like a path; the path; the permalink, for a path that a link
/// cannot contain.
pub fn link_targets(snapshot: &Snapshot, from: &Node, to: &Node) -> Result<Vec<String>, AskError> {
    let is_path = to.name.contains('/') || to.name.ends_with(".md");
    let is_alone = !is_path && bearing(snapshot, &to.name)?.len() == 1;
    let forms = [
        is_alone.then(|| to.name.clone()),
        Some(notes::slug::without_extension(&to.path).to_string()),
        snapshot.notes().permalink(to.doc)?,
    ];
    let mut targets = Vec::new();
    for target in forms.into_iter().flatten() {
        if snapshot.documents().linked(&from.path, LinkKind::Wiki, &target)? == Some(to.doc) {
            targets.push(target);
        }
    }
    Ok(targets)
}

/// Returns the facts of a note with their ordinals, by ordinal.
pub fn facts(
    snapshot: &Snapshot,
    ledger: &MemoryLedger,
    node: &Node,
) -> Result<Vec<(u64, Fact)>, ErrorView> {
    let rows = snapshot.memory().facts(node.doc).map_err(AskError::from)?;
    let own = rows.iter().filter_map(|it| it.ordinal).max().unwrap_or(0);
    let is_whole = rows.iter().all(|it| it.ordinal.is_some());
    let used = if is_whole { 0 } else { ledger.highest(&node.path).map_err(AskError::from)? };
    let highest = own.max(node.last_ordinal).max(used);
    let ordinals = numbered(rows.iter().map(|it| it.ordinal), highest);
    let mut facts: Vec<(u64, Fact)> = ordinals.into_iter().zip(rows).collect();
    facts.sort_by_key(|it| it.0);
    Ok(facts)
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
        let edges = snapshot.memory().edges(None)?;
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
