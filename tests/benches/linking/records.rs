//! Records: two lists in which the same things are written differently.
//!
//! A record is a document with one mention: its `name` or `title`. All other fields except the
//! price are its context, which the formula receives as tags. A pair is predicted if both mentions
//! denote the same entity.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use model::terms::{EntityType, norm_of, tokens_of};
use serde_json::{Map, Value};

use super::linker::{Denoted, Given, Linker};

/// Fields with the name of a record, and the type of such records: products have a name,
/// publications a title.
const NAME_FIELDS: [(&str, EntityType); 2] =
    [("name", EntityType::Product), ("title", EntityType::Document)];

struct Record {
    path: String,
    id: String,
    name: String,
    context: Vec<String>,
    entity_type: EntityType,
}

pub(crate) fn run(folder: &Path) -> Result<()> {
    let (a, b) = (read(folder, "a")?, read(folder, "b")?);
    let gold = gold(folder)?;
    let mut linker = Linker::new()?;
    let mut context = BTreeMap::new();
    for record in a.iter().chain(&b) {
        let end = record.name.len();
        let given = vec![Given { start: 0, end, entity_type: record.entity_type }];
        linker.add_given(&record.path, &record.name, given);
        context.insert(record.path.clone(), record.context.clone());
    }
    linker.settle(&context)?;
    let mut n_unsure = 0;
    let mut by_entity: BTreeMap<i64, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    for (record, is_a) in a.iter().map(|it| (it, true)).chain(b.iter().map(|it| (it, false))) {
        match linker.denoted(&record.path, 0, record.name.len())? {
            Some(Denoted::Entity(entity, _)) => {
                let lists = by_entity.entry(entity).or_default();
                let list = if is_a { &mut lists.0 } else { &mut lists.1 };
                list.push(&record.id);
            }
            Some(Denoted::Unsure) => n_unsure += 1,
            None => println!("  {}: no mention `{}`", record.path, record.name),
        }
    }
    let linked = pairs(by_entity.into_values());
    let mut by_norm: BTreeMap<String, (Vec<&str>, Vec<&str>)> = BTreeMap::new();
    a.iter().for_each(|it| by_norm.entry(norm_of(&it.name)).or_default().0.push(&it.id));
    b.iter().for_each(|it| by_norm.entry(norm_of(&it.name)).or_default().1.push(&it.id));
    let equal = pairs(by_norm.into_values());
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    println!("  {name}: {} and {} records, {} pairs in the gold", a.len(), b.len(), gold.len());
    println!("    {}", linker.states()?);
    println!("    equal norms  {}", scores(&equal, &gold));
    println!("    linked       {}, {n_unsure} records unsure", scores(&linked, &gold));
    if std::env::var_os("KG_SHOW").is_some() {
        show(&linked, &gold, &a, &b);
    }
    Ok(())
}

fn read(folder: &Path, list: &str) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(folder.join(format!("{list}.jsonl")))?;
    let mut records = Vec::new();
    for line in text.lines() {
        let fields: Map<String, Value> = serde_json::from_str(line)?;
        let field = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let (called, entity_type) =
            NAME_FIELDS.iter().find(|it| fields.contains_key(it.0)).context("no name")?;
        let name = field(called).split_whitespace().collect::<Vec<_>>().join(" ");
        let others = fields.keys().filter(|it| ![called, "id", "price"].contains(&it.as_str()));
        let context: BTreeSet<String> = others.flat_map(|it| tokens_of(field(it))).collect();
        let id = field("id").to_string();
        let path = format!("{list}{id}.txt");
        records.push(Record {
            path,
            id,
            name,
            context: context.into_iter().collect(),
            entity_type: *entity_type,
        });
    }
    // A record without a letter in its name names nothing.
    records.retain(|it| it.name.chars().any(char::is_alphanumeric));
    Ok(records)
}

type Pairs = BTreeSet<(String, String)>;

fn gold(folder: &Path) -> Result<Pairs> {
    let text = std::fs::read_to_string(folder.join("matches.tsv"))?;
    let rows = text.lines().skip(1).filter_map(|line| line.split_once('\t'));
    Ok(rows.map(|(a, b)| (a.to_string(), b.to_string())).collect())
}

fn pairs<'a>(lists: impl Iterator<Item = (Vec<&'a str>, Vec<&'a str>)>) -> Pairs {
    let mut out = Pairs::new();
    for (a, b) in lists {
        for a in a {
            out.extend(b.iter().map(|b| (a.to_string(), b.to_string())));
        }
    }
    out
}

fn scores(predicted: &Pairs, gold: &Pairs) -> String {
    let n_right = predicted.intersection(gold).count() as f64;
    let precision = n_right / predicted.len().max(1) as f64;
    let recall = n_right / gold.len().max(1) as f64;
    let f1 = 2.0 * precision * recall / (precision + recall).max(1e-9);
    format!(
        "P {precision:.3} R {recall:.3} F1 {f1:.3} ({} of {} pairs right)",
        n_right,
        predicted.len()
    )
}

/// Prints false positives and false negatives.
fn show(predicted: &Pairs, gold: &Pairs, a: &[Record], b: &[Record]) {
    let name = |list: &[Record], id: &str| {
        list.iter().find(|it| it.id == id).map_or(String::new(), |it| it.name.clone())
    };
    for (sign, pairs) in [("+", predicted.difference(gold)), ("-", gold.difference(predicted))] {
        for (one, other) in pairs.take(60) {
            println!("      {sign} {}  |  {}", name(a, one), name(b, other));
        }
    }
}
