//! Scan: walks a document's words once and looks up the runs that may be names.
//!
//! In: a gazetteer and a document. Out: its matches, in order of place.
//! Invariants: matches never overlap and never cross blocks; each byte is hashed once, plus once
//! for each longer run tried; a match needs equal norms, not just equal hashes.

use super::accept::RunContext;
use super::hash::{FNV_START, LOWER, Token, read_token, step};
use super::{EXACT_SCORE, Entry, Gazetteer, PLURAL_SCORE};
use crate::recognize::border::Borders;
use model::document::{Block, BlockKind, Document, Mention, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, Norm, Span};

/// Most words of a run. A longer title is found only by its link.
const MAX_RUN_WORDS: usize = 12;

/// A run that is a mention.
struct GazetteerHit<'g> {
    end: usize,
    entry: Entry<'g>,
    is_plural: bool,
}

/// One walk through one document.
pub(super) struct Scan<'d, 'g> {
    gazetteer: &'g Gazetteer,
    doc: &'d Document,
    surroundings: RunContext<'d>,
}

impl<'d, 'g> Scan<'d, 'g> {
    pub(super) fn new(
        gazetteer: &'g Gazetteer,
        doc: &'d Document,
        sentences: &'d [Span<Norm>],
    ) -> Self {
        let surroundings = RunContext { doc, sentences, borders: Borders::of(doc) };
        Scan { gazetteer, doc, surroundings }
    }

    pub(super) fn run(&self, out: &mut Vec<Mention>) {
        for block in &self.doc.blocks {
            if matches!(block.kind, BlockKind::Code { .. }) {
                self.code(block, out);
            } else {
                self.prose(block, out);
            }
        }
    }

    fn prose(&self, block: &Block, out: &mut Vec<Mention>) {
        let text = &self.doc.text;
        let bytes = text.as_bytes();
        let end = block.span.end().min(bytes.len());
        let mut at = block.span.start();
        while at < end {
            if LOWER[bytes[at] as usize] == 0 {
                at += 1;
                continue;
            }
            let token = read_token(text, at, end, FNV_START);
            if let Some(past) = past_url(bytes, at, &token, end) {
                at = past;
                continue;
            }
            let hit = if self.begins(&token, bytes) { self.longest(at, &token, end) } else { None };
            match hit {
                Some(hit) => {
                    out.push(mention(after_article(text, at, hit.end), &hit));
                    at = hit.end;
                }
                None => at = token.next,
            }
        }
    }

    fn begins(&self, token: &Token, bytes: &[u8]) -> bool {
        self.gazetteer.may_begin(token.hash)
            || (ends_with_s(bytes, token.end) && self.gazetteer.may_begin(token.hash_before_last))
    }

    /// Returns the longest accepted run that begins with `token` at `start`.
    fn longest(&self, start: usize, token: &Token, end: usize) -> Option<GazetteerHit<'g>> {
        let text = &self.doc.text;
        let bytes = text.as_bytes();
        let mut best = self.hit(start, token);
        let (mut run_end, mut hash) = (token.end, token.hash);
        for _ in 1..MAX_RUN_WORDS {
            if !self.gazetteer.table.get(&hash).is_some_and(|slot| slot.goes_on) {
                break;
            }
            let Some(next) = after_joint(bytes, run_end, end) else { break };
            let token = read_token(text, next, end, hash);
            if token.end == next {
                break;
            }
            (run_end, hash) = (token.end, token.hash);
            best = self.hit(start, &token).or(best);
        }
        best
    }

    fn hit(&self, start: usize, token: &Token) -> Option<GazetteerHit<'g>> {
        let as_written = self.accepted(start, token.end, token.hash, false);
        if as_written.is_some() || !ends_with_s(self.doc.text.as_bytes(), token.end) {
            return as_written;
        }
        self.accepted(start, token.end, token.hash_before_last, true)
    }

    fn accepted(
        &self,
        start: usize,
        end: usize,
        hash: u64,
        is_plural: bool,
    ) -> Option<GazetteerHit<'g>> {
        let slot = self.gazetteer.table.get(&hash)?;
        let entry = self.gazetteer.entry_of(*slot)?;
        let surface = self.doc.text.get(start..end)?;
        let is_match = super::has_norm(surface, entry, is_plural)
            && self.surroundings.accepts(entry, start..end, is_plural);
        is_match.then_some(GazetteerHit { end, entry, is_plural })
    }

    /// Matches fenced code: only identifiers (`KeyRotationJob`, `rotate_keys`) that equal an entry
    /// exactly.
    fn code(&self, block: &Block, out: &mut Vec<Mention>) {
        let text = &self.doc.text;
        let bytes = text.as_bytes();
        let end = block.span.end().min(bytes.len());
        let mut at = block.span.start();
        while at < end {
            let start = at;
            let (mut has_joint, mut has_hump, mut hash) = (false, false, FNV_START);
            while at < end && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                has_joint |= bytes[at] == b'_';
                has_hump |= at > start
                    && bytes[at].is_ascii_uppercase()
                    && bytes[at - 1].is_ascii_lowercase();
                if bytes[at] != b'_' {
                    hash = step(hash, LOWER[bytes[at] as usize]);
                }
                at += 1;
            }
            if has_joint || has_hump {
                let entry =
                    self.gazetteer.table.get(&hash).and_then(|s| self.gazetteer.entry_of(*s));
                if let Some(entry) = entry.filter(|e| text.get(start..at) == Some(e.surface)) {
                    out.push(mention(start, &GazetteerHit { end: at, entry, is_plural: false }));
                }
            }
            at += usize::from(at == start);
        }
    }
}

fn ends_with_s(bytes: &[u8], end: usize) -> bool {
    end.checked_sub(1).and_then(|last| bytes.get(last)) == Some(&b's')
}

/// Returns where the next word of a run begins, if a joint follows `at`: one space, hyphen,
/// underscore, slash, line break or apostrophe, `::`, or ` & `.
fn after_joint(bytes: &[u8], at: usize, end: usize) -> Option<usize> {
    let rest = bytes.get(at..end)?;
    let width = match rest {
        [b':', b':', ..] => 2,
        [b' ', b'&', b' ', ..] => 3,
        [b' ' | b'-' | b'_' | b'/' | b'\n' | b'\'', ..] => 1,
        _ => return None,
    };
    rest.get(width).filter(|b| LOWER[**b as usize] != 0).map(|_| at + width)
}

/// Returns where the text continues after a URL, host or mail address that begins with this word.
fn past_url(bytes: &[u8], start: usize, token: &Token, end: usize) -> Option<usize> {
    let rest = bytes.get(token.end..end)?;
    let is_url = match rest {
        [b':', b'/', b'/', ..] => true,
        [b'@', next, ..] => next.is_ascii_alphanumeric(),
        _ => bytes.get(start..token.end).is_some_and(|word| word.starts_with(b"www.")),
    };
    let stops = |b: &u8| b.is_ascii_whitespace() || matches!(b, b'>' | b'"' | b'|' | b')' | b']');
    is_url.then(|| token.end + rest.iter().position(stops).unwrap_or(rest.len()))
}

/// Returns where the mention begins: an alias may include its article (`the signer`), a mention
/// does not.
fn after_article(text: &str, start: usize, end: usize) -> usize {
    let surface = text.get(start..end).unwrap_or("");
    let rest = surface.strip_prefix("the ").or_else(|| surface.strip_prefix("The "));
    rest.map_or(start, |rest| end - rest.len())
}

fn mention(start: usize, hit: &GazetteerHit<'_>) -> Mention {
    Mention {
        span: Span::new(start, hit.end),
        name: hit.entry.surface.to_string(),
        entity_type: hit.entry.entity_type,
        recognizer: RecognizerKind::Gazetteer,
        score: Confidence::new(if hit.is_plural { PLURAL_SCORE } else { EXACT_SCORE }),
        place: PlaceFeatures::default(),
    }
}
