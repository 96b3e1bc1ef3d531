//! Shape: forms in which a note can hold an entity's names, types, facts and relations.
//!
//! In: any text. Out: values of the front matter and list items; and the text that these stand for.
//! Invariants: what is written is read back character for character; what one form cannot hold (a name with blanks
//! around it, a type of five words) is written in another, never changed.

use serde_json::Value;

use crate::parse::{Note, RelationKind, parse};
use crate::plain;

/// The category that stands for none.
pub const CATEGORY: &str = "note";

/// The type of a relation whose own type a note cannot hold; that type is in its context, after [`TYPE_IS`].
const RELATED_TO: &str = "related_to";

/// Precedes the type in the context of such a relation.
const TYPE_IS: &str = "type: ";

/// Front matter keys for a name and a type that YAML readers or titles would change, each as a JSON string.
pub const EXACT_NAME: &str = "exact_name";
/// See [`EXACT_NAME`].
pub const EXACT_TYPE: &str = "exact_type";

/// Longest name that a title can hold, in characters; the daemon cuts longer titles.
const MAX_TITLE_CHARS: usize = 200;

/// The heading of observations.
pub const OBSERVATIONS: &str = "Observations";
/// The heading of relations.
pub const RELATIONS: &str = "Relations";

/// Returns a text as the value of [`EXACT_NAME`] or [`EXACT_TYPE`].
pub fn quoted(text: &str) -> Value {
    // Escaped, since two brackets would be a link.
    Value::String(Value::String(text.to_string()).to_string().replace('[', "\\u005b"))
}

/// Returns the text of a value of [`EXACT_NAME`] or [`EXACT_TYPE`].
fn exact(value: Option<&Value>) -> Option<String> {
    serde_json::from_str(value?.as_str()?).ok()
}

/// Returns a title for an entity whose name cannot be one.
pub fn title_of(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let title: String =
        words.join(" ").replace("[[", "[ [").chars().take(MAX_TITLE_CHARS).collect();
    if title.trim().is_empty() { "Unnamed".to_string() } else { title }
}

/// Returns the name that a note states: the exact one, the value of [`EXACT_NAME`], as long as the title is the one
/// made from it; otherwise the title, since a person has changed it.
pub fn stated_name(value: Option<&Value>, title: Option<&str>) -> Option<String> {
    let is_made_of = |exact: &String| title.is_none_or(|it| seen(it) == seen(&title_of(exact)));
    exact(value).filter(is_made_of).or_else(|| title.map(String::from))
}

/// Returns the type that a note states: the exact one, the value of [`EXACT_TYPE`], as long as `type` has the value
/// written with it; otherwise `type`, since a person has changed it.
pub fn stated_node_type(value: Option<&Value>, plain: Option<&str>) -> Option<String> {
    let is_beside = plain.is_none_or(|it| it == CATEGORY);
    exact(value).filter(|_| is_beside).or_else(|| plain.map(String::from))
}

/// Returns a title as readers of the note see it.
fn seen(title: &str) -> String {
    let title = title.replace('\u{feff}', "");
    let words = title.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

/// True when every reader of the title returns exactly these characters.
pub fn is_a_title(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && (c == ' ' || !c.is_whitespace());
    !text.is_empty()
        && !text.contains("[[")
        && text.chars().count() <= MAX_TITLE_CHARS
        && text.chars().all(|c| is_plain(c) && c != '\u{feff}')
        && text.split(' ').all(|word| !word.is_empty())
}

/// Returns a relation as the text of an item: to a name if a link can hold it, otherwise to `path`. `None` if neither
/// can be written.
pub fn relation_item(relation_type: &str, name: &str, path: Option<&str>) -> Option<String> {
    let types = [relation_type.to_string(), RELATED_TO.to_string()];
    let inside = plain::encoded_inside(relation_type);
    let contexts = [String::new(), format!(" ({TYPE_IS}{inside})")];
    for target in [Some(name).filter(|_| path.is_none()), path].into_iter().flatten() {
        // Try the forms in order of preference, and take the first one that is parsed as intended.
        for (stated, context) in types.iter().zip(&contexts) {
            let item = format!("{stated} [[{target}]]{context}");
            let note = parse(&format!("- {item}\n"));
            let read = relations(&note);
            let is_it =
                matches!(read.as_slice(), [(found, to)] if found == relation_type && to == target);
            if is_it && note.observations.is_empty() && !item.contains(['\n', '\r']) {
                return Some(item);
            }
        }
    }
    None
}

/// Returns the typed relations of a note: type and target as written.
pub fn relations(note: &Note) -> Vec<(String, String)> {
    let typed = note.relations.iter().filter(|it| it.kind == RelationKind::Typed);
    let read = typed.filter_map(|it| {
        let link = note.links.get(it.link)?;
        let target = link.target.clone();
        let has_place = link.heading.is_some() || link.block.is_some() || link.display.is_some();
        (!has_place).then(|| (stated_type(&it.relation_type, it.context.as_deref()), target))
    });
    read.collect()
}

/// Returns the type that a relation was given.
pub fn stated_type(relation_type: &str, context: Option<&str>) -> String {
    let inside = context.filter(|_| relation_type == RELATED_TO);
    match inside.and_then(|context| context.strip_prefix(TYPE_IS)) {
        Some(written) => plain::decoded(written),
        None => relation_type.to_string(),
    }
}

/// Returns the text of an observation given by category, tags and context.
pub fn stated_fact(
    category: &str,
    content: &str,
    tags: &[String],
    context: Option<&str>,
) -> String {
    let mut out = String::new();
    if category != CATEGORY {
        out += &format!("[{category}] ");
    }
    out += &plain::decoded(content);
    tags.iter().for_each(|tag| out += &format!(" #{tag}"));
    if let Some(context) = context {
        out += &format!(" ({context})");
    }
    out
}
