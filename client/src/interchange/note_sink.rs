//! NoteSink: the target folder of new notes.
//!
//! In: a folder, a path below it, bytes. Out: a file that is complete or absent.
//! Invariants: nothing outside of the folder is created, changed or read, whatever links it contains (`confine`);
//! nothing is overwritten; a merged note is replaced only if it is still what was read; a temporary file is hidden, and
//! its name makes the watcher ignore it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use confine::{Missing, Root, entry, sync};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RawMode, RenameFlags, linkat, openat, renameat,
    renameat_with, unlinkat,
};
use rustix::io::Errno;

/// Largest file that is read, bytes: larger ones are not notes.
const MAX_READ_BYTES: u64 = 64 << 20;

/// The result of adding a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It was created.
    New,
    /// A file of that name exists.
    There,
}

/// A folder for new files.
#[derive(Debug)]
pub struct NoteSink {
    path: PathBuf,
    root: Option<Root>,
}

impl NoteSink {
    /// Opens a folder, which need not exist yet.
    ///
    /// # Errors
    /// When it is not a folder, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = match Root::open(path) {
            Ok(root) => Some(root),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(NoteSink { path: path.to_path_buf(), root })
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Opens a subfolder; creates missing ones if requested. None if it does not exist.
    fn below(&mut self, path: &str, makes: bool) -> io::Result<Option<OwnedFd>> {
        if self.root.is_none() && makes {
            std::fs::create_dir_all(&self.path)?;
            self.root = Some(Root::open(&self.path)?);
        }
        let Some(root) = &self.root else { return Ok(None) };
        match root.folder(path, if makes { Missing::Make } else { Missing::Refuse }) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.is_missing() && !makes => Ok(None),
            Err(error) => Err(io::Error::other(format!("`{path}` cannot be used: {error}"))),
        }
    }

    /// Returns the names of the regular files of a subfolder, sorted; none if it does not exist.
    ///
    /// # Errors
    /// The system's error.
    pub fn names(&mut self, folder: &str) -> io::Result<Vec<String>> {
        let Some(folder) = self.below(folder, false)? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            // Some file systems do not report types; reading checks again.
            let is_file = matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown);
            if let (true, Ok(name)) = (is_file, entry.file_name().to_str()) {
                names.push(name.to_string());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Returns the text of a file; none if it does not exist, is not UTF-8 or not a regular file.
    ///
    /// # Errors
    /// The system's error.
    pub fn read(&mut self, folder: &str, name: &str) -> io::Result<Option<String>> {
        let Some(folder) = self.below(folder, false)? else { return Ok(None) };
        Ok(read(&folder, name)?.and_then(|(bytes, _)| String::from_utf8(bytes).ok()))
    }

    /// Creates a file in a subfolder.
    ///
    /// # Errors
    /// The system's error; then there is no file.
    pub fn add(&mut self, folder: &str, name: &str, bytes: &[u8]) -> io::Result<Added> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let folder = self.below(folder, true)?.ok_or_else(missing)?;
        // 0666 without the umask's bits, as for any new file of the user.
        let temporary = Temporary::make(&folder, 0o666)?;
        (&temporary.file).write_all(bytes)?;
        temporary.file.sync_all()?;
        let old = temporary.name.as_str();
        let moved = match renameat_with(&folder, old, &folder, name, RenameFlags::NOREPLACE) {
            // Where the file system has no `RENAME_NOREPLACE`: `linkat` also fails if the name exists.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(&folder, old, &folder, name, AtFlags::empty())
            }
            moved => moved,
        };
        match moved {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(Added::There),
            Err(error) => return Err(error.into()),
        }
        sync(&folder)?;
        Ok(Added::New)
    }

    /// Replaces the text of a file if it still is `old`; returns false when it is not.
    ///
    /// # Errors
    /// The system's error; then the file still has the old text.
    pub fn replace(&mut self, folder: &str, name: &str, old: &str, new: &str) -> io::Result<bool> {
        let Some(folder) = self.below(folder, false)? else { return Ok(false) };
        let Some((_, mode)) = read(&folder, name)? else { return Ok(false) };
        // Private until the permissions of the original are set: its text may be.
        let temporary = Temporary::make(&folder, 0o600)?;
        (&temporary.file).write_all(new.as_bytes())?;
        let mode = std::fs::Permissions::from_mode(mode & 0o7777);
        temporary.file.set_permissions(mode)?;
        temporary.file.sync_all()?;
        // Checked directly before the rename, which keeps the race with other writers short.
        if read(&folder, name)?.is_none_or(|(now, _)| now != old.as_bytes()) {
            return Ok(false);
        }
        renameat(&folder, temporary.name.as_str(), &folder, name)?;
        sync(&folder)?;
        Ok(true)
    }
}

/// Returns the bytes of a regular file and its mode; none for anything else.
fn read(folder: &OwnedFd, name: &str) -> io::Result<Option<(Vec<u8>, u32)>> {
    let found = match entry(folder, name) {
        Ok(found) => found,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(found.read(MAX_READ_BYTES)?.map(|content| (content.bytes, content.meta.mode)))
}

/// A temporary file that is renamed, or else removed.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
}

impl<'a> Temporary<'a> {
    fn make(folder: &'a OwnedFd, mode: u32) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".kgd-import-{}-{number}.tmp", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(folder, name.as_str(), flags, Mode::from_raw_mode(mode as RawMode))?;
        Ok(Temporary { folder, name, file: File::from(file) })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a rename the name no longer exists; the error is expected.
        let _ = unlinkat(self.folder, self.name.as_str(), AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(dir: &tempfile::TempDir) -> NoteSink {
        NoteSink::open(&dir.path().join("new/root")).expect("opened")
    }

    #[test]
    fn files_are_added_once_and_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sink = sink(&dir);
        assert_eq!(sink.names("a/b").expect("none"), Vec::<String>::new());
        assert_eq!(sink.add("a/b", "x.md", b"one").expect("added"), Added::New);
        assert_eq!(sink.add("a/b", "x.md", b"two").expect("looked"), Added::There);
        assert_eq!(sink.read("a/b", "x.md").expect("read").as_deref(), Some("one"));
        assert!(!sink.replace("a/b", "x.md", "two", "three").expect("looked"));
        assert!(sink.replace("a/b", "x.md", "one", "three").expect("replaced"));
        assert_eq!(sink.names("a/b").expect("names"), ["x.md"]);
        assert_eq!(sink.read("a/b", "x.md").expect("read").as_deref(), Some("three"));
    }

    #[test]
    fn no_link_leads_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let outside = dir.path().join("outside");
        std::fs::create_dir_all(&outside).expect("made");
        std::fs::write(outside.join("secret.md"), "secret").expect("written");
        let mut sink = sink(&dir);
        sink.add("real", "x.md", b"one").expect("added");
        let root = sink.root().to_path_buf();
        std::os::unix::fs::symlink(&outside, root.join("memory")).expect("a link");
        std::os::unix::fs::symlink(outside.join("secret.md"), root.join("real/s.md"))
            .expect("a link");
        assert!(sink.add("memory", "y.md", b"two").is_err());
        assert!(sink.add("../outside", "y.md", b"two").is_err());
        assert_eq!(sink.read("real", "s.md").expect("looked"), None);
        assert_eq!(sink.add("real", "s.md", b"two").expect("looked"), Added::There);
        assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 1);
        let names = std::fs::read_dir(root.join("real")).expect("a folder").count();
        assert_eq!(names, 2, "no temporary file is left");
    }
}
