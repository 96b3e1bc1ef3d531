//! Scrub: finds stored bytes that changed on disk, before they are used.
//!
//! In: a database, and where the last slice ended. Out: documents whose stored text changed; SQLite's first message
//! about damage of a table. A damaged document is marked, so that it is rewritten from its file.
//! Invariants: every slice reads through a connection of its own, whose cache is empty; nothing is written but marks.
//! Not found: flipped bits in numbers and names of rows beside the text, and in words and vectors whose tables stay
//! consistent; `verify` compares these. Pages that the system has cached are read from the cache.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use xxhash_rust::xxh3::Xxh3;

use super::{IndexWriter, StoreError, open};
use model::terms::RelPath;

/// Most documents of one slice, and most bytes of text: some tens of milliseconds.
const SLICE: (usize, usize) = (1_000, 16_000_000);

/// The columns of a document that depend on its file alone and are shown or searched, in the order in which they are
/// hashed.
pub(super) const SUMMED: &str = "title, meta, text, lines, terms, pages, headings, outline";

/// The outcome of one slice of documents.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// The row of the last document; `None` when there are no more.
    pub last: Option<i64>,
    /// Documents compared.
    pub n_documents: u64,
    /// Documents whose bytes changed.
    pub damaged: Vec<(i64, RelPath)>,
}

/// Returns the checksum of a document's columns, in the order of [`SUMMED`].
pub(super) fn sum_of<'a>(columns: impl IntoIterator<Item = &'a [u8]>) -> i64 {
    let mut sum = Xxh3::new();
    for bytes in columns {
        // With their lengths, so that bytes cannot move from one column to the next unnoticed.
        sum.update(&(bytes.len() as u64).to_le_bytes());
        sum.update(bytes);
    }
    sum.digest() as i64
}

/// The bytes of a column, even if they are not text any more.
fn bytes_of<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => &[],
    })
}

/// Compares the documents after the row `after` with their checksums.
pub fn scrub_documents(index: &Path, after: i64) -> Result<Scrubbed, StoreError> {
    let db = open::reader(index)?;
    // A document without a hash is marked already.
    let sql = format!(
        "SELECT id, path, sum, {SUMMED} FROM docs WHERE id > ?1 AND hash <> zeroblob(16) ORDER BY id LIMIT ?2"
    );
    let n_summed = SUMMED.split(',').count();
    let mut statement = db.prepare(&sql)?;
    let mut rows = statement.query(params![after, SLICE.0 as i64])?;
    let (mut found, mut n_bytes) = (Scrubbed::default(), 0);
    while let Some(row) = rows.next()? {
        // Columns 0 to 2 are id, path and checksum.
        let id = row.get(0)?;
        let columns = (3..3 + n_summed).map(|column| bytes_of(row, column));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        n_bytes += columns.iter().map(|it| it.len()).sum::<usize>();
        if row.get_ref(2)?.as_i64().ok() != Some(sum_of(columns)) {
            let path = String::from_utf8_lossy(bytes_of(row, 1)?).into_owned();
            found.damaged.push((id, RelPath::new(path)));
        }
        found.last = Some(id);
        found.n_documents += 1;
        if n_bytes >= SLICE.1 {
            break;
        }
    }
    Ok(found)
}

/// Returns the tables of a database; each of them is one slice.
pub fn tables_of(path: &Path) -> Result<Vec<String>, StoreError> {
    let db = open::reader(path)?;
    let mut statement =
        db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Returns SQLite's first message about damage of a table or its indexes, if any.
pub fn check_table(path: &Path, table: &str) -> Result<Option<String>, StoreError> {
    let db = open::reader(path)?;
    let quoted = table.replace('\'', "''");
    let complaint: String =
        db.query_row(&format!("PRAGMA quick_check('{quoted}')"), [], |row| row.get(0))?;
    Ok((complaint != "ok").then_some(complaint))
}

impl IndexWriter {
    /// Marks documents, so that their next reading is written completely: rows, words and vectors.
    pub fn distrust(&mut self, docs: &[i64]) -> Result<(), StoreError> {
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for doc in docs {
            // The hash makes it another file, and the missing titles another context of its chunks.
            tx.prepare_cached(
                "UPDATE docs SET hash = zeroblob(16), mtime_ms = -1, mentions_hash = 0, meta = '{}' WHERE id = ?1",
            )?
            .execute([doc])?;
        }
        Ok(tx.commit()?)
    }
}
