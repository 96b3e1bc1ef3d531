//! Private keys written out: PEM blocks and PuTTY key files, whole or cut off.

use std::ops::Range;

use memchr::memmem;

use super::token::{BASE64, is_in};

/// Longest private key that is replaced as a whole, in bytes: a 16,384-bit RSA key in PEM has 13 kB.
const MAX_KEY_BYTES: usize = 16 * 1024;

/// Returns a PEM block whose label says that it is private, up to its `END` line if there is one; `BEGIN` ends at
/// `end`.
pub(super) fn pem_key(text: &str, end: usize) -> Option<Range<usize>> {
    let before = text.get(..end)?;
    let n = ["-----BEGIN", "---- BEGIN"].into_iter().find(|it| before.ends_with(it))?.len();
    // With the blank after `BEGIN`.
    let literal = end - n..end + 1;
    let window = window(text, literal.start);
    if window.starts_with("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY") {
        let end = memmem::find(window.as_bytes(), b"---- END SSH2 ENCRYPTED PRIVATE KEY ----");
        return end.map(|end| literal.start..literal.start + end + 40);
    }
    let label_end =
        literal.len() + memmem::find(window.get(literal.len()..)?.as_bytes(), b"-----")?;
    let label = window.get(literal.len()..label_end)?;
    if !(label.ends_with("PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK") || label.len() > 40 {
        return None;
    }
    let body = label_end + 5;
    let end_line = format!("-----END {label}-----");
    let end = match memmem::find(window.get(body..)?.as_bytes(), end_line.as_bytes()) {
        Some(place) => body + place + end_line.len(),
        // Cut off: take as much as looks like a key, or nothing where a text only mentions the line.
        None => body + n_key_bytes(window.get(body..)?)?,
    };
    Some(literal.start..literal.start + end)
}

/// Returns a PuTTY key file up to the line that authenticates it.
pub(super) fn putty_key(text: &str, literal: Range<usize>) -> Option<Range<usize>> {
    let window = window(text, literal.start);
    let end = match memmem::find(window.as_bytes(), b"Private-MAC:") {
        Some(place) => {
            let rest = window.get(place..)?;
            place + rest.find('\n').unwrap_or(rest.len())
        }
        None => literal.len() + n_key_bytes(window.get(literal.len()..)?)?,
    };
    Some(literal.start..literal.start + end)
}

/// Returns the text from `start` on, at most as long as a key can be.
fn window(text: &str, start: usize) -> &str {
    text.get(start..text.floor_char_boundary(start + MAX_KEY_BYTES)).unwrap_or("")
}

/// Returns the length of a cut-off key; `None` when the text is not one but only mentions keys.
fn n_key_bytes(text: &str) -> Option<usize> {
    n_key_bytes_in_lines(text).max(n_key_bytes_in_words(text))
}

/// Returns the bytes up to the last word that looks like a line of a key: formats join lines of a paragraph by
/// spaces.
fn n_key_bytes_in_words(text: &str) -> Option<usize> {
    let (mut at, mut end) = (0, None);
    for word in text.split_inclusive(|c: char| c.is_ascii_whitespace()) {
        let bare = word.trim_ascii_end();
        let is_base64 = !bare.is_empty() && bare.bytes().all(|byte| is_in(&BASE64, byte));
        // A line of a key has 64, 70 or 76 characters; a shorter one is the last.
        match (is_base64, bare.len()) {
            (true, 48..) => end = Some(at + bare.len()),
            (true, 16..) => return Some(at + bare.len()).filter(|_| end.is_some()),
            _ if bare.is_empty() || at == 0 => {}
            _ => break,
        }
        at += word.len();
    }
    end
}

/// Returns the bytes up to the last line that looks like part of a key: base64, `Name: value` headers, blank lines.
/// `None` when no line does.
fn n_key_bytes_in_lines(text: &str) -> Option<usize> {
    let (mut at, mut end) = (0, None);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        // Quotes of mail, comment signs, and the quotes and escapes of string literals may surround each line.
        let bare = line.trim_start_matches([' ', '\t', '>', '#', '*', '|']).trim_ascii_end();
        let bare = bare.trim_end_matches(['\\', '"', '\'', ',']);
        let is_key =
            bare.len() >= 16 && bare.bytes().all(|byte| is_in(&BASE64, byte) || byte == b'\\');
        let is_short_end =
            end.is_some() && !bare.is_empty() && bare.bytes().all(|byte| is_in(&BASE64, byte));
        let is_header = bare.split_once(": ").is_some_and(|(name, _)| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        });
        if is_key || is_short_end {
            end = Some(at + line.trim_ascii_end().len());
        } else if !(bare.is_empty() || is_header || index == 0) {
            break;
        }
        at += line.len();
    }
    end
}
