//! Found: the hits for a question, and what the question asks for.
//!
//! In: a question with its filters. Out: hits with their full text, the entities that the question
//! names, and a measure of a text's relevance to it.
//! Invariant: hits are in the order of `hybrid_query`.

use config::settings::Floor;
use proto::error::ErrorView;
use proto::shape::SourceView;
use proto::tool::core::{Ask, HybridQuery};

use super::HALF;
use super::choose::Share;
use super::dated::{Dated, Days};
use crate::graph::entity::{aliases, entity_view};
use crate::kb::{EntryRow, Library};
use crate::plan::question::Question;
use crate::plan::when::When;
use crate::present;
use crate::present::floor::of_sentences;
use crate::quote::matched::matched;
use crate::quote::source::Source;
use crate::recall::naming::Seed;
use crate::recall::share_of_worth;
use crate::relevance::{self, Signals};
use crate::{AskError, QueryContext, plan};

/// Budget that gives each hit its longest snippet, and the least budget per hit, characters.
const ROOM: u32 = 20_000;
const LEAST_ROOM: u32 = 400;

/// A question with its filters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search<'a> {
    pub query: &'a str,
    pub path: Option<&'a str>,
    pub after: Option<&'a str>,
    pub before: Option<&'a str>,
    pub about: Option<i64>,
    /// If given, only these documents may answer, as ascending row ids.
    pub among: Option<Vec<i64>>,
    /// Most hits.
    pub depth: usize,
}

impl<'a> Search<'a> {
    pub(super) fn of(request: &'a Ask) -> Self {
        Search {
            query: &request.query,
            path: request.path.as_deref(),
            after: request.after.as_deref(),
            before: request.before.as_deref(),
            ..Search::default()
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    pub hits: Vec<Hit>,
    /// Entities that the question names, surest first.
    pub named: Vec<i64>,
    pub nothing_relevant: bool,
    pub hint: Option<String>,
    /// How the question was interpreted, where that differs from its wording.
    pub readings: Vec<String>,
    pub query: String,
    pub asked: Asked,
}

/// The words and names of a question, by which texts are judged.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(super) words: Vec<String>,
    worth: Vec<f32>,
    /// Name words that the folder lacks, one bit each.
    lacking: u64,
    names: Vec<Seed>,
    floor: Floor,
    /// The dates that the question names.
    pub(super) when: When,
}

impl Asked {
    /// Returns how relevant a text is to the question, 0 to 1; `near` is its nearness.
    pub(super) fn relevance(&self, found: u64, near: Option<f32>) -> f32 {
        let (words, lacks_name) = (share_of_worth(&self.worth, found), self.lacking & !found != 0);
        relevance::relevance(&of_sentences(self.floor), Signals { words, near, lacks_name })
    }

    /// Returns the share of the question's words that were found, 0 to 1; rare words weigh more.
    pub(super) fn share(&self, found: u64) -> f32 {
        share_of_worth(&self.worth, found)
    }

    /// Returns the share of the question's words that a hit contains.
    pub(super) fn share_of(&self, hit: &Hit) -> f32 {
        let texts = [&hit.source.path, &hit.section, &hit.source.text];
        self.share(texts.iter().fold(0, |found, text| found | matched(text, &self.words)))
    }

    /// Returns whether a relevance reaches the floor.
    pub(super) fn fits(&self, relevance: f32) -> bool {
        relevance >= self.floor.relevance
    }
}

/// One hit.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    /// Row id of the chunk; 0 for a whole document that was added.
    pub chunk: i64,
    pub doc: i64,
    pub relevance: f32,
    /// The best excerpt and its place.
    pub source: SourceView,
    /// The place of the whole chunk, with all its lines.
    pub at: String,
    pub section: String,
    pub dated: Dated,
    pub is_weak: bool,
    /// Whether the chunk is a procedure.
    pub is_procedure: bool,
}

/// Searches in the same way as `hybrid_query`.
pub(crate) fn search(ctx: &QueryContext<'_>, wanted: Search<'_>) -> Result<Found, ErrorView> {
    let request = HybridQuery {
        q: wanted.query.to_string(),
        k: Some(wanted.depth as u32),
        path: wanted.path.map(String::from),
        after: wanted.after.map(String::from),
        before: wanted.before.map(String::from),
        entity: wanted.about.map(|it| it.to_string()),
        max_chars: Some(ROOM.max(wanted.depth as u32 * LEAST_ROOM)),
        structured_chars: Some(0),
        ..HybridQuery::default()
    };
    let plan = plan::plan_among(ctx, &request, wanted.among)?;
    if plan.question.is_empty() {
        let reply = present::nothing_asked(&plan);
        return Ok(Found { hint: reply.hint, ..Found::default() });
    }
    let (recalled, expanded, ranked) = crate::found(ctx, &plan)?;
    let mut seeds = recalled.seeds.clone();
    seeds.sort_by(|a, b| b.link.total_cmp(&a.link).then(a.words.cmp(&b.words)));
    let reply = present::present(ctx, &plan, &recalled, &expanded, ranked)?;
    let asked = Asked {
        words: plan.question.words.clone(),
        worth: recalled.worth.clone(),
        lacking: recalled.lacking(&plan.question),
        names: recalled.seeds.clone(),
        floor: plan.floor,
        when: plan.when.clone(),
    };
    let mut found = Found {
        asked,
        named: seeds.iter().map(|it| it.entity).collect(),
        nothing_relevant: reply.nothing_relevant,
        hint: reply.hint,
        readings: recalled.readings.clone(),
        query: wanted.query.to_string(),
        ..Found::default()
    };
    found.named.dedup();
    for hit in reply.chunks {
        let chunk = ctx.snapshot.chunks().get(hit.id).map_err(AskError::from)?;
        // A note without text states nothing.
        let Some(chunk) = chunk.filter(|it| it.start < it.end) else { continue };
        let dated = Days::read(ctx, hit.doc_id)?.document().clone();
        found.hits.push(Hit {
            chunk: hit.id,
            doc: hit.doc_id,
            relevance: hit.relevance,
            at: hit.place(),
            source: SourceView {
                line: hit.lines[0],
                page: hit.pages.map(|it| it[0]),
                text: hit.snippet,
                path: hit.path,
                section: String::new(),
            },
            section: hit.section,
            dated,
            is_weak: hit.weak,
            is_procedure: chunk.profile == "procedure",
        });
    }
    Ok(found)
}

impl Found {
    /// Adds the entries that supersede found ones, each after the first hit that it supersedes.
    pub(crate) fn add_successors(
        &mut self,
        ctx: &QueryContext<'_>,
        library: &Library,
    ) -> Result<(), AskError> {
        let mut at = 0;
        while let Some(hit) = self.hits.get(at) {
            at += 1;
            let row = library.entry_index.of_doc(hit.doc).filter(|_| !hit.is_weak);
            let newer = row.map(|row| library.superseded_by(row)).unwrap_or_default();
            for row in newer.iter().filter_map(|id| library.entry_index.of_node(id)) {
                self.add_entry(ctx, row, at)?;
            }
        }
        Ok(())
    }

    /// Inserts an entry as a hit at a position. If it is a hit already, clears its weak flag
    /// instead.
    pub(crate) fn add_entry(
        &mut self,
        ctx: &QueryContext<'_>,
        row: &EntryRow,
        at: usize,
    ) -> Result<(), AskError> {
        if self.hits.iter().any(|hit| hit.doc == row.doc && !hit.is_weak) {
            return Ok(());
        }
        if let Some(hit) = self.hits.iter_mut().find(|hit| hit.doc == row.doc) {
            hit.is_weak = false;
            return Ok(());
        }
        let Some(source) = Source::load(ctx, row.doc)? else { return Ok(()) };
        let source = source.view(0, String::new());
        let dated = Days::read(ctx, row.doc)?.document().clone();
        let hit = Hit {
            chunk: 0,
            doc: row.doc,
            relevance: 0.0,
            at: source.place(),
            source,
            section: String::new(),
            dated,
            is_weak: false,
            is_procedure: false,
        };
        self.hits.insert(at.min(self.hits.len()), hit);
        Ok(())
    }

    /// Returns the entity that covers the whole question, or most of it; `rest` is the question
    /// without the words that ask for a summary.
    pub(crate) fn subject(
        &self,
        ctx: &QueryContext<'_>,
        (rest, share): (&str, Share),
        about: Option<i64>,
    ) -> Result<Option<i64>, AskError> {
        let asked = &self.asked;
        let content = Question::new(rest).words;
        let words = asked.words.iter().enumerate().filter(|(_, it)| content.contains(it));
        let wanted = words.fold(0, |all, (at, _)| all | 1_u64.checked_shl(at as u32).unwrap_or(0));
        let given = about.map(|entity| Seed { entity, link: 1.0, words: 0 });
        let mut best: Option<(f32, i64)> = None;
        for it in given.iter().chain(&asked.names) {
            let Some(view) = entity_view(ctx, it.entity)? else { continue };
            let mut known = it.words | matched(&view.entity_type, &asked.words);
            if Some(it.entity) == about {
                let names = aliases(ctx, it.entity, &view.name)?.join(" ");
                known |= matched(&format!("{} {names}", view.name), &asked.words);
            }
            let held = match asked.share(wanted) {
                all if all > 0.0 => asked.share(known & wanted) / all,
                _ => 1.0,
            };
            let fits = match share {
                Share::All => wanted & !known == 0,
                Share::Most => held >= HALF || Some(it.entity) == about,
            };
            if fits && best.is_none_or(|(most, _)| held > most) {
                best = Some((held, it.entity));
            }
        }
        Ok(best.map(|it| it.1))
    }
}
