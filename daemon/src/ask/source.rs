//! Sources: a place of a document as a reader finds it: line, page or heading, whatever the format has.
//!
//! In: a document and a place of its normalized text. Out: [`SourceView`].
//! Not here: which words are quoted (`snippet.rs`, `entity.rs`).

use proto::shape::SourceView;
use rusqlite::OptionalExtension;

use super::{AskError, Desk};
use crate::store::lines::{HeadingMap, LineMap, PageMap};

/// A document to quote from.
pub(super) struct Source {
    path: String,
    /// The normalized text.
    pub(super) text: String,
    lines: LineMap,
    pages: PageMap,
    headings: Option<HeadingMap>,
}

impl Source {
    /// Reads a document; `None` when it is gone.
    pub(super) fn load(desk: &Desk<'_>, doc: i64) -> Result<Option<Self>, AskError> {
        let mut statement = desk
            .snapshot
            .prepare_cached("SELECT path, text, lines, pages, headings FROM docs WHERE id = ?1")?;
        let source = statement.query_row([doc], |row| {
            Ok(Source {
                path: row.get(0)?,
                text: row.get(1)?,
                lines: LineMap::decode(&row.get::<_, Vec<u8>>(2)?),
                pages: PageMap::decode(row.get::<_, Option<Vec<u8>>>(3)?.as_deref()),
                headings: HeadingMap::decode(row.get::<_, Option<Vec<u8>>>(4)?.as_deref()),
            })
        });
        Ok(source.optional()?)
    }

    /// The place at a byte of the text, quoted by these words.
    pub(super) fn view(&self, at: usize, text: String) -> SourceView {
        let section = self.headings.as_ref().map(|it| it.path_at(&self.text, at));
        SourceView {
            path: self.path.clone(),
            line: self.lines.line_at(at),
            page: self.pages.page_at(at),
            section: section.unwrap_or_default(),
            text,
        }
    }
}
