//! Claim: what a short statement says about its subject, by its words in order.
//!
//! In: a statement, and the names of its subject. Out: whether another statement says the same or
//! the opposite.
//! Two claims are the same if they have the same words, apart from case, punctuation and filler
//! words. They contradict each other if they differ in exactly one place: one is a denial, or the
//! words there are opposites, or something that has a single value has two.
//! Invariants: a difference in any other place, or one that both claims allow, is no contradiction:
//! a false contradiction is worse than a missed one.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use index::words::Indexer;
use notes::lists::WordLists;

use super::statement::{Statement, numeral};

static LISTS: LazyLock<WordLists> = LazyLock::new(|| WordLists::parse(include_str!("claim.tsv")));

/// Joins an attribute and its value.
const IS: &str = "is";

/// Words that exclude each other when said of the same thing.
const OPPOSITES: [[&str; 2]; 24] = [
    ["likes loves enjoys prefers", "dislikes hates avoids"],
    ["enabled", "disabled"],
    ["on", "off"],
    ["allowed permitted", "forbidden prohibited banned"],
    ["allows permits", "forbids prohibits"],
    ["required mandatory obligatory", "optional voluntary"],
    ["open", "closed"],
    ["public", "private"],
    ["active", "inactive"],
    ["supported", "unsupported"],
    ["true", "false"],
    ["accepted approved", "rejected declined refused"],
    ["accepts", "rejects refuses"],
    ["possible", "impossible"],
    ["available", "unavailable"],
    ["online", "offline"],
    ["synchronous", "asynchronous"],
    ["mutable", "immutable"],
    ["safe", "unsafe"],
    ["complete finished done", "incomplete unfinished"],
    ["alive", "dead"],
    ["running started", "stopped"],
    ["increases", "decreases"],
    ["with", "without"],
];

/// Numbers that are compared as digits where they are written as words.
const NUMBERS: RangeInclusive<u64> = 2..=12;

/// Most words of a value, and of its attribute.
const MAX_VALUE: usize = 4;
const MAX_ATTRIBUTE: usize = 4;

/// Longest text compared by its content, bytes.
const MAX_KEYED: usize = 500;

/// The content of a statement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Claim {
    words: Vec<Word>,
    denies: bool,
    /// Whether it names its subject.
    pub names_subject: bool,
    /// Whether it names a single attribute: `the owner …`, `owner: …`.
    is_definite: bool,
    /// Whether a colon precedes the value.
    has_colon: bool,
}

/// A word.
#[derive(Debug, Clone, PartialEq)]
struct Word {
    /// Stem, for comparison.
    stem: String,
    /// In lowercase.
    plain: String,
    /// As written, without punctuation.
    shown: String,
}

impl Word {
    fn new(shown: &str, lower: &str) -> Word {
        let number = numeral(lower).filter(|it| NUMBERS.contains(it));
        let plain = number.map_or(lower.to_string(), |it| it.to_string());
        Word { stem: stem(&plain), plain, shown: shown.to_string() }
    }

    fn is_number(&self) -> bool {
        self.plain
            .trim_start_matches(['$', '€', '£', '~'])
            .starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns whether it is capitalized like a name, outside the start of a sentence.
    fn is_name(&self) -> bool {
        self.shown.chars().any(char::is_uppercase)
    }
}

thread_local! {
    /// Expensive to create, and needed for every word.
    static INDEXER: RefCell<Indexer> = RefCell::new(Indexer::new());
}

fn stem(word: &str) -> String {
    if !word.chars().all(char::is_alphabetic) {
        return word.to_string();
    }
    let mut out = String::new();
    INDEXER.with_borrow_mut(|it| it.index(word, true, &mut out));
    out.split_whitespace().next().unwrap_or(word).to_string()
}

impl Claim {
    /// Parses a statement about a subject with these names.
    pub(crate) fn of(text: &str, names: &[String]) -> Claim {
        let mut claim = Claim::default();
        let expanded =
            text.replace('’', "'").replace("n't ", " not ").replace("ca not ", "can not ");
        let expanded = expanded.replace(" = ", ": ").replace("no longer", "not");
        let mut raw: Vec<(&str, bool)> = Vec::new();
        for part in expanded.split_whitespace() {
            let shown = part.trim_matches(|c: char| {
                !c.is_alphanumeric() && !matches!(c, '$' | '€' | '£' | '%')
            });
            match (shown.is_empty(), part.ends_with(':')) {
                (false, is_key) => raw.push((shown, is_key)),
                (true, true) => raw.last_mut().into_iter().for_each(|it| it.1 = true),
                (true, false) => {}
            }
        }
        let n_subject = subject_at(&raw, names);
        claim.names_subject = n_subject > 0;
        let rest = raw.get(n_subject..).unwrap_or_default();
        let begins = rest.first().map(|it| it.0.to_lowercase()).unwrap_or_default();
        claim.is_definite =
            LISTS.has("definite", &begins) || n_subject > 0 && rest.len() < raw.len();
        let rest = match names.is_empty() || !LISTS.has("pronoun", &begins) || rest.len() < 2 {
            true => rest,
            false => rest.get(1..).unwrap_or_default(),
        };
        // A denial after a comma denies only what follows: `likes coffee, not tea`.
        let denies_all = !expanded.contains(", not ");
        for (at, (shown, is_key)) in rest.iter().enumerate() {
            let mut lower = shown.to_lowercase();
            if at == 0 && claim.names_subject && lower == "s" || LISTS.has("filler", &lower) {
                continue;
            }
            if let Some(bare) = lower.strip_suffix("'s") {
                lower = bare.to_string();
            }
            if denies_all && LISTS.has("denial", &lower) {
                claim.denies = !claim.denies;
                continue;
            }
            if lower.starts_with(|c: char| c.is_ascii_digit()) {
                lower = lower.replace(',', "");
            }
            let is_joint = lower == IS;
            if !(is_joint && claim.words.last().is_some_and(|it| it.plain == IS)) {
                claim.words.push(Word::new(shown, &lower));
            }
            if *is_key && claim.words.len() <= MAX_ATTRIBUTE {
                (claim.has_colon, claim.is_definite) = (true, true);
                if !is_joint {
                    claim.words.push(Word::new(IS, IS));
                }
            }
        }
        // `does not like` then has the same words as `likes`.
        let is_helper = |it: &Word| matches!(it.plain.as_str(), "do" | "does" | "did");
        if claim.denies
            && let Some(at) = claim.words.iter().position(is_helper)
        {
            claim.words.remove(at);
        }
        claim
    }

    /// Returns the claims of a text that name what they are about.
    pub(crate) fn all_of(text: &str) -> Vec<Claim> {
        let statements = Statement::all_of(text);
        let claims = statements.iter().map(|it| Claim::of(&it.text, &[]));
        claims.filter(Claim::stands_alone).collect()
    }

    /// Returns whether there are no words to compare.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether it can be understood without knowing its subject: `owner: Ann` cannot.
    pub(crate) fn stands_alone(&self) -> bool {
        let subject = || self.words.iter().take_while(|it| it.plain != IS);
        subject().count() >= 3 || subject().skip(1).any(Word::is_name)
    }

    /// Returns whether both say the same.
    pub(crate) fn is_same(&self, other: &Claim) -> bool {
        !self.is_empty() && self.denies == other.denies && self.stems().eq(other.stems())
    }

    /// Returns a key that is equal for texts that say the same; for several lines, the exact words.
    pub(crate) fn key(text: &str) -> String {
        let is_one = !text.trim().contains('\n') && text.len() <= MAX_KEYED;
        let claim = if is_one { Claim::of(text, &[]) } else { Claim::default() };
        if claim.is_empty() {
            return text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        let denial = if claim.denies { "not " } else { "" };
        format!("{denial}{}", claim.stems().collect::<Vec<_>>().join(" "))
    }

    fn stems(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(|it| it.stem.as_str())
    }

    /// Returns why both cannot be true of the same subject, or `None`.
    pub(crate) fn contradicts(&self, other: &Claim) -> Option<String> {
        if self.is_empty() || other.is_empty() {
            return None;
        }
        if self.stems().eq(other.stems()) {
            let contradicts = self.words.len() > 1 && self.denies != other.denies;
            return contradicts.then(|| "one denies what the other says".to_string());
        }
        if self.denies != other.denies {
            return None;
        }
        let (one, two) = (&self.words, &other.words);
        let is_equal = |it: &(&Word, &Word)| it.0.stem == it.1.stem;
        let before = one.iter().zip(two).take_while(is_equal).count();
        let (one, two) = (one.get(before..)?, two.get(before..)?);
        let behind = one.iter().rev().zip(two.iter().rev()).take_while(is_equal).count();
        let values = [one.get(..one.len() - behind)?, two.get(..two.len() - behind)?];
        let frame = self.words.get(..before)?;
        opposite(values).or_else(|| self.other_value(other, frame, values, behind))
    }

    /// Returns why two values exclude each other.
    fn other_value(
        &self,
        other: &Claim,
        frame: &[Word],
        values: [&[Word]; 2],
        behind: usize,
    ) -> Option<String> {
        if have_other_units(values) {
            return None;
        }
        let [one, two] = values.map(without_units);
        if self.denies || one.is_empty() || two.is_empty() || one.len().max(two.len()) > MAX_VALUE {
            return None;
        }
        let difference = |kind: &str| {
            let shown = |words: &[Word]| {
                words.iter().map(|it| it.shown.as_str()).collect::<Vec<_>>().join(" ")
            };
            format!("{kind}: {} and {}", shown(one), shown(two))
        };
        if let ([one], [two]) = (one, two)
            && one.is_number()
            && two.is_number()
        {
            let is_state = frame.iter().any(|it| LISTS.has("state", &it.plain));
            return (is_state && one.plain != two.plain).then(|| difference("the numbers differ"));
        }
        // A more specific value is not a different one: `Ann`, `Ann Smith`.
        let holds = |all: &[Word], part: &[Word]| {
            part.iter().all(|it| all.iter().any(|o| o.stem == it.stem))
        };
        if behind > 0 || holds(one, two) || holds(two, one) {
            return None;
        }
        let frame: Vec<&str> = frame.iter().map(|it| it.plain.as_str()).collect();
        let text = frame.join(" ");
        let is_single =
            LISTS.words("single").iter().any(|it| text == *it || text.ends_with(&format!(" {it}")));
        if is_single {
            return Some(difference("the values differ"));
        }
        let [attribute @ .., IS] = frame.as_slice() else { return None };
        let last = attribute.last()?;
        let is_plural =
            last.ends_with('s') && !["ss", "us", "is"].iter().any(|it| last.ends_with(it));
        let is_attribute = attribute.len() <= MAX_ATTRIBUTE
            && !is_plural
            && !LISTS.has("introduction", last)
            && (self.is_definite || other.is_definite);
        let is_value = |it: &[Word]| it.iter().all(|it| it.is_name() || it.is_number());
        let are_values = self.has_colon && other.has_colon || is_value(one) && is_value(two);
        (is_attribute && are_values).then(|| difference("the values differ"))
    }
}

/// Returns whether both values are numbers of different units: 60 minutes may be 1 hour.
fn have_other_units(values: [&[Word]; 2]) -> bool {
    values.iter().all(|it| matches!(it, [number, unit] if number.is_number() && !unit.is_number()))
}

/// Strips the unit of a number from a value.
fn without_units(words: &[Word]) -> &[Word] {
    match words {
        [number, unit] if number.is_number() && LISTS.has("unit", &unit.plain) => {
            words.get(..1).unwrap_or(words)
        }
        _ => words,
    }
}

/// Returns why two words exclude each other.
fn opposite([one, two]: [&[Word]; 2]) -> Option<String> {
    let ([one], [two]) = (one, two) else { return None };
    let side = |side: &str, word: &Word| {
        side.split(' ').any(|it| it == word.plain || stem(it) == word.stem)
    };
    let are =
        OPPOSITES.iter().any(|[a, b]| side(a, one) && side(b, two) || side(b, one) && side(a, two));
    are.then(|| format!("`{}` and `{}` are opposites", one.shown, two.shown))
}

/// Returns the number of words at the start that name the subject.
fn subject_at(words: &[(&str, bool)], names: &[String]) -> usize {
    let mut longest = 0;
    for name in names {
        let parts: Vec<String> = name.split_whitespace().map(str::to_lowercase).collect();
        let is_there = parts.iter().enumerate().all(|(at, part)| {
            let word = words.get(at).map(|it| it.0.to_lowercase()).unwrap_or_default();
            word.strip_suffix("'s").unwrap_or(&word) == part
        });
        if is_there && !parts.is_empty() {
            longest = longest.max(parts.len());
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(one: &str, two: &str) -> Option<String> {
        let names = ["Bob".to_string(), "Robert Miller".to_string()];
        let [one, two] = [one, two].map(|it| Claim::of(it, &names));
        assert_eq!(one.contradicts(&two).is_some(), two.contradicts(&one).is_some());
        one.contradicts(&two)
    }

    #[test]
    fn what_cannot_be_so_beside_the_other_contradicts_it() {
        for (one, two, expected) in [
            ("owner: Ann", "owner: Bob", "the values differ: Ann and Bob"),
            ("the owner is: Ann", "owner: Carl", "the values differ: Ann and Carl"),
            ("The owner is Ann", "The owner is Carl.", "the values differ: Ann and Carl"),
            (
                "The database is SQLite",
                "The database is Postgres",
                "the values differ: SQLite and Postgres",
            ),
            ("status: green", "Status: red", "the values differ: green and red"),
            ("It is called Falcon", "is called Hawk", "the values differ: Falcon and Hawk"),
            ("lives in Ghent", "Bob lives in Paris", "the values differ: Ghent and Paris"),
            ("likes tea", "hates tea", "`likes` and `hates` are opposites"),
            (
                "Bob likes green tea",
                "Robert Miller dislikes green tea",
                "`likes` and `dislikes` are opposites",
            ),
            (
                "The cache is enabled",
                "The cache is now disabled",
                "`enabled` and `disabled` are opposites",
            ),
            ("The build is green", "The build isn't green", "one denies what the other says"),
            ("likes tea", "does not like tea", "one denies what the other says"),
            ("Bob lives in London", "no longer lives in London", "one denies what the other says"),
            ("The budget is 1000 EUR", "The budget is 100", "the numbers differ: 1000 and 100"),
            (
                "We decided to use SQLite because it needs no server.",
                "We decided not to use SQLite because it needs no server.",
                "one denies what the other says",
            ),
            (
                "Sessions last for 30 minutes.",
                "Sessions last for 45 minutes now",
                "the numbers differ: 30 and 45",
            ),
            (
                "The build takes four minutes",
                "The build takes 5 minutes",
                "the numbers differ: four and 5",
            ),
            (
                "The deadline is 2026-03-01",
                "deadline: 2026-04-01",
                "the numbers differ: 2026-03-01 and 2026-04-01",
            ),
            (
                "The release is due on May 3",
                "The release is due on May 4",
                "the numbers differ: 3 and 4",
            ),
        ] {
            assert_eq!(why(one, two).as_deref(), Some(expected), "{one} / {two}");
        }
    }

    #[test]
    fn what_may_be_so_beside_the_other_does_not() {
        for (one, two) in [
            ("likes tea", "likes coffee"),
            ("likes tea", "hates coffee"),
            ("likes coffee, not tea", "likes coffee"),
            ("likes green tea", "hates tea"),
            ("is tall", "is rich"),
            ("The owner is tired", "The owner is happy"),
            ("owner: Ann", "owner: Ann Smith"),
            ("owners: Ann", "owners: Carl"),
            ("note: tea", "note: coffee"),
            ("The database is SQLite", "The database is SQLite 3"),
            ("Invoice 12 is paid", "Invoice 13 is paid"),
            ("Step 3 takes 5 minutes", "Step 4 takes 5 minutes"),
            ("We paid invoice 12", "We paid invoice 13"),
            ("Release 1.2 fixes the login", "Release 1.3 fixes the login"),
            ("Ann met Carl on May 3", "Ann met Carl on May 4"),
            ("We use port 80 for HTTP", "We use port 443 for HTTPS"),
            ("The server never caches large queries", "The server caches queries"),
            ("Lunch is at 12 on Mondays", "Sessions last for 30 minutes"),
            ("was in Paris", "is in Paris"),
            ("The door is not open", "The door is closed"),
            ("works with Ann", "works with Carl"),
            ("moved to Ghent", "moved from Ghent"),
            ("The session lasts 60 minutes", "The session lasts 1 hour"),
            ("The relay Alpha listens on port 8080.", "The relay Beta listens on port 9090."),
            ("We tested the agent with version 1.2", "We tested the agent with version 1.3"),
        ] {
            assert_eq!(why(one, two), None, "{one} / {two}");
        }
    }

    #[test]
    fn case_signs_and_words_that_say_nothing_make_no_difference() {
        let same = |one: &str, two: &str| {
            let names = ["Bob".to_string()];
            Claim::of(one, &names).is_same(&Claim::of(two, &names))
        };
        for (one, two) in [
            ("owner: Bob", "The owner is bob."),
            ("Prefers short mails", "Bob prefers the short mails!"),
            ("he likes tea", "Likes tea"),
            ("The budget is 1,000 EUR", "the budget is 1000 EUR"),
        ] {
            assert!(same(one, two), "{one} / {two}");
        }
        for (one, two) in [
            ("likes tea", "does not like tea"),
            ("moves to Ghent", "moves from Ghent"),
            ("Ann pays Carl", "Carl pays Ann"),
            ("The budget is 100", "The budget is 1000"),
        ] {
            assert!(!same(one, two), "{one} / {two}");
        }
    }
}
