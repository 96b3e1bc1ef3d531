//! Nearness: the similarity of windows to a question, by the best vector of each.
//!
//! In: a question; the static vectors, which every window that may be English has, and those of the
//! better models, as far as they exist. Out: one number per chunk, all on one scale: that of a
//! better model if the chunk has such a vector, else that of the static one.
//! Cosines of two spaces cannot be compared. Those of better models are mapped to a common scale
//! (`Embedder::nearness`), and the highest one counts if a window has several: a question may be in
//! another language than the window, which not every model understands. If a window lacks all
//! better vectors, its static cosine is mapped to the better one of equal rank among windows that
//! have both (`scale.rs`).
//! Invariants: with all better vectors the static ones have no influence; with none, the better
//! ones have none.

mod scale;

use std::cell::OnceCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::scale::Scale;
use crate::plan::question::Question;
use crate::plan::within::{Among, both};
use crate::{AskError, QueryContext};
use embed::{Embedder, Unrounded, cosine};
use index::read::Window;
use index::vectors::{Layer, Nearest, View};
use model::parcel::UnitVector;
use model::terms::Tick;

/// Least number of windows with both vectors before an incomplete set of better vectors is used.
const MIN_PAIRS: usize = 16;

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
    better: Option<Better>,
}

/// The part of the better models.
#[derive(Default)]
struct Better {
    /// At least one.
    spaces: Vec<Space>,
    /// The nearest windows by these models.
    near: Vec<Nearest>,
    scale: OnceCell<Option<Scale>>,
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
    /// Returns the vector spaces of the better models that answer.
    pub(crate) fn better_spaces(&self) -> Vec<&str> {
        let spaces = self.better.iter().flat_map(|better| &better.spaces);
        let others = spaces.filter(|space| space.is_other_model);
        others.map(|space| space.layer.embedder().space()).collect()
    }

    /// Returns each better space: its model, its vectors, and the question in it.
    pub(super) fn better_views(&self) -> impl Iterator<Item = (&dyn Embedder, &View, &UnitVector)> {
        let spaces = self.better.iter().flat_map(|better| &better.spaces);
        spaces.map(|it| (it.layer.embedder().as_ref(), &*it.view, &it.question))
    }

    /// Returns the question's static vector.
    pub(crate) fn plain(&self) -> Option<&UnitVector> {
        self.plain.as_ref()
    }

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
        let better = Better { spaces: spaces.collect(), ..Better::default() };
        let better = Some(better).filter(|better| !better.spaces.is_empty());
        (plain.is_some() || better.is_some()).then_some(QuestionVectors { plain, better })
    }
}

impl Better {
    /// Returns the windows nearest to the question, nearest first.
    fn nearest(&self, tick: Tick, wanted: usize, among: Option<&FxHashSet<i64>>) -> Vec<Nearest> {
        let mut near: FxHashMap<i64, f32> = FxHashMap::default();
        for space in &self.spaces {
            let found = space.view.nearest(&space.question.0, tick, wanted, among);
            space.note_nearer(found.into_iter().map(|near| (near.id, near.cosine)), &mut near);
        }
        let mut near: Vec<Nearest> =
            near.into_iter().map(|(id, cosine)| Nearest { id, cosine }).collect();
        near.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.id.cmp(&b.id)));
        near.truncate(wanted);
        near
    }

    /// Returns the nearness of those windows that have a better vector.
    fn cosines_of(&self, ids: &FxHashSet<i64>, tick: Tick) -> FxHashMap<i64, f32> {
        let mut near = FxHashMap::default();
        for space in &self.spaces {
            space.note_nearer(space.view.cosines_of(ids, &space.question.0, tick), &mut near);
        }
        near
    }

    /// Returns whether no window lacks a vector.
    fn is_full(&self, ctx: &QueryContext<'_>) -> bool {
        let tick = ctx.snapshot.tick();
        ctx.snapshot.has_all_better_vectors()
            && self.spaces.iter().all(|space| space.layer.is_full_at(tick))
    }
}

impl Space {
    /// Maps cosines to the common scale, and keeps those greater than the known ones.
    fn note_nearer(
        &self,
        cosines: impl IntoIterator<Item = (i64, f32)>,
        near: &mut FxHashMap<i64, f32>,
    ) {
        for (id, cosine) in cosines {
            let nearness = self.layer.embedder().nearness(cosine);
            let known = near.entry(id).or_insert(nearness);
            *known = known.max(nearness);
        }
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
    let Some(mut asked) = stage!("embed", QuestionVectors::new(ctx, question)) else {
        return Ok(None);
    };
    let windows = ctx.snapshot.windows();
    let allowed = allowed.as_ref().map(|chunks| windows.of_chunks(chunks)).transpose()?;
    let matching = matching.as_ref().filter(|chunks| chunks.len() <= MAX_MATCHING);
    // Search among the matching chunks; the nearest of all may contain none of them.
    let matching = matching.map(|chunks| windows.of_chunks(chunks)).transpose()?;
    let among = both(allowed, matching);
    let wanted = depth * WINDOWS_A_CHUNK;
    let nearest = stage!("scan", nearest_windows(ctx, &mut asked, wanted, among.as_ref()))?;
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

/// Returns the nearest windows, nearest first. If too few windows have vectors of both kinds,
/// static cosines are returned unmapped, and better ones only for windows without static ones.
fn nearest_windows(
    ctx: &QueryContext<'_>,
    asked: &mut QuestionVectors,
    wanted: usize,
    among: Option<&FxHashSet<i64>>,
) -> Result<Vec<Scored>, AskError> {
    let tick = ctx.snapshot.tick();
    let all = |near: Vec<Nearest>, is_better: bool| -> Vec<Scored> {
        near.into_iter().map(|near| (near.id, near.cosine, is_better)).collect()
    };
    if let Some(better) = &mut asked.better {
        better.near = better.nearest(tick, wanted, among);
    }
    let plain = match (&asked.plain, &asked.better) {
        (None, None) => return Ok(Vec::new()),
        (Some(plain), None) => return Ok(all(ctx.snapshot.nearest(plain, wanted, among)?, false)),
        (None, Some(better)) => return Ok(all(better.near.clone(), true)),
        (Some(_), Some(better)) if better.is_full(ctx) => {
            return Ok(all(better.near.clone(), true));
        }
        (Some(plain), Some(_)) => ctx.snapshot.nearest(plain, wanted, among)?,
    };
    let (pairs, merged) = merge(ctx, asked, &plain)?;
    if pairs.len() < MIN_PAIRS {
        let bare = merged.iter().filter(|(_, plain, _)| plain.is_none());
        let bare = bare.filter_map(|(id, _, better)| Some((*id, (*better)?, true)));
        let mut found: Vec<Scored> = all(plain, false).into_iter().chain(bare).collect();
        nearest_first(&mut found, wanted);
        note_met(asked.better.as_ref(), &found);
        asked.better =
            asked.better.take().filter(|_| found.iter().any(|(.., is_better)| *is_better));
        return Ok(found);
    }
    let scale = Scale::of(pairs);
    let mut scored: Vec<Scored> = merged
        .into_iter()
        .filter_map(|(id, plain, better)| match better {
            Some(cosine) => Some((id, cosine, true)),
            None => Some((id, scale.as_ref()?.place(plain?), false)),
        })
        .collect();
    nearest_first(&mut scored, wanted);
    note_met(asked.better.as_ref(), &scored);
    if let Some(better) = &asked.better {
        let _ = better.scale.set(scale);
    }
    Ok(scored)
}

fn nearest_first(scored: &mut Vec<Scored>, wanted: usize) {
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.truncate(wanted);
}

/// Notes for the backfill which of the best windows lack a better vector.
fn note_met(better: Option<&Better>, scored: &[Scored]) {
    let lack = scored.iter().take(MET_A_QUESTION).filter(|(_, _, is_better)| !is_better);
    for space in better.iter().flat_map(|better| &better.spaces) {
        space.layer.note_met(lack.clone().map(|(window, ..)| *window));
    }
}

/// Static and better cosines of windows that have both.
type Pairs = Vec<(f32, f32)>;

/// A window with its static cosine and its better one.
type Both = (i64, Option<f32>, Option<f32>);

/// Returns the windows that either model found, with both cosines, and the pairs of those that have
/// both.
fn merge(
    ctx: &QueryContext<'_>,
    asked: &QuestionVectors,
    plain: &[Nearest],
) -> Result<(Pairs, Vec<Both>), AskError> {
    let (Some(question), Some(better)) = (&asked.plain, &asked.better) else {
        return Ok(Default::default());
    };
    let of = |near: &[Nearest]| -> FxHashMap<i64, f32> {
        near.iter().map(|near| (near.id, near.cosine)).collect()
    };
    let (mut plain, mut known) = (of(plain), of(&better.near));
    let lack = |has: &FxHashMap<i64, f32>, other: &FxHashMap<i64, f32>| -> FxHashSet<i64> {
        other.keys().filter(|id| !has.contains_key(id)).copied().collect()
    };
    let tick = ctx.snapshot.tick();
    let more = better.cosines_of(&lack(&known, &plain), tick);
    plain.extend(ctx.snapshot.cosines_of(&lack(&plain, &known), question)?);
    known.extend(more);
    let ids: FxHashSet<i64> = plain.keys().chain(known.keys()).copied().collect();
    let both = ids.into_iter().map(|id| (id, plain.get(&id).copied(), known.get(&id).copied()));
    let both: Vec<Both> = both.collect();
    let pairs =
        both.iter().filter_map(|(_, plain, better)| Some(((*plain)?, (*better)?))).collect();
    Ok((pairs, both))
}

/// Returns the nearness of these chunks by their best windows, including windows that are not
/// searched. Skips chunks without vectors.
pub(crate) fn of_chunks(
    ctx: &QueryContext<'_>,
    chunks: &[i64],
    asked: &QuestionVectors,
) -> Result<Vec<Near>, AskError> {
    let windows = ctx.snapshot.windows().of(chunks.iter().copied())?;
    let tick = ctx.snapshot.tick();
    let searched = |windows: &[Window]| -> FxHashSet<i64> {
        windows.iter().filter(|window| window.aside.is_none()).map(|window| window.id).collect()
    };
    let known = asked.better.as_ref().map(|better| better.cosines_of(&searched(&windows), tick));
    let known = known.unwrap_or_default();
    let (has_better, rest): (Vec<Window>, Vec<Window>) =
        windows.into_iter().partition(|window| known.contains_key(&window.id));
    let plain = match &asked.plain {
        Some(question) => ctx.snapshot.cosines_of(&searched(&rest), question)?,
        None => FxHashMap::default(),
    };
    let mut best: FxHashMap<i64, Near> = FxHashMap::default();
    for window in has_better {
        if let Some(cosine) = known.get(&window.id) {
            keep_best(&mut best, window.chunk, *cosine, has_better_model(ctx));
        }
    }
    for window in rest {
        let of_aside = |bytes: &Vec<u8>| {
            let plain = asked.plain.as_ref().filter(|_| !bytes.is_empty())?;
            Some(cosine(&unit_vector_of(bytes), plain))
        };
        let cosine = match &window.aside {
            Some(bytes) => of_aside(bytes),
            None => plain.get(&window.id).copied(),
        };
        if let Some(nearness) = cosine.map(|it| asked.placed(ctx, it)).transpose()?.flatten() {
            keep_best(&mut best, window.chunk, nearness, false);
        }
    }
    Ok(chunks.iter().filter_map(|chunk| best.remove(chunk)).collect())
}

impl QuestionVectors {
    /// Maps a static cosine to the scale of nearness; `None` if that scale is unknown.
    fn placed(&self, ctx: &QueryContext<'_>, plain: f32) -> Result<Option<f32>, AskError> {
        let Some(better) = &self.better else { return Ok(Some(plain)) };
        if better.scale.get().is_none() {
            let (pairs, _) = merge(ctx, self, &[])?;
            let _ = better.scale.set(Scale::of(pairs));
        }
        Ok(better.scale.get().and_then(Option::as_ref).map(|scale| scale.place(plain)))
    }
}

/// Keeps the nearest window of a chunk; the first one on a tie.
fn keep_best(best: &mut FxHashMap<i64, Near>, chunk: i64, nearness: f32, is_better: bool) {
    let near = Near { chunk, nearness, is_better };
    let kept = best.entry(chunk).or_insert_with(|| near.clone());
    if nearness > kept.nearness {
        *kept = near;
    }
}

fn unit_vector_of(bytes: &[u8]) -> UnitVector {
    UnitVector(bytes.iter().map(|byte| i8::from_le_bytes([*byte])).collect())
}
