//! Language: the layer that reads English. It uses `sys` for its matrix products; `extract` uses it.
//!
//! It finds English tokens, tags, dependencies, sentences and names, with the results of spaCy's `en_core_web_sm`
//! 3.8.
//!
//! In: a text. Out: its tokens (byte spans); from tokens, a [`Parse`] or the [`Entity`]s among them.
//! Invariants: functions of their arguments alone, whatever was called before and on whichever thread; every byte
//! that is not white space is in exactly one token, in order; time is linear in the text, whatever it contains; the
//! memory of a call is bounded, except for what it returns. `tests/english/compare.py` runs spaCy on the same text
//! and counts differences.
//!
//! # Whole documents and parts
//!
//! Each token's vector depends on four tokens on either side, a sentence break depends on everything since the last
//! break, and a name never crosses a break. So spaCy's result is that of a whole document. [`Pipeline::parse`] of a
//! part of the tokens is spaCy's result for a document that consists of that part: close to the whole's, but the
//! words at its ends lack their neighbors. To parse a single sentence cheaply, pass a few sentences around it as
//! well. Parts of more than [`MAX_PARSED_TOKENS`] tokens are parsed in pieces, cut after a blank line, at a
//! sentence's end, or anywhere, in this order of preference.

mod characters;
mod data;
mod encoder;
mod entities;
mod lexeme;
mod matrix;
mod parser;
mod pattern;
mod tokenizer;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use encoder::{Encoder, EncoderBench};
use entities::EntityModel;
use parser::ParserModel;
use tokenizer::{ChunkCache, Tokenizer};

pub use data::LoadError;
pub use entities::{Entity, Stretch};
pub use lexeme::Lexeme;
pub use matrix::operations_a_token;
pub use parser::{MAX_PARSED_TOKENS, Parse};

/// One token: a word, a mark, or white space other than a single blank after a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
    /// True when a blank follows that belongs to no token.
    pub has_blank_after: bool,
    /// Its features for the models.
    pub lexeme: Lexeme,
}

impl Token {
    /// Returns its characters in the text that it comes from; empty for a text that is too short.
    pub fn surface<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The English pipeline: tables and weights (8.5 MB in the binary, more unpacked), and a workbench of at most 10 MB
/// for each thread that uses it at the same time.
#[derive(Debug)]
pub struct Pipeline {
    tokenizer: Tokenizer,
    names: EntityModel,
    /// Vectors for tags and dependencies.
    encoder: Encoder,
    parser: ParserModel,
    /// Workbenches not in use. The lock is held only to take one or return it, not during a call.
    idle: Mutex<Vec<Workbench>>,
}

static SHARED: OnceLock<Arc<Pipeline>> = OnceLock::new();

/// The caches and buffers that a call needs.
#[derive(Debug, Default)]
struct Workbench {
    chunks: ChunkCache,
    names: EncoderBench,
    syntax: EncoderBench,
}

impl Pipeline {
    /// Returns the shipped model, unpacked at the first call and shared afterwards.
    pub fn shared() -> Arc<Self> {
        let load = || Arc::new(Pipeline::load().expect("the committed model is tested to load"));
        Arc::clone(SHARED.get_or_init(load))
    }

    /// Calls [`Pipeline::rest`] for the shared model, if it was unpacked.
    pub fn rest_shared() {
        if let Some(shared) = SHARED.get() {
            shared.rest();
        }
    }

    /// Unpacks the shipped model.
    ///
    /// [`LoadError`] when one of its files is not as expected, which a test rules out.
    fn load() -> Result<Self, LoadError> {
        let shipped = data::Shipped::read()?;
        Ok(Pipeline {
            tokenizer: Tokenizer::new(&shipped)?,
            names: EntityModel::new(&shipped)?,
            encoder: Encoder::new(&shipped, "tok2vec", &shipped.config.tok2vec_seeds)?,
            parser: ParserModel::new(&shipped)?,
            idle: Mutex::default(),
        })
    }

    /// Returns the tokens of `text`; only the first 4 GiB are read.
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        self.at_work(|bench| self.tokenizer.tokens(text, &mut bench.chunks))
    }

    /// Returns the names among `tokens`, in order and disjoint. `sentence_starts` are those of a [`Parse`] of the
    /// same tokens, which no name crosses; empty when there is no parse.
    pub fn entities(&self, tokens: &[Token], sentence_starts: &[bool]) -> Vec<Entity> {
        let all = Stretch { tokens, starts: sentence_starts, range: 0..tokens.len() };
        self.entities_in(&[all]).pop().unwrap_or_default()
    }

    /// Returns the names in each of some stretches of texts, in order and disjoint: those of [`Pipeline::entities`]
    /// that begin and end there, except that a name which began before hides none. Many short stretches in one call
    /// cost less than a call for each.
    pub fn entities_in(&self, stretches: &[Stretch<'_>]) -> Vec<Vec<Entity>> {
        self.at_work(|bench| self.names.entities(stretches, &mut bench.names))
    }

    /// Returns tags, heads, labels and sentence starts of `tokens`, as if they were the whole document.
    pub fn parse(&self, tokens: &[Token]) -> Parse {
        self.at_work(|bench| self.parser.parse(tokens, (&self.encoder, &mut bench.syntax)))
    }

    /// Frees the workbenches that are not in use; the next call makes a new one.
    pub fn rest(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn at_work<T>(&self, work: impl FnOnce(&mut Workbench) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bench = idle().pop().unwrap_or_default();
        let answer = work(&mut bench);
        idle().push(bench);
        answer
    }
}

#[cfg(test)]
mod tests;
