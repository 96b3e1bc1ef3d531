//! Frames: cues in terms of grammar: a verb, participle or noun and the words that lead to its object.
//!
//! In: the cues between names. Out: a table from such words, as stems, to the relation that they state.
//! Invariants: of cues with the same frame, the one of the highest weight is used; a cue that is not a phrase of its
//! own (`before`, `aka`) makes no frame.

use rustc_hash::{FxHashMap, FxHashSet};

use super::words::{is_participle, stem_of};
use crate::relate::cues::{Cue, CueKind, Form};
use crate::relate::vocabulary::intern;

/// How a phrase connects its subject with its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::relate) enum Voice {
    /// `X uses Y`.
    Active,
    /// `X is owned by Y`, `X, owned by Y`.
    Passive,
    /// `X is part of Y`, `X, part of Y`, `X is responsible for Y`.
    Nominal,
}

/// What a phrase states.
#[derive(Debug, Clone, Copy)]
pub(in crate::relate) struct Frame {
    pub(in crate::relate) predicate: &'static str,
    /// True when the phrase's object is the relation's subject.
    pub(in crate::relate) is_backward: bool,
    pub(in crate::relate) weight: f32,
    /// Such as `depend:use`.
    pub(in crate::relate) pattern: &'static str,
}

/// All frames.
#[derive(Debug, Default)]
pub(in crate::relate) struct Frames {
    of: FxHashMap<(Voice, String), Frame>,
    /// For the first stem of each frame, its other stems.
    others: FxHashMap<String, Vec<Vec<String>>>,
}

/// Factor for a passive that is not in the vocabulary but is derived from its active.
const DERIVED: f32 = 0.95;
const ARTICLES: [&str; 4] = ["a", "an", "the", "another"];
/// Words before a phrase that are not part of it.
const LEADS: [&str; 4] = ["also", "formerly", "previously", "now"];

impl Frames {
    /// Makes the frames of all cues between names.
    pub(in crate::relate) fn of(cues: &[Cue]) -> Self {
        let mut frames = Frames::default();
        let between = || cues.iter().filter(|cue| cue.kind == CueKind::Sentence);
        for cue in between() {
            if let Some((voice, stems)) = phrase_of(cue) {
                let pattern = intern(&format!("depend:{stems}"));
                let (predicate, is_backward, weight) = (cue.predicate, cue.is_backward, cue.weight);
                frames.add((voice, stems), Frame { predicate, is_backward, weight, pattern });
            }
        }
        // Every active verb has a passive: `uses` gives `used by`, with subject and object exchanged. A row of the
        // vocabulary takes precedence, so these are added last.
        let actives: Vec<_> = frames
            .of
            .iter()
            .filter(|((voice, stems), _)| *voice == Voice::Active && !stems.contains(' '))
            .map(|((_, stems), frame)| (format!("{stems} by"), *frame))
            .collect();
        for (stems, frame) in actives {
            let pattern = intern(&format!("depend:{stems}"));
            let (is_backward, weight) = (!frame.is_backward, frame.weight * DERIVED);
            let key = (Voice::Passive, stems);
            frames.of.entry(key).or_insert(Frame { is_backward, weight, pattern, ..frame });
        }
        for (_, stems) in frames.of.keys() {
            let mut stems = stems.split(' ').map(String::from);
            let first = stems.next().unwrap_or_default();
            frames.others.entry(first).or_default().push(stems.collect());
        }
        frames
    }

    /// Returns whether all words of some frame occur in a text, in any order.
    pub(in crate::relate) fn may_occur_in(&self, text: &str) -> bool {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let stems: FxHashSet<String> = words.map(stem_of).collect();
        let may_be = |others: &Vec<String>| others.iter().all(|stem| stems.contains(stem));
        stems.iter().filter_map(|first| self.others.get(first)).flatten().any(may_be)
    }

    /// Returns the pattern of the frame that a cue between names makes, if it makes one.
    pub(in crate::relate) fn pattern_of(cue: &Cue) -> Option<&'static str> {
        let (_, stems) = phrase_of(cue).filter(|_| cue.kind == CueKind::Sentence)?;
        Some(intern(&format!("depend:{stems}")))
    }

    /// Returns the frame of a phrase, given as stems separated by blanks.
    pub(in crate::relate) fn get(&self, voice: Voice, stems: &str) -> Option<&Frame> {
        self.of.get(&(voice, stems.to_string()))
    }

    fn add(&mut self, key: (Voice, String), frame: Frame) {
        let known = self.of.get(&key);
        if known.is_none_or(|known| known.weight < frame.weight) {
            self.of.insert(key, frame);
        }
    }
}

/// Returns a cue's voice and its stems; `None` for a cue that grammar cannot recognize.
fn phrase_of(cue: &Cue) -> Option<(Voice, String)> {
    let words: Vec<&str> = cue.words.split(' ').collect();
    let has_be = words.first().is_some_and(|first| stem_of(first) == "be");
    let rest = words.get(usize::from(has_be)..)?;
    // `also called` gives a second name; `called` alone gives the only one. The frame would lose this difference.
    if rest.first().is_some_and(|lead| LEADS.contains(lead)) && !rest.contains(&"known") {
        return None;
    }
    let n_leads = rest.iter().take_while(|word| LEADS.contains(word) || ARTICLES.contains(word));
    let rest = rest.get(n_leads.count()..)?;
    let first = rest.first()?;
    // `stores its data in` must match word for word, so it makes no frame.
    if rest.iter().any(|word| matches!(*word, "its" | "their" | "as")) && *first != "known" {
        return None;
    }
    // `is using` is active; `owned by` is passive with or without `is`; `is part of` and `part of` are nominal.
    let voice = if has_be && first.ends_with("ing") {
        Voice::Active
    } else if is_participle(first) && cue.form != Form::Base {
        Voice::Passive
    } else if has_be || (cue.form == Form::Leaning && rest.len() > 1) {
        Voice::Nominal
    } else if cue.form != Form::Leaning {
        Voice::Active
    } else {
        return None;
    };
    let stems: Vec<String> =
        rest.iter().filter(|word| !ARTICLES.contains(word)).map(|word| stem_of(word)).collect();
    Some((voice, stems.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relate::Vocabulary;

    #[test]
    fn cues_become_phrases() {
        let table = [
            ("uses", Some((Voice::Active, "use"))),
            ("depends on", Some((Voice::Active, "depend on"))),
            ("is running on", Some((Voice::Active, "run on"))),
            ("is built on top of", Some((Voice::Passive, "build on top of"))),
            ("owned by", Some((Voice::Passive, "own by"))),
            ("is a part of", Some((Voice::Nominal, "part of"))),
            ("member of", Some((Voice::Nominal, "member of"))),
            ("is also known as", Some((Voice::Passive, "know as"))),
            ("is also called", None),
            ("before", None),
            ("aka", None),
        ];
        for (words, expected) in table {
            let cue = Cue::new("uses", intern(words), CueKind::Sentence, false, 0.5);
            let found = phrase_of(&cue);
            let found = found.as_ref().map(|(voice, stems)| (*voice, stems.as_str()));
            assert_eq!(found, expected, "{words}");
        }
    }

    #[test]
    fn a_frame_occurs_where_all_its_words_do() {
        let vocabulary = Vocabulary::builtin();
        let rows = [
            ("Zandoc depended mostly on Kafka.", true),
            ("Owned it is, by Kafka.", true),
            ("Zandoc and Kafka depend.", false),
            ("Zandoc, Kafka.", false),
            ("", false),
        ];
        for (text, expected) in rows {
            assert_eq!(vocabulary.frames.may_occur_in(text), expected, "{text}");
        }
    }

    #[test]
    fn a_verb_has_its_passive() {
        let vocabulary = Vocabulary::builtin();
        let frame = vocabulary.frames.get(Voice::Passive, "leverag by").expect("of `leverages`");
        assert!(frame.is_backward && frame.predicate == "uses");
    }
}
