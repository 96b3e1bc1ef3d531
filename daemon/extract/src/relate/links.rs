//! Links: a document's wikilinks and path links, the relation that the author gives them, and what their words name.
//!
//! In: links; what a note states. Out: the type of a typed link (`- implements [[X]]`, `implements:: [[X]]`) as the
//! predicate, otherwise `links_to`; both with the confidence of an author's statement. A name that the words of a link
//! consist of is `documented_in` the document that it leads to: the page is not the thing.
//! Invariants: a link that a section already cites is not added twice; the author's type is kept, whatever the types
//! of its parties.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use notes::parse::RelationKind;
use rustc_hash::FxHashMap;

use super::page::Page;
use super::vocabulary::intern;
use super::{Statement, Statements};
use crate::recognize::words::all_ordinary;
use model::document::{Document, Link, LinkKind, Party, RecognizerKind};
use model::terms::{Span, norm_of};

/// The pattern of a relation whose type the author gave.
pub(super) const TYPED: &str = "link:typed";

const WORDS_CONFIDENCE: f32 = 0.75;

/// Longest type of a relation that becomes a predicate, in bytes.
const MAX_TYPE_BYTES: usize = 60;

/// Most types of relations that authors may introduce in one daemon: predicates are interned and never freed. After
/// that, a link with a further type is a plain link.
const MAX_TYPES: usize = 10_000;

/// Adds the links.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let cited = out.of_document("cites");
    let types = types_of(page.doc);
    for (idx, link) in page.links_in(Span::new(0, page.text.len())) {
        let (subject, object, confidence) = (Party::Document, Party::Link(idx), 1.0);
        let place = page.doc.map.to_raw(link.span);
        if let Some(predicate) = type_at(&types, place.start(), place.end()) {
            let statement = Statement { subject, predicate, object, pattern: TYPED, confidence };
            out.add(link.span, statement);
        } else if cited.binary_search(&object).is_err() {
            let pattern = if link.kind == LinkKind::Wiki { "link:wiki" } else { "link:path" };
            let predicate = "links_to";
            out.add(link.span, Statement { subject, predicate, object, pattern, confidence });
        }
        if let Some(name) = name_of(page, link) {
            let (subject, predicate, pattern) =
                (Party::Mention(name), "documented_in", "link:words");
            let confidence = WORDS_CONFIDENCE;
            out.add(link.span, Statement { subject, predicate, object, pattern, confidence });
        }
    }
}

/// Returns the name that a link's words consist of, unless they are the link's target or name this document.
fn name_of(page: &Page<'_>, link: &Link) -> Option<u32> {
    let name = page.leading_name(link.span, 0..page.doc.found.mentions.len() as u32)?;
    let mention = page.mention(name)?;
    let surface = mention.span.of(page.text);
    let is_whole = norm_of(surface) == norm_of(link.span.of(page.text));
    let is_path = link.target.ends_with(surface);
    let is_name =
        mention.recognizer != RecognizerKind::Stated && !all_ordinary(surface) && !is_path;
    (is_whole && is_name && !page.is_own(name)).then_some(name)
}

/// For each typed link, by its first byte in the file: its end, and its predicate.
type LinkTypes = FxHashMap<usize, (usize, &'static str)>;

fn types_of(doc: &Document) -> LinkTypes {
    let Some(stated) = &doc.note else { return LinkTypes::default() };
    let typed = stated.note.relations.iter().filter(|it| it.kind == RelationKind::Typed);
    let typed = typed.filter_map(|relation| {
        let link = stated.note.links.get(relation.link)?;
        let span = &link.place.span;
        Some((span.start, (span.end, predicate_of(&relation.relation_type)?)))
    });
    typed.collect()
}

/// Returns the type of the link around these bytes; the visible part of a link begins after its brackets.
fn type_at(types: &LinkTypes, start: usize, end: usize) -> Option<&'static str> {
    if types.is_empty() {
        return None;
    }
    /// Longest distance from a link's start to its visible text, in bytes: `[[folder/Target#Heading|`.
    const MAX_BEFORE: usize = 600;
    // Search backwards from the visible text; the first typed link found must also end after it.
    let around = (start.saturating_sub(MAX_BEFORE)..=start).rev();
    let mut found = around.filter_map(|from| types.get(&from));
    found.next().filter(|(to, _)| end <= *to).map(|(_, predicate)| *predicate)
}

/// Returns a type as a predicate: `Part of` is `part_of`. `None` when it is not usable, or there are too many types.
fn predicate_of(relation_type: &str) -> Option<&'static str> {
    static KNOWN: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let words = relation_type.to_lowercase();
    let words = words.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("_");
    // A predicate that begins with `not` would read as a denial.
    if name.is_empty() || name.len() > MAX_TYPE_BYTES || name == "not" || name.starts_with("not_") {
        return None;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(predicate) = known.get(name.as_str()) {
        return Some(predicate);
    }
    if known.len() >= MAX_TYPES {
        return None;
    }
    let predicate = intern(&name);
    known.insert(predicate);
    Some(predicate)
}
