//! Settings of the hub that a project is published to.

use serde::{Deserialize, Serialize};

/// The hub that a project is published to. User only, because documents leave this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Publish {
    /// Its PostgreSQL, as `postgres://ROLE@HOST/DATABASE`; empty: nothing is published. Another machine is only spoken
    /// to over TLS; `?sslrootcert=FILE` names the authorities to trust.
    pub url: String,
    /// Its name of the project; this one's own when empty.
    pub project: String,
    /// File with the role's password; when empty, `PGPASSWORD` or the address has it.
    pub token_file: String,
}
