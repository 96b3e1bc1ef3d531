//! Duplicates: which of the places of one text is indexed, and which text covers similar ones.
//!
//! In: the prints of a document that is written, moved or removed. Out: rows with the places of each text, and chunks
//! whose text and vectors are indexed, or left out because another place has them.
//! A text is a paragraph's words or a chunk's bytes; its *home* is its first place, in the order of [`rank_of`]. A
//! nearly equal text, its *root*, may cover it as well (`alike.rs`): then only the words that the root lacks are
//! indexed, at the text's home.
//! Invariants: once settled, everything here follows from the documents and their paths alone. A text whose home is
//! removed is indexed at another place in the same transaction; a text that gets an earlier home is indexed twice
//! until the ripple has run. So every commit finds every word of the folder, except those that a near copy shares
//! only with a root that was just removed; the ripple restores these.

mod alike;
mod cover;
mod place;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use self::place::{Place, Places, first_copy, places, rank_of};
use super::StoreError;
use super::commit::Late;
use super::writer::{IndexWriter, set_meta_number};
use model::print::Print;

/// Documents whose chunks are updated in one step of the ripple.
const DOCUMENTS_A_STEP: i64 = 64;

/// A row of `prints` without its document: kind, start, end, text, keys.
type PrintRow = (i64, i64, i64, i64, Option<Vec<u8>>);

/// The places that one document adds to and removes from one text.
#[derive(Default)]
struct Change {
    removed: Vec<i64>,
    added: Vec<i64>,
    keys: Vec<i64>,
}

/// Replaces the prints of a document whose text and chunks are written already, and updates which chunks are indexed.
pub(super) fn write(
    tx: &Transaction<'_>,
    doc: i64,
    prints: &[Print],
    title: Option<Print>,
    late: &mut Late,
) -> Result<(), StoreError> {
    let new: Vec<PrintRow> = title.iter().chain(prints).map(row_of).collect();
    replace(tx, doc, new, late)?;
    cover::apply(tx, doc, late)
}

/// Deletes the prints of a document; its row must still exist.
pub(super) fn remove(tx: &Transaction<'_>, doc: i64, late: &mut Late) -> Result<(), StoreError> {
    replace(tx, doc, Vec::new(), late)
}

fn row_of(print: &Print) -> PrintRow {
    let keys: Vec<u8> = print.keys.iter().flat_map(|key| key.to_le_bytes()).collect();
    let keys = (!keys.is_empty()).then_some(keys);
    (print.kind as i64, print.span.start as i64, print.span.end as i64, print.text, keys)
}

fn keys_of(blob: Option<&[u8]>) -> Vec<i64> {
    let numbers = blob.unwrap_or_default().chunks_exact(8);
    numbers.filter_map(|bytes| bytes.try_into().ok().map(i64::from_le_bytes)).collect()
}

fn replace(
    tx: &Transaction<'_>,
    doc: i64,
    mut new: Vec<PrintRow>,
    late: &mut Late,
) -> Result<(), StoreError> {
    // A hostile document may claim two blocks at one place, and the row's key must be unique.
    new.sort_unstable();
    new.dedup_by_key(|row| (row.0, row.1));
    let old = rows_of(tx, doc)?;
    if old == new {
        return Ok(());
    }
    let (before, after): (BTreeSet<&PrintRow>, BTreeSet<&PrintRow>) =
        (old.iter().collect(), new.iter().collect());
    let (gone, come): (Vec<&PrintRow>, Vec<&PrintRow>) = (
        before.difference(&after).copied().collect(),
        after.difference(&before).copied().collect(),
    );
    let mut changes: BTreeMap<i64, Change> = BTreeMap::new();
    for row in &gone {
        let change = changes.entry(row.3).or_default();
        change.removed.push(row.1);
        change.keys = keys_of(row.4.as_deref());
    }
    for row in &come {
        let change = changes.entry(row.3).or_default();
        change.added.push(row.1);
        change.keys = keys_of(row.4.as_deref());
    }
    // The places of each text before any row changes: `hand_over` compares them with those after.
    let mut stood = Vec::with_capacity(changes.len());
    for text in changes.keys() {
        stood.push(places(tx, *text)?);
    }
    write_rows(tx, doc, &gone, &come)?;
    let rank = place::rank_of_doc(tx, doc)?;
    for ((text, change), stood) in changes.iter().zip(stood) {
        let stands = write_copies(tx, doc, &rank, *text, change, &stood)?;
        hand_over(tx, doc, *text, &stood, &stands, late)?;
        // Only the first and the last place of a text change which texts are compared.
        match (&stood, &stands) {
            (Places::None, Places::None) => {}
            (Places::None, _) => alike::born(tx, *text, &change.keys)?,
            (_, Places::None) => alike::died(tx, *text, &change.keys, late)?,
            _ => {}
        }
    }
    Ok(())
}

fn rows_of(tx: &Transaction<'_>, doc: i64) -> Result<Vec<PrintRow>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT kind, start, end, text, keys FROM prints WHERE doc_id = ?1 ORDER BY kind, start",
    )?;
    let rows = statement.query_map([doc], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn write_rows(
    tx: &Transaction<'_>,
    doc: i64,
    gone: &[&PrintRow],
    come: &[&PrintRow],
) -> Result<(), StoreError> {
    let mut delete =
        tx.prepare_cached("DELETE FROM prints WHERE doc_id = ?1 AND kind = ?2 AND start = ?3")?;
    for (kind, start, ..) in gone {
        delete.execute([doc, *kind, *start])?;
    }
    let mut insert = tx.prepare_cached("INSERT INTO prints VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?;
    for (kind, start, end, text, keys) in come {
        insert.execute(params![doc, kind, start, end, text, keys])?;
    }
    Ok(())
}

/// Updates the list of a text's places, which exists only while there are several. Returns the places now.
fn write_copies(
    tx: &Transaction<'_>,
    doc: i64,
    rank: &str,
    text: i64,
    change: &Change,
    stood: &Places,
) -> Result<Places, StoreError> {
    let n = |places: &[i64]| places.len();
    // Places left, if the text had at most one; a list must be read instead.
    let left = match stood {
        Places::None => Some(n(&change.added)),
        Places::One(_) => Some((1 + n(&change.added)).saturating_sub(n(&change.removed))),
        Places::Many(_) => None,
    };
    // At most one place before and after, as for nearly every text: no list to write.
    if let (Some(0 | 1), 0 | 1) = (left, n(&change.added)) {
        return match (left, change.added.first(), stood) {
            (Some(1), Some(start), _) => Ok(Places::One((doc, *start))),
            (Some(1), None, Places::One(place)) => Ok(Places::One(*place)),
            _ => Ok(Places::None),
        };
    }
    if let Places::Many(_) = stood {
        let mut delete =
            tx.prepare_cached("DELETE FROM copies WHERE text = ?1 AND rank = ?2 AND start = ?3")?;
        for start in &change.removed {
            delete.execute(params![text, rank, start])?;
        }
    }
    let mut insert = tx.prepare_cached("INSERT INTO copies VALUES(?1, ?2, ?3, ?4)")?;
    for start in &change.added {
        insert.execute(params![text, rank, start, doc])?;
    }
    // The text gets its second place: the first one, unless it was just removed, goes on the list with it.
    if let Places::One((other, start)) = stood
        && !(*other == doc && change.removed.contains(start))
    {
        insert.execute(params![text, place::rank_of_doc(tx, *other)?, start, other])?;
    }
    let stands = places(tx, text)?;
    if !matches!(stands, Places::Many(_)) {
        tx.prepare_cached("DELETE FROM copies WHERE text = ?1")?.execute([text])?;
    }
    Ok(stands)
}

/// Ensures that a text with a new home is indexed there. The document being written indexes its own texts.
fn hand_over(
    tx: &Transaction<'_>,
    doc: i64,
    text: i64,
    stood: &Places,
    stands: &Places,
    late: &mut Late,
) -> Result<(), StoreError> {
    let (before, after) = (stood.home(), stands.home());
    if before == after {
        return Ok(());
    }
    // The old home may index the text a moment longer: two copies are better than none.
    if let Some((old, _)) = before.filter(|(old, _)| *old != doc) {
        mark(tx, old)?;
    }
    if after.is_some_and(|(new, _)| new != doc) {
        late.promote(text);
    }
    Ok(())
}

/// Leaves the update of a document's chunks to the ripple.
fn mark(tx: &Connection, doc: i64) -> Result<(), StoreError> {
    tx.prepare_cached("INSERT OR IGNORE INTO dirty_copies VALUES(?1)")?.execute([doc])?;
    Ok(())
}

/// Updates the rank of a document's copies after it moved.
pub(super) fn moved(
    tx: &Transaction<'_>,
    doc: i64,
    path: &str,
    late: &mut Late,
) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached("SELECT text, start FROM copies WHERE doc_id = ?1")?;
    let rows: Vec<(i64, i64)> = statement
        .query_map([doc], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let texts: BTreeSet<i64> = rows.iter().map(|(text, _)| *text).collect();
    // The first copies are read before any row changes, to see which texts get another home.
    let mut before = Vec::with_capacity(texts.len());
    for text in &texts {
        before.push(first_copy(tx, *text)?);
    }
    tx.prepare_cached("DELETE FROM copies WHERE doc_id = ?1")?.execute([doc])?;
    let rank = rank_of(path);
    let mut insert = tx.prepare_cached("INSERT INTO copies VALUES(?1, ?2, ?3, ?4)")?;
    for (text, start) in &rows {
        insert.execute(params![text, rank, start, doc])?;
    }
    for (text, before) in texts.iter().zip(before) {
        let after = first_copy(tx, *text)?;
        if before == after {
            continue;
        }
        if let Some((old, _)) = before {
            mark(tx, old)?;
        }
        late.promote(*text);
    }
    Ok(())
}

/// Indexes the texts that lost their home at the next one; the last thing that a transaction does with ordinary
/// tables.
pub(super) fn promote(tx: &Transaction<'_>, late: &mut Late) -> Result<(), StoreError> {
    let mut documents = BTreeSet::new();
    for text in late.take_promoted() {
        documents.extend(places(tx, text)?.home().map(|(doc, _): Place| doc));
    }
    for doc in documents {
        cover::apply(tx, doc, late)?;
    }
    Ok(())
}

impl IndexWriter {
    /// Does one step of what new, changed and deleted texts require in other documents; returns false when nothing is
    /// left.
    pub(super) fn settle_duplicates(&mut self) -> Result<bool, StoreError> {
        if !has_work(&self.db)? {
            return Ok(false);
        }
        let tick = self.next_tick()?;
        let tx = self.db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        sys::fail::point("duplicates.begun");
        let mut late = Late::with(std::mem::take(&mut self.indexer));
        settle(&tx, f64::from(self.settings.dedup.similarity), &mut late)?;
        // Virtual tables must not be interrupted halfway.
        self.is_shielded.store(true, Ordering::SeqCst);
        let written = late.run(&tx);
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

/// Returns whether anything waits for [`settle`].
fn has_work(db: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM dirty_texts) OR EXISTS (SELECT 1 FROM dirty_keys)
                 OR EXISTS (SELECT 1 FROM dirty_copies)";
    Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

/// Does one step: decides some texts again, or else updates the chunks of some documents.
fn settle(tx: &Transaction<'_>, similarity: f64, late: &mut Late) -> Result<(), StoreError> {
    if alike::settle(tx, similarity)? {
        return Ok(());
    }
    let mut statement = tx.prepare_cached("SELECT doc_id FROM dirty_copies LIMIT ?1")?;
    let documents: Vec<i64> =
        statement.query_map([DOCUMENTS_A_STEP], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for doc in documents {
        tx.prepare_cached("DELETE FROM dirty_copies WHERE doc_id = ?1")?.execute([doc])?;
        cover::apply(tx, doc, late)?;
    }
    Ok(())
}

/// Documents whose text is cached, so that a page is not read once for each of its paragraphs.
const DOCUMENTS_KEPT: usize = 4;

/// Reads the words of texts, each at any one of its places.
struct Texts<'a> {
    db: &'a Connection,
    kept: RefCell<Vec<(i64, Rc<str>)>>,
}

impl<'a> Texts<'a> {
    fn new(db: &'a Connection) -> Self {
        Texts { db, kept: RefCell::default() }
    }

    /// Returns the words of a text; `None` if it has no place any more.
    fn words_of(&self, text: i64) -> Result<Option<String>, StoreError> {
        let place: Option<(i64, i64, i64)> = self
            .db
            .prepare_cached("SELECT doc_id, start, end FROM prints WHERE text = ?1 LIMIT 1")?
            .query_row([text], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((doc, start, end)) = place else { return Ok(None) };
        let whole = self.document(doc)?;
        Ok(whole.get(start as usize..end as usize).map(String::from))
    }

    fn document(&self, doc: i64) -> Result<Rc<str>, StoreError> {
        let mut kept = self.kept.borrow_mut();
        if let Some((_, text)) = kept.iter().find(|(kept, _)| *kept == doc) {
            return Ok(text.clone());
        }
        let text: Option<String> = self
            .db
            .prepare_cached("SELECT text FROM docs WHERE id = ?1")?
            .query_row([doc], |row| row.get(0))
            .optional()?;
        let text: Rc<str> = text.unwrap_or_default().into();
        if kept.len() >= DOCUMENTS_KEPT {
            kept.remove(0);
        }
        kept.push((doc, text.clone()));
        Ok(text)
    }
}
