//! Tables: the state of an open table, and whether it contains data.
//!
//! A table is data unless it is layout: at most one cell in each row (a box), headings in cells, or rows as long as
//! pages. Rows of data become lines; laid-out text becomes paragraphs.

use super::body::{Body, Frame};
use super::model::{CellShape, Node, RowShape, TableShape};

/// Longest row of data, in bytes of text; longer ones are columns of a page.
const MAX_ROW_BYTES: usize = 6_000;
/// Deepest nesting of tables that is kept.
const MAX_TABLES: usize = 32;

/// A table that is open.
#[derive(Default)]
pub(super) struct OpenTable {
    /// Index of its start among the nodes.
    start: usize,
    pub(super) shape: TableShape,
    /// Index of its last row's start.
    row_start: usize,
    n_rows: usize,
    n_cells: usize,
    n_most_cells: usize,
    has_headings: bool,
    in_row: bool,
    in_cell: bool,
    row_text: usize,
    has_long_row: bool,
}

impl Body<'_> {
    pub(super) fn begin_table(&mut self) -> Frame {
        self.flush_carried();
        if self.tables.len() >= MAX_TABLES
            || !self.push_node(Node::TableStart(TableShape::default()))
        {
            self.n_flat_tables += 1;
            return Frame::FlatTable;
        }
        let start = self.sinks.last().map_or(0, |nodes| nodes.len() - 1);
        self.tables.push(OpenTable { start, ..OpenTable::default() });
        Frame::Table
    }

    /// Opens a row, if it is directly in a table.
    pub(super) fn begin_row(&mut self) -> Frame {
        let here = self.content.text.len();
        let may = self.n_flat_tables == 0;
        let Some(table) = self.tables.last_mut().filter(|table| may && !table.in_row) else {
            return Frame::Plain;
        };
        table.in_row = true;
        table.row_text = here;
        table.n_cells = 0;
        table.n_rows += 1;
        let is_header = table.n_rows == 1 && table.shape.has_header;
        table.row_start = self.sinks.last().map_or(0, Vec::len);
        self.push_node(Node::RowStart(RowShape { is_header, ..RowShape::default() }));
        Frame::Row
    }

    /// Opens a cell, if it is directly in a row.
    pub(super) fn begin_cell(&mut self) -> Frame {
        let may = self.n_flat_tables == 0;
        let Some(table) =
            self.tables.last_mut().filter(|table| may && table.in_row && !table.in_cell)
        else {
            return Frame::Plain;
        };
        table.in_cell = true;
        table.n_cells += 1;
        self.push_node(Node::CellStart(CellShape::default()));
        Frame::Cell
    }

    pub(super) fn end_cell(&mut self) {
        self.flush_carried();
        self.push_node(Node::CellEnd);
        if let Some(table) = self.tables.last_mut() {
            table.in_cell = false;
        }
    }

    pub(super) fn end_row(&mut self) {
        let here = self.content.text.len();
        self.push_node(Node::RowEnd);
        if let Some(table) = self.tables.last_mut() {
            table.in_row = false;
            table.n_most_cells = table.n_most_cells.max(table.n_cells);
            table.has_long_row |= here - table.row_text > MAX_ROW_BYTES;
            let row = self.sinks.last_mut().and_then(|nodes| nodes.get_mut(table.row_start));
            if let Some(Node::RowStart(row)) = row {
                row.n_cells = u32::try_from(table.n_cells).unwrap_or(u32::MAX);
            }
        }
    }

    pub(super) fn end_table(&mut self) {
        self.push_node(Node::TableEnd);
        let Some(mut table) = self.tables.pop() else { return };
        table.shape.is_layout = table.n_most_cells <= 1 || table.has_headings || table.has_long_row;
        // Only now is the whole table known: correct the node at its start.
        if let Some(Node::TableStart(shape)) =
            self.sinks.last_mut().and_then(|nodes| nodes.get_mut(table.start))
        {
            *shape = table.shape;
        }
        if table.has_headings {
            // The table around this one is layout, too.
            self.note_heading();
        }
    }

    /// Records a heading: the table around it, if any, is layout.
    pub(super) fn note_heading(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.has_headings = true;
        }
    }
}
