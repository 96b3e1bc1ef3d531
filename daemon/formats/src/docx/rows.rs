//! Rows: writes tables, row by row.
//!
//! Invariants: every row of a table has a cell for each column, so that readers can count columns; only short text of
//! a merged cell is repeated, so that merging cannot inflate a document.

use std::ops::Range;

use super::model::{CellShape, Merge, Node, TableShape};
use super::write::DocxWriter;

/// Longest text that is repeated in the cells that a merged one covers, in bytes.
const MAX_REPEATED_BYTES: usize = 200;
/// Most pieces of such a text.
const MAX_REPEATED_PIECES: usize = 16;

/// The tables that are open.
#[derive(Default)]
pub(super) struct Rows {
    open: Vec<WrittenTable>,
    /// Number of open rows from a deleted one on.
    n_skipped: usize,
}

#[derive(Default)]
struct WrittenTable {
    shape: TableShape,
    in_row: bool,
    /// The column of the open cell.
    column: usize,
    /// Number of columns that the open cell covers.
    n_columns: usize,
    /// Number of cells in the open row.
    n_cells: u32,
    /// For each column, the text of a cell that is merged with those below it.
    merged: Vec<Option<Repeated>>,
    /// The text of the open cell, if it may have to be repeated.
    capture: Option<Repeated>,
    merge: Merge,
}

/// A text to be repeated; empty if it is too long.
#[derive(Clone, Default)]
struct Repeated {
    pieces: Vec<Range<usize>>,
    n_bytes: usize,
    is_too_long: bool,
}

impl Rows {
    /// True inside a row of a data table.
    pub(super) fn in_row(&self) -> bool {
        self.open.iter().any(|table| table.in_row && !table.shape.is_layout)
    }

    /// True for a node in a deleted row.
    pub(super) fn skips(&mut self, node: &Node) -> bool {
        match node {
            Node::RowStart(row) if row.is_deleted || self.n_skipped > 0 => self.n_skipped += 1,
            Node::RowEnd if self.n_skipped > 0 => self.n_skipped -= 1,
            _ => return self.n_skipped > 0,
        }
        true
    }

    /// Records a piece of the open cell, in case it must be repeated.
    pub(super) fn capture(&mut self, range: &Range<usize>) {
        let Some(capture) = self.open.last_mut().and_then(|table| table.capture.as_mut()) else {
            return;
        };
        capture.n_bytes += range.len();
        if capture.n_bytes > MAX_REPEATED_BYTES || capture.pieces.len() >= MAX_REPEATED_PIECES {
            capture.is_too_long = true;
            capture.pieces.clear();
        } else if !capture.is_too_long {
            capture.pieces.push(range.clone());
        }
    }
}

impl DocxWriter<'_> {
    pub(super) fn table_part(&mut self, node: &Node) {
        match node {
            Node::TableStart(shape) => {
                self.rows.open.push(WrittenTable { shape: *shape, ..WrittenTable::default() });
                if shape.is_layout {
                    self.builder.end_block();
                } else {
                    self.builder.begin_table();
                }
            }
            Node::TableEnd => match self.rows.open.pop() {
                Some(table) if !table.shape.is_layout => self.builder.end_table(),
                _ => self.builder.end_block(),
            },
            _ if self.rows.open.last().is_none_or(|table| table.shape.is_layout) => {
                self.builder.end_block();
            }
            Node::RowStart(row) => {
                self.builder.begin_row(row.is_header);
                if let Some(table) = self.rows.open.last_mut() {
                    (table.in_row, table.column, table.n_cells) = (true, 0, row.n_cells);
                }
                self.empty_cells(row.n_skipped);
            }
            Node::RowEnd => {
                if let Some(table) = self.rows.open.last_mut() {
                    table.in_row = false;
                }
                self.builder.end_row();
            }
            Node::CellStart(cell) => self.begin_cell(*cell),
            Node::CellEnd => self.end_cell(),
            Node::Paragraph(_) => {}
        }
    }

    fn empty_cells(&mut self, n_cells: u32) {
        (0..n_cells).for_each(|_| self.builder.begin_cell());
        if let Some(table) = self.rows.open.last_mut() {
            table.column += n_cells as usize;
        }
    }

    fn begin_cell(&mut self, cell: CellShape) {
        self.builder.begin_cell();
        let Some(table) = self.rows.open.last_mut() else { return };
        table.n_columns = cell.n_columns.max(1) as usize;
        table.merge = cell.merge;
        let covers_several = table.n_columns > 1 || cell.merge == Merge::Restart;
        table.capture = covers_several.then(Repeated::default);
        if cell.merge == Merge::Continue {
            let above = table.merged.get(table.column).cloned().flatten();
            self.repeat(above.as_ref());
            if let Some(table) = self.rows.open.last_mut() {
                table.capture = above;
            }
        }
    }

    fn end_cell(&mut self) {
        let Some(table) = self.rows.open.last_mut() else { return };
        let capture = table.capture.take();
        let (column, n_columns) = (table.column, table.n_columns);
        table.column += n_columns;
        let reaches_down = table.merge != Merge::None;
        if reaches_down && table.merged.len() <= column {
            table.merged.resize(column + 1, None);
        }
        if let Some(below) = table.merged.get_mut(column) {
            *below = capture.clone().filter(|_| reaches_down);
        }
        // A cell that covers the whole row is written once.
        let is_alone = table.n_cells == 1;
        for _ in 1..n_columns {
            self.builder.begin_cell();
            self.repeat(capture.as_ref().filter(|_| !is_alone));
        }
    }

    fn repeat(&mut self, text: Option<&Repeated>) {
        for range in text.map_or(&[][..], |text| text.pieces.as_slice()) {
            self.builder.flow(range.clone());
        }
    }
}
