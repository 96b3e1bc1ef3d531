//! Runs the calls of basic-memory's own MCP tests (`tests/data/basic-memory.json`): their
//! requirements hold here, too.
//!
//! A case is one test function there, in our own calls and texts: the tools and parameters as its
//! clients send them. It checks the purpose of the test, not the wording: basic-memory answers with
//! its own headings and symbols, and names fields of its JSON differently
//! (`docs/src/how-to/basic-memory.md`). A case that one of our specifications forbids has its
//! sentence instead of calls.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tests::TestProject;

/// Where the cases are.
const DATA: &str = "basic-memory.json";

/// The files with the 49 cases of the first comparison with basic-memory.
const FIRST: [&str; 4] =
    ["test_param_aliases", "test_string_params", "test_output_format_json", "test_chatgpt_tools"];

/// Returns the cases of a file in `tests/data`.
pub(crate) fn cases(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    let text = std::fs::read_to_string(path).expect("it is there");
    let recorded: Value = serde_json::from_str(&text).expect("JSON");
    recorded["cases"].as_array().expect("cases").clone()
}

pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    value[key].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Returns which hit of a search of notes, memory or entries stands before one that it should follow: a weak one before
/// one that is not, a less relevant one before another weak one, or a lower score before a higher one.
pub(crate) fn disorder(reply: &Value) -> Option<String> {
    let lists = ["results", "notes"].into_iter().filter_map(|key| reply[key].as_array());
    let mut pairs = lists.flat_map(|hits| hits.windows(2));
    pairs.find_map(|pair| {
        let of = |key: &str| [&pair[0], &pair[1]].map(|it| it[key].as_f64().unwrap_or_default());
        let weak = [&pair[0], &pair[1]].map(|it| it["weak"] == true);
        let ([before, after], [score, next]) = (of("relevance"), of("score"));
        let is_wrong = weak == [true, false] || weak == [true, true] && after > before;
        (is_wrong || next > score + 1e-6).then(|| format!("out of order: {pair:?}"))
    })
}

/// A project that several cases share, and placeholders in their calls.
pub(crate) struct Bench {
    project: TestProject,
    names: BTreeMap<String, String>,
}

impl Bench {
    pub(crate) fn open() -> Bench {
        let mut project = TestProject::of_with_roots(&[]);
        let name = text(&project.status(), "project").to_string();
        let scratch = project.scratch().display().to_string();
        let long = ("<2048>".into(), "a".repeat(2_048));
        let names = [("<project>".into(), name), ("<scratch>".into(), scratch), long];
        let names = BTreeMap::from(names);
        Bench { project, names }
    }

    fn meant(&self, text: &str) -> String {
        self.names.iter().fold(text.to_string(), |text, (name, it)| text.replace(name, it))
    }

    /// Runs one case; returns what does not hold.
    pub(crate) fn run(&mut self, case: &Value) -> Vec<String> {
        let steps = case["steps"].as_array().into_iter().flatten();
        steps.flat_map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Value) -> Vec<String> {
        if text(step, "tool") == "tools/list" {
            return self.listed(&step["listed"]);
        }
        let arguments = self.meant(&step["arguments"].to_string());
        let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
        let answer = self.project.client().call_whole(text(step, "tool"), arguments);
        let result = answer.unwrap_or_else(|error| json!({"isError": true, "protocol": error}));
        let (shown, structured) =
            (text(&result["content"][0], "text"), &result["structuredContent"]);
        let what = format!("{} {}: {shown}", text(step, "tool"), step["arguments"]);
        let mut wrong = Vec::new();
        let error = result["isError"].as_bool().unwrap_or_default();
        let code =
            if result["protocol"].is_null() { &structured["code"] } else { &json!("protocol") };
        if error != step["error"].is_string() || error && *code != step["error"] {
            wrong.push(format!("error {structured} of {what} {result}"));
        }
        let has = list(step, "has").map(|it| self.meant(it)).filter(|it| !shown.contains(it));
        wrong.extend(has.map(|it| format!("no {it:?} in {what}")));
        let lacks = list(step, "lacks").map(|it| self.meant(it)).filter(|it| shown.contains(it));
        wrong.extend(lacks.map(|it| format!("{it:?} in {what}")));
        wrong.extend(disorder(structured).map(|it| format!("{it} in {what} {structured}")));
        for (pointer, wanted) in step["holds"].as_object().into_iter().flatten() {
            let found = structured.pointer(pointer).unwrap_or(&Value::Null);
            if !self.holds(found, wanted) {
                wrong.push(format!("{pointer} is {found}, not {wanted}, in {what}"));
            }
        }
        for (name, pointer) in step["keep"].as_object().into_iter().flatten() {
            let kept = structured.pointer(pointer.as_str().unwrap_or_default());
            let kept = kept.and_then(Value::as_str).unwrap_or_default().to_string();
            self.names.insert(format!("<{name}>"), kept);
        }
        wrong
    }

    /// `*`: any text; `any`: a list; `at most 10`: at most this many items; a number: exactly this
    /// many.
    fn holds(&self, found: &Value, wanted: &Value) -> bool {
        let n = found.as_array().map(Vec::len);
        match wanted.as_str() {
            Some("*") => found.as_str().is_some_and(|it| !it.is_empty()),
            Some("any") => n.is_some(),
            Some("at most 10") => n.is_some_and(|n| (1..=10).contains(&n)),
            Some(wanted) => found.as_str() == Some(&self.meant(wanted)),
            None => found == wanted || n.is_some() && n == wanted.as_u64().map(|it| it as usize),
        }
    }

    fn listed(&mut self, tools: &Value) -> Vec<String> {
        let listed = self.project.client().ask("tools/list", json!({}));
        let listed = listed["result"]["tools"].as_array().expect("tools").clone();
        let mut wrong = Vec::new();
        for (tool, names) in tools.as_object().expect("tools") {
            let found = listed.iter().find(|it| text(it, "name") == tool);
            let Some(found) = found else {
                wrong.push(format!("no tool {tool}"));
                continue;
            };
            let properties = &found["inputSchema"]["properties"];
            for (at, wanted) in [(0, true), (1, false)] {
                for name in names[at].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if properties.get(name).is_some() != wanted {
                        wrong.push(format!("{tool}.{name} is listed: {}", !wanted));
                    }
                }
            }
        }
        wrong
    }
}

/// Runs the cases of some files; every one must hold.
#[expect(clippy::print_stdout, reason = "the counts go to RESULTS.md")]
pub(crate) fn check(data: &str, files: &[&str]) {
    let mut failed = Vec::new();
    let mut n = 0;
    let all = cases(data);
    for file in files {
        let mut bench = Bench::open();
        for case in all.iter().filter(|case| text(case, "file") == *file) {
            n += 1;
            let wrong = bench.run(case);
            if !wrong.is_empty() {
                failed.push(format!("{file}, {}:\n  {}", text(case, "case"), wrong.join("\n  ")));
            }
        }
    }
    println!("{data}: {} of {n} cases hold in {}", n - failed.len(), files.join(", "));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn parameters_of_other_names_and_types_are_taken() {
    check(DATA, &FIRST[..2]);
}

#[test]
fn answers_in_json_and_the_tools_of_chatgpt_hold() {
    check(DATA, &FIRST[2..]);
}

#[test]
fn files_are_read_shown_and_deleted() {
    check(DATA, &["test_read_content", "test_tool_view_note", "test_delete_note"]);
}

#[test]
fn each_parameter_is_taken_or_refused_by_name() {
    check(DATA, &["parameters"]);
}

#[test]
fn schemas_are_inferred_validated_and_compared() {
    check(DATA, &["test_tool_schema"]);
}

#[test]
fn every_case_runs_or_has_the_sentence_that_forbids_it() {
    let all = cases(DATA);
    let n_first = all.iter().filter(|case| FIRST.contains(&text(case, "file"))).count();
    assert_eq!(n_first, 49);
    for case in &all {
        let sentence = text(case, "forbidden");
        assert_eq!(case["steps"].is_array(), sentence.is_empty(), "{case}");
        assert!(sentence.is_empty() || sentence.starts_with('S'), "{case}");
    }
}
