//! Unpacked: packed weights as files that a runtime maps.
//!
//! In: 4-bit weights; a folder. Out: a model, and the files from which it is mapped, created at first use.
//! Invariants: the folder appears completely or not at all, and is never written to again; files that cannot be loaded
//! are created again once; without a folder, or if none can be created, the model is held in memory.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::ModelError;
use crate::convert::unpack;
use crate::model::Model;

/// The graph.
const GRAPH: &str = "model.onnx";

/// Its large tensors, under the usual name of exporters for such a file.
const TENSORS: &str = "model.onnx_data";

/// The packed weights of a model.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// Their name in errors.
    pub(crate) path: &'a Path,
    pub(crate) weights: &'a [u8],
    pub(crate) config: &'a [u8],
}

impl Packed<'_> {
    /// Loads the model from its files in `folder`; creates them if they are missing.
    pub(crate) fn load(self, outputs: &[&str], folder: Option<&Path>) -> Result<Model, ModelError> {
        let mapped = folder.map(|folder| self.mapped(outputs, folder));
        match mapped {
            Some(Ok(model)) => Ok(model),
            _ => Model::unpacked(
                self.path,
                outputs,
                &unpack(self.path, self.weights, self.config, None)?,
            ),
        }
    }

    fn mapped(self, outputs: &[&str], folder: &Path) -> Result<Model, ModelError> {
        let graph = folder.join(GRAPH);
        if let Ok(model) = Model::mapped(&graph, outputs) {
            return Ok(model);
        }
        self.write(folder).map_err(|error| {
            ModelError::new(
                folder,
                format!("cannot be made: {error}"),
                "is there room on the disk?",
            )
        })?;
        Model::mapped(&graph, outputs)
    }

    /// Creates the files under another name, and replaces the folder with them.
    fn write(self, folder: &Path) -> io::Result<()> {
        let making = making(folder);
        // Left by a killed process with the same id.
        let _ = fs::remove_dir_all(&making);
        fs::create_dir_all(&making)?;
        let written = self.write_into(&making).and_then(|()| {
            let replaced = fs::rename(&making, folder);
            // The folder exists: another daemon has just created it, or its files are damaged.
            replaced
                .or_else(|_| fs::remove_dir_all(folder).and_then(|()| fs::rename(&making, folder)))
        });
        written.inspect_err(|_| {
            let _ = fs::remove_dir_all(&making);
        })
    }

    fn write_into(self, folder: &Path) -> io::Result<()> {
        let beside = folder.join(TENSORS);
        let graph = unpack(self.path, self.weights, self.config, Some(&beside));
        let mut file = fs::File::create(folder.join(GRAPH))?;
        file.write_all(&graph.map_err(io::Error::other)?)?;
        file.sync_all()
    }
}

/// Returns a name beside the folder that no other process uses.
fn making(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}", std::process::id()));
    folder.with_file_name(name)
}
