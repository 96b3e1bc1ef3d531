//! `kgctl export`: writes the graph in a format for other programs.
//!
//! In: a format, where to write. Out: one file, or a folder of several, and counts of their contents.
//! Invariants: everything belongs to one tick; a file is complete or absent; existing files are
//! replaced only with `--force`.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use client::connect::Session;
use client::interchange::export::{DEFAULT_LIMIT, Export, Written};
use client::interchange::graph::Graph;
use client::render::{clean, counted, thousands};
use proto::tool::admin::Dump;
use serde_json::{Value, json};

use super::context::{Context, warn};
use super::failure::{Exit, Failure};

/// How often reading may start over because the graph changed meanwhile.
const MAX_TRIES: usize = 3;

/// Rows per request.
const ROWS: u32 = 2_000;

/// Write the graph for another program: CSV with load scripts for Neo4j and Memgraph, GraphML, JSON-LD, an Obsidian
/// canvas, or the notes as a memory of server-memory.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// `csv`, `graphml`, `json-ld`, `canvas` or `server-memory`.
    format: String,
    /// Where to write: a file, a folder for `csv`, `-` for standard output; named by the project, in the current
    /// folder, when left out.
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// Most entities of a canvas; 200 when left out.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Replace existing files.
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let export = Export::parse(&arguments.format).ok_or_else(|| {
        let known = Export::ALL.map(Export::name).join("`, `");
        Failure::new(Exit::Refused, format!("no format is called `{}`", arguments.format))
            .hint(format!("`{known}`"))
    })?;
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT);
    let target = ctx.target()?;
    let to = match &arguments.to {
        Some(to) if to == Path::new("-") => None,
        Some(to) => Some(std::path::absolute(to)?),
        None => Some(std::path::absolute(export.file_name(&target.project.name))?),
    };
    let files: Vec<(&str, PathBuf)> = match &to {
        Some(to) => export.files().iter().map(|file| (*file, place(to, file))).collect(),
        None if export.files().len() > 1 => {
            let message = format!("`{}` has several files", export.name());
            return Err(Failure::new(Exit::Refused, message).hint("give a folder with `--to`"));
        }
        None => Vec::new(),
    };
    // Checked first: if the files cannot be written, the graph need not be read.
    for (_, path) in &files {
        refuse_what_is_there(path, arguments.force)?;
    }
    let session = ctx.session_with(&target).await?;
    let (graph, tick) = read(&session).await?;
    session.close().await;
    let Some(to) = to else {
        let mut out = BufWriter::new(std::io::stdout().lock());
        export.write(&graph, "", limit, &mut out)?;
        out.flush()?;
        return Ok(Exit::Done);
    };
    let mut written = Written::default();
    for (file, path) in &files {
        let it = write(path, arguments.force, |out| export.write(&graph, file, limit, out))?;
        written.n_entities += it.n_entities;
        written.n_relations += it.n_relations;
        written.n_entities_left += it.n_entities_left;
        written.n_relations_left += it.n_relations_left;
    }
    if ctx.json {
        let files: Vec<&PathBuf> = files.iter().map(|(_, path)| path).collect();
        ctx.print_json(&json!({
            "format": export.name(), "files": files, "entities": written.n_entities, "relations": written.n_relations,
            "entities_left_out": written.n_entities_left, "relations_left_out": written.n_relations_left, "tick": tick,
        }))?;
        return Ok(Exit::Done);
    }
    ctx.print(&text(&to, &written))?;
    Ok(Exit::Done)
}

fn place(to: &Path, file: &str) -> PathBuf {
    if file.is_empty() { to.to_path_buf() } else { to.join(file) }
}

fn text(to: &Path, written: &Written) -> String {
    let entities = counted(written.n_entities as u64, "entity");
    let relations = counted(written.n_relations as u64, "relation");
    let mut text = format!("{}\n{entities}, {relations}\n", clean(&to.display().to_string()));
    if written.n_entities_left + written.n_relations_left > 0 {
        let left = [written.n_entities_left, written.n_relations_left].map(|n| thousands(n as u64));
        text += &format!(
            "left out: {} entities and {} relations, the least connected; raise `--limit` to draw more\n",
            left[0], left[1]
        );
    }
    text
}

/// Reads what exports need, all of one tick.
async fn read(session: &Session) -> Result<(Graph, u64), Failure> {
    'again: for _ in 0..MAX_TRIES {
        let mut graph = Graph::default();
        let mut cursor = None;
        let mut first_tick = None;
        loop {
            let reply = session.call(&Dump { cursor, limit: Some(ROWS) }).await?;
            let tick = reply.freshness.tick;
            if *first_tick.get_or_insert(tick) != tick {
                continue 'again;
            }
            let kind = |row: &Value| row["kind"].as_str().unwrap_or_default().to_string();
            let last = reply.rows.last().map(kind).unwrap_or_default();
            for row in reply.rows {
                graph.take(row)?;
            }
            cursor = Graph::next_cursor(&last, reply.cursor);
            if cursor.is_none() {
                return Ok((graph, tick));
            }
        }
    }
    let message = format!("the graph changed during each of {MAX_TRIES} readings");
    Err(Failure::new(Exit::Failed, message).hint("run `kgctl wait` first"))
}

fn refuse_what_is_there(path: &Path, force: bool) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => {
            let message = format!("`{}` exists and is not a regular file", path.display());
            Err(Failure::new(Exit::Refused, message).hint("use another path with `--to`"))
        }
        Ok(_) if !force => {
            let message = format!("`{}` already exists", path.display());
            Err(Failure::new(Exit::Refused, message)
                .hint("use `--force` to replace it, or another path with `--to`"))
        }
        _ => Ok(()),
    }
}

/// Writes to a temporary file beside it and renames it when it is complete.
fn write(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<Written>,
) -> Result<Written, Failure> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot write `{}`: {error}", path.display());
        Failure::new(Exit::Failed, message).hint("use another path with `--to`")
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let part = folder.join(format!(".kgd-export-{}.tmp", std::process::id()));
    // The graph is as private as the documents.
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let file = opened.map_err(failed)?;
    let done = fill_whole(file, fill).and_then(|written| {
        if force {
            fs::rename(&part, path)?;
        } else {
            // Unlike a rename, this fails if the file was created in between.
            fs::hard_link(&part, path)?;
            fs::remove_file(&part)?;
        }
        Ok(written)
    });
    done.map_err(|error| {
        if let Err(error) = fs::remove_file(&part)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            warn(&format!("note: `{}` is left over: {error}\n", part.display()));
        }
        failed(error)
    })
}

fn fill_whole(
    file: File,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<Written>,
) -> std::io::Result<Written> {
    let mut out = BufWriter::new(file);
    let written = fill(&mut out)?;
    out.into_inner().map_err(|error| error.into_error())?.sync_all()?;
    Ok(written)
}
