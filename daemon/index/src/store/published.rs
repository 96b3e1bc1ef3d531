//! Published: which tables of an index and its ledger a hub gets, and their rows.
//!
//! In: a snapshot of an index, its ledger, the file of better vectors. Out: rows, grouped by their key; and the
//! reverse: rows of a replica.
//! Invariants: a row depends on the commit alone; all columns of a published table are published.

use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params_from_iter};
use serde::{Deserialize, Serialize};

use self::Origin::{Better, Index, Ledger, Outline};
use super::open::LEDGER_FILE;
use super::{Draft, Snapshot, Spaces, StoreError, open_for_reading};

/// A value in one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// No value.
    Null,
    /// An integer.
    Int(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// Where the rows of a table come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The index.
    Index,
    /// The ledger, up to the tick of the snapshot.
    Ledger,
    /// The file of better vectors: one row for each window that search reads.
    Better,
    /// Computed from the index by the hub, and not copied to replicas.
    Outline,
}

/// A published table.
#[derive(Debug)]
pub struct Table {
    /// Its name in the hub.
    pub hub: &'static str,
    /// Its name in the index or ledger.
    local: &'static str,
    /// Where its rows come from.
    pub from: Origin,
    /// The column that is the key.
    key: &'static str,
    /// The other columns, separated by blanks. Unless the table is packed, each has the letter of its type: `i`
    /// integer, `r` real, `t` text, `b` bytes, `h` a vector of int8.
    columns: &'static str,
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
pub const TABLES: &[Table] = &[
    table(Index, "documents", "docs", "id",
        "uid:t path:t title:t is_note:i format:t doc_type:t language:t day:t hash:b mtime_ms:i n_bytes:i \
         source_url:t meta:t text:t lines:b pages:b headings:b terms:t mentions_hash:i gazetteer_version:i \
         warnings:t redactions:t pass:i entity_id:i sum:i depth:i written:b"),
    table(Index, "chunks", "chunks", "id",
        "doc_id:i idx:i start:i end:i raw_start:i raw_end:i line_start:i line_end:i n_tokens:i section:t \
         hash:b language:t profile:t headings:t print:i same_as:i names:t"),
    table(Index, "windows", "windows", "id", "chunk_id:i start:i end:i is_aside:i hash:b vector:h"),
    table(Better, "better", "vectors", "id", "space:t model:t hash:b embedding:h floats:b"),
    table(Index, "postings", "chunk_fts_data", "id", "block:b"),
    table(Index, "posting_sizes", "chunk_fts_docsize", "id", "sz:b origin:i"),
    table(Index, "chunk_fts_idx", "chunk_fts_idx", "segid", "term pgno"),
    table(Index, "entities", "entities", "id", "norm:t doc_id:i name:t type:i status:t"),
    table(Index, "names", "names", "id",
        "norm:t sense:i entity_id:i link:r decision:i via:i surface:t type:i n_docs:i n_mentions:i homes:t \
         home_source:i is_fuzzy:i is_split:i proposals:t"),
    table(Index, "mentions", "mentions", "doc_id", "name_id n at positions"),
    table(Index, "evidence", "evidence", "doc_id",
        "seq subject predicate object subject_at object_at start end raw_start raw_end line pattern \
         confidence subject_link object_link"),
    table(Index, "doc_tags", "doc_tags", "doc_id", "tag"),
    table(Index, "stated", "stated", "doc_id", "name_id source surface"),
    table(Index, "doc_names", "doc_names", "doc_id", "key kind"),
    table(Index, "notes", "notes", "doc_id",
        "base is_stated permalink metadata key name type is_node in_folder summary tags last_ordinal n_facts \
         n_vectors mean record facts vectors"),
    table(Index, "note_links", "note_links", "doc_id",
        "seq kind rel is_typed target heading block display context own_block start end target_start \
         target_end line said file_key name_key permalink_key dst"),
    table(Index, "name_keys", "name_keys", "name_id", "key"),
    table(Outline, "outline", "", "", "block:b"),
    table(Ledger, "journal", "changes", "tick", "uid at_ms was_path was_hash path hash is_unseen n_more lines"),
    table(Ledger, "journal_begin", "change_state", "id", "reserved begun_tick begun_ms"),
    table(Ledger, "decisions", "decisions", "0", "key verdict decided_ms"),
];

/// The databases that rows are read from.
pub struct Source<'s> {
    index: &'s Snapshot,
    ledger: Connection,
    better: Option<Connection>,
}

impl<'s> Source<'s> {
    /// Opens the ledger and the better vectors of the index of `snapshot`, in its state folder.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn open(index: &'s Snapshot, state_dir: &Path) -> Result<Self, StoreError> {
        let better = Some(Spaces::path(state_dir)).filter(|path| path.exists());
        let better = better.map(|path| open_for_reading(&path)).transpose()?;
        Ok(Source { index, ledger: open_for_reading(&state_dir.join(LEDGER_FILE))?, better })
    }

    /// Returns the snapshot.
    pub fn index(&self) -> &Snapshot {
        self.index
    }
}

impl Table {
    /// Returns whether replicas have this table.
    pub fn is_copied(&self) -> bool {
        self.from != Origin::Outline
    }

    /// Returns whether one key has many rows, which the hub packs into one.
    pub fn is_packed(&self) -> bool {
        !self.columns.contains(':')
    }

    /// Returns the columns other than the key, with the letters of their types.
    pub fn columns(&self) -> Vec<(&'static str, char)> {
        let typed = |column: &'static str| {
            let (name, kind) = column.split_once(':').unwrap_or((column, ""));
            (name, kind.chars().next().unwrap_or(' '))
        };
        self.columns.split_whitespace().map(typed).collect()
    }

    fn names(&self) -> Vec<String> {
        self.columns().iter().map(|(name, _)| format!("\"{name}\"")).collect()
    }

    /// Passes every key and its rows to `see` until it returns false: one row, unless the table is packed. Sorted by
    /// key, except where the source has another order; rows of one key have none.
    ///
    /// # Errors
    /// When a row cannot be read.
    pub fn each(
        &self,
        source: &Source<'_>,
        mut see: impl FnMut(i64, Vec<Vec<Cell>>) -> bool,
    ) -> Result<(), StoreError> {
        let (db, condition) = match self.from {
            Outline => return Ok(()),
            Better => return each_better(source, see),
            Ledger if self.key == "tick" => {
                (&source.ledger, format!("WHERE tick <= {}", source.index.tick().0))
            }
            Ledger => (&source.ledger, String::new()),
            Index => (source.index.db(), String::new()),
        };
        let (key, columns) = (self.key, self.names().join(", "));
        let sql = format!("SELECT {key}, {columns} FROM {} {condition} ORDER BY 1", self.local);
        let mut statement = db.prepare(&sql)?;
        let n_columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut open: Option<(i64, Vec<Vec<Cell>>)> = None;
        while let Some(row) = rows.next()? {
            let (key, cells) = (row.get(0)?, cells_of(row, n_columns)?);
            match &mut open {
                Some((last, group)) if *last == key && self.is_packed() => group.push(cells),
                _ => {
                    if let Some((key, group)) = open.replace((key, vec![cells]))
                        && !see(key, group)
                    {
                        return Ok(());
                    }
                }
            }
        }
        if let Some((key, group)) = open {
            see(key, group);
        }
        Ok(())
    }

    /// Deletes all rows of a replica.
    ///
    /// # Errors
    /// When they cannot be deleted.
    pub fn clear(&self, draft: &Draft<'_>) -> Result<(), StoreError> {
        self.db(draft).execute(&format!("DELETE FROM {}", self.local), [])?;
        Ok(())
    }

    /// Deletes the rows of a replica with these keys.
    ///
    /// # Errors
    /// When they cannot be deleted.
    pub fn delete(&self, draft: &Draft<'_>, keys: &[i64]) -> Result<(), StoreError> {
        // Better vectors are stored by the hash of their text; without a window, search does not read them.
        if self.from == Better || self.key == "0" {
            return Ok(());
        }
        let sql = format!("DELETE FROM {} WHERE {} = ?1", self.local, self.key);
        let mut statement = self.db(draft).prepare_cached(&sql)?;
        Ok(keys.iter().try_for_each(|key| statement.execute([key]).map(|_| ()))?)
    }

    /// Writes the rows of one key of a replica, after their old versions were deleted.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn insert(
        &self,
        draft: &Draft<'_>,
        key: i64,
        rows: &[Vec<Cell>],
    ) -> Result<(), StoreError> {
        let columns = self.names();
        let places: Vec<String> = (2..columns.len() + 2).map(|n| format!("?{n}")).collect();
        let (columns, places) = (columns.join(", "), places.join(", "));
        // A crash between the two commits may have left the ledger's rows.
        let again = if self.from == Ledger { "OR REPLACE " } else { "" };
        let (local, key_column) = (self.local, self.key);
        let sql =
            format!("INSERT {again}INTO {local}({key_column}, {columns}) VALUES(?1, {places})");
        let mut statement = self.db(draft).prepare_cached(&sql)?;
        for cells in rows {
            statement.execute(params_from_iter(std::iter::once(&Cell::Int(key)).chain(cells)))?;
        }
        Ok(())
    }

    fn db<'a>(&self, draft: &Draft<'a>) -> &'a Connection {
        if self.from == Ledger { draft.ledger } else { draft.index }
    }
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

/// Passes the better vectors of windows that search reads to `see`, one for each: that of the newest space which has
/// one, since each model embeds the languages that it knows.
fn each_better(
    source: &Source<'_>,
    mut see: impl FnMut(i64, Vec<Vec<Cell>>) -> bool,
) -> Result<(), StoreError> {
    let Some(better) = &source.better else { return Ok(()) };
    // An empty vector, of a text that the model cannot read, comes after any other.
    let mut find = better.prepare(
        "SELECT s.name, s.model, v.vector FROM spaces s JOIN vectors v ON v.space = s.id AND v.hash = ?1
         ORDER BY v.vector = x'', s.id DESC LIMIT 1",
    )?;
    let sql = "SELECT id, hash FROM windows WHERE is_aside = 0 ORDER BY id";
    let mut windows = source.index.db().prepare(sql)?;
    let mut rows = windows.query([])?;
    while let Some(row) = rows.next()? {
        let (key, hash): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        let found = find.query_row([&hash], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let Some((name, model, vector)): Option<(String, String, Vec<u8>)> = found.optional()?
        else {
            continue;
        };
        let (int8, floats) = match (vector.is_empty(), name.ends_with(FLOATS)) {
            // The model cannot read this text.
            (true, _) => (Cell::Null, Cell::Null),
            (false, true) => (Cell::Null, Cell::Blob(vector)),
            (false, false) => (Cell::Blob(vector), Cell::Null),
        };
        let row = vec![Cell::Text(name), Cell::Text(model), Cell::Blob(hash), int8, floats];
        if !see(key, vec![row]) {
            break;
        }
    }
    Ok(())
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(number) => ValueRef::Integer(*number),
            Cell::Real(number) => ValueRef::Real(*number),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
            Cell::Blob(bytes) => ValueRef::Blob(bytes),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Replica;
    use config::settings::Precision;
    use model::terms::ContentHash;

    /// Columns that are not published: only the writer compares passages and reads documents again.
    const KEPT_HERE: [(&str, &str); 3] =
        [("chunks", "keys"), ("docs", "is_open"), ("docs", "outline")];

    #[test]
    fn a_window_has_the_better_vector_of_whichever_model_reads_its_language() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(Replica::open(folder.path(), "test", Precision::Int8).expect("made"));
        let index = folder.path().join("index.sqlite");
        let db = Connection::open(&index).expect("opened");
        let hash = |n: u8| ContentHash(u128::from_le_bytes([n; 16]));
        for n in 1..=4_u8 {
            let window = "INSERT INTO windows VALUES(?1, 1, 0, 1, 0, ?2, NULL)";
            db.execute(window, (i64::from(n), [n; 16])).expect("written");
        }
        let spaces = Spaces::open(folder.path()).expect("opened");
        let [english, other] =
            ["one", "two"].map(|name| spaces.space(name, "model").expect("made").id);
        for (space, n, vector) in
            [(english, 1, &[7][..]), (other, 2, &[8]), (english, 3, &[9]), (other, 3, &[])]
        {
            spaces.put(space, hash(n), vector).expect("kept");
        }
        let snapshot = crate::store::Readers::new(index).snapshot().expect("a snapshot");
        let source = Source::open(&snapshot, folder.path()).expect("opened");
        let table = TABLES.iter().find(|it| it.hub == "better").expect("there");
        let mut found = Vec::new();
        let see = |key, rows: Vec<Vec<Cell>>| {
            let row = rows.into_iter().next().expect("a row");
            found.push((key, row[0].clone(), row[3].clone()));
            true
        };
        table.each(&source, see).expect("read");
        let row = |key, space: &str, vector| {
            (key, Cell::Text(space.to_string()), Cell::Blob(vec![vector]))
        };
        assert_eq!(found, [row(1, "one", 7), row(2, "two", 8), row(3, "one", 9)]);
    }

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
                Origin::Better | Origin::Outline => continue,
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
