//! Maintain: the replies of the tools that look after the index and the ledger, as text.

use proto::tool::admin::{
    BackupReply, CheckupReply, DeepPassReply, ForgetReply, MemoryReportReply, RescanReply,
    RetryReply, VerifyReply,
};

use super::clean::one_line;
use super::count;
use super::sheet::Sheet;

pub(super) fn verify(reply: &VerifyReply, sheet: &mut Sheet) {
    let verdict = match (reply.same, reply.repaired) {
        (true, _) => "same",
        (false, true) => "differed, and is repaired",
        (false, false) => "differs",
    };
    sheet.line(&format!(
        "{verdict}: {} compared in {:.1} s",
        count(reply.n_rows, "row"),
        reply.seconds
    ));
    let parts = reply.parts.iter().filter(|it| it.differing > 0).map(|it| {
        format!(
            "  {}: live {}, rebuilt {}, differing {}",
            one_line(&it.part),
            it.live,
            it.rebuilt,
            it.differing
        )
    });
    let rows = reply.differences.iter();
    let rows = rows.map(|it| {
        format!("  only {}, {}: {}", one_line(&it.side), one_line(&it.part), one_line(&it.row))
    });
    sheet.items(parts.chain(rows));
}

pub(super) fn memory_report(reply: &MemoryReportReply, sheet: &mut Sheet) {
    sheet.line(&format!("{} {}", one_line(&reply.action), one_line(&reply.path)));
    sheet.items(reply.text.lines().map(|line| one_line(line).into_owned()));
    sheet.items(reply.history.iter().map(|it| {
        let (client, name) = (one_line(&it.client), one_line(&it.name));
        format!("{} {} {} by {client}: {name}", it.at, it.operation, it.tool)
    }));
}

pub(super) fn rescan(reply: &RescanReply, sheet: &mut Sheet) {
    let (files, commits) = (count(reply.files, "file"), count(reply.commits, "commit"));
    sheet.line(&format!("{files} compared in {:.1} s, {commits} followed", reply.seconds));
}

pub(super) fn retry(reply: &RetryReply, sheet: &mut Sheet) {
    if let Some(embedding) = &reply.embedding {
        sheet.line(&format!("embedding: {}", one_line(&embedding.told())));
    } else if reply.files.is_empty() {
        sheet.line("nothing has failed");
    }
    sheet.items(reply.files.iter().map(|it| {
        let why =
            it.reason.as_deref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
        format!("{} {}{why}", one_line(&it.outcome), one_line(&it.path))
    }));
}

pub(super) fn deep(reply: &DeepPassReply, sheet: &mut Sheet) {
    sheet.line(&match &reply.deep {
        Some(deep) => deep.told(),
        None => "the deep pass is switched off (`recognize.deep`)".into(),
    });
}

pub(super) fn checkup(reply: &CheckupReply, sheet: &mut Sheet) {
    let (index, ledger) = (one_line(&reply.index), one_line(&reply.ledger));
    sheet.line(&format!("index: {index}; ledger (version {}): {ledger}", reply.ledger_version));
    let newest = reply.newest_backup.as_deref().map_or_else(|| "none".into(), one_line);
    sheet.line(&format!("newest backup: {newest}; {} failed", count(reply.n_failed, "file")));
    sheet.items(reply.failed.iter().map(|it| {
        let skipped = if it.skipped { ", skipped" } else { "" };
        let (path, reason, stage) = (one_line(&it.path), one_line(&it.reason), one_line(&it.stage));
        format!("  {path}: {reason} ({stage}, failures {}{skipped})", it.failures)
    }));
}

pub(super) fn backup(reply: &BackupReply, sheet: &mut Sheet) {
    let rows: Vec<_> = reply.rows.iter().map(|(table, n)| format!("{table} {n}")).collect();
    sheet.line(&format!(
        "{}: {} bytes, version {}",
        one_line(&reply.path),
        reply.bytes,
        reply.version
    ));
    sheet.line(&format!("rows: {}", rows.join(", ")));
}

pub(super) fn forget(reply: &ForgetReply, sheet: &mut Sheet) {
    let verdict = match &reply.proof {
        Some(proof) if proof.gone => {
            format!("gone: {} read, nothing found", count(proof.files, "file"))
        }
        Some(proof) => format!("not gone: {} read", count(proof.files, "file")),
        None => "removed; not proved".to_string(),
    };
    sheet.line(&verdict);
    let removed = reply.removed.iter();
    let removed = removed.map(|it| format!("  {}: {} {}", it.store, it.n, one_line(&it.what)));
    let held = reply.in_folder.iter().map(|path| format!("  still in {}", one_line(path)));
    let left = reply.proof.iter().flat_map(|it| &it.left);
    let left = left.map(|it| format!("  left in {}: {} {}", one_line(&it.file), it.n, it.place));
    sheet.items(removed.chain(held).chain(left));
}
