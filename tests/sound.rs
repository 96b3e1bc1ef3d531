//! Sound: what must be true of the databases of a settled project, whatever happened before.
//!
//! In: the state folder. Out: one line for each row that should not exist, or that is missing.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

/// Rows that must not exist: what is wrong, and a query that returns a text for each. `l` is the
/// ledger.
const UNSOUND: &[(&str, &str)] = &[
    ("chunk without document", "SELECT id FROM chunks WHERE doc_id NOT IN (SELECT id FROM docs)"),
    ("chunk twice", "SELECT doc_id || ' ' || idx FROM chunks GROUP BY doc_id, idx HAVING count(*) > 1"),
    (
        "document without chunk",
        "SELECT path FROM docs WHERE trim(text) <> '' AND id NOT IN (SELECT doc_id FROM chunks)",
    ),
    ("text without chunk", "SELECT id FROM chunk_fts_docsize WHERE id NOT IN (SELECT id FROM chunks)"),
    (
        "chunk without text",
        "SELECT id FROM chunks WHERE coalesce(same_as, id) = id AND id NOT IN (SELECT id FROM chunk_fts_docsize)",
    ),
    ("window without chunk", "SELECT id FROM windows WHERE chunk_id NOT IN (SELECT id FROM chunks)"),
    (
        "window twice",
        "SELECT chunk_id || ' ' || start FROM windows GROUP BY chunk_id, start, end HAVING count(*) > 1",
    ),
    ("chunk without window", "SELECT id FROM chunks WHERE id NOT IN (SELECT chunk_id FROM windows)"),
    (
        "window without vector",
        "SELECT w.id FROM windows w JOIN chunks c ON c.id = w.chunk_id
           WHERE c.language IN ('', 'en') AND w.vector IS NULL",
    ),
    (
        "chunk that is compared and not decided, or the other way round",
        "SELECT id FROM chunks WHERE (print IS NULL) <> (same_as IS NULL)",
    ),
    (
        "chunk that repeats one that is gone or itself repeats another",
        "SELECT c.id FROM chunks c LEFT JOIN chunks f ON f.id = c.same_as
           WHERE c.same_as IS NOT NULL AND f.same_as IS NOT f.id",
    ),
    (
        "chunk without key, or with that of the other kind",
        "SELECT id FROM chunks WHERE print IS NOT NULL
           AND id NOT IN (SELECT chunk_id FROM chunk_keys k WHERE k.is_repeat = (same_as <> id))",
    ),
    ("key of no chunk", "SELECT key FROM chunk_keys WHERE chunk_id NOT IN (SELECT id FROM chunks)"),
    ("document whose chunks are left to settle", "SELECT path FROM docs WHERE is_open"),
    ("tag without document", "SELECT tag FROM doc_tags WHERE doc_id NOT IN (SELECT id FROM docs)"),
    ("mention without document", "SELECT positions FROM mentions WHERE doc_id NOT IN (SELECT id FROM docs)"),
    ("mention without name", "SELECT positions FROM mentions WHERE name_id NOT IN (SELECT id FROM names)"),
    (
        "passage with other names than its mentions",
        "SELECT c.id FROM chunks c WHERE names <> coalesce((SELECT json_group_array(name_id) FROM
           (SELECT DISTINCT m.name_id FROM mentions m JOIN json_each(m.positions) p ON p.value ->> 0 >= c.start
              AND p.value ->> 0 < c.end WHERE m.doc_id = c.doc_id ORDER BY m.name_id)), '[]')",
    ),
    ("statement without document", "SELECT surface FROM stated WHERE doc_id NOT IN (SELECT id FROM docs)"),
    ("statement without name", "SELECT surface FROM stated WHERE name_id NOT IN (SELECT id FROM names)"),
    ("evidence without document", "SELECT predicate FROM evidence WHERE doc_id NOT IN (SELECT id FROM docs)"),
    (
        "evidence without party",
        "SELECT predicate || ' ' || party FROM (SELECT predicate, subject AS party FROM evidence
           UNION ALL SELECT predicate, object FROM evidence)
         WHERE (party > 0 AND party NOT IN (SELECT id FROM names))
            OR (party < 0 AND -party NOT IN (SELECT id FROM docs))",
    ),
    (
        "name that nobody writes",
        "SELECT norm FROM names WHERE sense = 0 AND id NOT IN (SELECT name_id FROM mentions)
           AND id NOT IN (SELECT name_id FROM stated)
           AND id NOT IN (SELECT subject FROM evidence) AND id NOT IN (SELECT object FROM evidence)",
    ),
    // A name of several notes may denote none (decision 2), and so may a name with several
    // candidates (6).
    ("name without entity", "SELECT norm FROM names WHERE entity_id IS NULL AND decision NOT IN (2, 6)"),
    ("name of no entity", "SELECT norm FROM names WHERE entity_id NOT IN (SELECT id FROM entities)"),
    ("name through no name", "SELECT norm FROM names WHERE via NOT IN (SELECT id FROM names)"),
    ("sense of no document", "SELECT norm FROM names WHERE sense > 0 AND sense NOT IN (SELECT id FROM docs)"),
    ("alias without document", "SELECT norm FROM aliases WHERE doc_id NOT IN (SELECT id FROM docs)"),
    ("alias of no name", "SELECT norm FROM aliases WHERE target NOT IN (SELECT norm FROM names)"),
    (
        "proposal without name",
        "SELECT name_id FROM proposals WHERE name_id NOT IN (SELECT id FROM names)
           OR candidate NOT IN (SELECT id FROM names)",
    ),
    ("key without name", "SELECT key FROM name_keys WHERE name_id NOT IN (SELECT id FROM names)"),
    (
        "entity without name",
        "SELECT name FROM entities WHERE doc_id IS NULL AND id NOT IN
           (SELECT entity_id FROM names WHERE entity_id IS NOT NULL)",
    ),
    ("entity of no document", "SELECT name FROM entities WHERE doc_id NOT IN (SELECT id FROM docs)"),
    ("entity twice", "SELECT norm FROM entities WHERE doc_id IS NULL GROUP BY norm HAVING count(*) > 1"),
    ("note without entity", "SELECT path FROM docs WHERE is_note AND entity_id IS NULL"),
    ("document of no entity", "SELECT path FROM docs WHERE entity_id NOT IN (SELECT id FROM entities)"),
    ("document twice", "SELECT path FROM docs GROUP BY path HAVING count(*) > 1"),
    ("term of nobody", "SELECT surface FROM terms WHERE n_docs <= 0"),
    ("name of no document", "SELECT key FROM doc_names WHERE doc_id NOT IN (SELECT id FROM docs)"),
    ("note without document", "SELECT base FROM notes WHERE doc_id NOT IN (SELECT id FROM docs WHERE is_note)"),
    ("note without row", "SELECT path FROM docs WHERE is_note AND id NOT IN (SELECT doc_id FROM notes)"),
    (
        "permalink twice, or none",
        "SELECT permalink FROM notes GROUP BY permalink HAVING count(*) > 1 OR permalink IS NULL",
    ),
    ("link without note", "SELECT target FROM note_links WHERE doc_id NOT IN (SELECT doc_id FROM notes)"),
    ("link to no document", "SELECT target FROM note_links WHERE dst NOT IN (SELECT id FROM docs)"),
    ("work left to do", "SELECT kind || ' ' || key FROM work"),
    (
        "document with another uid than in the ledger",
        "SELECT path FROM docs d WHERE uid IS NOT
           (SELECT uid FROM l.documents e WHERE e.path = d.path AND e.gone_ms IS NULL)",
    ),
    (
        "document of the ledger that is not indexed",
        "SELECT path FROM l.documents WHERE gone_ms IS NULL AND path NOT IN (SELECT path FROM docs)
           AND path NOT IN (SELECT path FROM quarantine)",
    ),
    ("uid twice", "SELECT uid FROM l.documents GROUP BY uid HAVING count(*) > 1"),
];

/// Returns what is wrong with the index and the ledger; empty if they are sound. The project must
/// be settled.
///
/// # Panics
/// If a database cannot be read.
pub fn unsound_rows(index: &Path, ledger: &Path) -> Vec<String> {
    sys::register_sqlite_vec();
    let db = Connection::open_with_flags(index, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let db = db.expect("the index opens");
    // A reader that closes last must leave the log to the daemon.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).expect("an option");
    db.execute("ATTACH ?1 AS l", [ledger.to_string_lossy()]).expect("the ledger opens");
    let mut found = Vec::new();
    for (what, sql) in UNSOUND {
        let mut statement = db.prepare(sql).unwrap_or_else(|error| panic!("{what}: {error}"));
        let rows = statement.query_map([], |row| row.get::<_, rusqlite::types::Value>(0));
        for row in rows.expect("rows") {
            found.push(format!("{what}: {:?}", row.expect("a row")));
        }
    }
    for database in ["main", "l"] {
        let sql = format!("PRAGMA {database}.integrity_check");
        let mut statement = db.prepare(&sql).expect("a check");
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("rows");
        let bad = rows.map(|row| row.expect("a row")).filter(|row| row != "ok");
        found.extend(bad.map(|row| format!("{database}: {row}")));
    }
    found
}
