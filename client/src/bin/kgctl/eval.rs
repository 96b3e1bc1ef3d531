//! `kgctl eval`: how well kgd does on a corpus that was annotated by hand.
//!
//! In: a folder with `docs/`, `gold/` and `questions/`. Out: precision, recall and F1 of mentions, links and
//! relations, and ranking metrics for questions; by half where the corpus is divided, with intervals.
//! Invariants: the corpus is only read; the daemon that reads it keeps its state in a scratch folder,
//! which is deleted afterwards, and sees nothing of the user's settings but `KG_*` variables.
//! Not here: the metrics (`client::score`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::config::{Places, Project};
use client::connect::Session;
use client::launch::{Life, Target};
use client::render::quality::{Report, report};
use client::score::interval::{Interval, of_f1, of_mean};
use client::score::{self, RelationMark};
use proto::tool::core::HybridQuery;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{dump, stop, wait};

mod gold;
mod graph;

use gold::Gold;
use graph::Found;

/// Formulas that are compared.
const FORMULAS: [&str; 4] = ["hybrid", "text", "vector", "s4"];

/// Hits asked for: several may be of one document, and ten documents are ranked.
const HITS: u32 = 50;

/// Longest answer taken, in characters: enough that no hit is dropped.
const MAX_CHARS: u32 = 100_000;

/// Longest wait for the corpus to be indexed.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measure extraction and retrieval on a corpus that was annotated by hand.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A folder with `docs/`, `gold/` and `questions/`.
    corpus_dir: PathBuf,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let gold = Gold::read(&arguments.corpus_dir)?;
    let scratch = Scratch::make()?;
    let project = Project::at(&arguments.corpus_dir.join("docs"))?;
    let target = Target::new(&scratch.places(), project)?;
    let measured = measure(&target, &gold).await;
    // Also when measuring failed: nobody would ever stop this daemon otherwise.
    let stopped = stop::stop(&target).await;
    let measured = measured.map_err(|failure| with_log(failure, &target))?;
    stopped?;
    ctx.print_reply(&measured, |measured| report(measured, ctx.style))?;
    Ok(Exit::Done)
}

/// The scratch folder is about to go, so what the log says must be said now.
fn with_log(failure: Failure, target: &Target) -> Failure {
    let tail = target.log_tail(5).join("\n");
    let text = failure.text().unwrap_or_default();
    let message = text
        .trim_start_matches("error: ")
        .split("\nhint: ")
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_string();
    Failure::new(
        failure.exit(),
        if tail.is_empty() {
            message
        } else {
            format!("{message}\nthe daemon's log ends:\n{tail}")
        },
    )
}

async fn measure(target: &Target, gold: &Gold) -> Result<Report, Failure> {
    let session = Session::open(target.connect_or_start(Life::Stay)?).await?;
    wait::settle(&session, PATIENCE).await?;
    let graph = dump::read(&session).await?;
    let found = Found::read(&graph.rows, &gold.documents)?;
    let mut answers = BTreeMap::new();
    for formula in FORMULAS {
        answers.insert(formula.to_string(), ask_all(&session, gold, formula).await?);
    }
    session.close().await;
    let mut whole = compare(gold, &found, &answers);
    let of_half = |(half, documents): (&String, &BTreeSet<String>)| {
        let part = gold.part(documents);
        (half.clone(), compare(&part, &found.part(documents), &answers_to(&answers, &part)))
    };
    whole.halves = gold.halves.iter().map(of_half).collect();
    Ok(whole)
}

/// The documents that answer a question, and those that were found, best first.
type Answer = (BTreeSet<String>, Vec<String>);

/// By formula: each question with its answer.
type Answers = BTreeMap<String, Vec<(String, Answer)>>;

fn answers_to(answers: &Answers, part: &Gold) -> Answers {
    let asked: BTreeSet<&str> =
        part.questions.iter().map(|(question, _)| question.as_str()).collect();
    let of_part = |answers: &Vec<(String, _)>| {
        answers.iter().filter(|(question, _)| asked.contains(question.as_str())).cloned().collect()
    };
    answers.iter().map(|(formula, answers)| (formula.clone(), of_part(answers))).collect()
}

fn compare(gold: &Gold, found: &Found, answers: &Answers) -> Report {
    let ranked: BTreeMap<&String, Vec<_>> = answers
        .iter()
        .map(|(formula, answers)| (formula, answers.iter().map(|(_, it)| it.clone()).collect()))
        .collect();
    Report {
        documents: gold.documents.len(),
        questions: gold.questions.len(),
        mentions: score::mentions(&gold.mentions, &found.mentions),
        links: links(gold, found),
        relations: relations(gold, found),
        retrieval: ranked
            .iter()
            .map(|(formula, answers)| ((*formula).clone(), score::ranks(answers)))
            .collect(),
        intervals: intervals(gold, found, &ranked),
        halves: BTreeMap::new(),
    }
}

fn relations(gold: &Gold, found: &Found) -> score::RelationScores {
    score::relations(
        &relation_set(&gold.relations, gold),
        &relation_set(&judged(&found.relations, gold), gold),
    )
}

/// The intervals of what is a sum over documents, or a mean over questions.
fn intervals(
    gold: &Gold,
    found: &Found,
    ranked: &BTreeMap<&String, Vec<Answer>>,
) -> BTreeMap<String, Interval> {
    let mut counts: [Vec<score::Counts>; 3] = Default::default();
    for document in &gold.documents {
        let document = BTreeSet::from([document.clone()]);
        // Which predicates are judged is a matter of the whole set.
        let (part, own) = (gold.part(&document), found.part(&document));
        let mentions = score::mentions(&part.mentions, &own.mentions);
        let relations = score::relations(
            &relation_set(&part.relations, gold),
            &relation_set(&judged(&own.relations, gold), gold),
        );
        let all = [mentions.exact, mentions.exact_typed, relations.typed];
        counts.iter_mut().zip(all).for_each(|(counts, of_document)| counts.push(of_document));
    }
    let names = ["mentions, exact span", "mentions, exact span and type", "relations"];
    let of_extraction = names.iter().zip(&counts).map(|(name, it)| (name.to_string(), of_f1(it)));
    let of_ranking = ranked.iter().map(|(name, it)| ((*name).clone(), of_mean(&score::gains(it))));
    of_extraction.chain(of_ranking).collect()
}

async fn ask_all(
    session: &Session,
    gold: &Gold,
    formula: &str,
) -> Result<Vec<(String, Answer)>, Failure> {
    let mut answers = Vec::new();
    for (question, paths) in &gold.questions {
        let request = HybridQuery {
            q: question.clone(),
            k: Some(HITS),
            max_chars: Some(MAX_CHARS),
            formula: Some(formula.to_string()),
            ..HybridQuery::default()
        };
        let reply = session.call(&request).await?;
        let found = reply.chunks.into_iter().map(|hit| hit.path).collect();
        answers.push((question.clone(), (paths.clone(), found)));
    }
    Ok(answers)
}

fn links(gold: &Gold, found: &Found) -> score::LinkScores {
    let name_of = |id: &str| found.names.get(id).cloned();
    score::links(&gold.mentions, &found.mentions, name_of, |name, entity| {
        gold.is_name_of(name, entity)
    })
}

/// The relations found whose predicate was annotated at all: who annotated said nothing about the others (plain
/// links are facts of the files, not readings).
fn judged(found: &[RelationMark], gold: &Gold) -> Vec<RelationMark> {
    let annotated: BTreeSet<&str> = gold.relations.iter().map(|it| it.predicate.as_str()).collect();
    found.iter().filter(|it| annotated.contains(it.predicate.as_str())).cloned().collect()
}

/// Relations with every name replaced by its entity's, so that it does not matter which alias became
/// the name.
fn relation_set(relations: &[RelationMark], gold: &Gold) -> BTreeSet<RelationMark> {
    let resolved = |it: &RelationMark| RelationMark {
        path: it.path.clone(),
        subject: gold.canonical(&it.path, &it.subject),
        predicate: it.predicate.clone(),
        object: gold.canonical(&it.path, &it.object),
    };
    relations.iter().map(resolved).collect()
}

/// A folder for the daemon's state, deleted at the end.
struct Scratch {
    dir: PathBuf,
}

impl Scratch {
    fn make() -> Result<Self, Failure> {
        // Short, for a socket's path must fit; unique, for two may run at once.
        let dir = std::env::temp_dir().join(format!("kgctl-eval-{}", std::process::id()));
        let scratch = Scratch { dir };
        ::config::place::create_private_dir(&scratch.dir)?;
        Ok(scratch)
    }

    fn places(&self) -> Places {
        let at = |name: &str| self.dir.join(name);
        Places { state: at("state"), runtime: at("run"), config: at("config") }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A file of the corpus; its absence is the user's mistake.
fn read_file(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::new(Exit::Refused, format!("cannot read `{}`: {error}", path.display()))
    })
}
