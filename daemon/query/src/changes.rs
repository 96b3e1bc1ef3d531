//! Changes: the journal of a range of commits, as one net change per document.
//!
//! In: the journal, the last commit that the caller knows, filters. Out: the reply of `changes`,
//! one page.
//! Invariants: a document that ends as it began has no change, nor has one that was added and
//! removed again; the pages of one answer cover the same commits, so no change is repeated or left
//! out; both formats of a page have the same documents.

use std::collections::HashMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use index::store::{ChangeLedger, ChangedLine, DocChange, Line, first_lines};
use model::terms::Tick;
use notes::resolve::fold;
use proto::error::ErrorView;
use proto::tool::core::{ChangeView, ChangedLineView, Changes, ChangesReply, ChangesThatFit};
use proto::view::Style;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::error::{budget, in_range, invalid};
use crate::graph::{entity, lookup, name_of};
use crate::plan::condition::Under;
use crate::{AskError, QueryContext};

/// Documents on a page unless the caller sets a limit.
const USUAL_LIMIT: u32 = 50;

/// The commit after which changes are wanted.
#[derive(Debug, Clone)]
pub struct Since {
    /// Changes of later commits.
    pub tick: Tick,
    /// The caller's `since`, as the reply shows it.
    pub shown: String,
    /// A hint about it for the caller.
    pub hint: Option<String>,
}

/// What all pages of an answer share, and the number of documents on the pages before.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PageOf {
    since: u64,
    told: String,
    until: u64,
    skip: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entity: Option<String>,
}

impl PageOf {
    fn parse(text: &str) -> Result<PageOf, ErrorView> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text.trim()).unwrap_or_default();
        serde_json::from_slice(&bytes).map_err(|_| {
            let hint = "pass the `next_cursor` of an answer, or omit it for the first page";
            invalid("invalid `cursor`: no answer returned it".into(), hint)
        })
    }

    fn after(&self, n_shown: usize) -> String {
        let next = PageOf { skip: self.skip + n_shown, ..self.clone() };
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&next).unwrap_or_default())
    }
}

/// Returns a page of changes; `since` is called only for the first one.
pub fn changes(
    ctx: &QueryContext<'_>,
    ledger: &ChangeLedger,
    request: &Changes,
    since: impl FnOnce() -> Result<Since, ErrorView>,
) -> Result<ChangesReply, ErrorView> {
    let limit = in_range("limit", request.limit.unwrap_or(USUAL_LIMIT), 1, 200)?;
    let usual = ctx.settings.retrieval.max_chars;
    let budget = budget(request.max_chars, request.max_tokens, usual)?;
    let now = ctx.snapshot.tick();
    let (place, hint) = match &request.cursor {
        Some(cursor) => (PageOf::parse(cursor)?, None),
        None => {
            let Since { tick, shown, hint } = since()?;
            let (path, entity) = (request.path.clone(), request.entity.clone());
            (PageOf { since: tick.0, told: shown, until: now.0, skip: 0, path, entity }, hint)
        }
    };
    let until = Tick(place.until.min(now.0));
    let all = ledger.between(Tick(place.since), until).map_err(AskError::from)?;
    let mut all = net(all);
    if let Some(path) = &place.path {
        keep_under(ctx, path, &mut all)?;
    }
    if let Some(entity) = &place.entity {
        let entity = lookup::given(ctx, "entity", entity)?;
        About::read(ctx, entity)?.keep(ctx, &mut all)?;
    }
    let n_of = |kind: &str| all.iter().filter(|it| it.kind() == kind).count() as u64;
    let mut reply = ChangesReply {
        since: place.told.clone(),
        since_tick: place.since,
        until_tick: until.0,
        n_added: n_of("added"),
        n_changed: n_of("changed"),
        n_moved: n_of("moved"),
        n_removed: n_of("removed"),
        hint,
        ..ChangesReply::default()
    };
    let rest = all.get(place.skip.min(all.len())..).unwrap_or_default();
    let style = Style::agent(budget as usize, redact::clean);
    let mut room = ChangesThatFit::new(&reply, &place.after(limit as usize), style);
    for it in rest.iter().take(limit as usize) {
        let mut view = it.view(ctx)?;
        if !room.take(&view) {
            if !reply.changes.is_empty() {
                break;
            }
            // One change is always kept, whatever the budget.
            while view.lines.pop().is_some() && !room.take(&view) {
                view.n_more_lines += 1;
            }
        }
        reply.changes.push(view);
    }
    reply.n_left = (rest.len() - reply.changes.len()) as u64;
    reply.next_cursor = (reply.n_left > 0).then(|| place.after(reply.changes.len()));
    Ok(reply)
}

/// The combined effect of several commits on one document.
#[derive(Debug, Clone, PartialEq)]
struct Net {
    /// From the version before the first commit to that after the last, whose time it has.
    all: DocChange,
    n_commits: usize,
}

/// Returns the net change of each changed document, latest first.
fn net(changes: Vec<DocChange>) -> Vec<Net> {
    let mut by_uid: HashMap<String, Net> = HashMap::new();
    for it in changes {
        match by_uid.get_mut(&it.uid) {
            Some(net) => net.add(it),
            None => drop(by_uid.insert(it.uid.clone(), Net { all: it, n_commits: 1 })),
        }
    }
    let mut nets: Vec<Net> = by_uid.into_values().collect();
    nets.retain(|it| it.all.before != it.all.after);
    nets.sort_by(|a, b| (b.all.tick, a.path()).cmp(&(a.all.tick, b.path())));
    nets
}

impl Net {
    fn add(&mut self, later: DocChange) {
        let all = &mut self.all;
        // A document that went and came back has lost the version that it would be compared with.
        all.is_unseen |= later.is_unseen || (later.before.is_none() && all.before.is_some());
        (all.after, all.tick, all.at_ms) = (later.after, later.tick, later.at_ms);
        self.n_commits += 1;
        if all.after.is_none() || later.before.is_none() {
            (all.lines, all.n_more) = (later.lines, later.n_more);
        } else {
            all.n_more += later.n_more;
            for line in later.lines {
                let undoes = |it: &ChangedLine| {
                    it.gone != line.gone && (it.kind, &it.text) == (line.kind, &line.text)
                };
                match all.lines.iter().position(undoes) {
                    Some(at) => drop(all.lines.remove(at)),
                    None => all.lines.push(line),
                }
            }
        }
    }

    fn kind(&self) -> &'static str {
        match (&self.all.before, &self.all.after) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(before), Some(after)) if before.hash == after.hash => "moved",
            _ => "changed",
        }
    }

    fn path(&self) -> &str {
        self.all.after.as_ref().or(self.all.before.as_ref()).map_or("", |it| &it.path)
    }

    fn was_path(&self) -> Option<&str> {
        let before = self.all.before.as_ref().map(|it| it.path.as_str());
        before.filter(|it| *it != self.path())
    }

    /// Renders the change; lines from several commits get their current numbers.
    fn view(&self, ctx: &QueryContext<'_>) -> Result<ChangeView, AskError> {
        let kind = self.kind();
        let all = &self.all;
        let is_unseen = all.is_unseen && kind == "changed";
        let (mut lines, mut n_more) = (all.lines.clone(), all.n_more);
        if kind == "removed" || kind == "moved" || is_unseen {
            (lines, n_more) = (Vec::new(), 0);
        } else if self.n_commits > 1
            && let Some(present) = self.present(ctx)?
        {
            if kind == "added" {
                (lines, n_more) = first_lines(&present);
            } else {
                renumber(&mut lines, &present);
            }
        }
        let at = jiff::Timestamp::from_millisecond(all.at_ms).unwrap_or_default();
        let at = at.round(jiff::Unit::Second).unwrap_or(at);
        Ok(ChangeView {
            kind: kind.into(),
            path: self.path().into(),
            was_path: self.was_path().map(String::from),
            tick: all.tick.0,
            at: at.to_string(),
            lines: lines.into_iter().map(line_view).collect(),
            n_more_lines: u64::from(n_more),
            unwatched: all.is_unseen && kind != "added",
        })
    }

    fn present(&self, ctx: &QueryContext<'_>) -> Result<Option<Vec<Line>>, AskError> {
        let doc = ctx.snapshot.documents().with_uid(&self.all.uid)?;
        Ok(doc.map(|doc| ctx.snapshot.files().lines(doc)).transpose()?)
    }
}

/// Gives added lines their current numbers.
fn renumber(lines: &mut [ChangedLine], present: &[Line]) {
    for line in lines.iter_mut().filter(|it| !it.gone) {
        let now = present.iter().find(|it| (it.kind, &it.text) == (line.kind, &line.text));
        // The index has no line numbers for front matter.
        line.line = now.map(|it| it.number).filter(|it| *it > 0).unwrap_or(line.line);
    }
    lines.sort_by_key(|it| (it.line, !it.gone));
}

fn line_view(line: ChangedLine) -> ChangedLineView {
    let ChangedLine { gone, kind, line, text } = line;
    let line = (line > 0).then_some(line);
    ChangedLineView { gone, kind: kind.as_str().into(), line, text }
}

/// Keeps the changes of documents whose current or former path matches.
fn keep_under(ctx: &QueryContext<'_>, path: &str, all: &mut Vec<Net>) -> Result<(), AskError> {
    let paths = all.iter().flat_map(|it| [Some(it.path()), it.was_path()]).flatten();
    let paths: Vec<&str> = paths.collect();
    // Paths of deleted documents are not in the index, so the spelling is that of the changes.
    let under = Under::from(path);
    let documents = ctx.snapshot.documents();
    let mut meant = documents.fitting(&paths, &under)?;
    if meant.is_empty() {
        meant = documents.fitting(&paths, &Under::Folded(Box::new(under)))?;
    }
    let is_meant = |path: &str| meant.contains(path);
    all.retain(|it| is_meant(it.path()) || it.was_path().is_some_and(is_meant));
    Ok(())
}

/// Decides which changes concern an entity.
struct About {
    /// Its names, folded.
    names: Vec<String>,
    /// The entity's own documents.
    homes: FxHashSet<String>,
    entity: i64,
}

impl About {
    fn read(ctx: &QueryContext<'_>, entity: i64) -> Result<About, AskError> {
        let name = name_of(ctx, entity)?.unwrap_or_default();
        let mut names = entity::aliases(ctx, entity, &name)?;
        names.push(name);
        let names = names.iter().map(|it| fold(it)).filter(|it| !it.is_empty()).collect();
        let documents = ctx.snapshot.documents();
        let homes = documents.labels(documents.about(entity)?)?.into_values().map(|it| it.uid);
        Ok(About { names, homes: homes.collect(), entity })
    }

    fn keep(&self, ctx: &QueryContext<'_>, all: &mut Vec<Net>) -> Result<(), AskError> {
        // An added document is entirely new, but the journal keeps only its first lines; ask the
        // index instead.
        let mentions = |uid: &str| -> Result<bool, AskError> {
            let doc = ctx.snapshot.documents().with_uid(uid)?;
            let first = doc.map(|doc| ctx.snapshot.mentions().first_in(doc, self.entity));
            Ok(first.transpose()?.flatten().is_some())
        };
        let mut kept = Vec::new();
        for it in all.drain(..) {
            let DocChange { uid, before, lines, .. } = &it.all;
            let is_named = || lines.iter().any(|line| self.is_named_in(&line.text));
            if self.homes.contains(uid) || is_named() || (before.is_none() && mentions(uid)?) {
                kept.push(it);
            }
        }
        *all = kept;
        Ok(())
    }

    /// Returns whether one of the names occurs as a whole word.
    fn is_named_in(&self, text: &str) -> bool {
        let text = fold(text);
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_whole = |at: usize, name: &str| {
            let (before, after) =
                (text.get(..at).unwrap_or(""), text.get(at + name.len()..).unwrap_or(""));
            !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
        };
        self.names
            .iter()
            .any(|name| text.match_indices(name.as_str()).any(|(at, it)| is_whole(at, it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use index::store::{DocVersion, LineKind};

    /// Parses `tick uid before>after lines`, where a version is a path and a letter for its
    /// content: `a:x>a:y -one +two`.
    fn change(text: &str) -> DocChange {
        let mut words = text.split(' ');
        let mut word = || words.next().expect("a word");
        let (tick, uid, versions) = (word().parse().expect("a tick"), word().to_string(), word());
        let version = |it: &str| {
            let (path, hash) = it.split_once(':')?;
            Some(DocVersion { path: path.into(), hash: hash.into() })
        };
        let (before, after) = versions.split_once('>').expect("two versions");
        let line = |it: &str| ChangedLine {
            gone: it.starts_with('-'),
            kind: LineKind::Text,
            line: 1,
            text: it[1..].into(),
        };
        DocChange {
            tick: Tick(tick),
            uid,
            at_ms: 0,
            before: version(before),
            after: version(after),
            is_unseen: false,
            lines: words.map(line).collect(),
            n_more: 0,
        }
    }

    #[test]
    fn several_changes_of_a_document_are_one() {
        let rows: [(&[&str], &[&str]); 9] = [
            (&["1 u ->a:x +one"], &["added a +one"]),
            (&["1 u a:x>a:y -one +two", "2 u a:y>a:z -two +three"], &["changed a -one +three"]),
            (&["1 u a:x>a:y -one +two", "2 u a:y>a:x -two +one"], &[]),
            (&["1 u a:x>b:x", "2 u b:x>c:x"], &["moved a c"]),
            (&["1 u a:x>b:x", "2 u b:x>b:y +one"], &["changed a b +one"]),
            (&["1 u ->a:x +one", "2 u a:x>-"], &[]),
            (&["1 u a:x>-", "2 u ->b:x +one"], &["moved a b +one"]),
            (&["1 u a:x>-", "2 u ->a:y +one"], &["changed a +one unseen"]),
            (&["1 u a:x>-", "2 v ->b:y", "2 w ->a:y"], &["added a", "added b", "removed a"]),
        ];
        for (changes, expected) in rows {
            let all = net(changes.iter().map(|it| change(it)).collect());
            let shown = |it: &Net| {
                let mut words = vec![it.kind().to_string()];
                words.extend(it.was_path().map(String::from));
                words.push(it.path().into());
                let sign = |gone: bool| if gone { '-' } else { '+' };
                words.extend(it.all.lines.iter().map(|it| format!("{}{}", sign(it.gone), it.text)));
                words.extend((it.all.is_unseen && it.kind() == "changed").then(|| "unseen".into()));
                words.join(" ")
            };
            assert_eq!(all.iter().map(shown).collect::<Vec<_>>(), expected, "{changes:?}");
        }
    }
}
