//! People: the rows in which a document states a name and a handle of one person: `Ada Moreno (@ada)`,
//! `Ada Moreno | @ada`, `@ada (Ada Moreno)`, `[Ada Moreno](https://github.com/ada)`; and names before an address.
//!
//! In: the mentions of a document. Out: its rows; and the same mentions, with what such rows and the lists of them
//! name as people, whatever general knowledge says of their words.
//! Invariants: a name has two to four words that are written like a name, none of them ordinary; linear.

use rustc_hash::FxHashMap;

use super::{lexicon, runs, words};
use model::document::{BlockKind, Document, Link, LinkKind, Mention};
use model::terms::EntityType;

/// Words of a person's whole name.
const WORDS: std::ops::RangeInclusive<usize> = 2..=4;
/// What stands between a name and the handle after it, or between a handle and the name after it.
const TO_HANDLE: [&str; 6] = ["", "(", "-", "–", "<", "|"];
const TO_NAME: [&str; 3] = ["(", "- (", "– ("];

/// A person's name, by its mention, and a handle.
pub(crate) struct Row<'d> {
    pub(crate) name: usize,
    pub(crate) handle: &'d str,
}

/// Returns the rows of a document, in order.
pub(crate) fn rows<'d>(doc: &'d Document, mentions: &'d [Mention]) -> Vec<Row<'d>> {
    let mut out = Vec::new();
    for (idx, mention) in mentions.iter().enumerate() {
        if is_whole_name(doc, mention)
            && let Some(handle) = linked(doc, mention)
        {
            out.push(Row { name: idx, handle });
        }
        let Some(next) = mentions.get(idx + 1) else { break };
        let between = doc.text.get(mention.span.end()..next.span.start()).unwrap_or("\n");
        let sign = between.trim_end_matches('@').trim();
        if !between.contains('\n') && TO_HANDLE.contains(&sign) && is_whole_name(doc, mention) {
            out.extend(handle_of(doc, next).map(|handle| Row { name: idx, handle }));
        }
        out.extend(headed(doc, mentions, next).map(|(name, handle)| Row { name, handle }));
        if TO_NAME.contains(&sign) && is_whole_name(doc, next) {
            out.extend(handle_of(doc, mention).map(|handle| Row { name: idx + 1, handle }));
        }
    }
    out
}

/// Returns the name that is the heading of a section, and the handle that an item in it states: `GitHub: [ada](…/ada)`.
fn headed<'d>(
    doc: &'d Document,
    mentions: &'d [Mention],
    mention: &'d Mention,
) -> Option<(usize, &'d str)> {
    let handle = handle_of(doc, mention)?;
    let at = doc.blocks.partition_point(|it| it.span.start() <= mention.span.start());
    let block = doc.blocks.get(at.checked_sub(1)?)?;
    let label = doc.text.get(block.span.start()..mention.span.start())?.trim_end_matches('@');
    let heading = doc.blocks.get(block.section? as usize)?.span;
    let name = mentions.partition_point(|it| it.span.start() < heading.start());
    let is_name = mentions.get(name).is_some_and(|it| it.span == heading && is_whole_name(doc, it));
    let is_field = matches!(block.kind, BlockKind::ListItem { .. })
        && label.strip_suffix(": ").is_some_and(|it| !it.contains(' '));
    (is_name && is_field).then_some((name, handle))
}

/// Makes people of the names in rows and before addresses, and of those that begin the other items of a list of such.
pub(super) fn settle(doc: &Document, mentions: &mut [Mention]) {
    let mut named: Vec<usize> = rows(doc, mentions).into_iter().map(|row| row.name).collect();
    let after = |mention: &Mention| doc.text.get(mention.span.end()..).unwrap_or("");
    let addressed = mentions.iter().enumerate().filter(|(_, it)| has_address(after(it)));
    named.extend(addressed.map(|(idx, _)| idx));
    named.sort_unstable();
    if named.is_empty() {
        return;
    }
    let begins: FxHashMap<usize, usize> =
        mentions.iter().enumerate().map(|(idx, it)| (it.span.start(), idx)).collect();
    let is_row =
        |start: usize| begins.get(&start).is_some_and(|it| named.binary_search(it).is_ok());
    let mut people = named.clone();
    let items = |it: &&model::document::Block| matches!(it.kind, BlockKind::ListItem { .. });
    for list in doc.blocks.chunk_by(|a, b| a.section == b.section && items(&a) && items(&b)) {
        let n_rows = list.iter().filter(|it| is_row(it.span.start())).count();
        if n_rows > 1 && n_rows * 2 >= list.len() {
            people.extend(list.iter().filter_map(|it| begins.get(&it.span.start())));
        }
    }
    for idx in people {
        if let Some(mention) = mentions.get_mut(idx).filter(|it| is_whole_name(doc, it)) {
            mention.entity_type = EntityType::Person;
            mention.place.is_type_guessed = false;
            mention.place.certainty = 0;
        }
    }
}

/// Returns whether the address of a person follows: ` <ada@example.org>`.
pub(super) fn has_address(after: &str) -> bool {
    let address =
        after.strip_prefix(" <").and_then(|it| it.split_inclusive(['>', ' ', '\n']).next());
    address.is_some_and(|it| it.contains('@') && it.ends_with('>'))
}

/// Returns whether a mention is written like the whole name of a person.
fn is_whole_name(doc: &Document, mention: &Mention) -> bool {
    let surface = mention.span.of(&doc.text);
    let is_part = |word: &str| {
        let has_capital = word.starts_with(char::is_uppercase);
        let is_caps = word.len() > 1 && !word.contains(char::is_lowercase);
        has_capital && !is_caps && !words::is_ordinary(word) && !word.contains(char::is_numeric)
            || runs::PARTICLES.contains(&word)
    };
    mention.name == surface
        && WORDS.contains(&surface.split(' ').count())
        && surface.split(' ').all(is_part)
        && !lexicon::type_of(surface).is_specific()
}

/// Returns the handle that a mention is: `@ada`, or `[ada](https://github.com/ada)`.
fn handle_of<'d>(doc: &'d Document, mention: &'d Mention) -> Option<&'d str> {
    let surface = mention.span.of(&doc.text);
    match mention.name.strip_prefix('@') {
        Some(handle) => Some(handle),
        None => linked(doc, mention).filter(|it| it.eq_ignore_ascii_case(surface)),
    }
}

/// Returns the [`profile`] to which the words of a mention link.
fn linked<'d>(doc: &'d Document, mention: &Mention) -> Option<&'d str> {
    let at = doc.links.partition_point(|it| it.span.start() < mention.span.start());
    doc.links.get(at).filter(|it| it.span == mention.span).and_then(profile)
}

/// Returns the one part of the path to which a link to another site leads.
pub(super) fn profile(link: &Link) -> Option<&str> {
    let (_, path) = link.target.split_once("://").filter(|_| link.kind == LinkKind::Url)?;
    let (_, handle) = path.trim_end_matches('/').split_once('/')?;
    let is_handle = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let handle = handle.strip_prefix('@').unwrap_or(handle);
    (!handle.is_empty() && handle.chars().all(is_handle)).then_some(handle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognize::{Gazetteer, GazetteerTerm, RecognizeStage};
    use arc_swap::ArcSwap;
    use model::Stage;
    use model::document::testing;
    use std::sync::Arc;

    fn found(text: &str) -> (Vec<String>, Vec<String>) {
        let doc = testing::doc(text);
        let ada = GazetteerTerm {
            surface: "Ada Moreno".into(),
            norm: "adamoreno".into(),
            entity_type: EntityType::Concept,
        };
        let gazetteer = Arc::new(ArcSwap::from_pointee(Gazetteer::build(1, [ada].into_iter())));
        let settings = config::settings::Recognize::default();
        let doc = RecognizeStage::new(&settings, gazetteer).run(doc).expect("recognized");
        let mentions = &doc.found.mentions;
        let rows = rows(&doc, mentions);
        let name = |it: &Row<'_>| format!("{} = {}", mentions[it.name].name, it.handle);
        let people = mentions.iter().filter(|it| it.entity_type == EntityType::Person);
        let surfaces = people.map(|it| format!("{} = {}", it.span.of(&doc.text), it.name));
        (rows.iter().map(name).collect(), surfaces.collect())
    }

    #[test]
    fn a_name_beside_a_handle_is_one_person() {
        for (text, rows) in [
            ("- Ada Moreno (@ada-m), Porto", &["Ada Moreno = ada-m"][..]),
            ("- Chris de Almeida ([@ctc](https://github.com/ctc))", &["Chris de Almeida = ctc"]),
            ("Ada Moreno | @adam", &["Ada Moreno = adam"]),
            ("Lead: Ada Moreno @adam", &["Ada Moreno = adam"]),
            ("- @adam (Ada Moreno - Quillgate)", &["Ada Moreno = adam"]),
            ("- [Ada Moreno](https://github.com/adam), Porto", &["Ada Moreno = adam"]),
            ("### Ada Moreno\n- GitHub: [adam](https://github.com/adam)", &["Ada Moreno = adam"]),
            ("- Quillgate Team (@quill)", &[]),
            ("- TC Sponsor @adam", &[]),
            ("- [Ada Moreno](https://github.com/adam/notes), Porto", &[]),
        ] {
            assert_eq!(found(text).0, rows, "{text}");
        }
    }

    #[test]
    fn rows_decide_who_is_a_person_before_general_knowledge() {
        let (_, people) = found(
            "- Jordan Harband (@ljharb)\n- Wes Tidd (@wes)\n- Adrian Estranda\n\nThen Jordan spoke.\n\n\
             To: Ada Moreno <ada@x.org>",
        );
        let expected = ["Jordan Harband", "Wes Tidd", "Adrian Estranda", "Ada Moreno"]
            .map(|it| format!("{it} = {it}"));
        assert!(expected.iter().all(|it| people.contains(it)), "{people:?}");
        assert!(people.contains(&"Jordan = Jordan Harband".to_string()), "{people:?}");
    }
}
