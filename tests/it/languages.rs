//! Languages and words, end to end: text in any script is found as typed and by its parts, and
//! English-only stages skip other languages.

use serde_json::json;
use tests::TestProject;

const ENGLISH: &str = "# Keys\n\nThe signing keys are rotated by `rotate_keys` in v1.2.3 of KeyRotationJob, which is \
    written in C++ and runs every night on the servers of the team.\n";
const GERMAN: &str = "# Schlüssel\n\nDer Dienst tauscht die Schlüssel alle neunzig Tage aus und schreibt darüber einen \
    Bericht an die Leitung in der Hauptstraße. Danach werden alle Kopien auf den anderen Rechnern gelöscht.\n";
const JAPANESE: &str = "# 都庁\n\n東京都庁は新宿にあり、展望室から富士山が見える。\n";
const RUSSIAN: &str =
    "# Ключи\n\nКлюч подписи меняется каждые девяносто дней. Ёлка стоит на площади до января.\n";

fn project() -> TestProject {
    TestProject::of(&[
        ("en.md", ENGLISH),
        ("de.md", GERMAN),
        ("ja.md", JAPANESE),
        ("ru.md", RUSSIAN),
    ])
}

/// Returns the paths that a question finds by its words alone.
fn found_by_text(project: &mut TestProject, question: &str) -> Vec<String> {
    let reply = project.call("hybrid_query", json!({"q": question, "formula": "text"}));
    let chunks = reply["chunks"].as_array().expect("hits");
    chunks.iter().map(|hit| hit["path"].as_str().expect("a path").to_string()).collect()
}

#[test]
fn words_of_any_script_are_found_as_typed_and_by_part() {
    let mut project = project();
    let rows = [
        ("rotate_keys", "en.md"),
        ("rotation job", "en.md"),
        ("keyrotationjob", "en.md"),
        ("1.2.3", "en.md"),
        ("C++", "en.md"),
        ("running server", "en.md"),
        ("hauptstrasse", "de.md"),
        ("SCHLUSSEL", "de.md"),
        ("富士山", "ja.md"),
        ("都庁", "ja.md"),
        ("елка", "ru.md"),
        ("Подписи", "ru.md"),
    ];
    for (question, path) in rows {
        assert_eq!(found_by_text(&mut project, question), [path], "{question}");
    }
    for nothing in ["C#", "大阪", "v1.3"] {
        assert_eq!(found_by_text(&mut project, nothing), [""; 0], "{nothing}");
    }
}

#[test]
fn snippets_show_words_of_scripts_without_blanks() {
    let filler = "これは長い文章であり、特に何も述べていない。".repeat(40);
    let mut project = TestProject::of(&[(
        "ja.md",
        &format!("# 記録\n\n{filler}署名鍵は毎月交換される。{filler}\n"),
    )]);
    let reply = project.call("hybrid_query", json!({"q": "署名鍵", "max_chars": 400}));
    let snippet = reply["chunks"][0]["snippet"].as_str().expect("a snippet");
    assert!(snippet.contains("署名鍵は毎月交換"), "{snippet}");
}

#[test]
fn a_question_can_ask_for_one_language() {
    let mut project = project();
    for (language, path) in [("de", "de.md"), ("ja", "ja.md"), ("ru", "ru.md"), ("EN", "en.md")] {
        let reply = project.call(
            "hybrid_query",
            json!({"q": "v1.2.3 富士山 ключ Tage keys", "language": language}),
        );
        let hits = reply["chunks"].as_array().expect("hits");
        assert!(
            !hits.is_empty() && hits.iter().all(|hit| hit["path"] == path),
            "{language}: {hits:?}"
        );
    }
}

/// The vectors are those of an English model, and the templates of relations are English, too.
#[test]
fn what_reads_english_only_leaves_other_languages_alone() {
    let sentence = "The Billing Portal depends on the Ledger Store";
    let german = "und wird von allen Abteilungen des Hauses jeden Tag für die Rechnungen der Kunden und die Berichte \
        an die Leitung gebraucht, weil es nichts anderes gibt, das die Zahlen für das ganze Jahr sammeln kann.";
    let names = "# Names\n\n- [[Billing Portal]]\n- [[Ledger Store]]\n";
    let mut project = TestProject::of(&[
        ("names.md", names),
        (
            "en.md",
            &format!(
                "# Plan\n\n{sentence}, and this is what all of the teams have to know about it.\n"
            ),
        ),
        ("de.md", &format!("# Der Bericht\n\n{sentence} {german}\n")),
        ("Billing Portal.md", "# Billing Portal\n"),
        ("Ledger Store.md", "# Ledger Store\n"),
    ]);
    let relations = project.dump().relation_table();
    assert!(relations.contains("en.md") && relations.contains("depends_on"), "{relations}");
    assert!(
        !relations.lines().any(|row| row.contains("depends_on") && row.contains("de.md")),
        "{relations}"
    );
    let vectors = project
        .call("hybrid_query", json!({"q": "Abteilungen", "formula": "vector", "language": "de"}));
    assert_eq!(vectors["chunks"], json!([]), "a German text has no vector of an English model");
}
