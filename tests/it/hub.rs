//! The hub: folders published to a real PostgreSQL, and front ends that answer from it.
//!
//! The tests say that they are skipped where there is no PostgreSQL (`hub/postgres.rs`).

mod postgres;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use config::{Places, Registry};
use hub::{Address, HubError, Publisher, Settled};
use index::store::Readers;
use serde_json::{Value, json};
use tests::{Client, Revision, TestProject};

use postgres::Postgres;

/// How long a front end may take to show what was published. Only a bug takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Roles: one that publishes everything, two that read, one in a group, and one without rights.
const ROLES: &str =
    "CREATE ROLE pub LOGIN; CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE team;
                     CREATE ROLE tim LOGIN IN ROLE team; CREATE ROLE eve LOGIN";

/// A database with tables and roles.
fn database() -> Option<Postgres> {
    let db = Postgres::start()?;
    db.sql(ROLES);
    Some(db)
}

fn done(output: Output) -> Value {
    let (said, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{error}");
    serde_json::from_str(said.trim()).unwrap_or(Value::Null)
}

fn kgctl(project: &TestProject, arguments: &[&str]) -> Command {
    let mut command = project.kgctl();
    command.arg("--json").args(arguments);
    command
}

fn run(project: &TestProject, arguments: &[&str]) -> Value {
    done(kgctl(project, arguments).output().expect("it runs"))
}

fn publish_command(project: &TestProject, db: &Postgres, name: &str) -> Command {
    let root = project.root().display().to_string();
    kgctl(project, &["--project", &root, "publish", &db.url("pub"), "--name", name])
}

fn publish(project: &TestProject, db: &Postgres, name: &str) -> Value {
    done(publish_command(project, db, name).output().expect("it runs"))
}

fn compare(project: &TestProject, db: &Postgres, name: &str) -> Value {
    let root = project.root().display().to_string();
    run(project, &["--project", &root, "hub", "compare", &db.url("pub"), "--name", name])
}

fn grant(project: &TestProject, db: &Postgres, name: &str, role: &str, publish: bool) {
    let url = db.url("admin");
    let mut arguments = vec!["hub", "grant", &url, "--name", name, "--role", role];
    arguments.extend(publish.then_some("--publish"));
    run(project, &arguments);
}

/// A front end in a home of its own.
struct Front {
    home: tempfile::TempDir,
    url: String,
}

impl Front {
    fn of(db: &Postgres, role: &str) -> Front {
        Front { home: tempfile::tempdir().expect("a folder"), url: db.url(role) }
    }

    fn places(&self) -> Places {
        let at = |name: &str| self.home.path().join(name);
        Places { state: at("state"), runtime: at("run"), config: at("config") }.of_hub(&self.url)
    }

    fn kgctl(&self, arguments: &[&str]) -> Output {
        let at = |name: &str| self.home.path().join(name);
        Command::new(tests::kgctl())
            .env("KGD_BIN", tests::kgd())
            .env("KG_STATE_DIR", at("state"))
            .env("KG_RUNTIME_DIR", at("run"))
            .env("KG_CONFIG_DIR", at("config"))
            .env("KG_EMBED__BACKGROUND", "off")
            .current_dir(self.home.path())
            .args(["--json", "--hub", &self.url])
            .args(arguments)
            .output()
            .expect("it runs")
    }

    /// The projects that it serves, by name.
    fn projects(&self) -> Vec<String> {
        let registry = Registry::load(&self.places().config).expect("read");
        let mut names: Vec<String> = registry.projects().iter().map(|it| it.name.clone()).collect();
        names.sort();
        names
    }

    fn socket(&self, name: &str) -> Option<PathBuf> {
        let registry = Registry::load(&self.places().config).expect("read");
        let project = registry.projects().iter().find(|it| it.name == name)?.project();
        Some(self.places().project(&project).expect("short").socket)
    }

    fn client(&self, name: &str) -> Client {
        Client::agent(&self.socket(name).expect("served"), Revision::Stateless)
    }

    fn start(&self) {
        let places = self.places();
        // Whatever is asked first starts it; a role without projects has none to ask.
        let _ = self.kgctl(&["status"]);
        assert!(places.project(&places.front()).expect("short").socket.exists(), "it listens");
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let places = self.places();
        let Ok(paths) = places.project(&places.front()) else { return };
        let lock = std::fs::read_to_string(paths.lock).unwrap_or_default();
        if let Some(pid) = lock.split_whitespace().next() {
            let _ = Command::new("kill").arg(pid).status();
            let begun = Instant::now();
            while paths.socket.exists() && begun.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// What must be the same in two replies: all but who answers, and where.
fn compared(mut reply: Value) -> Value {
    if let Some(fields) = reply.as_object_mut() {
        for key in ["project", "building"] {
            fields.remove(key);
        }
    }
    reply
}

fn migrated(project: &TestProject, db: &Postgres) {
    let reply = run(project, &["hub", "migrate", &db.url("admin")]);
    assert_eq!((&reply["before"], &reply["version"]), (&json!(0), &json!(1)));
    let again = run(project, &["hub", "migrate", &db.url("admin")]);
    assert_eq!(again["before"], 1, "a second time changes nothing");
}

#[test]
fn a_front_end_answers_as_the_daemon_does() {
    let Some(db) = database() else { return };
    let files = crate::determinism::corpus();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::of(&files);
    migrated(&project, &db);
    grant(&project, &db, "corpus", "pub", true);
    grant(&project, &db, "corpus", "ann", false);
    let reply = publish(&project, &db, "corpus");
    assert_eq!(reply["changed"], reply["rows"], "all is new");
    assert_eq!(publish(&project, &db, "corpus")["changed"], 0, "nothing is");
    assert_eq!(compare(&project, &db, "corpus")["same"], true);
    let front = Front::of(&db, "ann");
    front.start();
    assert_eq!(front.projects(), ["corpus"]);
    let mut there = front.client("corpus");
    let questions = include_str!("../../corpus/questions/questions.tsv");
    let questions: Vec<&str> =
        questions.lines().skip(1).filter_map(|line| line.split('\t').nth(1)).collect();
    assert!(questions.len() > 20);
    let ask = |project: &mut TestProject, there: &mut Client| {
        for question in &questions {
            let asked = json!({"q": question, "k": 20, "max_chars": 20_000});
            let here = project.call("hybrid_query", asked.clone());
            let reply = there.call("hybrid_query", asked).expect("answered");
            assert_eq!(compared(reply), compared(here), "{question}");
        }
    };
    ask(&mut project, &mut there);
    let others = [
        ("entity_lookup", json!({"q": "Signing Service"})),
        ("explain_entity", json!({"name": "Signing Service"})),
        ("connect", json!({"a": "Signing Service", "b": "Ada Moreno"})),
        ("read_passage", json!({"at": "reference/glossary.md"})),
        ("changes", json!({"since": "0"})),
    ];
    let compare_others = |project: &mut TestProject, there: &mut Client| {
        for (tool, arguments) in &others {
            let here = project.try_call(tool, arguments.clone()).map(compared);
            let reply = there.call(tool, arguments.clone()).map(compared);
            assert_eq!(reply, here, "{tool}");
        }
    };
    compare_others(&mut project, &mut there);
    // What changes comes in the next tick, and nothing of it before.
    project.write(
        "reference/new.md",
        "# Zebra Gateway\n\nThe Zebra Gateway depends on the Signing Service.\n",
    );
    project.remove("plain/inc-2031.txt");
    project.rename("science", "moved");
    project.settle();
    publish(&project, &db, "corpus");
    assert_eq!(compare(&project, &db, "corpus")["same"], true);
    let tick = project.status()["tick"].clone();
    let begun = Instant::now();
    while there.call("status", json!({})).expect("answered")["tick"] != tick {
        assert!(begun.elapsed() < PATIENCE, "the front end is not brought on");
        std::thread::sleep(Duration::from_millis(100));
    }
    ask(&mut project, &mut there);
    compare_others(&mut project, &mut there);
    let refused = there.call("write_note", json!({"title": "a", "content": "b", "folder": ""}));
    assert!(refused.is_err(), "nothing is written");
}

/// Of each project: what it knows, what the other one knows, and what only that one's text says.
const PRIVATE: [(&str, &str, &str, &str); 2] =
    [("a", "Apple Press", "Bee Yard", "to Bob"), ("b", "Bee Yard", "Apple Press", "to Ann")];

const TOOLS: [&str; 5] =
    ["hybrid_query", "read_passage", "entity_lookup", "explain_entity", "changes"];

/// Asks for what a project knows, which lies in its only file.
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
    // Journals know what changes, not what was there.
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
        // Every table, by SQL: rows of what is visible, and no others.
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
                let is_told = reply.as_ref().is_ok_and(|it| it.contains(known));
                assert!(is_told, "{role}: {tool} in {name}: {reply:?}");
                let other = if name == "a" { "b" } else { "a" };
                let reply = client.call(tool, arguments(tool, foreign, other));
                let reply = reply.unwrap_or_else(|error| error).to_string();
                assert!(!reply.contains(foreigner), "{role}: {tool} in {name}: {reply}");
            }
        }
        if role == "ann" {
            // A right that is taken back ends the session and removes the copy.
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

#[test]
fn a_publisher_that_is_killed_leaves_no_torn_tick() {
    let Some(mut db) = database() else { return };
    let files = crate::determinism::corpus();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::of(&files);
    migrated(&project, &db);
    grant(&project, &db, "killed", "pub", true);
    let shown =
        |db: &Postgres| db.sql("SELECT coalesce(tick, -1) FROM kg.projects WHERE name = 'killed'");
    let mut ticks = vec![shown(&db)];
    for n in 0..10_u64 {
        project.write("changing.md", format!("# Changing\n\nThe Changing Thing is number {n}.\n"));
        project.settle();
        let mut child = publish_command(&project, &db, "killed").spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(40 + n * 67 % 400));
        if n % 5 == 4 {
            db.crash();
        }
        let _ = Command::new("pkill").args(["-KILL", "-P", &child.id().to_string()]).status();
        let _ = child.kill();
        let _ = child.wait();
        ticks.push(shown(&db));
    }
    let numbers: Vec<i64> = ticks.iter().map(|it| it.parse().expect("a tick")).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    publish(&project, &db, "killed");
    let reply = compare(&project, &db, "killed");
    assert_eq!(reply["same"], true, "{reply}");
    let left = db.sql(
        "SELECT count(DISTINCT generation) FROM kg.documents
         UNION ALL SELECT count(DISTINCT generation) FROM kg.chunks",
    );
    assert_eq!(left, "1\n1", "nothing is left of what was begun");
    let tick = project.status()["tick"].to_string();
    assert_eq!(shown(&db), tick);
}

#[test]
fn of_two_publishers_the_older_is_refused() {
    let Some(db) = database() else { return };
    let project = TestProject::of(&[("a.md", "# Apple Press\n")]);
    let other = TestProject::of(&[("b.md", "# Bee Yard\n")]);
    migrated(&project, &db);
    grant(&project, &db, "a", "pub", true);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    let publisher = |project: &TestProject, take_over| {
        let address = Address::parse(&db.url("pub"), None).expect("an address");
        Publisher::new(address, "a", &project.paths().dir, take_over).expect("named")
    };
    let round = |publisher: &mut Publisher, project: &TestProject, settings: &str| {
        let settled = Settled { settings: settings.to_string(), predicates: None };
        let readers = Readers::new(project.paths().index.clone());
        publisher.round(runtime.handle(), &readers, &project.paths().dir, &settled)
    };
    let (mut older, mut newer) = (publisher(&project, false), publisher(&project, false));
    round(&mut older, &project, "{}").expect("published");
    round(&mut newer, &project, "{}").expect("published");
    let fenced = round(&mut older, &project, "{\"kb\":{}}");
    assert!(matches!(fenced, Err(HubError::Fenced(_))), "{fenced:?}");
    round(&mut newer, &project, "{\"kb\":{}}").expect("it goes on");
    let taken = round(&mut publisher(&other, false), &other, "{}");
    assert!(matches!(taken, Err(HubError::Taken(_))), "{taken:?}");
    assert_eq!(db.sql("SELECT path FROM kg.documents"), "a.md");
    round(&mut publisher(&other, true), &other, "{}").expect("a person says so");
    assert_eq!(db.sql("SELECT path FROM kg.documents"), "b.md");
    assert_eq!(db.sql("SELECT generation FROM kg.projects"), "2");
}

#[test]
fn a_daemon_publishes_by_itself_and_tells_how_far_it_is() {
    let Some(mut db) = database() else { return };
    let mut project = TestProject::empty();
    project.write("a.md", "# Apple Press\n\nThe press stands in the barn.\n");
    migrated(&project, &db);
    grant(&project, &db, "fruit", "pub", true);
    project.set(&format!("publish.url={}", db.url("pub")));
    project.set("publish.project=fruit");
    project.start();
    project.settle();
    let is_shown = |status: &Value| {
        status["hub"]["lag"] == 0
            && status["hub"]["tick"] == status["tick"]
            && status["hub"]["trouble"].is_null()
    };
    project.until("the hub shows it", is_shown);
    // Without a database everything goes on; with one again, it catches up.
    db.kill();
    project.write("b.md", "# Bee Yard\n\nThe hives stand in the orchard.\n");
    project.settle();
    assert!(project.found("Where do the hives stand?").contains(&"b.md".to_string()));
    project.until("the trouble shows", |status| status["hub"]["trouble"].is_string());
    db.crash();
    project.until("the hub shows it again", is_shown);
    assert_eq!(db.sql("SELECT count(*) FROM kg.documents"), "2");
}

#[test]
fn a_secret_that_is_allowed_here_does_not_leave() {
    let Some(db) = database() else { return };
    let mut project = TestProject::empty();
    let key = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
    project.write("keys.md", format!("# Keys\n\nThe key is {key}.\n"));
    project.set("privacy.allow_paths=[\"keys.md\"]");
    project.start();
    project.settle();
    migrated(&project, &db);
    grant(&project, &db, "keys", "pub", true);
    let output = publish_command(&project, &db, "keys").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && said.contains("keys.md"), "{said}");
    assert_eq!(db.sql("SELECT count(*) FROM kg.documents WHERE text LIKE '%AKIA%'"), "0");
    assert_eq!(db.sql("SELECT generation FROM kg.projects"), "0");
}
