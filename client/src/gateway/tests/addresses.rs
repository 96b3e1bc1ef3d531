//! Tests the resolution of addresses of notes, as conversations.

use expect_test::expect;

use super::check_open;

#[test]
fn the_address_of_a_note_without_a_project_is_that_of_whoever_has_it() {
    let has = |project: &str| {
        format!(
            r#"result {{"content":[{{"type":"text","text":"X\nmemory://x\n"}}],"structuredContent":{{"permalink":"x","project":"{project}"}}}}"#
        )
    };
    let lacks = |near: &str| {
        format!(
            r#"result {{"isError":true,"structuredContent":{{"code":"not_found","message":"no `x`","hint":"near: {near}"}}}}"#
        )
    };
    check_open(
        &format!(
            r#"c call 1 read_note {{"path":"memory://x"}}
               a 12 {}
               b 14 {}
               c' 16 {}
               c call 2 read_note {{"path":"memory://x"}}
               a 19 {}
               b 21 {}
               c' 23 {}
               c call 3 read_note {{"path":"memory://x"}}
               a 26 {}
               b 28 {}
               c' 30 error ill
               c call 4 read_note {{"path":"memory://x"}}
               a 33 {}
               b 35 {}
               +10
               c call 5 edit_note {{"path":"memory://x"}}"#,
            lacks("y"),
            has("b"),
            lacks("z"),
            has("a"),
            has("b"),
            lacks("z"),
            lacks("y"),
            lacks("z"),
            lacks("y"),
            has("b"),
        ),
        expect![[r#"
            c call 1 read_note {"path":"memory://x"}
                a < {"id":12,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                b < {"id":14,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                c < {"id":16,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            a 12 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`","hint":"near:
            b 14 result {"content":[{"type":"text","text":"X\nmemory://x\n"}],"structuredContent":{"permalink":"
            c' 16 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`","hint":"near
                client < {"id":1,"result":{"content":[{"type":"text","text":"X\nmemory://b/x\n"}],"structuredContent":{"permalink":"x","project":"b"}}}
            c call 2 read_note {"path":"memory://x"}
                a < {"id":19,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                b < {"id":21,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                c < {"id":23,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            a 19 result {"content":[{"type":"text","text":"X\nmemory://x\n"}],"structuredContent":{"permalink":"
            b 21 result {"content":[{"type":"text","text":"X\nmemory://x\n"}],"structuredContent":{"permalink":"
            c' 23 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`","hint":"near
                client < {"id":2,"result":{"content":[{"type":"text","text":"2 projects have a note `memory://x`\nhint: use `project`, or one of `memory://a/x`, `memory://b/x`"}],"structuredContent":{"code":"ambiguous","message":"2 projects have a note `memory://x`","hint":"use `project`, or one of `memory://a/x`, `memory://b/x`"},"isError":true}}
            c call 3 read_note {"path":"memory://x"}
                a < {"id":26,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                b < {"id":28,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                c < {"id":30,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            a 26 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`","hint":"near:
            b 28 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`","hint":"near:
            c' 30 error ill
                client < {"id":3,"result":{"content":[{"type":"text","text":"no project that answers has a note `memory://x`\nhint: a: near: y; b: near: z"}],"structuredContent":{"code":"unavailable","message":"no project that answers has a note `memory://x`","hint":"a: near: y; b: near: z","unavailable":[{"project":"c","code":"unavailable","message":"ill"}]},"isError":true}}
            c call 4 read_note {"path":"memory://x"}
                a < {"id":33,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                b < {"id":35,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
                c < {"id":37,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            a 33 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`","hint":"near:
            b 35 result {"content":[{"type":"text","text":"X\nmemory://x\n"}],"structuredContent":{"permalink":"
            +10
                c < {"method":"notifications/cancelled","params":{"requestId":37}}
                client < {"id":4,"result":{"content":[{"type":"text","text":"X\nmemory://b/x\n\n(c is not in this: no answer within 10 s; ask again, or name the `project` to wait for it)"}],"structuredContent":{"permalink":"x","project":"b","unavailable":[{"project":"c","code":"deadline_exceeded","message":"no answer within 10 s","hint":"ask again, or name the `project` to wait for it"}]}}}
            c call 5 edit_note {"path":"memory://x"}
                client < {"id":5,"result":{"content":[{"type":"text","text":"the address `memory://x` names no served project\nhint: use `project`, or an address `memory://PROJECT/…`, of `a`, `b`, `c`"}],"structuredContent":{"code":"ambiguous","message":"the address `memory://x` names no served project","hint":"use `project`, or an address `memory://PROJECT/…`, of `a`, `b`, `c`"},"isError":true}}
            waiting false
        "#]],
    );
}

#[test]
fn an_address_may_name_the_project_that_is_named_beside_it() {
    let lacks = r#"{"isError":true,"structuredContent":{"code":"not_found","message":"no `x`"}}"#;
    let found = |path: &str| format!(r#"{{"structuredContent":{{"path":"{path}"}}}}"#);
    let (short, whole) = (found("x.md"), found("b/x.md"));
    // A change looks the note up first. Cases: neither reading exists, both do, and each alone.
    let writes = format!(
        r#"c call 1 edit_note {{"path":"memory://b/x","project":"b"}}
           b 12 result {short}
           b 14 result {lacks}
           b 16 result {short}
           c call 2 edit_note {{"path":"memory://b/x","project":"b"}}
           b 19 result {lacks}
           b 21 result {whole}
           b 23 result {whole}
           c call 3 edit_note {{"path":"memory://b/x","project":"b"}}
           b 26 result {short}
           b 28 result {whole}
           c call 4 edit_note {{"path":"memory://b/x","project":"b"}}
           b 31 result {lacks}
           b 33 result {lacks}
           b 35 result {lacks}"#
    );
    check_open(
        &writes,
        expect![[r#"
            c call 1 edit_note {"path":"memory://b/x","project":"b"}
                b < {"id":12,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            b 12 result {"structuredContent":{"path":"x.md"}}
                b < {"id":14,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://b/x"}}}
            b 14 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`"}}
                b < {"id":16,"method":"tools/call","params":{"name":"edit_note","arguments":{"path":"memory://x"}}}
            b 16 result {"structuredContent":{"path":"x.md"}}
                client < {"id":1,"result":{"structuredContent":{"path":"x.md"}}}
            c call 2 edit_note {"path":"memory://b/x","project":"b"}
                b < {"id":19,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            b 19 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`"}}
                b < {"id":21,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://b/x"}}}
            b 21 result {"structuredContent":{"path":"b/x.md"}}
                b < {"id":23,"method":"tools/call","params":{"name":"edit_note","arguments":{"path":"memory://b/x"}}}
            b 23 result {"structuredContent":{"path":"b/x.md"}}
                client < {"id":2,"result":{"structuredContent":{"path":"b/x.md"}}}
            c call 3 edit_note {"path":"memory://b/x","project":"b"}
                b < {"id":26,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            b 26 result {"structuredContent":{"path":"x.md"}}
                b < {"id":28,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://b/x"}}}
            b 28 result {"structuredContent":{"path":"b/x.md"}}
                client < {"id":3,"result":{"content":[{"type":"text","text":"`memory://b/x` is the address of two notes: `x` and `b/x`\nhint: use `memory://x` or `memory://b/b/x`, or the path of the file\n(b)"}],"structuredContent":{"code":"ambiguous","message":"`memory://b/x` is the address of two notes: `x` and `b/x`","hint":"use `memory://x` or `memory://b/b/x`, or the path of the file","project":"b"},"isError":true}}
            c call 4 edit_note {"path":"memory://b/x","project":"b"}
                b < {"id":31,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            b 31 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`"}}
                b < {"id":33,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://b/x"}}}
            b 33 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`"}}
                b < {"id":35,"method":"tools/call","params":{"name":"edit_note","arguments":{"path":"memory://b/x"}}}
            b 35 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`"}}
                client < {"id":4,"result":{"isError":true,"structuredContent":{"code":"not_found","message":"no `x`","project":"b"}}}
            waiting false
        "#]],
    );
    // Both names may lead to one note.
    let reads = format!(
        r#"c call 1 read_note {{"path":"memory://b/x","project":"b"}}
           b 12 result {short}
           b 14 result {short}
           c call 2 read_note {{"path":"memory://b/x","project":"b"}}
           b 17 result {short}
           b 19 result {whole}
           c call 3 read_note {{"path":"memory://b/x","project":"b"}}
           b 22 result {lacks}
           b 24 result {whole}"#
    );
    check_open(
        &reads,
        expect![[r#"
            c call 1 read_note {"path":"memory://b/x","project":"b"}
                b < {"id":12,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            b 12 result {"structuredContent":{"path":"x.md"}}
                b < {"id":14,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://b/x"}}}
            b 14 result {"structuredContent":{"path":"x.md"}}
                client < {"id":1,"result":{"structuredContent":{"path":"x.md"}}}
            c call 2 read_note {"path":"memory://b/x","project":"b"}
                b < {"id":17,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            b 17 result {"structuredContent":{"path":"x.md"}}
                b < {"id":19,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://b/x"}}}
            b 19 result {"structuredContent":{"path":"b/x.md"}}
                client < {"id":2,"result":{"content":[{"type":"text","text":"`memory://b/x` is the address of two notes: `x` and `b/x`\nhint: use `memory://x` or `memory://b/b/x`, or the path of the file\n(b)"}],"structuredContent":{"code":"ambiguous","message":"`memory://b/x` is the address of two notes: `x` and `b/x`","hint":"use `memory://x` or `memory://b/b/x`, or the path of the file","project":"b"},"isError":true}}
            c call 3 read_note {"path":"memory://b/x","project":"b"}
                b < {"id":22,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://x"}}}
            b 22 result {"isError":true,"structuredContent":{"code":"not_found","message":"no `x`"}}
                b < {"id":24,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"memory://b/x"}}}
            b 24 result {"structuredContent":{"path":"b/x.md"}}
                client < {"id":3,"result":{"structuredContent":{"path":"b/x.md"}}}
            waiting false
        "#]],
    );
}

#[test]
fn a_resource_without_a_project_is_read_and_watched_where_it_is() {
    let read = |id: u32, uri: &str| {
        format!(r#"c {{"id":{id},"method":"resources/read","params":{{"uri":"{uri}"}}}}"#)
    };
    let watch = |id: u32| {
        format!(r#"c {{"id":{id},"method":"resources/subscribe","params":{{"uri":"memory://x"}}}}"#)
    };
    let lacks = r#"{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}"#;
    let lacks = |id: u32| format!(r#"{{"id":{id},"error":{lacks}}}"#);
    let has = r#"result {"contents":[{"uri":"memory://x","text":"X"}]}"#;
    check_open(
        &[
            read(1, "memory://x"),
            format!("a {}", lacks(12)),
            format!("b 14 {has}"),
            format!("c' {}", lacks(16)),
            read(2, "memory://x"),
            format!("a 19 {has}"),
            format!("b 21 {has}"),
            format!("c' {}", lacks(23)),
            watch(3),
            format!("a {}", lacks(26)),
            format!("b 28 {has}"),
            format!("c' {}", lacks(30)),
            "b 32 result {}".to_string(),
            watch(4),
            format!("a {}", lacks(35)),
            format!("b {}", lacks(37)),
            format!("c' {}", lacks(39)),
        ]
        .join("\n"),
        expect![[r#"
            c {"id":1,"method":"resources/read","params":{"uri":"memory://x"}}
                a < {"id":12,"method":"resources/read","params":{"uri":"memory://x"}}
                b < {"id":14,"method":"resources/read","params":{"uri":"memory://x"}}
                c < {"id":16,"method":"resources/read","params":{"uri":"memory://x"}}
            a {"id":12,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
            b 14 result {"contents":[{"uri":"memory://x","text":"X"}]}
            c' {"id":16,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
                client < {"id":1,"result":{"contents":[{"uri":"memory://b/x","text":"X"}]}}
            c {"id":2,"method":"resources/read","params":{"uri":"memory://x"}}
                a < {"id":19,"method":"resources/read","params":{"uri":"memory://x"}}
                b < {"id":21,"method":"resources/read","params":{"uri":"memory://x"}}
                c < {"id":23,"method":"resources/read","params":{"uri":"memory://x"}}
            a 19 result {"contents":[{"uri":"memory://x","text":"X"}]}
            b 21 result {"contents":[{"uri":"memory://x","text":"X"}]}
            c' {"id":23,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
                client < {"id":2,"error":{"code":-32002,"message":"2 projects have a note `memory://x`","data":{"code":"ambiguous","hint":"use one of `memory://a/x`, `memory://b/x`"}}}
            c {"id":3,"method":"resources/subscribe","params":{"uri":"memory://x"}}
                a < {"id":26,"method":"resources/read","params":{"uri":"memory://x"}}
                b < {"id":28,"method":"resources/read","params":{"uri":"memory://x"}}
                c < {"id":30,"method":"resources/read","params":{"uri":"memory://x"}}
            a {"id":26,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
            b 28 result {"contents":[{"uri":"memory://x","text":"X"}]}
            c' {"id":30,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
                b < {"id":32,"method":"resources/subscribe","params":{"uri":"memory://x"}}
            b 32 result {}
                client < {"id":3,"result":{}}
            c {"id":4,"method":"resources/subscribe","params":{"uri":"memory://x"}}
                a < {"id":35,"method":"resources/read","params":{"uri":"memory://x"}}
                b < {"id":37,"method":"resources/read","params":{"uri":"memory://x"}}
                c < {"id":39,"method":"resources/read","params":{"uri":"memory://x"}}
            a {"id":35,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
            b {"id":37,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
            c' {"id":39,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"y"}}}
                client < {"id":4,"error":{"code":-32002,"message":"no `x`","data":{"code":"not_found","hint":"addresses here are `memory://PROJECT/…`, of `a`, `b`, `c`"}}}
            waiting false
        "#]],
    );
}
