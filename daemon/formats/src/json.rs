//! JSON with places: the strings and numbers of a document, each with the keys that lead to it.
//!
//! In: text. Out: steps, in order, and the decoded text of strings with the way back to them. Invariants: one pass;
//! only keys are copied; depth is bounded.

use std::ops::Range;

use model::terms::SpanMap;

/// Deepest nesting.
const MAX_DEPTH: usize = 100;
/// Longest key that is kept, in characters.
const MAX_KEY_BYTES: usize = 100;

/// A step.
pub(super) enum JsonStep {
    /// An object opened; its keys will be the last element of the path.
    Open,
    /// A string value, without its quotes, or a number.
    Text(Range<usize>),
}

/// Reads the steps of a text.
pub(super) struct Json<'a> {
    source: &'a str,
    at: usize,
    /// For each open object or array, its current key; empty for an array.
    path: Vec<String>,
    /// For each open object or array, whether it is an object.
    open: Vec<bool>,
    /// True when the next string is a key.
    is_key: bool,
}

impl<'a> Json<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Json { source, at: 0, path: Vec::new(), open: Vec::new(), is_key: false }
    }

    /// Returns the keys from the outermost object on; empty for arrays.
    pub(super) fn path(&self) -> &[String] {
        &self.path
    }

    /// Returns the next step; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<JsonStep>, String> {
        loop {
            let Some(&byte) = self.source.as_bytes().get(self.at) else {
                return if self.open.is_empty() && self.at > 0 {
                    Ok(None)
                } else {
                    Err(self.wrong("the end"))
                };
            };
            self.at += 1;
            match byte {
                b'{' | b'[' => {
                    if self.open.len() >= MAX_DEPTH {
                        return Err(self.wrong("too deep a nesting"));
                    }
                    self.open.push(byte == b'{');
                    self.is_key = byte == b'{';
                    self.path.push(String::new());
                    if byte == b'{' {
                        return Ok(Some(JsonStep::Open));
                    }
                }
                b'}' | b']' => {
                    if self.open.pop().is_none() {
                        return Err(self.wrong("a bracket"));
                    }
                    self.path.truncate(self.open.len());
                    self.is_key = false;
                }
                b',' => self.is_key = self.open.last() == Some(&true),
                b':' => self.is_key = false,
                b'"' => {
                    let range = self.string()?;
                    if !self.is_key {
                        return Ok(Some(JsonStep::Text(range)));
                    }
                    let key: String =
                        self.source.get(range).unwrap_or("").chars().take(MAX_KEY_BYTES).collect();
                    if let Some(last) = self.path.get_mut(self.open.len().saturating_sub(1)) {
                        *last = key;
                    }
                }
                b'0'..=b'9' if !self.open.is_empty() => {
                    let rest = self.source.as_bytes().get(self.at..).unwrap_or(&[]);
                    let start = self.at - 1;
                    let is_part =
                        |byte: &&u8| byte.is_ascii_alphanumeric() || b".+-".contains(byte);
                    self.at += rest.iter().take_while(is_part).count();
                    return Ok(Some(JsonStep::Text(start..self.at)));
                }
                // Signs and other scalars are skipped.
                byte if byte.is_ascii_whitespace() || !self.open.is_empty() => {}
                _ => return Err(self.wrong("text")),
            }
        }
    }

    fn string(&mut self) -> Result<Range<usize>, String> {
        let start = self.at;
        let bytes = self.source.as_bytes();
        loop {
            let rest = bytes.get(self.at..).unwrap_or(&[]);
            let Some(n) = memchr::memchr2(b'"', b'\\', rest) else {
                self.at = bytes.len();
                return Err(self.wrong("the end of a string"));
            };
            self.at += n + 1;
            if rest.get(n) == Some(&b'"') {
                return Ok(start..self.at - 1);
            }
            // The character after a backslash cannot end the string.
            self.at += 1;
        }
    }

    fn wrong(&self, what: &str) -> String {
        format!("{what} at byte {}", self.at)
    }
}

/// Decodes a string, given without its quotes: adds its text to `text`, and to `map` the way from there to `source`.
pub(super) fn decode(source: &str, place: Range<usize>, text: &mut String, map: &mut SpanMap) {
    let mut at = place.start;
    while let Some(rest) = source.get(at..place.end).filter(|rest| !rest.is_empty()) {
        let n_plain = rest.find('\\').unwrap_or(rest.len());
        let (plain, rest) = rest.split_at(n_plain);
        map.push(text.len(), n_plain, at, n_plain);
        text.push_str(plain);
        at += n_plain;
        if let Some((character, n_bytes)) = escape(rest) {
            map.push_replaced(text.len(), character.len_utf8(), at..at + n_bytes);
            text.push(character);
            at += n_bytes;
        }
    }
}

/// Returns the character of the escape that a text begins with, and the escape's length in bytes; a backslash that
/// begins none stands for itself.
fn escape(text: &str) -> Option<(char, usize)> {
    let read = |n_bytes: usize| {
        let quoted = format!("\"{}\"", text.get(..n_bytes)?);
        serde_json::from_str(&quoted).ok().map(|character| (character, n_bytes))
    };
    // Outside of Unicode's first plane, two escapes are one character.
    let mut lengths = ["\\n", "\\u0000", "\\ud800\\udc00"].into_iter().map(str::len);
    text.starts_with('\\').then(|| lengths.find_map(read).unwrap_or(('\\', 1)))
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn escapes_are_characters() {
        let rows = [
            ("\\n", Some(('\n', 2))),
            ("\\/x", Some(('/', 2))),
            ("\\u00e9 x", Some(('é', 6))),
            ("\\ud83d\\ude00", Some(('😀', 12))),
            ("\\ud83d lone", Some(('\\', 1))),
            ("\\uzz", Some(('\\', 1))),
            ("\\", Some(('\\', 1))),
            ("x", None),
        ];
        for (text, expected) in rows {
            assert_eq!(escape(text), expected, "{text}");
        }
    }
}
