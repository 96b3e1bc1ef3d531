//! Unmet: the condition that excludes every document.
//!
//! In: a filter. Out: in words, the condition that no document meets, with existing values; else
//! the two that no document meets together.

use extract::recognize::words::all_ordinary;

use super::condition::words;
use crate::graph::name_of;
use crate::{AskError, QueryContext};
use index::read::Filter;

/// Most existing types or languages that a hint names.
const MAX_NAMED: usize = 8;

/// Adds one condition to a filter.
type Alone<'f> = Box<dyn Fn(&mut Filter) + 'f>;

/// A condition in words, to follow `no document`.
type Condition<'f> = (String, Alone<'f>);

/// Returns a hint for each type, language and day that no document has, with existing values.
pub(crate) fn alone(ctx: &QueryContext<'_>, filter: &Filter) -> Result<Vec<String>, AskError> {
    let documents = ctx.snapshot.documents();
    let mut hints = Vec::new();
    for condition in beside_places(filter) {
        let (what, alone) = (&condition.0, only(&[&condition]));
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
    for (at, one) in all.iter().enumerate() {
        for other in all.iter().skip(at + 1) {
            if !documents.any(&only(&[one, other]))? {
                return Ok(Some(format!("no document {} and {}", one.0, other.0)));
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
    let docs = ctx.snapshot.mentions().docs(entity)?;
    let is_elsewhere = docs.iter().any(|(doc, _)| !own.contains(doc));
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

fn conditions<'f>(
    ctx: &QueryContext<'_>,
    filter: &'f Filter,
) -> Result<Vec<Condition<'f>>, AskError> {
    let mut all: Vec<Condition<'_>> = Vec::new();
    for path in &filter.paths {
        all.push((words(path), Box::new(|it| it.paths.push(path.clone()))));
    }
    for tag in &filter.tags {
        all.push((format!("has the tag `{tag}`"), Box::new(|it| it.tags.push(tag.clone()))));
    }
    all.extend(beside_places(filter));
    if let Some(entity) = filter.entity {
        let name = name_of(ctx, entity)?.unwrap_or_default();
        all.push((format!("mentions `{name}`"), Box::new(|it| it.entity = filter.entity)));
    }
    Ok(all)
}

/// Returns the conditions other than tags, paths and entities.
fn beside_places(filter: &Filter) -> Vec<Condition<'_>> {
    let types = &filter.of_notes.types;
    let types = (!types.is_empty()).then(|| format!("has type `{}`", types.join("` or `")));
    let label = filter.security.as_ref().map(|it| format!("has the security label `{it}`"));
    let language = filter.language.as_ref().map(|it| format!("is mainly in language `{it}`"));
    let conditions: [(Option<String>, Alone<'_>); 6] = [
        (
            filter.doc_type.as_ref().map(|it| format!("has type `{it}`")),
            Box::new(|it| it.doc_type.clone_from(&filter.doc_type)),
        ),
        (types, Box::new(|it| it.of_notes.types.clone_from(&filter.of_notes.types))),
        (label, Box::new(|it| it.security.clone_from(&filter.security))),
        (language, Box::new(|it| it.language.clone_from(&filter.language))),
        (
            filter.after.as_ref().map(|day| format!("is dated {day} or later")),
            Box::new(|it| it.after.clone_from(&filter.after)),
        ),
        (
            filter.before.as_ref().map(|day| format!("is dated before {day}")),
            Box::new(|it| it.before.clone_from(&filter.before)),
        ),
    ];
    conditions.into_iter().filter_map(|(what, alone)| Some((what?, alone))).collect()
}

/// Returns the filter that has only these conditions.
fn only(conditions: &[&Condition<'_>]) -> Filter {
    let mut filter = Filter::default();
    conditions.iter().for_each(|(_, add)| add(&mut filter));
    filter
}
