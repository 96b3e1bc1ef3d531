//! Verdicts as tables.

use super::*;
use expect_test::{Expect, expect};
use std::fmt::Write as _;

fn check(files: &[(&str, &str)], settings: Watch, paths: &[&str], expect: Expect) {
    let root = tempfile::tempdir().expect("temp folder");
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("file");
    }
    let rules = Rules::new(&root.path().canonicalize().expect("there"), &settings);
    let mut out = String::new();
    for path in paths {
        let (name, is_dir) = (path.trim_end_matches('/'), path.ends_with('/'));
        let verdict = match rules.verdict(name, is_dir) {
            Verdict::Read => "read",
            Verdict::Descend => "descend",
            Verdict::Skip(reason) => reason.as_str(),
        };
        writeln!(out, "{path:<28} {verdict}").expect("a string takes text");
    }
    for warning in rules.warnings() {
        // The rest of the message is the library's.
        let what = warning.split(" is not a valid pattern").next().unwrap_or_default();
        writeln!(out, "no pattern: {what}").expect("a string takes text");
    }
    expect.assert_eq(&out);
}

#[test]
fn names_decide_without_any_ignore_file() {
    let paths = [
        "a.md",
        "A.MD",
        "a.rs",
        "README",
        "a/b/c.html",
        "a.md~",
        ".#a.md",
        "#a.md#",
        "a.md.swp",
        "4913",
        "a.md.part",
        ".hidden.md",
        ".env",
        ".git/",
        ".git/a.md",
        "x/node_modules/",
        "x/target/y/a.md",
        "target.md",
        ".obsidian/a.md",
        "sub/",
        ".sub/",
        "../a.md",
        "/etc/a.md",
        "a//b.md",
        "",
    ];
    check(
        &[],
        Watch::default(),
        &paths,
        expect![[r#"
            a.md                         read
            A.MD                         read
            a.rs                         extension
            README                       read
            a/b/c.html                   read
            a.md~                        temporary
            .#a.md                       temporary
            #a.md#                       temporary
            a.md.swp                     temporary
            4913                         temporary
            a.md.part                    temporary
            .hidden.md                   hidden
            .env                         on the deny list
            .git/                        built-in folder
            .git/a.md                    built-in folder
            x/node_modules/              built-in folder
            x/target/y/a.md              built-in folder
            target.md                    read
            .obsidian/a.md               built-in folder
            sub/                         descend
            .sub/                        hidden
            ../a.md                      outside the root
            /etc/a.md                    outside the root
            a//b.md                      outside the root
                                         outside the root
        "#]],
    );
}

#[test]
fn a_list_of_basic_memory_counts_as_ours_does() {
    check(
        &[(".bmignore", "private/\n*.log.md\nboth.md\n"), (".kgignore", "!both.md\n")],
        Watch::default(),
        &["private/", "day.log.md", "both.md", "a.md"],
        expect![[r#"
            private/                     ignored
            day.log.md                   ignored
            both.md                      read
            a.md                         read
        "#]],
    );
}

#[test]
fn ignore_files_nest_and_the_nearest_wins() {
    check(
        &[
            (".gitignore", "drafts/\n*.txt\n/top.md\n# comment\n!keep.txt\n"),
            ("sub/.gitignore", "!note.txt\nsecret.md\n"),
            (".kgignore", "!drafts/\nsub/deep/*.md\n!.dot/\n!target\n"),
            ("sub/deep/.kgignore", "!yes.md\n"),
        ],
        Watch::default(),
        &[
            "drafts/",
            "drafts/a.md",
            "a.txt",
            "keep.txt",
            "top.md",
            "x/top.md",
            "sub/note.txt",
            "sub/a.txt",
            "sub/secret.md",
            "secret.md",
            "sub/deep/no.md",
            "sub/deep/yes.md",
            ".dot/a.md",
            "target/a.md",
        ],
        expect![[r#"
            drafts/                      descend
            drafts/a.md                  read
            a.txt                        ignored
            keep.txt                     read
            top.md                       ignored
            x/top.md                     read
            sub/note.txt                 read
            sub/a.txt                    ignored
            sub/secret.md                ignored
            secret.md                    read
            sub/deep/no.md               ignored
            sub/deep/yes.md              read
            .dot/a.md                    read
            target/a.md                  read
        "#]],
    );
}

#[test]
fn settings_add_patterns_extensions_and_hidden_files() {
    let settings = Watch {
        hidden: true,
        ignore: ["drafts/**", "*.bak.md", "a{"].map(String::from).to_vec(),
        extensions: vec![".Tex".into(), "-txt".into()],
        ..Watch::default()
    };
    check(
        &[(".kgignore", "!drafts/x.md\n")],
        settings,
        &["drafts/x.md", "n.bak.md", "x.tex", "x.txt", "x.rs", ".x.md", ".git/x.md", ".trash/x.md"],
        expect![[r#"
            drafts/x.md                  ignored
            n.bak.md                     ignored
            x.tex                        read
            x.txt                        extension taken out by `watch.extensions`
            x.rs                         extension
            .x.md                        read
            .git/x.md                    built-in folder
            .trash/x.md                  built-in folder
            no pattern: `watch.ignore`: `a{`
        "#]],
    );
}

#[test]
fn a_list_of_patterns_is_bounded_and_so_are_all_lists_in_memory() {
    const N_FOLDERS: usize = 30;
    let root = tempfile::tempdir().expect("temp folder");
    let patterns = |n: usize| (0..n).map(|n| format!("{n}.md\n")).collect::<String>();
    std::fs::write(root.path().join(".gitignore"), patterns(MAX_PATTERNS + 1)).expect("file");
    for n in 0..N_FOLDERS {
        std::fs::create_dir(root.path().join(format!("{n}"))).expect("folder");
        let list = patterns(1_000).replace("999", "here");
        std::fs::write(root.path().join(format!("{n}/.kgignore")), list).expect("file");
    }
    let rules = Rules::new(&root.path().canonicalize().expect("there"), &Watch::default());
    let ignored = Verdict::Skip(SkipReason::Ignored);
    assert_eq!(rules.verdict(&format!("{}.md", MAX_PATTERNS - 1), false), ignored);
    assert_eq!(rules.verdict(&format!("{MAX_PATTERNS}.md"), false), Verdict::Read);
    assert_eq!(rules.warnings(), ["`.gitignore` is read only up to line 2000"]);
    // Twice, because the first lists are read again.
    for n in (0..N_FOLDERS).chain(0..N_FOLDERS) {
        assert_eq!(rules.verdict(&format!("{n}/here.md"), false), ignored);
        assert!(lock(&rules.loaded).n_patterns <= MAX_LOADED_PATTERNS);
    }
}
