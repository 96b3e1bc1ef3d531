//! `connect`: how two things are connected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::name_or_id_given;
use crate::shape::{EntityView, EvidenceView, Freshness, RelationView, SourceView};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, count, fresh, score, stored};

/// Parameters of `connect`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connect {
    /// A name, alias, path or id.
    #[serde(deserialize_with = "name_or_id_given")]
    pub a: String,
    /// The other one.
    #[serde(deserialize_with = "name_or_id_given")]
    pub b: String,
    /// Most steps of a path, 1 to 6; 4 when left out.
    pub max_hops: Option<u32>,
    /// Most paths, 1 to 20; 3 when left out.
    pub limit: Option<u32>,
    /// Longest text answer in characters, 200 to 100000; 3,000 when left out.
    pub max_chars: Option<u32>,
    /// The same in tokens, at 3 characters a token.
    pub max_tokens: Option<u32>,
}

/// Reply of `connect`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectReply {
    /// The one.
    pub a: EntityView,
    /// The other one.
    pub b: EntityView,
    /// Most steps that were looked for.
    pub max_hops: u32,
    /// Best first; none where nothing joins them within these steps.
    pub paths: Vec<PathView>,
    /// Where there is no path: sentences, list items and table rows that mention both, which is much weaker; those with
    /// the nearest mentions first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<TogetherView>,
    /// Where there is no path: the surest relations of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<RelationView>,
    /// Set when the search was cut short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A way from one thing to another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathView {
    /// The product of the confidences of its steps, less for each further step and each thing that is related to very
    /// many others; 0 to 1.
    pub score: f32,
    /// Its relations in order, each as it is stated, whichever way the path takes it. `hop` is the number of the step;
    /// further relations between the same two things follow the surest one.
    pub steps: Vec<RelationView>,
}

/// A sentence, item or row that mentions two things.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TogetherView {
    /// Its place and words.
    #[serde(flatten)]
    pub source: SourceView,
    /// The day that the document states, else the day it was modified, `YYYY-MM-DD`.
    pub date: String,
}

impl Tool for Connect {
    const NAME: &'static str = "connect";
    const SUMMARY: &'static str = "How two things hang together: the best paths of relations and links between them, \
        with the sentence, place and date behind each step.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Core;
    type Reply = ConnectReply;
}

/// `Alpha → Gamma: 2 paths`, then each path with its steps; what is known where there is none.
impl View for ConnectReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let [a, b] = [&self.a, &self.b].map(|end| style.bold(&stored(&end.name)));
        match self.paths.len() {
            0 => {
                let hops = count(u64::from(self.max_hops), "hop");
                sheet.line(&format!("{a} → {b}: no path within {hops}"))
            }
            n => sheet.line(&format!("{a} → {b}: {}", count(n as u64, "path"))),
        };
        sheet.remark(self.truncated.as_ref());
        sheet.items(self.paths.iter().enumerate().map(|(idx, it)| path(idx + 1, it, style)));
        sheet.list(
            "mentioned together, which is much weaker than a relation:",
            self.together.iter().map(|it| {
                let (place, date) = (style.place(&it.source.place()), style.safe(&it.date));
                format!("  “{}” ({place}, {date})", stored(&it.source.text))
            }),
        );
        sheet.list(
            "related to each:",
            self.near.iter().map(|it| format!("  {}", step(it, "  ", style))),
        );
    }
}

/// The steps of a path, one a line; `also` before further relations of the same step.
fn path(number: usize, path: &PathView, style: Style) -> String {
    let mut hop = 0;
    let mut lines = Vec::new();
    for it in &path.steps {
        let also = if it.hop == hop { "also: " } else { "" };
        hop = it.hop;
        lines.push(format!("{also}{}", step(it, "   ", style)));
    }
    format!("{number}. {}  ({})", lines.join("\n   "), score(path.score))
}

/// `Alpha uses Beta — “Alpha sends its events to Beta.” (docs/alpha.md:12, 2026-03-01)`, and what contradicts it.
fn step(relation: &RelationView, indent: &str, style: Style) -> String {
    let [subject, object] = relation.ends();
    let (subject, object) = (style.safe(&subject), style.safe(&object));
    let words = style.green(&style.safe(&relation.words()));
    let mut text = format!("{subject} {words} {object}");
    let is_against = |it: &&EvidenceView| it.pattern.starts_with("against ");
    if let Some(best) = relation.evidence.iter().find(|it| !is_against(it)) {
        text += &format!(" — {}", quoted(best, style));
    }
    if let Some(denial) = relation.evidence.iter().find(is_against) {
        text += &format!("\n{indent}  {} {}", style.yellow("but:"), quoted(denial, style));
    }
    text
}

fn quoted(evidence: &EvidenceView, style: Style) -> String {
    let place = style.place(&evidence.source.place());
    let date = evidence.date.as_ref().map(|date| format!(", {}", style.safe(date)));
    let (words, date) = (stored(&evidence.source.text), date.unwrap_or_default());
    format!("“{}” ({place}{date})", words.trim())
}
