//! Story: paragraphs, links, text boxes and notes, as they begin and end in the body.
//!
//! Invariants: every paragraph that begins ends; a link over several paragraphs ends with each of them; text boxes
//! follow their paragraph.

use super::body::{Body, Frame, OpenParagraph};
use super::field::{FieldStep, Fields, link_target};
use super::model::{
    Marks, Node, Note, NoteId, NoteKind, Numbered, Paragraph, ParagraphKind, Piece,
};
use super::styles::Style;
use super::xml::Tag;
use crate::target::Target;

/// Deepest nesting of paragraphs, which comes from text boxes; Word does not allow a box in a box.
const MAX_PARAGRAPHS: usize = 16;
/// Longest description of a picture, in bytes; longer ones are written for machines.
const MAX_ALT_BYTES: usize = 500;
/// Part of the descriptions that Word generates.
const GENERATED_ALT: &str = "escription automatically generated";

impl Body<'_> {
    /// Adds a node; returns false once there are too many.
    pub(super) fn push_node(&mut self, node: Node) -> bool {
        if let Some(nodes) = self.sinks.last_mut() {
            nodes.push(node);
        }
        self.count_node()
    }

    fn count_node(&mut self) -> bool {
        self.n_nodes += 1;
        self.is_cut |= self.n_nodes > self.means.max_nodes;
        !self.is_cut
    }

    pub(super) fn push_piece(&mut self, piece: Piece) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.pieces.push(piece);
            self.count_node();
        }
    }

    pub(super) fn begin_paragraph(&mut self) -> Frame {
        if self.paragraphs.len() >= MAX_PARAGRAPHS {
            return Frame::Plain;
        }
        let pieces = std::mem::take(&mut self.carried);
        self.paragraphs.push(OpenParagraph { pieces, ..OpenParagraph::default() });
        Frame::Paragraph
    }

    pub(super) fn end_paragraph(&mut self) {
        let Some(mut open) = self.paragraphs.pop() else { return };
        if self.paragraphs.is_empty() {
            self.fields.end_paragraph();
        }
        let mut floats = std::mem::take(&mut open.floats);
        if open.is_mark_deleted {
            // The paragraph continues in the next one, whose properties apply.
            self.carried = open.pieces;
        } else {
            self.keep_paragraph(open);
        }
        if let Some(nodes) = self.sinks.last_mut() {
            nodes.append(&mut floats);
        }
    }

    fn keep_paragraph(&mut self, open: OpenParagraph) {
        let styles = self.means.styles;
        let named = open.style.as_deref().and_then(|id| styles.get(id));
        if named.is_some_and(|style| style.is_contents) {
            return;
        }
        let kind = kind_of(&open.own, named);
        if matches!(kind, ParagraphKind::Heading(_) | ParagraphKind::Title) {
            self.note_heading();
        }
        let numbering = self.numbering_of(&open, named);
        let line_end = self.content.text.len();
        // Blank lines of code are kept, and empty list items, which are counted.
        if open.pieces.is_empty() && kind != ParagraphKind::Code && numbering.is_none() {
            return;
        }
        self.content.text.push('\n');
        self.push_node(Node::Paragraph(Paragraph {
            pieces: open.pieces,
            kind,
            numbering,
            line_end,
        }));
    }

    /// Returns the list of a paragraph, by its own properties or its style.
    fn numbering_of(&self, open: &OpenParagraph, named: Option<&Style>) -> Option<Numbered> {
        // List 0 means explicitly no list.
        let list = open.own.list.or(named.and_then(|style| style.list)).filter(|list| *list > 0)?;
        let by_style = || {
            let id = open.style.as_deref()?;
            self.means.numbering.level_of_style(list, id)
        };
        let level = open.own.list_level.or_else(by_style);
        let level = level.or(named.and_then(|style| style.list_level)).unwrap_or(0);
        Some(Numbered { list, level })
    }

    /// Makes carried pieces a paragraph of their own, since no other follows.
    pub(super) fn flush_carried(&mut self) {
        if self.carried.is_empty() {
            return;
        }
        let pieces = std::mem::take(&mut self.carried);
        let line_end = self.content.text.len();
        self.content.text.push('\n');
        self.push_node(Node::Paragraph(Paragraph { pieces, line_end, ..Paragraph::default() }));
    }

    /// Adds the text that an element stands for.
    pub(super) fn insert(&mut self, text: &str) -> Option<Frame> {
        self.insert_text(text);
        None
    }

    /// Adds text to the current run.
    pub(super) fn insert_text(&mut self, text: &str) {
        let styles = self.means.styles;
        let Some(paragraph) = self.paragraphs.last() else { return };
        if text.is_empty() || self.fields.is_instruction() {
            return;
        }
        let run_style = paragraph.run_style.as_deref().and_then(|id| styles.get(id));
        // The run's own properties override those of its style.
        let of_run = |get: fn(&Style) -> Option<bool>| {
            get(&paragraph.run).or_else(|| run_style.and_then(get))
        };
        if of_run(|style| style.is_hidden) == Some(true) {
            return;
        }
        let of_paragraph = || {
            let style = paragraph.style.as_deref().and_then(|id| styles.get(id));
            style.and_then(|style| style.is_monospaced)
        };
        let is_code = of_run(|style| style.is_monospaced).or_else(of_paragraph) == Some(true)
            || run_style.is_some_and(|style| style.is_code_span);
        let is_bold = of_run(|style| style.is_bold) == Some(true);
        let start = self.content.text.len();
        self.content.text.push_str(text);
        self.push_range(start, Marks { is_bold, is_code });
    }

    /// Adds the text written from `start` on as a piece, or extends the last piece.
    fn push_range(&mut self, start: usize, marks: Marks) {
        let end = self.content.text.len();
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        match paragraph.pieces.last_mut() {
            Some(Piece::Text { range, marks: before })
                if *before == marks && range.end == start =>
            {
                range.end = end;
            }
            _ => self.push_piece(Piece::Text { range: start..end, marks }),
        }
    }

    pub(super) fn begin_math(&mut self) {
        if self.math_end == Some(self.content.text.len()) {
            // Separate adjacent equations.
            self.insert_text(" ");
        }
        self.math_start = Some(self.content.text.len());
    }

    pub(super) fn end_math(&mut self) {
        let Some(start) = self.math_start.take() else { return };
        self.math.end();
        self.math_end = Some(self.content.text.len());
        if self.content.text.len() > start {
            self.push_range(start, Marks::default());
        }
    }

    pub(super) fn begin_link(&mut self, target: Option<Target>) {
        let index = self.content.targets.len();
        self.content.targets.push(target);
        self.push_piece(Piece::LinkStart(index));
    }

    pub(super) fn field_mark(&mut self, kind: &str) {
        match self.fields.mark(kind) {
            FieldStep::BeginLink(target) => self.begin_link(target),
            FieldStep::EndLink => self.push_piece(Piece::LinkEnd),
            FieldStep::Nothing => {}
        }
    }

    /// Returns the target of a `w:hyperlink`: its relationship, with the anchor as a place in it.
    pub(super) fn link_target(&self, tag: &Tag<'_>) -> Option<Target> {
        let id = tag.attr("id")?;
        let relationship = self.means.relationships.get(&*id).filter(|to| to.is_external)?;
        match tag.attr("anchor") {
            Some(place) if !relationship.target.contains('#') => {
                link_target(&format!("{}#{place}", relationship.target))
            }
            _ => link_target(&relationship.target),
        }
    }

    pub(super) fn simple_field(&mut self, tag: &Tag<'_>) -> Frame {
        self.begin_link(Fields::target(&tag.attr("instr").unwrap_or_default()));
        Frame::Link
    }

    /// Begins a text box; its content follows the paragraph that it is anchored to.
    pub(super) fn begin_box(&mut self) -> Option<Frame> {
        if self.sinks.len() > MAX_PARAGRAPHS {
            return Some(Frame::Plain);
        }
        self.sinks.push(Vec::new());
        Some(Frame::TextBox)
    }

    pub(super) fn end_box(&mut self) {
        self.flush_carried();
        let Some(mut nodes) = self.sinks.pop() else { return };
        match (self.paragraphs.last_mut(), self.sinks.last_mut()) {
            (Some(paragraph), _) => paragraph.floats.append(&mut nodes),
            (None, Some(outer)) => outer.append(&mut nodes),
            (None, None) => self.content.body.append(&mut nodes),
        }
    }

    /// Begins a note; skips those that only draw the separator above the notes.
    pub(super) fn begin_note(&mut self, tag: &Tag<'_>) -> Option<Frame> {
        let is_drawn = tag.attr("type").is_some_and(|kind| &*kind != "normal");
        let id = note_id(tag)?;
        if is_drawn || self.note.is_some() {
            return None;
        }
        let author = tag.attr("author").map(|name| name.trim().to_string());
        self.note = Some((id, author.filter(|name| !name.is_empty())));
        self.sinks.push(Vec::new());
        Some(Frame::Note)
    }

    pub(super) fn end_note(&mut self) {
        self.flush_carried();
        if let (Some((id, author)), Some(nodes)) = (self.note.take(), self.sinks.pop()) {
            self.content.notes.entry(id).or_insert(Note { author, nodes });
        }
    }

    /// Adds the description of a picture, if a person wrote it.
    pub(super) fn alternative_text(&mut self, tag: &Tag<'_>) {
        let Some(text) = tag.attr("descr") else { return };
        let is_worth = text.len() <= MAX_ALT_BYTES
            && !text.contains(GENERATED_ALT)
            && text.split_whitespace().count() > 2;
        if is_worth {
            self.insert_text(" ");
            self.insert_text(&text);
            self.insert_text(" ");
        }
    }
}

/// Returns the id of the note that an element defines or refers to.
pub(super) fn note_id(tag: &Tag<'_>) -> Option<NoteId> {
    let number = tag.attr("id")?.trim().parse().ok()?;
    Some(NoteId { kind: NoteKind::of(tag.local())?, number })
}

/// Returns the kind of a paragraph, by its own properties and by its style.
fn kind_of(own: &Style, named: Option<&Style>) -> ParagraphKind {
    let by_name = named.and_then(|style| style.kind);
    let outline = own.outline_level.or(named.and_then(|style| style.outline_level));
    match (by_name, outline) {
        (Some(kind @ (ParagraphKind::Title | ParagraphKind::Code)), _) => kind,
        (_, Some(level)) if level < 9 => ParagraphKind::Heading(level + 1),
        // The paragraph itself says that it is body text, whatever its style.
        (Some(ParagraphKind::Heading(_)), Some(_)) if own.outline_level.is_some() => {
            ParagraphKind::Text
        }
        (Some(kind), _) => kind,
        (None, _) => ParagraphKind::Text,
    }
}
