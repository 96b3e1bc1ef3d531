//! Renames of files and folders.

use super::*;

#[tokio::test]
async fn a_renamed_file_carries_its_old_name() {
    let mut project = Project::start_patient(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c")]);
    project.open().await;
    project.rename("a.md", "z.md");
    assert_eq!(project.take(2).await, ["first doc z.md `a` from a.md", "first gone a.md"]);
    project.rename("z.md", "y.md");
    project.rename("y.md", "x.md");
    assert_eq!(project.take(2).await, ["first doc x.md `a` from z.md", "first gone z.md"]);
    // Two files swap their names.
    project.rename("b.md", "t.md");
    project.rename("c.md", "b.md");
    project.rename("t.md", "c.md");
    assert_eq!(project.take(2).await, ["first doc b.md `c` for c.md", "first doc c.md `b`"]);
    project.rename("x.md", "x.rs");
    assert_eq!(project.next().await, "first gone x.md");
    project.rename("x.rs", "x.md");
    assert_eq!(project.next().await, "first doc x.md `a`");
    assert_eq!(project.drain().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_file_that_a_tool_names_before_its_rename_has_settled_carries_its_old_name() {
    let mut project = Project::start_patient(&[("a.md", "a"), ("d.md", "d")]);
    project.open().await;
    let submit = |project: &Project, paths: &[&str]| {
        let (handle, paths) = (project.handle.clone(), paths.iter().map(|it| RelPath::new(*it)));
        let paths = paths.collect();
        async move { handle.submit(paths, false).await }
    };
    // The tool moves it, and somebody renames and edits it before that has settled.
    project.rename("a.md", "b.md");
    submit(&project, &["b.md", "a.md"]).await;
    assert_eq!(project.take(2).await, ["first doc b.md `a` from a.md", "first gone a.md"]);
    project.rename("b.md", "c.md");
    project.put("c.md", "edited");
    assert_eq!(project.take(2).await, ["first doc c.md `edited` from b.md", "first gone b.md"]);
    // Somebody renames it, and the tool edits it before that has settled.
    project.rename("d.md", "e.md");
    let claims = &project.handle.life.shared.intake.claims;
    while claims.names_before(&RelPath::new("e.md")).is_empty() {
        tokio::task::yield_now().await;
    }
    project.put("e.md", "edited");
    submit(&project, &["e.md"]).await;
    assert_eq!(project.take(2).await, ["first doc e.md `edited` from d.md", "first gone d.md"]);
    assert_eq!(project.drain().await, Vec::<String>::new());
}

#[tokio::test]
async fn editors_that_save_by_renaming_cause_one_change() {
    let mut project = Project::start_patient(&[("a.md", "a")]);
    project.open().await;
    // The backup is written first, as Vim does.
    project.rename("a.md", "a.md~");
    project.put("a.md", "vim");
    fs::remove_file(project.path("a.md~")).expect("remove");
    assert_eq!(project.next().await, "first doc a.md `vim`");
    // A temporary file in the same folder, hidden or not.
    fs::write(project.path(".a.md.123"), "hidden").expect("write");
    project.rename(".a.md.123", "a.md");
    assert_eq!(project.next().await, "first doc a.md `hidden`");
    fs::write(project.path("a.tmp"), "plain").expect("write");
    project.rename("a.tmp", "a.md");
    assert_eq!(project.next().await, "first doc a.md `plain`");
    assert_eq!(project.drain().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_renamed_folder_carries_the_old_names_of_its_files() {
    let mut project =
        Project::start_patient(&[("old/a.md", "a"), ("old/sub/b.md", "b"), ("c.md", "c")]);
    project.open().await;
    project.rename("old", "new");
    let moved = project.take(4).await;
    assert_eq!(
        moved,
        [
            "first doc new/a.md `a` from old/a.md",
            "first doc new/sub/b.md `b` from old/sub/b.md",
            "first gone old/a.md",
            "first gone old/sub/b.md",
        ]
    );
    project.put("new/sub/b.md", "watched");
    assert_eq!(project.next().await, "first doc new/sub/b.md `watched`");
    assert_eq!(project.drain().await, Vec::<String>::new());
}

#[tokio::test]
async fn folders_move_out_and_in_and_under_another_list() {
    let mut project =
        Project::start(&[("d/a.md", "a"), ("d/s/b.md", "b"), (".gitignore", "cache/\n")]);
    project.open().await;
    let aside = project.folder.path().join("aside");
    fs::rename(project.path("d"), &aside).expect("move out");
    assert_eq!(project.take(2).await, ["first gone d/a.md", "first gone d/s/b.md"]);
    fs::write(aside.join(".kgignore"), "a.md\n").expect("write");
    fs::rename(&aside, project.path("d")).expect("move in");
    assert_eq!(project.next().await, "first doc d/s/b.md `b`");
    project.rename("d", "cache");
    assert_eq!(project.next().await, "first gone d/s/b.md");
    project.rename("cache", "back");
    assert_eq!(project.next().await, "first doc back/s/b.md `b`");
    fs::remove_dir_all(project.path("back")).expect("remove");
    // In either lane: an ignore file was deleted too, and the crawl it caused may have been faster.
    assert!(project.next().await.ends_with("gone back/s/b.md"));
    assert_eq!(project.drain().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_folder_replaced_by_a_file_takes_its_files_with_it() {
    let mut project = Project::start_patient(&[("d.md/a.md", "a"), ("e/b.md", "b")]);
    project.open().await;
    let aside = project.folder.path().join("aside");
    fs::rename(project.path("d.md"), &aside).expect("move out");
    project.put("d.md", "file now");
    assert_eq!(project.take(2).await, ["first doc d.md `file now`", "first gone d.md/a.md"]);
    fs::rename(project.path("e"), project.folder.path().join("aside2")).expect("move out");
    project.put("e", "no document");
    assert_eq!(project.next().await, "first gone e/b.md");
    fs::remove_file(project.path("d.md")).expect("remove");
    write_all(&project.path(""), &[("d.md/a.md", "folder again")]);
    assert_eq!(project.take(2).await, ["first gone d.md", "first doc d.md/a.md `folder again`"]);
    assert_eq!(project.drain().await, Vec::<String>::new());
}

/// Makes `change` while nothing watches, and returns what a watcher started afterwards sends.
async fn while_stopped(files: &[(&str, &str)], change: impl FnOnce(&Project)) -> Vec<String> {
    let mut project = Project::start(files);
    project.open().await;
    project.handle.stop().await;
    change(&project);
    let Project { folder, known, .. } = project;
    Project::watch(folder, settings(), known, 1_000).open().await
}

#[tokio::test]
async fn files_moved_while_nobody_watched_carry_their_old_names() {
    let files = [("a.md", "alpha"), ("old/a.md", "one"), ("old/b.md", "two"), ("z.md", "zeta")];
    let sent = while_stopped(&files, |project| {
        project.rename("old", "new");
        project.rename("a.md", "zz.md");
        project.rename("z.md", "0.md");
    });
    let expected = [
        "bulk doc 0.md `zeta` from z.md",
        "bulk gone z.md",
        "bulk doc new/a.md `one` from old/a.md",
        "bulk gone old/a.md",
        "bulk doc new/b.md `two` from old/b.md",
        "bulk gone old/b.md",
        "bulk doc zz.md `alpha` from a.md",
        "bulk gone a.md",
    ];
    assert_eq!(sent.await, expected);
}

#[tokio::test]
async fn of_two_copies_the_first_is_the_vanished_document() {
    let sent = while_stopped(&[("a.md", "alpha")], |project| {
        fs::copy(project.path("a.md"), project.path("c.md")).expect("copy");
        project.rename("a.md", "b.md");
    });
    let expected = ["bulk doc b.md `alpha` from a.md", "bulk gone a.md", "bulk doc c.md `alpha`"];
    assert_eq!(sent.await, expected);
    // The same from events, without a rename: two copies appear, the original is deleted.
    let mut project = Project::start_patient(&[("a.md", "alpha")]);
    project.open().await;
    let text = fs::read(project.path("a.md")).expect("read");
    fs::write(project.path("b.md"), &text).expect("write");
    fs::write(project.path("c.md"), &text).expect("write");
    fs::remove_file(project.path("a.md")).expect("remove");
    let expected =
        ["first doc b.md `alpha` from a.md", "first gone a.md", "first doc c.md `alpha`"];
    assert_eq!(project.take(3).await, expected);
}

#[tokio::test]
async fn two_files_that_swapped_names_while_nobody_watched_exchange_places() {
    let sent = while_stopped(&[("a.md", "first"), ("b.md", "other text")], |project| {
        project.rename("a.md", "t.md");
        project.rename("b.md", "a.md");
        project.rename("t.md", "b.md");
    });
    assert_eq!(sent.await, ["bulk doc a.md `other text` for b.md", "bulk doc b.md `first`"]);
}

#[tokio::test]
async fn a_file_edited_and_renamed_while_nobody_watched_is_known_by_its_text() {
    let text = "the lighthouse keeper writes down every ship that passes by night";
    let edited = format!("{text} twice");
    let files = [("a.md", text), ("b.md", "something else altogether, not near"), ("c.md", "c")];
    let sent = while_stopped(&files, |project| {
        fs::remove_file(project.path("a.md")).expect("remove");
        fs::remove_file(project.path("b.md")).expect("remove");
        project.put("x.md", "another text that nobody has seen before now");
        project.put("y.md", &edited);
    });
    // The move may be sent before the inbox has the other two, which have nothing to do with it.
    let (moved, mut others): (Vec<String>, Vec<String>) =
        sent.await.into_iter().partition(|it| it.contains(" y.md") || it.ends_with(" a.md"));
    others.sort();
    assert_eq!(moved, ["bulk doc y.md `the lighthouse keepe` from a.md", "bulk gone a.md"]);
    assert_eq!(others, ["bulk doc x.md `another text that no`", "bulk gone b.md"]);
}

#[tokio::test]
async fn an_edit_that_overtakes_a_move_carries_the_old_name_too() {
    let mut project = Project::start_patient(&[("a.md", "alpha")]);
    project.open().await;
    project.commits = false;
    project.rename("a.md", "b.md");
    assert_eq!(project.take(2).await, ["first doc b.md `alpha` from a.md", "first gone a.md"]);
    project.put("b.md", "beta");
    assert_eq!(project.next().await, "first doc b.md `beta` from a.md");
}
