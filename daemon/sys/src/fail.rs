//! Fail: named points where a test may kill this process, as a power failure would.
//!
//! In: the variable `KG_FAIL`, a list such as `commit.before@3,watch.limit=10`: die at the third arrival at a point
//! (the first without a number), or return a number to the code that asks for it. If it is not set, a point costs one
//! load of a static. Only the user who starts the daemon can set the variable, and could kill it as well.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Every point, in the order in which a daemon and then a document reach them. A test dies at each of them in turn.
pub const POINTS: &[&str] = &[
    // Opening.
    "migrate.step",
    "open.ledger",
    "create.before",
    "create.tables",
    "create.after",
    "open.after",
    // Replacing an index.
    "replace.closed",
    "replace.rename",
    "replace.renamed",
    "replace.done",
    // From a file to the belt.
    "watch.crawled",
    "watch.read",
    "watch.have",
    "watch.bulk",
    "watch.interactive",
    "watch.submit",
    // Every station of the belt.
    "normalize.in",
    "normalize.out",
    "chunk.in",
    "chunk.out",
    "recognize.in",
    "recognize.out",
    "link.in",
    "link.out",
    "relate.in",
    "relate.out",
    "embed.in",
    "embed.out",
    // One batch: the ledger, then the index.
    "write.taken",
    "commit.before",
    "ledger.begun",
    "ledger.written",
    "ledger.committed",
    "commit.begun",
    "commit.document",
    "commit.resolved",
    "commit.late",
    "commit.ticked",
    "commit.after",
    "write.told",
    // Documents marked for the deep pass.
    "deep.marked",
    // The ripple.
    "gazetteer.begun",
    "gazetteer.before",
    "gazetteer.after",
    "requeue.read",
    "duplicates.begun",
    "duplicates.before",
    "duplicates.after",
    "links.begun",
    "links.before",
    "links.after",
    "resolve.begun",
    "resolve.before",
    "resolve.after",
    "vacuum.before",
    "vacuum.after",
    // Decisions and statements of a person.
    "decide.before",
    "decide.marked",
    "decide.ledger",
    "decide.after",
    "record.before",
    "record.after",
    // A note that a tool or person writes, removes, moves.
    "note.written",
    "note.kept",
    "note.renamed",
    "note.removed",
    "note.moved",
    // Erasure on request.
    "forget.begun",
    "forget.ledger",
    "forget.copy",
    "forget.kept",
    "forget.logs",
    "forget.vectors",
    "forget.index",
    "forget.done",
    // The end.
    "drain.begun",
    "drain.watched",
    "drain.done",
];

/// The requests of `KG_FAIL`.
#[derive(Debug, Default)]
struct Plan {
    deaths: Vec<(String, u64, AtomicU64)>,
    numbers: Vec<(String, u64)>,
}

static PLAN: OnceLock<Plan> = OnceLock::new();

fn plan() -> &'static Plan {
    PLAN.get_or_init(|| parse(&std::env::var("KG_FAIL").unwrap_or_default()))
}

fn parse(text: &str) -> Plan {
    let mut plan = Plan::default();
    for word in text.split(',').filter(|word| !word.is_empty()) {
        if let Some((name, number)) = word.split_once('=') {
            plan.numbers.extend(number.parse().ok().map(|number| (name.to_string(), number)));
            continue;
        }
        let (name, arrival) = word.split_once('@').unwrap_or((word, "1"));
        let arrival = arrival.parse().unwrap_or(1);
        plan.deaths.push((name.to_string(), arrival, AtomicU64::new(0)));
    }
    plan
}

/// Kills the process if `KG_FAIL` asks for it at this arrival.
pub fn point(name: &'static str) {
    for (wanted, arrival, seen) in &plan().deaths {
        if wanted == name && seen.fetch_add(1, Ordering::SeqCst) + 1 == *arrival {
            tracing::error!(point = name, "dying, as `KG_FAIL` asks");
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
    }
}

/// Kills the process at the point `stage.side`, for the generic station that runs every stage.
pub fn station(stage: &'static str, side: &'static str) {
    if !plan().deaths.is_empty() {
        let is_it = |name: &&&str| name.split_once('.') == Some((stage, side));
        POINTS.iter().find(is_it).copied().into_iter().for_each(point);
    }
}

/// Returns the number that `KG_FAIL` sets for `name`, such as a limit that the system would impose.
pub fn number(name: &str) -> Option<u64> {
    plan().numbers.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_a_list_of_points_and_numbers() {
        let plan = parse("commit.before@3,watch.limit=10,commit.after,odd=x");
        let deaths: Vec<_> = plan.deaths.iter().map(|(name, at, _)| (name.as_str(), *at)).collect();
        assert_eq!(deaths, [("commit.before", 3), ("commit.after", 1)]);
        assert_eq!(plan.numbers, [("watch.limit".to_string(), 10)]);
    }
}
