//! Questions through the whole daemon: what one passage leads to, names in other spellings, and
//! scores that add up.

use serde_json::{Value, json};
use tests::TestProject;

/// The second half of the answer shares no word with the question; other passages share many.
const FILM: &[(&str, &str)] = &[
    (
        "Lighthouse Affair.md",
        "# Lighthouse Affair\n\nThe film was made by the director Torvald Enberg in one summer.\n",
    ),
    ("Torvald Enberg.md", "# Torvald Enberg\n\nA farm near Uppsala, where his father kept bees.\n"),
    ("Greta Holm.md", "# Greta Holm\n\nShe was born to the director of a school.\n"),
    ("Anton Sand.md", "# Anton Sand\n\nThe director of a bank, born in a lighthouse.\n"),
    ("Ida Falk.md", "# Ida Falk\n\nBorn at sea. An affair of the heart made her a director.\n"),
    ("bees.txt", "Bees need clover. Nobody was born there.\n"),
];

const QUESTION: &str = "Where was the director of the Lighthouse Affair born?";

fn project(files: &[(&str, &str)], settings: &[&str]) -> TestProject {
    let mut project = TestProject::empty();
    for (path, text) in files {
        project.write(path, text);
    }
    for setting in settings {
        project.set(setting);
    }
    project.start();
    project.settle();
    project
}

fn ask(project: &mut TestProject, question: &str) -> Value {
    project.call("hybrid_query", json!({"q": question, "max_chars": 20_000}))
}

fn paths(reply: &Value) -> Vec<&str> {
    let chunks = reply["chunks"].as_array().expect("hits");
    chunks.iter().map(|hit| hit["path"].as_str().expect("a path")).collect()
}

#[test]
fn a_name_in_the_best_passage_leads_to_the_one_that_the_question_does_not_name() {
    let mut with = project(FILM, &[]);
    let reply = ask(&mut with, QUESTION);
    assert_eq!(paths(&reply)[..2], ["Lighthouse Affair.md", "Torvald Enberg.md"], "{reply:#}");
    let why = reply["explanations"][1].as_str().expect("a reason");
    assert!(why.contains("Torvald Enberg as in Lighthouse Affair.md"), "{why}");
    let nothing = ["names", "bridge", "graph"].map(|it| format!("retrieval.weights.{it}=0"));
    let mut without = project(FILM, &nothing.each_ref().map(String::as_str));
    let reply = ask(&mut without, QUESTION);
    assert_ne!(paths(&reply)[1], "Torvald Enberg.md", "or this proves nothing: {reply:#}");
}

#[test]
fn words_that_many_passages_hold_alike_do_not_outweigh_what_is_meant() {
    let ticket = |i: usize| {
        format!(
            "# Ticket {i}\n\nCustomers of the bakery keep asking whether bread of order {i} was good: flour, yeast, \
             salt, butter, sugar and rye were missing in batch {i}.\n"
        )
    };
    let tickets: Vec<(String, String)> = (0..30).map(|i| (format!("t{i}.md"), ticket(i))).collect();
    let mut files: Vec<(&str, &str)> =
        tickets.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push((
        "garage.md",
        "# Garage\n\nCar maintenance: change the engine oil each spring, look at brakes and tyres.\n",
    ));
    let first = |settings: &[&str], question| {
        let reply = ask(&mut project(&files, settings), question);
        paths(&reply)[0].to_string()
    };
    let question = "keep your automobile in good order";
    assert_eq!(first(&[], question), "garage.md");
    assert_ne!(
        first(&["retrieval.weights.unsure=1"], question),
        "garage.md",
        "or it proves nothing"
    );
    assert_ne!(first(&[], "\"good\" order"), "garage.md", "what is demanded is trusted");
}

#[test]
fn a_list_of_links_does_not_stand_for_the_passage_that_says_it() {
    // Different words in each, so that they are not taken for one text.
    let steps = |of: &str| -> String {
        (0..12)
            .map(|i| format!("Step {of}{i} takes a while, and operator {of}op{i} waits. "))
            .collect()
    };
    let (first, second) = (steps("before"), steps("after"));
    let page = format!(
        "# Rotate the signing keys\n\nTo rotate a signing key, make a new one and revoke the old. {first}\n\n\
         ## Afterwards\n\n{second}\n\n## See also\n\n- [Signing](signing.md)\n"
    );
    let other = "# Signing\n\nDocuments are signed here. See the page about how to rotate keys.\n";
    let mut project = project(&[("rotate.md", &page), ("signing.md", other)], &[]);
    let reply = ask(&mut project, "how do we rotate the signing keys");
    let first = &reply["chunks"][0];
    assert_eq!(first["path"], "rotate.md");
    assert!(first["snippet"].as_str().expect("words").contains("make a new one"), "{reply:#}");
    assert!(first["components"]["own_words"].as_f64().expect("told") > 0.0, "{first:#}");
    let scores: Vec<f64> = reply["chunks"]
        .as_array()
        .expect("hits")
        .iter()
        .map(|hit| hit["score"].as_f64().expect("a score"))
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[test]
fn a_name_that_many_documents_share_leads_nowhere() {
    let mut files =
        vec![("start.txt", "The lamp of the pier was lit by Torvald Enberg.\n".to_string())];
    let logs: Vec<String> = (0..12).map(|i| format!("log-{i}.txt")).collect();
    let text =
        |i: usize| format!("Day {i}: Torvald Enberg came in and went out again, number {i}.\n");
    files.extend(logs.iter().enumerate().map(|(i, path)| (path.as_str(), text(i))));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let mut project = project(&files, &[]);
    let reply = ask(&mut project, "lamp of the pier");
    assert_eq!(paths(&reply)[0], "start.txt");
    let explanations = reply["explanations"].to_string();
    assert!(!explanations.contains(" as in "), "{explanations}");
}

#[test]
fn components_sum_to_the_score_under_every_formula() {
    let mut project = project(FILM, &[]);
    for formula in ["hybrid", "rrf", "minmax", "s0", "s4", "text", "vector"] {
        let reply = project.call("hybrid_query", json!({"q": QUESTION, "formula": formula}));
        let hits = reply["chunks"].as_array().expect("hits");
        assert!(!hits.is_empty(), "{formula}");
        for hit in hits {
            let components = hit["components"].as_object().expect("components");
            let sum: f64 = components.values().filter_map(Value::as_f64).sum();
            let score = hit["score"].as_f64().expect("a score");
            assert!((sum - score).abs() < 1e-6, "{formula}: {hit:#}");
        }
    }
}

#[test]
fn a_misspelt_name_is_linked_and_searched_as_it_is_known() {
    let mut project = project(FILM, &[]);
    let reply = ask(&mut project, "what about torvald enbegr");
    assert_eq!(reply["entities"][0]["name"], "Torvald Enberg", "{reply:#}");
    assert_eq!(paths(&reply)[0], "Torvald Enberg.md", "{reply:#}");
    // A word that occurs in a note is not a typo.
    let reply = ask(&mut project, "what needs clover");
    assert_eq!(reply["entities"], json!([]), "{reply:#}");
}

#[test]
fn what_a_question_names_is_searched_by_its_other_names() {
    let files = [
        ("Sealing Desk.md", "---\naliases: [SDK]\n---\n# Sealing Desk\n\nWax and paper.\n"),
        ("log.txt", "On Mondays the Sealing Desk is closed.\n"),
        ("other.txt", "On Mondays the post office is closed.\n"),
    ];
    let mut with = project(&files, &[]);
    let question = json!({"q": "SDK", "formula": "text"});
    let reply = with.call("hybrid_query", question.clone());
    assert!(paths(&reply).contains(&"log.txt"), "{reply:#}");
    let mut without = project(&files, &["retrieval.other_names=false"]);
    assert!(!paths(&without.call("hybrid_query", question)).contains(&"log.txt"));
}

#[test]
fn one_document_does_not_fill_the_answer() {
    let section = |i: usize| {
        // Different words in each, so that they are not taken for one text.
        let more: String = (0..80).map(|n| format!("item{i}of{n} ")).collect();
        format!("## Lamp {i}\n\nThe lamp number {i} burns oil in the tower of Varn. {more}\n\n")
    };
    let long: String = (0..8).map(section).collect();
    let files = [
        ("long.md", format!("# Lamps\n\n{long}")),
        ("short.txt", "A lamp burns oil on the pier, too.\n".to_string()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let place = |weight: &str| {
        let mut project = project(&files, &[&format!("retrieval.weights.same_document={weight}")]);
        let reply = ask(&mut project, "lamp burns oil in the tower of Varn");
        let found = paths(&reply).iter().position(|path| *path == "short.txt");
        (found.expect("found"), reply["chunks"].to_string().contains("same_document"))
    };
    let (filled, spread) = (place("0"), place("0.5"));
    assert!(spread.0 < filled.0, "{filled:?} {spread:?}");
    assert_eq!((filled.1, spread.1), (false, true));
}

#[test]
fn a_relation_of_the_settings_that_nothing_states_is_told_in_the_status_and_costs_no_question() {
    let mut project = TestProject::empty();
    project.write("keys.md", "# Keys\n\nThe keys rotate weekly.\n");
    project.write("kg.yaml", "retrieval:\n  rels: [frobnicates, depends_on]\n");
    project.start();
    project.settle();
    assert_eq!(ask(&mut project, "rotate keys")["chunks"][0]["path"], "keys.md");
    let warnings = project.status()["warnings"].to_string();
    assert!(
        warnings.contains("`retrieval.rels` of the settings names `frobnicates`"),
        "{warnings}"
    );
    assert!(!warnings.contains("names `depends_on`"), "{warnings}");
    assert!(!warnings.contains("` makes it count"), "{warnings}");
    // In a request it is an error.
    let error = project.try_call("hybrid_query", json!({"q": "keys", "rels": ["frobnicates"]}));
    assert_eq!(error.expect_err("unknown")["message"], "no relation `frobnicates`");

    project.write("kg.yaml", "retrieval:\n  rels: []\n");
    let warnings = project.status()["warnings"].to_string();
    assert!(warnings.contains("` makes it count"), "{warnings}");
}

/// Two notes that words and meaning match alike; a reranking model prefers the one that says
/// `amber`.
const LAMPS: &[(&str, &str)] = &[
    ("one.md", "# One\n\nThe lamp of the harbor is lit at dusk.\n"),
    ("two.md", "# Two\n\nThe lamp of the harbor is lit at dusk amber.\n"),
];

#[test]
fn a_model_of_the_users_orders_the_best_passages_anew_and_its_part_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("pairs");
    onnx::sample::write_pair_model(&model, &[("amber", 6.0)]).expect("written");
    let setting = format!("retrieval.rerank.model={}", model.display());
    let question = "lamp of the harbor is lit at dusk";
    let mut without = project(LAMPS, &[]);
    assert_eq!(paths(&ask(&mut without, question))[0], "one.md");
    let mut with = project(LAMPS, &[&setting, "retrieval.rerank.weight=3"]);
    let reply = ask(&mut with, question);
    assert_eq!(paths(&reply), ["two.md", "one.md"], "{reply}");
    let hit = &reply["chunks"][0];
    assert!(hit["components"]["rerank"].as_f64() > Some(2.9), "{hit}");
    let sum: f64 =
        hit["components"].as_object().expect("parts").values().filter_map(Value::as_f64).sum();
    assert!((sum - hit["score"].as_f64().expect("a score")).abs() < 0.002, "{hit}");
    assert!(reply["explanations"][0].as_str().expect("a reason").contains("rerank"), "{reply}");
    let alone = json!({"q": question, "formula": "text"});
    let reply = with.call("hybrid_query", alone);
    assert!(reply["chunks"][0]["components"]["rerank"].is_null(), "one signal alone stays alone");
}

#[test]
fn a_reranking_model_that_cannot_be_used_is_told_and_costs_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("model.onnx"), "none").expect("written");
    let setting = format!("retrieval.rerank.model={}", folder.path().display());
    let mut project = project(LAMPS, &[&setting]);
    assert_eq!(paths(&ask(&mut project, "lamp of the harbor")).len(), 2);
    let warnings = project.status()["warnings"].to_string();
    assert!(
        warnings.contains("`retrieval.rerank.model` cannot be used, so hits keep their order"),
        "{warnings}"
    );

    // A missing model is reported at once, also in the log.
    for model in ["/nowhere/at/all", "some/where"] {
        let mut project = self::project(LAMPS, &[&format!("retrieval.rerank.model={model}")]);
        let why = format!("there is no folder `{model}`");
        let warning = project.status()["warnings"][0]["warning"].to_string();
        assert!(warning.contains(&why) && warning.contains("hint:"), "{warning}");
        assert!(project.log().contains(&why), "{}", project.log());
        assert_eq!(paths(&ask(&mut project, "lamp of the harbor")).len(), 2);
    }
    // A folder may not name a file of the user.
    let mut project = TestProject::empty();
    project.write("kg.yaml", "retrieval:\n  rerank:\n    model: /tmp/evil\n");
    let ended = project.try_start().expect_err("refused");
    assert!(
        ended.log.contains("`retrieval.rerank.model` cannot be set by a folder"),
        "{}",
        ended.log
    );
}

#[test]
fn a_hit_by_a_part_of_a_word_is_not_weak() {
    let mut project = project(
        &[
            (
                "jobs.txt",
                "The class KeyRotationJob calls getUserById and encrypts what it finds.\n",
            ),
            ("sign.md", "---\naliases: [SDK]\n---\n# Sealing Desk\n\nWax and paper.\n"),
            ("log.txt", "On Mondays the Sealing Desk is closed.\n"),
            ("other.txt", "Barley and oats were sown on the hill in April.\n"),
        ],
        &[],
    );
    for (question, path) in [
        ("rotation", "jobs.txt"),
        ("user by id", "jobs.txt"),
        ("get user by id", "jobs.txt"),
        ("encryp*", "jobs.txt"),
        ("rotatoin", "jobs.txt"),
        ("SDK", "log.txt"),
    ] {
        let reply = ask(&mut project, question);
        let hits = reply["chunks"].as_array().expect("hits");
        let hit = hits
            .iter()
            .find(|hit| hit["path"] == path)
            .unwrap_or_else(|| panic!("{question}: {reply:#}"));
        assert_eq!(hit["weak"], Value::Null, "{question}: {reply:#}");
        assert_eq!(reply["nothing_relevant"], Value::Null, "{question}");
    }
}

#[test]
fn signs_find_nothing_and_common_words_only_what_is_typed() {
    let mut project = project(
        &[
            ("hamlet.txt", "To be or not to be, that is the question of the prince.\n"),
            ("who.txt", "The WHO met in Geneva. Of the delegates, some left.\n"),
            ("boats.txt", "The ferry is in the harbor and the boats are out.\n"),
        ],
        &[],
    );
    for question in ["???", "🎉", "…", "-- //"] {
        let reply = ask(&mut project, question);
        assert_eq!(
            (paths(&reply).len(), &reply["nothing_relevant"]),
            (0, &json!(true)),
            "{question}"
        );
        assert!(reply["hint"].as_str().expect("a hint").contains("no letter or digit"), "{reply}");
    }
    for (question, strong) in [
        ("to be or not to be", &["hamlet.txt"][..]),
        ("WHO", &["who.txt"]),
        ("the of and", &[]),
        ("who", &[]),
    ] {
        let reply = ask(&mut project, question);
        let hits = reply["chunks"].as_array().expect("hits");
        let found: Vec<&str> = hits
            .iter()
            .filter(|hit| hit["weak"] != true)
            .filter_map(|hit| hit["path"].as_str())
            .collect();
        assert_eq!(found, strong, "{question}: {reply:#}");
        assert_eq!(reply["nothing_relevant"] == true, strong.is_empty(), "{question}: {reply:#}");
    }
}

#[test]
fn a_file_s_name_brings_that_file() {
    let filler: String = (0..60)
        .map(|n| format!("Line {n} of many on other matters, keys md and docs.\n\n"))
        .collect();
    let mut project = project(
        &[
            (
                "docs/keys.md",
                &format!(
                    "# Signing\n\nOf seals.\n\n{filler}The version 1.2.3 is here, 10 after.\n"
                ),
            ),
            ("docs/keys.md.txt", "keys.md keys.md docs keys md\n"),
            ("old/keys.md", "# Old\n\nAnother.\n"),
            ("notes.txt", "In keys.md there are keys; docs and md, 12.\n"),
        ],
        &[],
    );
    for question in ["docs/keys.md", "./docs/keys.md", "Docs/Keys.md", "docs/keys.md:12"] {
        let reply = ask(&mut project, question);
        assert_eq!(paths(&reply)[0], "docs/keys.md", "{question}: {reply:#}");
        assert_eq!(reply["chunks"][0]["weak"], Value::Null, "{question}");
    }
    let reply = ask(&mut project, "keys.md");
    let mut first = paths(&reply)[..2].to_vec();
    first.sort();
    assert_eq!(first, ["docs/keys.md", "old/keys.md"], "{reply:#}");
    let reply = project.call("hybrid_query", json!({"q": "1.2.3", "max_chars": 400, "k": 3}));
    assert!(reply["chunks"][0]["snippet"].as_str().expect("text").contains("1.2.3"), "{reply:#}");
}

/// Questions of all kinds about the sample corpus.
const QUESTIONS: [&str; 7] = [
    "how do we rotate the signing keys",
    "who owns the Signing Service?",
    "token",
    "the gateway AND node",
    "key -draft",
    "rotat* service",
    "what happens when a disk is full",
];

#[test]
fn what_mentions_an_entity_is_found_however_much_stands_around_it() {
    let watch =
        |i: usize| format!("## Watch {i}\n\nAlert rules of tower {i} ring bell {}.\n\n", i * 7);
    let mut book = format!("# Log\n\n{}", (0..220).map(watch).collect::<String>());
    book += "## Oil\n\nWilhelmina Hargreave fills the lamp.\n\n";
    book.extend((220..440).map(watch));
    let own = "# Wilhelmina Hargreave\n\nShe was born at sea.\n";
    let settings = ["chunk.min_tokens=0", "chunk.max_tokens=50", "chunk.overlap_tokens=0"];
    let mut project = project(&[("book.md", &book), ("w.md", own)], &settings);
    for formula in ["hybrid", "rrf", "s4", "vector"] {
        let request =
            json!({"q": "alert rules", "entity": "Wilhelmina Hargreave", "formula": formula});
        let reply = project.call("hybrid_query", request);
        let mut found = paths(&reply);
        found.sort_unstable();
        assert_eq!(found, ["book.md", "w.md"], "{formula}: {reply}");
        for hit in reply["chunks"].as_array().expect("hits") {
            let taken = &hit["components"]["same_document"];
            assert!(taken.is_null(), "{formula}: each is the only hit of its document: {hit}");
        }
    }
    let mut request = json!({"q": "alert rules bell", "k": 100, "max_chars": 100_000});
    for n_shown in [100, 200, 300, 400] {
        if n_shown == 400 {
            // A cursor of 300 hits takes at most half of a small budget.
            request["max_chars"] = 200.into();
            let whole = project.client().call_whole("hybrid_query", request.clone());
            let whole = whole.expect("an answer");
            let text = whole["content"][0]["text"].as_str().expect("text");
            let structured = &whole["structuredContent"];
            let cursor = structured["next_cursor"].as_str().expect("a cursor");
            assert!(text.contains(cursor), "who reads the text can go on, too: {text}");
            assert!(
                text.chars().count()
                    <= 100 + "more: the same question with cursor \n".len() + cursor.len()
            );
            request["format"] = "json".into();
            let small = project.client().call_whole("hybrid_query", request.clone());
            let small = small.expect("an answer")["structuredContent"].take();
            assert_eq!(paths(&small).len(), 1, "{small}");
            assert!(small.to_string().chars().count() <= 400 + cursor.len(), "{small}");
            request.as_object_mut().expect("an object").remove("format");
            request["max_chars"] = 100_000.into();
        }
        let page = project.call("hybrid_query", request.clone());
        assert_eq!(paths(&page).len(), 100, "{n_shown}");
        let hint = page["hint"].as_str().unwrap_or_default();
        assert_eq!(
            hint.starts_with("only the first 400 hits are ranked"),
            n_shown == 400,
            "{hint}"
        );
        assert_eq!(page["next_cursor"].is_null(), n_shown == 400);
        request["cursor"] = page["next_cursor"].clone();
    }
}

#[test]
fn more_hits_come_behind_those_of_a_shorter_answer() {
    let files = crate::determinism::corpus();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = project(&files, &["recognize.deep=false", "embed.background=off"]);
    let mut ask = |q: &str, k: usize, formula: &str, cursor: &Value| {
        let mut request = json!({"q": q, "k": k, "formula": formula, "max_chars": 100_000});
        if cursor.is_string() {
            request["cursor"] = cursor.clone();
        }
        project.call("hybrid_query", request)
    };
    let refs = |reply: &Value| -> Vec<String> {
        let hits = reply["chunks"].as_array().expect("hits");
        hits.iter().map(|hit| hit["ref"].as_str().expect("a ref").to_string()).collect()
    };
    for question in QUESTIONS {
        for formula in ["hybrid", "minmax"] {
            let all = refs(&ask(question, 100, formula, &Value::Null));
            for k in [1, 5, 20, 45] {
                let some = refs(&ask(question, k, formula, &Value::Null));
                assert_eq!(some, all[..k.min(all.len())], "{question} {formula} {k}");
            }
            let (mut paged, mut cursor) = (Vec::new(), Value::Null);
            while paged.len() < all.len() {
                let page = ask(question, 30, formula, &cursor);
                paged.extend(refs(&page));
                cursor = page["next_cursor"].clone();
                assert!(
                    cursor.is_string() || paged.len() >= all.len(),
                    "{question}: {}",
                    paged.len()
                );
            }
            assert_eq!(paged[..all.len()], all, "{question} {formula}");
        }
    }
}

/// The same words at two times and by two speakers.
const TALK: &[(&str, &str)] = &[
    ("talk/1.md", "Ann (3 May 2023): I bought a tent in the blue shop.\n"),
    ("talk/2.md", "Ben (1 June 2023): Our trip to Rome begins today.\n"),
    ("talk/3.md", "Ann (20 June 2023): I bought a tent in the red shop.\n"),
    ("talk/4.md", "Cleo (2 July 2023): The harbor is loud, and Ann sleeps badly.\n"),
    ("talk/5.md", "Ann (3 July 2023): The harbor is loud, and Cleo sleeps badly.\n"),
];

#[test]
fn an_event_says_which_time_is_meant_and_a_name_who_speaks() {
    let mut project = project(TALK, &["recognize.deep=false", "embed.background=off"]);
    for (question, best, other, signal) in [
        ("which tent was bought before the trip to Rome?", "talk/1.md", "talk/3.md", "when"),
        ("which tent was bought after the trip to Rome?", "talk/3.md", "talk/1.md", "when"),
        ("what does Ann say of the harbor?", "talk/5.md", "talk/4.md", "speaker"),
        ("what does Cleo say of the harbor?", "talk/4.md", "talk/5.md", "speaker"),
    ] {
        let reply = ask(&mut project, question);
        let place = |path: &str| paths(&reply).iter().position(|it| *it == path);
        assert!(
            place(best).expect("a hit") < place(other).expect("a hit"),
            "{question}: {reply:#}"
        );
        for (path, expected) in [(best, true), (other, false)] {
            let hit = &reply["chunks"][place(path).expect("a hit")];
            assert_eq!(hit["components"][signal].is_number(), expected, "{question}: {hit:#}");
        }
    }
}
