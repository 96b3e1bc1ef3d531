//! Servers: common parts for servers that the user configured: the key, and error messages.
//!
//! In: settings, replies. Out: keys, messages.
//! Invariants: a key is in no error; messages of servers are cut.

use std::path::Path;

use serde_json::Value;

/// Largest file with a key, bytes.
const MAX_KEY_BYTES: u64 = 8_192;

/// Longest quotation of a server's message, characters.
const MAX_COMPLAINT: usize = 200;

/// Where the settings say that a key is.
#[derive(Debug, Clone, Copy)]
pub struct KeyPlace<'a> {
    /// The section of the settings, such as `embed.remote`.
    pub section: &'a str,
    /// The variable that holds it; empty means none.
    pub variable: &'a str,
    /// The file that holds it; empty means none.
    pub file: &'a str,
}

impl KeyPlace<'_> {
    /// Returns the key, if one is configured.
    ///
    /// # Errors
    /// Why it cannot be read, in words that never contain it.
    pub fn read(self) -> Result<Option<String>, String> {
        let KeyPlace { section, variable, file } = self;
        let found = if !variable.is_empty() {
            let not_set =
                |_| format!("the variable `{variable}` of `{section}.key_variable` is not set");
            Some(std::env::var(variable).map_err(not_set)?)
        } else if !file.is_empty() {
            Some(read_key(Path::new(file))?)
        } else {
            None
        };
        let Some(key) = found.map(|key| key.trim().to_string()) else { return Ok(None) };
        // Anything else could not be sent in a header.
        match !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Some(key)),
            false => Err("the key is empty or has invalid characters".to_string()),
        }
    }
}

fn read_key(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
    match metadata.is_file() && metadata.len() <= MAX_KEY_BYTES {
        true => std::fs::read_to_string(path)
            .map_err(|error| format!("`{shown}` cannot be read: {error}")),
        false => Err(format!("`{shown}` is not a regular file of at most {MAX_KEY_BYTES} bytes")),
    }
}

/// Returns a server's error message: that in its JSON, else the beginning of its text.
pub fn complaint(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let json: Option<Value> = serde_json::from_slice(bytes).ok();
    let found = json.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        error.as_str().or_else(|| error.get("message")?.as_str())
    });
    let words = found.unwrap_or(&text).split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(MAX_COMPLAINT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn complaints_are_short() {
        assert_eq!(complaint(br#"{"error": {"message": "no  such\nmodel"}}"#), "no such model");
        assert_eq!(complaint(br#"{"error": "model not found"}"#), "model not found");
        assert_eq!(complaint(br#"{"message": "no such region"}"#), "no such region");
        assert_eq!(complaint(b"<html>\nBad Gateway"), "<html> Bad Gateway");
        assert_eq!(complaint("é".repeat(9_999).as_bytes()).chars().count(), MAX_COMPLAINT);
        assert_eq!(complaint(b""), "");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            complaint(&bytes);
        }
    }
}
