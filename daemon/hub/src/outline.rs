//! Outline: what a project holds, small enough to keep of all projects, and which of them can answer a question best.
//!
//! In: an index; a question's terms and vector. Out: three published rows of a project; its order among others.
//! How: resource selection, as federated search has it. By words as CORI (Callan, Lu and Croft 1995): what tells
//! projects apart is how many of their chunks hold each word of the question, and how few other projects hold it. By
//! meaning as ReDDE (Si and Callan 2003): the nearest window counts, of which a bit a dimension is kept.
//! Invariants: an outline is a function of the commit; only projects that are visible count, in every number.
//! Not here: fetching outlines (`pull.rs`), reading a question (`query`), who is asked then (`client`).

use std::collections::{BTreeMap, BTreeSet};

use index::postings::{Postings, Unread};
use index::words::{Phrase, phrases_in, terms_of};
use model::terms::norm_of;
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::HubError;
use crate::pull::Visible;

/// The rows of a project: its words, its names, its windows.
const WORDS: i64 = 0;
const NAMES: i64 = 1;
const WINDOWS: i64 = 2;

/// Kinds of what is counted, so that a word of the text is not the same word of a name.
const OF_TEXT: u64 = 0;
const OF_NAMES: u64 = 1;
const WHOLE_NAME: u64 = 2;

/// What is added to the chunks that hold a word before they are divided by it: by so much the second one counts less
/// than the first. CORI has 50 and 150, for documents of large collections; with a tenth of it more of the best are
/// found, and with a 25th as many (`tests/benches/RESULTS.md`, *outline*).
const DAMPING: f64 = 5.0;
/// The same for each mean project's size.
const DAMPING_BY_SIZE: f64 = 15.0;

/// What the nearest window counts, of which words count 1; the same from .4 to .8.
const BY_MEANING: f64 = 0.6;

/// How much more a whole name counts than a word as rare.
const WHOLE: f64 = 3.0;

/// Windows of which bits are kept, of a larger project some, evenly: 128 kB.
const MAX_WINDOWS: usize = 4_096;

/// Bits of a byte.
const BITS: usize = 8;

/// How often each word occurs, in the order of their numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Packed {
    /// Chunks, or names.
    n: u64,
    /// What each number is more than the one before, and how many hold it.
    counts: Vec<(u32, u32)>,
}

/// A word in four bytes: of 15,000 words, one in 280,000 others looks like one of them.
fn number_of(kind: u64, word: &str) -> u32 {
    xxh3_64_with_seed(word.as_bytes(), kind) as u32
}

/// Shows the rows of an index.
pub(crate) fn each(
    index: &Connection,
    show: &mut dyn FnMut(i64, Vec<u8>) -> Result<(), HubError>,
) -> Result<(), HubError> {
    let mut counts: FxHashMap<u32, u32> = FxHashMap::default();
    let unread = |error: Unread| match error {
        Unread::Sql(error) => HubError::from(error),
        Unread::Shape(_) => HubError::Torn("postings"),
    };
    let postings = Postings::open(index).map_err(unread)?;
    postings
        .each_word(&mut |word, n| {
            *counts.entry(number_of(OF_TEXT, &String::from_utf8_lossy(word))).or_default() += n;
        })
        .map_err(unread)?;
    show(WORDS, packed(postings.n_rows(), counts))?;
    let (mut n, mut counts) = (0, FxHashMap::default());
    let mut statement = index.prepare("SELECT norm, surface FROM names")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (norm, surface): (String, String) = (row.get(0)?, row.get(1)?);
        let words = name_words(&surface).into_iter();
        let whole = std::iter::once(number_of(WHOLE_NAME, &norm));
        words.flatten().chain(whole).for_each(|it| *counts.entry(it).or_default() += 1);
        n += 1;
    }
    show(NAMES, packed(n, counts))?;
    show(WINDOWS, signs_of_windows(index)?)
}

/// Whether each component of each window's vector is positive, a bit each.
fn signs_of_windows(index: &Connection) -> Result<Vec<u8>, HubError> {
    let mut windows: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
    index::vectors::each_in_table(index, |key, bytes| {
        let byte = |eight: &[u8]| {
            let positive = eight.iter().map(|it| u8::from(it.cast_signed() > 0));
            positive.fold(0, |byte, bit| byte << 1 | bit)
        };
        windows.insert(key, bytes.chunks(BITS).map(byte).collect());
        Ok::<_, HubError>(())
    })?;
    let step = windows.len().div_ceil(MAX_WINDOWS).max(1);
    Ok(windows.into_values().step_by(step).flatten().collect())
}

fn packed(n: u64, counts: FxHashMap<u32, u32>) -> Vec<u8> {
    let sorted: BTreeMap<u32, u32> = counts.into_iter().collect();
    let mut before = 0;
    let counts =
        sorted.into_iter().map(|(word, n)| (word - std::mem::replace(&mut before, word), n));
    let packed = Packed { n, counts: counts.collect() };
    postcard::to_allocvec(&packed).expect("numbers have a form in bytes")
}

/// The words of a name, each in all of its spellings.
fn name_words(surface: &str) -> Vec<BTreeSet<u32>> {
    let spellings = |fts: &str| {
        let words = phrases_in(fts).into_iter().flat_map(|phrase| phrase.words);
        words.map(|word| number_of(OF_NAMES, &word)).collect()
    };
    terms_of(surface).iter().map(|term| spellings(&term.fts)).collect()
}

/// What is asked.
#[derive(Debug, Default)]
pub struct Asked {
    /// The terms of a question, any of which may match, as expressions of the text index.
    pub terms: Vec<String>,
    /// Names that are looked up.
    pub names: Vec<String>,
    /// The question's vector in the space of the static model; empty where there is none.
    pub vector: Vec<f32>,
}

/// Numbers with their counts.
#[derive(Debug, Default)]
struct Counts {
    n: u64,
    numbers: Vec<u32>,
    counts: Vec<u32>,
}

impl Counts {
    fn read(block: &[u8]) -> Result<Self, HubError> {
        let packed: Packed = postcard::from_bytes(block).map_err(|_| HubError::Torn("outline"))?;
        let mut last = 0_u32;
        let numbers = packed.counts.iter().map(|(more, _)| {
            last = last.wrapping_add(*more);
            last
        });
        let numbers = numbers.collect();
        Ok(Counts { n: packed.n, numbers, counts: packed.counts.iter().map(|it| it.1).collect() })
    }

    fn of(&self, number: u32) -> u32 {
        let at = self.numbers.binary_search(&number);
        at.ok().and_then(|at| self.counts.get(at)).copied().unwrap_or(0)
    }
}

/// The outline of one project.
#[derive(Debug, Default)]
pub struct Outline {
    words: Counts,
    names: Counts,
    windows: Vec<u8>,
}

impl Outline {
    /// Takes a row.
    pub(crate) fn read(&mut self, key: i64, block: &[u8]) -> Result<(), HubError> {
        match key {
            WORDS => self.words = Counts::read(block)?,
            NAMES => self.names = Counts::read(block)?,
            WINDOWS => self.windows = block.to_vec(),
            // Of a later version.
            _ => {}
        }
        Ok(())
    }

    /// The outline of an index here.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(index: &Connection) -> Result<Self, HubError> {
        let mut outline = Outline::default();
        each(index, &mut |key, block| outline.read(key, &block))?;
        Ok(outline)
    }

    /// The chunks, or names, that hold a sign.
    fn n_with(&self, sign: &Sign) -> u32 {
        let all_of = |words: &Vec<u32>, counts: &Counts| {
            words.iter().map(|word| counts.of(*word)).min().unwrap_or(0)
        };
        match sign {
            Sign::Term(spellings) => {
                spellings.iter().map(|it| all_of(it, &self.words)).max().unwrap_or(0)
            }
            Sign::NameWord(spellings) => {
                spellings.iter().map(|it| self.names.of(*it)).max().unwrap_or(0)
            }
            Sign::Name(number) => self.names.of(*number),
        }
    }

    /// Bytes that it takes in memory.
    pub fn n_bytes(&self) -> usize {
        8 * (self.words.numbers.len() + self.names.numbers.len()) + self.windows.len()
    }
}

/// One thing to look for in an outline.
enum Sign {
    /// A term of the text, in its spellings, each of words that stand side by side.
    Term(Vec<Vec<u32>>),
    NameWord(BTreeSet<u32>),
    Name(u32),
}

impl Asked {
    fn signs(&self) -> Vec<Sign> {
        // Of the beginning of a word nothing is known.
        let whole = |phrase: &Phrase| !phrase.words.is_empty() && !phrase.is_prefix;
        let numbers = |phrase: Phrase| {
            phrase.words.iter().map(|word| number_of(OF_TEXT, word)).collect::<Vec<_>>()
        };
        let term = |fts: &str| {
            Sign::Term(phrases_in(fts).into_iter().filter(whole).map(numbers).collect())
        };
        let mut signs: Vec<Sign> = self.terms.iter().map(|it| term(it)).collect();
        for name in &self.names {
            signs.push(Sign::Name(number_of(WHOLE_NAME, &norm_of(name))));
            signs.extend(name_words(name).into_iter().map(Sign::NameWord));
            signs.extend(terms_of(name).iter().map(|it| term(&it.fts)));
        }
        signs
    }
}

/// A project and what is known of it.
struct Known {
    name: String,
    place: String,
    published: i64,
    outline: Option<(String, Outline)>,
}

/// The outlines of all projects that a role may see.
#[derive(Default)]
pub struct Outlines {
    projects: BTreeMap<i32, Known>,
}

impl Outlines {
    /// Takes the projects that are visible now: others are forgotten with their outlines.
    pub fn see(&mut self, visible: &[Visible]) {
        let mut before = std::mem::take(&mut self.projects);
        for it in visible {
            let outline = before.remove(&it.id).and_then(|known| known.outline);
            let (name, place, published) = (it.name.clone(), it.place(), it.published);
            self.projects.insert(it.id, Known { name, place, published, outline });
        }
    }

    /// The projects whose outline is not that of their last transaction.
    pub fn stale(&self) -> Vec<i32> {
        let is_stale = |it: &Known| it.outline.as_ref().is_none_or(|(place, _)| *place != it.place);
        self.projects.iter().filter(|(_, it)| is_stale(it)).map(|(id, _)| *id).collect()
    }

    /// True when there is an outline of every project.
    pub fn is_whole(&self) -> bool {
        self.projects.values().all(|it| it.outline.is_some())
    }

    /// Takes the outline of a project, as of a place in its history, if it is still visible.
    pub fn put(&mut self, id: i32, place: String, outline: Outline) {
        if let Some(known) = self.projects.get_mut(&id) {
            known.outline = Some((place, outline));
        }
    }

    /// Adds a project that no hub has, for measurements.
    pub fn add(&mut self, id: i32, name: &str, outline: Outline) {
        let (name, place) = (name.to_string(), String::new());
        let outline = Some((place.clone(), outline));
        self.projects.insert(id, Known { name, place, published: 0, outline });
    }

    /// Bytes that they take in memory.
    pub fn n_bytes(&self) -> usize {
        self.projects.values().filter_map(|it| Some(it.outline.as_ref()?.1.n_bytes())).sum()
    }

    /// The names of at most `most` projects, those first that can answer best; where nothing is asked, or nothing of it
    /// is known, those that were published last.
    pub fn best(&self, asked: &Asked, most: usize) -> Vec<String> {
        let nothing = Outline::default();
        let outlines: Vec<&Outline> = self
            .projects
            .values()
            .map(|it| it.outline.as_ref().map_or(&nothing, |(_, outline)| outline))
            .collect();
        let (by_words, mut sum) = (scores_by_words(&outlines, asked), 0.0);
        let mut scored: Vec<(f64, &Known)> = Vec::with_capacity(outlines.len());
        let nearness = Nearness::to(&asked.vector);
        for ((outline, words), known) in outlines.iter().zip(by_words).zip(self.projects.values()) {
            let score = words + BY_MEANING * nearness.of(&outline.windows);
            sum += score;
            scored.push((score, known));
        }
        // A stable sort: ties keep the order of publication.
        scored.sort_by_key(|(_, it)| std::cmp::Reverse(it.published));
        if sum > 0.0 {
            scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        }
        scored.into_iter().take(most).map(|(_, it)| it.name.clone()).collect()
    }
}

/// How much of what is asked each project holds, 0 to 1.
fn scores_by_words(outlines: &[&Outline], asked: &Asked) -> Vec<f64> {
    let mut scores = vec![0.0; outlines.len()];
    let n_projects = outlines.len() as f64;
    let mean = outlines.iter().map(|it| it.words.n as f64).sum::<f64>() / n_projects.max(1.0);
    let mut most = 0.0;
    for sign in asked.signs() {
        let counts: Vec<u32> = outlines.iter().map(|it| it.n_with(&sign)).collect();
        let n_with = counts.iter().filter(|n| **n > 0).count() as f64;
        let rarity = ((n_projects + 0.5) / n_with.max(0.5)).ln() / (n_projects + 1.0).ln();
        let weight = if matches!(sign, Sign::Name(_)) { WHOLE } else { 1.0 };
        most += weight * rarity;
        for ((score, n), outline) in scores.iter_mut().zip(counts).zip(outlines) {
            let size = outline.words.n as f64 / mean.max(1.0);
            let share = f64::from(n) / (f64::from(n) + DAMPING + DAMPING_BY_SIZE * size);
            *score += weight * rarity * share;
        }
    }
    scores.iter().map(|it| if most > 0.0 { it / most } else { 0.0 }).collect()
}

/// The cosine of a question with windows of which only signs are kept.
struct Nearness {
    /// Of each byte of a window, what each of its values adds.
    sums: Vec<[f32; 256]>,
}

impl Nearness {
    fn to(question: &[f32]) -> Self {
        let length = question.iter().map(|it| it * it).sum::<f32>().sqrt();
        let length = length * (question.len() as f32).sqrt();
        let sums_of = |eight: &[f32]| {
            let mut sums = [0.0; 256];
            for (value, sum) in sums.iter_mut().enumerate() {
                let signed = eight
                    .iter()
                    .rev()
                    .enumerate()
                    .map(|(bit, it)| if value >> bit & 1 == 1 { *it } else { -*it });
                *sum = signed.sum::<f32>() / length;
            }
            sums
        };
        let is_known = length > 0.0;
        let sums = question.chunks(BITS).filter(|_| is_known).map(sums_of).collect();
        Nearness { sums }
    }

    /// Of the nearest window; 0 where none is near at all.
    fn of(&self, windows: &[u8]) -> f64 {
        if self.sums.is_empty() {
            return 0.0;
        }
        let cosine = |window: &[u8]| -> f32 {
            let bytes = window.iter().zip(&self.sums);
            bytes.filter_map(|(byte, sums)| sums.get(usize::from(*byte))).sum()
        };
        f64::from(windows.chunks_exact(self.sums.len()).map(cosine).fold(0.0, f32::max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project of so many chunks, with words and how many chunks hold each, names, and signs of windows.
    fn outline(n: u64, words: &[(&str, u32)], names: &[&str], windows: &[u8]) -> Outline {
        let counts = words.iter().map(|(word, n)| (number_of(OF_TEXT, word), *n)).collect();
        let mut of_names: FxHashMap<u32, u32> = FxHashMap::default();
        for name in names {
            of_names.insert(number_of(WHOLE_NAME, &norm_of(name)), 1);
            name_words(name).into_iter().flatten().for_each(|it| _ = of_names.insert(it, 1));
        }
        let mut outline = Outline::default();
        let rows = [packed(n, counts), packed(names.len() as u64, of_names), windows.to_vec()];
        for (key, block) in (0..).zip(rows) {
            outline.read(key, &block).expect("read");
        }
        outline
    }

    fn best(outlines: &Outlines, asked: Asked) -> String {
        outlines.best(&asked, 2).join(" ")
    }

    fn question(text: &str) -> Asked {
        let terms = text.split(' ').flat_map(terms_of).map(|it| it.fts).collect();
        Asked { terms, ..Asked::default() }
    }

    fn named(name: &str) -> Asked {
        Asked { names: vec![name.to_string()], ..Asked::default() }
    }

    #[test]
    fn rare_words_whole_names_and_near_windows_choose_a_project() {
        let mut all = Outlines::default();
        let orchard = [("press", 9), ("appl", 4), ("key", 1)];
        all.add(1, "orchard", outline(20, &orchard, &["Apple Press"], &[0xff, 0x00]));
        all.add(
            2,
            "vault",
            outline(20, &[("press", 1), ("key", 9)], &["Key Store"], &[0x0f, 0xf0]),
        );
        all.add(3, "large", outline(900, &[("press", 40), ("key", 40)], &["Press Key"], &[0; 2]));
        let meaning = |vector: [f32; 16]| Asked { vector: vector.to_vec(), ..Asked::default() };
        let (mut up, mut down) = ([1.0; 16], [-1.0; 16]);
        up[8..].fill(-1.0);
        down[4..12].fill(1.0);
        for (asked, expected) in [
            (question("apples"), "orchard vault"),
            (question("press"), "orchard large"),
            (question("key"), "vault large"),
            (named("Key Store"), "vault large"),
            (named("press key"), "large orchard"),
            (meaning(up), "orchard vault"),
            (meaning(down), "vault orchard"),
            (question("nobody"), "orchard vault"),
            (Asked::default(), "orchard vault"),
        ] {
            let shown = format!("{asked:?}");
            assert_eq!(best(&all, asked), expected, "{shown}");
        }
    }

    #[test]
    fn a_word_that_is_everywhere_still_tells_how_much() {
        let mut all = Outlines::default();
        for (id, n) in [(1, 2), (2, 8), (3, 4)] {
            all.add(id, &id.to_string(), outline(10, &[("press", n)], &[], &[]));
        }
        assert_eq!(best(&all, question("press")), "2 3");
    }

    #[test]
    fn damaged_rows_are_refused() {
        assert!(Outline::default().read(WORDS, &[0xff; 3]).is_err());
        assert!(Outline::default().read(99, &[0xff; 3]).is_ok(), "of a later version");
    }
}
