//! Body: reads the parts that contain text.
//!
//! In: `document.xml`, `footnotes.xml`, `endnotes.xml`, `comments.xml`, with styles and relationships. Out:
//! [`Content`]. Decisions: deleted text, hidden text, tables of contents, headers and footers are skipped; inserted
//! text stays; of two versions of the same content (`mc:AlternateContent`) the first is read; text boxes follow the
//! paragraph that they are anchored to.
//! Invariants: no recursion; everything that opens is closed; the children of unknown elements are read, so that new
//! elements lose no text; memory grows with the text and its paragraphs, not with tags.

use std::collections::HashMap;

use super::field::Fields;
use super::math::{Math, MathFrame};
use super::model::{Content, Node, NoteId, Piece};
use super::numbering::Numbering;
use super::package::{Package, Relationship};
use super::story::note_id;
use super::styles::{Style, Styles};
use super::symbol;
use super::table::OpenTable;
use super::xml::{Space, Tag, Token, Xml};

/// The context for reading parts.
pub(super) struct Means<'a> {
    pub(super) styles: &'a Styles,
    pub(super) numbering: &'a Numbering,
    /// Relationships of the current part.
    pub(super) relationships: &'a HashMap<String, Relationship>,
    /// The package, for parts that drawings refer to.
    pub(super) package: &'a Package<'a>,
    /// Most text, in bytes.
    pub(super) max_text_bytes: usize,
    /// Most nodes and pieces.
    pub(super) max_nodes: usize,
}

/// What to do at the end of an element, and how to interpret its children.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    Plain,
    Paragraph,
    ParagraphProps,
    /// Properties of a paragraph's mark.
    MarkProps,
    Run,
    RunProps,
    Text,
    Instruction,
    Link,
    Sdt,
    SdtProps,
    Table,
    /// A table that is nested too deep: only its text is kept.
    FlatTable,
    TableProps,
    Row,
    RowProps,
    Cell,
    CellProps,
    TextBox,
    Alternate,
    Note,
    Math,
    MathPart(MathFrame),
}

/// A paragraph whose end has not been reached.
#[derive(Default)]
pub(super) struct OpenParagraph {
    pub(super) pieces: Vec<Piece>,
    /// Its own properties, apart from its style.
    pub(super) own: Style,
    /// The id of its style.
    pub(super) style: Option<String>,
    pub(super) is_mark_deleted: bool,
    /// Text boxes anchored to it.
    pub(super) floats: Vec<Node>,
    /// The properties of its current run.
    pub(super) run: Style,
    pub(super) run_style: Option<String>,
}

/// Reads parts into one [`Content`].
pub(super) struct Body<'a> {
    pub(super) means: Means<'a>,
    pub(super) content: Content,
    pub(super) frames: Vec<Frame>,
    /// Where nodes are added: the body or a note first, then text boxes.
    pub(super) sinks: Vec<Vec<Node>>,
    pub(super) paragraphs: Vec<OpenParagraph>,
    /// Pieces of paragraphs whose mark was deleted; they continue in the next paragraph.
    pub(super) carried: Vec<Piece>,
    pub(super) tables: Vec<OpenTable>,
    /// For each open content control, whether its content is hidden.
    pub(super) controls: Vec<bool>,
    /// For each open `AlternateContent`, whether a version was read.
    alternates: Vec<bool>,
    pub(super) fields: Fields,
    pub(super) math: Math,
    /// Inside an equation: where its text begins.
    pub(super) math_start: Option<usize>,
    /// Where the last equation ended, in the text.
    pub(super) math_end: Option<usize>,
    /// Number of open tables below the deepest that is kept.
    pub(super) n_flat_tables: usize,
    /// The open note, and its author.
    pub(super) note: Option<(NoteId, Option<String>)>,
    pub(super) n_nodes: usize,
    pub(super) n_pictures: usize,
    /// True when a limit was reached.
    pub(super) is_cut: bool,
    /// Where the XML is broken, if it is.
    broken_at: Option<u64>,
}

impl<'a> Body<'a> {
    pub(super) fn new(means: Means<'a>) -> Self {
        Body {
            means,
            content: Content::default(),
            frames: Vec::new(),
            sinks: Vec::new(),
            paragraphs: Vec::new(),
            carried: Vec::new(),
            tables: Vec::new(),
            controls: Vec::new(),
            alternates: Vec::new(),
            fields: Fields::default(),
            math: Math::default(),
            math_start: None,
            math_end: None,
            n_flat_tables: 0,
            note: None,
            n_nodes: 0,
            n_pictures: 0,
            is_cut: false,
            broken_at: None,
        }
    }

    /// Reads one part; notes are stored by id, everything else goes to the body.
    pub(super) fn read(&mut self, text: &str, relationships: &'a HashMap<String, Relationship>) {
        self.means.relationships = relationships;
        self.sinks.push(Vec::new());
        let mut xml = Xml::new(text);
        let mut n_skipped = 0_usize;
        while let Some(token) = xml.next() {
            match token {
                // Count the depth inside a skipped element, to find its end without a stack.
                Token::Open(_) if n_skipped > 0 => n_skipped += 1,
                Token::Open(tag) => match self.open(&tag) {
                    Some(frame) => self.frames.push(frame),
                    None => n_skipped = 1,
                },
                Token::Close if n_skipped > 0 => n_skipped -= 1,
                Token::Close => {
                    if let Some(frame) = self.frames.pop() {
                        self.close(frame);
                    }
                }
                Token::Text(text) if n_skipped == 0 => self.text(&text),
                Token::Text(_) => {}
            }
            // Checked for each token: one part may be much larger than the limit.
            self.is_cut |= self.content.text.len() > self.means.max_text_bytes;
            if self.is_cut {
                break;
            }
        }
        self.broken_at = self.broken_at.or(xml.broken_at());
        self.finish();
    }

    /// Returns where the last part is broken, if it is.
    pub(super) fn take_broken(&mut self) -> Option<u64> {
        self.broken_at.take()
    }

    /// Closes everything that is open at the end of a part.
    fn finish(&mut self) {
        while let Some(frame) = self.frames.pop() {
            self.close(frame);
        }
        self.flush_carried();
        while let Some(mut nodes) = self.sinks.pop() {
            self.content.body.append(&mut nodes);
        }
        self.fields = Fields::default();
    }

    /// Returns the frame of an element; `None` if the element is skipped with all its content.
    fn open(&mut self, tag: &Tag<'_>) -> Option<Frame> {
        if self.math_start.is_some() {
            return self.open_in_math(tag);
        }
        match tag.space {
            Space::Word => self.open_word(tag),
            Space::Math => Some(match tag.local() {
                "oMath" => {
                    self.begin_math();
                    Frame::Math
                }
                _ => Frame::Plain,
            }),
            Space::Compatibility => match tag.local() {
                "AlternateContent" => {
                    self.alternates.push(false);
                    Some(Frame::Alternate)
                }
                "Choice" | "Fallback" => {
                    let is_read = self.alternates.last_mut()?;
                    // Only the first version is read.
                    (!std::mem::replace(is_read, true)).then_some(Frame::Plain)
                }
                _ => Some(Frame::Plain),
            },
            Space::Placement if tag.local() == "docPr" => {
                self.alternative_text(tag);
                None
            }
            Space::Chart | Space::Diagram if matches!(tag.local(), "chart" | "relIds") => {
                self.picture(tag);
                None
            }
            _ => Some(Frame::Plain),
        }
    }

    fn open_in_math(&mut self, tag: &Tag<'_>) -> Option<Frame> {
        match (tag.space, tag.local()) {
            (Space::Math, _) => self.math.open(tag, &mut self.content.text).map(Frame::MathPart),
            // Word elements inside an equation are properties or insertions; only `t` is text.
            (Space::Word, "rPr" | "ctrlPr" | "del" | "moveFrom" | "p" | "pict" | "drawing") => None,
            (Space::Word, "t") => Some(Frame::MathPart(MathFrame::Text)),
            _ => Some(Frame::Plain),
        }
    }

    fn open_word(&mut self, tag: &Tag<'_>) -> Option<Frame> {
        let parent = self.frames.last().copied().unwrap_or(Frame::Plain);
        if let Some(outcome) = self.open_property(tag, parent) {
            return outcome;
        }
        match tag.local() {
            "p" => Some(self.begin_paragraph()),
            "r" => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.run = Style::default();
                    paragraph.run_style = None;
                }
                Some(Frame::Run)
            }
            "t" => Some(Frame::Text),
            "tab" | "ptab" => self.insert("\t"),
            "br" | "cr" => self.insert("\n"),
            "noBreakHyphen" => self.insert("-"),
            "sym" => {
                let (font, code) = (tag.attr("font")?, tag.attr("char")?);
                let shown = symbol::character(&font, &code)?;
                self.insert(shown.encode_utf8(&mut [0; 4]))
            }
            "footnoteReference" | "endnoteReference" | "commentReference" => {
                self.push_piece(Piece::Note(note_id(tag)?));
                None
            }
            "instrText" => Some(Frame::Instruction),
            "fldChar" => {
                self.field_mark(&tag.attr("fldCharType")?);
                None
            }
            "fldSimple" => Some(self.simple_field(tag)),
            "hyperlink" => {
                let target = self.link_target(tag);
                self.begin_link(target);
                Some(Frame::Link)
            }
            "footnote" | "endnote" | "comment" => self.begin_note(tag),
            "txbxContent" => self.begin_box(),
            "tbl" => Some(self.begin_table()),
            "tr" => Some(self.begin_row()),
            "tc" => Some(self.begin_cell()),
            "sdt" => {
                self.controls.push(false);
                Some(Frame::Sdt)
            }
            // Deleted text, phonetic guides, and elements without text of their own.
            "sdtContent" if self.controls.last() == Some(&true) => None,
            "del" | "moveFrom" | "delText" | "delInstrText" | "rt" | "sectPr" | "annotationRef"
            | "tblGrid" | "sdtEndPr" | "proofErr" | "softHyphen" => None,
            _ => Some(Frame::Plain),
        }
    }

    fn close(&mut self, frame: Frame) {
        match frame {
            Frame::Paragraph => self.end_paragraph(),
            Frame::Link => self.push_piece(Piece::LinkEnd),
            Frame::Sdt => {
                self.controls.pop();
            }
            Frame::Alternate => {
                self.alternates.pop();
            }
            Frame::Row => self.end_row(),
            Frame::Cell => self.end_cell(),
            Frame::Table => self.end_table(),
            Frame::TextBox => self.end_box(),
            Frame::Note => self.end_note(),
            Frame::Math => self.end_math(),
            Frame::MathPart(part) => self.math.close(part, &mut self.content.text),
            Frame::FlatTable => self.n_flat_tables -= 1,
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.frames.last() {
            Some(Frame::Text) => self.insert_text(text),
            Some(Frame::MathPart(MathFrame::Text)) => self.content.text.push_str(text),
            Some(Frame::Instruction) => self.fields.instruct(text),
            _ => {}
        }
    }
}
