//! Every row of the vocabulary, and files that users write.

use super::*;

fn read(text: &str) -> Result<Vocabulary, String> {
    let file = (PathBuf::from("mine.toml"), text.to_string());
    Vocabulary::read(&[file]).map_err(|error| error.to_string())
}

fn cue<'v>(vocabulary: &'v Vocabulary, words: &str) -> Option<&'v Cue> {
    vocabulary.cues.get(CueKind::Sentence, words)
}

#[test]
fn every_row_of_the_embedded_file_is_a_cue() {
    let n_rows = BUILTIN.lines().filter(|line| line.trim_start().starts_with("{ words")).count();
    let mut rows = file::Rows::default();
    rows.read(Path::new("predicates.toml"), BUILTIN).expect("it is read");
    assert_eq!(rows.cues.len(), n_rows, "a cue stands once for each place");
    // The predicates that S4 §8 requires.
    let names = [
        "cites",
        "defines",
        "depends_on",
        "located_in",
        "owned_by",
        "part_of",
        "precedes",
        "refers_to",
        "related_to",
        "same_as",
        "uses",
    ];
    let vocabulary = Vocabulary::builtin();
    let all = vocabulary.names();
    assert!(names.iter().all(|it| all.contains(it)));
    let one_way = ["led_by", "located_in", "owned_by", "part_of", "precedes", "replaces"];
    assert_eq!(vocabulary.one_way(), one_way);
    assert_eq!(vocabulary.functional(), ["owned_by"]);
    let has_inverse =
        |name: &&str| vocabulary.predicate(name).is_some_and(|it| it.inverse.is_some());
    assert!(all.iter().all(has_inverse));
}

#[test]
fn a_new_relation_needs_no_code() {
    let vocabulary = read(
        r#"
        [monitors]
        inverse = "monitored_by"
        one_way = true
        subject = ["Service"]
        cues = [{ words = "monitors" }, { words = "is watched by", backward = true, weight = 0.5 }]
        "#,
    )
    .expect("a sound file");
    let monitors = cue(&vocabulary, "monitors").expect("a cue");
    assert_eq!(
        (monitors.predicate, monitors.weight, monitors.is_backward),
        ("monitors", 0.8, false)
    );
    assert!(cue(&vocabulary, "is watched by").is_some_and(|cue| cue.is_backward));
    assert!(cue(&vocabulary, "uses").is_some(), "ours are still there");
    let key = vocabulary.cues.get(CueKind::List, "monitored by").expect("the inverse is a key");
    assert!(key.is_backward && key.predicate == "monitors");
    assert!(vocabulary.one_way().contains(&"monitors"));
    let allows =
        |subject, object| vocabulary.allows("monitors", "sentence:monitors", Some(subject), object);
    assert!(!allows(EntityType::Person, None));
    assert!(allows(EntityType::Service, Some(EntityType::Person)));
}

#[test]
fn a_row_has_types_of_its_own() {
    let vocabulary = read(
        r#"
        [monitors]
        cues = [{ words = "is guarded by", object = ["Person"] }, { words = "monitors" }]
        "#,
    )
    .expect("a sound file");
    let allows = |pattern: &'static str, object| {
        vocabulary.allows("monitors", pattern, Some(EntityType::Service), Some(object))
    };
    for pattern in ["sentence:is guarded by", "depend:guard by"] {
        assert!(allows(pattern, EntityType::Person), "{pattern}");
        assert!(!allows(pattern, EntityType::Technology), "{pattern}");
    }
    assert!(allows("sentence:monitors", EntityType::Technology));
}

#[test]
fn a_row_replaces_ours_and_weight_0_takes_it_out() {
    let vocabulary = read(
        r#"
        [depends_on]
        cues = [{ words = "uses", weight = 0.4 }, { words = "requires", weight = 0 }]
        "#,
    )
    .expect("a sound file");
    let uses = cue(&vocabulary, "uses").map(|cue| (cue.predicate, cue.weight));
    assert_eq!(uses, Some(("depends_on", 0.4)));
    assert!(cue(&vocabulary, "requires").is_none());
}

#[test]
fn what_is_wrong_is_told_with_line_and_key() {
    let long = format!("[a]\ncues = [{{ words = \"{}\" }}]", "x".repeat(61));
    let table = [
        (
            "[a]\ncues = [\n{ words = \"x\", wait = 1 }]",
            "line 3: `a.cues.wait` is not known; keys are words, weight",
        ),
        ("[a]\n\nwords = 3", "line 3: `a.words` is not known; keys are inverse"),
        ("[a]\ncues = [{ weight = 0.5 }]", "line 2: a row of `a.cues` has no `words`"),
        ("[a]\ncues = [{ words = \"Uses\" }]", "line 2: `a.cues.words` must be lowercase words"),
        ("[a]\ncues = [{ words = \"\" }]", "line 2: `a.cues.words` must be lowercase words"),
        (&long, "line 2: `a.cues.words` must be lowercase words"),
        (
            "[a]\ncues = [{ words = \"x\", weight = 2 }]",
            "line 2: `a.cues.weight` is not a number from 0 to 1",
        ),
        (
            "[a]\ncues = [{ words = \"x\", weight = nan }]",
            "line 2: `a.cues.weight` is not a number from 0 to 1",
        ),
        (
            "[a]\ncues = [{ words = \"x\", in = \"prose\" }]",
            "line 2: `a.cues.in` is `prose`; it must be one of sentence",
        ),
        ("[a]\nsubject = [\"Dog\"]", "line 2: `a.subject` is `Dog`; it must be one of Person"),
        ("[a]\none_way = 1", "line 2: `a.one_way` is neither"),
        ("\n[Not-this]", "line 2: `Not-this` is not a valid relation name"),
        ("a = 1", "line 1: `a` is not a table"),
        ("[a]\n[a]", "line 2: duplicate key"),
        ("[a\n", "line 1: "),
    ];
    for (text, expected) in table {
        let error = read(text).err().unwrap_or_default();
        assert!(error.starts_with(&format!("`mine.toml`, {expected}")), "{text}\n{error}");
    }
}

#[test]
fn a_hostile_file_is_refused_and_costs_little() {
    let nested = format!("a = {}", "[".repeat(30_000));
    let many: String =
        (0..3_000).map(|i| format!("{{ words = \"w{}\" }},\n", "i".repeat(i % 50 + 1))).collect();
    for text in [nested, "[a]\ncues = [\n".to_string() + &many, "\0".repeat(60_000)] {
        // Rows with equal words replace each other, so a file with many rows may be valid.
        let _ = read(&text);
    }
    let letters = |i: usize| -> String {
        [i / 676, i / 26 % 26, i % 26].map(|n| (b'a' + n as u8) as char).iter().collect()
    };
    let rows: String = (0..2_500).map(|i| format!("{{ words = \"{}\" }},", letters(i))).collect();
    let error = read(&format!("[a]\ncues = [{rows}]")).err().unwrap_or_default();
    assert!(error.contains("more than 2000 cues in all"), "{error}");
}

#[test]
fn files_lie_in_the_folder_and_are_small() {
    let folder = tempfile::tempdir().expect("a folder");
    let outside = tempfile::tempdir().expect("another");
    let root = folder.path();
    let load = |names: &[&str]| {
        let predicates = names.iter().map(|name| (*name).to_string()).collect();
        Vocabulary::load(root, &Relate { predicates }).map_err(|error| error.to_string())
    };
    let write = |path: &Path, text: &str| std::fs::write(path, text).expect("written");
    let builtin = Vocabulary::builtin();
    let none = load(&[DEFAULT_PREDICATES]).expect("it may be missing");
    assert_eq!(none.fingerprint(), builtin.fingerprint());
    write(&root.join("kg.predicates.toml"), "[likes]\ncues = [{ words = \"likes\" }]");
    let with = load(&[DEFAULT_PREDICATES]).expect("a sound file");
    assert!(with.names().contains(&"likes"));
    assert_ne!(with.fingerprint(), builtin.fingerprint());
    write(&outside.path().join("own.toml"), "[hates]\ncues = [{ words = \"hates\" }]");
    std::os::unix::fs::symlink(outside.path().join("own.toml"), root.join("link.toml"))
        .expect("a link");
    write(&root.join("large.toml"), &"# x\n".repeat(20_000));
    let own = outside.path().join("own.toml").display().to_string();
    let both = load(&[&own, DEFAULT_PREDICATES]).expect("an absolute path is the user's own");
    assert!(both.names().contains(&"hates") && both.names().contains(&"likes"));
    for (name, expected) in [
        ("link.toml", "it lies outside the folder"),
        ("../own.toml", ""),
        ("large.toml", "it is longer than 65536 bytes"),
        ("gone.toml", "No such file"),
        (".", "it is not a file"),
    ] {
        let error = load(&[name]).err().unwrap_or_default();
        assert!(
            error.starts_with("cannot read the relations in") && error.contains(expected),
            "{error}"
        );
    }
}
