//! Thin: a few words under a title that says what is asked, such as a list of links under "See also".
//!
//! Every passage is found by its document's title, too, and the fewer words it has of its own, the nearer to the title
//! it is: by BM25, which divides by length, and by meaning. So the best passage of a runbook about what is asked would
//! be its list of links.
//! In: candidates, best first. Out: the same; where one is thin and another one of its document near behind it holds
//! more of the question itself, the two exchange their scores, which is a component of both.
//! Invariants: documents keep their order; components sum to the score; only the first few candidates are looked at,
//! and only thin ones are read, with what may stand for them.

use rusqlite::OptionalExtension;
use rustc_hash::FxHashSet;

use super::asked_words::QuestionWords;
use super::plan::Plan;
use super::rank::Ranked;
use super::{AskError, Desk, Found};
use index::words::Indexer;

/// What the score tells of it.
const COMPONENT: &str = "own_words";

/// Candidates that are looked at.
const DEPTH: usize = 20;

/// Longest passage that is thin, bytes of text.
const THIN: usize = 160;

/// Least share of the thin one's score that another one must have.
const NEAR: f32 = 0.5;

/// Exchanges thin passages for fuller ones.
pub(super) fn exchange(desk: &Desk<'_>, plan: &Plan, found: &mut Found) -> Result<(), AskError> {
    let asked = QuestionWords::of(plan, &found.recalled);
    if !plan.is_fused() || asked.is_empty() {
        return Ok(());
    }
    let mut places = Vec::new();
    for candidate in found.ranked.iter().take(DEPTH) {
        places.extend(place(desk, candidate)?);
    }
    let mut indexer = Indexer::new();
    let mut share = |chunk| -> Result<f32, AskError> {
        let (text, is_english) = own_text(desk, chunk)?.unwrap_or_default();
        let mut words = String::new();
        indexer.index(&text, is_english, &mut words);
        Ok(asked.share(&words))
    };
    let mut exchanged = FxHashSet::default();
    for thin in places.iter().filter(|it| it.n_bytes <= THIN) {
        let own = share(thin.chunk)?;
        let others = places.iter().filter(|it| it.doc == thin.doc && it.n_bytes > THIN);
        for other in others.filter(|it| (NEAR * thin.score..thin.score).contains(&it.score)) {
            if !exchanged.contains(&other.chunk) && share(other.chunk)? > own {
                give(&mut found.ranked, (thin, other));
                exchanged.insert(other.chunk);
                break;
            }
        }
    }
    Ok(())
}

/// Exchanges two candidates, places and scores.
fn give(ranked: &mut [Ranked], (thin, other): (&Place, &Place)) {
    let more = thin.score - other.score;
    let at = |place: &Place| ranked.iter().position(|it| it.chunk == place.chunk);
    let (Some(first), Some(second)) = (at(thin), at(other)) else { return };
    ranked.swap(first, second);
    for (at, more) in [(first, more), (second, -more)] {
        let Some(candidate) = ranked.get_mut(at) else { continue };
        candidate.components.insert(COMPONENT, more);
        candidate.score += more;
    }
}

/// A candidate with what is known of it without reading it.
struct Place {
    chunk: i64,
    doc: i64,
    n_bytes: usize,
    score: f32,
}

fn place(desk: &Desk<'_>, candidate: &Ranked) -> Result<Option<Place>, AskError> {
    let (chunk, score) = (candidate.chunk, candidate.score);
    let mut statement =
        desk.snapshot.prepare_cached("SELECT doc_id, end - start FROM chunks WHERE id = ?1")?;
    let read = statement.query_row([chunk], |row| {
        Ok(Place { chunk, doc: row.get(0)?, n_bytes: row.get::<_, i64>(1)? as usize, score })
    });
    Ok(read.optional()?)
}

/// The words of a chunk without its document's title, and whether they are English.
fn own_text(desk: &Desk<'_>, chunk: i64) -> Result<Option<(String, bool)>, AskError> {
    let mut statement = desk.snapshot.prepare_cached(
        "SELECT CAST(substr(CAST(d.text AS BLOB), c.start + 1, c.end - c.start) AS TEXT), c.language
         FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1",
    )?;
    let read =
        statement.query_row([chunk], |row| Ok((row.get(0)?, row.get::<_, String>(1)? == "en")));
    Ok(read.optional()?)
}
