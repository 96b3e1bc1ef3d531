//! Code: the code spans of a document that are one name: `rotate_keys`, `KeyRotationJob`, `std::fs::read`,
//! `http.Handler`, `run()`, `Box<T>`, `&Box`, `println!`, `Send`, `__name__`, `--watch`, `extra-metrics`,
//! `cargo build`, `GET /v1/seals`.
//!
//! In: the inline code of a document. Out: one mention for each span that is a name as a whole.
//! References, parameters and arguments belong to the span but not to the name, so `&Box`, `Box<T>`
//! and `Box` are one.
//! Invariants: of spans with spaces, only an HTTP method with its path and a command of two or
//! three plain words are names; file names, paths and values are not. A plain lowercase word is a
//! name if a noun beside it gives its kind (`the spawn function`) or the document marks it again.
//! Linear.
//! Measured on `corpus/real` (tuning half): readers take nine of ten spans with such a form for
//! names, and three of four plain words.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::identifier;
use super::proof::mention;
use crate::recognize::words::{self, WordSet, word_set};
use model::document::{Document, InlineKind, Mention};
use model::terms::{EntityType, Norm, Span};

const SCORE: f32 = 0.85;
/// Longest code span that is a name, in bytes.
const MAX_BYTES: usize = 64;
/// Shortest, in bytes: `T` and `x` are not names.
const MIN_BYTES: usize = 2;
/// Shortest that begins with a lowercase letter, in bytes: `x1` is not a name.
const MIN_SMALL_BYTES: usize = 3;
/// Most words of a command that is a name.
const MAX_COMMAND_WORDS: usize = 3;
/// Shortest name before a dot that is a module or class, in bytes; shorter ones are variables.
const MIN_RECEIVER_BYTES: usize = 3;
/// Last parts of file and host names.
const FILE_ENDINGS: &str = " rs py js ts go c h cpp java kt rb sh md txt yml yaml toml json xml \
     html css csv conf cfg ini log lock png svg jpg gif pdf exe dll so com org io net dev local \
     internal ";
/// Nouns that, beside a plain word, say what it names.
static KINDS: WordSet = LazyLock::new(|| {
    word_set(
        "attribute class command crate enum field flag function key keyword label loop macro \
         method metric module operator option package parameter plugin property setting \
         statement struct subcommand syntax trait type variable",
    )
});
/// Values, which are in code font as often as names.
static VALUES: WordSet = LazyLock::new(|| {
    word_set("true false null nil none undefined self this yes no on off main for if else")
});
const METHODS: [&str; 6] = ["GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD "];

/// Adds the code spans that are names.
pub(super) fn find(doc: &Document, out: &mut Vec<Mention>) {
    let spans = || doc.inlines.iter().filter(|inline| inline.kind == InlineKind::Code);
    let mut n_words: FxHashMap<&str, (u32, bool)> = FxHashMap::default();
    for inline in spans() {
        let word = inline.span.of(&doc.text).trim();
        if is_plain_word(word) {
            let uses = n_words.entry(word).or_default();
            uses.0 += 1;
            uses.1 |= is_beside_kind(&doc.text, inline.span);
        }
    }
    for inline in spans() {
        let whole = inline.span.of(&doc.text);
        let code = whole.trim();
        if code.len() < MIN_BYTES || code.len() > MAX_BYTES {
            continue;
        }
        let is_known = |(n, has_kind): &(u32, bool)| *n > 1 || *has_kind;
        let found = match n_words.get(code).is_some_and(is_known) {
            true => Some(Found { name: code, entity_type: EntityType::Api, n_bytes: code.len() }),
            false => name_of(code),
        };
        let Some(found) = found else { continue };
        let start = inline.span.start() + whole.len() - whole.trim_start().len();
        let span: Span<Norm> = Span::new(start, start + found.n_bytes);
        out.push(mention(span, found.name, found.entity_type, SCORE));
    }
}

/// Returns whether a word is lowercase and not a value.
fn is_plain_word(word: &str) -> bool {
    (MIN_BYTES..=MAX_BYTES).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_lowercase())
        && !VALUES.contains(word)
}

/// Returns whether a noun for a kind of code is next to a span: `the spawn function`,
/// `the keyword move`.
fn is_beside_kind(text: &str, span: Span<Norm>) -> bool {
    let is_kind = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphabetic());
        let word = word.strip_suffix('s').filter(|it| !it.ends_with('s')).unwrap_or(word);
        KINDS.contains(word)
    };
    let after = text.get(span.end()..).and_then(|rest| rest.strip_prefix(' '));
    let next = after.and_then(|rest| rest.split(char::is_whitespace).next());
    let before = text.get(..span.start()).and_then(|rest| rest.strip_suffix(' '));
    let last = before.and_then(|rest| rest.rsplit(char::is_whitespace).next());
    next.is_some_and(is_kind) || last.is_some_and(is_kind)
}

/// A name at the beginning of a code span.
struct Found<'c> {
    name: &'c str,
    entity_type: EntityType,
    /// How much of the span names it.
    n_bytes: usize,
}

/// Returns the name in a code span.
fn name_of(code: &str) -> Option<Found<'_>> {
    if let Some(target) = code.strip_prefix('&') {
        // A reference to a type, not to a variable: `&x` is an argument.
        let target = target.strip_prefix("mut ").unwrap_or(target);
        let is_type = target.starts_with(|c: char| c.is_ascii_uppercase());
        let found = is_type.then(|| name_of(target)).flatten()?;
        let n_bytes = found.n_bytes + code.len() - target.len();
        return Some(Found { n_bytes, ..found });
    }
    let found = |name, n_bytes, entity_type| Some(Found { name, entity_type, n_bytes });
    if METHODS.iter().any(|m| code.strip_prefix(m).is_some_and(|path| path.starts_with('/'))) {
        let has_one_blank = code.matches(' ').count() == 1;
        return has_one_blank.then(|| found(code, code.len(), EntityType::Api))?;
    }
    if is_flag(code) {
        return found(code, code.len(), EntityType::Identifier);
    }
    if is_command(code) {
        return found(code, code.len(), EntityType::Api);
    }
    if is_kebab(code) {
        return found(code, code.len(), EntityType::Identifier);
    }
    // What remains is a path of identifiers, perhaps with arguments, generics or a macro's mark.
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
    // The arguments of a call are not part of the name.
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

/// Returns whether the code is a long option without a value.
fn is_flag(code: &str) -> bool {
    let name = code.strip_prefix("--").unwrap_or_default();
    name.len() >= 2
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Returns whether the code is a command such as `cargo build` or `while let`.
fn is_command(code: &str) -> bool {
    let is_word = |word: &str| {
        word.len() > 1
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && !words::is_function_word(word)
    };
    let n_words = code.split(' ').take(MAX_COMMAND_WORDS + 1).count();
    (2..=MAX_COMMAND_WORDS).contains(&n_words) && code.split(' ').all(is_word)
}

/// Returns whether the code is a word like `extra-scrape-metrics` or `full-card`, not `a-1` or a
/// placeholder.
fn is_kebab(code: &str) -> bool {
    let mut parts = code.split('-');
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    code.contains('-')
        && code.starts_with(|c: char| c.is_ascii_lowercase())
        && code.split('-').filter(|part| part.len() > 1).count() > 1
        && code.split('-').all(is_part)
        && !identifier::is_placeholder(&mut parts)
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
        // In code font an ordinary capitalized word is a type: `Send`.
        let is_word = has_small && core.bytes().all(|b| b.is_ascii_alphabetic());
        return is_word.then_some(EntityType::Identifier);
    }
    // `i32` and `u8` are types; a call shows that a word names a function.
    let is_type = core.len() >= MIN_SMALL_BYTES
        && core.trim_end_matches(|c: char| c.is_ascii_digit()).len() == 1;
    let is_name = is_call && has_small && core.len() >= MIN_SMALL_BYTES;
    (is_name || is_type).then_some(EntityType::Api)
}

fn is_identifier(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
