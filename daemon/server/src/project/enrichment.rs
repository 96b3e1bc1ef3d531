//! Enrichment: the model of `llm.extraction` reads what entries speak of, after they were stored (S2).
//!
//! In: entries that it has not read as they are now. Out: readings in the ledger; the graph of entries has them from
//! then on, each marked as a model's.
//! Invariants: nobody waits for it, and no trouble of a model is anybody else's; an entry is read once, until its text
//! changes or somebody wants it read again; what was forgotten while it was read is not kept; while the model answers,
//! what comes waits and goes in one batch; an entry that a model cannot read holds up no other; without a server of a
//! model (`sampling` is none: nobody asks) nothing is done.
//! Not here: what is asked and how replies are read (`llm/relationships.rs`), budget, pauses and what is hidden
//! (`llm/slot.rs`).

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use notes::entry::id_text;
use tokio::sync::{Mutex, Notify};

use super::Project;
use crate::llm::relationships::{
    EntryText, Nodes, Relationship, batch_prompt, parse, parse_batch, prompt,
};
use crate::llm::{Asker, LlmError, Prompt, Slot};
use engine::write::Command;
use index::store::{Enriched, KbRecord, Reading};
use query::kb::EntryRow;

/// Most entries of one batch (S2), and the tokens of a reply that one needs.
const MAX_BATCH: usize = 10;
const TOKENS_AN_ENTRY: u32 = 200;

/// How long one wait for a settled build lasts before the project is looked for again.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long one wait for news lasts.
const REST: Duration = Duration::from_secs(300);

/// How long an entry rests for which the model gave nothing; it doubles, up to an hour.
const RETRY: Duration = Duration::from_secs(30);
const LONGEST_RETRY: Duration = Duration::from_secs(3_600);

/// How long all rest when the model answers others.
const BUSY: Duration = Duration::from_secs(5);

/// What is asked next waits for this long at most; the slot's own limit is usually shorter.
const LONGEST_CALL: Duration = Duration::from_secs(600);

/// What it reports.
#[derive(Debug, Default)]
pub(crate) struct Enrichment {
    wanted: Notify,
    /// Held from a look at it to the record: how often readings were forgotten.
    n_forgotten: Mutex<u64>,
}

/// Starts it, where there is a model; it ends with the project.
pub(super) fn begin(project: &Arc<Project>) {
    if project.llms.extraction().is_some_and(Slot::is_server) {
        tokio::spawn(follow(Arc::downgrade(project)));
    }
}

async fn follow(project: Weak<Project>) {
    let mut attempts = Attempts::default();
    loop {
        let Some(strong) = project.upgrade() else { return };
        let activity = strong.activity.clone();
        if !strong.wait_until(PATIENCE, |it| it.settled().resolved).await {
            if strong.is_poisoned().is_some() || activity.is_stopping() {
                return;
            }
            continue;
        }
        let mut changes = strong.build.health.changes();
        let enrichment = strong.enrichment.clone();
        let n_forgotten = *enrichment.n_forgotten.lock().await;
        let worker = strong.clone();
        let work = move || {
            let turn = turn(&worker, &mut attempts);
            (turn, attempts)
        };
        let Ok((turn, kept)) = tokio::task::spawn_blocking(work).await else { return };
        attempts = kept;
        let rest = match turn {
            Ok(Turn::Read(readings)) => match strong.keep_readings(readings, n_forgotten).await {
                Ok(()) => continue,
                Err(why) => {
                    tracing::warn!(why, "what a model read could not be kept");
                    RETRY
                }
            },
            Ok(Turn::Rest(rest)) => rest,
            Err(why) => {
                tracing::warn!(why, "entries could not be looked at");
                RETRY
            }
        };
        drop(strong);
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = enrichment.wanted.notified() => {}
            () = tokio::time::sleep(rest) => {}
            () = activity.stop_requested() => return,
        }
    }
}

impl Project {
    /// Keeps readings, unless some were forgotten since there were `n_forgotten`.
    async fn keep_readings(&self, readings: Vec<Reading>, n_forgotten: u64) -> Result<(), String> {
        let n = self.enrichment.n_forgotten.lock().await;
        if *n == n_forgotten { self.record_readings(readings).await } else { Ok(()) }
    }

    /// Forgets readings, or has them made again; the graph of entries shows it when this returns.
    ///
    /// # Errors
    /// The writer's words.
    pub(crate) async fn change_readings(&self, readings: Vec<Reading>) -> Result<(), String> {
        let mut n = self.enrichment.n_forgotten.lock().await;
        *n += 1;
        self.record_readings(readings).await?;
        self.enrichment.wanted.notify_one();
        Ok(())
    }

    async fn record_readings(&self, readings: Vec<Reading>) -> Result<(), String> {
        let records = readings.into_iter().map(KbRecord::Read).collect();
        self.command(|reply| Command::RecordKb(records, reply)).await?;
        self.shelves.read_anew();
        Ok(())
    }
}

/// What one turn gave.
enum Turn {
    /// Some entries were read.
    Read(Vec<Reading>),
    /// There is nothing to do for so long.
    Rest(Duration),
}

/// Reads one batch.
fn turn(project: &Project, attempts: &mut Attempts) -> Result<Turn, String> {
    let Some(slot) = project.llms.extraction() else { return Ok(Turn::Rest(REST)) };
    let (max_chars, max_tokens) = slot.room();
    let most = MAX_BATCH.min((max_tokens / TOKENS_AN_ENTRY) as usize).max(1);
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let (batch, mut nodes) = {
        let snapshot = project.snapshot().map_err(|it| told(&it))?;
        let shelf = project.shelves.at(&snapshot, &project.settings.kb.folder);
        let shelf = shelf.map_err(|it| told(&it))?;
        let due = match attempts.next(shelf.unread(), most, Instant::now()) {
            Due::Entries(due) => due,
            Due::In(rest) => return Ok(Turn::Rest(rest)),
        };
        let sql = "SELECT text FROM docs WHERE id = ?1";
        let mut statement = snapshot.prepare_cached(sql).map_err(|it| told(&it))?;
        let mut texts = Vec::new();
        for row in due {
            let details: String =
                statement.query_row([row.doc], |row| row.get(0)).map_err(|it| told(&it))?;
            texts.push(Text { key: key(row), title: row.title.clone(), details });
        }
        (fitting(texts, max_chars), Nodes::new(shelf.graph.nodes().map(String::from)))
    };
    let ids: Vec<String> = batch.iter().map(|it| id_text(it.key.0)).collect();
    let texts: Vec<EntryText<'_>> = batch.iter().zip(&ids).map(|(it, id)| it.as_sent(id)).collect();
    let asker = Asker { client: None, until: Instant::now() + LONGEST_CALL };
    let (found, trouble) =
        ask(&texts, |prompt| slot.generate(prompt, &asker).map(|it| (it.text, it.model)));
    let mut readings = Vec::new();
    for (text, found) in batch.iter().zip(found) {
        let Some((found, model)) = found else { continue };
        attempts.0.remove(&text.key);
        let (entry, hash) = text.key;
        let read = Enriched { entry, hash, model, ..Enriched::default() };
        readings.push(Reading::Done(match found {
            Some(found) => Enriched { relations: nodes.relations(&found), ..read },
            None => {
                let why = "it answered something else than a list of relationships";
                Enriched { trouble: Some(why.into()), ..read }
            }
        }));
    }
    if !readings.is_empty() {
        return Ok(Turn::Read(readings));
    }
    Ok(Turn::Rest(match trouble {
        Some(LlmError::Spent { again, .. } | LlmError::Paused { again, .. }) => again,
        Some(LlmError::Busy) => BUSY,
        Some(LlmError::Failed { why }) => {
            tracing::debug!(why, "entries wait for a model");
            batch.iter().for_each(|it| attempts.failed(it.key, Instant::now()));
            // Others may fare better.
            Duration::ZERO
        }
        _ => REST,
    }))
}

/// An entry in one wording.
type Key = (u64, [u8; 16]);

fn key(row: &EntryRow) -> Key {
    (row.number, row.text_hash)
}

/// An entry that is to be read.
struct Text {
    key: Key,
    title: String,
    details: String,
}

impl Text {
    fn as_sent<'a>(&'a self, id: &'a str) -> EntryText<'a> {
        EntryText { id, title: &self.title, details: &self.details }
    }

    fn n_chars(&self) -> usize {
        self.title.chars().count() + self.details.chars().count() + 100
    }
}

/// The first ones that go into one request, at least one.
fn fitting(mut texts: Vec<Text>, max_chars: usize) -> Vec<Text> {
    let mut sum = 0;
    let n = texts.iter().take_while(|it| {
        sum += it.n_chars();
        sum <= max_chars
    });
    let n = n.count().max(1);
    texts.truncate(n);
    texts
}

/// What a model said about one entry: the relationships, none where it said something else; and which model.
type Answer = Option<(Option<Vec<Relationship>>, String)>;

/// Asks about all of them at once, then one by one about those that the reply left out. The answers in their order,
/// and why there are no more.
fn ask(
    texts: &[EntryText<'_>],
    mut generate: impl FnMut(&Prompt) -> Result<(String, String), LlmError>,
) -> (Vec<Answer>, Option<LlmError>) {
    let mut answers: Vec<Answer> = vec![None; texts.len()];
    if texts.len() > 1 {
        let (text, model) = match generate(&batch_prompt(texts)) {
            Ok(said) => said,
            Err(error) => return (answers, Some(error)),
        };
        let ids: Vec<&str> = texts.iter().map(|it| it.id).collect();
        for (at, found) in parse_batch(&text, &ids).unwrap_or_default() {
            if let Some(answer) = answers.get_mut(at) {
                *answer = Some((Some(found), model.clone()));
            }
        }
    }
    for (text, answer) in texts.iter().zip(&mut answers) {
        if answer.is_some() {
            continue;
        }
        match generate(&prompt(*text)) {
            Ok((text, model)) => *answer = Some((parse(&text), model)),
            Err(error) => return (answers, Some(error)),
        }
    }
    (answers, None)
}

/// How often the model gave nothing for an entry, and when it is asked again.
#[derive(Default)]
struct Attempts(HashMap<Key, (u32, Instant)>);

enum Due<'a> {
    Entries(Vec<&'a EntryRow>),
    In(Duration),
}

impl Attempts {
    /// What is to be read next: first entries that were not tried, then those that failed, in smaller batches.
    fn next<'a>(
        &mut self,
        unread: impl Iterator<Item = &'a EntryRow>,
        most: usize,
        now: Instant,
    ) -> Due<'a> {
        let unread: Vec<&EntryRow> = unread.collect();
        if !self.0.is_empty() {
            let left: std::collections::HashSet<Key> = unread.iter().map(|row| key(row)).collect();
            self.0.retain(|key, _| left.contains(key));
        }
        let is_new = |row: &&&EntryRow| !self.0.contains_key(&key(row));
        let new: Vec<&EntryRow> = unread.iter().filter(is_new).take(most).copied().collect();
        if !new.is_empty() {
            return Due::Entries(new);
        }
        let tried = || unread.iter().filter_map(|row| Some((*self.0.get(&key(row))?, *row)));
        let Some(((n, at), _)) = tried().min_by_key(|((_, at), _)| *at) else {
            return Due::In(REST);
        };
        if at > now {
            return Due::In(at - now);
        }
        let alike = tried().filter(|((n_failed, at), _)| *n_failed == n && *at <= now);
        let most = most.checked_shr(n).unwrap_or(0).max(1);
        Due::Entries(alike.map(|(_, row)| row).take(most).collect())
    }

    fn failed(&mut self, key: Key, now: Instant) {
        let n = self.0.get(&key).map_or(0, |it| it.0);
        let rest = RETRY.saturating_mul(2u32.saturating_pow(n)).min(LONGEST_RETRY);
        self.0.insert(key, (n + 1, now + rest));
    }
}
