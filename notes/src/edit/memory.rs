//! Facts and relations of an entity (`crate::memory`): adds, replaces and removes them, on lines of their own.
//!
//! In: a text, the requested change, and the highest ordinal that is known elsewhere. Out: changes, and what they
//! did.
//! Invariants: every change is parsed before it is returned: what was added is read back, and every other fact and
//! relation is as before; an ordinal is never used twice; facts without an ordinal get theirs written with the first
//! change of the note; what is already there is not added again.

mod adopt;
mod form;
mod insert;

use std::collections::BTreeSet;
use std::ops::Range;

use super::front::{set_key, still_readable};
use super::item::{is_indentation, marker_at, remove_span};
use super::lines::{eol_at, line_start};
use super::{Change, EditError, NewNote, apply, compose, render_new};
use crate::memory::{
    CATEGORY, EXACT_NAME, EXACT_TYPE, Fact, LAST_ORDINAL, Node, SUMMARY, Stated, is_a_title,
    numbered, ordinal_of, quoted, read, relation_item, title_of,
};
use crate::plain;
pub use adopt::adopt;
use form::{exact_form, form};
use insert::{insert_facts, insert_relation};

/// How the note is to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Scope {
    /// True for a note in the memory folder, where every outermost item that is not a relation is a fact.
    pub in_folder: bool,
    /// The highest ordinal ever used in it, as far as it is known elsewhere.
    pub used: u64,
}

/// A fact with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbered {
    /// Its number.
    pub ordinal: u64,
    /// Its text.
    pub content: String,
}

/// The result of adding facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Added {
    /// Those that were added, in the given order.
    pub added: Vec<Numbered>,
    /// Those that were already there, word for word.
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

/// Returns the facts of a note with the numbers that they have or will get.
pub fn facts_of(text: &str, scope: Scope) -> Vec<Numbered> {
    let node = read(text);
    let ordinals = ordinals_of(&node, scope);
    let facts = node.facts(scope.in_folder).zip(ordinals);
    facts.map(|(it, ordinal)| Numbered { ordinal, content: it.content.clone() }).collect()
}

/// Returns the text of the note of a new entity.
///
/// # Errors
/// [`EditError`] for invalid tags, and for texts that cannot be written so that they are read back.
pub fn render_entity(new: &NewEntity) -> Result<String, EditError> {
    let mut metadata = serde_json::Map::new();
    let mut title = new.name.clone();
    // A name that a title cannot hold goes to a key of its own, and the title gets a similar one.
    if !is_a_title(&title) {
        metadata.insert(EXACT_NAME.to_string(), quoted(&new.name));
        title = title_of(&new.name);
    }
    let (note_type, exact_type) = stated_keys(&new.entity_type);
    metadata.extend(exact_type.map(|it| (EXACT_TYPE.to_string(), it)));
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
    // Verify that readers get the name and type back exactly.
    let is_it = node.name.as_deref() == Some(new.name.as_str())
        && node.node_type.as_deref().unwrap_or(CATEGORY) == new.entity_type;
    if is_it { Ok(text) } else { Err(unfit("name or type", &new.name)) }
}

/// Returns the value of `type` for an entity, and the exact type if `type` cannot hold it.
fn stated_keys(entity_type: &str) -> (String, Option<serde_json::Value>) {
    match is_a_title(entity_type) {
        true => (entity_type.to_string(), None),
        false => (CATEGORY.to_string(), Some(quoted(entity_type))),
    }
}

/// Returns changes that write down the ordinals of facts that have none, or whose ordinal another fact has.
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
    let wanted = statements_of(&node, scope);
    if changes.is_empty() || statements_of(&read(&apply(text, &changes)), scope) == wanted {
        return changes;
    }
    // Some id is not read back as one: keep only those that are, one by one.
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

/// Adds facts after the existing ones.
///
/// # Errors
/// [`EditError`] for a text that cannot be written so that it is read back.
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
        // Nothing to add: do not write ordinals, either.
        return Ok((vec![], done));
    }
    let wanted = |after: &Node| {
        let (mut all, new) = (statements_of(&node, scope), statements_of(after, scope));
        all.facts.extend(done.added.iter().map(|it| (Some(it.ordinal), it.content.clone())));
        sorted(all) == sorted(new)
    };
    // The plain form first; the exact one only if the plain one is not read back.
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

/// Replaces the text of a fact, which keeps its number. Also returns the old text.
///
/// # Errors
/// [`EditError::NoItem`] for an unknown number; otherwise as [`add_facts`].
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
    // A fact in the exact form stays in it if possible.
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
        let mut wanted = statements_of(&node, scope);
        for it in wanted.facts.iter_mut().filter(|it| it.0 == Some(ordinal)) {
            it.1 = content.to_string();
        }
        if statements_of(&read(&apply(&now, &change)), scope) == wanted {
            return Ok((compose(&settled, &change), fact.content.clone()));
        }
    }
    Err(unfit("observation", content))
}

/// The result of removing facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Numbers that do not exist.
    pub missing: Vec<u64>,
    /// Lines nested below facts, which were removed with them.
    pub below: Vec<String>,
    /// The highest number used before, including nested lines.
    pub highest: u64,
}

/// Removes facts with everything nested below them, and remembers the highest number if its line is removed.
///
/// # Errors
/// [`EditError`] when a fact does not begin its line.
pub fn remove_facts(
    text: &str,
    scope: Scope,
    ordinals: &[u64],
) -> Result<(Vec<Change>, Removed), EditError> {
    let (mut done, mut now) = settled(text, scope);
    let mut removed = Removed { highest: read(&now).highest(), ..Removed::default() };
    let mut n_removed = 0;
    let wanted: BTreeSet<u64> = ordinals.iter().copied().collect();
    for ordinal in wanted {
        let node = read(&now);
        let Ok(fact) = with_ordinal(&node, scope, ordinal) else {
            removed.missing.push(ordinal);
            continue;
        };
        for line in lines_below(&now, fact) {
            let id = line.rsplit([' ', '\t']).next().and_then(ordinal_of);
            removed.highest = removed.highest.max(id.unwrap_or(0));
            removed.below.push(line.to_string());
        }
        let change = vec![remove_span(&now, fact.item.clone())?];
        now = apply(&now, &change);
        done = compose(&done, &change);
        n_removed += 1;
    }
    if n_removed == 0 {
        return Ok((vec![], removed));
    }
    if read(&now).highest() < removed.highest {
        // If the front matter cannot be edited, only the ledger remembers the number.
        let change = set_key(&now, LAST_ORDINAL, &removed.highest.into())
            .and_then(|change| still_readable(&now, &change).map(|()| change));
        done = compose(&done, &change.unwrap_or_default());
    }
    Ok((done, removed))
}

/// Returns the lines of an item after its own text and ids.
fn lines_below<'t>(text: &'t str, fact: &Fact) -> impl Iterator<Item = &'t str> {
    let ids = [&fact.id, &fact.other_id].into_iter().flatten().map(|id| id.end);
    let end = ids.fold(fact.text.end, usize::max);
    let below = text.get(end..fact.item.end).unwrap_or("");
    below.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// Adds a relation.
///
/// # Errors
/// [`EditError`] for a text that would be read as another relation.
pub fn add_relation(
    text: &str,
    scope: Scope,
    relation_type: &str,
    target: &str,
) -> Result<Vec<Change>, EditError> {
    let item = relation_item(relation_type, target, None)
        .ok_or_else(|| unfit("relation", &format!("{relation_type} {target}")))?;
    let (settled, now) = settled(text, scope);
    let node = read(&now);
    let change = insert_relation(&now, &node, scope, &item)?;
    let mut wanted = statements_of(&node, scope);
    wanted.relations.push((relation_type.to_string(), target.to_string()));
    let after = statements_of(&read(&apply(&now, &change)), scope);
    match sorted(after) == sorted(wanted) {
        true => Ok(compose(&settled, &change)),
        false => Err(unfit("relation", &item)),
    }
}

/// Removes the relations whose links are at these places, each with its item unless the item states others, too.
///
/// # Errors
/// [`EditError::NoItem`] for a relation outside a list.
pub fn remove_relations(text: &str, links: &[Range<usize>]) -> Result<Vec<Change>, EditError> {
    let mut done: Vec<Change> = Vec::new();
    let mut now = text.to_string();
    let mut starts: Vec<usize> = links.iter().map(|it| it.start).collect();
    // From the end, so that earlier places stay valid.
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

/// Changes the type of the relation whose link is at a place.
///
/// # Errors
/// As [`remove_relations`], and for a type that cannot be written.
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
    // The item states other relations, too: move this one to an item of its own.
    let is_alone = node.relations.iter().filter(|other| other.item == it.item).count() == 1;
    if !is_alone {
        let removed = remove_relations(text, std::slice::from_ref(link))?;
        let now = apply(text, &removed);
        let added = add_relation(&now, scope, new_type, &it.target)?;
        return Ok(compose(&removed, &added));
    }
    let mut wanted = statements_of(&node, scope);
    let at = node.relations.iter().position(|other| other.link == *link);
    if let Some(row) = at.and_then(|at| wanted.relations.get_mut(at)) {
        row.0 = new_type.to_string();
    }
    let whole = relation_item(new_type, &it.target, Some(&it.target));
    // If the type is in the context, replacing the words before the link would leave it there: write the whole item.
    let head = text.get(own.start..link.start).unwrap_or("");
    let stated = Change::new(own.start..link.start, format!("{new_type} "));
    let is_plain = head.trim() == it.relation_type;
    let end = own_end(text, own);
    let forms =
        [Some(stated).filter(|_| is_plain), whole.map(|whole| Change::new(own.start..end, whole))];
    for change in forms.into_iter().flatten() {
        if statements_of(&read(&apply(text, std::slice::from_ref(&change))), scope) == wanted {
            return Ok(vec![change]);
        }
    }
    Err(unfit("relation's type", new_type))
}

/// Returns the end of a relation item's words, before its block id.
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
    // One of several targets: remove it with the separator to a neighbor.
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
        "`{}` has `{}` on line {}, which is not a list item",
        it.relation_type, it.target, it.line
    ))
}

fn unfit(what: &'static str, text: &str) -> EditError {
    let text: String = text.chars().take(80).collect();
    EditError::BadName { what, text, why: "it would be read as something else where it stands" }
}

/// The facts and relations of a note, for comparison.
#[derive(Debug, PartialEq)]
struct Statements {
    facts: Vec<(Option<u64>, String)>,
    relations: Vec<(String, String)>,
}

/// Reads facts, with the numbers that they have or will get, and relations.
fn statements_of(node: &Node, scope: Scope) -> Statements {
    let facts = node.facts(scope.in_folder).zip(ordinals_of(node, scope));
    let relations = node.relations.iter();
    Statements {
        facts: facts.map(|(it, ordinal)| (Some(ordinal), it.content.clone())).collect(),
        relations: relations.map(|it| (it.relation_type.clone(), it.target.clone())).collect(),
    }
}

fn sorted(mut statements: Statements) -> Statements {
    statements.facts.sort();
    statements.relations.sort();
    statements
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

#[cfg(test)]
mod tests;
