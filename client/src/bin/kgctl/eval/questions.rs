//! Questions: measures how well the user's own questions are answered from their own folder.
//!
//! In: a table of questions with the documents that answer them; the project; settings to compare with. Out: a report.
//! Invariants: the folder and its index are only read; a comparison reads the folder twice into scratch folders that
//! are deleted at the end, by runs of this program that differ only in the compared settings.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::connect::Session;
use client::render::questions::{Against, Answered, Remark, Scored, questions};
use client::score;
use client::signals::stop_requested;
use proto::error::Code;
use proto::tool::core::{ReadPassage, Status, UNRANKED};
use serde_json::Value;

use super::super::context::warn;
use super::change;
use super::own;
use super::stage::Scratch;
use super::table::{self, Question, Table};
use super::{Arguments, Context, Exit, FORMULAS, Failure, PATIENCE, found_for, read_file, wait};

/// Most problems of a table that are printed.
const MAX_REMARKS: usize = 20;

/// Pause between two checks of how many vectors are computed.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub(super) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let (mut root, places) = (ctx.project()?.root, ctx.places()?);
    let against = arguments.against.as_slice();
    let change = change::read(against, &places, &root)?;
    let mut table = arguments.of.clone().unwrap_or_default();
    let mut scratch = None;
    if arguments.own {
        let folder = Scratch::of_questions()?;
        (root, table) = own::write(&root, &folder.at(""))?;
        scratch = Some(folder);
    }
    let table = table.as_path();
    let Table { questions: asked, mut remarks } = parse(table, &root)?;
    let answered = if against.is_empty() && scratch.is_none() {
        let session = ctx.session().await?;
        wait::settle(&session, PATIENCE).await?;
        if arguments.with_vectors {
            wait_for_vectors(&session).await?;
        }
        let lacking = lacking(&session, arguments.with_vectors).await?;
        remarks.extend(lacking.map(|why| Remark { line: None, why, left_out: false }));
        remarks.extend(not_indexed(&session, &asked).await?);
        let mut answered = ask_all(&session, &asked).await?;
        remarks.extend(unranked(&session).await?);
        session.close().await;
        answered.remarks = remarks;
        answered
    } else {
        for idle in &change.idle {
            warn(&format!("{idle}: nothing to compare\n"));
        }
        // Both sides run the same way, so that only the settings differ. The project's own daemon
        // is not used, because its better vectors could take hours to compute again; they are
        // computed only if the comparison is about vectors.
        let common =
            if change.is_about_vectors || arguments.with_vectors { BETTER } else { STATIC };
        let models = places.models();
        let mut answered = elsewhere(table, &root, &models, common, &[]).await?;
        let other = match against {
            [] => None,
            _ => Some(elsewhere(table, &root, &models, common, &change.variables).await?),
        };
        // Without a ranking there is nothing to compare.
        let remarks = other.iter().flat_map(|it| &it.remarks);
        if let Some(remark) = remarks.into_iter().find(|it| it.why.starts_with(UNRANKED)) {
            let why = format!("with the other settings: {}", remark.why);
            return Err(Failure::new(Exit::Failed, why));
        }
        answered.against =
            other.map(|answered| Box::new(Against { settings: against.to_vec(), answered }));
        answered
    };
    print_remarks(&answered);
    ctx.print_reply(&answered, |answered| questions(answered, arguments.each, ctx.style))?;
    Ok(Exit::Done)
}

/// An environment variable that both sides of a comparison run with.
type Common = (&'static str, &'static str);

/// Static vectors only, which every folder has at once.
const STATIC: Common = ("KG_EMBED__MODEL", "none");

/// All vectors of the better model.
const BETTER: Common = ("KG_EMBED__BACKGROUND", "on");

/// Prints the caveats on standard error.
fn print_remarks(answered: &Answered) {
    let other = answered.against.as_ref().map(|it| &it.answered.remarks);
    // Problems with the table are the same on both sides.
    let other = other.into_iter().flatten().filter(|it| it.line.is_none());
    let other = other.map(|it| format!("with the other settings: {}", it.text()));
    let remarks: Vec<String> = answered.remarks.iter().map(Remark::text).chain(other).collect();
    for text in remarks.iter().take(MAX_REMARKS) {
        warn(&format!("{text}\n"));
    }
    if remarks.len() > MAX_REMARKS {
        warn(&format!("and {} more; `--json` lists all\n", remarks.len() - MAX_REMARKS));
    }
}

/// Returns the caveat that the better model's vectors are incomplete, so that scores will still
/// change.
async fn lacking(session: &Session, were_wanted: bool) -> Result<Option<String>, Failure> {
    let Some(it) = session.call(&Status::default()).await?.embedding else {
        let none =
            "`--with-vectors`: there are only static vectors, because `embed.model` is `none`";
        return Ok(were_wanted.then(|| none.to_string()));
    };
    let hint = match it.state.as_str() {
        "off" => {
            "`embed.background` is off, so no more are computed, and there was nothing to wait for"
        }
        "failed" => "`kgctl doctor` says why",
        _ => "`--with-vectors` waits for them",
    };
    let (done, total, model) = (it.done, it.total, it.model);
    Ok((done < total).then(|| {
        format!("{done} of {total} windows have a vector of {model}, the others use static ones\nhint: {hint}")
    }))
}

/// Returns the caveat that the reranking model cannot be used, which may be known only after the
/// first question.
async fn unranked(session: &Session) -> Result<Option<Remark>, Failure> {
    let warnings = session.call(&Status::default()).await?.warnings.into_iter();
    let why = warnings.map(|it| it.warning).find(|it| it.starts_with(UNRANKED));
    Ok(why.map(|why| Remark { line: None, why, left_out: false }))
}

/// Returns the expected files that are not in the index, which nothing can find.
async fn not_indexed(session: &Session, asked: &[Question]) -> Result<Vec<Remark>, Failure> {
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut remarks = Vec::new();
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
            remarks.push(Remark { line: Some(it.line), why, left_out: false });
        }
    }
    Ok(remarks)
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

/// Reads the table of questions.
fn parse(path: &Path, root: &Path) -> Result<Table, Failure> {
    let hint = "a line is a question, a tab, and the files that answer it, separated by commas; a header names \
                the columns `question` and `paths`";
    let shown = path.display();
    let refused = |why: String| Failure::new(Exit::Refused, why).hint(hint);
    let table =
        table::read(&read_file(path)?, root).map_err(|why| refused(format!("`{shown}`, {why}")))?;
    if !table.questions.is_empty() {
        return Ok(table);
    }
    let why: Vec<String> = table.remarks.iter().take(MAX_REMARKS).map(Remark::text).collect();
    Err(refused(match why.is_empty() {
        true => format!("no question in `{shown}`"),
        false => format!("no question in `{shown}` can be asked: {}", why.join("; ")),
    }))
}

/// Waits until the better model has computed all its vectors, if there is one.
async fn wait_for_vectors(session: &Session) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let status = session.call(&Status::default()).await?;
        let Some(embedding) = status.embedding.filter(|it| it.state != "off") else {
            return Ok(());
        };
        if embedding.state == "failed" {
            let why = embedding.trouble.unwrap_or_default();
            return Err(Failure::new(
                Exit::Failed,
                format!("the vectors cannot be computed: {why}"),
            ));
        }
        if embedding.again_seconds.is_some_and(|seconds| seconds > PATIENCE.as_secs()) {
            let why = embedding.trouble.unwrap_or_default();
            return Err(Failure::new(Exit::TimedOut, format!("the vectors are delayed: {why}")));
        }
        if embedding.state == "done" && embedding.done == embedding.total {
            return Ok(());
        }
        if started.elapsed() > PATIENCE {
            let (done, total) = (embedding.done, embedding.total);
            let message =
                format!("{done} of {total} vectors were computed in {} s", PATIENCE.as_secs());
            return Err(Failure::new(Exit::TimedOut, message).hint("use a smaller folder"));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn ask_all(session: &Session, asked: &[Question]) -> Result<Answered, Failure> {
    let questions = asked.iter().map(|it| it.text.clone()).collect();
    let kinds = asked.iter().map(|it| it.kind.clone());
    let kinds =
        if asked.iter().all(|it| it.kind.is_empty()) { Vec::new() } else { kinds.collect() };
    let mut answered = Answered { questions, kinds, ..Answered::default() };
    for formula in FORMULAS {
        let mut scores = Vec::with_capacity(asked.len());
        for Question { text, wanted, except, .. } in asked {
            let mut found = found_for(session, text, formula).await?;
            found.retain(|path| !except.contains(path));
            scores.push(scored(wanted, found));
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

/// Asks the same questions to a separate daemon with these variables, after it has indexed the
/// folder.
async fn elsewhere(
    table: &Path,
    root: &Path,
    models: &Path,
    common: Common,
    changes: &[(String, String)],
) -> Result<Answered, Failure> {
    let scratch = Scratch::make()?;
    scratch.lend(models, "state")?;
    let program = std::env::current_exe()?;
    let run = |arguments: Vec<OsString>| {
        let mut command = tokio::process::Command::new(&program);
        command.args(arguments).env(common.0, common.1).stdin(Stdio::null());
        command.envs(changes.iter().map(|(name, value)| (name, value)));
        command.env("KG_STATE_DIR", scratch.at("state")).env("KG_RUNTIME_DIR", scratch.at("run"));
        // A second daemon on the folder may only read.
        command.env("KG_WRITE", "false");
        command.kill_on_drop(true);
        command
    };
    let project: [OsString; 2] = ["--project".into(), root.into()];
    let with_vectors = (common == BETTER).then(|| "--with-vectors".into());
    let asked = ["eval".into(), table.into(), "--json".into()].into_iter().chain(with_vectors);
    let stopped = stop_requested()?;
    let output = tokio::select! {
        output = run(project.iter().cloned().chain(asked).collect()).output() => Some(output?),
        () = stopped => None,
    };
    let stop = project.iter().cloned().chain(["stop".into()]).collect();
    let _ = run(stop).stdout(Stdio::null()).stderr(Stdio::null()).status().await;
    let Some(output) = output else { return Err(Failure::new(Exit::Failed, "interrupted")) };
    if !output.status.success() {
        let why = why_it_failed(&String::from_utf8_lossy(&output.stderr));
        let which = if changes.is_empty() {
            "with the current settings"
        } else {
            "with the other settings"
        };
        return Err(Failure::new(Exit::Failed, format!("{which}: {why}")));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Returns the error that a run with `--json` printed in its last line, otherwise all of its
/// output.
fn why_it_failed(output: &str) -> String {
    let last: Option<Value> = output.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    let of = |name: &str| last.as_ref()?.get("error")?.get(name)?.as_str().map(str::to_string);
    let hint = of("hint").map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let all = || output.trim().trim_start_matches("error: ").to_string();
    of("message").map_or_else(all, |message| message + &hint)
}

#[cfg(test)]
mod tests {
    use super::why_it_failed;

    #[test]
    fn errors_of_the_runs_are_in_words() {
        let json = r#"{"error":{"code":"failed","message":"no such model","hint":"add it"}}"#;
        assert_eq!(why_it_failed(&format!("line 3: x\n{json}\n")), "no such model\nhint: add it");
        assert_eq!(why_it_failed("error: killed\n"), "killed");
    }
}
