//! What the page of `kgctl open` needs besides other tools: its address, documents as HTML, and the
//! keys for deciding on an entity's names and relations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::{Freshness, Id};
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, fresh, stored};

/// Parameters of `open_page`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenPage {}

/// Reply of `open_page`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenPageReply {
    /// Where a browser of this machine finds the page: `http://127.0.0.1:PORT/`. Its token is not in it.
    pub address: String,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for OpenPage {
    const NAME: &'static str = "open_page";
    const SUMMARY: &'static str =
        "Serve the page for people on loopback, unless it is served already; returns its address.";
    const EFFECT: Effect = Effect::Writes;
    const SET: ToolSet = ToolSet::Admin;
    const IS_IDEMPOTENT: bool = true;
    type Reply = OpenPageReply;
}

impl View for OpenPageReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&format!("the page is at {}", style.safe(&self.address)));
    }
}

/// Parameters of `render_document`; give `path`, or `chunks` for passages alone.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenderDocument {
    /// A document.
    pub path: Option<String>,
    /// The `id`s of hits, at most 100.
    pub chunks: Option<Vec<Id>>,
}

/// Reply of `render_document`. HTML holds no script, no style and no raw HTML of the document; links lead to
/// `#/document/PATH`, `#/entity/ID` or to the web.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenderReply {
    /// The document, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<DocumentView>,
    /// The passages, in the order in which they were asked for; those that are gone are left out.
    pub passages: Vec<PassageHtml>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A document for people.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentView {
    /// Path relative to the project.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its format, such as `md`.
    pub format: String,
    /// Frontmatter `type`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub doc_type: Option<String>,
    /// The day that it states, else the day it was modified, `YYYY-MM-DD`.
    pub day: String,
    /// Its language, an ISO 639-1 code.
    pub language: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it is a note, which tools can change.
    pub is_note: bool,
    /// The entity that it is about.
    pub entity_id: Option<Id>,
    /// Its text with the entities marked.
    pub html: String,
    /// Why the text is shown without its Markdown, where it is.
    pub plain: Option<String>,
    /// The entities that it mentions, most mentioned first; at most 200.
    pub entities: Vec<MentionedEntity>,
}

/// An entity that a document mentions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MentionedEntity {
    /// Its id.
    pub id: Id,
    /// Its canonical name.
    pub name: String,
    /// What kind of thing it is.
    #[serde(rename = "type")]
    pub entity_type: String,
    /// Mentions in this document.
    pub n_mentions: u64,
}

/// A passage for people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassageHtml {
    /// The chunk's id.
    pub id: Id,
    /// Its text with the entities marked.
    pub html: String,
}

impl Tool for RenderDocument {
    const NAME: &'static str = "render_document";
    const SUMMARY: &'static str =
        "A document, or passages of several, as HTML with the entities marked, for people.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = RenderReply;
}

impl View for RenderReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if let Some(document) = &self.document {
            sheet.line(&format!("{} ({})", stored(&document.title), style.safe(&document.path)));
            sheet.items(document.html.lines().map(|line| stored(line).into_owned()));
        }
        for passage in &self.passages {
            sheet.line(&format!("passage {}", passage.id));
            sheet.items(passage.html.lines().map(|line| stored(line).into_owned()));
        }
    }
}

/// Parameters of `entity_decisions`; give `entity_id` or `name`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityDecisions {
    /// An id from another answer.
    pub entity_id: Option<Id>,
    /// A name or alias.
    pub name: Option<String>,
    /// Another entity, to get the key of their link.
    pub with: Option<Id>,
}

/// Reply of `entity_decisions`: what a person may decide about an entity, by the keys of `review_links`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionsReply {
    /// Accepted, it makes the other entity's names denote this one. Absent for two notes, which a link never joins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// The other names that denote the entity, each with the key of its link: rejected, it denotes another.
    pub names: Vec<NameDecision>,
    /// Its relations; rejected, one is shown no more.
    pub relations: Vec<RelationDecision>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A name that denotes an entity by a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NameDecision {
    /// As it is written.
    pub surface: String,
    /// Mentions of it.
    pub n_mentions: u64,
    /// The key of its link.
    pub key: String,
    /// `accepted` or `rejected`, where it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

/// A relation that can be decided.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelationDecision {
    /// Subject's id.
    pub subject_id: Id,
    /// The relation.
    pub predicate: String,
    /// Object's id.
    pub object_id: Id,
    /// Its key.
    pub key: String,
    /// `accepted` or `rejected`, where it was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

impl Tool for EntityDecisions {
    const NAME: &'static str = "entity_decisions";
    const SUMMARY: &'static str = "What a person may decide about an entity: the keys by which `review_links` accepts \
        or rejects its names and relations, and by which two entities are merged.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = DecisionsReply;
}

impl View for DecisionsReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        if let Some(key) = &self.merge {
            sheet.line(&format!("merge: {}", style.safe(key)));
        }
        let verdict =
            |it: &Option<String>| it.as_ref().map(|it| format!("  ({it})")).unwrap_or_default();
        sheet.items(self.names.iter().map(|it| {
            format!("  `{}`  {}{}", stored(&it.surface), style.safe(&it.key), verdict(&it.verdict))
        }));
        sheet.items(
            self.relations
                .iter()
                .map(|it| format!("  {}{}", style.safe(&it.key), verdict(&it.verdict))),
        );
    }
}
