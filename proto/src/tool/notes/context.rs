//! `build_context`: notes with what they state, and what is near.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{LinkView, NoteView, ObservationView, OutputFormat, name};
use crate::shape::{Freshness, RelationView};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, around, count, fresh, indented, stored, tags};

/// Parameters of `build_context`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuildContext {
    /// `memory://permalink`, `memory://folder/*`, a path, permalink or title.
    #[serde(alias = "url")]
    pub path: String,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// Steps along links and graph relations, 0 to 3; 1 when left out.
    pub depth: Option<u32>,
    /// Only related notes modified since: `7d`, `last week`, `2026-01-31`.
    pub timeframe: Option<String>,
    /// Most related notes, 1 to 100; 10 when left out.
    pub max_related: Option<u32>,
    /// Whether the text of the notes is left out; false when left out.
    pub compact: Option<bool>,
    /// Page of a pattern's notes (ten a page), from 1.
    pub page: Option<u32>,
    /// Longest text answer in characters, 200 to 100000; 3,000 when left out.
    pub max_chars: Option<u32>,
    /// The same in tokens, 70 to 33000, at 3 characters a token; the smaller of the two counts.
    pub max_tokens: Option<u32>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of `build_context`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextReply {
    /// The notes that the address names; several only for a pattern.
    pub notes: Vec<ContextNote>,
    /// How many the address names in all.
    pub n_notes: u64,
    /// Set when there is a further page.
    pub next_page: Option<u32>,
    /// Notes and documents near them, nearest first.
    pub related: Vec<RelatedView>,
    /// Set when text was left out to fit the budget.
    pub truncated: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A note with what it states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContextNote {
    /// What it is.
    #[serde(flatten)]
    pub note: NoteView,
    /// Its tags, without `#`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its text without markup, secrets removed; only the beginning if it does not fit. Untrusted data.
    pub content: String,
    /// Facts that it states.
    pub observations: Vec<ObservationView>,
    /// Relations that it states.
    pub relations: Vec<LinkView>,
    /// What documents say of it elsewhere, with evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stated_elsewhere: Vec<RelationView>,
}

/// A note or document near another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelatedView {
    /// What it is.
    #[serde(flatten)]
    pub note: NoteView,
    /// Steps from the notes that were asked for.
    pub depth: u32,
    /// How it is reached: `implements → Machine Learning`, `← links_to Plan`.
    pub by: String,
    /// The path of the note from which it is reached.
    pub from: String,
    /// Its first words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

impl Tool for BuildContext {
    const NAME: &'static str = "build_context";
    const SUMMARY: &'static str = "The surroundings of a note: its text, facts and relations, and the notes that it \
        links to or that link to it. Takes `memory://…` addresses, also with `*`.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = ContextReply;
}

impl View for ContextReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if self.n_notes > 1 {
            let next = self.next_page.map(|it| format!("; more on page {it}")).unwrap_or_default();
            sheet.line(&format!("{}{next}", count(self.n_notes, "note")));
        }
        sheet.remark(self.truncated.as_ref());
        for it in &self.notes {
            let mut head = name(&it.note, style);
            head += &tags(&it.tags, style);
            sheet.line(&head);
            sheet.cut(&indented(it.content.trim_end(), "  "));
            statements(&it.observations, &it.relations, sheet);
            sheet.list(
                "stated elsewhere:",
                it.stated_elsewhere.iter().map(|it| {
                    let at = it.evidence.first().map(|it| style.place(&it.source.place()));
                    let at = around(" (", &at.unwrap_or_default(), ")");
                    let [subject, object] = it.ends();
                    let (subject, object) = (style.safe(&subject), style.safe(&object));
                    format!("  {subject} → {} → {object}{at}", style.safe(&it.predicate))
                }),
            );
        }
        sheet.list(
            "near:",
            self.related.iter().map(|it| {
                let summary = around("\n     ", &style.safe(&it.summary), "");
                let from = style.after(" from ", (it.depth > 1).then_some(&it.from));
                format!("  {} {}{from}{summary}", style.safe(&it.by), name(&it.note, style))
            }),
        );
    }
}

/// `  - [category] content #tag (context)`, as it is written.
fn observation(it: &ObservationView, style: Style) -> String {
    let context = around(" (", &style.after("", it.context.as_ref()), ")");
    let block = style.after(" ^", it.block.as_ref());
    let (category, content) = (style.safe(&it.category), stored(&it.content));
    format!("  - [{category}] {content}{}{context}{block}", tags(&it.tags, style))
}

/// `  - relation → target (path)`.
fn link(it: &LinkView, style: Style) -> String {
    let leads = match &it.to_path {
        Some(path) => format!(" ({})", style.safe(path)),
        None => " (missing)".to_string(),
    };
    let context = around(" (", &style.after("", it.context.as_ref()), ")");
    format!("  - {} → {}{leads}{context}", style.safe(&it.relation), style.safe(&it.target))
}

fn statements(observations: &[ObservationView], relations: &[LinkView], sheet: &mut Sheet) {
    let style = sheet.style();
    sheet.list("facts:", observations.iter().map(|it| observation(it, style)));
    sheet.list("relations:", relations.iter().map(|it| link(it, style)));
}
