//! Without the feature `ort`: ONNX Runtime is never available.

use crate::runtime::{Engine, Place};

pub(in crate::runtime) fn is_there() -> bool {
    false
}

pub(in crate::runtime) fn load(_: Place<'_>) -> Result<Box<dyn Engine>, String> {
    Err("this kgd was built without ONNX Runtime; hint: `cargo install --path . --features ort`"
        .to_string())
}
