//! Find: the places and kinds of the secrets of a text.
//!
//! In: a text. Out: [`Found`], in order, without overlap.
//!
//! Two searches. Tokens are long, so only runs of at least [`MIN_RUN_BYTES`] without white space are searched for the
//! literals they begin with (`shape.rs`) and for issuers' names. The whole text is searched for words that announce a
//! secret (`words.rs`). Phrases (`phrase.rs`) are found by the pattern of their blanks.
//! Invariants: each place is verified in bounded time.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};

use super::assign::{assigned, is_in_mark, of_issuer};
use super::column::below;
use super::command::called;
use super::key::pem_key;
use super::label::{Label, label_at};
use super::likely::{PUBLISHED, is_example_token};
use super::phrase::phrases_around;
use super::seen::Seen;
use super::shape::{SHAPES, issuers};
use super::token::{URL_SAFE, run};
use super::words::{Meaning, WORDS};
use model::bytes::count;

/// Shortest run without white space that may hold a token or a URL with a password, in bytes; no token is shorter.
/// `run_start` requires a value from 9 to 16.
pub(super) const MIN_RUN_BYTES: usize = 15;

/// How far before a long value its issuer's name may be, in bytes.
const NEAR_BYTES: usize = 64;

/// A secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its place.
    pub range: Range<usize>,
    /// Its kind, for marks and counts.
    pub kind: &'static str,
    /// Lower ranks are more specific: shapes come before labels, and win where both find the same.
    rank: u8,
}

impl Found {
    /// Makes a find of personal data, which ranks below every secret.
    pub(super) fn personal(range: Range<usize>, kind: &'static str) -> Self {
        Found { range, kind, rank: 3 }
    }
}

// Few bytes are searched by these two, so that DFAs, which search faster, would not repay their building at each start.

/// Finds issuers' names, which may be the only sign of a secret. `None` cannot happen with fixed tables; tests verify
/// it.
pub(super) static ISSUERS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| finder(MatchKind::LeftmostLongest, true).build(issuers()).ok());

/// Finds the literals that tokens begin with. `None` cannot happen here, either.
pub(super) static TOKENS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    finder(MatchKind::Standard, false).build(SHAPES.iter().map(|shape| shape.literal)).ok()
});

fn finder(match_kind: MatchKind, ignores_case: bool) -> AhoCorasickBuilder {
    let mut builder = AhoCorasick::builder();
    builder
        .match_kind(match_kind)
        .kind(Some(AhoCorasickKind::ContiguousNFA))
        .ascii_case_insensitive(ignores_case);
    builder
}

/// Returns the secrets of a text, in order, without overlap.
pub(super) fn secrets_in(text: &str) -> Vec<Found> {
    let mut found = scan(text);
    // Again as a reader sees the text; places are mapped back.
    for seen in Seen::pieces_of(text) {
        found.extend(
            scan(&seen.text).into_iter().map(|it| Found { range: seen.place(&it.range), ..it }),
        );
    }
    found.retain(|it| {
        let secret = text.get(it.range.clone()).unwrap_or("");
        !secret.is_empty() && !PUBLISHED.contains(secret)
    });
    let mut found = joined(found);
    // Replacing a secret may uncover another one right beside it; repeat until nothing is found.
    loop {
        let more = beside(text, &found);
        if more.is_empty() {
            return found;
        }
        found.extend(more);
        found = joined(found);
    }
}

/// Returns tokens directly beside an earlier find, whose boundary is visible only after that is replaced. `found` is
/// in order, without overlap.
fn beside(text: &str, found: &[Found]) -> Vec<Found> {
    if found.is_empty() {
        return Vec::new();
    }
    // `[` stands for the mark that will replace it; lengths stay the same.
    let mut marked = text.as_bytes().to_vec();
    for it in found {
        marked.get_mut(it.range.clone()).unwrap_or_default().fill(b'[');
    }
    let Ok(marked) = String::from_utf8(marked) else { return Vec::new() };
    let (mut more, mut from) = (Vec::new(), 0);
    while let Some(run) = next_run(marked.as_bytes(), from) {
        from = run.end;
        if marked.get(run.clone()).is_some_and(|it| it.contains('[')) {
            find_tokens(&marked, &run, &mut more);
        }
    }
    more.retain(|it| {
        let next = found.partition_point(|known| known.range.end <= it.range.start);
        found.get(next).is_none_or(|known| it.range.end <= known.range.start)
    });
    more
}

/// Returns tokens that continue after a line end, as in a PDF, or after the blank that a format put there.
pub(super) fn wrapped_in(text: &str) -> Vec<Found> {
    let Some(finder) = TOKENS.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    let mut look = |seen: Seen| {
        let mut here = Vec::new();
        find_tokens(&seen.text, &(0..seen.text.len()), &mut here);
        found.extend(here.into_iter().map(|it| Found { range: seen.place(&it.range), ..it }));
    };
    Seen::each_wrapped(text, |word| finder.is_match(word), &mut look);
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(run) = next_run(bytes, from) {
        from = run.end;
        let goes_on = bytes.get(run.end) == Some(&b' ');
        if goes_on && bytes.get(run.clone()).is_some_and(|it| finder.is_match(it)) {
            Seen::each_longer(text, run.start, run.end, &mut look);
        }
    }
    found
}

fn scan(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    find_words(text, &mut found);
    find_phrases(text, &mut found);
    let mut from = 0;
    while let Some(run) = next_run(text.as_bytes(), from) {
        find_tokens(text, &run, &mut found);
        find_named(text, &run, &mut found);
        from = run.end;
    }
    found
}

/// Returns the next run of at least [`MIN_RUN_BYTES`] without white space that may hold a token. `from` is the start
/// of the text or the end of the previous run.
pub(super) fn next_run(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let mut at = from;
    while at + MIN_RUN_BYTES <= bytes.len() {
        let Some(n_before) = run_start(blanks_in(bytes.get(at..).unwrap_or(&[]))) else {
            // A run that begins near the end of this window is found in the next one, which overlaps by enough bytes.
            at += WINDOW_BYTES + 1 - MIN_RUN_BYTES;
            continue;
        };
        let start = at + n_before;
        let after = bytes.get(start + MIN_RUN_BYTES..).unwrap_or(&[]);
        let n_after = after.iter().position(|byte| *byte <= b' ').unwrap_or(after.len());
        let end = start + MIN_RUN_BYTES + n_after;
        if bytes.get(start..end).is_some_and(may_hold_token) {
            return Some(start..end);
        }
        at = end;
    }
    None
}

/// Bytes that are classified together, one bit for each.
const WINDOW_BYTES: usize = 64;

/// Returns which of the first 64 bytes are white space, control characters or beyond the end; the first is the lowest
/// bit.
fn blanks_in(bytes: &[u8]) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let mut padded = [b' '; WINDOW_BYTES];
    let window = bytes.first_chunk::<WINDOW_BYTES>().unwrap_or_else(|| {
        padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        &padded
    });
    window.as_chunks::<8>().0.iter().enumerate().fold(0, |all, (i, word)| {
        let word = u64::from_le_bytes(*word);
        // The highest bit of each byte tells whether the other seven are at least 0x21; no carry leaves the byte.
        let visible = (word & !HIGH) + ONES * (0x80 - 0x21);
        let blank = !(visible | word) & HIGH;
        // The multiplication collects the eight bits in the highest byte, in order.
        let packed = (blank >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        all | packed << (i * 8)
    })
}

/// Returns where a run of at least [`MIN_RUN_BYTES`] bytes that are not blank begins.
fn run_start(blanks: u64) -> Option<usize> {
    // Bit n survives if that many bytes from n on are not blank: 2, 4, 8, 15.
    let runs = [1, 2, 4, MIN_RUN_BYTES - 8].iter().fold(!blanks, |runs, n| runs & (runs >> n));
    (runs != 0).then_some(runs.trailing_zeros() as usize)
}

/// True for a run with digits or several capitals, as in every token, or with the `@` of a URL with a password.
fn may_hold_token(run: &[u8]) -> bool {
    let n_digits = count(run, |byte| byte.wrapping_sub(b'0') < 10);
    let n_capitals = count(run, |byte| byte.wrapping_sub(b'A') < 26);
    n_digits > 0 || n_capitals >= 5 || memchr::memchr(b'@', run).is_some()
}

pub(super) fn find_tokens(text: &str, run: &Range<usize>, found: &mut Vec<Found>) {
    let (Some(finder), Some(slice)) = (TOKENS.as_ref(), text.as_bytes().get(run.clone())) else {
        return;
    };
    for hit in finder.find_overlapping_iter(slice) {
        let Some(shape) = SHAPES.get(hit.pattern().as_usize()) else { continue };
        let place = run.start + hit.start()..run.start + hit.end();
        // A whole key file may contain any word by chance.
        let is_one = |it: &str| it.len() >= 500 || !is_example_token(it);
        let range = shape.at(text, place).filter(|it| text.get(it.clone()).is_some_and(is_one));
        found.extend(range.map(|range| Found { range, kind: shape.kind, rank: 0 }));
    }
}

fn find_phrases(text: &str, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut checked = 0;
    while at < bytes.len() {
        let blanks = blanks_in(bytes.get(at..).unwrap_or(&[]));
        // A phrase has words of three to eight letters, perhaps with a comma: no two blanks within three bytes, and
        // no ten bytes without one.
        let close = blanks & (blanks >> 1 | blanks >> 2 | blanks >> 3);
        let long = [1, 2, 4, 2].iter().fold(!blanks, |runs, n| runs & (runs >> n));
        // Both halves of the window: `phrases_around` takes 32 bytes.
        for from in [0, 32] {
            let has = |bits: u64| bits >> from & 0xffff_ffff != 0;
            let start = at + from;
            if !has(close) && !has(long) && start >= checked {
                checked = start + 32;
                let ranges = phrases_around(text, start);
                checked = ranges.last().map_or(checked, |it| it.end.max(checked));
                let found_here = ranges.into_iter();
                found.extend(found_here.map(|range| Found { range, kind: "seed-phrase", rank: 1 }));
            }
        }
        at += WINDOW_BYTES;
    }
}

/// Finds values whose only sign is the issuer at the beginning of the name they are assigned to.
fn find_named(text: &str, run: &Range<usize>, found: &mut Vec<Found>) {
    let from = run.start.saturating_sub(NEAR_BYTES);
    let (Some(finder), Some(slice)) = (ISSUERS.as_ref(), text.as_bytes().get(from..run.end)) else {
        return;
    };
    for hit in finder.find_iter(slice) {
        let range = of_issuer(text, from + hit.start()..from + hit.end());
        found.extend(range.map(|range| Found { range, kind: "secret", rank: 1 }));
    }
}

pub(super) fn find_words(text: &str, found: &mut Vec<Found>) {
    // A key file is exact, as a shape is; commands rank like issuers' names.
    WORDS.each(text, |end, meaning| match meaning {
        Meaning::Labels(labels) => by_label(text, end, labels, found),
        Meaning::Command(command) => {
            let ranges = called(text, end, command).into_iter();
            found.extend(ranges.map(|range| Found { range, kind: "password", rank: 1 }));
        }
        Meaning::KeyFile => {
            let range = pem_key(text, end);
            found.extend(range.map(|range| Found { range, kind: "private-key", rank: 0 }));
        }
    });
}

/// Finds what a label announces whose last word ends at `end`: a value, or the column below it.
fn by_label(text: &str, end: usize, labels: &[Label], found: &mut Vec<Found>) {
    let Some((start, label)) = label_at(text, end, labels) else { return };
    if is_in_mark(text.as_bytes(), end) {
        return;
    }
    let kind = label.kind;
    let mut ranges = assigned(text, start..end, label);
    if ranges.is_empty() {
        ranges = below(text, start..end, label.value_kind);
    }
    found.extend(ranges.into_iter().map(|range| Found { range, kind, rank: 2 }));
}

/// Returns parts that markup separated from a secret whose first part was already replaced: they directly follow a
/// mark.
pub(super) fn cut_off(text: &str) -> Vec<Found> {
    const MARK: &str = "[redacted:";
    let mut out = Vec::new();
    for open in memchr::memmem::find_iter(text.as_bytes(), MARK.as_bytes()) {
        let rest = text
            .as_bytes()
            .get(open..open + 64)
            .or_else(|| text.as_bytes().get(open..))
            .unwrap_or(&[]);
        let Some(n_mark) = memchr::memchr(b']', rest).map(|at| at + 1) else { continue };
        let n = run(text, open + n_mark, &URL_SAFE);
        let parted = text.get(open + n_mark..open + n_mark + n).unwrap_or("");
        // Shorter rests, or letters alone, are more likely the next word.
        if n >= 4 && parted.bytes().any(|byte| byte.is_ascii_digit()) {
            out.push(Found { range: open + n_mark..open + n_mark + n, kind: "rest", rank: 3 });
        }
    }
    out
}

/// Sorts finds and merges overlapping ones, which get the kind of the most specific.
pub(super) fn joined(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|it| (it.range.start, it.rank, std::cmp::Reverse(it.range.end)));
    let mut out: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        match out.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                last.range.end = last.range.end.max(next.range.end);
                // Of two finds at the same place and rank, the later one comes from the longer literal, which is more
                // specific.
                if next.rank < last.rank || (next.rank == last.rank && next.range == last.range) {
                    (last.kind, last.rank) = (next.kind, next.rank);
                }
            }
            _ => out.push(next),
        }
    }
    out
}
