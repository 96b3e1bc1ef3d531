//! The scan against sqlite-vec and against a plain list, over histories of commits.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rusqlite::{Connection, params};
use rustc_hash::FxHashSet;

use super::segment::FULL;
use super::*;
use embed::{UNIT, cosine, unit_vector};
use model::document::UnitVector;

const WIDTH: usize = 8;

/// The rows of an index at one commit.
type Rows = BTreeMap<i64, Vec<u8>>;

/// An index of vectors, maintained as in the store, with its rows at every commit.
struct History {
    db: Connection,
    vectors: Vectors,
    _folder: tempfile::TempDir,
    /// Rows by tick.
    held: Vec<Rows>,
}

impl History {
    fn new() -> Self {
        Self::held_as(Precision::Int8)
    }

    fn held_as(precision: Precision) -> Self {
        sys::register_sqlite_vec();
        let db = Connection::open_in_memory().expect("opens");
        db.execute_batch(
            "CREATE TABLE windows(id INTEGER PRIMARY KEY, is_aside INTEGER NOT NULL DEFAULT 0, vector BLOB)",
        )
        .expect("made");
        let folder = tempfile::tempdir().expect("a folder");
        let vectors = Vectors::held_as(precision, folder.path().to_path_buf());
        History { db, vectors, _folder: folder, held: vec![Rows::new()] }
    }

    fn tick(&self) -> Tick {
        Tick(self.held.len() as u64 - 1)
    }

    fn now(&self) -> &Rows {
        self.held.last().expect("there is a first")
    }

    /// Commits as the writer does: memory first, then the table.
    fn commit(&mut self, change: VectorChange) {
        let mut rows = self.now().clone();
        self.vectors.publish(Tick(self.tick().0 + 1), change.clone());
        for id in &change.gone {
            rows.remove(id);
            self.db.execute("DELETE FROM windows WHERE id = ?1", [id]).expect("deleted");
        }
        for (id, bytes) in &change.born {
            let insert = "INSERT INTO windows(id, vector) VALUES(?1, ?2)";
            self.db.execute(insert, params![id, bytes]).expect("inserted");
            rows.insert(*id, bytes.clone());
        }
        self.held.push(rows);
    }

    fn copy(&self) {
        let Some(number) = self.vectors.begin() else { return };
        let copy = load(&self.db, self.tick(), self.vectors.form(), || false).expect("read");
        self.vectors.finish(number, copy);
    }

    /// Returns the commits that the copy knows, and checks the copy against a plain list at each.
    fn check(&self, question: &[i8], wanted: usize) -> Vec<u64> {
        let Some(view) = self.vectors.view() else { return Vec::new() };
        let known = (0..self.held.len() as u64).filter(|tick| view.knows(Tick(*tick)));
        let known: Vec<u64> = known.collect();
        for tick in &known {
            let rows = &self.held[*tick as usize];
            let expected = by_list(rows, question, wanted);
            assert_eq!(view.nearest(question, Tick(*tick), wanted, None), expected, "at {tick}");
            let some: FxHashSet<i64> = rows.keys().copied().filter(|id| id % 3 == 0).collect();
            let of_some = rows.iter().filter(|(id, _)| some.contains(id));
            let of_some: Rows = of_some.map(|(id, bytes)| (*id, bytes.clone())).collect();
            let found = view.nearest(question, Tick(*tick), wanted, Some(&some));
            assert_eq!(found, by_list(&of_some, question, wanted), "of some, at {tick}");
            let asked: FxHashSet<i64> = some.iter().copied().chain([i64::MAX]).collect();
            let cosines = view.cosines_of(&asked, question, Tick(*tick));
            let listed = by_list(&of_some, question, usize::MAX).into_iter();
            assert_eq!(cosines, listed.map(|near| (near.id, near.cosine)).collect(), "at {tick}");
        }
        known
    }
}

fn signed(bytes: &[u8]) -> UnitVector {
    UnitVector(bytes.iter().map(|byte| byte.cast_signed()).collect())
}

fn by_list(rows: &Rows, question: &[i8], wanted: usize) -> Vec<Nearest> {
    let question = UnitVector(question.into());
    let near = |(id, bytes): (&i64, &Vec<u8>)| Nearest {
        id: *id,
        cosine: cosine(&signed(bytes), &question),
    };
    let mut all: Vec<Nearest> = rows.iter().map(near).collect();
    all.sort();
    all.truncate(wanted);
    all
}

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    /// Removes some rows, by position, and adds these; some of them return under an earlier id.
    Commit(Vec<prop::sample::Index>, Vec<[u8; WIDTH]>),
    Copy,
    /// Starts a copy, commits that many times during it, and finishes it.
    CopyWhileWriting(u8),
    /// An announced commit fails.
    Fail,
}

fn step() -> impl Strategy<Value = Step> {
    let gone = || prop::collection::vec(any::<prop::sample::Index>(), 0..12);
    let born = || prop::collection::vec(any::<[u8; WIDTH]>(), 0..12);
    prop_oneof![
        12 => (gone(), born()).prop_map(|(gone, born)| Step::Commit(gone, born)),
        2 => Just(Step::Copy),
        1 => (0u8..4).prop_map(Step::CopyWhileWriting),
        1 => Just(Step::Fail),
    ]
}

fn change(history: &History, gone: &[prop::sample::Index], born: &[[u8; WIDTH]]) -> VectorChange {
    let there: Vec<i64> = history.now().keys().copied().collect();
    let mut gone: Vec<i64> = match there.is_empty() {
        true => Vec::new(),
        false => gone.iter().map(|index| there[index.index(there.len())]).collect(),
    };
    gone.sort_unstable();
    gone.dedup();
    // The largest id is reused once its row is deleted, as in the store.
    let next = there.iter().filter(|id| !gone.contains(id)).max().map_or(1, |id| id + 1);
    let born = born.iter().enumerate().map(|(i, bytes)| (next + i as i64, bytes.to_vec()));
    VectorChange { gone, born: born.collect(), ..VectorChange::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_commit_that_is_known_is_told_as_it_was(
        steps in prop::collection::vec(step(), 1..60),
        question in any::<[i8; WIDTH]>(),
        wanted in 1usize..20,
        precision in prop::sample::select(vec![Precision::Int8, Precision::Bit]),
    ) {
        // So few rows are all scored exactly, even when held as bits.
        let mut history = History::held_as(precision);
        for step in steps {
            match step {
                Step::Commit(gone, born) => {
                    let had_copy = history.vectors.view().is_some();
                    let change = change(&history, &gone, &born);
                    history.commit(change);
                    let view = history.vectors.view();
                    prop_assert_eq!(view.is_some(), had_copy);
                    prop_assert!(view.is_none_or(|view| view.newest() == history.tick()));
                }
                Step::Copy => {
                    history.copy();
                    let view = history.vectors.view().expect("a copy");
                    prop_assert_eq!(view.newest(), history.tick());
                }
                Step::CopyWhileWriting(n) => {
                    let number = history.vectors.begin();
                    let tick = history.tick();
                    let copy = load(&history.db,tick, history.vectors.form(), || false).expect("read");
                    for i in 0..n {
                        let change = change(&history, &[], &[[i; WIDTH], [i + 1; WIDTH]]);
                        history.commit(change);
                    }
                    if let Some(number) = number {
                        history.vectors.finish(number, copy);
                        prop_assert_eq!(history.vectors.view().expect("a copy").newest(), history.tick());
                    }
                }
                Step::Fail => {
                    let change = change(&history, &[], &[[1; WIDTH]]);
                    history.vectors.publish(Tick(history.tick().0 + 1), change);
                    // Until the failure, readers of the previous commit must not find its rows.
                    history.check(&question, wanted);
                    history.vectors.forget();
                }
            }
            history.check(&question, wanted);
            let from_table = nearest_in_table(&history.db,&question, wanted, None).expect("read");
            prop_assert_eq!(from_table, by_list(history.now(), &question, wanted));
            if let Some(view) = history.vectors.view() {
                prop_assert_eq!(view.n_rows(), history.now().len());
                prop_assert!(view.n_held() <= 2 * view.n_rows() + 2 * FULL, "{} held", view.n_held());
            }
        }
    }
}

/// Uses vectors of equal length, as embedders return: for others, distance and cosine order differently.
#[test]
fn sqlite_vec_finds_the_same() {
    let mut history = History::new();
    let born = (0..3_000i64).map(|id| {
        let angle = id as f64 * 0.7;
        let mut bytes = [0u8; WIDTH];
        bytes[(id % 7) as usize] = ((angle.cos() * 100.0) as i8).cast_unsigned();
        bytes[7] = ((angle.sin() * 100.0) as i8).cast_unsigned();
        (id + 1, bytes.to_vec())
    });
    history.commit(VectorChange {
        gone: Vec::new(),
        born: born.collect(),
        ..VectorChange::default()
    });
    let gone = (1..3_000).step_by(5).collect();
    history.commit(VectorChange { gone, born: Vec::new(), ..VectorChange::default() });
    let question: [i8; WIDTH] = [3, 90, 0, 0, -20, 0, 0, 60];
    let bytes: Vec<u8> = question.iter().map(|x| x.cast_unsigned()).collect();
    let mut statement = history
        .db
        .prepare("SELECT id FROM windows ORDER BY vec_distance_l2(vec_int8(vector), vec_int8(?1)) LIMIT 20")
        .expect("prepared");
    let rows = statement.query_map([bytes], |row| row.get(0)).expect("asked");
    let theirs: FxHashSet<i64> = rows.map(|row| row.expect("a row")).collect();
    let ours = nearest_in_table(&history.db, &question, 20, None).expect("read");
    let shared = ours.iter().filter(|near| theirs.contains(&near.id)).count();
    assert!(shared >= 17, "rounding to different lengths moves few: {shared} of 20");
    history.copy();
    assert_eq!(history.check(&question, 20), [2]);
}

#[test]
fn a_commit_that_was_not_told_of_ends_the_copy() {
    let mut history = History::new();
    history.copy();
    history.commit(VectorChange {
        gone: Vec::new(),
        born: vec![(1, vec![1; WIDTH])],
        ..VectorChange::default()
    });
    assert_eq!(history.check(&[1; WIDTH], 5), [0, 1]);
    let missed = Tick(history.tick().0 + 2);
    history.vectors.publish(missed, VectorChange::default());
    assert!(history.vectors.view().is_none());
}

#[test]
fn a_copy_that_falls_too_far_behind_is_given_up() {
    let history = History::new();
    let number = history.vectors.begin().expect("none is being made");
    assert_eq!(history.vectors.begin(), None, "one at a time");
    let gone: Vec<i64> = (0..=MAX_WAITING_ROWS as i64).collect();
    history
        .vectors
        .publish(Tick(1), VectorChange { gone, born: Vec::new(), ..VectorChange::default() });
    let copy = load(&history.db, Tick(0), Form::Int8, || false).expect("read");
    history.vectors.finish(number, copy);
    assert!(history.vectors.view().is_none());
    assert!(history.vectors.begin().is_some(), "the next may be begun");
}

#[test]
fn a_copy_begun_before_the_file_was_replaced_is_not_used() {
    let history = History::new();
    let number = history.vectors.begin().expect("none is being made");
    let copy = load(&history.db, Tick(0), Form::Int8, || false).expect("read");
    history.vectors.forget();
    history.vectors.finish(number, copy);
    assert!(history.vectors.view().is_none());
}

#[test]
fn questions_of_another_space_find_nothing() {
    let mut history = History::new();
    history.commit(VectorChange {
        gone: Vec::new(),
        born: vec![(1, vec![1; WIDTH])],
        ..VectorChange::default()
    });
    history.copy();
    let view = history.vectors.view().expect("a copy");
    assert_eq!(view.nearest(&[1; 3], history.tick(), 5, None), []);
    assert_eq!(nearest_in_table(&history.db, &[1; 3], 5, None).expect("read"), []);
    assert_eq!(view.nearest(&[1; WIDTH], history.tick(), 0, None), []);
}

/// Returns vectors of `n` texts on some topics; those of one topic are near each other.
fn topical(n: usize, width: usize) -> Vec<Vec<f32>> {
    let mut state = 7_u64;
    let mut number = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let topics: Vec<Vec<f32>> = (0..20).map(|_| (0..width).map(|_| number()).collect()).collect();
    let one = |i: usize| topics[i % 20].iter().map(|it| it + 0.7 * number()).collect();
    (0..n).map(one).collect()
}

fn bytes_of(vector: &UnitVector) -> Vec<u8> {
    vector.0.iter().map(|it| it.cast_unsigned()).collect()
}

#[test]
fn bits_find_nearly_what_bytes_find_and_score_it_alike() {
    for width in [100, 256, 384] {
        let folder = tempfile::tempdir().expect("a folder");
        let apart = Apart::within(folder.path()).expect("a file");
        let texts = topical(4_000, width);
        let rounded: Vec<UnitVector> = texts.iter().map(|it| embed::unit_vector(it)).collect();
        let rows = rounded.iter().zip(1i64..).map(|(it, id)| (id, bytes_of(it)));
        let rows: Vec<(i64, Vec<u8>)> = rows.collect();
        let view = |form| View::empty(Tick(1), form).with_more(&rows);
        let (bytes, bits) = (view(Form::Int8), view(Form::Bit(apart)));
        assert!(bits.n_bytes() * 2 < bytes.n_bytes(), "{} {}", bits.n_bytes(), bytes.n_bytes());
        let mut n_found = 0;
        for asked in rounded.iter().step_by(80) {
            let exact = bytes.nearest(&asked.0, Tick(1), 40, None);
            let found = bits.nearest(&asked.0, Tick(1), 40, None);
            assert_eq!(found[0], exact[0], "the nearest, with its cosine");
            n_found += found.iter().filter(|near| exact.contains(near)).count();
            let ids: FxHashSet<i64> = exact.iter().map(|near| near.id).collect();
            let cosines = bits.cosines_of(&ids, &asked.0, Tick(1));
            assert_eq!(cosines, bytes.cosines_of(&ids, &asked.0, Tick(1)));
        }
        assert!(n_found >= 1_960, "{n_found} of 2,000 at {width} components");
    }
}

#[test]
fn floats_tell_apart_what_bytes_round_to_the_same() {
    let kept = |numbers: [f32; 3]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    let rows = [(1, kept([0.6, 0.8, 0.0])), (2, kept([0.6, 0.799, 0.04])), (3, kept([0.0; 3]))];
    let view = View::empty(Tick(1), Form::Float32).with_more(&rows);
    let asked: Vec<i8> = kept([0.6, 0.8, 0.0]).into_iter().map(u8::cast_signed).collect();
    let found = view.nearest(&asked, Tick(1), 3, None);
    let ids: Vec<i64> = found.iter().map(|near| near.id).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert!((found[0].cosine - 1.0).abs() < 1e-6 && found[1].cosine < 0.9999, "{found:?}");
    assert_eq!(found[2].cosine, 0.0, "what has no length is near to nothing");
    let cosines = view.cosines_of(&FxHashSet::from_iter([2]), &asked, Tick(1));
    assert_eq!(cosines[&2], found[1].cosine);
    let change = VectorChange { gone: vec![1], ..VectorChange::default() };
    let later = view.with(Tick(2), change).expect("the next commit");
    assert_eq!(later.nearest(&asked, Tick(2), 1, None)[0].id, 2);
    assert_eq!(later.nearest(&[1, 2, 3], Tick(2), 1, None), [], "of another space");
}

#[test]
fn where_no_file_can_be_made_bits_are_bytes() {
    let vectors = Vectors::held_as(Precision::Bit, PathBuf::from("/nonexistent/folder"));
    assert!(matches!(vectors.form(), Form::Int8));
}

/// S0 §14.4: for unit vectors the cosine is 1 - d² / 2; `UNIT` is the length to which ours are scaled.
#[test]
fn l2_to_cosine_similarity_conversion() {
    // No component is more than half of the length, which is what eight bits hold.
    let one = unit_vector(&[1.0, 1.1, -0.9, 1.0, 0.8, -1.0, 1.2, -1.0]);
    let others = [
        one.clone(),
        unit_vector(&[1.0, 1.1, -0.9, 1.0, -0.8, 1.0, 1.2, -1.0]),
        unit_vector(&[-1.0, 1.0, 1.0, 1.1, 1.0, 0.9, -1.2, 1.0]),
        unit_vector(&[-1.0, -1.1, 0.9, -1.0, -0.8, 1.0, -1.2, 1.0]),
    ];
    sys::register_sqlite_vec();
    let db = Connection::open_in_memory().expect("opens");
    for other in &others {
        let bytes =
            |it: &UnitVector| -> Vec<u8> { it.0.iter().map(|n| n.cast_unsigned()).collect() };
        let distance: f32 = db
            .query_row(
                "SELECT vec_distance_l2(vec_int8(?1), vec_int8(?2))",
                params![bytes(&one), bytes(other)],
                |row| row.get(0),
            )
            .expect("a distance");
        let of_unit = distance / UNIT;
        let expected = 1.0 - of_unit * of_unit / 2.0;
        let found = cosine(&one, other);
        // Rounding eight components changes the length by some thousandths.
        assert!((found - expected).abs() < 0.02, "{found} {expected}");
    }
}

#[test]
fn a_mean_is_that_of_the_rows_that_a_reader_sees_in_every_form() {
    let rows: [(i64, [i8; 4]); 3] = [(1, [100, 0, 0, 0]), (2, [0, 50, 0, 0]), (3, [0, 0, 80, 0])];
    let folder = tempfile::tempdir().expect("a folder");
    for precision in [Precision::Int8, Precision::Bit] {
        let form = Vectors::held_as(precision, folder.path().to_path_buf()).form();
        let bytes: Vec<(i64, Vec<u8>)> =
            rows.iter().map(|(id, it)| (*id, it.map(i8::cast_unsigned).to_vec())).collect();
        let rows = bytes.iter().map(|(id, bytes)| (*id, bytes.as_slice()));
        let view = View::of_rows(form, Tick(1), rows);
        let later = view.with(Tick(2), VectorChange { gone: vec![1], ..VectorChange::default() });
        let later = later.expect("the next");
        // Each counts the same, whatever its length.
        assert_eq!(view.mean_of(&[1, 2, 9], Tick(1)), (unit_vector(&[1.0, 1.0, 0.0, 0.0]), 2));
        assert_eq!(later.mean_of(&[1, 2, 3], Tick(1)).1, 3, "for a reader of the commit before");
        assert_eq!(later.mean_of(&[1, 2, 3], Tick(2)), (unit_vector(&[0.0, 1.0, 1.0, 0.0]), 2));
        assert_eq!(view.mean_of(&[9], Tick(1)), (unit_vector(&[0.0; 4]), 0));
    }
}
