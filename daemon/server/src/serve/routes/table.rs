//! Table: the table of routes: one line per tool, in the order of the catalog.
//!
//! A line names the kind of route, its handler, and the function that renders its reply.

use config::Settings;

use super::super::tool::{self, kb, memory};
use super::asking::{asks_and_reads, reads_and_asks};
use super::marking::reads_and_marks;
use super::{Routes, reads, reads_files, reads_to_fit, remembers, waits, writes};

/// The folder of entities.
const MEMORY: fn(&Settings) -> &str = |settings| &settings.memory.folder;

/// The folder of entries.
const ENTRIES: fn(&Settings) -> &str = |settings| &settings.kb.folder;

#[cfg(test)]
impl Routes {
    /// Returns every route, in the order of the catalog.
    pub fn iter(&self) -> impl Iterator<Item = &super::Route> {
        self.routes.iter()
    }
}

/// Returns every tool's route, in the order of the catalog.
pub fn routes() -> Routes {
    Routes::new(vec![
        reads_to_fit(tool::hybrid_query, render::core::hybrid, |question, wanted| {
            question.structured_chars = wanted.structured_chars();
        }),
        reads(tool::ask, render::core::answered),
        reads(tool::read_passage, render::core::passage).at_length(),
        reads(tool::entity_lookup, render::core::entities),
        reads(tool::explain_entity, render::core::explain),
        reads(tool::connect, render::core::connect),
        remembers(tool::remember, render::core::remembered).writing_notes().looking_at(MEMORY),
        reads_and_marks(tool::changes, render::core::changes),
        waits(tool::ingest_docs, render::core::ingest).recording(),
        waits(tool::extract_and_link, render::core::extract),
        writes(tool::review_links, render::core::review).recording(),
        reads(tool::status, render::core::status),
        reads(tool::search, render::notes::found).of_a_vault(),
        reads(tool::search_notes, render::notes::results),
        reads_files(tool::read_note, render::notes::note).of_notes_at_rest(),
        reads_files(tool::view_note, render::notes::viewed).of_notes_at_rest(),
        reads_files(tool::read_content, render::notes::raw).of_notes_at_rest(),
        reads_files(tool::fetch, render::document::fetched).of_notes_at_rest(),
        remembers(tool::write_note, render::notes::written).writing_notes(),
        remembers(tool::edit_note, render::notes::written).writing_notes().of_notes_at_rest(),
        remembers(tool::move_note, render::notes::moved).writing_notes(),
        remembers(tool::delete_note, render::notes::written).writing_notes().of_notes_at_rest(),
        reads_files(tool::note_history, render::history::history).of_notes_at_rest(),
        remembers(tool::restore_note, render::notes::written).writing_notes().of_notes_at_rest(),
        reads(tool::build_context, render::notes::context).of_notes_at_rest(),
        reads(tool::backlinks, render::notes::backlinks).of_notes_at_rest().of_a_vault(),
        reads(tool::list_directory, render::notes::directory),
        reads(tool::list_notes, render::notes::list).of_a_vault(),
        reads(tool::recent_activity, render::notes::list),
        reads(tool::schema_infer, render::schema::inferred),
        reads(tool::schema_validate, render::schema::validated),
        reads(tool::schema_diff, render::schema::moved),
        reads(tool::list_memory_projects, render::notes::projects),
        writes(tool::create_memory_project, render::notes::created_project),
        reads(tool::get_mcp_instructions, render::notes::instructions),
        remembers(memory::create_entities, render::memory::created)
            .writing_notes()
            .looking_at(MEMORY),
        remembers(memory::delete_entities, render::memory::deleted)
            .writing_notes()
            .looking_at(MEMORY),
        reads(memory::open_nodes, render::memory::graph).looking_at(MEMORY),
        reads(memory::get_nodes_by_type, render::memory::nodes).looking_at(MEMORY),
        reads(memory::get_recently_modified, render::memory::nodes).looking_at(MEMORY),
        remembers(memory::set_summary, render::memory::summary).writing_notes().looking_at(MEMORY),
        remembers(memory::set_tags, render::memory::tags).writing_notes().looking_at(MEMORY),
        remembers(memory::add_observations, render::memory::added)
            .writing_notes()
            .looking_at(MEMORY),
        remembers(memory::replace_observation, render::memory::replaced)
            .writing_notes()
            .looking_at(MEMORY),
        remembers(memory::delete_observations, render::memory::forgotten)
            .writing_notes()
            .looking_at(MEMORY),
        reads(memory::query_observations, render::memory::observations).looking_at(MEMORY),
        remembers(memory::create_relations, render::memory::related)
            .writing_notes()
            .looking_at(MEMORY),
        remembers(memory::delete_relations, render::memory::unrelated)
            .writing_notes()
            .looking_at(MEMORY),
        remembers(memory::update_relation_type, render::memory::retyped)
            .writing_notes()
            .looking_at(MEMORY),
        reads(memory::get_relations_between, render::memory::relations).looking_at(MEMORY),
        reads(memory::get_neighborhood, render::memory::neighborhood).looking_at(MEMORY),
        reads(memory::get_path, render::memory::path).looking_at(MEMORY),
        reads(memory::get_orphans, render::memory::nodes).looking_at(MEMORY),
        reads(memory::get_relation_gaps, render::memory::gaps).looking_at(MEMORY),
        reads(memory::find_similar_nodes, render::memory::similar).looking_at(MEMORY),
        reads(memory::search_nodes, render::memory::found).looking_at(MEMORY),
        reads_and_asks(
            memory::get_consolidation_report,
            memory::with_drafts,
            render::memory::report,
        )
        .looking_at(MEMORY),
        reads(memory::get_pending_consolidation, render::memory::pending).looking_at(MEMORY),
        reads(memory::get_stats, render::memory::stats).looking_at(MEMORY),
        reads(memory::read_graph, render::memory::graph).looking_at(MEMORY),
        remembers(kb::kb_store, render::kb::stored).writing_notes(),
        remembers(kb::kb_store_batch, render::kb::batch).writing_notes(),
        reads(kb::kb_search, render::kb::found).looking_at(ENTRIES),
        reads_files(kb::kb_get, render::kb::opened),
        asks_and_reads(kb::to_plan, kb::plan_by_model, kb::kb_ask, render::kb::answered)
            .looking_at(ENTRIES),
        reads_and_asks(kb::kb_summarize, kb::with_answer, render::kb::summed_up)
            .looking_at(ENTRIES),
        remembers(kb::kb_ingest, render::kb::ingested).writing_notes().for_minutes(),
        remembers(kb::kb_maintain, render::kb::maintained).for_minutes(),
        reads(tool::graph, render::admin::graph),
        writes(tool::open_page, render::admin::opened_page),
        reads(tool::render_document, render::admin::rendered),
        reads(tool::entity_decisions, render::admin::decisions),
        reads(tool::dump, render::admin::dump).replying_verbatim(),
        reads(tool::broken_links, render::admin::broken),
        remembers(memory::memory_report, render::admin::memory_report).recording(),
        waits(tool::wait, render::admin::wait),
        waits(tool::verify, render::admin::verify).for_hours(),
        waits(tool::rescan, render::admin::rescan),
        waits(tool::retry, render::admin::retry),
        waits(tool::deep_pass, render::admin::deep),
        waits(tool::checkup, render::admin::checkup),
        waits(tool::backup, render::admin::backup),
        waits(tool::forget, render::admin::forget).recording().for_hours().asked_verbatim(),
        writes(tool::reload, render::admin::reload),
        writes(tool::shutdown, render::admin::shutdown),
    ])
}
