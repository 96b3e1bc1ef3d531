//! Session: one client's MCP conversation, without the library's macros.
//!
//! In: MCP requests. Out: our identity, the tools of this session's sets, and their results. Invariants: a tool outside
//! the session's sets is neither listed nor called; a result has the form that the session or the call asked for
//! (`form.rs`); a failed call is a result with an error and a hint, which a model can read, and only an unknown tool is
//! a protocol error.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use proto::catalog::{CATALOG, Entry};
use proto::error::{Code, ErrorView};
use proto::form::{Form, META_KEY};
use proto::lenient;
use proto::tool::notes::CreateMemoryProject;
use proto::tool::{Effect, Tool as _, ToolSet, core};
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use serde_json::{Map, Value};
use tokio::time::Instant;

mod at_least;
mod described;
mod hints;
mod instructions;
mod offers;
mod sampling;
mod unknown;

use self::described::{BRIEF, knows, tools};
use self::offers::Watching;
use self::sampling::ClientModel;
use super::form::{self, Replied, Wanted};
use super::leaving;
use super::preamble::Preamble;
use super::progress::{Progress, Step};
use super::routes::{Call, Caller, Route, Routes};
use super::tool::when::to_days;
use super::tool::{blocking, unreadable};
use super::turns::InFlight;
use crate::notes::NoteError;
use crate::project::Project;
use redact::clean;

/// Shortest interval between two progress notifications of a call. A person reads no faster.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// One client's conversation.
#[derive(Clone)]
pub(crate) struct Session {
    project: Arc<Project>,
    routes: Arc<Routes>,
    sets: Vec<ToolSet>,
    form: Form,
    in_flight: InFlight,
    watching: Watching,
    /// The client's name in the preamble.
    client: String,
}

impl Session {
    /// Starts a conversation about `project` with the options of the preamble.
    pub(super) fn new(
        project: Arc<Project>,
        routes: Arc<Routes>,
        preamble: &Preamble,
        in_flight: InFlight,
    ) -> Self {
        let sets = preamble.sets.clone();
        let usual = if project.settings.serve.structured { Form::Structured } else { Form::Text };
        let form = preamble.form.unwrap_or(usual);
        let client = preamble.client.clone();
        Session { project, routes, sets, form, in_flight, watching: Watching::default(), client }
    }

    fn find(&self, name: &str) -> Option<&Route> {
        self.routes.find(name).filter(|route| self.has(&route.tool))
    }

    async fn run(
        &self,
        route: &Route,
        arguments: Map<String, Value>,
        wanted: Wanted,
        model: Option<&ClientModel>,
        context: RequestContext<RoleServer>,
    ) -> Result<Replied, ErrorView> {
        let project = Arc::clone(&self.project);
        let client = self.client_of(&context);
        let caller = Caller {
            in_flight: self.in_flight.clone(),
            request: context.id.clone(),
            client,
            model: model.map(ClientModel::provider),
            sets: self.sets.clone(),
        };
        let Some(token) = context.meta.get_progress_token() else {
            let progress = Progress::silent();
            let call = Call { project, arguments, wanted, progress, caller };
            return self.routes.call(route, call, context.ct.cancelled()).await;
        };
        let (progress, mut reports) = Progress::channel();
        let call = Call { project, arguments, wanted, progress, caller };
        let mut answer = pin!(self.routes.call(route, call, context.ct.cancelled()));
        let mut next_at = Instant::now();
        loop {
            let report = async {
                tokio::time::sleep_until(next_at).await;
                reports.next().await
            };
            tokio::select! {
                biased;
                answer = &mut answer => return answer,
                // Sent before the loop continues: MCP allows no progress after the answer.
                Some(step) = report => notify(&context.peer, &token, step).await,
            }
            next_at = Instant::now() + PROGRESS_INTERVAL;
        }
    }
}

/// Sends the client a progress notification; an error means that it has gone.
async fn notify(peer: &Peer<RoleServer>, token: &ProgressToken, step: Step) {
    let mut progress = ProgressNotificationParam::new(token.clone(), step.done as f64);
    progress.total = step.total.map(|total| total as f64);
    let message = leaving::clean_text(&step.message);
    progress.message = Some(message).filter(|message| !message.is_empty());
    let _ = peer.notify_progress(progress).await;
}

/// Converts a reply to a cleaned result.
fn to_result(
    answer: Result<Replied, ErrorView>,
    wanted: Wanted,
    is_verbatim: bool,
) -> CallToolResult {
    match answer {
        Ok(Replied { mut structured, text }) => {
            if let Some(structured) = &mut structured {
                leaving::clean_reply(structured);
                if !is_verbatim {
                    leaving::show_reply(structured);
                }
            }
            let json = || structured.as_ref().map_or_else(String::new, Value::to_string);
            let text = text.unwrap_or_else(json);
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = structured;
            result
        }
        Err(error) => {
            let error = leaving::clean_error(error);
            let structured = || serde_json::to_value(&error).ok();
            let mut result = CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
            result.structured_content = wanted.is_structured().then(structured).flatten();
            result
        }
    }
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let capabilities = match self.has_notes() {
            false => ServerCapabilities::builder().enable_tools().build(),
            true => ServerCapabilities::builder()
                .enable_tools()
                .enable_resources()
                .enable_resources_list_changed()
                .enable_resources_subscribe()
                .enable_prompts()
                .enable_completions()
                .build(),
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("kgd", proto::version()))
            .with_instructions(instructions::of(|name| {
                CATALOG.iter().any(|it| it.name == name && self.offers(it))
            }))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params(
                "the list of tools is not paged: leave `cursor` out",
                None,
            ));
        }
        let offered = tools().zip(BRIEF.iter()).filter(|((entry, _), _)| self.offers(entry));
        let listed = |((entry, whole), brief): ((&Entry, &Tool), &Tool)| {
            let is_whole = self.sets.contains(&entry.set);
            let mut tool = if is_whole { whole } else { brief }.clone();
            if self.form == Form::Text {
                tool.output_schema = None;
            }
            if self.project.is_replica() {
                at_least::add_to(Arc::make_mut(&mut tool.input_schema));
            }
            tool
        };
        Ok(ListToolsResult::with_all_items(offered.map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(route) = self.find(&request.name) else {
            return Err(ErrorData::invalid_params(self.unknown_tool(&request.name), None));
        };
        let _asking = self.project.activity().ask();
        let mut arguments = request.arguments.unwrap_or_default();
        let mut renamed = lenient::renamed(route.tool.name, &arguments);
        // What reads a question calls it as `hybrid_query` does.
        renamed.extend(lenient::own_name_of(route.tool.name, "q").map(|own| ("q".into(), own)));
        arguments = lenient::repair(route.tool.name, arguments);
        to_days(&mut arguments);
        if !route.is_asked_verbatim {
            arguments = leaving::clean_request(arguments);
        }
        if leaving::have_escapes(&mut arguments) {
            let project = self.project.clone();
            let spelled = blocking(move || {
                let snapshot = project.snapshot().map_err(unreadable)?;
                // The beginning of what `proto::visible` writes for a hidden character.
                snapshot.documents().names_with("\\u{").map_err(unreadable)
            });
            // Without an index, no name is known.
            leaving::restore_names(&mut arguments, &spelled.await.unwrap_or_default());
        }
        let at_least = arguments.shift_remove(at_least::NAME);
        let asked = context.meta.get(META_KEY).and_then(Value::as_str).and_then(Form::parse);
        let long = route.is_long.then_some(core::PASSAGE_CHARS);
        let knows = |parameter: &str| knows(route.tool.name, parameter);
        let (form, settings) = (asked.unwrap_or(self.form), &self.project.settings);
        let odd_format = form::unknown_format(&arguments, knows);
        let wanted = Wanted::of(form, &mut arguments, knows, settings, long);
        let (responses, state) = (request.input_responses, request.request_state);
        let model = sampling::model_of(&context, route.tool.effect, responses, state);
        let refusal = odd_format.or_else(|| self.refusal(route, &mut arguments));
        let ready = match refusal {
            Some(refusal) => Err(refusal),
            None => self.reach(at_least, context.ct.cancelled()).await,
        };
        let answer = match ready {
            Err(refusal) => Err(refusal),
            Ok(()) => self.run(route, arguments, wanted, model.as_ref(), context).await,
        };
        if let (Ok(_), Some(needed)) = (&answer, model.and_then(|model| model.needed())) {
            return Ok(needed.into());
        }
        let answer = answer.map_err(|error| self.with_original_names(error, &renamed));
        Ok(to_result(answer, wanted, route.replies_verbatim).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.check_notes()?;
        let cursor = request.and_then(|request| request.cursor);
        offers::list(&self.project, &self.watching, &context.peer, cursor).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.check_notes().map(|()| offers::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.check_notes()?;
        Ok(offers::read(&self.project, request.uri).await?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.check_notes()?;
        offers::subscribe(&self.project, &self.watching, &context.peer, request.uri).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        offers::unsubscribe(&self.watching, &request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.has_notes().then(|| requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        offers::listen(self.project.clone(), context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.check_notes().map(|()| offers::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.check_notes()?;
        let arguments = request.arguments.unwrap_or_default();
        Ok(offers::prompt(&self.project, request.name, arguments).await?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.check_notes()?;
        offers::complete(&self.project, request.r#ref, request.argument).await
    }
}

impl Session {
    /// Returns the client's name in its handshake, else in the preamble.
    fn client_of(&self, context: &RequestContext<RoleServer>) -> String {
        let info = context.peer.peer_info();
        let name = info.map(|info| info.client_info.name.clone()).unwrap_or_default();
        let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        if name.trim().is_empty() { self.client.clone() } else { name }
    }

    /// Returns whether resources, prompts and completion are offered.
    fn has_notes(&self) -> bool {
        let has_set = self.sets.iter().any(|set| matches!(set, ToolSet::Default | ToolSet::Notes));
        has_set && !self.project.is_replica()
    }

    /// Returns whether a tool is in one of the session's sets; a front end of a hub serves few of them.
    fn has(&self, tool: &Entry) -> bool {
        let is_served = || !self.project.is_replica() || self.routes.find(tool.name).is_some();
        self.sets.iter().any(|set| tool.is_in(*set)) && is_served()
    }

    fn check_notes(&self) -> Result<(), ErrorData> {
        match self.has_notes() {
            true => Ok(()),
            false => Err(ErrorData::invalid_params(
                "resources and prompts come with the tools of notes\nhint: `kg-mcp --tools core,notes`",
                None,
            )),
        }
    }

    /// Returns whether a tool writes notes in a project whose notes are read-only: it is hidden and refused.
    fn is_forbidden(&self, tool: &Entry) -> bool {
        !self.project.settings.write
            && tool.effect == Effect::Writes
            && matches!(tool.set, ToolSet::Notes | ToolSet::Memory | ToolSet::Kb)
    }

    /// Returns whether a tool is listed. If agents may not create projects, the tool for that is hidden; a call of it
    /// still explains what a person can do instead.
    fn offers(&self, tool: &Entry) -> bool {
        let has_roots = !self.project.settings.projects.roots.is_empty();
        let is_usable = has_roots || tool.name != CreateMemoryProject::NAME;
        self.has(tool) && !self.is_forbidden(tool) && is_usable
    }

    /// Returns why a call is refused before it starts. Removes `project` from the arguments: a session has only one.
    fn refusal(&self, route: &Route, arguments: &mut Map<String, Value>) -> Option<ErrorView> {
        if self.is_forbidden(&route.tool) {
            return Some(NoteError::ReadOnly.view());
        }
        let keys =
            ["project", "vault"].into_iter().filter(|key| *key == "project" || route.has_vault);
        let named = keys.filter_map(|key| arguments.shift_remove(key)).last()?;
        let ours = &self.project.name;
        let only = named.as_array().filter(|list| list.len() == 1).and_then(|list| list.first());
        match only.unwrap_or(&named).as_str() {
            Some(name) if self.is_ours(name) => None,
            _ if named.is_null() => None,
            Some(name) => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
                Some(ErrorView::hinted(
                    Code::NotFound,
                    format!("this session is about the project `{ours}`, not `{name}`"),
                    "leave `project` out; `kg-mcp --project A --project B` serves several",
                ))
            }
            None => Some(super::tool::invalid(
                "`project` is not a name".into(),
                "give the name of a project",
            )),
        }
    }

    /// Rewrites a refusal with the caller's names of parameters; its hint names no tool that the session lacks.
    fn with_original_names(&self, error: ErrorView, renamed: &[(String, String)]) -> ErrorView {
        let offers = |name: &str| CATALOG.iter().any(|it| it.name == name && self.offers(it));
        let hint = error.hint.as_deref().and_then(|hint| hints::offered(hint, offers));
        let in_words = |text: String| {
            renamed.iter().fold(text, |text, (own, given)| {
                text.replace(&format!("`{own}`"), &format!("`{given}`"))
            })
        };
        let hint = hint.map(|hint| self.project.in_commands(in_words(hint)));
        ErrorView { message: in_words(error.message), hint, ..error }
    }

    fn unknown_tool(&self, name: &str) -> String {
        // Cleaned before it is cut: half of a token is not recognized as one.
        let name: String = clean(name).chars().filter(|c| !c.is_control()).take(60).collect();
        let is_whole = !self.project.is_replica();
        unknown::message(&name, &self.sets, is_whole, |entry| self.offers(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_stands_where_the_catalog_has_it() {
        let routes = super::super::routes::routes();
        let routed: Vec<_> = routes.iter().map(|route| route.tool.name).collect();
        let declared: Vec<_> = CATALOG.iter().map(|entry| entry.name).collect();
        assert_eq!(routed, declared);
    }
}
