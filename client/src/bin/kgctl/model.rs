//! `kgctl model`: manages embedding models in addition to the built-in one.
//!
//! In: a folder or a name. Out: models for `embed.model`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::config::limits::{DEFAULT_MODEL, OTHER_MODEL};
use ::config::load::load;
use ::config::models::{Manifest, all};
use ::config::settings::Embed;
use client::launch::find_kgd;
use client::model::{Fetcher, KNOWN, ModelDir, ModelError, Proof, Source, Wish, pull};
use client::render::models::{ModelRow, models};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::context::{Context, warn};
use super::failure::{Exit, Failure};

/// Add, fetch, list and remove embedding models. `embed.model` in your `config.yaml` says which one is used.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// List the available models.
    List,
    /// Copy a model from a folder, convert it if necessary, and try it.
    Add(Add),
    /// Download a model by name: a known one, or `OWNER/NAME` of the hub (`embed.hub`).
    Pull(Pull),
    /// Delete a model.
    Remove(Remove),
}

#[derive(Debug, clap::Args)]
struct Add {
    /// The folder: `config.json`, `tokenizer.json` and an ONNX file, or `model.safetensors` of a BERT-like model.
    folder: PathBuf,
    #[command(flatten)]
    wish: Options,
}

#[derive(Debug, clap::Args)]
struct Pull {
    /// A known name (without one, they are listed), or a repository of the hub: `OWNER/NAME`, `OWNER/NAME@REVISION`.
    model: Option<String>,
    /// Use this folder, `.zip` or `.whl` instead of the hub.
    #[arg(long, value_name = "PATH", requires = "model")]
    from: Option<PathBuf>,
    /// Accept files that differ from those of the first download.
    #[arg(long)]
    changed: bool,
    #[command(flatten)]
    wish: Options,
}

#[derive(Debug, clap::Args)]
struct Remove {
    /// The name of the model.
    name: String,
    /// Even if your settings use it.
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct Options {
    /// The name of the model; taken from the folder or repository when left out.
    #[arg(long)]
    name: Option<String>,
    /// The file with the weights, if there are several.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Round the weights of `model.safetensors` to 8 bits, except the word embeddings: smaller, about twice as fast,
    /// less exact.
    #[arg(long)]
    int8: bool,
    /// The prompt before a question; overrides the model's own.
    #[arg(long, value_name = "TEXT")]
    query_prompt: Option<String>,
    /// The prompt before a document; overrides the model's own.
    #[arg(long, value_name = "TEXT")]
    document_prompt: Option<String>,
    /// Replace an existing model of this name.
    #[arg(long)]
    force: bool,
}

impl Options {
    fn wish(&self, name: &str, origin: &Path) -> Wish {
        Wish {
            name: self.name.clone().unwrap_or_else(|| name.to_string()),
            origin: origin.display().to_string(),
            weights: self.file.clone(),
            int8: self.int8,
            force: self.force,
            query_prompt: self.query_prompt.clone().unwrap_or_default(),
            document_prompt: self.document_prompt.clone().unwrap_or_default(),
            prompts_count: self.query_prompt.is_some() || self.document_prompt.is_some(),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    match &arguments.what {
        What::List => list(ctx),
        What::Add(it) => add(it, ctx),
        What::Pull(it) => fetch(it, ctx),
        What::Remove(it) => remove(it, ctx),
    }
}

fn list(ctx: &Context) -> Result<Exit, Failure> {
    let folder = ctx.places()?.models();
    let embed = settings(ctx)?;
    let used = embed.model.as_str();
    let built_in = |name: &str, origin: &str| ModelRow {
        name: name.to_string(),
        used: used == name || (used == DEFAULT_MODEL && embed.other_languages == name),
        dimensions: Some(384),
        bytes: None,
        state: "built in".to_string(),
        origin: origin.to_string(),
    };
    let mut rows = vec![
        built_in(DEFAULT_MODEL, "sentence-transformers/all-MiniLM-L6-v2"),
        built_in(OTHER_MODEL, "intfloat/multilingual-e5-small"),
    ];
    for (name, manifest) in all(&folder) {
        let used = used == name;
        rows.push(match manifest {
            Ok(manifest) => row(manifest, &folder.join(&name), used),
            Err(why) => ModelRow {
                name,
                used,
                dimensions: None,
                bytes: None,
                state: format!("broken: {why}"),
                origin: String::new(),
            },
        });
    }
    if !rows.iter().any(|row| row.used) {
        rows.push(elsewhere(&embed));
    }
    ctx.print_reply(&rows, |rows| models(rows, ctx.style))?;
    Ok(Exit::Done)
}

/// Returns the row of a model that is in use but not in the folder of models.
fn elsewhere(embed: &Embed) -> ModelRow {
    let (state, origin, dimensions) = match embed.model.as_str() {
        "none" => ("only static vectors", "", None),
        "remote" => ("a server", embed.remote.url.as_str(), Some(embed.remote.dimensions as usize)),
        path if Path::new(path).is_dir() => ("a folder", path, None),
        _ => ("missing: `kgctl model add FOLDER` or `kgctl model pull NAME` adds it", "", None),
    };
    ModelRow {
        name: embed.model.clone(),
        used: true,
        dimensions: dimensions.filter(|n| *n > 0),
        bytes: None,
        state: state.to_string(),
        origin: origin.to_string(),
    }
}

fn row(manifest: Manifest, folder: &Path, used: bool) -> ModelRow {
    let state = match manifest.missing(folder) {
        Some(file) => format!("broken: `{}` has changed", file.path),
        None => "added".to_string(),
    };
    ModelRow {
        used,
        dimensions: Some(manifest.dimensions),
        bytes: Some(manifest.files.iter().map(|file| file.n_bytes).sum()),
        state,
        name: manifest.name,
        origin: manifest.origin,
    }
}

fn add(it: &Add, ctx: &Context) -> Result<Exit, Failure> {
    let folder = std::path::absolute(&it.folder)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let manifest = model_dir(ctx)?.add(&folder, &it.wish.wish(&name, &folder))?;
    summary(&manifest, ctx)
}

fn fetch(it: &Pull, ctx: &Context) -> Result<Exit, Failure> {
    let Some(model) = &it.model else { return known(ctx) };
    let hub = settings(ctx)?.hub;
    let bar = bar();
    let shown = RefCell::new(String::new());
    let progress = |name: &str, done: u64, total: Option<u64>| {
        if *shown.borrow() != name {
            *shown.borrow_mut() = name.to_string();
            bar.set_message(name.to_string());
        }
        bar.set_length(total.unwrap_or(done));
        bar.set_position(done);
    };
    let pause = |wait: Duration| std::thread::sleep(wait);
    let fetcher = Fetcher::new(&pause, &progress);
    let source = it.from.as_deref().map_or(Source::Hub(&hub), Source::Local);
    let wish = it.wish.wish("", Path::new(""));
    let pulled = pull(&model_dir(ctx)?, model, source, &fetcher, it.changed, &wish);
    bar.finish_and_clear();
    let (manifest, proof) = pulled?;
    if proof == Proof::None {
        let message = format!(
            "that this is `{model}` was not verified: it was taken as it lies in `{}`\nhint: compare it with what its \
             maker says, or pull it from the hub\n",
            manifest.origin
        );
        warn(&message);
    }
    summary(&manifest, ctx)
}

fn known(ctx: &Context) -> Result<Exit, Failure> {
    let rows: Vec<_> = KNOWN
        .iter()
        .map(|known| json!({ "name": known.name, "repository": known.repository, "about": known.about }))
        .collect();
    ctx.print_reply(&rows, |_| {
        let line = |known: &client::model::Known| format!("{:<22} {}\n", known.name, known.about);
        KNOWN.iter().map(line).collect()
    })?;
    Ok(Exit::Done)
}

fn remove(it: &Remove, ctx: &Context) -> Result<Exit, Failure> {
    if settings(ctx)?.model == it.name && !it.force {
        let failure =
            Failure::new(Exit::Refused, format!("`{}` is in use: your settings name it", it.name));
        return Err(failure.hint("set another `embed.model` first, or use `--force`"));
    }
    model_dir(ctx)?.remove(&it.name)?;
    ctx.print(&format!("{}: removed\n", it.name))?;
    Ok(Exit::Done)
}

/// Returns the user's embedding settings.
fn settings(ctx: &Context) -> Result<Embed, Failure> {
    Ok(load(&ctx.places()?, None, &[])?.settings.embed)
}

fn model_dir(ctx: &Context) -> Result<ModelDir, Failure> {
    let kgd = find_kgd(|name| std::env::var_os(name))?;
    Ok(ModelDir::take(&ctx.places()?.models(), &kgd)?)
}

fn summary(manifest: &Manifest, ctx: &Context) -> Result<Exit, Failure> {
    ctx.print_reply(manifest, |it| {
        format!(
            "{}: added; {} dimensions, reads {} tokens\nto use it: `embed: {{model: \"{}\"}}` in `config.yaml`, then \
             `kgctl restart`\n",
            it.name, it.dimensions, it.max_tokens, it.name
        )
    })?;
    Ok(Exit::Done)
}

/// Creates a progress bar on standard error if that is a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    let style =
        ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}");
    match style {
        Ok(style) => bar.set_style(style),
        Err(error) => warn(&format!("{error}\n")),
    }
    bar
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        let exit = match &error {
            ModelError::Unknown(_) | ModelError::NotThere { .. } => Exit::NothingFound,
            ModelError::Name(_)
            | ModelError::Exists(_)
            | ModelError::NotKnown { .. }
            | ModelError::OtherModel { .. }
            | ModelError::NoModel { .. }
            | ModelError::Archive { .. } => Exit::Refused,
            _ => Exit::Failed,
        };
        Failure::new(exit, error)
    }
}
