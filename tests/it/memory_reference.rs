//! Calls of the reference server-memory, recorded with its answers
//! (`tests/data/server-memory.json`) and replayed: the answers must be equivalent. Also measures
//! what perspectives would add to vectors (`tests/data/perspectives.tsv`).
//!
//! Equivalent: the same names, types, observations in the same order, and relations. Two
//! differences are intended: a request that the reference refuses as a whole because one name is
//! missing is answered item by item, and a search finds more than exact substrings.

use std::collections::BTreeSet;
use std::path::Path;

use embed::{Builtin, Embedder, StaticModel, WordPiece, cosine};
use serde_json::{Value, json};
use tests::TestProject;

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    std::fs::read_to_string(path).expect("it is there")
}

fn texts(list: &Value) -> Vec<String> {
    let text = |it: &Value| it.as_str().or(it["content"].as_str()).unwrap_or("?").to_string();
    list.as_array().into_iter().flatten().map(text).collect()
}

fn entities(reply: &Value) -> BTreeSet<(String, String, Vec<String>)> {
    let one = |it: &Value| {
        let kind = it["entityType"].as_str().or(it["entity_type"].as_str()).unwrap_or_default();
        let name = it["name"].as_str().unwrap_or_default();
        (name.to_string(), kind.to_string(), texts(&it["observations"]))
    };
    reply["entities"].as_array().into_iter().flatten().map(one).collect()
}

fn relations(list: &Value) -> BTreeSet<[String; 3]> {
    let one = |it: &Value| {
        let kind = it["relationType"].as_str().or(it["relation_type"].as_str()).unwrap_or_default();
        [it["from"].as_str().unwrap_or_default(), kind, it["to"].as_str().unwrap_or_default()]
            .map(str::to_string)
    };
    list.as_array().into_iter().flatten().map(one).collect()
}

#[test]
fn recorded_calls_of_the_reference_server_have_equivalent_answers() {
    let recorded: Value = serde_json::from_str(&data("server-memory.json")).expect("JSON");
    let mut project = TestProject::empty();
    project.start();
    project.settle();
    for call in recorded["calls"].as_array().expect("calls") {
        let tool = call["tool"].as_str().expect("a name");
        let theirs = &call["reply"];
        let ours = project.call(tool, call["arguments"].clone());
        match tool {
            "create_entities" => {
                let names = |reply: &Value| {
                    entities(reply).into_iter().map(|it| (it.0, it.1)).collect::<Vec<_>>()
                };
                assert_eq!(names(&ours), names(theirs), "{ours}");
            }
            "create_relations" => {
                assert_eq!(relations(&ours["created"]), relations(&theirs["relations"]), "{ours}");
            }
            "add_observations" if call["is_error"] == true => {
                assert_eq!(ours["results"][0]["not_found"], true);
            }
            "add_observations" => {
                let rows = theirs["results"].as_array().expect("rows");
                for (one, other) in rows.iter().zip(ours["results"].as_array().expect("rows")) {
                    assert_eq!(one["entityName"], other["entity_name"]);
                    assert_eq!(texts(&one["addedObservations"]), texts(&other["added"]));
                }
            }
            "search_nodes" => {
                let found: Vec<&str> = ours["results"]
                    .as_array()
                    .expect("rows")
                    .iter()
                    .filter_map(|it| it["name"].as_str())
                    .collect();
                let first: BTreeSet<String> = entities(theirs).into_iter().map(|it| it.0).collect();
                let ours_first: BTreeSet<String> =
                    found.iter().take(first.len()).map(ToString::to_string).collect();
                assert_eq!(ours_first, first, "{ours}");
                assert!(entities(&ours).is_superset(&entities(theirs)), "{ours}");
                let theirs = relations(&theirs["relations"]);
                assert!(relations(&ours["relations"]).is_superset(&theirs), "{ours}");
            }
            "open_nodes" | "read_graph" => {
                assert_eq!(entities(&ours), entities(theirs), "{ours}");
                assert_eq!(
                    relations(&ours["relations"]),
                    relations(&theirs["relations"]),
                    "{ours}"
                );
            }
            // These answer in words; the graph that is read next shows their effect.
            "delete_entities" | "delete_observations" | "delete_relations" => {}
            other => panic!("{other} is not recorded"),
        }
    }
    what_has_nothing_to_do_with_memory_is_flagged(&mut project);
}

/// Checks which of 30 paraphrased questions and 8 questions about nothing stored are flagged as
/// weak.
fn what_has_nothing_to_do_with_memory_is_flagged(project: &mut TestProject) {
    let text = data("perspectives.tsv");
    let pairs: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
    let named = |at: usize| format!("Fact {at}");
    let one = |(at, (fact, _)): (usize, &(&str, &str))| json!({"name": named(at), "entity_type": "fact", "observations": [fact]});
    let all: Vec<Value> = pairs.iter().enumerate().map(one).collect();
    project.call("create_entities", json!({"entities": all}));
    let mut search = |question: &str| project.call("search_nodes", json!({"query": question}));
    let (mut n_found, mut n_kept) = (0, 0);
    for (at, (_, question)) in pairs.iter().enumerate() {
        let found = search(question);
        let rows = found["results"].as_array().expect("rows").clone();
        let right = rows.iter().find(|it| it["name"] == named(at).as_str());
        n_found += usize::from(right.is_some());
        n_kept += usize::from(right.is_some_and(|it| it["weak"] != true));
    }
    let strange = [
        "qqzzxx unknown",
        "volcanic eruptions on Iceland",
        "recipe for apple pie with cinnamon",
        "quantum chromodynamics lattice",
        "football world cup winners",
        "medieval castles of Wales",
        "photosynthesis in desert plants",
        "chess openings for beginners",
    ];
    let mut n_flagged = 0;
    for question in strange {
        let found = search(question);
        assert_eq!(found["nothing_relevant"] == true, found["entities"] == json!([]), "{found}");
        n_flagged += usize::from(found["nothing_relevant"] == true);
    }
    eprintln!("kept {n_kept} of {n_found} that fit; flagged {n_flagged} of 8 that do not");
    assert!(n_found >= 29 && n_kept >= 23 && n_flagged >= 5);
}

/// What precedes a text under each perspective.
const PERSPECTIVES: [(&str, &str); 5] = [
    ("general", "What is this about: "),
    ("technical", "Technical details, systems and methods: "),
    ("relational", "How people and things are connected: "),
    ("temporal", "When things happen, in which order: "),
    ("project", "Work, plans and decisions of a project: "),
];

/// Returns the mean reciprocal rank of the right observation if every text and question is embedded
/// in several ways and the best cosine counts.
fn rank_mean(model: &dyn Embedder, pairs: &[(&str, &str)], ways: &[&str]) -> f64 {
    let embed = |text: &str| -> Vec<_> {
        ways.iter().flat_map(|before| model.embed(&[&format!("{before}{text}")])).collect()
    };
    let facts: Vec<Vec<_>> = pairs.iter().map(|(fact, _)| embed(fact)).collect();
    let mut total = 0.0;
    for (at, (_, question)) in pairs.iter().enumerate() {
        let asked = embed(question);
        let score = |fact: &Vec<_>| {
            let each = fact.iter().zip(&asked).map(|(one, other)| cosine(one, other));
            each.fold(f32::MIN, f32::max)
        };
        let right = facts.get(at).map_or(0.0, score);
        let rank = 1 + facts.iter().filter(|it| score(it) > right).count();
        total += 1.0 / rank as f64;
    }
    total / pairs.len() as f64
}

/// This is why a search reports the perspective `general` and does not embed a text five times.
#[test]
fn perspectives_add_nothing_to_the_vectors_of_either_model() {
    let text = data("perspectives.tsv");
    let pairs: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
    assert_eq!(pairs.len(), 30);
    let all: Vec<&str> = PERSPECTIVES.iter().map(|(_, before)| *before).collect();
    let fixed = StaticModel::builtin(WordPiece::builtin());
    let better = Builtin::named(config::limits::DEFAULT_MODEL, None).expect("it is built in");
    let models: [(&str, &dyn Embedder); 2] = [("static", &fixed), ("MiniLM", &better)];
    for (name, model) in models {
        let bare = rank_mean(model, &pairs, &[""]);
        let best = rank_mean(model, &pairs, &all);
        eprintln!("{name}, mean reciprocal rank: without {bare:.3}, best of five {best:.3}");
        for (name, before) in PERSPECTIVES {
            eprintln!("  {name} alone {:.3}", rank_mean(model, &pairs, &[before]));
        }
        assert!(best <= bare + 0.01, "{name}: without {bare:.3}, best of five {best:.3}");
        assert!(bare > 0.5, "{name}: {bare:.3}");
    }
}

/// The whole path of an agent: `kg-mcp --tools core,memory`.
#[test]
fn an_agent_remembers_through_the_shim_and_the_ledger_knows_who() {
    let home = tests::SharedHome::of(&[("notes", "a.md", "# A\n")]);
    let folder = home.at("notes").display().to_string();
    let mut agent = home.agent("notes", &["--project", &folder, "--tools", "core,memory"]);
    let listed = agent.ask("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(
        (names.len(), names.get(12).copied(), names.last().copied()),
        (37, Some("create_entities"), Some("read_graph"))
    );
    let entity = json!({"name": "Ada", "entity_type": "person", "observations": ["Likes poetry"]});
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments});
    let made = agent.ask("tools/call", call("create_entities", json!({"entities": [entity]})));
    let text = made["result"]["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("created Ada (person, memory/ada.md)"), "{text}");
    let found = agent.ask("tools/call", call("search_nodes", json!({"query": "who enjoys verse"})));
    let text = found["result"]["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("1. Ada (person, memory/ada.md; score"), "{text}");
}
