//! `kgctl open`: opens the page for people in a browser.
//!
//! In: the project's daemon, started if needed. Out: a browser with the page, or its address.
//! Invariants: the token follows `#`, so no browser sends it and no server logs it; it is never an
//! argument of a program, which other users of the machine could list.

use config::place::replace_file;
use mcp_http::{read_token, token};
use proto::tool::admin::OpenPage;
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::graph::show;

/// Open the page of the project in a browser: search, documents, entities, the map, review, memory and health.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print the address, with the token behind `#`, and open nothing.
    #[arg(long)]
    print: bool,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let target = ctx.target()?;
    let session = ctx.session_with(&target).await?;
    let reply = session.call(&OpenPage {}).await?;
    session.close().await;
    let token = read_token(&token::of_page(&target.paths.http_token)).map_err(|error| {
        let hint = "`kgctl restart` makes another one";
        let why = error.to_string();
        Failure::new(Exit::Failed, why.lines().next().unwrap_or_default()).hint(hint)
    })?;
    let address = format!("{}#token={token}", reply.address);
    if ctx.json {
        ctx.print_json(&json!({ "address": address }))?;
    } else if arguments.print {
        ctx.print(&format!("{address}\n"))?;
    } else {
        ctx.print(&format!("{}\n", reply.address))?;
    }
    if arguments.print || ctx.json {
        return Ok(Exit::Done);
    }
    let door = target.paths.dir.join("page.html");
    replace_file(&door, 0o600, door_to(&address).as_bytes())?;
    show(&door, "`kgctl open --print` prints the address to open in a browser")?;
    Ok(Exit::Done)
}

/// Returns a page that leads a browser to the address. Only its owner may read it, because the address has the token.
fn door_to(address: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>kgd</title>\n\
         <a href=\"{address}\">kgd</a>\n"
    )
}
