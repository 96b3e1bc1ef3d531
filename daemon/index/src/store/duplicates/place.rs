//! Place: the places of a text, and their order.

use rusqlite::{Connection, OptionalExtension};

use crate::store::StoreError;

/// A document, and the byte of its text at which the text starts.
pub(super) type Place = (i64, i64);

/// The places of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    /// Nowhere.
    None,
    /// At one place.
    One(Place),
    /// At several; this is the first.
    Many(Place),
}

impl Places {
    /// Returns the place that is indexed.
    pub(super) fn home(self) -> Option<Place> {
        match self {
            Places::None => None,
            Places::One(place) | Places::Many(place) => Some(place),
        }
    }
}

/// Returns the places of a text; the list of its copies must be up to date.
pub(super) fn places(db: &Connection, text: i64) -> Result<Places, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT doc_id, start FROM prints WHERE text = ?1 LIMIT 2")?;
    let mut rows = statement.query([text])?;
    let Some(row) = rows.next()? else { return Ok(Places::None) };
    let one = (row.get(0)?, row.get(1)?);
    if rows.next()?.is_none() {
        return Ok(Places::One(one));
    }
    // Rows of `prints` are in no order of rank; the list of copies is.
    Ok(Places::Many(first_copy(db, text)?.unwrap_or(one)))
}

/// Returns the first place of a text that has several.
pub(super) fn first_copy(db: &Connection, text: i64) -> Result<Option<Place>, StoreError> {
    Ok(db
        .prepare_cached(
            "SELECT doc_id, start FROM copies WHERE text = ?1 ORDER BY rank, start LIMIT 1",
        )?
        .query_row([text], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// Returns the sort key of a path's places: fewest folders first, then the shorter path, then the path itself. So
/// `guide.md` comes before `guide (copy).md` and before `archive/guide.md`, and a rebuild gives the same order.
pub(super) fn rank_of(path: &str) -> String {
    // Fixed-width hexadecimal, so that strings compare like numbers. Longer paths are cut off at the maximum and
    // compared by name.
    let n_folders = path.bytes().filter(|byte| *byte == b'/').count().min(0xff);
    let n_bytes = path.len().min(0xffff);
    format!("{n_folders:02x}{n_bytes:04x}{path}")
}

/// Returns the rank of a document's places.
pub(super) fn rank_of_doc(db: &Connection, doc: i64) -> Result<String, StoreError> {
    let path: Option<String> = db
        .prepare_cached("SELECT path FROM docs WHERE id = ?1")?
        .query_row([doc], |row| row.get(0))
        .optional()?;
    Ok(rank_of(&path.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::rank_of;

    #[test]
    fn the_shortest_way_from_the_top_comes_first() {
        let mut paths = [
            "archive/guide.md",
            "guide (copy).md",
            "b/guide.md",
            "guide.md",
            "a/guide.md",
            "about.md",
        ];
        paths.sort_by_key(|path| rank_of(path));
        let expected = [
            "about.md",
            "guide.md",
            "guide (copy).md",
            "a/guide.md",
            "b/guide.md",
            "archive/guide.md",
        ];
        assert_eq!(paths, expected);
    }
}
