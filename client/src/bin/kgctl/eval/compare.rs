//! Compare: scores what kgd found against the annotations, with intervals.
//!
//! In: gold, and what was found given nothing, the mentions, or mentions and links. Out: a report.

use std::collections::{BTreeMap, BTreeSet};

use client::render::quality::{ACCURACY, Extraction, PAIRS, Report};
use client::score::interval::{Interval, of_f1, of_mean};
use client::score::{self, Counts, Links, RelationMark, RelationScores};

use super::gold::Gold;
use super::graph::Found;

/// The documents that answer a question, and the documents found, best first.
pub(super) type Answer = (BTreeSet<String>, Vec<String>);

/// By formula: each question with its answer.
pub(super) type Answers = BTreeMap<String, Vec<(String, Answer)>>;

/// What was found given nothing, given the mentions, and given mentions and links.
pub(super) type Stages = [Found; 3];

/// Compares the whole corpus, and each half.
pub(super) fn report(gold: &Gold, stages: &Stages, answers: &Answers) -> Report {
    let mut whole = compare(gold, stages, answers);
    let of_half = |(half, documents): (&String, &BTreeSet<String>)| {
        let part = gold.part(documents);
        let stages = stages.each_ref().map(|found| found.part(documents));
        (half.clone(), compare(&part, &stages, &answers_to(answers, &part)))
    };
    whole.halves = gold.halves.iter().map(of_half).collect();
    whole
}

fn answers_to(answers: &Answers, part: &Gold) -> Answers {
    let asked: BTreeSet<&str> =
        part.questions.iter().map(|(question, _)| question.as_str()).collect();
    let of_part = |answers: &Vec<(String, _)>| {
        answers.iter().filter(|(question, _)| asked.contains(question.as_str())).cloned().collect()
    };
    answers.iter().map(|(formula, answers)| (formula.clone(), of_part(answers))).collect()
}

fn compare(gold: &Gold, stages: &Stages, answers: &Answers) -> Report {
    let ranked: BTreeMap<&String, Vec<_>> = answers
        .iter()
        .map(|(formula, answers)| (formula, answers.iter().map(|(_, it)| it.clone()).collect()))
        .collect();
    let [found, mentions_given, links_given] =
        stages.each_ref().map(|found| extraction(gold, found));
    Report {
        documents: gold.documents.len(),
        questions: gold.questions.len(),
        found,
        mentions_given,
        links_given,
        retrieval: ranked
            .iter()
            .map(|(formula, answers)| ((*formula).clone(), score::ranks(answers)))
            .collect(),
        retrieval_intervals: ranked
            .iter()
            .map(|(formula, answers)| ((*formula).clone(), of_mean(&score::gains(answers))))
            .collect(),
        halves: BTreeMap::new(),
    }
}

fn extraction(gold: &Gold, found: &Found) -> Extraction {
    let name_of = |id: &str| found.names.get(id).cloned();
    let is_name_of = |name: &str, entity: &str| gold.is_name_of(name, entity);
    let links = Links::of(&gold.mentions, &found.mentions, name_of, is_name_of);
    let mut intervals = intervals(gold, found);
    intervals.insert(PAIRS.to_string(), links.interval_of_pairs());
    intervals.insert(ACCURACY.to_string(), links.interval_of_accuracy());
    Extraction {
        mentions: score::mentions(&gold.mentions, &found.mentions),
        links: links.scores(),
        relations: relations(gold, gold, found),
        intervals,
    }
}

/// Returns the intervals of the scores that are sums over documents.
fn intervals(gold: &Gold, found: &Found) -> BTreeMap<String, Interval> {
    let mut by_row: BTreeMap<&str, Vec<Counts>> = BTreeMap::new();
    for document in &gold.documents {
        let document = BTreeSet::from([document.clone()]);
        // The whole set decides which predicates are judged and which entity a name denotes.
        let (part, own) = (gold.part(&document), found.part(&document));
        let mentions = score::mentions(&part.mentions, &own.mentions).rows();
        let relations = relations(gold, &part, &own).rows();
        for (row, counts) in mentions.into_iter().chain(relations) {
            by_row.entry(row).or_default().push(counts);
        }
    }
    by_row.into_iter().map(|(row, counts)| (row.to_string(), of_f1(&counts))).collect()
}

fn relations(whole: &Gold, part: &Gold, found: &Found) -> RelationScores {
    score::relations(
        &relation_set(&part.relations, whole),
        &relation_set(&judged(found.relations(), whole), whole),
    )
}

/// Returns the relations whose predicate was annotated at all. The annotations say nothing about
/// others: plain links are facts of the files, not readings of them.
fn judged(found: Vec<RelationMark>, gold: &Gold) -> Vec<RelationMark> {
    let annotated: BTreeSet<&str> = gold.relations.iter().map(|it| it.predicate.as_str()).collect();
    found.into_iter().filter(|it| annotated.contains(it.predicate.as_str())).collect()
}

/// Returns relations with each name replaced by its entity's, so the choice of alias does not
/// matter.
fn relation_set(relations: &[RelationMark], gold: &Gold) -> BTreeSet<RelationMark> {
    let resolved = |it: &RelationMark| RelationMark {
        path: it.path.clone(),
        subject: gold.canonical(&it.path, &it.subject),
        predicate: it.predicate.clone(),
        object: gold.canonical(&it.path, &it.object),
    };
    relations.iter().map(resolved).collect()
}
