//! Anchors in raw HTML: targets of a `#fragment` in addition to headings.

/// Longest name of an anchor, in bytes.
const MAX_ANCHOR_BYTES: usize = 200;

/// Adds the values of `id` and `name` in a piece of HTML.
pub(super) fn anchors(html: &str, out: &mut Vec<String>) {
    for attribute in ["id", "name"] {
        for (at, _) in html.match_indices(attribute) {
            let is_start = html[..at].ends_with(|c: char| c.is_ascii_whitespace());
            let rest = html[at + attribute.len()..].trim_start();
            let Some(value) = rest.strip_prefix('=').map(str::trim_start) else { continue };
            let Some(quote) = value.chars().next().filter(|c| is_start && matches!(c, '"' | '\''))
            else {
                continue;
            };
            let name = value[1..].split(quote).next().unwrap_or("");
            if !name.is_empty() && name.len() <= MAX_ANCHOR_BYTES {
                out.push(name.to_string());
            }
        }
    }
}
