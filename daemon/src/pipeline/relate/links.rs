//! Links: a document links to what its wikilinks and path links name.
//!
//! In: links and the mentions they made. Out: `links_to`, as sure as an author can be.
//! Invariants: a link that a section already counts as cited is not counted twice; one merge walk.
//! Not here: links to URLs, which name no document of the project.

use super::page::Page;
use super::{Statement, Statements};
use crate::pipeline::parcel::{LinkKind, Party, RecognizerKind};

/// Adds the links.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let cited = out.of_document("cites");
    let mut links = page.doc.doc.links.iter().peekable();
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
        if cited.binary_search(&object).is_err() {
            let (subject, predicate, confidence) = (Party::Document, "links_to", 1.0);
            out.add(mention.span, Statement { subject, predicate, object, pattern, confidence });
        }
    }
}
