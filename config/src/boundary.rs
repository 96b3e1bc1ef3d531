//! Boundary: folders that cannot be projects, and folders below which an agent may create one.
//!
//! In: a folder, as written. Out: its real path, and objections to it.
//! Invariants: a folder is judged by its real path, with links followed in every existing part of it; nothing is
//! created; no setting overrides an objection.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::keys::{is_key_file, is_key_folder};
use crate::place::current_uid;
use crate::registry::expand_home;

/// System folders, with everything below them.
const SYSTEM: [&str; 12] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
    "/var",
];

/// Exceptions in system folders where people keep documents: documentation, web pages, drives, scratch.
const OF_PEOPLE: [&str; 5] = ["/run/media", "/usr/share/doc", "/var/mnt", "/var/tmp", "/var/www"];

/// Entries that mark a home folder.
const OF_A_HOME: [&str; 2] = [".ssh", ".gnupg"];

/// Depth to which a folder is searched for keys before an agent may have it, and the most entries to visit.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 20_000;

/// Who asks for a folder to become a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A person, who may have a reason to index a hidden folder.
    Person,
    /// An agent.
    Agent,
}

/// The users of the system, one a line: `NAME:x:UID:GID:COMMENT:HOME:SHELL`.
const PASSWD: &str = "/etc/passwd";

/// Returns the user's home folders: what `$HOME` says, and what the system says unless that is a system folder.
fn homes() -> Vec<PathBuf> {
    let users = std::fs::read_to_string(PASSWD).unwrap_or_default();
    let known = home_in(&users, current_uid()).map(PathBuf::from).filter(|it| !is_system(it));
    let named = std::env::var_os("HOME").map(PathBuf::from);
    named.into_iter().chain(known).filter_map(|home| home.canonicalize().ok()).collect()
}

/// Returns the home folder of a user, as [`PASSWD`] has it.
fn home_in(users: &str, uid: u32) -> Option<&str> {
    let of = |line: &'_ str| line.split(':').nth(2).and_then(|it| it.parse().ok()) == Some(uid);
    users.lines().find(|line| of(line))?.split(':').nth(5).filter(|it| it.starts_with('/'))
}

/// Returns the real path of a folder that need not exist yet.
///
/// # Errors
/// When a link on the way is broken, or the missing part contains `..`.
pub fn real_path(folder: &Path) -> io::Result<PathBuf> {
    // The names cut off so far, innermost first.
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

/// Returns why a folder cannot be a project, whatever is configured. Expects a path from [`real_path`].
pub fn objection(folder: &Path, who: Who) -> Option<String> {
    by_path(folder, who, &homes()).or_else(|| by_entries(folder, who))
}

/// Returns an objection to the path alone.
fn by_path(folder: &Path, who: Who, homes: &[PathBuf]) -> Option<String> {
    let shown = folder.display();
    if homes.iter().any(|home| home.starts_with(folder)) || folder.parent().is_none() {
        return Some(format!("`{shown}` is a home folder, or contains one"));
    }
    let mut names = folder.iter().filter_map(OsStr::to_str);
    if let Some(name) = names.find(|name| is_key_folder(name)) {
        return Some(format!("`{shown}` is a place for keys (`{name}`)"));
    }
    // With a home of `/`, everything would belong to the user.
    let homes = homes.iter().filter(|it| it.parent().is_some());
    let inside: Vec<&Path> = homes.filter_map(|home| folder.strip_prefix(home).ok()).collect();
    if !inside.is_empty() {
        let is_hidden = inside.iter().any(|it| it.as_os_str().as_encoded_bytes().starts_with(b"."));
        return (is_hidden && who == Who::Agent)
            .then(|| format!("`{shown}` is in a hidden folder of the home folder"));
    }
    is_system(folder).then(|| format!("`{shown}` is a system folder"))
}

fn is_system(folder: &Path) -> bool {
    let lies_in = |places: &[&str]| places.iter().any(|place| folder.starts_with(place));
    lies_in(&SYSTEM) && !lies_in(&OF_PEOPLE)
}

/// Returns an objection to the folder's entries; none if it does not exist yet. For an agent, subfolders are searched,
/// too.
fn by_entries(folder: &Path, who: Who) -> Option<String> {
    let mut names = names_in(folder, if who == Who::Agent { MAX_DEPTH } else { 1 }).into_iter();
    let is_key = |name: &String| match who {
        // A project that an agent creates is new, or contains only documents.
        Who::Agent => is_key_file(name) || is_key_folder(name),
        // A person's folder of code may contain an `.env`, which is never read.
        Who::Person => {
            OF_A_HOME.contains(&name.as_str()) || name.starts_with("id_") && is_key_file(name)
        }
    };
    let name = names.find(is_key)?;
    Some(format!("`{}` contains keys (`{name}`)", folder.display()))
}

/// Returns the names in a folder and, down to this depth, in its subfolders; does not follow links.
fn names_in(folder: &Path, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    // A stack instead of recursion; the order of the names does not matter.
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

/// Returns the real paths of the folders below which an agent may create projects; leaves out those that are not
/// folders or that no agent may have.
pub fn roots(named: &[String]) -> Vec<PathBuf> {
    let homes = homes();
    let real = named.iter().filter_map(|it| expand_home(it).canonicalize().ok());
    real.filter(|root| root.is_dir() && by_path(root, Who::Agent, &homes).is_none()).collect()
}

/// Returns what is wrong with an entry of `projects.roots`.
pub(crate) fn fault_of_root(named: &str) -> Option<String> {
    let folder = expand_home(named);
    if !folder.is_absolute() {
        return Some(format!("has `{named}`; give absolute paths, or ones that begin with `~/`"));
    }
    let why = by_path(&folder, Who::Agent, &homes())?;
    Some(format!("has `{named}`, but {why}: agents cannot create projects there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_judged_by_where_they_lie() {
        let homes = ["/home/you", "/data/homes/you"].map(PathBuf::from);
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
            ("/data/homes/you", false, false),
            ("/data/homes", false, false),
            ("/data/homes/you/notes", true, true),
            ("/data/homes/you/.config/x", true, false),
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
            let is_free = |who| by_path(Path::new(folder), who, &homes).is_none();
            assert_eq!((is_free(Who::Person), is_free(Who::Agent)), (person, agent), "{folder}");
        }
        let service = [PathBuf::from("/var/lib/service")];
        assert_eq!(by_path(Path::new("/var/lib/service/notes"), Who::Agent, &service), None);
        assert!(by_path(Path::new("/etc/notes"), Who::Agent, &[PathBuf::from("/")]).is_some());
    }

    #[test]
    fn the_system_knows_a_home_whatever_the_environment_says() {
        let users =
            "root:x:0:0:root:/root:/bin/bash\nyou:x:1000:1000:You,,,:/home/you:/bin/sh\nodd:x:7\n";
        for (uid, home) in [(0, Some("/root")), (1000, Some("/home/you")), (7, None), (8, None)] {
            assert_eq!(home_in(users, uid), home, "{uid}");
        }
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
