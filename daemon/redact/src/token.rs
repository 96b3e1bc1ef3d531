//! Runs of characters: the parts of most tokens.
//!
//! In: a text and a place in it. Out: the length of the run of a set's characters there.
//! Invariant: a run is read no further than its bound.

/// Longest run that is read, in bytes; the longest token in use (of Google) has half of this.
const MAX_RUN_BYTES: usize = 4_096;

/// A set of ASCII characters.
pub(super) type Set = [bool; 128];

const fn set(letters: &[u8]) -> Set {
    let mut out = [false; 128];
    let mut i = 0;
    while i < letters.len() {
        out[(letters[i] & 0x7f) as usize] = true;
        i += 1;
    }
    out
}

static DIGITS: Set = set(b"0123456789");
static HEX: Set = set(b"0123456789abcdefABCDEF");
static LOWER: Set = set(b"abcdefghijklmnopqrstuvwxyz0123456789");
static UPPER: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
pub(super) static ALNUM: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
static WORD: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
pub(super) static URL_SAFE: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
static URL_SAFE_DOT: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.");
static PATH: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-/");
pub(super) static BASE64: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
pub(super) static BASE64_ANY: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-%.~:");

static URL_SAFE_TILDE: Set =
    set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~");
static CRYPT: Set = set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./");
static FIELD: Set = visible_but(b"\"'`<>:/@()[]{}\\");
static VISIBLE: Set = visible_but(b"\"'`<>");

/// Every visible ASCII character except these.
const fn visible_but(letters: &[u8]) -> Set {
    let others = set(letters);
    let mut out = [false; 128];
    let mut i = 33;
    while i < 127 {
        out[i] = !others[i];
        i += 1;
    }
    out
}

/// Returns the set that a letter stands for in `config/secrets.tsv`.
pub(super) fn set_of(letter: char) -> Option<&'static Set> {
    Some(match letter {
        'd' => &DIGITS,
        'h' => &HEX,
        'l' => &LOWER,
        'c' => &UPPER,
        'a' => &ALNUM,
        'w' => &WORD,
        'u' => &URL_SAFE,
        'v' => &URL_SAFE_DOT,
        't' => &URL_SAFE_TILDE,
        'p' => &PATH,
        'b' => &BASE64,
        'B' => &BASE64_ANY,
        's' => &CRYPT,
        'n' => &FIELD,
        'x' => &VISIBLE,
        _ => return None,
    })
}

pub(super) fn is_in(set: &Set, byte: u8) -> bool {
    set.get(byte as usize).copied().unwrap_or(false)
}

/// Returns the length of the run of a set's characters that begins at `from`.
pub(super) fn run(text: &str, from: usize, set: &Set) -> usize {
    run_within(text, from, set, MAX_RUN_BYTES)
}

/// Like [`run`], up to `most`.
pub(super) fn run_within(text: &str, from: usize, set: &Set, most: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or(&[]);
    rest.iter().take(most).take_while(|byte| is_in(set, **byte)).count()
}

/// Like [`run_within`], backwards from `end`.
pub(super) fn run_before(text: &str, end: usize, set: &Set, most: usize) -> usize {
    let before = text.as_bytes().get(..end).unwrap_or(&[]);
    before.iter().rev().take(most).take_while(|byte| is_in(set, **byte)).count()
}

/// True when a token may begin here: not inside a word.
pub(super) fn begins_token(text: &str, place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|i| text.as_bytes().get(i));
    !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        || is_after_escape(text, place)
}

/// True right after `\n`, `\t` or `\r` as an escape in a string of code.
fn is_after_escape(text: &str, place: usize) -> bool {
    let before = text.as_bytes().get(..place).unwrap_or(&[]);
    matches!(before, [.., b'\\', b'n' | b't' | b'r'])
}

/// True for 32 hexadecimal digits in the groups of a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
