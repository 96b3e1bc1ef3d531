//! Seek: finds the project of a note whose address names none.
//!
//! In: each project's answer to the same request, by a tool or for a resource. Out: the answer of
//! the project that has the note, which is then asked to watch it if requested.
//! Invariants: if several have it, none is chosen; projects that did not answer are listed, because
//! they may have it, too.

use proto::error::{Code, ErrorView};
use serde_json::{Map, Value, json};

use super::job::{Concluded, one};
use super::merge::Answer;
use super::naming::outward;
use super::served::Served;
use super::trouble::{Trouble, error_result};

/// What is requested about a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    /// The answer of a reading tool.
    Tool,
    /// Its text, as a resource.
    Resource,
    /// Notifications when it changes.
    Watch,
}

impl Sought {
    /// Returns the method of the request to all projects.
    pub(super) fn method(self) -> &'static str {
        if self == Sought::Tool { "tools/call" } else { "resources/read" }
    }

    /// Returns an error as the answer.
    fn refused(self, view: &ErrorView, further: Map<String, Value>) -> Concluded {
        if self == Sought::Tool {
            return Ok(error_result(view, further));
        }
        let mut data = further;
        data.extend([("code".to_string(), json!(view.code)), ("hint".into(), json!(view.hint))]);
        Err(json!({ "code": -32_002, "message": view.message, "data": data }))
    }
}

/// Returns why a project does not have the note, or `None` if it has one or several of that name.
fn lack(answer: &Answer) -> Option<Trouble> {
    let trouble = match answer {
        Ok(result) => Trouble::of_result(result),
        Err(trouble) => Some(trouble.clone()),
    };
    trouble.filter(|it| it.code != "ambiguous")
}

/// Returns the only answer from a project that has the note.
pub(super) fn only_owner<'a>(answers: impl Iterator<Item = Option<&'a Answer>>) -> Option<usize> {
    let answers = answers.enumerate();
    let mut having =
        answers.filter(|(_, it)| it.is_some_and(|it| it.is_ok() && lack(it).is_none()));
    let (first, second) = (having.next(), having.next());
    first.filter(|_| second.is_none()).map(|(idx, _)| idx)
}

/// Returns the answer of the project that has the note with this address.
pub(super) fn conclude(
    address: &str,
    of: Sought,
    answers: Vec<(usize, Answer)>,
    served: &Served,
) -> Concluded {
    let (mut having, mut lacking, mut silent) = (Vec::new(), Vec::new(), Vec::new());
    for (project, answer) in answers {
        match lack(&answer) {
            None => having.push((project, answer)),
            Some(trouble) if trouble.code == "not_found" => lacking.push((project, trouble)),
            Some(trouble) => silent.push((project, trouble)),
        }
    }
    if having.len() > 1 {
        let forms = having.iter().map(|(it, _)| outward(address, served.permalink(*it)));
        let forms: Vec<String> = forms.map(|it| format!("`{it}`")).collect();
        let project = if of == Sought::Tool { "`project`, or " } else { "" };
        let view = ErrorView::hinted(
            Code::Ambiguous,
            format!("{} projects have a note `{address}`", having.len()),
            format!("use {project}one of {}", forms.join(", ")),
        );
        return of.refused(&view, unavailable(&silent, served));
    }
    let Some((project, answer)) = having.pop() else {
        let (mut view, further) = nowhere(address, &lacking, &silent, served);
        if of != Sought::Tool && view.code == Code::NotFound {
            view.hint = Some(served.address_hint());
        }
        return of.refused(&view, further);
    };
    let mut result = one(project, answer, of == Sought::Tool, served)?;
    let content = if of == Sought::Tool { "structuredContent" } else { "_meta" };
    for (field, rows) in unavailable(&silent, served) {
        result[content][field] = rows;
    }
    if let Some(text) = result.pointer_mut("/content/0/text")
        && let Some(body) = text.as_str()
    {
        let lines = silent.iter().map(|(it, trouble)| trouble.line(served.name(*it)));
        *text =
            std::iter::once(body.to_string()).chain(lines).collect::<Vec<_>>().join("\n").into();
    }
    Ok(result)
}

/// Returns the error when no answering project has the note.
fn nowhere(
    address: &str,
    lacking: &[(usize, Trouble)],
    silent: &[(usize, Trouble)],
    served: &Served,
) -> (ErrorView, Map<String, Value>) {
    let all: Vec<_> = lacking.iter().chain(silent).collect();
    let Some((_, first)) = all.first() else {
        return (Trouble::strange().view(), Map::new());
    };
    // An error that all share, such as an invalid address, does not belong to a project.
    if all.iter().all(|(_, it)| {
        (&it.code, &it.message, &it.hint) == (&first.code, &first.message, &first.hint)
    }) {
        return (first.view(), Map::new());
    }
    let hint_of = |(project, it): &&(usize, Trouble)| {
        it.hint.as_ref().map(|hint| format!("{}: {hint}", served.name(*project)))
    };
    let hints: Vec<String> =
        lacking.iter().collect::<Vec<_>>().iter().filter_map(hint_of).collect();
    let view = ErrorView {
        code: if silent.is_empty() { Code::NotFound } else { Code::Unavailable },
        message: match silent.len() {
            0 => format!("no project has a note `{address}`"),
            _ => format!("no project that answers has a note `{address}`"),
        },
        hint: (!hints.is_empty()).then(|| hints.join("; ")),
        conflict: None,
    };
    (view, unavailable(silent, served))
}

fn unavailable(silent: &[(usize, Trouble)], served: &Served) -> Map<String, Value> {
    let rows: Vec<Value> =
        silent.iter().map(|(it, trouble)| trouble.row(served.name(*it))).collect();
    let rows = (!rows.is_empty()).then(|| ("unavailable".to_string(), Value::Array(rows)));
    rows.into_iter().collect()
}
