//! Nearness: the similarity of windows to a question, by the best vector of each.
//!
//! In: a question; the static vectors, which every window that may be English has, and those of the
//! better models, as far as they exist. Out: one number per chunk, all on one scale, that of the
//! built-in English model: by a better model if the window has such a vector, else by the static one.
//! Cosines of two spaces cannot be compared, so each model maps its own to that scale
//! (`Embedder::nearness`). If a window has several better vectors, the highest number counts: a
//! question may be in another language than the window, which not every model understands.
//! Invariants: with all better vectors the static ones have no influence; with none, the better
//! ones have none.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::plan::question::Question;
use crate::plan::within::{Among, both};
use crate::{AskError, QueryContext};
use embed::{Embedder, Unrounded, cosine};
use index::read::Window;
use index::vectors::{Layer, View};
use model::document::UnitVector;

/// Windows searched per wanted chunk: several windows of one chunk may be near.
const WINDOWS_A_CHUNK: usize = 3;

/// Most windows per question whose better vectors are then computed before others: about a page of
/// hits.
const MET_A_QUESTION: usize = 20;

/// Up to this many chunks that meet a demand are searched separately; of more, some are among the
/// nearest of all.
const MAX_MATCHING: usize = 5_000;

/// A question's vectors.
pub(crate) struct QuestionVectors {
    plain: Option<UnitVector>,
    /// Those of the better models.
    better: Vec<Space>,
}

/// A question in the space of one model.
struct Space {
    layer: Arc<Layer>,
    view: Arc<View>,
    question: UnitVector,
    /// False for the static model with unrounded vectors.
    is_other_model: bool,
}

/// A chunk with its best window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Near {
    pub chunk: i64,
    pub nearness: f32,
    /// Whether the nearness comes from the better model.
    pub is_better: bool,
}

/// A window: row id, nearness, whether that comes from the better model.
type Scored = (i64, f32, bool);

impl QuestionVectors {
    fn new(ctx: &QueryContext<'_>, question: &Question) -> Option<Self> {
        let knows = |model: &dyn Embedder| !(question.is_foreign && model.is_english_only());
        let text = question.text.as_str();
        let plain = knows(ctx.embedder)
            .then(|| ctx.embedder.embed(&[text]).pop())
            .flatten()
            .filter(has_length);
        let layers = ctx.snapshot.layers().into_iter();
        let spaces = layers.filter(|(layer, _)| knows(layer.embedder().as_ref()));
        let spaces = spaces.filter_map(|(layer, view)| {
            let question = layer.question(text).inspect_err(
                |error| tracing::debug!(%error, "a question is answered without this model"),
            );
            let question = question.ok().filter(has_length)?;
            let unrounded = Unrounded::space_of(ctx.embedder.space());
            let is_other_model = layer.embedder().space() != unrounded;
            Some(Space { layer, view, question, is_other_model })
        });
        let better: Vec<Space> = spaces.collect();
        (plain.is_some() || !better.is_empty()).then_some(QuestionVectors { plain, better })
    }

    /// Returns the vector spaces of the better models that answer.
    pub(crate) fn better_spaces(&self) -> Vec<&str> {
        let others = self.better.iter().filter(|space| space.is_other_model);
        others.map(|space| space.layer.embedder().space()).collect()
    }

    /// Returns each better space: its model, its vectors, and the question in it.
    pub(super) fn better_views(&self) -> impl Iterator<Item = (&dyn Embedder, &View, &UnitVector)> {
        self.better.iter().map(|it| (it.layer.embedder().as_ref(), &*it.view, &it.question))
    }

    /// Returns the question's static vector.
    pub(crate) fn plain(&self) -> Option<&UnitVector> {
        self.plain.as_ref()
    }

    /// Returns the nearness of windows by the better models: of those that `cosines` finds with each.
    fn by_better<C: IntoIterator<Item = (i64, f32)>>(
        &self,
        cosines: impl Fn(&Space) -> C,
    ) -> FxHashMap<i64, f32> {
        let mut near: FxHashMap<i64, f32> = FxHashMap::default();
        for space in &self.better {
            for (id, cosine) in cosines(space) {
                let nearness = space.layer.embedder().nearness(cosine);
                near.entry(id).and_modify(|it| *it = it.max(nearness)).or_insert(nearness);
            }
        }
        near
    }

    /// Returns whether no window lacks a better vector.
    fn is_full(&self, ctx: &QueryContext<'_>) -> bool {
        let tick = ctx.snapshot.tick();
        !self.better.is_empty()
            && ctx.snapshot.has_all_better_vectors()
            && self.better.iter().all(|space| space.layer.is_full_at(tick))
    }
}

fn has_length(vector: &UnitVector) -> bool {
    vector.0.iter().any(|component| *component != 0)
}

/// Returns the chunks nearest to the question, nearest first, among those that are allowed and meet
/// its demand. `None` if the question has no vector.
pub(crate) fn ask(
    ctx: &QueryContext<'_>,
    question: &Question,
    depth: usize,
    allowed: &Among,
    matching: &Among,
) -> Result<Option<(QuestionVectors, Vec<Near>)>, AskError> {
    let Some(asked) = stage!("embed", QuestionVectors::new(ctx, question)) else {
        return Ok(None);
    };
    let windows = ctx.snapshot.windows();
    let allowed = allowed.as_ref().map(|chunks| windows.of_chunks(chunks)).transpose()?;
    let matching = matching.as_ref().filter(|chunks| chunks.len() <= MAX_MATCHING);
    // Search among the matching chunks; the nearest of all may contain none of them.
    let matching = matching.map(|chunks| windows.of_chunks(chunks)).transpose()?;
    let among = both(allowed, matching);
    let wanted = depth * WINDOWS_A_CHUNK;
    let nearest = stage!("scan", nearest_windows(ctx, &asked, wanted, among.as_ref()))?;
    let mut found: Vec<Near> = Vec::new();
    let mut seen = FxHashSet::default();
    let has_model = has_better_model(ctx);
    for (id, nearness, is_better) in nearest {
        let is_better = is_better && has_model;
        let Some(Window { chunk, .. }) = windows.get(id)? else { continue };
        if seen.insert(chunk) {
            found.push(Near { chunk, nearness, is_better });
        }
        if found.len() == depth {
            break;
        }
    }
    Ok(Some((asked, found)))
}

/// Returns whether the project has a better model. The built-in table with unrounded vectors
/// (`vectors.precision: float32`) does not count.
pub(crate) fn has_better_model(ctx: &QueryContext<'_>) -> bool {
    ctx.settings.embed.model != "none"
}

/// Returns the nearest windows, nearest first.
fn nearest_windows(
    ctx: &QueryContext<'_>,
    asked: &QuestionVectors,
    wanted: usize,
    among: Option<&FxHashSet<i64>>,
) -> Result<Vec<Scored>, AskError> {
    let tick = ctx.snapshot.tick();
    let mut near = asked.by_better(|space| {
        let found = space.view.nearest(&space.question.0, tick, wanted, among);
        found.into_iter().map(|it| (it.id, it.cosine))
    });
    let mut scored: Vec<Scored> = Vec::new();
    if let Some(question) = asked.plain().filter(|_| !asked.is_full(ctx)) {
        let plain = ctx.snapshot.nearest(question, wanted, among)?;
        let others = plain.iter().map(|it| it.id).filter(|id| !near.contains_key(id)).collect();
        near.extend(asked.by_better(|it| it.view.cosines_of(&others, &it.question.0, tick)));
        let lacking = plain.into_iter().filter(|it| !near.contains_key(&it.id));
        scored.extend(lacking.map(|it| (it.id, ctx.embedder.nearness(it.cosine), false)));
    }
    scored.extend(near.into_iter().map(|(id, nearness)| (id, nearness, true)));
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.truncate(wanted);
    // The backfill computes those first that questions meet.
    let lacking = scored.iter().take(MET_A_QUESTION).filter(|(.., is_better)| !is_better);
    for space in &asked.better {
        space.layer.note_met(lacking.clone().map(|(window, ..)| *window));
    }
    Ok(scored)
}

/// Returns the nearness of these chunks by their best windows, including windows that are not
/// searched. Skips chunks without vectors.
pub(crate) fn of_chunks(
    ctx: &QueryContext<'_>,
    chunks: &[i64],
    asked: &QuestionVectors,
) -> Result<Vec<Near>, AskError> {
    let (windows, tick) = (ctx.snapshot.windows().of(chunks.iter().copied())?, ctx.snapshot.tick());
    let searched = windows.iter().filter(|window| window.aside.is_none()).map(|window| window.id);
    let mut ids: FxHashSet<i64> = searched.collect();
    let better = asked.by_better(|it| it.view.cosines_of(&ids, &it.question.0, tick));
    ids.retain(|id| !better.contains_key(id));
    let plain = asked.plain().map(|it| ctx.snapshot.cosines_of(&ids, it)).transpose()?;
    let plain = plain.unwrap_or_default();
    let has_model = has_better_model(ctx);
    let mut best: FxHashMap<i64, Near> = FxHashMap::default();
    for Window { id, chunk, aside, .. } in windows {
        let of_plain = || match &aside {
            Some(bytes) if bytes.is_empty() => None,
            Some(bytes) => Some(cosine(&unit_vector_of(bytes), asked.plain()?)),
            None => plain.get(&id).copied(),
        };
        let by_better = better.get(&id).map(|it| (*it, has_model));
        let by_plain = || Some((ctx.embedder.nearness(of_plain()?), false));
        let Some((nearness, is_better)) = by_better.or_else(by_plain) else { continue };
        let kept = best.entry(chunk).or_insert(Near { chunk, nearness, is_better });
        // The first one on a tie.
        if nearness > kept.nearness {
            *kept = Near { chunk, nearness, is_better };
        }
    }
    Ok(chunks.iter().filter_map(|chunk| best.remove(chunk)).collect())
}

fn unit_vector_of(bytes: &[u8]) -> UnitVector {
    UnitVector(bytes.iter().map(|byte| i8::from_le_bytes([*byte])).collect())
}
