//! Hub: publishes a project's index to PostgreSQL, and copies it from there to a front end.
//!
//! In: snapshots of an index; the address of a database. Out: rows in that database; replicas of an
//! index, which the read path uses like any other.
//! Invariants: a hub shows whole ticks; of two publishers of one project the older is refused; no
//! secret leaves this machine; nothing here runs unless the user named a hub.

mod clear;
mod compare;
mod connect;
mod outline;
mod publish;
mod pull;
mod rows;
mod same;
mod schema;
mod select;
mod table;

use config::command::word;
use index::store::StoreError;

pub use compare::{digest, digest_of};
pub use connect::{Address, Hub};
pub use outline::Outline;
pub use publish::{Publisher, Round, announced};
pub use pull::{Copied, Settled, Visible, copy, outlines, visible};
pub use same::{Named, same, state_same};
pub use schema::{Grant, grant, migrate, revoke};
pub use select::{Asked, Outlines};

/// Why the hub cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// It refused a statement, or closed the connection.
    #[error("the hub: {}", message_of(.0))]
    Database(#[from] tokio_postgres::Error),
    /// It cannot be reached.
    #[error("the hub `{hub}` cannot be reached: {}\nhint: {hint}", message_of(.why))]
    NoConnection {
        /// Its address, without the password.
        hub: String,
        /// What to check.
        hint: &'static str,
        /// The error of the database, the network or TLS.
        why: tokio_postgres::Error,
    },
    /// It takes connections, and then nothing.
    #[error(
        "the hub `{0}` does not answer\nhint: check that PostgreSQL is not overloaded or stopped"
    )]
    Silent(String),
    /// The address, the token or the certificates cannot be used.
    #[error("{0}")]
    Address(String),
    /// The index or the replica cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No migration was applied, or one of another version.
    #[error(
        "the hub's tables have version {found}, this kgd needs {needed}\nhint: `kgctl hub migrate URL` as their owner"
    )]
    Version {
        /// The version found; 0 if there are no tables.
        found: i32,
        /// The version that this program needs.
        needed: i32,
    },
    /// The role has no right to anything.
    #[error(
        "`{0}` has no right to any project of this hub\n\
         hint: `kgctl hub grant URL --name PROJECT --role ROLE` as the owner of its tables gives one"
    )]
    Stranger(String),
    /// The project does not exist, or this role has no right to it.
    #[error(
        "the hub has no project `{0}` that this role may {1}\nhint: `kgctl hub grant URL --name {name} --role ROLE{2}`",
        name = word(.0)
    )]
    Forbidden(String, &'static str, &'static str),
    /// A project has no such entity.
    #[error(
        "the hub's project `{0}` has no entity `{1}`\nhint: `kgctl lookup NAME --hub URL --project {name}` finds names",
        name = word(.0)
    )]
    NoEntity(String, String),
    /// Another folder publishes the project.
    #[error(
        "the hub's project `{0}` is published from another folder\n\
         hint: `kgctl publish --take-over` publishes it from here; `publish.project` gives it another name"
    )]
    Taken(String),
    /// Another publisher began later.
    #[error("another publisher of `{0}` has begun since: this one stops")]
    Fenced(String),
    /// The project was restored from a backup, or another publisher changed it in between.
    #[error(
        "the hub's project `{0}` changed since this publisher's last transaction; comparing again"
    )]
    Moved(String),
    /// A document holds a secret that the user's settings allow.
    #[error(
        "`{0}` holds a secret, which must not leave this machine: the project is not published\n\
         hint: take the path or the mark out of `privacy.allow_paths` and `allow_marks`, or leave the file out of the \
         folder"
    )]
    Secret(String),
    /// The project was published with other index tables.
    #[error(
        "`{name}` was published with index tables {found}, this kgd has {ours}\n\
         hint: run the same version of kgd on both sides"
    )]
    Shape {
        /// The project.
        name: String,
        /// The version of its tables.
        found: i32,
        /// The version of ours.
        ours: i32,
    },
    /// Rows that cannot be parsed.
    #[error("the hub's table `{0}` holds rows that cannot be read")]
    Torn(&'static str),
    /// The task that reads or writes the index ended.
    #[error("the index could not be read: {0}")]
    Crashed(String),
}

impl HubError {
    /// Returns the exit code of a program that ends with this error; `kgctl` uses the same codes.
    pub fn exit_code(&self) -> u8 {
        match self {
            HubError::Store(_) | HubError::Crashed(_) | HubError::Torn(_) => 1,
            _ if self.is_passing() => 4,
            _ => 2,
        }
    }

    /// Returns whether the hub itself cannot be reached.
    pub fn is_away(&self) -> bool {
        let is_one = matches!(
            self,
            HubError::Database(_) | HubError::NoConnection { .. } | HubError::Silent(_)
        );
        is_one && self.is_passing()
    }

    /// Returns whether waiting may help: no request was refused.
    pub fn is_passing(&self) -> bool {
        match self {
            HubError::Database(error) | HubError::NoConnection { why: error, .. } => {
                // A server that asks for a password in clear goes on doing so.
                !message_of(error).contains(clear::REFUSED)
                    && error.code().is_none_or(|code| {
                        let class = code.code().get(..2).unwrap_or_default();
                        // The classes of connections, resources, interventions by the operator,
                        // conflicts and system errors.
                        matches!(class, "08" | "53" | "57" | "40" | "58")
                    })
            }
            HubError::Store(_)
            | HubError::Crashed(_)
            | HubError::Moved(_)
            | HubError::Silent(_) => true,
            _ => false,
        }
    }
}

/// Returns the database's message, which the driver's own message leaves out.
fn message_of(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let why = inner.to_string();
        if !text.contains(&why) {
            text.push_str(": ");
            text.push_str(&why);
        }
        cause = inner.source();
    }
    redact::clean(&text).into_owned()
}
