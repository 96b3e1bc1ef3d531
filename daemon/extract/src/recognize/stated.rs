//! Stated: names that an author wrote as names: the document's own, and the targets of links.
//!
//! In: a document. Out: `StatedName`s of the document's entity, and one mention for each link to a
//! document, named by the target rather than the visible text.
//! Invariants: stated names have distinct norms; a heading of only ordinary words (`Overview`)
//! states no name.

use config::formats::FORMATS;
use config::limits::MAX_SURFACE_BYTES;
use rustc_hash::FxHashSet;

use super::{Recognizer, words};
use model::parcel::{
    BlockKind, Link, LinkKind, Mention, NormalDoc, PlaceFeatures, RecognizerKind, StatedName,
    StatedSource,
};
use model::terms::{Confidence, EntityType, Norm, RelPath, Span, norm_of, tokens_of};

/// Name of the files that say what their folder is.
const README: &str = "README";

/// Finds links to documents.
pub struct StatedRecognizer;

impl Recognizer for StatedRecognizer {
    fn kind(&self) -> RecognizerKind {
        RecognizerKind::Stated
    }

    fn recognize(&self, doc: &NormalDoc, _: &[Span<Norm>], out: &mut Vec<Mention>) {
        out.extend(doc.links.iter().filter_map(|link| mention_of(doc, link)));
    }
}

fn mention_of(doc: &NormalDoc, link: &Link) -> Option<Mention> {
    let name = target_name(link)?;
    let span = shortened(&doc.text, link.span);
    let has_text = span.of(&doc.text).chars().any(char::is_alphanumeric);
    (has_text && !name.is_empty()).then(|| Mention {
        span,
        name: cut(name, MAX_SURFACE_BYTES).to_string(),
        entity_type: EntityType::Document,
        recognizer: RecognizerKind::Stated,
        score: Confidence::STATED,
        place: PlaceFeatures::default(),
    })
}

/// Returns whether a mention comes from a link to a place inside a document:
/// `[histogram](spec.md#histogram)` names what is at that place. If the link's words are the
/// document's name, it names the document.
pub(crate) fn is_of_place(doc: &NormalDoc, mention: &Mention) -> bool {
    if mention.recognizer != RecognizerKind::Stated {
        return false;
    }
    let start = mention.span.start();
    let from = doc.links.partition_point(|link| link.span.start() < start);
    let mut here = doc.links.iter().skip(from).take_while(|link| link.span.start() == start);
    here.any(|link| link.names_a_document() && link.fragment.is_some())
        && norm_of(mention.span.of(&doc.text)) != norm_of(&mention.name)
}

/// Returns the name of the document that a link leads to; `None` for other files, the same page,
/// and URLs.
fn target_name(link: &Link) -> Option<&str> {
    let target = link.target.trim_end_matches('/');
    let name = target.rsplit('/').next().unwrap_or(target).trim();
    match link.kind {
        LinkKind::Wiki => Some(name.strip_suffix(".md").unwrap_or(name)),
        LinkKind::Path => {
            let (stem, extension) = match name.rfind('.') {
                Some(dot) if dot > 0 => (name.get(..dot)?, name.get(dot + 1..)?),
                _ => (name, ""),
            };
            // A link to a file of any other kind names nothing here.
            let mut documents = FORMATS
                .iter()
                .filter(|it| it.is_named_by_links)
                .flat_map(|it| it.extensions.iter().copied())
                .chain([""]);
            let is_document = documents.any(|it| it.eq_ignore_ascii_case(extension));
            let is_step_up = stem.chars().all(|c| c == '.');
            (is_document && !is_step_up).then_some(stem)
        }
        LinkKind::Embed | LinkKind::Url => None,
    }
}

/// Returns the names that a document states for its own entity, most trusted first.
pub(super) fn names_of(doc: &NormalDoc) -> Vec<StatedName> {
    let mut out = Vec::with_capacity(3);
    let mut norms = FxHashSet::default();
    let mut state = |surface: &str, source: StatedSource| {
        let surface = cut(surface.trim(), MAX_SURFACE_BYTES);
        let norm = norm_of(surface);
        if !norm.is_empty() && norms.insert(norm) {
            out.push(StatedName { surface: surface.to_string(), source });
        }
    };
    let heading = heading_of(doc).map_or("", |(heading, _)| heading);
    state(&doc.title, StatedSource::Title);
    // The normalizer lists the first heading among the aliases, but it has only a heading's trust, if any.
    let first = headings_of(doc).next().map_or("", |(_, span)| span.of(&doc.text).trim());
    for alias in doc.meta.aliases.iter().filter(|alias| alias.trim() != first) {
        state(alias, StatedSource::Alias);
    }
    state(RelPath::stem(&doc.head.path), StatedSource::FileName);
    let heading = Some(heading).filter(|it| !it.is_empty()).or_else(|| folder_of(doc));
    if let Some(heading) = heading.filter(|it| !words::all_ordinary(it)) {
        state(heading, StatedSource::Heading);
    }
    out
}

/// Returns the heading that names a document, and whether the document may be shown by it: the first
/// one, if it opens the page or is the only one of its level. A deeper heading (`## Observations`)
/// must open it, be the only one up to its level, and have several words or stand in the file's name.
fn heading_of(doc: &NormalDoc) -> Option<(&str, bool)> {
    let (level, span) = headings_of(doc).next()?;
    let text = span.of(&doc.text);
    let is_only = headings_of(doc).filter(|(other, _)| *other <= level).nth(1).is_none();
    let opens = doc.blocks.first().is_some_and(|block| block.span == span);
    let is_of_folder = level == 1 && opens && folder_of(doc).is_some();
    let is_shown = (is_only && !doc.meta.has_stated_title) || is_of_folder;
    let is_title = match level {
        1 => opens || is_only,
        _ => is_shown && opens && (text.trim().contains(' ') || is_in_file_name(doc, text)),
    };
    is_title.then_some((text, is_shown))
}

/// Returns whether a heading of one word is part of the file's name: `## Closures` in `ch13-closures.md`.
fn is_in_file_name(doc: &NormalDoc, heading: &str) -> bool {
    let parts = tokens_of(RelPath::stem(&doc.head.path));
    matches!(tokens_of(heading).as_slice(), [word] if parts.contains(word))
}

fn headings_of(doc: &NormalDoc) -> impl Iterator<Item = (u8, Span<Norm>)> + '_ {
    doc.blocks.iter().filter_map(|block| match block.kind {
        BlockKind::Heading(level) => Some((level, block.span)),
        _ => None,
    })
}

/// Returns the folder that a document without a stated title is about by its file's name.
fn folder_of(doc: &NormalDoc) -> Option<&str> {
    let stem = RelPath::stem(&doc.head.path);
    let is_of_folder = stem.eq_ignore_ascii_case(README);
    let folder = doc.head.path.folder().rsplit('/').next().unwrap_or("");
    (is_of_folder && !doc.meta.has_stated_title && !folder.is_empty()).then_some(folder)
}

/// Returns the heading that a document is shown by if it states no title and no other document has
/// that heading; of a README without one, the name of its folder, if it can be found by it.
pub fn shown_heading(doc: &NormalDoc) -> Option<&str> {
    let heading = heading_of(doc).filter(|(_, is_shown)| *is_shown).map(|(heading, _)| heading);
    let heading = heading.or_else(|| folder_of(doc).filter(|it| !words::all_ordinary(it)))?;
    let heading = cut(heading.trim(), MAX_SURFACE_BYTES);
    (!norm_of(heading).is_empty()).then_some(heading)
}

/// Cuts a long link text after the last whole word that fits.
fn shortened(text: &str, span: Span<Norm>) -> Span<Norm> {
    let kept = cut(span.of(text), MAX_SURFACE_BYTES);
    Span::new(span.start(), span.start() + kept.len())
}

/// Returns at most `max` bytes of `text`, cut between words if there are any.
fn cut(text: &str, max: usize) -> &str {
    if text.len() <= max {
        return text;
    }
    let head = text.get(..text.floor_char_boundary(max)).unwrap_or("");
    head.rfind(' ').and_then(|space| head.get(..space)).unwrap_or(head).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use model::parcel::testing;
    use std::fmt::Write;

    fn check(lines: &str, expect: Expect) {
        let doc = testing::doc(lines);
        let mut mentions = Vec::new();
        StatedRecognizer.recognize(&doc, &[], &mut mentions);
        let mut out = String::new();
        for m in &mentions {
            writeln!(out, "{} = {}", m.span.of(&doc.text), m.name).expect("a string takes writes");
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn links_to_documents_are_mentions_of_them() {
        check(
            "See [[Signing Service]], [[people/Ada Moreno|Ada]], [the decision](../decisions/adr-0007.md), \
             [setup](guide/setup/), [a picture](x.png), [a notebook](x.ipynb), \
             [site](https://example.com/x.md), [up](..).",
            expect![[r#"
                Signing Service = Signing Service
                Ada = Ada Moreno
                the decision = adr-0007
                setup = setup
            "#]],
        );
    }

    #[test]
    fn a_link_to_a_place_names_what_stands_there() {
        let rows = [
            ("[histogram](spec.md#histogram)", true),
            ("[[Spec#Histogram|histogram]]", true),
            ("[histogram](spec.md)", false),
            ("[Spec](spec.md#top)", false),
        ];
        for (line, is_place) in rows {
            let doc = testing::doc(line);
            let mut mentions = Vec::new();
            StatedRecognizer.recognize(&doc, &[], &mut mentions);
            assert_eq!(is_of_place(&doc, &mentions[0]), is_place, "{line}");
        }
    }

    #[test]
    fn a_long_link_text_is_cut_between_words() {
        let text = "word ".repeat(40);
        let doc = testing::doc(&format!("[[Target|{}]]", text.trim()));
        let mut mentions = Vec::new();
        StatedRecognizer.recognize(&doc, &[], &mut mentions);
        assert_eq!(mentions[0].span.len(), 119);
    }

    #[test]
    fn a_document_states_its_names_once_each() {
        let mut doc = testing::titled("Signing Service", "# The signer\nText.");
        doc.meta.aliases = vec!["signing-service".into(), "KSS".into(), "The signer".into()];
        doc.head.path = RelPath::new("services/signing.md");
        let names: Vec<_> =
            names_of(&doc).into_iter().map(|n| format!("{:?} {}", n.source, n.surface)).collect();
        assert_eq!(
            names,
            ["Title Signing Service", "Alias KSS", "FileName signing", "Heading The signer"]
        );
    }

    #[test]
    fn the_only_heading_of_its_level_is_shown_where_no_title_is_stated() {
        let rows = [
            ("# The signer\nText.\n## Use\nMore.", Some("The signer")),
            ("# The signer\nText.\n# Use\nMore.", None),
            ("## The signer\nText.\n### Use\nMore.", Some("The signer")),
            ("## More of the same\nText.", Some("More of the same")),
            ("## Signer\nText.", None),
            ("## Signing\nText.", Some("Signing")),
            ("Text.\n\n## The signer\nText.", None),
        ];
        for (text, expected) in rows {
            let mut doc = testing::titled("signing", text);
            doc.meta.has_stated_title = false;
            assert_eq!(shown_heading(&doc), expected, "{text}");
            doc.meta.has_stated_title = true;
            assert_eq!(shown_heading(&doc), None, "{text}");
        }
    }

    #[test]
    fn a_readme_is_shown_by_the_heading_that_opens_it_or_by_its_folder() {
        for (path, text, expected) in [
            ("vault/README.md", "# The vault\nText.\n# Use\nMore.", Some("The vault")),
            ("rust/vault/README.md", "Text.\n\n## Use\nMore.", None),
            ("rust/hayro/README.md", "Text.\n\n## Use\nMore.", Some("hayro")),
            ("rust/web/README.md", "Text.", None),
            ("rust/hayro/README.md", "Text.\n\n# no_std\nA.\n\n# License\nB.", Some("hayro")),
            (
                "rust/hayro/README.md",
                "Text.\n\n# The renderer\nA.\n\n## Use\nB.",
                Some("The renderer"),
            ),
            ("README.md", "Text.", None),
            ("vault/notes.md", "Text.", None),
        ] {
            let mut doc = testing::titled("README", text);
            doc.meta.has_stated_title = false;
            doc.head.path = RelPath::new(path);
            assert_eq!(shown_heading(&doc), expected, "{path}");
        }
    }

    #[test]
    fn an_ordinary_heading_states_no_name() {
        let doc = testing::titled("Kafka", "# Getting Started\nText.");
        assert_eq!(names_of(&doc).len(), 1);
    }
}
