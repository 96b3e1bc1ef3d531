//! Operators: the text between a label and its value.
//!
//! ```text
//! = : := => -> → ： ＝    |    >    --password …    "password", "…"    is, lautet, は    password of the router: …
//! password: !tag …    password: &anchor …    <dt>Password</dt><dd>…
//! ```
//! In: a text and the place of a label. Out: where the value begins, and what precedes it.
//! Invariant: a bounded number of bytes after the label is read.
//! Not here: the value (`assign.rs`); columns of tables (`column.rs`).

use super::label::{LABELS, SUFFIXES, is_ideographic};

/// Most white space between a name and its value, in bytes: configuration files align values in columns.
const MAX_SPACES: usize = 40;

/// Longest words between a label and its value, in bytes: `password for the wifi in the attic is …`.
const MAX_WORDS_BYTES: usize = 60;

/// How far before a word its program or `login` may be, in bytes.
const MAX_BEFORE_BYTES: usize = 200;

/// The text between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// `=`, `:`, `:=`, `=>`, `->`, `==`.
    Sets,
    /// The same, with the value on a line of its own.
    Below,
    /// A value that must be quoted: `password('…')`, `PASSWORD '…'`, `"password", "…"`.
    Quote,
    /// An XML element.
    Element,
    /// A flag on a command line, `password …` in a `.netrc`.
    Flag,
    /// A cell of a table.
    Cell,
    /// Words or a dash.
    Is,
    /// Nothing but white space.
    Next,
}

/// Returns where the value begins, and what precedes it.
pub(super) fn operator(text: &str, name_start: usize, name_end: usize) -> Option<(usize, Op)> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b'\n');
    let mut i = skip_suffix(text, name_end)?;
    // Close what surrounds the name: an escaped or plain quote, `>` of a tag, `]` of an index, emphasis.
    if at(i) == b'\\' && matches!(at(i + 1), b'"' | b'\'') {
        i += 1;
    }
    let is_quoted = matches!(at(i), b'"' | b'\'' | b'`');
    i += usize::from(is_quoted);
    let is_tag = at(i) == b'>';
    i += usize::from(at(i) == b']');
    i = skip_emphasis(bytes, i);
    if is_tag {
        return Some(after_spaces(text, i + 1, Op::Element));
    }
    let tags = n_tags(text.get(i..)?);
    i += tags;
    let spaces = spaces_at(bytes, i);
    let mut next = i + spaces;
    if at(next) == b'(' && spaces > 0 && !matches!(at(next + 1), b'"' | b'\'') && !is_quoted {
        next = skip_aside(bytes, next).unwrap_or(next);
    }
    let rest = text.get(next..)?;
    // In order of certainty: signs first, words next, a mere space last.
    let found = match (at(next), at(next + 1)) {
        _ if let Some(n) = n_sign(rest) => (next + n, Op::Sets),
        _ if tags > 0 => (next, Op::Cell),
        (b'|' | b'\t', _) => (next + 1, Op::Cell),
        (b'(', b'"' | b'\'') if spaces == 0 && !is_quoted => (next + 1, Op::Quote),
        (b',', _) if is_quoted => (next + 1, Op::Quote),
        (b'{', _) if is_quoted => (default_of(bytes, next)?, Op::Sets),
        (b'"' | b'\'', _) if spaces > 0 && !is_quoted => (next, Op::Quote),
        (b'v' | b'c', _) if spaces > 0 && is_quoted => (attribute(bytes, next)?, Op::Quote),
        _ if let Some(n) = n_dash(rest).filter(|_| spaces > 0) => (next + n, Op::Is),
        _ if let Some(n) = n_copula(rest, spaces > 0) => (next + n, Op::Is),
        _ if let Some(n) = n_words(rest).filter(|_| spaces > 0) => (next + n.0, n.1),
        _ if spaces > 0 && is_flag(bytes, name_start) => (next, Op::Flag),
        _ if spaces > 0 && follows_login(bytes, name_start) => (next, Op::Flag),
        _ if spaces > 0 => (next, Op::Next),
        (b'\n', _) if follows_login(bytes, name_start) => (next + 1, Op::Flag),
        _ => return None,
    };
    Some(after_spaces(text, found.0, found.1))
}

/// Skips white space and emphasis; after an operator that sets a value, also one or two line ends.
fn after_spaces(text: &str, start: usize, op: Op) -> (usize, Op) {
    let bytes = text.as_bytes();
    let mut i = skip_emphasis(bytes, start);
    i += spaces_at(bytes, i);
    i = skip_emphasis(bytes, i);
    i += text.get(i..).map_or(0, n_tags);
    if op == Op::Sets {
        i += text.get(i..).map_or(0, n_yaml_properties);
    }
    if op != Op::Sets {
        return (i, op);
    }
    // `password: |` in YAML, or a label on a line of its own; `\n` is a line end in a string of code.
    let rest = bytes.get(i..).unwrap_or(&[]);
    if let Some(rest) = rest.strip_prefix(b"\\n") {
        return (i + if rest.starts_with(b"\\n") { 4 } else { 2 }, Op::Below);
    }
    let n_block = rest.iter().take(2).take_while(|byte| b"|>-+".contains(byte)).count();
    let rest = rest.get(n_block..).unwrap_or(&[]);
    let n_blank =
        rest.iter().take(MAX_SPACES).take_while(|byte| byte.is_ascii_whitespace()).count();
    let blank = rest.get(..n_blank).unwrap_or(&[]);
    match blank.iter().filter(|byte| **byte == b'\n').count() {
        // A format may have joined the lines of a block.
        0 if n_block > 0 && n_blank > 0 => (i + n_block + n_blank, op),
        // The line must end almost directly after the operator; otherwise the value is on the same line.
        1 | 2 if blank.iter().position(|byte| *byte == b'\n').is_some_and(|n| n < 3) => {
            (i + n_block + n_blank, Op::Below)
        }
        _ => (i, op),
    }
}

/// Returns the length of tags that only lay out what is in them, with white space between them: `</dt> <dd>`.
pub(super) fn n_tags(text: &str) -> usize {
    let mut rest = text;
    while let Some(tag) = rest.trim_ascii_start().strip_prefix('<')
        && let Some(end) = tag.bytes().take(MAX_TAG_BYTES).position(|byte| byte == b'>')
        && let (Some(name), Some(after)) = (tag.get(..end), tag.get(end + 1..))
        && LAYOUT_TAGS.iter().any(|it| name.trim_start_matches('/').split(' ').next() == Some(*it))
    {
        rest = after;
    }
    text.len() - rest.len()
}

/// Longest tag or property that is skipped, in bytes.
const MAX_TAG_BYTES: usize = 100;

/// Tags without a meaning of their own; the value of a label is not in another row of a table.
const LAYOUT_TAGS: [&str; 18] = [
    "b", "strong", "i", "em", "u", "code", "kbd", "tt", "samp", "span", "dt", "dd", "td", "th",
    "li", "p", "br", "label",
];

/// Returns the length of a tag or an anchor before a value in YAML: `!vault `, `!!str `, `&name `.
fn n_yaml_properties(text: &str) -> usize {
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-/!:&".contains(byte);
    let mut n = 0;
    while let Some(rest) = text.as_bytes().get(n..)
        && let Some(b'!' | b'&') = rest.first()
        && let n_inside = rest.iter().take(MAX_TAG_BYTES).take_while(|it| is_inside(it)).count()
        && rest.get(n_inside) == Some(&b' ')
    {
        n += n_inside + 1;
    }
    n
}

fn skip_emphasis(bytes: &[u8], mut i: usize) -> usize {
    while matches!(bytes.get(i), Some(b'*')) || bytes.get(i..i + 2) == Some(b"__") {
        i += 1 + usize::from(bytes.get(i) == Some(&b'_'));
    }
    i
}

/// Skips suffixes of a name after its label: a plural, a number, `_base`. Returns `None` when the word continues.
fn skip_suffix(text: &str, mut at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    at += usize::from(matches!(bytes.get(at), Some(b's' | b'S')));
    let rest = text.get(at..)?;
    at += SUFFIXES.iter().find(|it| rest.starts_with(**it)).map_or(0, |it| it.len());
    let has_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    if has_digit(at) || (matches!(bytes.get(at), Some(b'_' | b' ' | b'-')) && has_digit(at + 1)) {
        let is_apart = bytes.get(at) == Some(&b' ');
        let mut end = at + 1;
        while has_digit(end) {
            end += 1;
        }
        // `password 2: …` is numbered; `password 12345678` and `password 2xK…` are values.
        let is_value = end >= at + 4 || bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
        if !is_apart || !is_value {
            at = end;
        }
    }
    let goes_on = |c: char| (c.is_alphanumeric() && !is_ideographic(c)) || c == '_';
    let is_emphasis = bytes.get(at..at + 2) == Some(b"__");
    (is_emphasis || !text.get(at..)?.chars().next().is_some_and(goes_on)).then_some(at)
}

/// Returns the bytes of spaces and tabs, including no-break and full-width spaces.
fn spaces_at(bytes: &[u8], at: usize) -> usize {
    let mut n = 0;
    while n < MAX_SPACES {
        n += match bytes.get(at + n..).unwrap_or(&[]) {
            [b' ' | b'\t', ..] => 1,
            [0xc2, 0xa0, ..] => 2,
            [0xe2, 0x80, 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => 3,
            _ => break,
        };
    }
    n
}

/// Returns the length of an operator sign.
fn n_sign(rest: &str) -> Option<usize> {
    let signs = ["?:", ":=", "=>", "==", "->", "→", "⇒", "：", "＝"];
    let found = signs.iter().find(|it| rest.starts_with(**it)).map(|it| it.len());
    // `::` separates names in code.
    let is_path = rest.starts_with("::");
    found.or_else(|| (rest.starts_with([':', '=']) && !is_path).then_some(1))
}

/// Returns the length of a dash with the space after it.
fn n_dash(rest: &str) -> Option<usize> {
    ["- ", "– ", "— "].iter().find(|it| rest.starts_with(**it)).map(|it| it.len())
}

/// Returns the length of a word such as `is`, `is:` or `lautet`. Ideographs need no space around it.
fn n_copula(rest: &str, has_space: bool) -> Option<usize> {
    let is_here = |it: &&&str| {
        let parts_words = !it.starts_with(is_ideographic);
        rest.starts_with(**it)
            && (has_space || !parts_words)
            && (!parts_words
                || rest.get(it.len()..).is_some_and(|it| it.starts_with([' ', ':', '\u{a0}'])))
    };
    let n = LABELS.copulas.iter().find(is_here)?.len();
    Some(n + usize::from(rest.get(n..)?.starts_with(':')))
}

/// Returns the length of words that begin with a link (`for the wifi`), up to and including the operator after them.
fn n_words(rest: &str) -> Option<(usize, Op)> {
    let is_link = |it: &&&str| {
        rest.starts_with(**it) && rest.get(it.len()..).is_some_and(|rest| rest.starts_with(' '))
    };
    let mut at = LABELS.links.iter().find(is_link)?.len();
    while at < MAX_WORDS_BYTES {
        let here = rest.get(at..)?;
        match here.chars().next()? {
            '\n' | '.' | ',' | ';' | '"' | '`' | '|' | '?' | '!' => return None,
            ' ' | '\u{a0}' => {
                let behind = here.trim_start_matches([' ', '\u{a0}']);
                let n_space = here.len() - behind.len();
                if let Some(n) = n_copula(behind, true).or_else(|| n_dash(behind)) {
                    return Some((at + n_space + n, Op::Is));
                }
                at += n_space;
            }
            ':' | '=' | '：' | '＝' | '→' => return Some((at + n_sign(here)?, Op::Sets)),
            c => at += c.len_utf8(),
        }
    }
    None
}

/// Returns the end of an aside in parentheses: `password (wifi): …`.
fn skip_aside(bytes: &[u8], at: usize) -> Option<usize> {
    let inside = bytes.get(at..)?;
    let n = inside.iter().take(48).position(|byte| matches!(byte, b')' | b'\n'))?;
    let end = at + n + 1;
    (inside.get(n) == Some(&b')')).then(|| end + spaces_at(bytes, end))
}

/// Returns the place of the value in `key="Password" value="…"` and `name="csrf-token" content="…"`.
fn attribute(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let n = [&b"value="[..], b"content="].iter().find(|it| rest.starts_with(it))?.len();
    Some(at + n)
}

/// Returns the place of the value in `variable "db_password" { default = "…" }`.
fn default_of(bytes: &[u8], at: usize) -> Option<usize> {
    let inside = bytes.get(at..)?;
    let inside = inside.get(..inside.len().min(MAX_BEFORE_BYTES))?;
    let word = memchr::memmem::find(inside, b"default")?;
    let equals = memchr::memchr(b'=', inside.get(word..)?)?;
    (memchr::memchr(b'}', inside.get(..word)?).is_none()).then_some(at + word + equals + 1)
}

/// True when the name is the end of a long flag, `--db-password`, or of one with a single dash, `-Password`.
fn is_flag(bytes: &[u8], name_start: usize) -> bool {
    let before = bytes.get(name_start.saturating_sub(32)..name_start).unwrap_or(&[]);
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let n = before.iter().rev().take_while(is_name).count();
    let word = before.get(before.len() - n..).unwrap_or(&[]);
    word.starts_with(b"-") && word.len() < 30
}

/// True for `machine … login … password …`, as in a `.netrc`.
fn follows_login(bytes: &[u8], name_start: usize) -> bool {
    let before = bytes.get(name_start.saturating_sub(MAX_BEFORE_BYTES)..name_start).unwrap_or(&[]);
    let place = |word: &[u8]| memchr::memmem::rfind(before, word);
    let (machine, login) = (place(b"machine ").or_else(|| place(b"default ")), place(b"login "));
    login.is_some_and(|login| machine.is_some_and(|machine| machine < login))
}
