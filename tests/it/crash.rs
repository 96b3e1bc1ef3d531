//! Crashes: the daemon is killed at every named point and at random instants; the next one ends
//! with the same index as without the crash: nothing missing, duplicated or left over.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};
use sys::fail::POINTS;
use tests::{Ended, Kills, Marked, TestProject};

use crate::determinism::{assert_same, picture};

/// When a daemon dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// During the first index.
    Cold,
    /// While events keep an index current.
    Warm,
    /// While it catches up with changes made when no daemon ran.
    Late,
}

/// A text that is nearly the same for any number of days.
fn policy(days: &str) -> String {
    format!(
        "# Policy\n\nWhoever finds a lantern that is not lit tells the office on the same day, and the office sends \
         somebody within {days} days at the latest, who brings oil and a spare wick.\n"
    )
}

/// A folder that makes a daemon pass through everything it does, repeatedly.
struct Life {
    project: TestProject,
    marked: Marked,
    /// The key of a doubtful link.
    link: Value,
    n_lives: u32,
}

impl Life {
    fn new() -> Self {
        let (project, mut marked) = (TestProject::empty(), Marked::default());
        marked.fill(&project, 12);
        let person = "---\ntype: Person\n---\n# Zoë Lindqvar\n\nZoë Lindqvar is on call.\n";
        project.write("Zoë Lindqvar.md", person);
        project.write("notes.txt", "Zoe Lindqvar was late. Nobody called Zoe Lindqvar.\n");
        // Near copies: one refers to the other, and another to that one.
        for (path, days) in
            [("policy.md", "thirty"), ("old/policy.md", "sixty"), ("old/er/policy.md", "thirty")]
        {
            project.write(path, policy(days));
        }
        let life = Life { project, marked, link: Value::Null, n_lives: 0 };
        life.link_notes();
        life
    }

    /// Runs one life, to its end or to the point at which the daemon dies.
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
        // Other settings: the index is set aside and rebuilt.
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
        self.project.write("old/policy.md", policy(&n.to_string()));
        self.link_notes();
    }

    /// Writes two notes that link to each other, by a name that changes.
    fn link_notes(&self) {
        let n = self.n_lives;
        self.project
            .write("one.md", format!("---\naliases: [alias-{n}]\n---\n- follows [[two]]\n"));
        self.project.write("two.md", format!("- [fact] See [[alias-{n}]] and [[one#None]].\n"));
    }

    /// Rejects a link, or revokes that.
    fn decide(&mut self) {
        if self.link.is_null() {
            let listed = self.project.attempt("review_links", json!({"below": 1.0, "limit": 100}));
            let listed = listed.and_then(Result::ok).unwrap_or_default();
            let items = listed["items"].as_array().into_iter().flatten();
            self.link = items
                .filter(|it| it["kind"] == "link")
                .map(|it| it["key"].clone())
                .next()
                .expect("a link");
        }
        let what = if self.n_lives % 2 == 1 { "reject" } else { "undo" };
        self.project.attempt("review_links", json!({what: [self.link]}));
    }

    fn end(&mut self) -> Result<(), Ended> {
        let ended = self.project.stop();
        if ended.status.success() { Ok(()) } else { Err(ended) }
    }

    /// Dies at `point`, starts again (first with the same failure, then without) and checks the
    /// result. Returns false if the point was not reached.
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

/// Points that a life passes once, or too rarely to rely on a later arrival.
const RARE: &[&str] = &[
    "migrate.",
    "open.",
    "create.",
    "replace.",
    "watch.crawled",
    "watch.submit",
    "gazetteer.",
    "requeue.",
    "resolve.",
    "vacuum.",
    "decide.",
    "record.",
    "drain.",
    "deep.",
    "duplicates.",
    "links.",
];

/// Points that only a first index, or a rebuild, passes. Known documents are later read deeply at
/// once.
const FIRST: &[&str] = &["migrate.", "open.", "create.", "replace.", "deep."];

fn is_among(point: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| point.starts_with(beginning))
}

/// Returns where a daemon dies: every point at its first arrival, and at a later one if there is
/// one: while an index is kept current, and in all lives with `KG_FULL`. `KG_POINTS` selects points
/// by prefix.
fn points(when: When) -> Vec<String> {
    let only = std::env::var("KG_POINTS").unwrap_or_default();
    let only: Vec<&str> = only.split(',').collect();
    let is_full = std::env::var_os("KG_FULL").is_some();
    let mut points = Vec::new();
    // No life here writes notes or forgets; `notes.rs` and `attack/erasing.rs` cover those.
    let met = |point: &&&str| is_among(point, &only) && !is_among(point, &["note.", "forget."]);
    for point in POINTS.iter().filter(met) {
        if when != When::Cold && is_among(point, FIRST) {
            continue;
        }
        // With only a few notes, links are resolved in the interactive commit itself.
        if when == When::Warm && point.starts_with("links.") {
            continue;
        }
        // Files found by a crawl go through the bulk lane, and are committed at once; a few saves do not.
        let other_lane: &[&str] = match when {
            When::Late => &["watch.interactive", "commit.resolved"],
            When::Warm => &["watch.bulk"],
            When::Cold => &[],
        };
        if !other_lane.contains(point) {
            points.push(point.to_string());
            let has_later = !is_among(point, RARE) && (is_full || when == When::Warm);
            points.extend(has_later.then(|| format!("{point}@3")));
        }
    }
    points
}

/// Dies at each point in turn; the result equals a rebuild each time.
fn die_everywhere(when: When) {
    let mut life = Life::new();
    for (i, point) in points(when).iter().enumerate() {
        assert!(life.dies_at(when, point), "{point} was not reached");
        // A later death would show the traces of an earlier one, unless the index is lost.
        if when == When::Cold || i % 4 == 3 {
            life.equals_a_rebuild(point);
        } else {
            life.project.stop();
        }
        if when == When::Cold {
            life.project.lose_index();
        }
    }
    life.project.start();
    life.project.settle();
    life.equals_a_rebuild("the end");
}

#[test]
fn a_death_during_a_first_index_costs_nothing() {
    die_everywhere(When::Cold);
}

#[test]
fn a_death_while_changes_are_noticed_costs_nothing() {
    die_everywhere(When::Warm);
}

#[test]
fn a_death_while_catching_up_costs_nothing() {
    die_everywhere(When::Late);
}

#[test]
fn kills_at_random_instants_cost_nothing() {
    let number = |name: &str, usual| {
        std::env::var(name).ok().map_or(usual, |text| text.parse().expect("a number"))
    };
    let plan = Kills {
        n_kills: number("KG_KILLS", 8),
        seed: number("KG_SEED", 1),
        n_files: 40,
        compare_every: 4,
    };
    let figures = plan.run(|line| eprintln!("{line}"));
    assert_eq!(figures.n_wrong(), 0, "{figures}");
}

#[test]
fn every_point_stands_in_the_list_and_once_in_the_source() {
    let mut found: Vec<String> = Vec::new();
    for (path, text) in crate::tidy::sources() {
        if !path.starts_with("daemon/") || path.ends_with("/fail.rs") {
            continue;
        }
        let names = text.split("fail::point(\"").skip(1).filter_map(|rest| rest.split('"').next());
        found.extend(names.map(String::from));
        for side in text
            .split("fail::station(S::NAME, \"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            let stages = ["normalize", "chunk", "recognize", "link", "relate", "embed"];
            found.extend(stages.map(|stage| format!("{stage}.{side}")));
        }
    }
    let mut listed: Vec<String> = POINTS.iter().map(ToString::to_string).collect();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}
