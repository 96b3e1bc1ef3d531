//! `ask`: an answer from the whole folder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::name_or_id;
use crate::shape::{EntityView, Freshness, SourceView};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, around, fresh, joined, paragraphs, stored};

/// How a question is answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AskPlan {
    /// Chosen from the words of the question and the names in it.
    #[default]
    Auto,
    /// The passage that answers best, of a procedure its steps, and further sentences.
    Search,
    /// The paths between two things, each step with what states it.
    Path,
    /// What is said of it, oldest first.
    Timeline,
    /// What was decided, what fits best first, and why.
    Decisions,
    /// What a thing is, the facts and relations of its own note, and what else is said of it.
    Summary,
}

impl AskPlan {
    /// Every plan.
    pub const ALL: [AskPlan; 6] = [
        AskPlan::Auto,
        AskPlan::Search,
        AskPlan::Path,
        AskPlan::Timeline,
        AskPlan::Decisions,
        AskPlan::Summary,
    ];

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            AskPlan::Auto => "auto",
            AskPlan::Search => "search",
            AskPlan::Path => "path",
            AskPlan::Timeline => "timeline",
            AskPlan::Decisions => "decisions",
            AskPlan::Summary => "summary",
        }
    }
}

/// Parameters of `ask`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The question, up to 1,000 characters.
    #[serde(alias = "question", alias = "q")]
    pub query: String,
    /// `auto` (default), `search`, `path`, `timeline`, `decisions` or `summary`.
    pub plan: Option<AskPlan>,
    /// Who or what is meant, where the question does not name it: a name or an id.
    #[serde(default, deserialize_with = "name_or_id", skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Only documents whose path begins with this or matches it.
    pub path: Option<String>,
    /// Only documents dated on or after this day, `YYYY-MM-DD`.
    pub after: Option<String>,
    /// Only documents dated before this day, `YYYY-MM-DD`.
    pub before: Option<String>,
    /// Most statements, 1 to 50; 8 when left out.
    pub limit: Option<u32>,
}

/// Reply of `ask`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskReply {
    /// The plan that was followed.
    pub plan: AskPlan,
    /// Why.
    pub reason: String,
    /// Whom or what the question names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<EntityView>,
    /// The answer, each statement quoted from its place, in the order of the plan.
    pub statements: Vec<StatementView>,
    /// Statements that contradict each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictView>,
    /// Further passages, for `read_passage`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<FurtherView>,
    /// True when nothing in the folder fits the question: what is shown is only the nearest there is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_relevant: bool,
    /// How the question was read, or why there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// One statement of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementView {
    /// Its words and place.
    #[serde(flatten)]
    pub source: SourceView,
    /// Of which day it is, `YYYY-MM-DD`; `YYYY-MM` or `YYYY` where no more is stated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// What states the day: the `line` itself, the `section` or turn that it stands in, its `note` (front matter, name
    /// of the file), or only the `file`, by when it was changed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dated_by: String,
    /// `passage`, `sentence`, `definition`, `fact` (an observation), or `relation`; of a path, `step 1`.
    pub kind: String,
    /// What a `relation` or step says: `Billing depends_on Key Store`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// How much its passage has to do with the question, 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub relevance: f32,
    /// Where else the same is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The entries that took the place of the one it is quoted from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded_by: Vec<String>,
}

impl StatementView {
    /// Returns its day, with the source of the date if that is not the statement or its section:
    /// `note of 2026-03-12`.
    pub fn day(&self) -> String {
        match self.dated_by.as_str() {
            by @ ("note" | "file") => format!("{by} of {}", self.date),
            _ => self.date.clone(),
        }
    }

    /// Returns its words, unless its claim contains them all.
    pub fn quote(&self) -> Option<&str> {
        let words = |text: &str| -> Vec<String> {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty());
            words.map(str::to_lowercase).collect()
        };
        let claimed = self.claim.as_deref().map(words).unwrap_or_default();
        let is_claimed = words(&self.source.text).iter().all(|word| claimed.contains(word));
        (self.claim.is_none() || !is_claimed).then_some(self.source.text.as_str())
    }
}

fn is_zero(value: &f32) -> bool {
    *value == 0.0
}

/// Two statements that contradict each other.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConflictView {
    /// Their numbers in `statements`, from 1.
    pub statements: [u64; 2],
    /// Why.
    pub why: String,
}

/// A passage that may say more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FurtherView {
    /// Its place: `notes/keys.md:10-24`.
    pub at: String,
    /// The headings above it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
}

impl Tool for Ask {
    const NAME: &'static str = "ask";
    const SUMMARY: &'static str = "Answer a question from documents, notes, memory and entries with cited statements: \
        a search, the path between two things, a timeline, decisions and why, or a summary. Says which.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Core;
    type Reply = AskReply;
}

impl View for AskReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let names = joined(self.about.iter().map(|it| stored(&it.name)));
        let about = around(" about ", &names, "");
        let plan = format!("plan: {}{about} ({})", self.plan.as_str(), style.safe(&self.reason));
        sheet.line(&style.dim(&plan));
        if self.nothing_relevant {
            sheet
                .line(&style.yellow(
                    "nothing in the folder fits the question; these are only the nearest:",
                ));
        }
        if let Some(hint) = &self.hint {
            sheet.line(&style.yellow(&format!("hint: {}", style.safe(&style.hint(hint)))));
        }
        for it in &self.conflicts {
            let [one, other] = it.statements;
            let why = style.safe(&it.why);
            sheet.line(&style.yellow(&format!("{one} and {other} contradict each other: {why}")));
        }
        sheet.items(
            self.statements.iter().enumerate().map(|(idx, it)| statement(idx + 1, it, style)),
        );
        let further: Vec<String> = self
            .passages
            .iter()
            .map(|it| match it.section.is_empty() {
                true => style.place(&it.at),
                false => format!("{} § {}", style.place(&it.at), stored(&it.section)),
            })
            .collect();
        if !further.is_empty() {
            sheet.line(&format!("{}: {}", style.hint("more (`read_passage`)"), further.join("; ")));
        }
    }
}

/// The number of a statement, its words, and where they stand: `2. Keys rotate yearly. (ops/keys.md:12, 2026-03-01)`.
pub(crate) fn statement(number: usize, it: &StatementView, style: Style) -> String {
    let place = style.place(&it.source.place());
    let date = if it.date.is_empty() { String::new() } else { it.day() };
    let date = around(", ", &style.safe(&date), "");
    let words = it.quote().map(|words| paragraphs(words, "   "));
    let words = words.as_deref().map(str::trim);
    let newer = around(" — superseded by ", &style.names(&it.superseded_by), "");
    let also = around("; also ", &style.names(&it.also), "");
    let text = match (&it.claim, words) {
        (Some(claim), Some(words)) => format!("{} — “{words}”", stored(claim)),
        (Some(claim), None) => stored(claim).into_owned(),
        (None, words) => words.unwrap_or_default().to_string(),
    };
    let gap = if text.contains('\n') { "\n   " } else { " " };
    format!("{number}. {text}{gap}({place}{date}{also}){newer}")
}
