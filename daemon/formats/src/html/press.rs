//! Press: whether a page declares itself an article of news or of a blog.
//!
//! In: a tree. Out: yes or no, from the metadata for search engines and social networks.
//! Invariant: visits each element once, and reads only the text of JSON-LD scripts.

use super::data::MAX_JSON_BYTES;
use super::tree::{Element, NodeId, Tree};

/// Types of JSON-LD for articles of the press. Not plain `Article`, which wikis use, too.
const TYPES: &[&str] = &[
    "\"NewsArticle\"",
    "\"BlogPosting\"",
    "\"ReportageNewsArticle\"",
    "\"OpinionNewsArticle\"",
    "\"AnalysisNewsArticle\"",
    "\"LiveBlogPosting\"",
];

/// True when a page declares itself an article of the press.
pub(super) fn is_press(tree: &Tree, source: &str) -> bool {
    tree.walk(NodeId::ROOT).any(|id| {
        let Some(element) = tree.element(id) else { return false };
        match &*element.name.local {
            "meta" => states_article(element),
            "div" | "article" | "body" | "html" | "main" | "section" => is_typed(element),
            "script" if is_data(element) => {
                let text = tree.text_of(id, source, MAX_JSON_BYTES);
                TYPES.iter().any(|kind| text.contains(kind))
            }
            _ => false,
        }
    })
}

/// True for a script with JSON-LD.
pub(super) fn is_data(element: &Element) -> bool {
    element.attr("type").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/ld+json"))
}

/// True for an element that is marked as an article of the press.
fn is_typed(element: &Element) -> bool {
    let kind = element.attr("itemtype").unwrap_or("");
    ["NewsArticle", "BlogPosting"].iter().any(|name| kind.ends_with(name))
}

fn states_article(element: &Element) -> bool {
    if element.attr("property") == Some("article:published_time") {
        return true;
    }
    let is_type = ["property", "name"].iter().any(|attr| element.attr(attr) == Some("og:type"));
    is_type
        && element.attr("content").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("article"))
}
