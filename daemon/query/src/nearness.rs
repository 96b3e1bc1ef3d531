//! Nearness: how near windows are to a question, by the best vector that each of them has.
//!
//! In: a question; the static vectors, which every window has, and the better model's as far as they are made. Out: one
//! number a window, all on one scale: the better model's where there is any, else the static one's.
//! Cosines of two spaces cannot be compared. Where a window lacks the better vector, its static cosine is put where the
//! static cosines of windows that have both stand among the better ones (`scale.rs`).
//! Invariants: with all better vectors the static ones decide nothing; with none, the better ones decide nothing.
//! Not here: making vectors, or how much nearness counts (`rank.rs`).

mod scale;

use std::cell::OnceCell;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use self::scale::Scale;
use super::plan::Plan;
use super::text::{Among, both};
use super::{AskError, Desk, within};
use embed::{Embedder, Unrounded, cosine};
use index::vectors::{Layer, Nearest, View};
use model::parcel::UnitVector;

/// Windows with both vectors that a scale needs before a part of the better vectors is used.
const MIN_PAIRS: usize = 16;

/// Windows looked for, for each chunk that is wanted: several windows of one chunk may be near.
const WINDOWS_A_CHUNK: usize = 3;

/// Chunks that meet what a question demands whose windows are looked up; of more, some are among the nearest of all.
const MAX_MATCHING: usize = 5_000;

/// A question's vectors.
pub(super) struct Asked {
    plain: Option<UnitVector>,
    better: Option<Better>,
}

/// The better model's part.
struct Better {
    layer: Arc<Layer>,
    view: Arc<View>,
    question: UnitVector,
    /// False when it is the static one, unrounded.
    is_other_model: bool,
    /// What was found by it.
    near: Vec<Nearest>,
    scale: OnceCell<Option<Scale>>,
}

/// A chunk by its best window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Near {
    pub chunk: i64,
    pub nearness: f32,
    /// The window's place in `docs.text`.
    pub window: (usize, usize),
    /// True when the better model's vector says so.
    pub is_better: bool,
}

/// A window: row, nearness, whether by the better model.
type Scored = (i64, f32, bool);

impl Asked {
    /// The space of the better model, if it answers.
    pub(super) fn better_space(&self) -> Option<&str> {
        let other = self.better.as_ref().filter(|better| better.is_other_model);
        other.map(|better| better.layer.embedder().space())
    }

    /// The question's static vector.
    pub(super) fn plain(&self) -> Option<&UnitVector> {
        self.plain.as_ref()
    }

    fn new(desk: &Desk<'_>, plan: &Plan) -> Option<Self> {
        let knows = |model: &dyn Embedder| !(plan.question.is_foreign && model.is_english_only());
        let text = plan.question.text.as_str();
        let plain = knows(desk.embedder)
            .then(|| desk.embedder.embed(&[text]).pop())
            .flatten()
            .filter(has_length);
        let better = desk.snapshot.layer().filter(|(layer, _)| knows(layer.embedder().as_ref()));
        let better = better.and_then(|(layer, view)| {
            let question = layer.question(text).inspect_err(
                |error| tracing::debug!(%error, "a question is answered by static vectors"),
            );
            let question = question.ok().filter(has_length)?;
            let unrounded = Unrounded::space_of(desk.embedder.space());
            let is_other_model = layer.embedder().space() != unrounded;
            let scale = OnceCell::new();
            Some(Better { layer, view, question, is_other_model, near: Vec::new(), scale })
        });
        (plain.is_some() || better.is_some()).then_some(Asked { plain, better })
    }
}

fn has_length(vector: &UnitVector) -> bool {
    vector.0.iter().any(|component| *component != 0)
}

/// The chunks nearest to the question, nearest first; of those that are allowed, and of `matching` only, where the
/// question demands something. None when it has no vector.
pub(super) fn ask(
    desk: &Desk<'_>,
    plan: &Plan,
    (allowed, matching): (&Among, &Among),
) -> Result<Option<(Asked, Vec<Near>)>, AskError> {
    let Some(mut asked) = stage!("embed", Asked::new(desk, plan)) else { return Ok(None) };
    let allowed = allowed.as_ref().map(|chunks| within::windows(desk, chunks)).transpose()?;
    let matching = matching.as_ref().filter(|chunks| chunks.len() <= MAX_MATCHING);
    // Of these the nearest, not those that happen to be among the nearest of all.
    let matching = matching.map(|chunks| within::windows(desk, chunks)).transpose()?;
    let among = both(allowed, matching);
    let wanted = plan.recall_k * WINDOWS_A_CHUNK;
    let mut nearest = || nearest_windows(desk, &mut asked, (wanted, among.as_ref()));
    let windows = stage!("scan", nearest())?;
    let mut place = desk
        .snapshot
        .prepare_cached("SELECT chunk_id, start, end FROM chunk_vec_map WHERE id = ?1")?;
    let mut found: Vec<Near> = Vec::new();
    let mut seen = FxHashSet::default();
    let has_model = has_better_model(desk);
    for (id, nearness, is_better) in windows {
        let is_better = is_better && has_model;
        let row = place.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let (chunk, start, end): (i64, i64, i64) = row?;
        if seen.insert(chunk) {
            found.push(Near { chunk, nearness, window: (start as usize, end as usize), is_better });
        }
        if found.len() == plan.recall_k {
            break;
        }
    }
    Ok(Some((asked, found)))
}

/// False where the built-in table alone answers: its vectors before they were rounded (`vectors.precision: float32`)
/// are no better model's.
pub(super) fn has_better_model(desk: &Desk<'_>) -> bool {
    desk.settings.embed.model != "none"
}

/// The nearest windows, nearest first. Lets go of the better part where there is too little of it.
fn nearest_windows(
    desk: &Desk<'_>,
    asked: &mut Asked,
    (wanted, among): (usize, Option<&FxHashSet<i64>>),
) -> Result<Vec<Scored>, AskError> {
    let tick = desk.snapshot.tick();
    let all = |near: Vec<Nearest>, is_better: bool| -> Vec<Scored> {
        near.into_iter().map(|near| (near.id, near.cosine, is_better)).collect()
    };
    if let Some(better) = &mut asked.better {
        better.near = better.view.nearest(&better.question.0, (tick, wanted), among);
    }
    let plain = match (&asked.plain, &asked.better) {
        (None, None) => return Ok(Vec::new()),
        (Some(plain), None) => return Ok(all(desk.snapshot.nearest(plain, wanted, among)?, false)),
        (None, Some(better)) => return Ok(all(better.near.clone(), true)),
        (Some(_), Some(better)) if better.layer.is_full_at(tick) => {
            return Ok(all(better.near.clone(), true));
        }
        (Some(plain), Some(_)) => desk.snapshot.nearest(plain, wanted, among)?,
    };
    let (pairs, merged) = merge(desk, asked, &plain)?;
    if pairs.len() < MIN_PAIRS {
        asked.better = None;
        return Ok(all(plain, false));
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
    if let Some(better) = &asked.better {
        let _ = better.scale.set(scale);
    }
    Ok(scored)
}

/// Static and better cosines of windows that have both.
type Pairs = Vec<(f32, f32)>;

/// A window with its static cosine and its better one.
type Both = (i64, Option<f32>, Option<f32>);

/// The windows that either model found, with what both say of them; and the pairs of those that have both.
fn merge(
    desk: &Desk<'_>,
    asked: &Asked,
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
    let tick = desk.snapshot.tick();
    let more = better.view.cosines_of(&lack(&known, &plain), (&better.question.0, tick));
    plain.extend(desk.snapshot.cosines_of(&lack(&plain, &known), question)?);
    known.extend(more);
    let ids: FxHashSet<i64> = plain.keys().chain(known.keys()).copied().collect();
    let both = ids.into_iter().map(|id| (id, plain.get(&id).copied(), known.get(&id).copied()));
    let both: Vec<Both> = both.collect();
    let pairs =
        both.iter().filter_map(|(_, plain, better)| Some(((*plain)?, (*better)?))).collect();
    Ok((pairs, both))
}

/// How near these chunks are, by their best windows, also those that are not searched; a chunk without vectors is left
/// out.
pub(super) fn of_chunks(
    desk: &Desk<'_>,
    chunks: &[i64],
    asked: &Asked,
) -> Result<Vec<Near>, AskError> {
    let mut windows = Vec::new();
    for chunk in chunks {
        windows.extend(windows_of(desk, *chunk)?);
    }
    let tick = desk.snapshot.tick();
    let searched = |windows: &[Window]| -> FxHashSet<i64> {
        windows.iter().filter(|window| window.aside.is_none()).map(|window| window.id).collect()
    };
    let known = asked
        .better
        .as_ref()
        .map(|better| better.view.cosines_of(&searched(&windows), (&better.question.0, tick)));
    let known = known.unwrap_or_default();
    let (has_better, rest): (Vec<Window>, Vec<Window>) =
        windows.into_iter().partition(|window| known.contains_key(&window.id));
    let plain = match &asked.plain {
        Some(question) => desk.snapshot.cosines_of(&searched(&rest), question)?,
        None => FxHashMap::default(),
    };
    let mut best: FxHashMap<i64, Near> = FxHashMap::default();
    for window in has_better {
        if let Some(cosine) = known.get(&window.id) {
            keep_best(&mut best, window, (*cosine, has_better_model(desk)));
        }
    }
    for window in rest {
        let of_aside =
            |bytes: &Vec<u8>| Some(cosine(&unit_vector_of(bytes), asked.plain.as_ref()?));
        let cosine = match &window.aside {
            Some(bytes) => of_aside(bytes),
            None => plain.get(&window.id).copied(),
        };
        if let Some(nearness) = cosine.map(|it| asked.placed(desk, it)).transpose()?.flatten() {
            keep_best(&mut best, window, (nearness, false));
        }
    }
    Ok(chunks.iter().filter_map(|chunk| best.remove(chunk)).collect())
}

impl Asked {
    /// A static cosine on the scale that nearness has; none when that scale is not known.
    fn placed(&self, desk: &Desk<'_>, plain: f32) -> Result<Option<f32>, AskError> {
        let Some(better) = &self.better else { return Ok(Some(plain)) };
        if better.scale.get().is_none() {
            let (pairs, _) = merge(desk, self, &[])?;
            let _ = better.scale.set(Scale::of(pairs));
        }
        Ok(better.scale.get().and_then(Option::as_ref).map(|scale| scale.place(plain)))
    }
}

/// A window of a chunk.
struct Window {
    id: i64,
    chunk: i64,
    span: (usize, usize),
    /// Its static vector, where it is not searched.
    aside: Option<Vec<u8>>,
}

fn windows_of(desk: &Desk<'_>, chunk: i64) -> Result<Vec<Window>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT id, start, end, aside FROM chunk_vec_map WHERE chunk_id = ?1 ORDER BY start",
    )?;
    let rows = statement.query_map([chunk], |row| {
        let span = (row.get::<_, i64>(1)? as usize, row.get::<_, i64>(2)? as usize);
        Ok(Window { id: row.get(0)?, chunk, span, aside: row.get(3)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The first of equally near ones is kept.
fn keep_best(best: &mut FxHashMap<i64, Near>, window: Window, (nearness, is_better): (f32, bool)) {
    let near = Near { chunk: window.chunk, nearness, window: window.span, is_better };
    let kept = best.entry(window.chunk).or_insert_with(|| near.clone());
    if nearness > kept.nearness {
        *kept = near;
    }
}

fn unit_vector_of(bytes: &[u8]) -> UnitVector {
    UnitVector(bytes.iter().map(|byte| i8::from_le_bytes([*byte])).collect())
}
