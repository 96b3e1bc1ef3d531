//! Sets: reads the files of the training sets.
//!
//! In: paths of files, packed or not. Out: their rows, text and places.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub(crate) fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = unpacked(path)?;
    text.lines().filter(|l| !l.is_empty()).map(|line| Ok(serde_json::from_str(line)?)).collect()
}

pub(crate) fn unpacked(path: &Path) -> Result<String> {
    if path.extension().is_none_or(|it| it != "xz") {
        return std::fs::read_to_string(path).with_context(|| path.display().to_string());
    }
    output_of(Command::new("xz").arg("-dc").arg(path))
}

/// Returns the files of an archive that match a pattern, concatenated.
pub(crate) fn unpacked_tar(path: &Path, pattern: &str) -> Result<String> {
    output_of(Command::new("tar").arg("-xJOf").arg(path).arg("--wildcards").arg(pattern))
}

fn output_of(command: &mut Command) -> Result<String> {
    let what = format!("{command:?}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| what.clone())?;
    let mut text = String::new();
    child.stdout.take().context("a pipe")?.read_to_string(&mut text)?;
    ensure!(child.wait()?.success(), "{what} failed");
    Ok(text)
}

/// Joins tokens with blanks; returns the text and the span of each token.
pub(crate) fn joined<'a>(tokens: impl Iterator<Item = &'a str>) -> (String, Vec<(usize, usize)>) {
    let (mut text, mut spans) = (String::new(), Vec::new());
    for token in tokens {
        if !text.is_empty() {
            text.push(' ');
        }
        spans.push((text.len(), text.len() + token.len()));
        text.push_str(token);
    }
    (text, spans)
}

/// Returns where the surfaces of a cell, separated by `|`, occur as whole words.
pub(crate) fn places_of(text: &str, surfaces: Option<&String>) -> Vec<(usize, usize)> {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut places = Vec::new();
    for surface in surfaces.into_iter().flat_map(|it| it.split('|')).filter(|it| !it.is_empty()) {
        for (at, _) in text.match_indices(surface) {
            let end = at + surface.len();
            let before = text.get(..at).and_then(|it| it.chars().next_back());
            let after = text.get(end..).and_then(|it| it.chars().next());
            if !is_part(before) && !is_part(after) {
                places.push((at, end));
            }
        }
    }
    places
}
