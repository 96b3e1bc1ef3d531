//! `kgctl config`: settings and their origins.

use std::collections::BTreeMap;

use ::config::live::is_reread;
use ::config::load::load;
use ::config::reference::reference_yaml;
use ::config::schema::{SettingsFile, schema_text};
use client::render::health;
use serde_json::{Value, json};

use super::context::Context;
use super::failure::{Exit, Failure};

/// Show settings and their origins.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to show.
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Every setting of the project with its value and origin.
    Show,
    /// Every setting with its default and meaning, as a `kg.yaml`.
    Reference,
    /// A JSON Schema of `kg.yaml`, by which editors complete and check it.
    Schema(Schema),
}

#[derive(Debug, clap::Args)]
struct Schema {
    /// Of your own `config.yaml`, which may set more.
    #[arg(long)]
    user: bool,
}

pub(crate) fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    match &arguments.what {
        What::Reference => ctx.print(&reference_yaml())?,
        What::Schema(Schema { user: true }) => ctx.print(&schema_text(SettingsFile::User))?,
        What::Schema(Schema { user: false }) => ctx.print(&schema_text(SettingsFile::Folder))?,
        What::Show => show(ctx)?,
    }
    Ok(Exit::Done)
}

fn show(ctx: &Context) -> Result<(), Failure> {
    let places = ctx.places()?;
    let project = ctx.project()?;
    let loaded = load(&places, Some(&project.root), &[])?;
    if ctx.json {
        let row = |(key, value, origin): (&str, &Value, &::config::Origin)| {
            let (from, reread) = (origin.to_string(), is_reread(key));
            (key.to_string(), json!({ "value": value, "from": from, "reread": reread }))
        };
        let rows: BTreeMap<_, _> = loaded.rows().map(row).collect();
        return ctx.print_json(&rows);
    }
    let files = [places.user_settings(), project.root.join(::config::load::PROJECT_FILE)];
    let file = |path: &std::path::PathBuf| {
        format!("{}{}", path.display(), if path.is_file() { "" } else { " (does not exist)" })
    };
    let files = files.each_ref().map(file).join("\n");
    ctx.print(&format!("{}\n{}\n", health::settings(&loaded, ctx.style), ctx.style.dim(&files)))
}
