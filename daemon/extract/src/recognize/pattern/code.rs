//! Code: the code spans of a document that are one name: `rotate_keys`, `KeyRotationJob`, `std::fs::read`,
//! `http.Handler`, `run()`, `Box<T>`, `println!`, `Send`, `__name__`, `--watch`, `GET /v1/seals`.
//!
//! In: the inline code of a document. Out: one mention for each span that is a name as a whole; parameters and
//! arguments belong to the span, not to the name, so that `Box<T>` and `Box` are one.
//! Invariants: a span with blanks is a command and no name, but for an HTTP method with its path; so are file names,
//! paths, values and keywords; a plain lowercase word names nothing by itself (the gazetteer may know it).
//! Of the spans with such a form in `corpus/real` (tuning half), nine of ten are names to its readers.
//! Not here: fenced code, where nothing is a mention but what the gazetteer knows to the letter.

use super::identifier;
use super::proof::mention;
use crate::recognize::words;
use model::parcel::{InlineKind, Mention, NormalDoc};
use model::terms::{EntityType, Norm, Span};

const SCORE: f32 = 0.85;
/// Longest code span that is a name, in bytes.
const MAX_BYTES: usize = 64;
/// Shortest, in bytes: `T` and `x` are no names.
const MIN_BYTES: usize = 2;
/// Shortest that begins small, in bytes: `i32` and `x1` are no names.
const MIN_SMALL_BYTES: usize = 4;
/// Shortest name before a dot that is a module or class rather than a variable, in bytes.
const MIN_RECEIVER_BYTES: usize = 3;
/// Last parts of file and host names.
const FILE_ENDINGS: &str = " rs py js ts go c h cpp java kt rb sh md txt yml yaml toml json xml \
     html css csv conf cfg ini log lock png svg jpg gif pdf exe dll so com org io net dev local \
     internal ";
const METHODS: [&str; 6] = ["GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD "];

/// Adds the code spans that are names.
pub(super) fn find(doc: &NormalDoc, out: &mut Vec<Mention>) {
    let spans = doc.inlines.iter().filter(|inline| inline.kind == InlineKind::Code);
    for inline in spans {
        let whole = inline.span.of(&doc.text);
        let code = whole.trim();
        if code.len() < MIN_BYTES || code.len() > MAX_BYTES {
            continue;
        }
        let Some(found) = name_of(code) else { continue };
        let start = inline.span.start() + whole.len() - whole.trim_start().len();
        let span: Span<Norm> = Span::new(start, start + found.n_bytes);
        out.push(mention(span, found.name, found.entity_type, SCORE));
    }
}

/// A name at the beginning of a code span.
struct Found<'c> {
    name: &'c str,
    entity_type: EntityType,
    /// The part of the span that names it.
    n_bytes: usize,
}

/// Returns the name at the beginning of a code span.
fn name_of(code: &str) -> Option<Found<'_>> {
    let found = |name, n_bytes, entity_type| Some(Found { name, entity_type, n_bytes });
    if METHODS.iter().any(|m| code.strip_prefix(m).is_some_and(|path| path.starts_with('/'))) {
        let has_one_blank = code.matches(' ').count() == 1;
        return has_one_blank.then(|| found(code, code.len(), EntityType::Api))?;
    }
    if is_flag(code) {
        return found(code, code.len(), EntityType::Identifier);
    }
    let path_len = code.find(['(', '<', '!']).unwrap_or(code.len());
    let (path, tail) = (code.get(..path_len)?, code.get(path_len..)?);
    let is_call = tail.starts_with('(') && tail.ends_with(')') && !tail.contains(' ');
    let is_generic = tail.starts_with('<') && tail.ends_with('>');
    if !(tail.is_empty() || tail == "!" || is_call || is_generic) {
        return None;
    }
    let parts: Vec<&str> = path.split("::").flat_map(|part| part.split('.')).collect();
    let is_path = parts.iter().all(|part| is_identifier(part))
        && !matches!(parts.first(), Some(&("self" | "this" | "cls")));
    if !is_path {
        return None;
    }
    // What a caller passes is not part of the name.
    let has_arguments = is_call && tail != "()";
    let n_bytes = if has_arguments { path.len() } else { code.len() };
    if parts.len() == 1 {
        let entity_type = if tail == "!" { Some(EntityType::Api) } else { single(path, is_call) };
        return found(path, n_bytes, entity_type?);
    }
    let last = parts.last().copied().unwrap_or("");
    let is_file = !path.contains("::") && FILE_ENDINGS.split(' ').any(|ending| ending == last);
    // `s.len()` is a call on a variable.
    let is_variable =
        !path.contains("::") && parts.first().is_some_and(|part| part.len() < MIN_RECEIVER_BYTES);
    (!is_variable && !is_file).then(|| found(path, n_bytes, EntityType::Api))?
}

/// True for a long option without a value.
fn is_flag(code: &str) -> bool {
    let name = code.strip_prefix("--").unwrap_or_default();
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn single(word: &str, is_call: bool) -> Option<EntityType> {
    let core = word.trim_matches('_');
    if core.contains('_') {
        return identifier::is_snake(word).then_some(EntityType::Identifier);
    }
    if word.starts_with("__") && word.ends_with("__") && !core.is_empty() {
        return Some(EntityType::Identifier);
    }
    let has_small = core.bytes().any(|b| b.is_ascii_lowercase());
    let is_hump =
        core.as_bytes().windows(2).any(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase());
    if is_hump {
        return identifier::camel_type(core).map(|_| EntityType::Identifier);
    }
    let has_capital = core.bytes().next().is_some_and(|b| b.is_ascii_uppercase());
    if has_capital {
        // In code font an ordinary word with a capital is a type: `Send`.
        let is_word = has_small && core.bytes().all(|b| b.is_ascii_alphabetic());
        return is_word.then_some(EntityType::Identifier);
    }
    let is_name = is_call && has_small && core.len() >= MIN_SMALL_BYTES;
    (is_name && !words::is_ordinary(core)).then_some(EntityType::Api)
}

fn is_identifier(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
