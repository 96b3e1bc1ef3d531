//! Normalize: from the bytes of a file to text, structure and the way back.
//!
//! In: [`SourceDoc`]. Out: [`NormalDoc`]. Steps, each in its file: decode, redact, read by format, join the
//! maps, then title, aliases, link paths and language, which every format shares.
//! Invariants: secrets are gone before any format sees the text; every piece of normalized text that came
//! from the file leads back to it; a document without text is a document.
//! Not here: chunks, sentences, names. A new file type is a file here and a line in `format.rs`.

mod builder;
mod decode;
mod format;
mod frontmatter;
mod html;
pub mod language;
mod markdown;
mod plain;
mod redact;
mod target;

use std::collections::BTreeMap;

use crate::belt::{DocFault, Stage};
use crate::pipeline::parcel::{BlockKind, DocHead, DocMeta, LinkKind, NormalDoc, SourceDoc};
use crate::terms::{RelPath, Segment, SpanMap, norm_of};
use decode::Decoded;
use format::{Format, FormatLimits, Parsed, Reader};
use redact::Redacted;

/// Deepest nesting of lists, quotations and elements that is followed; a line of Markdown costs time by its
/// depth.
const MAX_NESTING: usize = 100;
/// Longest title or alias, characters; longer ones are sentences.
const MAX_TITLE_CHARS: usize = 200;

/// The normalize stage.
#[derive(Debug)]
pub struct Normalizer {
    limits: FormatLimits,
}

impl Normalizer {
    /// A stage for files up to the size that the settings allow.
    pub fn new(settings: &config::settings::Watch) -> Self {
        let max_file_bytes = usize::try_from(settings.max_file_bytes).unwrap_or(usize::MAX);
        // Separators of cells and blocks can make a text longer than its file, but never by this much.
        let max_output_bytes = max_file_bytes.saturating_mul(2).min(u32::MAX as usize);
        Normalizer { limits: FormatLimits { max_output_bytes, max_nesting: MAX_NESTING } }
    }
}

impl Stage for Normalizer {
    const NAME: &'static str = "normalize";
    type In = SourceDoc;
    type Out = NormalDoc;

    fn run(&mut self, source: SourceDoc) -> Result<NormalDoc, DocFault> {
        let reader = format::reader_for(&source.path.extension());
        let Read { mut parsed, line_starts, redactions } = match reader {
            Reader::Text(format) => self.read_text(format, &source.bytes)?,
            Reader::Bytes(format) => self.read_bytes(format, &source.bytes)?,
        };
        let title = title_of(&mut parsed, &source.path, reader.takes_title_from_heading());
        add_heading_alias(&mut parsed, &title);
        resolve_links(&mut parsed, source.path.folder());
        let stated = stated_language(&parsed.meta);
        let languages = language::languages_of(&parsed.text, &parsed.blocks, stated);
        Ok(NormalDoc {
            head: DocHead {
                path: source.path,
                hash: source.hash,
                n_bytes: source.bytes.len() as u64,
                mtime_ms: source.mtime_ms,
            },
            title,
            meta: parsed.meta,
            language: languages.main,
            other_languages: languages.others,
            map: parsed.map,
            text: parsed.text,
            line_starts,
            pages: parsed.pages,
            blocks: parsed.blocks,
            inlines: parsed.inlines,
            links: parsed.links,
            redactions,
            warnings: parsed.warnings,
        })
    }
}

/// A document as its format left it; its map leads to the bytes of the file, or to the extracted text.
struct Read {
    parsed: Parsed,
    line_starts: Vec<u32>,
    redactions: BTreeMap<&'static str, u32>,
}

impl Normalizer {
    fn read_text(&self, format: &dyn Format<str>, bytes: &[u8]) -> Result<Read, DocFault> {
        let Decoded { text, map: to_file, line_starts, mut warnings } = decode::decode(bytes)?;
        let Redacted { text, map: to_decoded, counts: redactions } = redact::redact(text);
        let mut parsed = format
            .read(&text, &self.limits)
            .map_err(|reason| DocFault::lasting(Self::NAME, reason))?;
        warnings.append(&mut parsed.warnings);
        let to_redacted = match &to_decoded {
            Some(map) => parsed.map.then(map),
            None => parsed.map,
        };
        parsed.map = if is_identity(&to_file) { to_redacted } else { to_redacted.then(&to_file) };
        parsed.warnings = warnings;
        Ok(Read { parsed, line_starts, redactions })
    }

    fn read_bytes(&self, format: &dyn Format<[u8]>, bytes: &[u8]) -> Result<Read, DocFault> {
        let mut parsed = format
            .read(bytes, &self.limits)
            .map_err(|reason| DocFault::lasting(Self::NAME, reason))?;
        let line_starts = decode::line_starts(parsed.text.as_bytes());
        let redactions = redact::redact_parsed(&mut parsed);
        Ok(Read { parsed, line_starts, redactions })
    }
}

/// True when places in both texts are the same, so that joining the maps would only copy.
fn is_identity(map: &SpanMap) -> bool {
    matches!(map.segments(), [] | [Segment { to: 0, from: 0, .. }])
        && map.segments().iter().all(|segment| segment.to_len == segment.from_len)
}

/// The stated title, else (for formats that say so) the first heading of level 1, else the file's name.
fn title_of(parsed: &mut Parsed, path: &RelPath, takes_heading: bool) -> String {
    let stated = parsed.title.take().map(|title| tidy(&title)).filter(|title| !title.is_empty());
    parsed.meta.has_stated_title = stated.is_some();
    stated.or_else(|| first_heading(parsed).filter(|_| takes_heading)).unwrap_or_else(|| {
        let stem = path.stem().trim();
        if stem.is_empty() { path.file_name().to_string() } else { stem.to_string() }
    })
}

/// The first heading, if it is of level 1: a deeper one (`## Overview`) names a section, not the document.
fn first_heading(parsed: &Parsed) -> Option<String> {
    let heading = parsed.blocks.iter().find(|block| matches!(block.kind, BlockKind::Heading(_)))?;
    let title = tidy(heading.span.of(&parsed.text));
    (heading.kind == BlockKind::Heading(1) && !title.is_empty()).then_some(title)
}

/// Makes the first heading another name of the document, where it is one.
fn add_heading_alias(parsed: &mut Parsed, title: &str) {
    let Some(heading) = first_heading(parsed) else { return };
    let norm = norm_of(&heading);
    let aliases = &mut parsed.meta.aliases;
    let is_known = norm == norm_of(title) || aliases.iter().any(|alias| norm_of(alias) == norm);
    if !norm.is_empty() && !is_known {
        aliases.push(heading);
    }
}

/// One line of bounded length.
fn tidy(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    words.join(" ").chars().take(MAX_TITLE_CHARS).collect()
}

/// The language that a document states: its format's own, else a key of its frontmatter.
fn stated_language(meta: &DocMeta) -> Option<&str> {
    let by_key = |key: &&str| meta.extra.get(*key).and_then(serde_json::Value::as_str);
    meta.language.as_deref().or_else(|| ["lang", "language"].iter().find_map(by_key))
}

/// Makes paths relative to the project's root.
fn resolve_links(parsed: &mut Parsed, folder: &str) {
    for link in parsed.links.iter_mut().filter(|link| link.kind != LinkKind::Url) {
        link.target = target::resolve(folder, &link.target);
    }
}

#[cfg(test)]
mod tests;
