//! The text form of the replies to `kgctl`'s own tools.

use proto::shape::Id;
use proto::tool::admin::{
    BackupReply, BrokenLinksReply, CheckupReply, DecisionsReply, DeepPassReply, DumpReply,
    ForgetReply, GraphReply, MemoryReportReply, OpenPageReply, ReloadReply, RenderReply,
    RescanReply, RetryReply, SettingChange, ShutdownReply, VerifyReply, WaitReply,
};

use super::clean::{one_line, stored_line};
use super::notes::place;
use super::sheet::Sheet;
use super::{count, score};

/// The neighborhood of an entity or an overview of the folder, one relation a line;
/// `kgctl` draws it from the structured form.
pub fn graph(reply: &GraphReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    // Edges have ids only; an end that is not listed as a node is shown by its id.
    let name = |id: Id| {
        let found = reply.nodes.iter().find(|it| it.entity.id == id);
        found.map_or_else(|| id.to_string(), |it| stored_line(&it.entity.name).into_owned())
    };
    let n = reply.nodes.len();
    let entities = if n == 1 { "1 entity".to_string() } else { format!("{n} entities") };
    sheet.line(&format!("{entities}, {}", count(reply.n_relations(), "relation")));
    sheet.items(
        reply
            .communities
            .iter()
            .map(|it| format!("  community {}: {} ({})", it.id, stored_line(&it.label), it.size)),
    );
    sheet.items(reply.edges.iter().map(|it| {
        let place = it.evidence.as_ref().map(|it| one_line(&it.source.place()).into_owned());
        let place = place.map(|place| format!(", {place}")).unwrap_or_default();
        let (src, rel, dst) = (name(it.src), it.words(), name(it.dst));
        format!("  {src} → {} {dst}  ({}{place})", one_line(&rel), score(it.confidence))
    }));
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    sheet.finish()
}

pub fn opened_page(reply: &OpenPageReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&format!("the page is at {}", one_line(&reply.address)));
    sheet.finish()
}

pub fn rendered(reply: &RenderReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if let Some(document) = &reply.document {
        sheet.line(&format!("{} ({})", stored_line(&document.title), one_line(&document.path)));
        sheet.items(document.html.lines().map(|line| stored_line(line).into_owned()));
    }
    for passage in &reply.passages {
        sheet.line(&format!("passage {}", passage.id));
        sheet.items(passage.html.lines().map(|line| stored_line(line).into_owned()));
    }
    sheet.finish()
}

pub fn decisions(reply: &DecisionsReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if let Some(key) = &reply.merge {
        sheet.line(&format!("merge: {}", one_line(key)));
    }
    let verdict =
        |it: &Option<String>| it.as_ref().map(|it| format!("  ({it})")).unwrap_or_default();
    sheet.items(reply.names.iter().map(|it| {
        format!("  `{}`  {}{}", stored_line(&it.surface), one_line(&it.key), verdict(&it.verdict))
    }));
    sheet.items(
        reply.relations.iter().map(|it| format!("  {}{}", one_line(&it.key), verdict(&it.verdict))),
    );
    sheet.finish()
}

pub fn broken(reply: &BrokenLinksReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let more = if reply.has_more { " and more" } else { "" };
    sheet.line(&format!("{}{more} without a target", count(reply.links.len() as u64, "link")));
    sheet.items(reply.links.iter().map(|it| {
        let of = it.to_path.as_ref().map(|path| format!(" in {}", one_line(path)));
        let (target, missing) = (one_line(&it.target), one_line(&it.missing));
        format!(
            "  {}  {target}  (no such {missing}{})",
            place(&it.path, it.line),
            of.unwrap_or_default()
        )
    }));
    sheet.finish()
}

pub fn dump(reply: &DumpReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let next = reply.cursor.as_ref().map(|it| format!("; next cursor `{}`", one_line(it)));
    let next = next.unwrap_or_else(|| "; the end".to_string());
    sheet.line(&format!("{}{next}", count(reply.rows.len() as u64, "row")));
    sheet.finish()
}

pub fn wait(reply: &WaitReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(if reply.reached { "reached" } else { "the deadline came first" });
    sheet.finish()
}

pub fn shutdown(reply: &ShutdownReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&format!("stopping; {} still on the belt", count(reply.draining, "document")));
    sheet.finish()
}

pub fn verify(reply: &VerifyReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    // A repaired index did differ, so `same` is false then.
    let verdict = match (reply.same, reply.repaired) {
        (true, _) => "same",
        (false, true) => "differed, now repaired",
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
    sheet.finish()
}

pub fn memory_report(reply: &MemoryReportReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&format!("{} {}", one_line(&reply.action), one_line(&reply.path)));
    sheet.items(reply.text.lines().map(|line| stored_line(line).into_owned()));
    sheet.items(reply.history.iter().map(|it| {
        let (client, name) = (one_line(&it.client), stored_line(&it.name));
        format!("{} {} {} by {client}: {name}", it.at, it.operation, it.tool)
    }));
    sheet.finish()
}

pub fn rescan(reply: &RescanReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (files, commits) = (count(reply.files, "file"), count(reply.commits, "commit"));
    sheet.line(&format!("{files} compared in {:.1} s, {commits} made", reply.seconds));
    sheet.finish()
}

pub fn reload(reply: &ReloadReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if reply.changed.is_empty() && reply.restart.is_empty() {
        sheet.line("no setting has changed");
    }
    let row = |it: &SettingChange, when: &str| {
        let (key, before, after) = (one_line(&it.key), one_line(&it.before), one_line(&it.after));
        format!("{key}: {before} → {after}{when}")
    };
    sheet.items(reply.changed.iter().map(|it| row(it, "")));
    sheet.items(reply.restart.iter().map(|it| row(it, ", after a restart")));
    sheet.items(reply.warnings.iter().map(|it| one_line(it).into_owned()));
    sheet.finish()
}

pub fn retry(reply: &RetryReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    // A retry of the embedding model is about no files.
    if let Some(embedding) = &reply.embedding {
        sheet.line(&format!("embedding: {}", one_line(&embedding.describe())));
    } else if reply.files.is_empty() {
        sheet.line("nothing has failed");
    }
    sheet.items(reply.files.iter().map(|it| {
        let why =
            it.reason.as_deref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
        format!("{} {}{why}", one_line(&it.outcome), one_line(&it.path))
    }));
    sheet.finish()
}

pub fn deep(reply: &DeepPassReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&match &reply.deep {
        Some(deep) => deep.describe(),
        None => "the deep pass is switched off (`recognize.deep`)".into(),
    });
    sheet.finish()
}

pub fn checkup(reply: &CheckupReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (index, ledger) = (one_line(&reply.index), one_line(&reply.ledger));
    sheet.line(&format!("index: {index}; ledger (version {}): {ledger}", reply.ledger_version));
    let newest = reply.newest_backup.as_deref().map_or_else(|| "none".into(), one_line);
    sheet.line(&format!("newest backup: {newest}; {} failed", count(reply.n_failed, "file")));
    sheet.items(reply.failed.iter().map(|it| {
        let skipped = if it.skipped { ", skipped" } else { "" };
        let (path, reason, stage) = (one_line(&it.path), one_line(&it.reason), one_line(&it.stage));
        format!("  {path}: {reason} ({stage}, failures {}{skipped})", it.failures)
    }));
    sheet.finish()
}

pub fn backup(reply: &BackupReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let rows: Vec<_> = reply.rows.iter().map(|(table, n)| format!("{table} {n}")).collect();
    sheet.line(&format!(
        "{}: {} bytes, version {}",
        one_line(&reply.path),
        reply.bytes,
        reply.version
    ));
    sheet.line(&format!("rows: {}", rows.join(", ")));
    sheet.finish()
}

pub fn forget(reply: &ForgetReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if reply.unknown {
        sheet.line("not found: nothing was ever stored for it");
        sheet.items(reply.looked_for.iter().map(|it| format!("  looked for {it}")));
        return sheet.finish();
    }
    let verdict = match &reply.proof {
        // The scan read everything and found nothing: the strongest answer there is.
        Some(proof) if proof.gone => {
            format!("gone: {} read, nothing found", count(proof.files, "file"))
        }
        Some(proof) => format!("not gone: {} read", count(proof.files, "file")),
        None => "removed; not verified".to_string(),
    };
    sheet.line(&verdict);
    let removed = reply.removed.iter();
    let removed = removed.map(|it| format!("  {}: {} {}", it.store, it.n, one_line(&it.what)));
    let held = reply.in_folder.iter().map(|path| format!("  still in {}", one_line(path)));
    let also = reply.also_in.iter().map(|it| format!("  also in {}", one_line(it)));
    let left = reply.proof.iter().flat_map(|it| &it.left);
    let left = left.map(|it| {
        let why = if it.of_files { " (of these files)" } else { "" };
        format!("  left in {}: {} {}{why}", one_line(&it.file), it.n, it.place)
    });
    sheet.items(removed.chain(held).chain(also).chain(left));
    sheet.finish()
}
