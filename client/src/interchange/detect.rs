//! Detect: recognizes the program that wrote a file or folder, by its contents.
//!
//! Invariant: names alone decide only where the contents cannot; in doubt there is no result.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::elements::{Elements, Found, value};
use super::{Format, InterchangeError, Source, chat};
use crate::input;

/// Bytes of a file that are inspected: the first conversation may be long.
const LOOKED_AT: u64 = 8 << 20;

/// Most conversations that are inspected.
const MAX_LOOKS: usize = 20;

/// Detects the format of a file or folder.
///
/// # Errors
/// When it cannot be read, or has no known format.
pub fn detect(path: &Path) -> Result<Format, InterchangeError> {
    let shown = path.display().to_string();
    let io = |source| InterchangeError::Io { path: shown.clone(), source };
    let found = match path.metadata().map_err(io)?.is_dir() {
        true => of_folder(path),
        false => of_file(path, input::open(path, u64::MAX).map_err(io)?),
    };
    found.ok_or_else(|| InterchangeError::NotThat {
        path: shown,
        wanted: "known format",
        why:
            "it looks like none of `obsidian`, `basic-memory`, `server-memory`, `chatgpt`, `claude`"
                .to_string(),
        hint: "say which it is: `kgctl import FORMAT SOURCE`".to_string(),
    })
}

fn of_folder(path: &Path) -> Option<Format> {
    // Most certain first: Obsidian's own folder, then exports, then notes.
    if path.join(".obsidian").is_dir() {
        return Some(Format::Obsidian);
    }
    let names: Vec<String> = std::fs::read_dir(path)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    if names.iter().any(|name| super::source::is_conversations(name)) {
        return of_conversations(path);
    }
    let is_note = |name: &&String| name.ends_with(".md") || name.ends_with(".markdown");
    if let Some(first) = names.iter().find(is_note) {
        // basic-memory writes a permalink into every note.
        let text = input::read(&path.join(first), LOOKED_AT).unwrap_or_default();
        let has_permalink = notes::parse::frontmatter(&String::from_utf8_lossy(&text))
            .is_some_and(|front| front.values.contains_key("permalink"));
        return Some(if has_permalink { Format::BasicMemory } else { Format::Obsidian });
    }
    let holds_folders = std::fs::read_dir(path).ok()?.flatten().any(|entry| entry.path().is_dir());
    holds_folders.then_some(Format::Obsidian)
}

fn of_file(path: &Path, file: File) -> Option<Format> {
    let mut head = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut head).ok()?;
    // The signature of a zip archive.
    if head.starts_with(b"PK") {
        return of_conversations(path);
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&head).trim_ascii_start();
    if text.starts_with(b"[") {
        return of_conversations(path);
    }
    if let Ok(whole) = serde_json::from_slice::<Value>(text) {
        if whole.get("projects").is_some_and(|it| it.is_object() || it.is_array()) {
            return Some(Format::BasicMemory);
        }
        if let Some(format) = chat::format_of(&whole) {
            return Some(format);
        }
    }
    let is_memory = |line: &[u8]| {
        let parsed = serde_json::from_slice::<Value>(line).ok();
        let kind = parsed.as_ref().and_then(|it| it.get("type")?.as_str());
        matches!(kind, Some("entity" | "relation"))
    };
    let mut lines = text.split(|byte| *byte == b'\n').take(MAX_LOOKS);
    // Only near the start: the keys may also occur in the text of any other JSON file.
    let has_keys = |key: &[u8]| text.windows(key.len()).take(200).any(|it| it == key);
    let is_object =
        text.starts_with(b"{") && (has_keys(b"\"entities\"") || has_keys(b"\"relations\""));
    (is_object || lines.any(is_memory)).then_some(Format::ServerMemory)
}

/// Returns whose conversations these are.
fn of_conversations(path: &Path) -> Option<Format> {
    let mut format = None;
    let looked = Source::at(path).each(&mut |_, reader| {
        if format.is_some() {
            return;
        }
        for found in
            // A small limit for items, too: the first ones are enough, and the reader is cut anyway.
            Elements::with_limit(reader.take(LOOKED_AT), LOOKED_AT as usize).take(MAX_LOOKS)
        {
            let Found::Item { line, bytes } = found else { continue };
            let Ok(value) = value(line, &bytes) else { continue };
            let first = value.get("conversations").and_then(|it| it.as_array()?.first());
            format = chat::format_of(first.unwrap_or(&value));
            if format.is_some() {
                return;
            }
        }
    });
    looked.ok().and(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_what_is_there() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(&path, text).expect("written");
            path
        };
        let rows = [
            (at("a.json", "{\"type\":\"entity\",\"name\":\"x\"}\n"), Some(Format::ServerMemory)),
            (at("b.json", "broken\n{\"type\":\"relation\"}\n"), Some(Format::ServerMemory)),
            (at("c.json", "{\n \"entities\": [\n"), Some(Format::ServerMemory)),
            (at("d.json", "[{\"mapping\": {}}"), Some(Format::ChatGpt)),
            (at("e.json", "[1, {\"chat_messages\": []}]"), Some(Format::Claude)),
            (at("f.json", "{\"projects\": {\"main\": \"/x\"}}"), Some(Format::BasicMemory)),
            (at("g.json", "{\"x\": 1}"), None),
            (at("h.zip", "PK\u{3}\u{4}nonsense"), None),
            (at("i.json", ""), None),
            (
                at("j/conversations.json", "[{\"mapping\": {}}]").with_file_name(""),
                Some(Format::ChatGpt),
            ),
            (
                at("k/.obsidian/app.json", "{}").ancestors().nth(2).expect("a folder").into(),
                Some(Format::Obsidian),
            ),
            (
                at("l/a.md", "---\npermalink: a\n---\n").with_file_name(""),
                Some(Format::BasicMemory),
            ),
            (at("m/a.md", "words").with_file_name(""), Some(Format::Obsidian)),
            (at("n/a.png", "").with_file_name(""), None),
        ];
        for (path, expected) in rows {
            assert_eq!(detect(&path).ok(), expected, "{}", path.display());
        }
        assert!(detect(&dir.path().join("missing")).is_err());
    }
}
