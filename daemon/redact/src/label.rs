//! Labels: the words that announce a secret, from `config/secret_labels.tsv`.
//!
//! In: a text and where the last word of a label ends. Out: the label, and where it begins.
//! Invariant: between the words of a label there may be one blank, dash, underscore or dot, or nothing; case is
//! ignored.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// The table.
pub(super) const TABLE: &str = include_str!("../../../config/secret_labels.tsv");

/// Longest label including the characters between its words, in characters.
const MAX_LABEL_CHARS: usize = 40;

/// The kind of value that a label announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Something that people type and remember.
    Password,
    /// The same by a word with other meanings, too: its value must not be a word or a number.
    Pass,
    /// A name and a password.
    Pair,
    /// A name and a password in base64, or a key.
    Basic,
    /// The same after the name of a scheme: `Bearer …`.
    Header,
    /// Something that a machine generates: its value must not be words.
    Key,
    /// The same by a word with other meanings, too: its value must be irregular.
    Secret,
    /// The same, and not a UUID.
    Token,
    /// A word with many meanings: its value must certainly be a key.
    Any,
    /// The words of a wallet's seed phrase.
    Phrase,
}

/// Names in the table, what they mean, and the kinds of the values in marks and counts.
const VALUE_KINDS: [(&str, ValueKind, &str); 12] = [
    ("password", ValueKind::Password, "password"),
    ("pass", ValueKind::Pass, "password"),
    ("pair", ValueKind::Pair, "password"),
    ("basic", ValueKind::Basic, "authorization"),
    ("header", ValueKind::Header, "authorization"),
    ("bearer", ValueKind::Key, "authorization"),
    ("key", ValueKind::Key, "secret"),
    ("secret", ValueKind::Secret, "secret"),
    ("token", ValueKind::Token, "secret"),
    ("amazon", ValueKind::Key, "aws-secret-key"),
    ("any", ValueKind::Any, "secret"),
    ("phrase", ValueKind::Phrase, "seed-phrase"),
];

/// A label.
pub(super) struct Label {
    /// Its letters and digits, in reverse order.
    reversed: Vec<char>,
    pub(super) value_kind: ValueKind,
    /// The kind of its values in marks and counts.
    pub(super) kind: &'static str,
    /// True when it counts only at the beginning of a word.
    is_word: bool,
}

/// The table.
#[derive(Default)]
pub(super) struct Labels {
    /// By their last words, lowercase; for each word, the longest label first.
    pub(super) by_last_word: BTreeMap<String, Vec<Label>>,
    /// Words between a label and its value: `is`, `lautet`; the longest first.
    pub(super) copulas: Vec<&'static str>,
    /// Words that begin a further description of a label: `for`, `für`.
    pub(super) links: Vec<&'static str>,
    /// Words of placeholders and manuals: `example`, `sha256`; and those of labels.
    known: FxHashSet<String>,
    /// Words of sentences about secrets: `must`, `characters`.
    of_sentences: FxHashSet<&'static str>,
    /// Words of any sentence: `over`, `never`.
    pub(super) fills: FxHashSet<&'static str>,
    /// Names of fields that hold the value of the field before them: `value`.
    pub(super) fields: Vec<&'static str>,
    /// Parts of names whose long values are public.
    public: Vec<&'static str>,
}

impl Labels {
    /// Returns whether a name announces a public value, however long that is.
    pub(super) fn is_public(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.public.iter().any(|word| name.contains(word))
    }

    /// Returns whether a value's word says that the value is none.
    pub(super) fn is_known(&self, word: &str) -> bool {
        self.known.contains(&word.to_lowercase())
    }

    /// Returns whether a word ends as a label does: `password`, `PGPASSWORD`.
    pub(super) fn ends_label(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let is_end = |label: &String| label.len() >= 5 && word.ends_with(label);
        self.by_last_word.contains_key(&word) || self.by_last_word.keys().any(is_end)
    }

    /// Returns whether a word belongs to sentences about secrets.
    pub(super) fn is_of_sentences(&self, word: &str) -> bool {
        self.of_sentences.contains(word.to_lowercase().as_str())
    }
}

pub(super) static LABELS: LazyLock<Labels> = LazyLock::new(|| {
    let mut out = Labels::default();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let mut cells = line.split('\t').skip(1);
        let (Some(label), Some(value_kind)) = (cells.next(), cells.next()) else { continue };
        match (value_kind, VALUE_KINDS.iter().find(|it| it.0 == value_kind)) {
            ("is", _) => out.copulas.push(label),
            ("of", _) => out.links.push(label),
            ("none", _) => out.known.extend(label.split(' ').map(str::to_string)),
            ("says", _) => out.of_sentences.extend(label.split(' ')),
            ("fills", _) => out.fills.extend(label.split(' ')),
            ("field", _) => out.fields.extend(label.split(' ')),
            ("public", _) => out.public.extend(label.split(' ')),
            (_, Some(&(_, value_kind, kind))) => {
                out.known.extend(label.split([' ', '~']).map(str::to_string));
                // `~` in the table stands for a blank inside the last word.
                let last = label.rsplit(' ').next().unwrap_or(label).replace('~', " ");
                let reversed = label.chars().rev().filter(|c| c.is_alphanumeric()).collect();
                let is_word = cells.next() == Some("word");
                let label = Label { reversed, value_kind, kind, is_word };
                out.by_last_word.entry(last).or_default().push(label);
            }
            _ => {}
        }
    }
    let longest_first = |a: &Label, b: &Label| b.reversed.len().cmp(&a.reversed.len());
    out.by_last_word.values_mut().for_each(|labels| labels.sort_by(longest_first));
    out.copulas.sort_by_key(|it| std::cmp::Reverse(it.len()));
    out.links.sort_by_key(|it| std::cmp::Reverse(it.len()));
    out
});

/// Returns malformed lines of the table; a test requires that there are none.
#[cfg(test)]
pub(super) fn n_unread() -> usize {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let is_read = |line: &&str| {
        line.split('\t').nth(2).is_some_and(|it| {
            matches!(it, "is" | "of" | "none" | "says" | "fills" | "field" | "public" | "call")
                || VALUE_KINDS.iter().any(|kind| kind.0 == it)
        })
    };
    lines.filter(|line| !is_read(line)).count()
}

/// Returns the longest of `labels`, which share their last word, that ends at `end`, and where it begins.
pub(super) fn label_at<'l>(
    text: &str,
    end: usize,
    labels: &'l [Label],
) -> Option<(usize, &'l Label)> {
    let before = folded_before(text, end);
    let label = labels.iter().find(|label| {
        let n = label.reversed.len();
        let is_here = before
            .get(..n)
            .is_some_and(|part| part.iter().map(|it| it.0).eq(label.reversed.iter().copied()));
        let starts = |at: &(char, usize)| !label.is_word || begins_word(text, at.1);
        is_here && before.get(n - 1).is_some_and(starts)
    })?;
    Some((before.get(label.reversed.len() - 1)?.1, label))
}

/// Suffixes that belong to a name after its label: `secret_key_base`, `client-key-data`, `passwordHash`.
pub(super) const SUFFIXES: [&str; 25] = [
    "_base", "_BASE", "-data", "_data", "_DATA", "Data", "_hash", "-hash", "_HASH", "Hash",
    " hash", "_value", "_VALUE", "-value", "Value", "_text", "_plain", "_b64", "_base64",
    "_BASE64", "_string", "_private", "_PRIVATE", "String", "_raw",
];

/// Returns the letters and digits before `end`, lowercase and in reverse order, with their places. Skips single
/// separators.
fn folded_before(text: &str, end: usize) -> Vec<(char, usize)> {
    let mut out = Vec::with_capacity(MAX_LABEL_CHARS);
    let mut last = ' ';
    for (at, c) in text.get(..end).unwrap_or("").char_indices().rev() {
        let is_gap =
            matches!(c, ' ' | '_' | '-' | '.' | '/' | '&' | '\'' | '’' | '\u{a0}' | '\u{94d}');
        // Blanks may surround `/` and `&`.
        let may_follow = last.is_alphanumeric() || (c == ' ') != (last == ' ') && "/& ".contains(c);
        if out.len() == MAX_LABEL_CHARS || !(c.is_alphanumeric() || is_gap && may_follow) {
            break;
        }
        last = c;
        if !is_gap {
            out.push((c.to_lowercase().next().unwrap_or(c), at));
        }
    }
    out
}

/// True when a word begins here: not after a letter, or with a capital after a lowercase letter.
fn begins_word(text: &str, place: usize) -> bool {
    let Some(before) = text.get(..place).and_then(|it| it.chars().next_back()) else { return true };
    let is_capital = || text.get(place..).is_some_and(|it| it.starts_with(char::is_uppercase));
    !before.is_alphabetic() || is_ideographic(before) || (before.is_lowercase() && is_capital())
}

/// True for characters of scripts without blanks between words.
pub(super) fn is_ideographic(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}')
}
