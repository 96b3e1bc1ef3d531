//! Models: the embedding models that `kgctl model` manages. Each is a folder with a manifest,
//! shared by all projects.
//!
//! In: folders, files, a hub. Out: models that `embed.model` can name.
//! Invariants: a model is complete or absent: it is built in a temporary folder and renamed last; one command at a time
//! makes changes; a download is verified: by a pinned hash, the hub's hash, or that of the first download.

mod archive;
mod fetch;
mod hash;
mod hub;
mod known;
mod model_dir;

use std::path::PathBuf;

pub use fetch::{Fetcher, Progress};
pub use hub::{Proof, Source, pull};
pub use known::{KNOWN, Known};
pub use model_dir::{ModelDir, Wish};

/// Why a model could not be added, fetched or removed.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The name is invalid.
    #[error(
        "`{0}` cannot be the name of a model\nhint: use lowercase letters, digits, `-`, `_` and `.`; not `none`, \
         `remote`, `minilm-l6` or `e5-small`"
    )]
    Name(String),
    /// A model of that name exists.
    #[error(
        "the model `{0}` already exists\nhint: use `--force` to replace it, or another name with `--name`"
    )]
    Exists(String),
    /// No model has that name.
    #[error("there is no model `{0}`\nhint: `kgctl model list` lists the models")]
    Unknown(String),
    /// The name is neither known nor a repository.
    #[error(
        "unknown model `{name}`\nhint: use one of {known}, or a repository of the hub, `OWNER/NAME`"
    )]
    NotKnown {
        /// The given name.
        name: String,
        /// The known names.
        known: String,
    },
    /// The files are of another model.
    #[error(
        "`{}` is not `{name}`: its vectors have {found} numbers, not {expected}\nhint: use its own name, or \
         `kgctl model add FOLDER`", folder.display()
    )]
    OtherModel {
        /// The folder.
        folder: PathBuf,
        /// The given name.
        name: String,
        /// Numbers per vector of the named model.
        expected: u64,
        /// Numbers per vector found.
        found: u64,
    },
    /// The folder does not contain a model.
    #[error(
        "`{}` {why}\nhint: a model is `config.json`, `tokenizer.json` and an ONNX file as `optimum-cli export onnx` \
         writes them, or `model.safetensors` of a BERT-like model", folder.display()
    )]
    NoModel {
        /// The folder.
        folder: PathBuf,
        /// What is missing.
        why: String,
    },
    /// The model cannot be run.
    #[error("{0}")]
    Unusable(String),
    /// Another command holds the lock.
    #[error("another command is changing the models\nhint: wait until it has ended")]
    Busy,
    /// A file or folder cannot be used.
    #[error("cannot use `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The archive cannot be read.
    #[error(
        "`{}` is not an archive of a model: {why}\nhint: use a folder, or a `.zip` or `.whl` that holds one",
        path.display()
    )]
    Archive {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The hub does not have the file.
    #[error(
        "`{url}` does not exist\nhint: check the name, or look up the repository's files and use `--file`"
    )]
    NotThere {
        /// The requested address.
        url: String,
    },
    /// The hub refused the request.
    #[error(
        "`{url}` was refused ({status})\nhint: the model may require a login: download it by hand, then run \
         `kgctl model add FOLDER`"
    )]
    Refused {
        /// The requested address.
        url: String,
        /// The status of the reply.
        status: u16,
    },
    /// All attempts failed.
    #[error(
        "{why}\nhint: the partial download is kept: run the same command again to resume it; without a network: \
         `kgctl model pull NAME --from FOLDER`, or `embed.hub` for a mirror"
    )]
    Failed {
        /// The last failure.
        why: String,
    },
    /// The hash does not match.
    #[error(
        "`{url}` has the SHA-256 {found}, not {expected}\nhint: {}", hint(*recorded)
    )]
    WrongHash {
        /// The address or path.
        url: String,
        /// The expected hash.
        expected: String,
        /// The hash found.
        found: String,
        /// Whether the expected hash was recorded at an earlier download.
        recorded: bool,
    },
}

fn hint(recorded: bool) -> &'static str {
    match recorded {
        true => "it has changed since the first download; `--changed` accepts the new file",
        false => "it was deleted; try again, or use another source (`embed.hub`, `--from`)",
    }
}

/// Converts a system error about a path.
fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> ModelError + '_ {
    |source| ModelError::Io { path: path.to_path_buf(), source }
}
