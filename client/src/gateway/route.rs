//! Route: determines the projects for a request of the client.
//!
//! In: a method and its parameters. Out: the requests to projects, or the answer.
//! Invariants: a request that names a project goes only there. One that names none goes to all
//! projects if it searches or lists, otherwise to the current project; without a current project it
//! is refused with the code `ambiguous`. The address of a note without a project belongs to the
//! project of the current folder; outside all projects, reading and watching ask every project for
//! it, and writing is refused.

use proto::catalog::CATALOG;
use proto::error::{Code, ErrorView};
use proto::form::wants_json;
use proto::lenient;
use serde_json::{Map, Value, json};

use super::at_least;
use super::cursor::{self, Onward};
use super::fitting::{ABOUT_NAMES, fitting};
use super::listen;
use super::naming::{PROJECTS_TOOL, SCHEME, inward, prompt_inward};
use super::readings::{Reading, Readings};
use super::seek::Sought;
use super::served::{Kind, Served};
use super::spread::{Spread, spec};
use super::trouble::error_result;

/// Error codes of JSON-RPC.
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;

/// Arguments that may contain the address of a note.
const ADDRESSES: &[&str] = &["path", "id", "identifier", "url", "uri"];
/// Requests that the first project to answer can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// The handshake.
    Hello,
    /// The same in newer revisions.
    Discover,
    /// The list of tools.
    Tools,
}

/// The destination of a request.
#[derive(Debug)]
pub(super) enum Route {
    /// It is answered here.
    Result(Value),
    /// It is refused here.
    Error(Value),
    /// The first project that answers.
    First(First, Value),
    /// One project.
    One { project: usize, params: Value, is_tool: bool },
    /// One project, with whichever of two readings of an address is a note there.
    Either { project: usize, readings: Readings },
    /// All projects, for the note with this address, which one of them should have.
    Seek { address: String, of: Sought, params: Value },
    /// Several projects, as one search.
    Spread { spread: Spread, params: Value },
    /// All projects, as one list.
    List { field: &'static str, targets: Vec<Onward>, params: Value },
    /// All projects, as the list of projects.
    Projects { params: Value, is_json: bool },
    /// Each project that the subscription concerns, until it ends.
    Listen(Vec<(usize, Value)>),
    /// All open projects, without waiting for them.
    Open(Value),
}

/// Determines the destination of a request.
pub(super) fn route(method: &str, params: Value, served: &Served) -> Route {
    match method {
        "ping" => Route::Result(json!({})),
        "resources/read"
        | "resources/subscribe"
        | "resources/unsubscribe"
        | "subscriptions/listen"
        | "prompts/get"
        | "completion/complete"
            if served.len() == 0 =>
        {
            let nobody = served.nobody();
            refuse(INVALID_PARAMS, &nobody.message, nobody.hint)
        }
        "server/discover" => Route::First(First::Discover, params),
        "tools/list" => Route::First(First::Tools, params),
        "tools/call" => call(params, served),
        "resources/list" => list("resources", params, served),
        "resources/templates/list" => list("resourceTemplates", params, served),
        "prompts/list" => list("prompts", params, served),
        "resources/read" => of_resource(params, Some(Sought::Resource), served),
        "resources/subscribe" => of_resource(params, Some(Sought::Watch), served),
        "resources/unsubscribe" => of_resource(params, None, served),
        "subscriptions/listen" => listen(&params, served),
        "prompts/get" => of_prompt(params, "/name", served),
        "completion/complete" => match params.pointer("/ref/type").and_then(Value::as_str) {
            Some("ref/prompt") => of_prompt(params, "/ref/name", served),
            _ => at_address(params, "/ref/uri", served),
        },
        "logging/setLevel" => Route::Open(params),
        _ => refuse(METHOD_NOT_FOUND, &format!("no method is called `{method}`"), None),
    }
}

fn refuse(code: i32, message: &str, hint: Option<String>) -> Route {
    let mut error = json!({ "code": code, "message": message });
    if let Some(hint) = hint {
        error["data"] = json!({ "code": "not_found", "hint": hint });
    }
    Route::Error(error)
}

fn refuse_call(view: &ErrorView) -> Route {
    Route::Result(error_result(view, Map::new()))
}

fn call(mut params: Value, served: &Served) -> Route {
    let Some(tool) = params.get("name").and_then(Value::as_str).map(str::to_string) else {
        return refuse(INVALID_PARAMS, "`name` of the tool is missing", None);
    };
    let mut arguments = match params.get_mut("arguments").map(Value::take) {
        Some(Value::Object(arguments)) => lenient::repair(&tool, arguments),
        None | Some(Value::Null) => Map::new(),
        Some(_) => return refuse(INVALID_PARAMS, "`arguments` is not an object", None),
    };
    if !CATALOG.iter().any(|it| it.name == tool) {
        // Any project can suggest the nearest tool.
        let Some(project) = served.likeliest_first().first().copied() else {
            return refuse_call(&served.nobody());
        };
        return Route::One { project, params: with(params, arguments), is_tool: true };
    }
    if let Err(view) = at_least::check(&arguments, served) {
        return refuse_call(&view);
    }
    let several = match named(&mut arguments, served) {
        Ok(several) => several,
        Err(view) => return refuse_call(&view),
    };
    if served.len() == 0 && tool != PROJECTS_TOOL {
        return refuse_call(&served.nobody());
    }
    let named = match several.as_slice() {
        [] => match by_address(&mut arguments, served) {
            // With one project, or inside one, that project resolves the address itself.
            None if served.len() > 1 && served.home().is_none() => match address(&arguments) {
                Some(address) if Kind::of(&tool) == Kind::Reads && spec(&tool).is_none() => {
                    let address = address.to_string();
                    let params = quiet(with(params, arguments));
                    return Route::Seek { address, of: Sought::Tool, params };
                }
                Some(address) => return refuse_call(&whose(address, served)),
                None => None,
            },
            found => found,
        },
        [project] => {
            if let Some(readings) = without_its_name(&params, &arguments, *project, served) {
                return Route::Either { project: *project, readings };
            }
            Some(*project)
        }
        _ if spec(&tool).is_none() && tool != PROJECTS_TOOL => {
            return refuse_call(&only_one(&tool));
        }
        _ => None,
    };
    if tool == PROJECTS_TOOL {
        let is_json = wants_json(&arguments);
        return Route::Projects { params: quiet(with(params, arguments)), is_json };
    }
    // An id is valid in one project only.
    let spec = spec(&tool).filter(|_| !arguments.contains_key("entity_id") || !several.is_empty());
    if let Some(spec) = spec {
        let is_ours = |it: &Value| it.as_str().is_some_and(|it| cursor::read(it, served).is_some());
        if named.is_none() || arguments.get("cursor").is_some_and(is_ours) {
            return match Spread::new(spec, arguments, &several, served) {
                Ok(spread) if spread.targets.is_empty() => refuse_call(&at_its_end()),
                Ok(spread) => Route::Spread { spread, params: quiet(params) },
                Err(view) => refuse_call(&view),
            };
        }
    }
    let unnamed = || match served.unnamed(Kind::of(&tool)) {
        Err(view) if ABOUT_NAMES.contains(&tool.as_str()) => {
            let fittest = fitting(&tool, &arguments, 1, served)?;
            fittest.and_then(|it| it.first().copied()).ok_or(view)
        }
        found => found,
    };
    match named.map_or_else(unnamed, Ok) {
        Ok(project) => {
            let params = with(params, arguments);
            Route::One { project, params, is_tool: true }
        }
        Err(view) => refuse_call(&view),
    }
}

fn at_its_end() -> ErrorView {
    ErrorView::hinted(
        Code::InvalidParams,
        "that project has no further hits",
        "leave `project` out to go on with the others",
    )
}

fn only_one(tool: &str) -> ErrorView {
    ErrorView::hinted(
        Code::InvalidParams,
        format!("`{tool}` is about one project"),
        "give one name as `project`; searches, `ask`, `changes` and `explain_entity` take several"
            .to_string(),
    )
}

/// Removes the projects from the arguments, one name or a list. A project need not know its name
/// here.
fn named(arguments: &mut Map<String, Value>, served: &Served) -> Result<Vec<usize>, ErrorView> {
    for name in ["project", "vault"] {
        let given = match arguments.shift_remove(name) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(list)) => list,
            Some(one) => listed(one, served),
        };
        let mut several = Vec::new();
        for one in given {
            let text = one.as_str().ok_or_else(|| {
                ErrorView::hinted(
                    Code::InvalidParams,
                    format!("`{name}` is not a project name, or a list of them"),
                    format!("use one of {}", served.listing()),
                )
            })?;
            if !text.trim().is_empty() {
                several.push(served.named(text.trim())?);
            }
        }
        if !several.is_empty() {
            several.sort_unstable();
            several.dedup();
            return Ok(several);
        }
    }
    Ok(Vec::new())
}

/// Returns the items of a list that was written as text, as JSON or with commas.
fn listed(value: Value, served: &Served) -> Vec<Value> {
    let Some(text) = value.as_str().filter(|text| served.find(text.trim()).is_none()) else {
        return vec![value];
    };
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list,
        _ => text.split(',').map(Value::from).collect(),
    }
}

fn address(arguments: &Map<String, Value>) -> Option<&str> {
    let addresses = ADDRESSES.iter().filter_map(|name| arguments.get(*name)?.as_str());
    addresses.into_iter().find(|it| it.starts_with(SCHEME))
}

/// Returns both readings if the address in the arguments begins with the name of the project given
/// beside it, as in replies; it might also be a folder of that name.
fn without_its_name(
    params: &Value,
    arguments: &Map<String, Value>,
    project: usize,
    served: &Served,
) -> Option<Readings> {
    let mut short = arguments.clone();
    by_address(&mut short, served).filter(|it| *it == project)?;
    let reading = |arguments: Map<String, Value>| {
        let address = address(&arguments)?.to_string();
        Some(Reading { address, params: with(params.clone(), arguments) })
    };
    let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let is_writing = Kind::of(tool) != Kind::Reads;
    let both = [reading(short)?, reading(arguments.clone())?];
    Some(Readings::new(both, is_writing, served.permalink(project)))
}

fn whose(address: &str, served: &Served) -> ErrorView {
    let address: String = address.chars().filter(|c| !c.is_control()).take(120).collect();
    ErrorView::hinted(
        Code::Ambiguous,
        format!("the address `{address}` names no served project"),
        format!("use `project`, or an address `memory://PROJECT/…`, of {}", served.listing()),
    )
}

/// Returns the project of an address written by [`super::naming`], and makes it an address within
/// that project.
fn by_address(arguments: &mut Map<String, Value>, served: &Served) -> Option<usize> {
    ADDRESSES.iter().find_map(|name| {
        let value = arguments.get_mut(*name)?;
        let uri = value.as_str().filter(|it| it.starts_with(SCHEME))?;
        let (project, uri) = inward(uri, served)?;
        *value = uri.into();
        Some(project)
    })
}

fn with(mut params: Value, arguments: Map<String, Value>) -> Value {
    params["arguments"] = Value::Object(arguments);
    params
}

/// Removes the progress token: the progress of several projects does not add up.
fn quiet(mut params: Value) -> Value {
    if let Some(Value::Object(meta)) = params.get_mut("_meta") {
        meta.shift_remove("progressToken");
    }
    params
}

fn list(field: &'static str, mut params: Value, served: &Served) -> Route {
    let fields = params.as_object_mut();
    let targets = match fields.and_then(|it| it.shift_remove("cursor")) {
        None | Some(Value::Null) => served
            .all()
            .into_iter()
            .map(|project| Onward { project, ..Onward::default() })
            .collect(),
        Some(given) => match given.as_str().and_then(|it| cursor::read(it, served)) {
            Some(targets) => targets,
            None => return refuse(INVALID_PARAMS, "`cursor` is not from a list", None),
        },
    };
    Route::List { field, targets, params: quiet(params) }
}

fn listen(params: &Value, served: &Served) -> Route {
    let wanted = params.get("notifications").cloned().unwrap_or_default();
    let Ok(shares) = listen::shares(&wanted, served) else { return no_project(served) };
    let ask = |(project, share)| {
        let mut params = params.clone();
        params["notifications"] = share;
        (project, params)
    };
    Route::Listen(shares.into_iter().map(ask).collect())
}

fn no_project(served: &Served) -> Route {
    let hint = Some(served.address_hint());
    refuse(INVALID_PARAMS, "the address names no served project", hint)
}

fn at_address(mut params: Value, at: &str, served: &Served) -> Route {
    let uri = params.pointer(at).and_then(Value::as_str).unwrap_or_default().to_string();
    let Some((project, inner)) = inward(&uri, served) else { return no_project(served) };
    if let Some(slot) = params.pointer_mut(at) {
        *slot = inner.into();
    }
    Route::One { project, params, is_tool: false }
}

/// Routes the address of a resource, which may omit its project, as in a call; `sought` is `None`
/// for the end of watching.
fn of_resource(params: Value, sought: Option<Sought>, served: &Served) -> Route {
    let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
    if !uri.starts_with(SCHEME) || inward(uri, served).is_some() {
        return at_address(params, "/uri", served);
    }
    let address = uri.to_string();
    match (served.home(), sought) {
        (Some(project), _) => Route::One { project, params, is_tool: false },
        (None, Some(of)) => Route::Seek { address, of, params: quiet(params) },
        (None, None) => Route::Open(params),
    }
}

fn of_prompt(mut params: Value, at: &str, served: &Served) -> Route {
    let name = params.pointer(at).and_then(Value::as_str).unwrap_or_default().to_string();
    let Some((project, inner)) = prompt_inward(&name, served) else {
        let hint =
            format!("prompts here are named `PROJECT.name`, with one of {}", served.listing());
        return refuse(INVALID_PARAMS, "the prompt names no served project", Some(hint));
    };
    if let Some(slot) = params.pointer_mut(at) {
        *slot = inner.into();
    }
    Route::One { project, params, is_tool: false }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use config::Project;
    use expect_test::{Expect, expect};

    use super::*;

    fn check(served: &Served, table: &[(&str, Value)], expected: Expect) {
        let mut shown = String::new();
        for (method, params) in table {
            let outcome = match route(method, params.clone(), served) {
                Route::Result(result) => match result.pointer("/structuredContent/code") {
                    Some(code) => format!("{code} {}", result["structuredContent"]["message"]),
                    None => result.to_string(),
                },
                Route::Error(error) => format!("error {}", error["message"]),
                Route::First(first, _) => format!("first {first:?}"),
                Route::One { project, params, .. } => format!("{}: {params}", served.name(project)),
                Route::Either { project, readings } => {
                    format!("{}: {} or as it stands", served.name(project), readings.start())
                }
                Route::Seek { address, of, params } => {
                    format!("who has {address}? {} {params}", of.method())
                }
                Route::Spread { spread, .. } => format!("spread over {}", spread.targets.len()),
                Route::List { field, targets, .. } => format!("{field} of {}", targets.len()),
                Route::Projects { .. } => "projects".to_string(),
                Route::Listen(shares) => {
                    let share = |(project, params): &(usize, Value)| {
                        format!("{} {}", served.name(*project), params["notifications"])
                    };
                    shares.iter().map(share).collect::<Vec<_>>().join(", ")
                }
                Route::Open(_) => "all that are open".to_string(),
            };
            shown += &format!("{outcome}\n");
        }
        expected.assert_eq(&shown);
    }

    fn served() -> Served {
        let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
        Served::new(&[project("a"), project("b"), project("c")]).expect("distinct")
    }

    #[test]
    fn a_subscription_goes_to_each_project_that_it_is_about() {
        let listen = |filter: Value| ("subscriptions/listen", json!({"notifications": filter}));
        let notes = |uris: &[&str]| listen(json!({ "resourceSubscriptions": uris }));
        let both = json!({"resourcesListChanged": true, "resourceSubscriptions": ["memory://c/x"]});
        check(
            &served().with_default(Some(Path::new("/c"))),
            &[
                notes(&["memory://b/x", "kgd://project_info/a", "memory://b/y/z"]),
                listen(both),
                listen(json!({"resourcesListChanged": false})),
                notes(&["memory://b/x", "memory://nope/x"]),
                ("subscriptions/listen", json!({})),
            ],
            expect![[r#"
                a {"resourceSubscriptions":["kgd://project_info"]}, b {"resourceSubscriptions":["memory://x","memory://y/z"]}
                a {"resourcesListChanged":true}, b {"resourcesListChanged":true}, c {"resourcesListChanged":true,"resourceSubscriptions":["memory://x"]}
                c {}
                error "the address names no served project"
                c {}
            "#]],
        );
    }

    fn tool(name: &str, arguments: Value) -> (&'static str, Value) {
        ("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    #[test]
    fn what_remembers_is_about_one_project_and_what_asks_about_those_that_are_named() {
        check(
            &served().with_default(Some(Path::new("/c"))),
            &[
                tool("ask", json!({"query": "x", "project": "b"})),
                tool("ask", json!({"query": "x"})),
                tool("ask", json!({"query": "x", "project": ["c", "A", "c"]})),
                tool("ask", json!({"query": "x", "project": "c, A"})),
                tool("ask", json!({"query": "x", "project": "[\"a\", \"b\"]"})),
                tool("ask", json!({"query": "x", "project": ["nobody"]})),
                tool("changes", json!({"project": ["a", "b"]})),
                tool("changes", json!({"project": "a"})),
                tool("changes", json!({})),
                tool("explain_entity", json!({"name": "x", "project": ["a", "b"]})),
                tool("explain_entity", json!({"entity_id": 7})),
                tool("connect", json!({"a": "x", "b": "y", "project": ["a", "b"]})),
                tool("remember", json!({"text": "x", "project": "b"})),
                tool("remember", json!({"text": "x"})),
            ],
            expect![[r#"
                b: {"name":"ask","arguments":{"query":"x"}}
                spread over 3
                spread over 2
                spread over 2
                spread over 2
                "not_found" "no project called `nobody` is served here"
                spread over 2
                a: {"name":"changes","arguments":{}}
                spread over 3
                spread over 2
                c: {"name":"explain_entity","arguments":{"entity_id":7}}
                "invalid_params" "`connect` is about one project"
                b: {"name":"remember","arguments":{"text":"x"}}
                "ambiguous" "no project to change was named, and the folder in which this session started is in none that is served"
            "#]],
        );
    }

    #[test]
    fn calls_go_where_they_say_and_searches_everywhere() {
        check(
            &served().with_default(Some(Path::new("/c"))),
            &[
                tool("hybrid_query", json!({"q": "x"})),
                tool("hybrid_query", json!({"q": "x", "project": "B"})),
                tool("hybrid_query", json!({"q": "x", "cursor": "all.b:x:"})),
                tool("hybrid_query", json!({"q": "x", "cursor": "all.b:x:", "project": "a"})),
                tool("hybrid_query", json!({"q": "x", "cursor": "AAAA", "project": "a"})),
                tool("entity_lookup", json!({"q": "x", "project": ""})),
                tool("status", json!({})),
                tool("status", json!({"project": "a"})),
                tool("status", json!({"project": "nope"})),
                tool("status", json!({"project": ["a"]})),
                tool("status", json!({"project": [7]})),
                tool("read_note", json!({"path": "memory://b/specs"})),
                tool("read_note", json!({"path": "memory://nope/specs", "vault": "a"})),
                tool("read_note", json!({"path": "memory://b/specs", "project": "a"})),
                tool("read_note", json!({"path": "memory://B/specs", "project": "b"})),
                tool("read_note", json!({"path": "memory://specs"})),
                tool("build_context", json!({"url": "memory://id/7"})),
                tool("edit_note", json!({"path": "memory://specs"})),
                tool("edit_note", json!({"path": "memory://b/specs"})),
                tool("ingest_docs", json!({"paths": []})),
                tool("ingest_docs", json!({"paths": [], "project": "a"})),
                tool("list_memory_projects", json!({"project": "a"})),
                ("tools/call", json!({"name": "status"})),
                ("tools/call", json!({"name": "status", "arguments": []})),
                ("tools/call", json!({})),
            ],
            expect![[r#"
                spread over 3
                b: {"name":"hybrid_query","arguments":{"q":"x"}}
                spread over 1
                "invalid_params" "that project has no further hits"
                a: {"name":"hybrid_query","arguments":{"q":"x","cursor":"AAAA"}}
                spread over 3
                c: {"name":"status","arguments":{}}
                a: {"name":"status","arguments":{}}
                "not_found" "no project called `nope` is served here"
                a: {"name":"status","arguments":{}}
                "invalid_params" "`project` is not a project name, or a list of them"
                b: {"name":"read_note","arguments":{"path":"memory://specs"}}
                a: {"name":"read_note","arguments":{"path":"memory://nope/specs"}}
                a: {"name":"read_note","arguments":{"path":"memory://b/specs"}}
                b: {"name":"read_note","arguments":{"path":"memory://specs"}} or as it stands
                who has memory://specs? tools/call {"name":"read_note","arguments":{"path":"memory://specs"}}
                who has memory://id/7? tools/call {"name":"build_context","arguments":{"path":"memory://id/7"}}
                "ambiguous" "the address `memory://specs` names no served project"
                b: {"name":"edit_note","arguments":{"path":"memory://specs"}}
                "ambiguous" "no project to change was named, and the folder in which this session started is in none that is served"
                a: {"name":"ingest_docs","arguments":{"paths":[]}}
                projects
                c: {"name":"status","arguments":{}}
                error "`arguments` is not an object"
                error "`name` of the tool is missing"
            "#]],
        );
        check(
            &served().at_home_in(Some(Path::new("/b"))),
            &[
                tool("status", json!({})),
                tool("ingest_docs", json!({"paths": []})),
                tool("read_note", json!({"path": "memory://specs"})),
                tool("edit_note", json!({"path": "memory://id/7"})),
                tool("edit_note", json!({"path": "memory://a/specs"})),
                ("resources/read", json!({"uri": "memory://x"})),
            ],
            expect![[r#"
                b: {"name":"status","arguments":{}}
                b: {"name":"ingest_docs","arguments":{"paths":[]}}
                b: {"name":"read_note","arguments":{"path":"memory://specs"}}
                b: {"name":"edit_note","arguments":{"path":"memory://id/7"}}
                a: {"name":"edit_note","arguments":{"path":"memory://specs"}}
                b: {"uri":"memory://x"}
            "#]],
        );
    }

    #[test]
    fn resources_and_prompts_go_to_the_project_in_their_name() {
        check(
            &served(),
            &[
                ("resources/list", json!({})),
                ("resources/templates/list", Value::Null),
                ("prompts/list", json!({"cursor": "all.b:x:"})),
                ("prompts/list", json!({"cursor": "x"})),
                ("resources/read", json!({"uri": "memory://b/x/y"})),
                ("resources/read", json!({"uri": "kgd://project_info/c"})),
                ("resources/read", json!({"uri": "kgd://project_info"})),
                ("resources/subscribe", json!({"uri": "memory://x/y"})),
                ("resources/unsubscribe", json!({"uri": "memory://x/y"})),
                ("prompts/get", json!({"name": "a.recap", "arguments": {}})),
                ("prompts/get", json!({"name": "recap"})),
                ("completion/complete", json!({"ref": {"type": "ref/prompt", "name": "a.recap"}})),
                (
                    "completion/complete",
                    json!({"ref": {"type": "ref/resource", "uri": "memory://b/{+x}"}}),
                ),
                ("ping", json!({})),
                ("tools/list", json!({})),
                ("logging/setLevel", json!({"level": "info"})),
                ("magic", json!({})),
            ],
            expect![[r#"
                resources of 3
                resourceTemplates of 3
                prompts of 1
                error "`cursor` is not from a list"
                b: {"uri":"memory://x/y"}
                c: {"uri":"kgd://project_info"}
                error "the address names no served project"
                who has memory://x/y? resources/read {"uri":"memory://x/y"}
                all that are open
                a: {"name":"recap","arguments":{}}
                error "the prompt names no served project"
                a: {"ref":{"type":"ref/prompt","name":"recap"}}
                b: {"ref":{"type":"ref/resource","uri":"memory://{+x}"}}
                {}
                first Tools
                all that are open
                error "no method is called `magic`"
            "#]],
        );
    }
}
