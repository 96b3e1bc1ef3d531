//! Launch: connects to the daemon of a project, and starts it if none answers.
//!
//! In: a project and its places. Out: a connected socket.
//! Invariants: the daemon runs in its own session, with nothing of ours open except its log; it
//! does not become a zombie of ours; two clients that start it at once end up with one daemon.
//! No async runtime: the shim must stay small.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use config::limits::{DRAIN_SECONDS, FAREWELL_SECONDS};
use config::load::LoadError;
use config::place::PlaceError;
use config::{Places, Project, ProjectPaths};
use proto::is_older;

use crate::shim::Refusal;
use crate::shim::watch::connect_within;

mod attempt;
mod claim;
mod holder;

use attempt::Launch;
pub use claim::Claim;
pub use holder::{Holder, is_alive, locked_by};

/// First argument that turns one of our binaries into the launcher.
const LAUNCHER: &str = "__launch";

/// Longest wait for a daemon that was just started.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest wait for a daemon that holds the lock but does not listen: it is starting, or shutting down.
const HOLDER_TIMEOUT: Duration = Duration::from_secs(DRAIN_SECONDS + FAREWELL_SECONDS + 2);

/// Pause between two attempts to connect; a daemon is up in 10 to 100 ms.
const POLL: Duration = Duration::from_millis(10);

/// A longer log is rotated when a daemon starts, in bytes.
const MAX_LOG_BYTES: u64 = 5_000_000;

/// Most lines shown from the log of a daemon that exited at once.
const MAX_LAST_WORDS: usize = 20;

/// Prefix of a daemon's own error at the end of its log.
const LAST_WORDS: &str = "kgd: ";

/// Minutes without a client after which a daemon started by a client exits, unless settings say
/// otherwise.
const IDLE_MINUTES: u64 = 30;

/// Why no daemon answers.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// None runs, and none may be started.
    #[error("no daemon runs for `{0}`\nhint: start it with `kgctl start`")]
    NotRunning(String),
    /// The program was not found.
    #[error(
        "`kgd` is neither in the folder of this program nor on the path\nhint: install it, or set `KGD_BIN`"
    )]
    NoBinary,
    /// It was started, but does not answer.
    #[error("the daemon for `{name}` {why}{}see `{}`", before_hint(why), log.display())]
    Silent {
        /// The project.
        name: String,
        /// What happened to it.
        why: String,
        /// Its log.
        log: PathBuf,
    },
    /// The hub does not show the project any more.
    #[error(
        "the hub has no project `{0}` any more that this role may read\n\
         hint: `kgctl --hub URL list` names those that it has"
    )]
    NoProject(String),
    /// The daemon would refuse its settings, so it is not started.
    #[error(transparent)]
    Settings(#[from] LoadError),
    /// The project's places cannot be used.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// It runs, and says why it does not answer.
    #[error("{}{}", .0.message, .0.hint.as_ref().map(|it| format!("\nhint: {it}")).unwrap_or_default())]
    Refused(Refusal),
    /// Another system error.
    #[error("cannot start the daemon: {0}")]
    Io(#[from] io::Error),
}

/// Returns the separator between a message and another hint.
fn before_hint(message: &str) -> &'static str {
    if message.contains("\nhint: ") { "; " } else { "\nhint: " }
}

/// How long a daemon that we start lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Until it is stopped.
    Stay,
    /// Until no client has been connected for a while (`serve.idle_exit_minutes`).
    UntilIdle,
}

impl Life {
    fn as_str(self) -> &'static str {
        match self {
            Life::Stay => "stay",
            Life::UntilIdle => "until-idle",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Life::Stay, Life::UntilIdle].into_iter().find(|life| life.as_str() == text)
    }
}

/// The daemon of one project, running or not.
#[derive(Debug, Clone)]
pub struct Target {
    /// The project.
    pub project: Project,
    /// All places; passed to a daemon that we start.
    pub places: Places,
    /// The project's own files.
    pub paths: ProjectPaths,
}

impl Target {
    /// Returns the daemon of `project`; creates its folders.
    ///
    /// # Errors
    /// [`PlaceError`] when a folder cannot be created or is not safe.
    pub fn new(places: &Places, project: Project) -> Result<Self, PlaceError> {
        let paths = paths_of(places, &project)?;
        paths.create_dirs()?;
        Ok(Target { project, places: places.clone(), paths })
    }

    /// Connects to a running daemon.
    ///
    /// # Errors
    /// [`LaunchError::NotRunning`], or [`LaunchError::Io`] when there is a socket that cannot be used.
    pub fn connect(&self) -> Result<UnixStream, LaunchError> {
        // A daemon that is up but stuck has hints of its own; only a missing one is worth a start.
        connect_within(&self.paths.socket, START_TIMEOUT).map_err(|error| match error.kind() {
            ErrorKind::TimedOut => {
                self.silent("accepts no connections\nhint: `kgctl restart`".to_string())
            }
            // A killed daemon leaves its socket behind, with no listener.
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => {
                LaunchError::NotRunning(self.project.name.clone())
            }
            _ => LaunchError::Io(error),
        })
    }

    /// Connects, after starting the daemon if none answers. Replaces a daemon that a client started on demand and that
    /// is older than the installed one. Waits up to 25 seconds for one that is ending or starting.
    ///
    /// # Errors
    /// [`LaunchError`] with what happened to the daemon.
    pub fn connect_or_start(&self, life: Life) -> Result<UnixStream, LaunchError> {
        // A front end removes the folders of projects that its role may not see any more.
        if !self.project.root.is_dir() && crate::hub::address_in(&self.places).is_some() {
            return Err(LaunchError::NoProject(self.project.name.clone()));
        }
        // Before connecting: an old daemon would answer.
        self.replace_outdated()?;
        self.bring_up(Launch::new(self, life, None))
    }

    /// Like [`Target::connect_or_start`], for a caller that already has the claim.
    ///
    /// # Errors
    /// [`LaunchError`] with what happened to the daemon.
    pub fn start_claimed(&self, life: Life, claim: Claim) -> Result<UnixStream, LaunchError> {
        self.bring_up(Launch::new(self, life, Some(claim)))
    }

    /// Waits for the right to start this daemon; until it is dropped, no other client does.
    ///
    /// # Errors
    /// [`LaunchError::Silent`] when another client keeps it for too long.
    pub fn claim(&self) -> Result<Claim, LaunchError> {
        let started = Instant::now();
        loop {
            if let Some(claim) = Claim::take(&self.paths)? {
                return Ok(claim);
            }
            if started.elapsed() > HOLDER_TIMEOUT {
                return Err(
                    self.silent("has been starting for too long, by another client".to_string())
                );
            }
            std::thread::sleep(POLL);
        }
    }

    fn bring_up(&self, mut launch: Launch<'_>) -> Result<UnixStream, LaunchError> {
        loop {
            match self.connect() {
                Err(LaunchError::NotRunning(_)) => launch.go_on()?,
                answer => return answer,
            }
            std::thread::sleep(POLL);
        }
    }

    /// Ends a daemon that is older than this program and the installed daemon, if a client started it.
    fn replace_outdated(&self) -> Result<(), LaunchError> {
        let Some(holder) = self.holder() else { return Ok(()) };
        let is_ours_to_end = holder.life == Some(Life::UntilIdle) && holder.is_daemon();
        if !is_ours_to_end || !is_older(&holder.version, proto::version()) {
            return Ok(());
        }
        let kgd = find_kgd(|name| std::env::var_os(name))?;
        // If the installed daemon is no newer, ending this one would start the same version again, at every connection.
        if installed_version(&kgd).is_some_and(|version| is_older(&holder.version, &version)) {
            holder.ask_to_end()?;
            // Its lock is free once the process is gone.
            let deadline = Instant::now() + HOLDER_TIMEOUT;
            while is_alive(holder.pid) && Instant::now() < deadline {
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// Returns a note for the user when the running daemon has another version than this program.
    pub fn version_note(&self, program: &str) -> Option<String> {
        version_note(&self.holder()?.version, program)
    }

    /// Checks what a start needs: the program, and valid settings.
    ///
    /// # Errors
    /// [`LaunchError::NoBinary`] or [`LaunchError::Settings`].
    pub fn check(&self) -> Result<(), LaunchError> {
        find_kgd(|name| std::env::var_os(name))?;
        config::load::load(&self.places, Some(&self.project.root), &[])?;
        Ok(())
    }

    /// Returns the process that holds the lock, if it is alive.
    pub fn holder(&self) -> Option<Holder> {
        Holder::of(&self.paths.lock)
    }

    /// Returns the process id in the lock file, if that process is alive.
    pub fn pid(&self) -> Option<u32> {
        Some(self.holder()?.pid)
    }

    /// Returns the last lines of the daemon's log, at most `count`.
    pub fn log_tail(&self, count: usize) -> Vec<String> {
        let text = std::fs::read(&self.paths.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(count)..].iter().map(|line| line.to_string()).collect()
    }

    /// Returns the log after byte `from`: the daemon's own error, otherwise the last lines.
    fn last_words(&self, from: u64) -> String {
        let log = std::fs::read(&self.paths.log).unwrap_or_default();
        // Shorter than before: it was rotated when the daemon started.
        let fresh = usize::try_from(from).ok().and_then(|from| log.get(from..)).unwrap_or(&log);
        let text = String::from_utf8_lossy(fresh);
        let lines: Vec<_> = text.trim_end().lines().collect();
        let own = lines.iter().rposition(|line| line.starts_with(LAST_WORDS));
        let shown = &lines[own.unwrap_or(lines.len().saturating_sub(MAX_LAST_WORDS))..];
        shown.join("\n")
    }

    /// Starts the daemon through the launcher; returns its process id.
    fn start(&self, life: Life) -> Result<u32, LaunchError> {
        let kgd = find_kgd(|name| std::env::var_os(name))?;
        let life = life.as_str();
        // This very program; on Linux even if its file was replaced since.
        let own = if cfg!(target_os = "linux") {
            "/proc/self/exe".into()
        } else {
            std::env::current_exe()?
        };
        let mut launcher = Command::new(own);
        // A front end finds its own places below those of the user, which it inherits.
        let hub = crate::hub::address_in(&self.places);
        let hub = hub.map(|url| crate::hub::pass_password(&mut launcher, &url));
        let what = hub.as_ref().map_or(self.project.root.as_os_str(), |url| url.as_ref());
        launcher.args([LAUNCHER.as_ref(), kgd.as_os_str(), what]);
        if hub.is_none() {
            launcher
                .env("KG_STATE_DIR", &self.places.state)
                .env("KG_RUNTIME_DIR", &self.places.runtime)
                .env("KG_CONFIG_DIR", &self.places.config);
        }
        let launched = launcher
            .args([self.paths.log.as_os_str(), life.as_ref()])
            .stdin(Stdio::null())
            .output()?;
        let output = String::from_utf8_lossy(&launched.stdout);
        // The launcher prints only the process id; anything else means that it failed.
        output.trim().parse().map_err(|_| {
            let why = String::from_utf8_lossy(&launched.stderr).trim().to_string();
            self.silent(format!("could not be started: {why}"))
        })
    }

    fn silent(&self, why: String) -> LaunchError {
        LaunchError::Silent { name: self.project.name.clone(), why, log: self.paths.log.clone() }
    }
}

/// Returns the files of a project's daemon. One process, the front end, serves all projects of a hub.
///
/// # Errors
/// [`PlaceError`] when a path is too long.
pub fn paths_of(places: &Places, project: &Project) -> Result<ProjectPaths, PlaceError> {
    let mut paths = places.project(project)?;
    if crate::hub::address_in(places).is_some() {
        let front = places.project(&places.front())?;
        (paths.lock, paths.log) = (front.lock, front.log);
    }
    Ok(paths)
}

/// Returns the daemon's program: `KGD_BIN`, otherwise in the folder of this one, otherwise on the
/// path.
///
/// # Errors
/// [`LaunchError::NoBinary`].
pub fn find_kgd(env: impl Fn(&str) -> Option<std::ffi::OsString>) -> Result<PathBuf, LaunchError> {
    if let Some(chosen) = env("KGD_BIN").filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(chosen));
    }
    // Beside this program first: both come from the same installation.
    let here = std::env::current_exe().ok();
    let beside = here.as_deref().and_then(Path::parent).map(|dir| dir.join("kgd"));
    let path = env("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join("kgd"));
    beside.into_iter().chain(on_path).find(|it| it.is_file()).ok_or(LaunchError::NoBinary)
}

/// Returns the output of `kgd --version`.
fn installed_version(kgd: &Path) -> Option<String> {
    let output = Command::new(kgd).arg("--version").stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.split_whitespace().last()?.to_string())
}

/// Returns how a daemon's version differs from ours, with a hint; `None` if both are the same.
pub fn version_mismatch(daemon: &str, program: &str) -> Option<(String, String)> {
    let ours = proto::version();
    let hint = match () {
        () if daemon == ours => return None,
        () if is_older(ours, daemon) => format!("install version {daemon} of {program}, too"),
        () => "`kgctl restart` runs the installed one".to_string(),
    };
    Some((format!("the daemon is {daemon}, {program} is {ours}"), hint))
}

/// Formats [`version_mismatch`] for a person.
pub fn version_note(daemon: &str, program: &str) -> Option<String> {
    let (detail, hint) = version_mismatch(daemon, program)?;
    Some(format!("note: {detail}\nhint: {hint}\n"))
}

/// Acts as the launcher if this process was started as one; must be called first in `main`.
///
/// The launcher is a short-lived process between a client and the daemon. It leaves the client's session, starts the
/// daemon, prints its process id and exits, so that the daemon is a child of init and not of a client. (A hook between
/// fork and exec would do the same, but is `unsafe`.)
pub fn run_if_launcher() -> Option<ExitCode> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    if args.first().is_none_or(|first| first != LAUNCHER) {
        return None;
    }
    let [_, kgd, root, log, life] = args.as_slice() else { return Some(ExitCode::from(2)) };
    let (kgd, root, log) = (Path::new(kgd), Path::new(root), Path::new(log));
    Some(match launch(kgd, root, log, life == "until-idle") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = io::Write::write_all(
                &mut io::stderr(),
                format!("{}: {error}", kgd.display()).as_bytes(),
            );
            ExitCode::FAILURE
        }
    })
}

fn launch(kgd: &Path, root: &Path, log: &Path, until_idle: bool) -> io::Result<()> {
    // Fails if this process already leads a group, as a shell's job control may arrange; the daemon still gets a group
    // of its own.
    let _ = rustix::process::setsid();
    if log.metadata().is_ok_and(|found| found.len() > MAX_LOG_BYTES) {
        let _ = std::fs::rename(log, log.with_extension("log.old"));
    }
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    // A bare name is searched on the path; anything else must not depend on the current folder.
    let bare = kgd.components().count() == 1;
    let program = if bare { kgd.to_path_buf() } else { std::path::absolute(kgd)? };
    let mut command = Command::new(program);
    let is_hub = root.to_str().is_some_and(|it| it.starts_with("postgres"));
    command.arg(if is_hub { "--hub" } else { "--project" }).arg(root);
    if until_idle {
        command.arg("--idle-exit").arg(idle_minutes(root).to_string());
    }
    // Not in the project's folder: a daemon must not keep a file system from being unmounted.
    let started = command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()?;
    io::Write::write_all(&mut io::stdout(), started.id().to_string().as_bytes())
}

fn idle_minutes(root: &Path) -> u64 {
    // Unreadable settings are the daemon's to report.
    let places = Places::from_env().ok();
    let loaded = places.and_then(|places| config::load::load(&places, Some(root), &[]).ok());
    loaded.map_or(IDLE_MINUTES, |loaded| loaded.settings.serve.idle_exit_minutes)
}

#[cfg(test)]
mod tests;
