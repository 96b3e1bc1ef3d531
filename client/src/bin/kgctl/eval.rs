//! `kgctl eval`: measures kgd on a corpus annotated by hand, stage by stage.
//!
//! In: a folder with `docs/`, `gold/` and `questions/` (for a table of questions see
//! `questions.rs`). Out: precision, recall and F1 of mentions, of links given the mentions, of
//! relations given mentions and links, and of everything end to end; ranking metrics for questions;
//! with intervals, and for each half if the corpus is divided.
//! Invariants: the corpus is only read. The daemons that read it keep their state in a scratch
//! folder that is deleted afterwards, even after an interrupt, and use none of the user's settings
//! except `KG_*` variables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::connect::Session;
use client::launch::{Life, Target};
use client::render::quality::{Report, report};
use client::signals::stop_requested;
use proto::tool::core::HybridQuery;

use super::context::{Context, last_words};
use super::failure::{Exit, Failure};
use super::{dump, stop, wait};

mod change;
mod compare;
mod gold;
mod graph;
mod natural;
mod own;
mod questions;
mod stage;
mod table;

use compare::{Answer, Answers};
use gold::Gold;
use graph::Found;
use stage::{Given, Scratch, Stage};

/// The formulas compared.
const FORMULAS: [&str; 7] = ["hybrid", "rrf", "minmax", "text", "vector", "s0", "s4"];

/// Hits per question: ten documents are ranked, and several hits may belong to one document.
const HITS: u32 = 50;

/// Largest file of questions or documents that is read, bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Longest accepted answer, in characters: large enough to drop no hit.
const MAX_CHARS: u32 = 100_000;

/// Longest wait for the corpus to be indexed.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measure answers to your own questions, or all stages on an annotated corpus.
///
/// With a table of questions (question, tab, the files that answer it, separated by commas; lines that begin with `#`
/// are skipped; unusable lines are skipped and reported; a file that is not indexed counts as not found): hit@k, MRR
/// and nDCG by signal from the project's own index, with the vectors that it has by now (`--with-vectors` waits for
/// all of the better model's). `--against KEY=VALUE` reads the folder twice into scratch indexes, as it is set and
/// with other settings, and compares: both by static vectors, unless what is compared is `embed.…` or `vectors.…`.
///
/// With `--self`: the same with questions made from the folder itself, on a copy from which what they are made of is
/// held out: the words of links (not answered by the note that links), titles and headings; also by kind of question.
///
/// With a folder that has `docs/`, `gold/` and `questions/`: its documents are read three times: with nothing given
/// (recognition, and all stages end to end), with the annotated mentions given (linking alone), and with the mentions
/// and what they denote given (relations alone). Intervals are the middle 95 % of documents drawn with replacement.
///
/// With a folder that has `docs/` and `gold/entities.tsv`, annotated page by page like `corpus/real`: how true, dense
/// and useful the graph is.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A table of questions, or an annotated folder with `docs/` and `gold/`.
    #[arg(value_name = "TABLE|CORPUS_DIR", required_unless_present = "own")]
    of: Option<PathBuf>,
    /// Ask questions made from the folder's own links, titles and headings.
    #[arg(long = "self", conflicts_with = "of")]
    own: bool,
    /// Of a corpus: also print, for each relation, how many were annotated, found and right.
    #[arg(long)]
    types: bool,
    /// Of questions: also print each question with the rank of its first answer.
    #[arg(long)]
    each: bool,
    /// Of questions: compare with these settings; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    against: Vec<String>,
    /// Of questions: wait until the better model has made all its vectors.
    #[arg(long)]
    with_vectors: bool,
}

pub(crate) async fn run(arguments: &Arguments, ctx: &Context) -> Result<Exit, Failure> {
    let Some(of) = arguments.of.as_ref().filter(|of| !of.is_file()) else {
        return questions::run(arguments, ctx).await;
    };
    if !of.exists() {
        let message = format!("there is no `{}`", of.display());
        return Err(Failure::new(Exit::Refused, message)
            .hint("give a table of questions, or a folder with `gold/`"));
    }
    if natural::is_one(of) {
        return natural::run(of, ctx).await;
    }
    let gold = Gold::read(of)?;
    let scratch = Scratch::make()?;
    let models = ctx.places()?.models();
    let stages = Stage::all(&scratch, &models, of, &gold)?;
    let interrupted = stop_requested()?;
    let measured = tokio::select! {
        () = interrupted => Err(Failure::new(Exit::Failed, "interrupted")),
        measured = measure(&stages, &gold) => measured,
    };
    // Even if measuring failed or was interrupted: nothing else would ever stop these daemons.
    let mut stopped = Ok(());
    for stage in &stages {
        stopped = stopped.and(stop::stop(&stage.target).await.map(drop));
    }
    let measured = measured?;
    stopped?;
    ctx.print_reply(&measured, |measured| report(measured, arguments.types, ctx.style))?;
    Ok(Exit::Done)
}

/// Appends the end of the daemon's log, which is about to be deleted with the scratch folder.
fn with_log(failure: Failure, target: &Target) -> Failure {
    let tail = target.log_tail(5).join("\n");
    let text = failure.text().unwrap_or_default();
    let message = text
        .trim_start_matches("error: ")
        .split("\nhint: ")
        .next()
        .unwrap_or_default()
        .trim_end()
        .to_string();
    Failure::new(
        failure.exit(),
        if tail.is_empty() {
            message
        } else {
            format!("{message}\nthe daemon's log ends:\n{tail}")
        },
    )
}

/// Reads the corpus once for each stage, one after the other, so that the stages do not compete for
/// processors.
async fn measure(stages: &[Stage; 3], gold: &Gold) -> Result<Report, Failure> {
    let mut answers = Answers::new();
    let mut found = [Found::default(), Found::default(), Found::default()];
    for (stage, found) in stages.iter().zip(&mut found) {
        let session = open(&stage.target).await?;
        let read = read(stage, &session, gold, &mut answers).await;
        session.close().await;
        *found = read.map_err(|failure| with_log(failure, &stage.target))?;
        stop::stop(&stage.target).await?;
    }
    Ok(compare::report(gold, &found, &answers))
}

/// Opens a session with a daemon that is starting. If the daemon cannot use its input, its log says
/// why.
async fn open(target: &Target) -> Result<Session, Failure> {
    match Session::open(target.connect_or_start(Life::Stay)?).await {
        Ok(session) => Ok(session),
        Err(error) => Err(last_words(target, 0).await.unwrap_or_else(|| error.into())),
    }
}

async fn read(
    stage: &Stage,
    session: &Session,
    gold: &Gold,
    answers: &mut Answers,
) -> Result<Found, Failure> {
    wait::settle(session, PATIENCE).await?;
    let graph = dump::read(session).await?;
    let mut found = Found::read(&graph.rows, &gold.documents)?;
    match stage.given {
        Given::Nothing => *answers = ask_all(session, gold).await?,
        Given::Mentions => {}
        Given::MentionsAndLinks => found.call_as_given(&gold.mentions),
    }
    Ok(found)
}

async fn ask_all(session: &Session, gold: &Gold) -> Result<Answers, Failure> {
    let mut answers = BTreeMap::new();
    for formula in FORMULAS {
        answers.insert(formula.to_string(), ask(session, gold, formula).await?);
    }
    Ok(answers)
}

async fn ask(
    session: &Session,
    gold: &Gold,
    formula: &str,
) -> Result<Vec<(String, Answer)>, Failure> {
    let mut answers = Vec::new();
    for (question, paths) in &gold.questions {
        let found = found_for(session, question, formula).await?;
        answers.push((question.clone(), (paths.clone(), found)));
    }
    Ok(answers)
}

/// Returns the documents of the hits for a question, best first.
async fn found_for(
    session: &Session,
    question: &str,
    formula: &str,
) -> Result<Vec<String>, Failure> {
    let request = HybridQuery {
        q: question.to_string(),
        k: Some(HITS),
        max_chars: Some(MAX_CHARS),
        formula: Some(formula.to_string()),
        ..HybridQuery::default()
    };
    let reply = session.call(&request).await?;
    Ok(reply.chunks.into_iter().map(|hit| hit.path).collect())
}

/// Reads a file of the corpus. A missing file is the user's mistake.
fn read_file(path: &Path) -> Result<String, Failure> {
    let read = client::input::read(path, MAX_FILE_BYTES);
    let text = read.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    text.map_err(|error| {
        Failure::new(Exit::Refused, format!("cannot read `{}`: {error}", path.display()))
    })
}
