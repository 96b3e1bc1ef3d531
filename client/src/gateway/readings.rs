//! Readings: resolves an address that begins with the name of the project given beside it.
//!
//! In: the parameters of both readings, the project's answers to them. Out: the next request, or
//! the answer. How: `memory://p/plan` with `project: p` means `plan`, as in replies, or `p/plan`,
//! because notes of basic-memory have their project in their permalinks. Both are tried before
//! anything is changed.
//! Invariants: if both are notes, neither is chosen; nothing is changed until only one is left.

use proto::error::{Code, ErrorView};
use proto::tool::Tool;
use proto::tool::notes::ReadNote;
use serde_json::{Map, Value, json};

use super::merge::Answer;
use super::naming::SCHEME;
use super::trouble::{Trouble, error_result};

/// One interpretation of an address.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) address: String,
    /// The parameters of the call with this address.
    pub(super) params: Value,
}

/// Both readings of one address.
#[derive(Debug)]
pub(super) struct Readings {
    /// Without the name of the project, and verbatim.
    both: [Reading; 2],
    /// Whether the request may change something; if so, the note is looked up first.
    is_writing: bool,
    /// The project's permalink.
    project: String,
    /// The answer to the first.
    first: Option<Value>,
    is_decided: bool,
}

impl Readings {
    pub(super) fn new(both: [Reading; 2], is_writing: bool, project: &str) -> Self {
        let project = project.to_string();
        Readings { both, is_writing, project, first: None, is_decided: false }
    }

    /// Returns the parameters of the first request.
    pub(super) fn start(&self) -> Value {
        self.question(0)
    }

    fn question(&self, at: usize) -> Value {
        let Reading { address, params } = &self.both[at];
        if !self.is_writing {
            return params.clone();
        }
        json!({ "name": ReadNote::NAME, "arguments": { "path": address } })
    }

    /// Returns the parameters of the next request, or `None` if `answer` is final.
    pub(super) fn next(&mut self, answer: &mut Answer) -> Option<Value> {
        let result = answer.as_ref().ok().filter(|_| !self.is_decided)?;
        let is_known = |result: &Value| match Trouble::of_result(result) {
            None => Some(true),
            Some(trouble) => match trouble.code.as_str() {
                // The project has several notes of that name.
                "ambiguous" => Some(true),
                "not_found" => Some(false),
                _ => None,
            },
        };
        let is_second = is_known(result)?;
        let Some(first) = self.first.take() else {
            self.first = Some(result.clone());
            return Some(self.question(1));
        };
        self.is_decided = true;
        let is_first = is_known(&first) == Some(true);
        if is_first && is_second && !is_same(&first, result) {
            *answer = Ok(self.refusal());
            return None;
        }
        let chosen = if is_first { 0 } else { 1 };
        if self.is_writing {
            return Some(self.both[chosen].params.clone());
        }
        if is_first {
            *answer = Ok(first);
        }
        None
    }

    fn refusal(&self) -> Value {
        let [short, whole] = &self.both;
        let behind = whole.address.strip_prefix(SCHEME).unwrap_or(&whole.address);
        let view = ErrorView::hinted(
            Code::Ambiguous,
            format!(
                "`{}` is the address of two notes: `{}` and `{behind}`",
                whole.address,
                short.address.strip_prefix(SCHEME).unwrap_or(&short.address),
            ),
            format!(
                "use `{}` or `{SCHEME}{}/{behind}`, or the path of the file",
                short.address, self.project
            ),
        );
        error_result(&view, Map::new())
    }
}

/// Returns whether two replies are about the same note.
fn is_same(one: &Value, other: &Value) -> bool {
    let at = |pointer: &str| {
        let path = |it: &Value| it.pointer(pointer)?.as_str().map(str::to_string);
        path(one).is_some_and(|it| Some(it) == path(other))
    };
    at("/structuredContent/path") || at("/structuredContent/note/path") || one == other
}
