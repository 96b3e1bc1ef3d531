//! Table: distinguishes data tables from tables for layout.
//!
//! In: a table or row of a tree. Out: yes or no. Invariant: visits a bounded number of nodes, so that nested tables
//! take linear time.

use super::kind::Kind;
use super::tree::{NodeId, Tree};

/// Most nodes visited to judge a table. The first rows show its nature; the bound makes nested tables cheap.
const MAX_LOOKED_AT: usize = 400;

/// True for a data table, false for one that lays out blocks.
pub(super) fn holds_data(tree: &Tree, table: NodeId) -> bool {
    let role = tree.element(table).and_then(|element| element.attr("role"));
    if matches!(role, Some("presentation" | "none")) {
        return false;
    }
    let (mut n_cells, mut n_rows, mut has_blocks) = (0, 0, false);
    for id in tree.walk(table).skip(1).take(MAX_LOOKED_AT) {
        let Some(element) = tree.element(id) else { continue };
        match element.kind {
            Kind::HeaderCell => return true,
            Kind::Block if matches!(&*element.name.local, "caption" | "thead") => return true,
            Kind::Pre
            | Kind::Heading(_)
            | Kind::Table
            | Kind::Article
            | Kind::Main
            | Kind::Form => {
                has_blocks = true;
            }
            Kind::Row => n_rows += 1,
            Kind::Cell => n_cells += 1,
            _ => {}
        }
    }
    // One cell in each row is a box.
    !has_blocks && n_cells > n_rows
}

/// True for a row of header cells only.
pub(super) fn is_header(tree: &Tree, row: NodeId) -> bool {
    let mut n_headers = 0;
    let mut next = tree.first_child(row);
    while let Some(cell) = next {
        match tree.element(cell).map(|element| element.kind) {
            Some(Kind::HeaderCell) => n_headers += 1,
            Some(Kind::Cell) => return false,
            _ => {}
        }
        next = tree.next_sibling(cell);
    }
    n_headers > 0
}
