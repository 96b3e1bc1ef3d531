//! HTML: converts a page to normalized text, without what surrounds its content.
//!
//! In: the text of a file. Out: headings, paragraphs, lists, tables and code of the page's content, with places.
//! ```text
//! source ► parse (tree with places) ► article (what to read) ► render (blocks) ► meta (title, dates, tags)
//! ```
//! Invariants: linear time for any input; text is dropped only as part of an element that is hidden or not content;
//! verbatim pieces of the map equal their source.

mod article;
mod bound;
mod byline;
mod data;
mod edge;
mod flat;
mod hints;
mod kind;
mod label;
mod meta;
mod naming;
mod page;
mod parse;
mod place;
mod press;
mod render;
mod run;
mod surround;
mod table;
mod tree;
mod words;

#[cfg(test)]
mod tests;

use super::format::{Format, FormatLimits};
use model::document::Parsed;

/// Reads HTML.
pub(crate) struct Html;

impl Format<str> for Html {
    fn takes_title_from_heading(&self) -> bool {
        true
    }

    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String> {
        let (tree, is_flat) = parse::parse(text);
        let selection = article::select(&tree, text);
        let rendered = render::render(&tree, text, &selection, limits);
        let mut parsed = rendered.parsed;
        let author =
            // Enough for a byline; `author_of` checks whether it is one.
            selection.author.and_then(|id| byline::author_of(&tree.text_of(id, text, 200)));
        meta::read_head(&tree, text, meta::ShownMeta { time: rendered.time, author }, &mut parsed);
        if is_flat {
            parsed
                .warnings
                .push("elements nest too deep; read without lists, tables and links".to_string());
        }
        Ok(parsed)
    }
}
