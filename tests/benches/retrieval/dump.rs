//! Dump: the value of every signal for each candidate of each question, with its judgment, from
//! which weights are learned (`benches/weights.rs`).
//!
//! In: a set. Out: one line per candidate: set, kind, question, document, gain, and
//! `component=value`, where the value of a signal is unweighted, and text and vectors are weighted.
//! Invariant: a document has as many lines as it has passages among the candidates, best first.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Result, anyhow};
use config::Settings;
use query::answer;
use server::project::Project;

use super::set::Set;

pub(crate) fn write(
    project: &Project,
    settings: &Settings,
    set: &Set,
    file: &mut impl Write,
    every: usize,
) -> Result<()> {
    let snapshot = project.snapshot()?;
    let mut settings = settings.clone();
    let weights = &mut settings.retrieval.weights;
    query::signals().for_each(|(_, weight)| *weight(weights) = 1.0);
    weights.same_document = 0.0;
    let mut context = project.context(&snapshot);
    context.settings = &settings;
    for query in set.queries.iter().step_by(every) {
        let reply = answer(&context, &super::request(query))
            .map_err(|error| anyhow!("{}: {}", query.id, error.message))?;
        let judged = set.judgments.iter().filter(|(of, ..)| *of == query.id);
        let gains: BTreeMap<&str, &str> =
            judged.map(|(_, document, gain)| (document.as_str(), gain.as_str())).collect();
        let n_judged = gains.values().filter(|gain| **gain != "0").count();
        for hit in reply.chunks {
            for id in set.found(&hit.path, hit.lines)? {
                if query.is_of.as_ref() == Some(&id) {
                    continue;
                }
                let gain = gains.get(id.as_str()).copied().unwrap_or("0");
                write!(
                    file,
                    "{}\t{}\t{}\t{n_judged}\t{id}\t{gain}",
                    set.name, query.kind, query.id
                )?;
                for (name, value) in &hit.components {
                    write!(file, "\t{name}={value}")?;
                }
                writeln!(file)?;
            }
        }
    }
    Ok(file.flush()?)
}
