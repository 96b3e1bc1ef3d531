//! Resolve: which document a name means: the order in which names are tried, and the keys by which each is found.
//!
//! In: a name as a caller or a link wrote it; for a link also the path of its note, and the documents that have one of
//! the target's [`Keys`]. Out: keys; of several candidates, the one that a link means.
//! Rule: the steps of [`ORDER`], in this order; the first one that finds a document decides. A `memory://` address
//! tries the permalink first (S0 §7.3). A link by address denotes what is at one of its [`spots`], or nothing. A
//! wikilink means the file at that path, else one whose path ends with it, and then the other names. Of several, it
//! means the one written in the same case, then the one that shares the most folders with the note, then the one in the
//! fewest folders, then the first by path; a tool refuses instead.
//! Invariant: the same documents give the same answer, in whatever order they come; a difference in case never keeps
//! a link from resolving, but to a permalink whose title has signs (`c` of `C#` is no other way to write `C`).

pub use names::fold;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::parse::LinkKind;
use crate::slug::{path_slug, without_extension};
use crate::target::{joined, scheme_of};

/// The folder of all documents, as a key: the path of no folder in it.
pub const ROOT: &str = "/";

/// A name by which a document is found. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// The name of its file.
    FileName = 0,
    /// Its title.
    Title = 1,
    /// Its permalink, as written.
    Permalink = 2,
    /// One of its aliases.
    Alias = 3,
    /// The name of the folder whose index file it is (`README`, `index`).
    Folder = 4,
    /// The slug of its path.
    PathSlug = 5,
    /// Its path, as it is.
    Path = 6,
    /// Its first heading.
    Heading = 7,
    /// Its path without the extension.
    BarePath = 8,
    /// The permalink that its front matter states, granted or not.
    Claim = 9,
    /// Stored, the slug of its title; looked for, its permalink in other words.
    Slug = 10,
}

/// The steps in which a name is resolved.
pub const ORDER: [By; 10] = [
    By::Path,
    By::Permalink,
    By::BarePath,
    By::Title,
    By::Heading,
    By::Alias,
    By::FileName,
    By::Folder,
    By::Slug,
    By::PathSlug,
];

/// Those of them that a name takes in a link, after its path.
pub const LINK_ORDER: [By; 6] =
    [By::Permalink, By::Title, By::Heading, By::Alias, By::Folder, By::Slug];

impl By {
    /// Returns whether a change may follow this name: a path, a permalink or a title, but nothing that any document
    /// may say about itself beside its title.
    pub fn may_be_changed(self) -> bool {
        matches!(self, By::Path | By::Permalink | By::BarePath | By::Title)
    }

    /// Returns what such a name is called.
    pub fn as_str(self) -> &'static str {
        match self {
            By::Heading => "first heading",
            By::Alias => "alias",
            By::Folder => "folder",
            By::FileName => "file name",
            By::Title => "title",
            By::Permalink | By::Claim | By::Slug => "permalink",
            By::Path | By::BarePath | By::PathSlug => "path",
        }
    }

    /// Returns the key under which documents with that name are found; `None` if none can have it.
    pub fn key(self, name: &str) -> Option<String> {
        let key = match self {
            By::Path => name.to_string(),
            By::Permalink => name.nfc().collect(),
            By::BarePath => path_key(name),
            By::Title | By::Heading | By::Alias => name_key(name),
            // A path without its folders could match another file.
            By::FileName if name.contains('/') => String::new(),
            By::FileName => file_key(name),
            By::Folder => path_key(name.trim_matches('/')),
            By::Claim | By::Slug => permalink_key(name),
            By::PathSlug => path_slug(name),
        };
        Some(key).filter(|key| !key.is_empty())
    }
}

/// A document that a link may mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// Its path.
    pub path: &'a str,
    /// The name that matches the target.
    pub by: By,
}

/// The keys of a link: it is resolved again when a document with one of them comes or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys {
    /// The last part of its target: the [`file_key`] of the documents that it may mean.
    pub file: String,
    /// All of it: the [`name_key`] of their title or alias. For a link by address, as its permalink, the last part of
    /// another of its [`spots`].
    pub name: Option<String>,
    /// Its [`permalink_key`].
    pub permalink: Option<String>,
}

impl Keys {
    /// Returns the keys of a link in the document at `from`, by its kind and target; `None` for a place of its own
    /// document.
    pub fn of(from: &str, kind: LinkKind, target: &str) -> Option<Keys> {
        if target.is_empty() {
            return None;
        }
        if is_name(kind) {
            let target = target.trim_end_matches('/');
            let file = file_key(target);
            let (name, permalink) = (name_key(target), permalink_key(target));
            return (!file.is_empty()).then_some(Keys {
                file,
                name: Some(name),
                permalink: Some(permalink),
            });
        }
        if is_id(target) {
            return Some(Keys { file: name_key(target), name: None, permalink: None });
        }
        // The spots of `..`, and those of `index.html`, end in different names.
        let mut keys: Vec<String> = Vec::new();
        let key_of = |key: &String| if key == ROOT { key.clone() } else { file_key(key) };
        for key in spots(from, target).iter().map(|(_, key)| key_of(key)) {
            if !key.is_empty() && !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut keys = keys.into_iter();
        Some(Keys { file: keys.next()?, name: keys.next(), permalink: keys.next() })
    }
}

/// Returns whether links of a kind are names; others are addresses.
pub fn is_name(kind: LinkKind) -> bool {
    !matches!(kind, LinkKind::Markdown | LinkKind::Image)
}

/// Returns whether an address is the identifier of a document, or of a place in one, such as `id:7d31` of Org: a name
/// that the document states for it.
pub fn is_id(target: &str) -> bool {
    scheme_of(target).is_some() && by_convention(target).is_none()
}

/// Returns what an address in the document at `from` may mean, in order, each as the kind of its key and the key. Its
/// places are: relative to the document's folder; to the root; to the folder that its rendered page is on a site (`a/`
/// for `a.md`), unless it names a file; and, if it begins with `/`, to the root and to each folder above the document,
/// one of which may be the root of a site. At each place it is a file with this path ([`By::Path`]), or without its
/// extension ([`By::BarePath`]), the index of a folder ([`By::Folder`]), or the page rendered from a file.
pub fn spots(from: &str, target: &str) -> Vec<(By, String)> {
    let (is_root, is_page) = (is_root(target), is_page(target));
    let mut spots: Vec<(By, String)> = Vec::new();
    for place in places(from, target) {
        let place = path_key(&place);
        let page = page_of(&place);
        let index =
            (is_page && is_index(page)).then(|| page.rsplit_once('/').map_or("", |it| it.0));
        // `/` is the index of a folder alone.
        let file = Some(&*place).filter(|_| !is_root);
        let here = [(By::Path, file), (By::BarePath, file), (By::Folder, Some(&*place))];
        let others = [(By::BarePath, file.map(|_| page)), (By::Folder, index)];
        for (by, key) in here.into_iter().chain(others) {
            let key = match key {
                Some("") if by == By::Folder => ROOT,
                Some(key) if !key.is_empty() => key,
                _ => continue,
            };
            if !spots.iter().any(|it| it.0 == by && it.1 == key) {
                spots.push((by, key.to_string()));
            }
        }
    }
    spots
}

/// Returns the paths that an address in the document at `from` may mean, as they are written, in order.
pub fn places(from: &str, target: &str) -> Vec<String> {
    let mut places = places_of_path(from, target);
    places.extend(by_convention(target).iter().flat_map(|it| places_of_path(from, it)));
    places
}

fn places_of_path(from: &str, target: &str) -> Vec<String> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let bases: Vec<&str> = if target.starts_with('/') {
        let above = folder.match_indices('/').map(|(at, _)| &folder[..at]);
        std::iter::once("").chain(above).chain([folder]).collect()
    } else {
        let is_relative = target.split('/').next().is_some_and(|it| it == "." || it == "..");
        let root = (!is_relative).then_some("");
        let page = (is_page(target) && !is_index(from)).then(|| bare_path(from));
        // Antora's addresses are relative to the pages of a module.
        let pages = from.rfind("/pages/").filter(|_| target.ends_with(".adoc"));
        let pages = pages.and_then(|at| from.get(..at + "/pages".len()));
        [Some(folder), root, page, pages].into_iter().flatten().collect()
    };
    bases.into_iter().map(|base| joined(base, target)).collect()
}

/// Returns the path that an address means by the conventions of a generator of sites: `/docs/a.md` for
/// `@site/docs/a.md` (Docusaurus) and `@/docs/a.md` (Zola), `/modules/api/pages/a.adoc` for `api:a.adoc` (Antora),
/// `/_posts/2024-01-03-a` for `/2024/01/03/a.html` (Jekyll).
fn by_convention(target: &str) -> Option<String> {
    let from_root = ["@site/", "@/"].iter().find_map(|mark| target.strip_prefix(mark));
    if let Some(path) = from_root {
        return Some(format!("/{path}"));
    }
    if let Some((module, page)) = target.split_once(':') {
        return page.ends_with(".adoc").then(|| format!("/modules/{module}/pages/{page}"));
    }
    let parts: Vec<&str> = page_of(target).trim_end_matches('/').split('/').collect();
    let [before @ .., year, month, day, name] = &parts[..] else { return None };
    let is_date = [(year, 4), (month, 2), (day, 2)]
        .iter()
        .all(|(it, n)| it.len() == *n && it.bytes().all(|byte| byte.is_ascii_digit()));
    is_date.then(|| format!("{}/_posts/{year}-{month}-{day}-{name}", before.join("/")))
}

/// Returns whether an address may be that of a rendered page, rather than a file's.
fn is_page(target: &str) -> bool {
    target.ends_with('/') || page_of(target) != target || bare_path(target) == target
}

/// Returns whether an address is that of a site's first page.
fn is_root(target: &str) -> bool {
    target.starts_with('/') && joined("", target).is_empty()
}

/// Returns whether a document is at a spot.
pub fn is_at(spot: &(By, String), path: &str) -> bool {
    let (by, key) = spot;
    match by {
        By::Path => path_key(path) == *key,
        By::BarePath => bare_key(path) == *key,
        _ => folder_keys(path).is_some_and(|[_, folder]| folder == *key),
    }
}

/// Returns the path of the document from which a page was rendered: without `.html`.
fn page_of(path: &str) -> &str {
    path.strip_suffix(".html").or_else(|| path.strip_suffix(".htm")).unwrap_or(path)
}

/// Returns a path without the extension of its file, of whatever format.
pub fn bare_path(path: &str) -> &str {
    let bare = without_extension(path);
    let name = bare.rsplit('/').next().unwrap_or(bare);
    match name.rsplit_once('.') {
        Some((stem, extension))
            if bare.len() == path.len() && !stem.is_empty() && !extension.is_empty() =>
        {
            &path[..path.len() - extension.len() - 1]
        }
        _ => bare,
    }
}

/// Returns the form in which permalinks are compared, and in which a stated one is granted: the slug, or the folded
/// words if that would drop signs that may be the only difference between two notes (`C++`).
pub fn permalink_key(written: &str) -> String {
    match joined("", &written.trim().replace('\\', "/")) {
        plain if !plain.is_empty() && is_in_words(&plain) => path_slug(&plain),
        plain => name_key(&plain),
    }
}

/// Returns whether a slug keeps everything of a name: only letters, digits and separators.
pub fn is_in_words(name: &str) -> bool {
    let is_apart = |c: char| c.is_whitespace() || matches!(c, '-' | '_' | '/' | '[' | ']' | '\'');
    let is_word = |c: char| c.is_alphanumeric() || is_combining_mark(c);
    without_extension(&fold(name)).chars().all(|c| is_word(c) || is_apart(c))
}

/// Returns the key of a title or alias: folded, without the extension of Markdown, with single blanks.
pub fn name_key(name: &str) -> String {
    let folded = fold(name);
    without_extension(&folded).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the key of a path: the folded file name, without the extension of Markdown.
pub fn file_key(path: &str) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or(path);
    let folded = path_key(name);
    match folded.trim() {
        "." | ".." => String::new(),
        name => name.to_string(),
    }
}

/// Returns the key of a document's path without its extension, of whatever format.
pub fn bare_key(path: &str) -> String {
    fold(bare_path(path).trim())
}

/// Returns the folder whose index a file is: `en/blog` for `en/blog/README.md`.
pub fn folder_of_index(path: &str) -> Option<&str> {
    let (folder, _) = path.rsplit_once('/')?;
    is_index(path).then_some(folder)
}

/// Returns whether a file is the index of its folder.
fn is_index(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = fold(bare_path(name));
    matches!(stem.as_str(), "readme" | "index" | "_index")
}

/// Returns the keys of the folder whose index a file is, its name and its path: `blog` and `en/blog`, or [`ROOT`].
pub fn folder_keys(path: &str) -> Option<[String; 2]> {
    match folder_of_index(path) {
        None if is_index(path) => Some([ROOT.to_string(), ROOT.to_string()]),
        folder => folder.map(|folder| [file_key(folder), path_key(folder)]),
    }
}

/// Returns the index of the candidate that a link in the note at `from` means.
pub fn choose(
    from: &str,
    kind: LinkKind,
    target: &str,
    candidates: &[Candidate<'_>],
) -> Option<usize> {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let wanted = Wanted::of(from, kind, target);
    let ranked = candidates.iter().enumerate().filter_map(|(idx, candidate)| {
        let level = wanted.level(candidate)?;
        let other_case = !wanted.is_written_so(candidate);
        let n_shared = n_shared_folders(folder, candidate.path);
        let n_folders = candidate.path.matches('/').count();
        // The path is last, so that no two candidates are equal: the order of candidates must not decide.
        Some(((level, other_case, usize::MAX - n_shared, n_folders, candidate.path), idx))
    });
    ranked.min().map(|(_, idx)| idx)
}

/// The paths that a link may mean, folded, without the extension of Markdown.
struct Wanted<'a> {
    /// Whole paths, in order of precedence.
    exact: Vec<String>,
    /// Otherwise, what the path must end with; `None` for an address, and a target that begins with `./`, `../` or
    /// `/`.
    suffix: Option<String>,
    /// Of an address, what it may mean.
    spots: Vec<(By, String)>,
    written: &'a str,
}

impl<'a> Wanted<'a> {
    fn of(from: &str, kind: LinkKind, target: &'a str) -> Self {
        let is_name = is_name(kind);
        let spots = if is_name { Vec::new() } else { spots(from, target) };
        let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
        let from_root = path_key(&joined("", target));
        let is_relative = target.starts_with("./") || target.starts_with("../");
        let (exact, suffix) = match (is_relative, target.starts_with('/')) {
            _ if !is_name => (Vec::new(), None),
            (true, _) => (vec![path_key(&joined(folder, target))], None),
            (_, true) => (vec![from_root], None),
            _ => (vec![from_root.clone()], Some(from_root)),
        };
        let name = target.trim_end_matches('/').rsplit('/').next().unwrap_or(target);
        Wanted { exact, suffix, spots, written: without_extension(name) }
    }

    /// Returns the rank of a candidate, by its name and its place; lower is better, `None` if it does not match.
    fn level(&self, candidate: &Candidate<'_>) -> Option<(usize, usize)> {
        if !self.spots.is_empty() && candidate.by != By::Alias {
            return Some((0, self.spots.iter().position(|spot| is_at(spot, candidate.path))?));
        }
        let path = path_key(candidate.path);
        // A file without its extension comes last.
        if candidate.by == By::BarePath {
            let bare = bare_key(candidate.path);
            return self.place_of(&bare).map(|place| (LINK_ORDER.len() + 1, place));
        }
        let step = || Some(1 + LINK_ORDER.iter().position(|it| *it == candidate.by)?);
        let (step, path) = match candidate.by {
            By::FileName => (0, path),
            By::Folder => (step()?, fold(candidate.path.rsplit_once('/')?.0)),
            _ => return Some((step()?, 0)),
        };
        Some((step, self.place_of(&path)?))
    }

    /// Returns which of the places a path is, or ends like.
    fn place_of(&self, path: &str) -> Option<usize> {
        let ends = |suffix: &String| {
            path.strip_suffix(suffix.as_str()).is_some_and(|it| it.is_empty() || it.ends_with('/'))
        };
        let by_path = self.exact.iter().position(|exact| *exact == path);
        let by_end = || self.suffix.as_ref().filter(|it| ends(it)).map(|_| self.exact.len());
        by_path.or_else(by_end)
    }

    fn is_written_so(&self, candidate: &Candidate<'_>) -> bool {
        let name = candidate.path.rsplit('/').next().unwrap_or(candidate.path);
        matches!(candidate.by, By::FileName | By::BarePath)
            && without_extension(name) == self.written
    }
}

/// Returns the key of a whole path: folded, without the extension of Markdown.
pub fn path_key(path: &str) -> String {
    let folded = fold(path.trim());
    without_extension(&folded).to_string()
}

/// Returns the paths of a link's target when only its path counts: relative to the note's folder and to each folder
/// above it, with and without the extension of Markdown; nearest first.
pub fn paths_above(from: &str, target: &str) -> Vec<String> {
    let mut folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut paths = Vec::new();
    loop {
        let path = joined(folder, target);
        paths.extend([format!("{path}.md"), path]);
        if folder.is_empty() || target.starts_with("./") || target.starts_with("../") {
            return paths;
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// Returns how many folders a path has in common with a folder, from the root on.
pub fn n_shared_folders(folder: &str, path: &str) -> usize {
    let other = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let parts = |path: &'_ str| path.split('/').filter(|part| !part.is_empty()).count();
    if parts(folder) == 0 || parts(other) == 0 {
        return 0;
    }
    folder.split('/').zip(other.split('/')).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::{By, Candidate, Keys, choose};
    use crate::parse::parse;

    /// Resolves the first link of a note at `from`, among files and other names (`title=…`).
    fn led(from: &str, written: &str, files: &[&str]) -> String {
        let link = parse(written).links.remove(0);
        let candidates: Vec<Candidate<'_>> = files
            .iter()
            .map(|file| match file.split_once('=') {
                Some(("title", path)) => Candidate { path, by: By::Title },
                Some(("folder", path)) => Candidate { path, by: By::Folder },
                Some(("permalink", path)) => Candidate { path, by: By::Permalink },
                Some(("heading", path)) => Candidate { path, by: By::Heading },
                Some((_, path)) => Candidate { path, by: By::Alias },
                None => Candidate { path: file, by: By::FileName },
            })
            .collect();
        let (kind, target) = (link.kind, link.target.as_str());
        let first = choose(from, kind, target, &candidates).map(|idx| candidates[idx].path);
        let mut turned = candidates.clone();
        turned.reverse();
        assert_eq!(first, choose(from, kind, target, &turned).map(|idx| turned[idx].path), "order");
        first.unwrap_or("-").to_string()
    }

    #[test]
    fn links_lead_where_obsidian_leads_them() {
        let rows: &[(&str, &str, &[&str], &str)] = &[
            ("a/x.md", "[[note]]", &["b/Note.md"], "b/Note.md"),
            ("a/x.md", "[[Note.md]]", &["b/note.md"], "b/note.md"),
            // The file at exactly that path comes first.
            ("a/x.md", "[[note]]", &["a/note.md", "note.md"], "note.md"),
            ("a/x.md", "[[b/note]]", &["a/b/note.md", "b/note.md"], "b/note.md"),
            // Of several, the nearest one.
            ("a/b/x.md", "[[note]]", &["a/note.md", "c/note.md", "a/b/note.md"], "a/b/note.md"),
            ("a/b/x.md", "[[note]]", &["a/d/note.md", "c/note.md"], "a/d/note.md"),
            ("a/x.md", "[[note]]", &["a/b/note.md", "a/note.md"], "a/note.md"),
            ("x.md", "[[note]]", &["b/note.md", "a/note.md"], "a/note.md"),
            ("x.md", "[[note]]", &["a/b/note.md", "z/note.md"], "z/note.md"),
            // The end of a path, in whole folders.
            ("x.md", "[[b/note]]", &["a/b/note.md", "ab/note.md"], "a/b/note.md"),
            ("x.md", "[[b/note]]", &["ab/note.md"], "-"),
            ("x.md", "[[c/note]]", &["a/b/note.md"], "-"),
            // Relative to the note's folder, or to the root only.
            ("a/x.md", "[[./note]]", &["a/note.md", "note.md"], "a/note.md"),
            ("a/x.md", "[[../note]]", &["a/note.md", "note.md"], "note.md"),
            ("a/x.md", "[[../note]]", &["a/note.md"], "-"),
            ("a/x.md", "[[/note]]", &["a/note.md", "note.md"], "note.md"),
            // Equal case is preferred, but not required.
            ("a/x.md", "[[Note]]", &["a/note.md", "b/Note.md"], "b/Note.md"),
            ("x.md", "[[ÜBER]]", &["U\u{308}ber.md"], "U\u{308}ber.md"),
            (
                "x.md",
                "[[Büro/Größe]]",
                &["bu\u{308}ro/Gro\u{308}ße.md"],
                "bu\u{308}ro/Gro\u{308}ße.md",
            ),
            ("x.md", "[[No\u{ad}te\u{200b}]]", &["note.md"], "note.md"),
            ("x.md", "[[A\u{2011}‘b’]]", &["a-'b'.md"], "a-'b'.md"),
            ("x.md", "[[ISPARTA]]", &["ısparta.md"], "ısparta.md"),
            // Other names come after file names, in this order.
            ("x.md", "[[note]]", &["title=a/t.md", "b/note.md"], "b/note.md"),
            ("x.md", "[[note]]", &["alias=a.md", "permalink=b.md", "title=c.md"], "b.md"),
            ("x.md", "[[note]]", &["alias=a.md", "heading=b.md", "title=c.md"], "c.md"),
            ("x.md", "[[note]]", &["alias=a.md", "heading=b.md"], "b.md"),
            // Markdown links are paths.
            ("a/x.md", "[t](note.md)", &["a/note.md", "note.md"], "a/note.md"),
            ("a/x.md", "[t](note.md)", &["note.md"], "note.md"),
            ("a/x.md", "[t](../b/note)", &["b/note.md"], "b/note.md"),
            ("a/x.md", "[t](/b/note.md)", &["b/note.md", "a/b/note.md"], "b/note.md"),
            ("a/x.md", "[t](b/note.md)", &["c/b/note.md"], "-"),
            ("a/x.md", "[t](note.md)", &["b/note.md"], "-"),
            (
                "a/x.md",
                "[t](/blog/)",
                &["folder=a/blog/README.md", "folder=blog/README.md"],
                "blog/README.md",
            ),
            ("a/x.md", "[t](../blog)", &["folder=blog/index.md", "blog.md"], "blog.md"),
            // Addresses of a site: the rendered page is a folder, its root any folder above.
            ("d/x.md", "[t](../y/)", &["d/y.md"], "d/y.md"),
            ("d/x.md", "[t](../y/)", &["d/y.md", "folder=y/_index.md"], "y/_index.md"),
            ("d/_index.md", "[t](../y/)", &["d/y.md"], "-"),
            ("d/README.md", "[t](y/)", &["folder=d/y/README.rst"], "d/y/README.rst"),
            ("c/en/d/x.md", "[t](/d/y/)", &["c/en/d/y.md"], "c/en/d/y.md"),
            ("c/x.md", "[t](/y)", &["c/y.md", "y.md"], "y.md"),
            ("d/x.md", "[t](y.html)", &["d/y.md"], "d/y.md"),
            ("d/x.md", "[t](y.html)", &["d/y.md", "d/y.html"], "d/y.html"),
            ("d/x.html", "[t](y)", &["d/y.html", "d/y.md"], "d/y.md"),
            ("d/x.md", "[t](y)", &["d/y.org"], "d/y.org"),
            ("d/x.md", "[t](../e/index.html)", &["folder=e/_index.md"], "e/_index.md"),
            ("d/x.md", "[t](../e/README)", &["folder=e/index.adoc"], "e/index.adoc"),
            ("d/x.md", "[t](main.rs)", &["d/main.md"], "-"),
            ("d/e/x.md", "[t](..)", &["folder=d/README.md"], "d/README.md"),
            ("d/x.md", "[t](..)", &["folder=README.md", "folder=d/README.md"], "README.md"),
            ("d/e/x.md", "[t](/)", &["folder=d/index.md", "folder=README.md"], "README.md"),
            ("d/e/x.md", "[t](/)", &["folder=d/index.md", "d/e.md"], "d/index.md"),
            ("a/x.md", "![[image.png]]", &["files/image.png"], "files/image.png"),
            ("a/x.md", "[[v1.2]]", &["b/v1.2.md"], "b/v1.2.md"),
        ];
        for (from, written, files, expected) in rows {
            assert_eq!(led(from, written, files), *expected, "{written} in {from} among {files:?}");
        }
    }

    #[test]
    fn targets_are_looked_up_by_file_name_and_permalink() {
        let keys = |written: &str| {
            let link = parse(written).links.remove(0);
            Keys::of("a/x.md", link.kind, &link.target)
                .map(|it| (it.file, it.name.unwrap_or_default(), it.permalink.unwrap_or_default()))
        };
        let row = |a: &str, b: &str, c: &str| Some((a.to_string(), b.to_string(), c.to_string()));
        assert_eq!(
            keys("[[Machine  Learning]]"),
            row("machine  learning", "machine learning", "machine-learning")
        );
        assert_eq!(keys("[[TCP/IP]]"), row("ip", "tcp/ip", "tcp/ip"));
        assert_eq!(
            keys("[[Signing\u{2011}Ser\u{ad}vice.md\u{200b}]]"),
            row("signing-service", "signing-service", "signing-service")
        );
        assert_eq!(keys("[a](../B%20c.md#x)"), row("b c", "", ""));
        assert_eq!(keys("[a](b.html)"), row("b.html", "b", ""));
        assert_eq!(keys("[a](/setup/index)"), row("index", "setup", ""));
        assert_eq!(keys("[[#here]]"), None);
        // The folder above that of the note, and the folder `a` of the rendered page `a/x/`.
        assert_eq!(keys("[a](..)"), row("/", "a", ""));
        assert_eq!(keys("[a](/)"), row("/", "a", ""));
    }
}
