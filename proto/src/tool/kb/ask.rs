//! The tools that answer questions from entries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{EntryView, brief};
use crate::shape::Freshness;
use crate::tool::core::{StatementView, statement};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, around, fresh, stored};

/// How a question is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Chosen from the words of the question; if they say nothing, search and one step through the graph.
    #[default]
    Auto,
    /// Decisions with their predecessors and successors, oldest first.
    DecisionTrace,
    /// Entries of a scope by the day they were made.
    Timeline,
    /// Nodes within two steps.
    Related,
    /// The shortest way between two nodes, at most four steps.
    Connection,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Strategy; 5] = [
        Strategy::Auto,
        Strategy::DecisionTrace,
        Strategy::Timeline,
        Strategy::Related,
        Strategy::Connection,
    ];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::DecisionTrace => "decision_trace",
            Strategy::Timeline => "timeline",
            Strategy::Related => "related",
            Strategy::Connection => "connection",
        }
    }

    /// Parses [`Strategy::as_str`], in any case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| text.eq_ignore_ascii_case(it.as_str()))
    }
}

/// Parameters of `kb_ask`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbAsk {
    /// The question, or keywords, up to 1,000 characters.
    pub question: String,
    /// `auto` (default), `decision_trace`, `timeline`, `related` or `connection`.
    pub strategy: Option<Strategy>,
    /// Which entries are meant: `project:X`, `tag:X`, `person:X`, `tool:X`, a type of entries, or an id; where
    /// `related` and `connection` begin.
    pub scope: Option<String>,
    /// Where `connection` ends.
    pub target: Option<String>,
    /// Whether `auto` adds entries one step away in the graph; true when left out.
    pub include_graph_context: Option<bool>,
    /// Also entries whose confidence has fallen under .3; false when left out. The story of a decision includes them
    /// anyway.
    pub include_stale: Option<bool>,
    /// Most entries to return, 1 to 50, with the strategy `timeline` to 500; 20 when left out.
    pub limit: Option<u32>,
}

/// An entry of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskedEntry {
    /// The entry.
    #[serde(flatten)]
    pub entry: EntryView,
    /// Why it is included: `search match`, `linked from kb-00001 via supersedes`, `original decision`.
    pub context: String,
    /// The way to it through the graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// How its content begins.
    pub excerpt: String,
}

/// One step of a way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KbStep {
    /// Where it begins.
    pub from: String,
    /// The relation, in the direction in which it is stated; `<` before it if the path goes against that.
    pub edge: String,
    /// Where it ends.
    pub to: String,
    /// Set if a model found it and no note states it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub llm: bool,
}

/// Reply of `kb_ask`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbAnswer {
    /// The strategy that was taken.
    pub strategy: Strategy,
    /// Why it was taken.
    pub reason: String,
    /// The node that the question was understood to mean.
    pub scope: Option<String>,
    /// The other one.
    pub target: Option<String>,
    /// The entries, in the order of the strategy.
    pub entries: Vec<AskedEntry>,
    /// For `connection`: the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<KbStep>,
    /// Where entries do not answer: what documents, notes and memory say, as `ask` quotes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<StatementView>,
    /// Why there is nothing, or how the question was read.
    pub hint: Option<String>,
    /// Who chose the strategy: `llm:` and the model; absent where rules did, or the request.
    pub planned_by: Option<String>,
    /// Why the model of `llm.query` did not choose, where one is set and was asked.
    pub llm: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for KbAsk {
    const NAME: &'static str = "kb_ask";
    const SUMMARY: &'static str = "Answer a question from entries and their graph: search, how a decision came about, \
        a timeline, related entries, how two things connect; where no entry answers, from documents. Says which \
        strategy it used, and why.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbAnswer;
}

impl View for KbAnswer {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let ends: Vec<&str> = self.scope.iter().chain(&self.target).map(String::as_str).collect();
        let ends = around(" ", &style.safe(&ends.join(" → ")), "");
        sheet.line(&format!("{}{ends}: {}", self.strategy.as_str(), style.safe(&self.reason)));
        sheet.remark(self.planned_by.as_ref());
        sheet.remark(self.llm.as_ref());
        sheet.remark(self.hint.as_ref());
        sheet.items(self.path.iter().map(|it| {
            let by = if it.llm { " (llm)" } else { "" };
            let [from, edge, to] = [&it.from, &it.edge, &it.to].map(|it| style.safe(it));
            format!("{from} —{edge}{by}→ {to}")
        }));
        sheet.items(self.entries.iter().map(|it| {
            let (context, excerpt) = (style.safe(&it.context), stored(&it.excerpt));
            format!("{}\n   ↳ {context}\n   {excerpt}", brief(&it.entry, style))
        }));
        sheet.items(
            self.documents.iter().enumerate().map(|(idx, it)| statement(idx + 1, it, style)),
        );
    }
}

/// Parameters of `kb_summarize`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KbSummarize {
    /// The question, up to 1,000 characters.
    pub question: String,
    /// Which entries are meant, as in `kb_ask`.
    pub scope: Option<String>,
    /// Most entries to read, 1 to 50; 20 when left out.
    pub limit: Option<u32>,
}

/// A sentence and the entries that say it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CitedSentence {
    /// The sentence, word for word.
    pub text: String,
    /// The entries, the first the one it is quoted from; where no entry answers, places such as `docs/keys.md:12`.
    pub cited: Vec<String>,
    /// The entries that took the place of the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded_by: Vec<String>,
}

/// Two sentences that seem to contradict each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConflictOfEntries {
    /// One side; the one that is newer, where that is known.
    pub one: CitedSentence,
    /// The other.
    pub other: CitedSentence,
    /// Why they seem to contradict each other.
    pub why: String,
}

/// Reply of `kb_summarize`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KbSummary {
    /// The sentences that answer best, each followed by `[kb-00042]`.
    pub answer: String,
    /// The same one by one.
    pub sentences: Vec<CitedSentence>,
    /// Where entries do not agree, side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictOfEntries>,
    /// The entries that were read.
    pub entries: Vec<EntryView>,
    /// `extractive`: sentences quoted from entries; or `llm:` and the model that wrote the answer from them.
    pub method: String,
    /// Why the model of `llm.query` did not write the answer, where one is set.
    pub llm: Option<String>,
    /// Why there is nothing.
    pub hint: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for KbSummarize {
    const NAME: &'static str = "kb_summarize";
    const SUMMARY: &'static str = "Answer a question with cited sentences from entries, or from documents where no \
        entry answers; where entries contradict each other, both sides are shown.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Kb;
    type Reply = KbSummary;
}

impl View for KbSummary {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        // The extractive summary is the usual case, and needs no remark.
        if self.method != "extractive" {
            sheet.remark(Some(&self.method));
        }
        sheet.remark(self.llm.as_ref());
        sheet.remark(self.hint.as_ref());
        sheet.items(self.answer.lines().map(|it| style.safe(it).into_owned()));
        sheet.list(
            "these disagree:",
            self.conflicts.iter().map(|it| {
                let [one, other] = [&it.one, &it.other]
                    .map(|it| format!("  {} [{}]\n", stored(&it.text), it.cited.join(", ")));
                format!("{one}{other}  ({})", style.safe(&it.why))
            }),
        );
    }
}
