//! Hub: gets a model by its name, from a hub or a mirror, or from a local copy.
//!
//! In: a name, a source. Out: a model in the folder of models.
//! Invariants: only the files of a model are fetched; a hash that is pinned, sent by the hub or recorded at the first
//! download must match.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::models::Manifest;
use serde_json::Value;

use super::fetch::Fetcher;
use super::known::{KNOWN, Known};
use super::model_dir::{ModelDir, Wish};
use super::{ModelError, archive, hash, io};

/// Files that a model must have.
const REQUIRED: &[&str] = &["config.json", "tokenizer.json"];

/// Optional files of a model.
const OPTIONAL: &[&str] = &[
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
    "LICENSE",
];

/// Possible files of weights, best first.
const WEIGHTS: &[&str] = &["onnx/model.onnx", "model.onnx", "model.safetensors"];

/// Most modules of a model; existing ones have five.
const MAX_MODULES: usize = 16;

/// The source of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source<'a> {
    /// A hub at this address.
    Hub(&'a str),
    /// A folder or an archive on this machine.
    Local(&'a Path),
}

/// Evidence that a model is the requested one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Its weights have the pinned hash.
    Pinned,
    /// The hub sent them by that name.
    OfHub,
    /// None.
    None,
}

/// A model on the hub.
struct Wanted<'a> {
    repository: &'a str,
    revision: &'a str,
    weights: Option<PathBuf>,
    sha256: Option<&'static str>,
}

/// Gets a model and puts it in the folder of models; returns the evidence that it is the requested one. If
/// `wish.name` is empty, the model gets its usual name. `changed` accepts files that differ from
/// the first download.
///
/// # Errors
/// When the name is unknown, a download fails, or the files are not a model.
pub fn pull(
    models: &ModelDir,
    model: &str,
    source: Source<'_>,
    fetcher: &Fetcher<'_>,
    changed: bool,
    wish: &Wish,
) -> Result<(Manifest, Proof), ModelError> {
    let known = known(model);
    let mut wish = named(wish, model, known);
    models.check(&wish.name, wish.force)?;
    let folder = models.fetching(&wish.name);
    let mut recorded = None;
    let proof = match source {
        Source::Local(path) if path.is_dir() => {
            wish.origin = path.display().to_string();
            let proof = verify(path, known, &mut wish)?;
            return Ok((models.add(path, &wish)?, proof));
        }
        Source::Local(path) => {
            wish.origin = path.display().to_string();
            let _ = std::fs::remove_dir_all(&folder);
            archive::unpack(path, &folder)?;
            verify(&folder, known, &mut wish)?
        }
        Source::Hub(base) => {
            // The pinned hash belongs to one revision.
            let wanted = wanted(model, known.filter(|_| !model.contains('@')), &wish)?;
            wish.origin = format!("{base}/{}@{}", wanted.repository, wanted.revision);
            begin(&folder, &wish.origin)?;
            let fetched = fetch(base, &folder, fetcher, &wanted);
            if let Err(ModelError::NotThere { .. }) = fetched {
                // There is nothing to resume.
                std::fs::remove_dir_all(&folder).map_err(io(&folder))?;
            }
            wish.weights = Some(fetched?);
            std::fs::remove_file(folder.join(ORIGIN)).map_err(io(&folder))?;
            recorded = Some(compare(models, &folder, &wish.origin, changed)?);
            if wanted.sha256.is_some() { Proof::Pinned } else { Proof::OfHub }
        }
    };
    let added = models.add(&folder, &wish);
    // An unusable download is fetched again; the files of an added model are copies.
    let _ = std::fs::remove_dir_all(&folder);
    let added = added?;
    // Only for a valid model: otherwise a login page would be recorded, and the model refused later.
    recorded.map_or(Ok(()), |recorded| remember(models, &recorded))?;
    Ok((added, proof))
}

/// The file that records the source of a partial download.
const ORIGIN: &str = ".origin";

/// Keeps a partial download of the same model, and removes that of another one.
fn begin(folder: &Path, origin: &str) -> Result<(), ModelError> {
    let mark = folder.join(ORIGIN);
    if std::fs::read_to_string(&mark).is_ok_and(|before| before == origin) {
        return Ok(());
    }
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(io(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    std::fs::write(&mark, origin).map_err(io(&mark))
}

/// Returns the known model with this name: our name, or its repository with or without owner, at
/// any revision.
fn known(model: &str) -> Option<&'static Known> {
    let model = model.split('@').next().unwrap_or_default();
    let of_owner = |known: &Known| known.repository.split_once('/').map_or("", |(_, name)| name);
    KNOWN.iter().find(|known| {
        [known.name, known.repository, of_owner(known)]
            .iter()
            .any(|it| it.eq_ignore_ascii_case(model))
    })
}

/// Fills in the wish for a known model.
fn named(wish: &Wish, model: &str, known: Option<&Known>) -> Wish {
    let mut wish = wish.clone();
    if wish.name.is_empty() {
        let last =
            model.split('@').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        wish.name = known.map_or(last.to_lowercase(), |known| known.name.to_string());
    }
    if let Some(known) = known.filter(|_| !wish.prompts_count) {
        wish.query_prompt = known.query_prompt.to_string();
        wish.document_prompt = known.document_prompt.to_string();
    }
    wish
}

fn wanted<'a>(
    model: &'a str,
    known: Option<&'a Known>,
    wish: &Wish,
) -> Result<Wanted<'a>, ModelError> {
    if let Some(known) = known {
        // A file other than the known one has another hash.
        let own = wish.weights.clone();
        let sha256 = known.sha256.filter(|_| own.is_none());
        let weights = own.or_else(|| Some(PathBuf::from(known.weights)));
        return Ok(Wanted {
            repository: known.repository,
            revision: known.revision,
            weights,
            sha256,
        });
    }
    let (repository, revision) = model.split_once('@').unwrap_or((model, "main"));
    let is_plain = |part: &str| {
        let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && part.chars().all(sound) && !part.starts_with('.')
    };
    let is_repository = repository.split('/').count() == 2 && repository.split('/').all(is_plain);
    match is_repository && is_plain(revision) {
        true => Ok(Wanted { repository, revision, weights: wish.weights.clone(), sha256: None }),
        false => {
            let known = KNOWN
                .iter()
                .map(|known| format!("`{}`", known.name))
                .collect::<Vec<_>>()
                .join(", ");
            Err(ModelError::NotKnown { name: model.to_string(), known })
        }
    }
}

/// Fetches the files of a model into a folder; returns the file with the weights.
fn fetch(
    base: &str,
    folder: &Path,
    fetcher: &Fetcher<'_>,
    wanted: &Wanted<'_>,
) -> Result<PathBuf, ModelError> {
    let base = base.trim_end_matches('/');
    let url =
        |file: &str| format!("{base}/{}/resolve/{}/{file}", wanted.repository, wanted.revision);
    let get = |file: &str, sha256: Option<&str>| {
        let to = folder.join(file);
        let parent = to.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(io(parent))?;
        fetcher.fetch(&url(file), &to, sha256)
    };
    let optional = |file: &str| match get(file, None) {
        Err(ModelError::NotThere { .. }) => Ok(false),
        other => other.map(|()| true),
    };
    for file in REQUIRED {
        get(file, None)?;
    }
    for file in OPTIONAL {
        optional(file)?;
    }
    for module in modules(&folder.join("modules.json")) {
        if optional(&format!("{module}/config.json"))? {
            optional(&format!("{module}/model.safetensors"))?;
        }
    }
    let weights = match &wanted.weights {
        Some(path) => {
            get(&path.display().to_string(), wanted.sha256)?;
            path.clone()
        }
        None => {
            let mut found = None;
            for file in WEIGHTS {
                if optional(file)? {
                    found = Some(PathBuf::from(file));
                    break;
                }
            }
            found
                .ok_or_else(|| ModelError::NotThere { url: url(WEIGHTS.first().unwrap_or(&"")) })?
        }
    };
    if weights.extension().is_some_and(|it| it == "onnx") {
        optional(&format!("{}_data", weights.display()))?;
    }
    Ok(weights)
}

/// Returns the folders that `modules.json` lists, except that of the pooling.
fn modules(path: &Path) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_default();
    let listed: Vec<Value> = serde_json::from_slice(&text).unwrap_or_default();
    let paths = listed.iter().filter_map(|module| module.get("path")?.as_str());
    let is_plain = |path: &&str| {
        !path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    paths.filter(is_plain).take(MAX_MODULES).map(String::from).collect()
}

/// Verifies a copy of a known model: the size of its vectors, and the weights with a pinned hash,
/// which are then used.
fn verify(folder: &Path, known: Option<&Known>, wish: &mut Wish) -> Result<Proof, ModelError> {
    let Some(known) = known else { return Ok(Proof::None) };
    if let Some(found) = width(folder).filter(|found| *found != known.dimensions) {
        let (folder, name) = (folder.to_path_buf(), known.name.to_string());
        return Err(ModelError::OtherModel { folder, name, expected: known.dimensions, found });
    }
    let path = folder.join(known.weights);
    let is_other = wish.weights.as_deref().is_some_and(|own| own != Path::new(known.weights));
    let Some(expected) = known.sha256.filter(|_| path.is_file() && !is_other) else {
        return Ok(Proof::None);
    };
    let found = hash::of_file(&path).map_err(io(&path))?;
    if found != expected {
        let (url, expected) = (path.display().to_string(), expected.to_string());
        return Err(ModelError::WrongHash { url, expected, found, recorded: false });
    }
    wish.weights = Some(PathBuf::from(known.weights));
    Ok(Proof::Pinned)
}

/// Returns the size of a model's hidden states and vectors, from its `config.json`.
fn width(folder: &Path) -> Option<u64> {
    let path = folder.join("config.json");
    let text = path.is_file().then(|| std::fs::read(&path).ok()).flatten()?;
    let config: Value = serde_json::from_slice(&text).ok()?;
    config.get("hidden_size").or_else(|| config.get("dim"))?.as_u64()
}

/// Hashes of downloads from a hub, by address.
type Recorded = BTreeMap<String, String>;

/// Compares a download with the first one of the same files; returns the hashes to record.
fn compare(
    models: &ModelDir,
    folder: &Path,
    origin: &str,
    changed: bool,
) -> Result<Recorded, ModelError> {
    let text = std::fs::read(models.recorded()).unwrap_or_default();
    let mut recorded: Recorded = serde_json::from_slice(&text).unwrap_or_default();
    for file in config::models::below(folder) {
        let full = folder.join(&file);
        let found = hash::of_file(&full).map_err(io(&full))?;
        let key = format!("{origin}/{}", file.display());
        match recorded.get(&key).filter(|expected| **expected != found && !changed) {
            Some(expected) => {
                let (url, expected) = (key.clone(), expected.clone());
                return Err(ModelError::WrongHash { url, expected, found, recorded: true });
            }
            None => drop(recorded.insert(key, found)),
        }
    }
    Ok(recorded)
}

fn remember(models: &ModelDir, recorded: &Recorded) -> Result<(), ModelError> {
    let path = models.recorded();
    let text = serde_json::to_string_pretty(recorded).unwrap_or_default();
    let new = path.with_extension("new");
    std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).map_err(io(&path))
}

#[cfg(test)]
mod tests;
