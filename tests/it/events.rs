//! Events at scale: floods, system limits, and file systems that report nothing.

#![allow(clippy::print_stdout, reason = "the long forms print their figures")]

use std::fs;
use std::process::Command;
use std::time::Instant;

use tests::TestProject;

fn n_documents(project: &mut TestProject) -> u64 {
    project.status()["counts"]["documents"].as_u64().expect("a number")
}

fn watcher(project: &mut TestProject) -> String {
    project.status()["watcher"].as_str().expect("a text").to_string()
}

fn full() -> bool {
    std::env::var_os("KG_FULL").is_some()
}

fn signal(project: &TestProject, signal: &str) {
    let pid = project.pid().to_string();
    let sent = Command::new("kill").args([signal, &pid]).status().expect("`kill` runs");
    assert!(sent.success());
}

/// `KG_FULL=1` uses 12,000 files, and the kernel's own queue: the daemon is stopped while they are
/// written.
#[test]
fn a_flood_that_overflows_the_queue_loses_nothing() {
    let n = if full() { 12_000 } else { 2_500 };
    let mut project = TestProject::empty();
    if !full() {
        // A queue so short that even the small flood overflows it.
        project.fail("watch.queue=64");
    }
    project.write("flood/first.md", "# First\n\nrow\n");
    project.start();
    project.settle();
    // A stopped daemon has to process them all at once.
    signal(&project, "-STOP");
    let begin = Instant::now();
    for i in 0..n {
        let text = format!("# Sheet {i}\n\nrow {i}\n");
        fs::write(project.at(&format!("flood/{i}.md")), text).expect("a file");
    }
    let wrote = begin.elapsed();
    signal(&project, "-CONT");
    project.settle();
    assert_eq!(n_documents(&mut project), n + 1);
    let mode = watcher(&mut project);
    assert!(mode.contains("overflows made good by rescans"), "{mode}");
    println!("{n} files written in {wrote:.1?}, all found after {:.1?}; {mode}", begin.elapsed());
}

#[test]
fn folders_beyond_the_limit_of_watches_are_polled_and_the_others_are_not() {
    let mut project = TestProject::empty();
    project.set("watch.poll_interval_ms=100");
    for folder in ["a", "b", "c", "d", "d/e"] {
        project.write(&format!("{folder}/one.md"), format!("# One of {folder}\n\nwords\n"));
    }
    // The root, `a` and `b`.
    project.fail("watch.limit=3");
    project.start();
    project.settle();
    let mode = watcher(&mut project);
    assert!(mode.starts_with("events in 3 folders, poll in 3, because too many folders"), "{mode}");
    assert!(mode.contains("fs.inotify.max_user_watches"), "{mode}");
    let warnings = project.status()["warnings"].to_string();
    assert!(warnings.contains("poll in 3"), "{warnings}");
    for (path, word) in
        [("c/one.md", "cormorant"), ("d/e/new.md", "dotterel"), ("a/one.md", "avocet")]
    {
        project.write(path, format!("# Bird\n\nthe {word} is seen\n"));
        project.until_graph(word, |project| {
            project.found(word).first().is_some_and(|found| found == path).then_some(())
        });
    }
    // A folder that is added later finds no watch left and is polled, too; one that is removed
    // takes its files with it.
    project.write("f/g/late.md", "# Bird\n\nthe fulmar is seen\n");
    project.settle();
    project.write("f/g/later.md", "# Bird\n\nthe gannet is seen\n");
    project.settle();
    assert_eq!(project.found("gannet")[0], "f/g/later.md");
    fs::remove_dir_all(project.at("d")).expect("removed");
    project.settle();
    assert_eq!(n_documents(&mut project), 5);
    // Once watches are available again, the next comparison sets them.
    project.stop();
    project.fail("");
    project.start();
    project.settle();
    assert_eq!(watcher(&mut project), "events");
}

#[test]
fn without_any_event_queue_everything_is_polled() {
    let mut project = TestProject::empty();
    project.set("watch.poll_interval_ms=100");
    project.fail("watch.instances=0");
    project.write("a.md", "# A\n\nwords\n");
    project.start();
    project.settle();
    let mode = watcher(&mut project);
    assert!(mode.starts_with("poll, because too many programs watch files"), "{mode}");
    assert!(mode.contains("fs.inotify.max_user_instances"), "{mode}");
    project.write("a.md", "# A\n\nthe heron is seen\n");
    project.settle();
    assert_eq!(project.found("heron")[0], "a.md");
}

#[test]
fn a_network_file_system_is_polled_unless_the_setting_says_otherwise() {
    let mut project = TestProject::empty();
    project.set("watch.poll_interval_ms=100");
    // The value that `statfs` returns for NFS.
    project.fail(&format!("watch.filesystem={}", 0x6969));
    project.write("a.md", "# A\n\nwords\n");
    project.start();
    project.settle();
    let mode = watcher(&mut project);
    assert!(mode.starts_with("poll, because NFS"), "{mode}");
    project.write("b.md", "# B\n\nthe ibis is seen\n");
    project.settle();
    assert_eq!(project.found("ibis")[0], "b.md");
    project.set("watch.poll=false");
    project.restart();
    project.settle();
    assert_eq!(watcher(&mut project), "events");
}
