//! Diff: the lines in which two texts differ.
//!
//! In: a text before and after. Out: how many lines were removed and added; the same as a unified
//! diff.
//! Invariants: the changes turn one text into the other, line by line; they are minimal if the
//! texts are short enough to compare each line with each.

use std::fmt::Write as _;
use std::ops::Range;

/// Most pairs of lines that are compared: 4 MB of memory. Beyond that, everything between the first
/// and the last differing line counts as replaced.
const MAX_PAIRS: usize = 1_000_000;

/// Unchanged lines shown around a change.
const CONTEXT: usize = 2;

/// A range of lines that was replaced with another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    gone: Range<usize>,
    come: Range<usize>,
}

/// The difference of two texts.
#[derive(Debug)]
pub(super) struct Diff<'a> {
    before: Vec<&'a str>,
    after: Vec<&'a str>,
    hunks: Vec<Hunk>,
}

impl<'a> Diff<'a> {
    /// Compares two texts.
    pub(super) fn of(before: &'a str, after: &'a str) -> Self {
        let [before, after] =
            [before, after].map(|it| it.split_inclusive('\n').collect::<Vec<_>>());
        let n_start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        let rest = before.len().min(after.len()) - n_start;
        let pairs = before.iter().rev().zip(after.iter().rev());
        let n_end = pairs.take(rest).take_while(|(a, b)| a == b).count();
        let (gone, come) = (n_start..before.len() - n_end, n_start..after.len() - n_end);
        let hunks = hunks(&before, &after, gone, come);
        Diff { before, after, hunks }
    }

    /// Returns how many lines were added, and how many were removed.
    pub(super) fn counts(&self) -> (u64, u64) {
        let count = |of: fn(&Hunk) -> usize| self.hunks.iter().map(of).sum::<usize>() as u64;
        (count(|it| it.come.len()), count(|it| it.gone.len()))
    }

    /// Renders the difference in the format of `diff -u`.
    pub(super) fn unified(&self) -> String {
        let mut out = String::new();
        let groups = self.hunks.chunk_by(|one, next| next.gone.start <= one.gone.end + 2 * CONTEXT);
        for group in groups {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let n_above = first.gone.start.min(CONTEXT);
            let n_below = (self.before.len() - last.gone.end).min(CONTEXT);
            let gone = first.gone.start - n_above..last.gone.end + n_below;
            let come = first.come.start - n_above..last.come.end + n_below;
            let _ = writeln!(out, "@@ -{} +{} @@", place(&gone), place(&come));
            let mut at = gone.start;
            for hunk in group {
                lines(&mut out, ' ', &self.before, at..hunk.gone.start);
                lines(&mut out, '-', &self.before, hunk.gone.clone());
                lines(&mut out, '+', &self.after, hunk.come.clone());
                at = hunk.gone.end;
            }
            lines(&mut out, ' ', &self.before, at..gone.end);
        }
        out
    }
}

/// Renders `first line,count`; for an empty range, the line above it.
fn place(lines: &Range<usize>) -> String {
    let first = if lines.is_empty() { lines.start } else { lines.start + 1 };
    format!("{first},{}", lines.len())
}

fn lines(out: &mut String, mark: char, all: &[&str], range: Range<usize>) {
    for line in all.get(range).unwrap_or_default() {
        let _ = writeln!(out, "{mark}{}", line.trim_end_matches(['\n', '\r']));
    }
}

/// Returns the hunks between two ranges of lines, by their longest common subsequence.
fn hunks(before: &[&str], after: &[&str], gone: Range<usize>, come: Range<usize>) -> Vec<Hunk> {
    if gone.is_empty() && come.is_empty() {
        return vec![];
    }
    let (old, new) = (&before[gone.clone()], &after[come.clone()]);
    if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        return vec![Hunk { gone, come }];
    }
    // `longest[i][j]`: length of the longest common subsequence of the lines from `i` and from `j`
    // on.
    let width = new.len() + 1;
    let mut longest = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = match old[i] == new[j] {
                true => longest[(i + 1) * width + j + 1] + 1,
                false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
            };
        }
    }
    let mut found: Vec<Hunk> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let goes = j == new.len()
            || i < old.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1];
        let at = (gone.start + i, come.start + j);
        let (to_i, to_j) = if goes { (i + 1, j) } else { (i, j + 1) };
        let to = (gone.start + to_i, come.start + to_j);
        match found.last_mut().filter(|it| (it.gone.end, it.come.end) == at) {
            Some(last) => (last.gone.end, last.come.end) = to,
            None => found.push(Hunk { gone: at.0..to.0, come: at.1..to.1 }),
        }
        (i, j) = (to_i, to_j);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_differ_in_the_fewest_lines() {
        let table = [
            ("a\nb\nc\n", "a\nb\nc\n", (0, 0), ""),
            ("", "a\n", (1, 0), "@@ -0,0 +1,1 @@\n+a\n"),
            ("a\n", "", (0, 1), "@@ -1,1 +0,0 @@\n-a\n"),
            ("a\nb\nc\n", "a\nx\nc\n", (1, 1), "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"),
            ("a\na\n", "a\n", (0, 1), "@@ -1,2 +1,1 @@\n a\n-a\n"),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
                "0\n1\n2\n3\n4\n5\n6\n7\n8\nx\n",
                (2, 1),
                "@@ -1,2 +1,3 @@\n+0\n 1\n 2\n@@ -7,3 +8,3 @@\n 7\n 8\n-9\n+x\n",
            ),
            ("a\nb\nc\nd\n", "b\nx\nd\n", (1, 2), "@@ -1,4 +1,3 @@\n-a\n b\n-c\n+x\n d\n"),
        ];
        for (before, after, counts, unified) in table {
            let diff = Diff::of(before, after);
            assert_eq!(diff.counts(), counts, "{before:?} {after:?}");
            assert_eq!(diff.unified(), unified, "{before:?} {after:?}");
        }
    }

    #[test]
    fn long_texts_are_compared_as_a_whole_between_their_ends() {
        let text = |n: usize| (0..2_000).map(|i| format!("{}\n", i * n)).collect::<String>();
        assert_eq!(Diff::of(&text(3), &text(7)).counts(), (1_999, 1_999));
    }
}
