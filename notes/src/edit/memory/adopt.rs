//! Turns a note into an entity: type, summary, tags and facts are added to what is there.
//!
//! In: the text of a note without a type, the entity's data. Out: changes, and which facts were added.
//! Invariant: what the note states stays: a summary is not replaced, existing tags and facts are not added again; a
//! plain item with the text of a fact gets its number.

use super::{Added, NewEntity, Numbered, Scope, add_facts, facts_of, stated_keys};
use crate::edit::{Change, EditError, Op, apply, compose, edit_all};
use crate::memory::{EXACT_TYPE, SUMMARY, read};

/// Turns a note into an entity.
///
/// # Errors
/// [`EditError`] for front matter that cannot be edited; otherwise as [`add_facts`].
pub fn adopt(text: &str, scope: Scope, new: &NewEntity) -> Result<(Vec<Change>, Added), EditError> {
    let node = read(text);
    let mut ops = Vec::new();
    if node.node_type.is_none() {
        let (note_type, exact) = stated_keys(&new.entity_type);
        ops.push(Op::SetKey { key: "type".into(), value: note_type.into() });
        ops.extend(exact.map(|value| Op::SetKey { key: EXACT_TYPE.into(), value }));
    }
    let summary = new.summary.as_deref().map(str::trim).filter(|it| !it.is_empty());
    if let Some(summary) = summary.filter(|_| node.summary.is_none()) {
        ops.push(Op::SetKey { key: SUMMARY.into(), value: summary.into() });
    }
    let tags: Vec<String> =
        new.tags.iter().filter(|tag| !node.tags.contains(tag)).cloned().collect();
    if !tags.is_empty() {
        ops.push(Op::AddTags(tags));
    }
    let front = edit_all(text, &ops)?;
    let now = apply(text, &front);
    let items = read(&now).items;
    let is_item = |content: &String| items.iter().any(|it| !it.is_stated && it.content == *content);
    let others: Vec<String> = new.observations.iter().filter(|it| !is_item(it)).cloned().collect();
    // New facts first: after numbering, they would be inserted in the middle of the numbered item's list.
    let (facts, added) = add_facts(&now, scope, &others)?;
    let numbered = number_items(&apply(&now, &facts), scope, &new.observations);
    // The plain items could not be numbered: add all facts as new items.
    if numbered.is_empty() && others.len() < new.observations.len() {
        let (facts, added) = add_facts(&now, scope, &new.observations)?;
        return Ok((compose(&front, &facts), added));
    }
    Ok((compose(&compose(&front, &facts), &numbered), added))
}

/// Returns insertions of numbers for plain items that are one of these facts; none if they would not be read back.
fn number_items(text: &str, scope: Scope, contents: &[String]) -> Vec<Change> {
    let node = read(text);
    let before = facts_of(text, scope);
    let mut next =
        before.iter().map(|it| it.ordinal).fold(node.highest().max(scope.used), u64::max);
    let (mut changes, mut wanted) = (Vec::new(), before.clone());
    for content in contents {
        let is_fact = wanted.iter().any(|it| it.content == *content);
        let plain = node.items.iter().find(|it| !it.is_stated && it.content == *content);
        let Some(item) = plain.filter(|_| !is_fact) else { continue };
        next += 1;
        changes.push(Change::insert(item.text.end, format!(" ^o{next}")));
        wanted.push(Numbered { ordinal: next, content: content.clone() });
    }
    changes.sort_by_key(|it: &Change| it.span.start);
    let sorted = |mut facts: Vec<Numbered>| {
        facts.sort_by_key(|it| it.ordinal);
        facts
    };
    match sorted(facts_of(&apply(text, &changes), scope)) == sorted(wanted) {
        true => changes,
        false => vec![],
    }
}
