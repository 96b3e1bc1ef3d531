//! Erase: deletes rows and spans of text from the ledger and its copies, and searches databases for what remains.
//!
//! In: which documents and entries to forget ([`Gone`]), and how texts are rewritten. Out: the number of rows deleted
//! or rewritten, by table.
//! Invariants: one transaction per database; rows of other documents and entries stay as they are, whatever they say,
//! unless a string is to be forgotten; a document whose file still exists keeps its identity (uid, tags, used
//! ordinals), or the index would differ from a rebuild; text is removed from any column of any table, whatever
//! version the ledger has, and a row whose key contains a forgotten string is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::terms::norm_of;
use notes::entry::id_text;
use notes::resolve::name_key;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde::{Deserialize, Serialize};

use super::ledger::{ChangedLine, read_copy};
use super::{StoreError, open};

mod identities;

pub use identities::{Identities, is_within};

/// Removes forgotten strings from texts.
pub trait Rewrite: Send + Sync {
    /// Returns the text without them; `None` if it contains none.
    fn text(&self, text: &str) -> Option<String>;

    /// Returns the bytes of a kept version of the note at `path` without them; `None` if there are none.
    fn version(&self, path: &str, bytes: &[u8]) -> Option<Vec<u8>>;

    /// Returns whether rows and files named by a forgotten string are deleted. If not, names stay, so that no version
    /// is lost because of its name.
    fn takes_names(&self) -> bool;
}

/// Rows deleted or rewritten, by table.
pub type Counts = BTreeMap<String, u64>;

/// Tables of the ledger with a column `uid`. With `true`, the rows of documents whose file still exists stay.
const BY_UID: [(&str, bool); 5] = [
    ("documents", true),
    ("ingested", true),
    ("memory_ordinals", true),
    ("memory_events", false),
    ("changes", false),
];

/// Tables with a path and the time `last_ms`: whose a row is follows from both.
const BY_PATH: [&str; 2] = ["breakers", "kb_ingested"];

/// Tables with the number of an entry.
const BY_ENTRY: [&str; 3] = ["kb_versions", "kb_accesses", "kb_enriched"];

/// Whether the record of an ingested file lists an entry.
const NAMES_ENTRY: &str = "instr(entries, printf('\"kb-%05d\"', ?1)) > 0";

/// Returns whether a table keeps something of a document as long as its file is there.
pub fn stays_with_file(table: &str) -> bool {
    BY_UID.iter().any(|(name, stays)| *stays && *name == table)
}

/// Tables about erasures themselves, which hold only salted hashes and numbers.
const OWN: [&str; 2] = ["removals", "scrubbed"];

/// What is to be forgotten.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Gone {
    /// Paths of documents and folders as they were named: what was kept below them and is no document's goes, too.
    pub paths: BTreeSet<String>,
    /// Names of entities.
    pub names: BTreeSet<String>,
    /// Uids of documents.
    pub uids: BTreeSet<String>,
    /// Numbers of entries.
    pub entries: BTreeSet<u64>,
    /// Uids of documents whose files still exist.
    pub present: BTreeSet<String>,
    /// Kept versions of notes, by the names of their files.
    pub kept: BTreeSet<String>,
    /// Rows by path: table, path, `last_ms`.
    pub rows: BTreeSet<(String, String, i64)>,
}

impl Gone {
    /// Returns whether the thing that was kept under a path at this time is to be forgotten.
    pub fn holds(&self, known: &Identities, path: &str, at_ms: i64, hash: &[u8]) -> bool {
        match known.owner(path, at_ms, hash) {
            Some(uid) => self.uids.contains(uid),
            None => self.paths.iter().any(|named| is_within(path, named)),
        }
    }

    /// Adds what a ledger, or a copy of one, has of the documents: rows by path, and entries whose versions are
    /// `hashes` and name them. One that cannot be read adds nothing.
    pub fn resolve(&mut self, ledger: &Path, known: &Identities, hashes: &BTreeSet<Vec<u8>>) {
        let _ = read_copy(ledger, |db| self.resolve_in(db, known, hashes));
    }

    pub(super) fn resolve_in(
        &mut self,
        db: &Connection,
        known: &Identities,
        hashes: &BTreeSet<Vec<u8>>,
    ) -> rusqlite::Result<()> {
        for table in BY_PATH {
            if !has_table(db, table)? {
                continue;
            }
            let mut statement = db.prepare(&format!("SELECT path, last_ms FROM {table}"))?;
            for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
                let (path, last_ms): (String, i64) = row?;
                if self.holds(known, &path, last_ms, &[]) {
                    self.rows.insert((table.to_string(), path, last_ms));
                }
            }
        }
        if has_table(db, "kb_versions")? {
            let sql = "SELECT entry, hash FROM kb_versions WHERE instr(text, printf('kb-%05d', entry)) > 0";
            let mut statement = db.prepare(sql)?;
            for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
                let (entry, hash): (i64, Vec<u8>) = row?;
                if hashes.contains(&hash) {
                    self.entries.insert(entry.unsigned_abs());
                }
            }
        }
        Ok(())
    }

    /// Returns the texts that a ledger, or a copy of one, has of the documents and entries: all versions, and lines of
    /// the journal.
    pub fn texts(&self, ledger: &Path) -> Vec<String> {
        read_copy(ledger, |db| self.texts_in(db)).unwrap_or_default()
    }

    fn texts_in(&self, db: &Connection) -> rusqlite::Result<Vec<String>> {
        let mut found = Vec::new();
        if has_table(db, "kb_versions")? {
            let mut statement = db.prepare("SELECT text FROM kb_versions WHERE entry = ?1")?;
            for entry in &self.entries {
                let rows = statement.query_map([*entry as i64], |row| row.get(0))?;
                found.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
            }
        }
        if has_table(db, "changes")? {
            let mut statement = db.prepare("SELECT lines FROM changes WHERE uid = ?1")?;
            for uid in &self.uids {
                for lines in statement.query_map([uid], |row| row.get::<_, String>(0))? {
                    let lines = serde_json::from_str::<Vec<ChangedLine>>(&lines?);
                    found.extend(lines.unwrap_or_default().into_iter().map(|it| it.text));
                }
            }
        }
        Ok(found)
    }

    /// Returns whether a decision is about a document or an entity: the parties in its key are notes and norms.
    pub(super) fn decided(&self, key: &str) -> bool {
        let mut parties = key.split_once(':').map_or("", |(_, rest)| rest).split('>');
        let names: Vec<String> = self.names.iter().map(|it| norm_of(it)).collect();
        let is_meant = |party: &str| match party.strip_prefix('@') {
            Some(uid) => self.uids.contains(uid),
            None => names.iter().any(|it| it == party),
        };
        parties.any(is_meant)
    }
}

/// Deletes rows, then rewrites the texts that stay, in one transaction.
pub(super) fn erase(
    db: &Connection,
    gone: &Gone,
    rewrite: &dyn Rewrite,
) -> rusqlite::Result<Counts> {
    let tx = db.unchecked_transaction()?;
    let mut counts = Counts::new();
    drop_rows(&tx, gone, &mut counts)?;
    for table in tables(&tx)? {
        let changes = changes_of(&tx, &table, rewrite)?;
        apply(&tx, &table, &changes)?;
        add(&mut counts, &table.name, changes.len());
    }
    tx.commit()?;
    Ok(counts)
}

/// Returns whether a ledger contains a text that would be rewritten. Writes nothing.
pub fn holds_any(path: &Path, rewrite: &dyn Rewrite) -> Result<bool, StoreError> {
    let db = open::plain_reader(path).map_err(|why| open::open_error(path, why))?;
    for table in tables(&db)? {
        if !changes_of(&db, &table, rewrite)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn drop_rows(tx: &Connection, gone: &Gone, counts: &mut Counts) -> rusqlite::Result<()> {
    let mut drop_each = |table: &str, meant: &str, keys: Vec<Vec<Value>>| {
        if keys.is_empty() || !has_table(tx, table)? {
            return Ok(());
        }
        let mut statement = tx.prepare(&format!("DELETE FROM {table} WHERE {meant}"))?;
        for key in keys {
            add(counts, table, statement.execute(params_from_iter(key))?);
        }
        Ok::<_, rusqlite::Error>(())
    };
    for (table, stays) in BY_UID {
        let uids = gone.uids.iter().filter(|it| !(stays && gone.present.contains(*it)));
        drop_each(table, "uid = ?1", uids.map(|it| vec![it.clone().into()]).collect())?;
    }
    for table in BY_PATH {
        let rows = gone.rows.iter().filter(|(it, ..)| it == table);
        let keys = rows.map(|(_, path, last_ms)| vec![path.clone().into(), (*last_ms).into()]);
        drop_each(table, "path = ?1 AND last_ms = ?2", keys.collect())?;
    }
    for table in BY_ENTRY {
        let entries = gone.entries.iter().map(|it| vec![(*it as i64).into()]);
        drop_each(table, "entry = ?1", entries.collect())?;
    }
    let keys = texts(tx, "SELECT key FROM decisions")?.into_iter().filter(|it| gone.decided(it));
    drop_each("decisions", "key = ?1", keys.map(|it| vec![it.into()]).collect())?;
    // An event without a uid is of an entity whose note was never indexed.
    if has_table(tx, "memory_events")? {
        let is_meant = |node: &String| gone.names.iter().any(|it| name_key(it) == name_key(node));
        let nodes = texts(tx, "SELECT DISTINCT node FROM memory_events WHERE uid = ''")?;
        let nodes = nodes.into_iter().filter(is_meant).map(|it| vec![it.into()]);
        drop_each("memory_events", "uid = '' AND node = ?1", nodes.collect())?;
    }
    if has_table(tx, "kb_ingested")? {
        // The record of an ingested file is the file's; only the id of the entry goes.
        let mut statement = tx.prepare(&format!(
            "UPDATE kb_ingested SET entries = (SELECT json_group_array(value) FROM json_each(entries)
               WHERE value <> printf('kb-%05d', ?1)) WHERE {NAMES_ENTRY}"
        ))?;
        for entry in &gone.entries {
            add(counts, "kb_ingested", statement.execute([*entry as i64])?);
        }
    }
    Ok(())
}

fn texts(db: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    db.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

/// A table whose texts may be rewritten.
struct Table {
    name: String,
    /// Columns of the primary key; all others are values.
    keys: Vec<String>,
    values: Vec<String>,
}

/// The change of one row.
struct RowChange {
    key: Vec<Value>,
    /// New values, by column; `None` deletes the row.
    values: Option<Vec<(String, String)>>,
}

fn tables(db: &Connection) -> rusqlite::Result<Vec<Table>> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = db.prepare(names)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let mut found = Vec::new();
    // Any table of any version of the ledger: columns are read from the schema.
    for name in names.into_iter().filter(|it| !OWN.contains(&it.as_str())) {
        let mut statement = db.prepare("SELECT name, pk > 0 FROM pragma_table_info(?1)")?;
        let columns = statement.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let columns: Vec<(String, bool)> = columns.collect::<rusqlite::Result<_>>()?;
        let pick =
            |wanted: bool| columns.iter().filter(move |it| it.1 == wanted).map(|it| it.0.clone());
        found.push(Table { keys: pick(true).collect(), values: pick(false).collect(), name });
    }
    Ok(found)
}

fn changes_of(
    db: &Connection,
    table: &Table,
    rewrite: &dyn Rewrite,
) -> rusqlite::Result<Vec<RowChange>> {
    let columns: Vec<String> =
        table.keys.iter().chain(&table.values).map(|it| format!("\"{it}\"")).collect();
    let mut statement =
        db.prepare(&format!("SELECT {} FROM \"{}\"", columns.join(", "), table.name))?;
    let n_keys = table.keys.len();
    let is_there = table.name == "documents";
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let key = (0..n_keys).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Value>>>()?;
        let named = |it: &Value| matches!(it, Value::Text(it) if rewrite.text(it).is_some());
        if rewrite.takes_names() && key.iter().any(named) {
            // The row of a document whose file exists stays: the name is the file's, which is erased by other means.
            if !(is_there && row.get::<_, Option<i64>>("gone_ms")?.is_none()) {
                found.push(RowChange { key, values: None });
            }
            continue;
        }
        let mut values = Vec::new();
        for (at, column) in table.values.iter().enumerate() {
            if let ValueRef::Text(bytes) = row.get_ref(n_keys + at)?
                && let Some(new) = rewrite.text(&String::from_utf8_lossy(bytes))
            {
                values.push((column.clone(), new));
            }
        }
        if !values.is_empty() {
            found.push(RowChange { key, values: Some(values) });
        }
    }
    Ok(found)
}

fn apply(tx: &Connection, table: &Table, changes: &[RowChange]) -> rusqlite::Result<()> {
    let meant: Vec<String> = table.keys.iter().map(|it| format!("\"{it}\" IS ?")).collect();
    let meant = meant.join(" AND ");
    for RowChange { key, values } in changes {
        let Some(values) = values else {
            let sql = format!("DELETE FROM \"{}\" WHERE {meant}", table.name);
            tx.prepare_cached(&sql)?.execute(params_from_iter(key))?;
            continue;
        };
        let set: Vec<String> = values.iter().map(|(it, _)| format!("\"{it}\" = ?")).collect();
        let sql = format!("UPDATE \"{}\" SET {} WHERE {meant}", table.name, set.join(", "));
        let new = values.iter().map(|(_, new)| Value::Text(new.clone()));
        tx.prepare_cached(&sql)?.execute(params_from_iter(new.chain(key.iter().cloned())))?;
    }
    Ok(())
}

fn add(counts: &mut Counts, table: &str, n: usize) {
    if n > 0 {
        *counts.entry(table.to_string()).or_default() += n as u64;
    }
}

fn has_table(db: &Connection, name: &str) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")?
        .exists([name])
}

/// A row of any table of a ledger.
pub struct LedgerRow<'r> {
    table: &'r str,
    row: &'r Row<'r>,
}

impl LedgerRow<'_> {
    /// Returns the identity of the document that it is about; empty if it names none.
    pub fn uid(&self) -> String {
        self.row.get("uid").unwrap_or_default()
    }

    /// Names what it is about for a person: a path, an entity, the id of an entry, else the table.
    pub fn owner(&self) -> String {
        let text = |column: &&str| self.row.get::<_, String>(*column).ok();
        let entry = || self.row.get::<_, i64>("entry").ok().map(|it| id_text(it.unsigned_abs()));
        let named = ["path", "was_path", "node"].iter().find_map(text);
        named.or_else(entry).unwrap_or_else(|| self.table.to_string())
    }
}

/// Passes every text in every row of every table to `see`. Virtual tables are read through their shadow tables.
pub fn each_text(
    path: &Path,
    see: &mut dyn FnMut(&LedgerRow<'_>, &[u8]),
) -> Result<(), StoreError> {
    each_row(path, &mut |table, row| {
        for at in 0..row.as_ref().column_count() {
            if let ValueRef::Text(text) = row.get_ref(at)? {
                see(&LedgerRow { table, row }, text);
            }
        }
        Ok(())
    })
}

/// Passes every row of every table to `see`, with the table's name. Virtual tables are read through their shadow
/// tables.
pub(crate) fn each_row(
    path: &Path,
    see: &mut dyn FnMut(&str, &Row<'_>) -> rusqlite::Result<()>,
) -> Result<(), StoreError> {
    let db = open::plain_reader(path).map_err(|why| open::open_error(path, why))?;
    // Virtual tables have no root page.
    let names =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    for name in texts(&db, names)? {
        let mut statement =
            db.prepare(&format!("SELECT * FROM \"{}\"", name.replace('"', "\"\"")))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            see(&name, row)?;
        }
    }
    Ok(())
}

/// Returns how many rows of a ledger name these entries, by table.
pub fn entry_rows(path: &Path, entries: &BTreeSet<u64>) -> Result<Vec<(String, u64)>, StoreError> {
    let db = open::plain_reader(path).map_err(|why| open::open_error(path, why))?;
    let tables = BY_ENTRY.map(|table| (table, "entry = ?1"));
    let mut found = Vec::new();
    for (table, meant) in tables.into_iter().chain([("kb_ingested", NAMES_ENTRY)]) {
        if !has_table(&db, table)? {
            continue;
        }
        let mut statement = db.prepare(&format!("SELECT count(*) FROM {table} WHERE {meant}"))?;
        let mut n = 0;
        for entry in entries {
            n += statement.query_row([*entry as i64], |row| row.get::<_, i64>(0))? as u64;
        }
        found.push((table.to_string(), n));
    }
    Ok(found)
}

/// Returns how many of these words are still in the text index although no row contains them: remains of deleted
/// rows.
pub fn index_words_without_rows(path: &Path, words: &[String]) -> Result<u64, StoreError> {
    let db = open::reader(path)?;
    db.execute_batch(
        // Words are found in the vocabulary even if all of their rows were deleted.
        "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'chunk_fts', 'row')",
    )?;
    let mut known = db.prepare("SELECT 1 FROM temp.vocabulary WHERE term = ?1")?;
    let mut rows = db.prepare("SELECT 1 FROM chunk_fts WHERE chunk_fts MATCH ?1 LIMIT 1")?;
    let mut n_left = 0;
    for word in words {
        let quoted = format!("\"{}\"", word.replace('"', "\"\""));
        n_left += u64::from(known.exists([word])? && !rows.exists([quoted])?);
    }
    Ok(n_left)
}
