//! Kb: entries of knowledge (S2), found and followed.
//!
//! In: a snapshot, the ledger of entries, the time. Out: entries in brief, found, related, quoted.
//! Invariants: an entry is what its note says; an inactive entry leads nowhere and is hidden unless the caller asks for
//! it; confidence is a pure function of an entry, its clock and the time.
//! Not here: writing entries (`serve/tool/kb/`), the shape of their notes (`notes::entry`).

pub mod decay;
pub mod graph;
pub mod planner;
pub mod search;
pub mod shelf;
mod story;
pub mod strategy;
pub mod summary;

use std::collections::HashMap;
use std::sync::Arc;

use notes::entry::{id_text, number_of};
use proto::error::{Code, ErrorView};
use proto::tool::kb::EntryView;

pub use self::shelf::{EntryRow, Shelf, Shelves};
use crate::AskError;
use index::store::{KbFacts, KbLedger, Snapshot};

/// When an entry was made, changed and opened; milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// When it was made.
    pub created_ms: i64,
    /// When it was last changed, by a tool or by hand.
    pub updated_ms: i64,
    /// When it was last opened.
    pub opened_ms: Option<i64>,
}

/// Every entry with its clock, at one moment.
pub struct Library {
    /// The entries as their notes state them.
    pub shelf: Arc<Shelf>,
    facts: HashMap<u64, KbFacts>,
    opened: HashMap<u64, i64>,
    first_seen: HashMap<u64, i64>,
    now_ms: i64,
}

impl Library {
    /// Reads entries and ledger.
    ///
    /// # Errors
    /// When index or ledger cannot be read.
    pub fn read(
        snapshot: &Snapshot,
        shelves: &Shelves,
        ledger: &KbLedger,
        folder: &str,
        now_ms: i64,
    ) -> Result<Library, ErrorView> {
        let shelf = shelves.at(snapshot, folder)?;
        let facts = ledger.facts().map_err(AskError::from)?;
        let opened = ledger.accesses().map_err(AskError::from)?;
        let mut first_seen = HashMap::new();
        for row in shelf.entries().filter(|row| !facts.contains_key(&row.number)) {
            let seen = ledger.first_seen_ms(&row.path).map_err(AskError::from)?;
            first_seen.extend(seen.map(|ms| (row.number, ms)));
        }
        Ok(Library { shelf, facts, opened, first_seen, now_ms })
    }

    /// Returns the newest stored version of an entry; 0 for none.
    pub fn version(&self, row: &EntryRow) -> u64 {
        self.facts.get(&row.number).map_or(0, |facts| facts.version)
    }

    /// Returns the clock of an entry. A note that differs from its newest version was edited by hand: at the time in
    /// its front matter, else at the time of its file, which is less reliable: `touch` or a clone changes it.
    pub fn times(&self, row: &EntryRow) -> Times {
        let opened_ms = self.opened.get(&row.number).copied();
        let (stated_created, stated_updated) = row.stated_ms;
        let (created_ms, updated_ms) = match self.facts.get(&row.number) {
            Some(facts) if facts.hash == row.hash => (facts.created_ms, facts.updated_ms),
            Some(facts) => {
                // A date before the newest version was not updated by the edit, which is later.
                let stated_ms = stated_updated.filter(|it| *it > facts.updated_ms);
                let changed_ms = stated_ms.unwrap_or(row.modified_ms);
                (facts.created_ms, facts.updated_ms.max(changed_ms))
            }
            None => {
                let seen = self.first_seen.get(&row.number).copied().unwrap_or(row.modified_ms);
                let created_ms = stated_created.unwrap_or(seen.min(row.modified_ms));
                (created_ms, stated_updated.or(stated_created).unwrap_or(row.modified_ms))
            }
        };
        Times { created_ms: created_ms.min(updated_ms), updated_ms, opened_ms }
    }

    /// Returns its confidence now.
    pub fn confidence(&self, row: &EntryRow) -> f64 {
        let times = self.times(row);
        decay::effective(row.confidence, row.entry_type, decay::anchor(times), self.now_ms)
    }

    /// Returns whether it is too stale to be shown.
    pub fn is_hidden(&self, row: &EntryRow) -> bool {
        self.confidence(row) < decay::HIDDEN_UNDER
    }

    /// Returns an entry in brief.
    pub fn view(&self, row: &EntryRow) -> EntryView {
        let confidence = self.confidence(row);
        EntryView {
            id: id_text(row.number),
            entry_type: row.entry_type,
            short_title: row.title.clone(),
            long_title: row.entry.long_title.clone().filter(|it| *it != row.title),
            tags: row.entry.tags.clone(),
            project_ref: row.entry.project.clone(),
            confidence: (confidence * 1_000.0).round() / 1_000.0,
            warning: decay::warning(confidence, row.entry_type),
            inactive: !row.entry.is_active,
            superseded_by: self.superseded_by(row),
            path: row.path.clone(),
        }
    }

    /// Returns the active entries that supersede one, as stated by it or by them.
    pub fn superseded_by(&self, row: &EntryRow) -> Vec<String> {
        let mut ids: Vec<String> = row.entry.superseded_by.iter().map(|it| id_text(*it)).collect();
        for it in self.shelf.graph.neighbors(&id_text(row.number)) {
            if it.edge == graph::SUPERSEDES
                && !it.is_outgoing
                && !ids.iter().any(|id| id == it.node)
            {
                ids.push(it.node.to_string());
            }
        }
        ids.retain(|id| self.shelf.of_node(id).is_none_or(|row| row.entry.is_active));
        ids
    }

    /// Returns the entries that one supersedes.
    pub fn supersedes(&self, row: &EntryRow) -> Vec<String> {
        let own = id_text(row.number);
        let near = self.shelf.graph.neighbors(&own);
        let older = near.filter(|it| it.edge == graph::SUPERSEDES && it.is_outgoing);
        older.map(|it| it.node.to_string()).collect()
    }

    /// Returns the entries with a relation to a node such as `tag:python`, oldest first; `None` for an unknown node.
    pub fn of_node(&self, text: &str) -> Option<Vec<&EntryRow>> {
        let id = graph::node_id(text).filter(|id| id.contains(':') && self.shelf.graph.has(id))?;
        let near = self.shelf.graph.neighbors(&id).filter_map(|it| self.shelf.of_node(it.node));
        let mut rows: Vec<&EntryRow> = near.filter(|row| row.entry.is_active).collect();
        rows.sort_by_key(|row| row.number);
        rows.dedup_by_key(|row| row.number);
        Some(rows)
    }

    /// Returns the entry with an id.
    ///
    /// # Errors
    /// `not_found`, and `ambiguous` where several notes have the id.
    pub fn named(&self, id: &str) -> Result<&EntryRow, ErrorView> {
        let missing = || missing(id);
        let number = number_of(id).ok_or_else(missing)?;
        let row = self.shelf.get(number).ok_or_else(missing)?;
        let others = self.shelf.others_of(number);
        if others.is_empty() {
            return Ok(row);
        }
        let paths: Vec<String> = std::iter::once(row.path.as_str())
            .chain(others.iter().map(String::as_str))
            .map(|path| format!("`{path}`"))
            .collect();
        Err(ErrorView {
            code: Code::Ambiguous,
            message: format!("several notes have the id {}: {}", id_text(number), paths.join(", ")),
            hint: Some("give all but one of them another `id`, or remove it".into()),
            conflict: None,
        })
    }
}

fn missing(id: &str) -> ErrorView {
    let short: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    ErrorView {
        code: Code::NotFound,
        message: format!("no entry `{short}`"),
        hint: Some("ids look like `kb-00042`; `kb_search` finds entries".into()),
        conflict: None,
    }
}
