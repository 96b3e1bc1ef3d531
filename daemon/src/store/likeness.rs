//! Likeness: what Resolve must know of two names beside their facts, looked up in the index.
//!
//! In: names by their rows. Out: cosines, context overlaps, verdicts. Not here: the decision (`link/resolve.rs`).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::StoreError;
use super::ledger::{Verdict, link_key};
use crate::embedder::Embedder;
use crate::pipeline::link::features::context_overlap;
use crate::pipeline::link::resolve::{NameFacts, Surroundings};
use crate::pipeline::parcel::UnitVector;
use crate::terms::tokens_of;

/// Documents looked at for a name's context; by path, so that the choice is the same in every index.
const CONTEXT_DOCS: usize = 8;

/// What Resolve needs to know beside the facts; also used to explain a link to a person.
pub struct Likeness<'a> {
    db: &'a Connection,
    embedder: &'a dyn Embedder,
    decisions: &'a dyn Fn(&str) -> Option<Verdict>,
    vectors: RefCell<FxHashMap<String, UnitVector>>,
    contexts: RefCell<FxHashMap<i64, Rc<BTreeSet<String>>>>,
}

impl<'a> Likeness<'a> {
    /// Looks into `db` for contexts and asks `decisions` for verdicts by [`link_key`].
    pub fn new(
        db: &'a Connection,
        embedder: &'a dyn Embedder,
        decisions: &'a dyn Fn(&str) -> Option<Verdict>,
    ) -> Self {
        let (vectors, contexts) = (RefCell::default(), RefCell::default());
        Likeness { db, embedder, decisions, vectors, contexts }
    }

    fn vector(&self, surface: &str) -> UnitVector {
        if let Some(vector) = self.vectors.borrow().get(surface) {
            return vector.clone();
        }
        let vector = self.embedder.embed(&[surface]).pop().unwrap_or(UnitVector(Box::default()));
        self.vectors.borrow_mut().insert(surface.to_string(), vector.clone());
        vector
    }

    /// Remembered, since a name that many others are compared with may stand in every document.
    fn context_words(&self, name: i64) -> Result<Rc<BTreeSet<String>>, StoreError> {
        if let Some(words) = self.contexts.borrow().get(&name) {
            return Ok(words.clone());
        }
        let words = Rc::new(self.read_context_words(name)?);
        self.contexts.borrow_mut().insert(name, words.clone());
        Ok(words)
    }

    fn read_context_words(&self, name: i64) -> Result<BTreeSet<String>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT d.title, json_extract(d.meta, '$.tags') FROM mentions m JOIN docs d ON d.id = m.doc_id
             WHERE m.name_id = ?1 GROUP BY d.id ORDER BY d.path LIMIT ?2",
        )?;
        let mut words = BTreeSet::new();
        let mut rows = statement.query(params![name, CONTEXT_DOCS as i64])?;
        while let Some(row) = rows.next()? {
            let (title, tags): (String, Option<String>) = (row.get(0)?, row.get(1)?);
            words.extend(tokens_of(&title));
            words.extend(tokens_of(&tags.unwrap_or_default()));
        }
        Ok(words)
    }
}

impl Surroundings for Likeness<'_> {
    fn cosine(&self, a: &NameFacts, b: &NameFacts) -> f32 {
        crate::embedder::cosine(&self.vector(&a.surface), &self.vector(&b.surface))
    }

    fn context(&self, a: &NameFacts, b: &NameFacts) -> f32 {
        match (self.context_words(a.id), self.context_words(b.id)) {
            (Ok(a), Ok(b)) => context_overlap(&a, &b),
            _ => 0.0,
        }
    }

    fn verdict(&self, a: &NameFacts, b: &NameFacts) -> Option<bool> {
        (self.decisions)(&link_key(&a.norm, &b.norm)).map(|verdict| verdict == Verdict::Accepted)
    }
}
