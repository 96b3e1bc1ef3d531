//! Facts and relations of an entity (`crate::memory`): adds, replaces, removes them, each on its own lines.
//!
//! In: a text, what is to be different, and the highest ordinal that others remember of it. Out: changes, and what
//! they did.
//! Invariants: every change is read back before it is given: what was added is what is read, and every other fact and
//! relation is what it was; an ordinal that was ever used is not given again; facts without an ordinal get theirs
//! written down with the first change of the note; what is there already is not added twice.
//! Not here: the shape (`crate::memory`), summary, tags and type, which are keys of the front matter.

use std::collections::BTreeSet;
use std::ops::Range;

use super::front::{set_key, still_readable};
use super::item::{
    end_of_item, is_indentation, lines_of_item, marker_at, next_marker, remove_span,
};
use super::lines::{eol_at, line_end, line_start};
use super::place::{append, append_to_section};
use super::{Change, EditError, NewNote, apply, compose, render_new};
use crate::memory::{
    CATEGORY, EXACT_NAME, EXACT_TYPE, Fact, LAST_ORDINAL, Node, OBSERVATIONS, RELATIONS, SUMMARY,
    Stated, is_a_title, numbered, quoted, read, relation_item,
};
use crate::plain;

/// Longest name that is told in a title, characters.
const MAX_TITLE_CHARS: usize = 200;

/// Which note is changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope {
    /// It lies in the memory folder: every outermost item that is no relation is a fact.
    pub in_folder: bool,
    /// The highest ordinal that was ever used in it, as far as others remember.
    pub used: u64,
}

/// A fact under its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// Its number.
    pub ordinal: u64,
    /// What it says.
    pub content: String,
}

/// What became of facts that were to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// Those that were, in their order.
    pub added: Vec<Numbered>,
    /// Those that were there already, word for word.
    pub existing: Vec<Numbered>,
}

/// A new entity.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewEntity {
    /// Its name.
    pub name: String,
    /// Its type.
    pub entity_type: String,
    /// Facts, in order.
    pub observations: Vec<String>,
    /// Its summary.
    pub summary: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
}

/// The facts of a note with the numbers that they have or get.
pub fn facts_of(text: &str, scope: Scope) -> Vec<Numbered> {
    let node = read(text);
    let ordinals = ordinals_of(&node, scope);
    let facts = node.facts(scope.in_folder).zip(ordinals);
    facts.map(|(it, ordinal)| Numbered { ordinal, content: it.content.clone() }).collect()
}

/// The text of the note of a new entity.
///
/// # Errors
/// [`EditError`], for what cannot be a tag, and texts that no form holds.
pub fn render_entity(new: &NewEntity) -> Result<String, EditError> {
    let mut metadata = serde_json::Map::new();
    let mut title = new.name.clone();
    if !is_a_title(&title) {
        metadata.insert(EXACT_NAME.to_string(), quoted(&new.name));
        let words: Vec<&str> = new.name.split_whitespace().collect();
        title = words.join(" ").replace("[[", "[ [").chars().take(MAX_TITLE_CHARS).collect();
        if title.trim().is_empty() {
            title = "Unnamed".to_string();
        }
    }
    let mut note_type = new.entity_type.clone();
    if !is_a_title(&note_type) {
        metadata.insert(EXACT_TYPE.to_string(), quoted(&new.entity_type));
        note_type = CATEGORY.to_string();
    }
    if let Some(summary) = new.summary.as_ref().filter(|it| !it.trim().is_empty()) {
        metadata.insert(SUMMARY.to_string(), summary.trim().into());
    }
    let tags = new.tags.clone();
    let content = format!("# {}\n", plain::encoded(&title));
    let text = render_new(&NewNote { title, note_type: Some(note_type), tags, metadata, content })?;
    let scope = Scope { in_folder: true, used: 0 };
    let (changes, _) = add_facts(&text, scope, &new.observations)?;
    let text = apply(&text, &changes);
    let node = read(&text);
    let is_it = node.name.as_deref() == Some(new.name.as_str())
        && node.node_type.as_deref().unwrap_or(CATEGORY) == new.entity_type;
    if is_it { Ok(text) } else { Err(unfit("name or type", &new.name)) }
}

/// Writes down the ordinals of facts that have none, and of copies.
pub fn settle(text: &str, scope: Scope) -> Vec<Change> {
    let node = read(text);
    let changes: Vec<Change> = node
        .facts(scope.in_folder)
        .zip(ordinals_of(&node, scope))
        .filter(|(fact, _)| fact.ordinal.is_none())
        .map(|(fact, ordinal)| match &fact.id {
            Some(copy) => Change::new(copy.clone(), format!("^o{ordinal}")),
            None => Change::insert(fact.text.end, format!(" ^o{ordinal}")),
        })
        .collect();
    let wanted = said(&node, scope);
    if changes.is_empty() || said(&read(&apply(text, &changes)), scope) == wanted {
        return changes;
    }
    // An id that is not read as one does not stay; the others do.
    let mut kept: Vec<Change> = Vec::new();
    for change in changes {
        kept.push(change);
        let after = read(&apply(text, &kept));
        let is_same = after
            .facts(scope.in_folder)
            .map(|it| &it.content)
            .eq(wanted.facts.iter().map(|it| &it.1));
        let n_ids = after.facts(scope.in_folder).filter(|it| it.ordinal.is_some()).count();
        let n_before = node.facts(scope.in_folder).filter(|it| it.ordinal.is_some()).count();
        if !is_same || n_ids != n_before + kept.len() {
            kept.pop();
        }
    }
    kept
}

/// Adds facts behind those that are there.
///
/// # Errors
/// [`EditError`], for a text that no form holds.
pub fn add_facts(
    text: &str,
    scope: Scope,
    contents: &[String],
) -> Result<(Vec<Change>, Added), EditError> {
    let (settled, now) = settled(text, scope);
    let node = read(&now);
    let mut known = facts_of(&now, scope);
    let mut next = node.highest().max(scope.used);
    next = known.iter().map(|it| it.ordinal).fold(next, u64::max);
    let mut done = Added::default();
    for content in contents {
        if content.trim().is_empty() {
            return Err(EditError::Empty("an observation"));
        }
        if let Some(there) = known.iter().find(|it| it.content == *content) {
            done.existing.push(there.clone());
            continue;
        }
        next += 1;
        let new = Numbered { ordinal: next, content: content.clone() };
        known.push(new.clone());
        done.added.push(new);
    }
    if done.added.is_empty() {
        // What is there already needs no write, not even of ordinals.
        return Ok((vec![], done));
    }
    let wanted = |after: &Node| {
        let (mut all, new) = (said(&node, scope), said(after, scope));
        all.facts.extend(done.added.iter().map(|it| (Some(it.ordinal), it.content.clone())));
        sorted(all) == sorted(new)
    };
    for is_exact in [false, true] {
        let items: Vec<String> = done
            .added
            .iter()
            .map(|it| {
                let form = if is_exact { exact_form(&it.content) } else { form(&it.content) };
                format!("{form} ^o{}", it.ordinal)
            })
            .collect();
        let change = insert_facts(&now, &node, scope, &items)?;
        if wanted(&read(&apply(&now, &change))) {
            return Ok((compose(&settled, &change), done));
        }
    }
    Err(unfit("observation", done.added.first().map_or("", |it| &it.content)))
}

/// Puts another text in the place of a fact; its number stays. Gives what it said.
///
/// # Errors
/// [`EditError::NoItem`] for a number that is not there, and as [`add_facts`].
pub fn replace_fact(
    text: &str,
    scope: Scope,
    ordinal: u64,
    content: &str,
) -> Result<(Vec<Change>, String), EditError> {
    if content.trim().is_empty() {
        return Err(EditError::Empty("the observation"));
    }
    let (settled, now) = settled(text, scope);
    let node = read(&now);
    let fact = with_ordinal(&node, scope, ordinal)?;
    if fact.content == content {
        return Ok((vec![], fact.content.clone()));
    }
    let own = now.get(fact.text.clone()).unwrap_or("");
    let has_default = own.starts_with(&format!("[{CATEGORY}] "));
    let forms = match has_default {
        true => [exact_form(content), form(content)],
        false => [form(content), exact_form(content)],
    };
    let start = line_start(&now, fact.item.start);
    let before = now.get(start..fact.item.start).filter(|it| is_indentation(it)).unwrap_or("");
    let inner = format!("{before}{}", " ".repeat(marker_at(&now, fact.item.start).len() + 1));
    let eol = eol_at(&now, fact.text.start);
    for form in forms {
        let with = form.replace('\n', &format!("{eol}{inner}"));
        let change = vec![Change::new(fact.text.clone(), with)];
        let mut wanted = said(&node, scope);
        for it in wanted.facts.iter_mut().filter(|it| it.0 == Some(ordinal)) {
            it.1 = content.to_string();
        }
        if said(&read(&apply(&now, &change)), scope) == wanted {
            return Ok((compose(&settled, &change), fact.content.clone()));
        }
    }
    Err(unfit("observation", content))
}

/// Removes facts with what is nested below them; remembers the highest number where its line goes. Gives the numbers
/// that were not there.
///
/// # Errors
/// [`EditError`], when a fact has no line of its own.
pub fn remove_facts(
    text: &str,
    scope: Scope,
    ordinals: &[u64],
) -> Result<(Vec<Change>, Vec<u64>), EditError> {
    let (mut done, mut now) = settled(text, scope);
    let highest = read(&now).highest();
    let (mut missing, mut n_removed) = (Vec::new(), 0);
    let wanted: BTreeSet<u64> = ordinals.iter().copied().collect();
    for ordinal in wanted {
        let node = read(&now);
        let Ok(fact) = with_ordinal(&node, scope, ordinal) else {
            missing.push(ordinal);
            continue;
        };
        let change = vec![remove_span(&now, fact.item.clone())?];
        now = apply(&now, &change);
        done = compose(&done, &change);
        n_removed += 1;
    }
    if n_removed == 0 {
        return Ok((vec![], missing));
    }
    if read(&now).highest() < highest {
        // Where the front matter cannot be edited, the ledger alone remembers.
        let change = set_key(&now, LAST_ORDINAL, &highest.into())
            .and_then(|change| still_readable(&now, &change).map(|()| change));
        done = compose(&done, &change.unwrap_or_default());
    }
    Ok((done, missing))
}

/// States a relation, given as the text of an item; none when it is there already.
///
/// # Errors
/// [`EditError`], for a text that is read as another relation.
pub fn add_relation(
    text: &str,
    scope: Scope,
    relation: (&str, &str),
    path: Option<&str>,
) -> Result<Option<Vec<Change>>, EditError> {
    let (relation_type, name) = relation;
    let item = relation_item(relation_type, name, path)
        .ok_or_else(|| unfit("relation", &format!("{relation_type} {name}")))?;
    let (settled, now) = settled(text, scope);
    let node = read(&now);
    let change = insert_relation(&now, &node, scope, &item)?;
    let mut wanted = said(&node, scope);
    let target = path.unwrap_or(name).to_string();
    wanted.relations.push((relation_type.to_string(), target));
    let after = said(&read(&apply(&now, &change)), scope);
    match sorted(after) == sorted(wanted) {
        true => Ok(Some(compose(&settled, &change))),
        false => Err(unfit("relation", &item)),
    }
}

/// Removes the relations whose link stands at these places, each with its item unless that states others, too.
///
/// # Errors
/// [`EditError::NoItem`] for one that is stated outside of a list.
pub fn remove_relations(text: &str, links: &[Range<usize>]) -> Result<Vec<Change>, EditError> {
    let mut done: Vec<Change> = Vec::new();
    let mut now = text.to_string();
    let mut starts: Vec<usize> = links.iter().map(|it| it.start).collect();
    // From the end on, so that places before stay what they are.
    starts.sort_unstable_by(|one, other| other.cmp(one));
    for start in starts {
        let node = read(&now);
        let Some(it) = node.relations.iter().find(|it| it.link.start == start) else { continue };
        let change = vec![without(&now, &node, it)?];
        now = apply(&now, &change);
        done = compose(&done, &change);
    }
    Ok(done)
}

/// Gives the relation whose link stands at a place another type.
///
/// # Errors
/// As [`remove_relations`], and for a type that no form holds.
pub fn retype_relation(
    text: &str,
    scope: Scope,
    link: &Range<usize>,
    new_type: &str,
) -> Result<Vec<Change>, EditError> {
    let node = read(text);
    let Some(it) = node.relations.iter().find(|it| it.link == *link) else {
        return Err(EditError::NoLink(link.clone()));
    };
    let Some((_, own)) = &it.item else { return Err(outside(it)) };
    let is_alone = node.relations.iter().filter(|other| other.item == it.item).count() == 1;
    if !is_alone {
        let removed = remove_relations(text, std::slice::from_ref(link))?;
        let now = apply(text, &removed);
        let added = add_relation(&now, scope, (new_type, &it.target), Some(&it.target))?;
        return Ok(compose(&removed, &added.unwrap_or_default()));
    }
    let mut wanted = said(&node, scope);
    let at = node.relations.iter().position(|other| other.link == *link);
    if let Some(row) = at.and_then(|at| wanted.relations.get_mut(at)) {
        row.0 = new_type.to_string();
    }
    let whole = relation_item(new_type, &it.target, Some(&it.target));
    // A type that stands in the context would be left behind there.
    let head = text.get(own.start..link.start).unwrap_or("");
    let stated = Change::new(own.start..link.start, format!("{new_type} "));
    let is_plain = head.trim() == it.relation_type;
    let end = own_end(text, own);
    let forms =
        [Some(stated).filter(|_| is_plain), whole.map(|whole| Change::new(own.start..end, whole))];
    for change in forms.into_iter().flatten() {
        if said(&read(&apply(text, std::slice::from_ref(&change))), scope) == wanted {
            return Ok(vec![change]);
        }
    }
    Err(unfit("relation's type", new_type))
}

/// Where the words of a relation's item end: before its block id.
fn own_end(text: &str, own: &Range<usize>) -> usize {
    let words = text.get(own.clone()).unwrap_or("");
    match words.rsplit_once([' ', '\t']) {
        Some((head, id)) if id.starts_with('^') => own.start + head.trim_end().len(),
        _ => own.start + words.trim_end().len(),
    }
}

fn without(text: &str, node: &Node, it: &Stated) -> Result<Change, EditError> {
    let Some((item, _)) = &it.item else { return Err(outside(it)) };
    let of_item: Vec<&Stated> =
        node.relations.iter().filter(|other| other.item == it.item).collect();
    if of_item.len() == 1 {
        return remove_span(text, item.clone());
    }
    let at = of_item.iter().position(|other| other.link == it.link).unwrap_or(0);
    let span = match (at.checked_sub(1).and_then(|at| of_item.get(at)), of_item.get(at + 1)) {
        (Some(before), _) => before.link.end..it.link.end,
        (None, Some(next)) => it.link.start..next.link.start,
        (None, None) => it.link.clone(),
    };
    Ok(Change::new(span, ""))
}

fn outside(it: &Stated) -> EditError {
    EditError::NoItem(format!(
        "states `{}` with `{}`: line {} does, which is no item of a list",
        it.relation_type, it.target, it.line
    ))
}

fn unfit(what: &'static str, text: &str) -> EditError {
    let text: String = text.chars().take(80).collect();
    EditError::BadName { what, text, why: "it would be read as something else where it stands" }
}

/// What a note says, for comparison.
#[derive(Debug, PartialEq)]
struct Said {
    facts: Vec<(Option<u64>, String)>,
    relations: Vec<(String, String)>,
}

/// Facts have the numbers that they get, too.
fn said(node: &Node, scope: Scope) -> Said {
    let facts = node.facts(scope.in_folder).zip(ordinals_of(node, scope));
    let relations = node.relations.iter();
    Said {
        facts: facts.map(|(it, ordinal)| (Some(ordinal), it.content.clone())).collect(),
        relations: relations.map(|it| (it.relation_type.clone(), it.target.clone())).collect(),
    }
}

fn sorted(mut said: Said) -> Said {
    said.facts.sort();
    said.relations.sort();
    said
}

fn ordinals_of(node: &Node, scope: Scope) -> Vec<u64> {
    let own = node.facts(scope.in_folder).map(|it| it.ordinal);
    numbered(own, node.highest().max(scope.used))
}

fn settled(text: &str, scope: Scope) -> (Vec<Change>, String) {
    let changes = settle(text, scope);
    let now = apply(text, &changes);
    (changes, now)
}

fn with_ordinal(node: &Node, scope: Scope, ordinal: u64) -> Result<&Fact, EditError> {
    let mut all = node.facts(scope.in_folder).zip(ordinals_of(node, scope));
    let found = all.find(|(_, own)| *own == ordinal).map(|(fact, _)| fact);
    found.ok_or_else(|| EditError::NoItem(format!("`^o{ordinal}`")))
}

/// A fact as the text of an item, as it is where that is read as it is, else with escapes. Lines after the first are
/// lines of the item.
fn form(content: &str) -> String {
    let escaped = || plain::encoded(content);
    [content.to_string(), escaped()]
        .into_iter()
        .find(|form| is_read_as(form, content))
        .unwrap_or_else(|| exact_form(content))
}

/// The form that holds every text.
fn exact_form(content: &str) -> String {
    format!("[{CATEGORY}] {}", plain::encoded(content))
}

fn is_read_as(form: &str, content: &str) -> bool {
    if form.trim() != form || form.contains('\r') {
        return false;
    }
    let item = lines_of_item("", "-", &format!("{form} ^o1"), "\n");
    let text = format!("- before ^o8\n{item}\n- next ^o2\n\nAfter.\n\n# End\n\n- last ^o3\n");
    let note = crate::parse::parse(&text);
    let node = crate::memory::of(&text, &note);
    let read: Vec<_> = node.items.iter().map(|it| (it.ordinal, it.content.as_str())).collect();
    let tasks = note.items.iter().any(|it| it.task.is_some());
    read == [(Some(8), "before"), (Some(1), content), (Some(2), "next"), (Some(3), "last")]
        && node.relations.is_empty()
        && note.items.len() == read.len()
        && note.headings.len() == 1
        && note.footnotes.is_empty()
        && !tasks
}

/// Facts below the last one with a number, else the last one, else above the first relation, else at the end.
fn insert_facts(
    text: &str,
    node: &Node,
    scope: Scope,
    items: &[String],
) -> Result<Vec<Change>, EditError> {
    let last = node.facts(scope.in_folder).filter(|it| it.ordinal.is_some()).last();
    if let Some(last) = last.or_else(|| node.facts(scope.in_folder).last()) {
        return Ok(vec![below(text, &last.item, items, false)]);
    }
    let outermost = |it: &&Stated| {
        it.item.as_ref().is_some_and(|(item, _)| column(text, item.start) == Some(""))
    };
    if let Some((item, _)) = node.relations.iter().find(outermost).and_then(|it| it.item.as_ref()) {
        let eol = eol_at(text, item.start);
        let lines: String =
            items.iter().map(|it| format!("{}{eol}", lines_of_item("", "-", it, eol))).collect();
        return Ok(vec![Change::insert(line_start(text, item.start), format!("{lines}{eol}"))]);
    }
    let block: Vec<String> = items.iter().map(|it| lines_of_item("", "-", it, "\n")).collect();
    let block = block.join("\n");
    append_to_section(text, OBSERVATIONS, &block).or_else(|_| append(text, &block))
}

/// A relation below the last one, else apart below the last fact, else at the end.
fn insert_relation(
    text: &str,
    node: &Node,
    scope: Scope,
    item: &str,
) -> Result<Vec<Change>, EditError> {
    let items = [item.to_string()];
    let outermost = |it: &&Stated| {
        it.item.as_ref().is_some_and(|(item, _)| column(text, item.start) == Some(""))
    };
    if let Some((last, _)) = node.relations.iter().rfind(outermost).and_then(|it| it.item.as_ref())
    {
        return Ok(vec![below(text, last, &items, false)]);
    }
    let block = lines_of_item("", "-", item, "\n");
    if let Ok(change) = append_to_section(text, RELATIONS, &block) {
        return Ok(change);
    }
    match node.facts(scope.in_folder).last() {
        Some(last) => Ok(vec![below(text, &last.item, &items, true)]),
        None => append(text, &block),
    }
}

/// Blanks before an item on its line; none where something else stands there.
fn column(text: &str, at: usize) -> Option<&str> {
    text.get(line_start(text, at)..at).filter(|it| is_indentation(it))
}

/// Items below another one; apart from it by a blank line if wanted, and then in a list of their own.
fn below(text: &str, item: &Range<usize>, items: &[String], is_apart: bool) -> Change {
    let end = end_of_item(text, item);
    let eol = eol_at(text, item.start);
    let before = if is_apart { "" } else { column(text, item.start).unwrap_or("") };
    let mut marker = if is_apart { "-" } else { marker_at(text, item.start) }.to_string();
    let mut out = if is_apart { eol.to_string() } else { String::new() };
    for it in items {
        if !is_apart {
            marker = next_marker(&marker);
        }
        out += &format!("{eol}{}", lines_of_item(before, &marker, it, eol));
    }
    let next = line_end(text, end);
    let follows = text.get(next..line_end(text, next)).is_some_and(|line| !line.trim().is_empty());
    if is_apart && follows {
        out += eol;
    }
    Change::insert(end, out)
}

#[cfg(test)]
mod tests;
