//! JSON with places: the strings and numbers of a document, each with the keys that lead to it.
//!
//! In: text. Out: steps, in order. Invariants: one pass; only keys are copied; depth is bounded.

use std::ops::Range;

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
