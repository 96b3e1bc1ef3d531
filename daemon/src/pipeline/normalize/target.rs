//! Link targets: what an address or a wikilink points to, without its decoration.
//!
//! In: an address as written (`../a%20b.md#part`, `https://…`, `Note#part|text`). Out: kind, target,
//! fragment.
//! Invariant: a path leaves [`Target::of_address`] percent-decoded and beginning with `./`, `../` or `/`,
//! so that it cannot be mistaken for a note's name; [`resolve`] makes it relative to the project's root.

use crate::pipeline::parcel::{Link, LinkKind};
use crate::terms::{Norm, Span};

/// Longest target kept, bytes; longer ones are data in disguise.
const MAX_TARGET_BYTES: usize = 2_000;

/// What a link points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// How it was written.
    pub(crate) kind: LinkKind,
    /// A note's name, a path or a URL.
    pub(crate) name: String,
    /// What follows `#`.
    pub(crate) fragment: Option<String>,
}

impl Target {
    /// Reads the address of a Markdown link or of `href`/`src`. `None` for what leads nowhere: an empty
    /// address, a mere `#fragment`, `javascript:` and `data:`.
    pub(crate) fn of_address(address: &str) -> Option<Target> {
        let address = address.trim();
        if address.len() > MAX_TARGET_BYTES {
            return None;
        }
        let (place, fragment) = match address.split_once('#') {
            Some((place, fragment)) => (place, Some(fragment)),
            None => (address, None),
        };
        let fragment = fragment.filter(|f| !f.is_empty()).map(percent_decoded);
        if place.starts_with("//") {
            return Some(Target { kind: LinkKind::Url, name: place.to_string(), fragment });
        }
        if let Some(scheme) = scheme_of(place) {
            let is_kept = !["javascript", "data", "vbscript"]
                .iter()
                .any(|dropped| scheme.eq_ignore_ascii_case(dropped));
            return is_kept.then(|| Target {
                kind: LinkKind::Url,
                name: place.to_string(),
                fragment,
            });
        }
        let path = percent_decoded(place.split('?').next().unwrap_or(place));
        if path.is_empty() {
            return None;
        }
        let is_marked = path.starts_with('/') || path.starts_with("./") || path.starts_with("../");
        let name = if is_marked { path } else { format!("./{path}") };
        Some(Target { kind: LinkKind::Path, name, fragment })
    }

    /// Reads what stands before the `|` of a wikilink. `None` for an empty one and for a heading of its own
    /// note.
    pub(crate) fn of_wikilink(written: &str) -> Option<Target> {
        let (name, fragment) = match written.split_once('#') {
            Some((name, fragment)) => (name, Some(fragment.trim())),
            None => (written, None),
        };
        let name = name.trim();
        if name.is_empty() || name.len() > MAX_TARGET_BYTES {
            return None;
        }
        let fragment = fragment.filter(|f| !f.is_empty()).map(String::from);
        Some(Target { kind: LinkKind::Wiki, name: name.to_string(), fragment })
    }

    /// The same target, embedded instead of linked; a URL stays a URL.
    pub(crate) fn into_embed(self) -> Target {
        let kind = if self.kind == LinkKind::Url { LinkKind::Url } else { LinkKind::Embed };
        Target { kind, ..self }
    }

    /// The link at a place of the normalized text.
    pub(crate) fn into_link(self, span: Span<Norm>) -> Link {
        Link { kind: self.kind, target: self.name, fragment: self.fragment, span }
    }
}

/// Makes a path that begins with `./`, `../` or `/` relative to the project's root; `..` stops at the root.
/// Any other target (a note's name) is left alone.
pub(crate) fn resolve(folder: &str, path: &str) -> String {
    let base = match path {
        _ if path.starts_with('/') => "",
        _ if path.starts_with("./") || path.starts_with("../") => folder,
        _ => return path.to_string(),
    };
    joined(base, path)
}

/// A path seen from a folder; `..` stops at the root.
pub(crate) fn joined(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The scheme of a URL, if it has one (RFC 3986, two letters or more so that `C:` is none).
fn scheme_of(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let mut bytes = scheme.bytes();
    let is_scheme = scheme.len() > 1
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'));
    is_scheme.then_some(scheme)
}

/// Decodes `%41`; text that would not be UTF-8 afterwards stays as written.
fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_string();
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| (*byte as char).to_digit(16));
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Target, resolve};
    use expect_test::{Expect, expect};

    fn check(addresses: &[&str], expected: Expect) {
        let mut out = String::new();
        for address in addresses {
            match Target::of_address(address) {
                Some(t) => {
                    out += &format!("{address} => {:?} {} {:?}\n", t.kind, t.name, t.fragment);
                }
                None => out += &format!("{address} => none\n"),
            }
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn addresses_are_told_apart() {
        check(
            &[
                "a.md",
                "../a%20b.md#Part%201",
                "/docs/x.md?raw=1",
                "https://x.org/p?q=1#f",
                "//cdn.x.org/a.js",
                "mailto:a@b.org",
                "#part",
                "",
                "javascript:alert(1)",
                "data:image/png;base64,AAAA",
                "C:/x",
                "%ff.md",
            ],
            expect![[r##"
                a.md => Path ./a.md None
                ../a%20b.md#Part%201 => Path ../a b.md Some("Part 1")
                /docs/x.md?raw=1 => Path /docs/x.md None
                https://x.org/p?q=1#f => Url https://x.org/p?q=1 Some("f")
                //cdn.x.org/a.js => Url //cdn.x.org/a.js None
                mailto:a@b.org => Url mailto:a@b.org None
                #part => none
                 => none
                javascript:alert(1) => none
                data:image/png;base64,AAAA => none
                C:/x => Path ./C:/x None
                %ff.md => Path ./%ff.md None
            "##]],
        );
    }

    #[test]
    fn paths_become_relative_to_the_root() {
        let rows = [
            ("docs/api", "./a.md", "docs/api/a.md"),
            ("docs/api", "../a.md", "docs/a.md"),
            ("docs", "/x/a.md", "x/a.md"),
            ("docs", "../../../a.md", "a.md"),
            ("", "./a//b/./c.md", "a/b/c.md"),
            ("docs", "Some Note", "Some Note"),
        ];
        for (folder, path, expected) in rows {
            assert_eq!(resolve(folder, path), expected, "{path} in {folder}");
        }
    }
}
