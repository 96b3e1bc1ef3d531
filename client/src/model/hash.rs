//! Hash: SHA-256 of files, in hexadecimal.

pub(super) use config::models::sha256_of as of_file;

/// Returns true if a text is a SHA-256.
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
