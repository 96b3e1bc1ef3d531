//! Patterns: the subset of Python's regular expressions that the tokenizer's tables use, matched in linear time.
//!
//! In: a pattern of alternatives, each `(?<=…)` characters before it, a body of sets (perhaps repeated, perhaps a
//! group of bodies), and one character after it, `(?=…)` or `(?!…)`. Out: whether it matches at a place, and the
//! length.
//! Invariants: the same as Python's `re`: the first alternative that matches wins; a match reads only a few
//! characters, except for a run of one repeated set.

use std::iter::Peekable;
use std::str::Chars;

use super::data::LoadError;

/// A set of characters.
#[derive(Debug, Clone, Default)]
pub(super) struct CharSet {
    /// One bit for each ASCII character.
    ascii: u128,
    /// First and last characters, sorted and disjoint.
    ranges: Vec<(char, char)>,
}

impl CharSet {
    fn from_ranges(mut ranges: Vec<(char, char)>) -> Self {
        ranges.sort_unstable();
        let mut set = CharSet::default();
        for (low, high) in ranges {
            for code in (low as u32)..=(high as u32).min(127) {
                set.ascii |= 1 << code;
            }
            match set.ranges.last_mut() {
                Some(last) if low <= last.1 => last.1 = last.1.max(high),
                _ => set.ranges.push((low, high)),
            }
        }
        set
    }

    pub(super) fn has(&self, character: char) -> bool {
        if character.is_ascii() {
            return self.ascii >> (character as u32) & 1 == 1;
        }
        let above = self.ranges.partition_point(|(low, _)| *low <= character);
        above
            .checked_sub(1)
            .and_then(|i| self.ranges.get(i))
            .is_some_and(|(_, high)| character <= *high)
    }

    fn join(&mut self, other: &CharSet) {
        let all = self.ranges.iter().chain(&other.ranges).copied().collect();
        *self = CharSet::from_ranges(all);
    }
}

/// One set in a body.
#[derive(Debug, Clone)]
struct Atom {
    set: CharSet,
    is_repeated: bool,
}

#[derive(Debug)]
struct Alternative {
    /// What must precede, one set for each character.
    before: Vec<CharSet>,
    /// Bodies; the first that matches wins.
    bodies: Vec<Vec<Atom>>,
    /// What must (true) or must not (false) follow.
    after: Option<(CharSet, bool)>,
}

/// A pattern, ready to match.
#[derive(Debug)]
pub(super) struct Pattern {
    alternatives: Vec<Alternative>,
    /// Characters that a match can begin with: rejects most places at once.
    first: CharSet,
    /// Characters a match can end with.
    last: CharSet,
}

impl Pattern {
    /// Parses a pattern. Anchors `^` and `$` are skipped, since the caller's choice of method implies them.
    pub(super) fn parse(source: &str) -> Result<Self, LoadError> {
        let mut reader = Reader { chars: source.chars().peekable() };
        let mut alternatives = vec![reader.alternative()?];
        while reader.take('|') {
            alternatives.push(reader.alternative()?);
        }
        if let Some(left) = reader.chars.next() {
            return Err(LoadError::Pattern(left.to_string()));
        }
        let (mut first, mut last) = (CharSet::default(), CharSet::default());
        for body in alternatives.iter().flat_map(|alternative| &alternative.bodies) {
            body.first().into_iter().for_each(|atom| first.join(&atom.set));
            body.last().into_iter().for_each(|atom| last.join(&atom.set));
        }
        Ok(Pattern { alternatives, first, last })
    }

    /// Returns the length in bytes of the match that begins at byte `at`.
    pub(super) fn length_at(&self, text: &str, at: usize) -> Option<usize> {
        let (before, rest) = text.split_at_checked(at)?;
        if !self.first.has(rest.chars().next()?) {
            return None;
        }
        self.alternatives.iter().find_map(|alternative| alternative.length_at(before, rest))
    }

    /// Returns the length in bytes of the longest match at the end of the text.
    pub(super) fn length_at_end(&self, text: &str) -> Option<usize> {
        if !self.last.has(text.chars().next_back()?) {
            return None;
        }
        self.alternatives.iter().filter_map(|alternative| alternative.length_at_end(text)).max()
    }
}

impl Alternative {
    fn length_at(&self, before: &str, rest: &str) -> Option<usize> {
        if !ends_with(before, &self.before) {
            return None;
        }
        let is_followed = |n_bytes: &usize| match &self.after {
            None => true,
            Some((set, is_wanted)) => {
                let next = rest.get(*n_bytes..).and_then(|after| after.chars().next());
                next.is_some_and(|next| set.has(next)) == *is_wanted
            }
        };
        self.bodies.iter().filter_map(|body| length_of(body, rest)).find(is_followed)
    }

    /// Ignores `after`: nothing follows the end, and no pattern for ends has one.
    fn length_at_end(&self, text: &str) -> Option<usize> {
        let matched = |body: &Vec<Atom>| {
            let n_bytes = length_back(body, text)?;
            let before = text.get(..text.len() - n_bytes)?;
            ends_with(before, &self.before).then_some(n_bytes)
        };
        self.bodies.iter().filter_map(matched).max()
    }
}

/// Returns the bytes that `body` matches at the start of `text`.
fn length_of(body: &[Atom], text: &str) -> Option<usize> {
    let mut chars = text.chars();
    for atom in body {
        chars.next().filter(|character| atom.set.has(*character))?;
        while atom.is_repeated && chars.clone().next().is_some_and(|next| atom.set.has(next)) {
            chars.next();
        }
    }
    Some(text.len() - chars.as_str().len())
}

/// Returns the bytes that `body` matches at the end of `text`, with as many repetitions as possible.
fn length_back(body: &[Atom], text: &str) -> Option<usize> {
    let mut chars = text.chars();
    for (i, atom) in body.iter().enumerate().rev() {
        chars.next_back().filter(|character| atom.set.has(*character))?;
        if atom.is_repeated {
            // The run must leave one character for each set before it; in our patterns these sets are the same as the
            // run's.
            let run = chars.clone().rev().take_while(|character| atom.set.has(*character)).count();
            (i..run).for_each(|_| _ = chars.next_back());
        }
    }
    Some(text.len() - chars.as_str().len())
}

fn ends_with(text: &str, sets: &[CharSet]) -> bool {
    let mut chars = text.chars().rev();
    sets.iter().rev().all(|set| chars.next().is_some_and(|character| set.has(character)))
}

/// Parses a pattern from left to right.
struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if_eq(&wanted).is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), LoadError> {
        match self.take(wanted) {
            true => Ok(()),
            false => Err(LoadError::Pattern(format!("no {wanted}"))),
        }
    }

    fn alternative(&mut self) -> Result<Alternative, LoadError> {
        let mut found = Alternative { before: Vec::new(), bodies: vec![Vec::new()], after: None };
        self.take('^');
        while let Some(next) = self.chars.peek().copied() {
            match next {
                '|' | ')' => break,
                '$' => drop(self.chars.next()),
                '(' => self.group(&mut found)?,
                _ => {
                    let atom = self.atom()?;
                    found.bodies.iter_mut().for_each(|body| body.push(atom.clone()));
                }
            }
        }
        Ok(found)
    }

    /// `(?<=…)`, `(?=…)`, `(?!…)` or `(?:…|…)`; the last must be the whole body of its alternative.
    fn group(&mut self, found: &mut Alternative) -> Result<(), LoadError> {
        self.expect('(')?;
        self.expect('?')?;
        match self.chars.next() {
            Some('<') => {
                self.expect('=')?;
                found.before = self.sets()?;
            }
            Some(':') => {
                found.bodies = vec![self.atoms()?];
                while self.take('|') {
                    found.bodies.push(self.atoms()?);
                }
            }
            Some(mark @ ('=' | '!')) => {
                let set = self.sets()?.pop().ok_or_else(|| LoadError::Pattern(mark.into()))?;
                found.after = Some((set, mark == '='));
            }
            other => return Err(LoadError::Pattern(format!("(?{other:?}"))),
        }
        self.expect(')')
    }

    fn sets(&mut self) -> Result<Vec<CharSet>, LoadError> {
        Ok(self.atoms()?.into_iter().map(|atom| atom.set).collect())
    }

    fn atoms(&mut self) -> Result<Vec<Atom>, LoadError> {
        let mut atoms = Vec::new();
        while !matches!(self.chars.peek(), None | Some('|' | ')')) {
            atoms.push(self.atom()?);
        }
        Ok(atoms)
    }

    fn atom(&mut self) -> Result<Atom, LoadError> {
        let set = match self.take('[') {
            true => self.class()?,
            false => {
                let character = self.character()?;
                CharSet::from_ranges(vec![(character, character)])
            }
        };
        Ok(Atom { set, is_repeated: self.take('+') })
    }

    /// Parses what follows `[`, up to and including its `]`.
    fn class(&mut self) -> Result<CharSet, LoadError> {
        let mut ranges = Vec::new();
        while !self.take(']') {
            let low = self.character()?;
            let mut ahead = self.chars.clone();
            // A hyphen before the closing bracket is a literal hyphen.
            let is_range =
                ahead.next() == Some('-') && ahead.next().is_some_and(|next| next != ']');
            if is_range {
                self.expect('-')?;
            }
            let high = if is_range { self.character()? } else { low };
            ranges.push((low, high));
        }
        Ok(CharSet::from_ranges(ranges))
    }

    /// Parses a character, perhaps escaped.
    fn character(&mut self) -> Result<char, LoadError> {
        let ended = || LoadError::Pattern("an end".to_owned());
        let character = self.chars.next().ok_or_else(ended)?;
        if character != '\\' {
            return Ok(character);
        }
        let n_digits = match self.chars.next().ok_or_else(ended)? {
            'u' => 4,
            'U' => 8,
            escaped if escaped.is_ascii_alphanumeric() => {
                return Err(LoadError::Pattern(format!("\\{escaped}")));
            }
            escaped => return Ok(escaped),
        };
        let digits: String = self.chars.by_ref().take(n_digits).collect();
        let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
        code.ok_or(LoadError::Pattern(digits))
    }
}

/// Returns the character sets of a pattern that `Pattern` cannot parse, in order of appearance.
pub(super) fn classes(source: &str) -> Vec<CharSet> {
    let starts = source.match_indices('[').map(|(at, _)| at + 1);
    let read = |start| Reader { chars: source.get(start..)?.chars().peekable() }.class().ok();
    starts.filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn pattern(source: &str) -> Pattern {
        Pattern::parse(source).expect("a pattern")
    }

    #[test]
    fn the_first_alternative_that_fits_counts() {
        let infix = pattern(r"\.\.+|(?<=[a-z])(?:-|--)(?=[A-Z\u00e9])|(?<=[0-9])[+\-\*](?=[0-9-])");
        for (text, at, length) in [
            ("a....b", 1, Some(4)),
            ("a.b", 1, None),
            ("a-B", 1, Some(1)),
            ("a--B", 1, Some(2)),
            ("a--é", 1, Some(2)),
            ("A-B", 1, None),
            ("1--2", 1, Some(1)),
            ("1*", 1, None),
        ] {
            assert_eq!(infix.length_at(text, at), length, "{text}");
        }
    }

    #[test]
    fn the_longest_end_counts() {
        let suffix = pattern(r"\.\.+$|'s$|s$|(?<=[0-9])(?:km|m)$|(?<=[a-z%][a-z])\.$");
        for (text, length) in [
            ("it's", Some(2)),
            ("its", Some(1)),
            ("5km", Some(2)),
            ("5m", Some(1)),
            ("km", None),
            ("end...", Some(3)),
            ("..", Some(2)),
            ("end.", Some(1)),
            ("d.", None),
            ("v2.3.", None),
        ] {
            assert_eq!(suffix.length_at_end(text), length, "{text}");
        }
    }

    #[test]
    fn what_a_pattern_cannot_say_is_an_error() {
        for source in [r"\d+", "(?P<a>b)", "[a", "a)", r"\uzzzz"] {
            assert!(Pattern::parse(source).is_err(), "{source}");
        }
    }
}
