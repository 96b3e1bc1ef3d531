//! Data: the author, date and language in a page's JSON-LD.
//!
//! In: the text of one script. Out: author, date and language. Invariants: bounded in size and depth; data that is not
//! JSON is ignored.

use serde_json::Value;

/// Longest script that is read, in bytes.
pub(super) const MAX_JSON_BYTES: usize = 200_000;
/// Most values that are visited in one script.
const MAX_THINGS: usize = 50;
/// Most authors.
const MAX_AUTHORS: usize = 10;

/// The data of a page.
#[derive(Debug, Default)]
pub(super) struct Stated {
    pub(super) author: Option<String>,
    pub(super) date: Option<String>,
    pub(super) language: Option<String>,
}

/// Reads one script; the first article that states a value wins.
pub(super) fn read(json: &str) -> Stated {
    let mut stated = Stated::default();
    if json.len() > MAX_JSON_BYTES {
        return stated;
    }
    // The parser stops at a depth of 128.
    let Ok(all) = serde_json::from_str::<Value>(json) else { return stated };
    let mut open = vec![&all];
    let mut n_seen = 0;
    while let Some(value) = open.pop().filter(|_| n_seen < MAX_THINGS) {
        n_seen += 1;
        match value {
            Value::Array(things) => open.extend(things.iter().take(MAX_THINGS).rev()),
            Value::Object(thing) => {
                open.extend(["mainEntity", "@graph"].iter().filter_map(|key| thing.get(*key)));
                if is_article(thing.get("@type")) {
                    stated.author = stated.author.or_else(|| thing.get("author").and_then(authors));
                    stated.date = stated.date.or_else(|| text(thing.get("datePublished")));
                    stated.language = stated.language.or_else(|| text(thing.get("inLanguage")));
                }
            }
            _ => {}
        }
    }
    stated
}

fn is_article(kind: Option<&Value>) -> bool {
    let names = ["Article", "Posting", "WebPage", "Report", "TechArticle", "Review", "Recipe"];
    let is_named = |kind: &Value| {
        kind.as_str().is_some_and(|kind| names.iter().any(|name| kind.ends_with(name)))
    };
    match kind {
        Some(Value::Array(kinds)) => kinds.iter().any(is_named),
        Some(kind) => is_named(kind),
        None => false,
    }
}

/// Returns the names of one or several authors, given as strings or as objects with a name.
fn authors(value: &Value) -> Option<String> {
    let name = |author: &Value| text(Some(author)).or_else(|| text(author.get("name")));
    let all: Vec<String> = match value {
        Value::Array(authors) => authors.iter().take(MAX_AUTHORS).filter_map(name).collect(),
        author => name(author).into_iter().collect(),
    };
    let names: Vec<String> = all.into_iter().filter(|name| !name.contains("://")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn text(value: Option<&Value>) -> Option<String> {
    let text = value?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn articles_state_author_date_and_language() {
        let stated = read(
            r#"{"@graph":[{"@type":"Organization","author":"No"},{"@type":["NewsArticle"],
            "author":[{"name":"Ina Veld"},{"name":"Olm Radek"}],"datePublished":"2024-05-03","inLanguage":"en"}]}"#,
        );
        assert_eq!(stated.author.as_deref(), Some("Ina Veld, Olm Radek"));
        assert_eq!(stated.date.as_deref(), Some("2024-05-03"));
        assert_eq!(stated.language.as_deref(), Some("en"));
        assert!(read("{\"@type\": ").author.is_none());
    }
}
