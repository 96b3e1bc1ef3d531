//! `kgctl http`: MCP over HTTP: its address, its token, and the configuration of clients.
//!
//! In: the user's settings, the state folder, the daemon if it runs. Out: text, or JSON; `on` and `off` change the
//! user's `config.yaml`, `token --new` the token.

use std::net::SocketAddr;
use std::path::PathBuf;

use ::config::load::{edit::set_text, load};
use ::config::place::create_private_dir;
use ::config::settings::{Http, HttpToken};
use ::config::{Places, Registry};
use client::connect::Session;
use client::launch::Target;
use client::render::{clean, counted, table};
use mcp_http::{MCP_PATH, WORKSPACE_HEADER, address, read_token, token, token_file};
use proto::tool::core::{Status, StatusReply};
use serde_json::{Map, Value, json};

use super::context::{Context, warn};
use super::failure::{Exit, Failure};
use super::project::restart;

/// The address of `kgctl http on` without an argument.
const USUAL_ADDRESS: &str = "127.0.0.1:8765";

/// Show, switch on or off, and connect to MCP over HTTP.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to do; shows the current state when left out.
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Serve at an address from now on: writes `http.listen` into your own `config.yaml`.
    On {
        /// Such as `127.0.0.1:8765`, or a port of loopback alone.
        #[arg(default_value = USUAL_ADDRESS)]
        address: String,
    },
    /// Serve nowhere: empties `http.listen` in your own `config.yaml`.
    Off,
    /// Print the token; create one if there is none yet.
    Token {
        /// Create a new one first; clients with the old one are refused.
        #[arg(long)]
        new: bool,
        /// The token of `kg-mcp --http`, which serves several projects.
        #[arg(long)]
        all_projects: bool,
    },
    /// Print what to paste into clients, with the token.
    Clients {
        /// For `kg-mcp --http`, an entry for each project.
        #[arg(long)]
        all_projects: bool,
        /// The address by which clients reach it; the daemon's own when left out.
        #[arg(long)]
        address: Option<String>,
    },
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    match &arguments.what {
        None => show(ctx).await,
        Some(What::On { address }) => switch(address, ctx).await,
        Some(What::Off) => switch("", ctx).await,
        Some(What::Token { new, all_projects }) => print_token(*new, *all_projects, ctx).await,
        Some(What::Clients { all_projects, address }) => {
            print_clients(*all_projects, address.as_deref(), ctx).await
        }
    }
}

fn settings(places: &Places) -> Result<Http, Failure> {
    Ok(load(places, None, &[])?.settings.http)
}

/// Returns the status of the daemon, or `None` if it does not run.
async fn status(target: &Target) -> Option<StatusReply> {
    let session = Session::open(target.connect().ok()?).await.ok()?;
    session.call(&Status::default()).await.ok()
}

async fn show(ctx: &Context) -> Result<Exit, Failure> {
    let settings = settings(&ctx.places()?)?;
    let target = ctx.target()?;
    let status = status(&target).await;
    let served = status.as_ref().and_then(|it| it.http.clone());
    let file = token_file(&settings, &target.paths.http_token);
    let n_clients = status.as_ref().map(|it| it.clients);
    if ctx.json {
        ctx.print_json(&json!({
            "listen": settings.listen, "serving": served, "token_file": file, "clients": n_clients,
        }))?;
        return Ok(Exit::Done);
    }
    let listen = match settings.listen.as_str() {
        "" => "off: `kgctl http on` switches it on".to_string(),
        at => format!("on, at {}", clean(at)),
    };
    let serving = match (&served, &status) {
        (Some(at), _) => clean(at).into_owned(),
        (None, None) => "nowhere: the daemon is not running; `kgctl start` starts it".to_string(),
        (None, Some(_)) if settings.listen.is_empty() => "nowhere".to_string(),
        (None, Some(_)) => "nowhere: another program uses the address, perhaps another daemon; \
                            `kgctl logs` says more"
            .to_string(),
    };
    let token = match &file {
        Some(file) => clean(&file.display().to_string()).into_owned(),
        None => {
            "none is required (`http.token`): every program and user of this machine has access"
                .to_string()
        }
    };
    let mut rows = vec![("http", listen), ("serving", serving), ("token", token)];
    rows.extend(n_clients.map(|n| ("clients", counted(n, "client") + ", over the socket or HTTP")));
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_string(), value]).collect();
    ctx.advise(&table(ctx.style, &[], rows))?;
    Ok(Exit::Done)
}

/// Writes the address into the user's settings, and restarts a running daemon.
async fn switch(at: &str, ctx: &Context) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    // Fails before anything is written.
    ctx.project()?;
    if !at.is_empty() {
        let address = parsed(at)?;
        let is_open = settings(&places)?.token == HttpToken::None;
        if is_open && !address.ip().to_canonical().is_loopback() {
            let message =
                format!("`{address}` can be reached from other machines, which needs a token");
            let hint = "remove `http.token: none` from your own `config.yaml` first";
            return Err(Failure::new(Exit::Refused, message).hint(hint));
        }
    }
    set_text(&places.user_settings(), "http", "listen", at)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    heeded(ctx).await?;
    show(ctx).await
}

fn parsed(at: &str) -> Result<SocketAddr, Failure> {
    address(at).ok_or_else(|| {
        Failure::new(Exit::Refused, format!("`{at}` is not an address to serve HTTP at"))
            .hint(format!("such as `{USUAL_ADDRESS}`"))
    })
}

/// Restarts a running daemon, so that the change takes effect.
async fn heeded(ctx: &Context) -> Result<(), Failure> {
    let places = ctx.places()?;
    let project = ctx.project()?;
    if restart(&places, project.clone()).await? {
        warn(&format!("the daemon of `{}` was restarted\n", project.name));
    }
    Ok(())
}

/// Returns the file of the token that clients must send, and whether it is kgd's own.
fn place_of_token(all_projects: bool, ctx: &Context) -> Result<(PathBuf, bool), Failure> {
    let places = ctx.places()?;
    let made = if all_projects { places.http_token() } else { ctx.target()?.paths.http_token };
    let file = token_file(&settings(&places)?, &made).ok_or_else(|| {
        Failure::new(Exit::NothingFound, "no token is required: `http.token` is `none`")
            .hint("remove that from your own `config.yaml`")
    })?;
    let is_made = file == made;
    Ok((file, is_made))
}

/// Returns the token and its file; creates kgd's own token if there is none. If somebody deleted
/// the token of a daemon that serves HTTP, the daemon is restarted to use the new one.
async fn token_of(all_projects: bool, ctx: &Context) -> Result<(String, PathBuf), Failure> {
    let (file, is_made) = place_of_token(all_projects, ctx)?;
    if is_made && !file.exists() {
        if let Some(folder) = file.parent() {
            create_private_dir(folder)?;
        }
        token::make(&file)?;
        if !all_projects && status(&ctx.target()?).await.is_some_and(|it| it.http.is_some()) {
            heeded(ctx).await?;
        }
    }
    let token = read_token(&file).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok((token, file))
}

async fn print_token(new: bool, all_projects: bool, ctx: &Context) -> Result<Exit, Failure> {
    let (mut token, file) = token_of(all_projects, ctx).await?;
    if new {
        if !place_of_token(all_projects, ctx)?.1 {
            let message = format!("`{}` is your own file (`http.token_file`)", file.display());
            return Err(Failure::new(Exit::Refused, message).hint("write a new token into it"));
        }
        token::renew(&file)?;
        token = read_token(&file).map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
        match all_projects {
            true => warn("note: `kg-mcp --http` keeps the old token until it is restarted\n"),
            false => heeded(ctx).await?,
        }
    }
    if ctx.json {
        ctx.print_json(&json!({ "token": token, "token_file": file }))?;
    } else {
        ctx.print(&format!("{token}\n"))?;
    }
    Ok(Exit::Done)
}

async fn print_clients(
    all_projects: bool,
    at: Option<&str>,
    ctx: &Context,
) -> Result<Exit, Failure> {
    let places = ctx.places()?;
    let settings = settings(&places)?;
    let token = match settings.token {
        HttpToken::None => None,
        HttpToken::Required => Some(token_of(all_projects, ctx).await?.0),
    };
    let servers: Map<String, Value> = if all_projects {
        let url = url(&parsed(at.unwrap_or(USUAL_ADDRESS))?);
        let names = Registry::load(&places.config)?
            .projects()
            .iter()
            .map(|it| it.name.clone())
            .collect::<Vec<_>>();
        names.iter().map(|name| (name.clone(), entry(&url, token.as_deref(), Some(name)))).collect()
    } else {
        let url = match at {
            Some(at) => url(&parsed(at)?),
            None => own_url(&settings, ctx).await?,
        };
        Map::from_iter([(ctx.project()?.name, entry(&url, token.as_deref(), None))])
    };
    if ctx.json {
        ctx.print_json(&json!({ "mcpServers": servers, "servers": servers }))?;
        return Ok(Exit::Done);
    }
    let first = serde_json::to_string_pretty(&json!({ "mcpServers": servers }))?;
    let second = serde_json::to_string_pretty(&json!({ "servers": servers }))?;
    ctx.print(&format!(
        "Claude Code (`.mcp.json`), Cursor (`mcp.json`):\n{first}\n\nVS Code (`.vscode/mcp.json`):\n{second}\n"
    ))?;
    Ok(Exit::Done)
}

/// Returns the URL at which the daemon serves, or would serve.
async fn own_url(settings: &Http, ctx: &Context) -> Result<String, Failure> {
    let served = status(&ctx.target()?).await.and_then(|it| it.http);
    match served {
        Some(served) => Ok(served),
        None if settings.listen.is_empty() => {
            Err(Failure::new(Exit::Refused, "HTTP is off").hint("`kgctl http on` switches it on"))
        }
        None => Ok(url(&parsed(&settings.listen)?)),
    }
}

fn url(address: &SocketAddr) -> String {
    format!("http://{address}{MCP_PATH}")
}

/// Returns the configuration of one server for a client.
fn entry(url: &str, token: Option<&str>, workspace: Option<&str>) -> Value {
    let mut headers = Map::new();
    headers.extend(token.map(|it| ("Authorization".to_string(), format!("Bearer {it}").into())));
    headers.extend(workspace.map(|it| (WORKSPACE_HEADER.to_string(), it.into())));
    let mut entry = json!({ "type": "http", "url": url });
    if !headers.is_empty() {
        entry["headers"] = headers.into();
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_the_token_and_the_workspace() {
        assert_eq!(
            entry("http://127.0.0.1:1/mcp", Some("t"), Some("notes")),
            json!({
                "type": "http", "url": "http://127.0.0.1:1/mcp",
                "headers": { "Authorization": "Bearer t", "x-memory-workspace": "notes" }
            })
        );
        assert_eq!(entry("u", None, None), json!({ "type": "http", "url": "u" }));
    }
}
