//! Atoms: the smallest pieces a chunk is made of, each with its number of tokens.
//!
//! In: a normalized document. Out: its sentences, code lines and table rows in order of place.
//! Invariants: atoms do not overlap; together they hold every character of the blocks that is not whitespace; the
//! text is tokenized once.

use super::profile::Budgets;
use super::sentence::sentences;
use embed::wordpiece::{CachedWordPiece, Word};
use model::document::{Block, BlockKind, Document, Profile};
use model::terms::{Norm, Span};

/// A piece of a block that is never divided between chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Atom {
    /// First byte in the normalized text.
    pub(super) start: usize,
    /// One past its last byte.
    pub(super) end: usize,
    /// Number of tokens.
    pub(super) n_tokens: usize,
    /// Index of its block.
    pub(super) block: usize,
    /// True for a whole sentence of running text or list item; false for headings, lines, rows and cut pieces.
    pub(super) is_sentence: bool,
}

/// The words of one text, for counting the tokens of any span in it.
#[derive(Debug, Default)]
pub(super) struct TokenIndex {
    words: Vec<Word>,
    /// For each word, the number of tokens before it; one extra entry at the end holds the total.
    before: Vec<usize>,
}

impl TokenIndex {
    /// Replaces the words with those of `text`.
    pub(super) fn read(&mut self, tokenizer: &mut CachedWordPiece, text: &str) {
        self.words.clear();
        self.before.clear();
        tokenizer.words(text, &mut self.words);
        let mut n_tokens = 0;
        self.before.push(0);
        self.before.extend(self.words.iter().map(|word| {
            n_tokens += word.n_pieces as usize;
            n_tokens
        }));
    }

    /// Returns the number of tokens of the words that begin in `[start, end)`.
    pub(super) fn count(&self, start: usize, end: usize) -> usize {
        // Prefix sums: a span costs two binary searches, whatever its length.
        let at = |word: usize| self.before.get(word).copied().unwrap_or(0);
        at(self.first_word(end)).saturating_sub(at(self.first_word(start)))
    }

    /// Cuts `[start, end)` between words into pieces of at most `max` tokens. A word of more tokens is a piece of its
    /// own.
    pub(super) fn cut(&self, start: usize, end: usize, max: usize) -> Vec<(usize, usize)> {
        let mut cuts = vec![start];
        let words =
            self.words.get(self.first_word(start)..self.first_word(end)).unwrap_or_default();
        let mut n_tokens = 0;
        for word in words {
            // Without `n_tokens > 0`, a word of more than `max` tokens would open an empty piece before itself.
            if n_tokens > 0 && n_tokens + word.n_pieces as usize > max {
                cuts.push(word.start as usize);
                n_tokens = 0;
            }
            n_tokens += word.n_pieces as usize;
        }
        cuts.push(end);
        cuts.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.last()?))).collect()
    }

    fn first_word(&self, offset: usize) -> usize {
        self.words.partition_point(|word| (word.start as usize) < offset)
    }
}

/// Returns the sentences of paragraphs, list items and quotes, and whole headings, in order of place. Rows and code
/// have none.
pub fn sentences_of(doc: &Document) -> Vec<Span<Norm>> {
    let mut spans = Vec::new();
    for block in doc.blocks.iter().filter(|block| is_running_text(block)) {
        each_piece(block, &doc.text, &[], |start, end| spans.push(Span::new(start, end)));
    }
    spans
}

/// Returns the atoms of a document.
pub(super) fn atoms_of(
    doc: &Document,
    index: &TokenIndex,
    profiles: &[Profile],
    budgets: &Budgets,
    turns: &[usize],
) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for (block_idx, block) in doc.blocks.iter().enumerate() {
        let budget = budgets.of(profiles.get(block_idx).copied().unwrap_or(Profile::General));
        // A list item stays whole up to the limit of a line; only a larger one is cut into sentences below.
        if let Some(atom) =
            whole_item(doc, index, block).filter(|atom| atom.n_tokens <= budget.max_line())
        {
            atoms.push(Atom { block: block_idx, ..atom });
            continue;
        }
        let is_running = is_running_text(block);
        // A sentence may fill a chunk; code lines and rows may exceed it, since a part of one is useless.
        let longest = if is_running { budget.max } else { budget.max_line() };
        let is_sentence = is_running && !matches!(block.kind, BlockKind::Heading(_));
        each_piece(block, &doc.text, turns, |start, end| {
            let n_tokens = index.count(start, end);
            if n_tokens <= longest {
                atoms.push(Atom { start, end, n_tokens, block: block_idx, is_sentence });
                return;
            }
            // Too long to stay whole: cut between words. The pieces are not sentences, so no overlap repeats them.
            for (start, end) in index.cut(start, end, budget.max) {
                let n_tokens = index.count(start, end);
                let end = start + Span::<Norm>::new(start, end).of(&doc.text).trim_end().len();
                atoms.push(Atom { start, end, n_tokens, block: block_idx, is_sentence: false });
            }
        });
    }
    atoms
}

/// Makes a whole list item one atom, so that a step is not cut.
fn whole_item(doc: &Document, index: &TokenIndex, block: &Block) -> Option<Atom> {
    let text = block.span.of(&doc.text);
    let start = block.span.start() + (text.len() - text.trim_start().len());
    let end = block.span.start() + text.trim_end().len();
    let is_item = matches!(block.kind, BlockKind::ListItem { .. }) && start < end;
    is_item.then(|| Atom {
        start,
        end,
        n_tokens: index.count(start, end),
        // The caller sets the index.
        block: 0,
        is_sentence: true,
    })
}

fn is_running_text(block: &Block) -> bool {
    !matches!(block.kind, BlockKind::Code { .. } | BlockKind::TableRow { .. })
}

/// Calls `visit` with the start and end of each sentence, line or row of a block; skips blank lines. No sentence goes
/// on in the next turn.
fn each_piece(block: &Block, text: &str, turns: &[usize], mut visit: impl FnMut(usize, usize)) {
    let (first, body) = (block.span.start(), block.span.of(text));
    match block.kind {
        BlockKind::Heading(_) | BlockKind::TableRow { .. } => {
            let start = first + (body.len() - body.trim_start().len());
            let end = first + body.trim_end().len();
            if start < end {
                visit(start, end);
            }
        }
        BlockKind::Code { .. } => {
            let mut start = first;
            for line in body.split_inclusive('\n') {
                let length = line.trim_end().len();
                if length > 0 {
                    visit(start, start + length);
                }
                start += line.len();
            }
        }
        BlockKind::Paragraph | BlockKind::ListItem { .. } | BlockKind::Quote => {
            let (mut start, last) = (first, block.span.end());
            let after = turns.partition_point(|it| *it <= first);
            let inner = turns.iter().skip(after).copied().take_while(|it| *it < last);
            for end in inner.chain([last]) {
                let said = sentences(Span::<Norm>::new(start, end).of(text));
                said.for_each(|range| visit(start + range.start, start + range.end));
                start = end;
            }
        }
    }
}
