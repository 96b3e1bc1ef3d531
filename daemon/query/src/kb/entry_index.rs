//! EntryIndex: the entries of one commit, as their notes state them, and the graph between them.
//!
//! In: the rows of notes, and what a model read in them. Out: [`EntryIndex`], in memory, the same for
//! the same rows, whether they were read at once or one by one.
//! Invariants: a note is an entry if its front matter has an id such as `kb-00042`, or if it is in
//! the folder of entries and its name starts with one; of several notes with one id the one with
//! the id in its name wins, then the first by path, and the others are reported; relations that a
//! model read are valid only for the text that it read.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use notes::entry::{Entry, id_text, number_of, of, references};
use notes::resolve::fold;
use proto::tool::kb::EntryType;
use serde_json::{Map, Value};

use super::decay;
use super::graph::{Graph, name_key};
use crate::AskError;
use crate::quote::claim::Claim;
use index::read::EntryNote;
use index::store::{Enriched, Snapshot};
use model::terms::ContentHash;

/// Longest quotation of an invalid value, characters.
const MAX_QUOTED: usize = 60;

/// An entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryRow {
    /// Row id of its document.
    pub doc: i64,
    /// Its number.
    pub number: u64,
    /// Path of its note.
    pub path: String,
    /// Its short title: the stated one, else its file name.
    pub title: String,
    /// Its type; a fact if the note has an unknown one.
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
    /// Hash of its text without the title, see [`EntryIndex::with_body`].
    pub body_hash: [u8; 16],
    /// Creation and change as its front matter states them, milliseconds since 1970.
    pub stated_ms: (Option<i64>, Option<i64>),
    /// Invalid values and their replacements, in words.
    pub doubts: Vec<String>,
}

/// Describes the invalid values of an entry and their replacements.
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

/// Parses a time of front matter, or a day (its start, in local time), as milliseconds since 1970.
fn time_of(text: Option<&str>) -> Option<i64> {
    let text = text?.trim();
    let local = |time: DateTime| time.to_zoned(TimeZone::system()).ok().map(|it| it.timestamp());
    let time = text.parse::<Timestamp>().ok();
    let time = time.or_else(|| text.parse::<DateTime>().ok().and_then(local));
    time.map(Timestamp::as_millisecond)
}

/// Reads a note as an entry; `None` if it is not one.
fn entry_of(note: EntryNote, folder: &str) -> Option<EntryRow> {
    let EntryNote { doc, path, title, mtime_ms, hash, metadata, text } = note;
    let metadata: Map<String, Value> = serde_json::from_str(&metadata).unwrap_or_default();
    let mut entry = of(&metadata);
    let in_folder = fold(&path).starts_with(&fold(folder));
    let named = if in_folder { number_of(&path) } else { None };
    let number = entry.id.or(named)?;
    let doubts = doubts(number, &entry);
    for others in [&mut entry.supersedes, &mut entry.superseded_by] {
        others.retain(|it| *it != number);
    }
    let mut references = references(&text);
    references.retain(|it| *it != number);
    let title = entry.short_title.clone().unwrap_or(title);
    Some(EntryRow {
        doc,
        number,
        text_hash: ContentHash::of(format!("{title}\n{text}").as_bytes()).0.to_le_bytes(),
        // The first block is the heading.
        body_hash: hash_of_body(text.split_once("\n\n").map_or(&text, |(_, body)| body)),
        title,
        entry_type: entry.entry_type.as_deref().and_then(EntryType::parse).unwrap_or_default(),
        confidence: entry.confidence.unwrap_or(decay::USUAL),
        references,
        modified_ms: mtime_ms,
        hash,
        path,
        stated_ms: (time_of(entry.created.as_deref()), time_of(entry.updated.as_deref())),
        entry,
        doubts,
    })
}

/// Every entry of one commit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntryIndex {
    /// The notes of each number, never empty; the first one is the entry.
    notes: BTreeMap<u64, Vec<Arc<EntryRow>>>,
    /// The number of each note, including notes that lost to another with the same number.
    by_doc: HashMap<i64, u64>,
    /// Active entries, by the words of their titles.
    by_title: HashMap<String, BTreeSet<u64>>,
    /// The same, by the hash of their texts.
    by_body: HashMap<[u8; 16], BTreeSet<u64>>,
    enriched: Arc<HashMap<u64, Enriched>>,
    /// Their relations.
    pub graph: Graph,
}

impl EntryIndex {
    /// Reads all entries of a snapshot.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(super) fn read(
        snapshot: &Snapshot,
        folder: &str,
        enriched: HashMap<u64, Enriched>,
    ) -> Result<EntryIndex, AskError> {
        let folder = prefix(folder);
        let mut entry_index = EntryIndex { enriched: Arc::new(enriched), ..EntryIndex::default() };
        let put = |note| entry_of(note, &folder).into_iter().for_each(|it| entry_index.put(it));
        snapshot.entries().each(&folder, put)?;
        Ok(entry_index)
    }

    /// Reads these documents again, from a later snapshot.
    ///
    /// # Errors
    /// When the index cannot be read; the entry index matches no commit then.
    pub(super) fn follow(
        &mut self,
        snapshot: &Snapshot,
        folder: &str,
        docs: &[i64],
    ) -> Result<(), AskError> {
        let folder = prefix(folder);
        for doc in docs {
            self.take(*doc);
            let note = snapshot.entries().of(*doc, &folder)?;
            note.and_then(|it| entry_of(it, &folder)).into_iter().for_each(|it| self.put(it));
        }
        Ok(())
    }

    /// Adds a note.
    pub(super) fn put(&mut self, row: EntryRow) {
        let number = row.number;
        self.by_doc.insert(row.doc, number);
        self.change(number, |notes| {
            let rank = |row: &EntryRow| (number_of(&row.path) != Some(number), row.path.clone());
            let at = notes.partition_point(|it| rank(it) < rank(&row));
            notes.insert(at, Arc::new(row));
        });
    }

    /// Removes a note, if it is there.
    fn take(&mut self, doc: i64) {
        if let Some(number) = self.by_doc.remove(&doc) {
            self.change(number, |notes| notes.retain(|it| it.doc != doc));
        }
    }

    /// Changes the notes of a number, and updates everything derived from the first one if that
    /// changed.
    fn change(&mut self, number: u64, change: impl FnOnce(&mut Vec<Arc<EntryRow>>)) {
        let mut notes = self.notes.remove(&number).unwrap_or_default();
        let before = notes.first().cloned();
        change(&mut notes);
        let after = notes.first().cloned();
        if !notes.is_empty() {
            self.notes.insert(number, notes);
        }
        if before == after {
            return;
        }
        let enriched = self.enriched.clone();
        let read = |row: &EntryRow| reading(&enriched, row).map_or(&[][..], |it| &it.relations);
        if let Some(row) = before {
            self.graph.remove(&row, read(&row));
            drop_number(&mut self.by_title, &name_key(&row.title), number);
            drop_number(&mut self.by_body, &row.body_hash, number);
        }
        if let Some(row) = after {
            self.graph.add(&row, read(&row));
            if row.entry.is_active {
                self.by_title.entry(name_key(&row.title)).or_default().insert(number);
                self.by_body.entry(row.body_hash).or_default().insert(number);
            }
        }
    }

    /// Returns the problems of an entry: its invalid values, and whether it is in a cycle of
    /// supersession.
    pub fn doubts_of(&self, row: &EntryRow) -> Vec<String> {
        let mut doubts = row.doubts.clone();
        let circle = self.graph.circle(row.number);
        if !circle.is_empty() {
            let others: Vec<String> = circle.into_iter().map(id_text).collect();
            doubts.push(format!(
                "it supersedes and is superseded by {}: each counts as superseded",
                others.join(", ")
            ));
        }
        doubts
    }

    /// Returns the invalid values of all notes: `kb/a.md: …`.
    pub fn doubts(&self) -> Vec<String> {
        let of_row = |row: &EntryRow| -> Vec<String> {
            self.doubts_of(row).iter().map(|doubt| format!("{}: {doubt}", row.path)).collect()
        };
        self.entries().flat_map(of_row).collect()
    }

    /// Returns every entry, by number.
    pub fn entries(&self) -> impl Iterator<Item = &EntryRow> {
        self.notes.values().filter_map(|notes| notes.first()).map(|row| &**row)
    }

    /// Returns the entry with a number.
    pub fn get(&self, number: u64) -> Option<&EntryRow> {
        self.notes.get(&number).and_then(|notes| notes.first()).map(|row| &**row)
    }

    /// Returns the first active entry whose title has these words.
    pub(super) fn titled(&self, key: &str) -> Option<&EntryRow> {
        self.by_title.get(key)?.first().and_then(|number| self.get(*number))
    }

    /// Returns the first active entry with exactly this text, apart from its title.
    pub fn with_body(&self, text: &str) -> Option<&EntryRow> {
        self.by_body.get(&hash_of_body(text))?.first().and_then(|number| self.get(*number))
    }

    /// Returns the entry of a node; `None` for other nodes.
    pub fn of_node(&self, node: &str) -> Option<&EntryRow> {
        if node.contains(':') { None } else { number_of(node).and_then(|it| self.get(it)) }
    }

    /// Returns the entry of a document.
    pub fn of_doc(&self, doc: i64) -> Option<&EntryRow> {
        self.by_doc.get(&doc).and_then(|number| self.get(*number)).filter(|row| row.doc == doc)
    }

    /// Returns the paths of other notes with the same id.
    pub fn others_of(&self, number: u64) -> Vec<&str> {
        let others = self.notes.get(&number).into_iter().flatten().skip(1);
        let mut paths: Vec<&str> = others.map(|row| row.path.as_str()).collect();
        paths.sort_unstable();
        paths
    }

    /// Lists the notes whose id belongs to another note.
    pub fn duplicates(&self) -> Vec<String> {
        let of_row = |row: &EntryRow| {
            let (owner, id) = (row.path.clone(), id_text(row.number));
            let others = self.others_of(row.number).into_iter();
            others.map(|path| format!("{path} ({id} is {owner})")).collect::<Vec<_>>()
        };
        self.entries().flat_map(of_row).collect()
    }

    /// Returns what a model read in an entry, if the entry has not changed since.
    pub fn reading(&self, row: &EntryRow) -> Option<&Enriched> {
        reading(&self.enriched, row)
    }

    /// Returns the active entries that no model has read in their current form.
    pub fn unread(&self) -> impl Iterator<Item = &EntryRow> {
        let is_read = |row: &EntryRow| self.reading(row).is_some_and(|it| !it.is_due);
        self.entries().filter(move |row| row.entry.is_active && !is_read(row))
    }

    /// Adds what a model read.
    #[cfg(test)]
    pub(super) fn put_reading(&mut self, reading: Enriched) {
        let rows: Vec<EntryRow> = self.entries().cloned().collect();
        rows.iter().for_each(|row| self.take(row.doc));
        Arc::make_mut(&mut self.enriched).insert(reading.entry, reading);
        rows.into_iter().for_each(|row| self.put(row));
    }

    /// Adds an entry with its relations.
    #[cfg(test)]
    pub(super) fn put_entry(&mut self, number: u64, entry: Entry, references: Vec<u64>) {
        self.put(EntryRow {
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
            body_hash: [number as u8 % 4; 16],
            stated_ms: (None, None),
            doubts: vec![],
        });
    }

    /// Returns the greatest number.
    pub fn last_number(&self) -> u64 {
        self.notes.keys().next_back().copied().unwrap_or(0)
    }
}

/// Hashes what a text says: a single line by its words, several lines exactly but for whitespace;
/// see [`Claim::key`].
fn hash_of_body(text: &str) -> [u8; 16] {
    ContentHash::of(Claim::key(text).as_bytes()).0.to_le_bytes()
}

/// Removes a number from those of a key.
fn drop_number<K, Q>(numbers: &mut HashMap<K, BTreeSet<u64>>, key: &Q, number: u64)
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash,
{
    let Some(same) = numbers.get_mut(key) else { return };
    same.remove(&number);
    if same.is_empty() {
        numbers.remove(key);
    }
}

/// Returns the path prefix of entries that have no id in their front matter.
fn prefix(folder: &str) -> String {
    format!("{}/kb-", folder.trim_matches('/'))
}

fn reading<'e>(enriched: &'e HashMap<u64, Enriched>, row: &EntryRow) -> Option<&'e Enriched> {
    enriched.get(&row.number).filter(|it| it.hash == row.text_hash)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A pseudorandom note: any number, some without the number in their names.
    fn row(doc: i64, dice: &mut impl FnMut(u64) -> u64) -> EntryRow {
        let number = dice(8) + 1;
        let others: Vec<String> = (0..dice(3)).map(|_| id_text(dice(9) + 1)).collect();
        let values = json!({
            "tags": [format!("t{}", dice(3))], "project": format!("P {}", dice(2)), "active": dice(4) > 0,
            "supersedes": others, "superseded_by": [id_text(dice(9) + 1)],
            "hints": {"related_entities": [id_text(dice(9) + 1), format!("concept:C{}", dice(3))]},
        });
        let entry = of(values.as_object().expect("a map"));
        let path = if dice(2) == 0 {
            format!("kb/{}-{doc}.md", id_text(number))
        } else {
            format!("{doc}.md")
        };
        EntryRow {
            doc,
            number,
            path,
            title: format!("Title {}", dice(4)),
            entry_type: EntryType::default(),
            confidence: decay::USUAL,
            entry,
            references: vec![dice(9) + 1],
            modified_ms: 0,
            hash: [0; 16],
            text_hash: [0; 16],
            body_hash: [number as u8 % 4; 16],
            stated_ms: (None, None),
            doubts: vec![],
        }
    }

    #[test]
    fn the_order_in_which_notes_come_and_go_changes_nothing() {
        let mut state = 7_u64;
        let mut dice = move |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut entry_index, mut rows) = (EntryIndex::default(), BTreeMap::new());
        for _ in 0..600 {
            let doc = dice(12) as i64;
            entry_index.take(doc);
            rows.remove(&doc);
            if dice(4) > 0 {
                let row = row(doc, &mut dice);
                rows.insert(doc, row.clone());
                entry_index.put(row);
            }
            let mut anew = EntryIndex::default();
            rows.values().for_each(|row| anew.put(row.clone()));
            assert_eq!(entry_index, anew, "{rows:#?}");
            assert_eq!(entry_index.doubts(), anew.doubts());
        }
    }

    #[test]
    fn the_note_that_says_its_number_counts() {
        let mut entry_index = EntryIndex::default();
        for (doc, path) in [(1, "a.md"), (2, "kb/kb-00004-b.md"), (3, "kb/kb-00004-c.md")] {
            entry_index.put(EntryRow { number: 4, path: path.into(), ..row(doc, &mut |_| 0) });
        }
        assert_eq!(entry_index.get(4).map(|row| row.doc), Some(2));
        assert_eq!(entry_index.others_of(4), ["a.md", "kb/kb-00004-c.md"]);
        assert_eq!(
            (entry_index.of_doc(1), entry_index.of_doc(2).map(|row| row.number)),
            (None, Some(4))
        );
        entry_index.take(2);
        assert_eq!(entry_index.duplicates(), ["a.md (kb-00004 is kb/kb-00004-c.md)"]);
    }
}
