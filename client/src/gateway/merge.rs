//! Merge: combines the answers of several projects.
//!
//! In: each project's answer, or why there is none. Out: one tool result, with new text.
//! Invariants: each hit names its `project`. Hits are ordered by relevance, and each project's own
//! order is kept: a hit is placed by the highest relevance from it on. Equal ones are ordered by
//! rank: the first of each project by score, then the second of each. The budget holds for the
//! whole, and both forms then have the same hits; `next_cursor` counts the hits returned here, not
//! those that a project returned. Projects without an answer are listed in `unavailable` and in the
//! text. `project` of the whole lists those that answered, `tick` is their latest, `projects` has
//! each one's own.

use std::cmp::Ordering;

use proto::form::fit::{fit, n_chars};
use serde_json::{Map, Value, json};

use super::cursor::{self, Onward, mark};
use super::each::each;
use super::same::Statements;
use super::served::Served;
use super::spread::{Order, Paging, Spread};
use super::text;
use super::trouble::{Trouble, error_result};

/// Most objects of an additional list, such as entities.
const MAX_ALSO: usize = 20;

/// Fields that belong to the statements of an answer.
const OF_ANSWER: [&str; 6] = ["plan", "reason", "about", "passages", "conflicts", "hint"];

/// Fields that are summed.
const SUMS: [&str; 7] =
    ["n_notes", "hidden_stale", "n_added", "n_changed", "n_moved", "n_removed", "n_left"];

/// A project's answer to a tool call.
pub(super) type Answer = Result<Value, Trouble>;

/// A hit with its sort keys.
#[derive(Debug, Clone)]
struct Hit {
    project: usize,
    rank: usize,
    /// The highest relevance of this hit and the later ones of its project.
    relevance: f64,
    value: Value,
    beside: Option<Value>,
}

/// The reply of one project.
struct Reply {
    target: Onward,
    fields: Map<String, Value>,
    hits: Vec<Hit>,
}

impl Reply {
    fn is_set(&self, name: &str) -> bool {
        self.fields.get(name) == Some(&Value::Bool(true))
    }

    /// Returns whether its hits are ordered by day.
    fn is_dated(&self) -> bool {
        let plan = self.fields.get("plan").and_then(Value::as_str);
        plan == Some("timeline")
    }
}

/// Merges the answers of the targets of `spread`, in their order.
pub(super) fn merge(spread: &Spread, answers: Vec<Answer>, served: &Served) -> Value {
    if spread.spec.order == Order::Each {
        return each(spread, answers, served);
    }
    let (mut replies, mut troubles) = (Vec::new(), Vec::new());
    for (target, answer) in spread.targets.iter().zip(answers) {
        match answer.and_then(|result| read(spread, target, result)) {
            Ok(reply) => replies.push(reply),
            Err(trouble) => troubles.push((target.clone(), trouble)),
        }
    }
    if replies.is_empty() {
        return all_failed(&troubles, served);
    }
    if matches!(spread.spec.order, Order::Answer | Order::Latest) {
        // A project that lacks a name, or has nothing on the question, is not an error if another
        // one answers.
        troubles.retain(|(_, it)| it.code != "not_found");
    }
    if spread.spec.order == Order::Answer {
        let knows = |it: &Reply| !it.hits.is_empty() && !it.is_set("nothing_relevant");
        if replies.iter().any(knows) {
            for reply in replies.iter_mut().filter(|it| !knows(it)) {
                reply.hits.clear();
                reply.fields.retain(|name, _| !OF_ANSWER.contains(&name.as_str()));
            }
        }
    }
    let statements = served.statements();
    let whole =
        Whole { spread, served, replies: &replies, troubles: &troubles, statements: &statements };
    let hits = whole.ordered();
    let mut n = hits.len().min(spread.n_returned);
    let mut extras = MAX_ALSO;
    loop {
        let (mut structured, text, n_shown) = whole.compose(&hits, n, extras);
        let has_room = || !spread.is_structured || n_chars(&structured) <= spread.max_chars;
        let fits = !spread.is_bounded || n_shown >= n && has_room();
        if fits || (n <= 1 && extras == 0) {
            if spread.is_structured {
                fit(&mut structured, spread.max_chars);
            }
            let text = if spread.is_json { structured.to_string() } else { text };
            return json!({
                "content": [{ "type": "text", "text": text }],
                "structuredContent": structured,
            });
        }
        // The least important part is dropped first. In the text, additional lists follow all hits
        // and take no room from them.
        match extras {
            0 => n -= 1,
            _ if n_shown < n => n = n_shown.max(1),
            _ => extras /= 2,
        }
    }
}

fn read(spread: &Spread, target: &Onward, result: Value) -> Result<Reply, Trouble> {
    if let Some(trouble) = Trouble::of_result(&result) {
        return Err(trouble);
    }
    let Value::Object(mut result) = result else { return Err(Trouble::strange()) };
    let Some(Value::Object(mut fields)) = result.remove("structuredContent") else {
        return Err(Trouble::strange());
    };
    let spec = spread.spec;
    let mut list = |name: &str| match fields.shift_remove(name) {
        Some(Value::Array(list)) => Some(list),
        _ => None,
    };
    let values = list(spec.hits).ok_or_else(Trouble::strange)?;
    let mut beside = spec.beside.and_then(&mut list).unwrap_or_default().into_iter();
    let pairs = values.into_iter().map(|value| (value, beside.next()));
    let fresh =
        pairs.filter(|(value, _)| handle(value).is_none_or(|it| !target.returned.contains(&it)));
    let hits = fresh.enumerate().map(|(rank, (value, beside))| Hit {
        project: target.project,
        rank,
        relevance: relevance(&value),
        value,
        beside,
    });
    let mut hits: Vec<Hit> = hits.collect();
    let mut greatest = 0.0;
    for hit in hits.iter_mut().rev() {
        greatest = f64::max(greatest, hit.relevance);
        hit.relevance = greatest;
    }
    Ok(Reply { target: target.clone(), hits, fields })
}

/// Returns how relevant a hit is to the question, 0 to 1. Older daemons only mark `weak` hits.
fn relevance(hit: &Value) -> f64 {
    let is_weak = hit.get("weak") == Some(&Value::Bool(true));
    let unsaid = if is_weak { 0.0 } else { 1.0 };
    hit.get("relevance").and_then(Value::as_f64).unwrap_or(unsaid)
}

/// Returns a hash that distinguishes a hit from others of its project.
fn handle(hit: &Value) -> Option<u32> {
    hit.get("ref").and_then(Value::as_str).map(mark)
}

pub(super) fn all_failed(troubles: &[(Onward, Trouble)], served: &Served) -> Value {
    let Some((_, first)) = troubles.first() else {
        return error_result(&Trouble::strange().view(), Map::new());
    };
    let mut view = first.view();
    // An error that all share, such as an invalid parameter, does not belong to a project.
    let is_alike =
        |(_, it): &(Onward, Trouble)| (&it.code, &it.message) == (&first.code, &first.message);
    if troubles.iter().all(is_alike) {
        return error_result(&view, Map::new());
    }
    let lines = troubles.iter().map(|(it, trouble)| {
        let row = trouble.row(served.name(it.project));
        format!("{}: {}", served.name(it.project), row["message"].as_str().unwrap_or_default())
    });
    view.code = proto::error::Code::Unavailable;
    view.message = format!("no project answers\n{}", lines.collect::<Vec<_>>().join("\n"));
    view.hint = None;
    error_result(&view, unavailable(troubles, served))
}

pub(super) fn unavailable(troubles: &[(Onward, Trouble)], served: &Served) -> Map<String, Value> {
    let rows = troubles.iter().map(|(it, trouble)| trouble.row(served.name(it.project)));
    let rows: Vec<_> = rows.collect();
    let rows = (!rows.is_empty()).then(|| ("unavailable".to_string(), Value::Array(rows)));
    rows.into_iter().collect()
}

/// Returns an object with the project as its first field.
pub(super) fn named(project: &str, value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let mut out = Map::with_capacity(fields.len() + 1);
    out.insert("project".to_string(), project.into());
    out.extend(
        fields.iter().filter(|(name, _)| *name != "project").map(|(k, v)| (k.clone(), v.clone())),
    );
    Value::Object(out)
}

/// All answers, and what merging them needs.
struct Whole<'a> {
    spread: &'a Spread,
    served: &'a Served,
    replies: &'a [Reply],
    troubles: &'a [(Onward, Trouble)],
    statements: &'a Statements,
}

impl Whole<'_> {
    /// Returns all hits in their final order, without those of earlier pages.
    fn ordered(&self) -> Vec<Hit> {
        let mut hits: Vec<Hit> =
            self.replies.iter().flat_map(|it| it.hits.iter().cloned()).collect();
        let text =
            |hit: &Hit, name: &str| hit.value.get(name).and_then(Value::as_str).map(str::to_string);
        let score = |hit: &Hit| hit.value.get("score").and_then(Value::as_f64).unwrap_or(0.0);
        let mut answering = self.replies.iter().filter(|it| !it.hits.is_empty());
        let is_dated = answering.all(Reply::is_dated);
        // A stable sort: ties keep the order of the projects.
        match self.spread.spec.order {
            Order::Answer if is_dated => {
                hits.sort_by(|one, other| {
                    relevance(&other.value).total_cmp(&relevance(&one.value))
                });
                hits.truncate(self.spread.n_returned);
                hits.sort_by_key(|it| text(it, "date"));
            }
            Order::Relevance | Order::Answer => hits.sort_by(|one, other| {
                let by_score = || score(other).partial_cmp(&score(one)).unwrap_or(Ordering::Equal);
                // A project with no answer has a first hit, too: it must not precede those of a
                // better project.
                let by_relevance = other.relevance.total_cmp(&one.relevance);
                by_relevance.then(one.rank.cmp(&other.rank)).then_with(by_score)
            }),
            Order::Latest => hits.sort_by_key(|it| {
                std::cmp::Reverse(text(it, "modified").or_else(|| text(it, "at")))
            }),
            Order::Path => hits.sort_by_key(|it| text(it, "path")),
            // These are not merged (`each.rs`).
            Order::Each => {}
        }
        hits.drain(..self.spread.n_skipped.min(hits.len()));
        hits
    }

    /// Composes the first `n` hits, with at most `extras` objects of each additional list. Returns
    /// both forms, and how many hits fit the text.
    fn compose(&self, hits: &[Hit], n: usize, extras: usize) -> (Value, String, usize) {
        let shown = hits.get(..n).unwrap_or(hits);
        let spec = self.spread.spec;
        let mut out = Map::new();
        let name = |it: &Hit| self.served.name(it.project);
        let list = shown.iter().map(|it| named(name(it), &it.value)).collect();
        out.insert(spec.hits.to_string(), list);
        if let Some(beside) = spec.beside {
            let list = shown.iter().map(|it| it.beside.clone().unwrap_or_else(|| "".into()));
            out.insert(beside.to_string(), list.collect());
        }
        for also in spec.also {
            out.insert(also.to_string(), self.by_rank(also, extras).into());
        }
        for texts in spec.texts {
            let list = self.texts(texts);
            if !list.is_empty() {
                out.insert(texts.to_string(), list.into());
            }
        }
        if let Some(Value::Array(entities)) = out.get_mut("entities") {
            self.statements.mark(entities);
        }
        self.insert_rest(&mut out, hits, n);
        let (text, n_shown) = text::write(self.spread, &out, self.troubles, self.served);
        (Value::Object(out), text, n_shown)
    }

    fn by_rank(&self, name: &str, most: usize) -> Vec<Value> {
        let lists: Vec<(&str, &Vec<Value>)> = self
            .replies
            .iter()
            .filter_map(|it| {
                Some((self.served.name(it.target.project), it.fields.get(name)?.as_array()?))
            })
            .collect();
        let longest = lists.iter().map(|(_, list)| list.len()).max().unwrap_or(0);
        let all = (0..longest).flat_map(|rank| {
            lists.iter().filter_map(move |(project, list)| Some(named(project, list.get(rank)?)))
        });
        all.take(most).collect()
    }

    fn texts(&self, name: &str) -> Vec<String> {
        let lists = self.replies.iter().flat_map(|it| {
            let project = self.served.name(it.target.project);
            let list = it.fields.get(name).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(move |text| format!("[{project}] {text}"))
        });
        lists.collect()
    }

    /// Adds the fields that concern the whole.
    fn insert_rest(&self, out: &mut Map<String, Value>, hits: &[Hit], n: usize) {
        let is_set = |name: &str| self.replies.iter().any(|it| it.fields.contains_key(name));
        if is_set("nothing_relevant") {
            // A project without hits need not state it.
            let is_so = |it: &Reply| it.is_set("nothing_relevant") || it.hits.is_empty();
            out.insert("nothing_relevant".to_string(), self.replies.iter().all(is_so).into());
        }
        let first = hits.first().map(|hit| hit.project);
        let first = self.replies.iter().find(|it| Some(it.target.project) == first);
        if let Some(plan) = first.or(self.replies.first()).and_then(|it| it.fields.get("plan")) {
            out.insert("plan".to_string(), plan.clone());
        }
        let conflicts = self.conflicts(hits.get(..n).unwrap_or(hits));
        if !conflicts.is_empty() {
            out.insert("conflicts".to_string(), conflicts.into());
        }
        for name in ["reason", "relaxed", "hint", "building", "since"] {
            if let Some(text) = self.joined(name) {
                out.insert(name.to_string(), text.into());
            }
        }
        for name in ["search_type"] {
            if let Some(first) = self.replies.iter().find_map(|it| it.fields.get(name)) {
                out.insert(name.to_string(), first.clone());
            }
        }
        for name in SUMS.into_iter().filter(|name| is_set(name)) {
            let of = |it: &Reply| it.fields.get(name).and_then(Value::as_u64).unwrap_or(0);
            out.insert(name.to_string(), self.replies.iter().map(of).sum::<u64>().into());
        }
        self.insert_onward(out, hits, n);
        let names: Vec<&str> =
            self.replies.iter().map(|it| self.served.name(it.target.project)).collect();
        let tick = |it: &Reply| it.fields.get("tick").and_then(Value::as_u64).unwrap_or(0);
        out.insert("project".to_string(), names.join(", ").into());
        out.insert("tick".to_string(), self.replies.iter().map(tick).max().unwrap_or(0).into());
        let each = self.replies.iter().zip(&names).map(|(it, name)| {
            let mut row = json!({ "project": name, "tick": tick(it) });
            for name in ["building", "since_tick"] {
                if let Some(value) = it.fields.get(name) {
                    row[name] = value.clone();
                }
            }
            row
        });
        out.insert("projects".to_string(), each.collect());
        if let Some(all) = self.spread.chosen_of {
            let n = self.spread.targets.len();
            let asked = format!(
                "asked {n} of {} projects, those that fit best; name `project` to ask another",
                crate::render::thousands(all as u64)
            );
            out.insert("asked".to_string(), asked.into());
        }
        out.extend(unavailable(self.troubles, self.served));
    }

    /// Returns the contradictions within each project, numbered like the statements here.
    fn conflicts(&self, shown: &[Hit]) -> Vec<Value> {
        let mut all = Vec::new();
        for reply in self.replies {
            let list = reply.fields.get("conflicts").and_then(Value::as_array);
            for conflict in list.into_iter().flatten() {
                let number = |at: usize| {
                    let own = conflict.get("statements")?.get(at)?.as_u64()? as usize;
                    let is_it = |it: &Hit| it.project == reply.target.project && it.rank + 1 == own;
                    shown.iter().position(is_it).map(|at| at + 1)
                };
                if let (Some(one), Some(other)) = (number(0), number(1)) {
                    all.push(json!({ "statements": [one, other], "why": conflict.get("why") }));
                }
            }
        }
        all
    }

    /// Joins the projects' values of a field: one value if all are equal, otherwise each with its
    /// project.
    fn joined(&self, name: &str) -> Option<String> {
        let values: Vec<(&str, &str)> = self
            .replies
            .iter()
            .filter_map(|it| {
                Some((self.served.name(it.target.project), it.fields.get(name)?.as_str()?))
            })
            .collect();
        let (_, first) = values.first()?;
        if values.len() == self.replies.len() && values.iter().all(|(_, text)| text == first) {
            return Some(first.to_string());
        }
        Some(
            values
                .iter()
                .map(|(name, text)| format!("{name}: {text}"))
                .collect::<Vec<_>>()
                .join("; "),
        )
    }

    /// Adds whether the answer continues, and where.
    fn insert_onward(&self, out: &mut Map<String, Value>, hits: &[Hit], n: usize) {
        let is_more = |it: &Reply| {
            it.fields.get("has_more") == Some(&Value::Bool(true))
                || ["next_page", "next_cursor", "more", "n_left"]
                    .iter()
                    .any(|name| it.fields.contains_key(*name))
        };
        let has_more = hits.len() > n || self.replies.iter().any(is_more);
        match self.spread.spec.paging {
            Paging::Cursor => {
                if let Some(cursor) = cursor::write(&self.onward(hits, n), self.served) {
                    out.insert("next_cursor".to_string(), cursor.into());
                }
                if n < hits.len().min(self.spread.n_returned) {
                    let all = hits.len().min(self.spread.n_returned);
                    let cut = format!("{n} of {all} hits fit; raise `max_chars` for more");
                    out.insert("truncated".to_string(), cut.into());
                } else if let Some(text) = self.joined("truncated") {
                    out.insert("truncated".to_string(), text.into());
                }
            }
            Paging::Limit if has_more && self.spread.is_bounded => {
                let more = "there are more: raise `limit` or `max_chars`, or name a `project`";
                out.insert("more".to_string(), more.into());
            }
            Paging::Limit => {}
            Paging::Pages { .. }
                if self.replies.iter().any(|it| it.fields.contains_key("has_more")) =>
            {
                out.insert("page".to_string(), self.spread.page.into());
                out.insert("page_size".to_string(), self.spread.n_returned.into());
                out.insert("has_more".to_string(), has_more.into());
            }
            Paging::Pages { .. } if has_more => {
                out.insert("next_page".to_string(), (self.spread.page + 1).into());
            }
            Paging::Pages { .. } => {}
        }
    }

    /// Returns where each project continues after the first `n` hits: after its whole answer, or
    /// within it. A project that did not answer starts where it should have started now; such
    /// projects alone make no further page.
    fn onward(&self, hits: &[Hit], n: usize) -> Vec<Onward> {
        let mut onward = Vec::new();
        for reply in self.replies {
            let of_it = |it: &&Hit| it.project == reply.target.project;
            let handles: Vec<u32> =
                hits.iter().take(n).filter(of_it).filter_map(|it| handle(&it.value)).collect();
            let next = reply.fields.get("next_cursor").and_then(Value::as_str);
            if handles.len() < reply.hits.len() {
                let returned = reply.target.returned.iter().copied().chain(handles).collect();
                onward.push(Onward { returned, ..reply.target.clone() });
            } else if let Some(next) = next {
                let (project, cursor) = (reply.target.project, Some(next.to_string()));
                onward.push(Onward { project, cursor, returned: Vec::new() });
            }
        }
        if !onward.is_empty() {
            onward.extend(self.troubles.iter().map(|(target, _)| target.clone()));
        }
        onward
    }
}

#[cfg(test)]
mod tests;
