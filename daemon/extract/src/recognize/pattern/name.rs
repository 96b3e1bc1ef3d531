//! Name: capitalized names in running text (`Signing Service`, `Ada Moreno`, `Redwood`), people
//! after a cue (`Owner: Ada Moreno`, `by Ada Moreno`) or before their address, and `@handle`s.
//!
//! In: a capitalized word. Out: the name that begins at or just after it.
//! Invariants: a name has at most four words; several words are not all ordinary unless the last
//! gives the kind (`Support Desk`); a capital at the start of a sentence proves nothing; a heading,
//! where every word may be capitalized, is read only as a whole; each run is read once.
//! Without a cue a person's name is a `Concept` until a model gives it a type.

use super::{Finds, Hit, Proof, standard};
use crate::recognize::runs::Run;
use crate::recognize::token::{Shape, View};
use crate::recognize::{lexicon, words};
use crate::recognize::{people, runs};
use model::terms::EntityType;

const RUN_SCORE: f32 = 0.65;
const CUED_SCORE: f32 = 0.8;
const SINGLE_SCORE: f32 = 0.5;
const MAX_WORDS: usize = 4;
/// Shortest single name, in bytes.
const MIN_SINGLE_BYTES: usize = 3;

/// Words that precede `by` and a person.
const AUTHORED: &str = " written authored created developed maintained reviewed approved \
     reported led designed edited presented posted published contributed suggested proposed founded \
     owned signed started run recorded drafted requested opened raised chaired hosted given talk post \
     book article guide blog paper video comment photo edition presentation plugin theme course \
     thread idea work ";

/// Words that precede the colon of a list of people.
const PERSON_CUES: &str = " owner owners author authors contact contacts maintainer maintainers \
     reviewer reviewers lead assignee reporter approver approvers editor manager chair presenter \
     speaker attendees participants ";

/// Reads the names of one block.
#[derive(Default)]
pub(super) struct Names {
    /// All runs that begin before this word have been read.
    next: usize,
    /// The last word of the latest person, so that `Ada Moreno and Jonas Pikkar` are two people.
    person_end: Option<usize>,
}

impl Names {
    pub(super) fn read(&mut self, view: View<'_>, i: usize, finds: &mut Finds<'_>) -> Option<Hit> {
        if i < self.next || !view.shape(i).has(Shape::CAPITAL) {
            return None;
        }
        let (run, next) = runs::run_at(view, i);
        self.next = next;
        let run = cut(view, run?)?;
        if let Some(hit) = self.cued(view, run) {
            self.person_end = Some(run.to);
            return Some(hit);
        }
        match run.n_words() {
            1 => single(view, run.from, run.is_first),
            2..=MAX_WORDS => several(view, run, finds),
            _ => None,
        }
    }

    /// Reads a person after a cue, or another name where a person is expected
    /// (`Owner: Trust Team`).
    fn cued(&self, view: View<'_>, run: Run) -> Option<Hit> {
        let before = run.from.checked_sub(1)?;
        let word = view.word(before);
        let is_listed = view.gap_is(before, ": ")
            && PERSON_CUES.split(' ').any(|cue| !cue.is_empty() && cue.eq_ignore_ascii_case(word));
        let is_after_by = matches!(word, "by" | "By")
            && view.gap_is(before, " ")
            && run.n_words() > 1
            && is_authored(view, before);
        let follows = match self.person_end {
            Some(end) if end == before => view.gap_is(before, ", "),
            Some(end) => end + 1 == before && word == "and" && view.gap_is(before, " "),
            None => false,
        };
        let is_addressed = run.n_words() > 1 && people::has_address(view.after(run.to));
        if !(is_listed || is_after_by || follows || is_addressed) {
            return None;
        }
        let is_plain = (run.from..=run.to).all(|at| {
            let shape = view.shape(at);
            !shape.is_caps() && !shape.has(Shape::HUMP) && !words::is_ordinary(view.word(at))
        });
        if lexicon::is_suffix(view.word(run.to)) && run.n_words() > 1 {
            let entity_type = lexicon::type_of(view.run(run.from, run.to));
            return Some(Hit::firm(run.from, run.to, entity_type, CUED_SCORE));
        }
        let is_person = is_plain && run.n_words() <= 3;
        is_person.then(|| Hit::firm(run.from, run.to, EntityType::Person, CUED_SCORE))
    }
}

/// Returns whether the `by` at `at` begins its sentence or follows a verb or noun of authorship:
/// `written by`, `a talk by`.
fn is_authored(view: View<'_>, at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return true };
    view.shape(at).has(Shape::FIRST)
        || (view.gap_is(before, " ")
            && AUTHORED
                .split(' ')
                .any(|w| !w.is_empty() && w.eq_ignore_ascii_case(view.word(before))))
}

/// Reads a heading that is a name of a known kind (`Storage Team`). The text below must use it,
/// too.
pub(super) fn read_heading(view: View<'_>, i: usize) -> Option<Hit> {
    if i > 0 || !(2..=MAX_WORDS).contains(&view.words.len()) {
        return None;
    }
    let (run, _) = runs::run_at(view, i);
    let run = run.filter(|run| run.n_words() == view.words.len())?;
    let is_name = lexicon::is_suffix(view.word(run.to)) && !view.is_glued(run.from, run.to);
    let entity_type = lexicon::type_of(view.run(run.from, run.to));
    let whole = Hit::firm(run.from, run.to, entity_type, RUN_SCORE);
    is_name.then_some(Hit { proof: Proof::MidSentence, ..whole })
}

/// Cuts a run before the first id in it, and before a word that is part of something
/// longer.
fn cut(view: View<'_>, mut run: Run) -> Option<Run> {
    let is_other = |at: usize| view.shape(at).is_caps() && standard::read_id(view, at).is_some();
    if let Some(at) = (run.from..=run.to.min(run.from + MAX_WORDS)).find(|at| is_other(*at)) {
        run.to = at.checked_sub(1).filter(|to| *to >= run.from)?;
    }
    if view.is_glued(run.from, run.from) && run.n_words() > 1 || view.byte_before(run.from) == b'/'
    {
        return None;
    }
    while view.is_glued(run.to, run.to) {
        run.to = run.to.checked_sub(1).filter(|to| *to >= run.from)?;
    }
    Some(run)
}

fn several(view: View<'_>, run: Run, finds: &mut Finds<'_>) -> Option<Hit> {
    let n_caps = (run.from..=run.to).filter(|at| view.shape(*at).is_caps()).count();
    if n_caps == run.n_words() {
        return None;
    }
    let is_known_kind = lexicon::is_suffix(view.word(run.to));
    let is_own = (run.from..=run.to).any(|at| !words::is_ordinary(view.word(at)));
    if !is_own && !is_known_kind {
        return None;
    }
    let entity_type = lexicon::type_of(view.run(run.from, run.to));
    let whole = Hit::firm(run.from, run.to, entity_type, RUN_SCORE);
    if !run.is_first || !words::is_ordinary(view.word(run.from)) {
        return Some(whole);
    }
    // `Using Docker Compose`: the first word may only start the sentence, so both readings wait for
    // proof.
    let rest = Run { from: run.from + 1, is_first: false, ..run };
    let inner = if rest.n_words() == 1 {
        single(view, rest.from, false)
    } else {
        several(view, rest, finds)
    };
    if let Some(inner) = inner {
        finds.push(view, inner);
    }
    Some(Hit { proof: Proof::MidSentence, ..whole })
}

fn single(view: View<'_>, i: usize, is_first: bool) -> Option<Hit> {
    let (word, shape) = (view.word(i), view.shape(i));
    let is_plain = !shape.has(Shape::DIGIT) && !shape.has(Shape::HUMP) && !shape.is_caps();
    if !is_plain || word.len() < MIN_SINGLE_BYTES || words::is_ordinary(word) || view.is_glued(i, i)
    {
        return None;
    }
    let is_technology = lexicon::is_technology(&word.to_lowercase());
    // `| Rust |` and `- Rust` are alone: their capital does not come from a sentence.
    let is_alone = is_first && (i + 1 == view.words.len() || view.after(i).starts_with(" |"));
    let (entity_type, proof) = match (is_technology, is_first && !is_alone) {
        (true, false) => (EntityType::Technology, Proof::Firm),
        (true, true) => (EntityType::Technology, Proof::MidSentence),
        (false, false) if is_alone => (EntityType::Concept, Proof::ProperAtStart),
        (false, false) => (EntityType::Concept, Proof::Proper),
        (false, true) => (EntityType::Concept, Proof::ProperAtStart),
    };
    Some(Hit { proof, ..Hit::firm(i, i, entity_type, SINGLE_SCORE) })
}

/// Reads an `@handle` of three characters or more that is not a mail address, a package or a
/// decorator call.
pub(super) fn read_handle(view: View<'_>, i: usize) -> Option<Hit> {
    if view.byte_before(i) != b'@' || view.shape(i).has(Shape::WIDE) {
        return None;
    }
    let at_sign = (view.words.get(i)?.start as usize).checked_sub(1)?;
    let before = at_sign.checked_sub(1).and_then(|b| view.text.as_bytes().get(b)).copied();
    if before.is_some_and(|b| !b.is_ascii_whitespace() && !matches!(b, b'(' | b',' | b'[')) {
        return None;
    }
    let mut to = i;
    while view.gap_is(to, "-") && to < i + 4 {
        to += 1;
    }
    let mut after = view.after(to).chars();
    let is_short = view.run(i, to).len() < MIN_SINGLE_BYTES;
    let goes_on = is_short
        || match after.next() {
            Some('/' | '(' | '@' | ':' | '{') => true,
            Some('.') => after.next().is_some_and(char::is_alphanumeric),
            _ => false,
        };
    let name = format!("@{}", view.run(i, to));
    (!goes_on).then(|| Hit { name: Some(name), ..Hit::firm(i, to, EntityType::Person, CUED_SCORE) })
}
