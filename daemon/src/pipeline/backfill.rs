//! Backfill: makes the better model's vectors, window by window, after everything else.
//!
//! In: windows of the index that have no better vector yet. Out: vectors in the file of spaces and in memory.
//! Nothing is written to the index, so neither commits nor ticks wait for it: a window's text is known by its hash, and
//! what was embedded once is never embedded again, whatever becomes of the window.
//! Invariants: killed at any point, it goes on where it was; equal texts are embedded once; nothing is embedded while
//! the gate is closed; the vectors of a space answer until those of the next one are all there.
//! Not here: which vector a question counts (`ask/recall.rs`), the models (`embedder/`).

mod pace;
mod run;

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{OptionalExtension, params};
use rustc_hash::{FxHashMap, FxHashSet};

pub use self::pace::{Pace, Stand};
pub use self::run::{Backfilling, Gate, start};
use crate::embedder::{EmbedError, Embedder};
use crate::pipeline::embed::better_text;
use crate::store::{Readers, Space, Spaces, StoreError};
use crate::terms::{ContentHash, Tick};
use crate::vectors::Layer;

/// Windows of one space.
struct Tier {
    space: Space,
    layer: Arc<Layer>,
}

/// What is made, and from what.
pub struct Backfill {
    file: Spaces,
    /// The model that is wanted.
    wanted: Tier,
    /// The one before, which answers until the wanted one is full.
    before: Option<Tier>,
    readers: Arc<Readers>,
    pace: Arc<Pace>,
    /// The commit at which the file was last freed of what nobody needs.
    swept_at: Option<Tick>,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Every window of this commit has its vector.
    Full(Tick),
    /// A commit came in between: look again.
    Moved,
    /// The gate was closed, and something is left of this commit.
    Waits(Tick),
    /// The model cannot be asked for now.
    Later(Duration),
    /// The model cannot be used.
    Broken,
}

/// How long a model that cannot be asked is left alone, where it does not say.
const LATER: Duration = Duration::from_secs(30);

impl Backfill {
    /// Opens the file of a project. `model` is what `embed.model` says; `reopen` makes the embedder of an earlier
    /// value.
    ///
    /// # Errors
    /// When the file can neither be used nor made.
    pub fn open(
        state_dir: &std::path::Path,
        (model, embedder): (&str, Arc<dyn Embedder>),
        readers: Arc<Readers>,
        reopen: impl Fn(&str) -> Option<Arc<dyn Embedder>>,
    ) -> Result<Self, StoreError> {
        let file = Spaces::open(state_dir)?;
        let space = file.space(embedder.space(), model)?;
        let pace = Arc::new(Pace::new(model, embedder.space()));
        let before =
            file.list()?.into_iter().rev().filter(|other| other.id != space.id).find_map(|other| {
                let embedder = reopen(&other.model).filter(|it| it.space() == other.name)?;
                Some(Tier { space: other, layer: Arc::new(Layer::new(embedder)) })
            });
        pace.answers(before.as_ref().map(|tier: &Tier| tier.space.name.clone()));
        let wanted = Tier { space, layer: Arc::new(Layer::new(embedder)) };
        let layers = before.iter().chain([&wanted]).map(|tier| tier.layer.clone()).collect();
        readers.vectors().set_layers(layers);
        Ok(Backfill { file, wanted, before, readers, pace, swept_at: None })
    }

    /// How far it is.
    pub fn pace(&self) -> &Arc<Pace> {
        &self.pace
    }

    /// Brings memory in line with the last commit, then embeds what lacks, as long as `may_embed` says so.
    ///
    /// # Errors
    /// When index or file cannot be read or written.
    pub fn round(&mut self, may_embed: &dyn Fn() -> bool) -> Result<Step, StoreError> {
        let snapshot = self.readers.snapshot()?;
        let tick = snapshot.tick();
        let windows = searched_windows(&snapshot)?;
        drop(snapshot);
        if let Some(before) = &self.before {
            self.load(before, tick, &windows)?;
        }
        let Some(lacking) = self.load(&self.wanted, tick, &windows)? else {
            return Ok(Step::Moved);
        };
        self.pace.set(
            windows.len() - lacking.iter().map(|(_, ids)| ids.len()).sum::<usize>(),
            windows.len(),
        );
        for (hash, ids) in lacking {
            if !may_embed() {
                return Ok(Step::Waits(tick));
            }
            if let Some(ended) = self.embed(tick, (hash, &ids))? {
                return Ok(ended);
            }
        }
        if !self.wanted.layer.note_full(tick) {
            return Ok(Step::Moved);
        }
        self.pace.fill();
        Ok(Step::Full(tick))
    }

    /// Adds the vectors that the file holds; returns the texts it does not hold, with the windows they stand in, those
    /// of the first windows first. None when a commit came in between.
    fn load(
        &self,
        tier: &Tier,
        tick: Tick,
        windows: &[(i64, ContentHash)],
    ) -> Result<Option<Vec<(ContentHash, Vec<i64>)>>, StoreError> {
        let Some(present) = tier.layer.begin(tick) else { return Ok(None) };
        let (mut found, mut lacking) = (Vec::new(), Vec::new());
        let mut places: FxHashMap<ContentHash, usize> = FxHashMap::default();
        for (id, hash) in windows.iter().filter(|(id, _)| !present.contains(id)) {
            match self.file.get(tier.space.id, *hash)? {
                // It cannot be embedded.
                Some(vector) if vector.is_empty() => {}
                Some(vector) => found.push((*id, vector)),
                None => {
                    let place = *places.entry(*hash).or_insert(lacking.len());
                    if place == lacking.len() {
                        lacking.push((*hash, Vec::new()));
                    }
                    if let Some((_, ids)) = lacking.get_mut(place) {
                        ids.push(*id);
                    }
                }
            }
        }
        Ok(tier.layer.add(tick, &found).then_some(lacking))
    }

    /// Embeds one text and gives its vector to the windows it stands in. What ended the round, if something did.
    fn embed(
        &self,
        tick: Tick,
        (hash, ids): (ContentHash, &[i64]),
    ) -> Result<Option<Step>, StoreError> {
        let Some(text) = self.text_of(ids)?.filter(|text| ContentHash::of(text.as_bytes()) == hash)
        else {
            return Ok(Some(Step::Moved));
        };
        let embedder = self.wanted.layer.embedder();
        let embedded = self.pace.timed(|| embedder.try_embed(&[&text]));
        let vector = match embedded.map(|mut vectors| vectors.pop()) {
            Ok(Some(vector)) if vector.0.len() == embedder.dimensions() => {
                vector.0.iter().map(|component| component.cast_unsigned()).collect()
            }
            Ok(_) => return Ok(Some(self.broken("it gave a vector of another length"))),
            Err(EmbedError::Text { why }) => {
                tracing::warn!(why, "a text has no better vector");
                Vec::new()
            }
            Err(EmbedError::Later { why, after }) => {
                self.pace.fail(Some(why));
                return Ok(Some(Step::Later(after.unwrap_or(LATER))));
            }
            Err(EmbedError::Model { why }) => return Ok(Some(self.broken(&why))),
        };
        self.pace.fail(None);
        self.file.put(self.wanted.space.id, hash, &vector)?;
        let rows: Vec<(i64, Vec<u8>)> = match vector.is_empty() {
            true => Vec::new(),
            false => ids.iter().map(|id| (*id, vector.clone())).collect(),
        };
        if !self.wanted.layer.add(tick, &rows) {
            return Ok(Some(Step::Moved));
        }
        self.pace.add(ids.len());
        Ok(None)
    }

    fn broken(&self, why: &str) -> Step {
        tracing::error!(why, "the better embedding model cannot be used");
        self.pace.fail(Some(why.to_string()));
        Step::Broken
    }

    /// What the model reads of the first of these windows that is still there.
    fn text_of(&self, ids: &[i64]) -> Result<Option<String>, StoreError> {
        let Some(id) = ids.first() else { return Ok(None) };
        self.readers.look(|db| {
            let sql = "SELECT d.title, c.section, d.text, w.start, w.end FROM chunk_vec_map w
                       JOIN chunks c ON c.id = w.chunk_id JOIN docs d ON d.id = c.doc_id WHERE w.id = ?1";
            let row = db.prepare_cached(sql)?.query_row(params![id], |row| {
                let (title, section, text): (String, String, String) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                let span = row.get::<_, i64>(3)? as usize..row.get::<_, i64>(4)? as usize;
                Ok(better_text(&title, &section, text.get(span).unwrap_or_default()))
            });
            row.optional()
        })
    }

    /// Everything is there: the space before answers no more.
    pub fn retire(&mut self) {
        if self.before.take().is_some() {
            self.pace.answers(None);
            self.readers.vectors().set_layers(vec![self.wanted.layer.clone()]);
        }
    }

    /// Everything is there: deletes the vectors of other spaces, and of texts that are gone.
    ///
    /// # Errors
    /// When index or file cannot be read or written.
    pub fn tidy(&mut self, tick: Tick) -> Result<(), StoreError> {
        if self.swept_at == Some(tick) {
            return Ok(());
        }
        let kept = self.readers.look(|db| {
            let mut statement = db.prepare("SELECT hash FROM chunk_vec_map")?;
            let rows = statement.query_map([], |row| row.get(0).map(hash_of))?;
            rows.collect::<Result<FxHashSet<ContentHash>, _>>()
        })?;
        let n_gone = self.file.sweep(self.wanted.space.id, &kept)?;
        self.swept_at = Some(tick);
        tracing::debug!(n_gone, "vectors of texts that are gone were deleted");
        Ok(())
    }
}

fn hash_of(bytes: [u8; 16]) -> ContentHash {
    ContentHash(u128::from_le_bytes(bytes))
}

/// The windows that are searched, in the order of their rows.
fn searched_windows(db: &rusqlite::Connection) -> rusqlite::Result<Vec<(i64, ContentHash)>> {
    let mut statement =
        db.prepare_cached("SELECT id, hash FROM chunk_vec_map WHERE aside IS NULL ORDER BY id")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, hash_of(row.get(1)?))))?;
    rows.collect()
}
