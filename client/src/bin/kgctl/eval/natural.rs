//! Natural: measures the graph on real pages at their natural density.
//!
//! In: a folder with `docs/` and `gold/`, annotated page by page: `entities.tsv`, `definitions.tsv`, `relations.tsv`,
//! `merges.tsv`, `questions.tsv` (`corpus/real/README.md` has their columns). Out: shares with intervals, by half.
//! Invariant: the pages are read once, by a daemon with a state folder of its own, which is deleted.

use std::collections::BTreeMap;
use std::path::Path;

use client::connect::Session;
use client::render::natural::report;
use client::signals::stop_requested;
use proto::tool::core::{ExplainEntity, HybridQuery};

use super::stage::{Scratch, Stage};
use super::{PATIENCE, open, with_log};
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::{dump, stop, wait};

mod gold;
mod measure;

use gold::Gold;
use measure::{Hit, Seen};

/// Hits that a reader looks at. Two-step questions need two of them.
const HITS: u32 = 10;

/// Returns whether a folder is annotated in this way.
pub(super) fn is_one(corpus: &Path) -> bool {
    corpus.join("gold/entities.tsv").is_file()
}

pub(super) async fn run(of: &Path, ctx: &Context) -> Result<Exit, Failure> {
    let gold = Gold::read(of)?;
    let scratch = Scratch::make()?;
    let stage = Stage::plain(&scratch, &ctx.places()?.models(), of)?;
    let interrupted = stop_requested()?;
    let seen = tokio::select! {
        () = interrupted => Err(Failure::new(Exit::Failed, "interrupted")),
        seen = read(&stage, &gold) => seen,
    };
    // Even if reading failed or was interrupted: nothing else would ever stop this daemon.
    let stopped = stop::stop(&stage.target).await;
    let seen = seen.map_err(|failure| with_log(failure, &stage.target))?;
    stopped?;
    let measured = measure::by_half(&gold, &seen);
    ctx.print_reply(&measured, |measured| report(measured, ctx.style))?;
    Ok(Exit::Done)
}

async fn read(stage: &Stage, gold: &Gold) -> Result<Seen, Failure> {
    let session = open(&stage.target).await?;
    let seen = ask(&session, gold).await;
    session.close().await;
    seen
}

async fn ask(session: &Session, gold: &Gold) -> Result<Seen, Failure> {
    wait::settle(session, PATIENCE).await?;
    let mut seen = Seen::read(&dump::read(session).await?.rows)?;
    for entity in gold.defined_entities() {
        let Some(id) = seen.entity_of(gold, entity) else { continue };
        let request = ExplainEntity { entity_id: Some(id), ..ExplainEntity::default() };
        let reply = session.call(&request).await?;
        let definition = reply.definition.map(|it| it.source.text);
        seen.definitions.extend(definition.map(|text| (entity.clone(), text)));
    }
    let mut answers = BTreeMap::new();
    for question in &gold.questions {
        let request = HybridQuery {
            q: question.text.clone(),
            k: Some(HITS),
            max_chars: Some(super::MAX_CHARS),
            ..HybridQuery::default()
        };
        let reply = session.call(&request).await?;
        let hits = reply.chunks.into_iter().map(|hit| Hit { path: hit.path, lines: hit.lines });
        answers.insert(question.id.clone(), hits.collect());
    }
    seen.answers = answers;
    Ok(seen)
}
