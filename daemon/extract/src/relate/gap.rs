//! Gap: what the words between two neighboring names state.
//!
//! In: the text between two names. Out: a cue with its lead and distance, a mere `and`, or nothing.
//! Invariants: a negated gap, or one with a modal, states nothing; at most two words between the cue and the second
//! name, none that begins another phrase (`to`, `for`, `which`); between the first name and the cue only its class and
//! auxiliaries. Linear, with one reused buffer.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::cues::{Cue, Cues, Form};
use super::depend::is_class_noun;

/// The meaning of a gap.
#[derive(Debug, Clone, Copy)]
pub(super) enum Gap<'v> {
    /// No cue, or too far from the names.
    Other,
    /// `and`, `,`: the names are joined.
    Joined {
        /// False for a comma alone, which separates names as often as it joins them.
        has_and: bool,
    },
    /// A cue.
    CueBetween(CueBetween<'v>),
}

/// A cue between two names.
#[derive(Debug, Clone, Copy)]
pub(super) struct CueBetween<'v> {
    pub(super) cue: &'v Cue,
    pub(super) lead: Lead,
    /// Words between the names, without cue, articles and adverbs; those before the cue count twice.
    pub(super) n_words: usize,
    /// True if the cue follows a noun that the name before it only modifies: `TLS library written in`.
    pub(super) has_noun: bool,
}

/// The words before a cue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// `X uses Y`.
    Direct,
    /// `X, which uses Y`.
    Relative,
    /// `…, and uses Y`, `…, and it uses Y`: the subject is before the last name.
    And,
    /// `X, owned by Y` or `…, uses Y`.
    Comma,
}

/// Longest gap that is read, in bytes: about twelve long words.
const MAX_GAP_BYTES: usize = 120;
/// Most words after the cue, without articles and adverbs.
const MAX_AFTER: usize = 2;

/// Words after which a gap states nothing: negations, and modals, which say only what may or should be so.
const NEGATIONS: &str = "not never no cannot without nor neither hardly instead rather unlike may might could would \
     should can will must shall";
const ADVERBS: &str = "also now currently mainly mostly directly often usually typically \
     primarily internally heavily partly always only still already simply just both either generally \
     normally solely chiefly strongly closely loosely entirely fully today itself";
const ARTICLES: &str = "the a an its their our your this these those";
/// Words that a verb's form may begin with: `has been replaced by`.
const AUXILIARIES: &str = "is are was were be been has have had";
/// Words that begin another phrase or clause, so that a cue does not reach over them.
const BREAKERS: &str = "to from with for by when if because while and or but as of in on at \
     into via through than that which who whose where whether until unless since so then about \
     between under over like using being ; ,";

/// The lists that contain a word, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Class(u8);

impl Class {
    const NEGATION: Class = Class(1);
    const ADVERB: Class = Class(2);
    const ARTICLE: Class = Class(4);
    const BREAKER: Class = Class(8);
    const AUXILIARY: Class = Class(16);

    fn has(self, other: Class) -> bool {
        self.0 & other.0 != 0
    }
}

/// One lookup for each word, whatever the number of lists: a gap is read for every pair of neighboring names.
static CLASSES: LazyLock<FxHashMap<&'static str, Class>> = LazyLock::new(|| {
    let mut classes: FxHashMap<&'static str, Class> = FxHashMap::default();
    let lists = [
        (NEGATIONS, Class::NEGATION),
        (ADVERBS, Class::ADVERB),
        (ARTICLES, Class::ARTICLE),
        (BREAKERS, Class::BREAKER),
        (AUXILIARIES, Class::AUXILIARY),
    ];
    for (list, class) in lists {
        for word in list.split_whitespace() {
            classes.entry(word).or_default().0 |= class.0;
        }
    }
    classes
});

fn class_of(word: &str) -> Class {
    CLASSES.get(word).copied().unwrap_or_default()
}

/// Reads gaps one after another, with a reused buffer.
pub(super) struct GapReader<'v> {
    cues: &'v Cues,
    /// The gap as lowercase words, each between single spaces; `,` is a word, other signs are `;`.
    words: String,
    is_negated: bool,
}

impl<'v> GapReader<'v> {
    /// Makes a reader of gaps with these cues.
    pub(super) fn new(cues: &'v Cues) -> Self {
        GapReader { cues, words: String::new(), is_negated: false }
    }

    /// Reads the text between two names.
    pub(super) fn read(&mut self, text: &str) -> Gap<'v> {
        // `Kafka's broker uses …` is about the broker.
        let is_possessive = text.starts_with("'s") || text.starts_with("’s");
        if text.len() > MAX_GAP_BYTES || is_possessive {
            return Gap::Other;
        }
        self.fill(text);
        if self.is_negated {
            Gap::Other
        } else if let Some(has_and) = self.joint() {
            Gap::Joined { has_and }
        } else {
            self.find_cue().map_or(Gap::Other, Gap::CueBetween)
        }
    }

    fn fill(&mut self, text: &str) {
        self.words.clear();
        self.words.push(' ');
        self.is_negated = false;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let len = if c.is_alphanumeric() { word_len(rest) } else { c.len_utf8() };
            let (token, after) = rest.split_at(len);
            match c {
                _ if c.is_alphanumeric() => self.word(token),
                '&' => self.words.push_str("and "),
                ',' => self.words.push_str(", "),
                // Quotes and emphasis around names are not words; all other characters separate.
                _ if c.is_whitespace()
                    || matches!(c, '"' | '“' | '”' | '‘' | '’' | '`' | '*' | '\'') => {}
                _ => self.words.push_str("; "),
            }
            rest = after;
        }
    }

    fn word(&mut self, word: &str) {
        // `also known as` is a cue of its own; before any other word, `also` is dropped as an adverb.
        let after_also = self.words.ends_with(" also ");
        let start = self.words.len();
        self.words.extend(word.chars().flat_map(char::to_lowercase));
        let lower = self.words.get(start..).unwrap_or("");
        let class = class_of(lower);
        self.is_negated |=
            class.has(Class::NEGATION) || lower.ends_with("n't") || lower.ends_with("n’t");
        if class.has(Class::ADVERB) && lower != "also" {
            return self.words.truncate(start);
        }
        if after_also && !matches!(lower, "known" | "called") {
            self.words.replace_range(start - "also ".len()..start, "");
        }
        self.words.push(' ');
    }

    /// Returns whether there is more than a comma, if the gap is only `,`, `and`, `, and the`, `as well as`;
    /// otherwise `None`.
    fn joint(&self) -> Option<bool> {
        if self.words == " as well as " || self.words == " as well as the " {
            return Some(true);
        }
        let (mut has_comma, mut has_and) = (false, false);
        for word in self.words.split_ascii_whitespace() {
            has_comma |= word == ",";
            has_and |= matches!(word, "and" | "plus");
            // Of `A or B`, nothing is stated of either.
            if !matches!(word, "," | "and" | "plus") && !class_of(word).has(Class::ARTICLE) {
                return None;
            }
        }
        (has_comma || has_and).then_some(has_and)
    }

    fn find_cue(&self) -> Option<CueBetween<'v>> {
        let (cue, place) = self.cues.last_in(&self.words)?;
        let after = self.words.get(place.end..)?.split_ascii_whitespace();
        let before = self.words.get(..place.start)?;
        let (lead, before) = lead_of(before);
        let mut n_words = 0;
        for word in after.filter(|word| !class_of(word).has(Class::ARTICLE)) {
            n_words += 1;
            // `responsible for approving X` is not responsible for X.
            if n_words > MAX_AFTER || class_of(word).has(Class::BREAKER) || word.ends_with("ing") {
                return None;
            }
        }
        // `the Kafka 2.0 cluster has been replaced by`; before any other word, the name only modifies it.
        let mut n_before = 0;
        let mut first = None;
        for word in before.split_ascii_whitespace() {
            let class = class_of(word);
            let is_version = word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit());
            let is_form = class.has(Class::ARTICLE) || class.has(Class::AUXILIARY);
            if !is_form && !is_version && !is_class_noun(word) {
                return None;
            }
            n_before += usize::from(!class.has(Class::ARTICLE));
            first = first.or(Some(class));
        }
        let has_noun = cue.form == Form::Leaning
            && lead == Lead::Direct
            && first.is_some_and(|it| !it.has(Class::AUXILIARY));
        // A weak cue such as `before` needs both names right beside it, and `same_as` the second one.
        let is_loose = (n_before + n_words > 0 && cue.weight <= 0.5)
            || (n_words > 0 && cue.predicate == "same_as");
        (!is_loose).then_some(CueBetween { cue, lead, n_words: n_words + 2 * n_before, has_noun })
    }
}

/// Returns the length of the word that `text` begins with; a dot inside it (`v1.2`) is part of it.
fn word_len(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '’' | '.');
    let len = text.find(|c| !is_word(c)).unwrap_or(text.len());
    text.get(..len).map_or(len, |word| word.trim_end_matches('.').len())
}

/// Splits the lead off the words before a cue.
fn lead_of(before: &str) -> (Lead, &str) {
    let before = before.trim();
    let (has_comma, rest) = match before.strip_prefix(',') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, before),
    };
    let take = |words: &[&str]| {
        let first = rest.split(' ').next().unwrap_or("");
        words.contains(&first).then(|| rest.get(first.len()..).unwrap_or("").trim_start())
    };
    if let Some(rest) = take(&["which", "that", "who"]) {
        return (Lead::Relative, rest);
    }
    if let Some(rest) = take(&["and", "but", "or"]) {
        let rest = ["it ", "they ", "which ", "that "]
            .iter()
            .find_map(|p| rest.strip_prefix(p))
            .unwrap_or(rest);
        let rest = if matches!(rest, "it" | "they" | "which" | "that") { "" } else { rest };
        return (Lead::And, rest);
    }
    // `is a tool that uses`: the tool is the name before, so the words up to `that` are skipped.
    if rest.starts_with("is a ") || rest.starts_with("is an ") {
        let relative = [" that", " which"].iter().find_map(|word| rest.split_once(word));
        if let Some((_, tail)) = relative.filter(|(kind, _)| kind.split(' ').count() <= 5) {
            return (if has_comma { Lead::Comma } else { Lead::Direct }, tail.trim_start());
        }
    }
    (if has_comma { Lead::Comma } else { Lead::Direct }, rest)
}
