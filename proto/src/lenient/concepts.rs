//! Concepts: synonymous names of parameters.
//!
//! In: a schema and a name that it does not have. Out: the one parameter of the same concept.
//! Invariants: a name is resolved only if the schema has exactly one parameter for it; no row is about one tool.
//! The names are those of the specifications that kgd grew from, of basic-memory and server-memory, and those that
//! models send unasked.

use serde_json::{Map, Value};

use super::properties;

/// Parameters with the same meaning, and their other names.
struct Concept {
    /// Names of parameters. One with `?` belongs to the concept only if it is optional, one with `!` only if it is
    /// required: a path that narrows a search is a folder, a path that a tool needs is the thing itself.
    own: &'static [&'static str],
    /// Further names that callers use.
    aliases: &'static [&'static str],
}

impl Concept {
    /// Returns true if a caller may use this name for it.
    fn is_called(&self, name: &str) -> bool {
        self.own.contains(&name) || self.aliases.contains(&name)
    }
}

const fn concept(own: &'static [&'static str], aliases: &'static [&'static str]) -> Concept {
    Concept { own, aliases }
}

const CONCEPTS: &[Concept] = &[
    concept(
        &["query", "q", "question"],
        &["search", "search_text", "search_query", "search_term", "text", "keywords", "prompt"],
    ),
    concept(
        &["path!", "at!", "id!"],
        &[
            "note",
            "note_path",
            "identifier",
            "permalink",
            "title",
            "name",
            "url",
            "uri",
            "memory_url",
            "path",
            "id",
        ],
    ),
    concept(&["path", "at"], &["file", "file_path", "filepath", "document"]),
    concept(&["title"], &["note_title", "name"]),
    concept(&["entity_id"], &["id"]),
    concept(&["project"], &["project_id", "project_name", "projects"]),
    concept(&["from_line"], &["start_line", "first_line"]),
    concept(&["to_line"], &["end_line", "last_line"]),
    concept(&["at"], &["ref", "handle", "place", "passage"]),
    concept(&["directory", "path?"], &["folder", "dir", "dir_name", "folder_path", "path"]),
    concept(&["path", "paths"], &["project_path", "files", "globs"]),
    concept(&["paths"], &["path", "file", "glob"]),
    concept(
        &["destination"],
        &["destination_path", "dest_path", "new_path", "dest", "to", "target"],
    ),
    concept(&["name", "entity", "entity_name"], &["node", "node_name", "project_name"]),
    concept(&["names", "entity_names"], &["entities", "nodes", "name", "entity", "entity_name"]),
    concept(&["from_entity", "entity_a", "a"], &["from", "source", "start", "subject"]),
    concept(&["to_entity", "entity_b", "b"], &["to", "target", "end", "object"]),
    concept(
        &["type", "entity_type", "relation_type", "note_type", "note_types", "entry_type"],
        &["types", "kind", "doc_type"],
    ),
    concept(&["relation_type", "rels"], &["relation", "predicate", "rel", "relation_types"]),
    concept(&["search_item_types"], &["entity_types", "item_types"]),
    concept(
        &["limit", "k", "page_size", "max_related"],
        &["n", "top_k", "per_page", "max_results", "num_results", "limit_related"],
    ),
    concept(&["page"], &["page_number", "page_num"]),
    concept(&["max_chars"], &["max_characters", "max_length", "char_limit"]),
    concept(&["max_tokens"], &["token_budget", "token_limit"]),
    concept(
        &["after_date", "after", "timeframe", "since"],
        &["from_date", "date_from", "start_date", "time_range", "lookback"],
    ),
    concept(&["before"], &["before_date", "until", "date_to", "end_date"]),
    concept(&["depth", "hops", "max_hops"], &["max_depth"]),
    concept(
        &["content", "content_updates", "new_content", "contents", "knowledge_details"],
        &["body", "text", "markdown", "new_text", "observations", "facts"],
    ),
    concept(&["text"], &["content", "fact", "observation"]),
    concept(&["about"], &["entity", "name", "subject"]),
    concept(&["find"], &["find_text", "old_text", "old_content", "old_string", "search"]),
    concept(&["expected_count"], &["expected_replacements", "count"]),
    concept(&["section"], &["section_heading", "heading", "section_title"]),
    concept(&["overwrite"], &["force", "replace"]),
    concept(&["glob"], &["file_name_glob", "pattern", "filter"]),
    concept(&["metadata"], &["frontmatter", "front_matter", "properties"]),
    concept(&["metadata_filters"], &["filters", "metadata", "frontmatter", "where"]),
    concept(&["tags"], &["tag", "labels"]),
    concept(&["min_similarity", "min_score"], &["threshold", "similarity_threshold"]),
    concept(&["search_type", "mode"], &["search_mode"]),
    concept(&["entry_id"], &["entry_ids", "id", "ids"]),
    concept(&["dry_run"], &["preview", "simulate"]),
    concept(&["is_directory"], &["is_dir", "is_folder"]),
];

/// Parameters whose items hold no commas.
const LISTS_OF_WORDS: [&str; 5] = ["tags", "note_types", "rels", "search_item_types", "categories"];

/// Returns true if a text with commas is several items of this parameter, even if they contain spaces.
pub(super) fn is_list_of_words(name: &str) -> bool {
    LISTS_OF_WORDS.contains(&name)
}

/// Parameters whose empty text is written as such.
const WRITTEN: [&str; 2] = ["content_updates", "content"];

/// Returns true if an empty text is a value of this parameter, though it may be left out.
pub(super) fn is_written(name: &str) -> bool {
    WRITTEN.contains(&name)
}

/// Returns all names of all concepts.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    CONCEPTS.iter().flat_map(|concept| concept.own.iter().chain(concept.aliases).copied())
}

/// Returns the parameter that a name means, if the schema has exactly one.
pub(super) fn meant<'a>(schema: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    meant_beside(schema, name, &Map::new())
}

/// Like [`meant`], among the parameters that were not given.
pub(super) fn meant_beside<'a>(
    schema: &'a Map<String, Value>,
    name: &str,
    given: &Map<String, Value>,
) -> Option<&'a str> {
    // A name may belong to several concepts; it is clear only if all of them lead to one parameter.
    let concepts = CONCEPTS.iter().filter(|concept| concept.is_called(name));
    let mut own: Vec<&str> = concepts.flat_map(|concept| own_of(schema, concept)).collect();
    own.retain(|own| !given.contains_key(*own));
    own.sort_unstable();
    own.dedup();
    match own.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// Returns the parameters of a schema that belong to a concept.
fn own_of<'a>(
    schema: &'a Map<String, Value>,
    concept: &'static Concept,
) -> impl Iterator<Item = &'a str> {
    let is_own =
        |listed: &&str, name: &str| match (listed.strip_suffix('?'), listed.strip_suffix('!')) {
            (Some(listed), _) => listed == name && !is_required(schema, name),
            (_, Some(listed)) => listed == name && is_required(schema, name),
            (None, None) => *listed == name,
        };
    let names = properties(schema).map(|(name, _)| name.as_str());
    names.filter(move |name| concept.own.iter().any(|listed| is_own(listed, name)))
}

pub(super) fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it == name))
}
