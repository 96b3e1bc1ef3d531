//! Sources: a place of a document as a reader finds it: line, page or heading, whatever the format has.
//!
//! In: a document and a place of its normalized text. Out: [`SourceView`].
//! Not here: which words are quoted (`snippet.rs`, `entity.rs`).

use proto::shape::SourceView;
use rusqlite::{OptionalExtension, params};

use super::{AskError, Desk};
use crate::store::lines::{LineMap, PageMap};

/// Formats whose lines mean nothing to a reader, or are not shown to him: their places are told by headings, too.
const SHOWN_BY_HEADING: [&str; 5] = ["pdf", "docx", "html", "htm", "xhtml"];

/// A document to quote from.
pub(super) struct Source {
    doc: i64,
    path: String,
    format: String,
    /// The normalized text.
    pub(super) text: String,
    lines: LineMap,
    pages: PageMap,
}

impl Source {
    /// Reads a document; `None` when it is gone.
    pub(super) fn load(desk: &Desk<'_>, doc: i64) -> Result<Option<Self>, AskError> {
        let mut statement = desk
            .snapshot
            .prepare_cached("SELECT path, format, text, lines, pages FROM docs WHERE id = ?1")?;
        let source = statement.query_row([doc], |row| {
            Ok(Source {
                doc,
                path: row.get(0)?,
                format: row.get(1)?,
                text: row.get(2)?,
                lines: LineMap::decode(&row.get::<_, Vec<u8>>(3)?),
                pages: PageMap::decode(row.get::<_, Option<Vec<u8>>>(4)?.as_deref()),
            })
        });
        Ok(source.optional()?)
    }

    /// The place at a byte of the text, quoted by these words.
    pub(super) fn view(
        &self,
        desk: &Desk<'_>,
        at: usize,
        text: String,
    ) -> Result<SourceView, AskError> {
        let is_shown = SHOWN_BY_HEADING.contains(&self.format.as_str());
        let section = if is_shown { self.section_at(desk, at)? } else { String::new() };
        let (line, page) = (self.lines.line_at(at), self.pages.page_at(at));
        Ok(SourceView { path: self.path.clone(), line, page, section, text })
    }

    /// The last two headings above a place; the earliest chunk that holds it is the one it does not overlap into.
    fn section_at(&self, desk: &Desk<'_>, at: usize) -> Result<String, AskError> {
        let mut statement = desk.snapshot.prepare_cached(
            "SELECT section FROM chunks WHERE doc_id = ?1 AND start <= ?2 AND end > ?2 ORDER BY idx LIMIT 1",
        )?;
        let section = statement.query_row(params![self.doc, at as i64], |row| row.get(0));
        Ok(section.optional()?.unwrap_or_default())
    }
}
