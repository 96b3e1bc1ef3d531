//! Fit: shrinks an answer to the caller's budget, in both of its forms.
//!
//! In: a complete answer, the budget. Out: the answer without its least important parts.
//! Invariants: at least one hit remains, its snippet cut if necessary; both forms have the same
//! hits, so that a cursor never skips one that only one form showed; a bounded structured form has
//! at most its budget, or [`SMALLEST_CHARS`], plus what a cursor takes beyond half of that, as it
//! does after a hundred hits.

use std::io;

use proto::tool::core::{HitView, HitsThatFit, HybridReply};
use proto::view::Style;
use serde::Serialize;

use super::reasons::AS_IN;

/// Room in the structured form for what is added later: project, tick, `building`, `truncated`.
const ADDED_LATER_CHARS: usize = 200;

/// Smallest budget of the structured form: one hit with a short snippet.
const SMALLEST_CHARS: usize = 800;

/// Shortest snippet that a hit is cut to, characters.
pub(super) const MIN_SNIPPET_CHARS: usize = 60;

/// Drops the least important parts until the answer fits: the parts of the scores, edges, entities,
/// files in the reasons, signals in the reasons, then the last hits. `structured_chars` bounds the
/// structured form, if given and not 0. `least` is the length that each snippet keeps before later
/// hits are dropped: the cursor leads to those, and a few words of every hit would answer nothing.
/// `cursor` is as long as the one that will be returned, if there will be one.
pub(super) fn fit(
    reply: &mut HybridReply,
    max_chars: usize,
    structured_chars: Option<u32>,
    least: &[usize],
    cursor: Option<String>,
) {
    let n_hits = reply.chunks.len();
    reply.next_cursor = cursor;
    if let Some(n @ 1..) = structured_chars {
        let whole = (n as usize).max(SMALLEST_CHARS);
        let n_cursor_chars = reply.next_cursor.as_ref().map_or(0, String::len);
        let room = whole + n_cursor_chars.saturating_sub(whole / 2) - ADDED_LATER_CHARS;
        let mut n_chars = json_chars(reply);
        while n_chars > room && drop_one(reply, &mut n_chars) {}
    }
    let mut least = least;
    let mut as_text = HitsThatFit::new(reply, Style::agent(max_chars, redact::clean));
    while as_text.count() < reply.chunks.len() {
        match cut_longest(reply, least) {
            Some(at) => {
                if let Some(hit) = reply.chunks.get(at) {
                    as_text.update(at, hit);
                }
            }
            None if as_text.count() > 0 || least.is_empty() => break,
            None => least = &[],
        }
    }
    let n_shown = as_text.count().max(1);
    reply.chunks.truncate(n_shown);
    reply.explanations.truncate(n_shown);
    if reply.chunks.len() < n_hits {
        reply.truncated = Some(format!(
            "{} of {n_hits} hits fit; raise `max_chars` for more",
            reply.chunks.len()
        ));
    }
}

/// Returns the length of a value as JSON, in characters, without building the text.
fn json_chars(value: &impl Serialize) -> usize {
    struct Counter(usize);
    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Bytes of the form 10xxxxxx continue a character.
            self.0 += bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    serde_json::to_writer(&mut counter, value).map_or(0, |()| counter.0)
}

/// Removes the last item, and its characters from `n_chars`; returns false if there was none.
fn pop<T: Serialize>(items: &mut Vec<T>, n_chars: &mut usize) -> bool {
    let Some(item) = items.pop() else { return false };
    // Including the comma before it.
    *n_chars -= json_chars(&item) + usize::from(!items.is_empty());
    true
}

fn size_of_reasons(reply: &HybridReply) -> usize {
    reply.explanations.iter().map(String::len).sum()
}

/// Returns whether a reason is a signal: `text`, `vector`, `vector by all-MiniLM-L6-v2`, `semantic`.
fn is_signal(part: &str) -> bool {
    matches!(part.split(' ').next(), Some("text" | "vector" | "semantic"))
}

/// Drops one part and keeps `n_chars` of the reply's JSON up to date; returns false if nothing is
/// left that may be dropped.
fn drop_one(reply: &mut HybridReply, n_chars: &mut usize) -> bool {
    if reply.chunks.iter().any(|hit| !hit.components.is_empty()) {
        reply.chunks.iter_mut().for_each(|hit| hit.components.clear());
        *n_chars = json_chars(reply);
        return true;
    }
    if pop(&mut reply.edges, n_chars)
        || (reply.entities.len() > 1 && pop(&mut reply.entities, n_chars))
    {
        return true;
    }
    if reply.explanations.iter().any(|it| it.contains(AS_IN)) {
        for reasons in &mut reply.explanations {
            let end = reasons.find(AS_IN).unwrap_or(reasons.len());
            reasons.truncate(end);
        }
        *n_chars = json_chars(reply);
        return true;
    }
    // The signals are also in the components, and other hits name the model of a vector.
    let n_before = size_of_reasons(reply);
    for reasons in &mut reply.explanations {
        let kept: Vec<&str> = reasons.split(" + ").filter(|part| !is_signal(part)).collect();
        *reasons = if kept.is_empty() {
            reasons.split(" by ").next().unwrap_or("").into()
        } else {
            kept.join(" + ")
        };
    }
    if size_of_reasons(reply) < n_before {
        *n_chars = json_chars(reply);
        return true;
    }
    if reply.chunks.len() > 1 {
        pop(&mut reply.explanations, n_chars);
        return pop(&mut reply.chunks, n_chars);
    }
    // Only one hit is left, so measuring the whole reply costs no more than measuring the change.
    let Some(hit) = reply.chunks.first_mut() else { return false };
    let is_dropped = hit.also_in.take().is_some()
        || !std::mem::take(&mut hit.section).is_empty()
        || reply.entities.pop().is_some()
        || cut_longest(reply, &[]).is_some();
    *n_chars = json_chars(reply);
    is_dropped
}

/// Cuts an eighth off the snippet with the most room above its shortest length in `least`. Returns
/// its position, or `None` if no snippet can be cut further.
fn cut_longest(reply: &mut HybridReply, least: &[usize]) -> Option<usize> {
    let n_chars = |hit: &HitView| hit.snippet.chars().count();
    let least_of = |at: usize| least.get(at).copied().unwrap_or(MIN_SNIPPET_CHARS);
    let most_spare = |(at, hit): &(usize, &mut HitView)| n_chars(hit).saturating_sub(least_of(*at));
    let (at, hit) = reply.chunks.iter_mut().enumerate().max_by_key(most_spare)?;
    let (n_chars, least) = (n_chars(hit), least_of(at));
    if n_chars <= least {
        return None;
    }
    let n_kept = (n_chars - n_chars.div_ceil(8)).max(least) - 1;
    hit.snippet = hit.snippet.chars().take(n_kept).chain(['…']).collect();
    Some(at)
}
