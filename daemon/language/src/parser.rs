//! Parser: tags, and heads with labels by a transition system (arc-eager with sentence breaks).
//!
//! In: tokens. Out: a [`Parse`]. The tokens move from a buffer to a stack; each move depends on eight tokens (next
//! two, top three, and children of theirs), whose parts of the hidden layer are computed for a tile of tokens at
//! once.
//! Invariants: each token has one head, the root of a sentence itself; time is linear in the tokens; apart from the
//! result, memory is bounded by [`MAX_PARSED_TOKENS`].

mod state;
mod tree;

use std::ops::Range;

use self::state::{Action, State};
use super::Token;
use super::data::{LoadError, Shipped, pieces_first};
use super::encoder::{Encoder, EncoderBench, TILE_TOKENS, WIDTH, Window};
use super::matrix::{Matrix, add, greatest_of_two};

/// Most tokens parsed as one document: about 250 kB of prose, whose projected rows take 13 MB. Longer texts are
/// parsed in pieces.
pub const MAX_PARSED_TOKENS: usize = 50_000;

const HIDDEN: usize = 64;
const PIECES: usize = 2;
const PART: usize = HIDDEN * PIECES;

/// Tokens that a move depends on.
const N_SLOTS: usize = 8;

type ParserPart = [f32; PART];
type Parts = [ParserPart; N_SLOTS];

/// White space gets this label and tag, whatever the models predict, by the shipped pipeline's attribute rules.
const SPACE_LABEL: &str = "dep";
const SPACE_TAG: &str = "_SP";

/// The grammar of tokens; each list has one item for each token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parse {
    /// Part-of-speech tags of the Penn treebank: `NNP`, `VBZ`…
    pub tags: Vec<&'static str>,
    /// The token that each one depends on; the root of a sentence has itself.
    pub heads: Vec<u32>,
    /// The kind of dependency: `nsubj`, `dobj`…; `ROOT` for a root.
    pub labels: Vec<&'static str>,
    /// True where a sentence starts.
    pub starts: Vec<bool>,
}

#[derive(Debug)]
pub(super) struct ParserModel {
    tags: Vec<&'static str>,
    tagger: Matrix,
    project: Matrix,
    /// Outputs in the order [slots, pieces, units]; its bias is zero.
    lower: Matrix,
    /// The hidden layer's own bias.
    bias: ParserPart,
    /// The contribution of a slot without a token.
    missing: Vec<ParserPart>,
    /// One output for each move, then some that nothing reads: their number is a multiple of [`sys::SUMS_AT_ONCE`].
    upper: Matrix,
    moves: Vec<(Action, &'static str)>,
}

impl ParserModel {
    pub(super) fn new(shipped: &Shipped) -> Result<Self, LoadError> {
        let moves = &shipped.config.parser_moves;
        let moves: Vec<(Action, &str)> =
            moves.iter().map(|(action, label)| (Action::from_code(*action), *label)).collect();
        let stored = shipped.numbers("parser.lower.W", N_SLOTS * PART * HIDDEN)?;
        let in_order = |part: &[f32]| pieces_first(part, PIECES, HIDDEN);
        let missing = shipped.numbers("parser.lower.pad", N_SLOTS * PART)?;
        let part_of = |numbers: &[f32]| {
            pieces_first(numbers, PIECES, 1).first_chunk().copied().unwrap_or([0.0; PART])
        };
        Ok(ParserModel {
            tags: shipped.config.tags.clone(),
            tagger: shipped.matrix("tagger", (shipped.config.tags.len(), WIDTH))?,
            project: shipped.matrix("parser.proj", (HIDDEN, WIDTH))?,
            lower: Matrix::from_rows(
                HIDDEN,
                &stored.chunks_exact(PART * HIDDEN).flat_map(in_order).collect::<Vec<f32>>(),
                vec![0.0; PART * N_SLOTS],
            ),
            bias: part_of(&shipped.numbers("parser.lower.b", PART)?),
            missing: missing.chunks_exact(PART).map(part_of).collect(),
            upper: {
                let mut rows = shipped.numbers("parser.upper.W", moves.len() * HIDDEN)?;
                let mut bias = shipped.numbers("parser.upper.b", moves.len())?;
                bias.resize(moves.len().next_multiple_of(sys::SUMS_AT_ONCE), 0.0);
                rows.resize(bias.len() * HIDDEN, 0.0);
                Matrix::from_rows(HIDDEN, &rows, bias)
            },
            moves,
        })
    }

    pub(super) fn parse(&self, tokens: &[Token], with: (&Encoder, &mut EncoderBench)) -> Parse {
        let mut parse = Parse::default();
        let (encoder, bench) = with;
        let mut start = 0;
        while start < tokens.len() {
            let end = start + piece_length(tokens.get(start..).unwrap_or_default());
            let piece = tokens.get(start..end).unwrap_or_default();
            self.parse_piece(piece, (encoder, bench), &mut parse);
            start = end;
        }
        for ((token, tag), label) in tokens.iter().zip(&mut parse.tags).zip(&mut parse.labels) {
            if token.lexeme.is_space {
                (*tag, *label) = (SPACE_TAG, SPACE_LABEL);
            }
        }
        parse
    }

    /// Parses `tokens` as a document of their own and appends the result.
    fn parse_piece(
        &self,
        tokens: &[Token],
        with: (&Encoder, &mut EncoderBench),
        parse: &mut Parse,
    ) {
        // Heads are indexes into all tokens, so those of this piece are shifted at the end.
        let first = parse.heads.len() as u32;
        let (encoder, bench) = with;
        let mut feed = Feed::new(self, (tokens, encoder, bench));
        let (mut state, mut scores) = (State::new(tokens.len()), Vec::new());
        while !state.is_final() {
            let slots = state.slots();
            // A move depends on no token after the second of the buffer.
            feed.reach(slots[0].max(slots[1]).unwrap_or(0));
            let hidden = feed.hidden(&slots);
            let best = self.best_move(&state, &hidden, &mut scores);
            let Some((action, label)) = best else { break };
            state.make(action, label);
        }
        // Tags of all tokens are needed, even if the moves ended early.
        feed.reach(tokens.len().saturating_sub(1));
        parse.tags.append(&mut feed.tags);
        let (heads, labels) = state.into_arcs();
        let is_space: Vec<bool> = tokens.iter().map(|token| token.lexeme.is_space).collect();
        let (mut heads, mut labels, mut starts) = tree::finish(heads, labels, &is_space);
        heads.iter_mut().for_each(|head| *head += first);
        parse.heads.append(&mut heads);
        parse.labels.append(&mut labels);
        parse.starts.append(&mut starts);
    }

    /// Returns the allowed move with the highest score; of equal ones, the first.
    fn best_move(
        &self,
        state: &State,
        hidden: &[f32; HIDDEN],
        scores: &mut Vec<f32>,
    ) -> Option<(Action, &'static str)> {
        let allowed = state.allowed();
        scores.clone_from(&self.upper.bias);
        sys::add_rows(hidden, &self.upper.weights, scores);
        let moves = self.moves.iter().zip(&*scores);
        let moves = moves.filter(|((action, _), _)| allowed[*action as usize]);
        let best = moves.reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.map(|(one, _)| *one)
    }
}

/// The parser's inputs from the encoder, computed one tile at a time as the buffer advances.
struct Feed<'a> {
    model: &'a ParserModel,
    tokens: &'a [Token],
    encoder: &'a Encoder,
    bench: &'a mut EncoderBench,
    n_tiles: usize,
    tags: Vec<&'static str>,
    /// Projected rows of all tokens read so far.
    projected: Vec<[f32; HIDDEN]>,
    /// Parts of the last two tiles. Older ones are rarely needed and are computed again.
    parts: [Vec<f32>; 2],
}

impl<'a> Feed<'a> {
    fn new(model: &'a ParserModel, of: (&'a [Token], &'a Encoder, &'a mut EncoderBench)) -> Self {
        let (tokens, encoder, bench) = of;
        let (tags, projected) =
            (Vec::with_capacity(tokens.len()), Vec::with_capacity(tokens.len()));
        Feed {
            model,
            tokens,
            encoder,
            bench,
            n_tiles: 0,
            tags,
            projected,
            parts: Default::default(),
        }
    }

    /// Computes tiles until token `i` is included.
    fn reach(&mut self, i: usize) {
        while self.projected.len() <= i && self.projected.len() < self.tokens.len() {
            let start = self.n_tiles * TILE_TOKENS;
            self.load(start..(start + TILE_TOKENS).min(self.tokens.len()));
        }
    }

    fn load(&mut self, tile: Range<usize>) {
        let (mut scores, mut projected) = (Vec::new(), Vec::new());
        let window = Window { tokens: self.tokens, range: tile };
        let rows = self.encoder.encode(&[window], self.bench);
        self.model.tagger.apply(rows, &mut scores);
        self.model.project.apply(rows, &mut projected);
        for scores in scores.chunks_exact(self.model.tags.len()) {
            let pairs = scores.iter().zip(&self.model.tags);
            let best = pairs.reduce(|best, next| if next.0 > best.0 { next } else { best });
            self.tags.push(best.map_or(SPACE_TAG, |(_, tag)| tag));
        }
        if let Some(parts) = self.parts.get_mut(self.n_tiles % 2) {
            self.model.lower.times(&projected, projected.len() / HIDDEN, HIDDEN, parts);
        }
        self.projected.extend_from_slice(projected.as_chunks::<HIDDEN>().0);
        self.n_tiles += 1;
    }

    /// Returns the hidden row for the tokens that a move depends on.
    fn hidden(&self, slots: &[Option<usize>; N_SLOTS]) -> [f32; HIDDEN] {
        let mut sum = self.model.bias;
        for (slot, (token, missing)) in slots.iter().zip(&self.model.missing).enumerate() {
            match token {
                None => add(&mut sum, missing),
                Some(i) => self.add_part(*i, slot, &mut sum),
            }
        }
        greatest_of_two(&sum)
    }

    fn add_part(&self, i: usize, slot: usize, sum: &mut ParserPart) {
        let tile = i / TILE_TOKENS;
        if tile + 2 >= self.n_tiles {
            let rows =
                self.parts.get(tile % 2).map_or(&[][..], |parts| parts.as_chunks::<PART>().0);
            let rows = rows.as_chunks::<N_SLOTS>().0;
            let parts: Option<&Parts> = rows.get(i % TILE_TOKENS);
            parts.and_then(|parts| parts.get(slot)).into_iter().for_each(|part| add(sum, part));
            return;
        }
        // Older than two tiles: multiply the projected row with this slot's weights alone.
        let Some(projected) = self.projected.get(i) else { return };
        for (input, weights) in
            projected.iter().zip(self.model.lower.weights.chunks_exact(PART * N_SLOTS))
        {
            let weights = weights.get(slot * PART..(slot + 1) * PART).unwrap_or_default();
            sum.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += input * weight);
        }
    }
}

/// Returns the number of tokens in the first piece: all, if they are not too many; otherwise up to the last blank
/// line in the second half of the most that fit, the last line's end, the last sentence's end, or all that fit.
fn piece_length(tokens: &[Token]) -> usize {
    let Some(window) = tokens.get(..MAX_PARSED_TOKENS).filter(|window| window.len() < tokens.len())
    else {
        return tokens.len();
    };
    let half = MAX_PARSED_TOKENS / 2;
    let last = |is_border: &dyn Fn(&Token) -> bool| {
        window.iter().rposition(is_border).filter(|at| *at >= half).map(|at| at + 1)
    };
    // The text is not available here; a white space token of several characters is most likely a blank line.
    last(&|token| token.lexeme.is_space && token.end - token.start > 1)
        .or_else(|| last(&|token| token.lexeme.is_space))
        .or_else(|| last(&|token| token.has_blank_after && token.lexeme.ends_sentence))
        .unwrap_or(MAX_PARSED_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::{MAX_PARSED_TOKENS, piece_length};
    use crate::Pipeline;

    #[test]
    fn a_long_text_is_cut_where_it_pauses() {
        let pipeline = Pipeline::shared();
        let ends = |text: &str| {
            let tokens = pipeline.tokens(text);
            let n = piece_length(&tokens);
            (n, tokens[n - 1].surface(text).to_owned(), n < tokens.len())
        };
        let most = MAX_PARSED_TOKENS;
        assert_eq!(ends(&"word ".repeat(most)), (most, "word".to_owned(), false));
        assert_eq!(ends(&"word ".repeat(most + 1)), (most, "word".to_owned(), true));
        let early = format!("{}\n\n{}", "Yes. ".repeat(most / 8), "word ".repeat(most));
        assert_eq!(ends(&early), (most, "word".to_owned(), true));
        assert_eq!(ends(&"One two. ".repeat(most)).1, ".");
        let lines = "One two.\nThree four.\n\nFive six. Seven.\n".repeat(most / 8);
        assert_eq!(ends(&lines).1, "\n\n");
    }
}
