//! `remember`: stores a fact, a decision or a preference where it belongs.
//!
//! In: a text, optionally its subject. Out: where it is stored, similar statements, and
//! contradictions.
//! A text about a subject becomes an observation in its note, which is created if there is none;
//! any other text becomes an entry. Both are written by the tools of memory and of entries.
//! Invariants: the text is stored completely, or the call fails; a text that is already stored is
//! not written again.

use std::sync::Arc;

use proto::error::{Code, ErrorView};
use proto::shape::{EntityView, SourceView};
use proto::tool::batch::Item;
use proto::tool::core::{ContradictedView, EntityLookup, Remember, RememberReply, Remembered};
use proto::tool::kb::{EntryType, KbStore};
use proto::tool::memory::{
    AddObservations, CreateEntities, ItemError, NewMemoryEntity, NewObservations,
};

use super::{blocking, invalid, kb, memory, unreadable};
use crate::project::Project;
use crate::serve::routes::Who;
use index::read::Node;
use query::ask::NewText;
use query::memory::{self as rows, Near};

/// Longest text, characters.
const MAX_CHARS: usize = 20_000;

/// Longest title of an entry, characters.
const TITLE_CHARS: usize = 70;

/// Most words of a name at the start of a text.
const MAX_NAME_WORDS: usize = 5;

/// Most similar statements in a reply.
const MAX_SIMILAR: usize = 5;

/// Words that state a decision; below, words that state a preference.
const DECISION: [&str; 10] = [
    "we decided",
    "decided to",
    "decision:",
    "we chose",
    "chose to",
    "we agreed",
    "we will use",
    "we use",
    "instead of",
    "we switched",
];
const PREFERENCE: [&str; 9] = [
    "prefers",
    "prefer ",
    "likes",
    "dislikes",
    "wants",
    "hates",
    "favourite",
    "favorite",
    "preference",
];

/// Stores a text.
pub async fn remember(
    project: Arc<Project>,
    request: Remember,
    who: Who,
) -> Result<RememberReply, ErrorView> {
    let text = request.text.trim().to_string();
    match text.chars().count() {
        0 => return Err(invalid("`text` is empty".into(), "say what to remember")),
        1..=MAX_CHARS => {}
        n => {
            let hint = "write a note (`write_note`), and remember a sentence that names it";
            return Err(invalid(format!("`text` has {n} characters, at most {MAX_CHARS}"), hint));
        }
    }
    let kind = request.kind.unwrap_or_else(|| kind_of(&text));
    let about = request.about.map(|it| it.trim().to_string()).filter(|it| !it.is_empty());
    let (home, warning) = home_of(&project, about.clone(), &text).await?;
    let tags: Vec<String> = request.tags.unwrap_or_default();
    // A tag in a note ends at the first blank.
    let one_word = |it: &String| it.split_whitespace().collect::<Vec<_>>().join("-");
    let tags = tags.iter().map(|it| one_word(it).trim_start_matches('#').to_string());
    let tags: Vec<String> = tags.filter(|it| !it.is_empty()).collect();
    // An observation is a single line; a longer text keeps its form in an entry that links to its
    // subject.
    let is_one_line = !text.contains('\n');
    let mut reply = match home {
        Home::Note(note) if !is_one_line => {
            stored(&project, kind, &text, Some(&note.name), tags, who).await?
        }
        Home::New(entity) if !is_one_line => {
            stored(&project, kind, &text, Some(&entity.name), tags, who).await?
        }
        Home::Note(note) => {
            let known = match tags.is_empty() {
                true => existing_statement(&project, &note, about.as_deref(), &text).await?,
                false => None,
            };
            match known {
                Some(known) => known,
                None => observed(&project, note.path, kind, &text, &tags, who).await?,
            }
        }
        Home::New(entity) => made(&project, entity, kind, &text, &tags, who).await?,
        Home::Entry => stored(&project, kind, &text, None, tags, who).await?,
    };
    reply.kind = kind;
    reply.warnings.extend(warning);
    with_neighbors(&project, text, about, reply).await
}

/// Returns the kind of a text, by its words.
fn kind_of(text: &str) -> Remembered {
    let lower = text.to_lowercase();
    let has_any = |cues: &[&str]| cues.iter().any(|cue| lower.contains(cue));
    if has_any(&DECISION) {
        Remembered::Decision
    } else if has_any(&PREFERENCE) {
        Remembered::Preference
    } else {
        Remembered::Fact
    }
}

/// Where a text belongs.
enum Home {
    /// In an existing note.
    Note(Node),
    /// In a note that has to be created.
    New(EntityView),
    /// In an entry of its own.
    Entry,
}

/// Returns where a text belongs, and a hint about that for the caller.
async fn home_of(
    project: &Arc<Project>,
    about: Option<String>,
    text: &str,
) -> Result<(Home, Option<String>), ErrorView> {
    let (worker, text) = (project.clone(), text.to_string());
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let Some(about) = about else {
            // The longest name in memory with which the text starts.
            let words: Vec<&str> = text.split_whitespace().take(MAX_NAME_WORDS).collect();
            let names = (1..=words.len()).rev().filter_map(|n| words.get(..n));
            for name in names {
                let name = name.join(" ");
                let name = name.trim_end_matches(|c: char| !c.is_alphanumeric());
                let name = name.strip_suffix("'s").unwrap_or(name);
                let node = rows::called(&snapshot, name)?;
                if let Some(node) = node.filter(|node| node.is_node) {
                    return Ok((Home::Note(node), None));
                }
            }
            return Ok((Home::Entry, None));
        };
        match rows::named(&snapshot, &about) {
            Ok(node) => return Ok((Home::Note(node), None)),
            Err(error) if error.code == Code::Ambiguous => return Err(error),
            Err(_) => {}
        }
        // Another name of a known entity: use its own note, or one with its name.
        let lookup = EntityLookup { q: about.clone(), limit: Some(1), ..EntityLookup::default() };
        let found = query::entity_lookup(&worker.context(&snapshot), &lookup);
        let known = found.ok().and_then(|found| found.entities.into_iter().next());
        let known = known.filter(|it| {
            let key = notes::resolve::name_key(&about);
            let names = it.aliases.iter().chain([&it.name]);
            names.into_iter().any(|name| notes::resolve::name_key(name) == key)
        });
        let path = known.as_ref().and_then(|it| it.path.clone());
        if let Some(node) = path.and_then(|path| snapshot.memory().at(&path).ok().flatten()) {
            return Ok((Home::Note(node), None));
        }
        let near = if known.is_none() { rows::near(&snapshot, &about)? } else { None };
        let mut warning = None;
        if let Some(Near { node, is_slip }) = near {
            if is_slip {
                let slip =
                    format!("`about` was read as `{}`, {}: almost `{about}`", node.name, node.path);
                return Ok((Home::Note(node), Some(slip)));
            }
            warning = Some(format!("new, beside the similar `{}` ({})", node.name, node.path));
        }
        let new = EntityView { name: about.clone(), ..EntityView::default() };
        Ok((Home::New(known.map_or(new, |it| EntityView { name: about, ..it })), warning))
    })
    .await
}

/// Renders an observation: `[decision] We use SQLite. #storage`.
fn observation(kind: Remembered, text: &str, tags: &[String]) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let tags: String = tags.iter().map(|tag| format!(" #{tag}")).collect();
    match kind {
        Remembered::Fact => format!("{words}{tags}"),
        kind => format!("[{}] {words}{tags}", kind.as_str()),
    }
}

fn failed(error: ItemError) -> ErrorView {
    ErrorView { code: error.code, message: error.message, hint: error.hint, conflict: None }
}

async fn observed(
    project: &Arc<Project>,
    path: String,
    kind: Remembered,
    text: &str,
    tags: &[String],
    who: Who,
) -> Result<RememberReply, ErrorView> {
    let item = NewObservations {
        entity_name: path.clone(),
        contents: vec![observation(kind, text, tags)],
    };
    let request = AddObservations { observations: vec![Item::Whole(item)] };
    let added = memory::add_observations(project.clone(), request, who).await?;
    let done = added.results.into_iter().next().unwrap_or_default();
    if let Some(error) = done.error {
        return Err(failed(error));
    }
    Ok(RememberReply {
        about: Some(done.entity_name),
        path,
        was_known: done.added.is_empty(),
        ..RememberReply::default()
    })
}

async fn made(
    project: &Arc<Project>,
    entity: EntityView,
    kind: Remembered,
    text: &str,
    tags: &[String],
    who: Who,
) -> Result<RememberReply, ErrorView> {
    let entity_type = match (entity.entity_type.as_str(), kind) {
        ("" | "Unknown" | "Concept" | "Document", Remembered::Preference) => "person".to_string(),
        ("" | "Unknown" | "Document", _) => "concept".to_string(),
        (known, _) => known.to_lowercase(),
    };
    let new = NewMemoryEntity {
        name: entity.name,
        entity_type,
        observations: Some(vec![observation(kind, text, tags)]),
        ..NewMemoryEntity::default()
    };
    let request = CreateEntities { entities: vec![Item::Whole(new)] };
    let reply = memory::create_entities(project.clone(), request, who.clone()).await?;
    if let Some(error) = reply.failed.into_iter().next() {
        return Err(failed(error));
    }
    let Some(made) = reply.entities.into_iter().next() else {
        // Another agent has just created it.
        let path = reply.existing.into_iter().next().map(|there| there.path).unwrap_or_default();
        return observed(project, path, kind, text, tags, who).await;
    };
    Ok(RememberReply {
        about: Some(made.name),
        path: made.path,
        is_new: !made.was_note,
        ..RememberReply::default()
    })
}

/// Returns the first words of a text, as a title.
fn title_of(text: &str) -> String {
    let has_words =
        |line: &&str| line.chars().any(char::is_alphanumeric) && !line.starts_with("```");
    let first = text.lines().map(str::trim).find(has_words).unwrap_or_default();
    let first = first.trim_start_matches(['#', '-', '*', ' ']);
    let end = first.find(['.', ';', ':']).filter(|at| *at > 10).unwrap_or(first.len());
    let mut title = String::new();
    for word in first.get(..end).unwrap_or(first).split_whitespace() {
        if !title.is_empty() && title.chars().count() + 1 + word.chars().count() > TITLE_CHARS {
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    title.chars().take(TITLE_CHARS).collect()
}

async fn stored(
    project: &Arc<Project>,
    kind: Remembered,
    text: &str,
    about: Option<&str>,
    mut tags: Vec<String>,
    who: Who,
) -> Result<RememberReply, ErrorView> {
    let title = title_of(text);
    if title.is_empty() {
        return Err(invalid("`text` has no words".into(), "say what to remember"));
    }
    let details = about.map_or(text.to_string(), |name| format!("{text}\n\nAbout [[{name}]]."));
    let known = {
        let (worker, text) = (project.clone(), details.clone());
        blocking(move || {
            let snapshot = worker.snapshot().map_err(unreadable)?;
            kb::entry_with_text(&worker, &snapshot, &text)
        })
        .await?
    };
    if let Some(entry) = known {
        tags.retain(|tag| !entry.tags.contains(tag));
        let mut warnings = vec![];
        if !tags.is_empty() {
            // The text is stored already, but its other parameters must not be lost.
            let all = entry.tags.iter().chain(&tags).cloned().collect();
            let more = KbStore {
                update_entry_id: Some(entry.id.clone()),
                tags: Some(all),
                change_reason: Some("remembered again, with further tags".into()),
                ..KbStore::default()
            };
            warnings = kb::kb_store(project.clone(), more, who).await?.warnings;
        }
        return Ok(RememberReply {
            about: about.map(String::from),
            id: Some(entry.id),
            path: entry.path,
            was_known: true,
            warnings,
            ..RememberReply::default()
        });
    }
    let entry_type = match kind {
        Remembered::Fact => EntryType::FactualReference,
        Remembered::Decision => EntryType::Decision,
        Remembered::Preference => EntryType::PatternConvention,
    };
    if kind == Remembered::Preference && !tags.iter().any(|it| it == kind.as_str()) {
        tags.push(kind.as_str().to_string());
    }
    let request = KbStore {
        short_title: Some(title),
        knowledge_details: Some(details),
        entry_type: Some(entry_type),
        tags: Some(tags).filter(|it| !it.is_empty()),
        ..KbStore::default()
    };
    let stored = kb::kb_store(project.clone(), request, who).await?;
    Ok(RememberReply {
        about: about.map(String::from),
        id: Some(stored.entry.id),
        path: stored.entry.path,
        is_new: true,
        warnings: stored.warnings,
        ..RememberReply::default()
    })
}

/// Returns the reply if a note states the text already.
async fn existing_statement(
    project: &Arc<Project>,
    note: &Node,
    about: Option<&str>,
    text: &str,
) -> Result<Option<RememberReply>, ErrorView> {
    let known = RememberReply {
        about: Some(note.name.clone()),
        path: note.path.clone(),
        was_known: true,
        ..RememberReply::default()
    };
    let (worker, text, doc) = (project.clone(), text.to_string(), note.doc);
    let about = about.map(String::from);
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let mut names = snapshot.memory().names(doc).map_err(unreadable)?;
        names.extend(about);
        let new_text = NewText { text: &text, doc: Some(doc), names: &names, own: None };
        let there = query::ask::existing_statement(&worker.context(&snapshot), &new_text)?;
        Ok(there.map(|it| RememberReply { line: it.line, text: it.text, ..known }))
    })
    .await
}

/// Adds the place, similar statements, and contradictions.
async fn with_neighbors(
    project: &Arc<Project>,
    text: String,
    about: Option<String>,
    mut reply: RememberReply,
) -> Result<RememberReply, ErrorView> {
    let worker = project.clone();
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let context = worker.context(&snapshot);
        let doc = snapshot.memory().at(&reply.path).map_err(unreadable)?.map(|it| it.doc);
        let own = match doc {
            Some(doc) if reply.text.is_empty() => query::ask::standing(&context, doc, &text)?,
            _ => None,
        };
        if let Some(own) = own {
            (reply.line, reply.text) = (own.line, own.text);
        }
        let own =
            SourceView { path: reply.path.clone(), line: reply.line, ..SourceView::default() };
        // An entry is not the note of a subject.
        let doc = doc.filter(|_| reply.id.is_none());
        let names = doc.map(|doc| snapshot.memory().names(doc)).transpose();
        let mut names = names.map_err(unreadable)?.unwrap_or_default();
        names.extend(reply.about.iter().cloned().chain(about));
        let new_text = NewText { text: &text, doc, names: &names, own: Some(&own) };
        let library = kb::library(&worker, &snapshot)?;
        for it in query::ask::nearest(&context, &library, &new_text, MAX_SIMILAR)? {
            match it.conflict {
                Some(why) => reply.contradicts.push(ContradictedView { source: it.source, why }),
                None => reply.similar.push(it.source),
            }
        }
        reply.freshness = worker.freshness(&snapshot);
        Ok(reply)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_is_remembered() {
        for (text, kind) in [
            ("We decided to use SQLite instead of Postgres.", Remembered::Decision),
            ("Ana prefers short mails", Remembered::Preference),
            ("The build takes four minutes", Remembered::Fact),
        ] {
            assert_eq!(kind_of(text), kind, "{text}");
        }
    }

    #[test]
    fn a_title_is_the_first_clause() {
        for (text, title) in [
            ("We use SQLite. It needs no server.", "We use SQLite"),
            ("# Keys\n\nThey rotate.", "Keys"),
            ("v1.2 is out", "v1.2 is out"),
            ("---\n```sh\nmake it", "make it"),
            ("# ---", ""),
        ] {
            assert_eq!(title_of(text), title);
        }
        let long = title_of(&"word ".repeat(60));
        assert!(long.chars().count() <= TITLE_CHARS && long.ends_with("word"), "{long}");
    }
}
