//! Answer: renders the replies of the tools that agents use.
//!
//! In: replies. Out: text.

use std::fmt::Write;

use config::command::ProjectFlags;
use proto::shape::{
    AssociationView, EntityView, EvidenceView, Freshness, RelationView, SourceView, aside,
};
use proto::tool::core::{
    ConnectReply, EntityReply, ExplainReply, ExtractReply, HitView, HybridReply, IngestReply,
    LinkView, PassageReply, ReviewReply, TimelineView,
};

use super::{Style, clean, counted, for_shell, table};

/// Longest snippet of evidence shown in a list, in characters.
const MAX_EVIDENCE_CHARS: usize = 160;

/// Most things named that go with an entity.
const MAX_GOES_WITH: usize = 8;

/// Longest bar of a timeline, columns.
const MAX_BAR: u64 = 20;

/// Renders ranked hits, each with its place, score and snippet; optionally also with the components of its score.
pub fn query(reply: &HybridReply, style: Style, with_components: bool) -> String {
    let mut text = String::new();
    // Before the hits: these lines change how to read all of them.
    for note in [&reply.relaxed, &reply.hint].into_iter().flatten() {
        let _ = writeln!(text, "{}", style.yellow(&clean(note)));
    }
    if reply.nothing_relevant && !reply.chunks.is_empty() {
        text +=
            &style.yellow("nothing here has much to do with the question; the nearest passages:");
        text += "\n\n";
    }
    for (idx, hit) in reply.chunks.iter().enumerate() {
        let why = reply.explanations.get(idx).map(String::as_str).unwrap_or_default();
        write_hit(&mut text, hit, why, style);
        if with_components {
            let _ = writeln!(text, "  {}", style.dim(&clean(&sum(hit))));
        }
        text.push('\n');
    }
    if reply.chunks.is_empty() {
        let is_building = reply.freshness.building.is_some();
        text.push_str(if is_building { "nothing found yet\n" } else { "nothing found\n" });
    }
    if !reply.entities.is_empty() {
        let names: Vec<_> = reply.entities.iter().map(|it| named(it, style)).collect();
        let _ = writeln!(text, "{} {}", style.dim("entities:"), names.join(", "));
    }
    if let Some(truncated) = &reply.truncated {
        let _ = writeln!(text, "{}", style.yellow(&clean(&for_shell(truncated))));
    }
    text + &building(&reply.freshness, style)
}

fn write_hit(text: &mut String, hit: &HitView, why: &str, style: Style) {
    let place = style.cyan(&clean(&first_place(hit)));
    let section =
        if hit.section.is_empty() { String::new() } else { format!("  {}", clean(&hit.section)) };
    let _ = writeln!(
        text,
        "{place}{}  {}",
        style.bold(&section),
        style.dim(&format!("{:.3}{}", hit.score, if hit.weak { "  weak" } else { "" }))
    );
    for line in hit.snippet.lines().filter(|line| !line.trim().is_empty()) {
        let _ = writeln!(text, "  {}", clean(line));
    }
    if let Some(origin) = hit.origin.words() {
        let _ = writeln!(text, "  {}", style.dim(&clean(&origin)));
    }
    if let Some(also) = &hit.also_in {
        let places = also.places.iter().map(|it| style.cyan(&clean(&it.place())));
        let places = places.collect::<Vec<_>>().join(", ");
        let rest = also.n.saturating_sub(also.places.len() as u64);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let _ = writeln!(text, "  {} {places}{}", style.dim("also in"), style.dim(&rest));
    }
    if !why.is_empty() {
        let _ = writeln!(text, "  {}", style.dim(&clean(why)));
    }
}

/// `text 0.410 + vector 0.390 - same_document 0.050 = 0.750`, the largest first.
fn sum(hit: &HitView) -> String {
    let mut parts: Vec<_> = hit.components.iter().filter(|(_, part)| **part != 0.0).collect();
    parts.sort_by(|left, right| right.1.total_cmp(left.1));
    let mut text = String::new();
    for (at, (name, part)) in parts.iter().enumerate() {
        text += match (at, **part < 0.0) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        };
        let _ = write!(text, "{name} {:.3}", part.abs());
    }
    // A question without words has no scores.
    if parts.is_empty() { "not scored".into() } else { format!("{text} = {:.3}", hit.score) }
}

/// Renders a passage: its place, its text verbatim, where to continue.
pub fn passage(reply: &PassageReply, style: Style) -> String {
    let section = match reply.section.as_str() {
        "" => String::new(),
        section => format!("  {}", clean(section)),
    };
    let [first, last] = reply.passages;
    let which = if first == last { format!("{first}") } else { format!("{first}-{last}") };
    let which = style.dim(&format!("passage {which} of {}", reply.n_passages));
    let mut text =
        format!("{}{}  {which}\n\n", style.cyan(&clean(&reply.place())), style.bold(&section));
    for line in reply.text.lines() {
        let _ = writeln!(text, "{}", clean(line));
    }
    if let Some(truncated) = &reply.truncated {
        let _ = writeln!(text, "{}", style.yellow(&clean(&for_shell(truncated))));
    }
    let on = [("before", &reply.before), ("after", &reply.after)];
    let on = on
        .into_iter()
        .filter_map(|(side, handle)| Some(format!("{side}: {}", clean(handle.as_ref()?))));
    let on: Vec<String> = on.collect();
    if !on.is_empty() {
        let _ = writeln!(text, "\n{}", style.dim(&on.join("  ")));
    }
    text + &building(&reply.freshness, style)
}

/// Renders entities, one per row.
pub fn entities(reply: &EntityReply, style: Style) -> String {
    if reply.entities.is_empty() {
        return "nothing found\n".to_string() + &building(&reply.freshness, style);
    }
    let row = |it: &EntityView| {
        let score = it.score.map(|score| format!("{score:.2}")).unwrap_or_default();
        // Only names that several of these entities have need a path to tell them apart.
        let is_shared = reply.entities.iter().filter(|other| other.name == it.name).count() > 1;
        let path = it.path.as_ref().filter(|_| is_shared).map(|path| format!(" ({path})"));
        vec![
            clean(&format!("{}{}", it.name, path.unwrap_or_default())).into_owned(),
            it.entity_type.clone(),
            score,
            it.id.to_string(),
            joined(&it.aliases),
        ]
    };
    let rows = reply.entities.iter().map(row).collect();
    table(style, &["NAME", "TYPE", "SCORE", "ID", "ALIASES"], rows)
        + &building(&reply.freshness, style)
}

/// Renders everything known about one entity.
pub fn explain(reply: &ExplainReply, flags: &ProjectFlags, style: Style) -> String {
    let mut text = format!("{}\n", named(&reply.entity, style));
    if let Some(definition) = &reply.definition {
        let by = style.dim(&format!("({})", clean(&definition.by)));
        let place = source_place(&definition.source, style);
        let _ = writeln!(text, "  {}\n  {place} {by}", clean(&definition.source.text));
    }
    if !reply.entity.aliases.is_empty() {
        let _ = writeln!(text, "  {} {}", style.dim("also:"), joined(&reply.entity.aliases));
    }
    for other in &reply.same_name {
        let path = other.path.as_deref().map(clean).unwrap_or_default();
        let about = aside(&[&clean(&other.entity_type), &path]);
        let command = format!("kgctl explain '#{}'", other.id);
        let line = format!("{}{about}: {}", clean(&other.name), flags.command(&command));
        let _ = writeln!(text, "  {} {line}", style.dim("also has this name:"));
    }
    if let Some(home) = &reply.home {
        let _ = writeln!(text, "  {} {}", style.dim("note:"), style.cyan(&clean(home)));
    }
    if !reply.facts.is_empty() {
        let _ = writeln!(text, "\n{}", style.bold("Facts"));
    }
    for it in &reply.facts {
        let _ = writeln!(text, "  {}  {}", clean(&it.text), source_place(it, style));
    }
    write_relations(&mut text, &reply.relations, style);
    if !reply.goes_with.is_empty() {
        let one = |it: &AssociationView| format!("{} × {}", clean(&it.entity.name), it.n_together);
        let shown: Vec<_> = reply.goes_with.iter().take(MAX_GOES_WITH).map(one).collect();
        let _ = writeln!(text, "\n{}  {}", style.bold("Goes with"), shown.join(", "));
    }
    let mentions = counted(reply.n_mentions, "mention");
    let documents = counted(reply.n_documents, "document");
    let _ = writeln!(
        text,
        "\n{} {}",
        style.bold("Sources"),
        style.dim(&format!("{mentions} in {documents}"))
    );
    for it in &reply.sources {
        let place = source_place(&it.source, style);
        let _ = writeln!(
            text,
            "  {place}  {}",
            style.dim(&format!("{} × {:.2}", it.n_mentions, it.confidence))
        );
        let _ = writeln!(text, "    {}", shortened(&it.source.text));
    }
    if let Some(timeline) = &reply.timeline {
        write_timeline(&mut text, timeline, style);
    }
    if !reply.why.is_empty() {
        let _ = writeln!(text, "\n{}", style.bold("Why these names"));
        text.push_str(&why(&reply.why, style));
    }
    text + &building(&reply.freshness, style)
}

/// Writes relations by type; the type with the most certain one first.
fn write_relations(text: &mut String, relations: &[RelationView], style: Style) {
    // The relations come with the most certain first, so this keeps that order for the types.
    let mut types: Vec<&str> = Vec::new();
    for it in relations.iter().filter(|it| !it.predicate.is_empty()) {
        if !types.contains(&it.predicate.as_str()) {
            types.push(&it.predicate);
        }
    }
    for predicate in types {
        let _ = writeln!(text, "\n{}", style.bold(&style.green(&clean(predicate))));
        let of_type = relations.iter().filter(|it| it.predicate == predicate);
        of_type.for_each(|it| write_relation(text, it, style));
    }
}

fn write_relation(text: &mut String, it: &RelationView, style: Style) {
    let [subject, object] = it.ends();
    let (subject, object) = (clean(&subject), clean(&object));
    let hop = if it.hop > 1 { format!(", hop {}", it.hop) } else { String::new() };
    let facts = format!("{:.2}{hop}", it.confidence);
    let _ = writeln!(text, "  {subject} {} {object}  {}", style.green("→"), style.dim(&facts));
    write_evidence(text, it, style);
}

/// Renders how two things are connected.
pub fn connect(reply: &ConnectReply, style: Style) -> String {
    let ends = [&reply.a, &reply.b].map(|end| style.bold(&clean(&end.name)));
    let found = match reply.paths.len() as u64 {
        0 => format!("no path within {}", counted(u64::from(reply.max_hops), "hop")),
        n => counted(n, "path"),
    };
    let mut text = format!("{}: {found}\n", ends.join(" → "));
    if let Some(truncated) = &reply.truncated {
        let _ = writeln!(text, "{}", style.yellow(&clean(truncated)));
    }
    for (idx, path) in reply.paths.iter().enumerate() {
        let _ = writeln!(text, "\n{}. {}", idx + 1, style.dim(&format!("{:.2}", path.score)));
        path.steps.iter().for_each(|it| write_step(&mut text, it, style));
    }
    if !reply.together.is_empty() {
        let _ = writeln!(text, "\n{}", style.bold("Mentioned together"));
        for it in &reply.together {
            let place = source_place(&it.source, style);
            let words = shortened(&it.source.text);
            let _ = writeln!(text, "  {place}  {words}  {}", style.dim(&clean(&it.date)));
        }
    }
    if !reply.near.is_empty() {
        let _ = writeln!(text, "\n{}", style.bold("Related to each"));
        reply.near.iter().for_each(|it| write_step(&mut text, it, style));
    }
    text + &building(&reply.freshness, style)
}

fn write_step(text: &mut String, it: &RelationView, style: Style) {
    let words = style.green(&clean(&it.words()));
    let [subject, object] = it.ends();
    let (subject, object) = (clean(&subject), clean(&object));
    let _ = writeln!(
        text,
        "  {subject} {words} {object}  {}",
        style.dim(&format!("{:.2}", it.confidence))
    );
    write_evidence(text, it, style);
}

/// Writes the best evidence of a relation, and all that contradicts it.
fn write_evidence(text: &mut String, it: &RelationView, style: Style) {
    if let Some(best) = it.evidence.first() {
        let _ = writeln!(text, "    {}", evidence(best, style));
    }
    for it in it.evidence.iter().filter(|it| it.pattern.starts_with("against ")) {
        let _ = writeln!(text, "    {} {}", style.yellow("but"), evidence(it, style));
    }
}

/// Writes first and last mention, then a bar for each month or year.
fn write_timeline(text: &mut String, timeline: &TimelineView, style: Style) {
    let _ = writeln!(text, "\n{}", style.bold("Timeline"));
    let ends = [("first", &timeline.first), ("last", &timeline.last)];
    for (which, it) in ends {
        let (which, place) = (style.dim(which), style.cyan(&clean(&it.place.place())));
        let _ = writeln!(text, "  {which} {}  {place}", clean(&it.day));
    }
    if timeline.n_earlier > 0 {
        let earlier = format!("{} before", counted(timeline.n_earlier, "mention"));
        let _ = writeln!(text, "  {}", style.dim(&earlier));
    }
    let most = timeline.counts.iter().map(|it| it.n_mentions).max().unwrap_or(0).max(1);
    for it in &timeline.counts {
        // Rounded up, so that a single mention still gets a bar.
        let n = (it.n_mentions * MAX_BAR).div_ceil(most) as usize;
        let (mentions, documents) =
            (counted(it.n_mentions, "mention"), counted(it.n_documents, "document"));
        let facts = style.dim(&format!("{mentions} in {documents}"));
        let _ = writeln!(text, "  {}  {} {facts}", clean(&it.period), style.green(&"▪".repeat(n)));
    }
}

fn evidence(it: &EvidenceView, style: Style) -> String {
    let place = source_place(&it.source, style);
    let date = it.date.as_ref().map(|date| format!(", {}", clean(date)));
    let how = format!("[{}{}]", clean(&it.pattern), date.unwrap_or_default());
    format!("{place}  {}  {}", shortened(&it.source.text), style.dim(&how))
}

fn why(links: &[LinkView], style: Style) -> String {
    let row = |it: &LinkView| {
        let features: Vec<_> =
            it.features.iter().map(|(name, value)| format!("{name} {value:.2}")).collect();
        vec![
            clean(&it.surface).into_owned(),
            it.decision.clone(),
            format!("{:.2}", it.score),
            features.join(", "),
        ]
    };
    table(style, &["NAME", "DECISION", "SCORE", "FEATURES"], links.iter().map(row).collect())
}

/// Renders the result of `ingest`.
pub fn ingest(reply: &IngestReply, style: Style) -> String {
    let mut text = format!("{} ingested, {} skipped\n", reply.ingested, reply.skipped);
    for error in &reply.errors {
        let place = format!("{} ({})", clean(&error.path), clean(&error.stage));
        let _ = writeln!(
            text,
            "{} {}: {}",
            style.red("failed"),
            style.cyan(&place),
            clean(&error.reason)
        );
    }
    text
}

/// Renders the changes by `extract`.
pub fn extract(reply: &ExtractReply) -> String {
    let ExtractReply { mentions, entities_new, relations, .. } = reply;
    if (*mentions, *entities_new, *relations) == (0, 0, 0) {
        return "nothing changed\n".to_string();
    }
    format!("mentions {mentions:+}, new entities {entities_new}, relations {relations:+}\n")
}

/// Renders doubtful readings, each with the key to decide it.
pub fn review(reply: &ReviewReply, style: Style) -> String {
    let mut text = String::new();
    if reply.decided > 0 {
        let _ = writeln!(text, "{} written", counted(reply.decided, "decision"));
    }
    for it in &reply.items {
        let confidence = style.yellow(&format!("{:.2}", it.confidence));
        let _ = writeln!(text, "{confidence}  {}  {}", clean(&it.claim), style.dim(&it.kind));
        if let Some(best) = &it.evidence {
            let _ = writeln!(text, "      {}", evidence(best, style));
        }
        if !it.features.is_empty() {
            let features: Vec<_> =
                it.features.iter().map(|(name, value)| format!("{name} {value:.2}")).collect();
            let _ = writeln!(text, "      {}", style.dim(&clean(&features.join("  "))));
        }
        let _ = writeln!(text, "      {}", style.dim(&clean(&it.key)));
    }
    if text.is_empty() {
        text.push_str("nothing doubtful\n");
    }
    text
}

fn named(it: &EntityView, style: Style) -> String {
    let kind = aside(&[&clean(&it.entity_type)]);
    style.bold(&clean(&it.name)) + &style.dim(&kind)
}

fn joined(names: &[String]) -> String {
    clean(&names.join(", ")).into_owned()
}

/// Returns the start of a hit, in the form that editors and viewers accept.
fn first_place(hit: &HitView) -> String {
    let page = hit.pages.map(|[first, _]| first);
    proto::shape::place(&hit.path, [hit.lines[0]; 2], [page; 2])
}

fn source_place(source: &SourceView, style: Style) -> String {
    style.cyan(&clean(&source.place()))
}

fn shortened(text: &str) -> String {
    let text = clean(text.trim());
    match text.char_indices().nth(MAX_EVIDENCE_CHARS) {
        Some((end, _)) => format!("“{}…”", &text[..end]),
        None => format!("“{text}”"),
    }
}

/// Returns a line with the progress of the index; empty when it is complete.
fn building(freshness: &Freshness, style: Style) -> String {
    let line =
        |building: &String| style.yellow(&format!("still building: {}", clean(building))) + "\n";
    freshness.building.as_ref().map(line).unwrap_or_default()
}

#[cfg(test)]
mod tests;
