//! Seek: whose a note is where its address names no project.
//!
//! In: what each project answered to the same reading. Out: the answer of the one that has the note.
//! Invariants: where several have it, none of them is chosen; who did not answer is told, since it may have it, too.
//! Not here: addresses that name their project (`naming.rs`), and tools that write, which are refused (`route.rs`).

use proto::error::{Code, ErrorView};
use serde_json::{Map, Value};

use super::job::{Concluded, one};
use super::merge::Answer;
use super::naming::outward;
use super::served::Served;
use super::trouble::{Trouble, error_result};

/// The answer of whoever has the note with this address.
pub(super) fn conclude(address: &str, answers: Vec<(usize, Answer)>, served: &Served) -> Concluded {
    let (mut having, mut lacking, mut silent) = (Vec::new(), Vec::new(), Vec::new());
    for (project, answer) in answers {
        let result = match answer {
            Ok(result) => result,
            Err(trouble) => {
                silent.push((project, trouble));
                continue;
            }
        };
        match Trouble::of_result(&result) {
            None => having.push((project, result)),
            // It has several notes of that name.
            Some(trouble) if trouble.code == "ambiguous" => having.push((project, result)),
            Some(trouble) if trouble.code == "not_found" => lacking.push((project, trouble)),
            Some(trouble) => silent.push((project, trouble)),
        }
    }
    if having.len() > 1 {
        let forms = having.iter().map(|(it, _)| outward(address, served.permalink(*it)));
        let forms: Vec<String> = forms.map(|it| format!("`{it}`")).collect();
        return Ok(error_result(
            &ErrorView {
                code: Code::Ambiguous,
                message: format!("{} projects have a note `{address}`", having.len()),
                hint: Some(format!("give `project`, or one of {}", forms.join(", "))),
                conflict: None,
            },
            unavailable(&silent, served),
        ));
    }
    let Some((project, result)) = having.pop() else {
        return Ok(nowhere(address, &lacking, &silent, served));
    };
    let mut result = one(project, Ok(result), true, served)?;
    for (field, rows) in unavailable(&silent, served) {
        result["structuredContent"][field] = rows;
    }
    if let Some(text) = result.pointer_mut("/content/0/text")
        && let Some(told) = text.as_str()
    {
        let lines = silent.iter().map(|(it, trouble)| trouble.line(served.name(*it)));
        *text =
            std::iter::once(told.to_string()).chain(lines).collect::<Vec<_>>().join("\n").into();
    }
    Ok(result)
}

/// Nobody has it, as far as they answered.
fn nowhere(
    address: &str,
    lacking: &[(usize, Trouble)],
    silent: &[(usize, Trouble)],
    served: &Served,
) -> Value {
    let all: Vec<_> = lacking.iter().chain(silent).collect();
    let Some((_, first)) = all.first() else {
        return error_result(&Trouble::strange().view(), Map::new());
    };
    // What all say alike, such as that this is no address, is no matter of a project.
    if all.iter().all(|(_, it)| {
        (&it.code, &it.message, &it.hint) == (&first.code, &first.message, &first.hint)
    }) {
        return error_result(&first.view(), Map::new());
    }
    let told = |(project, it): &&(usize, Trouble)| {
        it.hint.as_ref().map(|hint| format!("{}: {hint}", served.name(*project)))
    };
    let hints: Vec<String> = lacking.iter().collect::<Vec<_>>().iter().filter_map(told).collect();
    let view = ErrorView {
        code: if silent.is_empty() { Code::NotFound } else { Code::Unavailable },
        message: match silent.len() {
            0 => format!("no project has a note `{address}`"),
            _ => format!("no project that answers has a note `{address}`"),
        },
        hint: (!hints.is_empty()).then(|| hints.join("; ")),
        conflict: None,
    };
    error_result(&view, unavailable(silent, served))
}

fn unavailable(silent: &[(usize, Trouble)], served: &Served) -> Map<String, Value> {
    let rows: Vec<Value> =
        silent.iter().map(|(it, trouble)| trouble.row(served.name(*it))).collect();
    let rows = (!rows.is_empty()).then(|| ("unavailable".to_string(), Value::Array(rows)));
    rows.into_iter().collect()
}
