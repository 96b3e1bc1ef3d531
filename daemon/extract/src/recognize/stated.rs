//! Stated: names that an author wrote as names: the document's own, and the targets of wikilinks.
//!
//! In: a document. Out: `StatedName`s of the document's entity, and one mention for each wikilink, named by the target
//! rather than the visible text. Words of a link to a path, or to a place in a note, are read like any others.
//! Invariants: stated names have distinct norms; a heading of only ordinary words (`Overview`)
//! states no name.

use config::limits::MAX_SURFACE_BYTES;
use notes::resolve::{bare_path, folder_of_index};
use rustc_hash::FxHashSet;

use super::{Recognizer, words};
use model::document::{
    BlockKind, Document, Link, LinkKind, Mention, PlaceFeatures, RecognizerKind, StatedName,
    StatedSource,
};
use model::terms::{Confidence, EntityType, Norm, RelPath, Span, norm_of, tokens_of};

/// Finds wikilinks.
pub struct StatedRecognizer;

impl Recognizer for StatedRecognizer {
    fn kind(&self) -> RecognizerKind {
        RecognizerKind::Stated
    }

    fn recognize(&self, doc: &Document, _: &[Span<Norm>], out: &mut Vec<Mention>) {
        let links = doc.links.iter().filter(|link| link.kind == LinkKind::Wiki);
        out.extend(links.filter_map(|link| mention_of(doc, link)));
    }
}

fn mention_of(doc: &Document, link: &Link) -> Option<Mention> {
    let name = link.target.trim_end_matches('/');
    let (_, extension) = name.rsplit_once('.').unwrap_or_default();
    let is_file = config::formats::of(&extension.to_lowercase()).is_some();
    let name = if is_file { bare_path(name) } else { name };
    let span = shortened(&doc.text, link.span);
    let words = norm_of(span.of(&doc.text));
    // `[[Spec#Histogram|histogram]]` names what is at that place.
    let is_of_place = link.fragment.is_some() && words != norm_of(name);
    (!words.is_empty() && !name.is_empty() && !is_of_place).then(|| Mention {
        span,
        name: cut(name, MAX_SURFACE_BYTES).to_string(),
        entity_type: EntityType::Document,
        recognizer: RecognizerKind::Stated,
        score: Confidence::STATED,
        place: PlaceFeatures::default(),
    })
}

/// Returns the names that a document states for its own entity, most trusted first.
pub(super) fn names_of(doc: &Document) -> Vec<StatedName> {
    let mut out = Vec::with_capacity(3);
    let mut norms = FxHashSet::default();
    let mut state = |surface: &str, source: StatedSource| {
        let surface = cut(surface.trim(), MAX_SURFACE_BYTES);
        let norm = norm_of(surface);
        if !norm.is_empty() && norms.insert(norm) {
            out.push(StatedName { surface: surface.to_string(), source });
        }
    };
    // Without a title, a document is called like its file, unless a heading is shown instead and the file has only an
    // address: `Key Vault.md`, but not `network.md` with the heading `Network Observability`, nor `COMMUNITY.md`.
    let is_ordinary = |it: &str| words::all_ordinary(it) && !spells_file(doc, it);
    let has_heading =
        shown_heading(doc).is_some_and(|it| norm_of(it) != norm_of(&doc.title) && !is_ordinary(it));
    let is_name = [char::is_uppercase as fn(char) -> bool, char::is_lowercase]
        .iter()
        .all(|case| doc.title.contains(*case));
    if doc.meta.has_stated_title || !has_heading || is_name {
        state(&doc.title, StatedSource::Title);
    }
    // The normalizer lists the first heading among the aliases, but it has only a heading's trust, if any.
    let first = headings_of(doc).next().map_or("", |(_, span)| span.of(&doc.text).trim());
    // Sites list the former addresses of a page as aliases: `../setup/`, `/docs/setup`.
    let is_address = |it: &str| it.starts_with(['/', '.']) && it.contains('/') || it.ends_with('/');
    for alias in doc.meta.aliases.iter().map(|it| it.trim()) {
        if alias != first && !is_address(alias) {
            state(alias, StatedSource::Alias);
        }
    }
    // Only a note is the home of an entity.
    let is_note = matches!(doc.head.path.extension().as_str(), "md" | "markdown");
    let heading = heading_of(doc).map(|(heading, _)| heading).or_else(|| folder_of(doc));
    if let Some(heading) = heading.filter(|it| is_note && !words::all_ordinary(it)) {
        state(heading, StatedSource::Heading);
    }
    out
}

/// Returns the heading that names a document, and whether the document may be shown by it: the first
/// one, if it opens the page or is the only one of its level; of several, if it has all words of the
/// file's name. A deeper heading (`## Observations`) must open it, be the only one up to its level, and
/// have several words or stand in the file's name (`## Closures` in `ch13-closures.md`).
fn heading_of(doc: &Document) -> Option<(&str, bool)> {
    let (level, span) = headings_of(doc).next()?;
    let text = Some(span.of(&doc.text)).filter(|it| !is_template(it))?;
    let is_only = headings_of(doc).filter(|(other, _)| *other <= level).nth(1).is_none();
    let opens = doc.blocks.first().is_some_and(|block| block.span == span);
    let is_one = is_only || level == 1 && opens && spells_file(doc, text);
    let is_shown = !doc.meta.has_stated_title && is_one;
    let (words, stem) = (tokens_of(text), tokens_of(RelPath::stem(&doc.head.path)));
    let is_title = match level {
        1 => opens || is_only,
        _ => is_shown && opens && (words.len() > 1 || words.iter().all(|it| stem.contains(it))),
    };
    is_title.then_some((text, is_shown))
}

/// Returns whether a heading stands for another one: `${Project Name}`, `{{ title }}`, `{Your name}`; not `GET /{id}`.
fn is_template(heading: &str) -> bool {
    let heading = heading.trim();
    ["${", "{{", "<%"].iter().any(|it| heading.contains(it))
        || heading.starts_with('{') && heading.ends_with('}')
}

/// Returns whether a heading has all words of the file's name, or the file is its folder's index.
fn spells_file(doc: &Document, heading: &str) -> bool {
    let words = tokens_of(heading);
    let stem = tokens_of(RelPath::stem(&doc.head.path));
    folder_of(doc).is_some() || stem.iter().all(|it| words.contains(it))
}

fn headings_of(doc: &Document) -> impl Iterator<Item = (u8, Span<Norm>)> + '_ {
    doc.blocks.iter().filter_map(|block| match block.kind {
        BlockKind::Heading(level) => Some((level, block.span)),
        _ => None,
    })
}

/// Returns the folder that a document without a stated title is about by its file's name.
fn folder_of(doc: &Document) -> Option<&str> {
    let folder = folder_of_index(doc.head.path.as_str()).filter(|_| !doc.meta.has_stated_title)?;
    folder.rsplit('/').next()
}

/// Returns the heading that a document is shown by if it states no title and no other document has
/// that heading; of a folder's index without one, the name of the folder.
pub fn shown_heading(doc: &Document) -> Option<&str> {
    let heading = heading_of(doc).filter(|(_, is_shown)| *is_shown).map(|(heading, _)| heading);
    let heading = heading.or_else(|| folder_of(doc))?;
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
    use model::document::testing;
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
    fn wikilinks_are_mentions_of_their_targets_and_paths_name_nothing() {
        check(
            "See [[Signing Service]], [[people/Ada Moreno|Ada]], [[TCP/IP]], [the decision](../decisions/adr-0007.md), \
             [site](https://example.com/x.md), [up](..).",
            expect![[r#"
                Signing Service = Signing Service
                Ada = people/Ada Moreno
                TCP/IP = TCP/IP
            "#]],
        );
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
            ["Title Signing Service", "Alias KSS", "Heading The signer"],
            "not the file's name"
        );
        doc.meta.has_stated_title = false;
        doc.meta.aliases = vec!["../keys/".into(), "/docs/keys".into()];
        assert_eq!(names_of(&doc).len(), 2, "a file that is written as a name, and the heading");
        doc.title = "signing".into();
        assert_eq!(names_of(&doc).len(), 1, "the heading alone");
        doc.head.path = RelPath::new("services/signing.txt");
        assert_eq!(names_of(&doc).len(), 0, "it is not a note");
    }

    #[test]
    fn the_only_heading_of_its_level_is_shown_where_no_title_is_stated() {
        let rows = [
            ("# The signer\nText.\n## Use\nMore.", Some("The signer")),
            ("# The signer\nText.\n# Use\nMore.", None),
            ("# Signing of keys\nText.\n# Use\nMore.", Some("Signing of keys")),
            ("## The signer\nText.\n### Use\nMore.", Some("The signer")),
            ("## More of the same\nText.", Some("More of the same")),
            ("## Signer\nText.", None),
            ("## Signing\nText.", Some("Signing")),
            ("Text.\n\n## The signer\nText.", None),
            ("# ${Signer Name}\nText.", None),
            ("# GET /signers/{id}\nText.", Some("GET /signers/{id}")),
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
            ("rust/vault/README.md", "Text.\n\n## Use\nMore.", Some("vault")),
            ("rust/hayro/README.md", "Text.\n\n## Use\nMore.", Some("hayro")),
            ("rust/web/index.md", "Text.", Some("web")),
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
