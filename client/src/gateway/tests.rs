use config::Project;
use expect_test::{Expect, expect};

use super::*;

mod addresses;

/// Plays a script over the projects `a`, `b` and `c`, of which `a` is the default, and prints the output of each step:
/// `c` from the client, a project's letter from that project, `+N` seconds later, `now` from the registry with the
/// projects that there are. `N result` and `N error` answer request N.
fn check(script: &str, expected: Expect) {
    play(served(), script, expected);
}

fn served() -> Served {
    of("a b c").with_default(Some(std::path::Path::new("/a")))
}

/// Returns a session over these projects, each `NAME` or `NAME=FOLDER`.
fn of(names: &str) -> Served {
    let project = |it: &str| {
        let (name, folder) = it.split_once('=').unwrap_or((it, it));
        Project { root: format!("/{folder}").into(), name: name.into() }
    };
    let projects: Vec<Project> = names.split_whitespace().map(project).collect();
    Served::new(&projects).expect("distinct")
}

fn play(served: Served, script: &str, expected: Expect) {
    let mut shown = String::new();
    play_to(served, script, &mut shown);
    expected.assert_eq(&shown);
}

fn play_to(served: Served, script: &str, shown: &mut String) {
    let gateway = Gateway::new(served, Duration::from_secs(10)).structured(true);
    let mut gateway = gateway.offering(&["core".to_string()]);
    let mut now = Instant::now();
    for step in script.lines().map(str::trim).filter(|step| !step.is_empty()) {
        let (side, rest) = step.split_once(' ').unwrap_or((step, ""));
        let line = expand(rest);
        let out = match side {
            "c" => gateway.on_client_line(line.as_bytes(), now),
            "now" => gateway.follow(&of(rest).that_are_all(), now).1,
            "a" | "b" | "c'" => {
                let project = usize::from(side == "b") + 2 * usize::from(side == "c'");
                gateway.on_project_line(project, line.as_bytes(), now)
            }
            later => {
                let seconds = later.strip_prefix('+').and_then(|it| it.parse().ok());
                now +=
                    Duration::from_secs(seconds.unwrap_or_else(|| panic!("no such step: {step}")));
                gateway.on_time(now)
            }
        };
        *shown += &format!("{}\n", step.chars().take(100).collect::<String>());
        for out in out {
            let (to, line) = match out {
                Out::Client(line) => ("client".to_string(), line),
                Out::Project(project, line) => ("abcdef"[project..=project].to_string(), line),
            };
            let line = String::from_utf8(line).expect("UTF-8").replace(r#""jsonrpc":"2.0","#, "");
            let line = line.replace(r#","_meta":{"kgd/form":"structured"}"#, "");
            let line = line.replace(r#","_meta":{"kgd/form":"whole"}"#, " as a whole");
            *shown += &format!("    {to} < {}\n", line.chars().take(500).collect::<String>());
        }
    }
    *shown += &format!("waiting {}\n", gateway.is_waiting());
}

/// Expands short forms of messages; anything else is verbatim.
fn expand(short: &str) -> String {
    let mut words = short.splitn(3, ' ');
    let (first, second, third) = (words.next().unwrap_or(""), words.next(), words.next());
    match (first, second) {
        ("init", Some(id)) => format!(r#"{{"id":{id},"method":"initialize","params":{{"v":1}}}}"#),
        ("ready", _) => r#"{"method":"notifications/initialized"}"#.to_string(),
        ("cancel", Some(id)) => {
            format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        }
        ("newest", Some(id)) => {
            let (method, params) =
                third.and_then(|it| it.split_once(' ')).expect("method, parameters");
            newest(id, method, params.strip_prefix('{').expect("an object"))
        }
        ("listen", Some(id)) => {
            let filter = format!(r#""notifications":{}}}"#, third.unwrap_or("{}"));
            newest(id, "subscriptions/listen", &filter)
        }
        ("ack", Some(own)) => {
            let filter = format!(r#""notifications":{}"#, third.unwrap_or("{}"));
            notification(own, "subscriptions/acknowledged", &filter)
        }
        ("updated", Some(own)) => {
            let uri = format!(r#""uri":"{}""#, third.unwrap_or(""));
            notification(own, "resources/updated", &uri)
        }
        ("changed", Some(own)) => notification(own, "resources/list_changed", r#""n":1"#),
        ("call", Some(id)) => {
            let (tool, arguments) =
                third.and_then(|it| it.split_once(' ')).unwrap_or((third.unwrap_or(""), "{}"));
            format!(
                r#"{{"id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
            )
        }
        (id, Some("result")) => format!(r#"{{"id":{id},"result":{}}}"#, third.unwrap_or("{}")),
        (id, Some("error")) => format!(
            r#"{{"id":{id},"error":{{"code":-32000,"message":"{}","data":{{"code":"unavailable"}}}}}}"#,
            third.unwrap_or("ill")
        ),
        _ => short.to_string(),
    }
}

/// Returns a request of the newest revision; `params` are its parameters without the opening brace.
fn newest(id: &str, method: &str, params: &str) -> String {
    let comma = if params == "}" { "" } else { "," };
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    format!(r#"{{"id":{id},"method":"{method}","params":{{{meta}{comma}{params}}}"#)
}

/// Returns a notification of a subscription.
fn notification(own: &str, method: &str, params: &str) -> String {
    let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{own}}}"#);
    format!(r#"{{"method":"notifications/{method}","params":{{{params},{meta}}}}}"#)
}

#[test]
fn a_removed_project_is_unknown_from_then_on_and_a_renamed_one_has_its_new_name() {
    play(
        of("a b").that_are_all(),
        r#"
        c init 1
        a 3 result {}
        c call 2 status {"project":"b"}
        b 5 result {}
        c call 3 status {"project":"b"}
        c call 4 entity_lookup {"q":"x"}
        now a b2=b
        b 7 result {}
        a 11 result {"structuredContent":{"entities":[],"tick":1}}
        c call 5 write_note {"project":"b","title":"x"}
        c call 6 write_note {"project":"nope","title":"x"}
        c call 7 status {"project":"b2"}
        c call 8 list_memory_projects
        now
        c call 9 status {"project":"a"}
        c call 10 hybrid_query {"q":"x"}
        "#,
        expect![[r#"
            c init 1
                a < {"id":3,"method":"initialize","params":{"v":1}}
            a 3 result {}
                a < {"method":"notifications/initialized"}
                client < {"id":1,"result":{"instructions":"This server has all projects, also those made later; now: `a`, `b`. Searches go to all of them unless `project` names one; each hit names its project. Give other tools the `project` that a hit named; else they are refused. Ids and `ref`s are of one project.","capabilities":{"tools":{"listChanged":true}}}}
            c call 2 status {"project":"b"}
                b < {"id":6,"method":"initialize","params":{"v":1}}
            b 5 result {}
                client < {"id":2,"result":{}}
            c call 3 status {"project":"b"}
            c call 4 entity_lookup {"q":"x"}
                a < {"id":11,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            now a b2=b
                client < {"id":3,"error":{"code":-32000,"message":"no project called `b` is served here","data":{"code":"not_found","hint":"use one of `a`, `b2`","project":"b"}}}
                client < {"method":"notifications/tools/list_changed"}
            b 7 result {}
            a 11 result {"structuredContent":{"entities":[],"tick":1}}
                client < {"id":4,"result":{"content":[{"type":"text","text":"(b is not in this: no project called `b` is served here; use one of `a`, `b2`)\nnothing found\n(a tick 1)"}],"structuredContent":{"entities":[],"project":"a","tick":1,"projects":[{"project":"a","tick":1}],"unavailable":[{"project":"b","code":"not_found","message":"no project called `b` is served here","hint":"use one of `a`, `b2`"}]}}}
            c call 5 write_note {"project":"b","title":"x"}
                client < {"id":5,"result":{"content":[{"type":"text","text":"no project called `b` is served here\nhint: use one of `a`, `b2`"}],"structuredContent":{"code":"not_found","message":"no project called `b` is served here","hint":"use one of `a`, `b2`"},"isError":true}}
            c call 6 write_note {"project":"nope","title":"x"}
                client < {"id":6,"result":{"content":[{"type":"text","text":"no project called `nope` is served here\nhint: use one of `a`, `b2`"}],"structuredContent":{"code":"not_found","message":"no project called `nope` is served here","hint":"use one of `a`, `b2`"},"isError":true}}
            c call 7 status {"project":"b2"}
                c < {"id":17,"method":"initialize","params":{"v":1}}
            c call 8 list_memory_projects
                a < {"id":19,"method":"tools/call","params":{"name":"list_memory_projects","arguments":{} as a whole}}
            now
                client < {"id":7,"error":{"code":-32000,"message":"no project called `b2` is served here","data":{"code":"not_found","hint":"`kgctl init DIR` registers a folder; this session then has it","project":"b2"}}}
                client < {"id":8,"result":{"content":[{"type":"text","text":"no project is registered\nhint: `kgctl init DIR` registers a folder; this session then has it"}],"structuredContent":{"projects":[],"project":"","tick":0}}}
                client < {"method":"notifications/tools/list_changed"}
            c call 9 status {"project":"a"}
                client < {"id":9,"result":{"content":[{"type":"text","text":"no project called `a` is served here\nhint: `kgctl init DIR` registers a folder; this session then has it"}],"structuredContent":{"code":"not_found","message":"no project called `a` is served here","hint":"`kgctl init DIR` registers a folder; this session then has it"},"isError":true}}
            c call 10 hybrid_query {"q":"x"}
                client < {"id":10,"result":{"content":[{"type":"text","text":"no project is registered\nhint: `kgctl init DIR` registers a folder; this session then has it"}],"structuredContent":{"code":"not_found","message":"no project is registered","hint":"`kgctl init DIR` registers a folder; this session then has it"},"isError":true}}
            waiting false
        "#]],
    );
}

#[test]
fn a_session_that_begins_with_no_project_says_how_to_make_one_and_then_serves_it() {
    play(
        of("").that_are_all(),
        r#"
        c {"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
        c {"id":2,"method":"resources/list"}
        c {"id":3,"method":"resources/read","params":{"uri":"memory://a/x"}}
        c call 4 status
        c call 5 status {"project":"a"}
        c call 6 list_memory_projects
        c {"id":7,"method":"subscriptions/listen"}
        now a
        c call 8 status
        now a b
        c call 9 remember {"text":"x"}
        "#,
        expect![[r#"
            c {"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
                client < {"id":1,"result":{"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"kgd","version":"0.1.0"},"instructions":"no project is registered: `kgctl init DIR` registers a folder; this session then has it.","protocolVersion":"2025-06-18"}}
            c {"id":2,"method":"resources/list"}
                client < {"id":2,"result":{"resources":[]}}
            c {"id":3,"method":"resources/read","params":{"uri":"memory://a/x"}}
                client < {"id":3,"error":{"code":-32602,"message":"no project is registered","data":{"code":"not_found","hint":"`kgctl init DIR` registers a folder; this session then has it"}}}
            c call 4 status
                client < {"id":4,"result":{"content":[{"type":"text","text":"no project is registered\nhint: `kgctl init DIR` registers a folder; this session then has it"}],"structuredContent":{"code":"not_found","message":"no project is registered","hint":"`kgctl init DIR` registers a folder; this session then has it"},"isError":true}}
            c call 5 status {"project":"a"}
                client < {"id":5,"result":{"content":[{"type":"text","text":"no project called `a` is served here\nhint: `kgctl init DIR` registers a folder; this session then has it"}],"structuredContent":{"code":"not_found","message":"no project called `a` is served here","hint":"`kgctl init DIR` registers a folder; this session then has it"},"isError":true}}
            c call 6 list_memory_projects
                client < {"id":6,"result":{"content":[{"type":"text","text":"no project is registered\nhint: `kgctl init DIR` registers a folder; this session then has it"}],"structuredContent":{"projects":[],"project":"","tick":0}}}
            c {"id":7,"method":"subscriptions/listen"}
                client < {"id":7,"error":{"code":-32602,"message":"no project is registered","data":{"code":"not_found","hint":"`kgctl init DIR` registers a folder; this session then has it"}}}
            now a
                client < {"method":"notifications/tools/list_changed"}
            c call 8 status
                a < {"id":5,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
            now a b
                client < {"method":"notifications/tools/list_changed"}
            c call 9 remember {"text":"x"}
                client < {"id":9,"result":{"content":[{"type":"text","text":"no project to change was named, and the folder in which this session started is in none that is served\nhint: use `project`, one of `a`, `b`"}],"structuredContent":{"code":"ambiguous","message":"no project to change was named, and the folder in which this session started is in none that is served","hint":"use `project`, one of `a`, `b`"},"isError":true}}
            waiting true
        "#]],
    );
    let mut gateway = Gateway::new(of(""), Duration::from_secs(10)).offering(&["core".into()]);
    let list = br#"{"id":1,"method":"tools/list"}"#;
    let [Out::Client(line)] = &gateway.on_client_line(list, Instant::now())[..] else {
        panic!("one answer")
    };
    let answer: Value = serde_json::from_slice(line).expect("JSON");
    let tools = answer["result"]["tools"].as_array().expect("tools");
    assert!(tools.iter().any(|it| it["name"] == "hybrid_query"), "{answer}");
    let project = |it: &Value| it["inputSchema"]["properties"]["project"]["enum"].is_null();
    assert!(tools.iter().all(project), "{answer}");
}

#[test]
fn the_handshake_is_that_of_the_first_project_that_can() {
    check(
        r#"c init "one"
           a 3 error
           b 6 result {"protocolVersion":"x"}
           c ready
           c {"id":2,"method":"ping"}
           c {"id":3,"method":"tools/list"}
           a 9 result {}
           a 8 result {"tools":[]}"#,
        expect![[r#"
            c init "one"
                a < {"id":3,"method":"initialize","params":{"v":1}}
            a 3 error
                b < {"id":5,"method":"initialize","params":{"v":1}}
            b 6 result {"protocolVersion":"x"}
            c ready
            c {"id":2,"method":"ping"}
                client < {"id":2,"result":{}}
            c {"id":3,"method":"tools/list"}
                a < {"id":8,"method":"initialize","params":{"v":1}}
            a 9 result {}
            a 8 result {"tools":[]}
                a < {"method":"notifications/initialized"}
                a < {"id":7,"method":"tools/list","params":{}}
            waiting true
        "#]],
    );
}

/// Opens all three projects; this uses the ids 1 to 13.
const OPEN: &str = r#"
    c init 0
    a 3 result {"instructions":"Ask."}
    c ready
    c call 1 entity_lookup {"q":"x"}
    b 8 result {}
    c' 10 result {}
    a 5 result {"structuredContent":{"entities":[]}}
    b 7 result {"structuredContent":{"entities":[]}}
    c' 9 result {"structuredContent":{"entities":[]}}
"#;

/// Like [`check`], after [`OPEN`], whose output is omitted.
fn check_open(script: &str, expected: Expect) {
    let mut before = String::new();
    let whole = format!("{OPEN}c {{\"id\":\"mark\",\"method\":\"ping\"}}\n{script}");
    let catch =
        |text: &str| text.split_once("\"mark\",\"result\":{}}\n").map(|it| it.1.to_string());
    play_to(served(), &whole, &mut before);
    expected.assert_eq(&catch(&before).expect("the mark"));
}

#[test]
fn a_call_goes_where_it_says_under_an_id_of_its_own() {
    check_open(
        r#"c call "x" status {"project":"b"}
           b {"method":"notifications/progress","params":{"progressToken":"x"}}
           b 12 result {"structuredContent":{"project":"b"}}
           c call 7 status
           a 15 result {"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"code":"internal"}}
           c call 8 ingest_docs {"paths":[]}
           c call 9 status {"project":"c"}
           c' 18 error daemon restarted"#,
        expect![[r#"
            c call "x" status {"project":"b"}
                b < {"id":12,"method":"tools/call","params":{"name":"status","arguments":{}}}
            b {"method":"notifications/progress","params":{"progressToken":"x"}}
                client < {"method":"notifications/progress","params":{"progressToken":"x"}}
            b 12 result {"structuredContent":{"project":"b"}}
                client < {"id":"x","result":{"structuredContent":{"project":"b"}}}
            c call 7 status
                a < {"id":15,"method":"tools/call","params":{"name":"status","arguments":{}}}
            a 15 result {"isError":true,"content":[{"type":"text","text":"no"}],"structuredContent":{"code":"int
                client < {"id":7,"result":{"isError":true,"content":[{"type":"text","text":"no\n(a)"}],"structuredContent":{"code":"internal","project":"a"}}}
            c call 8 ingest_docs {"paths":[]}
                client < {"id":8,"result":{"content":[{"type":"text","text":"no project to change was named, and the folder in which this session started is in none that is served\nhint: use `project`, one of `a`, `b`, `c`"}],"structuredContent":{"code":"ambiguous","message":"no project to change was named, and the folder in which this session started is in none that is served","hint":"use `project`, one of `a`, `b`, `c`"},"isError":true}}
            c call 9 status {"project":"c"}
                c < {"id":18,"method":"tools/call","params":{"name":"status","arguments":{}}}
            c' 18 error daemon restarted
                client < {"id":9,"error":{"code":-32000,"message":"daemon restarted","data":{"code":"unavailable","project":"c"}}}
            waiting false
        "#]],
    );
}

#[test]
fn a_search_waits_for_all_but_not_for_ever() {
    check_open(
        r#"c call 1 entity_lookup {"q":"x"}
           c' 16 result {"structuredContent":{"entities":[{"name":"C","type":"T"}]}}
           a 14 result {"structuredContent":{"entities":[{"name":"not b's","type":"T"}]}}
           +9
           a 12 result {"structuredContent":{"entities":[{"name":"A","type":"T"}]}}
           +1
           c call 2 entity_lookup {"q":"x"}
           a 19 result {"structuredContent":{"entities":[]}}
           c' 23 result {"structuredContent":{"entities":[]}}
           +1
           b 14 result {}
           c call 3 entity_lookup {"q":"x"}
           +1"#,
        expect![[r#"
            c call 1 entity_lookup {"q":"x"}
                a < {"id":12,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                b < {"id":14,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                c < {"id":16,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            c' 16 result {"structuredContent":{"entities":[{"name":"C","type":"T"}]}}
            a 14 result {"structuredContent":{"entities":[{"name":"not b's","type":"T"}]}}
            +9
            a 12 result {"structuredContent":{"entities":[{"name":"A","type":"T"}]}}
            +1
                b < {"method":"notifications/cancelled","params":{"requestId":14}}
                client < {"id":1,"result":{"content":[{"type":"text","text":"(b is not in this: no answer within 10 s; ask again, or name the `project` to wait for it)\n1. [a] A (T)\n2. [c] C (T)\n(a tick 0, c tick 0)"}],"structuredContent":{"entities":[{"project":"a","name":"A","type":"T"},{"project":"c","name":"C","type":"T"}],"project":"a, c","tick":0,"projects":[{"project":"a","tick":0},{"project":"c","tick":0}],"unavailable":[{"project":"b","code":"deadline_exceeded","message":"no answer within 10 s","hint":"ask ag
            c call 2 entity_lookup {"q":"x"}
                a < {"id":19,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                b < {"id":21,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                c < {"id":23,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            a 19 result {"structuredContent":{"entities":[]}}
            c' 23 result {"structuredContent":{"entities":[]}}
            +1
                b < {"method":"notifications/cancelled","params":{"requestId":21}}
                client < {"id":2,"result":{"content":[{"type":"text","text":"(b is not in this: no answer within 1 s; ask again, or name the `project` to wait for it)\nnothing found\n(a tick 0, c tick 0)"}],"structuredContent":{"entities":[],"project":"a, c","tick":0,"projects":[{"project":"a","tick":0},{"project":"c","tick":0}],"unavailable":[{"project":"b","code":"deadline_exceeded","message":"no answer within 1 s","hint":"ask again, or name the `project` to wait for it"}]}}}
            b 14 result {}
            c call 3 entity_lookup {"q":"x"}
                a < {"id":26,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                b < {"id":28,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                c < {"id":30,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            +1
            waiting true
        "#]],
    );
}

#[test]
fn what_was_lost_with_a_daemon_is_asked_once_more_if_it_only_searches() {
    check_open(
        r#"c call 1 entity_lookup {"q":"x"}
           a 12 result {"structuredContent":{"entities":[]}}
           b 14 error daemon restarted
           b 18 error daemon restarted
           c' 16 error no daemon"#,
        expect![[r#"
            c call 1 entity_lookup {"q":"x"}
                a < {"id":12,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                b < {"id":14,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                c < {"id":16,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            a 12 result {"structuredContent":{"entities":[]}}
            b 14 error daemon restarted
                b < {"id":18,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            b 18 error daemon restarted
            c' 16 error no daemon
                client < {"id":1,"result":{"content":[{"type":"text","text":"(b is not in this: daemon restarted)\n(c is not in this: no daemon)\nnothing found\n(a tick 0)"}],"structuredContent":{"entities":[],"project":"a","tick":0,"projects":[{"project":"a","tick":0}],"unavailable":[{"project":"b","code":"unavailable","message":"daemon restarted"},{"project":"c","code":"unavailable","message":"no daemon"}]}}}
            waiting false
        "#]],
    );
}

#[test]
fn a_search_that_nobody_answers_is_an_error_that_tells_why() {
    check_open(
        r#"c call 1 entity_lookup {"q":"x"}
           a 12 error ill
           b 14 result {"isError":true,"structuredContent":{"code":"internal","message":"broken"}}
           c' 16 error gone
           c call 2 entity_lookup {"q":"", "limit": 0}
           a 19 result {"isError":true,"structuredContent":{"code":"invalid_params","message":"`limit` is 0"}}
           b 21 result {"isError":true,"structuredContent":{"code":"invalid_params","message":"`limit` is 0"}}
           c' 23 result {"isError":true,"structuredContent":{"code":"invalid_params","message":"`limit` is 0"}}"#,
        expect![[r#"
            c call 1 entity_lookup {"q":"x"}
                a < {"id":12,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                b < {"id":14,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                c < {"id":16,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            a 12 error ill
            b 14 result {"isError":true,"structuredContent":{"code":"internal","message":"broken"}}
            c' 16 error gone
                client < {"id":1,"result":{"content":[{"type":"text","text":"no project answers\na: ill\nb: broken\nc: gone"}],"structuredContent":{"code":"unavailable","message":"no project answers\na: ill\nb: broken\nc: gone","unavailable":[{"project":"a","code":"unavailable","message":"ill"},{"project":"b","code":"internal","message":"broken"},{"project":"c","code":"unavailable","message":"gone"}]},"isError":true}}
            c call 2 entity_lookup {"q":"", "limit": 0}
                a < {"id":19,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"","limit":0} as a whole}}
                b < {"id":21,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"","limit":0} as a whole}}
                c < {"id":23,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"","limit":0} as a whole}}
            a 19 result {"isError":true,"structuredContent":{"code":"invalid_params","message":"`limit` is 0"}}
            b 21 result {"isError":true,"structuredContent":{"code":"invalid_params","message":"`limit` is 0"}}
            c' 23 result {"isError":true,"structuredContent":{"code":"invalid_params","message":"`limit` is 0"}}
                client < {"id":2,"result":{"content":[{"type":"text","text":"`limit` is 0"}],"structuredContent":{"code":"invalid_params","message":"`limit` is 0"},"isError":true}}
            waiting false
        "#]],
    );
}

#[test]
fn what_the_client_takes_back_is_taken_back_everywhere() {
    check_open(
        r#"c call 1 entity_lookup {"q":"x"}
           a 12 result {"structuredContent":{"entities":[]}}
           c cancel 1
           b 14 result {"structuredContent":{"entities":[]}}
           c call "1" status {"project":"b"}
           c cancel 1
           c cancel "1""#,
        expect![[r#"
            c call 1 entity_lookup {"q":"x"}
                a < {"id":12,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                b < {"id":14,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
                c < {"id":16,"method":"tools/call","params":{"name":"entity_lookup","arguments":{"q":"x"} as a whole}}
            a 12 result {"structuredContent":{"entities":[]}}
            c cancel 1
                b < {"method":"notifications/cancelled","params":{"requestId":14}}
                c < {"method":"notifications/cancelled","params":{"requestId":16}}
            b 14 result {"structuredContent":{"entities":[]}}
            c call "1" status {"project":"b"}
                b < {"id":19,"method":"tools/call","params":{"name":"status","arguments":{}}}
            c cancel 1
            c cancel "1"
                b < {"method":"notifications/cancelled","params":{"requestId":19}}
            waiting false
        "#]],
    );
}

#[test]
fn a_project_that_cannot_be_opened_is_tried_again_at_the_next_call() {
    check(
        r#"c init 0
           a 3 result {}
           c call 1 status {"project":"b"}
           c call 2 status {"project":"b"}
           c cancel 2
           b 6 error no daemon
           c call 3 status {"project":"b"}
           b 12 result {}
           b 11 result {}"#,
        expect![[r#"
            c init 0
                a < {"id":3,"method":"initialize","params":{"v":1}}
            a 3 result {}
                a < {"method":"notifications/initialized"}
                client < {"id":0,"result":{"instructions":"This server has several projects: `a`, `b`, `c`. Searches go to all of them unless `project` names one; each hit names its project. Give other tools the `project` that a hit named; else reading means `a`, and writing is refused. Ids and `ref`s are of one project."}}
            c call 1 status {"project":"b"}
                b < {"id":6,"method":"initialize","params":{"v":1}}
            c call 2 status {"project":"b"}
            c cancel 2
            b 6 error no daemon
                client < {"id":1,"error":{"code":-32000,"message":"no daemon","data":{"code":"unavailable","project":"b"}}}
            c call 3 status {"project":"b"}
                b < {"id":12,"method":"initialize","params":{"v":1}}
            b 12 result {}
                b < {"method":"notifications/initialized"}
                b < {"id":11,"method":"tools/call","params":{"name":"status","arguments":{}}}
            b 11 result {}
                client < {"id":3,"result":{}}
            waiting false
        "#]],
    );
}

#[test]
fn lists_bear_the_names_of_projects_and_one_that_has_none_is_left_out() {
    check_open(
        r#"c {"id":1,"method":"resources/list"}
           a 12 result {"resources":[{"uri":"memory://x","name":"X"}],"nextCursor":"p2"}
           b 14 error no resources
           c' 16 result {"resources":[{"uri":"kgd://project_info","name":"info"}]}
           c {"id":2,"method":"resources/list","params":{"cursor":"all.a:p2:"}}
           a 19 result {"resources":[]}
           c {"id":3,"method":"resources/subscribe","params":{"uri":"memory://b/x"}}
           b 22 result {}
           b {"method":"notifications/resources/updated","params":{"uri":"memory://x"}}"#,
        expect![[r#"
            c {"id":1,"method":"resources/list"}
                a < {"id":12,"method":"resources/list","params":{}}
                b < {"id":14,"method":"resources/list","params":{}}
                c < {"id":16,"method":"resources/list","params":{}}
            a 12 result {"resources":[{"uri":"memory://x","name":"X"}],"nextCursor":"p2"}
            b 14 error no resources
            c' 16 result {"resources":[{"uri":"kgd://project_info","name":"info"}]}
                client < {"id":1,"result":{"resources":[{"uri":"memory://a/x","name":"[a] X"},{"uri":"kgd://project_info/c","name":"[c] info"}],"nextCursor":"all.a:p2:","_meta":{"unavailable":[{"project":"b","code":"unavailable","message":"no resources"}]}}}
            c {"id":2,"method":"resources/list","params":{"cursor":"all.a:p2:"}}
                a < {"id":19,"method":"resources/list","params":{"cursor":"p2"}}
            a 19 result {"resources":[]}
                client < {"id":2,"result":{"resources":[]}}
            c {"id":3,"method":"resources/subscribe","params":{"uri":"memory://b/x"}}
                b < {"id":22,"method":"resources/subscribe","params":{"uri":"memory://x"}}
            b 22 result {}
                client < {"id":3,"result":{}}
            b {"method":"notifications/resources/updated","params":{"uri":"memory://x"}}
                client < {"method":"notifications/resources/updated","params":{"uri":"memory://b/x"}}
            waiting false
        "#]],
    );
}

#[test]
fn questions_of_projects_reach_the_client_and_their_answers_the_right_project() {
    check_open(
        r#"a {"id":1,"method":"roots/list"}
           b {"id":1,"method":"roots/list"}
           c {"id":"kgd-11","result":{"roots":[]}}
           c {"id":"kgd-11","result":{"roots":[]}}
           b cancel 1
           c {"id":"kgd-12","result":{}}"#,
        expect![[r#"
            a {"id":1,"method":"roots/list"}
                client < {"id":"kgd-11","method":"roots/list"}
            b {"id":1,"method":"roots/list"}
                client < {"id":"kgd-12","method":"roots/list"}
            c {"id":"kgd-11","result":{"roots":[]}}
                a < {"id":1,"result":{"roots":[]}}
            c {"id":"kgd-11","result":{"roots":[]}}
            b cancel 1
                client < {"method":"notifications/cancelled","params":{"requestId":"kgd-12"}}
            c {"id":"kgd-12","result":{}}
            waiting false
        "#]],
    );
}

#[test]
fn the_list_of_projects_tells_who_answers() {
    check_open(
        r#"c call 1 list_memory_projects
           a 12 result {"structuredContent":{"tick":3,"projects":[{"name":"a","path":"/a","is_active":true,"n_documents":4},{"name":"b","path":"/b","is_active":true},{"name":"d","path":"/d","is_active":true}]}}
           b 14 error ill
           +10"#,
        expect![[r#"
            c call 1 list_memory_projects
                a < {"id":12,"method":"tools/call","params":{"name":"list_memory_projects","arguments":{} as a whole}}
                b < {"id":14,"method":"tools/call","params":{"name":"list_memory_projects","arguments":{} as a whole}}
                c < {"id":16,"method":"tools/call","params":{"name":"list_memory_projects","arguments":{} as a whole}}
            a 12 result {"structuredContent":{"tick":3,"projects":[{"name":"a","path":"/a","is_active":true,"n_d
            b 14 error ill
            +10
                c < {"method":"notifications/cancelled","params":{"requestId":16}}
                client < {"id":1,"result":{"content":[{"type":"text","text":"a (default): /a\nb: /b\n   does not answer: ill\nc: /c\n   does not answer: no answer within 10 s\nd: /d\n   not served here: start `kg-mcp --project` with its name"}],"structuredContent":{"projects":[{"name":"a","path":"/a","is_active":true,"n_documents":4,"permalink":"a","is_default":true,"is_current":false,"answers":true},{"name":"b","path":"/b","is_active":true,"permalink":"b","is_default":false,"is_current":false,"answers":false,"message":
            waiting false
        "#]],
    );
}

#[test]
fn what_is_no_message_is_refused() {
    check(
        r#"c nonsense
           c [{"id":1,"method":"ping"}]
           c {"id":2,"method":"magic"}
           b {"id":77,"result":{}}
           b nonsense"#,
        expect![[r#"
            c nonsense
                client < {"id":null,"error":{"code":-32700,"message":"not JSON"}}
            c [{"id":1,"method":"ping"}]
                client < {"id":null,"error":{"code":-32600,"message":"not a JSON-RPC message"}}
            c {"id":2,"method":"magic"}
                client < {"id":2,"error":{"code":-32601,"message":"no method is called `magic`"}}
            b {"id":77,"result":{}}
            b nonsense
            waiting false
        "#]],
    );
}

#[test]
fn a_client_without_a_handshake_needs_none() {
    check(
        r#"c {"id":1,"method":"server/discover","params":{"_meta":{"v":2}}}
           a 2 result {"instructions":"Ask.","supportedVersions":[]}
           c {"id":2,"method":"tools/call","params":{"name":"status","arguments":{"project":"b"},"_meta":{"v":2}}}"#,
        expect![[r#"
            c {"id":1,"method":"server/discover","params":{"_meta":{"v":2}}}
                a < {"id":2,"method":"server/discover","params":{"_meta":{"v":2}}}
            a 2 result {"instructions":"Ask.","supportedVersions":[]}
                client < {"id":1,"result":{"instructions":"This server has several projects: `a`, `b`, `c`. Searches go to all of them unless `project` names one; each hit names its project. Give other tools the `project` that a hit named; else reading means `a`, and writing is refused. Ids and `ref`s are of one project. Of each project: Ask.","supportedVersions":[]}}
            c {"id":2,"method":"tools/call","params":{"name":"status","arguments":{"project":"b"},"_meta":{"v":2
                b < {"id":5,"method":"tools/call","params":{"name":"status","arguments":{},"_meta":{"v":2,"kgd/form":"structured"}}}
            waiting true
        "#]],
    );
}

#[test]
fn results_that_are_made_here_are_whole_in_the_newest_revision() {
    check(
        r#"c newest 1 ping {}
           c newest 2 resources/list {}
           a 2 result {"resources":[{"uri":"memory://x","name":"x"}],"resultType":"complete","ttlMs":5}
           b 4 result {"resources":[]}
           c' 6 error
           c newest 3 tools/call {"name":"entity_lookup","arguments":{"q":"x"}}
           a 9 result {"structuredContent":{"entities":[]},"resultType":"complete"}
           b 11 result {"structuredContent":{"entities":[]}}
           c' 13 error"#,
        expect![[r#"
            c newest 1 ping {}
                client < {"id":1,"result":{"resultType":"complete"}}
            c newest 2 resources/list {}
                a < {"id":2,"method":"resources/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
                b < {"id":4,"method":"resources/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
                c < {"id":6,"method":"resources/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}
            a 2 result {"resources":[{"uri":"memory://x","name":"x"}],"resultType":"complete","ttlMs":5}
            b 4 result {"resources":[]}
            c' 6 error
                client < {"id":2,"result":{"resources":[{"uri":"memory://a/x","name":"[a] x"}],"_meta":{"unavailable":[{"project":"c","code":"unavailable","message":"ill"}]},"resultType":"complete","ttlMs":0,"cacheScope":"private"}}
            c newest 3 tools/call {"name":"entity_lookup","arguments":{"q":"x"}}
                a < {"id":9,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","kgd/form":"whole"},"name":"entity_lookup","arguments":{"q":"x"}}}
                b < {"id":11,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","kgd/form":"whole"},"name":"entity_lookup","arguments":{"q":"x"}}}
                c < {"id":13,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","kgd/form":"whole"},"name":"entity_lookup","arguments":{"q":"x"}}}
            a 9 result {"structuredContent":{"entities":[]},"resultType":"complete"}
            b 11 result {"structuredContent":{"entities":[]}}
            c' 13 error
                client < {"id":3,"result":{"content":[{"type":"text","text":"(c is not in this: ill)\nnothing found\n(a tick 0, b tick 0)"}],"structuredContent":{"entities":[],"project":"a, b","tick":0,"projects":[{"project":"a","tick":0},{"project":"b","tick":0}],"unavailable":[{"project":"c","code":"unavailable","message":"ill"}]},"resultType":"complete"}}
            waiting false
        "#]],
    );
}

#[test]
fn a_subscription_is_one_of_each_project_and_acknowledged_once() {
    check(
        r#"c listen "s" {"resourcesListChanged":true,"resourceSubscriptions":["memory://b/x"]}
           b ack 4 {"resourcesListChanged":true,"resourceSubscriptions":["memory://x"]}
           b updated 4 memory://x
           a ack 2 {"resourcesListChanged":true}
           c' 6 error
           a changed 2
           b changed 2
           b changed 4
           +60
           c cancel "s"
           a changed 2"#,
        expect![[r#"
            c listen "s" {"resourcesListChanged":true,"resourceSubscriptions":["memory://b/x"]}
                a < {"id":2,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{"resourcesListChanged":true}}}
                b < {"id":4,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["memory://x"]}}}
                c < {"id":6,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{"resourcesListChanged":true}}}
            b ack 4 {"resourcesListChanged":true,"resourceSubscriptions":["memory://x"]}
            b updated 4 memory://x
            a ack 2 {"resourcesListChanged":true}
            c' 6 error
                client < {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["memory://b/x"]}}}
                client < {"method":"notifications/resources/updated","params":{"uri":"memory://b/x","_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}
            a changed 2
                client < {"method":"notifications/resources/list_changed","params":{"n":1,"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}
            b changed 2
            b changed 4
                client < {"method":"notifications/resources/list_changed","params":{"n":1,"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}
            +60
            c cancel "s"
                a < {"method":"notifications/cancelled","params":{"requestId":2}}
                b < {"method":"notifications/cancelled","params":{"requestId":4}}
            a changed 2
            waiting false
        "#]],
    );
}

#[test]
fn a_subscription_ends_with_a_project_that_had_accepted_it() {
    check(
        r#"c listen 1 {"resourcesListChanged":true}
           a ack 2 {"resourcesListChanged":true}
           +11
           b 4 error daemon restarted
           a 2 error daemon restarted
           c listen 2 {"resourceSubscriptions":["memory://x/y"]}
           c listen 3 {}
           a ack 9 {}
           a 9 result {"_meta":{"io.modelcontextprotocol/subscriptionId":9},"resultType":"complete"}"#,
        expect![[r#"
            c listen 1 {"resourcesListChanged":true}
                a < {"id":2,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{"resourcesListChanged":true}}}
                b < {"id":4,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{"resourcesListChanged":true}}}
                c < {"id":6,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{"resourcesListChanged":true}}}
            a ack 2 {"resourcesListChanged":true}
            +11
                b < {"method":"notifications/cancelled","params":{"requestId":4}}
                c < {"method":"notifications/cancelled","params":{"requestId":6}}
                client < {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"resourcesListChanged":true}}}
            b 4 error daemon restarted
            a 2 error daemon restarted
                client < {"id":1,"error":{"code":-32000,"message":"daemon restarted","data":{"code":"unavailable","project":"a"}}}
            c listen 2 {"resourceSubscriptions":["memory://x/y"]}
                client < {"id":2,"error":{"code":-32602,"message":"the address names no served project","data":{"code":"not_found","hint":"addresses here are `memory://PROJECT/…`, of `a`, `b`, `c`"}}}
            c listen 3 {}
                a < {"id":9,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"notifications":{}}}
            a ack 9 {}
                client < {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"notifications":{}}}
            a 9 result {"_meta":{"io.modelcontextprotocol/subscriptionId":9},"resultType":"complete"}
                client < {"id":3,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"resultType":"complete"}}
            waiting false
        "#]],
    );
}
