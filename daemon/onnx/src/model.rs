//! Model: one ONNX graph from token ids to numbers.
//!
//! In: the file; ids of one window. Out: shape and numbers of one output: the first one that the caller names, else the
//! model's first.
//! Invariants: inputs are matched by name at load; a run never panics; one thread computes, with its caller's priority.

use std::path::{Path, PathBuf};

use crate::ModelError;
use crate::error::caught;
use crate::runtime::{self, Engine, Output, Place, Runtime};

const UNSUITED: &str = "kgd runs models that take `input_ids`, `attention_mask` and `token_type_ids`, such as BERT, \
     DistilBERT, RoBERTa and DeBERTa";

/// A loaded graph.
pub(crate) struct Model {
    path: PathBuf,
    engine: Box<dyn Engine>,
    inputs: Vec<(String, Input)>,
    output: String,
}

/// The contents of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Ids,
    /// Ones: every token counts, since windows are never padded.
    Mask,
    /// 1 where a token belongs to the second of two texts, else 0.
    Kinds,
    /// 0, 1, 2 and so on.
    Positions,
}

impl Model {
    /// Loads a file whose size was checked; `outputs` names the outputs to use, best first.
    pub(crate) fn load(
        path: &Path,
        outputs: &[&str],
        wanted: Option<Runtime>,
    ) -> Result<Self, ModelError> {
        Self::load_from(path, outputs, Place::File(path), wanted)
    }

    /// Loads a file from memory; errors name it `path`.
    pub(crate) fn from_bytes(
        path: &Path,
        outputs: &[&str],
        bytes: &'static [u8],
    ) -> Result<Self, ModelError> {
        Self::load_from(path, outputs, Place::Memory(bytes), None)
    }

    /// Loads an unpacked file of our own by mapping it; errors name it `path`.
    pub(crate) fn mapped(path: &Path, outputs: &[&str]) -> Result<Self, ModelError> {
        Self::load_from(path, outputs, Place::Mapped(path), None)
    }

    /// Loads a file that was unpacked in memory; errors name it `path`.
    pub(crate) fn unpacked(
        path: &Path,
        outputs: &[&str],
        bytes: &[u8],
    ) -> Result<Self, ModelError> {
        Self::load_from(path, outputs, Place::Bytes(bytes), None)
    }

    fn load_from(
        path: &Path,
        outputs: &[&str],
        place: Place<'_>,
        wanted: Option<Runtime>,
    ) -> Result<Self, ModelError> {
        let wrong = |why: String| ModelError::new(path, why, UNSUITED);
        let engine = caught(|| runtime::load(place, wanted))
            .map_err(|why| wrong(format!("is no ONNX model that kgd can run: {why}")))?;
        let mut inputs = Vec::new();
        for name in engine.inputs() {
            let input =
                input_of(&name).ok_or_else(|| wrong(format!("wants the input `{name}`")))?;
            inputs.push((name, input));
        }
        if !inputs.iter().any(|(_, input)| *input == Input::Ids) {
            return Err(wrong("has no input `input_ids`".to_string()));
        }
        let given = engine.outputs();
        let known = outputs.iter().find_map(|name| given.iter().find(|it| it == name));
        let output = known.or(given.first()).cloned();
        let output = output.ok_or_else(|| wrong("has no output".to_string()))?;
        Ok(Model { path: path.to_path_buf(), engine, inputs, output })
    }

    /// Runs the graph over one window.
    pub(crate) fn run(&self, ids: &[u32]) -> Result<Output, ModelError> {
        self.run_of_kinds(ids, &[])
    }

    /// Runs the graph over one window of two texts: `kinds` is 1 where a token belongs to the second one. Without
    /// kinds, all tokens belong to the first.
    pub(crate) fn run_of_kinds(&self, ids: &[u32], kinds: &[u32]) -> Result<Output, ModelError> {
        let row = |input: Input| -> Vec<i32> {
            match input {
                Input::Ids => ids.iter().map(|&id| i32::try_from(id).unwrap_or(0)).collect(),
                Input::Mask => vec![1; ids.len()],
                Input::Kinds if kinds.len() == ids.len() => {
                    kinds.iter().map(|&kind| i32::try_from(kind).unwrap_or(0)).collect()
                }
                Input::Kinds => vec![0; ids.len()],
                Input::Positions => (0..).take(ids.len()).collect(),
            }
        };
        let inputs: Vec<(&str, Vec<i32>)> =
            self.inputs.iter().map(|(name, input)| (name.as_str(), row(*input))).collect();
        caught(|| self.engine.run(&inputs, &self.output))
            .map_err(|why| self.error(format!("could not be run: {why}")))
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an error about this model.
    pub(crate) fn error(&self, why: impl Into<String>) -> ModelError {
        ModelError::new(&self.path, why, UNSUITED)
    }
}

fn input_of(name: &str) -> Option<Input> {
    match name {
        "input_ids" => Some(Input::Ids),
        "attention_mask" => Some(Input::Mask),
        "token_type_ids" => Some(Input::Kinds),
        "position_ids" => Some(Input::Positions),
        _ => None,
    }
}
