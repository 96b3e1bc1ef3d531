//! Entities: names, dates and numbers, decided token by token (begin, inside, last, unit or out).
//!
//! In: stretches of tokens, and where sentences start if there is a parse. Out: spans with a label, in order.
//! Invariants: spans are disjoint, do not begin with white space and do not cross a sentence start; the result does
//! not depend on the division into tiles, nor on what else is read together.

use std::ops::Range;

use super::Token;
use super::data::{LoadError, Shipped, pieces_first};
use super::encoder::{Encoder, EncoderBench, TILE_TOKENS, WIDTH, Window, n_at_once};
use super::matrix::{Matrix, add, dot, greatest_of_two};

/// Width of a projected row and of a hidden one.
const HIDDEN: usize = 64;

/// Pieces of the hidden layer.
const PIECES: usize = 2;

/// Numbers that a token contributes to a decision in one of three roles: the current token, the name's first token,
/// the previous token.
const PART: usize = HIDDEN * PIECES;
const N_PARTS: usize = 3;

type Part = [f32; PART];

/// A name found in tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its first token.
    pub start: u32,
    /// The token after its last.
    pub end: u32,
    /// OntoNotes' label: `PERSON`, `ORG`, `GPE`, `DATE`…
    pub label: &'static str,
}

/// A part of a text in which names are looked for.
#[derive(Debug, Clone)]
pub struct Stretch<'a> {
    /// All tokens of the text.
    pub tokens: &'a [Token],
    /// Which of them begin a sentence, as [`Parse`](super::Parse) tells; empty when there is no parse.
    pub starts: &'a [bool],
    /// The tokens of the stretch.
    pub range: Range<usize>,
}

/// What a score stands for, with its number in the model's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntityAction {
    Begin,
    Inside,
    Last,
    Unit,
    Out,
}

#[derive(Debug)]
struct Move {
    action: EntityAction,
    label: &'static str,
}

#[derive(Debug)]
pub(super) struct EntityModel {
    encoder: Encoder,
    project: Matrix,
    /// Outputs in the order [parts, pieces, units].
    lower: Matrix,
    /// A role's contribution where there is no token.
    missing: Vec<Part>,
    upper: Matrix,
    /// The weights of `upper` again, one row for each score.
    upper_rows: Vec<[f32; HIDDEN]>,
    moves: Vec<Move>,
}

/// A name that has begun and not yet ended.
struct Open {
    entity: Entity,
    /// Indexes of the scores for continuing and for ending here.
    inside: usize,
    last: usize,
    /// The first token's contribution to each decision.
    first: Part,
}

impl EntityModel {
    pub(super) fn new(shipped: &Shipped) -> Result<Self, LoadError> {
        let moves = shipped.config.ner_moves.iter().map(|(action, label)| Move {
            action: match action {
                1 => EntityAction::Begin,
                2 => EntityAction::Inside,
                3 => EntityAction::Last,
                4 => EntityAction::Unit,
                _ => EntityAction::Out,
            },
            label,
        });
        let moves: Vec<Move> = moves.collect();
        let stored = shipped.numbers("ner.lower.W", N_PARTS * PART * HIDDEN)?;
        let in_order = |part: &[f32]| pieces_first(part, PIECES, HIDDEN);
        let missing = shipped.numbers("ner.lower.pad", N_PARTS * PART)?;
        let missing =
            missing.chunks_exact(PART).map(|part| part_of(&pieces_first(part, PIECES, 1)));
        let hidden_bias = pieces_first(&shipped.numbers("ner.lower.b", PART)?, PIECES, 1);
        Ok(EntityModel {
            encoder: Encoder::new(shipped, "ner", &shipped.config.ner_seeds)?,
            project: shipped.matrix("ner.proj", (HIDDEN, WIDTH))?,
            // Every decision adds exactly one part of a current token, so the layer's bias is added there.
            lower: Matrix::from_rows(
                HIDDEN,
                &stored.chunks_exact(PART * HIDDEN).flat_map(in_order).collect::<Vec<f32>>(),
                hidden_bias.into_iter().chain([0.0; PART * (N_PARTS - 1)]).collect(),
            ),
            missing: missing.collect(),
            upper: shipped.matrix("ner.upper", (moves.len(), HIDDEN))?,
            upper_rows: shipped.rows("ner.upper.W", moves.len())?,
            moves,
        })
    }

    /// Returns the names in each stretch, which is a part of a text. A name must begin and end within the stretch.
    pub(super) fn entities<'s>(
        &'s self,
        stretches: &[Stretch<'s>],
        bench: &mut EncoderBench,
    ) -> Vec<Vec<Entity>> {
        let run = |stretch: &Stretch<'s>| Run {
            model: self,
            tokens: stretch.tokens,
            starts: stretch.starts,
            open: None,
            before: [0.0; PART],
            found: Vec::new(),
        };
        let mut runs: Vec<Run<'_>> = stretches.iter().map(run).collect();
        let tiles_of = |(at, stretch): (usize, &Stretch<'s>)| {
            let Range { start, end } = stretch.range;
            let tokens = stretch.tokens;
            let tiles = (start..end).step_by(TILE_TOKENS);
            tiles.map(move |start| {
                (at, Window { tokens, range: start..(start + TILE_TOKENS).min(end) })
            })
        };
        let (of, windows): (Vec<usize>, Vec<Window<'_>>) =
            stretches.iter().enumerate().flat_map(tiles_of).unzip();
        let (mut left, mut left_of) = (windows.as_slice(), of.as_slice());
        let (mut projected, mut parts, mut closed) = (Vec::new(), Vec::new(), Vec::new());
        while !left.is_empty() {
            let (windows, others) = left.split_at(n_at_once(left));
            let (of, others_of) = left_of.split_at(windows.len());
            (left, left_of) = (others, others_of);
            self.project.apply(self.encoder.encode(windows, bench), &mut projected);
            self.lower.apply(&projected, &mut parts);
            closed.clear();
            parts
                .chunks_exact(PART * N_PARTS)
                .for_each(|row| closed.extend(self.hidden_outside(row)));
            // Most tokens are outside names; there, the scores of a whole tile can be computed in one product.
            self.upper.apply(&closed, &mut bench.scores);
            let rows = parts.as_chunks::<PART>().0.as_chunks::<N_PARTS>().0;
            let places = windows
                .iter()
                .zip(of)
                .flat_map(|(window, of)| window.range.clone().map(move |i| (*of, i)));
            let scores = bench.scores.chunks_exact(self.moves.len());
            for ((of, i), (row, scores)) in places.zip(rows.iter().zip(scores)) {
                if let Some(run) = runs.get_mut(of) {
                    run.decide(i, row, scores);
                }
            }
        }
        runs.into_iter().map(|run| run.found).collect()
    }

    /// Returns the hidden row of a token when no name is open.
    fn hidden_outside(&self, parts: &[f32]) -> [f32; HIDDEN] {
        let mut sum = part_of(parts);
        self.missing.iter().skip(1).for_each(|missing| add(&mut sum, missing));
        greatest_of_two(&sum)
    }
}

/// Returns the first [`PART`] numbers of a row.
fn part_of(row: &[f32]) -> Part {
    row.first_chunk().copied().unwrap_or([0.0; PART])
}

/// The state of the walk over a text.
struct Run<'a> {
    model: &'a EntityModel,
    tokens: &'a [Token],
    starts: &'a [bool],
    open: Option<Open>,
    /// The contribution of the previous token.
    before: Part,
    found: Vec<Entity>,
}

impl Run<'_> {
    /// Decides token `i` from its parts, and from the scores that apply when no name is open.
    fn decide(&mut self, i: usize, parts: &[Part; N_PARTS], scores: &[f32]) {
        let is_at_end =
            i + 1 >= self.tokens.len() || self.starts.get(i + 1).is_some_and(|start| *start);
        match self.open.take() {
            Some(open) => self.go_on(open, i, is_at_end, parts),
            None => self.begin(i, is_at_end, parts, scores),
        }
        self.before = parts[2];
    }

    fn begin(&mut self, i: usize, is_at_end: bool, parts: &[Part; N_PARTS], scores: &[f32]) {
        let is_space = self.tokens.get(i).is_some_and(|token| token.lexeme.is_space);
        let is_possible = |action| match action {
            // A name of several tokens needs a next token in the same sentence.
            EntityAction::Begin => !is_at_end && !is_space,
            EntityAction::Unit => !is_space,
            EntityAction::Inside | EntityAction::Last => false,
            EntityAction::Out => true,
        };
        let possible = self.model.moves.iter().enumerate().zip(scores);
        let possible = possible.filter(|((_, one), _)| {
            is_possible(one.action) && (one.label.is_empty() == (one.action == EntityAction::Out))
        });
        // Of equal scores, the first wins.
        let best = possible.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some(((_, &Move { action, label }), _)) = best else { return };
        let entity = Entity { start: i as u32, end: i as u32 + 1, label };
        match action {
            EntityAction::Unit => self.found.push(entity),
            EntityAction::Begin => {
                let place = |wanted| {
                    let is_it = |one: &Move| one.action == wanted && one.label == label;
                    self.model.moves.iter().position(is_it)
                };
                let (Some(inside), Some(last)) =
                    (place(EntityAction::Inside), place(EntityAction::Last))
                else {
                    return;
                };
                self.open = Some(Open { entity, inside, last, first: parts[1] });
            }
            EntityAction::Inside | EntityAction::Last | EntityAction::Out => {}
        }
    }

    /// Inside a name there are only two choices: it continues, or it ends with this token.
    fn go_on(&mut self, mut open: Open, i: usize, is_at_end: bool, parts: &[Part; N_PARTS]) {
        open.entity.end = i as u32 + 1;
        if is_at_end || self.ends_here(&open, &parts[0]) {
            self.found.push(open.entity);
        } else {
            self.open = Some(open);
        }
    }

    fn ends_here(&self, open: &Open, here: &Part) -> bool {
        let mut sum = *here;
        add(&mut sum, &open.first);
        add(&mut sum, &self.before);
        let hidden = greatest_of_two(&sum);
        let score = |i: usize| {
            let weights = self.model.upper_rows.get(i);
            weights
                .zip(self.model.upper.bias.get(i))
                .map_or(f32::MIN, |(weights, bias)| dot(weights, &hidden) + bias)
        };
        // `Inside` comes before `Last` among the moves, so it wins a tie.
        score(open.last) > score(open.inside)
    }
}
