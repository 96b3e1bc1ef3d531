use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;

/// Creates a scratch folder with `a`, `a/deep/inner`, `b`, `c/a` and `outside`; `a`, `a/deep` and `b` are registered.
fn fixture() -> (TempDir, Registry) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    for folder in ["a/deep/inner", "b", "c/a", "outside"] {
        std::fs::create_dir_all(scratch.path().join(folder)).expect("made");
    }
    let mut registry = Registry::default();
    for folder in ["a", "a/deep", "b"] {
        registry.add(&scratch.path().join(folder), None, 7).expect("there");
    }
    (scratch, registry)
}

fn relative(scratch: &TempDir, text: &str) -> String {
    let root = scratch.path().canonicalize().expect("there");
    text.replace(&root.display().to_string(), "/tmp")
}

#[test]
fn names_are_unique_and_adding_twice_changes_nothing() {
    let (scratch, mut registry) = fixture();
    let at = |folder: &str| scratch.path().join(folder);
    registry.add(&at("a"), None, 9).expect("again");
    registry.add(&at("c/a"), None, 9).expect("another a");
    registry.add(&at("outside"), Some("b"), 9).expect("a taken name");
    registry.add(&at("b"), Some("better"), 9).expect("renamed");
    let rows: String = registry
        .projects()
        .iter()
        .map(|it| format!("{} {} {}\n", it.name, it.root.display(), it.added))
        .collect();
    expect![[r#"
        a /tmp/a 7
        deep /tmp/a/deep 7
        better /tmp/b 7
        a-2 /tmp/c/a 9
        b-2 /tmp/outside 9
    "#]]
    .assert_eq(&relative(&scratch, &rows));
    let error = registry.add(&at("nowhere"), None, 9).expect_err("not there").to_string();
    assert!(error.starts_with("cannot register"), "{error}");
}

/// Each case: flag, `KG_PROJECT`, current folder.
fn check_which(
    cases: &[(Option<&str>, Option<&str>, &str)],
    registry: &Registry,
    scratch: &TempDir,
    expected: Expect,
) {
    let root = scratch.path().canonicalize().expect("there");
    let mut shown = String::new();
    for (flag, env, cwd) in cases {
        let flag = flag.map(|flag| flag.replace("/tmp", &root.display().to_string()));
        let answer = match registry.which(flag.as_deref(), *env, &root.join(cwd)) {
            Ok(project) => format!("{} {}", project.name, project.root.display()),
            Err(error) => error.to_string(),
        };
        shown.push_str(&format!("{answer}\n"));
    }
    expected.assert_eq(&relative(scratch, &shown));
}

#[test]
fn all_are_replaced_under_names_of_their_own() {
    let (_scratch, mut registry) = fixture();
    let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
    let many: Vec<Project> = (0..40).map(|n| project(&format!("p{n}"))).collect();
    registry.replace_all(["My Notes", "!", "my-notes", "!"].map(project).iter().chain(&many));
    let names: Vec<&str> = registry.projects().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names[..5], ["My Notes", "!", "my-notes-2", "!-2", "p0"]);
    let error = registry.which(None, None, Path::new("/")).expect_err("none is meant").to_string();
    assert!(error.contains("  p25  /p25\n  and 14 more\nhint: "), "{error}");
}

#[test]
fn the_flag_then_the_variable_then_the_folder_around() {
    let (scratch, registry) = fixture();
    let cases = [
        (Some("b"), Some("a"), "a"),
        (Some("/tmp/a/deep"), None, "b"),
        (Some("/tmp/outside"), None, "b"),
        (Some(""), Some("b"), "a"),
        (None, Some("deep"), "b"),
        (None, None, "a/deep/inner"),
        (None, None, "a"),
        (Some("nope"), None, "a"),
        (None, Some("nope"), "a"),
        (None, None, "outside"),
    ];
    check_which(
        &cases,
        &registry,
        &scratch,
        expect![[r#"
            b /tmp/b
            deep /tmp/a/deep
            outside /tmp/outside
            b /tmp/b
            deep /tmp/a/deep
            deep /tmp/a/deep
            a /tmp/a
            no project or folder is called `nope` (from `--project`); registered projects:
              a  /tmp/a
              deep  /tmp/a/deep
              b  /tmp/b
            hint: use `--project NAME`, or register a folder with `kgctl init DIR`
            no project or folder is called `nope` (from `KG_PROJECT`); registered projects:
              a  /tmp/a
              deep  /tmp/a/deep
              b  /tmp/b
            hint: use `--project NAME`, or register a folder with `kgctl init DIR`
            no project was given, and the current folder is not in one; registered projects:
              a  /tmp/a
              deep  /tmp/a/deep
              b  /tmp/b
            hint: use `--project NAME`, or register a folder with `kgctl init DIR`
        "#]],
    );
}

#[test]
fn a_folder_that_cannot_be_a_project_is_refused_with_the_reason() {
    let (scratch, registry) = fixture();
    std::fs::write(scratch.path().join("outside/id_rsa"), "a key").expect("written");
    let cases = [(Some("/tmp/outside"), None, "outside")];
    check_which(
        &cases,
        &registry,
        &scratch,
        expect![[r#"
            `--project` names a folder that cannot be a project: `/tmp/outside` contains keys (`id_rsa`)
            hint: name a folder of documents inside it
        "#]],
    );
}

#[test]
fn the_only_or_the_default_project_comes_last() {
    let (scratch, mut registry) = fixture();
    let outside = [(None, None, "outside")];
    registry.set_default("b");
    check_which(
        &outside,
        &registry,
        &scratch,
        expect![[r#"
        b /tmp/b
    "#]],
    );
    registry.remove("b");
    registry.remove("deep");
    check_which(
        &outside,
        &registry,
        &scratch,
        expect![[r#"
        a /tmp/a
    "#]],
    );
    registry.remove("a");
    check_which(
        &outside,
        &registry,
        &scratch,
        expect![[r#"
            no project was given, and the current folder is not in one; none is registered
            hint: register a folder with `kgctl init DIR`
        "#]],
    );
}

#[test]
fn the_file_is_read_back_and_absence_is_no_error() {
    let (scratch, registry) = fixture();
    let config = scratch.path().join("config/kgd");
    assert_eq!(Registry::load(&config).expect("absent"), Registry::default());
    Registry::update(&config, |it| {
        *it = registry.clone();
        Ok(())
    })
    .expect("written");
    assert_eq!(Registry::load(&config).expect("written"), registry);
    let removed = Registry::update(&config, |it| Ok(it.remove("deep"))).expect("written");
    assert_eq!(removed.map(|it| it.name).as_deref(), Some("deep"));
    assert_eq!(Registry::load(&config).expect("written").projects().len(), 2);
    let left: Vec<_> =
        std::fs::read_dir(&config).expect("there").flatten().map(|it| it.file_name()).collect();
    assert_eq!(left.len(), 2, "nothing but the file and its lock: {left:?}");
}

#[test]
fn a_damaged_file_is_named_and_left_alone() {
    let (scratch, _) = fixture();
    let file = scratch.path().join("projects.json");
    std::fs::write(&file, "oops \"root\": 3").expect("written");
    let error = Registry::update(scratch.path(), |it| Ok(it.remove("a"))).expect_err("damaged");
    expect![[r#"
        the registry `/tmp/projects.json` is damaged: expected value at line 1 column 1
        hint: repair it, or delete it and run `kgctl init DIR` for each folder;
        no index is lost
    "#]]
    .assert_eq(&(relative(&scratch, &error.to_string()).replace("; no", ";\nno") + "\n"));
    assert!(std::fs::read_to_string(&file).expect("there").contains("\"root\": 3"));
}

#[test]
fn a_project_whose_folder_is_gone_can_be_removed_by_path() {
    let (scratch, mut registry) = fixture();
    let gone = scratch.path().canonicalize().expect("there").join("b");
    std::fs::remove_dir(&gone).expect("empty");
    assert_eq!(
        registry.remove(&gone.display().to_string()).map(|it| it.name).as_deref(),
        Some("b")
    );
    assert_eq!(registry.remove("b"), None);
}

#[test]
fn a_folder_inside_a_project_means_that_project() {
    let (scratch, registry) = fixture();
    let inside = scratch.path().join("a/deep/inner");
    let found = registry.which(inside.to_str(), None, scratch.path()).expect("found");
    assert_eq!(found.name, "deep");
    assert!(registry.which(Some("/"), None, scratch.path()).is_err(), "too wide to be meant");
}
