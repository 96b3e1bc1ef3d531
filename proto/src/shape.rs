//! Nouns shared by several replies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::view::counted;

/// Public id of an entity, document or chunk; below 2^53. An entity's id is the same in every index of the same folder;
/// the others are valid until the index is rebuilt.
pub type Id = i64;

/// How fresh an answer is. Every reply carries it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Freshness {
    /// The project that answered.
    pub project: String,
    /// The commit this answer saw.
    pub tick: u64,
    /// Set while the index is still being built: `indexed 3,120 of 9,800`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub building: Option<String>,
}

/// An entity in brief.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EntityView {
    /// Its id.
    pub id: Id,
    /// Its canonical name.
    pub name: String,
    /// What kind of thing it is; empty where that is not sure.
    #[serde(rename = "type")]
    pub entity_type: String,
    /// The note that is its home, where names are looked up.
    pub path: Option<String>,
    /// Its other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How well it fits the question, 0 to 1.
    pub score: Option<f32>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

/// What a document states about where it comes from and who may read it.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OriginView {
    /// Frontmatter `source_url`, or what `ingest_docs` gave.
    pub source_url: Option<String>,
    /// Frontmatter `security`.
    pub security: Option<String>,
}

impl OriginView {
    /// Returns both in words: `security: internal, source: https://example.org/a`; none if neither is stated.
    pub fn words(&self) -> Option<String> {
        let parts = [("security", &self.security), ("source", &self.source_url)];
        let parts =
            parts.into_iter().filter_map(|(what, it)| Some(format!("{what}: {}", it.as_ref()?)));
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// A place in a document that a person can open.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceView {
    /// Path relative to the project.
    pub path: String,
    /// First line, from 1. Left out where a format has no lines (PDF, DOCX).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// Page, from 1, where a format has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// The last two headings above it, for formats in which lines alone do not help a reader (PDF, DOCX, HTML).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// The words at this place.
    pub text: String,
}

pub(crate) fn is_zero(line: &u32) -> bool {
    *line == 0
}

impl SourceView {
    /// Returns the place as people cite it: `note.md:12`, `report.pdf p. 3`, `letter.docx § Terms › Payment`.
    pub fn place(&self) -> String {
        let place = place(&self.path, [self.line, self.line], [self.page, self.page]);
        let is_exact = self.line > 0 || self.page.is_some();
        if is_exact || self.section.is_empty() {
            place
        } else {
            format!("{place} § {}", self.section)
        }
    }
}

/// Formats a path with its lines, or with the pages of a document that has them: `note.md:12-18`, `report.pdf p. 3-4`.
/// Lines are omitted if they are 0.
pub fn place(path: &str, lines: [u32; 2], pages: [Option<u32>; 2]) -> String {
    let range =
        |first, last| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    match (pages, lines) {
        ([Some(first), Some(last)], _) => format!("{path} p. {}", range(first, last)),
        (_, [0, _]) => path.to_string(),
        (_, [first, last]) => format!("{path}:{}", range(first, last)),
    }
}

/// Formats what is said of a name behind it, ` (Service, id 12)`, without what is empty; nothing if all is.
pub fn aside(parts: &[&str]) -> String {
    let shown: Vec<&str> = parts.iter().copied().filter(|it| !it.is_empty()).collect();
    if shown.is_empty() { String::new() } else { format!(" ({})", shown.join(", ")) }
}

/// A relation between two entities of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeView {
    /// Subject's id.
    pub src: Id,
    /// Object's id.
    pub dst: Id,
    /// The relation.
    pub rel: String,
}

/// Further sources of a text that is indexed once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AlsoIn {
    /// Some of them.
    pub places: Vec<PlaceView>,
    /// How many documents there are, beside the hit's own.
    pub n: u64,
}

/// A place of a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceView {
    /// Path relative to the project.
    pub path: String,
    /// From 1. Left out where a format has no lines (PDF, DOCX).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// From 1, where a format has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

impl PlaceView {
    /// Returns the place as people cite it: `note.md:12`, `report.pdf p. 3`, `letter.docx`.
    pub fn place(&self) -> String {
        place(&self.path, [self.line; 2], [self.page; 2])
    }
}

/// One statement of a relation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceView {
    /// Where it is stated.
    #[serde(flatten)]
    pub source: SourceView,
    /// Byte span in the file; where the file's bytes are no text (PDF, DOCX), in the text extracted from it.
    pub span: [u64; 2],
    /// Which pattern found it.
    pub pattern: String,
    /// Pattern weight × proximity × link, 0 to 1.
    pub confidence: f32,
    /// The day that the document states, else the day it was modified, `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// A relation with its evidence.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelationView {
    /// Who.
    pub subject: String,
    /// What.
    pub predicate: String,
    /// Whom.
    pub object: String,
    /// The entity that the subject is.
    pub subject_id: Option<Id>,
    /// The note that is the subject's home.
    pub subject_path: Option<String>,
    /// Whether others have the subject's name, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub subject_shares_name: bool,
    /// The entity that the object is.
    pub object_id: Option<Id>,
    /// The note that is the object's home.
    pub object_path: Option<String>,
    /// Whether others have the object's name, too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub object_shares_name: bool,
    /// Highest confidence of its evidence, raised by each independent source, lowered by evidence against it.
    pub confidence: f32,
    /// Set for an association, which states nothing: the sentences, items and rows that name both.
    pub n_together: Option<u32>,
    /// Hops from the entity asked about, from 1.
    pub hop: u32,
    /// Best evidence first; then, with a pattern that begins `against`, what contradicts it.
    pub evidence: Vec<EvidenceView>,
}

/// Returns what stands between the ends of a relation for people: the predicate, or how often they are mentioned
/// together.
pub(crate) fn between(predicate: &str, n_together: Option<u32>) -> String {
    match n_together {
        Some(n) => format!("is mentioned {n} times together with"),
        None => predicate.to_string(),
    }
}

impl RelationView {
    /// Returns what stands between the ends for people.
    pub fn words(&self) -> String {
        between(&self.predicate, self.n_together)
    }

    /// Returns both ends for people: names, with the path of a note if the name alone is ambiguous.
    pub fn ends(&self) -> [String; 2] {
        let end = |name: &str, path: &Option<String>, is_shared: bool| match path {
            Some(path) if is_shared => format!("{name} ({path})"),
            _ => name.to_string(),
        };
        [
            end(&self.subject, &self.subject_path, self.subject_shares_name),
            end(&self.object, &self.object_path, self.object_shares_name),
        ]
    }
}

/// What goes with an entity: both are mentioned together more often than chance explains. It states no relation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssociationView {
    /// The other entity.
    #[serde(flatten)]
    pub entity: EntityView,
    /// Sentences, list items and table rows that name both.
    pub n_together: u32,
    /// Dunning's log-likelihood ratio; 10.83 at least.
    pub ratio: f64,
    /// One to three of them that say most.
    pub units: Vec<SourceView>,
}

/// Why writes are paused. Writing resumes by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StallView {
    /// The reason.
    pub why: String,
    /// What to do about it.
    pub hint: String,
}

/// The processes that parse documents: each can read the document it was given, compute and answer, and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersView {
    /// Processes that run; they end when there is nothing to parse.
    pub running: u64,
    /// Those that have a document.
    pub busy: u64,
    /// Most that run at once; one of them is reserved for files just saved.
    pub most: u64,
    /// Started since the daemon was.
    pub started: u64,
    /// Documents that cost a process: a crash, or more time, memory or output than allowed.
    pub failed: u64,
    /// Memory of those without a document, bytes.
    pub idle_bytes: u64,
    /// How they are confined, and what this system lacks for that; set once one has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

impl WorkersView {
    /// Returns a description for people.
    pub fn describe(&self) -> String {
        let WorkersView { running, busy, most, failed, .. } = self;
        let sandbox = self.sandbox.as_deref().unwrap_or("not started yet");
        let n_failed = counted(*failed, "document");
        format!(
            "{running} of {most} workers run, {busy} busy, {n_failed} failed in them; sandbox: {sandbox}"
        )
    }
}
