//! Search in memory: which observations are shown, filters, days, speakers, exact words, pages and
//! the budget.

use serde_json::{Value, json};
use tests::{TestProject, all};

use super::code;

/// Creates a project with two conversations and a service.
fn remembered() -> TestProject {
    let mut project = TestProject::of(&[]);
    project.call(
        "create_entities",
        json!({"entities": [
            {"name": "Talk of May", "entity_type": "conversation", "tags": ["home"], "observations": [
                "Ana (8 May 2023): I moved into the flat above the bakery",
                "Ben (8 May 2023): Who has the spare keys of the flat?",
                "Ana (9 May 2023): They hang behind the door"]},
            {"name": "Talk of August", "entity_type": "conversation", "tags": ["travel"], "observations": [
                "Ben (14 August 2023): My violin teacher moved to Lisbon",
                "Ana (15 August 2023): The keys of the flat are with the baker now"]},
            {"name": "Billing", "entity_type": "service", "tags": ["home"], "observations": [
                "[decision] Invoices are kept for ten years",
                "[fact] ERR-1042 says that the disk of invoices is full",
                "[fact] ERR-1043 says that the mail of invoices was refused",
                "[fact] The decision about photocopies was never written down"]},
        ]}),
    );
    project
}

fn found(project: &mut TestProject, request: Value) -> Value {
    project.call("search_nodes", request)
}

/// Returns the text form of the reply.
fn text(project: &mut TestProject, request: Value) -> String {
    let whole = project.client().call_whole("search_nodes", request).expect("an answer");
    whole["content"][0]["text"].as_str().expect("text").to_string()
}

/// Returns the names of the results.
fn names(reply: &Value) -> Vec<&str> {
    all(&reply["results"], "name")
}

/// Returns the observations of the first result that are not weak.
fn shown(reply: &Value) -> Vec<&str> {
    let of = reply["results"][0]["observations"].as_array().map(Vec::as_slice);
    let fits = of.unwrap_or_default().iter().filter(|it| it["weak"] != true);
    fits.map(|it| it["content"].as_str().expect("text")).collect()
}

#[test]
fn facts_are_narrowed_by_type_tag_entity_and_day() {
    let mut project = remembered();
    let ask = |more: Value| {
        let mut request = json!({"query": "keys of the flat"});
        request.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        request
    };
    let conversations = ["Talk of August", "Talk of May"];
    for (more, expected) in [
        (json!({"entity_type": "Conversation"}), &conversations[..]),
        (json!({"entity_type": "service"}), &["Billing"]),
        (json!({"entity_type": "river"}), &[]),
        (json!({"tags": ["home"]}), &["Billing", "Talk of May"]),
        (json!({"tags": ["home"], "entity_type": "conversation"}), &["Talk of May"]),
        (json!({"after": "2023-08-15", "before": "2023-08-16"}), &["Talk of August"]),
        (json!({"before": "2023-06-01"}), &["Talk of May"]),
        (json!({"entity": "Talk of May"}), &["Talk of May"]),
    ] {
        let reply = found(&mut project, ask(more.clone()));
        let mut names = names(&reply);
        names.sort_unstable();
        assert_eq!(names, expected, "{more}: {reply}");
    }
    let reply = found(&mut project, ask(json!({"after": "2023-08-15", "before": "2023-08-16"})));
    let observations = &reply["results"][0]["observations"];
    assert_eq!(
        all(observations, "content"),
        ["Ana (15 August 2023): The keys of the flat are with the baker now"]
    );
    assert_eq!(
        (&observations[0]["speaker"], &observations[0]["date"]),
        (&json!("Ana"), &json!("2023-08-15"))
    );
    let within = json!({"entity_name": "Talk of May", "query": "keys", "after": "2023-05-09"});
    let within = project.call("query_observations", within);
    assert_eq!(all(&within["results"], "content"), ["Ana (9 May 2023): They hang behind the door"]);
    assert_eq!(code(&mut project, "search_nodes", ask(json!({"after": "soon"}))), "invalid_params");
}

#[test]
fn what_an_observation_says_comes_before_what_a_relation_line_names() {
    let mut project = TestProject::of(&[]);
    let entity = |name: &str, says: &str| json!({"name": name, "entity_type": "person", "observations": [says, "Likes tea"]});
    let entities = [
        entity("Rita", "Sings in a choir"),
        entity("Olaf", "Repairs boats at the Norwind yard"),
        entity("Pia", "Bakes rye bread"),
    ];
    project.call("create_entities", json!({"entities": entities}));
    project
        .call("create_entities", json!({"entities": [{"name": "Norwind", "entity_type": "yard"}]}));
    let relation = |from: &str, kind: &str| json!({"from_entity": from, "to_entity": "Norwind", "relation_type": kind});
    let relations = [
        relation("Rita", "sails_for"),
        relation("Olaf", "employed_by"),
        relation("Pia", "rival_of"),
    ];
    project.call("create_relations", json!({"relations": relations}));
    let by_words = found(&mut project, json!({"query": "Norwind", "mode": "text"}));
    assert_eq!(names(&by_words), ["Olaf", "Norwind"], "{by_words}");
    assert_eq!(by_words["results"][0]["matched_observation"], "Repairs boats at the Norwind yard");
    let usual = found(&mut project, json!({"query": "Norwind"}));
    assert_eq!(names(&usual)[..2], ["Norwind", "Olaf"], "{usual}");
    assert_eq!(usual["results"][1]["matched_observation"], "Repairs boats at the Norwind yard");
}

#[test]
fn fields_of_the_specification_are_there_also_where_they_are_empty() {
    let mut project = TestProject::of(&[]);
    let bare = |name: &str| json!({"name": name, "entity_type": "lamp", "observations": ["Shines brightly"]});
    project.call("create_entities", json!({"entities": [bare("Anglepoise"), bare("Tiffany")]}));
    let rows = [
        ("open_nodes", json!({"names": ["Anglepoise"]}), "/entities/0", "summary tags"),
        ("open_nodes", json!({"names": ["Anglepoise"]}), "", "not_found"),
        ("get_nodes_by_type", json!({"entity_type": "lamp"}), "/nodes/0", "summary tags"),
        ("get_recently_modified", json!({}), "/nodes/0", "summary"),
        ("get_orphans", json!({}), "/nodes/0", "summary"),
        ("get_neighborhood", json!({"name": "Tiffany"}), "/nodes/0", "summary tags"),
        ("search_nodes", json!({"query": "shines"}), "/results/0", "summary matched_perspective"),
        (
            "search_nodes",
            json!({"query": "shines", "mode": "text"}),
            "/results/0",
            "summary matched_perspective",
        ),
        ("get_pending_consolidation", json!({}), "/nodes/0", "summary_updated_at"),
        ("get_consolidation_report", json!({}), "/stale_summaries/0", "draft_summary"),
        ("get_consolidation_report", json!({}), "/relation_candidates/0", "rationale"),
    ];
    for (tool, arguments, at, fields) in rows {
        let reply = project.call(tool, arguments);
        let within = reply.pointer(at).unwrap_or_else(|| panic!("no {at} in {tool}: {reply}"));
        for field in fields.split(' ') {
            assert!(within.get(field).is_some(), "{tool} {at} has no {field}: {within}");
        }
    }
}

#[test]
fn a_fact_search_is_exact_where_that_is_asked_for() {
    let mut project = remembered();
    for (query, first) in [
        ("ERR-1043", "[fact] ERR-1043 says that the mail of invoices was refused"),
        ("\"ERR-1042\" invoices", "[fact] ERR-1042 says that the disk of invoices is full"),
        ("photoc*", "[fact] The decision about photocopies was never written down"),
        ("[decision] invoices", "[decision] Invoices are kept for ten years"),
        ("[decision]", "[decision] Invoices are kept for ten years"),
        ("invoices -disk -mail", "[decision] Invoices are kept for ten years"),
    ] {
        let reply = found(&mut project, json!({"query": query}));
        assert_eq!(reply["results"][0]["matched_observation"], first, "{query}: {reply}");
        let in_note =
            project.call("query_observations", json!({"entity_name": "Billing", "query": query}));
        assert_eq!(in_note["results"][0]["content"], first, "{query}: {in_note}");
    }
    let filed = found(&mut project, json!({"query": "[decision] invoices"}));
    assert_eq!(filed["results"][0]["observations"].as_array().map(Vec::len), Some(1), "{filed}");
    for odd in ["[", "[]", "***", "\"", "-", "[nothing] like (this", "AND OR NOT"] {
        found(&mut project, json!({"query": odd}));
    }
}

#[test]
fn the_observations_that_match_are_shown_not_the_first_ones_and_within_the_budget() {
    let mut project = TestProject::of(&[]);
    let mut observations: Vec<String> =
        (1..=60).map(|at| format!("Shelf {at} holds jars of pickled fruit")).collect();
    observations[45] = "The ladder is lent to Cleo".into();
    observations[57] = "Cleo brings the ladder back on Sunday".into();
    project.call(
        "create_entities",
        json!({"entities": [{"name": "Cellar", "entity_type": "room", "observations": observations}]}),
    );
    let reply = found(&mut project, json!({"query": "who has the ladder?"}));
    let mut fits = shown(&reply);
    fits.sort_unstable();
    assert_eq!(fits, [observations[57].as_str(), observations[45].as_str()], "{reply}");
    let whole = all(&reply["entities"][0]["observations"], "content");
    assert!(whole.len() == 20 && whole.contains(&observations[45].as_str()), "{reply}");
    let few = text(&mut project, json!({"query": "who has the ladder?"}));
    assert!(few.contains("lent to Cleo") && few.contains("back on Sunday"), "{few}");
    assert!(!few.contains("pickled") && few.chars().count() <= 3_000, "{few}");
    let many = json!({"query": "jars of fruit on shelves", "max_chars": 600});
    let many = text(&mut project, many);
    assert!(many.chars().count() <= 600, "{many}");
    let all_of_it = json!({"entity_name": "Cellar", "query": "jars", "limit": 60});
    let all_of_it = project.call("query_observations", all_of_it);
    assert_eq!(all_of_it["results"].as_array().map(Vec::len), Some(60), "{all_of_it}");
}

#[test]
fn the_turn_after_a_question_is_found_by_the_question() {
    let mut project = TestProject::of(&[]);
    let mut turns: Vec<String> =
        ["bought pears", "fed the cat", "painted the gate", "missed the bus"]
            .iter()
            .flat_map(|it| [format!("Ana: Today I {it}."), format!("Ben: So you {it}, fine.")])
            .collect();
    turns.insert(4, "Ana: Who borrowed our telescope last winter?".into());
    turns.insert(5, "Ben: My cousin Edgar, he still owes us a visit.".into());
    project.call(
        "create_entities",
        json!({"entities": [{"name": "Talk", "entity_type": "conversation", "observations": turns}]}),
    );
    let reply = found(&mut project, json!({"query": "who borrowed the telescope last winter?"}));
    let contents = all(&reply["results"][0]["observations"], "content");
    assert_eq!(contents[..2], turns[4..6], "{reply}");
    let speakers = all(&reply["results"][0]["observations"], "speaker");
    assert_eq!(speakers[..2], ["Ana", "Ben"]);
}

#[test]
fn a_question_of_a_time_favors_what_is_of_that_time_in_every_search() {
    let mut project = TestProject::of(&[]);
    for (path, month, place) in
        [("a.md", "March", "harbor"), ("b.md", "June", "museum"), ("c.md", "August", "castle")]
    {
        let text = format!(
            "# Outing {path}\n\n4 {month} 2023\n\nAna: We went to the {place} with the children.\n"
        );
        project.write(path, text);
    }
    project.settle();
    let question = "where did Ana go with the children in June 2023";
    let hits = project.call("hybrid_query", json!({"q": question}));
    assert_eq!(hits["chunks"][0]["path"], "b.md", "{hits}");
    let answer = project.call("ask", json!({"query": question})).to_string();
    let at = |place: &str| answer.find(place).unwrap_or(usize::MAX);
    assert!(at("museum") < at("castle").min(at("harbor")), "{answer}");
}

#[test]
fn a_note_without_a_type_is_found_by_what_memory_keeps_in_it_and_opened_by_its_heading() {
    let mut project = TestProject::empty();
    project.write("signing.md", "# Signing keys\n\nThe service signs releases.\n");
    project.write("bob.md", "---\ntype: person\npermalink: people/bob\n---\n# Robert Miller\n");
    project.write("other.md", "# Other\n\nA note that memory has nothing of: zeppelins.\n");
    project.start();
    project.settle();
    let kept = json!({"text": "Ann prefers zeppelins to trains", "about": "Signing keys"});
    assert_eq!(project.call("remember", kept)["path"], "signing.md");
    let reply = found(&mut project, json!({"query": "who prefers zeppelins"}));
    assert_eq!(names(&reply).first(), Some(&"signing"), "{reply:#}");
    assert!(!names(&reply).contains(&"other"), "{reply:#}");
    assert_eq!(shown(&reply), ["[preference] Ann prefers zeppelins to trains"]);
    // What is written goes to names and addresses alone, and what is read to headings, too; the list of entities is
    // unchanged.
    let added = json!({"observations": [
        {"entity_name": "Robert Miller", "contents": ["Lives in Ghent"]},
        {"entity_name": "people/bob", "contents": ["Plays chess"]},
        {"entity_name": "signing keys", "contents": ["They are two"]},
        {"entity_name": "signing", "contents": ["They are two"]}]});
    let added = project.call("add_observations", added);
    let codes = [&added["results"][0]["error"]["code"], &added["results"][2]["error"]["code"]];
    assert_eq!(codes, ["refused", "refused"], "{added:#}");
    let written = [&added["results"][1]["entity_name"], &added["results"][3]["entity_name"]];
    assert_eq!(written, ["bob", "signing"], "{added:#}");
    let opened = project.call("open_nodes", json!({"names": ["Signing keys", "Robert Miller"]}));
    assert_eq!(all(&opened["entities"], "name"), ["signing", "bob"], "{opened:#}");
    assert_eq!(all(&project.call("read_graph", json!({}))["entities"], "name"), ["bob"]);
}
