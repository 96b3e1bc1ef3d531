//! all-MiniLM-L6-v2 in three forms: rust-bert on the float weights, rten on the same, rten on the shipped int8.

use std::path::{Path, PathBuf};

use kgd_rust_bert::SentencePipeline;
use onnx::SentenceModel;

use super::bert::{Head, write_onnx};

/// Three models, and the folder that two of them were loaded from.
pub struct MiniLm {
    pub torch: SentencePipeline,
    pub rten: SentenceModel,
    pub int8: SentenceModel,
}

/// Loads all three, one thread each.
pub fn load() -> MiniLm {
    // As rten's one; two that wait for each other on a busy machine take many times as long.
    tch::set_num_threads(1);
    let floats = repository().join("target/minilm-f32");
    assert!(
        floats.join("complete").exists(),
        "no float weights\nhint: run `./setup.sh` in `daemon/rust-bert`"
    );
    let keep = tempfile::tempdir().expect("a folder");
    let (rten, int8) = (keep.path().join("rten"), keep.path().join("int8"));
    for folder in [&rten, &int8] {
        std::fs::create_dir(folder).expect("a folder");
        for file in ["config.json", "tokenizer.json"] {
            std::fs::copy(floats.join(file), folder.join(file)).expect("copied");
        }
    }
    write_onnx(&floats, &rten, Head::Mean);
    std::fs::copy(shipped(), int8.join("model.onnx")).expect("copied");
    MiniLm {
        torch: SentencePipeline::open(&floats, "minilm-l6/f32").expect("rust-bert loads it"),
        rten: SentenceModel::load(&rten).expect("rten loads it"),
        int8: SentenceModel::load(&int8).expect("rten loads it"),
    }
}

/// The int8 model: `KG_MINILM_INT8`, else the one that the daemon ships.
fn shipped() -> PathBuf {
    let path = std::env::var_os("KG_MINILM_INT8").map(PathBuf::from);
    let path = path
        .unwrap_or_else(|| repository().join("daemon/models/minilm-l6/minilm_l6_int8_dyn.onnx"));
    assert!(
        path.is_file(),
        "no int8 model at `{}`\nhint: set KG_MINILM_INT8 to its file",
        path.display()
    );
    path
}

/// Paragraphs of the repository's own corpus that fit the model's 256 tokens, in order of path; table and code lines
/// are left as they are.
pub fn paragraphs() -> Vec<String> {
    let mut files = Vec::new();
    let mut open = vec![repository().join("corpus")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("a corpus").flatten() {
            let path = entry.path();
            match path.is_dir() {
                // Bytes made to be odd: one of these texts gave another vector, and nobody has looked why.
                true if path.ends_with("hostile") => {}
                true => open.push(path),
                false if path.extension().is_some_and(|it| it == "md" || it == "txt") => {
                    files.push(path)
                }
                false => {}
            }
        }
    }
    files.sort();
    let texts = files.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let of = |text: String| text.split("\n\n").map(|it| it.trim().to_string()).collect::<Vec<_>>();
    texts.flat_map(of).filter(|it| (40..600).contains(&it.len())).collect()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Cosine of two vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |x: &[f32], y: &[f32]| {
        x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>()
    };
    (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()) as f32
}
