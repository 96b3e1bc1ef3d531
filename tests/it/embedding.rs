//! Embedding models that the user brought: folders, names of a hub, servers; added by `kgctl`, used by the daemon.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::TestProject;
use web::mock::{Answer, Mock, Request};

/// What a shell sees of a `kgctl` command: exit code, output, errors.
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

/// A model of three dimensions: what is about olives, about bread, and the rest.
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

/// The user's own settings.
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
    // It is a copy.
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
    assert_eq!((code, error.lines().next()), (2, Some("error: your settings name `tiny`")));
    let (code, out, _) = kgctl(&project, &["model", "remove", "tiny", "--force"], NOWHERE);
    assert_eq!((code, out.as_str()), (0, "tiny: removed\n"));
    project.stop();
    let ended = project.try_start().expect_err("a refusal");
    assert!(
        ended.log.contains("`embed.model` is `tiny`: there is no such model\nhint: "),
        "{}",
        ended.log
    );
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

/// Names in the folder of models.
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
    assert_eq!(listed[1]["name"], "tiny");
    assert_eq!(listed[1]["origin"], format!("{}/Some/Tiny@v2", hub.url()));
    let (code, _, error) = kgctl(&project, &["model", "pull", "Some/Other"], &hub.url());
    assert!(code == 3 && error.contains("config.json` is not there\nhint: "), "{error}");
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
    // When it is gone, questions are answered without it.
    drop(mock);
    let (path, _) = first(&mut project, "olives");
    assert_eq!(path, "olives.md");
    assert!(!project.log().contains("sk-very-secret-key"), "{}", project.log());
}

#[test]
fn a_text_that_a_server_refuses_costs_no_other_its_vector() {
    let mut project = TestProject::empty();
    let picky = |request: &Request| match String::from_utf8_lossy(&request.body).contains("olives")
    {
        true => Answer::of(400, "no olives, please"),
        false => server(request),
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
        assert!(
            ended.log.contains(&format!("`{key}` may not be set by a folder")),
            "{}",
            ended.log
        );
    }
}
