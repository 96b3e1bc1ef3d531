//! The page of `kgctl open`, as its user and a stranger see it. What a user types, and what
//! happens:
//!
//! `kgctl open` shows the project's page in a browser, `kgctl open --print` prints its address and
//! exits: `http://127.0.0.1:PORT/#token=…`. The files of the page are served to anybody on this
//! machine and contain no data; data are behind `/api/…`, which needs the token of the page or, for
//! the tools that MCP over HTTP offers, the token of that.
//!
//! The tests with a browser are skipped, with a message, if there is no Chromium (`KG_CHROMIUM`
//! names one). `KG_AXE` names `axe.min.js` of axe-core, which then checks every page;
//! `KG_SCREENSHOTS` names a folder for screenshots.

use std::path::PathBuf;

use serde_json::{Value, json};
use tests::TestProject;
use tests::browser::Browser;
use tests::http::{Http, address_in};

const NOTES: &[(&str, &str)] = &[
    (
        "Signing Service.md",
        "---\ntype: Service\ntags: [ops]\naliases: [Signer]\n---\n# Signing Service\n\nThe Signing Service is a service that signs \
         releases. The Signing Service depends on the [[Key Vault]].\n\n1. Stop it.\n2. Rotate the keys.\n\n```sh\nkeys rotate\n```\n\n\
         - [decision] Keys rotate every month #security\n",
    ),
    (
        "Key Vault.md",
        "---\ntype: Service\ndate: 2025-03-01\n---\n# Key Vault\n\nThe Key Vault is a store for keys. The Key Vault uses \
         Postgres. The Key Vault does not use Postgres in tests.\n",
    ),
    (
        "notes.txt",
        "The Signing Services of last year kept their keys in the Key Vault.\n<script>document.title = 'bad'</script>\n",
    ),
    (
        "memory/ada.md",
        "---\ntype: person\n---\n# Ada Lindqvist\n\nAda Lindqvist maintains the Signing Service.\n\n- [fact] prefers short notes\n",
    ),
];

/// Returns the address of the page without its token, the token, and a client for it.
fn opened(project: &TestProject) -> (String, String, Http) {
    let root = project.root().to_str().expect("a path");
    let shown =
        project.kgctl().args(["--project", root, "open", "--print"]).output().expect("it runs");
    let text = String::from_utf8(shown.stdout).expect("text");
    let errors = String::from_utf8_lossy(&shown.stderr);
    let (page, token) =
        text.trim().split_once("#token=").unwrap_or_else(|| panic!("{text}{errors}"));
    let http = Http::at(address_in(page).expect("an address"));
    (page.to_string(), token.to_string(), http)
}

fn with(http: &Http, token: &str) -> Http {
    http.with("Authorization", &format!("Bearer {token}"))
}

#[test]
fn the_page_is_there_for_who_asks_and_its_data_for_who_has_the_token() {
    let project = TestProject::of(NOTES);
    assert!(!project.log().contains("serving the page"), "no socket before somebody asks");
    let (page, token, http) = opened(&project);
    assert!(page.starts_with("http://127.0.0.1:") && token.len() == 64, "{page} {token}");
    assert_eq!(opened(&project).0, page, "the same page");
    let file = http.send("GET", "/", None);
    assert_eq!(file.status, 200);
    assert_eq!(file.header("content-type").as_deref(), Some("text/html; charset=utf-8"));
    let policy = file.header("content-security-policy").expect("a policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
        "{policy}"
    );
    let html = file.text();
    assert!(
        html.contains("/page/page.js") && !html.contains("Signing"),
        "no data in files: {html}"
    );

    let search = "/api/search?q=key+vault&k=3";
    assert_eq!(http.send("GET", search, None).status, 401);
    assert_eq!(with(&http, "0123456789abcdef").send("GET", search, None).status, 401);
    let ours = with(&http, &token);
    let found = ours.send("GET", search, None).json();
    assert_eq!(found["chunks"][0]["path"], "Key Vault.md", "{found}");
    let status = ours.send("GET", "/api/status", None).json();
    assert_eq!(status["progress"]["indexed"], 4);
    let ids: Vec<&Value> =
        found["chunks"].as_array().expect("hits").iter().map(|it| &it["id"]).collect();
    let rendered = ours.post("/api/tool/render_document", &json!({ "chunks": ids })).json();
    let first = rendered["passages"][0]["html"].as_str().expect("HTML");
    assert!(first.contains("<a class=\"entity\" href=\"#/entity/"), "{first}");
    // The log contains neither the token nor a question.
    assert!(!project.log().contains(&token) && !project.log().contains("key+vault"));
}

#[test]
fn strangers_pages_and_tools_that_end_or_forget_are_refused() {
    let mut project = TestProject::empty();
    NOTES.iter().for_each(|(path, text)| project.write(path, text));
    project.set("http.origins=https://app.example.org");
    project.set("http.listen=127.0.0.1:0");
    project.set("http.tools=core");
    project.start();
    project.settle();
    let (page, token, http) = opened(&project);
    assert_eq!(address_in(&page), Some(project.http().address), "the page is where MCP is");
    let ours = with(&http, &token);
    let call = |http: &Http, tool: &str| http.post(&format!("/api/tool/{tool}"), &json!({})).status;
    let statuses = [
        ("another host", call(&ours.with("Host", "evil.example.com"), "status"), 403),
        ("a page elsewhere", call(&ours.with("Origin", "https://evil.example.com"), "status"), 403),
        (
            "a page that may use MCP",
            call(&ours.with("Origin", "https://app.example.org"), "status"),
            403,
        ),
        ("this page", call(&ours.with("Origin", page.trim_end_matches('/')), "status"), 200),
        ("no JSON", call(&ours.with("Content-Type", "text/plain"), "status"), 415),
        ("ends the daemon", call(&ours, "shutdown"), 404),
        ("forgets", call(&ours, "forget"), 404),
        ("unknown", call(&ours, "no_such_tool"), 400),
        ("wrong arguments", call(&ours, "hybrid_query"), 400),
        (
            "a write by an address",
            ours.send("GET", "/api/tool/write_note?title=a", None).status,
            405,
        ),
        ("an unknown address", ours.send("GET", "/api/nothing", None).status, 404),
        ("a write of a file", ours.post("/", &json!({})).status, 405),
    ];
    for (what, status, wanted) in statuses {
        assert_eq!(status, wanted, "{what}");
    }
    // The token of MCP allows what `http.tools` offers, and no more.
    let mcp = std::fs::read_to_string(&project.paths().http_token).expect("a token");
    let agent = with(&http, mcp.trim());
    assert_eq!(agent.send("GET", "/api/search?q=keys", None).status, 200);
    assert_eq!([call(&agent, "list_notes"), call(&agent, "render_document")], [400, 400]);
    assert_eq!(project.status()["progress"]["indexed"], 4, "nothing has happened");
}

/// Opens the page of a project in a browser; `None` without Chromium.
fn browser_of(project: &TestProject) -> Option<Browser> {
    let mut browser = Browser::start()?;
    let (page, token, _) = opened(project);
    browser.open(&format!("{page}#token={token}"), "document.activeElement?.id === 'q'");
    Some(browser)
}

/// Goes to a view of the page, and waits until it shows a text.
fn go(browser: &mut Browser, to: &str, text: &str) {
    browser.value(&format!("location.hash = {}", json!(to)));
    browser.until(&format!(
        "!document.querySelector('main').ariaBusy && document.body.innerText.includes({})",
        json!(text)
    ));
}

/// Checks a view: no errors, no requests to other servers, nothing that axe-core calls serious;
/// takes a screenshot.
fn check(browser: &mut Browser, name: &str) {
    browser.value("1");
    for method in ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"] {
        assert_eq!(browser.events_of(method), Vec::<&Value>::new(), "{name}: {method}");
    }
    let origin = browser.text("location.origin");
    for asked in browser.events_of("Network.requestWillBeSent") {
        let url = asked["request"]["url"].as_str().unwrap_or_default();
        // The browser draws its own calendar from `data:`.
        assert!(url.starts_with(&origin) || url.starts_with("data:"), "{name}: {url}");
        assert!(!url.contains("token"), "{name}: {url}");
    }
    if let Some(file) = std::env::var_os("KG_AXE") {
        // Through the DevTools protocol, since the page's own policy allows no foreign script.
        browser.value(&std::fs::read_to_string(file).expect("axe-core"));
        let found = browser.value(
            "axe.run().then(it => it.violations.filter(it => ['serious', 'critical'].includes(it.impact))\
             .map(it => [it.id, it.nodes.map(it => it.html)]))",
        );
        assert_eq!(found, json!([]), "{name}");
    }
    if let Some(folder) = std::env::var_os("KG_SCREENSHOTS") {
        let picture = browser.call("Page.captureScreenshot", json!({ "format": "png" }));
        let data = picture["data"].as_str().unwrap_or_default();
        std::fs::write(PathBuf::from(folder).join(format!("{name}.png.base64")), data)
            .expect("written");
    }
}

#[test]
fn one_types_and_sees_passages_and_walks_by_keys() {
    let project = TestProject::of(NOTES);
    let Some(mut browser) = browser_of(&project) else { return };
    assert_eq!(browser.text("location.hash"), "#/search", "the token is gone from the address");
    browser.call("Input.insertText", json!({ "text": "rotate keys" }));
    browser.until("document.querySelectorAll('.hit').length > 0");
    let first = "document.querySelector('.hit')";
    browser.until(&format!("{first}.innerText.includes('Signing Service.md')"));
    // The observation comes first, then the passage with the steps.
    let steps = "[...document.querySelectorAll('.hit')].find(it => it.querySelector('.text ol'))";
    assert_eq!(
        browser.value(&format!("{steps}.querySelectorAll('.text ol > li').length")),
        json!(2),
        "a list is a list"
    );
    assert_eq!(
        browser.text(&format!("{steps}.querySelector('pre').innerText.trim()")),
        "keys rotate"
    );
    browser.until("location.hash === '#/search?q=rotate+keys'");
    check(&mut browser, "search");
    // Filters narrow the hits, `c` compares sources side by side, `w` says why.
    browser.key("Escape");
    browser.key("j");
    browser.key("w");
    browser.until(&format!("{first}.querySelector('details').open"));
    assert!(browser.text(&format!("{first}.querySelector('details').innerText")).contains("text"));
    browser.key("c");
    browser.until("document.querySelectorAll('.columns > section').length > 1");
    browser.value("document.querySelector('input[name=path]').closest('details').open = true");
    browser.value("document.querySelector('input[name=path]').focus()");
    browser.call("Input.insertText", json!({ "text": "notes.txt" }));
    browser.until("document.querySelectorAll('.columns > section').length === 1");
    assert_eq!(
        browser.value("document.title"),
        json!("Search – kgd"),
        "a script of a document is text"
    );
    browser.key("Escape");
    browser.key("?");
    browser.until("document.getElementById('keys').open");
    check(&mut browser, "keys");
    browser.key("Escape");
    browser.value("document.getElementById('keys').close()");
    // From a hit to its document, from there to an entity, and back to the search.
    go(&mut browser, "#/document/Signing%20Service.md", "Links to it");
    browser.until("document.querySelector('aside').innerText.includes('Key Vault')");
    browser.until("!document.querySelector('aside').innerText.includes('…')");
    check(&mut browser, "document");
    browser.value("document.querySelector('.document a[href^=\"#/document\"]').click()");
    browser.until("document.querySelector('h1').innerText === 'Key Vault'");
    browser.until("document.querySelector('aside').innerText.includes('Signing Service.md:')");
    browser.value("document.querySelector('.document .entity').click()");
    browser.until("document.querySelector('main').innerText.includes('Timeline')");
    check(&mut browser, "entity");
    browser.key("/");
    browser.until("document.activeElement?.id === 'q'");
    check(&mut browser, "again");
}

#[test]
fn a_person_decides_by_keys_and_takes_it_back() {
    let mut project = TestProject::of(NOTES);
    let Some(mut browser) = browser_of(&project) else { return };
    go(&mut browser, "#/review", "items left");
    browser.until("document.activeElement?.dataset.key !== undefined");
    check(&mut browser, "review");
    let key = browser.text("document.activeElement.dataset.key");
    let is_listed = |project: &mut TestProject, key: &str| {
        [json!({ "limit": 100 }), json!({ "limit": 100, "path": "memory" })]
            .into_iter()
            .any(|arguments| items(project, arguments).iter().any(|it| it == key))
    };
    assert!(is_listed(&mut project, &key));
    browser.key("r");
    browser.until("document.getElementById('said').innerText.startsWith('rejected')");
    assert!(!is_listed(&mut project, &key));
    browser.key("u");
    browser.until("document.getElementById('said').innerText.startsWith('undone')");
    assert!(is_listed(&mut project, &key));
    // A relation is rejected where it is shown.
    let id = project.call("explain_entity", json!({ "name": "Signing Service" }))["entity"]["id"]
        .clone();
    go(&mut browser, &format!("#/entity/{id}"), "depends_on");
    browser.value("document.querySelector('button[aria-label*=\"depends_on Key Vault\"]').click()");
    browser.until("document.getElementById('said').innerText.startsWith('rejected')");
    browser.until("!document.querySelector('main').innerText.includes('depends_on')");
    // The type that its note states is its type.
    browser.value("document.querySelector('input[name=type]').value = 'Program'");
    browser.value("document.querySelector('input[name=type]').closest('form').requestSubmit()");
    browser.until("document.getElementById('said').innerText.includes('states the type')");
    let note = project.text("Signing Service.md");
    assert!(note.starts_with("---\ntype: Program\n"), "{note}");
}

/// Returns the id of the entity that a name denotes.
fn denoted(project: &mut TestProject, name: &str) -> Value {
    let found = project.call("entity_lookup", json!({ "q": name, "limit": 1 }));
    found["entities"][0]["id"].clone()
}

#[test]
fn two_things_are_merged_and_a_name_is_split_off_and_a_version_comes_back() {
    let mut project = TestProject::empty();
    project.write_all(NOTES);
    project.write_all(&[
        ("Mill.md", "# Mill\n\n- uses [[Quartz Relay]]\n"),
        ("Forge.md", "# Forge\n\n- uses [[Granite Pump]]\n"),
    ]);
    project.start();
    project.settle();
    let edit =
        json!({ "path": "Key Vault.md", "find": "a store for keys", "content": "a safe for keys" });
    project.call("edit_note", edit);
    project.settle();
    let Some(mut browser) = browser_of(&project) else { return };
    browser.value("window.confirm = () => true");
    let until_status = |browser: &mut Browser, words: &str| {
        browser.until(&format!(
            "document.getElementById('said').innerText.includes({})",
            json!(words)
        ));
    };

    let (relay, pump) =
        (denoted(&mut project, "Quartz Relay"), denoted(&mut project, "Granite Pump"));
    assert!(relay.is_number() && pump.is_number() && relay != pump, "{relay} {pump}");
    go(&mut browser, &format!("#/entity/{relay}"), "Correct");
    browser.value("document.querySelector('aside input[type=search]').focus()");
    browser.call("Input.insertText", json!({ "text": "Granite Pump" }));
    browser
        .until("document.querySelector('button[aria-label=\"Merge with Granite Pump\"]') !== null");
    check(&mut browser, "merge");
    browser
        .value("document.querySelector('button[aria-label=\"Merge with Granite Pump\"]').click()");
    until_status(&mut browser, "merged");
    project.settle();
    assert_eq!(denoted(&mut project, "Granite Pump"), denoted(&mut project, "Quartz Relay"));
    // The other name that it has now is split off again.
    let one = denoted(&mut project, "Quartz Relay");
    go(&mut browser, &format!("#/entity/{one}"), "Other names");
    browser.until("document.querySelector('button[aria-label^=\"Split off: \"]') !== null");
    check(&mut browser, "merged");
    browser.value("document.querySelector('button[aria-label^=\"Split off: \"]').click()");
    until_status(&mut browser, "denotes something else now");
    project.settle();
    assert_ne!(denoted(&mut project, "Granite Pump"), denoted(&mut project, "Quartz Relay"));
    check(&mut browser, "split");

    go(&mut browser, "#/document/Key%20Vault.md", "History");
    browser.until("document.querySelector('aside').innerText.includes('edit_note')");
    let press = |browser: &mut Browser, name: &str| {
        let all = "[...document.querySelectorAll('aside button')]";
        browser.value(&format!("{all}.find(it => it.innerText === {}).click()", json!(name)));
    };
    press(&mut browser, "Difference");
    browser.until("document.querySelector('pre.diff')?.innerText.includes('a safe for keys')");
    check(&mut browser, "history");
    press(&mut browser, "Restore what was before");
    until_status(&mut browser, "restored");
    let text = project.text("Key Vault.md");
    assert_eq!(text, NOTES[1].1);
}

/// Returns the keys listed for review.
fn items(project: &mut TestProject, arguments: Value) -> Vec<String> {
    let items = project.call("review_links", arguments)["items"].take();
    let keys = items
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["key"].as_str().map(str::to_string));
    keys.collect()
}

#[test]
fn the_map_the_memory_and_the_health_are_shown() {
    let mut project = TestProject::of(NOTES);
    project.call("create_entities", json!({ "entities": [{ "name": "Grace Osei", "entityType": "person", "observations": ["likes tea"] }] }));
    project.call(
        "kb_store",
        json!({ "short_title": "Keys rotate", "long_title": "Keys rotate each month", "knowledge_details": "Each month.",
            "entry_type": "decision" }),
    );
    project.settle();
    let Some(mut browser) = browser_of(&project) else { return };
    go(&mut browser, "#/map", "Whole folder");
    browser.until("document.querySelectorAll('#labels span:not([hidden])').length > 0");
    check(&mut browser, "map");
    browser.value("document.querySelector('.map .list button').click()");
    browser.until("document.querySelector('.map .list a.entity') !== null && location.hash.includes('community=')");
    browser.value("document.getElementById('drawing').focus()");
    browser.key("Escape");
    browser.until("document.querySelector('.map .list button') !== null");
    go(&mut browser, "#/memory", "Grace Osei");
    browser.until("document.querySelector('main').innerText.includes('Keys rotate')");
    check(&mut browser, "memory");
    go(&mut browser, "#/health", "Who is connected");
    check(&mut browser, "health");
}

#[test]
fn the_page_fits_a_phone_and_the_dark() {
    let project = TestProject::of(NOTES);
    let Some(mut browser) = browser_of(&project) else { return };
    // 320 pixels are a phone, and 1,280 at 400 %.
    let phone = json!({ "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    let dark = json!({ "features": [{ "name": "prefers-color-scheme", "value": "dark" }] });
    browser.call("Emulation.setEmulatedMedia", dark);
    browser.until("getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 26)'");
    browser.call("Input.insertText", json!({ "text": "key vault" }));
    browser.until("document.querySelectorAll('.hit').length > 0");
    for (to, text) in [
        ("#/search?q=key+vault", "passages"),
        ("#/document/Signing%20Service.md", "Links to it"),
        ("#/review", "items left"),
        ("#/map", "Whole folder"),
        ("#/memory", "What agents did"),
        ("#/health", "Who is connected"),
    ] {
        go(&mut browser, to, text);
        let wide = browser.value("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(320), "{to}: {wide} pixels");
        check(&mut browser, &format!("phone-{}", to.split(['/', '?']).nth(1).unwrap_or_default()));
    }
}
