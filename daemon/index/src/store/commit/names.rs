//! Names: what a document states, mentions and says about names, and the marks that Resolve reads.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, Transaction, params};
use xxhash_rust::xxh3::Xxh3;

use crate::store::work::Work;
use crate::store::{StoreError, lines};
use model::document::{
    AliasUse, Document, NameUse, Party, PlaceFeatures, RecognizerKind, StatedSource,
};
use model::terms::{Norm, Span};

/// Returns the names that a document mentions, states or has aliases for, by the row of sense 0.
pub(super) fn names_of_doc(tx: &Transaction<'_>, id: i64) -> Result<BTreeSet<i64>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT z.id FROM (SELECT DISTINCT name_id AS id FROM mentions WHERE doc_id = ?1
           UNION SELECT name_id FROM stated WHERE doc_id = ?1
           UNION SELECT a.id FROM aliases u JOIN names a ON a.norm = u.norm AND a.sense = 0 WHERE u.doc_id = ?1) u
         JOIN names n ON n.id = u.id JOIN names z ON z.norm = n.norm AND z.sense = 0",
    )?;
    let ids = statement.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(ids)
}

/// Returns the row of sense 0 of each name the document uses, in the order of `names`, and those that were
/// missing and have been added.
pub(super) fn intern_names(
    tx: &Transaction<'_>,
    names: &[NameUse],
) -> Result<(Vec<i64>, Vec<i64>), StoreError> {
    let mut select = tx.prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense = 0")?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO names(norm, sense, entity_id, link, decision, via, surface, type, n_docs, n_mentions,
           homes, home_source, is_fuzzy) VALUES(?1, 0, NULL, 0, 0, NULL, '', 0, 0, 0, NULL, NULL, 0)",
    )?;
    let (mut ids, mut added) = (Vec::with_capacity(names.len()), Vec::new());
    for name in names {
        let found: Option<i64> = select.query_row([&name.norm], |row| row.get(0)).optional()?;
        if found.is_none() {
            added.push(insert.insert([&name.norm])?);
        }
        ids.extend(found.or_else(|| added.last().copied()));
    }
    Ok((ids, added))
}

/// Returns the rows of sense 0 of the names that these rows belong to.
fn senses_0(tx: &Transaction<'_>, rows: BTreeSet<i64>) -> Result<BTreeSet<i64>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT z.id FROM names n JOIN names z ON z.norm = n.norm AND z.sense = 0 WHERE n.id = ?1",
    )?;
    let mut out = BTreeSet::new();
    for row in rows {
        out.extend(statement.query_row([row], |row| row.get::<_, i64>(0)).optional()?);
    }
    Ok(out)
}

/// Replaces the row of each name that this document uses in a sense of its own by the row of that sense.
pub(super) fn keep_senses(
    tx: &Transaction<'_>,
    id: i64,
    names: &[NameUse],
    name_ids: &mut [i64],
) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT n.norm, n.id FROM mentions m JOIN names n ON n.id = m.name_id
         WHERE m.doc_id = ?1 AND n.sense <> 0",
    )?;
    let senses: BTreeMap<String, i64> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (name, row) in names.iter().zip(name_ids) {
        if let Some(sense) = senses.get(&name.norm) {
            *row = *sense;
        }
    }
    Ok(())
}

/// Replaces the names that a document states; returns those whose statement changed.
pub(super) fn write_stated(
    tx: &Transaction<'_>,
    id: i64,
    doc: &Document,
    name_ids: &[i64],
) -> Result<Vec<i64>, StoreError> {
    // One statement a name: a smaller source is a stronger one, ties go to the surface that sorts first.
    let mut strongest: BTreeMap<i64, (StatedSource, &str)> = BTreeMap::new();
    for (stated, name) in doc.found.stated.iter().zip(&doc.linked.stated_names) {
        let Some(name_id) = name_ids.get(*name as usize) else { continue };
        let entry = (stated.source, stated.surface.as_str());
        strongest.entry(*name_id).and_modify(|e| *e = entry.min(*e)).or_insert(entry);
    }
    let mut statement = tx.prepare_cached(
        "SELECT name_id, source, surface FROM stated WHERE doc_id = ?1 ORDER BY name_id",
    )?;
    let old: BTreeSet<(i64, i64, String)> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let new: BTreeSet<(i64, i64, String)> = strongest
        .into_iter()
        .map(|(name, (source, surface))| (name, source as i64, surface.to_string()))
        .collect();
    let changed: Vec<i64> = old.symmetric_difference(&new).map(|row| row.0).collect();
    // Unchanged statements must not make their terms dirty.
    if changed.is_empty() {
        return Ok(changed);
    }
    mark_stated_terms(tx, id)?;
    tx.prepare_cached("DELETE FROM stated WHERE doc_id = ?1")?.execute([id])?;
    let mut insert = tx.prepare_cached("INSERT INTO stated VALUES(?1, ?2, ?3, ?4)")?;
    for (name_id, source, surface) in new {
        insert.execute(params![id, name_id, source, surface])?;
    }
    mark_stated_terms(tx, id)?;
    Ok(changed)
}

/// Marks the names that a document states for the gazetteer. Called before and after a change, so that old and new
/// names are marked.
pub(super) fn mark_stated_terms(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    let norms = "SELECT n.norm FROM stated s JOIN names n ON n.id = s.name_id WHERE s.doc_id = ?1";
    Work::Weigh.add_selected(tx, norms, [id])
}

/// A row of `mentions`, without its key and with the length of its surface instead of the surface.
#[derive(Debug, Clone, Copy, PartialEq)]
struct MentionRow {
    name: i64,
    start: i64,
    line: i64,
    type_code: i64,
    recognizer: i64,
    score: f64,
    place: i64,
    length: usize,
}

/// Replaces the mentions of a document, whose names have these rows; returns the names, by the row of sense 0, whose
/// mentions changed. `is_same_text`: the stored mentions are of the same text; then equal ones are not written again.
pub(super) fn write_mentions(
    tx: &Transaction<'_>,
    id: i64,
    doc: &Document,
    name_ids: &[i64],
    is_same_text: bool,
) -> Result<BTreeSet<i64>, StoreError> {
    let mut old = BTreeMap::new();
    if is_same_text {
        old = mentions_of(tx, id)?;
    } else {
        tx.prepare_cached("DELETE FROM mentions WHERE doc_id = ?1")?.execute([id])?;
    }
    let mut insert = tx.prepare_cached(
        "INSERT OR IGNORE INTO mentions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    let mut delete =
        tx.prepare_cached("DELETE FROM mentions WHERE doc_id = ?1 AND at = ?2 AND end = ?3")?;
    let mut changed = BTreeSet::new();
    for (mention, name) in doc.found.mentions.iter().zip(&doc.linked.mention_names) {
        let Some(name) = name_ids.get(*name as usize) else { continue };
        let raw = doc.map.to_raw(mention.span);
        let surface = mention.span.of(&doc.text);
        let (at, end) = (mention.span.start() as i64, raw.end() as i64);
        let row = MentionRow {
            name: *name,
            start: raw.start() as i64,
            line: i64::from(lines::line_of(&doc.line_starts, raw.start())),
            type_code: mention.entity_type.code(),
            recognizer: mention.recognizer as i64,
            score: f64::from(mention.score.get()),
            place: place_bits(mention.place),
            length: surface.len(),
        };
        match old.remove(&(at, end)) {
            Some(same) if same == row => continue,
            Some(other) => {
                delete.execute([id, at, end])?;
                changed.insert(other.name);
            }
            None => {}
        }
        changed.insert(row.name);
        let MentionRow { name, start, line, type_code, recognizer, score, place, .. } = row;
        insert.execute(params![
            id, at, start, end, line, name, type_code, recognizer, score, place, surface
        ])?;
    }
    for ((at, end), row) in old {
        delete.execute([id, at, end])?;
        changed.insert(row.name);
    }
    senses_0(tx, changed)
}

/// Returns the mentions of a document by place and end.
fn mentions_of(
    tx: &Transaction<'_>,
    id: i64,
) -> Result<BTreeMap<(i64, i64), MentionRow>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT at, end, name_id, start, line, type, recognizer, score, place, surface FROM mentions
         WHERE doc_id = ?1",
    )?;
    let rows = statement.query_map([id], |row| {
        let mention = MentionRow {
            name: row.get(2)?,
            start: row.get(3)?,
            line: row.get(4)?,
            type_code: row.get(5)?,
            recognizer: row.get(6)?,
            score: row.get(7)?,
            place: row.get(8)?,
            length: row.get_ref(9)?.as_str()?.len(),
        };
        Ok(((row.get(0)?, row.get(1)?), mention))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Replaces the aliases that a document introduces; returns the names, by the row of sense 0, whose aliases changed.
pub(super) fn write_aliases(
    tx: &Transaction<'_>,
    id: i64,
    aliases: &[AliasUse],
) -> Result<Vec<i64>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT norm, target, source FROM aliases WHERE doc_id = ?1")?;
    let old: BTreeSet<(String, String, i64)> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    // The most trusted source comes first.
    let mut sources: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for alias in aliases {
        sources.entry((&alias.norm, &alias.target)).or_insert(alias.source as i64);
    }
    let new: BTreeSet<(String, String, i64)> = sources
        .into_iter()
        .map(|((norm, target), source)| (norm.to_string(), target.to_string(), source))
        .collect();
    if old == new {
        return Ok(Vec::new());
    }
    tx.prepare_cached("DELETE FROM aliases WHERE doc_id = ?1")?.execute([id])?;
    let mut insert = tx.prepare_cached("INSERT INTO aliases VALUES(?1, ?2, ?3, ?4)")?;
    for (norm, target, source) in &new {
        insert.execute(params![norm, target, id, source])?;
    }
    let mut select = tx.prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense = 0")?;
    let mut changed = Vec::new();
    for (norm, ..) in old.symmetric_difference(&new) {
        let row: Option<i64> = select.query_row([norm], |row| row.get(0)).optional()?;
        changed.extend(row);
    }
    Ok(changed)
}

fn place_bits(place: PlaceFeatures) -> i64 {
    i64::from(place.in_heading)
        | i64::from(place.in_bold) << 1
        | i64::from(place.in_code) << 2
        | i64::from(place.in_link) << 3
        | i64::from(place.is_type_guessed) << 4
        | i64::from(place.is_entity_given) << 5
        | i64::from(place.is_defined) << 6
        | i64::from(place.certainty) << 7
        | (place.naming as i64) << 10
}

pub(super) fn write_evidence(
    tx: &Transaction<'_>,
    id: i64,
    doc: &Document,
    name_ids: &[i64],
) -> Result<(), StoreError> {
    tx.prepare_cached("DELETE FROM evidence WHERE doc_id = ?1")?.execute([id])?;
    let links = links_of(doc);
    // A party is stored as row (negative for the document itself), place in the text (-1), and the link that states
    // it.
    let link = |span: Span<Norm>| link_at(&links, doc.map.to_raw(span).start());
    let party = |party: Party| -> Option<(i64, i64, Option<i64>)> {
        match party {
            Party::Document => Some((-id, -1, None)),
            Party::Link(i) => {
                // `links.rs` finds the document; a link that no note states leads nowhere.
                let span = doc.links.get(i as usize)?.span;
                Some((0, span.start() as i64, Some(link(span)?)))
            }
            Party::Mention(i) => {
                let name = doc.linked.mention_names.get(i as usize)?;
                let mention = doc.found.mentions.get(i as usize)?;
                let is_link = mention.recognizer == RecognizerKind::Stated;
                let link = is_link.then(|| link(mention.span)).flatten();
                Some((*name_ids.get(*name as usize)?, mention.span.start() as i64, link))
            }
        }
    };
    let mut insert = tx.prepare_cached(
        "INSERT INTO evidence VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?;
    for (seq, evidence) in doc.evidence.iter().enumerate() {
        let (Some(subject), Some(object)) = (party(evidence.subject), party(evidence.object))
        else {
            continue;
        };
        let raw = doc.map.to_raw(evidence.span);
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
            lines::line_of(&doc.line_starts, raw.start()),
            evidence.source(),
            f64::from(evidence.confidence.get()),
            subject.2,
            object.2
        ])?;
    }
    Ok(())
}

/// The byte range of each link of a note in its file, and its `seq`, in order of place.
fn links_of(doc: &Document) -> Vec<(usize, usize, i64)> {
    let links = doc.note.iter().flat_map(|stated| &stated.note.links).enumerate();
    let mut links: Vec<_> =
        links.map(|(seq, it)| (it.place.span.start, it.place.span.end, seq as i64)).collect();
    links.sort_unstable();
    links
}

/// Returns the `seq` of the link that covers a byte of the file.
fn link_at(links: &[(usize, usize, i64)], at: usize) -> Option<i64> {
    let after = links.partition_point(|(start, ..)| *start <= at);
    let (_, end, seq) = links.get(after.checked_sub(1)?)?;
    (at < *end).then_some(*seq)
}

/// Hashes everything that the rows of mentions, stated names and evidence hold.
pub(super) fn mentions_hash(doc: &Document) -> i64 {
    let mut hash = Xxh3::new();
    for stated in &doc.found.stated {
        hash.update(stated.surface.as_bytes());
        // The zero byte ends a string: without it `ab` + `c` and `a` + `bc` would hash alike.
        hash.update(&[0, stated.source as u8]);
    }
    let number = |n: usize, hash: &mut Xxh3| hash.update(&(n as u32).to_le_bytes());
    for mention in &doc.found.mentions {
        let raw = doc.map.to_raw(mention.span);
        for n in [mention.span.start(), raw.start(), raw.end()] {
            number(n, &mut hash);
        }
        hash.update(mention.name.as_bytes());
        hash.update(&[0, mention.entity_type.code() as u8, mention.recognizer as u8]);
        hash.update(&place_bits(mention.place).to_le_bytes());
        hash.update(&mention.score.get().to_le_bytes());
    }
    for evidence in &doc.evidence {
        hash.update(evidence.predicate.as_bytes());
        hash.update(evidence.source().as_bytes());
        hash.update(format!("{:?}{:?}", evidence.subject, evidence.object).as_bytes());
        let raw = doc.map.to_raw(evidence.span);
        for n in [evidence.span.start(), evidence.span.end(), raw.start(), raw.end()] {
            number(n, &mut hash);
        }
        hash.update(&evidence.confidence.get().to_le_bytes());
    }
    hash.digest() as i64
}
