//! Likely: whether the value of a label is a secret.
//!
//! After a label for passwords every value is one, except what says that it is none: a reference to a value that is
//! kept elsewhere, or a placeholder. The looks of a value decide only where the label has other meanings, too, or where
//! nothing marks what belongs to the value.
//! In: a value. Out: yes or no.
//! Invariants: linear in the value, whose length the caller bounds; the answer depends on the value alone.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::label::{LABELS, ValueKind, is_ideographic};
use super::token::is_uuid;

/// Values that manuals print for every reader (`config/published_secrets.tsv`).
pub(super) static PUBLISHED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("../../../config/published_secrets.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once('\t')?.0))
        .collect()
});

/// Shortest value that is taken for a secret, in bytes: nothing that is shorter protects anything.
const MIN_VALUE_BYTES: usize = 4;

/// What a whole value looks like that refers to a secret instead of being one.
const REFERENCES: &str = r"(?x-u) ^ (?:
    # Variables and templates of shells, YAML, Python, Ruby, Windows, Java; a part of the value may be one.
    \$ (?: [A-Z_][A-Z0-9_]* | [a-z]+ (?: (?:_[a-z0-9]+)+ | (?:[A-Z][a-z]+)* ) | env:\w+ | \d+ )
    | .* (?: [$\#%] \{ [A-Za-z_] [\w\x20.:?/-]* \} | \{ [A-Za-z_]\w+ \}
        | \{\{ .* \}\} | \$ \( \s*[a-z] [\w\x20./-]* \) | %\(\w+\)s? ) .*
    | % (?: (?: [A-Z_][A-Z0-9_]* | [A-Za-z_]+ ) % | [sdv] ) | @ [a-z_.]+ @? | @ [A-Z_]+ @ | __\w+__
    # What a reader is to fill in, and the marks of this program.
    | < [^<>]* > | \[ [A-Za-z][\w\x20.:-]* \] | \{ [^{}]* \} | \( [A-Za-z][\w\x20]* \)
    # Addresses and paths.
    | [a-zA-Z][a-zA-Z0-9+.-]*://\S*
    | (?i: vault|env|file|ref|sops|secrets?|arn|ssm|kms|keyring|keychain|op ) :
        (?: [A-Z0-9_]+ | [A-Za-z_-]+ | [\w@-]* [./\#:] [\w./\#:@-]* ) | (?i: enc ) \[ .*
    | (?: ~ | \.{1,2} ) / (?: [A-Za-z_-]+ | [\w@\#-]* [./] [\w.@/\#-]* ) | \# [a-z]+ (?: [_-][a-z0-9]+ )*
    | / [\w.@/-]* [/_] [a-z]{3,} [_./] [\w.@/-]*
    | / (?: [A-Za-z][A-Za-z_.-]* / )+ [\w.@-]+
    | [a-z][a-z0-9_-]* (?: / [a-z0-9_.-]+ ){2,} | [\w.+-]+ / [\w./-]* \. [a-z]{2,4} | [A-Za-z] : \\ [\w\\\x20.-]*
    # Code: calls and indexes, names of modules, pointers and aliases, types.
    | [&*]* [A-Za-z_$] [\w.:?!<>-]* (?: \( .* \) | \[ .* \] ) (?: \.\w+ (?: \( .* \) )? )* [?!]? ;?
    | [A-Za-z_]\w* (?: (?: :: | -> ) [\w<>&]+ )+ | [&*]+ '? [A-Za-z_.]+ | 0x[0-9A-Fa-f]{1,8}
    | [&*]? [A-Za-z_][\w:]* < [\w\x20,:&'<>\[\]]* > \??
    ) $ ";

/// `None` cannot happen with a fixed pattern; a test verifies it.
static REFERENCE: LazyLock<Option<Regex>> =
    LazyLock::new(|| RegexBuilder::new(REFERENCES).dfa_size_limit(MAX_DFA_BYTES).build().ok());

/// Most memory for states of its automaton, in bytes: it runs rarely, and each thread has its own.
const MAX_DFA_BYTES: usize = 1 << 17;

/// True for values with a part that says of the whole that it is none.
fn has_placeholder(lower: &str) -> bool {
    let parts = ["[redacted:", "goeshere", "xxxxx", "*****", "...", "…", "••"];
    parts.iter().any(|part| lower.contains(part))
}

/// Returns how many different letters and digits there are.
fn n_letters(value: &str) -> usize {
    value.chars().filter(|c| c.is_alphanumeric()).collect::<HashSet<char>>().len()
}

/// True for a value that refers to a secret or stands for one: `${VAR}`, `your-api-key-here`, `xxxx`, `string`.
pub(super) fn is_stand_in(value: &str) -> bool {
    let lower = value.to_lowercase();
    // At most two different letters and digits: `----`, `****`, `000000`.
    n_letters(&lower) <= 2
        || has_placeholder(&lower)
        || value.contains("EXAMPLE")
        || is_of_known_words(value)
        || is_name_of_secret(value)
        || is_prose_without_blanks(value)
        || !is_bracketed_password(value)
            && REFERENCE.as_ref().is_some_and(|it| it.is_match(value.as_bytes()))
}

/// True for a sentence of a script without blanks between words: `至少8个字符`. A password has other letters, or ends with
/// a digit or a sign.
fn is_prose_without_blanks(value: &str) -> bool {
    let n_of = |is_one: fn(char) -> bool| value.chars().filter(|c| is_one(*c)).count();
    value.ends_with(is_ideographic) && n_of(is_ideographic) > 2 * n_of(|c| c.is_ascii_alphabetic())
}

/// True for a password that ends with brackets, inside which is neither code nor a name: `a[Kx7$abZ!]`, `<Rocky77x>`.
fn is_bracketed_password(value: &str) -> bool {
    let Some(open) =
        value.find(['(', '[', '{', '<']).filter(|_| value.ends_with([')', ']', '}', '>']))
    else {
        return false;
    };
    let inside = value.get(open + 1..value.len() - 1).unwrap_or("");
    let mix = Mix::of(inside);
    let is_plain =
        inside.bytes().all(|it| it.is_ascii_alphanumeric() || b"$!@#%^&*~".contains(&it));
    let is_digit = |c: char| c.is_ascii_digit();
    let has_digit_inside = inside.trim_end_matches(is_digit).contains(is_digit);
    // `<sha256Hex>` and `{token2Name}` say what is meant.
    let n_letters = inside.find(is_digit).unwrap_or(inside.len());
    let rest = inside.get(n_letters..).unwrap_or("");
    let name = inside
        .get(..n_letters + rest.len() - rest.trim_start_matches(is_digit).len())
        .unwrap_or("");
    is_plain
        && inside.len() >= 7
        && mix.n_lower > 0
        && mix.n_upper > 0
        && has_digit_inside
        && (open == 0) == (mix.n_symbols == 0)
        && inside.starts_with(|c: char| c.is_alphanumeric())
        && !LABELS.is_known(name)
        && !LABELS.ends_label(name.trim_end_matches(is_digit))
}

/// True where every word is one of placeholders and manuals: `user_password`, `newPassword`, `db-password-1`, `sha256`.
fn is_of_known_words(value: &str) -> bool {
    let is_short_number =
        |word: &str| word.len() <= 3 && word.bytes().all(|it| it.is_ascii_digit());
    let joins =
        |c: char| c.is_whitespace() || matches!(c, '-' | '_' | '.' | ',' | ':' | '/' | '|' | '\'');
    let is_known =
        |part: &str| LABELS.is_known(part) || humps(part).iter().all(|word| LABELS.is_known(word));
    let parts = value.split(joins).filter(|it| !it.is_empty() && !is_short_number(it));
    let mut parts = parts.peekable();
    parts.peek().is_some() && parts.all(is_known)
}

/// Returns the words of `camelCase` and `snake_case`.
fn humps(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut from, mut was_small) = (0, false);
    for (at, c) in name.char_indices() {
        if (was_small && c.is_uppercase()) || !c.is_alphanumeric() {
            words.extend(name.get(from..at));
            from = at + if c.is_alphanumeric() { 0 } else { c.len_utf8() };
        }
        was_small = c.is_lowercase();
    }
    words.extend(name.get(from..));
    words
}

/// True for names that end as labels do, and for fields of something: `new_password`, `self.pw`, `event.target.value`.
fn is_name_of_secret(value: &str) -> bool {
    let is_field = value.contains('.') && value.starts_with(|c: char| c.is_ascii_lowercase());
    is_name(value)
        && (humps(value).last().is_some_and(|it| LABELS.ends_label(it))
            || is_field && value.split('.').any(is_of_known_words))
}

/// True for a token that is marked as an example: `AKIAIOSFODNN7EXAMPLE`, `ghp_xxxxxxxxxx…`.
pub(super) fn is_example_token(token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    let tail = lower.len().checked_sub(12).and_then(|from| lower.get(from..));
    ["example", "your_", "your-", "yourtoken"].iter().any(|part| lower.contains(part))
        || has_placeholder(&lower)
        || tail.is_some_and(|tail| n_letters(tail) <= 2)
}

/// Counts of each kind of character in a value.
struct Mix {
    n_lower: usize,
    n_upper: usize,
    n_digits: usize,
    n_symbols: usize,
    /// How often the kind changes from one character to the next.
    n_switches: usize,
}

impl Mix {
    fn of(value: &str) -> Mix {
        let kind = |c: char| match c {
            c if c.is_uppercase() => 2,
            // Also letters without case, such as Chinese ones.
            c if c.is_alphabetic() => 1,
            c if c.is_ascii_digit() => 3,
            _ => 4,
        };
        let kinds: Vec<u8> = value.chars().map(kind).collect();
        let n_of = |kind| kinds.iter().filter(|it| **it == kind).count();
        let n_switches = kinds.windows(2).filter(|it| it.first() != it.last()).count();
        let (n_lower, n_upper, n_digits, n_symbols) = (n_of(1), n_of(2), n_of(3), n_of(4));
        Mix { n_lower, n_upper, n_digits, n_symbols, n_switches }
    }

    fn n_letters(&self) -> usize {
        self.n_lower + self.n_upper
    }

    /// True for letters that change case as words do not.
    fn has_random_case(&self) -> bool {
        let n = self.n_letters() + self.n_digits + self.n_symbols;
        self.n_lower > 0 && self.n_upper > 0 && self.n_switches * 3 >= n
    }
}

/// What shows how far a value reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It fills its quotes, code span, cell, field or line.
    Whole,
    /// Words follow it, or lead to it.
    Part,
}

/// True when the value of a label is a secret.
pub(super) fn is_secret(value: &str, value_kind: ValueKind, form: Form) -> bool {
    if value.len() < MIN_VALUE_BYTES || value.len() > 16_000 {
        return false;
    }
    if value.contains(char::is_whitespace) {
        return value_kind == ValueKind::Password && form == Form::Whole && is_passphrase(value);
    }
    if is_stand_in(value) {
        return false;
    }
    match (value_kind, form) {
        (ValueKind::Password, Form::Whole) => true,
        (ValueKind::Password, Form::Part) => is_striking(value),
        (ValueKind::Pass, Form::Whole) => is_no_word(value),
        (ValueKind::Pass, Form::Part) => value.len() >= 7 && is_striking(value),
        (ValueKind::Key, _) if is_phrase_of_a_machine(value) => true,
        (ValueKind::Secret, Form::Whole) if is_key(value, 14) => true,
        (ValueKind::Key | ValueKind::Secret, Form::Whole) => {
            value.len() >= 8 && value.contains(|c: char| c.is_ascii_digit()) && is_no_word(value)
        }
        (ValueKind::Key | ValueKind::Secret, Form::Part) => is_key(value, 16),
        (ValueKind::Token, _) => is_key(value, 14) && !is_uuid(value),
        (ValueKind::Any, Form::Whole) => is_sure_key(value),
        (ValueKind::Basic, _) => {
            !is_example_token(value)
                && password_in(value).map_or_else(|| is_key(value, 16), |it| !is_stand_in(&it))
        }
        (_, _) => false,
    }
}

/// True for a name: letters, and what joins them.
pub(super) fn is_name(value: &str) -> bool {
    value.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '_' | '.' | '/' | '\'' | ':'))
        && !(value.len() >= 12 && Mix::of(value).has_random_case())
}

/// True for letters with digits, or with signs that no name has.
fn is_strong(value: &str) -> bool {
    let mix = Mix::of(value);
    let has_signs = value.bytes().any(|byte| b"!@#$%^&".contains(&byte));
    value.len() >= 6 && mix.n_letters() > 0 && (mix.n_digits > 0 || (has_signs && value.len() >= 8))
}

/// True for a value that is strong and neither code nor a name, but a name of words with capitals and digits joined by
/// dashes is none: `Dice-Swing10`.
fn is_no_word(value: &str) -> bool {
    let mix = Mix::of(value);
    let is_phrase = value.contains('-')
        && mix.n_digits * mix.n_upper * mix.n_lower > 0
        && value.split('-').all(|it| it.chars().all(char::is_alphanumeric));
    is_strong(value) && (is_phrase || !is_wordy(value)) && !has_brackets(value)
}

/// True for a password that stands out among words: with digits or signs as words do not have them, of four words or
/// more, or of at least three with capitals.
fn is_striking(value: &str) -> bool {
    let value = value.trim_end_matches(['!', '?', '.', ',', ':', ';']);
    let mix = Mix::of(value);
    if value.len() < 6 || is_email(value) {
        return false;
    }
    let words: Vec<&str> = value.split(['-', '_', '.']).collect();
    if mix.n_digits > 0 {
        // `8-digit`, `256-bit`, `base64-encoded`, `oauth2-proxy` are words, too.
        let (first, rest) = value.split_once(['-', '.']).unwrap_or((value, ""));
        let is_measure = first.bytes().all(|byte| byte.is_ascii_digit()) || LABELS.is_known(first);
        return match rest {
            "" => mix.n_letters() > 0 || mix.n_symbols == 0,
            _ => !is_measure || !is_name(rest) || words.len() >= 4,
        };
    }
    let is_word = |it: &&str| (3..=9).contains(&it.len()) && it.chars().all(char::is_alphabetic);
    let n_capital = words.iter().filter(|it| it.starts_with(char::is_uppercase)).count();
    let n_loud =
        words.iter().filter(|it| it.len() >= 4 && it.chars().all(char::is_uppercase)).count();
    (words.iter().all(is_word)
        && (words.len() >= 4 || words.len() == 3 && (n_capital == 3 || n_loud == 1)))
        || (mix.n_letters() > 3 && value.bytes().any(|byte| b"!@#$%^&*?+=~".contains(&byte)))
        || (value.len() >= 12 && mix.n_symbols * 8 <= value.len() && mix.has_random_case())
}

/// True for words joined by dashes as Apple and dice make them, none of which a sentence would need.
fn is_phrase_of_a_machine(value: &str) -> bool {
    let is_plain = |it: &str| it.chars().all(char::is_alphanumeric) && !LABELS.fills.contains(it);
    let is_striking = value.len() >= 14 && is_striking(value) && value.split('-').all(is_plain);
    is_striking && (is_no_word(value) || is_name(value))
}

/// True for a passphrase with blanks: four to ten words of small letters, or each with a capital, none of which a
/// sentence about passwords would need; three are enough if each has a capital and one a number. One of them may be a
/// number, if it counts nothing as in `each 30 days`.
fn is_passphrase(value: &str) -> bool {
    let parts: Vec<&str> = value.split(' ').collect();
    let is_digit = |c: char| c.is_ascii_digit();
    let is_number = |it: &str| it.chars().all(is_digit);
    let words: Vec<&str> = parts.iter().copied().filter(|it| !is_number(it)).collect();
    let n_numbers = parts.len() - words.len();
    let counts = |it: &[&str]| {
        it.iter().any(|it| is_number(it)) && it.last().is_some_and(|it| it.ends_with('s'))
    };
    let n_capital = words.iter().filter(|it| it.starts_with(char::is_uppercase)).count();
    let is_word = |it: &&str| {
        let letters = it.trim_end_matches(is_digit);
        letters.len() >= 3
            && it.len() <= 9
            && letters.chars().skip(1).all(|c| c.is_lowercase() || c == '-')
            && !LABELS.is_of_sentences(it)
    };
    let least = if n_capital == parts.len() && value.contains(is_digit) { 3 } else { 4 };
    let n_known = words.iter().filter(|it| LABELS.is_known(it)).count();
    (least..=10).contains(&parts.len())
        && n_known * 4 <= parts.len() * usize::from(n_numbers == 0)
        && n_numbers <= 1
        && !parts.windows(2).any(counts)
        && (n_capital == 0 || n_capital == words.len())
        && words.iter().all(is_word)
}

/// True when a value is likely a key or token: long, mixed and irregular.
pub(super) fn is_key(value: &str, least: usize) -> bool {
    let mix = Mix::of(value);
    let is_mixed = mix.n_digits > 0 && mix.n_letters() >= 2;
    // At most one character in six is a sign: keys consist of letters and digits.
    let is_plain = mix.n_symbols * 6 <= value.len();
    (least..=16_000).contains(&value.len())
        && is_plain
        && (is_mixed || (mix.has_random_case() && value.len() >= 20))
        && entropy(value) >= 3.0
        && !has_brackets(value)
        && !(is_stand_in(value) || is_wordy(value) || is_date(value) || is_email(value))
}

/// True for what no key is made of.
fn has_brackets(value: &str) -> bool {
    value.contains(['(', ')', '[', ']', '{', '}', '\\', '<', '>', '`'])
}

/// True when a value is certainly a key: long and of capitals, lowercase letters and digits, or hexadecimal.
pub(super) fn is_sure_key(value: &str) -> bool {
    let mix = Mix::of(value);
    let is_random =
        mix.n_lower >= 3 && mix.n_upper >= 3 && mix.n_digits >= 2 && entropy(value) >= 3.8;
    let is_hex = value.len() >= 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    value.len() >= 20 && (is_random || is_hex) && is_key(value, 20)
}

/// True for names and phrases: parts made of letters, or of letters and a number, joined by `-_./:`.
fn is_wordy(value: &str) -> bool {
    let is_part = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let mix = Mix::of(letters);
        // A word has one capital, only capitals, or few changes of case (`camelCase`).
        let is_word = mix.n_upper <= 1 || mix.n_lower == 0 || mix.n_switches * 3 < letters.len();
        part.len() - letters.len() <= 4 && letters.chars().all(char::is_alphabetic) && is_word
    };
    let mut parts =
        value.split(['-', '_', '.', '/', ':', ',', '|', '\'']).filter(|it| !it.is_empty());
    // A single part must be short: many letters in a row may be random.
    let is_short = value.len() < 14 && value.chars().all(char::is_alphabetic);
    (is_short || parts.clone().count() >= 2) && parts.all(is_part)
}

/// True for `2024-01-31…` and `12:30:59`.
fn is_date(value: &str) -> bool {
    let shape: String =
        value.bytes().take(10).map(|b| if b.is_ascii_digit() { '0' } else { b as char }).collect();
    shape == "0000-00-00" || shape.starts_with("00:00:00") || shape == "0000/00/00"
}

/// True for `name@host.domain`.
fn is_email(value: &str) -> bool {
    let Some((name, host)) = value.split_once('@') else { return false };
    let is_name =
        |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b));
    let domain = host.rsplit_once('.').map(|(_, end)| end);
    is_name(name)
        && is_name(host)
        && domain.is_some_and(|end| end.len() >= 2 && end.bytes().all(|b| b.is_ascii_lowercase()))
}

/// Returns the password in base64 of `user:password`.
fn password_in(value: &str) -> Option<String> {
    let decoded = String::from_utf8(decode(value)?).ok()?;
    Some(decoded.split_once(':')?.1.to_string())
}

/// Decodes base64, standard or URL-safe; `None` when it is not base64.
fn decode(value: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len() * 3 / 4);
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in value.trim_end_matches('=').bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        // At most 7 bits are left over and 6 are added, so 16 suffice.
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            out.push((bits >> n_bits & 0xff) as u8);
        }
    }
    Some(out)
}

/// Returns Shannon's entropy of the bytes, in bits per byte.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let n = value.len() as f64;
    counts.iter().filter(|count| **count > 0).fold(0.0, |sum, count| {
        let share = f64::from(*count) / n;
        sum - share * share.log2()
    })
}

#[cfg(test)]
mod tests {
    use super::{Form, REFERENCE, is_key, is_secret};
    use crate::label::ValueKind;

    /// Checks values that two blanks part.
    fn check(values: &str, value_kind: ValueKind, form: Form, expected: bool) {
        for value in values.split("  ") {
            assert_eq!(is_secret(value, value_kind, form), expected, "{value}");
        }
    }

    #[test]
    fn after_a_label_only_references_and_placeholders_are_kept() {
        assert!(REFERENCE.is_some());
        let secrets = "sunshine  viwigo-Bivit9-kubugo  argue.cat.fly.blue  $ummer2024  #Rover99  (x[y]{2}<1>  \
            a\"b'c`d|e  not}a{field  /9j4AAbcQ==  correct horse battery staple  31.12.1985  password1  \
            2024-01-31  Secret!7  name[Kx7$abZ!]  name(Kx7$abZ!)  {Rocky77x}  <Rocky77x>  ~/Rocky77x  \
            %Rocky77%  vault:Rocky77x  春天来了2024  Dice Swing7 Awesome  argue cat 8 fly";
        check(secrets, ValueKind::Password, Form::Whole, true);
        let others = "n/a  ${DB_PASS}  $DB_PASS  $password  %DB_PASS%  {{ vault.pw }}  #{pw}  <your password>  \
            [your password]  vault:secret/db#pw  env(DB_PASS)  os.environ[\"PW\"]  op://vault/item  \
            /run/secrets/db_pw1  self.password  f.value  Option<&str>  &str  *alias  String  \
            required|string|min:8  user_password  getPassword  proposed_password  xxxx  ********  sha256  \
            scram-sha-256  [redacted:password]  must have 12 characters  Enter your new password  \
            minimum eight small characters  至少十二个字符  12文字以上で入力してください  f($name)  $_POST['pw1']  \
            ~/.pw1  vault:db/pw1  env:DB_PW1  %DB_PW1%  <password1>  {userId}  get(key1)  {DB_PW1}  <sha256Hex>  \
            valid for 90 days  changes each 30 days  必须包含字母A和数字  Version 2 Of It";
        check(others, ValueKind::Password, Form::Whole, false);
    }

    #[test]
    fn among_words_a_password_must_stand_out() {
        let secrets = "hunter2  viwigo-Bivit9-kubugo  argue-cat-8-fly  pigment-reset-oxidize-ducky  \
            Dice-Swing-Awesome  12345678  S3cr3t!  zXkQmRtYpLwNbV";
        check(secrets, ValueKind::Password, Form::Part, true);
        let others = "must  case-sensitive  8-characters  12-character  256-bit  base64-encoded  SHA-256  argon2id  \
            state-of-the-art  me@mail.org  required!  sunshine";
        check(others, ValueKind::Password, Form::Part, false);
    }

    #[test]
    fn keys_are_told_from_names() {
        let keys =
            "0123456789abcdef0123456789abcdef  9aF3kLmN2pQ7rS1t  Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==";
        assert!(keys.split("  ").all(|it| is_key(it, 16)), "{keys}");
        let names = "my-service-account-token-1  2024-01-01T00:00:00Z  short1  projects/my-project/secrets/db  \
            xxxxxxxxxxxxxxxxxxxxxxx1  your-api-key-goes-here-123  AuthenticationTokenProvider";
        assert!(!names.split("  ").any(|it| is_key(it, 16)), "{names}");
    }
}
