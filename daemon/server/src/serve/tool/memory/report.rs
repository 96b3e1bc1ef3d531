//! Report: the weekly report of memory: what needs attention, as a note that a person reads and
//! ticks off.
//!
//! In: the consolidation report, the time. Out: `memory/reports/2026-W48.md`, one per week (ISO
//! 8601), or its text.
//! Invariants: an existing report is never overwritten, whoever has changed it; it is written like
//! any other note; it has no links, so it changes no backlinks and no orphans; if there is nothing
//! to report, none is written automatically.

use std::sync::{Arc, Weak};
use std::time::Duration;

use config::settings::WeeklyReport;
use jiff::Zoned;
use notes::resolve::name_key;
use proto::error::ErrorView;
use proto::tool::admin::{MemoryDeed, MemoryReport, MemoryReportReply};
use proto::tool::memory::{
    ConsolidationReply, GetConsolidationReport, GetRelationGaps, RelationGap,
};

use super::{blocking, consolidate, invalid, ledger, stalled, unreadable};
use crate::notes::{NoteError, Overwrite};
use crate::project::Project;
use crate::serve::routes::Who;
use query::browse::rfc3339;

/// Interval between checks for a new week.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);

/// Most recorded changes listed.
const MAX_HISTORY: u32 = 1_000;

/// Length of one wait for a settled build.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes the report of this week, and writes it if wanted.
pub async fn memory_report(
    project: Arc<Project>,
    request: MemoryReport,
    _: Who,
) -> Result<MemoryReportReply, ErrorView> {
    if let Some(most) = request.history {
        return history(project, most, request.entity).await;
    }
    let now = Zoned::now();
    match request.write == Some(true) {
        true => write(&project, &now, false).await,
        false => {
            let worker = project.clone();
            let text = blocking(move || Ok(text_of(&worker, &now)?.0)).await?;
            let freshness = project.freshness_now().map_err(unreadable)?;
            Ok(MemoryReportReply { action: "shown".into(), text, freshness, ..Default::default() })
        }
    }
}

/// Returns the operations of tools, latest first.
async fn history(
    project: Arc<Project>,
    most: u32,
    entity: Option<String>,
) -> Result<MemoryReportReply, ErrorView> {
    if !(1..=MAX_HISTORY).contains(&most) {
        return Err(invalid(format!("`history` is {most}"), "give a number from 1 to 1000"));
    }
    let worker = project.clone();
    let deeds = blocking(move || {
        let entity = entity.as_deref().map(name_key);
        let is_meant = |name: &str| entity.as_ref().is_none_or(|it| *it == name_key(name));
        ledger(&worker)?.history(most as usize, is_meant).map_err(unreadable)
    });
    let history = deeds.await?.into_iter().map(|(at_ms, [client, tool, operation, name])| {
        MemoryDeed { at: rfc3339(at_ms), client, tool, operation, name }
    });
    let history = history.collect();
    let freshness = project.freshness_now().map_err(unreadable)?;
    Ok(MemoryReportReply { action: "history".into(), history, freshness, ..Default::default() })
}

/// Starts writing reports automatically if that is enabled; ends with the project.
pub(crate) fn begin(project: &Arc<Project>) {
    if project.settings.memory.report == WeeklyReport::Weekly && project.settings.write {
        tokio::spawn(follow(Arc::downgrade(project)));
    }
}

async fn follow(project: Weak<Project>) {
    loop {
        let Some(strong) = project.upgrade() else { return };
        let activity = strong.activity().clone();
        if !strong.wait_until(PATIENCE, |it| it.settled().resolved).await {
            if strong.is_poisoned().is_some() || activity.is_stopping() {
                return;
            }
            continue;
        }
        match write(&strong, &Zoned::now(), true).await {
            Ok(it) if it.action == "written" => {
                tracing::info!(path = it.path, "the report of this week");
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "the weekly report could not be written"),
        }
        drop(strong);
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = activity.stop_requested() => return,
        }
    }
}

/// Writes the report of the week of `now`, unless it exists.
async fn write(
    project: &Arc<Project>,
    now: &Zoned,
    needs_matter: bool,
) -> Result<MemoryReportReply, ErrorView> {
    let path = path_of(&project.settings.memory.folder, now);
    let done = |action: &str, text: String| -> Result<MemoryReportReply, ErrorView> {
        let freshness = project.freshness_now().map_err(unreadable)?;
        Ok(MemoryReportReply {
            action: action.into(),
            path: path.clone(),
            text,
            history: vec![],
            freshness,
        })
    };
    // Checking for the file is cheaper than making the report.
    if project.opened_root().is_ok_and(|root| root.find(&path).is_ok()) {
        return done("there already", String::new());
    }
    let (worker, at, to) = (project.clone(), now.clone(), path.clone());
    let written = blocking(move || {
        let (text, has_matter) = text_of(&worker, &at)?;
        if needs_matter && !has_matter {
            return Ok(None);
        }
        match worker.notes().write(&to, &text, Overwrite::No, None) {
            Ok(written) => Ok(Some((Some(written.path), text))),
            Err(NoteError::Exists { .. }) => Ok(Some((None, text))),
            Err(error) => Err(error.view()),
        }
    });
    match written.await? {
        None => done("nothing to report", String::new()),
        Some((None, _)) => done("there already", String::new()),
        Some((Some(written), text)) => {
            project.index_now(&[written], false, &|_| {}).await.map_err(stalled)?;
            done("written", text)
        }
    }
}

fn text_of(project: &Project, now: &Zoned) -> Result<(String, bool), ErrorView> {
    let snapshot = project.snapshot().map_err(unreadable)?;
    let request = GetConsolidationReport::default();
    let report = consolidate::get_consolidation_report(project, &snapshot, request)?.reply;
    let gaps = consolidate::get_relation_gaps(project, &snapshot, GetRelationGaps::default())?.gaps;
    let has_matter = !report.stale_summaries.is_empty()
        || !report.relation_candidates.is_empty()
        || !report.orphaned_nodes.is_empty()
        || !gaps.is_empty();
    Ok((project.in_commands(render(&report, &gaps, now)), has_matter))
}

/// Returns the path, such as `memory/reports/2026-W48.md`.
fn path_of(folder: &str, now: &Zoned) -> String {
    let folder = folder.trim_matches('/');
    let reports = if folder.is_empty() { "reports".into() } else { format!("{folder}/reports") };
    format!("{reports}/{}.md", week_of(now))
}

fn week_of(now: &Zoned) -> String {
    let week = now.date().iso_week_date();
    format!("{}-W{:02}", week.year(), week.week())
}

/// Most gaps listed.
const MAX_GAPS: usize = 50;

fn render(report: &ConsolidationReply, gaps: &[RelationGap], now: &Zoned) -> String {
    let week = week_of(now);
    let events = &report.event_summary;
    let mut out = format!(
        "---\ntitle: Memory in week {week}\n---\n\n# Memory in week {week}\n\nMade on {}. By tools since {}: {} made, \
         {} changed, {} deleted. `kgctl memory consolidate` goes through what follows.\n",
        now.date(),
        events.since.get(..10).unwrap_or(&events.since),
        events.creates,
        events.updates,
        events.deletes
    );
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out += &format!("\n## {title}\n\n");
            out.extend(lines.iter().map(|line| format!("- [ ] {}\n", plain(line))));
        }
    };
    let stale = report.stale_summaries.iter().map(|it| {
        let draft = it.draft_summary.as_ref().map(|it| format!(": “{it}”")).unwrap_or_default();
        let n = it.observation_count;
        format!("{} ({}, {n} observations){draft}", it.name, it.entity_type)
    });
    part("Summaries to write", stale.collect());
    let spoken = gaps.iter().take(MAX_GAPS).map(|it| {
        let n = it.reference_count;
        format!("{} mentions {} in {n} observations", it.node, it.referenced_name)
    });
    let alike = report.relation_candidates.iter().map(|it| {
        format!("{} and {} are alike ({:.2})", it.node_a, it.node_b, it.similarity_score)
    });
    part("Relations to state, or to reject", spoken.chain(alike).collect());
    let orphans = report.orphaned_nodes.iter().map(|it| format!("{} ({})", it.name, it.path));
    part("Without any relation", orphans.collect());
    let groups = report.cluster_summary.iter().map(|it| {
        let label = it.centroid_label.as_deref().unwrap_or("without a name");
        format!("{label}: {}", it.node_names.join(", "))
    });
    part("Belong together", groups.collect());
    if let Some(cut) = &report.truncated {
        out += &format!("\n{}\n", plain(cut));
    }
    out
}

/// Puts words of notes on one line, without anything that would be a link, a tag or a block id
/// here.
fn plain(text: &str) -> String {
    let words = text.replace("[[", "").replace("]]", "").replace(" #", " ").replace(" ^", " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use jiff::civil::date;
    use jiff::tz::TimeZone;
    use proto::tool::memory::{EventSummary, MemoryNode, StaleSummary};

    use super::*;

    fn at(year: i16, month: i8, day: i8) -> Zoned {
        date(year, month, day).to_zoned(TimeZone::UTC).expect("a day")
    }

    #[test]
    fn a_week_has_one_name_whatever_the_day() {
        for (day, path) in [
            (at(2026, 11, 23), "memory/reports/2026-W48.md"),
            (at(2026, 11, 29), "memory/reports/2026-W48.md"),
            (at(2026, 11, 30), "memory/reports/2026-W49.md"),
            (at(2027, 1, 1), "memory/reports/2026-W53.md"),
        ] {
            assert_eq!(path_of("memory/", &day), path);
        }
        assert_eq!(path_of("", &at(2026, 11, 23)), "reports/2026-W48.md");
    }

    #[test]
    fn a_report_is_a_list_to_tick_off_and_links_to_nothing() {
        let report = ConsolidationReply {
            stale_summaries: vec![StaleSummary {
                name: "Ada".into(),
                entity_type: "person".into(),
                observation_count: 2,
                draft_summary: Some("Knows [[Charles]]\nwell. #math ^o3".into()),
                ..Default::default()
            }],
            orphaned_nodes: vec![MemoryNode {
                name: "Lost".into(),
                path: "memory/lost.md".into(),
                ..Default::default()
            }],
            event_summary: EventSummary {
                since: "2026-11-16T00:00:00Z".into(),
                ..Default::default()
            },
            ..Default::default()
        };
        expect![[r#"
            ---
            title: Memory in week 2026-W48
            ---

            # Memory in week 2026-W48

            Made on 2026-11-23. By tools since 2026-11-16: 0 made, 0 changed, 0 deleted. `kgctl memory consolidate` goes through what follows.

            ## Summaries to write

            - [ ] Ada (person, 2 observations): “Knows Charles well. math o3”

            ## Without any relation

            - [ ] Lost (memory/lost.md)
        "#]]
        .assert_eq(&render(&report, &[], &at(2026, 11, 23)));
    }
}
