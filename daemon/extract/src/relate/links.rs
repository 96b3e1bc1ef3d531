//! Links: a document's wikilinks and path links, with the relation that the author gives them.
//!
//! In: links and their mentions; what a note states. Out: the type of a typed link (`- implements [[X]]`,
//! `implements:: [[X]]`) as the predicate, otherwise `links_to`; both with the confidence of an author's statement.
//! Invariants: a link that a section already cites is not added twice; the author's type is kept, whatever the types
//! of its parties; one merge walk.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use notes::parse::RelationKind;
use rustc_hash::FxHashMap;

use super::page::Page;
use super::vocabulary::intern;
use super::{Statement, Statements};
use model::parcel::{LinkKind, NormalDoc, Party, RecognizerKind};

/// The pattern of a relation whose type the author gave.
pub(super) const TYPED: &str = "link:typed";

/// Longest type of a relation that becomes a predicate, in bytes.
const MAX_TYPE_BYTES: usize = 60;

/// Most types of relations that authors may introduce in one daemon: predicates are interned and never freed. After
/// that, a link with a further type is a plain link.
const MAX_TYPES: usize = 10_000;

/// Adds the links.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let cited = out.of_document("cites");
    let types = types_of(&page.doc.doc);
    // A link without visible text, such as an embed, may begin where the next one does.
    let mut links = page.doc.doc.links.iter().filter(|it| it.names_a_document()).peekable();
    for (idx, mention) in page.doc.mentions.iter().enumerate() {
        if mention.recognizer != RecognizerKind::Stated {
            continue;
        }
        while links.next_if(|link| link.span.start() < mention.span.start()).is_some() {}
        let Some(link) = links.peek().filter(|link| link.span.start() == mention.span.start())
        else {
            continue;
        };
        let pattern = match link.kind {
            LinkKind::Wiki => "link:wiki",
            LinkKind::Path => "link:path",
            LinkKind::Embed | LinkKind::Url => continue,
        };
        let object = Party::Mention(idx as u32);
        let (subject, confidence) = (Party::Document, 1.0);
        let place = page.doc.doc.map.to_raw(link.span);
        if let Some(predicate) = type_at(&types, place.start(), place.end()) {
            let statement = Statement { subject, predicate, object, pattern: TYPED, confidence };
            out.add(mention.span, statement);
        } else if cited.binary_search(&object).is_err() {
            let predicate = "links_to";
            out.add(mention.span, Statement { subject, predicate, object, pattern, confidence });
        }
    }
}

/// For each typed link, by its first byte in the file: its end, and its predicate.
type LinkTypes = FxHashMap<usize, (usize, &'static str)>;

fn types_of(doc: &NormalDoc) -> LinkTypes {
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
