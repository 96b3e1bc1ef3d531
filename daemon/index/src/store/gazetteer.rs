//! Gazetteer: the rows of mined terms and stated names, and the documents that a change affects.
//!
//! Invariant: the rows are a function of `terms` and `stated` alone, never of links, so the ripple ends.

use std::collections::BTreeMap;

use config::settings::Gazetteer as GazetteerSettings;
use rusqlite::{Connection, OptionalExtension, params};

use super::StoreError;
use super::work::Work;
use crate::words::phrase_of;
use extract::recognize::gazetteer::{Gazetteer, GazetteerTerm};
use extract::recognize::lexicon;
use extract::recognize::mine::{TermCount, select};
use model::terms::{EntityType, tokens_of};

/// For up to this many changed terms, the documents that contain them are looked up; for more, all are read again.
const LOOK_UP_TO: usize = 200;

/// Most words of a stated name. Longer titles are sentences, not names.
const MAX_STATED_WORDS: usize = 8;

/// Selected mined terms: surface and type by norm.
type Mined = BTreeMap<String, (String, i64)>;

/// One row of the gazetteer, without its norm.
#[derive(Debug, PartialEq, Eq)]
struct TermRow {
    surface: String,
    type_code: i64,
    is_mined: bool,
}

/// The changes of a refresh. Lists no more terms than are looked up one by one: a first index changes hundreds of
/// thousands.
#[derive(Debug, Default)]
pub(super) struct Changes {
    n: usize,
    terms: Vec<(String, String)>,
}

impl Changes {
    /// Returns whether the gazetteer is unchanged.
    pub(super) fn is_empty(&self) -> bool {
        self.n == 0
    }

    fn add(&mut self, norm: &str, surface: &str) {
        self.n += 1;
        if self.n <= LOOK_UP_TO {
            self.terms.push((norm.to_string(), surface.to_string()));
        }
    }
}

/// Updates the rows.
///
/// Checks only the terms that may differ: those whose counts or statements changed ([`Work::Weigh`]), and those that
/// were mined before or are now, since the cap admits one when another leaves.
pub(super) fn refresh(
    db: &Connection,
    settings: &GazetteerSettings,
) -> Result<Changes, StoreError> {
    let mut changes = Changes::default();
    if is_needed(db, settings)? {
        let mined = mined_terms(db, settings)?;
        let mut was_mined = db.prepare_cached("SELECT norm FROM gazetteer WHERE is_mined")?;
        let was_mined: Vec<String> =
            was_mined.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for norm in was_mined.iter().chain(mined.keys()) {
            refresh_one(db, norm, &mined, &mut changes)?;
        }
        let mut due = db.prepare_cached("SELECT key FROM work WHERE kind = ?1")?;
        let mut rows = due.query([Work::Weigh])?;
        while let Some(row) = rows.next()? {
            let norm = row.get_ref(0)?.as_str().unwrap_or_default();
            refresh_one(db, norm, &mined, &mut changes)?;
        }
    }
    // Also when no refresh was needed: the counts of these terms cannot matter until they change again.
    db.execute("DELETE FROM work WHERE kind = ?1", [Work::Weigh])?;
    Ok(changes)
}

/// Updates the row of one norm.
fn refresh_one(
    db: &Connection,
    norm: &str,
    mined: &Mined,
    changes: &mut Changes,
) -> Result<(), StoreError> {
    let current = db
        .prepare_cached("SELECT surface, type, is_mined FROM gazetteer WHERE norm = ?1")?
        .query_row([norm], |row| {
            Ok(TermRow { surface: row.get(0)?, type_code: row.get(1)?, is_mined: row.get(2)? })
        })
        .optional()?;
    let wanted = wanted_row(db, norm, mined.get(norm))?;
    if current == wanted {
        return Ok(());
    }
    match &wanted {
        None => {
            db.prepare_cached("DELETE FROM gazetteer WHERE norm = ?1")?.execute([norm])?;
        }
        Some(row) => {
            db.prepare_cached("INSERT OR REPLACE INTO gazetteer VALUES(?1, ?2, ?3, ?4)")?
                .execute(params![norm, row.surface, row.type_code, row.is_mined])?;
        }
    }
    // Whether a stated name is mined, too, changes no reading of a document.
    let seen = |row: &Option<TermRow>| row.as_ref().map(|row| (row.surface.clone(), row.type_code));
    if seen(&current) != seen(&wanted)
        && let Some(row) = wanted.or(current)
    {
        changes.add(norm, &row.surface);
    }
    Ok(())
}

/// Returns false if no term with changed counts is in the gazetteer or could enter it: most edits change only rare
/// terms.
fn is_needed(db: &Connection, settings: &GazetteerSettings) -> Result<bool, StoreError> {
    let needed: bool = db.query_row(
        "SELECT EXISTS (SELECT 1 FROM work w WHERE w.kind = ?1 AND (
           EXISTS (SELECT 1 FROM gazetteer g WHERE g.norm = w.key)
           OR EXISTS (SELECT 1 FROM names n JOIN stated s ON s.name_id = n.id WHERE n.norm = w.key)
           OR (SELECT sum(n_docs) FROM terms c WHERE c.norm = w.key) >= ?2
           OR EXISTS (SELECT 1 FROM terms c WHERE c.norm = w.key AND c.n_defined > 0)))",
        params![Work::Weigh, settings.min_documents],
        |row| row.get(0),
    )?;
    Ok(needed)
}

/// Returns the terms that mining selects over all documents.
fn mined_terms(db: &Connection, settings: &GazetteerSettings) -> Result<Mined, StoreError> {
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
        // Surfaces of one norm follow each other, the most frequent first; that one names the term.
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
    let selected = select(counts.into_iter(), settings).into_iter();
    Ok(selected.map(|term| (term.norm, (term.surface, term.entity_type.code()))).collect())
}

/// Returns the row that a norm should have, or `None`. Stated names are always in; the strongest statement gives the
/// surface.
fn wanted_row(
    db: &Connection,
    norm: &str,
    mined: Option<&(String, i64)>,
) -> Result<Option<TermRow>, StoreError> {
    let is_mined = mined.is_some();
    let mut statement = db.prepare_cached(
        "SELECT s.surface, d.doc_type FROM names n JOIN stated s ON s.name_id = n.id
         JOIN docs d ON d.id = s.doc_id WHERE n.norm = ?1 ORDER BY s.source, d.path",
    )?;
    let mut rows = statement.query([norm])?;
    while let Some(row) = rows.next()? {
        let (surface, doc_type): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        if tokens_of(&surface).len() > MAX_STATED_WORDS {
            continue;
        }
        let stated = doc_type.as_deref().and_then(EntityType::parse).map(EntityType::code);
        // The words of a title say more than that it is a note: `Signing Service`, `Edge Team`.
        let by_words = Some(lexicon::type_of(&surface)).filter(|t| *t != EntityType::Concept);
        let guessed = by_words.map(EntityType::code).or(mined.map(|(_, mined)| *mined));
        let type_code = stated.or(guessed).unwrap_or(EntityType::Document.code());
        return Ok(Some(TermRow { surface, type_code, is_mined }));
    }
    Ok(mined.map(|(surface, type_code)| TermRow {
        surface: surface.clone(),
        type_code: *type_code,
        is_mined,
    }))
}

/// Queues the documents that contain a changed term to be read again.
pub(super) fn requeue_readers(db: &Connection, changes: &Changes) -> Result<(), StoreError> {
    if changes.n > LOOK_UP_TO {
        return Work::Reread.add_selected(db, "SELECT id FROM docs", []);
    }
    // Of passages that repeat one, only their own words are in the text index.
    let by_text = "SELECT c.doc_id FROM chunk_fts f JOIN chunks c ON c.id = f.rowid WHERE chunk_fts MATCH ?1
       UNION SELECT r.doc_id FROM chunk_fts f JOIN chunks r ON r.same_as = f.rowid AND r.same_as <> r.id
         WHERE chunk_fts MATCH ?1";
    let by_name =
        "SELECT m.doc_id FROM mentions m JOIN names n ON n.id = m.name_id WHERE n.norm = ?1";
    for (norm, surface) in &changes.terms {
        // Documents that mention the name already, and those whose text has the words.
        Work::Reread.add_selected(db, by_name, [norm])?;
        // As separate words, and as one word (`SigningService`).
        if let Some(fts) = phrase_of(surface) {
            Work::Reread.add_selected(db, by_text, [fts])?;
        }
    }
    Ok(())
}

/// Builds the gazetteer from its rows.
pub(super) fn load(db: &Connection, version: u64) -> Result<Gazetteer, StoreError> {
    let mut statement = db.prepare_cached("SELECT norm, surface, type FROM gazetteer")?;
    let rows = statement.query_map([], |row| {
        let entity_type = EntityType::from_code(row.get(2)?);
        Ok(GazetteerTerm { norm: row.get(0)?, surface: row.get(1)?, entity_type })
    })?;
    let terms: Vec<GazetteerTerm> = rows.collect::<Result<_, _>>()?;
    Ok(Gazetteer::build(version, terms.into_iter()))
}
