//! Embedding models that the user provides: folders, names on a hub, servers; added by `kgctl`,
//! used by the daemon.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tests::TestProject;
use web::mock::{Answer, Mock, Request};

/// Runs a `kgctl` command; returns exit code, output, errors.
fn kgctl(project: &TestProject, arguments: &[&str], hub: &str) -> (i32, String, String) {
    let output =
        project.kgctl().args(arguments).env("KG_EMBED__HUB", hub).output().expect("it runs");
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .replace(&project.scratch().display().to_string(), "<scratch>")
    };
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

const NOWHERE: &str = "http://127.0.0.1:9";

/// Writes a model of three dimensions: one for olives, one for bread, one for the rest.
fn sample(project: &TestProject) -> PathBuf {
    let folder = project.scratch().join("Tiny");
    onnx::sample::write_tagger(&folder, &[("olives", "A"), ("bread", "B")]).expect("written");
    std::fs::write(
        folder.join("config.json"),
        r#"{"max_position_embeddings": 64, "hidden_size": 3}"#,
    )
    .expect("written");
    folder
}

fn write_notes(project: &TestProject) {
    project.write("olives.md", "# Harvest\n\nolives olives olives\n");
    project.write("bread.md", "# Loaves\n\nbread bread bread\n");
}

/// Writes the user's own settings.
fn configure(project: &TestProject, text: &str) {
    let folder = project.scratch().join("config");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("config.yaml"), text).expect("written");
}

fn embedded(project: &mut TestProject) {
    project.settle();
    project.until("better vectors", |status| {
        status["embedding"]["state"] == "done" && status["embedding"]["total"].as_u64() > Some(0)
    });
}

fn first(project: &mut TestProject, question: &str) -> (Value, String) {
    let reply = project.call("hybrid_query", json!({"q": question, "formula": "vector"}));
    let why = reply["explanations"][0].as_str().unwrap_or_default().to_string();
    (reply["chunks"][0]["path"].clone(), why)
}

#[test]
fn a_model_is_added_used_by_its_name_and_removed() {
    let mut project = TestProject::empty();
    let folder = sample(&project);
    let (code, out, error) = kgctl(&project, &["model", "add", "Tiny"], NOWHERE);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("tiny: added; 3 dimensions, reads 64 tokens\n"), "{out}");
    // The model is a copy, so it survives the removal of the folder.
    std::fs::remove_dir_all(&folder).expect("removed");
    configure(&project, "embed:\n  model: tiny\n");
    let (_, out, _) = kgctl(&project, &["model", "list"], NOWHERE);
    assert!(out.contains("\ntiny *") && out.contains("<scratch>/Tiny"), "{out}");
    write_notes(&project);
    project.set("embed.background=on");
    project.start();
    embedded(&mut project);
    let (path, why) = first(&mut project, "bread");
    assert_eq!(path, "bread.md");
    assert!(why.starts_with("vector by tiny"), "{why}");
    let (code, _, error) = kgctl(&project, &["model", "remove", "tiny"], NOWHERE);
    assert_eq!(
        (code, error.lines().next()),
        (2, Some("error: `tiny` is in use: your settings name it"))
    );
    let (code, out, _) = kgctl(&project, &["model", "remove", "tiny", "--force"], NOWHERE);
    assert_eq!((code, out.as_str()), (0, "tiny: removed\n"));
    // Without it the static vectors answer, and the caller gets a hint.
    project.stop();
    project.start();
    project.settle();
    assert_eq!(first(&mut project, "bread").0, "bread.md");
    let status = project.status();
    assert_eq!(status["embedding"]["state"], "failed", "{status}");
    let why = "`embed.model` is `tiny`: there is no such model";
    let text = status["warnings"][0]["warning"].as_str().expect("a warning");
    assert!(text.contains(why) && text.contains("`kgctl model list` shows"), "{text}");
    assert!(project.log().contains(why), "{}", project.log());
    let (_, out, _) = in_project(&project, &["doctor"]);
    assert!(out.contains("warning models: `embed.model` gives no vectors"), "{out}");
    assert!(out.contains(why) && out.contains("`kgctl model list` shows"), "{out}");
    assert!(!out.contains("document: `.`"), "{out}");
    let (_, out, _) = kgctl(&project, &["model", "list"], NOWHERE);
    let row = out.lines().find(|line| line.starts_with("tiny *")).unwrap_or_default();
    assert!(row.contains("missing"), "{out}");
    // The folder's files are read as before once it is back.
    project.verify("without the model that is named");
}

#[test]
fn a_model_that_cannot_be_had_costs_nobody_the_start() {
    for (settings, why) in [
        ("embed: {model: /nowhere/at/all}", "the folder has no `config.json`"),
        ("embed: {model: remote}", "`embed.remote.url` is not set"),
        ("embed: {model: tiny}\nvectors: {precision: float32}", "there is no such model"),
    ] {
        let mut project = TestProject::empty();
        write_notes(&project);
        configure(&project, settings);
        project.start();
        project.settle();
        assert_eq!(first(&mut project, "olives").0, "olives.md", "{settings}");
        let status = project.status();
        assert_eq!(status["embedding"]["state"], "failed", "{settings}: {status}");
        assert_eq!(status["embedding"]["eta_seconds"], Value::Null);
        assert!(status["warnings"][0]["warning"].to_string().contains(why), "{status}");
    }
}

#[test]
fn what_the_built_in_model_takes_no_notice_of_is_told() {
    let mut project = TestProject::empty();
    configure(&project, "embed: {dimensions: 128}");
    project.start();
    let warning = project.status()["warnings"][0].clone();
    assert_eq!(warning["path"], ".");
    let text = warning["warning"].as_str().expect("a warning");
    assert!(text.starts_with("`embed.dimensions`: the built-in model `minilm-l6`"), "{text}");
    let (_, out, _) = in_project(&project, &["doctor"]);
    assert!(out.contains("warning models: `embed.dimensions`"), "{out}");
}

#[test]
fn commands_about_models_say_what_is_meant() {
    let project = TestProject::empty();
    let folder = sample(&project);
    let from = folder.display().to_string();
    let (code, _, error) = kgctl(&project, &["model", "pull", "--from", &from], NOWHERE);
    assert!(code == 2 && error.contains("MODEL"), "{error}");
    let pull = ["model", "pull", "Some/Tiny", "--from", &from, "--name", "1e3"];
    let (code, out, error) = kgctl(&project, &pull, NOWHERE);
    assert!(code == 0 && error.contains("that this is `Some/Tiny` was not verified"), "{error}");
    // The printed form is a text in YAML, too.
    assert!(out.contains("`embed: {model: \"1e3\"}`"), "{out}");
    configure(&project, "embed: {model: \"1e3\"}");
    let (_, out, _) = kgctl(&project, &["model", "list"], NOWHERE);
    assert!(out.contains("1e3 *"), "{out}");
    // The model in use is marked wherever it comes from.
    let remote = "{url: \"http://127.0.0.1:9\", model: m, dimensions: 7}";
    for (settings, row) in [
        (format!("model: remote, remote: {remote}"), "remote *   7"),
        (format!("model: \"{from}\""), "<scratch>/Tiny *"),
        ("model: none".to_string(), "none *"),
        ("model: gone".to_string(), "gone *"),
    ] {
        configure(&project, &format!("embed: {{{settings}}}"));
        let (_, out, _) = kgctl(&project, &["model", "list"], NOWHERE);
        let marked: Vec<&str> = out.lines().filter(|line| line.contains(" *")).collect();
        assert!(marked.len() == 1 && marked[0].starts_with(row), "{out}");
    }
}

/// As [`kgctl`], for the project.
fn in_project(project: &TestProject, arguments: &[&str]) -> (i32, String, String) {
    let root = project.root().display().to_string();
    kgctl(project, &[&["--project", &root], arguments].concat(), NOWHERE)
}

/// Notes whose vectors a server may compute.
fn with_server(answer: impl FnMut(&Request) -> Answer + Send + 'static) -> (TestProject, Mock) {
    let mut project = TestProject::empty();
    let mock = Mock::start(answer).expect("a server");
    write_notes(&project);
    let remote = "    api: ollama\n    model: food\n    dimensions: 3\n";
    let key = project.scratch().join("key");
    std::fs::write(&key, "old").expect("written");
    let own = format!("    url: {}\n    key_file: {}\n", mock.url(), key.display());
    configure(&project, &format!("embed:\n  model: remote\n  remote:\n{remote}{own}"));
    project.set("embed.background=on");
    project.start();
    project.settle();
    (project, mock)
}

#[test]
fn what_a_server_refused_for_good_is_told_and_asked_again_when_somebody_wants_it() {
    let (is_closed, n_asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (closed, asked) = (is_closed.clone(), n_asked.clone());
    let with_key = move |request: &Request| {
        asked.fetch_add(1, Ordering::SeqCst);
        match request.header("authorization") {
            Some("Bearer new") if !closed.load(Ordering::SeqCst) => server(request),
            _ => Answer::of(401, "who are you?"),
        }
    };
    let (mut project, _mock) = with_server(with_key);
    project.until("a refusal", |status| status["embedding"]["state"] == "failed");
    let status = project.status();
    assert_eq!(status["embedding"]["eta_seconds"], Value::Null, "{status}");
    let trouble = status["embedding"]["trouble"].as_str().expect("a reason");
    assert!(trouble.contains("401") && trouble.contains("`kgctl retry --all"), "{trouble}");
    let (_, out, _) = in_project(&project, &["status"]);
    assert!(out.contains("vectors by remote, failed; ") && !out.contains(", about"), "{out}");
    let (_, out, _) = in_project(&project, &["doctor"]);
    assert!(out.contains("warning models: `embed.model` gives no vectors"), "{out}");
    assert!(out.contains("`kgctl retry --all"), "{out}");

    let (code, out, _) = in_project(&project, &["retry", "--all"]);
    assert!(code == 1 && out.contains("failed; ") && out.contains("401"), "{out}");
    // The key is read again, so it can be fixed meanwhile.
    std::fs::write(project.scratch().join("key"), "new").expect("written");
    let (code, out, _) = in_project(&project, &["retry", "--all"]);
    assert!(code == 0 && out.starts_with("embedding: "), "{out}");
    embedded(&mut project);
    assert_eq!(first(&mut project, "bread").0, "bread.md");
    assert_eq!(project.status()["warnings"], json!([]));

    // The same for questions, once every document has its vector.
    is_closed.store(true, Ordering::SeqCst);
    let n_before = n_asked.load(Ordering::SeqCst);
    for question in ["olives", "oil of olives", "green olives"] {
        assert_eq!(first(&mut project, question).0, "olives.md", "by static vectors");
    }
    assert_eq!(n_asked.load(Ordering::SeqCst), n_before + 1, "not asked by each question");
    let embedding = project.status()["embedding"].clone();
    assert_eq!(embedding["state"], "failed", "{embedding}");
    let trouble = embedding["trouble"].as_str().expect("a reason");
    assert!(trouble.starts_with("the last question got no vector: "), "{trouble}");
    assert!(trouble.contains("401") && trouble.contains("`kgctl retry --all"), "{trouble}");
    let (_, out, _) = in_project(&project, &["doctor"]);
    assert!(out.contains("warning models: `embed.model` gives no vectors"), "{out}");
    assert!(project.log().contains("questions are answered by static vectors"));
    let (code, out, _) = in_project(&project, &["retry", "--all"]);
    assert!(code == 1 && out.contains("401"), "{out}");
    is_closed.store(false, Ordering::SeqCst);
    let (code, out, _) = in_project(&project, &["retry", "--all"]);
    assert!(code == 0 && out.starts_with("embedding: ") && !out.contains("401"), "{out}");
    assert!(first(&mut project, "green olives").1.starts_with("vector by food"));
    assert_eq!(project.status()["warnings"], json!([]));
}

#[test]
fn a_server_that_asks_to_wait_is_waited_for_not_given_up() {
    let busy = |_: &Request| Answer::of(429, "too many").with("retry-after", "60");
    let (mut project, _mock) = with_server(busy);
    project.until("a pause", |status| status["embedding"]["trouble"].is_string());
    let embedding = project.status()["embedding"].clone();
    assert_eq!(embedding["state"], "waiting", "{embedding}");
    let seconds = embedding["again_seconds"].as_u64();
    assert!(seconds > Some(30) && seconds <= Some(60), "{embedding}");
    let (_, out, _) = in_project(&project, &["status"]);
    assert!(out.contains("waiting, asked again in about "), "{out}");
    assert_eq!(project.status()["warnings"], json!([]), "it passes by itself");
}

#[test]
fn a_folder_of_the_users_own_is_a_model_too() {
    let mut project = TestProject::empty();
    let folder = sample(&project);
    write_notes(&project);
    project.set("embed.background=on");
    project.set(&format!("embed.model={}", folder.display()));
    project.set("embed.dimensions=2");
    project.start();
    embedded(&mut project);
    assert_eq!(first(&mut project, "olives").0, "olives.md");
}

#[test]
fn weights_that_no_runtime_reads_are_converted() {
    let project = TestProject::empty();
    let folder = project.scratch().join("bert");
    onnx::sample::write_encoder(&folder).expect("written");
    for how in [&[][..], &["--int8", "--force"]] {
        let arguments = [&["model", "add", "bert"], how].concat();
        let (code, out, error) = kgctl(&project, &arguments, NOWHERE);
        assert_eq!((code, error.as_str()), (0, ""), "{out}");
        assert!(out.starts_with("bert: added; 8 dimensions, reads 16 tokens\n"), "{out}");
    }
    let kept = project.scratch().join("state/models/bert");
    assert!(kept.join("model.onnx").exists() && !kept.join("model.safetensors").exists());
    assert!(folder.join("model.safetensors").exists(), "the user's folder is left as it was");
}

/// Returns the names in the folder of models.
fn shelved(project: &TestProject) -> Vec<String> {
    let entries =
        std::fs::read_dir(project.scratch().join("state/models")).expect("listed").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != ".lock").collect()
}

#[test]
fn what_is_no_model_is_refused_and_leaves_nothing() {
    let project = TestProject::empty();
    let check = |change: &dyn Fn(&Path), expected: &str| {
        let folder = sample(&project);
        change(&folder);
        let (code, _, error) = kgctl(&project, &["model", "add", "Tiny"], NOWHERE);
        assert!(code != 0 && error.contains(expected) && error.contains("\nhint: "), "{error}");
        assert_eq!(shelved(&project), [""; 0]);
        std::fs::remove_dir_all(&folder).expect("removed");
    };
    let remove = |name: &'static str| {
        move |folder: &Path| std::fs::remove_file(folder.join(name)).expect("removed")
    };
    let write = |name: &'static str, bytes: &'static [u8]| {
        move |folder: &Path| std::fs::write(folder.join(name), bytes).expect("written")
    };
    check(&remove("tokenizer.json"), "`<scratch>/Tiny` has no `tokenizer.json`");
    check(&remove("model.onnx"), "has no `model.onnx` or `model.safetensors`");
    check(
        &write("model.onnx", b"<html>"),
        "model file `<scratch>/Tiny/model.onnx` is no ONNX file",
    );
    check(
        &write("tokenizer.json", b"{}"),
        "model file `<scratch>/Tiny/tokenizer.json` is no tokenizer",
    );
    check(
        &|folder| {
            let mut graph = onnx::sample::Graph::default();
            let size = graph.ints(&[1 << 20, 1 << 20]);
            let out = graph.node("ConstantOfShape", &[&size], &[]);
            std::fs::write(folder.join("model.onnx"), graph.finish(&out, "x")).expect("written");
        },
        "",
    );
    let (code, _, error) = kgctl(&project, &["model", "add", "nowhere", "--name", "none"], NOWHERE);
    assert!(code == 2 && error.contains("`none` cannot be the name of a model"), "{error}");
}

#[test]
fn a_model_is_pulled_from_a_hub_and_its_absence_told() {
    let project = TestProject::empty();
    let folder = sample(&project);
    let answer = move |request: &Request| {
        let file = request.path.strip_prefix("/Some/Tiny/resolve/v2/").unwrap_or("nothing");
        std::fs::read(folder.join(file))
            .map_or(Answer::of(404, ""), |body| Answer::part_of(&body, request))
    };
    let hub = Mock::start(answer).expect("a server");
    let (code, out, error) = kgctl(&project, &["model", "pull", "Some/Tiny@v2"], &hub.url());
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    let (_, out, _) = kgctl(&project, &["model", "list", "--json"], NOWHERE);
    let listed: Value = serde_json::from_str(&out).expect("JSON");
    // After the two built-in ones.
    assert_eq!(listed[2]["name"], "tiny");
    assert_eq!(listed[2]["origin"], format!("{}/Some/Tiny@v2", hub.url()));
    let (code, _, error) = kgctl(&project, &["model", "pull", "Some/Other"], &hub.url());
    assert!(code == 3 && error.contains("config.json` does not exist\nhint: "), "{error}");
    let (code, _, error) = kgctl(&project, &["model", "pull", "nonsense"], &hub.url());
    assert!(code == 2 && error.contains("`bge-small-en-v1.5`"), "{error}");
}

/// A server that knows olives and bread.
fn server(request: &Request) -> Answer {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let texts = body["input"].as_array().expect("texts").iter();
    let count = |text: &Value, word| text.as_str().unwrap_or_default().matches(word).count();
    let rows: Vec<Value> =
        texts.map(|text| json!([count(text, "olives"), count(text, "bread"), 1])).collect();
    Answer::of(200, json!({ "embeddings": rows }).to_string())
}

#[test]
fn a_server_that_the_user_configured_makes_the_vectors() {
    let mut project = TestProject::empty();
    let mock = Mock::start(server).expect("a server");
    let key = project.scratch().join("key");
    std::fs::write(&key, "sk-very-secret-key\n").expect("written");
    configure(
        &project,
        &format!(
            "embed:\n  model: remote\n  remote:\n    api: ollama\n    url: {}\n    model: food\n    dimensions: 3\n    \
             key_file: {}\n",
            mock.url(),
            key.display()
        ),
    );
    write_notes(&project);
    project.write(
        "secret.md",
        "# Keys\n\nThe token is ghp_0123456789abcdefghijABCDEFGHIJ012345 for now.\n",
    );
    project.set("embed.background=on");
    project.start();
    embedded(&mut project);
    assert_eq!(first(&mut project, "bread").0, "bread.md");
    let requests = mock.requests();
    assert!(requests.len() >= 2, "notes and a question");
    let sent: String =
        requests.iter().map(|it| String::from_utf8_lossy(&it.body).into_owned()).collect();
    assert!(sent.contains("The token is [redacted") && !sent.contains("ghp_"), "{sent}");
    assert!(requests.iter().all(|it| it.path == "/api/embed"));
    assert!(
        requests.iter().all(|it| it.header("authorization") == Some("Bearer sk-very-secret-key"))
    );
    let most = requests.iter().filter_map(|it| serde_json::from_slice::<Value>(&it.body).ok());
    let most = most.map(|body| body["input"].as_array().map_or(0, Vec::len)).max();
    assert!(most > Some(1), "texts go together");
    // If it is gone, questions are answered without it.
    drop(mock);
    let (path, _) = first(&mut project, "olives");
    assert_eq!(path, "olives.md");
    assert!(!project.log().contains("sk-very-secret-key"), "{}", project.log());
}

#[test]
fn a_text_that_a_server_refuses_costs_no_other_its_vector() {
    let mut project = TestProject::empty();
    let is_picky = Arc::new(AtomicBool::new(true));
    let picks = is_picky.clone();
    let picky = move |request: &Request| {
        let is_of_olives = String::from_utf8_lossy(&request.body).contains("olives");
        match is_of_olives && picks.load(Ordering::SeqCst) {
            true => Answer::of(400, "no olives, please"),
            false => server(request),
        }
    };
    let mock = Mock::start(picky).expect("a server");
    write_notes(&project);
    for setting in [
        "model=remote",
        "remote.api=ollama",
        "remote.model=food",
        "remote.dimensions=3",
        "background=on",
    ] {
        project.set(&format!("embed.{setting}"));
    }
    project.set(&format!("embed.remote.url={}", mock.url()));
    project.start();
    embedded(&mut project);
    let (path, why) = first(&mut project, "bread");
    assert_eq!(path, "bread.md");
    assert!(why.starts_with("vector by food"), "{why}");
    // The question is refused, too, and answered by the static vectors.
    assert_eq!(first(&mut project, "olives").0, "olives.md");
    let embedding = project.status()["embedding"].clone();
    assert_eq!((&embedding["refused"], &embedding["state"]), (&json!(1), &json!("done")));
    let (_, out, _) = in_project(&project, &["status"]);
    assert!(out.contains("1 of them refused (`kgctl retry --all"), "{out}");
    // The server is fixed: refused texts are sent again.
    is_picky.store(false, Ordering::SeqCst);
    let (code, out, _) = in_project(&project, &["retry", "--all"]);
    assert!(code == 0 && out.starts_with("embedding: ") && !out.contains("refused"), "{out}");
    assert_eq!(project.status()["embedding"]["refused"], Value::Null);
    let (path, why) = first(&mut project, "olives");
    assert!(path == "olives.md" && why.starts_with("vector by food"), "{path} {why}");
    let (_, out, _) = in_project(&project, &["retry", "--all"]);
    assert!(out.contains("nothing has failed"), "{out}");
}

#[test]
fn a_folder_may_send_nothing_anywhere() {
    for (setting, key) in [
        ("remote:\n    url: http://evil.example", "embed.remote.url"),
        ("remote:\n    key_file: /etc/passwd", "embed.remote.key_file"),
        ("model: remote", "embed.model"),
        ("hub: http://evil.example", "embed.hub"),
    ] {
        let mut project = TestProject::empty();
        project.write("kg.yaml", format!("embed:\n  {setting}\n"));
        let ended = project.try_start().expect_err("a refusal");
        assert!(ended.log.contains(&format!("`{key}` cannot be set by a folder")), "{}", ended.log);
    }
}
