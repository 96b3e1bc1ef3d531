use std::cell::RefCell;

use web::mock::{Answer, Mock, Request};

use super::*;

const BODY: &[u8] = b"0123456789abcdefghij";
const SHA: &str = "7a52cd3a4e15d7ed0e2c5d8b8bbe5e0d8a1ec7e1d3e3b9ab3f1e1c5ad0d8f3c7";

/// The result of fetching from a server, with the pauses.
struct Done {
    result: Result<(), ModelError>,
    bytes: Option<Vec<u8>>,
    requests: Vec<Request>,
    pauses: Vec<u64>,
    folder: tempfile::TempDir,
}

fn fetch_into(
    folder: tempfile::TempDir,
    answer: impl FnMut(&Request) -> Answer + Send + 'static,
    expected: Option<&str>,
) -> Done {
    let mock = Mock::start(answer).expect("a server");
    let to = folder.path().join("model.onnx");
    let pauses = RefCell::new(Vec::new());
    let pause = |wait: Duration| pauses.borrow_mut().push(wait.as_secs());
    let short = Duration::from_millis(300);
    let patience = Patience { connect: short, read: short, whole: None };
    let fetcher = Fetcher { patience, ..Fetcher::new(&pause, &|_, _, _| {}) };
    let result = fetcher.fetch(&format!("{}/model.onnx", mock.url()), &to, expected);
    let bytes = std::fs::read(&to).ok();
    let requests = mock.requests();
    Done { result, bytes, requests, pauses: pauses.into_inner(), folder }
}

fn fetch(answer: impl FnMut(&Request) -> Answer + Send + 'static, expected: Option<&str>) -> Done {
    fetch_into(tempfile::tempdir().expect("a folder"), answer, expected)
}

fn files(done: &Done) -> Vec<String> {
    let entries = std::fs::read_dir(done.folder.path()).expect("listed").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Answers with the requested range, cut after `after` bytes, with an ETag.
fn cut(request: &Request, after: usize) -> Answer {
    let whole = Answer::part_of(BODY, request).with("etag", "\"v1\"");
    Answer { cut_after: Some(after), ..whole }
}

#[test]
fn a_file_comes_and_nothing_else_stays() {
    let done = fetch(|_| Answer::of(200, BODY), None);
    assert!(done.result.is_ok(), "{:?}", done.result);
    assert_eq!((done.bytes.as_deref(), files(&done)), (Some(BODY), vec!["model.onnx".to_string()]));
    let again = fetch_into(done.folder, |_| Answer::of(500, ""), None);
    assert!(again.result.is_ok() && again.requests.is_empty(), "what is there is not fetched");
}

#[test]
fn a_cut_connection_goes_on_where_it_was() {
    let done = fetch(|request| cut(request, 6), None);
    assert!(done.result.is_ok(), "{:?}", done.result);
    assert_eq!(done.bytes.as_deref(), Some(BODY));
    let ranges: Vec<_> =
        done.requests.iter().map(|it| it.header("range").unwrap_or("all")).collect();
    assert_eq!(ranges, ["all", "bytes=6-", "bytes=12-", "bytes=18-"]);
    assert!(done.requests.iter().skip(1).all(|it| it.header("if-range") == Some("\"v1\"")));
    assert!(done.pauses.is_empty(), "what brings something needs no pause");
}

#[test]
fn another_command_goes_on_where_one_ended() {
    let mut n_asked = 0;
    let first = fetch(
        move |request| {
            n_asked += 1;
            if n_asked == 1 { cut(request, 9) } else { Answer::default() }
        },
        None,
    );
    assert!(
        matches!(&first.result, Err(ModelError::Failed { why }) if why.contains("broke off") || why.contains("cannot be reached")),
        "{:?}",
        first.result
    );
    let second = fetch_into(first.folder, |request| Answer::part_of(BODY, request), None);
    assert_eq!(second.bytes.as_deref(), Some(BODY));
    assert_eq!(second.requests[0].header("range"), Some("bytes=9-"));
}

#[test]
fn a_file_that_changed_meanwhile_is_fetched_from_its_beginning() {
    let mut n_asked = 0;
    let done = fetch(
        move |request| {
            n_asked += 1;
            // As `If-Range` specifies: for another version the server sends the whole file.
            if n_asked == 1 {
                cut(request, 6)
            } else {
                Answer::of(200, "other").with("etag", "\"v2\"")
            }
        },
        None,
    );
    assert_eq!(done.bytes.as_deref(), Some(&b"other"[..]));
    let mut n_asked = 0;
    let done = fetch(
        move |request| {
            n_asked += 1;
            match n_asked {
                1 => cut(request, 6),
                2 => Answer::of(416, ""),
                _ => Answer::of(200, BODY),
            }
        },
        None,
    );
    assert_eq!(done.bytes.as_deref(), Some(BODY));
    assert_eq!(done.requests[2].header("range"), None);
}

#[test]
fn without_a_mark_of_the_version_nothing_is_joined() {
    let mut n_asked = 0;
    let done = fetch(
        move |_| {
            n_asked += 1;
            let whole = Answer::of(200, BODY);
            if n_asked == 1 { Answer { cut_after: Some(6), ..whole } } else { whole }
        },
        None,
    );
    assert_eq!(done.bytes.as_deref(), Some(BODY));
    assert!(done.requests.iter().all(|it| it.header("range").is_none()));
}

#[test]
fn a_wrong_hash_is_an_error_and_the_file_is_gone() {
    let done = fetch(|_| Answer::of(200, BODY), Some(SHA));
    assert!(
        matches!(done.result, Err(ModelError::WrongHash { recorded: false, .. })),
        "{:?}",
        done.result
    );
    assert!(files(&done).is_empty(), "{:?}", files(&done));
    // A hash that the hub sends before the redirect is checked, too.
    let answer = |request: &Request| match request.path.as_str() {
        "/model.onnx" => Answer::of(302, "")
            .with("location", "/there?x=1")
            .with("x-linked-etag", format!("\"{SHA}\"")),
        _ => Answer::of(200, BODY),
    };
    let done = fetch(answer, None);
    assert_eq!(done.requests[1].path, "/there?x=1");
    assert!(matches!(done.result, Err(ModelError::WrongHash { .. })), "{:?}", done.result);
    let right = hash_of(BODY);
    assert!(fetch(|_| Answer::of(200, BODY), Some(&right)).result.is_ok());
}

fn hash_of(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x");
    std::fs::write(&path, bytes).expect("written");
    hash::of_file(&path).expect("read")
}

#[test]
fn refusals_end_at_once_and_troubles_are_tried_again() {
    let done = fetch(|_| Answer::of(404, ""), None);
    assert!(matches!(done.result, Err(ModelError::NotThere { .. })) && done.requests.len() == 1);
    let done = fetch(|_| Answer::of(401, ""), None);
    assert!(
        matches!(done.result, Err(ModelError::Refused { status: 401, .. }))
            && done.requests.len() == 1
    );
    let done = fetch(|_| Answer::of(503, ""), None);
    assert!(
        matches!(&done.result, Err(ModelError::Failed { why }) if why.contains("answered 503"))
    );
    assert_eq!((done.requests.len(), done.pauses), (5, vec![2, 4, 8, 16]));
    // In seconds or as a date. A pause is at most two minutes.
    for (retry_after, pause) in [("7", 7), ("Fri, 01 Jan 2100 00:00:00 GMT", 120)] {
        let mut n_asked = 0;
        let done = fetch(
            move |_| {
                n_asked += 1;
                match n_asked {
                    1 => Answer::of(429, "").with("retry-after", retry_after),
                    _ => Answer::of(200, BODY),
                }
            },
            None,
        );
        assert_eq!((done.bytes.as_deref(), done.pauses), (Some(BODY), vec![pause]));
    }
    let done = fetch(|_| Answer::of(302, "").with("location", "/model.onnx"), None);
    assert!(matches!(&done.result, Err(ModelError::Failed { why }) if why.contains("circles")));
}

#[test]
fn silence_and_no_network_end() {
    let done = fetch(|_| Answer { hangs: true, ..Answer::default() }, None);
    assert!(
        matches!(&done.result, Err(ModelError::Failed { why }) if why.contains("timed out")),
        "{:?}",
        done.result
    );
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let folder = tempfile::tempdir().expect("a folder");
    let fetcher = Fetcher::new(&|_| {}, &|_, _, _| {});
    let error = fetcher
        .fetch(&format!("http://{port}/x"), &folder.path().join("x"), None)
        .expect_err("nobody");
    let text = error.to_string();
    assert!(text.contains("cannot be reached") && text.contains("--from FOLDER"), "{text}");
}

#[test]
fn addresses_by_eye() {
    assert_eq!(joined("http://h/a/b", "https://o/x"), "https://o/x");
    assert_eq!(joined("http://h/a/b", "/x"), "http://h/x");
    assert_eq!(joined("http://h/a/b", "x"), "http://h/a/x");
    assert_eq!(joined("http://h", "/x"), "http://h/x");
}
