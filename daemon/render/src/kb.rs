//! The text form of entries: brief first, details on demand.

use proto::tool::kb::{
    EntryView, KbAnswer, KbBatchReply, KbGetReply, KbIngestReply, KbMaintainReply, KbSearchReply,
    KbStored, KbSummary,
};

use super::clean::{one_line, stored_line};
use super::core::statement;
use super::count;
use super::memory::failed;
use super::sheet::Sheet;

/// Formats two or three lines: id, type, title, confidence; the long title; tags and project.
fn brief(it: &EntryView) -> String {
    let mut text = format!(
        "[{}] {}: {} ({:.0} %){}",
        it.id,
        it.entry_type.as_str(),
        one_line(&it.short_title),
        it.confidence * 100.0,
        if it.inactive { ", inactive" } else { "" }
    );
    if let Some(long) = &it.long_title {
        text += &format!("\n   {}", one_line(long));
    }
    let mut about: Vec<String> = it.tags.iter().map(|tag| format!("#{}", one_line(tag))).collect();
    about.extend(it.project_ref.as_ref().map(|it| format!("project {}", one_line(it))));
    if !about.is_empty() {
        text += &format!("\n   {}", about.join(" "));
    }
    if !it.superseded_by.is_empty() {
        text += &format!("\n   superseded by {}", it.superseded_by.join(", "));
    }
    if let Some(warning) = &it.warning {
        text += &format!("\n   warning: {}", one_line(warning));
    }
    text
}

fn lines(items: &[String], sheet: &mut Sheet) {
    sheet.items(items.iter().map(|it| one_line(it).into_owned()));
}

fn hint(hint: Option<&String>, sheet: &mut Sheet) {
    if let Some(hint) = hint {
        sheet.line(&format!("({})", one_line(hint)));
    }
}

pub fn stored(reply: &KbStored, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let entry = &reply.entry;
    sheet.line(&format!(
        "{} {} (version {}, {})",
        reply.action,
        entry.id,
        reply.version,
        one_line(&entry.path)
    ));
    sheet.line(&brief(entry));
    lines(&reply.warnings, sheet);
    if !reply.edges.is_empty() {
        sheet.line(&one_line(&reply.edges.join(", ")));
    }
    sheet.finish()
}

pub fn batch(reply: &KbBatchReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    failed(&reply.failed, sheet);
    sheet.items(reply.entries.iter().map(|it| format!("created {}", brief(it))));
    sheet.finish()
}

pub fn found(reply: &KbSearchReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&count(reply.results.len() as u64, "entry").replace("entrys", "entries"));
    hint(reply.hint.as_ref(), sheet);
    if reply.nothing_relevant {
        sheet.line("nothing here has much to do with the question; the nearest entries:");
    }
    let weak = |weak: bool| if weak { "weak: " } else { "" };
    sheet.items(reply.results.iter().map(|it| format!("{}{}", weak(it.weak), brief(&it.entry))));
    lines(&reply.hints, sheet);
    sheet.finish()
}

pub fn opened(reply: &KbGetReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.items(reply.not_found.iter().map(|id| format!("[{}] not found", one_line(id))));
    failed(&reply.failed, sheet);
    sheet.items(reply.listed.iter().map(brief));
    for it in &reply.entries {
        let mut text = brief(&it.entry);
        if !it.supersedes.is_empty() {
            text += &format!("\n   supersedes {}", it.supersedes.join(", "));
        }
        if !it.edges.is_empty() {
            text += &format!("\n   {}", one_line(&it.edges.join(", ")));
        }
        for doubt in &it.doubts {
            text += &format!("\n   warning: {}", one_line(doubt));
        }
        sheet.line(&text);
        for line in it.knowledge_details.lines() {
            sheet.line(&stored_line(line));
        }
    }
    sheet.finish()
}

pub fn answered(reply: &KbAnswer, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let ends: Vec<&str> = reply.scope.iter().chain(&reply.target).map(String::as_str).collect();
    let ends =
        if ends.is_empty() { String::new() } else { format!(" {}", one_line(&ends.join(" → "))) };
    sheet.line(&format!("{}{ends}: {}", reply.strategy.as_str(), one_line(&reply.reason)));
    hint(reply.planned_by.as_ref(), sheet);
    hint(reply.llm.as_ref(), sheet);
    hint(reply.hint.as_ref(), sheet);
    sheet.items(reply.path.iter().map(|it| {
        let by = if it.llm { " (llm)" } else { "" };
        format!("{} —{}{by}→ {}", one_line(&it.from), one_line(&it.edge), one_line(&it.to))
    }));
    sheet.items(reply.entries.iter().map(|it| {
        format!(
            "{}\n   ↳ {}\n   {}",
            brief(&it.entry),
            one_line(&it.context),
            stored_line(&it.excerpt)
        )
    }));
    sheet.items(reply.documents.iter().enumerate().map(|(idx, it)| statement(idx + 1, it)));
    sheet.finish()
}

pub fn summed_up(reply: &KbSummary, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    // The extractive summary is the usual case, and needs no remark.
    if reply.method != "extractive" {
        hint(Some(&reply.method), sheet);
    }
    hint(reply.llm.as_ref(), sheet);
    hint(reply.hint.as_ref(), sheet);
    sheet.items(reply.answer.lines().map(|it| one_line(it).into_owned()));
    if !reply.conflicts.is_empty() {
        sheet.line("these disagree:");
        sheet.items(reply.conflicts.iter().map(|it| {
            format!(
                "  {} [{}]\n  {} [{}]\n  ({})",
                stored_line(&it.one.text),
                it.one.cited.join(", "),
                stored_line(&it.other.text),
                it.other.cited.join(", "),
                one_line(&it.why)
            )
        }));
    }
    sheet.finish()
}

pub fn ingested(reply: &KbIngestReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&format!(
        "{}{} files: {} ingested, {} unchanged, {} skipped, {} flagged, {} errors; {} entries",
        if reply.dry_run { "dry run: of " } else { "" },
        reply.total,
        reply.ingested,
        reply.unchanged,
        reply.skipped,
        reply.flagged,
        reply.errors,
        reply.entries_created
    ));
    sheet.items(reply.files.iter().map(|it| {
        let reason = it.reason.as_ref().map(|it| format!(" — {}", one_line(it)));
        let mut text =
            format!("{}: {}{}", it.action, one_line(&it.path), reason.unwrap_or_default());
        text.extend(it.llm.iter().map(|it| format!("\n   ({})", one_line(it))));
        for entry in &it.entries {
            let id = entry.id.as_ref().map(|it| format!("[{it}] ")).unwrap_or_default();
            text += &format!(
                "\n   {id}{}: {}",
                entry.entry_type.as_str(),
                one_line(&entry.short_title)
            );
        }
        if !it.left_out.is_empty() {
            text += &format!("\n   too short for an entry: {}", one_line(&it.left_out.join(", ")));
        }
        if !it.replaced.is_empty() {
            text += &format!("\n   replaces {}", it.replaced.join(", "));
        }
        text
    }));
    sheet.finish()
}

pub fn maintained(reply: &KbMaintainReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&one_line(&reply.message));
    if let Some(entry) = &reply.entry {
        sheet.line(&brief(entry));
    }
    for it in &reply.versions {
        sheet.line(&format!(
            "v{} {} {} [{:.0} %] by {}",
            it.version,
            it.created_at,
            one_line(&it.change_reason),
            it.confidence * 100.0,
            one_line(&it.client)
        ));
        for line in it.text.iter().flat_map(|text| text.lines()) {
            sheet.line(&format!("   {}", stored_line(line)));
        }
    }
    if let Some(stats) = &reply.stats {
        let of = |counts: &std::collections::BTreeMap<String, u64>| {
            let all: Vec<String> =
                counts.iter().map(|(key, n)| format!("{} {n}", one_line(key))).collect();
            all.join(", ")
        };
        sheet.line(&format!(
            "stale {}, hidden {}, with vectors {}",
            stats.stale, stats.hidden, stats.with_embeddings
        ));
        for (what, counts) in [
            ("types", &stats.by_type),
            ("projects", &stats.by_project),
            ("nodes", &stats.nodes),
            ("relations", &stats.edges),
        ] {
            if !counts.is_empty() {
                sheet.line(&format!("{what}: {}", of(counts)));
            }
        }
        if let Some(it) = &stats.enrichment {
            sheet.line(&format!(
                "read by a model: {} entries, {} relations; {} waiting, {} unreadable answers",
                it.read, it.relations, it.waiting, it.unreadable
            ));
        }
        sheet.line(&format!("ingested files: {}", stats.ingested_files));
        lines(&stats.duplicates, sheet);
        lines(&stats.doubts, sheet);
    }
    if !reply.purged.is_empty() {
        sheet.line(&reply.purged.join(", "));
    }
    sheet.finish()
}
