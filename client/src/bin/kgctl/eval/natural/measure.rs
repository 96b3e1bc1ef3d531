//! Measure: computes which share of what kgd found is right, and which share of what is there it
//! found.
//!
//! In: gold, and a dump with the answers to questions. Out: rows with 95 % intervals over pages
//! drawn with replacement, or over pairs, entities and questions if a row is about these.
//! A name found on a page is right if the page's annotator wrote it down, so a share of junk is an
//! upper bound and a precision a lower one. Dates, versions and entities that answers do not show
//! (steps) are not judged, nor are types that are not shown. Product, technology, service and
//! project count as one type, and so do identifier and API, because readers disagree on them.

use std::collections::{BTreeMap, BTreeSet};

use client::render::natural::{Natural, Share};
use client::score::interval::of_draws;
use client::score::norm;
use proto::shape::Id;
use serde::Deserialize;
use serde_json::Value;

use super::gold::{Gold, Page, Question, group_of};
use crate::failure::{Exit, Failure};

/// How many first hits must contain the answer of a one-step question, and both of a two-step
/// question.
const FIRST: [usize; 2] = [3, 5];

/// Number of most mentioned entities whose definitions are judged.
const MOST_MENTIONED: usize = 100;

/// Share of the words of the shorter of two definitions that the other must have, to be alike.
const ALIKE: f64 = 0.6;

/// Predicates that only state a link.
const LINKS: [&str; 1] = ["links_to"];

/// The right ones and all, for one page, pair, entity or question.
type Count = [u64; 2];

/// A hit: its path and lines.
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) lines: [u32; 2],
}

/// What a page shows of an entity.
#[derive(Debug, Default)]
struct OnPage {
    names: BTreeSet<String>,
    n_mentions: u64,
}

/// An entity wherever it is named.
struct Known {
    kind: String,
    is_kind_shown: bool,
    names: BTreeSet<String>,
}

/// What kgd found.
#[derive(Default)]
pub(super) struct Seen {
    /// By path and entity id.
    on_page: BTreeMap<(String, String), OnPage>,
    entities: BTreeMap<String, Known>,
    /// Path, ends, predicate.
    relations: BTreeSet<(String, [String; 2], String)>,
    pub(super) definitions: BTreeMap<(String, String), String>,
    pub(super) answers: BTreeMap<String, Vec<Hit>>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum DumpRow {
    Entity {
        id: Value,
        name: String,
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        aliases: Option<Vec<String>>,
        /// Whether answers show it as a thing.
        shown: bool,
        type_shown: bool,
    },
    Mention {
        path: String,
        surface: String,
        #[serde(default)]
        entity: Value,
    },
    Relation {
        subject_id: Value,
        predicate: String,
        object_id: Value,
        evidence: Vec<Evidence>,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Evidence {
    path: String,
}

impl Seen {
    pub(super) fn read(rows: &[Value]) -> Result<Self, Failure> {
        let mut seen = Seen::default();
        let mut hidden = BTreeSet::new();
        for row in rows {
            let parsed = DumpRow::deserialize(row).map_err(|error| {
                Failure::new(
                    Exit::Failed,
                    format!("cannot parse a row of the dump: {error}: {row}"),
                )
            })?;
            match parsed {
                DumpRow::Entity { id, name, kind, aliases, shown, type_shown } => {
                    hidden.extend((!shown).then(|| id.to_string()));
                    let names = aliases.into_iter().flatten().chain([name]);
                    let names = names.map(|it| norm(&it)).collect();
                    let known = Known { kind, is_kind_shown: type_shown, names };
                    seen.entities.insert(id.to_string(), known);
                }
                DumpRow::Mention { path, surface, entity }
                    if !entity.is_null() && !hidden.contains(&entity.to_string()) =>
                {
                    let on_page = seen.on_page.entry((path, entity.to_string())).or_default();
                    on_page.names.insert(norm(&surface));
                    on_page.n_mentions += 1;
                }
                DumpRow::Relation { subject_id, predicate, object_id, evidence } => {
                    let ends = [subject_id.to_string(), object_id.to_string()];
                    if !LINKS.contains(&predicate.as_str()) {
                        let paths = evidence.into_iter().map(|it| it.path);
                        let stated = paths.map(|path| (path, ends.clone(), predicate.clone()));
                        seen.relations.extend(stated);
                    }
                }
                DumpRow::Mention { .. } | DumpRow::Other => {}
            }
        }
        Ok(seen)
    }

    fn kind_of(&self, id: &str) -> &str {
        self.entities.get(id).map_or("", |it| &it.kind)
    }

    /// Returns the entities on a page that are judged: those shown, except dates and versions.
    fn of_page<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (&'a str, &'a OnPage)> {
        let from = (path.to_string(), String::new());
        let rows = self.on_page.range(from..).take_while(move |((p, _), _)| p == path);
        let judged = rows.filter(|((_, id), _)| !matches!(self.kind_of(id), "Date" | "Version"));
        judged.map(|((_, id), on_page)| (id.as_str(), on_page))
    }

    /// Returns the annotated entity that an entity is on a page, by its names there, otherwise by
    /// any of its names.
    fn gold_of<'a>(&self, path: &str, page: &'a Page, id: &str) -> Option<&'a String> {
        let here = self.on_page.get(&(path.to_string(), id.to_string()));
        let elsewhere = self.entities.get(id).map(|it| &it.names);
        let names = here.iter().flat_map(|it| &it.names).chain(elsewhere.into_iter().flatten());
        names.into_iter().find_map(|name| page.by_name.get(name))
    }

    /// Returns the entity that denotes an annotated one in most places of its group.
    pub(super) fn entity_of(&self, gold: &Gold, (group, entity): &(String, String)) -> Option<Id> {
        let mut n_of: BTreeMap<&str, u64> = BTreeMap::new();
        let pages = gold.pages.iter().filter(|(path, _)| group_of(path) == group);
        for (path, page) in pages.filter(|(_, page)| page.types.contains_key(entity)) {
            for (id, on_page) in self.of_page(path) {
                let is_it = on_page.names.iter().any(|it| page.by_name.get(it) == Some(entity));
                *n_of.entry(id).or_default() += if is_it { on_page.n_mentions } else { 0 };
            }
        }
        let (id, n) = n_of.into_iter().max_by_key(|(id, n)| (*n, std::cmp::Reverse(*id)))?;
        (n > 0).then(|| id.parse().ok())?
    }

    /// Counts the mentions of an annotated entity in its group.
    fn n_mentions(&self, gold: &Gold, (group, entity): &(String, String)) -> u64 {
        let pages = gold.pages.iter().filter(|(path, _)| group_of(path) == group);
        let of_page = |(path, page): (&String, &Page)| -> u64 {
            let is_it = |it: &OnPage| it.names.iter().any(|n| page.by_name.get(n) == Some(entity));
            self.of_page(path).filter(|(_, it)| is_it(it)).map(|(_, it)| it.n_mentions).sum()
        };
        pages.map(of_page).sum()
    }
}

/// Measures all pages, and each half.
pub(super) fn by_half(gold: &Gold, seen: &Seen) -> Natural {
    let halves: BTreeSet<&String> = gold.pages.values().map(|page| &page.half).collect();
    let halves = halves.into_iter().map(|half| (half.clone(), measure(&gold.part(half), seen)));
    Natural { halves: halves.collect(), ..measure(gold, seen) }
}

fn measure(gold: &Gold, seen: &Seen) -> Natural {
    let mut rows = Vec::new();
    let mut add = |name: &str, counts: Vec<Count>| rows.push(share(name, &counts));
    let pages = || gold.pages.iter().map(|(path, page)| (path.as_str(), page));
    let each = |count: &dyn Fn(&str, &Page) -> Count| pages().map(|(p, it)| count(p, it)).collect();
    add("names found", each(&|path, page| names_found(seen, path, page)));
    add("junk of found names", each(&|path, page| junk(seen, path, page)));
    add("types shown of found names", each(&|path, page| types_shown(seen, path, page)));
    add("types right of those shown", each(&|path, page| types_right(seen, path, page)));
    let (precise, complete) = pairs(gold, seen);
    add("merges, precision", precise);
    add("merges, recall", complete);
    add("most mentioned with a useful definition", definitions(gold, seen));
    add(
        "annotated relations between found names",
        each(&|path, page| within_reach(seen, path, page)),
    );
    add("relations, precision of pairs", each(&|path, page| relations_right(seen, path, page)));
    add("relations, recall of pairs", each(&|path, page| relations_found(seen, path, page)));
    add("one-step answers in the first 3", answers(gold, seen, 1));
    add("two-step answers, both in the first 5", answers(gold, seen, 2));
    let n_words: u64 = gold.pages.values().map(|page| page.n_words).sum();
    let n_relations = pages().map(|(path, page)| relations_right(seen, path, page)[1]).sum();
    let n_annotated = gold.pages.values().map(|page| page.relations.len() as u64).sum();
    let n_pages = gold.pages.len();
    Natural { n_pages, n_words, n_relations, n_annotated, rows, halves: BTreeMap::new() }
}

fn share(name: &str, counts: &[Count]) -> Share {
    let ratio = |right: u64, all: u64| if all == 0 { 0.0 } else { right as f64 / all as f64 };
    let [right, all] = [0, 1].map(|i| counts.iter().map(|it| it[i]).sum());
    let interval = of_draws(counts.len(), |times| {
        let sum = |i: usize| counts.iter().zip(times).map(|(it, n)| it[i] * n).sum();
        ratio(sum(0), sum(1))
    });
    Share { name: name.into(), right, all, share: ratio(right, all), interval }
}

fn names_found(seen: &Seen, path: &str, page: &Page) -> Count {
    [found_on(seen, path, page).len() as u64, page.types.len() as u64]
}

/// Returns the annotated entities of a page that were found there.
fn found_on<'a>(seen: &Seen, path: &str, page: &'a Page) -> BTreeSet<&'a String> {
    let names = seen.of_page(path).flat_map(|(_, it)| &it.names);
    names.filter_map(|name| page.by_name.get(name)).collect()
}

/// Counts the annotated relations whose names were both found. No others can be found without more
/// names.
fn within_reach(seen: &Seen, path: &str, page: &Page) -> Count {
    let found = found_on(seen, path, page);
    let n = page.relations.keys().filter(|ends| ends.iter().all(|it| found.contains(it))).count();
    [n as u64, page.relations.len() as u64]
}

fn junk(seen: &Seen, path: &str, page: &Page) -> Count {
    let is_junk = |it: &OnPage| !it.names.iter().any(|name| page.by_name.contains_key(name));
    let n = seen.of_page(path).filter(|(_, it)| is_junk(it)).count();
    [n as u64, seen.of_page(path).count() as u64]
}

/// The annotated types of the names found on a page, each with the entity that is found.
fn typed<'a>(
    seen: &'a Seen,
    path: &'a str,
    page: &'a Page,
) -> impl Iterator<Item = (&'a str, &'a Known)> {
    seen.of_page(path).filter_map(|(id, it)| {
        let entity = it.names.iter().find_map(|name| page.by_name.get(name))?;
        Some((page.types.get(entity)?.as_str(), seen.entities.get(id)?))
    })
}

fn types_shown(seen: &Seen, path: &str, page: &Page) -> Count {
    let n_shown = typed(seen, path, page).filter(|(_, it)| it.is_kind_shown).count();
    [n_shown as u64, typed(seen, path, page).count() as u64]
}

fn types_right(seen: &Seen, path: &str, page: &Page) -> Count {
    let shown = || typed(seen, path, page).filter(|(_, it)| it.is_kind_shown);
    let n_right = shown().filter(|(kind, it)| class(kind) == class(&it.kind)).count();
    [n_right as u64, shown().count() as u64]
}

/// Merges the types on which readers disagree.
fn class(kind: &str) -> &str {
    match kind {
        "Product" | "Technology" | "Service" | "Project" => "Product",
        "Identifier" | "API" => "API",
        other => other,
    }
}

/// Returns two shares: of the pairs taken for one entity, those that are one; of those that are
/// one, those taken for one.
fn pairs(gold: &Gold, seen: &Seen) -> (Vec<Count>, Vec<Count>) {
    let mut ids: BTreeMap<(&str, &String), BTreeSet<&String>> = BTreeMap::new();
    for ((path, id), it) in &seen.on_page {
        for name in it.names.iter().filter(|_| gold.pages.contains_key(path)) {
            ids.entry((group_of(path), name)).or_default().insert(id);
        }
    }
    let (mut precise, mut complete) = (Vec::new(), Vec::new());
    for pair in &gold.pairs {
        let [a, b] = pair.names.each_ref().map(|name| norm(name));
        let of = |name| ids.get(&(pair.group.as_str(), name));
        let (Some(first), Some(second)) = (of(&a), of(&b)) else { continue };
        let is_one = a != b && !first.is_disjoint(second);
        let is_right = u64::from(pair.is_same && is_one);
        precise.extend(is_one.then_some([is_right, 1]));
        complete.extend((pair.is_same && a != b).then_some([is_right, 1]));
    }
    (precise, complete)
}

fn definitions(gold: &Gold, seen: &Seen) -> Vec<Count> {
    let mut by_mentions: Vec<(u64, &(String, String))> =
        gold.defined_entities().map(|of| (seen.n_mentions(gold, of), of)).collect();
    by_mentions.sort_by(|a, b| b.cmp(a));
    let judged = by_mentions.into_iter().take(MOST_MENTIONED).map(|(_, of)| of);
    let is_useful = |of: &(String, String)| {
        let given = seen.definitions.get(of)?;
        let quotes = gold.definitions.get(of)?;
        quotes.iter().any(|quote| are_alike(given, quote)).then_some(())
    };
    judged.map(|of| [u64::from(is_useful(of).is_some()), 1]).collect()
}

/// Returns whether most words of the shorter text are in the other.
fn are_alike(a: &str, b: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> {
        text.split_whitespace().map(norm).filter(|it| !it.is_empty()).collect()
    };
    let (a, b) = (words(a), words(b));
    let n_shared = a.intersection(&b).count() as f64;
    n_shared >= ALIKE * a.len().min(b.len()).max(1) as f64
}

/// Returns the pairs that a page relates, under the annotator's names if they are annotated.
fn related<'a>(seen: &'a Seen, path: &'a str, page: &'a Page) -> BTreeSet<[&'a str; 2]> {
    let from = (path.to_string(), Default::default(), String::new());
    let stated = seen.relations.range(from..).take_while(|(p, ..)| p == path);
    let named = |id: &'a String| seen.gold_of(path, page, id).unwrap_or(id).as_str();
    let mut pairs = BTreeSet::new();
    for (_, ends, _) in stated {
        let mut pair = ends.each_ref().map(named);
        pair.sort_unstable();
        pairs.extend((pair[0] != pair[1]).then_some(pair));
    }
    pairs
}

fn relations_right(seen: &Seen, path: &str, page: &Page) -> Count {
    let found = related(seen, path, page);
    let is_right =
        |[a, b]: &&[&str; 2]| page.relations.contains_key(&[a.to_string(), b.to_string()]);
    [found.iter().filter(is_right).count() as u64, found.len() as u64]
}

fn relations_found(seen: &Seen, path: &str, page: &Page) -> Count {
    [relations_right(seen, path, page)[0], page.relations.len() as u64]
}

fn answers(gold: &Gold, seen: &Seen, n_steps: usize) -> Vec<Count> {
    let asked = gold.questions.iter().filter(|it| it.n_steps == n_steps);
    let is_answered = |it: &Question| {
        let hits = seen.answers.get(&it.id).map(Vec::as_slice).unwrap_or_default();
        let first = hits.iter().take(FIRST[n_steps - 1]);
        it.places.iter().all(|(path, [start, end])| {
            let holds =
                |hit: &Hit| hit.path == *path && hit.lines[0] <= *end && *start <= hit.lines[1];
            first.clone().any(holds)
        })
    };
    asked.map(|it| [u64::from(is_answered(it)), 1]).collect()
}
