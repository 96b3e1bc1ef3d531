//! `kgctl query`: prints ranked passages with their places.

use client::connect::Session;
use client::render::answer;
use proto::shape::{AlsoIn, OriginView};
use proto::tool::admin::Wait;
use proto::tool::core::{HitView, HybridQuery, HybridReply};
use serde::Serialize;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Longest wait for the first documents of a newly registered folder, in milliseconds.
const FIRST_DOCUMENTS_MS: u64 = 2_000;

/// Search the documents by meaning, words and graph.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The question or keywords; also `"a phrase"`, `AND`, `OR`, `NOT`, `-word`, `begin*`, `title:`, `tag:`, `path:`.
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Hits to return, 1 to 100.
    #[arg(short, long)]
    k: Option<u32>,
    /// Hops to follow from the entities in the question, 0 to 4.
    #[arg(long, value_name = "N")]
    hops: Option<u32>,
    /// Relation to follow, such as `depends_on`; may be given several times; all when left out.
    #[arg(long, value_name = "RELATION")]
    rel: Vec<String>,
    /// Only documents whose path begins with this.
    #[arg(long, value_name = "PREFIX")]
    path: Option<String>,
    /// Only documents with this tag; may be given several times.
    #[arg(long)]
    tag: Vec<String>,
    /// Only documents of this type: frontmatter `type`, or the format: `md`, `txt`, `html`, `pdf`, `docx`, …
    #[arg(long, value_name = "TYPE")]
    r#type: Option<String>,
    /// Only documents with this security label (frontmatter `security`).
    #[arg(long, value_name = "LABEL")]
    security: Option<String>,
    /// Only documents mainly written in this language, such as `de`.
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// Only documents dated on or after this day, `YYYY-MM-DD`.
    #[arg(long, value_name = "DAY")]
    after: Option<String>,
    /// Only documents dated before this day, `YYYY-MM-DD`.
    #[arg(long, value_name = "DAY")]
    before: Option<String>,
    /// Ranking: `hybrid`, `rrf`, `minmax`, `s0`, `s4`, `text` or `vector`.
    #[arg(long)]
    formula: Option<String>,
    /// Only passages that mention this entity or belong to its note: a name or an id.
    #[arg(long, value_name = "NAME|ID")]
    entity: Option<String>,
    /// Longest answer, in characters.
    #[arg(long, value_name = "N")]
    max_chars: Option<u32>,
    /// Longest answer, in tokens of 3 characters.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u32>,
    /// Continue after the hits of an earlier answer: its `next_cursor`, as `--json` prints it.
    #[arg(long, value_name = "CURSOR", allow_hyphen_values = true)]
    cursor: Option<String>,
    /// Also print the components of each score, as `--json` does.
    #[arg(long)]
    explain: bool,
}

/// The reply as `--json` prints it, with the field names of `hybrid_query`: hits first, and each
/// hit's place first.
#[derive(Serialize)]
struct QueryView<'a> {
    chunks: Vec<HitRow<'a>>,
    /// The same hits under the name that other programs use.
    hits: Vec<HitRow<'a>>,
    entities: &'a [proto::shape::EntityView],
    edges: &'a [proto::shape::EdgeView],
    explanations: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    nothing_relevant: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    relaxed: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    building: Option<&'a str>,
    tick: u64,
    project: &'a str,
}

#[derive(Clone, Serialize)]
struct HitRow<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<[u32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<[u32; 2]>,
    score: f32,
    components: &'a std::collections::BTreeMap<String, f32>,
    relevance: f32,
    snippet: &'a str,
    #[serde(flatten)]
    origin: &'a OriginView,
    section: &'a str,
    #[serde(rename = "ref")]
    handle: &'a str,
    id: i64,
    doc_id: i64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    weak: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    also_in: Option<&'a AlsoIn>,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let some = |list: Vec<String>| (!list.is_empty()).then_some(list);
    let request = HybridQuery {
        q: arguments.text.join(" "),
        k: arguments.k,
        hops: arguments.hops,
        rels: some(arguments.rel),
        path: arguments.path,
        tags: some(arguments.tag),
        doc_type: arguments.r#type,
        security: arguments.security,
        language: arguments.language,
        after: arguments.after,
        before: arguments.before,
        entity: arguments.entity,
        max_chars: arguments.max_chars,
        max_tokens: arguments.max_tokens,
        cursor: arguments.cursor,
        formula: arguments.formula,
        structured_chars: None,
    };
    if let Some(exit) = ctx.ask_several(&request, &["chunks"]).await? {
        return Ok(exit);
    }
    let session = ctx.session().await?;
    let reply = ask(&session, &request).await?;
    session.close().await;
    ctx.print_reply(&view(&reply), |_| answer::query(&reply, ctx.style, arguments.explain))?;
    // While the index is being built, an empty result is not final.
    let is_final = reply.freshness.building.is_none();
    Ok(if reply.chunks.is_empty() && is_final { Exit::NothingFound } else { Exit::Done })
}

/// Asks; if there are no hits because the index is still being built, asks once more after a short
/// wait.
async fn ask(session: &Session, request: &HybridQuery) -> Result<HybridReply, Failure> {
    let reply = session.call(request).await?;
    if !reply.chunks.is_empty() || reply.freshness.building.is_none() {
        return Ok(reply);
    }
    session.call(&Wait { tick: None, timeout_ms: Some(FIRST_DOCUMENTS_MS) }).await?;
    Ok(session.call(request).await?)
}

fn view(reply: &HybridReply) -> QueryView<'_> {
    let HybridReply { chunks, entities, edges, explanations, truncated, .. } = reply;
    let HybridReply { nothing_relevant, relaxed, hint, next_cursor, freshness, .. } = reply;
    let rows: Vec<HitRow<'_>> = chunks.iter().map(row).collect();
    QueryView {
        hits: rows.clone(),
        chunks: rows,
        entities,
        edges,
        explanations,
        truncated: truncated.as_deref(),
        nothing_relevant: *nothing_relevant,
        relaxed: relaxed.as_deref(),
        hint: hint.as_deref(),
        next_cursor: next_cursor.as_deref(),
        building: freshness.building.as_deref(),
        tick: freshness.tick,
        project: &freshness.project,
    }
}

fn row(hit: &HitView) -> HitRow<'_> {
    let HitView { id, doc_id, path, lines, pages, section, snippet, score, components, .. } = hit;
    HitRow {
        path,
        lines: (lines[0] > 0).then_some(*lines),
        pages: *pages,
        score: *score,
        components,
        relevance: hit.relevance,
        snippet,
        origin: &hit.origin,
        section,
        handle: &hit.handle,
        id: *id,
        doc_id: *doc_id,
        weak: hit.weak,
        also_in: hit.also_in.as_ref(),
    }
}

#[cfg(test)]
mod tests {
    use proto::shape::Freshness;

    use super::*;

    #[test]
    fn json_puts_the_place_first() {
        let hit = HitView {
            handle: "00ff1234abcd".into(),
            id: 3,
            doc_id: 1,
            path: "a.md".into(),
            lines: [1, 4],
            pages: None,
            section: "A".into(),
            snippet: "words".into(),
            origin: OriginView::default(),
            score: 0.5,
            components: [("text".to_string(), 0.5)].into(),
            relevance: 0.9,
            weak: false,
            also_in: None,
        };
        let freshness = Freshness { project: "notes".into(), tick: 9, building: None };
        let reply = HybridReply { chunks: vec![hit], freshness, ..HybridReply::default() };
        let json = serde_json::to_string_pretty(&view(&reply)).expect("plain data");
        expect_test::expect![[r#"
            {
              "chunks": [
                {
                  "path": "a.md",
                  "lines": [
                    1,
                    4
                  ],
                  "score": 0.5,
                  "components": {
                    "text": 0.5
                  },
                  "relevance": 0.9,
                  "snippet": "words",
                  "section": "A",
                  "ref": "00ff1234abcd",
                  "id": 3,
                  "doc_id": 1
                }
              ],
              "hits": [
                {
                  "path": "a.md",
                  "lines": [
                    1,
                    4
                  ],
                  "score": 0.5,
                  "components": {
                    "text": 0.5
                  },
                  "relevance": 0.9,
                  "snippet": "words",
                  "section": "A",
                  "ref": "00ff1234abcd",
                  "id": 3,
                  "doc_id": 1
                }
              ],
              "entities": [],
              "edges": [],
              "explanations": [],
              "tick": 9,
              "project": "notes"
            }"#]]
        .assert_eq(&json);
    }
}
