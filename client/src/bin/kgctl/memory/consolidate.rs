//! `kgctl memory consolidate`: reviews the report's proposals one by one, with keys on a terminal,
//! otherwise by lines.
//!
//! In: the report, keys or lines. Out: tool calls for the accepted proposals; counts.
//! Invariants: an accepted proposal is carried out before the next one is shown; a failure is reported and does not
//! stop the review; a rejected relation is rejected for good (`review_links`), everything else until the next time.

use std::io::BufRead;

use client::connect::Session;
use client::consolidate::{Answer, Call, Candidate, candidates};
use client::render::clean;
use proto::tool::core::ReviewLinks;
use proto::tool::memory::{GetConsolidationReport, GetRelationGaps, ItemError};

use super::super::context::Context;
use super::super::failure::{Exit, Failure};
use super::super::terminal::{Event, Terminal};

/// Numbers of proposals by outcome.
#[derive(Default)]
struct Counts {
    done: usize,
    rejected: usize,
    failed: usize,
}

/// The source of answers.
enum Asking {
    /// Single keys; after `:` a line.
    Keys(Terminal),
    /// Lines, for scripts and without a terminal.
    Lines,
}

pub(super) async fn run(session: Session, ctx: &Context) -> Result<Exit, Failure> {
    let report = session.call(&GetConsolidationReport::default()).await?;
    let gaps = session.call(&GetRelationGaps::default()).await?;
    if ctx.json {
        ctx.print_json(&serde_json::json!({ "report": report, "gaps": gaps.gaps }))?;
        session.close().await;
        return Ok(Exit::Done);
    }
    let all = candidates(&report, &gaps);
    if all.is_empty() {
        session.close().await;
        ctx.print("nothing to consolidate\n")?;
        return Ok(Exit::NothingFound);
    }
    let mut asking =
        if Terminal::is_there() { Asking::Keys(Terminal::enter()?) } else { Asking::Lines };
    let (counts, troubles) = review(&session, &all, &mut asking, ctx).await?;
    drop(asking);
    session.close().await;
    let Counts { done, rejected, failed } = counts;
    let mut text: String = troubles.iter().map(|it| format!("{}\n", clean(it))).collect();
    text += &format!("{done} done, {rejected} rejected, {failed} failed, of {}\n", all.len());
    if rejected > 0 {
        text += "rejected relations are never proposed again (`kgctl review --undo KEY` undoes that); \
                 everything else is, next time\n";
    }
    ctx.advise(&text)?;
    Ok(if failed > 0 { Exit::Failed } else { Exit::Done })
}

async fn review(
    session: &Session,
    all: &[Candidate],
    asking: &mut Asking,
    ctx: &Context,
) -> Result<(Counts, Vec<String>), Failure> {
    let (mut counts, mut troubles) = (Counts::default(), Vec::new());
    let mut hint = String::new();
    for (at, candidate) in all.iter().enumerate() {
        loop {
            let mut lines = vec![format!("{} of {}", at + 1, all.len())];
            lines.extend(candidate.described());
            lines.extend(asking.hint());
            lines.extend((!hint.is_empty()).then(|| format!("not understood: {hint}")));
            let Some(typed) = asking.ask(&lines, ctx).await? else { return Ok((counts, troubles)) };
            hint.clear();
            match candidate.answer(&typed) {
                Answer::Quit => return Ok((counts, troubles)),
                Answer::Unclear(why) => {
                    hint = why;
                    continue;
                }
                Answer::Skip => {}
                Answer::Reject(key) => {
                    counts.rejected += 1;
                    if let Some(key) = key {
                        let reject = Some(vec![key]);
                        let request =
                            ReviewLinks { reject, limit: Some(1), ..ReviewLinks::default() };
                        let kept = session.call(&request).await;
                        troubles
                            .extend(kept.err().map(|it| format!("rejected only for now: {it}")));
                    }
                }
                Answer::Do(call) => match carry_out(session, &call).await {
                    Ok(()) => counts.done += 1,
                    Err(why) => {
                        counts.failed += 1;
                        troubles.push(why);
                    }
                },
            }
            break;
        }
    }
    Ok((counts, troubles))
}

/// Carries out a proposal, or returns why it failed.
async fn carry_out(session: &Session, call: &Call) -> Result<(), String> {
    let to_text = |error: &dyn std::fmt::Display| error.to_string();
    let failed = |items: &[ItemError], missing: &[String]| match (items.first(), missing.first()) {
        (Some(item), _) => Err(format!("{}: {}", item.name, item.message)),
        (None, Some(name)) => Err(format!("no entity is called `{name}`")),
        (None, None) => Ok(()),
    };
    match call {
        Call::Summary(request) => session.call(request).await.map(drop).map_err(|it| to_text(&it)),
        Call::Relate(request) => {
            let reply = session.call(request).await.map_err(|it| to_text(&it))?;
            failed(&reply.failed, &reply.not_found)
        }
        Call::Topic(entities, relations) => {
            let reply = session.call(entities).await.map_err(|it| to_text(&it))?;
            failed(&reply.failed, &[])?;
            let reply = session.call(relations).await.map_err(|it| to_text(&it))?;
            failed(&reply.failed, &reply.not_found)
        }
        Call::Delete(request) => {
            let reply = session.call(request).await.map_err(|it| to_text(&it))?;
            failed(&reply.failed, &reply.not_found)
        }
    }
}

impl Asking {
    /// Returns how to add words to an answer.
    fn hint(&self) -> Option<String> {
        matches!(self, Asking::Keys(_))
            .then(|| "to add words: `:`, the key, the words, enter".to_string())
    }

    /// Shows a proposal and waits for an answer; returns `None` if the input ends.
    async fn ask(&mut self, lines: &[String], ctx: &Context) -> Result<Option<String>, Failure> {
        match self {
            Asking::Lines => {
                ctx.print(&format!("{}\n", lines.join("\n   ")))?;
                let mut line = String::new();
                let n = std::io::stdin().lock().read_line(&mut line)?;
                Ok((n > 0).then_some(line))
            }
            Asking::Keys(terminal) => {
                let mut typed = String::new();
                loop {
                    let words = (!typed.is_empty()).then(|| format!("> {typed}"));
                    let screen: Vec<&str> =
                        lines.iter().chain(&words).map(String::as_str).collect();
                    terminal.show(&screen.join("\r\n"))?;
                    let Event::Typed(bytes) = terminal.next().await? else { continue };
                    if bytes.is_empty() || bytes.iter().any(|it| matches!(it, 3 | 4)) {
                        return Ok(None);
                    }
                    if press(&mut typed, &bytes) {
                        return Ok(Some(typed));
                    }
                }
            }
        }
    }
}

/// Adds typed keys; returns whether they are an answer: one key, or a whole line after `:`.
fn press(typed: &mut String, bytes: &[u8]) -> bool {
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\r' | '\n' if typed.starts_with(':') => {
                typed.remove(0);
                return true;
            }
            '\u{7f}' | '\u{8}' => drop(typed.pop()),
            c if c.is_control() => {}
            c if typed.is_empty() && c != ':' => {
                typed.push(c);
                return true;
            }
            c => typed.push(c),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::press;

    #[test]
    fn one_key_is_an_answer_and_a_colon_begins_a_line() {
        for (keys, typed) in [("a", "a"), ("r", "r"), (":a works\u{7f}s_with\r", "a works_with")] {
            let mut so_far = String::new();
            let is_done = keys.chars().map(|c| press(&mut so_far, c.to_string().as_bytes()));
            assert_eq!(is_done.last(), Some(true), "{keys}");
            assert_eq!(so_far, typed);
        }
    }
}
