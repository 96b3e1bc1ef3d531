//! ModelDir: the folder of models, locked by one command.
//!
//! In: folders with a model. Out: models with manifests.
//! Invariants: as in `mod.rs`; leftovers of an interrupted command are removed by the next one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use config::models::{MANIFEST, Manifest, ModelFile, files, is_name};
use config::place::create_private_dir;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ModelError, hash, io};

/// Options for adding a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// Its name.
    pub name: String,
    /// Its source, for people.
    pub origin: String,
    /// The file with the weights, if it is not the usual one.
    pub weights: Option<PathBuf>,
    /// Round converted weights to 8 bits.
    pub int8: bool,
    /// Replace an existing model of the name.
    pub force: bool,
    /// Prompt for questions; empty means none.
    pub query_prompt: String,
    /// Prompt for documents; empty means none.
    pub document_prompt: String,
    /// Whether the prompts come from the user, and override those in the model's files.
    pub prompts_count: bool,
}

/// The output of `kgd --prepare-model`.
#[derive(Debug, Deserialize)]
struct Tried {
    dimensions: usize,
    max_tokens: usize,
}

/// The folder of models, held by one command.
pub struct ModelDir {
    models: PathBuf,
    kgd: PathBuf,
    /// Held until this is dropped.
    _lock: File,
}

impl ModelDir {
    /// Locks the folder; `kgd` is the program that tries models.
    ///
    /// # Errors
    /// When it cannot be created, or another command has locked it.
    pub fn take(models: &Path, kgd: &Path) -> Result<Self, ModelError> {
        let made =
            create_private_dir(models).map_err(|error| std::io::Error::other(error.to_string()));
        made.map_err(io(models))?;
        let path = models.join(".lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(io(&path))?;
        lock.try_lock().map_err(|_| ModelError::Busy)?;
        Ok(ModelDir { models: models.to_path_buf(), kgd: kgd.to_path_buf(), _lock: lock })
    }

    /// Returns the folder for the download of this name.
    pub(super) fn fetching(&self, name: &str) -> PathBuf {
        self.models.join(format!(".fetching-{name}"))
    }

    /// Returns the file of hashes of first downloads.
    pub(super) fn recorded(&self) -> PathBuf {
        self.models.join(".hashes.json")
    }

    /// Checks that a name can be used.
    ///
    /// # Errors
    /// When it is invalid or taken.
    pub fn check(&self, name: &str, force: bool) -> Result<(), ModelError> {
        match (is_name(name), self.models.join(name).exists() && !force) {
            (false, _) => Err(ModelError::Name(name.to_string())),
            (true, true) => Err(ModelError::Exists(name.to_string())),
            (true, false) => Ok(()),
        }
    }

    /// Copies the model's files from a folder, tries the model, and gives it its name.
    ///
    /// # Errors
    /// When the folder contains no model, it cannot be run, or the name is taken.
    pub fn add(&self, folder: &Path, wish: &Wish) -> Result<Manifest, ModelError> {
        self.check(&wish.name, wish.force)?;
        let no_model = |why: String| ModelError::NoModel { folder: folder.to_path_buf(), why };
        if !folder.is_dir() {
            return Err(no_model("is not a folder".to_string()));
        }
        let found = files(folder, wish.weights.as_deref()).map_err(no_model)?;
        let adding = self.models.join(format!(".adding-{}", wish.name));
        remove(&adding)?;
        let made = self.fill(folder, &found, &adding, wish);
        if made.is_err() {
            remove(&adding)?;
        }
        made
    }

    fn fill(
        &self,
        folder: &Path,
        found: &[PathBuf],
        adding: &Path,
        wish: &Wish,
    ) -> Result<Manifest, ModelError> {
        for path in found {
            let to = adding.join(path);
            let parent = to.parent().unwrap_or(adding);
            std::fs::create_dir_all(parent).map_err(io(parent))?;
            std::fs::copy(folder.join(path), &to).map_err(io(&folder.join(path)))?;
        }
        prompted(adding, wish)?;
        let Tried { dimensions, max_tokens } = self.prepare(adding, wish)?;
        let mut kept: Vec<PathBuf> =
            found.iter().filter(|path| adding.join(path).exists()).cloned().collect();
        for made in ["model.onnx", "config_sentence_transformers.json"].map(PathBuf::from) {
            if adding.join(&made).exists() && !kept.contains(&made) {
                kept.push(made);
            }
        }
        kept.sort_unstable();
        let manifest = Manifest {
            name: wish.name.clone(),
            origin: wish.origin.clone(),
            added: now(),
            dimensions,
            max_tokens,
            files: kept.iter().map(|path| described(adding, path)).collect::<Result<_, _>>()?,
        };
        let (path, text) = (adding.join(MANIFEST), json!(manifest).to_string());
        std::fs::write(&path, text).map_err(io(&path))?;
        self.name(adding, &wish.name)?;
        Ok(manifest)
    }

    /// Runs `kgd` to try the model, and to convert it if necessary.
    fn prepare(&self, folder: &Path, wish: &Wish) -> Result<Tried, ModelError> {
        let mut command = Command::new(&self.kgd);
        command.arg("--prepare-model").arg(folder);
        if wish.int8 {
            command.arg("--int8");
        }
        let output = command.stdin(Stdio::null()).output().map_err(io(&self.kgd))?;
        let report = serde_json::from_slice(&output.stdout).ok();
        if let Some(tried) = report.filter(|_| output.status.success()) {
            return Ok(tried);
        }
        let output_text = String::from_utf8_lossy(&output.stderr);
        // Panics of the library may come first; the last such line is the actual error.
        let error = output_text.rfind("model file `").or(output_text.rfind("model folder `"));
        let error = error.and_then(|at| output_text.get(at..)).unwrap_or(&output_text).trim_end();
        let shown = error.replace(&folder.display().to_string(), &wish.origin);
        Err(ModelError::Unusable(match output.status.code() {
            Some(_) if !shown.is_empty() => shown,
            _ => format!(
                "`{}` was stopped during its trial: it needs too much time or memory ({})\nhint: use a \
                 smaller model",
                wish.origin, output.status
            ),
        }))
    }

    /// Renames a folder, atomically even if the name is taken.
    fn name(&self, adding: &Path, name: &str) -> Result<(), ModelError> {
        let to = self.models.join(name);
        if to.exists() {
            renameat_with(CWD, adding, CWD, &to, RenameFlags::EXCHANGE)
                .map_err(|error| io(&to)(error.into()))?;
            return remove(adding);
        }
        std::fs::rename(adding, &to).map_err(io(&to))?;
        let synced = File::open(&self.models).and_then(|folder| folder.sync_all());
        synced.map_err(io(&self.models))
    }

    /// Removes a model and its partial download. Other processes stop seeing the model at once.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn remove(&self, name: &str) -> Result<(), ModelError> {
        let (folder, going) = (self.models.join(name), self.models.join(format!(".adding-{name}")));
        let fetching = self.fetching(name);
        if !is_name(name) || !(folder.is_dir() || fetching.is_dir()) {
            return Err(ModelError::Unknown(name.to_string()));
        }
        remove(&fetching)?;
        remove(&going)?;
        if !folder.is_dir() {
            return Ok(());
        }
        std::fs::rename(&folder, &going).map_err(io(&folder))?;
        remove(&going)
    }
}

/// Writes prompts where sentence-transformers stores them, unless the model's own files have some.
fn prompted(folder: &Path, wish: &Wish) -> Result<(), ModelError> {
    let wanted = [("query", &wish.query_prompt), ("document", &wish.document_prompt)];
    if wanted.iter().all(|(_, prompt)| prompt.is_empty()) {
        return Ok(());
    }
    let path = folder.join("config_sentence_transformers.json");
    let text = std::fs::read(&path).unwrap_or_default();
    let mut config: Value = serde_json::from_slice(&text).unwrap_or_else(|_| json!({}));
    let Some(map) = config.as_object_mut() else { return Ok(()) };
    let prompts = map.entry("prompts").or_insert_with(|| json!({}));
    let Some(prompts) = prompts.as_object_mut() else { return Ok(()) };
    for (key, prompt) in wanted.into_iter().filter(|(_, prompt)| !prompt.is_empty()) {
        let own = prompts.get(key).and_then(Value::as_str).is_some_and(|own| !own.is_empty());
        if !own || wish.prompts_count {
            prompts.insert(key.to_string(), json!(prompt));
        }
    }
    std::fs::write(&path, config.to_string()).map_err(io(&path))
}

/// Syncs a file; returns its size and hash.
fn described(folder: &Path, path: &Path) -> Result<ModelFile, ModelError> {
    let full = folder.join(path);
    let synced = File::open(&full).and_then(|file| {
        file.sync_all()?;
        file.metadata()
    });
    Ok(ModelFile {
        path: path.display().to_string(),
        n_bytes: synced.map_err(io(&full))?.len(),
        sha256: hash::of_file(&full).map_err(io(&full))?,
    })
}

fn remove(folder: &Path) -> Result<(), ModelError> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(folder)(error)),
        _ => Ok(()),
    }
}

/// Returns seconds since 1970; 0 before.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
