use super::*;
use serde_json::json;

/// A folder with these files.
fn folder(files: &[(&str, Value)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, value) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
        std::fs::write(path, value.to_string()).expect("written");
    }
    dir
}

fn recipe(files: &[(&str, Value)]) -> Result<Recipe, ModelError> {
    Recipe::read(&Folder(folder(files).path()))
}

fn modules(last: &str, path: &str) -> Value {
    let module =
        |path: &str, kind: &str| json!({ "idx": 0, "name": "0", "path": path, "type": kind });
    json!([
        module("", "sentence_transformers.models.Transformer"),
        module("1_Pooling", "sentence_transformers.models.Pooling"),
        module(path, last),
    ])
}

#[test]
fn nothing_said_means_the_mean() {
    let recipe = recipe(&[]).expect("a recipe");
    assert_eq!((recipe.pooling, recipe.max_tokens), (Pooling::Mean, None));
    assert_eq!(recipe.prompts, Prompts::default());
}

#[test]
fn pooling_in_old_and_new_words() {
    let table = [
        (
            json!({ "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false }),
            Pooling::First,
        ),
        (
            json!({ "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true }),
            Pooling::Mean,
        ),
        (json!({ "pooling_mode_max_tokens": true }), Pooling::Max),
        (json!({ "pooling_mode_lasttoken": true, "include_prompt": true }), Pooling::Last),
        (json!({ "pooling_mode": "cls" }), Pooling::First),
    ];
    for (config, expected) in table {
        let recipe = recipe(&[("1_Pooling/config.json", config.clone())]).expect("a recipe");
        assert_eq!(recipe.pooling, expected, "{config}");
    }
}

#[test]
fn what_is_not_known_is_an_error() {
    let two = json!({ "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true });
    let table = [
        ("the pooling `cls_token` with `mean_tokens`", vec![("1_Pooling/config.json", two)]),
        (
            "wants prompts left out",
            vec![("1_Pooling/config.json", json!({ "include_prompt": false }))],
        ),
        (
            "a step that kgd does not know, `sentence_transformers.models.CNN`",
            vec![("modules.json", modules("sentence_transformers.models.CNN", "2_CNN"))],
        ),
        (
            "has `../2_Dense` where",
            vec![("modules.json", modules("sentence_transformers.models.Dense", "../2_Dense"))],
        ),
        (
            "2_Dense/config.json` cannot be read",
            vec![("modules.json", modules("x.Dense", "2_Dense"))],
        ),
        ("is no configuration", vec![("modules.json", json!({}))]),
    ];
    for (part, files) in table {
        let error = recipe(&files).expect_err(part).to_string();
        assert!(error.contains(part) && error.contains("\nhint: "), "{error}");
    }
}

#[test]
fn longest_input_and_prompts_are_read() {
    // As EmbeddingGemma's files have them.
    let prompts = json!({
        "query": "task: search result | query: ",
        "document": "title: none | text: ",
        "Clustering": "task: clustering | query: ",
    });
    let recipe = recipe(&[
        ("modules.json", modules("sentence_transformers.models.Normalize", "4_Normalize")),
        ("sentence_bert_config.json", json!({ "max_seq_length": 2048, "do_lower_case": false })),
        (
            "config_sentence_transformers.json",
            json!({ "prompts": prompts, "default_prompt_name": null }),
        ),
    ])
    .expect("a recipe");
    assert_eq!(recipe.max_tokens, Some(2048));
    assert_eq!(recipe.prompts.query, "task: search result | query: ");
    assert_eq!(recipe.prompts.document, "title: none | text: ");
}

#[test]
fn a_default_prompt_stands_in_for_one_that_is_not_named() {
    let config =
        json!({ "prompts": { "query": "Q: ", "other": "X: " }, "default_prompt_name": "other" });
    let recipe = recipe(&[("config_sentence_transformers.json", config)]).expect("a recipe");
    assert_eq!((&*recipe.prompts.query, &*recipe.prompts.document), ("Q: ", "X: "));
}

#[test]
fn pooling_by_eye() {
    let rows = [1.0, -2.0, 3.0, 4.0, 5.0, 0.0];
    assert_eq!(Pooling::Mean.pool(&rows, 2), [3.0, 2.0 / 3.0]);
    assert_eq!(Pooling::Max.pool(&rows, 2), [5.0, 4.0]);
    assert_eq!(Pooling::First.pool(&rows, 2), [1.0, -2.0]);
    assert_eq!(Pooling::Last.pool(&rows, 2), [5.0, 0.0]);
    assert_eq!(Pooling::Mean.pool(&[], 2), [0.0, 0.0]);
    assert!(Pooling::First.pool(&[], 2).is_empty());
}

#[test]
fn dense_layers_follow_the_pooling() {
    let numbers =
        |numbers: &[f32]| numbers.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let (weight, bias) = (numbers(&[1.0, 2.0, 0.0, -1.0]), numbers(&[0.5, 0.0]));
    let view = |shape: &[usize], data| {
        safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.to_vec(), data)
            .expect("sound")
    };
    let tensors = [("linear.weight", view(&[2, 2], &weight)), ("linear.bias", view(&[2], &bias))];
    let layer = |activation: &str| {
        let config = json!({ "in_features": 2, "out_features": 2, "bias": true, "activation_function": activation });
        let dir = folder(&[
            ("modules.json", modules("sentence_transformers.models.Dense", "2_Dense")),
            ("2_Dense/config.json", config),
        ]);
        let bytes = safetensors::serialize(tensors.clone(), None).expect("bytes");
        std::fs::write(dir.path().join("2_Dense/model.safetensors"), bytes).expect("written");
        let recipe = Recipe::read(&Folder(dir.path()))?;
        recipe.dense[0].apply(&[1.0, 3.0], dir.path())
    };
    let none = layer("torch.nn.modules.linear.Identity").expect("a vector");
    assert_eq!(none, [7.5, -3.0]);
    assert_eq!(layer("torch.nn.modules.activation.ReLU").expect("a vector"), [7.5, 0.0]);
    assert_eq!(layer("torch.nn.modules.activation.Tanh").expect("a vector")[1], (-3.0f32).tanh());
    let error = layer("torch.nn.modules.activation.SiLU").expect_err("unknown").to_string();
    assert!(error.contains("wants the activation `torch.nn.modules.activation.SiLU`"), "{error}");
}
