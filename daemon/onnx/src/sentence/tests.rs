use super::*;
use crate::sample::{Graph, wordpiece_json};
use serde_json::{Value, json};

#[test]
fn vectors_have_length_one_or_are_zeros() {
    assert_eq!(unit(vec![3.0, 4.0]), [0.6, 0.8]);
    assert_eq!(unit(vec![0.0, 0.0]), [0.0, 0.0]);
    assert_eq!(unit(vec![f32::NAN, 1.0]), [0.0, 0.0]);
    assert_eq!(unit(vec![f32::INFINITY, 1.0]), [0.0, 0.0]);
}

/// What each piece's vector is: `[CLS]` says 1 in the first component, `a` in the second, `b` in the third, `:` in the
/// fourth.
const PIECES: [&str; 6] = ["[UNK]", "[CLS]", "[SEP]", "a", "b", ":"];
const ROWS: [f32; 24] = [
    0.0, 0.0, 0.0, 0.0, //
    1.0, 0.0, 0.0, 0.0, //
    0.0, 0.0, 0.0, 0.0, //
    0.0, 1.0, 0.0, 0.0, //
    0.0, 0.0, 1.0, 0.0, //
    0.0, 0.0, 0.0, 1.0, //
];

/// A model that looks its pieces up, with these files beside it.
fn folder(files: &[(&str, Value)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let mut graph = Graph::default();
    let table = graph.floats(&[6, 4], &ROWS);
    let rows = graph.node("Gather", &[&table, "input_ids"], &[]);
    let write = |name: &str, bytes: Vec<u8>| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
        std::fs::write(path, bytes).expect("written");
    };
    write("model.onnx", graph.finish(&rows, "last_hidden_state"));
    write("tokenizer.json", wordpiece_json(&PIECES.map(String::from)).into_bytes());
    write(
        "config.json",
        json!({ "model_type": "bert", "max_position_embeddings": 8 }).to_string().into_bytes(),
    );
    files.iter().for_each(|(name, value)| write(name, value.to_string().into_bytes()));
    dir
}

fn near(vector: &[f32], expected: &[f32]) {
    let differ = vector.iter().zip(expected).any(|(left, right)| (left - right).abs() > 1e-6);
    assert!(vector.len() == expected.len() && !differ, "{vector:?}, not {expected:?}");
}

#[test]
fn the_folder_says_how_tokens_are_pooled() {
    let mean = folder(&[]);
    let mean = SentenceModel::load(mean.path()).expect("a model");
    near(&mean.embed("a a b").expect("a vector"), &[0.408_248_3, 0.816_496_6, 0.408_248_3, 0.0]);
    let first = folder(&[("1_Pooling/config.json", json!({ "pooling_mode_cls_token": true }))]);
    let first = SentenceModel::load(first.path()).expect("a model");
    near(&first.embed("a a b").expect("a vector"), &[1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn the_longest_text_is_the_least_that_any_file_says() {
    let all = SentenceModel::load(folder(&[]).path()).expect("a model");
    let short = folder(&[("sentence_bert_config.json", json!({ "max_seq_length": 4 }))]);
    let short = SentenceModel::load(short.path()).expect("a model");
    assert_eq!((all.max_tokens(), short.max_tokens()), (8, 4));
    near(&short.embed("a a b b b").expect("a vector"), &short.embed("a a").expect("a vector"));
    near(
        &all.embed("a b b b b b a").expect("a vector"),
        &all.embed("a b b b b b").expect("a vector"),
    );
}

#[test]
fn questions_and_documents_have_prompts_of_their_own() {
    let config = json!({ "prompts": { "query": "b: ", "document": ": " } });
    let dir = folder(&[("config_sentence_transformers.json", config)]);
    let model = SentenceModel::load(dir.path()).expect("a model");
    near(&model.embed_query("a").expect("a vector"), &model.embed("b: a").expect("a vector"));
    near(&model.embed_document("a").expect("a vector"), &model.embed(": a").expect("a vector"));
    let prompts = Prompts { query: "a a ".to_string(), document: String::new() };
    let wanted = Wanted { prompts, ..Wanted::default() };
    let model = SentenceModel::load_as(dir.path(), wanted).expect("a model");
    near(&model.embed_query("a").expect("a vector"), &model.embed("a a a").expect("a vector"));
    near(&model.embed_document("a").expect("a vector"), &model.embed(": a").expect("a vector"));
}

#[test]
fn fewer_dimensions_have_length_one_again() {
    let dir = folder(&[]);
    let cut =
        |n| SentenceModel::load_as(dir.path(), Wanted { dimensions: Some(n), ..Wanted::default() });
    let two = cut(2).expect("a model");
    assert_eq!(two.n_dimensions(), 2);
    near(&two.embed("a a b b b").expect("a vector"), &[0.447_213_6, 0.894_427_2]);
    let error = cut(5).map(|_| ()).expect_err("too many").to_string();
    assert!(error.contains("gives 4 dimensions, fewer than 5\nhint: "), "{error}");
}

#[test]
fn the_model_is_found_wherever_exporters_put_it() {
    let dir = folder(&[]);
    let (from, inner) = (dir.path().join("model.onnx"), dir.path().join("onnx"));
    std::fs::create_dir(&inner).expect("made");
    std::fs::rename(&from, inner.join("model.onnx")).expect("moved");
    assert!(SentenceModel::load(dir.path()).is_ok());
    std::fs::rename(inner.join("model.onnx"), inner.join("model_int8.onnx")).expect("moved");
    assert!(SentenceModel::load(dir.path()).is_ok());
    std::fs::copy(inner.join("model_int8.onnx"), inner.join("model_q4.onnx")).expect("copied");
    let error = SentenceModel::load(dir.path()).map(|_| ()).expect_err("which?").to_string();
    assert!(
        error.contains("is one of 2 models of the folder\nhint: ") && error.contains("--file"),
        "{error}"
    );
    std::fs::remove_dir_all(&inner).expect("removed");
    let error = SentenceModel::load(dir.path()).map(|_| ()).expect_err("none").to_string();
    assert!(error.contains("model.onnx` is missing\nhint: the folder needs"), "{error}");
    std::fs::write(dir.path().join("model.safetensors"), "x").expect("written");
    let error = SentenceModel::load(dir.path()).map(|_| ()).expect_err("none").to_string();
    assert!(error.contains("`kgctl model add FOLDER` converts"), "{error}");
}

/// Mean, two dense layers without bias, prompts, and fewer dimensions, as EmbeddingGemma's folder has them.
#[test]
fn a_folder_like_embedding_gemmas_is_read_in_all_its_parts() {
    let module = |path: &str, kind: &str| json!({ "path": path, "type": format!("sentence_transformers.models.{kind}") });
    let dense = |n_in, n_out| {
        json!({ "in_features": n_in, "out_features": n_out, "bias": false,
                "activation_function": "torch.nn.modules.linear.Identity" })
    };
    let dir = folder(&[
        (
            "modules.json",
            json!([
                module("", "Transformer"),
                module("1_Pooling", "Pooling"),
                module("2_Dense", "Dense"),
                module("3_Dense", "Dense"),
                module("4_Normalize", "Normalize"),
            ]),
        ),
        (
            "1_Pooling/config.json",
            json!({ "pooling_mode_mean_tokens": true, "include_prompt": true }),
        ),
        ("2_Dense/config.json", dense(4, 5)),
        ("3_Dense/config.json", dense(5, 4)),
        (
            "config_sentence_transformers.json",
            json!({ "prompts": { "query": "b: ", "document": ": " } }),
        ),
    ]);
    // The first layer keeps all components and adds one; the second swaps the second and the third.
    let rows = |n_in: usize, order: &[usize]| -> Vec<u8> {
        let row = |hot: usize| (0..n_in).map(move |at| if at == hot { 1f32 } else { 0f32 });
        order.iter().flat_map(|&hot| row(hot)).flat_map(f32::to_le_bytes).collect()
    };
    for (name, n_in, order) in [("2_Dense", 4, &[0, 1, 2, 3, 0][..]), ("3_Dense", 5, &[0, 2, 1, 3])]
    {
        let bytes = rows(n_in, order);
        let view = safetensors::tensor::TensorView::new(
            safetensors::Dtype::F32,
            vec![order.len(), n_in],
            &bytes,
        );
        let file =
            safetensors::serialize([("linear.weight", view.expect("sound"))], None).expect("bytes");
        std::fs::write(dir.path().join(name).join("model.safetensors"), file).expect("written");
    }
    assert_eq!(SentenceModel::declared_dimensions(dir.path()), Ok(Some(4)));
    let whole = SentenceModel::load(dir.path()).expect("a model");
    // `[CLS] : a a [SEP]`, with the sums of `a` and `b` swapped.
    near(
        &whole.embed_document("a a").expect("a vector"),
        &[0.408_248_3, 0.0, 0.816_496_6, 0.408_248_3],
    );
    let cut =
        SentenceModel::load_as(dir.path(), Wanted { dimensions: Some(3), ..Wanted::default() });
    let cut = cut.expect("a model");
    near(&cut.embed_document("a a").expect("a vector"), &[0.447_213_6, 0.0, 0.894_427_2]);
    // `[CLS] b : a a [SEP]`.
    near(&cut.embed_query("a a").expect("a vector"), &[0.408_248_3, 0.408_248_3, 0.816_496_6]);
}
