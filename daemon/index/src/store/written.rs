//! Written: the original text of files that people can read as they are, for answers that quote it.
//!
//! In: a document. Out: its file's text, compressed, one row a document; later that text again.
//! The normalized text lacks list numbers, fences, tables, link targets and indentation, which a reader who follows
//! steps or copies code needs. It is stored here, and not read from the disk on demand, so that a reply shows one
//! commit.
//! Invariants: a document in which something was redacted has no row; a row that does not decompress is ignored.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::document::Document;
use rusqlite::{Transaction, params};

use super::{Snapshot, StoreError};

/// Longest text that is decompressed, bytes; files are smaller.
const MAX_BYTES: u64 = 64 << 20;

/// Stores the text of a document's file, or deletes it if there is nothing to show.
pub(super) fn write(tx: &Transaction<'_>, id: i64, doc: &Document) -> Result<(), StoreError> {
    let bytes = doc.written.as_deref().filter(|_| doc.findings.is_empty());
    let Some(text) = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        tx.prepare_cached("DELETE FROM written WHERE doc_id = ?1")?.execute([id])?;
        return Ok(());
    };
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let packed = packed.write_all(text.as_bytes()).and_then(|()| packed.finish());
    let sql = "INSERT OR REPLACE INTO written(doc_id, text) VALUES(?1, ?2)";
    tx.prepare_cached(sql)?.execute(params![id, packed.unwrap_or_default()])?;
    Ok(())
}

/// Returns the text of a document's file as it was indexed; `None` if it is not stored.
///
/// # Errors
/// When the index cannot be read.
pub fn written(snapshot: &Snapshot, doc: i64) -> Result<Option<String>, StoreError> {
    let packed: Option<Vec<u8>> =
        snapshot.row("SELECT text FROM written WHERE doc_id = ?1", [doc])?;
    let mut text = String::new();
    let unpacked = packed.map(|packed| {
        ZlibDecoder::new(packed.as_slice()).take(MAX_BYTES).read_to_string(&mut text)
    });
    Ok(unpacked.is_some_and(|it| it.is_ok()).then_some(text))
}
