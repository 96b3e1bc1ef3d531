//! Links: changes their targets.
//!
//! In: a text and new targets of its links; or a note's links and a file that has moved. Out: changes of targets
//! alone (heading, block and display stay); or the new targets.
//! Invariants: a link keeps its form (name or path, with or without extension, relative or from the root, percent
//! encoding or angle brackets); a link that already resolves to the right file is left alone.

use std::ops::Range;

use super::{Change, EditError};
use crate::parse::{Link, LinkKind, Note};
use crate::target::{joined, percent_decoded};

/// A link that gets another target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retarget {
    /// Its [`Link::target_span`].
    pub span: Range<usize>,
    /// The new target as it is to be written, without heading and block.
    pub target: String,
}

/// A file that has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move<'a> {
    /// Its path before, from the project's root.
    pub from: &'a str,
    /// Its path now.
    pub to: &'a str,
    /// True when no other file of the folder has its new name.
    pub is_unique: bool,
}

/// Returns changes that replace the targets.
pub(super) fn rewrite(text: &str, links: &[Retarget]) -> Result<Vec<Change>, EditError> {
    let mut changes: Vec<Change> = Vec::new();
    let mut links: Vec<&Retarget> = links.iter().collect();
    links.sort_by_key(|it| it.span.start);
    links.dedup();
    for Retarget { span, target } in links {
        let no_link = || EditError::NoLink(span.clone());
        let written = text.get(span.clone()).ok_or_else(no_link)?;
        let is_wiki =
            text.get(..span.start).is_some_and(|before| before.trim_end().ends_with("[["));
        // Two targets for one link, or overlapping spans.
        if changes.last().is_some_and(|last| last.span.end > span.start) {
            return Err(no_link());
        }
        if is_wiki && target.contains(['#', '^', '|', '[', ']', '\n']) {
            let why = "`[[…]]` cannot hold `#`, `^`, `|` and brackets";
            return Err(EditError::BadName { what: "link", text: target.clone(), why });
        }
        let path = path_of(written);
        changes.push(Change::new(span.start + path.start..span.start + path.end, target.as_str()));
    }
    Ok(changes)
}

/// Returns the part of a written target that is its path: without heading, block, blanks and angle brackets.
fn path_of(written: &str) -> Range<usize> {
    let start = written.len() - written.trim_start().trim_start_matches('<').len();
    let rest = written.get(start..).unwrap_or("");
    let end = rest.find(['#', '^', '>']).unwrap_or(rest.len());
    start..start + rest.get(..end).unwrap_or("").trim_end().len()
}

/// Returns the links of a note that must change after a file has moved, with their new targets. `at` is the path of
/// the note before and after; it differs from the file's unless the note is the moved file.
///
/// `leads_there` returns whether a link by name resolves to the file and must be rewritten. Links by a title or alias
/// need not, since the file keeps those.
pub fn retarget(
    text: &str,
    note: &Note,
    at: (&str, &str),
    moved: Move<'_>,
    leads_there: impl Fn(&Link) -> bool,
) -> Vec<Retarget> {
    let mut out: Vec<Retarget> = Vec::new();
    // Several reference links may share one definition, and so one target.
    let mut seen = std::collections::HashSet::new();
    for link in &note.links {
        let Some(written) = text.get(link.target_span.clone()) else { continue };
        let path = written.get(path_of(written)).unwrap_or("");
        if path.is_empty() || !seen.insert(link.target_span.start) {
            continue;
        }
        let target = match link.kind {
            LinkKind::Markdown | LinkKind::Image => {
                let before = text.get(..link.target_span.start).unwrap_or("");
                address_now(path, before.ends_with('<'), at, moved)
            }
            LinkKind::Wiki | LinkKind::Embed | LinkKind::Property => {
                let is_relative = path.starts_with("./") || path.starts_with("../");
                if is_relative {
                    relative_name_now(path, at, moved)
                } else if leads_there(link) {
                    name_now(path, moved)
                } else {
                    None
                }
            }
        };
        out.extend(
            target
                .filter(|it| it != path)
                .map(|target| Retarget { span: link.target_span.clone(), target }),
        );
    }
    out
}

/// Returns new targets for links of the note at `at` that another file would otherwise take over: each becomes the
/// whole path to its file. `leads_to` returns that path for such links, by kind and target. Links that begin with
/// `./`, `../` or `/` cannot be taken over.
pub fn by_path(
    text: &str,
    note: &Note,
    at: &str,
    leads_to: impl Fn(&Link) -> Option<String>,
) -> Vec<Retarget> {
    let mut seen = std::collections::HashSet::new();
    let kept = note.links.iter().filter_map(|link| {
        let written = text.get(link.target_span.clone())?;
        let path = written.get(path_of(written))?;
        let to = leads_to(link)?;
        if path.starts_with(['.', '/']) || !seen.insert(link.target_span.start) {
            return None;
        }
        let target = match link.kind {
            LinkKind::Markdown | LinkKind::Image => {
                let bare = path.split('?').next().unwrap_or(path);
                let has_extension = stem(bare) != bare;
                let to = relative(folder(at), if has_extension { &to } else { stem(&to) });
                let before = text.get(..link.target_span.start).unwrap_or("");
                let to = if before.ends_with('<') { to } else { encoded(&to) };
                format!("{to}{}", path.get(bare.len()..).unwrap_or(""))
            }
            LinkKind::Wiki | LinkKind::Embed | LinkKind::Property => {
                if stem(path) == path {
                    stem(&to).to_string()
                } else {
                    to
                }
            }
        };
        Some(Retarget { span: link.target_span.clone(), target })
    });
    kept.collect()
}

/// Returns the new form of a name or path in `[[…]]`.
fn name_now(written: &str, moved: Move<'_>) -> Option<String> {
    let has_extension = written.to_lowercase().ends_with(".md");
    let shown = |path: &str| if has_extension { path.to_string() } else { stem(path).to_string() };
    let root = if written.starts_with('/') { "/" } else { "" };
    if written.contains('/') {
        return Some(format!("{root}{}", shown(moved.to)));
    }
    let name = moved.to.rsplit('/').next().unwrap_or(moved.to);
    // A name is enough only if no other file has it.
    Some(shown(if moved.is_unique { name } else { moved.to }))
}

/// Returns the new form of a path in `[[…]]` that begins with `./` or `../`.
fn relative_name_now(written: &str, at: (&str, &str), moved: Move<'_>) -> Option<String> {
    let led_to = joined(folder(at.0), written);
    let is_file =
        [moved.from, stem(moved.from)].iter().any(|path| path.eq_ignore_ascii_case(&led_to));
    let has_extension = written.to_lowercase().ends_with(".md");
    let to = match is_file {
        true if has_extension => moved.to,
        true => stem(moved.to),
        // The link leads to another file; it changes only if this note has moved to another folder.
        false if folder(at.0) == folder(at.1) => return None,
        false => &led_to,
    };
    let path = relative(folder(at.1), to);
    Some(if path.starts_with("../") { path } else { format!("./{path}") })
}

/// Returns the new path of a Markdown link, in the form of the old one.
fn address_now(
    path: &str,
    is_bracketed: bool,
    at: (&str, &str),
    moved: Move<'_>,
) -> Option<String> {
    let (bare, query) =
        path.split_once('?').map_or((path, None), |(bare, query)| (bare, Some(query)));
    let decoded = percent_decoded(bare);
    let is_rooted = decoded.starts_with('/');
    let led_to = joined(if is_rooted { "" } else { folder(at.0) }, &decoded);
    let is_file = led_to == moved.from || (led_to == stem(moved.from) && !led_to.is_empty());
    let to = match is_file {
        true if led_to == moved.from => moved.to,
        true => stem(moved.to),
        // As above: another file, seen from the same folder.
        false if is_rooted || folder(at.0) == folder(at.1) => return None,
        false => led_to.as_str(),
    };
    let plain = if is_rooted { format!("/{to}") } else { relative(folder(at.1), to) };
    let dotted = if decoded.starts_with("./") && !plain.starts_with("../") {
        format!("./{plain}")
    } else {
        plain
    };
    let mut address = if is_bracketed { dotted } else { encoded(&dotted) };
    if let Some(query) = query {
        address = format!("{address}?{query}");
    }
    Some(address)
}

fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns a path without `.md`.
fn stem(path: &str) -> &str {
    let at = path.len().saturating_sub(3);
    match path.get(at..) {
        Some(end) if end.eq_ignore_ascii_case(".md") => path.get(..at).unwrap_or(path),
        _ => path,
    }
}

/// Returns a path of the project relative to one of its folders.
fn relative(from: &str, to: &str) -> String {
    let from: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = to.split('/').collect();
    let n_common = from
        .iter()
        .zip(to.iter().take(to.len().saturating_sub(1)))
        .take_while(|(a, b)| a == b)
        .count();
    let up = std::iter::repeat_n("..", from.len() - n_common);
    up.chain(to.iter().skip(n_common).copied()).collect::<Vec<_>>().join("/")
}

/// Percent-encodes a path so that it needs no angle brackets.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            ' ' | '(' | ')' | '<' | '>' | '#' | '?' | '%' | '\\' | '[' | ']' | '^' | '|' => {
                out.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c if c.is_control() => {
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes)
                    .bytes()
                    .for_each(|byte| out.push_str(&format!("%{byte:02X}")));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
