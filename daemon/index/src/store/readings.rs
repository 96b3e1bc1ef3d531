//! Readings: how each document uses a name, for `link/split.rs` to compare.
//!
//! In: a norm. Out: a reading for each document that mentions it and does not use it for another name.
//! Invariant: a function of the documents' own rows: text, title, path, mentions, aliases.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::StoreError;
use super::positions::{Position, Positions};
use embed::Embedder;
use extract::link::resolve::NameFacts;
use extract::link::split::{Group, MAX_READINGS, Reading, groups_of};
use extract::recognize::defined_as;
use extract::recognize::lexicon::is_technology;
use model::document::{RecognizerKind, UnitVector};
use model::terms::{EntityType, Kind, tokens_of};

/// Mentions per document whose surroundings are read.
const MENTIONS_READ: usize = 3;

/// Bytes before and after a mention that are read as its context.
const AROUND_BYTES: usize = 200;

/// What the mentions of one document say about the name.
#[derive(Default)]
struct Voices {
    path: String,
    /// How often a form, a cue or the author states each kind.
    stated: BTreeMap<Kind, u32>,
    /// How often a statistical model guesses each kind.
    guessed: BTreeMap<Kind, u32>,
    /// How often each kind comes from what the name usually means, whatever this document means by it.
    by_name: BTreeMap<Kind, u32>,
    /// Kinds that definitions state.
    defined: BTreeSet<Kind>,
    /// End of the first defined mention.
    definition: Option<usize>,
    n_named: u32,
    n_common: u32,
    places: Vec<(usize, usize)>,
}

/// Returns the documents that mean different things by a name, in groups, and those that could mean any of them; both
/// empty if the name means one thing.
pub(super) fn groups(
    db: &Connection,
    embedder: &dyn Embedder,
    NameFacts { norm, surface, .. }: &NameFacts,
) -> Result<(Vec<Group>, Vec<i64>), StoreError> {
    let voices = voices(db, norm)?;
    let is_one_word = norm.chars().all(char::is_alphabetic);
    let n_defined = |kind| {
        let defines = |it: &&Voices| it.definition.is_some() && it.defined.contains(&kind);
        voices.values().filter(defines).count()
    };
    let n_natures = n_defined(Kind::Nature);
    let mut kinds: Vec<Option<Kind>> =
        voices.values().map(|it| it.kind(is_one_word, n_natures > 0).0).collect();
    kinds.sort();
    kinds.dedup();
    kinds.retain(Option::is_some);
    let folder =
        // Two people in one folder rarely share a given name; in different folders they may.
        |voices: &Voices| voices.path.split_once('/').map(|(folder, _)| folder.to_string());
    let has_folders =
        voices.values().any(|it| Some(folder(it)) != voices.values().next().map(folder));
    let is_given_name = is_one_word
        && (has_folders || n_defined(Kind::Person) > 1)
        && kinds.contains(&Some(Kind::Person))
        && tokens_of(surface).len() <= 1
        && !has_one_bearer(db, norm)?;
    // Without a contradiction no text needs to be read.
    if voices.len() > MAX_READINGS || kinds.len() < 2 && !is_given_name && n_natures < 2 {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut readings = Vec::with_capacity(voices.len());
    for (doc, voices) in voices {
        let around = surroundings(db, doc, &voices)?;
        // One call for both texts. A name without a definition has an empty noun, whose vector is zero.
        let mut vectors = embedder.embed(&[&around.words, &around.noun]).into_iter();
        let (Some(context), noun) = (vectors.next(), vectors.next()) else { continue };
        let (kind, is_guess) = voices.kind(is_one_word, n_natures > 0);
        let is_known = |vector: &UnitVector| vector.0.iter().any(|number| *number != 0);
        readings.push(Reading {
            doc,
            path: voices.path,
            kind,
            is_guess,
            context,
            definition: noun.filter(is_known),
            is_proper: around.is_proper,
        });
    }
    Ok(groups_of(&readings, is_given_name))
}

/// Returns whether all documents with an alias for this name agree on one target.
fn has_one_bearer(db: &Connection, norm: &str) -> Result<bool, StoreError> {
    let sql = "SELECT count(DISTINCT target) = 1 FROM aliases WHERE norm = ?1";
    Ok(db.prepare_cached(sql)?.query_row([norm], |row| row.get(0))?)
}

fn voices(db: &Connection, norm: &str) -> Result<BTreeMap<i64, Voices>, StoreError> {
    let mut statement = db.prepare_cached("SELECT doc_id FROM aliases WHERE norm = ?1")?;
    let have_alias: BTreeSet<i64> =
        statement.query_map([norm], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut path_of = db.prepare_cached("SELECT path FROM docs WHERE id = ?1")?;
    let mut statement = db.prepare_cached(
        "SELECT m.doc_id, m.positions FROM names n JOIN mentions m ON m.name_id = n.id WHERE n.norm = ?1
         ORDER BY m.doc_id",
    )?;
    let mut out: BTreeMap<i64, Voices> = BTreeMap::new();
    let mut rows = statement.query([norm])?;
    while let Some(row) = rows.next()? {
        let doc: i64 = row.get(0)?;
        if have_alias.contains(&doc) {
            continue;
        }
        // Too many to compare: `groups` gives up then, so the rest need not be read.
        if out.len() > MAX_READINGS {
            break;
        }
        let voices = out.entry(doc).or_default();
        if voices.path.is_empty() {
            voices.path = path_of.query_row([doc], |row| row.get(0))?;
        }
        let Positions(positions) = row.get(1)?;
        for it in positions {
            let end = it.at + it.surface.len();
            voices.add(&it);
            if it.features().is_defined && voices.definition.is_none() {
                voices.definition = Some(end);
            }
            if voices.places.len() < MENTIONS_READ {
                voices.places.push((it.at, end));
            }
        }
    }
    Ok(out)
}

impl Voices {
    fn add(&mut self, position: &Position) {
        let (place, surface) = (position.features(), position.surface.as_str());
        let entity_type = EntityType::from_code(position.type_code);
        // A word in code says nothing about what the prose means by it.
        if place.in_code {
            return;
        }
        let is_common = surface.chars().next().is_some_and(char::is_lowercase)
            && surface.chars().all(|c| c.is_lowercase() || c == ' ');
        if place.is_defined {
            let nature = (entity_type == EntityType::Concept).then_some(Kind::Nature);
            self.defined.extend(Kind::of(entity_type).or(nature));
        }
        self.n_common += u32::from(is_common);
        self.n_named += u32::from(!is_common);
        // The gazetteer's type is decided by the whole folder, not by this document.
        let is_own = position.recognizer != RecognizerKind::Gazetteer as i64 && !is_common;
        let is_by_name =
            entity_type == EntityType::Technology && is_technology(&surface.to_lowercase());
        let kinds = match place.is_type_guessed {
            true => &mut self.guessed,
            false if is_by_name => &mut self.by_name,
            false => &mut self.stated,
        };
        if let Some(kind) = Kind::of(entity_type).filter(|_| is_own) {
            *kinds.entry(kind).or_default() += 1;
        }
    }

    /// Returns the kind that the document states more often than any other, and whether that is only a guess.
    /// `is_of_nature`: some document defines the name as an animal, a plant or similar, so the name's usual meaning
    /// proves nothing.
    fn kind(&self, is_one_word: bool, is_of_nature: bool) -> (Option<Kind>, bool) {
        // A definition outweighs the form of a name.
        match self.defined.first() {
            Some(kind) if self.defined.len() == 1 => return (Some(*kind), false),
            Some(_) => return (None, false),
            None => {}
        }
        // Only lower case: a common noun, not a name. Of a phrase that cannot be said.
        if self.n_named == 0 && self.n_common > 0 {
            return (is_one_word.then_some(Kind::Common), false);
        }
        let (kinds, is_guess) = match (self.stated.is_empty(), self.by_name.is_empty()) {
            (false, _) => (&self.stated, false),
            (true, false) if is_of_nature => return (None, true),
            (true, false) => (&self.by_name, false),
            (true, true) => (&self.guessed, true),
        };
        // A tie decides nothing.
        let most = kinds.values().max();
        let mut best = kinds.iter().filter(|(_, n)| Some(*n) == most);
        match (best.next(), best.next()) {
            (Some((kind, _)), None) => (Some(*kind), is_guess),
            _ => (None, is_guess),
        }
    }
}

/// The surroundings of a document's mentions.
struct Surroundings {
    /// Its title and the words on both sides of each mention.
    words: String,
    /// The noun that defines the name; empty without a definition.
    noun: String,
    /// True when it is capitalized other than at the start of a sentence or line.
    is_proper: bool,
}

fn surroundings(db: &Connection, doc: i64, voices: &Voices) -> Result<Surroundings, StoreError> {
    let (title, text): (String, String) = db
        .prepare_cached("SELECT title, text FROM docs WHERE id = ?1")?
        .query_row([doc], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut words = title;
    let mut is_proper = false;
    for (start, end) in &voices.places {
        let from = text.floor_char_boundary(start.saturating_sub(AROUND_BYTES));
        let to = text.floor_char_boundary((end + AROUND_BYTES).min(text.len()));
        for part in [text.get(from..*start), text.get(*end..to)].into_iter().flatten() {
            words.push(' ');
            words.push_str(part);
        }
        is_proper |= is_written_large_within(&text, *start);
    }
    let defined = voices.definition.and_then(|end| defined_as(text.get(end..)?));
    Ok(Surroundings { words, noun: defined.unwrap_or_default().to_string(), is_proper })
}

/// Returns whether a capital at `start` follows a word of the same sentence.
fn is_written_large_within(text: &str, start: usize) -> bool {
    let before = text.get(..start).unwrap_or("").trim_end_matches(' ');
    let is_after_word = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, ',' | ';'));
    let article = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    // `The Python is a snake.` starts the sentence with the word all the same; `a Python` proves nothing either.
    let is_article = matches!(article, "The" | "A" | "An" | "the" | "a" | "an");
    is_after_word
        && !is_article
        && text.get(start..).is_some_and(|rest| rest.starts_with(char::is_uppercase))
}
