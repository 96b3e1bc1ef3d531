//! `kgctl dump`: prints the whole graph of one tick as JSON lines. Text is printed as in the
//! documents, with invisible characters as JSON escapes.

use std::io::{BufWriter, Write};

use client::connect::Session;
use proto::tool::admin::Dump;
use proto::visible::show_json;
use serde_json::Value;

use super::context::Context;
use super::failure::{Exit, Failure};

/// How often a dump may start over because the graph changed meanwhile.
const MAX_TRIES: usize = 3;

/// Rows per request.
const ROWS: u32 = 2_000;

/// A whole dump.
pub(crate) struct Graph {
    pub(crate) rows: Vec<Value>,
    pub(crate) tick: u64,
}

pub(crate) async fn run(ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let graph = read(&session).await?;
    session.close().await;
    let mut out = BufWriter::new(std::io::stdout().lock());
    for row in &graph.rows {
        writeln!(out, "{}", show_json(&serde_json::to_string(row)?))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Reads all rows, and starts over when a commit intervenes. Rows are kept in memory, because
/// nothing may be printed before the last part is known to belong to the same tick.
pub(crate) async fn read(session: &Session) -> Result<Graph, Failure> {
    for _ in 0..MAX_TRIES {
        if let Some(graph) = try_read(session).await? {
            return Ok(graph);
        }
    }
    let failure =
        Failure::new(Exit::Failed, format!("the graph changed during each of {MAX_TRIES} dumps"));
    Err(failure.hint("run `kgctl wait` first"))
}

/// Returns `None` if the tick changed meanwhile.
async fn try_read(session: &Session) -> Result<Option<Graph>, Failure> {
    let mut graph: Option<Graph> = None;
    let mut cursor = None;
    loop {
        let reply = session.call(&Dump { cursor, limit: Some(ROWS) }).await?;
        let tick = reply.freshness.tick;
        let graph = graph.get_or_insert(Graph { rows: Vec::new(), tick });
        if graph.tick != tick {
            return Ok(None);
        }
        graph.rows.extend(reply.rows);
        cursor = reply.cursor;
        if cursor.is_none() {
            return Ok(Some(Graph { rows: std::mem::take(&mut graph.rows), tick }));
        }
    }
}
