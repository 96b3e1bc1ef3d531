//! Written: the original text of files that people can read as they are, for answers that quote it.
//!
//! In: a document. Out: its file's text, compressed, for its row; later that text again.
//! The normalized text lacks list numbers, fences, tables, link targets and indentation, which a reader who follows
//! steps or copies code needs. It is stored here, and not read from the disk on demand, so that a reply shows one
//! commit.
//! Invariants: a document in which something was redacted has none; one that does not decompress is ignored.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::document::Document;

use super::{Snapshot, StoreError};

/// Longest text that is decompressed, bytes; files are smaller.
const MAX_BYTES: u64 = 64 << 20;

/// Returns the text of a document's file in the form that is stored; `None` if there is nothing to show.
pub(super) fn pack(doc: &Document) -> Option<Vec<u8>> {
    let bytes = doc.written.as_deref().filter(|_| doc.findings.is_empty())?;
    let text = std::str::from_utf8(bytes).ok()?;
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    packed.write_all(text.as_bytes()).and_then(|()| packed.finish()).ok()
}

/// Returns the text of a document's file as it was indexed; `None` if it is not stored.
///
/// # Errors
/// When the index cannot be read.
pub fn written(snapshot: &Snapshot, doc: i64) -> Result<Option<String>, StoreError> {
    let packed: Option<Option<Vec<u8>>> =
        snapshot.row("SELECT written FROM docs WHERE id = ?1", [doc])?;
    let mut text = String::new();
    let unpacked = packed.flatten().map(|packed| {
        ZlibDecoder::new(packed.as_slice()).take(MAX_BYTES).read_to_string(&mut text)
    });
    Ok(unpacked.is_some_and(|it| it.is_ok()).then_some(text))
}
