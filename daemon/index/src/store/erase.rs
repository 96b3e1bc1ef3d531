//! Erase: deletes rows and spans of text from the ledger and its copies, and searches databases for what remains.
//!
//! In: which documents and entries to forget ([`Gone`]), and how texts are rewritten. Out: the number of rows deleted
//! or rewritten, by table.
//! Invariants: one transaction per database; a document whose file still exists keeps its identity (uid, tags, used
//! ordinals), or the index would differ from a rebuild; text is removed from any column of any table, whatever
//! version the ledger has, and a row whose key contains a forgotten string is deleted.
//! Not here: free pages and logs (`open::vacuum`, `IndexWriter::compact`), which files there are (`erase/`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use notes::resolve::name_key;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};

use super::{StoreError, open};

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
const BY_UID: [(&str, bool); 4] =
    [("ingested", true), ("memory_ordinals", true), ("memory_events", false), ("changes", false)];

/// The same for tables with a column `path`.
const BY_PATH: [(&str, bool); 3] =
    [("documents", true), ("breakers", false), ("kb_ingested", false)];

/// Tables with the number of an entry.
const BY_ENTRY: [&str; 3] = ["kb_versions", "kb_accesses", "kb_enriched"];

/// Returns whether a table keeps something of a document as long as its file is there.
pub fn stays_with_file(table: &str) -> bool {
    BY_UID.iter().chain(&BY_PATH).any(|(name, stays)| *stays && *name == table)
}

/// Tables about erasures themselves, which hold only salted hashes and numbers.
const OWN: [&str; 2] = ["removals", "scrubbed"];

/// What is to be forgotten.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Gone {
    /// Paths of documents and folders; a folder includes everything below it.
    pub paths: BTreeSet<String>,
    /// Names of entities, as [`name_key`] returns them.
    pub names: BTreeSet<String>,
    /// Uids.
    pub uids: BTreeSet<String>,
    /// Numbers of entries.
    pub entries: BTreeSet<u64>,
    /// Paths and uids of documents whose files still exist.
    pub present: BTreeSet<String>,
}

impl Gone {
    /// Returns whether a path, or a folder that contains it, is to be forgotten.
    pub fn holds_path(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|it| self.paths.contains(it))
    }

    /// Adds the uids and paths that this ledger has for what is to be forgotten.
    pub fn resolve(&mut self, db: &Connection) -> rusqlite::Result<()> {
        if !self.names.is_empty() && has_table(db, "memory_events")? {
            let mut statement = db.prepare("SELECT DISTINCT uid, node FROM memory_events")?;
            for row in statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))? {
                let (uid, node): (String, String) = row?;
                if self.names.contains(&name_key(&node)) {
                    self.uids.insert(uid);
                }
            }
        }
        // A moved document has several paths, and a path may have had several documents: each leads to the other.
        let mut statement = db.prepare("SELECT path, uid FROM documents")?;
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            let (path, uid): (String, String) = row?;
            if self.holds_path(&path) || self.uids.contains(&uid) {
                self.paths.insert(path);
                self.uids.insert(uid);
            }
        }
        Ok(())
    }

    /// Returns the texts of the entries, in all versions.
    pub fn texts(&self, db: &Connection) -> rusqlite::Result<Vec<String>> {
        let mut found = Vec::new();
        if self.entries.is_empty() || !has_table(db, "kb_versions")? {
            return Ok(found);
        }
        let mut statement = db.prepare("SELECT text FROM kb_versions WHERE entry = ?1")?;
        for entry in &self.entries {
            let rows = statement.query_map([*entry as i64], |row| row.get(0))?;
            found.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
        }
        Ok(found)
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
    let mut drop_each = |table: &str, column: &str, keys: Vec<Value>| {
        if keys.is_empty() || !has_table(tx, table)? {
            return Ok(());
        }
        let mut statement = tx.prepare(&format!("DELETE FROM {table} WHERE {column} = ?1"))?;
        for key in keys {
            add(counts, table, statement.execute([key])?);
        }
        Ok::<_, rusqlite::Error>(())
    };
    // `stays` protects identities only as long as the file exists.
    let kept = |key: &String, stays: bool| stays && gone.present.contains(key);
    for (table, stays) in BY_UID {
        let uids = gone.uids.iter().filter(|it| !kept(it, stays));
        drop_each(table, "uid", uids.cloned().map(Value::Text).collect())?;
    }
    for (table, stays) in BY_PATH {
        // Paths are compared here and not in SQL: a folder includes everything below it.
        let mut meant: Vec<Value> = Vec::new();
        if has_table(tx, table)? {
            let mut statement = tx.prepare(&format!("SELECT path FROM {table}"))?;
            for path in statement.query_map([], |row| row.get::<_, String>(0))? {
                let path = path?;
                if gone.holds_path(&path) && !kept(&path, stays) {
                    meant.push(Value::Text(path));
                }
            }
        }
        drop_each(table, "path", meant)?;
    }
    for table in BY_ENTRY {
        let entries = gone.entries.iter().map(|it| Value::Integer(*it as i64));
        drop_each(table, "entry", entries.collect())?;
    }
    for uid in &gone.uids {
        // The key of a decision about a note contains `@uid`.
        let n = tx.execute("DELETE FROM decisions WHERE instr(key, '@' || ?1) > 0", [uid])?;
        add(counts, "decisions", n);
    }
    Ok(())
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

/// Passes every text and blob of every table to `see`, with the table's name and whether it is a text. Virtual tables
/// are read through their shadow tables.
pub fn each_value(path: &Path, see: &mut dyn FnMut(&str, &[u8], bool)) -> Result<(), StoreError> {
    let db = open::plain_reader(path).map_err(|why| open::open_error(path, why))?;
    // Virtual tables have no root page.
    let names =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    let mut statement = db.prepare(names)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    for name in names.collect::<rusqlite::Result<Vec<String>>>()? {
        let mut statement =
            db.prepare(&format!("SELECT * FROM \"{}\"", name.replace('"', "\"\"")))?;
        let n_columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for at in 0..n_columns {
                match row.get_ref(at)? {
                    ValueRef::Text(bytes) => see(&name, bytes, true),
                    ValueRef::Blob(bytes) => see(&name, bytes, false),
                    _ => {}
                }
            }
        }
    }
    Ok(())
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
