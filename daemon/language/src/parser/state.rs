//! State: the parser's stack and buffer, and what its moves do to them.
//!
//! In: moves. Out: the tokens that the next move depends on, and at the end the arcs.
//! Invariants: only allowed moves are made; a token returns to the buffer at most once between two left arcs, so the
//! number of moves is linear in the tokens.

/// A move without its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// The next token is pushed on the stack.
    Shift,
    /// The top is popped; without a head, it returns to the buffer.
    Reduce,
    /// The top depends on the next token and is popped.
    Left,
    /// The next token depends on the top and is pushed.
    Right,
    /// A sentence starts after the next token.
    Break,
}

impl Action {
    /// Number of actions.
    pub(super) const COUNT: usize = 5;

    pub(super) fn from_code(code: u8) -> Self {
        match code {
            0 => Action::Shift,
            1 => Action::Reduce,
            2 => Action::Left,
            3 => Action::Right,
            _ => Action::Break,
        }
    }
}

/// Stands for no arc or no token.
const NONE: u32 = u32::MAX;

/// The state of a token.
#[derive(Debug, Clone)]
struct Place {
    head: u32,
    label: &'static str,
    /// Its last arc to a child on either side, an index in `arcs`.
    last_left: u32,
    last_right: u32,
    is_unshiftable: bool,
    is_start: bool,
}

#[derive(Debug)]
pub(super) struct State {
    places: Vec<Place>,
    stack: Vec<usize>,
    /// Tokens that returned from the stack, the next one last; they come before `next`.
    returned: Vec<usize>,
    /// The first token that was never on the stack.
    next: usize,
    /// Each arc's child, with the previous arc on the same side of the same head: linked lists.
    arcs: Vec<(u32, u32)>,
}

impl State {
    pub(super) fn new(n_tokens: usize) -> Self {
        let place = Place {
            head: NONE,
            label: "",
            last_left: NONE,
            last_right: NONE,
            is_unshiftable: false,
            is_start: false,
        };
        let places = vec![place; n_tokens];
        State { places, stack: Vec::new(), returned: Vec::new(), next: 0, arcs: Vec::new() }
    }

    pub(super) fn is_final(&self) -> bool {
        self.stack.is_empty() && self.n_waiting() == 0
    }

    fn n_waiting(&self) -> usize {
        self.places.len() - self.next + self.returned.len()
    }

    /// Returns the `i`th token from the top of the stack.
    fn stacked(&self, i: usize) -> Option<usize> {
        self.stack.len().checked_sub(i + 1).and_then(|at| self.stack.get(at)).copied()
    }

    /// Returns the `i`th token of the buffer.
    fn waiting(&self, i: usize) -> Option<usize> {
        match self.returned.len().checked_sub(i + 1) {
            Some(at) => self.returned.get(at).copied(),
            None => Some(self.next + i - self.returned.len()).filter(|i| *i < self.places.len()),
        }
    }

    fn child(&self, arc: u32) -> Option<usize> {
        self.arcs.get(arc as usize).map(|(child, _)| *child as usize)
    }

    fn left_child(&self, token: Option<usize>) -> Option<usize> {
        self.child(self.places.get(token?)?.last_left)
    }

    fn right_child(&self, token: Option<usize>) -> Option<usize> {
        self.child(self.places.get(token?)?.last_right)
    }

    /// Returns the tokens that a move depends on, in the order that the model was trained with.
    pub(super) fn slots(&self) -> [Option<usize>; 8] {
        let (next, top) = (self.waiting(0), self.stacked(0));
        [
            next,
            self.waiting(1),
            top,
            self.stacked(1),
            self.stacked(2),
            self.left_child(next),
            self.left_child(top),
            self.right_child(top),
        ]
    }

    /// Returns which actions are allowed, in the order of [`Action`].
    pub(super) fn allowed(&self) -> [bool; Action::COUNT] {
        let next = self.waiting(0).and_then(|i| self.places.get(i));
        let has_stack = !self.stack.is_empty();
        let is_start = next.is_some_and(|next| next.is_start);
        let is_unshiftable = next.is_some_and(|next| next.is_unshiftable);
        // With an empty stack, only a shift makes progress.
        let can_shift = !has_stack || (self.n_waiting() >= 2 && !is_start && !is_unshiftable);
        let can_join = has_stack && next.is_some() && !is_start;
        let can_break = match (self.waiting(0), self.waiting(1)) {
            (Some(next), Some(second)) => {
                // A break must be between neighbors of the text, so not next to a token that returned.
                second == next + 1 && self.places.get(second).is_some_and(|place| !place.is_start)
            }
            _ => false,
        };
        [can_shift, has_stack, can_join, can_join, can_break]
    }

    /// Makes a move, which must be allowed.
    pub(super) fn make(&mut self, action: Action, label: &'static str) {
        match (action, self.stacked(0), self.waiting(0)) {
            (Action::Shift, _, Some(_)) => self.push(),
            (Action::Reduce, Some(top), _) => self.reduce(top),
            (Action::Left, Some(top), Some(next)) => {
                self.join(next, top, label);
                // The stack shrinks, so shifting the token again cannot loop.
                self.places
                    .get_mut(next)
                    .into_iter()
                    .for_each(|place| place.is_unshiftable = false);
                self.stack.pop();
            }
            (Action::Right, Some(top), Some(next)) => {
                self.join(top, next, label);
                self.push();
            }
            (Action::Break, _, _) => {
                let second = self.waiting(1).and_then(|i| self.places.get_mut(i));
                second.into_iter().for_each(|place| place.is_start = true);
            }
            // Nothing else is allowed; emptying both ends the parse.
            _ => {
                self.stack.clear();
                self.returned.clear();
                self.next = self.places.len();
            }
        }
    }

    fn push(&mut self) {
        match self.returned.pop() {
            Some(token) => self.stack.push(token),
            None => {
                self.stack.push(self.next);
                self.next += 1;
            }
        }
    }

    fn reduce(&mut self, top: usize) {
        let is_last = self.stack.len() == 1;
        self.stack.pop();
        let Some(place) = self.places.get_mut(top) else { return };
        // Unshiftable until it gets a child on its left; otherwise it could go back and forth forever.
        if place.head == NONE && !is_last {
            place.is_unshiftable = true;
            self.returned.push(top);
        }
    }

    /// Makes `child` depend on `head`, replacing an earlier head.
    fn join(&mut self, head: usize, child: usize, label: &'static str) {
        let before = self.places.get(child).map_or(NONE, |place| place.head);
        if let Some(old) = self.places.get_mut(before as usize) {
            let last =
                if (before as usize) > child { &mut old.last_left } else { &mut old.last_right };
            // The replaced arc is the last of its head: the head's later children have left the stack.
            if let Some((last_child, earlier)) = self.arcs.get(*last as usize)
                && *last_child as usize == child
            {
                *last = *earlier;
            }
        }
        if let Some(place) = self.places.get_mut(child) {
            (place.head, place.label) = (head as u32, label);
        }
        let arc = self.arcs.len() as u32;
        if let Some(place) = self.places.get_mut(head) {
            let last = if head > child { &mut place.last_left } else { &mut place.last_right };
            self.arcs.push((child as u32, std::mem::replace(last, arc)));
        }
    }

    /// Returns each token's head (its own index if it has none) and label.
    pub(super) fn into_arcs(self) -> (Vec<u32>, Vec<&'static str>) {
        let arc = |(i, place): (usize, &Place)| match place.head {
            NONE => (i as u32, "ROOT"),
            head => (head, place.label),
        };
        self.places.iter().enumerate().map(arc).unzip()
    }
}
