//! Apart: the rarely read part of the vectors in memory, kept in a file without a name.
//!
//! In: blocks of bytes, once. Out: parts of them, by place.
//! Invariants: nobody else can open the file, and it is gone with the process, whatever ends that; the room of a block
//! that nobody holds is used again; what is read often stays in the system's cache, and is given back when memory is
//! needed elsewhere.
//! Not here: what the bytes mean (`rows.rs`).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use rustix::fs::{Mode, OFlags};

/// The file.
#[derive(Debug)]
pub struct Apart {
    file: File,
    room: Mutex<Room>,
}

#[derive(Debug, Default)]
struct Room {
    n_bytes: u64,
    /// Places that blocks of a size have left.
    free: FxHashMap<usize, Vec<u64>>,
}

impl Apart {
    /// A file in `folder`.
    ///
    /// # Errors
    /// When the file system has no files without names (some network file systems), or no room.
    pub fn within(folder: &Path) -> io::Result<Arc<Self>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(Arc::new(Apart { file: file.into(), room: Mutex::default() }))
    }

    /// Writes a block.
    pub(super) fn put(self: &Arc<Self>, bytes: &[u8]) -> io::Result<Block> {
        let at = {
            let mut room = self.room();
            let free = room.free.get_mut(&bytes.len()).and_then(Vec::pop);
            free.unwrap_or_else(|| {
                room.n_bytes += bytes.len() as u64;
                room.n_bytes - bytes.len() as u64
            })
        };
        // When it fails, dropping the block gives the room back.
        let block = Block { apart: self.clone(), at, n_bytes: bytes.len() };
        self.file.write_all_at(bytes, at)?;
        Ok(block)
    }

    /// Bytes of the file.
    #[cfg(test)]
    pub(super) fn n_bytes(&self) -> u64 {
        self.room().n_bytes
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the file, for as long as this is held.
#[derive(Debug)]
pub(super) struct Block {
    apart: Arc<Apart>,
    at: u64,
    n_bytes: usize,
}

impl Block {
    /// Reads bytes from a place of the block on.
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
