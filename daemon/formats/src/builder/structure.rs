//! Blocks and their containers: lists, items, quotations, tables, rows.
//!
//! Invariants: every `begin_…` pushes exactly one container, so that pairs stay balanced in any order; inside a table
//! row, only the row begins and ends blocks.

use super::{Pending, SEPARATOR_ROOM, TextBuilder};
use model::document::{Block, BlockKind, Inline, Link, Parsed};
use model::terms::{Norm, Span};

/// Between two blocks that are not in one list or table.
const BLOCK_SEPARATOR: &str = "\n\n";
/// Between items of one list (nested ones too) and rows of one table.
const ITEM_SEPARATOR: &str = "\n";
/// Between the cells of a row.
pub(super) const CELL_SEPARATOR: &str = " | ";

/// The current place in the outline.
#[derive(Default)]
pub(super) struct Structure {
    /// The block that is open; its start is known once it has visible text.
    open: Option<OpenBlock>,
    containers: Vec<Container>,
    /// Headings above the current place, outermost first: level and index among the blocks.
    sections: Vec<(u8, u32)>,
    /// The list or table of the last block, which decides the separator.
    last_group: Group,
    /// The open table row, if any.
    row: Option<Row>,
    n_lists: u32,
    n_tables: u32,
}

struct OpenBlock {
    kind: BlockKind,
    group: Group,
    start: Option<usize>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Group {
    #[default]
    None,
    /// The outermost list, so that nested items stay together.
    List(u32),
    Table(u32),
}

#[derive(Clone, Copy)]
enum Container {
    Quote,
    List(Item),
    Item(Item),
    Table(u32),
    Row { is_inner: bool },
}

/// For a list: the next item. For an item: its next block.
#[derive(Clone, Copy)]
struct Item {
    list: u32,
    root: u32,
    depth: u8,
    ordinal: Option<u32>,
}

#[derive(Default)]
struct Row {
    n_cells: usize,
    n_pending: usize,
}

impl Structure {
    /// True inside a table row.
    pub(super) fn in_row(&self) -> bool {
        self.row.is_some()
    }

    /// True when the open block has visible text.
    pub(super) fn has_visible_text(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.start.is_some())
    }

    /// Returns the number of cell separators that are pending before the next visible text.
    pub(super) fn n_pending_cells(&self) -> usize {
        self.row.as_ref().map_or(0, |row| row.n_pending)
    }

    /// Like [`Structure::n_pending_cells`], and resets it to 0.
    pub(super) fn take_pending_cells(&mut self) -> usize {
        self.row.as_mut().map_or(0, |row| std::mem::take(&mut row.n_pending))
    }

    fn new_list(&mut self, ordinal: Option<u32>) -> Item {
        let list = self.n_lists;
        self.n_lists += 1;
        let outer = match self.containers.last() {
            Some(Container::Item(item) | Container::List(item)) => Some((item.root, item.depth)),
            _ => None,
        };
        let (root, depth) =
            outer.map_or((list, 0), |(root, depth)| (root, depth.saturating_add(1)));
        Item { list, root, depth, ordinal }
    }

    fn new_table(&mut self) -> u32 {
        self.n_tables += 1;
        self.n_tables - 1
    }
}

impl TextBuilder<'_> {
    /// Begins a paragraph, or the kind of text block of its container.
    pub(crate) fn begin_text(&mut self) {
        let (kind, group) = match self.structure.containers.last() {
            Some(Container::Item(item)) => (
                BlockKind::ListItem { list: item.list, depth: item.depth, ordinal: None },
                Group::List(item.root),
            ),
            Some(Container::Quote) => (BlockKind::Quote, Group::None),
            _ => (BlockKind::Paragraph, Group::None),
        };
        self.begin_block(kind, group);
    }

    /// Begins a heading of level 1 to 6; in a quotation it is part of the quotation and opens no section.
    pub(crate) fn begin_heading(&mut self, level: u8) {
        match self.structure.containers.last() {
            Some(Container::Quote) => self.begin_text(),
            _ => self.begin_block(BlockKind::Heading(level.clamp(1, 6)), Group::None),
        }
    }

    /// Begins a code block; `language` is the info string's first word, lowercase, or empty.
    pub(crate) fn begin_code(&mut self, language: &str) {
        self.begin_block(BlockKind::Code { language: language.to_string() }, Group::None);
    }

    /// Ends the open block, if any. Inside a table row it only separates words.
    pub(crate) fn end_block(&mut self) {
        if self.structure.in_row() {
            self.space_inserted();
        } else {
            self.close_block();
        }
    }

    /// Begins a quotation or callout: text inside is [`BlockKind::Quote`].
    pub(crate) fn begin_quote(&mut self) {
        self.end_block();
        self.structure.containers.push(Container::Quote);
    }

    /// Ends the innermost quotation.
    pub(crate) fn end_quote(&mut self) {
        self.end_container();
    }

    /// Begins a list; `first` is the number of the first item of an ordered one.
    pub(crate) fn begin_list(&mut self, first: Option<u32>) {
        self.end_block();
        let list = self.structure.new_list(first);
        self.structure.containers.push(Container::List(list));
    }

    /// Ends the innermost list.
    pub(crate) fn end_list(&mut self) {
        self.end_container();
    }

    /// Begins an item of the innermost list; outside a list it opens one.
    pub(crate) fn begin_item(&mut self) {
        self.end_block();
        let item = match self.structure.containers.last_mut() {
            Some(Container::List(list)) => {
                let item = *list;
                list.ordinal = list.ordinal.map(|n| n.saturating_add(1));
                item
            }
            _ => self.structure.new_list(None),
        };
        self.structure.containers.push(Container::Item(item));
    }

    /// Ends the innermost item.
    pub(crate) fn end_item(&mut self) {
        self.end_container();
    }

    /// Begins a table; a table inside a row becomes text of that row.
    pub(crate) fn begin_table(&mut self) {
        self.end_block();
        let table = self.structure.new_table();
        self.structure.containers.push(Container::Table(table));
    }

    /// Ends the innermost table.
    pub(crate) fn end_table(&mut self) {
        self.end_container();
    }

    /// Begins a row of the innermost table; a row without text is dropped.
    pub(crate) fn begin_row(&mut self, is_header: bool) {
        self.end_block();
        let is_inner = self.structure.in_row();
        if !is_inner {
            let table = match self.structure.containers.last() {
                Some(Container::Table(table)) => *table,
                _ => self.structure.new_table(),
            };
            self.begin_block(BlockKind::TableRow { table, is_header }, Group::Table(table));
            self.structure.row = Some(Row::default());
        }
        self.structure.containers.push(Container::Row { is_inner });
    }

    /// Begins a cell of the innermost row. It ends at the next cell or the row's end.
    pub(crate) fn begin_cell(&mut self) {
        self.space_inserted();
        // A table inside a cell must not add columns to the outer row.
        let is_inner =
            !matches!(self.structure.containers.last(), Some(Container::Row { is_inner: false }));
        if let Some(row) = self.structure.row.as_mut().filter(|_| !is_inner) {
            row.n_pending += usize::from(row.n_cells > 0);
            row.n_cells += 1;
        }
    }

    /// Ends the innermost row.
    pub(crate) fn end_row(&mut self) {
        if let Some(Container::Row { is_inner: false }) = self.structure.containers.last() {
            let n_cells = self.structure.take_pending_cells();
            if self.structure.has_visible_text() && self.make_room(n_cells * CELL_SEPARATOR.len()) {
                // Also write trailing empty cells, so that readers can count columns.
                (0..n_cells).for_each(|_| self.text.push_str(CELL_SEPARATOR));
            }
            self.structure.row = None;
        }
        self.end_container();
    }

    /// Ends all sections: what follows belongs to none of the headings above it.
    pub(crate) fn end_sections(&mut self) {
        self.close_block();
        self.structure.sections.clear();
    }

    /// Adds a text that was read by itself, outside of lists, quotations and tables. It goes on in the open sections,
    /// with headings so many levels deeper; blocks that do not fit are left out. Its map must lead to this builder's
    /// source. Its title and metadata are not kept.
    pub(crate) fn append(&mut self, next: Parsed, deeper: u8) {
        self.close_block();
        next.warnings.into_iter().for_each(|warning| self.warn(warning));
        let n_room = self.max_bytes.saturating_sub(self.text.len() + SEPARATOR_ROOM);
        let fits = |block: &Block| !self.is_cut && block.span.end() <= n_room;
        let n_blocks = next.blocks.partition_point(fits);
        self.is_cut |= n_blocks < next.blocks.len();
        let last = n_blocks.checked_sub(1).and_then(|last| next.blocks.get(last));
        let end = last.map_or(0, |last| last.span.end());
        if end > 0 && !self.text.is_empty() {
            self.text.push_str(BLOCK_SEPARATOR);
        }
        let to = self.text.len();
        self.text.push_str(next.text.get(..end).unwrap_or(""));
        for it in next.map.segments().iter().filter(|it| (it.to as usize) < end) {
            let (from, from_len) = (it.from as usize, it.from_len as usize);
            self.map.push(to + it.to as usize, it.to_len as usize, from, from_len);
        }
        let is_kept = |span: Span<Norm>| span.end() <= end;
        let moved = |span: Span<Norm>| Span::new(span.start() + to, span.end() + to);
        let inlines = next.inlines.into_iter().filter(|it| is_kept(it.span));
        self.inlines.extend(inlines.map(|it| Inline { span: moved(it.span), ..it }));
        let links = next.links.into_iter().filter(|it| is_kept(it.span));
        self.links.extend(links.map(|it| Link { span: moved(it.span), ..it }));
        let Structure { n_lists: lists_before, n_tables: tables_before, .. } = self.structure;
        for Block { mut kind, span, .. } in next.blocks.into_iter().take(n_blocks) {
            let Structure { n_lists, n_tables, .. } = &mut self.structure;
            match &mut kind {
                BlockKind::Heading(level) => *level = level.saturating_add(deeper).min(6),
                BlockKind::ListItem { list, .. } => {
                    *list += lists_before;
                    *n_lists = (*n_lists).max(*list + 1);
                }
                BlockKind::TableRow { table, .. } => {
                    *table += tables_before;
                    *n_tables = (*n_tables).max(*table + 1);
                }
                _ => {}
            }
            self.record(kind, moved(span));
        }
        self.structure.last_group = Group::None;
    }

    fn end_container(&mut self) {
        self.end_block();
        self.structure.containers.pop();
    }

    fn begin_block(&mut self, kind: BlockKind, group: Group) {
        self.end_block();
        if !self.structure.in_row() {
            self.structure.open = Some(OpenBlock { kind, group, start: None });
        }
    }

    /// Makes sure that a block is open and has begun; returns true if its first visible text follows.
    pub(super) fn start_block(&mut self) -> bool {
        if self.structure.open.is_none() {
            // This drops pending white space, which was before the block anyway.
            self.begin_text();
        }
        let Structure { open, containers, last_group, .. } = &mut self.structure;
        let Some(open) = open.as_mut().filter(|open| open.start.is_none()) else { return false };
        if !self.text.is_empty() {
            let is_sibling = open.group != Group::None && open.group == *last_group;
            self.text.push_str(if is_sibling { ITEM_SEPARATOR } else { BLOCK_SEPARATOR });
        }
        open.start = Some(self.text.len());
        if let (BlockKind::ListItem { ordinal, .. }, Some(Container::Item(item))) =
            (&mut open.kind, containers.last_mut())
        {
            // The first block of an item gets its number; further blocks have none.
            *ordinal = item.ordinal.take();
        }
        true
    }

    /// Closes the open block and records it if it has text.
    pub(super) fn close_block(&mut self) {
        self.space = Pending::None;
        self.held_lines.clear();
        let Some(OpenBlock { kind, group, start: Some(start) }) = self.structure.open.take() else {
            return;
        };
        self.end_marks_in_block();
        self.record(kind, Span::new(start, self.text.len()));
        self.structure.last_group = group;
    }

    /// Records a block in the section of the last heading above it.
    fn record(&mut self, kind: BlockKind, span: Span<Norm>) {
        let sections = &mut self.structure.sections;
        if let BlockKind::Heading(level) = kind {
            // A heading closes the sections of its own and deeper levels.
            while sections.last().is_some_and(|(above, _)| *above >= level) {
                sections.pop();
            }
        }
        let section = sections.last().map(|(_, heading)| *heading);
        if let BlockKind::Heading(level) = kind {
            sections.push((level, self.blocks.len() as u32));
        }
        self.blocks.push(Block { kind, span, section });
    }
}
