//! Lenient: converts arguments to what a tool's schema expects, if there is only one way to read them.
//!
//! In: a tool's name and the arguments as they were sent. Out: the arguments with the tool's own names and types.
//! Invariants: a name that the tool has and a value that fits stay as they are; an ambiguous value stays, too, and
//! parsing reports it; what is empty counts as left out, except a text to write; tools of `kgctl` are left alone: it
//! sends exact arguments.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Number, Value};

mod concepts;

use self::concepts::meant;
use crate::catalog::CATALOG;
use crate::tool::ToolSet;

/// Schemas of the parameters of the tools that agents call.
static SCHEMAS: LazyLock<BTreeMap<&'static str, Map<String, Value>>> = LazyLock::new(|| {
    let tools = CATALOG.iter().filter(|tool| tool.set != ToolSet::Admin);
    tools.map(|tool| (tool.name, (tool.input)())).collect()
});

/// Returns the arguments with the names and types of the tool's schema.
pub fn repair(tool: &str, arguments: Map<String, Value>) -> Map<String, Value> {
    match SCHEMAS.get(tool) {
        Some(schema) => object(schema, arguments),
        None => arguments,
    }
}

/// Returns the parameters that a caller gave by other names: the tool's own name, and the given one.
pub fn renamed(tool: &str, arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let Some(schema) = SCHEMAS.get(tool) else { return Vec::new() };
    let (own, foreign) = split_names(schema, arguments.clone());
    let given: Map<String, Value> = own.into_iter().collect();
    let own_of = |(name, _): (String, Value)| Some((own_name(schema, &name, &given)?, name));
    foreign.into_iter().filter_map(own_of).collect()
}

/// Returns the tool's own parameter that another name means.
pub fn own_name_of(tool: &str, name: &str) -> Option<String> {
    let schema = SCHEMAS.get(tool)?;
    let snake = snake_case(name);
    match property(schema, &snake) {
        Some(_) => Some(snake),
        None => meant(schema, &snake).map(str::to_string),
    }
}

/// Returns the parameter that a caller probably meant by a name that the tool does not have, by the name nearest to it
/// that the tool takes.
pub fn nearest(tool: &str, name: &str) -> Option<String> {
    let schema = SCHEMAS.get(tool)?;
    let name = snake_case(name);
    let targets = properties(schema).map(|(own, _)| own.as_str());
    let aliases = concepts::names().filter(|alias| meant(schema, alias).is_some());
    let near = targets.chain(aliases).filter(|known| is_near(&name, known));
    // Of names that only have the word, such as `from_line` and `to_line` for `line`, the first is meant.
    let distance_of = |known: &&str| match distance(&name, known) {
        wrong if known.split('_').any(|part| part == name) => wrong.min(1),
        wrong => wrong,
    };
    near.min_by_key(distance_of).map(str::to_string)
}

/// Whether a caller may have meant a name that is known by one that is not.
pub fn is_near(name: &str, known: &str) -> bool {
    let (wrong, n_chars) = (distance(name, known), name.chars().count());
    let is_word_of = |part: &str, whole: &str| {
        part.chars().count() >= 4 && whole.split('_').any(|it| distance(it, part) <= 1)
    };
    // A third of the letters may be wrong: more, and short names are near everything.
    wrong * 3 <= n_chars
        || wrong == 1 && name.chars().next() == known.chars().next()
        || is_word_of(name, known)
}

fn properties(schema: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    schema.get("properties").and_then(Value::as_object).into_iter().flatten()
}

fn property<'a>(schema: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

/// Repairs the names and values of an object.
fn object(schema: &Map<String, Value>, sent: Map<String, Value>) -> Map<String, Value> {
    if !schema.contains_key("properties") {
        return sent;
    }
    let sent = sent.into_iter().filter(|(name, value)| is_given(schema, name, value)).collect();
    let (own, foreign) = split_names(schema, sent);
    let mut repaired: Map<String, Value> = own.into_iter().collect();
    // One after the other: a name that was given before cannot be meant by a later synonym.
    for (name, value) in foreign {
        let own = own_name(schema, &name, &repaired);
        if own.is_some() || !is_said_already(schema, &name, &value, &repaired) {
            repaired.insert(own.unwrap_or(name), value);
        }
    }
    let values = repaired.into_iter().filter_map(|(name, value)| {
        let Some(schema) = property(schema, &name) else { return Some((name, value)) };
        let value = fit(schema, value, concepts::is_list_of_words(&name));
        let is_left_out = !fits(schema, &value) && is_nothing(&value);
        (!is_left_out).then_some((name, value))
    });
    values.collect()
}

/// Returns whether an argument says anything. Clients with strict schemas send null for each parameter that they leave
/// out, others the empty defaults of the server that they were made for.
fn is_given(schema: &Map<String, Value>, name: &str, value: &Value) -> bool {
    let snake = snake_case(name);
    let own = property(schema, name).map(|_| name).or_else(|| meant(schema, &snake));
    let of_own = own.and_then(|own| Some((own, property(schema, own)?)));
    let fits = of_own.is_some_and(|(_, schema)| fits(schema, value));
    let is_needed = own.is_some_and(|own| concepts::is_required(schema, own));
    match value {
        // Where null is a value, the schema has no type.
        Value::Null => fits,
        Value::Bool(false) => fits || is_needed,
        Value::String(text) if text.is_empty() => {
            let is_value = |(own, it)| concepts::is_written(own) || has_no_type(it);
            is_needed || of_own.is_some_and(is_value)
        }
        _ => true,
    }
}

/// Returns whether a second name of a parameter adds nothing to what its own name says: the same value, or a number
/// that the other server counts apart. Of two texts none is ignored without a word.
fn is_said_already(
    schema: &Map<String, Value>,
    name: &str,
    value: &Value,
    given: &Map<String, Value>,
) -> bool {
    let snake = snake_case(name);
    let own = property(schema, &snake).map(|_| snake.as_str()).or_else(|| meant(schema, &snake));
    own.and_then(|own| given.get(own)).is_some_and(|own| own == value || value.is_number())
}

type Fields = Vec<(String, Value)>;

/// Separates the arguments with names that the tool has from the others.
fn split_names(schema: &Map<String, Value>, sent: Map<String, Value>) -> (Fields, Fields) {
    sent.into_iter().partition(|(name, _)| property(schema, name).is_some())
}

/// Returns the tool's own name for a parameter, unless that one was given as well.
fn own_name(schema: &Map<String, Value>, name: &str, given: &Map<String, Value>) -> Option<String> {
    let snake = snake_case(name);
    let own = match property(schema, &snake) {
        Some(_) => Some(snake.as_str()),
        None => concepts::meant_beside(schema, &snake, given),
    };
    own.filter(|own| !given.contains_key(*own)).map(str::to_string)
}

/// Returns true for null, and for the ways in which models write it.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => ["null", "none"].contains(&text.trim().to_lowercase().as_str()),
        _ => false,
    }
}

/// Returns the value in a type of the schema, or unchanged. `of_words`: a text with commas is a list.
fn fit(schema: &Value, value: Value, of_words: bool) -> Value {
    // A value that fits is never converted, only repaired inside.
    if let Some(inner) = alternatives(schema).find(|inner| fits(inner, &value)) {
        return within(inner, value);
    }
    let converted = alternatives(schema).find_map(|inner| convert(inner, &value, of_words));
    converted.unwrap_or(value)
}

/// Repairs the inside of a value of the right type.
fn within(schema: &Value, value: Value) -> Value {
    match (schema, value) {
        (Value::Object(schema), Value::Object(sent)) => Value::Object(object(schema, sent)),
        (Value::Object(schema), Value::Array(items)) => match schema.get("items") {
            Some(inner) => items.into_iter().map(|item| fit(inner, item, false)).collect(),
            None => Value::Array(items),
        },
        (_, value) => value,
    }
}

/// Returns the schemas of which a value must fit one.
fn alternatives(schema: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    let several = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    match several {
        Some(several) => Box::new(several.iter().flat_map(alternatives)),
        None => Box::new(std::iter::once(schema)),
    }
}

/// Returns the types that a schema names; none if every type is allowed.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_no_type(schema: &Value) -> bool {
    alternatives(schema).any(|it| types(it).is_empty() && constants(it).is_none())
}

/// Returns the texts that a schema allows, if it lists them.
fn constants(schema: &Value) -> Option<Vec<&str>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(Value::String(only)), _) => Some(vec![only]),
        (_, Some(Value::Array(several))) => {
            Some(several.iter().filter_map(Value::as_str).collect())
        }
        _ => None,
    }
}

/// Returns true if a value has a type that the schema names, and is one of its constants; its inside is not checked.
fn fits(schema: &Value, value: &Value) -> bool {
    alternatives(schema).any(|schema| {
        let types = types(schema);
        let is_type = types.is_empty() || types.iter().any(|name| is_of_type(name, value));
        let listed = constants(schema);
        is_type && listed.is_none_or(|texts| value.as_str().is_some_and(|it| texts.contains(&it)))
    })
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// Returns a value of another type as this schema would have it, if there is only one way to read it.
fn convert(schema: &Value, value: &Value, of_words: bool) -> Option<Value> {
    if let Some(texts) = constants(schema) {
        let sent = snake_case(value.as_str()?.trim());
        return texts.into_iter().find(|text| *text == sent).map(Value::from);
    }
    types(schema).into_iter().find_map(|name| match name {
        "string" => text(value),
        "integer" => integer(value),
        "number" => number(value),
        "boolean" => boolean(value),
        "array" => list(schema, value, of_words),
        "object" => {
            let sent = value.as_str().and_then(json).filter(Value::is_object)?;
            Some(within(schema, sent))
        }
        _ => None,
    })
}

fn text(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => Some(number.to_string().into()),
        Value::Bool(flag) => Some(flag.to_string().into()),
        Value::Array(items) => match items.as_slice() {
            // A list with one text is the only list that is certainly one text.
            [Value::String(only)] => Some(only.as_str().into()),
            _ => None,
        },
        _ => None,
    }
}

/// Largest whole number up to which a double represents every whole number (2^53).
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

fn integer(value: &Value) -> Option<Value> {
    let sent = number(value)?;
    if sent.is_i64() || sent.is_u64() {
        return Some(sent);
    }
    let whole = sent.as_f64().filter(|it| it.fract() == 0.0 && it.abs() <= MAX_EXACT)?;
    Some(Value::from(whole as i64))
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => Some(Value::Number(number.clone())),
        Value::String(text) => {
            let text = text.trim();
            // Integers first: as a double, a large one would lose digits.
            let whole = text.parse::<i64>().ok().map(Number::from);
            let parsed = || text.parse::<f64>().ok().and_then(Number::from_f64);
            whole.or_else(parsed).map(Value::Number)
        }
        _ => None,
    }
}

fn boolean(value: &Value) -> Option<Value> {
    let sent = match value {
        Value::String(text) => text.trim().to_lowercase(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    match sent.as_str() {
        "true" | "yes" | "1" => Some(true.into()),
        "false" | "no" | "0" => Some(false.into()),
        _ => None,
    }
}

/// Converts a JSON text, a text with commas, or a single item to a list.
fn list(schema: &Value, value: &Value, of_words: bool) -> Option<Value> {
    if is_nothing(value) {
        return None;
    }
    let listed = value.as_str().and_then(json).filter(Value::is_array);
    let items = match (listed, value.as_str()) {
        (Some(listed), _) => return Some(within(schema, listed)),
        (None, Some(text)) => split(text, of_words).into_iter().map(Value::from).collect(),
        (None, None) => vec![value.clone()],
    };
    let items = within(schema, Value::Array(items));
    let inner = schema.get("items")?;
    items.as_array()?.iter().all(|item| fits(inner, item)).then_some(items)
}

/// Splits a text at commas if it is certainly not a sentence: its parts are single words, or the parameter holds only
/// words.
fn split(text: &str, of_words: bool) -> Vec<&str> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let are_words = parts.iter().all(|part| !part.contains(char::is_whitespace));
    if of_words || are_words { parts } else { vec![text] }
}

fn json(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['[', '{']).then(|| serde_json::from_str(text).ok())?
}

/// Converts `pageSize` and `page-size` to `page_size`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    let mut after_small = false;
    for c in name.trim().chars() {
        if c.is_uppercase() && after_small {
            snake.push('_');
        }
        after_small = c.is_lowercase() || c.is_numeric();
        match c {
            '-' | ' ' => snake.push('_'),
            _ => snake.extend(c.to_lowercase()),
        }
    }
    snake
}

/// Returns the edit distance of two names, where swapping two neighbors counts as one edit (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        // `before`, `last` and `row` are the last three rows of the usual table; swaps reach two rows back.
        for (j, y) in b.iter().enumerate() {
            // One less than the maximum, because 1 is added to it.
            let at = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&last, j) + usize::from(x != y);
            let mut least = replaced.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                least = least.min(at(&before, j - 1) + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
