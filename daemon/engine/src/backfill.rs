//! Backfill: computes the better models' vectors, window by window, after everything else.
//!
//! In: windows of the index that have no better vector yet. Out: vectors in the file of spaces and in memory.
//! Nothing is written to the index, so neither commits nor ticks wait for it: a window's text is identified by its
//! hash, and no text is embedded twice, whatever happens to its window.
//! Invariants: after a kill at any point it continues where it was; equal texts are embedded once; nothing is
//! embedded while the gate is closed; the vectors of a space answer until those of the next one are complete.

mod order;
mod pace;
mod run;
mod tier;
mod turn;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use config::settings::Embed;
use rustc_hash::FxHashMap;

use self::order::Order;
pub use self::order::searched_windows;
pub use self::pace::{BackfillProgress, Pace, RetryWhen, Trouble};
pub use self::run::{Backfilling, Gate, start};
use self::tier::{Share, Tier, shares};
use self::turn::Turns;
use embed::better_text;
use embed::{EmbedError, Embedder, Unrounded, unit_vector};
use index::store::{Held, Readers, Space, Spaces, StoreError};
use index::vectors::Layers;
use model::document::UnitVector;
use model::terms::{ContentHash, Tick};

/// The backfill of one project.
pub struct Backfill {
    file: Spaces,
    /// The wanted models: the first, and one for languages that it does not know.
    wanted: Vec<Tier>,
    /// The previous model, which answers until the first wanted one is complete.
    before: Option<Tier>,
    readers: Arc<Readers>,
    /// The commit at which unused vectors were last deleted from the file.
    swept_at: Option<Tick>,
    /// Set to retry texts that the model refused.
    tries_refused: Arc<AtomicBool>,
    turns: Turns,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Every window of this commit has its vector.
    Full(Tick),
    /// A commit came in between; start a new round.
    Moved,
    /// The gate was closed, and some windows of this commit lack a vector.
    Waits(Tick),
    /// The model cannot be used before this time has passed.
    Later(Duration),
    /// The model cannot be used.
    Broken,
}

/// The outcome of a request to the model.
enum Made {
    Vectors(Vec<UnitVector>),
    /// One of the texts cannot be embedded; embedding them one by one shows which.
    OneByOne,
    Ended(Step),
}

/// A text without a vector, and the windows that contain it.
type Lacking = (ContentHash, Vec<i64>);

/// Pause after a temporary failure of a model that names no time.
const LATER: Duration = Duration::from_secs(30);

impl Backfill {
    /// Opens the backfill of a project. `better` are the models of the settings; `None` if there are none.
    ///
    /// # Errors
    /// When the file of spaces can be neither used nor created.
    pub fn new(
        state_dir: &Path,
        better: Vec<Arc<dyn Embedder>>,
        settings: &Embed,
        readers: &Arc<Readers>,
    ) -> Result<Option<Self>, StoreError> {
        let mut better = better.into_iter();
        let Some(first) = better.next() else { return Ok(None) };
        // With the dimensions of its space. (Another prompt for documents is not stored.)
        let reopen = |space: &Space| {
            let before = Embed {
                model: space.model.clone(),
                dimensions: dimensions_of(&space.name).unwrap_or(settings.dimensions),
                ..settings.clone()
            };
            embed::better(&before).ok().into_iter().flatten().next()
        };
        // Without a better model, the built-in table may still be used unrounded.
        let own = first.space().split('@').next().unwrap_or_default().to_string();
        let model = if settings.model == "none" { &own } else { &settings.model };
        let mut backfill = Self::open(state_dir, model, first, readers.clone(), reopen)?;
        for other in better {
            backfill = backfill.beside(&settings.other_languages, other)?;
        }
        Ok(Some(backfill))
    }

    /// Opens the file of a project. `model` is the value of `embed.model`; `reopen` creates the embedder of an older
    /// space. The largest older space answers until the wanted one is complete, if it has more vectors.
    ///
    /// # Errors
    /// When the file can be neither used nor created.
    pub fn open(
        state_dir: &Path,
        model: &str,
        embedder: Arc<dyn Embedder>,
        readers: Arc<Readers>,
        reopen: impl Fn(&Space) -> Option<Arc<dyn Embedder>>,
    ) -> Result<Self, StoreError> {
        let file = Spaces::open(state_dir)?;
        let space = file.space(embedder.space(), model)?;
        let mut others = Vec::new();
        let n_wanted = file.n_vectors(space.id)?;
        for other in file.list()?.into_iter().filter(|other| other.id != space.id) {
            others.push((file.n_vectors(other.id)?, other));
        }
        others.retain(|(n_vectors, _)| *n_vectors > n_wanted);
        others.sort_by_key(|(n_vectors, other)| std::cmp::Reverse((*n_vectors, other.id)));
        let before = others.into_iter().map(|(_, other)| {
            let wanted = embedder.is_comparable(&other.name).then(|| embedder.clone());
            let reopened = || reopen(&other).and_then(|it| in_space(it, &other.name));
            wanted.or_else(reopened).map(|it| Tier::new(&file, &readers, other, it))
        });
        let before = before.flatten().next().transpose()?;
        let wanted = Tier::new(&file, &readers, space, embedder)?;
        wanted.pace.answers(before.as_ref().map(|tier: &Tier| tier.space.name.clone()));
        let tries_refused = Arc::default();
        // A server computes elsewhere, so it need not take turns with other daemons on this machine.
        let turns = if model == "remote" { Turns::free() } else { Turns::beside(state_dir) };
        let wanted = vec![wanted];
        let backfill =
            Backfill { file, wanted, before, readers, swept_at: None, tries_refused, turns };
        backfill.set_layers();
        Ok(backfill)
    }

    /// Adds a model, with its name in settings, for languages that the models before it do not know.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn beside(mut self, model: &str, embedder: Arc<dyn Embedder>) -> Result<Self, StoreError> {
        let space = self.file.space(embedder.space(), model)?;
        self.before = self.before.filter(|before| before.space.id != space.id);
        self.wanted.push(Tier::new(&self.file, &self.readers, space, embedder)?);
        self.set_layers();
        Ok(self)
    }

    /// Has its file remembered by `held` until it is closed.
    pub fn hold_in(&mut self, held: &Held, state_dir: &Path) {
        self.file.hold_in(held, state_dir);
    }

    fn set_layers(&self) {
        let layer = |tier: &Tier| tier.layer.clone();
        let wanted = self.wanted.iter().map(layer).collect();
        self.readers
            .vectors()
            .set_layers(Layers { before: self.before.as_ref().map(layer), wanted });
    }

    /// Returns the progress of each model.
    pub fn paces(&self) -> Vec<Arc<Pace>> {
        self.wanted.iter().map(|tier| tier.pace.clone()).collect()
    }

    /// Updates the vectors in memory to the last commit, then embeds what is missing, as long as `may_embed` allows.
    pub fn round(&mut self, may_embed: &dyn Fn() -> bool) -> Result<Step, StoreError> {
        let snapshot = self.readers.snapshot()?;
        let tick = snapshot.tick();
        let windows = searched_windows(&snapshot)?;
        drop(snapshot);
        if self.tries_refused.swap(false, Ordering::Relaxed) {
            for tier in &self.wanted {
                self.file.forget_refused(tier.space.id)?;
            }
        }
        let models: Vec<&dyn Embedder> =
            self.wanted.iter().map(|it| it.embedder().as_ref()).collect();
        let shares = shares(&models, &windows);
        if let (Some(before), Some(share)) = (&self.before, shares.first()) {
            self.load(before, tick, &share.windows)?;
        }
        // First everything that is in the file, for all models.
        let mut works = Vec::with_capacity(self.wanted.len());
        for (tier, share) in self.wanted.iter().zip(&shares) {
            let Some(lacking) = self.look(tier, tick, share)? else { return Ok(Step::Moved) };
            works.push((tier, lacking));
        }
        let mut is_broken = false;
        for (at, (tier, lacking)) in works.into_iter().enumerate() {
            match self.fill(tier, tick, lacking, may_embed)? {
                None => {}
                // Without the first model nothing is complete; without another, only the windows that are its own are
                // missing.
                Some(Step::Broken) => is_broken |= at == 0,
                Some(ended) => return Ok(ended),
            }
        }
        Ok(if is_broken { Step::Broken } else { Step::Full(tick) })
    }

    /// Updates one model's vectors in memory to the last commit. Returns the missing texts; `None` if a commit came
    /// in between.
    fn look(
        &self,
        tier: &Tier,
        tick: Tick,
        share: &Share,
    ) -> Result<Option<Vec<Lacking>>, StoreError> {
        let Some((lacking, n_refused)) = self.load(tier, tick, &share.windows)? else {
            return Ok(None);
        };
        let n_windows = share.windows.len();
        let n_lacking = lacking.iter().map(|(_, ids)| ids.len()).sum::<usize>();
        tier.pace.set(n_windows - n_lacking, n_windows);
        tier.pace.set_refused(n_refused);
        Ok(Some(lacking))
    }

    /// Embeds the missing texts of one model. Returns what ended the round, if anything did.
    fn fill(
        &self,
        tier: &Tier,
        tick: Tick,
        lacking: Vec<Lacking>,
        may_embed: &dyn Fn() -> bool,
    ) -> Result<Option<Step>, StoreError> {
        let mut order = Order::new(lacking);
        let n_together = tier.embedder().batch().max(1);
        while order.has_more() {
            if !may_embed() {
                return Ok(Some(Step::Waits(tick)));
            }
            let texts = order.take(n_together, tier.layer.take_met());
            for texts in texts.chunks(n_together) {
                if let Some(ended) = self.embed(tier, tick, texts)? {
                    return Ok(Some(ended));
                }
            }
        }
        if !tier.layer.note_full(tick) {
            return Ok(Some(Step::Moved));
        }
        tier.pace.fill();
        Ok(None)
    }

    /// Adds the vectors that are in the file; returns the texts without one, with their windows, in order, and the
    /// number of windows whose text the model refused. `None` if a commit came in between.
    fn load(
        &self,
        tier: &Tier,
        tick: Tick,
        windows: &[(i64, ContentHash)],
    ) -> Result<Option<(Vec<Lacking>, usize)>, StoreError> {
        let Some(present) = tier.layer.begin(tick) else { return Ok(None) };
        if windows.is_empty() {
            return Ok(tier.layer.clear(tick).then(Default::default));
        }
        let (mut found, mut lacking, mut n_refused) = (Vec::new(), Vec::new(), 0);
        let mut places: FxHashMap<ContentHash, usize> = FxHashMap::default();
        // One that is stored unrounded is written again, which a transaction for reading does not allow.
        let together = tier.unrounded.is_none().then(|| self.file.reading()).transpose()?;
        for (id, hash) in windows.iter().filter(|(id, _)| !present.contains(id)) {
            match self.kept(tier, *hash)? {
                Some(vector) if vector.is_empty() => n_refused += 1,
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
        drop(together);
        Ok(tier.layer.add(tick, &found).then_some((lacking, n_refused)))
    }

    /// Returns the vector of a text from the file, rounding one that is stored unrounded; otherwise as
    /// [`Spaces::get`].
    fn kept(&self, tier: &Tier, hash: ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.file.get(tier.space.id, hash)?;
        let (None, Some(unrounded)) = (&found, tier.unrounded) else { return Ok(found) };
        let floats = self.file.get(unrounded, hash)?.and_then(|it| Unrounded::floats(&it));
        let rounded = floats.map(|it| bytes_of(&unit_vector(&it)));
        if let Some(bytes) = &rounded {
            self.file.put(tier.space.id, hash, bytes)?;
        }
        Ok(rounded)
    }

    /// Embeds texts and assigns the vectors to their windows. Returns what ended the round, if anything did.
    fn embed(
        &self,
        tier: &Tier,
        tick: Tick,
        lacking: &[(ContentHash, Vec<i64>)],
    ) -> Result<Option<Step>, StoreError> {
        let mut texts = Vec::with_capacity(lacking.len());
        for (hash, ids) in lacking {
            let text = self.text_of(ids)?;
            // The document has changed since, so the text is not the one that the hash names.
            match text.filter(|text| ContentHash::of(text.as_bytes()) == *hash) {
                Some(text) => texts.push(text),
                None => return Ok(Some(Step::Moved)),
            }
        }
        let given: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = match Self::ask(tier, &given) {
            Made::Vectors(vectors) => vectors,
            Made::OneByOne => {
                let mut each = lacking.chunks(1).map(|one| self.embed(tier, tick, one));
                return each.find_map(Result::transpose).transpose();
            }
            Made::Ended(step) => return Ok(Some(step)),
        };
        for ((hash, ids), vector) in lacking.iter().zip(&vectors) {
            if !self.keep(tier, tick, *hash, ids, vector)? {
                return Ok(Some(Step::Moved));
            }
        }
        Ok(None)
    }

    /// Asks the model for one vector per text; an empty one for a single text that cannot be embedded.
    fn ask(tier: &Tier, given: &[&str]) -> Made {
        let embedder = tier.embedder();
        let vectors = match tier.pace.timed(given.len(), || embedder.try_embed(given)) {
            Ok(vectors) if vectors.len() == given.len() => vectors,
            Ok(_) => return Made::Ended(broken(tier, "it gave another number of vectors")),
            Err(EmbedError::Text { why }) if given.len() == 1 => {
                tracing::warn!(why, "a text has no better vector");
                vec![UnitVector(Vec::new().into())]
            }
            // Embedding them one by one shows which one it is.
            Err(EmbedError::Text { .. }) => return Made::OneByOne,
            Err(EmbedError::Later { why, after }) => {
                let after = after.unwrap_or(LATER);
                tier.pace.fail(Some(Trouble { why, again: RetryWhen::At(Instant::now() + after) }));
                return Made::Ended(Step::Later(after));
            }
            Err(EmbedError::Model { why }) => return Made::Ended(broken(tier, &why)),
        };
        let n_bytes = if embedder.keeps_floats() { size_of::<f32>() } else { 1 };
        let n_bytes = n_bytes * embedder.dimensions();
        let is_sound = |it: &UnitVector| it.0.is_empty() || it.0.len() == n_bytes;
        if !vectors.iter().all(is_sound) {
            return Made::Ended(broken(tier, "it gave a vector of another length"));
        }
        tier.pace.fail(None);
        tier.layer.note_success();
        Made::Vectors(vectors)
    }

    /// Stores a vector and assigns it to the windows of its text; an empty one only marks the text as refused.
    /// Returns false if a commit came in between.
    fn keep(
        &self,
        tier: &Tier,
        tick: Tick,
        hash: ContentHash,
        ids: &[i64],
        vector: &UnitVector,
    ) -> Result<bool, StoreError> {
        let bytes = bytes_of(vector);
        self.file.put(tier.space.id, hash, &bytes)?;
        let rows: Vec<(i64, Vec<u8>)> = match bytes.is_empty() {
            true => Vec::new(),
            false => ids.iter().map(|id| (*id, bytes.clone())).collect(),
        };
        let added = tier.layer.add(tick, &rows);
        if added {
            tier.pace.add(ids.len());
            tier.pace.add_refused(if bytes.is_empty() { ids.len() } else { 0 });
        }
        Ok(added)
    }

    /// Returns whether a model that failed may be tried again.
    fn may_recover(&self) -> bool {
        self.wanted.iter().any(|tier| tier.embedder().may_recover())
    }

    /// Returns the text that the model reads for the first of these windows, if that exists.
    fn text_of(&self, ids: &[i64]) -> Result<Option<String>, StoreError> {
        let Some(id) = ids.first() else { return Ok(None) };
        let snapshot = self.readers.snapshot()?;
        let Some(window) = snapshot.windows().get(*id)? else { return Ok(None) };
        let Some(chunk) = snapshot.chunks().get(window.chunk)? else { return Ok(None) };
        let label = snapshot.documents().labels([chunk.doc])?.remove(&chunk.doc);
        let Some(label) = label else { return Ok(None) };
        let chunk = index::read::Chunk { start: window.start, end: window.end, ..chunk };
        let text = snapshot.chunks().text(&chunk)?;
        Ok(Some(better_text(&label.title, &chunk.section, &text)))
    }

    /// Stops answering from the older space, once the wanted one is complete.
    pub fn retire(&mut self) {
        if self.before.take().is_some() {
            self.wanted.iter().for_each(|tier| tier.pace.answers(None));
            self.set_layers();
        }
    }

    /// Deletes the vectors of other spaces, and of texts that no longer exist. Call it once everything is complete.
    pub fn tidy(&mut self, tick: Tick) -> Result<(), StoreError> {
        if self.swept_at == Some(tick) {
            return Ok(());
        }
        let kept = self.readers.snapshot()?.windows().hashes()?;
        let wanted: Vec<i64> = self.wanted.iter().map(|tier| tier.space.id).collect();
        let n_gone = self.file.sweep(&wanted, &kept)?;
        self.swept_at = Some(tick);
        tracing::debug!(n_gone, "vectors of texts that are gone were deleted");
        Ok(())
    }
}

fn broken(tier: &Tier, why: &str) -> Step {
    tracing::error!(why, model = tier.space.model, "the better embedding model cannot be used");
    let may_recover = tier.embedder().may_recover();
    let again = if may_recover { RetryWhen::WhenWanted } else { RetryWhen::AtStart };
    tier.pace.fail(Some(Trouble { why: why.to_string(), again }));
    Step::Broken
}

/// Returns the model, or its unrounded form, if that makes the vectors of `space`.
fn in_space(model: Arc<dyn Embedder>, space: &str) -> Option<Arc<dyn Embedder>> {
    match model.space() == space {
        true => Some(model),
        false => Some(Arc::new(Unrounded::of(model)) as Arc<dyn Embedder>)
            .filter(|unrounded| unrounded.space() == space),
    }
}

/// Returns the dimensions in the name of a space, such as `model@hash/256/i8x254`, which may end in a mark of a
/// prompt.
fn dimensions_of(space: &str) -> Option<u32> {
    space.rsplit('/').skip(1).take(2).find_map(|part| part.parse().ok())
}

fn bytes_of(vector: &UnitVector) -> Vec<u8> {
    vector.0.iter().map(|component| component.cast_unsigned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) mod rounds;

    #[test]
    fn an_earlier_space_of_the_built_in_model_answers_until_the_new_one_is_complete() {
        let bench = index::store::testing::Bench::new();
        let before = |earlier: &str| {
            let folder = tempfile::tempdir().expect("a folder");
            let file = Spaces::open(folder.path()).expect("created");
            let space = file.space(earlier, "minilm-l6").expect("added");
            file.put(space.id, ContentHash(1), &[1; 384]).expect("stored");
            let model = embed::better(&Embed::default()).expect("it is built in").remove(0);
            let readers = bench.writer.readers();
            let backfill = Backfill::open(folder.path(), "minilm-l6", model, readers, |_| None);
            backfill.expect("opened").before.map(|tier| tier.space.name)
        };
        let earlier = "all-MiniLM-L6-v2@1/i8x254";
        assert_eq!(before(earlier).as_deref(), Some(earlier));
        assert_eq!(before("another@1/i8x254"), None);
    }

    #[test]
    fn the_name_of_a_space_tells_its_components() {
        let table = [
            ("multilingual-e5-small@0123abcd/384/i8x254", Some(384)),
            ("m@0123abcd/128/p77aa0123/f32", Some(128)),
            ("all-MiniLM-L6-v2@2/i8x254", None),
            ("owner/m@x/i8x254", None),
        ];
        for (space, expected) in table {
            assert_eq!(dimensions_of(space), expected, "{space}");
        }
    }
}
