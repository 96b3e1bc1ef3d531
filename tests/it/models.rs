//! Models chosen by the user: names found end to end, and folders that contain no model.

use tests::TestProject;

const PIECES: &[(&str, &str)] =
    &[("ada", "B-PER"), ("lovelace", "I-PER"), ("Zorvik", "B-LOC"), ("Kernel", "B-SOFTWARE")];

fn with_model() -> TestProject {
    let mut project = TestProject::empty();
    let folder = project.scratch().join("model");
    onnx::sample::write_tagger(&folder, PIECES).expect("written");
    project.set(&format!("recognize.model={}", folder.display()));
    project
}

#[test]
fn names_that_only_the_users_model_knows_become_entities() {
    let mut project = with_model();
    project.write("a.md", "# Engines\n\nIn the end ada lovelace went to Zorvik by train.\n");
    project.start();
    project.settle();
    let entities = project.dump().lines("entity");
    assert!(entities.contains("entity ada lovelace type=Person"), "{entities}");
    assert!(entities.contains("entity Zorvik type=Location"), "{entities}");
    project.verify("with a model");
}

#[test]
fn another_model_means_another_index() {
    let mut project = with_model();
    project.write("a.md", "# Engines\n\nThey were made in Zorvik by hand.\n");
    project.start();
    project.settle();
    assert!(project.dump().lines("entity").contains("entity Zorvik type=Location"));
    project.stop();
    let folder = project.scratch().join("model");
    onnx::sample::write_tagger(&folder, &[("Zorvik", "B-ORG")]).expect("written");
    project.start();
    project.settle();
    let entities = project.dump().lines("entity");
    assert!(entities.contains("entity Zorvik type=Organization"), "{entities}");
}

#[test]
fn a_folder_that_is_no_model_ends_the_start_with_a_hint() {
    let mut project = with_model();
    let folder = project.scratch().join("model");
    for (file, bytes) in [
        ("model.onnx", &b"\x08\x08\x3a\xff\xff\xff\xff\x7f"[..]),
        ("tokenizer.json", b"{}"),
        ("config.json", b"{\"id2label\": {\"0\": \"LABEL_0\"}}"),
    ] {
        onnx::sample::write_tagger(&folder, PIECES).expect("written");
        std::fs::write(folder.join(file), bytes).expect("written");
        let ended = project.try_start().expect_err("a refusal");
        let expected =
            format!("`recognize.model` cannot be used: model file `{}/{file}`", folder.display());
        assert!(ended.log.contains(&expected) && ended.log.contains("\nhint: "), "{}", ended.log);
        assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    }
}

#[test]
fn a_graph_that_asks_for_all_memory_ends_the_start_with_a_hint_and_nothing_else() {
    let mut project = with_model();
    let folder = project.scratch().join("model");
    let mut graph = onnx::sample::Graph::default();
    let size = graph.ints(&[1 << 20, 1 << 20]);
    let out = graph.node("ConstantOfShape", &[&size], &[]);
    std::fs::write(folder.join("model.onnx"), graph.finish(&out, "logits")).expect("written");
    let ended = project.try_start().expect_err("a refusal");
    assert!(ended.log.contains("`recognize.model` cannot be used: "), "{}", ended.log);
    assert!(ended.log.contains("\nhint: "), "{}", ended.log);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
}

#[test]
fn a_folder_may_not_choose_the_model() {
    let mut project = TestProject::empty();
    project.write("kg.yaml", "recognize:\n  model: /tmp/evil\n");
    let ended = project.try_start().expect_err("a refusal");
    assert!(
        ended.log.contains("kg.yaml:2: `recognize.model` cannot be set by a folder"),
        "{}",
        ended.log
    );
}
