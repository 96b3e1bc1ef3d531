//! Kills: a daemon that is killed at random instants, again and again, and what is left each time.
//!
//! In: how often, and a seed. Out: figures; all zero except times.
//! Invariants: the changes in the folder and the instants of the kills follow from the seed; how
//! far the daemon gets by then does not, which is the point.

use std::fmt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Faults, Marked, TestProject, index_text};

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Kills {
    /// Total number of kills.
    pub n_kills: u64,
    /// Seed of the instants and changes.
    pub seed: u64,
    /// Documents in the folder.
    pub n_files: u32,
    /// The index is compared with a rebuild after this many kills.
    pub compare_every: u64,
}

/// The results.
#[derive(Debug, Default)]
pub struct Figures {
    /// Kills: all, those during a first index, and those during the start after a kill.
    pub n_kills: [u64; 3],
    /// Documents missing.
    pub n_missing: usize,
    /// Duplicate rows.
    pub n_twice: usize,
    /// Rows without a source.
    pub n_left_over: usize,
    /// Comparisons with a rebuild, and how many of them differed.
    pub n_compared: [u64; 2],
    /// From the start after a kill until everything is settled, milliseconds, in order.
    pub settle_ms: Vec<u128>,
    /// The first errors.
    pub examples: Vec<String>,
}

impl Figures {
    /// Returns the number of errors.
    pub fn n_wrong(&self) -> u64 {
        (self.n_missing + self.n_twice + self.n_left_over) as u64 + self.n_compared[1]
    }

    fn add(&mut self, faults: Faults) {
        self.n_missing += faults.missing.len();
        self.n_twice += faults.twice.len();
        self.n_left_over += faults.left_over.len();
        self.examples.extend(faults.missing);
        self.examples.extend(faults.twice);
        self.examples.extend(faults.left_over);
        self.examples.truncate(20);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [n_kills, n_first, n_again] = self.n_kills;
        let at = |share: usize| {
            self.settle_ms.get(self.settle_ms.len() * share / 100).copied().unwrap_or(0)
        };
        writeln!(
            f,
            "kills {n_kills} (during a first index {n_first}, again during a restart {n_again})"
        )?;
        writeln!(f, "restarts {}", self.settle_ms.len())?;
        writeln!(
            f,
            "missing {}  twice {}  left over {}  unequal to a rebuild {} of {}",
            self.n_missing, self.n_twice, self.n_left_over, self.n_compared[1], self.n_compared[0]
        )?;
        let last = self.settle_ms.last().copied().unwrap_or(0);
        writeln!(
            f,
            "settled after a restart: p50 {} ms  p95 {} ms  max {last} ms",
            at(50),
            at(95)
        )?;
        self.examples.iter().try_for_each(|example| writeln!(f, "wrong: {example}"))
    }
}

/// A pseudo-random number generator: the same numbers for the same seed.
struct Dice(u64);

impl Dice {
    /// Returns a number below `sides`.
    fn throw(&mut self, sides: u64) -> u64 {
        // Knuth's MMIX constants; the high bits are the good ones.
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

impl Kills {
    /// Runs the kills and prints progress now and then.
    ///
    /// # Panics
    /// If a daemon does not start or does not settle.
    pub fn run(&self, report: impl Fn(String)) -> Figures {
        let mut dice = Dice(self.seed);
        let (mut project, mut marked) = (TestProject::empty(), Marked::default());
        marked.fill(&project, self.n_files);
        let begin = Instant::now();
        project.start();
        project.settle();
        let span_ms = begin.elapsed().as_millis() as u64;
        project.stop();
        report(format!(
            "seed {}; instants over {span_ms} ms, the time of a first index",
            self.seed
        ));
        let mut figures = Figures::default();
        while figures.n_kills[0] < self.n_kills {
            self.kill(&mut project, &mut marked, &mut dice, span_ms, &mut figures);
            if figures.n_kills[0].is_multiple_of(self.compare_every) {
                figures.n_compared[0] += 1;
                figures.n_compared[1] += u64::from(!equals_a_rebuild(&mut project));
            }
            project.stop();
            if figures.n_kills[0].is_multiple_of(20) {
                report(format!("{} kills, {} wrong", figures.n_kills[0], figures.n_wrong()));
            }
        }
        figures.settle_ms.sort_unstable();
        figures
    }

    /// Runs one life with changes, a kill (perhaps two), and a check of what is left. The daemon
    /// runs afterwards.
    fn kill(
        &self,
        project: &mut TestProject,
        marked: &mut Marked,
        dice: &mut Dice,
        span_ms: u64,
        figures: &mut Figures,
    ) {
        let is_first = dice.throw(3) == 0;
        if is_first {
            project.lose_index();
            figures.n_kills[1] += 1;
        }
        let is_offline = dice.throw(2) == 0;
        if is_offline {
            change(project, marked, dice);
        }
        project.launch();
        let half_ms = dice.throw(span_ms) / 2;
        sleep(Duration::from_millis(half_ms));
        if !is_offline {
            change(project, marked, dice);
        }
        // The instant of the kill is under test, so this waits for a fixed time.
        sleep(Duration::from_millis(half_ms));
        project.kill9();
        figures.n_kills[0] += 1;
        if dice.throw(4) == 0 {
            project.launch();
            sleep(Duration::from_millis(dice.throw(span_ms / 2 + 1)));
            project.kill9();
            figures.n_kills[0] += 1;
            figures.n_kills[2] += 1;
        }
        let begin = Instant::now();
        project.start();
        project.settle();
        figures.settle_ms.push(begin.elapsed().as_millis());
        figures.add(marked.check(project));
    }
}

/// Makes a few changes of every kind.
fn change(project: &TestProject, marked: &mut Marked, dice: &mut Dice) {
    for _ in 0..=dice.throw(4) {
        let paths = marked.paths();
        let path = paths[dice.throw(paths.len() as u64) as usize].clone();
        let n = dice.throw(1_000_000);
        match dice.throw(5) {
            0 if paths.len() > 20 => marked.remove(project, &path),
            1 => marked.rename(project, &path, &format!("m{}/moved-{n}.md", n % 3)),
            2 => marked.write(project, &format!("new/page-{n}.md")),
            _ => marked.write(project, &path),
        }
    }
}

fn equals_a_rebuild(project: &mut TestProject) -> bool {
    let live = index_text(&project.paths().index);
    project.stop();
    project.lose_index();
    project.start();
    project.settle();
    index_text(&project.paths().index) == live
}
