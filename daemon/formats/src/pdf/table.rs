//! Tables: recognizes rows of cells below each other.
//!
//! In: lines whose words are in cells. Out: which lines form a table, and the column of each cell.
//! Invariants: a table has at least two rows and two columns; in nine of ten rows, no two cells share a column.

use super::columns::Line;
use super::write::PdfText;

/// Largest average length of cells, in bytes; longer ones are text in columns.
const MAX_CELL_CHARS: usize = 60;
/// Most rows of one table.
const MAX_ROWS: usize = 5_000;

/// A table among lines.
#[derive(Debug)]
pub(super) struct Table {
    start: usize,
    /// The line after the last row.
    pub(super) end: usize,
    /// Left and right end of each column, from left to right.
    columns: Vec<(f32, f32)>,
}

/// Returns the table that begins at a line.
pub(super) fn table_at(lines: &[Line], at: usize) -> Option<Table> {
    let is_row = |line: &&Line| line.cells.len() >= 2;
    lines.get(at).filter(is_row)?;
    let n_rows = lines.iter().skip(at).take(MAX_ROWS).take_while(is_row).count();
    let rows = lines.get(at..at + n_rows)?;
    if n_rows < 2 {
        return None;
    }
    let columns = columns_of(rows)?;
    let n_cells: usize = rows.iter().map(|row| row.cells.len()).sum();
    let n_chars: usize =
        rows.iter().flat_map(|row| &row.words).map(|word| word.text.len() + 1).sum();
    // At least half of the cells are filled; two rows of two cells are not enough to be sure.
    let is_full = n_cells * 2 >= n_rows * columns.len();
    let enough = n_rows >= 3 || columns.len() >= 3;
    (is_full && enough && n_chars <= n_cells * MAX_CELL_CHARS).then_some(Table {
        start: at,
        end: at + n_rows,
        columns,
    })
}

/// Returns the ranges of x that the cells of all rows fall into, such that hardly any row has two cells in one.
fn columns_of(rows: &[Line]) -> Option<Vec<(f32, f32)>> {
    let mut areas: Vec<(f32, f32)> =
        rows.iter().flat_map(cells_of).map(|(x0, x1, _)| (x0, x1)).collect();
    // Cells that overlap in x are in one column.
    areas.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut columns: Vec<(f32, f32)> = Vec::new();
    for (x0, x1) in areas {
        match columns.last_mut().filter(|last| x0 < last.1) {
            Some(last) => last.1 = last.1.max(x1),
            None => columns.push((x0, x1)),
        }
    }
    // Cells of a row come in order, so equal columns are adjacent.
    let fits = |row: &Line| {
        let mut places: Vec<usize> = cells_of(row).map(|(x0, ..)| place_of(&columns, x0)).collect();
        let n = places.len();
        places.dedup();
        places.len() == n
    };
    let n_fitting = rows.iter().filter(|row| fits(row)).count();
    (columns.len() >= 2 && n_fitting * 10 >= rows.len() * 9).then_some(columns)
}

/// Returns left end, right end and words of each cell of a row.
fn cells_of(row: &Line) -> impl Iterator<Item = (f32, f32, std::ops::Range<usize>)> + '_ {
    row.cells.iter().enumerate().map(|(i, start)| {
        let end = row.cells.get(i + 1).copied().unwrap_or(row.words.len());
        let words = row.words.get(*start..end).unwrap_or(&[]);
        let x0 = words.iter().fold(f32::MAX, |x, word| x.min(word.x0));
        let x1 = words.iter().fold(f32::MIN, |x, word| x.max(word.x1));
        (x0, x1, *start..end)
    })
}

fn place_of(columns: &[(f32, f32)], x0: f32) -> usize {
    columns.partition_point(|column| column.0 <= x0).saturating_sub(1)
}

impl Table {
    /// Writes the rows.
    pub(super) fn write(self, out: &mut PdfText, lines: &[Line]) {
        out.builder.begin_table();
        let rows = lines.get(self.start..self.end).unwrap_or(&[]);
        // A bold first row above a row that is not bold is a header.
        let has_header = matches!(rows, [first, second, ..] if super::blocks::is_bold(first)
            && !super::blocks::is_bold(second));
        for (i, row) in rows.iter().enumerate() {
            out.builder.begin_row(has_header && i == 0);
            let mut cells: Vec<(usize, std::ops::Range<usize>)> =
                cells_of(row).map(|(x0, _, words)| (place_of(&self.columns, x0), words)).collect();
            cells.sort_by_key(|(place, _)| *place);
            let mut cells = cells.into_iter().peekable();
            // Empty cells are written too, so that the columns of all rows match.
            for place in 0..self.columns.len() {
                out.builder.begin_cell();
                while let Some((_, words)) = cells.next_if(|(at, _)| *at <= place) {
                    for word in row.words.get(words).unwrap_or(&[]) {
                        out.flow(&word.text, false);
                    }
                }
            }
            out.builder.end_row();
        }
        out.builder.end_table();
    }
}
