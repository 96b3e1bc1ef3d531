//! YAML: writes values so that they are read back as the same value, and reads them.
//!
//! In: JSON values. Out: YAML in block or flow form, plain where that is safe.
//! Invariants: what is written is read back as the same value, also by YAML 1.1 readers (`yes`, `1:30`, dates);
//! reading is bounded, so that hostile front matter costs milliseconds; a duplicate key is an error.

use serde_json::{Map, Value};

use crate::yaml::{self, MAX_BYTES};

/// Reads front matter; `Ok(None)` when it consists of plain words instead of a map, and so states nothing.
pub(super) fn read_map(yaml: &str) -> Result<Option<Map<String, Value>>, String> {
    match read(yaml)? {
        Value::Object(map) => Ok(Some(map)),
        Value::Null => Ok(Some(Map::new())),
        Value::String(_) => Ok(None),
        _ => Err("it is not a map of keys to values".to_string()),
    }
}

/// Reads any value.
pub(super) fn read(yaml: &str) -> Result<Value, String> {
    if yaml.len() > MAX_BYTES {
        return Err(format!("it has {} bytes; at most {MAX_BYTES} are read", yaml.len()));
    }
    // The parser does not see the opening `---`, so its first line is the second.
    let told = |fault: yaml::Fault| format!("line {}: {}", fault.line + 1, fault.why);
    let found = yaml::read(yaml).map_err(told)?;
    match found.faults.into_iter().chain(found.repeated).next() {
        Some(fault) => Err(told(fault)),
        None => Ok(found.value),
    }
}

/// How a string is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Unquoted where that is safe.
    Plain,
    Single,
    Double,
}

/// Formats a value that is neither list nor map. `is_flow`: within brackets.
pub(super) fn scalar(value: &Value, quotes: Quotes, is_flow: bool) -> String {
    match value {
        Value::String(text) => quoted(text, quotes, is_flow),
        Value::Null => "null".to_string(),
        other => other.to_string(),
    }
}

fn quoted(text: &str, quotes: Quotes, is_flow: bool) -> String {
    let needs_escapes = text.chars().any(is_special);
    match quotes {
        _ if needs_escapes => double(text),
        Quotes::Plain if is_plain(text, is_flow) => text.to_string(),
        Quotes::Single => single(text),
        Quotes::Double => double(text),
        // Text with double quotes or backslashes is easier to read in single quotes.
        Quotes::Plain if text.contains(['"', '\\']) => single(text),
        Quotes::Plain => double(text),
    }
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn double(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_special(c) && u32::from(c) <= 0xff => {
                out.push_str(&format!("\\x{:02x}", u32::from(c)))
            }
            c if is_special(c) && u32::from(c) <= 0xffff => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)))
            }
            c if is_special(c) => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// True for characters that must be escaped: controls, line and paragraph separators, byte order mark, noncharacters.
fn is_special(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Returns whether a string can be written without quotes.
fn is_plain(text: &str, is_flow: bool) -> bool {
    const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`=<~.";
    let Some(first) = text.chars().next() else { return false };
    let last = text.chars().next_back().unwrap_or(first);
    !INDICATORS.contains(first)
        && !first.is_whitespace()
        && !last.is_whitespace()
        && last != ':'
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains('\t')
        && !(is_flow && text.contains([',', '[', ']', '{', '}', ':']))
        && !is_word_of_yaml(text)
        && !is_like_a_number(text)
}

/// True for words that some version of YAML reads as a boolean or null.
fn is_word_of_yaml(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// True for text that may be a number, time or date in some version of YAML: a digit, perhaps after a sign, followed
/// by a few other characters.
pub(super) fn is_like_a_number(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let begins = rest.starts_with(|c: char| c.is_ascii_digit());
    let is_date = rest.get(..5).is_some_and(|year| year.ends_with('-'))
        && rest.bytes().all(|byte| b"0123456789-:.+TtZz ".contains(&byte));
    let goes_on =
        rest.bytes().all(|byte| byte.is_ascii_hexdigit() || b"_.:+-xXoOeE".contains(&byte));
    (begins && (goes_on || is_date))
        || ["inf", "nan"]
            .iter()
            .any(|word| rest.eq_ignore_ascii_case(word) && rest.len() < text.len())
}

/// Formats a value within brackets, on one line.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let pairs: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", key_text(key, true), flow(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        value => scalar(value, Quotes::Plain, true),
    }
}

/// Formats a key and its value as lines, the last one without a line end. `indent` is that of the key.
pub(super) fn entry(key: &str, value: &Value, indent: usize, eol: &str) -> String {
    format!("{}{}:{}", " ".repeat(indent), key_text(key, false), after_key(value, indent, eol))
}

/// Formats what follows the colon of a key: a space and a scalar, or lines of their own.
pub(super) fn after_key(value: &Value, indent: usize, eol: &str) -> String {
    match value {
        // An empty value is the usual form of null.
        Value::Null => String::new(),
        Value::Array(items) if items.is_empty() => " []".to_string(),
        Value::Object(map) if map.is_empty() => " {}".to_string(),
        Value::Array(_) | Value::Object(_) => format!("{eol}{}", block(value, indent + 2, eol)),
        value => format!(" {}", scalar(value, Quotes::Plain, false)),
    }
}

/// Formats a list or map as indented lines.
fn block(value: &Value, indent: usize, eol: &str) -> String {
    let lines: Vec<String> = match value {
        Value::Array(items) => items.iter().map(|value| item(value, indent, eol)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, value)| entry(key, value, indent, eol)).collect()
        }
        value => vec![format!("{}{}", " ".repeat(indent), scalar(value, Quotes::Plain, false))],
    };
    lines.join(eol)
}

/// Formats one list item as lines.
pub(super) fn item(value: &Value, indent: usize, eol: &str) -> String {
    let dash = format!("{}- ", " ".repeat(indent));
    match value {
        Value::Array(items) if !items.is_empty() => format!("{dash}{}", flow(value)),
        Value::Object(map) if !map.is_empty() => {
            let lines = block(value, indent + 2, eol);
            format!("{dash}{}", lines.get(indent + 2..).unwrap_or(""))
        }
        Value::Array(_) | Value::Object(_) => format!("{dash}{}", flow(value)),
        value => format!("{dash}{}", scalar(value, Quotes::Plain, false)),
    }
}

/// Formats a key.
pub(super) fn key_text(key: &str, is_flow: bool) -> String {
    quoted(key, Quotes::Plain, is_flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_looks_like_something_else_is_quoted() {
        for text in [
            "",
            "true",
            "No",
            "on",
            "null",
            "~",
            "1",
            "-1.5",
            "1e3",
            "0x1F",
            "0o7",
            "1_000",
            "12:30",
            "2024-05-01",
            "2024-05-01T10:00:00Z",
            ".5",
            ".inf",
            "-.INF",
            ".nan",
            "a: b",
            "a #b",
            "#tag",
            "[[Link]]",
            "- x",
            " a",
            "a ",
            "a:",
            "@x",
            "`x`",
            "*x",
            "&x",
            "!x",
            "|",
            ">",
            "%x",
            "'x'",
            "\"x\"",
            "{x",
            "=",
            "<<",
            "---",
            "...",
            "y",
            "two\nlines",
            "tab\there",
            "\u{85}",
            "\u{2028}",
            "\u{feff}x",
            "\u{7f}",
            "?",
            "? x",
            "-",
        ] {
            let written = scalar(&json!(text), Quotes::Plain, false);
            assert!(written.starts_with(['"', '\'']), "{text:?} → {written}");
            assert_eq!(read(&format!("k: {written}")), Ok(json!({"k": text})), "{written}");
        }
        for text in [
            "plain words",
            "C++",
            "a,b",
            "it's",
            "x:y",
            "a#b",
            "50 %",
            "Zoë",
            "1st of May",
            "v1.2.3-rc",
            "/p",
        ] {
            assert_eq!(scalar(&json!(text), Quotes::Plain, false), text);
            assert_eq!(read(&format!("k: {text}")), Ok(json!({"k": text})));
        }
    }

    #[test]
    fn lists_and_maps_are_lines() {
        let value =
            json!({"a": [1, "x, y", {"b": null, "c": []}], "d": {"e": {"f": "[g]"}}, "h": {}});
        let text = entry("k", &value, 0, "\n");
        let wanted = "k:\n  a:\n    - 1\n    - x, y\n    - b:\n      c: []\n  d:\n    e:\n      f: \"[g]\"\n  h: {}";
        assert_eq!(text, wanted);
        assert_eq!(read(&text), Ok(json!({"k": value})));
        assert_eq!(read(&format!("k: {}", flow(&value))), Ok(json!({"k": value})));
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[-a-c:\\[\\]{}&*!|>'\"#%@,?~=.<\\\\ \n\t\r0-9é\u{85}\u{2028}]{0,8}",
            "\\PC{0,6}",
            "(true|No|0x1|1e5|2024-01-01|12:30:00|\\.inf|1_0)"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e6..1e6f64).prop_map(Value::from),
            text.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, move |inner| {
            let key = text.clone();
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((key, inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_reads_back_as_itself(value in values()) {
            let wanted = json!({"key": value});
            let block = entry("key", &value, 0, "\n");
            prop_assert_eq!(read(&block), Ok(wanted.clone()), "{}", block);
            let flow = format!("key: {}", flow(&value));
            prop_assert_eq!(read(&flow), Ok(wanted), "{}", flow);
        }
    }
}
