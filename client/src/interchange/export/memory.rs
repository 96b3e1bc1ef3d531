//! Memory: writes notes as the file of the MCP server `server-memory` (see `memory/mod.rs` for its format).
//!
//! In: the statements of notes: facts of memory, observations, and relations stated by authors. Out: an entity for each
//! such note, each note that a relation leads to, and each entity of the memory folder; then the relations.
//! Invariant: the notes that `kgctl import server-memory` made of a file give that file again, except for the order of
//! its lines.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::Value;

use super::super::graph::{Document, Graph, Link};
use super::super::memory::note::{
    CATEGORY, EXACT_NAME, EXACT_TYPE, stated_fact, stated_name, stated_node_type, stated_type,
};
use super::super::memory::{Entity, Line, Relation};
use super::Written;

pub(super) fn write(graph: &Graph, out: &mut dyn Write) -> io::Result<Written> {
    let mut facts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut places: BTreeSet<(&str, u32)> = BTreeSet::new();
    for it in &graph.facts {
        facts.entry(&it.path).or_default().push(it.content.clone());
        places.extend((it.lines[0]..=it.lines[1]).map(|line| (it.path.as_str(), line)));
    }
    // A top-level observation is already a fact.
    for it in graph.observations.iter().filter(|it| !places.contains(&(&it.path, it.line))) {
        let fact = stated_fact(&it.category, &it.content, &it.tags, it.context.as_deref());
        facts.entry(&it.path).or_default().push(fact);
    }
    let typed: Vec<&Link> = graph.links.iter().filter(|it| it.typed).collect();
    // An entity for every note that states something, and for every target of a relation.
    let mut wanted: BTreeSet<&str> = facts.keys().copied().collect();
    for it in &typed {
        wanted.insert(&it.path);
        wanted.extend(it.to.as_deref());
    }
    let is_wanted = |it: &&Document| wanted.contains(it.path.as_str()) || it.memory;
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for it in graph.documents.iter().filter(is_wanted) {
        let entity = Entity {
            name: stated_name(value(it, EXACT_NAME), Some(&it.title)).unwrap_or_default(),
            entity_type: stated_node_type(
                value(it, EXACT_TYPE),
                Some(it.doc_type.as_str()).filter(|it| !it.is_empty()),
            )
            .unwrap_or_else(|| CATEGORY.to_string()),
            observations: facts.remove(it.path.as_str()).unwrap_or_default(),
        };
        line(out, &Line::Entity(&entity))?;
        names.insert(&it.path, entity.name);
    }
    let mut written: BTreeSet<Relation> = BTreeSet::new();
    for it in typed {
        let target = || it.target.clone().unwrap_or_default();
        let relation = Relation {
            from: names.get(it.path.as_str()).cloned().unwrap_or_else(|| it.path.clone()),
            // A target without a note keeps the words of its link.
            to: it.to.as_deref().and_then(|to| names.get(to).cloned()).unwrap_or_else(target),
            relation_type: stated_type(
                it.relation.as_deref().unwrap_or_default(),
                it.context.as_deref(),
            ),
        };
        // The server stores each relation once.
        if written.insert(relation.clone()) {
            line(out, &Line::Relation(&relation))?;
        }
    }
    Ok(Written { n_entities: names.len(), n_relations: written.len(), ..Written::default() })
}

fn line(out: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn value<'d>(it: &'d Document, key: &str) -> Option<&'d Value> {
    it.properties.as_ref()?.get(key)
}
