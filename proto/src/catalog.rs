//! Every tool, in teaching order: the order of `tools/list`, of the tools' reference page and of the daemon's routes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::tool::{Effect, Tool, ToolSet, admin, core, kb, memory, notes};

/// A tool as the catalog describes it.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name on the wire.
    pub name: &'static str,
    /// For an agent that must choose.
    pub summary: &'static str,
    /// What calling it may do.
    pub effect: Effect,
    /// Which set it belongs to.
    pub set: ToolSet,
    /// JSON Schema of its parameters.
    pub input: fn() -> Map<String, Value>,
    /// JSON Schema of its reply.
    pub output: fn() -> Map<String, Value>,
}

const fn entry<T: Tool>() -> Entry {
    Entry {
        name: T::NAME,
        summary: T::SUMMARY,
        effect: T::EFFECT,
        set: T::SET,
        input: schema_of::<T>,
        output: schema_of::<T::Reply>,
    }
}

/// Every tool, in teaching order.
pub const CATALOG: &[Entry] = &[
    entry::<core::HybridQuery>(),
    entry::<core::ReadPassage>(),
    entry::<core::EntityLookup>(),
    entry::<core::ExplainEntity>(),
    entry::<core::IngestDocs>(),
    entry::<core::ExtractAndLink>(),
    entry::<core::ReviewLinks>(),
    entry::<core::Status>(),
    entry::<notes::Search>(),
    entry::<notes::SearchNotes>(),
    entry::<notes::ReadNote>(),
    entry::<notes::WriteNote>(),
    entry::<notes::EditNote>(),
    entry::<notes::MoveNote>(),
    entry::<notes::DeleteNote>(),
    entry::<notes::BuildContext>(),
    entry::<notes::Backlinks>(),
    entry::<notes::ListDirectory>(),
    entry::<notes::ListNotes>(),
    entry::<notes::RecentActivity>(),
    entry::<notes::ListMemoryProjects>(),
    entry::<notes::CreateMemoryProject>(),
    entry::<notes::GetMcpInstructions>(),
    entry::<memory::CreateEntities>(),
    entry::<memory::DeleteEntities>(),
    entry::<memory::OpenNodes>(),
    entry::<memory::GetNodesByType>(),
    entry::<memory::GetRecentlyModified>(),
    entry::<memory::SetSummary>(),
    entry::<memory::SetTags>(),
    entry::<memory::AddObservations>(),
    entry::<memory::ReplaceObservation>(),
    entry::<memory::DeleteObservations>(),
    entry::<memory::QueryObservations>(),
    entry::<memory::CreateRelations>(),
    entry::<memory::DeleteRelations>(),
    entry::<memory::UpdateRelationType>(),
    entry::<memory::GetRelationsBetween>(),
    entry::<memory::GetNeighborhood>(),
    entry::<memory::GetPath>(),
    entry::<memory::GetOrphans>(),
    entry::<memory::GetRelationGaps>(),
    entry::<memory::FindSimilarNodes>(),
    entry::<memory::SearchNodes>(),
    entry::<memory::GetConsolidationReport>(),
    entry::<memory::GetPendingConsolidation>(),
    entry::<memory::GetStats>(),
    entry::<memory::ReadGraph>(),
    entry::<kb::KbStore>(),
    entry::<kb::KbStoreBatch>(),
    entry::<kb::KbSearch>(),
    entry::<kb::KbGet>(),
    entry::<kb::KbAsk>(),
    entry::<kb::KbSummarize>(),
    entry::<kb::KbIngest>(),
    entry::<kb::KbMaintain>(),
    entry::<admin::Graph>(),
    entry::<admin::Dump>(),
    entry::<admin::BrokenLinks>(),
    entry::<admin::MemoryReport>(),
    entry::<admin::Wait>(),
    entry::<admin::Verify>(),
    entry::<admin::Rescan>(),
    entry::<admin::Retry>(),
    entry::<admin::DeepPass>(),
    entry::<admin::Checkup>(),
    entry::<admin::Backup>(),
    entry::<admin::Forget>(),
    entry::<admin::Shutdown>(),
];

/// The schema of one type, without what an agent does not need (`$schema`, titles, integer formats).
fn schema_of<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    strip(&mut value, true);
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Removes `title` and `format`, and unfolds `["string", "null"]`: a parameter is left out, never null.
fn strip(value: &mut Value, is_schema: bool) {
    match value {
        Value::Object(map) => {
            if is_schema {
                map.remove("title");
                map.remove("format");
                map.remove("minimum");
                map.remove("default");
                drop_null(map);
            }
            for (key, inner) in map.iter_mut() {
                let names_fields = is_schema && key == "properties";
                strip(inner, !names_fields);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, true)),
        _ => {}
    }
}

fn drop_null(map: &mut Map<String, Value>) {
    let Some(Value::Array(types)) = map.get("type") else { return };
    let kept: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
    if let [only] = kept.as_slice() {
        map.insert("type".into(), only.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = CATALOG.iter().map(|e| e.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CATALOG.len());
    }

    #[test]
    fn what_an_agent_reads_at_start_stays_small() {
        let chars: usize = CATALOG
            .iter()
            .filter(|e| e.set == ToolSet::Core)
            .map(|e| {
                let input = serde_json::to_string(&(e.input)()).unwrap_or_default();
                e.name.len() + e.summary.len() + input.len()
            })
            .sum();
        assert!(chars < 12_000, "{chars} characters");
    }

    #[test]
    fn every_parameter_is_described() {
        for e in CATALOG {
            let schema = (e.input)();
            let Some(Value::Object(fields)) = schema.get("properties") else { continue };
            for (name, field) in fields {
                assert!(field.get("description").is_some(), "{}.{name}", e.name);
            }
        }
    }
}
