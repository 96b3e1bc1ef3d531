//! Polling, and losses that crawls repair.

use super::*;
use config::settings::Poll;
use notify::event::{Event, EventKind, Flag};

fn polling(poll_interval_ms: u64) -> Watch {
    Watch { poll: Poll::Always, poll_interval_ms, ..settings() }
}

#[tokio::test]
async fn polling_finds_what_was_saved_and_sends_it_first() {
    let mut project =
        Project::start_with(&[("a.md", "a"), ("d/b.md", "b")], polling(100), Arc::default(), 1_000);
    assert_eq!(project.open().await, ["bulk doc a.md `a`", "bulk doc d/b.md `b`"]);
    assert_eq!(project.handle.state().view().mode, WatchMode::Poll(None));
    project.put("a.md", "x");
    assert_eq!(project.next().await, "first doc a.md `x`");
    // The same size, and on a coarse clock the same time.
    project.put("a.md", "y");
    assert_eq!(project.next().await, "first doc a.md `y`");
    project.rename("d", "e");
    let mut both = project.take(2).await;
    both.sort();
    // A crawl during the rename may see the folder at neither place: it is then reported gone, and later as new.
    assert!(both[0].starts_with("first doc e/b.md `b`"), "{both:?}");
    assert_eq!(both[1], "first gone d/b.md");
    project.put(".gitignore", "a.md");
    assert_eq!(project.next().await, "first gone a.md");
    assert!(project.handle.state().view().n_rescans > 0);
}

#[tokio::test]
async fn the_same_size_and_time_do_not_hide_a_change_that_follows_at_once() {
    let mut project = Project::start_with(&[], polling(3_600_000), Arc::default(), 1_000);
    project.open().await;
    let time = std::time::SystemTime::now();
    for text in ["one", "two", "six"] {
        project.put("a.md", text);
        let file = fs::File::options().append(true).open(project.path("a.md")).expect("open");
        file.set_modified(time).expect("set the time");
        assert!(project.handle.rescan().await);
        assert_eq!(project.next().await, format!("first doc a.md `{text}`"));
    }
}

#[tokio::test]
async fn an_overflow_is_made_good_by_a_crawl() {
    // No events until the one that reports an overflow.
    let mut project =
        Project::start_with(&[("a.md", "a")], polling(3_600_000), Arc::default(), 1_000);
    project.open().await;
    project.put("b.md", "b");
    let lost = Event::new(EventKind::Other).set_flag(Flag::Rescan);
    project.handle.life.shared.on_event(Ok(lost));
    assert_eq!(project.next().await, "first doc b.md `b`");
    let view = project.handle.state().view();
    assert_eq!((view.n_overflows, view.n_known_files), (1, 2));
}

#[tokio::test]
async fn a_touched_file_is_sent_when_its_day_is_another() {
    let mut project =
        Project::start_with(&[("a.md", "a")], polling(3_600_000), Arc::default(), 1_000);
    project.open().await;
    let touch = |project: &Project, seconds: u64| {
        let file = fs::File::options().append(true).open(project.path("a.md")).expect("open");
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).expect("a time");
    };
    touch(&project, 5);
    assert!(project.handle.rescan().await);
    assert_eq!(project.next().await, "first doc a.md `a`");
    touch(&project, 7);
    let differs = |project: &Project, mtime_ms| {
        let path = RelPath::new("a.md");
        let found = crawl::Found { path, stat: read::Stat { n_bytes: 1, mtime_ms } };
        project.handle.life.shared.intake.sent.differs(&found)
    };
    assert!(differs(&project, 7_000));
    assert!(project.handle.rescan().await);
    let mut rest = Vec::new();
    project.settle(&mut rest).await;
    assert_eq!(rest, Vec::<String>::new());
    assert!(!differs(&project, 7_000), "its new time is known now");
}

#[tokio::test]
async fn a_change_that_left_no_trace_is_found_by_reading_everything() {
    let mut project =
        Project::start_with(&[("a.md", "a")], polling(3_600_000), Arc::default(), 1_000);
    let put = |project: &Project, text: &str| {
        fs::write(project.path("a.md"), text).expect("write");
        let file = fs::File::options().append(true).open(project.path("a.md")).expect("open");
        let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        file.set_modified(long_ago).expect("a time");
    };
    put(&project, "a");
    assert!(project.handle.rescan().await);
    let mut rest = Vec::new();
    project.settle(&mut rest).await;
    put(&project, "b");
    assert!(project.handle.rescan().await);
    let mut rest = Vec::new();
    project.settle(&mut rest).await;
    assert_eq!(rest, Vec::<String>::new(), "size and time are the same");
    assert!(project.handle.request(true).await);
    assert_eq!(project.next().await, "first doc a.md `b`");
}
