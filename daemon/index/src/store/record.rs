//! Record: what the recognizers read of a document besides its text, packed into one column, so that its names are
//! read again from the index, without its file.
//!
//! In: a document, as its content is written. Out: bytes; later the document as it was when it left the stage `chunk`,
//! but without chunks and without what only the writer needs of it.
//! Invariants: secrets were removed before; the form belongs to the schema's version; what cannot be decoded
//! (`scrub.rs` finds out) is not read again before its file is.

use model::document::{
    Block, DocHead, DocMeta, Document, GivenName, Inline, Link, Pass, Reading, StatedNote,
};
use model::terms::{ContentHash, EntityType, Norm, RelPath, Span, SpanMap};
use notes::parse::{self, Note, Place, Relation, RelationKind};
use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};

use super::schema::PASS_SWIFT;
use super::{Snapshot, StoreError};

/// The packed form.
#[derive(Serialize, Deserialize)]
struct Record {
    has_stated_title: bool,
    aliases: Vec<String>,
    other_languages: Vec<(Span<Norm>, String)>,
    map: SpanMap,
    /// The length of each line, in bytes; empty without lines.
    lines: Vec<u32>,
    blocks: Vec<Block>,
    inlines: Vec<Inline>,
    links: Vec<Link>,
    given: Option<Vec<Given>>,
    note: Option<Statements>,
}

/// Place, type and entity of a name that the user states.
type Given = (Span<Norm>, i64, Option<String>);

/// The places of a note's links in the file, and its typed relations: type, start, and number of the link.
#[derive(Serialize, Deserialize)]
struct Statements {
    links: Vec<(usize, usize)>,
    relations: Vec<(String, usize, usize)>,
}

impl Statements {
    fn of(note: &Note) -> Self {
        // An embed states no relation: that of a badge is of the link around it.
        let end = |it: &parse::Link| match it.kind {
            parse::LinkKind::Embed | parse::LinkKind::Image => it.place.span.start,
            _ => it.place.span.end,
        };
        let links = note.links.iter().map(|it| (it.place.span.start, end(it)));
        let typed = note.relations.iter().filter(|it| it.kind == RelationKind::Typed);
        let relations =
            typed.map(|it| (it.relation_type.clone(), it.place.span.start, it.link)).collect();
        Statements { links: links.collect(), relations }
    }

    fn note(self) -> Note {
        let place = |start: usize, end: usize| Place { span: start..end, line: 0 };
        let link = |(start, end)| parse::Link {
            kind: parse::LinkKind::Wiki,
            target: String::new(),
            heading: None,
            block: None,
            display: None,
            place: place(start, end),
            target_span: start..end,
            is_html: false,
        };
        let relation = |(relation_type, start, link)| Relation {
            kind: RelationKind::Typed,
            relation_type,
            link,
            context: None,
            block_id: None,
            item: None,
            place: place(start, start),
        };
        let links = self.links.into_iter().map(link).collect();
        let relations = self.relations.into_iter().map(relation).collect();
        Note { links, relations, ..Note::default() }
    }
}

/// Packs a document.
pub(super) fn pack(doc: &Document) -> Vec<u8> {
    let starts = &doc.line_starts;
    let given = doc.given.as_ref().map(|given| {
        given.iter().map(|it| (it.span, it.entity_type.code(), it.entity.clone())).collect()
    });
    let record = Record {
        has_stated_title: doc.meta.has_stated_title,
        aliases: doc.meta.aliases.clone(),
        other_languages: doc.other_languages.clone(),
        map: doc.map.clone(),
        lines: starts
            .iter()
            .zip(starts.iter().skip(1))
            .map(|(a, b)| b.saturating_sub(*a))
            .collect(),
        blocks: doc.blocks.clone(),
        inlines: doc.inlines.clone(),
        links: doc.links.clone(),
        given,
        note: doc.note.as_ref().map(|stated| Statements::of(&stated.note)),
    };
    // Packing into memory fails for no value of these types.
    postcard::to_allocvec(&record).unwrap_or_default()
}

/// Returns the document of a row, to be read for its names; `None` if there is none.
///
/// # Errors
/// When the index cannot be read.
pub fn stored(snapshot: &Snapshot, doc: i64) -> Result<Option<Document>, StoreError> {
    let sql = "SELECT path, hash, n_bytes, mtime_ms, pass, title, language, lines <> x'', text, outline FROM docs
               WHERE id = ?1";
    let mut statement = snapshot.db().prepare_cached(sql)?;
    let found = statement.query_row([doc], |row| {
        let Ok(record) = postcard::from_bytes::<Record>(row.get_ref(9)?.as_blob()?) else {
            return Ok(None);
        };
        let head = DocHead {
            path: RelPath::new(row.get::<_, String>(0)?),
            hash: ContentHash(u128::from_le_bytes(row.get(1)?)),
            n_bytes: row.get::<_, i64>(2)? as u64,
            mtime_ms: row.get(3)?,
            pass: if row.get::<_, i64>(4)? == PASS_SWIFT { Pass::Swift } else { Pass::Deep },
            reading: Reading::Stored(doc),
        };
        let (title, language) = (row.get(5)?, row.get(6)?);
        Ok(Some(record.document(head, title, language, row.get(7)?, row.get(8)?)))
    });
    Ok(found.optional()?.flatten())
}

impl Record {
    fn document(
        self,
        head: DocHead,
        title: String,
        language: String,
        has_lines: bool,
        text: String,
    ) -> Document {
        let mut line_starts = Vec::with_capacity(self.lines.len() + 1);
        line_starts.extend(has_lines.then_some(0));
        for length in self.lines {
            let last = line_starts.last().copied().unwrap_or(0u32);
            line_starts.push(last.saturating_add(length));
        }
        let given = self.given.map(|given| {
            let name = |(span, code, entity)| GivenName {
                span,
                entity_type: EntityType::from_code(code),
                entity,
            };
            given.into_iter().map(name).collect()
        });
        let note = self.note.map(|it| {
            let (link_lines, node) = Default::default();
            Box::new(StatedNote { note: it.note(), link_lines, node })
        });
        let (has_stated_title, aliases) = (self.has_stated_title, self.aliases);
        Document {
            head,
            title,
            language,
            text,
            meta: DocMeta { has_stated_title, aliases, ..DocMeta::default() },
            other_languages: self.other_languages,
            map: self.map,
            line_starts,
            blocks: self.blocks,
            inlines: self.inlines,
            links: self.links,
            given,
            note,
            ..Document::default()
        }
    }
}
