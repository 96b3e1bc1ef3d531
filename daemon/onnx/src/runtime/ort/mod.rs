//! ort: ONNX Runtime, loaded from the library that `ORT_DYLIB_PATH` names, if this was built with the feature `ort`.

#[cfg(not(feature = "ort"))]
mod disabled;
#[cfg(feature = "ort")]
mod enabled;

#[cfg(not(feature = "ort"))]
pub(super) use disabled::{is_there, load};
#[cfg(feature = "ort")]
pub(super) use enabled::{is_there, load};
