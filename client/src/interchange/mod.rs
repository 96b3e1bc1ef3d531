//! Interchange: what other programs keep becomes notes, and the graph becomes what other programs read.
//!
//! In: a vault, a folder of basic-memory, a file of server-memory, exports of ChatGPT and Claude; the rows of the
//! daemon's `dump`. Out: new notes below one folder, with a [`Report`]; CSV, GraphML, JSON-LD, a canvas, JSON lines.
//! Invariants: no file is overwritten, and none outside of the target is touched; what cannot be read is told with its
//! place, and the rest goes on; the same input adds nothing twice; the same graph gives the same bytes.
//! Not here: which project is meant, and talking to its daemon (`kgctl`).

pub mod chat;
pub mod detect;
pub mod elements;
pub mod export;
pub mod graph;
pub mod memory;
mod moment;
mod report;
mod shelf;
mod source;
pub mod vault;

pub use report::{Report, Trouble};
pub use shelf::{Added, Shelf};
pub use source::Source;

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A vault of Obsidian, or any folder of Markdown.
    Obsidian,
    /// A folder of basic-memory, or its `config.json`.
    BasicMemory,
    /// `memory.json` or `memory.jsonl` of the MCP server `server-memory`.
    ServerMemory,
    /// The export of ChatGPT.
    ChatGpt,
    /// The export of Claude.
    Claude,
}

impl Format {
    /// Every format, in the order of the help.
    pub const ALL: [Format; 5] = [
        Format::Obsidian,
        Format::BasicMemory,
        Format::ServerMemory,
        Format::ChatGpt,
        Format::Claude,
    ];

    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Obsidian => "obsidian",
            Format::BasicMemory => "basic-memory",
            Format::ServerMemory => "server-memory",
            Format::ChatGpt => "chatgpt",
            Format::Claude => "claude",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Why nothing could be imported at all.
#[derive(Debug, thiserror::Error)]
pub enum InterchangeError {
    /// The system said no.
    #[error("`{path}` cannot be read: {source}")]
    Io {
        /// What was read or written.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not what it should be.
    #[error("`{path}` is no {wanted}: {why}\nhint: {hint}")]
    NotThat {
        /// What was read.
        path: String,
        /// What it should be.
        wanted: &'static str,
        /// Why it is not.
        why: String,
        /// What to do.
        hint: String,
    },
}
