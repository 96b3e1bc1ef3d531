//! Fields: `Owner: Trust Team`, `- **Depends on**: Kafka, Redis`, and tables with such columns or rows.
//!
//! In: the outline. Out: statements about the subject of the section (lines), or about the row's first name
//! (columns).
//! Invariants: a key has at most [`MAX_KEY_BYTES`] bytes before a colon, at the start of a line; values are read
//! while they form one list of names; linear in the text.

use super::cues::{Cue, CueKind, Cues};
use super::gap::{Gap, GapReader};
use super::page::{Page, plain_words};
use super::{Statement, Statements};
use model::document::{BlockKind, Party};
use model::terms::{Norm, Span};

/// Longest key, in bytes.
const MAX_KEY_BYTES: usize = 30;
/// Separates the cells of a row.
const CELL_BORDER: &str = " | ";

/// The columns of a table whose names are cues.
struct Columns<'v> {
    table: u32,
    cues: Vec<Option<&'v Cue>>,
}

/// Adds what lines and tables state.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let mut fields = Fields { page, out, reader: GapReader::new(page.cues()) };
    let mut columns: Option<Columns<'_>> = None;
    for (block_idx, block) in page.blocks().iter().enumerate() {
        match block.kind {
            BlockKind::TableRow { table, is_header: true } => {
                let cells = block.span.of(page.text).split(CELL_BORDER);
                // A column of components or parts seldom lists parts of the row's first name.
                let cue = |cell| {
                    cue_of(page.cues(), cell)
                        .filter(|cue| cue.predicate != "part_of" || !cue.is_backward)
                };
                columns = Some(Columns { table, cues: cells.map(cue).collect() });
            }
            BlockKind::TableRow { table, .. } => {
                let header = columns.as_ref().filter(|columns| columns.table == table);
                fields.row(block_idx, header);
            }
            BlockKind::Paragraph | BlockKind::ListItem { .. } | BlockKind::Quote => {
                fields.lines(block_idx)
            }
            BlockKind::Heading(_) | BlockKind::Code { .. } => {}
        }
    }
}

/// First words that negate a value.
const NEGATING: [&str; 4] = ["no", "none", "not", "without"];

struct Fields<'p, 'o> {
    page: &'p Page<'p>,
    out: &'o mut Statements,
    reader: GapReader<'p>,
}

impl<'p> Fields<'p, '_> {
    fn lines(&mut self, block_idx: usize) {
        let Some(block) = self.page.blocks().get(block_idx) else { return };
        let mut start = block.span.start();
        // Line by line, since a block of `Key: value` lines is one paragraph.
        for line in block.span.of(self.page.text).split('\n') {
            let end = start + line.len();
            let head = line.get(..line.floor_char_boundary(MAX_KEY_BYTES)).unwrap_or("");
            if let Some((key, cue)) = head
                .split_once(':')
                .and_then(|(key, _)| Some((key, cue_of(self.page.cues(), key)?)))
            {
                let value = Span::new(start + key.len() + 1, end);
                let about = self.page.about(block_idx);
                self.values(block_idx, about, cue, (value, Span::new(start, end)));
            }
            start = end + 1;
        }
    }

    fn row(&mut self, block_idx: usize, header: Option<&Columns<'p>>) {
        let Some(block) = self.page.blocks().get(block_idx) else { return };
        let cells = cells_of(self.page.text, block.span);
        let Some(first) = cells.first() else { return };
        // In a row of two cells, the first may be a key and the second its value.
        if let ([key, value], about) = (cells.as_slice(), self.page.about(block_idx))
            && let Some(cue) = cue_of(self.page.cues(), key.of(self.page.text))
        {
            return self.values(block_idx, about, cue, (*value, block.span));
        }
        let Some(header) = header else { return };
        let mentions = self.page.mentions_of(block_idx);
        let Some(named) = self.page.leading_name(*first, mentions) else { return };
        for (cell, cue) in cells.iter().zip(&header.cues).skip(1) {
            if let Some(cue) = cue {
                self.values(block_idx, Party::Mention(named), cue, (*cell, block.span));
            }
        }
    }

    /// Relates the names that a value begins with to the subject, as long as only `,` or `and` is between them.
    fn values(
        &mut self,
        block_idx: usize,
        subject: Party,
        cue: &'p Cue,
        place: (Span<Norm>, Span<Norm>),
    ) {
        let (value, span) = place;
        // `Dependencies: No VS Code APIs` negates its values.
        let first_word = value.of(self.page.text).split_whitespace().next().unwrap_or("");
        if NEGATING.iter().any(|word| word.eq_ignore_ascii_case(first_word)) {
            return;
        }
        let mentions = self.page.mentions_of(block_idx);
        let Some(first) = self.page.leading_name(value, mentions.clone()) else { return };
        let mut end = None;
        for idx in first..mentions.end {
            let Some(mention) = self.page.mention(idx).filter(|m| value.contains(m.span)) else {
                break;
            };
            if !self.page.is_thing(idx) {
                continue;
            }
            let between = end.and_then(|end| self.page.text.get(end..mention.span.start()));
            let is_joined =
                between.is_none_or(|text| matches!(self.reader.read(text), Gap::Joined { .. }));
            if !is_joined || !self.page.is_whole(idx, value) {
                break;
            }
            end = Some(mention.span.end());
            let (mut from, mut to) = (subject, Party::Mention(idx));
            if cue.is_backward {
                std::mem::swap(&mut from, &mut to);
            }
            let (predicate, pattern, confidence) = (cue.predicate, cue.pattern, cue.weight);
            self.out
                .add(span, Statement { subject: from, predicate, object: to, pattern, confidence });
        }
    }
}

/// Returns the cue of a key or a column's name.
fn cue_of<'v>(cues: &'v Cues, key: &str) -> Option<&'v Cue> {
    if key.len() > MAX_KEY_BYTES {
        return None;
    }
    let words = plain_words(key);
    cues.get(CueKind::Section, &words).or_else(|| cues.get(CueKind::List, &words))
}

fn cells_of(text: &str, row: Span<Norm>) -> Vec<Span<Norm>> {
    let mut start = row.start();
    let mut out = Vec::new();
    for cell in row.of(text).split(CELL_BORDER) {
        out.push(Span::new(start, start + cell.len()));
        start += cell.len() + CELL_BORDER.len();
    }
    out
}
