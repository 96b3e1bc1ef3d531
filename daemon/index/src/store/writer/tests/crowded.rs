//! Many documents of one name: what one more costs must not depend on how many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::testing::Bench;
use crate::store::work::Work;

/// Instructions of SQLite's machine between two counts.
const STEPS_A_COUNT: i32 = 50;

/// Commits of a ripple while documents keep coming; the writer's own number is 400.
const COMMITS_A_RIPPLE: u32 = 50;

/// Returns how much work each hundred of these documents is, with the ripples between them.
fn work(n_documents: u32, text: impl Fn(u32) -> (String, String)) -> (Bench, Vec<u64>) {
    let mut bench = Bench::new();
    let (mut rounds, counted) = (Vec::new(), Arc::new(AtomicU64::new(0)));
    let count = counted.clone();
    let counting = bench.writer.db.progress_handler(
        STEPS_A_COUNT,
        Some(move || {
            count.fetch_add(1, Ordering::Relaxed);
            false
        }),
    );
    counting.expect("it counts");
    for n in 0..n_documents {
        let (path, text) = text(n);
        bench.put(&path, &text);
        if (n + 1) % COMMITS_A_RIPPLE == 0 {
            bench.writer.ripple(false).expect("ripples");
        }
        if (n + 1) % 100 == 0 {
            rounds.push(counted.swap(0, Ordering::Relaxed));
        }
    }
    (bench, rounds)
}

#[test]
fn one_more_note_of_a_title_costs_the_same_however_many_have_it() {
    let body = |n: u32| format!("The harbor was busy on day {n}.\n");
    for (what, text) in [
        ("front matter", &(|n| format!("---\ntitle: Daily Log\n---\n\n{}", body(n)))),
        ("first heading", &(|n| format!("# Daily Log\n\n{}", body(n)))),
        ("both", &(|n| format!("---\ntitle: Daily Log\n---\n\n# Daily Log\n\n{}", body(n)))),
    ] as [(&str, &dyn Fn(u32) -> String); 3]
    {
        let (mut bench, rounds) = work(700, |n| (format!("days/{n:04}.md"), text(n)));
        let (early, late) = (rounds[2], rounds[6]);
        assert!(late < early * 3 / 2, "{what}: {rounds:?}");
        // A heading names the note, but its permalink comes from the path.
        let crowded = i64::from(what != "first heading");
        let waiting = format!("SELECT count(*) FROM work WHERE kind = {}", Work::Number as i64);
        assert_eq!(bench.count(&waiting), crowded, "{what}: waits until no document comes");
        bench.settle_all();
        // Nobody reads documents again here.
        let left = format!("SELECT count(*) FROM work WHERE kind <> {}", Work::Reread as i64);
        assert_eq!(bench.count(&left), 0, "{what}: all is done once no document comes");
        let distinct = "SELECT count(DISTINCT permalink) FROM notes";
        assert_eq!(bench.count(distinct), 700, "{what}");
    }
}
