//! What was added, removed and changed, as an agent asks for it: by document, with the lines; even
//! after a rebuild or a crash, and without what was forgotten.

use std::process::Stdio;

use serde_json::{Value, json};
use tests::TestProject;

/// A project whose first index is complete.
fn whole() -> TestProject {
    TestProject::of(&[
        (
            "people/ana.md",
            "---\ntitle: Ana\nstatus: away\n---\n# Ana\n\n- [role] Reviewer\n- knows [[Bo]]\n",
        ),
        ("people/bo.md", "# Bo\n\nBo is calm. He reads.\n"),
        ("drafts/old.md", "# Old\n\nNothing much.\n"),
        ("ops/a.md", "# Runbook\n\nTurn it off and on.\n"),
    ])
}

/// Renders one line per change: kind, paths, and signed lines with their numbers.
fn shown(reply: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let line = |it: &Value| {
        let sign = if it["gone"] == true { '-' } else { '+' };
        let number = it["line"].as_u64().map(|n| n.to_string()).unwrap_or_default();
        format!("{sign}{number} {}", text(&it["text"]))
    };
    let change = |it: &Value| {
        let was = it["was_path"].as_str().map(|was| format!("{was} > ")).unwrap_or_default();
        let mut words = vec![format!("{} {was}{}", text(&it["kind"]), text(&it["path"]))];
        words.extend(it["lines"].as_array().into_iter().flatten().map(line));
        words.extend((it["unwatched"] == true).then(|| "unwatched".to_string()));
        words.join(" | ")
    };
    let mut all: Vec<String> =
        reply["changes"].as_array().expect("a list").iter().map(change).collect();
    all.sort();
    all
}

fn tick(project: &mut TestProject) -> u64 {
    project.status()["tick"].as_u64().expect("a tick")
}

fn since(project: &mut TestProject, tick: u64) -> Vec<String> {
    shown(&project.call("changes", json!({"since": tick, "max_chars": 50_000})))
}

#[test]
fn what_comes_changes_moves_and_goes_is_told_with_its_lines() {
    let mut project = whole();
    let first = project.call("changes", json!({}));
    assert_eq!(shown(&first), Vec::<String>::new(), "a first index is no change");
    assert!(first["hint"].as_str().is_some_and(|it| it.contains("known after tick")), "{first}");
    let start = tick(&mut project);

    project.write("notes/rotation.md", "# Rotation\n\n- [decision] Rotate keys #security\n");
    let ana = "---\ntitle: Ana\nstatus: here\n---\n# Ana\n\n- [role] Lead\n- knows [[Bo]]\n";
    project.write("people/ana.md", ana);
    project.write("people/bo.md", "# Bo\n\nBo is calm. He reads.\n");
    project.remove("drafts/old.md");
    project.rename("ops/a.md", "ops/b.md");
    project.settle();
    let expected = [
        "added notes/rotation.md | +1 Rotation | +3 - [decision] Rotate keys #security",
        "changed people/ana.md | - status: away | +3 status: here | -7 - [role] Reviewer | +7 - [role] Lead",
        "moved ops/a.md > ops/b.md",
        "removed drafts/old.md",
    ];
    // A client sees each change once; a restart does not affect that.
    assert_eq!(shown(&project.call("changes", json!({}))), expected);
    assert_eq!(since(&mut project, start), expected);
    assert_eq!(shown(&project.call("changes", json!({}))), Vec::<String>::new());
    project.restart();
    project.settle();
    assert_eq!(shown(&project.call("changes", json!({}))), Vec::<String>::new());
    assert_eq!(shown(&project.call("changes", json!({"since": "1h"}))), expected);

    let of = |project: &mut TestProject, conditions: Value| {
        let mut conditions = conditions;
        conditions["since"] = json!(format!("tick {start}"));
        shown(&project.call("changes", conditions))
    };
    assert_eq!(of(&mut project, json!({"path": "ops/"})), expected[2..3]);
    assert_eq!(of(&mut project, json!({"path": "**/*.md"})), expected);
    assert_eq!(of(&mut project, json!({"entity": "Ana"})), expected[1..2]);

    // Edits that undo each other cancel out, and lines have their current numbers.
    project.write("people/ana.md", format!("{ana}\nMore.\n"));
    project.settle();
    project.write("people/ana.md", ana.replace("# Ana\n", "# Ana\n\nHello.\n"));
    project.settle();
    let ana = of(&mut project, json!({"path": "people/"}));
    let expected = "changed people/ana.md | - status: away | +3 status: here | -7 - [role] Reviewer \
                    | +7 Hello. | +9 - [role] Lead";
    assert_eq!(ana, [expected]);
}

#[test]
fn an_index_that_is_lost_loses_no_change_and_makes_none() {
    let mut project = whole();
    let start = tick(&mut project);
    project.write("people/ana.md", "# Ana\n\n- [role] Lead\n");
    project.settle();
    let before = since(&mut project, start);
    let seen = tick(&mut project);
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    assert!(tick(&mut project) >= seen, "no tick is given twice");
    assert_eq!(since(&mut project, seen), Vec::<String>::new());
    assert_eq!(since(&mut project, start), before);
    project.stop();
    project.lose_index();
    project.write("people/bo.md", "# Bo\n\nBo is calm. He writes.\n");
    project.write("new.md", "# New\n\nSome words.\n");
    project.remove("drafts/old.md");
    project.start();
    project.settle();
    let expected = [
        "added new.md | +1 New | +3 Some words.",
        "changed people/bo.md | unwatched",
        "removed drafts/old.md | unwatched",
    ];
    assert_eq!(since(&mut project, seen), expected);
    project.verify("the journal is no part of the index");
}

#[test]
fn a_death_between_ledger_and_index_makes_no_change_twice() {
    for point in ["ledger.written", "ledger.committed", "commit.ticked", "commit.after"] {
        let mut project = whole();
        let start = tick(&mut project);
        project.stop();
        project.write("people/bo.md", "# Bo\n\nBo is calm. He writes.\n");
        project.remove("drafts/old.md");
        project.set_environment("KG_FAIL", point);
        let died = project.try_start().and_then(|()| project.settle_or_end());
        assert!(died.is_err(), "{point} was not reached");
        project.set_environment("KG_FAIL", "");
        project.start();
        project.settle();
        let expected =
            ["changed people/bo.md | -3 He reads. | +3 He writes.", "removed drafts/old.md"];
        assert_eq!(since(&mut project, start), expected, "{point}");
    }
}

#[test]
fn pages_hold_every_change_once_and_keep_to_the_budget() {
    let mut project = whole();
    let start = tick(&mut project);
    for n in 0..30 {
        project.write(
            &format!("many/{n:02}.md"),
            format!("# Note {n}\n\n- [fact] It is number {n}\n"),
        );
    }
    project.settle();
    let mut all = Vec::new();
    let mut arguments = json!({"since": start, "max_chars": 900});
    loop {
        let whole = project.client().call_whole("changes", arguments).expect("a result");
        let text = whole["content"][0]["text"].as_str().expect("text");
        let reply = &whole["structuredContent"];
        assert!(text.chars().count() <= 900, "{text}");
        assert_eq!(reply["n_added"], 30, "{reply}");
        let page = shown(reply);
        assert!(!page.is_empty() && page.len() < 30, "{page:?}");
        for it in &page {
            let path = it.split([' ', '|']).nth(1).expect("a path");
            let line = format!("It is number {}", path[5..7].parse::<u32>().expect("a number"));
            assert!(text.contains(path) && text.contains(&line), "{path} is in both forms: {text}");
        }
        all.extend(page);
        let Some(cursor) = reply["next_cursor"].as_str() else { break };
        assert!(text.contains(cursor), "{text}");
        arguments = json!({"cursor": cursor, "max_chars": 900});
        // Changes in between are on no page.
        project.write("many/late.md", "Late.\n");
        project.settle();
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 30, "{all:#?}");
    for (since, why) in [("99999999", "the last one is"), ("soon", "which is not a time")] {
        let error = project.try_call("changes", json!({"since": since})).expect_err("refused");
        assert!(error["message"].as_str().is_some_and(|it| it.contains(why)), "{error}");
    }
    project.try_call("changes", json!({"cursor": "abc"})).expect_err("no cursor");
}

#[test]
fn what_is_forgotten_is_gone_from_the_journal() {
    let mut project = whole();
    let start = tick(&mut project);
    project.write("plan.md", "# Plan\n\n- [fact] The Quixotic lantern is blue\n- [fact] Stays\n");
    project.settle();
    project.write("plan.md", "# Plan\n\n- [fact] Stays\n");
    project.write("people/bo.md", "# Bo\n\nBo keeps the Quixotic lantern. He reads.\n");
    project.settle();
    project.write("people/bo.md", "# Bo\n\nHe reads.\n");
    project.settle();
    let ledger = project.paths().dir.join("ledger.sqlite");
    let kept = || {
        let db = rusqlite::Connection::open(&ledger).expect("opens");
        let sql = "SELECT count(*) FROM changes WHERE instr(lines, 'Quixotic')";
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a number")
    };
    assert!(kept() > 0, "it was there");
    let mut command = project.kgctl();
    command.arg("--project").arg(project.root());
    command.args(["forget", "--text", "Quixotic lantern"]).stdin(Stdio::null());
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    project.settle();
    assert_eq!(kept(), 0);
    let lines = since(&mut project, start).join("\n");
    assert!(!lines.contains("Quixotic") && lines.contains("Stays"), "{lines}");
}

#[test]
fn a_person_sees_the_same_in_a_shell() {
    let mut project = whole();
    project.write("people/bo.md", "# Bo\n\nBo is calm. He writes.\n");
    project.settle();
    let mut command = project.kgctl();
    command.arg("--project").arg(project.root()).args(["changes", "--since", "1h"]);
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in ["1 changed", "~ people/bo.md", "− 3: He reads.", "+ 3: He writes."] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
