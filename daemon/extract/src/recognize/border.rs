//! Border: where a name cannot go on, because markup parts the text: the ends of marks and links, brackets, cells,
//! ` - `, a colon, and the line ends of fields (`name: Ada` above `mail: …`).
//!
//! In: a document. Out: its borders, in order.
//! Invariants: a border never lies within a word; linear.

use model::document::Document;
use model::terms::{Norm, Span};

/// Signs that part names, and those that do so between blanks.
const PARTING: &[u8] = b"[](){}<>|\";";
const WIDE: [&str; 4] = ["“", "”", "→", "•"];
const SPACED: [&str; 4] = ["- ", "+ ", "– ", "— "];
/// Most words and bytes of a field's name.
const MAX_FIELD: (usize, usize) = (4, 40);

/// The borders of a document.
pub(super) struct Borders(Vec<usize>);

impl Borders {
    pub(super) fn of(doc: &Document) -> Self {
        let text = doc.text.as_str();
        let marks = doc.inlines.iter().map(|it| it.span).chain(doc.links.iter().map(|it| it.span));
        let mut all: Vec<usize> = marks.flat_map(|it| [it.start(), it.end()]).collect();
        all.extend(text.bytes().enumerate().filter(|it| is_sign(text, *it)).map(|(at, _)| at));
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        all.retain(|at| {
            let (before, after) = text.split_at_checked(*at).unwrap_or_default();
            !(is_letter(before.chars().next_back()) && is_letter(after.chars().next()))
        });
        all.sort_unstable();
        all.dedup();
        Borders(all)
    }

    /// Returns the parts of a span between the borders in it.
    pub(super) fn parts(&self, span: Span<Norm>) -> impl Iterator<Item = Span<Norm>> {
        let from = self.0.partition_point(|at| *at <= span.start());
        let to = self.0.partition_point(|at| *at < span.end());
        let inside = self.0.get(from..to.max(from)).unwrap_or_default();
        let starts = std::iter::once(span.start()).chain(inside.iter().copied());
        let ends = inside.iter().copied().chain([span.end()]);
        starts.zip(ends).map(|(start, end)| Span::new(start, end))
    }

    /// Returns all places, in order.
    pub(super) fn places(&self) -> &[usize] {
        &self.0
    }

    /// Returns whether a border lies within a name.
    pub(super) fn cross(&self, span: Span<Norm>) -> bool {
        self.parts(span).nth(1).is_some()
    }
}

fn is_sign(text: &str, (at, byte): (usize, u8)) -> bool {
    let rest = |from: usize| text.get(from..).unwrap_or("");
    match byte {
        b' ' => SPACED.iter().any(|it| rest(at + 1).starts_with(it)),
        b':' => rest(at + 1).starts_with([' ', '\n']),
        b'\n' => ends_field(text, at),
        0xe2 => WIDE.iter().any(|it| rest(at).starts_with(it)),
        _ => PARTING.contains(&byte),
    }
}

/// Returns whether the line before or after a line break is a field.
fn ends_field(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or("").rsplit('\n').next();
    let after = text.get(at + 1..).unwrap_or("").split('\n').next();
    [before, after].into_iter().flatten().any(|line| {
        let head = line.get(..line.floor_char_boundary(MAX_FIELD.1)).unwrap_or("");
        let name =
            head.split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
        name.is_some_and(|(name, _)| name.split_whitespace().count() <= MAX_FIELD.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::document::testing;

    #[test]
    fn no_name_crosses_markup_or_the_end_of_a_field() {
        for (text, parts) in [
            ("[Ann] Will", &["Ann", "Will"][..]),
            ("**COOP** - Plan of Work", &["COOP", "Plan of Work"]),
            ("Collector [Core](https://a.example)", &["Collector", "Core"]),
            ("name: Ada\nmail: Post", &["name", "Ada", "mail", "Post"]),
            ("**Red**wood Corner", &["Redwood Corner"]),
        ] {
            let doc = testing::doc(text);
            let whole = Span::new(0, doc.text.len());
            let bare = |it: Span<Norm>| {
                it.of(&doc.text).trim_matches([' ', '-', ':', '\n', ']', '[']).to_string()
            };
            let found: Vec<String> =
                Borders::of(&doc).parts(whole).map(bare).filter(|it| !it.is_empty()).collect();
            assert_eq!(found, parts, "{text}");
        }
    }
}
