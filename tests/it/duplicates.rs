//! A text in several files is one hit that names its other places, over the socket.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::TestProject;

const BOILER: &str = "All trademarks belong to their owners, and nothing in this note may be passed on to anybody \
    outside of the company without the consent of the legal department in Zurich.";
const PLAN: &str = "The migration moves every customer from the old cluster to the new one within six weeks, begins \
    with the smallest tenants, and keeps a copy of each database for ninety days after the switch.";

fn page() -> String {
    format!("# Migration\n\n{PLAN}\n\n## Steps\n\n- export\n- import\n")
}

/// Renders each hit's path, and the other places that it names: `a.md +b.md:3 (1)`.
fn hits(project: &mut TestProject, query: Value) -> Vec<String> {
    let reply = project.call("hybrid_query", query);
    let hits = reply["chunks"].as_array().expect("chunks");
    let one = |hit: &Value| {
        let mut line = hit["path"].as_str().expect("a path").to_string();
        for place in hit["also_in"]["places"].as_array().into_iter().flatten() {
            line += &format!(" +{}:{}", place["path"].as_str().expect("a path"), place["line"]);
        }
        if let Some(n) = hit["also_in"]["n"].as_u64() {
            line += &format!(" ({n})");
        }
        line
    };
    hits.iter().map(one).collect()
}

fn ask(words: &str) -> Value {
    json!({"q": words, "k": 5, "max_chars": 8000})
}

#[test]
fn a_copied_page_is_one_hit_with_further_sources() {
    let page = page();
    let files = [("plan.md", page.as_str()), ("old/plan.md", &page), ("old/er/plan.md", &page)];
    let mut project = TestProject::of(&files);
    let question = "how long are copies of the customer database kept";
    assert_eq!(hits(&mut project, ask(question)), ["plan.md +old/plan.md:1 +old/er/plan.md:1 (2)"]);
    for formula in ["text", "vector", "s4"] {
        let query = json!({"q": question, "formula": formula});
        assert_eq!(hits(&mut project, query).len(), 1, "{formula}");
    }
    let text = project.agent().call_whole("hybrid_query", ask(question)).expect("a reply");
    assert!(text.to_string().contains("also in old/plan.md:1"), "{text}");
    // The first file is removed: another one answers at once, and says so.
    project.remove("plan.md");
    project.settle();
    assert_eq!(hits(&mut project, ask(question)), ["old/plan.md +old/er/plan.md:1 (1)"]);
    project.verify("the first is gone");
    project.kill9();
    project.start();
    project.rename("old/er/plan.md", "plan.md");
    project.settle();
    assert_eq!(hits(&mut project, ask(question)), ["plan.md +old/plan.md:1 (1)"]);
    project.verify("another is first");
}

#[test]
fn a_passage_that_only_shares_a_footer_is_no_further_source() {
    let soup = "The soup of the old harbor kitchen is made of beets, dill and smoked herring, and nobody who has tasted \
        it on a cold evening forgets it again.";
    let note = |title: &str, own: &str| format!("# {title}\n\n{own}\n\n{BOILER}\n");
    let (one, two) = (note("Soup", soup), note("Plans", PLAN));
    let mut project = TestProject::of(&[("b.md", &one), ("c.md", &two)]);
    let first = |project: &mut TestProject| {
        hits(project, ask("soup of beets and smoked herring")).remove(0)
    };
    assert_eq!(first(&mut project), "b.md");
    project.write("c.md", note("Plans", soup));
    project.settle();
    assert_eq!(first(&mut project), "b.md +c.md:1 (1)");
    project.write("c.md", two);
    project.settle();
    assert_eq!(first(&mut project), "b.md");
}

#[test]
fn a_filter_finds_the_copy_that_lies_inside() {
    let page = page();
    let tagged = format!("---\ntags: [archive]\ndate: 2020-01-01\n---\n{page}");
    let html = format!("<html><body><h1>Migration</h1><p>{PLAN}</p></body></html>");
    let own = page.replace("# Migration", "# Another plan");
    let files = [
        ("plan.md", page.as_str()),
        ("old/plan.md", &tagged),
        ("web/plan.html", &html),
        ("team/other.md", &own),
    ];
    let mut project = TestProject::of(&files);
    let rows = [
        (json!({"path": "old/"}), "old/plan.md"),
        (json!({"tags": ["archive"]}), "old/plan.md"),
        (json!({"type": "html"}), "web/plan.html"),
        (json!({"before": "2020-02-01"}), "old/plan.md"),
        (json!({"path": "team/"}), "team/other.md"),
        (json!({"path": "plan.md"}), "plan.md"),
    ];
    for (filter, expected) in rows {
        for formula in ["hybrid", "text", "vector", "s4"] {
            let mut query = json!({"q": "smallest tenants of the old cluster", "formula": formula});
            for (key, value) in filter.as_object().expect("an object") {
                query[key] = value.clone();
            }
            assert_eq!(hits(&mut project, query), [expected], "{filter} {formula}");
        }
    }
}

#[test]
fn a_page_of_many_folders_floods_no_answer() {
    let page = |n: usize| format!("# Town {n}\n\n{PLAN}\n\n{BOILER}\n");
    let files: Vec<(String, String)> =
        (0..60).map(|n| (format!("towns/t{n:02}.md"), page(n))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    let mut project = TestProject::of(&files);
    let found =
        hits(&mut project, json!({"q": "trademarks consent legal department", "formula": "text"}));
    assert_eq!(found, ["towns/t00.md +towns/t01.md:1 +towns/t02.md:1 +towns/t03.md:1 (59)"]);
    // The number is this note's own, the other word is indexed with the first.
    let found = hits(&mut project, json!({"q": "town 33 trademarks", "k": 3}));
    assert!(found[0].starts_with("towns/t33.md"), "{found:?}");
    let status = project.status();
    assert_eq!(status["counts"]["repeated passages"], 1);
    assert_eq!(status["counts"]["duplicate passages"], 59);
    project.verify("pages");
}

#[test]
fn a_near_copy_is_found_by_what_is_new_in_it() {
    let newer = page().replace("ninety", "seventy");
    let mut project = TestProject::of(&[("plan.md", &page()), ("plan-2.md", &newer)]);
    let text = |q: &str| json!({"q": q, "formula": "text"});
    let found = hits(&mut project, text("smallest tenants old cluster"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("(1)"), "{found:?}");
    assert!(hits(&mut project, text("seventy days"))[0].starts_with("plan-2.md"));
    assert!(hits(&mut project, text("ninety days"))[0].starts_with("plan.md"));
    project.verify("near");
}

const VAULT: &str = "---\ntype: Service\n---\n# Key Vault\n\nThe Key Vault stores keys.\n";

#[test]
fn relations_stand_while_one_of_their_places_does() {
    let page = "# Requests\n\nThe Alpha Gateway depends on the Key Vault, because every request that it takes must be \
        signed before anybody else in the platform may see it at all.\n";
    let mut project = TestProject::of(&[("a.md", page), ("b/a.md", page), ("Key Vault.md", VAULT)]);
    let evidence = |project: &mut TestProject| -> Vec<String> {
        let reply = project.call("explain_entity", json!({"name": "Key Vault"}));
        let relations = reply["relations"].as_array().expect("relations").clone();
        let depends = relations.iter().filter(|it| it["predicate"] == "depends_on");
        let paths = depends.flat_map(|it| it["evidence"].as_array().expect("evidence"));
        let paths = paths.map(|it| it["path"].as_str().expect("a path").to_string());
        // Both wording and grammar match the sentence of a place.
        paths.collect::<BTreeSet<_>>().into_iter().collect()
    };
    assert_eq!(evidence(&mut project), ["a.md", "b/a.md"]);
    project.remove("a.md");
    project.settle();
    assert_eq!(evidence(&mut project), ["b/a.md"]);
}

#[test]
fn switched_off_every_place_is_a_hit() {
    let page = page();
    let mut project = TestProject::empty();
    project.set("dedup.enabled=false");
    project.write("plan.md", &page);
    project.write("old/plan.md", &page);
    project.start();
    project.settle();
    assert_eq!(hits(&mut project, ask("customer cluster")).len(), 2);
}
