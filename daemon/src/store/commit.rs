//! Writes one document's rows, or takes them away, inside the writer's transaction.
//!
//! Rows that did not change are left alone: a chunk of equal hash keeps its row, text index and vectors; equal
//! mentions and evidence are not touched. Everything that other documents must learn of becomes a dirty row.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Transaction, params};
use xxhash_rust::xxh3::Xxh3;

use super::ledger::IngestRecord;
use super::{StoreError, lines};
use crate::pipeline::parcel::{
    Chunk, EmbeddedDoc, LinkedDoc, NormalDoc, Party, PlaceFeatures, StatedSource,
};
use crate::pipeline::recognize::Gazetteer;
use crate::terms::{EntityType, RelPath, norm_of};

/// What a document's row must hold beside what the belt made of it.
pub(super) struct Identity<'a> {
    /// From the ledger.
    pub uid: String,
    /// From the ledger.
    pub ingest: IngestRecord,
    /// The path it had before, when a rename was seen.
    pub moved_from: Option<&'a RelPath>,
}

/// Writes to the virtual tables, kept for the end of the transaction: every ordinary statement that may fail halfway
/// opens a savepoint, and FTS5 flushes its whole hash table at each (measured: a third of the writer's time).
#[derive(Default)]
pub(super) struct Late {
    deleted_chunks: Vec<i64>,
    deleted_vectors: Vec<i64>,
    texts: Vec<(i64, String, String, String)>,
    vectors: Vec<(i64, Vec<u8>)>,
    next_vector: Option<i64>,
}

impl Late {
    /// A row id for the next vector, counted here because `RETURNING` would open a savepoint.
    fn vector_id(&mut self, tx: &Transaction<'_>) -> Result<i64, StoreError> {
        let id = match self.next_vector {
            Some(id) => id,
            None => tx.query_row("SELECT coalesce(max(id), 0) + 1 FROM chunk_vec_map", [], |r| r.get(0))?,
        };
        self.next_vector = Some(id + 1);
        Ok(id)
    }

    /// Does what was kept, deletions first.
    pub(super) fn run(self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        let mut delete_text = tx.prepare_cached("DELETE FROM chunk_fts WHERE rowid = ?1")?;
        for chunk in self.deleted_chunks {
            delete_text.execute([chunk])?;
        }
        let mut insert_text =
            tx.prepare_cached("INSERT INTO chunk_fts(rowid, title, headings, body) VALUES(?1, ?2, ?3, ?4)")?;
        for (chunk, title, headings, body) in self.texts {
            insert_text.execute(params![chunk, title, headings, body])?;
        }
        let mut delete_vector = tx.prepare_cached("DELETE FROM chunk_vec WHERE rowid = ?1")?;
        for id in self.deleted_vectors {
            delete_vector.execute([id])?;
        }
        let mut insert_vector =
            tx.prepare_cached("INSERT INTO chunk_vec(rowid, embedding) VALUES(?1, vec_int8(?2))")?;
        for (id, bytes) in self.vectors {
            insert_vector.execute(params![id, bytes])?;
        }
        Ok(())
    }
}

struct Existing {
    id: i64,
    terms: String,
    mentions_hash: i64,
    indexed_as: String,
    has_moved: bool,
}

/// Writes a document; returns the names whose facts may have changed.
///
/// A document recognized before anything was mined has no mentions yet: it is marked, in the same transaction, to be
/// read a second time.
pub(super) fn document(
    tx: &Transaction<'_>,
    doc: &EmbeddedDoc,
    identity: &Identity<'_>,
    late: &mut Late,
) -> Result<Vec<i64>, StoreError> {
    let linked = &doc.doc.doc;
    let normal = &linked.doc.doc;
    let existing = find(tx, &normal.head.path, identity, late)?;
    let is_unmined = linked.doc.gazetteer_version == Gazetteer::UNMINED;
    let terms = encode_terms(linked);
    let mentions_hash = mentions_hash(doc);
    let id = upsert_doc(tx, normal, linked, (existing.as_ref(), identity, &terms, mentions_hash))?;
    let context_changed =
        existing.as_ref().is_none_or(|old| old.indexed_as != indexed_as(normal, identity));
    write_tags(tx, id, normal, identity)?;
    write_chunks(tx, (id, context_changed), doc, identity, late)?;
    count_terms(tx, existing.as_ref().map_or("", |old| &old.terms), &terms)?;
    ensure_note_entity(tx, id, normal)?;
    if is_unmined {
        tx.prepare_cached("INSERT OR IGNORE INTO requeue VALUES(?1)")?.execute([id])?;
    } else {
        tx.prepare_cached("DELETE FROM requeue WHERE doc_id = ?1")?.execute([id])?;
    }

    let unchanged = existing.as_ref().is_some_and(|old| old.mentions_hash == mentions_hash);
    // Where a document lies decides which of several notes of one name it means, and whether it is a note.
    let has_moved = existing.as_ref().is_some_and(|old| old.has_moved);
    if unchanged && !context_changed && !has_moved {
        return Ok(Vec::new());
    }
    let mut touched = match existing {
        Some(_) => names_of_doc(tx, id)?,
        None => BTreeSet::new(),
    };
    let name_ids = intern_names(tx, linked)?;
    write_stated(tx, id, linked, &name_ids)?;
    write_mentions(tx, id, linked, &name_ids)?;
    write_evidence(tx, id, doc, &name_ids)?;
    touched.extend(&name_ids);
    mark_dirty(tx, touched.iter().copied())?;
    Ok(touched.into_iter().collect())
}

/// Takes a document's rows away; returns the names whose facts may have changed.
pub(super) fn remove(
    tx: &Transaction<'_>,
    path: &RelPath,
    late: &mut Late,
) -> Result<Vec<i64>, StoreError> {
    let row: Option<(i64, String)> = tx
        .prepare_cached("SELECT id, terms FROM docs WHERE path = ?1")?
        .query_row([path.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, terms)) = row else { return Ok(Vec::new()) };
    let touched = names_of_doc(tx, id)?;
    for chunk in chunk_ids(tx, id)?.into_values().flatten() {
        delete_chunk(tx, chunk, late)?;
    }
    for statement in [
        "INSERT OR IGNORE INTO dirty_terms
           SELECT n.norm FROM stated s JOIN names n ON n.id = s.name_id WHERE s.doc_id = ?1",
        "DELETE FROM mentions WHERE doc_id = ?1",
        "DELETE FROM evidence WHERE doc_id = ?1",
        "DELETE FROM stated WHERE doc_id = ?1",
        "DELETE FROM doc_tags WHERE doc_id = ?1",
        "DELETE FROM requeue WHERE doc_id = ?1",
        "DELETE FROM entities WHERE doc_id = ?1",
        "DELETE FROM docs WHERE id = ?1",
    ] {
        tx.prepare_cached(statement)?.execute([id])?;
    }
    count_terms(tx, &terms, "")?;
    mark_dirty(tx, touched.iter().copied())?;
    Ok(touched.into_iter().collect())
}

fn find(
    tx: &Transaction<'_>,
    path: &RelPath,
    identity: &Identity<'_>,
    late: &mut Late,
) -> Result<Option<Existing>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT id, terms, mentions_hash, coalesce(json_extract(meta, '$.indexed_as'), '')
         FROM docs WHERE path = ?1",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Existing {
            id: row.get(0)?,
            terms: row.get(1)?,
            mentions_hash: row.get(2)?,
            indexed_as: row.get(3)?,
            has_moved: false,
        })
    };
    let here = statement.query_row([path.as_str()], read).optional()?;
    let Some(from) = identity.moved_from else { return Ok(here) };
    let Some(moved) = statement.query_row([from.as_str()], read).optional()? else { return Ok(here) };
    // The document that was at the new path is overwritten by the rename.
    if here.is_some() {
        remove(tx, path, late)?;
    }
    tx.execute("UPDATE docs SET path = ?2 WHERE id = ?1", params![moved.id, path.as_str()])?;
    Ok(Some(Existing { has_moved: true, ..moved }))
}

type RowExtras<'a> = (Option<&'a Existing>, &'a Identity<'a>, &'a str, i64);

fn upsert_doc(
    tx: &Transaction<'_>,
    normal: &NormalDoc,
    linked: &LinkedDoc,
    (existing, identity, terms, mentions_hash): RowExtras<'_>,
) -> Result<i64, StoreError> {
    let extension = normal.head.path.extension();
    let format = if extension == "markdown" { "md" } else { &extension };
    let is_note = format == "md";
    let meta = serde_json::json!({
        "aliases": normal.meta.aliases, "tags": all_tags(normal, identity),
        "date": normal.meta.date, "security": normal.meta.security, "extra": normal.meta.extra,
        "indexed_as": indexed_as(normal, identity),
    });
    let redactions = (!normal.redactions.is_empty())
        .then(|| serde_json::to_string(&normal.redactions).unwrap_or_default());
    let warnings = (!normal.warnings.is_empty()).then(|| normal.warnings.join("; "));
    let source_url = identity.ingest.source_url.as_ref().or(normal.meta.source_url.as_ref());
    let values = params![
        existing.map(|old| old.id),
        identity.uid,
        normal.head.path.as_str(),
        normal.title,
        is_note,
        format,
        normal.meta.doc_type,
        normal.language,
        day_of(normal),
        normal.head.hash.0.to_le_bytes(),
        normal.head.mtime_ms,
        normal.head.n_bytes as i64,
        source_url,
        meta.to_string(),
        normal.text,
        lines::encode(&normal.map, &normal.line_starts),
        terms,
        mentions_hash,
        linked.doc.gazetteer_version as i64,
        warnings,
        redactions
    ];
    let id = tx
        .prepare_cached(
            "INSERT INTO docs(id, uid, path, title, is_note, format, doc_type, language, day, hash, mtime_ms,
               n_bytes, source_url, meta, text, lines, terms, mentions_hash, gazetteer_version, warnings, redactions)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)
             ON CONFLICT(id) DO UPDATE SET uid = excluded.uid, path = excluded.path, title = excluded.title,
               is_note = excluded.is_note, format = excluded.format, doc_type = excluded.doc_type,
               language = excluded.language, day = excluded.day, hash = excluded.hash,
               mtime_ms = excluded.mtime_ms, n_bytes = excluded.n_bytes, source_url = excluded.source_url,
               meta = excluded.meta, text = excluded.text, lines = excluded.lines, terms = excluded.terms,
               mentions_hash = excluded.mentions_hash, gazetteer_version = excluded.gazetteer_version,
               warnings = excluded.warnings, redactions = excluded.redactions
             RETURNING id",
        )?
        .query_row(values, |row| row.get(0))?;
    Ok(id)
}

/// Everything beside a chunk's own text that its rows in the text index depend on.
fn indexed_as(normal: &NormalDoc, identity: &Identity<'_>) -> String {
    let mut parts = vec![normal.title.clone()];
    parts.extend(normal.meta.aliases.iter().cloned());
    parts.extend(all_tags(normal, identity));
    parts.push(normal.meta.doc_type.clone().unwrap_or_default());
    parts.join("\u{1f}")
}

fn all_tags(normal: &NormalDoc, identity: &Identity<'_>) -> Vec<String> {
    let mut tags = normal.meta.tags.clone();
    tags.extend(identity.ingest.tags.iter().filter(|tag| !normal.meta.tags.contains(tag)).cloned());
    tags
}

/// The day a document is of: what it says, when that begins with `YYYY-MM-DD`, else when it was modified.
fn day_of(normal: &NormalDoc) -> String {
    let stated = normal.meta.date.as_deref().and_then(|date| date.get(..10));
    if let Some(day) = stated.and_then(|day| day.parse::<jiff::civil::Date>().ok()) {
        return day.to_string();
    }
    jiff::Timestamp::from_millisecond(normal.head.mtime_ms)
        .map(|time| time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
        .unwrap_or_default()
}

fn write_tags(
    tx: &Transaction<'_>,
    id: i64,
    normal: &NormalDoc,
    identity: &Identity<'_>,
) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM doc_tags WHERE doc_id = ?1")?.execute([id])?;
    for tag in all_tags(normal, identity) {
        tx.prepare_cached("INSERT OR IGNORE INTO doc_tags VALUES(?1, ?2)")?
            .execute(params![id, tag.to_lowercase()])?;
    }
    Ok(())
}

/// Chunk rows of a document by hash; equal chunks (a repeated paragraph) keep one row each.
fn chunk_ids(tx: &Transaction<'_>, doc: i64) -> Result<HashMap<Vec<u8>, Vec<i64>>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT hash, id FROM chunks WHERE doc_id = ?1 ORDER BY idx DESC")?;
    let rows = statement.query_map([doc], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut out: HashMap<Vec<u8>, Vec<i64>> = HashMap::new();
    for row in rows {
        let (hash, id) = row?;
        out.entry(hash).or_default().push(id);
    }
    Ok(out)
}

fn write_chunks(
    tx: &Transaction<'_>,
    (id, context_changed): (i64, bool),
    doc: &EmbeddedDoc,
    identity: &Identity<'_>,
    late: &mut Late,
) -> Result<(), StoreError> {
    let mentioned = &doc.doc.doc.doc;
    let mut old = chunk_ids(tx, id)?;
    if context_changed {
        for chunk in old.drain().flat_map(|(_, ids)| ids) {
            delete_chunk(tx, chunk, late)?;
        }
    }
    for (idx, chunk) in mentioned.chunks.iter().enumerate() {
        let kept = old.get_mut(chunk.hash.0.to_le_bytes().as_slice()).and_then(Vec::pop);
        let chunk_id = write_chunk_row(tx, (kept, id, idx), chunk, &mentioned.doc)?;
        match kept {
            Some(_) => move_windows(tx, chunk_id, chunk)?,
            None => {
                late.texts.push(indexed_text(chunk_id, chunk, &mentioned.doc, identity));
                let vectors = doc.vectors.get(idx).map_or(&[][..], Vec::as_slice);
                index_vectors(tx, (chunk_id, chunk), vectors, late)?;
            }
        }
    }
    for chunk in old.into_values().flatten() {
        delete_chunk(tx, chunk, late)?;
    }
    Ok(())
}

fn write_chunk_row(
    tx: &Transaction<'_>,
    (kept, doc_id, idx): (Option<i64>, i64, usize),
    chunk: &Chunk,
    normal: &NormalDoc,
) -> Result<i64, StoreError> {
    let raw = normal.map.to_raw(chunk.span);
    let line = |offset| lines::line_of(&normal.line_starts, offset);
    let last_headings = chunk.headings.iter().rev().take(2).rev().cloned().collect::<Vec<_>>();
    let id = tx
        .prepare_cached(
            "INSERT INTO chunks VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT(id) DO UPDATE SET idx = excluded.idx, start = excluded.start, end = excluded.end,
               raw_start = excluded.raw_start, raw_end = excluded.raw_end, line_start = excluded.line_start,
               line_end = excluded.line_end RETURNING id",
        )?
        .query_row(
            params![
                kept,
                doc_id,
                idx as i64,
                chunk.span.start() as i64,
                chunk.span.end() as i64,
                raw.start() as i64,
                raw.end() as i64,
                line(raw.start()),
                line(raw.end().saturating_sub(1).max(raw.start())),
                chunk.n_tokens,
                last_headings.join(" › "),
                chunk.hash.0.to_le_bytes()
            ],
            |row| row.get(0),
        )?;
    Ok(id)
}

/// A chunk that only moved keeps its vectors; their windows move with it.
fn move_windows(tx: &Transaction<'_>, chunk_id: i64, chunk: &Chunk) -> Result<(), StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT id FROM chunk_vec_map WHERE chunk_id = ?1 ORDER BY id")?;
    let ids: Vec<i64> = statement.query_map([chunk_id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for (id, window) in ids.into_iter().zip(&chunk.windows) {
        tx.prepare_cached("UPDATE chunk_vec_map SET start = ?2, end = ?3 WHERE id = ?1 AND start <> ?2")?
            .execute(params![id, window.start() as i64, window.end() as i64])?;
    }
    Ok(())
}

fn indexed_text(
    chunk_id: i64,
    chunk: &Chunk,
    normal: &NormalDoc,
    identity: &Identity<'_>,
) -> (i64, String, String, String) {
    let mut title = normal.title.clone();
    for alias in &normal.meta.aliases {
        title.push_str(" / ");
        title.push_str(alias);
    }
    let mut headings = chunk.headings.join(" / ");
    for tag in all_tags(normal, identity) {
        headings.push_str(" #");
        headings.push_str(&tag);
    }
    (chunk_id, title, headings, chunk.span.of(&normal.text).to_string())
}

fn index_vectors(
    tx: &Transaction<'_>,
    (chunk_id, chunk): (i64, &Chunk),
    vectors: &[crate::pipeline::parcel::UnitVector],
    late: &mut Late,
) -> Result<(), StoreError> {
    for (window, vector) in chunk.windows.iter().zip(vectors) {
        if vector.0.iter().all(|component| *component == 0) {
            continue;
        }
        let id = late.vector_id(tx)?;
        tx.prepare_cached("INSERT INTO chunk_vec_map VALUES(?1, ?2, ?3, ?4)")?
            .execute(params![id, chunk_id, window.start() as i64, window.end() as i64])?;
        let bytes = vector.0.iter().map(|component| component.to_le_bytes()[0]).collect();
        late.vectors.push((id, bytes));
    }
    Ok(())
}

fn delete_chunk(tx: &Transaction<'_>, chunk: i64, late: &mut Late) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached("SELECT id FROM chunk_vec_map WHERE chunk_id = ?1")?;
    for id in statement.query_map([chunk], |row| row.get(0))? {
        late.deleted_vectors.push(id?);
    }
    late.deleted_chunks.push(chunk);
    for statement in
        ["DELETE FROM chunk_vec_map WHERE chunk_id = ?1", "DELETE FROM chunks WHERE id = ?1"]
    {
        tx.prepare_cached(statement)?.execute([chunk])?;
    }
    Ok(())
}

/// A document's mined terms as stored text, `surface TAB norm TAB weight` a line, so that its counts can be taken back exactly.
fn encode_terms(linked: &LinkedDoc) -> String {
    let mut out = String::new();
    for term in &linked.doc.terms {
        if !term.surface.contains(['\t', '\n']) {
            out.push_str(&format!("{}\t{}\t{}\n", term.surface, term.norm, term.weight));
        }
    }
    out
}

/// Moves the counts of mined terms from a document's old list to its new one.
fn count_terms(tx: &Transaction<'_>, old: &str, new: &str) -> Result<(), StoreError> {
    if old == new {
        return Ok(());
    }
    let old: BTreeSet<&str> = old.lines().collect();
    let new: BTreeSet<&str> = new.lines().collect();
    for (line, step) in old.difference(&new).map(|l| (l, -1)).chain(new.difference(&old).map(|l| (l, 1))) {
        let mut fields = line.split('\t');
        let (Some(surface), Some(norm), Some(weight)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let class = |wanted: &[&str]| if wanted.contains(&weight) { step } else { 0 };
        tx.prepare_cached(
            "INSERT INTO terms VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(surface) DO UPDATE SET
               n_docs = n_docs + ?3, n_plain = n_plain + ?4, n_marked = n_marked + ?5, n_headed = n_headed + ?6",
        )?
        .execute(params![surface, norm, step, class(&["0", "1"]), class(&["2"]), class(&["3"])])?;
        if step < 0 {
            tx.prepare_cached("DELETE FROM terms WHERE surface = ?1 AND n_docs <= 0")?.execute([surface])?;
        }
        tx.prepare_cached("INSERT OR IGNORE INTO dirty_terms VALUES(?1)")?.execute([norm])?;
    }
    Ok(())
}

/// Every Markdown file is a note, and the home of the entity that its title names.
fn ensure_note_entity(tx: &Transaction<'_>, id: i64, normal: &NormalDoc) -> Result<(), StoreError> {
    if !matches!(normal.head.path.extension().as_str(), "md" | "markdown") {
        // It may have been one under its last name.
        tx.prepare_cached("DELETE FROM entities WHERE doc_id = ?1")?.execute([id])?;
        return Ok(());
    }
    let stated = normal.meta.doc_type.as_deref().and_then(EntityType::parse);
    let entity: i64 = tx
        .prepare_cached(
            "INSERT INTO entities(norm, doc_id, name, type) VALUES(?1, ?2, ?3, ?4)
             ON CONFLICT(doc_id) DO UPDATE SET norm = excluded.norm, name = excluded.name RETURNING id",
        )?
        .query_row(
            params![
                norm_of(&normal.title),
                id,
                normal.title,
                stated.unwrap_or(EntityType::Document).code()
            ],
            |row| row.get(0),
        )?;
    tx.prepare_cached("UPDATE docs SET entity_id = ?2 WHERE id = ?1")?.execute([id, entity])?;
    Ok(())
}

/// Names that a document mentions or states now, by the row of sense 0.
fn names_of_doc(tx: &Transaction<'_>, id: i64) -> Result<BTreeSet<i64>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT z.id FROM (SELECT DISTINCT name_id AS id FROM mentions WHERE doc_id = ?1
           UNION SELECT name_id FROM stated WHERE doc_id = ?1) u
         JOIN names n ON n.id = u.id JOIN names z ON z.norm = n.norm AND z.sense = 0",
    )?;
    let ids = statement.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(ids)
}

/// The row of sense 0 of each name the document uses.
fn intern_names(tx: &Transaction<'_>, linked: &LinkedDoc) -> Result<Vec<i64>, StoreError> {
    let mut select = tx.prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense = 0")?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO names(norm, sense, entity_id, link, decision, via, surface, type, n_docs, n_mentions,
           homes, home_source, is_fuzzy) VALUES(?1, 0, NULL, 0, 0, NULL, '', 0, 0, 0, NULL, NULL, 0)",
    )?;
    let mut ids = Vec::with_capacity(linked.names.len());
    for name in &linked.names {
        let found: Option<i64> = select.query_row([&name.norm], |row| row.get(0)).optional()?;
        ids.push(match found {
            Some(id) => id,
            None => insert.insert([&name.norm])?,
        });
    }
    Ok(ids)
}

fn write_stated(
    tx: &Transaction<'_>,
    id: i64,
    linked: &LinkedDoc,
    name_ids: &[i64],
) -> Result<(), StoreError> {
    const MARK: &str = "INSERT OR IGNORE INTO dirty_terms
        SELECT n.norm FROM stated s JOIN names n ON n.id = s.name_id WHERE s.doc_id = ?1";
    let mut strongest: BTreeMap<i64, (StatedSource, &str)> = BTreeMap::new();
    for (stated, name) in linked.doc.stated.iter().zip(&linked.stated_names) {
        let Some(name_id) = name_ids.get(*name as usize) else { continue };
        let entry = (stated.source, stated.surface.as_str());
        strongest.entry(*name_id).and_modify(|e| *e = entry.min(*e)).or_insert(entry);
    }
    let mut statement =
        tx.prepare_cached("SELECT name_id, source, surface FROM stated WHERE doc_id = ?1 ORDER BY name_id")?;
    let old: Vec<(i64, i64, String)> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let is_same = old.len() == strongest.len()
        && old.iter().zip(&strongest).all(|((name, source, surface), (new_name, new))| {
            name == new_name && *source == new.0 as i64 && surface == new.1
        });
    if is_same {
        return Ok(());
    }
    tx.prepare_cached(MARK)?.execute([id])?;
    tx.prepare_cached("DELETE FROM stated WHERE doc_id = ?1")?.execute([id])?;
    for (name_id, (source, surface)) in strongest {
        tx.prepare_cached("INSERT INTO stated VALUES(?1, ?2, ?3, ?4)")?
            .execute(params![id, name_id, source as i64, surface])?;
    }
    tx.prepare_cached(MARK)?.execute([id])?;
    Ok(())
}

fn write_mentions(
    tx: &Transaction<'_>,
    id: i64,
    linked: &LinkedDoc,
    name_ids: &[i64],
) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM mentions WHERE doc_id = ?1")?.execute([id])?;
    let normal = &linked.doc.doc;
    let mut insert =
        tx.prepare_cached("INSERT OR IGNORE INTO mentions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?;
    for (mention, name) in linked.doc.mentions.iter().zip(&linked.mention_names) {
        let raw = normal.map.to_raw(mention.span);
        insert.execute(params![
            id,
            mention.span.start() as i64,
            raw.start() as i64,
            raw.end() as i64,
            lines::line_of(&normal.line_starts, raw.start()),
            name_ids.get(*name as usize),
            mention.entity_type.code(),
            mention.recognizer as i64,
            f64::from(mention.score.get()),
            place_bits(mention.place),
            mention.span.of(&normal.text)
        ])?;
    }
    Ok(())
}

fn place_bits(place: PlaceFeatures) -> i64 {
    i64::from(place.in_heading)
        | i64::from(place.in_bold) << 1
        | i64::from(place.in_code) << 2
        | i64::from(place.in_link) << 3
}

fn write_evidence(
    tx: &Transaction<'_>,
    id: i64,
    doc: &EmbeddedDoc,
    name_ids: &[i64],
) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM evidence WHERE doc_id = ?1")?.execute([id])?;
    let linked = &doc.doc.doc;
    let normal = &linked.doc.doc;
    let party = |party: Party| -> Option<(i64, i64)> {
        match party {
            Party::Document => Some((-id, -1)),
            Party::Mention(i) => {
                let name = linked.mention_names.get(i as usize)?;
                let at = linked.doc.mentions.get(i as usize)?.span.start() as i64;
                Some((*name_ids.get(*name as usize)?, at))
            }
        }
    };
    let mut insert = tx.prepare_cached(
        "INSERT INTO evidence VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?;
    for (seq, evidence) in doc.doc.evidence.iter().enumerate() {
        let (Some(subject), Some(object)) = (party(evidence.subject), party(evidence.object)) else {
            continue;
        };
        let raw = normal.map.to_raw(evidence.span);
        insert.execute(params![
            id,
            seq as i64,
            subject.0,
            evidence.predicate,
            object.0,
            subject.1,
            object.1,
            evidence.span.start() as i64,
            evidence.span.end() as i64,
            raw.start() as i64,
            raw.end() as i64,
            lines::line_of(&normal.line_starts, raw.start()),
            evidence.pattern,
            f64::from(evidence.confidence.get())
        ])?;
    }
    Ok(())
}

/// Marks names for Resolve, in the same transaction as what made them dirty.
pub(super) fn mark_dirty(
    tx: &Transaction<'_>,
    names: impl Iterator<Item = i64>,
) -> Result<(), StoreError> {
    let mut insert = tx.prepare_cached("INSERT OR IGNORE INTO dirty_names VALUES(?1)")?;
    for name in names {
        insert.execute([Value::Integer(name)])?;
    }
    Ok(())
}

/// Hash of everything that mentions, stated names and evidence rows hold.
fn mentions_hash(doc: &EmbeddedDoc) -> i64 {
    let linked = &doc.doc.doc;
    let normal = &linked.doc.doc;
    let mut hash = Xxh3::new();
    for stated in &linked.doc.stated {
        hash.update(stated.surface.as_bytes());
        hash.update(&[0, stated.source as u8]);
    }
    let number = |n: usize, hash: &mut Xxh3| hash.update(&(n as u32).to_le_bytes());
    for mention in &linked.doc.mentions {
        let raw = normal.map.to_raw(mention.span);
        for n in [mention.span.start(), raw.start(), raw.end()] {
            number(n, &mut hash);
        }
        hash.update(mention.name.as_bytes());
        hash.update(&[0, mention.entity_type.code() as u8, mention.recognizer as u8]);
        hash.update(&[place_bits(mention.place) as u8]);
        hash.update(&mention.score.get().to_le_bytes());
    }
    for evidence in &doc.doc.evidence {
        hash.update(evidence.predicate.as_bytes());
        hash.update(evidence.pattern.as_bytes());
        hash.update(format!("{:?}{:?}", evidence.subject, evidence.object).as_bytes());
        let raw = normal.map.to_raw(evidence.span);
        for n in [evidence.span.start(), evidence.span.end(), raw.start(), raw.end()] {
            number(n, &mut hash);
        }
        hash.update(&evidence.confidence.get().to_le_bytes());
    }
    hash.digest() as i64
}
