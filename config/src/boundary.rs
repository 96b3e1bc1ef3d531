//! Boundary: which folders are nobody's project, and below which an agent may make one.
//!
//! In: a folder, as somebody named it. Out: where it really lies, and what speaks against it.
//! Invariants: a folder is judged by its real path, with the links in every part of it that is there followed; nothing
//! is made; no setting lifts an objection.
//! Not here: whether a folder overlaps with another project (`registry.rs`), or which files of one are read.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::keys::{is_key_file, is_key_folder};
use crate::registry::expand_home;

/// Folders of the system, with everything in them.
const SYSTEM: [&str; 12] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
    "/var",
];

/// What people keep in folders of the system all the same: documentation, web pages, drives, scratch.
const OF_PEOPLE: [&str; 5] = ["/run/media", "/usr/share/doc", "/var/mnt", "/var/tmp", "/var/www"];

/// Entries of a folder that is somebody's home.
const OF_A_HOME: [&str; 2] = [".ssh", ".gnupg"];

/// How deep a folder is searched for keys before an agent may have it, and how many entries are looked at.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 20_000;

/// Who wants a folder to be a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A person, who may have reasons to index a hidden folder.
    Person,
    /// An agent.
    Agent,
}

/// The user's home folder, where one is known.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok())
}

/// Where a folder really lies that need not be there yet.
///
/// # Errors
/// When a link on the way leads nowhere, or what is not there yet has `..` in it.
pub fn real_path(folder: &Path) -> io::Result<PathBuf> {
    let mut rest = Vec::new();
    let mut there = folder;
    loop {
        match there.canonicalize() {
            Ok(real) => return Ok(rest.iter().rev().fold(real, |path, name| path.join(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !there.is_symlink() => {}
            Err(error) => return Err(error),
        }
        match (there.components().next_back(), there.parent()) {
            (Some(Component::Normal(name)), Some(parent)) => {
                rest.push(name);
                there = parent;
            }
            _ => return Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// What speaks against a folder as a project, whatever is configured. Its path is of [`real_path`].
pub fn objection(folder: &Path, who: Who) -> Option<String> {
    by_path(folder, who, home().as_deref()).or_else(|| by_entries(folder, who))
}

/// What speaks against its path alone.
fn by_path(folder: &Path, who: Who, home: Option<&Path>) -> Option<String> {
    let shown = folder.display();
    if home.is_some_and(|home| home.starts_with(folder)) || folder.parent().is_none() {
        return Some(format!("`{shown}` is a whole home folder, or lies around one"));
    }
    let mut names = folder.iter().filter_map(OsStr::to_str);
    if let Some(name) = names.find(|name| is_key_folder(name)) {
        return Some(format!("`{shown}` is a place for keys (`{name}`)"));
    }
    // A home at `/` would make everything the user's own.
    let below_home = home.filter(|it| it.parent().is_some()).map(|it| folder.strip_prefix(it));
    if let Some(Ok(inside)) = below_home {
        let is_hidden = inside.as_os_str().as_encoded_bytes().starts_with(b".");
        return (is_hidden && who == Who::Agent)
            .then(|| format!("`{shown}` lies in a hidden folder of the home folder"));
    }
    let lies_in = |places: &[&str]| places.iter().any(|place| folder.starts_with(place));
    let is_system = lies_in(&SYSTEM) && !lies_in(&OF_PEOPLE);
    is_system.then(|| format!("`{shown}` is of the system"))
}

/// What speaks against what lies in it; none where nothing is there yet. For an agent, folders in it are searched, too.
fn by_entries(folder: &Path, who: Who) -> Option<String> {
    let mut names = names_in(folder, if who == Who::Agent { MAX_DEPTH } else { 1 }).into_iter();
    let is_key = |name: &String| match who {
        // What an agent makes a project is new, or holds documents.
        Who::Agent => is_key_file(name) || is_key_folder(name),
        // A person's folder of code may have an `.env`, which is never read.
        Who::Person => {
            OF_A_HOME.contains(&name.as_str()) || name.starts_with("id_") && is_key_file(name)
        }
    };
    let name = names.find(is_key)?;
    Some(format!("`{}` holds keys (`{name}`)", folder.display()))
}

/// The names in a folder and, down to this depth, in those below it; links are not followed.
fn names_in(folder: &Path, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), 1)];
    while let Some((folder, level)) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if names.len() >= MAX_ENTRIES {
                return names;
            }
            if level < depth && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push((entry.path(), level + 1));
            }
            names.extend(entry.file_name().into_string());
        }
    }
    names
}

/// The folders below which an agent may make projects, as they really lie; those that are no folder, or that no agent
/// may have, are left out.
pub fn roots(named: &[String]) -> Vec<PathBuf> {
    let real = named.iter().filter_map(|it| expand_home(it).canonicalize().ok());
    real.filter(|root| root.is_dir() && by_path(root, Who::Agent, home().as_deref()).is_none())
        .collect()
}

/// What speaks against an entry of `projects.roots`, as it is written.
pub(crate) fn fault_of_root(named: &str) -> Option<String> {
    let folder = expand_home(named);
    if !folder.is_absolute() {
        return Some(format!("has `{named}`; give absolute paths, or ones that begin with `~/`"));
    }
    let why = by_path(&folder, Who::Agent, home().as_deref())?;
    Some(format!("has `{named}`, but {why}: no agent may make projects there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_judged_by_where_they_lie() {
        let home = Some(Path::new("/home/you"));
        for (folder, person, agent) in [
            ("/home/you/notes", true, true),
            ("/home/you/notes/.drafts", true, true),
            ("/home/you/.notes", true, false),
            ("/home/you/.config/x", true, false),
            ("/home/you/.ssh", false, false),
            ("/home/you/work/.SSH/x", false, false),
            ("/home/you/.aws", false, false),
            ("/home/you", false, false),
            ("/home", false, false),
            ("/", false, false),
            ("/home/you2/notes", true, true),
            ("/srv/docs", true, true),
            ("/mnt/d/notes", true, true),
            ("/etc", false, false),
            ("/etc/x", false, false),
            ("/usr/share/doc/git", true, true),
            ("/usr/share", false, false),
            ("/var/lib/x", false, false),
            ("/run/media/you/stick/notes", true, true),
            ("/variety", true, true),
        ] {
            let is_free = |who| by_path(Path::new(folder), who, home).is_none();
            assert_eq!((is_free(Who::Person), is_free(Who::Agent)), (person, agent), "{folder}");
        }
        let service = Some(Path::new("/var/lib/service"));
        assert_eq!(by_path(Path::new("/var/lib/service/notes"), Who::Agent, service), None);
        assert!(by_path(Path::new("/etc/notes"), Who::Agent, Some(Path::new("/"))).is_some());
    }

    #[test]
    fn folders_are_judged_by_what_they_hold() {
        for (file, person, agent) in [
            ("a.md", true, true),
            ("server.pem", true, false),
            (".env", true, false),
            ("id_ed25519", false, false),
            (".ssh", false, false),
        ] {
            let dir = tempfile::tempdir().expect("a folder");
            std::fs::write(dir.path().join(file), "").expect("written");
            let is_free = |who| objection(dir.path(), who).is_none();
            assert_eq!((is_free(Who::Person), is_free(Who::Agent)), (person, agent), "{file}");
        }
    }

    #[test]
    fn keys_in_folders_of_a_folder_are_seen_for_an_agent() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(dir.path().join("a/b")).expect("made");
        std::fs::write(dir.path().join("a/b/id_rsa"), "").expect("written");
        assert!(objection(dir.path(), Who::Agent).is_some_and(|why| why.contains("id_rsa")));
        assert_eq!(objection(dir.path(), Who::Person), None);
    }

    #[test]
    fn a_folder_that_is_not_there_lies_where_its_links_lead() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |path: &str| dir.path().canonicalize().expect("there").join(path);
        std::fs::create_dir_all(at("real/.ssh")).expect("made");
        std::os::unix::fs::symlink(at("real"), at("link")).expect("a link");
        std::os::unix::fs::symlink("nowhere", at("dangling")).expect("a link");
        for (path, expected) in [
            ("link/new/x", Some("real/new/x")),
            ("link/.ssh/x", Some("real/.ssh/x")),
            ("real/../new", Some("new")),
            ("new/../x", None),
            ("dangling/x", None),
        ] {
            assert_eq!(real_path(&at(path)).ok(), expected.map(at), "{path}");
        }
    }
}
