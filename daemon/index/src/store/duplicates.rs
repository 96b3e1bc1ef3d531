//! Duplicates: a passage that repeats another one is not indexed, except for the words that only it has.
//!
//! In: chunks with prints, as they are written, moved and deleted. Out: `chunks.same_as`, and the text index and the
//! vectors without what a repeated chunk has.
//! A chunk repeats the first other chunk whose words are equal or nearly equal and that repeats none itself. Chunks
//! are ordered by the depth of their document's path, the path, and their place. A key that more than a few chunks
//! before have without repeating one another is that of a template, and says nothing.
//! Invariants: once settled, `same_as` follows from the documents and their paths alone. A decision reads only chunks
//! that come before, and documents are settled in order, so each is settled once unless an earlier one changes.
//! Every commit finds every word of the folder: a chunk is indexed as a whole until it is decided, and when a chunk
//! that others repeat is deleted, the first of these is indexed in the same transaction; but what other near copies
//! shared only with the deleted one is found again once they are settled.

use std::rc::Rc;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use rustc_hash::FxHashMap;

use super::StoreError;
use super::commit::{Deferred, IndexedContext};
use super::writer::{IndexWriter, set_meta_number};
use model::document::{LONG_TITLE, may_be_english};
use model::print::{Compared, Print};

/// Documents settled in one step of the ripple.
const DOCUMENTS_A_STEP: i64 = 64;

/// Compared chunks that are cached: those that are often repeated recur.
const MOST_KEPT: usize = 256;

/// Most chunks with one key that repeat none, among which a later one is looked for.
const MOST_COMPARED: usize = 8;

/// Documents that are cached: the one that is settled, and those that it repeats.
const DOCUMENTS_KEPT: usize = 4;

/// `chunks.same_as` of a copy that is decided again: the chunk that it repeated was deleted, or it has become the first
/// of its document or is that no more.
pub(super) const LOST: i64 = -1;

/// The order of documents: `docs.depth` and path.
type Rank = (i64, String);

/// Returns the value of `docs.depth`: fewest folders come first, then the shorter path. So `guide.md` comes before
/// `guide (copy).md` and before `archive/guide.md`.
pub(super) fn depth_of(path: &str) -> i64 {
    let n_folders = path.bytes().filter(|byte| *byte == b'/').count().min(0xff);
    (n_folders << 16 | path.len().min(0xffff)) as i64
}

/// Encodes the keys of a print for `chunks.keys`.
pub(super) fn encode_keys(print: &Print) -> Option<Vec<u8>> {
    let keys: Vec<u8> = print.keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    (!keys.is_empty()).then_some(keys)
}

/// A chunk that is compared.
#[derive(Clone)]
struct Compare {
    id: i64,
    doc: i64,
    start: usize,
    print: Print,
    same_as: Option<i64>,
}

impl Compare {
    const COLUMNS: &str = "c.id, c.doc_id, c.start, c.print, c.keys, c.same_as";

    fn read(row: &Row<'_>) -> rusqlite::Result<Compare> {
        let keys: Option<Vec<u8>> = row.get(4)?;
        let keys = keys.unwrap_or_default();
        let keys = keys.chunks_exact(8).filter_map(|key| key.try_into().ok());
        let print = Print { text: row.get(3)?, keys: keys.map(i64::from_le_bytes).collect() };
        let start = row.get::<_, i64>(2)? as usize;
        Ok(Compare { id: row.get(0)?, doc: row.get(1)?, start, print, same_as: row.get(5)? })
    }

    fn get(db: &Connection, id: i64) -> Result<Option<Compare>, StoreError> {
        let sql = format!(
            "SELECT {} FROM chunks c WHERE c.id = ?1 AND c.print IS NOT NULL",
            Self::COLUMNS
        );
        Ok(db.prepare_cached(&sql)?.query_row([id], Compare::read).optional()?)
    }

    /// Replaces the rows by which later chunks find this one: none while it is undecided.
    fn set_keys(&self, tx: &Connection, same_as: Option<i64>) -> Result<(), StoreError> {
        let is_repeat = |same_as: Option<i64>| same_as.map(|of| of != self.id);
        let (old, new) = (is_repeat(self.same_as), is_repeat(same_as));
        if old == new {
            return Ok(());
        }
        for key in self.print.compared_by() {
            if let Some(old) = old {
                tx.prepare_cached(
                    "DELETE FROM chunk_keys WHERE key = ?1 AND is_repeat = ?2 AND chunk_id = ?3",
                )?
                .execute(params![key, old, self.id])?;
            }
            if let Some(new) = new {
                tx.prepare_cached("INSERT OR IGNORE INTO chunk_keys VALUES(?1, ?2, ?3)")?
                    .execute(params![key, new, self.id])?;
            }
        }
        Ok(())
    }

    /// Stores what this chunk repeats.
    fn decide(&self, tx: &Connection, same_as: Option<i64>) -> Result<(), StoreError> {
        self.set_keys(tx, same_as)?;
        tx.prepare_cached("UPDATE chunks SET same_as = ?2 WHERE id = ?1")?
            .execute(params![self.id, same_as])?;
        Ok(())
    }
}

/// Leaves the chunks of a document to be settled.
pub(super) fn open(tx: &Connection, doc: i64) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE docs SET is_open = 1 WHERE id = ?1 AND is_open = 0")?
        .execute([doc])?;
    Ok(())
}

/// Opens the documents of the chunks that repeat this one.
fn open_repeats(tx: &Connection, chunk: i64) -> Result<(), StoreError> {
    tx.prepare_cached(
        "UPDATE docs SET is_open = 1 WHERE is_open = 0
           AND id IN (SELECT doc_id FROM chunks WHERE same_as = ?1 AND same_as <> id)",
    )?
    .execute([chunk])?;
    Ok(())
}

/// Opens the documents of chunks that are compared by this key and come after `rank` and `start`, as far as another
/// chunk before them may change what they repeat.
fn open_later(tx: &Connection, key: i64, rank: &Rank, start: i64) -> Result<(), StoreError> {
    let last: Option<(i64, String, i64)> = tx
        .prepare_cached(
            "SELECT d.depth, d.path, c.start FROM chunk_keys k JOIN chunks c ON c.id = k.chunk_id
             JOIN docs d ON d.id = c.doc_id WHERE k.key = ?1 AND k.is_repeat = 0
             ORDER BY d.depth, d.path, c.start LIMIT 1 OFFSET ?2",
        )?
        .query_row([key, MOST_COMPARED as i64 + 1], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let (depth, path, end) = last.unwrap_or((i64::MAX, String::new(), 0));
    tx.prepare_cached(
        "UPDATE docs SET is_open = 1 WHERE is_open = 0 AND id IN (
           SELECT c.doc_id FROM chunk_keys k JOIN chunks c ON c.id = k.chunk_id JOIN docs d ON d.id = c.doc_id
           WHERE k.key = ?1 AND (d.depth, d.path, c.start) > (?2, ?3, ?4)
             AND (d.depth, d.path, c.start) <= (?5, ?6, ?7))",
    )?
    .execute(params![key, rank.0, rank.1, start, depth, path, end])?;
    Ok(())
}

/// Opens what a chunk may change that repeats none no more.
fn open_compared(tx: &Connection, print: &Print) -> Result<(), StoreError> {
    print.compared_by().try_for_each(|key| open_later(tx, key, &(-1, String::new()), 0))
}

/// Prepares for the deletion of a chunk's row: the first chunk that repeats it is indexed in its place.
pub(super) fn forget(
    tx: &Transaction<'_>,
    chunk: i64,
    writes: &mut Deferred,
) -> Result<(), StoreError> {
    let Some(gone) = Compare::get(tx, chunk)? else { return Ok(()) };
    gone.set_keys(tx, None)?;
    if gone.same_as == Some(gone.id) {
        open_compared(tx, &gone.print)?;
    }
    let sql = format!(
        "SELECT {} FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.same_as = ?1 AND c.same_as <> c.id
         ORDER BY d.depth, d.path, c.start LIMIT 1",
        Compare::COLUMNS
    );
    let next = tx.prepare_cached(&sql)?.query_row([chunk], Compare::read).optional()?;
    let Some(next) = next else { return Ok(()) };
    open_repeats(tx, chunk)?;
    next.decide(tx, None)?;
    tx.prepare_cached(
        "UPDATE chunks SET same_as = iif(print = ?2, ?3, ?4) WHERE same_as = ?1 AND same_as <> id",
    )?
    .execute(params![chunk, gone.print.text, next.id, LOST])?;
    Texts::new(tx).show(&next, None, writes)
}

/// Updates a document's place in the order after it moved.
pub(super) fn moved(tx: &Transaction<'_>, doc: i64, path: &str) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE docs SET depth = ?2 WHERE id = ?1")?
        .execute([doc, depth_of(path)])?;
    open(tx, doc)?;
    for chunk in chunks_of(tx, doc)? {
        // Those that repeat it may come first now.
        if chunk.same_as == Some(chunk.id) {
            open_repeats(tx, chunk.id)?;
            chunk.decide(tx, None)?;
            open_compared(tx, &chunk.print)?;
        }
    }
    Ok(())
}

fn chunks_of(tx: &Connection, doc: i64) -> Result<Vec<Compare>, StoreError> {
    let sql = format!(
        "SELECT {} FROM chunks c WHERE c.doc_id = ?1 AND c.print IS NOT NULL ORDER BY c.idx",
        Compare::COLUMNS
    );
    let mut statement = tx.prepare_cached(&sql)?;
    Ok(statement.query_map([doc], Compare::read)?.collect::<Result<_, _>>()?)
}

impl IndexWriter {
    /// Settles the chunks of some documents; returns false if there is none to settle.
    pub(super) fn settle_duplicates(&mut self) -> Result<bool, StoreError> {
        let has_work = "SELECT EXISTS (SELECT 1 FROM docs WHERE is_open = 1)";
        if !self.db.prepare_cached(has_work)?.query_row([], |row| row.get::<_, bool>(0))? {
            return Ok(false);
        }
        let tick = self.next_tick()?;
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        sys::fail::point("duplicates.begun");
        let mut writes = Deferred::with(std::mem::take(&mut self.indexer));
        settle(&tx, f64::from(self.settings.dedup.similarity), &mut writes)?;
        // Virtual tables must not be interrupted halfway.
        self.is_shielded.store(true, Ordering::SeqCst);
        let written = writes.run(&tx);
        self.is_shielded.store(false, Ordering::SeqCst);
        let (change, indexer) = written?;
        self.indexer = indexer;
        set_meta_number(&tx, "tick", tick.0)?;
        sys::fail::point("duplicates.before");
        super::commit::commit(tx, &self.vectors, &self.changes, tick, change)?;
        sys::fail::point("duplicates.after");
        self.tick = tick;
        Ok(true)
    }
}

/// Settles the first documents that are open, in order.
fn settle(tx: &Transaction<'_>, similarity: f64, writes: &mut Deferred) -> Result<(), StoreError> {
    let mut texts = Texts::new(tx);
    // One by one: settling a document may open a later one.
    let mut next = tx.prepare_cached(
        "SELECT depth, path, id FROM docs WHERE is_open = 1 ORDER BY depth, path LIMIT 1",
    )?;
    for _ in 0..DOCUMENTS_A_STEP {
        let found = next.query_row([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)));
        let Some((rank, doc)): Option<(Rank, i64)> = found.optional()? else { break };
        for chunk in chunks_of(tx, doc)? {
            texts.settle(&chunk, &rank, similarity, writes)?;
        }
        tx.prepare_cached("UPDATE docs SET is_open = 0 WHERE id = ?1")?.execute([doc])?;
    }
    Ok(())
}

/// What a document's chunks are indexed with, and its text.
struct Source {
    context: IndexedContext,
    indexed_as: String,
    text: String,
}

/// Reads and compares texts; caches what recurs.
struct Texts<'a> {
    tx: &'a Transaction<'a>,
    documents: Vec<(i64, Rc<Source>)>,
    compared: FxHashMap<i64, Rc<Compared>>,
}

impl<'a> Texts<'a> {
    fn new(tx: &'a Transaction<'a>) -> Self {
        Texts { tx, documents: Vec::new(), compared: FxHashMap::default() }
    }

    /// Decides what a chunk repeats, and indexes the part of it that only it has.
    fn settle(
        &mut self,
        chunk: &Compare,
        rank: &Rank,
        similarity: f64,
        writes: &mut Deferred,
    ) -> Result<(), StoreError> {
        let (first, shared) = self.first_like(chunk, rank, similarity)?;
        let same_as = first.as_ref().map_or(chunk.id, |it| it.id);
        if chunk.same_as == Some(same_as) {
            return Ok(());
        }
        chunk.decide(self.tx, Some(same_as))?;
        if first.is_none() {
            // Later chunks that are compared with it may repeat this one.
            for key in shared {
                open_later(self.tx, key, rank, chunk.start as i64)?;
            }
        } else if chunk.same_as == Some(chunk.id) {
            open_repeats(self.tx, chunk.id)?;
            open_compared(self.tx, &chunk.print)?;
        }
        let was_repeat = chunk.same_as.is_some_and(|of| of != chunk.id);
        if first.is_some() || was_repeat {
            self.show(chunk, first.as_ref(), writes)?;
        }
        Ok(())
    }

    /// Returns the first chunk before this one that has equal or nearly equal words and repeats none itself, and the
    /// keys that count and that other chunks have, too.
    fn first_like(
        &mut self,
        chunk: &Compare,
        rank: &Rank,
        similarity: f64,
    ) -> Result<(Option<Compare>, Vec<i64>), StoreError> {
        let sql = format!(
            "SELECT {}, d.depth, d.path, k.is_repeat FROM chunk_keys k JOIN chunks c ON c.id = k.chunk_id
             JOIN docs d ON d.id = c.doc_id WHERE k.key = ?1 AND k.chunk_id <> ?2 ORDER BY k.is_repeat, k.chunk_id",
            Compare::COLUMNS
        );
        let mut statement = self.tx.prepare_cached(&sql)?;
        let (mut found, mut shared): (Vec<(Rank, Compare)>, Vec<i64>) = Default::default();
        for key in chunk.print.compared_by() {
            let mut rows = statement.query([key, chunk.id])?;
            let (mut before, mut is_shared) = (Vec::new(), false);
            while let Some(row) = rows.next()? {
                is_shared = true;
                // Those that repeat others come last, and are not compared.
                if row.get(8)? || before.len() > MOST_COMPARED {
                    break;
                }
                let (other, it) = ((row.get(6)?, row.get(7)?), Compare::read(row)?);
                if (&other, it.start) < (rank, chunk.start) {
                    before.push((other, it));
                }
            }
            if before.len() <= MOST_COMPARED {
                found.append(&mut before);
                shared.extend(is_shared.then_some(key));
            }
        }
        found.sort_by(|a, b| (&a.0, a.1.start).cmp(&(&b.0, b.1.start)));
        found.dedup_by_key(|(_, it)| it.id);
        for (_, other) in found {
            if other.print.text == chunk.print.text || self.are_alike(&other, chunk, similarity)? {
                return Ok((Some(other), shared));
            }
        }
        Ok((None, shared))
    }

    fn are_alike(
        &mut self,
        one: &Compare,
        other: &Compare,
        similarity: f64,
    ) -> Result<bool, StoreError> {
        if one.print.keys.is_empty() || other.print.keys.is_empty() {
            return Ok(false);
        }
        Ok(self.compared(one)?.similarity(&*self.compared(other)?) >= similarity)
    }

    fn compared(&mut self, chunk: &Compare) -> Result<Rc<Compared>, StoreError> {
        if let Some(found) = self.compared.get(&chunk.id) {
            return Ok(found.clone());
        }
        let compared = Rc::new(Compared::of(&self.text_of(chunk)?));
        // Dropping everything is simpler than tracking use, and what recurs is cached again at once.
        if self.compared.len() >= MOST_KEPT {
            self.compared.clear();
        }
        self.compared.insert(chunk.id, compared.clone());
        Ok(compared)
    }

    fn text_of(&mut self, chunk: &Compare) -> Result<String, StoreError> {
        let source = self.document(chunk.doc)?;
        let end: i64 = self
            .tx
            .prepare_cached("SELECT end FROM chunks WHERE id = ?1")?
            .query_row([chunk.id], |row| row.get(0))?;
        Ok(source.text.get(chunk.start..end as usize).unwrap_or_default().to_string())
    }

    fn document(&mut self, doc: i64) -> Result<Rc<Source>, StoreError> {
        if let Some((_, source)) = self.documents.iter().find(|(kept, _)| *kept == doc) {
            return Ok(source.clone());
        }
        let source = Rc::new(source_of(self.tx, doc)?);
        if self.documents.len() >= DOCUMENTS_KEPT {
            self.documents.remove(0);
        }
        self.documents.push((doc, source.clone()));
        Ok(source)
    }

    /// Indexes a chunk as a whole or, if it repeats `first`, the words that `first` lacks. The first chunk of a
    /// document stays without a body if its title is another: the title must find the document.
    fn show(
        &mut self,
        chunk: &Compare,
        first: Option<&Compare>,
        writes: &mut Deferred,
    ) -> Result<(), StoreError> {
        let text = self.text_of(chunk)?;
        let (idx, section, headings, language): (i64, String, Option<String>, String) = self
            .tx
            .prepare_cached("SELECT idx, section, headings, language FROM chunks WHERE id = ?1")?
            .query_row([chunk.id], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
        let body = match first {
            None => Some(text),
            Some(first) => {
                let other = self.compared(first)?;
                let missing = other.missing_from(&text);
                let words: Vec<&str> =
                    missing.into_iter().filter_map(|range| text.get(range)).collect();
                let title = self.document(first.doc)?.indexed_as.clone();
                let is_titled_so = idx > 0 || self.document(chunk.doc)?.indexed_as == title;
                (!words.is_empty() || !is_titled_so).then(|| words.join("\n"))
            }
        };
        writes.delete_text(chunk.id);
        if let Some(body) = body {
            // `headings` is stored only if there are more than `section` shows.
            let headings = headings.unwrap_or_else(|| section.replace(" › ", " / "));
            let (title, headings, body) = self.document(chunk.doc)?.context.row(headings, body);
            writes.insert_text(chunk.id, title, headings, body, may_be_english(&language));
        }
        self.show_windows(chunk.id, first.is_none(), writes)
    }

    /// Sets the windows of a chunk that repeats another aside, or has them searched again.
    fn show_windows(
        &self,
        chunk: i64,
        is_searched: bool,
        writes: &mut Deferred,
    ) -> Result<(), StoreError> {
        let mut statement = self.tx.prepare_cached(
            "SELECT id, vector FROM windows WHERE chunk_id = ?1 AND is_aside = ?2",
        )?;
        let rows = statement
            .query_map(params![chunk, is_searched], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for row in rows {
            match row? {
                (id, vector) if is_searched => writes.show_vector(id, vector),
                (id, _) => writes.hide_vector(id),
            }
        }
        self.tx
            .prepare_cached(
                "UPDATE windows SET is_aside = ?2 WHERE chunk_id = ?1 AND is_aside <> ?2",
            )?
            .execute(params![chunk, !is_searched])?;
        Ok(())
    }
}

fn source_of(db: &Connection, doc: i64) -> Result<Source, StoreError> {
    let (title, meta, text): (String, String, String) = db
        .prepare_cached("SELECT title, meta, text FROM docs WHERE id = ?1")?
        .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let meta: serde_json::Value = serde_json::from_str(&meta).unwrap_or_default();
    let list = |key: &str| -> Vec<String> {
        let values = meta.get(key).and_then(|list| list.as_array()).into_iter().flatten();
        values.filter_map(|value| value.as_str().map(String::from)).collect()
    };
    let long = meta.get("extra").and_then(|extra| extra.get(LONG_TITLE)).and_then(|it| it.as_str());
    let titles = list("aliases").into_iter().chain(long.map(String::from)).collect();
    let indexed_as = meta.get("indexed_as").and_then(|it| it.as_str()).unwrap_or_default();
    let indexed_as = indexed_as.to_string();
    let context = IndexedContext { title, titles, tags: list("tags") };
    Ok(Source { context, indexed_as, text })
}

#[cfg(test)]
mod tests {
    use super::depth_of;

    #[test]
    fn the_shortest_way_from_the_top_comes_first() {
        let mut paths = [
            "archive/guide.md",
            "guide (copy).md",
            "b/guide.md",
            "guide.md",
            "a/guide.md",
            "about.md",
        ];
        paths.sort_by_key(|path| (depth_of(path), *path));
        let expected = [
            "about.md",
            "guide.md",
            "guide (copy).md",
            "a/guide.md",
            "b/guide.md",
            "archive/guide.md",
        ];
        assert_eq!(paths, expected);
    }
}
