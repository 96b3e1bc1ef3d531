//! Job: one request of the client, and the projects' answers to its parts.
//!
//! In: answers of projects. Out: the one answer to the client.
//! Invariants: a job ends once: when each part is answered or late, or with the first good answer if one is enough.

use std::collections::VecDeque;
use std::time::Instant;

use proto::form::Form;
use serde_json::{Map, Value, json};

use super::asker::Asker;
use super::cursor::{self, Onward};
use super::listen::Listening;
use super::merge::{self, Answer};
use super::naming::{add_project, instructions, name_in_messages, rename, rename_addresses};
use super::readings::Readings;
use super::route::First;
use super::seek::{self, Sought};
use super::served::Served;
use super::spread::Spread;
use super::trouble::Trouble;
use crate::render::counted;

/// One request of the client.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) asker: Asker,
    pub(super) task: Task,
    pub(super) parts: Vec<Part>,
}

/// How to combine the answers.
#[derive(Debug)]
pub(super) enum Task {
    /// The first good answer; `others` can still be asked.
    First { of: First, method: &'static str, params: Value, others: VecDeque<usize> },
    /// The answer of one project.
    One { is_tool: bool },
    /// The answer of one project, by the reading of an address that is a note.
    Either(Readings),
    /// The answer of the one project that has the note with this address.
    Seek { address: String, of: Sought },
    /// A search.
    Search(Spread),
    /// A list in this field.
    List { field: &'static str },
    /// The list of projects.
    Projects { is_json: bool },
    /// A subscription, which ends when its projects end it.
    Listen(Listening),
}

impl Task {
    /// Returns the form that results need: an answer can be merged only if it is whole.
    pub(super) fn form(&self) -> Form {
        match self {
            Task::Search(_) | Task::Projects { .. } => Form::Whole,
            _ => Form::Structured,
        }
    }
}

/// A request to one project.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) project: usize,
    /// The id of the request to the project.
    pub(super) id: u64,
    /// Method and parameters; none if only the handshake is needed.
    pub(super) request: Option<(String, Value)>,
    pub(super) answer: Option<Answer>,
    /// When to stop waiting; `None` means never.
    pub(super) deadline: Option<Instant>,
    /// Whether it was sent again because the daemon ended before it answered.
    pub(super) is_repeated: bool,
}

impl Job {
    /// Returns whether its parts only read, so that a lost one can be sent again.
    pub(super) fn may_repeat(&self) -> bool {
        !matches!(self.task, Task::One { .. } | Task::Either(_) | Task::Listen(_))
    }

    /// Returns whether another request is needed before `answer` is final.
    pub(super) fn is_asked_further(&mut self, idx: usize, answer: &mut Answer) -> bool {
        let Task::Either(readings) = &mut self.task else { return false };
        let part = self.parts.get_mut(idx).and_then(|it| it.request.as_mut());
        let Some((_, params)) = part else { return false };
        readings.next(answer).map(|next| *params = next).is_some()
    }

    /// Returns whether there is nothing left to wait for.
    pub(super) fn is_done(&self) -> bool {
        let is_good = |it: &Part| matches!(it.answer, Some(Ok(_)));
        match &self.task {
            Task::First { others, .. } => {
                self.parts.iter().any(is_good)
                    || (others.is_empty() && self.parts.iter().all(|it| it.answer.is_some()))
            }
            Task::Listen(listening) => listening.is_done(&self.parts),
            _ => self.parts.iter().all(|it| it.answer.is_some()),
        }
    }

    /// Once all have answered, selects the only project that has the note to watch; returns whether
    /// it must be asked.
    pub(super) fn turns_to_owner(&mut self) -> bool {
        let owner = match self.task {
            Task::Seek { of: Sought::Watch, .. } if self.is_done() => {
                seek::only_owner(self.parts.iter().map(|it| it.answer.as_ref()))
            }
            _ => None,
        };
        let Some(owner) = owner else { return false };
        let mut part = self.parts.swap_remove(owner);
        (part.answer, part.deadline) = (None, None);
        if let Some((method, _)) = &mut part.request {
            *method = "resources/subscribe".to_string();
        }
        self.parts = vec![part];
        self.task = Task::One { is_tool: false };
        true
    }

    /// Returns the answer to the client.
    pub(super) fn conclude(self, served: &Served) -> Vec<u8> {
        let Job { asker, task, parts } = self;
        let answers = |parts: Vec<Part>| -> Vec<(usize, Answer)> {
            let answer = |it: Part| it.answer.unwrap_or_else(|| Err(Trouble::strange()));
            parts.into_iter().map(|it| (it.project, answer(it))).collect()
        };
        let is_tool = !matches!(task, Task::One { is_tool: false });
        let concluded = match task {
            Task::First { of, .. } => first(of, answers(parts), served),
            Task::One { .. } | Task::Either(_) => match answers(parts).pop() {
                Some((project, answer)) => one(project, answer, is_tool, served),
                None => Err(Value::Null),
            },
            Task::Seek { address, of } => seek::conclude(&address, of, answers(parts), served),
            Task::Search(mut spread) => {
                spread.is_structured = asker.is_structured();
                let answers = answers(parts).into_iter().map(|(_, answer)| answer).collect();
                Ok(merge::merge(&spread, answers, served))
            }
            Task::List { field } => list(field, answers(parts), served),
            Task::Projects { is_json } => projects(answers(parts), is_json, served),
            Task::Listen(listening) => listening.conclude(&asker, parts, served),
        };
        match concluded {
            Ok(result) => asker.result(result),
            Err(error) => asker.error(&error),
        }
    }
}

/// A result or an error of JSON-RPC.
pub(super) type Concluded = Result<Value, Value>;

/// Converts a trouble to a JSON-RPC error that names its project.
pub(super) fn to_error(trouble: Trouble, project: usize, served: &Served) -> Value {
    let data = json!({ "code": trouble.code, "hint": trouble.hint });
    let made = || json!({ "code": -32_000, "message": trouble.message, "data": data });
    let mut error = trouble.error.clone().map_or_else(made, |error| *error);
    match error.get_mut("data") {
        Some(Value::Object(data)) => {
            _ = data.insert("project".to_string(), served.name(project).into())
        }
        _ => error["data"] = json!({ "project": served.name(project) }),
    }
    error
}

fn first(of: First, answers: Vec<(usize, Answer)>, served: &Served) -> Concluded {
    let mut troubles = Vec::new();
    for (project, answer) in answers {
        match answer {
            Ok(mut result) => {
                match of {
                    First::Hello | First::Discover => {
                        let own = result.get("instructions").and_then(Value::as_str);
                        result["instructions"] = instructions(own, served).into();
                        if of == First::Hello && served.is_all() {
                            result["capabilities"]["tools"]["listChanged"] = true.into();
                        }
                    }
                    First::Tools => add_project(&mut result, served),
                }
                return Ok(result);
            }
            Err(trouble) => troubles.push((project, trouble)),
        }
    }
    let rows: Vec<Value> =
        troubles.iter().map(|(it, trouble)| trouble.row(served.name(*it))).collect();
    let Some((project, trouble)) = troubles.into_iter().next() else {
        return Err(Value::Null);
    };
    let mut error = to_error(trouble, project, served);
    error["data"]["unavailable"] = rows.into();
    Err(error)
}

/// Returns the answer of one project.
pub(super) fn one(project: usize, answer: Answer, is_tool: bool, served: &Served) -> Concluded {
    let mut result = answer.map_err(|trouble| to_error(trouble, project, served))?;
    rename_addresses(&mut result, project, served);
    name_in_messages(&mut result, served.name(project));
    if is_tool {
        served.statements().mark_one(&mut result, served.name(project));
    }
    // A reply names its own project; an error does not.
    if is_tool && result.get("isError") == Some(&Value::Bool(true)) {
        let name = served.name(project);
        if let Some(Value::Object(fields)) = result.get_mut("structuredContent") {
            fields.entry("project").or_insert_with(|| name.into());
        }
        if let Some(text) = result.pointer_mut("/content/0/text")
            && let Some(body) = text.as_str()
        {
            *text = format!("{body}\n({name})").into();
        }
    }
    Ok(result)
}

fn list(field: &str, answers: Vec<(usize, Answer)>, served: &Served) -> Concluded {
    let (mut entries, mut onward, mut troubles) = (Vec::new(), Vec::new(), Vec::new());
    let n = answers.len();
    for (project, answer) in answers {
        let mut result = match answer {
            Ok(result) => result,
            Err(trouble) => {
                troubles.push((project, trouble));
                continue;
            }
        };
        if let Some(Value::Array(mut own)) = result.get_mut(field).map(Value::take) {
            own.iter_mut().for_each(|entry| rename(field, entry, project, served));
            entries.extend(own);
        }
        if let Some(next) = result.get("nextCursor").and_then(Value::as_str) {
            onward.push(Onward { project, cursor: Some(next.to_string()), returned: Vec::new() });
        }
    }
    let rows: Vec<Value> =
        troubles.iter().map(|(it, trouble)| trouble.row(served.name(*it))).collect();
    if troubles.len() == n
        && let Some((project, trouble)) = troubles.into_iter().next()
    {
        return Err(to_error(trouble, project, served));
    }
    let mut out = json!({ field: entries });
    if let Some(cursor) = cursor::write(&onward, served) {
        out["nextCursor"] = cursor.into();
    }
    if !rows.is_empty() {
        out["_meta"] = json!({ "unavailable": rows });
    }
    Ok(out)
}

/// Renders a project for people.
fn line_of(row: &Value, marks: &str) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let counts = match (row["n_documents"].as_u64(), row["n_entities"].as_u64()) {
        (Some(documents), Some(entities)) => {
            let documents = counted(documents, "document");
            let entities = counted(entities, "entity");
            format!("  ({documents}, {entities})")
        }
        _ => String::new(),
    };
    let line = format!("{}{marks}: {}{counts}", text("name"), text("path"));
    crate::render::clean(&line).into_owned()
}

/// Returns the registered projects that this session does not serve, and how to reach them.
fn not_served(
    replies: &[Option<Map<String, Value>>],
    served: &Served,
) -> (Vec<Value>, Vec<String>) {
    let own: Vec<String> = served.projects().map(|it| it.root.display().to_string()).collect();
    let (mut rows, mut lines) = (Vec::<Value>::new(), Vec::new());
    let all = replies.iter().flatten().filter_map(|it| it.get("projects")?.as_array()).flatten();
    for row in all {
        let path = row["path"].as_str().unwrap_or_default();
        let is_known = own.iter().any(|it| it == path) || rows.iter().any(|it| it["path"] == path);
        if row["is_active"].is_null() || is_known {
            continue;
        }
        let mut row = row.clone();
        (row["is_current"], row["answers"]) = (false.into(), false.into());
        row["message"] = "not served here: start `kg-mcp --project` with its name".into();
        lines.push(line_of(&row, ""));
        lines.push("   not served here: start `kg-mcp --project` with its name".to_string());
        rows.push(row);
    }
    (rows, lines)
}

/// Returns the registered projects: those served, each with its own row and whether it answers, and
/// the others.
fn projects(answers: Vec<(usize, Answer)>, is_json: bool, served: &Served) -> Concluded {
    let structured_of = |answer: &Answer| -> Option<Map<String, Value>> {
        answer.as_ref().ok()?.get("structuredContent")?.as_object().cloned()
    };
    let replies: Vec<Option<Map<String, Value>>> =
        answers.iter().map(|(_, answer)| structured_of(answer)).collect();
    // If no project has the tool, the answer is an error.
    if replies.iter().all(Option::is_none)
        && let Some((project, Err(trouble))) =
            answers.iter().find(|(_, it)| matches!(it, Err(it) if it.code == "internal"))
    {
        return Err(to_error(trouble.clone(), *project, served));
    }
    let (mut rows, mut lines, mut tick) = (Vec::new(), Vec::new(), 0);
    for ((project, answer), own) in answers.iter().zip(&replies) {
        if served.get(*project).is_none() {
            continue;
        }
        let name = served.name(*project);
        let path = served.root(*project).display().to_string();
        let of_path = |fields: &Map<String, Value>| {
            let list = fields.get("projects")?.as_array()?;
            list.iter().find(|it| it.get("path").and_then(Value::as_str) == Some(&path)).cloned()
        };
        let known =
            own.as_ref().and_then(of_path).or_else(|| replies.iter().flatten().find_map(of_path));
        let mut row = known.unwrap_or_else(|| json!({ "is_active": false }));
        row["name"] = name.into();
        row["permalink"] = served.permalink(*project).into();
        row["path"] = path.clone().into();
        row["is_default"] = (served.default() == Some(*project)).into();
        row["is_current"] = (served.home() == Some(*project)).into();
        row["answers"] = own.is_some().into();
        tick = own.as_ref().and_then(|it| it.get("tick")?.as_u64()).unwrap_or(0).max(tick);
        let marks = [("is_default", " (default)"), ("is_current", " (where you are)")];
        let marks: String =
            marks.iter().filter(|(key, _)| row[*key] == true).map(|(_, mark)| *mark).collect();
        let marks =
            format!("{marks}{}", if row["is_read_only"] == true { " (read-only)" } else { "" });
        lines.push(line_of(&row, &marks));
        let trouble = match answer {
            Err(trouble) => Some(trouble.clone()),
            Ok(result) => Trouble::of_result(result),
        };
        if let Some(trouble) = trouble {
            row["message"] = trouble.row(name)["message"].clone();
            lines.push(format!(
                "   does not answer: {}",
                row["message"].as_str().unwrap_or_default()
            ));
        }
        rows.push(row);
    }
    let (others, of_others) = not_served(&replies, served);
    rows.extend(others);
    lines.extend(of_others);
    if served.len() == 0 {
        lines.push(served.nobody().to_string());
    }
    let names = served.names().collect::<Vec<_>>().join(", ");
    let structured = json!({ "projects": rows, "project": names, "tick": tick });
    let text = if is_json { structured.to_string() } else { lines.join("\n") };
    Ok(json!({ "content": [{ "type": "text", "text": text }], "structuredContent": structured }))
}
