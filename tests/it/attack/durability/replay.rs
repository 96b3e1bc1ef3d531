//! Replay: the content of a disk after a crash, from a trace of system calls.
//!
//! In: the folder before the daemon started, and the output of `strace`. Out: after every call, the
//! result of two kinds of crash.
//! The model: a file's bytes survive after `fsync` of the file, a name after `fsync` of its folder;
//! `rename` is atomic. A [`View::Lazy`] disk keeps only that; a [`View::Eager`] one has written
//! every name, but only synced bytes: the state of a file that was renamed before its data was
//! written.
//! Mapped memory is not traced, so `-shm` files stay empty.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

/// Arguments of `strace`: hexadecimal strings, so that a path or a page is one word; the traced
/// program stays the child of the process that started it.
pub(super) const STRACE: [&str; 9] = [
    "strace",
    "-D",
    "-f",
    "-y",
    "-xx",
    "-s",
    "1000000",
    "-e",
    "trace=openat,open,creat,write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,\
     mkdirat,link,linkat,ftruncate",
];

/// One successful call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    name: String,
    /// Strings and paths of descriptors, in order, each with whether it is a path.
    words: Vec<(bool, Vec<u8>)>,
    /// Everything else: flags and numbers.
    rest: String,
    /// End of its line in the trace.
    pub(super) end: usize,
}

/// Returns the successful calls of a trace, in the order in which they ended.
pub(super) fn calls(trace: &[u8]) -> Vec<Call> {
    let mut open: HashMap<&str, String> = HashMap::new();
    let (mut out, mut end) = (Vec::new(), 0);
    let text = std::str::from_utf8(trace).expect("the trace is ASCII");
    for line in text.split_inclusive('\n') {
        end += line.len();
        let Some((pid, line)) = line.trim_end().split_once(' ') else { continue };
        let line = line.trim_start();
        if let Some(begun) = line.strip_suffix("<unfinished ...>") {
            open.insert(pid, begun.to_string());
            continue;
        }
        let whole = match line.strip_prefix("<... ").and_then(|it| it.split_once(" resumed>")) {
            Some((_, rest)) => open.remove(pid).unwrap_or_default() + rest,
            None => line.to_string(),
        };
        out.extend(call(&whole, end));
    }
    out
}

fn call(line: &str, end: usize) -> Option<Call> {
    let (name, arguments) = line.split_once('(')?;
    let (mut words, mut rest) = (Vec::new(), String::new());
    let mut text = arguments;
    while let Some(at) = text.find(['"', '<']) {
        rest.push_str(&text[..at]);
        let is_path = text[at..].starts_with('<');
        let close = if is_path { '>' } else { '"' };
        let len = text[at + 1..].find(close)?;
        words.push((is_path, unescape(&text[at + 1..at + 1 + len])));
        text = &text[at + len + 2..];
    }
    rest.push_str(text);
    let result = rest.rsplit_once("= ")?.1;
    (!result.starts_with('-')).then(|| Call { name: name.to_string(), words, rest, end })
}

fn unescape(hex: &str) -> Vec<u8> {
    let digits = hex.split("\\x").skip(1);
    let bytes = digits.map(|it| u8::from_str_radix(&it[..2], 16).expect("two digits"));
    bytes.collect()
}

/// A kind of crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Only what was synced.
    Lazy,
    /// Every name, but only synced bytes.
    Eager,
}

#[derive(Debug, Clone)]
enum Inode {
    File { now: Vec<u8>, synced: Vec<u8> },
    Folder { now: BTreeMap<String, usize>, synced: BTreeMap<String, usize> },
}

/// A folder with everything below it.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    root: PathBuf,
    inodes: Vec<Inode>,
}

impl Disk {
    /// Loads a folder, with everything synced.
    pub(super) fn of(root: &Path) -> Disk {
        let mut disk = Disk { root: root.to_path_buf(), inodes: Vec::new() };
        disk.load(root);
        disk
    }

    fn load(&mut self, path: &Path) -> usize {
        let id = self.inodes.len();
        if !path.is_dir() {
            let bytes = fs::read(path).unwrap_or_default();
            self.inodes.push(Inode::File { now: bytes.clone(), synced: bytes });
            return id;
        }
        self.inodes.push(Inode::Folder { now: BTreeMap::new(), synced: BTreeMap::new() });
        for entry in fs::read_dir(path).expect("a folder").flatten() {
            let (name, child) = (entry.file_name(), self.load(&entry.path()));
            let name = name.into_string().expect("a name of ours");
            if let Inode::Folder { now, synced } = &mut self.inodes[id] {
                now.insert(name.clone(), child);
                synced.insert(name, child);
            }
        }
        id
    }

    fn find(&self, path: &Path, view: Option<View>) -> Option<usize> {
        let below = path.strip_prefix(&self.root).ok()?;
        below.iter().try_fold(0, |id, name| match (&self.inodes[id], view) {
            (Inode::Folder { synced, .. }, Some(View::Lazy)) => synced.get(name.to_str()?).copied(),
            (Inode::Folder { now, .. }, _) => now.get(name.to_str()?).copied(),
            _ => None,
        })
    }

    /// Returns the bytes of a file after a crash.
    pub(super) fn read(&self, path: &Path, view: View) -> Option<Vec<u8>> {
        match &self.inodes[self.find(path, Some(view))?] {
            Inode::File { synced, .. } => Some(synced.clone()),
            Inode::Folder { .. } => None,
        }
    }

    /// Returns the files below a folder after a crash.
    pub(super) fn files(&self, folder: &Path, view: View) -> Vec<PathBuf> {
        let (mut open, mut out) = (vec![folder.to_path_buf()], Vec::new());
        while let Some(path) = open.pop() {
            match self.find(&path, Some(view)).map(|id| &self.inodes[id]) {
                Some(Inode::Folder { now, synced }) => {
                    let names = if view == View::Lazy { synced } else { now };
                    open.extend(names.keys().map(|name| path.join(name)));
                }
                Some(Inode::File { .. }) => out.push(path),
                None => {}
            }
        }
        out
    }

    fn entry(&mut self, path: &Path) -> Option<(&mut BTreeMap<String, usize>, String)> {
        let folder = self.find(path.parent()?, None)?;
        match &mut self.inodes[folder] {
            Inode::Folder { now, .. } => Some((now, path.file_name()?.to_str()?.to_string())),
            Inode::File { .. } => None,
        }
    }

    fn put(&mut self, path: &Path, id: usize) {
        if let Some((names, name)) = self.entry(path) {
            names.insert(name, id);
        }
    }

    fn take(&mut self, path: &Path) -> Option<usize> {
        let (names, name) = self.entry(path)?;
        names.remove(&name)
    }

    fn make(&mut self, path: &Path, inode: Inode) {
        self.inodes.push(inode);
        self.put(path, self.inodes.len() - 1);
    }

    fn bytes(&mut self, path: &Path) -> Option<&mut Vec<u8>> {
        let id = self.find(path, None)?;
        match &mut self.inodes[id] {
            Inode::File { now, .. } => Some(now),
            Inode::Folder { .. } => None,
        }
    }

    /// Applies a call.
    pub(super) fn apply(&mut self, call: &Call) {
        let numbers: Vec<usize> =
            call.rest.split([',', ')', ' ']).filter_map(|it| it.parse().ok()).collect();
        let paths = call.paths();
        let path = |n: usize| paths.get(n).cloned().unwrap_or_default();
        match call.name.as_str() {
            "open" | "openat" | "creat" => self.open(call),
            "write" | "pwrite64" => {
                let Some((_, data)) = call.words.get(1) else { return };
                let is_at = (call.name == "pwrite64").then(|| numbers.iter().rev().nth(1).copied());
                let Some(bytes) = self.bytes(&path(0)) else { return };
                // A write without an offset appends to a new file.
                let at = is_at.flatten().unwrap_or(bytes.len());
                bytes.resize(bytes.len().max(at + data.len()), 0);
                bytes[at..at + data.len()].copy_from_slice(data);
            }
            "ftruncate" => {
                let len = numbers.iter().rev().nth(1).copied().unwrap_or(0);
                if let Some(bytes) = self.bytes(&path(0)) {
                    bytes.resize(len, 0);
                }
            }
            "fsync" | "fdatasync" => match self.find(&path(0), None).map(|id| &mut self.inodes[id])
            {
                Some(Inode::File { now, synced }) => synced.clone_from(now),
                Some(Inode::Folder { now, synced }) => synced.clone_from(now),
                None => {}
            },
            "mkdir" | "mkdirat" => {
                self.make(
                    &path(0),
                    Inode::Folder { now: BTreeMap::new(), synced: BTreeMap::new() },
                );
            }
            "unlink" | "unlinkat" | "rmdir" => drop(self.take(&path(0))),
            "link" | "linkat" => {
                if let Some(id) = self.find(&path(0), None) {
                    self.put(&path(1), id);
                }
            }
            "rename" | "renameat" | "renameat2" => {
                let (from, to) = (self.take(&path(0)), self.take(&path(1)));
                let is_exchange = call.rest.contains("RENAME_EXCHANGE");
                from.into_iter().for_each(|id| self.put(&path(1), id));
                to.filter(|_| is_exchange).into_iter().for_each(|id| self.put(&path(0), id));
            }
            other => panic!("a call that nobody asked for: {other}"),
        }
    }

    fn open(&mut self, call: &Call) {
        // The opened path follows the result.
        let Some((true, path)) = call.words.last() else { return };
        let path = PathBuf::from(String::from_utf8_lossy(path).into_owned());
        if call.rest.contains("O_CREAT") && self.find(&path, None).is_none() {
            self.make(&path, Inode::File { now: Vec::new(), synced: Vec::new() });
        }
        if call.rest.contains("O_TRUNC")
            && let Some(bytes) = self.bytes(&path)
        {
            bytes.clear();
        }
    }
}

impl Call {
    /// Returns the path that it made durable, if it is a sync.
    pub(super) fn synced(&self) -> Option<PathBuf> {
        let is_sync = matches!(self.name.as_str(), "fsync" | "fdatasync");
        self.paths().into_iter().next().filter(|_| is_sync)
    }

    /// Returns the paths that a call names: that of a descriptor, or a name with the folder to
    /// which it is relative.
    fn paths(&self) -> Vec<PathBuf> {
        let text = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
        if matches!(self.name.as_str(), "write" | "pwrite64" | "fsync" | "fdatasync" | "ftruncate")
        {
            // A deleted file has no name any more.
            let is_gone = self.rest.contains("(deleted)");
            return self
                .words
                .first()
                .filter(|_| !is_gone)
                .map(|it| text(&it.1))
                .into_iter()
                .collect();
        }
        let mut folder = PathBuf::new();
        let mut out = Vec::new();
        for (is_path, word) in &self.words {
            match is_path {
                true => folder = text(word),
                false => out.push(folder.join(text(word))),
            }
        }
        out
    }
}
