//! History: the earlier versions of a note, and how one of them is restored.
//!
//! In: a note, as the ledger's journal knows it; the time of a version. Out: versions with the
//! numbers of changed lines, the text of one, the restored note.
//! Invariants: what a restore replaces is kept, too, so nothing is ever lost by it; callers see
//! texts without secrets, and a restored file is exactly the one that was kept, secrets included.

use index::store::{ChangeLedger, DocChange, DocVersion, Identities, StoreError};
use model::terms::{ContentHash, Tick};
use notes::edit::Change;
use notes::parse::parse;
use notes::resolve::{file_key, name_key, permalink_key};
use notes::slug::{path_slug, slug};
use proto::visible::{restore, typed};

use super::confine::{Missing, below, spot};
use super::diff::Diff;
use super::{NoteError, Notes, Version, Why, Written, checksum, files};

/// A kept version, compared with the one that replaced it.
#[derive(Debug)]
pub struct Past {
    /// The version.
    pub version: Version,
    /// Hash of its bytes, in the form that the ledger uses.
    pub hash: [u8; 16],
    /// Lines of the next version that this one lacks.
    pub n_added: u64,
    /// Lines of this version that the next one lacks.
    pub n_removed: u64,
}

/// The content of a version, as callers may see it.
#[derive(Debug)]
pub struct VersionText {
    /// The version.
    pub version: Version,
    /// Its text.
    pub text: String,
    /// From this version to the current note; if the note is gone, to nothing.
    pub diff: String,
}

/// The document that is, or was last, at a path.
#[derive(Debug, Clone)]
pub struct Names {
    /// The path, then all others that the document had.
    paths: Vec<String>,
    /// Its uid, if the journal knows it.
    uid: Option<String>,
}

impl Names {
    /// Finds it in the changes of all documents that ever were at the path, oldest first.
    pub fn of(path: &str, changes: &[DocChange]) -> Names {
        let is_at =
            |it: &Option<DocVersion>| it.as_ref().is_some_and(|version| version.path == path);
        let last = changes.iter().rev().find(|it| is_at(&it.after));
        let last = last.or_else(|| changes.iter().rev().find(|it| is_at(&it.before)));
        let uid = last.map(|it| it.uid.clone());
        let mut paths = vec![path.to_string()];
        // Another document may have had the same path before.
        for change in changes.iter().rev().filter(|it| uid.as_ref() == Some(&it.uid)) {
            for version in [&change.after, &change.before].into_iter().flatten() {
                if !paths.contains(&version.path) {
                    paths.push(version.path.clone());
                }
            }
        }
        Names { paths, uid }
    }

    fn path(&self) -> &str {
        self.paths.first().map_or("", String::as_str)
    }
}

impl Notes {
    /// Returns the document that a person means who types a name as a list shows it. Without a ledger, or with one that
    /// cannot be read, what was kept at the path is there all the same.
    ///
    /// # Errors
    /// [`NoteError::NotKept`] if it may be several.
    pub fn names_typed(&self, given: &str) -> Result<Names, NoteError> {
        let mut known = Identities::default();
        known.read(&self.state_dir.join("ledger.sqlite"));
        let several = |all| NoteError::NotKept(format!("of `{given}` alone: there are {all}"));
        let path = self.typed(given, &known).map_err(several)?;
        let path = path.unwrap_or_else(|| restore(given).into_owned());
        Ok(self.names_of(&path).unwrap_or_else(|_| Names::of(&path, &[])))
    }

    /// Returns the document that is, or was last, at a path.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn names_of(&self, path: &str) -> Result<Names, StoreError> {
        let journal = ChangeLedger::open(&self.state_dir)?;
        Ok(Names::of(path, &journal.of_path(path, Tick(i64::MAX as u64))?))
    }

    /// Returns the path that a person means who types a name as a list shows it: of a document that is known, of a kept
    /// version, or of a folder of these; `None` if there is none ([`proto::visible::typed`]).
    ///
    /// # Errors
    /// The paths that it may be, if there are several.
    pub fn typed(&self, given: &str, known: &Identities) -> Result<Option<String>, String> {
        let kept = self.kept.all();
        let paths = known.paths().chain(kept.iter().map(|it| it.path.as_str()));
        let all = paths.flat_map(with_folders).collect();
        Ok(typed(given, &all)?.map(str::to_string))
    }

    /// Returns the kept versions of a note, newest first; of all notes if none is named.
    ///
    /// # Errors
    /// [`NoteError::BadPath`] and [`NoteError::Outside`].
    pub fn kept(&self, path: Option<&str>) -> Result<Vec<Version>, NoteError> {
        Ok(match path {
            Some(path) => self.kept.versions(&below(&self.root, path)?),
            None => self.kept.all(),
        })
    }

    /// Returns the newest kept versions of a note, each compared with what replaced it.
    ///
    /// # Errors
    /// As [`Notes::kept`], or when a version cannot be read.
    pub fn history(&self, names: &Names, most: usize) -> Result<Vec<Past>, NoteError> {
        let mut next = self.bytes_at(names.path());
        let mut found = Vec::new();
        for version in self.versions_of(names)?.into_iter().take(most) {
            let bytes = self.bytes_of(&version)?;
            let is_left = matches!(version.why, Why::Removed);
            let after = if is_left { Vec::new() } else { next.clone().unwrap_or_default() };
            let (n_added, n_removed) = {
                let [before, after] = [&bytes, &after].map(|it| String::from_utf8_lossy(it));
                Diff::of(&before, &after).counts()
            };
            let hash = ContentHash::of(&bytes).0.to_le_bytes();
            // A version that was never written did not precede anything.
            if version.why != Why::Unwritten {
                next = Some(bytes);
            }
            found.push(Past { version, hash, n_added, n_removed });
        }
        Ok(found)
    }

    /// Returns the text of a version, given its time (a prefix is enough) or `last`.
    ///
    /// # Errors
    /// [`NoteError::NotKept`], or when it cannot be read.
    pub fn version_text(&self, names: &Names, at: &str) -> Result<VersionText, NoteError> {
        let version = self.version(names, at)?;
        let bytes = [Some(self.bytes_of(&version)?), self.bytes_at(names.path())];
        // Secrets are removed before anything is compared.
        let [text, now] = bytes.map(|bytes| {
            let bytes = bytes.unwrap_or_default();
            self.shown(&version.path, &String::from_utf8_lossy(&bytes))
        });
        let diff = Diff::of(&text, &now).unified();
        Ok(VersionText { version, text, diff })
    }

    /// Restores a kept version, given its time (a prefix is enough) or `last`; the current note is
    /// kept. Also returns the version.
    ///
    /// # Errors
    /// [`NoteError`]; then nothing has changed.
    pub fn restore(&self, names: &Names, at: &str) -> Result<(Written, Version), NoteError> {
        self.restore_over(&below(&self.root, names.path())?, names, at, None)
    }

    /// Restores one for a caller who may only write what is indexed.
    ///
    /// # Errors
    /// As [`Notes::restore`], and [`NoteError::Conflict`] if the note is not `expected`.
    pub fn restore_for(
        &self,
        names: &Names,
        at: &str,
        expected: Option<&str>,
    ) -> Result<(Written, Version), NoteError> {
        self.restore_over(&self.allowed(names.path())?, names, at, expected)
    }

    fn restore_over(
        &self,
        path: &str,
        names: &Names,
        at: &str,
        expected: Option<&str>,
    ) -> Result<(Written, Version), NoteError> {
        let _turn = self.turn()?;
        let version = self.version(names, at)?;
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

    /// Returns the paths of removed notes that have, or had, this name: path, title, permalink or
    /// file name.
    pub fn gone_as(&self, name: &str) -> Vec<String> {
        let name = name.trim().trim_start_matches(notes::uri::SCHEME);
        let permalink = permalink_key(name);
        let all = self.kept.all();
        // The newest version of each path at which nothing is now.
        let newest = all.chunk_by(|one, other| one.path == other.path).filter_map(<[_]>::first);
        let gone = newest.filter(|it| self.bytes_at(&it.path).is_none());
        let is_called = |version: &&Version| {
            if file_key(&version.path) == file_key(name) || path_slug(&version.path) == permalink {
                return true;
            }
            let note = self.bytes_of(version).map(|it| parse(&String::from_utf8_lossy(&it)));
            note.is_ok_and(|note| {
                let is_title =
                    |it: &String| name_key(it) == name_key(name) || slug(it) == permalink;
                let is_permalink = |it: &String| permalink_key(it) == permalink;
                note.title.as_ref().is_some_and(is_title)
                    || note.permalink.as_ref().is_some_and(is_permalink)
            })
        };
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

    /// Returns the one kept version whose time starts with `at`. For `last`, the newest one: an
    /// unwritten version, which never was the note, and one from before a move come last.
    fn version(&self, names: &Names, at: &str) -> Result<Version, NoteError> {
        let path = names.path();
        let mut found = self.versions_of(names)?;
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

    fn versions_of(&self, names: &Names) -> Result<Vec<Version>, NoteError> {
        let mut found = Vec::new();
        for path in &names.paths {
            // Of what was kept elsewhere only what is not another document's, which was there, too.
            let is_own =
                |it: &Version| path == names.path() || it.uid.is_none() || it.uid == names.uid;
            found.extend(self.kept(Some(path))?.into_iter().filter(is_own));
        }
        found.sort_by(|one, other| other.at.cmp(&one.at));
        Ok(found)
    }

    fn bytes_of(&self, version: &Version) -> Result<Vec<u8>, NoteError> {
        version.bytes().map_err(|why| NoteError::Io { path: version.path.clone(), why })
    }
}

/// Returns the folders above a path, and the path itself.
fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|it| it.0).chain([path.len()]);
    ends.filter_map(|end| path.get(..end))
}
