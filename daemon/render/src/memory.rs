//! Memory as text.

use proto::tool::memory::{
    AddedReply, ConsolidationReply, CreatedEntitiesReply, CreatedRelationsReply,
    DeletedEntitiesReply, DeletedObservationsReply, DeletedRelationsReply, FactView,
    FoundNodesReply, GapsReply, ItemError, MemoryGraphReply, MemoryNode, MemoryNodesReply,
    MemoryRelation, NeighborhoodReply, ObservationsReply, PathReply, PendingReply, RelationsReply,
    ReplacedReply, SimilarReply, StatsReply, SummaryReply, TagsReply, UpdatedRelationReply,
};

use super::clean::one_line;
use super::sheet::Sheet;
use super::{count, score};

pub(super) fn failed(failed: &[ItemError], sheet: &mut Sheet) {
    sheet.items(failed.iter().map(|it| {
        let hint = it.hint.as_ref().map(|it| format!(" (hint: {})", one_line(it)));
        format!(
            "failed {}: {}{}",
            one_line(&it.name),
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
    format!("  ^o{} {}", it.ordinal, one_line(&it.content))
}

fn relation(it: &MemoryRelation) -> String {
    format!("  {} → {} → {}", one_line(&it.from), one_line(&it.relation_type), one_line(&it.to))
}

fn node(it: &MemoryNode) -> String {
    let mut text =
        format!("{} ({}, {})", one_line(&it.name), one_line(&it.entity_type), one_line(&it.path));
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

pub(super) fn created(reply: &CreatedEntitiesReply, sheet: &mut Sheet) {
    failed(&reply.failed, sheet);
    sheet.items(reply.entities.iter().map(|it| {
        let (name, kind) = (one_line(&it.name), one_line(&it.entity_type));
        let how = if it.was_note { "made an entity of the note" } else { "created" };
        format!("{how} {name} ({kind}, {})", one_line(&it.path))
    }));
    sheet.items(
        reply
            .existing
            .iter()
            .map(|it| format!("there already: {} ({})", one_line(&it.name), one_line(&it.path))),
    );
}

pub(super) fn deleted(reply: &DeletedEntitiesReply, sheet: &mut Sheet) {
    failed(&reply.failed, sheet);
    names("deleted", &reply.deleted, sheet);
    names("not found", &reply.not_found, sheet);
    if !reply.removed_relations.is_empty() {
        sheet.line("relations that went with them:");
        sheet.items(reply.removed_relations.iter().map(relation));
    }
}

pub(super) fn graph(reply: &MemoryGraphReply, sheet: &mut Sheet) {
    failed(&reply.failed, sheet);
    names("not found", &reply.not_found, sheet);
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    next(reply.next_page, sheet);
    nothing(reply.entities.is_empty() && reply.not_found.is_empty(), sheet);
    sheet.items(reply.entities.iter().map(|it| {
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
}

pub(super) fn nodes(reply: &MemoryNodesReply, sheet: &mut Sheet) {
    next(reply.next_page, sheet);
    nothing(reply.nodes.is_empty(), sheet);
    sheet.items(reply.nodes.iter().map(node));
}

pub(super) fn summary(reply: &SummaryReply, sheet: &mut Sheet) {
    sheet.line(&format!("{}: {}", one_line(&reply.name), one_line(&reply.summary)));
}

pub(super) fn tags(reply: &TagsReply, sheet: &mut Sheet) {
    let tags: String = reply.tags.iter().map(|tag| format!(" #{}", one_line(tag))).collect();
    let tags = if tags.is_empty() { " no tags".to_string() } else { tags };
    sheet.line(&format!("{}:{tags}", one_line(&reply.name)));
}

pub(super) fn added(reply: &AddedReply, sheet: &mut Sheet) {
    for it in &reply.results {
        let name = one_line(&it.entity_name);
        if let Some(error) = &it.error {
            failed(std::slice::from_ref(error), sheet);
            continue;
        }
        let n = count(it.added.len() as u64, "observation");
        sheet.line(&format!("{name}: {n} added, {} there already", it.existing.len()));
        sheet.items(it.added.iter().map(fact));
    }
}

pub(super) fn replaced(reply: &ReplacedReply, sheet: &mut Sheet) {
    sheet.line(&format!("{} ^o{}", one_line(&reply.entity_name), reply.ordinal));
    sheet.line(&format!("- {}", one_line(&reply.old_content)));
    sheet.line(&format!("+ {}", one_line(&reply.new_content)));
}

pub(super) fn forgotten(reply: &DeletedObservationsReply, sheet: &mut Sheet) {
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
            text += &format!(", with what stood below: {}", below.join(", "));
        }
        if !it.not_found_ordinals.is_empty() {
            text += &format!("; not found {}", list(&it.not_found_ordinals));
        }
        if !it.not_found_observations.is_empty() {
            let said: Vec<_> = it.not_found_observations.iter().map(|it| one_line(it)).collect();
            text += &format!("; nothing says {}", said.join(", "));
        }
        sheet.line(&text);
    }
}

pub(super) fn observations(reply: &ObservationsReply, sheet: &mut Sheet) {
    nothing(reply.results.is_empty(), sheet);
    sheet.items(reply.results.iter().map(|it| {
        format!("^o{} {} (score {})", it.ordinal, one_line(&it.content), score(it.score))
    }));
}

pub(super) fn related(reply: &CreatedRelationsReply, sheet: &mut Sheet) {
    failed(&reply.failed, sheet);
    names("not found", &reply.not_found, sheet);
    let n = count(reply.created.len() as u64, "relation");
    sheet.line(&format!("{n} created, {} there already", reply.already_existed.len()));
    sheet.items(reply.created.iter().map(relation));
}

pub(super) fn unrelated(reply: &DeletedRelationsReply, sheet: &mut Sheet) {
    failed(&reply.failed, sheet);
    let n = count(reply.deleted, "relation");
    sheet.line(&format!("{n} deleted, {} not found", reply.not_found));
}

pub(super) fn retyped(reply: &UpdatedRelationReply, sheet: &mut Sheet) {
    let (from, to) = (one_line(&reply.from_entity), one_line(&reply.to_entity));
    let (old, new) = (one_line(&reply.old_type), one_line(&reply.new_type));
    sheet.line(&format!("{from} → {new} → {to} (was {old})"));
}

pub(super) fn relations(reply: &RelationsReply, sheet: &mut Sheet) {
    nothing(reply.relations.is_empty(), sheet);
    sheet.items(reply.relations.iter().map(relation));
}

pub(super) fn neighborhood(reply: &NeighborhoodReply, sheet: &mut Sheet) {
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    sheet.items(reply.nodes.iter().map(node));
    if !reply.relations.is_empty() {
        sheet.line("relations:");
        sheet.items(reply.relations.iter().map(relation));
    }
}

pub(super) fn path(reply: &PathReply, sheet: &mut Sheet) {
    if !reply.found {
        sheet.line("no path");
        return;
    }
    names("path", &reply.path, sheet);
    sheet.items(reply.relations.iter().map(relation));
}

pub(super) fn gaps(reply: &GapsReply, sheet: &mut Sheet) {
    next(reply.next_page, sheet);
    nothing(reply.gaps.is_empty(), sheet);
    sheet.items(reply.gaps.iter().map(|it| {
        let times = if it.reference_count == 1 {
            "once".into()
        } else {
            format!("{} times", it.reference_count)
        };
        format!("{} speaks of {} {times}", one_line(&it.node), one_line(&it.referenced_name))
    }));
}

pub(super) fn similar(reply: &SimilarReply, sheet: &mut Sheet) {
    nothing(reply.pairs.is_empty(), sheet);
    sheet.items(reply.pairs.iter().map(|it| {
        let (one, other) = (one_line(&it.node_a), one_line(&it.node_b));
        let (kind, other_kind) = (one_line(&it.node_a_type), one_line(&it.node_b_type));
        format!("{one} ({kind}) ~ {other} ({other_kind}) {}", score(it.similarity))
    }));
}

pub(super) fn found(reply: &FoundNodesReply, sheet: &mut Sheet) {
    if reply.results.is_empty() {
        sheet.line("nothing found");
    }
    if reply.nothing_relevant {
        sheet.line("nothing relevant: what follows has little to do with the question");
    }
    sheet.items(reply.results.iter().enumerate().map(|(idx, it)| {
        let weak = if it.weak { ", weak" } else { "" };
        let by = it.matched_perspective.as_ref().map(|it| format!(", {}", one_line(it)));
        let (name, kind) = (one_line(&it.name), one_line(&it.entity_type));
        let mut text = format!(
            "{}. {name} ({kind}, {}; score {}{}{weak})",
            idx + 1,
            one_line(&it.path),
            score(it.score),
            by.unwrap_or_default()
        );
        if !it.matched_observation.is_empty() {
            text += &format!("\n   {}", one_line(&it.matched_observation));
        }
        text
    }));
}

pub(super) fn report(reply: &ConsolidationReply, sheet: &mut Sheet) {
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
            let by = it.draft_by.as_ref().filter(|by| by.starts_with("llm:"));
            let by = by.map(|by| format!(" ({})", one_line(by))).unwrap_or_default();
            let draft = it.draft_summary.as_ref().map(|it| format!("\n     {}{by}", one_line(it)));
            format!("  {} ({n}){}", one_line(&it.name), draft.unwrap_or_default())
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
        sheet.items(reply.orphaned_nodes.iter().map(|it| format!("  {}", one_line(&it.name))));
    }
}

pub(super) fn pending(reply: &PendingReply, sheet: &mut Sheet) {
    next(reply.next_page, sheet);
    nothing(reply.nodes.is_empty(), sheet);
    sheet.items(reply.nodes.iter().map(|it| {
        let n = count(it.observation_count, "observation");
        let last = one_line(&it.last_observation_at);
        format!("{} ({}, {n}, last {last})", one_line(&it.name), one_line(&it.entity_type))
    }));
}

pub(super) fn stats(reply: &StatsReply, sheet: &mut Sheet) {
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
}
