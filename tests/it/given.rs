//! Names stated in a table of the user (`recognize.given`): end to end, and tables that cannot be
//! used.

use tests::TestProject;

const HEADER: &str = "path\tsurface\tnth\ttype\tentity\n";

fn given(rows: &str) -> TestProject {
    let mut project = TestProject::empty();
    write_table(&project, rows);
    project.set(&format!("recognize.given={}", project.scratch().join("names.tsv").display()));
    project
}

fn write_table(project: &TestProject, rows: &str) {
    std::fs::write(project.scratch().join("names.tsv"), format!("{HEADER}{rows}"))
        .expect("written");
}

/// Returns the names found in a document with their types and entities.
fn mentions(project: &mut TestProject, path: &str) -> Vec<String> {
    let graph = project.dump();
    let of_path = graph.rows("mention").filter(|row| row["path"] == path);
    let shown = |key: &str, row: &serde_json::Value| row[key].as_str().unwrap_or("-").to_string();
    of_path.map(|row| ["surface", "type", "name"].map(|key| shown(key, row)).join(" ")).collect()
}

#[test]
fn what_the_table_names_counts_instead_of_what_is_recognized_there() {
    let mut project = given("a.md\tfrob\t2\tService\t\na.md\tthe old mill\t1\tLocation\t\nb.md\n");
    // The first `frob` is in the front matter, which is counted but not read; Ada Moreno would be
    // recognized anyway.
    project.write(
        "a.md",
        "---\nx: frob\n---\n# Notes\n\nAda Moreno runs **frob** at the\nold mill.\n",
    );
    project.write("b.md", "# Others\n\nAda Moreno lives in Porto.\n");
    project.write("c.md", "# Free\n\nAda Moreno lives in Porto.\n");
    project.write("the.md", "nothing");
    project.start();
    project.settle();
    assert_eq!(mentions(&mut project, "a.md"), ["frob Service frob"]);
    assert_eq!(mentions(&mut project, "b.md"), [""; 0]);
    assert!(mentions(&mut project, "c.md").contains(&"Ada Moreno Person Ada Moreno".to_string()));
    project.verify("with given names");
}

#[test]
fn what_an_entity_is_stated_for_is_not_linked_otherwise() {
    // Without the table, `Signing Services` would be `Signing Service`, and Sam a single person.
    let mut project = given(concat!(
        "a.md\tSigning Service\t1\tService\tSigning Service\n",
        "a.md\tSigning Services\t1\tProduct\tSigning Services\n",
        "a.md\tKMS\t1\tService\tKey Store\n",
        "a.md\tSam\t1\tPerson\tSam Okafor\n",
        "b.md\tSam\t1\tPerson\tSam Lindqvist\n",
        "b.md\tthe vault\t1\tService\tKey Store\n",
    ));
    project.write("a.md", "# Notes\n\nThe Signing Service is one. Signing Services are sold. KMS is here. Sam is in.\n");
    project.write("b.md", "# Other\n\nSam uses the vault.\n");
    // A name that is also recognized denotes the stated entity.
    project.write("c.md", "# Third\n\nAsk Signing Services, or Signing Services Ltd.\n");
    project.start();
    project.settle();
    let graph = project.dump();
    let rows: Vec<_> = graph.rows("mention").collect();
    let entity = |path: &str, surface: &str| {
        let is_it = |row: &&&serde_json::Value| row["path"] == path && row["surface"] == surface;
        rows.iter().find(is_it).map(|row| row["entity"].clone()).expect("a mention")
    };
    assert_eq!(entity("a.md", "KMS"), entity("b.md", "the vault"));
    assert_ne!(entity("a.md", "Sam"), entity("b.md", "Sam"));
    assert_ne!(entity("a.md", "Signing Service"), entity("a.md", "Signing Services"));
    assert_eq!(entity("a.md", "Signing Services"), entity("c.md", "Signing Services"));
    assert!(rows.iter().all(|row| row["entity"].is_number()), "{rows:?}");
    let graph = project.dump().lines("relation");
    assert!(graph.contains("uses"), "what is said of given names is read: {graph}");
    project.verify("with given entities");
}

#[test]
fn another_table_means_another_index() {
    let mut project = given("a.md\tfrob\t1\tService\t\n");
    project.write("a.md", "# Notes\n\nThe frob is up.\n");
    project.start();
    project.settle();
    assert_eq!(mentions(&mut project, "a.md"), ["frob Service frob"]);
    project.stop();
    write_table(&project, "a.md\tfrob\t1\tProject\t\n");
    project.start();
    project.settle();
    assert_eq!(mentions(&mut project, "a.md"), ["frob Project frob"]);
}

#[test]
fn a_table_that_cannot_be_used_ends_the_start_and_names_its_line() {
    let mut project = given("a.md\tfrob\t1\tService\t\na.md\tfrob\tfirst\tService\t\n");
    let table = project.scratch().join("names.tsv").display().to_string();
    let ended = project.try_start().expect_err("a refusal");
    let expected = format!(
        "`recognize.given` cannot be used: {table}:3: `first` is no number from 1 on\nhint: "
    );
    assert!(ended.log.contains(&expected), "{}", ended.log);
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    std::fs::remove_file(&table).expect("it was there");
    let ended = project.try_start().expect_err("a refusal");
    let expected =
        format!("`recognize.given` cannot be used: `{table}` cannot be read: No such file");
    assert!(ended.log.contains(&expected) && ended.log.contains("\nhint: "), "{}", ended.log);
}

#[test]
fn a_folder_may_not_give_names() {
    let mut project = TestProject::empty();
    project.write("kg.yaml", "recognize:\n  given: /etc/passwd\n");
    let ended = project.try_start().expect_err("a refusal");
    assert!(ended.log.contains("`recognize.given` cannot be set by a folder"), "{}", ended.log);
}

#[test]
fn a_name_that_does_not_stand_in_the_text_is_warned_of() {
    let mut project = given("a.md\tfrob\t1\tService\t\na.md\tfrob\t7\tService\t\n");
    project.write("a.md", "# Notes\n\nThe frob is up.\n");
    project.start();
    project.settle();
    let text = project.status().to_string();
    let expected = "recognize.given: 1 of 2 names are not in the text, such as `frob` number 7";
    assert!(text.contains(expected), "{text}");
}
