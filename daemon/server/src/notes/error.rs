//! Why a note is not written: for every refusal a stable code, what happened, and what to do.
//!
//! Invariant: whatever the reason, the file is unchanged; a version that could not be written is
//! kept where the error says.

use std::path::PathBuf;

use notes::edit::EditError;
use proto::error::{Code, ConflictView, ErrorView};

use engine::watch::SkipReason;

/// Why a note was not written.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// The project is read-only: `write: false`.
    #[error("this project is read-only")]
    ReadOnly,
    /// A path that cannot name a note, or resolves to something else.
    #[error("`{path}` cannot be written: {why}")]
    BadPath {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// The path, or a link on its way, leads out of the project.
    #[error("`{0}` leads out of the project")]
    Outside(String),
    /// The watcher does not read it, so it would never be found.
    #[error("`{path}` is not indexed ({reason}), so it is not written either")]
    Unwatched {
        /// The path.
        path: String,
        /// Why it is not read.
        reason: SkipReason,
    },
    /// The project's folder is out of reach.
    #[error("the project's folder `{}` is missing: {why}", root.display())]
    NoFolder {
        /// Its path.
        root: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// A folder, pipe, socket or device.
    #[error("`{0}` is not a regular file")]
    NotAFile(String),
    /// No such note.
    #[error("no note `{0}`")]
    NotFound(String),
    /// The note exists already, or has another title than the one that would replace it.
    #[error("`{path}` already exists{}", .title.as_ref().map_or(String::new(), |it| format!(": it is `{it}`")))]
    Exists {
        /// The path.
        path: String,
        /// The title of the existing note, if it is another one.
        title: Option<String>,
        /// SHA-256 of the existing note.
        checksum: String,
    },
    /// Larger than the limit.
    #[error("`{path}` would have {n_bytes} bytes; at most {max} are indexed")]
    TooLarge {
        /// The path.
        path: String,
        /// Its size.
        n_bytes: u64,
        /// The limit, `watch.max_file_bytes`.
        max: u64,
    },
    /// The file is write-protected.
    #[error("`{0}` is write-protected")]
    Protected(String),
    /// Another process has the file open for writing: what it writes later would be lost.
    #[error("`{0}` is open for writing in another program")]
    Written(String),
    /// The file is not UTF-8.
    #[error("`{0}` is not UTF-8 text")]
    NotText(String),
    /// A NUL character, which makes readers treat the file as binary.
    #[error("`{0}` would contain a NUL, which is not text")]
    Nul(String),
    /// It differs from what the caller, or this very edit, has read.
    #[error("`{}` has changed meanwhile: {}", .0.path, now(.0.checksum.as_deref()))]
    Conflict(Box<ConflictView>),
    /// The write would remove a secret that the caller cannot have seen, or store a redaction mark
    /// in its place.
    #[error("`{path}` holds {why}")]
    Secret {
        /// The path.
        path: String,
        /// The reason.
        why: &'static str,
    },
    /// The edit does not apply.
    #[error("`{path}`: {why}")]
    Edit {
        /// The path.
        path: String,
        /// The reason.
        why: EditError,
    },
    /// No version of this note is kept, or none of this time.
    #[error("no kept version {0}")]
    NotKept(String),
    /// The ledger, which must record the write, is lost; the message of the store, with its hint.
    #[error("{}", .0.split("\nhint: ").next().unwrap_or_default())]
    NoLedger(String),
    /// Another process holds the lock of writers.
    #[error("another process holds `{}`, and only one writes notes at a time", .0.display())]
    Locked(PathBuf),
    /// The system refused.
    #[error("cannot write `{path}`: {why}")]
    Io {
        /// The path.
        path: String,
        /// The system's error.
        why: std::io::Error,
    },
}

/// What to do about a folder that is out of reach.
const NO_FOLDER: &str = "mount or restore it; until then, what is indexed still answers";

fn is_full(why: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(why.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

fn now(found: Option<&str>) -> String {
    found.map_or("it is gone".to_string(), |checksum| format!("its checksum is {checksum} now"))
}

impl NoteError {
    /// Returns the code of the error.
    pub fn code(&self) -> Code {
        match self {
            NoteError::ReadOnly => Code::ReadOnly,
            NoteError::Outside(_) => Code::OutsideProject,
            NoteError::BadPath { .. } | NoteError::Nul(_) => Code::InvalidParams,
            NoteError::Unwatched { .. }
            | NoteError::NotAFile(_)
            | NoteError::TooLarge { .. }
            | NoteError::NotText(_)
            | NoteError::Protected(_)
            | NoteError::Secret { .. } => Code::Refused,
            NoteError::NotFound(_) | NoteError::NotKept(_) => Code::NotFound,
            NoteError::Exists { .. } => Code::Exists,
            NoteError::Conflict(_) => Code::Conflict,
            NoteError::Edit { why, .. } => code_of(why),
            NoteError::NoFolder { .. }
            | NoteError::Written(_)
            | NoteError::Locked(_)
            | NoteError::NoLedger(_)
            | NoteError::Io { .. } => Code::Unavailable,
        }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            NoteError::ReadOnly => "it was made so by `write: false`; ask its owner",
            NoteError::BadPath { .. } => {
                "give a path like `folder/name.md`, from the project's folder"
            }
            NoteError::NoFolder { .. } => NO_FOLDER,
            NoteError::Outside(_) => "give a path inside the project's folder",
            NoteError::Unwatched { reason, .. } => {
                return Some(
                    reason.refusal().unwrap_or("choose another name or folder").to_string(),
                );
            }
            NoteError::NotFound(_) => "give a path as answers name it, or write a new note",
            NoteError::Exists { checksum, title, .. } => {
                let what = match title {
                    Some(_) => {
                        "choose another title or directory; no note replaces one of another title"
                    }
                    None => "edit it, choose another title, or overwrite it",
                };
                return Some(format!("{what}; its checksum is {checksum}"));
            }
            NoteError::TooLarge { .. } => "part it into several notes",
            NoteError::Conflict(conflict) => match (&conflict.kept, &conflict.checksum) {
                (Some(kept), _) => {
                    return Some(format!(
                        "read it again and repeat the edit; your version lies in `{kept}`"
                    ));
                }
                (None, Some(_)) => "read it again and repeat the edit",
                (None, None) => {
                    "`expected_checksum` is that of a note that was read; leave it out to write a new one"
                }
            },
            NoteError::Secret { .. } => {
                "edit the text around it by `find` and `content_updates`; secrets are changed by hand only"
            }
            NoteError::NotKept(_) => "`kgctl restore` lists the kept versions",
            NoteError::Edit { why, .. } => return hint_of(why).map(str::to_string),
            NoteError::Protected(_) => {
                "its owner took the right to write away; `chmod u+w` gives it back"
            }
            NoteError::Written(_) => {
                "nothing was changed; do it again when that program has closed the file"
            }
            NoteError::Locked(_) => {
                "nothing was changed; do it again, or end the process that holds it"
            }
            NoteError::NotText(_) => "convert it to UTF-8; `read_passage` shows its indexed text",
            NoteError::Nul(_) => "leave it out of the content",
            NoteError::NotAFile(_) => return None,
            NoteError::NoLedger(message) => {
                return message.split_once("\nhint: ").map(|it| it.1.into());
            }
            NoteError::Io { why, .. } if is_full(why) => {
                "nothing was changed; free some space, or raise the quota or the limit on file sizes, then do it again"
            }
            NoteError::Io { .. } => {
                "nothing was changed; look at the disk and at who may write there"
            }
        };
        Some(hint.to_string())
    }

    /// Returns the error as a caller sees it.
    pub fn view(&self) -> ErrorView {
        let conflict = match self {
            NoteError::Conflict(conflict) => Some(conflict.clone()),
            _ => None,
        };
        ErrorView { code: self.code(), message: self.to_string(), hint: self.hint(), conflict }
    }
}

fn code_of(why: &EditError) -> Code {
    match why {
        EditError::AmbiguousHeading { .. } | EditError::AmbiguousItem { .. } => Code::Ambiguous,
        EditError::NoHeading { .. } | EditError::NotFound { .. } | EditError::NoItem(_) => {
            Code::NotFound
        }
        EditError::Count { .. } | EditError::Frontmatter(_) => Code::Refused,
        EditError::Empty(_) | EditError::BadName { .. } | EditError::NoLink(_) => {
            Code::InvalidParams
        }
    }
}

fn hint_of(why: &EditError) -> Option<&'static str> {
    match why {
        EditError::AmbiguousHeading { .. } => Some(
            "say `Heading#2`, `Above > Heading`, or `## Heading` where the others are of another level",
        ),
        EditError::AmbiguousItem { .. } => Some("name it by its block id"),
        EditError::Count { .. } => {
            Some("give more of the text around it, or the number that is meant")
        }
        EditError::NotFound { .. } => {
            Some("read the note again; give the text exactly as it is there")
        }
        EditError::NoHeading { .. } | EditError::NoItem(_) => {
            Some("read the note again; `append` and `prepend` need no heading")
        }
        EditError::Frontmatter(_) => Some("mend it by `find` and `content_updates`, or by hand"),
        _ => None,
    }
}
