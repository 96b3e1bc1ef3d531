//! Ids: identities and orders that travel with a document.

use std::fmt;
use std::sync::Arc;

/// A file's path relative to the project's root, with `/` between its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RelPath(Arc<str>);

impl RelPath {
    /// Takes a relative path as text; backslashes are kept (they are legal in names on Linux).
    pub fn new(path: impl Into<Arc<str>>) -> Self {
        RelPath(path.into())
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last part, with its extension.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the last part without its extension.
    pub fn stem(&self) -> &str {
        let name = self.file_name();
        match name.rfind('.') {
            Some(dot) if dot > 0 => name.get(..dot).unwrap_or(name),
            _ => name,
        }
    }

    /// Returns the extension in lowercase, without its dot; empty if there is none.
    pub fn extension(&self) -> String {
        config::kinds::extension_of(self.file_name())
    }

    /// Returns the folder, without a trailing slash; empty for the root.
    pub fn folder(&self) -> &str {
        self.0.rfind('/').and_then(|slash| self.0.get(..slash)).unwrap_or("")
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// 128-bit hash (XXH3) of a file's bytes or of a chunk's text: equality of content, not a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ContentHash(pub u128);

impl ContentHash {
    /// Hashes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        ContentHash(xxhash_rust::xxh3::xxh3_128(bytes))
    }

    /// Returns the hash as 32 hexadecimal digits.
    pub fn to_hex(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Parses the form of [`ContentHash::to_hex`].
    pub fn from_hex(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(ContentHash)
    }
}

/// A file at the moment it was checked: enough to see later whether it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileVersion {
    /// Hash of its bytes; `None` if they could not be read.
    pub hash: Option<ContentHash>,
    /// Permissions and kind, as the system counts them; only compared while the bytes are unknown.
    pub mode: u32,
    /// Modification time, milliseconds since 1970.
    pub mtime_ms: i64,
    /// Size in bytes.
    pub n_bytes: u64,
}

impl FileVersion {
    /// Returns whether `now`, which may have metadata only, is this version as far as is known.
    pub fn is_unchanged(&self, now: &FileVersion) -> bool {
        let looks_the_same = (self.mtime_ms, self.n_bytes) == (now.mtime_ms, now.n_bytes);
        match (self.hash, now.hash) {
            (Some(hash), Some(now)) => hash == now,
            (Some(_), None) => looks_the_same,
            // The file has become readable.
            (None, Some(_)) => false,
            (None, None) => looks_the_same && self.mode == now.mode,
        }
    }
}

/// The order in which the watcher read files; an item that is older than what is committed is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Generation(pub u64);

/// The number of a commit; every reply names the tick it saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Tick(pub u64);

/// The two lanes of the belt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// For what a person or agent just saved: overtakes any backlog at every stage.
    Interactive,
    /// For the opening crawl, rescans and ripples.
    Bulk,
}

#[cfg(test)]
mod tests {
    use super::RelPath;

    #[test]
    fn a_path_gives_its_parts() {
        let rows = [
            ("a/b.tar.md", "b.tar.md", "b.tar", "md", "a"),
            ("README", "README", "README", "txt", ""),
            (".hidden", ".hidden", ".hidden", "", ""),
            ("x/y/Z.MD", "Z.MD", "Z", "md", "x/y"),
        ];
        for (path, name, stem, extension, folder) in rows {
            let p = RelPath::new(path);
            assert_eq!((p.file_name(), p.stem(), p.folder()), (name, stem, folder));
            assert_eq!(p.extension(), extension);
        }
    }
}
