//! Notebook: reads `.ipynb`, the cells of Jupyter, versions 3 and 4.
//!
//! In: decoded, redacted text, which is JSON. Out: the Markdown of its cells, their code in the kernel's language,
//! and what they printed: the beginning of text, errors by name and message, results in Markdown. The cells are written
//! one after the other as one Markdown text (code between fences), with a map back to the strings of the JSON. That
//! text is read as Markdown, and the two maps are joined.
//! Invariants: one pass over the JSON; strings that do not belong to cells are skipped, however long.

use std::ops::Range;

use super::format::{Format, FormatLimits};
use super::json::{Json, JsonStep};
use super::markdown::Markdown;
use model::document::Parsed;
use model::terms::SpanMap;

/// Longest printed output kept per cell, in bytes; longer output is data.
const MAX_OUTPUT_BYTES: usize = 2_000;

/// Before a text that begins a line, if it does not yet.
const LINE_END: &str = "\n";

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
        let is_empty = reading.cells.is_empty();
        if is_empty && let Err(why) = end {
            return Err(format!("not a notebook: {why}"));
        }
        let language = reading.language.unwrap_or_else(|| "python".to_string());
        let mut writer = Writer { source: text, out: String::new(), map: SpanMap::default() };
        reading.cells.iter().for_each(|cell| writer.cell(cell, &language));
        let mut parsed = Markdown.read(&writer.out, limits)?;
        parsed.map = parsed.map.then(&writer.map);
        if let Err(why) = end {
            parsed.warnings.push(format!("the notebook breaks off: {why}"));
        }
        if is_empty {
            parsed.warnings.push("no cells found; the file is not indexed".to_string());
        }
        Ok(parsed)
    }
}

/// What a string of the JSON is.
#[derive(Clone, Copy)]
enum Role {
    Kind,
    Level,
    Language,
    Source,
    Printed,
    ErrorName,
    ErrorText,
    Markdown,
}

/// The roles of strings in a cell, by the keys that lead to them; the key of an array is empty.
const CELL: [(&str, Role); 10] = [
    ("cell_type", Role::Kind),
    ("level", Role::Level),
    ("language", Role::Language),
    ("source", Role::Source),
    // The key of older versions of the format.
    ("input", Role::Source),
    ("outputs//text", Role::Printed),
    ("outputs//data/text/plain", Role::Printed),
    ("outputs//data/text/markdown", Role::Markdown),
    ("outputs//ename", Role::ErrorName),
    ("outputs//evalue", Role::ErrorText),
];
/// The roles of strings in the notebook itself.
const NOTEBOOK: [(&str, Role); 2] = [
    ("metadata/language_info/name", Role::Language),
    ("metadata/kernelspec/language", Role::Language),
];
/// Where cells are: version 3 has sheets of them.
const CELLS: [&str; 2] = ["cells//", "worksheets//cells//"];

/// One cell. Its pieces of text are JSON strings without their quotes.
#[derive(Default)]
struct Cell {
    kind: String,
    level: usize,
    source: Vec<Range<usize>>,
    outputs: Vec<Output>,
}

/// What a cell printed at once.
#[derive(Default)]
struct Output {
    printed: Vec<Range<usize>>,
    markdown: Vec<Range<usize>>,
    error: [Option<Range<usize>>; 2],
}

#[derive(Default)]
struct Reading<'a> {
    source: &'a str,
    cells: Vec<Cell>,
    language: Option<String>,
}

impl Reading<'_> {
    fn step(&mut self, json: &Json<'_>, step: JsonStep) {
        let path = json.path().join("/");
        let in_cell = CELLS.iter().find_map(|cells| path.strip_prefix(cells));
        match (step, in_cell) {
            // The object's own key, which is still empty, is the last of the path.
            (JsonStep::Open, Some("")) => self.cells.push(Cell::default()),
            (JsonStep::Open, Some("outputs//")) => {
                let cell = self.cells.last_mut();
                cell.into_iter().for_each(|cell| cell.outputs.push(Output::default()));
            }
            (JsonStep::Text(place), Some(path)) => self.text(&CELL, path, place),
            (JsonStep::Text(place), None) => self.text(&NOTEBOOK, &path, place),
            (JsonStep::Open, _) => {}
        }
    }

    fn text(&mut self, roles: &[(&str, Role)], path: &str, place: Range<usize>) {
        // Text is one string, or an array of lines.
        let path = path.strip_suffix('/').unwrap_or(path);
        let Some((_, role)) = roles.iter().find(|(key, _)| *key == path) else { return };
        let value = self.source.get(place.clone()).unwrap_or("");
        if let Role::Language = role {
            let word = value.to_lowercase();
            self.language = Some(word.chars().filter(|c| c.is_alphanumeric()).take(30).collect());
            return;
        }
        let Some(cell) = self.cells.last_mut() else { return };
        match role {
            Role::Kind => cell.kind = value.to_string(),
            Role::Level => cell.level = value.parse().unwrap_or(1),
            Role::Source => cell.source.push(place),
            role => {
                let Some(output) = cell.outputs.last_mut() else { return };
                match role {
                    Role::ErrorName => output.error[0] = Some(place),
                    Role::ErrorText => output.error[1] = Some(place),
                    Role::Markdown => output.markdown.push(place),
                    _ => output.printed.push(place),
                }
            }
        }
    }
}

/// Writes the cells as Markdown, with the map back to the JSON.
struct Writer<'a> {
    source: &'a str,
    out: String,
    map: SpanMap,
}

impl Writer<'_> {
    fn cell(&mut self, cell: &Cell, language: &str) {
        match cell.kind.as_str() {
            "code" => {
                self.fenced(language, &[(LINE_END, cell.source.clone())]);
                self.outputs(&cell.outputs);
            }
            kind => {
                if kind == "heading" {
                    self.out.push_str(&format!("{} ", "#".repeat(cell.level.clamp(1, 6))));
                }
                cell.source.iter().for_each(|piece| self.decode(piece.clone()));
            }
        }
        self.out.push_str("\n\n");
    }

    /// Writes results in Markdown as such, and everything else that was printed between them as code.
    fn outputs(&mut self, outputs: &[Output]) {
        let mut n_left = MAX_OUTPUT_BYTES;
        for run in outputs.chunk_by(|a, b| a.markdown.is_empty() && b.markdown.is_empty()) {
            let mut lines = Vec::new();
            // The plain form of a result in Markdown says only what it is.
            for output in run.iter().filter(|output| output.markdown.is_empty()) {
                let [name, text] = output.error.clone();
                // `KeyError: 'missing'`
                let before_text = if name.is_some() { ": " } else { LINE_END };
                let texts = [
                    (LINE_END, output.printed.clone()),
                    (LINE_END, Vec::from_iter(name)),
                    (before_text, Vec::from_iter(text)),
                ];
                let bounded = texts.map(|(before, it)| (before, self.bounded(&it, &mut n_left)));
                lines.extend(bounded.into_iter().filter(|(_, pieces)| !pieces.is_empty()));
            }
            self.fenced("text", &lines);
            for piece in run.iter().flat_map(|output| &output.markdown) {
                self.decode(piece.clone());
            }
            self.out.push_str("\n\n");
        }
    }

    /// Returns the first pieces, up to `n_left` bytes in total, the last of them cut at a line end.
    fn bounded(&self, pieces: &[Range<usize>], n_left: &mut usize) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        for piece in pieces {
            let text = self.source.get(piece.clone()).unwrap_or("");
            let fitting = text.get(..text.floor_char_boundary(*n_left)).unwrap_or("");
            let n_bytes = match fitting.len() < text.len() {
                true => fitting.rfind("\\n").unwrap_or(fitting.len()),
                false => text.len(),
            };
            out.push(piece.start..piece.start + n_bytes);
            *n_left -= fitting.len();
            if n_bytes < text.len() {
                *n_left = 0;
                break;
            }
        }
        out
    }

    /// Writes code between fences, which are longer than any run of backticks in it; each text with what comes before.
    fn fenced(&mut self, language: &str, texts: &[(&str, Vec<Range<usize>>)]) {
        let text = |piece: &Range<usize>| self.source.get(piece.clone()).unwrap_or("");
        // The text is still escaped JSON, so a line end is the two characters `\n`.
        let is_blank = |piece| text(piece).split("\\n").all(|line| line.trim_ascii().is_empty());
        let all = texts.iter().flat_map(|(_, pieces)| pieces);
        if all.clone().all(is_blank) {
            return;
        }
        let ticks = all.map(|piece| longest_ticks(text(piece)));
        let fence = "`".repeat(ticks.max().unwrap_or(0).max(2) + 1);
        self.out.push_str(&format!("{fence}{language}"));
        self.end_line();
        for (before, pieces) in texts {
            match *before {
                LINE_END => self.end_line(),
                before => self.out.push_str(before),
            }
            pieces.iter().for_each(|piece| self.decode(piece.clone()));
        }
        self.end_line();
        self.out.push_str(&format!("{fence}\n\n"));
    }

    fn end_line(&mut self) {
        if !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    /// Writes a JSON string with its escapes decoded, without the codes that color a terminal.
    fn decode(&mut self, range: Range<usize>) {
        let Some(text) = self.source.get(range.clone()) else { return };
        let mut at = 0;
        while at < text.len() {
            let rest = text.get(at..).unwrap_or("");
            let plain = rest.find('\\').unwrap_or(rest.len());
            self.map.push(self.out.len(), plain, range.start + at, plain);
            self.out.push_str(rest.get(..plain).unwrap_or(""));
            at += plain;
            let rest = rest.get(plain..).unwrap_or("");
            let Some((character, n_bytes)) = escape(rest) else { break };
            let after = rest.get(n_bytes..).unwrap_or("");
            let place = range.start + at..range.start + at + n_bytes;
            at += n_bytes;
            let shown = match character {
                '\u{1b}' => {
                    at += code_of_terminal(after);
                    continue;
                }
                // A line that is written over, or half of a line end.
                '\r' if after.starts_with("\\n") => continue,
                '\r' => '\n',
                other => other,
            };
            let mut buffer = [0; 4];
            let shown = shown.encode_utf8(&mut buffer);
            self.map.push_replaced(self.out.len(), shown.len(), place);
            self.out.push_str(shown);
        }
    }
}

fn longest_ticks(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// Returns the length of the code that follows an escape character: `[1;32m`, or `]8;;address` with its end.
fn code_of_terminal(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'[') => {
            let params = bytes.iter().skip(1).take_while(|byte| (0x20..0x40).contains(*byte));
            let n_params = 1 + params.count();
            let is_ended = bytes.get(n_params).is_some_and(|byte| (b'@'..=b'~').contains(byte));
            n_params + usize::from(is_ended && bytes.get(n_params) != Some(&b'\\'))
        }
        Some(b']') => {
            let ends = ["\\u0007", "\\u001b\\\\"];
            let end = ends.iter().filter_map(|end| Some(text.find(end)? + end.len())).min();
            end.unwrap_or(0)
        }
        _ => 0,
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
        Some('r') => ('\r', 2),
        Some('b' | 'f') => (' ', 2),
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
            p §0 "raw"
            Path "a.md" = "q"
        "#]]
        .assert_eq(&printed(&parsed));
        let at = parsed.text.find("tide").expect("code");
        assert_eq!(&SMALL[parsed.map.source_range(at, at + 4)], "tide");
        let at = parsed.text.find('é').expect("an escape");
        assert_eq!(&SMALL[parsed.map.source_range(at, at + 2)], "\\u00e9");
    }

    #[test]
    fn outputs_are_lines_and_keep_what_they_say() {
        let text = r##"{"cells": [{"cell_type": "code", "source": "x", "outputs": [
 {"data": {"text/plain": ["7 knots"]}}, {"name": "stdout", "text": "\u001b[1;31mred\u001b[0mdish\r50%\r\n"},
 {"ename": "TideError", "evalue": "too \u001b]8;;http://x.org\u0007low\u001b]8;;\u0007", "traceback": ["no"]},
 {"data": {"text/markdown": ["**Sum**: 3"], "text/plain": ["<Markdown object>"], "text/html": "no"}},
 {"text": ["end"]}]},
 {"cell_type": "raw", "source": "Raw words."}], "metadata": {}, "nbformat": 4}"##;
        let parsed = Notebook.read(text, &LIMITS).expect("a notebook");
        expect![[r#"
            code(python) §- "x"
            code(text) §- "7 knots\nreddish\n50%\nTideError: too low"
            p §- "Sum: 3"
            code(text) §- "end"
            p §- "Raw words."
            bold = "Sum"
        "#]]
        .assert_eq(&printed(&parsed));
        let at = parsed.text.find("reddish").expect("an output");
        assert_eq!(&text[parsed.map.source_range(at, at + 3)], "red");
    }

    #[test]
    fn long_output_is_cut_at_a_line() {
        let text = serde_json::json!({"cells": [{"cell_type": "code", "source": "x", "outputs": [
            {"text": "a line\n".repeat(400)}, {"text": "never"}]}]});
        let parsed = Notebook.read(&text.to_string(), &LIMITS).expect("a notebook");
        let n_lines = parsed.text.matches("a line").count();
        assert!(n_lines > 240 && n_lines < 260 && parsed.text.ends_with("a line"), "{n_lines}");
    }

    #[test]
    fn the_sheets_of_version_3_are_read() {
        let text = r##"{"metadata": {"name": "x"}, "nbformat": 3, "worksheets": [{"cells": [
 {"cell_type": "heading", "level": 2, "source": "Tides"}, {"cell_type": "markdown", "source": ["Ebb."]},
 {"cell_type": "code", "language": "ruby", "input": ["tide"],
  "outputs": [{"output_type": "pyout", "text": ["4"]}]}]}]}"##;
        let parsed = Notebook.read(text, &LIMITS).expect("a notebook");
        expect![[r#"
            h2 §- "Tides"
            p §0 "Ebb."
            code(ruby) §0 "tide"
            code(text) §0 "4"
        "#]]
        .assert_eq(&printed(&parsed));
        let none = Notebook.read("{\"nbformat\": 9}", &LIMITS).expect("JSON");
        assert_eq!(none.warnings.len(), 1);
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
