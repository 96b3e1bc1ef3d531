//! Tests the page of `kgctl graph` in a real browser: it is drawn, reacts to clicks and keys, and
//! uses no network.
//!
//! To run them: `apt-get install --no-install-recommends chromium && cargo nextest run --test browser`.

use std::path::Path;

use browser::Browser;
use client::page::page;
use proto::tool::admin::GraphReply;
use serde_json::{Value, json};

// It is in the crate of integration tests, on which this crate must not depend.
#[path = "../../tests/browser.rs"]
#[expect(unreachable_pub, reason = "public in that crate")]
mod browser;

/// A browser with the page of a graph.
trait Shown: Sized {
    /// Opens the page of this graph in a browser; returns `None` without Chromium.
    fn showing(reply: &GraphReply, fragment: &str) -> Option<Self>;

    /// Does the same with a page that knows the project's folder, so that a click opens a document.
    fn with_files_in(root: Option<&Path>, reply: &GraphReply, fragment: &str) -> Option<Self>;

    /// Returns where an entity is drawn.
    fn entity(&mut self, id: u32) -> (f64, f64);

    /// Checks that the page had no errors and requested only its own file.
    fn check(&mut self);

    /// Checks that no two labels overlap, and returns how many there are.
    fn labels(&mut self) -> usize;
}

impl Shown for Browser {
    fn showing(reply: &GraphReply, fragment: &str) -> Option<Self> {
        Self::with_files_in(None, reply, fragment)
    }

    fn with_files_in(root: Option<&Path>, reply: &GraphReply, fragment: &str) -> Option<Self> {
        let mut browser = Browser::start()?;
        let file = browser.dir.path().join("page.html");
        std::fs::write(&file, page(reply, root)).expect("written");
        let url = format!("file://{}#{fragment}", file.display());
        browser.open(&url, "document.getElementById('drawing')?.dataset.rendered === 'yes'");
        Some(browser)
    }

    fn entity(&mut self, id: u32) -> (f64, f64) {
        self.place(&format!(
            "(() => {{ const box = document.getElementById('drawing').getBoundingClientRect(); \
             const at = {DRAWING}.getElementById('n{id}').renderedPosition(); \
             return [box.x + at.x, box.y + at.y] }})()"
        ))
    }

    fn check(&mut self) {
        // The answer arrives after all earlier events.
        self.value("1");
        for method in ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"] {
            assert_eq!(self.events_of(method), Vec::<&Value>::new(), "{method}");
        }
        let asked: Vec<_> = self.events_of("Network.requestWillBeSent");
        let urls: Vec<_> = asked.iter().filter_map(|it| it["request"]["url"].as_str()).collect();
        let own = format!("file://{}", self.dir.path().join("page.html").display());
        assert!(urls.iter().all(|url| *url == own), "{urls:?}");
    }

    fn labels(&mut self) -> usize {
        // Labels are placed before the next frame.
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
        assert_eq!(self.value(OVERLAPS), json!([]));
        self.value(LABELS).as_array().map_or(0, Vec::len)
    }
}

/// The drawing, as an object of its library.
const DRAWING: &str = "document.getElementById('drawing')._cyreg.cy";
const STATE: &str = "document.getElementById('state').textContent";
const DETAILS: &str = "document.getElementById('beside').innerText";

/// Returns a star: the first name is related to all others, alternately by `uses` and `depends_on`.
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
    // A name in the list is a link, which needs no mouse.
    browser.value("document.querySelector('#relations li:nth-child(4) a:nth-of-type(2)').click()");
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
    let rows = "[...document.querySelectorAll('#relations li')].filter(it => !it.hidden).length";
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

/// Returns a folder of communities. In each, the first entity is related to all others and to the
/// first of the next community.
fn folder(n_communities: usize, size: usize) -> GraphReply {
    let n = n_communities * size;
    let node = |idx: usize| {
        json!({
            "id": idx + 1, "name": format!("Component {idx}"), "type": "Service", "hop": 0,
            "community": idx / size + 1, "n_mentions": if idx.is_multiple_of(size) { 400 } else { 1 + idx % 40 },
            "n_documents": 1, "home": format!("part {idx}.md"), "places": [{ "path": "notes/a.md", "line": idx + 1 }]
        })
    };
    let edge = |idx: usize| {
        let first = idx / size * size;
        let (src, dst) = if idx == first { (first, (first + size) % n) } else { (first, idx) };
        json!({
            "src": src + 1, "dst": dst + 1, "rel": if idx.is_multiple_of(2) { "uses" } else { "depends_on" },
            "confidence": 0.9, "n_evidence": 1, "n_against": 0,
            "evidence": { "path": "notes/a.md", "line": idx + 1, "text": format!("words {idx}"), "span": [0, 9],
                "pattern": "sentence:uses", "confidence": 0.9 }
        })
    };
    let community = |idx: usize| {
        let label = format!("Component {}, Component {}", idx * size, idx * size + size - 1);
        json!({ "id": idx + 1, "label": label, "size": size })
    };
    let nodes: Vec<Value> = (0..n).map(node).collect();
    let edges: Vec<Value> = (0..n).map(edge).collect();
    let communities: Vec<Value> = (0..n_communities).map(community).collect();
    serde_json::from_value(json!({
        "nodes": nodes, "edges": edges, "communities": communities, "project": "notes", "tick": 4
    }))
    .expect("a reply")
}

/// The texts of the visible labels.
const LABELS: &str = "[...document.querySelectorAll('#labels span')].filter(it => !it.hidden).map(it => it.textContent)";

/// The pairs of labels that overlap.
const OVERLAPS: &str = "(() => { const shown = [...document.querySelectorAll('#labels span')] \
    .filter(it => !it.hidden).map(it => [it.textContent, it.getBoundingClientRect()]); \
    return shown.flatMap(([one, a], i) => shown.slice(i + 1).filter(([, b]) => a.x + .5 < b.right && \
    b.x + .5 < a.right && a.y + .5 < b.bottom && b.y + .5 < a.bottom).map(([two]) => [one, two])) })()";

#[test]
fn labels_of_a_whole_folder_never_overlap_and_say_more_from_near() {
    let Some(mut browser) = Browser::showing(&folder(8, 40), "") else { return };
    assert_eq!(browser.text(STATE), "320 entities, 320 relations shown");
    let n_far = browser.labels();
    assert!(n_far >= 40, "{n_far} labels");
    for idx in 0..8 {
        let first = format!("{LABELS}.includes('Component {}')", idx * 40);
        assert_eq!(browser.value(&first), json!(true), "community {idx} has a label");
    }
    let apart = format!(
        "(() => {{ const all = {DRAWING}.nodes(); return all.every(a => all.every(b => a === b || \
         Math.hypot(a.position('x') - b.position('x'), a.position('y') - b.position('y')) > 10)) }})()"
    );
    assert_eq!(browser.value(&apart), json!(true), "no two entities lie upon each other");
    for zoom in [0.5, 1.0, 1.5] {
        browser.value(&format!("{DRAWING}.zoom({zoom}).zoom()"));
        browser.labels();
    }
    let n_near = browser.labels();
    assert!(n_near > n_far, "{n_near} labels near, {n_far} far");
    browser.check();
}

#[test]
fn pointing_at_an_entity_names_its_relations() {
    let Some(mut browser) = Browser::showing(&folder(8, 40), "") else { return };
    let relations = format!("{LABELS}.filter(it => ['uses', 'depends_on'].includes(it)).length");
    assert_eq!(browser.value(&relations), json!(0));
    let at = browser.entity(7);
    browser.mouse("mouseMoved", at);
    browser.until(&format!("{relations} === 1"));
    let mut named = browser.value(LABELS);
    named.as_array_mut().expect("labels").sort_by_key(|it| it.to_string());
    assert_eq!(named, json!(["Component 0", "Component 6", "uses"]));
    assert_eq!(browser.value(OVERLAPS), json!([]));
    let hub = browser.entity(1);
    browser.mouse("mouseMoved", hub);
    browser.until(&format!("{relations} > 3"));
    assert_eq!(browser.value(OVERLAPS), json!([]));
    browser.check();
}

#[test]
fn communities_can_be_put_aside() {
    let Some(mut browser) = Browser::showing(&folder(14, 22), "") else { return };
    let legend =
        browser.value("[...document.querySelectorAll('#legend label')].map(it => it.innerText)");
    let legend = legend.as_array().expect("entries");
    assert_eq!(legend.len(), 12);
    assert_eq!(legend[0], "Component 0, Component 21 22");
    assert_eq!(legend[11], "3 smaller groups 66");
    browser.value("document.querySelector('#legend input').click()");
    browser.until(&format!("{STATE} === '286 entities, 285 relations shown'"));
    browser.until("location.hash === '#off=0'");
    let rows = "[...document.querySelectorAll('#relations li')].filter(it => !it.hidden)";
    assert_eq!(browser.value(&format!("{rows}.length")), json!(285));
    browser.labels();
    browser.value("document.querySelector('#legend input').click()");
    browser.until(&format!("{STATE} === '308 entities, 308 relations shown'"));
    browser.check();
}

#[test]
fn a_click_opens_the_document_and_narrows_the_list() {
    let root = Path::new("/home/ada/my notes");
    let reply = folder(8, 40);
    let Some(mut browser) = Browser::with_files_in(Some(root), &reply, "") else { return };
    browser.value(
        "opened = []; HTMLAnchorElement.prototype.click = function () { opened.push(this.href) }; 0",
    );
    let at = browser.entity(7);
    browser.click(at);
    browser.until("location.hash === '#node=7'");
    assert_eq!(browser.value("opened"), json!(["file:///home/ada/my%20notes/part%206.md"]));
    let rows = "[...document.querySelectorAll('#relations li')].filter(it => !it.hidden)";
    let row = "Component 0 uses Component 6 0.90 notes/a.md:7";
    let first = browser.text(&format!("{rows}[0].innerText"));
    assert!(first.starts_with(row), "{first}");
    assert_eq!(browser.value(&format!("{rows}.length")), json!(1));
    // Names and places are links, in the order of the list, for readers without a mouse.
    let links = format!("[...{rows}[0].querySelectorAll('a')].every(it => it.tabIndex === 0)");
    assert_eq!(browser.value(&links), json!(true));
    browser.check();
}

#[test]
fn columns_of_the_table_are_wide_enough_for_words() {
    let Some(mut browser) = Browser::showing(&folder(8, 40), "") else { return };
    let heights =
        "Math.max(...[...document.querySelectorAll('#entities th')].map(it => it.offsetHeight))";
    let height = browser.value(heights).as_f64().expect("a number");
    assert!(height < 40.0, "headings of one line, {height}");
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
