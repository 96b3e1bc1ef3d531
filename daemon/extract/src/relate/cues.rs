//! Cues: the words that state a relation, by where they apply.
//!
//! In: the rows of the vocabulary. Out: the cues by kind, and an automaton that finds those between names.
//! Invariants: a cue occurs once in each kind; cues are lowercase words separated by single spaces.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::vocabulary::intern;
use model::terms::EntityType;

/// Where a cue applies.
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
    /// `use`: only with several subjects, a plural, or a modal.
    Base,
    /// `owned by`, `part of`, `before`: applies to the name before it.
    Leaning,
}

/// One row of the vocabulary.
#[derive(Debug, Clone)]
pub(super) struct Cue {
    pub(super) predicate: &'static str,
    pub(super) words: &'static str,
    /// True when the words after the cue are the subject.
    pub(super) is_backward: bool,
    pub(super) kind: CueKind,
    pub(super) form: Form,
    /// The share of its statements that a careful reader would agree with, 0 to 1.
    pub(super) weight: f32,
    /// The pattern of its evidence, such as `sentence:depends on`.
    pub(super) pattern: &'static str,
    /// Types that this cue allows as subject and object, in addition to the relation's own limits; empty for any.
    pub(super) types: Types,
}

/// The types allowed on the two sides, subject first; empty for any.
pub(super) type Types = (Vec<EntityType>, Vec<EntityType>);

impl Cue {
    /// Makes a row without types. `is_backward`: the object comes first.
    pub(super) fn new(
        predicate: &'static str,
        words: &'static str,
        kind: CueKind,
        is_backward: bool,
        weight: f32,
    ) -> Self {
        let shown = match kind {
            CueKind::Sentence => "sentence",
            CueKind::Definition => "definition",
            CueKind::Section => "section",
            CueKind::List => "list",
            CueKind::Title => "title",
        };
        let pattern = intern(&format!("{shown}:{words}"));
        let form = form_of(words);
        Cue { predicate, words, is_backward, kind, form, weight, pattern, types: Types::default() }
    }
}

/// All cues.
pub(super) struct Cues {
    all: Vec<Cue>,
    by_words: FxHashMap<(CueKind, &'static str), usize>,
    finder: AhoCorasick,
    /// Index in `all` of each pattern of `finder`.
    found: Vec<usize>,
}

/// Verbs in the base form whose third person is not in the vocabulary.
const BASE_VERBS: [&str; 6] = ["run", "integrate", "live", "include", "rely", "specify"];

impl Cues {
    /// Builds the automaton over the cues between names.
    pub(super) fn new(mut all: Vec<Cue>) -> Self {
        let is_between = |cue: &Cue| cue.kind == CueKind::Sentence;
        let finite: FxHashSet<(&str, &str)> = all
            .iter()
            .filter(|cue| is_between(cue) && cue.form == Form::Finite)
            .filter_map(|cue| Some((cue.predicate, cue.words.split(' ').next()?)))
            .collect();
        // `form_of` takes `use` for leaning, since it has no `s`: it is a base form if the same relation has `uses`.
        for cue in all.iter_mut().filter(|cue| cue.form == Form::Leaning) {
            let first = cue.words.split(' ').next().unwrap_or(cue.words);
            let has_finite =
                finite.contains(&(cue.predicate, intern(&format!("{first}s")) as &str));
            if has_finite || BASE_VERBS.contains(&first) {
                cue.form = Form::Base;
            }
        }
        let by_words = all.iter().enumerate().map(|(i, cue)| ((cue.kind, cue.words), i)).collect();
        let found: Vec<usize> =
            (0..all.len()).filter(|i| all.get(*i).is_some_and(is_between)).collect();
        let patterns =
            all.iter().filter(|cue| is_between(cue)).map(|cue| format!(" {} ", cue.words));
        let finder = AhoCorasickBuilder::new()
            .match_kind(MatchKind::LeftmostLongest)
            .build(patterns)
            .expect("two thousand short cues are far below the automaton's limits");
        Cues { all, by_words, finder, found }
    }

    /// Returns the cue of this kind with exactly these words.
    pub(super) fn get(&self, kind: CueKind, words: &str) -> Option<&Cue> {
        // The map's keys are `'static`; the cast lets a shorter-lived `words` be compared with them.
        self.by_words.get(&(kind, words) as &(CueKind, &str)).and_then(|i| self.all.get(*i))
    }

    /// Returns every cue of one kind.
    pub(super) fn of_kind(&self, kind: CueKind) -> impl Iterator<Item = &Cue> {
        self.all.iter().filter(move |cue| cue.kind == kind)
    }

    /// Returns the last cue in a gap (lowercase words between single spaces), and its range without the spaces around
    /// it.
    pub(super) fn last_in(&self, gap: &str) -> Option<(&Cue, std::ops::Range<usize>)> {
        let last = self.finder.find_iter(gap).last()?;
        let cue = self.found.get(last.pattern().as_usize()).and_then(|i| self.all.get(*i))?;
        Some((cue, last.start() + 1..last.end() - 1))
    }
}

fn form_of(words: &str) -> Form {
    let first = words.split(' ').next().unwrap_or(words);
    let is_finite =
        matches!(first, "is" | "are" | "was" | "were") || (first.ends_with('s') && first != "as");
    if is_finite { Form::Finite } else { Form::Leaning }
}
