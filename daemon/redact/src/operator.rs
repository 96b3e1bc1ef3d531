//! Operators: the text between a label and its value.
//!
//! ```text
//! = : := => -> → ： ＝    |    >    --password …    "password", "…"    is, lautet, は    password of the router: …
//! password: !tag …    password: &anchor …    <dt>Password</dt><dd>…
//! ```
//! In: a text and the place of a label. Out: where the value begins, and what precedes it.
//! Invariant: a bounded number of bytes after the label is read.

use super::label::{LABELS, SUFFIXES, is_ideographic};

/// Most white space between a name and its value, in bytes: configuration files align values in columns.
const MAX_SPACES: usize = 40;

/// Longest words between a label and its value, in bytes: `password for the wifi in the attic is …`.
const MAX_WORDS_BYTES: usize = 60;

/// How far after a label a field with its value may be, in bytes.
const MAX_FIELDS_BYTES: usize = 200;

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
    /// A flag on a command line.
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
    if let Some(n) = n_sibling(text.get(i..)?) {
        return Some(after_spaces(text, i + n, Op::Sets));
    }
    // Close what surrounds the name: an escaped or plain quote, `>` of a tag, `]` of an index, emphasis.
    if at(i) == b'\\' && matches!(at(i + 1), b'"' | b'\'') {
        i += 1;
    }
    let is_quoted = matches!(at(i), b'"' | b'\'' | b'`');
    i += usize::from(is_quoted);
    i += n_attributes(text, name_start, i);
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
    let is_index = at(next) == b'[' && (spaces > 0 || matches!(at(next + 1), b']' | b'0'..=b'9'));
    let is_aside = at(next) == b'(' && spaces > 0 && !matches!(at(next + 1), b'"' | b'\'');
    if (is_aside || is_index) && !is_quoted {
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
        (b'"' | b'\'', _) if spaces > 0 && !is_quoted => (next, Op::Quote),
        _ if let Some(n) = n_dash(rest).filter(|_| spaces > 0) => (next + n, Op::Is),
        _ if let Some(n) = n_words(rest).filter(|_| spaces > 0) => (next + n.0, n.1),
        _ if let Some(n) = n_copula(rest, spaces > 0) => (next + n, Op::Is),
        _ if spaces > 0 && is_flag(bytes, name_start) => (next, Op::Flag),
        (b'\n' | b'\r', _) if fills_line(text, name_start) => (next, Op::Below),
        _ if spaces > 0 => (next, Op::Next),
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
    } else if op != Op::Below {
        return (i, op);
    }
    let rest = text.get(i..).unwrap_or("");
    // `\n` is a line end in a string of code.
    if let Some(rest) = rest.strip_prefix("\\n") {
        return (i + if rest.starts_with("\\n") { 4 } else { 2 }, Op::Below);
    }
    // `password: |` in YAML; a format may have joined the lines of a block.
    let n_block = rest.len() - rest.trim_start_matches(['|', '>', '-', '+']).len();
    let block = rest.get(n_block..).unwrap_or("");
    match n_to_next_line(block).filter(|_| n_block <= 2) {
        Some(n) => (i + n_block + n, Op::Below),
        None if (1..=2).contains(&n_block) && block.starts_with(' ') => (i + n_block + 1, op),
        None => (i, op),
    }
}

/// Returns the length of what is before the text of the next line: blank lines, the line under a heading, a fence, and
/// the mark of an item, a quote or a definition; `None` if there is more on this line.
fn n_to_next_line(text: &str) -> Option<usize> {
    let text = text.get(..text.floor_char_boundary(MAX_FIELDS_BYTES))?;
    let mut lines = text.split_inclusive('\n').take(5);
    let mut at = lines.next().filter(|it| it.trim().is_empty() && it.ends_with('\n'))?.len();
    for line in lines {
        let is_frame = line.trim().bytes().all(|byte| b"=-~`_*".contains(&byte));
        if !is_frame && !line.starts_with("```") {
            let marks = [' ', '\t', '>', '*', '+', '•', ':'];
            return Some(at + line.len() - line.trim_start_matches(marks).len());
        }
        at += line.len();
    }
    None
}

/// True for a label that heads what is below it: nothing before it on its line but marks and a few words.
fn fills_line(text: &str, name_start: usize) -> bool {
    let before = text.get(..name_start).unwrap_or("").rsplit('\n').next().unwrap_or("");
    let words = before.trim_start_matches(['#', '*', '-', '_', '+', '>', '=', ' ', '\t']);
    words.len() <= 40
        && !words.contains(['.', ':', ',', ';', '=', '(', '|', '`', '"', '/', '<', '$'])
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

/// Returns the length of what follows a name in its tag: `<password type="text">`.
fn n_attributes(text: &str, name_start: usize, at: usize) -> usize {
    let before = text.get(..name_start).unwrap_or("");
    let is_name = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
    let rest = text.get(at..).filter(|it| it.starts_with(' ')).unwrap_or("");
    let end = rest.bytes().take(MAX_TAG_BYTES).position(|byte| matches!(byte, b'>' | b'<' | b'\n'));
    end.filter(|_| before.trim_end_matches(is_name).ends_with('<')).unwrap_or(0)
}

/// Longest tag or property that is skipped, in bytes.
const MAX_TAG_BYTES: usize = 100;

/// Tags without a meaning of their own; the value of a label is not in another row of a table.
const LAYOUT_TAGS: [&str; 26] = [
    "b", "strong", "i", "em", "u", "code", "kbd", "tt", "samp", "span", "dt", "dd", "td", "th",
    "li", "p", "br", "label", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "div",
];

/// Returns the length of a tag or an anchor before a value in YAML: `!vault `, `!!str `, `&name `.
fn n_yaml_properties(text: &str) -> usize {
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-/!:&".contains(byte);
    let mut n = 0;
    while let Some(rest) = text.as_bytes().get(n..)
        && let Some(b'!' | b'&') = rest.first()
        && let n_inside = rest.iter().take(MAX_TAG_BYTES).take_while(|it| is_inside(it)).count()
        && rest.get(n_inside) == Some(&b' ')
        && rest.get(n_inside + 1) != Some(&b'=')
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
    at += usize::from(bytes.get(at..at + 2) == Some(b" #"));
    if has_digit(at)
        || (matches!(bytes.get(at), Some(b'_' | b' ' | b'-' | b'#')) && has_digit(at + 1))
    {
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
    let signs = [
        "?:", "===", "?=", "+=", ":=", "= = ", "=>", "==", "->", "→", "⇒", "⟶", "➜", "➔", "：",
        "＝",
    ];
    let found = signs.iter().find(|it| rest.starts_with(**it)).map(|it| it.len());
    // `::` separates names in code, but not before a blank.
    if let Some(after) = rest.strip_prefix("::") {
        return after.starts_with(char::is_whitespace).then_some(2);
    }
    // A row of dots leads to a value in another column.
    if ["....", ". . .", "……"].iter().any(|it| rest.starts_with(it)) {
        return Some(rest.len() - rest.trim_start_matches(['.', '…', ':', ' ']).len());
    }
    found.or_else(|| rest.starts_with([':', '=']).then_some(1))
}

/// Returns the length of a dash, an arrow head or a bullet with the space after it.
fn n_dash(rest: &str) -> Option<usize> {
    let dashes = ["- ", "– ", "— ", "» ", "› ", "> ", ">> ", "❯ ", "· ", "• ", "‣ ", "・ ", "~ "];
    dashes.iter().find(|it| rest.starts_with(**it)).map(|it| it.len())
}

/// Returns the length of a word such as `is`, `is:` or `lautet`. Ideographs need no space around it.
fn n_copula(rest: &str, has_space: bool) -> Option<usize> {
    let is_here = |it: &&&str| {
        let parts_words = !it.starts_with(is_ideographic);
        starts_with(rest, it)
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
        starts_with(rest, it) && rest.get(it.len()..).is_some_and(|rest| rest.starts_with(' '))
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

/// Returns the end of an aside or an index: `password (wifi): …`, `password[] = …`.
fn skip_aside(bytes: &[u8], at: usize) -> Option<usize> {
    let inside = bytes.get(at..)?;
    let n = inside.iter().take(48).position(|byte| matches!(byte, b')' | b']' | b'\n'))?;
    let end = at + n + 1;
    (inside.get(n) != Some(&b'\n')).then(|| end + spaces_at(bytes, end))
}

/// Returns the length of what is before the value in the field for it, which follows a field that holds the label or
/// lies in it: `key="Password" value="…"`, `name: DB_PASSWORD` above `value: …`, `"password" { default = "…" }`.
fn n_sibling(rest: &str) -> Option<usize> {
    const AROUND: [char; 9] = [' ', '\t', '\r', '"', '\'', '\\', '<', '{', '-'];
    let first = rest.trim_start_matches([' ', ':', '"', '\'', '\\', '\r']);
    if !(rest.starts_with(['"', '\'', '\\'])
        || first.starts_with(['\n', '{', ','])
        || rest.starts_with("</"))
    {
        return None;
    }
    let inside =
        rest.get(..rest.floor_char_boundary(MAX_FIELDS_BYTES))?.split(['}', ']']).next()?;
    let is_tag = |it: &str| it.starts_with('/') && it.ends_with('>');
    let starts = |c: char| c != '-' && AROUND.contains(&c) || matches!(c, '\n' | ',' | '>');
    for (at, sign) in inside.match_indices(starts) {
        let word = inside.get(at + 1..)?;
        let Some(name) = LABELS.fields.iter().find(|it| starts_with(word, it)) else { continue };
        let after = word.get(name.len()..)?.trim_start_matches(AROUND);
        if !(after.starts_with([':', '=']) || sign == "<" && after.starts_with('>')) {
            continue;
        }
        // Other fields may lie between the two, but no sentence, and nothing may be assigned to the label itself.
        let mut parts =
            inside.get(..=at)?.split([',', '\n', ';']).map(|it| it.trim_matches(AROUND));
        let is_first = parts.next().is_some_and(|it| matches!(it, "" | ":") || is_tag(it));
        let is_field = |it: &str| it.is_empty() || is_tag(it) || it.contains([':', '=']);
        return (is_first && parts.all(is_field)).then(|| inside.len() - after.len() + 1);
    }
    None
}

/// Returns whether a text starts with a word; only ASCII may differ in case.
fn starts_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word))
}

/// True when the name is the end of a long flag, `--db-password`, or of one with a single dash, `-Password`.
fn is_flag(bytes: &[u8], name_start: usize) -> bool {
    let before = bytes.get(name_start.saturating_sub(32)..name_start).unwrap_or(&[]);
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let n = before.iter().rev().take_while(is_name).count();
    let word = before.get(before.len() - n..).unwrap_or(&[]);
    word.starts_with(b"-") && word.len() < 30
}
