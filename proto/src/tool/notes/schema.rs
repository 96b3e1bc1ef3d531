//! The tools about what notes of one type have in common.
//!
//! A field of a note is a key of its front matter, a category of its observations or a type of its
//! relations. A schema is a note of type `schema` whose front matter has `entity: TYPE` and, under
//! `schema`, one field on each line: `name: string, what it is`. `name?` is optional, `name(array, style)`
//! may occur several times, `name(enum, style): [a, b]` has one of these values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::OutputFormat;
use crate::shape::Freshness;
use crate::tool::{Effect, Tool, ToolSet};
use crate::view::{Sheet, Style, View, around, as_written, count, fresh};

/// Parameters of `schema_infer`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaInfer {
    /// Frontmatter `type` of the notes, such as `person`.
    #[serde(rename = "type", alias = "note_type")]
    pub note_type: String,
    /// Least share of the notes that state a field for it to be suggested, 0 to 1; 0.25 when left out.
    pub threshold: Option<f32>,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Where notes state a field.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A key of the front matter.
    #[default]
    Field,
    /// A category of observations.
    Observation,
    /// A type of relations.
    Relation,
}

/// How notes use a field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FieldUse {
    /// Its name.
    pub name: String,
    /// `field` of the front matter, `observation` or `relation`.
    pub kind: FieldKind,
    /// Notes that state it.
    pub n_notes: u64,
    /// Their share, 0 to 1.
    pub share: f32,
    /// True if more than half of them state it several times.
    #[serde(default)]
    pub is_list: bool,
    /// Some of its values, at most three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
}

/// Reply of `schema_infer`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaInferReply {
    /// The type that was asked for.
    #[serde(rename = "type")]
    pub note_type: String,
    /// Notes of that type.
    pub n_notes: u64,
    /// What they state, the most usual first.
    pub fields: Vec<FieldUse>,
    /// A schema note that says so: fields that 95 % of the notes state are required, those above the threshold may be
    /// missing. Left out when no field is above it.
    pub schema: Option<String>,
    /// What to do where there is none.
    pub hint: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for SchemaInfer {
    const NAME: &'static str = "schema_infer";
    const SUMMARY: &'static str = "What the notes of a type usually state: front matter, categories of observations, \
        types of relations, each with its share; and a schema note that says so.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = SchemaInferReply;
}

impl View for SchemaInferReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let (notes, note_type) = (count(self.n_notes, "note"), style.safe(&self.note_type));
        sheet.line(&format!("{notes} of the type {note_type}"));
        hint(self.hint.as_ref(), sheet);
        sheet.items(self.fields.iter().map(|it| field(it, style)));
        if let Some(schema) = &self.schema {
            sheet.heading("a schema note that says so:");
            sheet.line(as_written(schema).trim_end());
        }
    }
}

/// Parameters of `schema_validate`: a type or a note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaValidate {
    /// All notes of this type.
    #[serde(
        default,
        rename = "type",
        alias = "note_type",
        skip_serializing_if = "Option::is_none"
    )]
    pub note_type: Option<String>,
    /// One note: path, permalink, title or `memory://…`.
    #[serde(
        default,
        alias = "note",
        alias = "identifier",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<String>,
    /// Which project; that of this session when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `text` or `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_format: Option<OutputFormat>,
}

/// A note that lacks something or states it otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaFault {
    /// Its title.
    pub title: String,
    /// Path relative to the project.
    pub path: String,
    /// Required fields that it does not state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// What it states otherwise, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
    /// Observations and relations that the schema does not have; they are allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<String>,
}

/// Reply of `schema_validate`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaValidateReply {
    /// The schema note by which was judged, or the note itself; left out where none is stated: then what 95 % of the
    /// notes of the type state is expected.
    pub schema: Option<String>,
    /// Notes that were compared.
    pub n_notes: u64,
    /// Those that lack nothing and state nothing otherwise.
    pub n_valid: u64,
    /// The others, the first 100 by path.
    pub faults: Vec<SchemaFault>,
    /// How to state a schema.
    pub hint: Option<String>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for SchemaValidate {
    const NAME: &'static str = "schema_validate";
    const SUMMARY: &'static str = "Which notes of a type lack what its schema requires, or state it otherwise; without \
        a schema, what nearly all of them state is required.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = SchemaValidateReply;
}

impl View for SchemaValidateReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let by = match &self.schema {
            Some(schema) => style.safe(schema).into_owned(),
            None => "what nearly all of them state".to_string(),
        };
        sheet.line(&format!("{} of {} fit {by}", self.n_valid, count(self.n_notes, "note")));
        sheet.items(self.faults.iter().map(|it| fault(it, style)));
        hint(self.hint.as_ref(), sheet);
    }
}

/// Parameters of `schema_diff`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaDiff {
    /// Frontmatter `type` of the notes, such as `person`.
    #[serde(rename = "type", alias = "note_type")]
    pub note_type: String,
    /// Which project; that of this session when left out.
    pub project: Option<String>,
    /// `text` or `json`.
    pub output_format: Option<OutputFormat>,
}

/// Reply of `schema_diff`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaDiffReply {
    /// The schema note.
    pub schema: String,
    /// Notes of the type.
    pub n_notes: u64,
    /// Fields that a quarter of the notes state and the schema does not have.
    pub new_fields: Vec<FieldUse>,
    /// Fields of the schema that fewer than a tenth of the notes state.
    pub dropped_fields: Vec<FieldUse>,
    /// Fields that the schema has as one value and most notes state several times, or the other way around.
    pub cardinality_changes: Vec<FieldUse>,
    /// Freshness.
    #[serde(flatten)]
    pub freshness: Freshness,
}

impl Tool for SchemaDiff {
    const NAME: &'static str = "schema_diff";
    const SUMMARY: &'static str = "How the notes of a type have moved away from its schema: fields that are new, that \
        nearly no note states any more, and that are stated several times.";
    const EFFECT: Effect = Effect::Reads;
    const SET: ToolSet = ToolSet::Notes;
    type Reply = SchemaDiffReply;
}

impl View for SchemaDiffReply {
    fresh!();
    fn view(&self, sheet: &mut Sheet) {
        let style = sheet.style();
        let (notes, schema) = (count(self.n_notes, "note"), style.safe(&self.schema));
        sheet.line(&format!("{notes} against {schema}"));
        let parts = [
            ("new", &self.new_fields),
            ("hardly stated any more", &self.dropped_fields),
            ("one value or several", &self.cardinality_changes),
        ];
        if parts.iter().all(|(_, fields)| fields.is_empty()) {
            sheet.line("no difference");
        }
        for (what, fields) in parts {
            sheet.list(&format!("{what}:"), fields.iter().map(|it| field(it, style)));
        }
    }
}

/// `  role (observation, 3 notes, 60 %): Engineer; Manager`.
fn field(it: &FieldUse, style: Style) -> String {
    let kind = match it.kind {
        FieldKind::Field => "front matter",
        FieldKind::Observation => "observation",
        FieldKind::Relation => "relation",
    };
    let list = if it.is_list { ", several" } else { "" };
    let samples: Vec<_> = it.samples.iter().map(|it| style.safe(it)).collect();
    let samples = around(": ", &samples.join("; "), "");
    let share = it.share * 100.0;
    let (name, notes) = (style.safe(&it.name), count(it.n_notes, "note"));
    format!("  {name} ({kind}{list}, {notes}, {share:.0} %){samples}")
}

fn hint(hint: Option<&String>, sheet: &mut Sheet) {
    let style = sheet.style();
    if let Some(hint) = hint {
        sheet.line(&format!("hint: {}", style.safe(hint)));
    }
}

/// `  Ada (people/ada.md): lacks name; …`.
fn fault(it: &SchemaFault, style: Style) -> String {
    let mut faults = Vec::new();
    if !it.missing.is_empty() {
        faults.push(format!("lacks {}", it.missing.join(", ")));
    }
    faults.extend(it.differs.iter().cloned());
    if !it.further.is_empty() {
        faults.push(format!("has besides {}", it.further.join(", ")));
    }
    let (title, path) = (style.safe(&it.title), style.safe(&it.path));
    format!("  {title} ({path}): {}", style.safe(&faults.join("; ")))
}
