//! Model: the body of a document before it is written.
//!
//! Invariant: text is stored once, in [`Content::text`]; everything else refers to it.

use std::collections::HashMap;
use std::ops::Range;

use crate::target::Target;

/// The content of the parts with text.
#[derive(Default)]
pub(super) struct Content {
    /// All text in the order of reading; tabs are `\t`, breaks `\n`.
    pub(super) text: String,
    /// The body.
    pub(super) body: Vec<Node>,
    /// Footnotes, endnotes and comments by id.
    pub(super) notes: HashMap<NoteId, Note>,
    /// The targets of links, by the index in their pieces.
    pub(super) targets: Vec<Option<Target>>,
}

/// A note's kind and number, as the document writes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct NoteId {
    pub(super) kind: NoteKind,
    pub(super) number: i32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum NoteKind {
    Footnote,
    Endnote,
    Comment,
}

impl NoteKind {
    /// Returns the kind that an element defines (`footnote`) or refers to (`footnoteReference`).
    pub(super) fn of(element: &str) -> Option<Self> {
        match element.strip_suffix("Reference").unwrap_or(element) {
            "footnote" => Some(NoteKind::Footnote),
            "endnote" => Some(NoteKind::Endnote),
            "comment" => Some(NoteKind::Comment),
            _ => None,
        }
    }
}

/// A note, with its author if it is a comment.
pub(super) struct Note {
    pub(super) author: Option<String>,
    pub(super) nodes: Vec<Node>,
}

/// One piece of the body, in reading order.
pub(super) enum Node {
    Paragraph(Paragraph),
    TableStart(TableShape),
    TableEnd,
    RowStart(RowShape),
    RowEnd,
    CellStart(CellShape),
    CellEnd,
}

/// Properties of a table, known at its end.
#[derive(Clone, Copy, Default)]
pub(super) struct TableShape {
    /// True when its first row is formatted as a header.
    pub(super) has_header: bool,
    /// True for boxes and columns, which are layout instead of data.
    pub(super) is_layout: bool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct RowShape {
    pub(super) is_header: bool,
    /// True when a tracked change deleted it.
    pub(super) is_deleted: bool,
    /// Number of columns left out at its beginning.
    pub(super) n_skipped: u32,
    /// Number of cells; set at its end.
    pub(super) n_cells: u32,
}

#[derive(Clone, Copy, Default)]
pub(super) struct CellShape {
    /// Number of columns that it covers; 0 counts as 1.
    pub(super) n_columns: u32,
    /// How it is merged with the cell above it.
    pub(super) merge: Merge,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Merge {
    #[default]
    None,
    Restart,
    Continue,
}

/// One paragraph.
#[derive(Default)]
pub(super) struct Paragraph {
    pub(super) pieces: Vec<Piece>,
    pub(super) kind: ParagraphKind,
    /// The list it belongs to.
    pub(super) numbering: Option<Numbered>,
    /// Offset of the line end after it in the text.
    pub(super) line_end: usize,
}

/// The meaning of a paragraph's style.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum ParagraphKind {
    #[default]
    Text,
    Title,
    /// Level 1 to 9.
    Heading(u8),
    Code,
    Quote,
    /// Continues the list item above it.
    ItemText,
}

/// A paragraph's place in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Numbered {
    pub(super) list: u32,
    pub(super) level: u8,
}

/// A piece of a paragraph.
pub(super) enum Piece {
    Text {
        range: Range<usize>,
        marks: Marks,
    },
    /// A link begins; the index in [`Content::targets`].
    LinkStart(usize),
    LinkEnd,
    Note(NoteId),
}

/// The formatting of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Marks {
    pub(super) is_bold: bool,
    pub(super) is_code: bool,
}
