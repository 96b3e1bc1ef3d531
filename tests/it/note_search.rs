//! Tools that search notes, through the whole daemon; the cases of S0 §13.3 by name.

use serde_json::{Value, json};
use tests::{TestProject, all};

#[test]
fn search_notes_with_output_formats() {
    let mut project = TestProject::of(&[("a.md", "# Harvest\n\nApples are ripe.\n")]);
    let mut call = |format: &str| {
        let arguments = json!({"query": "apples", "output_format": format});
        let result = project.client().call_whole("search_notes", arguments).expect("a result");
        result["content"][0]["text"].as_str().expect("text").to_string()
    };
    let parsed: Value = serde_json::from_str(&call("json")).expect("JSON");
    assert_eq!(parsed["results"][0]["path"], "a.md");
    assert!(call("text").starts_with("1. a (a.md:3"), "{}", call("text"));
}

#[test]
fn fts_basic_search() {
    let mut project = TestProject::of(&[
        ("a.md", "---\ntitle: Machine Learning Basics\n---\nx\n"),
        ("b.md", "Other\n"),
    ]);
    let reply =
        project.call("search_notes", json!({"query": "machine learning", "search_type": "fts"}));
    assert_eq!(all(&reply["results"], "path"), ["a.md"]);
    assert!(reply["results"][0]["score"].as_f64().expect("a score") > 0.0);
}

#[test]
fn a_word_is_found_by_itself_and_by_its_beginnings_whatever_its_ending_is() {
    let mut project = TestProject::of(&[
        ("policy.md", "Our retention policy.\n"),
        ("memory.md", "# Store\n\n- [fact] Everything about memory\n"),
        ("other.md", "Weather and cake.\n"),
    ]);
    project.settle();
    let mut found = |query: &str, entity: Option<&str>| {
        let mut arguments = json!({"query": query, "search_type": "fts"});
        if let Some(entity) = entity {
            arguments["entity_types"] = json!([entity]);
        }
        let reply = project.call("search_notes", arguments);
        all(&reply["results"], "path").into_iter().map(String::from).collect::<Vec<_>>()
    };
    for query in ["policy", "Policy", "retention policy", "polic", "policies", "policy*"] {
        assert_eq!(found(query, None), ["policy.md"], "{query}");
    }
    for query in ["memory", "memor", "memory*", "about memory"] {
        assert_eq!(found(query, Some("observation")), ["memory.md"], "{query}");
    }
    for query in ["policy*", "memory*", "policy", "memory"] {
        let file = format!("{}.md", query.trim_end_matches('*'));
        assert_eq!(project.found(query)[0], file, "{query}");
    }
}

#[test]
fn fts_special_character_handling() {
    let mut project =
        TestProject::of(&[("node-js-tutorial.md", "How to.\n"), ("b.md", "A node.\n")]);
    project.settle();
    let reply = project.call("search_notes", json!({"query": "node-js", "search_type": "fts"}));
    assert_eq!(all(&reply["results"], "path"), ["node-js-tutorial.md"]);
}

#[test]
fn fts_relaxed_fallback() {
    let mut project =
        TestProject::of(&[("a.md", "Project management tips.\n"), ("b.md", "Cake.\n")]);
    project.settle();
    let query = json!({"query": "project planning ideas", "search_type": "fts"});
    let reply = project.call("search_notes", query);
    assert_eq!(all(&reply["results"], "path"), ["a.md"]);
    assert!(reply["hint"].as_str().expect("told").contains("some of them"), "{reply}");
    // All words must match while some note contains them all.
    project.write("c.md", "Project planning, and ideas of it.\n");
    project.settle();
    let query = json!({"query": "project planning ideas", "search_type": "fts"});
    assert_eq!(all(&project.call("search_notes", query)["results"], "path"), ["c.md"]);
}

#[test]
fn vector_semantic_search() {
    let notes =
        [("a.md", "Canine behavior: how puppies obey.\n"), ("b.md", "Invoices and taxes.\n")];
    let mut project = TestProject::of(&notes);
    let query = json!({"query": "dog training", "search_type": "vector"});
    let reply = project.call("search_notes", query);
    assert_eq!(all(&reply["results"], "path"), ["a.md"], "{reply}");
    let near = reply["results"][0]["similarity"].as_f64().expect("a cosine");
    assert!(near > 0.2, "{near}");
    let strict = json!({"query": "dog training", "search_type": "vector", "min_similarity": 0.99});
    assert_eq!(project.call("search_notes", strict)["results"], json!([]));
}

#[test]
fn hybrid_search_scoring() {
    let notes = [
        ("words.md", "The dog barked at the training table of the furniture fair.\n"),
        ("meaning.md", "Canine behavior: how puppies learn to obey and to sit.\n"),
        ("far.md", "Invoices and taxes.\n"),
    ];
    let mut project = TestProject::of(&notes);
    let reply = project.call("search_notes", json!({"query": "dog training"}));
    let paths = all(&reply["results"], "path");
    assert!(paths.contains(&"words.md") && paths.contains(&"meaning.md"), "{reply}");
    for result in reply["results"].as_array().expect("rows") {
        let part = |name: &str| result[name].as_f64().unwrap_or(0.0);
        let expected = 0.5 * part("text") + 0.5 * part("similarity");
        assert!((part("score") - expected).abs() < 0.002, "{result}");
    }
}

#[test]
fn search_with_filters() {
    let notes = [
        (
            "a.md",
            "---\ntype: concept\ntags: [x/y]\nstatus: open\npriority: 3\ntitle: Alpha kite\n---\n# Alpha kite\n\nA kite flies.\n",
        ),
        (
            "b.md",
            "---\ntype: person\nstatus: done\npriority: 12\ntitle: Beta kite\n---\n# Beta kite\n\nA kite flies.\n",
        ),
        (
            "sub/c.md",
            "---\ntitle: Gamma kite\n---\n# Gamma kite\n\nA kite flies. - no fact\n\nwind:: strong\n",
        ),
    ];
    let mut project = TestProject::of(&notes);
    let rows = [
        (json!({"note_types": ["concept"]}), vec!["a.md"]),
        (json!({"note_types": ["Concept", "person"]}), vec!["a.md", "b.md"]),
        (json!({"tags": ["x"]}), vec!["a.md"]),
        (json!({"title": "BETA"}), vec!["b.md"]),
        (json!({"permalink": "gamma-kite"}), vec!["sub/c.md"]),
        (json!({"permalink_match": "memory://sub/*"}), vec!["sub/c.md"]),
        (json!({"permalink_match": "alp"}), vec!["a.md"]),
        (json!({"metadata_filters": {"status": "open"}}), vec!["a.md"]),
        (json!({"metadata_filters": {"priority": {"$gt": 4}}}), vec!["b.md"]),
        (json!({"metadata_filters": {"status": {"$exists": false}}}), vec!["sub/c.md"]),
        (json!({"metadata_filters": {"wind": "strong"}}), vec!["sub/c.md"]),
        (json!({"after_date": "1 day"}), vec!["a.md", "b.md", "sub/c.md"]),
    ];
    for (filter, expected) in rows {
        for (query, search_type) in
            [("kite", "fts"), ("kite", "vector"), ("kite", "hybrid"), ("", "fts")]
        {
            let mut request = filter.clone();
            request["query"] = json!(query);
            request["search_type"] = json!(search_type);
            let reply = project.call("search_notes", request);
            let mut paths = all(&reply["results"], "path");
            paths.sort_unstable();
            assert_eq!(paths, expected, "{filter} {search_type}: {reply}");
        }
    }
    for wrong in [
        json!({"query": ""}),
        json!({"query": "x", "page_size": 0}),
        json!({"query": "x", "after_date": "soon"}),
    ] {
        let error = project.try_call("search_notes", wrong.clone()).expect_err("refused");
        assert_eq!(error["code"], "invalid_params", "{wrong}");
    }
}

#[test]
fn pagination() {
    let mut project = TestProject::empty();
    for n in 0..100 {
        project.write(&format!("n{n:03}.md"), format!("Comet number {n} was seen.\n"));
    }
    project.start();
    project.settle();
    let mut seen = Vec::new();
    for page in 1..=10 {
        let request =
            json!({"query": "comet", "page_size": 10, "page": page, "search_type": "fts"});
        let reply = project.call("search_notes", request);
        let paths: Vec<String> =
            all(&reply["results"], "path").into_iter().map(String::from).collect();
        assert_eq!((paths.len(), &reply["has_more"]), (10, &json!(page < 10)), "page {page}");
        seen.extend(paths);
    }
    let from_11 = json!({"query": "comet", "page_size": 10, "offset": 10, "search_type": "fts"});
    assert_eq!(all(&project.call("search_notes", from_11)["results"], "path"), seen[10..20]);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 100);
}

#[test]
fn facts_and_relations_are_found_by_themselves() {
    let notes = [
        (
            "bread.md",
            "# Bread\n\n- [ratio] Water is seventy percent of flour #baking\n- [tip] Preheat the stone\n- needs [[Flour]]\n",
        ),
        ("flour.md", "# Flour\n\nMilled grain.\n"),
    ];
    let mut project = TestProject::of(&notes);
    // Notes that state nothing do not displace notes that do, however well they match.
    for i in 0..210 {
        project.write(&format!("a/{i}.md"), "How much water for the flour?\n");
    }
    project.settle();
    for (page, category, has_more) in [(1, "ratio", true), (2, "tip", false)] {
        let all = json!({"query": "", "search_item_types": ["observation"], "page": page, "page_size": 1});
        let reply = project.call("search_notes", all);
        let first = (&reply["results"][0]["category"], &reply["has_more"]);
        assert_eq!(first, (&json!(category), &json!(has_more)), "{reply}");
    }
    let request =
        json!({"query": "how much water for the flour", "search_item_types": ["observation"]});
    let reply = project.call("search_notes", request);
    assert_eq!(reply["results"][0]["item"], "observation");
    assert_eq!(reply["results"][0]["category"], "ratio");
    assert_eq!(reply["results"][0]["line"], 3);
    let request =
        json!({"query": "needs flour", "search_type": "fts", "search_item_types": ["relation"]});
    let reply = project.call("search_notes", request);
    assert_eq!(reply["results"][0]["relation"], "needs");
    assert_eq!(reply["results"][0]["target"], "flour.md");
}

#[test]
fn the_last_word_may_be_a_beginning_of_any_length() {
    let mut project = TestProject::of(&[("a.md", "The configuration of pagination.\n")]);
    for start in ["config", "configura", "configurat", "configuratio", "pagina", "paginati"] {
        let reply = project.call("search_notes", json!({"query": start, "search_type": "fts"}));
        assert_eq!(reply["results"][0]["path"], "a.md", "{start}: {reply}");
    }
}

#[test]
fn search_tells_the_best_notes_whole_within_the_budget() {
    let long = "Filler text about other things. ".repeat(300);
    let notes = [
        ("short.md", "# Comet\n\nA comet has a tail of dust.\n".to_string()),
        ("long.md", format!("# Comets at length\n\nThe comet returned. {long}\n")),
    ];
    let mut project = TestProject::empty();
    for (path, text) in &notes {
        project.write(path, text);
    }
    project.start();
    project.settle();
    let reply = project.call("search", json!({"query": "comet tail", "max_chars": 2_000}));
    assert_eq!(reply["notes"][0]["path"], "short.md");
    assert_eq!(reply["notes"][0]["is_whole"], true);
    assert!(reply["notes"][0]["content"].as_str().expect("text").contains("tail of dust"));
    assert_eq!(reply["notes"][1]["is_whole"], false);
    assert!(reply["more"].as_str().expect("told").contains("read_note"), "{reply}");
    assert_eq!(reply["notes"][0]["vault"], reply["project"]);
}

#[test]
fn search_spends_its_room_on_the_sections_that_answer() {
    let section = |name: &str, about: &str| {
        let line = format!("The {about} is what this part of the handbook is about, in line");
        let lines: String = (0..12).map(|n| format!("{line} {n}.\n")).collect();
        format!("## {name}\n\n{lines}\n")
    };
    let others: String = (0..20).map(|n| section(&format!("Part {n}"), "weather")).collect();
    let tails = section("Tails", "comet and its tail");
    let mut project = TestProject::of(&[
        ("handbook.md", &format!("# Handbook\n\n{others}{tails}{others}")),
        ("other.md", &format!("# Other\n\n{others}A comet. {others}")),
    ]);
    let request = json!({"query": "comet tail", "max_chars": 4_000, "output_format": "json"});
    let reply = project.call("search", request);
    let first = &reply["notes"][0];
    assert_eq!((&first["path"], &first["is_whole"]), (&json!("handbook.md"), &json!(false)));
    let content = first["content"].as_str().expect("text");
    assert!((0..12).all(|n| {
        content.contains(&format!("tail is what this part of the handbook is about, in line {n}."))
    }));
    let text =
        project.client().call_whole("search", json!({"query": "comet tail", "max_chars": 4_000}));
    let text = text.expect("a reply")["content"][0]["text"].as_str().expect("text").chars().count();
    assert!((2_500..=4_000).contains(&text), "{text}");
    // The fields that clients of OpenAI's contract read.
    let id = reply["results"][0]["id"].clone();
    assert_eq!(
        reply["results"][0],
        json!({"id": "handbook", "title": "handbook", "url": "memory://handbook"})
    );
    assert_eq!(project.call("fetch", json!({"id": id}))["title"], "handbook");
}

#[test]
fn titles_and_permalinks_are_searched_by_search_type() {
    let mut project = TestProject::of(&[
        ("a/plan.md", "# The Plan\n\nText.\n"),
        ("b.md", "# Other\n\nThe plan.\n"),
    ]);
    for (search_type, query) in [("title", "plan"), ("permalink", "plan"), ("permalink", "pl*")] {
        let request = json!({"query": query, "search_type": search_type});
        let reply = project.call("search_notes", request);
        assert_eq!(all(&reply["results"], "path"), ["a/plan.md"], "{search_type} {query}: {reply}");
    }
}

#[test]
fn a_word_comes_before_those_that_only_begin_with_it() {
    let mut project = TestProject::of(&[("exact.md", "The pump is node7 of the row.\n")]);
    let many: String = (0..9).map(|n| format!("node7{n} ")).collect();
    project.write("many.md", format!("{many}\n"));
    for n in 0..12 {
        project.write(&format!("n{n}.md"), format!("The pump is node7{n} of the row.\n"));
    }
    project.settle();
    let reply = project.call("search_notes", json!({"query": "node7", "search_type": "fts"}));
    assert_eq!(all(&reply["results"], "path")[0], "exact.md", "{reply}");
    assert_eq!(all(&reply["results"], "path").len(), 10, "{reply}");
}

#[test]
fn nothing_is_modified_after_a_day_to_come() {
    let mut project = TestProject::of(&[("a.md", "Heron on the weir.\n")]);
    let reply = project.call("search_notes", json!({"query": "heron", "after_date": "2199-01-01"}));
    assert_eq!(reply["results"], json!([]), "{reply}");
    let error = project.try_call("search_notes", json!({"query": "heron", "after_date": "soon"}));
    assert_eq!(error.expect_err("refused")["code"], "invalid_params");
}

#[test]
fn search_takes_the_filters_of_basic_memory() {
    let mut project = TestProject::of(&[
        ("a.md", "---\nstatus: open\n---\n- [risk] The weir leaks\n- [idea] Paint the weir\n"),
        ("b.md", "---\nstatus: done\n---\n- [risk] The weir rusts\n"),
    ]);
    project.settle();
    let mut found = |arguments: Value, field: &str| {
        let reply = project.call("search_notes", arguments);
        let mut found: Vec<String> =
            all(&reply["results"], field).into_iter().map(String::from).collect();
        found.sort();
        found
    };
    assert_eq!(found(json!({"query": "weir", "status": "open"}), "path"), ["a.md"]);
    assert_eq!(found(json!({"query": "", "status": "done"}), "path"), ["b.md"]);
    let risks = json!({"query": "weir", "categories": ["Risk"]});
    assert_eq!(found(risks, "snippet"), ["The weir leaks", "The weir rusts"]);
    let one = json!({"query": "weir", "categories": "risk", "status": "done"});
    assert_eq!(found(one, "path"), ["b.md"]);
    let compact = json!({"query": "weir", "compact": true, "search_all_projects": true});
    assert_eq!(found(compact, "snippet"), ["", ""]);
    let name = project.status()["project"].as_str().expect("a name").to_string();
    let reply = project.call("search_notes", json!({"query": "weir", "projects": [name]}));
    assert_eq!(all(&reply["results"], "path").len(), 2, "{reply}");
    let error =
        project.try_call("search_notes", json!({"query": "weir", "valid_at": "2026-01-01"}));
    let error = error.expect_err("refused");
    assert!(error["message"].as_str().is_some_and(|it| it.contains("validity")), "{error}");
}
