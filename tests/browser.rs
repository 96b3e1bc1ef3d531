//! Browser: a headless Chromium that tests drive with its own protocol, over two pipes.
//! `KG_CHROMIUM` names the program (empty: none), otherwise it is searched for; without one, a test
//! is skipped with a message. `apt-get install --no-install-recommends chromium` installs one.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Keeps Chromium itself off the network, so that every request comes from the page.
const QUIET: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1300,900",
    "--remote-debugging-pipe",
];

/// A headless Chromium with one page open.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    n_calls: u64,
    session: Option<String>,
    /// Events received besides answers.
    events: Vec<Value>,
    /// A folder that is deleted with it.
    pub dir: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("KG_CHROMIUM") {
        let named = PathBuf::from(named);
        return (!named.as_os_str().is_empty()).then_some(named);
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = names.iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    });
    if found.is_none() {
        eprintln!(
            "skipped: there is no Chromium; `apt-get install --no-install-recommends chromium` brings one"
        );
    }
    found
}

impl Browser {
    /// Starts a browser; `None` without Chromium.
    ///
    /// # Panics
    /// If it does not start or ends; the same holds for all methods.
    #[must_use]
    pub fn start() -> Option<Self> {
        let program = chromium()?;
        let dir = tempfile::Builder::new().prefix("kg").tempdir().expect("a scratch folder");
        let [to, from] = ["to", "from"].map(|name| {
            let path = dir.path().join(name);
            let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
            assert!(made.success());
            path
        });
        // Chromium reads its third descriptor and writes the fourth.
        let child = Command::new("sh")
            .args(["-c", r#"in="$1" out="$2"; shift 2; exec "$@" 3<"$in" 4>"$out""#, "sh"])
            .args([&to, &from, &program])
            .args(QUIET)
            .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
            .arg("about:blank")
            .env("HOME", dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell runs");
        let to = File::options().write(true).open(to).expect("Chromium listens");
        let from = BufReader::new(File::open(from).expect("Chromium speaks"));
        let (n_calls, session, events) = (0, None, Vec::new());
        let mut browser = Browser { child, to, from, n_calls, session, events, dir };
        browser.attach();
        Some(browser)
    }

    /// Opens a page, and waits until an expression is true in it.
    pub fn open(&mut self, url: &str, until: &str) {
        self.call("Page.navigate", json!({ "url": url }));
        self.until(until);
    }

    fn attach(&mut self) {
        let found = self.call("Target.getTargets", json!({}));
        let targets = found["targetInfos"].as_array().expect("targets");
        let target = targets.iter().find(|it| it["type"] == "page").expect("a page");
        let parameters = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", parameters);
        self.session = attached["sessionId"].as_str().map(String::from);
        for domain in ["Network", "Runtime", "Log", "Page"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method, and keeps events that arrive meanwhile.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.n_calls += 1;
        let mut message = json!({ "id": self.n_calls, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("it listens");
        loop {
            let mut answer = Vec::new();
            self.from.read_until(0, &mut answer).expect("it speaks");
            assert!(!answer.is_empty(), "the browser has ended");
            let mut answer: Value =
                serde_json::from_slice(&answer[..answer.len() - 1]).expect("JSON");
            if answer["id"] != self.n_calls {
                self.events.push(answer);
                continue;
            }
            assert!(answer.get("error").is_none(), "{method}: {answer}");
            return answer["result"].take();
        }
    }

    /// Returns the value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer:#}");
        answer["result"]["value"].take()
    }

    /// Returns the text of an expression.
    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_string()
    }

    /// Waits until an expression is true; only a bug takes as long as the limit.
    pub fn until(&mut self, expression: &str) {
        let wait = format!(
            "new Promise(done => {{ let left = 2000; const look = () => \
             ({expression}) ? done(true) : left-- > 0 ? setTimeout(look, 10) : done(document.body.innerText); \
             look() }})"
        );
        // A page that is being left cannot answer, but the next one can.
        let parameters = json!({ "expression": wait, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", parameters);
        assert_eq!(answer["result"]["value"], true, "{expression}: {answer:#}");
    }

    /// Sends a mouse event.
    pub fn mouse(&mut self, what: &str, at: (f64, f64)) {
        let (x, y) = at;
        let button = if what == "mouseWheel" { "none" } else { "left" };
        let buttons = u8::from(what == "mousePressed" || what == "mouseMoved");
        let parameters = json!({ "type": what, "x": x, "y": y, "button": button, "buttons": buttons,
            "clickCount": 1, "deltaX": 0, "deltaY": -200 });
        self.call("Input.dispatchMouseEvent", parameters);
    }

    /// Clicks.
    pub fn click(&mut self, at: (f64, f64)) {
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        // Named keys produce no text.
        let text = if key.chars().count() == 1 { key } else { "" };
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyDown", "key": key, "text": text }));
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
    }

    /// Returns the position in the window given by a pair of numbers.
    pub fn place(&mut self, expression: &str) -> (f64, f64) {
        let pair = self.value(expression);
        (pair[0].as_f64().expect("a number"), pair[1].as_f64().expect("a number"))
    }

    /// Returns the parameters of the events of a kind.
    pub fn events_of(&self, method: &str) -> Vec<&Value> {
        self.events.iter().filter(|it| it["method"] == method).map(|it| &it["params"]).collect()
    }
}
