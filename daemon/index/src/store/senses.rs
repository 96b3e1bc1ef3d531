//! Senses: gives one norm several meanings: by note, by what a document uses it for, by how documents mean it.
//!
//! In: a name and its decision. Out: a row for each sense, with the mentions and evidence of its documents; what
//! stays on sense 0 denotes what the name does, or nothing.
//! Invariants: senses are computed from the rows each time, so they do not depend on history; entities that lost
//! their last name are deleted.

use std::collections::{BTreeMap, BTreeSet};

use notes::resolve::n_shared_folders;
use rusqlite::{Connection, OptionalExtension, params};

use super::names::Resolver;
use super::{StoreError, facts, ids, readings};
use extract::link::resolve::{NameFacts, USED_SCORE, Usage};
use extract::link::split::Group;
use model::terms::{EntityType, Kind};

/// `names.decision` of a sense: the nearest of several notes.
const NEAREST: i64 = 5;

/// `names.decision` of a sense: a group of documents that mean the same.
const GROUP: i64 = 7;

/// `names.decision` of a sense: the name that a document uses it for.
const USED: i64 = 8;

/// The row of one sense.
struct Sense<'a> {
    key: i64,
    entity: Option<i64>,
    link: f64,
    decision: i64,
    via: Option<i64>,
    surface: &'a str,
    type_code: i64,
    home: Option<i64>,
}

/// The senses that the documents of a name have.
#[derive(Default)]
struct Senses {
    /// The row of the sense of each document that has one of its own.
    of_doc: BTreeMap<i64, i64>,
    /// Rows whose name and type their documents vote for, with the kind that they agree on.
    of_kind: Vec<(i64, Kind)>,
}

impl Resolver<'_> {
    /// Gives each sense of a name its row and its mentions. `homes`: the notes with this name, if there are several.
    pub(super) fn split_senses(
        &self,
        name: &NameFacts,
        homes: &[i64],
        usage: &Usage,
    ) -> Result<(), StoreError> {
        let before = self.senses_of(name)?;
        let uses = self.uses_of(name)?;
        let mut senses = Senses::default();
        if homes.len() > 1 {
            self.split_by_note(name, homes, &uses, &mut senses)?;
        } else if homes.is_empty() && usage.everywhere.is_none() {
            // A name that stands for another one everywhere has no sense of its own.
            for (doc, target) in &usage.by_doc {
                senses.of_doc.insert(*doc, self.used_sense(name, *target)?);
            }
            if name.is_split {
                self.split_by_group(name, &mut senses)?;
            }
        }
        for (doc, row) in uses {
            let sense = senses.of_doc.get(&doc).copied().unwrap_or(name.id);
            if sense != row {
                self.move_doc(row, sense, doc)?;
            }
        }
        // By the documents that it has now.
        senses.of_kind.into_iter().try_for_each(|(sense, kind)| self.vote(sense, kind))?;
        let kept: BTreeSet<i64> = senses.of_doc.into_values().collect();
        let mut delete = self.db.prepare_cached("DELETE FROM names WHERE id = ?1")?;
        for (sense, _) in before.iter().filter(|(sense, _)| !kept.contains(sense)) {
            delete.execute([sense])?;
        }
        // Last: an entity may have got its name back.
        before.into_iter().try_for_each(|(_, entity)| self.drop_if_unnamed(entity))
    }

    /// Returns the rows of a name's senses, with their entities.
    fn senses_of(&self, name: &NameFacts) -> Result<Vec<(i64, Option<i64>)>, StoreError> {
        let sql = "SELECT id, entity_id FROM names WHERE norm = ?1 AND sense <> 0";
        let mut statement = self.db.prepare_cached(sql)?;
        let senses = statement.query_map([&name.norm], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(senses.collect::<Result<_, _>>()?)
    }

    /// Returns the documents that mention a name, each with the row of the sense it has now.
    fn uses_of(&self, name: &NameFacts) -> Result<Vec<(i64, i64)>, StoreError> {
        let sql = "SELECT m.doc_id, n.id FROM names n JOIN mentions m ON m.name_id = n.id WHERE n.norm = ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let uses = statement.query_map([&name.norm], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(uses.collect::<Result<_, _>>()?)
    }

    fn move_doc(&self, from: i64, to: i64, doc: i64) -> Result<(), StoreError> {
        for sql in [
            // Tells readers, who learn of changes by the rows of documents, whose mentions denote something else.
            "UPDATE docs SET gazetteer_version = gazetteer_version WHERE id = ?3",
            "UPDATE mentions SET name_id = ?2 WHERE name_id = ?1 AND doc_id = ?3",
            "UPDATE chunks SET names = (SELECT json_group_array(name ORDER BY name) FROM
                 (SELECT iif(value = ?1, ?2, value) AS name FROM json_each(names)))
               WHERE doc_id = ?3 AND EXISTS (SELECT 1 FROM json_each(names) WHERE value = ?1)",
            "UPDATE evidence SET subject = ?2 WHERE subject = ?1 AND doc_id = ?3",
            "UPDATE evidence SET object = ?2 WHERE object = ?1 AND doc_id = ?3",
        ] {
            self.db.prepare_cached(sql)?.execute([from, to, doc])?;
        }
        Ok(())
    }

    /// Assigns each document's mentions to the nearest of several notes with this name, if one is nearest. What stays
    /// on sense 0 is unsure, and denotes nothing rather than something wrong.
    fn split_by_note(
        &self,
        name: &NameFacts,
        homes: &[i64],
        uses: &[(i64, i64)],
        senses: &mut Senses,
    ) -> Result<(), StoreError> {
        let mut home_paths: BTreeMap<String, i64> = BTreeMap::new();
        for home in homes {
            // Resets a type voted for while the name was this note's alone: a rebuild would not have it.
            self.typed_note_entity(name, *home, EntityType::Document.code())?;
            if let Some(path) = path_of(self.db, *home)? {
                home_paths.insert(path, *home);
            }
        }
        for (doc, _) in uses {
            let Some(path) = path_of(self.db, *doc)? else { continue };
            let Some(home) = nearest_home(&path, &home_paths) else { continue };
            let (entity, via) = self.home_entity(name, home)?;
            let sense = self.write(
                name,
                Sense {
                    key: home,
                    entity,
                    link: 1.0,
                    decision: NEAREST,
                    via,
                    surface: &name.surface,
                    type_code: name.type_code(),
                    home: Some(home),
                },
            )?;
            senses.of_doc.insert(*doc, sense);
        }
        Ok(())
    }

    /// Gives each group of documents that mean the same a sense of its own, except the group of the note with this
    /// name. Documents in no group stay with sense 0.
    fn split_by_group(&self, name: &NameFacts, senses: &mut Senses) -> Result<(), StoreError> {
        let (groups, _) = readings::groups(self.db, self.embedder.as_ref(), name)?;
        let stays =
            |group: &&Group| name.homes.first().is_some_and(|home| group.docs.contains(home));
        // The note is in no group, so nothing says which documents mean it.
        if !name.homes.is_empty() && !groups.iter().any(|group| stays(&group)) {
            return Ok(());
        }
        for group in groups.iter().filter(|group| !stays(group)) {
            let sense = self.group_sense(name, group, &groups)?;
            senses.of_doc.extend(group.docs.iter().map(|doc| (*doc, sense)));
            senses.of_kind.push((sense, group.kind));
        }
        Ok(())
    }

    fn used_sense(&self, name: &NameFacts, target: i64) -> Result<i64, StoreError> {
        let sense = Sense {
            key: -target,
            entity: self.entity_of(target)?,
            link: f64::from(USED_SCORE),
            decision: USED,
            via: Some(target),
            surface: &name.surface,
            type_code: name.type_code(),
            home: None,
        };
        self.write(name, sense)
    }

    /// Adds the sense of a group. Its entity is identified by the norm and by what distinguishes the group, so that
    /// it keeps its id when another group grows.
    fn group_sense(
        &self,
        name: &NameFacts,
        group: &Group,
        groups: &[Group],
    ) -> Result<i64, StoreError> {
        let first = group.docs.first().copied().unwrap_or_default();
        let mut norm = format!("{}~{:?}", name.norm, group.kind).to_lowercase();
        // Two groups of one kind: the first document's uid distinguishes them.
        if groups.iter().filter(|it| it.kind == group.kind).count() > 1 {
            let uid: Option<String> = self
                .db
                .prepare_cached("SELECT uid FROM docs WHERE id = ?1")?
                .query_row([first], |row| row.get(0))
                .optional()?;
            norm = format!("{norm}~{}", uid.unwrap_or_default());
        }
        let entity = ids::write_own(self.db, &norm, &name.surface, name.type_code())?;
        let sense = Sense {
            key: first,
            entity: Some(entity),
            link: 1.0,
            decision: GROUP,
            via: None,
            surface: &name.surface,
            type_code: name.type_code(),
            home: None,
        };
        self.write(name, sense)
    }

    /// Names and types a group's entity by the votes of its own documents.
    fn vote(&self, sense: i64, kind: Kind) -> Result<(), StoreError> {
        let facts = facts::of_row(self.db, sense)?;
        let code = if kind.is_word() {
            EntityType::Concept.voted_code(false, false)
        } else {
            facts.type_code()
        };
        self.db
            .prepare_cached("UPDATE names SET surface = ?2, type = ?3 WHERE id = ?1")?
            .execute(params![sense, facts.surface, code])?;
        self.db
            .prepare_cached(
                "UPDATE entities SET name = ?2, type = ?3 WHERE id = (SELECT entity_id FROM names WHERE id = ?1)",
            )?
            .execute(params![sense, facts.surface, code])?;
        Ok(())
    }

    fn write(&self, name: &NameFacts, sense: Sense<'_>) -> Result<i64, StoreError> {
        Ok(self
            .db
            .prepare_cached(
                "INSERT INTO names(norm, sense, entity_id, link, decision, via, surface, type, n_docs, n_mentions,
                   homes, home_source, is_fuzzy) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 0, ?9, 0, 0)
                 ON CONFLICT(norm, sense) DO UPDATE SET entity_id = excluded.entity_id, link = excluded.link,
                   decision = excluded.decision, via = excluded.via, surface = excluded.surface, type = excluded.type,
                   homes = excluded.homes RETURNING id",
            )?
            .query_row(
                params![
                    name.norm,
                    sense.key,
                    sense.entity,
                    sense.link,
                    sense.decision,
                    sense.via,
                    sense.surface,
                    sense.type_code,
                    sense.home.map(|home| home.to_string())
                ],
                |row| row.get(0),
            )?)
    }
}

fn path_of(db: &Connection, doc: i64) -> Result<Option<String>, StoreError> {
    Ok(db
        .prepare_cached("SELECT path FROM docs WHERE id = ?1")?
        .query_row([doc], |row| row.get(0))
        .optional()?)
}

/// Returns the note that shares the longest folder path with `path`, or the document itself if it is one of them.
/// `None` if two are equally near: unsure is a state, not a guess.
fn nearest_home(path: &str, homes: &BTreeMap<String, i64>) -> Option<i64> {
    if let Some(own) = homes.get(path) {
        return Some(*own);
    }
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let shared = |home: &str| n_shared_folders(folder, home);
    let best = homes.keys().map(|home| shared(home)).max()?;
    let mut nearest = homes.iter().filter(|(home, _)| shared(home) == best);
    match (nearest.next(), nearest.next()) {
        (Some((_, home)), None) => Some(*home),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_name_goes_to_the_nearest_note_or_stays_unsure() {
        let homes: BTreeMap<String, i64> =
            [("a/readme.md".to_string(), 1), ("b/readme.md".to_string(), 2)].into_iter().collect();
        let rows = [
            ("a/readme.md", Some(1)),
            ("a/x.md", Some(1)),
            ("b/deep/er.md", Some(2)),
            ("c/x.md", None),
            ("x.md", None),
        ];
        for (path, home) in rows {
            assert_eq!(nearest_home(path, &homes), home, "{path}");
        }
    }
}
