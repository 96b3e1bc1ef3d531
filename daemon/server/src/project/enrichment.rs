//! Enrichment: the model of `llm.extraction` extracts relationships from entries, after they were stored (S2).
//!
//! In: entries whose present text was not read yet. Out: readings in the ledger; from then on the graph of entries
//! includes them, each marked as a model's.
//! Invariants: nobody waits for it, and a failing model affects nothing else; an entry is read once, until its text
//! changes or a user asks for another reading; a reading that was forgotten while the model worked is not stored;
//! entries that arrive meanwhile are batched; an entry that the model cannot read delays no other; without a model
//! server nothing is done (`sampling` is none: there is no client to ask).

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

/// Most entries of one batch (S2), and the tokens that a reply needs for each.
const MAX_BATCH: usize = 10;
const TOKENS_AN_ENTRY: u32 = 200;

/// Longest wait for a settled build, before this checks whether the project still exists.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longest wait for changes.
const REST: Duration = Duration::from_secs(300);

/// Pause after the model gave nothing for an entry; doubled with each failure, up to an hour.
const RETRY: Duration = Duration::from_secs(30);
const LONGEST_RETRY: Duration = Duration::from_secs(3_600);

/// Pause while the model is busy with other requests.
const BUSY: Duration = Duration::from_secs(5);

/// Longest time for one batch of calls; the slot's own limit is usually shorter.
const LONGEST_CALL: Duration = Duration::from_secs(600);

/// The state that requests share with this task.
#[derive(Debug, Default)]
pub(crate) struct Enrichment {
    wanted: Notify,
    /// How often readings were forgotten. Held while this is compared and the readings are recorded.
    n_forgotten: Mutex<u64>,
}

/// Starts the task, if there is a model server; it ends with the project.
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
        // Subscribed before the work, so that a change during it ends the pause below.
        let mut changes = strong.build.health.changes();
        let enrichment = strong.enrichment.clone();
        let n_forgotten = *enrichment.n_forgotten.lock().await;
        // Read before the batch: `keep_readings` drops the batch if readings were forgotten meanwhile.
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
                    tracing::warn!(why, "cannot store what a model extracted");
                    RETRY
                }
            },
            Ok(Turn::Rest(rest)) => rest,
            Err(why) => {
                tracing::warn!(why, "cannot read entries");
                RETRY
            }
        };
        // Not held during the pause: the project must be able to close.
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
    /// Stores readings, unless some were forgotten since the count was `n_forgotten`.
    async fn keep_readings(&self, readings: Vec<Reading>, n_forgotten: u64) -> Result<(), String> {
        let n = self.enrichment.n_forgotten.lock().await;
        if *n == n_forgotten { self.record_readings(readings).await } else { Ok(()) }
    }

    /// Forgets readings, or requests new ones; the graph of entries shows it when this returns.
    ///
    /// # Errors
    /// The writer's message.
    pub(crate) async fn change_readings(&self, readings: Vec<Reading>) -> Result<(), String> {
        let mut n = self.enrichment.n_forgotten.lock().await;
        // Also when recording fails: a batch in flight is at worst read again.
        *n += 1;
        self.record_readings(readings).await?;
        self.enrichment.wanted.notify_one();
        Ok(())
    }

    async fn record_readings(&self, readings: Vec<Reading>) -> Result<(), String> {
        let records = readings.into_iter().map(KbRecord::Read).collect();
        self.command(|reply| Command::RecordKb(records, reply)).await?;
        self.indexes.read_anew();
        Ok(())
    }
}

/// The result of one turn.
enum Turn {
    /// Some entries were read.
    Read(Vec<Reading>),
    /// There is nothing to do for this long.
    Rest(Duration),
}

/// Reads one batch of entries. Blocks while the model answers.
fn turn(project: &Project, attempts: &mut Attempts) -> Result<Turn, String> {
    let Some(slot) = project.llms.extraction() else { return Ok(Turn::Rest(REST)) };
    let (max_chars, max_tokens) = slot.room();
    let most = MAX_BATCH.min((max_tokens / TOKENS_AN_ENTRY) as usize).max(1);
    let to_text = |error: &dyn std::fmt::Display| error.to_string();
    // In a block, so that the snapshot ends before the model is asked, which may take minutes.
    let (batch, mut nodes) = {
        let snapshot = project.snapshot().map_err(|it| to_text(&it))?;
        let entry_index = project.indexes.at(&snapshot, &project.settings.kb.folder);
        let entry_index = entry_index.map_err(|it| to_text(&it))?;
        let due = match attempts.next(entry_index.unread(), most, Instant::now()) {
            Due::Entries(due) => due,
            Due::In(rest) => return Ok(Turn::Rest(rest)),
        };
        let mut texts = Vec::new();
        for row in due {
            let details = snapshot.documents().text(row.doc).map_err(|it| to_text(&it))?;
            let details = details.ok_or_else(|| format!("`{}` is gone", row.path))?;
            texts.push(Text { key: key(row), title: row.title.clone(), details });
        }
        (fitting(texts, max_chars), Nodes::new(entry_index.graph.nodes().map(String::from)))
    };
    let ids: Vec<String> = batch.iter().map(|it| id_text(it.key.0)).collect();
    let texts: Vec<EntryText<'_>> = batch.iter().zip(&ids).map(|(it, id)| it.as_sent(id)).collect();
    let asker = Asker { client: None, until: Instant::now() + LONGEST_CALL };
    let (found, trouble) =
        ask(&texts, |prompt| slot.generate(prompt, &asker).map(|it| (it.text, it.model)));
    let mut readings = Vec::new();
    for (text, found) in batch.iter().zip(found) {
        // None: the model failed before this entry, so it stays unread.
        let Some((found, model)) = found else { continue };
        attempts.0.remove(&text.key);
        let (entry, hash) = text.key;
        let read = Enriched { entry, hash, model, ..Enriched::default() };
        readings.push(Reading::Done(match found {
            Some(found) => Enriched { relations: nodes.relations(&found), ..read },
            None => {
                let why = "the model's answer is not a list of relationships";
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

/// An entry with the hash of its text: an edited entry is another key.
type Key = (u64, [u8; 16]);

fn key(row: &EntryRow) -> Key {
    (row.number, row.text_hash)
}

/// An entry to be read.
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
        // 100 for the identifier and the words around each entry in the prompt.
        self.title.chars().count() + self.details.chars().count() + 100
    }
}

/// Returns the first texts that fit into one request, at least one.
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

/// The result for one entry: the relationships, none if the reply was not a list of them, and the model's name.
type Answer = Option<(Option<Vec<Relationship>>, String)>;

/// Asks about all entries at once, then one by one about those missing in the reply. Returns the answers in the order
/// of `texts`, and the error that ended the calls early.
fn ask(
    texts: &[EntryText<'_>],
    mut generate: impl FnMut(&Prompt) -> Result<(String, String), LlmError>,
) -> (Vec<Answer>, Option<LlmError>) {
    let mut answers: Vec<Answer> = vec![None; texts.len()];
    if texts.len() > 1 {
        let (text, model) = match generate(&batch_prompt(texts)) {
            Ok(reply) => reply,
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

/// For each entry that failed: the number of failures, and when to retry.
#[derive(Default)]
struct Attempts(HashMap<Key, (u32, Instant)>);

enum Due<'a> {
    Entries(Vec<&'a EntryRow>),
    In(Duration),
}

impl Attempts {
    /// Returns the entries to read next: new ones first, then those that failed, in smaller batches.
    fn next<'a>(
        &mut self,
        unread: impl Iterator<Item = &'a EntryRow>,
        most: usize,
        now: Instant,
    ) -> Due<'a> {
        let unread: Vec<&EntryRow> = unread.collect();
        if !self.0.is_empty() {
            // Entries that were read, edited or deleted are no longer tracked.
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
        // Entries with equally many failures, in batches that halve each time: an entry that breaks every batch ends up
        // alone, and the others succeed.
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
