//! A home with several projects whose daemons are started by the programs that need them.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use config::place::{Places, Project};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Folders and the places they share; all of it is removed with the test, and every daemon ends.
pub struct SharedHome {
    dir: TempDir,
}

impl SharedHome {
    /// Creates a home with these projects, each with one document: name, file, text.
    ///
    /// # Panics
    /// If something cannot be created; the methods below panic likewise.
    pub fn of(projects: &[(&str, &str, &str)]) -> Self {
        let home = SharedHome { dir: tempfile::tempdir().expect("a temporary folder") };
        std::fs::create_dir(home.at("config")).expect("a folder");
        let settings =
            "watch: {debounce_ms: 30}\nembed: {background: \"off\"}\nhttp: {token: none}\n";
        std::fs::write(home.at("config/config.yaml"), settings).expect("a file");
        for (name, file, text) in projects {
            home.write(&format!("{name}/{file}"), text);
            home.kgctl_done(&["project", "add", name]);
        }
        home
    }

    /// Returns a path in the home.
    pub fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there").join(path)
    }

    /// Writes a file; creates folders as needed.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        std::fs::create_dir_all(path.parent().expect("inside the home")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Returns a command for a program in this home, without `--project`.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.at(""))
            .env("KGD_BIN", crate::kgd())
            .env("KG_STATE_DIR", self.at("state"))
            .env("KG_RUNTIME_DIR", self.at("run"))
            .env("KG_CONFIG_DIR", self.at("config"))
            .env_remove("KG_PROJECT")
            .env("KG_FAIL", crate::project::CALM);
        command
    }

    /// Runs `kgctl`.
    pub fn kgctl(&self, arguments: &[&str]) -> Output {
        self.command(crate::kgctl()).args(arguments).stdin(Stdio::null()).output().expect("it runs")
    }

    /// Runs `kgctl`, which must succeed; returns its output.
    pub fn kgctl_done(&self, arguments: &[&str]) -> String {
        let output = self.kgctl(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Runs `kgctl`, which must fail; returns its exit code and its standard error.
    pub fn kgctl_refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.kgctl(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let code = output.status.code().expect("an exit code");
        assert_ne!(code, 0, "{arguments:?} did what it should not");
        (code, errors.replace(&self.at("").display().to_string(), "/home/"))
    }

    /// Returns the process id of the daemon of a folder, if one runs.
    pub fn daemon(&self, folder: &str) -> Option<String> {
        let (state, runtime) = (self.at("state"), self.at("run"));
        let places = Places { state, runtime, config: self.at("config") };
        let project = Project { root: self.at(folder), name: folder.to_string() };
        let lock = places.project(&project).expect("short paths").lock;
        let text = std::fs::read_to_string(lock).ok()?;
        let pid = text.split_whitespace().next()?.to_string();
        Path::new(&format!("/proc/{pid}/exe")).exists().then_some(pid)
    }

    /// Kills the daemon of a folder as `kill -9` does, and waits until it is gone.
    pub fn kill(&self, folder: &str) {
        let pid = self.daemon(folder).expect("a daemon runs");
        let status = Command::new("kill").args(["-9", &pid]).status().expect("it runs");
        assert!(status.success());
        while self.daemon(folder).is_some() {
            std::thread::yield_now();
        }
    }

    /// Starts an agent whose server is `kg-mcp` with these arguments, in this folder. Results are
    /// structured, and the tools are `core` unless others are named.
    pub fn agent(&self, folder: &str, arguments: &[&str]) -> Agent {
        self.agent_offering(folder, arguments, json!({}))
    }

    /// As [`SharedHome::agent`], with these client capabilities.
    pub fn agent_offering(&self, folder: &str, arguments: &[&str], capabilities: Value) -> Agent {
        let shim = crate::kgctl().with_file_name("kg-mcp");
        let mut child = self
            .command(&shim)
            .current_dir(self.at(folder))
            .args(["--tools", "core", "--structured"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut agent = Agent { child, input: Some(input), output, next_id: 1, hello: Value::Null };
        let client = json!({"name": "tests", "version": "0"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client});
        agent.hello = agent.ask("initialize", params)["result"].take();
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }
}

impl Drop for SharedHome {
    fn drop(&mut self) {
        let Ok(entries) = std::fs::read_dir(self.dir.path()) else { return };
        for name in entries.flatten().filter_map(|it| it.file_name().into_string().ok()) {
            if let Some(pid) = self.daemon(&name) {
                let _ = Command::new("kill").args(["-9", &pid]).status();
            }
        }
    }
}

/// An agent that speaks MCP with a server over its standard input and output.
pub struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// The result of its handshake.
    pub hello: Value,
}

impl Agent {
    /// Returns the process id of its server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("open");
        input.write_all(format!("{message}\n").as_bytes()).expect("the server reads");
    }

    /// Sends a request without waiting; returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the server with `result` or `error`.
    pub fn answer(&mut self, id: &Value, mut answer: Value) {
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = id.clone();
        self.send(&answer);
    }

    /// Returns the next message of the server.
    pub fn next_message(&mut self) -> Value {
        let mut line = String::new();
        let n = self.output.read_line(&mut line).expect("UTF-8");
        assert!(n > 0, "the server hung up");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Returns the reply to a request; drops other messages before it.
    pub fn reply_to(&mut self, id: u64) -> Value {
        loop {
            let message = self.next_message();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Sends a request and waits for its reply.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.reply_to(id)
    }

    /// Calls a tool; returns its whole result.
    pub fn call_whole(&mut self, tool: &str, arguments: Value) -> Value {
        let mut reply = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(reply.get("result").is_some(), "{reply}");
        reply["result"].take()
    }

    /// Calls a tool; returns its structured content.
    ///
    /// # Errors
    /// The content of a result that is an error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Value> {
        let mut result = self.call_whole(tool, arguments);
        let content = result["structuredContent"].take();
        if result["isError"] == true { Err(content) } else { Ok(content) }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
