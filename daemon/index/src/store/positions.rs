//! Positions: where one document mentions one name, packed in one column.
//!
//! In: mentions as a document's stages found them. Out: `mentions.positions`, and the reverse.
//! The form is a JSON array of arrays, which SQLite reads as well: `json_each(positions)`.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use serde::{Deserialize, Serialize, Serializer};

use model::document::{Document, Mention, PlaceFeatures};

use super::lines;

/// A place where a document mentions a name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Position {
    /// First byte of the document's text.
    pub at: usize,
    /// First byte of the file.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// Line of the file.
    pub line: u32,
    /// Code of its type here.
    pub type_code: i64,
    /// Code of the recognizer.
    pub recognizer: i64,
    /// Confidence, 0 to 1.
    pub score: f32,
    /// [`PlaceFeatures::bits`].
    pub place: i64,
    /// As written.
    pub surface: String,
}

impl Serialize for Position {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Position { at, start, end, line, type_code, recognizer, score, place, surface } = self;
        (at, start, end, line, type_code, recognizer, score, place, surface).serialize(serializer)
    }
}

impl Position {
    /// Returns the place of a mention of a document.
    pub(super) fn of(doc: &Document, mention: &Mention) -> Self {
        let raw = doc.map.to_raw(mention.span);
        Position {
            at: mention.span.start(),
            start: raw.start() as u64,
            end: raw.end() as u64,
            line: lines::line_of(&doc.line_starts, raw.start()),
            type_code: mention.entity_type.code(),
            recognizer: mention.recognizer as i64,
            score: mention.score.get(),
            place: mention.place.bits(),
            surface: mention.span.of(&doc.text).to_string(),
        }
    }

    /// Returns the features of the place.
    pub fn features(&self) -> PlaceFeatures {
        PlaceFeatures::from_bits(self.place)
    }
}

/// The positions that a column holds, by place.
pub(crate) struct Positions(pub Vec<Position>);

impl FromSql for Positions {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        serde_json::from_str(value.as_str()?).map(Positions).map_err(FromSqlError::other)
    }
}

/// Returns the column of some positions.
pub(super) fn pack(positions: &[Position]) -> String {
    // Packing into memory fails for no value of these types.
    serde_json::to_string(positions).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_and_read_by_sqlite() {
        let one = Position {
            at: 3,
            start: 5,
            end: 15,
            line: 2,
            type_code: 4,
            recognizer: 1,
            score: 0.6,
            place: 1 << 10,
            surface: "\"Tide\"\n Clöck".to_string(),
        };
        let packed = pack(&[one.clone(), Position { at: 40, ..one.clone() }]);
        let db = rusqlite::Connection::open_in_memory().expect("opens");
        let unpacked = |text: &str| {
            db.query_row("SELECT ?1", [text], |row| row.get(0)).map(|Positions(all)| all)
        };
        let expected = [one.clone(), Position { at: 40, ..one.clone() }];
        assert_eq!(unpacked(&packed).expect("unpacked"), expected);
        assert!(unpacked("[[3").is_err(), "a damaged row is not read as an empty one");
        let sql =
            "SELECT value ->> 0, value ->> 6, value ->> 8 FROM json_each(?1) WHERE value ->> 0 > 3";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let row: (i64, f32, String) = db.query_row(sql, [packed], read).expect("a row");
        assert_eq!(row, (40, 0.6, one.surface));
    }
}
