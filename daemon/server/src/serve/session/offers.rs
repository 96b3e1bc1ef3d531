//! Offers: resources, prompts and completion of a session, in MCP's types.
//!
//! In: MCP requests. Out: pages, texts, messages, suggestions; and notifications while a client
//! watches.
//! Invariants: only sessions with the tools of notes have them; a session watches at most
//! [`MAX_WATCHED`] notes, is notified of changes at most every [`NOTIFY_EVERY`], and costs nothing
//! while it watches none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use proto::error::{Code, ErrorView};
use proto::visible::show;
use rmcp::model::{
    ArgumentInfo, CompleteResult, CompletionInfo, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, Prompt, PromptArgument, PromptMessage,
    ReadResourceResult, Reference, Resource, ResourceContents, ResourceTemplate,
    ResourceUpdatedNotificationParam, Role,
};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::project::Project;
use crate::serve::leaving;
use crate::serve::prompts::{self, PROMPTS};
use crate::serve::resources::{self, Changes, INFO, Watched};
use crate::serve::routes::too_slow;
use crate::serve::tool::{blocking, unreadable};
use index::store::Snapshot;

/// Most addresses watched per session.
const MAX_WATCHED: usize = 1_000;

/// Shortest interval between two checks.
const NOTIFY_EVERY: Duration = Duration::from_millis(500);

/// The watched resources of one session; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watching {
    watched: Arc<Mutex<Watched>>,
    /// Whether a task already checks for this session.
    is_looked_for: Arc<Mutex<bool>>,
}

impl Watching {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts checking, unless a task does already; ends with the session.
    fn begin(&self, project: &Arc<Project>, peer: &Peer<RoleServer>) {
        let mut is_looked_for = self.is_looked_for.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *is_looked_for, true) {
            let watched = Arc::downgrade(&self.watched);
            // Subscribed here, not when the task runs: a change in between would be missed.
            let changes = project.health().changes();
            tokio::spawn(notify_client(project.clone(), changes, watched, peer.clone()));
        }
    }
}

/// Notifies a session's client of changes until it is gone.
async fn notify_client(
    project: Arc<Project>,
    mut changes: watch::Receiver<u64>,
    watched: Weak<Mutex<Watched>>,
    peer: Peer<RoleServer>,
) {
    while changes.changed().await.is_ok() {
        let Some(changes) = look(&project, &watched).await else { return };
        let mut sent = Ok(());
        if changes.is_list_changed {
            sent = peer.notify_resource_list_changed().await;
        }
        for uri in changes.updated {
            sent = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
        }
        if sent.is_err() {
            return;
        }
        tokio::time::sleep(NOTIFY_EVERY).await;
    }
}

/// Returns the changes of watched resources; `None` if the session is gone.
async fn look(project: &Arc<Project>, watched: &Weak<Mutex<Watched>>) -> Option<Changes> {
    let held = watched.upgrade()?;
    let is_idle = held.lock().unwrap_or_else(PoisonError::into_inner).is_idle();
    if is_idle {
        return Some(Changes::default());
    }
    let looked = view(project.clone(), move |_, snapshot| {
        held.lock().unwrap_or_else(PoisonError::into_inner).look(snapshot)
    });
    // If reading fails now, the next commit triggers another check.
    Some(looked.await.unwrap_or_default())
}

/// Runs a read of one view of the index off the async threads.
async fn view<T: Send + 'static>(
    project: Arc<Project>,
    work: impl FnOnce(&Project, &Snapshot) -> Result<T, ErrorView> + Send + 'static,
) -> Result<T, ErrorView> {
    let limit = Duration::from_millis(project.settings.serve.request_deadline_ms);
    let reading = blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        work(&project, &snapshot)
    });
    timeout(limit, reading).await.unwrap_or_else(|_| Err(too_slow("the request", limit)))
}

/// Serves a subscription of the newest protocol revision until its client ends it.
pub(super) async fn listen(
    project: Arc<Project>,
    context: SubscriptionContext,
) -> Result<(), ErrorData> {
    let sink = context.sink().clone();
    let accepted = context.accepted().clone();
    let wants_list = accepted.resources_list_changed == Some(true);
    let uris = accepted.resource_subscriptions.unwrap_or_default();
    check_count(uris.len())?;
    let watched = Arc::new(Mutex::new(Watched::default()));
    let mut changes = project.health().changes();
    let begun = watched.clone();
    view(project.clone(), move |_, snapshot| {
        let mut watched = begun.lock().unwrap_or_else(PoisonError::into_inner);
        if wants_list {
            watched.watch_list(snapshot)?;
        }
        uris.iter().try_for_each(|uri| watched.watch(snapshot, uri))
    })
    .await
    .map_err(refused)?;
    loop {
        tokio::select! {
            () = context.cancelled() => return Ok(()),
            changed = changes.changed() => if changed.is_err() { return Ok(()) },
        }
        let Some(changes) = look(&project, &Arc::downgrade(&watched)).await else { return Ok(()) };
        if changes.is_list_changed {
            let _ = sink.notify_resource_list_changed().await;
        }
        for uri in changes.updated {
            let _ = sink.notify_resource_updated(uri).await;
        }
        tokio::time::sleep(NOTIFY_EVERY).await;
    }
}

/// Watches an address for a session of an older revision.
pub(super) async fn subscribe(
    project: &Arc<Project>,
    watching: &Watching,
    peer: &Peer<RoleServer>,
    uri: String,
) -> Result<(), ErrorData> {
    check_count(watching.lock().n_notes() + 1)?;
    watching.begin(project, peer);
    let watched = watching.watched.clone();
    let asked = uri.clone();
    view(project.clone(), move |project, snapshot| {
        // Only an existing resource can be watched; it may go and come back later.
        resources::read(project, snapshot, &asked)?;
        watched.lock().unwrap_or_else(PoisonError::into_inner).watch(snapshot, &asked)
    })
    .await
    .map_err(|error| refused_at(&uri, error))
}

/// Stops watching an address.
pub(super) fn unsubscribe(watching: &Watching, uri: &str) {
    watching.lock().forget(uri);
}

fn check_count(n: usize) -> Result<(), ErrorData> {
    if n <= MAX_WATCHED {
        return Ok(());
    }
    let message = format!(
        "{n} resources would be watched; at most {MAX_WATCHED} are\nhint: watch the list instead"
    );
    Err(ErrorData::invalid_params(message, None))
}

/// Lists the project, then a page of its notes.
pub(super) async fn list(
    project: &Arc<Project>,
    watching: &Watching,
    peer: &Peer<RoleServer>,
    cursor: Option<String>,
) -> Result<ListResourcesResult, ErrorData> {
    watching.begin(project, peer);
    let watched = watching.watched.clone();
    let is_first = cursor.is_none();
    let (notes, next) = view(project.clone(), move |_, snapshot| {
        watched.lock().unwrap_or_else(PoisonError::into_inner).watch_list(snapshot)?;
        resources::list(snapshot, cursor.as_deref())
    })
    .await
    .map_err(refused)?;
    let info = Resource::new(INFO, "project_info")
        .with_title("Project")
        .with_description("The project, its counts, and how far indexing is")
        .with_mime_type("application/json");
    let notes = notes.into_iter().map(|note| {
        Resource::new(leaving::clean_text(&note.uri), leaving::clean_text(&note.path))
            .with_title(leaving::clean_text(&note.title))
            .with_mime_type(MARKDOWN)
            .with_size(note.n_bytes)
    });
    let all = is_first.then_some(info).into_iter().chain(notes).collect();
    let mut result = ListResourcesResult::with_all_items(all);
    result.next_cursor = next;
    Ok(result)
}

const MARKDOWN: &str = "text/markdown";

/// Returns the templates of addresses.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let note = ResourceTemplate::new("memory://{+permalink}", "note")
        .with_title("Note")
        .with_description("A note by its permalink or path, such as `memory://specs/search`")
        .with_mime_type(MARKDOWN);
    ListResourceTemplatesResult::with_all_items(vec![note])
}

/// Reads the resource at an address.
pub(super) async fn read(
    project: &Arc<Project>,
    uri: String,
) -> Result<ReadResourceResult, ErrorData> {
    let asked = uri.clone();
    let read =
        view(project.clone(), move |project, snapshot| resources::read(project, snapshot, &asked));
    let (text, is_markdown) = read.await.map_err(|error| refused_at(&uri, error))?;
    let mime = if is_markdown { MARKDOWN } else { "application/json" };
    let text = show(&text);
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(mime)]))
}

/// Lists every prompt.
pub(super) fn prompts() -> ListPromptsResult {
    let prompts = PROMPTS.iter().map(|prompt| {
        let arguments = prompt.arguments.iter().map(|it| {
            PromptArgument::new(it.name).with_description(it.about).with_required(it.is_required)
        });
        Prompt::new(prompt.name, Some(prompt.about), Some(arguments.collect()))
    });
    ListPromptsResult::with_all_items(prompts.collect())
}

/// Returns the message of a prompt.
pub(super) async fn prompt(
    project: &Arc<Project>,
    name: String,
    arguments: Map<String, Value>,
) -> Result<GetPromptResult, ErrorData> {
    let about = PROMPTS.iter().find(|prompt| prompt.name == name).map_or("", |prompt| prompt.about);
    let made = view(project.clone(), move |project, snapshot| {
        prompts::message(project, snapshot, &name, &arguments)
    });
    let message = PromptMessage::new_text(Role::User, show(&made.await.map_err(refused)?));
    Ok(GetPromptResult::new(vec![message]).with_description(about))
}

/// Completes an argument: permalinks for addresses, titles and tags for topics.
pub(super) async fn complete(
    project: &Arc<Project>,
    reference: Reference,
    argument: ArgumentInfo,
) -> Result<CompleteResult, ErrorData> {
    let most = CompletionInfo::MAX_VALUES;
    let (is_address, is_known) = match &reference {
        Reference::Resource(template) => {
            (true, template.uri.contains(&format!("{{+{}}}", argument.name)))
        }
        Reference::Prompt(prompt) => {
            let prompt = PROMPTS.iter().find(|it| it.name == prompt.name);
            let arguments = prompt.map_or(&[][..], |it| it.arguments);
            (false, arguments.iter().any(|it| it.name == argument.name))
        }
        _ => (false, false),
    };
    if !is_known {
        return completed(vec![], None);
    }
    if argument.name == "timeframe" {
        let known = ["1 day", "7d", "last week", "1 month", "yesterday"];
        let fits = known.iter().filter(|it| it.starts_with(&argument.value.to_lowercase()));
        return completed(fits.map(ToString::to_string).collect(), None);
    }
    let found = view(project.clone(), move |_, snapshot| match is_address {
        true => resources::permalinks_like(snapshot, &argument.value, most),
        false => resources::topics_like(snapshot, &argument.value, most),
    });
    let (values, n) = found.await.map_err(refused)?;
    completed(values.into_iter().map(|it| leaving::clean_text(&it)).collect(), Some(n))
}

fn completed(values: Vec<String>, n: Option<usize>) -> Result<CompleteResult, ErrorData> {
    let n = n.unwrap_or(values.len());
    let has_more = n > values.len();
    let total = u32::try_from(n).ok();
    let info = CompletionInfo::with_pagination(values, total, has_more);
    info.map(CompleteResult::new).map_err(|why| ErrorData::internal_error(why, None))
}

/// As [`refused`], with the address in the data, where clients look for it.
fn refused_at(uri: &str, error: ErrorView) -> ErrorData {
    let mut refusal = refused(error);
    if let Some(data) = refusal.data.as_mut().and_then(Value::as_object_mut) {
        data.insert("uri".into(), leaving::clean_text(uri).into());
    }
    refusal
}

/// Converts an error to MCP's terms.
fn refused(error: ErrorView) -> ErrorData {
    let error = leaving::clean_error(error);
    let (message, data) = (error.to_string(), serde_json::to_value(&error).ok());
    match error.code {
        Code::NotFound => ErrorData::resource_not_found(message, data),
        Code::Internal | Code::Unavailable => ErrorData::internal_error(message, data),
        _ => ErrorData::invalid_params(message, data),
    }
}
