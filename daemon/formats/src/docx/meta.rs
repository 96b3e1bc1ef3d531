//! Meta: a document's properties.
//!
//! In: `docProps/core.xml`. Out: title, author, dates, language, keywords.
//! Decision: a title in the properties is used only if no paragraph looks like a title, and not if a program
//! generated it (`Microsoft Word - report.doc`).

use serde_json::Value;

use super::xml::{Token, Xml};
use model::document::Parsed;
use notes::parse::add_tag;

/// Longest value, in bytes.
const MAX_VALUE_BYTES: usize = 1_000;
/// Titles left by programs and templates, in lowercase.
const EMPTY_TITLES: &[&str] = &[
    "untitled",
    "word document",
    "document",
    "title",
    "powerpoint presentation",
    "untitled document",
];

/// Adds the properties.
pub(super) fn read(text: &str, parsed: &mut Parsed) {
    let mut xml = Xml::new(text);
    let mut open: Option<String> = None;
    let mut value = String::new();
    while let Some(token) = xml.next() {
        match token {
            Token::Open(tag) => {
                open = Some(tag.local().to_string());
                value.clear();
            }
            Token::Text(text) if value.len() + text.len() <= MAX_VALUE_BYTES => {
                value.push_str(&text)
            }
            Token::Text(_) => {}
            Token::Close => {
                if let Some(name) = open.take() {
                    take(&name, value.trim(), parsed);
                }
            }
        }
    }
}

fn take(name: &str, value: &str, parsed: &mut Parsed) {
    if value.is_empty() {
        return;
    }
    let meta = &mut parsed.meta;
    let text = || Some(value.to_string());
    match name {
        "title" if parsed.title.is_none() && is_stated(value) => parsed.title = text(),
        "creator" => meta.author = text(),
        "created" => meta.date = text(),
        "language" => meta.language = text(),
        "modified" | "subject" | "description" | "category" => {
            meta.extra.insert(name.to_string(), Value::from(value));
        }
        "keywords" => {
            value.split([',', ';']).for_each(|word| add_tag(&mut meta.tags, word));
        }
        _ => {}
    }
}

fn is_stated(title: &str) -> bool {
    let title = title.to_lowercase();
    !EMPTY_TITLES.contains(&title.as_str()) && !title.starts_with("microsoft word")
}
