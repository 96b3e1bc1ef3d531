//! A search of vectors in memory finds what its own commit holds, whatever the writer does in the meantime.

use super::*;
use crate::store::{Readers, Snapshot};
use crate::vectors::Nearest;
use model::document::UnitVector;

const ALPHA: &str = "# Alpha\n\nThe lantern at the pier is lit with oil every evening.";
const BETA: &str = "# Beta\n\nKeys are rotated by the office every ninety days.";

/// Queries until the vectors are in memory.
fn in_memory(readers: &Arc<Readers>) -> Snapshot {
    loop {
        let snapshot = readers.snapshot().expect("a snapshot");
        snapshot.nearest(&UnitVector(Box::from([1; 256])), 1, None).expect("asked");
        if snapshot.vectors_in_memory().is_some() {
            return snapshot;
        }
        std::thread::yield_now();
    }
}

impl Bench {
    fn question(&self, text: &str) -> UnitVector {
        self.embedder.embed(&[text]).remove(0)
    }

    /// Returns the nearest rows, and checks that memory and table agree.
    fn nearest(&self, snapshot: &Snapshot, text: &str) -> Vec<Nearest> {
        let question = self.question(text);
        let found = snapshot.nearest(&question, 10, None).expect("asked");
        let in_table = crate::vectors::nearest_in_table(snapshot.db(), &question.0, 10, None);
        assert_eq!(found, in_table.expect("read"), "{text}");
        found
    }
}

#[test]
fn a_snapshot_finds_the_vectors_of_its_own_commit_only() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    let alpha = bench.item("alpha.md", ALPHA);
    bench.commit(&[alpha]);
    let first = in_memory(&readers);
    let beta = bench.item("beta.md", BETA);
    bench.commit(&[beta]);
    let second = readers.snapshot().expect("a snapshot");
    let Item::Document(ticket, _) = bench.item("alpha.md", "") else { panic!("a document") };
    bench.commit(&[Item::Removed(ticket)]);
    let third = readers.snapshot().expect("a snapshot");
    for snapshot in [&first, &second, &third] {
        assert!(snapshot.vectors_in_memory().is_some(), "at {:?}", snapshot.tick());
    }
    let n_found = |snapshot| bench.nearest(snapshot, "when are keys rotated").len();
    assert_eq!([n_found(&first), n_found(&second), n_found(&third)], [1, 2, 1]);
}

#[test]
fn memory_follows_ripples_and_interrupted_commits() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    let copy = "The migration moves every customer from the old cluster to the new one within six weeks, begins with \
                the smallest tenants, and keeps a copy of each database for ninety days after the switch.";
    let first = bench.item("b/plan.md", &format!("# Plan\n\n{copy}"));
    bench.commit(&[first]);
    drop(in_memory(&readers));
    let second = bench.item("a/plan.md", &format!("# Plan\n\n{copy}"));
    bench.commit(&[second]);
    let alpha = bench.item("alpha.md", ALPHA);
    bench.writer.interruption().store(true, Ordering::SeqCst);
    bench.writer.commit(std::slice::from_ref(&alpha), 0, false).expect_err("it is interrupted");
    bench.writer.interruption().store(false, Ordering::SeqCst);
    bench.commit(&[alpha]);
    while bench.writer.ripple(true).expect("a step") != RippleStep::Settled {
        let snapshot = readers.snapshot().expect("a snapshot");
        bench.nearest(&snapshot, "oil for the lantern");
    }
    let snapshot = readers.snapshot().expect("a snapshot");
    assert_eq!(snapshot.tick(), bench.writer.tick());
    assert!(snapshot.vectors_in_memory().is_some(), "every commit reached the copy in memory");
    assert_eq!(bench.nearest(&snapshot, "oil for the lantern").len(), 2, "a copy is found once");
}

#[test]
fn another_file_is_copied_anew() {
    let mut bench = Bench::new();
    let readers = bench.writer.readers();
    let alpha = bench.item("alpha.md", ALPHA);
    bench.commit(&[alpha]);
    drop(in_memory(&readers));
    readers.alone(|| Ok((bench.writer.begin_again()?, ()))).expect("replaced");
    let snapshot = readers.snapshot().expect("a snapshot");
    assert!(snapshot.vectors_in_memory().is_none());
    assert_eq!(bench.nearest(&snapshot, "lantern"), []);
    drop(snapshot);
    let beta = bench.item("beta.md", BETA);
    bench.commit(&[beta]);
    let snapshot = in_memory(&readers);
    assert_eq!(bench.nearest(&snapshot, "lantern").len(), 1);
}
