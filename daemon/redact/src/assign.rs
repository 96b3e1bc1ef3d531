//! Assignments: values given to labels that announce a secret, in any syntax.
//!
//! ```text
//! DB_PASSWORD=…   Secret access key: …   "api_key": "…"   secret := `…`   config["token"] = '…'   <password>…
//! --password …    Password=…;   ?token=…&     | password | … |   value="…"   the password for the wifi is …   密码：…
//! passwords: [… , …]     password: !tag …     <dt>Password<dd>…     IDENTIFIED BY '…'     requirepass …
//! ```
//! There is one rule: a label, a connector (`operator.rs`), and what fills the rest of the line, cell, quotes or
//! code span, unless that is a reference or a placeholder (`likely.rs`). Where words follow the value, or lead to it,
//! it must also look like a secret.
//! In: a text and the place of a label. Out: the ranges of its values that are secrets.
//! Invariant: a bounded number of bytes is read before and after the label.

use std::ops::Range;

use super::label::{LABELS, Label, ValueKind};
use super::likely::{Form, is_example_token, is_key, is_name, is_secret, is_sure_key};
use super::operator::{Op, n_tags, operator};
use super::phrase;
use super::token::{BASE64, is_in, run_within};

/// Longest value, in bytes.
const MAX_VALUE_BYTES: usize = 512;

/// Longest base64 that is taken as a value, in bytes: the key of a cluster.
const MAX_BASE64_BYTES: usize = 16_000;

/// Most values of one label: `passwords: […]`.
const MAX_VALUES: usize = 100;

/// Pairs of typographic quotation marks.
const PRINTED_QUOTES: &str = "“” „“ «» ‘’ ‚‘ 「」 『』 »«";

/// Returns the ranges of the values that are assigned to the label at `place` and are secrets.
pub(super) fn assigned(text: &str, place: Range<usize>, label: &Label) -> Vec<Range<usize>> {
    let Some((start, op)) = operator(text, place.start, place.end) else { return Vec::new() };
    let value_kind = label.value_kind;
    if value_kind == ValueKind::Phrase {
        return phrase::announced(text, start).into_iter().collect();
    }
    let is_sign = matches!(op, Op::Sets | Op::Quote | Op::Element | Op::Flag | Op::Cell);
    let words_count = match value_kind {
        ValueKind::Password | ValueKind::Key => true,
        // `pass` is also a verb.
        ValueKind::Pass => op != Op::Next,
        ValueKind::Pair => false,
        _ => op == Op::Below,
    };
    if !(is_sign || words_count) {
        return Vec::new();
    }
    if value_kind == ValueKind::Any && (op != Op::Sets || is_public(text, &place)) {
        return Vec::new();
    }
    // `token: UUID` may be any number, and `PASS: name` a test; `NPM_TOKEN` and `SMTP_PASS` are neither.
    let before = text.as_bytes().get(place.start.saturating_sub(1)..=place.start);
    let is_variable = matches!(before, Some([b'_', b'A'..=b'Z']));
    let op = if value_kind == ValueKind::Header { Op::Sets } else { op };
    let (start, value_kind) = match (value_kind, after_name(text, start)) {
        (ValueKind::Header, _) => (after_scheme(text, start), ValueKind::Basic),
        (ValueKind::Pair, Some(start)) => (start, ValueKind::Pass),
        (ValueKind::Pair, None) => (start, ValueKind::Secret),
        (ValueKind::Token, _) if is_variable => (start, ValueKind::Secret),
        (ValueKind::Pass, _) if is_variable => (start, ValueKind::Password),
        (value_kind, _) => (start, value_kind),
    };
    let values =
        items(text, start, op).unwrap_or_else(|| value(text, start, op).into_iter().collect());
    let is_one =
        |it: &Value| is_secret(text.get(it.range.clone()).unwrap_or(""), value_kind, it.form);
    values.into_iter().filter(is_one).map(|it| it.range).collect()
}

/// Returns the range of the value of a name that contains the issuer at `place`, if it is likely a key.
pub(super) fn of_issuer(text: &str, place: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = place.start.checked_sub(1).and_then(|i| bytes.get(i));
    let goes_on = bytes.get(place.end).is_some_and(u8::is_ascii_lowercase);
    if before.is_some_and(u8::is_ascii_alphabetic) || goes_on || is_in_mark(bytes, place.start) {
        return None;
    }
    let n = bytes.get(place.end..)?.iter().take(MAX_NAME_BYTES).take_while(is_in_name).count();
    if is_public(text, &(place.start..place.end + n)) {
        return None;
    }
    let (start, op) = operator(text, place.start, place.end + n)?;
    let range = value(text, start, op)?.range;
    let shown = text.get(range.clone())?;
    let is_key = match op {
        Op::Sets | Op::Quote | Op::Element | Op::Flag => {
            is_key(shown, 20) && shown.contains(|c: char| c.is_ascii_digit())
        }
        _ => is_sure_key(shown),
    };
    (is_key && !is_example_token(shown)).then_some(range)
}

/// Longest part of a name before or after a word in it, in bytes.
const MAX_NAME_BYTES: usize = 40;

fn is_in_name(byte: &&u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// True when the name that ends with `part` announces a public value, however long that is.
fn is_public(text: &str, part: &Range<usize>) -> bool {
    let before = text.as_bytes().get(..part.start).unwrap_or(&[]);
    let n = before.iter().rev().take(MAX_NAME_BYTES).take_while(is_in_name).count();
    LABELS.is_public(text.get(part.start - n..part.end).unwrap_or(""))
}

/// True inside `[redacted:password]`: a mark is not a name and announces nothing. The whole mark is checked, since a
/// text may begin like one.
pub(super) fn is_in_mark(bytes: &[u8], place: usize) -> bool {
    const MAX_MARK_BYTES: usize = 64;
    let is_kind = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let before = bytes.get(place.saturating_sub(MAX_MARK_BYTES)..place).unwrap_or(&[]);
    let open = memchr::memrchr(b'[', before).and_then(|at| before.get(at..));
    let kind = open.and_then(|open| open.strip_prefix(b"[redacted:"));
    let mut rest = bytes.get(place..).unwrap_or(&[]).iter().take(MAX_MARK_BYTES);
    kind.is_some_and(|kind| kind.iter().all(is_kind))
        && rest.find(|byte| !is_kind(byte)) == Some(&b']')
}

/// A value, without its quotes.
struct Value {
    range: Range<usize>,
    form: Form,
}

/// Returns the place of the password in `Login: ann / …` and `ann:…`.
fn after_name(text: &str, start: usize) -> Option<usize> {
    let line = line_after(text, start);
    let (name, value) = line.split_once(" / ").or_else(|| line.split_once([':', '/', ',']))?;
    let value = value.trim_start_matches(' ');
    let is_name = (1..=64).contains(&name.len()) && !name.contains(char::is_whitespace);
    (is_name && !value.starts_with('/')).then(|| start + line.len() - value.len())
}

/// Returns the place after the scheme of a header: `Authorization: Bearer …`.
fn after_scheme(text: &str, start: usize) -> usize {
    let line = line_after(text, start);
    let bare = line.trim_start_matches(['"', '\'', '`', '\\', '[']);
    let n = bare.bytes().take_while(|it| it.is_ascii_alphanumeric() || *it == b'-').count();
    let is_scheme = n <= 16 && bare.get(n..).is_some_and(|it| it.starts_with(' '));
    start + if is_scheme { line.len() - bare.len() + n + 1 } else { 0 }
}

/// Returns the items of a list in brackets, or of one with an item a line.
fn items(text: &str, start: usize, op: Op) -> Option<Vec<Value>> {
    let line = line_after(text, start);
    if op == Op::Sets && line.starts_with('[') && !line.starts_with("[redacted:") {
        let (inside, after) = line.get(1..)?.rsplit_once(']')?;
        if after.contains(|c: char| !matches!(c, ' ' | ',' | ';' | '}' | '"' | '\'')) {
            return None;
        }
        let mut at = start + 1;
        let item = |part: &str| {
            let range = at..at + part.len();
            at = range.end + 1;
            Value { range: trimmed(text, range), form: Form::Whole }
        };
        return Some(inside.split(',').take(MAX_VALUES).map(item).collect());
    }
    // A map below a plural: `passwords:` above `root: …`.
    let is_plural = text.get(..start)?.trim_end().trim_end_matches(':').ends_with(['s', 'S']);
    let n_name = |line: &str| {
        line.find(": ").filter(|n| is_plural && !line.get(..*n).is_some_and(|it| it.contains(' ')))
    };
    let n_lead = |line: &str| if line.starts_with("- ") { Some(0) } else { n_name(line) };
    if op != Op::Below || n_lead(line).is_none() {
        return None;
    }
    let mut at = start;
    let lines = std::iter::from_fn(|| {
        let line = line_after(text, at);
        let indent = line.len() - line.trim_start().len();
        let range = at + indent + n_lead(line.get(indent..)?)? + 2..at + line.len();
        at += line.len() + 1;
        Some(Value { range: trimmed(text, range), form: Form::Part })
    });
    Some(lines.take(MAX_VALUES).collect())
}

/// Returns the value that fills a range, without blanks, quotes and emphasis around it.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    const AROUND: [char; 7] = [' ', '\t', '"', '\'', '`', '*', '\r'];
    let shown = text.get(range.clone()).unwrap_or("");
    let start = range.start + (shown.len() - shown.trim_start_matches(AROUND).len());
    start..start + shown.trim_matches(AROUND).len()
}

/// Returns the rest of the line at `start`, at most as long as a value.
fn line_after(text: &str, start: usize) -> &str {
    let end = text.floor_char_boundary(start + MAX_VALUE_BYTES);
    let rest = text.get(start..end).unwrap_or("");
    rest.split('\n').next().unwrap_or("")
}

/// Returns the value that begins at `start`.
fn value(text: &str, start: usize, op: Op) -> Option<Value> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b'\n');
    let quoted = |from: usize, quote: u8, is_escaped: bool| {
        let range = quoted(text, from, quote, is_escaped)?;
        // In a sentence, names stand in quotes, too: `password('required')`, "is called `admin`".
        let may_be_name = matches!(op, Op::Is | Op::Next | Op::Below | Op::Quote);
        let is_name = may_be_name && text.get(range.clone()).is_some_and(is_name);
        Some(Value { range, form: if is_name { Form::Part } else { Form::Whole } })
    };
    // Prefixes of string literals: `b"…"`, `r'…'`, `@"…"`, `f"…"`.
    let is_prefix = matches!(at(start), b'b' | b'r' | b'u' | b'f' | b'@' | b'$');
    let i = start + usize::from(is_prefix && matches!(at(start + 1), b'"' | b'\''));
    // An escaped quote: the value is in a string inside a string.
    let is_escaped = at(i) == b'\\' && matches!(at(i + 1), b'"' | b'\'');
    let i = i + usize::from(is_escaped);
    if matches!(at(i), b'"' | b'\'' | b'`')
        && let Some(found) = quoted(i + 1, at(i), is_escaped)
    {
        return Some(found);
    }
    if let Some(range) = printed(text, start) {
        return Some(Value { range, form: Form::Whole });
    }
    // No quote was found, but this operator requires one.
    if op == Op::Quote {
        return None;
    }
    if op == Op::Sets
        && let Some(next) = after_type(bytes, start)
    {
        return quoted(next + 1, at(next), false);
    }
    if op == Op::Cell {
        let range = trimmed(text, start..start + n_cell(line_after(text, start)));
        // The next cell of a header is a name.
        let is_name = text.get(range.clone()).is_some_and(is_name);
        return Some(Value { range, form: if is_name { Form::Part } else { Form::Whole } });
    }
    let n_base64 = run_within(text, start, &BASE64, MAX_BASE64_BYTES);
    if n_base64 > MAX_VALUE_BYTES {
        return Some(Value { range: start..start + n_base64, form: Form::Whole });
    }
    bare(text, start, op)
}

/// Returns a value in typographic quotation marks.
fn printed(text: &str, at: usize) -> Option<Range<usize>> {
    let line = line_after(text, at);
    let open = line.chars().next()?;
    let close = PRINTED_QUOTES.split(' ').find_map(|pair| pair.strip_prefix(open))?;
    let inner = line.get(open.len_utf8()..)?;
    let shown = inner.get(..inner.find(close)?)?;
    let start = at + open.len_utf8() + (shown.len() - shown.trim_start().len());
    Some(start..start + shown.trim().len())
}

/// Returns the place of the quote after a type: `password: String = "…"`, `password: Option<&str> = "…"`.
fn after_type(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..at.checked_add(48)?.min(bytes.len()))?;
    let n =
        rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"<>&?_.:[]'".contains(b)).count();
    let after = rest.get(n..)?;
    let equals = after.strip_prefix(b" = ").or_else(|| after.strip_prefix(b" := "))?;
    let is_quote = matches!(equals.first(), Some(b'"' | b'\''));
    (n > 0 && is_quote).then(|| at + (rest.len() - equals.len()))
}

/// Returns the length of a cell: up to a bar, a tab or a tag.
fn n_cell(line: &str) -> usize {
    let ends = |(at, c): &(usize, char)| match c {
        '\t' => true,
        '|' => !line.get(..*at).is_some_and(|it| it.ends_with('\\')),
        '<' => line.get(*at..).is_some_and(|it| it.starts_with("</") || n_tags(it) > 0),
        _ => false,
    };
    line.char_indices().find(ends).map_or(line.len(), |it| it.0)
}

/// Returns the text up to the quote that ends it: one that a delimiter follows, since passwords may contain quotes.
fn quoted(text: &str, start: usize, quote: u8, is_escaped: bool) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(start..)?;
    let (mut has_quote, mut n) = (false, 0);
    while let Some(byte) = rest.get(n).filter(|byte| n < MAX_BASE64_BYTES && **byte != b'\n') {
        match *byte {
            // Where the quote was escaped, so is the one that ends it.
            b'\\' if is_escaped && rest.get(n + 1) == Some(&quote) => {
                return Some(start..start + n);
            }
            b'\\' => n += 1,
            byte if byte == quote => {
                has_quote = true;
                // Not the second of two quotes in a row, with which a password may begin.
                if is_delimiter(rest.get(n + 1..)?) && (n > 0 || rest.get(1) != Some(&quote)) {
                    return Some(start..start + n);
                }
            }
            byte if byte.is_ascii_whitespace() && has_quote => break,
            // Longer values are accepted only as base64.
            byte if n > MAX_VALUE_BYTES && !is_in(&BASE64, byte) => break,
            _ => {}
        }
        n += 1;
    }
    None
}

/// True at the end of a line or before what follows a string.
fn is_delimiter(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| {
        byte.is_ascii_whitespace() || b",;)}]>|.:*\\\"'`/<".contains(byte) || !byte.is_ascii()
    })
}

const OPENING: [char; 4] = ['(', '[', '{', '<'];

/// Returns a value without quotes: up to white space, the end of what it stands in, or a sign that ends its statement.
fn bare(text: &str, start: usize, op: Op) -> Option<Value> {
    let bytes = text.as_bytes();
    let line = line_after(text, start);
    let open = open_at(text, start);
    let is_tight = start.checked_sub(1).and_then(|i| bytes.get(i)) == Some(&b'=');
    let end = n_bare(line, is_tight, open.quote).min(line.len());
    let shown = line.get(..end)?;
    let rest = line.get(end..)?;
    // A name before the end of a statement or an argument is one of code: `password: value,`, `login(password=value)`.
    let ends_statement = rest.starts_with([',', ';']) && !is_tight;
    let kept = shown.trim_end_matches(['.', ',', ';', ':', ')', ']', '}', '*']);
    let is_argument = open.n_brackets > 0 || (shown.ends_with([',', ';', ')', '}']) && !is_tight);
    let names_code = (ends_statement || is_argument) && is_name(kept);
    // A closing bracket whose opening one is inside belongs to the value: `get(1)` must be recognized as code.
    let kept = if kept.contains(OPENING) { shown } else { kept };
    // `connect(user, "…` and `connect(` go on after the value.
    let goes_on = |at: usize| {
        rest.contains(|c: char| c.is_alphanumeric() || c == '"') || at + 1 == kept.len()
    };
    let is_cut = kept.matches(OPENING).count() > kept.matches([')', ']', '}', '>']).count()
        && kept
            .find(OPENING)
            .is_some_and(|at| at > 0 && goes_on(at) && kept.get(..at).is_some_and(is_name));
    // `"X-API-Key: …"`: it ends with the quotes of its label.
    let is_quoted = open.quote.is_some_and(|it| {
        let name = text.get(..start).and_then(|text| text.rsplit(char::from(it)).next());
        rest.as_bytes().first() == Some(&it) && !name.is_none_or(|it| it.trim_end().contains(' '))
    });
    // `$(cat /run/secrets/db)` is a command, with its blanks.
    let is_command = shown.starts_with("$(") && !shown.contains(')') && rest.contains(')');
    // Several words: a passphrase, or a sentence.
    let sentence = line.split(['.', ',', ';', '!', '?', ')', '"']).next()?.trim_end();
    let is_phrase = || {
        let before = text.get(..start).unwrap_or("").trim_end_matches([' ', ':']);
        let may_be_one = match op {
            Op::Is => before.ends_with(" is"),
            op => op != Op::Next,
        };
        let is_prose = matches!(op, Op::Is | Op::Below)
            && sentence.split(' ').any(|it| LABELS.fills.contains(it));
        may_be_one
            && !is_prose
            && sentence.contains(' ')
            && is_secret(sentence, ValueKind::Password, Form::Whole)
    };
    let form = match op {
        _ if names_code || is_cut || is_command => return None,
        // An element ends with a tag.
        Op::Element if !rest.starts_with("</") => return None,
        // After nothing but a blank it must fill the line, or be long.
        Op::Next
            if !kept.starts_with(char::is_alphanumeric)
                || kept.contains(['"', '=', '<', '>', '(', '['])
                || (kept.len() < 10 && !rest.trim().is_empty()) =>
        {
            return None;
        }
        _ if is_phrase() => {
            return Some(Value { range: start..start + sentence.len(), form: Form::Whole });
        }
        Op::Is | Op::Next | Op::Below => Form::Part,
        // Flags and elements are written about as much as they are used: `the --password option`.
        Op::Flag if is_name(kept) && !rest.trim().is_empty() => Form::Part,
        Op::Flag | Op::Element => Form::Whole,
        _ if is_tight || is_quoted => Form::Whole,
        _ => form_before(rest, kept),
    };
    // A value on the line below must be the whole line.
    let is_alone = op != Op::Below || rest.is_empty() || rest.starts_with(['\\', '"', '\r']);
    is_alone.then_some(Value { range: start..start + kept.len(), form })
}

/// Returns the length of a value without quotes at the start of a line; `quote` is open around it.
fn n_bare(line: &str, is_tight: bool, quote: Option<u8>) -> usize {
    let rest = line.as_bytes();
    let mut end = 0;
    while let Some(after) = rest.get(end..)
        && let [byte, ..] = after
    {
        let next = after.get(1);
        let ends_here = match byte {
            byte if byte.is_ascii_whitespace() || Some(*byte) == quote => true,
            b'\\' if quote.is_some() => matches!(next, Some(b'n' | b'r' | b't')),
            // These separate values only before a blank or another name; passwords may contain them.
            b',' | b';' | b'&' => {
                next.is_none_or(u8::is_ascii_whitespace)
                    || (is_tight || next == Some(&b'"'))
                        && after.get(1..).and_then(next_name).is_some()
            }
            b'<' => matches!(after, [_, b'/', b'a'..=b'z' | b'A'..=b'Z', ..] | [_, b'b', b'r', ..]),
            _ => is_full_stop(after),
        };
        if ends_here {
            break;
        }
        end += 1 + usize::from(*byte == b'\\' && quote.is_some());
    }
    end
}

/// Returns how far a value reaches that the rest of its line follows: at the end of the line, before another field,
/// and before anything but a word, it is whole; a name is whole at the end of the line only.
fn form_before(rest: &str, value: &str) -> Form {
    let behind = rest.trim_start_matches([
        ' ', '\t', '*', '_', '`', '"', '\'', ')', ']', '}', '.', ',', ';', '|', '\\', '&',
    ]);
    let goes_on = behind.starts_with(char::is_alphanumeric);
    let is_field =
        is_next_field(rest.get(1..).unwrap_or(""), value) || is_next_field(behind, value);
    let is_end = behind.trim().is_empty() || rest.starts_with("</") || is_field;
    if is_end || !(goes_on || is_name(value)) { Form::Whole } else { Form::Part }
}

/// True where another field follows a value: `Port: 22`. Words of sentences about secrets are neither value nor name,
/// and a sentence may end before the name: `Password: case sensitive Length: 12`.
fn is_next_field(rest: &str, value: &str) -> bool {
    let Some(name) = next_name(rest.as_bytes()).map(|n| rest.get(..n).unwrap_or("")) else {
        return false;
    };
    let name = name.trim_start_matches('"');
    let is_apart =
        name.starts_with(char::is_lowercase) && name.contains(|c: char| c.is_uppercase());
    let words = || name.split(' ');
    words().count() <= 2
        && !(words().count() == 2 && is_apart)
        && !words().chain([value]).any(|it| LABELS.is_of_sentences(it))
}

/// What is open where a value begins.
struct Open {
    /// The quote, if any.
    quote: Option<u8>,
    /// Number of parentheses.
    n_brackets: usize,
}

fn open_at(text: &str, place: usize) -> Open {
    let before = text.as_bytes().get(place.saturating_sub(MAX_VALUE_BYTES)..place).unwrap_or(&[]);
    let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let mut open = Open { quote: None, n_brackets: 0 };
    let mut last = b' ';
    for byte in line {
        match *byte {
            _ if last == b'\\' => {}
            byte if Some(byte) == open.quote => open.quote = None,
            // An apostrophe is not a quote.
            b'"' | b'`' | b'\''
                if open.quote.is_none() && !(*byte == b'\'' && last.is_ascii_alphanumeric()) =>
            {
                open.quote = Some(*byte);
            }
            b'(' => open.n_brackets += 1,
            b')' => open.n_brackets = open.n_brackets.saturating_sub(1),
            _ => {}
        }
        last = *byte;
    }
    open
}

/// True for `。`, `、`, `，`, `；`, `）`, `」`, full-width and no-break spaces, which end a value as their ASCII forms do.
fn is_full_stop(rest: &[u8]) -> bool {
    matches!(
        rest,
        [0xe3, 0x80, 0x80..=0x82 | 0x8d | 0x8f, ..]
            | [0xef, 0xbc, 0x8c | 0x9b | 0x89, ..]
            | [0xc2, 0xa0, ..]
    )
}

/// Returns where the name at the start of a text ends, if `=` or `: ` follows it.
fn next_name(rest: &[u8]) -> Option<usize> {
    let after = rest.strip_prefix(b"\"").unwrap_or(rest);
    let n = after
        .iter()
        .take(40)
        .take_while(|b| b.is_ascii_alphanumeric() || b" _-.".contains(b))
        .count();
    let is_set = matches!(after.get(n..), Some([b'=', ..] | [b':', b' ', ..] | [b'"', b':', ..]));
    (n > 0 && is_set).then_some(rest.len() - after.len() + n)
}
