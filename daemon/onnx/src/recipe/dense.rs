//! Dense: a linear layer after the pooling, with an activation.
//!
//! In: a folder with `config.json` and `model.safetensors`; a vector. Out: another vector.

use std::path::Path;

use serde::Deserialize;

use crate::ModelError;
use crate::folder::Folder;
use crate::weights::Weights;

const UNSUITED: &str = "kgd knows dense layers with no activation, Tanh or ReLU, and weights in \
     `model.safetensors`";

/// A linear layer.
#[derive(Debug)]
pub(crate) struct Dense {
    /// One row of `n_in` for each component of the output.
    rows: Vec<f32>,
    n_in: usize,
    bias: Option<Vec<f32>>,
    activation: Activation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activation {
    None,
    Tanh,
    Relu,
}

#[derive(Debug, Deserialize)]
struct DenseConfig {
    in_features: usize,
    out_features: usize,
    #[serde(default)]
    activation_function: String,
}

impl Dense {
    pub(crate) fn read(folder: &Folder<'_>, name: &str) -> Result<Self, ModelError> {
        let (path, config): (_, DenseConfig) = folder.json(&format!("{name}/config.json"))?;
        let activation = activation(&config.activation_function).ok_or_else(|| {
            let why = format!("wants the activation `{}`", config.activation_function);
            ModelError::new(&path, why, UNSUITED)
        })?;
        let inner = folder.0.join(name);
        let (path, bytes) = Folder(&inner).weights()?;
        let weights = Weights::read(&path, &bytes)?;
        let shape = [config.out_features, config.in_features];
        let rows = weights.tensor("linear.weight", &shape)?;
        let bias = match weights.has("linear.bias") {
            true => Some(weights.tensor("linear.bias", &[config.out_features])?),
            false => None,
        };
        Ok(Dense { rows, n_in: config.in_features, bias, activation })
    }

    /// Returns the number of output components.
    pub(crate) fn n_out(&self) -> usize {
        self.rows.len() / self.n_in.max(1)
    }

    /// Applies the layer to a vector.
    ///
    /// # Errors
    /// When the vector has another length than the layer takes.
    pub(crate) fn apply(&self, vector: &[f32], path: &Path) -> Result<Vec<f32>, ModelError> {
        if vector.len() != self.n_in {
            let why = format!("gives {} numbers to a layer for {}", vector.len(), self.n_in);
            return Err(ModelError::new(path, why, UNSUITED));
        }
        let mut out: Vec<f32> = self
            .rows
            .chunks_exact(self.n_in.max(1))
            .map(|row| row.iter().zip(vector).map(|(weight, number)| weight * number).sum())
            .collect();
        if let Some(bias) = &self.bias {
            out.iter_mut().zip(bias).for_each(|(number, bias)| *number += bias);
        }
        match self.activation {
            Activation::None => {}
            Activation::Tanh => out.iter_mut().for_each(|number| *number = number.tanh()),
            Activation::Relu => out.iter_mut().for_each(|number| *number = number.max(0.0)),
        }
        Ok(out)
    }
}

/// Returns the activation for the name of PyTorch's class.
fn activation(name: &str) -> Option<Activation> {
    match name.rsplit('.').next().unwrap_or_default() {
        "" | "Identity" => Some(Activation::None),
        "Tanh" => Some(Activation::Tanh),
        "ReLU" => Some(Activation::Relu),
        _ => None,
    }
}
