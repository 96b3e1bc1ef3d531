//! Health: renders the state of the daemon and its surroundings.
//!
//! In: `status`, settings, rows of the registry, the findings of `doctor`. Out: text.

use std::collections::BTreeMap;
use std::fmt::Write;

use config::Loaded;
use proto::shape::WorkersView;
use proto::tool::core::{HubView, NotReadView, QueueView, StatusReply, SurveyView};

use super::{Style, clean, counted, table, thousands};

/// Renders `status`, most important first.
pub fn status(reply: &StatusReply, style: Style) -> String {
    let mut text = format!("{}\n{}\n", headline(reply, style), facts(reply, style).trim_end());
    let busy: Vec<&QueueView> =
        reply.queues.iter().filter(|it| it.interactive + it.bulk > 0).collect();
    if !busy.is_empty() {
        let row =
            |it: &&QueueView| vec![it.stage.clone(), thousands(it.interactive), thousands(it.bulk)];
        let _ = write!(
            text,
            "\n{}",
            table(style, &["QUEUE", "INTERACTIVE", "BULK"], busy.iter().map(row).collect())
        );
    }
    if let Some(survey) = &reply.survey {
        text += &not_read(survey, style);
    }
    if !reply.quarantine.is_empty() {
        let row = |it: &proto::tool::core::QuarantineView| {
            [&it.path, &it.stage, &it.reason].map(|cell| clean(cell).into_owned()).to_vec()
        };
        let rows = reply.quarantine.iter().map(row).collect();
        let _ = write!(text, "\n{}", table(style, &["FAILED", "STAGE", "REASON"], rows));
    }
    if !reply.warnings.is_empty() {
        let row = |it: &proto::tool::core::WarningView| {
            // A warning is one cell of a table, so its hint goes on the same line.
            let path = if it.is_of_folder() { "(folder)" } else { &it.path };
            let warning = it.warning.replace("\nhint: ", "; hint: ");
            [path, &warning].map(|cell| clean(cell).into_owned()).to_vec()
        };
        let _ = write!(
            text,
            "\n{}",
            table(style, &["WARNED", "WARNING"], reply.warnings.iter().map(row).collect())
        );
    }
    if let Some(stalled) = &reply.stalled {
        let _ = writeln!(text, "\n{} {}", style.red("stalled:"), clean(&stalled.why));
        let _ = writeln!(text, "hint: {}", clean(&stalled.hint));
    }
    if let Some(refused) = &reply.writes_refused {
        let _ = writeln!(text, "\n{} {}", style.red("writes refused:"), clean(&refused.why));
        let _ = writeln!(text, "hint: {}", clean(&refused.hint));
    }
    if !reply.mended.is_empty() {
        let row = |it: &proto::tool::core::MendedView| {
            [&it.at, &it.part, &it.what].map(|cell| clean(cell).into_owned()).to_vec()
        };
        let rows = reply.mended.iter().map(row).collect();
        let _ = write!(text, "\n{}", table(style, &["AT", "LOST", "WHAT"], rows));
    }
    if let Some(error) = &reply.last_error {
        let _ = writeln!(text, "\n{} {}", style.red("last error:"), clean(error));
    }
    text
}

/// Renders what is not read, by reason; empty if everything is.
pub fn not_read(survey: &SurveyView, style: Style) -> String {
    if survey.not_read.is_empty() {
        return String::new();
    }
    let row = |it: &NotReadView| {
        let named = it.named(|path| clean(path).into_owned());
        vec![thousands(it.count), clean(&it.why()).into_owned(), named]
    };
    let rows = survey.not_read.iter().map(row).collect();
    let table = table(style, &["NOT READ", "WHY", "WHICH"], rows);
    format!("\n{table}hint: `kgctl status --not-read` names all, and what would have each read\n")
}

/// Renders every path that is not read, each on a line with the reason, and what would have it read.
pub fn all_not_read(survey: &SurveyView) -> String {
    let mut text = String::new();
    for it in &survey.not_read {
        let n_more = it.count.saturating_sub(it.paths.len() as u64);
        let more = (n_more > 0).then(|| format!("… {} more", thousands(n_more)));
        for path in it.paths.iter().chain(&more) {
            let hint = it.hint.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}\t{}\t{}", clean(path), clean(&it.why()), clean(hint));
        }
    }
    text
}

fn headline(reply: &StatusReply, style: Style) -> String {
    let name = style.bold(&clean(&reply.freshness.project));
    let progress = format!(
        "{} of {}",
        thousands(reply.progress.indexed),
        counted(reply.progress.known, "file")
    );
    let state = if reply.settled {
        style.green(&format!("settled, {progress}"))
    } else {
        let parts = &reply.stages_settled;
        let parts = [
            (parts.searchable, "searchable"),
            (parts.resolved, "resolved"),
            (parts.vectors, "vectors"),
            (parts.deep, "deep"),
        ];
        let missing: Vec<_> = parts.iter().filter(|part| !part.0).map(|part| part.1).collect();
        // An index that is rebuilt beside the active one has its own progress.
        let beside = reply.freshness.building.as_deref().filter(|it| it.starts_with("rebuilding"));
        match beside {
            Some(building) => style.yellow(&clean(building)),
            None => style.yellow(&format!("working, {progress}; not yet: {}", missing.join(", "))),
        }
    };
    format!("{name}  {state}")
}

/// Renders the state of the parsing processes.
fn parsing(workers: &WorkersView) -> String {
    let n_failed = counted(workers.failed, "document");
    let sandbox = workers.sandbox.as_deref().map_or("not started yet".into(), clean);
    format!(
        "{} of {} workers run, {} busy, {n_failed} failed in them; sandbox: {sandbox}",
        workers.running, workers.most, workers.busy
    )
}

fn facts(reply: &StatusReply, style: Style) -> String {
    let counts = |map: &BTreeMap<String, u64>| {
        let cells: Vec<_> = map
            .iter()
            .map(|(name, count)| format!("{} {}", thousands(*count), clean(name)))
            .collect();
        if cells.is_empty() { "none".to_string() } else { cells.join(", ") }
    };
    let last = reply.last_file.as_deref().map(clean).unwrap_or_default();
    let speed = format!(
        "{:.1} documents a second, {:.1} ms a transaction, tick {}",
        reply.ingest_rate, reply.average_transaction_ms, reply.freshness.tick
    );
    let daemon = format!(
        "pid {}, version {}, since {}, {}, {}, watching by {}",
        reply.pid,
        reply.version,
        clean(&reply.started_at),
        counted(reply.n_errors, "error"),
        counted(reply.clients, "client"),
        reply.watcher
    );
    let mut rows = vec![
        ("folder", clean(&reply.root).into_owned()),
        ("index", counts(&reply.counts)),
        ("formats", counts(&reply.formats)),
        ("last file", last.into_owned()),
        ("speed", speed),
        ("daemon", daemon),
    ];
    if let Some(deep) = &reply.deep {
        rows.push(("deep", deep.describe()));
    }
    if let Some(embedding) = &reply.embedding {
        rows.push(("embedding", clean(&embedding.describe()).into_owned()));
    }
    rows.extend(reply.llm.iter().map(|slot| ("llm", clean(&slot.describe()).into_owned())));
    rows.extend(reply.http.iter().map(|at| ("http", clean(at).into_owned())));
    rows.extend(reply.hub.iter().map(|it| ("hub", clean(&it.describe()).into_owned())));
    if let Some(scrub) = &reply.scrub {
        rows.push(("scrub", scrub.describe()));
    }
    if let Some(workers) = &reply.workers {
        rows.push(("parsing", parsing(workers)));
    }
    for (name, found) in [("redacted", &reply.redacted), ("personal", &reply.flagged)] {
        if !found.is_empty() {
            rows.push((name, counts(found)));
        }
    }
    if reply.orphaned_entities > 0 {
        rows.push((
            "orphans",
            format!("entities without a mention: {}; report this", reply.orphaned_entities),
        ));
    }
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_string(), value]).collect();
    table(style, &[], rows)
}

/// A registered project, as `kgctl list` shows it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ProjectRow {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub root: String,
    /// Whether it is the default.
    pub default: bool,
    /// `running`, `stopped`, or `folder missing`.
    pub state: String,
    /// The hub that it is published to, as its daemon says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub: Option<HubView>,
    /// The day on which it was registered.
    pub added: String,
    /// Whether the user forbids tools to write in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// Renders the registered projects.
pub fn projects(rows: &[ProjectRow], style: Style) -> String {
    if rows.is_empty() {
        return "no project is registered\nhint: register a folder with `kgctl init DIR`\n"
            .to_string();
    }
    let row = |it: &ProjectRow| {
        let name = if it.default { format!("{} *", it.name) } else { it.name.clone() };
        let read_only = if it.read_only { ", read-only" } else { "" };
        let hub = it.hub.as_ref().map(|it| format!(", hub {}", it.describe())).unwrap_or_default();
        [name, format!("{}{read_only}{hub}", it.state), it.added.clone(), it.root.clone()]
            .map(|cell| clean(&cell).into_owned())
            .to_vec()
    };
    table(style, &["NAME", "STATE", "ADDED", "FOLDER"], rows.iter().map(row).collect())
}

/// Renders every setting with its value and origin.
pub fn settings(loaded: &Loaded, style: Style) -> String {
    let row = |(key, value, origin): (&str, &serde_json::Value, &config::Origin)| {
        vec![
            key.to_string(),
            clean(&value.to_string()).into_owned(),
            clean(&origin.to_string()).into_owned(),
            if config::live::is_reread(key) { "reload" } else { "restart" }.to_string(),
        ]
    };
    table(style, &["KEY", "VALUE", "FROM", "CHANGED BY"], loaded.rows().map(row).collect())
}

/// The result of one check of `doctor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No problem.
    Good,
    /// It works, but deserves attention.
    Warning,
    /// It does not work.
    Bad,
}

/// One finding of `doctor`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// What was checked.
    pub subject: String,
    /// The result.
    pub verdict: Verdict,
    /// The observation.
    pub detail: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Renders the findings of `doctor`.
pub fn findings(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    for it in findings {
        let mark = match it.verdict {
            Verdict::Good => style.green("ok"),
            Verdict::Warning => style.yellow("warning"),
            Verdict::Bad => style.red("bad"),
        };
        let _ = writeln!(text, "{mark} {}: {}", style.bold(&it.subject), clean(&it.detail));
        if let Some(hint) = &it.hint {
            let _ = writeln!(text, "   hint: {}", clean(hint));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_index_that_is_built_beside_another_tells_its_own_progress() {
        let mut reply = reply(false);
        let building = "rebuilding, 120 of 9,800; this answer is from the index before";
        reply.freshness.building = Some(building.to_string());
        let text = status(&reply, Style::plain());
        assert!(text.starts_with(&format!("notes  {building}\n")), "{text}");
    }

    fn reply(settled: bool) -> StatusReply {
        serde_json::from_value(json!({
            "root": "/home/ada/notes", "pid": 4711, "version": "0.1.0", "protocol": 1, "schema": 1,
            "settled": settled,
            "stages_settled": { "searchable": true, "resolved": settled, "vectors": settled },
            "progress": { "known": 9_800, "indexed": 3_120 },
            "counts": { "documents": 3_120, "entities": 812 }, "formats": { "md": 3_100, "html": 20 },
            "queues": [
                { "stage": "chunk", "interactive": 1, "bulk": 1_000 },
                { "stage": "write", "interactive": 0, "bulk": 0 }
            ],
            "last_file": "a.md", "ingest_rate": 321.07, "average_transaction_ms": 1.24,
            "orphaned_entities": 0,
            "skipped": {}, "quarantine": [], "warnings": [], "watcher": "events", "clients": 1,
            "project": "notes", "tick": 77
        }))
        .expect("a reply")
    }

    #[test]
    fn a_busy_daemon_shows_its_queues() {
        expect![[r#"
            notes  working, 3,120 of 9,800 files; not yet: resolved, vectors, deep
            folder     /home/ada/notes
            index      3,120 documents, 812 entities
            formats    20 html, 3,100 md
            last file  a.md
            speed      321.1 documents a second, 1.2 ms a transaction, tick 77
            daemon     pid 4711, version 0.1.0, since , 0 errors, 1 client, watching by events

            QUEUE  INTERACTIVE  BULK
            chunk  1            1,000
        "#]]
        .assert_eq(&status(&reply(false), Style::plain()));
    }

    #[test]
    fn trouble_comes_after_the_facts() {
        let mut reply = reply(true);
        reply.queues.clear();
        let failed = json!({ "path": "bad\u{1b}.md", "stage": "normalize", "reason": "too deep" });
        reply.quarantine.push(serde_json::from_value(failed).expect("a row"));
        let warned = json!({ "path": "odd.md", "warning": "frontmatter is not YAML: line 2" });
        reply.warnings.push(serde_json::from_value(warned).expect("a row"));
        reply.last_error = Some("disk full".to_string());
        reply.orphaned_entities = 1;
        expect![[r#"
            notes  settled, 3,120 of 9,800 files
            folder     /home/ada/notes
            index      3,120 documents, 812 entities
            formats    20 html, 3,100 md
            last file  a.md
            speed      321.1 documents a second, 1.2 ms a transaction, tick 77
            daemon     pid 4711, version 0.1.0, since , 0 errors, 1 client, watching by events
            orphans    entities without a mention: 1; report this

            FAILED        STAGE      REASON
            bad\u{1b}.md  normalize  too deep

            WARNED  WARNING
            odd.md  frontmatter is not YAML: line 2

            last error: disk full
        "#]]
        .assert_eq(&status(&reply, Style::plain()));
    }

    #[test]
    fn projects_and_findings() {
        let row = |name: &str, default| ProjectRow {
            name: name.into(),
            root: format!("/srv/{name}"),
            default,
            state: "stopped".into(),
            hub: (!default).then(|| HubView {
                address: "pub@db.example/kg".into(),
                project: "work".into(),
                lag: 7,
                trouble: Some("it is fenced\nhint: take it back".into()),
                ..HubView::default()
            }),
            added: "2026-03-01".into(),
            read_only: !default,
        };
        expect![[r#"
            NAME     STATE                                                       ADDED       FOLDER
            notes *  stopped                                                     2026-03-01  /srv/notes
            work     stopped, read-only, hub pub@db.example/kg as work, 7 ticks  2026-03-01  /srv/work
                     behind: it is fenced; take it back
        "#]]
        .assert_eq(&projects(&[row("notes", true), row("work", false)], Style::plain()));
        expect![[r#"
            no project is registered
            hint: register a folder with `kgctl init DIR`
        "#]]
        .assert_eq(&projects(&[], Style::plain()));
        let finding = |verdict, hint: Option<&str>| Finding {
            subject: "kgd".into(),
            verdict,
            detail: "found".into(),
            hint: hint.map(str::to_string),
        };
        let found = [finding(Verdict::Good, None), finding(Verdict::Bad, Some("install it"))];
        expect![[r#"
            ok kgd: found
            bad kgd: found
               hint: install it
        "#]]
        .assert_eq(&findings(&found, Style::plain()));
    }
}
