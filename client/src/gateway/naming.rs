//! Naming: adds the project to names of tools, resources and prompts.
//!
//! In: lists and results of one project. Out: the same with the project in their names; and the
//! inverse. The rules: a tool takes `project`. A resource `memory://specs/search` of project
//! `alpha` is `memory://alpha/specs/search`; `kgd://project_info` is `kgd://project_info/alpha`;
//! templates likewise. A prompt `recap` is `alpha.recap`. `alpha` is the permalink of the project's
//! name, which contains neither `/` nor `.`, so the inverse is unique. If a call gives `project`,
//! its addresses belong to that project, with or without its name: if `alpha` has no note `x`,
//! `memory://alpha/x` is a note in a folder `alpha`.
//! Invariants: a name of a project that is not served is never resolved.

use serde_json::{Value, json};

use super::fitting::{ABOUT_NAMES, MOST};
use super::served::{Kind, Served};
use super::spread::spec;

/// The tool that concerns all projects.
pub(super) const PROJECTS_TOOL: &str = "list_memory_projects";

const PAGES: &str = "kgd://";

/// Prefix of the address of a note.
pub(super) const SCHEME: &str = "memory://";

/// Returns the address of a resource with its project.
pub(super) fn outward(uri: &str, permalink: &str) -> String {
    if uri.starts_with(PAGES) {
        return format!("{uri}/{permalink}");
    }
    match uri.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{permalink}/{rest}"),
        None => uri.to_string(),
    }
}

/// Splits an address from [`outward`] into its project and its address there.
pub(super) fn inward(uri: &str, served: &Served) -> Option<(usize, String)> {
    if let Some(rest) = uri.strip_prefix(PAGES) {
        let (page, name) = rest.rsplit_once('/')?;
        return Some((served.find(name)?, format!("{PAGES}{page}")));
    }
    let (scheme, rest) = uri.split_once("://")?;
    let (name, rest) = rest.split_once('/')?;
    Some((served.find(name)?, format!("{scheme}://{rest}")))
}

/// Splits a prompt's name into its project and its name there.
pub(super) fn prompt_inward<'a>(name: &'a str, served: &Served) -> Option<(usize, &'a str)> {
    let (project, name) = name.split_once('.')?;
    Some((served.find(project)?, name))
}

/// Renames one entry of a list of resources, templates or prompts.
pub(super) fn rename(field: &str, entry: &mut Value, project: usize, served: &Served) {
    let (name, permalink) = (served.name(project), served.permalink(project));
    let rewrite = |value: &mut Value, rewritten: &dyn Fn(&str) -> String| {
        if let Some(text) = value.as_str() {
            *value = rewritten(text).into();
        }
    };
    for key in ["uri", "uriTemplate"] {
        if let Some(uri) = entry.get_mut(key) {
            rewrite(uri, &|uri| outward(uri, permalink));
        }
    }
    let is_prompt = field == "prompts";
    if let Some(own) = entry.get_mut("name") {
        rewrite(own, &|own| {
            if is_prompt { format!("{permalink}.{own}") } else { format!("[{name}] {own}") }
        });
    }
    if let Some(title) = entry.get_mut("title") {
        rewrite(title, &|title| format!("[{name}] {title}"));
    }
}

/// Renames the addresses in a result: of resources read, of links in content, and of the note that a tool's text has on
/// a line of its own.
pub(super) fn rename_addresses(result: &mut Value, project: usize, served: &Served) {
    let permalink = served.permalink(project);
    let own = ["/structuredContent/permalink", "/structuredContent/note/permalink"];
    let own =
        own.iter().find_map(|at| result.pointer(at)?.as_str()).map(|it| format!("{SCHEME}{it}"));
    if let Some(own) = own
        && let Some(text) = result.pointer_mut("/content/0/text")
        && let Some(body) = text.as_str()
    {
        *text = whole_in_text(body, &own, permalink).into();
    }
    for list in ["contents", "content"] {
        let items = result.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            for at in ["/uri", "/resource/uri"] {
                if let Some(uri) = item.pointer_mut(at)
                    && let Some(text) = uri.as_str()
                {
                    *uri = outward(text, permalink).into();
                }
            }
        }
    }
}

/// Adds the project to the first message of a prompt, because a bare path does not show its
/// project.
pub(super) fn name_in_messages(result: &mut Value, name: &str) {
    if let Some(text) = result.pointer_mut("/messages/0/content/text")
        && let Some(body) = text.as_str()
    {
        let own = format!(
            "All notes here are of the project `{name}`: give tools `project` with their paths."
        );
        *text = format!("{own}\n\n{body}").into();
    }
}

/// Adds the project to the first line of a tool's text that begins with the address `own`; the same
/// words on later lines are text of a document.
fn whole_in_text(text: &str, own: &str, permalink: &str) -> String {
    let is_it = |line: &str| {
        line.strip_prefix(own)
            .is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with("  "))
    };
    let mut is_found = false;
    let lines = text.split_inclusive('\n').map(|line| {
        if is_found || !is_it(line) {
            return line.to_string();
        }
        is_found = true;
        line.replacen(own, &outward(own, permalink), 1)
    });
    lines.collect()
}

/// Most characters of the list of tools, which stays in an agent's context. Names of projects are
/// left out if the list fits only without them; a list that is longer anyway has them.
const MAX_LIST_CHARS: usize = 15_000;

/// Adds the parameter `project` to each tool of a list, with the names of the projects while they fit.
pub(super) fn add_project(result: &mut Value, served: &Served) {
    let names: Value = served.names().collect();
    let tools = result.get_mut("tools").and_then(Value::as_array_mut);
    let mut n_added = 0;
    for tool in tools.into_iter().flatten() {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
        let kind = Kind::of(&name);
        if kind == Kind::Neutral || name == PROJECTS_TOOL {
            continue;
        }
        let Some(schema) = tool.get_mut("inputSchema").filter(|it| it.is_object()) else {
            continue;
        };
        let meant = served.unnamed(kind).ok().map(|it| served.name(it));
        let fits = served.front().is_some() && ABOUT_NAMES.contains(&name.as_str());
        let default = match (spec(&name), meant) {
            (Some(_), _) if served.front().is_some() && served.len() > MOST => {
                Some(format!("Default: the {MOST} that fit best."))
            }
            (Some(_), _) => Some("Default: all.".to_string()),
            (None, None) if fits => {
                Some("Default: the one that knows most of the names.".to_string())
            }
            (None, Some(meant)) => Some(format!("Default: `{meant}`.")),
            (None, None) => None,
        };
        if !schema.get("properties").is_some_and(Value::is_object) {
            schema["properties"] = json!({});
        }
        // A list is accepted, too; the schema stays one that every client understands.
        let mut project = json!({ "type": "string" });
        if let Some(default) = default {
            project["description"] = default.into();
        }
        schema["properties"]["project"] = project;
        if spec(&name).is_none() && meant.is_none() && !fits {
            match schema.get_mut("required").and_then(Value::as_array_mut) {
                Some(required) => required.push("project".into()),
                None => schema["required"] = json!(["project"]),
            }
        }
        n_added += 1;
    }
    let n_each = format!(",\"enum\":{names}").chars().count();
    let room = MAX_LIST_CHARS.checked_sub(result["tools"].to_string().chars().count());
    // No value fits an empty list.
    if served.len() == 0 || room.is_some_and(|room| n_added * n_each > room) {
        return;
    }
    for tool in result["tools"].as_array_mut().into_iter().flatten() {
        let project = tool.pointer_mut("/inputSchema/properties/project");
        let project = project.filter(|it| it["type"] == "string" && it.get("enum").is_none());
        project.into_iter().for_each(|it| it["enum"] = names.clone());
    }
}

/// Returns the instructions for an agent: the projects, then those of one project.
pub(super) fn instructions(own: Option<&str>, served: &Served) -> String {
    if served.len() == 0 {
        let nobody = served.nobody();
        return format!("{}: {}.", nobody.message, nobody.hint.unwrap_or_default());
    }
    let all = match served.front() {
        Some(_) if served.len() > MOST => format!("the {MOST} that fit best"),
        _ => "all of them".to_string(),
    };
    let meant = match (served.unnamed(Kind::Writes).ok(), served.default()) {
        (Some(meant), _) if served.home().is_none() => {
            format!("else `{}`, the only one, is meant", served.name(meant))
        }
        (Some(home), _) => format!("else `{}`, where you are, is meant", served.name(home)),
        (None, Some(default)) => {
            format!("else reading means `{}`, and writing is refused", served.name(default))
        }
        (None, None) => "else they are refused".to_string(),
    };
    let has = if served.is_all() {
        "all projects, also those made later; now"
    } else {
        "several projects"
    };
    let mut text = format!(
        "This server has {has}: {}. Searches go to {all} unless `project` names one; each \
         hit names its project. Give other tools the `project` that a hit named; {meant}. Ids and `ref`s are of \
         one project.",
        served.listing()
    );
    if let Some(own) = own {
        text += " Of each project: ";
        text += own;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use config::Project;
    use expect_test::expect;

    use super::*;

    fn served() -> Served {
        let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
        Served::new(&[project("My Notes"), project("work")]).expect("distinct")
    }

    #[test]
    fn addresses_lead_out_and_back() {
        let table = [
            ("memory://specs/search", "memory://my-notes/specs/search"),
            ("memory://{+permalink}", "memory://my-notes/{+permalink}"),
            ("kgd://project_info", "kgd://project_info/my-notes"),
            ("kgd://a/b", "kgd://a/b/my-notes"),
            ("memory://", "memory://my-notes/"),
        ];
        for (uri, expected) in table {
            assert_eq!(outward(uri, "my-notes"), expected);
            assert_eq!(inward(expected, &served()), Some((0, uri.to_string())), "{uri}");
        }
        for uri in
            ["memory://specs/search", "memory://work", "kgd://project_info", "work", "kgd://x/y"]
        {
            assert_eq!(inward(uri, &served()), None, "{uri}");
        }
        assert_eq!(prompt_inward("my-notes.re.cap", &served()), Some((0, "re.cap")));
        assert_eq!(prompt_inward("recap", &served()), None);
    }

    #[test]
    fn entries_and_contents_bear_their_project() {
        let mut entry = json!({"uri": "memory://a", "name": "A", "title": "All"});
        rename("resources", &mut entry, 0, &served());
        let expected = json!({"uri": "memory://my-notes/a", "name": "[My Notes] A", "title": "[My Notes] All"});
        assert_eq!(entry, expected);
        let mut prompt = json!({"name": "recap", "title": "Recap"});
        rename("prompts", &mut prompt, 1, &served());
        assert_eq!(prompt, json!({"name": "work.recap", "title": "[work] Recap"}));
        let mut read = json!({"contents": [{"uri": "memory://a", "text": "memory://a"}]});
        rename_addresses(&mut read, 0, &served());
        assert_eq!(
            read,
            json!({"contents": [{"uri": "memory://my-notes/a", "text": "memory://a"}]})
        );
        let mut prompt = json!({"messages": [{"content": {"text": "See a.md:1"}}]});
        name_in_messages(&mut prompt, "My Notes");
        let message = prompt["messages"][0]["content"]["text"].as_str().unwrap_or_default();
        assert!(message.contains("`My Notes`") && message.ends_with("\n\nSee a.md:1"), "{message}");
        let text = "A (a.md)\nmemory://ab\nmemory://a  checksum 1\nmemory://a\n";
        let expected = "A (a.md)\nmemory://ab\nmemory://my-notes/a  checksum 1\nmemory://a\n";
        for fields in [json!({"permalink": "a"}), json!({"note": {"permalink": "a"}})] {
            let mut reply = json!({"content": [{"text": text}], "structuredContent": fields});
            rename_addresses(&mut reply, 0, &served());
            assert_eq!(reply["content"][0]["text"], expected);
        }
    }

    #[test]
    fn tools_take_a_project_and_must_where_none_is_meant() {
        let tools = json!({"tools": [
            {"name": "hybrid_query", "inputSchema": {"type": "object", "properties": {"q": {}}, "required": ["q"]}},
            {"name": "status", "inputSchema": {"type": "object"}},
            {"name": "ingest_docs", "inputSchema": {
                "type": "object", "properties": {"project": {}}, "required": ["paths"],
            }},
            {"name": "list_memory_projects", "inputSchema": {"type": "object"}},
        ]});
        let shown = |served: Served| {
            let mut tools = tools.clone();
            add_project(&mut tools, &served);
            let list = tools["tools"].as_array().expect("a list").clone();
            let row = |it: &Value| {
                let schema = &it["inputSchema"];
                format!(
                    "{} {} {}\n",
                    it["name"], schema["properties"]["project"]["description"], schema["required"]
                )
            };
            assert!(list.iter().all(|it| {
                let names = &it["inputSchema"]["properties"]["project"]["enum"];
                names.is_null() || *names == json!(["My Notes", "work"])
            }));
            list.iter().map(row).collect::<String>()
        };
        expect![[r#"
            "hybrid_query" "Default: all." ["q"]
            "status" null ["project"]
            "ingest_docs" null ["paths","project"]
            "list_memory_projects" null null
        "#]]
        .assert_eq(&shown(served()));
        expect![[r#"
            "hybrid_query" "Default: all." ["q"]
            "status" "Default: `work`." null
            "ingest_docs" null ["paths","project"]
            "list_memory_projects" null null
        "#]]
        .assert_eq(&shown(served().with_default(Some(Path::new("/work")))));
        let text = instructions(Some("Ask."), &served().at_home_in(Some(Path::new("/work"))));
        assert!(
            text.contains("`My Notes`, `work`. ") && text.contains("else `work`, where you are"),
            "{text}"
        );
    }

    #[test]
    fn the_list_of_the_default_set_names_projects_only_where_there_is_room() {
        let tool = |n: usize, n_chars: usize| {
            json!({"name": "hybrid_query", "description": "x".repeat(n_chars), "n": n,
                "inputSchema": {"type": "object", "properties": {}}})
        };
        let listed = |n_chars: usize| {
            let tools: Vec<Value> = (0..10).map(|n| tool(n, n_chars)).collect();
            let mut result = json!({"tools": tools});
            add_project(&mut result, &served());
            let named = result["tools"].to_string().matches("My Notes").count();
            (named, result["tools"].to_string().chars().count() <= MAX_LIST_CHARS)
        };
        assert_eq!(listed(1_000), (10, true));
        assert_eq!(listed(1_335), (0, true));
        assert_eq!(listed(2_000), (10, false), "a larger set");
    }

    #[test]
    fn of_many_projects_some_are_named_and_of_a_hub_the_fittest_are_asked() {
        let project = |n: usize| Project { root: format!("/{n}").into(), name: format!("p{n}") };
        let served = Served::new(&(0..40).map(project).collect::<Vec<_>>()).expect("distinct");
        assert!(served.listing().ends_with("`p29`, and 10 more"), "{}", served.listing());
        let shown = |served: &Served| {
            let tool = |name: &str| json!({ "name": name, "inputSchema": {} });
            let tools = ["hybrid_query", "connect", "status"].map(tool);
            let mut list = json!({ "tools": tools });
            add_project(&mut list, served);
            let rows = list["tools"].as_array().expect("a list").iter();
            let row = |it: &Value| {
                let schema = &it["inputSchema"];
                let described = &schema["properties"]["project"]["description"];
                format!("{described} {}\n", schema["required"])
            };
            rows.map(row).collect::<String>()
        };
        expect![[r#"
            "Default: all." null
            null ["project"]
            null ["project"]
        "#]]
        .assert_eq(&shown(&served));
        expect![[r#"
            "Default: the 16 that fit best." null
            "Default: the one that knows most of the names." null
            null ["project"]
        "#]]
        .assert_eq(&shown(&served.with_front("/front".into())));
    }
}
