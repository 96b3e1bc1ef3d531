//! Naming: what the way in which a place writes some words says about them: a name, a common noun, or nothing.
//!
//! In: the mentions of a document, with their types. Out: the same, each with its [`Naming`].
//! Invariants: a capital proves nothing where anything has one (in headings, at the start of a sentence, item, cell or
//! mark); heads of tables, labels before a colon, and the words of links to several places say what others are, as
//! common nouns do. Linear, except for bisections.

use rustc_hash::{FxHashMap, FxHashSet};

use super::pattern::{defined_terms, introduced, is_introduced};
use super::{context, known, lexicon, words};
use model::document::{
    Block, BlockKind, Document, InlineKind, LinkKind, Mention, Naming, RecognizerKind,
};
use model::terms::{EntityType, Norm, Span};

/// Allowed lengths of initials, in letters.
pub(crate) const INITIALS: std::ops::RangeInclusive<usize> = 2..=6;

/// Longest tag of a template, in bytes.
const MAX_TAG_BYTES: usize = 500;

/// Sets [`model::document::PlaceFeatures::naming`].
pub(super) fn fill(doc: &Document, sentences: &[Span<Norm>], mentions: &mut [Mention]) {
    let judge = Judge::of(doc, sentences);
    for mention in mentions.iter_mut() {
        mention.place.naming = judge.naming(mention);
    }
    for idx in 1..mentions.len() {
        let Some([one, other]) = mentions.get_mut(idx - 1..=idx) else { continue };
        if are_defined(&doc.text, one.span, other.span) {
            (one.place.naming, other.place.naming) = (Naming::Defined, Naming::Defined);
        }
    }
}

/// Returns whether the words are a name and its initials: `Key Management Service (KMS)`, `KMS - Key Management
/// Service`, or the reverse.
pub(crate) fn are_defined(text: &str, one: Span<Norm>, other: Span<Norm>) -> bool {
    let between = text.get(one.end()..other.start()).unwrap_or_default();
    let after = text.get(other.end()..).unwrap_or_default();
    let (one, other) = (one.of(text), other.of(text));
    let is_beside = match between.trim() {
        "(" => after.starts_with([')', ',', ';']),
        sign => matches!(sign, "-" | "–" | "—" | "|") && !between.contains('\n'),
    };
    is_beside && (are_initials(one, other) || are_initials(other, one))
}

/// True when `short` is all capitals and consists of the initials of `long`, with or without those of articles and
/// prepositions.
pub(crate) fn are_initials(short: &str, long: &str) -> bool {
    let letters: String = short.chars().filter(|c| *c != '.').collect();
    let is_short =
        INITIALS.contains(&letters.len()) && letters.bytes().all(|b| b.is_ascii_uppercase());
    let initials = |all: bool| {
        let words = long.split([' ', '-']).filter(|word| !word.is_empty());
        let kept = words.filter(move |word| all || !words::is_function_word(word));
        kept.filter_map(|word| word.chars().next()).flat_map(char::to_uppercase).collect::<String>()
    };
    is_short
        && long.contains([' ', '-'])
        && (initials(false) == letters || initials(true) == letters)
}

/// Drops what stands in the tags of a template (`{{< param "NAME" >}}`, `{% page "/x" %}`), which are no text.
pub(super) fn drop_tags(doc: &Document, found: &mut Vec<Mention>) {
    let mut tags: Vec<(usize, usize)> = Vec::new();
    for (at, _) in doc.text.match_indices('{') {
        // Bounded, since a text may consist of opening brackets.
        let rest = context::head(doc.text.get(at + 1..).unwrap_or(""), MAX_TAG_BYTES);
        let closing = match rest.as_bytes().first() {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            _ => continue,
        };
        let line = rest.split('\n').next().unwrap_or("");
        tags.extend(line.find(closing).map(|end| (at, at + 1 + end)));
    }
    found.retain(|it| {
        let next = tags.partition_point(|(start, _)| *start <= it.span.start());
        let tag = next.checked_sub(1).and_then(|idx| tags.get(idx));
        tag.is_none_or(|(_, end)| it.span.end() > *end)
    });
}

struct Judge<'d> {
    doc: &'d Document,
    sentences: &'d [Span<Norm>],
    defined: FxHashSet<Span<Norm>>,
    /// Words of links that lead to several places.
    shared: FxHashSet<&'d str>,
    /// Where marks and links begin.
    marks: FxHashSet<usize>,
}

impl<'d> Judge<'d> {
    fn of(doc: &'d Document, sentences: &'d [Span<Norm>]) -> Self {
        let introduced = introduced(doc).into_iter().filter(|span| {
            is_introduced(&doc.text, *span) && !words::is_ordinary(span.of(&doc.text))
        });
        let defined = defined_terms(doc).into_iter().chain(introduced).collect();
        let mut targets: FxHashMap<&str, &str> = FxHashMap::default();
        let mut shared = FxHashSet::default();
        for link in doc.links.iter().filter(|link| link.kind == LinkKind::Url) {
            let text = link.span.of(&doc.text);
            if *targets.entry(text).or_insert(&link.target) != link.target {
                shared.insert(text);
            }
        }
        let marks = doc.inlines.iter().map(|it| it.span).chain(doc.links.iter().map(|it| it.span));
        let marks = marks.map(|it| it.start()).collect();
        Judge { doc, sentences, defined, shared, marks }
    }

    fn naming(&self, mention: &Mention) -> Naming {
        let (span, place) = (mention.span, mention.place);
        let surface = span.of(&self.doc.text);
        match mention.recognizer {
            RecognizerKind::Stated | RecognizerKind::Given | RecognizerKind::Coreference => {
                return Naming::Name;
            }
            _ if self.defined.contains(&span) => return Naming::Defined,
            _ if self.is_placeholder(span) => return Naming::Open,
            // What an author writes in code font is meant exactly.
            _ if place.in_code && !surface.contains(' ') => return Naming::Defined,
            _ if self.shared.contains(surface) || self.is_label(mention) => return Naming::Common,
            _ if is_known(mention) || self.is_distinct(mention) => {}
            // `Sam is a baker`.
            _ if place.is_defined && surface.starts_with(char::is_uppercase) => {}
            _ if !surface.contains(char::is_uppercase) => return Naming::Common,
            _ if (place.in_heading || self.is_in_lead(span)) && !is_whole_person(mention) => {
                return Naming::Open;
            }
            _ if !is_whole_person(mention) && (self.is_cut(span) || !self.is_proved(span)) => {
                return Naming::Open;
            }
            _ => {}
        }
        Naming::Name
    }

    /// Returns whether the form of a word proves that it is a name wherever it stands: `OpenTelemetry`, `IGCE`,
    /// `@ada`, a version, a step, a single word that is a link to another site.
    fn is_distinct(&self, mention: &Mention) -> bool {
        let surface = mention.span.of(&self.doc.text);
        let is_word = !surface.contains([' ', '\n']) && !words::is_ordinary(surface);
        matches!(mention.entity_type, EntityType::Date | EntityType::Version | EntityType::Step)
            || mention.name.starts_with(['@', '#'])
            || is_word && (has_inner_capital(surface) || self.is_link(mention.span))
    }

    /// Returns whether the capitals of the words make a name here. At a start, that of the first proves nothing; those
    /// of ordinary words only if all have one, and the words beside them none, of which they would be a part.
    fn is_proved(&self, span: Span<Norm>) -> bool {
        let surface = span.of(&self.doc.text);
        let is_start = !self.is_link(span)
            && (self.is_start(span.start()) || self.marks.contains(&span.start()));
        let all: Vec<&str> = surface.split([' ', '\n', '-']).filter(|it| !it.is_empty()).collect();
        // `Update Edge Team`: whether the name begins after the first word, another place must show.
        let is_unsure = is_start
            && all.first().is_some_and(|it| words::is_ordinary(it) && !has_inner_capital(it));
        let has_own = !is_unsure
            && all.iter().enumerate().any(|(idx, word)| {
                let is_large = (idx > 0 || !is_start) && word.contains(char::is_uppercase);
                !words::is_ordinary(word) && (is_large || has_inner_capital(word))
            });
        let is_kind = || all.last().is_some_and(|it| lexicon::is_suffix(it));
        let is_large = |it: &str| it.starts_with(char::is_uppercase);
        let are_large = || all.iter().all(|it| words::is_function_word(it) || is_large(it));
        let beside = self.beside(span).into_iter().flatten();
        has_own
            || all.len() > 1
                && are_large()
                && (is_kind() || !is_start)
                && !beside.into_iter().any(|it| is_large(it) && !words::is_function_word(it))
    }

    /// Returns whether capitals go on beside the words, so that they are a part of a longer name: `Origin` in
    /// `Developer Certificate of Origin`.
    fn is_cut(&self, span: Span<Norm>) -> bool {
        if self.is_link(span) || self.marks.contains(&span.start()) {
            return false;
        }
        let is_large =
            |it: &str| it.starts_with(char::is_uppercase) && !words::is_function_word(it);
        let [before, after] = self.beside(span);
        let before_of = || {
            let text = self.doc.text.get(..span.start())?.strip_suffix(" of ")?;
            text.rsplit(|c: char| !c.is_alphanumeric()).next()
        };
        let starts = |word: &str| self.is_start(span.start() - word.len() - 1);
        before.is_some_and(|it| is_large(it) && !starts(it))
            || after.is_some_and(is_large)
            || before_of().is_some_and(is_large)
    }

    /// Returns the words that stand directly before and after a place.
    fn beside(&self, span: Span<Norm>) -> [Option<&'d str>; 2] {
        let is_part = |c: char| !c.is_alphanumeric();
        let before = self.doc.text.get(..span.start()).and_then(|it| it.strip_suffix([' ', '/']));
        let after = self.doc.text.get(span.end()..).and_then(|it| it.strip_prefix([' ', '/']));
        [
            before.and_then(|it| it.rsplit(is_part).next()),
            after.and_then(|it| it.split(is_part).next()),
        ]
    }

    /// Returns whether no letter precedes the place in its sentence, cell or quotation.
    fn is_start(&self, at: usize) -> bool {
        let after = self.sentences.partition_point(|it| it.start() <= at);
        let sentence = after.checked_sub(1).and_then(|idx| self.sentences.get(idx));
        let sentence = sentence.filter(|it| at < it.end()).map_or(0, |it| it.start());
        let from = self.block_at(at).map_or(0, |it| it.span.start()).max(sentence);
        let before = self.doc.text.get(from..at).unwrap_or("").chars().rev();
        let is_after_dash = [" - ", " – ", " — "]
            .iter()
            .any(|it| self.doc.text.get(from..at).is_some_and(|before| before.ends_with(it)));
        is_after_dash
            || !before
                .take_while(|c| !matches!(c, '|' | ':' | '\n' | '"' | '“' | '•'))
                .any(char::is_alphanumeric)
    }

    /// Returns whether a place is in bold words that head what follows as a heading does: before a colon, or all of
    /// their block.
    fn is_in_lead(&self, span: Span<Norm>) -> bool {
        let after = self.doc.inlines.partition_point(|it| it.span.start() <= span.start());
        let mark = after.checked_sub(1).and_then(|idx| self.doc.inlines.get(idx));
        let bold = mark.filter(|it| it.kind == InlineKind::Bold && span.end() <= it.span.end());
        bold.is_some_and(|it| {
            let text = it.span.of(&self.doc.text).trim_end();
            let after = self.doc.text.get(it.span.end()..).unwrap_or("");
            text.ends_with(':')
                || after.starts_with(':')
                || self.block_at(span.start()).is_some_and(|block| block.span == it.span)
        })
    }

    fn block_at(&self, at: usize) -> Option<&'d Block> {
        let after = self.doc.blocks.partition_point(|it| it.span.start() <= at);
        after.checked_sub(1).and_then(|idx| self.doc.blocks.get(idx))
    }

    /// Returns whether the words are the head of a column, or a colon follows them that begin a block, line or cell:
    /// `Meeting time: …`. Who speaks is no label.
    fn is_label(&self, mention: &Mention) -> bool {
        let span = mention.span;
        let block = self.block_at(span.start());
        if block.is_some_and(|it| matches!(it.kind, BlockKind::TableRow { is_header: true, .. })) {
            return true;
        }
        let after = context::head(self.doc.text.get(span.end()..).unwrap_or(""), 2);
        after.starts_with(':')
            && mention.entity_type != EntityType::Person
            && !self.is_link(span)
            && self.is_start(span.start())
    }

    /// Returns whether the words are the whole text of a link to another site.
    fn is_link(&self, span: Span<Norm>) -> bool {
        let at = self.doc.links.partition_point(|it| it.span.start() < span.start());
        self.doc.links.get(at).is_some_and(|it| it.span == span && it.kind == LinkKind::Url)
    }

    /// Returns whether the words stand for others: `<YOUR_NAME>`, `${Project Name}`, `[Your city]`.
    fn is_placeholder(&self, span: Span<Norm>) -> bool {
        let before = self.doc.text.get(..span.start()).unwrap_or("");
        let after = self.doc.text.get(span.end()..).unwrap_or("");
        let brackets = [('<', '>'), ('{', '}'), ('[', ']')];
        brackets.iter().any(|(open, close)| before.ends_with(*open) && after.starts_with(*close))
    }
}

fn has_inner_capital(word: &str) -> bool {
    word.split('-').any(|part| part.chars().skip(1).any(|c| c.is_uppercase() || c == '_'))
}

/// Returns whether readers know it as the name of a thing, rather than of a notion (`machine learning`).
fn is_known(mention: &Mention) -> bool {
    mention.entity_type != EntityType::Concept && known::is_known(&mention.name)
}

/// Returns whether the mention is of a person by more than one name.
fn is_whole_person(mention: &Mention) -> bool {
    mention.entity_type == EntityType::Person && mention.name.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::document::testing;

    fn naming(text: &str, name: &str, entity_type: EntityType) -> Naming {
        let doc = testing::doc(text);
        let mut mentions = [testing::mention(&doc, name, entity_type)];
        super::super::place::fill(&doc, &mut mentions);
        fill(&doc, &testing::sentences_of(&doc), &mut mentions);
        mentions[0].place.naming
    }

    #[test]
    fn a_place_writes_a_name_a_common_noun_or_says_nothing() {
        use EntityType::{Concept, Person, Product};
        use Naming::{Common, Defined, Name, Open};
        for (text, name, entity_type, expected) in [
            ("We met at Quillgate.", "Quillgate", Concept, Name),
            ("We moved to the Edge Team.", "Edge Team", Concept, Name),
            ("We need an edge cluster.", "edge cluster", Concept, Common),
            // A capital that anything has there proves nothing.
            ("Deliverables are late.", "Deliverables", Concept, Open),
            ("# Eligibility", "Eligibility", Concept, Open),
            ("- TL - Deadline is near.", "Deadline", Concept, Open),
            ("Click on **Submit** twice.", "Submit", Concept, Open),
            ("**Corp Known to Quillgate:** two", "Corp Known", Concept, Open),
            ("Update Edge Quillgate soon.", "Update Edge Quillgate", Concept, Open),
            // Parts of longer names.
            ("We sign the Certificate of Quillgate here.", "Quillgate", Concept, Open),
            ("We met at Quillgate Zeta Conventions.", "Quillgate Zeta", Concept, Open),
            // What says what others are is a common noun.
            ("Meeting Notes: none", "Meeting Notes", Concept, Common),
            ("Ruth: we ship", "Ruth", Person, Open),
            ("[Doc](https://a.example/1) [Doc](https://a.example/2)", "Doc", Product, Common),
            // Forms that prove a name anywhere.
            ("OpenTide is fast.", "OpenTide", Product, Name),
            ("# Ada Moreno", "Ada Moreno", Person, Name),
            ("[zipkin](https://a.example/x/y)", "zipkin", Product, Name),
            // Code, definitions, placeholders.
            ("Set `max_streams` to one.", "max_streams", Concept, Defined),
            ("This is called a *grace window* here.", "grace window", Concept, Defined),
            ("Hello {Project Name} there.", "Project Name", Concept, Open),
        ] {
            assert_eq!(naming(text, name, entity_type), expected, "{text}");
        }
    }

    #[test]
    fn initials_beside_a_name_define_both() {
        let are = |text: &str, one: &str, other: &str| {
            let span = |it: &str| {
                let start = text.find(it).expect("it stands there");
                Span::new(start, start + it.len())
            };
            are_defined(text, span(one), span(other))
        };
        assert!(are("KMS - Key Management Service. Old.", "KMS", "Key Management Service"));
        assert!(are("Key Management Service (KMS)", "Key Management Service", "KMS"));
        assert!(!are("KMS - Keeps Mail Safe Forever", "KMS", "Keeps Mail Safe Forever"));
        assert!(!are("Key Management Service: KMS", "Key Management Service", "KMS"));
    }

    #[test]
    fn tags_of_templates_are_no_text() {
        let doc = testing::doc("Set {{< param \"PRODUCT_NAME\" >}} on Linux");
        let mention = |name: &str| testing::mention(&doc, name, EntityType::Concept);
        let mut found = vec![mention("PRODUCT_NAME"), mention("Linux")];
        drop_tags(&doc, &mut found);
        assert_eq!(found.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["Linux"]);
    }

    #[test]
    fn a_text_of_opening_brackets_costs_no_more_than_another() {
        // With the rest of the text read at each bracket, this would take minutes.
        let doc = testing::doc(&"{{".repeat(500_000));
        let mut found = Vec::new();
        drop_tags(&doc, &mut found);
        assert_eq!(found.len(), 0);
    }
}
