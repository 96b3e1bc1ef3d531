//! `kgd`: serves one project. Everything but its flags is in the library.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// Keeps the knowledge graph of one folder current and answers agents over MCP on a Unix socket.
#[derive(Debug, Parser)]
#[command(name = "kgd", version = proto::version())]
struct Flags {
    /// A project's name or its folder. When left out: `KG_PROJECT`, then the registered folder
    /// around the current one, then the only or the default project.
    #[arg(long, value_name = "NAME_OR_DIR")]
    project: Option<String>,
    /// Exit after so many minutes without a client and without work; 0 means never.
    #[arg(long, value_name = "MINUTES", default_value_t = 0)]
    idle_exit: u64,
    /// Listen here instead of at the project's usual path. The directory must have mode 0700.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Also serve MCP over HTTP at this address, such as `127.0.0.1:8765`: at `/mcp`, for older clients at `/sse`.
    /// Clients need the token that `kgctl http token` prints, unless your own settings say `none`.
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// A setting for this run, such as `watch.poll=true`; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Serve no folder but the projects of this hub that its role may see, such as `postgres://ROLE@HOST/DATABASE`.
    /// `kg-mcp --hub URL --http ADDRESS` serves them over HTTP.
    #[arg(long, value_name = "URL", conflicts_with_all = ["socket", "http"])]
    hub: Option<String>,
    /// What to log to standard error: error, warn, info, debug, or a filter such as `daemon=debug`; as `log.level` says
    /// when left out.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Serve nothing: replace the ledger by this backup and exit. `kgctl backup --restore` stops the daemon first and
    /// starts it afterwards.
    #[arg(long, value_name = "FILE")]
    restore: Option<PathBuf>,
    /// Serve nothing: list what is kept of this note, or of all when it is empty, and end. See `kgctl restore`.
    #[arg(long, hide = true, value_name = "NOTE")]
    kept: Option<String>,
    /// Serve nothing: write a kept version of this note back, and end.
    #[arg(long, hide = true, value_name = "NOTE", requires = "at")]
    bring_back: Option<String>,
    /// With `--bring-back`: which version.
    #[arg(long, hide = true, value_name = "TIME")]
    at: Option<String>,
    /// With `--hub`: serve nothing; do this for `kgctl`, and end.
    #[arg(long, hide = true, value_name = "JOB", requires = "hub", value_parser = HUB_JOBS)]
    hub_job: Option<String>,
    /// With `--hub-job`: a project of the hub, or an entity as `PROJECT:ENTITY`.
    #[arg(long, hide = true, value_name = "NAME")]
    hub_project: Option<String>,
    /// With `--hub-job`: a role of the hub, or another entity.
    #[arg(long, hide = true, value_name = "ROLE")]
    hub_role: Option<String>,
    /// With `--hub-job`: the right to publish; to publish what another folder has published; or to take back what was
    /// stated.
    #[arg(long, hide = true)]
    hub_more: bool,
    /// Parse documents for the daemon that started this process; nothing else can.
    #[arg(long, hide = true)]
    worker: bool,
    /// Try the model of this folder for the daemon that started this process, and end.
    #[arg(long, hide = true, value_name = "DIR")]
    try_model: Option<PathBuf>,
    /// Convert, if it must be, and try the embedding model of this folder for `kgctl model`, and end.
    #[arg(long, hide = true, value_name = "DIR")]
    prepare_model: Option<PathBuf>,
    /// Try the embedding model of this folder for the daemon that started this process, and end.
    #[arg(long, hide = true, value_name = "DIR")]
    try_embedding: Option<PathBuf>,
    /// Try the re-ranking model of this folder for the daemon that started this process, and end.
    #[arg(long, hide = true, value_name = "DIR")]
    try_reranking: Option<PathBuf>,
    /// Look through this state folder for the daemon that started this process, and end.
    #[arg(long, hide = true, value_name = "DIR")]
    read_through: Option<PathBuf>,
    /// With `--prepare-model`: round weights that are converted to 8 bits.
    #[arg(long, hide = true, requires = "prepare_model")]
    int8: bool,
}

/// The jobs of `--hub-job`.
const HUB_JOBS: [&str; 6] = ["migrate", "grant", "revoke", "same-as", "publish", "compare"];

fn main() -> ExitCode {
    let flags = Flags::parse();
    if flags.worker {
        return formats::sandbox::run();
    }
    if let Some(folder) = flags.read_through {
        return index::erase::read_through(&folder);
    }
    if let Some(folder) = flags.try_model {
        return extract::recognize::tagger::trial::run(&folder);
    }
    if let Some(folder) = flags.prepare_model {
        let precision = if flags.int8 { onnx::Precision::Int8 } else { onnx::Precision::Float };
        return embed::prepare::run(&folder, Some(precision));
    }
    if let Some(folder) = flags.try_embedding {
        return embed::prepare::run(&folder, None);
    }
    if let Some(folder) = flags.try_reranking {
        return embed::prepare::run_pair(&folder);
    }
    let kept = match (flags.bring_back, flags.at, flags.kept) {
        (Some(path), Some(at), _) => Some(daemon::KeptJob::Restore { path, at }),
        (_, _, Some(path)) => {
            Some(daemon::KeptJob::List(Some(path).filter(|path| !path.is_empty())))
        }
        _ => None,
    };
    let (named, more) = (flags.hub_project, flags.hub_more);
    let (project, role) = (named.clone().unwrap_or_default(), flags.hub_role.unwrap_or_default());
    let job = match flags.hub_job.as_deref() {
        None => daemon::HubJob::Serve,
        Some("migrate") => daemon::HubJob::Migrate,
        Some("grant") => daemon::HubJob::Grant { project, role, publish: more },
        Some("revoke") => daemon::HubJob::Revoke { project, role },
        Some("same-as") => daemon::HubJob::Same { pair: [project, role], undo: more },
        Some("publish") => daemon::HubJob::Publish { as_project: named, take_over: more },
        Some(_) => daemon::HubJob::Compare { as_project: named },
    };
    let level = flags.log_level.map(|level| format!("log.level={level}"));
    let settings = flags.settings.into_iter().chain(level).collect();
    let options = daemon::Options {
        hub: flags.hub.map(|url| (url, job)),
        project: flags.project,
        idle_exit: Some(Duration::from_secs(flags.idle_exit.saturating_mul(60))),
        socket: flags.socket,
        http: flags.http,
        settings,
        restore: flags.restore,
        kept,
    };
    daemon::run(options).unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "kgd: {error:#}");
        ExitCode::FAILURE
    })
}
