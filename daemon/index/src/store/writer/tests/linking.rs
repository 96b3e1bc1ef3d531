//! Linking: what names denote, whichever history led to the same documents.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::store::{Verdict, canon};
use extract::{link, relate};
use model::Stage;
use model::document::{Mention, Naming, Pass, PlaceFeatures, RecognizerKind};
use model::terms::{Confidence, EntityType, Span};

impl Bench {
    /// Returns a document with exactly these mentions: `{P:Ada}` a person, `{O:…}` an organization, `{S:…}` a
    /// service, `{C:…}` a concept, `{L:text=Target}` a link.
    fn marked(&mut self, path: &str, marked: &str) -> Item<Document> {
        let mut text = String::new();
        let mut mentions = Vec::new();
        for (i, piece) in marked.split('{').enumerate() {
            let Some((mark, rest)) = piece.split_once('}').filter(|_| i > 0) else {
                text.push_str(piece);
                continue;
            };
            let (kind, words) = mark.split_once(':').expect("a kind");
            let (surface, name) = words.split_once('=').unwrap_or((words, words));
            let (entity_type, recognizer) = match kind {
                "P" => (EntityType::Person, RecognizerKind::Statistical),
                "O" => (EntityType::Organization, RecognizerKind::Statistical),
                "S" => (EntityType::Service, RecognizerKind::Statistical),
                "L" => (EntityType::Document, RecognizerKind::Stated),
                _ => (EntityType::Concept, RecognizerKind::Statistical),
            };
            let is_common = kind == "C" && !surface.contains(char::is_uppercase);
            let naming = if is_common { Naming::Common } else { Naming::Name };
            mentions.push(Mention {
                span: Span::new(text.len(), text.len() + surface.len()),
                name: name.to_string(),
                entity_type,
                recognizer,
                score: Confidence::new(0.8),
                place: PlaceFeatures { naming, ..PlaceFeatures::default() },
            });
            text.push_str(surface);
            text.push_str(rest);
        }
        let Item::Document(ticket, mut doc) = self.item(path, &text) else { panic!("no document") };
        assert!(doc.text.starts_with(&text), "{}", doc.text);
        doc.found.mentions = mentions;
        doc.found.terms.clear();
        doc.found.anaphors.clear();
        doc.found.gazetteer_version = u64::from(u32::MAX);
        let doc = link::LinkStage.run(doc).expect("linked");
        let doc = relate::RelateStage::default().run(doc).expect("related");
        let doc = embed::EmbedStage::new(self.embedder.clone()).run(doc).expect("embedded");
        Item::Document(ticket, doc)
    }

    fn removed(&mut self, path: &str) -> Item<Document> {
        let item = self.item(path, "gone");
        Item::Removed(item.ticket().clone())
    }

    fn settle(&mut self) {
        for _ in 0..1_000 {
            if self.writer.ripple(true).expect("a step") == RippleStep::Settled {
                return;
            }
        }
        panic!("it does not settle");
    }

    fn text(&self) -> String {
        let text = canon::text(&self.writer.db).expect("readable");
        // With several groups of a kind, an entity is named after the uid of a document, which is random.
        let uid = |line: &str| -> String {
            line.split(" | ")
                .map(|cell| match cell.rsplit_once('~') {
                    Some((head, tail))
                        if tail.len() >= 8 && tail.bytes().all(|b| b.is_ascii_hexdigit()) =>
                    {
                        format!("{head}~uid")
                    }
                    _ => cell.to_string(),
                })
                .collect::<Vec<_>>()
                .join(" | ")
        };
        let kept = text.lines().filter(|line| !line.starts_with("requeue: "));
        let mut lines: Vec<String> = kept.map(uid).collect();
        lines.sort();
        lines.join("\n")
    }

    /// Lists each surface by document, with what it denotes.
    fn meanings(&self) -> String {
        let mut statement = self
            .writer
            .db
            .prepare(
                "SELECT DISTINCT d.path, p.value ->> 8, e.norm, e.name, h.path
                 FROM mentions m JOIN json_each(m.positions) p JOIN docs d ON d.id = m.doc_id
                 JOIN names n ON n.id = m.name_id
                 LEFT JOIN entities e ON e.id = n.entity_id LEFT JOIN docs h ON h.id = e.doc_id
                 ORDER BY d.path, p.value ->> 0",
            )
            .expect("sound");
        let mut rows = statement.query([]).expect("rows");
        let mut out = String::new();
        while let Some(row) = rows.next().expect("a row") {
            let cell = |i: usize| row.get::<_, Option<String>>(i).expect("text");
            let meant = match (cell(2), cell(3), cell(4)) {
                (_, _, Some(home)) => format!("<{home}>"),
                (Some(norm), Some(name), None) => {
                    let (_, group) = norm.split_once('~').unwrap_or_default();
                    let group = group.split('~').next().unwrap_or_default();
                    format!("{name} {group}").trim().to_string()
                }
                _ => "unsure".to_string(),
            };
            writeln!(
                out,
                "{} {}: {meant}",
                cell(0).unwrap_or_default(),
                cell(1).unwrap_or_default()
            )
            .expect("a string takes writes");
        }
        out
    }
}

fn check(documents: &[(&str, &str)], expect: Expect) -> Bench {
    let mut bench = Bench::new();
    for (path, marked) in documents {
        let item = bench.marked(path, marked);
        bench.commit(&[item]);
    }
    bench.settle();
    expect.assert_eq(&bench.meanings());
    bench
}

#[test]
fn an_abbreviation_that_one_document_defines_is_known_in_all() {
    let mut bench = check(
        &[
            ("a.txt", "The {S:Key Management Service} ({S:KMS}) keeps keys."),
            ("b.txt", "Ask the {S:KMS}."),
        ],
        expect![[r#"
            a.txt Key Management Service: Key Management Service
            a.txt KMS: Key Management Service
            b.txt KMS: Key Management Service
        "#]],
    );
    // Another document defines it differently: in a third one it is ambiguous.
    let item = bench.marked("c.txt", "The {S:Kiln Monitoring System} ({S:KMS}) is hot.");
    bench.commit(&[item]);
    bench.settle();
    expect![[r#"
        a.txt Key Management Service: Key Management Service
        a.txt KMS: Key Management Service
        b.txt KMS: unsure
        c.txt Kiln Monitoring System: Kiln Monitoring System
        c.txt KMS: Kiln Monitoring System
    "#]]
    .assert_eq(&bench.meanings());
    let item = bench.removed("c.txt");
    bench.commit(&[item]);
    bench.settle();
    assert!(bench.meanings().contains("b.txt KMS: Key Management Service"), "{}", bench.meanings());
}

#[test]
fn names_that_only_the_deep_pass_has_found_are_resolved_at_its_end() {
    let mut bench = Bench::new();
    let swift = bench.marked("a.md", "The {S:Tide Clock} was built by Ada Lindqvist.");
    bench.commit(&[swift]);
    bench.settle_all();
    let deep = bench.marked("a.md", "The {S:Tide Clock} was built by {P:Ada Lindqvist}.");
    let Item::Document(ticket, mut doc) = deep else { panic!("no document") };
    doc.head.pass = Pass::Deep;
    bench.commit(&[Item::Document(ticket, doc)]);
    // The other name of the document has the same mentions as before.
    assert_eq!(bench.count("SELECT count(*) FROM work"), 1);
    bench.settle_all();
    let n_decided = "SELECT count(*) FROM names WHERE norm LIKE '%lindqvist' AND decision <> 0";
    assert_eq!(bench.count(n_decided), 0);
    assert!(bench.writer.end_deep_pass().expect("marks"), "there are names");
    bench.settle_all();
    assert_eq!(bench.count(n_decided), 1);
    assert!(!bench.writer.end_deep_pass().expect("marks"), "nothing is left");
}

#[test]
fn two_people_called_sam_are_two() {
    check(
        &[
            ("a.txt", "{P:Sam Porter} runs the kiln. {P:Sam} is there at six."),
            ("b.txt", "{P:Sam Lee} bakes bread. Ask {P:Sam} for a loaf."),
            ("c.txt", "{P:Sam} called."),
        ],
        expect![[r#"
            a.txt Sam Porter: Sam Porter
            a.txt Sam: Sam Porter
            b.txt Sam Lee: Sam Lee
            b.txt Sam: Sam Lee
            c.txt Sam: unsure
        "#]],
    );
}

#[test]
fn a_name_of_two_words_is_not_parted_like_a_given_name() {
    check(
        &[
            (
                "bakery/1.txt",
                "{P:St Oswin} kneads dough at four, bakes rye bread and sells warm buns.",
            ),
            ("rockets/2.txt", "{P:St Oswin} computes orbits, tests engines and steers satellites."),
        ],
        expect![[r#"
            bakery/1.txt St Oswin: St Oswin
            rockets/2.txt St Oswin: St Oswin
        "#]],
    );
}

/// Two documents of different folders and subjects that mention a Sam.
const SAMS: [(&str, &str); 2] = [
    (
        "bakery/1.txt",
        "{P:Sam} kneads dough at four, bakes rye bread and sells warm buns with butter and sugar to the children.",
    ),
    (
        "rockets/2.txt",
        "{P:Sam} computes orbits, tests engines and steers satellites past the moons of Jupiter with a new antenna.",
    ),
];

#[test]
fn a_given_name_is_parted_unless_all_who_say_whose_it_is_agree() {
    let n_sams = |files: &[(&str, &str)]| {
        let mut bench = Bench::new();
        let items: Vec<_> = files.iter().map(|(path, text)| bench.marked(path, text)).collect();
        bench.commit(&items);
        bench.settle();
        bench.count(
            "SELECT count(DISTINCT entity_id) FROM names WHERE norm = 'sam' OR norm LIKE 'sam~%'",
        )
    };
    assert_eq!(n_sams(&SAMS), 2);
    let porter = ("list.txt", "{P:Sam Porter} is here. {P:Sam} waves.");
    let lee = ("other.txt", "{P:Sam Lee} is here. {P:Sam} waves.");
    // A first name that only one person of the folder bears is that person.
    let one_bearer = n_sams(&[SAMS[0], SAMS[1], porter]);
    // Sam Porter, Sam Lee, and two that only their contexts separate.
    let two_bearers = n_sams(&[SAMS[0], SAMS[1], porter, lee]);
    assert_eq!((one_bearer, two_bearers), (1, 4));
}

/// Texts about the company and about the fruit.
const APPLE: [(&str, &str); 4] = [
    (
        "news/1.txt",
        "Shares of {O:Apple} rose after the company reported quarterly revenue from phones, laptops and software \
         services, and investors expect the chief executive to announce a stock buyback.",
    ),
    (
        "news/2.txt",
        "Regulators fined {O:Apple} over rules for software developers on its phones; the company's lawyers said the \
         stock market overreacted to the quarterly revenue outlook.",
    ),
    (
        "kitchen/1.txt",
        "Peel one {C:apple}, cut the fruit into slices, add butter, cinnamon and sugar, and bake the pie in a hot oven \
         until the crust is golden.",
    ),
    (
        "kitchen/2.txt",
        "Stir the chopped {C:apple} and pear with sugar and lemon juice, pour the fruit into the crust and bake the \
         tart in the oven.",
    ),
];

#[test]
fn the_company_and_the_fruit_are_two_things() {
    let bench = check(
        &APPLE,
        expect![[r#"
            kitchen/1.txt apple: apple common
            kitchen/2.txt apple: apple common
            news/1.txt Apple: Apple organization
            news/2.txt Apple: Apple organization
        "#]],
    );
    let types = "SELECT group_concat(type) FROM (SELECT type FROM entities WHERE norm LIKE 'apple~%' ORDER BY norm)";
    let types: String = bench.writer.db.query_row(types, [], |row| row.get(0)).expect("types");
    let codes: Vec<i64> = types.split(',').map(|it| it.parse().expect("a number")).collect();
    let known = codes.iter().map(|it| (EntityType::from_code(*it), EntityType::is_shown(*it)));
    // The fruit is a common noun, which answers do not show.
    let expected = [(EntityType::Concept, false), (EntityType::Organization, true)];
    assert_eq!(known.collect::<Vec<_>>(), expected);
}

#[test]
fn the_words_of_a_wikilink_are_no_name_of_its_target() {
    let mut bench = check(
        &[
            ("Key Vault.md", "The {C:Key Vault} keeps keys."),
            ("a.txt", "See {L:the Blue Safe=Key Vault}."),
            ("b.txt", "{C:The Blue Safe} is open."),
        ],
        expect![[r#"
            Key Vault.md Key Vault: <Key Vault.md>
            a.txt the Blue Safe: <Key Vault.md>
            b.txt The Blue Safe: The Blue Safe
        "#]],
    );
    // A note of that name is added: the name denotes it, whatever links say.
    let item = bench.marked("The Blue Safe.md", "A {C:safe} that is blue.");
    bench.commit(&[item]);
    bench.settle();
    assert!(
        bench.meanings().contains("b.txt The Blue Safe: <The Blue Safe.md>"),
        "{}",
        bench.meanings()
    );
}

#[test]
fn a_note_that_is_shown_by_its_heading_has_the_type_of_that_name() {
    let mut bench = Bench::new();
    let page = bench.item("readme.md", "# Tide Clock\n\nIt is read every day.\n");
    let user = bench.marked("a.txt", "Ask the {S:Tide Clock}.");
    bench.commit(&[page, user]);
    bench.settle();
    let code = |bench: &Bench| {
        bench.count(
            "SELECT type FROM entities JOIN docs d ON d.id = doc_id WHERE path = 'readme.md'",
        )
    };
    assert_eq!(EntityType::from_code(code(&bench)), EntityType::Service);
    // Another page with this heading: the name denotes neither.
    let other = bench.item("other.md", "# Tide Clock\n\nIt is wound every day.\n");
    bench.commit(&[other]);
    bench.settle();
    assert_eq!(EntityType::from_code(code(&bench)), EntityType::Document);
    let gone = bench.removed("other.md");
    bench.commit(&[gone]);
    bench.settle();
    assert_eq!(EntityType::from_code(code(&bench)), EntityType::Service);
}

#[test]
fn what_is_nearly_linked_is_proposed_and_a_verdict_lasts() {
    let mut bench = check(
        &[
            ("a.txt", "{S:Customer Data Export Job} and {S:Customer Data Export Job}."),
            ("b.txt", "{S:Customer Data Export Job}."),
            ("c.txt", "{S:Customer Data Export Task}."),
        ],
        expect![[r#"
            a.txt Customer Data Export Job: Customer Data Export Job
            b.txt Customer Data Export Job: Customer Data Export Job
            c.txt Customer Data Export Task: Customer Data Export Task
        "#]],
    );
    assert_eq!(bench.count("SELECT count(*) FROM proposals"), 1);
    let verdict = |bench: &mut Bench, verdict| {
        // The reverse of the listed order, because the leading name may change.
        let key = "link:customerdataexportjob>customerdataexporttask".to_string();
        bench.writer.decide(&[(key, verdict)], 1).expect("decided");
        bench.settle();
        let links: Vec<String> = bench.meanings().lines().map(String::from).collect();
        (links.last().cloned().unwrap_or_default(), bench.count("SELECT count(*) FROM proposals"))
    };
    let parted = "c.txt Customer Data Export Task: Customer Data Export Task".to_string();
    let joined = "c.txt Customer Data Export Task: Customer Data Export Job".to_string();
    assert_eq!(verdict(&mut bench, Some(Verdict::Rejected)), (parted.clone(), 0));
    assert_eq!(verdict(&mut bench, Some(Verdict::Accepted)), (joined, 0));
    assert_eq!(verdict(&mut bench, None), (parted, 1));
}

/// Documents that together exercise every case of linking.
const POOL: [&str; 12] = [
    "The {S:Key Management Service} ({S:KMS}) keeps keys.",
    "Ask the {S:KMS} about {P:Sam}.",
    "The {S:Kiln Monitoring System} ({S:KMS}) is hot.",
    "{P:Sam Porter} runs it. {P:Sam} is there with {P:Porter}.",
    "{P:Sam Lee} bakes. {P:Sam} sells. {P:Lee} counts.",
    "{S:Signing Service} and {S:Signing Services} and {S:Signing Servicez}.",
    "{S:Signing Servicex}; {L:the signer=Signing Service}; {O:Acme Corp.} and {O:Acme}.",
    "{C:The Signer} signs. {O:Acme Bank}. {S:Key Managment Service}.",
    APPLE[0].1,
    APPLE[1].1,
    APPLE[2].1,
    APPLE[3].1,
];

fn path_of(doc: usize) -> String {
    // Two of them are notes, some have folders.
    let folders = ["", "news/", "kitchen/"];
    let extension = if doc.is_multiple_of(5) { "md" } else { "txt" };
    format!("{}{doc}.{extension}", folders[doc % 3])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_way_to_the_same_documents_gives_the_same_links(
        kept in proptest::collection::btree_map(0usize..14, 0usize..POOL.len(), 3..14),
        detours in proptest::collection::vec((0usize..14, 0usize..POOL.len(), any::<bool>()), 0..12),
        seed in any::<u64>(),
    ) {
        let mut expected = Bench::new();
        let items: Vec<_> =
            kept.iter().map(|(doc, text)| expected.marked(&path_of(*doc), POOL[*text])).collect();
        expected.commit(&items);
        expected.settle();

        let mut bench = Bench::new();
        for (doc, text, settles) in &detours {
            let item = bench.marked(&path_of(*doc), POOL[*text]);
            bench.commit(&[item]);
            if *settles {
                bench.settle();
            }
        }
        let mut order: Vec<(u64, usize)> = (0..14)
            .map(|doc| (xxhash_rust::xxh3::xxh3_64_with_seed(&[doc as u8], seed), doc))
            .collect();
        order.sort();
        let texts: BTreeMap<usize, usize> = kept.clone();
        for (n, doc) in order {
            let item = match texts.get(&doc) {
                Some(text) => bench.marked(&path_of(doc), POOL[*text]),
                None => bench.removed(&path_of(doc)),
            };
            bench.commit(&[item]);
            if n % 3 == 0 {
                bench.settle();
            }
        }
        bench.settle();
        let (one, other) = (expected.text(), bench.text());
        let differing = |a: &str, b: &str| -> Vec<String> {
            let known: std::collections::BTreeSet<&str> = b.lines().collect();
            a.lines().filter(|line| !known.contains(line)).map(String::from).collect()
        };
        prop_assert!(
            one == other,
            "only in one go:\n{}\nonly on the way:\n{}",
            differing(&one, &other).join("\n"),
            differing(&other, &one).join("\n")
        );
    }
}

#[test]
fn many_names_at_once_are_decided_as_a_few_by_a_few() {
    let mut bench = Bench::new();
    let links: Vec<String> = (0..540)
        .flat_map(|n| {
            let word: String =
                format!("{n:04}").bytes().map(|it| char::from(b'a' + it - b'0')).collect();
            // The second of each pair is the first with another ending, so that they are compared.
            [format!("- [[Harbor {word} Station]]"), format!("- [[Harbor {word} Stations]]")]
        })
        .collect();
    bench.put("links.md", &format!("# Links\n\n{}\n", links.join("\n")));
    let mut is_bulk = false;
    loop {
        match bench.writer.ripple(true).expect("a step") {
            RippleStep::Settled => break,
            RippleStep::Progress => is_bulk |= bench.writer.all_names.is_some(),
            RippleStep::Requeue(rows) => {
                for row in rows {
                    let again = bench.again(row);
                    bench.commit(&[again]);
                }
            }
        }
    }
    assert!(is_bulk, "the names are decided a few at a time");
    let at_once = bench.text();
    let n_linked = bench.count("SELECT count(*) FROM names WHERE via IS NOT NULL");
    assert!(n_linked >= 540, "{n_linked}");
    let mut statement =
        bench.writer.db.prepare("SELECT id FROM names WHERE sense = 0").expect("sound");
    let names: Vec<i64> = statement
        .query_map([], |row| row.get(0))
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("ids");
    drop(statement);
    for few in names.chunks(100) {
        bench.writer.resolve(few).expect("resolved");
    }
    bench.settle();
    assert!(bench.text() == at_once, "a name is decided otherwise");
}
