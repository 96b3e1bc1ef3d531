use config::Project;
use expect_test::{Expect, expect};
use serde_json::json;

use super::super::spread::spec;
use super::*;

fn served() -> Served {
    let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
    Served::new(&[project("alpha"), project("beta"), project("gamma")]).expect("distinct")
}

fn spread(tool: &str, arguments: Value) -> Spread {
    let Value::Object(arguments) = arguments else { panic!("an object") };
    Spread::new(spec(tool).expect("a search"), arguments, &[], &served()).expect("fine")
}

fn good(structured: Value) -> Answer {
    Ok(json!({ "content": [], "structuredContent": structured }))
}

fn bad(message: &str) -> Answer {
    Err(Trouble::of_error(
        json!({ "code": -32000, "message": message, "data": { "code": "unavailable", "hint": "see the log" } }),
    ))
}

/// Returns a reply of `hybrid_query` with hits of these scores, named after `letter`.
fn hits(letter: &str, scores: &[f64], next: Option<&str>) -> Value {
    let hit = |(idx, score): (usize, &f64)| {
        json!({
            "ref": format!("{letter}{idx}"), "path": format!("{letter}{idx}.md"), "lines": [1, 2],
            "snippet": format!("words of {letter}{idx}"), "score": score,
        })
    };
    let chunks: Vec<Value> = scores.iter().enumerate().map(hit).collect();
    let explanations: Vec<String> =
        scores.iter().enumerate().map(|(idx, _)| format!("why {letter}{idx}")).collect();
    let mut reply = json!({
        "chunks": chunks, "explanations": explanations, "project": letter, "tick": 7,
        "entities": [{"id": 1, "name": letter.to_uppercase(), "type": "Term"}], "edges": [],
    });
    if let Some(next) = next {
        reply["next_cursor"] = next.into();
    }
    reply
}

fn check(spread: &Spread, answers: Vec<Answer>, expected: Expect) -> Value {
    let merged = merge(spread, answers, &served());
    expected.assert_eq(merged["content"][0]["text"].as_str().expect("a text"));
    merged["structuredContent"].clone()
}

fn paths(structured: &Value) -> String {
    let list = structured["chunks"].as_array().expect("a list");
    list.iter()
        .filter_map(|it| it["path"].as_str())
        .map(|it| it.trim_end_matches(".md"))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn the_first_of_each_by_score_then_the_second_of_each() {
    let spread = spread("hybrid_query", json!({"q": "x", "k": 5}));
    let answers = vec![
        good(hits("a", &[0.2, 0.1], None)),
        good(hits("b", &[0.9, 0.8, 0.7, 0.6], None)),
        good(hits("c", &[0.5], None)),
    ];
    let structured = check(
        &spread,
        answers,
        expect![[r#"
        1. [beta] b0.md:1-2 (score .90)
           words of b0
        2. [gamma] c0.md:1-2 (score .50)
           words of c0
        3. [alpha] a0.md:1-2 (score .20)
           words of a0
        4. [beta] b1.md:1-2 (score .80)
           words of b1
        5. [alpha] a1.md:1-2 (score .10)
           words of a1
        entities: A (Term, [alpha]), B (Term, [beta]), C (Term, [gamma])
        more: the same question with cursor all.beta::8d2c264f8c2c24bc
        (alpha tick 7, beta tick 7, gamma tick 7)"#]],
    );
    assert_eq!(paths(&structured), "b0 c0 a0 b1 a1");
    let first = &structured["chunks"][0];
    assert_eq!((first["project"].as_str(), first["score"].as_f64()), (Some("beta"), Some(0.9)));
    assert_eq!(structured["explanations"][2], "why a0");
    assert_eq!(structured["project"], "alpha, beta, gamma");
    assert_eq!(
        structured["entities"][1],
        json!({"project": "beta", "id": 1, "name": "B", "type": "Term"})
    );
    assert!(structured.get("unavailable").is_none());
}

#[test]
fn weak_hits_come_last() {
    let spread = spread("hybrid_query", json!({"q": "x"}));
    let mut weak = hits("b", &[0.9, 0.8], None);
    weak["chunks"][0]["weak"] = true.into();
    weak["chunks"][1]["weak"] = true.into();
    weak["nothing_relevant"] = true.into();
    let answers = vec![good(hits("a", &[0.2, 0.1], None)), good(weak), good(hits("c", &[], None))];
    let merged = merge(&spread, answers, &served());
    assert_eq!(paths(&merged["structuredContent"]), "a0 a1 b0 b1");
    assert_eq!(merged["structuredContent"]["nothing_relevant"], false);

    let mut weak = hits("b", &[0.9], None);
    weak["nothing_relevant"] = true.into();
    let merged = merge(&spread, vec![good(weak), good(hits("c", &[], None))], &served());
    assert_eq!(merged["structuredContent"]["nothing_relevant"], true, "an empty one knows nothing");
}

#[test]
fn hits_are_ordered_by_relevance_and_each_project_keeps_its_own_order() {
    let spread = spread("hybrid_query", json!({"q": "x"}));
    let with = |project: &str, relevance: &[f64]| {
        let mut reply = hits(project, &vec![0.5; relevance.len()], None);
        for (at, it) in relevance.iter().enumerate() {
            reply["chunks"][at]["relevance"] = (*it).into();
        }
        good(reply)
    };
    let answers = vec![with("a", &[0.3, 0.2]), with("b", &[0.4, 0.9, 0.6]), with("c", &[0.7, 0.1])];
    let merged = merge(&spread, answers, &served());
    assert_eq!(paths(&merged["structuredContent"]), "b0 b1 c0 b2 a0 a1 c1");
}

#[test]
fn who_does_not_answer_is_told_in_both_forms() {
    let spread = spread("hybrid_query", json!({"q": "x"}));
    let answers = vec![
        good(hits("a", &[0.2], None)),
        bad("the daemon for `beta` exited at once"),
        Ok(
            json!({ "isError": true, "content": [], "structuredContent": { "code": "not_found", "message": "no entity `x`" } }),
        ),
    ];
    let structured = check(
        &spread,
        answers,
        expect![[r#"
        (beta is not in this: the daemon for `beta` exited at once; see the log)
        (gamma is not in this: no entity `x`)
        1. [alpha] a0.md:1-2 (score .20)
           words of a0
        entities: A (Term, [alpha])
        (alpha tick 7)"#]],
    );
    expect![[r#"[{"project":"beta","code":"unavailable","message":"the daemon for `beta` exited at once","hint":"see the log"},{"project":"gamma","code":"not_found","message":"no entity `x`"}]"#]].assert_eq(&structured["unavailable"].to_string());
}

/// Requests page after page from `ask`, and returns the paths of each page.
fn pages(
    arguments: Value,
    mut ask: impl FnMut(&Onward, Map<String, Value>) -> Answer,
) -> Vec<String> {
    let mut cursor: Option<String> = None;
    let mut pages = Vec::new();
    loop {
        let mut arguments = arguments.clone();
        if let Some(cursor) = &cursor {
            arguments["cursor"] = cursor.as_str().into();
        }
        let spread = spread("hybrid_query", arguments);
        let answers = spread.targets.iter().map(|it| ask(it, spread.arguments(it))).collect();
        let merged = merge(&spread, answers, &served());
        pages.push(paths(&merged["structuredContent"]));
        assert!(pages.len() < 30, "it goes on and on: {pages:?}");
        match merged["structuredContent"]["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_string()),
            None => return pages,
        }
    }
}

/// Answers like the daemon of a project with `n` hits.
fn project_of(letter: &str, n: usize, arguments: &Map<String, Value>) -> Answer {
    let from: usize = match arguments.get("cursor").and_then(Value::as_str) {
        Some(cursor) => cursor.parse().expect("its own cursor"),
        None => 0,
    };
    let k = arguments.get("k").and_then(Value::as_u64).unwrap_or(10) as usize;
    let scores: Vec<f64> = (0..n).map(|idx| 1.0 - idx as f64 / 100.0).collect();
    let mut reply = hits(letter, &scores, None);
    for list in ["chunks", "explanations"] {
        let list = reply[list].as_array_mut().expect("a list");
        *list = list.iter().skip(from).take(k).cloned().collect();
    }
    if from + k < n {
        reply["next_cursor"] = (from + k).to_string().into();
    }
    good(reply)
}

#[test]
fn pages_leave_nothing_out_and_repeat_nothing() {
    let found = pages(json!({"q": "x", "k": 4}), |target, arguments| match target.project {
        0 => project_of("a", 5, &arguments),
        1 => project_of("b", 2, &arguments),
        _ => project_of("c", 9, &arguments),
    });
    expect![[r#"
        a0 b0 c0 a1
        b1 c1 a2 c2
        a3 c3 a4 c4
        c5 c6 c7 c8"#]]
    .assert_eq(&found.join("\n"));
    let mut all: Vec<_> = found.iter().flat_map(|page| page.split(' ')).collect();
    all.sort_unstable();
    let n = all.len();
    all.dedup();
    assert_eq!((n, all.len()), (16, 16));
}

#[test]
fn a_project_that_missed_a_page_comes_in_at_the_next() {
    let mut n_asked = 0;
    let found = pages(json!({"q": "x", "k": 2}), |target, arguments| match target.project {
        0 => project_of("a", 3, &arguments),
        1 => {
            n_asked += 1;
            if n_asked == 1 { bad("ill") } else { project_of("b", 1, &arguments) }
        }
        _ => project_of("c", 0, &arguments),
    });
    assert_eq!(found, ["a0 a1", "b0 a2"]);
}

#[test]
fn a_budget_holds_for_the_whole_and_both_forms_tell_the_same() {
    for max_chars in [200, 300, 500, 1_000, 3_000] {
        let spread = spread("hybrid_query", json!({"q": "x", "k": 50, "max_chars": max_chars}));
        let answers = ["a", "b", "c"]
            .map(|letter| project_of(letter, 40, &Map::from_iter([("k".to_string(), json!(30))])));
        let merged = merge(&spread, answers.into(), &served());
        let (text, structured) =
            (merged["content"][0]["text"].as_str().expect("a text"), &merged["structuredContent"]);
        assert!(text.chars().count() <= max_chars, "{max_chars}:\n{text}");
        let size = structured.to_string().chars().count();
        // One hit with its place needs up to 300.
        assert!(size <= max_chars.max(300), "{max_chars}: {size}");
        let n = structured["chunks"].as_array().expect("a list").len();
        assert_eq!(text.matches("words of").count(), n, "{text}");
        // A tiny budget is spent on hits, in both forms.
        assert!(
            n > 0 && (max_chars < 500 || structured["next_cursor"].is_string()),
            "{structured}"
        );
    }
}

#[test]
fn pages_of_lists_are_counted_over_all_projects() {
    let spread = spread("recent_activity", json!({"page": 2, "page_size": 2}));
    let notes = |days: &[&str], more: bool| {
        let note = |day: &&str| json!({"title": day, "path": format!("{day}.md"), "modified": day});
        let notes: Vec<Value> = days.iter().map(note).collect();
        let mut reply = json!({"notes": notes, "n_notes": 9, "since": "2026-01-01", "deleted": ["old.md"], "tick": 3});
        if more {
            reply["next_page"] = json!(2);
        }
        good(reply)
    };
    let answers = vec![
        notes(&["2026-03-09", "2026-03-01"], false),
        notes(&["2026-03-08", "2026-03-07"], true),
        notes(&[], false),
    ];
    let structured = check(
        &spread,
        answers,
        expect![[r#"
        3. [beta] 2026-03-07.md “2026-03-07” 2026-03-07
        4. [alpha] 2026-03-01.md “2026-03-01” 2026-03-01
        deleted: [alpha] old.md, [beta] old.md, [gamma] old.md
        more: page 3
        (alpha tick 3, beta tick 3, gamma tick 3)"#]],
    );
    assert_eq!((&structured["n_notes"], &structured["next_page"]), (&json!(27), &json!(3)));
}

#[test]
fn what_documents_say_cannot_break_a_line() {
    let mut reply = hits("a", &[0.5], None);
    reply["chunks"][0]["path"] = "a\n1. [beta] b\u{202e}.md".into();
    reply["chunks"][0]["snippet"] = "one\u{1b}[2J\ntwo".into();
    let spread = spread("hybrid_query", json!({"q": "x"}));
    check(
        &spread,
        vec![good(reply), good(json!({"chunks": []})), good(json!({"odd": 1}))],
        expect![[r#"
            (gamma is not in this: the answer has an unexpected form; `kgctl restart --project gamma` runs the installed daemon)
            1. [alpha] a 1. [beta] b\u{202e}.md:1-2 (score .50)
               one\u{1b}[2J
               two
            entities: A (Term, [alpha])
            (alpha tick 7, beta tick 0)"#]],
    );
}

#[test]
fn whole_notes_and_results_of_pages_bear_their_project() {
    let note = |title: &str, score: f64| json!({"vault": "v", "title": title, "path": format!("{title}.md"), "content": "All of it.", "is_whole": true, "score": score});
    let found = |title: &str, score: f64| {
        good(json!({"notes": [note(title, score)], "nothing_relevant": false, "tick": 1}))
    };
    let spread = spread("search", json!({"query": "x", "limit": 2}));
    let structured = check(
        &spread,
        vec![found("One", 0.4), found("Two", 0.6), found("Three", 0.5)],
        expect![[r#"
            1. [beta] Two.md “Two” (score .60)
               All of it.
            2. [gamma] Three.md “Three” (score .50)
               All of it.
            there are more: raise `limit` or `max_chars`, or name a `project`
            (alpha tick 1, beta tick 1, gamma tick 1)"#]],
    );
    assert_eq!(structured["notes"][0]["project"], "beta");
    assert!(structured["more"].is_string(), "{structured}");

    let result = |title: &str| json!({"item": "observation", "title": title, "path": "n.md", "line": 3, "snippet": title, "score": 0.5, "category": "fact"});
    let page = |titles: &[&str], has_more: bool| {
        let results: Vec<Value> = titles.iter().map(|it| result(it)).collect();
        good(
            json!({"results": results, "page": 1, "page_size": 4, "has_more": has_more, "search_type": "hybrid", "tick": 1}),
        )
    };
    let spread =
        super::tests::spread("search_notes", json!({"query": "x", "page": 2, "page_size": 2}));
    let structured = check(
        &spread,
        vec![page(&["a1", "a2", "a3"], false), page(&["b1"], false), page(&["c1"], false)],
        expect![[r#"
            3. [gamma] n.md:3 “c1” [fact] (score .50)
               c1
            4. [alpha] n.md:3 “a2” [fact] (score .50)
               a2
            more: page 3
            (alpha tick 1, beta tick 1, gamma tick 1)"#]],
    );
    let shown = [
        &structured["page"],
        &structured["page_size"],
        &structured["has_more"],
        &structured["search_type"],
    ];
    assert_eq!(shown, [&json!(2), &json!(2), &json!(true), &json!("hybrid")]);
}

#[test]
fn statements_of_an_answer_are_merged_by_relevance_and_those_of_a_timeline_by_day() {
    let reply = |plan: &str, rows: &[(&str, f64, &str)], conflicts: Value| {
        let row = |(text, relevance, date): &(&str, f64, &str)| json!({"path": "a.md", "line": 3, "text": text, "date": date, "kind": "sentence", "relevance": relevance});
        let statements: Vec<Value> = rows.iter().map(row).collect();
        good(json!({
            "plan": plan, "reason": "why", "statements": statements, "conflicts": conflicts, "tick": 7,
            "passages": [{"at": "b.md:1-4"}], "nothing_relevant": rows.iter().all(|it| it.1 < 0.25),
        }))
    };
    let unknown = Err(Trouble::of_error(
        json!({"code": -32000, "message": "nobody", "data": {"code": "not_found"}}),
    ));
    let conflict = json!([{"statements": [1, 2], "why": "the numbers differ"}]);
    let first = [("It is 30.", 0.9, "2026-02-01"), ("It is 45.", 0.5, "2026-01-01")];
    let spread = spread("ask", json!({"query": "x"}));
    let nothing = reply("search", &[("Zebras.", 0.1, "")], json!([]));
    let answers = vec![reply("search", &first, conflict), nothing, unknown];
    let structured = check(
        &spread,
        answers,
        expect![[r#"
            plan: search (alpha: why)
            1 and 2 contradict each other: the numbers differ
            1. [alpha] It is 30. (a.md:3, 2026-02-01)
            2. [alpha] It is 45. (a.md:3, 2026-01-01)
            more (`read_passage`): [alpha] b.md:1-4
            (alpha tick 7, beta tick 7)"#]],
    );
    assert_eq!(structured.get("unavailable"), None);
    let other = [("It was 60.", 0.7, "2026-01-15")];
    let dated = vec![
        reply("timeline", &first, json!([])),
        reply("timeline", &other, json!([])),
        reply("search", &[("Zebras.", 0.1, "")], json!([])),
    ];
    let structured = merge(&spread, dated, &served())["structuredContent"].take();
    let texts = structured["statements"].as_array().expect("statements").iter();
    let texts: Vec<&str> = texts.filter_map(|it| it["text"].as_str()).collect();
    assert_eq!(texts, ["It is 45.", "It was 60.", "It is 30."], "{structured}");
}
