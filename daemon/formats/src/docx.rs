//! DOCX: documents of Word and of programs that write its format (OOXML, transitional and strict).
//!
//! In: the bytes of a file. Out: headings, paragraphs, lists, tables, code, notes and comments of its body, with links
//! and metadata; no pages, since they depend on the layout.
//! ```text
//! bytes ► package (zip) ► xml (tokens) ► body (model) ► write (blocks) ► meta (title, author, dates)
//!                                 └► styles, numbering ──┘
//! ```
//! Invariants: linear time and bounded memory for any input, whatever sizes it states; no recursion; a broken part is
//! read up to the break, with a warning.

mod body;
mod field;
mod math;
mod meta;
mod model;
mod numbering;
mod package;
mod picture;
mod properties;
mod rows;
mod story;
mod styles;
mod symbol;
mod table;
mod write;
mod xml;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashMap;

use self::body::{Body, Means};
use self::numbering::Numbering;
pub(crate) use self::package::Package;
use self::package::Relationship;
use self::styles::Styles;
use super::format::{Format, FormatLimits};
use ::model::document::Parsed;
use ::model::terms::SpanMap;

/// Unpacked bytes that any document may have.
const BASE_BUDGET_BYTES: usize = 32 << 20;
/// Additional unpacked bytes per byte of text that may be written. Word's XML is ten or more times as long as its
/// text.
const BUDGET_PER_TEXT_BYTE: usize = 16;
/// Structure nodes that any document may have.
const BASE_NODES: usize = 100_000;
/// Bytes of the text limit per additional structure node.
const TEXT_BYTES_PER_NODE: usize = 4;

/// Reads Word documents.
pub(crate) struct Docx;

impl Format<[u8]> for Docx {
    fn takes_title_from_heading(&self) -> bool {
        true
    }

    fn read(&self, source: &[u8], limits: &FormatLimits) -> Result<Parsed, String> {
        let package = open_package(source, limits)?;
        let top = package.relationships("")?;
        let main = target_of(&top, "officeDocument").unwrap_or("word/document.xml");
        let text = package.part(main)?.ok_or_else(|| missing(main))?;
        if main.starts_with("xl/") || main.starts_with("ppt/") {
            return Err("a workbook or presentation under the name of a Word document".to_string());
        }
        let parts = Parts::read(&package, main)?;
        let mut parsed = parts.body(&text, &package, limits)?;
        read_properties(&package, &mut parsed)?;
        parsed.map = SpanMap::identity(parsed.text.len(), 0);
        Ok(parsed)
    }
}

/// Opens the container of any Office document.
pub(crate) fn open_package<'a>(
    source: &'a [u8],
    limits: &FormatLimits,
) -> Result<Package<'a>, String> {
    let budget = limits.max_output_bytes.saturating_mul(BUDGET_PER_TEXT_BYTE);
    Package::open(source, budget.saturating_add(BASE_BUDGET_BYTES))
}

/// Adds the properties that any Office document states about itself.
pub(crate) fn read_properties(package: &Package<'_>, parsed: &mut Parsed) -> Result<(), String> {
    if let Some(core) = target_of(&package.relationships("")?, "core-properties")
        && let Some(text) = package.part(core)?
    {
        meta::read(&text, parsed);
    }
    Ok(())
}

fn missing(main: &str) -> String {
    format!("not a Word document: the container has no part `{main}`")
}

/// Returns the first target of a kind, in order of name, so that the choice does not depend on the hash table's
/// order.
fn target_of<'a>(all: &'a HashMap<String, Relationship>, kind: &str) -> Option<&'a str> {
    let targets = all.values().filter(|to| to.kind == kind && !to.is_external);
    targets.map(|to| to.target.as_str()).min()
}

/// The parts that the body refers to.
struct Parts {
    relationships: HashMap<String, Relationship>,
    styles: Styles,
    numbering: Numbering,
}

impl Parts {
    fn read(package: &Package<'_>, main: &str) -> Result<Self, String> {
        let relationships = package.relationships(main)?;
        let part =
            |kind| target_of(&relationships, kind).map_or(Ok(None), |name| package.part(name));
        let styles = part("styles")?.map_or_else(Styles::default, |text| Styles::read(&text));
        let numbering =
            part("numbering")?.map_or_else(Numbering::default, |text| Numbering::read(&text));
        Ok(Parts { relationships, styles, numbering })
    }

    fn body(
        &self,
        text: &str,
        package: &Package<'_>,
        limits: &FormatLimits,
    ) -> Result<Parsed, String> {
        // Notes are read before the body, which refers to them.
        let mut notes = Vec::new();
        for kind in ["footnotes", "endnotes", "comments"] {
            let Some(name) = target_of(&self.relationships, kind) else { continue };
            if let Some(text) = package.part(name)? {
                notes.push((text, package.relationships(name)?));
            }
        }
        let mut body = Body::new(Means {
            styles: &self.styles,
            numbering: &self.numbering,
            relationships: &self.relationships,
            package,
            max_text_bytes: limits.max_output_bytes,
            max_nodes: BASE_NODES + limits.max_output_bytes / TEXT_BYTES_PER_NODE,
        });
        let mut n_broken = 0;
        for (text, relationships) in &notes {
            body.read(text, relationships);
            n_broken += usize::from(body.take_broken().is_some());
        }
        body.read(text, &self.relationships);
        let broken_at = body.take_broken();
        let is_cut = body.is_cut;
        let mut parsed = write::write(&body.content, &self.numbering, limits);
        if let Some(at) = broken_at {
            parsed
                .warnings
                .push(format!("the XML breaks at byte {at}; what follows is not indexed"));
        }
        if n_broken > 0 {
            parsed.warnings.push("the notes are damaged; some may be missing".to_string());
        }
        // A broken document has a warning already.
        if is_cut && parsed.warnings.is_empty() {
            parsed
                .warnings
                .push("too much structure; the rest of the document is not indexed".to_string());
        }
        Ok(parsed)
    }
}
