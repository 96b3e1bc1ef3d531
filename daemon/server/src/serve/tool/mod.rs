//! Tool: the handlers of the tools, thin layers over the read path and the project, in the layout
//! of `proto/src/tool/`.
//!
//! Here: the short handlers of the sets `core` and `admin`, and shared functions. `look.rs` is not
//! a tool: it indexes a person's latest edits before a tool answers.

mod ask;
mod changes;
mod connect;
mod forget;
mod ingest;
pub mod kb;
mod look;
mod maintain;
pub mod memory;
mod notes;
mod page;
mod remember;
mod status;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use config::limits::max_readers;
use proto::error::{Code, ErrorView};
use proto::tool::admin::{
    Dump, DumpReply, Graph, GraphReply, Shutdown, ShutdownReply, Wait, WaitReply,
};
use proto::tool::batch::Item;
use proto::tool::core::{
    EntityLookup, EntityReply, ExplainEntity, ExplainReply, HybridQuery, HybridReply, PassageReply,
    ReadPassage, ReviewLinks, ReviewReply,
};
use proto::tool::memory::ItemError;

pub use ask::*;
pub use changes::*;
pub use connect::*;
pub use forget::*;
pub use ingest::*;
pub use look::*;
pub use maintain::*;
pub use notes::*;
pub use page::*;
pub use remember::*;
pub use status::*;

use super::Progress;
use super::turns::Readers;
use crate::errand::{carried, n_open};
use crate::notes::MARK;
use crate::project::Project;
use engine::write::Command;
use index::store::{Snapshot, Stall, StoreError, Verdict, dump_page};
use model::terms::{RelPath, Tick};
use redact::holds_secret;

/// Longest name of an item in an error, characters.
const MAX_NAME: usize = 200;

/// Answers a question.
pub fn hybrid_query(
    project: &Project,
    snapshot: &Snapshot,
    mut request: HybridQuery,
) -> Result<HybridReply, ErrorView> {
    request.path = folder_given(project, snapshot, request.path)?;
    let mut reply = query::answer(&project.context(snapshot), &request)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Makes an absolute path inside the project, as the shell completes it, relative to the root.
fn within(project: &Project, path: String) -> String {
    let inside = project.root.to_str().and_then(|root| path.strip_prefix(root));
    inside.map_or(path.clone(), |inside| inside.trim_start_matches('/').to_string())
}

/// Returns tags without `#` and repetitions, and what cannot be a tag.
fn sorted_tags(given: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut tags, mut unfit) = (Vec::new(), Vec::new());
    for tag in given.iter().map(|tag| tag.trim().trim_start_matches('#').to_string()) {
        let is_unfit = tag.is_empty() || tag.contains(|c: char| c.is_whitespace() || c == ',');
        let kept = if is_unfit { &mut unfit } else { &mut tags };
        if !kept.contains(&tag) {
            kept.push(tag);
        }
    }
    (tags, unfit)
}

fn unfit_tag(tag: &str) -> ErrorView {
    let shown: String = tag.chars().take(60).collect();
    invalid(format!("`{shown}` cannot be a tag"), "tags are single words")
}

/// Returns the folder or path with which a caller narrows a list, relative to the project; also
/// accepts `memory://PROJECT/folder`.
///
/// # Errors
/// `not_found` for an address that matches nothing.
fn folder_given(
    project: &Project,
    snapshot: &Snapshot,
    given: Option<String>,
) -> Result<Option<String>, ErrorView> {
    let Some(given) = given else { return Ok(None) };
    let path = within(project, given.trim().to_string());
    let Some(bare) = path.strip_prefix(::notes::uri::SCHEME) else { return Ok(Some(path)) };
    let own = own_address(project, &format!("{path}/"));
    let bare = own.as_deref().map_or(bare, |it| it.trim_start_matches(::notes::uri::SCHEME));
    let bare = bare.trim_matches('/');
    let begins = bare.split('*').next().unwrap_or_default();
    let exists = || snapshot.files().any_begins(begins);
    if begins.is_empty() || exists().map_err(query::AskError::from)? {
        return Ok(Some(bare.to_string()));
    }
    Err(ErrorView::hinted(
        Code::NotFound,
        format!("nothing in the project `{}` lies at `{path}`", project.name),
        "`list_directory` shows the folders there are",
    ))
}

/// Strips the name of this project from an address, if it starts with that.
fn own_address(project: &Project, address: &str) -> Option<String> {
    let rest = address.strip_prefix(::notes::uri::SCHEME)?;
    let (name, rest) = rest.split_once('/')?;
    let is_own = name == project.name || name == ::notes::slug::slug(&project.name);
    is_own.then(|| format!("{}{rest}", ::notes::uri::SCHEME))
}

/// Calls `find` with a path that a caller gave; if nothing is indexed there, with the path to which
/// links resolve it.
fn found_at<T>(
    project: &Project,
    given: &str,
    find: impl Fn(&str) -> Result<T, ErrorView>,
) -> Result<T, ErrorView> {
    // Not trimmed: a file's name may begin or end with a blank.
    let path = within(project, given.to_string());
    find(&path).or_else(|missing| {
        // `memory://PROJECT/…`, the form used in sessions with several projects.
        let own = own_address(project, path.trim()).filter(|_| missing.code == Code::NotFound);
        if let Some(found) = own.and_then(|own| find(&own).ok()) {
            return Ok(found);
        }
        let real = (missing.code == Code::NotFound).then(|| project.notes().led_to(&path));
        real.flatten().and_then(|real| find(&real).ok()).ok_or(missing)
    })
}

/// Returns a whole passage.
pub fn read_passage(
    project: &Project,
    snapshot: &Snapshot,
    request: ReadPassage,
) -> Result<PassageReply, ErrorView> {
    let at = within(project, request.at);
    let mut reply =
        query::read_passage(&project.context(snapshot), &ReadPassage { at, ..request })?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Finds entities by name.
pub fn entity_lookup(
    project: &Project,
    snapshot: &Snapshot,
    request: EntityLookup,
) -> Result<EntityReply, ErrorView> {
    let mut reply = query::entity_lookup(&project.context(snapshot), &request)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Returns everything known about one entity.
pub fn explain_entity(
    project: &Project,
    snapshot: &Snapshot,
    request: ExplainEntity,
) -> Result<ExplainReply, ErrorView> {
    let explained = |name: Option<String>| {
        let request = ExplainEntity { name, ..request.clone() };
        let context = project.context(snapshot);
        let mut reply = query::explain_entity(&context, &request)?;
        reply.goes_with = query::goes_with(&context, &reply)?;
        Ok(reply)
    };
    let mut reply = match &request.name {
        Some(name) => found_at(project, name, |name| explained(Some(name.to_string()))),
        None => explained(None),
    }?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Returns the neighborhood of one entity, or an overview of the folder.
pub fn graph(
    project: &Project,
    snapshot: &Snapshot,
    request: Graph,
) -> Result<GraphReply, ErrorView> {
    let projection = project.projection(snapshot)?;
    let mut reply = query::neighborhood(&project.context(snapshot), &projection, &request)?;
    kb::add_entries(project, snapshot, &request, &mut reply)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Lists doubtful readings, or decides them.
pub async fn review_links(
    project: Arc<Project>,
    request: ReviewLinks,
    _: Progress,
) -> Result<ReviewReply, ErrorView> {
    let decisions = decisions_of(&request);
    let worker = project.clone();
    let keys: Vec<String> = decisions.iter().map(|(key, _)| key.clone()).collect();
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        query::norm_keys_exist(&worker.context(&snapshot), &keys)
    })
    .await?;
    let decided = decisions.len() as u64;
    if decided > 0 {
        project.command(|reply| Command::Decide(decisions, reply)).await.map_err(unavailable)?;
    }
    let listed = blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        let items = query::list_doubtful(&project.context(&snapshot), &request)?;
        Ok(ReviewReply { items, decided, freshness: project.freshness(&snapshot) })
    });
    listed.await
}

fn decisions_of(request: &ReviewLinks) -> Vec<(String, Option<Verdict>)> {
    let all = |keys: &Option<Vec<String>>, verdict: Option<Verdict>| {
        keys.iter().flatten().map(|key| (key.clone(), verdict)).collect::<Vec<_>>()
    };
    let mut out = all(&request.accept, Some(Verdict::Accepted));
    out.extend(all(&request.reject, Some(Verdict::Rejected)));
    out.extend(all(&request.undo, None));
    out
}

/// Most rows per page.
const MAX_PAGE: u32 = 5_000;

/// How cursors among the associations begin.
const ASSOCIATIONS: &str = "association:";

/// Returns one page of the whole graph.
pub fn dump(project: &Project, snapshot: &Snapshot, request: Dump) -> Result<DumpReply, ErrorView> {
    let limit = request.limit.unwrap_or(1_000);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 1 to 5000"));
    }
    let limit = limit as usize;
    let cursor = request.cursor.as_deref();
    let page = match cursor.and_then(|it| it.strip_prefix(ASSOCIATIONS)) {
        // Associations follow what the index holds.
        None => dump_page(snapshot, cursor, limit)
            .map_err(unreadable)?
            .map(|(rows, next)| (rows, next.or_else(|| Some(format!("{ASSOCIATIONS}0"))))),
        Some(offset) => match offset.parse() {
            Err(_) => None,
            Ok(offset) => {
                let rows = query::dumped_associations(&project.context(snapshot), offset, limit)?;
                let next =
                    (rows.len() == limit).then(|| format!("{ASSOCIATIONS}{}", offset + limit));
                Some((rows, next))
            }
        },
    };
    let Some((mut rows, cursor)) = page else {
        let cursor = request.cursor.unwrap_or_default();
        return Err(invalid(format!("no cursor `{cursor}`"), "give back what the last page said"));
    };
    let projection = project.projection(snapshot)?;
    for row in rows.iter_mut().filter(|row| row["kind"] == "relation") {
        let [subject, object] = ["subject_id", "object_id"].map(|end| row[end].as_i64());
        let predicate = row["predicate"].as_str().unwrap_or_default();
        let ends = subject.zip(object);
        let confidence = ends.map(|(from, to)| projection.confidence(from, predicate, to));
        row["confidence"] = confidence.into();
    }
    Ok(DumpReply { rows, cursor, freshness: project.freshness(snapshot) })
}

/// Longest wait, milliseconds.
const MAX_WAIT_MS: u64 = 600_000;

/// Waits for a tick, or for everything to be settled.
pub async fn wait(
    project: Arc<Project>,
    request: Wait,
    progress: Progress,
) -> Result<WaitReply, ErrorView> {
    let timeout_ms = request.timeout_ms.unwrap_or(25_000);
    if timeout_ms > MAX_WAIT_MS {
        return Err(invalid(format!("`timeout_ms` is {timeout_ms}"), "give at most 600000"));
    }
    let limit = Duration::from_millis(timeout_ms);
    let reached = project
        .wait_until(limit, |project| {
            report_building(project, &progress);
            match request.tick {
                Some(tick) => project.health().tick() >= Tick(tick),
                None => project.is_settled() && project.lost_folder().is_none(),
            }
        })
        .await;
    if let Some(lost) = project.lost_folder().filter(|_| !reached) {
        return Err(lost.view());
    }
    if let Some(why) = project.is_poisoned() {
        return Err(unavailable(why));
    }
    if let Some((stall, _)) = project.health().stalled().filter(|_| !reached) {
        return Err(stalled(stall));
    }
    Ok(WaitReply { reached, freshness: project.freshness_now().map_err(unreadable)? })
}

/// Reports the number of indexed files to a waiting caller.
fn report_building(project: &Project, progress: &Progress) {
    let known = project.watcher().state().n_known_files();
    let left = project.n_on_belt();
    progress.report(
        known.saturating_sub(left),
        Some(known),
        format!("{left} documents on the belt"),
    );
}

/// Finishes what is on the belt, then ends the daemon.
pub async fn shutdown(
    project: Arc<Project>,
    _: Shutdown,
    _: Progress,
) -> Result<ShutdownReply, ErrorView> {
    let draining = project.n_on_belt();
    project.activity().request_stop();
    Ok(ShutdownReply { draining, freshness: project.freshness_now().map_err(unreadable)? })
}

/// Limits the reads of tools that write or wait, because the belt needs threads, too.
static READERS: LazyLock<Arc<Readers>> = LazyLock::new(|| Readers::new(max_readers()));

/// Runs a read off the async threads.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ErrorView> + Send + 'static,
) -> Result<T, ErrorView> {
    let turn = READERS.take(n_open()).await;
    let work = move || {
        let _turn = turn;
        work()
    };
    tokio::task::spawn_blocking(carried(work)).await.unwrap_or_else(|error| {
        Err(ErrorView::hinted(
            Code::Internal,
            format!("the handler failed: {error}"),
            "see `kgctl logs`",
        ))
    })
}

fn check_count(parameter: &str, n: usize, most: usize) -> Result<(), ErrorView> {
    match (1..=most).contains(&n) {
        true => Ok(()),
        false => Err(invalid(format!("`{parameter}` has {n} items"), &format!("give 1 to {most}"))),
    }
}

/// Parses the items of a batch one by one. If none can be parsed, the whole batch is refused.
fn batch_of<T>(
    parameter: &str,
    items: Vec<Item<T>>,
    most: usize,
) -> Result<Vec<Result<T, ItemError>>, ErrorView> {
    check_count(parameter, items.len(), most)?;
    let items: Vec<_> = items.into_iter().enumerate().map(|(at, it)| it.read(at)).collect();
    match items.first() {
        Some(Err(first)) if items.iter().all(Result::is_err) => {
            let why = format!("`{parameter}`, {}: {}", first.name, first.message);
            Err(invalid(why, "see the tool's schema for what an item needs"))
        }
        _ => Ok(items),
    }
}

/// Separates the parsed items from the errors of the others.
fn parted<T>(items: Vec<Result<T, ItemError>>) -> (Vec<T>, Vec<ItemError>) {
    let (mut whole, mut failed) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Ok(item) => whole.push(item),
            Err(error) => failed.push(error),
        }
    }
    (whole, failed)
}

fn item_error(name: &str, error: ErrorView) -> ItemError {
    let ErrorView { code, message, hint, conflict: _ } = error;
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
    ItemError { name, code, message, hint }
}

pub(super) fn invalid(message: String, hint: &str) -> ErrorView {
    ErrorView::hinted(Code::InvalidParams, message, hint)
}

/// Refuses texts with a secret: stored text is visible to every caller.
fn check_secrets<'t>(texts: impl IntoIterator<Item = &'t str>) -> Result<(), ErrorView> {
    // Many parameters were cleaned already, so that only the mark of a secret is left.
    if !texts.into_iter().any(|it| holds_secret(it) || it.contains(MARK)) {
        return Ok(());
    }
    Err(ErrorView::hinted(
        Code::Refused,
        "the text holds a secret",
        "say where the secret is kept instead; nothing was written",
    ))
}

pub(super) fn unreadable(error: StoreError) -> ErrorView {
    ErrorView::hinted(
        Code::Internal,
        error.to_string(),
        "see `kgctl logs`; if it lasts, `kgctl restart`",
    )
}

fn unavailable(why: String) -> ErrorView {
    let (message, hint) =
        why.split_once("\nhint: ").unwrap_or((&why, "try again, or `kgctl restart`"));
    ErrorView::hinted(Code::Unavailable, message, hint)
}

/// Adds to an error that files have already changed.
fn though_written(paths: &[RelPath], error: ErrorView) -> ErrorView {
    let what = match paths {
        [] => return error,
        [path] => format!("`{path}` is"),
        paths => format!("{} files are", paths.len()),
    };
    ErrorView { message: format!("{what} changed on the disk, but {}", error.message), ..error }
}

/// Returns the error of a call that waits for a commit while none is possible.
fn stalled(stall: Stall) -> ErrorView {
    ErrorView::hinted(Code::Unavailable, format!("not committed yet: {}", stall.why), stall.hint())
}
