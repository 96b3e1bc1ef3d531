//! reStructuredText: what its lines and inline marks mean.

use super::inline::{Inlines, Inside, InsideKind, may_open};
use super::{Found, Light, LightState, Lines, cells_between};
use crate::target::Target;
use model::document::InlineKind;

pub(crate) static RST: Light = Light {
    keys: &[
        "title", "author", "authors", "date", "revdate", "language", "lang", "tags", "keywords",
        "aliases", "id", "ref",
    ],
    slack: 0,
    classify,
    define,
    inlines: Inlines {
        starts: b"`*:|",
        pairs: &[("``", InlineKind::Code, true), ("**", InlineKind::Bold, false)],
        find: inside,
    },
};

/// What a directive holds.
enum Holds {
    Code,
    /// Paths of other documents.
    Documents,
    Picture,
    /// What only arranges the document, or includes other text.
    Nothing,
}

/// Names of directives, and what these hold; others hold text.
const DIRECTIVES: &[(&str, Holds)] = &[
    ("code-block code sourcecode highlight literalinclude parsed-literal math", Holds::Code),
    ("toctree", Holds::Documents),
    ("image figure", Holds::Picture),
    ("contents raw include meta index only tabularcolumns currentmodule module", Holds::Nothing),
    ("automodule autoclass autofunction highlightlang sectnum class role", Holds::Nothing),
    ("default-role", Holds::Nothing),
];

fn classify(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Found {
    let text = lines.text(at);
    if let Some(heading) = heading(lines, at, state) {
        return heading;
    }
    if is_simple_rule(text) {
        // The first rule opens the table; one before a blank line closes it.
        if !state.in_table {
            state.n_rows = 0;
        }
        state.in_table = !lines.is_blank(at + 1);
        return Found::Drop(at + 1);
    }
    if state.in_table {
        // Columns are at least two spaces apart.
        let cells = text.split("  ").filter(|cell| !cell.trim_ascii().is_empty());
        state.n_rows += 1;
        // A rule below the first row makes it a header.
        let is_header = state.n_rows == 1 && is_simple_rule(lines.text(at + 1));
        return lines.row(at, cells, is_header);
    }
    // Rules of a grid table, and lines of four or more equal signs (transitions).
    if is_grid_rule(text) || is_ornament(text).is_some_and(|_| text.len() > 3) {
        return Found::Drop(at + 1);
    }
    // A row of a grid table.
    if text.starts_with('|') && text.ends_with('|') && text.len() > 2 {
        return lines.row(at, cells_between(text), lines.text(at + 1).starts_with("+="));
    }
    if let Some(note) = footnote(text) {
        return Found::TextFrom(lines.place(at, note).start);
    }
    if text == ".." || text.starts_with(".. ") {
        return directive(lines, at, state);
    }
    if let Some((key, value)) = field(text).filter(|_| lines.indent(at) == 0) {
        state.note(key, value);
        return Found::Drop(at + 1);
    }
    if at > 0 && is_literal(lines, at) {
        let end = lines.end_of_indented(at, 0);
        return Found::Code { language: String::new(), lines: at..end, end: end.max(at + 1) };
    }
    lines.item(at, &['-', '*', '+', '•'])
}

/// Returns the text of a footnote or citation: `.. [1] text`.
fn footnote(line: &str) -> Option<&str> {
    let (label, text) = line.strip_prefix(".. [")?.split_once("] ")?;
    let text = text.trim_ascii();
    (!label.contains(['[', ' ']) && !text.is_empty()).then_some(text)
}

/// Reads a heading with a line of ornaments below it, or above and below it.
fn heading(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Option<Found> {
    let ornament = |at: usize| is_ornament(lines.get(at).trim_ascii_end());
    let fits = |text: usize, rule: usize| {
        // The ornaments may be up to two characters shorter than the text.
        let text = lines.get(text).trim_ascii();
        !text.is_empty()
            && is_ornament(text).is_none()
            && text.chars().count() <= lines.get(rule).trim_ascii().len().max(3) + 2
    };
    let (byte, is_over, text) = match ornament(at) {
        // Above and below: this line, and the one after the text.
        Some(byte) if ornament(at + 2) == Some(byte) && fits(at + 1, at) => (byte, true, at + 1),
        Some(_) => return None,
        None => {
            let byte = ornament(at + 1)?;
            let before_blank =
                // Otherwise the text could be the last line of a paragraph above a transition.
                at == 0 || lines.is_blank(at - 1) || is_ornament(lines.get(at - 1)).is_some();
            if !fits(at, at + 1) || lines.indent(at) > 0 || !before_blank {
                return None;
            }
            (byte, false, at)
        }
    };
    // Levels are not fixed: each new ornament is one level deeper than those before it.
    let known = state.ornaments.iter().position(|known| *known == (byte, is_over));
    let level = known.unwrap_or_else(|| {
        state.ornaments.push((byte, is_over));
        state.ornaments.len() - 1
    });
    let level = u8::try_from(level + 1).unwrap_or(6).min(6);
    let shown = lines.place(text, lines.get(text).trim_ascii());
    Some(Found::Heading { level, text: shown, n_lines: if is_over { 3 } else { 2 } })
}

/// Returns the character that a line repeats, if it contains nothing else.
fn is_ornament(line: &str) -> Option<u8> {
    let bytes = line.as_bytes();
    let first = *bytes.first()?;
    (bytes.len() >= 2 && first.is_ascii_punctuation() && bytes.iter().all(|b| *b == first))
        .then_some(first)
}

fn is_simple_rule(text: &str) -> bool {
    text.contains(' ')
        && text.starts_with("==")
        && text.bytes().all(|byte| byte == b'=' || byte == b' ')
}

fn is_grid_rule(text: &str) -> bool {
    text.len() > 2 && text.starts_with('+') && text.bytes().all(|byte| b"+-= |".contains(&byte))
}

/// Reads a field such as `:Author: Ada`.
fn field(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.strip_prefix(':')?.split_once(": ")?;
    let is_key = !key.is_empty() && key.len() < 40 && !key.contains(['`', ':']);
    is_key.then_some((key, value))
}

/// True for an indented block after a paragraph that ends with `::`.
fn is_literal(lines: &Lines<'_>, at: usize) -> bool {
    lines.indent(at) > 0
        && at >= 2
        && lines.is_blank(at - 1)
        && lines.get(at - 2).trim_ascii_end().ends_with("::")
        && !lines.get(at - 2).trim_ascii_start().starts_with("..")
}

/// Reads a line that begins with `..`: a directive, or markup that is not shown.
fn directive(lines: &Lines<'_>, at: usize, state: &mut LightState) -> Found {
    let inner = lines.text(at).get(2..).unwrap_or("").trim_ascii_start();
    let end = || lines.end_of_indented(at + 1, lines.indent(at)).max(at + 1);
    let Some((name, argument)) = inner.split_once("::").filter(|(name, _)| !name.contains(' '))
    else {
        if let Some(label) = inner.strip_prefix('_').and_then(|it| it.strip_suffix(':')) {
            state.note("ref", label.trim_matches('`'));
        }
        // A label, target or substitution (one line), or a comment (with its indented lines).
        return Found::Drop(if inner.starts_with(['_', '|', '[']) { at + 1 } else { end() });
    };
    let argument = argument.trim_ascii();
    let known = DIRECTIVES.iter().find(|(names, _)| names.split(' ').any(|it| it == name));
    let Some((_, holds)) = known else {
        return match argument.is_empty() {
            true => Found::Drop(at + 1),
            // The argument of a note is its first words; for others (a function), it is worth a line. Indented content
            // follows as text.
            false => Found::TextFrom(lines.place(at, argument).start),
        };
    };
    let end = end();
    // Options, such as `:linenos:`, come before the content.
    let is_option = |at: &usize| lines.is_blank(*at) || lines.text(*at).starts_with(':');
    let start = (at + 1..end).find(|at| !is_option(at)).unwrap_or(end);
    match holds {
        Holds::Code => Found::Code { language: argument.to_lowercase(), lines: start..end, end },
        Holds::Documents => {
            let entries = (start..end).map(|at| lines.text(at)).filter(|it| !it.is_empty());
            // `Title <path>`, or the path.
            let path =
                |entry: &str| match entry.strip_suffix('>').and_then(|it| it.rsplit_once('<')) {
                    Some((_, path)) => path.to_string(),
                    None => entry.to_string(),
                };
            Found::Refer { paths: entries.map(path).collect(), is_embed: false, end }
        }
        Holds::Picture => {
            Found::Refer { paths: vec![argument.to_string()], is_embed: true, end: start }
        }
        Holds::Nothing => Found::Drop(end),
    }
}

/// Reads `.. |name| replace:: text` and `.. _name: address`.
fn define(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix(".. ")?;
    if let Some(rest) = inner.strip_prefix('|') {
        let (name, text) = rest.split_once("| replace::")?;
        return Some((name, text.trim_ascii()));
    }
    let (name, address) = inner.strip_prefix('_').and_then(|_| inner.split_once(": "))?;
    Some((name, address.trim_ascii()))
}

/// Reads the inline mark at the start of `text`; `before` is the character before it.
fn inside(text: &str, before: Option<char>) -> Option<Inside> {
    // A role: `` :ref:`text` ``.
    if let Some(role) = text.strip_prefix(':') {
        let (name, rest) = role.split_once(":`")?;
        let is_role = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:.+".contains(&b));
        let start = 1 + name.len() + 2;
        return is_role.then(|| reference(rest, start, Some(name))).flatten();
    }
    if let Some(rest) = text.strip_prefix('|').filter(|_| may_open(before)) {
        let name = rest.get(..rest.find('|')?)?;
        let is_name = !name.is_empty() && name.trim_ascii() == name && !name.contains('\n');
        let kind = InsideKind::Name;
        return is_name.then(|| Inside { n_bytes: name.len() + 2, text: 1..1 + name.len(), kind });
    }
    if text.starts_with('`') && may_open(before) {
        return reference(text.get(1..)?, 1, None);
    }
    None
}

/// Reads `` text <target>`_ ``, with or without a role; `start` bytes come before `rest`.
fn reference(rest: &str, start: usize, role: Option<&str>) -> Option<Inside> {
    let end = rest.find('`').filter(|end| *end > 0)?;
    let inner = rest.get(..end)?;
    // `_` or `__` after the closing backtick.
    let n_ticks = rest
        .get(end + 1..)
        .map_or(0, |after| after.bytes().take(2).take_while(|b| *b == b'_').count());
    let n_bytes = start + end + 1 + n_ticks;
    let (shown, address) = match inner.strip_suffix('>').and_then(|inner| inner.rsplit_once('<')) {
        Some((shown, address)) if !shown.trim_ascii().is_empty() => {
            (shown.trim_ascii_end().len(), address)
        }
        _ => (inner.len(), inner),
    };
    let kind = match role {
        Some("doc" | "download") => InsideKind::Link(Target::of_address(address)),
        Some("ref") => InsideKind::Link(Some(Target::of_id(&format!("ref:{address}")))),
        Some(_) => InsideKind::Mark(InlineKind::Code),
        None if shown < inner.len() => InsideKind::Link(Target::of_address(address)),
        None if n_ticks > 0 => InsideKind::Named,
        None => InsideKind::Link(None),
    };
    Some(Inside { n_bytes, text: start..start + shown, kind })
}
