//! Hints: adapts the hint of a refusal to the tools that the session offers.
//!
//! In: a hint, and whether a tool is offered. Out: the hint with missing tools replaced by
//! equivalent ones, without the clauses for which there is none.

use proto::catalog::CATALOG;

/// Replacements for a tool that is not offered, best first; the last one may be a command.
const INSTEAD: &[(&str, &[&str])] = &[
    ("search_notes", &["search", "hybrid_query", "search_nodes", "kb_search"]),
    ("search_nodes", &["entity_lookup", "hybrid_query", "search_notes"]),
    ("entity_lookup", &["hybrid_query", "search_nodes"]),
    ("explain_entity", &["open_nodes", "build_context"]),
    ("open_nodes", &["explain_entity", "read_note"]),
    ("read_note", &["read_passage", "open_nodes"]),
    ("read_passage", &["read_note"]),
    ("list_directory", &["list_notes"]),
    ("hybrid_query", &["search_notes", "search_nodes", "kb_search"]),
    ("kb_search", &["hybrid_query", "search_notes"]),
    ("kb_store", &["remember", "write_note"]),
    ("write_note", &["remember"]),
    ("delete_note", &["delete_entities"]),
    ("note_history", &["kgctl restore"]),
    ("restore_note", &["kgctl restore"]),
];

/// Returns the remaining hint.
pub(super) fn offered(hint: &str, offers: impl Fn(&str) -> bool) -> Option<String> {
    let clauses: Vec<String> = hint.split("; ").filter_map(|it| clause(it, &offers)).collect();
    (!clauses.is_empty()).then(|| clauses.join("; "))
}

/// Returns a clause with tools that are offered; `None` if it names one without a replacement.
fn clause(text: &str, offers: &impl Fn(&str) -> bool) -> Option<String> {
    let is_tool = |name: &str| CATALOG.iter().any(|it| it.name == name);
    let mut parts: Vec<&str> = text.split('`').collect();
    // Every second part is between backticks.
    for part in parts.iter_mut().skip(1).step_by(2) {
        if !is_tool(part) || offers(part) {
            continue;
        }
        let row = INSTEAD.iter().find(|(name, _)| name == part)?;
        *part = row.1.iter().find(|it| !is_tool(it) || offers(it))?;
    }
    // Two tools with the same replacement are named once.
    if let [_, one, " and " | " or ", other, ..] = parts.as_slice()
        && one == other
    {
        parts.drain(1..3);
    }
    Some(parts.join("`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_tools_that_are_offered() {
        let table = [
            (
                "`search_notes` and `list_notes` find notes",
                "list_notes hybrid_query",
                Some("`hybrid_query` and `list_notes` find notes"),
            ),
            (
                "`search_notes` and `hybrid_query` find notes",
                "hybrid_query",
                Some("`hybrid_query` find notes"),
            ),
            (
                "ids look like `kb-00042`; `kb_maintain` counts what there is",
                "kb_search",
                Some("ids look like `kb-00042`"),
            ),
            (
                "find it with `entity_lookup` or `hybrid_query`",
                "hybrid_query explain_entity",
                Some("find it with `hybrid_query`"),
            ),
            ("`kb_maintain` counts what there is", "kb_search", None),
            ("`restore_note` lists them", "", Some("`kgctl restore` lists them")),
            ("give `path`", "", Some("give `path`")),
        ];
        for (hint, tools, expected) in table {
            let found = offered(hint, |name| tools.split(' ').any(|it| it == name));
            assert_eq!(found.as_deref(), expected, "{hint}");
        }
    }
}
