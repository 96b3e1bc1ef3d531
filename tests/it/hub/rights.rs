//! Rights: who sees what of a hub, by role, project and tool; and what is hidden changes no answer.

use index::store::published::TABLES;

use super::*;

/// For each project: its name, its entity, the other project's entity, and words that only its text
/// has.
const PRIVATE: [(&str, &str, &str, &str); 2] =
    [("a", "Apple Press", "Bee Yard", "to Bob"), ("b", "Bee Yard", "Apple Press", "to Ann")];

const TOOLS: [&str; 5] =
    ["hybrid_query", "read_passage", "entity_lookup", "explain_entity", "changes"];

/// Returns arguments that ask for an entity of a project, which has a single file.
fn arguments(tool: &str, entity: &str, project: &str) -> Value {
    match tool {
        "explain_entity" => json!({"name": entity}),
        "read_passage" => json!({"at": format!("{project}.md")}),
        "changes" => json!({"since": "0"}),
        _ => json!({"q": entity}),
    }
}

#[test]
fn a_role_sees_what_it_was_granted_and_no_more() {
    let Some(db) = database() else { return };
    let mut a = TestProject::of(&[("a.md", "# Apple Press\n")]);
    let mut b = TestProject::of(&[("b.md", "# Bee Yard\n")]);
    // Journals contain changes, not the initial state.
    a.write("a.md", "# Apple Press\n\nThe Apple Press belongs to Ann.\n");
    b.write("b.md", "# Bee Yard\n\nThe Bee Yard belongs to Bob.\n");
    a.settle();
    b.settle();
    migrated(&a, &db);
    for (project, name) in [(&a, "a"), (&b, "b")] {
        grant(project, &db, name, "pub", true);
        publish(project, &db, name);
    }
    let rights = [("a", "ann"), ("b", "bob"), ("a", "team"), ("b", "team")];
    for (name, role) in rights {
        grant(&a, &db, name, role, false);
    }
    let tables = db.sql(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'kg' AND tablename NOT IN ('version')",
    );
    for (role, visible) in
        [("ann", &["a"][..]), ("bob", &["b"]), ("tim", &["a", "b"]), ("pub", &["a", "b"])]
    {
        // Every table, by SQL: exactly the rows of visible projects.
        let ids = db.sql_as(role, "SELECT string_agg(name, ',' ORDER BY name) FROM kg.projects");
        assert_eq!(ids, visible.join(","), "{role}");
        for table in tables.lines().filter(|table| !["projects", "grants"].contains(table)) {
            let sql = format!("SELECT count(DISTINCT project) FROM kg.{table}");
            let n: usize = db.sql_as(role, &sql).parse().expect("a number");
            assert!(n <= visible.len(), "{role} sees {n} projects in {table}");
        }
        assert_eq!(db.sql_as(role, "SELECT count(*) FROM kg.documents"), visible.len().to_string());
        let (may, _) = db.try_sql_as(role, "UPDATE kg.documents SET title = 'x' WHERE false");
        assert_eq!(may, role == "pub", "{role} may write");
    }
    let (may, _) = db.try_sql_as("eve", "SELECT * FROM kg.documents");
    assert!(!may, "without a right not even the table is seen");
    let stranger = Front::of(&db, "eve");
    assert!(!stranger.kgctl(&["status"]).status.success(), "nor does a front end answer");
    assert_eq!(stranger.projects(), Vec::<String>::new());
    for (role, visible) in [("ann", &["a"][..]), ("bob", &["b"]), ("tim", &["a", "b"])] {
        let front = Front::of(&db, role);
        front.start();
        assert_eq!(front.projects(), visible, "{role}");
        for (name, entity, foreign, foreigner) in PRIVATE {
            if !visible.contains(&name) {
                assert_eq!(front.socket(name), None);
                continue;
            }
            let mut client = front.client(name);
            for tool in TOOLS {
                let path = format!("{name}.md");
                let known = if tool == "changes" { &path } else { entity };
                let own = client.call(tool, arguments(tool, entity, name));
                let reply = own.map(|it| it.to_string());
                let is_shown = reply.as_ref().is_ok_and(|it| it.contains(known));
                assert!(is_shown, "{role}: {tool} in {name}: {reply:?}");
                let other = if name == "a" { "b" } else { "a" };
                let reply = client.call(tool, arguments(tool, foreign, other));
                let reply = reply.unwrap_or_else(|error| error).to_string();
                assert!(!reply.contains(foreigner), "{role}: {tool} in {name}: {reply}");
            }
        }
        if role == "ann" {
            // Revoking a right ends the session and removes the copy.
            let state = front.socket("a").expect("served");
            run(&a, &["hub", "revoke", &db.url("admin"), "--name", "a", "--role", "ann"]);
            let begun = Instant::now();
            while state.exists() || front.socket("a").is_some() {
                assert!(begun.elapsed() < PATIENCE, "still served");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// Returns the answers that one role gets about one project, for every kind of call: private words
/// of both projects, names, paths, counts.
fn answers_to(client: &mut Client) -> Vec<(String, Value)> {
    let mut asked = vec![
        ("changes", json!({"since": "0"})),
        ("status", json!({})),
        ("connect", json!({"a": "Apple Press", "b": "Bee Yard"})),
        ("read_passage", json!({"at": "b.md"})),
    ];
    for q in
        ["Apple Press", "Bee Yard", "honeycomb", "press", "belongs to Bob", "barn OR honeycomb"]
    {
        for formula in [Value::Null, "text".into(), "vector".into()] {
            asked.push((
                "hybrid_query",
                json!({"q": q, "k": 20, "formula": formula, "explain": true}),
            ));
        }
        asked.push(("entity_lookup", json!({"q": q})));
        asked.push(("explain_entity", json!({"name": q})));
    }
    let mut replies = Vec::new();
    for (tool, arguments) in asked {
        let mut reply = client.call(tool, arguments.clone()).unwrap_or_else(|error| error);
        if tool == "status" {
            // Keep only what does not change on its own.
            let kept =
                ["project", "tick", "n_documents", "n_chunks", "n_entities", "documents", "hub"];
            reply = kept.into_iter().map(|key| (key.to_string(), reply[key].clone())).collect();
        }
        replies.push((format!("{tool} {arguments}"), reply));
    }
    replies
}

/// Returns whether any file below a folder contains these bytes.
fn holds(folder: &std::path::Path, bytes: &[u8]) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.path() {
        path if path.is_dir() => holds(&path, bytes),
        path => {
            let content = std::fs::read(path).unwrap_or_default();
            content.windows(bytes.len()).any(|it| it == bytes)
        }
    })
}

#[test]
fn what_is_hidden_changes_no_answer() {
    let Some(db) = database() else { return };
    let a = TestProject::of(&[(
        "a.md",
        "# Apple Press\n\nThe Apple Press stands in the barn of Ann.\n",
    )]);
    let b_text = "# Bee Yard\n\nThe Bee Yard sells honeycomb to the Apple Press, whose press stands in a barn.\n";
    let b = TestProject::of(&[
        ("b.md", b_text),
        ("a.md", "# Apple Press\n\nAnother press, and honeycomb.\n"),
    ]);
    // The owner of the tables is not a superuser, to whom policies would not apply.
    db.sql("CREATE ROLE own LOGIN CREATEROLE; GRANT CREATE ON DATABASE postgres TO own");
    let url = db.url("own");
    run(&a, &["hub", "migrate", &url]);
    let give = |name: &str, role: &str, more: &[&str]| {
        run(&a, &[&["hub", "grant", &url, "--name", name, "--role", role], more].concat());
    };
    give("a", "pub", &["--publish"]);
    give("a", "ann", &[]);
    publish(&a, &db, "a");
    let front = Front::of(&db, "ann");
    front.start();
    let mut client = front.client("a");
    let before = answers_to(&mut client);
    assert!(before.iter().any(|(_, reply)| reply.to_string().contains("barn of Ann")));
    // Another project with the same words, visible to others, and a statement about both.
    give("b", "pub", &["--publish"]);
    for (name, role) in [("a", "team"), ("b", "team"), ("b", "bob")] {
        give(name, role, &[]);
    }
    publish(&b, &db, "b");
    run(&a, &["hub", "same-as", &db.url("pub"), "a:Apple Press", "b:Bee Yard"]);
    for role in ["tim", "pub", "own"] {
        let other = Front::of(&db, role);
        other.start();
        assert_eq!(other.projects(), ["a", "b"], "{role}");
        let reply = other.client("b").call("hybrid_query", json!({"q": "honeycomb"}));
        assert!(reply.expect("answered").to_string().contains("sells honeycomb"), "{role}");
    }
    let after = answers_to(&mut client);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    // A fresh front end, with the other project present, gives the same answers, and has none of
    // the other's bytes.
    let fresh = Front::of(&db, "ann");
    fresh.start();
    assert_eq!(answers_to(&mut fresh.client("a")), before);
    for front in [&front, &fresh] {
        assert_eq!(front.projects(), ["a"]);
        let folder = front.home.at("state");
        let found = [&b"barn of Ann"[..], b"honeycomb", b"Bee Yard"].map(|it| holds(&folder, it));
        assert_eq!(found, [true, false, false]);
    }
    let mut agent = fresh.agent();
    for name in ["b", "nothing"] {
        let refused = agent.call("hybrid_query", json!({"q": "honeycomb", "project": name}));
        let refused = refused.expect_err("refused").to_string().replace(name, "NAME");
        assert!(!refused.contains("honeycomb") && refused.contains("not"), "{refused}");
    }
}

#[test]
fn every_table_is_guarded_and_what_is_hidden_costs_no_time() {
    let Some(db) = database() else { return };
    let a = TestProject::of(&[("a.md", "# Apple Press\n")]);
    let b = TestProject::of(&[("b.md", "# Bee Yard\n")]);
    migrated(&a, &db);
    for (project, name) in [(&a, "a"), (&b, "b")] {
        grant(project, &db, name, "pub", true);
        publish(project, &db, name);
    }
    grant(&a, &db, "a", "ann", false);
    let unguarded = "SELECT relname FROM pg_class WHERE relnamespace = 'kg'::regnamespace AND relkind IN ('r', 'p')
                     AND relname <> 'version' AND NOT (relrowsecurity AND relforcerowsecurity AND EXISTS
                     (SELECT FROM pg_policy WHERE polrelid = pg_class.oid))";
    assert_eq!(db.sql(unguarded), "");
    let around = "SELECT relname FROM pg_class WHERE relnamespace = 'kg'::regnamespace
                  AND relkind NOT IN ('r', 'p', 'i', 'S')
                  UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'kg'::regnamespace
                  UNION ALL SELECT rolname FROM pg_roles WHERE rolname LIKE 'kg\\_%'
                  AND (rolbypassrls OR rolsuper OR rolcanlogin)";
    assert_eq!(db.sql(around), "", "no view or function leads around the policies");
    let tables = db.sql(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'kg' AND tablename NOT IN
                         ('version', 'projects', 'grants', 'same_as') ORDER BY 1",
    );
    let hidden: i32 =
        db.sql("SELECT id FROM kg.projects WHERE name = 'b'").parse().expect("a number");
    let mut published: Vec<&str> = TABLES.iter().map(|it| it.hub).chain(["log"]).collect();
    published.sort_unstable();
    assert_eq!(tables.lines().collect::<Vec<_>>(), published, "and no other table is there");
    for table in tables.lines() {
        let reads = |project: i32, scans: &str| {
            let sql = format!(
                "SET enable_seqscan = {scans}; SET enable_bitmapscan = off;
                 EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS ON)
                 SELECT * FROM kg.{table} WHERE project = {project} AND generation = 1"
            );
            let plan = db.sql_as("ann", &sql);
            plan.replace(&format!("project = {project}"), "project = N")
        };
        // The same plan, rows and pages as for a project that never existed; measured the second
        // time, when everything is in memory.
        for scans in ["on", "off"] {
            let [there, nowhere] = [hidden, 9_999].map(|project| {
                reads(project, scans);
                reads(project, scans)
            });
            assert_eq!(there, nowhere, "{table}");
        }
    }
}
