//! Link targets: parses an address or a wikilink.
//!
//! In: an address as written (`../a%20b.md#part`, `https://…`, `Note#part|text`). Out: kind, target, fragment.
//! Invariant: a path is percent-decoded, and otherwise as written: the index resolves it.

pub(crate) use notes::target::joined;
use notes::target::{called, percent_decoded, scheme_of};

use model::document::{Link, LinkKind};
use model::terms::{Norm, Span};

/// Longest target kept, in bytes; longer ones are data.
const MAX_TARGET_BYTES: usize = 2_000;

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// How the link was written.
    pub kind: LinkKind,
    /// A note's name, a path or a URL.
    pub name: String,
    /// The part after `#`.
    pub fragment: Option<String>,
}

impl Target {
    /// Parses the address of a Markdown link or of `href`/`src`. Returns `None` for an address without a target: an
    /// empty one, a bare `#fragment`, `javascript:` and `data:`.
    pub(crate) fn of_address(address: &str) -> Option<Target> {
        let address = address.trim();
        if address.len() > MAX_TARGET_BYTES {
            return None;
        }
        let address = &*called(address);
        let (place, fragment) = match address.split_once('#') {
            Some((place, fragment)) => (place, Some(fragment)),
            None => (address, None),
        };
        let fragment = fragment.filter(|f| !f.is_empty()).map(percent_decoded);
        // A URL without a scheme, as in HTML.
        if place.starts_with("//") {
            return Some(Target { kind: LinkKind::Url, name: place.to_string(), fragment });
        }
        // `module:page.adoc` is a page of Antora.
        if let Some(scheme) =
            scheme_of(place).filter(|_| !place.ends_with(".adoc") || place.contains("//"))
        {
            let is_kept = !["javascript", "data", "vbscript"]
                .iter()
                .any(|dropped| scheme.eq_ignore_ascii_case(dropped));
            return is_kept.then(|| Target {
                kind: LinkKind::Url,
                name: place.to_string(),
                fragment,
            });
        }
        // A query is not part of a file's name.
        let path = percent_decoded(place.split('?').next().unwrap_or(place));
        if path.is_empty() {
            return None;
        }
        Some(Target { kind: LinkKind::Path, name: path, fragment })
    }

    /// Returns the target of a link by an identifier that a document states (`notes::resolve::is_id`).
    pub(crate) fn of_id(id: &str) -> Target {
        Target { kind: LinkKind::Path, name: id.to_string(), fragment: None }
    }

    /// Parses the part of a wikilink before the `|`. Returns `None` for an empty one and for a heading of the same
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

    /// Returns the same target, embedded instead of linked; a URL stays a URL.
    pub(crate) fn into_embed(self) -> Target {
        let kind = if self.kind == LinkKind::Url { LinkKind::Url } else { LinkKind::Embed };
        Target { kind, ..self }
    }

    /// Returns the link at a place of the normalized text.
    pub(crate) fn into_link(self, span: Span<Norm>) -> Link {
        Link { kind: self.kind, target: self.name, fragment: self.fragment, span }
    }
}

#[cfg(test)]
mod tests {
    use super::Target;
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
    fn addresses_have_kinds() {
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
                r#"{%+page+"/a/b/"+%}#p"#,
                r#"{{<+relref+"b.md"+>}}"#,
                "{%+link+_posts/b.md+%}",
                "{{+site.url+}}/c",
                "api:end.adoc#auth",
                "https://x.org/end.adoc",
            ],
            expect![[r##"
                a.md => Path a.md None
                ../a%20b.md#Part%201 => Path ../a b.md Some("Part 1")
                /docs/x.md?raw=1 => Path /docs/x.md None
                https://x.org/p?q=1#f => Url https://x.org/p?q=1 Some("f")
                //cdn.x.org/a.js => Url //cdn.x.org/a.js None
                mailto:a@b.org => Url mailto:a@b.org None
                #part => none
                 => none
                javascript:alert(1) => none
                data:image/png;base64,AAAA => none
                C:/x => Path C:/x None
                %ff.md => Path %ff.md None
                {%+page+"/a/b/"+%}#p => Path /a/b/ Some("p")
                {{<+relref+"b.md"+>}} => Path b.md None
                {%+link+_posts/b.md+%} => Path _posts/b.md None
                {{+site.url+}}/c => Path /c None
                api:end.adoc#auth => Path api:end.adoc Some("auth")
                https://x.org/end.adoc => Url https://x.org/end.adoc None
            "##]],
        );
    }
}
