//! Interchange: turns data of other programs into notes, and the graph into formats of other programs.
//!
//! In: a vault, a folder of basic-memory, a file of server-memory, exports of ChatGPT and Claude; the rows of the
//! daemon's `dump`. Out: new notes below one folder, with a [`Report`]; CSV, GraphML, JSON-LD, a canvas, JSON lines.
//! Invariants: no file is overwritten, and none outside of the target is touched; what cannot be read is reported with
//! its place, and the rest is imported; importing the same input again adds nothing; the same graph gives the same
//! bytes.

pub mod chat;
pub mod detect;
pub mod elements;
pub mod export;
pub mod graph;
pub mod memory;
mod moment;
mod note_sink;
mod report;
mod source;
pub mod vault;

pub use note_sink::{Added, NoteSink};
pub use report::{Report, Trouble};
pub use source::Source;

/// The import formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An Obsidian vault, or any folder of Markdown.
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

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Obsidian => "obsidian",
            Format::BasicMemory => "basic-memory",
            Format::ServerMemory => "server-memory",
            Format::ChatGpt => "chatgpt",
            Format::Claude => "claude",
        }
    }

    /// Returns the format of that name.
    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Why nothing could be imported.
#[derive(Debug, thiserror::Error)]
pub enum InterchangeError {
    /// A system error.
    #[error("`{path}` cannot be read: {source}")]
    Io {
        /// The file that was read or written.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The input is not of the expected format.
    #[error("`{path}` is not a {wanted}: {why}\nhint: {hint}")]
    NotThat {
        /// The input.
        path: String,
        /// The expected format.
        wanted: &'static str,
        /// Why it does not fit.
        why: String,
        /// What to do.
        hint: String,
    },
}
