//! The whole index as text: also what `dump` does not tell, such as vectors, the text index, the gazetteer and
//! why each name denotes what it does. Row ids are shown as what they stand for.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// What is compared, a heading and a query each; every query gives rows of any columns.
const PARTS: &[(&str, &str)] = &[
    ("gazetteer", "SELECT * FROM gazetteer"),
    ("term", "SELECT * FROM terms"),
    (
        "doc",
        "SELECT d.path, d.title, d.is_note, d.format, d.doc_type, d.language, d.day, d.hash, d.source_url, d.meta,
           d.text, d.lines, d.terms, d.warnings, d.redactions, e.norm, e.name, h.path
         FROM docs d LEFT JOIN entities e ON e.id = d.entity_id LEFT JOIN docs h ON h.id = e.doc_id",
    ),
    ("tag", "SELECT d.path, t.tag FROM doc_tags t LEFT JOIN docs d ON d.id = t.doc_id"),
    (
        "chunk",
        "SELECT d.path, c.idx, c.start, c.end, c.raw_start, c.raw_end, c.line_start, c.line_end, c.n_tokens,
           c.section, c.hash FROM chunks c LEFT JOIN docs d ON d.id = c.doc_id",
    ),
    (
        "vector",
        "SELECT d.path, c.idx, m.start, m.end, v.embedding FROM chunk_vec v
         LEFT JOIN chunk_vec_map m ON m.id = v.rowid LEFT JOIN chunks c ON c.id = m.chunk_id
         LEFT JOIN docs d ON d.id = c.doc_id",
    ),
    (
        "word",
        "SELECT d.path, c.idx, w.col, group_concat(w.term || '@' || w.offset, ' ' ORDER BY w.term, w.offset)
         FROM temp.words w LEFT JOIN chunks c ON c.id = w.doc LEFT JOIN docs d ON d.id = c.doc_id
         GROUP BY w.doc, w.col",
    ),
    (
        "entity",
        "SELECT e.norm, d.path, e.name, e.type, e.status FROM entities e LEFT JOIN docs d ON d.id = e.doc_id",
    ),
    (
        "name",
        "SELECT n.norm, sd.path, e.name, e.norm, h.path, printf('%.5f', n.link), n.decision, v.norm, n.surface,
           n.type, n.n_docs, n.n_mentions,
           (SELECT group_concat(d.path, ', ' ORDER BY d.path) FROM docs d
            WHERE ',' || n.homes || ',' LIKE '%,' || d.id || ',%'),
           n.home_source, n.is_fuzzy,
           (SELECT group_concat(k.key, ' ' ORDER BY k.key) FROM name_keys k WHERE k.name_id = n.id)
         FROM names n LEFT JOIN docs sd ON sd.id = n.sense LEFT JOIN entities e ON e.id = n.entity_id
         LEFT JOIN docs h ON h.id = e.doc_id LEFT JOIN names v ON v.id = n.via",
    ),
    (
        "stated",
        "SELECT d.path, n.norm, s.source, s.surface FROM stated s LEFT JOIN docs d ON d.id = s.doc_id
         LEFT JOIN names n ON n.id = s.name_id",
    ),
    (
        "mention",
        "SELECT d.path, m.at, m.start, m.end, m.line, n.norm, sd.path, m.type, m.recognizer, m.score, m.place,
           m.surface FROM mentions m LEFT JOIN docs d ON d.id = m.doc_id LEFT JOIN names n ON n.id = m.name_id
         LEFT JOIN docs sd ON sd.id = n.sense",
    ),
    (
        "evidence",
        "SELECT d.path, e.start, e.end, coalesce(sn.norm, sd.path), sns.path, e.predicate,
           coalesce(bn.norm, bd.path), bns.path, e.subject_at, e.object_at, e.raw_start, e.raw_end, e.line,
           e.pattern, printf('%.5f', e.confidence)
         FROM evidence e LEFT JOIN docs d ON d.id = e.doc_id
         LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN docs sd ON sd.id = -e.subject
         LEFT JOIN names bn ON bn.id = e.object LEFT JOIN docs bd ON bd.id = -e.object
         LEFT JOIN docs sns ON sns.id = sn.sense LEFT JOIN docs bns ON bns.id = bn.sense",
    ),
    ("dirty name", "SELECT n.norm FROM dirty_names d LEFT JOIN names n ON n.id = d.name_id"),
    ("dirty term", "SELECT norm FROM dirty_terms"),
    ("requeue", "SELECT d.path FROM requeue r LEFT JOIN docs d ON d.id = r.doc_id"),
    ("quarantine", "SELECT path, stage, reason, is_transient FROM quarantine"),
];

/// The index at `path` as sorted lines, each with its part's heading.
///
/// # Panics
/// When it cannot be read.
pub fn index_text(path: &Path) -> String {
    daemon::sys::register_sqlite_vec();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let db = Connection::open_with_flags(path, flags).expect("the index opens");
    db.execute_batch(
        "PRAGMA query_only = 0; CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, chunk_fts, instance)",
    )
    .expect("words can be read");
    PARTS.iter().map(|(heading, sql)| part(&db, heading, sql)).collect()
}

fn part(db: &Connection, heading: &str, sql: &str) -> String {
    let mut statement = db.prepare(sql).unwrap_or_else(|error| panic!("{heading}: {error}"));
    let n_columns = statement.column_count();
    let mut lines = Vec::new();
    let mut rows = statement.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let cells = (0..n_columns).map(|i| cell(row.get_ref(i).expect("a column")));
        lines.push(format!("{heading}: {}\n", cells.collect::<Vec<_>>().join(" | ")));
    }
    lines.sort();
    lines.concat()
}

fn cell(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_string(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(x) => format!("{x:.6}"),
        ValueRef::Text(text) => String::from_utf8_lossy(text).replace('\n', "\\n"),
        ValueRef::Blob(bytes) => format!("{:016x}", xxhash_rust::xxh3::xxh3_64(bytes)),
    }
}
