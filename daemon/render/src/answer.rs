//! Answers: hits, entities and explanations as text.

use proto::shape::{AlsoIn, EntityView, Id, RelationView};
use proto::tool::admin::GraphReply;
use proto::tool::core::{
    EntityReply, ExplainReply, HitView, HybridReply, PassageReply, TimelineView,
};

use super::clean::{indented, one_line};
use super::sheet::Sheet;
use super::{count, entity, score};

/// Entities named under the hits of a question.
const MAX_ENTITIES: usize = 8;

/// Months or years told of a timeline, the latest.
const MAX_PERIODS: usize = 6;

/// The hits, best first; returns how many fit.
pub(super) fn hybrid(reply: &HybridReply, sheet: &mut Sheet) -> usize {
    if reply.chunks.is_empty() {
        sheet.line("nothing found");
    }
    for told in [&reply.relaxed, &reply.hint].into_iter().flatten() {
        sheet.line(&format!("({})", one_line(told)));
    }
    if reply.nothing_relevant && !reply.chunks.is_empty() {
        sheet.line("nothing here has much to do with the question; the nearest passages:");
    }
    let entities = entity_names(reply);
    let next = reply.next_cursor.as_ref();
    let next = next.map(|it| format!("more: the same question with cursor {}", one_line(it)));
    if let Some(next) = &next {
        sheet.reserve(next);
    }
    let n_shown =
        sheet.items(reply.chunks.iter().enumerate().map(|(idx, chunk)| hit(idx + 1, chunk)));
    if let Some(entities) = entities {
        sheet.line(&entities);
    }
    if let Some(next) = &next {
        sheet.reserved(next);
    }
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    n_shown
}

/// `1. path:12-18 § Deploy › Rollback (score .83: text .41 vector .39 graph .03)` and the snippet
/// under it.
fn hit(rank: usize, hit: &HitView) -> String {
    let mut text = format!("{rank}. {}", one_line(&hit.place()));
    if !hit.section.is_empty() {
        text += &format!(" § {}", one_line(&hit.section));
    }
    // Also what is taken off: they sum to the score.
    let mut parts: Vec<_> = hit.components.iter().filter(|(_, part)| **part != 0.0).collect();
    parts.sort_by(|left, right| right.1.total_cmp(left.1));
    let parts: Vec<_> =
        parts.iter().map(|(name, part)| format!("{name} {}", score(**part))).collect();
    text += &format!(" (score {}", score(hit.score));
    if !parts.is_empty() {
        text += &format!(": {}", parts.join(" "));
    }
    text += if hit.weak { "; weak)\n" } else { ")\n" };
    text += &indented(&hit.snippet, "   ");
    text.truncate(text.trim_end().len());
    if let Some(also) = &hit.also_in {
        text += &format!("\n   also in {}", further(also));
    }
    text
}

/// The place, then the text, then where to go on.
pub(super) fn passage(reply: &PassageReply, sheet: &mut Sheet) {
    let mut head = one_line(&reply.place()).into_owned();
    if !reply.section.is_empty() {
        head += &format!(" § {}", one_line(&reply.section));
    }
    let [first, last] = reply.passages;
    let which = if first == last { format!("{first}") } else { format!("{first}-{last}") };
    sheet.line(&format!("{head} (passage {which} of {})", reply.n_passages));
    sheet.cut(&indented(&reply.text, ""));
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    let on = [("before", &reply.before), ("after", &reply.after)];
    let on: Vec<_> = on
        .into_iter()
        .filter_map(|(side, handle)| Some(format!("{side}: {}", one_line(handle.as_ref()?))))
        .collect();
    if !on.is_empty() {
        sheet.line(&on.join("  "));
    }
}

/// `a.md:12, b.md:3 and 48 more`.
fn further(also: &AlsoIn) -> String {
    let places: Vec<_> = also.places.iter().map(|it| one_line(&it.place()).into_owned()).collect();
    let rest = also.n.saturating_sub(also.places.len() as u64);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    places.join(", ") + &rest
}

fn entity_names(reply: &HybridReply) -> Option<String> {
    let shown = reply.entities.iter().take(MAX_ENTITIES);
    let names: Vec<_> =
        shown.map(|it| format!("{} ({})", one_line(&it.name), one_line(&it.entity_type))).collect();
    let rest = reply.entities.len().saturating_sub(MAX_ENTITIES);
    let rest = if rest > 0 { format!(", … {rest} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("entities: {}{rest}", names.join(", ")))
}

pub(super) fn entities(reply: &EntityReply, sheet: &mut Sheet) {
    if reply.entities.is_empty() {
        sheet.line("nothing goes by that name");
    }
    sheet.items(reply.entities.iter().enumerate().map(|(idx, found)| {
        let score = found.score.map(|it| format!("  {}", score(it))).unwrap_or_default();
        format!("{}. {}{score}", idx + 1, entity(found))
    }));
}

pub(super) fn explain(reply: &ExplainReply, sheet: &mut Sheet) {
    sheet.line(&entity(&reply.entity));
    if let Some(found) = &reply.definition {
        let (words, place) = (one_line(&found.source.text), found.source.place());
        sheet.cut(&format!("  “{words}” ({})", one_line(&place)));
    }
    if !reply.same_name.is_empty() {
        let others: Vec<_> = reply.same_name.iter().map(entity).collect();
        sheet.line(&format!("  others of this name: {}", others.join("; ")));
    }
    if let Some(home) = &reply.home {
        sheet.line(&format!("  home: {}", one_line(home)));
    }
    if !reply.relations.is_empty() {
        sheet.line("relations:");
        sheet.items(reply.relations.iter().map(|it| relation(it, &reply.entity)));
    }
    if !reply.sources.is_empty() {
        let documents = count(reply.n_documents, "document");
        sheet.line(&format!("sources ({} in {documents}):", count(reply.n_mentions, "mention")));
        sheet.items(reply.sources.iter().map(|it| {
            let place = it.source.place();
            let (place, words) = (one_line(&place), one_line(&it.source.text));
            format!("  {place}  {words}  ({} × {})", it.n_mentions, score(it.confidence))
        }));
    }
    if let Some(found) = &reply.timeline {
        sheet.line(&timeline(found));
    }
    if !reply.why.is_empty() {
        sheet.line("why:");
        sheet.items(reply.why.iter().map(|it| {
            let features =
                it.features.iter().map(|(name, value)| format!("{name} {}", score(*value)));
            let features: Vec<_> = features.collect();
            let (surface, decision) = (one_line(&it.surface), one_line(&it.decision));
            format!("  {surface}: {decision}, score {} ({})", score(it.score), features.join(" "))
        }));
    }
}

/// `mentioned 2024-03-01 to 2025-02-11: … 2024-12 × 3, 2025-02 × 1`.
fn timeline(timeline: &TimelineView) -> String {
    let skipped = timeline.counts.len().saturating_sub(MAX_PERIODS);
    let counts = timeline.counts.iter().skip(skipped);
    let counts: Vec<_> =
        counts.map(|it| format!("{} × {}", one_line(&it.period), it.n_mentions)).collect();
    let cut = if skipped > 0 || timeline.n_earlier > 0 { "… " } else { "" };
    let (first, last) = (one_line(&timeline.first.day), one_line(&timeline.last.day));
    format!("mentioned {first} to {last}: {cut}{}", counts.join(", "))
}

/// The neighborhood of an entity, as lines; its drawing is `kgctl`'s.
pub(super) fn graph(reply: &GraphReply, sheet: &mut Sheet) {
    let name = |id: Id| {
        let found = reply.nodes.iter().find(|it| it.entity.id == id);
        found.map_or_else(|| id.to_string(), |it| one_line(&it.entity.name).into_owned())
    };
    let n = reply.nodes.len();
    let entities = if n == 1 { "1 entity".to_string() } else { format!("{n} entities") };
    sheet.line(&format!("{entities}, {}", count(reply.edges.len() as u64, "relation")));
    sheet.items(reply.edges.iter().map(|it| {
        let place = it.evidence.as_ref().map(|it| one_line(&it.source.place()).into_owned());
        let place = place.map(|place| format!(", {place}")).unwrap_or_default();
        let (src, rel, dst) = (name(it.src), one_line(&it.rel), name(it.dst));
        format!("  {src} → {rel} {dst}  ({}{place})", score(it.confidence))
    }));
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
}

/// `→ depends_on Key Store  (.81, runbooks/x.md:12)`; both ends are named when it is not the
/// entity's own.
fn relation(relation: &RelationView, about: &EntityView) -> String {
    let [subject, object] = relation.ends();
    let (subject, object) = (one_line(&subject), one_line(&object));
    let predicate = one_line(&relation.predicate);
    // Daemons of before told no ids.
    let is_about = |id: Option<Id>, name: &str| match id {
        Some(id) => id == about.id,
        None => name == about.name,
    };
    let stated = if is_about(relation.subject_id, &relation.subject) {
        format!("→ {predicate} {object}")
    } else if is_about(relation.object_id, &relation.object) {
        format!("← {predicate} {subject}")
    } else {
        format!("{subject} → {predicate} {object}")
    };
    let place = relation.evidence.first().map(|it| &it.source);
    let place = place.map(|it| format!(", {}", one_line(&it.place()))).unwrap_or_default();
    let denial = relation.evidence.iter().find(|it| it.pattern.starts_with("against "));
    let denial = denial.map(|it| format!(", contradicted by {}", one_line(&it.source.place())));
    format!("  {stated}  ({}{place}{})", score(relation.confidence), denial.unwrap_or_default())
}
