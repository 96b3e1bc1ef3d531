//! rten: the runtime in pure Rust.
//!
//! Invariant: one thread computes, with its caller's priority.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use super::{Engine, Output, Place};

/// Largest file, in bytes, whose weights are packed at load into the layout that computing needs, which is a second
/// copy of most of them. For 10 MB more, the 14 tokens of a question cost MiniLM 2.6 ms of CPU instead of 11.7, with
/// the same numbers.
const MAX_PACKED_BYTES: u64 = 100_000_000;

thread_local! {
    /// A pool of one thread for each calling thread, created at its first call, with that caller's priority. The
    /// library's own pool has the priority of its first caller and uses every core.
    static POOL: Arc<ThreadPool> = Arc::new(ThreadPool::with_num_threads(1));
}

struct RtenGraph(Model);

pub(super) fn load(place: Place<'_>) -> Result<Box<dyn Engine>, String> {
    let mut options = ModelOptions::with_all_ops();
    let n_bytes = match place {
        // A file without a size is taken for a large one.
        Place::File(path) | Place::Mapped(path) => path.metadata().map_or(u64::MAX, |it| it.len()),
        Place::Memory(bytes) | Place::Bytes(bytes) => bytes.len() as u64,
    };
    options.prepack_weights(n_bytes <= MAX_PACKED_BYTES);
    let loaded = match place {
        Place::File(path) => options.load_file(path),
        Place::Mapped(path) => sys::load_mapped(&options, path),
        Place::Memory(bytes) => options.load_static_slice(bytes),
        Place::Bytes(bytes) => options.load(bytes.to_vec()),
    };
    Ok(Box::new(RtenGraph(loaded.map_err(|error| error.to_string())?)))
}

impl RtenGraph {
    fn names(&self, ids: &[NodeId]) -> Vec<String> {
        let name_of = |&id: &NodeId| {
            let info = self.0.node_info(id);
            info.as_ref().and_then(|info| info.name()).unwrap_or_default().to_string()
        };
        ids.iter().map(name_of).collect()
    }
}

impl Engine for RtenGraph {
    fn inputs(&self) -> Vec<String> {
        self.names(self.0.input_ids())
    }

    fn outputs(&self) -> Vec<String> {
        self.names(self.0.output_ids())
    }

    fn run(&self, inputs: &[(&str, Vec<i32>)], output: &str) -> Result<Output, String> {
        let id = |name: &str| self.0.node_id(name).map_err(|error| error.to_string());
        let mut given = Vec::with_capacity(inputs.len());
        for (name, row) in inputs {
            let tensor = NdTensor::from_data([1, row.len()], row.clone());
            given.push((id(name)?, ValueOrView::from(tensor)));
        }
        let options = RunOptions::default().with_thread_pool(Some(POOL.with(Arc::clone)));
        let outputs = self.0.run(given, &[id(output)?], Some(options));
        match outputs.map_err(|error| error.to_string())?.into_iter().next() {
            Some(Value::FloatTensor(tensor)) => {
                Ok(Output { shape: tensor.shape().to_vec(), numbers: tensor.to_vec() })
            }
            _ => Err("its output holds no 32-bit floats".to_string()),
        }
    }
}
