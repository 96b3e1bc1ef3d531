//! JSON with comments: changes one entry of a file and keeps every other byte.
//!
//! In: a text, a key, a value. Out: the text with the entry, or without it.
//! Invariants: an inserted entry follows the file's own indentation, line ends and trailing commas;
//! removing an entry that was just inserted restores the text.

use jsonc_parser::ast::{Object, ObjectProp};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast, parse_to_serde_value};
use serde_json::Value;

use super::edit::EditError;

/// Allows comments and trailing commas, and no other deviation from JSON.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Indentation for a file that has none.
const UNIT: &str = "  ";

/// Replaces an empty file.
const EMPTY: &str = "{}\n";

/// Parses a text; an empty one counts as `{}`.
pub(super) fn value(text: &str) -> Result<Value, EditError> {
    parse_to_serde_value(or_empty(text), &DIALECT).map_err(|error| EditError::Parse {
        line: error.line_display(),
        column: error.column_display(),
        why: error.kind().to_string(),
    })
}

fn or_empty(text: &str) -> &str {
    if text.trim().is_empty() { EMPTY } else { text }
}

/// Returns the text with `value` at `key` of the outermost object. Objects are merged: fields that
/// `value` does not have stay.
pub(super) fn put(text: &str, key: &str, value: &Value) -> Option<String> {
    let text = or_empty(text);
    let parsed = Parsed::new(text)?;
    let mut splices = Vec::new();
    parsed.put(parsed.root.as_object()?, key, value, &mut splices);
    Some(apply(text, splices))
}

/// Returns the text without the entry `name` in the object at `list`.
pub(super) fn remove(text: &str, list: &str, name: &str) -> Option<String> {
    let parsed = Parsed::new(text)?;
    let entries = parsed.root.as_object()?.get_object(list)?;
    let splices = parsed.remove(entries, name)?;
    Some(apply(text, splices))
}

/// Returns the text without a property of the outermost object.
pub(super) fn remove_outermost(text: &str, key: &str) -> Option<String> {
    let parsed = Parsed::new(text)?;
    let splices = parsed.remove(parsed.root.as_object()?, key)?;
    Some(apply(text, splices))
}

/// Replaces the bytes `from..to`.
struct Splice {
    from: usize,
    to: usize,
    text: String,
}

fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|it| it.from);
    let mut out = String::new();
    let mut at = 0;
    for splice in splices {
        out.push_str(&text[at..splice.from]);
        out.push_str(&splice.text);
        at = splice.to;
    }
    out + &text[at..]
}

struct Parsed<'a> {
    text: &'a str,
    root: jsonc_parser::ast::Value<'a>,
    tokens: Vec<TokenAndRange<'a>>,
}

impl<'a> Parsed<'a> {
    fn new(text: &'a str) -> Option<Self> {
        let collect = CollectOptions { tokens: true, ..CollectOptions::default() };
        let parsed = parse_to_ast(text, &collect, &DIALECT).ok()?;
        Some(Parsed { text, root: parsed.value?, tokens: parsed.tokens? })
    }

    fn put(&self, object: &Object<'_>, key: &str, value: &Value, splices: &mut Vec<Splice>) {
        let Some(property) = object.get(key) else {
            return self.append(object, key, value, splices);
        };
        match (property.value.as_object(), value) {
            (Some(inner), Value::Object(fields)) => {
                // Only one splice may go to the end of an object, so new fields are added together.
                let (known, new): (Vec<_>, Vec<_>) =
                    fields.iter().partition(|(name, _)| inner.get(name).is_some());
                for (name, field) in known {
                    self.put(inner, name, field, splices);
                }
                self.append_all(inner, &new, splices);
            }
            _ => {
                let range = jsonc_parser::common::Ranged::range(&property.value);
                let old = self.text.get(range.start..range.end).unwrap_or_default();
                if parse_to_serde_value::<Value>(old, &DIALECT).is_ok_and(|old| old == *value) {
                    return;
                }
                let style = self.style(object);
                let text = style.rendered(value, &style.child);
                splices.push(Splice { from: range.start, to: range.end, text });
            }
        }
    }

    fn append(&self, object: &Object<'_>, key: &str, value: &Value, splices: &mut Vec<Splice>) {
        self.append_all(object, &[(&key.to_string(), value)], splices);
    }

    /// Adds properties after the last one, and after the comments that follow it.
    fn append_all(
        &self,
        object: &Object<'_>,
        fields: &[(&String, &Value)],
        splices: &mut Vec<Splice>,
    ) {
        if fields.is_empty() {
            return;
        }
        let style = self.style(object);
        let last = object.properties.last().map(|it| it.range.end);
        let comma = last.and_then(|end| self.comma(end));
        if let (Some(end), None) = (last, comma) {
            splices.push(Splice { from: end, to: end, text: ",".into() });
        }
        let inside = last.unwrap_or(object.range.start + 1);
        let tail = &self.text[inside..object.range.end - 1];
        let at = inside + tail.trim_end().len();
        let separator = if style.is_one_line {
            " ".into()
        } else {
            format!("{}{}", style.newline, style.child)
        };
        let fields = fields.iter().map(|(key, value)| {
            format!(
                "{separator}{}: {}",
                Value::from(key.as_str()),
                style.rendered(value, &style.child)
            )
        });
        let mut text = fields.collect::<Vec<_>>().join(",");
        if comma.is_some() {
            text.push(',');
        }
        let rest = &self.text[at..object.range.end - 1];
        if !style.is_one_line && !rest.contains('\n') {
            text.push_str(&format!("{}{}", style.newline, style.own));
        }
        splices.push(Splice { from: at, to: at, text });
    }

    fn remove(&self, object: &Object<'_>, key: &str) -> Option<Vec<Splice>> {
        let at = object.properties.iter().position(|it| it.name.as_str() == key)?;
        let property: &ObjectProp<'_> = &object.properties[at];
        let (is_first, is_last) = (at == 0, at + 1 == object.properties.len());
        let (start, end) = (property.range.start, property.range.end);
        let comma = self.comma(end);
        let mut from = self.text[..start].trim_end_matches([' ', '\t']).len();
        let mut to = comma.map_or(end, |comma| comma + 1);
        if let Some(before) = self.text[..from].strip_suffix('\n') {
            from = before.strip_suffix('\r').unwrap_or(before).len();
        } else if !is_last {
            from = start;
            to += self.text[to..].len() - self.text[to..].trim_start_matches([' ', '\t']).len();
        }
        let mut splices = Vec::new();
        if is_last && !is_first && comma.is_none() {
            // The property that is now last had a comma only because another followed.
            let previous = object.properties[at - 1].range.end;
            let comma = self.comma(previous)?;
            splices.push(Splice { from: comma, to: comma + 1, text: String::new() });
        }
        let (open, close) = (object.range.start + 1, object.range.end - 1);
        if is_first
            && is_last
            && self.text[open..from].trim().is_empty()
            && self.text[to..close].trim().is_empty()
        {
            (from, to) = (open, close);
        }
        splices.push(Splice { from, to, text: String::new() });
        Some(splices)
    }

    /// Returns the place of the comma after a property that ends at `end`.
    fn comma(&self, end: usize) -> Option<usize> {
        let next = self.tokens.iter().find(|it| it.range.start >= end)?;
        (next.token == Token::Comma).then_some(next.range.start)
    }

    fn style(&self, object: &Object<'_>) -> Style {
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let whole = &self.text[object.range.start..object.range.end];
        let own = self.indent(object.range.start);
        let unit = self.unit();
        let child = match object.properties.first() {
            Some(first) if whole.contains('\n') => self.indent(first.range.start),
            _ => format!("{own}{unit}"),
        };
        let is_one_line = !object.properties.is_empty() && !whole.contains('\n');
        Style { newline, own, child, unit, is_one_line }
    }

    /// Returns the indentation of the line at a byte.
    fn indent(&self, at: usize) -> String {
        let start = self.text[..at].rfind('\n').map_or(0, |it| it + 1);
        let line = &self.text[start..];
        line[..line.len() - line.trim_start_matches([' ', '\t']).len()].to_string()
    }

    /// Returns the indentation of the outermost properties, which is that of one level.
    fn unit(&self) -> String {
        let first = self.root.as_object().and_then(|it| it.properties.first());
        let unit = first.map(|it| self.indent(it.range.start)).unwrap_or_default();
        if unit.is_empty() { UNIT.into() } else { unit }
    }
}

/// How an object is written.
struct Style {
    newline: &'static str,
    /// Indentation of the line on which it begins.
    own: String,
    /// Indentation of its properties.
    child: String,
    unit: String,
    is_one_line: bool,
}

impl Style {
    /// Renders a value: objects on several lines, arrays on one.
    fn rendered(&self, value: &Value, indent: &str) -> String {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let inner = format!("{indent}{}", self.unit);
                let fields = fields.iter().map(|(name, field)| {
                    let text =
                        format!("{}: {}", Value::from(name.as_str()), self.rendered(field, &inner));
                    if self.is_one_line { text } else { format!("{}{inner}{text}", self.newline) }
                });
                let fields: Vec<_> = fields.collect();
                match self.is_one_line {
                    true => format!("{{ {} }}", fields.join(", ")),
                    false => format!("{{{}{}{indent}}}", fields.join(","), self.newline),
                }
            }
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(|it| self.rendered(it, indent)).collect();
                format!("[{}]", items.join(", "))
            }
            other => other.to_string(),
        }
    }
}
