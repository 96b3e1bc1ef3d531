//! `kgctl query`: prints ranked passages with their places.

use client::connect::Session;
use client::render::clean;
use proto::tool::admin::Wait;
use proto::tool::core::{HitView, HybridQuery, HybridReply};
use proto::view::View;

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
    /// Only documents dated on or after this day: `YYYY-MM-DD`, `yesterday`, `7d`.
    #[arg(long, value_name = "DAY")]
    after: Option<String>,
    /// Only documents dated before this day.
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
    ctx.print_reply(&reply, |reply| {
        let text = reply.text(ctx.style);
        let shown = reply.chunks.iter().filter(|_| arguments.explain).enumerate();
        shown.fold(text, |text, (idx, hit)| format!("{text}{}. {}\n", idx + 1, sum(hit)))
    })?;
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

/// `text 0.410 + vector 0.390 - same_document 0.050 = 0.750`, the largest first.
fn sum(hit: &HitView) -> String {
    let mut parts: Vec<_> = hit.components.iter().filter(|(_, part)| **part != 0.0).collect();
    parts.sort_by(|left, right| right.1.total_cmp(left.1));
    let mut text = String::new();
    for (at, (name, part)) in parts.iter().enumerate() {
        text += match (at, **part < 0.0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        };
        text += &format!("{} {:.3}", clean(name), part.abs());
    }
    // A question without words has no scores.
    if parts.is_empty() { "not scored".into() } else { format!("{text} = {:.3}", hit.score) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_score_is_shown_as_the_sum_it_is() {
        let hit = |score: f32, components| -> HitView {
            let hit = json!({ "id": 3, "doc_id": 1, "path": "a.md", "snippet": "A.", "score": score,
                "components": components });
            serde_json::from_value(hit).expect("a hit")
        };
        let parts = json!({ "same_document": -0.05, "text": 0.41, "vector": 0.39, "graph": 0.0 });
        let expected = "text 0.410 + vector 0.390 - same_document 0.050 = 0.750";
        assert_eq!(sum(&hit(0.75, parts)), expected);
        assert_eq!(sum(&hit(0.0, json!({}))), "not scored");
    }
}
