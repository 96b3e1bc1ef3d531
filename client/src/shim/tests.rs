use expect_test::{Expect, expect};

use super::*;

/// Plays a script and prints the effect of each line: `c` from the client, `s` from the daemon,
/// `up`, `down`, and `no` if the daemon cannot be reached for a line.
fn check(script: &str, expected: Expect) {
    let mut shim = Shim::new("notes", &["core".to_string()], "test");
    let mut shown = String::new();
    for step in script.lines().map(str::trim).filter(|step| !step.is_empty()) {
        let (side, rest) = step.split_once(' ').unwrap_or((step, ""));
        let line = expand(rest);
        let kind = Kind::of(line.as_bytes());
        let text = |lines: Vec<Vec<u8>>| {
            let line = |line: &Vec<u8>| format!("\n    {}", brief(&String::from_utf8_lossy(line)));
            lines.iter().map(line).collect::<String>()
        };
        let outcome = match side {
            "c" => format!("{:?}", shim.on_client_line(&kind, line.as_bytes())),
            "s" => match shim.on_server_line(&kind) {
                Forward::Instead(other) => text(vec![other]),
                verdict => format!("{verdict:?}"),
            },
            "up" if rest.is_empty() => text(shim.on_connect(None)),
            "up" => text(shim.on_connect(Some(&kind))),
            "down" => text(shim.on_disconnect()),
            "no" => {
                text(shim.on_refusal(&kind, "no daemon\nhint: see the log").into_iter().collect())
            }
            other => panic!("no such step: {other}"),
        };
        shown.push_str(&format!("{step}: {outcome}\n"));
    }
    shown.push_str(&format!("waiting {}, opening {}\n", shim.is_waiting(), shim.is_opening()));
    expected.assert_eq(&shown);
}

/// Shortens an error by the parts that all our errors share.
fn brief(line: &str) -> String {
    line.replace(r#""jsonrpc":"2.0","#, "").split(r#","data":"#).collect::<Vec<_>>()[0].to_string()
}

/// Expands `init 0`, `ready`, `call 1`, `cancel 1`, `result 1`, `note` to messages.
fn expand(short: &str) -> String {
    let (word, id) = short.split_once(' ').unwrap_or((short, ""));
    match word {
        "init" => format!(r#"{{"id":{id},"method":"initialize"}}"#),
        "ready" => r#"{"method":"notifications/initialized"}"#.to_string(),
        "call" => format!(r#"{{"id":{id},"method":"tools/call"}}"#),
        "cancel" => {
            format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        }
        "result" => format!(r#"{{"id":{id},"result":{{}}}}"#),
        "list" => format!(r#"{{"id":{id},"method":"resources/list"}}"#),
        "watch" => {
            format!(
                r#"{{"id":{id},"method":"resources/subscribe","params":{{"uri":"memory://n{id}"}}}}"#
            )
        }
        "unwatch" => {
            format!(
                r#"{{"id":0,"method":"resources/unsubscribe","params":{{"uri":"memory://n{id}"}}}}"#
            )
        }
        "ours" => format!(r#"{{"id":"kg-mcp {id}","result":{{}}}}"#),
        "listen" => format!(r#"{{"id":{id},"method":"subscriptions/listen","params":{{}}}}"#),
        "note" => r#"{"method":"notifications/progress"}"#.to_string(),
        other => other.to_string(),
    }
}

#[test]
fn the_next_daemon_is_asked_to_tell_of_the_same_changes() {
    check(
        "up init 0
         c init 0
         s result 0
         c ready
         c list 1
         s result 1
         c watch 2
         s result 2
         c watch 3
         s result 3
         c unwatch 3
         s result 0
         down
         up call 4
         c call 4
         s result 0
         s ours 0
         s ours 1
         s result 4
         down
         up init 5
         c init 5
         s result 5
         c ready
         down
         up",
        expect![[r#"
            up init 0: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c init 0: Pass
            s result 0: Pass
            c ready: Pass
            c list 1: Pass
            s result 1: Pass
            c watch 2: Pass
            s result 2: Pass
            c watch 3: Pass
            s result 3: Pass
            c unwatch 3: Pass
            s result 0: Pass
            down: 
            up call 4: 
                {"kgd":1,"tools":["core"],"client":"test"}
                {"id":0,"method":"initialize"}
                {"method":"notifications/initialized"}
                {"id":"kg-mcp 0","method":"resources/list","params":{}}
                {"id":"kg-mcp 1","method":"resources/subscribe","params":{"uri":"memory://n2"}}
            c call 4: Pass
            s result 0: Swallow
            s ours 0: 
                {"method":"notifications/resources/list_changed","params":{}}
            s ours 1: 
                {"method":"notifications/resources/updated","params":{"uri":"memory://n2"}}
            s result 4: Pass
            down: 
            up init 5: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c init 5: Pass
            s result 5: Pass
            c ready: Pass
            down: 
            up: 
                {"kgd":1,"tools":["core"],"client":"test"}
                {"id":5,"method":"initialize"}
                {"method":"notifications/initialized"}
            waiting false, opening false
        "#]],
    );
}

#[test]
fn nobody_waits_for_the_end_of_a_subscription() {
    check(
        "up listen 1
         c listen 1
         s note
         c call 2
         s result 2",
        expect![[r#"
            up listen 1: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c listen 1: Pass
            s note: Pass
            c call 2: Pass
            s result 2: Pass
            waiting false, opening false
        "#]],
    );
    check(
        "up listen 1\n c listen 1\n down",
        expect![[r#"
        up listen 1: 
            {"kgd":1,"tools":["core"],"client":"test"}
        c listen 1: Pass
        down: 
            {"id":1,"error":{"code":-32000,"message":"daemon restarted"
        waiting false, opening false
    "#]],
    );
    check(
        "up listen 1\n c listen 1\n c call 2\n c cancel 1",
        expect![[r#"
        up listen 1: 
            {"kgd":1,"tools":["core"],"client":"test"}
        c listen 1: Pass
        c call 2: Pass
        c cancel 1: Pass
        waiting true, opening false
    "#]],
    );
}

#[test]
fn a_quiet_session_passes_everything() {
    check(
        "up init 0
         c init 0
         s result 0
         c ready
         c call 1
         s note
         s result 1
         c garbage",
        expect![[r#"
            up init 0: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c init 0: Pass
            s result 0: Pass
            c ready: Pass
            c call 1: Pass
            s note: Pass
            s result 1: Pass
            c garbage: Pass
            waiting false, opening false
        "#]],
    );
}

#[test]
fn a_restart_answers_what_was_in_flight_and_replays_the_handshake() {
    check(
        r#"up init 0
         c init 0
         s result 0
         c ready
         c call 1
         c call "two"
         c call 3
         s result 3
         c cancel 1
         c call 4
         down
         up call 5
         c call 5
         s result 0
         s result 5
         down
         up
         s note
         s result 0"#,
        expect![[r#"
            up init 0: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c init 0: Pass
            s result 0: Pass
            c ready: Pass
            c call 1: Pass
            c call "two": Pass
            c call 3: Pass
            s result 3: Pass
            c cancel 1: Pass
            c call 4: Pass
            down: 
                {"id":"two","error":{"code":-32000,"message":"daemon restarted"
                {"id":4,"error":{"code":-32000,"message":"daemon restarted"
            up call 5: 
                {"kgd":1,"tools":["core"],"client":"test"}
                {"id":0,"method":"initialize"}
                {"method":"notifications/initialized"}
            c call 5: Pass
            s result 0: Swallow
            s result 5: Pass
            down: 
            up: 
                {"kgd":1,"tools":["core"],"client":"test"}
                {"id":0,"method":"initialize"}
                {"method":"notifications/initialized"}
            s note: Pass
            s result 0: Swallow
            waiting false, opening false
        "#]],
    );
}

#[test]
fn a_handshake_in_flight_is_replayed_and_its_answer_passes() {
    check(
        "up init 0
         c init 0
         down
         up
         s result 0
         c ready
         down
         up
         s result 0",
        expect![[r#"
            up init 0: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c init 0: Pass
            down: 
            up: 
                {"kgd":1,"tools":["core"],"client":"test"}
                {"id":0,"method":"initialize"}
            s result 0: Pass
            c ready: Pass
            down: 
            up: 
                {"kgd":1,"tools":["core"],"client":"test"}
                {"id":0,"method":"initialize"}
                {"method":"notifications/initialized"}
            s result 0: Swallow
            waiting false, opening false
        "#]],
    );
}

#[test]
fn a_client_that_starts_over_voids_its_first_handshake() {
    check(
        "up init 0
         c init 0
         s result 0
         c ready
         down
         up init 7
         c init 7
         s result 7",
        expect![[r#"
            up init 0: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c init 0: Pass
            s result 0: Pass
            c ready: Pass
            down: 
            up init 7: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c init 7: Pass
            s result 7: Pass
            waiting false, opening false
        "#]],
    );
}

#[test]
fn answers_to_a_daemon_that_is_gone_are_dropped() {
    check(
        "up call 1
         s call 9
         s call 10
         c result 9
         down
         up
         c result 10
         c result 9",
        expect![[r#"
            up call 1: 
                {"kgd":1,"tools":["core"],"client":"test"}
            s call 9: Pass
            s call 10: Pass
            c result 9: Pass
            down: 
            up: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c result 10: Swallow
            c result 9: Swallow
            waiting false, opening false
        "#]],
    );
}

#[test]
fn without_a_daemon_requests_are_refused_and_the_rest_is_silent() {
    check(
        "no init 0
         no call 1
         no garbage
         no ready
         no note
         no cancel 1
         c ready
         c note",
        expect![[r#"
            no init 0: 
                {"id":0,"error":{"code":-32000,"message":"no daemon"
            no call 1: 
                {"id":1,"error":{"code":-32000,"message":"no daemon"
            no garbage: 
                {"id":null,"error":{"code":-32000,"message":"no daemon"
            no ready: 
            no note: 
            no cancel 1: 
            c ready: Swallow
            c note: Swallow
            waiting false, opening false
        "#]],
    );
}

#[test]
fn ids_come_back_as_they_went() {
    check(
        r#"up call 1
         c call "a\"b"
         c call 9007199254740993
         c call -1
         down"#,
        expect![[r#"
            up call 1: 
                {"kgd":1,"tools":["core"],"client":"test"}
            c call "a\"b": Pass
            c call 9007199254740993: Pass
            c call -1: Pass
            down: 
                {"id":"a\"b","error":{"code":-32000,"message":"daemon restarted"
                {"id":-1,"error":{"code":-32000,"message":"daemon restarted"
                {"id":9007199254740993,"error":{"code":-32000,"message":"daemon restarted"
            waiting false, opening false
        "#]],
    );
}

#[test]
fn an_agent_gets_no_tools_of_kgctl() {
    let sets = ["core", "admin"].map(String::from);
    let first = Shim::new("notes", &sets, "test").on_connect(None).remove(0);
    assert!(String::from_utf8_lossy(&first).contains(r#""tools":["core"]"#));
}
