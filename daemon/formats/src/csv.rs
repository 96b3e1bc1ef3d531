//! CSV: values separated by commas, semicolons or tabs.
//!
//! In: decoded, redacted text. Out: one table; cells map back to the file. The first row with a separator decides
//! which one is meant, so that `12,5` stays a number where semicolons separate.
//! Invariants: linear time; rows may have any number of cells; text that is no table is one column.

use csv_core::{ReadFieldResult, ReaderBuilder};

use super::format::{Format, FormatLimits};
use super::sheet::Sheets;
use model::document::Parsed;

/// Separators; where several occur equally often, the first one is meant.
const SEPARATORS: [u8; 3] = *b"\t;,";
/// Number of records in which separators are looked for; titles may stand above a table.
const MAX_COUNTED: usize = 20;
/// What separates nothing: decoded text has none.
const NO_SEPARATOR: u8 = 0;

/// Reads CSV and TSV.
pub(crate) struct Csv;

impl Format<str> for Csv {
    fn read(&self, text: &str, limits: &FormatLimits) -> Result<Parsed, String> {
        let (mut sheets, is_open) = rows_of(text, limits, true)?;
        // Where a quotation never ends, quotes are characters like others.
        if is_open {
            (sheets, _) = rows_of(text, limits, false)?;
        }
        Ok(sheets.write(limits))
    }
}

/// Returns the rows, and whether a quotation does not end.
fn rows_of(text: &str, limits: &FormatLimits, has_quotes: bool) -> Result<(Sheets, bool), String> {
    let mut sheets = Sheets::new(limits);
    sheets.begin("");
    // A line of its own names the separator for Excel, which it does not show.
    let declared = text.strip_prefix("sep=").and_then(|it| it.split_once('\n'));
    let declared = declared.filter(|(separator, _)| separator.len() == 1);
    let separator = declared.and_then(|(separator, _)| separator.bytes().next());
    let separator = separator.unwrap_or_else(|| separator_of(text));
    let mut reader = ReaderBuilder::new().delimiter(separator).quoting(has_quotes).build();
    // No field is longer than the whole text; without room for one more byte, the reader would ask for it.
    let mut field = vec![0; text.len() + 1];
    let begin = declared.map_or(0, |(_, rest)| text.len() - rest.len());
    let (mut at, mut start, mut n_filled) = (begin, begin, 0);
    let (mut row, mut column) = (0_u32, 0_u32);
    loop {
        let input = text.as_bytes().get(at..).unwrap_or(&[]);
        let output = field.get_mut(n_filled..).unwrap_or(&mut []);
        let (result, n_in, n_out) = reader.read_field(input, output);
        (at, n_filled) = (at + n_in, n_filled + n_out);
        match result {
            ReadFieldResult::InputEmpty => {}
            ReadFieldResult::Field { record_end } => {
                let read = field.get(..n_filled).unwrap_or(&[]);
                let value = std::str::from_utf8(read).map_err(|error| error.to_string())?;
                // Without doubled quotes in it, a value stands in the file as it is.
                let raw = text.get(start..at).unwrap_or("");
                let is_open =
                    raw.starts_with('"') && (raw.len() == 1 || !raw.trim_end().ends_with('"'));
                if has_quotes && is_open && at == text.len() {
                    return Ok((sheets, true));
                }
                let place = raw
                    .find(value)
                    .map_or(start..at, |in_raw| start + in_raw..start + in_raw + value.len());
                sheets.cell((row, column), value, place);
                (start, n_filled, column) = (at, 0, column.saturating_add(1));
                if record_end {
                    (row, column) = (row.saturating_add(1), 0);
                }
            }
            ReadFieldResult::OutputFull | ReadFieldResult::End => break,
        }
    }
    Ok((sheets, false))
}

/// Returns the separator: the most frequent one of the first record, or, below titles, of the first of two that have
/// equally many.
fn separator_of(text: &str) -> u8 {
    let mut records = vec![[0_usize; SEPARATORS.len()]];
    let mut is_quoted = false;
    for byte in text.trim_start().bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' if !is_quoted && records.len() > MAX_COUNTED => break,
            b'\n' if !is_quoted => records.push(Default::default()),
            _ if is_quoted => {}
            _ => {
                let place = SEPARATORS.iter().position(|it| *it == byte);
                let count = place.and_then(|at| records.last_mut()?.get_mut(at));
                count.into_iter().for_each(|count| *count += 1);
            }
        }
    }
    let most = |counts: &[usize; SEPARATORS.len()]| {
        let all = counts.iter().zip(SEPARATORS).filter(|(n, _)| **n > 0);
        // Of equal ones, the last in reverse order is the first.
        all.rev().max_by_key(|(n, _)| **n).map(|(n, separator)| (*n, separator))
    };
    let first = records.first().and_then(most);
    let below =
        || records.windows(2).find_map(|it| most(&it[0]).filter(|_| most(&it[0]) == most(&it[1])));
    first.or_else(below).map_or(NO_SEPARATOR, |(_, separator)| separator)
}

#[cfg(test)]
mod tests;
