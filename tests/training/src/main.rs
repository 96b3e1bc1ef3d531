//! Trains the classifier of names by kind (`daemon/extract/src/recognize/typing/`).
//!
//! `cargo run --release -p training -- names DATA CORPUS NAMES FOLDER...` writes the names that kgd finds in the marked
//! texts of `DATA` and `CORPUS` and in the Markdown and module documentation below the folders; `… -- types NAMES SAID
//! OUT [--KEY=NUMBER...]` trains what tells their kinds from them and from what `teacher.py` says of them.
//!
//! Of `DATA/redocred`, documents 0 to 399 are trained on.

#![allow(clippy::print_stdout, reason = "a trainer prints its progress")]

mod marked;
mod net;
mod reader;
mod sets;
mod typing;

use std::path::Path;

use anyhow::{Context as _, Result};

struct Options(Vec<String>);

impl Options {
    fn number(&self, key: &str, default: f32) -> Result<f32> {
        let prefix = format!("--{key}=");
        let value = self.0.iter().find_map(|it| it.strip_prefix(&prefix));
        value.map_or(Ok(default), |it| it.parse().with_context(|| format!("`{key}` is no number")))
    }
}

fn main() -> Result<()> {
    let (options, places): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|it| it.starts_with("--"));
    let options = Options(options);
    match places.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["names", data, corpus, out, folders @ ..] => {
            let folders: Vec<&Path> = folders.iter().map(Path::new).collect();
            typing::names::write(Path::new(data), Path::new(corpus), &folders, Path::new(out))
        }
        ["types", names, judgements, out] => {
            typing::train(Path::new(names), Path::new(judgements), Path::new(out), &options)
        }
        _ => anyhow::bail!(
            "what? hint: training names DATA CORPUS NAMES FOLDER..., or training types NAMES SAID OUT [--KEY=NUMBER...]"
        ),
    }
}
