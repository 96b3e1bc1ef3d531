//! Dump: the whole graph as rows in a stable order, which rebuilds must reproduce and tests, scorers and exports
//! read.
//!
//! In: a connection and a cursor. Out: a page of rows: documents and chunks by path, entities by name, mentions by
//! place, relations by names, then what notes state, by place: observations, facts of memory, links.

use rusqlite::{Connection, Row, params};
use serde_json::{Value, json};

use super::lines::PageMap;
use super::{Snapshot, StoreError};
use extract::relate::DENIED;
use model::document::RecognizerKind;
use model::terms::EntityType;

/// The kinds of row, in the order of the dump.
const KINDS: [&str; 8] =
    ["document", "chunk", "entity", "mention", "relation", "observation", "fact", "link"];

/// Rows, and the cursor of the next page.
pub(super) type Page = (Vec<Value>, Option<String>);

/// Returns up to `limit` rows from `cursor` (`kind:offset`) and the cursor of the next page, which is `None` at the
/// end. `None` for an invalid cursor.
pub fn dump_page(
    snapshot: &Snapshot,
    cursor: Option<&str>,
    limit: usize,
) -> Result<Option<Page>, StoreError> {
    let (mut kind, mut offset) = match cursor {
        None => (0, 0),
        Some(text) => match parse_cursor(text) {
            Some(place) => place,
            None => return Ok(None),
        },
    };
    let mut rows = Vec::new();
    while let Some(name) = KINDS.get(kind) {
        let wanted = limit - rows.len();
        let page = rows_of(snapshot.db(), name, offset, wanted)?;
        let n = page.len();
        rows.extend(page);
        // A full page may end exactly with its kind; the next page then starts with the next kind.
        if n == wanted {
            return Ok(Some((rows, Some(format!("{name}:{}", offset + n)))));
        }
        kind += 1;
        offset = 0;
    }
    Ok(Some((rows, None)))
}

fn parse_cursor(text: &str) -> Option<(usize, usize)> {
    let (name, offset) = text.split_once(':')?;
    Some((KINDS.iter().position(|kind| *kind == name)?, offset.parse().ok()?))
}

fn rows_of(
    db: &Connection,
    kind: &str,
    offset: usize,
    limit: usize,
) -> Result<Vec<Value>, StoreError> {
    let (sql, read): (&str, fn(&Row<'_>) -> rusqlite::Result<Value>) = match kind {
        "document" => (DOCUMENTS, document),
        "chunk" => (CHUNKS, chunk),
        "entity" => (ENTITIES, entity),
        "mention" => (MENTIONS, mention),
        "observation" => (OBSERVATIONS, observation),
        "fact" => (FACTS, fact),
        "link" => (LINKS, link),
        _ => return relations(db, offset, limit),
    };
    let mut statement = db.prepare_cached(sql)?;
    let rows = statement.query_map(params![limit as i64, offset as i64], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

const DOCUMENTS: &str =
    "SELECT id, path, title, coalesce(doc_type, ''), json_extract(meta, '$.tags'), hash, n_bytes,
    language, day, format, source_url, json_extract(meta, '$.author'), json_extract(meta, '$.language'),
    json_extract(meta, '$.pages'), json_extract(meta, '$.security'), permalink, metadata,
    (SELECT m.is_node AND m.in_folder FROM notes m WHERE m.doc_id = docs.id)
    FROM docs LEFT JOIN notes ON doc_id = id ORDER BY path LIMIT ?1 OFFSET ?2";

fn document(row: &Row<'_>) -> rusqlite::Result<Value> {
    let hash: Vec<u8> = row.get(5)?;
    // The hash is stored in little-endian order and shown as a number.
    let hash: String = hash.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    let tags: Option<String> = row.get(4)?;
    let tags: Value = tags.and_then(|t| serde_json::from_str(&t).ok()).unwrap_or(Value::Null);
    let mut document = json!({
        "kind": "document", "id": row.get::<_, i64>(0)?, "path": row.get::<_, String>(1)?,
        "title": row.get::<_, String>(2)?, "type": row.get::<_, String>(3)?, "tags": tags, "hash": hash,
        "bytes": row.get::<_, i64>(6)?, "language": row.get::<_, String>(7)?, "day": row.get::<_, String>(8)?,
        "format": row.get::<_, String>(9)?, "source_url": row.get::<_, Option<String>>(10)?,
    });
    // Properties that only some documents state.
    let properties = row.get::<_, Option<String>>(16)?;
    let properties = properties.and_then(|it| serde_json::from_str::<Value>(&it).ok());
    let is_something = |it: &Value| it.as_object().is_some_and(|keys| !keys.is_empty());
    let stated: [(&str, Value); 7] = [
        ("author", row.get::<_, Option<String>>(11)?.into()),
        ("stated_language", row.get::<_, Option<String>>(12)?.into()),
        ("pages", row.get::<_, Option<i64>>(13)?.filter(|n| *n > 0).into()),
        ("security", row.get::<_, Option<String>>(14)?.into()),
        ("permalink", row.get::<_, Option<String>>(15)?.into()),
        ("properties", properties.filter(is_something).into()),
        ("memory", row.get::<_, Option<bool>>(17)?.filter(|it| *it).into()),
    ];
    for (key, value) in stated.into_iter().filter(|(_, value)| !value.is_null()) {
        document[key] = value;
    }
    Ok(document)
}

/// Adds a row's place in the unit of its format: `page` or `pages` if it has pages, else `line` or `lines`; nothing
/// if it has neither.
fn add_place(row: &mut Value, key: &str, lines: [i64; 2], pages: [Option<u32>; 2]) {
    let numbers = match (pages, lines) {
        ([Some(first), Some(last)], _) => [first.into(), last.into()],
        (_, [0, _]) => return,
        (_, lines) => lines,
    };
    let name = if pages[0].is_some() { key.replace("line", "page") } else { key.to_string() };
    row[name] = if key.ends_with('s') { json!(numbers) } else { json!(numbers[0]) };
}

const CHUNKS: &str =
    "SELECT c.id, c.doc_id, d.path, c.line_start, c.line_end, c.raw_start, c.raw_end, c.n_tokens,
    c.section, d.pages, c.start, c.end
    FROM chunks c JOIN docs d ON d.id = c.doc_id ORDER BY d.path, c.idx LIMIT ?1 OFFSET ?2";

fn chunk(row: &Row<'_>) -> rusqlite::Result<Value> {
    let number = |i: usize| row.get::<_, i64>(i);
    let mut chunk = json!({
        "kind": "chunk", "id": number(0)?, "doc": number(1)?, "path": row.get::<_, String>(2)?,
        "span": [number(5)?, number(6)?], "tokens": number(7)?, "section": row.get::<_, String>(8)?,
    });
    let pages = PageMap::decode(row.get::<_, Option<Vec<u8>>>(9)?.as_deref());
    // The byte before the end: the end itself may be on the next page.
    let ends = [number(10)?, (number(11)? - 1).max(number(10)?)];
    let pages = ends.map(|at| pages.page_at(at as usize));
    add_place(&mut chunk, "lines", [number(3)?, number(4)?], pages);
    Ok(chunk)
}

// A sense may be named by the uid of its first document (`~` and 16 digits at the end), which each ledger assigns
// anew; its path is shown instead.
const ENTITIES: &str = "SELECT e.id, e.name, e.type, d.path,
    (SELECT json_group_array(surface) FROM (SELECT surface FROM names
       WHERE entity_id = e.id AND surface <> '' AND surface <> e.name GROUP BY surface ORDER BY surface)),
    (SELECT count(DISTINCT m.doc_id) FROM names n JOIN mentions m ON m.name_id = n.id WHERE n.entity_id = e.id),
    CASE WHEN substr(e.norm, -17, 1) = '~' THEN substr(e.norm, 1, length(e.norm) - 16)
      || coalesce((SELECT path FROM docs WHERE uid = substr(e.norm, -16)), '?') ELSE e.norm END AS shown,
    (SELECT max((p.value ->> 6) * n.link) FROM names n JOIN mentions m ON m.name_id = n.id
       JOIN json_each(m.positions) p WHERE n.entity_id = e.id)
    FROM entities e LEFT JOIN docs d ON d.id = e.doc_id ORDER BY shown, d.path LIMIT ?1 OFFSET ?2";

fn entity(row: &Row<'_>) -> rusqlite::Result<Value> {
    let aliases: String = row.get(4)?;
    let aliases: Value = serde_json::from_str(&aliases).unwrap_or(Value::Null);
    let type_code = row.get(2)?;
    let entity_type = EntityType::from_code(type_code);
    Ok(json!({
        "kind": "entity", "id": row.get::<_, i64>(0)?, "name": row.get::<_, String>(1)?,
        "type": entity_type.as_str(), "shown": EntityType::is_shown(type_code),
        // Whether answers show the type.
        "type_shown": type_code >= 0, "home": row.get::<_, Option<String>>(3)?,
        "aliases": aliases, "documents": row.get::<_, i64>(5)?, "norm": row.get::<_, String>(6)?,
        // That of the surest mention. An entity without mentions is the subject of a note, which is certain.
        "confidence": rounded(row.get::<_, Option<f64>>(7)?.unwrap_or(1.0)),
    }))
}

// A mention whose own type says little (Concept 8, Document 14) or is a model's guess (bit 4 of `place`) is shown
// with the type of its entity, which all mentions in the folder decide together; `-1 - code` is an unsure type.
// Positions are unpacked for the documents on the page alone.
const MENTIONS: &str = "WITH
      counted AS (SELECT d.id, d.path, sum(m.n) AS n FROM docs d JOIN mentions m ON m.doc_id = d.id GROUP BY d.id),
      placed AS (SELECT id, n, sum(n) OVER (ORDER BY path) - n AS before FROM counted),
      here AS MATERIALIZED (SELECT id, before FROM placed WHERE before < ?1 + ?2 AND before + n > ?2)
    SELECT d.id, d.path, p.value ->> 1, p.value ->> 2, p.value ->> 8,
    CASE WHEN (p.value ->> 4 IN (8, 14) OR (p.value ->> 7) & 16) AND max(e.type, -1 - e.type) NOT IN (8, 14)
      THEN e.type ELSE p.value ->> 4 END,
    n.entity_id, e.name,
    p.value ->> 5, p.value ->> 6, n.link, p.value ->> 3, d.pages, p.value ->> 0
    FROM here CROSS JOIN docs d ON d.id = here.id CROSS JOIN mentions m ON m.doc_id = d.id
    CROSS JOIN json_each(m.positions) p
    JOIN names n ON n.id = m.name_id LEFT JOIN entities e ON e.id = n.entity_id
    ORDER BY d.path, p.value ->> 0, p.value ->> 2 LIMIT ?1 OFFSET ?2 - (SELECT coalesce(min(before), 0) FROM here)";

fn mention(row: &Row<'_>) -> rusqlite::Result<Value> {
    let number = |i: usize| row.get::<_, i64>(i);
    let mut mention = json!({
        "kind": "mention", "doc": number(0)?, "path": row.get::<_, String>(1)?,
        "span": [number(2)?, number(3)?], "surface": row.get::<_, String>(4)?,
        "type": EntityType::from_code(number(5)?).as_str(), "entity": row.get::<_, Option<i64>>(6)?,
        "name": row.get::<_, Option<String>>(7)?, "recognizer": recognizer_name(number(8)?),
        "score": rounded(row.get::<_, f64>(9)? * row.get::<_, f64>(10)?),
    });
    let pages = PageMap::decode(row.get::<_, Option<Vec<u8>>>(12)?.as_deref());
    let page = pages.page_at(number(13)? as usize);
    add_place(&mut mention, "line", [number(11)?; 2], [page; 2]);
    Ok(mention)
}

/// Rounds to four digits, which an `f32` of confidence holds exactly enough.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

fn recognizer_name(code: i64) -> &'static str {
    match code {
        c if c == RecognizerKind::Stated as i64 => "stated",
        c if c == RecognizerKind::Gazetteer as i64 => "gazetteer",
        c if c == RecognizerKind::Pattern as i64 => "pattern",
        c if c == RecognizerKind::Coreference as i64 => "coreference",
        c if c == RecognizerKind::Given as i64 => "given",
        _ => "statistical",
    }
}

const RELATIONS: &str = "SELECT r.src_id, s.name, r.rel, r.dst_id, o.name
    FROM relations r JOIN entities s ON s.id = r.src_id JOIN entities o ON o.id = r.dst_id
    LEFT JOIN docs sd ON sd.id = s.doc_id LEFT JOIN docs od ON od.id = o.doc_id
    ORDER BY s.norm, sd.path, r.rel, o.norm, od.path LIMIT ?1 OFFSET ?2";

const EVIDENCE: &str = "SELECT d.path, e.raw_start, e.raw_end, e.line, e.pattern,
      e.confidence * e.src_link * e.dst_link, d.pages, e.start, d.day
    FROM joined e JOIN docs d ON d.id = e.doc_id
    WHERE e.predicate = ?2
      AND e.subject IN (SELECT id FROM names WHERE entity_id = ?1 UNION ALL SELECT -id FROM docs WHERE entity_id = ?1)
      AND e.object IN (SELECT id FROM names WHERE entity_id = ?3 UNION ALL SELECT -id FROM docs WHERE entity_id = ?3)
    ORDER BY d.path, e.raw_start, e.raw_end, e.pattern";

fn relations(db: &Connection, offset: usize, limit: usize) -> Result<Vec<Value>, StoreError> {
    let mut statement = db.prepare_cached(RELATIONS)?;
    let mut evidence = db.prepare_cached(EVIDENCE)?;
    let mut rows = statement.query(params![limit as i64, offset as i64])?;
    let mut out = Vec::new();
    // A document as subject or object is stored as its negated id, hence the `UNION ALL` in the query of evidence.
    while let Some(row) = rows.next()? {
        let (subject, predicate, object): (i64, String, i64) =
            (row.get(0)?, row.get(2)?, row.get(3)?);
        let mut of = |predicate: &str| {
            let places = evidence.query_map(params![subject, predicate, object], place)?;
            places.collect::<Result<Vec<Value>, _>>()
        };
        let (places, denied) = (of(&predicate)?, of(&format!("{DENIED}{predicate}"))?);
        let mut relation = json!({
            "kind": "relation", "subject": row.get::<_, String>(1)?, "predicate": predicate,
            "object": row.get::<_, String>(4)?, "subject_id": subject, "object_id": object,
            "evidence": places,
        });
        if !denied.is_empty() {
            relation["denied"] = denied.into();
        }
        out.push(relation);
    }
    Ok(out)
}

fn place(row: &Row<'_>) -> rusqlite::Result<Value> {
    let (pattern, confidence): (String, f64) = (row.get(4)?, row.get(5)?);
    let mut place = json!({
        "path": row.get::<_, String>(0)?, "span": [row.get::<_, i64>(1)?, row.get::<_, i64>(2)?],
        "pattern": pattern, "confidence": rounded(confidence), "date": row.get::<_, String>(8)?,
    });
    let pages = PageMap::decode(row.get::<_, Option<Vec<u8>>>(6)?.as_deref());
    let page = pages.page_at(row.get::<_, i64>(7)? as usize);
    add_place(&mut place, "line", [row.get::<_, i64>(3)?; 2], [page; 2]);
    Ok(place)
}

const OBSERVATIONS: &str =
    "SELECT o.doc_id, d.path, o.line, o.category, o.content, o.tags, o.context, o.block
    FROM observations o JOIN docs d ON d.id = o.doc_id ORDER BY d.path, o.seq LIMIT ?1 OFFSET ?2";

fn observation(row: &Row<'_>) -> rusqlite::Result<Value> {
    let tags: Value = serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or(Value::Null);
    Ok(json!({
        "kind": "observation", "doc": row.get::<_, i64>(0)?, "path": row.get::<_, String>(1)?,
        "line": row.get::<_, i64>(2)?, "category": row.get::<_, String>(3)?,
        "content": row.get::<_, String>(4)?, "tags": tags,
        "context": row.get::<_, Option<String>>(6)?, "block": row.get::<_, Option<String>>(7)?,
    }))
}

const FACTS: &str = "SELECT f.doc_id, d.path, f.ordinal, f.content, f.line_start, f.line_end
    FROM memory_facts f JOIN docs d ON d.id = f.doc_id ORDER BY d.path, f.seq LIMIT ?1 OFFSET ?2";

fn fact(row: &Row<'_>) -> rusqlite::Result<Value> {
    Ok(json!({
        "kind": "fact", "doc": row.get::<_, i64>(0)?, "path": row.get::<_, String>(1)?,
        "ordinal": row.get::<_, Option<i64>>(2)?, "content": row.get::<_, String>(3)?,
        "lines": [row.get::<_, i64>(4)?, row.get::<_, i64>(5)?],
    }))
}

const LINKS: &str = "SELECT l.doc_id, d.path, l.line, l.rel, l.is_typed, l.target, l.heading, l.block, l.display,
    l.context, t.path FROM note_links l JOIN docs d ON d.id = l.doc_id LEFT JOIN docs t ON t.id = l.dst
    ORDER BY d.path, l.seq LIMIT ?1 OFFSET ?2";

fn link(row: &Row<'_>) -> rusqlite::Result<Value> {
    let text = |i: usize| row.get::<_, Option<String>>(i);
    Ok(json!({
        "kind": "link", "doc": row.get::<_, i64>(0)?, "path": row.get::<_, String>(1)?,
        "line": row.get::<_, i64>(2)?, "relation": text(3)?, "typed": row.get::<_, bool>(4)?,
        "target": text(5)?, "heading": text(6)?, "block": text(7)?, "display": text(8)?,
        "context": text(9)?, "to": text(10)?,
    }))
}

#[cfg(test)]
mod tests {
    use model::terms::EntityType;

    #[test]
    fn the_types_that_say_little_have_the_codes_that_the_query_names() {
        assert_eq!((EntityType::Concept.code(), EntityType::Document.code()), (8, 14));
    }
}
