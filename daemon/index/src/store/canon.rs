//! Canon: a whole index as canonical text, and the comparison of two, which `verify` and the tests use.
//!
//! In: two indexes. Out: for each part how many rows differ, and the first of them as text. Row ids are replaced by
//! what they refer to, so two indexes of the same files are equal whatever their history.
//! Invariant: every table that affects an answer is in [`PARTS`]; left out is bookkeeping of one run (ticks,
//! modification times that decide nothing, the gazetteer version a document was read with).
//! Vectors are compared byte by byte; those of a transformer, which may differ in the last digits between machines,
//! will need a tolerance once they are compared.

use std::path::Path;

use rusqlite::OptionalExtension;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Statement};
use rustc_hash::FxHashMap;

use super::StoreError;
use super::work::Work;

/// The parts that are compared: a name and a query each. The query may return any columns.
pub const PARTS: &[(&str, &str)] = &[
    ("gazetteer", "SELECT * FROM gazetteer"),
    ("term", "SELECT * FROM terms"),
    (
        "doc",
        "SELECT d.path, d.title, d.is_note, d.format, d.doc_type, d.language, d.day, d.hash, d.source_url, d.meta,
           d.text, d.lines, d.pages, d.headings, d.terms, d.warnings, d.redactions, e.norm, e.name, h.path
         FROM docs d LEFT JOIN shown_entities e ON e.id = d.entity_id LEFT JOIN docs h ON h.id = e.doc_id",
    ),
    ("written", "SELECT path, written FROM docs WHERE written IS NOT NULL"),
    ("tag", "SELECT d.path, t.tag FROM doc_tags t LEFT JOIN docs d ON d.id = t.doc_id"),
    (
        "chunk",
        "SELECT d.path, c.idx, c.start, c.end, c.raw_start, c.raw_end, c.line_start, c.line_end, c.n_tokens,
           c.section, c.hash, c.language, c.profile, c.headings, c.print, c.keys, sd.path, s.idx,
           (SELECT group_concat(n.norm, ', ' ORDER BY n.norm) FROM json_each(c.names) m JOIN names n ON n.id = m.value)
         FROM chunks c LEFT JOIN docs d ON d.id = c.doc_id LEFT JOIN chunks s ON s.id = c.same_as
         LEFT JOIN docs sd ON sd.id = s.doc_id",
    ),
    (
        "vector",
        "SELECT d.path, c.idx, w.start, w.end, w.is_aside, w.hash, w.vector FROM windows w
         LEFT JOIN chunks c ON c.id = w.chunk_id LEFT JOIN docs d ON d.id = c.doc_id",
    ),
    (
        "chunk key",
        "SELECT k.key, k.is_repeat, d.path, c.idx FROM chunk_keys k LEFT JOIN chunks c ON c.id = k.chunk_id
         LEFT JOIN docs d ON d.id = c.doc_id",
    ),
    (
        "word",
        "SELECT d.path, c.idx, w.col, w.term, w.offset FROM temp.words w LEFT JOIN chunks c ON c.id = w.doc
         LEFT JOIN docs d ON d.id = c.doc_id",
    ),
    (
        "entity",
        "SELECT e.norm, d.path, e.name, e.type, e.status FROM shown_entities e LEFT JOIN docs d ON d.id = e.doc_id",
    ),
    (
        "name",
        "SELECT n.norm, sd.path, e.name, e.norm, h.path, printf('%.5f', n.link), n.decision, v.norm, n.surface,
           n.type, n.n_docs, n.n_mentions,
           (SELECT group_concat(d.path, ', ' ORDER BY d.path) FROM json_each('[' || n.homes || ']') h
            JOIN docs d ON d.id = h.value),
           n.home_source, n.is_fuzzy, n.is_split
         FROM names n LEFT JOIN docs sd ON sd.id = n.sense LEFT JOIN shown_entities e ON e.id = n.entity_id
         LEFT JOIN docs h ON h.id = e.doc_id LEFT JOIN names v ON v.id = n.via",
    ),
    (
        "name key",
        "SELECT k.key, n.norm, sd.path FROM name_keys k LEFT JOIN names n ON n.id = k.name_id
         LEFT JOIN docs sd ON sd.id = n.sense",
    ),
    (
        "stated",
        "SELECT d.path, n.norm, s.source, s.surface FROM stated s LEFT JOIN docs d ON d.id = s.doc_id
         LEFT JOIN names n ON n.id = s.name_id",
    ),
    (
        "heading",
        "SELECT d.path, h.norm, h.surface, h.otherwise FROM headings h LEFT JOIN docs d ON d.id = h.doc_id",
    ),
    (
        "mention",
        "SELECT d.path, n.norm, sd.path, e.norm, m.n, m.at, m.positions
         FROM mentions m LEFT JOIN docs d ON d.id = m.doc_id LEFT JOIN names n ON n.id = m.name_id
         LEFT JOIN docs sd ON sd.id = n.sense LEFT JOIN shown_entities e ON e.id = n.entity_id",
    ),
    (
        "alias",
        "SELECT a.norm, a.target, d.path, a.source FROM aliases a LEFT JOIN docs d ON d.id = a.doc_id",
    ),
    (
        "proposal",
        "SELECT n.norm, c.norm, printf('%.5f', p.score) FROM proposals p LEFT JOIN names n ON n.id = p.name_id
         LEFT JOIN names c ON c.id = p.candidate",
    ),
    (
        "evidence",
        "SELECT d.path, e.start, e.end, coalesce(sn.norm, sd.path), sns.path, e.predicate,
           coalesce(bn.norm, bd.path), bns.path, se.norm, be.norm,
           e.subject_at, e.object_at, e.raw_start, e.raw_end, e.line,
           e.pattern, printf('%.5f', e.confidence), e.subject_link, e.object_link
         FROM evidence e LEFT JOIN docs d ON d.id = e.doc_id
         LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN docs sd ON sd.id = -e.subject
         LEFT JOIN names bn ON bn.id = e.object LEFT JOIN docs bd ON bd.id = -e.object
         LEFT JOIN docs sns ON sns.id = sn.sense LEFT JOIN docs bns ON bns.id = bn.sense
         LEFT JOIN shown_entities se ON se.id = sn.entity_id LEFT JOIN shown_entities be ON be.id = bn.entity_id",
    ),
    ("doc name", "SELECT d.path, n.kind, n.key FROM doc_names n LEFT JOIN docs d ON d.id = n.doc_id"),
    (
        "note",
        "SELECT d.path, n.base, n.is_stated, n.permalink, n.metadata FROM notes n LEFT JOIN docs d ON d.id = n.doc_id",
    ),
    (
        "observation",
        "SELECT d.path, o.seq, o.category, o.content, o.tags, o.context, o.block, o.start, o.end, o.line
         FROM observations o LEFT JOIN docs d ON d.id = o.doc_id",
    ),
    (
        "note link",
        "SELECT d.path, l.seq, l.kind, l.rel, l.is_typed, l.target, l.heading, l.block, l.display, l.context,
           l.own_block, l.start, l.end, l.target_start, l.target_end, l.line, l.said, l.file_key, l.name_key,
           l.permalink_key, l.dst IS NULL, t.path
         FROM note_links l LEFT JOIN docs d ON d.id = l.doc_id LEFT JOIN docs t ON t.id = l.dst",
    ),
    (
        "note field",
        "SELECT d.path, f.seq, f.key, f.value, f.is_inline, f.start, f.end, f.line
         FROM note_fields f LEFT JOIN docs d ON d.id = f.doc_id",
    ),
    (
        "note place",
        "SELECT d.path, p.seq, p.kind, p.level, p.name, p.key, p.start, p.end, p.line
         FROM note_places p LEFT JOIN docs d ON d.id = p.doc_id",
    ),
    (
        "memory node",
        "SELECT d.path, n.key, n.name, n.type, n.is_node, n.in_folder, n.summary, n.tags, n.last_ordinal, n.n_facts,
           n.n_vectors, n.vectors, n.mean
         FROM notes n LEFT JOIN docs d ON d.id = n.doc_id",
    ),
    (
        "memory fact",
        "SELECT d.path, f.seq, f.ordinal, f.content, f.line_start, f.line_end, f.speaker, f.day
         FROM memory_facts f LEFT JOIN docs d ON d.id = f.doc_id",
    ),
    ("dirty link", "SELECT key FROM temp.link"),
    ("dirty permalink", "SELECT key FROM temp.number"),
    ("dirty name", "SELECT n.norm FROM temp.gather w LEFT JOIN names n ON n.id = w.key"),
    ("undecided", "SELECT n.norm FROM temp.decide w LEFT JOIN names n ON n.id = w.key"),
    ("dirty term", "SELECT key FROM temp.weigh"),
    ("open document", "SELECT path FROM docs WHERE is_open"),
    (
        "requeue",
        "SELECT d.path FROM (SELECT key FROM temp.reread UNION ALL SELECT key FROM temp.reload) w
         LEFT JOIN docs d ON d.id = w.key",
    ),
    ("quarantine", "SELECT path, stage, reason, is_transient FROM quarantine"),
];

/// One part of two indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartDiff {
    /// Its name, such as `mention`.
    pub part: &'static str,
    /// Rows in the first index.
    pub n_live: u64,
    /// Rows in the second index.
    pub n_rebuilt: u64,
    /// Rows that only one of them has.
    pub n_differing: u64,
    /// The first rows that only the first index has, sorted, as text.
    pub only_live: Vec<String>,
    /// The first rows that only the second index has, sorted, as text.
    pub only_rebuilt: Vec<String>,
}

impl PartDiff {
    fn of(part: &'static str) -> Self {
        PartDiff {
            part,
            n_live: 0,
            n_rebuilt: 0,
            n_differing: 0,
            only_live: Vec::new(),
            only_rebuilt: Vec::new(),
        }
    }
}

/// Compares two indexes part by part, and the uids in the live one with those of the ledger in `state_dir`; there,
/// `n_rebuilt` counts the documents that the ledger knows. Keeps at most `limit` differing rows per side and part.
///
/// Needs 16 bytes of memory for each row of a part that the other side has not shown yet.
///
/// # Errors
/// When one of them cannot be read.
pub fn compare(
    live: &Path,
    rebuilt: &Path,
    state_dir: &Path,
    limit: usize,
) -> Result<Vec<PartDiff>, StoreError> {
    let (live, rebuilt) = (super::open::reader(live)?, super::open::reader(rebuilt)?);
    let mut parts = compare_indexes(&live, &rebuilt, limit)?;
    parts.push(compare_with_ledger(&live, state_dir, limit)?);
    Ok(parts)
}

fn compare_indexes(
    live: &Connection,
    rebuilt: &Connection,
    limit: usize,
) -> Result<Vec<PartDiff>, StoreError> {
    prepare(live)?;
    prepare(rebuilt)?;
    PARTS.iter().map(|(part, sql)| compare_part(part, sql, live, rebuilt, limit)).collect()
}

fn compare_with_ledger(
    live: &Connection,
    state_dir: &Path,
    limit: usize,
) -> Result<PartDiff, StoreError> {
    let ledger = super::open::reader(&super::open::ledger_to_read(state_dir))?;
    let mut uid =
        ledger.prepare("SELECT uid FROM documents WHERE path = ?1 AND gone_ms IS NULL")?;
    let mut documents = live.prepare("SELECT path, uid FROM docs ORDER BY path")?;
    let mut rows = documents.query([])?;
    let mut diff = PartDiff::of("uid");
    while let Some(row) = rows.next()? {
        let (path, in_index): (String, String) = (row.get(0)?, row.get(1)?);
        diff.n_live += 1;
        let kept: Option<String> = uid.query_row([&path], |row| row.get(0)).optional()?;
        diff.n_rebuilt += u64::from(kept.is_some());
        if kept.as_deref() != Some(in_index.as_str()) {
            diff.n_differing += 1;
            if diff.only_live.len() < limit {
                diff.only_live.push(format!("{path} | {in_index}"));
                diff.only_rebuilt.extend(kept.map(|kept| format!("{path} | {kept}")));
            }
        }
    }
    Ok(diff)
}

/// Creates what the queries need: a virtual table, which is the only way to read the words of the text index, a view of
/// each kind of work, and one of entities. A sense may be named by the uid of its first document (`~` and 16 digits at
/// the end), which each ledger assigns again; the view shows the path instead.
fn prepare(db: &Connection) -> Result<(), StoreError> {
    db.execute_batch(
        "PRAGMA query_only = 0;
         CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, chunk_fts, instance);
         CREATE TEMP VIEW IF NOT EXISTS shown_entities AS SELECT id, doc_id, name, type, status,
           CASE WHEN substr(norm, -17, 1) = '~' THEN substr(norm, 1, length(norm) - 16)
             || coalesce((SELECT path FROM docs WHERE uid = substr(norm, -16)), '?') ELSE norm END AS norm
         FROM main.entities",
    )?;
    for kind in Work::KINDS {
        db.execute_batch(&format!(
            "CREATE TEMP VIEW IF NOT EXISTS {kind:?} AS SELECT key FROM main.work WHERE kind = {}",
            kind as i64
        ))?;
    }
    Ok(())
}

fn compare_part(
    part: &'static str,
    sql: &str,
    live: &Connection,
    rebuilt: &Connection,
    limit: usize,
) -> Result<PartDiff, StoreError> {
    // Rows are counted by hash: +1 for each of the live index, -1 for each of the rebuilt one. Alternating between
    // the two keeps the map small, since both return rows in about the same order.
    let mut balance: FxHashMap<u64, i64> = FxHashMap::default();
    let (mut n_live, mut n_rebuilt) = (0, 0);
    let (mut live_rows, mut rebuilt_rows) = (live.prepare(sql)?, rebuilt.prepare(sql)?);
    let n_columns = live_rows.column_count();
    let (mut left, mut right) = (live_rows.query([])?, rebuilt_rows.query([])?);
    let (mut is_left, mut is_right) = (true, true);
    while is_left || is_right {
        if is_left {
            is_left =
                left.next()?.map(|row| add(&mut balance, row, n_columns, 1)).transpose()?.is_some();
            n_live += u64::from(is_left);
        }
        if is_right {
            is_right = right
                .next()?
                .map(|row| add(&mut balance, row, n_columns, -1))
                .transpose()?
                .is_some();
            n_rebuilt += u64::from(is_right);
        }
    }
    // Ends the borrow of the statements, which run a second time.
    drop((left, right));
    let n_differing = balance.values().map(|n| n.unsigned_abs()).sum();
    let mut diff = PartDiff { n_live, n_rebuilt, n_differing, ..PartDiff::of(part) };
    if n_differing > 0 {
        diff.only_live = first_rows(&mut live_rows, &balance, 1, limit)?;
        diff.only_rebuilt = first_rows(&mut rebuilt_rows, &balance, -1, limit)?;
    }
    Ok(diff)
}

fn add(
    balance: &mut FxHashMap<u64, i64>,
    row: &Row<'_>,
    n_columns: usize,
    step: i64,
) -> Result<(), StoreError> {
    let hash = xxhash_rust::xxh3::xxh3_64(line(row, n_columns)?.as_bytes());
    let n = balance.entry(hash).or_default();
    *n += step;
    if *n == 0 {
        balance.remove(&hash);
    }
    Ok(())
}

/// Returns the first `limit` rows, in order of their text, that one side has too many of.
fn first_rows(
    statement: &mut Statement<'_>,
    balance: &FxHashMap<u64, i64>,
    sign: i64,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let n_columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut first = std::collections::BTreeSet::new();
    while let Some(row) = rows.next()? {
        let text = line(row, n_columns)?;
        let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
        if balance.get(&hash).is_some_and(|n| n.signum() == sign) {
            first.insert(shortened(row, n_columns)?);
            if first.len() > limit {
                first.pop_last();
            }
        }
    }
    Ok(first.into_iter().collect())
}

/// Returns a whole index as sorted lines, each with the name of its part.
///
/// # Errors
/// When it cannot be read.
pub fn text_at(index: &Path) -> Result<String, StoreError> {
    text(&super::open::reader(index)?)
}

pub(crate) fn text(db: &Connection) -> Result<String, StoreError> {
    prepare(db)?;
    let mut out = String::new();
    for (part, sql) in PARTS {
        let mut statement = db.prepare(sql)?;
        let n_columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut lines = Vec::new();
        while let Some(row) = rows.next()? {
            lines.push(format!("{part}: {}\n", line(row, n_columns)?));
        }
        lines.sort();
        out.extend(lines);
    }
    Ok(out)
}

/// Longest text of one column that is shown in full, characters.
const MAX_SHOWN: usize = 100;

/// Formats a row for people: a long text is cut and followed by its hash, which distinguishes it from others.
fn shortened(row: &Row<'_>, n_columns: usize) -> Result<String, StoreError> {
    let mut cells = Vec::with_capacity(n_columns);
    for i in 0..n_columns {
        let mut text = String::new();
        cell(row.get_ref(i)?, &mut text);
        if let Some((cut, _)) = text.char_indices().nth(MAX_SHOWN) {
            let hash = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
            text.truncate(cut);
            text.push_str(&format!("… #{hash:016x}"));
        }
        cells.push(text);
    }
    Ok(cells.join(" | "))
}

fn line(row: &Row<'_>, n_columns: usize) -> Result<String, StoreError> {
    let mut out = String::new();
    for i in 0..n_columns {
        if i > 0 {
            out.push_str(" | ");
        }
        cell(row.get_ref(i)?, &mut out);
    }
    Ok(out)
}

fn cell(value: ValueRef<'_>, out: &mut String) {
    use std::fmt::Write as _;
    // Writing to a string cannot fail.
    let _ = match value {
        ValueRef::Null => out.write_str("-"),
        ValueRef::Integer(n) => write!(out, "{n}"),
        ValueRef::Real(x) => write!(out, "{x:.6}"),
        ValueRef::Text(text) => out.write_str(&String::from_utf8_lossy(text).replace('\n', "\\n")),
        ValueRef::Blob(bytes) => write!(out, "{:016x}", xxhash_rust::xxh3::xxh3_64(bytes)),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: &str = "SELECT a, b FROM t";

    fn with(rows: &[(i64, &str)]) -> Connection {
        let db = Connection::open_in_memory().expect("opens");
        db.execute_batch("CREATE TABLE t(a, b)").expect("made");
        for row in rows {
            db.execute("INSERT INTO t VALUES(?1, ?2)", *row).expect("written");
        }
        db
    }

    #[test]
    fn rows_are_compared_as_a_multiset_in_any_order() {
        let same = |a: &[(i64, &str)], b: &[(i64, &str)]| {
            let diff = compare_part("t", SQL, &with(a), &with(b), 2).expect("compared");
            (diff.n_differing, diff.only_live.join(", "), diff.only_rebuilt.join(", "))
        };
        assert_eq!(same(&[(1, "x"), (2, "y")], &[(2, "y"), (1, "x")]).0, 0);
        assert_eq!(same(&[(1, "x"), (1, "x")], &[(1, "x")]), (1, "1 | x".into(), String::new()));
        assert_eq!(same(&[(1, "x")], &[(1, "y")]), (2, "1 | x".into(), "1 | y".into()));
        let many = [(3, "c"), (1, "a"), (2, "b\n")];
        let long = ["x".repeat(101), "x".repeat(100) + "y"];
        let [one, other] = long.each_ref().map(|text| with(&[(1, text)]));
        let diff = compare_part("t", SQL, &one, &other, 2).expect("compared");
        assert_eq!(diff.only_live[0].len(), "1 | ".len() + 100 + "… #0123456789abcdef".len());
        assert_ne!(diff.only_live, diff.only_rebuilt, "the hash tells them apart");
        assert_eq!(same(&many, &[]), (3, "1 | a, 2 | b\\n".into(), String::new()));
    }
}
