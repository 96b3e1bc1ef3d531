//! Steps: each step of an ordered list precedes the next; `Step 1` precedes `Step 2`.
//!
//! In: the outline and its `Step` mentions. Out: `precedes` between neighbors.
//! Invariants: a list that restarts its numbers is another sequence; one pass over the blocks.

use rustc_hash::FxHashMap;

use super::page::Page;
use super::{Statement, Statements};
use crate::recognize::pattern::{clause_of, is_in_sequence, ordered_lists};
use model::document::{BlockKind, Party};
use model::terms::EntityType;

const PATTERN: &str = "list:step";
const CONFIDENCE: f32 = 0.9;

/// Adds the order of the steps.
pub(super) fn relate(page: &Page<'_>, out: &mut Statements) {
    let ordered = ordered_lists(page.doc);
    let mut in_lists: FxHashMap<(u32, u8), (u32, u32)> = FxHashMap::default();
    let mut named: Option<(u32, u32)> = None;
    for (block_idx, block) in page.blocks().iter().enumerate() {
        let is_named = matches!(block.kind, BlockKind::Heading(_) | BlockKind::Paragraph);
        let number = match block.kind {
            BlockKind::ListItem { list, depth, ordinal } => ordinal
                .filter(|_| ordered.contains(&(list, depth)) && is_in_sequence(page.doc, block)),
            _ if is_named => step_number(block.span.of(page.text)),
            _ => None,
        };
        let Some((number, step)) = number.zip(step_of(page, block_idx)) else { continue };
        let last = match block.kind {
            BlockKind::ListItem { list, depth, .. } => {
                in_lists.insert((list, depth), (number, step))
            }
            _ => named.replace((number, step)),
        };
        // Only consecutive numbers: after a gap, or a list that restarts, nothing is known about the order.
        let Some((_, before)) = last.filter(|(n, _)| n.checked_add(1) == Some(number)) else {
            continue;
        };
        let (subject, object) = (Party::Mention(before), Party::Mention(step));
        let statement = Statement {
            subject,
            predicate: "precedes",
            object,
            pattern: PATTERN,
            confidence: CONFIDENCE,
        };
        out.add(block.span, statement);
    }
}

/// Returns the step of a block: its `Step` mention or, if a name is the whole clause, that name.
fn step_of(page: &Page<'_>, block_idx: usize) -> Option<u32> {
    let mentions = page.mentions_of(block_idx);
    let is_step = |idx: &u32| page.mention(*idx).is_some_and(|m| m.entity_type == EntityType::Step);
    mentions.clone().find(is_step).or_else(|| {
        let block = page.blocks().get(block_idx)?;
        let clause = clause_of(page.text, block.span);
        mentions.into_iter().find(|idx| page.mention(*idx).is_some_and(|m| m.span.contains(clause)))
    })
}

/// Returns the number of a block that begins with `Step 3`.
fn step_number(text: &str) -> Option<u32> {
    let rest = text.strip_prefix("Step ").or_else(|| text.strip_prefix("STEP "))?;
    let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..n_digits)?.parse().ok()
}
