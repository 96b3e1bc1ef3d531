//! Memory: which tool changed which entity for whom and when, and which ordinals are used.
//!
//! In: events of finished writes. Out: the same, for reports; the highest ordinal of a note.
//! Invariants: an event is on disk before its tool answers; of a deleted entity only the deletion is kept.
//! Readers open the file themselves: nothing here is part of a commit.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use super::Ledger;
use crate::store::{StoreError, open};

/// The kind of change of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It was created.
    Create,
    /// It was deleted with all its facts.
    Delete,
    /// Facts were added or replaced.
    Observe,
    /// Facts were removed.
    Forget,
    /// Its relations changed.
    Relate,
    /// Its summary changed.
    Summarize,
    /// Its tags changed.
    Tag,
    /// Its note was written or edited as a note.
    Edit,
    /// Its note was moved.
    Move,
}

impl Operation {
    /// Returns its stored form.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Delete => "delete",
            Operation::Observe => "observe",
            Operation::Forget => "forget",
            Operation::Relate => "relate",
            Operation::Summarize => "summarize",
            Operation::Tag => "tag",
            Operation::Edit => "edit",
            Operation::Move => "move",
        }
    }
}

/// One change by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryEvent {
    /// The client that called the tool.
    pub client: String,
    /// The tool.
    pub tool: &'static str,
    /// The kind of change.
    pub operation: Operation,
    /// Path of the note, or its last path.
    pub path: String,
    /// Name of the entity.
    pub node: String,
    /// The highest ordinal that the note is known to have had.
    pub highest: u64,
}

/// Number of changes since some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Entities created.
    pub creates: u64,
    /// All other changes.
    pub updates: u64,
    /// Entities deleted.
    pub deletes: u64,
}

/// Times of the last writes to an entity by a tool, milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastWrites {
    /// A fact was added or replaced, or the note was created or edited.
    pub observed_ms: Option<i64>,
    /// The summary was set.
    pub summarized_ms: Option<i64>,
    /// Any change.
    pub any_ms: Option<i64>,
}

impl Ledger {
    /// Records changes in one transaction.
    pub(in crate::store) fn record_memory(
        &self,
        events: &[MemoryEvent],
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.durably(|tx| {
            for it in events {
                let uid: Option<String> = tx
                    .prepare_cached("SELECT uid FROM documents WHERE path = ?1")?
                    .query_row([&it.path], |row| row.get(0))
                    .optional()?;
                let uid = uid.unwrap_or_default();
                if it.operation == Operation::Delete && !uid.is_empty() {
                    // An entity created later at the same path starts from scratch.
                    for table in ["memory_ordinals", "memory_events"] {
                        tx.execute(&format!("DELETE FROM {table} WHERE uid = ?1"), [&uid])?;
                    }
                }
                tx.prepare_cached(
                    "INSERT INTO memory_events(at_ms, client, tool, operation, uid, node)
                     VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![
                    now_ms,
                    it.client,
                    it.tool,
                    it.operation.as_str(),
                    uid,
                    it.node
                ])?;
                if it.highest > 0 && !uid.is_empty() {
                    tx.prepare_cached(
                        "INSERT INTO memory_ordinals VALUES(?1, ?2) ON CONFLICT(uid)
                         DO UPDATE SET highest = max(highest, excluded.highest)",
                    )?
                    .execute(params![uid, it.highest as i64])?;
                }
            }
            Ok(())
        })
    }
}

/// The memory events of a project's ledger, read-only.
pub struct MemoryLedger {
    db: Connection,
}

impl MemoryLedger {
    /// Opens the ledger in a state folder for reading.
    pub fn open(state_dir: &Path) -> Result<Self, StoreError> {
        Ok(MemoryLedger { db: open::plain_reader(&open::ledger_to_read(state_dir))? })
    }

    /// Returns the highest ordinal that the note at a path is known to have had; 0 for none.
    pub fn highest(&self, path: &str) -> Result<u64, StoreError> {
        let highest: Option<i64> = self
            .db
            .prepare_cached(
                "SELECT o.highest FROM documents d JOIN memory_ordinals o ON o.uid = d.uid WHERE d.path = ?1",
            )?
            .query_row([path], |row| row.get(0))
            .optional()?;
        Ok(highest.unwrap_or(0).max(0) as u64)
    }

    /// Returns when the document at a path was first seen, milliseconds since 1970.
    pub fn first_seen_ms(&self, path: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT first_seen_ms FROM documents WHERE path = ?1";
        Ok(self.db.prepare_cached(sql)?.query_row([path], |row| row.get(0)).optional()?)
    }

    /// Returns the number of changes since a time, milliseconds since 1970.
    pub fn counts_since(&self, since_ms: i64) -> Result<EventCounts, StoreError> {
        Ok(self
            .db
            .prepare_cached(
                "SELECT count(*) FILTER (WHERE operation = 'create'),
                   count(*) FILTER (WHERE operation NOT IN ('create', 'delete')),
                   count(*) FILTER (WHERE operation = 'delete')
                 FROM memory_events WHERE at_ms >= ?1",
            )?
            .query_row([since_ms], |row| {
                let n = |column| row.get::<_, i64>(column).map(|n| n as u64);
                Ok(EventCounts { creates: n(0)?, updates: n(1)?, deletes: n(2)? })
            })?)
    }

    /// Returns the last changes of entities whose name satisfies `is_meant`, newest first, at most `most`: the time;
    /// client, tool, operation and name.
    pub fn history(
        &self,
        most: usize,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<Vec<(i64, [String; 4])>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT at_ms, client, tool, operation, node FROM memory_events ORDER BY id DESC",
        )?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            // Names are normalized by the caller, so they are compared here and not in SQL.
            let name: String = row.get(4)?;
            if !is_meant(&name) {
                continue;
            }
            found.push((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?, name]));
            if found.len() >= most {
                break;
            }
        }
        Ok(found)
    }

    /// Returns when each entity was last written, by the path of its note.
    pub fn last_writes(&self) -> Result<HashMap<String, LastWrites>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT d.path, max(e.at_ms) FILTER (WHERE e.operation IN ('observe', 'create', 'edit')),
               max(e.at_ms) FILTER (WHERE e.operation = 'summarize'), max(e.at_ms)
             FROM memory_events e JOIN documents d ON d.uid = e.uid GROUP BY d.path",
        )?;
        let rows = statement.query_map([], |row| {
            let (observed_ms, summarized_ms) = (row.get(1)?, row.get(2)?);
            Ok((row.get(0)?, LastWrites { observed_ms, summarized_ms, any_ms: row.get(3)? }))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
