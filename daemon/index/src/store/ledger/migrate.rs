//! Migrate: brings a ledger of any earlier version to the current one.
//!
//! In: the file, or none. Out: an open ledger of version [`VERSION`], or an error.
//! Invariants: a ledger that is damaged or newer than this program is never written; each step commits together with
//! its version, so a migration that crashed between two steps continues; before an existing ledger is changed, a copy
//! is saved beside it as `ledger.sqlite.vN`. The steps are the only statement of what a ledger consists of: a database
//! is a ledger of a version if it has exactly the tables and indexes that the steps up to that version make.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use super::backup::{best, copy, holds_nothing};
use super::{LedgerError, removal};
use crate::store::{StoreError, open};

/// Every step, oldest first: the step at index `n` makes version `n + 1`. Steps are only ever added.
const STEPS: [&str; 10] =
    [FIRST, SKETCHES, BREAKERS, MEMORY, KB, ENRICHED, REMOVALS, CHANGES, DAYS_SEEN, PERMALINKS];

/// The version that this program uses.
pub(super) const VERSION: u32 = STEPS.len() as u32;

/// The tables of the first release, which wrote no version: where they exist they are used as they are.
const FIRST: &str = "
CREATE TABLE IF NOT EXISTS documents(path TEXT PRIMARY KEY, uid TEXT NOT NULL UNIQUE, hash BLOB NOT NULL,
  first_seen_ms INTEGER NOT NULL, gone_ms INTEGER) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS documents_gone ON documents(hash) WHERE gone_ms IS NOT NULL;
CREATE TABLE IF NOT EXISTS ingested(uid TEXT PRIMARY KEY, tags TEXT NOT NULL, source_url TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decisions(key TEXT PRIMARY KEY, verdict INTEGER NOT NULL, decided_ms INTEGER NOT NULL)
  WITHOUT ROWID;";

/// A sketch of a vanished document, by which a similar new one may be recognized.
const SKETCHES: &str = "ALTER TABLE documents ADD COLUMN sketch BLOB;";

/// Files that cannot be read at the moment; `key` shows whether they changed since.
const BREAKERS: &str = "
CREATE TABLE breakers(path TEXT PRIMARY KEY, key TEXT NOT NULL, n_failures INTEGER NOT NULL, stage TEXT NOT NULL,
  reason TEXT NOT NULL, last_ms INTEGER NOT NULL) WITHOUT ROWID;";

/// What tools did to entities, and the highest ordinal ever used in a note, by its uid.
const MEMORY: &str = "
CREATE TABLE memory_events(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, client TEXT NOT NULL, tool TEXT NOT NULL,
  operation TEXT NOT NULL, uid TEXT NOT NULL, node TEXT NOT NULL);
CREATE INDEX memory_events_uid ON memory_events(uid);
CREATE INDEX memory_events_at ON memory_events(at_ms);
CREATE TABLE memory_ordinals(uid TEXT PRIMARY KEY, highest INTEGER NOT NULL) WITHOUT ROWID;";

/// Entries, by number: the last number assigned, versions, last accesses; and the ingested files.
const KB: &str = "
CREATE TABLE kb_sequence(id INTEGER PRIMARY KEY CHECK(id = 1), last INTEGER NOT NULL);
CREATE TABLE kb_versions(entry INTEGER NOT NULL, version INTEGER NOT NULL, at_ms INTEGER NOT NULL, client TEXT NOT NULL,
  reason TEXT NOT NULL, confidence REAL NOT NULL, title TEXT NOT NULL, hash BLOB NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(entry, version)) WITHOUT ROWID;
CREATE TABLE kb_accesses(entry INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL);
CREATE TABLE kb_ingested(path TEXT PRIMARY KEY, hash TEXT NOT NULL, node TEXT NOT NULL, entries TEXT NOT NULL,
  summary TEXT NOT NULL, n_bytes INTEGER NOT NULL, extension TEXT NOT NULL, project TEXT, redactions TEXT NOT NULL,
  is_active INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL) WITHOUT ROWID;";

/// What a language model extracted from entries.
const ENRICHED: &str = "
CREATE TABLE kb_enriched(entry INTEGER PRIMARY KEY, hash BLOB NOT NULL, relations TEXT NOT NULL, model TEXT NOT NULL,
  trouble TEXT, is_due INTEGER NOT NULL, at_ms INTEGER NOT NULL);";

/// What was forgotten, as salted hashes; and which detectors of secrets have cleaned the stored texts.
const REMOVALS: &str = "
CREATE TABLE removals(id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, salt BLOB NOT NULL,
  hash BLOB NOT NULL, counts TEXT NOT NULL);
CREATE TABLE scrubbed(id INTEGER PRIMARY KEY CHECK(id = 1), detectors TEXT NOT NULL);";

/// The change of each document in each commit: the version before (null for an added one) and after (null for a
/// removed one); how far each client has read; the last reserved tick, and where the journal starts.
const CHANGES: &str = "
CREATE TABLE changes(tick INTEGER NOT NULL, uid TEXT NOT NULL, at_ms INTEGER NOT NULL, was_path TEXT, was_hash BLOB,
  path TEXT, hash BLOB, is_unseen INTEGER NOT NULL, n_more INTEGER NOT NULL, lines TEXT NOT NULL,
  PRIMARY KEY(tick, uid)) WITHOUT ROWID;
CREATE INDEX changes_uid ON changes(uid);
CREATE INDEX changes_at ON changes(at_ms);
CREATE TABLE change_marks(client TEXT PRIMARY KEY, tick INTEGER NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE change_state(id INTEGER PRIMARY KEY CHECK(id = 1), reserved INTEGER NOT NULL, begun_tick INTEGER,
  begun_ms INTEGER);";

/// The days that daemons of this project ran: see `days.rs`.
const DAYS_SEEN: &str = "
CREATE TABLE days_seen(day INTEGER PRIMARY KEY, earliest_ms INTEGER NOT NULL, latest_ms INTEGER NOT NULL,
  seen_ms INTEGER NOT NULL);";

/// The permalink that a vanished document had, which no other may state for 30 days.
const PERMALINKS: &str = "ALTER TABLE documents ADD COLUMN permalink TEXT;";

/// Opens the ledger at `path`, created or migrated as needed.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    // An empty file is a new ledger: SQLite creates one before the first write.
    let found = match lacks(path) {
        Some(Lack::All(_)) => None,
        _ => Some(check(path)?),
    };
    let db = open::ledger(path)?;
    if let Some(version) = found.filter(|version| *version < VERSION) {
        let kept = copy_path(path, version);
        tracing::info!(from = version, to = VERSION, copy = %kept.display(), "migrating the ledger");
        // A copy that an interrupted migration left may be replaced: no step changed the ledger before it was made.
        copy(&db, &kept, true)?;
    }
    for step in found.unwrap_or(0)..VERSION {
        take(&db, step)?;
        sys::fail::point("migrate.step");
    }
    if found.is_none() {
        // A new ledger stores nothing that older detectors could have missed.
        removal::mark_scrubbed(&db, &removal::detectors())?;
    }
    Ok(db)
}

/// What a ledger has lost, in words that follow its name.
pub(super) enum Lack {
    /// Everything: there is no file, or a file without tables.
    All(&'static str),
    /// Some of the tables or indexes of its version.
    Tables(String),
    /// Every row that it would be missed for.
    Rows,
}

/// Returns what the ledger at `path` has lost, by its content. `None` also for a file that cannot be read as a
/// database: opening it says why.
pub(super) fn lacks(path: &Path) -> Option<Lack> {
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some(Lack::All("was missing"));
        }
        // Before SQLite opens it, which would delete the log of an empty database.
        Ok(found) if found.len() == 0 => return Some(Lack::All("was empty")),
        _ => {}
    }
    let db = open::plain_reader(path).ok()?;
    let version = version_of(&db).ok()?;
    let (found, wanted) = (schema(&db).ok()?, schema_of(version).ok()?);
    if found.is_empty() {
        return Some(Lack::All("had no tables"));
    }
    if version > VERSION {
        return None;
    }
    let lost: Vec<String> = missing(&found, &wanted).map(|(key, _)| shown(key)).collect();
    if !lost.is_empty() {
        return Some(Lack::Tables(format!("had lost its {}", lost.join(", "))));
    }
    // A ledger of an older version lacks some of the tables, and is not judged by the others.
    (version == VERSION && holds_nothing(&db).ok()?).then_some(Lack::Rows)
}

/// Makes the tables that a ledger has lost again, without rows.
pub(super) fn complete(path: &Path) -> Result<(), StoreError> {
    let db = open::plain(path)?;
    let version = version_of(&db)?;
    let (found, wanted) = (schema(&db)?, schema_of(version)?);
    let tx = db.unchecked_transaction()?;
    // `index` sorts before `table`, which must be there first.
    missing(&found, &wanted).rev().try_for_each(|(_, sql)| tx.execute_batch(sql))?;
    Ok(tx.commit()?)
}

pub(super) fn version_of(db: &Connection) -> rusqlite::Result<u32> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// The statement that made each table, index, trigger and view of a database, by its kind and name.
type Schema = BTreeMap<(String, String), String>;

fn schema(db: &Connection) -> rusqlite::Result<Schema> {
    // SQLite's own tables and the indexes of keys come with the others.
    let sql = "SELECT type, name, sql FROM sqlite_schema
               WHERE type NOT IN ('table', 'index') OR name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut statement = db.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let sql: String = row.get::<_, Option<String>>(2)?.unwrap_or_default();
        let words: Vec<&str> = sql.split_whitespace().collect();
        Ok(((row.get(0)?, row.get(1)?), words.join(" ")))
    })?;
    rows.collect()
}

/// Returns the schema of a ledger of a version; the first release wrote none, but made the tables of version 1.
fn schema_of(version: u32) -> rusqlite::Result<Schema> {
    let db = Connection::open_in_memory()?;
    STEPS.iter().take(version.max(1) as usize).try_for_each(|step| db.execute_batch(step))?;
    schema(&db)
}

/// Returns the entries of those tables that are as kgd makes them.
pub(super) fn of_its_own<T>(
    db: &Connection,
    mut tables: BTreeMap<String, T>,
) -> rusqlite::Result<BTreeMap<String, T>> {
    let (found, wanted) = (schema(db)?, schema_of(version_of(db)?)?);
    let key = |table: &str| ("table".to_string(), table.to_string());
    tables.retain(|table, _| found.get(&key(table)) == wanted.get(&key(table)));
    Ok(tables)
}

fn missing<'a>(
    found: &'a Schema,
    wanted: &'a Schema,
) -> impl DoubleEndedIterator<Item = (&'a (String, String), &'a String)> {
    wanted.iter().filter(|(key, _)| !found.contains_key(*key))
}

fn shown((kind, name): &(String, String)) -> String {
    format!("{kind} `{name}`")
}

/// Returns how a database differs from a ledger of its version, if it does.
pub(super) fn difference(db: &Connection, version: u32) -> rusqlite::Result<Option<String>> {
    let (found, wanted) = (schema(db)?, schema_of(version)?);
    // Tables before their indexes.
    let lost = missing(&found, &wanted).max_by_key(|((kind, name), _)| (kind, Reverse(name)));
    if let Some((key, _)) = lost {
        return Ok(Some(format!("it has no {}", shown(key))));
    }
    let other = found.iter().rev().find(|(key, sql)| wanted.get(*key) != Some(*sql));
    Ok(other.map(|(key, _)| match wanted.contains_key(key) {
        true => format!("its {} is not the one that kgd makes", shown(key)),
        false => format!("it has another {}, which kgd does not make", shown(key)),
    }))
}

/// Returns the version of a ledger that this program can use. Writes nothing.
pub(in crate::store) fn check(path: &Path) -> Result<u32, StoreError> {
    let damaged = |why: String| {
        StoreError::from(LedgerError::Damaged { path: path.to_path_buf(), why, best: best(path) })
    };
    let read = open::plain_reader(path).and_then(|db| inspect(&db));
    let (version, verdict) = match read {
        Ok(read) => read,
        Err(_) if path.is_dir() => return Err(damaged("it is a folder".to_string())),
        Err(error) if is_damage(&error) => return Err(damaged(error.to_string())),
        Err(error) => return Err(open::open_error(path, error)),
    };
    // The version is checked first: this program cannot judge what a newer one wrote.
    if version > VERSION {
        let path = path.to_path_buf();
        return Err(LedgerError::Newer { path, found: version, known: VERSION }.into());
    }
    if verdict != "ok" { Err(damaged(verdict)) } else { Ok(version) }
}

/// Returns the version, and `ok`, how the database differs from a ledger of that version, or SQLite's first message
/// about damage. Only the tables of known versions are compared.
pub(super) fn inspect(db: &Connection) -> rusqlite::Result<(u32, String)> {
    let version = version_of(db)?;
    // The tables first: SQLite cannot check those of another program's modules.
    let differs = if version > VERSION { None } else { difference(db, version)? };
    let check = || db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
    Ok((version, differs.map_or_else(check, Ok)?))
}

/// Returns whether an error is about the file's content, not about its surroundings.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// Does one step and records its version, in one transaction.
fn take(db: &Connection, step: u32) -> Result<(), StoreError> {
    let sql = STEPS[step as usize];
    let done = db
        .execute_batch(&format!("BEGIN IMMEDIATE;{sql}PRAGMA user_version = {};COMMIT;", step + 1));
    // An error in the middle of a batch leaves the transaction open.
    if done.is_err() && !db.is_autocommit() {
        db.execute_batch("ROLLBACK")?;
    }
    Ok(done?)
}

/// Returns the path of the copy of the ledger at `path` in an older version.
pub(super) fn copy_path(path: &Path, version: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".v{version}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::super::{Ledger, Verdict};
    use super::*;
    use model::terms::{ContentHash, RelPath};

    struct Scratch {
        _folder: tempfile::TempDir,
        path: PathBuf,
    }

    fn scratch() -> Scratch {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("ledger.sqlite");
        Scratch { _folder: folder, path }
    }

    /// Creates a ledger of the first release: tables and rows, without a version.
    fn first_release(path: &Path) {
        let db = Connection::open(path).expect("opens");
        let rows = "INSERT INTO documents VALUES('a.md', 'u1', x'01000000000000000000000000000000', 5, NULL);
                    INSERT INTO ingested VALUES('u1', '[\"ops\"]', NULL);
                    INSERT INTO decisions VALUES('link:a>b', -1, 7);";
        db.execute_batch(&format!("PRAGMA journal_mode = WAL;{FIRST}{rows}")).expect("made");
    }

    fn version(path: &Path) -> u32 {
        let db = Connection::open(path).expect("opens");
        db.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number")
    }

    #[test]
    fn a_ledger_of_the_first_release_is_taken_on_with_its_rows_and_kept_as_it_was() {
        let it = scratch();
        first_release(&it.path);
        let ledger = Ledger::open(&it.path).expect("opens");
        assert_eq!(ledger.decisions().get("link:a>b"), Some(Verdict::Rejected));
        assert_eq!(ledger.ingest_record("u1").expect("read").tags, ["ops"]);
        let uid = ledger.uid_for(&RelPath::new("a.md"), ContentHash(1), None, 9).expect("uid");
        assert_eq!(uid, "u1");
        drop(ledger);
        assert_eq!((version(&it.path), version(&copy_path(&it.path, 0))), (VERSION, 0));
        let kept = Connection::open(copy_path(&it.path, 0)).expect("opens");
        let n: u32 = kept
            .query_row("SELECT count(*) FROM decisions", [], |row| row.get(0))
            .expect("a number");
        assert_eq!(n, 1);
    }

    #[test]
    fn a_new_ledger_has_the_present_version_and_leaves_no_copy() {
        let it = scratch();
        drop(Ledger::open(&it.path).expect("opens"));
        assert_eq!(version(&it.path), VERSION);
        assert!((0..VERSION).all(|n| !copy_path(&it.path, n).exists()));
    }

    #[test]
    fn steps_are_gone_on_from_where_they_stopped() {
        for stop in 0..VERSION {
            let it = scratch();
            first_release(&it.path);
            let db = open::ledger(&it.path).expect("opens");
            (0..stop).for_each(|step| take(&db, step).expect("taken"));
            drop(db);
            let ledger = Ledger::open(&it.path).expect("opens");
            assert_eq!(
                ledger.decisions().get("link:a>b"),
                Some(Verdict::Rejected),
                "stopped at {stop}"
            );
            drop(ledger);
            assert_eq!(version(&it.path), VERSION);
        }
    }

    #[test]
    fn a_step_that_fails_leaves_neither_its_change_nor_its_version() {
        let it = scratch();
        let db = open::ledger(&it.path).expect("opens");
        take(&db, 0).expect("taken");
        db.execute_batch("CREATE TABLE breakers(x)").expect("in the way");
        take(&db, 1).expect("taken");
        take(&db, 2).expect_err("the table exists");
        assert!(db.is_autocommit());
        let version: u32 =
            db.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number");
        assert_eq!(version, 2);
    }

    #[test]
    fn a_newer_ledger_is_refused_and_not_touched() {
        let it = scratch();
        drop(Ledger::open(&it.path).expect("opens"));
        let db = Connection::open(&it.path).expect("opens");
        db.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA user_version = 99")
            .expect("written");
        drop(db);
        let before = std::fs::read(&it.path).expect("read");
        let error = Ledger::open(&it.path).err().expect("refused").to_string();
        assert!(error.contains("has version 99, this kgd knows versions up to 10"), "{error}");
        assert!(error.contains("\nhint: install the newer kgd again"), "{error}");
        assert_eq!(std::fs::read(&it.path).expect("read"), before);
    }

    #[test]
    fn a_damaged_ledger_is_refused_and_not_touched() {
        let it = scratch();
        std::fs::write(
            &it.path,
            "this is no database at all, and long enough to have a header".repeat(20),
        )
        .expect("written");
        let before = std::fs::read(&it.path).expect("read");
        let error = Ledger::open(&it.path).err().expect("refused").to_string();
        assert!(
            error.contains("is damaged: ") && error.contains("\nhint: there is no backup"),
            "{error}"
        );
        assert_eq!(std::fs::read(&it.path).expect("read"), before);
    }
}
