//! Likeness: looks up how alike two names are, for Resolve.
//!
//! In: names by their rows. Out: cosines, context overlaps, verdicts.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rusqlite::{Connection, params};
use rustc_hash::FxHashMap;

use super::StoreError;
use super::ledger::{Verdict, link_key};
use embed::Embedder;
use extract::link::features::context_overlap;
use extract::link::resolve::{NameFacts, Surroundings, Usage};
use model::document::{AliasSource, UnitVector};
use model::terms::tokens_of;

/// Documents read for a name's context, in order of path, so that the choice is the same in every index.
const CONTEXT_DOCS: usize = 8;

/// Everything that Resolve needs besides the facts; also used to explain a link to a person. Caches what it reads.
pub struct Likeness<'a> {
    db: &'a Connection,
    embedder: &'a dyn Embedder,
    decisions: &'a dyn Fn(&str) -> Option<Verdict>,
    vectors: RefCell<FxHashMap<String, Rc<UnitVector>>>,
    contexts: RefCell<FxHashMap<i64, Rc<BTreeSet<String>>>>,
    usages: RefCell<FxHashMap<i64, Rc<Usage>>>,
}

impl<'a> Likeness<'a> {
    /// Reads contexts from `db` and verdicts from `decisions`, by [`link_key`].
    pub(crate) fn new(
        db: &'a Connection,
        embedder: &'a dyn Embedder,
        decisions: &'a dyn Fn(&str) -> Option<Verdict>,
    ) -> Self {
        let (vectors, contexts, usages) = Default::default();
        Likeness { db, embedder, decisions, vectors, contexts, usages }
    }

    fn vector(&self, surface: &str) -> Rc<UnitVector> {
        if let Some(vector) = self.vectors.borrow().get(surface) {
            return vector.clone();
        }
        let vector = self.embedder.embed(&[surface]).pop();
        let vector = Rc::new(vector.unwrap_or(UnitVector(Box::default())));
        self.vectors.borrow_mut().insert(surface.to_string(), vector.clone());
        vector
    }

    /// Cached, since a name that many others are compared with may occur in every document.
    fn context_words(&self, name: &NameFacts) -> Result<Rc<BTreeSet<String>>, StoreError> {
        if let Some(words) = self.contexts.borrow().get(&name.id) {
            return Ok(words.clone());
        }
        let words = Rc::new(self.read_context_words(&name.norm)?);
        self.contexts.borrow_mut().insert(name.id, words.clone());
        Ok(words)
    }

    /// Reads the documents of all senses: which of them have one already depends on history.
    fn read_context_words(&self, norm: &str) -> Result<BTreeSet<String>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT d.title, json_extract(d.meta, '$.tags')
             FROM names n JOIN mentions m ON m.name_id = n.id JOIN docs d ON d.id = m.doc_id
             WHERE n.norm = ?1 GROUP BY d.id ORDER BY d.path LIMIT ?2",
        )?;
        let mut words = BTreeSet::new();
        let mut rows = statement.query(params![norm, CONTEXT_DOCS as i64])?;
        while let Some(row) = rows.next()? {
            let (title, tags): (String, Option<String>) = (row.get(0)?, row.get(1)?);
            words.extend(tokens_of(&title));
            words.extend(tokens_of(&tags.unwrap_or_default()));
        }
        Ok(words)
    }
}

/// One document's use of a name for another (an alias).
struct Use {
    doc: i64,
    source: AliasSource,
    target: i64,
}

impl Likeness<'_> {
    fn decided(&self, a: &str, b: &str) -> Option<Verdict> {
        // The direction of the link may have changed since a person decided.
        let either = [link_key(a, b), link_key(b, a)];
        either.iter().find_map(|key| (self.decisions)(key))
    }

    fn read_usage(&self, name: &NameFacts) -> Result<Usage, StoreError> {
        let uses = self.uses(name)?;
        if uses.is_empty() {
            return Ok(Usage::default());
        }
        let targets =
            |of: &mut dyn Iterator<Item = &Use>| of.map(|it| it.target).collect::<BTreeSet<i64>>();
        let all = targets(&mut uses.iter());
        // A shortened form (`Miller` for `Ann Miller`) is valid in its document only; other sources speak for the
        // folder.
        let is_wide = |it: &&Use| it.source != AliasSource::Shortened;
        let wide = targets(&mut uses.iter().filter(is_wide));
        let mut by_doc = Vec::new();
        for of_doc in uses.chunk_by(|a, b| a.doc == b.doc) {
            // Only the most trusted source of a document counts, and only if it names one target.
            let best = of_doc.first().map(|it| it.source);
            let named = targets(&mut of_doc.iter().filter(|it| Some(it.source) == best));
            if let (Some(target), 1, Some(it)) = (named.first(), named.len(), of_doc.first()) {
                by_doc.push((it.doc, *target));
            }
        }
        let is_everywhere = !wide.is_empty() || self.is_in_these_only(name, &by_doc)?;
        // The name stands for one other everywhere; or for one of several where a document says nothing; or in some
        // documents only.
        let only = match all.len() {
            1 => all.first().copied(),
            // A handle is one person's, however others write the name.
            _ => self.bearer(&uses)?,
        };
        Ok(match only {
            Some(target) if is_everywhere => Usage { everywhere: Some(target), ..Usage::default() },
            _ => {
                let elsewhere = if is_everywhere { self.ordered(&all)? } else { Vec::new() };
                Usage { everywhere: None, elsewhere, by_doc }
            }
        })
    }

    /// Returns the name beside which a handle stands in most documents; ties go to the smaller norm. `None` if the name
    /// is no handle.
    fn bearer(&self, uses: &[Use]) -> Result<Option<i64>, StoreError> {
        let handles = uses.iter().filter(|it| it.source == AliasSource::Handle);
        let targets: Vec<i64> = handles.map(|it| it.target).collect();
        let n_docs = |name: i64| targets.iter().filter(|it| **it == name).count();
        let ordered = self.ordered(&targets.iter().copied().collect())?;
        Ok(ordered.into_iter().rev().max_by_key(|name| n_docs(*name)))
    }

    /// Returns the uses of the name, by document, the most trusted first, without those that a person rejected.
    fn uses(&self, name: &NameFacts) -> Result<Vec<Use>, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT a.doc_id, a.source, t.id, t.norm FROM aliases a
             JOIN names t ON t.norm = a.target AND t.sense = 0 WHERE a.norm = ?1 AND a.target <> ?1
             ORDER BY a.doc_id, a.source, a.target",
        )?;
        let mut out = Vec::new();
        let mut rows = statement.query([&name.norm])?;
        while let Some(row) = rows.next()? {
            let source = AliasSource::from_code(row.get(1)?);
            let norm: String = row.get(3)?;
            // `Paula Pault (@paulapaul)`: words that are written as a name are no handle of another.
            let is_name = source == AliasSource::Handle && name.surface.contains(' ');
            if !is_name && self.decided(&name.norm, &norm) != Some(Verdict::Rejected) {
                out.push(Use { doc: row.get(0)?, source, target: row.get(2)? });
            }
        }
        Ok(out)
    }

    /// Returns whether only these documents, sorted by id, mention the name.
    fn is_in_these_only(&self, name: &NameFacts, docs: &[(i64, i64)]) -> Result<bool, StoreError> {
        let mut statement = self.db.prepare_cached(
            "SELECT DISTINCT m.doc_id FROM names n JOIN mentions m ON m.name_id = n.id WHERE n.norm = ?1",
        )?;
        let mut rows = statement.query([&name.norm])?;
        while let Some(row) = rows.next()? {
            let doc: i64 = row.get(0)?;
            if docs.binary_search_by_key(&doc, |it| it.0).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns rows of names ordered by norm: row ids differ after a rebuild.
    fn ordered(&self, names: &BTreeSet<i64>) -> Result<Vec<i64>, StoreError> {
        let mut statement = self.db.prepare_cached("SELECT norm FROM names WHERE id = ?1")?;
        let mut out: Vec<(String, i64)> = Vec::with_capacity(names.len());
        for name in names {
            out.push((statement.query_row([name], |row| row.get(0))?, *name));
        }
        out.sort();
        Ok(out.into_iter().map(|(_, name)| name).collect())
    }
}

impl Surroundings for Likeness<'_> {
    fn cosine(&self, a: &NameFacts, b: &NameFacts) -> f32 {
        embed::cosine(&self.vector(&a.surface), &self.vector(&b.surface))
    }

    fn context(&self, a: &NameFacts, b: &NameFacts) -> f32 {
        match (self.context_words(a), self.context_words(b)) {
            (Ok(a), Ok(b)) => context_overlap(&a, &b),
            _ => 0.0,
        }
    }

    fn usage(&self, name: &NameFacts) -> Rc<Usage> {
        if let Some(usage) = self.usages.borrow().get(&name.id) {
            return usage.clone();
        }
        let usage = Rc::new(self.read_usage(name).unwrap_or_default());
        self.usages.borrow_mut().insert(name.id, usage.clone());
        usage
    }

    fn verdict(&self, a: &NameFacts, b: &NameFacts) -> Option<bool> {
        self.decided(&a.norm, &b.norm).map(|verdict| verdict == Verdict::Accepted)
    }
}
