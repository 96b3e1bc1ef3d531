use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use expect_test::{Expect, expect};

use super::*;

fn places(env: &[(&str, &str)]) -> Result<Places, PlaceError> {
    let env: BTreeMap<_, _> = env.iter().copied().collect();
    Places::from_lookup(&|name| env.get(name).map(OsString::from), 1000)
}

fn check(env: &[(&str, &str)], expected: Expect) {
    let shown = match places(env) {
        Ok(it) => {
            format!("{}\n{}\n{}\n", it.state.display(), it.runtime.display(), it.config.display())
        }
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn own_variables_then_xdg_then_home() {
    check(
        &[("HOME", "/home/ada")],
        expect![[r#"
            /home/ada/.local/state/kgd
            /tmp/kgd-1000
            /home/ada/.config/kgd
        "#]],
    );
    check(
        &[
            ("HOME", "/home/ada"),
            ("XDG_STATE_HOME", "/s"),
            ("XDG_RUNTIME_DIR", "/run/user/1000"),
            ("XDG_CONFIG_HOME", "rel"),
        ],
        expect![[r#"
            /s/kgd
            /run/user/1000/kgd
            /home/ada/.config/kgd
        "#]],
    );
    check(
        &[
            ("KG_STATE_DIR", "/a"),
            ("KG_RUNTIME_DIR", "/b"),
            ("KG_CONFIG_DIR", "/c"),
            ("XDG_STATE_HOME", "/s"),
        ],
        expect![[r#"
            /a
            /b
            /c
        "#]],
    );
    check(
        &[],
        expect![[r#"
            no home folder is known: `HOME` is unset, or relative
            hint: set `HOME`, or `KG_STATE_DIR`, to an absolute path
        "#]],
    );
}

#[test]
fn a_slug_is_readable_and_tells_equal_names_apart() {
    let slug = |root: &str| Project { root: root.into(), name: "any".into() }.slug();
    let table = ["/home/ada/My Notes (2024)", "/srv/My Notes (2024)", "/", "/données/été", "/日本"];
    let shown: String = table.iter().map(|root| format!("{root} -> {}\n", slug(root))).collect();
    expect![[r#"
        /home/ada/My Notes (2024) -> my-notes-2024-5ee2f28a
        /srv/My Notes (2024) -> my-notes-2024-3c0e9567
        / -> root-47429295
        /données/été -> t-ef9ae27b
        /日本 -> project-47118111
    "#]]
    .assert_eq(&shown);
}

#[test]
fn a_socket_path_always_fits() {
    let project =
        Project { root: format!("/srv/{}", "long-".repeat(40)).into(), name: String::new() };
    for runtime_bytes in [4, 40, 80, 91, 92, 93, 120] {
        let runtime = PathBuf::from(format!("/{}", "r".repeat(runtime_bytes - 1)));
        let places = Places { state: "/s".into(), runtime, config: "/c".into() };
        match places.project(&project) {
            Ok(paths) => {
                let bytes = paths.socket.as_os_str().len();
                assert!(bytes <= MAX_SOCKET_PATH_BYTES, "{bytes} bytes");
                assert!(runtime_bytes <= 91, "{runtime_bytes}");
            }
            Err(error) => {
                assert!(matches!(error, PlaceError::RuntimeTooLong(_)), "{error}");
                assert!(runtime_bytes > 91, "{runtime_bytes}");
            }
        }
    }
}

#[test]
fn folders_are_private_and_an_open_one_is_refused() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let at = |name: &str| scratch.path().join(name);
    let places = Places { state: at("state"), runtime: at("run"), config: at("config") };
    let project = Project::at(scratch.path()).expect("a folder");
    let paths = places.project(&project).expect("short enough");
    paths.create_dirs().expect("made");
    let mode = |path: &Path| std::fs::metadata(path).expect("made").permissions().mode() & 0o777;
    assert_eq!((mode(&paths.dir), mode(&places.runtime)), (0o700, 0o700));
    paths.create_dirs().expect("again");

    std::fs::set_permissions(&places.runtime, PermissionsExt::from_mode(0o777)).expect("ours");
    let error = paths.create_dirs().expect_err("open to all").to_string();
    assert!(error.contains("others may write to it"), "{error}");

    std::fs::remove_dir(&places.runtime).expect("empty");
    std::os::unix::fs::symlink(&places.state, &places.runtime).expect("a link");
    let error = paths.create_dirs().expect_err("a link").to_string();
    assert!(error.contains("not a folder"), "{error}");
    assert!(check_private(&places.state, 4_242).is_err(), "somebody else's");
}

#[test]
fn a_file_is_replaced_whole_and_nothing_is_left_after_a_failure() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let names = || {
        let entries = std::fs::read_dir(scratch.path()).expect("a folder").flatten();
        entries.map(|it| it.file_name().into_string().expect("text")).collect::<Vec<_>>()
    };
    let file = scratch.path().join("file");
    for (mode, text) in [(0o644, "one"), (0o600, "two")] {
        replace_file(&file, mode, text.as_bytes()).expect("replaced");
        assert_eq!(std::fs::read_to_string(&file).expect("text"), text);
        let permissions = file.metadata().expect("made").permissions();
        assert_eq!(permissions.mode() & 0o777, mode);
    }
    assert_eq!(names(), ["file"]);
    std::fs::remove_file(&file).expect("it is there");
    std::fs::create_dir(&file).expect("a folder");
    replace_file(&file, 0o600, b"three").expect_err("a folder in its place");
    assert_eq!(names(), ["file"]);
}
