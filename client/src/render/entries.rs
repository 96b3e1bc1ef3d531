//! Entries: renders knowledge entries, and entities of memory.
//!
//! Invariant: control characters of documents do not reach the terminal.

use proto::shape::aside;
use proto::tool::admin::{MemoryDeed, MemoryReportReply};
use proto::tool::kb::{
    EntryView, KbAnswer, KbGetReply, KbIngestReply, KbMaintainReply, KbSearchReply, KbStored,
    KbSummary,
};
use proto::tool::memory::{MemoryGraphReply, MemoryNode};

use super::clean;

/// Renders an entry in brief, in one to three lines.
fn brief(it: &EntryView) -> String {
    let off = if it.inactive { ", inactive" } else { "" };
    let mut out = format!(
        "{}  {}  {} ({:.0} %{off})\n",
        it.id,
        it.entry_type.as_str(),
        clean(&it.short_title),
        it.confidence * 100.0
    );
    if let Some(long) = &it.long_title {
        out += &format!("    {}\n", clean(long));
    }
    let mut about: Vec<String> = it.tags.iter().map(|tag| format!("#{}", clean(tag))).collect();
    about.extend(it.project_ref.as_ref().map(|it| format!("project:{}", clean(it))));
    if !about.is_empty() {
        out += &format!("    {}\n", about.join(" "));
    }
    if !it.superseded_by.is_empty() {
        out += &format!("    superseded by {}\n", it.superseded_by.join(", "));
    }
    if let Some(warning) = &it.warning {
        out += &format!("    warning: {}\n", clean(warning));
    }
    out
}

fn hint(hint: Option<&String>) -> String {
    hint.map(|it| format!("{}\n", clean(it))).unwrap_or_default()
}

/// Renders entries by type or another scope.
pub fn listed(replies: &[KbAnswer]) -> String {
    let list_of = |reply: &KbAnswer| {
        let entries: String = reply.entries.iter().map(|it| brief(&it.entry)).collect();
        let scope = reply.scope.as_deref().unwrap_or_default();
        // The hint is only for incomplete lists.
        let hint = reply.hint.as_ref().filter(|_| !entries.is_empty());
        let hint = hint.map(|it| format!("({}: {})\n", clean(scope), clean(it)));
        format!("{entries}{}", hint.unwrap_or_default())
    };
    let out: String = replies.iter().map(list_of).collect();
    if out.is_empty() { "no entries\n".to_string() } else { out }
}

/// Renders whole entries.
pub fn shown(reply: &KbGetReply) -> String {
    let mut out: String =
        reply.not_found.iter().map(|id| format!("{}  not found\n", clean(id))).collect();
    let failed = reply.failed.iter();
    out.extend(failed.map(|it| format!("{}  {}\n", clean(&it.name), clean(&it.message))));
    out.extend(reply.listed.iter().map(brief));
    for it in &reply.entries {
        out += &brief(&it.entry);
        if !it.supersedes.is_empty() {
            out += &format!("    supersedes {}\n", it.supersedes.join(", "));
        }
        if !it.edges.is_empty() {
            out += &format!("    {}\n", clean(&it.edges.join(", ")));
        }
        out.extend(it.doubts.iter().map(|doubt| format!("    warning: {}\n", clean(doubt))));
        out += &format!("    version {}, {}\n\n", it.version, clean(&it.entry.path));
        out.extend(it.knowledge_details.lines().map(|line| format!("{}\n", clean(line))));
        out.push('\n');
    }
    out
}

/// Renders the results of a search.
pub fn found(reply: &KbSearchReply) -> String {
    let results: String = reply.results.iter().map(|it| brief(&it.entry)).collect();
    let hints: String = reply.hints.iter().map(|it| format!("{}\n", clean(it))).collect();
    let nothing = match reply.nothing_relevant {
        true => "nothing here has much to do with the question; the nearest entries:\n",
        false => "",
    };
    format!("{}{nothing}{results}{hints}", hint(reply.hint.as_ref()))
}

/// Renders an answer, with the strategy used.
pub fn answered(reply: &KbAnswer) -> String {
    let mut out = format!("{}: {}\n", reply.strategy.as_str(), clean(&reply.reason));
    out += &hint(reply.hint.as_ref());
    for it in &reply.path {
        let by = if it.llm { " (llm)" } else { "" };
        out += &format!("{} —{}{by}→ {}\n", clean(&it.from), clean(&it.edge), clean(&it.to));
    }
    for it in &reply.entries {
        let (context, excerpt) = (clean(&it.context), clean(&it.excerpt));
        out += &format!("{}    ↳ {context}\n    {excerpt}\n", brief(&it.entry));
    }
    for it in &reply.documents {
        let claim = it.claim.as_ref().map(|claim| format!("{} — ", clean(claim)));
        let words = it.source.text.lines().map(clean).collect::<Vec<_>>().join("\n    ");
        let place = it.source.place();
        out += &format!("{}{words}\n    {}\n", claim.unwrap_or_default(), clean(&place));
    }
    out
}

/// Renders a summary, with its contradictions.
pub fn summed_up(reply: &KbSummary) -> String {
    let mut out = hint(reply.hint.as_ref());
    out.extend(reply.answer.lines().map(|line| format!("{}\n", clean(line))));
    for it in &reply.conflicts {
        let (one, other) = (clean(&it.one.text), clean(&it.other.text));
        out += &format!(
            "these do not agree ({}):\n    {one} [{}]\n    {other} [{}]\n",
            clean(&it.why),
            it.one.cited.join(", "),
            it.other.cited.join(", ")
        );
    }
    out
}

/// Renders the result of an ingestion.
pub fn ingested(reply: &KbIngestReply) -> String {
    let mut out = String::new();
    for it in &reply.files {
        let reason = it.reason.as_ref().map(|it| format!(": {}", clean(it))).unwrap_or_default();
        out += &format!("{}  {}{reason}\n", it.action, clean(&it.path));
        out.extend(it.llm.iter().map(|it| format!("    {}\n", clean(it))));
        for entry in &it.entries {
            let id = entry.id.as_deref().unwrap_or("(new)");
            let kind = entry.entry_type.as_str();
            out += &format!("    {id}  {kind}  {}\n", clean(&entry.short_title));
        }
        if !it.left_out.is_empty() {
            out += &format!("    too short for an entry: {}\n", clean(&it.left_out.join(", ")));
        }
    }
    let done = if reply.dry_run { "would give" } else { "gave" };
    format!("{out}{} files {done} {} entries\n", reply.total, reply.entries_created)
}

/// Renders the result of a write.
pub fn stored(reply: &KbStored) -> String {
    format!("{}\n{}", reply.action, brief(&reply.entry))
}

/// Renders the result of maintenance.
pub fn maintained(reply: &KbMaintainReply) -> String {
    let mut out = format!("{}\n", clean(&reply.message));
    out += &reply.entry.as_ref().map(brief).unwrap_or_default();
    for it in &reply.versions {
        let (reason, client) = (clean(&it.change_reason), clean(&it.client));
        out += &format!("v{}  {}  {reason} ({client})\n", it.version, it.created_at);
        let lines = it.text.iter().flat_map(|text| text.lines());
        out.extend(lines.map(|line| format!("    {}\n", clean(line))));
    }
    let Some(stats) = &reply.stats else { return out };
    out += &format!("stale {}, hidden {}\n", stats.stale, stats.hidden);
    for (what, counts) in [
        ("types", &stats.by_type),
        ("projects", &stats.by_project),
        ("nodes", &stats.nodes),
        ("relations", &stats.edges),
    ] {
        let counts: Vec<String> =
            counts.iter().map(|(key, n)| format!("{} {n}", clean(key))).collect();
        if !counts.is_empty() {
            out += &format!("{what}: {}\n", counts.join(", "));
        }
    }
    if let Some(it) = &stats.enrichment {
        out += &format!(
            "read by a model: {} entries, {} relations; {} waiting, {} unusable\n",
            it.read, it.relations, it.waiting, it.unreadable
        );
    }
    let wrong = stats.duplicates.iter().chain(&stats.doubts);
    out.extend(wrong.map(|it| format!("{}\n", clean(it))));
    out
}

/// Renders the weekly report: its path, or its text.
pub fn report(reply: &MemoryReportReply) -> String {
    match reply.path.is_empty() {
        true => reply.text.lines().map(|line| format!("{}\n", clean(line))).collect(),
        false => format!("{}  {}\n", reply.action, clean(&reply.path)),
    }
}

/// Renders changes by tools: when, who, with which tool, to which entity.
pub fn events(events: &[MemoryDeed]) -> String {
    let line = |it: &MemoryDeed| {
        let (name, client) = (clean(&it.name), clean(&it.client));
        format!("{}  {}  {}  {client}  {name}\n", it.at, it.operation, it.tool)
    };
    events.iter().map(line).collect()
}

/// Renders entities in brief.
pub fn nodes(nodes: &[MemoryNode]) -> String {
    if nodes.is_empty() {
        return "no entities\n".to_string();
    }
    let lines = |it: &MemoryNode| {
        let (name, path) = (clean(&it.name), clean(&it.path));
        let kind = aside(&[&clean(&it.entity_type)]);
        let summary = it.summary.as_ref().map(|it| format!("    {}\n", clean(it)));
        format!("{name}{kind}  {path}  {}\n{}", it.updated_at, summary.unwrap_or_default())
    };
    nodes.iter().map(lines).collect()
}

/// Renders entities with observations and relations.
pub fn graph(reply: &MemoryGraphReply) -> String {
    let mut out: String =
        reply.not_found.iter().map(|it| format!("{}  not found\n", clean(it))).collect();
    for it in &reply.entities {
        let (name, path) = (clean(&it.name), clean(&it.path));
        let kind = aside(&[&clean(&it.entity_type)]);
        out += &format!("{name}{kind}  {path}\n");
        for fact in &it.observations {
            out += &format!("    ^o{} {}\n", fact.ordinal, clean(&fact.content));
        }
    }
    for it in &reply.relations {
        let (from, kind, to) = (clean(&it.from), clean(&it.relation_type), clean(&it.to));
        out += &format!("{from} —{kind}→ {to}\n");
    }
    if let Some(page) = reply.next_page {
        out += &format!("there is more: `--page {page}`\n");
    }
    if out.is_empty() { "no entities\n".to_string() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proto::tool::kb::{AskedEntry, KbHit};

    #[test]
    fn a_list_that_is_cut_says_so() {
        let entry = EntryView { id: "kb-00001".into(), ..EntryView::default() };
        let entries = vec![AskedEntry { entry, ..AskedEntry::default() }];
        let (scope, hint) = (Some("decision".into()), Some("1 of 7 are shown".into()));
        let cut = KbAnswer { entries, scope, hint, ..KbAnswer::default() };
        let none = KbAnswer { hint: Some("no entry".into()), ..KbAnswer::default() };
        let text = listed(&[cut, none.clone()]);
        assert!(text.ends_with("(decision: 1 of 7 are shown)\n"), "{text}");
        assert_eq!(listed(&[none]), "no entries\n");
    }

    #[test]
    fn entries_are_told_in_brief_and_without_control_characters() {
        let entry = EntryView {
            id: "kb-00042".into(),
            short_title: "WAL\u{1b} mode".into(),
            long_title: Some("SQLite runs in WAL mode".into()),
            tags: vec!["db".into()],
            project_ref: Some("kgd".into()),
            confidence: 0.45,
            warning: Some("may be out of date".into()),
            ..EntryView::default()
        };
        let hit = KbHit { entry, ..KbHit::default() };
        let hints = vec!["See also: [kb-00001] X (via tag:db)".to_string()];
        let reply = KbSearchReply { results: vec![hit], hints, ..KbSearchReply::default() };
        expect![[r#"
            kb-00042  factual_reference  WAL\u{1b} mode (45 %)
                SQLite runs in WAL mode
                #db project:kgd
                warning: may be out of date
            See also: [kb-00001] X (via tag:db)
        "#]]
        .assert_eq(&found(&reply));
    }
}
