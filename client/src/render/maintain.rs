//! Maintain: renders the results of maintaining index and ledger.
//!
//! In: replies of `verify`, `rescan`, `reload`, `retry`, `backup`, and the output of `kgd --restore`. Out: text.

use std::collections::BTreeMap;
use std::fmt::Write;

use config::command::word;
use proto::tool::admin::{
    BackupReply, DeepPassReply, ForgetReply, Left, ReloadReply, Removed, RescanReply, RetryReply,
    SettingChange, VerifiedPart, VerifyReply,
};
use proto::tool::core::DeepView;
use serde_json::Value;

use super::{Style, clean, counted, table, thousands};

/// Renders the compared parts, and the first differences.
pub fn verify(reply: &VerifyReply, style: Style) -> String {
    let verdict = match (reply.same, reply.repaired) {
        (true, _) => style.green("same"),
        (false, true) => style.yellow("differed; the rebuilt index is in use now"),
        (false, false) => style.red("differs"),
    };
    let name = style.bold(&clean(&reply.freshness.project));
    let (rows, seconds) = (counted(reply.n_rows, "row"), reply.seconds);
    let mut text = format!("{name}  {verdict}: {rows} compared in {seconds:.1} s\n");
    if !reply.parts.is_empty() {
        let row = |it: &VerifiedPart| {
            let numbers = [it.live, it.rebuilt, it.differing].map(thousands);
            std::iter::once(clean(&it.part).into_owned()).chain(numbers).collect()
        };
        let rows = reply.parts.iter().map(row).collect();
        let header = ["PART", "LIVE", "REBUILT", "DIFFERING"];
        let _ = write!(text, "\n{}", table(style, &header, rows));
    }
    text += &differences(reply, style);
    if !reply.same && !reply.repaired {
        text += "hint: `kgctl verify --repair` replaces it with the rebuilt index\n";
    }
    text
}

fn differences(reply: &VerifyReply, style: Style) -> String {
    let mut text = String::new();
    if !reply.differences.is_empty() {
        text.push('\n');
    }
    for it in &reply.differences {
        let side = match it.side.as_str() {
            "live" => style.red("- live   "),
            "rebuilt" => style.green("+ rebuilt"),
            other => clean(other).into_owned(),
        };
        let _ = writeln!(text, "{side} {}: {}", clean(&it.part), clean(&it.row));
    }
    let differing: u64 = reply.parts.iter().map(|it| it.differing).sum();
    let left = differing.saturating_sub(reply.differences.len() as u64);
    if left > 0 {
        let _ = writeln!(text, "{} more; `--limit` prints more of them", thousands(left));
    }
    text
}

/// Renders the result of comparing all files.
pub fn rescan(reply: &RescanReply) -> String {
    let (files, name) = (counted(reply.files, "file"), clean(&reply.freshness.project));
    let found = match reply.commits {
        0 => "nothing had changed".to_string(),
        n => format!("changes were indexed in {}", counted(n, "commit")),
    };
    format!("{name}: {files} compared in {:.1} s, {found}\n", reply.seconds)
}

/// Renders what a reload of the settings changed.
pub fn reload(reply: &ReloadReply) -> String {
    let name = clean(&reply.freshness.project);
    let mut text = String::new();
    let mut list = |title: &str, changes: &[SettingChange]| {
        if changes.is_empty() {
            return;
        }
        let _ = writeln!(text, "{name}: {title}");
        for it in changes {
            let (key, before, after) = (clean(&it.key), clean(&it.before), clean(&it.after));
            let _ = writeln!(text, "  {key}: {before} → {after}");
        }
    };
    list("changed", &reply.changed);
    list("after `kgctl restart`", &reply.restart);
    if text.is_empty() {
        let _ = writeln!(text, "{name}: no setting has changed");
    }
    for warning in &reply.warnings {
        let _ = writeln!(text, "warning: {}", clean(warning));
    }
    text
}

/// Renders the progress of the deep pass.
pub fn deep(reply: &DeepPassReply) -> String {
    let name = clean(&reply.freshness.project);
    let off = || "the deep pass is switched off (`recognize.deep`)".to_string();
    format!("{name}: {}\n", reply.deep.as_ref().map_or_else(off, DeepView::describe))
}

/// Renders the outcome for files that had failed.
pub fn retry(reply: &RetryReply, style: Style) -> String {
    let mut text = String::new();
    // With an embedding model to retry, no files are not yet "nothing failed".
    match &reply.embedding {
        Some(embedding) => drop(writeln!(text, "embedding: {}", clean(&embedding.describe()))),
        None if reply.files.is_empty() => return "nothing has failed\n".to_string(),
        None => {}
    }
    for it in &reply.files {
        let outcome = match it.outcome.as_str() {
            "failed" => style.red("failed"),
            "indexed" => style.green("indexed"),
            other => clean(other).into_owned(),
        };
        let stage = it.stage.as_deref().map(|stage| format!(" ({})", clean(stage)));
        let place = format!("{}{}", clean(&it.path), stage.unwrap_or_default());
        let reason = it.reason.as_deref().map(|reason| format!(": {}", clean(reason)));
        let _ = writeln!(text, "{outcome} {}{}", style.cyan(&place), reason.unwrap_or_default());
    }
    text
}

/// Renders what was copied, and how to restore it.
pub fn backup(reply: &BackupReply) -> String {
    let (path, bytes, rows) = (clean(&reply.path), thousands(reply.bytes), rows(&reply.rows));
    format!(
        "{path}: {bytes} bytes, checked; {rows}\n\
         `kgctl backup --restore {}` puts it back; the index needs no backup\n",
        word(&path)
    )
}

/// Most other documents that say the same and are listed.
const MAX_OTHERS: usize = 20;

/// Renders a receipt: what was removed, what a scan found, and which files still have it.
pub fn forget(reply: &ForgetReply, named: &str, style: Style) -> String {
    let mut text = String::new();
    if reply.unknown {
        let _ = writeln!(text, "not found: nothing is stored for `{}`", clean(named));
        for it in &reply.looked_for {
            let _ = writeln!(text, "looked for {}", clean(it));
        }
        text += "hint: a path is relative to the project; `kgctl forget --text -` forgets a string, wherever it \
                 stands\n";
        return text;
    }
    if reply.removed.is_empty() {
        text += "it was not stored outside the index\n";
    } else {
        let row =
            |it: &Removed| vec![it.store.clone(), clean(&it.what).into_owned(), thousands(it.n)];
        let rows = reply.removed.iter().map(row).collect();
        text += &table(style, &["STORE", "WHAT", "REMOVED"], rows);
    }
    for path in &reply.in_folder {
        let _ = writeln!(text, "{} {}", style.yellow("still in"), style.cyan(&clean(path)));
    }
    // The daemon lists only the first files, and counts them all.
    let more = reply.n_in_folder.saturating_sub(reply.in_folder.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "and in {}", counted(more, "more file"));
    }
    if reply.n_in_folder > 0 {
        text += "hint: these files are yours, and are indexed as they are: edit or delete them, or list them in \
                 `.kgignore`, then again\n";
    }
    for other in reply.also_in.iter().take(MAX_OTHERS) {
        let _ = writeln!(text, "also in {}", style.cyan(&clean(other)));
    }
    let more = reply.n_also_in.saturating_sub(reply.also_in.len().min(MAX_OTHERS) as u32);
    if more > 0 {
        let _ = writeln!(text, "and in {more} more");
    }
    if reply.n_also_in > 0 {
        text += "these share lines with it or mention it; what they say is theirs, and was not changed\n";
    }
    let Some(proof) = &reply.proof else { return text };
    let (expected, left): (Vec<&Left>, Vec<&Left>) = proof.left.iter().partition(|it| it.of_files);
    if !expected.is_empty() {
        text += "the index, and the ledger for their names, hold it as long as these files do\n";
    }
    for it in left {
        let (file, place) = (clean(&it.file), clean(&it.place));
        let _ = writeln!(text, "{} {file}: {} ({place})", style.red("left in"), thousands(it.n));
    }
    let (files, bytes) = (counted(proof.files, "file"), thousands(proof.bytes));
    let verdict = if proof.gone { style.green("gone") } else { style.red("not gone") };
    let _ = writeln!(text, "{verdict}: {files} of the state folder read, {bytes} bytes");
    text
}

/// Renders the output of `kgd --restore`.
pub fn restored(project: &str, reply: &Value, is_running: bool) -> String {
    let text = |field: &str| reply[field].as_str().map(|text| clean(text).into_owned());
    let counts: BTreeMap<String, u64> = reply["rows"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(table, n)| (table.clone(), n.as_u64().unwrap_or(0)))
        .collect();
    let kept = text("kept").map(|kept| format!("the replaced ledger is kept as {kept}\n"));
    let (name, rows, kept) = (clean(project), rows(&counts), kept.unwrap_or_default());
    let from = text("restored").unwrap_or_default();
    let index = if is_running { "is being rebuilt" } else { "will be rebuilt at the next start" };
    format!("{name}: {from} was restored; {rows}\n{kept}the index {index} from the files\n")
}

fn rows(counts: &BTreeMap<String, u64>) -> String {
    let cells: Vec<_> =
        counts.iter().map(|(table, n)| format!("{} {}", thousands(*n), clean(table))).collect();
    cells.join(", ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn verified(same: bool, repaired: bool) -> VerifyReply {
        let differing = u64::from(!same) * 3;
        let differences = json!([
            { "part": "mentions", "side": "live", "row": "a.md 3..9\u{1b} \"Ada\"" },
            { "part": "mentions", "side": "rebuilt", "row": "a.md 3..9 \"Ada L.\"" }
        ]);
        serde_json::from_value(json!({
            "same": same, "repaired": repaired, "n_rows": 8_230, "seconds": 1.26,
            "parts": [
                { "part": "documents", "live": 120, "rebuilt": 120, "differing": 0 },
                { "part": "mentions", "live": 3_002, "rebuilt": 3_001, "differing": differing }
            ],
            "differences": if same { json!([]) } else { differences },
            "project": "notes", "tick": 7
        }))
        .expect("a reply")
    }

    #[test]
    fn an_index_that_is_what_the_files_say() {
        expect![[r#"
            notes  same: 8,230 rows compared in 1.3 s

            PART       LIVE   REBUILT  DIFFERING
            documents  120    120      0
            mentions   3,002  3,001    0
        "#]]
        .assert_eq(&verify(&verified(true, false), Style::plain()));
    }

    #[test]
    fn an_index_that_differs() {
        expect![[r#"
            notes  differs: 8,230 rows compared in 1.3 s

            PART       LIVE   REBUILT  DIFFERING
            documents  120    120      0
            mentions   3,002  3,001    3

            - live    mentions: a.md 3..9\u{1b} "Ada"
            + rebuilt mentions: a.md 3..9 "Ada L."
            1 more; `--limit` prints more of them
            hint: `kgctl verify --repair` replaces it with the rebuilt index
        "#]]
        .assert_eq(&verify(&verified(false, false), Style::plain()));
        let repaired = verify(&verified(false, true), Style::plain());
        let wanted = "notes  differed; the rebuilt index is in use now: ";
        assert!(repaired.starts_with(wanted) && !repaired.contains("hint: "), "{repaired}");
    }

    #[test]
    fn what_became_of_files_that_failed() {
        let reply: RetryReply = serde_json::from_value(json!({
            "files": [
                { "path": "a.md", "outcome": "indexed" },
                { "path": "b.md", "outcome": "failed", "stage": "normalize", "reason": "too deep" },
                { "path": "c.md", "outcome": "gone" }
            ],
            "project": "notes", "tick": 7
        }))
        .expect("a reply");
        expect![[r#"
            indexed a.md
            failed b.md (normalize): too deep
            gone c.md
        "#]]
        .assert_eq(&retry(&reply, Style::plain()));
        assert_eq!(retry(&RetryReply::default(), Style::plain()), "nothing has failed\n");
    }

    #[test]
    fn copies_and_comparisons_say_what_to_do_next() {
        let reply: BackupReply = serde_json::from_value(json!({
            "path": "/s/backups/ledger-1.sqlite", "bytes": 40_960, "version": 3,
            "rows": { "decisions": 2, "documents": 1_204 }, "project": "notes", "tick": 7
        }))
        .expect("a reply");
        expect![[r#"
            /s/backups/ledger-1.sqlite: 40,960 bytes, checked; 2 decisions, 1,204 documents
            `kgctl backup --restore /s/backups/ledger-1.sqlite` puts it back; the index needs no backup
        "#]]
        .assert_eq(&backup(&reply));
        let output =
            json!({ "restored": "/b", "version": 3, "rows": { "documents": 4 }, "kept": "/s/old" });
        expect![[r#"
            notes: /b was restored; 4 documents
            the replaced ledger is kept as /s/old
            the index is being rebuilt from the files
        "#]]
        .assert_eq(&restored("notes", &output, true));
        let reply = |commits| {
            let reply =
                RescanReply { files: 9_800, commits, seconds: 0.42, ..RescanReply::default() };
            rescan(&reply)
        };
        assert_eq!(reply(0), ": 9,800 files compared in 0.4 s, nothing had changed\n");
        assert_eq!(reply(1), ": 9,800 files compared in 0.4 s, changes were indexed in 1 commit\n");
    }
}
