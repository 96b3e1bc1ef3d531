//! Render: the layer between the replies of `proto` and whoever reads them. It knows nothing else, so that `query` can
//! ask how many hits fit and `server` can show them.
//!
//! Text: the readable form of a reply, for models and people.
//!
//! In: a tool's name, its reply as JSON, a budget in characters. Out: text.
//! Invariants: at most the budget, and what is left out is counted (`… 3 more`); every text ends
//! with the project and the tick; what documents say cannot move a terminal's cursor, break a line,
//! or turn the reading direction.
//! Not here: the reply itself, which also stands whole in the structured content.

use proto::shape::{EntityView, Freshness};
use proto::tool::Tool;
use proto::tool::kb as entries;
use proto::tool::memory as mem;
use proto::tool::notes as tools;
use proto::tool::{admin, core};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

mod answer;
mod clean;
mod kb;
mod maintain;
mod memory;
mod notes;
mod sheet;
mod upkeep;

use clean::one_line;
use sheet::Sheet;

/// Aliases shown of an entity.
const MAX_ALIASES: usize = 5;

/// `(a project of twenty letters, tick 12345)`.
const USUAL_FOOTER_CHARS: usize = 36;

/// The readable form of `reply`, in at most `max_chars` characters (200 at least).
pub fn render(tool: &str, reply: &Value, max_chars: usize) -> String {
    let known = match tool {
        core::HybridQuery::NAME => fill::<core::HybridReply>(reply, max_chars, |reply, sheet| {
            _ = answer::hybrid(reply, sheet)
        }),
        core::ReadPassage::NAME => fill::<core::PassageReply>(reply, max_chars, answer::passage),
        core::EntityLookup::NAME => fill::<core::EntityReply>(reply, max_chars, answer::entities),
        core::ExplainEntity::NAME => fill::<core::ExplainReply>(reply, max_chars, answer::explain),
        core::IngestDocs::NAME => fill::<core::IngestReply>(reply, max_chars, upkeep::ingest),
        core::ExtractAndLink::NAME => fill::<core::ExtractReply>(reply, max_chars, upkeep::extract),
        core::ReviewLinks::NAME => fill::<core::ReviewReply>(reply, max_chars, upkeep::review),
        core::Status::NAME => fill::<core::StatusReply>(reply, max_chars, upkeep::status),
        tools::Search::NAME => fill::<tools::FoundReply>(reply, max_chars, notes::found),
        tools::SearchNotes::NAME => fill::<tools::SearchReply>(reply, max_chars, notes::results),
        tools::ReadNote::NAME => fill::<tools::ReadNoteReply>(reply, max_chars, notes::note),
        tools::WriteNote::NAME => fill::<tools::WrittenReply>(reply, max_chars, notes::written),
        tools::EditNote::NAME => fill::<tools::WrittenReply>(reply, max_chars, notes::written),
        tools::MoveNote::NAME => fill::<tools::MovedReply>(reply, max_chars, notes::moved),
        tools::DeleteNote::NAME => fill::<tools::WrittenReply>(reply, max_chars, notes::written),
        tools::BuildContext::NAME => fill::<tools::ContextReply>(reply, max_chars, notes::context),
        tools::Backlinks::NAME => fill::<tools::BacklinksReply>(reply, max_chars, notes::backlinks),
        tools::ListDirectory::NAME => {
            fill::<tools::DirectoryReply>(reply, max_chars, notes::directory)
        }
        tools::ListNotes::NAME => fill::<tools::NotesReply>(reply, max_chars, notes::list),
        tools::RecentActivity::NAME => fill::<tools::NotesReply>(reply, max_chars, notes::list),
        tools::ListMemoryProjects::NAME => {
            fill::<tools::ProjectsReply>(reply, max_chars, notes::projects)
        }
        tools::CreateMemoryProject::NAME => {
            fill::<tools::CreatedProjectReply>(reply, max_chars, notes::created_project)
        }
        tools::GetMcpInstructions::NAME => {
            fill::<tools::InstructionsReply>(reply, max_chars, notes::instructions)
        }
        mem::CreateEntities::NAME => {
            fill::<mem::CreatedEntitiesReply>(reply, max_chars, memory::created)
        }
        mem::DeleteEntities::NAME => {
            fill::<mem::DeletedEntitiesReply>(reply, max_chars, memory::deleted)
        }
        mem::OpenNodes::NAME => fill::<mem::MemoryGraphReply>(reply, max_chars, memory::graph),
        mem::GetNodesByType::NAME => fill::<mem::MemoryNodesReply>(reply, max_chars, memory::nodes),
        mem::GetRecentlyModified::NAME => {
            fill::<mem::MemoryNodesReply>(reply, max_chars, memory::nodes)
        }
        mem::SetSummary::NAME => fill::<mem::SummaryReply>(reply, max_chars, memory::summary),
        mem::SetTags::NAME => fill::<mem::TagsReply>(reply, max_chars, memory::tags),
        mem::AddObservations::NAME => fill::<mem::AddedReply>(reply, max_chars, memory::added),
        mem::ReplaceObservation::NAME => {
            fill::<mem::ReplacedReply>(reply, max_chars, memory::replaced)
        }
        mem::DeleteObservations::NAME => {
            fill::<mem::DeletedObservationsReply>(reply, max_chars, memory::forgotten)
        }
        mem::QueryObservations::NAME => {
            fill::<mem::ObservationsReply>(reply, max_chars, memory::observations)
        }
        mem::CreateRelations::NAME => {
            fill::<mem::CreatedRelationsReply>(reply, max_chars, memory::related)
        }
        mem::DeleteRelations::NAME => {
            fill::<mem::DeletedRelationsReply>(reply, max_chars, memory::unrelated)
        }
        mem::UpdateRelationType::NAME => {
            fill::<mem::UpdatedRelationReply>(reply, max_chars, memory::retyped)
        }
        mem::GetRelationsBetween::NAME => {
            fill::<mem::RelationsReply>(reply, max_chars, memory::relations)
        }
        mem::GetNeighborhood::NAME => {
            fill::<mem::NeighborhoodReply>(reply, max_chars, memory::neighborhood)
        }
        mem::GetPath::NAME => fill::<mem::PathReply>(reply, max_chars, memory::path),
        mem::GetOrphans::NAME => fill::<mem::MemoryNodesReply>(reply, max_chars, memory::nodes),
        mem::GetRelationGaps::NAME => fill::<mem::GapsReply>(reply, max_chars, memory::gaps),
        mem::FindSimilarNodes::NAME => fill::<mem::SimilarReply>(reply, max_chars, memory::similar),
        mem::SearchNodes::NAME => fill::<mem::FoundNodesReply>(reply, max_chars, memory::found),
        mem::GetConsolidationReport::NAME => {
            fill::<mem::ConsolidationReply>(reply, max_chars, memory::report)
        }
        mem::GetPendingConsolidation::NAME => {
            fill::<mem::PendingReply>(reply, max_chars, memory::pending)
        }
        mem::GetStats::NAME => fill::<mem::StatsReply>(reply, max_chars, memory::stats),
        mem::ReadGraph::NAME => fill::<mem::MemoryGraphReply>(reply, max_chars, memory::graph),
        entries::KbStore::NAME => fill::<entries::KbStored>(reply, max_chars, kb::stored),
        entries::KbStoreBatch::NAME => fill::<entries::KbBatchReply>(reply, max_chars, kb::batch),
        entries::KbSearch::NAME => fill::<entries::KbSearchReply>(reply, max_chars, kb::found),
        entries::KbGet::NAME => fill::<entries::KbGetReply>(reply, max_chars, kb::opened),
        entries::KbAsk::NAME => fill::<entries::KbAnswer>(reply, max_chars, kb::answered),
        entries::KbSummarize::NAME => fill::<entries::KbSummary>(reply, max_chars, kb::summed_up),
        entries::KbIngest::NAME => fill::<entries::KbIngestReply>(reply, max_chars, kb::ingested),
        entries::KbMaintain::NAME => {
            fill::<entries::KbMaintainReply>(reply, max_chars, kb::maintained)
        }
        admin::Graph::NAME => fill::<admin::GraphReply>(reply, max_chars, answer::graph),
        admin::Dump::NAME => fill::<admin::DumpReply>(reply, max_chars, upkeep::dump),
        admin::BrokenLinks::NAME => {
            fill::<admin::BrokenLinksReply>(reply, max_chars, notes::broken)
        }
        admin::MemoryReport::NAME => {
            fill::<admin::MemoryReportReply>(reply, max_chars, maintain::memory_report)
        }
        admin::Wait::NAME => fill::<admin::WaitReply>(reply, max_chars, upkeep::wait),
        admin::Verify::NAME => fill::<admin::VerifyReply>(reply, max_chars, maintain::verify),
        admin::Rescan::NAME => fill::<admin::RescanReply>(reply, max_chars, maintain::rescan),
        admin::Retry::NAME => fill::<admin::RetryReply>(reply, max_chars, maintain::retry),
        admin::DeepPass::NAME => fill::<admin::DeepPassReply>(reply, max_chars, maintain::deep),
        admin::Checkup::NAME => fill::<admin::CheckupReply>(reply, max_chars, maintain::checkup),
        admin::Backup::NAME => fill::<admin::BackupReply>(reply, max_chars, maintain::backup),
        admin::Forget::NAME => fill::<admin::ForgetReply>(reply, max_chars, maintain::forget),
        admin::Shutdown::NAME => fill::<admin::ShutdownReply>(reply, max_chars, upkeep::shutdown),
        _ => None,
    };
    known.unwrap_or_else(|| {
        let mut sheet = Sheet::new(max_chars, String::new());
        sheet.cut(&reply.to_string());
        sheet.finish()
    })
}

/// How many of the reply's hits the readable form shows in at most `max_chars` characters.
pub fn n_hits_shown(reply: &core::HybridReply, max_chars: usize) -> usize {
    // Project and tick are not known yet.
    answer::hybrid(reply, &mut Sheet::new(max_chars, " ".repeat(USUAL_FOOTER_CHARS)))
}

/// Lays out one kind of reply; `None` when it is not of that kind, which only a bug can bring
/// about.
fn fill<R: DeserializeOwned>(
    reply: &Value,
    max_chars: usize,
    lay_out: fn(&R, &mut Sheet),
) -> Option<String> {
    let freshness = Freshness::deserialize(reply).ok()?;
    let reply = R::deserialize(reply).ok()?;
    let mut sheet = Sheet::new(max_chars, footer(&freshness));
    lay_out(&reply, &mut sheet);
    Some(sheet.finish())
}

fn footer(freshness: &Freshness) -> String {
    let project = one_line(&freshness.project);
    match &freshness.building {
        Some(building) => format!("({project}, tick {}; {})", freshness.tick, one_line(building)),
        None => format!("({project}, tick {})", freshness.tick),
    }
}

/// `Key Store (Service, id 12, stores/key.md)`, with aliases when there are any.
fn entity(entity: &EntityView) -> String {
    let name = one_line(&entity.name);
    let path = entity.path.as_ref().map(|path| format!(", {}", one_line(path)));
    let path = path.unwrap_or_default();
    let mut text = format!("{name} ({}, id {}{path})", one_line(&entity.entity_type), entity.id);
    for (idx, alias) in entity.aliases.iter().take(MAX_ALIASES).enumerate() {
        text += if idx == 0 { " also: " } else { ", " };
        text += &one_line(alias);
    }
    if entity.aliases.len() > MAX_ALIASES {
        text += ", …";
    }
    text
}

/// `.83`, `1.00`, `-.05`: two digits are as much as a score can tell.
fn score(value: f32) -> String {
    let text = format!("{value:.2}");
    match (text.strip_prefix("-0"), text.strip_prefix('0')) {
        (Some(below), _) => format!("-{below}"),
        (None, Some(above)) => above.to_string(),
        (None, None) => text,
    }
}

/// `1 file`, `2 files`.
fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests;
