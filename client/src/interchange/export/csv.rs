//! CSV: for `neo4j-admin database import`, and for `LOAD CSV` of Neo4j and Memgraph.
//!
//! Facts (Neo4j Operations Manual, "Import"; Cypher Manual and Memgraph's documentation, `LOAD CSV`): a header names
//! each column, with `:ID`, `:LABEL`, `:START_ID`, `:END_ID`, `:TYPE` and types after a colon; fields are quoted with
//! `"`, doubled within; labels and arrays are separated by `--array-delimiter`, here U+001F, which no name contains;
//! fields of several lines need `--multiline-fields=true`. `LOAD CSV` returns every field as text; Neo4j reads a
//! backslash before a quotation mark as an escape unless `db.import.csv.legacy_quote_escaping` is false. Memgraph reads
//! the dialect of Excel, and its server opens the file itself. In both, labels and types of relationships cannot be
//! parameters, so the scripts have a statement for each. Within backticks, a backtick is doubled.
//! Decisions: every entity has the label `Entity` and its own type; U+001F in a text becomes a blank. A text that a
//! spreadsheet would take for a formula is prefixed with `'` (OWASP, "CSV Injection"); the scripts remove it,
//! `neo4j-admin` does not. Numbers need no prefix.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::super::graph::{Evidence, Graph};
use super::Written;

/// Separates the items of a list.
const SEPARATOR: char = '\u{1f}';

/// The database of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Neo4j,
    Memgraph,
}

pub(super) fn nodes(graph: &Graph, out: &mut dyn Write) -> io::Result<Written> {
    out.write_all(
        b"id:ID,name,type,aliases:string[],home,documents:int,confidence:float,:LABEL\n",
    )?;
    for it in &graph.entities {
        let aliases = it.aliases.as_deref().unwrap_or_default();
        let fields = [
            it.id.to_string(),
            field(&it.name),
            field(&it.entity_type),
            field(&list(aliases.iter().map(String::as_str))),
            field(it.home.as_deref().unwrap_or("")),
            it.documents.to_string(),
            it.confidence.to_string(),
            field(&list(labels(&it.entity_type))),
        ];
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(Written { n_entities: graph.entities.len(), ..Written::default() })
}

pub(super) fn relationships(graph: &Graph, out: &mut dyn Write) -> io::Result<Written> {
    out.write_all(b":START_ID,:END_ID,:TYPE,confidence:float,evidence:string[],denied:string[]\n")?;
    for it in &graph.relations {
        let places = |all: &[Evidence]| {
            let places: Vec<String> = all.iter().map(Evidence::place).collect();
            field(&list(places.iter().map(String::as_str)))
        };
        let fields = [
            it.subject_id.to_string(),
            it.object_id.to_string(),
            field(relation_type(&it.predicate)),
            it.confidence.to_string(),
            places(&it.evidence),
            places(&it.denied),
        ];
        writeln!(out, "{}", fields.join(","))?;
    }
    Ok(Written { n_relations: graph.relations.len(), ..Written::default() })
}

/// Returns the labels of an entity of this type.
fn labels(entity_type: &str) -> impl Iterator<Item = &str> {
    std::iter::once("Entity")
        .chain(Some(entity_type).filter(|it| !it.is_empty() && *it != "Entity"))
}

/// Returns the type of a relationship; neither database accepts an empty one.
fn relation_type(predicate: &str) -> &str {
    if predicate.is_empty() { "related_to" } else { predicate }
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.map(|it| it.replace(SEPARATOR, " ")).collect();
    items.join(&SEPARATOR.to_string())
}

/// Characters that start a formula, including full-width forms, and those that a spreadsheet skips.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Returns a text that no spreadsheet takes for a formula: prefixed with `'`. A text that begins with `'` is prefixed,
/// too, so that removing one always gives the original.
fn harmless(text: &str) -> Cow<'_, str> {
    match text.starts_with(FORMULA) || text.starts_with('\'') {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// Returns Cypher for the original text of a column.
fn meant(column: &str) -> String {
    format!("CASE WHEN {column} STARTS WITH '\\'' THEN substring({column}, 1) ELSE {column} END")
}

/// Quotes a field as RFC 4180 requires.
fn field(text: &str) -> String {
    let text = &*harmless(text);
    // More than RFC 4180 asks for: `LOAD CSV` trims blanks at the edges, and treats a backslash as an escape.
    let is_plain = |c: char| !matches!(c, '"' | ',' | '\n' | '\r' | '\'' | '\\' | '\u{feff}');
    let has_edges = text.trim() != text;
    if !text.is_empty() && !has_edges && text.chars().all(is_plain) {
        text.to_string()
    } else if text.is_empty() {
        String::new()
    } else {
        format!("\"{}\"", text.replace('"', "\"\""))
    }
}

pub(super) fn load(graph: &Graph, dialect: Dialect, out: &mut dyn Write) -> io::Result<Written> {
    let types: BTreeSet<&str> = graph.entities.iter().map(|it| it.entity_type.as_str()).collect();
    let predicates: BTreeSet<&str> =
        graph.relations.iter().map(|it| relation_type(&it.predicate)).collect();
    let mut text = head(dialect).to_string();
    for it in &types {
        let labels: String =
            // Rows of `Entity` itself need no further label, hence the `skip`.
            labels(it).skip(1).map(|label| format!("SET n:{} ", quoted(label))).collect();
        let _ = write!(
            text,
            // `MERGE` makes the script idempotent: it may be run again after a new export.
            "\n{}\nWITH row WHERE coalesce(row.type, '') = {}\n\
             MERGE (n:Entity {{id: row['id:ID']}})\n{labels}\
             SET n.name = coalesce({}, ''), n.type = {},\n\
             \x20   n.home = CASE WHEN coalesce(row.home, '') = '' THEN null ELSE {} END,\n\
             \x20   n.aliases = {}, n.documents = toInteger(row['documents:int']),\n\
             \x20   n.confidence = toFloat(row['confidence:float']);\n",
            reading(dialect, "nodes.csv"),
            literal(&harmless(it)),
            meant("row.name"),
            literal(it),
            meant("row.home"),
            items("aliases:string[]"),
        );
    }
    for it in &predicates {
        let _ = write!(
            text,
            "\n{}\nWITH row WHERE row[':TYPE'] = {}\n\
             MATCH (a:Entity {{id: row[':START_ID']}})\nMATCH (b:Entity {{id: row[':END_ID']}})\n\
             MERGE (a)-[r:{}]->(b)\n\
             SET r.confidence = toFloat(row['confidence:float']),\n\
             \x20   r.evidence = {},\n\x20   r.denied = {};\n",
            reading(dialect, "relationships.csv"),
            literal(&harmless(it)),
            quoted(it),
            items("evidence:string[]"),
            items("denied:string[]"),
        );
    }
    out.write_all(text.as_bytes())?;
    Ok(Written::default())
}

fn head(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Neo4j => {
            "// Neo4j 5 and later. Put both CSV files into the server's `import` folder, then:\n\
             //   cypher-shell -f load.neo4j.cypher\n\
             // Names with a backslash before a quotation mark need `db.import.csv.legacy_quote_escaping=false`.\n\
             // Into a new database, faster:\n\
             //   neo4j-admin database import full --array-delimiter=U+001F --multiline-fields=true \\\n\
             //     --nodes=nodes.csv --relationships=relationships.csv neo4j\n\
             \n\
             CREATE CONSTRAINT kgd_entity IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;\n"
        }
        Dialect::Memgraph => {
            "// Memgraph. The server opens the files: put both where it finds them as `/import-data/`, then:\n\
             //   mgconsole < load.memgraph.cypher\n\
             \n\
             CREATE INDEX ON :Entity(id);\n"
        }
    }
}

fn reading(dialect: Dialect, file: &str) -> String {
    match dialect {
        Dialect::Neo4j => format!("LOAD CSV WITH HEADERS FROM 'file:///{file}' AS row"),
        Dialect::Memgraph => format!("LOAD CSV FROM '/import-data/{file}' WITH HEADER AS row"),
    }
}

/// Returns the items of a list in a field.
fn items(column: &str) -> String {
    format!(
        "CASE WHEN coalesce(row['{column}'], '') = '' THEN [] ELSE split({}, '\\u001F') END",
        meant(&format!("row['{column}']"))
    )
}

/// Returns a text as a Cypher literal.
fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            // Line separators would end a comment or a line in some readers.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Quotes a label or type, of any characters, for Cypher.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cypher_reads_what_was_meant() {
        assert_eq!(literal("it's a \\ \n"), "'it\\'s a \\\\ \\u000A'");
        assert_eq!(quoted("part`of"), "`part``of`");
        assert_eq!(field("a\"b"), "\"a\"\"b\"");
        assert_eq!(field(" a"), "\" a\"");
        assert_eq!(field("a b"), "a b");
    }

    #[test]
    fn no_spreadsheet_takes_a_field_for_a_formula() {
        for (text, written) in [
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("+1", "\"'+1\""),
            ("-1+1", "\"'-1+1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("＝1", "\"'＝1\""),
            ("'tis", "\"''tis\""),
            ("a=b", "a=b"),
        ] {
            assert_eq!(field(text), written);
        }
    }
}
