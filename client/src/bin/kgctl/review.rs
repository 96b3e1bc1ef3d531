//! `kgctl review`: shows doubtful links and relations, and records lasting decisions on them.
//!
//! On a terminal and without options: a list with keys. Otherwise: the list as text, or decisions by id.

use client::connect::Session;
use client::pick::{Key, List, Step};
use client::render::counted;
use proto::tool::core::ReviewLinks;
use tokio::signal::unix::{SignalKind, signal};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::terminal::{Event, Terminal};

/// Decide doubtful links and relations, with keys on a terminal or by options.
///
/// Without options, a terminal shows a list: `j` and `k` or the arrows move, `a` accepts, `r` rejects, `u` undoes,
/// enter shows evidence, `q` quits. Decisions survive a rebuild of the index.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Accept this item; may be given several times.
    #[arg(long, value_name = "KEY")]
    accept: Vec<String>,
    /// Reject this item; may be given several times.
    #[arg(long, value_name = "KEY")]
    reject: Vec<String>,
    /// Undo a decision; may be given several times.
    #[arg(long, value_name = "KEY")]
    undo: Vec<String>,
    /// List items below this confidence, 0 to 1.
    #[arg(long, value_name = "CONFIDENCE")]
    below: Option<f32>,
    /// Only items from this document, or from below this folder.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Most items to list, 1 to 100.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

/// Most items fetched for the list.
const LISTED: u32 = 100;

pub(crate) async fn run(arguments: Arguments, ctx: &Context) -> Result<Exit, Failure> {
    if arguments.is_bare() && !ctx.json && Terminal::is_there() {
        return pick(ctx).await;
    }
    let some = |keys: Vec<String>| (!keys.is_empty()).then_some(keys);
    let request = ReviewLinks {
        below: arguments.below,
        path: arguments.path,
        limit: arguments.limit,
        accept: some(arguments.accept),
        reject: some(arguments.reject),
        undo: some(arguments.undo),
    };
    let reply = ctx.call(&request).await?;
    ctx.show(&reply)?;
    Ok(Exit::Done)
}

impl Arguments {
    fn is_bare(&self) -> bool {
        let keys = [&self.accept, &self.reject, &self.undo];
        keys.iter().all(|keys| keys.is_empty())
            && self.below.is_none()
            && self.limit.is_none()
            && self.path.is_none()
    }
}

/// Lets a person decide with keys until they quit.
async fn pick(ctx: &Context) -> Result<Exit, Failure> {
    let session = ctx.session().await?;
    let request = ReviewLinks { limit: Some(LISTED), ..ReviewLinks::default() };
    let reply = session.call(&request).await?;
    if reply.items.is_empty() {
        session.close().await;
        ctx.show(&reply)?;
        return Ok(Exit::Done);
    }
    let mut list = List::new(reply.items);
    let done = follow_keys(&mut list, &session, ctx).await;
    session.close().await;
    done?;
    ctx.print(&format!("{} decided\n", counted(list.n_decided() as u64, "item")))?;
    Ok(Exit::Done)
}

/// Exits as the signal would, after restoring the terminal. A pending read for a key cannot keep
/// the process alive.
#[expect(
    clippy::disallowed_methods,
    reason = "a thread that waits for a key would keep the process alive"
)]
fn leave(terminal: Terminal, signal: SignalKind) -> ! {
    drop(terminal);
    std::process::exit(128 + signal.as_raw_value())
}

async fn follow_keys(list: &mut List, session: &Session, ctx: &Context) -> Result<(), Failure> {
    let mut ended = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    let mut terminal = Terminal::enter()?;
    loop {
        terminal.show(&list.screen(terminal.size(), ctx.style))?;
        let event = tokio::select! {
            event = terminal.next() => event?,
            _ = ended.recv() => leave(terminal, SignalKind::terminate()),
            _ = hung_up.recv() => leave(terminal, SignalKind::hangup()),
        };
        let Event::Typed(bytes) = event else { continue };
        if bytes.is_empty() {
            return Ok(());
        }
        for key in Key::read(&bytes) {
            match list.press(key) {
                Step::Show => {}
                Step::Ask(decision) => {
                    session.call(&decision.request()).await?;
                    list.confirm(&decision);
                }
                Step::Quit => return Ok(()),
            }
        }
    }
}
