//! Summary: an answer of sentences quoted from entries, each cited; where entries conflict, both sides.
//!
//! In: a question, and the entries that were found for it, with their texts. Out: [`Summary`].
//! A sentence scores by the share of the question's words that it contains, its nearness in meaning, and the rank of
//! its entry; a superseded entry counts half. Two sentences conflict when they share most words and their numbers
//! differ, or only one is a denial; or when one entry supersedes the other.
//! Invariants: every sentence is quoted from the entry that is cited for it; the same entries give the same answer.
//! Not here: sentences of a model's own (the seam is this module's result).

use std::collections::BTreeSet;

use notes::entry::{id_text, number_of};
use proto::error::ErrorView;
use proto::tool::kb::{CitedSentence, ConflictOfEntries};

use super::Library;
use super::shelf::EntryRow;
use crate::quote::statement::{Statement, words_of};
use crate::{AskError, QueryContext};
use embed::{Embedder, cosine};
use model::parcel::UnitVector;

/// Most sentences of an answer, and of those that are compared with each other.
const MAX_SENTENCES: usize = 6;
const MAX_COMPARED: usize = 60;

/// Most conflicts of an answer.
const MAX_CONFLICTS: usize = 5;

/// Weights of words, meaning and the rank of the entry.
const WEIGHTS: [f64; 3] = [0.5, 0.3, 0.2];

/// Factor for sentences of a superseded entry.
const REPLACED: f64 = 0.5;

/// Least score of a sentence that answers the question.
const LEAST: f64 = 0.2;

/// An answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Sentences, the best first.
    pub sentences: Vec<CitedSentence>,
    /// Where entries do not agree.
    pub conflicts: Vec<ConflictOfEntries>,
}

/// A sentence that may answer.
#[derive(Debug, Clone)]
struct Sentence {
    entry: u64,
    says: Statement,
    score: f64,
}

/// Summarizes entries, which are given best first.
///
/// # Errors
/// When the index cannot be read.
pub fn summarize(
    ctx: &QueryContext<'_>,
    library: &Library,
    question: &str,
    entries: &[&EntryRow],
) -> Result<Summary, ErrorView> {
    let mut texts = Vec::new();
    for row in entries {
        texts.push((row.number, text_of(ctx, row)?));
    }
    let place_taken = |number: u64| {
        let own = id_text(number);
        library.shelf.graph.neighbors(&own).any(|it| {
            let takes = it.edge == "supersedes" && !it.is_outgoing;
            takes && library.shelf.of_node(it.node).is_some_and(|row| row.entry.is_active)
        })
    };
    let pairs = superseding(library, entries);
    let mut summary = extract(question, &texts, ctx.embedder, place_taken, &pairs);
    for sentence in &mut summary.sentences {
        let quoted = sentence.cited.first().and_then(|id| library.shelf.of_node(id));
        sentence.superseded_by = quoted.map(|row| library.superseded_by(row)).unwrap_or_default();
    }
    Ok(summary)
}

/// Returns the text of an entry, without secrets.
///
/// # Errors
/// When the index cannot be read.
pub fn text_of(ctx: &QueryContext<'_>, row: &EntryRow) -> Result<String, AskError> {
    let sql = "SELECT text FROM docs WHERE id = ?1";
    Ok(ctx.snapshot.prepare_cached(sql)?.query_row([row.doc], |row| row.get(0))?)
}

/// Returns the pairs of entries of which the first supersedes the second.
fn superseding(library: &Library, entries: &[&EntryRow]) -> Vec<(u64, u64)> {
    let there: BTreeSet<u64> = entries.iter().map(|row| row.number).collect();
    let mut pairs = Vec::new();
    for row in entries {
        let own = id_text(row.number);
        for it in library.shelf.graph.neighbors(&own) {
            let other = library.shelf.of_node(it.node).map(|row| row.number);
            if let Some(other) = other.filter(|other| there.contains(other))
                && it.is_outgoing
                && it.edge == "supersedes"
            {
                pairs.push((row.number, other));
            }
        }
    }
    pairs
}

fn extract(
    question: &str,
    texts: &[(u64, String)],
    embedder: &dyn Embedder,
    place_taken: impl Fn(u64) -> bool,
    pairs: &[(u64, u64)],
) -> Summary {
    let mut found = Vec::new();
    for (at, (entry, text)) in texts.iter().enumerate() {
        let place = 1.0 / (1.0 + at as f64);
        let half = if place_taken(*entry) { REPLACED } else { 1.0 };
        found.extend(
            Statement::all_of(text)
                .into_iter()
                .map(|says| (place, Sentence { entry: *entry, says, score: half })),
        );
    }
    let asked = words_of(question);
    let vectors = vectors_of(embedder, question, &found);
    for (n, (place, sentence)) in found.iter_mut().enumerate() {
        let held = asked.iter().filter(|word| sentence.says.words.contains(*word)).count();
        let share = held as f64 / asked.len().max(1) as f64;
        let near = vectors.get(n).copied().unwrap_or(0.0).max(0.0);
        let fits = WEIGHTS[0] * share + WEIGHTS[1] * near;
        // The rank of its entry alone does not make a sentence an answer.
        sentence.score *= if fits >= LEAST * 0.5 { fits + WEIGHTS[2] * *place } else { 0.0 };
    }
    let mut found: Vec<Sentence> = found.into_iter().map(|it| it.1).collect();
    raise_successors(&mut found, pairs);
    found.retain(|it| it.score >= LEAST);
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.entry.cmp(&b.entry)));
    found.truncate(MAX_COMPARED);
    let sentences = behind_successors(best(&found), pairs);
    Summary { conflicts: conflicts(&found, pairs), sentences }
}

/// Where a superseded entry answers, its successor must appear, too, whatever its words: the best sentence of the
/// successor gets the score that the other would have if it were not superseded.
fn raise_successors(found: &mut [Sentence], pairs: &[(u64, u64)]) {
    let best = |found: &[Sentence], entry: u64| {
        let own = found.iter().enumerate().filter(|(_, it)| it.entry == entry);
        let best = own.max_by(|a, b| a.1.score.total_cmp(&b.1.score).then(b.0.cmp(&a.0)));
        best.map(|(at, it)| (at, it.score))
    };
    for (newer, older) in pairs {
        let (Some((at, own)), Some((_, score))) = (best(found, *newer), best(found, *older)) else {
            continue;
        };
        if let Some(sentence) = found.get_mut(at).filter(|_| own < LEAST && score >= LEAST) {
            sentence.score = score / REPLACED;
        }
    }
}

/// Reorders sentences so that none precedes one of an entry that supersedes its own.
fn behind_successors(told: Vec<CitedSentence>, pairs: &[(u64, u64)]) -> Vec<CitedSentence> {
    fn place(
        at: usize,
        told: &mut [Option<(Option<u64>, CitedSentence)>],
        pairs: &[(u64, u64)],
        ordered: &mut Vec<CitedSentence>,
    ) {
        let Some((entry, sentence)) = told.get_mut(at).and_then(Option::take) else { return };
        let newer = pairs.iter().filter(|pair| Some(pair.1) == entry).map(|pair| pair.0);
        for newer in newer {
            for other in 0..told.len() {
                let is_it = |it: &(Option<u64>, CitedSentence)| it.0 == Some(newer);
                if told.get(other).and_then(Option::as_ref).is_some_and(is_it) {
                    place(other, told, pairs, ordered);
                }
            }
        }
        ordered.push(sentence);
    }
    let entry = |it: &CitedSentence| it.cited.first().and_then(|id| number_of(id));
    let mut told: Vec<_> = told.into_iter().map(|it| Some((entry(&it), it))).collect();
    let mut ordered = Vec::with_capacity(told.len());
    for at in 0..told.len() {
        place(at, &mut told, pairs, &mut ordered);
    }
    ordered
}

/// Returns the cosine of each sentence with the question; empty where the model gives none.
fn vectors_of(embedder: &dyn Embedder, question: &str, found: &[(f64, Sentence)]) -> Vec<f64> {
    let Ok(question) = embedder.try_question(question) else { return vec![] };
    let texts: Vec<&str> = found.iter().map(|it| it.1.says.text.as_str()).collect();
    let vectors: Vec<UnitVector> = embedder.try_embed(&texts).unwrap_or_default();
    vectors.iter().map(|it| f64::from(cosine(&question, it))).collect()
}

/// Returns the best sentences; one that repeats a better one is only cited with it.
fn best(found: &[Sentence]) -> Vec<CitedSentence> {
    let mut told: Vec<(CitedSentence, &Sentence)> = Vec::new();
    for it in found {
        let id = id_text(it.entry);
        // The best come first, so this sentence may only repeat an earlier one.
        let same = told.iter().position(|(_, known)| known.says.repeats(&it.says));
        let is_full = told.len() >= MAX_SENTENCES;
        match same.and_then(|at| told.get_mut(at)) {
            Some((known, _)) if !known.cited.contains(&id) => known.cited.push(id),
            Some(_) => {}
            None if !is_full => {
                let text = it.says.text.clone();
                told.push((CitedSentence { text, cited: vec![id], ..Default::default() }, it));
            }
            None => {}
        }
    }
    told.into_iter().map(|it| it.0).collect()
}

/// Returns conflicting sentences of different entries.
fn conflicts(found: &[Sentence], pairs: &[(u64, u64)]) -> Vec<ConflictOfEntries> {
    let cited = |it: &Sentence| CitedSentence {
        text: it.says.text.clone(),
        cited: vec![id_text(it.entry)],
        ..CitedSentence::default()
    };
    let takes = |one: u64, other: u64| pairs.contains(&(one, other));
    let mut told: Vec<ConflictOfEntries> = Vec::new();
    let mut seen: BTreeSet<(u64, u64)> = BTreeSet::new();
    let mut add = |one: &Sentence, other: &Sentence, is_stated: bool| {
        let ends = (one.entry.min(other.entry), one.entry.max(other.entry));
        if told.len() < MAX_CONFLICTS && seen.insert(ends) {
            // The superseding side comes first; otherwise the later entry.
            let is_first = takes(one.entry, other.entry)
                || !takes(other.entry, one.entry) && one.entry > other.entry;
            let (one, other) = if is_first { (one, other) } else { (other, one) };
            let (newer, older) = (id_text(one.entry), id_text(other.entry));
            let replaces = format!("{newer} supersedes {older}");
            let why = one.says.conflict(&other.says).filter(|_| !is_stated);
            let why = match (takes(one.entry, other.entry), why) {
                (true, None) => replaces,
                (true, Some(why)) => format!("{replaces}; {why}"),
                (false, why) => why.unwrap_or_default(),
            };
            told.push(ConflictOfEntries { why, one: cited(one), other: cited(other) });
        }
    };
    for (n, one) in found.iter().enumerate() {
        for other in found.iter().skip(n + 1).filter(|it| it.entry != one.entry) {
            if one.says.conflict(&other.says).is_some() {
                add(one, other, false);
            }
        }
    }
    for (newer, older) in pairs {
        let of = |entry: u64| found.iter().find(|it| it.entry == entry);
        if let (Some(one), Some(other)) = (of(*newer), of(*older)) {
            add(one, other, true);
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use embed::{StaticModel, WordPiece};

    fn summary(question: &str, texts: &[(u64, &str)], pairs: &[(u64, u64)]) -> Summary {
        let texts: Vec<(u64, String)> =
            texts.iter().map(|(n, text)| (*n, text.to_string())).collect();
        let model = StaticModel::builtin(WordPiece::builtin());
        let taken = |number: u64| pairs.iter().any(|pair| pair.1 == number);
        extract(question, &texts, &model, taken, pairs)
    }

    #[test]
    fn sentences_that_answer_are_quoted_and_cited() {
        let found = summary(
            "how long do sessions last",
            &[
                (1, "Sessions last for 30 minutes. The logo is blue."),
                (2, "Sessions last for 30 minutes.\n\nLunch is at noon on most days."),
            ],
            &[],
        );
        let told = CitedSentence {
            text: "Sessions last for 30 minutes.".into(),
            cited: vec!["kb-00001".into(), "kb-00002".into()],
            superseded_by: vec![],
        };
        assert_eq!(found.sentences, [told]);
        assert!(found.conflicts.is_empty());
    }

    #[test]
    fn conflicting_sentences_are_shown_side_by_side() {
        let found = summary(
            "how long do sessions last",
            &[(1, "Sessions last for 30 minutes."), (2, "Sessions last for 45 minutes now.")],
            &[],
        );
        let [conflict] = found.conflicts.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (conflict.one.cited[0].as_str(), conflict.other.cited[0].as_str()),
            ("kb-00002", "kb-00001")
        );
        assert_eq!(conflict.why, "the numbers differ: 45 and 30");
        let found = summary(
            "does the server cache queries",
            &[(1, "The server does cache queries."), (2, "The server does not cache queries.")],
            &[],
        );
        assert_eq!(found.conflicts[0].why, "one denies what the other says");
    }

    #[test]
    fn a_superseded_entry_comes_second() {
        let texts = [(1, "We chose Redis for the queue."), (2, "We chose Kafka for the queue.")];
        let found = summary("what did we choose for the queue", &texts, &[(2, 1)]);
        assert_eq!(found.sentences[0].cited, ["kb-00002"]);
        assert_eq!(found.conflicts[0].why, "kb-00002 supersedes kb-00001");
        let texts = [(1, "Sessions last for 45 minutes."), (2, "Sessions last for 30 minutes.")];
        let found = summary("how long do sessions last", &texts, &[(2, 1)]);
        let why = "kb-00002 supersedes kb-00001; the numbers differ: 30 and 45";
        assert_eq!(found.conflicts[0].why, why);
    }

    #[test]
    fn the_successor_of_an_answer_precedes_it_whatever_its_words() {
        let texts = [(8, "The frobnicator timeout is 30 seconds."), (9, "New value: sixty.")];
        let found = summary("frobnicator timeout", &texts, &[(9, 8)]);
        let cited: Vec<&str> = found.sentences.iter().map(|it| it.cited[0].as_str()).collect();
        assert_eq!(cited, ["kb-00009", "kb-00008"]);
        assert_eq!(found.conflicts[0].why, "kb-00009 supersedes kb-00008");
        // A circle ends, too.
        assert_eq!(summary("frobnicator timeout", &texts, &[(9, 8), (8, 9)]).sentences.len(), 2);
    }

    #[test]
    fn unrelated_sentences_are_no_answer() {
        let found = summary("quantum gravity", &[(1, "Sessions last for 30 minutes.")], &[]);
        assert_eq!(found, Summary::default());
    }
}
