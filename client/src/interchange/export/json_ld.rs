//! JSON-LD: entities, documents and relations as linked data.
//!
//! Facts (W3C JSON-LD 1.1; schema.org; W3C PROV-O): `@context` gives prefixes, `@graph` holds the nodes, each with
//! `@id` and `@type`. schema.org has types for persons, organizations, places, products, services, events and works;
//! for the others there is a vocabulary of our own, `kg:`. A relation is an edge of its subject, and a node of its own
//! (`rdf:Statement`) with its confidence and `prov:wasDerivedFrom`, the places that state it.
//! Invariant: names of relations are percent-encoded in their IRIs, and stand as they are in `kg:predicate`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::super::graph::{Document, Entity, Evidence, Graph, Relation};
use super::Written;

/// Vocabulary for what schema.org does not cover.
const KG: &str = "urn:kgd:vocabulary:";

pub(super) fn write(graph: &Graph, out: &mut dyn Write) -> io::Result<Written> {
    let context = json!({
        "schema": "https://schema.org/", "prov": "http://www.w3.org/ns/prov#",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "kg": KG,
        "kg:place": {"@type": "schema:Text"},
    });
    writeln!(out, "{{\"@context\": {context},\n\"@graph\": [")?;
    let mut edges: BTreeMap<i64, Vec<&Relation>> = BTreeMap::new();
    for it in &graph.relations {
        edges.entry(it.subject_id).or_default().push(it);
    }
    let documents = graph.documents.iter().map(document);
    let none = Vec::new();
    let entities = graph.entities.iter().map(|it| entity(it, edges.get(&it.id).unwrap_or(&none)));
    let relations = graph.relations.iter().enumerate().map(|(idx, it)| statement(idx, it));
    let mut is_first = true;
    for node in documents.chain(entities).chain(relations) {
        let gap = if is_first { "" } else { ",\n" };
        is_first = false;
        write!(out, "{gap}{node}")?;
    }
    out.write_all(b"\n]}\n")?;
    let (n_entities, n_relations) = (graph.entities.len(), graph.relations.len());
    Ok(Written { n_entities, n_relations, ..Written::default() })
}

fn document(it: &Document) -> Value {
    let mut node = json!({
        "@id": document_id(&it.path), "@type": ["schema:DigitalDocument", "prov:Entity"],
        "schema:name": it.title, "kg:path": it.path,
    });
    let texts = [
        ("kg:type", Some(&it.doc_type)),
        ("schema:inLanguage", Some(&it.language)),
        ("schema:dateCreated", Some(&it.day)),
        ("schema:encodingFormat", Some(&it.format)),
        ("schema:url", it.source_url.as_ref()),
        ("schema:author", it.author.as_ref()),
    ];
    for (key, value) in texts {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            node[key] = value.as_str().into();
        }
    }
    if let Some(tags) = it.tags.as_ref().filter(|tags| !tags.is_empty()) {
        node["schema:keywords"] = json!(tags);
    }
    node
}

fn entity(it: &Entity, edges: &[&Relation]) -> Value {
    let mut node = json!({
        "@id": entity_id(it.id), "@type": schema_types(&it.entity_type), "schema:name": it.name,
        "kg:type": it.entity_type, "kg:documents": it.documents, "kg:confidence": it.confidence,
    });
    if let Some(aliases) = it.aliases.as_ref().filter(|aliases| !aliases.is_empty()) {
        node["schema:alternateName"] = json!(aliases);
    }
    if let Some(home) = &it.home {
        node["schema:subjectOf"] = json!({"@id": document_id(home)});
    }
    let mut objects: Map<String, Value> = Map::new();
    for edge in edges {
        // One key may have several objects: JSON has no repeated keys, so they form a list.
        let key = predicate_id(&edge.predicate);
        let list = objects.entry(key).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(json!({"@id": entity_id(edge.object_id)}));
        }
    }
    if let Value::Object(node) = &mut node {
        node.extend(objects);
    }
    node
}

fn statement(idx: usize, it: &Relation) -> Value {
    let places = |all: &[Evidence]| -> Vec<Value> {
        let place = |it: &Evidence| {
            json!({"@type": "prov:Entity", "kg:place": it.place(), "kg:confidence": it.confidence,
                "kg:pattern": it.pattern, "schema:isPartOf": {"@id": document_id(&it.path)}})
        };
        all.iter().map(place).collect()
    };
    let mut node = json!({
        "@id": format!("urn:kgd:relation:{idx}"), "@type": "rdf:Statement",
        "rdf:subject": {"@id": entity_id(it.subject_id)},
        "rdf:predicate": {"@id": predicate_id(&it.predicate)},
        "rdf:object": {"@id": entity_id(it.object_id)},
        "kg:predicate": it.predicate, "kg:confidence": it.confidence,
        "prov:wasDerivedFrom": places(&it.evidence),
    });
    if !it.denied.is_empty() {
        node["kg:deniedBy"] = json!(places(&it.denied));
    }
    node
}

/// Returns the type of schema.org, if one fits, and our own.
fn schema_types(entity_type: &str) -> Value {
    let schema = match entity_type {
        "Person" => "schema:Person",
        "Organization" => "schema:Organization",
        "Location" => "schema:Place",
        "Product" => "schema:Product",
        "Service" => "schema:Service",
        "API" => "schema:WebAPI",
        "Project" => "schema:Project",
        "Event" => "schema:Event",
        "Document" => "schema:CreativeWork",
        "Step" => "schema:HowToStep",
        "Concept" => "schema:DefinedTerm",
        _ => "schema:Thing",
    };
    json!([schema, "kg:Entity"])
}

fn entity_id(id: i64) -> String {
    format!("urn:kgd:entity:{id}")
}

fn document_id(path: &str) -> String {
    format!("urn:kgd:document:{}", encoded(path))
}

fn predicate_id(predicate: &str) -> String {
    format!("kg:{}", encoded(predicate))
}

/// Percent-encodes a text as a part of an IRI.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            // Slashes stay, so that paths remain readable.
            b'/' => out.push('/'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
