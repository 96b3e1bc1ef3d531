//! A small disk: a file system of a few megabytes in its own mount namespace, to be filled and made
//! read-only.
//!
//! In: a path. Out: programs that see the disk there; everybody else sees an ordinary folder.
//! Invariant: the disk is removed with its value in any case.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A mounted disk.
#[derive(Debug)]
pub struct SmallDisk {
    keeper: Child,
    at: PathBuf,
    is_root: bool,
}

impl SmallDisk {
    /// Creates a folder and mounts a disk of this size on it. Returns `None` if the system does not
    /// allow it.
    ///
    /// # Panics
    /// If the folder cannot be created.
    pub fn mount(at: &Path, n_bytes: u64) -> Option<SmallDisk> {
        fs::create_dir_all(at).expect("a folder");
        // Root needs no user namespace; any other user becomes root in one.
        let is_root = fs::metadata("/proc/self")
            .is_ok_and(|it| std::os::unix::fs::MetadataExt::uid(&it) == 0);
        let script = r#"mount -t tmpfs -o size="$1",mode=0700 tmpfs "$2" && echo ready && exec sleep infinity"#;
        let mut keeper = Command::new("unshare")
            .arg(if is_root { "-m" } else { "-rm" })
            .args(["sh", "-c", script, "sh", &n_bytes.to_string()])
            .arg(at)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        let read = keeper.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
        if !matches!(read, Some(Ok(_))) || line.trim() != "ready" {
            let _ = keeper.kill();
            let _ = keeper.wait();
            return None;
        }
        Some(SmallDisk { keeper, at: at.to_path_buf(), is_root })
    }

    /// Returns the beginning of a command line that runs where the disk is mounted.
    pub fn launcher(&self) -> Vec<String> {
        let mut words =
            vec!["nsenter".to_string(), "-t".into(), self.keeper.id().to_string(), "-m".into()];
        if !self.is_root {
            words.extend(["-U".to_string(), "--preserve-credentials".into()]);
        }
        words.push("--".into());
        words
    }

    /// Runs a shell script where the disk is mounted; `$1` is its path.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&self, script: &str) {
        let words = self.launcher();
        let done = Command::new(&words[0])
            .args(&words[1..])
            .args(["sh", "-c", script, "sh"])
            .arg(&self.at)
            .status();
        assert!(done.expect("a shell").success(), "{script}");
    }

    /// Returns a path on the disk as seen from outside.
    pub fn outside(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.keeper.id()));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Fills the disk to the last byte.
    ///
    /// # Panics
    /// If nothing can be written.
    pub fn fill(&self) {
        let mut file = File::create(self.outside(&self.at.join("filler"))).expect("a file");
        for size in [65_536, 4_096, 512, 1] {
            let block = vec![0; size];
            loop {
                match file.write_all(&block) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("the disk: {error}"),
                }
            }
        }
    }

    /// Undoes [`SmallDisk::fill`].
    ///
    /// # Panics
    /// If it was not filled.
    pub fn free(&self) {
        fs::remove_file(self.outside(&self.at.join("filler"))).expect("it was filled");
    }

    /// Copies everything on the disk to the folder below the mount, as seen from outside.
    ///
    /// # Panics
    /// If something cannot be copied.
    pub fn copy_out(&self) {
        copy(&self.outside(&self.at), &self.at);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type") {
            kind if kind.is_dir() => copy(&entry.path(), &target),
            kind if kind.is_file() => {
                fs::copy(entry.path(), target).expect("a copy");
            }
            _ => {}
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
