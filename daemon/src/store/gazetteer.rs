//! The gazetteer's rows: which mined terms and stated names are known, and which documents must hear of a change.
//!
//! Invariant: the rows are a function of `terms` and `stated` alone, never of links, so the ripple ends.

use std::collections::{BTreeMap, BTreeSet};

use config::settings::Gazetteer as GazetteerSettings;
use rusqlite::{Connection, params};

use super::StoreError;
use crate::pipeline::recognize::gazetteer::{Gazetteer, GazetteerTerm};
use crate::pipeline::recognize::lexicon;
use crate::pipeline::recognize::mine::{TermCount, select};
use crate::terms::{EntityType, tokens_of};

/// Up to this many changed terms, the documents that contain them are looked up; for more, all are read again.
const LOOK_UP_TO: usize = 200;

/// A term that entered, left, or changed.
type Rows = BTreeMap<String, (String, i64)>;

/// Brings the rows up to date; returns the changed norms with a surface each, empty when nothing changed.
pub(super) fn refresh(
    db: &Connection,
    settings: &GazetteerSettings,
) -> Result<Vec<(String, String)>, StoreError> {
    if !is_needed(db, settings)? {
        db.execute("DELETE FROM dirty_terms", [])?;
        return Ok(Vec::new());
    }
    let wanted = wanted_rows(db, settings)?;
    let current = current_rows(db)?;
    let mut changed = Vec::new();
    for (norm, (surface, _)) in current.iter().filter(|(norm, _)| !wanted.contains_key(*norm)) {
        db.prepare_cached("DELETE FROM gazetteer WHERE norm = ?1")?.execute([norm])?;
        changed.push((norm.clone(), surface.clone()));
    }
    for (norm, row) in &wanted {
        if current.get(norm) == Some(row) {
            continue;
        }
        db.prepare_cached("INSERT OR REPLACE INTO gazetteer VALUES(?1, ?2, ?3)")?
            .execute(params![norm, row.0, row.1])?;
        changed.push((norm.clone(), row.0.clone()));
    }
    db.execute("DELETE FROM dirty_terms", [])?;
    Ok(changed)
}

/// False when no term whose counts moved is known now or could be: most edits change only rare terms.
fn is_needed(db: &Connection, settings: &GazetteerSettings) -> Result<bool, StoreError> {
    let needed: bool = db.query_row(
        "SELECT EXISTS (SELECT 1 FROM dirty_terms t WHERE
           EXISTS (SELECT 1 FROM gazetteer g WHERE g.norm = t.norm)
           OR EXISTS (SELECT 1 FROM names n JOIN stated s ON s.name_id = n.id WHERE n.norm = t.norm)
           OR (SELECT sum(n_docs) FROM terms c WHERE c.norm = t.norm) >= ?1
           OR EXISTS (SELECT 1 FROM terms c WHERE c.norm = t.norm AND c.n_defined > 0))",
        [settings.min_documents],
        |row| row.get(0),
    )?;
    Ok(needed)
}

fn wanted_rows(db: &Connection, settings: &GazetteerSettings) -> Result<Rows, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT norm, surface, n_docs, n_plain + 2 * n_marked + 3 * n_headed + 4 * n_defined,
                CASE WHEN n_defined > 0 THEN 4 WHEN n_headed > 0 THEN 3 WHEN n_marked > 0 THEN 2 ELSE 1 END
         FROM terms WHERE norm IN (SELECT norm FROM terms GROUP BY norm HAVING sum(n_docs) >= ?1
           UNION SELECT norm FROM terms WHERE n_defined > 0)
         ORDER BY norm, n_docs DESC, surface",
    )?;
    let mut counts: Vec<TermCount> = Vec::new();
    let mut rows = statement.query([settings.min_documents])?;
    while let Some(row) = rows.next()? {
        let (norm, n, weight): (String, u32, i64) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let weight = weight.max(0) as u64;
        let max_weight: u8 = row.get(4)?;
        // Surfaces of one norm follow each other, the most frequent first; it names the term.
        match counts.last_mut().filter(|last| last.norm == norm) {
            Some(last) => {
                last.n_documents += n;
                last.weight_sum += weight;
                last.max_weight = last.max_weight.max(max_weight);
            }
            None => counts.push(TermCount {
                norm,
                surface: row.get(1)?,
                n_documents: n,
                weight_sum: weight,
                max_weight,
            }),
        }
    }
    let mut wanted = Rows::new();
    for term in select(counts.into_iter(), settings) {
        wanted.insert(term.norm, (term.surface, term.entity_type.code()));
    }
    add_stated(db, &mut wanted)?;
    Ok(wanted)
}

/// Names that notes state are always known; the strongest statement names them.
fn add_stated(db: &Connection, wanted: &mut Rows) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT n.norm, s.surface, d.doc_type FROM stated s JOIN names n ON n.id = s.name_id
         JOIN docs d ON d.id = s.doc_id ORDER BY n.norm, s.source, d.path",
    )?;
    let mut rows = statement.query([])?;
    let mut seen = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let (norm, surface, doc_type): (String, String, Option<String>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        if tokens_of(&surface).len() > 8 || !seen.insert(norm.clone()) {
            continue;
        }
        let stated = doc_type.as_deref().and_then(EntityType::parse).map(EntityType::code);
        let mined = wanted.get(&norm).map(|(_, mined)| *mined);
        // What a note is titled says more than that it is a note: `Signing Service`, `Edge Team`.
        let by_words = Some(lexicon::type_of(&surface)).filter(|t| *t != EntityType::Concept);
        let guessed = by_words.map(EntityType::code).or(mined);
        let entity_type = stated.or(guessed).unwrap_or(EntityType::Document.code());
        wanted.insert(norm, (surface, entity_type));
    }
    Ok(())
}

fn current_rows(db: &Connection) -> Result<Rows, StoreError> {
    let mut statement = db.prepare_cached("SELECT norm, surface, type FROM gazetteer")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Marks the documents that contain a changed term to be read again.
pub(super) fn requeue_readers(
    db: &Connection,
    changed: &[(String, String)],
) -> Result<(), StoreError> {
    if changed.len() > LOOK_UP_TO {
        db.execute("INSERT OR IGNORE INTO requeue SELECT id FROM docs", [])?;
        return Ok(());
    }
    let mut by_text = db.prepare_cached(
        "INSERT OR IGNORE INTO requeue SELECT c.doc_id FROM chunk_fts f JOIN chunks c ON c.id = f.rowid
         WHERE chunk_fts MATCH ?1",
    )?;
    let mut by_name = db.prepare_cached(
        "INSERT OR IGNORE INTO requeue SELECT m.doc_id FROM mentions m JOIN names n ON n.id = m.name_id
         WHERE n.norm = ?1",
    )?;
    for (norm, surface) in changed {
        by_name.execute([norm])?;
        let words = tokens_of(surface).join(" ");
        if words.is_empty() {
            continue;
        }
        // As separate words, and written as one (`SigningService`).
        let joined = words.replace(' ', "");
        by_text.execute([format!("\"{words}\" OR \"{joined}\"")])?;
    }
    Ok(())
}

/// Builds the gazetteer from its rows.
pub(super) fn load(db: &Connection, version: u64) -> Result<Gazetteer, StoreError> {
    let mut terms = Vec::new();
    for (norm, (surface, code)) in current_rows(db)? {
        terms.push(GazetteerTerm { surface, norm, entity_type: EntityType::from_code(code) });
    }
    Ok(Gazetteer::build(version, terms.into_iter()))
}
