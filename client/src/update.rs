//! Update: finds the newest published version, and how this copy was installed.
//!
//! In: the address of a feed of releases; the place of this program. Out: a version and its page; a
//! way of installing, and the command that updates it.
//! Invariants: one request, only when asked; text of a feed is shown, never run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proto::{is_older, visible};
use serde_json::Value;
use web::{Patience, Web};

/// Longest reply of a feed, in bytes: one release with its notes and files.
const MAX_BYTES: u64 = 4 << 20;

/// Timeouts. A person waits for the answer.
const PATIENCE: Patience = Patience {
    connect: Duration::from_secs(10),
    read: Duration::from_secs(20),
    whole: Some(Duration::from_secs(30)),
};

/// Returns the feed of releases: the one that the settings name, otherwise that of the repository.
pub fn feed_of(url: &str, repository: &str) -> Option<String> {
    if !url.is_empty() {
        return Some(url.to_string());
    }
    let repository = repository.trim_end_matches('/').trim_end_matches(".git");
    let (scheme, rest) = repository.split_once("://")?;
    let (host, path) = rest.split_once('/')?;
    // Forgejo and Gitea use GitHub's format under another path.
    Some(match host {
        "github.com" => format!("https://api.github.com/repos/{path}/releases/latest"),
        host => format!("{scheme}://{host}/api/v1/repos/{path}/releases/latest"),
    })
}

/// The result of reading a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Newest {
    /// No feed is set.
    Nowhere,
    /// The feed at this address has no release.
    Nothing(String),
    /// A release.
    Release {
        /// The version, such as `0.2.0`.
        version: String,
        /// The page about the release.
        page: Option<String>,
    },
}

/// Asks a feed for its newest release.
///
/// # Errors
/// Why the feed cannot be read, or that its reply is not a release.
pub fn newest(url: &str) -> Result<Newest, String> {
    let web = Web::new(url, PATIENCE).map_err(|it| it.to_string())?;
    let reply = web.get(url, &[("accept", "application/json")]).map_err(|it| it.to_string())?;
    match reply.status {
        200 => {}
        404 => return Ok(Newest::Nothing(url.to_string())),
        status => return Err(format!("`{url}` answers {status}")),
    }
    let bytes = reply.into_bytes(url, MAX_BYTES).map_err(|it| it.to_string())?;
    let not_release = || format!("`{url}` does not answer with a release");
    let release: Value = serde_json::from_slice(&bytes).map_err(|_| not_release())?;
    let text = |key: &str| release.get(key).and_then(Value::as_str);
    let version = text("tag_name").or(text("version")).ok_or_else(not_release)?;
    let version = version.trim_start_matches('v');
    if !is_older("0", version) {
        return Err(format!("`{url}` names the version `{}`", visible::show(version)));
    }
    let page =
        text("html_url").filter(|it| it.starts_with("https://") || it.starts_with("http://"));
    let page = page.map(|it| visible::show(it).into_owned());
    Ok(Newest::Release { version: visible::show(version).into_owned(), page })
}

impl Newest {
    /// Returns the version if it is newer than this one.
    pub fn newer_than(&self, own: &str) -> Option<&str> {
        self.version().filter(|version| is_older(own, version))
    }

    /// Returns the version.
    pub fn version(&self) -> Option<&str> {
        match self {
            Newest::Release { version, .. } => Some(version),
            Newest::Nowhere | Newest::Nothing(_) => None,
        }
    }

    /// Returns the page about the release.
    pub fn page(&self) -> Option<&str> {
        match self {
            Newest::Release { page, .. } => page.as_deref(),
            Newest::Nowhere | Newest::Nothing(_) => None,
        }
    }

    /// Describes what is published.
    pub fn describe(&self) -> String {
        match self {
            Newest::Nowhere => {
                "no place is known where versions are published (`update.url` names one)".into()
            }
            Newest::Nothing(url) => format!("nothing is published at `{url}`"),
            Newest::Release { version, .. } => format!("{version} is published"),
        }
    }
}

/// How a copy of kgd was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// By `cargo install`.
    Cargo,
    /// By a package of the operating system.
    Package,
    /// In a Python environment, at this place.
    Wheel(PathBuf),
    /// By npm.
    Npm,
    /// By Nix.
    Nix,
    /// By Homebrew.
    Homebrew,
    /// A build of the source.
    Source,
    /// In another way, as a plain file.
    File,
}

impl Installed {
    /// Decides by the place of the program, with links resolved.
    pub fn of(program: &Path, env: impl Fn(&str) -> Option<OsString>) -> Installed {
        let folder = program.parent().unwrap_or(program);
        let home = || Some(PathBuf::from(env("HOME")?).join(".cargo"));
        let cargo = env("CARGO_HOME").map(PathBuf::from).or_else(home);
        let has = |name: &str| program.components().any(|it| it.as_os_str() == name);
        let mut around = program.ancestors().skip(1);
        if cargo.is_some_and(|it| folder == it.join("bin")) {
            Installed::Cargo
        } else if has("node_modules") {
            Installed::Npm
        } else if let Some(python) = around.find(|it| it.join("pyvenv.cfg").is_file()) {
            Installed::Wheel(python.to_path_buf())
        } else if program.starts_with("/nix/store") {
            Installed::Nix
        } else if has("Cellar") {
            Installed::Homebrew
        } else if has("target") && (has("debug") || has("release")) {
            Installed::Source
        } else if folder == Path::new("/usr/bin") {
            Installed::Package
        } else {
            Installed::File
        }
    }

    /// Describes the way in a few words.
    pub fn way(&self) -> &'static str {
        match self {
            Installed::Cargo => "by cargo",
            Installed::Package => "by a package of the system",
            Installed::Wheel(_) => "as a Python wheel",
            Installed::Npm => "by npm",
            Installed::Nix => "by Nix",
            Installed::Homebrew => "by Homebrew",
            Installed::Source => "from source",
            Installed::File => "as a file",
        }
    }

    /// Returns the command that updates it.
    pub fn command(&self) -> String {
        let command = match self {
            Installed::Cargo => {
                "`cargo install --locked --path .` in a checkout of the new version"
            }
            Installed::Package => {
                "`sudo apt install ./FILE.deb` with the package of the new version"
            }
            // The environment of `uv tool` has no pip.
            Installed::Wheel(it) if it.join("uv-receipt.toml").is_file() => "`uv tool upgrade kgd`",
            Installed::Wheel(it) => {
                let python = it.join("bin/python");
                return format!("`{} -m pip install --upgrade kgd`", python.display());
            }
            Installed::Npm => "`npm install kgd@latest`, with `-g` where it was installed so",
            Installed::Nix => "`nix profile upgrade kgd`",
            Installed::Homebrew => "`brew upgrade kgd`",
            Installed::Source => "`git pull`, then build as before",
            Installed::File => "replace the three programs by those of the new version",
        };
        command.to_string()
    }
}

#[cfg(test)]
mod tests {
    use web::mock::{Answer, Mock};

    use super::*;

    #[test]
    fn a_release_is_compared_with_this_version() {
        let table = [
            ("0.10.0", "0.9.9", true),
            ("0.2.0", "0.2.0", false),
            ("0.1.9", "0.2.0", false),
            ("1.0.1+build.5", "1.0.0", true),
        ];
        for (version, own, expected) in table {
            let newest = Newest::Release { version: version.into(), page: None };
            assert_eq!(newest.newer_than(own).is_some(), expected, "{version} {own}");
        }
        assert_eq!(Newest::Nowhere.newer_than("0.1.0"), None);
    }

    #[test]
    fn a_repository_has_a_feed() {
        let github = "https://api.github.com/repos/a/kgd/releases/latest";
        let forge = "https://forge.example/api/v1/repos/a/kgd/releases/latest";
        let table = [
            ("", "", None),
            ("", "https://github.com/a/kgd.git", Some(github)),
            ("", "https://forge.example/a/kgd/", Some(forge)),
            ("http://h/x", "https://github.com/a/kgd", Some("http://h/x")),
        ];
        for (url, repository, expected) in table {
            assert_eq!(feed_of(url, repository).as_deref(), expected, "{url} {repository}");
        }
    }

    #[test]
    fn a_feed_is_asked_once_and_what_it_says_is_checked() {
        let ask = |status: u16, body: &'static str| {
            let mock = Mock::start(move |_| Answer::of(status, body)).expect("it listens");
            let url = format!("{}/latest", mock.url());
            let found = newest(&url);
            assert_eq!(mock.requests().len(), 1);
            match found {
                Ok(newest) => newest.describe().replace(&url, "URL"),
                Err(why) => why.replace(&url, "URL"),
            }
        };
        let table = [
            (200, r#"{"tag_name": "v0.2.0", "html_url": "https://h/0.2.0"}"#, "0.2.0 is published"),
            (200, r#"{"version": "0.3.0"}"#, "0.3.0 is published"),
            (404, "{}", "nothing is published at `URL`"),
            (503, "{}", "`URL` answers 503"),
            (200, "<html>", "`URL` does not answer with a release"),
            (200, r#"{"tag_name": "nightly"}"#, "`URL` names the version `nightly`"),
        ];
        for (status, body, expected) in table {
            assert_eq!(ask(status, body), expected, "{body}");
        }
    }

    #[test]
    fn the_place_says_how_it_was_installed() {
        let env = |name: &str| (name == "HOME").then(|| OsString::from("/home/kim"));
        for (path, expected) in [
            ("/home/kim/.cargo/bin/kgctl", "by cargo"),
            ("/usr/bin/kgctl", "by a package of the system"),
            ("/home/kim/p/node_modules/kgd/bin/kgctl", "by npm"),
            ("/home/kim/kgd/target/release/kgctl", "from source"),
            ("/nix/store/abc-kgd/bin/kgctl", "by Nix"),
            ("/opt/kgctl", "as a file"),
        ] {
            assert_eq!(Installed::of(Path::new(path), env).way(), expected, "{path}");
        }
        let dir = tempfile::tempdir().expect("a folder");
        let program = dir.path().join("bin/kgctl");
        std::fs::write(dir.path().join("pyvenv.cfg"), "").expect("written");
        let wheel = Installed::of(&program, env).command();
        assert!(wheel.ends_with("bin/python -m pip install --upgrade kgd`"), "{wheel}");
        std::fs::write(dir.path().join("uv-receipt.toml"), "").expect("written");
        assert_eq!(Installed::of(&program, env).command(), "`uv tool upgrade kgd`");
    }
}
