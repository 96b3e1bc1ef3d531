//! Cursor: the position in an answer of several projects.
//!
//! In: for each project, its own cursor and the hits returned since. Out: a short text for the next page.
//! Invariants: nothing is stored between calls; a project's own cursor is opaque and returned
//! unchanged; returned hits are identified by their `ref`, so no hit is repeated or lost even if a
//! page ends in the middle of a project's answer.

use std::fmt::Write;

use super::served::Served;

/// Prefix of our cursors.
const MARK: &str = "all.";

/// Where to continue in one project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Onward {
    pub(super) project: usize,
    /// The project's own cursor; `None` at the beginning of its hits.
    pub(super) cursor: Option<String>,
    /// Hits of the answer to that cursor that were already returned, by [`mark`].
    pub(super) returned: Vec<u32>,
}

/// Returns a hash that distinguishes a hit from others of its project.
pub(super) fn mark(handle: &str) -> u32 {
    // FNV-1a, because the standard library's hash may change between versions.
    handle
        .bytes()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Returns the text of a cursor, or `None` if no project has more.
pub(super) fn write(onward: &[Onward], served: &Served) -> Option<String> {
    let part = |it: &Onward| {
        let mut text = escape(served.permalink(it.project));
        let _ = write!(text, ":{}:", escape(it.cursor.as_deref().unwrap_or_default()));
        it.returned.iter().for_each(|mark| {
            let _ = write!(text, "{mark:08x}");
        });
        text
    };
    let parts: Vec<_> = onward.iter().map(part).collect();
    (!parts.is_empty()).then(|| format!("{MARK}{}", parts.join(".")))
}

/// Parses a cursor from [`write`]; returns `None` for any other text. Skips projects that are no
/// longer served.
pub(super) fn read(text: &str, served: &Served) -> Option<Vec<Onward>> {
    let mut onward = Vec::new();
    for part in text.trim().strip_prefix(MARK)?.split('.') {
        let mut fields = part.split(':');
        let (name, cursor, hex) = (fields.next()?, fields.next()?, fields.next()?);
        if fields.next().is_some() || !hex.is_ascii() {
            return None;
        }
        let marks = hex.as_bytes().chunks(8).map(|mark| {
            let mark = std::str::from_utf8(mark).ok().filter(|mark| mark.len() == 8)?;
            u32::from_str_radix(mark, 16).ok()
        });
        let returned = marks.collect::<Option<Vec<_>>>()?;
        let cursor = Some(unescape(cursor)?).filter(|cursor| !cursor.is_empty());
        if let Some(project) = served.find(&unescape(name)?) {
            onward.push(Onward { project, cursor, returned });
        }
    }
    Some(onward)
}

/// Keeps letters, digits, `-` and `_`; escapes any other byte as `%` and two digits.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
    }
    out
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use config::Project;
    use proptest::prelude::*;

    use super::*;

    fn served() -> Served {
        let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
        Served::new(&[project("Été"), project("b"), project("c")]).expect("distinct")
    }

    #[test]
    fn a_cursor_reads_as_it_was_written() {
        let onward = [
            Onward { project: 0, cursor: Some("a.b:c_-d".into()), returned: vec![1, 0xffff_ffff] },
            Onward { project: 2, ..Onward::default() },
        ];
        let text = write(&onward, &served()).expect("two go on");
        assert_eq!(text, "all.%c3%a9t%c3%a9:a%2eb%3ac_-d:00000001ffffffff.c::");
        assert_eq!(read(&format!(" {text} "), &served()).as_deref(), Some(&onward[..]));
        assert_eq!(write(&[], &served()), None);
    }

    #[test]
    fn another_text_is_no_cursor_of_ours() {
        for text in [
            "",
            "AAAA",
            "all.",
            "all.b",
            "all.b:x",
            "all.b:x:1",
            "all.b:%:",
            "all.b::é",
            "all.b:::",
        ] {
            assert_eq!(read(text, &served()), None, "{text}");
        }
        assert_eq!(read("all.gone::", &served()), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(all\\.)?\\PC{0,40}") {
            let _ = read(&text, &served());
        }

        #[test]
        fn any_cursor_of_a_project_comes_back(
            cursor in "\\PC{1,40}",
            returned in proptest::collection::vec(any::<u32>(), 0..9),
        ) {
            let onward = vec![Onward { project: 1, cursor: Some(cursor), returned }];
            let text = write(&onward, &served()).expect("one goes on");
            prop_assert_eq!(read(&text, &served()), Some(onward));
        }
    }
}
