//! Reads YAML within limits, so that hostile front matter costs milliseconds.
//!
//! In: the text between the marks. Out: a value, what of it could not be read, and the lines of the outermost keys.
//! Invariants: a scalar is the characters that were written, unless it is written as JSON writes a number or boolean
//! (`1.10`, `0x1F`, `True` and `.inf` are strings, `42` and `true` are not); what cannot be read costs its own value;
//! of a duplicate key the first counts; time is linear in the text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle, Tag};
use serde_json::{Map, Number, Value};

/// Longest front matter that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// Most parser events.
const MAX_EVENTS: usize = 20_000;
/// Deepest nesting.
const MAX_DEPTH: usize = 32;
/// Most that all aliases together repeat, in bytes ([`size`]).
const MAX_REPEATED: usize = 4 * MAX_BYTES;
/// Longest reason taken from the parser, in characters.
const MAX_REASON_CHARS: usize = 160;

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Its outermost key, if it is within one.
    pub(crate) key: Option<String>,
    /// From 1.
    pub(crate) line: usize,
    pub(crate) why: String,
}

/// An outermost key, in the order of the text.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Line of the key, from 1.
    pub(crate) line: usize,
    /// Where the key begins, and where its text ends.
    pub(crate) key: Range<usize>,
    /// Where the last part of the value ends; the end of the key if there is none.
    pub(crate) end: usize,
}

/// A text of YAML.
#[derive(Debug, Default)]
pub(crate) struct Yaml {
    pub(crate) value: Value,
    /// What was left out of the value.
    pub(crate) faults: Vec<Fault>,
    /// Keys that their map, at any depth, has already.
    pub(crate) repeated: Vec<Fault>,
    /// Empty for a map in braces, whose keys have no lines of their own.
    pub(crate) entries: Vec<Entry>,
}

/// Reads a value of at most [`MAX_BYTES`]; the caller checks the size.
pub(crate) fn read(yaml: &str) -> Result<Yaml, Fault> {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader = Reader {
        events: Parser::new_from_str_with_options(yaml, options),
        n_events: 0,
        n_repeated: 0,
        anchors: HashMap::new(),
        key: None,
        line: 1,
        end: 0,
        found: Yaml::default(),
    };
    reader.document()?;
    Ok(reader.found)
}

/// Reads a map, also one of which some keys cannot be parsed: those are left out, with a fault each, if the others can
/// be parsed without them.
pub(crate) fn read_map(yaml: &str) -> Result<Yaml, Fault> {
    let whole = match read(yaml) {
        Err(whole) => whole,
        found => return found,
    };
    let mut rest = String::with_capacity(yaml.len());
    let mut faults = Vec::new();
    let (mut line, mut n_read) = (1, 0);
    for entry in entries_of(yaml) {
        match read(entry) {
            Ok(found) if found.value.is_object() || found.value.is_null() => {
                n_read += usize::from(!found.value.is_null());
                rest.push_str(entry);
            }
            found => {
                // Blanks in its place, so that the lines and offsets of the others stay.
                rest.extend(entry.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
                let key = entry.split([':', '\n']).next().unwrap_or("").trim();
                let key = Some(key.chars().take(MAX_REASON_CHARS).collect());
                let why =
                    found.map_or_else(|it| it.why, |_| "this is no key with a value".to_string());
                faults.push(Fault { key, line, why });
            }
        }
        line += entry.matches('\n').count();
    }
    if n_read == 0 {
        return Err(whole);
    }
    let mut found = read(&rest).map_err(|_| whole)?;
    found.faults.splice(0..0, faults);
    Ok(found)
}

/// Splits a map at the lines that begin a key: those that begin with anything but a blank, a comment, the item of a
/// list, or the end of brackets.
fn entries_of(yaml: &str) -> impl Iterator<Item = &str> {
    let mut rest = yaml;
    std::iter::from_fn(move || {
        let goes_on = |line: &str| {
            line.starts_with([' ', '\t', '\r', '\n', '#', ']', '}']) || line.starts_with("- ")
        };
        let mut lines = rest.split_inclusive('\n');
        let first = lines.next()?.len();
        let below: usize = lines.take_while(|line| goes_on(line)).map(str::len).sum();
        let (entry, after) = rest.split_at(first + below);
        rest = after;
        Some(entry)
    })
}

/// Composes values from the parser's events.
struct Reader<'y> {
    events: Parser<'y, StrInput<'y>>,
    n_events: usize,
    n_repeated: usize,
    anchors: HashMap<usize, Value>,
    /// The outermost key in which the reader is.
    key: Option<String>,
    /// Line of the last event.
    line: usize,
    /// Where the last scalar, alias or bracket ends.
    end: usize,
    found: Yaml,
}

type Node<'y> = (Event<'y>, Span);

impl<'y> Reader<'y> {
    fn next(&mut self) -> Result<Node<'y>, Fault> {
        let fault = |line: usize, why: &str| {
            let why = why.chars().take(MAX_REASON_CHARS).collect();
            Fault { key: None, line: line.max(1), why }
        };
        self.n_events += 1;
        if self.n_events > MAX_EVENTS {
            return Err(fault(self.line, &format!("there are more than {MAX_EVENTS} values")));
        }
        let end = || Ok((Event::StreamEnd, Span::default()));
        let (event, span) = self.events.next_event().unwrap_or_else(end).map_err(|error| {
            // The parser's own place counts from the YAML's start, not the file's.
            fault(error.marker().line(), &error.kind().to_string())
        })?;
        self.line = span.start.line();
        if !matches!(event, Event::StreamEnd | Event::DocumentEnd) {
            let bytes = span.byte_range().unwrap_or_default();
            self.end = if bytes.is_empty() { self.end } else { bytes.end };
        }
        Ok((event, span))
    }

    fn document(&mut self) -> Result<(), Fault> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::StreamStart | Event::DocumentEnd, _) => {}
                (Event::DocumentStart(..), _) if self.found.value.is_null() => {
                    let root = self.next()?;
                    let is_block = matches!(root.0, Event::MappingStart(StructureStyle::Block, ..));
                    self.found.value = match root.0 {
                        Event::MappingStart(_, anchor, _) => self.map(anchor, Some(is_block))?,
                        _ => self.node(root)?.unwrap_or_default(),
                    };
                }
                _ => return Err(self.fault("there are several documents")),
            }
        }
    }

    /// Composes the value that begins with an event; `None` if it could not be read.
    fn node(&mut self, node: Node<'y>) -> Result<Option<Value>, Fault> {
        let (event, span) = node;
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (anchor, scalar(text, style, tag.as_deref()))
            }
            Event::Alias(id) => return Ok(self.repeat(id)),
            Event::MappingStart(_, anchor, _) => return self.map(anchor, None).map(Some),
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break (anchor, Value::Array(items)),
                        item => items.extend(self.node(item)?),
                    }
                }
            }
            Event::UnresolvedAlias(name) => {
                self.report(span.start.line(), format!("`*{name}` refers to nothing"));
                return Ok(None);
            }
            _ => return Err(self.fault("this is no value")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(Some(value))
    }

    /// Composes a map. `outermost`: set for the outermost one; whether its keys stand on lines of their own.
    fn map(&mut self, anchor: usize, outermost: Option<bool>) -> Result<Value, Fault> {
        let (mut map, mut merged) = (Map::new(), Vec::new());
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let place = span.byte_range().unwrap_or_default();
            let is_merge =
                matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
            let name = match (&event, self.node((event.clone(), span))?) {
                (Event::Scalar(text, ..), _) => Some(text.to_string()),
                (_, Some(Value::String(text))) => Some(text),
                _ => None,
            };
            if outermost.is_some() {
                self.key.clone_from(&name);
            }
            // An empty key has no place of its own.
            let key_end = self.end.max(place.start);
            let value = self.next()?;
            let value = self.node(value)?;
            match (name, value) {
                (None, _) => self.report(span.start.line(), "this is no name of a key".to_string()),
                (Some(name), value) => {
                    let line = span.start.line();
                    if outermost == Some(true) {
                        let key = place.start..key_end;
                        self.found.entries.push(Entry {
                            name: name.clone(),
                            line,
                            key,
                            end: self.end,
                        });
                    }
                    match value {
                        Some(value) if is_merge => merged.push(value),
                        Some(value) if !map.contains_key(&name) => {
                            map.insert(name, value);
                        }
                        Some(_) => {
                            let why = format!("`{name}` is there twice");
                            self.found.repeated.push(Fault { key: self.key.clone(), line, why });
                        }
                        None => {}
                    }
                }
            }
        }
        for value in merged {
            let maps = if let Value::Array(items) = value { items } else { vec![value] };
            for map_below in maps {
                let Value::Object(below) = map_below else { continue };
                below.into_iter().for_each(|(key, value)| {
                    map.entry(key).or_insert(value);
                });
            }
        }
        let map = Value::Object(map);
        if anchor > 0 {
            self.anchors.insert(anchor, map.clone());
        }
        Ok(map)
    }

    fn repeat(&mut self, id: usize) -> Option<Value> {
        let value = self.anchors.get(&id).filter(|value| {
            self.n_repeated += size(value);
            self.n_repeated <= MAX_REPEATED
        });
        let value = value.cloned();
        if value.is_none() {
            self.report(self.line, "an alias refers to itself, or repeats too much".to_string());
        }
        value
    }

    fn report(&mut self, line: usize, why: String) {
        let fault = Fault { key: self.key.clone(), line, why };
        // A line of hundreds of bad aliases has one warning.
        if self.found.faults.last() != Some(&fault) {
            self.found.faults.push(fault);
        }
    }

    fn fault(&self, why: &str) -> Fault {
        Fault { key: None, line: self.line, why: why.to_string() }
    }
}

/// Returns the value of a scalar: the characters written, or what they are in JSON if it would write the same.
fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = |tag: &Tag| tag.is_yaml_core_schema_tag("str") || tag.original() == "!";
    if style != ScalarStyle::Plain || tag.is_some_and(is_text) {
        return Value::String(text.into_owned());
    }
    if matches!(&*text, "" | "~" | "null" | "Null" | "NULL") {
        return Value::Null;
    }
    if let "true" | "false" = &*text {
        return Value::Bool(text == "true");
    }
    let whole =
        text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from));
    let number = whole.ok().or_else(|| Number::from_f64(text.parse().ok()?));
    match number.filter(|number| number.to_string() == *text) {
        Some(number) => Value::Number(number),
        None => Value::String(text.into_owned()),
    }
}

/// Returns about how much memory a value takes, in bytes: its texts, and a little for each value in it.
fn size(value: &Value) -> usize {
    const EACH: usize = 16;
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
