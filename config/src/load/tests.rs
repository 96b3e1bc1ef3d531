use expect_test::{Expect, expect};

use super::*;

struct Case<'a> {
    user: &'a str,
    folder: &'a str,
    env: &'a [(&'a str, &'a str)],
    flags: &'a [&'a str],
}

const NOTHING: Case<'_> = Case { user: "", folder: "", env: &[], flags: &[] };

fn load_case(case: &Case<'_>) -> Result<String, String> {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let scratch_path = scratch.path().canonicalize().expect("there");
    let (config, folder) = (scratch_path.join("config"), scratch_path.join("folder"));
    for (dir, name, text) in
        [(&config, "config.yaml", case.user), (&folder, "kg.yaml", case.folder)]
    {
        std::fs::create_dir_all(dir).expect("made");
        std::fs::write(dir.join(name), text).expect("written");
    }
    let places = Places { state: "/s".into(), runtime: "/r".into(), config };
    let env = case.env.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let flags: Vec<_> = case.flags.iter().map(|flag| flag.to_string()).collect();
    let hide = |text: String| text.replace(&scratch_path.display().to_string(), "");
    match load_with(&places, Some(&folder), env, &flags) {
        Ok(loaded) => {
            let changed = loaded.rows().filter(|row| *row.2 != Origin::Default);
            Ok(hide(
                changed
                    .map(|(key, value, origin)| format!("{key} = {value}  ({origin})\n"))
                    .collect(),
            ))
        }
        Err(error) => Err(hide(format!("{error}\n"))),
    }
}

fn check(case: &Case<'_>, expected: Expect) {
    expected.assert_eq(&load_case(case).unwrap_or_else(|error| error));
}

#[test]
fn without_layers_everything_is_default() {
    check(&NOTHING, expect![""]);
    check(
        &Case {
            user: "# nothing\n\n",
            folder: "---\nwatch:\n  # debounce_ms: 1\nlink:\n",
            ..NOTHING
        },
        expect![""],
    );
    let places = Places { state: "/s".into(), runtime: "/r".into(), config: "/nowhere".into() };
    let loaded = load_with(&places, None, [], &[]).expect("defaults");
    assert_eq!(loaded.settings, Settings::default());
    assert_eq!(loaded.rows().count(), loaded.origins.len());
}

#[test]
fn later_layers_win_key_by_key() {
    check(
        &Case {
            user: "watch:\n  debounce_ms: 100\n  poll: true\nserve:\n  idle_exit_minutes: 5\n",
            folder: "watch: {debounce_ms: 200, ignore: ['*.tmp', drafts]}\nretrieval:\n  \
                     relation_weights:\n    uses: 0.7\n    mentors: 0.25\n",
            env: &[
                ("KG_RETRIEVAL__FORMULA", "s4"),
                ("KG_RECOGNIZE__GAZETTEER__TOP_K", "50"),
                ("KG_WATCH__EXTENSIONS", "md, org"),
                ("KG_RETRIEVAL__RELS", "[\"uses\"]"),
                ("KG_PROJECT", "not a setting"),
                ("KG_WRITE", "false"),
                ("KG_WATCH__POLL_INTERVAL_MS", "100"),
            ],
            flags: &["watch.poll=false", "retrieval.formula = text"],
        },
        expect![[r#"
            recognize.gazetteer.top_k = 50  (environment `KG_RECOGNIZE__GAZETTEER__TOP_K`)
            retrieval.formula = "text"  (flag `retrieval.formula = text`)
            retrieval.relation_weights.mentors = 0.25  (/folder/kg.yaml:5)
            retrieval.relation_weights.uses = 0.7  (/folder/kg.yaml:4)
            retrieval.rels = ["uses"]  (environment `KG_RETRIEVAL__RELS`)
            serve.idle_exit_minutes = 5  (/config/config.yaml:5)
            watch.debounce_ms = 200  (/folder/kg.yaml:1)
            watch.extensions = ["md","org"]  (environment `KG_WATCH__EXTENSIONS`)
            watch.ignore = ["*.tmp","drafts"]  (/folder/kg.yaml:1)
            watch.poll = "false"  (flag `watch.poll=false`)
            watch.poll_interval_ms = 100  (environment `KG_WATCH__POLL_INTERVAL_MS`)
            write = false  (environment `KG_WRITE`)
        "#]],
    );
}

#[test]
fn errors_name_file_line_and_key() {
    let folder = |text| Case { folder: text, ..NOTHING };
    check(
        &folder("chunk:\n  max_tokens: 100\n  overlap: 3\n"),
        expect![[r#"
            /folder/kg.yaml:3: `chunk.overlap` is not a setting
            hint: perhaps `chunk.overlap_tokens`
        "#]],
    );
    check(
        &folder("wotch:\n  poll: true\n"),
        expect![[r#"
        /folder/kg.yaml:2: `wotch.poll` is not a setting
        hint: perhaps `watch.poll`
    "#]],
    );
    check(
        &folder("chunk:\n  max_tokens: many\n"),
        expect![[r#"
        /folder/kg.yaml:2: `chunk.max_tokens` is wrong: invalid type: string "many", expected u32
    "#]],
    );
    check(
        &folder("chunk:\n  max_tokens: -3\n"),
        expect![[r#"
        /folder/kg.yaml:2: `chunk.max_tokens` is wrong: invalid value: integer `-3`, expected u32
    "#]],
    );
    check(
        &folder("\n\nwatch:\n  debounce_ms: 7\n"),
        expect![[r#"
        /folder/kg.yaml:4: `watch.debounce_ms` is 7; it must be from 20 to 5000
    "#]],
    );
    check(
        &folder("link:\n  tau2: 1.5\n"),
        expect![[r#"
        /folder/kg.yaml:2: `link.tau2` is 1.5; it must be from 0 to 1
    "#]],
    );
    check(
        &folder("chunk:\n  max_tokens: [1]\n"),
        expect![[r#"
            /folder/kg.yaml:2: `chunk.max_tokens` is wrong: invalid type: sequence, expected u32
        "#]],
    );
    check(
        &folder("retrieval:\n  relation_weights:\n    uses: 3\n"),
        expect![[r#"
        /folder/kg.yaml:3: `retrieval.relation_weights.uses` is 3; it must be from 0 to 1
    "#]],
    );
    check(
        &folder("watch: 3\n"),
        expect![[r#"
        /folder/kg.yaml:1: `watch` is a section, not a value
        hint: it has keys such as `watch.debounce_ms`
    "#]],
    );
    check(
        &folder("watch:\n  poll: {a: 1}\n"),
        expect![[r#"
        /folder/kg.yaml:2: `watch.poll.a` is not a setting
        hint: perhaps `watch.poll`
    "#]],
    );
    check(
        &folder("watch:\n  poll: true\n  poll: false\n"),
        expect![[r#"
            `/folder/kg.yaml`, line 3, is not YAML: duplicate mapping key: poll
        "#]],
    );
    check(
        &folder("- a\n- b\n"),
        expect![[r#"
        `/folder/kg.yaml`, line 1, is not YAML: a map of sections was expected
    "#]],
    );
    check(
        &folder("watch: [1,\n"),
        expect![[r#"
            `/folder/kg.yaml`, line 1, is not YAML: unclosed bracket '['
        "#]],
    );
    check(
        &folder("kb:\n  folder: memory/kb\n"),
        expect![[r#"
            /folder/kg.yaml:2: `kb.folder` puts entries (`memory/kb`) into the folder of memory (`memory`), where each would also become an entity: use them a folder of their own
        "#]],
    );
    check(
        &folder("memory:\n  folder: kb\n"),
        expect![[r#"
            /folder/kg.yaml:2: `memory.folder` puts entries (`kb`) into the folder of memory (`kb`), where each would also become an entity: use them a folder of their own
        "#]],
    );
    check(
        &folder("chunk:\n  max_tokens: 100\n  overlap_tokens: 90\n"),
        expect![[r#"
        /folder/kg.yaml:3: `chunk.overlap_tokens` is 90; it must be at most half of `chunk.max_tokens`
    "#]],
    );
}

#[test]
fn a_pattern_that_is_no_glob_is_named() {
    check(
        &Case { folder: "watch:\n  ignore:\n  - '*.tmp'\n  - '['\n", ..NOTHING },
        expect![[r#"
            /folder/kg.yaml:2: `watch.ignore` has `[`, which is not a glob pattern: its `[` is never closed
        "#]],
    );
}

#[test]
fn a_folder_names_files_of_its_own_only() {
    for path in ["/etc/passwd", "../mine.toml", "a/../../b.toml"] {
        let folder = format!("relate:\n  predicates: ['{path}']\n");
        let error = load_case(&Case { folder: &folder, ..NOTHING }).expect_err("refused");
        let expected = format!(
            "/folder/kg.yaml:2: `relate.predicates` names `{path}`, which is outside the folder"
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    let own = Case {
        user: "relate:\n  predicates: [/home/me/own.toml, kg.predicates.toml]\n",
        ..NOTHING
    };
    assert!(load_case(&own).is_ok());
}

#[test]
fn a_folder_sets_no_more_than_memory_is_there_for() {
    let globs =
        |n: usize, glob: &str| format!("watch:\n  ignore: [{}]\n", vec![glob; n].join(", "));
    let weights = |n| {
        let weights: String = (0..n).map(|n| format!("    r{n}: 0.5\n")).collect();
        format!("retrieval:\n  relation_weights:\n{weights}")
    };
    let why = "is too much: a folder sets at most 1000 values, of 64 kB together";
    for (folder, refused) in [
        (globs(1_000, "'*.x'"), None),
        (globs(1_001, "'*.x'"), Some("2: `watch.ignore`")),
        (globs(70, &format!("'{}'", "x".repeat(1_000))), Some("2: `watch.ignore`")),
        (
            globs(999, "a").replace("watch:", "watch:\n  poll: true") + &weights(1),
            Some("6: `retrieval"),
        ),
        (weights(1_001), Some("1003: `retrieval.relation_weights.r1000`")),
    ] {
        let case = Case { folder: &folder, ..NOTHING };
        let error = load_case(&case).err().map(|error| error.to_string());
        let is_expected = match (&error, refused) {
            (Some(error), Some(at)) => error.contains(at) && error.contains(why),
            (None, None) => true,
            _ => false,
        };
        assert!(is_expected, "{refused:?}: {error:?}");
    }
    let user = globs(1_001, "'*.x'");
    assert!(load_case(&Case { user: &user, ..NOTHING }).is_ok(), "the user's own file");
}

#[test]
fn a_folder_may_not_set_what_only_the_user_may() {
    check(
        &Case { folder: "watch:\n  poll: true\nserve:\n  idle_exit_minutes: 0\n", ..NOTHING },
        expect![[r#"
            /folder/kg.yaml:4: `serve.idle_exit_minutes` cannot be set by a folder
            hint: set it in `/config/config.yaml`, which only you can write
        "#]],
    );
    check(
        &Case { folder: "watch: {max_file_bytes: 99999999}\n", ..NOTHING },
        expect![[r#"
            /folder/kg.yaml:1: `watch.max_file_bytes` cannot be set by a folder
            hint: set it in `/config/config.yaml`, which only you can write
        "#]],
    );
    check(
        &Case { folder: "recognize:\n  model: /evil\n", ..NOTHING },
        expect![[r#"
            /folder/kg.yaml:2: `recognize.model` cannot be set by a folder
            hint: set it in `/config/config.yaml`, which only you can write
        "#]],
    );
    check(
        &Case { folder: "recognize:\n  given: /home/you/names.tsv\n", ..NOTHING },
        expect![[r#"
            /folder/kg.yaml:2: `recognize.given` cannot be set by a folder
            hint: set it in `/config/config.yaml`, which only you can write
        "#]],
    );
    check(
        &Case { user: "recognize:\n  given: names.tsv\n", ..NOTHING },
        expect![[r#"
        /config/config.yaml:2: `recognize.given` is `names.tsv`; it must be an absolute path
    "#]],
    );
    check(
        &Case { user: "recognize:\n  model: models/ner\n", ..NOTHING },
        expect![[r#"
        /config/config.yaml:2: `recognize.model` is `models/ner`; it must be an absolute path
    "#]],
    );
    check(
        &Case { user: "watch:\n  max_file_bytes: 5\n", ..NOTHING },
        expect![[r#"
        watch.max_file_bytes = 5  (/config/config.yaml:2)
    "#]],
    );
    check(
        &Case { user: "serve:\n  idle_exit_minutes: 0\n", ..NOTHING },
        expect![[r#"
        serve.idle_exit_minutes = 0  (/config/config.yaml:2)
    "#]],
    );
}

#[test]
fn variables_and_flags_are_named_in_errors() {
    check(
        &Case { env: &[("KG_WATCH__DEBOUNCE", "100")], ..NOTHING },
        expect![[r#"
        environment `KG_WATCH__DEBOUNCE`: `watch.debounce` is not a setting
        hint: perhaps `watch.debounce_ms`
    "#]],
    );
    check(
        &Case { env: &[("KG_WATCH__POLL", "?")], ..NOTHING },
        expect![[r#"
            environment `KG_WATCH__POLL`: `watch.poll` is wrong: invalid value: string "?", expected `auto`, `true` or `false`
        "#]],
    );
    check(
        &Case { flags: &["watch.debounce_ms"], ..NOTHING },
        expect![[r#"
        flag `watch.debounce_ms`: `watch.debounce_ms` is wrong: invalid type: string "", expected u64
    "#]],
    );
    check(
        &Case { flags: &["nonsense=1"], ..NOTHING },
        expect![[r#"
        flag `nonsense=1`: `nonsense` is not a setting
        hint: `kgctl config reference` lists every key
    "#]],
    );
}

#[test]
fn a_folder_may_forbid_to_write_but_not_allow_it() {
    let of = |user: &str, folder: &str| load_case(&Case { user, folder, ..NOTHING });
    let by_folder = "write = false  (/folder/kg.yaml:1)\n";
    assert_eq!(of("", "write: false\n").as_deref(), Ok(by_folder));
    assert_eq!(of("write: false\n", "").as_deref(), Ok("write = false  (/config/config.yaml:1)\n"));
    assert_eq!(of("write: false\n", "write: false\n").as_deref(), Ok(by_folder));
    let error = of("write: false\n", "write: true\n").expect_err("refused");
    assert!(
        error.starts_with("/folder/kg.yaml:1: `write` allows what you have forbidden"),
        "{error}"
    );
    assert!(load_case(&Case { folder: "write: perhaps\n", ..NOTHING }).is_err());
}

#[test]
fn the_registry_has_a_project_read_only_without_a_word_in_the_folder() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folder = scratch.path().canonicalize().expect("there").join("notes");
    std::fs::create_dir(&folder).expect("made");
    let config = scratch.path().join("config");
    let places = Places { state: "/s".into(), runtime: "/r".into(), config: config.clone() };
    let mark = |read_only| {
        Registry::update(&config, |registry| {
            let added = registry.add(&folder, None, 0)?;
            registry.set_read_only(&added.name, read_only);
            Ok(())
        })
        .expect("registered");
    };
    let may_write = || load_with(&places, Some(&folder), [], &[]).map(|it| it.settings.write);
    mark(false);
    assert!(may_write().expect("loaded"));
    mark(true);
    let loaded = load_with(&places, Some(&folder), [], &[]).expect("loaded");
    assert!(!loaded.settings.write);
    assert_eq!(loaded.origins.get("write"), Some(&Origin::Registry(config.join("projects.json"))));
    // The folder may say the same, and nothing else.
    std::fs::write(folder.join("kg.yaml"), "write: false\n").expect("written");
    assert!(!may_write().expect("loaded"));
    std::fs::write(folder.join("kg.yaml"), "write: true\n").expect("written");
    assert!(may_write().is_err());
    // A damaged registry may have forbidden writing.
    std::fs::remove_file(folder.join("kg.yaml")).expect("there");
    std::fs::write(config.join("projects.json"), "oops").expect("written");
    assert!(may_write().is_err());
}

#[test]
fn a_strange_file_is_refused_without_showing_its_text() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let places = Places { state: "/s".into(), runtime: "/r".into(), config: "/nowhere".into() };
    let attempt =
        || load_with(&places, Some(scratch.path()), [], &[]).map_err(|error| error.to_string());
    let file = scratch.path().join(PROJECT_FILE);
    std::fs::write(&file, "root:x:0:0:secret\nsecret: [").expect("written");
    let error = attempt().expect_err("not YAML");
    assert!(!error.contains("x:0:0"), "{error}");
    std::fs::write(&file, [0xff, 0xfe, 0x00]).expect("written");
    assert!(attempt().is_err());
    std::fs::write(&file, "#".repeat(2_000_000)).expect("written");
    assert!(attempt().expect_err("too long").contains("longer than"));
    std::fs::write(&file, "a: ".repeat(3) + &"[".repeat(100_000)).expect("written");
    assert!(attempt().is_err());
    std::fs::write(&file, "a: &a [x]\nb: &b [*a,*a]\n".to_string() + &"c: [*b,*b,*b]\n".repeat(3))
        .expect("written");
    assert!(attempt().is_err());
    std::fs::remove_file(&file).expect("there");
    std::fs::create_dir(&file).expect("made");
    assert!(attempt().expect_err("a folder").contains("not a file"));
}

#[test]
fn a_retired_setting_is_ignored_with_a_warning() {
    let flags = ["retrieval.weights.pagerank=0.2".to_string()];
    let places = Places { state: "/s".into(), runtime: "/r".into(), config: "/nowhere".into() };
    let loaded = load_with(&places, None, [], &flags).expect("loads");
    assert_eq!(loaded.settings, Settings::default());
    expect!["flag `retrieval.weights.pagerank=0.2`: `retrieval.weights.pagerank` is ignored: it is no longer a setting"]
        .assert_eq(&loaded.warnings.join("\n"));
}

#[test]
fn extensions_that_are_taken_out_need_no_quotes() {
    let folder = "watch:\n  extensions: [-*, md, -.pdf]\n";
    check(
        &Case { folder, ..NOTHING },
        expect![[r#"
            watch.extensions = ["-*","md","-.pdf"]  (/folder/kg.yaml:2)
        "#]],
    );
    let folder = "watch:\n  extensions:\n  - -pdf\n  - code\n";
    check(
        &Case { folder, flags: &["watch.extensions=-eml,tex"], ..NOTHING },
        expect![[r#"
            watch.extensions = ["-eml","tex"]  (flag `watch.extensions=-eml,tex`)
        "#]],
    );
}
