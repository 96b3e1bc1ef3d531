//! The registry: which folders are projects, and which one a command refers to.
//!
//! In: `projects.json` in the user's configuration folder. Out: projects, by name, by path, or by the current folder.
//! Invariants: names are unique, and so are roots; the file is replaced as a whole or not at all; a damaged file is
//! never overwritten.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod name;

pub use name::{is_same_name, name_key, permalink};

use crate::boundary::{self, Who};
use crate::place::{Places, Project, create_private_dir, replace_file};

/// The file in the user's configuration folder.
pub const FILE_NAME: &str = "projects.json";

const LOCK_NAME: &str = "projects.lock";

/// Most projects named in a message.
const MAX_LISTED: usize = 30;

/// One registered project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// Its name; unique.
    pub name: String,
    /// The canonical path of its folder; unique.
    pub root: PathBuf,
    /// Used when nothing else selects a project.
    #[serde(default)]
    pub default: bool,
    /// When it was registered, seconds since 1970.
    #[serde(default)]
    pub added: u64,
    /// The user forbids tools to write in it, whatever the folder says (setting `write`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

impl Registered {
    /// Returns the project, whether or not its folder exists just now.
    pub fn project(&self) -> Project {
        Project { root: self.root.clone(), name: self.name.clone() }
    }
}

/// Why the registry cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The file was not written by kgd.
    #[error(
        "the registry `{}` is damaged: {why}\n\
         hint: repair it, or delete it and run `kgctl init DIR` for each \
         folder; no index is lost", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, with line and column.
        why: serde_json::Error,
    },
    /// The file cannot be read or replaced.
    #[error("cannot use the registry `{}`: {source}", path.display())]
    Io {
        /// The file or its folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The name cannot be used.
    #[error("cannot use the project name `{name}`: {why}\nhint: {hint}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        why: String,
        /// What to use instead.
        hint: String,
    },
    /// A folder that does not exist, or whose path is not UTF-8.
    #[error("cannot register `{}`: {why}", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

/// No project was selected, or one that does not exist.
#[derive(Debug, thiserror::Error)]
pub enum WhichError {
    /// `--project` or `KG_PROJECT` names neither a project nor a folder.
    #[error("no project or folder is called `{given}` (from {source_name}){}", listing(known))]
    Unknown {
        /// The given name or path.
        given: String,
        /// `--project` or `KG_PROJECT`.
        source_name: &'static str,
        /// Every registered project.
        known: Vec<Registered>,
    },
    /// `--project` or `KG_PROJECT` names a folder that is not in a project and cannot become one.
    #[error(
        "{source_name} names a folder that cannot be a project: {why}\nhint: name a folder of documents inside it"
    )]
    Refused {
        /// `--project` or `KG_PROJECT`.
        source_name: &'static str,
        /// The objection.
        why: String,
    },
    /// Nothing selects a project.
    #[error("no project was given, and the current folder is not in one{}", listing(known))]
    Unclear {
        /// Every registered project.
        known: Vec<Registered>,
    },
    /// The registry cannot be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

fn listing(known: &[Registered]) -> String {
    if known.is_empty() {
        return "; none is registered\nhint: register a folder with `kgctl init DIR`".to_string();
    }
    let rows = known.iter().take(MAX_LISTED);
    let rows = rows.map(|it| format!("\n  {}  {}", it.name, it.root.display()));
    let rest = known.len().saturating_sub(MAX_LISTED);
    let rest = (rest > 0).then(|| format!("\n  and {rest} more"));
    let rows: String = rows.chain(rest).collect();
    format!(
        "; registered projects:{rows}\nhint: use `--project NAME`, or register a folder with `kgctl init DIR`"
    )
}

/// All registered projects, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registry {
    projects: Vec<Registered>,
}

impl Registry {
    /// Reads `projects.json` in the configuration folder; without the file there are no projects.
    ///
    /// # Errors
    /// [`RegistryError::Damaged`] or [`RegistryError::Io`], with the file's path.
    pub fn load(config_dir: &Path) -> Result<Self, RegistryError> {
        let path = config_dir.join(FILE_NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Registry::default()),
            Err(source) => return Err(RegistryError::Io { path, source }),
        };
        match serde_json::from_str(&text) {
            Ok(projects) => Ok(Registry { projects }),
            Err(why) => Err(RegistryError::Damaged { path, why }),
        }
    }

    /// Reads, changes and replaces the file under a lock.
    ///
    /// # Errors
    /// Those of [`Registry::load`]; those of `change`; and [`RegistryError::Io`] when the file cannot be replaced.
    pub fn update<T>(
        config_dir: &Path,
        change: impl FnOnce(&mut Registry) -> Result<T, RegistryError>,
    ) -> Result<T, RegistryError> {
        let io = |source| RegistryError::Io { path: config_dir.to_path_buf(), source };
        create_private_dir(config_dir)
            .map_err(|error| io(std::io::Error::other(error.to_string())))?;
        let lock = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(config_dir.join(LOCK_NAME));
        let lock = lock.map_err(io)?;
        // Released when the file is closed, also if this process dies.
        lock.lock().map_err(io)?;
        let mut registry = Registry::load(config_dir)?;
        let before = registry.clone();
        let answer = change(&mut registry)?;
        // An unchanged registry is not rewritten.
        if registry != before {
            registry.replace(config_dir).map_err(io)?;
        }
        Ok(answer)
    }

    fn replace(&self, config_dir: &Path) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(&self.projects)? + "\n";
        replace_file(&config_dir.join(FILE_NAME), 0o600, text.as_bytes())
    }

    /// Returns all projects, in the order in which they were added.
    pub fn projects(&self) -> &[Registered] {
        &self.projects
    }

    /// Registers a folder, or returns the existing entry. A name that is taken gets a number.
    ///
    /// # Errors
    /// [`RegistryError::Unusable`] when there is no such folder, or its path is not UTF-8.
    pub fn add(
        &mut self,
        folder: &Path,
        name: Option<&str>,
        now: u64,
    ) -> Result<Registered, RegistryError> {
        let unusable = |why: String| RegistryError::Unusable { path: folder.to_path_buf(), why };
        let project = Project::at(folder).map_err(|error| unusable(error.to_string()))?;
        if project.root.to_str().is_none() {
            return Err(unusable("its path is not UTF-8".to_string()));
        }
        let known = self.projects.iter().position(|it| it.root == project.root);
        let wanted = name.map(str::trim).filter(|name| !name.is_empty());
        // A folder is registered once; a new name renames it.
        if let Some(idx) = known {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != self.projects[idx].name) {
                self.projects[idx].name = self.free_name(wanted);
            }
            return Ok(self.projects[idx].clone());
        }
        let name = self.free_name(wanted.unwrap_or(&project.name));
        let registered =
            Registered { name, root: project.root, default: false, added: now, read_only: false };
        self.projects.push(registered.clone());
        Ok(registered)
    }

    /// Replaces all by these, whose folders are canonical paths. A name that is taken gets a number.
    pub fn replace_all<'a>(&mut self, projects: impl IntoIterator<Item = &'a Project>) {
        let mut taken = HashSet::new();
        let register = |it: &Project| {
            let name = numbered(&it.name, |name| taken.contains(&name_key(name)));
            taken.insert(name_key(&name));
            let root = it.root.clone();
            Registered { name, root, default: false, added: 0, read_only: false }
        };
        self.projects = projects.into_iter().map(register).collect();
    }

    /// Removes the project of that name or path; its files and its index are kept.
    pub fn remove(&mut self, name_or_path: &str) -> Option<Registered> {
        let name = self.find(name_or_path)?.name.clone();
        let idx = self.projects.iter().position(|it| it.name == name)?;
        Some(self.projects.remove(idx))
    }

    /// Makes one project the default, or none when no project has that name.
    pub fn set_default(&mut self, name: &str) {
        self.projects.iter_mut().for_each(|it| it.default = it.name == name);
    }

    /// Makes a project read-only for tools, or lets them write again.
    pub fn set_read_only(&mut self, name: &str, read_only: bool) {
        let named = self.projects.iter_mut().find(|it| it.name == name);
        named.into_iter().for_each(|it| it.read_only = read_only);
    }

    /// Returns the default project, else the only one.
    pub fn default_project(&self) -> Option<&Registered> {
        let only = || self.projects.first().filter(|_| self.projects.len() == 1);
        self.projects.iter().find(|it| it.default).or_else(only)
    }

    /// Returns the project at that canonical path.
    pub fn at(&self, root: &Path) -> Option<&Registered> {
        self.projects.iter().find(|it| it.root == root)
    }

    /// Returns the project of that name, else the one whose folder is at that path.
    pub fn find(&self, name_or_path: &str) -> Option<&Registered> {
        let by_name = self.projects.iter().find(|it| it.name == name_or_path);
        by_name.or_else(|| {
            let path = expand_home(name_or_path);
            // A deleted folder has no canonical path, yet must be removable.
            let path = path.canonicalize().unwrap_or(path);
            self.projects.iter().find(|it| it.root == path)
        })
    }

    /// Returns the innermost project whose folder is, or contains, `folder`.
    pub fn nearest(&self, folder: &Path) -> Option<&Registered> {
        let around = self.projects.iter().filter(|it| folder.starts_with(&it.root));
        around.max_by_key(|it| it.root.components().count())
    }

    /// Selects a project: by `flag`, then `env` (`KG_PROJECT`), then the innermost one around `cwd`, then the only or
    /// the default one. `flag` and `env` may also name any existing folder.
    ///
    /// # Errors
    /// [`WhichError`], which lists the registered projects.
    pub fn which(
        &self,
        flag: Option<&str>,
        env: Option<&str>,
        cwd: &Path,
    ) -> Result<Project, WhichError> {
        for (given, source_name) in [(flag, "`--project`"), (env, "`KG_PROJECT`")] {
            let Some(given) = given.filter(|given| !given.is_empty()) else { continue };
            return match self.named(given) {
                Some(Ok(project)) => Ok(project),
                Some(Err(why)) => Err(WhichError::Refused { source_name, why }),
                None => Err(WhichError::Unknown {
                    given: given.to_string(),
                    source_name,
                    known: self.projects.clone(),
                }),
            };
        }
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
        let found = self.nearest(&cwd).or_else(|| self.default_project());
        found
            .map(Registered::project)
            .ok_or_else(|| WhichError::Unclear { known: self.projects.clone() })
    }

    /// Returns a project by name or path: a folder inside a registered one selects that one. Any other existing folder
    /// is served, too, unless there is an objection.
    fn named(&self, given: &str) -> Option<Result<Project, String>> {
        if let Some(registered) = self.find(given) {
            return Some(Ok(registered.project()));
        }
        let project = Project::at(&expand_home(given)).ok()?;
        if let Some(around) = self.nearest(&project.root) {
            return Some(Ok(around.project()));
        }
        let objection = boundary::objection(&project.root, Who::Person);
        Some(objection.map_or(Ok(project), Err))
    }

    /// Returns `wanted`, or `wanted-2` and so on when that is taken.
    fn free_name(&self, wanted: &str) -> String {
        numbered(wanted, |name| self.projects.iter().any(|it| is_same_name(&it.name, name)))
    }
}

/// Returns `wanted`, or `wanted-2` and so on when that is taken.
fn numbered(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{wanted}-{n}"));
    let mut names = std::iter::once(wanted.to_string()).chain(numbered);
    names.find(|name| !is_taken(name)).expect("numbers do not run out")
}

/// Selects the project of this process: `--project`, then `KG_PROJECT`, then the innermost registered folder around the
/// current one, then the only or the default project.
///
/// # Errors
/// [`WhichError`], which lists the registered projects.
pub fn which_project(places: &Places, flag: Option<&str>) -> Result<Project, WhichError> {
    let registry = Registry::load(&places.config)?;
    let env = std::env::var("KG_PROJECT").ok();
    // Without a current folder (it was deleted) the only or default project can still be selected.
    let cwd = std::env::current_dir().unwrap_or_default();
    registry.which(flag, env.as_deref(), &cwd)
}

/// Expands a leading `~/` to the home folder: agents' configurations are not read by a shell.
pub(crate) fn expand_home(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path, path.strip_prefix("~/"), home) {
        ("~", _, Some(home)) => home,
        (_, Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests;
