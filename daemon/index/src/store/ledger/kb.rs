//! Kb: the part of entries that files cannot hold: used numbers, every version with its reason, last accesses, and
//! which files were ingested.
//!
//! In: what tools did. Out: the same. A version holds the whole text of its note as callers see it, and the hash of
//! the file's bytes, by which a later edit by hand is detected.
//! Invariants: a number is assigned once, ever; the versions of an entry are numbered from 1 without gaps and never
//! changed, and only a purge deletes them; a record is on disk before its tool answers.
//! Readers open the file themselves: nothing here is part of a commit.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::Ledger;
use super::enriched::{self, Reading};
use crate::store::{StoreError, open};

/// A version to record.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewVersion {
    /// The entry's number.
    pub entry: u64,
    /// The client that made it.
    pub client: String,
    /// The reason given.
    pub reason: String,
    /// Its confidence.
    pub confidence: f64,
    /// The short title.
    pub title: String,
    /// Hash of the bytes of its file.
    pub hash: [u8; 16],
    /// The text of its note, without secrets.
    pub text: String,
    /// Time it was made if not now, milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// True to record it only if the newest version has another hash, or there is none.
    pub is_by_hand: bool,
}

/// An ingested file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IngestedFile {
    /// Its path.
    pub path: String,
    /// SHA-256 of its bytes, hexadecimal.
    pub hash: String,
    /// Its node.
    pub node: String,
    /// Ids of its entries.
    pub entries: Vec<String>,
    /// Its summary.
    pub summary: String,
    /// Its size in bytes.
    pub n_bytes: u64,
    /// Its extension.
    pub extension: String,
    /// The project of its entries.
    pub project: Option<String>,
    /// Kinds of secrets that were removed from it.
    pub redactions: Vec<String>,
    /// True while its entries are in use.
    pub is_active: bool,
    /// First and last time it was ingested, milliseconds since 1970.
    pub first_ms: i64,
    /// See `first_ms`.
    pub last_ms: i64,
}

/// A record of what a tool did.
#[derive(Debug, Clone, PartialEq)]
pub enum KbRecord {
    /// A version of an entry.
    Version(NewVersion),
    /// Entries were opened.
    Opened(Vec<u64>),
    /// A file was ingested.
    Ingested(IngestedFile),
    /// An entry was deleted for good.
    Purged(u64),
    /// A model read entries, or is to read them again.
    Read(Reading),
}

/// A recorded version.
#[derive(Debug, Clone, PartialEq)]
pub struct KbVersion {
    /// Its number, from 1.
    pub version: u64,
    /// Time it was made, milliseconds since 1970.
    pub at_ms: i64,
    /// The client that made it.
    pub client: String,
    /// The reason given.
    pub reason: String,
    /// Its confidence.
    pub confidence: f64,
    /// The short title.
    pub title: String,
    /// The text of its note.
    pub text: String,
}

/// What the ledger knows of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KbFacts {
    /// The newest version.
    pub version: u64,
    /// Times of the first and the newest version, milliseconds since 1970.
    pub created_ms: i64,
    /// See `created_ms`.
    pub updated_ms: i64,
    /// Hash of the file's bytes at the newest version.
    pub hash: [u8; 16],
}

impl Ledger {
    /// Returns a number that no entry has or ever had, greater than `floor`.
    pub(in crate::store) fn next_entry(&self, floor: u64) -> Result<u64, StoreError> {
        let mut number = 0;
        self.durably(|tx| {
            number = tx.query_row(
                "INSERT INTO kb_sequence VALUES(1, ?1 + 1) ON CONFLICT(id)
                 DO UPDATE SET last = max(last, ?1) + 1 RETURNING last",
                // Half of the range, so that adding 1 cannot overflow whatever a caller passes.
                [floor.min(i64::MAX as u64 / 2) as i64],
                |row| row.get::<_, i64>(0),
            )?;
            Ok(())
        })?;
        Ok(number.max(0) as u64)
    }

    /// Records what tools did, in one transaction; returns the number of each version, and 0 for other records.
    pub(in crate::store) fn record_kb(
        &self,
        records: &[KbRecord],
        now_ms: i64,
    ) -> Result<Vec<u64>, StoreError> {
        let mut versions = Vec::new();
        self.durably(|tx| {
            for record in records {
                versions.push(match record {
                    KbRecord::Version(new) => add_version(tx, new, now_ms)?,
                    KbRecord::Opened(entries) => {
                        for entry in entries {
                            use_up(tx, *entry)?;
                            tx.prepare_cached(
                                "INSERT INTO kb_accesses VALUES(?1, ?2) ON CONFLICT(entry)
                                 DO UPDATE SET at_ms = max(at_ms, excluded.at_ms)",
                            )?
                            .execute([*entry as i64, now_ms])?;
                        }
                        0
                    }
                    KbRecord::Ingested(file) => add_file(tx, file, now_ms).map(|()| 0)?,
                    // The number stays used, so that no new entry gets the number of a purged one.
                    KbRecord::Purged(entry) => {
                        use_up(tx, *entry)?;
                        for table in ["kb_versions", "kb_accesses", "kb_enriched"] {
                            tx.execute(
                                &format!("DELETE FROM {table} WHERE entry = ?1"),
                                [*entry as i64],
                            )?;
                        }
                        0
                    }
                    KbRecord::Read(reading) => enriched::keep(tx, reading, now_ms).map(|()| 0)?,
                });
            }
            Ok(())
        })?;
        Ok(versions)
    }
}

/// Reason of a first version that no tool made.
const WRITTEN_BY_HAND: &str = "Written by hand";

fn add_version(tx: &Connection, new: &NewVersion, now_ms: i64) -> rusqlite::Result<u64> {
    let newest: Option<(i64, i64, [u8; 16])> = tx
        .prepare_cached(
            "SELECT version, at_ms, hash FROM kb_versions WHERE entry = ?1 ORDER BY version DESC LIMIT 1",
        )?
        .query_row([new.entry as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let (version, before_ms) = match newest {
        // A tool wrote these bytes and recorded them already.
        Some((version, _, hash)) if new.is_by_hand && hash == new.hash => return Ok(version as u64),
        Some((version, at_ms, _)) => (version + 1, at_ms),
        None => (1, i64::MIN),
    };
    // Times of versions never decrease, also when an older file replaced a newer one.
    let at_ms = new.at_ms.unwrap_or(now_ms).max(before_ms);
    tx.prepare_cached("INSERT INTO kb_versions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute(params![
            new.entry as i64,
            version,
            at_ms,
            new.client,
            if version == 1 && new.is_by_hand { WRITTEN_BY_HAND } else { &new.reason },
            new.confidence,
            new.title,
            new.hash,
            new.text
        ])?;
    use_up(tx, new.entry)?;
    Ok(version as u64)
}

/// Marks a number as used, also if the sequence was lost or a person chose the number.
fn use_up(tx: &Connection, entry: u64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO kb_sequence VALUES(1, ?1) ON CONFLICT(id) DO UPDATE SET last = max(last, ?1)",
    )?
    .execute([entry as i64])?;
    Ok(())
}

fn add_file(tx: &Connection, file: &IngestedFile, now_ms: i64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO kb_ingested VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11) ON CONFLICT(path)
         DO UPDATE SET hash = excluded.hash, node = excluded.node, entries = excluded.entries,
           summary = excluded.summary, n_bytes = excluded.n_bytes, extension = excluded.extension,
           project = excluded.project, redactions = excluded.redactions, is_active = excluded.is_active,
           last_ms = excluded.last_ms",
    )?
    .execute(params![
        file.path,
        file.hash,
        file.node,
        serde_json::to_string(&file.entries).unwrap_or_default(),
        file.summary,
        file.n_bytes as i64,
        file.extension,
        file.project,
        serde_json::to_string(&file.redactions).unwrap_or_default(),
        file.is_active,
        now_ms
    ])?;
    Ok(())
}

/// The entries of a project's ledger, read-only.
pub struct KbLedger {
    pub(super) db: Connection,
}

impl KbLedger {
    /// Opens the ledger in a state folder for reading.
    pub fn open(state_dir: &Path) -> Result<Self, StoreError> {
        Ok(KbLedger { db: open::plain_reader(&open::ledger_to_read(state_dir))? })
    }

    /// Returns the facts of each entry that has versions.
    pub fn facts(&self) -> Result<HashMap<u64, KbFacts>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT n.entry, n.version, (SELECT f.at_ms FROM kb_versions f WHERE f.entry = n.entry ORDER BY f.version
               LIMIT 1), n.at_ms, n.hash
             FROM kb_versions n WHERE n.version = (SELECT max(version) FROM kb_versions v WHERE v.entry = n.entry)",
        )?;
        let rows = statement.query_map([], |row| {
            let facts = KbFacts {
                version: row.get::<_, i64>(1)?.max(0) as u64,
                created_ms: row.get(2)?,
                updated_ms: row.get(3)?,
                hash: row.get(4)?,
            };
            Ok((row.get::<_, i64>(0)?.max(0) as u64, facts))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Starts a transaction: everything read from now on is from one commit.
    pub fn begin(&self) -> Result<(), StoreError> {
        Ok(self.db.execute_batch("BEGIN")?)
    }

    /// Returns the facts of an entry, if it has versions.
    pub fn facts_of(&self, entry: u64) -> Result<Option<KbFacts>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT n.version, (SELECT f.at_ms FROM kb_versions f WHERE f.entry = n.entry ORDER BY f.version LIMIT 1),
               n.at_ms, n.hash FROM kb_versions n WHERE n.entry = ?1 ORDER BY n.version DESC LIMIT 1",
        )?;
        let facts = |row: &Row<'_>| {
            Ok(KbFacts {
                version: row.get::<_, i64>(0)?.max(0) as u64,
                created_ms: row.get(1)?,
                updated_ms: row.get(2)?,
                hash: row.get(3)?,
            })
        };
        Ok(statement.query_row([entry as i64], facts).optional()?)
    }

    /// Returns when an entry was last opened, milliseconds since 1970.
    pub fn access_of(&self, entry: u64) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT at_ms FROM kb_accesses WHERE entry = ?1";
        let at_ms = self.db.prepare_cached(sql)?.query_row([entry as i64], |row| row.get(0));
        Ok(at_ms.optional()?)
    }

    /// Returns when each entry was last opened, milliseconds since 1970.
    pub fn accesses(&self) -> Result<HashMap<u64, i64>, StoreError> {
        let mut statement = self.db.prepare_cached("SELECT entry, at_ms FROM kb_accesses")?;
        let rows = statement
            .query_map([], |row| Ok((row.get::<_, i64>(0)?.max(0) as u64, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns when the document at a path was first seen, milliseconds since 1970.
    pub fn first_seen_ms(&self, path: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT first_seen_ms FROM documents WHERE path = ?1";
        Ok(self.db.prepare_cached(sql)?.query_row([path], |row| row.get(0)).optional()?)
    }

    /// Returns the versions of an entry, oldest first.
    pub fn versions(&self, entry: u64) -> Result<Vec<KbVersion>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT version, at_ms, client, reason, confidence, title, text FROM kb_versions WHERE entry = ?1
             ORDER BY version",
        )?;
        let rows = statement.query_map([entry as i64], |row| {
            Ok(KbVersion {
                version: row.get::<_, i64>(0)?.max(0) as u64,
                at_ms: row.get(1)?,
                client: row.get(2)?,
                reason: row.get(3)?,
                confidence: row.get(4)?,
                title: row.get(5)?,
                text: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the greatest number that this ledger has seen used.
    pub fn last_number(&self) -> Result<u64, StoreError> {
        let last: Option<i64> = self
            .db
            .query_row("SELECT last FROM kb_sequence WHERE id = 1", [], |row| row.get(0))
            .optional()?;
        Ok(last.unwrap_or(0).max(0) as u64)
    }

    /// Returns the record of an ingested file.
    pub fn ingested(&self, path: &str) -> Result<Option<IngestedFile>, StoreError> {
        let mut statement = self.db.prepare_cached(&format!("{INGESTED} WHERE path = ?1"))?;
        Ok(statement.query_row([path], file_of).optional()?)
    }

    /// Returns the records of all ingested files, by path.
    pub fn all_ingested(&self) -> Result<Vec<IngestedFile>, StoreError> {
        let mut statement = self.db.prepare_cached(&format!("{INGESTED} ORDER BY path"))?;
        Ok(statement.query_map([], file_of)?.collect::<Result<_, _>>()?)
    }
}

const INGESTED: &str =
    "SELECT path, hash, node, entries, summary, n_bytes, extension, project, redactions, is_active,
   first_ms, last_ms FROM kb_ingested";

fn file_of(row: &Row<'_>) -> rusqlite::Result<IngestedFile> {
    let list = |column| {
        let text: String = row.get(column)?;
        Ok::<_, rusqlite::Error>(serde_json::from_str(&text).unwrap_or_default())
    };
    Ok(IngestedFile {
        path: row.get(0)?,
        hash: row.get(1)?,
        node: row.get(2)?,
        entries: list(3)?,
        summary: row.get(4)?,
        n_bytes: row.get::<_, i64>(5)?.max(0) as u64,
        extension: row.get(6)?,
        project: row.get(7)?,
        redactions: list(8)?,
        is_active: row.get(9)?,
        first_ms: row.get(10)?,
        last_ms: row.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> (tempfile::TempDir, Ledger, KbLedger) {
        let folder = tempfile::tempdir().expect("temporary folder");
        let ledger = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        let reader = KbLedger::open(folder.path()).expect("opens");
        (folder, ledger, reader)
    }

    fn version(entry: u64, hash: u8, text: &str) -> NewVersion {
        NewVersion { entry, hash: [hash; 16], text: text.into(), ..NewVersion::default() }
    }

    #[test]
    fn a_number_is_given_once_whatever_is_there() {
        let (folder, ledger, _) = opened();
        let table = [(0, 1), (0, 2), (41, 42), (10, 43)];
        for (floor, number) in table {
            assert_eq!(ledger.next_entry(floor).expect("given"), number, "{floor}");
        }
        ledger.record_kb(&[KbRecord::Version(version(60, 1, "a"))], 1).expect("kept");
        ledger.record_kb(&[KbRecord::Purged(60)], 1).expect("kept");
        drop(ledger);
        let again = Ledger::open(&folder.path().join("ledger.sqlite")).expect("opens");
        assert_eq!(again.next_entry(0).expect("given"), 61);
    }

    #[test]
    fn versions_count_from_one_and_an_edit_by_hand_is_kept_once() {
        let (_folder, ledger, reader) = opened();
        let keep = |new: NewVersion, now_ms| {
            ledger.record_kb(&[KbRecord::Version(new)], now_ms).expect("kept")[0]
        };
        let by_hand =
            |hash| NewVersion { is_by_hand: true, at_ms: Some(5), ..version(7, hash, "hand") };
        assert_eq!(keep(version(7, 1, "one"), 10), 1);
        assert_eq!((keep(by_hand(1), 20), keep(by_hand(2), 20), keep(by_hand(2), 30)), (1, 2, 2));
        assert_eq!(keep(version(7, 3, "three"), 40), 3);
        let versions: Vec<_> = reader
            .versions(7)
            .expect("read")
            .into_iter()
            .map(|it| (it.version, it.at_ms, it.text))
            .collect();
        assert_eq!(
            versions,
            [(1, 10, "one".into()), (2, 10, "hand".into()), (3, 40, "three".to_string())]
        );
        let facts = reader.facts().expect("read")[&7];
        assert_eq!(reader.facts_of(7).expect("read"), Some(facts));
        assert_eq!(reader.facts_of(8).expect("read"), None);
        assert_eq!((facts.version, facts.created_ms, facts.updated_ms), (3, 10, 40));
    }

    #[test]
    fn the_clock_of_accesses_only_goes_forward() {
        let (_folder, ledger, reader) = opened();
        for at_ms in [10, 30, 20] {
            ledger.record_kb(&[KbRecord::Opened(vec![1, 2])], at_ms).expect("kept");
        }
        assert_eq!(reader.accesses().expect("read"), HashMap::from([(1, 30), (2, 30)]));
        assert_eq!([1, 3].map(|it| reader.access_of(it).expect("read")), [Some(30), None]);
    }

    #[test]
    fn a_file_that_is_ingested_again_keeps_the_day_of_the_first_time() {
        let (_folder, ledger, reader) = opened();
        let file = |hash: &str| IngestedFile {
            path: "a.md".into(),
            hash: hash.into(),
            entries: vec!["kb-00001".into()],
            is_active: true,
            ..IngestedFile::default()
        };
        ledger.record_kb(&[KbRecord::Ingested(file("x"))], 10).expect("kept");
        ledger.record_kb(&[KbRecord::Ingested(file("y"))], 20).expect("kept");
        let kept = reader.ingested("a.md").expect("read").expect("there");
        assert_eq!((kept.hash.as_str(), kept.first_ms, kept.last_ms), ("y", 10, 20));
        assert_eq!(reader.all_ingested().expect("read").len(), 1);
    }
}
