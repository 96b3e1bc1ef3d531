//! Shape: names, types, facts and relations of an entity in forms that a note can hold, and back.
//!
//! In: texts, whatever stands in them. Out: values of the front matter and items of lists; and what those say.
//! Invariants: what is written is what is read, character for character; what a form cannot hold (a name with blanks
//! around it, a type of five words) is written in another that can, never changed.

use serde_json::Value;

use crate::parse::{Note, RelationKind, parse};
use crate::plain;

/// The category of observations without one.
pub const CATEGORY: &str = "note";

/// The type of a relation whose own cannot be one in a note; that stands in its context then, behind [`TYPE_IS`].
const RELATED_TO: &str = "related_to";

/// What goes before the type in the context of such a relation.
const TYPE_IS: &str = "type: ";

/// The keys of the front matter for a name and a type that YAML readers or titles would change, each as a JSON string.
pub const EXACT_NAME: &str = "exact_name";
/// See [`EXACT_NAME`].
pub const EXACT_TYPE: &str = "exact_type";

/// Longest name that a title can hold, in characters; the daemon cuts longer titles.
const MAX_TITLE_CHARS: usize = 200;

/// The section of observations, where there is one.
pub const OBSERVATIONS: &str = "Observations";
/// The section of relations, where there is one.
pub const RELATIONS: &str = "Relations";

/// A text as the value of [`EXACT_NAME`] and the like.
pub fn quoted(text: &str) -> Value {
    // Two brackets would be a link.
    Value::String(Value::String(text.to_string()).to_string().replace('[', "\\u005b"))
}

/// What a value of the front matter stands for that is [`EXACT_NAME`] or [`EXACT_TYPE`].
fn exact(value: Option<&Value>) -> Option<String> {
    serde_json::from_str(value?.as_str()?).ok()
}

/// The title of an entity without a usable name.
pub fn title_of(name: &str) -> String {
    let words: Vec<&str> = name.split_whitespace().collect();
    let title: String =
        words.join(" ").replace("[[", "[ [").chars().take(MAX_TITLE_CHARS).collect();
    if title.trim().is_empty() { "Unnamed".to_string() } else { title }
}

/// The name that a note states: the exact one, the value of [`EXACT_NAME`], while the title is the one that was made of
/// it; who writes another title gives another name.
pub fn stated_name(value: Option<&Value>, title: Option<&str>) -> Option<String> {
    let is_made_of = |exact: &String| title.is_none_or(|it| seen(it) == seen(&title_of(exact)));
    exact(value).filter(is_made_of).or_else(|| title.map(String::from))
}

/// The type of an entity that a note states: the exact one, the value of [`EXACT_TYPE`], while `type` is what stands
/// beside it; who writes another there gives another type.
pub fn stated_node_type(value: Option<&Value>, plain: Option<&str>) -> Option<String> {
    let is_beside = plain.is_none_or(|it| it == CATEGORY);
    exact(value).filter(|_| is_beside).or_else(|| plain.map(String::from))
}

/// Returns a title as its readers see it.
fn seen(title: &str) -> String {
    let title = title.replace('\u{feff}', "");
    let words = title.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

/// True where every reader of the title gives back these very characters.
pub fn is_a_title(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && (c == ' ' || !c.is_whitespace());
    !text.is_empty()
        && !text.contains("[[")
        && text.chars().count() <= MAX_TITLE_CHARS
        && text.chars().all(|c| is_plain(c) && c != '\u{feff}')
        && text.split(' ').all(|word| !word.is_empty())
}

/// A relation as the text of an item: to a name where a link can hold it, else to `path`. None when neither can be.
pub fn relation_item(relation_type: &str, name: &str, path: Option<&str>) -> Option<String> {
    let types = [relation_type.to_string(), RELATED_TO.to_string()];
    let inside = plain::encoded_inside(relation_type);
    let contexts = [String::new(), format!(" ({TYPE_IS}{inside})")];
    for target in [Some(name).filter(|_| path.is_none()), path].into_iter().flatten() {
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

/// The typed relations of a note: type and target as written.
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

/// The type that a relation was stated with.
pub fn stated_type(relation_type: &str, context: Option<&str>) -> String {
    let inside = context.filter(|_| relation_type == RELATED_TO);
    match inside.and_then(|context| context.strip_prefix(TYPE_IS)) {
        Some(written) => plain::decoded(written),
        None => relation_type.to_string(),
    }
}

/// The text of an observation that was stated with a category, tags and context.
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
