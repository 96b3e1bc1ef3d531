//! Notebook: reads `.ipynb`, the cells of Jupyter, versions 3 and 4.
//!
//! In: decoded, redacted text, which is JSON. Out: the Markdown of its cells, their code in the kernel's language,
//! and what they printed: the beginning of text, errors by name and message, results in Markdown. Every piece maps back
//! to the strings of the JSON.
//! Invariants: one pass over the JSON; strings that do not belong to cells are skipped, however long; each cell is read
//! by itself, and what the first one states as front matter is said of the notebook.

use std::ops::Range;

use notes::parse::add_tag;

use super::builder::TextBuilder;
use super::format::{Format, FormatLimits};
use super::json::{self, Json, JsonStep};
use super::markdown::Markdown;
use model::document::Parsed;
use model::terms::SpanMap;

/// Longest printed output kept per cell, in bytes; longer output is data.
const MAX_OUTPUT_BYTES: usize = 2_000;

/// Longest code of a terminal, in bytes: an address may be part of it.
const MAX_TERMINAL_BYTES: usize = 2_000;

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
        let out = TextBuilder::new(text, limits);
        let mut writer = Writer { source: text, limits, out, stated: None };
        for cell in &reading.cells {
            writer.cell(cell, &language)?;
        }
        let Parsed { title, meta, .. } = writer.stated.unwrap_or_default();
        let mut parsed = Parsed { title, meta, ..writer.out.finish() };
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
#[derive(Clone, Copy, PartialEq)]
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

/// Strings of the JSON, without their quotes, and what they are.
type Pieces = Vec<(Role, Range<usize>)>;

/// One cell, and what it printed, each time.
#[derive(Default)]
struct Cell {
    own: Pieces,
    outputs: Vec<Pieces>,
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
                cell.into_iter().for_each(|cell| cell.outputs.push(Pieces::new()));
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
        if *role == Role::Language {
            let word = self.source.get(place).unwrap_or("").to_lowercase();
            self.language = Some(word.chars().filter(|c| c.is_alphanumeric()).take(30).collect());
            return;
        }
        let Some(cell) = self.cells.last_mut() else { return };
        let is_printed = path.starts_with("outputs");
        let pieces = if is_printed { cell.outputs.last_mut() } else { Some(&mut cell.own) };
        pieces.into_iter().for_each(|pieces| pieces.push((*role, place.clone())));
    }
}

/// Returns the strings that are something.
fn of(pieces: &Pieces, role: Role) -> Vec<Range<usize>> {
    let all = pieces.iter().filter(|(known, _)| *known == role);
    all.map(|(_, place)| place.clone()).collect()
}

/// Writes the cells, each read by itself.
struct Writer<'a> {
    source: &'a str,
    limits: &'a FormatLimits,
    out: TextBuilder<'a>,
    /// What the notebook states about itself; `None` before the first cell is written.
    stated: Option<Parsed>,
}

impl Writer<'_> {
    fn cell(&mut self, cell: &Cell, language: &str) -> Result<(), String> {
        let source = of(&cell.own, Role::Source);
        let word =
            |role| of(&cell.own, role).last().and_then(|place| self.source.get(place.clone()));
        match word(Role::Kind) {
            Some("code") => {
                self.stated.get_or_insert_default();
                self.code(language, &self.decoded("", &source));
                self.outputs(&cell.outputs)
            }
            Some("heading") => {
                let level =
                    word(Role::Level).and_then(|level| level.parse().ok()).unwrap_or(1_usize);
                self.markdown(&format!("{} ", "#".repeat(level.clamp(1, 6))), &source)
            }
            _ => self.markdown("", &source),
        }
    }

    /// Writes results in Markdown as such, and everything else that was printed between them as code.
    fn outputs(&mut self, outputs: &[Pieces]) -> Result<(), String> {
        let mut n_left = MAX_OUTPUT_BYTES;
        let is_markdown = |output: &Pieces| output.iter().any(|(role, _)| *role == Role::Markdown);
        for run in outputs.chunk_by(|a, b| !is_markdown(a) && !is_markdown(b)) {
            let mut printed = Decoded::default();
            // The plain form of a result in Markdown says only what it is.
            for output in run.iter().filter(|output| !is_markdown(output)) {
                for role in [Role::Printed, Role::ErrorName, Role::ErrorText] {
                    // `KeyError: 'missing'`
                    let is_named =
                        role == Role::ErrorText && !of(output, Role::ErrorName).is_empty();
                    let pieces = self.bounded(&of(output, role), &mut n_left);
                    printed.add(if is_named { ": " } else { "\n" }, self.source, &pieces);
                }
            }
            self.code("text", &printed);
            for output in run.iter().filter(|output| is_markdown(output)) {
                self.markdown("", &of(output, Role::Markdown))?;
            }
        }
        Ok(())
    }

    /// Returns the first pieces, up to `n_left` bytes in total, the last of them cut at a line end.
    fn bounded(&self, pieces: &[Range<usize>], n_left: &mut usize) -> Vec<Range<usize>> {
        let fitting = pieces.iter().map(|piece| {
            let text = self.source.get(piece.clone()).unwrap_or("");
            let head = text.get(..text.floor_char_boundary(*n_left)).unwrap_or("");
            if head.len() == text.len() {
                *n_left -= text.len();
                return piece.clone();
            }
            *n_left = 0;
            // The text is still escaped JSON, so a line end is the two characters `\n`.
            piece.start..piece.start + head.rfind("\\n").unwrap_or(head.len())
        });
        fitting.filter(|piece| !piece.is_empty()).collect()
    }

    fn decoded(&self, before: &str, pieces: &[Range<usize>]) -> Decoded {
        let mut out = Decoded { text: before.to_string(), ..Decoded::default() };
        out.add("", self.source, pieces);
        out
    }

    fn code(&mut self, language: &str, code: &Decoded) {
        let (text, map) = code.shown();
        let mut block = TextBuilder::new(&text, self.limits);
        block.begin_code(language);
        block.code(0..text.len());
        let block = block.finish();
        self.out.append(Parsed { map: block.map.then(&map), ..block }, 0);
    }

    /// Reads Markdown that begins with a mark of its own.
    fn markdown(&mut self, mark: &str, pieces: &[Range<usize>]) -> Result<(), String> {
        // Front matter stands in the first cell only; a line end before the text keeps it from being taken for some.
        let mark = if self.stated.is_some() { format!("\n{mark}") } else { mark.to_string() };
        let (text, map) = self.decoded(&mark, pieces).shown();
        let mut read = Markdown.read(&text, self.limits)?;
        read.map = read.map.then(&map);
        let tags = std::mem::take(&mut read.meta.tags);
        let (title, meta) = (read.title.take(), std::mem::take(&mut read.meta));
        let stated = self.stated.get_or_insert_with(|| Parsed { title, meta, ..Parsed::default() });
        tags.iter().for_each(|tag| add_tag(&mut stated.meta.tags, tag));
        self.out.append(read, 0);
        Ok(())
    }
}

/// Text decoded from the strings of the JSON, and the map to them.
#[derive(Default)]
struct Decoded {
    text: String,
    map: SpanMap,
}

impl Decoded {
    /// Adds strings, if there are any, after `before`; a line end is not repeated.
    fn add(&mut self, before: &str, source: &str, pieces: &[Range<usize>]) {
        let begins_line = self.text.is_empty() || self.text.ends_with('\n');
        let is_repeated = before == "\n" && begins_line;
        if !pieces.is_empty() && !is_repeated {
            self.text.push_str(before);
        }
        for piece in pieces {
            json::decode(source, piece.clone(), &mut self.text, &mut self.map);
        }
    }

    /// Returns the text as a terminal shows it: without the codes for color, and with line ends of one kind.
    fn shown(&self) -> (String, SpanMap) {
        let controls = self.text.match_indices(['\u{1b}', '\r', '\u{8}', '\u{c}']);
        let parts = controls.map(|(at, control)| {
            let after = self.text.get(at + 1..).unwrap_or("");
            let (n_bytes, shown) = match control {
                "\u{1b}" => (code_of_terminal(after.as_bytes()), ""),
                // Half of a line end, or a line that is written over.
                "\r" => (0, if after.starts_with('\n') { "" } else { "\n" }),
                _ => (0, " "),
            };
            (at..at + 1 + n_bytes, shown)
        });
        // A code may contain the beginning of another.
        let mut end = 0;
        let parts = parts.filter(|(place, _)| {
            let is_next = place.start >= end;
            end = if is_next { place.end } else { end };
            is_next
        });
        let (text, map) = SpanMap::replacing(&self.text, parts);
        (text, map.then(&self.map))
    }
}

/// Returns the length of the code that follows an escape character: `[1;32m`, or `]8;;address` with its end.
fn code_of_terminal(bytes: &[u8]) -> usize {
    let position = |is_end: fn(&u8) -> bool| {
        bytes.iter().take(MAX_TERMINAL_BYTES).skip(1).position(is_end).map(|n| n + 1)
    };
    match bytes.first() {
        Some(b'[') => {
            let end = position(|byte| !(0x20..0x40).contains(byte))
                .unwrap_or(bytes.len().min(MAX_TERMINAL_BYTES));
            end + usize::from(bytes.get(end).is_some_and(|byte| (b'@'..=b'~').contains(byte)))
        }
        // It ends with a bell, or with an escape character and a backslash.
        Some(b']') => position(|byte| matches!(byte, 0x07 | 0x1b))
            .map_or(0, |end| end + 1 + usize::from(bytes.get(end..end + 2) == Some(b"\x1b\\"))),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Notebook;
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
    fn each_cell_is_read_by_itself() {
        let markdown = |text: &str| serde_json::json!({"cell_type": "markdown", "source": text});
        let cells = [
            markdown("---\ntitle: Ebb\ntags: [sea]\n---\n# One #shore"),
            markdown("---\ntide: low\n---\n<!-- open"),
            serde_json::json!({"cell_type": "code", "source": "```\n\tx\n```\n\n"}),
            markdown("## Two\n\n- a #sea\n- b"),
            markdown("- c\n\n| d |\n|---|"),
        ];
        let text = serde_json::json!({ "cells": cells }).to_string();
        let parsed = Notebook.read(&text, &LIMITS).expect("a notebook");
        expect![[r##"
            h1 §- "One #shore"
            h2 §0 "tide: low"
            code(python) §1 "```\n\tx\n```"
            h2 §0 "Two"
            li0.0 §3 "a #sea"
            li0.0 §3 "b"
            li1.0 §3 "c"
            th0 §3 "d"
            tags ["sea", "shore"]
        "##]]
        .assert_eq(&printed(&parsed));
        assert_eq!(parsed.title.as_deref(), Some("Ebb"));
    }

    #[test]
    fn what_is_no_notebook_says_so() {
        assert!(Notebook.read("# Not JSON", &LIMITS).is_err());
        let cut = Notebook.read(&SMALL[..200], &LIMITS).expect("what is there");
        assert!(cut.text.contains("Tides") && cut.warnings.len() == 1, "{cut:?}");
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
