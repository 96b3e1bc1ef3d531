//! Alike: which nearly equal text, its root, covers a text.
//!
//! In: texts with their keys. Out: for each the root that covers it, or none.
//! Texts are ordered by their hash, which is as good as random. The first text with a key is its leader, and a text
//! is compared with the leaders of its keys and with their roots, never with all: however many are similar, each
//! costs the same, and the leader of n texts changes about ln n times while they arrive.
//! Invariants: [`decide`] reads smaller texts only, so the outcome does not depend on the order of arrival; a root
//! has no root itself, so a chain of small changes never connects a text with one that is not similar.

use std::cell::RefCell;
use std::rc::Rc;

use rusqlite::{OptionalExtension, Transaction, params};
use rustc_hash::FxHashMap;

use super::place::places;
use super::{Texts, keys_of, mark};
use crate::store::StoreError;
use crate::store::commit::Late;
use model::print::Compared;

/// Texts decided in one step of the ripple: some tens of milliseconds.
const TEXTS_A_STEP: i64 = 500;

/// Texts marked in one step of the ripple: one key may have any number of texts.
const MARKS_A_STEP: usize = 5_000;

/// Compared texts that are cached: leaders recur.
const MOST_KEPT: usize = 256;

/// What a decision about a text depends on.
trait Known {
    type Error;
    /// The first text with this key.
    fn leader(&self, key: i64) -> Result<Option<i64>, Self::Error>;
    /// The root that covers a text.
    fn root(&self, text: i64) -> Result<Option<i64>, Self::Error>;
    /// Returns whether both texts have a place and are similar enough.
    fn are_alike(&self, one: i64, other: i64) -> Result<bool, Self::Error>;
}

/// Returns the smallest root that a text is similar to, among the leaders of its keys and their roots.
fn decide<K: Known>(known: &K, text: i64, keys: &[i64]) -> Result<Option<i64>, K::Error> {
    let mut candidates = Vec::with_capacity(2 * keys.len());
    for key in keys {
        let Some(leader) = known.leader(*key)?.filter(|leader| *leader < text) else { continue };
        candidates.push(known.root(leader)?.unwrap_or(leader));
        candidates.push(leader);
    }
    candidates.sort_unstable();
    candidates.dedup();
    // In ascending order, so that the first match is the smallest, whichever key it came from.
    for candidate in candidates {
        if known.root(candidate)?.is_none() && known.are_alike(text, candidate)? {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// Adds a text that had no place before.
pub(super) fn born(tx: &Transaction<'_>, text: i64, keys: &[i64]) -> Result<(), StoreError> {
    for key in keys {
        match leader(tx, *key)? {
            // A smaller leader may cover the new text.
            Some(leader) if leader < text => mark_text(tx, text)?,
            // The new text becomes the leader: all others with this key must be compared with it.
            Some(_) => mark_key(tx, *key)?,
            None => {}
        }
        tx.prepare_cached("INSERT OR IGNORE INTO print_keys VALUES(?1, ?2)")?
            .execute([*key, text])?;
    }
    Ok(())
}

/// Removes a text that has no place left. If it covered others, the smallest of them is indexed at once and covers
/// the rest until the ripple has decided all of them.
pub(super) fn died(
    tx: &Transaction<'_>,
    text: i64,
    keys: &[i64],
    late: &mut Late,
) -> Result<(), StoreError> {
    for key in keys {
        let led = leader(tx, *key)? == Some(text);
        tx.prepare_cached("DELETE FROM print_keys WHERE key = ?1 AND text = ?2")?
            .execute([*key, text])?;
        if led && leader(tx, *key)?.is_some() {
            mark_key(tx, *key)?;
        }
    }
    tx.prepare_cached("DELETE FROM alike WHERE text = ?1")?.execute([text])?;
    // A text that is removed in the same transaction covers nothing.
    let next: Option<i64> = tx
        .prepare_cached(
            "SELECT min(a.text) FROM alike a
             WHERE a.root = ?1 AND EXISTS (SELECT 1 FROM prints p WHERE p.text = a.text)",
        )?
        .query_row([text], |row| row.get(0))?;
    if let Some(next) = next {
        tx.prepare_cached("DELETE FROM alike WHERE text = ?1")?.execute([next])?;
        mark_text(tx, next)?;
        mark_followers(tx, next, &stored_keys(tx, next)?.unwrap_or_default())?;
        late.promote(next);
    }
    Ok(())
}

/// Marks the texts that `text` leads, after a decision about it: theirs may depend on it.
fn mark_followers(tx: &Transaction<'_>, text: i64, keys: &[i64]) -> Result<(), StoreError> {
    let mut mark = tx.prepare_cached(
        "INSERT OR IGNORE INTO dirty_texts SELECT text FROM print_keys WHERE key = ?1 AND text > ?2",
    )?;
    for key in keys {
        if leader(tx, *key)? == Some(text) {
            mark.execute([*key, text])?;
        }
    }
    Ok(())
}

/// The keys of a text; `None` if it has no place.
fn stored_keys(tx: &Transaction<'_>, text: i64) -> Result<Option<Vec<i64>>, StoreError> {
    let keys: Option<Option<Vec<u8>>> = tx
        .prepare_cached("SELECT keys FROM prints WHERE text = ?1 LIMIT 1")?
        .query_row([text], |row| row.get(0))
        .optional()?;
    Ok(keys.map(|keys| keys_of(keys.as_deref())))
}

fn leader(tx: &Transaction<'_>, key: i64) -> Result<Option<i64>, StoreError> {
    Ok(tx
        .prepare_cached("SELECT text FROM print_keys WHERE key = ?1 ORDER BY text LIMIT 1")?
        .query_row([key], |row| row.get(0))
        .optional()?)
}

fn mark_text(tx: &Transaction<'_>, text: i64) -> Result<(), StoreError> {
    tx.prepare_cached("INSERT OR IGNORE INTO dirty_texts VALUES(?1)")?.execute([text])?;
    Ok(())
}

fn mark_key(tx: &Transaction<'_>, key: i64) -> Result<(), StoreError> {
    tx.prepare_cached("INSERT OR IGNORE INTO dirty_keys VALUES(?1)")?.execute([key])?;
    Ok(())
}

/// Returns the root that covers a text, if any.
pub(super) fn root_of(tx: &Transaction<'_>, text: i64) -> Result<Option<i64>, StoreError> {
    Ok(tx
        .prepare_cached("SELECT root FROM alike WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
        .optional()?)
}

/// [`Known`], read from the rows.
struct KnownRows<'a> {
    tx: &'a Transaction<'a>,
    similarity: f64,
    texts: Texts<'a>,
    kept: RefCell<FxHashMap<i64, Option<Rc<Compared>>>>,
}

impl KnownRows<'_> {
    fn compared(&self, text: i64) -> Result<Option<Rc<Compared>>, StoreError> {
        if let Some(found) = self.kept.borrow().get(&text) {
            return Ok(found.clone());
        }
        let words = self.texts.words_of(text)?;
        let compared = words.map(|words| Rc::new(Compared::of(&words)));
        let mut kept = self.kept.borrow_mut();
        // Dropping everything is simpler than tracking use, and leaders are cached again at once.
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(text, compared.clone());
        Ok(compared)
    }
}

impl Known for KnownRows<'_> {
    type Error = StoreError;

    fn leader(&self, key: i64) -> Result<Option<i64>, StoreError> {
        leader(self.tx, key)
    }

    fn root(&self, text: i64) -> Result<Option<i64>, StoreError> {
        root_of(self.tx, text)
    }

    fn are_alike(&self, one: i64, other: i64) -> Result<bool, StoreError> {
        let (one, other) = (self.compared(one)?, self.compared(other)?);
        let (Some(one), Some(other)) = (one, other) else { return Ok(false) };
        Ok(one.similarity(&other) >= self.similarity)
    }
}

/// Does one step; returns false if there was nothing to do.
pub(super) fn settle(tx: &Transaction<'_>, similarity: f64) -> Result<bool, StoreError> {
    if settle_keys(tx)? {
        return Ok(true);
    }
    // Smaller texts first, because the decisions about larger ones depend on them.
    let mut statement = tx.prepare_cached("SELECT text FROM dirty_texts ORDER BY text LIMIT ?1")?;
    let texts: Vec<i64> =
        statement.query_map([TEXTS_A_STEP], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let rows = KnownRows { tx, similarity, texts: Texts::new(tx), kept: RefCell::default() };
    for text in &texts {
        settle_one(&rows, *text)?;
        tx.prepare_cached("DELETE FROM dirty_texts WHERE text = ?1")?.execute([text])?;
    }
    Ok(!texts.is_empty())
}

/// Marks the texts of keys whose leader changed; returns false if there were none.
fn settle_keys(tx: &Transaction<'_>) -> Result<bool, StoreError> {
    let mut next = tx.prepare_cached("SELECT key FROM dirty_keys LIMIT 1")?;
    let mut done = tx.prepare_cached("DELETE FROM dirty_keys WHERE key = ?1")?;
    let mut mark = tx.prepare_cached(
        "INSERT OR IGNORE INTO dirty_texts SELECT text FROM print_keys WHERE key = ?1",
    )?;
    let (mut n_keys, mut n_marked) = (0, 0);
    // Both numbers are bounded: a key may mark no text, and then costs a step as well.
    while n_marked < MARKS_A_STEP
        && n_keys < MARKS_A_STEP
        && let Some(key) = next.query_row([], |row| row.get::<_, i64>(0)).optional()?
    {
        n_marked += mark.execute([key])?;
        done.execute([key])?;
        n_keys += 1;
    }
    Ok(n_keys > 0)
}

fn settle_one(rows: &KnownRows<'_>, text: i64) -> Result<(), StoreError> {
    let tx = rows.tx;
    let Some(keys) = stored_keys(tx, text)? else { return Ok(()) };
    let (old, new) = (root_of(tx, text)?, decide(rows, text, &keys)?);
    if old == new {
        // The same outcome, but followers may have been decided while this text was removed or had another root.
        return mark_followers(tx, text, &keys);
    }
    match new {
        None => tx.prepare_cached("DELETE FROM alike WHERE text = ?1")?.execute([text])?,
        Some(root) => tx
            .prepare_cached("INSERT OR REPLACE INTO alike VALUES(?1, ?2)")?
            .execute(params![text, root])?,
    };
    if let Some((doc, _)) = places(tx, text)?.home() {
        mark(tx, doc)?;
    }
    mark_followers(tx, text, &keys)
}

#[cfg(test)]
mod tests;
