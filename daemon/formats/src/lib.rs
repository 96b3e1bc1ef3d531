//! Formats: reads files. The crate depends on `redact` and `model`; only the engine and the server call it.
//!
//! Normalize: converts the bytes of a file to text and structure, with a map back to the file.
//!
//! In: [`SourceDoc`]. Out: [`Document`]. Steps, each in its own file: decode, redact, read by format, redact again,
//! join the maps, then title, aliases, link paths and language, which are the same for every format.
//! Invariants: secrets are removed before any format sees the text; every piece of normalized text that came from the
//! file maps back to it; a document without text is a document. Confined formats are read in a worker process
//! ([`Parsing`]). Everything else happens in this process: text is redacted before it goes to the worker, the text of
//! binary files afterwards. The result is the same in both cases.

mod builder;
mod code;
mod csv;
mod decode;
mod docx;
mod email;
mod encoded;
mod format;
mod frontmatter;
mod given;
mod html;
mod json;
pub mod language;
mod light;
mod markdown;
mod note;
mod notebook;
mod pdf;
pub mod sandbox;
mod sheet;
mod target;
mod xlsx;

use std::borrow::Cow;
use std::sync::Arc;

use config::formats::Source;
use config::limits::MAX_DOCUMENT_TEXT_BYTES;
use config::settings::{Privacy, Watch};

use crate::sandbox::{Request, Workers};
use decode::Decoded;
pub use encoded::without_data;
pub(crate) use format::{FormatLimits, Reader, reader_for};
use given::Ground;
pub use given::{GivenError, GivenNames};
use model::document::{
    BlockKind, DocHead, DocMeta, Document, Findings, GivenName, Parsed, Reading, SourceDoc,
    StatedNote,
};
use model::terms::{Lane, RelPath, Segment, SpanMap, norm_of};
use model::{DocFault, Stage};
use redact::{AllowedPaths, Redacted, Redactor};

/// Deepest nesting of lists, quotations and elements that is kept; the time for a line of Markdown grows with its
/// depth.
const MAX_NESTING: usize = 100;
/// Longest title or alias, in characters; longer ones are sentences.
const MAX_TITLE_CHARS: usize = 200;

/// The normalize stage.
#[derive(Debug)]
pub struct Normalizer {
    limits: FormatLimits,
    redactor: Redactor,
    /// Security labels, and where they apply.
    labels: Vec<(String, AllowedPaths)>,
    parsing: Parsing,
    lane: Lane,
    given: Option<Arc<GivenNames>>,
}

/// Where confined formats are parsed.
#[derive(Debug, Clone, Default)]
pub enum Parsing {
    /// In this process: for tests, fuzzing and benchmarks, which can tolerate a crash.
    #[default]
    InProcess,
    /// In worker processes.
    InWorkers(Arc<Workers>),
}

impl Parsing {
    /// Returns the number of bulk documents worth reading in parallel.
    pub fn n_at_once(&self) -> usize {
        match self {
            Parsing::InProcess => 1,
            Parsing::InWorkers(workers) => workers.n_bulk(),
        }
    }
}

impl Normalizer {
    /// Makes a stage that follows the settings for size and privacy and parses in this process.
    pub fn new(watch: &Watch, privacy: &Privacy) -> Self {
        Normalizer::with(watch, privacy, Parsing::InProcess, Lane::Bulk)
    }

    /// Makes a stage for one lane that parses where `parsing` says.
    pub fn with(watch: &Watch, privacy: &Privacy, parsing: Parsing, lane: Lane) -> Self {
        let max_file_bytes = usize::try_from(watch.max_file_bytes).unwrap_or(usize::MAX);
        // Separators of cells and blocks can make a text longer than its file, but never twice as long.
        let max_output_bytes = max_file_bytes.saturating_mul(2).min(u32::MAX as usize);
        let limits = FormatLimits { max_output_bytes, max_nesting: MAX_NESTING };
        let label = |it: &String| {
            let (label, glob) = it.trim().split_once(char::is_whitespace)?;
            Some((label.to_string(), AllowedPaths::new(&[glob.trim().to_string()])))
        };
        let labels = privacy.labels.iter().filter_map(label).collect();
        Normalizer { limits, redactor: Redactor::new(privacy), labels, parsing, lane, given: None }
    }

    /// Sets the names that the user states for documents.
    pub fn with_given(mut self, given: Option<Arc<GivenNames>>) -> Self {
        self.given = given;
        self
    }
}

impl Stage for Normalizer {
    const NAME: &'static str = "normalize";
    type In = SourceDoc;
    type Out = Document;

    fn run(&mut self, source: SourceDoc) -> Result<Document, DocFault> {
        let extension = source.path.extension();
        let reader = reader_for(&extension);
        let redactor = self.redactor.for_path(source.path.as_str());
        let read = match reader {
            Reader::Text(_) => self.read_text(reader, &extension, &source.bytes, redactor),
            Reader::Bytes(_) => self.read_bytes(reader, &extension, &source.bytes, redactor),
        };
        let Read { mut parsed, line_starts, findings, note } = read.map_err(|mut fault| {
            // A reason may quote the file, so it may contain a secret.
            fault.reason = redact::clean(&fault.reason).into_owned();
            fault
        })?;
        encoded::mark(&mut parsed);
        encoded::mark_dense(&mut parsed);
        // A text file may be empty; pages without text are most often pictures of it.
        let is_bare = matches!(reader, Reader::Bytes(_)) && parsed.text.trim().is_empty();
        if is_bare && parsed.warnings.is_empty() {
            parsed.warnings.push(NO_TEXT.to_string());
        }
        if parsed.meta.security.is_none() {
            let path = source.path.as_str();
            let label = self.labels.iter().find(|(_, paths)| paths.hold(path));
            parsed.meta.security = label.map(|it| it.0.clone());
        }
        see_names(&mut parsed.meta);
        let title = title_of(&mut parsed, &source.path, reader.takes_title_from_heading());
        add_heading_alias(&mut parsed, &title);
        let stated = stated_language(&parsed.meta);
        let languages = language::languages_of(&parsed.text, &parsed.blocks, stated);
        let given = self.given_in(&source, reader, &mut parsed);
        let written = is_readable(&extension).then(|| encoded::shortened(&source.bytes));
        Ok(Document {
            head: DocHead {
                path: source.path,
                hash: source.hash,
                n_bytes: source.bytes.len() as u64,
                mtime_ms: source.mtime_ms,
                pass: source.pass,
                reading: Reading::Whole,
            },
            title,
            meta: parsed.meta,
            language: languages.main,
            other_languages: languages
                .others
                .into_iter()
                .map(|(at, it)| (at, it.to_string()))
                .collect(),
            map: parsed.map,
            text: parsed.text,
            line_starts,
            pages: parsed.pages,
            blocks: parsed.blocks,
            inlines: parsed.inlines,
            links: parsed.links,
            given,
            note,
            written,
            findings,
            warnings: parsed.warnings,
            ..Document::default()
        })
    }
}

/// The warning of a document, such as a scan, in which no text was found.
const NO_TEXT: &str =
    "it has no text; hint: if it shows pictures of text, make them searchable with an OCR program";

/// True when people can read a file with this extension as it is.
fn is_readable(extension: &str) -> bool {
    config::formats::of(extension).is_none_or(|format| format.source == Source::Prose)
}

/// A document read by its format. The map leads to the bytes of the file, or to the extracted text.
struct Read {
    parsed: Parsed,
    line_starts: Vec<u32>,
    findings: Findings,
    note: Option<Box<StatedNote>>,
}

impl Normalizer {
    fn read_text(
        &self,
        reader: Reader,
        extension: &str,
        bytes: &[u8],
        redactor: Option<&Redactor>,
    ) -> Result<Read, DocFault> {
        let Decoded { text, map: to_file, line_starts, mut warnings } = decode::decode(bytes)?;
        // Without a redactor for this path, the text stays as it is.
        let unchanged =
            |text| Redacted { text, map: None, findings: Findings::default(), allowed: Vec::new() };
        let Redacted { text, map: to_decoded, mut findings, allowed } = match redactor {
            Some(redactor) => redactor.redact(text),
            None => unchanged(text),
        };
        let (mut parsed, mut note) = if note::is_note(extension) {
            let read = markdown::read_note(&text, &self.limits_of(reader));
            let (parsed, note) = read.map_err(|reason| DocFault::lasting(Self::NAME, reason))?;
            (parsed, Some(note::keep(&text, note)))
        } else {
            (self.parse(reader, extension, text.as_bytes())?, None)
        };
        // Warnings of decoding come first.
        warnings.append(&mut parsed.warnings);
        parsed.warnings = warnings;
        if let Some(redactor) = redactor {
            // The format may have joined pieces of a secret that markup had split.
            let found = redactor.redact_parsed(&mut parsed, &allowed);
            if let Some(note) = &mut note {
                redactor.redact_note(note, &allowed, !found.is_empty());
            }
            findings.add(&found);
        }
        if let Some(note) = &mut note {
            parsed.warnings.extend(note::limit(note));
            note::place(note, to_decoded.as_ref(), &to_file, &line_starts);
        }
        // Join the maps step by step: normalized text -> redacted -> decoded -> file.
        let to_redacted = match &to_decoded {
            Some(map) => parsed.map.then(map),
            None => parsed.map,
        };
        parsed.map = if is_identity(&to_file) { to_redacted } else { to_redacted.then(&to_file) };
        if let Some(note) = &note {
            note::lead(&mut parsed.links, &parsed.map, note);
        }
        Ok(Read { parsed, line_starts, findings, note: note.map(Box::new) })
    }

    fn read_bytes(
        &self,
        reader: Reader,
        extension: &str,
        bytes: &[u8],
        redactor: Option<&Redactor>,
    ) -> Result<Read, DocFault> {
        let mut parsed = self.parse(reader, extension, bytes)?;
        let findings = redactor.map(|redactor| redactor.redact_parsed(&mut parsed, &[]));
        // Line numbers of extracted text mean nothing to a reader; locations are pages and headings.
        let findings = findings.unwrap_or_default();
        Ok(Read { parsed, line_starts: Vec::new(), findings, note: None })
    }

    /// Returns the places of the names that the user states for the document; adds a warning about those not found.
    fn given_in(
        &self,
        source: &SourceDoc,
        reader: Reader,
        parsed: &mut Parsed,
    ) -> Option<Vec<GivenName>> {
        let file = matches!(reader, Reader::Text(_)).then_some(&*source.bytes);
        let ground = Ground { file, text: &parsed.text, map: &parsed.map };
        let (names, warning) = self.given.as_ref()?.places_in(&source.path, &ground)?;
        parsed.warnings.extend(warning);
        Some(names)
    }

    /// Returns the limits for a reader: a binary file may be far larger than its text.
    fn limits_of(&self, reader: Reader) -> FormatLimits {
        let max_output_bytes = match reader {
            Reader::Text(_) => self.limits.max_output_bytes,
            Reader::Bytes(_) => self.limits.max_output_bytes.max(MAX_DOCUMENT_TEXT_BYTES),
        };
        FormatLimits { max_output_bytes, ..self.limits }
    }

    /// Runs the format, in this process or in a worker.
    fn parse(&self, reader: Reader, extension: &str, source: &[u8]) -> Result<Parsed, DocFault> {
        let limits = self.limits_of(reader);
        let is_confined = config::formats::of(extension).is_some_and(|it| it.is_confined);
        match &self.parsing {
            Parsing::InWorkers(workers) if is_confined => workers.read(&Request {
                stage: Self::NAME,
                lane: self.lane,
                extension,
                source,
                is_text: matches!(reader, Reader::Text(_)),
                limits,
            }),
            _ => {
                let parsed = reader.read(source, &limits);
                parsed.map_err(|reason| DocFault::lasting(Self::NAME, reason))
            }
        }
    }
}

/// True when places in both texts are the same, so that joining the maps would only copy them.
fn is_identity(map: &SpanMap) -> bool {
    matches!(map.segments(), [] | [Segment { to: 0, from: 0, .. }])
        && map.segments().iter().all(|segment| segment.to_len == segment.from_len)
}

/// Returns the stated title, else (for formats that allow it) the first heading of level 1, else the file's name.
fn title_of(parsed: &mut Parsed, path: &RelPath, takes_heading: bool) -> String {
    let stated = parsed.title.take().map(|title| tidy(&title)).filter(|title| !title.is_empty());
    parsed.meta.has_stated_title = stated.is_some();
    stated.or_else(|| first_heading(parsed).filter(|_| takes_heading)).unwrap_or_else(|| {
        let stem = names::seen(path.stem());
        if stem.trim().is_empty() { path.file_name().to_string() } else { stem.trim().to_string() }
    })
}

/// Removes what nobody sees from the names that the document states, as the builder does from its text.
fn see_names(meta: &mut DocMeta) {
    for name in meta.aliases.iter_mut().chain(&mut meta.tags).chain(&mut meta.doc_type) {
        if let Cow::Owned(seen) = names::seen(name) {
            *name = seen;
        }
    }
}

/// Returns the first heading if its level is 1; a deeper one (`## Overview`) names a section, not the document.
fn first_heading(parsed: &Parsed) -> Option<String> {
    let heading = parsed.blocks.iter().find(|block| matches!(block.kind, BlockKind::Heading(_)))?;
    let title = tidy(heading.span.of(&parsed.text));
    (heading.kind == BlockKind::Heading(1) && !title.is_empty()).then_some(title)
}

/// Adds the first heading as an alias of the document, if it differs from the title.
fn add_heading_alias(parsed: &mut Parsed, title: &str) {
    let Some(heading) = first_heading(parsed) else { return };
    let norm = norm_of(&heading);
    let aliases = &mut parsed.meta.aliases;
    let is_known = norm == norm_of(title) || aliases.iter().any(|alias| norm_of(alias) == norm);
    if !norm.is_empty() && !is_known {
        aliases.push(heading);
    }
}

/// Returns one line of bounded length.
fn tidy(title: &str) -> String {
    let title = names::seen(title);
    let words: Vec<&str> = title.split_whitespace().collect();
    words.join(" ").chars().take(MAX_TITLE_CHARS).collect()
}

/// Returns the stated language: from the format, else from a key of the front matter.
fn stated_language(meta: &DocMeta) -> Option<&str> {
    let by_key = |key: &&str| meta.extra.get(*key).and_then(serde_json::Value::as_str);
    meta.language.as_deref().or_else(|| ["lang", "language"].iter().find_map(by_key))
}

#[cfg(test)]
mod tests;
