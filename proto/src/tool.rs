//! Tool: a tool is declared once, by the struct of its parameters.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::view::View;

pub mod admin;
pub mod batch;
pub mod core;
pub mod kb;
pub mod memory;
pub mod notes;

/// What calling a tool may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Answers from a snapshot.
    Reads,
    /// Changes files, the ledger or the index.
    Writes,
}

/// Which callers see a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolSet {
    /// For an agent about which nothing is known: tools of the other sets
    /// ([`crate::catalog::DEFAULT`]).
    Default,
    /// Questions, entities, paths, and the state of the index.
    Core,
    /// For agents that read and write notes.
    Notes,
    /// For agents that remember.
    Memory,
    /// For agents that keep entries of knowledge.
    Kb,
    /// For `kgctl`; never listed to agents.
    Admin,
}

impl ToolSet {
    /// Every set, in the order in which they are explained.
    pub const ALL: [ToolSet; 6] = [
        ToolSet::Default,
        ToolSet::Core,
        ToolSet::Notes,
        ToolSet::Memory,
        ToolSet::Kb,
        ToolSet::Admin,
    ];

    /// Returns the name used in the preamble and in `kg-mcp --tools`.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolSet::Default => "default",
            ToolSet::Core => "core",
            ToolSet::Notes => "notes",
            ToolSet::Memory => "memory",
            ToolSet::Kb => "kb",
            ToolSet::Admin => "admin",
        }
    }

    /// Returns the names of the sets for agents, for a hint.
    pub fn listing() -> String {
        let sets = Self::ALL.into_iter().filter(|it| *it != ToolSet::Admin);
        sets.map(|it| format!("`{}`", it.as_str())).collect::<Vec<_>>().join(", ")
    }

    /// Parses [`ToolSet::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.as_str() == text)
    }
}

/// A tool's declaration. The docs of the struct's fields become the JSON schema that agents see.
pub trait Tool: DeserializeOwned + Serialize + JsonSchema + Send + 'static {
    /// Its name on the wire.
    const NAME: &'static str;
    /// One or two sentences for an agent that must choose among tools.
    const SUMMARY: &'static str;
    /// What calling it may do.
    const EFFECT: Effect;
    /// The set it belongs to.
    const SET: ToolSet;
    /// Whether a repeated call has no further effect, although the tool writes.
    const IS_IDEMPOTENT: bool = false;
    /// The type of its answer.
    type Reply: View + Serialize + DeserializeOwned + JsonSchema + Send + 'static;
}
