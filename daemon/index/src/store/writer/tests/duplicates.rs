//! Text that occurs in several places is indexed once, whatever the history.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand_free::Order;

use super::*;
use crate::store::canon;

const BOILER: &str = "All trademarks belong to their owners, and nothing in this note may be passed on to anybody \
    outside of the company without the consent of the legal department in Zurich.";
const PLAN: &str = "The migration moves every customer from the old cluster to the new one within six weeks, begins \
    with the smallest tenants, and keeps a copy of each database for ninety days after the switch.";
const NEWER: &str = "The migration moves every customer from the old cluster to the new one within six weeks, begins \
    with the smallest tenants, and keeps a copy of each database for seventy days after the switch.";

mod rand_free {
    //! A shuffle determined by a seed.
    pub(super) struct Order(pub u64);
    impl Order {
        pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
            for i in (1..items.len()).rev() {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                items.swap(i, (self.0 >> 33) as usize % (i + 1));
            }
        }
    }
}

/// A writer, and the files written with it.
struct Folder {
    bench: Bench,
    files: BTreeMap<String, String>,
}

impl Folder {
    fn of(files: &[(&str, String)]) -> Self {
        let mut folder = Folder { bench: Bench::new(), files: BTreeMap::new() };
        for (path, text) in files {
            folder.write(path, text);
        }
        folder.settle();
        folder
    }

    fn write(&mut self, path: &str, text: &str) {
        self.files.insert(path.into(), text.into());
        let item = self.bench.item(path, text);
        self.bench.commit(&[item]);
    }

    fn remove(&mut self, path: &str) {
        self.files.remove(path);
        let Item::Document(ticket, _) = self.bench.item(path, "") else { return };
        self.bench.commit(&[Item::Removed(ticket)]);
    }

    fn rename(&mut self, from: &str, to: &str) {
        let Some(text) = self.files.remove(from) else { return };
        self.files.insert(to.into(), text.clone());
        let Item::Document(ticket, doc) = self.bench.item(to, &text) else { return };
        let ticket = Ticket { moved_from: Some(RelPath::new(from)), ..ticket };
        self.bench.commit(&[Item::Document(ticket, doc)]);
    }

    /// Runs the ripple to its end; returns the number of steps.
    fn settle(&mut self) -> usize {
        let mut n_steps = 0;
        loop {
            n_steps += 1;
            assert!(n_steps < 1_000, "it never settles");
            match self.bench.writer.ripple(true).expect("a step") {
                RippleStep::Settled => return n_steps,
                RippleStep::Progress => {}
                RippleStep::Requeue(rows) => {
                    for row in rows {
                        let item = self.bench.again(row);
                        self.bench.commit(&[item]);
                    }
                }
            }
        }
    }

    /// Returns the files in whose chunks the text index finds all of these words.
    fn found(&self, words: &str) -> Vec<String> {
        let expression: Vec<String> =
            words.split_whitespace().filter_map(crate::words::phrase_of).collect();
        let db = &self.bench.writer.db;
        let mut statement = db
            .prepare(
                "SELECT DISTINCT d.path FROM chunk_fts f JOIN chunks c ON c.id = f.rowid JOIN docs d ON d.id = c.doc_id
                 WHERE chunk_fts MATCH ?1 ORDER BY 1",
            )
            .expect("prepared");
        let rows =
            statement.query_map([expression.join(" AND ")], |row| row.get(0)).expect("queried");
        rows.collect::<Result<_, _>>().expect("read")
    }

    fn text(&self) -> String {
        canon::text(&self.bench.writer.db).expect("read")
    }

    /// Asserts that a new index of the same files, added in another order, is equal.
    fn check(&self, what: &str) {
        let mut files: Vec<(&str, String)> =
            self.files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
        Order(files.len() as u64).shuffle(&mut files);
        let (live, rebuilt) = (self.text(), Folder::of(&files).text());
        let lacks = |of: &str, it: &str| -> Vec<String> {
            let known: std::collections::HashSet<&str> = it.lines().collect();
            of.lines().filter(|line| !known.contains(line)).take(8).map(String::from).collect()
        };
        let differ = (lacks(&live, &rebuilt), lacks(&rebuilt, &live));
        assert!(live == rebuilt, "{what}: {differ:#?}\n{:#?}", self.files);
    }
}

/// Counts the passages that repeat another.
const REPEATS: &str = "SELECT count(*) FROM chunks WHERE same_as <> id";

fn note(title: &str, paragraphs: &[&str]) -> String {
    format!("# {title}\n\n{}\n", paragraphs.join("\n\n"))
}

#[test]
fn many_groups_of_near_copies_are_settled_in_few_steps() {
    // Each step is a transaction, after a pause that gives saves precedence.
    let copy = |group: usize, n: usize| {
        let words =
            ["harbor", "ledger", "granite", "willow", "copper", "meadow", "lantern", "orchard"];
        let own: Vec<String> = (0..30)
            .map(|k| format!("{}{}", words[(group * 7 + k * 3 + k * k) % 8], group * k % 97))
            .collect();
        note(&format!("Note {group}.{n}"), &[&format!("{} and in the end copy{n}", own.join(" "))])
    };
    let mut folder = Folder::of(&[]);
    for n in 0..4 {
        for group in 0..40 {
            folder.write(&format!("{group}-{n}.md"), &copy(group, n));
        }
    }
    assert_eq!(folder.bench.count("SELECT count(*) FROM docs WHERE is_open"), 160);
    let n_steps = folder.settle();
    assert!(n_steps < 20, "{n_steps} steps");
    // Similar texts most likely share a key, but not always.
    let n_repeats = folder.bench.count(REPEATS);
    assert!((110..=120).contains(&n_repeats), "{n_repeats}");
    folder.check("groups");
}

#[test]
fn a_page_of_many_folders_is_found_once() {
    let mut files = Vec::new();
    for n in 0..50 {
        files.push((format!("notes/n{n:02}.md"), note(&format!("Valley{n}"), &[BOILER, PLAN])));
    }
    let files: Vec<(&str, String)> = files.iter().map(|(p, t)| (p.as_str(), t.clone())).collect();
    let folder = Folder::of(&files);
    assert_eq!(folder.found("trademarks Zurich"), ["notes/n00.md"]);
    assert_eq!(folder.found("valley33"), ["notes/n33.md"]);
    assert_eq!(folder.bench.count(REPEATS), 49);
    folder.check("pages");
}

/// Counts the windows that are searched.
const SEARCHED: &str = "SELECT count(*) FROM windows WHERE is_aside = 0";

#[test]
fn a_copied_page_has_no_rows_and_gets_them_when_the_first_goes() {
    let page = note("Migration", &[PLAN, "## Steps", "- one\n- two", BOILER]);
    let mut folder = Folder::of(&[("plan.md", page.clone()), ("old/plan.md", page.clone())]);
    let texts = "SELECT count(*) FROM chunk_fts";
    assert_eq!(folder.found("customer"), ["plan.md"]);
    assert_eq!((folder.bench.count(texts), folder.bench.count(SEARCHED)), (1, 1));
    assert_eq!(folder.bench.count("SELECT count(*) FROM chunks"), 2);
    folder.remove("plan.md");
    // In the same commit, before any ripple.
    assert_eq!(folder.found("customer"), ["old/plan.md"]);
    assert_eq!((folder.bench.count(texts), folder.bench.count(SEARCHED)), (1, 1));
    folder.settle();
    folder.check("promoted");
}

#[test]
fn a_near_copy_keeps_the_words_that_only_it_has() {
    let folder = Folder::of(&[("a.md", note("Alpha", &[PLAN])), ("b.md", note("Beta", &[NEWER]))]);
    assert_eq!(folder.found("customer").len(), 1, "{:?}", folder.found("customer"));
    assert_eq!(
        (folder.found("ninety"), folder.found("seventy")),
        (vec!["a.md".into()], vec!["b.md".into()])
    );
    assert_eq!(
        (folder.found("alpha"), folder.found("beta")),
        (vec!["a.md".into()], vec!["b.md".into()])
    );
    assert_eq!(folder.bench.count(REPEATS), 1);
    folder.check("near");
}

#[test]
fn a_page_that_only_bears_another_title_is_found_by_it() {
    let folder = Folder::of(&[
        ("a.md", format!("---\ntitle: Tanzania\n---\n{PLAN}\n")),
        ("b.md", format!("---\ntitle: Zanzibar\n---\n{PLAN}\n")),
        ("c.md", format!("---\ntitle: Zanzibar\n---\n{PLAN}\n")),
    ]);
    assert_eq!(folder.found("customer"), ["a.md"]);
    assert_eq!(folder.found("zanzibar"), ["b.md", "c.md"]);
    folder.check("titles");
}

#[test]
fn a_copy_that_becomes_the_first_passage_of_its_page_is_found_by_the_title() {
    let long = |word: &str| (0..250).map(|n| format!("{word}{n}")).collect::<Vec<_>>().join(" ");
    let shared = format!("## Shared\n\n{}\n", long("tide"));
    let page = |title: &str, own: &str| format!("---\ntitle: {title}\n---\n{own}{shared}");
    let own = format!("## Own\n\n{}\n\n", long("reef"));
    let mut folder = Folder::of(&[("a.md", page("Alpha", "")), ("bb.md", page("Zebrafish", &own))]);
    assert!(folder.bench.count(REPEATS) > 0);
    for (what, own) in [("the section goes", ""), ("and comes again", own.as_str())] {
        folder.write("bb.md", &page("Zebrafish", own));
        folder.settle();
        assert_eq!(folder.found("zebrafish"), ["bb.md"], "{what}");
        folder.check(what);
    }
}

#[test]
fn a_name_that_becomes_known_is_read_in_copies_too() {
    let text =
        |end: &str| format!("Whoever opens the quillfeather gasket wears gloves. {PLAN} {end}\n");
    let mut folder = Folder::of(&[
        ("a.txt", text("")),
        ("x/copy.txt", text("")),
        ("x/near.txt", text("Ask Mira.")),
    ]);
    assert_eq!(folder.bench.count(REPEATS), 2);
    folder.write(
        "term.md",
        "# Quillfeather Gasket\n\n**Quillfeather Gasket** is a gasket of the valve.\n",
    );
    folder.settle();
    let named = "SELECT count(*) FROM mentions m JOIN names n ON n.id = m.name_id
                 WHERE n.norm = 'quillfeathergasket' AND instr(m.positions, '\"quillfeather gasket\"') > 0";
    assert_eq!(folder.bench.count(named), 3);
    folder.check("a term");
}

#[test]
fn letters_of_one_template_are_compared_with_a_few_only() {
    let mut dice = 7u64;
    let mut letter = |n: usize| {
        let phrase = |at: usize| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let is_own = (dice >> 33).is_multiple_of(4);
            if is_own {
                format!("own{n}x{at} of letter{n} here")
            } else {
                format!("we write to you about matter{at}")
            }
        };
        note("Letter", &[&(0..25).map(phrase).collect::<Vec<_>>().join(" ")])
    };
    let files: Vec<(String, String)> =
        (0..60).map(|n| (format!("letters/{n:02}.md"), letter(n))).collect();
    let files: Vec<(&str, String)> = files.iter().map(|(p, t)| (p.as_str(), t.clone())).collect();
    let mut folder = Folder::of(&files);
    for n in [0, 33, 59] {
        assert!(!folder.found(&format!("letter{n}")).is_empty(), "letter {n}");
    }
    folder.check("letters");
    for path in ["letters/00.md", "letters/07.md", "letters/20.md"] {
        folder.remove(path);
        folder.settle();
        folder.check(path);
    }
    folder.rename("letters/40.md", "0.md");
    folder.settle();
    folder.check("one comes first");
}

#[test]
fn editing_moving_and_deleting_the_first_promotes_another() {
    let page = |title: &str| note(title, &[BOILER, PLAN]);
    type Do = fn(&mut Folder);
    let rows: [(&str, Do, &[&str]); 7] = [
        ("delete first", |it| it.remove("a.md"), &["b.md"]),
        ("edit first", |it| it.write("a.md", "# A\n\nNow it says something else."), &["b.md"]),
        ("rename first", |it| it.rename("a.md", "zz.md"), &["b.md"]),
        ("move first", |it| it.rename("a.md", "deep/er/a.md"), &["b.md"]),
        ("an earlier one comes", |it| it.write("0.md", &note("Zero", &[BOILER, PLAN])), &["0.md"]),
        ("last becomes first", |it| it.rename("x/c.md", "1.md"), &["1.md"]),
        ("delete a copy", |it| it.remove("b.md"), &["a.md"]),
    ];
    for (what, act, expected) in rows {
        let files = [("a.md", page("A")), ("b.md", page("B")), ("x/c.md", page("C"))];
        let mut folder = Folder::of(&files);
        assert_eq!(folder.found("customer tenants"), ["a.md"], "{what}");
        act(&mut folder);
        assert!(!folder.found("customer tenants").is_empty(), "{what}: lost for a moment");
        folder.settle();
        assert_eq!(folder.found("customer tenants"), expected, "{what}");
        folder.check(what);
    }
}

#[test]
fn a_chain_of_small_changes_never_joins_texts_that_are_not_alike() {
    let words: Vec<String> = (0..60).map(|n| format!("word{n}")).collect();
    let version = |n: usize| {
        let mut words = words.clone();
        for (at, word) in words.iter_mut().enumerate().take(n * 4) {
            *word = format!("other{at}");
        }
        note(&format!("V{n}"), &[&words.join(" ")])
    };
    let files: Vec<(String, String)> = (0..8).map(|n| (format!("v{n}.md"), version(n))).collect();
    let files: Vec<(&str, String)> = files.iter().map(|(p, t)| (p.as_str(), t.clone())).collect();
    let folder = Folder::of(&files);
    for n in (0..28).step_by(4) {
        assert!(!folder.found(&format!("other{n}")).is_empty(), "other{n}");
    }
    let n_repeats = folder.bench.count(REPEATS);
    assert!((2..=6).contains(&n_repeats), "{n_repeats}");
    let chains =
        "SELECT count(*) FROM chunks a JOIN chunks b ON b.id = a.same_as WHERE b.same_as <> b.id";
    assert_eq!(folder.bench.count(chains), 0, "what others repeat repeats none");
    folder.check("chain");
}

#[test]
fn a_near_copy_is_found_at_once_when_those_before_it_go_together() {
    let near = |edit: usize| {
        let mut words: Vec<String> = (0..80).map(|n| format!("t3w{n}")).collect();
        if edit > 0 {
            words[edit * 6] = format!("edit{edit}");
        }
        words.join(" ")
    };
    for stays in 0..4 {
        let going: Vec<String> = (0..4).filter(|edit| *edit != stays).map(near).collect();
        let going: Vec<&str> = going.iter().map(String::as_str).collect();
        let mut folder =
            Folder::of(&[("a.md", note("One", &going)), ("zz.md", note("One", &[&near(stays)]))]);
        assert_eq!(folder.bench.count(REPEATS), 3, "each paragraph is a passage of its own");
        folder.write("a.md", "# One\n\nSomething else.\n");
        assert!(!folder.found("t3w0").is_empty(), "lost for a moment, edit {stays}");
        folder.settle();
        folder.check("near copies");
    }
}

#[test]
fn a_paragraph_that_fills_one_file_is_indexed_once_there() {
    let paragraphs = vec![BOILER; 2_000];
    let mut folder = Folder::of(&[("many.md", note("Many", &paragraphs))]);
    assert_eq!(folder.found("trademarks"), ["many.md"]);
    let n = folder.bench.count("SELECT count(*) FROM chunk_fts WHERE chunk_fts MATCH 'trademark'");
    assert!(n <= 2, "{n}: the last passage may be shorter");
    folder.check("many");
    folder.remove("many.md");
    folder.settle();
    assert_eq!(folder.bench.count("SELECT count(*) FROM chunk_keys"), 0);
}

#[test]
fn parts_of_a_paragraph_longer_than_a_chunk_are_all_found() {
    let long = |end: &str| {
        let words: Vec<String> = (0..1_500).map(|n| format!("item{n}")).collect();
        format!("# Long\n\n{} {end}.\n", words.join(" "))
    };
    let folder =
        Folder::of(&[("a.md", long("alpha")), ("b.md", long("omega")), ("c/d.md", long("alpha"))]);
    for word in ["item0", "item700", "item1499", "alpha", "omega"] {
        assert!(!folder.found(word).is_empty(), "{word}");
    }
    assert_eq!(folder.found("item700").len(), 1);
    folder.check("long");
}

/// A paragraph of a random history: few distinct ones, so that files share many.
fn paragraph() -> impl Strategy<Value = String> {
    let text = (0usize..5, 0usize..4, prop::bool::ANY).prop_map(|(topic, edit, is_short)| {
        if is_short {
            return format!("short {topic}");
        }
        let mut words: Vec<String> = (0..24).map(|n| format!("t{topic}w{n}")).collect();
        if edit > 0 {
            words[edit * 6] = format!("edit{edit}");
        }
        words.join(" ")
    });
    text.boxed()
}

#[derive(Debug, Clone)]
enum Act {
    Write(usize, usize, Vec<String>),
    Remove(usize),
    Rename(usize, usize),
    Settle,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => (0usize..6, 0usize..2, prop::collection::vec(paragraph(), 1..4))
            .prop_map(|(path, title, text)| Act::Write(path, title, text)),
        2 => (0usize..6).prop_map(Act::Remove),
        2 => (0usize..6, 0usize..6).prop_map(|(from, to)| Act::Rename(from, to)),
        2 => Just(Act::Settle),
    ]
}

const PATHS: [&str; 6] = ["a.md", "b.md", "long name.md", "x/a.md", "x/y/b.md", "zz.md"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_history_ends_where_a_new_index_begins(acts in prop::collection::vec(act(), 1..14)) {
        let mut folder = Folder::of(&[]);
        for act in &acts {
            match act {
                Act::Write(path, title, text) => {
                    let paragraphs: Vec<&str> = text.iter().map(String::as_str).collect();
                    folder.write(PATHS[*path], &note(["One", "Two"][*title], &paragraphs));
                }
                Act::Remove(path) if folder.files.contains_key(PATHS[*path]) => folder.remove(PATHS[*path]),
                Act::Rename(from, to) if !folder.files.contains_key(PATHS[*to]) => {
                    folder.rename(PATHS[*from], PATHS[*to]);
                }
                Act::Settle => {
                    folder.settle();
                }
                _ => {}
            }
            // Text that is still in some file stays findable.
            for (path, text) in &folder.files {
                let word = text.split_whitespace().find(|word| word.contains('w')).unwrap_or("#");
                let is_found = word == "#" || !folder.found(word).is_empty();
                prop_assert!(is_found, "{} of {} after {:?}", word, path, act);
            }
        }
        folder.settle();
        folder.check("random");
    }
}
