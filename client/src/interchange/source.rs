//! Source: an export of conversations in a file, a folder, or a zip archive.
//!
//! Facts: both exports have `conversations.json` at the root of the archive or in one folder; large ones of ChatGPT are
//! split into `conversations-000.json` and so on.
//! Invariants: nothing is unpacked to disk; the unpacked size is bounded, as a whole and for each item (`elements.rs`);
//! checksums are verified.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder};

use super::InterchangeError;
use crate::input;

/// Most bytes that an archive may unpack to, and of a file in it. Exports of many years have some hundred megabytes.
const MAX_UNPACKED: u64 = 8 << 30;

/// Most entries of an archive that are visited: images and files of years.
const MAX_ENTRIES: usize = 1_000_000;

/// An export.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    max_unpacked: u64,
}

impl Source {
    /// Creates a source for a path.
    pub fn at(path: &Path) -> Self {
        Source { path: path.to_path_buf(), max_unpacked: MAX_UNPACKED }
    }

    /// Sets another limit.
    #[must_use]
    pub fn limited(self, max_unpacked: u64) -> Self {
        Source { max_unpacked, ..self }
    }

    /// Calls `read` with each file of conversations, sorted by name.
    ///
    /// # Errors
    /// [`InterchangeError`] when there is none, or none can be opened.
    pub fn each(&self, read: &mut dyn FnMut(&str, &mut dyn Read)) -> Result<(), InterchangeError> {
        let path = self.path.display().to_string();
        let io = |source| InterchangeError::Io { path: path.clone(), source };
        // One limit for all files together.
        let mut left = self.max_unpacked;
        if self.path.is_dir() {
            let names = std::fs::read_dir(&self.path).map_err(io)?.flatten();
            let names = names.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> = names.filter(|name| is_conversations(name)).collect();
            names.sort();
            if names.is_empty() {
                return Err(self.without_conversations());
            }
            for name in names {
                let inner = input::open(&self.path.join(&name), u64::MAX).map_err(io)?;
                read(&name, &mut Bounded { inner, left: &mut left });
            }
            return Ok(());
        }
        let mut file = input::open(&self.path, u64::MAX).map_err(io)?;
        let mut head = [0; 4];
        let n = file.read(&mut head).map_err(io)?;
        if head.get(..n).is_some_and(|head| head.starts_with(b"PK")) {
            return self.each_of_archive(file, read);
        }
        file.rewind().map_err(io)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        read(&name, &mut Bounded { inner: file, left: &mut left });
        Ok(())
    }

    fn without_conversations(&self) -> InterchangeError {
        InterchangeError::NotThat {
            path: self.path.display().to_string(),
            wanted: "export of conversations",
            why: "it holds no `conversations.json`".to_string(),
            hint: "give the archive as it was downloaded, or the folder it was unpacked to"
                .to_string(),
        }
    }

    fn each_of_archive(
        &self,
        file: File,
        read: &mut dyn FnMut(&str, &mut dyn Read),
    ) -> Result<(), InterchangeError> {
        let wrong = |why: String| InterchangeError::NotThat {
            path: self.path.display().to_string(),
            wanted: "readable zip archive",
            why,
            hint: "download it again".to_string(),
        };
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let archive =
            ZipArchive::from_file(file, &mut buffer).map_err(|error| wrong(error.to_string()))?;
        let mut parts: Vec<(String, ZipArchiveEntryWayfinder, CompressionMethod)> = Vec::new();
        let mut entries = archive.entries(&mut buffer);
        for _ in 0..MAX_ENTRIES {
            let Some(entry) = entries.next_entry().map_err(|error| wrong(error.to_string()))?
            else {
                break;
            };
            let raw = entry.file_path();
            // Any bytes may be a path in a zip; ours are ASCII.
            let path = String::from_utf8_lossy(raw.as_ref()).into_owned();
            let name = path.rsplit('/').next().unwrap_or(&path);
            // macOS adds a folder with metadata files of the same names.
            if is_conversations(name) && !path.contains("__MACOSX") {
                parts.push((path, entry.wayfinder(), entry.compression_method()));
            }
        }
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        if parts.is_empty() {
            return Err(self.without_conversations());
        }
        // One limit for all parts together.
        let mut left = self.max_unpacked;
        for (name, place, method) in parts {
            let entry = archive.get_entry(place).map_err(|error| wrong(error.to_string()))?;
            let packed = entry.reader();
            let unpacked: Box<dyn Read> = match method {
                CompressionMethod::STORE => Box::new(packed),
                CompressionMethod::DEFLATE => Box::new(flate2::read::DeflateDecoder::new(packed)),
                _ => return Err(wrong(format!("`{name}` uses an unsupported compression"))),
            };
            let mut bounded = Bounded { inner: entry.verifying_reader(unpacked), left: &mut left };
            read(&name, &mut bounded);
        }
        Ok(())
    }
}

/// Returns true for `conversations.json`, or one of several parts.
pub(super) fn is_conversations(name: &str) -> bool {
    let part = name.strip_prefix("conversations").and_then(|rest| rest.strip_suffix(".json"));
    part.is_some_and(|part| {
        part.is_empty()
            || part.strip_prefix(['-', '_']).is_some_and(|number| {
                !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
            })
    })
}

/// A reader that fails beyond a limit.
struct Bounded<'a, R> {
    inner: R,
    left: &'a mut u64,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        *self.left = self.left.checked_sub(n as u64).ok_or_else(|| {
            io::Error::other("it holds more than may be read; the rest is not read")
        })?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_conversations_are_known_by_name() {
        for (name, expected) in [
            ("conversations.json", true),
            ("conversations-000.json", true),
            ("conversations_1.json", true),
            ("conversations-.json", false),
            ("shared_conversations.json", false),
            ("conversations.json.bak", false),
        ] {
            assert_eq!(is_conversations(name), expected, "{name}");
        }
    }
}
