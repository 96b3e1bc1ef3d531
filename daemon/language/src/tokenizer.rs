//! Tokenizer: cuts a text into tokens as spaCy's does.
//!
//! In: a text. Out: tokens in order. A run of characters that are not white space (a chunk) is an exception, or loses
//! marks at its front and end repeatedly until it is one or nothing more is found; the rest is a URL or is cut at
//! infixes. Last, exceptions that consist of marks (":-)") are found among the tokens and joined again.
//! Invariants: tokens cover every byte except the blank after a word, in order; equal chunks give equal tokens, so
//! they are cached; linear time, since marks are looked for within a few characters and exceptions are short.

mod joined;
mod url;

use rustc_hash::FxHashMap;

use self::joined::Joined;
use self::url::UrlRule;
use super::Token;
use super::characters::is_space;
use super::data::{LoadError, Shipped};
use super::lexeme::{Lexeme, Lexicon};
use super::pattern::Pattern;

/// Most tokens of cached chunks, about 60 bytes each; beyond this the cache is cleared, and frequent words soon
/// return.
const MAX_CACHED_PIECES: usize = 20_000;

/// Longest chunk that is cached, in bytes: longer ones seldom repeat.
const MAX_CACHED_BYTES: usize = 64;

/// A token of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    n_bytes: u32,
    lexeme: Lexeme,
}

/// Chunks already cut, for one thread.
#[derive(Debug, Default)]
pub(super) struct ChunkCache {
    chunks: FxHashMap<Box<str>, Box<[Piece]>>,
    /// Number of tokens in all of them.
    n_pieces: usize,
}

impl ChunkCache {
    fn keep(&mut self, chunk: &str, pieces: Vec<Piece>) {
        if chunk.len() > MAX_CACHED_BYTES {
            return;
        }
        self.n_pieces += pieces.len();
        if self.n_pieces > MAX_CACHED_PIECES {
            self.chunks.clear();
            self.n_pieces = pieces.len();
        }
        self.chunks.insert(chunk.into(), pieces.into());
    }
}

#[derive(Debug)]
pub(super) struct Tokenizer {
    lexicon: Lexicon,
    exceptions: FxHashMap<String, Box<[Piece]>>,
    /// Length of the longest exception, in bytes.
    longest_exception: usize,
    prefix: Pattern,
    suffix: Pattern,
    infix: Pattern,
    url: UrlRule,
    joined: Joined,
}

impl Tokenizer {
    pub(super) fn new(shipped: &Shipped) -> Result<Self, LoadError> {
        let tables = &shipped.tokenizer;
        let lexicon = Lexicon::new(shipped);
        let mut exceptions: FxHashMap<String, Box<[Piece]>> = FxHashMap::default();
        for (word, parts) in &tables.exceptions {
            let piece = |text: &str, norm| piece_of(text, lexicon.lexeme(text, norm));
            let pieces = parts.iter().map(|part| piece(&part.orth, part.norm.as_deref())).collect();
            exceptions.insert(word.clone(), pieces);
        }
        let mut tokenizer = Tokenizer {
            lexicon,
            longest_exception: exceptions.keys().map(String::len).max().unwrap_or(0),
            exceptions,
            prefix: Pattern::parse(&tables.prefix)?,
            suffix: Pattern::parse(&tables.suffix)?,
            infix: Pattern::parse(&tables.infix)?,
            url: UrlRule::new(&tables.url_match)?,
            joined: Joined::default(),
        };
        tokenizer.joined = tokenizer.joined_exceptions();
        Ok(tokenizer)
    }

    /// Collects the exceptions that the patterns would cut: only these can occur in pieces among the tokens.
    fn joined_exceptions(&self) -> Joined {
        let mut joined = Joined::default();
        for word in self.exceptions.keys() {
            let has_infix =
                || word.char_indices().any(|(at, _)| self.infix.length_at(word, at).is_some());
            if self.prefix.length_at(word, 0).is_some()
                || has_infix()
                || self.suffix.length_at_end(word).is_some()
                || word.contains(' ')
            {
                let pieces = word.split_inclusive(is_space).flat_map(|part| self.cut(part, false));
                joined.add(pieces.map(|piece| piece.lexeme.exact));
            }
        }
        joined
    }

    pub(super) fn tokens(&self, text: &str, cache: &mut ChunkCache) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let is_blank = is_space(first);
            let end = rest.find(|c: char| is_space(c) != is_blank).unwrap_or(rest.len());
            let (mut chunk, after) = rest.split_at(end);
            let mut start = text.len() - rest.len();
            if is_blank && start > 0 && first == ' ' {
                // This blank belongs to the word before it: skip it.
                (start, chunk) = (start + 1, chunk.get(1..).unwrap_or_default());
            }
            // Offsets are 32 bits wide; what is beyond 4 GiB is dropped.
            if !chunk.is_empty() && u32::try_from(start + chunk.len()).is_ok() {
                let has_blank_after = !is_blank && after.starts_with(' ');
                self.push_chunk(chunk, start as u32, cache, &mut tokens);
                tokens
                    .last_mut()
                    .into_iter()
                    .for_each(|token| token.has_blank_after = has_blank_after);
            }
            rest = after;
        }
        self.join(text, tokens)
    }

    fn push_chunk(&self, chunk: &str, start: u32, cache: &mut ChunkCache, tokens: &mut Vec<Token>) {
        // Exceptions first: they are not in the cache, since they need no cutting.
        if let Some(pieces) = self.exception(chunk) {
            return push(pieces, start, tokens);
        }
        if let Some(pieces) = cache.chunks.get(chunk) {
            return push(pieces, start, tokens);
        }
        let pieces = self.cut(chunk, true);
        push(&pieces, start, tokens);
        cache.keep(chunk, pieces);
    }

    fn exception(&self, chunk: &str) -> Option<&[Piece]> {
        match chunk.len() <= self.longest_exception {
            true => self.exceptions.get(chunk).map(|pieces| &**pieces),
            false => None,
        }
    }

    /// Returns the tokens of a chunk. `with_exceptions`: look for exceptions inside it.
    fn cut(&self, chunk: &str, with_exceptions: bool) -> Vec<Piece> {
        let exception = |text: &str| if with_exceptions { self.exception(text) } else { None };
        let (mut pieces, mut suffixes) = (Vec::new(), Vec::new());
        let mut core = chunk;
        // As in spaCy: one prefix and one suffix a round, and an exception in what remains ends the loop.
        while !core.is_empty() && exception(core).is_none() {
            let prefix_bytes = self.prefix.length_at(core, 0).unwrap_or(0);
            let (prefix, after_prefix) = core.split_at(prefix_bytes);
            // The exception is looked up after removing the prefix alone, before the suffix is considered.
            if prefix_bytes > 0 && exception(after_prefix).is_some() {
                pieces.push(self.piece(prefix));
                core = after_prefix;
                break;
            }
            let suffix_bytes = self.suffix.length_at_end(after_prefix).unwrap_or(0);
            let (before_suffix, suffix) = core.split_at(core.len() - suffix_bytes);
            if suffix_bytes > 0 && exception(before_suffix).is_some() {
                suffixes.push(self.piece(suffix));
                core = before_suffix;
                break;
            }
            if prefix_bytes + suffix_bytes == 0 {
                break;
            }
            if prefix_bytes > 0 {
                pieces.push(self.piece(prefix));
            }
            if suffix_bytes > 0 {
                suffixes.push(self.piece(suffix));
            }
            core = core.get(prefix_bytes..core.len() - suffix_bytes).unwrap_or_default();
        }
        match exception(core) {
            Some(found) => pieces.extend_from_slice(found),
            None => self.cut_core(core, &mut pieces),
        }
        // Suffixes were collected from the end of the chunk inward.
        pieces.extend(suffixes.into_iter().rev());
        pieces
    }

    /// Cuts what remains after removing marks around it, at its infixes.
    fn cut_core(&self, core: &str, pieces: &mut Vec<Piece>) {
        if !core.is_empty() && self.url.matches(core) {
            pieces.push(self.piece(core));
            return;
        }
        let (mut start, mut at) = (0, 0);
        while let Some(character) = core.get(at..).and_then(|rest| rest.chars().next()) {
            let Some(n_bytes) = self.infix.length_at(core, at) else {
                at += character.len_utf8();
                continue;
            };
            // An infix at the very front does not cut; the search continues after it.
            if at > 0 {
                pieces.extend(
                    core.get(start..at).filter(|word| !word.is_empty()).map(|w| self.piece(w)),
                );
                pieces.extend(core.get(at..at + n_bytes).map(|infix| self.piece(infix)));
                start = at + n_bytes;
            }
            at += n_bytes;
        }
        pieces
            .extend(core.get(start..).filter(|word| !word.is_empty()).map(|word| self.piece(word)));
    }

    fn piece(&self, text: &str) -> Piece {
        piece_of(text, self.lexicon.lexeme(text, None))
    }

    /// Replaces tokens that together are an exception by the exception's tokens.
    fn join(&self, text: &str, tokens: Vec<Token>) -> Vec<Token> {
        let spans = self.joined.spans(&tokens);
        if spans.is_empty() {
            return tokens;
        }
        let mut joined = Vec::with_capacity(tokens.len());
        let mut done = 0;
        for span in spans {
            let found = tokens.get(span.clone()).unwrap_or_default();
            let (Some(first), Some(last)) = (found.first(), found.last()) else { continue };
            let surface = text.get(first.start as usize..last.end as usize).unwrap_or_default();
            let Some(pieces) = self.exception(surface) else { continue };
            joined.extend_from_slice(tokens.get(done..span.start).unwrap_or_default());
            push(pieces, first.start, &mut joined);
            joined
                .last_mut()
                .into_iter()
                .for_each(|new| new.has_blank_after = last.has_blank_after);
            done = span.end;
        }
        joined.extend_from_slice(tokens.get(done..).unwrap_or_default());
        joined
    }
}

fn piece_of(text: &str, lexeme: Lexeme) -> Piece {
    Piece { n_bytes: text.len() as u32, lexeme }
}

fn push(pieces: &[Piece], mut start: u32, tokens: &mut Vec<Token>) {
    for Piece { n_bytes, lexeme } in pieces {
        let end = start + n_bytes;
        tokens.push(Token { start, end, has_blank_after: false, lexeme: *lexeme });
        start = end;
    }
}
