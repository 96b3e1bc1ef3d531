//! Pick: a list of doubtful readings to decide with the keyboard: the screen, and what keys do.
//!
//! In: items, keys. Out: requests to the daemon, the screen as text.
//! Invariants: pure; a decision is shown only after the daemon has confirmed it; text of documents is shown without
//! control characters; a screen never has more rows or columns than the terminal.

use proto::tool::core::{ReviewItem, ReviewLinks};

use crate::render::{Style, clean};

/// A command by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// `k` and the arrow.
    Up,
    /// `j` and the arrow.
    Down,
    /// `a`.
    Accept,
    /// `r`.
    Reject,
    /// `u`.
    Undo,
    /// Enter: shows or hides evidence and features of the item.
    Evidence,
    /// `q`, Ctrl-C, Ctrl-D.
    Quit,
}

impl Key {
    /// Parses the bytes from a terminal into keys; ignores unknown ones.
    pub fn read(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        let mut rest = bytes;
        while let [first, tail @ ..] = rest {
            let (key, n) = match (first, tail) {
                (0x1b, [b'[' | b'O', b'A', ..]) => (Some(Key::Up), 3),
                (0x1b, [b'[' | b'O', b'B', ..]) => (Some(Key::Down), 3),
                (0x1b, [b'[' | b'O', _, ..]) => (None, 3),
                (b'k', _) => (Some(Key::Up), 1),
                (b'j', _) => (Some(Key::Down), 1),
                (b'a', _) => (Some(Key::Accept), 1),
                (b'r', _) => (Some(Key::Reject), 1),
                (b'u', _) => (Some(Key::Undo), 1),
                (b'\r' | b'\n', _) => (Some(Key::Evidence), 1),
                (b'q' | 3 | 4, _) => (Some(Key::Quit), 1),
                _ => (None, 1),
            };
            keys.extend(key);
            rest = rest.get(n..).unwrap_or_default();
        }
        keys
    }
}

/// The decision on an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Undecided.
    Open,
    /// Accepted.
    Accepted,
    /// Rejected.
    Rejected,
}

/// The effect of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Only a new screen.
    Show,
    /// A request; [`List::confirm`] follows when it succeeded.
    Ask(Decision),
    /// End the review.
    Quit,
}

/// A decision for the daemon to store.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    row: usize,
    key: String,
    verdict: Verdict,
}

impl Decision {
    /// Returns the request that stores it.
    pub fn request(&self) -> ReviewLinks {
        let keys = |is_meant: bool| is_meant.then(|| vec![self.key.clone()]);
        ReviewLinks {
            limit: Some(1),
            accept: keys(self.verdict == Verdict::Accepted),
            reject: keys(self.verdict == Verdict::Rejected),
            undo: keys(self.verdict == Verdict::Open),
            ..ReviewLinks::default()
        }
    }
}

/// The list on the screen.
#[derive(Debug)]
pub struct List {
    rows: Vec<(ReviewItem, Verdict)>,
    at: usize,
    shows_evidence: bool,
    /// Decided rows, the latest last.
    decided: Vec<usize>,
}

impl List {
    /// Creates a list at its first item.
    pub fn new(items: Vec<ReviewItem>) -> Self {
        let rows = items.into_iter().map(|item| (item, Verdict::Open)).collect();
        List { rows, at: 0, shows_evidence: false, decided: Vec::new() }
    }

    /// Returns the number of accepted and rejected items.
    pub fn n_decided(&self) -> usize {
        self.rows.iter().filter(|(_, verdict)| *verdict != Verdict::Open).count()
    }

    /// Handles a key.
    pub fn press(&mut self, key: Key) -> Step {
        match key {
            Key::Up => self.at = self.at.saturating_sub(1),
            Key::Down => self.at = (self.at + 1).min(self.rows.len().saturating_sub(1)),
            Key::Evidence => self.shows_evidence = !self.shows_evidence,
            Key::Accept => return self.ask(self.at, Verdict::Accepted),
            Key::Reject => return self.ask(self.at, Verdict::Rejected),
            Key::Undo => {
                // The item under the cursor if it is decided, otherwise the latest decided one.
                let is_decided = self.rows.get(self.at).is_some_and(|it| it.1 != Verdict::Open);
                let row = if is_decided { Some(self.at) } else { self.decided.last().copied() };
                return row.map_or(Step::Show, |row| self.ask(row, Verdict::Open));
            }
            Key::Quit => return Step::Quit,
        }
        Step::Show
    }

    fn ask(&self, row: usize, verdict: Verdict) -> Step {
        match self.rows.get(row) {
            Some((item, known)) if *known != verdict => {
                Step::Ask(Decision { row, key: item.key.clone(), verdict })
            }
            _ => Step::Show,
        }
    }

    /// Records that the daemon has stored a decision.
    pub fn confirm(&mut self, decision: &Decision) {
        let Some((_, verdict)) = self.rows.get_mut(decision.row) else { return };
        *verdict = decision.verdict;
        self.decided.retain(|row| *row != decision.row);
        if decision.verdict == Verdict::Open {
            self.at = decision.row;
        } else {
            self.decided.push(decision.row);
            self.at = (self.at + 1).min(self.rows.len().saturating_sub(1));
        }
    }

    /// Renders the screen: lines that end with `\r\n`, at most `height` of them, each at most `width` characters wide.
    pub fn screen(&self, size: (usize, usize), style: Style) -> String {
        let (width, height) = size;
        let details = if self.shows_evidence { self.details() } else { Vec::new() };
        let room = height.saturating_sub(2 + details.len()).max(1);
        let first = self.at.saturating_sub(room.saturating_sub(1) / 2);
        let first = first.min(self.rows.len().saturating_sub(room));
        let head = format!(
            "{} of {}, {} decided   j/k move  a accept  r reject  u undo  enter evidence  q quit",
            self.at + 1,
            self.rows.len(),
            self.n_decided()
        );
        let mut lines = vec![style.bold(&cut(&head, width)), String::new()];
        for (i, (item, verdict)) in self.rows.iter().enumerate().skip(first).take(room) {
            let is_here = i == self.at;
            lines.push(row(item, *verdict, is_here, width, style));
            if is_here {
                lines.extend(details.iter().map(|it| style.dim(&cut(it, width))));
            }
        }
        lines.truncate(height.max(1));
        lines.join("\r\n")
    }

    /// Returns the evidence for the item under the cursor.
    fn details(&self) -> Vec<String> {
        let Some((item, _)) = self.rows.get(self.at) else { return Vec::new() };
        let mut out = Vec::new();
        if let Some(evidence) = &item.evidence {
            let (place, text) = (evidence.source.place(), evidence.source.text.trim());
            out.push(format!("      {}  “{}”", clean(&place), clean(text)));
        }
        if !item.features.is_empty() {
            let features: Vec<String> =
                item.features.iter().map(|(name, value)| format!("{name} {value:.2}")).collect();
            out.push(format!("      {}", features.join("  ")));
        }
        out.push(format!("      {}", clean(&item.key)));
        out
    }
}

fn row(item: &ReviewItem, verdict: Verdict, is_here: bool, width: usize, style: Style) -> String {
    let mark = match verdict {
        Verdict::Open => ' ',
        Verdict::Accepted => '+',
        Verdict::Rejected => '-',
    };
    let cursor = if is_here { '>' } else { ' ' };
    let claim = clean(&item.claim);
    let text = format!("{cursor} {mark} {:.2}  {:<8} {claim}", item.confidence, clean(&item.kind));
    let text = cut(&text, width);
    match verdict {
        _ if is_here => style.bold(&text),
        Verdict::Accepted => style.green(&text),
        Verdict::Rejected => style.dim(&text),
        Verdict::Open => text,
    }
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_string();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

#[cfg(test)]
mod tests;
