//! Crashes: the daemon dies by SIGKILL at every named point and at random instants; the next one ends at the same
//! index as if nothing had happened: nothing missing, nothing twice, nothing left over.

use std::os::unix::process::ExitStatusExt;
use std::time::Instant;

use serde_json::json;
use tests::{Ended, Marked, TestProject};

use crate::determinism::{assert_same, picture};

/// When a daemon is to die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// From the first index on, in a life that goes everywhere.
    Cold,
    /// While an index is kept current by events.
    Warm,
    /// While it catches up with what changed when no daemon ran.
    Late,
}

/// A folder that goes through everything that a daemon does, as often as it is asked.
struct Life {
    project: TestProject,
    marked: Marked,
    n_lives: u32,
}

impl Life {
    fn new() -> Self {
        let (project, mut marked) = (TestProject::empty(), Marked::default());
        marked.fill(&project, 12);
        project.write("Signing Service.md", "# Signing Service\n\nThe Signing Service signs.\n");
        project.write("notes.txt", "The Signing Services failed because the Key Vault was slow.\n");
        Life { project, marked, n_lives: 0 }
    }

    /// One life, to its end or to the point at which the daemon dies.
    fn live(&mut self, when: When, point: &str) -> Result<(), Ended> {
        self.n_lives += 1;
        if when != When::Cold {
            self.project.start();
            self.project.settle();
            self.project.stop();
        }
        self.project.set_environment("KG_FAIL", point);
        if when == When::Late {
            self.edit();
        }
        self.project.try_start()?;
        self.project.settle_or_end()?;
        if when != When::Late {
            self.edit();
            self.project.settle_or_end()?;
        }
        self.decide();
        self.project.settle_or_end()?;
        let path = self.marked.paths()[0].clone();
        let tag = format!("tag{}", self.n_lives);
        self.project.attempt("ingest_docs", json!({"paths": [path], "tags": [tag]}));
        self.project.settle_or_end()?;
        self.end()?;
        if when != When::Cold {
            return Ok(());
        }
        // Other settings: the index is set aside and made anew.
        self.project.set(&format!("link.tau2=0.{}", 70 + self.n_lives % 2));
        self.project.try_start()?;
        self.project.settle_or_end()?;
        self.end()
    }

    fn edit(&mut self) {
        let n = self.n_lives;
        let paths = self.marked.paths();
        let pick = |i: usize| paths[i % paths.len()].clone();
        self.marked.write(&self.project, &pick(1));
        self.marked.write(&self.project, &pick(5));
        self.marked.write(&self.project, &format!("new/page-{n}.md"));
        self.marked.rename(&self.project, &pick(3), &format!("a/moved-{n}.md"));
        self.marked.rename(&self.project, &pick(4), &format!("z/moved-{n}.md"));
        self.marked.remove(&self.project, &pick(7));
    }

    fn decide(&mut self) {
        let what = if self.n_lives % 2 == 1 { "reject" } else { "undo" };
        self.project
            .attempt("review_links", json!({what: ["link:signingservices>signingservice"]}));
    }

    fn end(&mut self) -> Result<(), Ended> {
        let ended = self.project.stop();
        if ended.status.success() { Ok(()) } else { Err(ended) }
    }

    /// Dies at `point`, starts again (with the same wish, then without) and looks at what is left. False when
    /// it was not reached.
    fn dies_at(&mut self, when: When, point: &str) -> bool {
        let died = self.live(when, point);
        if let Err(ended) = &died {
            assert_eq!(
                ended.status.signal(),
                Some(9),
                "{point}: {:?}\n{}",
                ended.status,
                ended.log
            );
            // The next start may die as well.
            if self.project.try_start().is_ok() && self.project.settle_or_end().is_ok() {
                self.project.kill9();
            }
        }
        self.project.set_environment("KG_FAIL", "");
        self.project.start();
        self.project.settle();
        let wrong = self.marked.check(&mut self.project);
        assert!(wrong.is_empty(), "{point}: {wrong:#?}");
        died.is_err()
    }

    fn equals_a_rebuild(&mut self, what: &str) {
        let live = picture(&mut self.project);
        self.project.stop();
        self.project.lose_index();
        self.project.start();
        self.project.settle();
        assert_same(&picture(&mut self.project), &live, what);
        self.project.stop();
    }
}

/// Dies at each of these points in turn; what is left equals a rebuild each time.
fn die_at_each(when: When, points: &[String]) {
    let mut bad = 0;
    let mut life = Some(Life::new());
    for point in points {
        let begin = Instant::now();
        let mut mine = life.take().unwrap_or_else(Life::new);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let reached = mine.dies_at(when, point);
            mine.equals_a_rebuild(point);
            if when == When::Cold {
                mine.project.lose_index();
            }
            (mine, reached)
        }));
        eprintln!(
            "POINT {when:?} {point}: {} ms {} {:?}",
            begin.elapsed().as_millis(),
            done.is_ok(),
            done.as_ref().map(|it| it.1)
        );
        match done {
            Ok(it) => life = Some(it.0),
            Err(_) => bad += 1,
        }
    }
    assert_eq!(bad, 0);
}

/// The points, each at its first arrival and at later ones.
fn points() -> Vec<String> {
    let only = std::env::var("KG_POINTS").unwrap_or_default();
    let only: Vec<&str> = only.split(',').collect();
    let all = daemon::fail::POINTS.iter();
    let wanted = all.filter(|point| only.iter().any(|it| point.starts_with(it)));
    wanted.flat_map(|point| [1, 2, 3].map(|n| format!("{point}@{n}"))).collect()
}

#[test]
fn a_death_during_a_first_index_costs_nothing() {
    die_at_each(When::Cold, &points());
}

#[test]
fn a_death_while_changes_are_noticed_costs_nothing() {
    die_at_each(When::Warm, &points());
}

#[test]
fn a_death_while_catching_up_costs_nothing() {
    die_at_each(When::Late, &points());
}
