//! Neighbors: chunks, the entities that they mention, and the documents that these lead to, each
//! read once per question.
//!
//! In: a chunk or an entity. Out: its neighbors. An entity leads to its own documents, else to
//! those that mention it; one that too many documents share leads nowhere, because it joins
//! documents that have nothing in common.
//! Invariants: at most [`MAX_READS`] chunks and entities are read per question, however large the
//! folder; neighbors have a fixed order.
//! Not here: the weight of a neighbor (`bridge.rs`).

use std::rc::Rc;

use rusqlite::{OptionalExtension, params};
use rustc_hash::FxHashMap;

use crate::plan::within::Within;
use crate::recall::copies;
use crate::{AskError, QueryContext};

/// Most documents that an entity leads to; one with more is a hub. On two multi-hop sets 5, 10 and
/// 20 give the same results.
const MAX_LED_TO: usize = 8;

/// Most mentions of an entity that are read to find its documents.
const MAX_MENTIONS: i64 = 400;

/// Most entities of one chunk, the first by id.
const MAX_OF_CHUNK: i64 = 200;

/// Most chunks and entities read per question, besides its candidates.
const MAX_READS: usize = 400;

/// The place of a chunk: document, start and end in its text.
type ChunkSpan = (i64, i64, i64);

/// The documents that an entity leads to.
#[derive(Debug, Default)]
pub(crate) struct Leads {
    /// Documents with the byte offset of the first mention, 0 in the entity's own; ordered by
    /// document.
    docs: Vec<(i64, i64)>,
}

impl Leads {
    /// Returns whether it leads to a document.
    pub(crate) fn lead_to(&self, doc: i64) -> bool {
        self.docs.binary_search_by_key(&doc, |(known, _)| *known).is_ok()
    }

    /// Returns the documents that it leads to.
    pub(crate) fn docs(&self) -> impl Iterator<Item = i64> {
        self.docs.iter().map(|(doc, _)| *doc)
    }

    /// Returns the number of documents that it leads to, apart from this one.
    pub(crate) fn n_from(&self, doc: Option<i64>) -> usize {
        self.docs.len() - usize::from(doc.is_some_and(|doc| self.lead_to(doc)))
    }
}

/// Rows read so far for one question.
pub(crate) struct Neighbors<'d> {
    ctx: &'d QueryContext<'d>,
    within: &'d Within,
    stand: FxHashMap<i64, ChunkSpan>,
    entities: FxHashMap<i64, Rc<[i64]>>,
    leads: FxHashMap<i64, Rc<Leads>>,
    /// The chunk at a place in a document; `None` if there is none or it is filtered out.
    places: FxHashMap<(i64, i64), Option<i64>>,
    n_reads: usize,
}

impl<'d> Neighbors<'d> {
    pub(crate) fn new(ctx: &'d QueryContext<'d>, within: &'d Within) -> Self {
        let (stand, entities, leads, places) = Default::default();
        Neighbors { ctx, within, stand, entities, leads, places, n_reads: 0 }
    }

    /// Returns the document of a chunk; 0 if the chunk is gone.
    pub(crate) fn doc(&mut self, chunk: i64) -> Result<i64, AskError> {
        Ok(self.stand(chunk)?.0)
    }

    /// Returns the entities that a chunk mentions or whose note it belongs to, by id.
    pub(crate) fn entities(&mut self, chunk: i64) -> Result<Rc<[i64]>, AskError> {
        if let Some(known) = self.entities.get(&chunk) {
            return Ok(known.clone());
        }
        let place = self.stand(chunk)?;
        let entities: Rc<[i64]> = read_entities(self.ctx, place)?.into();
        self.entities.insert(chunk, entities.clone());
        Ok(entities)
    }

    fn stand(&mut self, chunk: i64) -> Result<ChunkSpan, AskError> {
        if let Some(known) = self.stand.get(&chunk) {
            return Ok(*known);
        }
        let mut statement = self
            .ctx
            .snapshot
            .prepare_cached("SELECT doc_id, start, end FROM chunks WHERE id = ?1")?;
        let row = statement.query_row([chunk], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let place = row.optional()?.unwrap_or_default();
        self.stand.insert(chunk, place);
        Ok(place)
    }

    /// Returns the documents that an entity leads to; none for a hub.
    pub(crate) fn leads(&mut self, entity: i64) -> Result<Rc<Leads>, AskError> {
        if let Some(known) = self.leads.get(&entity) {
            return Ok(known.clone());
        }
        if !self.may_read() {
            return Ok(Rc::default());
        }
        let leads = Rc::new(read_leads(self.ctx, entity)?);
        self.leads.insert(entity, leads.clone());
        Ok(leads)
    }

    /// Returns the chunks that an entity leads to from a document: one in each other document that
    /// passes the filters.
    pub(crate) fn chunks(&mut self, entity: i64, from: Option<i64>) -> Result<Vec<i64>, AskError> {
        let leads = self.leads(entity)?;
        let mut chunks = Vec::with_capacity(leads.docs.len());
        for place in leads.docs.iter().filter(|(doc, _)| Some(*doc) != from) {
            if let Some(known) = self.places.get(place) {
                chunks.extend(*known);
            } else if self.may_read() {
                let found = read_place(self.ctx, self.within, *place)?;
                self.places.insert(*place, found);
                chunks.extend(found);
            }
        }
        Ok(chunks)
    }

    /// Counts a read; false once the limit is exceeded.
    fn may_read(&mut self) -> bool {
        self.n_reads += 1;
        self.n_reads <= MAX_READS
    }
}

fn read_entities(ctx: &QueryContext<'_>, place: ChunkSpan) -> Result<Vec<i64>, AskError> {
    let (doc, start, end) = place;
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT n.entity_id FROM mentions m JOIN names n ON n.id = m.name_id
           WHERE m.doc_id = ?1 AND m.at >= ?2 AND m.at < ?3 AND n.entity_id IS NOT NULL
         UNION SELECT entity_id FROM docs WHERE id = ?1 AND entity_id IS NOT NULL ORDER BY 1 LIMIT ?4",
    )?;
    let rows = statement.query_map([doc, start, end, MAX_OF_CHUNK], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read_leads(ctx: &QueryContext<'_>, entity: i64) -> Result<Leads, AskError> {
    let most = MAX_LED_TO as i64 + 1;
    let mut homes = ctx
        .snapshot
        .prepare_cached("SELECT id, 0 FROM docs WHERE entity_id = ?1 ORDER BY id LIMIT ?2")?;
    let rows = homes.query_map([entity, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let docs: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
    if !docs.is_empty() {
        return Ok(if docs.len() > MAX_LED_TO { Leads::default() } else { Leads { docs } });
    }
    // The counts first, so that a hub's mentions are not read.
    let mut facts = ctx.snapshot.prepare_cached(
        "SELECT coalesce(max(n_docs), 0), coalesce(sum(n_mentions), 0) FROM names WHERE entity_id = ?1",
    )?;
    let (n_docs, n_mentions): (i64, i64) =
        facts.query_row([entity], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if n_docs >= most || n_mentions > MAX_MENTIONS {
        return Ok(Leads::default());
    }
    let mut mentioning = ctx.snapshot.prepare_cached(
        "SELECT m.doc_id, min(m.at) FROM names n JOIN mentions m ON m.name_id = n.id
         WHERE n.entity_id = ?1 GROUP BY m.doc_id ORDER BY m.doc_id LIMIT ?2",
    )?;
    let rows = mentioning.query_map(params![entity, most], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let docs: Vec<(i64, i64)> = rows.collect::<Result<_, _>>()?;
    Ok(if docs.len() > MAX_LED_TO { Leads::default() } else { Leads { docs } })
}

fn read_place(
    ctx: &QueryContext<'_>,
    within: &Within,
    place: (i64, i64),
) -> Result<Option<i64>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(
        "SELECT id FROM chunks WHERE doc_id = ?1 AND end > ?2 ORDER BY idx LIMIT 1",
    )?;
    let found: Option<i64> =
        statement.query_row([place.0, place.1], |row| row.get(0)).optional()?;
    let Some(chunk) = found else { return Ok(None) };
    let home = copies::indexed_at(ctx, within, chunk)?;
    Ok(within.lets_through(ctx, home)?.then_some(home))
}
