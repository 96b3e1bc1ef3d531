//! Models computed by rust-bert (libtorch), behind kgd's own traits: a daemon's `Recognizer` over a
//! token-classification pipeline, an `Embedder` over a sentence-embedding one.
//!
//! In: folders with `config.json`, `vocab.txt` and `model.safetensors`. Out: names, vectors.
//! Invariants: a folder that cannot be used is an error, never a panic; a pipeline is used by one thread at a time.
//! This crate is a workspace of its own because libtorch 2.4 takes 0.5 GB and the build of `tch` knows how to download
//! it; see README.md for what it is good for.

mod names;
mod sentences;

pub use names::NamePipeline;
pub use sentences::SentencePipeline;

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "rust-bert cannot use `{folder}`: {why}\n\
     hint: it needs `config.json`, `vocab.txt` and `model.safetensors` of a BERT model"
)]
pub struct PipelineError {
    folder: String,
    why: String,
}

impl PipelineError {
    fn new(folder: &std::path::Path, why: impl std::fmt::Display) -> Self {
        PipelineError { folder: folder.display().to_string(), why: why.to_string() }
    }
}

/// Runs code of rust-bert, which panics on files that are missing or of another shape.
fn caught<T, E: std::fmt::Display>(run: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            Err(format!("it gave up: {}", text.unwrap_or("no reason given")))
        }
    }
}
