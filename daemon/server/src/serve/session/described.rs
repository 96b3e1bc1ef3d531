//! Described: every tool in MCP's form.
//!
//! In: the catalog. Out: names, schemas and hints, as `tools/list` returns them.

use std::sync::{Arc, LazyLock, OnceLock};

use proto::catalog::{CATALOG, Entry};
use proto::tool::{Effect, ToolSet};
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// Key with which Claude Code learns how long a tool's results may be before it saves them to a file instead.
const MAX_RESULT_KEY: &str = "anthropic/maxResultSizeChars";

/// Largest budget, characters.
const MAX_RESULT_CHARS: u32 = 100_000;

/// Every tool in MCP's form, in the order of the catalog. Each is described when it is first needed: a first answer
/// needs one schema of some fifty.
static TOOLS: [OnceLock<Tool>; CATALOG.len()] = [const { OnceLock::new() }; CATALOG.len()];

/// The same in brief, for sessions that have a tool only through the default set.
pub(super) static BRIEF: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let brief = |(entry, tool): (&Entry, &Tool)| {
        let mut tool = tool.clone();
        tool.input_schema = Arc::new(entry.brief_input());
        tool
    };
    tools().map(brief).collect()
});

/// Returns every tool of the catalog with its form in MCP.
pub(super) fn tools() -> impl Iterator<Item = (&'static Entry, &'static Tool)> {
    CATALOG.iter().zip(&TOOLS).map(|(entry, tool)| (entry, tool.get_or_init(|| describe(entry))))
}

fn describe(entry: &Entry) -> Tool {
    let reads = matches!(entry.effect, Effect::Reads);
    // Decisions can be undone, and only the tools of notes change documents.
    let changes_files =
        !reads && matches!(entry.set, ToolSet::Notes | ToolSet::Memory | ToolSet::Kb);
    let hints = ToolAnnotations::new()
        .read_only(reads)
        .destructive(changes_files)
        .idempotent(reads || entry.is_idempotent)
        .open_world(false);
    let meta = Map::from_iter([(MAX_RESULT_KEY.to_string(), MAX_RESULT_CHARS.into())]);
    Tool::new(entry.name, entry.summary, (entry.input)())
        .with_title(title(entry.name))
        .with_raw_output_schema(Arc::new(outcome((entry.output)())))
        .with_annotations(hints)
        .with_meta(MetaObject(meta))
}

/// Returns a tool's display name: `Hybrid query`.
fn title(name: &str) -> String {
    let mut words = name.replace('_', " ");
    words.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
    words
}

/// Returns whether a tool's schema lists the parameter.
pub(super) fn knows(tool: &str, parameter: &str) -> bool {
    let found = CATALOG.iter().zip(&TOOLS).find(|(entry, _)| entry.name == tool);
    let schema = found.map(|(entry, tool)| &tool.get_or_init(|| describe(entry)).input_schema);
    let fields = schema.and_then(|it| it.get("properties")).and_then(Value::as_object);
    fields.is_some_and(|fields| fields.contains_key(parameter))
}

/// Extends the schema of a reply so that an error matches as well: the TypeScript SDK validates the structured content
/// of errors, too, and hides the message of those that do not match.
fn outcome(mut reply: Map<String, Value>) -> Map<String, Value> {
    if let Some(required) = reply.shift_remove("required") {
        let either = json!([{ "required": required }, { "required": ["code", "message"] }]);
        reply.insert("anyOf".into(), either);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_objects() {
        for (_, tool) in tools() {
            let output = tool.output_schema.as_ref().expect("declared");
            for schema in [&tool.input_schema, output] {
                assert_eq!(schema.get("type"), Some(&Value::from("object")), "{}", tool.name);
            }
        }
    }
}
