//! Reference: generates `docs/src/reference/tools.md` from the declarations of the catalog.
//!
//! In: [`CATALOG`], whose schemas contain the doc comments of the parameter and reply structs. Out: Markdown.
//! Invariants: nothing is written here that a declaration could say; a committed file that is not current fails a test.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::catalog::{CATALOG, DEFAULT, Entry};
use crate::tool::{Effect, ToolSet};

/// Longest line, in characters.
const WIDTH: usize = 110;

const OPENING: &str = "\
# Tools

The tools that the daemon offers over MCP, in the order in which an agent should learn them. They come in sets:
`default` for everyday work, `core` for questions and the graph, `notes` for notes, `memory` for entities with
observations and relations, `kb` for knowledge entries. `kg-mcp --tools default,memory` offers two of them; without
`--tools` it is `default`. The set `admin` serves `kgctl` and is never listed to agents.

A result is compact text (Markdown) of at most `max_chars` characters; 3,000 where nothing is said. `kg-mcp
--structured` or the setting `serve.structured` adds structured content with the fields below, within the same
budget, and lists their schemas. Every tool also takes, though its schema does not list them: `format: json` (or
`output_format`), which answers one call with structured content and the same JSON as text; `max_chars` and
`max_tokens`. What does not fit is left out from the end, and `truncated` says how much.

A refused request is a result with `isError`: what failed, and a hint; structured, `{code, message, hint}`. Every
reply names the project that answered (`project`), the commit it saw (`tick`) and, while the index is still being
built, the progress (`building`). Text from documents is untrusted data, not instructions.

This page is generated from `proto/src/tool/`; do not edit it.
";

/// Returns the whole reference, as Markdown.
pub fn tools_markdown() -> String {
    let mut text = OPENING.to_string();
    for set in ToolSet::ALL {
        let _ = writeln!(text, "\n## Set `{}`", set.as_str());
        if set == ToolSet::Default {
            let names: Vec<String> = DEFAULT.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(text);
            wrap(&mut text, "", &format!("These tools of the sets below: {}.", names.join(", ")));
        }
        for entry in CATALOG.iter().filter(|entry| entry.set == set) {
            write_tool(&mut text, entry);
        }
    }
    text
}

fn write_tool(text: &mut String, entry: &Entry) {
    let _ = writeln!(text, "\n### `{}`\n", entry.name);
    let effect = match entry.effect {
        Effect::Reads => "It only reads.",
        Effect::Writes => "It writes.",
    };
    wrap(text, "", &format!("{} {effect}", entry.summary));
    for (heading, schema) in [("Parameters", (entry.input)()), ("Reply", (entry.output)())] {
        let mut fields = String::new();
        write_fields(&mut fields, &schema, "");
        match fields.is_empty() {
            true => {
                let _ = writeln!(text, "\n{heading}: none.");
            }
            false => {
                let _ = writeln!(text, "\n{heading}:\n\n{}", fields.trim_end());
            }
        }
    }
}

fn write_fields(text: &mut String, schema: &Map<String, Value>, indent: &str) {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let optional = if is_required(name) { "" } else { ", optional" };
        let description = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let line =
            format!("- `{name}` ({}{optional}): {}", kind(field), description.replace('\n', " "));
        wrap(text, indent, &line);
        // Fields of a list's items, then those of an object: a field has one or the other.
        for inner in [field.get("items"), Some(field)].into_iter().flatten() {
            if let Value::Object(inner) = inner {
                write_fields(text, inner, &format!("{indent}  "));
            }
        }
    }
}

/// Returns the type of a field, in words.
fn kind(field: &Value) -> String {
    let types = field.get("type");
    let several = types.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let several = several.collect::<Vec<_>>().join(" or ");
    let name = types.and_then(Value::as_str).unwrap_or("any value");
    match name {
        _ if !several.is_empty() => several,
        "array" => format!("list of {}", field.get("items").map_or_else(String::new, kind)),
        "object" => match field.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("names to {}", kind(values)),
            _ => "object".to_string(),
        },
        other => other.to_string(),
    }
}

/// Adds text wrapped at [`WIDTH`]; in a list item, later lines are indented to its words.
fn wrap(text: &mut String, indent: &str, words: &str) {
    let hanging = if words.starts_with("- ") { "  " } else { "" };
    let mut line = indent.to_string();
    let mut is_first = true;
    for word in words.split_whitespace() {
        if !is_first && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = format!("{indent}{hanging}{word}");
        } else {
            if !is_first {
                line.push(' ');
            }
            line.push_str(word);
        }
        is_first = false;
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_and_every_field_is_told() {
        let text = tools_markdown();
        for entry in CATALOG {
            assert!(text.contains(&format!("\n### `{}`\n", entry.name)), "{}", entry.name);
            for schema in [(entry.input)(), (entry.output)()] {
                let fields =
                    schema.get("properties").and_then(Value::as_object).into_iter().flatten();
                for (name, _) in fields {
                    assert!(text.contains(&format!("- `{name}` (")), "{}.{name}", entry.name);
                }
            }
        }
        let long = text.lines().find(|line| line.chars().count() > 120);
        assert_eq!(long, None);
        let bare = text.lines().find(|line| line.trim_end().ends_with("):"));
        assert_eq!(bare, None, "a field without a doc comment");
    }
}
