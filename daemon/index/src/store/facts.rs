//! Facts: what all mentions and statements of a name say together.
//!
//! In: rows of names. Out: facts for Resolve. Invariant: gathered by counting rows, never by a running total, so the
//! result does not depend on history.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Row, params};
use rustc_hash::FxHashMap;

use super::StoreError;
use super::positions::{Position, Positions};
use extract::link::resolve::NameFacts;
use extract::link::vote::{Ground, Votes};
use model::document::{RecognizerKind, StatedSource};
use model::terms::{EntityType, Kind};

/// The facts of one name, and the number of its mentions.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gathered {
    pub facts: NameFacts,
    pub n_mentions: u32,
    /// True when its mentions may mean several things, so that their surroundings are worth comparing.
    pub may_be_split: bool,
}

/// `mentions.recognizer` of a wikilink.
const STATED: i64 = RecognizerKind::Stated as i64;

#[derive(Default)]
struct Tally {
    surfaces: BTreeMap<String, u32>,
    types: Votes,
    n_mentions: u32,
    n_docs: u32,
    is_fuzzy: bool,
    n_in_code: u32,
    /// The user's table lists this as the name of an entity.
    is_given: bool,
    /// A sentence defines what kind of thing it is.
    is_defined: bool,
    /// A link leads by it.
    is_linked: bool,
    stated: Vec<(StatedSource, i64, bool)>,
    kinds: BTreeSet<Kind>,
    is_written_large: bool,
    is_written_small: bool,
}

/// Gathers the facts of the names with these sense-0 rows. A name without mentions and statements is left out.
pub(super) fn gather(db: &Connection, ids: &[i64]) -> Result<Vec<Gathered>, StoreError> {
    let mut tallies: FxHashMap<i64, Tally> = FxHashMap::default();
    let mut norms: FxHashMap<i64, String> = FxHashMap::default();
    let mut senses: FxHashMap<i64, i64> = FxHashMap::default();
    let mut norm_of = db.prepare_cached("SELECT norm FROM names WHERE id = ?1 AND sense = 0")?;
    let mut senses_of = db.prepare_cached("SELECT id FROM names WHERE norm = ?1 AND sense <> 0")?;
    for id in ids {
        let norm: Option<String> = norm_of.query_row([id], |row| row.get(0)).optional()?;
        let Some(norm) = norm else { continue };
        for sense in senses_of.query_map([&norm], |row| row.get(0))? {
            senses.insert(sense?, *id);
        }
        norms.insert(*id, norm);
        tallies.insert(*id, Tally::default());
    }
    // All senses of a name count together: its senses are decided again from these facts.
    count_mentions(db, &senses, &mut tallies)?;
    count_stated(db, &mut tallies)?;
    count_links(db, &senses, &mut tallies)?;
    let mut out: Vec<Gathered> = tallies
        .into_iter()
        .filter(|(_, tally)| tally.n_mentions > 0 || !tally.stated.is_empty())
        .filter_map(|(id, tally)| Some(tally.finish(id, norms.remove(&id)?)))
        .collect();
    out.sort_by(|a, b| a.facts.norm.cmp(&b.facts.norm));
    Ok(out)
}

/// Counts the mentions of each name by itself: the cost of a step must depend on the names it resolves, never on how
/// many mentions the whole index has.
fn count_mentions(
    db: &Connection,
    senses: &FxHashMap<i64, i64>,
    tallies: &mut FxHashMap<i64, Tally>,
) -> Result<(), StoreError> {
    // The senses of one name are read one after another, yet a document is counted once: it uses one sense of a name
    // only.
    let rows_of: Vec<(i64, i64)> = tallies
        .keys()
        .map(|id| (*id, *id))
        .chain(senses.iter().map(|(sense, id)| (*sense, *id)))
        .collect();
    for (row_id, name) in rows_of {
        let Some(tally) = tallies.get_mut(&name) else { continue };
        tally.count(db, row_id)?;
    }
    Ok(())
}

fn count_stated(db: &Connection, tallies: &mut FxHashMap<i64, Tally>) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT s.source, s.doc_id, d.is_note, s.surface FROM stated s JOIN docs d ON d.id = s.doc_id
         WHERE s.name_id = ?1 ORDER BY d.path",
    )?;
    for (id, tally) in tallies.iter_mut() {
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            let source = StatedSource::from_code(row.get(0)?);
            tally.stated.push((source, row.get(1)?, row.get(2)?));
            tally.is_fuzzy = true;
            *tally.surfaces.entry(row.get(3)?).or_default() += 1;
        }
    }
    Ok(())
}

/// A name that nobody states is that of the documents to which the wikilinks lead that are written so: by the name of a
/// file, a heading, a permalink.
fn count_links(
    db: &Connection,
    senses: &FxHashMap<i64, i64>,
    tallies: &mut FxHashMap<i64, Tally>,
) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT l.dst, d.is_note FROM mentions m JOIN json_each(m.positions) p
         JOIN note_links l ON l.doc_id = m.doc_id AND l.start <= p.value ->> 1 AND p.value ->> 2 <= l.end
         JOIN docs d ON d.id = l.dst
         WHERE m.name_id = ?1 AND p.value ->> 5 = ?2",
    )?;
    for (id, tally) in tallies.iter_mut().filter(|(_, it)| it.is_linked && it.stated.is_empty()) {
        let own = senses.iter().filter(|(_, name)| *name == id).map(|(sense, _)| sense);
        let mut homes = BTreeSet::new();
        for row_id in own.chain([id]) {
            let read = |row: &Row<'_>| Ok((StatedSource::Heading, row.get(0)?, row.get(1)?));
            for home in statement.query_map(params![row_id, STATED], read)? {
                homes.insert(home?);
            }
        }
        tally.stated.extend(homes);
    }
    Ok(())
}

impl Tally {
    /// Counts the mentions of a row of `names`.
    fn count(&mut self, db: &Connection, row_id: i64) -> Result<(), StoreError> {
        let mut statement =
            db.prepare_cached("SELECT positions FROM mentions WHERE name_id = ?1 ORDER BY doc_id")?;
        let mut rows = statement.query([row_id])?;
        while let Some(row) = rows.next()? {
            self.n_docs += 1;
            let Positions(positions) = row.get(0)?;
            positions.into_iter().for_each(|it| self.add(it));
        }
        Ok(())
    }

    fn add(&mut self, position: Position) {
        let place = position.features();
        let Position { type_code, recognizer, surface, .. } = position;
        self.n_mentions += 1;
        let entity_type = EntityType::from_code(type_code);
        self.kinds.extend(Kind::of(entity_type));
        let is_small = surface.chars().next().is_some_and(char::is_lowercase);
        self.is_written_small |= is_small;
        self.is_written_large |= !is_small;
        // The most specific reason for the type wins.
        self.types.name(place.naming);
        let ground = match place {
            _ if place.is_defined => Ground::Definition,
            _ if place.certainty != 0 => Ground::Judgement(place.certainty),
            _ if place.is_type_guessed => Ground::Guess,
            _ => Ground::Statement,
        };
        self.types.add(entity_type, ground, &surface);
        self.is_given |= place.is_entity_given;
        self.is_defined |= place.is_defined;
        // Exact names are never merged with similar ones: `v1.2` and `v1.3` differ in one letter.
        let is_exact_kind = matches!(
            entity_type,
            EntityType::Version
                | EntityType::Date
                | EntityType::Identifier
                | EntityType::Standard
                | EntityType::Event
                | EntityType::Step
        );
        const PATTERN: i64 = RecognizerKind::Pattern as i64;
        self.is_linked |= recognizer == STATED;
        self.n_in_code += u32::from(place.in_code);
        self.is_fuzzy |= !(is_exact_kind || (recognizer == PATTERN && place.in_code));
        *self.surfaces.entry(surface).or_default() += 1;
    }

    fn finish(self, id: i64, norm: String) -> Gathered {
        // The visible text of a wikilink may be any words: prefer surfaces that are the name itself.
        let own = |surface: &str| model::terms::norm_of(surface) == norm;
        let surface = self
            .surfaces
            .iter()
            .max_by(|a, b| (own(a.0), a.1).cmp(&(own(b.0), b.1)).then_with(|| b.0.cmp(a.0)))
            .map(|(surface, _)| surface.clone())
            .unwrap_or_default();
        // The strongest statement of a note counts; other documents count only if no note states the name. These are
        // what their title denotes, so their title has no home.
        let note = self.stated.iter().filter(|(_, _, is_note)| *is_note).map(|s| s.0).min();
        let best = note.or_else(|| self.stated.iter().map(|s| s.0).min());
        let is_title = note.is_none() && best == Some(StatedSource::Title);
        let homes: Vec<i64> = self
            .stated
            .iter()
            .filter(|(source, _, is_note)| *is_note == note.is_some() && Some(*source) == best)
            .filter(|_| !is_title)
            .map(|(_, doc, _)| *doc)
            .collect();
        let has_doubt = self.kinds.len() > 1
            || self.kinds.contains(&Kind::Person)
            || self.is_defined
            || (self.is_written_small && self.is_written_large);
        // A name that a note states keeps its home, except for documents that define another thing by it.
        let is_open = self.stated.is_empty() || self.is_defined && homes.len() == 1;
        let (entity_type, is_type_sure) = self.types.winner();
        Gathered {
            may_be_split: has_doubt && self.n_docs > 1 && is_open && !self.is_given,
            n_mentions: self.n_mentions,
            facts: NameFacts {
                id,
                surface,
                entity_type,
                is_type_sure,
                names_a_thing: !self.stated.is_empty()
                    || self.is_given
                    || self.types.names_a_thing(),
                n_docs: self.n_docs,
                homes,
                home_source: best,
                // What is mostly written in code font is meant exactly: `bearer_token` is no bearer token.
                is_fuzzy: self.is_fuzzy
                    && self.n_in_code * 2 <= self.n_mentions
                    && (!self.is_given || best.is_some()),
                is_split: false,
                norm,
            },
        }
    }
}

/// Returns the facts of the mentions on one row.
pub(super) fn of_row(db: &Connection, row_id: i64) -> Result<NameFacts, StoreError> {
    let mut tally = Tally::default();
    tally.count(db, row_id)?;
    let norm: String = db
        .prepare_cached("SELECT norm FROM names WHERE id = ?1")?
        .query_row([row_id], |row| row.get(0))?;
    Ok(tally.finish(row_id, norm).facts)
}

/// The columns of stored facts.
const STORED: &str =
    "SELECT id, norm, surface, type, n_docs, homes, home_source, is_fuzzy, is_split FROM names
     WHERE sense = 0";

fn read_stored(row: &Row<'_>) -> rusqlite::Result<NameFacts> {
    let homes: Option<String> = row.get(5)?;
    let source: Option<i64> = row.get(6)?;
    let type_code: i64 = row.get(3)?;
    Ok(NameFacts {
        id: row.get(0)?,
        norm: row.get(1)?,
        surface: row.get(2)?,
        entity_type: EntityType::from_code(type_code),
        is_type_sure: type_code >= 0,
        names_a_thing: EntityType::is_named(type_code),
        n_docs: row.get(4)?,
        homes: decode_homes(homes.as_deref()),
        home_source: source.map(StatedSource::from_code),
        is_fuzzy: row.get(7)?,
        is_split: row.get(8)?,
    })
}

/// Returns the facts as stored on the name's row when they were last gathered.
pub(super) fn stored(db: &Connection, id: i64) -> Result<Option<NameFacts>, StoreError> {
    let mut statement = db.prepare_cached(&format!("{STORED} AND id = ?1"))?;
    Ok(statement.query_row([id], read_stored).optional()?)
}

/// Returns the stored facts of all names.
pub(super) fn all(db: &Connection) -> Result<Vec<NameFacts>, StoreError> {
    let mut statement = db.prepare(STORED)?;
    Ok(statement.query_map([], read_stored)?.collect::<Result<_, _>>()?)
}

/// Parses document ids as stored, separated by commas.
pub(super) fn decode_homes(text: Option<&str>) -> Vec<i64> {
    text.unwrap_or_default().split(',').filter_map(|id| id.parse().ok()).collect()
}

pub(super) fn encode_homes(homes: &[i64]) -> Option<String> {
    (!homes.is_empty()).then(|| homes.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
}
