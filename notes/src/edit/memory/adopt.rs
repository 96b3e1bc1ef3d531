//! A note that becomes an entity: type, summary, tags and facts are added to what is there.
//!
//! In: the text of a note without a type, what is known of the entity. Out: changes, and which facts were added.
//! Invariant: what the note states stays: a summary is not replaced, tags and facts that are there are not added.

use super::{Added, NewEntity, Scope, add_facts, stated_keys};
use crate::edit::{Change, EditError, Op, apply, compose, edit_all};
use crate::memory::{EXACT_TYPE, SUMMARY, read};

/// Makes an entity of a note.
///
/// # Errors
/// [`EditError`], for front matter that cannot be edited, and as [`add_facts`].
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
    let (facts, added) = add_facts(&apply(text, &front), scope, &new.observations)?;
    Ok((compose(&front, &facts), added))
}
