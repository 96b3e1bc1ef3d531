//! Fitting: the projects of a hub that fit a call best when it names none.
//!
//! In: a tool and its arguments; the front end's control socket. Out: some of the served projects,
//! the best first.
//! Invariants: a front end that does not answer delays a call by at most `PATIENCE`; without a
//! front end nothing is chosen.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use proto::error::{Code, ErrorView};
use proto::fit::{Fit, Fitting};
use serde_json::{Map, Value};

use super::served::Served;

/// Most projects asked when a call names none. `tests/benches/RESULTS.md` (*outline*) measures how
/// often those asked hold the best hit; each costs as much as a question to one project.
pub(super) const MOST: usize = 16;

/// Longest wait for a front end. It answers from memory, except for the first time, when it fetches
/// outlines.
const PATIENCE: Duration = Duration::from_secs(6);

/// Arguments that hold a question; below, those that hold the name of an entity.
const QUESTIONS: [&str; 2] = ["q", "query"];
const NAMES: [&str; 3] = ["name", "a", "b"];

/// Tools whose `q` is a name.
const OF_NAMES: [&str; 1] = ["entity_lookup"];

/// Tools that answer for one project, and go to the fittest one when none is named.
pub(super) const ABOUT_NAMES: [&str; 2] = ["explain_entity", "connect"];

/// Returns the fittest projects, after those of `at_least`; `None` if there is no front end.
///
/// # Errors
/// When the front end does not choose, and why.
pub(super) fn fitting(
    tool: &str,
    arguments: &Map<String, Value>,
    most: usize,
    served: &Served,
) -> Result<Option<Vec<usize>>, ErrorView> {
    let Some(socket) = served.front() else { return Ok(None) };
    let texts = |names: &[&str]| -> Vec<String> {
        let found = names.iter().filter_map(|name| arguments.get(*name)?.as_str());
        found.map(str::to_string).collect()
    };
    let (mut question, mut names) = (texts(&QUESTIONS), texts(&NAMES));
    if OF_NAMES.contains(&tool) {
        names.append(&mut question);
    }
    let fit = Fit { question: question.join(" "), names, most };
    let answer = ask(socket, &fit).map_err(|why| {
        ErrorView::hinted(
            Code::Unavailable,
            format!("the front end does not say which of {} projects to ask: {why}", served.len()),
            "name a `project`, or ask again",
        )
    })?;
    let waited_for = arguments.get("at_least").and_then(Value::as_object);
    let waited_for = waited_for.into_iter().flat_map(|it| it.keys().map(String::as_str));
    let mut chosen: Vec<usize> = Vec::new();
    for name in waited_for.chain(answer.projects.iter().map(String::as_str)) {
        chosen.extend(served.find(name).filter(|it| !chosen.contains(it)));
    }
    Ok(Some(chosen))
}

fn ask(socket: &Path, fit: &Fit) -> Result<Fitting, String> {
    let exchange = || -> std::io::Result<String> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = serde_json::to_vec(fit)?;
        line.push(b'\n');
        stream.write_all(&line)?;
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer)?;
        Ok(answer)
    };
    let reply = exchange().map_err(|error| error.to_string())?;
    serde_json::from_str(&reply).map_err(|_| {
        // A refusal has a reason.
        let refusal: Value = serde_json::from_str(&reply).unwrap_or_default();
        let why = refusal.pointer("/error/message").and_then(Value::as_str);
        why.unwrap_or("it ended").to_string()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use config::Project;
    use serde_json::json;

    use super::*;

    /// Checks what a front end that answers `reply` is asked, and which projects result.
    fn check(tool: &str, arguments: Value, reply: &str, asked: &str, chosen: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("front");
        let listener = UnixListener::bind(&socket).expect("bound");
        let reply = reply.to_string();
        let front = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("a line");
            stream.write_all(reply.as_bytes()).expect("written");
            line.trim().to_string()
        });
        let project = |name: &str| Project { root: format!("/{name}").into(), name: name.into() };
        let served = Served::new(&["a", "b", "c"].map(project)).expect("distinct");
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let served = served.with_front(socket);
        let found = fitting(tool, &arguments, 2, &served).map_err(|error| error.message);
        assert_eq!(front.join().expect("asked"), asked);
        assert_eq!(format!("{found:?}"), chosen);
    }

    #[test]
    fn the_front_end_is_asked_for_what_a_call_is_about() {
        let fits = "{\"projects\":[\"c\",\"gone\",\"a\"]}\n";
        let q = json!({"q": "Key Store", "k": 3});
        check(
            "hybrid_query",
            q.clone(),
            fits,
            r#"{"question":"Key Store","names":[],"most":2}"#,
            "Ok(Some([2, 0]))",
        );
        let names = r#"{"question":"","names":["Key Store"],"most":2}"#;
        check("entity_lookup", q, fits, names, "Ok(Some([2, 0]))");
        check(
            "connect",
            json!({"a": "x", "b": "y"}),
            fits,
            r#"{"question":"","names":["x","y"],"most":2}"#,
            "Ok(Some([2, 0]))",
        );
        let waits = json!({"query": "z", "at_least": {"b": 7}});
        let asked = r#"{"question":"z","names":[],"most":2}"#;
        check("ask", waits.clone(), fits, asked, "Ok(Some([1, 2, 0]))");
        let why = |why: &str| {
            format!("Err(\"the front end does not say which of 3 projects to ask: {why}\")")
        };
        let refusal = "{\"error\":{\"message\":\"no database\"}}\n";
        check("ask", waits.clone(), refusal, asked, &why("no database"));
        check("ask", waits, "", asked, &why("it ended"));
    }
}
