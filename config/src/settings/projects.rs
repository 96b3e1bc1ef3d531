//! Settings of what agents may make a project.

use serde::{Deserialize, Serialize};

/// Which folders agents may make projects. User only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Projects {
    /// Folders below which `create_memory_project` makes projects, absolute or beginning with `~/`. Without one the
    /// tool is not offered. Folders of the system, hidden ones of your home folder and places for keys are always
    /// refused.
    pub roots: Vec<String>,
}
