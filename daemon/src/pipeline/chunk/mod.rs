//! Chunk: cuts a document into spans sized for retrieval, and those into windows sized for embedding.
//!
//! In: a normalized document with its outline. Out: the same with its chunks.
//! Invariants: the same document gives the same chunks; together they hold every character that is not
//! whitespace; each lies within one section, or joins whole small ones under one heading; none cuts a code
//! line or table row (unless longer than four budgets) or a sentence (unless longer than one); each holds at
//! most `max_tokens`, but for an ordered list kept whole (twice that) and for a single line, row or word that
//! is larger alone; windows tile their chunk.
//! Not here: the prelude with the path (rendered at answer time), vectors (`pipeline/embed`).
//!
//! The steps, each in its file: `atom` (the smallest pieces, counted once), `outline` (which sections stay
//! together), `fill` (pieces into chunks), `window` (chunks into windows).

mod atom;
mod fill;
mod outline;
mod sentence;
mod window;

use std::sync::Arc;

use config::settings;

use crate::belt::{DocFault, Stage};
use crate::embedder::wordpiece::{CachedWordPiece, WordPiece};
use crate::pipeline::parcel::{Chunk, ChunkedDoc, NormalDoc};
use crate::terms::{ContentHash, Norm, Span};

use atom::{Atom, TokenIndex};
use outline::Outline;

pub use atom::sentences_of;
pub use sentence::{Sentences, sentences};

/// The stage. Holds its own cache of words, so that two chunkers share nothing but the vocabulary.
#[derive(Debug)]
pub struct Chunker {
    budget: Budget,
    tokenizer: CachedWordPiece,
    index: TokenIndex,
    hashed: Vec<u8>,
}

/// Sizes in tokens, each at least 1.
#[derive(Debug, Clone, Copy)]
struct Budget {
    /// Most of a chunk.
    max: usize,
    /// Sections below are joined with what follows.
    min: usize,
    /// Most that is repeated from the chunk before.
    overlap: usize,
    /// Most of a window.
    window: usize,
}

impl Budget {
    /// Most of a chunk that is one ordered list: steps read badly apart (S4 §5 allows procedures twice as
    /// much).
    fn max_procedure(&self) -> usize {
        self.max.saturating_mul(2)
    }

    /// A line or row above this is cut, because nothing can be done with it as it is.
    fn max_line(&self) -> usize {
        self.max.saturating_mul(4)
    }
}

impl Chunker {
    /// A chunker of the given sizes, counting tokens with `wordpiece`.
    pub fn new(
        chunk: &settings::Chunk,
        embed: &settings::Embed,
        wordpiece: Arc<WordPiece>,
    ) -> Self {
        let size = |tokens: u32| tokens.max(1) as usize;
        let budget = Budget {
            max: size(chunk.max_tokens),
            min: size(chunk.min_tokens),
            overlap: chunk.overlap_tokens as usize,
            window: size(embed.window_tokens),
        };
        let tokenizer = CachedWordPiece::new(wordpiece);
        Chunker { budget, tokenizer, index: TokenIndex::default(), hashed: Vec::new() }
    }

    fn chunks(&mut self, doc: &NormalDoc) -> Vec<Chunk> {
        self.index.read(&mut self.tokenizer, &doc.text);
        let atoms = atom::atoms_of(doc, &self.index, &self.budget);
        let outline = Outline::of(&doc.blocks, &atoms);
        let mut chunks = Vec::new();
        for group in outline.groups(&self.budget) {
            for range in fill::fill(outline.units(&group, &self.budget), &outline, &self.budget) {
                let headings = outline.headings(doc, range.clone());
                chunks.extend(atoms.get(range).and_then(|atoms| self.chunk(doc, headings, atoms)));
            }
        }
        chunks
    }

    /// The chunk of some atoms; `None` when there are none.
    fn chunk(&mut self, doc: &NormalDoc, headings: Vec<String>, atoms: &[Atom]) -> Option<Chunk> {
        let span: Span<Norm> = Span::new(atoms.first()?.start, atoms.last()?.end);
        let n_tokens = self.index.count(span.start(), span.end());
        let windows = window::windows_of(span, atoms, &self.index, &self.budget);
        let hash = self.hash(&doc.title, &headings, span.of(&doc.text));
        let n_tokens = u32::try_from(n_tokens).unwrap_or(u32::MAX);
        Some(Chunk { span, headings, n_tokens, windows, hash })
    }

    /// Each part goes in with its length, so that text cannot pass for a heading.
    fn hash(&mut self, title: &str, headings: &[String], text: &str) -> ContentHash {
        self.hashed.clear();
        let parts = std::iter::once(title).chain(headings.iter().map(String::as_str));
        for part in parts.chain(std::iter::once(text)) {
            self.hashed.extend_from_slice(&(part.len() as u64).to_le_bytes());
            self.hashed.extend_from_slice(part.as_bytes());
        }
        ContentHash::of(&self.hashed)
    }
}

impl Stage for Chunker {
    const NAME: &'static str = "chunk";
    type In = NormalDoc;
    type Out = ChunkedDoc;

    fn run(&mut self, doc: NormalDoc) -> Result<ChunkedDoc, DocFault> {
        let chunks = self.chunks(&doc);
        Ok(ChunkedDoc { doc, chunks })
    }
}

#[cfg(test)]
mod tests;
