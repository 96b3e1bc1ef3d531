//! Chunks: a document's chunk rows, their text index and vectors. A chunk with the same hash keeps all three.

use std::collections::HashMap;

use rusqlite::{Transaction, params};

use super::{Deferred, Identity, all_tags};
use crate::store::{StoreError, duplicates, lines};
use embed::better_text;
use model::document::{Chunk, Document, UnitVector, may_be_english};
use model::print::Print;
use model::terms::ContentHash;

/// Innermost headings that an answer shows with a chunk.
const MAX_HEADINGS: usize = 2;

/// Chunk rows of a document by hash, last chunk first. Equal chunks (a repeated paragraph) have one row each.
pub(super) fn chunk_ids(
    tx: &Transaction<'_>,
    doc: i64,
) -> Result<HashMap<Vec<u8>, Vec<i64>>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT hash, id FROM chunks WHERE doc_id = ?1 ORDER BY idx DESC")?;
    let rows = statement.query_map([doc], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut out: HashMap<Vec<u8>, Vec<i64>> = HashMap::new();
    for row in rows {
        let (hash, id) = row?;
        out.entry(hash).or_default().push(id);
    }
    Ok(out)
}

pub(super) fn write_chunks(
    tx: &Transaction<'_>,
    id: i64,
    context_changed: bool,
    doc: &Document,
    identity: &Identity,
    writes: &mut Deferred,
) -> Result<(), StoreError> {
    let mut old = chunk_ids(tx, id)?;
    if context_changed {
        // Title or tags changed: they are indexed with every chunk, so all are rewritten.
        delete_chunks(tx, std::mem::take(&mut old), writes)?;
    }
    let mut is_compared = false;
    for (idx, chunk) in doc.chunks.iter().enumerate() {
        let kept = old.get_mut(chunk.hash.0.to_le_bytes().as_slice()).and_then(Vec::pop);
        // `pop` takes the first chunk of that hash, so repeated chunks keep their order.
        let print = doc.embedded.prints.get(idx).and_then(Option::as_ref);
        is_compared |= print.is_some();
        let chunk_id = write_chunk_row(tx, (kept, id, idx), chunk, print, doc)?;
        match kept {
            Some(_) => move_windows(tx, chunk_id, chunk)?,
            None => {
                let (title, headings, body) = indexed_text(chunk, doc, identity);
                let is_english = may_be_english(&chunk.language);
                writes.insert_text(chunk_id, title, headings, body, is_english);
                let vectors = doc.embedded.vectors.get(idx).map_or(&[][..], Vec::as_slice);
                index_vectors(tx, chunk_id, doc, chunk, vectors, writes)?;
            }
        }
    }
    // What is left occurs in the new version no more.
    delete_chunks(tx, old, writes)?;
    if is_compared { duplicates::open(tx, id) } else { Ok(()) }
}

fn write_chunk_row(
    tx: &Transaction<'_>,
    (kept, doc_id, idx): (Option<i64>, i64, usize),
    chunk: &Chunk,
    print: Option<&Print>,
    doc: &Document,
) -> Result<i64, StoreError> {
    let raw = doc.map.to_raw(chunk.span);
    let line = |offset| lines::line_of(&doc.line_starts, offset);
    // A kept row has the same hash, so its headings, language and tokens are equal: only places and the profile,
    // which the hash does not cover, can differ. One that repeats another is decided again if it becomes the first of
    // its document, or is that no more: only the first keeps a title.
    // Without `RETURNING`, which costs a table of its own each time.
    let sql = "INSERT INTO chunks VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
         NULL, '[]')
       ON CONFLICT(id) DO UPDATE SET idx = excluded.idx, start = excluded.start, end = excluded.end,
         raw_start = excluded.raw_start, raw_end = excluded.raw_end, line_start = excluded.line_start,
         line_end = excluded.line_end, profile = excluded.profile,
         same_as = iif(same_as <> id AND (idx = 0) <> (excluded.idx = 0), ?18, same_as)";
    tx.prepare_cached(sql)?.execute(params![
        kept,
        doc_id,
        idx as i64,
        chunk.span.start() as i64,
        chunk.span.end() as i64,
        raw.start() as i64,
        raw.end() as i64,
        line(raw.start()),
        // The end is exclusive: the line of the last byte, not of the one after it.
        line(raw.end().saturating_sub(1).max(raw.start())),
        chunk.n_tokens,
        shown_headings(chunk),
        chunk.hash.0.to_le_bytes(),
        chunk.language,
        chunk.profile.as_str(),
        (chunk.headings.len() > MAX_HEADINGS).then(|| chunk.headings.join(" / ")),
        print.map(|it| it.text),
        print.and_then(duplicates::encode_keys),
        duplicates::LOST
    ])?;
    Ok(kept.unwrap_or_else(|| tx.last_insert_rowid()))
}

/// The innermost headings, as an answer shows them.
fn shown_headings(chunk: &Chunk) -> String {
    let n_outer = chunk.headings.len().saturating_sub(MAX_HEADINGS);
    chunk.headings.get(n_outer..).unwrap_or_default().join(" › ")
}

/// Updates the windows of a chunk that only moved; their vectors stay.
fn move_windows(tx: &Transaction<'_>, chunk_id: i64, chunk: &Chunk) -> Result<(), StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT id FROM windows WHERE chunk_id = ?1 ORDER BY id")?;
    let ids: Vec<i64> =
        statement.query_map([chunk_id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for (id, window) in ids.into_iter().zip(&chunk.windows) {
        tx.prepare_cached("UPDATE windows SET start = ?2, end = ?3 WHERE id = ?1 AND start <> ?2")?
            .execute(params![id, window.start() as i64, window.end() as i64])?;
    }
    Ok(())
}

fn indexed_text(chunk: &Chunk, doc: &Document, identity: &Identity) -> (String, String, String) {
    let context = IndexedContext {
        title: doc.title.clone(),
        titles: doc.meta.searched_titles(),
        tags: all_tags(doc, identity),
    };
    context.row(chunk.headings.join(" / "), chunk.span.of(&doc.text).to_string())
}

/// What the chunks of one document are indexed with, besides their own headings and text.
pub(in crate::store) struct IndexedContext {
    /// Its title.
    pub title: String,
    /// Further titles it is found by.
    pub titles: Vec<String>,
    /// Its tags, without `#`.
    pub tags: Vec<String>,
}

impl IndexedContext {
    /// Returns a chunk's title, headings and body for the text index.
    pub(in crate::store) fn row(&self, headings: String, body: String) -> (String, String, String) {
        let (mut title, mut headings) = (self.title.clone(), headings);
        for other in &self.titles {
            title.push_str(" / ");
            title.push_str(other);
        }
        // Tags are searched as headings, which have more weight than the body.
        for tag in &self.tags {
            headings.push_str(" #");
            headings.push_str(tag);
        }
        (title, headings, body)
    }
}

fn index_vectors(
    tx: &Transaction<'_>,
    chunk_id: i64,
    doc: &Document,
    chunk: &Chunk,
    vectors: &[UnitVector],
    writes: &mut Deferred,
) -> Result<(), StoreError> {
    let section = shown_headings(chunk);
    let may_be_english = may_be_english(&chunk.language);
    for (window, vector) in chunk.windows.iter().zip(vectors) {
        // A zero vector has no known word. If the text may be in another language, a better model may still embed it.
        if may_be_english && vector.0.iter().all(|component| *component == 0) {
            continue;
        }
        // The hash is that of the text the better model reads: equal text needs no second vector.
        let read = better_text(&doc.title, &section, window.of(&doc.text));
        let hash = ContentHash::of(read.as_bytes()).0.to_le_bytes();
        let bytes: Vec<u8> = vector.0.iter().map(|component| component.cast_unsigned()).collect();
        let bytes = (!bytes.is_empty()).then_some(bytes);
        let (start, end) = (window.start() as i64, window.end() as i64);
        let id = tx
            .prepare_cached("INSERT INTO windows VALUES(NULL, ?1, ?2, ?3, 0, ?4, ?5)")?
            .insert(params![chunk_id, start, end, hash, bytes])?;
        writes.show_vector(id, bytes);
    }
    Ok(())
}

/// Deletes chunks, given by their hashes, the last first: a chunk goes after those of its document that repeat it.
pub(super) fn delete_chunks(
    tx: &Transaction<'_>,
    chunks: HashMap<Vec<u8>, Vec<i64>>,
    writes: &mut Deferred,
) -> Result<(), StoreError> {
    let mut chunks: Vec<i64> = chunks.into_values().flatten().collect();
    chunks.sort_unstable();
    chunks.into_iter().rev().try_for_each(|chunk| delete_chunk(tx, chunk, writes))
}

fn delete_chunk(tx: &Transaction<'_>, chunk: i64, writes: &mut Deferred) -> Result<(), StoreError> {
    duplicates::forget(tx, chunk, writes)?;
    let mut statement = tx.prepare_cached("SELECT id FROM windows WHERE chunk_id = ?1")?;
    for id in statement.query_map([chunk], |row| row.get(0))? {
        writes.hide_vector(id?);
    }
    writes.delete_text(chunk);
    for statement in ["DELETE FROM windows WHERE chunk_id = ?1", "DELETE FROM chunks WHERE id = ?1"]
    {
        tx.prepare_cached(statement)?.execute([chunk])?;
    }
    Ok(())
}
