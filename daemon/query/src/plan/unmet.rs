//! Unmet: the condition that excludes every document.
//!
//! In: a filter. Out: in words, the condition that no document meets, with existing values; else
//! the two that no document meets together.

use extract::recognize::words::all_ordinary;

use super::condition::words;
use crate::graph::name_of;
use crate::{AskError, QueryContext};
use index::read::{Filter, OfNotes};

/// Most existing types or languages that a hint names.
const MAX_NAMED: usize = 8;

/// A condition in words, to follow `no document`, and as a filter of its own.
type Condition = (String, Filter);

/// Returns a hint for each type, language and day that no document has, with existing values.
pub(crate) fn alone(ctx: &QueryContext<'_>, filter: &Filter) -> Result<Vec<String>, AskError> {
    let documents = ctx.snapshot.documents();
    let mut hints = Vec::new();
    for (what, alone) in beside_places(filter) {
        if documents.any(&alone)? {
            continue;
        }
        let there = if alone.language.is_some() {
            listed(&documents.languages()?)
        } else if alone.after.is_some() {
            documents.days()?.map(|(_, newest)| format!("the newest is of {newest}"))
        } else if alone.before.is_some() {
            documents.days()?.map(|(oldest, _)| format!("the oldest is of {oldest}"))
        } else {
            listed(&documents.types()?)
        };
        let there = there.map(|there| format!("; {there}")).unwrap_or_default();
        hints.push(format!("no document {what}{there}"));
    }
    Ok(hints)
}

/// Returns why conditions that each match some documents match none together.
pub(crate) fn together(
    ctx: &QueryContext<'_>,
    filter: &Filter,
) -> Result<Option<String>, AskError> {
    if *filter == Filter::default() {
        return Ok(None);
    }
    let documents = ctx.snapshot.documents();
    match documents.n_matching(filter)? {
        0 => {}
        1 => {
            let it = "one document meets the conditions, and it does not answer this";
            return Ok(Some(it.into()));
        }
        n => {
            let them = format!("{n} documents meet the conditions, and none of them answers this");
            return Ok(Some(them));
        }
    }
    let all = conditions(ctx, filter)?;
    for (at, (one, first)) in all.iter().enumerate() {
        for (other, second) in all.iter().skip(at + 1) {
            if !documents.any(&joined(first, second))? {
                return Ok(Some(format!("no document {one} and {other}")));
            }
        }
    }
    Ok(Some("no document meets all of the conditions".into()))
}

/// Returns a hint if the entity is a note named like an ordinary word, which hardly any document
/// mentions.
pub(crate) fn common_name(
    ctx: &QueryContext<'_>,
    filter: &Filter,
) -> Result<Option<String>, AskError> {
    let Some(entity) = filter.entity else { return Ok(None) };
    let Some(name) = name_of(ctx, entity)?.filter(|name| all_ordinary(name)) else {
        return Ok(None);
    };
    let own = ctx.snapshot.documents().about(entity)?;
    let places = ctx.snapshot.mentions().places(entity)?;
    let is_elsewhere = places.iter().any(|(doc, _)| !own.contains(doc));
    Ok((!own.is_empty() && !is_elsewhere).then(|| {
        format!(
            "`{name}` is a common word: other documents count as mentioning the note only where they link to it \
             (`[[{name}]]`); ask without `entity` to search for the word"
        )
    }))
}

/// Returns `there are a, b, …`; `None` if there are none.
fn listed(found: &[String]) -> Option<String> {
    let more = if found.len() > MAX_NAMED { ", …" } else { "" };
    let named: Vec<String> = found.iter().take(MAX_NAMED).map(|it| format!("`{it}`")).collect();
    (!named.is_empty()).then(|| format!("there are {}{more}", named.join(", ")))
}

fn conditions(ctx: &QueryContext<'_>, filter: &Filter) -> Result<Vec<Condition>, AskError> {
    let mut all: Vec<Condition> = Vec::new();
    for path in &filter.paths {
        all.push((words(path), Filter { paths: vec![path.clone()], ..Filter::default() }));
    }
    for tag in &filter.tags {
        let alone = Filter { tags: vec![tag.clone()], ..Filter::default() };
        all.push((format!("has the tag `{tag}`"), alone));
    }
    all.extend(beside_places(filter));
    if let Some(entity) = filter.entity {
        let name = name_of(ctx, entity)?.unwrap_or_default();
        let alone = Filter { entity: filter.entity, ..Filter::default() };
        all.push((format!("mentions `{name}`"), alone));
    }
    Ok(all)
}

/// Returns the conditions other than tags, paths and entities.
fn beside_places(filter: &Filter) -> Vec<Condition> {
    let mut all: Vec<Condition> = Vec::new();
    if let Some(doc_type) = &filter.doc_type {
        let alone = Filter { doc_type: filter.doc_type.clone(), ..Filter::default() };
        all.push((format!("has type `{doc_type}`"), alone));
    }
    if !filter.of_notes.types.is_empty() {
        let types = filter.of_notes.types.clone();
        let what = format!("has type `{}`", types.join("` or `"));
        let of_notes = OfNotes { types, ..OfNotes::default() };
        all.push((what, Filter { of_notes, ..Filter::default() }));
    }
    if let Some(label) = &filter.security {
        let alone = Filter { security: filter.security.clone(), ..Filter::default() };
        all.push((format!("has the security label `{label}`"), alone));
    }
    if let Some(language) = &filter.language {
        let alone = Filter { language: filter.language.clone(), ..Filter::default() };
        all.push((format!("is mainly in language `{language}`"), alone));
    }
    if let Some(day) = &filter.after {
        let alone = Filter { after: filter.after.clone(), ..Filter::default() };
        all.push((format!("is dated {day} or later"), alone));
    }
    if let Some(day) = &filter.before {
        let alone = Filter { before: filter.before.clone(), ..Filter::default() };
        all.push((format!("is dated before {day}"), alone));
    }
    all
}

/// Joins two conditions, each with a single part.
fn joined(first: &Filter, second: &Filter) -> Filter {
    let of_notes = match first.of_notes.types.is_empty() {
        true => second.of_notes.clone(),
        false => first.of_notes.clone(),
    };
    Filter {
        paths: [&first.paths[..], &second.paths].concat(),
        tags: [&first.tags[..], &second.tags].concat(),
        doc_type: first.doc_type.clone().or(second.doc_type.clone()),
        security: first.security.clone().or(second.security.clone()),
        language: first.language.clone().or(second.language.clone()),
        entity: first.entity.or(second.entity),
        after: first.after.clone().or(second.after.clone()),
        before: first.before.clone().or(second.before.clone()),
        of_notes,
    }
}
