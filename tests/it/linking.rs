//! Names that may denote one thing: proposed, decided at a terminal, and kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Child;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;
use tests::TestProject;

const NOTES: &[(&str, &str)] = &[
    ("Zoë Lindqvar.md", "---\ntype: Person\n---\n# Zoë Lindqvar\n\nZoë Lindqvar is on call.\n"),
    ("log.txt", "Zoe Lindqvar was late. Nobody called Zoe Lindqvar.\n"),
];

/// A program at a terminal of 100 columns and 24 rows.
struct AtTerminal {
    child: Child,
    keys: File,
    shown: String,
    terminal: OwnedFd,
    before: Termios,
}

impl AtTerminal {
    fn kgctl(project: &TestProject, arguments: &[&str]) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).expect("granted");
        unlockpt(&keyboard).expect("unlocked");
        let name = ptsname(&keyboard, Vec::new()).expect("a name");
        let terminal =
            rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("opened");
        let size = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("sized");
        let before = tcgetattr(&terminal).expect("a terminal");
        let end = || terminal.try_clone().expect("a copy");
        let child = project
            .kgctl()
            .arg("--project")
            .arg(project.root())
            .args(arguments)
            .env("NO_COLOR", "1")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("it runs");
        AtTerminal { child, keys: File::from(keyboard), shown: String::new(), terminal, before }
    }

    /// Reads the output until the last screen contains these words; returns that screen.
    fn until(&mut self, words: &str) -> String {
        loop {
            let screen = self.shown.rsplit("\x1b[H\x1b[J").next().unwrap_or_default();
            if screen.contains(words) {
                return screen.replace("\r\n", "\n");
            }
            let mut bytes = [0; 4096];
            let n = self.keys.read(&mut bytes).expect("it is shown");
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..n]));
        }
    }

    fn resize(&self, columns: u16) {
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.terminal, size).expect("sized");
        // The kernel signals only a program whose session the terminal controls.
        kill_process(Pid::from_child(&self.child), Signal::WINCH).expect("told");
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("pressed");
    }
}

fn denotes(project: &mut TestProject) -> String {
    project.settle();
    let table = project.dump().mention_table();
    let line = table.lines().find(|line| line.contains("\"Zoe Lindqvar\""));
    line.and_then(|line| line.split("-> ").nth(1)).unwrap_or("no mention").to_string()
}

#[test]
fn a_person_decides_with_keys() {
    let mut project = TestProject::of(NOTES);
    assert_eq!(denotes(&mut project), "Zoë Lindqvar <Zoë Lindqvar.md>");
    let mut person = AtTerminal::kgctl(&project, &["review"]);
    // Output arrives in pieces, so waiting for the last words waits for everything.
    person.until("link     `Zoe Lindqvar` is `Zoë Lindqvar`");
    person.press("\r");
    person.until("link:zoelindqvar>zoëlindqvar");
    person.until("log.txt:1");
    person.until("cosine");
    // A resize redraws the list without a key press.
    person.resize(20);
    person.until("1 of 1, 0 decided  …");
    person.resize(100);
    person.until("cosine");
    // Pressing "down" at the end of the list does nothing.
    person.press("\x1b[Br");
    person.until(" 1 decided");
    assert_eq!(denotes(&mut project), "Zoe Lindqvar");
    person.press("u");
    person.until(" 0 decided");
    assert_eq!(denotes(&mut project), "Zoë Lindqvar <Zoë Lindqvar.md>");
    person.press("r");
    person.until(" 1 decided");
    person.press("q");
    person.until("1 item decided");
    assert!(person.child.wait().expect("it ends").success());
    assert!(person.shown.contains("\x1b[?1049l"), "the terminal is given back");
    let after = tcgetattr(&person.terminal).expect("a terminal");
    assert_eq!(after.local_modes, person.before.local_modes, "keys are shown again");
    project.stop();
    project.lose_index();
    project.start();
    assert_eq!(denotes(&mut project), "Zoe Lindqvar");
    project.verify("after a decision at a terminal");
}

#[test]
fn a_list_that_is_ended_by_a_signal_gives_the_terminal_back() {
    let project = TestProject::of(NOTES);
    let mut person = AtTerminal::kgctl(&project, &["review"]);
    person.until("link     `Zoe Lindqvar` is `Zoë Lindqvar`");
    let kgctl = rustix::process::Pid::from_child(&person.child);
    rustix::process::kill_process(kgctl, rustix::process::Signal::TERM).expect("it lives");
    assert_eq!(person.child.wait().expect("it ends").code(), Some(143));
    let after = tcgetattr(&person.terminal).expect("a terminal");
    assert_eq!(after.local_modes, person.before.local_modes, "keys are shown again");
    person.until("\x1b[?1049l");
}

#[test]
fn a_proposal_is_listed_with_its_features_and_joins_two_names_for_good() {
    let mut files: Vec<(String, String)> = Vec::new();
    for i in 0..4 {
        files.push((format!("a{i}.txt"), "We run the Ledger Balance Export Job nightly.\n".into()));
        files
            .push((format!("b{i}.txt"), "We watch the Ledger Balance Export Desk daily.\n".into()));
    }
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::empty();
    // A type guessed by a model would decide what only a person can decide here.
    project.set("recognize.deep=false");
    for (path, text) in &files {
        project.write(path, text);
    }
    project.start();
    project.settle();
    let listed = project.call("review_links", json!({"limit": 100}));
    let items = listed["items"].as_array().expect("items").clone();
    let item = items.iter().find(|it| it["kind"] == "same_as");
    let item = item
        .unwrap_or_else(|| panic!("nothing is proposed: {listed:#}\n{}", project.dump().text()));
    for feature in ["cosine", "string", "type", "context", "popularity"] {
        assert!(item["features"][feature].is_number(), "{item:#}");
    }
    let entities = |project: &mut TestProject| -> usize {
        project.settle();
        let text = project.dump().lines("entity");
        text.lines().filter(|line| line.contains("Ledger Balance Export")).count()
    };
    assert_eq!(entities(&mut project), 2);
    project.call("review_links", json!({"accept": [item["key"]]}));
    assert_eq!(entities(&mut project), 1);
    project.stop();
    project.lose_index();
    project.start();
    assert_eq!(entities(&mut project), 1, "also when the index is built anew");
    project.call("review_links", json!({"undo": [item["key"]]}));
    assert_eq!(entities(&mut project), 2);
    let rejected = project.call("review_links", json!({"reject": [item["key"]], "limit": 100}));
    let is_listed = |listed: &serde_json::Value| {
        listed["items"].as_array().expect("items").iter().any(|it| it["key"] == item["key"])
    };
    assert!(!is_listed(&rejected), "{rejected:#}");
    assert_eq!(entities(&mut project), 2);
    project.verify("after a rejected proposal");
}

#[test]
fn an_abbreviation_is_known_in_other_documents_and_said_why() {
    let mut project = TestProject::of(&[
        (
            "Key Management Service.md",
            "# Key Management Service\n\nThe Key Management Service keeps keys.\n",
        ),
        ("one.txt", "The Key Management Service (KMS) was restarted. KMS is up.\n"),
        ("two.txt", "The KMS was slow; KMS again.\n"),
        ("three.txt", "Without the KMS nothing is signed.\n"),
    ]);
    let meant = project.dump().mention_table();
    let of_two =
        meant.lines().filter(|line| line.starts_with("two.txt") && line.contains("\"KMS\""));
    let of_two: Vec<&str> = of_two.collect();
    assert!(!of_two.is_empty(), "{meant}");
    for line in of_two {
        assert!(line.ends_with("<Key Management Service.md>"), "{line}");
    }
    let reply = project.call("explain_entity", json!({"name": "KMS", "why": true}));
    assert_eq!(reply["home"], "Key Management Service.md");
    let why = reply["why"].as_array().expect("why").clone();
    let of_kms = why.iter().find(|it| it["surface"] == "KMS").unwrap_or_else(|| panic!("{why:#?}"));
    let decision = of_kms["decision"].as_str().expect("a decision");
    assert!(decision.starts_with("used for it"), "{decision}");
}

/// Names that several things share, and what each document means by them.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("fruit.md", "Apple is a fruit.\n"),
    ("firm.md", "Apple is a company in Cupertino.\n"),
    ("news.md", "Shares of Apple rose after the company reported quarterly revenue.\n"),
    ("Amazon.md", "Amazon is a river in Brazil.\n"),
    ("shop.md", "Amazon is a company in Seattle. Amazon sells books.\n"),
    ("snakes.md", "The Python is a snake that lives in Asia. A Python eats rats.\n"),
    ("code.md", "Python is a programming language. We wrote the scripts in Python.\n"),
    ("zoo.md", "Our zoo got a Python from Burma. The Python eats once a week.\n"),
    ("planets.md", "Mercury is a planet. It orbits the Sun.\n"),
    ("metals.md", "Mercury is a metal that is liquid at room temperature.\n"),
    ("bread.md", "Sam is a baker in Porto. Sam bakes rye bread.\n"),
    ("shop hours.md", "Sam bakes bread with butter, sugar and rye flour before the shop opens.\n"),
    ("space.md", "Sam is an astronaut at NASA. Sam orbits the moon.\n"),
    ("diary.md", "Yesterday I met Sam.\n"),
    ("Boston.md", "# Travel\n\nBoston is a city in Massachusetts. We drove to Boston.\n"),
    ("music.md", "Boston is a rock band. We heard Boston play.\n"),
    ("java.md", "Java is an island of Indonesia. We crossed Java by train.\n"),
    ("billing.md", "Java is a programming language. Billing is written in Java.\n"),
    (
        "pay.md",
        "# Payroll\n\nLena, our accountant, runs the payroll. Ask Lena about tax classes.\n",
    ),
    (
        "horses.md",
        "# Kindergarten\n\nLena, my daughter, started kindergarten. Lena likes drawing horses.\n",
    ),
    ("kitchen.md", "Ruth Adler is the pastry chef. Call Ruth about the flour.\n"),
    ("net.md", "Ruth Bianchi is a network engineer. Tell Ruth about the switch.\n"),
    ("party.md", "We asked Ruth, who could not come.\n"),
    ("login.md", "Anna is a backend engineer.\n"),
    ("cake.md", "Anna is a developer who brought cake.\n"),
];

/// Returns the documents that mention a surface, grouped by the entity they mean; `?` precedes
/// those whose mention denotes nothing.
fn meanings(graph: &tests::Graph, surface: &str) -> String {
    let mut groups: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for row in graph.rows("mention").filter(|row| row["surface"] == surface) {
        let path = row["path"].as_str().expect("a path");
        groups.entry(row["entity"].to_string()).or_default().insert(path);
    }
    let mut lines: Vec<String> = groups
        .into_iter()
        .map(|(entity, paths)| {
            let mark = if entity == "null" { "?" } else { "" };
            format!("{mark}{}", Vec::from_iter(paths).join("+"))
        })
        .collect();
    lines.sort();
    lines.join(", ")
}

#[test]
fn one_name_of_several_things_is_parted_by_what_its_sentences_say() {
    let mut project = TestProject::of(SHARED_NAMES);
    let graph = project.dump();
    for (surface, expected) in [
        ("Apple", "firm.md+news.md, fruit.md"),
        ("Amazon", "Amazon.md, shop.md"),
        ("Python", "code.md, snakes.md+zoo.md"),
        ("Mercury", "metals.md, planets.md"),
        ("Sam", "bread.md+shop hours.md, diary.md, space.md"),
        ("Boston", "Boston.md, music.md"),
        ("Java", "billing.md, java.md"),
        ("Lena", "horses.md, pay.md"),
        // Two known people; the verb of a request is not part of the name.
        ("Ruth", "?party.md, kitchen.md, net.md"),
        ("Call Ruth", ""),
        // One occupation in two wordings.
        ("Anna", "cake.md+login.md"),
    ] {
        assert_eq!(meanings(&graph, surface), expected, "{surface}");
    }
    let error = project.try_call("explain_entity", json!({"name": "Sam"})).expect_err("which?");
    let message = error["message"].as_str().expect("a message");
    for place in ["(Sam, in bread.md)", "(Sam, in space.md)"] {
        assert!(message.contains(place), "{message}");
    }
    let explained = project.call("explain_entity", json!({"name": "Amazon"}));
    let others = explained["same_name"].as_array().expect("others").iter();
    assert_eq!(others.map(|it| &it["type"]).collect::<Vec<_>>(), ["Organization"]);
    // Once no document defines the second meaning, it is one name again.
    project.write("fruit.md", "Apple makes phones.\n");
    project.settle();
    assert_eq!(meanings(&project.dump(), "Apple"), "firm.md+fruit.md+news.md");
}
