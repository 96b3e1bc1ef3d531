//! Table: the table of routes: one line per tool, in the order of the catalog.
//!
//! A line names the kind of route and its handler.

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
        reads_to_fit(tool::hybrid_query, |question, wanted| {
            question.structured_chars = wanted.structured_chars();
        }),
        reads(tool::ask),
        reads(tool::read_passage).at_length(),
        reads(tool::entity_lookup),
        reads(tool::explain_entity),
        reads(tool::connect),
        remembers(tool::remember).writing_notes().looking_at(MEMORY),
        reads_and_marks(tool::changes),
        waits(tool::ingest_docs).recording(),
        waits(tool::extract_and_link),
        writes(tool::review_links).recording(),
        reads(tool::status),
        reads(tool::search).of_a_vault(),
        reads(tool::search_notes),
        reads_files(tool::read_note).of_notes_at_rest(),
        reads_files(tool::view_note).of_notes_at_rest(),
        reads_files(tool::read_content).of_notes_at_rest(),
        reads_files(tool::fetch).of_notes_at_rest(),
        remembers(tool::write_note).writing_notes(),
        remembers(tool::edit_note).writing_notes().of_notes_at_rest(),
        remembers(tool::move_note).writing_notes(),
        remembers(tool::delete_note).writing_notes().of_notes_at_rest(),
        reads_files(tool::note_history).of_notes_at_rest(),
        remembers(tool::restore_note).writing_notes().of_notes_at_rest(),
        reads(tool::build_context).of_notes_at_rest(),
        reads(tool::backlinks).of_notes_at_rest().of_a_vault(),
        reads(tool::list_directory),
        reads(tool::list_notes).of_a_vault(),
        reads(tool::recent_activity),
        reads(tool::schema_infer),
        reads(tool::schema_validate),
        reads(tool::schema_diff),
        reads(tool::list_memory_projects),
        writes(tool::create_memory_project),
        reads(tool::get_mcp_instructions),
        remembers(memory::create_entities).writing_notes().looking_at(MEMORY),
        remembers(memory::delete_entities).writing_notes().looking_at(MEMORY),
        reads(memory::open_nodes).looking_at(MEMORY),
        reads(memory::get_nodes_by_type).looking_at(MEMORY),
        reads(memory::get_recently_modified).looking_at(MEMORY),
        remembers(memory::set_summary).writing_notes().looking_at(MEMORY),
        remembers(memory::set_tags).writing_notes().looking_at(MEMORY),
        remembers(memory::add_observations).writing_notes().looking_at(MEMORY),
        remembers(memory::replace_observation).writing_notes().looking_at(MEMORY),
        remembers(memory::delete_observations).writing_notes().looking_at(MEMORY),
        reads(memory::query_observations).looking_at(MEMORY),
        remembers(memory::create_relations).writing_notes().looking_at(MEMORY),
        remembers(memory::delete_relations).writing_notes().looking_at(MEMORY),
        remembers(memory::update_relation_type).writing_notes().looking_at(MEMORY),
        reads(memory::get_relations_between).looking_at(MEMORY),
        reads(memory::get_neighborhood).looking_at(MEMORY),
        reads(memory::get_path).looking_at(MEMORY),
        reads(memory::get_orphans).looking_at(MEMORY),
        reads(memory::get_relation_gaps).looking_at(MEMORY),
        reads(memory::find_similar_nodes).looking_at(MEMORY),
        reads(memory::search_nodes).looking_at(MEMORY),
        reads_and_asks(memory::get_consolidation_report, memory::with_drafts).looking_at(MEMORY),
        reads(memory::get_pending_consolidation).looking_at(MEMORY),
        reads(memory::get_stats).looking_at(MEMORY),
        reads(memory::read_graph).looking_at(MEMORY),
        remembers(kb::kb_store).writing_notes(),
        remembers(kb::kb_store_batch).writing_notes(),
        reads(kb::kb_search).looking_at(ENTRIES),
        reads_files(kb::kb_get),
        asks_and_reads(kb::to_plan, kb::plan_by_model, kb::kb_ask).looking_at(ENTRIES),
        reads_and_asks(kb::kb_summarize, kb::with_answer).looking_at(ENTRIES),
        remembers(kb::kb_ingest).writing_notes().for_minutes(),
        remembers(kb::kb_maintain).for_minutes(),
        reads(tool::graph),
        writes(tool::open_page),
        reads(tool::render_document),
        reads(tool::entity_decisions),
        reads(tool::dump).replying_verbatim(),
        reads(tool::broken_links),
        remembers(memory::memory_report).recording(),
        waits(tool::wait),
        waits(tool::verify).for_hours(),
        waits(tool::rescan),
        waits(tool::retry),
        waits(tool::deep_pass),
        waits(tool::checkup),
        waits(tool::backup),
        waits(tool::forget).recording().for_hours().asked_verbatim(),
        writes(tool::reload),
        writes(tool::shutdown),
    ])
}
