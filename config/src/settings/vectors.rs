//! Settings of the storage of vectors.

use serde::{Deserialize, Serialize};

/// How vectors are stored for the search. User only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Vectors {
    /// `int8`: a byte per component, in memory and on disk. `bit`: a bit per component in memory, and the bytes in an
    /// unnamed file in the project's state, of which each question reads some: a quarter of the memory, nearly the same
    /// results. `float32`: four bytes per component, in memory and on disk, for the better model, whose vectors are
    /// then computed again (with `embed.model: none`, for the built-in table, when `embed.background` allows it); int8
    /// is used until all are ready. The static vectors that every window has at once are always int8 on disk. A change
    /// takes effect at the next start.
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
    /// Returns the name in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Precision::Int8 => "int8",
            Precision::Float32 => "float32",
            Precision::Bit => "bit",
        }
    }
}
