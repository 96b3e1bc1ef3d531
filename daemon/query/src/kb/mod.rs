//! Kb: finds knowledge entries (S2) and follows their relations.
//!
//! In: a snapshot, the ledger of entries, the time. Out: entries in brief, found, related, quoted.
//! Invariants: an entry is what its note states; an inactive entry leads nowhere and is hidden
//! unless the caller asks for it; confidence is a pure function of an entry, its clock and the
//! time.

pub mod decay;
pub mod entry_index;
mod entry_indexes;
pub mod graph;
pub mod planner;
pub mod search;
pub mod stated;

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::sync::Arc;

use notes::entry::{id_text, number_of};
use proto::error::{Code, ErrorView};
use proto::tool::kb::EntryView;

pub use self::entry_index::{EntryIndex, EntryRow};
pub use self::entry_indexes::EntryIndexes;
use crate::AskError;
use index::store::{KbFacts, KbLedger, Snapshot};

/// When an entry was created, changed and opened; milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// When it was created.
    pub created_ms: i64,
    /// When it was last changed, by a tool or by hand.
    pub updated_ms: i64,
    /// When it was last opened.
    pub opened_ms: Option<i64>,
}

/// Lookups of single entries in the ledger after which reading all of them is cheaper.
const MAX_LOOKUPS: usize = 1_000;

/// Every entry with its clock, at one moment.
pub struct Library {
    /// The entries as their notes state them.
    pub entry_index: Arc<EntryIndex>,
    ledger: KbLedger,
    n_lookups: Cell<usize>,
    /// The newest version of each entry and when it was last opened, once all have been read together.
    all: OnceCell<(HashMap<u64, KbFacts>, HashMap<u64, i64>)>,
    now_ms: i64,
}

impl Library {
    /// Opens the entries of a snapshot with the ledger, which is read on demand.
    ///
    /// # Errors
    /// When index or ledger cannot be read.
    pub fn read(
        snapshot: &Snapshot,
        indexes: &EntryIndexes,
        ledger: KbLedger,
        folder: &str,
        now_ms: i64,
    ) -> Result<Library, ErrorView> {
        let entry_index = indexes.at(snapshot, folder)?;
        ledger.begin().map_err(AskError::from)?;
        Ok(Library { entry_index, ledger, n_lookups: Cell::new(0), all: OnceCell::new(), now_ms })
    }

    /// Returns the ledger's record of an entry: its newest version, and when it was last opened.
    fn recorded(&self, number: u64) -> Result<(Option<KbFacts>, Option<i64>), AskError> {
        let n_lookups = self.n_lookups.get() + 1;
        self.n_lookups.set(n_lookups);
        if n_lookups > MAX_LOOKUPS && self.all.get().is_none() {
            // Cannot be set already: a library belongs to one thread.
            let _ = self.all.set((self.ledger.facts()?, self.ledger.accesses()?));
        }
        Ok(match self.all.get() {
            Some((facts, opened)) => (facts.get(&number).copied(), opened.get(&number).copied()),
            None => (self.ledger.facts_of(number)?, self.ledger.access_of(number)?),
        })
    }

    /// Returns the newest stored version of an entry, or 0.
    ///
    /// # Errors
    /// When the ledger cannot be read; the same holds for everything that depends on an entry's
    /// clock.
    pub fn version(&self, row: &EntryRow) -> Result<u64, AskError> {
        Ok(self.recorded(row.number)?.0.map_or(0, |facts| facts.version))
    }

    /// Returns the clock of an entry. A note that differs from its newest version was edited by
    /// hand: at the time in its front matter, else at the time of its file, which is less reliable
    /// because `touch` or a clone changes it.
    pub fn times(&self, row: &EntryRow) -> Result<Times, AskError> {
        let (facts, opened_ms) = self.recorded(row.number)?;
        let (stated_created, stated_updated) = row.stated_ms;
        let (created_ms, updated_ms) = match facts {
            Some(facts) if facts.hash == row.hash => (facts.created_ms, facts.updated_ms),
            Some(facts) => {
                // The edit is later than the newest version, so an earlier date in the front matter
                // was not updated.
                let stated_ms = stated_updated.filter(|it| *it > facts.updated_ms);
                let changed_ms = stated_ms.unwrap_or(row.modified_ms);
                (facts.created_ms, facts.updated_ms.max(changed_ms))
            }
            None => {
                let seen = self.ledger.first_seen_ms(&row.path)?.unwrap_or(row.modified_ms);
                let created_ms = stated_created.unwrap_or(seen.min(row.modified_ms));
                (created_ms, stated_updated.or(stated_created).unwrap_or(row.modified_ms))
            }
        };
        Ok(Times { created_ms: created_ms.min(updated_ms), updated_ms, opened_ms })
    }

    /// Returns its confidence now.
    pub fn confidence(&self, row: &EntryRow) -> Result<f64, AskError> {
        let anchor = decay::anchor(self.times(row)?);
        Ok(decay::effective(row.confidence, row.entry_type, anchor, self.now_ms))
    }

    /// Returns whether it is too stale to be shown.
    pub fn is_hidden(&self, row: &EntryRow) -> Result<bool, AskError> {
        Ok(self.confidence(row)? < decay::HIDDEN_UNDER)
    }

    /// Returns an entry in brief.
    pub fn view(&self, row: &EntryRow) -> Result<EntryView, AskError> {
        let confidence = self.confidence(row)?;
        Ok(EntryView {
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
        })
    }

    /// Returns the active entries that supersede one, as stated by it or by them.
    pub fn superseded_by(&self, row: &EntryRow) -> Vec<String> {
        let mut ids: Vec<String> = row.entry.superseded_by.iter().map(|it| id_text(*it)).collect();
        let near = self.entry_index.graph.neighbors(&id_text(row.number));
        for it in near.filter(|it| it.edge == graph::SUPERSEDES && !it.is_outgoing) {
            if !ids.iter().any(|id| id == it.node) {
                ids.push(it.node.to_string());
            }
        }
        ids.retain(|id| self.entry_index.of_node(id).is_none_or(|row| row.entry.is_active));
        ids
    }

    /// Returns the entries that one supersedes.
    pub fn supersedes(&self, row: &EntryRow) -> Vec<String> {
        let own = id_text(row.number);
        let near = self.entry_index.graph.neighbors(&own);
        let older = near.filter(|it| it.edge == graph::SUPERSEDES && it.is_outgoing);
        older.map(|it| it.node.to_string()).collect()
    }

    /// Returns the entries with a relation to a node such as `tag:python`, oldest first; `None` for an unknown node.
    pub fn of_node(&self, text: &str) -> Option<Vec<&EntryRow>> {
        let id =
            graph::node_id(text).filter(|id| id.contains(':') && self.entry_index.graph.has(id))?;
        let near = self
            .entry_index
            .graph
            .neighbors(&id)
            .filter_map(|it| self.entry_index.of_node(it.node));
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
        let row = self.entry_index.get(number).ok_or_else(missing)?;
        let others = self.entry_index.others_of(number);
        if others.is_empty() {
            return Ok(row);
        }
        let paths: Vec<String> = std::iter::once(row.path.as_str())
            .chain(others)
            .map(|path| format!("`{path}`"))
            .collect();
        let message =
            format!("several notes have the id {}: {}", id_text(number), paths.join(", "));
        let hint = "give all but one of them another `id`, or remove it";
        Err(ErrorView::hinted(Code::Ambiguous, message, hint))
    }
}

fn missing(id: &str) -> ErrorView {
    let short: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    let hint = "ids look like `kb-00042`; `kb_search` finds entries";
    ErrorView::hinted(Code::NotFound, format!("no entry `{short}`"), hint)
}
