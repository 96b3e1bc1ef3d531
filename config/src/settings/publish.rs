//! Settings of the hub that a project is published to.

use serde::{Deserialize, Serialize};

/// The hub that a project is published to. User only, because documents leave this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Publish {
    /// Its PostgreSQL, as `postgres://ROLE@HOST/DATABASE`; empty: nothing is published. Another machine is only spoken
    /// to over TLS, unless `plaintext_hosts` names it; `?sslrootcert=FILE` names the authorities to trust.
    pub url: String,
    /// Its name of the project; this one's own when empty.
    pub project: String,
    /// File with the password of the role in `url`, sent to the host in `url` alone; when empty, `PGPASSWORD` or the
    /// address has it.
    pub token_file: String,
    /// Hosts that may be spoken to without TLS where an address says `?sslmode=disable`, such as `database` in a
    /// network of containers. All that is published and asked can be read on the way; a server there that asks for the
    /// password in clear is refused.
    pub plaintext_hosts: Vec<String>,
}
