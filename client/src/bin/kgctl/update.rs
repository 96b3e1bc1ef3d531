//! `kgctl update`: shows whether a newer version is published, how this copy was installed, and how
//! to update it.

use ::config::load::load;
use client::update::{Installed, Newest, feed_of, newest};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};

/// The repository with the releases; empty if none is set.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

pub(crate) fn run(ctx: &Context) -> Result<Exit, Failure> {
    let settings = load(&ctx.places()?, None, &[])?.settings.update;
    let own = std::env::current_exe()?;
    let own = own.canonicalize().unwrap_or(own);
    let installed = Installed::of(&own, |name| std::env::var_os(name));
    let found = match feed_of(&settings.url, REPOSITORY) {
        Some(url) => newest(&url).map_err(|why| {
            let hint = "`update.url` in your own `config.yaml` names another place";
            Failure::new(Exit::Failed, why).hint(hint)
        })?,
        None => Newest::Nowhere,
    };
    let version = proto::version();
    let newer = found.newer_than(version);
    if ctx.json {
        ctx.print_json(&json!({
            "version": version, "newest": found.version(), "page": found.page(), "newer": newer.is_some(),
            "installed": installed.way(), "program": own, "command": installed.command(),
        }))?;
        return Ok(Exit::Done);
    }
    let mut text = match (&newer, found.version()) {
        (Some(newer), _) => format!("kgd {newer} is published; this is {version}\n"),
        (None, Some(_)) => format!("kgd {version} is the newest version\n"),
        (None, None) => format!("this is kgd {version}; {}\n", found.describe()),
    };
    if let (Some(_), Some(page)) = (&newer, found.page()) {
        text.push_str(&format!("what is new: {page}\n"));
    }
    text.push_str(&format!("installed {} ({})\n", installed.way(), own.display()));
    text.push_str(&format!("to update: {}\n", installed.command()));
    ctx.print(&text)?;
    Ok(Exit::Done)
}
