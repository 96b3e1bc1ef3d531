//! Each format is read back by a parser that shares no code with its writer.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::{Value, json};

use super::super::graph::tests::{NASTY, nasty};
use super::*;

fn written(export: Export, file: &str, graph: &Graph) -> String {
    let mut out = Vec::new();
    export.write(graph, file, usize::MAX, &mut out).expect("written");
    let mut again = Vec::new();
    export.write(graph, file, usize::MAX, &mut again).expect("written");
    assert_eq!(out, again, "the same bytes each time");
    String::from_utf8(out).expect("UTF-8")
}

/// Parses RFC 4180 strictly into rows of fields.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let (mut is_quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        let row = rows.last_mut().expect("a row");
        let field = row.last_mut().expect("a field");
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if is_quoted => {
                is_quoted = false;
                assert!(matches!(chars.peek(), None | Some(',' | '\n')), "after a quote: {field}");
            }
            '"' => {
                assert!(field.is_empty(), "a quote within a plain field: {field}");
                is_quoted = true;
            }
            c if is_quoted => field.push(c),
            ',' => row.push(String::new()),
            '\n' => rows.push(vec![String::new()]),
            c => {
                assert!(c != '\r', "a bare carriage return");
                field.push(c);
            }
        }
    }
    let meant = |field: &mut String| {
        // As the scripts do.
        if field.starts_with('\'') {
            field.remove(0);
        }
    };
    rows.iter_mut().flatten().for_each(meant);
    assert!(!is_quoted && rows.pop() == Some(vec![String::new()]), "it ends with a line end");
    let n = rows[0].len();
    assert!(rows.iter().all(|row| row.len() == n), "as many fields in each row");
    rows
}

fn list(field: &str) -> Vec<String> {
    if field.is_empty() { Vec::new() } else { field.split('\u{1f}').map(str::to_string).collect() }
}

fn check_csv(graph: &Graph) {
    let rows = read_csv(&written(Export::Csv, "nodes.csv", graph));
    assert_eq!(rows[0][0], "id:ID");
    assert_eq!(rows.len(), graph.entities.len() + 1);
    for (row, it) in rows.iter().skip(1).zip(&graph.entities) {
        assert_eq!(
            (row[0].as_str(), &row[1], &row[2]),
            (&*it.id.to_string(), &it.name, &it.entity_type)
        );
        let aliases = it.aliases.clone().unwrap_or_default();
        if aliases != [""] {
            assert_eq!(list(&row[3]), aliases);
        }
        assert_eq!(row[4], it.home.clone().unwrap_or_default());
        assert_eq!(row[5].parse::<u64>(), Ok(it.documents));
        assert_eq!(row[6].parse::<f64>(), Ok(it.confidence));
        assert_eq!(list(&row[7])[0], "Entity");
        assert!(it.entity_type.is_empty() || list(&row[7]).contains(&it.entity_type));
    }
    let rows = read_csv(&written(Export::Csv, "relationships.csv", graph));
    assert_eq!(rows.len(), graph.relations.len() + 1);
    for (row, it) in rows.iter().skip(1).zip(&graph.relations) {
        assert_eq!((row[0].parse(), row[1].parse()), (Ok(it.subject_id), Ok(it.object_id)));
        assert_eq!(row[2], if it.predicate.is_empty() { "related_to" } else { &it.predicate });
        assert_eq!(row[3].parse::<f64>(), Ok(it.confidence));
        let places = |all: &[super::super::graph::Evidence]| -> Vec<String> {
            all.iter().map(|it| it.place()).collect()
        };
        assert_eq!((list(&row[4]), list(&row[5])), (places(&it.evidence), places(&it.denied)));
    }
}

/// Returns the text that XML can represent.
fn in_xml(text: &str) -> String {
    let is_nonchar = |c: char| matches!(c, '\u{fffe}' | '\u{ffff}');
    let is_lost = |c: char| is_nonchar(c) || (c < ' ' && !matches!(c, '\t' | '\n' | '\r'));
    text.chars().map(|c| if is_lost(c) { '\u{fffd}' } else { c }).collect()
}

/// An element of a GraphML file: its tag, attributes, and data by key.
type Element = (String, BTreeMap<String, String>, BTreeMap<String, String>);

fn read_graphml(text: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(text);
    let (mut out, mut key, mut value) = (Vec::new(), None, String::new());
    loop {
        match reader.read_event().expect("XML") {
            Event::Start(tag) => {
                let name = tag.name().as_ref().to_string();
                let attributes: BTreeMap<String, String> = tag
                    .attributes()
                    .map(|it| it.expect("an attribute"))
                    .map(|it| {
                        let key = it.key.as_ref().to_string();
                        (key, it.value.to_string())
                    })
                    .collect();
                if name == "data" {
                    key = attributes.get("key").cloned();
                    value.clear();
                } else {
                    out.push((name, attributes, BTreeMap::new()));
                }
            }
            Event::End(tag) if tag.name().as_ref() == "data" => {
                let key = key.take().expect("a key");
                out.last_mut().expect("an element").2.insert(key, value.clone());
            }
            Event::Text(text) => {
                let text = text.to_string();
                // As an XML 1.0 processor reads line ends.
                value.push_str(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            Event::GeneralRef(name) => match name.resolve_char_ref().expect("a reference") {
                Some(c) => value.push(c),
                None => {
                    let name = name.to_string();
                    value.push_str(
                        quick_xml::escape::resolve_predefined_entity(&name).expect("known"),
                    );
                }
            },
            Event::Eof => return out,
            _ => {}
        }
    }
}

fn check_graphml(graph: &Graph) {
    let text = written(Export::GraphMl, "", graph);
    let read = read_graphml(&text);
    let nodes: Vec<_> = read.iter().filter(|it| it.0 == "node").collect();
    assert_eq!(nodes.len(), graph.entities.len());
    for ((_, attributes, data), it) in nodes.into_iter().zip(&graph.entities) {
        assert_eq!(attributes["id"], format!("n{}", it.id));
        assert_eq!(data["name"], in_xml(&it.name));
        assert_eq!(data["type"], in_xml(&it.entity_type));
        let aliases: Vec<String> = serde_json::from_str(&data["aliases"]).expect("an array");
        let expected: Vec<String> = it.aliases.iter().flatten().map(|it| no_nonchars(it)).collect();
        assert_eq!(aliases, expected);
        assert_eq!(data.get("home").cloned(), it.home.as_deref().map(in_xml));
    }
    let edges: Vec<_> = read.iter().filter(|it| it.0 == "edge").collect();
    assert_eq!(edges.len(), graph.relations.len());
    for ((_, attributes, data), it) in edges.into_iter().zip(&graph.relations) {
        assert_eq!(attributes["source"], format!("n{}", it.subject_id));
        assert_eq!(attributes["target"], format!("n{}", it.object_id));
        assert_eq!(data["predicate"], in_xml(&it.predicate));
        assert_eq!(data["sureness"].parse::<f64>(), Ok(it.confidence));
        let places: Vec<String> = serde_json::from_str(&data["evidence"]).expect("an array");
        let expected: Vec<String> = it.evidence.iter().map(|it| no_nonchars(&it.place())).collect();
        assert_eq!(places, expected);
    }
}

/// Replaces the two noncharacters: only these are lost in JSON, which escapes control characters.
fn no_nonchars(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn check_json_ld(graph: &Graph) {
    let whole: Value = serde_json::from_str(&written(Export::JsonLd, "", graph)).expect("JSON");
    let nodes = whole["@graph"].as_array().expect("nodes");
    let of = |prefix: &str| -> Vec<&Value> {
        nodes
            .iter()
            .filter(|it| it["@id"].as_str().is_some_and(|id| id.starts_with(prefix)))
            .collect()
    };
    let documents = of("urn:kgd:document:");
    let paths: Vec<&str> = documents.iter().filter_map(|it| it["kg:path"].as_str()).collect();
    assert_eq!(paths, graph.documents.iter().map(|it| it.path.as_str()).collect::<Vec<_>>());
    let entities = of("urn:kgd:entity:");
    assert_eq!(entities.len(), graph.entities.len());
    for (node, it) in entities.iter().zip(&graph.entities) {
        assert_eq!(
            (&node["schema:name"], &node["kg:type"]),
            (&json!(it.name), &json!(it.entity_type))
        );
        assert_eq!(node["@id"], format!("urn:kgd:entity:{}", it.id));
        assert_eq!(node["kg:confidence"].as_f64(), Some(it.confidence));
        let n_edges = graph.relations.iter().filter(|edge| edge.subject_id == it.id).count();
        let written: usize = node
            .as_object()
            .expect("a node")
            .iter()
            .filter(|(key, value)| key.starts_with("kg:") && value.is_array())
            .map(|(_, value)| value.as_array().map_or(0, Vec::len))
            .sum();
        assert_eq!(written, n_edges);
    }
    let statements = of("urn:kgd:relation:");
    assert_eq!(statements.len(), graph.relations.len());
    for (node, it) in statements.iter().zip(&graph.relations) {
        assert_eq!(node["kg:predicate"], json!(it.predicate));
        let iri = node["rdf:predicate"]["@id"]
            .as_str()
            .expect("an IRI")
            .strip_prefix("kg:")
            .expect("ours");
        assert_eq!(notes::target::percent_decoded(iri), it.predicate);
        assert_eq!(node["rdf:object"]["@id"], format!("urn:kgd:entity:{}", it.object_id));
        let places: Vec<&str> = node["prov:wasDerivedFrom"]
            .as_array()
            .expect("places")
            .iter()
            .filter_map(|it| it["kg:place"].as_str())
            .collect();
        assert_eq!(places, it.evidence.iter().map(|it| it.place()).collect::<Vec<_>>());
    }
}

fn check_canvas(graph: &Graph) {
    let whole: Value = serde_json::from_str(&written(Export::Canvas, "", graph)).expect("JSON");
    let nodes: BTreeMap<&str, &Value> = whole["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|it| (it["id"].as_str().expect("an id"), it))
        .collect();
    assert_eq!(nodes.len(), graph.entities.len());
    for it in &graph.entities {
        let node = nodes[&*format!("n{}", it.id)];
        match &it.home {
            Some(home) => {
                assert_eq!((&node["type"], &node["file"]), (&json!("file"), &json!(home)))
            }
            None => {
                let text = node["text"].as_str().expect("a text");
                let (name, kind) = text
                    .strip_prefix("**")
                    .and_then(|it| it.split_once("**\n"))
                    .expect("two lines");
                assert_eq!(
                    (notes::plain::decoded(name), notes::plain::decoded(kind)),
                    (it.name.clone(), it.entity_type.clone())
                );
            }
        }
        assert!(["x", "y", "width", "height"].iter().all(|key| node[*key].is_i64()), "{node}");
    }
    let edges = whole["edges"].as_array().expect("edges");
    for (edge, it) in edges.iter().zip(&graph.relations) {
        assert_eq!(edge["label"], json!(it.predicate));
        assert!(nodes.contains_key(edge["fromNode"].as_str().expect("a node")));
        assert_eq!(edge["toNode"], format!("n{}", it.object_id));
    }
    assert_eq!(edges.len(), graph.relations.len());
}

fn check_all(graph: &Graph) {
    check_csv(graph);
    check_graphml(graph);
    check_json_ld(graph);
    check_canvas(graph);
    for file in ["load.neo4j.cypher", "load.memgraph.cypher"] {
        check_cypher(&written(Export::Csv, file, graph), graph);
    }
}

/// Splits a script into statements as Cypher does: outside of literals and backticks.
fn statements(script: &str) -> Vec<String> {
    let lines = script.lines().filter(|line| !line.starts_with("//"));
    let script = lines.collect::<Vec<_>>().join("\n");
    let (mut out, mut quote, mut chars) = (vec![String::new()], None, script.chars());
    while let Some(c) = chars.next() {
        let last = out.last_mut().expect("one");
        match (quote, c) {
            (None, ';') => out.push(String::new()),
            (Some('\''), '\\') => {
                last.push(c);
                last.extend(chars.next());
            }
            (None, '\'' | '`') => {
                quote = Some(c);
                last.push(c);
            }
            (Some(open), c) => {
                quote = Some(open).filter(|open| *open != c);
                last.push(c);
            }
            (_, c) => last.push(c),
        }
    }
    assert_eq!(quote, None, "{script}");
    assert_eq!(out.pop().as_deref().map(str::trim), Some(""));
    out
}

fn check_cypher(script: &str, graph: &Graph) {
    let mut types: Vec<&str> = graph.entities.iter().map(|it| it.entity_type.as_str()).collect();
    let mut predicates: Vec<&str> =
        graph.relations.iter().map(|it| it.predicate.as_str()).collect();
    for all in [&mut types, &mut predicates] {
        all.sort_unstable();
        all.dedup();
    }
    let found = statements(script);
    assert_eq!(found.len(), 1 + types.len() + predicates.len(), "{script}");
    for it in found.iter().skip(1) {
        assert!(it.trim_start().starts_with("LOAD CSV "), "{it}");
    }
}

#[test]
fn every_nasty_text_comes_back_from_every_format() {
    check_all(&nasty());
    check_all(&Graph::default());
    assert!(NASTY.len() > 30);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_text_comes_back_from_every_format(
        texts in prop::collection::vec(r"[ -~]{1,20}|\PC{1,12}|[\x00-\x1e\x20-\x7f]{1,12}", 1..5)
    ) {
        let mut graph = Graph::default();
        for (idx, text) in texts.iter().enumerate() {
            let home = (idx % 2 == 0).then_some(text);
            graph.take(json!({"kind": "entity", "id": idx, "name": text, "type": text, "home": home,
                "aliases": [text], "documents": 1, "confidence": 0.125})).expect("a row");
            graph.take(json!({"kind": "relation", "subject_id": idx, "object_id": 0, "predicate": text,
                "confidence": 0.5, "evidence": [{"path": text, "line": 1}]})).expect("a row");
        }
        check_all(&graph);
    }
}

#[test]
fn a_drawing_holds_the_most_related_and_tells_the_rest() {
    let mut graph = Graph::default();
    for id in 0..10 {
        graph
            .take(json!({"kind": "entity", "id": id, "name": format!("e{id}"), "documents": id}))
            .expect("a row");
        graph
            .take(
                json!({"kind": "relation", "subject_id": id, "object_id": 3, "predicate": "uses"}),
            )
            .expect("a row");
    }
    let mut out = Vec::new();
    let written = Export::Canvas.write(&graph, "", 4, &mut out).expect("written");
    let expected =
        Written { n_entities: 4, n_relations: 4, n_entities_left: 6, n_relations_left: 6 };
    assert_eq!(written, expected);
    let whole: Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(whole["nodes"][0]["id"], "n3", "the middle");
}

#[test]
fn scripts_have_a_statement_for_each_type() {
    let mut graph = Graph::default();
    graph.take(json!({"kind": "entity", "id": 1, "name": "A", "type": "Person"})).expect("a row");
    graph.take(json!({"kind": "relation", "subject_id": 1, "object_id": 1, "predicate": "it's `x`; \\"}))
        .expect("a row");
    expect_test::expect![[r#"
        // Memgraph. The server opens the files: put both where it finds them as `/import-data/`, then:
        //   mgconsole < load.memgraph.cypher

        CREATE INDEX ON :Entity(id);

        LOAD CSV FROM '/import-data/nodes.csv' WITH HEADER AS row
        WITH row WHERE coalesce(row.type, '') = 'Person'
        MERGE (n:Entity {id: row['id:ID']})
        SET n:`Person` SET n.name = coalesce(CASE WHEN row.name STARTS WITH '\'' THEN substring(row.name, 1) ELSE row.name END, ''), n.type = 'Person',
            n.home = CASE WHEN coalesce(row.home, '') = '' THEN null ELSE CASE WHEN row.home STARTS WITH '\'' THEN substring(row.home, 1) ELSE row.home END END,
            n.aliases = CASE WHEN coalesce(row['aliases:string[]'], '') = '' THEN [] ELSE split(CASE WHEN row['aliases:string[]'] STARTS WITH '\'' THEN substring(row['aliases:string[]'], 1) ELSE row['aliases:string[]'] END, '\u001F') END, n.documents = toInteger(row['documents:int']),
            n.confidence = toFloat(row['confidence:float']);

        LOAD CSV FROM '/import-data/relationships.csv' WITH HEADER AS row
        WITH row WHERE row[':TYPE'] = 'it\'s `x`; \\'
        MATCH (a:Entity {id: row[':START_ID']})
        MATCH (b:Entity {id: row[':END_ID']})
        MERGE (a)-[r:`it's ``x``; \`]->(b)
        SET r.confidence = toFloat(row['confidence:float']),
            r.evidence = CASE WHEN coalesce(row['evidence:string[]'], '') = '' THEN [] ELSE split(CASE WHEN row['evidence:string[]'] STARTS WITH '\'' THEN substring(row['evidence:string[]'], 1) ELSE row['evidence:string[]'] END, '\u001F') END,
            r.denied = CASE WHEN coalesce(row['denied:string[]'], '') = '' THEN [] ELSE split(CASE WHEN row['denied:string[]'] STARTS WITH '\'' THEN substring(row['denied:string[]'], 1) ELSE row['denied:string[]'] END, '\u001F') END;
    "#]].assert_eq(&written(Export::Csv, "load.memgraph.cypher", &graph));
}
