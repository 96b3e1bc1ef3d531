//! Findings about the daemon and its databases, from its own status.
//!
//! In: a daemon, running or not. Out: findings: version, index, watching, memory, damage, failed files.
//! Invariants: a daemon of another version is always reported, whatever else it answers.

use std::collections::{BTreeMap, BTreeSet};

use ::config::command::word;
use client::connect::Session;
use client::launch::{Target, version_mismatch};
use client::render::counted;
use client::render::health::Finding;
use proto::PROTOCOL_VERSION;
use proto::tool::admin::{Checkup, CheckupReply};
use proto::tool::core::{HubView, LlmView, Status, StatusReply, WarningView};

use super::super::failure::{Exit, Failure};
use super::{failed, good, memory, warning};

/// Returns all findings about a daemon.
pub(super) async fn findings(target: &Target, scrubs: bool) -> Vec<Finding> {
    let Ok(stream) = target.connect() else {
        return vec![silent(target)];
    };
    let session = match Session::open(stream).await {
        Ok(session) => session,
        Err(error) => return vec![failed("daemon", error.into())],
    };
    let mut found = Vec::new();
    let version = session.daemon_version().unwrap_or_default();
    if let Some((detail, hint)) = version_mismatch(&version, "kgctl") {
        found.push(warning("version", detail, &hint));
    }
    // Before the status, so that the status includes its results.
    let checkup = session.call(&Checkup { scrub: scrubs.then_some(true) }).await;
    let status = match session.call(&Status::default()).await {
        Ok(reply) => reply,
        Err(error) => {
            found.push(failed("daemon", error.into()));
            return found;
        }
    };
    found.extend(of_status(&status));
    found.extend(of_folder(&status));
    found.push(watching(&status.watcher));
    found.push(memory::finding(status.pid));
    found.extend(status.llm.iter().map(of_llm));
    found.extend(status.workers.as_ref().and_then(|it| sandbox(it.sandbox.as_deref()?)));
    match checkup {
        Ok(reply) => {
            found.extend(of_checkup(&reply));
            found.extend(documents(&status, &reply));
        }
        // A daemon of an older version lacks this tool; the list in its status is shorter.
        Err(error) => {
            let error = error.to_string();
            let why = error.lines().next().unwrap_or_default();
            found.push(warning(
                "databases",
                format!("not checked: {why}"),
                "`kgctl restart`, then again",
            ));
            found.extend(documents(&status, &CheckupReply::default()));
        }
    }
    if let Some(error) = &status.last_error {
        found.push(warning("last error", error.clone(), "`kgctl logs` shows more"));
    }
    found
}

/// Lines at the end of the log to search for the reason why a daemon ended.
const LOG_LINES: usize = 20;

/// Returns the error of a daemon that could not start or had to end.
fn last_error(log: &[String]) -> Option<String> {
    let at = log.iter().rposition(|line| line.starts_with("kgd: "))?;
    let words = log.get(at..)?.join("\n");
    Some(words.trim_start_matches("kgd: ").to_string())
}

fn silent(target: &Target) -> Finding {
    match target.pid() {
        Some(pid) => failed(
            "daemon",
            Failure::new(
                Exit::Failed,
                format!("pid {pid} holds the lock but does not listen\nhint: `kgctl restart`"),
            ),
        ),
        None => match last_error(&target.log_tail(LOG_LINES)) {
            Some(error) => failed(
                "daemon",
                Failure::new(Exit::Failed, format!("not running; the last one ended: {error}")),
            ),
            None => good("daemon", "not running; it starts when it is needed"),
        },
    }
}

fn of_status(reply: &StatusReply) -> Vec<Finding> {
    let mut found = Vec::new();
    let detail =
        format!("pid {}, version {}, tick {}", reply.pid, reply.version, reply.freshness.tick);
    found.push(if reply.protocol == PROTOCOL_VERSION {
        good("daemon", detail)
    } else {
        let detail =
            format!("{detail}; it speaks protocol {}, not {PROTOCOL_VERSION}", reply.protocol);
        warning("daemon", detail, "install `kgd` and `kgctl` of one version, then `kgctl restart`")
    });
    let progress =
        format!("{} of {}", reply.progress.indexed, counted(reply.progress.known, "file"));
    found.push(good(
        "index",
        format!("{progress}, {}", if reply.settled { "settled" } else { "working" }),
    ));
    if let Some(stalled) = &reply.stalled {
        let failure = Failure::new(Exit::Failed, stalled.why.clone()).hint(&stalled.hint);
        found.push(failed("index", failure));
    }
    if let Some(refused) = &reply.writes_refused {
        let failure = Failure::new(Exit::Failed, refused.why.clone()).hint(&refused.hint);
        found.push(failed("ledger", failure));
    }
    found.extend(reply.mended.iter().map(|it| {
        warning(
            &it.part,
            format!("{}: {}", it.at, it.what),
            "repaired, or being repaired; find out what changed the files, such as a cleaner or a failing disk",
        )
    }));
    found.extend(reply.hub.iter().map(|hub| match &hub.trouble {
        None => good("hub", hub.describe()),
        Some(why) => {
            let hint = why.split_once("\nhint: ").map_or("see `kgctl logs`", |(_, hint)| hint);
            let why = why.split("\nhint: ").next().map(String::from);
            warning("hub", HubView { trouble: why, ..hub.clone() }.describe(), hint)
        }
    }));
    found.extend(reply.scrub.iter().map(|it| good("scrub", it.describe())));
    if reply.orphaned_entities > 0 {
        let detail = format!("entities without a mention: {}", reply.orphaned_entities);
        let hint = "this is a bug: please report it; `kgctl verify --repair` repairs the index";
        found.push(failed("index", Failure::new(Exit::Failed, detail).hint(hint)));
    }
    found
}

/// Reports how changes are detected.
fn watching(mode: &str) -> Finding {
    let subject = "watching";
    if mode.starts_with("stopped") {
        let failure = Failure::new(Exit::Failed, "changes are no longer detected");
        return failed(subject, failure.hint("`kgctl restart`"));
    }
    if mode.contains("because") {
        let hint = "changes are then found by polling, not at once; if the limit of watches is the reason, \
                    raise `fs.inotify.max_user_watches` and `kgctl restart`";
        return warning(subject, format!("by {mode}"), hint);
    }
    good(subject, format!("by {mode}"))
}

/// Reports one slot for a language model. An unusable one is only a warning, because kgd works
/// without it.
fn of_llm(slot: &LlmView) -> Finding {
    match slot.state.as_str() {
        "ready" | "untried" => good("llm", slot.describe()),
        "spent" => warning(
            "llm",
            slot.describe(),
            &format!("kgd works without it; raise `llm.{}.max_calls_per_hour`", slot.slot),
        ),
        _ => {
            let description = slot.describe();
            let (description, own) =
                description.split_once("; hint: ").unwrap_or((&description, ""));
            let own =
                if own.is_empty() { format!("check `llm.{}`", slot.slot) } else { own.into() };
            warning("llm", description, &format!("{own}; kgd works without it"))
        }
    }
}

/// Reports what confines the processes that parse documents.
fn sandbox(active: &str) -> Option<Finding> {
    let subject = "sandbox";
    Some(if active.contains("missing:") {
        let hint = "documents are still parsed in separate processes with resource limits; a kernel from 5.13 on \
                    with landlock and seccomp enabled gives the rest";
        warning(subject, active.to_string(), hint)
    } else {
        good(subject, active.to_string())
    })
}

fn of_checkup(reply: &CheckupReply) -> Vec<Finding> {
    let index = match reply.index.as_str() {
        "ok" => good("index", "undamaged"),
        why => failed(
            "index",
            Failure::new(Exit::Failed, format!("damaged: {why}"))
                .hint("`kgctl verify --repair` rebuilds it from the files; check the disk"),
        ),
    };
    let version = reply.ledger_version;
    let ledger = match (reply.ledger.as_str(), reply.newest_backup.as_deref()) {
        ("ok", Some(newest)) => {
            good("ledger", format!("undamaged, version {version}; newest backup `{newest}`"))
        }
        ("ok", None) => {
            good("ledger", format!("undamaged, version {version}; no backup yet (`kgctl backup`)"))
        }
        (why, newest) => {
            let hint = match newest {
                Some(file) => format!("`kgctl backup --restore {}`; check the disk", word(file)),
                None => "there is no backup; copy the ledger to a safe place first; check the disk"
                    .into(),
            };
            failed("ledger", Failure::new(Exit::Failed, format!("damaged: {why}")).hint(hint))
        }
    };
    vec![index, ledger]
}

/// Reports documents that failed or caused warnings.
fn documents(status: &StatusReply, checkup: &CheckupReply) -> Vec<Finding> {
    let mut found = Vec::new();
    for it in &checkup.failed {
        let skipped = if it.skipped { "; now skipped" } else { "" };
        let failures = counted(u64::from(it.failures), "failure");
        let (reason, own_hint) = reason_and_hint(&it.reason);
        let detail =
            format!("`{}` failed in {}: {reason} ({failures}{skipped})", it.path, it.stage);
        let hint = own_hint.map_or(it.hint.clone(), |own| format!("{own}; {}", it.hint));
        found.push(warning("document", detail, &hint));
    }
    let left = checkup.n_failed.saturating_sub(checkup.failed.len() as u64);
    if left > 0 {
        let hint = "`kgctl retry --all` tries all of them";
        found.push(warning("document", format!("{left} more failed"), hint));
    }
    let listed: BTreeSet<&str> = checkup.failed.iter().map(|it| it.path.as_str()).collect();
    for it in status.quarantine.iter().filter(|it| !listed.contains(it.path.as_str())) {
        let (reason, own_hint) = reason_and_hint(&it.reason);
        let detail = format!("`{}` failed in {}: {reason}", it.path, it.stage);
        let hint = own_hint.unwrap_or("correct the file; it is read again when it changes");
        found.push(warning("document", detail, hint));
    }
    let is_of_folder = |it: &&WarningView| it.is_of_folder() || OF_SETTINGS.contains(&&*it.path);
    let of_documents = status.warnings.iter().filter(|it| !is_of_folder(it));
    for it in of_documents.clone().filter(|it| it.of_secrets().is_none()) {
        found.push(warning(
            "document",
            format!("`{}`: {}", it.path, it.warning),
            "what could be read of it is indexed",
        ));
    }
    for (what, counts) in [("redacted", &status.redacted), ("personal data, kept", &status.flagged)]
    {
        let paths = of_documents.clone().filter(|it| it.of_secrets() == Some(what));
        found.extend(of_secrets(what, counts, paths.map(|it| it.path.as_str())));
    }
    found
}

/// Most documents named for secrets or personal data.
const MAX_NAMED: usize = 3;

/// Reports how many secrets or personal data documents contain, and names the first of these
/// documents.
fn of_secrets<'p>(
    what: &str,
    counts: &BTreeMap<String, u64>,
    paths: impl Iterator<Item = &'p str>,
) -> Option<Finding> {
    let kinds: Vec<String> = counts.iter().map(|(kind, n)| format!("{n} × {kind}")).collect();
    let named: Vec<String> = paths.map(|path| format!("`{path}`")).collect();
    let shown = named.get(..MAX_NAMED.min(named.len()))?.join(", ");
    let more = if named.len() > MAX_NAMED { " and more" } else { "" };
    let detail = format!("{what}: {}, in {shown}{more}", kinds.join(", "));
    (!named.is_empty()).then(|| good("documents", detail))
}

/// Reports warnings about the folder as a whole, its settings and the models they name.
fn of_folder(status: &StatusReply) -> Vec<Finding> {
    let finding_of = |it: &WarningView| {
        let warned_of = |start: &str| it.warning.starts_with(start);
        let (subject, place) = match OF_SETTINGS.contains(&&*it.path) {
            true => ("settings", format!("`{}`: ", it.path)),
            false if OF_MODELS.iter().any(|key| it.warning.starts_with(key)) => {
                ("models", String::new())
            }
            false if OF_HTTP.iter().any(|it| warned_of(it)) => ("http", String::new()),
            false => ("folder", String::new()),
        };
        let (warned, hint) = it.warning.split_once("\nhint: ").unwrap_or((&it.warning, ""));
        let finding = warning(subject, place + warned, hint);
        Finding { hint: finding.hint.filter(|hint| !hint.is_empty()), ..finding }
    };
    let is_meant = |it: &&WarningView| it.is_of_folder() || OF_SETTINGS.contains(&&*it.path);
    status.warnings.iter().filter(is_meant).map(finding_of).collect()
}

/// Prefixes of warnings about models.
const OF_MODELS: [&str; 2] = ["`embed.", "`retrieval.rerank."];

/// Prefixes of warnings about HTTP.
const OF_HTTP: [&str; 2] = ["`http.", "the token's file"];

/// Settings files in the folder, which are not documents.
const OF_SETTINGS: [&str; 2] = [::config::load::PROJECT_FILE, ::config::limits::DEFAULT_PREDICATES];

/// Splits a reason into the problem and the stage's hint, if it has one.
fn reason_and_hint(reason: &str) -> (&str, Option<&str>) {
    reason.split_once("; hint: ").map_or((reason, None), |(reason, hint)| (reason, Some(hint)))
}

#[cfg(test)]
mod tests {
    use client::render::health::Verdict;
    use proto::tool::core::QuarantineView;

    use super::*;

    #[test]
    fn a_slot_that_gives_nothing_is_told_with_its_own_hint() {
        let slot = |state: &str, trouble: Option<&str>| {
            let (state, trouble) = (state.to_string(), trouble.map(String::from));
            let slot = "query".to_string();
            of_llm(&LlmView { slot, state, trouble, ..LlmView::default() })
        };
        assert_eq!(slot("ready", None).verdict, Verdict::Good);
        assert_eq!(slot("untried", None).verdict, Verdict::Good);
        let failed = slot("waiting", Some("it answered 401\nhint: check the key of `llm.query`"));
        assert_eq!(failed.verdict, Verdict::Warning);
        assert!(failed.detail.ends_with("waiting; it answered 401"), "{}", failed.detail);
        let hint = failed.hint.unwrap_or_default();
        assert_eq!(hint, "check the key of `llm.query`; kgd works without it");
        let hint = slot("failing", Some("it took long")).hint.unwrap_or_default();
        assert_eq!(hint, "check `llm.query`; kgd works without it");
        assert!(slot("spent", None).hint.is_some_and(|it| it.contains("max_calls_per_hour")));
    }

    #[test]
    fn why_the_last_daemon_ended_is_told() {
        let log = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(last_error(&log(&["INFO starting", "INFO stopped"])), None);
        let refused = log(&["INFO starting", "kgd: the ledger is damaged", "hint: restore it"]);
        let expected = "the ledger is damaged\nhint: restore it".to_string();
        assert_eq!(last_error(&refused), Some(expected));
    }

    #[test]
    fn watching_by_other_means_than_wished_is_a_warning() {
        let rows = [
            ("events", Verdict::Good),
            ("events, rescanning", Verdict::Good),
            ("poll", Verdict::Good),
            ("poll, because the limit of watches is reached", Verdict::Warning),
            ("stopped", Verdict::Bad),
        ];
        for (mode, expected) in rows {
            let finding = watching(mode);
            let has_hint = finding.hint.is_some();
            assert_eq!(
                (finding.verdict, has_hint),
                (expected, expected != Verdict::Good),
                "{mode}"
            );
        }
    }

    #[test]
    fn a_sandbox_with_parts_missing_is_a_warning() {
        let verdict = |active| sandbox(active).map(|finding| finding.verdict);
        assert_eq!(verdict("rlimits, landlock abi 4, seccomp"), Some(Verdict::Good));
        let partly = "rlimits, seccomp; missing: landlock (not in this kernel)";
        assert_eq!(verdict(partly), Some(Verdict::Warning));
    }

    #[test]
    fn a_reason_with_a_hint_of_its_own_keeps_it() {
        let mut status = StatusReply::default();
        let reason = "on the deny list: not a format of text; hint: only text is read";
        status.quarantine = vec![QuarantineView {
            path: "a.md".into(),
            reason: reason.into(),
            stage: "watch".into(),
        }];
        let found = documents(&status, &CheckupReply::default());
        assert_eq!(found[0].hint.as_deref(), Some("only text is read"));
        assert!(found[0].detail.ends_with("not a format of text"), "{}", found[0].detail);
    }

    #[test]
    fn damage_names_the_way_back() {
        let reply = CheckupReply {
            index: "*** in database main ***".into(),
            ledger: "row 1 missing from index".into(),
            newest_backup: Some("/b/ledger-1.sqlite".into()),
            ..CheckupReply::default()
        };
        let found = of_checkup(&reply);
        assert!(found.iter().all(|it| it.verdict == Verdict::Bad));
        let hints: Vec<_> = found.iter().map(|it| it.hint.clone().unwrap_or_default()).collect();
        assert!(hints[0].contains("verify --repair"), "{hints:?}");
        assert!(hints[1].contains("--restore /b/ledger-1.sqlite"), "{hints:?}");
    }
}
