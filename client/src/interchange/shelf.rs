//! Shelf: the folder that new notes are put into.
//!
//! In: a folder, a path below it, bytes. Out: a file that is there whole or not at all.
//! Invariants: nothing outside of the folder is made, changed or read, whatever links stand in it (`confine`); nothing
//! that is there is overwritten; what is merged into a note replaces it only if it is still what was read; a temporary
//! file is hidden, and named so that the watcher leaves it alone.
//! Not here: what stands in the notes.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use confine::{Missing, Root, entry, sync};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with,
    unlinkat,
};
use rustix::io::Errno;

/// Largest file that is read, bytes: larger ones are no notes.
const MAX_READ_BYTES: u64 = 64 << 20;

/// What became of a file that was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is there now.
    New,
    /// There is one of that name already.
    There,
}

/// A folder that takes new files.
#[derive(Debug)]
pub struct Shelf {
    path: PathBuf,
    root: Option<Root>,
}

impl Shelf {
    /// Opens a folder, which need not be there yet.
    ///
    /// # Errors
    /// When it is something else, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let root = match Root::open(path) {
            Ok(root) => Some(root),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Shelf { path: path.to_path_buf(), root })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Opens a folder below; makes what is missing where that is wanted. None where it is not there.
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

    /// The names of the regular files of a folder below, in order; none where it is not there.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&mut self, folder: &str) -> io::Result<Vec<String>> {
        let Some(folder) = self.below(folder, false)? else { return Ok(Vec::new()) };
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let is_file = matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown);
            if let (true, Ok(name)) = (is_file, entry.file_name().to_str()) {
                names.push(name.to_string());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The text of a file; none where there is none, or it is no text or no regular file.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self, folder: &str, name: &str) -> io::Result<Option<String>> {
        let Some(folder) = self.below(folder, false)? else { return Ok(None) };
        Ok(read(&folder, name)?.and_then(|(bytes, _)| String::from_utf8(bytes).ok()))
    }

    /// Puts a new file into a folder.
    ///
    /// # Errors
    /// What the system says; nothing is there then.
    pub fn add(&mut self, folder: &str, name: &str, bytes: &[u8]) -> io::Result<Added> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let folder = self.below(folder, true)?.ok_or_else(missing)?;
        let temporary = Temporary::make(&folder, 0o666)?;
        (&temporary.file).write_all(bytes)?;
        temporary.file.sync_all()?;
        let old = temporary.name.as_str();
        let moved = match renameat_with(&folder, old, &folder, name, RenameFlags::NOREPLACE) {
            // The file system cannot.
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

    /// Replaces the text of a file, if it still is `old`; false when it is not.
    ///
    /// # Errors
    /// What the system says; the old text is there then.
    pub fn replace(
        &mut self,
        folder: &str,
        name: &str,
        (old, new): (&str, &str),
    ) -> io::Result<bool> {
        let Some(folder) = self.below(folder, false)? else { return Ok(false) };
        let Some((_, mode)) = read(&folder, name)? else { return Ok(false) };
        let temporary = Temporary::make(&folder, 0o600)?;
        (&temporary.file).write_all(new.as_bytes())?;
        let mode = std::fs::Permissions::from_mode(mode & 0o7777);
        temporary.file.set_permissions(mode)?;
        temporary.file.sync_all()?;
        // The last look comes just before.
        if read(&folder, name)?.is_none_or(|(now, _)| now != old.as_bytes()) {
            return Ok(false);
        }
        renameat(&folder, temporary.name.as_str(), &folder, name)?;
        sync(&folder)?;
        Ok(true)
    }
}

/// The bytes of a file and its mode; none of what is no regular file.
fn read(folder: &OwnedFd, name: &str) -> io::Result<Option<(Vec<u8>, u32)>> {
    let found = match entry(folder, name) {
        Ok(found) => found,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(found.read(MAX_READ_BYTES)?.map(|content| (content.bytes, content.meta.mode)))
}

/// A file that is to become another one; gone when it does not.
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
        let file = openat(folder, name.as_str(), flags, Mode::from_raw_mode(mode))?;
        Ok(Temporary { folder, name, file: File::from(file) })
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // It is not there where it has become the other one.
        let _ = unlinkat(self.folder, self.name.as_str(), AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf(dir: &tempfile::TempDir) -> Shelf {
        Shelf::open(&dir.path().join("new/root")).expect("opened")
    }

    #[test]
    fn files_are_added_once_and_whole() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut shelf = shelf(&dir);
        assert_eq!(shelf.names("a/b").expect("none"), Vec::<String>::new());
        assert_eq!(shelf.add("a/b", "x.md", b"one").expect("added"), Added::New);
        assert_eq!(shelf.add("a/b", "x.md", b"two").expect("looked"), Added::There);
        assert_eq!(shelf.read("a/b", "x.md").expect("read").as_deref(), Some("one"));
        assert!(!shelf.replace("a/b", "x.md", ("two", "three")).expect("looked"));
        assert!(shelf.replace("a/b", "x.md", ("one", "three")).expect("replaced"));
        assert_eq!(shelf.names("a/b").expect("names"), ["x.md"]);
        assert_eq!(shelf.read("a/b", "x.md").expect("read").as_deref(), Some("three"));
    }

    #[test]
    fn no_link_leads_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let outside = dir.path().join("outside");
        std::fs::create_dir_all(&outside).expect("made");
        std::fs::write(outside.join("secret.md"), "secret").expect("written");
        let mut shelf = shelf(&dir);
        shelf.add("real", "x.md", b"one").expect("added");
        let root = shelf.root().to_path_buf();
        std::os::unix::fs::symlink(&outside, root.join("memory")).expect("a link");
        std::os::unix::fs::symlink(outside.join("secret.md"), root.join("real/s.md"))
            .expect("a link");
        assert!(shelf.add("memory", "y.md", b"two").is_err());
        assert!(shelf.add("../outside", "y.md", b"two").is_err());
        assert_eq!(shelf.read("real", "s.md").expect("looked"), None);
        assert_eq!(shelf.add("real", "s.md", b"two").expect("looked"), Added::There);
        assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 1);
        let names = std::fs::read_dir(root.join("real")).expect("a folder").count();
        assert_eq!(names, 2, "no temporary file is left");
    }
}
