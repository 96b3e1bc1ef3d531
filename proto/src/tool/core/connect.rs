//! `connect`: how two things are connected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::name_or_id_given;
use crate::shape::{EntityView, Freshness, RelationView, SourceView};
use crate::tool::{Effect, Tool, ToolSet};

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
