//! Targets of links: parses addresses and the content of `[[…]]`; joins paths.
//!
//! In: an address or a wikilink's words as written. Out: name or path, heading, block.

use std::borrow::Cow;

/// Longest target kept, bytes; longer ones are data in disguise.
pub const MAX_TARGET_BYTES: usize = 2_000;

/// What stands for a blank inside a template call.
pub const BLANK: &str = "+";

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// A name or path, as written; empty for a place of the note itself.
    pub name: String,
    /// The heading in it.
    pub heading: Option<String>,
    /// The block in it, without `^`.
    pub block: Option<String>,
}

impl Target {
    /// Parses the part before the `|` of a wikilink: `Note#Heading^block`. `None` when it is empty or too long.
    pub fn of_wikilink(written: &str) -> Option<Target> {
        let (name, fragment) = match written.split_once('#') {
            Some((name, fragment)) => (name, Some(fragment)),
            None => match written.rsplit_once('^') {
                Some((name, id)) if is_block_id(id.trim()) => {
                    return Target::new(name, None, Some(id.trim()));
                }
                _ => (written, None),
            },
        };
        let (heading, block) = fragment.map_or((None, None), heading_and_block);
        Target::new(name, heading, block)
    }

    /// Parses the address of a Markdown link: a path, percent-decoded, without query. `None` when it leads to the
    /// web, has another scheme, is empty or too long.
    pub fn of_address(address: &str) -> Option<Target> {
        let address = address.trim();
        if address.len() > MAX_TARGET_BYTES {
            return None;
        }
        let address = &*called(address);
        // Split before decoding: an encoded `#` is part of the path.
        let (place, fragment) = match address.split_once('#') {
            Some((place, fragment)) => (place, Some(percent_decoded(fragment))),
            None => (address, None),
        };
        if place.starts_with("//") || scheme_of(place).is_some() {
            return None;
        }
        let path = percent_decoded(place.split('?').next().unwrap_or(place));
        let (heading, block) = fragment.as_deref().map_or((None, None), heading_and_block);
        Target::new(&path, heading, block)
    }

    fn new(name: &str, heading: Option<&str>, block: Option<&str>) -> Option<Target> {
        let name = name.trim();
        let is_something = !name.is_empty() || heading.is_some() || block.is_some();
        (is_something && name.len() <= MAX_TARGET_BYTES).then(|| Target {
            name: name.to_string(),
            heading: heading.map(str::to_string),
            block: block.map(str::to_string),
        })
    }
}

/// Returns the address in a template call, as site generators write it: `/a/#b` for `{% page "/a/" %}#b`, `b.md` for
/// `{{< relref "b.md" >}}` and `{% link b.md %}`: what is quoted, else the last word of a tag; `/a/` for
/// `{{ site.baseurl }}/a/`. Other addresses are returned as they are.
pub fn called(address: &str) -> Cow<'_, str> {
    let call = || {
        let inner = address.strip_prefix(['{'])?.strip_prefix(['%', '{'])?;
        let (inner, after) = inner.split_once("%}").or_else(|| inner.split_once("}}"))?;
        let quoted = || {
            let start = inner.find(['"', '\''])?;
            let quote = inner.get(start..)?.chars().next()?;
            inner.get(start + 1..)?.split_once(quote).map(|(it, _)| it)
        };
        let words = || inner.split([' ', '+']).rfind(|it| !it.is_empty());
        let is_tag = address.starts_with("{%");
        let path = quoted().or_else(|| is_tag.then(words).flatten()).unwrap_or_default();
        Some(format!("{path}{after}"))
    };
    call().map_or(Cow::Borrowed(address), Cow::Owned)
}

/// Splits `Heading^block`; headings may be nested (`A#B`).
pub fn heading_and_block(fragment: &str) -> (Option<&str>, Option<&str>) {
    let kept = |part: &'_ str| !part.is_empty();
    match fragment.rsplit_once('^') {
        Some((heading, id)) if is_block_id(id.trim()) => {
            let heading = heading.trim().trim_end_matches('#').trim();
            (Some(heading).filter(|it| kept(it)), Some(id.trim()))
        }
        _ => (Some(fragment.trim()).filter(|it| kept(it)), None),
    }
}

/// True for a valid block id: ASCII letters, digits and hyphens.
pub fn is_block_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Joins a folder and a relative path; `..` stops at the root.
pub fn joined(base: &str, path: &str) -> String {
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

/// Returns the scheme of a URL, if it has one (RFC 3986; at least two letters, so that `C:` is not one).
pub fn scheme_of(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let mut bytes = scheme.bytes();
    let is_scheme = scheme.len() > 1
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'));
    is_scheme.then_some(scheme)
}

/// Decodes `%41`. A text that would not be UTF-8 afterwards is returned as it is.
pub fn percent_decoded(text: &str) -> String {
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
    use super::{Target, joined};
    use expect_test::{Expect, expect};

    fn check(written: &[&str], read: fn(&str) -> Option<Target>, expected: Expect) {
        let mut out = String::new();
        for text in written {
            match read(text) {
                Some(t) => {
                    out += &format!("{text} => {:?} {:?} {:?}\n", t.name, t.heading, t.block)
                }
                None => out += &format!("{text} => none\n"),
            }
        }
        expected.assert_eq(&out);
    }

    #[test]
    fn wikilinks_are_taken_apart() {
        check(
            &[
                "Note",
                " folder/Note.md ",
                "Note#Heading",
                "Note#Heading^block",
                "Note#^block-1",
                "Note^block",
                "2^n growth rate",
                "Note#A#B c",
                "#Heading",
                "#^b",
                "Note#",
                "",
                "#",
                "C# Notes",
            ],
            Target::of_wikilink,
            expect![[r#"
                Note => "Note" None None
                 folder/Note.md  => "folder/Note.md" None None
                Note#Heading => "Note" Some("Heading") None
                Note#Heading^block => "Note" Some("Heading") Some("block")
                Note#^block-1 => "Note" None Some("block-1")
                Note^block => "Note" None Some("block")
                2^n growth rate => "2^n growth rate" None None
                Note#A#B c => "Note" Some("A#B c") None
                #Heading => "" Some("Heading") None
                #^b => "" None Some("b")
                Note# => "Note" None None
                 => none
                # => none
                C# Notes => "C" Some("Notes") None
            "#]],
        );
    }

    #[test]
    fn addresses_are_taken_apart() {
        check(
            &[
                "a.md",
                "../a%20b.md#Part%201",
                "/docs/x.md?raw=1",
                "a.md#^block",
                "#part",
                "https://x.org/p?q=1#f",
                "//cdn.x.org/a.js",
                "mailto:a@b.org",
                "",
                "javascript:alert(1)",
                "C:/x",
                "%ff.md",
            ],
            Target::of_address,
            expect![[r#"
                a.md => "a.md" None None
                ../a%20b.md#Part%201 => "../a b.md" Some("Part 1") None
                /docs/x.md?raw=1 => "/docs/x.md" None None
                a.md#^block => "a.md" None Some("block")
                #part => "" Some("part") None
                https://x.org/p?q=1#f => none
                //cdn.x.org/a.js => none
                mailto:a@b.org => none
                 => none
                javascript:alert(1) => none
                C:/x => "C:/x" None None
                %ff.md => "%ff.md" None None
            "#]],
        );
    }

    #[test]
    fn paths_are_joined() {
        let rows = [
            ("docs/api", "./a.md", "docs/api/a.md"),
            ("docs/api", "../a.md", "docs/a.md"),
            ("", "/x/a.md", "x/a.md"),
            ("docs", "../../../a.md", "a.md"),
            ("", "./a//b/./c.md", "a/b/c.md"),
        ];
        for (folder, path, expected) in rows {
            assert_eq!(joined(folder, path), expected, "{path} in {folder}");
        }
    }
}
