use super::*;
use expect_test::{Expect, expect};
use std::fmt::Write as _;

const QUIET: Duration = Duration::from_millis(300);

fn pending() -> Pending {
    Pending { debounce: QUIET, ..Pending::default() }
}

/// Plays a script, one step a line: `<ms> path` notices, `<ms> old > new` renames, `<ms> + path` and `<ms> - path` hold
/// and release it, `<ms> ?` asks what is due and queues it. The quiet time is 300 ms.
fn check(script: &str, expect: Expect) {
    let start = Instant::now();
    let mut pending = pending();
    let mut out = String::new();
    for step in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (ms, what) = step.split_once(' ').expect("a time and a step");
        let now = start + Duration::from_millis(ms.parse().expect("a number"));
        match (what.split_once(" > "), what.split_once(' ')) {
            (Some((from, to)), _) => {
                let (from, to) = (RelPath::new(from), RelPath::new(to));
                pending.notice(Notice::Renamed { from, to }, now);
            }
            (_, Some(("+", path))) => pending.hold(&[RelPath::new(path)]),
            (_, Some(("-", path))) => pending.release(&[RelPath::new(path)]),
            _ if what == "?" => print(&mut pending, start, now, &mut out),
            _ => pending.notice(Notice::Changed(RelPath::new(what)), now),
        }
    }
    expect.assert_eq(&out);
}

fn print(pending: &mut Pending, start: Instant, now: Instant, out: &mut String) {
    let due = pending.due(now, Duration::ZERO);
    pending.finish(due.len());
    let next = pending.next_due().map(|due| due.duration_since(start).as_millis().to_string());
    let at = now.duration_since(start).as_millis();
    let (due, next) = (shown(&due), next.unwrap_or_else(|| "never".into()));
    assert_eq!(pending.n_pending(), pending.n_settling() as u64);
    writeln!(out, "{at}: [{due}] unsettled {} next {next}", pending.n_settling())
        .expect("a string takes text");
}

fn shown(checks: &[Check]) -> String {
    let shown: Vec<String> = checks
        .iter()
        .map(|check| match &check.moved_from {
            Some(from) => format!("{} from {from}", check.path),
            None => check.path.to_string(),
        })
        .collect();
    shown.join(", ")
}

#[test]
fn a_path_settles_once_after_its_last_note() {
    check(
        "0 a
         100 b
         200 a
         399 ?
         400 ?
         499 ?
         500 ?
         501 ?",
        expect![[r#"
            399: [] unsettled 2 next 400
            400: [b] unsettled 1 next 500
            499: [] unsettled 1 next 500
            500: [a] unsettled 0 next never
            501: [] unsettled 0 next never
        "#]],
    );
}

#[test]
fn a_path_that_never_rests_settles_after_five_quiet_times() {
    let notes: String = (0..16).map(|n| format!("{} a\n", n * 100)).collect();
    check(
        &format!("{notes} 1499 ?\n 1500 ?\n 1600 a\n 1899 ?\n 1900 ?"),
        expect![[r#"
            1499: [] unsettled 1 next 1500
            1500: [a] unsettled 0 next never
            1899: [] unsettled 1 next 1900
            1900: [a] unsettled 0 next never
        "#]],
    );
}

#[test]
fn renames_are_joined_and_come_first() {
    check(
        "0 0
         0 a > b
         300 ?
         400 x
         500 x > y
         800 ?
         900 a > b
         950 b > c
         1250 ?
         2000 a > b
         2100 a
         2400 ?
         3000 a > x
         3100 b > x
         3400 ?",
        expect![[r#"
            300: [b from a, 0] unsettled 0 next never
            800: [y from x] unsettled 0 next never
            1250: [c from a, b] unsettled 0 next never
            2400: [b from a, a] unsettled 0 next never
            3400: [x from b, a] unsettled 0 next never
        "#]],
    );
}

#[test]
fn two_files_that_swap_names_have_both_changed() {
    check(
        "0 a > t
         1 b > a
         2 t > b
         302 ?
         400 a > t
         401 t > a
         701 ?",
        expect![[r#"
            302: [a, b, t] unsettled 0 next never
            701: [a, t] unsettled 0 next never
        "#]],
    );
}

#[test]
fn a_held_path_starts_over_until_it_is_released() {
    check(
        "0 + a
         0 + a
         0 a
         0 b
         300 ?
         400 - a
         600 ?
         650 - a
         900 ?",
        expect![[r#"
            300: [b] unsettled 1 next 600
            600: [] unsettled 1 next 900
            900: [a] unsettled 0 next never
        "#]],
    );
}

fn changed(path: &str) -> Notice {
    Notice::Changed(RelPath::new(path))
}

fn bulk(path: &str) -> Check {
    Check::new(RelPath::new(path), Lane::Bulk)
}

/// Takes and ends all checks of a lane.
fn drained(pending: &mut Pending, lane: Lane) -> String {
    let checks = std::iter::from_fn(|| {
        let check = pending.take(lane)?;
        pending.done(&check.path);
        Some(check)
    });
    shown(&checks.collect::<Vec<_>>())
}

/// Routes all that is due, as small files that were not known.
fn route(pending: &mut Pending, now: Instant) {
    let due = pending.due(now, Duration::ZERO);
    let n_due = due.len();
    pending.route(due.into_iter().map(|check| (check, Kind::New, 1)).collect(), true, now);
    pending.finish(n_due);
}

#[test]
fn a_path_waits_once_and_a_save_overtakes_the_backlog() {
    let (mut pending, now) = (pending(), Instant::now());
    ["a", "b", "c", "d", "b"].map(bulk).into_iter().for_each(|check| pending.queue(check));
    assert_eq!(pending.n_pending(), 4);
    pending.notice(changed("c"), now);
    pending.queue(bulk("c"));
    assert_eq!((pending.n_pending(), pending.n_settling()), (4, 1), "it settles on");
    route(&mut pending, now + QUIET);
    // Noticed again or found by a crawl while it is queued: it is read as it is then.
    pending.notice(changed("c"), now + QUIET);
    pending.queue(bulk("c"));
    assert_eq!((pending.n_pending(), pending.n_settling()), (4, 0));
    assert_eq!(drained(&mut pending, Lane::Interactive), "c");
    assert_eq!(drained(&mut pending, Lane::Bulk), "a, b, d");
    assert_eq!(pending.n_pending(), 0);
    // A crawl takes a change out of the bulk lane for the interactive one, never the reverse.
    pending.queue(bulk("a"));
    pending.queue(Check { lane: Lane::Interactive, ..bulk("a") });
    pending.queue(bulk("a"));
    assert_eq!(drained(&mut pending, Lane::Bulk), "");
    assert_eq!(drained(&mut pending, Lane::Interactive), "a");
}

#[test]
fn what_is_noticed_while_it_is_in_progress_or_busy_is_checked_again() {
    let (mut pending, now) = (pending(), Instant::now());
    pending.notice(changed("a"), now);
    let due = pending.due(now + QUIET, Duration::ZERO);
    assert_eq!(pending.n_pending(), 1);
    // A file that is written continuously does not start over.
    pending.notice(changed("a"), now + QUIET);
    pending.route(
        due.into_iter().map(|check| (check, Kind::Known, 1)).collect(),
        true,
        now + QUIET,
    );
    assert_eq!((pending.n_pending(), pending.n_settling()), (2, 0));
    pending.finish(1);
    let check = pending.take(Lane::Interactive).expect("it is queued");
    pending.queue(Check { lane: Lane::Interactive, ..bulk("a") });
    assert_eq!(pending.n_pending(), 2);
    assert_eq!(pending.take(Lane::Interactive), None, "one check of a path at a time");
    assert!(!pending.begin(&check.path));
    pending.done(&check.path);
    assert_eq!(drained(&mut pending, Lane::Interactive), "a");
    assert_eq!(pending.n_pending(), 0);
}

#[test]
fn requests_for_one_path_are_merged_into_one_that_satisfies_both() {
    let mut pending = pending();
    let from = |old: &str| Check { moved_from: Some(RelPath::new(old)), ..bulk("a") };
    pending.queue(Check { trusts_stat: true, ..from("old") });
    pending.queue(Check { is_forced: true, ..bulk("a") });
    let check = pending.take(Lane::Bulk).expect("one");
    assert_eq!(check, Check { is_forced: true, ..from("old") });
    pending.done(&check.path);
    // No rename covers the older name any more.
    pending.queue(from("old"));
    pending.queue(from("older"));
    assert_eq!(drained(&mut pending, Lane::Bulk), "a from older, old");
}

#[test]
fn old_names_come_first_and_folders_above_cover_those_below() {
    let mut pending = pending();
    ["b", "c"].map(bulk).into_iter().for_each(|check| pending.queue(check));
    pending.queue_old_name(RelPath::new("z"), Lane::Bulk);
    assert_eq!(drained(&mut pending, Lane::Bulk), "z, b, c");
    for (path, moved_from) in [("d", None), ("d/e", None), ("d/f", Some("g")), ("da", None)] {
        let (path, moved_from) = (RelPath::new(path), moved_from.map(RelPath::new));
        pending.notice(Notice::Folder { path, moved_from }, Instant::now());
    }
    assert_eq!(pending.n_pending(), 4);
    let folders = pending.take_folders().into_iter().map(|(folder, _)| folder.to_string());
    assert_eq!(folders.collect::<Vec<_>>(), ["d", "d/f", "da"]);
    assert_eq!(pending.n_pending(), 1, "the walk");
}

#[test]
fn a_flood_waits_in_the_bulk_lane_in_order() {
    let (mut pending, now) = (pending(), Instant::now());
    (0..60_000).for_each(|n| pending.notice(changed(&format!("flood/{n:05}")), now));
    assert_eq!((pending.n_pending(), pending.n_news()), (60_000, 60_000));
    route(&mut pending, now + QUIET);
    pending.notice(changed("notes/save"), now + QUIET);
    route(&mut pending, now + 2 * QUIET);
    assert!(drained(&mut pending, Lane::Interactive).ends_with("flood/00049, notes/save"));
    assert!(drained(&mut pending, Lane::Bulk).starts_with("flood/00050, flood/00051"));
}

#[test]
fn a_crawl_requested_while_one_runs_is_another_one() {
    let mut pending = pending();
    assert_eq!((pending.want_crawl(false), pending.want_crawl(true)), (1, 1));
    assert_eq!(pending.begin_crawl(), Some(Wanted { number: 1, is_full: true }));
    assert_eq!(pending.begin_crawl(), None);
    assert_eq!(pending.want_crawl(false), 2);
    assert_eq!((pending.n_pending(), pending.is_crawling()), (2, true));
    pending.crawl_done(1);
    assert_eq!(pending.begin_crawl(), Some(Wanted { number: 2, is_full: false }));
    pending.crawl_done(2);
    assert_eq!((pending.n_pending(), pending.is_crawling()), (0, false));
}

#[test]
fn a_save_that_a_crawl_finds_beside_a_flood_is_not_of_the_flood() {
    let (mut pending, now) = (pending(), Instant::now());
    pending.notice(changed("notes/settling"), now);
    let flood = (0..300).map(|n| format!("flood/{n:03}"));
    let found = flood.chain(["notes/saved".into(), "notes/settling".into()]);
    let found = found.map(|path| (bulk(&path), Kind::New, 1)).collect();
    pending.route(found, false, now);
    assert_eq!((pending.n_pending(), pending.n_settling()), (302, 1), "it settles on");
    assert!(drained(&mut pending, Lane::Interactive).ends_with("flood/049, notes/saved"));
    assert!(drained(&mut pending, Lane::Bulk).starts_with("flood/050, flood/051"));
}
