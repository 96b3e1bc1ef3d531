//! Compares sentence models of folders: how close their vectors are to the first one's, and how fast they are computed.
//!
//! `cargo run --release -p onnx --example compare -- TEXTS FOLDER...`, where TEXTS is a file with one text per line.
//! With `:int8` or `:float` after a folder, its `model.safetensors` is converted first. `:rten` or, with the feature
//! `ort` and `ORT_DYLIB_PATH`, `:ort` at the very end selects the runtime (`rten` by default).

#![allow(clippy::print_stdout, reason = "it prints its table")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use onnx::{ModelError, Precision, Runtime, SentenceModel, Wanted, convert};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let texts = std::fs::read_to_string(arguments.next().ok_or("which texts?")?)?;
    let texts: Vec<&str> = texts.lines().filter(|line| !line.is_empty()).collect();
    let mut first: Option<Vec<Vec<f32>>> = None;
    println!("{:<50} {:>6} {:>8} {:>8} {:>8}", "model", "dims", "texts/s", "least", "mean");
    for name in arguments {
        let model = open(&name)?;
        let began = Instant::now();
        let vectors: Vec<Vec<f32>> =
            texts.iter().map(|text| model.embed_document(text)).collect::<Result<_, _>>()?;
        let rate = texts.len() as f64 / began.elapsed().as_secs_f64();
        let against = first.get_or_insert_with(|| vectors.clone());
        let cosines: Vec<f32> =
            vectors.iter().zip(against.iter()).map(|(left, right)| cosine(left, right)).collect();
        let least = cosines.iter().copied().fold(1.0, f32::min);
        let mean = cosines.iter().sum::<f32>() / cosines.len().max(1) as f32;
        let dims = model.n_dimensions();
        println!("{name:<50} {dims:>6} {rate:>8.1} {least:>8.5} {mean:>8.5}");
    }
    Ok(())
}

fn open(name: &str) -> Result<SentenceModel, ModelError> {
    let (name, runtime) = match name.strip_suffix(":ort") {
        Some(rest) => (rest, Runtime::Ort),
        None => (name.strip_suffix(":rten").unwrap_or(name), Runtime::Rten),
    };
    let wanted = Wanted { runtime: Some(runtime), ..Wanted::default() };
    let (folder, how) = name.rsplit_once(':').unwrap_or((name, ""));
    let folder = Path::new(folder);
    let precision = match how {
        "int8" => Precision::Int8,
        "float" => Precision::Float,
        _ => return SentenceModel::load_as(folder, wanted),
    };
    let copy = copied(folder, how);
    convert(folder, &copy.join("model.onnx"), precision)?;
    SentenceModel::load_as(&copy, wanted)
}

/// A folder for the converted model, with links to everything else.
fn copied(folder: &Path, how: &str) -> PathBuf {
    let copy = std::env::temp_dir().join(format!("kgd-compare-{}-{how}", std::process::id()));
    let _ = std::fs::create_dir_all(&copy);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let _ = std::os::unix::fs::symlink(entry.path(), copy.join(entry.file_name()));
    }
    copy
}

fn cosine(left: &[f32], right: &[f32]) -> f32 {
    // All vectors have length 1, so the dot product is the cosine.
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}
