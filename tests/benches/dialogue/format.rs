//! Format: dialogues in the published formats of two benchmarks.
//!
//! In: a file of LoCoMo (`locomo10.json`: `conversation` with `session_N`, `session_N_date_time`
//! and turns with `dia_id`, `qa` with `evidence`) or of LongMemEval (`longmemeval_s.json`: one
//! question each with `haystack_sessions`, `haystack_dates`, `answer_session_ids` and turns that
//! may have `has_answer`). Out: dialogues with their questions.
//! Invariants: a question without evidence is skipped, as in the benchmarks' own retrieval
//! measures; evidence that names no turn is dropped.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Sessions with questions about them.
pub(crate) struct Dialogue {
    pub(crate) sessions: Vec<Session>,
    pub(crate) questions: Vec<Question>,
}

/// The turns of one day.
pub(crate) struct Session {
    pub(crate) id: String,
    /// As written: `1:56 pm on 8 May, 2023`, `2023/05/20 (Sat) 02:21`.
    pub(crate) date: String,
    pub(crate) turns: Vec<Turn>,
}

/// One utterance of a speaker.
pub(crate) struct Turn {
    pub(crate) id: String,
    pub(crate) speaker: String,
    /// One line.
    pub(crate) text: String,
}

/// A question, and the place of its answer.
pub(crate) struct Question {
    pub(crate) text: String,
    /// Turns; empty if the format only has sessions.
    pub(crate) turns: BTreeSet<String>,
    pub(crate) sessions: BTreeSet<String>,
}

impl Dialogue {
    /// Reads a file; its shape determines the format.
    pub(crate) fn read(file: &Path) -> Result<Vec<Dialogue>> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let all: Vec<Value> = serde_json::from_str(&text)?;
        match all.first() {
            Some(one) if one["conversation"].is_object() => all.iter().map(locomo).collect(),
            Some(one) if one["haystack_sessions"].is_array() => {
                all.iter().map(longmemeval).collect()
            }
            _ => bail!("{} is neither LoCoMo's nor LongMemEval's", file.display()),
        }
    }

    /// Returns the session of a turn.
    pub(crate) fn session_of(&self, turn: &str) -> Option<&str> {
        let has = |it: &&Session| it.turns.iter().any(|it| it.id == turn);
        self.sessions.iter().find(has).map(|it| it.id.as_str())
    }

    /// Drops evidence that does not exist, and adds the sessions of the turns.
    fn checked(mut self) -> Dialogue {
        let mut questions = std::mem::take(&mut self.questions);
        for it in &mut questions {
            it.turns.retain(|turn| self.session_of(turn).is_some());
            let sessions = it.turns.iter().filter_map(|turn| self.session_of(turn));
            let sessions: Vec<String> = sessions.map(str::to_string).collect();
            it.sessions.extend(sessions);
        }
        questions.retain(|it| !it.sessions.is_empty());
        Dialogue { questions, ..self }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn texts(value: &Value) -> impl Iterator<Item = String> + '_ {
    value.as_array().into_iter().flatten().map(text)
}

fn locomo(sample: &Value) -> Result<Dialogue> {
    let conversation = sample["conversation"].as_object().context("a conversation")?;
    let mut sessions = Vec::new();
    for n in 1.. {
        let id = format!("session_{n}");
        let Some(turns) = conversation.get(&id).and_then(Value::as_array) else {
            // A few samples have dates after their last session.
            break;
        };
        let turn = |it: &Value| {
            let seen = text(&it["blip_caption"]);
            let seen = if seen.is_empty() { seen } else { format!(" [shares {seen}]") };
            Turn {
                id: text(&it["dia_id"]),
                speaker: text(&it["speaker"]),
                text: text(&it["text"]) + &seen,
            }
        };
        let date = conversation.get(&format!("{id}_date_time")).map(text).unwrap_or_default();
        sessions.push(Session { id, date, turns: turns.iter().map(turn).collect() });
    }
    let question = |it: &Value| {
        // Some evidence names several turns in one string.
        let named: Vec<String> = texts(&it["evidence"]).collect();
        let turns = named.iter().flat_map(|it| it.split([';', ',', ' '])).map(str::to_string);
        Question { text: text(&it["question"]), turns: turns.collect(), sessions: BTreeSet::new() }
    };
    let questions = sample["qa"].as_array().into_iter().flatten().map(question).collect();
    Ok(Dialogue { sessions, questions }.checked())
}

fn longmemeval(one: &Value) -> Result<Dialogue> {
    let dates: Vec<String> = texts(&one["haystack_dates"]).collect();
    let ids: Vec<String> = texts(&one["haystack_session_ids"]).collect();
    let (mut sessions, mut answering) = (Vec::new(), BTreeSet::new());
    let all = one["haystack_sessions"].as_array().context("sessions")?;
    for (at, turns) in all.iter().enumerate() {
        let mut session = Session {
            id: ids.get(at).cloned().unwrap_or_else(|| format!("session_{}", at + 1)),
            date: dates.get(at).cloned().unwrap_or_default(),
            turns: Vec::new(),
        };
        for (nth, it) in turns.as_array().into_iter().flatten().enumerate() {
            let id = format!("S{}:{}", at + 1, nth + 1);
            if it["has_answer"] == true {
                answering.insert(id.clone());
            }
            let (speaker, text) = (text(&it["role"]), text(&it["content"]));
            session.turns.push(Turn { id, speaker, text });
        }
        sessions.push(session);
    }
    let known: BTreeSet<String> = sessions.iter().map(|it| it.id.clone()).collect();
    let named = texts(&one["answer_session_ids"]).filter(|it| known.contains(it)).collect();
    let question = Question { text: text(&one["question"]), turns: answering, sessions: named };
    Ok(Dialogue { sessions, questions: vec![question] }.checked())
}
