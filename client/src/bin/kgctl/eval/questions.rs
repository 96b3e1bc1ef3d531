//! Questions: how well the user's own questions are answered from their own folder.
//!
//! In: a table of questions and the documents that answer them; the project; settings to compare with. Out: a report.
//! Invariants: the folder and its index are only read; a comparison reads the folder twice, into scratch folders that
//! go in the end, by runs of this same program that differ in nothing but the settings compared.
//! Not here: the metrics and the tables (`client::render::questions`).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::connect::Session;
use client::render::questions::{Against, Answered, Scored, questions};
use client::score;
use proto::tool::core::Status;

use super::super::context::warn;
use super::stage::Scratch;
use super::{Arguments, Context, Exit, FORMULAS, Failure, PATIENCE, found_for, read_file, wait};

/// Most questions of a table.
const MAX_QUESTIONS: usize = 10_000;

/// Between two looks at how far the vectors are.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A question with the documents that answer it.
type Question = (String, BTreeSet<String>);

pub(super) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let (table, against) = (arguments.of.as_path(), arguments.against.as_slice());
    let changes = against.iter().map(|it| variable_of(it)).collect::<Result<Vec<_>, _>>()?;
    let root = ctx.project()?.root;
    let asked = parse(table, &root)?;
    let answered = if against.is_empty() {
        let session = ctx.session().await?;
        wait::settle(&session, PATIENCE).await?;
        if arguments.with_vectors {
            wait_for_vectors(&session).await?;
        } else if let Some(told) = lacking(&session).await? {
            warn(&told);
        }
        let answered = ask_all(&session, &asked).await?;
        session.close().await;
        answered
    } else {
        // Both in the same way, so that nothing but the settings differs: not by the project's own daemon, which may
        // have vectors that take hours to make again.
        let common = common_of(against);
        let mut answered = elsewhere((table, &root), (common, &[])).await?;
        let other = elsewhere((table, &root), (common, &changes)).await?;
        answered.against = Some(Box::new(Against { settings: against.to_vec(), answered: other }));
        answered
    };
    ctx.print_reply(&answered, |answered| questions(answered, arguments.each, ctx.style))?;
    Ok(Exit::Done)
}

/// A variable of the environment that both sides of a comparison run with.
type Common = (&'static str, &'static str);

/// Static vectors, which every folder has at once.
const STATIC: Common = ("KG_EMBED__MODEL", "none");

/// The better model's, all of them.
const BETTER: Common = ("KG_EMBED__BACKGROUND", "on");

/// The better model's vectors are made where it is vectors that are compared.
fn common_of(against: &[String]) -> Common {
    let is_about_vectors = |it: &String| it.starts_with("embed.") || it.starts_with("vectors.");
    if against.iter().any(is_about_vectors) { BETTER } else { STATIC }
}

/// What to say where the better model's vectors are not all there: scores change until they are.
async fn lacking(session: &Session) -> Result<Option<String>, Failure> {
    let embedding = session.call(&Status {}).await?.embedding;
    Ok(embedding.filter(|it| it.done < it.total).map(|it| {
        let hint = match it.state.as_str() {
            "off" => "`embed.background` is off, so no more are made",
            _ => "`--with-vectors` waits for them",
        };
        let (done, total, model) = (it.done, it.total, it.model);
        format!("{done} of {total} windows have a vector of {model}, the others count by static ones\nhint: {hint}\n")
    }))
}

/// Waits until the better model has made all its vectors, where there is one.
async fn wait_for_vectors(session: &Session) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let status = session.call(&Status {}).await?;
        let Some(embedding) = status.embedding.filter(|it| it.state != "off") else {
            return Ok(());
        };
        if embedding.state == "failed" {
            let why = embedding.trouble.unwrap_or_default();
            return Err(Failure::new(Exit::Failed, format!("the vectors cannot be made: {why}")));
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

/// `retrieval.weights.graph=0` as a variable of the environment.
fn variable_of(setting: &str) -> Result<(String, String), Failure> {
    let (key, value) = setting.split_once('=').unwrap_or(("", ""));
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    if key.is_empty() || !key.chars().all(is_key) {
        return Err(Failure::new(Exit::Refused, format!("`{setting}` is not KEY=VALUE"))
            .hint("such as `--against retrieval.weights.graph=0`"));
    }
    Ok((format!("KG_{}", key.to_uppercase().replace('.', "__")), value.to_string()))
}

/// Reads the table: a header with `question` and `paths` among others, or two columns without one.
fn parse(table: &Path, root: &Path) -> Result<Vec<Question>, Failure> {
    let text = read_file(table)?;
    let wrong = |line: usize, why: String| {
        Failure::new(Exit::Refused, format!("`{}`, line {line}: {why}", table.display()))
            .hint("a line is a question, a tab, and the files that answer it, parted by commas")
    };
    let mut columns = (0, 1);
    let mut out = Vec::new();
    for (idx, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let cells: Vec<&str> = line.trim_end_matches('\r').split('\t').map(str::trim).collect();
        if idx == 0 {
            let of = |name: &str| cells.iter().position(|cell| cell.eq_ignore_ascii_case(name));
            if let (Some(question), Some(paths)) = (of("question"), of("paths")) {
                columns = (question, paths);
                continue;
            }
        }
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (Some(question), Some(paths)) = (cells.get(columns.0), cells.get(columns.1)) else {
            return Err(wrong(idx + 1, "it has no tab".into()));
        };
        let paths: BTreeSet<String> =
            paths.split(',').map(|it| it.trim().to_string()).filter(|it| !it.is_empty()).collect();
        if question.is_empty() || paths.is_empty() {
            return Err(wrong(idx + 1, "a question or its files are missing".into()));
        }
        if let Some(path) = paths.iter().find(|path| !root.join(path).is_file()) {
            return Err(wrong(idx + 1, format!("`{path}` is no file of {}", root.display())));
        }
        out.push(((*question).to_string(), paths));
    }
    match out.len() {
        0 => Err(Failure::new(Exit::Refused, format!("no question in `{}`", table.display()))),
        n if n > MAX_QUESTIONS => {
            Err(wrong(MAX_QUESTIONS + 1, format!("more than {MAX_QUESTIONS} questions")))
        }
        _ => Ok(out),
    }
}

async fn ask_all(session: &Session, asked: &[Question]) -> Result<Answered, Failure> {
    let questions = asked.iter().map(|(question, _)| question.clone()).collect();
    let mut answered = Answered { questions, ..Answered::default() };
    for formula in FORMULAS {
        let mut scores = Vec::with_capacity(asked.len());
        for (question, wanted) in asked {
            scores.push(scored(wanted, found_for(session, question, formula).await?));
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
    (table, root): (&Path, &Path),
    (common, changes): (Common, &[(String, String)]),
) -> Result<Answered, Failure> {
    let scratch = Scratch::make()?;
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
    let output = tokio::select! {
        output = run(project.iter().cloned().chain(asked).collect()).output() => Some(output?),
        _ = tokio::signal::ctrl_c() => None,
    };
    let stop = project.iter().cloned().chain(["stop".into()]).collect();
    let _ = run(stop).stdout(Stdio::null()).stderr(Stdio::null()).status().await;
    let Some(output) = output else { return Err(Failure::new(Exit::Failed, "interrupted")) };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.trim().trim_start_matches("error: ").to_string();
        let which = if changes.is_empty() { "as it is set" } else { "with the other settings" };
        return Err(Failure::new(Exit::Failed, format!("{which}: {why}")));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
