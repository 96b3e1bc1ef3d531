//! Forms: the byte sequences as which kgd may have stored a string.
//!
//! In: a string. Out: bytes to search for, each with its replacement.
//! A text may be stored verbatim, in other Unicode forms (input may be composed, names are folded), with whitespace
//! collapsed, as a normalized name, inside JSON, HTML or a URL, and, in kept versions, in the encoding of the note.
//! The search ignores the case of ASCII letters.

use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization;

use crate::words::folded;
use model::terms::norm_of;

/// Replaces what was forgotten.
pub(super) const MARK: &str = "[forgotten]";

/// Shortest form that is searched for, bytes: some names are no longer.
const MIN_BYTES: usize = 3;

/// Bytes to search for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WrittenForm {
    pub(super) bytes: Vec<u8>,
    pub(super) mark: Vec<u8>,
}

/// Returns every form of a string, each once.
pub(super) fn forms_of(text: &str) -> Vec<WrittenForm> {
    let mut spellings = vec![
        text.to_string(),
        text.nfc().collect(),
        text.nfd().collect(),
        text.nfkc().collect(),
        text.to_lowercase(),
        folded(text),
        text.split_whitespace().collect::<Vec<_>>().join(" "),
        norm_of(text),
    ];
    spellings.sort();
    spellings.dedup();
    let mut found = Vec::new();
    for spelling in &spellings {
        let written =
            [spelling.clone(), json(spelling), json_in_page(spelling), json_ascii(spelling)];
        let further = [html(spelling, "&#39;"), html(spelling, "&#x27;"), percent(spelling)];
        let all = written.into_iter().chain(further);
        found.extend(all.map(|it| WrittenForm { bytes: it.into_bytes(), mark: MARK.into() }));
    }
    // Kept versions of notes have the note's encoding: UTF-16 of either byte order, or Windows-1252.
    let wide = |to: fn(u16) -> [u8; 2], text: &str| text.encode_utf16().flat_map(to).collect();
    for to in [u16::to_le_bytes, u16::to_be_bytes] {
        found.push(WrittenForm { bytes: wide(to, text), mark: wide(to, MARK) });
    }
    let (western, _, is_lossy) = encoding_rs::WINDOWS_1252.encode(text);
    if !is_lossy {
        found.push(WrittenForm { bytes: western.into_owned(), mark: MARK.into() });
    }
    found.retain(|it| it.bytes.len() >= MIN_BYTES);
    found.sort();
    found.dedup();
    found
}

/// The text as it appears between the quotes of a JSON string.
fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_string()
}

/// JSON inside an HTML page, where `<`, `>` and `&` are escaped.
fn json_in_page(text: &str) -> String {
    json(text).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn json_ascii(text: &str) -> String {
    let mut out = String::new();
    for c in json(text).chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            // JSON has no escape beyond `\uFFFF`: other characters become surrogate pairs.
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}

fn html(text: &str, apostrophe: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped.replace('"', "&quot;").replace('\'', apostrophe)
}

fn percent(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        // `/` is kept, as in the path of a URL.
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_looked_for_as_it_may_be_stored() {
        let forms = forms_of("Zoë \"X\" & co\n1");
        let has = |bytes: &[u8]| forms.iter().any(|it| it.bytes == bytes);
        for wanted in [
            "Zoë \"X\" & co\n1",
            "Zoe\u{308} \"X\" & co\n1",
            "Zoë \\\"X\\\" & co\\n1",
            "Zo\\u00eb \\\"X\\\" & co\\n1",
            "Zoë \\\"X\\\" \\u0026 co\\n1",
            "Zoë &quot;X&quot; &amp; co\n1",
            "Zo%C3%AB%20%22X%22%20%26%20co%0A1",
            "Zoë \"X\" & co 1",
            "zoëxco1",
        ] {
            assert!(has(wanted.as_bytes()), "{wanted}");
        }
        assert!(has(b"Zo\xeb \"X\" & co\n1"), "Windows-1252");
        assert!(has(b"Z\0o\0\xeb\0 \0\"\0X\0\"\0 \0&\0 \0c\0o\0\n\x001\0"), "UTF-16");
    }
}
