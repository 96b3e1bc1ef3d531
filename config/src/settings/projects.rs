//! Settings of the projects that agents may create.

use serde::{Deserialize, Serialize};

/// Folders in which agents may create projects. User only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Projects {
    /// Folders below which `create_memory_project` may create projects, absolute or beginning with `~/`. Without one,
    /// the tool is not offered. System folders, hidden folders in your home and places for keys are always refused.
    pub roots: Vec<String>,
}
