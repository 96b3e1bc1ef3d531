//! Nearness: how near windows are to a question, by the best vector that each of them has.
//!
//! In: a question; the static vectors, which every window has, and those of the better model, as far as they exist.
//! Out: one number a chunk, all on one scale: the better model's where it has any vector, else the static one's.
//! Cosines of two spaces cannot be compared. Where a window lacks the better vector, its static cosine is mapped to the
//! better cosine of equal rank among windows that have both (`scale.rs`).
//! Invariants: with all better vectors the static ones have no influence; with none, the better ones have none.
//! Not here: making vectors, or how much nearness counts (`trust.rs`, `rank`).

mod scale;

use std::cell::OnceCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::scale::Scale;
use crate::plan::question::Question;
use crate::plan::within::{self, Among, both};
use crate::{AskError, QueryContext};
use embed::{Embedder, Unrounded, cosine};
use index::vectors::{Layer, Nearest, View};
use model::parcel::UnitVector;

/// Windows with both vectors that a scale needs before a part of the better vectors is used.
const MIN_PAIRS: usize = 16;

/// Windows searched for each chunk that is wanted: several windows of one chunk may be near.
const WINDOWS_A_CHUNK: usize = 3;

/// Windows of a question, at most, whose better vectors are made before others: about a page of hits.
const MET_A_QUESTION: usize = 20;

/// Up to this many chunks that meet a demand are searched by themselves; of more, some are among the nearest of all.
const MAX_MATCHING: usize = 5_000;

/// A question's vectors.
pub(crate) struct QuestionVectors {
    plain: Option<UnitVector>,
    better: Option<Better>,
}

/// The better model's part.
struct Better {
    layer: Arc<Layer>,
    view: Arc<View>,
    question: UnitVector,
    /// False when it is the static model with unrounded vectors.
    is_other_model: bool,
    /// The nearest windows by this model.
    near: Vec<Nearest>,
    scale: OnceCell<Option<Scale>>,
}

/// A chunk by its best window.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Near {
    pub chunk: i64,
    pub nearness: f32,
    /// True when the nearness comes from the better model.
    pub is_better: bool,
}

/// A window: row, nearness, whether it comes from the better model.
type Scored = (i64, f32, bool);

impl QuestionVectors {
    /// The vector space of the better model, if it answers.
    pub(crate) fn better_space(&self) -> Option<&str> {
        let other = self.better.as_ref().filter(|better| better.is_other_model);
        other.map(|better| better.layer.embedder().space())
    }

    /// The question's static vector.
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
        let better = ctx.snapshot.layer().filter(|(layer, _)| knows(layer.embedder().as_ref()));
        let better = better.and_then(|(layer, view)| {
            let question = layer.question(text).inspect_err(
                |error| tracing::debug!(%error, "a question is answered by static vectors"),
            );
            let question = question.ok().filter(has_length)?;
            let unrounded = Unrounded::space_of(ctx.embedder.space());
            let is_other_model = layer.embedder().space() != unrounded;
            let scale = OnceCell::new();
            Some(Better { layer, view, question, is_other_model, near: Vec::new(), scale })
        });
        (plain.is_some() || better.is_some()).then_some(QuestionVectors { plain, better })
    }
}

fn has_length(vector: &UnitVector) -> bool {
    vector.0.iter().any(|component| *component != 0)
}

/// Returns the chunks nearest to the question, nearest first, among those that are allowed and that match its demand.
/// `None` when the question has no vector.
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
    let allowed = allowed.as_ref().map(|chunks| within::windows(ctx, chunks)).transpose()?;
    let matching = matching.as_ref().filter(|chunks| chunks.len() <= MAX_MATCHING);
    // The nearest of these; not those that happen to be among the nearest of all.
    let matching = matching.map(|chunks| within::windows(ctx, chunks)).transpose()?;
    let among = both(allowed, matching);
    let wanted = depth * WINDOWS_A_CHUNK;
    let windows = stage!("scan", nearest_windows(ctx, &mut asked, wanted, among.as_ref()))?;
    let mut chunk_of =
        ctx.snapshot.prepare_cached("SELECT chunk_id FROM chunk_vec_map WHERE id = ?1")?;
    let mut found: Vec<Near> = Vec::new();
    let mut seen = FxHashSet::default();
    let has_model = has_better_model(ctx);
    for (id, nearness, is_better) in windows {
        let is_better = is_better && has_model;
        let chunk: i64 = chunk_of.query_row([id], |row| row.get(0))?;
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
/// (`vectors.precision: float32`) is none.
pub(crate) fn has_better_model(ctx: &QueryContext<'_>) -> bool {
    ctx.settings.embed.model != "none"
}

/// Returns the nearest windows, nearest first. Drops the better model where too few windows have its vectors.
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
        better.near = better.view.nearest(&better.question.0, tick, wanted, among);
    }
    let plain = match (&asked.plain, &asked.better) {
        (None, None) => return Ok(Vec::new()),
        (Some(plain), None) => return Ok(all(ctx.snapshot.nearest(plain, wanted, among)?, false)),
        (None, Some(better)) => return Ok(all(better.near.clone(), true)),
        (Some(_), Some(better)) if better.layer.is_full_at(tick) => {
            return Ok(all(better.near.clone(), true));
        }
        (Some(plain), Some(_)) => ctx.snapshot.nearest(plain, wanted, among)?,
    };
    let (pairs, merged) = merge(ctx, asked, &plain)?;
    if pairs.len() < MIN_PAIRS {
        let found = all(plain, false);
        note_met(asked.better.take().as_ref(), &found);
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
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scored.truncate(wanted);
    note_met(asked.better.as_ref(), &scored);
    if let Some(better) = &asked.better {
        let _ = better.scale.set(scale);
    }
    Ok(scored)
}

/// Notes for the backfill which of the best windows lack their better vector.
fn note_met(better: Option<&Better>, scored: &[Scored]) {
    let lack = scored.iter().take(MET_A_QUESTION).filter(|(_, _, is_better)| !is_better);
    if let Some(better) = better {
        better.layer.note_met(lack.map(|(window, ..)| *window));
    }
}

/// Static and better cosines of windows that have both.
type Pairs = Vec<(f32, f32)>;

/// A window with its static cosine and its better one.
type Both = (i64, Option<f32>, Option<f32>);

/// Returns the windows that either model found with both cosines, and the pairs of those that have both.
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
    let more = better.view.cosines_of(&lack(&known, &plain), &better.question.0, tick);
    plain.extend(ctx.snapshot.cosines_of(&lack(&plain, &known), question)?);
    known.extend(more);
    let ids: FxHashSet<i64> = plain.keys().chain(known.keys()).copied().collect();
    let both = ids.into_iter().map(|id| (id, plain.get(&id).copied(), known.get(&id).copied()));
    let both: Vec<Both> = both.collect();
    let pairs =
        both.iter().filter_map(|(_, plain, better)| Some(((*plain)?, (*better)?))).collect();
    Ok((pairs, both))
}

/// Returns how near these chunks are by their best windows, including windows that are not searched. Skips chunks
/// without vectors.
pub(crate) fn of_chunks(
    ctx: &QueryContext<'_>,
    chunks: &[i64],
    asked: &QuestionVectors,
) -> Result<Vec<Near>, AskError> {
    let mut windows = Vec::new();
    for chunk in chunks {
        windows.extend(windows_of(ctx, *chunk)?);
    }
    let tick = ctx.snapshot.tick();
    let searched = |windows: &[Window]| -> FxHashSet<i64> {
        windows.iter().filter(|window| window.aside.is_none()).map(|window| window.id).collect()
    };
    let known = asked
        .better
        .as_ref()
        .map(|better| better.view.cosines_of(&searched(&windows), &better.question.0, tick));
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
        let of_aside =
            |bytes: &Vec<u8>| Some(cosine(&unit_vector_of(bytes), asked.plain.as_ref()?));
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
    /// Maps a static cosine to the scale of nearness; `None` when that scale is not known.
    fn placed(&self, ctx: &QueryContext<'_>, plain: f32) -> Result<Option<f32>, AskError> {
        let Some(better) = &self.better else { return Ok(Some(plain)) };
        if better.scale.get().is_none() {
            let (pairs, _) = merge(ctx, self, &[])?;
            let _ = better.scale.set(Scale::of(pairs));
        }
        Ok(better.scale.get().and_then(Option::as_ref).map(|scale| scale.place(plain)))
    }
}

/// A window of a chunk.
struct Window {
    id: i64,
    chunk: i64,
    /// Its static vector, where it is not part of the search.
    aside: Option<Vec<u8>>,
}

fn windows_of(ctx: &QueryContext<'_>, chunk: i64) -> Result<Vec<Window>, AskError> {
    let mut statement = ctx
        .snapshot
        .prepare_cached("SELECT id, aside FROM chunk_vec_map WHERE chunk_id = ?1 ORDER BY start")?;
    let rows = statement
        .query_map([chunk], |row| Ok(Window { id: row.get(0)?, chunk, aside: row.get(1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Keeps the first of equally near windows.
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
