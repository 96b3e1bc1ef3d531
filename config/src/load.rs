//! Settings in layers: defaults, the user's `config.yaml`, the read-only flag of the registry, the folder's `kg.yaml`,
//! `KG_*` variables, flags.
//!
//! In: the places, the project's folder, the environment, flags. Out: settings, and the origin of each value.
//! Invariants: a later layer wins, key by key; a wrong key, type or number is an error that names its
//! file, line and key; keys that only the user may set are refused in a folder, because a folder may
//! come from a stranger.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::fingerprint::exact;
use crate::place::Places;
use crate::registry::{self, Registry, RegistryError};
use crate::settings::{Privacy, Settings};

pub(crate) mod check;
pub mod edit;
mod tree;

/// The name of the settings file in a project's folder.
pub const PROJECT_FILE: &str = "kg.yaml";

/// Largest settings file read, in bytes. Ours has 5,000; more is not a settings file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Most values that a folder's file sets, those in lists counted one by one, and their bytes: a pattern costs 20 kB.
const MAX_OF_FOLDER: (usize, usize) = (1_000, 64 << 10);

/// Sections and keys that only the user's own configuration, the environment and flags may set.
const USER_ONLY: &[&str] = &[
    "projects",
    "publish",
    "serve",
    "http",
    "belt",
    "worker",
    "vectors",
    "watch.max_file_bytes",
    "watch.max_document_bytes",
    "privacy.allow_paths",
    "privacy.allow_marks",
    "recognize.model",
    "recognize.given",
    "embed.model",
    "embed.other_languages",
    "embed.dimensions",
    "embed.query_prompt",
    "embed.document_prompt",
    "embed.hub",
    "embed.remote",
    "llm",
    "retrieval.rerank.model",
    "log",
    "telemetry",
    "update",
];

/// Returns true when a folder must not set this section or key.
pub(crate) fn is_user_only(key: &str) -> bool {
    let rest = USER_ONLY.iter().filter_map(|own| key.strip_prefix(own));
    rest.into_iter().any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Sections that decide how a project's questions are answered, and that a folder may set.
const OF_ANSWERS: [&str; 4] = ["retrieval", "memory", "kb", "link"];

/// Returns the settings that decide about answers, in the form of a folder's file: the same index with these settings
/// gives the same answers. Settings that only the user may set are left out.
pub fn of_answers(settings: &Settings) -> String {
    let mut all = crate::fingerprint::exact(settings);
    let mut kept = serde_json::Map::new();
    for section in OF_ANSWERS {
        let Some(value) = all.get_mut(section) else { continue };
        without_user_only(section, value);
        kept.insert(section.to_string(), value.take());
    }
    // It controls notes that are written, which is up to each folder.
    if let Some(Value::Object(memory)) = kept.get_mut("memory") {
        memory.remove("report");
    }
    Value::Object(kept).to_string()
}

pub(crate) fn without_user_only(key: &str, value: &mut Value) {
    let Value::Object(fields) = value else { return };
    let key_of = |name: &String| format!("{key}.{name}");
    fields.retain(|name, _| !is_user_only(&key_of(name)));
    fields.iter_mut().for_each(|(name, value)| without_user_only(&key_of(name), value));
}

/// Maps with keys of the user's choice; every other map has the keys of its defaults.
pub(crate) const OPEN_MAPS: &[&str] = &["retrieval.relation_weights"];

/// Settings of earlier versions. A file that has one is read as if it did not: an update must not stop a daemon.
const RETIRED: &[&str] =
    &["retrieval.weights.pagerank", "retrieval.weights.proximity", "retrieval.weights.recency"];

/// Settings, and the origin of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// The origin of each value, by dotted key such as `watch.debounce_ms`; complete.
    pub origins: BTreeMap<String, Origin>,
    /// One sentence for each setting that was ignored, because no version has it any more.
    pub warnings: Vec<String>,
    values: BTreeMap<String, Value>,
}

impl Loaded {
    /// Returns every dotted key with its value and origin, sorted by key.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        let row = |(key, value)| Some((String::as_str(key), value, self.origins.get(key)?));
        self.values.iter().filter_map(row)
    }
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Not set anywhere.
    Default,
    /// A file.
    File {
        /// `config.yaml` of the user or `kg.yaml` of the folder.
        path: PathBuf,
        /// Line in the file, from 1.
        line: u64,
    },
    /// The registry, in which the project is read-only.
    Registry(PathBuf),
    /// An environment variable.
    Variable(String),
    /// A flag, as given.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Registry(path) => write!(f, "{}, read-only", path.display()),
            Origin::Variable(name) => write!(f, "environment `{name}`"),
            Origin::Flag(text) => write!(f, "flag `{text}`"),
        }
    }
}

/// Why settings cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// An existing file cannot be read.
    #[error("cannot read `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file is not YAML, or not a map.
    #[error("`{}`{} is not YAML: {why}", path.display(), at_line(*line))]
    NotYaml {
        /// The file.
        path: PathBuf,
        /// From 1; 0 when unknown.
        line: u64,
        /// What the parser expected.
        why: String,
    },
    /// The registry, which has the read-only flags, cannot be read.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A key or its value is wrong.
    #[error("{origin}: `{key}` {why}{}", hint_line(hint.as_deref()))]
    Wrong {
        /// Where it was set.
        origin: Origin,
        /// The dotted key.
        key: String,
        /// What is wrong with it.
        why: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default()
}

fn at_line(line: u64) -> String {
    if line == 0 { String::new() } else { format!(", line {line},") }
}

/// One value that a layer sets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    key: String,
    value: Value,
    origin: Origin,
}

/// Loads the settings of the project at `root` (without one, the user's alone), with this process's environment.
///
/// `flags` are texts `key=value`, such as `watch.poll=true`.
///
/// # Errors
/// [`LoadError`], for the first problem in the order of the layers.
pub fn load(places: &Places, root: Option<&Path>, flags: &[String]) -> Result<Loaded, LoadError> {
    // A variable that is not UTF-8 is not one of ours.
    let env = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
    load_with(places, root, env, flags)
}

/// Like [`load`], with a given environment.
///
/// # Errors
/// [`LoadError`], for the first problem in the order of the layers.
pub fn load_with(
    places: &Places,
    root: Option<&Path>,
    env: impl IntoIterator<Item = (String, String)>,
    flags: &[String],
) -> Result<Loaded, LoadError> {
    let mut layers = Layers::new();
    layers.apply(tree::read(&places.user_settings())?)?;
    if let Some(root) = root {
        layers.apply(read_only(places, root)?)?;
        let assignments = tree::read_inside(root, PROJECT_FILE)?;
        assignments.iter().try_for_each(|it| refuse_user_only(it, places))?;
        assignments.iter().try_for_each(refuse_outside)?;
        refuse_too_much(&assignments)?;
        let own = layers.settings.clone();
        layers.apply(assignments)?;
        // Checked after the layer is applied: the mode of a kind may follow from several keys.
        refuse_milder(&own.privacy, &layers)?;
        refuse_writing(own.write, &layers)?;
    }
    let mut variables: Vec<_> =
        env.into_iter().filter_map(|(name, text)| variable(&name, text)).collect();
    // In a fixed order, so that the first problem is always the same one.
    variables.sort_by(|left, right| left.0.cmp(&right.0));
    for (key, text, origin) in variables {
        layers.apply_text(key, &text, origin)?;
    }
    for flag in flags {
        let (key, text) = flag.split_once('=').unwrap_or((flag, ""));
        layers.apply_text(key.trim().to_string(), text.trim(), Origin::Flag(flag.clone()))?;
    }
    layers.finish()
}

/// Returns the read-only flag of the registry: applied before the folder's settings, which cannot override it.
fn read_only(places: &Places, root: &Path) -> Result<Vec<Assignment>, LoadError> {
    let registry = Registry::load(&places.config)?;
    let is_marked = registry.at(root).is_some_and(|it| it.read_only);
    let origin = || Origin::Registry(places.config.join(registry::FILE_NAME));
    let forbid = || Assignment { key: "write".to_string(), value: false.into(), origin: origin() };
    Ok(is_marked.then(forbid).into_iter().collect())
}

fn refuse_user_only(it: &Assignment, places: &Places) -> Result<(), LoadError> {
    if !is_user_only(&it.key) {
        return Ok(());
    }
    Err(LoadError::Wrong {
        origin: it.origin.clone(),
        key: it.key.clone(),
        why: "cannot be set by a folder".to_string(),
        hint: Some(format!(
            "set it in `{}`, which only you can write",
            places.user_settings().display()
        )),
    })
}

/// Refuses a folder's file that sets more than memory is there for.
fn refuse_too_much(assignments: &[Assignment]) -> Result<(), LoadError> {
    let (mut n_values, mut n_bytes) = (0, 0);
    let is_too_much = |it: &&Assignment| {
        n_values += it.value.as_array().map_or(1, Vec::len);
        n_bytes += it.key.len() + it.value.to_string().len();
        n_values > MAX_OF_FOLDER.0 || n_bytes > MAX_OF_FOLDER.1
    };
    assignments.iter().find(is_too_much).map_or(Ok(()), |it| {
        Err(LoadError::Wrong {
            origin: it.origin.clone(),
            key: it.key.clone(),
            why: "is too much: a folder sets at most 1000 values, of 64 kB together".to_string(),
            hint: Some("use fewer patterns that match more".to_string()),
        })
    })
}

/// Refuses a folder's setting that names a file outside the folder.
fn refuse_outside(it: &Assignment) -> Result<(), LoadError> {
    let Value::Array(paths) = &it.value else { return Ok(()) };
    let leads_out = |path: &str| {
        let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        !Path::new(path).components().all(inside)
    };
    let paths = paths.iter().filter_map(Value::as_str);
    let outside = paths.into_iter().find(|path| it.key == "relate.predicates" && leads_out(path));
    outside.map_or(Ok(()), |path| {
        Err(LoadError::Wrong {
            origin: it.origin.clone(),
            key: it.key.clone(),
            why: format!("names `{path}`, which is outside the folder"),
            hint: Some(
                "name a file in the folder, or set it in your own configuration".to_string(),
            ),
        })
    })
}

/// Refuses less privacy than the user's; a folder may only ask for more.
fn refuse_milder(own: &Privacy, layers: &Layers) -> Result<(), LoadError> {
    let now = &layers.settings.privacy;
    let kinds = now.pii_kinds.all();
    let Some((kind, _)) = kinds.iter().find(|(kind, _)| now.mode_of(kind) < own.mode_of(kind))
    else {
        return Ok(());
    };
    let is_from_folder = |key: &String| {
        layers.origins.get(key).is_some_and(
            |it| matches!(it, Origin::File { path, .. } if path.ends_with(PROJECT_FILE)),
        )
    };
    // Name the folder's own key in the error; the kind's own key is more specific.
    let keys = [format!("privacy.pii_kinds.{kind}"), "privacy.pii".to_string()];
    let key = keys.into_iter().find(is_from_folder).unwrap_or_else(|| "privacy".to_string());
    Err(LoadError::Wrong {
        origin: layers.origins.get(&key).cloned().unwrap_or(Origin::Default),
        why: format!(
            "makes `{kind}` milder than your own setting (`{}`)",
            own.mode_of(kind).as_str()
        ),
        key,
        hint: Some("a folder may only make this stricter".to_string()),
    })
}

/// Refuses to allow writing that the user has forbidden; a folder may only forbid it.
fn refuse_writing(own: bool, layers: &Layers) -> Result<(), LoadError> {
    if own || !layers.settings.write {
        return Ok(());
    }
    Err(LoadError::Wrong {
        origin: layers.origins.get("write").cloned().unwrap_or(Origin::Default),
        key: "write".to_string(),
        why: "allows what you have forbidden".to_string(),
        hint: Some("a folder may only set it to `false`".to_string()),
    })
}

/// `KG_WATCH__DEBOUNCE_MS` sets `watch.debounce_ms`; a name without two underscores together is not a
/// setting, except `KG_WRITE`: `write` is the only setting outside all groups.
fn variable(name: &str, text: String) -> Option<(String, String, Origin)> {
    let key = name.strip_prefix("KG_").filter(|rest| rest.contains("__") || *rest == "WRITE")?;
    Some((key.to_lowercase().replace("__", "."), text, Origin::Variable(name.to_string())))
}

/// Settings under construction.
struct Layers {
    tree: Value,
    settings: Settings,
    defaults: BTreeMap<String, Value>,
    origins: BTreeMap<String, Origin>,
    warnings: Vec<String>,
}

impl Layers {
    fn new() -> Self {
        let settings = Settings::default();
        let tree = exact(&settings);
        let defaults = leaves(&tree);
        let origins = defaults.keys().map(|key| (key.clone(), Origin::Default)).collect();
        Layers { tree, settings, defaults, origins, warnings: Vec::new() }
    }

    fn apply(&mut self, assignments: Vec<Assignment>) -> Result<(), LoadError> {
        assignments.into_iter().try_for_each(|it| self.set(it))
    }

    /// Sets a key from untyped text; the type of the default decides how it is parsed.
    fn apply_text(&mut self, key: String, text: &str, origin: Origin) -> Result<(), LoadError> {
        let quoted = || Value::String(text.to_string());
        let value = match self.defaults.get(&key) {
            Some(Value::String(_)) => quoted(),
            Some(Value::Array(_)) if !text.starts_with('[') => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                items.map(Value::from).collect()
            }
            // Text that is not JSON is a string, such as `write=off`; a wrong type fails when it is set.
            _ => serde_json::from_str(text).unwrap_or_else(|_| quoted()),
        };
        self.set(Assignment { key, value, origin })
    }

    fn set(&mut self, it: Assignment) -> Result<(), LoadError> {
        let Assignment { key, value, origin } = it;
        if !self.is_known(&key) {
            if RETIRED.contains(&key.as_str()) {
                let why = "is ignored: it is no longer a setting";
                self.warnings.push(format!("{origin}: `{key}` {why}"));
                return Ok(());
            }
            return Err(self.unknown(key, origin));
        }
        let fail = |why: String| LoadError::Wrong {
            origin: origin.clone(),
            key: key.clone(),
            why,
            hint: None,
        };
        // A copy, so that a value that is refused leaves no trace.
        let mut tree = self.tree.clone();
        *slot(&mut tree, &key) = value;
        // Deserialized as a whole after every key, so that a failure belongs to this key.
        let settings =
            Settings::deserialize(&tree).map_err(|error| fail(format!("is wrong: {error}")))?;
        check::ranges(&settings, &key).map_err(fail)?;
        check::globs(&settings, &key).map_err(fail)?;
        check::extensions(&settings, &key).map_err(fail)?;
        check::patterns(&settings, &key).map_err(fail)?;
        check::paths(&settings, &key).map_err(fail)?;
        check::addresses(&settings, &key).map_err(fail)?;
        (self.tree, self.settings) = (tree, settings);
        self.origins.insert(key, origin);
        Ok(())
    }

    fn is_known(&self, key: &str) -> bool {
        let inside = |map: &str| key.strip_prefix(map).and_then(|rest| rest.strip_prefix('.'));
        let open = OPEN_MAPS.iter().filter_map(|map| inside(map));
        self.defaults.contains_key(key)
            || open.into_iter().any(|name| !name.is_empty() && !name.contains('.'))
    }

    fn unknown(&self, key: String, origin: Origin) -> LoadError {
        let inside: Vec<_> =
            self.defaults.keys().filter(|known| known.starts_with(&format!("{key}."))).collect();
        let (why, hint) = if inside.is_empty() {
            let longer = self.defaults.keys().find(|known| known.starts_with(&key));
            // A prefix is more likely a forgotten ending than a typing error; up to 4 edits may be one.
            let nearest = self.defaults.keys().min_by_key(|known| check::distance(known, &key));
            let near = longer.or_else(|| nearest.filter(|known| check::distance(known, &key) <= 4));
            let hint = near.map_or("`kgctl config reference` lists every key".into(), |it| {
                format!("perhaps `{it}`")
            });
            ("is not a setting", hint)
        } else {
            ("is a section, not a value", format!("it has keys such as `{}`", inside[0]))
        };
        LoadError::Wrong { origin, key, why: why.to_string(), hint: Some(hint) }
    }

    fn finish(self) -> Result<Loaded, LoadError> {
        check::together(&self.settings).map_err(|(key, why)| LoadError::Wrong {
            origin: self.origins.get(key).cloned().unwrap_or(Origin::Default),
            key: key.to_string(),
            why,
            hint: None,
        })?;
        let Layers { tree, settings, origins, warnings, .. } = self;
        Ok(Loaded { values: leaves(&tree), settings, origins, warnings })
    }
}

/// Returns the value at a dotted key; creates maps on the way.
fn slot<'a>(tree: &'a mut Value, key: &str) -> &'a mut Value {
    key.split('.').fold(tree, |value, part| &mut value[part])
}

/// Returns every value that is not a map, by dotted key.
pub(crate) fn leaves(tree: &Value) -> BTreeMap<String, Value> {
    fn walk(key: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(name, inner)| {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                walk(&key, inner, found);
            }),
            leaf => {
                found.insert(key.to_string(), leaf.clone());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk("", tree, &mut found);
    found
}

#[cfg(test)]
mod tests;
