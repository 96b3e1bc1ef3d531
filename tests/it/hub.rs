//! The hub: folders published to a real PostgreSQL, and front ends that answer from it.
//!
//! Without PostgreSQL the tests print that they are skipped (`hub/postgres.rs`).

mod faults;
mod passwords;
mod postgres;
mod rights;
mod several;
mod signs;
mod tls;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use config::{Places, Registry};
use hub::{Address, HubError, Publisher, Settled};
use index::store::Readers;
use serde_json::{Value, json};
use tests::{Agent, Client, Revision, SharedHome, TestProject};

use postgres::Postgres;

/// Longest wait until a front end shows what was published. Only a bug takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Roles: one that publishes everything, two that read, one in a group, and one without rights.
const ROLES: &str =
    "CREATE ROLE pub LOGIN; CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE team;
                     CREATE ROLE tim LOGIN IN ROLE team; CREATE ROLE eve LOGIN";

/// Starts a database with tables and roles.
fn database() -> Option<Postgres> {
    let db = Postgres::start()?;
    db.sql(ROLES);
    Some(db)
}

fn done(output: Output) -> Value {
    let (printed, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{error}");
    serde_json::from_str(printed.trim()).unwrap_or(Value::Null)
}

fn kgctl(project: &TestProject, arguments: &[&str]) -> Command {
    let mut command = project.kgctl();
    command.arg("--json").args(arguments);
    command
}

fn run(project: &TestProject, arguments: &[&str]) -> Value {
    done(kgctl(project, arguments).output().expect("it runs"))
}

/// A `kgctl` of a later version may ask for a job that this `kgd` does not know.
#[test]
fn an_unknown_job_is_refused() {
    let mut command = Command::new(tests::kgd());
    command.args(["--hub", "postgres://nobody@localhost/none", "--hub-job", "later"]);
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("invalid value 'later'"), "{message}");
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
    home: SharedHome,
    url: String,
}

impl Front {
    fn of(db: &Postgres, role: &str) -> Front {
        Front { home: SharedHome::of(&[]), url: db.url(role) }
    }

    fn places(&self) -> Places {
        let at = |name: &str| self.home.at(name);
        Places { state: at("state"), runtime: at("run"), config: at("config") }.of_hub(&self.url)
    }

    fn kgctl(&self, arguments: &[&str]) -> Output {
        let whole = [&["--json", "--hub", &self.url], arguments].concat();
        self.home.kgctl(&whole)
    }

    /// Connects an agent for all of its projects.
    fn agent(&self) -> Agent {
        self.home.agent("", &["--hub", &self.url])
    }

    /// Returns the process id of `kgd --hub`.
    fn pid(&self) -> Option<String> {
        let places = self.places();
        let lock = places.project(&places.front()).expect("short").lock;
        let pid = std::fs::read_to_string(lock).ok()?.split_whitespace().next()?.to_string();
        std::path::Path::new(&format!("/proc/{pid}/exe")).exists().then_some(pid)
    }

    /// Returns the projects that it serves, by name.
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
        // The first request starts it; a role without projects has none to ask.
        let _ = self.kgctl(&["status"]);
        assert!(places.project(&places.front()).expect("short").socket.exists(), "it listens");
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let places = self.places();
        let Ok(paths) = places.project(&places.front()) else { return };
        if let Some(pid) = self.pid() {
            let _ = Command::new("kill").arg(pid).status();
            let begun = Instant::now();
            while paths.socket.exists() && begun.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Checks repeatedly until it is true.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Removes what may differ between two replies: who answers, and where.
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
    assert_eq!((&reply["before"], &reply["version"]), (&json!(0), &json!(6)));
    let again = run(project, &["hub", "migrate", &db.url("admin")]);
    assert_eq!(again["before"], 6, "a second time changes nothing");
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
    // A change comes in the next tick, and no part of it before.
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
    until("the front end is brought on", || {
        there.call("status", json!({})).expect("answered")["tick"] == tick
    });
    ask(&mut project, &mut there);
    compare_others(&mut project, &mut there);
    let refused = there.call("write_note", json!({"title": "a", "content": "b", "folder": ""}));
    assert!(refused.is_err(), "nothing is written");
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
        let address = Address::parse(&db.url("pub"), &config::settings::Publish::default())
            .expect("an address");
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
    // Without a database everything continues; with one again, it catches up.
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
fn words_that_stand_together_by_chance_are_no_secret() {
    let Some(db) = database() else { return };
    let title = "Securing Prometheus API and UI endpoints using basic auth";
    let text =
        format!("---\ntitle: {title}\n---\n\n## Hashing a password\n\nIt is done by hand.\n");
    let project = TestProject::of(&[("guide.md", &text)]);
    migrated(&project, &db);
    grant(&project, &db, "guides", "pub", true);
    publish(&project, &db, "guides");
    let terms = db.sql("SELECT terms FROM kg.documents");
    assert!(terms.contains("Hashing a password") && !terms.contains("[redacted"), "{terms}");
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
    let printed = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && printed.contains("keys.md"), "{printed}");
    assert_eq!(db.sql("SELECT count(*) FROM kg.documents WHERE text LIKE '%AKIA%'"), "0");
    assert_eq!(db.sql("SELECT generation FROM kg.projects"), "0");
}
