//! Searching entries: words, meaning and filters, and confidence, which decays until an entry is
//! used.

use serde_json::{Value, json};
use tests::{TestProject, all};

use crate::kb::{found, get, queue, store, write_old};

#[test]
fn entries_are_found_by_words_and_meaning_and_by_nothing_else() {
    let mut project = queue();
    project.write(
        "other.md",
        "# Other\n\nThis note speaks of the Kafka queue, too, and is no entry.\n",
    );
    project.settle();
    let hits = project.call("kb_search", json!({"query": "Kafka job queue"}));
    assert_eq!(&all(&hits["results"], "id")[..2], ["kb-00002", "kb-00001"]);
    assert_eq!(hits["results"][0]["match_source"], "hybrid");
    assert_eq!(hits["results"][0]["score"], json!(0.032787), "first of both lists: 2 / 61");
    assert_eq!(hits["results"][0]["knowledge_details"], Value::Null, "in brief");
    assert_eq!(
        found(&mut project, "hue of the emblem"),
        ["kb-00004"],
        "the long title is searched"
    );
    for (filter, ids) in [
        (json!({"project_ref": "Shop"}), vec!["kb-00001", "kb-00002"]),
        (json!({"tags": ["kafka"]}), vec!["kb-00002"]),
        (json!({"entry_type": "pattern_convention"}), vec!["kb-00003"]),
        (json!({"tags": ["queue", "style"]}), vec![]),
    ] {
        let mut request = filter.clone();
        request["query"] = "job queue paths".into();
        let hits = project.call("kb_search", request);
        let mut found = all(&hits["results"], "id");
        found.sort_unstable();
        assert_eq!(found, ids, "{filter}");
    }
    // No operators: the question is just its words.
    assert_eq!(found(&mut project, "\"logo AND -green tag:x ((")[0], "kb-00004");
    // Few results are extended with neighbors in the graph, with the way to them.
    let sparse =
        project.call("kb_search", json!({"query": "files paths carry", "tags": ["style"]}));
    assert_eq!(all(&sparse["results"], "id"), ["kb-00003"]);
    assert_eq!(sparse["hints"], json!(["See also: [kb-00002] Kafka queue (via references)"]));
    project.call("kb_store", json!({"deactivate_entry_id": "kb-00002", "change_reason": "gone"}));
    let sparse =
        project.call("kb_search", json!({"query": "files paths carry", "tags": ["style"]}));
    assert_eq!(sparse["hints"], Value::Null, "what does not count is no hint");
    assert!(!found(&mut project, "Kafka job queue").contains(&"kb-00002".to_string()));
    assert_eq!(
        project.call("kb_get", json!({"entry_id": ["kb-2"]}))["not_found"],
        json!(["kb-00002"])
    );
    project.call("kb_maintain", json!({"action": "reactivate", "entry_id": "kb-00002"}));
    assert_eq!(found(&mut project, "Kafka job queue")[0], "kb-00002");
}

#[test]
fn without_vectors_words_answer_and_say_so() {
    let mut project = TestProject::of(&[]);
    // Text that is certainly in another language has no vector by the English model.
    let text = "Der Speicher wird jede Nacht geleert, weil die Sicherung sonst am Morgen noch läuft und die Kasse \
                dann lange warten muss, bis sie wieder Belege schreiben darf.";
    store(&mut project, "Nachts leeren", text, json!({}));
    let hits = project.call("kb_search", json!({"query": "Speicher geleert", "limit": 1}));
    assert_eq!(all(&hits["results"], "id"), ["kb-00001"]);
    assert_eq!(hits["results"][0]["match_source"], "fts", "{hits}");
    let stats = project.call("kb_maintain", json!({"action": "stats"}));
    assert_eq!(stats["stats"]["with_embeddings"], 0);
}

#[test]
fn confidence_decays_until_somebody_opens_or_edits() {
    let mut project = TestProject::empty();
    let note = |id: u32, entry_type: &str| {
        format!(
            "---\nid: kb-{id:05}\ntitle: Port {id}\nentry_type: {entry_type}\n---\n\
             The service listens on port 80{id}.\n"
        )
    };
    for (id, entry_type, days) in [
        (1, "factual_reference", 10),
        (2, "factual_reference", 100),
        (3, "factual_reference", 200),
        (4, "decision", 200),
        (5, "lesson_learned", 1_825),
        (6, "no such type", 200),
    ] {
        write_old(&project, &format!("kb/kb-{id:05}.md"), &note(id, entry_type), days);
    }
    // A note's stated age takes precedence over its file's time, which `touch` or a clone resets.
    let elsewhere = "id: kb-00007\ntitle: Elsewhere\nconfidence: 7\nsupersedes: kb-00007\n";
    let stated = format!("---\n{elsewhere}created: 2020-02-01\n---\n\nWombats dig burrows.\n");
    project.write("kb/kb-00007.md", stated);
    project.start();
    project.settle();
    let hits = project.call("kb_search", json!({"query": "which port does the service listen on"}));
    let mut ids = all(&hits["results"], "id");
    ids.sort_unstable();
    assert_eq!(ids, ["kb-00001", "kb-00002", "kb-00004", "kb-00005"]);
    assert_eq!(hits["hidden_stale"], 2);
    let of = |hits: &Value, id: &str| {
        let rows = hits["results"].as_array().expect("rows").clone();
        rows.into_iter().find(|row| row["id"] == id).unwrap_or_default()
    };
    assert!(of(&hits, "kb-00001")["warning"].is_null());
    let entry = of(&hits, "kb-00002");
    assert!(entry["warning"].as_str().is_some_and(|it| it.contains("out of date")), "{entry}");
    let near = |value: &Value, wanted: f64| (value.as_f64().unwrap_or(9.0) - wanted).abs() < 0.002;
    assert!(near(&entry["confidence"], 0.9 * (-100.0_f64 / 90.0).exp2()), "{entry}");
    assert!(near(&of(&hits, "kb-00005")["confidence"], 0.45));
    let everything =
        json!({"query": "which port does the service listen on", "include_stale": true});
    let everything = project.call("kb_search", everything);
    assert_eq!(everything["results"].as_array().map(Vec::len), Some(6));
    // Being found does not count as use; being opened does.
    let again =
        project.call("kb_search", json!({"query": "which port does the service listen on"}));
    assert_eq!(of(&again, "kb-00002")["confidence"], entry["confidence"]);
    assert!(
        near(&get(&mut project, "kb-00002")["confidence"], 0.417),
        "as it was when it was opened"
    );
    assert!(near(&get(&mut project, "kb-00002")["confidence"], 0.9));
    project.call("kb_store", json!({"update_entry_id": "kb-00003", "confidence_level": 0.7}));
    let hits = project.call("kb_search", json!({"query": "which port does the service listen on"}));
    assert!(near(&of(&hits, "kb-00003")["confidence"], 0.7), "{hits}");
    let stats = project.call("kb_maintain", json!({"action": "stats"}))["stats"].clone();
    assert_eq!((&stats["stale"], &stats["hidden"]), (&json!(3), &json!(2)), "{stats}");
    let doubts: Vec<&str> =
        stats["doubts"].as_array().expect("rows").iter().filter_map(Value::as_str).collect();
    assert_eq!(doubts.len(), 3, "{doubts:?}");
    assert!(
        doubts[0].starts_with("kb/kb-00006.md: `entry_type: no such type` is not one of"),
        "{doubts:?}"
    );
    let old = get(&mut project, "kb-00007");
    assert_eq!((&old["created_at"], &old["updated_at"]), (&old["updated_at"], &old["created_at"]));
    assert!(
        old["created_at"].as_str().is_some_and(|it| it.starts_with("2020-02-01T00:00")),
        "{old}"
    );
    assert_eq!((&old["base_confidence"], &old["superseded_by"]), (&json!(0.9), &Value::Null));
    assert_eq!(
        old["doubts"],
        json!([
            "`confidence: 7` is not a number from 0 to 1; read as 0.9",
            "`supersedes` names the entry itself; ignored"
        ])
    );
}
