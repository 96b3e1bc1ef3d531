//! Models: what `kgctl model` keeps: embedding models, each a folder with a manifest, for all projects.
//!
//! In: folders, files, a hub. Out: models that `embed.model` can name.
//! Invariants: a model is there whole or not at all: it is made beside the others and gets its name last; one command
//! at a time changes anything; what was fetched is what was meant: its hash is the one that is pinned, that the hub
//! told, or that the first download had.
//! Not here: running a model (`kgd --prepare-model` tries it), printing (`kgctl`).

mod archive;
mod fetch;
mod hash;
mod hub;
mod known;
mod shelf;

use std::path::PathBuf;

pub use fetch::{Fetcher, Progress};
pub use hub::{Proof, Source, pull};
pub use known::{KNOWN, Known};
pub use shelf::{Shelf, Wish};

/// Why a model could not be added, fetched or removed.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The name is none.
    #[error(
        "`{0}` cannot be the name of a model\nhint: `--name`: lowercase letters, digits, `-`, `_` and `.`; not `none`, \
         `remote` or `minilm-l6`"
    )]
    Name(String),
    /// There is one of that name.
    #[error(
        "there is a model `{0}` already\nhint: `--force` replaces it, `--name` gives another name"
    )]
    Exists(String),
    /// There is none of that name.
    #[error("there is no model `{0}`\nhint: `kgctl model list` names them")]
    Unknown(String),
    /// A name that is neither known nor a repository.
    #[error(
        "no model is known as `{name}`\nhint: it is one of {known}, or a repository of the hub, `OWNER/NAME`"
    )]
    NotKnown {
        /// As it was given.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// What is there is another model than the one that was named.
    #[error(
        "`{}` is not `{name}`: its vectors have {found} numbers, not {expected}\nhint: give its own name, or \
         `kgctl model add FOLDER`", folder.display()
    )]
    OtherModel {
        /// The folder.
        folder: PathBuf,
        /// As it was given.
        name: String,
        /// What that one has.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The folder holds no model.
    #[error(
        "`{}` {why}\nhint: a model is `config.json`, `tokenizer.json` and an ONNX file as `optimum-cli export onnx` \
         writes them, or `model.safetensors` of a BERT-like model", folder.display()
    )]
    NoModel {
        /// The folder.
        folder: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// The model does not run.
    #[error("{0}")]
    Unusable(String),
    /// Another command is at it.
    #[error("another `kgctl model` is at work\nhint: wait for it to end")]
    Busy,
    /// A file or folder cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The archive cannot be read.
    #[error(
        "`{}` is no archive of a model: {why}\nhint: give a folder, or a `.zip` or `.whl` that holds one",
        path.display()
    )]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The hub has no such file.
    #[error(
        "`{url}` is not there\nhint: check the name, or see which files the repository has and use `--file`"
    )]
    NotThere {
        /// What was asked for.
        url: String,
    },
    /// The hub does not give it.
    #[error(
        "`{url}` was refused ({status})\nhint: the model may need a login: download it by hand, then `kgctl model add \
         FOLDER`"
    )]
    Refused {
        /// What was asked for.
        url: String,
        /// What the hub answered.
        status: u16,
    },
    /// Fetching failed again and again.
    #[error(
        "{why}\nhint: what came so far is kept: the same command goes on there; without a network: \
         `kgctl model pull NAME --from FOLDER`, or `embed.hub` for a mirror"
    )]
    Failed {
        /// What failed at last.
        why: String,
    },
    /// What came is not what was meant.
    #[error(
        "`{url}` is not what it was meant to be: its SHA-256 is {found}, not {expected}\nhint: {}", hint(*recorded)
    )]
    WrongHash {
        /// What was asked for.
        url: String,
        /// What it should have.
        expected: String,
        /// What it has.
        found: String,
        /// Whether that is from an earlier download.
        recorded: bool,
    },
}

fn hint(recorded: bool) -> &'static str {
    match recorded {
        true => "it has changed since the first download; `--changed` takes it as it is now",
        false => "it was deleted; try again, or from another place (`embed.hub`, `--from`)",
    }
}

/// An error of the system about a path.
fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> ModelError + '_ {
    |source| ModelError::Io { path: path.to_path_buf(), source }
}
