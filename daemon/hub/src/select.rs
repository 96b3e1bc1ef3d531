//! Select: which projects can answer a question best, judged by their outlines.
//!
//! In: outlines; a question's terms and vector, or names. Out: projects, the fittest first.
//! How: resource selection, as in federated search. By words it follows CORI (Callan, Lu and Croft
//! 1995): a project scores by how many of its chunks contain each word of the question, weighted by
//! how few other projects contain it. By meaning it follows ReDDE (Si and Callan 2003): the nearest
//! window scores; outlines keep one bit for each dimension of a window.
//! Invariant: only visible projects contribute to any number.

use std::collections::{BTreeMap, BTreeSet};

use index::words::{Phrase, phrases_in, terms_of};
use model::terms::norm_of;

use crate::outline::{BITS_A_WORD, OF_TEXT, Outline, WHOLE_NAME, name_words, number_of};
use crate::pull::Visible;

/// Added to the number of chunks with a word in the denominator of the word's share, so that the
/// second such chunk adds less than the first. CORI uses 50 and 150, for documents of large
/// collections. A tenth of these finds more of the best hits, and a 25th finds as many as a tenth
/// (`tests/benches/RESULTS.md`, *outline*).
const DAMPING: f64 = 5.0;
/// The same, multiplied by the project's size relative to the mean.
const DAMPING_BY_SIZE: f64 = 15.0;

/// Weight of the nearest window, where words weigh 1. Weights up to .8 give nearly the same result.
const BY_MEANING: f64 = 0.4;

/// Weight of a whole name relative to an equally rare word.
const WHOLE: f64 = 3.0;

/// A question, or names to look up.
#[derive(Debug, Default)]
pub struct Asked {
    /// The terms of a question, as expressions of the text index. Any of them may match.
    pub terms: Vec<String>,
    /// Names to look up.
    pub names: Vec<String>,
    /// The question's vector in the space of the static model; empty if there is none.
    pub vector: Vec<f32>,
}

/// One thing to look up in an outline.
enum Sign {
    /// A term of the text: for each spelling, its adjacent words.
    Term(Vec<Vec<u32>>),
    NameWord(BTreeSet<u32>),
    Name(u32),
}

impl Asked {
    fn signs(&self) -> Vec<Sign> {
        // An outline knows nothing about prefixes of words.
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
    /// Returns how many chunks, or names, of a project contain it.
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

/// A project, and its outline if known.
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
    /// Sets the projects that are visible now; others are dropped with their outlines.
    pub fn see(&mut self, visible: &[Visible]) {
        let mut before = std::mem::take(&mut self.projects);
        for it in visible {
            let outline = before.remove(&it.id).and_then(|known| known.outline);
            let (name, place, published) = (it.name.clone(), it.place(), it.published);
            self.projects.insert(it.id, Known { name, place, published, outline });
        }
    }

    /// Returns the projects whose outline does not match their last transaction.
    pub fn stale(&self) -> Vec<i32> {
        let is_stale = |it: &Known| it.outline.as_ref().is_none_or(|(place, _)| *place != it.place);
        self.projects.iter().filter(|(_, it)| is_stale(it)).map(|(id, _)| *id).collect()
    }

    /// Returns whether every project has an outline.
    pub fn is_whole(&self) -> bool {
        self.projects.values().all(|it| it.outline.is_some())
    }

    /// Sets the outline of a project, with its place in the project's history, if the project is
    /// still visible.
    pub fn put(&mut self, id: i32, place: String, outline: Outline) {
        if let Some(known) = self.projects.get_mut(&id) {
            known.outline = Some((place, outline));
        }
    }

    /// Adds a project that is in no hub, for measurements.
    pub fn add(&mut self, id: i32, name: &str, outline: Outline) {
        let (name, place) = (name.to_string(), String::new());
        let outline = Some((place.clone(), outline));
        self.projects.insert(id, Known { name, place, published: 0, outline });
    }

    /// Returns the bytes that the outlines take in memory.
    pub fn n_bytes(&self) -> usize {
        self.projects.values().filter_map(|it| Some(it.outline.as_ref()?.1.n_bytes())).sum()
    }

    /// Returns the names of at most `most` projects, the fittest first. If nothing is asked, or no
    /// project knows any of it, the projects that were published last come first.
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
        // The second sort is stable, so projects with equal scores keep the order of publication.
        scored.sort_by_key(|(_, it)| std::cmp::Reverse(it.published));
        if sum > 0.0 {
            scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        }
        scored.into_iter().take(most).map(|(_, it)| it.name.clone()).collect()
    }
}

/// Returns how well each project covers what is asked, 0 to 1.
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

/// Computes how near a question is to windows of which only the signs are kept.
struct Nearness<'a> {
    question: &'a [f32],
    /// The signs of the question's components.
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

    /// Returns the cosine with the window that has the most signs in common; 0 if it is negative,
    /// or either vector is missing.
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

    /// A project with `n` chunks: its words with the number of chunks that contain each, its names,
    /// and the signs of its windows.
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
