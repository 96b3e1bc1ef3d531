//! Joined: exceptions that were cut into several tokens (":-)" cut into ":", "-" and ")").
//!
//! In: exceptions as runs of words' ids; tokens. Out: disjoint spans of tokens that are such runs, in order.
//! Invariants: of overlapping spans the longest wins, then the first; linear time, since the longest run is short.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::Token;

/// Runs of ids as a trie.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// The next node from a node (0 is the root) by an id.
    next: FxHashMap<(u32, u64), u32>,
    /// Nodes where a run ends.
    ends: FxHashSet<u32>,
}

impl Joined {
    pub(super) fn add(&mut self, run: impl Iterator<Item = u64>) {
        let mut node = 0;
        for id in run {
            let fresh = self.next.len() as u32 + 1;
            node = *self.next.entry((node, id)).or_insert(fresh);
        }
        self.ends.insert(node);
    }

    pub(super) fn spans(&self, tokens: &[Token]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> =
            (0..tokens.len()).flat_map(|start| self.ends_from(tokens, start)).collect();
        found.sort_by_key(|span| (usize::MAX - span.len(), span.start));
        let mut taken = FxHashSet::default();
        found.retain(|span| {
            // Longer spans came first, so one that overlaps this one covers its first or its last token.
            let is_free = !taken.contains(&span.start) && !taken.contains(&(span.end - 1));
            // Rejected spans count as taken, too, as in spaCy.
            taken.extend(span.clone());
            is_free
        });
        found.sort_by_key(|span| span.start);
        found
    }

    fn ends_from<'a>(
        &'a self,
        tokens: &'a [Token],
        start: usize,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut node = Some(0);
        let walk = (start..tokens.len()).map_while(move |i| {
            let id = tokens.get(i)?.lexeme.exact;
            node = self.next.get(&(node?, id)).copied();
            node.map(|node| (node, i + 1))
        });
        walk.filter(|(node, _)| self.ends.contains(node)).map(move |(_, end)| start..end)
    }
}
