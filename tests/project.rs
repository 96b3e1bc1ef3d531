//! A scratch folder with a real daemon.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use config::place::{Places, Project, ProjectPaths};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Http, address_in};
use crate::{Client, Graph, Revision};

mod mortal;

/// Part of `KG_FAIL`: background work does not pause, however busy the machine is, nor wait after a start.
pub(crate) const CALM: &str = "courtesy.pressure=0,look.rest_ms=0";

/// Longest wait before a test fails. Only a bug takes this long.
const PATIENCE: Duration = Duration::from_secs(90);

/// Largest file that is indexed by default, bytes.
const MAX_FILE_BYTES: u64 = 2_000_000;

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard error.
    pub log: String,
}

/// A folder, its state in a scratch place, and the daemon that serves it.
pub struct TestProject {
    dir: TempDir,
    root: PathBuf,
    paths: ProjectPaths,
    settings: Vec<String>,
    environment: Vec<(String, String)>,
    launcher: Vec<String>,
    daemon: Option<Child>,
    client: Option<Client>,
    n_starts: u32,
}

impl TestProject {
    /// Creates an empty folder without a daemon.
    ///
    /// # Panics
    /// If no temporary folder can be created; the methods below panic likewise.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let root = dir.path().join("notes");
        fs::create_dir(&root).expect("a folder");
        let places = Places {
            state: dir.path().join("state"),
            runtime: dir.path().join("run"),
            config: dir.path().join("config"),
        };
        let project = Project::at(&root).expect("the folder is there");
        let paths = places.project(&project).expect("short paths");
        // Tests of the better model's vectors enable them; the others should not pay for them.
        let settings = vec!["watch.debounce_ms=30".to_string(), "embed.background=off".to_string()];
        let root = project.root;
        TestProject {
            dir,
            root,
            paths,
            settings,
            environment: Vec::new(),
            launcher: Vec::new(),
            daemon: None,
            client: None,
            n_starts: 0,
        }
    }

    /// Creates a folder with these files and indexes it.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut project = TestProject::empty();
        project.write_all(files);
        project.start();
        project.settle();
        project
    }

    /// As [`TestProject::of`]; agents may also create projects next to the folder.
    pub fn of_with_roots(files: &[(&str, &str)]) -> Self {
        let mut project = TestProject::empty();
        project.set(&format!("projects.roots={}", project.scratch().display()));
        project.write_all(files);
        project.start();
        project.settle();
        project
    }

    /// Adds a setting, `key=value`, for daemons started from now on.
    pub fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_string());
    }

    /// Returns `KG_FAIL`: the test's own, which has priority, and [`CALM`].
    fn fails(&self) -> String {
        let own = self.environment.iter().find(|(name, _)| name == "KG_FAIL");
        own.map_or(CALM.into(), |(_, own)| format!("{own},{CALM}"))
    }

    /// Sets `KG_FAIL` of daemons started from now on; empty for nothing.
    pub fn fail(&mut self, what: &str) {
        self.set_environment("KG_FAIL", what);
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the parent of state, socket and settings; it is removed with the test.
    pub fn scratch(&self) -> &Path {
        self.dir.path()
    }

    /// Returns where the daemon keeps this project.
    pub fn paths(&self) -> &ProjectPaths {
        &self.paths
    }

    /// Returns a path in the folder.
    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file; creates folders as needed.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }

    /// Writes files with the same modification time, so that no order by time depends on the disk.
    pub fn write_all(&self, files: &[(&str, &str)]) {
        let now = SystemTime::now();
        for (path, text) in files {
            self.write(path, text);
            let file = File::options().append(true).open(self.at(path)).expect("a file");
            file.set_modified(now).expect("a time");
        }
    }

    /// Returns the text of a file.
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).expect("it is there")
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        fs::remove_file(self.at(path)).expect("it was there");
    }

    /// Renames a file or folder; creates folders as needed.
    pub fn rename(&self, from: &str, to: &str) {
        let to = self.at(to);
        fs::create_dir_all(to.parent().expect("inside the folder")).expect("a folder");
        fs::rename(self.at(from), to).expect("it was there");
    }

    /// Creates a symlink at `path` to `target`.
    pub fn link(&self, target: &str, path: &str) {
        symlink(target, self.at(path)).expect("a symlink");
    }

    /// Returns a `kgctl` that knows only this project's places, without `--project`.
    pub fn kgctl(&self) -> Command {
        let mut command = Command::new(crate::kgctl());
        command
            .current_dir(self.scratch())
            .env("KGD_BIN", crate::kgd())
            .env("KG_STATE_DIR", self.scratch().join("state"))
            .env("KG_RUNTIME_DIR", self.scratch().join("run"))
            .env("KG_CONFIG_DIR", self.scratch().join("config"));
        command
    }

    /// Returns a command that would serve this folder.
    pub fn command(&self) -> Command {
        let mut command = self.launch_command();
        command
            .arg("--project")
            .arg(&self.root)
            .env("KG_STATE_DIR", self.dir.path().join("state"))
            .env("KG_RUNTIME_DIR", self.dir.path().join("run"))
            .env("KG_CONFIG_DIR", self.dir.path().join("config"))
            .env_remove("KG_PROJECT")
            .env_remove("NOTIFY_SOCKET")
            .env_remove("LISTEN_FDS")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("KG_FAIL", self.fails())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        for setting in &self.settings {
            command.args(["--set", setting]);
        }
        command
    }

    /// Starts the daemon; returns when it is ready.
    pub fn start(&mut self) {
        if let Err(ended) = self.try_start() {
            panic!("the daemon did not start: {:?}\n{}", ended.status, ended.log);
        }
    }

    /// Starts the daemon; returns when it is ready.
    ///
    /// # Errors
    /// How it ended, if it ended before that.
    pub fn try_start(&mut self) -> Result<(), Ended> {
        assert!(self.daemon.is_none(), "it runs already");
        self.n_starts += 1;
        let notify = self.dir.path().join(format!("notify-{}", self.n_starts));
        let ear = UnixDatagram::bind(&notify).expect("a socket");
        ear.set_read_timeout(Some(Duration::from_millis(200))).expect("a limit");
        let log = File::options().create(true).append(true).open(self.log_path()).expect("a log");
        let child = self.command().env("NOTIFY_SOCKET", &notify).stderr(log).spawn();
        self.daemon = Some(child.expect("the daemon can be started"));
        let deadline = Instant::now() + PATIENCE;
        let mut buffer = [0; 512];
        loop {
            let n = ear.recv(&mut buffer).unwrap_or(0);
            if String::from_utf8_lossy(&buffer[..n]).contains("READY=1") {
                return Ok(());
            }
            if let Some(ended) = self.end() {
                return Err(ended);
            }
            assert!(Instant::now() < deadline, "neither ready nor ended\n{}", self.log());
        }
    }

    fn log_path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// Returns a client of the daemon's HTTP, which `http.listen=127.0.0.1:0` enables.
    pub fn http(&self) -> Http {
        let log = self.log();
        let lines: Vec<&str> = log.lines().filter(|it| it.contains("over HTTP")).collect();
        let address = lines.last().and_then(|line| address_in(line));
        Http::at(address.unwrap_or_else(|| panic!("no HTTP:\n{log}")))
    }

    /// Returns the log of all daemons of this test.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Returns the daemon's process id.
    pub fn pid(&self) -> u32 {
        self.daemon.as_ref().expect("a daemon").id()
    }

    /// Returns the resident memory of the daemon, bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let kib = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
        kib * 1024
    }

    /// Kills the daemon as a power failure would.
    pub fn kill9(&mut self) {
        self.client = None;
        if let Some(mut daemon) = self.daemon.take() {
            daemon.kill().expect("our own child");
            daemon.wait().expect("our own child");
        }
    }

    /// Sends the daemon SIGTERM and waits for its end.
    pub fn stop(&mut self) -> Ended {
        self.client = None;
        let pid = self.pid().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().expect("`kill` runs");
        assert!(sent.success(), "no daemon to stop");
        self.wait_for_end()
    }

    /// Waits until the daemon has ended.
    pub fn wait_for_end(&mut self) -> Ended {
        let mut daemon = self.daemon.take().expect("a daemon");
        self.client = None;
        let status = daemon.wait().expect("our own child");
        Ended { status, log: self.log() }
    }

    /// Stops and starts the daemon.
    pub fn restart(&mut self) {
        let ended = self.stop();
        assert!(ended.status.success(), "{ended:?}");
        self.start();
    }

    /// Deletes the index (never the ledger), as if it were lost. The daemon must not run.
    pub fn lose_index(&self) {
        assert!(self.daemon.is_none());
        for suffix in ["", "-wal", "-shm"] {
            let path = format!("{}{suffix}", self.paths.index.display());
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    panic!("{path}: {error}")
                }
                _ => {}
            }
        }
    }

    /// Returns the connection that this type's own calls use, with every set of tools.
    pub fn client(&mut self) -> &mut Client {
        self.client.get_or_insert_with(|| Client::admin(&self.paths.socket))
    }

    /// Opens another connection, as an agent does.
    pub fn agent(&self) -> Client {
        Client::agent(&self.paths.socket, Revision::Initialize("2025-06-18"))
    }

    /// Calls a tool that must succeed.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.try_call(tool, arguments).unwrap_or_else(|error| panic!("`{tool}` failed: {error:#}"))
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        self.client().call(tool, arguments)
    }

    /// Returns the reply of `status`.
    pub fn status(&mut self) -> Value {
        self.call("status", json!({}))
    }

    /// Returns the paths of the hits for a question, best first, each once.
    pub fn found(&mut self, question: &str) -> Vec<String> {
        let reply = self.call("hybrid_query", json!({"q": question, "k": 20, "max_chars": 20_000}));
        let mut paths = Vec::new();
        for hit in reply["chunks"].as_array().expect("chunks") {
            let path = hit["path"].as_str().expect("a path").to_string();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Returns every page of the dump.
    pub fn dump(&mut self) -> Graph {
        'again: loop {
            let mut rows = Vec::new();
            let mut cursor: Option<Value> = None;
            let mut tick = Value::Null;
            loop {
                let mut arguments = json!({"limit": 5000});
                if let Some(cursor) = cursor.take() {
                    arguments["cursor"] = cursor;
                }
                let mut page = self.call("dump", arguments);
                if !tick.is_null() && page["tick"] != tick {
                    continue 'again;
                }
                tick = page["tick"].take();
                let Value::Array(more) = page["rows"].take() else { panic!("rows: {page}") };
                rows.extend(more);
                match page["cursor"].take() {
                    Value::Null => return Graph::new(rows),
                    next => cursor = Some(next),
                }
            }
        }
    }

    /// Waits until `reached` accepts the reply of `status`, checking after every commit; returns
    /// that reply.
    pub fn until(&mut self, what: &str, mut reached: impl FnMut(&Value) -> bool) -> Value {
        self.until_graph(what, |project| {
            let status = project.status();
            reached(&status).then_some(status)
        })
    }

    /// Waits until `reached` returns something, checking after every commit.
    pub fn until_graph<T>(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&mut TestProject) -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let tick = self.status()["tick"].as_u64().expect("a tick");
            if let Some(answer) = reached(self) {
                return answer;
            }
            if Instant::now() > deadline {
                panic!("never happened: {what}\n{:#}\n{}", self.status(), self.log());
            }
            // A daemon that cannot write returns an error and is asked again.
            let _ = self.try_call("wait", json!({"tick": tick + 1, "timeout_ms": 100}));
        }
    }

    /// Checks with `verify` that the index equals a rebuild.
    pub fn verify(&mut self, what: &str) {
        let reply = self.call("verify", json!({"limit": 40}));
        assert_eq!(reply["same"], true, "{what}: {:#}", reply["differences"]);
        assert!(reply["n_rows"].as_u64() > Some(0) || reply["parts"].is_array(), "{reply}");
    }

    /// Waits until the index shows the folder as it is now, and nothing is left to do. Files that
    /// `status` lists as failed or left out count as shown.
    pub fn settle(&mut self) {
        self.until_graph("settled", |project| {
            let waited = project.call("wait", json!({"timeout_ms": 60_000}));
            (waited["reached"] == true && project.shows_the_folder()).then_some(())
        });
    }

    /// Returns the files that failed, and those that are not read by rule.
    pub fn left_out(&mut self) -> BTreeSet<String> {
        let status = self.call("status", json!({"not_read": true}));
        let list = |of: &Value| of.as_array().cloned().unwrap_or_default().into_iter();
        let failed = list(&status["quarantine"]).map(|row| row["path"].clone());
        let skipped = list(&status["survey"]["not_read"]).flat_map(|it| list(&it["paths"]));
        failed.chain(skipped).filter_map(|path| path.as_str().map(String::from)).collect()
    }

    fn shows_the_folder(&mut self) -> bool {
        let mut wanted = BTreeSet::new();
        files_below(&self.root, "", &mut wanted);
        let (is_settled, excused) = (self.status()["settled"] == true, self.left_out());
        let graph = self.dump();
        let mut shown = BTreeSet::new();
        for row in graph.rows("document") {
            let field = |name: &str| row[name].as_str().unwrap_or_default().to_string();
            let (path, hash) = (field("path"), field("hash"));
            if !self.at(&path).is_file() {
                return false;
            }
            shown.insert((path, hash));
        }
        let is_left = |file: &(String, String)| !shown.contains(file) && !excused.contains(&file.0);
        is_settled && !wanted.iter().any(is_left)
    }
}

impl Drop for TestProject {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        if std::thread::panicking() {
            // The folder is removed with the test, so print the log that a person needs.
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "--- log of the daemon\n{}", self.log());
        }
    }
}

/// Collects every regular file that a daemon with default settings reads, with the hash of its
/// content.
fn files_below(root: &Path, folder: &str, files: &mut BTreeSet<(String, String)>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(metadata) = entry.path().symlink_metadata() else { continue };
        if name.starts_with('.') || name.starts_with("~$") {
            continue;
        }
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if metadata.is_dir() {
            files_below(root, &path, files);
        } else if metadata.is_file() && metadata.size() <= MAX_FILE_BYTES && is_document(&path) {
            let Ok(bytes) = fs::read(root.join(&path)) else { continue };
            files.insert((path, format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes))));
        }
    }
}

fn is_document(path: &str) -> bool {
    let extension =
        Path::new(path).extension().unwrap_or_default().to_string_lossy().to_lowercase();
    ["md", "markdown", "txt", "html", "htm"].contains(&extension.as_str())
}
