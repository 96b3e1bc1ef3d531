//! History: what a note was, version by version, and how one of them is written back.
//!
//! In: where a note lies, and where it lay before; a version, by its time. Out: versions with the lines that changed,
//! the text of one, the note as it was.
//! Invariants: what a restore replaces is kept in its turn, so nothing is ever lost by it; callers see texts without
//! secrets, and a restored file is the one that was kept, secrets and all.
//! Not here: keeping (`kept.rs`), changes of which no version is kept (the ledger's journal).

use model::terms::ContentHash;
use notes::edit::Change;
use notes::parse::parse;
use notes::resolve::{file_key, name_key};
use notes::slug::{path_slug, slug};

use super::confine::{Missing, below, spot};
use super::diff::Diff;
use super::{NoteError, Notes, Version, Why, Written, checksum, files};

/// A kept version, and what took its place.
#[derive(Debug)]
pub struct Past {
    /// The version.
    pub version: Version,
    /// Hash of its bytes, as the ledger has it.
    pub hash: [u8; 16],
    /// Lines that the next version has and this one has not.
    pub n_added: u64,
    /// Lines that the next version has not.
    pub n_removed: u64,
}

/// What a version holds, as callers may see it.
#[derive(Debug)]
pub struct VersionText {
    /// The version.
    pub version: Version,
    /// Its text.
    pub text: String,
    /// From it to the note as it is now; of a note that is gone to nothing.
    pub diff: String,
}

impl Notes {
    /// The kept versions of a note, newest first; of all notes when none is named.
    ///
    /// # Errors
    /// [`NoteError::BadPath`] and [`NoteError::Outside`].
    pub fn kept(&self, path: Option<&str>) -> Result<Vec<Version>, NoteError> {
        Ok(match path {
            Some(path) => self.kept.versions(&below(&self.root, path)?),
            None => self.kept.all(),
        })
    }

    /// The newest kept versions of a note that lies, or lay, at these paths, each compared with what took its place.
    ///
    /// # Errors
    /// As [`Notes::kept`], or when a version cannot be read.
    pub fn history(&self, paths: &[String], most: usize) -> Result<Vec<Past>, NoteError> {
        let mut next = self.bytes_now(paths);
        let mut found = Vec::new();
        for version in self.versions_at(paths)?.into_iter().take(most) {
            let bytes = self.bytes_of(&version)?;
            let is_left = matches!(version.why, Why::Removed);
            let after = if is_left { Vec::new() } else { next.clone().unwrap_or_default() };
            let (n_added, n_removed) = {
                let [before, after] = [&bytes, &after].map(|it| String::from_utf8_lossy(it));
                Diff::of(&before, &after).counts()
            };
            let hash = ContentHash::of(&bytes).0.to_le_bytes();
            // What was never written did not come before anything.
            if version.why != Why::Unwritten {
                next = Some(bytes);
            }
            found.push(Past { version, hash, n_added, n_removed });
        }
        Ok(found)
    }

    /// The text of a version, by its time (the beginning is enough) or as `last`.
    ///
    /// # Errors
    /// [`NoteError::NotKept`], or when it cannot be read.
    pub fn version_text(&self, paths: &[String], at: &str) -> Result<VersionText, NoteError> {
        let version = self.version(paths, at)?;
        let bytes = [Some(self.bytes_of(&version)?), self.bytes_now(paths)];
        // Secrets are removed before anything is compared.
        let [text, now] = bytes.map(|bytes| {
            let bytes = bytes.unwrap_or_default();
            self.shown(&version.path, &String::from_utf8_lossy(&bytes))
        });
        let diff = Diff::of(&text, &now).unified();
        Ok(VersionText { version, text, diff })
    }

    /// Writes a kept version back, by its time (the beginning is enough) or as `last`; what is there now is kept in its
    /// turn.
    ///
    /// # Errors
    /// [`NoteError`]; then nothing has changed.
    pub fn restore(&self, path: &str, at: &str) -> Result<Written, NoteError> {
        let path = below(&self.root, path)?;
        Ok(self.restore_over(&path, std::slice::from_ref(&path), at, None)?.0)
    }

    /// The same of one of the versions at `paths`, for a caller who may only write what is indexed; with the version
    /// that was written.
    ///
    /// # Errors
    /// As [`Notes::restore`], and [`NoteError::Conflict`] where the note is not `expected`.
    pub fn restore_for(
        &self,
        paths: &[String],
        at: &str,
        expected: Option<&str>,
    ) -> Result<(Written, Version), NoteError> {
        let path = self.allowed(paths.first().map_or("", String::as_str))?;
        self.restore_over(&path, paths, at, expected)
    }

    fn restore_over(
        &self,
        path: &str,
        paths: &[String],
        at: &str,
        expected: Option<&str>,
    ) -> Result<(Written, Version), NoteError> {
        let _turn = self.turn()?;
        let version = self.version(paths, at)?;
        let bytes = self.bytes_of(&version)?;
        let spot = spot(&self.root, path, Missing::Make)?;
        let old =
            files::read(&spot, u64::MAX).map_err(|trouble| self.failed(path, trouble, None))?;
        let is_expected = |expected: &str| {
            old.as_ref()
                .is_some_and(|old| expected.trim().eq_ignore_ascii_case(&checksum(&old.bytes)))
        };
        if expected.is_some_and(|expected| !is_expected(expected)) {
            return Err(self.conflict(path, old.as_ref().map(|it| &*it.bytes), None));
        }
        let n_old = old.as_ref().map_or(0, |old| old.bytes.len());
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let changes = vec![Change { span: 0..n_old, replacement: text }];
        let written =
            self.replace_bytes(path, version.mode, &spot, old.as_ref(), &bytes, changes)?;
        Ok((written, version))
    }

    /// Paths of notes that are gone and are, or were, called so: by path, title, permalink or file name.
    pub fn gone_as(&self, name: &str) -> Vec<String> {
        let all = self.kept.all();
        // The newest of each path, of those where nothing lies now.
        let newest = all.chunk_by(|one, other| one.path == other.path).filter_map(<[_]>::first);
        let gone = newest.filter(|it| self.bytes_at(&it.path).is_none());
        let is_called = |version: &&Version| {
            if [file_key(&version.path), path_slug(&version.path)].contains(&file_key(name))
                || path_slug(&version.path) == slug(name)
            {
                return true;
            }
            let note = self.bytes_of(version).map(|it| parse(&String::from_utf8_lossy(&it)));
            note.is_ok_and(|note| {
                let is_title = |title: &String| name_key(title) == name_key(name);
                note.title.as_ref().is_some_and(is_title) || note.permalink.as_deref() == Some(name)
            })
        };
        let name = name.trim().trim_start_matches(notes::uri::SCHEME);
        let is_at = |it: &&Version| it.path == name || it.path == format!("{name}.md");
        let gone: Vec<&Version> = gone.collect();
        let exact: Vec<_> = gone.iter().copied().filter(is_at).collect();
        let found = if exact.is_empty() {
            gone.into_iter().filter(|it| is_called(it)).collect()
        } else {
            exact
        };
        found.into_iter().map(|it| it.path.clone()).collect()
    }

    /// The one kept version whose time begins so, or the newest that was the note: one that could not be written never
    /// was, and one from before a move only where there is no other.
    fn version(&self, paths: &[String], at: &str) -> Result<Version, NoteError> {
        let path = paths.first().map_or("", String::as_str);
        let mut found = self.versions_at(paths)?;
        if at == "last" {
            found.sort_by_key(|it| (it.path != path, it.why == Why::Unwritten));
        } else {
            found.retain(|version| !at.is_empty() && version.at.starts_with(at));
            if found.len() > 1 {
                let several = format!("of `{path}` is the only one from {at}, of {}", found.len());
                return Err(NoteError::NotKept(several));
            }
        }
        let missing = || NoteError::NotKept(format!("of `{path}` from {at}"));
        found.into_iter().next().ok_or_else(missing)
    }

    fn versions_at(&self, paths: &[String]) -> Result<Vec<Version>, NoteError> {
        let mut found = Vec::new();
        for path in paths {
            found.extend(self.kept(Some(path))?);
        }
        found.sort_by(|one, other| other.at.cmp(&one.at));
        Ok(found)
    }

    fn bytes_now(&self, paths: &[String]) -> Option<Vec<u8>> {
        paths.first().and_then(|path| self.bytes_at(path))
    }

    fn bytes_of(&self, version: &Version) -> Result<Vec<u8>, NoteError> {
        version.bytes().map_err(|why| NoteError::Io { path: version.path.clone(), why })
    }
}
