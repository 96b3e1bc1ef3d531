use std::collections::BTreeSet;
use std::path::Path;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use rusqlite::Connection;

use super::*;

fn indexed(text: &str, is_english: bool) -> String {
    let mut out = String::new();
    Indexer::new().index(text, is_english, &mut out);
    out
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&indexed(text, true));
}

#[test]
fn text_becomes_index_words() {
    check("The servers are running, don't stop!", expect!["the server are run don t stop "]);
    check(
        "rotate_keys in src/KeyStore.rs, by ops@example.org",
        expect!["rotat key in src keystor rs key store by op exampl org "],
    );
    check(
        "KeyRotationJob HTMLParser parseHTML mRNA siRNAs DNAs McDonald iPhone",
        expect![
            "keyrotationjob key rotat job htmlparser html parser parsehtml pars html mrna sirna dnas mcdonald iphon "
        ],
    );
    check(
        "C++, C# and .NET (not C); a+b, x#y ... end.",
        expect!["c c++ c c# and net .net not c a b x y end "],
    );
    check("v1.2.3 and 1.2.3-beta of foo::bar", expect!["v1 2 3 1 2 3 and 1 2 3 beta of foo bar "]);
    check(
        "Café Müller, Straße, ﬁle ＡＢＣ Øresund Łódź",
        expect!["cafe muller strass file abc oresund lodz "],
    );
    check(
        "東京都庁 へ行く、한국어를 배운다",
        expect!["東京 京都 都庁 庁 へ行 行く く 한국 국어 어를 를 배운 운다 다 "],
    );
    check(
        "สวัสดีครับ और हिन्दी كِتابٌ ёлка Ελλάς",
        expect!["สวั วัส ัสด สดี ดีค ีคร ครั รับ ับ บ और हिन्दी كتاب елка ελλασ "],
    );
    check("AWS uses DNS; INSTALLING THINGS", expect!["aws use dns instal thing "]);
}

/// Returns true if `query` finds `text` in a table created like the index.
fn finds(text: &str, is_english: bool, query: &str) -> bool {
    let db = Connection::open_in_memory().expect("opens");
    let sql =
        format!("CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize=\"{TOKENIZER}\")");
    db.execute_batch(&sql).expect("made");
    db.execute("INSERT INTO t(rowid, body) VALUES(1, ?1)", [indexed(text, is_english)])
        .expect("written");
    let terms =
        query.split_whitespace().flat_map(terms_of).map(|term| term.fts).collect::<Vec<_>>();
    let matches = |fts: &str| {
        db.query_row("SELECT count(*) FROM t WHERE t MATCH ?1", [fts], |row| row.get::<_, i64>(0))
            .expect("a query")
            > 0
    };
    !terms.is_empty() && terms.iter().all(|fts| matches(fts))
}

#[test]
fn what_is_written_is_found_as_typed_and_by_part() {
    let rows: &[(&str, &[&str], &[&str])] = &[
        ("call rotate_keys now", &["rotate_keys", "rotate", "keys", "key"], &["keys_rotate"]),
        ("in v1.2.3 we", &["v1.2.3", "1.2.3", "v1", "v1.2", "1.2"], &["v1.3", "2.1"]),
        ("use foo::bar here", &["foo::bar", "foo", "bar"], &["baz"]),
        ("written in C++ then", &["C++", "c++", "C"], &["C#"]),
        ("written in C# then", &["C#", "c#", "C"], &["C++"]),
        ("only C here", &["C"], &["C++", "C#"]),
        ("on .NET since", &[".NET", ".net", "net"], &[]),
        ("on the net", &["net"], &[".NET"]),
        (
            "class KeyRotationJob is",
            &["KeyRotationJob", "keyrotationjob", "rotation", "rotate", "job"],
            &["keyjob"],
        ),
        ("the key rotation job", &["KeyRotationJob"], &[]),
        (
            "call getUserById(7)",
            &["getUserById", "getuserbyid", "user", "user-by-id"],
            &["id-user"],
        ),
        ("to get the user by id", &["userById"], &["getUserById"]),
        ("on GitHub, eBay", &["github", "GitHub", "ebay"], &["bay"]),
        ("a kebab-case-name", &["kebab-case-name", "kebab", "case"], &[]),
        ("see src/store/commit.rs", &["src/store/commit.rs", "commit.rs", "store"], &["store.rs"]),
        ("mail ops@example.org", &["ops@example.org", "example.org", "ops"], &[]),
        ("it is running", &["run", "runs", "Running"], &["runner2"]),
        ("the café Müller in der Straße", &["cafe", "café", "Muller", "strasse", "STRASSE"], &[]),
        ("uses AWS and aws", &["AWS", "aws", "Aws"], &[]),
        ("東京都庁へ行く", &["東京", "京都", "都庁", "東京都", "庁", "東", "東京都庁"], &["大阪"]),
        ("한국어를 배운다", &["한국어", "한국", "배운다", "어"], &["일본"]),
        ("สวัสดีครับ", &["สวัสดี", "ครับ", "คร"], &["ไทย"]),
        ("ёлка в Москве", &["елка", "Ёлка", "москве"], &[]),
        ("قرأت كِتابًا", &["كتابا", "قرات"], &[]),
        ("हिन्दी में", &["हिन्दी"], &["हिन"]),
    ];
    for (text, found, not_found) in rows {
        for query in *found {
            assert!(
                finds(text, true, query),
                "{query:?} must find {text:?}: {:?}",
                terms_of(query)
            );
            let is_stem = ["run", "runs", "key", "rotate"].contains(query);
            assert!(
                is_stem || finds(text, false, query),
                "{query:?} must find {text:?} in any language"
            );
        }
        for query in *not_found {
            assert!(!finds(text, true, query), "{query:?} must not find {text:?}");
        }
    }
}

#[test]
fn a_word_of_humps_is_parted_where_its_parts_are_words() {
    let rows = [
        ("getUserById", "get User By Id"),
        ("parseIpAddr", "parse Ip Addr"),
        ("toJsonValue", "to Json Value"),
        ("userId", "user Id"),
        ("isOk", "is Ok"),
        ("xCoordMax", "x Coord Max"),
        ("sha256Sum", "sha256 Sum"),
        ("KeyRotationJob", "Key Rotation Job"),
        ("GitHub", "Git Hub"),
        ("HTTPServer", "HTTP Server"),
        ("parseHTTPResponse", "parse HTTP Response"),
        ("XMLHttpRequest", "XML Http Request"),
        ("parseHTML", "parse HTML"),
        ("getURL", "get URL"),
        ("toJSON", "to JSON"),
        ("getURLs", "get URLs"),
    ];
    for (word, parts) in rows {
        assert_eq!(humps(word).collect::<Vec<_>>().join(" "), parts, "{word}");
    }
    let whole = "mRNA siRNAs lncRNA DNAs URLs HTTPs iPhone eBay macOS McDonald pH kWh kHz NaCl GaAs InGaAs WiFi \
                 GHz LaTe word WORD Word a A";
    for word in whole.split_whitespace() {
        assert_eq!(humps(word).count(), 0, "{word}");
    }
}

/// Returns the beginnings of a word, of three letters and more, that do not find it in an English text.
fn blind_beginnings(word: &str) -> Vec<&str> {
    let words = indexed(word, true);
    let is_found = |phrase: &Phrase| match phrase.words.as_slice() {
        [one] if phrase.is_prefix => words.split(' ').any(|it| it.starts_with(one)),
        [one] => words.split(' ').any(|it| it == one),
        _ => false,
    };
    let ends = word.char_indices().map(|(at, letter)| at + letter.len_utf8()).skip(2);
    ends.map(|end| &word[..end])
        .filter(|start| {
            !beginnings(start).iter().flat_map(|it| phrases_in(it)).any(|it| is_found(&it))
        })
        .collect()
}

#[test]
fn a_word_is_found_by_its_beginnings_whatever_its_stem_is() {
    // A word for each kind of change that the stemmer makes, by ending.
    let words = "policy memory security library entry category happily possibility ability agency vacancy \
        study studying studied studies dying skies early only gently idly running stopped hopped hoping \
        relational conditional organization organizer generalize vietnamization digitizer conformable radically \
        differently vilely analogously operator feudalism decisiveness hopefulness callousness formality \
        sensitivity sensibility triplicate formative electricity electrical hopeful goodness revival allowance \
        inference airliner gyroscopic adjustable defensible irritant replacement adjustment dependent adoption \
        communism activate angularity homologous effective bowdlerize probate rate cease controlling \
        archaeology caresses ponies ties gaps kiwis agreed feed plastered bled motoring sing conflated \
        troubled sized filing national rationally presidential databases analyses";
    let blind: Vec<_> = words.split_whitespace().flat_map(blind_beginnings).collect();
    assert_eq!(blind, Vec::<&str>::new());
}

#[test]
fn every_word_of_the_documents_is_found_by_its_beginnings() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/docs")];
    let mut words = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
                let text = text.to_lowercase();
                let all = text.split(|letter: char| !letter.is_ascii_lowercase());
                words.extend(all.filter(|it| it.len() > 2).map(String::from));
            }
        }
    }
    assert!(words.len() > 1_000, "{}", words.len());
    let blind: Vec<_> = words
        .iter()
        .flat_map(|word| blind_beginnings(word).into_iter().map(move |it| (word, it)))
        .collect();
    assert_eq!(blind, vec![]);
}

#[test]
fn stems_are_for_english_only() {
    assert!(!finds("er ging running in die Stadt", false, "run"));
    assert!(finds("er ging running in die Stadt", false, "running"));
}

#[test]
fn a_name_is_found_however_it_is_joined() {
    let texts = [
        "The Signing Service",
        "signing-service",
        "a SigningService b",
        "signing_services",
        "signing.service",
    ];
    for surface in ["Signing Service", "signing-service", "SigningService"] {
        let fts = phrase_of(surface).expect("has words");
        for text in texts {
            let db = Connection::open_in_memory().expect("opens");
            db.execute_batch(&format!(
                "CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize=\"{TOKENIZER}\")"
            ))
            .expect("made");
            for is_english in [true, false] {
                if text.ends_with("services") && !is_english {
                    continue;
                }
                db.execute_batch("INSERT INTO t(t) VALUES('delete-all')").expect("emptied");
                db.execute("INSERT INTO t(rowid, body) VALUES(1, ?1)", [indexed(text, is_english)])
                    .expect("written");
                let n: i64 = db
                    .query_row("SELECT count(*) FROM t WHERE t MATCH ?1", [&fts], |row| row.get(0))
                    .expect("asked");
                assert_eq!(n, 1, "{surface} as {fts} in {text} ({is_english})");
            }
        }
    }
    assert_eq!(phrase_of("…!"), None);
}

/// Returns the words that FTS5 finds in a text.
fn fts_words(text: &str) -> Vec<String> {
    let db = Connection::open_in_memory().expect("opens");
    let sql = format!(
        "CREATE VIRTUAL TABLE t USING fts5(body, content='', tokenize=\"{TOKENIZER}\");
         CREATE VIRTUAL TABLE temp.w USING fts5vocab(main, t, instance)"
    );
    db.execute_batch(&sql).expect("made");
    db.execute("INSERT INTO t(rowid, body) VALUES(1, ?1)", [text]).expect("written");
    let mut statement = db.prepare("SELECT term FROM w ORDER BY offset").expect("a query");
    let rows = statement.query_map([], |row| row.get(0)).expect("runs");
    rows.collect::<Result<_, _>>().expect("text")
}

proptest! {
    #[test]
    fn index_words_pass_the_tokenizer_unchanged(
        text in "(\\PC|[A-Za-z+#._ v0-9'-]|[あ-ん가-힣ก-๛漢ßéй]){0,60}",
        is_english: bool,
    ) {
        let words = indexed(&text, is_english);
        let ours: Vec<String> = words.split(' ').filter(|word| !word.is_empty()).map(String::from).collect();
        prop_assert_eq!(fts_words(&words), ours);
    }

    #[test]
    fn every_word_finds_its_own_text(text in "([A-Za-zäßéйあ漢ก+#_.:/@-]{1,12} ){1,6}", is_english: bool) {
        for word in text.split_whitespace() {
            if !terms_of(word).is_empty() {
                let words = indexed(&text, is_english);
                prop_assert!(finds(&text, is_english, word), "{word} in {text:?} ({words})");
            }
        }
    }

    #[test]
    fn any_expression_is_sound(text in "\\PC{0,40}") {
        finds("a", true, &text);
        phrase_of(&text);
    }
}
