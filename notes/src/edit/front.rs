//! Front matter: sets and removes keys in the YAML between two `---` lines, as a person would by hand.
//!
//! In: a text, a key, a value. Out: changes of that key's bytes alone, or an insertion for a new key.
//! Invariants: comments, order, quoting and anchors of other keys stay; every result is parsed again and must differ
//! from the original in that key only, so YAML that this module does not understand is refused, never damaged.

use std::ops::Range;

use serde_json::{Map, Value};

use super::lines::{bom_len, eol_at, line_end, lines_of};
use super::yaml::{self, Quotes};
use super::{Change, EditError, apply};

/// The front matter of a text.
pub(super) struct Front<'a> {
    pub(super) text: &'a str,
    /// Bytes between the fences.
    pub(super) yaml: Range<usize>,
    /// Its parsed values.
    pub(super) map: Map<String, Value>,
    entries: Vec<FrontEntry>,
    /// Spaces before its keys.
    indent: usize,
}

/// A key with its value, as lines.
#[derive(Debug, Clone)]
pub(super) struct FrontEntry {
    pub(super) key: String,
    /// From the beginning of the key's line to the end of the last line of its value.
    pub(super) span: Range<usize>,
    /// The offset after the colon.
    pub(super) after_colon: usize,
}

/// How a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// No value.
    Empty,
    /// A string, number or boolean on the key's line.
    Scalar { token: Range<usize>, quotes: Quotes },
    /// A value in brackets or braces.
    Flow { token: Range<usize> },
    /// A value on the lines below the key, up to the end of the last one's text.
    Block { lines: Range<usize>, indent: usize },
    /// Anything else: a multiline string, an anchor, a tag.
    Other { token: Range<usize> },
}

/// Returns the bytes between the fences and the offset of the body, if the text begins with a fence.
pub(super) fn split(text: &str) -> Option<(Range<usize>, usize)> {
    let first = bom_len(text);
    let rest = text.get(first..)?.strip_prefix("---")?;
    let first_end = rest.find('\n')?;
    if !rest.get(..first_end)?.trim_ascii().is_empty() {
        return None;
    }
    let start = first + 3 + first_end + 1;
    let fence = lines_of(text, start..text.len())
        .find(|line| matches!(line.text.trim_ascii_end(), "---" | "..."))?;
    Some((start..fence.span.start, fence.span.end))
}

/// Returns the offset of the body.
pub(super) fn body_start(text: &str) -> usize {
    let is_front = |yaml: &Range<usize>| {
        // Unreadable YAML still counts as front matter; plain words between two rules do not.
        !matches!(yaml::read_map(text.get(yaml.clone()).unwrap_or("")), Ok(None))
    };
    split(text).filter(|(yaml, _)| is_front(yaml)).map_or(bom_len(text), |(_, body)| body)
}

/// Reads the front matter; `None` when there is none.
pub(super) fn find(text: &str) -> Result<Option<Front<'_>>, EditError> {
    let Some((span, _)) = split(text) else { return Ok(None) };
    let yaml = text.get(span.clone()).unwrap_or("");
    let Some(map) = yaml::read_map(yaml).map_err(EditError::Frontmatter)? else { return Ok(None) };
    let mut front = Front { text, yaml: span, map, entries: Vec::new(), indent: 0 };
    front.find_entries();
    Ok(Some(front))
}

/// Sets a key.
pub(super) fn set_key(text: &str, key: &str, value: &Value) -> Result<Vec<Change>, EditError> {
    check_key(key)?;
    let Some(front) = find(text)? else { return begin(text, key, value) };
    let key = front.name_of(key);
    // The value is already there: leave its formatting alone.
    if front.map.get(&key) == Some(value) {
        return Ok(vec![]);
    }
    let changes = match front.entry(&key)? {
        Some(entry) => front.restate(entry, value),
        None => vec![front.add(&key, value)?],
    };
    // The check compares with the expected values, whatever form `restate` or `add` chose.
    let mut wanted = front.map.clone();
    wanted.insert(key, value.clone());
    front.check(&changes, &wanted)?;
    Ok(changes)
}

/// Removes a key.
pub(super) fn remove_key(text: &str, key: &str) -> Result<Vec<Change>, EditError> {
    check_key(key)?;
    let Some(front) = find(text)? else { return Ok(vec![]) };
    let key = front.name_of(key);
    if !front.map.contains_key(&key) {
        return Ok(vec![]);
    }
    let entry = front.entry(&key)?.ok_or_else(|| front.not_here(&key))?;
    let changes = vec![Change::new(entry.span.clone(), "")];
    let mut wanted = front.map.clone();
    wanted.shift_remove(&key);
    front.check(&changes, &wanted)?;
    Ok(changes)
}

/// Refuses changes elsewhere in the text after which readable front matter would be lost or broken.
pub(super) fn still_readable(text: &str, changes: &[Change]) -> Result<(), EditError> {
    if changes.is_empty() {
        return Ok(());
    }
    let Ok(before) = find(text) else { return Ok(()) };
    let after = apply(text, changes);
    match (before.filter(|front| !front.map.is_empty()), find(&after)?) {
        (Some(_), None) => Err(EditError::Frontmatter("nothing of it would be left".to_string())),
        _ => Ok(()),
    }
}

fn check_key(key: &str) -> Result<(), EditError> {
    let why = if key.trim().is_empty() {
        "it is empty"
    } else if key.contains(['\n', '\r']) {
        "it has several lines"
    } else {
        return Ok(());
    };
    Err(EditError::BadName { what: "key", text: key.to_string(), why })
}

/// Adds front matter where there is none.
fn begin(text: &str, key: &str, value: &Value) -> Result<Vec<Change>, EditError> {
    let at = bom_len(text);
    let eol = eol_at(text, at);
    let rest = text.get(at..).unwrap_or("");
    let gap = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { eol };
    let entry = yaml::entry(key, value, 0, eol);
    let changes = vec![Change::insert(at, format!("---{eol}{entry}{eol}---{eol}{gap}"))];
    let wanted = Map::from_iter([(key.to_string(), value.clone())]);
    check(text, &changes, &wanted)?;
    Ok(changes)
}

/// Parses the text with the changes applied, and compares it with the wanted values.
fn check(text: &str, changes: &[Change], wanted: &Map<String, Value>) -> Result<(), EditError> {
    let after = apply(text, changes);
    match find(&after) {
        Ok(Some(front)) if front.map == *wanted => Ok(()),
        Ok(_) => {
            Err(EditError::Frontmatter("it is written in a way that hides its keys".to_string()))
        }
        Err(EditError::Frontmatter(why)) => {
            Err(EditError::Frontmatter(format!("it could not be read afterwards: {why}")))
        }
        Err(other) => Err(other),
    }
}

impl<'a> Front<'a> {
    /// Finds the lines of each key. A line that begins no key belongs to the key above; a wrong guess is detected
    /// when the result is parsed.
    fn find_entries(&mut self) {
        let mut indent = None;
        for line in lines_of(self.text, self.yaml.clone()) {
            let bare = line.text.trim_start_matches(' ');
            let depth = line.text.len() - bare.len();
            // Comments at the keys' level separate entries; deeper ones are inside a value.
            if line.is_blank() || (bare.starts_with('#') && indent.is_none_or(|base| depth <= base))
            {
                continue;
            }
            let base = *indent.get_or_insert(depth);
            // Deeper lines, list items (which may be at the key's level) and closing brackets continue a value.
            let goes_on = depth > base
                || bare == "-"
                || bare.starts_with("- ")
                || bare.starts_with([']', '}', '\t']);
            if let Some(last) = self.entries.last_mut().filter(|_| goes_on) {
                last.span.end = line.span.end;
                continue;
            }
            let (key, n) = key_of(bare).unwrap_or_default();
            let after_colon = line.span.start + depth + n;
            self.entries.push(FrontEntry { key, span: line.span, after_colon });
        }
        self.indent = indent.unwrap_or(0);
    }

    /// Returns a key as this note writes it.
    pub(super) fn name_of(&self, key: &str) -> String {
        let other = || self.map.keys().find(|known| known.eq_ignore_ascii_case(key));
        if self.map.contains_key(key) {
            key.to_string()
        } else {
            other().cloned().unwrap_or(key.to_string())
        }
    }

    /// Finds a key; `None` if it is missing or comes from a merge.
    pub(super) fn entry(&self, key: &str) -> Result<Option<&FrontEntry>, EditError> {
        // A map in braces has no lines of its own for each key.
        if self.text.get(self.yaml.clone()).is_some_and(|yaml| yaml.trim_start().starts_with('{')) {
            return Err(EditError::Frontmatter(
                "it is one value in braces, which cannot be edited line by line".to_string(),
            ));
        }
        let mut found = self.entries.iter().filter(|entry| entry.key == key);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(EditError::Frontmatter(format!("`{key}` is there twice"))),
            (found, _) => Ok(found),
        }
    }

    fn not_here(&self, key: &str) -> EditError {
        EditError::Frontmatter(format!("`{key}` is stated in a way that hides where"))
    }

    /// Parses the text with the changes applied, and compares it with the wanted values.
    pub(super) fn check(
        &self,
        changes: &[Change],
        wanted: &Map<String, Value>,
    ) -> Result<(), EditError> {
        check(self.text, changes, wanted)
    }

    /// Adds a new key after the others.
    pub(super) fn add(&self, key: &str, value: &Value) -> Result<Change, EditError> {
        // Only for its errors: front matter in braces, or a key that occurs twice.
        self.entry(key)?;
        let eol = eol_at(self.text, self.yaml.end);
        let entry = yaml::entry(key, value, self.indent, eol);
        Ok(Change::insert(self.yaml.end, format!("{entry}{eol}")))
    }

    /// Returns the form and place of a key's value.
    pub(super) fn shape(&self, entry: &FrontEntry) -> Shape {
        let line = line_end(self.text, entry.span.start).min(entry.span.end);
        let rest = self.text.get(entry.after_colon..line).unwrap_or("");
        let start = entry.after_colon + (rest.len() - rest.trim_start().len());
        let end = entry.after_colon + rest.trim_end().len();
        let below = self.text.get(line..entry.span.end).unwrap_or("");
        let whole =
            entry.span.start + self.text.get(entry.span.clone()).unwrap_or("").trim_end().len();
        let rest = self.text.get(start..end.max(start)).unwrap_or("");
        // Nothing after the colon: the value is below, or missing.
        if rest.is_empty() || rest.starts_with('#') {
            let content =
                |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
            if !below.lines().any(content) {
                return Shape::Empty;
            }
            let first = below.lines().find(|line| content(line)).unwrap_or("");
            return Shape::Block {
                lines: line..whole,
                indent: first.len() - first.trim_start().len(),
            };
        }
        let quotes = match rest.as_bytes().first() {
            Some(b'"') => Quotes::Double,
            Some(b'\'') => Quotes::Single,
            Some(b'[' | b'{') => {
                let token = flow_end(self.text, start, entry.span.end).map(|end| start..end);
                return match token.filter(|token| self.ends_there(token, entry)) {
                    Some(token) => Shape::Flow { token },
                    None => Shape::Other { token: start..whole },
                };
            }
            // Block scalars, anchors, aliases and tags.
            Some(b'|' | b'>' | b'&' | b'*' | b'!') => return Shape::Other { token: start..whole },
            _ => Quotes::Plain,
        };
        let token = match quotes {
            Quotes::Plain => {
                // A plain scalar ends before a comment, which needs a blank before its `#`.
                let n = rest.find(" #").or_else(|| rest.find("\t#")).unwrap_or(rest.len());
                Some(start..start + rest.get(..n).unwrap_or(rest).trim_end().len())
            }
            _ => quoted_end(self.text, start, line).map(|end| start..end),
        };
        match token.filter(|token| self.ends_there(token, entry)) {
            Some(token) => Shape::Scalar { token, quotes },
            None => Shape::Other { token: start..whole },
        }
    }

    /// Returns whether only comments follow a value in its entry.
    fn ends_there(&self, token: &Range<usize>, entry: &FrontEntry) -> bool {
        let after = self.text.get(token.end..entry.span.end).unwrap_or("");
        let mut lines = after.lines();
        lines.all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    }

    /// Returns whether anything, such as a comment, follows a value on its line.
    fn has_comment(&self, token: &Range<usize>) -> bool {
        let line = line_end(self.text, token.end);
        self.text.get(token.end..line).is_some_and(|after| !after.trim().is_empty())
    }

    /// Replaces the value of an existing key, in the form that needs the fewest changes.
    fn restate(&self, entry: &FrontEntry, value: &Value) -> Vec<Change> {
        let eol = eol_at(self.text, entry.span.start);
        let line = line_end(self.text, entry.span.start);
        let is_block = matches!(value, Value::Array(items) if !items.is_empty())
            || matches!(value, Value::Object(map) if !map.is_empty());
        let lines = || yaml::after_key(value, self.indent, eol);
        match self.shape(entry) {
            Shape::Empty if is_block => {
                let end = self
                    .text
                    .get(..line)
                    .map_or(line, |before| before.trim_end_matches(['\n', '\r']).len());
                vec![Change::insert(end, lines())]
            }
            Shape::Empty => vec![Change::insert(entry.after_colon, lines())],
            Shape::Scalar { token, quotes } if !is_block => {
                vec![Change::new(token.clone(), self.scalar_like(&token, quotes, value))]
            }
            Shape::Flow { token } => {
                vec![Change::new(token, yaml::flow(value))]
            }
            // On one line, so that the comment stays beside the value.
            Shape::Scalar { token, .. } if self.has_comment(&token) => {
                vec![Change::new(token, yaml::flow(value))]
            }
            Shape::Scalar { token, .. } | Shape::Other { token } => {
                vec![Change::new(entry.after_colon..token.end, lines())]
            }
            Shape::Block { lines, indent } if matches!(value, Value::Array(items) if !items.is_empty()) =>
            {
                let items = value.as_array().into_iter().flatten();
                let items: Vec<_> = items.map(|value| yaml::item(value, indent, eol)).collect();
                vec![Change::new(lines, items.join(eol))]
            }
            Shape::Block { lines: old, .. } if is_block => {
                let new = lines();
                vec![Change::new(old, new.strip_prefix(eol).unwrap_or(&new))]
            }
            Shape::Block { lines: old, .. } => {
                vec![
                    Change::insert(entry.after_colon, lines()),
                    Change::new(old.start..entry.span.end, ""),
                ]
            }
        }
    }

    /// Formats a scalar like the one that it replaces.
    fn scalar_like(&self, token: &Range<usize>, quotes: Quotes, value: &Value) -> String {
        let old = self.text.get(token.clone()).unwrap_or("");
        if let (Value::String(new), Quotes::Plain) = (value, quotes)
            && yaml::is_like_a_number(old)
            && yaml::is_like_a_number(new)
            && yaml::read(new).as_ref() == Ok(value)
        {
            // A date written without quotes stays a date for programs that support dates.
            return new.clone();
        }
        match value {
            Value::Null => "null".to_string(),
            Value::Array(_) | Value::Object(_) => yaml::flow(value),
            _ => yaml::scalar(value, quotes, false),
        }
    }
}

/// Returns the key at the beginning of a line, and its length in bytes including the colon.
fn key_of(line: &str) -> Option<(String, usize)> {
    let (key, n) = match line.as_bytes().first()? {
        b'"' | b'\'' => {
            let end = quoted_end(line, 0, line.len())?;
            (yaml::read(line.get(..end)?).ok()?.as_str()?.to_string(), end)
        }
        b'?' | b'&' | b'*' | b'!' | b'[' | b'{' | b'|' | b'>' | b'-' => return None,
        _ => {
            // A colon ends a key only before a blank or the line's end: `a:b` is one word.
            let is_colon = |at: &usize| {
                line.get(at + 1..)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
            };
            let colon = line.match_indices(':').map(|(at, _)| at).find(is_colon)?;
            let key = line.get(..colon)?.trim_end();
            return Some((key.to_string(), colon + 1));
        }
    };
    let rest = line.get(n..)?;
    let colon = n + (rest.len() - rest.trim_start().len());
    let ends = line.get(colon..)?.strip_prefix(':')?;
    (ends.is_empty() || ends.starts_with([' ', '\t'])).then_some((key, colon + 1))
}

/// Returns the end of the quoted text that begins at `start`.
pub(super) fn quoted_end(text: &str, start: usize, limit: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(start)?;
    let mut at = start + 1;
    while at < limit {
        match *bytes.get(at)? {
            b'\\' if quote == b'"' => at += 1,
            byte if byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 1,
            byte if byte == quote => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the end of the brackets or braces that open at `start`.
fn flow_end(text: &str, start: usize, limit: usize) -> Option<usize> {
    let mut end = None;
    walk_flow(text, start..limit, |at, depth, _| {
        if depth == 0 {
            end = Some(at + 1);
        }
        depth > 0
    });
    end
}

/// Visits the brackets, braces and commas of flow YAML with the depth after each, until `visit` returns false.
pub(super) fn walk_flow(
    text: &str,
    part: Range<usize>,
    mut visit: impl FnMut(usize, usize, u8) -> bool,
) {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (part.start, 0usize);
    while at < part.end {
        let byte = bytes.get(at).copied().unwrap_or(0);
        let before =
            if at > part.start { bytes.get(at - 1).copied().unwrap_or(b' ') } else { b' ' };
        match byte {
            // A quote inside a word is an ordinary character.
            b'"' | b'\'' if b" \t\r\n[{,:".contains(&before) => {
                match quoted_end(text, at, part.end) {
                    Some(end) => at = end - 1,
                    None => return,
                }
            }
            b'#' if before.is_ascii_whitespace() => at = line_end(text, at).saturating_sub(1),
            b'[' | b'{' => {
                depth += 1;
                if !visit(at, depth, byte) {
                    return;
                }
            }
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if !visit(at, depth, byte) {
                    return;
                }
            }
            b',' if !visit(at, depth, byte) => return,
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests;
