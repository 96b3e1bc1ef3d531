use std::io::Write;

use rawzip::ZipArchiveWriter;
use serde_json::json;

use super::*;

fn sink(dir: &tempfile::TempDir) -> NoteSink {
    NoteSink::open(&dir.path().join("notes")).expect("opened")
}

fn run(dir: &tempfile::TempDir, source: &Source, format: Format) -> Report {
    let mut report = Report::default();
    import(source, format, &mut sink(dir), false, &mut report).expect("imported");
    report
}

fn notes_in(dir: &tempfile::TempDir) -> Vec<(String, String)> {
    let mut sink = sink(dir);
    let names = sink.names(FOLDER).expect("names");
    let read = |name: &String| sink.read(FOLDER, name).expect("read").expect("a text");
    let texts: Vec<String> = names.iter().map(read).collect();
    names.into_iter().zip(texts).collect()
}

fn message(role: &str, parts: Value) -> Value {
    json!({"author": {"role": role}, "create_time": 1_709_296_245.5,
        "content": {"content_type": "text", "parts": parts}})
}

fn chatgpt() -> Value {
    json!([{
        "title": "Rust: # of threads?", "create_time": 1_709_296_200, "update_time": 1_709_296_300,
        "conversation_id": "abc-123", "current_node": "a2",
        "mapping": {
            "root": {"parent": null, "children": ["s"], "message": null},
            "s": {"parent": "root", "children": ["u1", "u2"], "message": message("system", json!([""]))},
            "u1": {"parent": "s", "children": [], "message": message("user", json!(["an older question"]))},
            "u2": {"parent": "s", "children": ["t"], "message": {
                "author": {"role": "user"}, "create_time": 1_709_296_245.5,
                "content": {"content_type": "multimodal_text", "parts": ["How many?",
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-xyz"}]},
                "metadata": {"attachments": [{"name": "notes [v1].pdf"}]}}},
            "t": {"parent": "u2", "children": ["c"], "message": {"author": {"role": "assistant"},
                "content": {"content_type": "thoughts", "thoughts": []}}},
            "c": {"parent": "t", "children": ["a2"], "message": {"author": {"role": "assistant"},
                "recipient": "python", "content": {"content_type": "code", "language": "python", "text": "print(4)\n# done"}}},
            "a2": {"parent": "c", "children": [], "message": message("assistant",
                json!(["# Answer\n\nUse four:\n\n```rust\n// ## no heading\nspawn();\n```\n\n## More\ntext"]))}
        }
    }])
}

#[test]
fn a_conversation_of_chatgpt_is_a_note_with_a_section_for_each_turn() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("conversations.json");
    std::fs::write(&file, chatgpt().to_string()).expect("written");
    let report = run(&dir, &Source::at(&file), Format::ChatGpt);
    assert_eq!((report.troubles.as_slice(), report.remarks.as_slice()), (&[][..], &[][..]));
    let notes = notes_in(&dir);
    assert_eq!(notes[0].0, "rust----of-threads-.md");
    expect_test::expect![[r#"
        ---
        title: "Rust: # of threads?"
        type: conversation
        created: "2024-03-01T12:30:00Z"
        updated: "2024-03-01T12:31:40Z"
        imported_from: chatgpt
        source_id: abc-123
        ---

        ## User, 2024-03-01 12:30

        How many?

        Attached: image file-xyz, notes \[v1\].pdf

        ## Assistant

        ```python
        print(4)
        # done
        ```

        ## Assistant, 2024-03-01 12:30

        ### Answer

        Use four:

        ```rust
        // ## no heading
        spawn();
        ```

        #### More
        text
    "#]]
    .assert_eq(&notes[0].1);
    let counts = [
        "conversations read",
        "turns read",
        "left out: thoughts",
        "left out: messages of other branches",
        "attachments named, not copied",
        "notes written",
    ]
    .map(|it| report.counts.get(it).copied());
    assert_eq!(counts, [Some(1), Some(3), Some(1), Some(1), Some(2), Some(1)]);

    // Again: it is recognized by its id. When it has continued, that is reported.
    let report = run(&dir, &Source::at(&file), Format::ChatGpt);
    assert_eq!((report.counts.get("notes written"), report.remarks.len()), (None, 0));
    let mut later = chatgpt();
    later[0]["update_time"] = json!(1_800_000_000);
    std::fs::write(&file, later.to_string()).expect("written");
    let report = run(&dir, &Source::at(&file), Format::ChatGpt);
    assert!(report.remarks[0].what.contains("has continued since"), "{}", report.text());
    assert_eq!(notes_in(&dir), notes);
}

#[test]
fn a_conversation_of_claude_is_one_too() {
    let dir = tempfile::tempdir().expect("a folder");
    let export = json!([{
        "uuid": "11111111-2222", "name": "", "created_at": "2025-01-02T03:04:05.678901Z",
        "updated_at": "2025-01-02T04:00:00Z", "chat_messages": [
            {"uuid": "m1", "sender": "human", "created_at": "2025-01-02T03:04:05Z", "text": "Hello\n===\n[[x]]",
                "attachments": [{"file_name": "a.txt", "extracted_content": "long"}], "files": [{"file_name": "b.png"}]},
            {"uuid": "m2", "sender": "assistant", "text": "ignored", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi ```\nunclosed"},
                {"type": "tool_use", "name": "repl", "input": {"code": "1"}},
                {"type": "tool_result", "content": [{"type": "text", "text": "2"}]}]}]
    }]);
    let file = dir.path().join("conversations.json");
    std::fs::write(&file, export.to_string()).expect("written");
    let report = run(&dir, &Source::at(&file), Format::Claude);
    assert_eq!(report.troubles, []);
    let notes = notes_in(&dir);
    assert_eq!(notes[0].0, "untitled-conversation.md");
    expect_test::expect![[r#"
        ---
        title: Untitled conversation
        type: conversation
        created: "2025-01-02T03:04:05.678901Z"
        updated: "2025-01-02T04:00:00Z"
        imported_from: claude
        source_id: "11111111-2222"
        ---

        ## User, 2025-01-02 03:04

        ### Hello
        [[x]]

        Attached: a.txt, b.png

        ## Assistant

        Hi ```
        unclosed

        Tool repl:

        ```json
        {
          "code": "1"
        }
        ```

        ```text
        2
        ```
    "#]]
    .assert_eq(&notes[0].1);
}

#[test]
fn branches_end_even_where_parents_run_in_circles() {
    let circle = json!({"title": "c", "current_node": "a", "mapping": {
        "a": {"parent": "b", "message": message("user", json!(["x"]))},
        "b": {"parent": "a", "message": message("assistant", json!(["y"]))}}});
    let (_, it) = conversation(&circle, None).expect("a conversation");
    assert_eq!(it.turns.len(), 2);
    let lost = json!({"title": "c", "current_node": "gone", "mapping": {
        "a": {"parent": "gone", "children": [], "message": message("user", json!(["x"]))}}});
    assert_eq!(conversation(&lost, None).expect("a conversation").1.turns.len(), 1);
    let tree = json!({"uuid": "u", "name": "t", "current_leaf_message_uuid": "m3", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "a"},
        {"uuid": "m2", "sender": "assistant", "text": "b", "parent_message_uuid": "m1"},
        {"uuid": "m3", "sender": "assistant", "text": "c", "parent_message_uuid": "m1"}]});
    let (_, it) = conversation(&tree, None).expect("a conversation");
    assert_eq!(it.turns.iter().map(|turn| turn.text.as_str()).collect::<String>(), "ac");
}

#[test]
fn broken_exports_give_what_is_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut one = chatgpt();
    let mut other = one[0].take();
    other["title"] = json!("../../etc/passwd");
    other["conversation_id"] = json!("one");
    let mut third = other.clone();
    third["conversation_id"] = json!("two");
    let text = format!(
        "[{other},\n{{\"mapping\": nonsense}},\n5,\n{{\"chat_messages\": []}},\n{third},\n{{\"title\": \"cut"
    );
    let file = dir.path().join("conversations.json");
    std::fs::write(&file, text).expect("written");
    let report = run(&dir, &Source::at(&file), Format::ChatGpt);
    let troubles: Vec<String> =
        report.troubles.iter().map(|it| format!("{} {}", it.at, it.what)).collect();
    assert_eq!(
        troubles,
        [
            "conversations.json:2 expected ident at line 1 column 14",
            "conversations.json:3 no conversation: neither `mapping` nor `chat_messages`",
            "conversations.json:4 a conversation of claude",
            "conversations.json:6 the file ends within this item",
        ]
    );
    let names: Vec<String> = notes_in(&dir).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["-..-etc-passwd-two.md", "-..-etc-passwd.md"]);
}

/// Returns an archive with `conversations.json` in it.
fn zipped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    for (name, text) in [("export/user.json", &b"{}"[..]), ("export/conversations.json", text)] {
        let file = archive.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().expect("an entry");
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(encoder);
        writer.write_all(text).expect("written");
        let (encoder, descriptor) = writer.finish().expect("packed");
        encoder.finish().expect("packed");
        entry.finish(descriptor).expect("an entry");
    }
    archive.finish().expect("an archive");
    out
}

#[test]
fn archives_are_read_without_unpacking_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("export.zip");
    let bytes = zipped(chatgpt().to_string().as_bytes());
    std::fs::write(&file, &bytes).expect("written");
    let report = run(&dir, &Source::at(&file), Format::ChatGpt);
    assert_eq!((report.troubles.len(), report.counts["notes written"]), (0, 1));

    for n in [10, bytes.len() / 2, bytes.len() - 5] {
        std::fs::write(&file, &bytes[..n]).expect("written");
        let mut report = Report::default();
        let done = import(&Source::at(&file), Format::ChatGpt, &mut sink(&dir), true, &mut report);
        assert!(done.is_err() || !report.troubles.is_empty(), "cut after {n}");
    }
    std::fs::write(&file, zipped(b"")).expect("written");
    let report = run(&dir, &Source::at(&file), Format::ChatGpt);
    assert_eq!(report.troubles[0].what, "it is empty");
}

#[test]
fn what_an_archive_unpacks_to_has_an_end() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("bomb.zip");
    let mut text = chatgpt().to_string();
    text.pop();
    text += &format!(", {}]", " ".repeat(3_000_000));
    std::fs::write(&file, zipped(text.as_bytes())).expect("written");
    let source = Source::at(&file).limited(1_000_000);
    let report = run(&dir, &source, Format::ChatGpt);
    assert!(report.troubles[0].what.contains("holds more than may be read"), "{}", report.text());
    assert_eq!(report.counts["notes written"], 1, "what stood before it is there");
}
