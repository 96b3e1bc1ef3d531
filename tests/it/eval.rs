//! `kgctl eval` on a corpus with known scores, because each stage loses what it was made to lose.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tests::TestProject;

/// A corpus of three pages in two halves, and a folder for temporary files.
struct Corpus {
    dir: tempfile::TempDir,
}

const FILES: &[(&str, &str)] = &[
    // No recognizer knows `frob` or `zib`; the two Sams are one for linking, and two for the
    // annotator.
    ("corpus/docs/a.md", "# Notes\n\nThe frob uses the zib. Sam is in.\n"),
    ("corpus/docs/b.md", "# Papers\n\nThe zib depends on the frob. Sam is out.\n"),
    ("corpus/docs/c.md", "# Rest\n\nAda Moreno lives in Porto.\n"),
    ("corpus/gold/pages.txt", "a.md\nb.md\nc.md\n"),
    ("corpus/gold/halves.tsv", "path\thalf\na.md\treporting\nb.md\treporting\nc.md\ttuning\n"),
    (
        "corpus/gold/mentions.tsv",
        "path\tsurface\tnth\ttype\tentity\n\
         a.md\tfrob\t1\tService\tFrob\n\
         a.md\tzib\t1\tService\tZib\n\
         a.md\tSam\t1\tPerson\tSam Okafor\n\
         b.md\tzib\t1\tService\tZib\n\
         b.md\tfrob\t1\tService\tFrob\n\
         b.md\tSam\t1\tPerson\tSam Lindqvist\n\
         c.md\tAda Moreno\t1\tPerson\tAda Moreno\n\
         c.md\tPorto\t1\tLocation\tPorto\n",
    ),
    (
        "corpus/gold/links.tsv",
        "entity\tsurface\nFrob\tfrob\nZib\tzib\nSam Okafor\tSam\nSam Lindqvist\tSam\n",
    ),
    // In `b.md` it was annotated in the opposite direction.
    (
        "corpus/gold/relations.tsv",
        "path\tsubject\tpredicate\tobject\na.md\tFrob\tuses\tZib\nb.md\tFrob\tdepends_on\tZib\n\
         b.md\tFrob\trelated_to\tSam Lindqvist\nc.md\tAda Moreno\tlocated_in\tPorto\n",
    ),
    ("corpus/questions/questions.tsv", "id\tquestion\tpaths\nq1\tWho lives in Porto?\tc.md\n"),
];

/// Two pages annotated by what a reader sees. kgd does not find `frob`, and nobody annotated
/// `Porto`.
const NATURAL: &[(&str, &str)] = &[
    (
        "corpus/docs/x/a.md",
        "# Tide Clock\n\nThe **Tide Clock** is a service that tells when the water turns. It has a frob.\n\n\
         Ada Moreno of Porto maintains the Tide Clock.\n",
    ),
    ("corpus/docs/x/b.md", "# Harbor Gateway\n\nThe Harbor Gateway depends on the Tide Clock.\n"),
    (
        "corpus/gold/pages.tsv",
        "path\thalf\tsource\tlicence\nx/a.md\ttuning\town\tMIT\nx/b.md\treporting\town\tMIT\n",
    ),
    (
        "corpus/gold/entities.tsv",
        "path\tentity\ttype\tsurfaces\nx/a.md\tTide Clock\tService\tTide Clock\nx/a.md\tfrob\tConcept\tfrob\n\
         x/a.md\tAda Moreno\tPerson\tAda Moreno\nx/b.md\tHarbor Gateway\tService\tHarbor Gateway\n\
         x/b.md\tTide Clock\tService\tTide Clock\n",
    ),
    (
        "corpus/gold/definitions.tsv",
        "path\tentity\tquote\nx/a.md\tTide Clock\ta service that tells when the water turns\n",
    ),
    (
        "corpus/gold/relations.tsv",
        "path\tsubject\tpredicate\tobject\tquote\n\
         x/b.md\tHarbor Gateway\tdepends_on\tTide Clock\tdepends on the Tide Clock\n",
    ),
    (
        "corpus/gold/merges.tsv",
        "group\ta\tb\tsame\twhy\nx\tTide Clock\tHarbor Gateway\tno\tother\n",
    ),
    (
        "corpus/gold/questions.tsv",
        "id\tgroup\tsteps\tquestion\tanswer\tpaths\tquotes\n\
         q1\tx\t1\tWho maintains the Tide Clock?\tAda\tx/a.md\tAda Moreno of Porto maintains\n",
    ),
];

impl Corpus {
    fn new() -> Self {
        Corpus::of(FILES)
    }

    fn of(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().expect("inside")).expect("made");
            fs::write(path, text).expect("written");
        }
        fs::create_dir(dir.path().join("tmp")).expect("made");
        Corpus { dir }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn eval(&self, flags: &[&str], kgd: &Path) -> Command {
        let mut command = Command::new(tests::kgctl());
        command
            .arg("eval")
            .arg(self.at("corpus"))
            .args(flags)
            .current_dir(self.dir.path())
            .env("KGD_BIN", kgd)
            .env("TMPDIR", self.at("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for own in ["KG_STATE_DIR", "KG_RUNTIME_DIR", "KG_CONFIG_DIR"] {
            command.env(own, self.at("unused"));
        }
        command
    }

    fn is_clean(&self) -> bool {
        fs::read_dir(self.at("tmp")).expect("there").next().is_none()
    }
}

fn run(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).to_string();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Returns right, wrong and missed.
fn counts(scores: &Value) -> [u64; 3] {
    ["right", "wrong", "missed"].map(|key| scores[key].as_u64().expect("a number"))
}

#[test]
fn each_stage_loses_only_what_is_its_own() {
    let corpus = Corpus::new();
    let (code, out, err) = run(corpus.eval(&["--json"], tests::kgd()));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let half = &report["halves"]["reporting"];

    // Recognition: at most the Sams of the six names.
    let [right, _, missed] = counts(&half["mentions"]["exact"]);
    assert!(right <= 2 && right + missed == 6, "{half:#}");
    assert_eq!(counts(&half["relations"]["untyped"])[0], 0, "{half:#}");
    // Linking: all are there with their types, and the Sams are one.
    let linking = &half["mentions_given"];
    assert_eq!(counts(&linking["mentions"]["exact_typed"]), [6, 0, 0], "{linking:#}");
    assert_eq!(counts(&linking["links"]["pairwise"]), [2, 1, 0], "{linking:#}");
    // Relations: the referents are known; one relation was annotated in the opposite direction, one
    // cannot be found.
    let relations = &half["links_given"];
    assert_eq!(counts(&relations["links"]["pairwise"]), [2, 0, 0], "{relations:#}");
    assert_eq!(relations["links"]["accuracy"], 1.0, "{relations:#}");
    let relations = &relations["relations"];
    assert_eq!(counts(&relations["typed"]), [1, 1, 2], "{relations:#}");
    assert_eq!(counts(&relations["without_related_to"]), [1, 1, 1], "{relations:#}");
    assert_eq!(counts(&relations["either_direction"]), [2, 0, 1], "{relations:#}");
    assert_eq!(counts(&relations["untyped"]), [1, 1, 2], "{relations:#}");
    // The recognizers know the names of the other half.
    let tuning = &report["halves"]["tuning"];
    assert_eq!(counts(&tuning["mentions"]["exact_typed"]), [2, 0, 0], "{tuning:#}");
    assert_eq!(counts(&tuning["relations"]["typed"]), [1, 0, 0], "{tuning:#}");
    assert_eq!(counts(&tuning["links_given"]["relations"]["typed"]), [1, 0, 0], "{tuning:#}");
    assert!(corpus.is_clean(), "the scratch folder is gone");
}

#[test]
fn the_table_names_each_stage_and_the_types_on_demand() {
    let corpus = Corpus::new();
    let (code, out, _) = run(corpus.eval(&["--types"], tests::kgd()));
    assert_eq!(code, Some(0));
    for line in [
        "reporting: 2 annotated documents, 0 questions\n",
        "\n1 recognition\n",
        "\n2 linking, mentions given\n",
        "\n3 relations, links given\n",
        "\n4 end to end\n",
        "\nuses        1     1                   1      0                  0\n",
        "\ngiven: 6 of 6 annotated mentions, linked as given with F1 1.000\n",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
}

#[test]
fn a_type_that_does_not_exist_is_named_with_its_line() {
    let corpus = Corpus::new();
    let table = corpus.at("corpus/gold/mentions.tsv");
    let text = fs::read_to_string(&table).expect("there");
    fs::write(&table, text.replace("b.md\tSam\t1\tPerson", "b.md\tSam\t1\tGadget"))
        .expect("written");
    let (code, _, err) = run(corpus.eval(&[], tests::kgd()));
    assert!(code != Some(0) && err.contains("mentions.tsv:7: `Gadget` is no type"), "{err}");
    assert!(corpus.is_clean(), "the scratch folder is gone");
}

#[test]
fn a_table_of_the_users_own_is_in_the_way() {
    let corpus = Corpus::new();
    let mut command = corpus.eval(&[], tests::kgd());
    command.env("KG_RECOGNIZE__GIVEN", "/x.tsv");
    let (code, _, err) = run(command);
    assert_eq!((code, err.lines().next()), (Some(2), Some("error: `KG_RECOGNIZE__GIVEN` is set")));
    assert!(err.contains("\nhint: unset it"), "{err}");
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let corpus = Corpus::new();
    // A daemon that reports when it starts.
    let (pipe, kgd) = (corpus.at("pipe"), corpus.at("kgd.sh"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    let script = format!(
        "#!/bin/sh\necho $$ > '{}'\nexec '{}' \"$@\"\n",
        pipe.display(),
        tests::kgd().display()
    );
    fs::write(&kgd, script).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&kgd, mode).expect("ours");
    let child = corpus.eval(&[], &kgd).spawn().expect("it runs");
    let daemon = fs::read_to_string(&pipe).expect("a number");
    kill_process(Pid::from_raw(child.id() as i32).expect("a process"), Signal::INT).expect("ours");
    let output = child.wait_with_output().expect("it ends");
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*err), (Some(1), "error: interrupted\n"));
    assert!(corpus.is_clean(), "the scratch folder is gone");
    // An ended process may still be waiting for its parent.
    let state = fs::read_to_string(format!("/proc/{}/stat", daemon.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "the daemon has ended: {state}");
}

/// Three notes, with a question that only words answer, one that only meaning does, and one that
/// nothing does.
fn asked() -> (TestProject, PathBuf) {
    let project = TestProject::of(&[
        ("tapir.md", "# Tapir\n\nA tapir browses at night near rivers.\n"),
        ("car.md", "# Garage\n\nThe automobile needs petrol and new tires.\n"),
        ("moon.md", "# Sky\n\nThe moon is far.\n"),
    ]);
    let table = project.scratch().join("mine.tsv");
    let rows = "question\tpaths\ntapir browses\ttapir.md\nfuel for my vehicle\tcar.md, moon.md\n";
    fs::write(&table, rows).expect("written");
    (project, table)
}

fn eval_questions(project: &TestProject, arguments: &[&str]) -> (i32, String, String) {
    let output = project
        .kgctl()
        .arg("--project")
        .arg(project.root())
        .arg("eval")
        .args(arguments)
        .env("TMPDIR", project.scratch())
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[test]
fn questions_of_one_s_own_are_scored_by_signal_and_two_configurations_compared() {
    let (project, table) = asked();
    let table = table.display().to_string();
    let (code, text, errors) = eval_questions(&project, &[&table, "--each"]);
    assert_eq!(code, 0, "{text}{errors}");
    let row = |of: &str| text.lines().find(|line| line.starts_with(of)).unwrap_or_default();
    assert!(row("vector").contains("1.000"), "{text}");
    assert!(row("text").contains("0.500"), "words alone find one of the two: {text}");
    assert!(row("fuel for my vehicle").split_whitespace().any(|rank| rank == "-"), "{text}");
    assert!(row("rrf").contains('.') && row("minmax").contains('.'), "{text}");
    // None are being computed, so it does not wait, and says so.
    let (code, _, errors) = eval_questions(&project, &[&table, "--with-vectors"]);
    assert_eq!(code, 0, "{errors}");
    assert!(errors.starts_with("0 of 3 windows have a vector of minilm-l6"), "{errors}");
    assert!(errors.contains("`embed.background` is off, so no more are computed"), "{errors}");
    let against = [&table, "--json", "--against", "retrieval.weights.text=0"];
    let (code, text, errors) = eval_questions(&project, &against);
    assert_eq!(code, 0, "{text}{errors}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["against"]["settings"][0], "retrieval.weights.text=0");
    assert_eq!(report["against"]["answered"]["questions"], report["questions"]);
    // Settings without influence make no difference, even with vectors.
    for setting in ["watch.debounce_ms=400", "embed.background=on"] {
        let same = [&table, "--json", "--against", setting];
        let (code, text, errors) = eval_questions(&project, &same);
        assert_eq!(code, 0, "{text}{errors}");
        let key = setting.split('=').next().unwrap_or_default();
        assert_eq!(errors, format!("`{key}` changes no score: nothing to compare\n"));
        let report: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(report["against"]["answered"]["formulas"], report["formulas"], "{setting}");
    }
    let left: Vec<_> = fs::read_dir(project.scratch())
        .expect("listed")
        .filter_map(|it| it.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("kgctl-eval-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_wrong_table_of_questions_is_named_with_its_line() {
    let (project, table) = asked();
    for (rows, why) in [
        ("how?\tno.md\n", "line 1: `no.md` is not a file of"),
        ("why?\n", "line 1: it has no tab"),
        ("how?\t , \n", "line 1: it names no file"),
        ("id\tquestion\n1\thow?\n", "line 1: the header has no column `paths`"),
        ("# nothing\n", "no question in"),
    ] {
        fs::write(&table, rows).expect("written");
        let (code, _, errors) = eval_questions(&project, &[&table.display().to_string()]);
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
    fs::write(&table, "how?\ttapir.md\n").expect("written");
    let table = table.display().to_string();
    for (setting, why) in [
        ("hops", "`hops` is not KEY=VALUE"),
        ("retrieval.hop=1", "`retrieval.hop` is not a setting"),
    ] {
        let (code, _, errors) = eval_questions(&project, &[&table, "--against", setting]);
        assert_ne!(code, 0, "{setting}");
        assert!(errors.contains(why), "{errors}");
    }
}

#[test]
fn what_can_be_asked_is_asked_and_the_rest_is_told() {
    let (project, table) = asked();
    project.write("photo.log", "A tapir browses.\n");
    let rows = format!(
        "\u{feff}question\tpaths\r\ntapir browses\t./tapir.md \r\ntapir browses\t{}\r\nwhy?\r\nhow?\tno.md\r\n\
         tapir browses\tphoto.log\r\n",
        project.at("tapir.md").display()
    );
    fs::write(&table, rows).expect("written");
    let table = table.display().to_string();
    let (code, text, errors) = eval_questions(&project, &[&table]);
    assert_eq!(code, 0, "{text}{errors}");
    assert!(text.starts_with("3 questions, 2 left out (lines 4, 5)\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("text ")).unwrap_or_default();
    assert!(row.contains("0.667"), "two are found, what is not indexed is not: {text}");
    for note in [
        "line 4: it has no tab",
        "line 5: `no.md` is not a file of",
        "line 6: `photo.log` is not indexed, or has no text: counted as not found",
    ] {
        assert!(errors.contains(note), "{errors}");
    }
}

#[test]
fn a_comparison_finds_the_models_that_were_added_and_says_in_words_what_failed() {
    let (project, table) = asked();
    let folder = project.scratch().join("Tiny");
    onnx::sample::write_tagger(&folder, &[("tapir", "A"), ("moon", "B")]).expect("written");
    let config = r#"{"max_position_embeddings": 64, "hidden_size": 3}"#;
    fs::write(folder.join("config.json"), config).expect("written");
    let added = project.kgctl().args(["model", "add"]).arg(&folder).output().expect("it runs");
    assert!(added.status.success(), "{added:?}");
    let table = table.display().to_string();
    let (code, text, errors) = eval_questions(&project, &[&table, "--against", "embed.model=tiny"]);
    assert_eq!((code, errors.as_str()), (0, ""), "{text}");
    assert!(text.contains("\nwith embed.model=tiny\n"), "{text}");
    assert!(project.scratch().join("state/models/tiny/model.onnx").exists(), "it was only lent");
    let (code, _, errors) = eval_questions(&project, &[&table, "--against", "embed.model=gone"]);
    assert_eq!(code, 1, "{errors}");
    let why =
        "error: with the other settings: the vectors cannot be computed: `embed.model` is `gone`";
    assert!(errors.starts_with(why) && !errors.contains('{'), "{errors}");
    let (code, _, errors) =
        eval_questions(&project, &[&table, "--against", "retrieval.rerank.model=/nope"]);
    assert_eq!(code, 1, "{errors}");
    let why = "error: with the other settings: `retrieval.rerank.model` cannot be used";
    assert!(errors.starts_with(why) && errors.contains("`/nope`"), "{errors}");
}

#[test]
fn pages_at_their_natural_density_are_measured_by_what_a_reader_sees() {
    let corpus = Corpus::of(NATURAL);
    let (code, out, err) = run(corpus.eval(&["--json"], tests::kgd()));
    assert_eq!(code, Some(0), "{err}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let rows = report["rows"].as_array().expect("rows").iter();
    let shown: Vec<String> = rows
        .map(|row| {
            format!("{}: {} of {}", row["name"].as_str().unwrap_or("?"), row["right"], row["all"])
        })
        .collect();
    expect_test::expect![[r#"
        names found: 4 of 5
        junk of found names: 1 of 5
        types shown of found names: 0 of 4
        types right of those shown: 0 of 0
        merges, precision: 0 of 0
        merges, recall: 0 of 0
        most mentioned with a useful definition: 1 of 1
        annotated relations between found names: 1 of 1
        relations, precision of pairs: 1 of 2
        relations, recall of pairs: 1 of 1
        one-step answers in the first 3: 1 of 1
        two-step answers, both in the first 5: 0 of 0"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!([&report["n_pages"], &report["n_relations"], &report["n_annotated"]], [2, 2, 1]);
    assert_eq!(report["halves"].as_object().map(|halves| halves.len()), Some(2));
    let (_, out, _) = run(corpus.eval(&[], tests::kgd()));
    assert!(out.contains("reporting: 1 pages") && out.contains("junk of found names"), "{out}");
    assert!(corpus.is_clean(), "nothing is left behind");

    fs::write(corpus.at("corpus/gold/questions.tsv"), "h\nq1\tx\t1\tWho?\tAda\tx/a.md\tnobody\n")
        .expect("written");
    let (code, _, err) = run(corpus.eval(&[], tests::kgd()));
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("questions.tsv:2: `x/a.md` does not have the quote"), "{err}");
}
