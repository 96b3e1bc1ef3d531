//! Cues: the words that state a relation, from `config/predicates.tsv`.
//!
//! In: the table, embedded. Out: the cues by kind, and an automaton over those that stand between names.
//! Invariants: every row of the table is a cue (a test holds it); a cue of one kind stands once; cues are
//! lowercase words parted by single spaces.
//! Not here: how cues are applied (`gap.rs`, `section.rs`, `fields.rs`, `define.rs`, `title.rs`).

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use rustc_hash::FxHashMap;

const TABLE: &str = include_str!("../../../../config/predicates.tsv");

/// Where a cue counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum CueKind {
    /// Between two names.
    Sentence,
    /// After a name that its sentence defines.
    Definition,
    /// A heading over a list, a key before a colon, a table's column.
    Section,
    /// A key before a colon or a table's column only.
    List,
    /// Inside a title.
    Title,
}

/// How a cue's first word is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `uses`, `is owned by`: needs a subject before it, and begins a clause of its own.
    Finite,
    /// `use`: only after several subjects, a plural, or a modal.
    Base,
    /// `owned by`, `part of`, `before`: leans on the name before it.
    Leaning,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct Cue {
    pub(super) predicate: &'static str,
    pub(super) words: &'static str,
    /// True when what stands after the cue is the subject.
    pub(super) is_backward: bool,
    pub(super) kind: CueKind,
    pub(super) form: Form,
    /// How often a careful reader would agree, 0 to 1.
    pub(super) weight: f32,
    /// Such as `sentence:depends on`.
    pub(super) pattern: &'static str,
}

/// The whole table.
pub(super) struct Cues {
    all: Vec<Cue>,
    by_words: FxHashMap<(CueKind, &'static str), usize>,
    finder: AhoCorasick,
    /// Index in `all` of each pattern of `finder`.
    found: Vec<usize>,
}

/// The cues of the embedded table.
pub(super) static CUES: LazyLock<Cues> = LazyLock::new(|| Cues::read(TABLE));

/// Verbs without an ending.
const BASE_VERBS: &str = " use integrate run depend rely require need belong consist contain \
     include own maintain live cite refer define specify precede ";

impl Cues {
    fn read(table: &'static str) -> Self {
        let all: Vec<Cue> = table.lines().filter_map(read_row).collect();
        let by_words = all.iter().enumerate().map(|(i, cue)| ((cue.kind, cue.words), i)).collect();
        let is_between = |cue: &Cue| cue.kind == CueKind::Sentence;
        let found: Vec<usize> =
            (0..all.len()).filter(|i| all.get(*i).is_some_and(is_between)).collect();
        let patterns =
            all.iter().filter(|cue| is_between(cue)).map(|cue| format!(" {} ", cue.words));
        let finder = AhoCorasickBuilder::new()
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns)
            .expect("a table of a few hundred short words is far below the automaton's limits");
        Cues { all, by_words, finder, found }
    }

    /// The cue of this kind with exactly these words.
    pub(super) fn get(&self, kind: CueKind, words: &str) -> Option<&Cue> {
        // The map's keys are 'static; `words` only has to be compared.
        self.by_words.get(&(kind, words) as &(CueKind, &str)).and_then(|i| self.all.get(*i))
    }

    /// Every cue of one kind.
    pub(super) fn of_kind(&self, kind: CueKind) -> impl Iterator<Item = &Cue> {
        self.all.iter().filter(move |cue| cue.kind == kind)
    }

    /// The last cue in a gap (lowercase words, each between single spaces), and its place without the spaces.
    pub(super) fn last_in(&self, gap: &str) -> Option<(&Cue, std::ops::Range<usize>)> {
        let last = self.finder.find_iter(gap).last()?;
        let cue = self.found.get(last.pattern().as_usize()).and_then(|i| self.all.get(*i))?;
        Some((cue, last.start() + 1..last.end() - 1))
    }
}

fn read_row(line: &'static str) -> Option<Cue> {
    if line.starts_with('#') || line.starts_with("predicate\t") {
        return None;
    }
    let mut columns = line.split('\t');
    let (predicate, words) = (columns.next()?, columns.next()?);
    let is_backward = columns.next()? == "backward";
    let kind_name = columns.next()?;
    let kind = match kind_name {
        "sentence" => CueKind::Sentence,
        "definition" => CueKind::Definition,
        "section" => CueKind::Section,
        "list" => CueKind::List,
        "title" => CueKind::Title,
        _ => return None,
    };
    let weight = columns.next()?.parse().ok()?;
    // Leaked once for the life of the process: evidence carries its pattern as a static name.
    let shown = if kind == CueKind::Definition { "sentence" } else { kind_name };
    let pattern = Box::leak(format!("{shown}:{words}").into_boxed_str());
    Some(Cue { predicate, words, is_backward, kind, form: form_of(words), weight, pattern })
}

fn form_of(words: &str) -> Form {
    let first = words.split(' ').next().unwrap_or(words);
    if matches!(first, "is" | "are" | "was" | "were") {
        Form::Finite
    } else if BASE_VERBS.split(' ').any(|verb| verb == first) {
        Form::Base
    } else if first.ends_with('s') && first != "as" {
        Form::Finite
    } else {
        Form::Leaning
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_a_cue_of_the_vocabulary() {
        const VOCABULARY: [&str; 11] = [
            "defines",
            "refers_to",
            "part_of",
            "uses",
            "depends_on",
            "precedes",
            "owned_by",
            "located_in",
            "cites",
            "same_as",
            "related_to",
        ];
        let rows = TABLE.lines().filter(|line| !line.starts_with('#')).count() - 1;
        assert_eq!(CUES.all.len(), rows);
        assert_eq!(CUES.by_words.len(), rows, "a cue stands once for each kind");
        for cue in &CUES.all {
            assert!(VOCABULARY.contains(&cue.predicate), "{}", cue.predicate);
            assert!((0.0..=1.0).contains(&cue.weight), "{}", cue.words);
            let plain = |c: char| c.is_ascii_lowercase() || c == ' ';
            assert!(cue.words.chars().all(plain) && !cue.words.contains("  "), "{}", cue.words);
        }
    }
}
