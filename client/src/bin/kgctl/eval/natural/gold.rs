//! Gold: what a careful reader annotated on each page.
//!
//! In: the tables of `gold/`. Out: pages with their entities, definitions, relations; pairs of names; questions.
//! Invariant: a row that does not fit is an error with its file and line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use client::score::norm;

use crate::eval::gold::{Row, rows};
use crate::eval::read_file;
use crate::failure::{Exit, Failure};

/// An annotated page.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub(super) half: String,
    pub(super) n_words: u64,
    /// The type of each entity.
    pub(super) types: BTreeMap<String, String>,
    /// The entity of each name, by the norm of the name as the page writes it.
    pub(super) by_name: BTreeMap<String, String>,
    /// The ends of each relation, in the order of their names, with the predicates stated in either
    /// direction.
    pub(super) relations: BTreeMap<[String; 2], BTreeSet<String>>,
}

/// Two names that a program might take for one entity.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) group: String,
    pub(super) names: [String; 2],
    pub(super) is_same: bool,
}

/// A question and the places that answer it. A two-step question has two places.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) id: String,
    pub(super) text: String,
    /// Path, first and last line.
    pub(super) places: Vec<(String, [u32; 2])>,
    pub(super) n_steps: usize,
}

/// The annotations of a corpus.
#[derive(Debug, Clone, Default)]
pub(super) struct Gold {
    pub(super) pages: BTreeMap<String, Page>,
    /// For a group and an entity, the passages that define it.
    pub(super) definitions: BTreeMap<(String, String), Vec<String>>,
    pub(super) pairs: Vec<Pair>,
    pub(super) questions: Vec<Question>,
}

/// Returns the group of a page: its first folder.
pub(super) fn group_of(path: &str) -> &str {
    path.split_once('/').map_or("", |(group, _)| group)
}

impl Gold {
    pub(super) fn read(corpus: &Path) -> Result<Self, Failure> {
        let table = |name: &str| corpus.join("gold").join(name);
        let text_of = |path: &str| read_file(&corpus.join("docs").join(path));
        let mut gold = Gold::default();
        for Row { cells: [path, half, ..], .. } in rows::<4>(&table("pages.tsv"))? {
            let n_words = text_of(&path)?.split_whitespace().count() as u64;
            gold.pages.insert(path, Page { half, n_words, ..Page::default() });
        }
        for Row { place, cells: [path, entity, kind, surfaces], .. } in
            rows::<4>(&table("entities.tsv"))?
        {
            let page = gold.page(&path, &place)?;
            for surface in surfaces.split('|').chain([entity.as_str()]) {
                page.by_name.entry(norm(surface)).or_insert_with(|| entity.clone());
            }
            page.types.insert(entity, kind);
        }
        for Row { place, cells: [path, entity, quote], .. } in rows::<3>(&table("definitions.tsv"))?
        {
            gold.page(&path, &place)?;
            let of = (group_of(&path).to_string(), entity);
            gold.definitions.entry(of).or_default().push(quote);
        }
        for Row { place, cells: [path, subject, predicate, object, _], .. } in
            rows::<5>(&table("relations.tsv"))?
        {
            let mut ends = [subject, object];
            ends.sort();
            gold.page(&path, &place)?.relations.entry(ends).or_default().insert(predicate);
        }
        for Row { place, cells: [group, a, b, same, _], .. } in rows::<5>(&table("merges.tsv"))? {
            let is_same = match same.as_str() {
                "yes" => true,
                "no" => false,
                _ => return Err(refused(&place, "`yes` or `no` was expected")),
            };
            gold.pairs.push(Pair { group, names: [a, b], is_same });
        }
        for Row { place, cells: [id, _, steps, text, _, paths, quotes], .. } in
            rows::<7>(&table("questions.tsv"))?
        {
            let mut places = Vec::new();
            for (path, quote) in paths.split(" || ").zip(quotes.split(" || ")) {
                let lines = lines_of(&text_of(path)?, quote)
                    .ok_or_else(|| refused(&place, &format!("`{path}` does not have the quote")))?;
                places.push((path.to_string(), lines));
            }
            let n_steps = if steps == "2" { 2 } else { 1 };
            gold.questions.push(Question { id, text, places, n_steps });
        }
        Ok(gold)
    }

    fn page(&mut self, path: &str, place: &str) -> Result<&mut Page, Failure> {
        let page = self.pages.get_mut(path);
        page.ok_or_else(|| refused(place, &format!("`{path}` is not in `pages.tsv`")))
    }

    /// Returns the entities that a page of their group defines, each with the group.
    pub(super) fn defined_entities(&self) -> impl Iterator<Item = &(String, String)> {
        self.definitions.keys()
    }

    /// Returns the annotations of the pages of one half.
    pub(super) fn part(&self, half: &str) -> Gold {
        let mut part = self.clone();
        part.pages.retain(|_, page| page.half == half);
        let groups_entities: BTreeSet<(String, String)> = part
            .pages
            .iter()
            .flat_map(|(path, page)| {
                page.types.keys().map(|it| (group_of(path).to_string(), it.clone()))
            })
            .collect();
        part.definitions.retain(|of, _| groups_entities.contains(of));
        part.questions.retain(|it| it.places.iter().all(|(path, _)| part.pages.contains_key(path)));
        part
    }
}

fn refused(place: &str, why: &str) -> Failure {
    Failure::new(Exit::Refused, format!("{place}: {why}"))
}

/// Returns the first and last line of a quote, whose spaces match any white space.
fn lines_of(text: &str, quote: &str) -> Option<[u32; 2]> {
    let words: Vec<&str> = quote.split_whitespace().collect();
    let found = text.match_indices(words.first()?).find_map(|(start, _)| {
        let mut at = start;
        for (i, word) in words.iter().enumerate() {
            let rest = text.get(at..)?;
            let rest = if i > 0 { rest.trim_start() } else { rest };
            at = text.len() - rest.strip_prefix(word)?.len();
        }
        Some((start, at))
    })?;
    let line = |at: usize| 1 + text[..at].matches('\n').count() as u32;
    Some([line(found.0), line(found.1)])
}

#[cfg(test)]
mod tests {
    use super::lines_of;

    #[test]
    fn a_quote_is_found_over_line_ends() {
        let text = "# A\n\nOne two\n  three. Two\nfour.\n";
        let rows =
            [("One two three.", Some([3, 4])), ("Two four.", Some([4, 5])), ("two five", None)];
        for (quote, lines) in rows {
            assert_eq!(lines_of(text, quote), lines, "{quote}");
        }
    }
}
