//! Language: the layer that reads English. It uses `sys` for its matrix products; `extract` uses it.
//!
//! Language: English tokens, tags, dependencies, sentences and names; the answers of spaCy's `en_core_web_sm` 3.8.
//!
//! In: a text. Out: its tokens (byte spans); from tokens, a [`Parse`] or the [`Entity`]s among them.
//! Invariants: functions of their arguments alone, whatever was asked before and on whichever thread; every byte that
//! is not white space lies in exactly one token, in order; time is linear in the text, whatever stands in it; the
//! memory of a call is bounded but for what it returns. `tests/english/compare.py` runs spaCy beside it and counts what
//! differs.
//! Not here: which text is English (`formats`), what a name means, or whether spaCy is right.
//!
//! # Whole documents and parts
//!
//! Each token's vector sees four tokens to either side, a sentence break depends on all that the parser did since the
//! break before, and a name never crosses a break. So spaCy's own answer is the one for a whole document.
//! [`Pipeline::parse`] of a part of the tokens is spaCy's answer for a document that holds just that part: close to the
//! whole's, but the words at its ends miss their neighbors. Who wants the parse of one sentence at a fraction of the
//! cost should give a few sentences around it. Parts of more than [`MAX_PARSED_TOKENS`] tokens are parsed piece by
//! piece, cut after a blank line, a sentence's end, or anywhere, whichever the last half of a piece offers first.

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
pub use entities::Entity;
pub use lexeme::Lexeme;
pub use matrix::operations_a_token;
pub use parser::{MAX_PARSED_TOKENS, Parse};

/// One token: a word, a mark, or white space that is more than a single blank after a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
    /// Whether one blank follows, which no token holds.
    pub has_blank_after: bool,
    /// What the models know of its letters.
    pub lexeme: Lexeme,
}

impl Token {
    /// Its characters in the text that it was cut from; empty in another text.
    pub fn surface<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// The English pipeline: tables and weights (8.5 MB as they lie in the binary, more unpacked), and a workbench of at
/// most 10 MB for each thread that uses it at once.
#[derive(Debug)]
pub struct Pipeline {
    tokenizer: Tokenizer,
    names: EntityModel,
    /// Vectors for tags and dependencies.
    encoder: Encoder,
    parser: ParserModel,
    /// Workbenches nobody uses now. The lock is held to take one or give it back, once a call.
    idle: Mutex<Vec<Workbench>>,
}

static SHARED: OnceLock<Arc<Pipeline>> = OnceLock::new();

/// What one thread needs while it reads; all of it caches and buffers.
#[derive(Debug, Default)]
struct Workbench {
    chunks: ChunkCache,
    names: EncoderBench,
    syntax: EncoderBench,
}

impl Pipeline {
    /// The shipped model, unpacked at the first call and shared from then on.
    pub fn shared() -> Arc<Self> {
        let load = || Arc::new(Pipeline::load().expect("the committed model is tested to load"));
        Arc::clone(SHARED.get_or_init(load))
    }

    /// [`Pipeline::rest`] for the shared one, if it was ever unpacked.
    pub fn rest_shared() {
        if let Some(shared) = SHARED.get() {
            shared.rest();
        }
    }

    /// Unpacks the shipped model.
    ///
    /// # Errors
    /// When a file of it is not what it should be, which a test rules out.
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

    /// The tokens of `text`, of which only the first 4 GiB are read.
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        self.at_work(|bench| self.tokenizer.tokens(text, &mut bench.chunks))
    }

    /// The names among `tokens`, in order, disjoint. `sentence_starts` are a parse's of the same tokens, where no name
    /// may cross; empty when there is none, as in a pipeline of names alone.
    pub fn entities(&self, tokens: &[Token], sentence_starts: &[bool]) -> Vec<Entity> {
        self.at_work(|bench| self.names.entities(tokens, sentence_starts, &mut bench.names))
    }

    /// Tags, heads, labels and sentence starts of `tokens`, as if they were the whole document.
    pub fn parse(&self, tokens: &[Token]) -> Parse {
        self.at_work(|bench| self.parser.parse(tokens, (&self.encoder, &mut bench.syntax)))
    }

    /// Frees the workbenches that nobody uses now; the next call makes a new one.
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
