//! Neighbors: chunks, the entities that they mention, and the documents that these lead to, each
//! read once per question.
//!
//! In: a chunk or an entity. Out: its neighbors. An entity leads to its own documents, else to
//! those that mention it; one that too many documents share leads nowhere, because it joins
//! documents that have nothing in common.
//! Invariants: at most [`MAX_READS`] chunks and entities are read per question, however large the
//! folder; neighbors have a fixed order.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use index::read::Chunk;
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
const MAX_OF_CHUNK: usize = 200;

/// Most chunks and entities read per question, besides its candidates.
const MAX_READS: usize = 400;

/// The documents that an entity leads to.
#[derive(Debug, Default)]
pub(crate) struct Leads {
    /// Documents with the byte offset of the first mention, 0 in the entity's own; ordered by
    /// document.
    docs: Vec<(i64, usize)>,
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
    passages: FxHashMap<i64, Chunk>,
    /// The entity that a document is about.
    abouts: FxHashMap<i64, Option<i64>>,
    entities: FxHashMap<i64, Rc<[i64]>>,
    leads: FxHashMap<i64, Rc<Leads>>,
    /// The chunk at a place in a document; `None` if there is none or it is filtered out.
    places: FxHashMap<(i64, usize), Option<i64>>,
    n_reads: usize,
}

impl<'d> Neighbors<'d> {
    pub(crate) fn new(ctx: &'d QueryContext<'d>, within: &'d Within) -> Self {
        let (passages, abouts, entities, leads, places) = Default::default();
        Neighbors { ctx, within, passages, abouts, entities, leads, places, n_reads: 0 }
    }

    /// Reads chunks; before that, nothing is known of them.
    pub(crate) fn read(&mut self, chunks: &BTreeSet<i64>) -> Result<(), AskError> {
        let new = chunks.iter().copied().filter(|chunk| !self.passages.contains_key(chunk));
        self.passages.extend(self.ctx.snapshot.chunks().many(new)?);
        Ok(())
    }

    /// Returns the document of a chunk; 0 if the chunk is gone.
    pub(crate) fn doc(&self, chunk: i64) -> i64 {
        self.passages.get(&chunk).map_or(0, |it| it.doc)
    }

    /// Reads the entities of chunks; before that, none are known.
    pub(crate) fn read_entities(
        &mut self,
        chunks: impl IntoIterator<Item = i64>,
    ) -> Result<(), AskError> {
        let new = chunks.into_iter().filter(|chunk| !self.entities.contains_key(chunk));
        let new: Vec<&Chunk> = new.filter_map(|chunk| self.passages.get(&chunk)).collect();
        let mut found = self.ctx.snapshot.mentions().entities_in(new.iter().copied())?;
        for Chunk { id, doc, .. } in new {
            let about = match self.abouts.entry(*doc) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(self.ctx.snapshot.documents().entity(*doc)?),
            };
            let mut entities = found.remove(id).unwrap_or_default();
            entities.extend(about);
            entities.sort_unstable();
            entities.dedup();
            entities.truncate(MAX_OF_CHUNK);
            self.entities.insert(*id, entities.into());
        }
        Ok(())
    }

    /// Returns the entities that a chunk mentions or whose note it belongs to, by id.
    pub(crate) fn entities(&self, chunk: i64) -> Rc<[i64]> {
        self.entities.get(&chunk).cloned().unwrap_or_default()
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

fn read_leads(ctx: &QueryContext<'_>, entity: i64) -> Result<Leads, AskError> {
    let few = |docs: Vec<(i64, usize)>| match docs.len() {
        0..=MAX_LED_TO => Leads { docs },
        _ => Leads::default(),
    };
    let homes = ctx.snapshot.documents().about(entity)?;
    if !homes.is_empty() {
        return Ok(few(homes.into_iter().map(|doc| (doc, 0)).collect()));
    }
    // The counts first, so that a hub's mentions are not read.
    let names = ctx.snapshot.names().of(entity)?;
    let is_hub = names.iter().any(|name| name.n_docs > MAX_LED_TO as i64)
        || names.iter().map(|name| name.n_mentions).sum::<i64>() > MAX_MENTIONS;
    if is_hub {
        return Ok(Leads::default());
    }
    Ok(few(ctx.snapshot.mentions().docs(entity)?))
}

fn read_place(
    ctx: &QueryContext<'_>,
    within: &Within,
    (doc, byte): (i64, usize),
) -> Result<Option<i64>, AskError> {
    let Some(chunk) = ctx.snapshot.chunks().after(doc, byte)? else { return Ok(None) };
    let home = copies::indexed_at(ctx, within, chunk)?;
    Ok(within.lets_through(&home).then_some(home.id))
}
