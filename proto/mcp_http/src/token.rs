//! Token: the secret of requests over HTTP, if the user names none.
//!
//! In: the path of a file in the state folder. Out: the token; a missing file is created.
//! Invariants: 32 random bytes as hexadecimal digits; the file has mode 0600 and is complete or absent, and several
//! programs that create it at once all read the same one.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Bytes of a generated token: 256 bits, which cannot be guessed.
const N_BYTES: usize = 32;

/// Returns the path of the page's own token, beside that of MCP. Its holder may do what a person at this machine may.
pub fn of_page(http_token: &Path) -> PathBuf {
    http_token.with_file_name("page.token")
}

/// Creates the token unless there is one.
///
/// # Errors
/// The system's error.
pub fn make(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let part = write_beside(path)?;
    // Unlike a rename, a link does not replace a file that another program created meanwhile.
    let linked = fs::hard_link(&part, path);
    fs::remove_file(&part)?;
    linked
        .or_else(|error| if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })
}

/// Replaces the token with a new one.
///
/// # Errors
/// The system's error.
pub fn renew(path: &Path) -> io::Result<()> {
    let part = write_beside(path)?;
    fs::rename(part, path)
}

/// Writes a new token to a temporary file beside `path`, and returns its path.
fn write_beside(path: &Path) -> io::Result<PathBuf> {
    let mut bytes = [0_u8; N_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = path.with_extension(format!("{}.part", std::process::id()));
    // Left by a killed process with the same id; `create_new` below would fail.
    match fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    file.sync_all()?;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_for_its_owner_and_renewed_when_asked() {
        let folder = std::env::temp_dir().join(format!("mcp-http-made-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("http.token");
        let read = || fs::read_to_string(&path).expect("a file");
        make(&path).expect("made");
        let first = read();
        assert!(first.trim().len() == 64 && first.trim().bytes().all(|it| it.is_ascii_hexdigit()));
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        make(&path).expect("there already");
        assert_eq!(read(), first);
        renew(&path).expect("renewed");
        assert_ne!(read(), first);
        assert_eq!(path.metadata().expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "nothing is left over");
        fs::remove_dir_all(folder).expect("removed");
    }
}
