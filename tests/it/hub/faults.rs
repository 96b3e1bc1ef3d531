//! Faults: publisher, front end and PostgreSQL are killed, the database hangs, the network is cut, a backup is
//! restored, the server's disk is full, a replica is behind; the hub is that of the daemon in the end, and no answer
//! is torn between two ticks.
//!
//! `KG_FULL=1` takes many more instants; `KG_SEEDS=7..8` others.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use tests::planted::Dice;

use super::*;

/// How often in CI, and in full.
fn times(few: usize, many: usize) -> usize {
    if std::env::var_os("KG_FULL").is_some() { many } else { few }
}

fn seeds() -> std::ops::Range<u64> {
    let given = std::env::var("KG_SEEDS").unwrap_or_default();
    let range =
        given.split_once("..").and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(0..1)
}

/// A document that says its number three times, in chunks of their own.
fn numbered(n: usize) -> String {
    let part = |name: &str| {
        let filler = format!("The {name} of the changing thing is painted and repaired by hand. ")
            .repeat(30);
        format!("## {name}\n\nThe changing thing has the number {n}.\n\n{filler}\n\n")
    };
    format!("# Changing\n\n{}{}{}", part("Roof"), part("Wall"), part("Floor"))
}

/// The numbers that an answer states.
fn numbers(reply: &Value) -> Vec<usize> {
    let text = reply.to_string();
    let after = text.split("has the number ").skip(1);
    after.filter_map(|it| it.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).collect()
}

/// Asks a front end, if it answers now; an answer is of one tick, whole.
fn not_torn(front: &Front) -> Option<usize> {
    let mut client = Client::try_admin(&front.socket("changing")?)?;
    let whole = client
        .attempt("read_passage", json!({"at": "changing.md", "around": 20, "max_chars": 50_000}))?
        .ok()?;
    let found = client
        .attempt("hybrid_query", json!({"q": "number of the changing thing", "k": 20}))?
        .ok()?;
    let (read, hits) = (numbers(&whole), numbers(&found));
    assert!(read.len() == 3 && read.iter().all(|n| *n == read[0]), "torn: {whole}");
    assert!(!hits.is_empty() && hits.iter().all(|n| *n == hits[0]), "torn: {found}");
    let (one, other) = (whole["tick"].as_u64(), found["tick"].as_u64());
    assert!(one != other || read[0] == hits[0], "one tick, two answers: {whole} {found}");
    Some(hits[0])
}

fn with_rights(project: &TestProject, db: &Postgres) {
    migrated(project, db);
    grant(project, db, "changing", "pub", true);
    grant(project, db, "changing", "ann", false);
}

fn shown(db: &Postgres) -> i64 {
    let sql = "SELECT coalesce(tick, -1) FROM kg.projects WHERE name = 'changing'";
    db.sql(sql).parse().expect("a tick")
}

/// In the end everything is as if nothing had happened.
fn all_is_well(project: &mut TestProject, db: &Postgres, front: &Front, n: usize) {
    publish(project, db, "changing");
    let reply = compare(project, db, "changing");
    assert_eq!(reply["same"], true, "{reply}");
    let left = "SELECT count(DISTINCT generation) FROM kg.documents UNION ALL
                SELECT count(DISTINCT generation) FROM kg.chunks";
    assert_eq!(db.sql(left), "1\n1", "nothing is left of what was begun");
    let tick = project.status()["tick"].as_i64().expect("a tick");
    assert_eq!(shown(db), tick);
    until("the front end answers", || front.kgctl(&["status"]).status.success());
    let asked = json!({"q": "changing thing", "k": 20, "at_least": tick});
    let mut there = None;
    until("it shows the last tick", || {
        there = front.socket("changing").and_then(|it| Client::try_admin(&it));
        let reply = there.as_mut().and_then(|it| it.attempt("hybrid_query", asked.clone()));
        reply.is_some_and(|it| it.is_ok_and(|it| it["tick"] == tick))
    });
    let asked = json!({"q": "changing thing", "k": 20});
    let reply = there.expect("it answers").call("hybrid_query", asked.clone()).expect("answered");
    assert_eq!(compared(reply), compared(project.call("hybrid_query", asked)));
    assert_eq!(not_torn(front), Some(n));
}

#[test]
fn kills_at_random_instants_tear_no_tick() {
    let Some(mut db) = database() else { return };
    let mut files = crate::determinism::corpus();
    files.push(("changing.md".to_string(), numbered(0)));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::of(&files);
    with_rights(&project, &db);
    for seed in seeds() {
        let (mut dice, front) = (Dice::new(seed), Front::of(&db, "ann"));
        let (mut last, mut seen) = (shown(&db), 0);
        let n_rounds = times(8, 80);
        for n in 1..=n_rounds {
            project.write("changing.md", numbered(n));
            project.settle();
            let mut child = publish_command(&project, &db, "changing")
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn()
                .expect("it runs");
            std::thread::sleep(Duration::from_millis(20 + dice.below(500) as u64));
            let victim = dice.below(4);
            match victim {
                0 => db.crash(),
                1 => {
                    if let Some(pid) = front.pid() {
                        let _ = Command::new("kill").args(["-KILL", &pid]).status();
                    }
                }
                _ => {}
            }
            if victim == 1 {
                let _ = child.wait();
            } else {
                let _ =
                    Command::new("pkill").args(["-KILL", "-P", &child.id().to_string()]).status();
                let _ = child.kill();
                let _ = child.wait();
            }
            let tick = shown(&db);
            assert!(tick >= last, "seed {seed}, round {n}: from {last} back to {tick}");
            last = tick;
            // Whatever has come so far; a front end that was killed is started again by the next call.
            let _ = front.kgctl(&["status"]);
            if let Some(number) = not_torn(&front) {
                assert!(number >= seen && number <= n, "seed {seed}: {number} after {seen}");
                seen = number;
            }
        }
        all_is_well(&mut project, &db, &front, n_rounds);
    }
}

/// Passes bytes on to a port of this machine, until it has passed on as many as it may to the server.
struct Wire {
    port: u16,
    /// Bytes that may still go to the server.
    left: Arc<AtomicI64>,
}

impl Wire {
    fn to(server: u16) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let left = Arc::new(AtomicI64::new(i64::MAX));
        let budget = Arc::clone(&left);
        // It ends with the test.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = connect(server) else { continue };
                let pair =
                    (client.try_clone().expect("cloned"), server.try_clone().expect("cloned"));
                let budget = Arc::clone(&budget);
                std::thread::spawn(move || pass(client, server, &budget));
                std::thread::spawn(move || pass(pair.1, pair.0, &AtomicI64::new(i64::MAX)));
            }
        });
        Wire { port, left }
    }
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    #[allow(clippy::disallowed_methods, reason = "a port of this machine")]
    TcpStream::connect(("127.0.0.1", port))
}

fn pass(mut from: TcpStream, mut to: TcpStream, budget: &AtomicI64) {
    let mut bytes = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        let before = budget.fetch_sub(n as i64, Ordering::SeqCst);
        // Cut in the midst of a message.
        let n = n.min(usize::try_from(before).unwrap_or(0));
        if to.write_all(&bytes[..n]).is_err() || before <= n as i64 {
            break;
        }
    }
    for stream in [from, to] {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

#[test]
fn a_network_that_is_cut_in_a_transaction_tears_no_tick() {
    let Some(db) = database() else { return };
    let mut files = crate::determinism::corpus();
    files.push(("changing.md".to_string(), numbered(0)));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut project = TestProject::of(&files);
    with_rights(&project, &db);
    let wire = Wire::to(db.port());
    let url = format!("postgres://pub@127.0.0.1:{}/postgres", wire.port);
    let root = project.root().display().to_string();
    let publish_by_wire = |project: &TestProject, most: i64| {
        wire.left.store(most, Ordering::SeqCst);
        let arguments = ["--project", &root, "publish", &url, "--name", "changing"];
        kgctl(project, &arguments).output().expect("it runs")
    };
    let mut dice = Dice::new(seeds().start);
    // The first generation, in many transactions: none of it answers before it is whole.
    for _ in 0..times(3, 30) {
        let output = publish_by_wire(&project, 1_000 + dice.below(2_000_000) as i64);
        if !output.status.success() {
            assert_eq!(
                output.status.code(),
                Some(4),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            assert_eq!(shown(&db), -1, "nothing answers yet");
        }
    }
    done(publish_by_wire(&project, i64::MAX));
    let n_rounds = times(6, 60);
    let mut n_cut = 0;
    for n in 1..=n_rounds {
        project.write("changing.md", numbered(n));
        project.settle();
        let before = shown(&db);
        let output = publish_by_wire(&project, 500 + dice.below(60_000) as i64);
        n_cut += usize::from(!output.status.success());
        let number = db.sql("SELECT text FROM kg.documents WHERE path = 'changing.md'");
        let number = numbers(&json!(number))[0];
        let tick = shown(&db);
        assert!(
            tick > before && number == n || tick == before && number < n,
            "{tick} with {number} in round {n}"
        );
    }
    assert!(n_cut > 0, "it was never cut");
    wire.left.store(i64::MAX, Ordering::SeqCst);
    // A front end over a wire that is cut while it copies.
    let front = Front { home: SharedHome::of(&[]), url: url.replace("pub@", "ann@") };
    for _ in 0..times(3, 30) {
        wire.left.store(2_000 + dice.below(100_000) as i64, Ordering::SeqCst);
        let _ = front.kgctl(&["status"]);
        not_torn(&front);
        wire.left.store(i64::MAX, Ordering::SeqCst);
        not_torn(&front);
    }
    all_is_well(&mut project, &db, &front, n_rounds);
}

#[test]
fn a_database_that_hangs_stops_no_front_end() {
    let Some(db) = database() else { return };
    let mut project = TestProject::of(&[("changing.md", &numbered(1))]);
    with_rights(&project, &db);
    publish(&project, &db, "changing");
    let front = Front::of(&db, "ann");
    front.start();
    assert_eq!(not_torn(&front), Some(1));
    db.hang(true);
    // It looks again each second.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(not_torn(&front), Some(1), "what was copied answers");
    let pid = front.pid().expect("it runs");
    assert!(Command::new("kill").arg(&pid).status().expect("it runs").success());
    until("it ends", || front.pid().is_none());
    db.hang(false);
    all_is_well(&mut project, &db, &front, 1);
}

#[test]
fn a_backup_that_is_restored_is_brought_on_again() {
    let Some(mut db) = database() else { return };
    let mut project = TestProject::empty();
    project.write("changing.md", numbered(1));
    with_rights(&project, &db);
    project.set(&format!("publish.url={}", db.url("pub")));
    project.set("publish.project=changing");
    project.start();
    project.settle();
    let is_shown = |status: &Value| {
        status["hub"]["lag"] == 0
            && status["hub"]["tick"] == status["tick"]
            && status["hub"]["trouble"].is_null()
    };
    project.until("the hub shows it", is_shown);
    let front = Front::of(&db, "ann");
    front.start();
    assert_eq!(not_torn(&front), Some(1));
    db.save();
    project.write("changing.md", numbered(2));
    project.settle();
    project.until("the hub shows it", is_shown);
    until("the front end shows it", || not_torn(&front) == Some(2));
    let tick = shown(&db);
    db.restore();
    assert!(shown(&db) < tick, "it is the older one");
    // Nothing changes in the folder: the publisher finds by itself that the hub is behind.
    until("the hub is brought on", || shown(&db) >= tick);
    project.until("the daemon says so", is_shown);
    until("the front end shows it", || not_torn(&front) == Some(2));
    all_is_well(&mut project, &db, &front, 2);
}

#[test]
fn rows_that_somebody_deletes_are_published_again() {
    let Some(db) = database() else { return };
    let mut project = TestProject::empty();
    project.write("changing.md", numbered(1));
    with_rights(&project, &db);
    project.set(&format!("publish.url={}", db.url("pub")));
    project.set("publish.project=changing");
    project.start();
    project.settle();
    project.until("the hub shows it", |status| status["hub"]["tick"] == status["tick"]);
    let n_rows = || {
        db.sql("SELECT (SELECT count(*) FROM kg.documents) + (SELECT count(*) FROM kg.mentions)")
    };
    let whole = n_rows();
    db.sql("DELETE FROM kg.documents");
    db.sql("DELETE FROM kg.mentions");
    assert_eq!(n_rows(), "0");
    // Nothing changes in the folder, nor in the project's row in the hub.
    until("they are back", || n_rows() == whole);
    let front = Front::of(&db, "ann");
    front.start();
    all_is_well(&mut project, &db, &front, 1);
}

#[test]
fn a_disk_that_is_full_tears_no_tick() {
    let Some(mut db) = Postgres::start_on_disk(600) else { return };
    db.sql(ROLES);
    let mut project = TestProject::of(&[("changing.md", &numbered(1))]);
    with_rights(&project, &db);
    publish(&project, &db, "changing");
    let front = Front::of(&db, "ann");
    front.start();
    assert_eq!(not_torn(&front), Some(1));
    // More text than there is room for, in the same tick as the next number; what has no room is not of one kind.
    let words = |n: usize| -> String {
        let word =
            |at: usize| format!("w{:x}", (n * 7_919 + at).wrapping_mul(2_654_435_761) & 0xff_ffff);
        (0..8_000).map(|at| word(at) + if at % 12 == 0 { ".\n\n" } else { " " }).collect()
    };
    for n in 0..40 {
        project.write(&format!("filler-{n}.md"), words(n));
    }
    project.write("changing.md", numbered(2));
    project.settle();
    let before = shown(&db);
    let ballast = db.fill_disk(1 << 20);
    let output = publish_command(&project, &db, "changing").output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "there is no room");
    assert_eq!(output.status.code(), Some(4), "it may be tried again: {error}");
    if db.is_up() {
        assert_eq!(shown(&db), before, "nothing of it shows");
    }
    assert_eq!(not_torn(&front), Some(1), "what was copied answers");
    std::fs::remove_file(ballast).expect("freed");
    if !db.is_up() {
        // It ends where its log has no room.
        db.crash();
    }
    assert_eq!(shown(&db), before, "nothing of it is left");
    all_is_well(&mut project, &db, &front, 2);
}

#[test]
fn a_replica_that_is_behind_answers_whole_ticks() {
    let Some(db) = database() else { return };
    let mut project = TestProject::of(&[("changing.md", &numbered(1))]);
    with_rights(&project, &db);
    publish(&project, &db, "changing");
    let replica = db.replica();
    let front = Front::of(&replica, "ann");
    front.start();
    until("the replica's front end answers", || not_torn(&front) == Some(1));
    replica.sql("SELECT pg_wal_replay_pause()");
    project.write("changing.md", numbered(2));
    project.settle();
    publish(&project, &db, "changing");
    let tick = project.status()["tick"].as_i64().expect("a tick");
    assert_eq!((shown(&db), shown(&replica) < tick), (tick, true));
    assert_eq!(not_torn(&front), Some(1));
    let mut client = front.client("changing");
    let asked = json!({"q": "number of the changing thing", "k": 20, "at_least": tick});
    let late = client.call("hybrid_query", asked.clone()).expect_err("it is behind");
    assert_eq!(late["code"], "deadline_exceeded", "{late}");
    // It is waited for, and comes whole.
    let waiting = std::thread::spawn(move || client.call("hybrid_query", asked));
    replica.sql("SELECT pg_wal_replay_resume()");
    let found = waiting.join().expect("asked").expect("answered");
    assert_eq!((&found["tick"], numbers(&found)[0]), (&json!(tick), 2), "{found}");
    for n in 3..3 + times(4, 40) {
        project.write("changing.md", numbered(n));
        project.settle();
        publish(&project, &db, "changing");
        let number = not_torn(&front).expect("it answers");
        assert!((2..=n).contains(&number), "{number} in round {n}");
    }
    all_is_well(&mut project, &db, &front, 2 + times(4, 40));
}
