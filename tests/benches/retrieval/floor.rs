//! Floor: how often an answer is said to have nothing to do with the question, where it has and where it cannot have.
//!
//! In: a set's index, its own questions with judgments, questions of other sets ("strangers"). Out: one row for each
//! pair of floors: own answers that are said to be nothing, judged hits that are said to be weak, and strangers'
//! answers that are said to be nothing. The first two should be near 0, the last near 1.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::collections::BTreeSet;

use anyhow::{Result, anyhow};
use config::Settings;
use proto::tool::core::HybridReply;
use query::answer;
use server::project::Project;

use super::set::Set;

/// Shares of the question's words that are tried, and cosines.
const WORDS: [f32; 4] = [0.3, 0.4, 0.5, 0.6];
const COSINES: [f32; 5] = [0.3, 0.4, 0.5, 0.6, 0.7];

/// Questions of one set that are asked at most.
const QUESTIONS: usize = 40;

/// One set's rows.
pub(crate) fn print(
    project: &Project,
    settings: &Settings,
    set: &Set,
    others: &[Set],
) -> Result<()> {
    let strangers = others.iter().filter(|other| is_strange(&set.name, &other.name));
    let strangers: Vec<&str> = strangers
        .flat_map(|it| it.queries.iter().take(QUESTIONS))
        .map(|it| it.text.as_str())
        .collect();
    let own = set.queries.iter().take(QUESTIONS);
    println!("{}: own questions {}, strangers {}", set.name, own.len(), strangers.len());
    println!("words cosine | own: nothing, judged hits weak | strangers: nothing, weak hits");
    for words in WORDS {
        for cosine in COSINES {
            let mut settings = settings.clone();
            let floor = &mut settings.retrieval.floor;
            (floor.words, floor.vector, floor.better) = (words, cosine, cosine);
            let ask = |text: &str| ask(project, &settings, text);
            let (mut nothing, mut judged, mut weak) = (0, 0, 0);
            for query in own.clone() {
                let reply = ask(&query.text)?;
                nothing += usize::from(reply.nothing_relevant);
                let right: BTreeSet<&str> = set.judged(&query.id).collect();
                for hit in &reply.chunks {
                    let found = set.found(&hit.path, hit.lines)?;
                    if found.iter().any(|id| right.contains(id.as_str())) {
                        judged += 1;
                        weak += usize::from(hit.weak);
                    }
                }
            }
            let (mut strange, mut hits, mut weak_hits) = (0, 0, 0);
            for text in &strangers {
                let reply = ask(text)?;
                strange += usize::from(reply.nothing_relevant);
                hits += reply.chunks.len();
                weak_hits += reply.chunks.iter().filter(|hit| hit.weak).count();
            }
            let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
            println!(
                "{words:5.2} {cosine:6.2} | {:.3} {:.3} | {:.3} {:.3}",
                share(nothing, own.len()),
                share(weak, judged),
                share(strange, strangers.len()),
                share(weak_hits, hits)
            );
        }
    }
    Ok(())
}

/// Both of Wikipedia's sets may answer each other's questions; so may those about software.
fn is_strange(set: &str, other: &str) -> bool {
    let field = |name: &str| match name {
        "musique100" | "hotpotqa100" => "encyclopedia",
        "scifact" => "medicine",
        "cranfield" => "aeronautics",
        _ => "software",
    };
    field(set) != field(other) && !other.ends_with("_related")
}

fn ask(project: &Project, settings: &Settings, text: &str) -> Result<HybridReply> {
    let snapshot = project.snapshot()?;
    let mut desk = project.desk(&snapshot);
    desk.settings = settings;
    let request = proto::tool::core::HybridQuery {
        q: text.chars().take(1_000).collect(),
        max_chars: Some(100_000),
        ..Default::default()
    };
    answer(&desk, &request).map_err(|error| anyhow!("{text}: {}", error.message))
}
