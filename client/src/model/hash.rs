//! Hash: SHA-256 of files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256 of a file, in hexadecimal.
pub(super) fn of_file(path: &Path) -> std::io::Result<String> {
    let (mut file, mut hash, mut buffer) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        let n_read = file.read(&mut buffer)?;
        hash.update(buffer.get(..n_read).unwrap_or_default());
        if n_read == 0 {
            return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
    }
}

/// Whether a text is one.
pub(super) fn is_one(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_known_text() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("abc");
        std::fs::write(&path, "abc").expect("written");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_file(&path).expect("read"), expected);
        assert!(is_one(expected) && !is_one("abc") && !is_one(&expected.to_uppercase()));
    }
}
