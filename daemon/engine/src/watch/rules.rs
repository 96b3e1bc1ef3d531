//! Rules: which paths of the project are read, and why the others are not.
//!
//! In: a path relative to the root, and whether it is a folder. Out: a [`Verdict`]. Ignore files are read when a path
//! below them is first asked for; a changed ignore file needs new `Rules`, because verdicts depend on the old.
//! Invariants: a verdict depends on names and ignore files alone, so a crawl and an event get the same; a path that
//! leaves the root (`..`, absolute) is never read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use confine::Root;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustc_hash::{FxHashMap, FxHashSet};

use super::deny;
use super::read::read_regular;
use super::state::lock;
use super::survey::Cause;
use config::kinds::TOOL_FOLDERS;
use config::settings::Watch;
use model::terms::RelPath;
use redact::AllowedPaths;

/// Endings of files that editors and downloads leave half written.
const TEMPORARY_ENDINGS: [&str; 6] = ["~", ".swp", ".swx", ".tmp", ".part", ".crdownload"];

/// Git's ignore file, and those of this program, the first of which decides (S0 §4.1 has `.bmignore`).
const GITIGNORE: &str = ".gitignore";
const OWN_LISTS: [&str; 2] = [".kgignore", ".bmignore"];

/// Longest ignore file read, bytes. A list written by hand is a few kilobytes; the rest is not matched.
const MAX_IGNORE_FILE_BYTES: u64 = 256 * 1024;

/// Most patterns of an ignore file; the rest is not matched. Each costs up to 20 kB of memory.
const MAX_PATTERNS: usize = 2_000;

/// Patterns of ignore files in memory above which all are read again when they are needed.
const MAX_LOADED_PATTERNS: usize = 20_000;

/// Most warnings kept; a broken list repeats the same one.
const MAX_WARNINGS: usize = 20;

/// Why a path is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SkipReason {
    /// One of the folders that never contain documents.
    BuiltIn,
    /// The name starts with a dot.
    Hidden,
    /// Listed in `.gitignore`, `.kgignore`, `.bmignore` or `watch.ignore`.
    Ignored,
    /// A name that is typical of files with keys or passwords.
    Denied,
    /// A name that contains a secret, such as a token.
    SecretName,
    /// Images, sound, films, archives, programs, databases: never text, whatever `watch.extensions` lists.
    Binary,
    /// Neither a document's extension nor one of `watch.extensions`.
    Extension,
    /// A document's extension that `watch.extensions` takes out.
    TakenOut,
    /// A backup, lock or half-written file of an editor or download.
    Temporary,
    /// Larger than `watch.max_file_bytes`, or `watch.max_document_bytes`.
    TooLarge,
    /// The name is not UTF-8.
    NotUtf8,
    /// A symlink to nothing.
    DanglingLink,
    /// A symlink to a folder that contains it.
    LinkLoop,
    /// A symlink to a path in the project that is read under its own name.
    LinkedTwice,
    /// A symlink to a folder inside a symlinked folder; links are followed once, so that no tree is endless.
    LinkInLink,
    /// A symlink out of the root.
    OutsideLink,
    /// A folder, pipe, socket or device where a file should be.
    NotAFile,
    /// It exists but cannot be inspected: permissions, or a failing disk.
    Unreadable,
    /// Nothing is there.
    Missing,
    /// A path that leads out of the root.
    Outside,
}

impl SkipReason {
    /// Returns the reason as `status` shows it.
    pub fn as_str(self) -> &'static str {
        match self {
            SkipReason::BuiltIn => "built-in folder",
            SkipReason::Hidden => "hidden",
            SkipReason::Ignored => "ignored",
            SkipReason::Denied => "on the deny list",
            SkipReason::SecretName => "on the deny list: its name holds a secret",
            SkipReason::Binary => "binary format",
            SkipReason::Extension => "extension",
            SkipReason::TakenOut => "extension taken out by `watch.extensions`",
            SkipReason::Temporary => "temporary",
            SkipReason::TooLarge => "too large",
            SkipReason::NotUtf8 => "name is not UTF-8",
            SkipReason::DanglingLink => "dangling symlink",
            SkipReason::LinkLoop => "symlink loop",
            SkipReason::LinkedTwice => "symlink to an indexed path",
            SkipReason::LinkInLink => "symlink in a symlinked folder",
            SkipReason::OutsideLink => "symlink out of the root",
            SkipReason::NotAFile => "not a regular file",
            SkipReason::Unreadable => "cannot be read",
            SkipReason::Missing => "no such file",
            SkipReason::Outside => "outside the root",
        }
    }

    /// Returns why a file that was requested by name is not read, and what to do about it, if its name is the reason.
    pub fn refusal(self) -> Option<&'static str> {
        match self {
            SkipReason::Denied => Some(
                "on the deny list: files of this name hold keys or passwords, and are never read; \
                 hint: rename it, or list it in `privacy.allow_paths` of your own configuration",
            ),
            SkipReason::SecretName => {
                Some("on the deny list: its name holds a secret; hint: rename it")
            }
            SkipReason::Binary => Some(
                "on the deny list: not a format of text; hint: only text, and formats that kgd knows, are read",
            ),
            _ => None,
        }
    }

    /// Returns whether a file of this name is never read, whatever the settings list.
    pub fn is_denied(self) -> bool {
        matches!(self, SkipReason::Denied | SkipReason::SecretName | SkipReason::Binary)
    }

    /// Returns what would have such paths read; `None` where nothing would.
    pub fn remedy(self) -> Option<&'static str> {
        Some(match self {
            SkipReason::Hidden => "`watch.hidden: true` reads names that start with a dot",
            SkipReason::Ignored | SkipReason::BuiltIn => {
                "a line `!NAME` in `.kgignore` brings back what `.gitignore` or kgd itself leaves out"
            }
            SkipReason::Denied => {
                "rename it, or list it in `privacy.allow_paths` of your own configuration"
            }
            SkipReason::SecretName | SkipReason::NotUtf8 => "rename it",
            SkipReason::Extension => {
                "`watch.extensions` adds extensions of text; other formats must be converted to one that kgd knows"
            }
            SkipReason::TakenOut => "correct `watch.extensions`",
            SkipReason::TooLarge => {
                "split it, or raise `watch.max_file_bytes`, for PDF and Word `watch.max_document_bytes`"
            }
            SkipReason::OutsideLink => {
                "copy the target into the folder, or make its folder a project"
            }
            SkipReason::Unreadable => "let the daemon's user read the file and search its folder",
            _ => return None,
        })
    }

    /// Returns whether it may be a document that a person misses, rather than what is left out on purpose.
    pub fn is_notable(self) -> bool {
        !matches!(
            self,
            SkipReason::BuiltIn
                | SkipReason::Hidden
                | SkipReason::Ignored
                | SkipReason::Binary
                | SkipReason::Extension
                | SkipReason::Temporary
                | SkipReason::LinkedTwice
        )
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What to do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A file to index.
    Read,
    /// A folder to descend into.
    Descend,
    /// Neither.
    Skip(SkipReason),
}

/// The rules about which paths are read, at one moment.
pub struct Rules {
    /// A path, not an open folder, which could not be unmounted.
    root: PathBuf,
    extensions: FxHashSet<String>,
    limits: Watch,
    reads_hidden: bool,
    allowed: AllowedPaths,
    configured: Gitignore,
    loaded: Mutex<Loaded>,
    warnings: Mutex<Vec<String>>,
}

/// The ignore files that were read.
#[derive(Default)]
struct Loaded {
    folders: FxHashMap<String, Option<Arc<FolderRules>>>,
    n_patterns: usize,
}

/// The ignore files of one folder.
struct FolderRules {
    own: [Gitignore; OWN_LISTS.len()],
    gitignore: Gitignore,
}

impl Rules {
    /// Creates the rules of the project at `root`. An invalid pattern of `watch.ignore` becomes a warning.
    pub fn new(root: &Path, settings: &Watch) -> Self {
        let mut warnings = Vec::new();
        let configured =
            build("`watch.ignore`", settings.ignore.iter().map(String::as_str), &mut warnings);
        Rules {
            root: root.to_path_buf(),
            extensions: config::kinds::extensions_in(&settings.extensions).into_iter().collect(),
            limits: settings.clone(),
            reads_hidden: settings.hidden,
            allowed: AllowedPaths::new(&[]),
            configured,
            loaded: Mutex::default(),
            warnings: Mutex::new(warnings),
        }
    }

    /// Exempts paths from the deny list, by globs of the user's own configuration.
    pub fn allowing(mut self, globs: &[String]) -> Self {
        self.allowed = AllowedPaths::new(globs);
        self
    }

    /// Decides about a path by its name, the names of the folders above it, and the ignore files there.
    pub fn verdict(&self, path: &str, is_dir: bool) -> Verdict {
        if !is_inside(path) {
            return Verdict::Skip(SkipReason::Outside);
        }
        // A file in a skipped folder is skipped for the folder's reason.
        for (slash, _) in path.match_indices('/') {
            if let Verdict::Skip(reason) = self.step(&path[..slash], true) {
                return Verdict::Skip(reason);
            }
        }
        self.step(path, is_dir)
    }

    /// Decides about a path whose folder is known to be read.
    pub(super) fn step(&self, path: &str, is_dir: bool) -> Verdict {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_hidden = name.starts_with('.') && !self.reads_hidden;
        if name == ".git" {
            return Verdict::Skip(SkipReason::BuiltIn);
        }
        if !is_dir {
            // Before everything that settings may change.
            if let Some(reason) = deny::reason(path).filter(|_| !self.allowed.hold(path)) {
                return Verdict::Skip(reason);
            }
            if is_temporary(name) {
                return Verdict::Skip(SkipReason::Temporary);
            }
            let extension = config::kinds::extension_of(name);
            if extension.is_empty() || !self.extensions.contains(&extension) {
                let is_default = config::formats::default_extensions().any(|it| it == extension);
                return Verdict::Skip(match is_hidden {
                    true => SkipReason::Hidden,
                    false if is_default => SkipReason::TakenOut,
                    false => SkipReason::Extension,
                });
            }
        }
        let listed = self.listed(path, is_dir);
        // Lists come before built-in folders and hidden names, so that `.kgignore` can bring these back.
        let skip = match listed {
            Listed::Ignored(_) => Some(SkipReason::Ignored),
            Listed::Wanted => None,
            Listed::No if is_dir && TOOL_FOLDERS.contains(&name) => Some(SkipReason::BuiltIn),
            Listed::No if is_hidden => Some(SkipReason::Hidden),
            Listed::No => None,
        };
        match skip {
            Some(reason) => Verdict::Skip(reason),
            None if is_dir => Verdict::Descend,
            None => Verdict::Read,
        }
    }

    /// Returns whether a list leaves a file out, whatever its extension.
    pub fn is_ignored(&self, path: &str) -> bool {
        matches!(self.listed(path, false), Listed::Ignored(_))
    }

    /// Returns the size of the largest file that is read under this path, bytes.
    pub fn max_bytes_of(&self, path: &str) -> u64 {
        self.limits.max_bytes_of(&RelPath::new(path).extension())
    }

    /// Returns what was wrong with patterns and ignore files so far.
    pub fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    /// Returns a reason with what decided it, for a path that is skipped.
    pub(super) fn cause(&self, path: &str, is_dir: bool, reason: SkipReason) -> Cause {
        let name = path.rsplit('/').next().unwrap_or(path);
        let by = match reason {
            SkipReason::Ignored => match self.listed(path, is_dir) {
                Listed::Ignored(list) => list,
                _ => String::new(),
            },
            SkipReason::Extension | SkipReason::TakenOut | SkipReason::Binary => {
                let extension = config::kinds::extension_of(name);
                if extension.is_empty() { "none".to_string() } else { extension }
            }
            SkipReason::BuiltIn => name.to_string(),
            _ => String::new(),
        };
        Cause { reason, by }
    }

    /// Returns what the lists say: the setting first, then `.kgignore` and `.bmignore`, then `.gitignore`, each from
    /// the innermost folder outwards.
    fn listed(&self, path: &str, is_dir: bool) -> Listed {
        if self.configured.matched(path, is_dir).is_ignore() {
            return Listed::Ignored("watch.ignore".to_string());
        }
        let list = |folder: &str, name: &str| match folder {
            "" => name.to_string(),
            folder => format!("{folder}/{name}"),
        };
        let mut by_git = Listed::No;
        let mut folder = parent(path);
        loop {
            if let Some(rules) = self.folder(folder) {
                let below = if folder.is_empty() { path } else { &path[folder.len() + 1..] };
                for (name, rules) in OWN_LISTS.into_iter().zip(&rules.own) {
                    match rules.matched(below, is_dir) {
                        Match::Ignore(_) => return Listed::Ignored(list(folder, name)),
                        Match::Whitelist(_) => return Listed::Wanted,
                        Match::None => {}
                    }
                }
                if matches!(by_git, Listed::No) {
                    match rules.gitignore.matched(below, is_dir) {
                        Match::Ignore(_) => by_git = Listed::Ignored(list(folder, GITIGNORE)),
                        // Git's exception overrides git's rule, but not ours about hidden and built-in names.
                        Match::Whitelist(_) => by_git = Listed::Wanted,
                        Match::None => {}
                    }
                }
            }
            if folder.is_empty() {
                break;
            }
            folder = parent(folder);
        }
        // `Wanted` by git only cancels git's own rule.
        if matches!(by_git, Listed::Wanted) { Listed::No } else { by_git }
    }

    fn folder(&self, folder: &str) -> Option<Arc<FolderRules>> {
        if let Some(rules) = lock(&self.loaded).folders.get(folder) {
            return rules.clone();
        }
        // Loaded without the lock: two threads may load the same list, with the same result.
        let rules = self.load(folder);
        let n_patterns = rules
            .iter()
            .flat_map(|it| it.own.iter().chain([&it.gitignore]))
            .map(Gitignore::len)
            .sum::<usize>();
        let mut loaded = lock(&self.loaded);
        // A hostile tree may have a list in every folder.
        if loaded.n_patterns + n_patterns > MAX_LOADED_PATTERNS {
            *loaded = Loaded::default();
        }
        loaded.n_patterns += n_patterns;
        loaded.folders.insert(folder.to_string(), rules.clone());
        rules
    }

    fn load(&self, folder: &str) -> Option<Arc<FolderRules>> {
        let root = Root::open_canonical(&self.root).ok()?;
        let gitignore = self.load_file(&root, folder, GITIGNORE);
        let own = OWN_LISTS.map(|name| self.load_file(&root, folder, name));
        if own.iter().chain([&gitignore]).all(Option::is_none) {
            return None;
        }
        let or_empty = |list: Option<Gitignore>| list.unwrap_or_else(Gitignore::empty);
        Some(Arc::new(FolderRules { own: own.map(or_empty), gitignore: or_empty(gitignore) }))
    }

    fn load_file(&self, root: &Root, folder: &str, name: &str) -> Option<Gitignore> {
        let shown = if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") };
        let bytes = match read_regular(root, &shown, MAX_IGNORE_FILE_BYTES) {
            Ok(Some(file)) if file.is_cut => {
                self.warn(format!("`{shown}` is read only up to byte {MAX_IGNORE_FILE_BYTES}"));
                file.bytes
            }
            Ok(Some(file)) => file.bytes,
            Ok(None) => {
                self.warn(format!("`{shown}` is not a regular file"));
                return None;
            }
            Err(trouble) if trouble.is_missing() => return None,
            Err(trouble) => {
                self.warn(format!("`{shown}` cannot be read: {trouble}"));
                return None;
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        // A byte order mark would become part of the first pattern.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut warnings = Vec::new();
        if text.lines().count() > MAX_PATTERNS {
            warnings.push(format!("`{shown}` is read only up to line {MAX_PATTERNS}"));
        }
        let lines = text.lines().take(MAX_PATTERNS);
        let list = build(&format!("`{shown}`"), lines, &mut warnings);
        warnings.into_iter().for_each(|warning| self.warn(warning));
        Some(list)
    }

    fn warn(&self, warning: String) {
        let mut warnings = lock(&self.warnings);
        if warnings.len() < MAX_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// What the lists say about a path.
enum Listed {
    No,
    /// By this ignore file, or by the setting.
    Ignored(String),
    Wanted,
}

/// Returns whether the path is that of an ignore file, whose change requires new rules.
pub(super) fn is_ignore_file(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name == GITIGNORE || OWN_LISTS.contains(&name))
}

/// Returns whether the path stays below the root.
fn is_inside(path: &str) -> bool {
    !path.contains('\0') && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Returns whether a file is temporary: backups (`a~`), Emacs locks and autosaves (`.#a`, `#a#`), Vim's swap file and
/// write test (`4913`), owner files of office programs (`~$a`), downloads.
fn is_temporary(name: &str) -> bool {
    name == "4913"
        || name.starts_with(".#")
        || name.starts_with("~$")
        || (name.len() > 1 && name.starts_with('#') && name.ends_with('#'))
        || TEMPORARY_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Returns the folder that contains a path; empty for the root.
pub(super) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash])
}

fn build<'a>(
    source: &str,
    lines: impl Iterator<Item = &'a str>,
    warnings: &mut Vec<String>,
) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in lines {
        if let Err(error) = builder.add_line(None, line) {
            let why = match error {
                ignore::Error::Glob { err, .. } => err,
                error => error.to_string(),
            };
            warnings.push(format!("{source}: `{line}` is not a valid pattern: {why}"));
        }
    }
    builder.build().unwrap_or_else(|error| {
        warnings.push(format!("{source} is not used: {error}"));
        Gitignore::empty()
    })
}

#[cfg(test)]
mod tests;
