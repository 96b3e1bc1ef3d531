//! Permitted: where a note may be, and what it may hold.
//!
//! In: paths and texts of callers. Out: the same, or why not.
//! Invariants: only a note that the watcher would read is permitted; names of existing files are not judged.

use std::path::Path;

use notes::filename::is_device;
use notes::parse::parse;
use notes::resolve::{file_key, is_in_words, name_key};
use notes::slug::{path_slug, slug};

use super::confine::{self, Spot, below};
use super::{NoteError, Notes, secrets};
use engine::watch::{Rules, SkipReason, Verdict};
use model::terms::RelPath;

/// Extensions of notes.
const EXTENSIONS: [&str; 2] = ["md", "markdown"];

impl Notes {
    /// Returns the path below the root if a note at it would be indexed.
    pub(super) fn allowed(&self, path: &str) -> Result<String, NoteError> {
        let path = below(&self.root, path)?;
        let extension = RelPath::new(path.clone()).extension();
        if !EXTENSIONS.contains(&extension.as_str()) {
            return Err(NoteError::BadPath { path, why: "a note's name ends with `.md`".into() });
        }
        self.watched(path)
    }

    /// Returns the path if the watcher reads it.
    pub(super) fn watched(&self, path: String) -> Result<String, NoteError> {
        match self.rules().verdict(&path, false) {
            Verdict::Read => Ok(path),
            Verdict::Descend => Err(NoteError::NotAFile(path)),
            Verdict::Skip(reason) => Err(NoteError::Unwatched { path, reason }),
        }
    }

    /// Returns the path if the watcher reads it, or leaves it out only for its extension.
    pub(super) fn readable(&self, path: String) -> Result<String, NoteError> {
        match self.watched(path) {
            Err(NoteError::Unwatched { path, reason: SkipReason::Extension })
                if !self.rules().is_ignored(&path) =>
            {
                Ok(path)
            }
            found => found,
        }
    }

    /// Reads the rules from the current ignore files.
    pub(super) fn rules(&self) -> Rules {
        Rules::new(&self.root, &self.settings.watch).allowing(&self.settings.privacy.allow_paths)
    }

    /// Returns the path under which the file of a spot is indexed: its own, or that of a link to
    /// it.
    pub(super) fn indexed_path(&self, path: String, spot: &Spot) -> Result<String, NoteError> {
        if spot.real == path {
            return Ok(path);
        }
        match self.rules().verdict(&spot.real, false) {
            Verdict::Read => Ok(spot.real.clone()),
            Verdict::Skip(
                reason @ (SkipReason::Denied | SkipReason::SecretName | SkipReason::Binary),
            ) => Err(NoteError::Unwatched { path: spot.real.clone(), reason }),
            _ => Ok(path),
        }
    }

    /// Writing follows a link, but removing or moving must name the target itself.
    pub(super) fn refuse_link(&self, path: &str, spot: &Spot) -> Result<(), NoteError> {
        if spot.real == path {
            return Ok(());
        }
        let why = format!("it is a link to `{}`; name that", spot.real);
        Err(NoteError::BadPath { path: path.to_string(), why })
    }

    /// Refuses a text that is too long, holds a secret, or would no longer be text.
    pub(super) fn check_content(
        &self,
        path: &str,
        before: &str,
        after: &str,
    ) -> Result<(), NoteError> {
        let max = self.rules().max_bytes_of(path);
        if after.len() as u64 > max {
            return Err(NoteError::TooLarge {
                path: path.to_string(),
                n_bytes: after.len() as u64,
                max,
            });
        }
        if after.contains('\0') && !before.contains('\0') {
            return Err(NoteError::Nul(path.to_string()));
        }
        match secrets::objection(&self.veil, path, before, after) {
            Some(why) => Err(NoteError::Secret { path: path.to_string(), why }),
            None => Ok(()),
        }
    }
}

/// Returns what the note at `path` is called if a new text for it is called otherwise: several titles may give one file
/// name (`C#` and `C:`). A note that states no title is called by its file or by its first heading.
pub(super) fn other_title(path: &str, before: &str, after: &str) -> Option<String> {
    let (old, new) = (parse(before), parse(after));
    let new = new.title.unwrap_or_else(|| RelPath::stem(&RelPath::new(path)).to_string());
    let is_new = |name: &str| name_key(name) == name_key(&new);
    let heading = old.headings.first().map(|it| it.text.clone());
    match (old.title, heading) {
        (Some(title), _) => Some(title).filter(|it| !is_new(it)),
        // The file's name may be the slug of the title.
        _ if file_key(path) == name_key(&new) => None,
        _ if is_in_words(&new) && path_slug(path).rsplit('/').next() == Some(&*slug(&new)) => None,
        (None, Some(heading)) => Some(heading).filter(|it| !is_new(it)),
        (None, None) => Some(RelPath::stem(&RelPath::new(path)).to_string()),
    }
}

/// Refuses names for new files and folders that another system, or a shell, reads as something
/// else. Existing ones keep their names.
pub(super) fn check_portable(root: &Path, path: &str) -> Result<(), NoteError> {
    let bad = |why: &str| NoteError::BadPath { path: path.to_string(), why: why.to_string() };
    let ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
    for (name, end) in path.split('/').zip(ends) {
        if confine::is_there(root, &path[..end]) {
            continue;
        }
        if is_device(&name.split('.').next().unwrap_or(name).to_lowercase()) {
            return Err(bad("a part of it is the name of a device"));
        }
        if name.contains(char::is_control) {
            return Err(bad("a new name must not contain control characters"));
        }
        let is_foreign = name.contains(['\\', ':', '*', '?', '"', '<', '>', '|']);
        if is_foreign || name.starts_with('~') {
            let why = "a part of it holds a character that other systems do not allow in paths, or begins with `~`";
            return Err(bad(why));
        }
    }
    Ok(())
}
