//! Lenient: turns what a caller wrote into what a tool's schema says, where only one reading is possible.
//!
//! In: a tool's name and the arguments as they were sent. Out: the arguments with the tool's own names and types.
//! Invariants: a name that the tool has and a value that fits stay as they are; a value with two readings stays, and
//! parsing complains; tools of `kgctl` are not touched: it sends what it means.
//! Not here: errors (`daemon/server/src/serve/routes/parameters.rs`), or which names mean the same (`concepts.rs`).

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

/// Returns the arguments with the names and types that the tool's schema has.
pub fn repair(tool: &str, arguments: Map<String, Value>) -> Map<String, Value> {
    match SCHEMAS.get(tool) {
        Some(schema) => object(schema, arguments),
        None => arguments,
    }
}

/// Returns the parameters that a caller gave by other names: the tool's own, and the one that was given.
pub fn renamed(tool: &str, arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let Some(schema) = SCHEMAS.get(tool) else { return Vec::new() };
    let (own, foreign) = split_names(schema, arguments.clone());
    let given: Map<String, Value> = own.into_iter().collect();
    let own_of = |(name, _): (String, Value)| Some((own_name(schema, &name, &given)?, name));
    foreign.into_iter().filter_map(own_of).collect()
}

/// Returns the parameter that a caller probably meant by a name that the tool does not have, by the name nearest to it
/// that the tool takes.
pub fn nearest(tool: &str, name: &str) -> Option<String> {
    let schema = SCHEMAS.get(tool)?;
    let name = snake_case(name);
    let targets = properties(schema).map(|(own, _)| own.as_str());
    let aliases = concepts::names().filter(|alias| meant(schema, alias).is_some());
    let near = targets.chain(aliases).filter(|known| is_near(&name, known));
    near.min_by_key(|known| distance(&name, known)).map(str::to_string)
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
    let (own, foreign) = split_names(schema, sent);
    let mut repaired: Map<String, Value> = own.into_iter().collect();
    for (name, value) in foreign {
        let own = own_name(schema, &name, &repaired);
        repaired.insert(own.unwrap_or(name), value);
    }
    // A parameter is left out, never null; where null is a value, the schema has no type.
    let values = repaired.into_iter().filter_map(|(name, value)| {
        let Some(schema) = property(schema, &name) else { return Some((name, value)) };
        let value = fit(schema, value, concepts::is_list_of_words(&name));
        let is_left_out = !fits(schema, &value) && is_nothing(&value);
        (!is_left_out).then_some((name, value))
    });
    values.collect()
}

type Fields = Vec<(String, Value)>;

/// The arguments that the tool calls so, and the others.
fn split_names(schema: &Map<String, Value>, sent: Map<String, Value>) -> (Fields, Fields) {
    sent.into_iter().partition(|(name, _)| property(schema, name).is_some())
}

/// The tool's own name of a parameter beside those that were given.
fn own_name(schema: &Map<String, Value>, name: &str, given: &Map<String, Value>) -> Option<String> {
    let snake = snake_case(name);
    let own = match property(schema, &snake) {
        Some(_) => Some(snake.as_str()),
        None => concepts::meant_beside(schema, &snake, given),
    };
    own.filter(|own| !given.contains_key(*own)).map(str::to_string)
}

/// True for null and for how models write it.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => ["null", "none"].contains(&text.trim().to_lowercase().as_str()),
        _ => false,
    }
}

/// Returns the value as the schema wants it, or as it is. `of_words`: a text with commas is a list.
fn fit(schema: &Value, value: Value, of_words: bool) -> Value {
    if let Some(inner) = alternatives(schema).find(|inner| fits(inner, &value)) {
        return within(inner, value);
    }
    let converted = alternatives(schema).find_map(|inner| convert(inner, &value, of_words));
    converted.unwrap_or(value)
}

/// Repairs what is inside a value of the right type.
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

/// The schemas of which a value has to fit one.
fn alternatives(schema: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    let several = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    match several {
        Some(several) => Box::new(several.iter().flat_map(alternatives)),
        None => Box::new(std::iter::once(schema)),
    }
}

/// The types that a schema names; none where everything fits.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The texts that a schema allows, if it lists them.
fn constants(schema: &Value) -> Option<Vec<&str>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(Value::String(only)), _) => Some(vec![only]),
        (_, Some(Value::Array(several))) => {
            Some(several.iter().filter_map(Value::as_str).collect())
        }
        _ => None,
    }
}

/// Whether a value is of a type that a schema names; what is inside does not count.
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

/// Returns the one reading of a value of another type.
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
            [Value::String(only)] => Some(only.as_str().into()),
            _ => None,
        },
        _ => None,
    }
}

/// Largest whole number that a double holds exactly, with all smaller ones.
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

/// A JSON text, a text with commas, or a lone item.
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

/// Splits at commas what is certainly no sentence: words, or a parameter that holds nothing else.
fn split(text: &str, of_words: bool) -> Vec<&str> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let are_words = parts.iter().all(|part| !part.contains(char::is_whitespace));
    if of_words || are_words { parts } else { vec![text] }
}

fn json(text: &str) -> Option<Value> {
    text.trim_start().starts_with(['[', '{']).then(|| serde_json::from_str(text).ok())?
}

/// `pageSize` and `page-size` as `page_size`.
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

/// Edits between two names, two neighbors that changed places counting as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
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
