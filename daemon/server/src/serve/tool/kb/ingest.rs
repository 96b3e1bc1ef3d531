//! `kb_ingest`: entries from files, in S2's steps.
//!
//! In: a file, a folder or a pattern inside the project. Out: the result for each file.
//! Steps: deny list; formats; size; text; hash; secrets and personal data; summary; extraction;
//! entries; the node of the file, to which each entry leads by `extracted_from`; the record. A file
//! that has changed replaces its entries.
//! Invariants: nothing outside the project is read, no link is followed, no file is changed; a file
//! with a secret yields no entry; a model is asked as long as the call has time, and files left
//! over are listed for a later call; a dry run writes nothing; a file that fails does not stop the
//! others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use notes::entry::{EntryEdit, id_text};
use proto::error::ErrorView;
use proto::tool::kb::{EntryType, ExtractedEntry, IngestedView, KbIngest, KbIngestReply};

use super::extract::{Extracted, Extraction, extract};
use super::files::{find, objection};
use super::store::{change, checked, create, whole};
use super::{blocking, index, invalid, ledger, record, type_text, unreadable};
use crate::llm::file::{self, FoundEntry};
use crate::llm::{Asker, Prompt};
use crate::notes::checksum;
use crate::project::Project;
use crate::serve::routes::Who;
use ::index::store::{IngestedFile, KbRecord};
use model::terms::RelPath;

/// Most files in one report.
const MAX_LISTED: usize = 500;

/// Longest source URL of a given text, characters; and the file name under which the text is
/// parsed.
const MAX_URL: usize = 500;
const TEXT_NAME: &str = "text.md";

/// Least time that must remain to ask a model about a file.
const LEAST_TO_ASK: Duration = Duration::from_secs(1);

const UNCHANGED: &str = "as it was when it was last ingested";

/// Creates entries from files.
pub async fn kb_ingest(
    project: Arc<Project>,
    request: KbIngest,
    who: Who,
) -> Result<KbIngestReply, ErrorView> {
    let files = match content_of(&request)? {
        Some(url) => vec![url],
        None => {
            let (finder, wanted) = (project.clone(), request.clone());
            blocking(move || find(&finder, &wanted)).await?
        }
    };
    let mut reply =
        KbIngestReply { dry_run: request.dry_run == Some(true), ..KbIngestReply::default() };
    let mut written = Vec::new();
    for path in files {
        let view = match one(&project, &path, &request, &who, &mut written).await {
            Ok(view) => view,
            Err(error) => failed(&path, "error", &error.message),
        };
        reply.total += 1;
        match view.action.as_str() {
            "ingested" | "dry_run" => reply.ingested += 1,
            "unchanged" => reply.unchanged += 1,
            "flagged" => reply.flagged += 1,
            "error" => reply.errors += 1,
            _ => reply.skipped += 1,
        }
        reply.entries_created += view.entries.len() as u64;
        if reply.files.len() < MAX_LISTED {
            reply.files.push(view);
        }
    }
    let troubles = index(&project, &written).await?;
    for (path, why) in troubles {
        reply.errors += 1;
        reply.files.push(failed(&path, "error", &why));
    }
    reply.freshness = project.freshness_now().map_err(unreadable)?;
    Ok(reply)
}

/// Returns the source URL of a given text; `None` if files are named instead.
fn content_of(request: &KbIngest) -> Result<Option<String>, ErrorView> {
    let url = request.source_url.as_deref().map(str::trim).filter(|it| !it.is_empty());
    let is_whole = |url: &str| {
        url.chars().count() <= MAX_URL && !url.chars().any(|c| c.is_control() || c.is_whitespace())
    };
    match (&request.content, url) {
        (None, None) if request.path.trim().is_empty() => {
            let hint = "name a file, a folder or a pattern; or give `content` with `source_url`";
            Err(invalid("`path` is empty".into(), hint))
        }
        (None, None) => Ok(None),
        (None, Some(_)) => Err(invalid(
            "`source_url` without `content`".into(),
            "nothing is downloaded: give the text as `content`",
        )),
        (Some(_), _) if !request.path.trim().is_empty() => {
            Err(invalid("both `path` and `content`".into(), "ingest a file, or a text"))
        }
        (Some(_), Some(url)) if is_whole(url) => Ok(Some(url.to_string())),
        (Some(_), _) => Err(invalid(
            "`content` needs `source_url`".into(),
            "say where it came from, at most 500 characters without blanks",
        )),
    }
}

fn failed(path: &str, action: &str, reason: &str) -> IngestedView {
    IngestedView {
        path: path.into(),
        action: action.into(),
        reason: Some(reason.into()),
        ..IngestedView::default()
    }
}

/// A file that was read.
struct Source {
    hash: String,
    n_bytes: u64,
    redactions: Vec<String>,
    /// The text without hidden parts.
    text: String,
    found: Extraction,
    /// The record of an earlier run.
    before: Option<IngestedFile>,
    /// Whether it is unchanged since, but the model had no time for it.
    is_owed: bool,
}

enum Read {
    /// There is nothing to do.
    Done(Box<IngestedView>),
    /// Entries have to be created.
    Fresh(Box<Source>),
}

/// Steps 1 to 4: returns the bytes of a file, or why it is not ingested.
fn bytes_of(project: &Project, path: &str) -> Result<Vec<u8>, (&'static str, String)> {
    if let Some(why) = objection(project, path) {
        return Err(("skipped", why));
    }
    let failed = |error: confine::Error| ("error", error.to_string());
    let root = project.opened_root().map_err(|error| failed(error.into()))?;
    let found = root.find(path).map_err(failed)?;
    if found.real != path {
        return Err(("skipped", "a symlink, or in a symlinked folder".into()));
    }
    check_size(project, found.meta.n_bytes)?;
    let content = found.read(project.settings.kb.max_ingest_bytes).map_err(failed)?;
    let content = content.ok_or_else(|| ("skipped", "not a regular file".to_string()))?;
    // It may have grown meanwhile.
    check_size(project, content.meta.n_bytes.max(content.bytes.len() as u64))?;
    Ok(content.bytes)
}

fn check_size(project: &Project, n_bytes: u64) -> Result<(), (&'static str, String)> {
    let most = project.settings.kb.max_ingest_bytes;
    let too_large = || format!("{n_bytes} bytes; at most {most} are ingested");
    if n_bytes > most { Err(("skipped", too_large())) } else { Ok(()) }
}

/// Steps 1 to 8: reads and extracts a file, or a given text.
fn read(project: &Project, path: &str, content: Option<&str>) -> Result<Read, ErrorView> {
    let done = |action: &str, reason: &str| Ok(Read::Done(Box::new(failed(path, action, reason))));
    let bytes = match content {
        Some(text) => check_size(project, text.len() as u64).map(|()| text.as_bytes().to_vec()),
        None => bytes_of(project, path),
    };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err((action, reason)) => return done(action, &reason),
    };
    // Decides how the text is parsed, and which privacy rules apply.
    let name = if content.is_some() { TEXT_NAME } else { path };
    let hash = checksum(&bytes);
    let before = ledger(project)?.ingested(path).map_err(unreadable)?.filter(|it| it.is_active);
    let has_model = project.llms().extraction().or(project.llms().query()).is_some();
    let is_owed = before.as_ref().is_some_and(|it| it.hash == owed(&hash));
    if is_owed && !has_model || before.as_ref().is_some_and(|it| it.hash == hash) {
        return done("unchanged", UNCHANGED);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if notes::parse::frontmatter(&text).is_some_and(|it| notes::entry::of(&it.values).id.is_some())
    {
        return done("skipped", "it is an entry itself");
    }
    let kinds = project.notes().kinds_of_secrets(name, &text);
    if !kinds.is_empty() {
        return done("flagged", &format!("holds what looks like a secret: {}", kinds.join(", ")));
    }
    let shown = project.notes().shown(name, &text);
    let (clean, redactions) = without_marks(&text, &shown);
    let found = extract(name, &clean);
    let n_bytes = bytes.len() as u64;
    let text = clean;
    Ok(Read::Fresh(Box::new(Source { hash, n_bytes, redactions, text, found, before, is_owed })))
}

/// Returns the stored hash of a file that a model did not complete: it is asked again the next
/// time.
fn owed(hash: &str) -> String {
    format!("owed {hash}")
}

/// Returns the shown text with words in place of the redaction marks, which no note may contain,
/// and the kinds of what was hidden.
fn without_marks(text: &str, shown: &str) -> (String, Vec<String>) {
    const MARK: &str = "[redacted:";
    if text == shown {
        return (text.to_string(), vec![]);
    }
    let (mut clean, mut kinds) = (String::with_capacity(shown.len()), Vec::new());
    let mut rest = shown;
    while let Some((before, behind)) = rest.split_once(MARK) {
        let (kind, after) = behind.split_once(']').unwrap_or((behind, ""));
        clean += before;
        clean += &format!("({kind} hidden)");
        if !kinds.iter().any(|it| it == kind) {
            kinds.push(kind.to_string());
        }
        rest = after;
    }
    clean += rest;
    (clean, kinds)
}

/// The extraction of a file, and who made it.
struct Written {
    found: Extraction,
    by: Option<String>,
    trouble: Option<String>,
    /// The model did not return everything.
    is_owed: bool,
}

/// Steps 7 and 8 by a model, if there is one; where it fails, the result of the rules stays.
fn by_model(
    project: &Project,
    path: &str,
    text: &str,
    mut found: Extraction,
    asker: &Asker,
) -> Written {
    let llms = project.llms();
    let Some(slot) = llms.extraction().or(llms.query()) else {
        return Written { found, by: None, trouble: None, is_owed: false };
    };
    let (mut model, mut troubles) = (None, Vec::new());
    let mut ask = |prompt: &Prompt| {
        if asker.until.saturating_duration_since(Instant::now()) < LEAST_TO_ASK {
            troubles.push("the time for a model in one call is over".to_string());
            return None;
        }
        match slot.generate(prompt, asker) {
            Ok(completion) => {
                model = Some(format!("llm:{}", completion.model));
                Some(completion.text)
            }
            Err(error) => {
                troubles.push(error.to_string());
                None
            }
        }
    };
    let summary = ask(&file::summary_prompt(path, text)).map(|it| file::parse_summary(&it));
    // If it failed just now, it is not asked again at once.
    let entries = summary.as_ref().and_then(|_| ask(&file::entries_prompt(path, text)));
    let entries = entries.map(|it| file::parse_entries(&it));
    let is_of_use = matches!(summary, Some(Some(_))) || matches!(entries, Some(Some(_)));
    let by = model.filter(|_| is_of_use);
    match summary {
        Some(Some(summary)) => found.summary = summary,
        Some(None) => troubles.push("the model's answer is not a summary".into()),
        None => {}
    }
    match entries {
        Some(Some(entries)) => {
            found.entries = entries.into_iter().map(extracted).collect();
            // The length of sections does not predict which ones a model turns into entries.
            found.left_out.clear();
        }
        Some(None) => troubles.push("the model's answer is not a list of entries".into()),
        None => {}
    }
    // A model that failed now may succeed in a later call.
    let is_owed = !troubles.is_empty();
    let trouble = is_owed.then(|| {
        let why = troubles.join("; ");
        format!("by rules, because the model returned nothing: {why}; ingest it again to retry")
    });
    Written { found, by, trouble, is_owed }
}

fn extracted(it: FoundEntry) -> Extracted {
    let FoundEntry { short_title, long_title, knowledge_details: details, entry_type, tags } = it;
    let entry_type = EntryType::ALL.into_iter().find(|known| known.as_str() == entry_type);
    let entry_type = entry_type.unwrap_or_default();
    Extracted { short_title, long_title, details, entry_type, tags }
}

/// Runs all steps for one file.
async fn one(
    project: &Arc<Project>,
    path: &str,
    request: &KbIngest,
    who: &Who,
    written: &mut Vec<RelPath>,
) -> Result<IngestedView, ErrorView> {
    let (worker, source) = (project.clone(), path.to_string());
    let content = request.content.clone();
    let source = match blocking(move || read(&worker, &source, content.as_deref())).await? {
        Read::Done(view) => return Ok(*view),
        Read::Fresh(source) => *source,
    };
    let Source { hash, n_bytes, redactions, text, found, before, is_owed: was_owed } = source;
    // A dry run costs nothing: it shows the result of the rules.
    let Written { found, by, trouble, is_owed } = match request.dry_run == Some(true) {
        true => Written { found, by: None, trouble: None, is_owed: false },
        false => {
            let (worker, of, asker) = (project.clone(), path.to_string(), who.asker.clone());
            blocking(move || Ok(by_model(&worker, &of, &text, found, &asker))).await?
        }
    };
    let view = |action: &str, entries, replaced| IngestedView {
        path: path.to_string(),
        action: action.into(),
        reason: None,
        summary: Some(found.summary.clone()).filter(|it| !it.is_empty()),
        written_by: by.clone(),
        llm: trouble.clone(),
        entries,
        left_out: found.left_out.clone(),
        replaced,
        redactions: redactions.clone(),
    };
    if was_owed && by.is_none() && request.dry_run != Some(true) {
        // The result of the rules is stored already.
        let unchanged = view("unchanged", vec![], vec![]);
        let reason = Some(UNCHANGED.to_string());
        return Ok(IngestedView { reason, summary: None, left_out: vec![], ..unchanged });
    }
    // If no project is named, the one of the previous run stays.
    let (old, known) = before.map(|it| (it.entries, it.project)).unwrap_or_default();
    let project_ref = request.project_ref.clone().or(known).filter(|it| !it.trim().is_empty());
    if request.dry_run == Some(true) {
        let entries = found.entries.iter().map(|it| extracted_view(it, None)).collect();
        return Ok(view("dry_run", entries, old));
    }
    let (mut entries, mut troubles) = (Vec::new(), Vec::new());
    for it in &found.entries {
        let new = EntryEdit {
            source_context: request.content.as_ref().map(|_| path.to_string()),
            ..new_entry(it, path, project_ref.clone())
        };
        let made = match whole(new).and_then(checked) {
            Ok(new) => create(project, new, who, &format!("Ingested from `{path}`")).await,
            Err(error) => Err(error),
        };
        match made {
            Ok(made) => {
                written.push(RelPath::new(made.path));
                entries.push(extracted_view(it, Some(id_text(made.number))));
            }
            Err(error) => troubles.push(format!("`{}`: {}", it.short_title, error.message)),
        }
    }
    if entries.is_empty() && !troubles.is_empty() {
        // The old entries stay, because nothing has replaced them.
        return Ok(failed(path, "error", &troubles.join("; ")));
    }
    let mut replaced = Vec::new();
    for id in old {
        let edit = EntryEdit { is_active: Some(false), ..EntryEdit::default() };
        let reason = format!("Replaced: `{path}` has changed and was ingested again");
        match change(project, &id, edit, who, reason, false).await {
            Ok(stored) => {
                written.push(RelPath::new(stored.path));
                replaced.push(id);
            }
            // Somebody has deleted it.
            Err(error) if super::is_missing(&error) => {}
            Err(error) => troubles.push(error.message),
        }
    }
    let kept = IngestedFile {
        path: path.to_string(),
        hash: if is_owed { owed(&hash) } else { hash },
        node: format!("note:{path}"),
        entries: entries.iter().filter_map(|it| it.id.clone()).collect(),
        summary: found.summary.clone(),
        n_bytes,
        extension: RelPath::new(path).extension(),
        project: project_ref,
        redactions: redactions.clone(),
        is_active: true,
        ..IngestedFile::default()
    };
    record(project, vec![KbRecord::Ingested(kept)]).await?;
    let mut view = view("ingested", entries, replaced);
    view.reason = match (troubles.is_empty(), view.entries.is_empty()) {
        (false, _) => Some(troubles.join("; ")),
        (true, true) => Some("nothing in it makes an entry".into()),
        _ => None,
    };
    Ok(view)
}

fn extracted_view(it: &Extracted, id: Option<String>) -> ExtractedEntry {
    ExtractedEntry { id, short_title: it.short_title.clone(), entry_type: it.entry_type }
}

fn new_entry(it: &Extracted, path: &str, project: Option<String>) -> EntryEdit {
    EntryEdit {
        short_title: Some(it.short_title.clone()),
        long_title: Some(it.long_title.clone()),
        details: Some(it.details.clone()),
        entry_type: Some(type_text(it.entry_type)),
        project,
        tags: Some(it.tags.clone()),
        extracted_from: Some(path.to_string()),
        ..EntryEdit::default()
    }
}
