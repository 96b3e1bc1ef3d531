//! Questions: how well the user's own questions are answered from their own folder.
//!
//! In: a table of questions and the documents that answer them; the project; settings to compare with. Out: a report.
//! Invariants: the folder and its index are only read; a comparison reads the folder twice, into scratch folders that
//! go in the end, by runs of this same program that differ in nothing but the settings compared.
//! Not here: reading the table (`table.rs`) and the settings (`change.rs`), the metrics and the report
//! (`client::render::questions`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::connect::Session;
use client::render::questions::{Against, Answered, Scored, Told, questions};
use client::score;
use client::signals::told_to_stop;
use proto::error::Code;
use proto::tool::core::{ReadPassage, Status, UNRANKED};
use serde_json::Value;

use super::super::context::warn;
use super::change;
use super::stage::Scratch;
use super::table::{self, Question, Table};
use super::{Arguments, Context, Exit, FORMULAS, Failure, PATIENCE, found_for, read_file, wait};

/// Most lines of a table of which it is told what is wrong with them.
const MAX_TOLD: usize = 20;

/// Between two looks at how far the vectors are.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(super) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let (table, against) = (arguments.of.as_path(), arguments.against.as_slice());
    let (root, places) = (ctx.project()?.root, ctx.places()?);
    let change = change::read(against, &places, &root)?;
    let Table { questions: asked, mut told } = parse(table, &root)?;
    let answered = if against.is_empty() {
        let session = ctx.session().await?;
        wait::settle(&session, PATIENCE).await?;
        if arguments.with_vectors {
            wait_for_vectors(&session).await?;
        }
        let lacking = lacking(&session, arguments.with_vectors).await?;
        told.extend(lacking.map(|why| Told { line: None, why, left_out: false }));
        told.extend(not_indexed(&session, &asked).await?);
        let mut answered = ask_all(&session, &asked).await?;
        told.extend(unranked(&session).await?);
        session.close().await;
        answered.told = told;
        answered
    } else {
        for idle in &change.idle {
            warn(&format!("{idle}: nothing to compare\n"));
        }
        // Both in the same way, so that nothing but the settings differs: not by the project's own daemon, which may
        // have vectors that take hours to make again. It is vectors that are compared, or they cost nobody the wait.
        let common = if change.is_about_vectors { BETTER } else { STATIC };
        let models = places.models();
        let mut answered = elsewhere((table, &root, &models), (common, &[])).await?;
        let other = elsewhere((table, &root, &models), (common, &change.variables)).await?;
        // Nothing would be compared.
        if let Some(told) = other.told.iter().find(|it| it.why.starts_with(UNRANKED)) {
            let why = format!("with the other settings: {}", told.why);
            return Err(Failure::new(Exit::Failed, why));
        }
        answered.against = Some(Box::new(Against { settings: against.to_vec(), answered: other }));
        answered
    };
    tell(&answered);
    ctx.print_reply(&answered, |answered| questions(answered, arguments.each, ctx.style))?;
    Ok(Exit::Done)
}

/// A variable of the environment that both sides of a comparison run with.
type Common = (&'static str, &'static str);

/// Static vectors, which every folder has at once.
const STATIC: Common = ("KG_EMBED__MODEL", "none");

/// The better model's, all of them.
const BETTER: Common = ("KG_EMBED__BACKGROUND", "on");

/// Says what is to be known of the figures, where people look.
fn tell(answered: &Answered) {
    let other = answered.against.as_ref().map(|it| &it.answered.told);
    // What is wrong with the table is so on both sides.
    let other = other.into_iter().flatten().filter(|it| it.line.is_none());
    let other = other.map(|it| format!("with the other settings: {}", it.text()));
    let told: Vec<String> = answered.told.iter().map(Told::text).chain(other).collect();
    for text in told.iter().take(MAX_TOLD) {
        warn(&format!("{text}\n"));
    }
    if told.len() > MAX_TOLD {
        warn(&format!("and {} more; `--json` tells all\n", told.len() - MAX_TOLD));
    }
}

/// What to say where the better model's vectors are not all there: scores change until they are.
async fn lacking(session: &Session, were_wanted: bool) -> Result<Option<String>, Failure> {
    let Some(it) = session.call(&Status::default()).await?.embedding else {
        let none =
            "`--with-vectors`: there are static vectors alone, because `embed.model` is `none`";
        return Ok(were_wanted.then(|| none.to_string()));
    };
    let hint = match it.state.as_str() {
        "off" => "`embed.background` is off, so no more are made, and nothing was waited for",
        "failed" => "`kgctl doctor` says why",
        _ => "`--with-vectors` waits for them",
    };
    let (done, total, model) = (it.done, it.total, it.model);
    Ok((done < total).then(|| {
        format!("{done} of {total} windows have a vector of {model}, the others count by static ones\nhint: {hint}")
    }))
}

/// What to say where the model that orders hits anew cannot be used, which may show with the first question.
async fn unranked(session: &Session) -> Result<Option<Told>, Failure> {
    let warnings = session.call(&Status::default()).await?.warnings.into_iter();
    let why = warnings.map(|it| it.warning).find(|it| it.starts_with(UNRANKED));
    Ok(why.map(|why| Told { line: None, why, left_out: false }))
}

/// The files that answer a question and are not in the index: nothing can find them.
async fn not_indexed(session: &Session, asked: &[Question]) -> Result<Vec<Told>, Failure> {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut told = Vec::new();
    for it in asked {
        for path in &it.wanted {
            if !known.contains_key(path.as_str()) {
                known.insert(path, is_indexed(session, path).await?);
            }
        }
        let missing = it.wanted.iter().filter(|path| known.get(path.as_str()) == Some(&false));
        let missing: Vec<String> = missing.map(|path| format!("`{path}`")).collect();
        if !missing.is_empty() {
            let what = if missing.len() == 1 {
                "is not indexed, or has"
            } else {
                "are not indexed, or have"
            };
            let why = format!("{} {what} no text: counted as not found", missing.join(", "));
            told.push(Told { line: Some(it.line), why, left_out: false });
        }
    }
    Ok(told)
}

async fn is_indexed(session: &Session, path: &str) -> Result<bool, Failure> {
    let request =
        ReadPassage { at: path.to_string(), max_chars: Some(200), ..ReadPassage::default() };
    match session.call(&request).await {
        Ok(reply) => Ok(reply.path == path),
        Err(error) if matches!(error.code(), Some(Code::NotFound | Code::Ambiguous)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads the table.
fn parse(path: &Path, root: &Path) -> Result<Table, Failure> {
    let hint = "a line is a question, a tab, and the files that answer it, parted by commas; a header names \
                the columns `question` and `paths`";
    let shown = path.display();
    let refused = |why: String| Failure::new(Exit::Refused, why).hint(hint);
    let table =
        table::read(&read_file(path)?, root).map_err(|why| refused(format!("`{shown}`, {why}")))?;
    if !table.questions.is_empty() {
        return Ok(table);
    }
    let why: Vec<String> = table.told.iter().take(MAX_TOLD).map(Told::text).collect();
    Err(refused(match why.is_empty() {
        true => format!("no question in `{shown}`"),
        false => format!("no question in `{shown}` can be asked: {}", why.join("; ")),
    }))
}

/// Waits until the better model has made all its vectors, where there is one.
async fn wait_for_vectors(session: &Session) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let status = session.call(&Status::default()).await?;
        let Some(embedding) = status.embedding.filter(|it| it.state != "off") else {
            return Ok(());
        };
        if embedding.state == "failed" {
            let why = embedding.trouble.unwrap_or_default();
            return Err(Failure::new(Exit::Failed, format!("the vectors cannot be made: {why}")));
        }
        if embedding.again_seconds.is_some_and(|seconds| seconds > PATIENCE.as_secs()) {
            let why = embedding.trouble.unwrap_or_default();
            return Err(Failure::new(Exit::TimedOut, format!("the vectors must wait: {why}")));
        }
        if embedding.state == "done" && embedding.done == embedding.total {
            return Ok(());
        }
        if started.elapsed() > PATIENCE {
            let (done, total) = (embedding.done, embedding.total);
            let message =
                format!("{done} of {total} vectors were made in {} s", PATIENCE.as_secs());
            return Err(Failure::new(Exit::TimedOut, message).hint("ask about fewer files"));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn ask_all(session: &Session, asked: &[Question]) -> Result<Answered, Failure> {
    let questions = asked.iter().map(|it| it.text.clone()).collect();
    let mut answered = Answered { questions, ..Answered::default() };
    for formula in FORMULAS {
        let mut scores = Vec::with_capacity(asked.len());
        for Question { text, wanted, .. } in asked {
            scores.push(scored(wanted, found_for(session, text, formula).await?));
        }
        answered.formulas.insert(formula.to_string(), scores);
    }
    Ok(answered)
}

fn scored(wanted: &BTreeSet<String>, ranked: Vec<String>) -> Scored {
    let ranks = score::ranks(&[(wanted.clone(), ranked.clone())]);
    let mut seen = BTreeSet::new();
    let mut documents = ranked.iter().filter(|path| seen.insert(path.as_str()));
    let first = documents.position(|path| wanted.contains(path));
    let within = |k: usize| f64::from(u8::from(first.is_some_and(|at| at < k)));
    Scored {
        hit_at_1: within(1),
        hit_at_5: within(5),
        hit_at_10: within(10),
        reciprocal_rank: first.map_or(0.0, |at| 1.0 / (at + 1) as f64),
        ndcg_at_10: ranks.ndcg_at_10,
    }
}

/// The same questions to a daemon of its own that has these variables; it reads the folder first.
async fn elsewhere(
    (table, root, models): (&Path, &Path, &Path),
    (common, changes): (Common, &[(String, String)]),
) -> Result<Answered, Failure> {
    let scratch = Scratch::make()?;
    scratch.lend(models, "state")?;
    let program = std::env::current_exe()?;
    let run = |arguments: Vec<OsString>| {
        let mut command = tokio::process::Command::new(&program);
        command.args(arguments).env(common.0, common.1).stdin(Stdio::null());
        command.envs(changes.iter().map(|(name, value)| (name, value)));
        command.env("KG_STATE_DIR", scratch.at("state")).env("KG_RUNTIME_DIR", scratch.at("run"));
        command.kill_on_drop(true);
        command
    };
    let project: [OsString; 2] = ["--project".into(), root.into()];
    let with_vectors = (common == BETTER).then(|| "--with-vectors".into());
    let asked = ["eval".into(), table.into(), "--json".into()].into_iter().chain(with_vectors);
    let stopped = told_to_stop()?;
    let output = tokio::select! {
        output = run(project.iter().cloned().chain(asked).collect()).output() => Some(output?),
        () = stopped => None,
    };
    let stop = project.iter().cloned().chain(["stop".into()]).collect();
    let _ = run(stop).stdout(Stdio::null()).stderr(Stdio::null()).status().await;
    let Some(output) = output else { return Err(Failure::new(Exit::Failed, "interrupted")) };
    if !output.status.success() {
        let why = why_it_failed(&String::from_utf8_lossy(&output.stderr));
        let which = if changes.is_empty() { "as it is set" } else { "with the other settings" };
        return Err(Failure::new(Exit::Failed, format!("{which}: {why}")));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What a run with `--json` said when it failed: the error in the last line, else all of it.
fn why_it_failed(said: &str) -> String {
    let last: Option<Value> = said.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    let of = |name: &str| last.as_ref()?.get("error")?.get(name)?.as_str().map(str::to_string);
    let hint = of("hint").map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let all = || said.trim().trim_start_matches("error: ").to_string();
    of("message").map_or_else(all, |message| message + &hint)
}

#[cfg(test)]
mod tests {
    use super::why_it_failed;

    #[test]
    fn errors_of_the_runs_are_told_in_words() {
        let json = r#"{"error":{"code":"failed","message":"no such model","hint":"add it"}}"#;
        assert_eq!(why_it_failed(&format!("line 3: x\n{json}\n")), "no such model\nhint: add it");
        assert_eq!(why_it_failed("error: killed\n"), "killed");
    }
}
