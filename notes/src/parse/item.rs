//! Statements in running text: an observation, a typed relation, fields, a block id, a callout's title.
//!
//! Precision comes first: ordinary documents begin items with brackets, too, and have lists of links. An
//! observation's category must look like a word for a kind of fact; a typed relation is an item of only a type and
//! targets.

use std::collections::HashSet;
use std::ops::Range;

use super::walk::{Leaf, Walk};
use super::word::{is_category, relation_type};
use super::{
    BlockId, Callout, Field, LINKS_TO, LinkKind, Note, Observation, Place, Relation, RelationKind,
    field,
};
use crate::target::is_block_id;

impl Walk<'_> {
    /// Reads the statements of a piece of running text.
    pub(super) fn read_leaf(&mut self, leaf: &mut Leaf) {
        let (Some(first), Some(last)) = (leaf.lines.first(), leaf.lines.last()) else { return };
        let (start, end) = (first.start, last.end);
        let block_id = self.block_id(leaf, start..end);
        if let Some(item) = leaf.item {
            self.read_item(leaf, item, block_id.as_ref());
        }
        self.read_fields(leaf, block_id.map(|id| id.0));
    }

    /// Reads the block id at the end of a text, or that is all of it. Returns the place of its `^`, and its name.
    fn block_id(&mut self, leaf: &Leaf, span: Range<usize>) -> Option<(usize, String)> {
        let line = leaf.lines.last()?.clone();
        let text = self.at(line.clone()).trim_end();
        let at = text.rfind('^').filter(|at| is_block_id(&text[at + 1..]))?;
        let place = line.start + at;
        let is_parted = at == 0 || text[..at].ends_with([' ', '\t']);
        if !is_parted || !self.is_text(place) {
            return None;
        }
        let id = text[at + 1..].to_string();
        // A block id alone names the block before it: in the last row of a table that table, otherwise the block
        // above.
        let is_alone = text[..at].trim().is_empty() && leaf.lines.len() == 1;
        let block = match &self.table {
            Some((table, row)) => {
                let is_row =
                    self.at(row.clone()).trim_matches([' ', '|', '\r', '\n']).len() == text.len();
                if !is_row || !is_alone {
                    return None;
                }
                *table..row.start
            }
            None if is_alone && leaf.item.is_none() => self.before.clone(),
            None => match leaf.item {
                Some(item) => self.note.items[item].place.span.start..place,
                None => span.start..place,
            },
        };
        let block = self.trimmed(block);
        let place_of_id = self.place(place..place + 1 + id.len());
        self.note.block_ids.push(BlockId { id: id.clone(), place: place_of_id, block });
        Some((place, id))
    }

    fn read_item(&mut self, leaf: &mut Leaf, item: usize, block_id: Option<&(usize, String)>) {
        self.take_task_box(leaf, item);
        let (Some(first), Some(last)) = (leaf.lines.first(), leaf.lines.last()) else { return };
        let content = first.start..last.end;
        self.note.items[item].content = self.trimmed(content.clone());
        // A task is something to do, neither a fact nor a relation.
        if self.note.items[item].task.is_some() {
            return;
        }
        let end = block_id.map_or(content.end, |(at, _)| *at);
        // Numbered items are more often steps, quotations and references than facts.
        let is_fact = !self.note.items[item].is_ordered
            && self.read_observation(leaf, item, content.start..end, block_id);
        if !is_fact {
            self.read_relation(leaf, Some(item), content.start..end, block_id);
        }
    }

    /// Removes boxes such as `[-]`, which the parser does not know, from an item's text.
    fn take_task_box(&mut self, leaf: &mut Leaf, item: usize) {
        let Some(line) = leaf.lines.first_mut() else { return };
        let text = self.text.get(line.clone()).unwrap_or("");
        let mut chars = text.chars();
        let (Some('['), Some(state), Some(']')) = (chars.next(), chars.next(), chars.next()) else {
            return;
        };
        let rest = chars.as_str();
        let is_escaped = self.text.get(..line.start).is_some_and(|it| it.ends_with('\\'));
        let is_box = !is_escaped && (rest.is_empty() || rest.starts_with([' ', '\t']));
        // `marks` are links: `[x](y)` is not a box.
        if is_box && !leaf.marks.contains(&line.start) && self.note.items[item].task.is_none() {
            self.note.items[item].task = Some(state);
            line.start += text.len() - rest.trim_start().len();
        }
    }

    /// Reads `[category] content #tag (context)`; returns whether it is one.
    fn read_observation(
        &mut self,
        leaf: &Leaf,
        item: usize,
        span: Range<usize>,
        block_id: Option<&(usize, String)>,
    ) -> bool {
        let Some(line) = leaf.lines.first() else { return false };
        let text = self.at(line.start..line.end.min(span.end));
        let Some((category, rest)) = text.strip_prefix('[').and_then(|it| it.split_once(']'))
        else {
            return false;
        };
        let is_escaped = self.at(0..line.start).ends_with('\\');
        let is_parted = rest.starts_with([' ', '\t']) && !is_escaped;
        if !is_parted || !is_category(category) || leaf.marks.contains(&line.start) {
            return false;
        }
        let from = line.end.min(span.end) - rest.len();
        let tags = self.note.inline_tags[leaf.first_tag..].to_vec();
        let cut: Vec<Range<usize>> = tags.iter().map(|tag| tag.place.span.clone()).collect();
        let words = self.joined(leaf, from..span.end, &cut);
        let (content, context) = content_and_context(&words);
        if content.is_empty() {
            return false;
        }
        let whole = span.start..leaf.lines.last().map_or(span.end, |line| line.end);
        let place = self.place(self.trimmed(whole));
        self.note.observations.push(Observation {
            category: category.trim().to_string(),
            content: content.to_string(),
            tags: tags.into_iter().map(|tag| tag.name).collect(),
            context: context.map(str::to_string),
            block_id: block_id.map(|(_, id)| id.clone()),
            place,
            item,
        });
        true
    }

    /// Returns the text of a span on one line, without the ranges to cut.
    fn joined(&self, leaf: &Leaf, span: Range<usize>, cut: &[Range<usize>]) -> String {
        let mut out = String::new();
        let mut cut = cut.iter().peekable();
        for line in &leaf.lines {
            let mut at = line.start.max(span.start);
            let end = line.end.min(span.end);
            while let Some(gap) = cut.next_if(|gap| gap.end <= end) {
                if at <= gap.start {
                    out.push_str(self.at(at..gap.start));
                    at = gap.end;
                }
            }
            out.push_str(self.at(at..end.max(at)));
            out.push(' ');
        }
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Reads `type [[Target]], [[Target]] (context)`, if there is nothing else.
    fn read_relation(
        &mut self,
        leaf: &Leaf,
        item: Option<usize>,
        span: Range<usize>,
        block_id: Option<&(usize, String)>,
    ) {
        let of_leaf = &self.note.links[leaf.first_link..];
        let from = of_leaf.partition_point(|link| link.place.span.start < span.start);
        let Some(first) = of_leaf.get(from).map(|link| link.place.span.start) else { return };
        // Links in the context are plain links, so only those before it count.
        let rest = self.at(first..span.end.max(first)).trim_end();
        let context_at = context_at(rest).filter(|at| !rest[at + 1..].contains('\n'));
        let end = context_at.map_or(span.end, |at| first + at);
        let links: Vec<(usize, Range<usize>, LinkKind)> = of_leaf
            .iter()
            .enumerate()
            .skip(from)
            .take_while(|(_, link)| link.place.span.end <= end)
            .map(|(idx, link)| (leaf.first_link + idx, link.place.span.clone(), link.kind))
            .collect();
        let (Some(first), Some(last)) = (links.first(), links.last()) else { return };
        let are_wiki = links.iter().all(|(idx, _, kind)| {
            *kind == LinkKind::Wiki && !self.note.links[*idx].target.is_empty()
        });
        let is_step = item.is_some_and(|item| self.note.items[item].is_ordered);
        let stated = relation_type(self.at(span.start..first.1.start), is_step);
        let (Some(relation_type), true) = (stated, are_wiki) else { return };
        let gaps = links.iter().zip(links.iter().skip(1));
        let are_parted = gaps.into_iter().all(|(a, b)| is_separator(self.at(a.1.end..b.1.start)));
        let context = context_at.map(|at| rest[at + 1..rest.len() - 1].trim());
        let is_all = self.at(last.1.end..end).trim().is_empty();
        if !are_parted || !is_all || context.is_some_and(str::is_empty) {
            return;
        }
        let whole = span.start..leaf.lines.last().map_or(span.end, |line| line.end);
        let place = self.place(self.trimmed(whole));
        for (link, _, _) in links {
            self.note.relations.push(Relation {
                kind: RelationKind::Typed,
                relation_type: relation_type.clone(),
                link,
                context: context.map(str::to_string),
                block_id: block_id.map(|(_, id)| id.clone()),
                item,
                place: place.clone(),
            });
        }
    }

    fn read_fields(&mut self, leaf: &Leaf, end: Option<usize>) {
        for line in &leaf.lines {
            let line = line.start..end.map_or(line.end, |end| end.min(line.end));
            let text = self.at(line.clone());
            if !text.contains("::") {
                continue;
            }
            for found in field::find(text, |at| self.is_text(line.start + at)) {
                let shift = |range: Range<usize>| line.start + range.start..line.start + range.end;
                let (span, value) = (shift(found.span), shift(found.value));
                if !found.is_inline && leaf.item.is_none() {
                    self.read_relation(leaf, None, span.clone(), None);
                }
                self.note.fields.push(Field {
                    key: found.key,
                    value: self.at(value.clone()).to_string(),
                    is_inline: found.is_inline,
                    place: self.place(span),
                    value_span: value,
                });
            }
        }
    }

    /// Reads the first line of a quotation: `[!kind]- Title`.
    pub(super) fn callout(&mut self, range: &Range<usize>) {
        let quote = self.at(range.clone());
        let line = quote.split('\n').next().unwrap_or("").trim_end();
        let marked = line.strip_prefix('>').map(str::trim_start);
        let Some((kind, rest)) =
            marked.and_then(|it| it.strip_prefix("[!")).and_then(|it| it.split_once(']'))
        else {
            return;
        };
        let fold = rest.chars().next().filter(|c| matches!(c, '+' | '-'));
        let title = rest.get(fold.map_or(0, char::len_utf8)..).unwrap_or("").trim();
        self.note.callouts.push(Callout {
            // The part after a `|` is only about style.
            kind: kind.split('|').next().unwrap_or("").trim().to_lowercase(),
            title: (!title.is_empty()).then(|| title.to_string()),
            fold,
            place: self.place(self.trimmed(range.clone())),
        });
    }
}

fn is_separator(text: &str) -> bool {
    let text = text.trim().trim_start_matches([',', ';']).trim_start();
    matches!(text, "" | "and" | "&" | "or" | "+")
}

/// Splits off the parenthesis at the end of a text.
fn content_and_context(text: &str) -> (&str, Option<&str>) {
    let Some(at) = context_at(text) else { return (text, None) };
    let (before, inside) = (&text[..at], text[at + 1..text.len() - 1].trim());
    let is_context = before.ends_with(' ') && !before.trim().is_empty() && !inside.is_empty();
    if is_context { (before.trim_end(), Some(inside)) } else { (text, None) }
}

/// Returns where the parenthesis opens that closes at the end of a text; others may be nested in it.
fn context_at(text: &str) -> Option<usize> {
    if !text.ends_with(')') {
        return None;
    }
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Adds relations for properties, and one `links_to` for every other link.
pub(super) fn relate(note: &mut Note) {
    let typed: HashSet<usize> = note.relations.iter().map(|relation| relation.link).collect();
    for (idx, link) in note.links.iter().enumerate() {
        let is_related =
            matches!(link.kind, LinkKind::Wiki | LinkKind::Markdown | LinkKind::Property);
        if typed.contains(&idx) || link.target.is_empty() || !is_related {
            continue;
        }
        let property =
            (link.kind == LinkKind::Property).then(|| property_at(note, &link.place)).flatten();
        note.relations.push(Relation {
            kind: if property.is_some() { RelationKind::Typed } else { RelationKind::Implicit },
            relation_type: property.unwrap_or_else(|| LINKS_TO.to_string()),
            link: idx,
            context: None,
            block_id: None,
            item: None,
            place: link.place.clone(),
        });
    }
    let place_of =
        |relation: &Relation| note.links.get(relation.link).map_or(0, |it| it.place.span.start);
    note.relations.sort_by_key(place_of);
}

/// Returns the key of the front matter whose value contains a place.
fn property_at(note: &Note, place: &Place) -> Option<String> {
    let keys = &note.frontmatter.as_ref()?.keys;
    let next = keys.partition_point(|key| key.place.span.end <= place.span.start);
    let key = keys.get(next).filter(|key| key.place.span.start <= place.span.start)?;
    let is_relation = !["aliases", "alias", "tags", "tag", "title", "type", "permalink"]
        .iter()
        .any(|name| key.name.eq_ignore_ascii_case(name));
    is_relation.then(|| key.name.clone())
}
