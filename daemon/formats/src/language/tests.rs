use super::*;

const ENGLISH: &str = "The daemon reads every file in the folder and builds a graph from what it finds there. \
    You can ask it questions about this graph, and it will answer with evidence.";
const GERMAN: &str = "Der Dienst liest jede Datei im Ordner und baut daraus einen Graphen auf. Danach kann man ihm \
    Fragen stellen, und er antwortet mit Belegen aus den Dokumenten.";
const FRENCH: &str = "Le service lit tous les fichiers du dossier et construit un graphe à partir de leur contenu. \
    Ensuite on peut lui poser des questions sur ce graphe.";
const RUSSIAN: &str = "Служба читает каждый файл в папке и строит граф из того, что в нём написано. Потом ей можно \
    задавать вопросы, и она отвечает с доказательствами.";
const JAPANESE: &str = "署名鍵は九十日ごとに自動サービスによって交換される。";

#[test]
fn every_language_has_a_code() {
    for lang in Lang::all() {
        assert_eq!(code(*lang).len(), 2, "{lang:?}");
    }
}

/// Returns the main language, and the texts of the blocks in other languages.
fn read(paragraphs: &[&str], stated: Option<&str>) -> (String, Vec<(String, &'static str)>) {
    let (mut text, mut blocks) = (String::new(), Vec::new());
    for paragraph in paragraphs {
        let start = text.len();
        text.push_str(paragraph);
        blocks.push(Block {
            kind: BlockKind::Paragraph,
            span: Span::new(start, text.len()),
            section: None,
        });
        text.push_str("\n\n");
    }
    let found = languages_of(&text, &blocks, stated);
    let others = found.others.iter().map(|(span, code)| (span.of(&text).to_string(), *code));
    (found.main, others.collect())
}

#[test]
fn languages_are_detected() {
    let rows = [
        ("en", ENGLISH),
        ("de", GERMAN),
        ("fr", FRENCH),
        ("ru", RUSSIAN),
        ("ja", JAPANESE),
        ("ko", "서명키는 자동으로 교체됩니다."),
        ("", "Too short to tell."),
        (
            "",
            "x1 y2 z3 0x7f 10.0.0.1 :: foo() -> bar; 42 % 7 == 0 && 1 << 3 | 0b1010 ~ {} [] <> // \\\\ 99",
        ),
    ];
    for (code, text) in rows {
        assert_eq!(read(&[text], None).0, code, "{text}");
    }
}

#[test]
fn what_is_stated_helps_where_the_text_does_not_decide() {
    let rows = [
        ("Kurz und gut.", Some("de-AT"), "de"),
        ("Kurz und gut.", Some("DEU"), "de"),
        ("Kurz und gut.", Some("x"), ""),
        ("Kurz und gut.", Some("und"), ""),
        (GERMAN, Some("en"), "de"),
        (
            "Tjenesten leser hver fil i mappen og bygger en graf av det den finner der, og svarer med kilder.",
            Some("nn"),
            "nn",
        ),
    ];
    for (text, stated, code) in rows {
        assert_eq!(read(&[text], stated).0, code, "{text} {stated:?}");
    }
}

#[test]
fn blocks_in_another_language_are_found() {
    let check = |paragraphs: &[&str], main: &str, others: &[(&str, &'static str)]| {
        let (found, found_others) = read(paragraphs, None);
        let expected: Vec<_> =
            others.iter().map(|(text, code)| (text.to_string(), *code)).collect();
        assert_eq!((found.as_str(), found_others), (main, expected));
    };
    check(&[ENGLISH, GERMAN, ENGLISH, RUSSIAN], "en", &[(GERMAN, "de"), (RUSSIAN, "ru")]);
    check(&[GERMAN, GERMAN, ENGLISH, JAPANESE], "de", &[(ENGLISH, "en"), (JAPANESE, "ja")]);
    check(&[RUSSIAN, RUSSIAN, ENGLISH, "Короткий абзац."], "ru", &[(ENGLISH, "en")]);
    check(
        &[
            ENGLISH,
            "Fetch. Build. Test. 1 2 3 4 5",
            "cargo build -p daemon --release --locked --jobs 2",
        ],
        "en",
        &[],
    );
}
