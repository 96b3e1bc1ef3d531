//! Runtime: the library that computes a graph: `rten`, or ONNX Runtime if this was built with the feature `ort` and
//! `ORT_DYLIB_PATH` names its library.
//!
//! In: an ONNX file; numbers by the names of inputs. Out: names of inputs and outputs; one output.
//! Invariants: both compute the same graph with the same results, up to rounding; neither panics.

mod ort;
mod rten;

use std::path::Path;

/// The library that computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// Pure Rust, always available.
    Rten,
    /// ONNX Runtime, a library of the system: about twice as fast.
    Ort,
}

/// Where a graph is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    File(&'a Path),
    /// A file of our own, with its large tensors in another one beside it: both are mapped, and never change.
    Mapped(&'a Path),
    Memory(&'static [u8]),
    Bytes(&'a [u8]),
}

/// The numbers of one run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Output {
    /// Sizes; the first is 1.
    pub(crate) shape: Vec<usize>,
    /// Row-major: the last size varies fastest.
    pub(crate) numbers: Vec<f32>,
}

/// A loaded graph.
pub(crate) trait Engine: Send + Sync {
    /// Names of the inputs.
    fn inputs(&self) -> Vec<String>;
    /// Names of the outputs, in their order.
    fn outputs(&self) -> Vec<String>;
    /// Runs the graph over one row for each input; returns one output.
    fn run(&self, inputs: &[(&str, Vec<i32>)], output: &str) -> Result<Output, String>;
}

/// Loads a graph. By default ONNX Runtime computes if it is available.
pub(crate) fn load(place: Place<'_>, wanted: Option<Runtime>) -> Result<Box<dyn Engine>, String> {
    match wanted.unwrap_or(if ort::is_there() { Runtime::Ort } else { Runtime::Rten }) {
        Runtime::Rten => rten::load(place),
        Runtime::Ort => ort::load(place),
    }
}
