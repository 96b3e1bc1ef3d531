//! Sets: Re-DocRED and SemEval-2010 task 8.
//!
//! In: their JSON lines, in which spans count code points. Out: printed scores.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use model::terms::EntityType;
use serde_json::Value;

use crate::page::{Found, Given, of_text, relate};
use crate::{SOURCES, is_of, line};

/// Our predicate, Wikidata's property, and whether that has the opposite direction.
const WIKIDATA: [(&str, &str, bool); 21] = [
    ("located_in", "P131", false),
    ("located_in", "P17", false),
    ("located_in", "P276", false),
    ("located_in", "P159", false),
    ("located_in", "P30", false),
    ("located_in", "P706", false),
    ("located_in", "P206", false),
    ("located_in", "P150", true),
    ("part_of", "P361", false),
    ("part_of", "P463", false),
    ("part_of", "P527", true),
    ("owned_by", "P127", false),
    ("owned_by", "P137", false),
    ("owned_by", "P176", false),
    ("owned_by", "P178", false),
    ("owned_by", "P749", false),
    ("owned_by", "P1830", true),
    ("owned_by", "P355", true),
    ("precedes", "P156", false),
    ("precedes", "P155", true),
    ("precedes", "P1366", false),
];

/// Our predicate, SemEval's relation, and whether that has the opposite direction.
const SEMEVAL: [(&str, &str, bool); 5] = [
    ("part_of", "Component-Whole", false),
    ("part_of", "Member-Collection", false),
    ("owned_by", "Product-Producer", false),
    ("uses", "Instrument-Agency", true),
    ("located_in", "Content-Container", false),
];

type Pair = (usize, u32, u32);
type Triple = (usize, u32, &'static str, u32);

/// Found and gold relations of one set.
#[derive(Default)]
struct Tally {
    gold_pairs: BTreeSet<Pair>,
    gold_triples: BTreeSet<Triple>,
    found: Vec<(usize, Found)>,
}

impl Tally {
    /// Adds a gold relation with our predicate and direction, if one corresponds.
    fn gold(&mut self, (doc, head, tail): Pair, label: &str, table: &[(&'static str, &str, bool)]) {
        self.gold_pairs.insert((doc, head, tail));
        for (predicate, _, is_reversed) in table.iter().filter(|row| row.1 == label) {
            let (head, tail) = if *is_reversed { (tail, head) } else { (head, tail) };
            self.gold_triples.insert((doc, head, predicate, tail));
        }
    }

    fn print(&self, set: &str, table: &[(&'static str, &str, bool)]) {
        for source in SOURCES {
            let found = || self.found.iter().filter(|(_, it)| is_of(source, it));
            let triples: BTreeSet<Triple> = found()
                .filter_map(|(doc, it)| Some((*doc, it.subject?, it.predicate, it.object?)))
                .collect();
            let pairs: BTreeSet<Pair> =
                triples.iter().map(|(doc, s, _, o)| (*doc, *s, *o)).collect();
            line(&format!("{set}, pairs"), source, &self.gold_pairs, &pairs);
            let either = |pairs: &BTreeSet<Pair>| -> BTreeSet<Pair> {
                pairs.iter().map(|(doc, a, b)| (*doc, *a.min(b), *a.max(b))).collect()
            };
            line(
                &format!("{set}, pairs, either way"),
                source,
                &either(&self.gold_pairs),
                &either(&pairs),
            );
            let is_mapped = |it: &&Triple| table.iter().any(|row| row.0 == it.2);
            let mapped: BTreeSet<Triple> = triples.iter().filter(is_mapped).copied().collect();
            line(&format!("{set}, typed"), source, &self.gold_triples, &mapped);
            for predicate in table.iter().map(|row| row.0).collect::<BTreeSet<_>>() {
                let of = |all: &BTreeSet<Triple>| -> BTreeSet<Triple> {
                    all.iter().filter(|it| it.2 == predicate).copied().collect()
                };
                line(&format!("{set}, {predicate}"), source, &of(&self.gold_triples), &of(&mapped));
            }
        }
    }
}

/// Documents with all relations between their entities, most of which are not stated in a single
/// sentence.
pub(crate) fn redocred(path: &Path) -> Result<()> {
    let mut tally = Tally::default();
    for (doc, row) in rows(path)?.iter().enumerate() {
        let text = row["text"].as_str().context("no `text`")?;
        let bytes = Bytes::of(text);
        let mut given: Vec<Given> = Vec::new();
        for (entity, spans) in row["spans"].as_array().into_iter().flatten().enumerate() {
            let entity_type = match row["types"][entity].as_str() {
                Some("PER") => EntityType::Person,
                Some("ORG") => EntityType::Organization,
                Some("LOC") => EntityType::Location,
                Some("TIME" | "NUM") => EntityType::Date,
                _ => EntityType::Concept,
            };
            for span in spans.as_array().into_iter().flatten() {
                let ends =
                    span[0].as_u64().zip(span[1].as_u64()).context("a span of two numbers")?;
                given.push((bytes.range(ends), entity as u32, entity_type));
            }
        }
        for relation in row["relations"].as_array().into_iter().flatten() {
            let ends = relation[0].as_u64().zip(relation[1].as_u64()).context("two entities")?;
            let label = relation[2].as_str().unwrap_or("");
            tally.gold((doc, ends.0 as u32, ends.1 as u32), label, &WIKIDATA);
        }
        tally.found.extend(relate(of_text(text), given)?.into_iter().map(|it| (doc, it)));
    }
    tally.print("Re-DocRED dev", &WIKIDATA);
    Ok(())
}

/// Sentences with two nouns, with or without a relation between them.
pub(crate) fn semeval(path: &Path) -> Result<()> {
    let mut tally = Tally::default();
    for (doc, row) in rows(path)?.iter().enumerate() {
        let text = row["text"].as_str().context("no `text`")?;
        let bytes = Bytes::of(text);
        let mut given: Vec<Given> = Vec::new();
        let mut starts = Vec::new();
        for (n, entity) in row["entities"].as_array().into_iter().flatten().enumerate() {
            let ends = entity["start"].as_u64().zip(entity["end"].as_u64()).context("a span")?;
            starts.push(ends.0);
            given.push((bytes.range(ends), n as u32, EntityType::Concept));
        }
        for relation in row["relations"].as_array().into_iter().flatten() {
            let of = |end: &Value| starts.iter().position(|start| end[0].as_u64() == Some(*start));
            let (head, tail) =
                of(&relation["head"]).zip(of(&relation["tail"])).context("its nouns")?;
            let label = relation["label"].as_str().unwrap_or("");
            tally.gold((doc, head as u32, tail as u32), label, &SEMEVAL);
        }
        tally.found.extend(relate(of_text(text), given)?.into_iter().map(|it| (doc, it)));
    }
    tally.print("SemEval-2010-8 dev", &SEMEVAL);
    Ok(())
}

fn rows(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The byte of each code point.
struct Bytes(Vec<usize>);

impl Bytes {
    fn of(text: &str) -> Self {
        Bytes(text.char_indices().map(|(at, _)| at).chain([text.len()]).collect())
    }

    fn range(&self, ends: (u64, u64)) -> std::ops::Range<usize> {
        let at = |n: u64| self.0.get(n as usize).or(self.0.last()).copied().unwrap_or(0);
        at(ends.0)..at(ends.1)
    }
}
