//! Outline: the bookmarks of a document, which are the titles of its headings.
//!
//! In: the catalog. Out: titles with their depth, by which lines are recognized as headings.
//! Invariants: each bookmark is visited once; their number is bounded.

use hayro_syntax::Pdf;
use hayro_syntax::object::{Dict, ObjRef, String as PdfString};
use rustc_hash::{FxHashMap, FxHashSet};

use super::meta::text_of;

/// Most bookmarks read.
const MAX_BOOKMARKS: usize = 20_000;

/// The level of each heading, by its text as returned by [`key_of`].
#[derive(Debug, Default)]
pub(super) struct Outline {
    levels: FxHashMap<String, u8>,
}

impl Outline {
    /// Returns the level of the bookmark with this text; 1 is the outermost.
    pub(super) fn level_of(&self, text: &str) -> Option<u8> {
        // A longer line is not a heading.
        if self.levels.is_empty() || text.len() > 400 {
            return None;
        }
        self.levels.get(&key_of(text)).copied()
    }
}

/// Returns the letters and digits of a title, lowercase, without the number before it.
fn key_of(text: &str) -> String {
    let start = text.find(char::is_alphabetic).unwrap_or(0);
    let rest = text.get(start..).unwrap_or(text);
    rest.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Reads the bookmarks.
pub(super) fn read(pdf: &Pdf) -> Outline {
    let mut outline = Outline::default();
    let catalog = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id());
    let Some(root) = catalog.and_then(|catalog| catalog.get::<Dict<'_>>("Outlines")) else {
        return outline;
    };
    let mut visited: FxHashSet<ObjRef> = FxHashSet::default();
    let mut open: Vec<(Dict<'_>, u8)> =
        root.get::<Dict<'_>>("First").map(|first| (first, 1)).into_iter().collect();
    visited.extend(root.get_ref("First"));
    while let Some((bookmark, level)) = open.pop() {
        if visited.len() > MAX_BOOKMARKS {
            break;
        }
        if let Some(title) = bookmark.get::<PdfString<'_>>("Title") {
            let key = key_of(&text_of(title.as_bytes()));
            // Of bookmarks with the same title, the first one counts.
            if !key.is_empty() {
                outline.levels.entry(key).or_insert(level.min(6));
            }
        }
        // The stack returns the last one first, so the children come before the next sibling. A file can link
        // bookmarks in a circle, hence `visited`.
        for (key, level) in [("Next", level), ("First", level.saturating_add(1))] {
            if let Some(reference) = bookmark.get_ref(key)
                && visited.insert(reference)
                && let Some(next) = bookmark.get::<Dict<'_>>(key)
            {
                open.push((next, level));
            }
        }
    }
    outline
}
