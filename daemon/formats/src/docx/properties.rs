//! Properties: elements such as `w:pPr` and `w:trPr`.
//!
//! Invariant: former properties (`w:pPrChange` and similar) are not mistaken for the present ones.

use super::body::{Body, Frame};
use super::model::{Merge, Node};
use super::xml::Tag;

/// The bit of `w:tblLook` that marks the first row.
const FIRST_ROW: u32 = 0x20;
/// Most columns of a table in Word.
const MAX_COLUMNS: u32 = 63;

impl Body<'_> {
    /// Reads an element that is a property or inside properties. Returns `None` when it is neither, otherwise the
    /// return value of [`Body::open`].
    pub(super) fn open_property(&mut self, tag: &Tag<'_>, parent: Frame) -> Option<Option<Frame>> {
        let local = tag.local();
        match parent {
            Frame::ParagraphProps => Some(self.paragraph_property(tag)),
            Frame::MarkProps => {
                if local == "del" || local == "moveFrom" {
                    self.paragraphs.last_mut()?.is_mark_deleted = true;
                }
                Some(None)
            }
            Frame::RunProps => {
                self.run_property(tag);
                Some(None)
            }
            Frame::SdtProps => Some(self.control_property(tag)),
            Frame::TableProps => {
                if local == "tblLook" {
                    self.table_look(tag);
                }
                Some(None)
            }
            Frame::RowProps => {
                self.row_property(tag);
                Some(None)
            }
            Frame::CellProps => {
                self.cell_property(tag);
                Some(None)
            }
            _ => match (local, parent) {
                ("pPr", Frame::Paragraph) => Some(Some(Frame::ParagraphProps)),
                ("rPr", Frame::Run) => Some(Some(Frame::RunProps)),
                ("sdtPr", Frame::Sdt) => Some(Some(Frame::SdtProps)),
                ("tblPr", Frame::Table) => Some(Some(Frame::TableProps)),
                ("trPr", Frame::Row) => Some(Some(Frame::RowProps)),
                ("tcPr", Frame::Cell) => Some(Some(Frame::CellProps)),
                // Properties in another place, such as those of a tracked change, are skipped.
                ("pPr" | "rPr" | "sdtPr" | "tblPr" | "trPr" | "tcPr" | "tblPrEx", _) => Some(None),
                _ => None,
            },
        }
    }

    fn paragraph_property(&mut self, tag: &Tag<'_>) -> Option<Frame> {
        let paragraph = self.paragraphs.last_mut()?;
        match tag.local() {
            "pStyle" => paragraph.style = tag.attr("val").map(|id| id.into_owned()),
            "numPr" => return Some(Frame::ParagraphProps),
            "outlineLvl" | "numId" | "ilvl" => paragraph.own.take(tag),
            "rPr" => return Some(Frame::MarkProps),
            _ => {}
        }
        None
    }

    fn run_property(&mut self, tag: &Tag<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        match tag.local() {
            "rStyle" => paragraph.run_style = tag.attr("val").map(|id| id.into_owned()),
            _ => paragraph.run.take(tag),
        }
    }

    /// Hides the content of prompts (`Click here to enter text`) and tables of contents.
    fn control_property(&mut self, tag: &Tag<'_>) -> Option<Frame> {
        let is_contents = tag.local() == "docPartGallery"
            && tag.attr("val").is_some_and(|val| &*val == "Table of Contents");
        let is_prompt = tag.local() == "showingPlcHdr" && tag.is_on();
        if let Some(is_hidden) = self.controls.last_mut() {
            *is_hidden |= is_contents || is_prompt;
        }
        (tag.local() == "docPartObj").then_some(Frame::SdtProps)
    }

    fn table_look(&mut self, tag: &Tag<'_>) {
        let Some(table) = self.tables.last_mut() else { return };
        let bits = tag.attr("val").and_then(|val| u32::from_str_radix(&val, 16).ok()).unwrap_or(0);
        let first_row = tag.attr("firstRow").map(|on| matches!(&*on, "1" | "true" | "on"));
        table.shape.has_header = first_row.unwrap_or(bits & FIRST_ROW != 0);
    }

    fn row_property(&mut self, tag: &Tag<'_>) {
        let Some(Node::RowStart(row)) = self.sinks.last_mut().and_then(|nodes| nodes.last_mut())
        else {
            return;
        };
        match tag.local() {
            "tblHeader" => row.is_header = tag.is_on(),
            "gridBefore" => row.n_skipped = tag.number("val").unwrap_or(0).min(MAX_COLUMNS),
            "del" => row.is_deleted = true,
            _ => {}
        }
    }

    fn cell_property(&mut self, tag: &Tag<'_>) {
        let Some(Node::CellStart(cell)) = self.sinks.last_mut().and_then(|nodes| nodes.last_mut())
        else {
            return;
        };
        match tag.local() {
            "gridSpan" => cell.n_columns = tag.number("val").unwrap_or(1).min(MAX_COLUMNS),
            "vMerge" => {
                let is_restart = tag.attr("val").is_some_and(|val| &*val == "restart");
                cell.merge = if is_restart { Merge::Restart } else { Merge::Continue };
            }
            _ => {}
        }
    }
}
