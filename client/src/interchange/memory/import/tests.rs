use super::super::{Line, read};
use super::*;

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Bench { dir: tempfile::tempdir().expect("a folder") }
    }

    fn import(&self, lines: &str, options: Options) -> Report {
        let file = self.dir.path().join("memory.jsonl");
        std::fs::write(&file, lines).expect("written");
        let mut sink = NoteSink::open(&self.dir.path().join("notes")).expect("opened");
        let mut report = Report::default();
        import(read(&file).expect("read"), &mut sink, options, &mut report).expect("imported");
        report
    }

    /// Returns the names and texts of the notes.
    fn notes(&self) -> Vec<(String, String)> {
        let mut sink = NoteSink::open(&self.dir.path().join("notes")).expect("opened");
        let names = sink.names(FOLDER).expect("names");
        let text = |name: &String| sink.read(FOLDER, name).expect("read").expect("a text");
        names.iter().cloned().zip(names.iter().map(text)).collect()
    }

    /// Returns everything that the notes state, as lines of memory; links by path are resolved.
    fn lines(&self) -> String {
        let notes = self.notes();
        let by_path: HashMap<String, String> = notes
            .iter()
            .map(|(file, text)| {
                let stem = file.trim_end_matches(".md");
                (format!("{FOLDER}/{stem}"), note::entity(&parse(text), stem).name)
            })
            .collect();
        let (mut entities, mut relations) = (Vec::new(), Vec::new());
        for (file, text) in &notes {
            let parsed = parse(text);
            let entity = note::entity(&parsed, file.trim_end_matches(".md"));
            for (relation_type, to) in note::relations(&parsed) {
                let to = by_path.get(&to).cloned().unwrap_or(to);
                relations.push(Relation { from: entity.name.clone(), to, relation_type });
            }
            entities.push(entity);
        }
        sorted(&entities, &relations)
    }
}

fn sorted(entities: &[Entity], relations: &[Relation]) -> String {
    let entities = entities.iter().map(Line::Entity);
    let lines = entities.chain(relations.iter().map(Line::Relation));
    let mut lines: Vec<String> =
        lines.map(|line| serde_json::to_string(&line).expect("JSON")).collect();
    lines.sort();
    lines.join("\n")
}

fn entity(name: &str, facts: &[&str]) -> Entity {
    let observations = facts.iter().map(|it| it.to_string()).collect();
    Entity { name: name.into(), entity_type: "thing".into(), observations }
}

fn relation(from: &str, relation_type: &str, to: &str) -> Relation {
    Relation { from: from.into(), to: to.into(), relation_type: relation_type.into() }
}

#[test]
fn what_was_imported_is_what_was_there() {
    let names = [
        "Ada",
        "ada",
        "Ada!",
        "C",
        "C++",
        "C#",
        "a/b",
        "../../etc/passwd",
        "CON",
        "nul.txt",
        "x.md",
        "",
        " ",
        "a\nb",
        "[[x]]",
        "a|b",
        "a^b",
        "日本 語",
        "ada-2",
        "ADA",
        "~x",
        ".hidden",
        "👩‍👩‍👧",
        "Ünï",
        "`run()`",
        "tick ` one",
    ];
    let long = "l".repeat(300);
    let mut entities: Vec<Entity> =
        names.iter().map(|name| entity(name, &[name, "a #tag [[link]] (x)", ""])).collect();
    entities.push(entity(&long, &[]));
    let mut relations = Vec::new();
    for (idx, from) in names.iter().enumerate() {
        let to = names[(idx + 1) % names.len()];
        relations.push(relation(from, "knows", to));
        relations.push(relation(from, "is a rather good friend of", to));
        relations.push(relation(from, from, &long));
    }
    let lines = sorted(&entities, &relations);
    let bench = Bench::new();
    let report = bench.import(&lines, Options::default());
    assert_eq!(report.troubles, []);
    assert_eq!(report.remarks, []);
    assert_eq!(report.counts["notes written"], entities.len() as u64);
    assert_eq!(bench.lines(), lines);
    for (name, _) in bench.notes() {
        assert!(name.len() <= 255 && !name.starts_with('.') && name.ends_with(".md"), "{name}");
    }
    let outside = std::fs::read_dir(bench.dir.path()).expect("a folder").count();
    assert_eq!(outside, 2, "the file and the folder of notes");

    // Again, with and without merging: nothing changes.
    let before = bench.notes();
    for merge in [false, true] {
        let report = bench.import(&lines, Options { merge, dry_run: false });
        assert_eq!(report.counts.get("notes written"), None);
        assert_eq!(report.counts.get("notes added to"), None, "{:?}", report.text());
        assert_eq!(report.counts["notes already there"], entities.len() as u64);
        assert_eq!(bench.notes(), before);
    }
}

#[test]
fn duplicates_and_relations_to_nothing_are_told_and_kept() {
    let lines = r#"{"type":"entity","name":"A","entityType":"x","observations":["one"]}
{"type":"entity","name":"A","entityType":"y","observations":["one","two"]}
{"type":"relation","from":"A","to":"Nobody","relationType":"knows"}
{"type":"relation","from":"A","to":"Nobody","relationType":"knows"}
{"type":"relation","from":"Nobody","to":"A","relationType":"knows"}
{"type":"relation","from":"A","to":"no[[body","relationType":"knows"}
{"type":"entity","na"#;
    let bench = Bench::new();
    let report = bench.import(lines, Options::default());
    expect_test::expect![[r#"
        : 
        into 
                  2  entities read
                  0  notes already there
                  1  notes written
                  3  observations read
                  2  observations written
                  4  relations read
                  1  relations written
        remarks:
          memory.jsonl:2: `A` is also at memory.jsonl:1: one note for both; its type stays `x`, not `y`
          memory.jsonl:3: `Nobody` is not an entity: the link leads nowhere
          memory.jsonl:4: `Nobody` is not an entity: the link leads nowhere
          memory.jsonl:4: the relation is there twice
          memory.jsonl:6: `no[[body` is not an entity: the link leads nowhere
        not read:
          memory.jsonl:7: not JSON: EOF while parsing a string at line 1 column 20
            hint: a line is one JSON object with `type`; repair or remove it, then import again
          memory.jsonl:5: `Nobody` is not an entity, so no note can state that it knows `A`
            hint: add an entity of that name to the file, and import again
          memory.jsonl:6: `A` knows `no[[body`, which is not an entity and cannot be a link
            hint: add an entity of that name to the file, and import again
    "#]]
    .assert_eq(&report.text());
    expect_test::expect![[r#"
        {"type":"entity","name":"A","entityType":"x","observations":["one","two"]}
        {"type":"relation","from":"A","to":"Nobody","relationType":"knows"}"#]]
    .assert_eq(&bench.lines());
}

#[test]
fn merging_only_adds_what_is_missing() {
    let bench = Bench::new();
    bench.import(
        &sorted(&[entity("A", &["one", "two"]), entity("B", &[])], &[]),
        Options::default(),
    );
    let file = bench.dir.path().join("notes/memory/a.md");
    let text = std::fs::read_to_string(&file).expect("a note");
    let edited = text.replace("- [note] one ^o1\n", "- [note] mine\n") + "\nMy own words.\n";
    std::fs::write(&file, &edited).expect("written");
    let lines = sorted(
        &[entity("A", &["one", "two", "three"]), entity("B", &[]), entity("C", &["new"])],
        &[relation("A", "knows", "B"), relation("B", "knows", "C")],
    );
    let options = Options { merge: true, dry_run: true };
    let report = bench.import(&lines, options);
    assert_eq!((report.counts["notes added to"], report.counts["notes written"]), (2, 1));
    assert_eq!(std::fs::read_to_string(&file).expect("a note"), edited, "a dry run");
    assert_eq!(bench.notes().len(), 2, "a dry run");

    bench.import(&lines, Options { merge: true, dry_run: false });
    expect_test::expect![[r#"
        ---
        title: A
        type: thing
        ---

        ## Observations

        - [note] mine
        - [note] two ^o2
        - [note] one ^o3
        - [note] three ^o4

        My own words.

        ## Relations

        - knows [[B]]
    "#]]
    .assert_eq(&std::fs::read_to_string(&file).expect("a note"));
    let before = bench.notes();
    bench.import(&lines, options);
    assert_eq!(bench.notes(), before);
}

#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let bench = Bench::new();
    let outside = bench.dir.path().join("outside");
    std::fs::create_dir_all(&outside).expect("made");
    std::fs::create_dir_all(bench.dir.path().join("notes")).expect("made");
    std::os::unix::fs::symlink(&outside, bench.dir.path().join("notes/memory")).expect("a link");
    let file = bench.dir.path().join("memory.jsonl");
    std::fs::write(&file, sorted(&[entity("A", &[])], &[])).expect("written");
    let mut sink = NoteSink::open(&bench.dir.path().join("notes")).expect("opened");
    let read = read(&file).expect("read");
    assert!(import(read, &mut sink, Options::default(), &mut Report::default()).is_err());
    assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0);
}
