//! `move_note`: moves a note, and rewrites the links that would break.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use notes::edit::{Move, Op, by_path, retarget};
use notes::parse::{Link, LinkKind, Note, parse};
use notes::resolve::{file_key, name_key};
use notes::slug::path_slug;
use proto::error::ErrorView;
use proto::tool::notes::{ChangedLines, MoveNote, MovedReply, RewrittenView};
use tokio::runtime::Handle;

use super::kept::keep;
use super::write::changed_lines;
use super::{index, path_to_remove, taken};
use crate::notes::{Moved, NoteError, Notes, Rewrite, Written};
use crate::project::Project;
use crate::serve::routes::Who;
use crate::serve::tool::look::look;
use crate::serve::tool::{blocking, invalid, unreadable};
use ::index::store::{Operation, Snapshot};
use model::terms::RelPath;
use query::{AskError, browse};

/// Most links of other notes that one move rewrites.
pub(super) const MAX_BACKLINKS: usize = 100_000;

/// Moves a note.
pub async fn move_note(
    project: Arc<Project>,
    request: MoveNote,
    who: Who,
) -> Result<MovedReply, ErrorView> {
    let given = match (&request.destination, &request.destination_folder) {
        (Some(path), None) => path.clone(),
        (None, Some(folder)) => format!("{}/", folder.trim().trim_end_matches('/')),
        _ => {
            let message = "`move_note` needs either `destination` or `destination_folder`";
            return Err(invalid(message.into(), "give a path such as `archive/plan.md`"));
        }
    };
    let from = path_to_remove(&project, &request.path).await?;
    let is_dry = request.dry_run == Some(true);
    // Other notes must be indexed in their current state, or links in them would be missed.
    look(&project, "", &serde_json::Map::new()).await;
    index(&project, &[RelPath::new(from.clone())]).await?;
    let worker = project.clone();
    let (moved, texts, warning, hold) = blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let to = destination(&worker, &snapshot, &from, &given)?;
        let plan = Plan::new(&worker, &snapshot, &from, &to)?;
        let expected = request.expected_checksum.as_deref();
        // Indexed together, once, because each commit resolves the links of its documents again.
        let paths = plan.others.iter().map(|it| RelPath::new(it.path.clone())).collect();
        let hold = worker.watcher().hold(paths);
        let moving = RefCell::new(Some(Handle::current().block_on(worker.moving())));
        let settle = |paths: &[RelPath]| {
            // Failures here are reported once everything is indexed.
            let indexed = worker.index_now(paths, false, &|_| {});
            let _ = Handle::current().block_on(indexed);
            moving.take();
        };
        let moved = worker
            .notes()
            .rename(&from, &to, expected, &plan.own, &plan.others, (!is_dry).then_some(&settle))
            .map_err(|error: NoteError| error.view())?;
        Ok((moved, plan.texts, plan.warning, hold))
    })
    .await?;
    let mut warnings = Vec::new();
    if !is_dry {
        warnings = index(&project, &moved.changed()).await?;
        keep(&project, &who, Operation::Move, moved.to.as_str()).await?;
    }
    drop(hold);
    let worker = project.clone();
    blocking(move || {
        let snapshot = worker.snapshot().map_err(unreadable)?;
        let mut reply = view(worker.notes(), moved, &texts);
        reply.rewritten.extend(
            warning
                .into_iter()
                .chain(warnings)
                .map(|error| RewrittenView { error: Some(error), ..RewrittenView::default() }),
        );
        reply.dry_run = is_dry;
        let path = if is_dry { &reply.from } else { &reply.to };
        if let Ok(Some(doc)) = snapshot.documents().at(path) {
            reply.permalink = browse::brief(&snapshot, doc)?.permalink;
        }
        reply.checksum = worker.notes().read(path).ok().map(|note| note.checksum);
        reply.freshness = worker.freshness(&snapshot);
        Ok(reply)
    })
    .await
}

/// Returns the new path: into a folder under its own name, or under another one.
fn destination(
    project: &Project,
    snapshot: &Snapshot,
    from: &str,
    given: &str,
) -> Result<String, ErrorView> {
    let given = crate::serve::tool::within(project, given.trim().to_string());
    if given.starts_with('/') && given != "/" {
        return Err(NoteError::Outside(given).view());
    }
    let bare = given.trim_start_matches("./").trim_matches('/');
    // A last part that is no folder is the note's new name, and may differ from the old one in its spelling alone.
    let bare = match (browse::spelled_folder(snapshot, bare)?, bare.rsplit_once('/')) {
        (spelled, _) if is_known_folder(snapshot, &spelled)? => spelled,
        (_, Some((folder, last))) => {
            format!("{}/{last}", browse::spelled_folder(snapshot, folder)?)
        }
        (_, None) => bare.to_string(),
    };
    let bare = bare.as_str();
    let name = from.rsplit('/').next().unwrap_or(from);
    let is_folder =
        given.ends_with('/') || bare.is_empty() || bare == "." || is_known_folder(snapshot, bare)?;
    if is_folder {
        let root = bare.is_empty() || bare == ".";
        return Ok(if root { name.to_string() } else { format!("{bare}/{name}") });
    }
    let last = bare.rsplit('/').next().unwrap_or(bare);
    let extension = last.rsplit_once('.').map(|(_, extension)| extension.to_lowercase());
    match extension.as_deref() {
        Some("md" | "markdown") => Ok(bare.to_string()),
        Some(other) if config::formats::default_extensions().any(|it| it == other) => Err(invalid(
            format!("`destination` is `{bare}`, and a note is Markdown"),
            "give a path that ends in `.md`",
        )),
        // A title may contain a dot.
        _ if last.chars().all(|c| c == '.') => Err(invalid(
            format!("`destination` is `{bare}`"),
            "give a path such as `archive/plan.md`",
        )),
        _ => Ok(format!("{bare}.md")),
    }
}

fn is_known_folder(snapshot: &Snapshot, folder: &str) -> Result<bool, AskError> {
    Ok(!folder.is_empty() && snapshot.files().are_more_under(folder, 0)?)
}

/// The edits of a move.
struct Plan {
    own: Vec<Op>,
    others: Vec<Rewrite>,
    /// The texts to which the edits apply, by path.
    texts: BTreeMap<String, String>,
    /// A warning for those who know the address of another note.
    warning: Option<String>,
}

impl Plan {
    fn new(
        project: &Project,
        snapshot: &Snapshot,
        from: &str,
        to: &str,
    ) -> Result<Plan, ErrorView> {
        let moved = Move { from, to, is_unique: is_unique(snapshot, from, to)? };
        let doc = snapshot.documents().at(from).ok().flatten();
        let mut leading: BTreeMap<String, Leading> = BTreeMap::new();
        if let Some(doc) = doc {
            let leads_here = snapshot.notes().backlinks(doc, 0, MAX_BACKLINKS);
            for link in leads_here.map_err(unreadable)? {
                leading.entry(link.from_path).or_default().here.insert(link.target);
            }
            for link in taken::links(snapshot, doc, from, to)? {
                leading.entry(link.at).or_default().elsewhere.insert(link.written, link.leads_to);
            }
        }
        let mut own_targets = BTreeSet::new();
        if let Some(doc) = doc {
            let links = snapshot.notes().links(doc).map_err(unreadable)?;
            own_targets
                .extend(links.into_iter().filter(|it| it.to == Some(doc)).map(|it| it.target));
        }
        let refused = |error: NoteError| error.view();
        let note = project.notes().read(from).map_err(refused)?;
        let parsed = parse(&note.text);
        let permalink = doc.map(|doc| browse::brief(snapshot, doc)).transpose()?;
        let permalink = permalink.and_then(|it| it.permalink);
        let loses = |target: &str| loses(target, from, &parsed, permalink.as_deref());
        let mut own = retarget(&note.text, &parsed, (from, to), moved, |link| {
            own_targets.contains(&link.target) && loses(&link.target)
        });
        let kept = leading.remove(from).unwrap_or_default();
        let kept = by_path(&note.text, &parsed, to, |link| kept.elsewhere(link));
        // Of two edits of one link, the one that preserves its target wins.
        own.retain(|it| kept.iter().all(|other| other.span != it.span));
        own.extend(kept);
        let own = if own.is_empty() { vec![] } else { vec![Op::Retarget(own)] };
        let mut texts = BTreeMap::from([(from.to_string(), note.text)]);
        let mut others = Vec::new();
        for (path, leading) in leading {
            // A file that has been removed meanwhile has no links any more.
            let Ok(other) = project.notes().read(&path) else { continue };
            let parsed = parse(&other.text);
            let mut links = retarget(&other.text, &parsed, (&path, &path), moved, |link| {
                leading.here.contains(&link.target) && loses(&link.target)
            });
            links.extend(by_path(&other.text, &parsed, &path, |link| leading.elsewhere(link)));
            if !links.is_empty() {
                let ops = vec![Op::Retarget(links)];
                others.push(Rewrite { path: path.clone(), ops, expected: Some(other.checksum) });
                texts.insert(path, other.text);
            }
        }
        let warning = taken::address(snapshot, from, to, &parsed)?;
        Ok(Plan { own, others, texts, warning })
    }
}

/// The links of one note that must be rewritten, by their targets.
#[derive(Default)]
struct Leading {
    /// Targets that resolve to the note being moved.
    here: BTreeSet<String>,
    /// Targets that resolve to another note, and would resolve to this one at its new path; with
    /// the path of the other.
    elsewhere: BTreeMap<(LinkKind, String), String>,
}

impl Leading {
    fn elsewhere(&self, link: &Link) -> Option<String> {
        self.elsewhere.get(&(link.kind, link.target.clone())).cloned()
    }
}

/// Returns whether a name stops resolving to a note once its file is renamed. Its title, its
/// aliases and a permalink derived from these still resolve.
fn loses(target: &str, from: &str, note: &Note, permalink: Option<&str>) -> bool {
    let target = target.trim_matches('/');
    if file_key(target) == file_key(from) {
        return true;
    }
    let key = name_key(target);
    let heading = note.headings.first().map(|it| &it.text);
    let mut names = note.title.iter().chain(heading).chain(&note.aliases);
    let is_called = names.any(|it| name_key(it) == key);
    let is_settled = note.permalink.is_some() || note.title.is_some();
    let is_addressed = is_settled && permalink == Some(path_slug(target).as_str());
    !(is_called || is_addressed)
}

/// Returns whether no other file has the name that the note will have.
fn is_unique(snapshot: &Snapshot, from: &str, to: &str) -> Result<bool, AskError> {
    let named = snapshot.files().named(&file_key(to))?;
    Ok(named.iter().all(|path| path == from || path == to))
}

fn view(notes: &Notes, moved: Moved, texts: &BTreeMap<String, String>) -> MovedReply {
    let lines = |path: &str, written: &Written| -> Vec<ChangedLines> {
        let text = texts.get(path);
        text.map(|text| changed_lines(notes, path, text, &written.changes)).unwrap_or_default()
    };
    let from = moved.from.to_string();
    let mut rewritten = Vec::new();
    if let Some(own) = &moved.own {
        rewritten.push(RewrittenView {
            path: moved.to.to_string(),
            changed: lines(&from, own),
            error: None,
        });
    }
    for other in &moved.others {
        rewritten.push(match &other.done {
            Ok(written) => RewrittenView {
                path: other.path.clone(),
                changed: lines(&other.path, written),
                error: None,
            },
            Err(error) => RewrittenView {
                path: other.path.clone(),
                changed: vec![],
                error: Some(error.to_string()),
            },
        });
    }
    MovedReply { from, to: moved.to.to_string(), rewritten, ..MovedReply::default() }
}
