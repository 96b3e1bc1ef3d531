//! Facts: the vectors of what memory states, by the hash of its text.
//!
//! In: facts of the index. Out: their vectors in the file of spaces and in memory.
//! Not here: vectors of windows (`backfill.rs`), searching (`query/memory`).

use rustc_hash::FxHashSet;

use super::tier::Tier;
use super::{Backfill, Made, Step, bytes_of, hash_of};
use index::store::StoreError;
use model::terms::ContentHash;

impl Backfill {
    /// Adds the vectors that the file holds of facts that the model takes, by whether they may be English; returns the
    /// texts that it does not hold.
    pub(super) fn load_facts(
        &self,
        tier: &Tier,
        takes: impl Fn(bool) -> bool,
    ) -> Result<Vec<(ContentHash, String)>, StoreError> {
        let (mut kept, mut new) = (FxHashSet::default(), Vec::new());
        let snapshot = self.readers.snapshot()?;
        tier.layer.with_facts(|known| {
            each_fact(&snapshot, |hash, content, may_be_english| {
                if takes(may_be_english) && kept.insert(hash) && !known.contains_key(&hash) {
                    new.push((hash, content.to_string()));
                }
            })
        })?;
        drop(snapshot);
        let (mut found, mut lacking) = (Vec::new(), Vec::new());
        for (hash, content) in new {
            match self.kept(tier, hash)? {
                Some(vector) => found.push((hash, vector)),
                None => lacking.push((hash, content)),
            }
        }
        tier.layer.keep_facts(&kept, found);
        Ok(lacking)
    }

    /// Embeds facts. What ended the round, if something did.
    pub(super) fn embed_facts(
        &self,
        tier: &Tier,
        lacking: &[(ContentHash, String)],
    ) -> Result<Option<Step>, StoreError> {
        let given: Vec<&str> = lacking.iter().map(|(_, content)| content.as_str()).collect();
        let vectors = match Self::ask(tier, &given) {
            Made::Vectors(vectors) => vectors,
            Made::OneByOne => {
                let mut each = lacking.chunks(1).map(|one| self.embed_facts(tier, one));
                return each.find_map(Result::transpose).transpose();
            }
            Made::Ended(step) => return Ok(Some(step)),
        };
        for ((hash, _), vector) in lacking.iter().zip(&vectors) {
            let bytes = bytes_of(vector);
            self.file.put(tier.space.id, *hash, &bytes)?;
            tier.layer.add_fact(*hash, &bytes);
            tier.pace.add_fact();
            tier.pace.add_refused(usize::from(bytes.is_empty()));
        }
        Ok(None)
    }
}

/// Calls `each` with what the nodes of memory state: the hash of its text, the text, and whether that may be English.
pub(super) fn each_fact(
    db: &rusqlite::Connection,
    mut each: impl FnMut(ContentHash, &str, bool),
) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(
        "SELECT f.hash, f.content, d.language IN ('', 'en') FROM memory_facts f
         JOIN memory_nodes n ON n.doc_id = f.doc_id JOIN docs d ON d.id = f.doc_id WHERE n.is_node",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        each(hash_of(row.get(0)?), row.get_ref(1)?.as_str()?, row.get(2)?);
    }
    Ok(())
}
