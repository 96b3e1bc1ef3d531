//! Erase: deletes rows and spans of texts from the ledger and its copies, and searches databases for what is left.
//!
//! In: which documents and entries are to be gone ([`Gone`]), and how texts are rewritten. Out: how much went, by
//! table.
//! Invariants: one transaction a database; a document whose file is still there keeps its identity (uid, tags, used
//! ordinals), or the index would differ from a rebuild; text is taken out of any column of any table, whatever version
//! the ledger has, and a row that is known by what is to be gone goes.
//! Not here: free pages and logs (`open::vacuum`, `IndexWriter::compact`), which files there are (`erase/`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use notes::resolve::name_key;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};

use super::{StoreError, open};

/// Removes what is to be forgotten from texts.
pub trait Rewrite: Send + Sync {
    /// A text without it; `None` when it is not in there.
    fn text(&self, text: &str) -> Option<String>;

    /// The bytes of the kept version of a note without it; `None` when it is not in there.
    fn version(&self, path: &str, bytes: &[u8]) -> Option<Vec<u8>>;

    /// Returns whether rows and files named by it are deleted. Otherwise names stay: no version is ever lost for its
    /// name.
    fn takes_names(&self) -> bool;
}

/// Rows that went, and texts that were rewritten, by table.
pub type Counts = BTreeMap<String, u64>;

/// Tables of the ledger that keep something by a document's uid; with `true`, as long as its file is there.
const BY_UID: [(&str, bool); 4] =
    [("ingested", true), ("memory_ordinals", true), ("memory_events", false), ("changes", false)];

/// By a document's path.
const BY_PATH: [(&str, bool); 3] =
    [("documents", true), ("breakers", false), ("kb_ingested", false)];

/// By an entry's number.
const BY_ENTRY: [&str; 3] = ["kb_versions", "kb_accesses", "kb_enriched"];

/// Returns whether a table keeps something of a document as long as its file is there.
pub fn stays_with_file(table: &str) -> bool {
    BY_UID.iter().chain(&BY_PATH).any(|(name, stays)| *stays && *name == table)
}

/// Tables about erasures themselves: salted hashes and numbers.
const OWN: [&str; 2] = ["removals", "scrubbed"];

/// What is to be forgotten.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Gone {
    /// Paths; what lies below one is meant, too.
    pub paths: BTreeSet<String>,
    /// Names of entities, as [`name_key`] has them.
    pub names: BTreeSet<String>,
    /// Uids.
    pub uids: BTreeSet<String>,
    /// Numbers of entries.
    pub entries: BTreeSet<u64>,
    /// Paths and uids of documents whose files are still there.
    pub present: BTreeSet<String>,
}

impl Gone {
    /// Whether a path is meant, or a folder around it.
    pub fn holds_path(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.filter_map(|end| path.get(..end)).any(|it| self.paths.contains(it))
    }

    /// Adds the uids and paths by which this ledger knows what is meant.
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

    /// The texts of entries that are meant.
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

/// Takes out of a ledger what is meant: rows, then spans of the texts that stay. All or nothing.
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

/// Whether a ledger holds a text that would be rewritten. Writes nothing.
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
    let kept = |key: &String, stays: bool| stays && gone.present.contains(key);
    for (table, stays) in BY_UID {
        let uids = gone.uids.iter().filter(|it| !kept(it, stays));
        drop_each(table, "uid", uids.cloned().map(Value::Text).collect())?;
    }
    for (table, stays) in BY_PATH {
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
        // A decision names a note as `@uid`.
        let n = tx.execute("DELETE FROM decisions WHERE instr(key, '@' || ?1) > 0", [uid])?;
        add(counts, "decisions", n);
    }
    Ok(())
}

/// A table whose texts may be rewritten.
struct Table {
    name: String,
    /// Columns that name a row; all others are its values.
    keys: Vec<String>,
    values: Vec<String>,
}

/// The change of one row.
struct RowChange {
    key: Vec<Value>,
    /// New values, by column; none where the row goes.
    values: Option<Vec<(String, String)>>,
}

fn tables(db: &Connection) -> rusqlite::Result<Vec<Table>> {
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut statement = db.prepare(names)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    let names: Vec<String> = names.collect::<rusqlite::Result<_>>()?;
    let mut found = Vec::new();
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
            // The document of a file that is there keeps its uid: the name is the file's.
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

/// Shows every text and blob of every table of a database, with the table's name, and whether it is a text. Virtual
/// tables are seen in the tables that hold them.
pub fn each_value(path: &Path, see: &mut dyn FnMut(&str, &[u8], bool)) -> Result<(), StoreError> {
    let db = open::plain_reader(path).map_err(|why| open::open_error(path, why))?;
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

/// How many of these words the text index still has although no row does: what is left of deleted rows.
pub fn index_words_without_rows(path: &Path, words: &[String]) -> Result<u64, StoreError> {
    let db = open::reader(path)?;
    db.execute_batch(
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
