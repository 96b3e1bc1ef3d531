//! Weights: tensors of a safetensors file, as 32-bit floats.
//!
//! In: its bytes; a matrix may be packed in 4 bits (`packed.rs`). Out: tensors by name, of the expected shape.
//! Invariant: a missing name, or another shape or type, is an error, never a panic.

use std::path::{Path, PathBuf};

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

use crate::ModelError;
use crate::packed::Packed;

const UNREADABLE: &str =
    "kgd reads `model.safetensors` with 32-bit or 16-bit floats, as `save_pretrained` writes it";

/// A parsed file.
pub(crate) struct Weights<'a> {
    path: PathBuf,
    tensors: SafeTensors<'a>,
    /// The prefix of every name, such as `bert.`.
    prefix: &'static str,
}

impl<'a> Weights<'a> {
    pub(crate) fn read(path: &Path, bytes: &'a [u8]) -> Result<Self, ModelError> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| {
            ModelError::new(path, format!("is no safetensors file: {error}"), UNREADABLE)
        })?;
        Ok(Weights { path: path.to_path_buf(), tensors, prefix: "" })
    }

    /// Sets the prefix of every name: the first of these under which `name` exists.
    pub(crate) fn set_prefix(&mut self, name: &str, prefixes: &[&'static str]) {
        let is_there = |prefix: &&&str| self.tensors.tensor(&format!("{prefix}{name}")).is_ok();
        self.prefix = prefixes.iter().find(is_there).copied().unwrap_or_default();
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.tensor(&self.full(name)).is_ok()
    }

    /// Returns a matrix that is packed in 4 bits; none if it is not.
    pub(crate) fn packed(&self, name: &str) -> Option<Packed<'_>> {
        let part = |part: &str| self.tensors.tensor(&format!("{}.{part}", self.full(name))).ok();
        Packed::of(&part("q")?, &part("d")?)
    }

    /// Returns the sizes of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Result<Vec<usize>, ModelError> {
        match self.packed(name) {
            Some(packed) => Ok(packed.shape().to_vec()),
            None => Ok(self.view(name)?.shape().to_vec()),
        }
    }

    /// Returns the numbers of a tensor, row-major.
    pub(crate) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, ModelError> {
        let found = self.shape(name)?;
        if found != shape {
            let why = format!("has `{}` of {found:?} numbers, not {shape:?}", self.full(name));
            return Err(self.error(why));
        }
        if let Some(packed) = self.packed(name) {
            return Ok(packed.rows().flatten().collect());
        }
        let view = self.view(name)?;
        let data = view.data();
        match view.dtype() {
            Dtype::F32 => Ok(data.as_chunks().0.iter().map(|&it| f32::from_le_bytes(it)).collect()),
            Dtype::F16 => Ok(data.as_chunks().0.iter().map(|&it| half_to_f32(it)).collect()),
            Dtype::BF16 => {
                // A bfloat16 is the upper half of a 32-bit float.
                let wide = |it| f32::from_bits(u32::from(u16::from_le_bytes(it)) << 16);
                Ok(data.as_chunks().0.iter().map(|&it| wide(it)).collect())
            }
            other => Err(self.error(format!("has `{}` as {other:?}", self.full(name)))),
        }
    }

    pub(crate) fn error(&self, why: String) -> ModelError {
        ModelError::new(&self.path, why, UNREADABLE)
    }

    fn view(&self, name: &str) -> Result<TensorView<'_>, ModelError> {
        let name = self.full(name);
        self.tensors.tensor(&name).map_err(|_| self.error(format!("has no `{name}`")))
    }

    fn full(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}

/// Converts a little-endian 16-bit float (IEEE 754). Written out because no half-precision type is stable.
pub fn half_to_f32(bytes: [u8; 2]) -> f32 {
    let bits = u16::from_le_bytes(bytes);
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
    let size = match exponent {
        // Subnormal numbers have no implicit leading 1 (1,024 here), and the exponent of the smallest normal ones.
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    sign * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_by_eye() {
        let table = [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x7c00, f32::INFINITY),
        ];
        for (bits, number) in table {
            assert_eq!(half_to_f32(u16::to_le_bytes(bits)), number, "{bits:x}");
        }
        assert!(half_to_f32([0x00, 0x7e]).is_nan());
    }
}
