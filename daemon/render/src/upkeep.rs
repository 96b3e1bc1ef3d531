//! Upkeep: the replies of the tools that change or watch the index, as text.

use proto::tool::admin::{DumpReply, ShutdownReply, WaitReply};
use proto::tool::core::{ExtractReply, IngestReply, ReviewReply, StatusReply};

use super::clean::one_line;
use super::sheet::Sheet;
use super::{count, score};

pub(super) fn ingest(reply: &IngestReply, sheet: &mut Sheet) {
    let failed = reply.errors.len();
    sheet.line(&format!("ingested {}, skipped {}, failed {failed}", reply.ingested, reply.skipped));
    sheet.items(reply.errors.iter().map(|it| {
        format!("  {}: {} ({})", one_line(&it.path), one_line(&it.reason), one_line(&it.stage))
    }));
}

pub(super) fn extract(reply: &ExtractReply, sheet: &mut Sheet) {
    let (mentions, entities) = (reply.mentions, reply.entities_new);
    sheet.line(&format!(
        "mentions {mentions:+}, entities {entities:+}, relations {:+}",
        reply.relations
    ));
}

pub(super) fn review(reply: &ReviewReply, sheet: &mut Sheet) {
    if reply.decided > 0 {
        sheet.line(&format!("{} written", count(reply.decided, "decision")));
    }
    if reply.items.is_empty() {
        sheet.line("nothing doubtful");
    }
    sheet.items(reply.items.iter().map(|it| {
        let place = it.evidence.as_ref().map(|it| &it.source);
        let place = place.map(|at| format!(" ({})", one_line(&at.place()))).unwrap_or_default();
        let (key, kind, claim) = (one_line(&it.key), one_line(&it.kind), one_line(&it.claim));
        format!("{key}  {kind} {}  {claim}{place}", score(it.confidence))
    }));
}

pub(super) fn status(reply: &StatusReply, sheet: &mut Sheet) {
    let (known, indexed) = (reply.progress.known, reply.progress.indexed);
    let settled = if reply.settled { "settled" } else { "not settled" };
    sheet.line(&format!("{settled}: indexed {indexed} of {known}, {} clients", reply.clients));
    sheet.line(&format!("{} (kgd {}, pid {})", one_line(&reply.root), reply.version, reply.pid));
    let errors = count(reply.n_errors, "error");
    sheet.line(&format!("since {}, {errors}", one_line(&reply.started_at)));
    let counts: Vec<_> = reply.counts.iter().map(|(table, n)| format!("{table} {n}")).collect();
    if !counts.is_empty() {
        sheet.line(&format!("counts: {}", counts.join(", ")));
    }
    let busy = reply.queues.iter().filter(|it| it.interactive + it.bulk > 0);
    let busy: Vec<_> =
        busy.map(|it| format!("{} {}+{}", it.stage, it.interactive, it.bulk)).collect();
    if !busy.is_empty() {
        sheet.line(&format!("queues (interactive+bulk): {}", busy.join(", ")));
    }
    let skipped: Vec<_> =
        reply.skipped.iter().map(|(why, n)| format!("{} {n}", one_line(why))).collect();
    if !skipped.is_empty() {
        sheet.line(&format!("skipped: {}", skipped.join(", ")));
    }
    sheet.line(&format!("watcher: {}", one_line(&reply.watcher)));
    if let Some(refused) = &reply.writes_refused {
        sheet.line(&format!(
            "writes refused: {}; {}",
            one_line(&refused.why),
            one_line(&refused.hint)
        ));
    }
    sheet.items(
        reply.mended.iter().map(|it| format!("{} {}: {}", it.at, it.part, one_line(&it.what))),
    );
    if let Some(scrub) = &reply.scrub {
        sheet.line(&format!("scrub: {}", scrub.told()));
    }
    if let Some(error) = &reply.last_error {
        sheet.line(&format!("last error: {}", one_line(error)));
    }
    let failed = reply.quarantine.iter().map(|it| {
        format!(
            "failed: {}: {} ({})",
            one_line(&it.path),
            one_line(&it.reason),
            one_line(&it.stage)
        )
    });
    let odd = reply.warnings.iter();
    let odd = odd.map(|it| format!("warning: {}: {}", one_line(&it.path), one_line(&it.warning)));
    let events = reply.recent_events.iter();
    let events =
        events.map(|it| format!("{} {} {}", one_line(&it.at), it.kind, one_line(&it.path)));
    sheet.items(failed.chain(odd).chain(events));
}

pub(super) fn dump(reply: &DumpReply, sheet: &mut Sheet) {
    let next = reply.cursor.as_ref().map(|it| format!("; next cursor `{}`", one_line(it)));
    let next = next.unwrap_or_else(|| "; the end".to_string());
    sheet.line(&format!("{}{next}", count(reply.rows.len() as u64, "row")));
}

pub(super) fn wait(reply: &WaitReply, sheet: &mut Sheet) {
    sheet.line(if reply.reached { "reached" } else { "the deadline came first" });
}

pub(super) fn shutdown(reply: &ShutdownReply, sheet: &mut Sheet) {
    sheet.line(&format!("stopping; {} still on the belt", count(reply.draining, "document")));
}
