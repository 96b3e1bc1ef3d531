//! Settings of how vectors are held.

use serde::{Deserialize, Serialize};

/// How vectors are held for the search. User only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vectors {
    /// `int8`: a byte a component, in memory as on disk. `bit`: a bit a component in memory, the bytes in a file
    /// without a name in the project's state, of which each question reads some: a quarter of the memory, nearly the
    /// same found. `float32`: four bytes a component, in memory and on disk, of the better model, which makes its
    /// vectors again (with `embed.model: none`, of the built-in table, when `embed.background` lets it); int8 answer
    /// until all are there. The static vectors that every window has at once are int8 on disk whatever this says. A
    /// change counts from the next start on.
    pub precision: Precision,
}

/// Precision of a component.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// A byte.
    #[default]
    Int8,
    /// Four bytes.
    Float32,
    /// A bit in memory, a byte on disk.
    Bit,
}

impl Precision {
    /// As it is set.
    pub fn as_str(self) -> &'static str {
        match self {
            Precision::Int8 => "int8",
            Precision::Float32 => "float32",
            Precision::Bit => "bit",
        }
    }
}
