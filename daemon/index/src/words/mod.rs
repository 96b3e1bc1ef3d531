//! Words: what the text index stores of a text, and how a question searches for it.
//!
//! In: any text, and whether it is English. Out: its index words, for the text index; or an FTS5 expression that
//! finds them, for a question.
//! Both sides go through [`segments`], so that text is found as it is typed:
//!
//! | written | index words | found by |
//! |---|---|---|
//! | `rotate_keys`, `src/keys.rs`, `a@b.org` | its parts, in order | the whole (a phrase), any part |
//! | `KeyRotationJob`, `getUserById` | `keyrotationjob`, then `key rotation job` | both spellings, any part |
//! | `C++`, `C#`, `.NET` | `c`, then `c++` | `C++` alone finds no `C` |
//! | `v1.2.3` | `v1 2 3`, then `1 2 3` | `v1.2.3`, `1.2.3`, `v1` |
//! | `Müller`, `café`, `ﬁle`, `ＡＢＣ` | `muller`, `cafe`, `file`, `abc` | either spelling |
//! | `running` in English text | `run` | `run`, `runs`, `running` |
//! | `東京都庁` | `東京 京都 都庁 庁` | any part of it, down to one character |
//!
//! Invariants: a pure function; index words contain no blank, no quotation mark and no uppercase ASCII, so that
//! FTS5's `ascii` tokenizer with the further characters of [`TOKENIZER`] passes them unchanged; English words are
//! stemmed in English text only, and a question searches for the stem *or* the word, so it need not know the
//! language; linear in the text.

mod fold;
mod stem;

pub use fold::folded;
use rustc_hash::FxHashMap;
use stem::Stemmer;

use model::terms::run_length;
use model::terms::{gram_length, is_word_char};

/// The tokenizer of the text index. It treats all characters beyond ASCII as part of words.
pub const TOKENIZER: &str = "ascii tokenchars '+#.'";

/// Longest index word, bytes. A longer one is data, not language, and is cut.
const MAX_WORD_BYTES: usize = 120;

/// Words cached, for English and for other text each.
const MAX_REMEMBERED: usize = 16_384;

/// Longest word that is cached, bytes.
const MAX_REMEMBERED_BYTES: usize = 40;

/// Longest CamelCase word that is split, bytes.
const MAX_HUMPED_BYTES: usize = 80;

/// Turns texts into index words; caches the result for each word, since text repeats them.
#[derive(Debug, Default)]
pub struct Indexer {
    stemmer: Stemmer,
    english: FxHashMap<Box<str>, FoldedWord>,
    other: FxHashMap<Box<str>, FoldedWord>,
    /// Further words of the compound that is being read.
    extras: String,
}

impl Indexer {
    /// Creates an indexer with an empty cache.
    pub fn new() -> Self {
        Indexer::default()
    }

    /// Appends the index words of `text`, each followed by a blank. With `is_english`, words that may be English are
    /// stemmed.
    pub fn index(&mut self, text: &str, is_english: bool, out: &mut String) {
        out.reserve(text.len() + text.len() / 8);
        let mut end_before = 0;
        for segment in segments(text) {
            // The further words of a compound come after all of its parts, which must be adjacent to match as a
            // phrase.
            if text
                .get(end_before..segment.start)
                .is_some_and(|gap| gap.contains(char::is_whitespace))
            {
                self.flush(out);
            }
            end_before = segment.end;
            // Scripts without spaces between words are indexed as overlapping n-grams.
            match gram_length(segment.text) {
                Some(n) => grams(segment.text, n, |gram| push(gram, out)),
                None => self.segment(&segment, is_english, out),
            }
        }
        self.flush(out);
    }

    fn flush(&mut self, out: &mut String) {
        out.push_str(&self.extras);
        self.extras.clear();
    }

    fn segment(&mut self, segment: &Run<'_>, is_english: bool, out: &mut String) {
        let known = if is_english { &mut self.english } else { &mut self.other };
        match known.get(segment.text) {
            Some(entry) => {
                out.push_str(&entry.word);
                self.extras.push_str(&entry.extras);
            }
            None => {
                let entry = FoldedWord::of(segment.text, is_english, &self.stemmer);
                out.push_str(&entry.word);
                self.extras.push_str(&entry.extras);
                if known.len() >= MAX_REMEMBERED {
                    known.clear();
                }
                if segment.text.len() <= MAX_REMEMBERED_BYTES {
                    known.insert(segment.text.into(), entry);
                }
            }
        }
        if let Some(sign) = segment.sign {
            push(&sign.attach(&folded(segment.text)), &mut self.extras);
        }
        // `1.2.3` is found, too: the number of `v1` is in `extras` already, and these follow it.
        if segment.is_in_version && !self.extras.is_empty() {
            push(segment.text, &mut self.extras);
        }
    }
}

/// The index words of a word, each followed by a blank, which do not depend on its context.
#[derive(Debug)]
struct FoldedWord {
    word: Box<str>,
    /// The parts of a CamelCase word, the number of `v2`.
    extras: Box<str>,
}

impl FoldedWord {
    fn of(text: &str, is_english: bool, stemmer: &Stemmer) -> Self {
        let (mut word, mut extras) = (String::new(), String::new());
        let plain = folded(text);
        push_word(&plain, is_english && !is_acronym(text), stemmer, &mut word);
        if let Some(number) = version_number(&plain) {
            push(number, &mut extras);
        }
        for hump in humps(text) {
            push_word(&folded(hump), is_english, stemmer, &mut extras);
        }
        FoldedWord { word: word.into(), extras: extras.into() }
    }
}

fn push(word: &str, out: &mut String) {
    let mut end = word.len().min(MAX_WORD_BYTES);
    while !word.is_char_boundary(end) {
        end -= 1;
    }
    out.push_str(word.get(..end).unwrap_or(""));
    out.push(' ');
}

fn push_word(word: &str, stemmed: bool, stemmer: &Stemmer, out: &mut String) {
    match stemmed.then(|| stemmer.stem(word)).flatten() {
        Some(stem) => push(&stem, out),
        None => push(word, out),
    }
}

/// Returns whether a word is an acronym such as `AWS` or `DNS`, which only looks like a plural.
fn is_acronym(word: &str) -> bool {
    (2..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Returns the digits of `v2`.
fn version_number(word: &str) -> Option<&str> {
    let number = word.strip_prefix('v')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(number)
}

/// A run of letters, digits and marks of one kind of script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    /// A sign that is part of the name.
    sign: Option<Sign>,
    /// True for a number right after `v1.` or after another number of the same version.
    is_in_version: bool,
}

/// The signs that turn a word into another name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `C++`
    Plus,
    /// `C#`
    Sharp,
    /// `.NET`
    Dot,
}

impl Sign {
    fn attach(self, word: &str) -> String {
        match self {
            Sign::Plus => format!("{word}++"),
            Sign::Sharp => format!("{word}#"),
            Sign::Dot => format!(".{word}"),
        }
    }
}

/// Splits a text into segments, in order.
fn segments(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut at = 0;
    let mut version_end = usize::MAX;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        // Joiners and selectors are parts of words, but never a word alone.
        let start = at + rest.find(|c| is_word_char(c) && !names::is_ignorable(c))?;
        let rest = text.get(start..)?;
        let end = start + run_length(rest);
        let word = text.get(start..end)?;
        at = end;
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let follows_version = start == version_end.saturating_add(1)
            && text.as_bytes().get(version_end) == Some(&b'.');
        let is_in_version = is_number && follows_version;
        let opens_version = word.strip_prefix(['v', 'V']).is_some_and(version_number_like);
        version_end = if is_in_version || opens_version { end } else { usize::MAX };
        Some(Run { text: word, start, end, sign: sign_of(text, start, end), is_in_version })
    })
}

fn version_number_like(rest: &str) -> bool {
    !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the sign of the word at `start..end`, if its surroundings make it part of the name.
fn sign_of(text: &str, start: usize, end: usize) -> Option<Sign> {
    let bytes = text.as_bytes();
    let word = bytes.get(start..end)?;
    if !word.first().is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    let is_free = |at: usize| {
        bytes.get(at).is_none_or(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'+'))
    };
    if bytes.get(end) == Some(&b'+') && bytes.get(end + 1) == Some(&b'+') && is_free(end + 2) {
        return Some(Sign::Plus);
    }
    // `C#` and `F#`; after a longer word it is the number sign, or starts a tag.
    if bytes.get(end) == Some(&b'#') && is_free(end + 1) && word.len() <= 2 {
        return Some(Sign::Sharp);
    }
    // A dot before a word is `.NET` only after a blank or bracket; else it ends a sentence or separates a path.
    let before = start.checked_sub(2).and_then(|at| bytes.get(at));
    let stands_alone =
        before.is_none_or(|byte| byte.is_ascii_whitespace() || b"(\"'`/[".contains(byte));
    (start > 0 && bytes.get(start - 1) == Some(&b'.') && stands_alone).then_some(Sign::Dot)
}

/// Returns the words of a CamelCase word; nothing for any other word.
pub fn humps(word: &str) -> impl Iterator<Item = &str> {
    let mut cuts = Vec::new();
    // Most words have no hump, and nothing is allocated for them.
    let has_hump = (1..word.len()).any(|at| is_hump(word.as_bytes(), at));
    // `McDonald` is one name.
    if has_hump && word.is_ascii() && word.len() <= MAX_HUMPED_BYTES && !word.starts_with("Mc") {
        cuts.push(0);
        cuts.extend((1..word.len()).filter(|at| is_hump(word.as_bytes(), *at)));
        cuts.push(word.len());
    }
    let lengths: Vec<usize> = cuts.array_windows().map(|[start, end]| end - start).collect();
    if !are_words(&lengths, word.starts_with(|c: char| c.is_ascii_lowercase())) {
        cuts.clear();
    }
    (1..cuts.len()).filter_map(move |i| word.get(*cuts.get(i - 1)?..*cuts.get(i)?))
}

/// Returns whether parts of these lengths are words: two parts of two letters or more, if one has three or the first
/// is lowercase (`isOk`, not `NaCl`); three or more of any length, if one has three letters (`getUserById`, not
/// `InGaAs`). So `eBay`, `iPhone`, `kWh` and `DNAs` are not split.
fn are_words(lengths: &[usize], begins_small: bool) -> bool {
    let has_long = lengths.iter().any(|length| *length >= 3);
    match lengths {
        [first, second] => (*first).min(*second) >= 2 && (has_long || begins_small),
        several => several.len() > 2 && has_long,
    }
}

/// Lowercase prefixes that programs put before an acronym: `getURL`, `toJSON`. Other short prefixes make names:
/// `mRNA`, `lncRNA`.
const SHORT_VERBS: [&[u8]; 8] = [b"as", b"add", b"get", b"has", b"is", b"new", b"set", b"to"];

/// Returns whether a hump starts at `at`: a capital before a lowercase letter, the last capital of an acronym before
/// a word (`HTTPServer`, but `DNAs` is one word), or the first capital of an acronym after a word (`parseHTML`).
fn is_hump(word: &[u8], at: usize) -> bool {
    let is_upper = |at: usize| word.get(at).is_some_and(u8::is_ascii_uppercase);
    let is_lower = |at: usize| word.get(at).is_some_and(u8::is_ascii_lowercase);
    if !is_upper(at) {
        return false;
    }
    if is_lower(at + 1) {
        return !is_upper(at - 1) || is_lower(at + 2);
    }
    let follows_word = at >= 4 && (at - 4..at).all(is_lower);
    let follows_verb = || word.get(..at).is_some_and(|before| SHORT_VERBS.contains(&before));
    is_upper(at + 1) && (follows_word || follows_verb())
}

/// Calls `visit` with the `n`-gram that starts at each character. The last ones are shorter, so that every part of
/// the text is the start of some gram.
fn grams(text: &str, n: usize, mut visit: impl FnMut(&str)) {
    let folded = folded(text);
    let starts: Vec<usize> = folded.char_indices().map(|(at, _)| at).collect();
    for (i, start) in starts.iter().enumerate() {
        let end = starts.get(i + n).copied().unwrap_or(folded.len());
        visit(folded.get(*start..end).unwrap_or(""));
    }
}

mod query;
pub use self::query::{
    ENDINGS, Phrase, Term, beginnings, phrase_of, phrases_in, quoted_phrase, terms_of,
};

#[cfg(test)]
mod tests;
