//! Select: which projects can answer a question best, by their outlines.
//!
//! In: outlines; a question's terms and vector, or names. Out: projects, the fittest first.
//! How: resource selection, as federated search has it. By words as CORI (Callan, Lu and Croft 1995): what tells
//! projects apart is how many of their chunks hold each word of the question, and how few other projects hold it. By
//! meaning as ReDDE (Si and Callan 2003): the nearest window counts, of which a bit a dimension is kept.
//! Invariant: only projects that are visible count, in every number.
//! Not here: reading a question (`query`), who is asked then (`client`).

use std::collections::{BTreeMap, BTreeSet};

use index::words::{Phrase, phrases_in, terms_of};
use model::terms::norm_of;

use crate::outline::{BITS_A_WORD, OF_TEXT, Outline, WHOLE_NAME, name_words, number_of};
use crate::pull::Visible;

/// What is added to the chunks that hold a word before they are divided by it: by so much the second one counts less
/// than the first. CORI has 50 and 150, for documents of large collections; with a tenth of it more of the best are
/// found, and with a 25th as many (`tests/benches/RESULTS.md`, *outline*).
const DAMPING: f64 = 5.0;
/// The same for each mean project's size.
const DAMPING_BY_SIZE: f64 = 15.0;

/// What the nearest window counts, of which words count 1. Nearly the same to .8.
const BY_MEANING: f64 = 0.4;

/// How much more a whole name counts than a word as rare.
const WHOLE: f64 = 3.0;

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

impl Sign {
    /// The chunks, or names, of a project that hold it.
    fn n_in(&self, it: &Outline) -> u32 {
        let all_of =
            |words: &Vec<u32>| words.iter().map(|word| it.words.of(*word)).min().unwrap_or(0);
        match self {
            Sign::Term(spellings) => spellings.iter().map(all_of).max().unwrap_or(0),
            Sign::NameWord(spellings) => {
                spellings.iter().map(|word| it.names.of(*word)).max().unwrap_or(0)
            }
            Sign::Name(number) => it.names.of(*number),
        }
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
        let counts: Vec<u32> = outlines.iter().map(|it| sign.n_in(it)).collect();
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

/// How near a question is to windows of which only signs are kept.
struct Nearness<'a> {
    question: &'a [f32],
    /// Its own signs.
    signs: Vec<u64>,
    length: f32,
}

impl<'a> Nearness<'a> {
    fn to(question: &'a [f32]) -> Self {
        let word = |components: &[f32]| {
            components.iter().fold(0, |word, it| word << 1 | u64::from(*it > 0.0))
        };
        let length = question.iter().map(|it| it * it).sum::<f32>().sqrt();
        let length = length * (question.len() as f32).sqrt();
        Nearness { question, signs: question.chunks(BITS_A_WORD).map(word).collect(), length }
    }

    /// The cosine with the window that has most signs in common; 0 where it is not near at all.
    fn of(&self, windows: &[u64]) -> f64 {
        if self.length == 0.0 {
            return 0.0;
        }
        let n_other = |window: &&[u64]| -> u32 {
            window.iter().zip(&self.signs).map(|(one, other)| (one ^ other).count_ones()).sum()
        };
        let Some(nearest) = windows.chunks_exact(self.signs.len()).min_by_key(n_other) else {
            return 0.0;
        };
        let of_word = |(components, word): (&[f32], &u64)| -> f32 {
            let bits = (0..components.len()).rev().map(|bit| word >> bit & 1 == 1);
            components.iter().zip(bits).map(|(it, is_set)| if is_set { *it } else { -*it }).sum()
        };
        let sum: f32 = self.question.chunks(BITS_A_WORD).zip(nearest).map(of_word).sum();
        f64::from((sum / self.length).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;

    use super::*;
    use crate::outline::{WORDS, packed};

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
        let vault = [("press", 1), ("key", 9)];
        let large = [("press", 40), ("key", 40)];
        let windows = |one: u8, other: u8| [[one; 4], [other; 4]].concat();
        all.add(1, "orchard", outline(20, &orchard, &["Apple Press"], &windows(0xff, 0)));
        all.add(2, "vault", outline(20, &vault, &["Key Store"], &windows(0x0f, 0xf0)));
        all.add(3, "large", outline(900, &large, &["Press Key"], &windows(0, 0)));
        let meaning = |is_up: fn(usize) -> bool| {
            let vector = (0..64).map(|at| if is_up(at) { 1.0 } else { -1.0 });
            Asked { vector: vector.collect(), ..Asked::default() }
        };
        for (asked, expected) in [
            (question("apples"), "orchard vault"),
            (question("press"), "orchard large"),
            (question("key"), "vault large"),
            (named("Key Store"), "vault large"),
            (named("press key"), "large orchard"),
            (meaning(|at| at < 32), "orchard vault"),
            (meaning(|at| (at % 8 < 4) == (at >= 32)), "vault orchard"),
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
