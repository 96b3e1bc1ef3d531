//! The text form of the core tools' replies: hits, passages, entities, explanations, status; `asked.rs`: answers,
//! `changes.rs`: changes, `remember.rs`: what was stored.

mod asked;
mod changes;
mod remember;

use proto::shape::{
    AlsoIn, AssociationView, EntityView, EvidenceView, Id, RelationView, SourceView, aside,
};
use proto::tool::core::{
    ConnectReply, EntityReply, ExplainReply, ExtractReply, HitView, HybridReply, IngestReply,
    NotReadView, PassageReply, PathView, ReviewReply, StatusReply, TimelineView,
};

use super::clean::{indented, one_line, stored_line};
use super::sheet::Sheet;
use super::{count, entity, score};

pub use self::asked::answered;
pub(crate) use self::asked::statement;
pub use self::changes::{ChangesThatFit, changes};
pub use self::remember::remembered;

/// Entities named under the hits of a question.
const MAX_ENTITIES: usize = 8;

/// `(a project of twenty letters, tick 12345)`.
const USUAL_FOOTER_CHARS: usize = 36;

/// Months or years shown of a timeline, the latest.
const MAX_PERIODS: usize = 6;

/// Most things named that go with an entity.
const MAX_GOES_WITH: usize = 8;

/// The hits, best first, with the entities of the question and where to go on.
pub fn hybrid(reply: &HybridReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let next = before_hits(reply, sheet);
    sheet.items(reply.chunks.iter().enumerate().map(|(idx, chunk)| hit(idx + 1, chunk)));
    if let Some(entities) = entity_names(reply) {
        sheet.line(&entities);
    }
    if let Some(next) = &next {
        sheet.reserved(next);
    }
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    sheet.finish()
}

/// Adds the lines above the hits; returns the line with the cursor, for which room is kept.
fn before_hits(reply: &HybridReply, sheet: &mut Sheet) -> Option<String> {
    if reply.chunks.is_empty() {
        sheet.line("nothing found");
    }
    for remark in [&reply.relaxed, &reply.hint].into_iter().flatten() {
        sheet.line(&format!("({})", one_line(remark)));
    }
    if reply.nothing_relevant && !reply.chunks.is_empty() {
        sheet.line("nothing here has much to do with the question; the nearest passages:");
    }
    let next = reply.next_cursor.as_ref();
    let next = next.map(|it| format!("more: the same question with cursor {}", one_line(it)));
    if let Some(next) = &next {
        sheet.reserve(next);
    }
    next
}

/// How many hits the text form shows, for a caller that shortens them until enough fit.
pub struct HitsThatFit {
    sheet: Sheet,
    /// Characters of each hit as text.
    n_chars: Vec<usize>,
}

impl HitsThatFit {
    /// Measures each hit once.
    pub fn new(reply: &HybridReply, max_chars: usize) -> Self {
        // Project and tick are not known yet: reserve the usual length.
        let mut sheet = Sheet::with_footer(max_chars, " ".repeat(USUAL_FOOTER_CHARS));
        before_hits(reply, &mut sheet);
        let hits = reply.chunks.iter().enumerate();
        let n_chars = hits.map(|(idx, chunk)| hit(idx + 1, chunk).chars().count()).collect();
        HitsThatFit { sheet, n_chars }
    }

    /// Measures one hit again, after it was shortened.
    pub fn update(&mut self, idx: usize, chunk: &HitView) {
        if let Some(n_chars) = self.n_chars.get_mut(idx) {
            *n_chars = hit(idx + 1, chunk).chars().count();
        }
    }

    /// How many hits are shown.
    pub fn count(&self) -> usize {
        self.sheet.n_that_fit(&self.n_chars)
    }
}

/// Formats a hit: `1. path:12-18 § Deploy › Rollback (score .83)` and its snippet. The structured form has the
/// components of the score.
fn hit(rank: usize, hit: &HitView) -> String {
    let mut text = format!("{rank}. {}", one_line(&hit.place()));
    if !hit.section.is_empty() {
        text += &format!(" § {}", stored_line(&hit.section));
    }
    // What only had to fit conditions has no score.
    text += &match (hit.score == 0.0, hit.weak) {
        (true, false) => "\n".to_string(),
        (true, true) => " (weak)\n".to_string(),
        (false, false) => format!(" (score {})\n", score(hit.score)),
        (false, true) => format!(" (score {}; weak)\n", score(hit.score)),
    };
    text += &indented(&hit.snippet, "   ");
    text.truncate(text.trim_end().len());
    if let Some(origin) = hit.origin.words() {
        text += &format!("\n   {}", one_line(&origin));
    }
    if let Some(also) = &hit.also_in {
        text += &format!("\n   also in {}", further(also));
    }
    text
}

/// The place, the text, and the passages before and after.
pub fn passage(reply: &PassageReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let mut head = one_line(&reply.place()).into_owned();
    if !reply.section.is_empty() {
        head += &format!(" § {}", stored_line(&reply.section));
    }
    let [first, last] = reply.passages;
    let which = if first == last { format!("{first}") } else { format!("{first}-{last}") };
    sheet.line(&format!("{head} (passage {which} of {})", reply.n_passages));
    sheet.cut(&indented(&reply.text, ""));
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    let on = [("before", &reply.before), ("after", &reply.after)];
    let on: Vec<_> = on
        .into_iter()
        .filter_map(|(side, handle)| Some(format!("{side}: {}", one_line(handle.as_ref()?))))
        .collect();
    if !on.is_empty() {
        sheet.line(&on.join("  "));
    }
    sheet.finish()
}

/// `a.md:12, b.md:3 and 48 more`.
fn further(also: &AlsoIn) -> String {
    let places: Vec<_> = also.places.iter().map(|it| one_line(&it.place()).into_owned()).collect();
    let rest = also.n.saturating_sub(also.places.len() as u64);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    places.join(", ") + &rest
}

fn entity_names(reply: &HybridReply) -> Option<String> {
    let shown = reply.entities.iter().take(MAX_ENTITIES);
    let names: Vec<_> = shown
        .map(|it| format!("{}{}", stored_line(&it.name), aside(&[&one_line(&it.entity_type)])))
        .collect();
    let rest = reply.entities.len().saturating_sub(MAX_ENTITIES);
    let rest = if rest > 0 { format!(", … {rest} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("entities: {}{rest}", names.join(", ")))
}

pub fn entities(reply: &EntityReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    if let Some(hint) = &reply.hint {
        sheet.line(&format!("({})", one_line(hint)));
    } else if reply.entities.is_empty() {
        sheet.line("nothing goes by that name");
    }
    sheet.items(reply.entities.iter().enumerate().map(|(idx, found)| {
        let score = found.score.map(|it| format!("  {}", score(it))).unwrap_or_default();
        format!("{}. {}{score}", idx + 1, entity(found))
    }));
    sheet.finish()
}

pub fn explain(reply: &ExplainReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    sheet.line(&entity(&reply.entity));
    if let Some(found) = &reply.definition {
        let (words, place) = (stored_line(&found.source.text), found.source.place());
        sheet.cut(&format!("  “{words}” ({})", one_line(&place)));
    }
    if !reply.same_name.is_empty() {
        let others: Vec<_> = reply.same_name.iter().map(entity).collect();
        sheet.line(&format!("  others of this name: {}", others.join("; ")));
    }
    if let Some(home) = &reply.home {
        sheet.line(&format!("  home: {}", one_line(home)));
    }
    if !reply.facts.is_empty() {
        sheet.line("facts:");
        let fact =
            |it: &SourceView| format!("  {} ({})", stored_line(&it.text), one_line(&it.place()));
        sheet.items(reply.facts.iter().map(fact));
    }
    if !reply.relations.is_empty() {
        sheet.line("relations:");
        sheet.items(reply.relations.iter().map(|it| relation(it, &reply.entity)));
    }
    if !reply.goes_with.is_empty() {
        let one =
            |it: &AssociationView| format!("{} × {}", stored_line(&it.entity.name), it.n_together);
        let shown: Vec<_> = reply.goes_with.iter().take(MAX_GOES_WITH).map(one).collect();
        sheet.line(&format!("goes with: {}", shown.join(", ")));
    }
    if !reply.sources.is_empty() {
        let documents = count(reply.n_documents, "document");
        sheet.line(&format!("sources ({} in {documents}):", count(reply.n_mentions, "mention")));
        sheet.items(reply.sources.iter().map(|it| {
            let place = it.source.place();
            let (place, words) = (one_line(&place), stored_line(&it.source.text));
            format!("  {place}  {words}  ({} × {})", it.n_mentions, score(it.confidence))
        }));
    }
    if let Some(found) = &reply.timeline {
        sheet.line(&timeline(found));
    }
    if !reply.why.is_empty() {
        sheet.line("why:");
        sheet.items(reply.why.iter().map(|it| {
            let features =
                it.features.iter().map(|(name, value)| format!("{name} {}", score(*value)));
            let features: Vec<_> = features.collect();
            let (surface, decision) = (one_line(&it.surface), one_line(&it.decision));
            format!("  {surface}: {decision}, score {} ({})", score(it.score), features.join(" "))
        }));
    }
    sheet.finish()
}

/// `mentioned 2024-03-01 to 2025-02-11: … 2024-12 × 3, 2025-02 × 1`.
fn timeline(timeline: &TimelineView) -> String {
    let skipped = timeline.counts.len().saturating_sub(MAX_PERIODS);
    let counts = timeline.counts.iter().skip(skipped);
    let counts: Vec<_> =
        counts.map(|it| format!("{} × {}", one_line(&it.period), it.n_mentions)).collect();
    let cut = if skipped > 0 || timeline.n_earlier > 0 { "… " } else { "" };
    let (first, last) = (one_line(&timeline.first.day), one_line(&timeline.last.day));
    format!("mentioned {first} to {last}: {cut}{}", counts.join(", "))
}

/// `→ depends_on Key Store  (.81, runbooks/x.md:12, 2024-03-01)`; both ends are named when it is not the
/// entity's own.
fn relation(relation: &RelationView, about: &EntityView) -> String {
    let [subject, object] = relation.ends();
    let (subject, object) = (one_line(&subject), one_line(&object));
    let predicate = one_line(&relation.predicate);
    // Daemons before version 0.2 sent no ids.
    let is_about = |id: Option<Id>, name: &str| match id {
        Some(id) => id == about.id,
        None => name == about.name,
    };
    let stated = if is_about(relation.subject_id, &relation.subject) {
        format!("→ {predicate} {object}")
    } else if is_about(relation.object_id, &relation.object) {
        format!("← {predicate} {subject}")
    } else {
        format!("{subject} → {predicate} {object}")
    };
    let place = relation.evidence.first().map(|it| {
        let date = it.date.as_ref().map(|date| format!(", {}", one_line(date)));
        format!(", {}{}", one_line(&it.source.place()), date.unwrap_or_default())
    });
    let place = place.unwrap_or_default();
    let denial = relation.evidence.iter().find(|it| it.pattern.starts_with("against "));
    let denial = denial.map(|it| format!(", contradicted by {}", one_line(&it.source.place())));
    format!("  {stated}  ({}{place}{})", score(relation.confidence), denial.unwrap_or_default())
}

/// `Alpha → Gamma: 2 paths`, then each path with its steps; what is known where there is none.
pub fn connect(reply: &ConnectReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let [a, b] = [&reply.a, &reply.b].map(|end| stored_line(&end.name));
    match reply.paths.len() {
        0 => {
            let hops = count(u64::from(reply.max_hops), "hop");
            sheet.line(&format!("{a} → {b}: no path within {hops}"))
        }
        n => sheet.line(&format!("{a} → {b}: {}", count(n as u64, "path"))),
    };
    if let Some(truncated) = &reply.truncated {
        sheet.line(&format!("({})", one_line(truncated)));
    }
    sheet.items(reply.paths.iter().enumerate().map(|(idx, it)| path(idx + 1, it)));
    if !reply.together.is_empty() {
        sheet.line("mentioned together, which is much weaker than a relation:");
        sheet.items(reply.together.iter().map(|it| {
            let place = it.source.place();
            let (place, date) = (one_line(&place), one_line(&it.date));
            format!("  “{}” ({place}, {date})", stored_line(&it.source.text))
        }));
    }
    if !reply.near.is_empty() {
        sheet.line("related to each:");
        sheet.items(reply.near.iter().map(|it| format!("  {}", step(it, "  "))));
    }
    sheet.finish()
}

/// The steps of a path, one a line; `also` before further relations of the same step.
fn path(number: usize, path: &PathView) -> String {
    let mut hop = 0;
    let mut lines = Vec::new();
    for it in &path.steps {
        let also = if it.hop == hop { "also: " } else { "" };
        hop = it.hop;
        lines.push(format!("{also}{}", step(it, "   ")));
    }
    format!("{number}. {}  ({})", lines.join("\n   "), score(path.score))
}

/// `Alpha uses Beta — “Alpha sends its events to Beta.” (docs/alpha.md:12, 2026-03-01)`, and what contradicts it.
fn step(relation: &RelationView, indent: &str) -> String {
    let [subject, object] = relation.ends();
    let (subject, object) = (one_line(&subject), one_line(&object));
    let mut text = format!("{subject} {} {object}", one_line(&relation.words()));
    let is_against = |it: &&EvidenceView| it.pattern.starts_with("against ");
    if let Some(best) = relation.evidence.iter().find(|it| !is_against(it)) {
        text += &format!(" — {}", quoted(best));
    }
    if let Some(denial) = relation.evidence.iter().find(is_against) {
        text += &format!("\n{indent}  but: {}", quoted(denial));
    }
    text
}

fn quoted(evidence: &EvidenceView) -> String {
    let place = evidence.source.place();
    let date = evidence.date.as_ref().map(|date| format!(", {}", one_line(date)));
    let (words, date) = (stored_line(&evidence.source.text), date.unwrap_or_default());
    format!("“{}” ({}{date})", words.trim(), one_line(&place))
}

pub fn ingest(reply: &IngestReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let failed = reply.errors.len();
    sheet.line(&format!("ingested {}, skipped {}, failed {failed}", reply.ingested, reply.skipped));
    sheet.items(reply.errors.iter().map(|it| {
        format!("  {}: {} ({})", one_line(&it.path), one_line(&it.reason), one_line(&it.stage))
    }));
    sheet.finish()
}

pub fn extract(reply: &ExtractReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (mentions, entities) = (reply.mentions, reply.entities_new);
    sheet.line(&format!(
        "mentions {mentions:+}, entities {entities:+}, relations {:+}",
        reply.relations
    ));
    sheet.finish()
}

pub fn review(reply: &ReviewReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
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
    sheet.finish()
}

/// Adds what is not read: with as many names as there is room for, and a count of what has none.
fn not_read<'r>(rows: impl Iterator<Item = &'r NotReadView>, sheet: &mut Sheet) {
    sheet.reserve("not read: 9999999 more, for 9999 other reasons");
    let (mut n_left_out, mut n_rows) = (0, 0);
    for it in rows {
        let mut shown = it.clone();
        loop {
            let named = shown.named(|path| one_line(path).into_owned());
            let line = format!("not read: {} ({}): {named}", it.count, one_line(&it.why()));
            if n_rows == 0 && sheet.line(&line) {
                break;
            }
            if n_rows > 0 || shown.paths.is_empty() {
                (n_left_out, n_rows) = (n_left_out + it.count, n_rows + 1);
                break;
            }
            shown.paths.truncate(shown.paths.len() / 2);
        }
    }
    if n_rows > 0 {
        sheet.reserved(&format!("not read: {n_left_out} more, for {n_rows} other reasons"));
    }
}

pub fn status(reply: &StatusReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (known, indexed) = (reply.progress.known, reply.progress.indexed);
    let settled = if reply.settled { "settled" } else { "not settled" };
    sheet.line(&format!("{settled}: indexed {indexed} of {known}, {} clients", reply.clients));
    sheet.line(&format!("{} (kgd {}, pid {})", one_line(&reply.root), reply.version, reply.pid));
    if let Some(hub) = &reply.hub {
        sheet.line(&format!("hub {}", one_line(&hub.describe())));
    }
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
    not_read(reply.survey.iter().flat_map(|it| &it.not_read), sheet);
    let is_cut = |it: &NotReadView| it.count > it.paths.len() as u64;
    if reply.survey.as_ref().is_some_and(|it| it.not_read.iter().any(is_cut)) {
        sheet.line("not read, each by name: `not_read: true`");
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
        sheet.line(&format!("scrub: {}", scrub.describe()));
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
    sheet.finish()
}
