//! With the feature `ort`: sessions of ONNX Runtime.
//!
//! Invariant: one thread computes, that of the caller.

use std::borrow::Cow;
use std::ffi::OsString;
use std::sync::{Mutex, OnceLock, PoisonError};

use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;

use crate::runtime::{Engine, Output, Place};

/// The variable that names the library.
const LIBRARY: &str = "ORT_DYLIB_PATH";

/// The result of loading the library, once per process, which may load only one.
static LOADED: OnceLock<Result<Environment, String>> = OnceLock::new();

struct OrtGraph {
    /// Locked, because a run needs exclusive access.
    session: Mutex<Session>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

fn library() -> Option<OsString> {
    std::env::var_os(LIBRARY).filter(|path| !path.is_empty())
}

pub(in crate::runtime) fn is_there() -> bool {
    library().is_some()
}

pub(in crate::runtime) fn load(place: Place<'_>) -> Result<Box<dyn Engine>, String> {
    let path = library().ok_or_else(|| format!("`{LIBRARY}` names no ONNX Runtime"))?;
    let loaded = LOADED.get_or_init(|| {
        let environment = ort::init_from(path).map_err(|error| error.to_string())?;
        environment.with_telemetry(false).build().map_err(|error| error.to_string())
    });
    let environment = loaded.as_ref().map_err(Clone::clone)?;
    let builder = Session::builder(environment).map_err(|error| error.to_string())?;
    let mut builder = builder.with_intra_threads(1).map_err(|error| error.to_string())?;
    let session = match place {
        Place::File(path) | Place::Mapped(path) => builder.commit_from_file(path),
        Place::Memory(bytes) | Place::Bytes(bytes) => builder.commit_from_memory(bytes),
    };
    let session = session.map_err(|error| error.to_string())?;
    let inputs = session.inputs().iter().map(|it| it.name().to_string()).collect();
    let outputs = session.outputs().iter().map(|it| it.name().to_string()).collect();
    Ok(Box::new(OrtGraph { session: Mutex::new(session), inputs, outputs }))
}

impl Engine for OrtGraph {
    fn inputs(&self) -> Vec<String> {
        self.inputs.clone()
    }

    fn outputs(&self) -> Vec<String> {
        self.outputs.clone()
    }

    fn run(&self, inputs: &[(&str, Vec<i32>)], output: &str) -> Result<Output, String> {
        let mut given: Vec<(Cow<'_, str>, SessionInputValue<'_>)> = Vec::new();
        for (name, row) in inputs {
            let row: Vec<i64> = row.iter().map(|&number| i64::from(number)).collect();
            let tensor =
                Tensor::from_array(([1, row.len()], row)).map_err(|error| error.to_string())?;
            given.push((Cow::Borrowed(*name), tensor.into()));
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(given).map_err(|error| error.to_string())?;
        let value = outputs.get(output).ok_or_else(|| format!("it gave no `{output}`"))?;
        let (shape, numbers) =
            value.try_extract_tensor::<f32>().map_err(|error| error.to_string())?;
        let shape = shape.iter().map(|&size| usize::try_from(size).unwrap_or(0)).collect();
        Ok(Output { shape, numbers: numbers.to_vec() })
    }
}
