//! What people and agents learn of a hub: what `status`, `doctor` and `list` say of one that is behind, the cause where
//! nothing answers, and no cause where something can.

use super::*;

fn text(project: &TestProject, arguments: &[&str]) -> String {
    let root = project.root().display().to_string();
    let output = project.kgctl().args(["--project", &root]).args(arguments).output();
    let output = output.expect("it runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// A folder whose daemon publishes to the project `fruit`.
fn publishing(db: &Postgres, file: &str) -> TestProject {
    let mut project = TestProject::empty();
    project.write(file, "# Apple Press\n\nThe press stands in the barn.\n");
    project.set(&format!("publish.url={}", db.url("pub")));
    project.set("publish.project=fruit");
    project.start();
    project.settle();
    project
}

fn is_well(status: &Value) -> bool {
    status["hub"]["lag"] == 0 && status["hub"]["trouble"].is_null()
}

#[test]
fn what_the_hub_says_shows_everywhere_and_a_take_over_ends_it_at_once() {
    let Some(db) = database() else { return };
    let mut one = publishing(&db, "a.md");
    migrated(&one, &db);
    grant(&one, &db, "fruit", "pub", true);
    one.until("the hub shows it", is_well);
    let root = one.root().display().to_string();
    run(&one, &["project", "add", &root, "--yes"]);
    for command in ["status", "doctor", "list"] {
        let told = text(&one, &[command]);
        assert!(told.contains("as fruit, 0 ticks behind"), "{command}: {told}");
    }
    let mut other = publishing(&db, "b.md");
    other.until("it is refused", |status| status["hub"]["trouble"].is_string());
    let root = other.root().display().to_string();
    run(&other, &["project", "add", &root, "--yes"]);
    for command in ["status", "doctor", "list"] {
        let told = text(&other, &[command]);
        assert!(told.contains("published from another folder"), "{command}: {told}");
        assert!(told.contains("behind"), "{command}: {told}");
    }
    // The command that the message names works as it stands: the address is that of the settings.
    let take_over = |project: &TestProject| {
        let root = project.root().display().to_string();
        let mut command =
            kgctl(project, &["--project", &root, "publish", "--take-over", "--name", "fruit"]);
        done(command.env("KG_PUBLISH__URL", db.url("pub")).output().expect("it runs"));
    };
    // Until then, a daemon that was refused rests for a minute.
    let begun = Instant::now();
    take_over(&other);
    other.until("it is well", is_well);
    one.until("it is fenced out", |status| status["hub"]["trouble"].is_string());
    take_over(&one);
    one.until("it publishes again", is_well);
    one.write("c.md", "# Bee Yard\n");
    one.settle();
    one.until("what comes later, too", is_well);
    assert!(begun.elapsed() < Duration::from_secs(50), "nothing waited for its rest");
    assert_eq!(db.sql("SELECT string_agg(path, ' ' ORDER BY path) FROM kg.documents"), "a.md c.md");
}

/// A hub with two published projects, `a` and `b`.
fn two(db: &Postgres) -> [TestProject; 2] {
    let a = TestProject::of(&[("a.md", "# Apple Press\n\nThe press stands in the barn.\n")]);
    let b = TestProject::of(&[("b.md", "# Bee Yard\n\nThe hives stand in the orchard.\n")]);
    migrated(&a, db);
    for (project, name) in [(&a, "a"), (&b, "b")] {
        grant(project, db, name, "pub", true);
        grant(project, db, name, "ann", false);
        publish(project, db, name);
    }
    [a, b]
}

#[test]
fn a_connection_that_ended_unnoticed_refuses_no_question() {
    let Some(db) = database() else { return };
    let _projects = two(&db);
    let front = Front::of(&db, "ann");
    let mut agent = front.agent();
    let ask = |agent: &mut Agent, project: &str| {
        agent.call("hybrid_query", json!({"q": "where does it stand", "project": project}))
    };
    ask(&mut agent, "a").expect("answered");
    let all = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'ann'";
    db.sql(all);
    // Its copy is not made yet, so that it needs a connection.
    let found = ask(&mut agent, "b").expect("answered over a fresh one");
    assert_eq!(found["chunks"][0]["path"], "b.md", "{found}");
}

#[test]
fn a_copy_that_is_there_answers_while_the_database_is_away() {
    let Some(mut db) = database() else { return };
    let _projects = two(&db);
    let front = Front::of(&db, "ann");
    let ask = |agent: &mut Agent, project: &str| {
        agent.call("hybrid_query", json!({"q": "where does it stand", "project": project}))
    };
    let mut agent = front.agent();
    ask(&mut agent, "a").expect("answered");
    drop(agent);
    // Another front end: none of its copies is open, and that of `b` was never made.
    let pid = front.pid().expect("it runs");
    assert!(Command::new("kill").arg(&pid).status().expect("it runs").success());
    until("it ends", || front.pid().is_none());
    let mut agent = front.agent();
    db.kill();
    let found = ask(&mut agent, "a").expect("answered from the copy");
    assert_eq!(found["chunks"][0]["path"], "a.md", "{found}");
    for _ in 0..2 {
        let call = json!({"name": "status", "arguments": {"project": "b"}});
        let refused = agent.ask("tools/call", call).to_string();
        assert!(refused.contains("the hub") && refused.contains("cannot be reached"), "{refused}");
    }
    db.begin();
    until("it answers again", || {
        let call = json!({"name": "status", "arguments": {"project": "b"}});
        agent.ask("tools/call", call)["result"]["isError"] == json!(null)
            || agent.call("status", json!({"project": "b"})).is_ok()
    });
}

#[test]
fn rights_come_and_go_in_a_running_session_and_messages_say_what_is_so() {
    let Some(db) = database() else { return };
    let [a, _b] = two(&db);
    let stranger = Front::of(&db, "eve").kgctl(&["list"]);
    let error = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert!(
        error.contains("has no right to any project") && error.contains("hub grant"),
        "{error}"
    );
    let front = Front::of(&db, "ann");
    let mut agent = front.agent();
    agent.call("status", json!({"project": "b"})).expect("answered");
    run(&a, &["hub", "revoke", &db.url("admin"), "--name", "b", "--role", "ann"]);
    // A call in flight is refused as a request, a later one as a tool.
    let of_b = json!({"name": "status", "arguments": {"project": "b"}});
    let mut says = |words: &str| agent.ask("tools/call", of_b.clone()).to_string().contains(words);
    until("it is gone", || says("no project called `b` is served here") && says("\"not_found\""));
    grant(&a, &db, "b", "ann", false);
    until("it is back", || says("\"project\":\"b\",") && !says("not_found"));
    // Granted, and never published.
    grant(&a, &db, "empty", "ann", false);
    until("it is there", || front.projects().contains(&"empty".to_string()));
    let call = json!({"name": "status", "arguments": {"project": "empty"}});
    let refused = agent.ask("tools/call", call).to_string();
    assert!(refused.contains("is not published yet"), "{refused}");
    let rows: Value = serde_json::from_slice(&front.kgctl(&["list"]).stdout).expect("JSON");
    assert_eq!((&rows[0]["state"], &rows[0]["added"]), (&json!("running"), &json!("-")), "{rows}");
    let unnamed = front.kgctl(&["status"]);
    let error = String::from_utf8_lossy(&unnamed.stderr).into_owned();
    assert!(error.contains("use `--project NAME`") && !error.contains("kgctl init"), "{error}");
}
