//! Notebook: reads `.ipynb`, the cells of Jupyter.
//!
//! In: decoded, redacted text, which is JSON. Out: the Markdown of its cells, their code in the kernel's language,
//! and the beginning of their printed output. The cells are written one after the other as one Markdown text (code
//! between fences), with a map back to the strings of the JSON. That text is read as Markdown, and the two maps are
//! joined.
//! Invariants: one pass over the JSON; strings that do not belong to cells are skipped, however long.

use std::ops::Range;

use super::format::{Format, FormatLimits};
use super::json::{Json, JsonStep};
use super::markdown::Markdown;
use model::document::Parsed;
use model::terms::SpanMap;

/// Longest printed output kept per cell, in bytes; longer output is data.
const MAX_OUTPUT_BYTES: usize = 2_000;

/// Reads notebooks.
pub(crate) struct Notebook;

impl Format<str> for Notebook {
    fn takes_title_from_heading(&self) -> bool {
        true
    }

    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String> {
        let mut reading = Reading { source: text, ..Reading::default() };
        let mut json = Json::new(text);
        let mut end = Ok(());
        loop {
            match json.next() {
                Ok(Some(step)) => reading.step(&json, step),
                Ok(None) => break,
                Err(why) => {
                    end = Err(why);
                    break;
                }
            }
        }
        // Keep the cells before an error; a notebook without any is not one.
        if reading.cells.is_empty()
            && let Err(why) = end
        {
            return Err(format!("not a notebook: {why}"));
        }
        let language = reading.language.clone().unwrap_or_else(|| "python".to_string());
        let (markdown, map) = written(text, &reading.cells, &language);
        let mut parsed = Markdown.read(&markdown, limits)?;
        parsed.map = parsed.map.then(&map);
        if let Err(why) = end {
            parsed.warnings.push(format!("the notebook breaks off: {why}"));
        }
        Ok(parsed)
    }
}

/// One cell. Its pieces of text are JSON strings without their quotes.
#[derive(Default)]
struct Cell {
    kind: String,
    source: Vec<Range<usize>>,
    output: Vec<Range<usize>>,
}

#[derive(Default)]
struct Reading<'a> {
    source: &'a str,
    cells: Vec<Cell>,
    language: Option<String>,
}

impl Reading<'_> {
    fn step(&mut self, json: &Json<'_>, step: JsonStep) {
        let path = json.path();
        let in_cells = path.first().is_some_and(|key| key == "cells");
        match step {
            // The path of a cell's object: `cells`, the array element, and the object's own keys.
            JsonStep::Open if in_cells && path.len() == 3 => self.cells.push(Cell::default()),
            JsonStep::Text(range) if in_cells => {
                let value = self.source.get(range.clone()).unwrap_or("");
                let Some(cell) = self.cells.last_mut() else { return };
                match path.get(2).map(String::as_str) {
                    Some("cell_type") => cell.kind = value.to_string(),
                    // `input` is the key of older versions of the format.
                    Some("source" | "input") => cell.source.push(range),
                    Some("outputs") if is_plain(path) => cell.output.push(range),
                    _ => {}
                }
            }
            JsonStep::Text(range) if path.first().is_some_and(|key| key == "metadata") => {
                let is_language = matches!(
                    path.get(1..)
                        .map(|rest| rest.iter().map(String::as_str).collect::<Vec<_>>())
                        .as_deref(),
                    Some(["language_info", "name"] | ["kernelspec", "language"])
                );
                if is_language {
                    let word = self.source.get(range).unwrap_or("").to_lowercase();
                    self.language =
                        Some(word.chars().filter(|c| c.is_alphanumeric()).take(30).collect());
                }
            }
            _ => {}
        }
    }
}

/// True for printed output, and for results as plain text.
fn is_plain(path: &[String]) -> bool {
    // The path is `cells`, cell, `outputs`, output, `text`, or `data` and the MIME type.
    path.get(4).is_some_and(|key| key == "text")
        || (path.get(4).is_some_and(|key| key == "data")
            && path.get(5).is_some_and(|key| key == "text/plain"))
}

/// Returns the cells as Markdown, and the map back to the JSON.
fn written(source: &str, cells: &[Cell], language: &str) -> (String, SpanMap) {
    let (mut out, mut map) = (String::new(), SpanMap::default());
    for cell in cells {
        let is_code = cell.kind == "code";
        if is_code {
            fenced(source, &cell.source, language, (&mut out, &mut map));
            fenced(source, &bounded(source, &cell.output), "text", (&mut out, &mut map));
        } else if cell.kind == "markdown" {
            cell.source.iter().for_each(|piece| decode(source, piece.clone(), &mut out, &mut map));
        }
        out.push_str("\n\n");
    }
    (out, map)
}

/// Returns the first pieces, up to [`MAX_OUTPUT_BYTES`] in total.
fn bounded(source: &str, pieces: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut n_bytes = 0;
    let fits = |piece: &&Range<usize>| {
        n_bytes += piece.len();
        n_bytes <= MAX_OUTPUT_BYTES && source.get((*piece).clone()).is_some()
    };
    pieces.iter().take_while(fits).cloned().collect()
}

/// Writes code between fences. The fences are longer than any run of backticks in the code.
fn fenced(source: &str, pieces: &[Range<usize>], language: &str, to: (&mut String, &mut SpanMap)) {
    let (out, map) = to;
    let text = |piece: &Range<usize>| source.get(piece.clone()).unwrap_or("");
    // The text is still escaped JSON, so a line end is the two characters `\n`.
    if pieces.iter().all(|piece| text(piece).split("\\n").all(|line| line.trim_ascii().is_empty()))
    {
        return;
    }
    let n_ticks = pieces.iter().map(|piece| longest_ticks(text(piece))).max().unwrap_or(0);
    let fence = "`".repeat(n_ticks.max(2) + 1);
    out.push_str(&format!("{fence}{language}\n"));
    pieces.iter().for_each(|piece| decode(source, piece.clone(), &mut *out, &mut *map));
    out.push_str(&format!("\n{fence}\n\n"));
}

fn longest_ticks(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Writes a JSON string with its escapes decoded.
fn decode(source: &str, range: Range<usize>, out: &mut String, map: &mut SpanMap) {
    let Some(text) = source.get(range.clone()) else { return };
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or("");
        let plain = rest.find('\\').unwrap_or(rest.len());
        map.push(out.len(), plain, range.start + at, plain);
        out.push_str(rest.get(..plain).unwrap_or(""));
        at += plain;
        let Some((character, n_bytes)) = escape(rest.get(plain..).unwrap_or("")) else { break };
        let mut buffer = [0; 4];
        let shown = character.encode_utf8(&mut buffer);
        map.push_replaced(out.len(), shown.len(), range.start + at..range.start + at + n_bytes);
        out.push_str(shown);
        at += n_bytes;
    }
}

/// Returns the character of an escape, and the escape's length in bytes.
fn escape(text: &str) -> Option<(char, usize)> {
    let mut characters = text.chars();
    characters.next().filter(|c| *c == '\\')?;
    let unit = |at: usize| u32::from_str_radix(text.get(at..at + 4)?, 16).ok();
    Some(match characters.next() {
        Some('n') => ('\n', 2),
        Some('t') => ('\t', 2),
        Some('r' | 'b' | 'f') => (' ', 2),
        Some('u') => match (unit(2), text.get(6..8) == Some("\\u"), unit(8)) {
            // A surrogate pair: two escapes, one character.
            (Some(high @ 0xd800..=0xdbff), true, Some(low @ 0xdc00..=0xdfff)) => {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
            }
            (Some(code), _, _) => (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 6),
            _ => ('\\', 1),
        },
        Some(other) => (other, 1 + other.len_utf8()),
        None => ('\\', 1),
    })
}

#[cfg(test)]
mod tests {
    use super::{Notebook, escape};
    use crate::format::Format;
    use crate::tests::{LIMITS, check_invariants, printed};
    use expect_test::expect;
    use proptest::prelude::*;

    const SMALL: &str = r##"{"cells": [
 {"cell_type": "markdown", "metadata": {"x": "no"}, "source": ["# Tides\n", "\n", "See [q](a.md) \u00e9 \"so\"."]},
 {"cell_type": "code", "source": "import tide\nprint(`a`)\n", "outputs": [
   {"output_type": "stream", "text": ["high\n"]}, {"data": {"image/png": "AAAA", "text/plain": ["42"]}}]},
 {"cell_type": "raw", "source": "raw"}, {"cell_type": "code", "source": []}],
 "metadata": {"language_info": {"name": "Julia"}}, "nbformat": 4}"##;

    #[test]
    fn cells_become_text_and_code() {
        let parsed = Notebook.read(SMALL, &LIMITS).expect("a notebook");
        expect![[r#"
            h1 §- "Tides"
            p §0 "See q é \"so\"."
            code(julia) §0 "import tide\nprint(`a`)"
            code(text) §0 "high\n42"
            Path "a.md" = "q"
        "#]]
        .assert_eq(&printed(&parsed));
        let at = parsed.text.find("tide").expect("code");
        assert_eq!(&SMALL[parsed.map.source_range(at, at + 4)], "tide");
        let at = parsed.text.find('é').expect("an escape");
        assert_eq!(&SMALL[parsed.map.source_range(at, at + 2)], "\\u00e9");
    }

    #[test]
    fn what_is_no_notebook_says_so() {
        assert!(Notebook.read("# Not JSON", &LIMITS).is_err());
        let cut = Notebook.read(&SMALL[..200], &LIMITS).expect("what is there");
        assert!(cut.text.contains("Tides") && cut.warnings.len() == 1, "{cut:?}");
        assert_eq!(escape("\\ud83d\\ude00"), Some(('😀', 12)));
        assert_eq!(escape("\\uzz"), Some(('\\', 1)));
    }

    proptest! {
        #[test]
        fn any_cells_keep_the_invariants(
            cells in proptest::collection::vec((any::<bool>(), "(\\PC|\n|`|#){0,30}"), 0..6)) {
            let cells: Vec<_> = cells.into_iter().map(|(is_code, source)| serde_json::json!({
                "cell_type": if is_code { "code" } else { "markdown" }, "source": source})).collect();
            let text = serde_json::json!({"cells": cells}).to_string();
            let parsed = Notebook.read(&text, &LIMITS).expect("a notebook");
            let map = model::terms::SpanMap::identity(parsed.text.len(), 0);
            let plain = model::document::Parsed { map, ..parsed.clone() };
            check_invariants(&parsed.text, &plain);
            prop_assert!(parsed.map.source_range(0, parsed.text.len()).end <= text.len());
        }
    }
}
