//! GraphML: nodes and edges as XML.
//!
//! Facts (GraphML 1.0 specification; XML 1.0, "Char"): data of nodes and edges is declared by `key`, with one of six
//! types; there are no lists, so several names or places are a JSON array in a text. XML cannot hold control characters
//! other than tab and line ends, nor U+FFFE and U+FFFF; a carriage return must be written `&#13;`.

use std::io::{self, Write};

use serde_json::Value;

use super::super::graph::{Evidence, Graph};
use super::Written;

/// Keys: id, element, name, type. `sureness` is `confidence` on edges: ids must be unique.
const KEYS: [(&str, &str, &str, &str); 10] = [
    ("name", "node", "name", "string"),
    ("type", "node", "type", "string"),
    ("aliases", "node", "aliases", "string"),
    ("home", "node", "home", "string"),
    ("documents", "node", "documents", "long"),
    ("confidence", "node", "confidence", "double"),
    ("predicate", "edge", "predicate", "string"),
    ("sureness", "edge", "confidence", "double"),
    ("evidence", "edge", "evidence", "string"),
    ("denied", "edge", "denied", "string"),
];

pub(super) fn write(graph: &Graph, out: &mut dyn Write) -> io::Result<Written> {
    out.write_all(
        b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
    )?;
    for (id, of, name, kind) in KEYS {
        writeln!(
            out,
            "  <key id=\"{id}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
        )?;
    }
    out.write_all(b"  <graph id=\"kgd\" edgedefault=\"directed\">\n")?;
    for it in &graph.entities {
        writeln!(out, "    <node id=\"n{}\">", it.id)?;
        data(out, "name", &it.name)?;
        data(out, "type", &it.entity_type)?;
        data(out, "aliases", &array(it.aliases.iter().flatten().cloned()))?;
        if let Some(home) = &it.home {
            data(out, "home", home)?;
        }
        data(out, "documents", &it.documents.to_string())?;
        data(out, "confidence", &it.confidence.to_string())?;
        out.write_all(b"    </node>\n")?;
    }
    for (idx, it) in graph.relations.iter().enumerate() {
        let (from, to) = (it.subject_id, it.object_id);
        writeln!(out, "    <edge id=\"e{idx}\" source=\"n{from}\" target=\"n{to}\">")?;
        data(out, "predicate", &it.predicate)?;
        data(out, "sureness", &it.confidence.to_string())?;
        data(out, "evidence", &array(it.evidence.iter().map(Evidence::place)))?;
        if !it.denied.is_empty() {
            data(out, "denied", &array(it.denied.iter().map(Evidence::place)))?;
        }
        out.write_all(b"    </edge>\n")?;
    }
    out.write_all(b"  </graph>\n</graphml>\n")?;
    let (n_entities, n_relations) = (graph.entities.len(), graph.relations.len());
    Ok(Written { n_entities, n_relations, ..Written::default() })
}

fn data(out: &mut dyn Write, key: &str, text: &str) -> io::Result<()> {
    writeln!(out, "      <data key=\"{key}\">{}</data>", escaped(text))
}

fn array(items: impl Iterator<Item = String>) -> String {
    Value::Array(items.map(Value::String).collect()).to_string()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            '\n' | '\t' => out.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            // Allowed, but readers of XML 1.1 normalize them to line ends.
            '\u{7f}'..='\u{9f}' | '\u{2028}' => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}
