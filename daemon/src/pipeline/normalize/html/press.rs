//! Press: whether a page says that it is an article of news or of a blog.
//!
//! In: a tree. Out: yes or no, from what pages tell search engines and social networks.
//! Invariant: looks at the head and at scripts of data only, each once.
//! Not here: what follows from it (`surround.rs`), the data's values (`meta.rs`).

use super::tree::{Data, Element, NodeId, Tree};

/// Types of JSON-LD that are articles of the press. Plain `Article` is not: wikis say so, too.
const TYPES: &[&str] = &[
    "\"NewsArticle\"",
    "\"BlogPosting\"",
    "\"ReportageNewsArticle\"",
    "\"OpinionNewsArticle\"",
    "\"AnalysisNewsArticle\"",
    "\"LiveBlogPosting\"",
];

/// True when a page says that it is an article of the press.
pub(super) fn is_press(tree: &Tree, source: &str) -> bool {
    tree.walk(NodeId::ROOT).any(|id| {
        let Some(element) = tree.element(id) else { return false };
        match &*element.name.local {
            "meta" => states_article(element),
            "script" if is_data(element) => {
                let text = tree.first_child(id).map(|text| tree.data(text));
                matches!(text, Some(Data::Text(text)) if TYPES.iter().any(|kind| text.of(source).contains(kind)))
            }
            _ => false,
        }
    })
}

/// True for a script that holds JSON-LD.
pub(super) fn is_data(element: &Element) -> bool {
    element.attr("type").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/ld+json"))
}

fn states_article(element: &Element) -> bool {
    let is_type = ["property", "name"].iter().any(|attr| element.attr(attr) == Some("og:type"));
    is_type
        && element.attr("content").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("article"))
}
