//! Operation of a daemon: health and metrics, reloading settings, logs and spans for programs,
//! newer versions.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};
use tests::TestProject;
use tests::http::{Http, address_in};
use web::mock::{Answer, Mock};

const NOTES: &[(&str, &str)] = &[
    (
        "Signing Service.md",
        "# Signing Service\n\nThe Signing Service depends on the [[Key Vault]].\n",
    ),
    ("Key Vault.md", "# Key Vault\n\nThe Key Vault keeps the keys of the Signing Service.\n"),
    ("drafts/idea.md", "# Idea\n\nThe Signing Service could use hardware keys.\n"),
];

/// Runs a `kgctl` command; returns exit code, output, errors.
fn kgctl(project: &TestProject, arguments: &[&str]) -> (i32, String, String) {
    let mut command = project.kgctl();
    let output = command.arg("--project").arg(project.root()).args(arguments).output();
    let output = output.expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Parses the samples of a text in Prometheus' format 0.0.4, by series; panics if it breaks a rule
/// of the format.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let (mut found, mut ended) = (BTreeMap::new(), BTreeSet::new());
    let (mut name, mut kind) = (String::new(), String::new());
    assert!(text.ends_with('\n'), "the last line ends, too");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (next, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty() && ended.insert(next.to_string()), "one group each: {line}");
            (name, kind) = (next.to_string(), String::new());
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (typed, what) = rest.split_once(' ').expect("a type");
            assert!(typed == name && kind.is_empty(), "after its help: {line}");
            assert!(["counter", "gauge"].contains(&what), "{line}");
            assert_eq!(what == "counter", name.ends_with("_total"), "{line}");
            kind = what.to_string();
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let (of, labels) = series.split_once('{').unwrap_or((series, "}"));
        assert!(of == name && !kind.is_empty(), "below its type: {line}");
        let is_word = |it: &str| it.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        assert!(is_word(of) && !of.starts_with(|c: char| c.is_ascii_digit()), "{line}");
        let labels = labels.strip_suffix('}').expect("labels end");
        if let Some((label, quoted)) = labels.split_once('=') {
            assert!(is_word(label), "{line}");
            serde_json::from_str::<String>(quoted).expect("a quoted label");
        }
        assert!(found.insert(series.to_string(), value.parse().expect("a number")).is_none());
    }
    found
}

#[test]
fn health_is_open_and_says_little_and_metrics_need_the_token() {
    let project = TestProject::of(NOTES);
    let (_, page, _) = kgctl(&project, &["open", "--print"]);
    let (address, token) = page.trim().split_once("#token=").expect("an address");
    let http = Http::at(address_in(address).expect("an address"));
    let health = http.send("GET", "/health", None);
    assert_eq!((health.status, health.json()), (200, json!({"status": "ok"})));
    assert_eq!(http.send("POST", "/health", Some(b"{}")).status, 405);
    assert_eq!(http.send("GET", "/metrics", None).status, 401);
    let ours = http.with("Authorization", &format!("Bearer {token}"));
    let reply = ours.send("GET", "/metrics", None);
    let kind = reply.header("content-type");
    assert_eq!(kind.as_deref(), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = reply.text();
    let samples = samples(&text);
    let value = |series: &str| samples.get(series).copied();
    assert_eq!(value("kgd_progress_indexed"), Some(3.0), "{text}");
    assert_eq!(value("kgd_counts{kind=\"documents\"}"), Some(3.0), "{text}");
    assert_eq!(value("kgd_queues_bulk{stage=\"chunk\"}"), Some(0.0), "{text}");
    assert!(value("kgd_n_written_total") >= Some(3.0), "{text}");
    for hidden in ["Signing", "Key Vault", &project.root().display().to_string()] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
}

fn keys(changes: &Value) -> Vec<&str> {
    changes.as_array().expect("a list").iter().filter_map(|it| it["key"].as_str()).collect()
}

fn n_hits(project: &mut TestProject) -> usize {
    let reply = project.call("hybrid_query", json!({"q": "signing service keys"}));
    reply["chunks"].as_array().expect("chunks").len()
}

#[test]
fn settings_are_read_anew_where_they_can_be_and_a_broken_file_changes_nothing() {
    let mut project = TestProject::of(NOTES);
    assert!(n_hits(&mut project) > 1);
    let file = "retrieval:\n  k: 1\nwatch:\n  ignore: [drafts/]\nchunk:\n  max_tokens: 200\n";
    project.write("kg.yaml", file);
    let reply = project.call("reload", json!({}));
    assert_eq!(keys(&reply["changed"]), ["retrieval.k", "watch.ignore"], "{reply}");
    assert_eq!(keys(&reply["restart"]), ["chunk.max_tokens"], "{reply}");
    let first = &reply["changed"][0];
    assert_eq!((&first["before"], &first["after"]), (&json!("10"), &json!("1")));
    assert_eq!(n_hits(&mut project), 1);
    project.until("the drafts are gone", |status| status["counts"]["documents"] == 2);

    project.write("kg.yaml", "retrieval:\n  k: 1000\nwatch:\n  ignore: []\n");
    let refused = project.try_call("reload", json!({})).expect_err("out of range");
    let message = refused["message"].as_str().expect("a message");
    assert!(message.contains("kg.yaml:2: `retrieval.k` is 1000"), "{refused}");
    let (code, _, error) = kgctl(&project, &["reload"]);
    assert!(code == 2 && error.contains("kg.yaml:2: `retrieval.k`"), "{error}");
    assert_eq!(n_hits(&mut project), 1, "nothing has changed");
    assert_eq!(project.status()["counts"]["documents"], 2);

    project.write("kg.yaml", "retrieval:\n  k: 2\n");
    let (code, out, error) = kgctl(&project, &["reload"]);
    assert!(code == 0 && out.contains("retrieval.k: 1 → 2"), "{out}{error}");
    assert!(out.contains("watch.ignore: [\"drafts/\"] → []"), "{out}");
    project.until("the drafts are back", |status| status["counts"]["documents"] == 3);
    let (_, out, _) = kgctl(&project, &["reload"]);
    assert!(out.contains("no setting has changed"), "{out}");
    project.verify("after reloads");
    project.stop();
    let (code, _, error) = kgctl(&project, &["reload"]);
    assert!(code == 4 && error.contains("no daemon runs"), "{error}");
}

#[test]
fn a_hang_up_without_a_terminal_reads_the_settings_anew() {
    let mut project = TestProject::of(NOTES);
    // A session of its own has no terminal.
    if std::fs::File::open("/dev/tty").is_ok() {
        return eprintln!("skipped: this test has a terminal, so SIGHUP ends the daemon");
    }
    let hang_up = |project: &TestProject| {
        let sent = Command::new("kill").args(["-HUP", &project.pid().to_string()]).status();
        assert!(sent.expect("`kill` runs").success());
    };
    project.write("kg.yaml", "retrieval:\n  k: many\n");
    hang_up(&project);
    project.until("it is refused", |_| true);
    let wait_for_log = |project: &mut TestProject, words: &str| {
        while !project.log().contains(words) {
            project.status();
        }
    };
    wait_for_log(&mut project, "the settings stay as they were");
    project.write("kg.yaml", "retrieval:\n  k: 1\n");
    hang_up(&project);
    wait_for_log(&mut project, "settings were read anew");
    assert_eq!(n_hits(&mut project), 1);
}

#[test]
fn a_log_in_json_is_one_object_a_line() {
    let mut project = TestProject::empty();
    project.write_all(NOTES);
    // A secret in a name that is logged.
    project.write("token=ghp_16C7e42F292c6912E7710c838347Ae178B4a.md", "# \"Quoted\"\n");
    for setting in ["log.format=json", "log.level=warn"] {
        project.set(setting);
    }
    std::fs::create_dir_all(project.scratch().join("config")).expect("made");
    project.start();
    project.until("all is indexed", |status| status["settled"] == true);
    let before = project.log().lines().filter(|line| line.contains("INFO")).count();
    assert_eq!(before, 0, "the level counts: {}", project.log());
    project.stop();
    let text = project.log();
    project.set("log.level=debug");
    project.start();
    project.until("all is there", |status| status["settled"] == true);
    project.stop();
    let text = text + &project.log();
    let mut levels = BTreeSet::new();
    for line in text.lines() {
        let it: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        for key in ["time", "level", "target", "message"] {
            assert!(it[key].is_string(), "{key}: {line}");
        }
        assert!(it["fields"].is_object() && it["time"].as_str().expect("text").ends_with('Z'));
        levels.insert(it["level"].as_str().expect("text").to_string());
        assert!(!line.contains("ghp_16C7e42F292c6912E7710c838347Ae178B4a"), "{line}");
    }
    assert!(levels.contains("INFO") && levels.contains("DEBUG"), "{levels:?}");
}

#[test]
fn a_collector_gets_spans_of_requests_and_passes_and_no_text() {
    let mut project = TestProject::empty();
    project.write_all(NOTES);
    let collector = Mock::start(|_| Answer::of(200, "{}")).expect("it listens");
    project.set(&format!("telemetry.otlp={}", collector.url()));
    project.start();
    project.settle();
    n_hits(&mut project);
    let refused = project.try_call("hybrid_query", json!({"q": "zebrafish", "k": 0}));
    refused.expect_err("out of range");
    assert_eq!(project.stop().status.code(), Some(0));
    let mut spans: Vec<Value> = Vec::new();
    for request in collector.requests() {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/traces"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        let text = String::from_utf8(request.body).expect("text");
        for hidden in ["zebrafish", "signing", "Signing", "Vault", "drafts"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        let body: Value = serde_json::from_str(&text).expect("JSON");
        let resource = &body["resourceSpans"][0];
        let service = &resource["resource"]["attributes"][0];
        assert_eq!(service, &json!({"key": "service.name", "value": {"stringValue": "kgd"}}));
        spans.extend(resource["scopeSpans"][0]["spans"].as_array().expect("spans").clone());
    }
    for it in &spans {
        let is_hex = |key: &str, n: usize| {
            let id = it[key].as_str().expect("an id");
            id.len() == n
                && id.bytes().all(|c| c.is_ascii_hexdigit())
                && id.bytes().any(|c| c != b'0')
        };
        assert!(is_hex("traceId", 32) && is_hex("spanId", 16), "{it}");
        let nanos = |key: &str| it[key].as_str().and_then(|it| it.parse::<u64>().ok());
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"), "{it}");
    }
    let named =
        |name: &str| -> Vec<&Value> { spans.iter().filter(|it| it["name"] == name).collect() };
    let outcome = |it: &&Value| {
        let attributes = it["attributes"].as_array().expect("attributes");
        let found = attributes.iter().find(|it| it["key"] == "outcome").expect("an outcome");
        found["value"]["stringValue"].as_str().expect("text").to_string()
    };
    let queries = named("hybrid_query");
    assert_eq!(queries.iter().map(outcome).collect::<Vec<_>>(), ["ok", "invalid_params"]);
    assert_eq!(
        (&queries[0]["status"]["code"], &queries[1]["status"]["code"]),
        (&json!(1), &json!(2))
    );
    assert!(!named("crawl").is_empty() && !named("index").is_empty(), "{spans:#?}");
}

#[test]
fn only_the_user_has_spans_sent_and_to_another_machine_only_over_tls() {
    let mut project = TestProject::empty();
    project.write("kg.yaml", "telemetry:\n  otlp: http://127.0.0.1:4318\n");
    let ended = project.try_start().expect_err("a folder may not");
    assert!(ended.log.contains("`telemetry.otlp` cannot be set by a folder"), "{}", ended.log);
    project.remove("kg.yaml");
    project.set("telemetry.otlp=http://192.0.2.1:4318");
    let ended = project.try_start().expect_err("not without TLS");
    assert!(ended.log.contains("another machine is reached by `https://`"), "{}", ended.log);
}

#[test]
fn update_asks_only_where_it_is_told_and_says_how() {
    let project = TestProject::empty();
    let ask = |url: &str, json: bool| {
        let mut command = project.kgctl();
        command.arg("update").env("KG_UPDATE__URL", url).env("KG_TEST_VERSION", "0.1.0");
        let output = command.args(json.then_some("--json")).output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("text"))
    };
    let body = r#"{"tag_name": "v0.2.0", "html_url": "https://example.org/v0.2.0"}"#;
    let feed = Mock::start(move |_| Answer::of(200, body)).expect("it listens");
    let (code, out) = ask(&feed.url(), false);
    assert!(code == Some(0) && out.starts_with("kgd 0.2.0 is published; this is 0.1.0\n"), "{out}");
    assert!(
        out.contains("https://example.org/v0.2.0") && out.contains("installed from source"),
        "{out}"
    );
    let (_, out) = ask(&feed.url(), true);
    let reply: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&reply["newer"], &reply["newest"]), (&json!(true), &json!("0.2.0")));
    assert_eq!(feed.requests().len(), 2);
    let empty = Mock::start(|_| Answer::of(404, "{}")).expect("it listens");
    assert!(ask(&empty.url(), false).1.contains("nothing is published at"));
    let url = empty.url();
    drop(empty);
    let (code, out) = ask(&url, false);
    assert!(
        code == Some(1) && out.contains("cannot be reached") && out.contains("hint: "),
        "{out}"
    );
}

#[test]
fn the_schema_is_printed_for_either_file() {
    let project = TestProject::empty();
    let config = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../config");
    for (arguments, file) in [
        (&["config", "schema"][..], "kg.schema.json"),
        (&["config", "schema", "--user"][..], "config.schema.json"),
    ] {
        let output = project.kgctl().args(arguments).output().expect("it runs");
        assert_eq!(output.stdout, std::fs::read(config.join(file)).expect("committed"), "{file}");
    }
}
