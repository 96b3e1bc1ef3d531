//! Turn: the speaker and day of a passage, as far as it states them.
//!
//! In: a chunk. Out: speakers and a day: those of the fact that it contains, else those in its
//! text.
//! Not here: the syntax of a turn (`notes::turn`).

use notes::date::first_day;
use notes::turn::speaker_of;
use rusqlite::{OptionalExtension, params};

use crate::{AskError, QueryContext};

/// SQL condition: the chunk `c` contains the fact `f`.
pub(crate) const IS_OF_FACT: &str =
    "f.doc_id = c.doc_id AND f.line_start <= c.line_end AND f.line_end >= c.line_start";

/// SQL of the text of a chunk `c` of a document `d`. SQLite makes null of no bytes.
pub(crate) const TEXT: &str =
    "coalesce(CAST(substr(CAST(d.text AS BLOB), c.start + 1, c.end - c.start) AS TEXT), '')";

/// Characters at the head of a document that may state its day.
const HEAD_CHARS: i64 = 200;

/// Returns the day that a passage states, in ISO form: in its fact, its text, its headings, or the
/// head of its document.
pub(crate) fn stated_day(ctx: &QueryContext<'_>, chunk: i64) -> Result<Option<String>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(&format!(
        "SELECT (SELECT f.day FROM memory_facts f WHERE {IS_OF_FACT} ORDER BY f.seq LIMIT 1),
                {TEXT}, c.section, substr(d.text, 1, ?2)
         FROM chunks c JOIN docs d ON d.id = c.doc_id WHERE c.id = ?1"
    ))?;
    let read = statement.query_row(params![chunk, HEAD_CHARS], |row| {
        let texts = [row.get::<_, String>(1)?, row.get(2)?, row.get(3)?];
        Ok((row.get::<_, Option<String>>(0)?, texts))
    });
    let Some((of_fact, texts)) = read.optional()? else { return Ok(None) };
    Ok(of_fact.or_else(|| texts.iter().find_map(|text| first_day(text))))
}

/// Returns the speakers of a passage: those of its facts, else those of lines that start with a
/// name and a colon.
pub(crate) fn speakers(
    ctx: &QueryContext<'_>,
    chunk: i64,
    text: &str,
) -> Result<Vec<String>, AskError> {
    let mut statement = ctx.snapshot.prepare_cached(&format!(
        "SELECT f.speaker FROM chunks c JOIN memory_facts f ON {IS_OF_FACT}
         WHERE c.id = ?1 AND f.speaker IS NOT NULL ORDER BY f.seq"
    ))?;
    let of_facts = statement.query_map([chunk], |row| row.get(0))?;
    let of_facts: Vec<String> = of_facts.collect::<Result<_, _>>()?;
    Ok(match of_facts.is_empty() {
        true => text.lines().filter_map(speaker_of).map(str::to_string).collect(),
        false => of_facts,
    })
}
