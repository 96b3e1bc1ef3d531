//! Commit: writes or deletes one document's rows inside the writer's transaction.
//!
//! Unchanged rows are left alone: a chunk with the same hash keeps its row, text index and vectors; equal mentions
//! and evidence are not touched. Effects on other documents become work.

mod chunks;
mod deferred;
mod headings;
mod identity;
mod memory;
mod names;
mod note;

use std::collections::{BTreeMap, BTreeSet};

use config::formats::Id;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use notes::date;
use rusqlite::{OptionalExtension, Transaction, params};

pub(super) use self::chunks::IndexedContext;
use self::chunks::{chunk_ids, delete_chunks, write_chunks};
pub(super) use self::deferred::{Deferred, commit};
use self::identity::{Existing, find, row_at};
pub(super) use self::identity::{Identity, identify};
pub(super) use self::names::senses_0;
use self::names::{
    intern_names, keep_senses, mark_stated_terms, mentions_hash, names_of_doc, write_aliases,
    write_evidence, write_mentions, write_stated,
};
pub use self::note::{BLOCK, kind_of as link_kind};
use super::schema::{PASS_ASKED, PASS_DEEP, PASS_SWIFT};
use super::scrub::sum_of;
use super::work::Work;
use super::{StoreError, duplicates, ids, lines, links, record, written};
use extract::recognize::Gazetteer;
use model::document::{DocMeta, Document, Pass};
use model::terms::{EntityType, RelPath, norm_of};

/// Writes a document; returns the names whose facts may have changed.
pub(super) fn document(
    tx: &Transaction<'_>,
    doc: &Document,
    identity: &Identity,
    writes: &mut Deferred,
) -> Result<Vec<i64>, StoreError> {
    let here = row_at(tx, &doc.head.path)?;
    let existing = find(tx, here, &doc.head.path, identity, writes)?;
    let mentions_hash = mentions_hash(doc);
    let context_changed =
        existing.as_ref().is_none_or(|old| old.indexed_as != indexed_as(doc, identity));
    // The path decides which of several notes of one name a document means, and whether it is a note.
    let has_moved = existing.as_ref().is_some_and(|old| old.has_moved);
    let is_same = |old: &Existing| old.is_same_content(doc) && !context_changed && !old.has_moved;
    let holds_content = existing.as_ref().is_some_and(is_same);
    let id = match &existing {
        // Rows that depend on the content alone are up to date.
        Some(old) if holds_content => {
            tx.prepare_cached("UPDATE docs SET mtime_ms = ?2 WHERE id = ?1")?
                .execute(params![old.id, doc.head.mtime_ms])?;
            old.id
        }
        old => {
            write_content(tx, doc, old.as_ref(), identity, context_changed, writes, mentions_hash)?
        }
    };
    Work::Reload.remove(tx, [id])?;
    // The text around a name and the document's path count, too. Names before and after the change are dirty: a name
    // that the document no longer uses loses facts.
    let is_known = existing.is_some();
    let before =
        if is_known && !holds_content { names_of_doc(tx, id)? } else { BTreeSet::default() };
    let was = existing.filter(|_| holds_content).map(|old| old.mentions_hash);
    let touched = write_found(tx, id, doc, mentions_hash, was, before)?;
    if is_known && (context_changed || has_moved) {
        // Path and type of a note decide which of several statements names and types a term.
        mark_stated_terms(tx, id)?;
    }
    Ok(touched)
}

/// Writes what was found in a document that the index holds; returns the names whose facts may have changed. Does
/// nothing if the row holds another document or content by now.
pub(super) fn found(tx: &Transaction<'_>, doc: &Document, id: i64) -> Result<Vec<i64>, StoreError> {
    let Some(old) = row_at(tx, &doc.head.path)?.filter(|it| it.id == id && it.has_hash(doc)) else {
        return Ok(Vec::new());
    };
    write_found(tx, id, doc, mentions_hash(doc), Some(old.mentions_hash), BTreeSet::new())
}

/// Writes the names and evidence of a document whose content is written; returns the names whose facts may have
/// changed. `was`: the hash of what the rows hold, if they are of the same content; `touched`: names that changed.
///
/// A document that was recognized before the first mining has no mentions, and one that was on the belt while the
/// gazetteer changed may lack some: it is queued, in the same transaction, to be read again.
fn write_found(
    tx: &Transaction<'_>,
    id: i64,
    doc: &Document,
    mentions_hash: i64,
    was: Option<i64>,
    mut touched: BTreeSet<i64>,
) -> Result<Vec<i64>, StoreError> {
    let version = doc.found.gazetteer_version;
    if was.is_some() {
        let sql =
            "UPDATE docs SET mentions_hash = ?2, gazetteer_version = ?3, pass = ?4 WHERE id = ?1";
        let values = params![id, mentions_hash, version as i64, pass_code(doc)];
        tx.prepare_cached(sql)?.execute(values)?;
    }
    let reads_again = version == Gazetteer::UNMINED || version < gazetteer_version(tx)?;
    match reads_again {
        true => Work::Reread.add(tx, [id])?,
        false => Work::Reread.remove(tx, [id])?,
    }
    // Names, mentions and evidence are the same, and so is the text around them: nothing to resolve.
    if was == Some(mentions_hash) {
        return Ok(Vec::new());
    }
    let holds_content = was.is_some();
    let (mut name_ids, added) = intern_names(tx, &doc.linked.names)?;
    touched.extend(added);
    if !holds_content {
        touched.extend(&name_ids);
    }
    let mut norms = headings::norms_of(tx, id)?;
    headings::write(tx, id, doc)?;
    touched.extend(write_stated(tx, id, doc, &name_ids)?);
    norms.extend(headings::norms_of(tx, id)?);
    headings::show(tx, id, &norms)?;
    let known: BTreeSet<i64> = name_ids.iter().copied().collect();
    if holds_content {
        // Names whose mentions stay the same are not resolved again, so the document keeps the senses it has.
        keep_senses(tx, id, &doc.linked.names, &mut name_ids)?;
    }
    touched.extend(write_mentions(tx, id, doc, &name_ids, &known)?);
    touched.extend(write_aliases(tx, id, &doc.linked.aliases)?);
    write_evidence(tx, id, doc, &name_ids)?;
    links::relate(tx, id)?;
    let only_deepens = doc.head.pass == Pass::Deep && holds_content;
    Work::Gather.add_with(i64::from(only_deepens), tx, &touched)?;
    Ok(touched.into_iter().collect())
}

/// Returns the version of the gazetteer's rows.
fn gazetteer_version(tx: &Transaction<'_>) -> Result<u64, StoreError> {
    let version: i64 = tx
        .prepare_cached("SELECT value FROM meta WHERE key = 'gazetteer'")?
        .query_row([], |row| row.get(0))?;
    Ok(version as u64)
}

/// Writes all rows that depend on the content alone; returns the document's id.
fn write_content(
    tx: &Transaction<'_>,
    doc: &Document,
    existing: Option<&Existing>,
    identity: &Identity,
    context_changed: bool,
    writes: &mut Deferred,
    mentions_hash: i64,
) -> Result<i64, StoreError> {
    let terms = encode_terms(doc);
    let id = upsert_doc(tx, doc, (existing, identity, &terms, mentions_hash))?;
    write_tags(tx, id, doc, identity)?;
    write_chunks(tx, id, context_changed, doc, identity, writes)?;
    writes.terms.add(existing.map_or("", |old| &old.terms), &terms);
    ensure_note_entity(tx, id, &identity.uid, doc)?;
    note::write(tx, id, doc)?;
    Ok(id)
}

/// Deletes a document's rows; returns the names whose facts may have changed.
pub(super) fn remove(
    tx: &Transaction<'_>,
    path: &RelPath,
    writes: &mut Deferred,
) -> Result<Vec<i64>, StoreError> {
    let row: Option<(i64, String)> = tx
        .prepare_cached("SELECT id, terms FROM docs WHERE path = ?1")?
        .query_row([path.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, terms)) = row else { return Ok(Vec::new()) };
    // Names and headings are read before their rows are deleted; marks and counts follow from them.
    let touched = names_of_doc(tx, id)?;
    let norms = headings::norms_of(tx, id)?;
    note::remove(tx, id)?;
    delete_chunks(tx, chunk_ids(tx, id)?, writes)?;
    mark_stated_terms(tx, id)?;
    Work::Reread.remove(tx, [id])?;
    Work::Reload.remove(tx, [id])?;
    for statement in [
        "DELETE FROM mentions WHERE doc_id = ?1",
        "DELETE FROM aliases WHERE doc_id = ?1",
        "DELETE FROM evidence WHERE doc_id = ?1",
        "DELETE FROM stated WHERE doc_id = ?1",
        "DELETE FROM headings WHERE doc_id = ?1",
        "DELETE FROM doc_tags WHERE doc_id = ?1",
        "DELETE FROM entities WHERE doc_id = ?1",
        "DELETE FROM docs WHERE id = ?1",
    ] {
        tx.prepare_cached(statement)?.execute([id])?;
    }
    headings::show(tx, id, &norms)?;
    writes.terms.add(&terms, "");
    Work::Gather.add(tx, &touched)?;
    Ok(touched.into_iter().collect())
}

type RowExtras<'a> = (Option<&'a Existing>, &'a Identity, &'a str, i64);

fn upsert_doc(
    tx: &Transaction<'_>,
    doc: &Document,
    (existing, identity, terms, mentions_hash): RowExtras<'_>,
) -> Result<i64, StoreError> {
    // `markdown` and `md` are one format.
    let extension = doc.head.path.extension();
    let format = if extension == "markdown" { "md" } else { &extension };
    let is_note = format == "md";
    let meta = serde_json::json!({
        "aliases": doc.meta.aliases, "tags": all_tags(doc, identity),
        "author": doc.meta.author, "language": doc.meta.language, "pages": doc.pages.len(),
        "date": doc.meta.date, "security": doc.meta.security, "extra": doc.meta.extra,
        "indexed_as": indexed_as(doc, identity),
    });
    let found = &doc.findings;
    let redactions = (!found.is_empty()).then(|| {
        serde_json::json!({"redacted": found.redacted, "flagged": found.flagged}).to_string()
    });
    let warnings = (!doc.warnings.is_empty()).then(|| doc.warnings.join("; "));
    let source_url = identity.ingest.source_url.as_ref().or(doc.meta.source_url.as_ref());
    let (meta, lines) = (meta.to_string(), lines::encode(&doc.map, &doc.line_starts));
    let pages = lines::encode_pages(&doc.pages);
    let headings = lines::encode_headings(format, &doc.blocks);
    let outline = record::pack(doc);
    // The checksum covers the columns that `scrub` reads back.
    let sum = sum_of([
        doc.title.as_bytes(),
        meta.as_bytes(),
        doc.text.as_bytes(),
        &lines,
        terms.as_bytes(),
        pages.as_deref().unwrap_or_default(),
        headings.as_deref().unwrap_or_default(),
        &outline,
    ]);
    let values = params![
        existing.map(|old| old.id),
        identity.uid,
        doc.head.path.as_str(),
        doc.title,
        is_note,
        format,
        doc.meta.doc_type,
        doc.language,
        day_of(doc),
        doc.head.hash.0.to_le_bytes(),
        doc.head.mtime_ms,
        doc.head.n_bytes as i64,
        source_url,
        meta,
        doc.text,
        lines,
        terms,
        mentions_hash,
        doc.found.gazetteer_version as i64,
        warnings,
        redactions,
        pages,
        headings,
        pass_code(doc),
        sum,
        duplicates::depth_of(doc.head.path.as_str()),
        outline,
        written::pack(doc)
    ];
    let id = tx
        .prepare_cached(
            "INSERT INTO docs(id, uid, path, title, is_note, format, doc_type, language, day, hash, mtime_ms,
               n_bytes, source_url, meta, text, lines, terms, mentions_hash, gazetteer_version, warnings, redactions,
               pages, headings, pass, sum, depth, outline, written)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
               ?22, ?23, ?24, ?25, ?26, ?27, ?28)
             ON CONFLICT(id) DO UPDATE SET uid = excluded.uid, path = excluded.path, title = excluded.title,
               is_note = excluded.is_note, format = excluded.format, doc_type = excluded.doc_type,
               language = excluded.language, day = excluded.day, hash = excluded.hash,
               mtime_ms = excluded.mtime_ms, n_bytes = excluded.n_bytes, source_url = excluded.source_url,
               meta = excluded.meta, text = excluded.text, lines = excluded.lines, terms = excluded.terms,
               mentions_hash = excluded.mentions_hash, gazetteer_version = excluded.gazetteer_version,
               warnings = excluded.warnings, redactions = excluded.redactions,
               pages = excluded.pages, headings = excluded.headings, pass = excluded.pass,
               sum = excluded.sum, depth = excluded.depth, outline = excluded.outline, written = excluded.written
             RETURNING id",
        )?
        .query_row(values, |row| row.get(0))?;
    Ok(id)
}

/// `docs.pass` of a document as it was just read. Before the first mining, names cannot be read deeply, so the deep
/// pass must come back.
fn pass_code(doc: &Document) -> i64 {
    match doc.head.pass {
        Pass::Swift => PASS_SWIFT,
        Pass::Deep if doc.found.gazetteer_version == Gazetteer::UNMINED => PASS_ASKED,
        Pass::Deep => PASS_DEEP,
    }
}

/// Everything that a chunk's rows in the text index depend on, except its own text.
fn indexed_as(doc: &Document, identity: &Identity) -> String {
    let mut parts = vec![doc.title.clone()];
    parts.extend(doc.meta.searched_titles());
    parts.extend(all_tags(doc, identity));
    parts.push(doc.meta.doc_type.clone().unwrap_or_default());
    parts.push(identity.ingest.source_url.clone().unwrap_or_default());
    parts.join("\u{1f}")
}

fn all_tags(doc: &Document, identity: &Identity) -> Vec<String> {
    let mut tags = doc.meta.tags.clone();
    tags.extend(identity.ingest.tags.iter().filter(|tag| !doc.meta.tags.contains(tag)).cloned());
    tags
}

/// Returns the day of a document: the one that it states, else the one in its path, else that of the last change which
/// it states, else the one on which its file was changed, in the time zone of this machine. What an office program
/// writes into a file is often the day of a template, so there the path goes first.
fn day_of(doc: &Document) -> String {
    day_in(TimeZone::system(), &doc.meta, doc.head.path.as_str(), doc.head.mtime_ms)
}

fn day_in(zone: TimeZone, meta: &DocMeta, path: &str, mtime_ms: i64) -> String {
    let stated = meta.date.as_deref().and_then(date::stated_day);
    let is_office =
        path.rsplit_once('.').and_then(|(_, it)| config::formats::of(&it.to_lowercase()));
    let is_office = is_office.is_some_and(|it| matches!(it.id, Id::Docx | Id::Xlsx | Id::Pdf));
    let of_path = || date::day_of_path(path);
    let stated = if is_office { of_path().or(stated) } else { stated.or_else(of_path) };
    let stated = stated.or_else(|| date::changed_day(meta.extra.iter()));
    let changed = || Timestamp::from_millisecond(mtime_ms).ok();
    stated.or_else(|| Some(changed()?.to_zoned(zone).date().to_string())).unwrap_or_default()
}

fn write_tags(
    tx: &Transaction<'_>,
    id: i64,
    doc: &Document,
    identity: &Identity,
) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM doc_tags WHERE doc_id = ?1")?.execute([id])?;
    for tag in all_tags(doc, identity) {
        tx.prepare_cached("INSERT OR IGNORE INTO doc_tags VALUES(?1, ?2)")?
            .execute(params![id, ::names::fold(&tag)])?;
    }
    Ok(())
}

/// A document's mined terms as stored text, `surface TAB norm TAB weight` a line, so that its counts can be
/// subtracted exactly.
fn encode_terms(doc: &Document) -> String {
    let mut out = String::new();
    for term in &doc.found.terms {
        if !term.surface.contains(['\t', '\n']) {
            out.push_str(&format!("{}\t{}\t{}\n", term.surface, term.norm, term.weight));
        }
    }
    out
}

/// Changes of the counts of mined terms, by surface: the norm, and the changes of the five counts. Added up over the
/// documents of a batch, since they share many terms, and written in the order of the table.
#[derive(Default)]
pub(super) struct TermCounts(BTreeMap<String, (String, [i64; 5])>);

impl TermCounts {
    /// Adds the difference between a document's old and new list.
    fn add(&mut self, old: &str, new: &str) {
        if old == new {
            return;
        }
        let old: BTreeSet<&str> = old.lines().collect();
        let new: BTreeSet<&str> = new.lines().collect();
        for (line, step) in
            old.difference(&new).map(|l| (l, -1)).chain(new.difference(&old).map(|l| (l, 1)))
        {
            let mut fields = line.split('\t');
            let (Some(surface), Some(norm), Some(weight)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let (_, counts) = self
                .0
                .entry(surface.to_string())
                .or_insert_with(|| (norm.to_string(), Default::default()));
            // Weights are classes: up to 1 plain, 2 bold or code, 3 heading or title, 4 defined here.
            let class = weight.parse::<usize>().unwrap_or(0).clamp(1, 4);
            for count in [0, class] {
                counts[count] += step;
            }
        }
    }

    /// Writes all changes.
    pub(super) fn write(self, tx: &Transaction<'_>) -> Result<(), StoreError> {
        let mut count = tx.prepare_cached(
            "INSERT INTO terms VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(surface) DO UPDATE SET
               n_docs = n_docs + ?3, n_plain = n_plain + ?4, n_marked = n_marked + ?5, n_headed = n_headed + ?6,
               n_defined = n_defined + ?7",
        )?;
        // Counts of 0 would keep terms that no document has.
        let mut drop_unused =
            tx.prepare_cached("DELETE FROM terms WHERE surface = ?1 AND n_docs <= 0")?;
        for (surface, (norm, counts)) in &self.0 {
            let [n, plain, marked, headed, defined] = *counts;
            count.execute(params![surface, norm, n, plain, marked, headed, defined])?;
            if n < 0 {
                drop_unused.execute([surface])?;
            }
        }
        Work::Weigh.add(tx, self.0.into_values().map(|(norm, _)| norm))
    }
}

/// Makes every Markdown file a note, and the home of the entity that its title names.
fn ensure_note_entity(
    tx: &Transaction<'_>,
    id: i64,
    uid: &str,
    doc: &Document,
) -> Result<(), StoreError> {
    if !matches!(doc.head.path.extension().as_str(), "md" | "markdown") {
        // It may have been a note under its previous file name.
        tx.prepare_cached("DELETE FROM entities WHERE doc_id = ?1")?.execute([id])?;
        return Ok(());
    }
    let stated = doc.meta.doc_type.as_deref().and_then(EntityType::parse);
    let type_code = stated.unwrap_or(EntityType::Document).code();
    let named = (norm_of(&doc.title), &doc.title);
    let entity = ids::write_note(tx, id, uid, &named.0, named.1, type_code)?;
    tx.prepare_cached("UPDATE docs SET entity_id = ?2 WHERE id = ?1")?.execute([id, entity])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::offset;

    #[test]
    fn a_document_has_the_day_that_it_states_else_that_of_its_file_here() {
        // 2023-11-08 at 04:00 in Greenwich.
        let mtime_ms = 1_699_416_000_000;
        for (date, updated, path, day) in [
            (Some("1 May 2024"), None, "2022-02-02.md", "2024-05-01"),
            (Some("2024-05-01T23:30:00-07:00"), None, "a.md", "2024-05-01"),
            (Some("someday"), None, "2022_02_02.md", "2022-02-02"),
            (None, Some("2021/03/04"), "2022/02/02.md", "2022-02-02"),
            (None, Some("2021/03/04"), "a.md", "2021-03-04"),
            (None, None, "a.md", "2023-11-07"),
            (Some("2013-12-23"), None, "Minutes 2024-05-02.docx", "2024-05-02"),
            (Some("2013-12-23"), None, "Minutes.docx", "2013-12-23"),
        ] {
            let date = date.map(String::from);
            let extra =
                updated.map(|it| ("Last-Modified".to_string(), it.into())).into_iter().collect();
            let meta = DocMeta { date, extra, ..DocMeta::default() };
            let found = day_in(TimeZone::fixed(offset(-8)), &meta, path, mtime_ms);
            assert_eq!(found, day, "{path}");
        }
        let meta = DocMeta::default();
        assert_eq!(day_in(TimeZone::UTC, &meta, "a.md", mtime_ms), "2023-11-08");
    }
}
