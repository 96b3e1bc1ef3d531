//! Export: writes a graph in formats that other programs read.
//!
//! In: a [`Graph`], a writer. Out: bytes, the same for the same graph.
//! Invariants: every name and text can be read back unchanged, except for characters that a format does not allow,
//! which become `\u{fffd}`; entities keep their ids; each relation has its evidence (`path:line`).

mod canvas;
mod csv;
mod graphml;
mod json_ld;
mod memory;

use std::io::{self, Write};

use super::graph::Graph;

pub use canvas::DEFAULT_LIMIT;

/// The export formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// Nodes, relationships, and scripts that load them, for Neo4j and Memgraph.
    Csv,
    /// For Gephi, yEd, Cytoscape, NetworkX.
    GraphMl,
    /// Linked data.
    JsonLd,
    /// A drawing in Obsidian.
    Canvas,
    /// The file of the MCP server `server-memory`.
    ServerMemory,
}

impl Export {
    /// Every format, in the order of the help.
    pub const ALL: [Export; 5] =
        [Export::Csv, Export::GraphMl, Export::JsonLd, Export::Canvas, Export::ServerMemory];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Export::Csv => "csv",
            Export::GraphMl => "graphml",
            Export::JsonLd => "json-ld",
            Export::Canvas => "canvas",
            Export::ServerMemory => "server-memory",
        }
    }

    /// Returns the format of that name.
    pub fn parse(name: &str) -> Option<Export> {
        Export::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Returns the default name of the file, or of the folder for several.
    pub fn file_name(self, project: &str) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = project.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
        let name = name.trim_start_matches('.');
        match self {
            Export::Csv => format!("{name}-csv"),
            Export::GraphMl => format!("{name}.graphml"),
            Export::JsonLd => format!("{name}.jsonld"),
            Export::Canvas => format!("{name}.canvas"),
            Export::ServerMemory => format!("{name}-memory.jsonl"),
        }
    }

    /// Returns its files: one without a name, or several.
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Export::Csv => {
                &["nodes.csv", "relationships.csv", "load.neo4j.cypher", "load.memgraph.cypher"]
            }
            _ => &[""],
        }
    }

    /// Writes one of its files; returns what is in it, and what was left out.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(
        self,
        graph: &Graph,
        file: &str,
        limit: usize,
        out: &mut dyn Write,
    ) -> io::Result<Written> {
        match (self, file) {
            (Export::Csv, "nodes.csv") => csv::nodes(graph, out),
            (Export::Csv, "relationships.csv") => csv::relationships(graph, out),
            (Export::Csv, "load.neo4j.cypher") => csv::load(graph, csv::Dialect::Neo4j, out),
            (Export::Csv, _) => csv::load(graph, csv::Dialect::Memgraph, out),
            (Export::GraphMl, _) => graphml::write(graph, out),
            (Export::JsonLd, _) => json_ld::write(graph, out),
            (Export::Canvas, _) => canvas::write(graph, limit, out),
            (Export::ServerMemory, _) => memory::write(graph, out),
        }
    }
}

/// Counts of a written file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Entities in it.
    pub n_entities: usize,
    /// Relations in it.
    pub n_relations: usize,
    /// Entities that were left out.
    pub n_entities_left: usize,
    /// Relations that were left out.
    pub n_relations_left: usize,
}

#[cfg(test)]
mod tests;
