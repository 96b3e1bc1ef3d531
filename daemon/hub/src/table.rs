//! Table: which tables of a project are published, and in what form.
//!
//! In: a snapshot of an index, its ledger, the file of better vectors. Out: rows with a key, a checksum and cells; and
//! the reverse: rows of a replica.
//! Invariants: a row depends on the commit alone. Every table of the hub starts with the same four columns (`project`,
//! `generation`, `row_key`, `row_sum`). Rows that are only read together with their document are packed into one row a
//! document.
//! Not here: which rows changed (`publish.rs`), the hub's own tables (`migrations/`).

use index::store::Draft;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params_from_iter};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use self::Origin::{Better, Index, Ledger, Outline, Vectors};
use crate::HubError;

/// A value in one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

/// A published row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Published {
    pub key: i64,
    pub sum: i64,
    /// One cell for each column of the hub's table; a packed row has one blob.
    pub cells: Vec<Cell>,
}

/// Where the rows of a table come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Index,
    /// The ledger, up to the tick of the snapshot.
    Ledger,
    /// The blocks of sqlite-vec's table.
    Vectors,
    /// The file of better vectors: one row for each window that search reads.
    Better,
    /// Computed from the index, and not copied to replicas.
    Outline,
}

/// A published table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name in the hub.
    pub hub: &'static str,
    /// Its name in the index or ledger.
    pub local: &'static str,
    pub from: Origin,
    /// The column that becomes `row_key`.
    pub key: &'static str,
    /// The other columns, separated by blanks. Unless the table is packed, each has the letter of its type: `i`
    /// integer, `r` real, `t` text, `b` bytes, `h` a vector of int8.
    pub columns: &'static str,
}

const fn table(
    from: Origin,
    hub: &'static str,
    local: &'static str,
    key: &'static str,
    columns: &'static str,
) -> Table {
    Table { from, hub, local, key, columns }
}

/// All published tables. Removing one needs a new migration.
#[rustfmt::skip]
pub(crate) const TABLES: &[Table] = &[
    table(Index, "documents", "docs", "id",
        "uid:t path:t title:t is_note:i format:t doc_type:t language:t day:t hash:b mtime_ms:i n_bytes:i \
         source_url:t meta:t text:t lines:b pages:b headings:b terms:t mentions_hash:i gazetteer_version:i \
         warnings:t redactions:t pass:i entity_id:i sum:i"),
    table(Index, "chunks", "chunks", "id",
        "doc_id:i idx:i start:i end:i raw_start:i raw_end:i line_start:i line_end:i n_tokens:i section:t \
         hash:b language:t profile:t headings:t own:i"),
    table(Index, "windows", "chunk_vec_map", "id", "chunk_id:i start:i end:i aside:b hash:b"),
    table(Vectors, "vectors", "chunk_vec", "rowid", "embedding:h"),
    table(Better, "better", "vectors", "id", "space:t model:t hash:b embedding:h floats:b"),
    table(Index, "postings", "chunk_fts_data", "id", "block:b"),
    table(Index, "posting_sizes", "chunk_fts_docsize", "id", "sz:b origin:i"),
    table(Index, "chunk_fts_idx", "chunk_fts_idx", "segid", "term pgno"),
    table(Index, "entities", "entities", "id", "norm:t doc_id:i name:t type:i status:t"),
    table(Index, "names", "names", "id",
        "norm:t sense:i entity_id:i link:r decision:i via:i surface:t type:i n_docs:i n_mentions:i homes:t \
         home_source:i is_fuzzy:i is_split:i"),
    table(Index, "mentions", "mentions", "doc_id", "at start end line name_id type recognizer score place surface"),
    table(Index, "evidence", "evidence", "doc_id",
        "seq subject predicate object subject_at object_at start end raw_start raw_end line pattern \
         confidence subject_link object_link"),
    table(Index, "written", "written", "doc_id", "text"),
    table(Index, "doc_tags", "doc_tags", "doc_id", "tag"),
    table(Index, "stated", "stated", "doc_id", "name_id source surface"),
    table(Index, "doc_names", "doc_names", "doc_id", "key kind"),
    table(Index, "notes", "notes", "doc_id", "base is_stated permalink metadata"),
    table(Index, "observations", "observations", "doc_id", "seq category content tags context block start end line"),
    table(Index, "note_links", "note_links", "doc_id",
        "seq kind rel is_typed target heading block display context own_block start end target_start \
         target_end line said file_key name_key permalink_key dst"),
    table(Index, "note_fields", "note_fields", "doc_id", "seq key value is_inline start end line"),
    table(Index, "note_places", "note_places", "doc_id", "seq kind level name key start end line"),
    table(Index, "memory_nodes", "memory_nodes", "doc_id",
        "key name type is_node in_folder summary tags last_ordinal n_facts n_vectors"),
    table(Index, "memory_vectors", "memory_vectors", "doc_id", "vectors mean"),
    table(Index, "memory_facts", "memory_facts", "doc_id", "seq ordinal content line_start line_end speaker day"),
    table(Index, "prints", "prints", "doc_id", "kind start end text"),
    table(Index, "copies", "copies", "doc_id", "text rank start"),
    table(Index, "alike", "alike", "text", "root"),
    table(Index, "proposals", "proposals", "name_id", "candidate score"),
    table(Index, "name_keys", "name_keys", "name_id", "key"),
    table(Outline, "outline", "", "", "block:b"),
    table(Ledger, "journal", "changes", "tick", "uid at_ms was_path was_hash path hash is_unseen n_more lines"),
    table(Ledger, "journal_begin", "change_state", "id", "reserved begun_tick begun_ms"),
    table(Ledger, "decisions", "decisions", "0", "key verdict decided_ms"),
];

/// The databases that rows are read from.
pub(crate) struct Source<'a> {
    pub index: &'a Connection,
    pub ledger: &'a Connection,
    pub better: Option<&'a Connection>,
    pub tick: u64,
}

impl Table {
    /// Returns whether replicas have this table.
    pub(crate) fn is_copied(&self) -> bool {
        self.from != Origin::Outline
    }

    /// Returns whether all rows with one key become one row in the hub.
    fn is_packed(&self) -> bool {
        !self.columns.contains(':')
    }

    /// Returns the columns other than the key, with their types.
    pub(crate) fn columns(&self) -> Vec<(&'static str, char)> {
        let typed = |column: &'static str| {
            let (name, kind) = column.split_once(':').unwrap_or((column, ""));
            (name, kind.chars().next().unwrap_or(' '))
        };
        self.columns.split_whitespace().map(typed).collect()
    }

    /// Returns the columns of the hub's table after the first four.
    pub(crate) fn hub_columns(&self) -> Vec<(&'static str, char)> {
        if self.is_packed() { vec![("rows", 'b')] } else { self.columns() }
    }

    fn names(&self) -> Vec<String> {
        self.columns().iter().map(|(name, _)| format!("\"{name}\"")).collect()
    }

    /// Calls `show` with every row; sorted by key, except where the source has another order.
    pub(crate) fn each(
        &self,
        source: &Source<'_>,
        show: &mut dyn FnMut(Published) -> Result<(), HubError>,
    ) -> Result<(), HubError> {
        match self.from {
            Origin::Vectors => {
                return index::vectors::each_in_table(source.index, |key, bytes| {
                    show(row_of(key, vec![Cell::Blob(bytes.to_vec())]))
                });
            }
            Origin::Better => return each_better(source, show),
            Origin::Outline => {
                return crate::outline::each(source.index, &mut |key, block| {
                    show(row_of(key, vec![Cell::Blob(block)]))
                });
            }
            Origin::Index | Origin::Ledger => {}
        }
        let (db, condition) = match self.from {
            Origin::Ledger if self.key == "tick" => {
                (source.ledger, format!("WHERE tick <= {}", source.tick))
            }
            Origin::Ledger => (source.ledger, String::new()),
            _ => (source.index, String::new()),
        };
        let (key, columns) = (self.key, self.names().join(", "));
        let sql = format!("SELECT {key}, {columns} FROM {} {condition} ORDER BY 1", self.local);
        let mut statement = db.prepare(&sql)?;
        let n_columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut open: Option<(i64, Vec<Vec<Cell>>)> = None;
        while let Some(row) = rows.next()? {
            let key: i64 = row.get(0)?;
            let cells = cells_of(row, n_columns)?;
            if !self.is_packed() {
                show(row_of(key, cells))?;
                continue;
            }
            match &mut open {
                Some((last, group)) if *last == key => group.push(cells),
                _ => {
                    if let Some((key, group)) = open.replace((key, vec![cells])) {
                        show(row_of(key, vec![Cell::Blob(pack(group))]))?;
                    }
                }
            }
        }
        match open {
            Some((key, group)) => show(row_of(key, vec![Cell::Blob(pack(group))])),
            None => Ok(()),
        }
    }

    /// Deletes rows of a replica.
    pub(crate) fn delete(&self, draft: &Draft<'_>, keys: &[i64]) -> Result<(), HubError> {
        let db = if self.from == Origin::Ledger { draft.ledger } else { draft.index };
        let sql = match (self.from, self.key) {
            // Better vectors are stored by the hash of their text; without a window, search does not read them.
            (Origin::Better, _) => return Ok(()),
            (_, "0") => return Ok(()),
            _ => format!("DELETE FROM {} WHERE {} = ?1", self.local, self.key),
        };
        let mut statement = db.prepare_cached(&sql)?;
        keys.iter().try_for_each(|key| statement.execute([key]).map(|_| ()))?;
        Ok(())
    }

    /// Writes one row of a replica, after its old version was deleted.
    pub(crate) fn insert(
        &self,
        draft: &Draft<'_>,
        key: i64,
        cells: &[Cell],
    ) -> Result<(), HubError> {
        let db = if self.from == Origin::Ledger { draft.ledger } else { draft.index };
        if self.from == Origin::Vectors {
            let sql = "INSERT INTO chunk_vec(rowid, embedding) VALUES(?1, vec_int8(?2))";
            let Some(Cell::Blob(bytes)) = cells.first() else {
                return Err(HubError::Torn(self.hub));
            };
            db.prepare_cached(sql)?.execute((key, bytes))?;
            return Ok(());
        }
        let columns = self.names();
        let places: Vec<String> = (2..columns.len() + 2).map(|n| format!("?{n}")).collect();
        let (columns, places) = (columns.join(", "), places.join(", "));
        // A crash between the two commits may have left the ledger's rows.
        let again = if self.from == Origin::Ledger { "OR REPLACE " } else { "" };
        let (local, key_column) = (self.local, self.key);
        let sql =
            format!("INSERT {again}INTO {local}({key_column}, {columns}) VALUES(?1, {places})");
        let mut statement = db.prepare_cached(&sql)?;
        let mut write = |cells: &[Cell]| -> Result<(), HubError> {
            let key = Cell::Int(key);
            statement.execute(params_from_iter(std::iter::once(&key).chain(cells)))?;
            Ok(())
        };
        if !self.is_packed() {
            return write(cells);
        }
        unpack(self.hub, cells)?.iter().try_for_each(|row| write(row))
    }
}

/// Unpacks the rows of one packed row.
pub(crate) fn unpack(table: &'static str, cells: &[Cell]) -> Result<Vec<Vec<Cell>>, HubError> {
    let Some(Cell::Blob(bytes)) = cells.first() else { return Err(HubError::Torn(table)) };
    postcard::from_bytes(bytes).map_err(|_| HubError::Torn(table))
}

fn pack(mut group: Vec<Vec<Cell>>) -> Vec<u8> {
    group.sort_by_cached_key(bytes_of);
    bytes_of(&group)
}

fn bytes_of<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_allocvec(value).expect("cells have a form in bytes")
}

fn row_of(key: i64, cells: Vec<Cell>) -> Published {
    let sum = xxh3_64(&bytes_of(&cells)).cast_signed();
    Published { key, sum, cells }
}

fn cells_of(row: &Row<'_>, n_columns: usize) -> rusqlite::Result<Vec<Cell>> {
    let cell = |at: usize| {
        Ok(match row.get_ref(at)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Int(number),
            ValueRef::Real(number) => Cell::Real(number),
            // PostgreSQL's text cannot hold this character. A blank keeps every span valid.
            ValueRef::Text(bytes) => Cell::Text(String::from_utf8_lossy(bytes).replace('\0', " ")),
            ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
        })
    };
    (1..n_columns).map(cell).collect()
}

/// The suffix of vector spaces that store floats.
const FLOATS: &str = "/f32";

/// Calls `show` with the vectors of the newest space, one for each window that search reads.
fn each_better(
    source: &Source<'_>,
    show: &mut dyn FnMut(Published) -> Result<(), HubError>,
) -> Result<(), HubError> {
    let Some(better) = source.better else { return Ok(()) };
    let space: Option<(i64, String, String)> = {
        let sql = "SELECT id, name, model FROM spaces ORDER BY id DESC LIMIT 1";
        let mut statement = better.prepare(sql)?;
        let mut rows = statement.query([])?;
        match rows.next()? {
            Some(row) => Some((row.get(0)?, row.get(1)?, row.get(2)?)),
            None => None,
        }
    };
    let Some((space, name, model)) = space else { return Ok(()) };
    let mut find = better.prepare("SELECT vector FROM vectors WHERE space = ?1 AND hash = ?2")?;
    let mut windows = source
        .index
        .prepare("SELECT id, hash FROM chunk_vec_map WHERE aside IS NULL ORDER BY id")?;
    let mut rows = windows.query([])?;
    while let Some(row) = rows.next()? {
        let (key, hash): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let mut found = find.query((space, &hash))?;
        let Some(found) = found.next()? else { continue };
        let vector: Vec<u8> = found.get(0)?;
        let (int8, floats) = match (vector.is_empty(), name.ends_with(FLOATS)) {
            // The model cannot read this text.
            (true, _) => (Cell::Null, Cell::Null),
            (false, true) => (Cell::Null, Cell::Blob(vector)),
            (false, false) => (Cell::Blob(vector), Cell::Null),
        };
        let text = |text: &String| Cell::Text(text.clone());
        show(row_of(key, vec![text(&name), text(&model), Cell::Blob(hash), int8, floats]))?;
    }
    Ok(())
}

impl rusqlite::ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        let value = match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Real(number) => ValueRef::Real(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Blob(bytes) => ValueRef::Blob(bytes),
        };
        Ok(rusqlite::types::ToSqlOutput::Borrowed(value))
    }
}

#[cfg(test)]
mod tests {
    use config::settings::Precision;
    use index::store::{Replica, open_for_reading};

    use super::*;

    /// Columns that are not published: only the writer needs the keys that find similar paragraphs.
    const KEPT_HERE: [(&str, &str); 1] = [("prints", "keys")];

    #[test]
    fn every_column_of_a_published_table_is_published() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(Replica::open(folder.path(), "test", Precision::Int8).expect("made"));
        let open = |file: &str| open_for_reading(&folder.path().join(file)).expect("opened");
        let (index, ledger) = (open("index.sqlite"), open("ledger.sqlite"));
        for table in TABLES {
            let db = match table.from {
                Origin::Index => &index,
                Origin::Ledger => &ledger,
                Origin::Vectors | Origin::Better | Origin::Outline => continue,
            };
            let mut statement =
                db.prepare("SELECT name FROM pragma_table_info(?1)").expect("prepared");
            let names = statement.query_map([table.local], |row| row.get(0)).expect("queried");
            let mut there: Vec<String> = names.map(|name| name.expect("a name")).collect();
            there.retain(|name| name != table.key && !KEPT_HERE.contains(&(table.local, name)));
            let mut here: Vec<&str> = table.columns().iter().map(|(name, _)| *name).collect();
            there.sort();
            here.sort_unstable();
            assert_eq!(here, there, "{}", table.local);
        }
    }
}
