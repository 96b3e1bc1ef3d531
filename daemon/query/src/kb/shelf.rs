//! Shelf: the entries of one commit, as their notes state them, and the graph between them.
//!
//! In: the rows of notes, and what a model read in them. Out: [`Shelf`], in memory, the same for the same rows.
//! Invariants: a note is an entry when its front matter has an id such as `kb-00042`, or when it is in the folder of
//! entries and its name begins with one; of several notes with one id the one with the id in its name counts, then the
//! first by path, and the others are reported; relations that a model read hold only for the text that it read.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use notes::entry::{Entry, id_text, number_of, of, references};
use proto::tool::kb::EntryType;
use serde_json::{Map, Value};

use super::decay;
use super::graph::Graph;
use crate::AskError;
use index::store::{Enriched, KbLedger, Snapshot};
use model::terms::{ContentHash, Tick};

/// Longest quotation of an invalid value, characters.
const MAX_QUOTED: usize = 60;

/// An entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRow {
    /// Row of its document.
    pub doc: i64,
    /// Its number.
    pub number: u64,
    /// Path of its note.
    pub path: String,
    /// Its short title: the stated one, else the name of its file.
    pub title: String,
    /// Its type; a fact where the note has an unknown one.
    pub entry_type: EntryType,
    /// The confidence in its note.
    pub confidence: f64,
    /// Its front matter.
    pub entry: Entry,
    /// Entries that its text mentions.
    pub references: Vec<u64>,
    /// When its file was modified, milliseconds since 1970.
    pub modified_ms: i64,
    /// Hash of the bytes of its file.
    pub hash: [u8; 16],
    /// Hash of its title and text.
    pub text_hash: [u8; 16],
    /// When it was created and changed by its front matter; milliseconds since 1970.
    pub stated_ms: (Option<i64>, Option<i64>),
    /// Invalid values in it and what counts instead, in words.
    pub doubts: Vec<String>,
}

/// Lists the invalid values of an entry, and what counts instead.
fn doubts(number: u64, entry: &Entry) -> Vec<String> {
    let mut doubts = Vec::new();
    let short = |text: &str| -> String {
        text.chars().filter(|c| !c.is_control()).take(MAX_QUOTED).collect()
    };
    let wrong_type = entry.entry_type.iter().filter(|it| EntryType::parse(it).is_none());
    let wrong_type = wrong_type.map(|it| ("entry_type", it));
    let dates = [("created", &entry.created), ("updated", &entry.updated)];
    let dates = dates.into_iter().filter_map(|(key, text)| Some((key, text.as_ref()?)));
    let wrong_dates = dates.filter(|(_, text)| time_of(Some(text)).is_none());
    let odd = entry.odd.iter().map(|(key, text)| (*key, text));
    for (key, text) in wrong_type.chain(odd).chain(wrong_dates) {
        let counts = match key {
            "entry_type" => {
                format!("is not one of the four types; read as `{}`", EntryType::default().as_str())
            }
            "confidence" => format!("is not a number from 0 to 1; read as {}", decay::USUAL),
            "active" => "is neither `true` nor `false`; read as `true`".to_string(),
            "hints" => "must be a mapping; ignored".to_string(),
            "supersedes" | "superseded_by" => {
                "must be ids such as `kb-00042`; others are ignored".to_string()
            }
            _ => "is not a date or time; ignored".to_string(),
        };
        doubts.push(format!("`{key}: {}` {counts}", short(text)));
    }
    let own = [("supersedes", &entry.supersedes), ("superseded_by", &entry.superseded_by)];
    for (key, _) in own.into_iter().filter(|(_, others)| others.contains(&number)) {
        doubts.push(format!("`{key}` names the entry itself; ignored"));
    }
    doubts
}

/// Parses a time or a day (its beginning, in UTC) of front matter, in milliseconds since 1970.
fn time_of(text: Option<&str>) -> Option<i64> {
    let text = text?.trim();
    let utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|it| it.timestamp());
    let time = text.parse::<Timestamp>().ok();
    let time = time.or_else(|| text.parse::<DateTime>().ok().and_then(utc));
    time.map(Timestamp::as_millisecond)
}

/// Every entry of one commit.
#[derive(Debug, Default)]
pub struct Shelf {
    entries: BTreeMap<u64, EntryRow>,
    by_doc: HashMap<i64, u64>,
    others: BTreeMap<u64, Vec<String>>,
    enriched: HashMap<u64, Enriched>,
    /// How they are related.
    pub graph: Graph,
}

impl Shelf {
    fn read(
        snapshot: &Snapshot,
        folder: &str,
        enriched: HashMap<u64, Enriched>,
    ) -> Result<Shelf, AskError> {
        let folder = format!("{}/{}", folder.trim_matches('/'), "kb-");
        let mut statement = snapshot.prepare_cached(
            "SELECT d.id, d.path, d.title, d.mtime_ms, d.hash, n.metadata, d.text
             FROM notes n JOIN docs d ON d.id = n.doc_id
             WHERE n.metadata LIKE '%\"id\"%kb-%' OR substr(lower(d.path), 1, length(?1)) = lower(?1) ORDER BY d.path",
        )?;
        let mut rows = statement.query([&folder])?;
        let mut shelf = Shelf { enriched, ..Shelf::default() };
        while let Some(row) = rows.next()? {
            let metadata: String = row.get(5)?;
            let metadata: Map<String, Value> = serde_json::from_str(&metadata).unwrap_or_default();
            let path: String = row.get(1)?;
            let mut entry = of(&metadata);
            let in_folder =
                path.get(..folder.len()).is_some_and(|it| it.eq_ignore_ascii_case(&folder));
            let named = if in_folder { number_of(&path) } else { None };
            let Some(number) = entry.id.or(named) else { continue };
            let doubts = doubts(number, &entry);
            for others in [&mut entry.supersedes, &mut entry.superseded_by] {
                others.retain(|it| *it != number);
            }
            let stated_ms = (time_of(entry.created.as_deref()), time_of(entry.updated.as_deref()));
            let text: String = row.get(6)?;
            let mut references = references(&text);
            references.retain(|it| *it != number);
            let title = entry.short_title.clone().unwrap_or(row.get(2)?);
            let text_hash = ContentHash::of(format!("{title}\n{text}").as_bytes()).0.to_le_bytes();
            shelf.add(EntryRow {
                doc: row.get(0)?,
                number,
                title,
                text_hash,
                entry_type: entry
                    .entry_type
                    .as_deref()
                    .and_then(EntryType::parse)
                    .unwrap_or_default(),
                confidence: entry.confidence.unwrap_or(decay::USUAL),
                references,
                modified_ms: row.get(3)?,
                hash: row.get(4)?,
                path,
                entry,
                stated_ms,
                doubts,
            });
        }
        shelf.by_doc = shelf.entries.values().map(|row| (row.doc, row.number)).collect();
        shelf.graph = Graph::of(&shelf);
        shelf.doubt_circles();
        Ok(shelf)
    }

    /// Adds a doubt to entries that supersede each other in a circle.
    fn doubt_circles(&mut self) {
        for circle in self.graph.circles() {
            for number in &circle {
                let others = circle.iter().filter(|it| *it != number).map(|it| id_text(*it));
                let others = others.collect::<Vec<_>>().join(", ");
                let Some(row) = self.entries.get_mut(number) else { continue };
                row.doubts.push(format!(
                    "it supersedes and is superseded by {others}: each counts as superseded"
                ));
            }
        }
    }

    fn add(&mut self, row: EntryRow) {
        let says_it = |row: &EntryRow| number_of(&row.path) == Some(row.number);
        let Some(known) = self.entries.get(&row.number) else {
            self.entries.insert(row.number, row);
            return;
        };
        let is_better = says_it(&row) && !says_it(known);
        let other = if is_better { known.path.clone() } else { row.path.clone() };
        self.others.entry(row.number).or_default().push(other);
        if is_better {
            self.entries.insert(row.number, row);
        }
    }

    /// Returns the invalid values of all notes: `kb/a.md: …`.
    pub fn doubts(&self) -> Vec<String> {
        let of_row = |row: &EntryRow| -> Vec<String> {
            row.doubts.iter().map(|doubt| format!("{}: {doubt}", row.path)).collect()
        };
        self.entries().flat_map(of_row).collect()
    }

    /// Every entry, by number.
    pub fn entries(&self) -> impl Iterator<Item = &EntryRow> {
        self.entries.values()
    }

    /// The entry of that number.
    pub fn get(&self, number: u64) -> Option<&EntryRow> {
        self.entries.get(&number)
    }

    /// The entry of a node; `None` for other nodes.
    pub fn of_node(&self, node: &str) -> Option<&EntryRow> {
        if node.contains(':') { None } else { number_of(node).and_then(|it| self.get(it)) }
    }

    /// The entry of a document.
    pub fn of_doc(&self, doc: i64) -> Option<&EntryRow> {
        self.by_doc.get(&doc).and_then(|number| self.get(*number))
    }

    /// Paths of other notes with the same id.
    pub fn others_of(&self, number: u64) -> &[String] {
        self.others.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Notes whose id another note has.
    pub fn duplicates(&self) -> Vec<String> {
        let of_number = |(number, paths): (&u64, &Vec<String>)| {
            let owner = self.get(*number).map_or("", |row| row.path.as_str()).to_string();
            let id = id_text(*number);
            paths.iter().map(move |path| format!("{path} ({id} is {owner})")).collect::<Vec<_>>()
        };
        self.others.iter().flat_map(of_number).collect()
    }

    /// The relations that a model read in an entry in its present form.
    pub fn read_in(&self, row: &EntryRow) -> &[(String, String)] {
        self.reading(row).map_or(&[], |it| it.relations.as_slice())
    }

    /// The reading of a model of an entry in its present form.
    pub fn reading(&self, row: &EntryRow) -> Option<&Enriched> {
        self.enriched.get(&row.number).filter(|it| it.hash == row.text_hash)
    }

    /// Active entries that no model has read in their present form.
    pub fn unread(&self) -> impl Iterator<Item = &EntryRow> {
        let is_read = |row: &EntryRow| self.reading(row).is_some_and(|it| !it.is_due);
        self.entries().filter(move |row| row.entry.is_active && !is_read(row))
    }

    /// Adds a reading of a model.
    #[cfg(test)]
    pub(super) fn put_reading(&mut self, reading: Enriched) {
        self.enriched.insert(reading.entry, reading);
        self.graph = Graph::of(self);
    }

    /// Adds an entry with its relations.
    #[cfg(test)]
    pub(super) fn put(&mut self, number: u64, entry: Entry, references: Vec<u64>) {
        self.add(EntryRow {
            doc: number as i64,
            number,
            path: format!("kb/{}.md", id_text(number)),
            title: entry.short_title.clone().unwrap_or_default(),
            entry_type: entry.entry_type.as_deref().and_then(EntryType::parse).unwrap_or_default(),
            confidence: entry.confidence.unwrap_or(decay::USUAL),
            entry,
            references,
            modified_ms: 0,
            hash: [0; 16],
            text_hash: [0; 16],
            stated_ms: (None, None),
            doubts: vec![],
        });
        self.graph = Graph::of(self);
    }

    /// The greatest number.
    pub fn last_number(&self) -> u64 {
        self.entries.keys().next_back().copied().unwrap_or(0)
    }
}

/// A commit, and the number of readings until then.
type Moment = (Tick, u64);

/// The shelf of the last commit and readings that were asked for.
pub struct Shelves {
    state_dir: PathBuf,
    n_readings: AtomicU64,
    last: Mutex<Option<(Moment, Arc<Shelf>)>>,
}

impl Shelves {
    /// For the project with a folder of state.
    pub fn new(state_dir: &Path) -> Self {
        let (n_readings, last) = (AtomicU64::new(0), Mutex::new(None));
        Shelves { state_dir: state_dir.to_path_buf(), n_readings, last }
    }

    /// Invalidates the shelf after a new reading, or when one was forgotten.
    pub fn read_anew(&self) {
        self.n_readings.fetch_add(1, Ordering::AcqRel);
    }

    /// The shelf of a snapshot.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub fn at(&self, snapshot: &Snapshot, folder: &str) -> Result<Arc<Shelf>, AskError> {
        // Before the ledger is read: a reading in between then causes another read.
        let key = (snapshot.tick(), self.n_readings.load(Ordering::Acquire));
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((of, shelf)) = last
            && of == key
        {
            return Ok(shelf);
        }
        // Not under the lock: a caller who waits for it would block a reader of the index.
        let enriched = KbLedger::open(&self.state_dir)?.enriched()?;
        let shelf = Arc::new(Shelf::read(snapshot, folder, enriched)?);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, shelf.clone()));
        Ok(shelf)
    }
}
