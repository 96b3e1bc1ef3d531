//! Opening: the first sentence of running text that says what a page or a section is about.
//!
//! In: a text with its outline. Out: the span of a sentence.
//! Invariants: fields (`Default: false`), code and captions are not running text; a page that has no
//! text before its sections opens with the section that introduces it, never with another one.
//! Bounded.

use extract::chunk::sentences;
use model::terms::norm_of;

use crate::quote::outline::Outline;

/// Most bytes read below a heading, and at the beginning of a page.
const MAX_SECTION_BYTES: usize = 4_000;

/// Sentences below a heading that are considered.
const MAX_SENTENCES: usize = 4;

/// Fewest words of a paragraph of running text, and the characters that it ends with; headings and
/// captions are shorter or lack them.
const MIN_PARAGRAPH_WORDS: usize = 5;
const STOPS: [char; 9] = ['.', ':', ';', '?', '!', ')', '"', '”', '…'];

/// Most words of the label of a field.
const MAX_LABEL_WORDS: usize = 2;

/// Headings of sections that say what their page is about.
const INTRODUCING: [&str; 7] =
    ["description", "overview", "introduction", "about", "summary", "abstract", "purpose"];

/// Beginnings of sentences that open a page without saying what it is about.
const REMARKING: [&str; 24] = [
    "Introduced",
    "Since ",
    "Added",
    "Note",
    "Warning",
    "Deprecated",
    "As of",
    "However",
    "But ",
    "And ",
    "So ",
    "If you",
    "If we ",
    "When ",
    "Let’s",
    "Let's",
    "Now ",
    "In this ",
    "In the previous",
    "See ",
    "For example",
    "There are",
    "Here ",
    "Please ",
];

/// Returns the sentence that a page opens with.
pub(super) fn of_page(text: &str, outline: &Outline) -> Option<(usize, usize)> {
    let section = |from: usize| first(text, from, outline.next_after(from).unwrap_or(text.len()));
    // A heading at the beginning is the title.
    let title = outline.ends().next().filter(|_| outline.is_heading(0)).map_or(0, |(_, end)| end);
    section(title).or_else(|| {
        let introducing = outline.ends().filter(|(heading, _)| {
            let heading = norm_of(heading);
            INTRODUCING.contains(&heading.as_str()) || heading.starts_with("what is ")
        });
        introducing.filter_map(|(_, end)| section(end)).next()
    })
}

/// Returns the first informative sentence below a heading, if the heading is exactly the name at
/// `at`.
pub(super) fn under_heading(
    text: &str,
    at: usize,
    name: &str,
    outline: &Outline,
) -> Option<(usize, usize)> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let end = at + text.get(at..)?.find('\n')?;
    if norm_of(text.get(start..end)?) != norm_of(name) {
        return None;
    }
    first(text, end, outline.next_after(at).unwrap_or(text.len()))
}

/// Returns the first sentence of running text in a range that is not a remark.
fn first(text: &str, from: usize, limit: usize) -> Option<(usize, usize)> {
    let paragraphs = paragraphs(text, from).take_while(|(at, _)| *at < limit);
    let running = paragraphs.filter(|(_, paragraph)| is_running(paragraph));
    let all = running.flat_map(|(at, paragraph)| {
        sentences(paragraph).map(move |it| (at + it.start, at + it.end))
    });
    all.take(MAX_SENTENCES).find(|(start, end)| {
        let sentence = text.get(*start..*end).unwrap_or("");
        let is_remark = REMARKING.iter().any(|it| sentence.starts_with(it));
        let is_done = [" introduced in ", " was introduced", " added in ", " was added"];
        !is_remark && !sentence.ends_with('?') && !is_done.iter().any(|it| sentence.contains(it))
    })
}

/// Splits text into paragraphs from an offset on, trimmed, within [`MAX_SECTION_BYTES`].
fn paragraphs(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let end = text.floor_char_boundary(from + MAX_SECTION_BYTES);
    let mut next = from;
    text.get(from..end).unwrap_or("").split("\n\n").filter_map(move |paragraph| {
        let at = next + paragraph.len() - paragraph.trim_start().len();
        next += paragraph.len() + 2;
        let paragraph = paragraph.trim();
        (!paragraph.is_empty()).then_some((at, paragraph))
    })
}

/// Returns whether a paragraph is running text. In prose, marks of code are gone.
fn is_running(paragraph: &str) -> bool {
    let is_long = paragraph.split_whitespace().nth(MIN_PARAGRAPH_WORDS - 1).is_some();
    let is_field = paragraph
        .split_once(": ")
        .is_some_and(|(label, _)| label.split_whitespace().count() <= MAX_LABEL_WORDS);
    let is_ended = paragraph.ends_with(STOPS) || paragraph.contains(". ");
    is_long && is_ended && !is_field && !paragraph.contains('`')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn outline(text: &str, headings: &[&str]) -> Outline {
        Outline::of_lines(text, headings)
    }

    #[test]
    fn only_a_heading_that_is_the_name_leads_to_its_sentence() {
        let text = "Key Vault\n\nIntroduced in 1.2.0. Keeps the keys of all services. More.\n\n\
            Using the Key Vault\n\nAsk for it first, please.\n";
        let none = Outline::default();
        let (start, end) = under_heading(text, 0, "Key Vault", &none).expect("a sentence");
        assert_eq!(&text[start..end], "Keeps the keys of all services.");
        assert_eq!(first("ADR-7: Use two keys for seals", 0, 99), None, "a heading has no stop");
        assert_eq!(first("   Use two keys for seals.", 0, 99), Some((3, 26)));
        let other = text.find("Using the ").expect("there") + 10;
        assert_eq!(under_heading(text, other, "Key Vault", &none), None);
        let nested = "Key Vault\n\nTasks\n\nIt keeps the keys, I think.";
        let headings = outline(nested, &["Key Vault", "Tasks"]);
        assert_eq!(under_heading(nested, 0, "Key Vault", &headings), None);
    }

    #[test]
    fn a_page_opens_with_its_lead_or_the_section_that_introduces_it() {
        let options = "Default: 'dev' if it is set; else empty.\nType: String\n\n";
        let rows = [
            (
                "Vault\n\nIt keeps all the keys.\n\nUse\n\nAsk for it, please.",
                "It keeps all the keys.",
            ),
            ("Vault\n\nUse\n\nAsk for it first, please.", ""),
            (
                "Use\n\nvault (same as `keys`), or vault.\n\nDescription\n\nThe vault keeps all keys.",
                "The vault keeps all keys.",
            ),
            (&format!("Vault\n\n{options}If true, it keeps keys."), "If true, it keeps keys."),
        ];
        for (text, expected) in rows {
            let outline = outline(text, &["Vault", "Use", "Description"]);
            let found = of_page(text, &outline).map_or("", |(start, end)| &text[start..end]);
            assert_eq!(found, expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_valid_spans(text in "(\\PC|\n){0,200}", at in 0usize..220, name in "\\PC{0,9}") {
            let outline = Outline::default();
            for (start, end) in
                [under_heading(&text, at, &name, &outline), of_page(&text, &outline)].into_iter().flatten()
            {
                prop_assert!(text.get(start..end).is_some());
            }
            for (at, paragraph) in paragraphs(&text, 0) {
                prop_assert_eq!(text.get(at..at + paragraph.len()), Some(paragraph));
            }
        }
    }
}
