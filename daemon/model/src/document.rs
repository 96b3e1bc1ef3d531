//! Document: one flat record of everything that is known of a file, to which each stage adds its part.
//!
//! ```text
//! SourceDoc ► normalize ► Document ► chunk ► recognize ► link  ► relate  ► embed   ► write
//!                                    chunks  found       linked  evidence  embedded
//! ```
//! Invariants: a part is empty until its stage has run, and stays as it is afterwards. Deletions and faults go beside
//! documents as [`Item`](crate::Item)s, so the writer sees one stream.

use std::collections::BTreeMap;
use std::sync::Arc;

mod alias;
mod evidence;
mod link;
mod mention;
mod parsed;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use alias::{AliasSource, AliasUse};
pub use evidence::{Evidence, Party};
pub use link::{Link, LinkKind};
pub use mention::{Anaphor, GivenName, Mention, Naming, PlaceFeatures, RecognizerKind};
pub use parsed::Parsed;

use serde::{Deserialize, Serialize};

use super::print::Print;
use crate::terms::{ContentHash, Norm, NormKey, RelPath, Span, SpanMap};

/// How closely a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Pass {
    /// Everything that costs microseconds a sentence: stated names, gazetteer, patterns, templates. Searchable at
    /// once.
    #[default]
    Swift,
    /// Also what costs milliseconds: statistical names, dependencies. A document that was once read deeply always is,
    /// so that none of its facts comes and goes.
    Deep,
}

/// How much of a document is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// Everything.
    #[default]
    Whole,
    /// The names, and the evidence about them, of the document that the index holds in this row: it has chunks,
    /// vectors and mined terms already.
    Stored(i64),
}

/// A file as read from disk.
#[derive(Debug, Clone)]
pub struct SourceDoc {
    /// Its path in the project.
    pub path: RelPath,
    /// All of its bytes, at most the size limit.
    pub bytes: Arc<[u8]>,
    /// Hash of the bytes.
    pub hash: ContentHash,
    /// Modification time, milliseconds since 1970.
    pub mtime_ms: i64,
    /// How closely to read it.
    pub pass: Pass,
}

/// What is known of a document besides its text.
#[derive(Debug, Clone, Default)]
pub struct DocHead {
    /// Its path in the project.
    pub path: RelPath,
    /// Hash of the file's bytes.
    pub hash: ContentHash,
    /// Size of the file in bytes.
    pub n_bytes: u64,
    /// Modification time, milliseconds since 1970.
    pub mtime_ms: i64,
    /// How closely it is read.
    pub pass: Pass,
    /// How much of it is read: unless it is the whole, there are no chunks, vectors and terms.
    pub reading: Reading,
}

/// A document on the belt. Normalization makes it, without secrets; each later stage adds one of the last fields.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Path, hash and times.
    pub head: DocHead,
    /// The name a reader would call the document by: frontmatter title, else (for HTML) the page's title, else the
    /// first heading of level 1 for `.txt` and HTML, else the file name without extension.
    pub title: String,
    /// Metadata that the document states.
    pub meta: DocMeta,
    /// ISO 639-1 code of the main language; empty when there is too little text.
    pub language: String,
    /// Blocks in another language, with its ISO 639-1 code, in order of place.
    pub other_languages: Vec<(Span<Norm>, String)>,
    /// The normalized text: blocks separated by `\n\n`, list items and table rows of one block by `\n`, no
    /// markup, no frontmatter, no boilerplate.
    pub text: String,
    /// From `text` back to the bytes of the file; for a format whose bytes are not text (PDF, DOCX), to the extracted
    /// text before redaction.
    pub map: SpanMap,
    /// Byte offset in the file at which each line starts; the first is 0. Empty if the format has no lines.
    pub line_starts: Vec<u32>,
    /// Offset in `text` at which each page starts, first page first; empty if the format has no pages.
    pub pages: Vec<u32>,
    /// The outline, in order of place. Blocks do not overlap; together they cover `text` except for separators.
    pub blocks: Vec<Block>,
    /// Inline marks inside blocks, in order of place.
    pub inlines: Vec<Inline>,
    /// Links as written, in order of place.
    pub links: Vec<Link>,
    /// The names that the user's table states for it, in order of place; `None` if names are recognized.
    pub given: Option<Vec<GivenName>>,
    /// What the author of a note stated.
    pub note: Option<Box<StatedNote>>,
    /// The file's bytes, if answers quote it as written: formats that people can read as they are.
    pub written: Option<Arc<[u8]>>,
    /// Secrets and personal data that were found.
    pub findings: Findings,
    /// Problems that did not stop the document (frontmatter that is not YAML, bytes that are not text).
    pub warnings: Vec<String>,
    /// From the chunk stage, in order of place; they may overlap by whole sentences.
    pub chunks: Vec<Chunk>,
    /// From the recognize stage: the names in it.
    pub found: Recognized,
    /// From the link stage: what Resolve needs to know of those names.
    pub linked: Linked,
    /// From the relate stage: the relations that it states, in order of place.
    pub evidence: Vec<Evidence>,
    /// From the embed stage.
    pub embedded: Embedded,
}

/// The statements of a note, as its author wrote them. Places are bytes and lines of the file; secrets are removed.
/// Blocks, items and verbatim text are left out.
#[derive(Debug, Clone)]
pub struct StatedNote {
    /// The parsed note.
    pub note: notes::parse::Note,
    /// The line of each link, or a part of it.
    pub link_lines: Vec<String>,
    /// The entity of the note. Its places are not those of the file.
    pub node: notes::memory::Node,
}

/// Secrets and personal data that were found: kind and number, never the value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Removed: every secret, and the personal data that the settings remove.
    pub redacted: BTreeMap<&'static str, u32>,
    /// Personal data that the settings only count.
    pub flagged: BTreeMap<&'static str, u32>,
}

impl Findings {
    /// Returns whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.redacted.is_empty() && self.flagged.is_empty()
    }

    /// Adds the findings of another part of the document.
    pub fn add(&mut self, other: &Findings) {
        for (into, from) in
            [(&mut self.redacted, &other.redacted), (&mut self.flagged, &other.flagged)]
        {
            for (kind, n) in from {
                *into.entry(*kind).or_insert(0) += n;
            }
        }
    }
}

impl Document {
    /// Returns the language of the text at a place; empty when unknown.
    pub fn language_at(&self, offset: usize) -> &str {
        // The first block that ends behind the place, if it starts before it.
        let at = self.other_languages.partition_point(|(span, _)| span.end() <= offset);
        let other = self.other_languages.get(at).filter(|(span, _)| span.start() <= offset);
        other.map_or(self.language.as_str(), |(_, code)| code)
    }

    /// Returns whether the text is, or may be, English, and so is read by the recognizers of English.
    pub fn is_english_at(&self, offset: usize) -> bool {
        may_be_english(self.language_at(offset))
    }
}

/// Returns true for English, and for text too short to detect.
pub fn may_be_english(language: &str) -> bool {
    matches!(language, "" | "en")
}

/// Metadata a document states about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DocMeta {
    /// True if the title was stated (frontmatter, `<title>`), false if it came from the file name.
    pub has_stated_title: bool,
    /// Other names of the document's entity: frontmatter `aliases`, and the first heading where it differs.
    pub aliases: Vec<String>,
    /// Identifiers that links of any document may use for it or a place in it (`notes::resolve::is_id`): `id:…` of Org,
    /// `ref:…` of reStructuredText. They are no names.
    pub ids: Vec<String>,
    /// Frontmatter `tags` and `#tag`s outside code, without `#`, in order, no repeats.
    pub tags: Vec<String>,
    /// Frontmatter `type`, as written.
    pub doc_type: Option<String>,
    /// Its author, as stated: frontmatter `author`, a document property, `<meta name=author>`.
    pub author: Option<String>,
    /// Its language as stated, a BCP 47 tag such as `en-GB`; the detected one is [`Document::language`].
    pub language: Option<String>,
    /// Frontmatter `date` (or `created`), as written.
    pub date: Option<String>,
    /// Frontmatter `source_url`, or `<link rel=canonical>`.
    pub source_url: Option<String>,
    /// Frontmatter `security`.
    pub security: Option<String>,
    /// Everything else in the frontmatter, as JSON values.
    pub extra: BTreeMap<String, serde_json::Value>,
}

/// Key of front matter with the long title of an entry.
pub const LONG_TITLE: &str = "long_title";

impl DocMeta {
    /// Returns the further texts that are searched like the title: the other names, and the long title of an entry,
    /// which is not a name.
    pub fn searched_titles(&self) -> Vec<String> {
        let long = self.extra.get(LONG_TITLE).and_then(|it| it.as_str()).map(String::from);
        self.aliases.iter().cloned().chain(long).collect()
    }
}

/// One piece of the outline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Its place in the normalized text, separators left out.
    pub span: Span<Norm>,
    /// Index in `blocks` of the heading it belongs to (for a heading: of the one above it).
    pub section: Option<u32>,
}

/// The kinds of block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum BlockKind {
    /// Level 1 to 6.
    Heading(u8),
    /// Running text.
    Paragraph,
    /// One item of a list, without the items nested in it.
    ListItem {
        /// Number of the list in the document, counted from 0: siblings share it.
        list: u32,
        /// Nesting depth from 0.
        depth: u8,
        /// The item's number in an ordered list.
        ordinal: Option<u32>,
    },
    /// One row of a table, cells separated by ` | `.
    TableRow {
        /// Number of the table in the document, counted from 0.
        table: u32,
        /// True for the header row.
        is_header: bool,
    },
    /// A fenced or indented code block, or `<pre>`; lines kept.
    Code {
        /// The info string's first word, lowercase; empty when none.
        language: String,
    },
    /// A quotation or callout.
    Quote,
}

/// An inline mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inline {
    /// What it is.
    pub kind: InlineKind,
    /// The marked text.
    pub span: Span<Norm>,
}

/// The kinds of inline mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InlineKind {
    /// Strong emphasis.
    Bold,
    /// Emphasis, which authors give to a term that they introduce.
    Emphasis,
    /// A code span.
    Code,
}

/// A kind of text, by its structure; each has chunk sizes of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Running text.
    General,
    /// A question with its answer, a term with its meaning.
    Definition,
    /// Steps to be done in order.
    Procedure,
    /// Tables, and descriptions of one identifier.
    Reference,
    /// Mostly code.
    Code,
    /// A turn of a dialogue.
    Dialogue,
}

impl Profile {
    /// Returns the name in the settings and in the index.
    pub fn as_str(self) -> &'static str {
        match self {
            Profile::General => "general",
            Profile::Definition => "definition",
            Profile::Procedure => "procedure",
            Profile::Reference => "reference",
            Profile::Code => "code",
            Profile::Dialogue => "dialogue",
        }
    }
}

/// A span of a document sized for retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Place in the normalized text.
    pub span: Span<Norm>,
    /// The headings above it, outermost first, as text (the prelude shows the last two).
    pub headings: Vec<String>,
    /// Length in tokens of the built-in WordPiece tokenizer.
    pub n_tokens: u32,
    /// The kind of text, which determines its sizes.
    pub profile: Profile,
    /// The language of most of it, as in [`Document::language`].
    pub language: String,
    /// Embedding windows inside the chunk, in order; at least one. That of a turn of a dialogue begins before it.
    pub windows: Vec<Span<Norm>>,
    /// Hash of title, headings, language and text: equal hash means equal rows and vectors.
    pub hash: ContentHash,
}

/// The names in a document.
#[derive(Debug, Clone, Default)]
pub struct Recognized {
    /// Sentences of paragraphs, list items, quotes and headings, in order.
    pub sentences: Vec<Span<Norm>>,
    /// Names the document states for its own entity.
    pub stated: Vec<StatedName>,
    /// In order of place, never overlapping.
    pub mentions: Vec<Mention>,
    /// In order of place.
    pub anaphors: Vec<Anaphor>,
    /// Candidate gazetteer terms of this document alone, at most one entry a norm, ordered by norm.
    pub terms: Vec<MinedTerm>,
    /// The gazetteer that was used, so that the writer sees whether it has changed since.
    pub gazetteer_version: u64,
}

/// A name that a document states for its own entity.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedName {
    /// As written.
    pub surface: String,
    /// How it was stated.
    pub source: StatedSource,
}

/// Where a document states a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatedSource {
    /// Frontmatter title or page title; the file name if there is none and no heading is shown instead.
    Title,
    /// Frontmatter `aliases`.
    Alias,
    /// The first heading.
    Heading,
}

impl StatedSource {
    /// Decodes the stored number of a source: its position in the declaration, strongest first.
    pub fn from_code(code: i64) -> StatedSource {
        match code {
            0 => StatedSource::Title,
            1 => StatedSource::Alias,
            _ => StatedSource::Heading,
        }
    }
}

/// A term that may enter the gazetteer.
#[derive(Debug, Clone, PartialEq)]
pub struct MinedTerm {
    /// Its norm.
    pub norm: NormKey,
    /// The most frequent surface in this document; ties go to the smaller.
    pub surface: String,
    /// Greatest weight of its places here: definition 4, heading and title 3, bold and code 2, plain text 1.
    pub weight: u8,
}

/// What Resolve needs to know of a document's names, derived from this document alone.
#[derive(Debug, Clone, Default)]
pub struct Linked {
    /// One entry for each distinct norm that the document mentions or states, ordered by norm.
    pub names: Vec<NameUse>,
    /// For each mention, the index of its name in `names`.
    pub mention_names: Vec<u32>,
    /// For each stated name, the index of its name in `names`.
    pub stated_names: Vec<u32>,
    /// Other spellings of a name that the document shows, ordered, each once.
    pub aliases: Vec<AliasUse>,
}

/// How one document uses one name.
#[derive(Debug, Clone, PartialEq)]
pub struct NameUse {
    /// The norm.
    pub norm: NormKey,
    /// True if inexact candidates may be considered: not for versions, dates, identifiers, steps.
    pub is_fuzzy: bool,
}

/// The vectors of a document, and what it is compared with others by.
#[derive(Debug, Clone, Default)]
pub struct Embedded {
    /// For each chunk, one vector for each of its windows.
    pub vectors: Vec<Vec<UnitVector>>,
    /// The print by which each chunk is compared with others, if it has one; empty if none is compared.
    pub prints: Vec<Option<Print>>,
    /// The facts of a note, in the order of lines.
    pub facts: Vec<EmbeddedFact>,
    /// True if it is in the folder of memory.
    pub in_memory: bool,
}

/// A fact of a note (`notes::memory`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedFact {
    /// Its number, if it has one.
    pub ordinal: Option<u64>,
    /// Its text.
    pub content: String,
    /// First and last line of the file with its own text.
    pub lines: (usize, usize),
    /// Its speaker and day.
    pub turn: notes::turn::Turn,
    /// Of length 0 if the model does not know the language.
    pub vector: UnitVector,
}

/// A vector of length 1, quantized to int8: component × `embedder::UNIT`, rounded, cut off where int8 ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitVector(pub Box<[i8]>);
