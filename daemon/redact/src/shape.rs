//! Shapes: the form of known issuers' secrets, one for each row of `config/secrets.tsv`.
//!
//! In: a text and the place of a shape's literal. Out: the range to replace.
//! Invariants: a check reads no more than the shape is long; every row has a literal of at least two characters.

use std::ops::Range;
use std::sync::LazyLock;

use super::likely::{entropy, is_stand_in};
use super::special::{self, Special};
use super::token::{Set, begins_token, is_in, is_uuid, run_before, run_within, set_of};

const TABLE: &str = include_str!("../../../config/secrets.tsv");

/// How far before a token one of its words may be, in bytes.
const NEAR_BYTES: usize = 120;

/// A kind of secret.
pub(super) struct Shape {
    /// Its name in marks and counts.
    pub(super) kind: &'static str,
    /// The longest literal that every secret of this kind contains.
    pub(super) literal: &'static str,
    /// Items before the literal, the nearest first, and after it.
    before: Vec<Item>,
    after: Vec<Item>,
    checks: Checks,
    special: Option<Special>,
}

/// Conditions on a token in addition to its shape.
struct Checks {
    /// Least entropy, in bits per byte.
    floor: f64,
    /// Names of the others.
    flags: &'static str,
    /// Words of which one must shortly precede the token, lowercase.
    words: Vec<&'static str>,
}

#[derive(Clone, Copy)]
enum Item {
    Literal(&'static str),
    Run {
        set: &'static Set,
        least: usize,
        most: usize,
    },
    Uuid,
    /// Where the part to be replaced begins and ends.
    Open,
    Close,
}

/// The rows of the table.
pub(super) static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| rows().flatten().collect());

/// Returns the issuers whose secrets have no shape of their own.
pub(super) fn issuers() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter_map(|line| line.strip_prefix("issuers\t")).flat_map(|it| it.split(' '))
}

/// Returns every row of the table, once for each of the alternatives in its shape.
pub(super) fn rows() -> impl Iterator<Item = Option<Shape>> {
    let is_row = |line: &&str| !line.starts_with('#') && !line.starts_with("issuers\t");
    TABLE.lines().filter(is_row).flat_map(|line| {
        let mut cells = line.split('\t');
        let mut next = || cells.next().unwrap_or("");
        let (kind, shape, floor, flags, words) = (next(), next(), next(), next(), next());
        let row = move |shape| {
            let words = words.split(',').filter(|it| !it.is_empty()).collect();
            Shape::new(kind, shape, Checks { floor: floor.parse().unwrap_or(0.0), flags, words })
        };
        alternatives(shape).into_iter().map(row)
    })
}

/// Returns the shapes that `gh[o,p]_{a36}` stands for.
fn alternatives(shape: &'static str) -> Vec<&'static str> {
    let parts = shape.split_once('[').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once(']')?;
        Some((before, inside, alternatives(after)))
    });
    let Some((before, inside, after)) = parts else { return vec![shape] };
    let one = |it: &str, after: &&str| -> &'static str { format!("{before}{it}{after}").leak() };
    inside.split(',').flat_map(|it| after.iter().map(move |after| one(it, after))).collect()
}

impl Shape {
    /// Parses a shape; `None` for a malformed one, which tests rule out.
    fn new(kind: &'static str, shape: &'static str, checks: Checks) -> Option<Shape> {
        if let Some((name, literal)) = shape.strip_prefix('@').and_then(|it| it.split_once(':')) {
            let special = Some(special::by_name(name)?);
            return Some(Shape { kind, literal, before: vec![], after: vec![], checks, special });
        }
        let mut items = items_of(shape)?;
        // The longest literal is searched for; the items on either side are matched from there. `rev`, so that the
        // first of equal ones wins.
        let length = |item: &Item| if let Item::Literal(it) = item { it.len() } else { 0 };
        let anchor = (0..items.len()).rev().max_by_key(|i| items.get(*i).map_or(0, length))?;
        let after = items.split_off(anchor + 1);
        let Some(Item::Literal(literal)) = items.pop() else { return None };
        items.reverse();
        let shape = Shape { kind, literal, before: items, after, checks, special: None };
        (literal.len() >= 2).then_some(shape)
    }
}

/// Parses a shape.
fn items_of(shape: &'static str) -> Option<Vec<Item>> {
    let mut items = Vec::new();
    let mut rest = shape;
    while let Some(first) = rest.chars().next() {
        let (item, n) = match first {
            '(' => (Item::Open, 1),
            ')' => (Item::Close, 1),
            _ => match run_of(rest) {
                Some(found) => found,
                None => {
                    // A brace that does not begin a run is part of the literal.
                    let is_end = |(i, c): &(usize, char)| {
                        matches!(c, '(' | ')')
                            || (*i > 0
                                && *c == '{'
                                && run_of(rest.get(*i..).unwrap_or("")).is_some())
                    };
                    let n = rest.char_indices().find(is_end).map_or(rest.len(), |(i, _)| i);
                    (Item::Literal(rest.get(..n)?), n)
                }
            },
        };
        items.push(item);
        rest = rest.get(n..)?;
    }
    Some(items)
}

/// Parses `{h32}`, `{u20-300}` or `{g}` at the start of a text; also returns its length.
fn run_of(text: &str) -> Option<(Item, usize)> {
    let (inner, _) = text.strip_prefix('{')?.split_once('}')?;
    let n = inner.len() + 2;
    if inner == "g" {
        return Some((Item::Uuid, n));
    }
    let mut letters = inner.chars();
    let set = set_of(letters.next()?)?;
    let (least, most) =
        letters.as_str().split_once('-').unwrap_or((letters.as_str(), letters.as_str()));
    Some((Item::Run { set, least: least.parse().ok()?, most: most.parse().ok()? }, n))
}

impl Shape {
    /// Returns the range to replace, given the literal's place.
    pub(super) fn at(&self, text: &str, place: Range<usize>) -> Option<Range<usize>> {
        if let Some(special) = self.special {
            return special(text, place);
        }
        let mut part = Part::default();
        let start = backward(text, place.start, &self.before, &mut part)?;
        let end = forward(text, place.end, &self.after, &mut part)?;
        // A part that is replaced without its beginning may be anywhere in a word.
        if part.start.is_none() && !begins_token(text, start) {
            return None;
        }
        let range = part.start.unwrap_or(start)..part.end.unwrap_or(end);
        self.checks.hold(text, start, place.len(), &range).then_some(range)
    }
}

/// The part of a match to be replaced.
#[derive(Default)]
struct Part {
    start: Option<usize>,
    end: Option<usize>,
}

impl Checks {
    fn hold(&self, text: &str, start: usize, n_literal: usize, range: &Range<usize>) -> bool {
        let token = text.get(range.clone()).unwrap_or("");
        let before = start.checked_sub(1).and_then(|i| text.as_bytes().get(i));
        let is_apart = !before.is_some_and(|byte| b"-./+".contains(byte));
        // The literal may be the only mixed part, so it is left out.
        let body = if range.start == start { token.get(n_literal..).unwrap_or("") } else { token };
        let n_digits = token.bytes().filter(u8::is_ascii_digit).count();
        let asks = |flag: &str| self.flags.contains(flag);
        (!asks("apart") || is_apart)
            && (!asks("mixed") || is_mixed(body))
            && (!asks("hex") || body.bytes().all(|byte| byte.is_ascii_hexdigit()))
            && (!asks("digits") || n_digits >= 4)
            && (!asks("password") || !is_stand_in(token))
            && (self.floor == 0.0 || entropy(token) >= self.floor)
            && (self.words.is_empty() || self.is_near(text, start))
    }

    fn is_near(&self, text: &str, place: usize) -> bool {
        let from = place.saturating_sub(NEAR_BYTES);
        let before = text.as_bytes().get(from..place).unwrap_or(&[]).to_ascii_lowercase();
        self.words.iter().any(|word| memchr::memmem::find(&before, word.as_bytes()).is_some())
    }
}

/// True for at least 8 letters and digits in a row with both kinds: `sk-learn-model-selection` is a name.
fn is_mixed(body: &str) -> bool {
    body.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| {
        part.len() >= 8
            && part.bytes().any(|byte| byte.is_ascii_digit())
            && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

fn backward(text: &str, from: usize, items: &[Item], part: &mut Part) -> Option<usize> {
    let mut at = from;
    for (i, item) in items.iter().enumerate() {
        at -= match item {
            Item::Literal(literal) => {
                text.get(..at)?.ends_with(literal).then_some(literal.len())?
            }
            Item::Uuid => text.get(at.checked_sub(36)?..at).filter(|it| is_uuid(it))?.len(),
            Item::Run { set, least, most } => {
                // One more than allowed, to notice a run that is too long; not for a fixed length before another
                // item.
                let bound = if least == most && i + 1 < items.len() { *most } else { most + 1 };
                let n = run_before(text, at, set, bound);
                (*least..=*most).contains(&n).then_some(n)?
            }
            Item::Open => {
                part.start = Some(at);
                0
            }
            Item::Close => {
                part.end = Some(at);
                0
            }
        };
    }
    Some(at)
}

fn forward(text: &str, from: usize, items: &[Item], part: &mut Part) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    for (i, item) in items.iter().enumerate() {
        at += match item {
            Item::Literal(literal) => {
                text.get(at..)?.starts_with(literal).then_some(literal.len())?
            }
            Item::Uuid => text.get(at..at.checked_add(36)?).filter(|it| is_uuid(it))?.len(),
            Item::Run { set, least, most } => {
                // As in `backward`, but closing marks do not count as items.
                let is_last = items
                    .get(i + 1..)
                    .is_none_or(|rest| rest.iter().all(|it| matches!(it, Item::Close)));
                let bound = if least == most && !is_last { *most } else { most + 1 };
                let mut n = run_within(text, at, set, bound);
                // A dot at the end belongs to the sentence.
                while is_last
                    && n > *least
                    && is_in(set, b'.')
                    && bytes.get(at + n - 1) == Some(&b'.')
                {
                    n -= 1;
                }
                (*least..=*most).contains(&n).then_some(n)?
            }
            Item::Open => {
                part.start = Some(at);
                0
            }
            Item::Close => {
                part.end = Some(at);
                0
            }
        };
    }
    // A letter, digit or `_` right after it means that this is a longer word of another kind.
    let is_cut = bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    (!is_cut || items.is_empty()).then_some(at)
}
