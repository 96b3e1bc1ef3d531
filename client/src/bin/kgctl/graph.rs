//! `kgctl graph`: draws the neighborhood of an entity, or the whole folder, as an HTML page.
//!
//! In: a name or none, hops, bounds. Out: one HTML file, opened if requested.
//! Invariants: only an older page is overwritten; a page is complete or absent.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use client::page::{MARK, page, subject};
use client::render::{clean, counted, for_shell};
use config::place::replace_file;
use proto::tool::admin::{Graph, GraphReply};
use serde_json::json;

use super::context::{Context, warn};
use super::failure::{Exit, Failure};

/// Longest part of a file's name that comes from the entity's name, in characters.
const MAX_NAME_CHARS: usize = 60;

/// Draw the folder, or an entity and its relations, as one HTML file that needs no network.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A name or alias, or `#` and an id from another answer; the whole folder when left out.
    name: Vec<String>,
    /// Hops of relations to follow from the entity, 1 to 4; 2 when left out.
    #[arg(long, value_name = "N", requires = "name")]
    hops: Option<u32>,
    /// Most entities to draw, 1 to 5000; 300 when left out.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Only this relation; may be repeated.
    #[arg(long, value_name = "RELATION")]
    rel: Vec<String>,
    /// Where to write the page, `-` for standard output; in the folder of the project's index when left out.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show the page with the desktop's browser (`xdg-open`).
    #[arg(long)]
    open: bool,
}

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let name = arguments.name.join(" ");
    let entity_id = name.strip_prefix('#').and_then(|id| id.parse().ok());
    let request = Graph {
        entity_id,
        name: Some(name).filter(|name| entity_id.is_none() && !name.is_empty()),
        hops: arguments.hops,
        limit: arguments.limit,
        rels: (!arguments.rel.is_empty()).then_some(arguments.rel),
    };
    let target = ctx.target()?;
    let session = ctx.session_with(&target).await?;
    let reply = session.call(&request).await?;
    session.close().await;
    let page = page(&reply, Some(&target.project.root));
    if arguments.out.as_deref() == Some(Path::new("-")) {
        ctx.print(&page)?;
        return Ok(Exit::Done);
    }
    let out = match arguments.out {
        Some(out) => std::path::absolute(out)?,
        None => target.paths.dir.join(file_name(&reply)),
    };
    if out.starts_with(&target.project.root) {
        warn("note: the page is in the project's folder and is indexed like any other HTML file\n");
    }
    write(&out, &page)?;
    if ctx.json {
        ctx.print_json(
            &json!({ "path": out, "nodes": reply.nodes.len(), "edges": reply.edges.len(),
            "communities": reply.communities.len(), "truncated": reply.truncated, "tick": reply.freshness.tick }),
        )?;
    } else {
        ctx.print(&summary(&reply, &out))?;
    }
    if arguments.open {
        let hint = format!("the page was written; open `{}` in a browser", out.display());
        show(&out, &hint)?;
    }
    Ok(Exit::Done)
}

fn summary(reply: &GraphReply, out: &Path) -> String {
    let entities = counted(reply.nodes.len() as u64, "entity");
    let relations = counted(reply.n_relations(), "relation");
    let path = out.display().to_string();
    let communities = match reply.communities.len() as u64 {
        0 => String::new(),
        n => format!(", {}", counted(n, "community")),
    };
    let mut text = format!("{}\n{entities}, {relations}{communities}\n", clean(&path));
    if let Some(truncated) = &reply.truncated {
        text += &format!("{}\n", clean(&for_shell(truncated)));
    }
    text
}

/// Returns a name such as `graph-signing-service-2.html`: letters and digits of the entity's name,
/// and the number of hops; `graph-folder.html` for a folder.
fn file_name(reply: &GraphReply) -> String {
    if subject(reply).is_none() {
        return "graph-folder.html".to_string();
    }
    let name = reply.nodes.first().map_or("", |it| it.entity.name.as_str());
    let hops = reply.nodes.iter().map(|it| it.hop).max().unwrap_or(0);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug: String =
        words.collect::<Vec<_>>().join("-").to_lowercase().chars().take(MAX_NAME_CHARS).collect();
    let id = reply.nodes.first().map_or(0, |it| it.entity.id);
    let slug = if slug.is_empty() { id.to_string() } else { slug };
    format!("graph-{slug}-{hops}.html")
}

/// Writes the page, unless that would overwrite another file.
fn write(out: &Path, page: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot write `{}`: {error}", out.display());
        Failure::new(Exit::Failed, message).hint("use another path with `--out`")
    };
    if !may_be_replaced(out).map_err(failed)? {
        let message = format!("`{}` exists and is not a page of `kgctl graph`", out.display());
        return Err(Failure::new(Exit::Refused, message).hint("use another path with `--out`"));
    }
    // Its quotations are as private as the documents.
    replace_file(out, 0o600, page.as_bytes()).map_err(failed)
}

/// Returns whether there is no file, or an older page.
fn may_be_replaced(out: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    // Reading a pipe would block, and a device is not a page.
    if fs::metadata(out).is_ok_and(|it| !it.is_file() && !it.is_dir()) {
        return Ok(false);
    }
    match fs::File::open(out) {
        Ok(file) => {
            file.take(MARK.len() as u64).read_to_end(&mut head)?;
            Ok(head == MARK.as_bytes())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Shows a page with the desktop's browser.
pub(super) fn show(page: &Path, hint: &str) -> Result<(), Failure> {
    let mut command = Command::new("xdg-open");
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::new(Exit::Failed, format!("`xdg-open` failed: {status}")).hint(hint))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Failure::new(Exit::Failed, "`xdg-open` is not installed").hint(hint))
        }
        Err(error) => {
            Err(Failure::new(Exit::Failed, format!("`xdg-open` cannot be run: {error}")).hint(hint))
        }
    }
}
