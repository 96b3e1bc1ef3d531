//! Folder: a sentence model that the user added (`kgctl model add`, `pull`), or keeps in a folder of their own.
//!
//! In: the settings; texts. Out: unit vectors.
//! Invariants: nothing is loaded before the first text; a model that was not tried when it was added is tried then,
//! in a process of its own; an added model is loaded only while its files are unchanged; the space's name differs for
//! other files, dimensions and prompts; questions get the prompt for questions, everything else the one for
//! documents.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use config::models::{Manifest, files};
use config::settings::Embed;
use onnx::{Prompts, SentenceModel, Wanted};
use xxhash_rust::xxh3::Xxh3;

use super::better::BetterError;
use super::transformer::{TransformerModel, quiet};
use super::{EmbedError, Embedder, prepare};
use model::document::UnitVector;

/// Hint for a folder that is not a model.
const ADD: &str =
    "`kgctl model add FOLDER` says what is wrong with a folder, and converts `model.safetensors`";

/// Hint for a model whose files changed after they were added.
const ADD_AGAIN: &str = "`kgctl model remove NAME`, then add it again";

/// A model in a folder, loaded at its first use.
pub struct FolderModel {
    folder: PathBuf,
    wanted: Wanted,
    space: String,
    n_dimensions: usize,
    is_tried_first: bool,
    /// The files of an added model as they were when it was added.
    manifest: Option<Manifest>,
    loaded: OnceLock<Result<TransformerModel, EmbedError>>,
}

impl FolderModel {
    /// Opens the model that was added as `settings.model` to the folder `models`.
    ///
    /// # Errors
    /// When there is none, or a file of it is missing or has another size.
    pub fn added(settings: &Embed, models: &Path) -> Result<Self, BetterError> {
        let name = &settings.model;
        let wrong =
            |why: String, hint| BetterError { key: "embed.model", name: name.clone(), why, hint };
        let unknown = || {
            wrong(
                "there is no such model".to_string(),
                "`kgctl model list` shows which there are; `kgctl model add FOLDER` and `kgctl model pull NAME` \
                 bring others",
            )
        };
        let folder = models.join(name);
        if !config::models::is_name(name) || !folder.is_dir() {
            return Err(unknown());
        }
        let again = ADD_AGAIN;
        let manifest = Manifest::read(&folder)
            .map_err(|why| wrong(format!("its manifest cannot be read: {why}"), again))?;
        if let Some(file) = manifest.missing(&folder) {
            return Err(wrong(format!("its file `{}` has changed", file.path), again));
        }
        let all = manifest.dimensions;
        let model = Self::new(folder, settings, name, &manifest.digest(), all)?;
        Ok(FolderModel { manifest: Some(manifest), ..model })
    }

    /// Opens the model in a folder of the user's; reads its files once, for a hash in the space's name.
    ///
    /// # Errors
    /// When something is missing.
    pub fn at(settings: &Embed) -> Result<Self, BetterError> {
        let folder = PathBuf::from(&settings.model);
        let wrong = |why: String| BetterError {
            key: "embed.model",
            name: settings.model.clone(),
            why,
            hint: ADD,
        };
        let files = files(&folder, None).map_err(|why| wrong(format!("the folder {why}")))?;
        let digest = digest_of(&folder, &files).map_err(|error| wrong(error.to_string()))?;
        if !files.iter().any(|path| path.extension().is_some_and(|it| it == "onnx")) {
            return Err(wrong("its weights are no ONNX file".to_string()));
        }
        let all = SentenceModel::declared_dimensions(&folder);
        let all = all.map_err(|error| wrong(error.why))?.ok_or_else(|| {
            wrong("`config.json` does not say how many numbers a vector has".to_string())
        })?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self::new(folder, settings, &name, &digest, all)
    }

    fn new(
        folder: PathBuf,
        settings: &Embed,
        name: &str,
        digest: &str,
        n_all: usize,
    ) -> Result<Self, BetterError> {
        let dimensions = Some(settings.dimensions as usize).filter(|&n| n > 0);
        let n_dimensions = dimensions.unwrap_or(n_all);
        if n_dimensions > n_all {
            let why = format!("its vectors have {n_all} components, fewer than `embed.dimensions`");
            let hint = "leave `embed.dimensions` out, or set it to at most that";
            return Err(BetterError {
                key: "embed.model",
                name: settings.model.clone(),
                why,
                hint,
            });
        }
        let prompts = Prompts {
            query: settings.query_prompt.clone(),
            document: settings.document_prompt.clone(),
        };
        // The prompt for questions does not affect stored vectors, so it is not part of the space.
        let prompt = match prompts.document.is_empty() {
            true => String::new(),
            false => {
                format!("/p{:08x}", xxhash_rust::xxh3::xxh3_64(prompts.document.as_bytes()) as u32)
            }
        };
        let space = format!("{name}@{digest}/{n_dimensions}{prompt}/i8x254");
        let wanted = Wanted { dimensions, prompts, runtime: None };
        let (is_tried_first, manifest, loaded) = (false, None, OnceLock::new());
        Ok(FolderModel { folder, wanted, space, n_dimensions, is_tried_first, manifest, loaded })
    }

    /// Lets another process try the model before it is loaded: for a folder that `kgctl` did not try.
    #[must_use]
    pub fn tried_first(self) -> Self {
        FolderModel { is_tried_first: true, ..self }
    }

    fn model(&self) -> Result<&TransformerModel, EmbedError> {
        let load = || {
            let broken = |why: String| EmbedError::Model { why };
            // The files are compared again now: they may have changed since the start.
            let changed = self.manifest.as_ref().map(|it| it.changed(&self.folder)).transpose();
            if let Some(file) = changed.map_err(|error| broken(error.to_string()))?.flatten() {
                let why = format!("its file `{}` has changed\nhint: {ADD_AGAIN}", file.path);
                return Err(broken(why));
            }
            if self.is_tried_first {
                prepare::hold("--try-embedding", &self.folder).map_err(broken)?;
            }
            let model = TransformerModel::open_as(&self.folder, &self.space, self.wanted.clone())
                .map_err(|error| broken(error.to_string()))?;
            // The space's name states the dimensions, so a model with others must not be used.
            match model.dimensions() == self.n_dimensions {
                true => Ok(model),
                false => Err(broken(format!(
                    "the model returns {} dimensions, its configuration says {}\nhint: {ADD}",
                    model.dimensions(),
                    self.n_dimensions
                ))),
            }
        };
        self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

impl Embedder for FolderModel {
    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.n_dimensions
    }

    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        self.model()?.try_embed(texts)
    }

    fn try_question(&self, question: &str) -> Result<UnitVector, EmbedError> {
        self.model()?.try_question(question)
    }

    fn try_floats(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.model()?.try_floats(texts)
    }

    fn try_question_floats(&self, question: &str) -> Result<Vec<f32>, EmbedError> {
        self.model()?.try_question_floats(question)
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        quiet(self, texts)
    }
}

/// Returns a hash of the names and contents of files, 16 hexadecimal digits.
fn digest_of(folder: &Path, files: &[PathBuf]) -> std::io::Result<String> {
    let (mut hash, mut buffer) = (Xxh3::new(), vec![0; 1 << 16]);
    for path in files {
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(b"\0");
        let mut file = File::open(folder.join(path))?;
        loop {
            let n_read = file.read(&mut buffer)?;
            hash.update(buffer.get(..n_read).unwrap_or_default());
            if n_read == 0 {
                break;
            }
        }
    }
    Ok(format!("{:016x}", hash.digest()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::models::ModelFile;

    /// A sample whose vectors have three components.
    fn sample(folder: &Path) {
        onnx::sample::write_tagger(folder, &[("Ada", "A"), ("Porto", "B")]).expect("written");
        // The tagger's own configuration names classes, but no width of vectors.
        let config = r#"{"model_type": "bert", "max_position_embeddings": 64, "hidden_size": 3}"#;
        std::fs::write(folder.join("config.json"), config).expect("written");
    }

    fn at(folder: &Path, change: impl Fn(&mut Embed)) -> Result<FolderModel, BetterError> {
        let mut settings = Embed { model: folder.display().to_string(), ..Embed::default() };
        change(&mut settings);
        FolderModel::at(&settings)
    }

    #[test]
    fn a_folder_is_a_model_and_its_space_tells_it_from_others() {
        let dir = tempfile::tempdir().expect("a folder");
        sample(dir.path());
        let model = at(dir.path(), |_| {}).expect("a model");
        assert_eq!(model.dimensions(), 3);
        let vectors = model.try_embed(&["Ada", "Porto"]).expect("vectors");
        assert_ne!(vectors[0], vectors[1]);
        let same = at(dir.path(), |it| it.query_prompt = "Ada ".into()).expect("a model");
        assert_eq!(same.space(), model.space(), "vectors that are kept are the same");
        assert_eq!(same.try_embed(&["Porto"]).expect("a vector")[0], vectors[1]);
        assert_ne!(same.try_question("Porto").expect("a vector"), vectors[1]);
        let two = at(dir.path(), |it| it.dimensions = 2).expect("a model");
        assert_eq!(two.try_embed(&["Ada"]).expect("a vector")[0].0.len(), 2);
        let prompted = at(dir.path(), |it| it.document_prompt = "Porto ".into()).expect("a model");
        assert_ne!(prompted.try_embed(&["Ada"]).expect("a vector")[0], vectors[0]);
        onnx::sample::write_tagger(dir.path(), &[("Ada", "B"), ("Porto", "A")]).expect("written");
        std::fs::write(dir.path().join("config.json"), r#"{"hidden_size": 3}"#).expect("written");
        let other = at(dir.path(), |_| {}).expect("a model");
        let spaces = [&model, &two, &prompted, &other].map(|it| it.space().to_string());
        let distinct: std::collections::BTreeSet<_> = spaces.iter().collect();
        assert_eq!(distinct.len(), 4, "{spaces:?}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let dir = tempfile::tempdir().expect("a folder");
        let error_after = |change: &dyn Fn(&mut Embed)| {
            at(dir.path(), change).map(|_| ()).expect_err("none").to_string()
        };
        let error = error_after(&|_| {});
        assert!(
            error.contains("the folder has no `config.json`, no `tokenizer.json`, no `model.onnx`"),
            "{error}"
        );
        sample(dir.path());
        let (onnx, other) = ("model.onnx", "model.safetensors");
        std::fs::rename(dir.path().join(onnx), dir.path().join(other)).expect("moved");
        let error = error_after(&|_| {});
        assert!(
            error.contains("its weights are no ONNX file\nhint: `kgctl model add FOLDER`"),
            "{error}"
        );
        std::fs::rename(dir.path().join(other), dir.path().join(onnx)).expect("moved");
        let error = error_after(&|it| it.dimensions = 4);
        assert!(
            error.contains("its vectors have 3 components, fewer than `embed.dimensions`\nhint: "),
            "{error}"
        );
        std::fs::write(dir.path().join("config.json"), "{}").expect("written");
        assert!(error_after(&|_| {}).contains("does not say how many numbers"));
        // The declared width differs from that of the vectors.
        std::fs::write(dir.path().join("config.json"), r#"{"hidden_size": 7}"#).expect("written");
        let lies = at(dir.path(), |_| {}).expect("a model, so far").try_embed(&["Ada"]);
        let why = "the model returns 3 dimensions, its configuration says 7";
        assert!(
            matches!(&lies, Err(EmbedError::Model { why: error }) if error.contains(why)),
            "{lies:?}"
        );
    }

    #[test]
    fn a_model_that_was_added_is_known_by_its_name() {
        let models = tempfile::tempdir().expect("a folder");
        let named = |name: &str| {
            let settings = Embed { model: name.to_string(), ..Embed::default() };
            FolderModel::added(&settings, models.path())
        };
        let error = named("tiny").map(|_| ()).expect_err("not yet").to_string();
        assert!(
            error.contains(
                "`embed.model` is `tiny`: there is no such model\nhint: `kgctl model list`"
            ),
            "{error}"
        );
        assert!(named("../x").is_err());
        let folder = models.path().join("tiny");
        sample(&folder);
        let file = |path: &str| ModelFile {
            path: path.to_string(),
            n_bytes: std::fs::metadata(folder.join(path)).expect("there").len(),
            sha256: config::models::sha256_of(&folder.join(path)).expect("read"),
        };
        let manifest = Manifest {
            name: "tiny".to_string(),
            origin: "/somewhere".to_string(),
            added: 0,
            dimensions: 3,
            max_tokens: 64,
            files: ["config.json", "model.onnx", "tokenizer.json"].map(file).to_vec(),
        };
        let text = serde_json::to_string(&manifest).expect("text");
        std::fs::write(folder.join(config::models::MANIFEST), text).expect("written");
        let model = named("tiny").expect("a model");
        assert!(model.space().starts_with("tiny@"), "{}", model.space());
        assert_eq!(model.try_embed(&["Ada"]).expect("a vector")[0].0.len(), 3);
        let whole = std::fs::read(folder.join("model.onnx")).expect("read");
        let other: Vec<u8> = whole.iter().rev().copied().collect();
        std::fs::write(folder.join("model.onnx"), other).expect("written");
        let error =
            named("tiny").expect("of the same size").try_embed(&["Ada"]).expect_err("other");
        assert!(error.to_string().contains("its file `model.onnx` has changed"), "{error}");
        std::fs::write(folder.join("model.onnx"), "cut").expect("written");
        let error = named("tiny").map(|_| ()).expect_err("broken").to_string();
        assert!(error.contains("its file `model.onnx` has changed"), "{error}");
    }
}
