//! The better model's vectors: computed once, kept across changes and restarts, deleted with their windows.

use std::sync::{Arc, Mutex};

use crate::backfill::{Backfill, Step};
use embed::{EmbedError, Embedder};
use index::store::testing::Bench;
use index::store::{Readers, Space};
use model::Item;
use model::document::UnitVector;

const ALPHA: &str = "# Alpha\n\nThe lantern at the pier is lit with oil every evening.";
pub(in crate::backfill) const BETA: &str =
    "# Beta\n\nKeys are rotated by the office every ninety days.";
const GAMMA: &str = "# Gamma\n\nBread is baked before the sun comes up.";

/// Embeds a text as its counts of letters, and records the texts of successful calls.
pub(in crate::backfill) struct Letters {
    space: &'static str,
    asked: Mutex<Vec<String>>,
    fails: Option<EmbedError>,
    is_english_only: bool,
}

impl Letters {
    fn new(space: &'static str) -> Arc<Self> {
        Self::of(space, None, false)
    }

    pub(in crate::backfill) fn failing(error: EmbedError) -> Arc<Self> {
        Self::of("letters/1", Some(error), false)
    }

    fn of(space: &'static str, fails: Option<EmbedError>, is_english_only: bool) -> Arc<Self> {
        Arc::new(Letters { space, asked: Mutex::default(), fails, is_english_only })
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("no test panics while it holds the lock"))
    }
}

impl Embedder for Letters {
    fn space(&self) -> &str {
        self.space
    }

    fn dimensions(&self) -> usize {
        26
    }

    fn is_english_only(&self) -> bool {
        self.is_english_only
    }

    fn try_embed(&self, texts: &[&str]) -> Result<Vec<UnitVector>, EmbedError> {
        if let Some(error) = &self.fails
            && texts.iter().any(|text| text.contains("Beta"))
        {
            return Err(error.clone());
        }
        let mut asked = self.asked.lock().expect("no test panics while it holds the lock");
        asked.extend(texts.iter().map(ToString::to_string));
        Ok(self.embed(texts))
    }

    fn embed(&self, texts: &[&str]) -> Vec<UnitVector> {
        let count = |text: &&str, letter: u8| text.bytes().filter(|it| *it == letter).count() as i8;
        let one =
            |text: &&str| UnitVector((b'a'..=b'z').map(|letter| count(text, letter)).collect());
        texts.iter().map(one).collect()
    }
}

/// An index with the operations that these tests need.
pub(in crate::backfill) trait Backfilled {
    fn backfill(&self, readers: &Arc<Readers>, letters: &Arc<Letters>) -> Backfill;
    fn write(&mut self, notes: &[(&str, &str)]);
    fn remove(&mut self, path: &str);
}

impl Backfilled for Bench {
    fn backfill(&self, readers: &Arc<Readers>, letters: &Arc<Letters>) -> Backfill {
        let (name, wanted) = ("letters", letters.clone() as Arc<dyn Embedder>);
        Backfill::open(self.folder.path(), name, wanted, readers.clone(), |_| None).expect("opened")
    }

    fn write(&mut self, notes: &[(&str, &str)]) {
        for (path, text) in notes {
            let item = self.item(path, text);
            self.commit(&[item]);
        }
    }

    fn remove(&mut self, path: &str) {
        let Item::Document(ticket, _) = self.item(path, "") else { panic!("a document") };
        self.commit(&[Item::Removed(ticket)]);
    }
}

/// Returns the windows that the answering layer finds, nearest first.
fn found(readers: &Arc<Readers>, letters: &Letters, question: &str) -> Vec<i64> {
    let snapshot = readers.snapshot().expect("a snapshot");
    let Some((layer, view)) = snapshot.layers().into_iter().next() else { return Vec::new() };
    assert_eq!(layer.embedder().space(), letters.space);
    let question = letters.embed(&[question]).remove(0);
    let near = view.nearest(&question.0, snapshot.tick(), 10, None);
    near.into_iter().map(|near| near.id).collect()
}

#[test]
fn a_text_is_embedded_once_and_gone_with_its_commit() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA)]);
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&readers, &letters);
    let tick = bench.writer.tick();
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    let asked = letters.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], "Alpha\n\nThe lantern at the pier is lit with oil every evening.");
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    assert_eq!(found(&readers, &letters, "lantern oil").len(), 2);
    let before = readers.snapshot().expect("a snapshot");

    bench.remove("alpha.md");
    assert_eq!(found(&readers, &letters, "lantern oil").len(), 1, "gone with the commit");
    let (_, view) = before.layers().remove(0);
    let question = letters.embed(&["lantern"]).remove(0);
    let near = view.nearest(&question.0, before.tick(), 10, None);
    assert_eq!(near.len(), 2, "who sees the commit before finds it");
    drop(before);

    // The same document is saved again under another path, with a new one.
    bench.write(&[("later/alpha.md", ALPHA), ("gamma.md", GAMMA)]);
    let tick = bench.writer.tick();
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    let asked = letters.asked();
    assert_eq!(asked.len(), 1, "only what is new: {asked:?}");
    assert_eq!(found(&readers, &letters, "lantern oil").len(), 3);
    let progress = backfill.paces()[0].progress();
    assert_eq!((progress.n_done, progress.n_windows), (3, 3));
}

#[test]
fn of_nearly_equal_windows_one_is_embedded() {
    let mut bench = Bench::new();
    let first = format!(
        "{ALPHA} {}",
        "The keeper lights it at dusk and trims the wick by hand. ".repeat(3)
    );
    bench.write(&[("a.md", &first), ("b.md", &first.replace("evening", "morning"))]);
    bench.settle_all();
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&bench.writer.readers(), &letters);
    backfill.round(&|| true).expect("a round");
    assert_eq!(letters.asked().len(), 1);
}

#[test]
fn what_was_cut_short_goes_on_where_it_was_and_outlives_the_index() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA), ("gamma.md", GAMMA)]);
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&readers, &letters);
    let n_open = Mutex::new(2);
    let may_embed = || {
        let mut n_open = n_open.lock().expect("no panic");
        *n_open -= 1;
        *n_open >= 0
    };
    let tick = bench.writer.tick();
    assert_eq!(backfill.round(&may_embed).expect("a round"), Step::Waits(tick));
    assert_eq!(letters.asked().len(), 2);
    assert_eq!(found(&readers, &letters, "bread").len(), 2, "what there is answers");
    drop(backfill);

    let mut backfill = bench.backfill(&readers, &letters);
    assert_eq!(backfill.round(&|| false).expect("a round"), Step::Waits(tick));
    assert_eq!(found(&readers, &letters, "bread").len(), 2, "without embedding anything");
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    assert_eq!(letters.asked().len(), 1);

    readers.alone(|| Ok((bench.writer.begin_again()?, ()))).expect("replaced");
    assert_eq!(found(&readers, &letters, "bread").len(), 0);
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA), ("gamma.md", GAMMA)]);
    let tick = bench.writer.tick();
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    assert_eq!((letters.asked().len(), found(&readers, &letters, "bread").len()), (0, 3));
}

#[test]
fn leads_come_first_and_code_comes_last() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    let long = |word: &str| format!("{word} follows {word} and nothing else. ").repeat(40);
    let code = format!("```rust\n{}```", "let keel = mast(keel, mast);\n".repeat(60));
    let one =
        format!("# One\n\n{}\n\n## Code\n\n{code}\n\n## More\n\n{}", long("oar"), long("sail"));
    bench.write(&[("one.md", &one), ("two.md", &format!("# Two\n\n{}", long("buoy")))]);
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&readers, &letters);
    backfill.round(&|| true).expect("a round");
    let kind = |text: &String| {
        let mut words = ["oar", "buoy", "sail", "keel"].into_iter();
        words.rfind(|word| text.contains(&format!("{word} "))).unwrap_or("?")
    };
    let mut order: Vec<&str> = letters.asked().iter().map(kind).collect();
    order.dedup();
    assert_eq!(order, ["oar", "buoy", "oar", "sail", "buoy", "keel"]);
}

#[test]
fn what_a_question_has_met_is_made_next() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA), ("gamma.md", GAMMA)]);
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&readers, &letters);
    let last = bench.count("SELECT max(id) FROM windows");
    let (layer, n_asked) = (backfill.wanted[0].layer.clone(), std::cell::Cell::new(0));
    let meets = || {
        n_asked.set(n_asked.get() + 1);
        if n_asked.get() == 2 {
            layer.note_met([last].into_iter());
        }
        true
    };
    backfill.round(&meets).expect("a round");
    let asked = letters.asked();
    let titles: Vec<&str> = asked.iter().filter_map(|text| text.split('\n').next()).collect();
    assert_eq!(titles, ["Alpha", "Gamma", "Beta"]);
}

#[test]
fn a_commit_that_comes_in_between_is_seen() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA)]);
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&readers, &letters);
    let bench = Mutex::new(bench);
    let removes = || {
        bench.lock().expect("no panic").remove("alpha.md");
        true
    };
    assert_eq!(backfill.round(&removes).expect("a round"), Step::Moved);
    let tick = bench.lock().expect("no panic").writer.tick();
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    assert_eq!(found(&readers, &letters, "lantern").len(), 1);
}

#[test]
fn a_model_answers_until_the_next_one_has_all_its_vectors() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA)]);
    let (old, new) = (Letters::new("letters/1"), Letters::new("letters/2"));
    bench.backfill(&readers, &old).round(&|| true).expect("a round");

    let (folder, before) = (bench.folder.path().to_path_buf(), old.clone());
    let reopen = move |space: &Space| {
        (space.model == "letters").then(|| before.clone() as Arc<dyn Embedder>)
    };
    let (name, wanted) = ("others", new.clone() as Arc<dyn Embedder>);
    let mut backfill =
        Backfill::open(&folder, name, wanted, readers.clone(), reopen).expect("opened");
    backfill.round(&|| false).expect("a round");
    assert_eq!(found(&readers, &old, "lantern").len(), 2, "the old ones answer");
    assert_eq!(backfill.paces()[0].progress().before.as_deref(), Some("letters/1"));
    bench.write(&[("gamma.md", GAMMA)]);
    backfill.round(&|| true).expect("a round");
    assert_eq!(found(&readers, &old, "lantern").len(), 2, "until somebody says that all is there");
    backfill.retire();
    backfill.tidy(bench.writer.tick()).expect("tidied");
    assert_eq!(found(&readers, &new, "lantern").len(), 3);
    let spaces = index::store::Spaces::open(&folder).expect("opened").list().expect("read");
    assert_eq!(spaces.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["letters/2"]);
}

#[test]
fn of_several_models_before_the_fullest_answers_and_none_that_has_less_than_the_wanted_one() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA), ("gamma.md", GAMMA)]);
    let all = ["letters/1", "letters/2", "letters/3"].map(Letters::new);
    let folder = bench.folder.path().to_path_buf();
    let open = |at: usize| {
        let known = all.clone();
        let reopen = move |space: &Space| {
            let letters = known.iter().find(|it| it.space == space.name)?;
            Some(letters.clone() as Arc<dyn Embedder>)
        };
        let (name, wanted) = (all[at].space, all[at].clone() as Arc<dyn Embedder>);
        Backfill::open(&folder, name, wanted, readers.clone(), reopen).expect("opened")
    };
    open(0).round(&|| true).expect("a round");
    let n_left = Mutex::new(1);
    let once = || {
        let mut n_left = n_left.lock().expect("no panic");
        *n_left -= 1;
        *n_left >= 0
    };
    let mut second = open(1);
    second.round(&once).expect("a round");
    drop(second);
    let third = open(2);
    assert_eq!(
        third.paces()[0].progress().before.as_deref(),
        Some("letters/1"),
        "not that of one text"
    );
    drop(third);
    assert_eq!(open(0).paces()[0].progress().before, None, "it has all itself");
}

#[test]
fn each_kind_of_failure_has_a_fate_of_its_own() {
    let why = || "it said so".to_string();
    let later = EmbedError::Later { why: why(), after: Some(std::time::Duration::from_secs(7)) };
    let table = [
        (EmbedError::Text { why: why() }, None),
        (later, Some(Step::Later(std::time::Duration::from_secs(7)))),
        (EmbedError::Model { why: why() }, Some(Step::Broken)),
    ];
    for (error, expected) in table {
        let mut bench = Bench::new();
        let readers = bench.writer.readers();
        bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA), ("gamma.md", GAMMA)]);
        let letters = Letters::failing(error.clone());
        let mut backfill = bench.backfill(&readers, &letters);
        let step = backfill.round(&|| true).expect("a round");
        assert_eq!(step, expected.clone().unwrap_or(Step::Full(bench.writer.tick())), "{error}");
        let progress = backfill.paces()[0].progress();
        assert_eq!(progress.trouble.is_some(), expected.is_some(), "{error}");
        assert_eq!(progress.n_refused, u64::from(expected.is_none()), "{error}");
        let n_found = found(&readers, &letters, "bread").len();
        assert_eq!(n_found, if expected.is_some() { 1 } else { 2 }, "{error}: the others");
        if expected.is_none() {
            letters.asked();
            backfill.round(&|| true).expect("a round");
            assert_eq!(letters.asked(), [""; 0], "what cannot be embedded is not tried again");
        }
    }
}

#[test]
fn vectors_of_texts_that_are_gone_are_deleted_from_the_file() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA)]);
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&readers, &letters);
    backfill.round(&|| true).expect("a round");
    bench.remove("beta.md");
    backfill.round(&|| true).expect("a round");
    backfill.tidy(bench.writer.tick()).expect("tidied");
    letters.asked();
    bench.write(&[("beta.md", BETA), ("alpha2.md", ALPHA)]);
    bench.settle_all();
    backfill.round(&|| true).expect("a round");
    let asked = letters.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].contains("Beta"));
}

#[test]
fn each_fact_of_a_note_has_a_vector_under_the_name_of_the_note() {
    let ada =
        "---\ntype: Person\n---\n# Ada\n\n- [duty] Lights the lantern\n- [duty] Bakes bread\n";
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("ada.md", ada)]);
    let letters = Letters::new("letters/1");
    let mut backfill = bench.backfill(&readers, &letters);
    let tick = bench.writer.tick();
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    let mut asked = letters.asked();
    asked.sort();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked, ["Ada\n\n[duty] Lights the lantern", "ada\n[duty] Bakes bread"]);

    // A fact is added: only its text is embedded.
    bench.write(&[("ada.md", &format!("{ada}- [duty] Rings the bell\n"))]);
    backfill.round(&|| true).expect("a round");
    let asked = letters.asked();
    assert!(asked.len() == 1 && asked[0].ends_with("Rings the bell"), "{asked:?}");
}

#[test]
fn floats_are_made_beside_the_bytes_and_bytes_of_floats_are_not_made_again() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA), ("beta.md", BETA)]);
    let letters = Letters::new("letters/i8x254");
    bench.backfill(&readers, &letters).round(&|| true).expect("a round");
    letters.asked();

    let folder = bench.folder.path().to_path_buf();
    let reopened = letters.clone();
    let reopen = move |_: &Space| Some(reopened.clone() as Arc<dyn Embedder>);
    let unrounded = Arc::new(embed::Unrounded::of(letters.clone()));
    let (name, wanted) = ("letters", unrounded.clone() as Arc<dyn Embedder>);
    let mut backfill =
        Backfill::open(&folder, name, wanted, readers.clone(), reopen.clone()).expect("opened");
    backfill.round(&|| false).expect("a round");
    assert_eq!(found(&readers, &letters, "lantern").len(), 2, "the bytes answer meanwhile");
    backfill.round(&|| true).expect("a round");
    assert_eq!(letters.asked().len(), 2, "floats are made of the texts");
    backfill.retire();
    let snapshot = readers.snapshot().expect("a snapshot");
    let (layer, view) = snapshot.layers().remove(0);
    assert_eq!(layer.embedder().space(), "letters/f32");
    let question = unrounded.try_question("lantern").expect("a vector");
    let by_floats = view.nearest(&question.0, snapshot.tick(), 10, None);
    assert_eq!(by_floats.len(), 2);
    drop(snapshot);
    backfill.tidy(bench.writer.tick()).expect("tidied");
    letters.asked();

    let (name, wanted) = ("letters", letters.clone() as Arc<dyn Embedder>);
    let mut backfill =
        Backfill::open(&folder, name, wanted, readers.clone(), reopen).expect("opened");
    backfill.round(&|| false).expect("a round");
    backfill.retire();
    let ids: Vec<i64> = by_floats.iter().map(|near| near.id).collect();
    assert_eq!(found(&readers, &letters, "lantern"), ids, "the floats, rounded");
    assert_eq!(letters.asked(), [""; 0], "without the model");
}

#[test]
fn a_question_that_is_asked_again_is_not_embedded_again() {
    let letters = Letters::new("letters/1");
    let layer = index::vectors::Layer::new(letters.clone(), Default::default());
    let first = layer.question("lantern").expect("a vector");
    assert_eq!(layer.question("lantern").expect("a vector"), first);
    assert_eq!(letters.asked(), ["lantern"]);
    for i in 0..100 {
        layer.question(&format!("question {i}")).expect("a vector");
    }
    letters.asked();
    assert_eq!(layer.question("lantern").expect("a vector"), first);
    assert_eq!(letters.asked(), ["lantern"], "only the last ones are remembered");
}

const GERMAN: &str = "# Die Schlüssel\n\nDie Schlüssel werden vom Büro alle neunzig Tage gewechselt, und der alte \
     gilt noch eine Woche, damit niemand vor der Tür steht.";

#[test]
fn each_language_has_the_model_that_reads_it_and_a_broken_one_stops_no_other() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    bench.write(&[("alpha.md", ALPHA)]);
    let first = Letters::of("english/1", None, true);
    let second = Letters::of("any/1", None, false);
    let open = |bench: &Bench, second: &Arc<Letters>| {
        let backfill = bench.backfill(&readers, &first);
        backfill.beside("any", second.clone() as Arc<dyn Embedder>).expect("opened")
    };
    let mut backfill = open(&bench, &second);
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(bench.writer.tick()));
    assert_eq!((first.asked().len(), second.asked().len()), (1, 0), "nothing for the second one");
    assert_eq!(readers.snapshot().expect("a snapshot").layers().len(), 1, "nor is it asked");

    bench.write(&[("schluessel.md", GERMAN)]);
    let snapshot = readers.snapshot().expect("a snapshot");
    assert!(!snapshot.has_all_better_vectors(), "the commit brings a window without any vector");
    drop(snapshot);
    assert_eq!(bench.count("SELECT count(vector) FROM windows"), 1);
    assert_eq!(bench.count("SELECT count(*) FROM windows"), 2);
    let tick = bench.writer.tick();
    assert_eq!(backfill.round(&|| true).expect("a round"), Step::Full(tick));
    assert_eq!(first.asked(), [""; 0]);
    let asked = second.asked();
    // In a folder of two languages, the second model embeds English texts too, after its own.
    assert!(asked.len() == 2 && asked[0].starts_with("schluessel\nDie Schlüssel"), "{asked:?}");
    let snapshot = readers.snapshot().expect("a snapshot");
    assert!(snapshot.has_all_better_vectors());
    let spaces: Vec<String> =
        snapshot.layers().iter().map(|(layer, _)| layer.embedder().space().to_string()).collect();
    assert_eq!(spaces, ["english/1", "any/1"]);
    drop(snapshot);
    backfill.tidy(tick).expect("tidied");
    drop(backfill);
    let broken = Letters::of("any/2", Some(EmbedError::Model { why: "it is torn".into() }), false);
    bench.write(&[("beta.md", BETA)]);
    let mut backfill = open(&bench, &broken);
    backfill.round(&|| true).expect("a round");
    let progress: Vec<_> = backfill.paces().iter().map(|pace| pace.progress()).collect();
    assert_eq!((progress[0].n_done, progress[0].n_windows), (2, 2));
    assert!(progress[0].is_full && !progress[1].is_full && progress[1].trouble.is_some());
    bench.remove("schluessel.md");
    backfill.round(&|| true).expect("a round");
    assert_eq!(
        readers.snapshot().expect("a snapshot").layers().len(),
        1,
        "gone with their windows"
    );
}
