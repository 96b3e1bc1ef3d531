//! The tools of every agent: ask, look up, explain, connect, ingest, review, status (S4 §11).

mod ask;
mod background;
mod changes;
mod connect;
mod explain;
mod passage;
mod query;
mod remember;
mod status;
mod survey;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::ask::*;
pub use self::background::*;
pub use self::changes::*;
pub use self::connect::*;
pub use self::explain::*;
pub use self::passage::*;
pub use self::query::*;
pub use self::remember::*;
pub use self::status::*;
pub use self::survey::*;
use super::{Effect, Tool, ToolSet};
use crate::shape::{EntityView, EvidenceView, Freshness, Id};
use crate::view::{Sheet, View, count, entity, fresh, score};

/// Characters assumed for one token of an answer. Answers contain places and scores, which language
/// models split into more tokens than prose, where a token has about four characters.
const CHARS_A_TOKEN: u32 = 3;

/// Returns the longest text answer in characters; `usual` if no budget is given.
pub fn budget(max_chars: Option<u32>, max_tokens: Option<u32>, usual: u32) -> u32 {
    let by_tokens = max_tokens.map(|n| n.saturating_mul(CHARS_A_TOKEN));
    max_chars.into_iter().chain(by_tokens).min().unwrap_or(usual)
}

/// A name, or an id from another answer, which is a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum NameOrId {
    Name(String),
    Id(Id),
}

impl From<NameOrId> for String {
    fn from(given: NameOrId) -> String {
        match given {
            NameOrId::Name(name) => name,
            NameOrId::Id(id) => id.to_string(),
        }
    }
}

fn name_or_id<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<NameOrId>::deserialize(from)?.map(String::from))
}

fn name_or_id_given<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    NameOrId::deserialize(from).map(String::from)
}

fn are_none(lines: &[u32; 2]) -> bool {
    lines[0] == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Parameters of `entity_lookup`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityLookup {
    /// A name or part of one.
    pub q: String,
    /// Only entities of this type, such as `Service` or `Person`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub entity_type: Option<String>,
    /// Most entities to return, 1 to 100; 10 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Reply of `entity_lookup`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntityReply {
    /// Best first.
    pub entities: Vec<EntityView>,
    /// Which types there are by that name, where none is of the wanted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for EntityLookup {
    const NAME: &'static str = "entity_lookup";
    const SUMMARY: &'static str = "Find entities (services, people, terms, notes) by name, alias, or a misspelled or \
        partial name.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Core;
    type Reply = EntityReply;
}

impl View for EntityReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.remark(self.hint.as_ref());
        if self.entities.is_empty() && self.hint.is_none() {
            sheet.line("nothing goes by that name");
        }
        sheet.items(self.entities.iter().enumerate().map(|(idx, found)| {
            let score = found.score.map(|it| style.dim(&format!("  {}", score(it))));
            format!("{}. {}{}", idx + 1, entity(found, style), score.unwrap_or_default())
        }));
    }
}

/// Parameters of `ingest_docs`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IngestDocs {
    /// Paths or globs inside the project, such as `docs/**/*.md`.
    pub paths: Vec<String>,
    /// Tags to keep with these documents.
    pub tags: Option<Vec<String>>,
    /// Where the documents came from.
    pub source_url: Option<String>,
    /// Skip files whose content is already indexed; true when left out.
    pub skip_if_seen: Option<bool>,
}

/// Reply of `ingest_docs`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IngestReply {
    /// Documents indexed by this call, now searchable.
    pub ingested: u64,
    /// Files left alone: unchanged, or not a kind that is read.
    pub skipped: u64,
    /// Files that failed.
    pub errors: Vec<IngestError>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A file that could not be indexed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IngestError {
    /// Path or glob.
    pub path: String,
    /// The stage that failed.
    pub stage: String,
    /// Why it failed.
    pub reason: String,
}

impl Tool for IngestDocs {
    const NAME: &'static str = "ingest_docs";
    const SUMMARY: &'static str = "Index files now, ahead of any backlog, and wait until they are searchable. \
        Files are watched anyway: use this to tag them, to name their source, or to be sure.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Core;
    const IS_IDEMPOTENT: bool = true;
    type Reply = IngestReply;
}

impl View for IngestReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let failed = self.errors.len();
        sheet.line(&format!(
            "ingested {}, skipped {}, failed {failed}",
            self.ingested, self.skipped
        ));
        sheet.items(self.errors.iter().map(|it| {
            format!(
                "  {}: {} ({})",
                style.safe(&it.path),
                style.safe(&it.reason),
                style.safe(&it.stage)
            )
        }));
    }
}

/// Parameters of `extract_and_link`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractAndLink {
    /// Documents to extract again; everything pending when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc_ids: Option<Vec<Id>>,
}

/// Reply of `extract_and_link`: what changed; all 0 on a settled graph.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtractReply {
    /// Change in the number of mentions.
    pub mentions: i64,
    /// Entities that are new.
    pub entities_new: i64,
    /// Change in the number of relations.
    pub relations: i64,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for ExtractAndLink {
    const NAME: &'static str = "extract_and_link";
    const SUMMARY: &'static str = "Extract names and relations again and wait until everything is linked; \
        reports what changed.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Core;
    const IS_IDEMPOTENT: bool = true;
    type Reply = ExtractReply;
}

impl View for ExtractReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let (mentions, entities) = (self.mentions, self.entities_new);
        sheet.line(&format!(
            "mentions {mentions:+}, entities {entities:+}, relations {:+}",
            self.relations
        ));
    }
}

/// Parameters of `review_links`: lists doubtful readings, or decides them with `accept` and `reject`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewLinks {
    /// List items with confidence below this, 0 to 1; 0.6 when left out. At 1 also relations that are stated outright.
    pub below: Option<f32>,
    /// Only items from this document or folder, including the facts that its notes state. `below` is 1
    /// then when left out.
    pub path: Option<String>,
    /// Most items to list, 1 to 100; 20 when left out.
    pub limit: Option<u32>,
    /// Keys of items that are right.
    pub accept: Option<Vec<String>>,
    /// Keys of items that are wrong.
    pub reject: Option<Vec<String>>,
    /// Keys whose decision is undone.
    pub undo: Option<Vec<String>>,
}

/// Reply of `review_links`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewReply {
    /// Least certain first.
    pub items: Vec<ReviewItem>,
    /// Decisions written by this call.
    pub decided: u64,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// One doubtful link or relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewItem {
    /// Names the item in `accept`, `reject` and `undo`; stays the same across rebuilds.
    pub key: String,
    /// `link`: a name was linked to another one; `same_as`: it was not, but nearly; `unsure`: it could be one of
    /// several and denotes nothing; `relation`; `observation`: a fact that a note states.
    pub kind: String,
    /// What is claimed, as a sentence.
    pub claim: String,
    /// Confidence, 0 to 1.
    pub confidence: f32,
    /// The best evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceView>,
    /// Of two names: each feature before weighting: cosine, string, type, context, popularity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub features: BTreeMap<String, f32>,
}

impl Tool for ReviewLinks {
    const NAME: &'static str = "review_links";
    const SUMMARY: &'static str = "List doubtful links, names that may be one thing, and relations, with their \
        evidence; accept or reject them by key. Decisions last, also across rebuilds.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Core;
    const IS_IDEMPOTENT: bool = true;
    type Reply = ReviewReply;
}

impl View for ReviewReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if self.decided > 0 {
            sheet.line(&format!("{} written", count(self.decided, "decision")));
        }
        if self.items.is_empty() {
            sheet.line("nothing doubtful");
        }
        sheet.items(self.items.iter().map(|it| {
            let place = it.evidence.as_ref().map(|it| &it.source);
            let place =
                place.map(|at| format!(" ({})", style.place(&at.place()))).unwrap_or_default();
            let (key, kind, claim) =
                (style.safe(&it.key), style.safe(&it.kind), style.safe(&it.claim));
            format!("{key}  {kind} {}  {claim}{place}", score(it.confidence))
        }));
    }
}
