//! Elements: reads the items of a long JSON array one by one, as bytes.
//!
//! In: a reader. Out: each item with its line; anything else, with its line and the reason.
//! Invariants: memory is bounded by [`MAX_ELEMENT_BYTES`], whatever the input contains; a broken or too large item is
//! skipped alone; a truncated file gives all items before its end. Rejected: reading the array with serde, which gives
//! up at the first item that is not JSON; exports contain such items, with texts cut within a surrogate pair.

use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

/// Largest item, bytes: a conversation of several thousand long messages has some megabytes.
pub const MAX_ELEMENT_BYTES: usize = 128 << 20;

/// An element of the array.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// An item, verbatim, with the line of its first byte.
    Item {
        /// From 1.
        line: u64,
        /// The JSON.
        bytes: Vec<u8>,
    },
    /// Something that could not be read.
    Broken {
        /// From 1.
        line: u64,
        /// Why.
        why: String,
    },
}

/// Reads an array; a single value is its only item.
#[derive(Debug)]
pub struct Elements<R> {
    reader: BufReader<R>,
    max_bytes: usize,
    line: u64,
    state: State,
}

// Alone: a single value instead of an array. Before: nothing was read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Within,
    Alone,
    Done,
}

impl<R: Read> Elements<R> {
    /// Creates a reader of items of at most [`MAX_ELEMENT_BYTES`].
    pub fn new(reader: R) -> Self {
        Elements::with_limit(reader, MAX_ELEMENT_BYTES)
    }

    /// Creates a reader of items of at most so many bytes.
    pub fn with_limit(reader: R, max_bytes: usize) -> Self {
        let reader = BufReader::with_capacity(1 << 16, reader);
        Elements { reader, max_bytes, line: 1, state: State::Before }
    }

    fn peek(&mut self) -> std::io::Result<Option<u8>> {
        Ok(self.reader.fill_buf()?.first().copied())
    }

    fn take(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.reader.consume(1);
    }

    /// Returns the next byte that is not white space.
    fn next_byte(&mut self) -> std::io::Result<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.take(byte);
        }
        Ok(None)
    }

    fn begin(&mut self) -> std::io::Result<Option<Found>> {
        // A byte order mark is optional; each of its bytes is skipped if present.
        for byte in *b"\xef\xbb\xbf" {
            if self.peek()? == Some(byte) {
                self.take(byte);
            }
        }
        self.state = match self.next_byte()? {
            Some(b'[') => {
                self.take(b'[');
                State::Within
            }
            Some(_) => State::Alone,
            None => {
                self.state = State::Done;
                return Ok(Some(self.broken("it is empty")));
            }
        };
        Ok(None)
    }

    fn broken(&self, why: &str) -> Found {
        Found::Broken { line: self.line, why: why.to_string() }
    }

    fn step(&mut self) -> std::io::Result<Option<Found>> {
        if self.state == State::Before
            && let Some(found) = self.begin()?
        {
            return Ok(Some(found));
        }
        loop {
            let byte = match (self.state, self.next_byte()?) {
                (State::Done, _) | (State::Alone, None) => {
                    self.state = State::Done;
                    return Ok(None);
                }
                (_, None) => {
                    self.state = State::Done;
                    return Ok(Some(self.broken("it ends within the list")));
                }
                (_, Some(byte)) => byte,
            };
            match byte {
                b',' => self.take(byte),
                b']' if self.state == State::Within => {
                    self.take(byte);
                    self.state = State::Done;
                    let after = self.next_byte()?;
                    return Ok(after.map(|_| self.broken("something follows the list")));
                }
                // Skip the byte, or the next step would report it again, forever.
                b']' | b'}' | b':' => {
                    self.take(byte);
                    return Ok(Some(self.broken("it is not JSON")));
                }
                _ => return self.item().map(Some),
            }
        }
    }

    /// Reads to the end of the item that begins here.
    fn item(&mut self) -> std::io::Result<Found> {
        let line = self.line;
        let (mut bytes, mut n_bytes) = (Vec::new(), 0usize);
        // A small scanner for brackets and strings, not a parser: it finds the end of items that are not valid JSON,
        // too.
        let (mut depth, mut is_text, mut is_escaped) = (0u64, false, false);
        let is_ended = 'read: loop {
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                break 'read depth == 0 && !is_text;
            }
            let mut end = None;
            let mut n_lines = 0;
            for (at, byte) in buffer.iter().enumerate() {
                n_lines += u64::from(*byte == b'\n');
                if is_text {
                    match byte {
                        _ if is_escaped => is_escaped = false,
                        b'\\' => is_escaped = true,
                        b'"' => is_text = false,
                        _ => {}
                    }
                    continue;
                }
                match byte {
                    b'"' => is_text = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' if depth > 1 => depth -= 1,
                    b'}' | b']' if depth == 1 => {
                        end = Some(at + 1);
                        break;
                    }
                    // A number or word ends before the separator, which the next step reads.
                    b',' | b']' | b'}' if depth == 0 => {
                        end = Some(at);
                        break;
                    }
                    _ => {}
                }
            }
            let n = end.unwrap_or(buffer.len());
            // An item that is too large is read to its end, but not kept.
            n_bytes += n;
            if n_bytes <= self.max_bytes {
                bytes.extend_from_slice(buffer.get(..n).unwrap_or(buffer));
            }
            self.line += n_lines;
            self.reader.consume(n);
            if end.is_some() {
                break 'read true;
            }
        };
        if n_bytes > self.max_bytes {
            let why = format!("an item of {n_bytes} bytes, more than {}", self.max_bytes);
            return Ok(Found::Broken { line, why });
        }
        if !is_ended {
            self.state = State::Done;
            let why = "the file ends within this item".to_string();
            return Ok(Found::Broken { line, why });
        }
        Ok(Found::Item { line, bytes })
    }
}

impl<R: Read> Iterator for Elements<R> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        match self.step() {
            Ok(found) => found,
            Err(error) => {
                self.state = State::Done;
                Some(self.broken(&error.to_string()))
            }
        }
    }
}

/// Parses an item. Halves of surrogate pairs, which some exporters leave where they cut a text, become `\u{fffd}`.
///
/// # Errors
/// The line, counted from the item's, and why it is not JSON.
pub fn value(line: u64, bytes: &[u8]) -> Result<Value, (u64, String)> {
    let failed = |error: serde_json::Error| {
        let at = line + (error.line() as u64).saturating_sub(1);
        (at, error.to_string())
    };
    serde_json::from_slice(bytes).or_else(|error| match whole_surrogates(bytes) {
        Some(mended) => serde_json::from_slice(&mended).map_err(|_| failed(error)),
        None => Err(failed(error)),
    })
}

/// Replaces every half of a surrogate pair; none if there are no such halves.
fn whole_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut is_mended) = (0, false);
    while let Some(byte) = bytes.get(at) {
        // A high half followed by a low half is a whole character of 12 bytes.
        let n = match (byte, unit(at), unit(at + 6)) {
            (b'\\', Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (b'\\', Some(0xd800..=0xdfff), _) => {
                out.extend_from_slice(b"\\ufffd");
                is_mended = true;
                at += 6;
                continue;
            }
            // Any other escape: skip both bytes, so that `\\u` is not taken for the start of one.
            (b'\\', _, _) => 2,
            _ => 1,
        };
        out.extend_from_slice(bytes.get(at..at + n).unwrap_or(&bytes[at..]));
        at += n;
    }
    is_mended.then_some(out)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(input: &str, limit: usize, expected: Expect) {
        let mut out = String::new();
        // One byte per read: a chunk may end anywhere.
        for found in Elements::with_limit(Slow(input.as_bytes()), limit) {
            out += &match found {
                Found::Item { line, bytes } => {
                    let shown = match value(line, &bytes) {
                        Ok(value) => value.to_string(),
                        Err((line, why)) => format!("not JSON at {line}: {why}"),
                    };
                    format!("{line} {shown}\n")
                }
                Found::Broken { line, why } => format!("{line} broken: {why}\n"),
            };
        }
        expected.assert_eq(&out);
    }

    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = self.0.len().min(1).min(buffer.len());
            self.0.read(&mut buffer[..n])
        }
    }

    #[test]
    fn items_come_one_by_one_with_their_lines() {
        check(
            "\u{feff}[\n {\"a\": [1, {\"b\": \"]}\\\"\"}]},\n\n{\"c\": 2}, 3, \"x,]\"\n]\n",
            1000,
            expect![[r#"
                2 {"a":[1,{"b":"]}\""}]}
                4 {"c":2}
                4 3
                4 "x,]"
            "#]],
        );
        check("[]", 10, expect![[""]]);
        check(
            "{\"one\": 1}",
            100,
            expect![[r#"
                1 {"one":1}
            "#]],
        );
    }

    #[test]
    fn what_is_broken_costs_itself_alone() {
        check(
            "[{\"a\": 1},\n{\"a\": nonsense,\n x},\n{\"b\": 2}]",
            1000,
            expect![[r#"
                1 {"a":1}
                2 not JSON at 2: expected ident at line 1 column 8
                4 {"b":2}
            "#]],
        );
        check(
            "[{\"a\": \"0123456789\"}, {\"b\": 2}]",
            10,
            expect![[r#"
                1 broken: an item of 19 bytes, more than 10
                1 {"b":2}
            "#]],
        );
        check(
            "[{\"a\": 1},\n{\"b\": ",
            100,
            expect![[r#"
                1 {"a":1}
                2 broken: the file ends within this item
            "#]],
        );
        check(
            "[{\"a\": 1},\n",
            100,
            expect![[r#"
                1 {"a":1}
                2 broken: it ends within the list
            "#]],
        );
        check(
            "",
            100,
            expect![[r#"
                1 broken: it is empty
            "#]],
        );
        check(
            "[1] 2",
            100,
            expect![[r#"
                1 1
                1 broken: something follows the list
            "#]],
        );
        check(
            "hello }",
            100,
            expect![[r#"
                1 not JSON at 1: expected value at line 1 column 1
                1 broken: it is not JSON
            "#]],
        );
    }

    #[test]
    fn halves_of_surrogate_pairs_cost_one_character() {
        check(
            r#"[{"a": "cut \ud83d", "b": "\ud83d\ude00 \\ud83d \udc00x"}]"#,
            1000,
            expect![[r#"
                1 {"a":"cut �","b":"😀 \\ud83d �x"}
            "#]],
        );
    }
}
