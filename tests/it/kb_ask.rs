//! Questions about entries: the strategy that answers them and the reason, and summaries that cite
//! both sides.

use serde_json::{Value, json};
use tests::{TestProject, all};

use crate::kb::{queue, store};

#[test]
fn questions_choose_their_strategy_and_say_why() {
    let mut project = queue();
    let ask = |project: &mut TestProject, request: Value| project.call("kb_ask", request);
    let traced = ask(&mut project, json!({"question": "Why did we choose Kafka for the queue?"}));
    assert_eq!(traced["strategy"], "decision_trace");
    assert!(traced["reason"].as_str().is_some_and(|it| it.contains("why did")), "{traced}");
    assert_eq!(all(&traced["entries"], "id"), ["kb-00001", "kb-00002"]);
    assert_eq!(
        all(&traced["entries"], "context"),
        ["original decision", "current (supersedes kb-00001)"]
    );

    // A decision about something else is not part of the story, however it is worded.
    let decided = json!({"entry_type": "decision"});
    let other = "We chose Terraform because the cloud was set up by hand before.";
    store(&mut project, "Terraform", other, decided);
    let traced = ask(&mut project, json!({"question": "Why did we choose Kafka?"}));
    assert_eq!(all(&traced["entries"], "id"), ["kb-00001", "kb-00002"], "{traced}");
    let traced = ask(&mut project, json!({"question": "why did we choose terraform"}));
    assert_eq!(all(&traced["entries"], "id"), ["kb-00005"], "{traced}");
    project.call("kb_store", json!({"deactivate_entry_id": "kb-00005"}));

    // Only superseded entries are reported as such. With two successors both count, and each is
    // listed once.
    let forked =
        json!({"entry_type": "decision", "tags": ["kafka"], "hints": {"supersedes": ["kb-00001"]}});
    let text = "We chose Kafka Streams for the small queue of the shop.";
    let forked = store(&mut project, "Kafka Streams", text, forked);
    let traced = ask(&mut project, json!({"question": "Why did we choose Kafka?"}));
    let mut contexts: Vec<_> =
        all(&traced["entries"], "id").into_iter().zip(all(&traced["entries"], "context")).collect();
    contexts.sort_unstable();
    let current = "current (supersedes kb-00001)";
    let story = [("kb-00001", "original decision"), ("kb-00002", current), (&forked, current)];
    assert_eq!(contexts, story, "{traced}");
    // A question that is only a project lists all its decisions, whatever their words.
    let mut orion = |title: &str, text: &str| {
        let extra = json!({"entry_type": "decision", "project_ref": "Orion"});
        store(&mut project, title, text, extra)
    };
    let both = [
        orion("Orion pumps", "We decided that Orion runs on pumps of copper."),
        orion("Copper", "Pipes are of copper because of the salt in the water."),
    ];
    for (question, more) in [
        ("list all decisions in project orion", json!({})),
        ("all decisions of Orion", json!({})),
        ("What did we decide about Orion and why?", json!({})),
        ("why Orion", json!({"strategy": "decision_trace", "scope": "project:Orion"})),
    ] {
        let mut request = more;
        request["question"] = question.into();
        let asked = project.call("kb_ask", request);
        assert_eq!(asked["strategy"], "decision_trace", "{asked}");
        assert_eq!(all(&asked["entries"], "id"), both, "{question}: {asked}");
    }
    let salt = json!({"question": "why did we decide about salt for Orion"});
    let salt = project.call("kb_ask", salt);
    assert_eq!(all(&salt["entries"], "id"), [&both[1]], "{salt}");
    // A question for a number gets it, with a note if there are more than are listed.
    let many = json!({"question": "how many decisions are there?"});
    let many = project.call("kb_ask", many);
    let n = many["entries"].as_array().map_or(0, Vec::len);
    assert_eq!(many["hint"], format!("there are {n}"), "{many}");
    let few = json!({"question": "list all decisions", "limit": 2});
    let few = project.call("kb_ask", few);
    assert!(few["hint"].as_str().is_some_and(|it| it.starts_with(&format!("2 of {n} "))), "{few}");
    let all_of =
        json!({"question": "x", "strategy": "timeline", "scope": "decision", "limit": 500});
    let all_of = project.call("kb_ask", all_of);
    assert_eq!((all_of["entries"].as_array().map_or(0, Vec::len), all_of.get("hint")), (n, None));
    // An id alone returns its entry, and its neighborhood.
    let own = project.call("kb_ask", json!({"question": both[0]}));
    assert_eq!(all(&own["entries"], "id"), both, "{own}");
    // With a given scope, only what is asked for is listed and counted.
    let lesson = json!({"short_title": "Brine", "knowledge_details": "Brine eats pumps.", "entry_type": "lesson_learned",
        "project_ref": "Orion"});
    let lesson = project.call("kb_store", lesson)["entry"]["id"].clone();
    let in_scope = json!({"question": "how many decisions are there?", "scope": "project:Orion"});
    let in_scope = project.call("kb_ask", in_scope);
    assert_eq!(all(&in_scope["entries"], "entry_type"), ["decision", "decision"], "{in_scope}");
    assert_eq!(in_scope["hint"], "there are 2");
    project.call("kb_store", json!({"deactivate_entry_id": lesson}));
    for id in both {
        project.call("kb_store", json!({"deactivate_entry_id": id}));
    }
    // An inactive successor does not count.
    project.call("kb_store", json!({"deactivate_entry_id": forked}));
    let old = project.call("kb_get", json!({"entry_id": ["kb-00001"]}));
    assert_eq!(old["entries"][0]["superseded_by"], json!(["kb-00002"]), "{old}");

    // Drawn alone, it appears with the entry that it supersedes.
    let graph = project.call("graph", json!({"name": "kb/kb-00002-kafka-queue.md", "hops": 1}));
    let drawn = |entry: &str| {
        let nodes = graph["nodes"].as_array().expect("nodes").iter();
        nodes.clone().find(|it| it["entry"]["id"] == entry).map(|it| it["id"].clone())
    };
    let ends = (drawn("kb-00002"), drawn("kb-00001"));
    let is_it = |it: &&Value| it["rel"] == "supersedes";
    let edges = graph["edges"].as_array().expect("edges").iter().filter(is_it);
    let edges: Vec<_> =
        edges.map(|it| (Some(it["src"].clone()), Some(it["dst"].clone()))).collect();
    assert!(ends.0.is_some() && edges == [ends], "{graph}");

    let dated = ask(
        &mut project,
        json!({"question": "x", "strategy": "timeline", "scope": "project:shop"}),
    );
    assert_eq!(all(&dated["entries"], "id"), ["kb-00001", "kb-00002"]);
    let dated = ask(
        &mut project,
        json!({"question": "x", "strategy": "timeline", "scope": "pattern_convention"}),
    );
    assert_eq!(all(&dated["entries"], "id"), ["kb-00003"]);
    let dated = ask(&mut project, json!({"question": "What is the history of tag:queue?"}));
    assert_eq!((&dated["strategy"], &dated["scope"]), (&json!("timeline"), &json!("tag:queue")));

    let related = ask(&mut project, json!({"question": "what else relates to Ada Lovelace"}));
    assert_eq!(
        (&related["strategy"], &related["scope"]),
        (&json!("related"), &json!("person:ada-lovelace"))
    );
    assert_eq!(all(&related["entries"], "id"), ["kb-00002", "kb-00001", "kb-00003"]);
    assert_eq!(all(&related["entries"], "context")[1], "connected via kb-00002");

    let connected =
        ask(&mut project, json!({"question": "how is Ada Lovelace connected to tag:style"}));
    assert_eq!(connected["strategy"], "connection");
    let steps: Vec<String> = connected["path"]
        .as_array()
        .expect("a way")
        .iter()
        .map(|it| format!("{} {} {}", it["from"], it["edge"], it["to"]).replace('"', ""))
        .collect();
    assert_eq!(
        steps,
        [
            "person:ada-lovelace <mentions_person kb-00002",
            "kb-00002 <references kb-00003",
            "kb-00003 has_tag tag:style"
        ]
    );
    let none = ask(
        &mut project,
        json!({"question": "x", "strategy": "connection", "scope": "kb-00004", "target": "person:ada-lovelace"}),
    );
    assert!(none["hint"].as_str().is_some_and(|it| it.contains("no path")), "{none}");

    // A name, a type of entries, or two ids suffice as a question.
    for (question, strategy, ids) in [
        ("who is ada lovelace", "related", vec!["kb-00002", "kb-00001", "kb-00003"]),
        ("what do we know about project shop", "timeline", vec!["kb-00001", "kb-00002"]),
        ("list all patterns", "timeline", vec!["kb-00003"]),
    ] {
        let reply = ask(&mut project, json!({"question": question}));
        assert_eq!(
            (&reply["strategy"], all(&reply["entries"], "id")),
            (&json!(strategy), ids),
            "{reply}"
        );
    }
    let related = ask(&mut project, json!({"question": "How are kb-00002 and kb-00003 related?"}));
    assert_eq!(
        (&related["strategy"], &related["path"][0]["edge"]),
        (&json!("connection"), &json!("<references"))
    );
    let compared = ask(&mut project, json!({"question": "compare kb-00004 and kb-00003"}));
    assert_eq!(all(&compared["entries"], "id")[..2], ["kb-00004", "kb-00003"], "{compared}");
    let summary = project.call("kb_summarize", json!({"question": "project:shop"}));
    assert_eq!(all(&summary["entries"], "id")[..2], ["kb-00001", "kb-00002"], "{summary}");

    let found = ask(&mut project, json!({"question": "paths of files in jobs"}));
    assert_eq!(found["strategy"], "auto");
    assert_eq!(all(&found["entries"], "id")[0], "kb-00003");
    assert!(all(&found["entries"], "id").contains(&"kb-00002"), "{found}");
    let bare = json!({"question": "logo green border", "include_graph_context": false});
    assert_eq!(all(&ask(&mut project, bare)["entries"], "id"), ["kb-00004"]);
}

#[test]
fn a_summary_quotes_and_cites_and_tells_both_sides() {
    let mut project = queue();
    let summary =
        project.call("kb_summarize", json!({"question": "what did we choose for the job queue"}));
    assert_eq!(summary["method"], "extractive");
    let first = &summary["sentences"][0];
    assert_eq!(
        first["text"],
        "We chose Kafka for the job queue because jobs must survive a crash."
    );
    assert_eq!(first["cited"], json!(["kb-00002"]));
    assert!(first.get("superseded_by").is_none(), "{summary}");
    let replaced = summary["sentences"]
        .as_array()
        .expect("rows")
        .iter()
        .find(|it| it["cited"][0] == "kb-00001");
    assert_eq!(replaced.expect("quoted")["superseded_by"], json!(["kb-00002"]), "{summary}");
    let answer = summary["answer"].as_str().expect("words");
    assert!(answer.lines().all(|line| line.ends_with(']') && line.contains("[kb-")), "{answer}");
    assert!(answer.contains("(superseded by kb-00002) [kb-00001]"), "{answer}");
    assert_eq!(summary["conflicts"][0]["why"], "kb-00002 supersedes kb-00001", "{summary}");
    store(&mut project, "Timeout", "The timeout of a job is 30 seconds.", json!({}));
    store(&mut project, "Timeout again", "The timeout of a job is 60 seconds.", json!({}));
    let summary = project.call("kb_summarize", json!({"question": "what is the timeout of a job"}));
    let conflict = &summary["conflicts"][0];
    assert_eq!(conflict["why"], "the numbers differ: 60 and 30", "{summary}");
    assert_eq!(conflict["one"]["cited"], json!(["kb-00006"]));
    // A superseded entry is marked wherever it is listed, and comes after its successor.
    let found = project.call("kb_search", json!({"query": "what did we choose for the job queue"}));
    let ids = all(&found["results"], "id");
    let at =
        |id: &str| ids.iter().position(|it| *it == id).unwrap_or_else(|| panic!("{id}: {found}"));
    assert!(at("kb-00002") < at("kb-00001"), "{found}");
    assert_eq!(found["results"][at("kb-00001")]["superseded_by"], json!(["kb-00002"]));
    let asked = json!({"question": "what did we choose for the job queue", "strategy": "auto"});
    let asked = project.call("kb_ask", asked);
    let old =
        asked["entries"].as_array().and_then(|it| it.iter().find(|it| it["id"] == "kb-00001"));
    assert_eq!(old.expect("told")["superseded_by"], json!(["kb-00002"]), "{asked}");
    // Even if only it has the words of the question, its successor comes first.
    let frob = store(&mut project, "Frob", "The frobnicator timeout is 30 seconds.", json!({}));
    let sixty = json!({"hints": {"supersedes": frob}});
    let sixty = store(&mut project, "Sixty", "New value: sixty.", sixty);
    let asked = project.call("kb_ask", json!({"question": "frobnicator timeout"}));
    assert_eq!(all(&asked["entries"], "id")[..2], [&sixty, &frob], "{asked}");
    let summary = project.call("kb_summarize", json!({"question": "frobnicator timeout"}));
    let cited: Vec<&Value> = summary["sentences"]
        .as_array()
        .expect("sentences")
        .iter()
        .map(|it| &it["cited"][0])
        .collect();
    let at = |id: &str| cited.iter().position(|it| *it == id);
    assert!(at(&sixty) == Some(0) && at(&frob).is_some(), "{summary}");
    // An id finds what it names: an entry, or those of a tag, a person, a project.
    let mut ids = |query: &str| -> Vec<String> {
        let found = project.call("kb_search", json!({"query": query}));
        all(&found["results"], "id").into_iter().map(String::from).collect()
    };
    assert_eq!(ids("kb-00002")[0], "kb-00002");
    assert_eq!(ids("tag:queue"), ["kb-00002", "kb-00001"]);
    assert_eq!(ids("person:Ada Lovelace"), ["kb-00002"]);
    assert_eq!(ids("project:shop"), ["kb-00002", "kb-00001"]);
    let opened = project.call("kb_get", json!({"entry_id": ["tag:queue", "kb-00003", "tag:none"]}));
    assert_eq!(all(&opened["listed"], "id"), ["kb-00001", "kb-00002"], "{opened}");
    assert_eq!(all(&opened["entries"], "id"), ["kb-00003"]);
    assert_eq!(opened["not_found"], json!(["tag:none"]));
    let nothing = project.call("kb_summarize", json!({"question": "zebras in orbit"}));
    assert_eq!((&nothing["answer"], nothing["hint"].is_string()), (&json!(""), true), "{nothing}");
}

#[test]
fn documents_answer_what_no_entry_does() {
    let mut project = TestProject::of(&[
        ("ops/keys.md", "# Keys\n\nSigning keys rotate every 90 days.\n"),
        (
            "people/ana.md",
            "---\ntype: person\n---\n# Ana Silva\n\nAna Silva is an engineer. She maintains [[Billing]].\n",
        ),
        (
            "services/billing.md",
            "---\ntype: service\n---\n# Billing\n\nBilling is a service that sends invoices.\n\n\
             - uses [[Key Store]]\n",
        ),
        (
            "services/key-store.md",
            "---\ntype: service\n---\n# Key Store\n\nThe Key Store keeps keys.\n",
        ),
    ]);
    store(&mut project, "Clock", "The clock of the tides is slow.", json!({"tags": ["water"]}));
    let ask = |project: &mut TestProject, request: Value| project.call("kb_ask", request);
    let keys = "how often do signing keys rotate";
    let found = project.call("hybrid_query", json!({"query": keys}));
    assert_eq!(found["chunks"][0]["path"], "ops/keys.md", "{found}");
    let answer = ask(&mut project, json!({"question": keys}));
    assert_eq!((&answer["strategy"], &answer["entries"]), (&json!("auto"), &json!([])), "{answer}");
    assert_eq!(all(&answer["documents"], "path")[0], "ops/keys.md", "{answer}");
    let summary = project.call("kb_summarize", json!({"question": keys}));
    let answer = summary["answer"].as_str().expect("words");
    assert!(answer.starts_with("Signing keys rotate every 90 days. [ops/keys.md:3]"), "{summary}");
    assert_eq!(summary["sentences"][0]["cited"], json!(["ops/keys.md:3"]));
    // If entries answer, they come first, and alone.
    let clock = ask(&mut project, json!({"question": "how slow is the clock of the tides"}));
    assert_eq!((all(&clock["entries"], "id"), clock.get("documents")), (vec!["kb-00001"], None));
    // Things that only documents know can be connected, and used as a scope.
    for request in [
        json!({"question": "how are Ana Silva and Key Store related"}),
        json!({"question": "how", "strategy": "connection", "scope": "Ana Silva", "target": "Key Store"}),
    ] {
        let answer = ask(&mut project, request);
        assert_eq!(answer["strategy"], "connection", "{answer}");
        let steps = answer["path"].as_array().expect("a path").iter();
        let steps: Vec<_> = steps.map(|it| (it["from"].clone(), it["to"].clone())).collect();
        let expected = [("Ana Silva", "Billing"), ("Billing", "Key Store")];
        let expected = expected.map(|(from, to)| (json!(from), json!(to)));
        assert_eq!(steps, expected, "{answer}");
        let stating = all(&answer["documents"], "path");
        assert!(
            stating.contains(&"people/ana.md") && stating.contains(&"services/billing.md"),
            "{answer}"
        );
    }
    let about = json!({"question": "what is it", "strategy": "related", "scope": "Billing"});
    let about = ask(&mut project, about);
    assert_eq!((&about["strategy"], &about["scope"]), (&json!("related"), &json!("Billing")));
    assert!(about["documents"].to_string().contains("sends invoices"), "{about}");
    let unknown = json!({"question": "x", "strategy": "related", "scope": "Nobody Known"});
    assert_eq!(project.try_call("kb_ask", unknown).expect_err("unknown")["code"], "not_found");
    let nothing = ask(&mut project, json!({"question": "zebras in orbit"}));
    assert_eq!((&nothing["entries"], nothing.get("documents")), (&json!([]), None), "{nothing}");
    assert!(nothing["hint"].is_string(), "{nothing}");
}

#[test]
fn a_summary_reads_long_titles_and_else_shows_the_entries() {
    let mut project = TestProject::of(&[]);
    let entry = |short: &str, long: &str, details: &str| json!({"short_title": short, "long_title": long, "knowledge_details": details, "entry_type": "decision"});
    project
        .call("kb_store", entry("Cache", "Sessions live in a Valkey cluster", "Decided in May."));
    project.call("kb_store", entry("Lamps", "Quay lamps", "Copper wires."));
    let summary = project.call("kb_summarize", json!({"question": "where do sessions live?"}));
    assert_eq!(summary["sentences"][0]["text"], "Sessions live in a Valkey cluster", "{summary}");
    assert_eq!(summary["sentences"][0]["cited"], json!(["kb-00001"]), "{summary}");
    let summary = project.call("kb_summarize", json!({"question": "quay lamps"}));
    assert_eq!(summary["hint"], "LLM unavailable — showing raw results", "{summary}");
    assert_eq!(summary["answer"], "Quay lamps: Copper wires. [kb-00002]", "{summary}");
}
