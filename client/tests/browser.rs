//! Tests the page of `kgctl graph` in a real browser: it is drawn, reacts to clicks and keys, and reaches no network.
//!
//! Drives a headless Chromium by its own protocol, over two pipes. `KG_CHROMIUM` names the program (empty: none), else
//! it is searched for; without one, each test is skipped with a message. To run them:
//! `apt-get install --no-install-recommends chromium && cargo nextest run --test browser`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use client::page::page;
use proto::tool::admin::GraphReply;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Keeps Chromium itself off the network, so that every request is the page's.
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
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1300,900",
    "--remote-debugging-pipe",
];

/// A headless Chromium with one page open.
struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    n_calls: u64,
    session: Option<String>,
    /// Events received besides answers.
    events: Vec<Value>,
    dir: TempDir,
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
    /// Opens the page of this graph in a browser; none without Chromium.
    fn showing(reply: &GraphReply, fragment: &str) -> Option<Self> {
        let program = chromium()?;
        let dir = tempfile::Builder::new().prefix("kg").tempdir().expect("a scratch folder");
        let file = dir.path().join("page.html");
        std::fs::write(&file, page(reply)).expect("written");
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
        let url = format!("file://{}#{fragment}", file.display());
        browser.call("Page.navigate", json!({ "url": url }));
        browser.until("document.getElementById('drawing')?.dataset.rendered === 'yes'");
        Some(browser)
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
    fn call(&mut self, method: &str, parameters: Value) -> Value {
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
    fn value(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", parameters);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer:#}");
        answer["result"]["value"].take()
    }

    fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().unwrap_or_default().to_string()
    }

    /// Waits until an expression is true; only a bug takes as long as the limit.
    fn until(&mut self, expression: &str) {
        let wait = format!(
            "new Promise(done => {{ let left = 2000; const look = () => \
             ({expression}) ? done(true) : left-- > 0 ? setTimeout(look, 10) : done(document.body.innerText); look() }})"
        );
        // A page that is being left cannot answer; the next one can.
        let parameters = json!({ "expression": wait, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", parameters);
        assert_eq!(answer["result"]["value"], true, "{expression}: {answer:#}");
    }

    fn mouse(&mut self, what: &str, at: (f64, f64)) {
        let (x, y) = at;
        let button = if what == "mouseWheel" { "none" } else { "left" };
        let buttons = u8::from(what == "mousePressed" || what == "mouseMoved");
        let parameters = json!({ "type": what, "x": x, "y": y, "button": button, "buttons": buttons,
            "clickCount": 1, "deltaX": 0, "deltaY": -200 });
        self.call("Input.dispatchMouseEvent", parameters);
    }

    fn click(&mut self, at: (f64, f64)) {
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
    }

    fn key(&mut self, key: &str) {
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyDown", "key": key, "text": key }));
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
    }

    /// Returns the position in the window given by a pair of numbers.
    fn place(&mut self, expression: &str) -> (f64, f64) {
        let pair = self.value(expression);
        (pair[0].as_f64().expect("a number"), pair[1].as_f64().expect("a number"))
    }

    /// Returns where an entity is drawn.
    fn entity(&mut self, id: u32) -> (f64, f64) {
        self.place(&format!(
            "(() => {{ const box = document.getElementById('drawing').getBoundingClientRect(); \
             const at = {DRAWING}.getElementById('n{id}').renderedPosition(); \
             return [box.x + at.x, box.y + at.y] }})()"
        ))
    }

    fn told(&self, method: &str) -> Vec<&Value> {
        self.events.iter().filter(|it| it["method"] == method).map(|it| &it["params"]).collect()
    }

    /// Checks that the page had no errors and requested only its own file.
    fn check(&mut self) {
        // An answer comes after earlier events.
        self.value("1");
        for method in ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"] {
            assert_eq!(self.told(method), Vec::<&Value>::new(), "{method}");
        }
        let asked: Vec<_> = self.told("Network.requestWillBeSent");
        let urls: Vec<_> = asked.iter().filter_map(|it| it["request"]["url"].as_str()).collect();
        let own = format!("file://{}", self.dir.path().join("page.html").display());
        assert!(urls.iter().all(|url| *url == own), "{urls:?}");
    }
}

/// The drawing, as an object of its library.
const DRAWING: &str = "document.getElementById('drawing')._cyreg.cy";
const STATE: &str = "document.getElementById('state').textContent";
const DETAILS: &str = "document.getElementById('details').innerText";

/// Returns a star: the first name is related to each of the others, alternately by `uses` and `depends_on`.
fn star(names: &[&str]) -> GraphReply {
    let node = |(idx, name): (usize, &&str)| {
        json!({
            "id": idx + 1, "name": name, "type": if idx % 2 == 0 { "Service" } else { "Team" }, "hop": idx.min(1),
            "n_mentions": idx + 1, "n_documents": 1, "aliases": [format!("alias {idx}")],
            "definition": { "path": "glossary.md", "line": idx + 3, "text": format!("{name} is one."), "by": "glossary" },
            "places": [{ "path": "notes/a.md", "line": idx + 1 }]
        })
    };
    let edge = |(idx, _): (usize, &&str)| {
        json!({
            "src": 1, "dst": idx + 1, "rel": if idx % 2 == 0 { "uses" } else { "depends_on" }, "confidence": 0.9,
            "n_evidence": 1, "n_against": idx % 2,
            "evidence": { "path": "report.pdf", "page": 2, "text": format!("words {idx}"), "span": [0, 9],
                "pattern": "sentence:uses", "confidence": 0.9 }
        })
    };
    let nodes: Vec<Value> = names.iter().enumerate().map(node).collect();
    let edges: Vec<Value> = names.iter().enumerate().skip(1).map(edge).collect();
    serde_json::from_value(json!({ "nodes": nodes, "edges": edges, "project": "notes", "tick": 4 }))
        .expect("a reply")
}

const NAMES: &[&str] =
    &["Signing Service", "Key Vault", "Audit Ledger", "Trust Team", "Key Epoch", "PostgreSQL"];

#[test]
fn a_graph_is_drawn_whole_and_asks_no_network_for_anything() {
    let Some(mut browser) = Browser::showing(&star(NAMES), "") else { return };
    assert_eq!(browser.text(STATE), "6 entities, 5 relations shown");
    let drawn = "document.getElementById('drawing').dataset";
    assert_eq!(browser.value(&format!("[{drawn}.nodes, {drawn}.edges]")), json!(["6", "5"]));
    let canvas = "[...document.querySelectorAll('#drawing canvas')]";
    assert_eq!(
        browser.value(&format!("{canvas}.some(it => it.width > 400 && it.height > 300)")),
        json!(true)
    );
    let painted = format!(
        "{canvas}.some(it => new Set(new Uint32Array(it.getContext('2d').getImageData(0, 0, it.width, it.height)\
         .data.buffer)).size > 8)"
    );
    browser.until(&painted);
    let apart = format!(
        "(() => {{ const all = {DRAWING}.nodes().map(it => it.renderedPosition()); return all.every((a, i) => \
         all.every((b, j) => i === j || Math.hypot(a.x - b.x, a.y - b.y) > 20)) }})()"
    );
    assert_eq!(browser.value(&apart), json!(true), "no two entities lie upon each other");
    browser.check();
}

#[test]
fn the_policy_lets_nothing_else_run_or_load() {
    let Some(mut browser) = Browser::showing(&star(NAMES), "") else { return };
    browser.check();
    browser.value(
        "violations = new Set(); document.addEventListener('securitypolicyviolation', \
         it => violations.add(it.effectiveDirective)); 0",
    );
    let added = "(() => { const it = document.createElement('script'); it.textContent = 'document.title = 1'; \
        document.body.append(it); return document.title })()";
    assert_eq!(browser.text(added), "Signing Service – graph");
    let fetched = "fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')";
    assert_eq!(browser.text(fetched), "refused");
    let image = "new Promise(done => { const it = new Image(); it.onload = () => done('loaded'); \
        it.onerror = () => done('refused'); it.src = 'http://127.0.0.1:9/a.png' })";
    assert_eq!(browser.text(image), "refused");
    browser.until("violations.size >= 3");
}

#[test]
fn a_click_tells_an_entity_and_its_places() {
    let Some(mut browser) = Browser::showing(&star(NAMES), "") else { return };
    assert!(browser.text(DETAILS).starts_with("Choose an entity"));
    let at = browser.entity(3);
    browser.click(at);
    browser.until("location.hash === '#node=3'");
    let details = browser.text(DETAILS);
    for words in [
        "Audit Ledger",
        "Service, 3 mentions in 1 document",
        "Audit Ledger is one.",
        "glossary.md:5 (glossary)",
        "Also: alias 2",
        "notes/a.md:3",
        "Signing Service uses Audit Ledger 0.90",
        "words 2",
        "report.pdf p. 2",
    ] {
        assert!(details.contains(words), "`{words}` in {details}");
    }
    // Wheel and drag.
    let zoom = browser.value(&format!("{DRAWING}.zoom()"));
    browser.mouse("mouseWheel", at);
    browser.until(&format!("{DRAWING}.zoom() > {zoom}"));
    let pan = browser.value(&format!("{DRAWING}.pan().x"));
    let corner = browser.place(
        "(() => { const box = document.getElementById('drawing').getBoundingClientRect(); \
         return [box.x + 5, box.y + 5] })()",
    );
    browser.mouse("mousePressed", corner);
    // The first move only starts the drag.
    for step in [20.0, 50.0, 80.0] {
        browser.mouse("mouseMoved", (corner.0 + step, corner.1 + step / 2.0));
    }
    browser.mouse("mouseReleased", (corner.0 + 80.0, corner.1 + 40.0));
    browser.until(&format!("{DRAWING}.pan().x > {pan} + 40"));
    browser.check();
}

#[test]
fn keys_choose_and_move_and_an_address_says_what_is_chosen() {
    let Some(mut browser) = Browser::showing(&star(NAMES), "node=2") else { return };
    assert!(browser.text(DETAILS).starts_with("Key Vault"));
    browser.value("document.getElementById('drawing').focus()");
    browser.key("n");
    browser.until("location.hash === '#node=3'");
    browser.key("p");
    browser.until("location.hash === '#node=2'");
    let zoom = browser.value(&format!("{DRAWING}.zoom()"));
    browser.key("+");
    browser.until(&format!("{DRAWING}.zoom() > {zoom}"));
    // A name in the table is a link, which needs no mouse.
    browser.value(
        "document.querySelector('#relations tbody tr:nth-child(4) td:nth-child(3) a').click()",
    );
    browser.until("location.hash === '#node=5'");
    browser.until(&format!("{DETAILS}.startsWith('Key Epoch')"));
    browser.check();
}

#[test]
fn finding_and_filtering_narrow_what_is_shown() {
    let Some(mut browser) = Browser::showing(&star(NAMES), "") else { return };
    browser.value("document.getElementById('find').focus()");
    browser.call("Input.insertText", json!({ "text": "KEY" }));
    browser.until(&format!("{STATE} === '6 entities, 5 relations shown; 2 found'"));
    assert_eq!(browser.value(&format!("{DRAWING}.nodes('.found').length")), json!(2));
    let uses = browser.place(
        "(() => { const box = document.querySelector('#filters input[name=depends_on]').getBoundingClientRect(); \
         return [box.x + box.width / 2, box.y + box.height / 2] })()",
    );
    browser.click(uses);
    browser.until(&format!("{STATE} === '3 entities, 2 relations shown; 2 found'"));
    browser.until(&format!("{DRAWING}.nodes(':visible').length === 3"));
    browser.until(&format!("{DRAWING}.edges(':visible').length === 2"));
    assert_eq!(browser.value("location.hash"), json!("#find=KEY&only=uses"));
    let rows =
        "[...document.querySelectorAll('#relations tbody tr')].filter(it => !it.hidden).length";
    assert_eq!(browser.value(rows), json!(2));
    let drawn = "document.getElementById('drawing').dataset";
    assert_eq!(browser.value(&format!("[{drawn}.nodes, {drawn}.edges]")), json!(["3", "2"]));
    browser.check();
}

#[test]
fn hostile_names_are_words_in_the_drawing_too() {
    let names = [
        "</script><script>document.title='bad'</script>",
        "<img src=x onerror=\"document.title='bad'\">",
        "<!--<script>",
        "\"><b onmouseover=alert(1)>&amp;",
        "__proto__",
    ];
    let Some(mut browser) = Browser::showing(&star(&names), "node=2") else { return };
    assert_eq!(browser.text(STATE), "5 entities, 4 relations shown");
    let title = browser.text("document.title");
    assert_eq!(title, format!("{} – graph", names[0]));
    assert!(browser.text(DETAILS).starts_with(names[1]), "shown as it is written");
    let markup = "document.querySelectorAll('img, b, iframe, [onerror], [onmouseover]').length";
    assert_eq!(browser.value(markup), json!(0));
    assert_eq!(browser.value("document.scripts.length"), json!(3));
    let drawn = format!("{DRAWING}.nodes().map(it => it.data('label')).join()");
    assert!(browser.text(&drawn).contains("<img src=x"));
    browser.check();
}

#[test]
fn the_page_is_dark_where_that_is_wanted() {
    let Some(mut browser) = Browser::showing(&star(NAMES), "") else { return };
    let ink = format!(
        "{DRAWING}.nodes()[0].style('color') + getComputedStyle(document.body).backgroundColor"
    );
    assert_eq!(browser.text(&ink), "rgb(27,31,36)rgb(255, 255, 255)");
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", dark);
    browser.until(&format!("{ink} === 'rgb(230,232,235)rgb(20, 23, 26)'"));
    browser.check();
}

#[test]
fn a_large_graph_is_drawn_too() {
    let names: Vec<String> = (0..300).map(|idx| format!("Service {idx}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(mut browser) = Browser::showing(&star(&names), "find=service+299") else { return };
    assert_eq!(browser.text(STATE), "300 entities, 299 relations shown; 1 found");
    browser.check();
}
