//! File: reads an agent's file and replaces it as a whole.
//!
//! Invariants: a reader sees the old or the new file, never a part; a link is followed and kept;
//! permissions are kept; a file that changed meanwhile is not replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Returns the text of a file; empty if there is none.
///
/// # Errors
/// The system's error, or that the file is not UTF-8.
pub fn read(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
            Ok(String::new())
        }
        read => read,
    }
}

/// Replaces a file whose text is still `before`, or creates it with its folders.
///
/// # Errors
/// The system's error, or that the file has changed.
pub fn replace(path: &Path, before: &str, after: &str) -> io::Result<()> {
    let path = if path.is_symlink() { path.canonicalize()? } else { path.to_path_buf() };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = folder.join(format!(".{name}.{}.new", std::process::id()));
    let written =
        OpenOptions::new().write(true).create_new(true).open(&fresh).and_then(|mut file| {
            if let Ok(known) = path.metadata() {
                file.set_permissions(known.permissions())?;
            }
            file.write_all(after.as_bytes())?;
            file.sync_all()?;
            // As late as possible: an agent may write the file, too.
            if read(&path)? != before {
                return Err(io::Error::other("it was changed meanwhile"));
            }
            fs::rename(&fresh, &path)
        });
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_and_permissions_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        fs::write(&real, "a").expect("written");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("set");
        symlink("real.json", &link).expect("a link");
        replace(&link, "a", "b").expect("replaced");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).expect("read"), "b");
        assert_eq!(real.metadata().expect("there").permissions().mode() & 0o777, 0o640);
        let error = replace(&link, "a", "c").expect_err("changed meanwhile");
        assert!(error.to_string().contains("changed"), "{error}");
        assert_eq!(dir.path().read_dir().expect("listed").count(), 2, "nothing is left over");
    }

    #[test]
    fn folders_are_made_and_a_link_to_nothing_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a/b.json");
        replace(&path, "", "{}").expect("made");
        assert_eq!(read(&path).expect("read"), "{}");
        symlink("nowhere", dir.path().join("link")).expect("a link");
        assert!(read(&dir.path().join("link")).is_err());
        assert!(replace(&dir.path().join("link"), "", "{}").is_err());
    }
}
