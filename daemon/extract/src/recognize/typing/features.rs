//! Features: what the classifier of names sees of a mention: its letters, the words around it, its
//! place, and the type it has so far.
//!
//! In: a document and a mention. Out: numbers below [`N_FEATURES`], hashes of words with their
//! role, and the stretches of text whose static vectors are used.
//! Invariants: a function of the document alone; reads a bounded number of bytes; the trainer and
//! the daemon call the same functions.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::recognize::context::{defined_as, head, tail};
use crate::recognize::{lexicon, words};
use model::document::{Document, Mention, RecognizerKind};
use model::terms::norm_of;

/// Features are hashed to numbers below this.
pub const N_FEATURES: usize = 1 << 17;
/// Stretches of text for each mention: its name, and the words before and after it.
pub const N_INPUTS: usize = 3;
/// Bytes and words read on each side, within the block.
const REACH: usize = 120;
const MAX_WORDS: usize = 8;
/// Words on each side whose vector is used.
const STRETCH: usize = 6;

/// What the whole document shows about its names.
#[derive(Debug, Default)]
pub struct Context {
    /// By norm: number of mentions, of those in code, of those that begin with a lowercase letter.
    names: FxHashMap<String, [u32; 3]>,
}

impl Context {
    /// Counts the mentions of a document.
    pub fn of(doc: &Document, mentions: &[Mention]) -> Self {
        let mut by_name: FxHashMap<&str, [u32; 3]> = FxHashMap::default();
        for mention in mentions {
            let counts = by_name.entry(&mention.name).or_default();
            let is_small = mention.span.of(&doc.text).starts_with(char::is_lowercase);
            let marks = [true, mention.place.in_code, is_small];
            counts.iter_mut().zip(marks).for_each(|(n, is)| *n += u32::from(is));
        }
        let mut names: FxHashMap<String, [u32; 3]> = FxHashMap::default();
        for (name, counts) in by_name {
            let sums = names.entry(norm_of(name)).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
        }
        Context { names }
    }
}

/// Returns the text of a mention's block before and after the mention.
pub fn sides<'a>(doc: &'a Document, mention: &Mention) -> [&'a str; 2] {
    let (start, end) = (mention.span.start(), mention.span.end());
    let next = doc.blocks.partition_point(|it| it.span.start() <= start);
    let block = next.checked_sub(1).and_then(|at| doc.blocks.get(at)).map(|it| it.span);
    let (from, to) = match block.filter(|it| end <= it.end()) {
        Some(block) => (block.start(), block.end()),
        None => (start, end),
    };
    [doc.text.get(from..start).unwrap_or(""), doc.text.get(end..to).unwrap_or("")]
}

/// Returns the words of a mention's block before it, nearest first, and after it.
fn around<'a>(doc: &'a Document, mention: &Mention) -> [Vec<&'a str>; 2] {
    let [before, after] = sides(doc, mention);
    let mut left: Vec<&str> = words_of(tail(before, REACH)).collect();
    left.reverse();
    left.truncate(MAX_WORDS);
    [left, words_of(head(after, REACH)).take(MAX_WORDS).collect()]
}

/// Replaces `out` with the features of a mention, sorted and without duplicates, and returns its
/// stretches of text: the name, and the words before and after it.
pub fn see(
    doc: &Document,
    mention: &Mention,
    context: &Context,
    out: &mut Vec<u32>,
) -> [String; N_INPUTS] {
    let mut of_name = Vec::new();
    see_name(doc, mention, context, &mut of_name);
    let [before, after] = see_around(doc, mention, out);
    out.extend(of_name);
    out.sort_unstable();
    out.dedup();
    [mention.span.of(&doc.text).to_string(), before, after]
}

/// Hashes features.
struct Collector<'a> {
    key: String,
    out: &'a mut Vec<u32>,
}

impl<'a> Collector<'a> {
    fn into(out: &'a mut Vec<u32>) -> Self {
        out.clear();
        Collector { key: String::new(), out }
    }

    fn add(&mut self, role: &str, one: &str, other: &str) {
        self.key.clear();
        [role, "\0", one, "\0", other].into_iter().for_each(|part| self.key.push_str(part));
        self.out.push((xxh3_64(self.key.as_bytes()) % N_FEATURES as u64) as u32);
    }

    fn finish(self) {
        self.out.sort_unstable();
        self.out.dedup();
    }
}

/// Replaces `out` with the features of the words around a mention, sorted and without duplicates,
/// and returns the stretches before and after it.
pub(super) fn see_around(doc: &Document, mention: &Mention, out: &mut Vec<u32>) -> [String; 2] {
    let mut it = Collector::into(out);
    let shape = shape_of(mention.span.of(&doc.text));
    let [left_words, right_words] = around(doc, mention);
    let [left, right] =
        [&left_words, &right_words].map(|it| it.iter().map(|it| plain(it)).collect::<Vec<_>>());
    for (i, (l, r)) in [("l0", "r0"), ("l1", "r1"), ("l2", "r2")].into_iter().enumerate() {
        it.add(l, at(&left, i), "");
        it.add(r, at(&right, i), "");
    }
    it.add("ll", at(&left, 1), at(&left, 0));
    it.add("rr", at(&right, 0), at(&right, 1));
    it.add("lr", at(&left, 0), at(&right, 0));
    it.add("l shape", at(&left, 0), &shape);
    it.add("r shape", at(&right, 0), &shape);
    left.iter().chain(&right).for_each(|word| it.add("near", word, ""));
    let following = head(doc.text.get(mention.span.end()..).unwrap_or(""), REACH);
    if let Some(noun) = defined_as(following) {
        it.add("defined", &noun.to_lowercase(), "");
    }
    if left.is_empty() {
        it.add("mark", "opens", "");
        it.add("mark", "opens", mention.entity_type.as_str());
    }
    it.finish();
    let before: Vec<&str> = left_words.into_iter().take(STRETCH).rev().collect();
    let after: Vec<&str> = right_words.into_iter().take(STRETCH).collect();
    [before.join(" "), after.join(" ")]
}

/// Replaces `out` with the features that a mention shares with all of the same name, surface, type,
/// recognizer and kind of place, sorted and without duplicates.
pub(super) fn see_name(doc: &Document, mention: &Mention, context: &Context, out: &mut Vec<u32>) {
    let mut it = Collector::into(out);
    let surface = mention.span.of(&doc.text);
    let shape = shape_of(surface);
    let lower = surface.to_lowercase();
    let own: Vec<&str> = words_of(&lower).collect();
    let (first, last) = (own.first().copied().unwrap_or(""), own.last().copied().unwrap_or(""));
    it.add("shape", &shape, "");
    it.add("length", ["0", "1", "2", "3", "4"].get(own.len()).copied().unwrap_or("5"), "");
    it.add("whole", &lower, "");
    it.add("first", first, "");
    it.add("last", last, if own.len() > 1 { "several" } else { "" });
    own.iter().for_each(|word| it.add("own", word, ""));
    for n in [2, 3, 4] {
        let start = lower.char_indices().nth(n).map_or(lower.len(), |(at, _)| at);
        let tail = lower.char_indices().nth_back(n - 1).map_or(0, |(at, _)| at);
        it.add("begins", lower.get(..start).unwrap_or(""), "");
        it.add("ends", lower.get(tail..).unwrap_or(""), "");
    }
    let noun = lexicon::type_of_noun(last).map_or("", |it| it.as_str());
    let plainness = if words::all_ordinary(surface) { "ordinary" } else { "rare" };
    it.add("noun", noun, plainness);
    it.add("plainness", plainness, &shape);

    let source = match (mention.recognizer, mention.place.is_type_guessed) {
        (RecognizerKind::Statistical, true) => "model",
        (RecognizerKind::Statistical, false) => "model, cued",
        (RecognizerKind::Gazetteer, _) => "mined",
        (_, true) => "form, guessed",
        (_, false) => "form",
    };
    let kind = mention.entity_type.as_str();
    it.add("type", kind, source);
    it.add("type shape", kind, &shape);
    it.add("type plainness", kind, plainness);
    let place = mention.place;
    let marks = [
        ("heading", place.in_heading),
        ("bold", place.in_bold),
        ("code", place.in_code),
        ("link", place.in_link),
    ];
    for (mark, _) in marks.iter().filter(|(_, is)| *is) {
        it.add("mark", mark, "");
        it.add("mark", mark, kind);
    }
    let counts = context.names.get(&norm_of(&mention.name)).copied().unwrap_or_default();
    let buckets = counts.map(|n| ["0", "1", "2", "3"].get(n as usize).copied().unwrap_or("4"));
    for (role, bucket) in ["mentions", "in code", "small"].into_iter().zip(buckets) {
        it.add(role, bucket, "");
        it.add(role, bucket, kind);
    }
    it.finish();
}

/// Returns a word by its distance from the mention; an empty one where there is none.
fn at<'a>(words: &'a [Cow<'_, str>], i: usize) -> &'a str {
    words.get(i).map_or("", |word| word.as_ref())
}

/// Yields runs of letters and digits, and single signs.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let n_bytes = match first.is_alphanumeric() {
            true => rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(n_bytes);
        rest = after;
        Some(word)
    })
}

/// Returns a word as a feature: one for all numbers, one for acronyms, one for capitalized words;
/// other words in lowercase.
fn plain(word: &str) -> Cow<'_, str> {
    let is_long = word.chars().nth(1).is_some();
    let letters = || word.chars().filter(|c| c.is_alphabetic());
    if word.bytes().all(|b| b.is_ascii_digit()) {
        "0".into()
    } else if is_long && letters().next().is_some() && letters().all(char::is_uppercase) {
        "AA".into()
    } else if is_long && word.starts_with(char::is_uppercase) {
        "Aa".into()
    } else if word.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        word.into()
    } else {
        word.to_lowercase().into()
    }
}

/// Returns the shape of a surface, each run of capitals, lowercase letters or digits as one sign:
/// `EphA4` is `AaA0`.
fn shape_of(surface: &str) -> String {
    const LONGEST: usize = 6;
    let mut shape = String::new();
    for c in surface.chars() {
        let sign = match c {
            _ if c.is_uppercase() => 'A',
            _ if c.is_lowercase() => 'a',
            _ if c.is_numeric() => '0',
            other => other,
        };
        if shape.len() >= LONGEST {
            break;
        }
        if !sign.is_alphanumeric() || !shape.ends_with(sign) {
            shape.push(sign);
        }
    }
    shape
}
