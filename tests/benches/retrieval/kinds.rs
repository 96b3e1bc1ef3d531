//! Kinds: the results of a set's questions by kind, as a user asks them: ten hits, the default
//! budget.
//!
//! In: a set. Out: by kind of question, how often a right document is the first hit or among the
//! first three or five, and the mean reciprocal rank; if the set has the answering words: how often
//! one of the first three passages contains them, the result of `read_passage` for one of these, or
//! one of their snippets.
//! Words are compared without punctuation, so that Markdown and normalized text are treated alike.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow};
use config::Settings;
use proto::tool::core::ReadPassage;
use query::{answer, read_passage};
use server::project::Project;

use super::set::Set;

/// Hits among which the answer must be.
const FIRST: usize = 3;

#[derive(Default)]
struct Tally {
    n: f64,
    hits: [f64; 3],
    reciprocal: f64,
    answered: f64,
    read: f64,
    shown: f64,
}

/// Prints a line per kind; with `has_misses`, also each question of the tuning half that is not
/// answered well.
pub(crate) fn print(
    project: &Project,
    settings: &Settings,
    set: &Set,
    has_misses: bool,
    every: usize,
) -> Result<()> {
    let snapshot = project.snapshot()?;
    let mut context = project.context(&snapshot);
    context.settings = settings;
    let mut tallies = BTreeMap::<&str, Tally>::new();
    for query in set.queries.iter().step_by(every) {
        let request = proto::tool::core::HybridQuery {
            q: query.text.chars().take(1_000).collect(),
            ..Default::default()
        };
        let reply = answer(&context, &request)
            .map_err(|error| anyhow!("{}: {}", query.id, error.message))?;
        let right: BTreeSet<&str> = set.judged(&query.id).collect();
        let is_right = |path: &str, lines| -> Result<bool> {
            Ok(set.found(path, lines)?.iter().any(|id| right.contains(id.as_str())))
        };
        let (mut documents, mut rank) = (BTreeSet::new(), None);
        let (mut is_answered, mut is_read, mut is_shown) = (false, false, false);
        for (at, hit) in reply.chunks.iter().enumerate() {
            let is_right = is_right(&hit.path, hit.lines)?;
            if is_right && rank.is_none() && !documents.contains(hit.path.as_str()) {
                rank = Some(documents.len());
            }
            documents.insert(hit.path.as_str());
            if at < FIRST && is_right && !query.answers.is_empty() {
                let chunk = snapshot.chunks().get(hit.id)?.context("the passage is there")?;
                let body = snapshot.chunks().text(&chunk)?;
                let holds = |text: &str| {
                    let text = plain(text);
                    query.answers.iter().any(|it| text.contains(&plain(it)))
                };
                is_answered |= holds(&body);
                is_shown |= holds(&hit.snippet);
                let request = ReadPassage { at: hit.handle.clone(), ..ReadPassage::default() };
                let passage = read_passage(&context, &request)
                    .map_err(|error| anyhow!("{}: {}", query.id, error.message))?;
                is_read |= holds(&passage.text);
            }
        }
        let tally = tallies.entry(&query.kind).or_default();
        tally.n += 1.0;
        for (hits, within) in tally.hits.iter_mut().zip([1, 3, 5]) {
            *hits += f64::from(u8::from(rank.is_some_and(|rank| rank < within)));
        }
        tally.reciprocal += rank.map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0));
        tally.answered += f64::from(u8::from(is_answered));
        tally.read += f64::from(u8::from(is_read));
        tally.shown += f64::from(u8::from(is_shown));
        let is_missed = if query.answers.is_empty() { rank != Some(0) } else { !is_shown };
        if has_misses && is_missed && !query.kind.starts_with("reporting") {
            let of = |rank: Option<usize>| rank.map_or("none".into(), |it| (it + 1).to_string());
            println!("- [{}] {} (document at {})", query.kind, query.text, of(rank));
            println!("    wanted: {}", right.iter().copied().collect::<Vec<_>>().join(", "));
            if is_answered {
                println!("    answered, but not in the snippet");
            }
            for hit in reply.chunks.iter().take(FIRST) {
                let parts: Vec<String> =
                    hit.components.iter().map(|(name, value)| format!("{name} {value}")).collect();
                let snippet = hit.snippet.replace('\n', " ");
                println!("    {} > {} [{}]", hit.path, hit.section, parts.join(", "));
                println!("        {snippet}");
            }
        }
    }
    println!(
        "  {:<22} {:>4}  hit@1  hit@3  hit@5    MRR  answer@3  read@3  in snippet",
        "kind", "n"
    );
    for (kind, it) in tallies {
        let [one, three, five] = it.hits.map(|hits| hits / it.n);
        let [mrr, answered, read, shown] =
            [it.reciprocal, it.answered, it.read, it.shown].map(|sum| sum / it.n);
        println!(
            "  {kind:<22} {:>4}  {one:.3}  {three:.3}  {five:.3}  {mrr:.4}  {answered:>8.3}  {read:>6.3} {shown:>11.3}",
            it.n
        );
    }
    Ok(())
}

/// Returns letters, digits and symbols in lowercase, words separated by single spaces.
fn plain(text: &str) -> String {
    let is_mark = |c: char| c.is_ascii_punctuation() || c.is_whitespace() || "“”‘’".contains(c);
    let words = text.split(is_mark).filter(|it| !it.is_empty()).map(str::to_lowercase);
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}
