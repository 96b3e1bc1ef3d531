//! Lines: the lines of a document that are compared with its version before.
//!
//! In: a document as it was read, or its rows. Out: its fields, observations, relations, and the sentences of its
//! other lines; which of them were added or removed.
//! Invariants: lines are compared by text, not by number, so a line that moves within a document is unchanged; both
//! versions are split by the same rules.

use std::collections::HashMap;

use notes::parse::{Note, RelationKind};
use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use crate::store::lines::{LineMap, encode};
use crate::store::{ChangedLine, LineKind, StoreError};
use model::document::Document;

/// Most lines stored for a change of a document.
const MAX_LINES: usize = 20;

/// Longest stored text of a line, characters.
const MAX_LINE_CHARS: usize = 200;

/// Most facts stored for an added document: that it came matters more than which ones.
const MAX_FIRST_FACTS: usize = 8;
/// Most other lines stored for an added document.
const MAX_FIRST_LINES: usize = 3;

/// A line of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: LineKind,
    /// Its number in the file; 0 where it has none.
    pub number: u32,
    /// What it says, not longer than is kept.
    pub text: String,
}

/// The statements of a note, apart from its other lines.
#[derive(Default)]
struct Stated {
    lines: Vec<Line>,
    /// Lines of observations and relations, which are not repeated as text.
    numbers: FxHashSet<u32>,
}

impl Stated {
    fn field(&mut self, number: u32, key: &str, value: &Value) {
        self.add(LineKind::Field, number, format!("{key}: {}", value_text(value)));
    }

    fn observation(
        &mut self,
        number: u32,
        category: &str,
        content: &str,
        tags: &[String],
        context: Option<&str>,
    ) {
        let tags: String = tags.iter().map(|tag| format!(" #{tag}")).collect();
        let context = context.map(|it| format!(" ({it})")).unwrap_or_default();
        self.add(LineKind::Observation, number, format!("- [{category}] {content}{tags}{context}"));
    }

    /// Adds a relation, once for each line: one with several targets has several links.
    fn relation(&mut self, number: u32, text: &str) {
        if !self.numbers.contains(&number) {
            self.add(LineKind::Relation, number, text.to_string());
        }
    }

    fn add(&mut self, kind: LineKind, number: u32, text: String) {
        if kind != LineKind::Field {
            self.numbers.insert(number);
        }
        self.lines.push(Line { kind, number, text: shortened(&text) });
    }

    /// Adds the lines of the text that state nothing, sentence by sentence.
    fn with_text(mut self, text: &str, map: &LineMap) -> Vec<Line> {
        for (start, sentence) in sentences(text, map) {
            let number = map.line_at(start);
            if number == 0 || !self.numbers.contains(&number) {
                self.lines.push(Line { kind: LineKind::Text, number, text: shortened(sentence) });
            }
        }
        self.lines
    }
}

/// Returns the lines of a document as it was read.
pub(super) fn of_document(doc: &Document) -> Vec<Line> {
    let mut stated = Stated::default();
    if let Some(it) = &doc.note {
        add_note(&mut stated, &it.note, &it.link_lines);
    }
    stated.with_text(&doc.text, &LineMap::decode(&encode(&doc.map, &doc.line_starts)))
}

fn add_note(stated: &mut Stated, note: &Note, link_lines: &[String]) {
    if let Some(front) = &note.frontmatter {
        for (key, value) in &front.normalized() {
            let number = front.key(key).map_or(0, |key| key.place.line);
            stated.field(number as u32, key, value);
        }
    }
    for it in &note.observations {
        let number = it.place.line as u32;
        stated.observation(number, &it.category, &it.content, &it.tags, it.context.as_deref());
    }
    for it in note.relations.iter().filter(|it| it.kind == RelationKind::Typed) {
        if let (Some(link), Some(line)) = (note.links.get(it.link), link_lines.get(it.link)) {
            stated.relation(link.place.line as u32, line);
        }
    }
}

/// Returns the lines of an indexed document, given the id of its row; empty if there is no such row.
pub(crate) fn of_row(db: &Connection, doc: i64) -> Result<Vec<Line>, StoreError> {
    let mut stated = Stated::default();
    let metadata: Option<String> = db
        .prepare_cached("SELECT metadata FROM notes WHERE doc_id = ?1")?
        .query_row([doc], |row| row.get(0))
        .optional()?;
    let fields: Map<String, Value> =
        metadata.and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default();
    // Rows have no line for a field; lines are compared without it.
    fields.iter().for_each(|(key, value)| stated.field(0, key, value));
    let mut statement = db.prepare_cached(
        "SELECT line, category, content, tags, context FROM observations WHERE doc_id = ?1 ORDER BY seq",
    )?;
    let mut rows = statement.query([doc])?;
    while let Some(row) = rows.next()? {
        let (category, content, tags): (String, String, String) =
            (row.get(1)?, row.get(2)?, row.get(3)?);
        let context: Option<String> = row.get(4)?;
        let tags: Vec<String> = serde_json::from_str(&tags).unwrap_or_default();
        stated.observation(row.get(0)?, &category, &content, &tags, context.as_deref());
    }
    let mut statement = db.prepare_cached(
        "SELECT line, said FROM note_links WHERE doc_id = ?1 AND is_typed ORDER BY seq",
    )?;
    let mut rows = statement.query([doc])?;
    while let Some(row) = rows.next()? {
        stated.relation(row.get(0)?, &row.get::<_, String>(1)?);
    }
    let text: Option<(String, Vec<u8>)> = db
        .prepare_cached("SELECT text, lines FROM docs WHERE id = ?1")?
        .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (text, lines) = text.unwrap_or_default();
    Ok(stated.with_text(&text, &LineMap::decode(&lines)))
}

/// Returns the lines that were added or removed, at most [`MAX_LINES`], in the order of the file, and how many more
/// there are. Statements come before other lines when there are too many.
pub(super) fn changed(old: &[Line], new: &[Line]) -> (Vec<ChangedLine>, u32) {
    // Counted as multisets: of a line that occurs twice and then once, one is gone.
    let mut surplus: HashMap<(LineKind, &str), i64> = HashMap::new();
    old.iter().for_each(|it| *surplus.entry((it.kind, &it.text)).or_default() -= 1);
    new.iter().for_each(|it| *surplus.entry((it.kind, &it.text)).or_default() += 1);
    let mut lines = Vec::new();
    for (gone, step, all) in [(true, 1, old), (false, -1, new)] {
        for it in all {
            let Some(n) = surplus.get_mut(&(it.kind, it.text.as_str())) else { continue };
            if *n * step < 0 {
                *n += step;
                lines.push(ChangedLine {
                    gone,
                    kind: it.kind,
                    line: it.number,
                    text: it.text.clone(),
                });
            }
        }
    }
    kept(lines, MAX_LINES)
}

/// Returns the first facts of an added document and its first other lines, and how many more lines it has.
pub fn first(new: &[Line]) -> (Vec<ChangedLine>, u32) {
    let is_fact = |it: &&Line| matches!(it.kind, LineKind::Observation | LineKind::Relation);
    let is_text = |it: &&Line| it.kind == LineKind::Text;
    let facts = new.iter().filter(is_fact).take(MAX_FIRST_FACTS);
    let shown = facts.chain(new.iter().filter(is_text).take(MAX_FIRST_LINES));
    let lines = shown.map(|it| ChangedLine {
        gone: false,
        kind: it.kind,
        line: it.number,
        text: it.text.clone(),
    });
    let (lines, _) = kept(lines.collect(), MAX_LINES);
    let n = new.iter().filter(|it| it.kind != LineKind::Field).count();
    let n_more = n.saturating_sub(lines.len()) as u32;
    (lines, n_more)
}

fn kept(mut lines: Vec<ChangedLine>, most: usize) -> (Vec<ChangedLine>, u32) {
    let n_more = lines.len().saturating_sub(most) as u32;
    // Cut by kind, statements first, then put back in the order of the file, with removed lines before added ones.
    lines.sort_by_key(|it| it.kind);
    lines.truncate(most);
    lines.sort_by_key(|it| (it.line, !it.gone));
    (lines, n_more)
}

/// The sentences of each line of a text, with their offsets.
fn sentences<'t>(text: &'t str, map: &LineMap) -> Vec<(usize, &'t str)> {
    let mut found = Vec::new();
    let mut add = |start: usize, end: usize| {
        let part = text.get(start..end).unwrap_or("");
        let trimmed = part.trim_start();
        let at = start + part.len() - trimmed.len();
        if !trimmed.trim_end().is_empty() {
            found.push((at, trimmed.trim_end()));
        }
    };
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let ends_sentence = c == ' ' && matches!(before, '.' | '!' | '?');
        // A paragraph that spans several lines of the file is one line of the text, joined by spaces.
        let ends_line = c == '\n' || (before == ' ' && map.line_at(at) != map.line_at(start));
        if ends_sentence || ends_line {
            add(start, at);
            // The line break belongs to the line that it ends; a space before a new line was added already.
            start = at + usize::from(c == '\n');
        }
        before = c;
    }
    add(start, text.len());
    found
}

fn shortened(text: &str) -> String {
    let text = text.replace('\n', " ");
    match text.char_indices().nth(MAX_LINE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
        None => text,
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::Bench;
    use expect_test::{Expect, expect};
    use model::Item;

    fn lines(bench: &mut Bench, path: &str, text: &str) -> Vec<Line> {
        let Item::Document(_, doc) = bench.item(path, text) else { panic!("a document") };
        of_document(&doc)
    }

    fn check(old: &str, new: &str, expected: Expect) {
        let mut bench = Bench::new();
        let (old_lines, new_lines) =
            (lines(&mut bench, "a.md", old), lines(&mut bench, "a.md", new));
        bench.put("a.md", old);
        let texts = |lines: &[Line]| {
            let each = lines.iter().map(|it| (it.kind, it.text.clone()));
            each.collect::<Vec<_>>()
        };
        let doc = bench.doc("a.md");
        let stored = of_row(&bench.writer.db, doc).expect("read");
        assert_eq!(texts(&stored), texts(&old_lines), "both are taken apart alike");
        let (changed, n_more) = changed(&stored, &new_lines);
        let mut out: String = changed
            .iter()
            .map(|it| {
                let sign = if it.gone { '-' } else { '+' };
                format!("{sign} {} {}: {}\n", it.line, it.kind.as_str(), it.text)
            })
            .collect();
        if n_more > 0 {
            out += &format!("{n_more} more\n");
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn facts_fields_and_sentences_are_compared_by_what_they_say() {
        check(
            "---\ntitle: Ana\nrole: reviewer\ntags: [a, b]\n---\n# Ana\n\nShe is kind. She reads.\n\n\
             - [role] Reviewer #work (since May)\n- knows [[Bo]]\n- uses [[X]], [[Y]]\n",
            "---\ntitle: Ana\nrole: lead\ntags: [a, b]\n---\n# Ana\n\nShe is kind. She writes.\n\n\
             - [role] Lead #work (since May)\n- uses [[X]], [[Y]]\n- knows [[Bo]]\n\nNew words.\n",
            expect![[r#"
                - 0 field: role: reviewer
                + 3 field: role: lead
                - 8 text: She reads.
                + 8 text: She writes.
                - 10 observation: - [role] Reviewer #work (since May)
                + 10 observation: - [role] Lead #work (since May)
                + 14 text: New words.
            "#]],
        );
    }

    #[test]
    fn lines_of_a_paragraph_keep_their_numbers() {
        check(
            "one line\nanother line\nthird line\n\nMore.\n",
            "one line\nchanged line\nthird line\n\nMore. And more.\n",
            expect![[r#"
                - 2 text: another line
                + 2 text: changed line
                + 5 text: And more.
            "#]],
        );
    }

    #[test]
    fn what_only_moves_or_looks_different_has_not_changed() {
        check(
            "A *b* c.\n\n- [idea] one\n- [fact] two\n",
            "- [fact] two\n\nA b c.\n\n- [idea] one\n",
            expect![""],
        );
    }

    #[test]
    fn of_many_lines_what_is_stated_is_kept_first() {
        let new: String = (0..30).map(|n| format!("Line {n} is here.\n")).collect();
        let (lines, n_more) = {
            let mut bench = Bench::new();
            let new = lines(&mut bench, "a.md", &format!("{new}\n- [fact] It counts\n"));
            changed(&[], &new)
        };
        assert_eq!((lines.len(), n_more), (MAX_LINES, 11));
        assert_eq!(lines.last().map(|it| it.text.as_str()), Some("- [fact] It counts"));
    }

    #[test]
    fn an_added_document_shows_its_first_facts_and_lines_and_counts_the_rest() {
        let facts: String = (0..12).map(|n| format!("- [fact] Fact {n}\n")).collect();
        let text = format!(
            "---\ntype: x\n---\n# Trip\n\nWe went. It rained. We came back.\n\n- a plain item\n{facts}"
        );
        let mut bench = Bench::new();
        let (first, n_more) = first(&lines(&mut bench, "a.md", &text));
        let shown: Vec<&str> = first.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(shown[..4], ["Trip", "We went.", "It rained.", "- [fact] Fact 0"]);
        assert_eq!((shown.len(), n_more), (11, 6));
    }
}
