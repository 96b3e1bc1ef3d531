//! Names: what a document states, mentions and says about names, and the marks that Resolve reads.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::Xxh3;

use super::note;
use crate::store::positions::{self, Position};
use crate::store::work::Work;
use crate::store::{StoreError, lines};
use model::document::{AliasUse, Document, NameUse, Party, RecognizerKind, StatedSource};
use model::terms::{Norm, Span};

/// Returns the names that a document mentions, states or has aliases for, by the row of sense 0.
pub(super) fn names_of_doc(tx: &Transaction<'_>, id: i64) -> Result<BTreeSet<i64>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT z.id FROM (SELECT name_id AS id FROM mentions WHERE doc_id = ?1
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

/// Returns the rows of sense 0 of the names that these rows belong to; of `known` ones, themselves.
pub(in crate::store) fn senses_0(
    tx: &Connection,
    rows: BTreeSet<i64>,
    known: &BTreeSet<i64>,
) -> Result<BTreeSet<i64>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT z.id FROM names n JOIN names z ON z.norm = n.norm AND z.sense = 0 WHERE n.id = ?1",
    )?;
    let mut out = BTreeSet::new();
    for row in rows {
        match known.contains(&row) {
            true => _ = out.insert(row),
            false => out.extend(statement.query_row([row], |it| it.get::<_, i64>(0)).optional()?),
        }
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
        "SELECT n.norm, n.id FROM mentions m JOIN names n ON n.id = m.name_id
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
    let mut changed: Vec<i64> = old.symmetric_difference(&new).map(|row| row.0).collect();
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
    // What denotes the document through its former title.
    let mut through = tx.prepare_cached("SELECT id FROM names WHERE via = ?1")?;
    let mut users = BTreeSet::new();
    for name in &changed {
        for user in through.query_map([name], |row| row.get(0))? {
            users.insert(user?);
        }
    }
    changed.extend(senses_0(tx, users, &BTreeSet::new())?);
    Ok(changed)
}

/// Marks the names that a document states for the gazetteer. Called before and after a change, so that old and new
/// names are marked.
pub(super) fn mark_stated_terms(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    let norms = "SELECT n.norm FROM stated s JOIN names n ON n.id = s.name_id WHERE s.doc_id = ?1";
    Work::Weigh.add_selected(tx, norms, [id])
}

/// Replaces the mentions of a document, whose names have these rows; returns the names, by the row of sense 0, whose
/// mentions changed. `known`: rows of sense 0. Equal rows are not written again.
pub(super) fn write_mentions(
    tx: &Transaction<'_>,
    id: i64,
    doc: &Document,
    name_ids: &[i64],
    known: &BTreeSet<i64>,
) -> Result<BTreeSet<i64>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT name_id, positions FROM mentions WHERE doc_id = ?1")?;
    let mut old: BTreeMap<i64, String> = statement
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut changed = BTreeSet::new();
    let mut write =
        tx.prepare_cached("INSERT OR REPLACE INTO mentions VALUES(?1, ?2, ?3, ?4, ?5)")?;
    let new = positions_by_name(doc, name_ids);
    for (name, positions) in &new {
        let packed = positions::pack(positions);
        if old.remove(name).is_none_or(|old| old != packed) {
            let at = positions.first().map_or(0, |first| first.at as i64);
            write.execute(params![id, name, positions.len() as i64, at, packed])?;
            changed.insert(*name);
        }
    }
    let mut delete =
        tx.prepare_cached("DELETE FROM mentions WHERE doc_id = ?1 AND name_id = ?2")?;
    for name in old.into_keys() {
        delete.execute([id, name])?;
        changed.insert(name);
    }
    if !new.is_empty() || !changed.is_empty() {
        write_names_of_chunks(tx, id, &new)?;
    }
    senses_0(tx, changed, known)
}

/// Returns the positions of each name in a document, by place. No two begin and end at the same: the first counts.
fn positions_by_name(doc: &Document, name_ids: &[i64]) -> BTreeMap<i64, Vec<Position>> {
    let mut taken = FxHashSet::default();
    let mut by_name: BTreeMap<i64, Vec<Position>> = BTreeMap::new();
    for (mention, name) in doc.found.mentions.iter().zip(&doc.linked.mention_names) {
        let Some(name) = name_ids.get(*name as usize) else { continue };
        let position = Position::of(doc, mention);
        if taken.insert((position.at, position.end)) {
            by_name.entry(*name).or_default().push(position);
        }
    }
    by_name.values_mut().for_each(|all| all.sort_by_key(|it| (it.at, it.end)));
    by_name
}

/// Writes which names each chunk of a document mentions, once each, by row.
fn write_names_of_chunks(
    tx: &Transaction<'_>,
    doc: i64,
    by_name: &BTreeMap<i64, Vec<Position>>,
) -> Result<(), StoreError> {
    let mut places: Vec<(usize, i64)> =
        by_name.iter().flat_map(|(name, all)| all.iter().map(|it| (it.at, *name))).collect();
    places.sort_unstable();
    let mut statement =
        tx.prepare_cached("SELECT id, start, end, names FROM chunks WHERE doc_id = ?1")?;
    let mut update = tx.prepare_cached("UPDATE chunks SET names = ?2 WHERE id = ?1")?;
    let mut rows = statement.query([doc])?;
    while let Some(row) = rows.next()? {
        let (start, end) = (row.get::<_, i64>(1)? as usize, row.get::<_, i64>(2)? as usize);
        let from = places.partition_point(|(at, _)| *at < start);
        let here = places.iter().skip(from).take_while(|(at, _)| *at < end);
        let names: BTreeSet<i64> = here.map(|(_, name)| *name).collect();
        let names = serde_json::to_string(&names).unwrap_or_default();
        if row.get_ref(3)?.as_str().ok() != Some(&names) {
            update.execute(params![row.get::<_, i64>(0)?, names])?;
        }
    }
    Ok(())
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
                let seq = match &doc.note {
                    None => i64::from(i),
                    Some(_) if span.is_empty() => unshown_link(&links, doc, i as usize)?,
                    Some(_) => link(span)?,
                };
                Some((0, span.start() as i64, Some(seq)))
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

/// The byte range of each link of a document in its file, and its `seq`, in order of place; without embeds, such as the
/// badge in `[![b](b.svg)](b.md)`.
fn links_of(doc: &Document) -> Vec<(usize, usize, i64)> {
    let links = note::links_of(doc).into_iter().filter(|it| !it.is_embed());
    let mut links: Vec<_> = links.map(|it| (it.place.start, it.place.end, it.seq as i64)).collect();
    links.sort_unstable();
    links
}

/// Returns the `seq` of the link that covers a byte of the file.
fn link_at(links: &[(usize, usize, i64)], at: usize) -> Option<i64> {
    let after = links.partition_point(|(start, ..)| *start <= at);
    let (_, end, seq) = links.get(after.checked_sub(1)?)?;
    (at < *end).then_some(*seq)
}

/// Returns the `seq` of a link of a note that shows no text, such as that of a picture: of those between the texts
/// before and after it, the one with its number.
fn unshown_link(links: &[(usize, usize, i64)], doc: &Document, idx: usize) -> Option<i64> {
    let (before, rest) = doc.links.split_at_checked(idx)?;
    let span = rest.first()?.span;
    let there = before.iter().rev().take_while(|it| it.span == span);
    let nth = there.filter(|it| it.names_a_document()).count();
    let last = span.start().checked_sub(1);
    let from = last.map_or(0, |at| doc.map.to_raw(Span::new(at, at + 1)).end());
    links.get(links.partition_point(|(start, ..)| *start < from) + nth).map(|it| it.2)
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
        hash.update(&mention.place.bits().to_le_bytes());
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
