//! Web: chunks, the entities they mention, and the documents these lead to; read when asked for, each once a question.
//!
//! In: a chunk or an entity. Out: its neighbors. An entity that has documents of its own leads to these, else to those
//! that mention it; one that too many documents share leads nowhere, because it joins what has nothing in common.
//! Invariants: reading costs no more than [`MAX_READS`] chunks and entities a question, whatever the folder; neighbors
//! come in a fixed order.
//! Not here: what a neighbor is worth (`bridge.rs`).

use std::rc::Rc;

use rusqlite::{OptionalExtension, params};
use rustc_hash::FxHashMap;

use super::plan::Plan;
use super::{AskError, Desk, copies};

/// Most documents that an entity leads to; one with more is a hub. On two multi-hop sets 5, 10 and 20 find the same.
const MAX_LED_TO: usize = 8;

/// Mentions of an entity read at most, to learn which documents have them.
const MAX_MENTIONS: i64 = 400;

/// Entities taken of one chunk, the first in the order of their ids.
const MAX_OF_CHUNK: i64 = 200;

/// Chunks and entities read for one question, beside its candidates.
const MAX_READS: usize = 400;

/// Where a chunk stands: document, start and end in its text.
type Place = (i64, i64, i64);

/// Where an entity leads.
#[derive(Debug, Default)]
pub(super) struct Leads {
    /// Documents and the byte of their text where they first mention it; 0 in its own. In the order of documents.
    docs: Vec<(i64, i64)>,
}

impl Leads {
    /// True when it leads to this document.
    pub(super) fn lead_to(&self, doc: i64) -> bool {
        self.docs.binary_search_by_key(&doc, |(known, _)| *known).is_ok()
    }

    /// The documents that it leads to.
    pub(super) fn docs(&self) -> impl Iterator<Item = i64> {
        self.docs.iter().map(|(doc, _)| *doc)
    }

    /// How many documents it leads to from this one.
    pub(super) fn n_from(&self, doc: Option<i64>) -> usize {
        self.docs.len() - usize::from(doc.is_some_and(|doc| self.lead_to(doc)))
    }
}

/// What was read for one question.
pub(super) struct Web<'d> {
    desk: &'d Desk<'d>,
    plan: &'d Plan,
    stand: FxHashMap<i64, Place>,
    entities: FxHashMap<i64, Rc<[i64]>>,
    leads: FxHashMap<i64, Rc<Leads>>,
    /// The chunk of a document at a place; none where there is none or it must not answer.
    places: FxHashMap<(i64, i64), Option<i64>>,
    n_reads: usize,
}

impl<'d> Web<'d> {
    pub(super) fn new(desk: &'d Desk<'d>, plan: &'d Plan) -> Self {
        let (stand, entities, leads, places) = Default::default();
        Web { desk, plan, stand, entities, leads, places, n_reads: 0 }
    }

    /// The document of a chunk; 0 for one that is gone.
    pub(super) fn doc(&mut self, chunk: i64) -> Result<i64, AskError> {
        Ok(self.stand(chunk)?.0)
    }

    /// Entities that a chunk mentions or that its document is the home of, by id.
    pub(super) fn entities(&mut self, chunk: i64) -> Result<Rc<[i64]>, AskError> {
        if let Some(known) = self.entities.get(&chunk) {
            return Ok(known.clone());
        }
        let place = self.stand(chunk)?;
        let entities: Rc<[i64]> = read_entities(self.desk, place)?.into();
        self.entities.insert(chunk, entities.clone());
        Ok(entities)
    }

    fn stand(&mut self, chunk: i64) -> Result<Place, AskError> {
        if let Some(known) = self.stand.get(&chunk) {
            return Ok(*known);
        }
        let mut statement = self
            .desk
            .snapshot
            .prepare_cached("SELECT doc_id, start, end FROM chunks WHERE id = ?1")?;
        let row = statement.query_row([chunk], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let place = row.optional()?.unwrap_or_default();
        self.stand.insert(chunk, place);
        Ok(place)
    }

    /// The documents that an entity leads to; none for a hub.
    pub(super) fn leads(&mut self, entity: i64) -> Result<Rc<Leads>, AskError> {
        if let Some(known) = self.leads.get(&entity) {
            return Ok(known.clone());
        }
        if !self.may_read() {
            return Ok(Rc::default());
        }
        let leads = Rc::new(read_leads(self.desk, entity)?);
        self.leads.insert(entity, leads.clone());
        Ok(leads)
    }

    /// The chunks that an entity leads to from a document, one in each other document that may answer.
    pub(super) fn chunks(&mut self, entity: i64, from: Option<i64>) -> Result<Vec<i64>, AskError> {
        let leads = self.leads(entity)?;
        let mut chunks = Vec::with_capacity(leads.docs.len());
        for place in leads.docs.iter().filter(|(doc, _)| Some(*doc) != from) {
            if let Some(known) = self.places.get(place) {
                chunks.extend(*known);
            } else if self.may_read() {
                let found = read_place(self.desk, self.plan, *place)?;
                self.places.insert(*place, found);
                chunks.extend(found);
            }
        }
        Ok(chunks)
    }

    /// Counts a reading; false when there have been enough.
    fn may_read(&mut self) -> bool {
        self.n_reads += 1;
        self.n_reads <= MAX_READS
    }
}

fn read_entities(desk: &Desk<'_>, (doc, start, end): Place) -> Result<Vec<i64>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT n.entity_id FROM mentions m JOIN names n ON n.id = m.name_id
           WHERE m.doc_id = ?1 AND m.at >= ?2 AND m.at < ?3 AND n.entity_id IS NOT NULL
         UNION SELECT entity_id FROM docs WHERE id = ?1 AND entity_id IS NOT NULL ORDER BY 1 LIMIT ?4",
    )?;
    let rows = statement.query_map([doc, start, end, MAX_OF_CHUNK], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read_leads(desk: &Desk<'_>, entity: i64) -> Result<Leads, AskError> {
    let most = MAX_LED_TO as i64 + 1;
    let mut homes = desk
        .snapshot
        .prepare_cached("SELECT id, 0 FROM docs WHERE entity_id = ?1 ORDER BY id LIMIT ?2")?;
    let rows = homes.query_map([entity, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let docs: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
    if !docs.is_empty() {
        return Ok(if docs.len() > MAX_LED_TO { Leads::default() } else { Leads { docs } });
    }
    // Facts of its names first: a hub's mentions are not read.
    let mut facts = desk.snapshot.prepare_cached(
        "SELECT coalesce(max(n_docs), 0), coalesce(sum(n_mentions), 0) FROM names WHERE entity_id = ?1",
    )?;
    let (n_docs, n_mentions): (i64, i64) =
        facts.query_row([entity], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if n_docs >= most || n_mentions > MAX_MENTIONS {
        return Ok(Leads::default());
    }
    let mut mentioning = desk.snapshot.prepare_cached(
        "SELECT m.doc_id, min(m.at) FROM names n JOIN mentions m ON m.name_id = n.id
         WHERE n.entity_id = ?1 GROUP BY m.doc_id ORDER BY m.doc_id LIMIT ?2",
    )?;
    let rows = mentioning.query_map(params![entity, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let docs: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
    Ok(if docs.len() > MAX_LED_TO { Leads::default() } else { Leads { docs } })
}

fn read_place(
    desk: &Desk<'_>,
    plan: &Plan,
    (doc, at): (i64, i64),
) -> Result<Option<i64>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT id FROM chunks WHERE doc_id = ?1 AND end > ?2 ORDER BY idx LIMIT 1",
    )?;
    let found: Option<i64> = statement.query_row([doc, at], |row| row.get(0)).optional()?;
    let Some(chunk) = found else { return Ok(None) };
    let told = copies::told_by(desk, plan, chunk)?;
    Ok(copies::passes(desk, plan, told)?.then_some(told))
}
