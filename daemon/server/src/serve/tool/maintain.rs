//! Maintain: comparing, retrying, checking and backing up, as `kgctl` requests it.
//!
//! In: the parameters of the admin tools. Out: their replies.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use config::command::operand;
use config::live::Change;
use proto::error::{Code, ErrorView};
use proto::tool::admin::{
    Backup, BackupReply, Checkup, CheckupReply, DeepPass, DeepPassReply, Difference, FailedFile,
    Reload, ReloadReply, Rescan, RescanReply, Retried, Retry, RetryReply, SettingChange,
    VerifiedPart, Verify, VerifyReply,
};

use proto::tool::core::DeepView;

use super::ingest::inside;
use super::status::embedding_now;
use super::{blocking, invalid, report_building, stalled, unavailable, unreadable};
use crate::project::Project;
use crate::project::indexing::Indexed;
use crate::project::verify::VerifyError;
use crate::serve::Progress;
use engine::watch::Submitted;
use engine::write::Command;
use index::store::canon::PartDiff;
use index::store::{Failing, LedgerError, StoreError, back_up, check_up};
use model::terms::RelPath;

/// Longest wait for the changes that a rescan found.
const LONGEST: Duration = Duration::from_secs(600);

/// Longest wait for a better model that is asked again: it may have to wait for its turn.
const ASKED_AGAIN: Duration = Duration::from_secs(5);

/// Most files listed by `checkup`.
const MAX_LISTED: usize = 1_000;

/// Most differences listed by `verify`, and the default.
const DIFFERENCES: (u32, u32) = (1_000, 20);

/// Rebuilds next to the live index and compares.
pub async fn verify(
    project: Arc<Project>,
    request: Verify,
    progress: Progress,
) -> Result<VerifyReply, ErrorView> {
    let limit = request.limit.unwrap_or(DIFFERENCES.1);
    if limit > DIFFERENCES.0 {
        return Err(invalid(format!("`limit` is {limit}"), "give a number from 0 to 1000"));
    }
    compare_with_rebuilt(&project, request.repair == Some(true), limit, &progress).await
}

async fn compare_with_rebuilt(
    project: &Project,
    repair: bool,
    limit: u32,
    progress: &Progress,
) -> Result<VerifyReply, ErrorView> {
    let report = |done: u64, total: u64, what: &str| {
        progress.report(done, (total > 0).then_some(total), what.to_string());
    };
    let found = project.verify(repair, limit as usize, report).await.map_err(unverified)?;
    let part = |it: &PartDiff| VerifiedPart {
        part: it.part.to_string(),
        live: it.n_live,
        rebuilt: it.n_rebuilt,
        differing: it.n_differing,
    };
    // Lists some of each part and side that differs, so that the first one does not hide the
    // others.
    let n_sides = found.parts.iter().flat_map(|it| [&it.only_live, &it.only_rebuilt]);
    let n_sides = n_sides.filter(|rows| !rows.is_empty()).count();
    let share = (limit as usize).div_ceil(n_sides.max(1));
    let differences = found.parts.iter().flat_map(|it| {
        let row = |side: &'static str| {
            let part = it.part;
            move |row: &String| Difference {
                part: part.into(),
                side: side.into(),
                row: row.clone(),
            }
        };
        let live = it.only_live.iter().take(share).map(row("live"));
        live.chain(it.only_rebuilt.iter().take(share).map(row("rebuilt")))
    });
    Ok(VerifyReply {
        same: found.is_same,
        repaired: found.is_repaired,
        n_rows: found.parts.iter().map(|it| it.n_rebuilt).sum(),
        parts: found.parts.iter().map(part).collect(),
        differences: differences.take(limit as usize).collect(),
        seconds: found.took.as_secs_f64(),
        freshness: project.freshness_now().map_err(unreadable)?,
    })
}

fn unverified(error: VerifyError) -> ErrorView {
    let hint = match &error {
        VerifyError::Busy => "try again when it has ended",
        VerifyError::Unreadable { .. } => "let the daemon's user read them, then again",
        VerifyError::Restless => "try again when fewer files change",
        VerifyError::Unsettled(_) | VerifyError::Store(_) | VerifyError::Build(_) => {
            "see `kgctl status` and `kgctl logs`"
        }
    };
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, hint));
    ErrorView::hinted(Code::Unavailable, message, hint)
}

/// Reloads the settings.
pub async fn reload(
    project: Arc<Project>,
    _: Reload,
    _: Progress,
) -> Result<ReloadReply, ErrorView> {
    let reading = Arc::clone(&project);
    let read = move || {
        reading.reload().map_err(|error| match error.split_once("\nhint: ") {
            Some((error, hint)) => invalid(error.to_string(), hint),
            None => invalid(error, "nothing has changed; mend it, then again"),
        })
    };
    let found = blocking(read).await?;
    let view = |it: &Change| SettingChange {
        key: it.key.clone(),
        before: it.before.to_string(),
        after: it.after.to_string(),
    };
    Ok(ReloadReply {
        changed: found.changed.iter().map(view).collect(),
        restart: found.restart.iter().map(view).collect(),
        warnings: found.warnings,
        freshness: project.freshness_now().map_err(unreadable)?,
    })
}

/// Compares every file with the index, and waits until the changes are settled.
pub async fn rescan(
    project: Arc<Project>,
    request: Rescan,
    progress: Progress,
) -> Result<RescanReply, ErrorView> {
    let (started, before) = (Instant::now(), project.health().tick());
    let full = request.full == Some(true);
    let is_settled = project.watcher().request(full).await
        && project
            .wait_until(LONGEST, |project| {
                report_building(project, &progress);
                project.settled().resolved || project.health().stalled().is_some()
            })
            .await;
    if let Some((stall, _)) = project.health().stalled() {
        let hint = Some(stall.hint());
        return Err(ErrorView {
            code: Code::Unavailable,
            message: stall.why,
            hint,
            conflict: None,
        });
    }
    if !is_settled {
        let why =
            project.is_poisoned().unwrap_or_else(|| "the index did not settle in time".into());
        return Err(unavailable(why));
    }
    let freshness = project.freshness_now().map_err(unreadable)?;
    Ok(RescanReply {
        files: project.watcher().state().n_known_files(),
        commits: freshness.tick.saturating_sub(before.0),
        seconds: started.elapsed().as_secs_f64(),
        freshness,
    })
}

/// Returns the progress of the deep pass; stops or resumes it.
pub async fn deep_pass(
    project: Arc<Project>,
    request: DeepPass,
    _: Progress,
) -> Result<DeepPassReply, ErrorView> {
    if let Some(pause) = request.pause {
        project.command(|reply| Command::PauseDeep(pause, reply)).await.map_err(unavailable)?;
    }
    let freshness = project.freshness_now().map_err(unreadable)?;
    Ok(DeepPassReply { deep: deep_view(&project), freshness })
}

/// Returns the progress of the deep pass, if it is enabled.
pub(super) fn deep_view(project: &Project) -> Option<DeepView> {
    let deep = project.health().deep();
    let settled = project.settled();
    project.settings.recognize.deep.then(|| DeepView {
        left: deep.left.0,
        waits: deep.left.0 == 0 && !settled.resolved,
        stuck: deep.n_stuck,
        paused: deep.is_paused,
        rests_for: deep.rests_for.map(str::to_string),
        eta_seconds: deep.eta().map(|eta| eta.as_secs()),
    })
}

/// Retries failed files, and returns the outcome of each.
pub async fn retry(
    project: Arc<Project>,
    request: Retry,
    progress: Progress,
) -> Result<RetryReply, ErrorView> {
    let paths = failed_among(&project, request.paths.as_deref())?;
    let asks_again = request.paths.is_none() && asked_again(&project).await;
    let cleared = paths.clone();
    project.command(|reply| Command::CloseBreakers(cleared, reply)).await.map_err(unavailable)?;
    let mut outcome = Indexed::default();
    let total = paths.len() as u64;
    for (n, path) in paths.iter().enumerate() {
        progress.report(n as u64, total, format!("{n} of {total} files"));
        for submitted in project.watcher().submit(vec![path.clone()], true).await {
            match submitted {
                Submitted::Sent(generation) | Submitted::Faulted(generation, _) => {
                    project.settle(path, generation, &mut outcome).await.map_err(stalled)?;
                }
                Submitted::Stopped => return Err(unavailable("the daemon is stopping".into())),
                Submitted::Unchanged | Submitted::Held | Submitted::Skipped(_) => {}
            }
        }
    }
    progress.report(total, total, format!("{total} of {total} files"));
    blocking(move || {
        let snapshot = project.snapshot().map_err(unreadable)?;
        let files = paths.iter().map(|path| {
            let failure = outcome.failed.get(path);
            let doc = snapshot.documents().at(path.as_str()).map_err(unreadable)?;
            Ok(retried(path, failure, doc.is_some()))
        });
        let files = files.collect::<Result<_, ErrorView>>()?;
        let embedding = asks_again.then(|| embedding_now(&project, &snapshot)).transpose();
        let embedding = embedding.map_err(unreadable)?.flatten();
        Ok(RetryReply { files, embedding, freshness: project.freshness(&snapshot) })
    })
    .await
}

/// Retries a better model that had been given up, and waits briefly for its answer. Returns false
/// if there is none.
async fn asked_again(project: &Project) -> bool {
    let n_done = project.backfilled().map_or(0, |stand| stand.n_done);
    let unanswered = project.unanswered();
    if !project.try_embedding_again() {
        return false;
    }
    if let Some(layer) = unanswered {
        let ask = move || {
            layer.try_again();
            Ok(())
        };
        // `status` shows whether it answered.
        let _ = blocking(ask).await;
    }
    let has_answered = |project: &Project| {
        let stand = project.backfilled();
        stand.is_none_or(|it| it.trouble.is_some() || it.n_done > n_done || it.is_full)
    };
    project.wait_until(ASKED_AGAIN, has_answered).await;
    true
}

fn retried(path: &RelPath, failure: Option<&(String, String)>, is_indexed: bool) -> Retried {
    let outcome = match (failure, is_indexed) {
        (Some(_), _) => "failed",
        (None, true) => "indexed",
        (None, false) => "gone",
    };
    Retried {
        path: path.to_string(),
        outcome: outcome.into(),
        stage: failure.map(|(stage, _)| stage.clone()),
        reason: failure.map(|(_, reason)| reason.clone()),
    }
}

/// Returns the wanted failed files: all, or those that are named or are in a named folder.
fn failed_among(project: &Project, wanted: Option<&[String]>) -> Result<Vec<RelPath>, ErrorView> {
    let failed: Vec<RelPath> =
        project.breakers().list().into_iter().map(|(path, _)| path).collect();
    let Some(wanted) = wanted else { return Ok(failed) };
    let mut chosen = Vec::new();
    for text in wanted {
        let relative = inside(project, text)?;
        let below = format!("{relative}/");
        let is_meant = |path: &&RelPath| {
            relative.is_empty() || path.as_str() == relative || path.as_str().starts_with(&below)
        };
        let before = chosen.len();
        chosen.extend(failed.iter().filter(is_meant).cloned());
        if chosen.len() == before {
            return Err(ErrorView::hinted(
                Code::NotFound,
                format!("nothing failed at `{text}`"),
                "`kgctl doctor` lists what failed; `kgctl ingest PATH --force` indexes any file anew",
            ));
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// Checks both databases and lists what failed.
pub async fn checkup(
    project: Arc<Project>,
    request: Checkup,
    _: Progress,
) -> Result<CheckupReply, ErrorView> {
    if request.scrub == Some(true) {
        project.scrub_now().await;
    }
    blocking(move || {
        let found = check_up(&project.state_dir).map_err(unreadable)?;
        let troubles = project.breakers().list();
        let failed = troubles.iter().take(MAX_LISTED).map(|(path, it)| {
            let file = failed_file(path, it);
            FailedFile { hint: project.in_commands(file.hint), ..file }
        });
        Ok(CheckupReply {
            index: found.index,
            ledger: found.ledger,
            ledger_version: found.ledger_version,
            newest_backup: found.newest_backup.map(|path| path.display().to_string()),
            failed: failed.collect(),
            n_failed: troubles.len() as u64,
            freshness: project.freshness_now().map_err(unreadable)?,
        })
    })
    .await
}

fn failed_file(path: &RelPath, trouble: &Failing) -> FailedFile {
    let (is_open, is_transient) = (trouble.is_open(), trouble.is_transient);
    let retry = format!("`kgctl retry {}`", operand(path.as_str()));
    let hint = match (is_open, is_transient) {
        (true, true) => {
            format!(
                "repair what keeps it from being read, then {retry}; else it is tried once an hour"
            )
        }
        (true, false) => {
            format!("correct the file: it is read again when it changes, or by {retry}")
        }
        (false, true) => format!("it is tried again at the next rescan; {retry} tries at once"),
        (false, false) => "correct the file: it is read again when it changes".to_string(),
    };
    FailedFile {
        path: path.to_string(),
        stage: trouble.stage.clone(),
        reason: trouble.reason.clone(),
        failures: trouble.n_failures,
        skipped: is_open,
        hint,
    }
}

/// Copies the ledger.
pub async fn backup(
    project: Arc<Project>,
    request: Backup,
    _: Progress,
) -> Result<BackupReply, ErrorView> {
    let to = request.path.map(PathBuf::from);
    if let Some(relative) = to.as_deref().filter(|path| !path.is_absolute()) {
        return Err(invalid(
            format!("`{}` is not an absolute path", relative.display()),
            "begin it with `/`",
        ));
    }
    if to.as_deref().is_some_and(|to| is_own(&project.state_dir, to)) {
        return Err(invalid(
            "that is the daemon's own folder".into(),
            "give a file elsewhere, or none: then it goes to `backups` there",
        ));
    }
    blocking(move || {
        let done = back_up(&project.state_dir, to.as_deref(), request.force == Some(true));
        let done = done.map_err(refused)?;
        Ok(BackupReply {
            path: done.path.display().to_string(),
            bytes: done.n_bytes,
            version: done.version,
            rows: done.rows,
            freshness: project.freshness_now().map_err(unreadable)?,
        })
    })
    .await
}

/// Returns whether a path is in the daemon's own folder, outside its backups.
fn is_own(state_dir: &Path, to: &Path) -> bool {
    let folder = to.parent().and_then(|folder| folder.canonicalize().ok());
    let Some((folder, own)) = folder.zip(state_dir.canonicalize().ok()) else { return false };
    folder.starts_with(&own) && !folder.starts_with(own.join("backups"))
}

/// Converts an error that the caller can act on, with its hint separated.
fn refused(error: StoreError) -> ErrorView {
    let StoreError::Ledger(ledger) = &error else { return unreadable(error) };
    let code = match ledger {
        LedgerError::Exists(_) | LedgerError::Io { .. } => Code::InvalidParams,
        _ => Code::Internal,
    };
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    ErrorView {
        code,
        message: message.into(),
        hint: Some(hint.into()).filter(|hint: &String| !hint.is_empty()),
        conflict: None,
    }
}
