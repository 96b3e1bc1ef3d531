//! Corpus: relations of the tuning half of our own corpus, given its gold mentions and their
//! referents.
//!
//! In: `CORPUS/docs` and `CORPUS/gold`. Out: printed scores. The pages of the reporting half are
//! never opened.
//! Invariants: a relation counts by document, canonical names and predicate; `related_to` has no
//! direction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use formats::Normalizer;
use model::Stage as _;
use model::document::{Document, Pass, SourceDoc};
use model::terms::{ContentHash, EntityType, RelPath, Span, norm_of};

use crate::page::{Found, Given, relate};
use crate::{SOURCES, is_of, line};

/// Document, subject, predicate, object.
type Mark = (String, String, String, String);

pub(crate) fn tuning_half(corpus: &Path) -> Result<()> {
    let pages: BTreeSet<String> = table::<2>(&corpus.join("gold/halves.tsv"))?
        .into_iter()
        .filter(|[_, half]| half == "tuning")
        .map(|[path, _]| path)
        .collect();
    let mut mentions: BTreeMap<String, Vec<[String; 5]>> = BTreeMap::new();
    for row in table::<5>(&corpus.join("gold/mentions.tsv"))? {
        if pages.contains(&row[0]) {
            mentions.entry(row[0].clone()).or_default().push(row);
        }
    }
    let mut found: Vec<(Mark, Found)> = Vec::new();
    for (path, rows) in &mentions {
        found.extend(read(&corpus.join("docs"), path, rows)?);
    }
    let gold: BTreeSet<Mark> = table::<4>(&corpus.join("gold/relations.tsv"))?
        .into_iter()
        .filter(|[path, ..]| pages.contains(path))
        .map(|[path, subject, predicate, object]| mark(&path, &subject, &predicate, &object))
        .collect();
    let annotated: BTreeSet<&str> = gold.iter().map(|it| it.2.as_str()).collect();
    for source in SOURCES {
        let is_judged =
            |it: &&(Mark, Found)| is_of(source, &it.1) && annotated.contains(it.0.2.as_str());
        let found: BTreeSet<Mark> = found.iter().filter(is_judged).map(|it| it.0.clone()).collect();
        line("corpus, tuning half, typed", source, &gold, &found);
        if std::env::var_os("SHOW").is_some() && source == "both" {
            found.difference(&gold).for_each(|it| println!("  wrong  {it:?}"));
            gold.difference(&found).for_each(|it| println!("  missed {it:?}"));
        }
        let pairs = |marks: &BTreeSet<Mark>| -> BTreeSet<_> {
            marks.iter().map(|it| (it.0.clone(), it.1.clone(), it.3.clone())).collect()
        };
        line("corpus, tuning half, pairs", source, &pairs(&gold), &pairs(&found));
    }
    Ok(())
}

fn mark(path: &str, subject: &str, predicate: &str, object: &str) -> Mark {
    let (mut subject, mut object) = (norm_of(subject), norm_of(object));
    if predicate == "related_to" && object < subject {
        std::mem::swap(&mut subject, &mut object);
    }
    (path.to_string(), subject, predicate.to_string(), object)
}

fn read(docs: &Path, path: &str, rows: &[[String; 5]]) -> Result<Vec<(Mark, Found)>> {
    let bytes = std::fs::read(docs.join(path)).with_context(|| path.to_string())?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let source = SourceDoc {
        path: RelPath::new(path),
        hash: ContentHash::of(&bytes),
        bytes: Arc::from(bytes),
        mtime_ms: 0,
        pass: Pass::Deep,
    };
    let settings = config::Settings::default();
    let mut normalizer = Normalizer::new(&settings.watch, &settings.privacy);
    let doc = normalizer.run(source).map_err(|fault| anyhow!("{path}: {fault}"))?;
    let places = places_of(&doc);
    let mut names: Vec<&str> = rows.iter().map(|row| row[4].as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut given: Vec<Given> = Vec::new();
    for [_, surface, nth, entity_type, entity] in rows {
        let starts = text.match_indices(surface.as_str()).map(|(at, _)| at);
        let at = starts.into_iter().nth(nth.parse::<usize>()?.saturating_sub(1));
        let Some(start) = at.and_then(|at| places.get(&at)) else { continue };
        let span = *start..start + surface.len();
        if doc.text.get(span.clone()) != Some(surface) {
            continue;
        }
        let name = names.binary_search(&entity.as_str()).unwrap_or(0) as u32;
        given.push((span, name, EntityType::parse(entity_type).unwrap_or(EntityType::Concept)));
    }
    let title =
        rows.iter().find(|row| row[1] == doc.title).map_or(doc.title.clone(), |row| row[4].clone());
    let name = |it: Option<u32>| it.and_then(|n| names.get(n as usize).copied()).unwrap_or(&title);
    let found = relate(doc.clone(), given)?;
    let marked = |it: Found| (mark(path, name(it.subject), it.predicate, name(it.object)), it);
    Ok(found.into_iter().map(marked).collect())
}

/// Maps each byte of the file to its place in the normalized text, if it has one.
fn places_of(doc: &Document) -> BTreeMap<usize, usize> {
    let starts = doc.text.char_indices();
    starts.map(|(at, c)| (doc.map.to_raw(Span::new(at, at + c.len_utf8())).start(), at)).collect()
}

fn table<const N: usize>(path: &Path) -> Result<Vec<[String; N]>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let rows = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    rows.map(|row| {
        let cells: Vec<String> = row.split('\t').map(str::to_string).collect();
        cells.try_into().map_err(|_| anyhow!("{}: `{row}` has not {N} columns", path.display()))
    })
    .collect()
}
