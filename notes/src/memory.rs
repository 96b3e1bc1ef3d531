//! Memory: a note as an entity with relations and facts, each fact with a number that never changes.
//!
//! In: the text of a note. Out: [`Node`]: its name, type, summary, tags, facts and relations, with their places.
//! Shape: a fact is a list item with the block id `^oN` (`- text ^o7`), where N is its ordinal; or a stated
//! observation (`- [category] text`); or, in a note of the memory folder, any outermost item that is not a typed
//! relation. A relation is `- type [[Target]]`.
//! Invariants: the text of a fact is what its line shows, without escapes ([`crate::plain`]), with its category as
//! written, except [`CATEGORY`], which stands for none; an ordinal belongs to the first item that has it. When read,
//! facts without an ordinal get the next ones above every one used, in the order of their lines ([`numbered`]).

mod shape;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::parse::{Item, Note, RelationKind, parse, scalar_text};
use crate::plain;
use crate::turn::{self, Turn};

pub use shape::{
    CATEGORY, EXACT_NAME, EXACT_TYPE, OBSERVATIONS, RELATIONS, is_a_title, quoted, relation_item,
    relations, stated_fact, stated_name, stated_node_type, stated_type, title_of,
};

/// The front matter key that keeps the highest ordinal of a note after its line is removed.
pub const LAST_ORDINAL: &str = "last_ordinal";

/// The front matter key of the summary.
pub const SUMMARY: &str = "summary";

/// The letter that begins block ids of facts.
pub const ID_LETTER: char = 'o';

/// A note as an entity.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Node {
    /// Its name: the title, or the exact name if a title cannot hold it.
    pub name: Option<String>,
    /// Its stated type.
    pub node_type: Option<String>,
    /// Its summary.
    pub summary: Option<String>,
    /// The tags of its front matter.
    pub tags: Vec<String>,
    /// The highest ordinal kept in its front matter; 0 for none.
    pub last_ordinal: u64,
    /// Every item that may be a fact, in the order of lines; see [`Node::facts`].
    pub items: Vec<Fact>,
    /// Its relations, in the order of lines.
    pub relations: Vec<Stated>,
}

/// A fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its number, if the item has one of its own.
    pub ordinal: Option<u64>,
    /// Its text.
    pub content: String,
    /// True when it is a fact in any note, because it has a number or a category.
    pub is_stated: bool,
    /// Bytes of its own text: after the marker, before any block id.
    pub text: Range<usize>,
    /// Bytes of the number with `^`, even if another item already has that number.
    pub id: Option<Range<usize>>,
    /// Bytes of another block id with `^`, after the number.
    pub other_id: Option<Range<usize>>,
    /// Bytes of the item, from its marker to the end of what is nested in it.
    pub item: Range<usize>,
    /// Line of the file, from 1.
    pub line: usize,
    /// Lines that its own text takes.
    pub n_lines: usize,
    /// Its speaker and day.
    pub turn: Turn,
}

/// A relation that a note states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// Its type.
    pub relation_type: String,
    /// Its target, as written.
    pub target: String,
    /// Bytes of the link.
    pub link: Range<usize>,
    /// Bytes of its item, and of the item's own text; `None` outside a list.
    pub item: Option<(Range<usize>, Range<usize>)>,
    /// Line of the file, from 1.
    pub line: usize,
}

/// Reads a note as an entity.
pub fn read(text: &str) -> Node {
    of(text, &parse(text))
}

/// Like [`read`], for a parsed note.
pub fn of(text: &str, note: &Note) -> Node {
    let values = note.frontmatter.as_ref().map(|it| &it.values);
    let value = |key: &str| values.and_then(|values| values.get(key));
    Node {
        name: stated_name(value(EXACT_NAME), note.title.as_deref()),
        node_type: stated_node_type(value(EXACT_TYPE), note.note_type.as_deref()),
        summary: value(SUMMARY).and_then(scalar_text),
        tags: note.frontmatter.as_ref().map(|it| it.tags()).unwrap_or_default(),
        last_ordinal: value(LAST_ORDINAL).and_then(serde_json::Value::as_u64).unwrap_or(0),
        items: facts(text, note),
        relations: stated(note),
    }
}

impl Node {
    /// Returns its facts; in a note of the memory folder every outermost item is one.
    pub fn facts(&self, in_folder: bool) -> impl Iterator<Item = &Fact> {
        self.items.iter().filter(move |it| in_folder || it.is_stated)
    }

    /// Returns the highest ordinal that is known to be used from this note.
    pub fn highest(&self) -> u64 {
        let ordinals = self.items.iter().filter_map(|it| it.ordinal);
        ordinals.max().unwrap_or(0).max(self.last_ordinal)
    }
}

/// Returns the ordinals of facts in order: their own, otherwise the next above `highest`, the highest one used.
pub fn numbered(ordinals: impl Iterator<Item = Option<u64>>, highest: u64) -> Vec<u64> {
    let mut next = highest;
    let number = |own: Option<u64>| {
        own.unwrap_or_else(|| {
            next += 1;
            next
        })
    };
    ordinals.map(number).collect()
}

fn facts(text: &str, note: &Note) -> Vec<Fact> {
    let related: BTreeSet<usize> = note
        .relations
        .iter()
        .filter(|it| it.kind == RelationKind::Typed)
        .filter_map(|it| it.item)
        .collect();
    let mut taken = BTreeSet::new();
    let mut out = Vec::new();
    for (idx, item) in note.items.iter().enumerate() {
        if item.depth > 0 || related.contains(&idx) || !begins_its_line(text, item) {
            continue;
        }
        let Some(mut fact) = fact(text, note, idx, item) else { continue };
        // A copied line has the number of its original, which comes first and keeps it.
        if fact.ordinal.is_some_and(|ordinal| !taken.insert(ordinal)) {
            fact.ordinal = None;
        }
        out.push(fact);
    }
    let heading_above = |fact: &Fact| {
        let at = note.headings.partition_point(|it| it.place.span.start < fact.item.start);
        note.headings.get(at.checked_sub(1)?).map(|it| it.text.as_str())
    };
    let turns = turn::read(out.iter().map(|it| (it.content.as_str(), heading_above(it))));
    out.iter_mut().zip(turns).for_each(|(fact, turn)| fact.turn = turn);
    out
}

fn begins_its_line(text: &str, item: &Item) -> bool {
    let before = text.get(..item.place.span.start).unwrap_or("");
    let line = before.rsplit('\n').next().unwrap_or(before);
    line.trim_start_matches('\u{feff}').chars().all(|c| matches!(c, ' ' | '\t'))
}

fn fact(text: &str, note: &Note, idx: usize, item: &Item) -> Option<Fact> {
    let from = item.place.span.start;
    let whole = text.get(from..item.content.end)?;
    let marker = whole.find(|c: char| c.is_whitespace())?;
    let own = whole.get(marker..)?;
    let start = from + marker + (own.len() - own.trim_start_matches([' ', '\t']).len());
    let mut end = start + text.get(start..item.content.end)?.trim_end().len();
    let mut other_id = None;
    let mut id = trailing_id(text, note, start..end);
    if let Some((place, None)) = &id {
        other_id = Some(place.clone());
        end = start + text.get(start..place.start)?.trim_end().len();
        // A user may have added a block id of their own after our number; links refer to that one.
        id = last_word(text, start..end)
            .filter(|(_, word)| ordinal_of(word).is_some())
            .map(|(place, word)| (place, ordinal_of(word)));
    }
    let ordinal = id.as_ref().and_then(|(_, ordinal)| *ordinal);
    if let Some((place, _)) = &id {
        end = start + text.get(start..place.start)?.trim_end().len();
    }
    let shown = text.get(start..end)?;
    if shown.trim().is_empty() {
        return None;
    }
    let category = note.observations.iter().find(|it| it.item == idx).map(|it| &it.category);
    let bare = match category {
        Some(category) if category == CATEGORY => {
            shown.split_once(']').map_or(shown, |(_, rest)| rest.trim_start())
        }
        _ => shown,
    };
    Some(Fact {
        ordinal,
        content: plain::decoded(&unwrapped(bare)),
        is_stated: ordinal.is_some() || category.is_some(),
        text: start..end,
        id: id.map(|(place, _)| place),
        other_id,
        item: item.place.span.clone(),
        line: item.place.line,
        n_lines: shown.lines().count(),
        turn: Turn::default(),
    })
}

/// Joins the lines of an item without their indentation.
fn unwrapped(text: &str) -> String {
    let mut lines = text.lines();
    let mut out = lines.next().unwrap_or("").trim_end().to_string();
    for line in lines {
        out.push('\n');
        out.push_str(line.trim());
    }
    out
}

/// Returns the block id at the end of a text, as the parser found it, and its ordinal if it is one of ours.
fn trailing_id(text: &str, note: &Note, span: Range<usize>) -> Option<(Range<usize>, Option<u64>)> {
    let (place, word) = last_word(text, span)?;
    let is_id = note.block_ids.iter().any(|it| it.place.span == place);
    is_id.then(|| (place, ordinal_of(word)))
}

fn last_word(text: &str, span: Range<usize>) -> Option<(Range<usize>, &str)> {
    let own = text.get(span.clone())?;
    let at = own.rfind([' ', '\t', '\n'])? + 1;
    Some((span.start + at..span.end, own.get(at..)?))
}

/// Parses `^o7` as 7.
pub(crate) fn ordinal_of(word: &str) -> Option<u64> {
    let digits = word.strip_prefix('^')?.strip_prefix(ID_LETTER)?;
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Numbers with leading zeros, or too large to be ours, are ordinary ids.
    let number: u64 = digits.parse().ok().filter(|n: &u64| *n > 0 && *n < 1 << 52)?;
    (is_plain && number.to_string() == digits).then_some(number)
}

fn stated(note: &Note) -> Vec<Stated> {
    let typed = note.relations.iter().filter(|it| it.kind == RelationKind::Typed);
    let read = typed.filter_map(|it| {
        let link = note.links.get(it.link)?;
        let item = it.item.and_then(|idx| note.items.get(idx));
        Some(Stated {
            relation_type: stated_type(&it.relation_type, it.context.as_deref()),
            target: link.target.clone(),
            link: link.place.span.clone(),
            item: item.map(|item| (item.place.span.clone(), it.place.span.clone())),
            line: it.place.line,
        })
    });
    read.collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, in_folder: bool, expected: Expect) {
        let node = read(text);
        let ordinals =
            numbered(node.facts(in_folder).map(|it| it.ordinal), node.highest()).into_iter();
        let mut out = String::new();
        for (fact, ordinal) in node.facts(in_folder).zip(ordinals) {
            let mark = if fact.ordinal.is_some() { "" } else { "*" };
            out += &format!("{}: o{ordinal}{mark} {:?}\n", fact.line, fact.content);
        }
        for it in &node.relations {
            out += &format!("{}: {} -> {}\n", it.line, it.relation_type, it.target);
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn facts_are_numbered_stated_or_lines_of_the_folder() {
        let text = "# Ada\n\n- plain\n- numbered ^o7\n- [fact] filed #tag (there)\n  - nested\n\
            - [note] imported \\*x\\* ^o2\n- knows [[Bob]]\n- [ ] a task\n- see [[Bob]]\n\n1. first\n\
            2. second ^o9\n\n> - quoted\n";
        check(
            text,
            true,
            expect![[r#"
                3: o10* "plain"
                4: o7 "numbered"
                5: o11* "[fact] filed #tag (there)"
                7: o2 "imported *x*"
                9: o12* "[ ] a task"
                12: o13* "first"
                13: o9 "second"
                8: knows -> Bob
                10: see -> Bob
            "#]],
        );
        check(
            text,
            false,
            expect![[r#"
                4: o7 "numbered"
                5: o10* "[fact] filed #tag (there)"
                7: o2 "imported *x*"
                13: o9 "second"
                8: knows -> Bob
                10: see -> Bob
            "#]],
        );
    }

    #[test]
    fn an_ordinal_belongs_to_the_first_that_has_it_and_none_is_given_again() {
        check(
            "---\nlast_ordinal: 20\n---\n- a ^o3\n- copied ^o3\n\
             - mine ^own\n- both ^o4 ^own2\n- two\n  lines ^o5\n- `x ^o6`\n- y ^o07\n",
            true,
            expect![[r#"
                4: o3 "a"
                5: o21* "copied"
                6: o22* "mine"
                7: o4 "both"
                8: o5 "two\nlines"
                10: o23* "`x ^o6`"
                11: o24* "y"
            "#]],
        );
    }

    #[test]
    fn what_a_node_is_stands_in_its_front_matter() {
        let node = read(
            "---\ntitle: Ada\ntype: person\ntags: [a, b]\nsummary: Wrote it.\n---\n- x #inline\n",
        );
        assert_eq!(
            (node.name.as_deref(), node.node_type.as_deref()),
            (Some("Ada"), Some("person"))
        );
        assert_eq!(
            (node.summary.as_deref(), node.tags),
            (Some("Wrote it."), vec!["a".into(), "b".into()])
        );
        let exact = read("---\ntitle: a b\nexact_name: '\"a  b\"'\nexact_type: '\"\"'\n---\n");
        assert_eq!((exact.name.as_deref(), exact.node_type.as_deref()), (Some("a  b"), Some("")));
        // Another title or type was changed by a person and takes precedence.
        let edited =
            "---\ntitle: a c\ntype: person\nexact_name: '\"a  b\"'\nexact_type: '\"\"'\n---\n";
        let edited = read(edited);
        let found = (edited.name.as_deref(), edited.node_type.as_deref());
        assert_eq!(found, (Some("a c"), Some("person")));
    }
}
