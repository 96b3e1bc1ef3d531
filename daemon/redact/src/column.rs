//! Columns: tables whose header announces secrets in the cells below.
//!
//! In: a text and a label in it. Out: the cells below the label that are likely secrets, if it heads a column. Cells
//! are separated by `|` (Markdown, and the tables of every format), tabs, `;`, `,`, or by blanks if each row has as
//! many words as the header.
//! Invariant: at most [`MAX_ROWS`] lines of at most [`MAX_ROW_BYTES`] are read, and each header is read once.

use std::ops::Range;

use super::assign::trimmed;
use super::label::ValueKind;
use super::likely::{Form, is_secret};

/// Most rows that are read below a header.
const MAX_ROWS: usize = 200;

/// Longest row, in bytes.
const MAX_ROW_BYTES: usize = 2_000;

/// Most words in the label's header cell: `initial password (temporary)`.
const MAX_HEADER_WORDS: usize = 4;

/// Returns the secrets below the label at `label`.
pub(super) fn below(text: &str, label: Range<usize>, value_kind: ValueKind) -> Vec<Range<usize>> {
    let flowed = below_flowed(text, &label, value_kind);
    if !flowed.is_empty() {
        return flowed;
    }
    // Lines were kept: find the label's cell in the header, then the same cell in each row below.
    let Some((line, separator, column)) = header(text, &label) else { return Vec::new() };
    let n_columns = cells(text.get(line.clone()).unwrap_or(""), separator).count();
    let mut found = Vec::new();
    let mut at = line.end + 1;
    let row_at = |at: usize| text.get(at..).map(|rest| rest.split('\n').next().unwrap_or(""));
    let n_gap =
        |at: usize| row_at(at).filter(|it| it.trim().is_empty()).map_or(0, |it| it.len() + 1);
    // Formats may put a blank line between lines that they take for paragraphs; else it ends the table.
    let is_spaced = n_gap(at) > 0;
    for _ in 0..MAX_ROWS {
        at += if is_spaced { n_gap(at) } else { 0 };
        let Some(row) = row_at(at) else { break };
        let n_cells = cells(row, separator).count();
        let is_row = match separator {
            ' ' | ',' | ';' => n_cells == n_columns,
            _ => n_cells > 1 || (n_columns == 1 && n_cells == 1 && !row.trim().is_empty()),
        };
        if !is_row || row.len() > MAX_ROW_BYTES {
            break;
        }
        if let Some(cell) = cells(row, separator).nth(column) {
            found.extend(secret_in(text, at + cell.start..at + cell.end, separator, value_kind));
        }
        at += row.len() + 1;
    }
    found
}

/// Returns the secrets below a label where a format has joined the lines of a table.
fn below_flowed(text: &str, label: &Range<usize>, value_kind: ValueKind) -> Vec<Range<usize>> {
    let line = line_around(text, label);
    let shown = text.get(line.clone()).unwrap_or("");
    let (found, separator) = match in_tuples(text, &line, label) {
        Some(found) => (found, '|'),
        None if shown.contains('|') => (in_bars(text, &line, label), '|'),
        None => (in_words(text, &line, label).unwrap_or_default(), ','),
    };
    found.into_iter().filter_map(|it| secret_in(text, it, separator, value_kind)).collect()
}

/// Returns the cells below a label in a joined table with bars; its rule of dashes shows how many columns it has.
fn in_bars(text: &str, line: &Range<usize>, label: &Range<usize>) -> Vec<Range<usize>> {
    let shown = text.get(line.clone()).unwrap_or("");
    let cells: Vec<Range<usize>> =
        cells(shown, '|').map(|it| line.start + it.start..line.start + it.end).collect();
    let is_rule = |cell: &Range<usize>| {
        let shown = text.get(cell.clone()).unwrap_or("").trim();
        shown.len() >= 3 && shown.bytes().all(|byte| matches!(byte, b'-' | b':'))
    };
    let is_label = |cell: &Range<usize>| cell.start <= label.start && label.end <= cell.end;
    let (Some(first), Some(at)) = (cells.iter().position(is_rule), cells.iter().position(is_label))
    else {
        return Vec::new();
    };
    // An empty cell separates two joined rows. The second row is the rule, so the first data row is two rows down.
    let n_columns = cells.iter().skip(first).take_while(|it| is_rule(it)).count();
    let is_header = at < first && first <= at + n_columns + 1;
    let below = cells.into_iter().skip(at).step_by(n_columns + 1).skip(2).take(MAX_ROWS);
    below.filter(|_| is_header).collect()
}

/// Returns the cells below a label in joined rows without blanks in their cells: `user,password ann,…`.
fn in_words(text: &str, line: &Range<usize>, label: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let shown = text.get(line.clone())?;
    let parts = shown.split([' ', '\t']).flat_map(|word| word.split("\\n"));
    let parts = parts.map(|part| part.trim_matches(['"', '\'']));
    // Pointer difference: `part` is a slice of `shown`.
    let start_of = |part: &str| line.start + (part.as_ptr() as usize - shown.as_ptr() as usize);
    let mut rows = parts.skip_while(|part| start_of(part) + part.len() < label.end);
    let header = rows.next().filter(|it| start_of(it) <= label.start)?;
    let separator = [';', ','].into_iter().find(|it| header.contains(*it))?;
    let cell_at = |row: &str, i: usize| {
        cells(row, separator).nth(i).map(|it| start_of(row) + it.start..start_of(row) + it.end)
    };
    let n_cells = cells(header, separator).count();
    let at = (0..n_cells).find(|i| cell_at(header, *i).as_ref() == Some(label))?;
    let is_row = |row: &&str| cells(row, separator).count() == n_cells;
    Some(rows.take_while(is_row).take(MAX_ROWS).filter_map(|row| cell_at(row, at)).collect())
}

/// Returns the values of the label's column in SQL: `INSERT INTO users (name, password) VALUES ('ann', '…')`.
fn in_tuples(text: &str, line: &Range<usize>, label: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let names = text.get(line.start..label.start)?.rsplit('(').next()?;
    let after = text.get(label.end..text.floor_char_boundary(label.end + MAX_ROW_BYTES))?;
    let rest = after.split_once(')')?.1.trim_start();
    let (_, rows) = rest.split_at_checked(6).filter(|it| it.0.eq_ignore_ascii_case("values"))?;
    let value = |row: &str| {
        let cell = row.split(',').nth(names.matches(',').count())?.split("')").next()?;
        let cell = cell.trim_start().strip_prefix('\'')?;
        // Pointer difference: `cell` is a slice of `text`.
        let at = cell.as_ptr() as usize - text.as_ptr() as usize;
        Some(trimmed(text, at..at + cell.len()))
    };
    Some(rows.split('(').skip(1).take(MAX_ROWS).filter_map(value).collect())
}

/// Returns the line around a place, limited to [`MAX_ROW_BYTES`] on either side.
fn line_around(text: &str, place: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let from = text.ceil_char_boundary(place.start.saturating_sub(MAX_ROW_BYTES));
    let to = text.floor_char_boundary(place.end + MAX_ROW_BYTES);
    let before = bytes.get(from..place.start).unwrap_or(&[]);
    let start = memchr::memrchr(b'\n', before).map_or(from, |at| from + at + 1);
    let after = bytes.get(place.end..to).unwrap_or(&[]);
    start..memchr::memchr(b'\n', after).map_or(to, |at| place.end + at)
}

/// Returns the line of a label, the separator of its cells and the number of the label's, if it is in one of several.
fn header(text: &str, label: &Range<usize>) -> Option<(Range<usize>, char, usize)> {
    let Range { start, end } = line_around(text, label);
    text.as_bytes().get(end).filter(|byte| **byte == b'\n')?;
    let line = text.get(start..end)?;
    let separator = ['|', '\t', ';', ','].into_iter().find(|it| line.contains(*it)).unwrap_or(' ');
    let (column, cell) = cells(line, separator)
        .enumerate()
        .find(|(_, it)| it.start <= label.start - start && label.end - start <= it.end)?;
    let words = line.get(cell)?.trim_matches([' ', '*', '"', '\'', '`', '\r']);
    let is_name = !words.contains(['=', ':', '.', '?', '<', '(', ')', '{', '$', '/', '!', '&']);
    let n_cells = cells(line, separator).count();
    // A header is the first row of its table.
    let end_before = start.saturating_sub(1);
    let before = text.get(line_around(text, &(end_before..end_before)))?;
    let is_first = start == 0 || cells(before, separator).count() != n_cells;
    let is_short = words.split_whitespace().count() <= MAX_HEADER_WORDS;
    // Words separated by blanks are a header only if each has a column below it. Code has commas and blanks, too, but
    // is indented.
    let is_plain = !line.starts_with(['#', '/']) && !line.ends_with([',', ';', '{', '(']);
    let is_flush = is_plain && !line.starts_with([' ', '\t']);
    let is_table = match separator {
        ' ' => {
            let is_label = words.len() == label.len();
            is_flush && is_label && !line.contains(['.', ':', '=']) && (2..=6).contains(&n_cells)
        }
        // A sentence is no header: it has an end, or more words between its commas.
        ',' | ';' => {
            let n_words =
                |it: Range<usize>| line.get(it).map_or(0, |it| it.split_whitespace().count());
            let is_sentence = line.trim_end().ends_with(['.', '?', '!', ':']);
            let are_short = cells(line, separator).all(|it| n_words(it) <= MAX_HEADER_WORDS);
            is_plain && n_cells > 1 && !is_sentence && are_short
        }
        // Code has bars, too, but no blanks around them.
        '|' => is_first && (line.contains(" | ") || line.starts_with('|')),
        _ => is_flush && n_cells > 1 && is_first && !line.contains(['(', ';', '=']),
    };
    (is_name && is_short && is_table).then_some((start..end, separator, column))
}

/// Returns the ranges of a row's cells; a bar after a backslash and a comma in quotes separate none.
fn cells(row: &str, separator: char) -> impl Iterator<Item = Range<usize>> {
    let mut is_quoted = false;
    let is_end = move |(at, c): &(usize, char)| {
        is_quoted ^= *c == '"' && matches!(separator, ',' | ';');
        *c == separator
            && !is_quoted
            && !(separator == '|' && row.get(..*at).is_some_and(|it| it.ends_with('\\')))
    };
    let ends = row.char_indices().filter(is_end).map(|it| it.0).chain([row.len()]);
    let mut at = 0;
    ends.filter_map(move |end| {
        let range = at..end;
        at = end + separator.len_utf8();
        (separator != ' ' || !range.is_empty()).then_some(range)
    })
}

/// Returns the content of a cell without quotes and emphasis, if it is a secret.
fn secret_in(
    text: &str,
    cell: Range<usize>,
    separator: char,
    value_kind: ValueKind,
) -> Option<Range<usize>> {
    let range = trimmed(text, cell);
    let value = text.get(range.clone())?;
    // Commas and blanks are between any words.
    let is_one = match (value_kind, separator) {
        (ValueKind::Any | ValueKind::Pair, _) => false,
        (_, '|' | '\t') => is_secret(value, value_kind, Form::Whole),
        (ValueKind::Password, ',' | ';') if is_secret(value, ValueKind::Pass, Form::Whole) => true,
        _ => is_secret(value, value_kind, Form::Part),
    };
    is_one.then_some(range)
}
