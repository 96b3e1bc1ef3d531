//! Sheets: writes the cells of tables, with the names of their columns.
//!
//! In: cells by row and column, in any order. Out: a heading for each named sheet, then its rows as one table; text
//! that stands alone above a table is a paragraph. The first row names the columns if it differs in kind from the
//! rows below: it has words or years where they have numbers. Rows that merged cells of the first one cover name them
//! too. Otherwise the columns are named by their letters.
//! Invariants: columns without any cell are dropped; at most [`MAX_ROWS`] rows per sheet are kept, with a warning
//! that counts the others; merging cells cannot inflate a document.

use std::collections::BTreeMap;
use std::ops::Range;

use super::builder::TextBuilder;
use super::format::FormatLimits;
use model::document::Parsed;
use model::terms::SpanMap;

/// Most rows of one sheet; longer tables are data for programs.
pub(super) const MAX_ROWS: usize = 10_000;
/// Number of rows that a first row is compared with.
const MAX_COMPARED: usize = 100;
/// Most rows that name columns together.
const MAX_NAMING: usize = 5;
/// Longest text that is repeated in the cells that a merged one covers, in bytes.
const MAX_REPEATED_BYTES: usize = 200;
/// Most repetitions in one document.
const MAX_REPEATED: usize = 100_000;

/// The sheets of a document.
pub(super) struct Sheets {
    /// The text of all cells.
    text: String,
    /// Where the text comes from, for sources that have places.
    map: SpanMap,
    sheets: Vec<Sheet>,
    n_repeated: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct Sheet {
    name: Range<usize>,
    rows: BTreeMap<u32, Row>,
    /// For a row with merged cells, the last row that explains what stands below them.
    reaches: BTreeMap<u32, u32>,
    /// The number of rows beyond the limit, and the last of them.
    left_out: (usize, Option<u32>),
}

/// The cells of a row, by column: ranges of the text.
type Row = BTreeMap<u32, Range<usize>>;

impl Sheets {
    pub(super) fn new(limits: &FormatLimits) -> Self {
        Sheets {
            text: String::new(),
            map: SpanMap::default(),
            sheets: Vec::new(),
            n_repeated: 0,
            max_bytes: limits.max_output_bytes,
        }
    }

    /// Begins a sheet; `name` is empty if it has none.
    pub(super) fn begin(&mut self, name: &str) {
        let name = self.append(name);
        self.sheets.push(Sheet { name, ..Sheet::default() });
    }

    /// Adds a cell to the last sheet. `source` is its place in the file, if that is text.
    pub(super) fn cell(&mut self, at: (u32, u32), text: &str, source: Range<usize>) {
        let (row, column) = at;
        // Longer text would be cut anyway; the builder says so.
        let is_full = self.text.len() > self.max_bytes;
        let Some(sheet) = self.sheets.last_mut().filter(|_| !is_full && !text.trim().is_empty())
        else {
            return;
        };
        if sheet.rows.len() >= MAX_ROWS && !sheet.rows.contains_key(&row) {
            // Cells of a row come one after the other.
            sheet.left_out.0 += usize::from(sheet.left_out.1.replace(row) != Some(row));
            return;
        }
        let start = self.text.len();
        if source.len() == text.len() {
            self.map.push(start, text.len(), source.start, source.len());
        } else {
            self.map.push_replaced(start, text.len(), source);
        }
        self.text.push_str(text);
        sheet.rows.entry(row).or_default().insert(column, start..self.text.len());
    }

    /// Repeats the text of a merged cell of the last sheet in the rows and columns that it covers, but not sideways
    /// in a row that has nothing else: that is a title.
    pub(super) fn merge(&mut self, first: (u32, u32), last: (u32, u32)) {
        let Some(sheet) = self.sheets.last_mut() else { return };
        let merged = sheet.rows.get(&first.0).and_then(|row| row.get(&first.1)).cloned();
        let is_range = first.0 <= last.0 && first.1 <= last.1;
        let Some(merged) = merged.filter(|it| is_range && it.len() <= MAX_REPEATED_BYTES) else {
            return;
        };
        for (_, row) in sheet.rows.range_mut(first.0..=last.0) {
            let edges = (row.first_key_value(), row.last_key_value());
            let is_alone = matches!(edges, (Some((from, _)), Some((to, _)))
                if *from >= first.1 && *to <= last.1);
            for column in first.1..=if is_alone { first.1 } else { last.1 } {
                if self.n_repeated >= MAX_REPEATED {
                    return;
                }
                self.n_repeated += 1;
                row.entry(column).or_insert_with(|| merged.clone());
            }
            // What is below a wide cell divides it.
            let to = last.0.saturating_add(u32::from(!is_alone && first.1 < last.1));
            let reach = sheet.reaches.entry(first.0).or_default();
            *reach = to.max(*reach);
        }
    }

    /// Writes all sheets.
    pub(super) fn write(mut self, limits: &FormatLimits) -> Parsed {
        let n_left_out: usize = self.sheets.iter().map(|sheet| sheet.left_out.0).sum();
        let sheets = std::mem::take(&mut self.sheets);
        // The names of columns are text too, which must be complete before the builder reads it.
        let tables: Vec<Table> = sheets.into_iter().map(|sheet| self.table_of(sheet)).collect();
        let mut out = TextBuilder::new(&self.text, limits);
        tables.iter().for_each(|table| table.write(&mut out));
        let mut parsed = out.finish();
        parsed.map = parsed.map.then(&self.map);
        if n_left_out > 0 {
            parsed.warnings.push(format!(
                "{n_left_out} rows are not indexed: of each sheet only the first {MAX_ROWS} are; \
                 hint: keep large tables in a database"
            ));
        }
        parsed
    }

    fn append(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    fn text_at(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or("").trim()
    }

    fn table_of(&mut self, sheet: Sheet) -> Table {
        let (numbers, mut rows): (Vec<u32>, Vec<Row>) = sheet.rows.into_iter().unzip();
        let n_titles = rows.iter().take_while(|row| row.len() == 1).count();
        // A list of single cells has no title.
        let n_titles = if n_titles == rows.len() { 0 } else { n_titles };
        let titles = rows.drain(..n_titles).flat_map(BTreeMap::into_values).collect();
        let mut columns: Vec<u32> = rows.iter().flat_map(|row| row.keys().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        let numbers = numbers.get(n_titles..).unwrap_or(&[]);
        let reach = numbers.first().and_then(|first| sheet.reaches.get(first));
        let n_naming = match reach {
            Some(reach) => numbers.partition_point(|row| row <= reach).min(MAX_NAMING),
            None => usize::from(self.names_columns(&rows, columns.len())),
        };
        let mut header = Row::new();
        for (column, label) in rows.drain(..n_naming).flatten() {
            let above = header.get(&column).map_or("", |above| self.text_at(above));
            if above.is_empty() {
                header.insert(column, label);
            } else if above != self.text_at(&label) {
                let both = format!("{above} {}", self.text_at(&label));
                header.insert(column, self.append(&both));
            }
        }
        if n_naming > 0 || columns.len() > 1 {
            for column in &columns {
                header.entry(*column).or_insert_with(|| self.append(&letters_of(*column)));
            }
        }
        Table { name: sheet.name, titles, header, columns, rows }
    }

    /// True if the first row names the columns: most have a name, none comes again below, and the names are of other
    /// kinds than what stands below more often than of the same; words may stand over words. A single column must
    /// hold something else below.
    fn names_columns(&self, rows: &[Row], n_columns: usize) -> bool {
        let Some((first, rest)) = rows.split_first() else { return false };
        let texts = |row: &Row| row.values().map(|it| self.text_at(it).to_string()).collect();
        let named: Vec<String> = texts(first);
        // A long table may repeat its first row.
        let rest = rest.iter().take(MAX_COMPARED).filter(|row| texts(row) != named);
        let rest: Vec<&Row> = rest.collect();
        let (mut n_other, mut n_same) = (0, 0);
        for (column, label) in first {
            let below = rest.iter().filter_map(|row| row.get(column)).map(|it| self.text_at(it));
            let label = self.text_at(label);
            let kind = Kind::of(label);
            let (mut n_alike, mut n_below) = (0, 0);
            for cell in below {
                if cell == label {
                    return false;
                }
                (n_alike, n_below) = (n_alike + usize::from(Kind::of(cell) == kind), n_below + 1);
            }
            let is_alike = n_alike * 2 > n_below;
            n_other += usize::from(n_below > 0 && !is_alike);
            n_same += usize::from(is_alike && kind != Kind::Words);
        }
        !rest.is_empty()
            && (n_columns > 1 || n_other > 0)
            && first.len() * 2 > n_columns
            && (n_other > n_same || n_same == 0)
    }
}

/// What kind of text a cell holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Words,
    Year,
    Number,
    /// Letters and digits, such as `q1` and `2024-05-01`.
    Mixed,
}

impl Kind {
    fn of(text: &str) -> Self {
        let n_digits = text.chars().filter(|char| char.is_numeric()).count();
        let n_letters = text.chars().filter(|char| char.is_alphabetic()).count();
        let is_year = text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
        match (n_letters, n_digits) {
            (_, 0) => Kind::Words,
            (0, 4) if is_year => Kind::Year,
            (0, _) if text.matches(['-', '/', ':']).count() < 2 => Kind::Number,
            _ if n_letters > 3 * n_digits => Kind::Words,
            _ => Kind::Mixed,
        }
    }
}

/// A sheet in the order in which it is written.
struct Table {
    name: Range<usize>,
    titles: Vec<Range<usize>>,
    header: Row,
    columns: Vec<u32>,
    rows: Vec<Row>,
}

impl Table {
    fn write(&self, out: &mut TextBuilder<'_>) {
        // A sheet is a section of a document, and never its title.
        out.begin_heading(2);
        out.flow(self.name.clone());
        out.end_block();
        for title in &self.titles {
            out.begin_text();
            out.flow(title.clone());
            out.end_block();
        }
        out.begin_table();
        for (i, row) in std::iter::once(&self.header).chain(&self.rows).enumerate() {
            out.begin_row(i == 0);
            for column in &self.columns {
                out.begin_cell();
                if let Some(cell) = row.get(column) {
                    out.flow(cell.clone());
                }
            }
            out.end_row();
        }
        out.end_table();
    }
}

/// Returns the letters of a column, counted from 0: `A` to `Z`, `AA` and so on.
fn letters_of(column: u32) -> String {
    let mut letters = Vec::new();
    let mut left = u64::from(column) + 1;
    while left > 0 {
        letters.push(char::from(b'A' + ((left - 1) % 26) as u8));
        left = (left - 1) / 26;
    }
    letters.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::letters_of;

    #[test]
    fn columns_have_the_letters_of_spreadsheets() {
        assert_eq!(
            [0, 25, 26, 701, 702, 16_383].map(letters_of),
            ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
        );
    }
}
