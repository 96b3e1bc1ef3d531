//! Forms: how a string may stand in a file of kgd's.
//!
//! In: a string. Out: bytes to look for, each with what takes their place.
//! A text is stored as it is, in other Unicode forms (what was typed may be composed, names are folded), with blanks
//! joined, as the norm of a name, within JSON, HTML or a URL, and in kept files in the encoding that the note had.
//! Case is not here: whoever looks ignores that of ASCII.

use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization;

use crate::words::folded;
use model::terms::norm_of;

/// What stands in the place of what was forgotten.
pub(super) const MARK: &str = "[forgotten]";

/// Shortest form that is looked for, bytes: some names are no longer.
const MIN_BYTES: usize = 3;

/// Bytes to look for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WrittenForm {
    pub(super) bytes: Vec<u8>,
    pub(super) mark: Vec<u8>,
}

/// Every form of a string, each once.
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

/// As it stands within quotes of JSON.
fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap_or_default();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_string()
}

/// As JSON stands within a page of HTML.
fn json_in_page(text: &str) -> String {
    json(text).replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn json_ascii(text: &str) -> String {
    let mut out = String::new();
    for c in json(text).chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
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
