//! Lookup: resolves a name to an entity.

use std::collections::{BTreeMap, BTreeSet};

use proto::error::{Code, ErrorView};
use proto::shape::{EntityView, Freshness};
use proto::tool::core::{EntityLookup, EntityReply};

use super::entity::{aliases, brief, entity_view, rounded};
use super::name_of;
use crate::address;
use crate::error::invalid;
use crate::{AskError, QueryContext};
use extract::link::features::{popularity, string_similarity};
use index::read::Entity;
use model::terms::{EntityType, norm_of};
use notes::resolve::By;

/// How a note is called where nothing states its name.
const CALLED: [By; 3] = [By::Permalink, By::Heading, By::Slug];

/// What else the types are called in requests.
const TYPES_CALLED: [(&str, EntityType); 12] = [
    ("law", EntityType::Standard),
    ("norm", EntityType::Standard),
    ("spec", EntityType::Standard),
    ("specification", EntityType::Standard),
    ("framework", EntityType::Technology),
    ("software", EntityType::Technology),
    ("database", EntityType::Technology),
    ("endpoint", EntityType::Api),
    ("city", EntityType::Location),
    ("country", EntityType::Location),
    ("release", EntityType::Version),
    ("term", EntityType::Concept),
];

/// Returns the type that a request means, also in the plural.
fn type_called(text: &str) -> Option<EntityType> {
    let text = text.trim().to_lowercase();
    let singular = text.strip_suffix("ies").map(|it| format!("{it}y"));
    let singular = singular.or_else(|| text.strip_suffix('s').map(String::from));
    let called = |name: &str| TYPES_CALLED.iter().find(|it| it.0 == name).map(|it| it.1);
    let meant = |name: &str| EntityType::parse(name).or_else(|| called(name));
    meant(&text).or_else(|| meant(&singular?))
}

/// Returns whether an entity is of a type: of one too unsure to be shown, too, and of a standard by the form of its
/// name, which texts about it seldom call one.
fn is_of(entity: &Entity, wanted: Option<EntityType>) -> bool {
    let by_form = |wanted| wanted == EntityType::Standard && is_numbered(&entity.name);
    wanted.is_none_or(|it| EntityType::from_code(entity.type_code) == it || by_form(it))
}

/// Returns whether a name is capitals and then a number: `ISO 27001`, `NIST SP 800-53`.
fn is_numbered(name: &str) -> bool {
    let Some((body, number)) = name.rsplit_once(' ') else { return false };
    let is_capital = |c: char| c.is_ascii_uppercase() || matches!(c, ' ' | '/');
    body.len() > 1
        && body.chars().all(is_capital)
        && number.starts_with(|c: char| c.is_ascii_digit())
}

/// Least similarity of a misspelled name that is still suggested.
const MIN_LIKENESS: f32 = 0.6;

/// Finds entities by exact, partial or misspelled name.
pub fn entity_lookup(
    ctx: &QueryContext<'_>,
    request: &EntityLookup,
) -> Result<EntityReply, ErrorView> {
    let limit = request.limit.unwrap_or(10);
    if !(1..=100).contains(&limit) {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 1 to 100"));
    }
    let wanted_type = match &request.entity_type {
        None => None,
        Some(text) => Some(type_called(text).ok_or_else(|| {
            let all = EntityType::ALL.map(EntityType::as_str).join(", ");
            invalid(format!("no entity type `{text}`"), &format!("use one of {all}"))
        })?),
    };
    let norm = norm_of(&request.q);
    if norm.is_empty() {
        return Err(invalid(
            format!("`q` is `{}`", request.q),
            "give a name with at least one letter or digit",
        ));
    }
    let found = names_like(ctx, &norm, wanted_type, limit as usize)?;
    // A path denotes its note first, and so does its permalink or the heading that it begins with.
    let at_path = match note_at(ctx, &request.q)? {
        None => called(ctx, &request.q, &CALLED)?,
        found => found,
    };
    let at_path = at_path.map(|entity| (entity, 1.0));
    let rest = found.into_iter().filter(|(entity, _)| at_path.is_none_or(|it| it.0 != *entity));
    let mut entities = Vec::new();
    for (entity, score) in at_path.into_iter().chain(rest).take(limit as usize) {
        let found = ctx.snapshot.entities().get(entity).map_err(AskError::from)?;
        let Some(found) = found else { continue };
        if is_of(&found, wanted_type) {
            let mut view = brief(&found);
            if let Some(wanted) = wanted_type {
                view.entity_type = wanted.as_str().into();
            }
            let (score, aliases) = (Some(rounded(score)), aliases(ctx, entity, &view.name)?);
            entities.push(EntityView { score, aliases, path: found.path, ..view });
        }
    }
    let hint = match wanted_type {
        Some(wanted) if entities.is_empty() => of_other_types(ctx, &norm, wanted)?,
        _ => None,
    };
    Ok(EntityReply { entities, hint, freshness: Freshness::default() })
}

/// Says which types the entities have that are called so, if none has the wanted one.
fn of_other_types(
    ctx: &QueryContext<'_>,
    norm: &str,
    wanted: EntityType,
) -> Result<Option<String>, AskError> {
    let mut others = Vec::new();
    for (entity, _) in names_like(ctx, norm, None, 5)? {
        let Some(found) = ctx.snapshot.entities().get(entity)? else { continue };
        others.push(format!(
            "`{}` ({})",
            found.name,
            EntityType::from_code(found.type_code).as_str()
        ));
    }
    let others = others.join(", ");
    let hint = || format!("none of type {}; there are {others}: leave `type` out", wanted.as_str());
    Ok((!others.is_empty()).then(hint))
}

/// Returns entities whose names contain `norm` or are similar to it. Scores 1 for an exact name,
/// the share of the length for a prefix or part, else the similarity.
fn names_like(
    ctx: &QueryContext<'_>,
    norm: &str,
    wanted: Option<EntityType>,
    limit: usize,
) -> Result<Vec<(i64, f32)>, AskError> {
    let entities = ctx.snapshot.entities();
    let mut best: BTreeMap<i64, f32> = BTreeMap::new();
    let is_wanted = |it: &Entity| is_of(it, wanted);
    let mut note = |entity: i64, score: f32| {
        let entry = best.entry(entity).or_insert(0.0);
        *entry = entry.max(score);
    };
    ctx.snapshot.names().each(|name, entity, n_docs| {
        let likeness = likeness(norm, name);
        // Every name is compared, so the type is looked up only for similar ones.
        if likeness < MIN_LIKENESS * 0.5
            || wanted.is_some() && !entities.get(entity)?.as_ref().is_some_and(is_wanted)
        {
            return Ok(());
        }
        // Popular names win among equals, by at most a hundredth.
        note(entity, likeness * 0.99 + popularity(n_docs) * 0.01);
        Ok(())
    })?;
    // A name that several notes share denotes none of them, so they are added here.
    let notes = entities.with_norm(norm)?.into_iter().filter(|it| it.doc.is_some());
    notes.filter(is_wanted).for_each(|it| note(it.id, 0.99));
    let mut found: Vec<(i64, f32)> = best.into_iter().collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(limit);
    Ok(found)
}

fn likeness(asked: &str, name: &str) -> f32 {
    if asked == name {
        return 1.0;
    }
    let share = asked.len() as f32 / name.len().max(1) as f32;
    if asked.len() >= 2 && name.starts_with(asked) {
        return 0.6 + 0.35 * share;
    }
    if asked.len() >= 3 && name.contains(asked) {
        return 0.5 + 0.35 * share;
    }
    if asked.len().abs_diff(name.len()) > 2 || asked.len() < 4 {
        return 0.0;
    }
    let similarity = string_similarity(asked, name);
    if similarity >= MIN_LIKENESS { similarity * 0.9 } else { 0.0 }
}

/// Returns the entity for an id or a name; exactly one of them must be given.
pub(crate) fn find_one(
    ctx: &QueryContext<'_>,
    entity_id: Option<i64>,
    name: Option<&str>,
) -> Result<i64, ErrorView> {
    match (entity_id, name) {
        (Some(id), None) => Ok(id),
        (None, Some(name)) => by_name(ctx, name),
        _ => Err(invalid(
            "both or neither of `entity_id` and `name` were given".into(),
            "give exactly one of them",
        )),
    }
}

/// Resolves a parameter to an entity: an id from another answer, with or without `#`, or a name.
///
/// # Errors
/// `not_found` with near names, and `ambiguous` with the candidates.
pub fn given(ctx: &QueryContext<'_>, parameter: &str, value: &str) -> Result<i64, ErrorView> {
    let id = value.trim().trim_start_matches('#').parse::<i64>();
    match id {
        Ok(id) if entity_view(ctx, id)?.is_some() => Ok(id),
        _ => by_name(ctx, value).map_err(|error| ErrorView {
            hint: error.hint.map(|hint| hint.replace("`entity_id`", &format!("`{parameter}`"))),
            ..error
        }),
    }
}

/// Returns whether a name is the path of a note.
pub(crate) fn is_path(name: &str) -> bool {
    let name = name.trim();
    name.contains('/') || name.ends_with(".md") || name.ends_with(".markdown")
}

/// Returns the entity of the note at a path, with or without its extension, or with that permalink.
fn note_at(ctx: &QueryContext<'_>, name: &str) -> Result<Option<i64>, AskError> {
    if !is_path(name) {
        return Ok(None);
    }
    let Ok(doc) = address::document(ctx.snapshot, name) else { return Ok(None) };
    Ok(ctx.snapshot.entities().of_note(doc)?)
}

/// Returns the entity of the note that links and tools find by this name where nothing states it: by its permalink, as
/// written or in other words, or by the heading that it alone begins with; in `ways`.
fn called(ctx: &QueryContext<'_>, name: &str, ways: &[By]) -> Result<Option<i64>, AskError> {
    for by in ways.iter().copied() {
        if let [doc] = ctx.snapshot.documents().named(by, name)?.as_slice() {
            return Ok(ctx.snapshot.entities().of_note(*doc)?);
        }
    }
    Ok(None)
}

/// Returns every entity that a name denotes in some document, and the notes with that name.
pub(crate) fn bearers(ctx: &QueryContext<'_>, norm: &str) -> Result<BTreeSet<i64>, AskError> {
    let names = ctx.snapshot.names().senses(norm)?.into_iter().filter_map(|it| it.entity);
    let notes = ctx.snapshot.entities().with_norm(norm)?;
    let notes = notes.into_iter().filter(|it| it.doc.is_some()).map(|it| it.id);
    Ok(names.chain(notes).collect())
}

fn by_name(ctx: &QueryContext<'_>, name: &str) -> Result<i64, ErrorView> {
    if let Some(entity) = note_at(ctx, name)? {
        return Ok(entity);
    }
    let norm = norm_of(name);
    let exact = ctx.snapshot.names().with_norm(&norm).map_err(AskError::from)?;
    let entity = exact.as_ref().map(|it| it.entity);
    let found = entity.flatten().map(|it| ctx.snapshot.entities().get(it));
    // What only texts mention gives way to the note that is called so.
    if let Some(it) = found.transpose().map_err(AskError::from)?.flatten()
        && it.doc.is_some()
    {
        return Ok(it.id);
    }
    // Notes of one name that nothing uses, such as the indexes of folders: which one is meant?
    if exact.is_none() && bearers(ctx, &norm)?.len() > 1 {
        return Err(ambiguous(ctx, name, &norm)?);
    }
    let noted = if entity == Some(None) { None } else { called(ctx, name, &CALLED)? };
    // An index is found by its folder's name only if nothing else has that name.
    if let Some(entity) = noted
        .or(entity.flatten())
        .map_or_else(|| called(ctx, name, &[By::Folder]), |it| Ok(Some(it)))?
    {
        return Ok(entity);
    }
    if exact.is_some() {
        return Err(ambiguous(ctx, name, &norm)?);
    }
    // Such as `Babbage` after `Charles Babbage`, if all mentions with this spelling denote the same.
    let written_so = ctx.snapshot.mentions().spelled(name.trim(), 2).map_err(AskError::from)?;
    if let [entity] = written_so.as_slice() {
        return Ok(*entity);
    }
    let near = names_like(ctx, &norm, None, 5)?;
    // A clear winner is accepted, so that a plural or a typo needs no second call.
    if let [(entity, score), rest @ ..] = near.as_slice() {
        let runner_up = rest.first().map_or(0.0, |r| r.1);
        if *score >= 0.85 && score - runner_up >= 0.05 {
            return Ok(*entity);
        }
    }
    let mut names = Vec::new();
    for (entity, _) in near {
        names.extend(name_of(ctx, entity)?);
    }
    Err(not_found(name, &names))
}

/// Lists what a name may denote: notes with that name, its senses, and the candidates if it is
/// unresolved.
fn ambiguous(ctx: &QueryContext<'_>, name: &str, norm: &str) -> Result<ErrorView, AskError> {
    let mut meant = bearers(ctx, norm)?;
    if let Some(name) = ctx.snapshot.names().with_norm(norm)? {
        meant.extend(ctx.snapshot.proposals().candidates(name.id)?);
    }
    let mut found: Vec<(String, i64, Option<String>)> = Vec::new();
    for id in meant {
        let Some(it) = ctx.snapshot.entities().get(id)? else { continue };
        if let Some(path) = it.path {
            found.push((path, id, None));
            continue;
        }
        let first = ctx.snapshot.mentions().by_doc(id)?.into_iter().map(|it| it.path).min();
        let first = first.map(|path| format!("in {path}")).unwrap_or_default();
        let about = format!("{} {first}", EntityType::shown(it.type_code)).trim().to_string();
        let about = if about.is_empty() { about } else { format!(", {about}") };
        found.push((it.name, id, Some(about)));
    }
    found.sort();
    let things = if found.iter().any(|it| it.2.is_some()) { "things" } else { "notes" };
    let shown = |(place, id, about): &(String, i64, Option<String>)| {
        format!("{id} ({place}{})", about.as_deref().unwrap_or_default())
    };
    let ids: Vec<String> = found.iter().map(shown).collect();
    let message = format!("`{name}` names {} {things}: {}", ids.len(), ids.join(", "));
    Ok(ErrorView::hinted(Code::Ambiguous, message, "call again with one of these as `entity_id`"))
}

pub(crate) fn not_found(name: &str, near: &[String]) -> ErrorView {
    let hint = match near {
        [] => "find it with `entity_lookup` or `hybrid_query`".to_string(),
        names => format!("nearest: {}", names.join(", ")),
    };
    ErrorView::hinted(Code::NotFound, format!("no entity is called `{name}`"), &hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_then_prefix_then_part_then_misspelt() {
        let scores = [
            likeness("signingservice", "signingservice"),
            likeness("signing", "signingservice"),
            likeness("service", "signingservice"),
        ];
        assert!(scores.is_sorted_by(|a, b| a > b), "{scores:?}");
        assert!(likeness("signnigservice", "signingservice") > MIN_LIKENESS);
        assert_eq!(likeness("billing", "signingservice"), 0.0);
    }
}
