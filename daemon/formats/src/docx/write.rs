//! Write: converts the model of a document to blocks.
//!
//! In: [`Content`]. Out: text, outline, marks and links, through the [`TextBuilder`]. Decisions: a heading has the
//! number that Word shows (`2.1 Scope`), a list item also, unless it is its ordinal (`3.`); a note follows the
//! paragraph that refers to it, a comment as a quotation of its author; a merged cell is repeated in each row and
//! column that it covers, so that each row can be read alone.
//! Invariants: one pass; every list, quotation and table that opens is closed.

use std::collections::HashSet;
use std::ops::Range;

use super::model::{Content, Marks, Node, NoteId, NoteKind, Paragraph, ParagraphKind, Piece};
use super::numbering::{Counters, Number, Numbering};
use super::rows::Rows;
use crate::builder::TextBuilder;
use crate::format::FormatLimits;
use model::document::{InlineKind, Parsed};

/// Characters that are rare in running text, even in a monospaced font.
const CODE_CHARACTERS: &[char] =
    &['{', '}', '(', ')', ';', '=', '<', '>', '[', ']', '_', '$', '#', '\\', '|', '&', '/'];

/// Writes blocks.
pub(super) struct DocxWriter<'a> {
    pub(super) content: &'a Content,
    pub(super) builder: TextBuilder<'a>,
    numbering: &'a Numbering,
    counters: Counters,
    lists: Vec<OpenList>,
    /// While a code block is open: the offset of its last line's end.
    code: Option<usize>,
    /// Notes referred to since the last block.
    pub(super) notes: Vec<NoteId>,
    written_notes: HashSet<NoteId>,
    pub(super) rows: Rows,
    /// The text of the first paragraph with the style of a title.
    title: Option<String>,
}

/// An open list with an open item.
struct OpenList {
    definition: u32,
    level: u8,
    /// The number of its next item; `None` for bullets.
    next: Option<u32>,
}

/// Writes a document; its title is the first paragraph with the style of a title.
pub(super) fn write(content: &Content, numbering: &Numbering, limits: &FormatLimits) -> Parsed {
    let mut writer = DocxWriter {
        content,
        builder: TextBuilder::new(&content.text, limits),
        numbering,
        counters: Counters::default(),
        lists: Vec::new(),
        code: None,
        notes: Vec::new(),
        written_notes: HashSet::new(),
        rows: Rows::default(),
        title: None,
    };
    writer.nodes(&content.body);
    // Comments on what was deleted.
    let is_left = |id: &NoteId| id.kind == NoteKind::Comment && !writer.written_notes.contains(id);
    let mut left: Vec<NoteId> = content.notes.keys().copied().filter(is_left).collect();
    left.sort_unstable();
    writer.notes = left;
    writer.pending_notes();
    let DocxWriter { builder, title, .. } = writer;
    Parsed { title, ..builder.finish() }
}

impl DocxWriter<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            if self.rows.skips(node) {
                continue;
            }
            match node {
                Node::Paragraph(paragraph) => self.paragraph(paragraph),
                other => {
                    self.end_code();
                    self.end_lists();
                    self.table_part(other);
                }
            }
            if !self.rows.in_row() {
                self.pending_notes();
            }
        }
        self.end_code();
        self.end_lists();
        self.pending_notes();
    }

    /// Writes the notes referred to, each once.
    fn pending_notes(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        self.end_code();
        for id in std::mem::take(&mut self.notes) {
            let Some(note) = self.content.notes.get(&id).filter(|_| self.written_notes.insert(id))
            else {
                continue;
            };
            let is_comment = id.kind == NoteKind::Comment;
            if is_comment {
                self.builder.begin_quote();
            }
            let mut author = note.author.as_deref();
            for node in &note.nodes {
                // In a list item, its note continues the item; only the text of tables in notes is kept.
                if let Node::Paragraph(paragraph) = node {
                    self.builder.begin_text();
                    if let Some(author) = author.take_if(|_| has_text(paragraph)) {
                        self.label(&format!("{author}:"));
                    }
                    self.pieces(paragraph, Marks::default());
                    self.builder.end_block();
                }
            }
            if is_comment {
                self.builder.end_quote();
            }
        }
        // Drop references inside notes.
        self.notes.clear();
    }

    fn paragraph(&mut self, paragraph: &Paragraph) {
        // Counted even if nothing is written, so that later numbers are right.
        let number = paragraph.numbering.and_then(|at| self.counters.count(self.numbering, at));
        if self.rows.in_row() {
            self.builder.end_block();
            // Here no ordinal says it.
            if let Some(number) = number.filter(|it| !it.label.is_empty() && has_text(paragraph)) {
                self.label(&number.label);
            }
            self.pieces(paragraph, Marks::default());
            self.builder.end_block();
            return;
        }
        if self.is_code(paragraph) {
            return self.code_line(paragraph);
        }
        self.end_code();
        match (paragraph.kind, number) {
            (ParagraphKind::Heading(level), number) => self.heading(paragraph, level, number),
            (ParagraphKind::Title, number) => {
                if self.title.is_none() {
                    self.title =
                        Some(self.plain(paragraph)).filter(|title| !title.trim().is_empty());
                }
                self.heading(paragraph, 1, number);
            }
            (_, Some(number)) => self.item(paragraph, number),
            (ParagraphKind::Quote, None) => {
                self.end_lists();
                self.builder.begin_quote();
                self.block(paragraph);
                self.builder.end_quote();
            }
            (ParagraphKind::ItemText, None) if !self.lists.is_empty() => self.block(paragraph),
            _ => {
                self.end_lists();
                self.block(paragraph);
            }
        }
    }

    fn block(&mut self, paragraph: &Paragraph) {
        self.builder.begin_text();
        self.pieces(paragraph, Marks::default());
        self.builder.end_block();
    }

    fn heading(&mut self, paragraph: &Paragraph, level: u8, number: Option<Number>) {
        self.end_lists();
        self.builder.begin_heading(level.min(6));
        if let Some(number) =
            number.filter(|number| !number.label.is_empty() && has_text(paragraph))
        {
            self.label(number.label.trim_end_matches('.'));
        }
        // A heading is bold as a whole, so bold inside it adds nothing.
        self.pieces(paragraph, Marks { is_bold: true, is_code: false });
        self.builder.end_block();
    }

    fn item(&mut self, paragraph: &Paragraph, number: Number) {
        let level = paragraph.numbering.map_or(0, |at| at.level);
        if !has_text(paragraph) {
            return;
        }
        self.open_item(level, &number);
        let label = number.label.trim_end_matches('.');
        if number.is_compound {
            self.label(label);
        } else if !label.trim_end_matches(')').bytes().all(|byte| byte.is_ascii_digit()) {
            self.label(&number.label);
        }
        self.pieces(paragraph, Marks::default());
        self.builder.end_block();
    }

    /// Writes a label that Word shows before the text of a paragraph.
    fn label(&mut self, label: &str) {
        self.builder.replaced(label, 0..0);
        self.builder.space_inserted();
    }

    /// Begins the next item of an open list, or the first of a new one.
    fn open_item(&mut self, level: u8, number: &Number) {
        while let Some(list) = self.lists.last_mut() {
            if list.level < level {
                break;
            }
            // The same list, and the number that was expected; after a restart, a new list begins.
            let goes_on = list.level == level
                && list.definition == number.definition
                && list.next == number.ordinal;
            if goes_on {
                list.next = list.next.map(|next| next.saturating_add(1));
                self.builder.end_item();
                self.builder.begin_item();
                return;
            }
            self.end_list();
        }
        self.builder.begin_list(number.ordinal);
        self.builder.begin_item();
        let next = number.ordinal.map(|ordinal| ordinal.saturating_add(1));
        self.lists.push(OpenList { definition: number.definition, level, next });
    }

    fn end_list(&mut self) {
        if self.lists.pop().is_some() {
            self.builder.end_item();
            self.builder.end_list();
        }
    }

    fn end_lists(&mut self) {
        while !self.lists.is_empty() {
            self.end_list();
        }
    }

    /// True for code by its style, or by its font if it also looks like code or follows code.
    fn is_code(&self, paragraph: &Paragraph) -> bool {
        match paragraph.kind {
            ParagraphKind::Code => true,
            ParagraphKind::Text | ParagraphKind::ItemText if paragraph.numbering.is_none() => {
                let (mut has_text, mut looks_like_code) = (false, self.code.is_some());
                for (range, marks) in texts(paragraph) {
                    let text = self.content.text.get(range).unwrap_or("");
                    if text.trim().is_empty() {
                        continue;
                    }
                    if !marks.is_code {
                        return false;
                    }
                    has_text = true;
                    looks_like_code = looks_like_code || text.contains(CODE_CHARACTERS);
                }
                has_text && looks_like_code
            }
            _ => false,
        }
    }

    fn code_line(&mut self, paragraph: &Paragraph) {
        match self.code {
            Some(line_end) => self.builder.code(line_end..line_end + 1),
            None => {
                self.end_lists();
                self.builder.begin_code("");
            }
        }
        for (range, _) in texts(paragraph) {
            self.builder.code(range);
        }
        self.code = Some(paragraph.line_end);
    }

    fn end_code(&mut self) {
        if self.code.take().is_some() {
            self.builder.end_block();
        }
    }

    /// Writes the text of a paragraph with its links and marks, except implied marks.
    pub(super) fn pieces(&mut self, paragraph: &Paragraph, implied: Marks) {
        let mut marks = Marks::default();
        let mut n_links = 0_usize;
        for piece in &paragraph.pieces {
            match piece {
                Piece::Text { range, marks: own } => {
                    let own = Marks { is_bold: own.is_bold && !implied.is_bold, ..*own };
                    self.change_marks(&mut marks, own);
                    self.rows.capture(range);
                    self.builder.flow(range.clone());
                }
                Piece::LinkStart(index) => {
                    // Close marks before links, so that they are nested properly.
                    self.change_marks(&mut marks, Marks::default());
                    self.builder.begin_link(self.content.targets.get(*index).cloned().flatten());
                    n_links += 1;
                }
                Piece::LinkEnd if n_links > 0 => {
                    self.change_marks(&mut marks, Marks::default());
                    self.builder.end_mark();
                    n_links -= 1;
                }
                Piece::LinkEnd => {}
                Piece::Note(id) => self.notes.push(*id),
            }
        }
        self.change_marks(&mut marks, Marks::default());
        (0..n_links).for_each(|_| self.builder.end_mark());
    }

    fn change_marks(&mut self, now: &mut Marks, next: Marks) {
        if *now == next {
            return;
        }
        let n_open = usize::from(now.is_bold) + usize::from(now.is_code);
        (0..n_open).for_each(|_| self.builder.end_mark());
        if next.is_bold {
            self.builder.begin_inline(InlineKind::Bold);
        }
        if next.is_code {
            self.builder.begin_inline(InlineKind::Code);
        }
        *now = next;
    }

    fn plain(&self, paragraph: &Paragraph) -> String {
        texts(paragraph).filter_map(|(range, _)| self.content.text.get(range)).collect()
    }
}

fn texts(paragraph: &Paragraph) -> impl Iterator<Item = (Range<usize>, Marks)> + '_ {
    paragraph.pieces.iter().filter_map(|piece| match piece {
        Piece::Text { range, marks } => Some((range.clone(), *marks)),
        _ => None,
    })
}

fn has_text(paragraph: &Paragraph) -> bool {
    texts(paragraph).next().is_some()
}
