//! Models: the embedding models that a user added, and the files of a model.
//!
//! In: the folder of models, or any folder. Out: manifests, relative paths of files.
//! Invariants: a name is a plain folder name, so it cannot lead elsewhere; a folder with a manifest is complete,
//! because it is renamed last.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The file that describes a model's folder.
pub const MANIFEST: &str = "manifest.json";

/// Longest name, bytes.
const MAX_NAME_BYTES: usize = 64;

/// Largest manifest read, bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Names that have another meaning in `embed.model`.
const RESERVED: &[&str] =
    &["none", "remote", crate::limits::DEFAULT_MODEL, crate::limits::OTHER_MODEL];

/// Files that a model may have beside its weights.
const BESIDE: &[&str] = &[
    "config.json",
    "tokenizer.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "LICENSE",
    "README.md",
];

/// Files of a folder that `modules.json` lists.
const OF_MODULE: &[&str] = &["config.json", "model.safetensors"];

/// The description of an added model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its name here.
    pub name: String,
    /// Where it came from: a folder, a file, or an address.
    pub origin: String,
    /// When it was added, seconds since 1970.
    pub added: u64,
    /// Components of its vectors.
    pub dimensions: usize,
    /// Most tokens that it reads of a text.
    pub max_tokens: usize,
    /// Its files, sorted by path.
    pub files: Vec<ModelFile>,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFile {
    /// Relative to the folder.
    pub path: String,
    /// Its size, bytes.
    pub n_bytes: u64,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Returns the SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// When it cannot be read.
pub fn sha256_of(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        let n_read = file.read(&mut buffer)?;
        hash.update(buffer.get(..n_read).unwrap_or_default());
        if n_read == 0 {
            return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
    }
}

impl Manifest {
    /// Reads the manifest of a model's folder.
    ///
    /// # Errors
    /// Why it cannot be read, as text.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut text = Vec::new();
        let path = folder.join(MANIFEST);
        if path.exists() && !path.is_file() {
            return Err("it is not a file".to_string());
        }
        let opened = std::fs::File::open(path).map_err(|error| error.to_string())?;
        let read = opened.take(MAX_MANIFEST_BYTES).read_to_end(&mut text);
        read.map_err(|error| error.to_string())?;
        serde_json::from_slice(&text).map_err(|error| error.to_string())
    }

    /// Returns a digest that changes with any file: it identifies vectors that may be compared. 16 hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut text = String::new();
        for ModelFile { path, sha256, .. } in &self.files {
            text.extend([path, " ", sha256, "\n"]);
        }
        format!("{:016x}", xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
    }

    /// Returns the first file that is missing or of another size.
    pub fn missing(&self, folder: &Path) -> Option<&ModelFile> {
        let size = |file: &ModelFile| std::fs::metadata(folder.join(&file.path)).map(|it| it.len());
        self.files.iter().find(|file| size(file).ok() != Some(file.n_bytes))
    }

    /// Returns the first file whose contents have changed since the model was added; reads them all.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn changed(&self, folder: &Path) -> std::io::Result<Option<&ModelFile>> {
        for file in &self.files {
            if sha256_of(&folder.join(&file.path))? != file.sha256 {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }
}

/// Returns true for a valid name of a model: lowercase letters, digits, `-`, `_` and `.`, a letter or digit first.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(is_plain)
        && name.chars().all(|c| is_plain(c) || matches!(c, '-' | '_' | '.'))
        && !RESERVED.contains(&name)
}

/// Returns the manifests of all added models, sorted by name, and what is wrong with the others.
pub fn all(models: &Path) -> Vec<(String, Result<Manifest, String>)> {
    let entries = std::fs::read_dir(models).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut found: Vec<_> = names
        .filter(|name| is_name(name) && models.join(name).is_dir())
        .map(|name| (name.clone(), Manifest::read(&models.join(&name))))
        .collect();
    found.sort_by(|left, right| left.0.cmp(&right.0));
    found
}

/// Returns the files of a folder that make up a model, relative to it; `weights` names the ONNX or safetensors file if
/// it is not the usual one.
///
/// # Errors
/// What is missing, as text.
pub fn files(folder: &Path, weights: Option<&Path>) -> Result<Vec<PathBuf>, String> {
    let is_there = |path: &Path| folder.join(path).is_file();
    let mut missing: Vec<String> = ["config.json", "tokenizer.json"]
        .iter()
        .filter(|name| !is_there(Path::new(name)))
        .map(|name| format!("`{name}`"))
        .collect();
    let found = match weights {
        Some(path) => Some(path.to_path_buf()).filter(|path| is_there(path)),
        None => usual_weights(folder)?,
    };
    if found.is_none() {
        let named = weights.map(|path| format!("`{}`", path.display()));
        missing.push(named.unwrap_or("`model.onnx` or `model.safetensors`".to_string()));
    }
    let Some(weights) = found.filter(|_| missing.is_empty()) else {
        return Err(format!("has no {}", missing.join(", no ")));
    };
    let mut files: Vec<PathBuf> = BESIDE.iter().map(PathBuf::from).collect();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for module in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
        // `1_Pooling`, `2_Dense`: the names that sentence-transformers uses.
        if module.starts_with(|c: char| c.is_ascii_digit()) && module.contains('_') {
            files.extend(OF_MODULE.iter().map(|name| Path::new(&module).join(name)));
        }
    }
    files.retain(|path| is_there(path));
    files.extend(external_data(folder, &weights));
    files.push(weights);
    files.sort_unstable();
    Ok(files)
}

/// Returns the files of a folder, two levels deep, sorted; leaves out partial downloads.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut places = vec![PathBuf::new()];
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(folder.join(&place)).into_iter().flatten().flatten() {
            let path = place.join(entry.file_name());
            let is_coming = path.extension().is_some_and(|it| it == "part" || it == "etag");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && path.components().count() < 3 => places.push(path),
                Ok(kind) if kind.is_file() && !is_coming => found.push(path),
                _ => {}
            }
        }
    }
    found.sort_unstable();
    found
}

/// Returns `model.onnx`, or the only ONNX file, at the root or in `onnx`; else `model.safetensors`.
fn usual_weights(folder: &Path) -> Result<Option<PathBuf>, String> {
    for place in ["", "onnx"] {
        let usual = Path::new(place).join("model.onnx");
        if folder.join(&usual).is_file() {
            return Ok(Some(usual));
        }
        let mut found = with_extension(folder, place, "onnx");
        match found.len() {
            0 => {}
            1 => return Ok(found.pop()),
            n => {
                found.sort_unstable();
                let first =
                    found.first().map(|path| path.display().to_string()).unwrap_or_default();
                return Err(format!("has {n} models: choose one, such as `--file {first}`"));
            }
        }
    }
    let usual = PathBuf::from("model.safetensors");
    Ok(Some(usual).filter(|path| folder.join(path).is_file()))
}

fn with_extension(folder: &Path, place: &str, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
    let paths = entries.map(|entry| Path::new(place).join(entry.file_name()));
    let is_meant = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    paths.filter(|path| is_meant(path) && folder.join(path).is_file()).collect()
}

/// Returns the files beside an ONNX file that hold its weights: their names begin with its own.
fn external_data(folder: &Path, weights: &Path) -> Vec<PathBuf> {
    let (place, name) = (weights.parent(), weights.file_name().and_then(|name| name.to_str()));
    let (Some(place), Some(name)) = (place, name.filter(|name| name.ends_with(".onnx"))) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder.join(place)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_data = |other: &String| {
        other
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with("_data") || rest.starts_with(".data"))
    };
    let paths = names.filter(is_data).map(|name| place.join(name));
    paths.filter(|path| folder.join(path).is_file()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for name in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("inside")).expect("made");
            std::fs::write(path, name).expect("written");
        }
        dir
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        for good in ["bge-small", "e5_base.v2", "7b", "all-mpnet-base-v2"] {
            assert!(is_name(good), "{good}");
        }
        let long = "a".repeat(65);
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "/a",
            "A",
            ".hidden",
            "none",
            "remote",
            "minilm-l6",
            "e5-small",
            &long,
        ] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn the_files_of_a_model_are_told_from_others() {
        let check = |files: &[&str], weights: Option<&str>, expected: &[&str]| {
            let dir = folder(files);
            let found = super::files(dir.path(), weights.map(Path::new)).expect("a model");
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
        };
        let base = [
            "config.json",
            "tokenizer.json",
            "vocab.txt",
            "1_Pooling/config.json",
            "pytorch_model.bin",
        ];
        let with = |more: &[&'static str]| [&base[..], more].concat();
        let kept = ["1_Pooling/config.json", "config.json"];
        check(
            &with(&["model.onnx", "model.onnx_data", "model.safetensors"]),
            None,
            &[&kept[..], &["model.onnx", "model.onnx_data", "tokenizer.json"]].concat(),
        );
        check(
            &with(&["onnx/model.onnx", "onnx/model_int8.onnx"]),
            None,
            &[&kept[..], &["onnx/model.onnx", "tokenizer.json"]].concat(),
        );
        check(
            &with(&["onnx/model.onnx", "onnx/model_int8.onnx", "onnx/model_int8.onnx.data"]),
            Some("onnx/model_int8.onnx"),
            &[&kept[..], &["onnx/model_int8.onnx", "onnx/model_int8.onnx.data", "tokenizer.json"]]
                .concat(),
        );
        check(
            &with(&["model.safetensors", "2_Dense/config.json", "2_Dense/model.safetensors"]),
            None,
            &[
                "1_Pooling/config.json",
                "2_Dense/config.json",
                "2_Dense/model.safetensors",
                "config.json",
                "model.safetensors",
                "tokenizer.json",
            ],
        );
    }

    #[test]
    fn all_that_is_missing_is_said_at_once() {
        let error_of = |files: &[&str], weights: Option<&str>| {
            super::files(folder(files).path(), weights.map(Path::new)).expect_err("a refusal")
        };
        let all =
            "has no `config.json`, no `tokenizer.json`, no `model.onnx` or `model.safetensors`";
        assert_eq!(error_of(&[], None), all);
        let base = ["config.json", "tokenizer.json"];
        assert_eq!(error_of(&base, Some("a.onnx")), "has no `a.onnx`");
        let two = [&base[..], &["onnx/b.onnx", "onnx/a.onnx"]].concat();
        assert_eq!(error_of(&two, None), "has 2 models: choose one, such as `--file onnx/a.onnx`");
    }

    #[test]
    fn a_manifest_tells_another_model_and_a_missing_file() {
        let dir = folder(&["model.onnx"]);
        let file = ModelFile { path: "model.onnx".into(), n_bytes: 10, sha256: "00".into() };
        let manifest = Manifest {
            name: "m".into(),
            origin: "/tmp".into(),
            added: 1,
            dimensions: 3,
            max_tokens: 8,
            files: vec![file],
        };
        assert_eq!(manifest.missing(dir.path()), None);
        std::fs::write(dir.path().join("model.onnx"), "cut").expect("written");
        assert!(manifest.missing(dir.path()).is_some());
        let mut other = manifest.clone();
        other.files[0].sha256 = "01".into();
        assert_ne!(manifest.digest(), other.digest());
        std::fs::write(dir.path().join(MANIFEST), serde_json::to_string(&manifest).expect("text"))
            .expect("written");
        assert_eq!(Manifest::read(dir.path()), Ok(manifest));
        assert!(Manifest::read(Path::new("/nowhere")).is_err());
    }
}
