//! Step: the items of ordered lists, `Step 3: …`, and the prerequisites of a procedure.
//!
//! In: the outline of a document. Out: `Step` mentions, named by the first clause of the step.
//! Invariants: of lists only procedures (`order.rs`), and none under a heading that excludes a
//! sequence (`Consequences`, `References`); a clause has at most 80 bytes; linear in the blocks.

use super::order::ordered_lists;
use super::proof::mention;
use crate::recognize::context::head;
use crate::recognize::words;
use model::document::{Block, BlockKind, Document, Mention};
use model::terms::{EntityType, Norm, Span};

const SCORE: f32 = 0.8;
/// Confidence of prerequisites, which name nothing of their own; S4 §6 asks for them.
const PREREQUISITES_SCORE: f32 = 0.4;
/// Longest name of a step, in bytes.
const MAX_CLAUSE_BYTES: usize = 80;
/// Bytes of a block that are read for its first clause: the name is cut long before, and blocks can be long.
const MAX_READ_BYTES: usize = 4 * MAX_CLAUSE_BYTES;

/// Words of a heading under which numbers count items but do not order them.
const UNORDERED: &str = " reference references consequence consequences decision decisions \
     option options alternative alternatives reason reasons goal goals check checks criteria \
     principle principles question questions note notes footnotes bibliography rules requirements \
     benefits features agenda topics ideas sources links reading components parts contents modules \
     members owners maintainers dependencies requirements ";

/// Adds the steps of a document.
pub(super) fn find(doc: &Document, out: &mut Vec<Mention>) {
    let ordered = ordered_lists(doc);
    for block in &doc.blocks {
        let step = match block.kind {
            BlockKind::ListItem { list, ordinal: Some(_), depth } => {
                let is_procedure = ordered.contains(&(list, depth));
                (is_procedure && is_in_sequence(doc, block))
                    .then(|| clause_of(&doc.text, block.span))
            }
            BlockKind::Heading(_) | BlockKind::Paragraph => numbered(&doc.text, block.span),
            _ => None,
        };
        if let Some(span) = step.filter(|span| span.of(&doc.text).contains(char::is_alphabetic)) {
            out.push(mention(span, span.of(&doc.text), EntityType::Step, SCORE));
        } else if let Some(found) = prerequisites(doc, block) {
            out.push(found);
        }
    }
}

/// Returns false under a heading that announces something other than a sequence.
pub(crate) fn is_in_sequence(doc: &Document, block: &Block) -> bool {
    let heading = block.section.and_then(|idx| doc.blocks.get(idx as usize));
    let text = heading.map_or("", |h| h.span.of(&doc.text));
    let is_unordered = |word: &str| UNORDERED.split(' ').any(|u| u.eq_ignore_ascii_case(word));
    !text.split(|c: char| !c.is_alphanumeric()).any(|word| !word.is_empty() && is_unordered(word))
}

/// Returns the first clause of a block: up to the first sign that ends a clause, at most 80 bytes,
/// cut between words.
pub(crate) fn clause_of(text: &str, span: Span<Norm>) -> Span<Norm> {
    let whole = head(span.of(text), MAX_READ_BYTES);
    let mut end = whole.len();
    for (at, c) in whole.char_indices() {
        let next = whole.get(at + c.len_utf8()..).unwrap_or("");
        let closes = matches!(c, '.' | ':' | ';' | '!' | '?') && next.starts_with([' ', '\n']);
        let breaks = matches!(c, '\n' | '—' | '–') || (c == '(' && at > 0);
        if closes || breaks {
            end = at;
            break;
        }
    }
    let clause = whole.get(..end).unwrap_or("");
    let clause = before_comma(clause);
    let clause = clause.trim_end_matches(|c: char| !c.is_alphanumeric() && c != ')' && c != '`');
    if clause.len() <= MAX_CLAUSE_BYTES {
        return Span::new(span.start(), span.start() + clause.len());
    }
    let head = clause.get(..clause.floor_char_boundary(MAX_CLAUSE_BYTES)).unwrap_or("");
    let cut = head.rfind(' ').and_then(|space| head.get(..space)).unwrap_or(head);
    Span::new(span.start(), span.start() + cut.trim_end().len())
}

/// Returns a clause up to its first comma, if that leaves an instruction: three words or more, not
/// beginning with `If`, `In` or `After`.
fn before_comma(clause: &str) -> &str {
    let Some(head) = clause.find(", ").and_then(|comma| clause.get(..comma)) else { return clause };
    let mut words = head.split_whitespace();
    let is_adjunct = words.next().is_some_and(words::is_function_word);
    if is_adjunct || words.count() < 2 { clause } else { head }
}

/// Returns the text after `Step 3:` at the start of a block, or `Step 3` itself if nothing follows.
fn numbered(text: &str, span: Span<Norm>) -> Option<Span<Norm>> {
    let whole = span.of(text);
    let rest = whole.strip_prefix("Step ").or_else(|| whole.strip_prefix("STEP "))?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = rest.get(n_digits..).filter(|_| (1..=3).contains(&n_digits))?;
    let clause = after.strip_prefix([':', '.', ')']).or_else(|| after.strip_prefix(" -"))?;
    let clause = clause.trim_start();
    if clause.is_empty() {
        return Some(Span::new(span.start(), span.end() - after.len()));
    }
    Some(clause_of(text, Span::new(span.end() - clause.len(), span.end())))
}

/// Returns a heading or lead `Prerequisites`, named after the document so that documents do not
/// share it.
fn prerequisites(doc: &Document, block: &Block) -> Option<Mention> {
    let text = block.span.of(&doc.text);
    let rest = text.strip_prefix("Prerequisites").or_else(|| text.strip_prefix("PREREQUISITES"))?;
    let is_heading = matches!(block.kind, BlockKind::Heading(_)) && rest.is_empty();
    let is_lead = matches!(block.kind, BlockKind::Paragraph) && rest.starts_with(':');
    let title = doc.title.get(..doc.title.floor_char_boundary(MAX_CLAUSE_BYTES)).unwrap_or("");
    let name = format!("{title} prerequisites");
    let span = Span::new(block.span.start(), block.span.end() - rest.len());
    (is_heading || is_lead).then(|| mention(span, &name, EntityType::Step, PREREQUISITES_SCORE))
}
