//! `status`: progress and health of the watcher, the belt, the writer and the index.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use config::settings::Background;
use jiff::Timestamp;
use proto::error::ErrorView;
use proto::shape::{StallView, WorkersView};
use proto::tool::core::{
    EmbeddingView, FileEventView, MendedView, NotReadView, Progress, QuarantineView, QueueView,
    ScrubView, SpaceView, Status, StatusReply, SurveyView, UNRANKED, VectorsInMemory, WarningView,
};

use super::unreadable;
use engine::health::Mended;

use crate::project::Project;
use engine::backfill::{BackfillProgress, RetryWhen, Trouble};
use engine::watch::{Cause, FileEvent, SkipReason, Survey, Unread, WatchMode, WatchView};
use index::read::{Failure, Read};
use index::store::{Breakers, SCHEMA_VERSION, Snapshot};

/// Most rows in each list of problems.
const MAX_LISTED: usize = 50;

/// Most paths named of those that are not read.
const MOST_NOT_READ: usize = 10_000;

/// Paths named of the files that failed; `quarantine` has more.
const FAILED_NAMED: usize = 3;

/// Most refused permalinks in the list of warnings, so that they do not displace failures.
const MAX_REFUSED: usize = 20;

/// Warning about a better model that gives no vectors.
const NO_BETTER: &str =
    "`embed.model` gives no vectors, so questions are answered by those there are: ";

/// Returns indexing progress and daemon health.
pub fn status(
    project: &Project,
    snapshot: &Snapshot,
    request: Status,
) -> Result<StatusReply, ErrorView> {
    let settled = project.settled();
    let lost_folder = project.lost_folder().map(|error| error.view());
    let watch = project.watcher().state().view();
    let health = project.health();
    let tally = project.tallies.at(snapshot).map_err(unreadable)?;
    let documents = tally.counts.get("documents").copied().unwrap_or(0);
    let embedding = embedding(project, snapshot, tally.n_windows);
    let failures = failures(snapshot, project.breakers()).map_err(unreadable)?;
    let n_failing = n_failing(snapshot, project.breakers()).map_err(unreadable)?;
    let is_whole = request.not_read == Some(true);
    let most_named = if is_whole { MOST_NOT_READ } else { FAILED_NAMED };
    let walked = project.watcher().state().survey();
    let walked = walked.map(|it| if is_whole { project.watcher().survey(most_named) } else { it });
    let mut reply = StatusReply {
        root: project.root.display().to_string(),
        pid: std::process::id(),
        version: proto::version().into(),
        protocol: proto::PROTOCOL_VERSION,
        schema: SCHEMA_VERSION,
        settled: settled.deep && settled.vectors && lost_folder.is_none(),
        stages_settled: settled,
        progress: Progress { known: watch.n_known_files.max(documents), indexed: documents },
        counts: tally.counts.clone(),
        vectors_in_memory: snapshot.vectors_in_memory().map(|vectors| VectorsInMemory {
            rows: vectors.n_rows() as u64,
            bytes: vectors.n_bytes() as u64,
            precision: project.settings.vectors.precision.as_str().into(),
        }),
        embedding: embedding.clone(),
        llm: project.llms().views(Instant::now()),
        http: project.http().map(String::from),
        formats: tally.formats.clone(),
        queues: queues(project),
        bytes_in_flight: project.bytes_in_flight(),
        last_file: health.last_file().map(|path| path.to_string()),
        last_error: health.last_error().or_else(|| watch.errors.last().cloned()),
        stalled: health
            .stalled()
            .map(|(stall, _)| StallView { hint: stall.hint(), why: stall.why }),
        writes_refused: project.lost_ledger().map_or_else(
            || {
                lost_folder
                    .map(|it| StallView { why: it.message, hint: it.hint.unwrap_or_default() })
            },
            |lost| {
                let (why, hint) = lost.split_once("\nhint: ").unwrap_or((&lost, ""));
                Some(StallView { why: why.into(), hint: hint.into() })
            },
        ),
        mended: health.all_mended().into_iter().map(mended_view).collect(),
        scrub: Some(scrub_view(project)),
        deep: super::maintain::deep_view(project),
        ingest_rate: health.ingest_rate(),
        started_at: project.started_at().to_string(),
        n_errors: watch.n_errors + n_failing,
        recent_events: events(project, request.events == Some(true)),
        n_written: health.n_written(),
        average_transaction_ms: health.average_transaction_ms(),
        orphaned_entities: tally.n_orphans,
        redacted: tally.redacted.clone(),
        flagged: tally.flagged.clone(),
        skipped: walked.as_ref().map(skipped).unwrap_or_default(),
        survey: walked.map(|it| survey(it, &failures, n_failing, most_named)),
        quarantine: quarantine(failures, &watch),
        warnings: warnings(project, snapshot, embedding.as_ref(), &watch).map_err(unreadable)?,
        watcher: watcher(&watch),
        workers: workers(project),
        clients: project.activity().n_clients(),
        hub: project.hub(),
        freshness: project.freshness(snapshot),
    };
    name_commands(project, &mut reply);
    Ok(reply)
}

/// Lets the commands in messages name the project.
fn name_commands(project: &Project, reply: &mut StatusReply) {
    let embedding = reply.embedding.iter_mut().filter_map(|it| it.trouble.as_mut());
    let llm = reply.llm.iter_mut().filter_map(|it| it.trouble.as_mut());
    let stalls = [&mut reply.stalled, &mut reply.writes_refused].into_iter().flatten();
    let survey = reply.survey.iter_mut().flat_map(|it| &mut it.not_read);
    let all = reply.warnings.iter_mut().map(|it| &mut it.warning).chain(embedding).chain(llm);
    let all = all.chain(stalls.map(|it| &mut it.hint)).chain(&mut reply.last_error);
    let all = all.chain(reply.hub.iter_mut().filter_map(|it| it.trouble.as_mut()));
    for text in all.chain(survey.filter_map(|it| it.hint.as_mut())) {
        *text = project.in_commands(std::mem::take(text));
    }
}

fn skipped(survey: &Survey) -> BTreeMap<String, u64> {
    survey.by_reason().iter().map(|(reason, n)| (reason.to_string(), *n)).collect()
}

/// Returns what is read and what is not: by the walk of the folder, or because it failed.
fn survey(walked: Survey, failures: &[QuarantineView], n_failing: u64, most: usize) -> SurveyView {
    let mut causes: Vec<(Cause, Unread)> = walked.not_read.into_iter().collect();
    causes.sort_by_key(|(cause, unread)| (!cause.reason.is_notable(), Reverse(unread.n)));
    let skipped = causes.into_iter().map(|(Cause { reason, by }, unread)| NotReadView {
        reason: reason.to_string(),
        by,
        count: unread.n,
        // A name may be what is secret.
        paths: unread.paths.iter().map(|path| redact::clean(path).into_owned()).collect(),
        hint: reason.remedy().map(String::from),
    });
    // What the watcher could not read never came to a stage that parses it.
    let (shut, failed): (Vec<_>, Vec<_>) = failures.iter().partition(|it| it.stage == "watch");
    let n_shut = shut.len() as u64;
    let row = |reason: &str, rows: &[&QuarantineView], count: u64, hint: Option<&str>| {
        (count > 0).then(|| NotReadView {
            reason: reason.into(),
            by: String::new(),
            count,
            paths: rows.iter().take(most).map(|it| it.path.clone()).collect(),
            hint: hint.map(String::from),
        })
    };
    let why = Some("`kgctl doctor` says why");
    let unreadable = SkipReason::Unreadable;
    let failed = row("failed", &failed, n_failing.saturating_sub(n_shut), why);
    let shut = row(unreadable.as_str(), &shut, n_shut, unreadable.remedy());
    let not_read = failed.into_iter().chain(shut).chain(skipped).collect();
    SurveyView { to_read: walked.to_read, not_read }
}

fn mended_view(it: Mended) -> MendedView {
    MendedView { at: it.at.to_string(), part: it.part.into(), what: it.what }
}

fn scrub_view(project: &Project) -> ScrubView {
    let progress = project.scrubbed();
    ScrubView {
        finished_at: progress.finished.map(|at| at.to_string()),
        compared: progress.n_documents,
        damaged: progress.n_damaged,
    }
}

/// Returns the latest file events, if wanted.
fn events(project: &Project, are_wanted: bool) -> Vec<FileEventView> {
    if !are_wanted {
        return Vec::new();
    }
    let view = |it: FileEvent| FileEventView {
        at: Timestamp::from_millisecond(it.at_ms).map(|at| at.to_string()).unwrap_or_default(),
        kind: it.kind.as_str().into(),
        path: it.path.to_string(),
    };
    project.watcher().state().events().into_iter().map(view).collect()
}

/// Returns the progress of the better model's vectors, as `status` shows it.
pub(super) fn embedding_now(project: &Project, snapshot: &Snapshot) -> Read<Option<EmbeddingView>> {
    Ok(embedding(project, snapshot, snapshot.counts().searched_windows()?))
}

/// Returns the progress of the better model's vectors, if there is such a model.
fn embedding(project: &Project, snapshot: &Snapshot, n_windows: u64) -> Option<EmbeddingView> {
    if let Some(why) = project.missing_model() {
        return Some(EmbeddingView {
            model: project.settings.embed.model.clone(),
            total: n_windows,
            state: "failed".into(),
            trouble: Some(why.into()),
            ..EmbeddingView::default()
        });
    }
    let stand = project.backfilled()?;
    let others: Vec<&BackfillProgress> =
        stand.others.iter().filter(|it| it.n_windows > 0).collect();
    // Windows that another model embeds are counted there.
    let n_windows = if others.is_empty() { n_windows } else { stand.n_windows };
    let troubles = stand.others.iter().map(|it| &it.trouble);
    let trouble = std::iter::once(&stand.trouble).chain(troubles).flatten().next().cloned();
    let again = trouble.as_ref().map(|it| it.again);
    let again_at = match again {
        Some(RetryWhen::At(at)) => Some(at),
        _ => None,
    };
    let state = match project.settings.embed.background {
        _ if matches!(again, Some(RetryWhen::WhenWanted | RetryWhen::AtStart)) => "failed",
        _ if snapshot.has_all_better_vectors() && project.settled().searchable => "done",
        _ if again_at.is_some() => "waiting",
        Background::Off => "off",
        _ if stand.waits_for_turn => "waiting",
        Background::On => "working",
        Background::Idle if project.settled().deep && sys::courtesy::reason().is_none() => {
            "working"
        }
        Background::Idle => "waiting",
    };
    let eta = others.iter().filter_map(|it| it.eta(it.n_windows)).chain(stand.eta(n_windows)).sum();
    let eta = Some(eta).filter(|eta: &Duration| !eta.is_zero());
    let space = |it: &&BackfillProgress| SpaceView {
        model: it.model.clone(),
        space: it.space.clone(),
        done: it.n_done,
        total: it.n_windows,
    };
    let rate = (stand.seconds_a_text > 0.0).then(|| (1.0 / stand.seconds_a_text) as f32);
    Some(EmbeddingView {
        state: state.into(),
        // The backfill may not have seen this commit yet.
        done: stand.n_done.min(n_windows),
        total: n_windows,
        refused: stand.n_refused,
        texts_a_second: rate,
        eta_seconds: eta.map(|eta| eta.as_secs().max(1)),
        others: others.iter().map(space).collect(),
        again_seconds: again_at
            .map(|at| at.saturating_duration_since(Instant::now()).as_secs().max(1)),
        answers: stand.before,
        trouble: trouble.map(trouble_text),
        model: stand.model,
        space: stand.space,
    })
}

/// Returns why a model gives no vectors, and what would make it try again.
fn trouble_text(trouble: Trouble) -> String {
    let again = match trouble.again {
        RetryWhen::At(_) => return trouble.why,
        RetryWhen::ByQuestion => "the next question asks it again",
        RetryWhen::WhenWanted => "`kgctl retry --all` asks it again",
        RetryWhen::AtStart => "`kgctl restart` tries it again",
    };
    let joint = if trouble.why.contains("\nhint: ") { "; then " } else { "\nhint: " };
    trouble.why + joint + again
}

fn queues(project: &Project) -> Vec<QueueView> {
    let view = |gauge: &engine::belt::Gauge| {
        let depth = gauge.depth();
        QueueView {
            stage: gauge.stage().into(),
            interactive: depth.interactive as u64,
            bulk: depth.bulk as u64,
        }
    };
    project.gauges().iter().map(view).collect()
}

/// Counts the files that fail now, or failed so often that they are skipped.
fn n_failing(snapshot: &Snapshot, breakers: &Breakers) -> Read<u64> {
    let mut n = snapshot.counts().quarantine()?;
    for (path, _) in breakers.list().into_iter().filter(|(_, it)| it.is_open()) {
        n += u64::from(!snapshot.files().has_failed(path.as_str())?);
    }
    Ok(n)
}

/// Returns the files that failed, newest first.
fn failures(snapshot: &Snapshot, breakers: &Breakers) -> Read<Vec<QuarantineView>> {
    let view = |Failure { path, stage, reason }| QuarantineView { path, stage, reason };
    let rows = snapshot.files().failures(MAX_LISTED)?;
    let mut out: Vec<QuarantineView> = rows.into_iter().map(view).collect();
    // A skipped file has no row in an index that was built afterwards.
    let is_listed = |path: &str| out.iter().any(|row| row.path == path);
    let left = breakers.list().into_iter();
    let left = left.filter(|(path, it)| it.is_open() && !is_listed(path.as_str()));
    let left = left.map(|(path, it)| QuarantineView {
        path: path.to_string(),
        stage: it.stage,
        reason: it.reason,
    });
    let left: Vec<_> = left.collect();
    out.extend(left);
    out.truncate(MAX_LISTED);
    Ok(out)
}

/// Adds what the watcher cannot inspect.
fn quarantine(failures: Vec<QuarantineView>, watch: &WatchView) -> Vec<QuarantineView> {
    let row = |(path, why): (&String, &String)| QuarantineView {
        path: path.clone(),
        stage: "watch".into(),
        reason: why.clone(),
    };
    failures.into_iter().chain(watch.unreadable.iter().map(row)).take(MAX_LISTED).collect()
}

fn warnings(
    project: &Project,
    snapshot: &Snapshot,
    embedding: Option<&EmbeddingView>,
    watch: &WatchView,
) -> Read<Vec<WarningView>> {
    let mut out: Vec<WarningView> = Vec::new();
    out.extend(project.newer_settings().into_iter().map(|(path, command)| WarningView {
        path: path.into(),
        warning: format!("written since the daemon read it; `{command}` makes it count"),
    }));
    let failed = embedding.filter(|it| it.state == "failed").and_then(|it| it.trouble.as_ref());
    let failed = failed.map(|why| format!("{NO_BETTER}{why}"));
    let unranked = project
        .reranker_trouble()
        .map(|why| format!("{UNRANKED}, so hits keep their order: {why}"));
    let ignored = project.ignored_settings().map(String::from);
    let of_http = project.http_warning().map(String::from);
    let general = failed.into_iter().chain(unranked).chain(ignored).chain(of_http);
    out.extend(general.map(|warning| WarningView { path: ".".into(), warning }));
    let rels = &project.settings.retrieval.rels;
    let unknown = query::unknown_relations(&project.context(snapshot), rels).unwrap_or_default();
    out.extend(unknown.into_iter().map(|rel| WarningView {
        path: ".".into(),
        warning: format!(
            "`retrieval.rels` of the settings names `{rel}`, a relation that no rule gives and no document states"
        ),
    }));
    let deaf = match &watch.mode {
        WatchMode::Mixed { .. } | WatchMode::Poll(Some(_)) => Some(watcher(watch)),
        _ => None,
    };
    let root = watch.root_trouble.iter().chain(&deaf).chain(&watch.warnings);
    out.extend(root.map(|why| WarningView { path: ".".into(), warning: why.clone() }));
    let refused = snapshot.permalinks().refused(MAX_REFUSED).unwrap_or_default();
    out.extend(refused.into_iter().map(|it| WarningView {
        warning: format!(
            "`permalink: {}` is not granted: it is the address of `{}`{}",
            it.permalink,
            it.holder,
            if it.is_gone { ", deleted or moved within 30 days" } else { "" }
        ),
        path: it.path,
    }));
    let of_files = snapshot.files().with_warnings(MAX_LISTED)?;
    out.extend(of_files.into_iter().map(|(path, warning)| WarningView { path, warning }));
    // Counts come last, so that they do not displace failures.
    snapshot.files().each_finding(|path, redacted, flagged| {
        for (what, kinds) in [("redacted", redacted), ("personal data, kept", flagged)] {
            let kinds: Vec<String> =
                kinds.iter().map(|(kind, n)| format!("{n} × {kind}")).collect();
            out.extend((!kinds.is_empty()).then(|| WarningView {
                path: path.into(),
                warning: format!("{what}: {}", kinds.join(", ")),
            }));
        }
        out.len() < MAX_LISTED
    })?;
    out.truncate(MAX_LISTED);
    Ok(out)
}

fn workers(project: &Project) -> Option<WorkersView> {
    let now = project.workers()?.now();
    Some(WorkersView {
        running: now.n_running,
        busy: now.n_busy,
        most: now.n_most,
        started: now.n_started,
        failed: now.n_failed,
        idle_bytes: now.idle_bytes,
        sandbox: now.sandbox.map(|sandbox| sandbox.to_string()),
    })
}

fn watcher(watch: &WatchView) -> String {
    let mode = match &watch.mode {
        WatchMode::Stopped => "stopped".to_string(),
        WatchMode::Events => "events".to_string(),
        WatchMode::Mixed { n_watched, n_polled, why } => {
            format!("events in {n_watched} folders, poll in {n_polled}, because {why}")
        }
        WatchMode::Poll(None) => "poll".to_string(),
        WatchMode::Poll(Some(why)) => format!("poll, because {why}"),
    };
    let mode = match watch.n_overflows {
        0 => mode,
        n => format!("{mode}, overflows made good by rescans: {n}"),
    };
    if watch.is_crawling { format!("{mode}, rescanning") } else { mode }
}
