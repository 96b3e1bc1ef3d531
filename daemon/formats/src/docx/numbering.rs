//! Numbering: the lists of a document, and the numbers of their paragraphs.
//!
//! In: `numbering.xml`, then paragraphs in order. Out: for each numbered paragraph its number, and the label as
//! Word shows it (`2.3.1`, `Article I.`).
//! Invariants: a list that continues after other text continues its numbers; a number on one level restarts the
//! deeper levels; instances of one definition share its count, except for explicit restarts.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::model::Numbered;
use super::xml::{Space, Tag, Token, Xml};

/// Levels of a list in Word.
const N_LEVELS: usize = 9;
/// Most definitions and instances that are kept.
const MAX_LISTS: usize = 20_000;
/// Longest pattern of a label, in characters.
const MAX_PATTERN_CHARS: usize = 100;

/// The lists that a document declares.
#[derive(Default)]
pub(super) struct Numbering {
    /// List definitions by id.
    definitions: HashMap<u32, Definition>,
    /// Instances by the id that paragraphs use.
    instances: HashMap<u32, Instance>,
}

#[derive(Default)]
struct Definition {
    levels: [Level; N_LEVELS],
    /// The name of a list style that defines the list elsewhere.
    refers_to: Option<String>,
    /// The name of the list style that this definition belongs to.
    known_as: Option<String>,
}

#[derive(Clone, Default)]
struct Level {
    start: u32,
    format: NumberFormat,
    /// The label with a placeholder for each level: `%1.%2`.
    pattern: String,
    /// True if the numbers of all levels are shown as decimals.
    is_legal: bool,
    /// The style that implies this level.
    style: Option<String>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum NumberFormat {
    #[default]
    Decimal,
    Bullet,
    /// Without a number.
    None,
    LowerLetter,
    UpperLetter,
    LowerRoman,
    UpperRoman,
    DecimalZero,
}

#[derive(Default)]
struct Instance {
    definition: u32,
    starts: [Option<u32>; N_LEVELS],
}

impl Numbering {
    /// Reads `numbering.xml`.
    pub(super) fn read(text: &str) -> Self {
        let mut reading = NumberingReader::default();
        let mut xml = Xml::new(text);
        while let Some(token) = xml.next() {
            match token {
                Token::Open(tag) => reading.open(&tag),
                Token::Close => reading.close(),
                Token::Text(_) => {}
            }
        }
        let mut numbering = reading.found;
        numbering.follow_styles();
        numbering
    }

    /// Redirects instances of definitions that only refer to a list style to the definition of that style.
    fn follow_styles(&mut self) {
        let known: HashMap<String, u32> = self
            .definitions
            .iter()
            .filter_map(|(id, definition)| Some((definition.known_as.clone()?, *id)))
            .collect();
        for instance in self.instances.values_mut() {
            let refers =
                self.definitions.get(&instance.definition).and_then(|d| d.refers_to.as_ref());
            if let Some(id) = refers.and_then(|name| known.get(name)) {
                instance.definition = *id;
            }
        }
    }

    /// Returns the level of a list that a paragraph style implies.
    pub(super) fn level_of_style(&self, list: u32, style: &str) -> Option<u8> {
        let levels = &self.definition(list)?.levels;
        let place = levels.iter().position(|level| level.style.as_deref() == Some(style))?;
        u8::try_from(place).ok()
    }

    fn definition(&self, list: u32) -> Option<&Definition> {
        self.definitions.get(&self.instances.get(&list)?.definition)
    }
}

/// The number of one paragraph.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// The definition of its list; paragraphs of one list share it.
    pub(super) definition: u32,
    /// `None` for a bullet.
    pub(super) ordinal: Option<u32>,
    /// The label as it is shown; empty for a bullet.
    pub(super) label: String,
    /// True when the label contains the numbers of several levels.
    pub(super) is_compound: bool,
}

/// Counts the paragraphs of all lists.
#[derive(Default)]
pub(super) struct Counters {
    /// By definition: the last number of each level, `None` before the first.
    counts: HashMap<u32, [Option<u32>; N_LEVELS]>,
    /// Levels of instances whose own start has been used.
    started: HashMap<(u32, u8), ()>,
}

impl Counters {
    /// Counts one more paragraph; `None` when its list is not declared.
    pub(super) fn count(&mut self, lists: &Numbering, place: Numbered) -> Option<Number> {
        let instance = lists.instances.get(&place.list)?;
        let definition = lists.definitions.get(&instance.definition)?;
        let at = usize::from(place.level).min(N_LEVELS - 1);
        let level = definition.levels.get(at)?;
        let start = instance.starts.get(at).copied().flatten();
        let counts = self.counts.entry(instance.definition).or_default();
        // An instance's own start applies once, at its first paragraph.
        let is_restart =
            start.is_some() && self.started.insert((place.list, place.level), ()).is_none();
        let first = start.unwrap_or(level.start);
        let count = counts.get_mut(at)?;
        *count = match *count {
            Some(last) if !is_restart => Some(last.saturating_add(1)),
            // The first paragraph of its level, or of an instance with its own start.
            _ => Some(first),
        };
        let ordinal = *count;
        // A new number restarts all deeper levels.
        for deeper in counts.iter_mut().skip(at + 1) {
            *deeper = None;
        }
        let has_number = !matches!(level.format, NumberFormat::Bullet | NumberFormat::None);
        let shown = if has_number { label(definition, at, counts) } else { String::new() };
        Some(Number {
            definition: instance.definition,
            ordinal: ordinal.filter(|_| has_number),
            label: shown,
            is_compound: has_number && level.pattern.matches('%').count() > 1,
        })
    }
}

/// Returns the pattern with its placeholders replaced by numbers.
fn label(definition: &Definition, at: usize, counts: &[Option<u32>; N_LEVELS]) -> String {
    let Some(level) = definition.levels.get(at) else { return String::new() };
    let mut out = String::new();
    let mut rest = level.pattern.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let digit = after.chars().next().and_then(|c| c.to_digit(10)).filter(|digit| *digit > 0);
        // A `%` without a digit is an ordinary character.
        let Some(index) = digit.map(|digit| digit as usize - 1) else {
            out.push('%');
            rest = after;
            continue;
        };
        if let Some(shown) = definition.levels.get(index) {
            // A level that has not been counted yet shows its first number.
            let number = counts.get(index).copied().flatten().unwrap_or(shown.start);
            let is_decimal = level.is_legal && shown.format != NumberFormat::DecimalZero;
            let format = if is_decimal { NumberFormat::Decimal } else { shown.format };
            push_number(&mut out, number, format);
        }
        rest = after.get(1..).unwrap_or("");
    }
    out.push_str(rest);
    out.trim().to_string()
}

/// Appends a number in one of Word's formats; formats with other scripts are written as decimals.
fn push_number(out: &mut String, number: u32, format: NumberFormat) {
    match format {
        // Word repeats the letter; above 780 (30 letters), the number is written as a decimal.
        NumberFormat::LowerLetter | NumberFormat::UpperLetter if (1..=780).contains(&number) => {
            let base = if format == NumberFormat::LowerLetter { b'a' } else { b'A' };
            let letter = char::from(base + ((number - 1) % 26) as u8);
            // `aa`, `bb`, … come after `z`.
            (0..=(number - 1) / 26).for_each(|_| out.push(letter));
        }
        NumberFormat::LowerRoman | NumberFormat::UpperRoman if (1..=3_999).contains(&number) => {
            let roman = roman(number);
            out.push_str(&if format == NumberFormat::LowerRoman {
                roman.to_lowercase()
            } else {
                roman
            });
        }
        NumberFormat::DecimalZero => {
            let _ = write!(out, "{number:02}");
        }
        NumberFormat::Bullet | NumberFormat::None => {}
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

fn roman(mut number: u32) -> String {
    const STEPS: &[(u32, &str)] = &[
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut out = String::new();
    for (value, digits) in STEPS {
        while number >= *value {
            out.push_str(digits);
            number -= value;
        }
    }
    out
}

/// The state of reading `numbering.xml`.
#[derive(Default)]
struct NumberingReader {
    found: Numbering,
    depth: usize,
    definition: Option<(u32, Definition, usize)>,
    instance: Option<(u32, Instance, usize)>,
    level: usize,
}

impl NumberingReader {
    fn open(&mut self, tag: &Tag<'_>) {
        self.depth += 1;
        if tag.space != Space::Word {
            return;
        }
        match tag.local() {
            "abstractNum" if self.found.definitions.len() < MAX_LISTS => {
                let id = tag.number("abstractNumId").unwrap_or(0);
                self.definition = Some((id, Definition::default(), self.depth));
            }
            "num" if self.found.instances.len() < MAX_LISTS => {
                let id = tag.number("numId").unwrap_or(0);
                self.instance = Some((id, Instance::default(), self.depth));
            }
            "lvl" | "lvlOverride" => {
                self.level = tag.number("ilvl").unwrap_or(0) as usize;
            }
            _ => self.inside(tag),
        }
    }

    fn inside(&mut self, tag: &Tag<'_>) {
        if let Some((_, instance, _)) = &mut self.instance {
            match tag.local() {
                "abstractNumId" => instance.definition = tag.number("val").unwrap_or(0),
                "startOverride" => {
                    if let Some(start) = instance.starts.get_mut(self.level) {
                        *start = tag.number("val");
                    }
                }
                _ => {}
            }
        } else if let Some((_, definition, _)) = &mut self.definition {
            match tag.local() {
                "numStyleLink" => definition.refers_to = tag.attr("val").map(|v| v.into_owned()),
                "styleLink" => definition.known_as = tag.attr("val").map(|v| v.into_owned()),
                _ => {
                    if let Some(level) = definition.levels.get_mut(self.level) {
                        level.take(tag);
                    }
                }
            }
        }
    }

    fn close(&mut self) {
        if let Some((id, definition, _)) = self.definition.take_if(|(_, _, at)| *at == self.depth) {
            self.found.definitions.insert(id, definition);
        }
        if let Some((id, instance, _)) = self.instance.take_if(|(_, _, at)| *at == self.depth) {
            self.found.instances.insert(id, instance);
        }
        self.depth = self.depth.saturating_sub(1);
    }
}

impl Level {
    fn take(&mut self, tag: &Tag<'_>) {
        match tag.local() {
            "start" => self.start = tag.number("val").unwrap_or(0),
            "numFmt" => {
                self.format = match &*tag.attr("val").unwrap_or_default() {
                    "bullet" => NumberFormat::Bullet,
                    "none" => NumberFormat::None,
                    "lowerLetter" => NumberFormat::LowerLetter,
                    "upperLetter" => NumberFormat::UpperLetter,
                    "lowerRoman" => NumberFormat::LowerRoman,
                    "upperRoman" => NumberFormat::UpperRoman,
                    "decimalZero" => NumberFormat::DecimalZero,
                    _ => NumberFormat::Decimal,
                };
            }
            "lvlText" => {
                let pattern = tag.attr("val").unwrap_or_default();
                self.pattern = pattern.chars().take(MAX_PATTERN_CHARS).collect();
            }
            "isLgl" => {
                self.is_legal = tag.attr("val").is_none_or(|it| &*it != "0" && &*it != "false")
            }
            "pStyle" => self.style = tag.attr("val").map(|style| style.into_owned()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NumberFormat, push_number};

    #[test]
    fn numbers_are_written_in_the_formats_of_word() {
        let rows = [
            (4, NumberFormat::LowerRoman, "iv"),
            (1_994, NumberFormat::UpperRoman, "MCMXCIV"),
            (27, NumberFormat::LowerLetter, "aa"),
            (3, NumberFormat::UpperLetter, "C"),
            (7, NumberFormat::DecimalZero, "07"),
            (0, NumberFormat::LowerRoman, "0"),
            (4_000_000_000, NumberFormat::UpperLetter, "4000000000"),
            (5, NumberFormat::Bullet, ""),
        ];
        for (number, format, expected) in rows {
            let mut out = String::new();
            push_number(&mut out, number, format);
            assert_eq!(out, expected);
        }
    }
}
