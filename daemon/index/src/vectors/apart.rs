//! Apart: the rarely read part of the vectors, kept in an unnamed file instead of memory.
//!
//! In: blocks of bytes, once. Out: parts of them, by place.
//! Invariants: no other process can open the file, and it disappears with this process, however that ends; the space
//! of a dropped block is reused; frequently read parts stay in the system's cache, and leave it when memory is needed
//! elsewhere.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

/// The unnamed file.
#[derive(Debug)]
pub struct Apart {
    file: File,
    room: Mutex<Room>,
}

#[derive(Debug, Default)]
struct Room {
    n_bytes: u64,
    /// Offsets of free blocks, by their size.
    free: FxHashMap<usize, Vec<u64>>,
}

impl Apart {
    /// Creates the file in `folder`.
    ///
    /// # Errors
    /// When the file system does not support unnamed files (some network file systems), or is full.
    pub fn within(folder: &Path) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Apart { file: sys::nameless_file(folder)?, room: Mutex::default() }))
    }

    /// Writes a block, in a free place of the same size or at the end.
    pub(super) fn put(self: &Arc<Self>, bytes: &[u8]) -> io::Result<Block> {
        let at = {
            let mut room = self.room();
            let free = room.free.get_mut(&bytes.len()).and_then(Vec::pop);
            free.unwrap_or_else(|| {
                room.n_bytes += bytes.len() as u64;
                room.n_bytes - bytes.len() as u64
            })
        };
        // If writing fails, dropping the block frees its place.
        let block = Block { apart: self.clone(), at, n_bytes: bytes.len() };
        self.file.write_all_at(bytes, at)?;
        Ok(block)
    }

    /// Returns the size of the file, bytes.
    #[cfg(test)]
    pub(super) fn n_bytes(&self) -> u64 {
        self.room().n_bytes
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the file, reserved until it is dropped.
#[derive(Debug)]
pub(super) struct Block {
    apart: Arc<Apart>,
    at: u64,
    n_bytes: usize,
}

impl Block {
    /// Reads bytes at offset `from` of the block.
    pub(super) fn read(&self, from: usize, into: &mut [u8]) -> io::Result<()> {
        if from + into.len() > self.n_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.apart.file.read_exact_at(into, self.at + from as u64)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.apart.room().free.entry(self.n_bytes).or_default().push(self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_by_place_and_their_room_is_used_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let apart = Apart::within(folder.path()).expect("a file");
        assert_eq!(std::fs::read_dir(folder.path()).expect("read").count(), 0, "it has no name");
        let first = apart.put(&[1, 2, 3, 4]).expect("written");
        let second = apart.put(&[5, 6, 7, 8]).expect("written");
        let read = |block: &Block, from, n| {
            let mut bytes = vec![0; n];
            block.read(from, &mut bytes).map(|()| bytes)
        };
        assert_eq!(read(&second, 1, 2).expect("read"), [6, 7]);
        assert!(read(&second, 3, 2).is_err(), "what is beyond is of another block");
        drop(first);
        let third = apart.put(&[9, 9, 9, 9]).expect("written");
        assert_eq!((apart.n_bytes(), read(&third, 0, 1).expect("read")), (8, vec![9]));
        assert_eq!(read(&second, 0, 4).expect("read"), [5, 6, 7, 8]);
        assert!(Apart::within(&folder.path().join("nowhere")).is_err());
    }
}
