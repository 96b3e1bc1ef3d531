use config::Project;
use expect_test::{Expect, expect};

use super::*;

/// Plays a script over the projects `a`, `b` and `c`, of which `a` is the default, and prints what goes out after each
/// step: `c` from the client, a project's letter from that project, `+N` seconds later. `N result` and `N error`
/// answer request N.
fn check(script: &str, expected: Expect) {
    play(served(), script, expected);
}

fn served() -> Served {
    let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
    let served = Served::new(&[project("a"), project("b"), project("c")]).expect("distinct");
    served.with_default(Some(std::path::Path::new("/a")))
}

fn play(served: Served, script: &str, expected: Expect) {
    let mut gateway = Gateway::new(served, Duration::from_secs(10));
    let mut now = Instant::now();
    let mut shown = String::new();
    for step in script.lines().map(str::trim).filter(|step| !step.is_empty()) {
        let (side, rest) = step.split_once(' ').unwrap_or((step, ""));
        let line = expand(rest);
        let out = match side {
            "c" => gateway.on_client_line(line.as_bytes(), now),
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
        shown += &format!("{step}\n");
        for out in out {
            let (to, line) = match out {
                Out::Client(line) => ("client".to_string(), line),
                Out::Project(project, line) => ("abc"[project..=project].to_string(), line),
            };
            let line = String::from_utf8(line).expect("UTF-8").replace(r#""jsonrpc":"2.0","#, "");
            shown += &format!("    {to} < {}\n", line.chars().take(200).collect::<String>());
        }
    }
    shown += &format!("waiting {}\n", gateway.is_waiting());
    expected.assert_eq(&shown);
}

/// Short forms of messages; anything else is one as it stands.
fn expand(short: &str) -> String {
    let mut words = short.splitn(3, ' ');
    let (first, second, third) = (words.next().unwrap_or(""), words.next(), words.next());
    match (first, second) {
        ("init", Some(id)) => format!(r#"{{"id":{id},"method":"initialize","params":{{"v":1}}}}"#),
        ("ready", _) => r#"{"method":"notifications/initialized"}"#.to_string(),
        ("cancel", Some(id)) => {
            format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        }
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
