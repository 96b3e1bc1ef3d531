//! Tree: sentences from heads, and the real heads of lifted arcs.
//!
//! In: heads and labels as the moves made them. Out: heads, labels and sentence starts. A label `dobj||conj` means
//! `dobj` of the nearest `conj` below the head (Nivre and Nilsson's lifted arcs).
//! Invariants: one label for each token, none lifted; bounded work for each token.

/// Separates the two parts of a lifted label.
const LIFTED: &str = "||";

/// Most rounds in which edges are passed up; the number is spaCy's.
const MAX_ROUNDS: usize = 12;

/// Most tokens visited for one lifted arc. A sentence of hundreds of words needs fewer.
const MAX_SEARCH_STEPS: usize = 8192;

/// Returns final heads, labels and sentence starts.
pub(super) fn finish(
    mut heads: Vec<u32>,
    mut labels: Vec<&'static str>,
    is_space: &[bool],
) -> (Vec<u32>, Vec<&'static str>, Vec<bool>) {
    let mut edges = Edges::new(&heads);
    let lifted: Vec<usize> =
        (0..labels.len()).filter(|&i| at(&labels, i).contains(LIFTED)).collect();
    if !lifted.is_empty() {
        for i in lifted {
            let Some((label, below)) = at(&labels, i).split_once(LIFTED) else { continue };
            let head =
                Search { heads: &heads, labels: &labels, is_space, edges: &edges }.find(i, below);
            if let (Some(old_head), Some(old_label)) = (heads.get_mut(i), labels.get_mut(i)) {
                (*old_head, *old_label) = (head as u32, label);
            }
        }
        // The arcs have changed, and with them which tokens a root spans.
        edges = Edges::new(&heads);
    }
    let mut starts = vec![false; heads.len()];
    // A sentence starts at the first token below a root.
    for (i, head) in heads.iter().enumerate() {
        if *head as usize == i
            && let Some(start) = starts.get_mut(at(&edges.left, i))
        {
            *start = true;
        }
    }
    (heads, labels, starts)
}

/// Returns an item that is known to exist.
fn at<T: Copy + Default>(items: &[T], i: usize) -> T {
    items.get(i).copied().unwrap_or_default()
}

/// The first and the last token below each token, itself included.
struct Edges {
    left: Vec<usize>,
    right: Vec<usize>,
}

impl Edges {
    fn new(heads: &[u32]) -> Self {
        let own: Vec<usize> = (0..heads.len()).collect();
        let mut edges = Edges { left: own.clone(), right: own };
        for _ in 0..MAX_ROUNDS {
            if edges.spread(heads) {
                break;
            }
        }
        edges
    }

    /// Passes each token's edges to its head, forwards and backwards. Returns whether every head is in its own
    /// sentence.
    fn spread(&mut self, heads: &[u32]) -> bool {
        // Both directions: a forward pass reaches heads to the right through a whole chain, a backward pass those to
        // the left.
        (0..heads.len()).for_each(|child| self.hand_up(heads, child));
        (0..heads.len()).rev().for_each(|child| self.hand_up(heads, child));
        let mut is_start = vec![false; heads.len()];
        for (i, head) in heads.iter().enumerate() {
            if *head as usize == i
                && let Some(start) = is_start.get_mut(at(&self.left, i))
            {
                *start = true;
            }
        }
        let mut start = 0;
        for i in 0..heads.len() {
            if (i > 0 && at(&is_start, i)) || i + 1 == heads.len() {
                let inside = start..i + 1;
                let sentence = heads.get(start..i).unwrap_or_default();
                if !sentence.iter().all(|head| inside.contains(&(*head as usize))) {
                    return false;
                }
                start = i;
            }
        }
        true
    }

    fn hand_up(&mut self, heads: &[u32], child: usize) {
        let (left, right) = (at(&self.left, child), at(&self.right, child));
        let head = at(heads, child) as usize;
        self.left.get_mut(head).into_iter().for_each(|edge| *edge = left.min(*edge));
        self.right.get_mut(head).into_iter().for_each(|edge| *edge = right.max(*edge));
    }
}

/// A breadth-first search below a token, left to right on each level.
struct Search<'a> {
    heads: &'a [u32],
    labels: &'a [&'static str],
    is_space: &'a [bool],
    edges: &'a Edges,
}

impl Search<'_> {
    /// Returns the first token with the label `below` under the head of `token`; that head if there is none.
    fn find(&self, token: usize, below: &str) -> usize {
        let head = at(self.heads, token) as usize;
        let mut level = vec![head];
        let mut n_steps = 0;
        while !level.is_empty() {
            let mut next = Vec::new();
            for parent in level {
                // Children are within the parent's edges; there is no list of them.
                for child in at(&self.edges.left, parent)..=at(&self.edges.right, parent) {
                    n_steps += 1;
                    if n_steps > MAX_SEARCH_STEPS {
                        return head;
                    }
                    let is_child = child != parent && at(self.heads, child) as usize == parent;
                    if !is_child || child == token || at(self.is_space, child) {
                        continue;
                    }
                    if at(self.labels, child) == below {
                        return child;
                    }
                    next.push(child);
                }
            }
            level = next;
        }
        head
    }
}
