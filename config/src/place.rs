//! Place: the folders for state, sockets and configuration, and the files of one project.
//!
//! In: the environment and the project's folder. Out: absolute paths, and folders created with mode 0700.
//! Invariants: two projects never share a path; a socket path fits the kernel's limit; a runtime folder that another
//! user could write to is refused.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::address::split_password;
use crate::limits::MAX_SOCKET_PATH_BYTES;

/// Most bytes of a folder's name in a slug; the hash distinguishes longer names.
const MAX_SLUG_NAME_BYTES: usize = 48;

/// The file of a generated token.
const HTTP_TOKEN: &str = "http.token";

/// Bytes of a slug after its name: a dash and eight hexadecimal digits.
const SLUG_HASH_BYTES: usize = 9;

/// A place that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Neither the variable nor a home folder is set, or not to an absolute path.
    #[error(
        "no home folder is known: `HOME` is unset, or relative\nhint: set `HOME`, or `{variable}`, to an absolute path"
    )]
    NoHome {
        /// The variable that would name the place.
        variable: &'static str,
    },
    /// The runtime folder's path leaves no room for a socket's name.
    #[error(
        "the runtime folder `{}` is too long: a socket path holds {MAX_SOCKET_PATH_BYTES} bytes\n\
         hint: set `KG_RUNTIME_DIR` to a shorter path, such as `/tmp/kg`", .0.display()
    )]
    RuntimeTooLong(PathBuf),
    /// Another user owns the runtime folder, or could write to it.
    #[error("`{}` is not safe: {why}\nhint: remove it, or set `KG_RUNTIME_DIR`", path.display())]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A folder cannot be created or inspected.
    #[error("cannot use `{}`: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The three folders that hold everything kgd stores; absolute, not necessarily existing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// One folder per project: its index, ledger, log and lock.
    pub state: PathBuf,
    /// One socket per project.
    pub runtime: PathBuf,
    /// The registry and the user's settings.
    pub config: PathBuf,
}

impl Places {
    /// Returns the places for this process: `KG_*_DIR`, else the XDG folders, else their defaults.
    ///
    /// # Errors
    /// [`PlaceError::NoHome`] when neither a variable nor `HOME` is set.
    pub fn from_env() -> Result<Self, PlaceError> {
        Self::from_lookup(&|name| std::env::var_os(name), current_uid())
    }

    /// Like [`Places::from_env`], with a given environment and user id.
    ///
    /// # Errors
    /// [`PlaceError::NoHome`] when neither a variable nor `HOME` says where to look.
    pub fn from_lookup(
        env: &dyn Fn(&str) -> Option<OsString>,
        uid: u32,
    ) -> Result<Self, PlaceError> {
        let below_home = |own, xdg, default: &str| {
            // As in the XDG specification: its variable, else the usual folder in the home folder.
            let base = xdg_dir(env, xdg).or_else(|| Some(xdg_dir(env, "HOME")?.join(default)));
            chosen(env, own)
                .or_else(|| Some(base?.join("kgd")))
                .ok_or(PlaceError::NoHome { variable: own })
        };
        let runtime = chosen(env, "KG_RUNTIME_DIR")
            .or_else(|| Some(xdg_dir(env, "XDG_RUNTIME_DIR")?.join("kgd")))
            // A fallback without guarantees, therefore checked by `check_private`.
            .unwrap_or_else(|| PathBuf::from(format!("/tmp/kgd-{uid}")));
        Ok(Places {
            state: below_home("KG_STATE_DIR", "XDG_STATE_HOME", ".local/state")?,
            runtime,
            config: below_home("KG_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")?,
        })
    }

    /// Returns the files of one project; creates nothing.
    ///
    /// # Errors
    /// [`PlaceError::RuntimeTooLong`] when not even a shortened socket name fits.
    pub fn project(&self, project: &Project) -> Result<ProjectPaths, PlaceError> {
        let dir = self.state.join(project.slug());
        Ok(ProjectPaths {
            socket: self.socket(project)?,
            index: dir.join("index.sqlite"),
            ledger: dir.join("ledger.sqlite"),
            log: dir.join("daemon.log"),
            lock: dir.join("lock"),
            http_token: dir.join(HTTP_TOKEN),
            dir,
        })
    }

    /// Returns the places of a hub's front end: each hub has its own, below those of the user. A password in the
    /// address makes no difference.
    pub fn of_hub(&self, url: &str) -> Self {
        let (url, _) = split_password(url);
        let key = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(url.as_bytes()));
        let state = self.state.join("hub").join(&key);
        // Half of the key: socket paths are short, and a user has few hubs.
        let short = key.get(..8).unwrap_or(&key);
        Places { config: state.clone(), runtime: self.runtime.join(format!("hub-{short}")), state }
    }

    /// Returns the project that stands for the front end itself.
    pub fn front(&self) -> Project {
        Project { root: self.state.join("front"), name: "hub".to_string() }
    }

    /// Returns the file with the entities of different projects that people have stated to be the same.
    pub fn same_as(&self) -> PathBuf {
        self.state.join("same_as.json")
    }

    /// Returns the file of the user's settings: `config.yaml` in the configuration folder.
    pub fn user_settings(&self) -> PathBuf {
        self.config.join("config.yaml")
    }

    /// Returns the token file of `kg-mcp --http`, which serves several projects.
    pub fn http_token(&self) -> PathBuf {
        self.state.join(HTTP_TOKEN)
    }

    /// Returns the folder of added models, one subfolder each, shared by all projects.
    pub fn models(&self) -> PathBuf {
        self.state.join("models")
    }

    /// Returns the folder of unpacked built-in models, shared by all projects: missing files are created again.
    pub fn unpacked(&self) -> PathBuf {
        self.state.join("unpacked")
    }

    fn socket(&self, project: &Project) -> Result<PathBuf, PlaceError> {
        const AROUND: usize = "/".len() + ".sock".len();
        let room = MAX_SOCKET_PATH_BYTES.checked_sub(self.runtime.as_os_str().len() + AROUND);
        let room = room.filter(|room| *room > SLUG_HASH_BYTES);
        let room = room.ok_or_else(|| PlaceError::RuntimeTooLong(self.runtime.clone()))?;
        let slug = project.slug_within(room);
        Ok(self.runtime.join(format!("{slug}.sock")))
    }
}

/// The files of one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectPaths {
    /// The folder of all of them except the socket.
    pub dir: PathBuf,
    /// The token of the daemon's HTTP, if it was generated.
    pub http_token: PathBuf,
    /// The derived index.
    pub index: PathBuf,
    /// What the files cannot hold.
    pub ledger: PathBuf,
    /// The daemon's standard error.
    pub log: PathBuf,
    /// Locked while a daemon runs; contains its process id.
    pub lock: PathBuf,
    /// The daemon's socket.
    pub socket: PathBuf,
}

impl ProjectPaths {
    /// Creates the project's folder and the runtime folder with mode 0700, and checks the latter.
    ///
    /// # Errors
    /// [`PlaceError::Io`] when one cannot be created; [`PlaceError::Unsafe`] when the runtime folder is not the user's
    /// own or others may write to it.
    pub fn create_dirs(&self) -> Result<(), PlaceError> {
        create_private_dir(&self.dir)?;
        if let Some(runtime) = self.socket.parent() {
            create_private_dir(runtime)?;
            check_private(runtime, current_uid())?;
        }
        Ok(())
    }
}

/// One project: a folder and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The canonical path of the folder.
    pub root: PathBuf,
    /// Its name in the registry, else the folder's own name.
    pub name: String,
}

impl Project {
    /// Returns a project for a folder under its own name; it need not be registered.
    ///
    /// # Errors
    /// The system's error when there is no such folder.
    pub fn at(path: &Path) -> std::io::Result<Self> {
        let root = path.canonicalize()?;
        if !root.is_dir() {
            return Err(std::io::Error::from(ErrorKind::NotADirectory));
        }
        let name = folder_name(&root);
        Ok(Project { root, name })
    }

    /// Returns the project's name in paths: the folder's name in lowercase ASCII, a dash, and eight hexadecimal digits
    /// of the hash of the whole path. It does not change when the project is renamed in the registry.
    pub fn slug(&self) -> String {
        self.slug_within(MAX_SLUG_NAME_BYTES + SLUG_HASH_BYTES)
    }

    /// Like [`Project::slug`], with the name shortened so that the whole is at most `max_bytes` long, 10 or more.
    fn slug_within(&self, max_bytes: usize) -> String {
        let hash = xxhash_rust::xxh3::xxh3_64(self.root.as_os_str().as_bytes()) >> 32;
        let name = slugify(&folder_name(&self.root));
        let room = max_bytes.saturating_sub(SLUG_HASH_BYTES).min(MAX_SLUG_NAME_BYTES);
        let name = name.get(..room).unwrap_or(&name).trim_end_matches('-');
        format!("{name}-{hash:08x}")
    }
}

/// Returns the last part of a path, or `root` for `/`.
pub(crate) fn folder_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "root".to_string(), |name| name.to_string_lossy().into_owned())
}

/// Returns lowercase ASCII letters and digits, with single dashes for anything else; never empty.
pub(crate) fn slugify(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for part in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(part.chars().map(|c| c.to_ascii_lowercase()));
    }
    if slug.is_empty() { "project".to_string() } else { slug }
}

/// Returns the effective user id, read from `/proc` because std has no safe call for it.
pub fn current_uid() -> u32 {
    // Without `/proc`, the result owns nothing, so every check fails closed.
    std::fs::metadata("/proc/self").map_or(u32::MAX, |it| it.uid())
}

/// Creates a folder and its missing parents with mode 0700; an existing one keeps its mode. Durable on return: parents
/// are synced up to the first that existed.
///
/// # Errors
/// [`PlaceError::Io`] with the folder's path.
pub fn create_private_dir(path: &Path) -> Result<(), PlaceError> {
    make_durably(path).map_err(|source| PlaceError::Io { path: path.to_path_buf(), source })
}

fn make_durably(path: &Path) -> std::io::Result<()> {
    let mut missing = Vec::new();
    let mut there = Some(path).filter(|it| !it.as_os_str().is_empty());
    while let Some(folder) = there.filter(|folder| !folder.exists()) {
        missing.push(folder);
        there = folder.parent().filter(|it| !it.as_os_str().is_empty());
    }
    for folder in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            // Also a folder that another process has just created, perhaps without syncing it yet.
            _ => {}
        }
        sync_dir(folder.parent().unwrap_or(folder))?;
    }
    // Something that is not a folder is an error.
    if path.is_dir() { Ok(()) } else { Err(ErrorKind::NotADirectory.into()) }
}

/// Replaces a file as a whole, or creates it. Readers see the old bytes or the new ones; after an error, the old file
/// is still there, and nothing is left beside it. `path` itself is replaced, even if it is a link.
///
/// # Errors
/// The system's error.
pub fn replace_file(path: &Path, mode: u32, bytes: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?.to_string_lossy();
    let part = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    // Left by a killed process with the same id; `create_new` below would fail.
    match fs::remove_file(&part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let written = opened.and_then(|mut file| {
        // The mode is set before the bytes are written, which may be private.
        file.set_permissions(Permissions::from_mode(mode))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written?;
    // Without this, a crash could undo the rename.
    sync_dir(path.parent().unwrap_or(path))
}

/// Syncs the entries of a folder, if its file system supports that. The empty path is the current folder.
///
/// # Errors
/// The system's error.
pub fn sync_dir(folder: &Path) -> std::io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match File::open(folder)?.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

fn check_private(path: &Path, uid: u32) -> Result<(), PlaceError> {
    // Without following links: in `/tmp` another user may have placed one where our folder should be.
    let found = std::fs::symlink_metadata(path);
    let found = found.map_err(|source| PlaceError::Io { path: path.to_path_buf(), source })?;
    match complaint(&found, uid) {
        Some(why) => Err(PlaceError::Unsafe { path: path.to_path_buf(), why }),
        None => Ok(()),
    }
}

fn complaint(found: &Metadata, uid: u32) -> Option<&'static str> {
    if !found.is_dir() {
        Some("it is not a folder")
    } else if found.uid() != uid {
        Some("it belongs to another user")
    } else if found.mode() & 0o022 != 0 {
        Some("others may write to it")
    } else {
        None
    }
}

/// Returns the folder named by a `KG_*` variable; made absolute, because the daemon runs in another folder.
fn chosen(env: &dyn Fn(&str) -> Option<OsString>, variable: &str) -> Option<PathBuf> {
    let value = env(variable).filter(|value| !value.is_empty())?;
    std::path::absolute(value).ok()
}

/// Returns the folder named by an XDG variable; a relative one is ignored, as the specification says.
fn xdg_dir(env: &dyn Fn(&str) -> Option<OsString>, variable: &str) -> Option<PathBuf> {
    env(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests;
