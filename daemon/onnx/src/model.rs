//! Model: one ONNX graph that takes token ids and gives numbers.
//!
//! In: the file; ids of one window. Out: the shape and numbers of one output: the first that the caller knows by name,
//! else the first.
//! Invariants: inputs are known by name at load; a run never panics; one thread computes, with its caller's priority.
//! Not here: tokens (`tokens.rs`), what the numbers mean (`tagger.rs`, `sentence.rs`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rten::{ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use crate::ModelError;
use crate::error::caught;

const UNSUITED: &str = "kgd runs models that take `input_ids`, `attention_mask` and `token_type_ids`, such as BERT, \
     DistilBERT, RoBERTa and DeBERTa";

thread_local! {
    /// A pool of one thread for each thread that asks, made when it first asks: it has the asker's priority, where
    /// the library's own pool has that of whoever came first and takes every core.
    static POOL: Arc<ThreadPool> = Arc::new(ThreadPool::with_num_threads(1));
}

/// A loaded graph.
pub(crate) struct Model {
    path: PathBuf,
    graph: rten::Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
}

/// What an input is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Ids,
    /// Ones: every token counts, since windows are never padded.
    Mask,
    /// Zeros: all of it is the first text.
    Kinds,
    /// 0, 1, 2 and so on.
    Positions,
}

/// Numbers of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output {
    /// Sizes; the first is 1.
    pub(crate) shape: Vec<usize>,
    /// The last size runs fastest.
    pub(crate) numbers: Vec<f32>,
}

impl Model {
    /// Loads a file whose size was checked; `outputs` names those that are wanted, the best first.
    pub(crate) fn load(path: &Path, outputs: &[&str]) -> Result<Self, ModelError> {
        Self::load_by((path, outputs), |options| options.load_file(path))
    }

    /// Takes a file that is in memory; errors call it `path`.
    pub(crate) fn from_bytes(
        path: &Path,
        outputs: &[&str],
        bytes: &'static [u8],
    ) -> Result<Self, ModelError> {
        Self::load_by((path, outputs), |options| options.load_static_slice(bytes))
    }

    fn load_by(
        (path, outputs): (&Path, &[&str]),
        load: impl FnOnce(ModelOptions) -> Result<rten::Model, rten::LoadError>,
    ) -> Result<Self, ModelError> {
        let wrong = |why: String| ModelError::new(path, why, UNSUITED);
        let load = || load(ModelOptions::with_all_ops()).map_err(|error| error.to_string());
        let graph = caught(load)
            .map_err(|why| wrong(format!("is no ONNX model that kgd can run: {why}")))?;
        let name_of = |id: NodeId| {
            let info = graph.node_info(id);
            info.as_ref().and_then(|info| info.name()).unwrap_or_default().to_string()
        };
        let mut inputs = Vec::new();
        for &id in graph.input_ids() {
            let name = name_of(id);
            let input =
                input_of(&name).ok_or_else(|| wrong(format!("wants the input `{name}`")))?;
            inputs.push((id, input));
        }
        if !inputs.iter().any(|(_, input)| *input == Input::Ids) {
            return Err(wrong("has no input `input_ids`".to_string()));
        }
        let ids = graph.output_ids();
        let named = |name: &&str| ids.iter().find(|&&id| name_of(id) == *name);
        let output = outputs.iter().find_map(named).or(ids.first());
        let output = *output.ok_or_else(|| wrong("has no output".to_string()))?;
        Ok(Model { path: path.to_path_buf(), graph, inputs, output })
    }

    /// Runs the graph over one window.
    pub(crate) fn run(&self, ids: &[u32]) -> Result<Output, ModelError> {
        caught(|| self.run_caught(ids))
            .map_err(|why| self.error(format!("could not be run: {why}")))
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// An error about this model.
    pub(crate) fn error(&self, why: impl Into<String>) -> ModelError {
        ModelError::new(&self.path, why, UNSUITED)
    }

    fn run_caught(&self, ids: &[u32]) -> Result<Output, String> {
        let row = |input: Input| -> Vec<i32> {
            match input {
                Input::Ids => ids.iter().map(|&id| i32::try_from(id).unwrap_or(0)).collect(),
                Input::Mask => vec![1; ids.len()],
                Input::Kinds => vec![0; ids.len()],
                Input::Positions => (0..).take(ids.len()).collect(),
            }
        };
        let value = |input| ValueOrView::from(NdTensor::from_data([1, ids.len()], row(input)));
        let inputs = self.inputs.iter().map(|&(id, input)| (id, value(input))).collect();
        let options = RunOptions::default().with_thread_pool(Some(POOL.with(Arc::clone)));
        let outputs = self.graph.run(inputs, &[self.output], Some(options));
        match outputs.map_err(|error| error.to_string())?.into_iter().next() {
            Some(Value::FloatTensor(tensor)) => {
                Ok(Output { shape: tensor.shape().to_vec(), numbers: tensor.to_vec() })
            }
            _ => Err("its output holds no 32-bit floats".to_string()),
        }
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
