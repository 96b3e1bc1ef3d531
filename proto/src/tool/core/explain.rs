//! `explain_entity`: what is known about one entity.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::{
    AssociationView, EntityView, Freshness, Id, PlaceView, RelationView, SourceView,
};

use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, count, entity, fresh, joined, score, stored};

/// Parameters of `explain_entity`; give `entity_id` or `name`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainEntity {
    /// An id from another answer; this or `name`.
    pub entity_id: Option<Id>,
    /// A name, alias or path; this or `entity_id`.
    pub name: Option<String>,
    /// Hops of relations to include, 1 to 4; 1 when left out.
    pub hops: Option<u32>,
    /// Most relations to return, 1 to 200; 20 when left out.
    pub limit: Option<u32>,
    /// Also show the features and score that linked each name to this entity.
    pub why: Option<bool>,
}

/// Reply of `explain_entity`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainReply {
    /// The entity.
    pub entity: EntityView,
    /// The best defining sentence and its place.
    pub definition: Option<DefinitionView>,
    /// The note that is the entity's home, if it has one.
    pub home: Option<String>,
    /// What that note states of it as observations, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<SourceView>,
    /// Those that its own note states, then the others, the strongest first.
    pub relations: Vec<RelationView>,
    /// What goes with it besides: mentioned together more often than chance explains, the strongest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goes_with: Vec<AssociationView>,
    /// Documents that mention it most, with a place in each.
    pub sources: Vec<MentioningSource>,
    /// Mentions in all documents.
    pub n_mentions: u64,
    /// Documents that mention it.
    pub n_documents: u64,
    /// When it is mentioned, by the days of the documents.
    pub timeline: Option<TimelineView>,
    /// The other things that go by the name that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_name: Vec<EntityView>,
    /// With `why`: how each name came to denote this entity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<LinkView>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// A sentence that says what an entity is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionView {
    /// The sentence and its place.
    #[serde(flatten)]
    pub source: SourceView,
    /// How it defines: the verb (`is a`, `means`); `apposition` (`X, a …`); the `opening` of its own page or section;
    /// an entry of a `glossary`, or of a `list` or `table` that reads like one; the `description` in the front matter
    /// of its own note. What its own page says comes first, then the surest.
    pub by: String,
}

/// When an entity is mentioned. A document is of the day it states (frontmatter), else of the day it was modified.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimelineView {
    /// The earliest document that mentions it.
    pub first: DatedPlace,
    /// The latest one.
    pub last: DatedPlace,
    /// The period of each count: `month`, or `year` if there are more than 24 months.
    pub per: String,
    /// Months or years with mentions, in order of time; the latest 24.
    pub counts: Vec<PeriodView>,
    /// Mentions before these.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub n_earlier: u64,
}

fn is_nothing(n: &u64) -> bool {
    *n == 0
}

/// A place in a document of a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DatedPlace {
    /// The document's day, `YYYY-MM-DD`.
    pub day: String,
    /// The first mention in that document.
    #[serde(flatten)]
    pub place: PlaceView,
}

/// Mentions in the documents of a month or year.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeriodView {
    /// `YYYY-MM` or `YYYY`.
    pub period: String,
    /// Mentions in them.
    pub n_mentions: u64,
    /// Documents that mention it.
    pub n_documents: u64,
}

/// A document that mentions an entity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MentioningSource {
    /// Where it is first mentioned there.
    #[serde(flatten)]
    pub source: SourceView,
    /// Mentions in that document.
    pub n_mentions: u64,
    /// Confidence of the link, 0 to 1.
    pub confidence: f32,
}

/// Why a name denotes an entity: S4 §7's features and their weighted sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkView {
    /// The name as written.
    pub surface: String,
    /// `title`, `alias`, `exact name`, `inexact`, `chosen among 2`, `accepted`.
    pub decision: String,
    /// Weighted sum of the features; an exact name links at any score.
    pub score: f32,
    /// Each feature before weighting: cosine, string, type, context, popularity.
    pub features: BTreeMap<String, f32>,
}

impl Tool for ExplainEntity {
    const NAME: &'static str = "explain_entity";
    const SUMMARY: &'static str = "Everything known about one entity: definition, aliases, relations with \
        evidence (path, line, confidence), the documents that mention it, and when.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Core;
    type Reply = ExplainReply;
}

impl View for ExplainReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        sheet.line(&entity(&self.entity, style));
        if let Some(found) = &self.definition {
            let words = stored(&found.source.text);
            sheet.cut(&format!("  “{words}” ({})", style.place(&found.source.place())));
        }
        if !self.same_name.is_empty() {
            let others: Vec<_> = self.same_name.iter().map(|it| entity(it, style)).collect();
            sheet.line(&format!("  others of this name: {}", others.join("; ")));
        }
        if let Some(home) = &self.home {
            sheet.line(&format!("  home: {}", style.place(home)));
        }
        let fact =
            |it: &SourceView| format!("  {} ({})", stored(&it.text), style.place(&it.place()));
        sheet.list("facts:", self.facts.iter().map(fact));
        sheet.list("relations:", self.relations.iter().map(|it| relation(it, &self.entity, style)));
        if !self.goes_with.is_empty() {
            let one =
                |it: &AssociationView| format!("{} × {}", stored(&it.entity.name), it.n_together);
            let shown = self.goes_with.iter().take(MAX_GOES_WITH).map(one);
            sheet.line(&format!("goes with: {}", joined(shown)));
        }
        let documents = count(self.n_documents, "document");
        let mentions = count(self.n_mentions, "mention");
        sheet.list(
            &format!("sources ({mentions} in {documents}):"),
            self.sources.iter().map(|it| {
                let (place, words) = (style.place(&it.source.place()), stored(&it.source.text));
                format!("  {place}  {words}  ({} × {})", it.n_mentions, score(it.confidence))
            }),
        );
        if let Some(found) = &self.timeline {
            sheet.line(&timeline(found, style));
        }
        sheet.list(
            "why:",
            self.why.iter().map(|it| {
                let features =
                    it.features.iter().map(|(name, value)| format!("{name} {}", score(*value)));
                let features: Vec<_> = features.collect();
                let (surface, decision) = (style.safe(&it.surface), style.safe(&it.decision));
                format!(
                    "  {surface}: {decision}, score {} ({})",
                    score(it.score),
                    features.join(" ")
                )
            }),
        );
    }
}

/// Months or years shown of a timeline, the latest.
const MAX_PERIODS: usize = 6;

/// Most things named that go with an entity.
const MAX_GOES_WITH: usize = 8;

/// `mentioned 2024-03-01 to 2025-02-11: … 2024-12 × 3, 2025-02 × 1`.
fn timeline(timeline: &TimelineView, style: Style) -> String {
    let skipped = timeline.counts.len().saturating_sub(MAX_PERIODS);
    let counts = timeline.counts.iter().skip(skipped);
    let counts = counts.map(|it| format!("{} × {}", style.safe(&it.period), it.n_mentions));
    let cut = if skipped > 0 || timeline.n_earlier > 0 { "… " } else { "" };
    let (first, last) = (style.safe(&timeline.first.day), style.safe(&timeline.last.day));
    format!("mentioned {first} to {last}: {cut}{}", joined(counts))
}

/// `→ depends_on Key Store  (.81, runbooks/x.md:12, 2024-03-01)`; both ends are named when it is not the
/// entity's own.
fn relation(relation: &RelationView, about: &EntityView, style: Style) -> String {
    let [subject, object] = relation.ends();
    let (subject, object) = (style.safe(&subject), style.safe(&object));
    let predicate = style.safe(&relation.predicate);
    // Daemons before version 0.2 sent no ids.
    let is_about = |id: Option<Id>, name: &str| match id {
        Some(id) => id == about.id,
        None => name == about.name,
    };
    let stated = if is_about(relation.subject_id, &relation.subject) {
        format!("→ {predicate} {object}")
    } else if is_about(relation.object_id, &relation.object) {
        format!("← {predicate} {subject}")
    } else {
        format!("{subject} → {predicate} {object}")
    };
    let place = relation.evidence.first().map(|it| {
        let date = it.date.as_ref().map(|date| format!(", {}", style.safe(date)));
        format!(", {}{}", style.place(&it.source.place()), date.unwrap_or_default())
    });
    let place = place.unwrap_or_default();
    let denial = relation.evidence.iter().find(|it| it.pattern.starts_with("against "));
    let denial = denial.map(|it| format!(", contradicted by {}", style.place(&it.source.place())));
    // A person has room for the words that state it, and for the rule that read them.
    let words = relation.evidence.first().filter(|_| style.is_terminal()).map(|it| {
        let (words, rule) = (stored(it.source.text.trim()), style.safe(&it.pattern));
        style.dim(&format!("\n      “{words}” [{rule}]"))
    });
    let (denial, words) = (denial.unwrap_or_default(), words.unwrap_or_default());
    format!("  {stated}  ({}{place}{denial}){words}", score(relation.confidence))
}
