//! `graph`: the neighborhood of one entity, or the whole folder, for a drawing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::shape::{EntityView, EvidenceView, Freshness, Id, PlaceView, between};
use crate::tool::core::DefinitionView;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, View, around, count, fresh, score, stored};

/// Parameters of `graph`; give `entity_id` or `name`, or neither for the whole folder.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// An id from another answer.
    pub entity_id: Option<Id>,
    /// A name or alias.
    pub name: Option<String>,
    /// Hops of relations to follow from the entity, 1 to 4; 2 when left out.
    pub hops: Option<u32>,
    /// Most entities to return, 1 to 5000; 300 when left out.
    pub limit: Option<u32>,
    /// Only these relations, such as `depends_on`; all when left out.
    pub rels: Option<Vec<String>>,
}

/// Reply of `graph`: entities and the relations between them. The same index gives the same reply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphReply {
    /// The entity asked about first, then by hops, the surest way there first. Without one: the most mentioned
    /// entities that are related to each other, most mentioned first.
    pub nodes: Vec<GraphNode>,
    /// Relations between them, without an entity also associations, surest first; at most four times as many as
    /// `limit`.
    pub edges: Vec<GraphEdge>,
    /// Without an entity: groups of entities that are related to each other more than to others, the largest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub communities: Vec<Community>,
    /// Set when entities or relations were left out: what and how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

/// Entities that are related to each other more than to others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Community {
    /// Its number, from 1.
    pub id: u32,
    /// The one or two most mentioned of its entities.
    pub label: String,
    /// Its entities in this reply.
    pub size: u64,
}

/// An entity of the graph.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphNode {
    /// The entity.
    #[serde(flatten)]
    pub entity: EntityView,
    /// Hops from the entity asked about, from 0.
    pub hop: u32,
    /// The number of its community.
    pub community: Option<u32>,
    /// The best defining sentence.
    pub definition: Option<DefinitionView>,
    /// The note that is its home, if it has one.
    pub home: Option<String>,
    /// What its home says as an entry of knowledge, if it is one.
    pub entry: Option<EntryOfNode>,
    /// Mentions in all documents.
    pub n_mentions: u64,
    /// Documents that mention it.
    pub n_documents: u64,
    /// The first mention in the documents that mention it most; at most 3.
    pub places: Vec<PlaceView>,
}

/// An entity's home as an entry of knowledge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntryOfNode {
    /// Its id, such as `kb-00042`.
    pub id: String,
    /// Its confidence now, decayed since it was last edited or opened.
    pub confidence: f64,
    /// The entries that took its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded_by: Vec<String>,
    /// Set when it is inactive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inactive: bool,
}

/// A relation of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphEdge {
    /// Subject's id.
    pub src: Id,
    /// Object's id.
    pub dst: Id,
    /// The relation.
    pub rel: String,
    /// As `explain_entity` has it: raised by each independent source, lowered by evidence against it, 0 to 1.
    pub confidence: f32,
    /// Set for an association (`mentioned_together`), which states nothing: the sentences, items and rows that name
    /// both. Its confidence is a weight, below that of any relation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_together: Option<u32>,
    /// Statements of it that were read.
    pub n_evidence: u64,
    /// Statements against it.
    pub n_against: u64,
    /// The best evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceView>,
}

impl GraphReply {
    /// Returns the number of stated relations.
    pub fn n_relations(&self) -> u64 {
        self.edges.iter().filter(|it| it.n_together.is_none()).count() as u64
    }
}

impl GraphEdge {
    /// Returns what stands between the ends for people.
    pub fn words(&self) -> String {
        between(&self.rel, self.n_together)
    }
}

impl Tool for Graph {
    const NAME: &'static str = "graph";
    const SUMMARY: &'static str = "The entities within some hops of one, or without one the most mentioned of the \
        folder in communities, with definitions and places, and the relations between them, with evidence.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Admin;
    type Reply = GraphReply;
}

/// The neighborhood of an entity or an overview of the folder, one relation a line;
/// `kgctl` draws it from the structured form.
impl View for GraphReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        // Edges have ids only; an end that is not listed as a node is shown by its id.
        let name = |id: Id| {
            let found = self.nodes.iter().find(|it| it.entity.id == id);
            found.map_or_else(|| id.to_string(), |it| stored(&it.entity.name).into_owned())
        };
        let entities = count(self.nodes.len() as u64, "entity");
        sheet.line(&format!("{entities}, {}", count(self.n_relations(), "relation")));
        sheet.items(
            self.communities
                .iter()
                .map(|it| format!("  community {}: {} ({})", it.id, stored(&it.label), it.size)),
        );
        sheet.items(self.edges.iter().map(|it| {
            let place = it.evidence.as_ref().map(|it| style.place(&it.source.place()));
            let place = around(", ", &place.unwrap_or_default(), "");
            let (src, rel, dst) = (name(it.src), it.words(), name(it.dst));
            format!("  {src} → {} {dst}  ({}{place})", style.safe(&rel), score(it.confidence))
        }));
        sheet.remark(self.truncated.as_ref());
    }
}
