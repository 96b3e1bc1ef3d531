//! Handshake: starts a server as an agent does, and sends it an agent's first requests.
//!
//! In: a server, an environment, a folder. Out: the successful steps with their times, and the
//! failure that ended them.
//! Invariants: ends within bounded time; the server is stopped at the end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::Server;
use crate::render::{counted, thousands};

/// Longest wait for an answer. Agents wait 10 to 60 seconds.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Longest wait for a server to end after its input has ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// Most bytes of its standard error that are shown.
const MAX_WORDS_BYTES: u64 = 4_000;

/// The revision that the agents of the table request; some request a newer one.
const ASKED: &str = "2025-06-18";

/// The revisions of MCP that agents speak.
const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Most pages of `tools/list`. A server with more is broken.
const MAX_PAGES: usize = 100;

/// A successful step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The request.
    pub name: String,
    /// How long it took.
    pub took: Duration,
    /// The result.
    pub detail: String,
}

/// The failure that ended the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The request.
    pub name: String,
    /// What happened.
    pub why: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Trouble {
    fn new(name: &str, why: impl Into<String>, hint: &str) -> Self {
        Trouble { name: name.into(), why: why.into(), hint: Some(hint.into()) }
    }
}

/// Runs the handshake; `steps` receives the successful steps.
///
/// # Errors
/// [`Trouble`] at the first step that failed.
pub async fn run(
    server: &Server,
    environment: &BTreeMap<OsString, OsString>,
    folder: &Path,
    patience: Duration,
    steps: &mut Vec<Step>,
) -> Result<(), Trouble> {
    let mut talk = Talk::start(server, environment, folder, patience)?;
    let done = talk.handshake(steps).await;
    talk.end().await;
    done
}

/// A conversation with a running server.
struct Talk {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    words: JoinHandle<String>,
    patience: Duration,
    n_asked: u64,
}

impl Talk {
    fn start(
        server: &Server,
        environment: &BTreeMap<OsString, OsString>,
        folder: &Path,
        patience: Duration,
    ) -> Result<Self, Trouble> {
        let mut command = Command::new(&server.command);
        command
            .args(&server.args)
            .current_dir(folder)
            .env_clear()
            .envs(environment)
            .envs(&server.env);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => Trouble::new(
                "start",
                format!("`{}` was not found", server.command),
                "`kgctl setup --help` names the agents for which it writes the path",
            ),
            _ => Trouble::new(
                "start",
                format!("cannot run `{}`: {error}", server.command),
                "see the entry in the file",
            ),
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(words)) = pipes else { unreachable!("all are piped") };
        let words = tokio::spawn(async move {
            let mut bytes = Vec::new();
            let mut words = words;
            // Output that cannot be read is not shown. The rest is read, too, so the server never
            // blocks on it.
            let _ = (&mut words).take(MAX_WORDS_BYTES).read_to_end(&mut bytes).await;
            let _ = tokio::io::copy(&mut words, &mut tokio::io::sink()).await;
            String::from_utf8_lossy(&bytes).trim().to_string()
        });
        let output = BufReader::new(output).lines();
        Ok(Talk { child, input, output, words, patience, n_asked: 0 })
    }

    async fn handshake(&mut self, steps: &mut Vec<Step>) -> Result<(), Trouble> {
        let mut step = |name: &str, since: Instant, detail: String| {
            steps.push(Step { name: name.into(), took: since.elapsed(), detail });
        };
        let since = Instant::now();
        let client = json!({ "name": "kgctl-doctor", "version": proto::version() });
        let hello = json!({ "protocolVersion": ASKED, "capabilities": {}, "clientInfo": client });
        let reply = self.ask("initialize", hello).await?;
        let revision = reply["protocolVersion"].as_str().unwrap_or("none");
        if !REVISIONS.contains(&revision) {
            let why = format!(
                "it speaks revision `{revision}` of MCP, and agents speak {}",
                REVISIONS.join(", ")
            );
            return Err(Trouble::new("initialize", why, "see that the entry starts `kg-mcp`"));
        }
        let name = |key: &str| reply["serverInfo"][key].as_str().unwrap_or("?").to_string();
        step("initialize", since, format!("{} {}, MCP {revision}", name("name"), name("version")));
        self.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            "initialize",
        )
        .await?;

        let since = Instant::now();
        let tools = self.tools().await?;
        let n_chars = Value::from(tools.clone()).to_string().chars().count() as u64;
        let listed =
            format!("{}, {} characters", counted(tools.len() as u64, "tool"), thousands(n_chars));
        step("tools/list", since, listed);

        let is_status =
            |tool: &&Value| tool["name"].as_str().is_some_and(|it| it.ends_with("status"));
        if let Some(name) = tools.iter().find(is_status).and_then(|it| it["name"].as_str()) {
            let since = Instant::now();
            let reply = self.ask("tools/call", json!({ "name": name, "arguments": {} })).await?;
            if reply["isError"] == true {
                let why = reply["content"][0]["text"].as_str().unwrap_or("refused");
                return Err(Trouble { name: name.into(), ..trouble_from(why, "tools/call") });
            }
            step(name, since, "answers".into());
        }
        Ok(())
    }

    async fn tools(&mut self) -> Result<Vec<Value>, Trouble> {
        let mut tools = Vec::new();
        let mut parameters = json!({});
        for _ in 0..MAX_PAGES {
            let mut page = self.ask("tools/list", parameters).await?;
            let Some(listed) = page["tools"].as_array_mut() else { break };
            tools.append(listed);
            match page["nextCursor"].as_str() {
                Some(cursor) => parameters = json!({ "cursor": cursor }),
                None => break,
            }
        }
        match tools.is_empty() {
            true => Err(Trouble::new(
                "tools/list",
                "it offers no tools",
                "name sets of tools, as `kgctl setup --help` says",
            )),
            false => Ok(tools),
        }
    }

    /// Sends a request and waits for its answer; other messages are skipped.
    async fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Trouble> {
        self.n_asked += 1;
        let id = self.n_asked;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        self.send(&request, method).await?;
        let patience = self.patience;
        let answer = timeout(patience, async {
            while let Ok(Some(line)) = self.output.next_line().await {
                let Ok(mut message) = serde_json::from_str::<Value>(&line) else {
                    let why = format!(
                        "it prints what is not MCP: `{}`",
                        line.chars().take(80).collect::<String>()
                    );
                    return Some(Err(Trouble::new(
                        method,
                        why,
                        "standard output is for messages only",
                    )));
                };
                if message["id"] == id && message["method"].is_null() {
                    return Some(match message["error"]["message"].as_str() {
                        Some(why) => Err(trouble_from(why, method)),
                        None => Ok(message["result"].take()),
                    });
                }
            }
            None
        });
        match answer.await {
            Ok(Some(answer)) => answer,
            Ok(None) => Err(self.last_words(method).await),
            Err(_) => Err(Trouble::new(
                method,
                format!("no answer within {} s", patience.as_secs_f32()),
                "`kgctl doctor` checks the daemon, and `kgctl logs` shows what it does",
            )),
        }
    }

    async fn send(&mut self, message: &Value, method: &str) -> Result<(), Trouble> {
        let sent = self.input.write_all(format!("{message}\n").as_bytes()).await;
        match sent.and(self.input.flush().await) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.last_words(method).await),
        }
    }

    /// Returns why the server ended: its last output, otherwise its exit status.
    async fn last_words(&mut self, method: &str) -> Trouble {
        let ended = timeout(FAREWELL, self.child.wait()).await;
        let words =
            timeout(FAREWELL, &mut self.words).await.ok().and_then(Result::ok).unwrap_or_default();
        if !words.is_empty() {
            return trouble_from(&words, method);
        }
        let how = match ended {
            Ok(Ok(status)) => format!("it ended with {status}, saying nothing"),
            _ => "it closed its output".to_string(),
        };
        Trouble::new(method, how, "run the command of the entry in a terminal")
    }

    async fn end(mut self) {
        drop(self.input);
        // A server that does not end is killed when it is dropped.
        let _ = timeout(FAREWELL, self.child.wait()).await;
    }
}

/// Makes a failure from a server's message, which may end with a hint.
fn trouble_from(words: &str, name: &str) -> Trouble {
    let words = words.trim_start_matches("error: ");
    let (why, hint) =
        words.split_once("\nhint: ").map_or((words, None), |(why, hint)| (why, Some(hint.into())));
    Trouble { name: name.into(), why: why.into(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a shell script as the server.
    async fn tried(script: &str) -> (Vec<String>, Result<(), Trouble>) {
        let args = vec!["-c".to_string(), script.to_string()];
        let server = Server { command: "/bin/sh".into(), args, ..Server::default() };
        let mut steps = Vec::new();
        let patience = Duration::from_millis(if script.contains("sleep") { 50 } else { 10_000 });
        let done = run(&server, &BTreeMap::new(), Path::new("/"), patience, &mut steps).await;
        (steps.into_iter().map(|it| format!("{}: {}", it.name, it.detail)).collect(), done)
    }

    fn reply(id: u32, result: &str) -> String {
        format!(r#"read line; echo '{{"jsonrpc":"2.0","id":{id},"result":{result}}}';"#)
    }

    #[tokio::test]
    async fn every_step_is_reported() {
        let hello = r#"{"protocolVersion":"2025-06-18","serverInfo":{"name":"kgd","version":"1"}}"#;
        let script = [
            reply(1, hello),
            "read initialized; echo '{\"method\":\"notifications/message\"}';".into(),
            reply(2, r#"{"tools":[{"name":"a"}],"nextCursor":"x"}"#),
            reply(3, r#"{"tools":[{"name":"status"}]}"#),
            reply(4, r#"{"content":[]}"#),
        ];
        let (steps, done) = tried(&script.concat()).await;
        assert_eq!(done, Ok(()));
        assert_eq!(
            steps,
            [
                "initialize: kgd 1, MCP 2025-06-18",
                "tools/list: 2 tools, 32 characters",
                "status: answers"
            ]
        );
    }

    #[tokio::test]
    async fn trouble_is_named() {
        let why = |script: String| async move { tried(&script).await.1.expect_err("trouble") };
        let trouble = why("echo 'error: no project `x`\nhint: add it' >&2; exit 2".into()).await;
        assert_eq!((&*trouble.why, trouble.hint.as_deref()), ("no project `x`", Some("add it")));
        assert!(why("exit 3".into()).await.why.contains("exit status: 3"));
        assert!(why("sleep 5".into()).await.why.starts_with("no answer within"));
        assert!(why("read line; echo hello".into()).await.why.contains("not MCP: `hello`"));
        assert!(why(reply(1, r#"{"protocolVersion":"1"}"#)).await.why.contains("revision `1`"));
        let missing = Server { command: "/no/such".into(), ..Server::default() };
        let found =
            run(&missing, &BTreeMap::new(), Path::new("/"), PATIENCE, &mut Vec::new()).await;
        assert_eq!(found.expect_err("trouble").why, "`/no/such` was not found");
    }
}
