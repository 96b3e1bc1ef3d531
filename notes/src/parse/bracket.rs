//! Brackets: which brackets of a line are wikilinks.
//!
//! In: the places of `[` and `]` in text, in order. Out: the spans of `[[…]]`.
//! Invariants: brackets are matched by depth, so that `[[React [[Hooks]]]]` is one link; in `[[[x]]]` the inner two
//! are the link; links do not overlap; time is linear.

use std::ops::Range;

/// The brackets of the current line.
#[derive(Debug, Default)]
pub(super) struct Brackets {
    open: Vec<usize>,
    /// Matched brackets, in the order of closing.
    pairs: Vec<(usize, usize)>,
}

impl Brackets {
    pub(super) fn open(&mut self, at: usize) {
        self.open.push(at);
    }

    pub(super) fn close(&mut self, at: usize) {
        if let Some(open) = self.open.pop() {
            self.pairs.push((open, at));
        }
    }

    /// Ends the line and returns its links.
    pub(super) fn end_line(&mut self) -> Vec<Range<usize>> {
        self.open.clear();
        if self.pairs.len() < 2 {
            self.pairs.clear();
            return Vec::new();
        }
        let mut pairs = std::mem::take(&mut self.pairs);
        // In order of opening, a pair and the next one make a link if the first directly encloses the second.
        pairs.sort_unstable();
        let wraps = |a: &(usize, usize), b: &(usize, usize)| a.0 + 1 == b.0 && a.1 == b.1 + 1;
        let mut links: Vec<Range<usize>> = Vec::new();
        for (idx, pair) in pairs.windows(2).enumerate() {
            let [outer, inner] = pair else { continue };
            // In `[[[x]]]` three pairs enclose each other; only the innermost two count.
            let goes_on = pairs.get(idx + 2).is_some_and(|next| wraps(inner, next));
            let is_inside = links.last().is_some_and(|link| outer.0 < link.end);
            if wraps(outer, inner) && !goes_on && !is_inside && inner.0 + 1 < inner.1 {
                links.push(outer.0..outer.1 + 1);
            }
        }
        links
    }
}

#[cfg(test)]
mod tests {
    use super::Brackets;

    #[test]
    fn brackets_are_matched_by_depth() {
        let rows = [
            ("[[a]] and [[b|c]]", "[[a]] [[b|c]]"),
            ("[[React [[Hooks]]]]", "[[React [[Hooks]]]]"),
            ("[[[a]]]", "[[a]]"),
            ("[[[[a]]]]", "[[a]]"),
            ("[[a]]] [[[b]]", "[[a]] [[b]]"),
            ("[0, 1) and [[a]], ] [[b]]", "[[a]] [[b]]"),
            ("[[a [b] c]] [[a] b]]", "[[a [b] c]]"),
            ("[[]] [[ [[a]]", "[[a]]"),
            ("[a][b] [[c]", ""),
        ];
        for (line, expected) in rows {
            let mut brackets = Brackets::default();
            for (at, c) in line.char_indices() {
                match c {
                    '[' => brackets.open(at),
                    ']' => brackets.close(at),
                    _ => {}
                }
            }
            let links: Vec<&str> = brackets.end_line().into_iter().map(|at| &line[at]).collect();
            assert_eq!(links.join(" "), expected, "{line}");
        }
    }
}
