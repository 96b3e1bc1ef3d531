//! Every tool, in teaching order: the order of `tools/list`, of the tools' reference page and of the daemon's routes.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::tool::{Effect, Tool, ToolSet, admin, core, kb, memory, notes};

/// A tool's description, whatever its type.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its name on the wire.
    pub name: &'static str,
    /// Description for an agent that has to choose a tool.
    pub summary: &'static str,
    /// The effect of a call.
    pub effect: Effect,
    /// The set it belongs to.
    pub set: ToolSet,
    /// True if a repeated call has no further effect, although the tool writes.
    pub is_idempotent: bool,
    /// JSON Schema of its parameters.
    pub input: fn() -> Map<String, Value>,
    /// JSON Schema of its reply.
    pub output: fn() -> Map<String, Value>,
}

impl Entry {
    /// Returns true if the tool comes with `set`.
    pub fn is_in(&self, set: ToolSet) -> bool {
        match set {
            ToolSet::Default => DEFAULT.contains(&self.name),
            set => self.set == set,
        }
    }

    /// Returns the schema of its parameters without the [`RARE`] ones, as short as possible.
    pub fn brief_input(&self) -> Map<String, Value> {
        let mut schema = (self.input)();
        schema.remove("additionalProperties");
        if let Some(Value::Object(fields)) = schema.get_mut("properties") {
            fields.retain(|name, _| !RARE.contains(&name.as_str()));
        }
        schema
    }

    /// Returns the entry of a tool.
    pub const fn of<T: Tool>() -> Self {
        Entry {
            name: T::NAME,
            summary: T::SUMMARY,
            effect: T::EFFECT,
            set: T::SET,
            is_idempotent: T::IS_IDEMPOTENT,
            input: schema_of::<T>,
            output: schema_of::<T::Reply>,
        }
    }
}

/// The tools of [`ToolSet::Default`]: what everyday tasks need, in as few words as possible.
pub const DEFAULT: [&str; 15] = [
    "hybrid_query",
    "ask",
    "read_passage",
    "explain_entity",
    "connect",
    "remember",
    "changes",
    "status",
    "read_note",
    "write_note",
    "edit_note",
    "move_note",
    "delete_note",
    "backlinks",
    "list_notes",
];

/// Parameters that everyday work does not need. Sessions that have a tool only through [`ToolSet::Default`] do not list
/// them, because each listed one takes room in a model's context at all times; they are accepted all the same.
pub const RARE: [&str; 22] = [
    "project",
    "to_line",
    "include_frontmatter",
    "include_content",
    "replace_subsections",
    "output_format",
    "max_chars",
    "max_tokens",
    "hops",
    "max_hops",
    "rels",
    "security",
    "language",
    "formula",
    "entity_id",
    "why",
    "expected_checksum",
    "expected_count",
    "events",
    "metadata",
    "source_url",
    "destination_folder",
];

/// Every tool, in teaching order.
pub const CATALOG: &[Entry] = &[
    Entry::of::<core::HybridQuery>(),
    Entry::of::<core::Ask>(),
    Entry::of::<core::ReadPassage>(),
    Entry::of::<core::EntityLookup>(),
    Entry::of::<core::ExplainEntity>(),
    Entry::of::<core::Connect>(),
    Entry::of::<core::Remember>(),
    Entry::of::<core::Changes>(),
    Entry::of::<core::IngestDocs>(),
    Entry::of::<core::ExtractAndLink>(),
    Entry::of::<core::ReviewLinks>(),
    Entry::of::<core::Status>(),
    Entry::of::<notes::Search>(),
    Entry::of::<notes::SearchNotes>(),
    Entry::of::<notes::ReadNote>(),
    Entry::of::<notes::ViewNote>(),
    Entry::of::<notes::ReadContent>(),
    Entry::of::<notes::Fetch>(),
    Entry::of::<notes::WriteNote>(),
    Entry::of::<notes::EditNote>(),
    Entry::of::<notes::MoveNote>(),
    Entry::of::<notes::DeleteNote>(),
    Entry::of::<notes::NoteHistory>(),
    Entry::of::<notes::RestoreNote>(),
    Entry::of::<notes::BuildContext>(),
    Entry::of::<notes::Backlinks>(),
    Entry::of::<notes::ListDirectory>(),
    Entry::of::<notes::ListNotes>(),
    Entry::of::<notes::RecentActivity>(),
    Entry::of::<notes::SchemaInfer>(),
    Entry::of::<notes::SchemaValidate>(),
    Entry::of::<notes::SchemaDiff>(),
    Entry::of::<notes::ListMemoryProjects>(),
    Entry::of::<notes::CreateMemoryProject>(),
    Entry::of::<notes::GetMcpInstructions>(),
    Entry::of::<memory::CreateEntities>(),
    Entry::of::<memory::DeleteEntities>(),
    Entry::of::<memory::OpenNodes>(),
    Entry::of::<memory::GetNodesByType>(),
    Entry::of::<memory::GetRecentlyModified>(),
    Entry::of::<memory::SetSummary>(),
    Entry::of::<memory::SetTags>(),
    Entry::of::<memory::AddObservations>(),
    Entry::of::<memory::ReplaceObservation>(),
    Entry::of::<memory::DeleteObservations>(),
    Entry::of::<memory::QueryObservations>(),
    Entry::of::<memory::CreateRelations>(),
    Entry::of::<memory::DeleteRelations>(),
    Entry::of::<memory::UpdateRelationType>(),
    Entry::of::<memory::GetRelationsBetween>(),
    Entry::of::<memory::GetNeighborhood>(),
    Entry::of::<memory::GetPath>(),
    Entry::of::<memory::GetOrphans>(),
    Entry::of::<memory::GetRelationGaps>(),
    Entry::of::<memory::FindSimilarNodes>(),
    Entry::of::<memory::SearchNodes>(),
    Entry::of::<memory::GetConsolidationReport>(),
    Entry::of::<memory::GetPendingConsolidation>(),
    Entry::of::<memory::GetStats>(),
    Entry::of::<memory::ReadGraph>(),
    Entry::of::<kb::KbStore>(),
    Entry::of::<kb::KbStoreBatch>(),
    Entry::of::<kb::KbSearch>(),
    Entry::of::<kb::KbGet>(),
    Entry::of::<kb::KbAsk>(),
    Entry::of::<kb::KbSummarize>(),
    Entry::of::<kb::KbIngest>(),
    Entry::of::<kb::KbMaintain>(),
    Entry::of::<admin::Graph>(),
    Entry::of::<admin::OpenPage>(),
    Entry::of::<admin::RenderDocument>(),
    Entry::of::<admin::EntityDecisions>(),
    Entry::of::<admin::Dump>(),
    Entry::of::<admin::BrokenLinks>(),
    Entry::of::<admin::MemoryReport>(),
    Entry::of::<admin::Wait>(),
    Entry::of::<admin::Verify>(),
    Entry::of::<admin::Rescan>(),
    Entry::of::<admin::Retry>(),
    Entry::of::<admin::DeepPass>(),
    Entry::of::<admin::Checkup>(),
    Entry::of::<admin::Backup>(),
    Entry::of::<admin::Forget>(),
    Entry::of::<admin::Reload>(),
    Entry::of::<admin::Shutdown>(),
];

/// Returns the schema of one type without what an agent does not need (`$schema`, titles, integer formats).
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

/// Removes what an agent does not need, and turns `["string", "null"]` into `"string"`: a parameter is left out, never
/// null, and so is a field of a reply, unless it is marked as `nullable`.
fn strip(value: &mut Value, is_schema: bool) {
    match value {
        Value::Object(map) => {
            if is_schema {
                map.remove("title");
                map.remove("format");
                map.remove("minimum");
                map.remove("default");
                if map.remove("nullable").is_none() {
                    drop_null(map);
                }
                list_constants(map);
            }
            for (key, inner) in map.iter_mut() {
                // Below `properties`, keys are names of parameters: one called `title` must stay.
                let names_fields = is_schema && key == "properties";
                strip(inner, !names_fields);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, true)),
        _ => {}
    }
}

/// Turns a choice among constants with descriptions into a plain enumeration: the parameter's own description explains
/// them.
fn list_constants(map: &mut Map<String, Value>) {
    let choice = ["oneOf", "anyOf"].into_iter().find(|key| map.contains_key(*key));
    let Some(key) = choice else { return };
    let mut values = Vec::new();
    let mut pending: Vec<&Value> =
        map.get(key).and_then(Value::as_array).into_iter().flatten().collect();
    // A stack, so reversed: the constants keep their order.
    pending.reverse();
    while let Some(branch) = pending.pop() {
        let inner = ["oneOf", "anyOf"].into_iter().find_map(|key| branch.get(key)?.as_array());
        match (branch.get("const"), branch.get("enum").and_then(Value::as_array), inner) {
            (Some(value), _, _) => values.push(value.clone()),
            (_, Some(all), _) => values.extend(all.iter().cloned()),
            (_, _, Some(inner)) => pending.extend(inner.iter().rev()),
            _ if branch.get("type").is_some_and(|it| it == "null") => {}
            _ => return,
        }
    }
    if !values.is_empty() && values.iter().all(Value::is_string) {
        map.remove(key);
        map.insert("type".into(), "string".into());
        map.insert("enum".into(), values.into());
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
