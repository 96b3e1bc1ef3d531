//! The text form of memory: entities, observations, relations.

use proto::shape::aside;
use proto::tool::memory::{
    AddedReply, ConsolidationReply, CreatedEntitiesReply, CreatedRelationsReply,
    DeletedEntitiesReply, DeletedObservationsReply, DeletedRelationsReply, FactView,
    FoundNodesReply, GapsReply, ItemError, MemoryGraphReply, MemoryNode, MemoryNodesReply,
    MemoryRelation, NeighborhoodReply, ObservationsReply, PathReply, PendingReply, RelationsReply,
    ReplacedReply, SimilarReply, StatsReply, SummaryReply, TagsReply, UpdatedRelationReply,
};

use super::clean::{one_line, stored_line};
use super::sheet::Sheet;
use super::{count, score};

pub(super) fn failed(failed: &[ItemError], sheet: &mut Sheet) {
    sheet.items(failed.iter().map(|it| {
        let hint = it.hint.as_ref().map(|it| format!(" (hint: {})", one_line(it)));
        format!(
            "failed {}: {}{}",
            stored_line(&it.name),
            one_line(&it.message),
            hint.unwrap_or_default()
        )
    }));
}

fn names(what: &str, names: &[String], sheet: &mut Sheet) {
    if !names.is_empty() {
        let names: Vec<_> = names.iter().map(|it| one_line(it).into_owned()).collect();
        sheet.line(&format!("{what}: {}", names.join(", ")));
    }
}

fn fact(it: &FactView) -> String {
    format!("  ^o{} {}", it.ordinal, stored_line(&it.content))
}

fn relation(it: &MemoryRelation) -> String {
    format!("  {} → {} → {}", one_line(&it.from), one_line(&it.relation_type), one_line(&it.to))
}

fn node(it: &MemoryNode) -> String {
    let about = aside(&[&one_line(&it.entity_type), &one_line(&it.path)]);
    let mut text = format!("{}{about}", stored_line(&it.name));
    it.tags.iter().for_each(|tag| text += &format!(" #{}", one_line(tag)));
    if let Some(summary) = &it.summary {
        text += &format!("\n   {}", one_line(summary));
    }
    text
}

fn next(page: Option<u32>, sheet: &mut Sheet) {
    if let Some(page) = page {
        sheet.line(&format!("(more on page {page})"));
    }
}

fn nothing(is_empty: bool, sheet: &mut Sheet) {
    if is_empty {
        sheet.line("none");
    }
}

pub fn created(reply: &CreatedEntitiesReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    failed(&reply.failed, sheet);
    sheet.items(reply.entities.iter().map(|it| {
        let (name, kind) = (stored_line(&it.name), one_line(&it.entity_type));
        let how = if it.was_note { "turned the note into an entity" } else { "created" };
        format!("{how} {name} ({kind}, {})", one_line(&it.path))
    }));
    sheet.items(reply.existing.iter().map(|it| {
        let (name, path) = (stored_line(&it.name), one_line(&it.path));
        let lost = match it.not_added.len() as u64 {
            0 => String::new(),
            n => format!("; {} not added: `add_observations` does that", count(n, "observation")),
        };
        format!("already there: {name} ({path}){lost}")
    }));
    sheet.finish()
}

pub fn deleted(reply: &DeletedEntitiesReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    failed(&reply.failed, sheet);
    names("deleted", &reply.deleted, sheet);
    names("not found", &reply.not_found, sheet);
    if !reply.removed_relations.is_empty() {
        sheet.line("relations deleted with them:");
        sheet.items(reply.removed_relations.iter().map(relation));
    }
    sheet.finish()
}

pub fn graph(reply: &MemoryGraphReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    failed(&reply.failed, sheet);
    names("not found", &reply.not_found, sheet);
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    next(reply.next_page, sheet);
    nothing(reply.entities.is_empty() && reply.not_found.is_empty(), sheet);
    sheet.items(reply.entities.iter().map(|it| {
        // Only for `node`, which shows the name, type, tags and summary of both kinds of replies.
        let head = MemoryNode {
            name: it.name.clone(),
            entity_type: it.entity_type.clone(),
            summary: it.summary.clone(),
            tags: it.tags.clone(),
            path: it.path.clone(),
            updated_at: String::new(),
        };
        let facts: String = it.observations.iter().map(|it| format!("\n{}", fact(it))).collect();
        format!("{}{facts}", node(&head))
    }));
    if !reply.relations.is_empty() {
        sheet.line("relations:");
        sheet.items(reply.relations.iter().map(relation));
    }
    sheet.finish()
}

pub fn nodes(reply: &MemoryNodesReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    next(reply.next_page, sheet);
    nothing(reply.nodes.is_empty(), sheet);
    sheet.items(reply.nodes.iter().map(node));
    sheet.finish()
}

pub fn summary(reply: &SummaryReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&format!("{}: {}", stored_line(&reply.name), one_line(&reply.summary)));
    sheet.finish()
}

pub fn tags(reply: &TagsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let tags: String = reply.tags.iter().map(|tag| format!(" #{}", one_line(tag))).collect();
    let tags = if tags.is_empty() { " no tags".to_string() } else { tags };
    sheet.line(&format!("{}:{tags}", stored_line(&reply.name)));
    sheet.finish()
}

pub fn added(reply: &AddedReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    for it in &reply.results {
        let name = one_line(&it.entity_name);
        if let Some(error) = &it.error {
            failed(std::slice::from_ref(error), sheet);
            continue;
        }
        let n = count(it.added.len() as u64, "observation");
        sheet.line(&format!("{name}: {n} added, {} already there", it.existing.len()));
        sheet.items(it.added.iter().map(fact));
    }
    sheet.finish()
}

pub fn replaced(reply: &ReplacedReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&format!("{} ^o{}", one_line(&reply.entity_name), reply.ordinal));
    sheet.line(&format!("- {}", one_line(&reply.old_content)));
    sheet.line(&format!("+ {}", one_line(&reply.new_content)));
    sheet.finish()
}

pub fn forgotten(reply: &DeletedObservationsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    for it in &reply.results {
        if let Some(error) = &it.error {
            failed(std::slice::from_ref(error), sheet);
            continue;
        }
        let list =
            |all: &[u64]| all.iter().map(|it| format!("^o{it}")).collect::<Vec<_>>().join(", ");
        let mut text =
            format!("{}: deleted {}", one_line(&it.entity_name), list(&it.deleted_ordinals));
        if it.deleted_ordinals.is_empty() {
            text = format!("{}: nothing deleted", one_line(&it.entity_name));
        }
        if !it.deleted_below.is_empty() {
            let below: Vec<_> = it.deleted_below.iter().map(|it| one_line(it)).collect();
            text += &format!(", with everything below: {}", below.join(", "));
        }
        if !it.not_found_ordinals.is_empty() {
            text += &format!("; not found {}", list(&it.not_found_ordinals));
        }
        if !it.not_found_observations.is_empty() {
            let texts: Vec<_> = it.not_found_observations.iter().map(|it| one_line(it)).collect();
            text += &format!("; no observation says {}", texts.join(", "));
        }
        sheet.line(&text);
    }
    sheet.finish()
}

pub fn observations(reply: &ObservationsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    nothing(reply.results.is_empty(), sheet);
    if reply.nothing_relevant {
        sheet.line("nothing relevant; the nearest observations:");
    }
    sheet.items(reply.results.iter().map(|it| {
        let weak = if it.weak { ", weak" } else { "" };
        let text = stored_line(&it.content);
        format!("^o{} {text} (score {}{weak})", it.ordinal, score(it.score))
    }));
    sheet.finish()
}

pub fn related(reply: &CreatedRelationsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    failed(&reply.failed, sheet);
    names("not found", &reply.not_found, sheet);
    let n = count(reply.created.len() as u64, "relation");
    sheet.line(&format!("{n} created, {} already there", reply.already_existed.len()));
    sheet.items(reply.created.iter().map(relation));
    sheet.finish()
}

pub fn unrelated(reply: &DeletedRelationsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    failed(&reply.failed, sheet);
    let n = count(reply.deleted, "relation");
    sheet.line(&format!("{n} deleted, {} not found", reply.not_found));
    sheet.finish()
}

pub fn retyped(reply: &UpdatedRelationReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (from, to) = (one_line(&reply.from_entity), one_line(&reply.to_entity));
    let (old, new) = (one_line(&reply.old_type), one_line(&reply.new_type));
    sheet.line(&format!("{from} → {new} → {to} (was {old})"));
    sheet.finish()
}

pub fn relations(reply: &RelationsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    nothing(reply.relations.is_empty(), sheet);
    sheet.items(reply.relations.iter().map(relation));
    sheet.finish()
}

pub fn neighborhood(reply: &NeighborhoodReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    sheet.items(reply.nodes.iter().map(node));
    if !reply.relations.is_empty() {
        sheet.line("relations:");
        sheet.items(reply.relations.iter().map(relation));
    }
    sheet.finish()
}

pub fn path(reply: &PathReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if !reply.found {
        sheet.line("no path");
        return sheet.finish();
    }
    names("path", &reply.path, sheet);
    sheet.items(reply.relations.iter().map(relation));
    sheet.finish()
}

pub fn gaps(reply: &GapsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    next(reply.next_page, sheet);
    nothing(reply.gaps.is_empty(), sheet);
    sheet.items(reply.gaps.iter().map(|it| {
        let times = if it.reference_count == 1 {
            "once".into()
        } else {
            format!("{} times", it.reference_count)
        };
        format!("{} mentions {} {times}", one_line(&it.node), one_line(&it.referenced_name))
    }));
    sheet.finish()
}

pub fn similar(reply: &SimilarReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    nothing(reply.pairs.is_empty(), sheet);
    sheet.items(reply.pairs.iter().map(|it| {
        let (one, other) = (one_line(&it.node_a), one_line(&it.node_b));
        let (kind, other_kind) = (one_line(&it.node_a_type), one_line(&it.node_b_type));
        format!("{one} ({kind}) ~ {other} ({other_kind}) {}", score(it.similarity))
    }));
    sheet.finish()
}

pub fn found(reply: &FoundNodesReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if reply.results.is_empty() {
        sheet.line("nothing found");
    }
    if reply.nothing_relevant {
        sheet.line("nothing relevant; the nearest entities:");
    }
    sheet.items(reply.results.iter().enumerate().map(|(idx, it)| {
        let weak = if it.weak { ", weak" } else { "" };
        let by = it.matched_perspective.as_ref().map(|it| format!(", {}", one_line(it)));
        let (name, kind) = (stored_line(&it.name), one_line(&it.entity_type));
        let mut text = format!(
            "{}. {name} ({kind}, {}; score {}{}{weak})",
            idx + 1,
            one_line(&it.path),
            score(it.score),
            by.unwrap_or_default()
        );
        // The first observation is shown even if it is weak, so that every entity shows why it was found.
        let shown = it.observations.iter().enumerate().filter(|(at, it)| *at == 0 || !it.weak);
        for (_, it) in shown {
            text += &format!("\n   ^o{} {}", it.ordinal, stored_line(&it.content));
        }
        text
    }));
    sheet.items(reply.relations.iter().map(relation));
    if let Some(page) = reply.next_page {
        sheet.line(&format!("more with `page: {page}`"));
    }
    sheet.finish()
}

pub fn report(reply: &ConsolidationReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let it = &reply.event_summary;
    let since = one_line(&it.since);
    sheet.line(&format!(
        "since {since}: {} created, {} updated, {} deleted",
        it.creates, it.updates, it.deletes
    ));
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    if let Some(llm) = &reply.llm {
        sheet.line(&format!("({})", one_line(llm)));
    }
    if !reply.stale_summaries.is_empty() {
        sheet.line("need a summary:");
        sheet.items(reply.stale_summaries.iter().map(|it| {
            let n = count(it.observation_count, "observation");
            // Drafts by other means than a model are not marked.
            let by = it.draft_by.as_ref().filter(|by| by.starts_with("llm:"));
            let by = by.map(|by| format!(" ({})", one_line(by))).unwrap_or_default();
            let draft = it.draft_summary.as_ref().map(|it| format!("\n     {}{by}", one_line(it)));
            format!("  {} ({n}){}", stored_line(&it.name), draft.unwrap_or_default())
        }));
    }
    if !reply.relation_candidates.is_empty() {
        sheet.line("may be related:");
        sheet.items(reply.relation_candidates.iter().map(|it| {
            let (one, other) = (one_line(&it.node_a), one_line(&it.node_b));
            format!("  {one} ~ {other} {}", score(it.similarity_score))
        }));
    }
    if !reply.cluster_summary.is_empty() {
        sheet.line("clusters:");
        sheet.items(reply.cluster_summary.iter().map(|it| {
            let names: Vec<_> = it.node_names.iter().map(|it| one_line(it).into_owned()).collect();
            let label = it.centroid_label.as_deref().map(one_line).unwrap_or_default();
            format!("  {}. {label}: {}", it.cluster_id, names.join(", "))
        }));
    }
    if !reply.orphaned_nodes.is_empty() {
        sheet.line("without relations:");
        sheet.items(reply.orphaned_nodes.iter().map(|it| format!("  {}", stored_line(&it.name))));
    }
    sheet.finish()
}

pub fn pending(reply: &PendingReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    next(reply.next_page, sheet);
    nothing(reply.nodes.is_empty(), sheet);
    sheet.items(reply.nodes.iter().map(|it| {
        let n = count(it.observation_count, "observation");
        let last = one_line(&it.last_observation_at);
        format!("{} ({}, {n}, last {last})", stored_line(&it.name), one_line(&it.entity_type))
    }));
    sheet.finish()
}

pub fn stats(reply: &StatsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let entities = if reply.node_count == 1 {
        "1 entity".into()
    } else {
        format!("{} entities", reply.node_count)
    };
    sheet.line(&format!(
        "{entities}, {}, {}; {} % with vectors",
        count(reply.observation_count, "observation"),
        count(reply.relation_count, "relation"),
        (reply.embedding_coverage * 100.0).round()
    ));
    sheet.finish()
}
