//! Bad requests: clients that send garbage, too much or too little, or that never read, and tool
//! calls with invalid arguments. Each gets an error that says what to do, and the daemon goes on.

use expect_test::expect;
use serde_json::{Value, json};
use tests::{Client, TestProject};

use crate::bad_input::{BYSTANDER, bystander_is_found, text_of};

#[test]
fn a_client_that_sends_garbage() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let mut client = Client::connect(&project.paths().socket).expect("it listens");
    client
        .send_bytes(
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n\xff\xfe\0garbage\n{\"jsonrpc\":\"2.0\"}\n[]\n",
        )
        .expect("it reads");
    client.finish_sending();
    let mut out = String::new();
    while let Some(message) = client.next_message() {
        out += &format!("{} {}\n", message["error"]["code"], text_of(&message["error"]["message"]));
    }
    expect![[r#"
        -32700 not JSON: expected value at line 1 column 1
        -32700 not JSON: expected value at line 1 column 1
        -32700 not JSON: expected value at line 1 column 1
        -32600 this is JSON, but not a JSON-RPC 2.0 message
        -32600 a batch holds 1 to 64 messages, not 0
    "#]]
    .assert_eq(&out);
    bystander_is_found(&mut project);
}

#[test]
fn a_client_that_sends_half_a_line() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let mut client = Client::connect(&project.paths().socket).expect("it listens");
    client.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"").expect("it reads");
    bystander_is_found(&mut project);
    client.finish_sending();
    assert_eq!(client.next_message(), None);
    bystander_is_found(&mut project);
}

#[test]
fn a_hundred_megabytes_without_a_line_end() {
    const MIB: usize = 1 << 20;
    let mut project = TestProject::of(&[BYSTANDER]);
    bystander_is_found(&mut project);
    let before = project.resident_bytes();
    let mut client = project.agent();
    let block = vec![b'x'; MIB];
    for _ in 0..100 {
        client.send_bytes(&block).expect("it reads");
    }
    let grown = project.resident_bytes().saturating_sub(before);
    assert!(grown < 20 * MIB as u64, "{} MiB more", grown / MIB as u64);
    client.send_bytes(b"\n").expect("it reads");
    let answer = client.next_message().expect("it tells");
    expect!["-32600 the line is too long: at most 1 MiB a message"].assert_eq(&format!(
        "{} {}",
        answer["error"]["code"],
        text_of(&answer["error"]["message"])
    ));
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}), "the session goes on");
    bystander_is_found(&mut project);
}

#[test]
fn a_client_that_never_reads() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let before = project.resident_bytes();
    let mut deaf = Client::admin(&project.paths().socket);
    for _ in 0..60 {
        deaf.request("tools/list", json!({}));
        deaf.request("tools/call", json!({"name": "dump", "arguments": {}}));
    }
    for _ in 0..20 {
        bystander_is_found(&mut project);
    }
    project.write("late.md", "# Late\n\nA late owl.\n");
    project.settle();
    assert_eq!(project.found("late owl")[0], "late.md");
    let grown = project.resident_bytes().saturating_sub(before);
    assert!(grown < 20 << 20, "{} MiB more", grown >> 20);
}

/// Returns one refused call: code, message, hint.
fn refused(project: &mut TestProject, tool: &str, arguments: Value) -> String {
    let root = project.root().display().to_string();
    let error = project.try_call(tool, arguments.clone()).expect_err("refused");
    let shown = format!(
        "{tool} {arguments}\n  {}: {}\n  hint: {}\n",
        text_of(&error["code"]),
        text_of(&error["message"]).replace('\n', "\n  "),
        text_of(&error["hint"])
    );
    shown.replace(&root, "ROOT")
}

#[test]
fn requests_that_cannot_be_meant() {
    let mut project = TestProject::of(&[BYSTANDER]);
    let mut out = String::new();
    for (tool, arguments) in [
        ("hybrid_search", json!({"q": "x"})),
        ("hybrid_query", json!({})),
        ("hybrid_query", json!({"q": "x", "limits": 3})),
        ("hybrid_query", json!({"q": "x", "k": 0})),
        ("hybrid_query", json!({"q": "x", "k": 101})),
        ("hybrid_query", json!({"q": "x", "k": -1})),
        ("hybrid_query", json!({"q": "x", "hops": 5})),
        ("hybrid_query", json!({"q": "x", "after": "someday"})),
        ("hybrid_query", json!({"q": "x", "formula": "best"})),
        ("hybrid_query", json!({"q": "x", "max_chars": 10})),
        ("hybrid_query", json!({"q": ""})),
        ("hybrid_query", json!({"q": "x".repeat(1001)})),
        ("entity_lookup", json!({"q": "x", "limit": 0})),
        ("explain_entity", json!({})),
        ("explain_entity", json!({"name": "Nobody Knows"})),
        ("explain_entity", json!({"entity_id": 9_000_000})),
        ("explain_entity", json!({"name": "Bystander", "hops": 9})),
        ("graph", json!({"hops": 2})),
        ("graph", json!({"name": "Bystander", "hops": 5})),
        ("graph", json!({"name": "Bystander", "limit": 0})),
        ("graph", json!({"name": "Bystander", "rels": ["likes"]})),
        ("ingest_docs", json!({"paths": []})),
        ("ingest_docs", json!({"paths": ["../outside.md"]})),
        ("ingest_docs", json!({"paths": ["/etc/passwd"]})),
        ("ingest_docs", json!({"paths": ["a[.md"]})),
        ("extract_and_link", json!({"doc_ids": [9_000_000]})),
        ("review_links", json!({"accept": ["link:nobody>nothing"]})),
        ("review_links", json!({"below": 2.0})),
        ("dump", json!({"cursor": "nonsense"})),
        ("dump", json!({"limit": 0})),
        ("wait", json!({"timeout_ms": 600_001})),
        ("verify", json!({"limit": 1_001})),
        ("rescan", json!({"full": "yes"})),
        ("retry", json!({"paths": ["bystander.md"]})),
        ("retry", json!({"paths": ["../outside.md"]})),
        ("backup", json!({"path": "relative.sqlite"})),
        ("backup", json!({"path": "/no-such-folder/copy.sqlite"})),
        ("backup", json!({"path": "/dev/null", "force": true})),
    ] {
        let long = refused(&mut project, tool, arguments);
        out += &long.replace(&"x".repeat(1001), "x…");
    }
    expect![[r#"
        hybrid_search {"q":"x"}
          -32602: no tool is called `hybrid_search`
          hint: this session has `hybrid_query`, `ask`, `read_passage`, `entity_lookup`, `explain_entity`, `connect`, `remember`, `changes`, `ingest_docs`, `extract_and_link`, `review_links`, `status`, `search`, `search_notes`, `read_note`, `view_note`, `read_content`, `fetch`, `write_note`, `edit_note`, `move_note`, `delete_note`, `note_history`, `restore_note`, `build_context`, `backlinks`, `list_directory`, `list_notes`, `recent_activity`, `schema_infer`, `schema_validate`, `schema_diff`, `list_memory_projects`, `get_mcp_instructions`, `create_entities`, `delete_entities`, `open_nodes`, `get_nodes_by_type`, `get_recently_modified`, `set_summary`, `set_tags`, `add_observations`, `replace_observation`, `delete_observations`, `query_observations`, `create_relations`, `delete_relations`, `update_relation_type`, `get_relations_between`, `get_neighborhood`, `get_path`, `get_orphans`, `get_relation_gaps`, `find_similar_nodes`, `search_nodes`, `get_consolidation_report`, `get_pending_consolidation`, `get_stats`, `read_graph`, `kb_store`, `kb_store_batch`, `kb_search`, `kb_get`, `kb_ask`, `kb_summarize`, `kb_ingest`, `kb_maintain`, `graph`, `open_page`, `render_document`, `entity_decisions`, `dump`, `broken_links`, `memory_report`, `wait`, `verify`, `rescan`, `retry`, `deep_pass`, `checkup`, `backup`, `forget`, `reload`, `shutdown`
          hint: null
        hybrid_query {}
          invalid_params: `hybrid_query` needs the parameter `q`
          hint: it takes `q` (required), `k`, `hops`, `rels`, `path`, `tags`, `type`, `security`, `language`, `after`, `before`, `entity`, `max_chars`, `max_tokens`, `cursor`, `formula`
        hybrid_query {"q":"x","limits":3}
          invalid_params: `hybrid_query` has no parameter `limits`; did you mean `limit`?
          hint: it takes `q` (required), `k`, `hops`, `rels`, `path`, `tags`, `type`, `security`, `language`, `after`, `before`, `entity`, `max_chars`, `max_tokens`, `cursor`, `formula`
        hybrid_query {"q":"x","k":0}
          invalid_params: `k` is 0
          hint: give a number from 1 to 100
        hybrid_query {"q":"x","k":101}
          invalid_params: `k` is 101
          hint: give a number from 1 to 100
        hybrid_query {"q":"x","k":-1}
          invalid_params: parameter `k` of `hybrid_query`: invalid value: integer `-1`, expected u32
          hint: it takes `q` (required), `k`, `hops`, `rels`, `path`, `tags`, `type`, `security`, `language`, `after`, `before`, `entity`, `max_chars`, `max_tokens`, `cursor`, `formula`
        hybrid_query {"q":"x","hops":5}
          invalid_params: `hops` is 5
          hint: give a number from 0 to 4
        hybrid_query {"q":"x","after":"someday"}
          invalid_params: `after` is `someday`
          hint: give a day as YYYY-MM-DD
        hybrid_query {"q":"x","formula":"best"}
          invalid_params: no formula `best`
          hint: use hybrid, rrf, minmax, s0, s4, text or vector
        hybrid_query {"q":"x","max_chars":10}
          invalid_params: `max_chars` is 10
          hint: give a number from 200 to 100000
        hybrid_query {"q":""}
          invalid_params: `q` has 0 characters
          hint: give a question or keywords of 1 to 1,000 characters
        hybrid_query {"q":"x…"}
          invalid_params: `q` has 1001 characters
          hint: give a question or keywords of 1 to 1,000 characters
        entity_lookup {"q":"x","limit":0}
          invalid_params: `limit` is 0
          hint: give a number from 1 to 100
        explain_entity {}
          invalid_params: both or neither of `entity_id` and `name` were given
          hint: give exactly one of them
        explain_entity {"name":"Nobody Knows"}
          not_found: no entity is called `Nobody Knows`
          hint: find it with `entity_lookup` or `hybrid_query`
        explain_entity {"entity_id":9000000}
          not_found: no entity is called `entity 9000000`
          hint: find it with `entity_lookup` or `hybrid_query`
        explain_entity {"name":"Bystander","hops":9}
          invalid_params: `hops` is 9, `limit` is 20
          hint: give 1 to 4 hops and a limit of 1 to 200
        graph {"hops":2}
          invalid_params: `hops` without an entity
          hint: give `name` or `entity_id`, too
        graph {"name":"Bystander","hops":5}
          invalid_params: `hops` is 5, `limit` is 300
          hint: give 1 to 4 hops and a limit of 1 to 5000
        graph {"name":"Bystander","limit":0}
          invalid_params: `hops` is 2, `limit` is 0
          hint: give 1 to 4 hops and a limit of 1 to 5000
        graph {"name":"Bystander","rels":["likes"]}
          invalid_params: no relation `likes`
          hint: use some of awarded, based_in, born_in, born_on, capital_of, cites, citizen_of, comes_from, configures, created_by, date_of, defines, depends_on, died_in, died_on, documented_in, founded_by, has_language, implements, is_a, led_by, lives_in, located_in, member_of, owned_by, parent_of, part_of, participates_in, performed_by, precedes, produces, provides, published_by, refers_to, related_to, replaces, runs_on, same_as, sibling_of, spouse_of, stores, studied_at, supports, uses, works_for, links_to
        ingest_docs {"paths":[]}
          invalid_params: `paths` is empty
          hint: name files, folders or globs inside the project
        ingest_docs {"paths":["../outside.md"]}
          outside_project: `../outside.md` leads out of the project
          hint: give paths inside `ROOT`
        ingest_docs {"paths":["/etc/passwd"]}
          outside_project: `/etc/passwd` leads out of the project
          hint: give paths inside `ROOT`
        ingest_docs {"paths":["a[.md"]}
          invalid_params: `a[.md` is not a glob: unclosed character class; missing ']'
          hint: use * ** ? [a-z] {a,b}
        extract_and_link {"doc_ids":[9000000]}
          not_found: no document 9000000
          hint: take `doc_id` from a hybrid_query hit of this index
        review_links {"accept":["link:nobody>nothing"]}
          invalid_params: no item `link:nobody>nothing`
          hint: use a key that review_links listed
        review_links {"below":2.0}
          invalid_params: `below` is 2, `limit` is 20
          hint: give `below` from 0 to 1 and a limit of 1 to 100
        dump {"cursor":"nonsense"}
          invalid_params: no cursor `nonsense`
          hint: give back what the last page said
        dump {"limit":0}
          invalid_params: `limit` is 0
          hint: give a number from 1 to 5000
        wait {"timeout_ms":600001}
          invalid_params: `timeout_ms` is 600001
          hint: give at most 600000
        verify {"limit":1001}
          invalid_params: `limit` is 1001
          hint: give a number from 0 to 1000
        rescan {"full":"yes"}
          invalid_params: parameter `full` of `rescan`: invalid type: string "yes", expected a boolean
          hint: it takes `full`
        retry {"paths":["bystander.md"]}
          not_found: nothing failed at `bystander.md`
          hint: `kgctl doctor --project ROOT` lists what failed; `kgctl ingest PATH --force --project ROOT` indexes any file anew
        retry {"paths":["../outside.md"]}
          outside_project: `../outside.md` leads out of the project
          hint: give paths inside `ROOT`
        backup {"path":"relative.sqlite"}
          invalid_params: `relative.sqlite` is not an absolute path
          hint: begin it with `/`
        backup {"path":"/no-such-folder/copy.sqlite"}
          invalid_params: cannot write `/no-such-folder/copy.sqlite`: No such file or directory (os error 2)
          hint: give a file in a folder that exists and can be written
        backup {"path":"/dev/null","force":true}
          invalid_params: cannot write `/dev/null`: not a regular file
          hint: give a file in a folder that exists and can be written
    "#]].assert_eq(&out);
    bystander_is_found(&mut project);
}

#[test]
fn a_file_to_ingest_that_is_not_there_or_not_read() {
    let mut project = TestProject::of(&[BYSTANDER]);
    project.write("blob.md", b"\0\x01\x02".repeat(1000));
    project.settle();
    let paths = ["bystander.md", "missing.md", "*.rst", "blob.md"];
    let mut reply = project.call("ingest_docs", json!({"paths": paths, "skip_if_seen": false}));
    reply["tick"] = json!(0);
    // Present while the last file is still counted on the belt.
    reply.as_object_mut().expect("an object").remove("building");
    expect![[r#"
        {
          "ingested": 1,
          "skipped": 0,
          "errors": [
            {
              "path": "missing.md",
              "stage": "watch",
              "reason": "no such file; hint: paths are relative to the project's folder"
            },
            {
              "path": "*.rst",
              "stage": "watch",
              "reason": "no file matches this glob"
            },
            {
              "path": "blob.md",
              "stage": "normalize",
              "reason": "binary content in a text file; hint: rename it or list it in `.kgignore`"
            }
          ],
          "project": "notes",
          "tick": 0
        }"#]]
    .assert_eq(&format!("{reply:#}"));
}
