//! Likely: whether a value looks like a secret, or like a placeholder of documentation and code.
//!
//! In: the value assigned to a name that announces a secret, or the body of a token. Out: yes or no.
//! Invariants: linear in the value, whose length the caller bounds; the answer depends on the value alone.
//! Not here: finding names and values (`assign.rs`).

use std::collections::HashSet;
use std::sync::LazyLock;

/// Values that manuals print.
static PUBLISHED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("../../../config/published_secrets.tsv").lines();
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once('\t')?.0))
        .collect()
});

/// Words of placeholders; compared in lowercase, anywhere in the value.
const PLACEHOLDER_WORDS: [&str; 26] = [
    "example",
    "your",
    "changeme",
    "change-me",
    "change_me",
    "changeit",
    "placeholder",
    "dummy",
    "redacted",
    "xxxx",
    "insert",
    "replace",
    "todo",
    "fixme",
    "notreal",
    "not-real",
    "not_real",
    "fake",
    "<",
    "***",
    "...",
    "…",
    "••",
    "goeshere",
    "goes-here",
    "goes_here",
];

/// Whole values that are not secrets; compared in lowercase.
const PLAIN_VALUES: [&str; 48] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "string",
    "required",
    "optional",
    "password",
    "passwd",
    "secret",
    "token",
    "default",
    "admin",
    "root",
    "user",
    "guest",
    "test",
    "testing",
    "foobar",
    "foo",
    "bar",
    "baz",
    "qwerty",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "sha-256",
    "sha-512",
    "sha3-256",
    "md5",
    "base64",
    "bcrypt",
    "argon2",
    "argon2i",
    "argon2id",
    "pbkdf2",
    "scrypt",
    "utf8",
    "utf-8",
    "hs256",
    "hs512",
    "rs256",
    "es256",
    "oauth2",
    "x509",
];

/// Beginnings of values that refer to a secret instead of containing it.
const REFERENCES: [&str; 22] = [
    "$", "%", "{", "@", "#", "&", "*", "!", "/", "./", "../", "~", "vault:", "arn:", "env:",
    "env(", "file:", "ref:", "sops:", "enc[", "secret:", "op://",
];

/// True for a placeholder: `your-api-key-here`, `<TOKEN>`, `${VAR}`, `xxxx`, a mark.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    // At most two different letters and digits: `xxxx`, `****`, `000000`.
    let mut letters: Vec<u8> = lower.bytes().filter(u8::is_ascii_alphanumeric).collect();
    letters.sort_unstable();
    letters.dedup();
    letters.len() <= 2
        || PLACEHOLDER_WORDS.iter().any(|word| lower.contains(word))
        || ["${", "{{", "$(", "%(", "#{", "[redacted"].iter().any(|open| lower.contains(open))
}

/// Words that stand for a password in the URLs of documentation.
const PASSWORD_WORDS: [&str; 14] = [
    "password",
    "passwd",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "passphrase",
    "mypassword",
    "mypass",
    "userpass",
    "userpassword",
    "mysecretpassword",
    "p",
];

/// True for a placeholder in a URL, where only a password can be: a word for it, or a variable.
pub(super) fn is_stand_in(value: &str) -> bool {
    PASSWORD_WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.bytes().next().is_none_or(|byte| b"$*%{[(".contains(&byte))
        || is_placeholder(value)
}

/// True for a value that a manual prints for every reader (`config/published_secrets.tsv`).
pub(super) fn is_published(value: &str) -> bool {
    PUBLISHED.contains(value)
}

/// True for a token that is marked as an example: `AKIAIOSFODNN7EXAMPLE`, `ghp_xxxxxxxxxx…`.
pub(super) fn is_example_token(token: &str) -> bool {
    let lower = token.to_ascii_lowercase();
    let marks =
        ["example", "placeholder", "xxxxxx", "your_", "your-", "yourtoken", "......", "******"];
    let is_flat = |tail: &str| {
        let mut letters: Vec<u8> = tail.bytes().collect();
        letters.sort_unstable();
        letters.dedup();
        letters.len() <= 2
    };
    let tail = lower.len().checked_sub(12).and_then(|from| lower.get(from..));
    marks.iter().any(|word| lower.contains(word)) || tail.is_some_and(is_flat)
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
        let mut mix = Mix { n_lower: 0, n_upper: 0, n_digits: 0, n_symbols: 0, n_switches: 0 };
        let mut last = 0;
        for c in value.chars() {
            let kind = match c {
                c if c.is_lowercase() => 1,
                c if c.is_uppercase() => 2,
                c if c.is_ascii_digit() => 3,
                // Letters without case, such as Chinese ones.
                c if c.is_alphabetic() => 1,
                _ => 4,
            };
            match kind {
                1 => mix.n_lower += 1,
                2 => mix.n_upper += 1,
                3 => mix.n_digits += 1,
                _ => mix.n_symbols += 1,
            }
            mix.n_switches += usize::from(last != 0 && last != kind);
            last = kind;
        }
        mix
    }

    fn n_letters(&self) -> usize {
        self.n_lower + self.n_upper
    }
}

/// The surroundings of a value, which determine how much it must look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In quotes.
    Quoted,
    /// Bare, at the end of its line or statement.
    Bare,
    /// Bare, with words after it, or in prose.
    Prose,
}

/// True when the value of something called a password is likely one.
pub(super) fn is_password(value: &str, form: Form) -> bool {
    let mix = Mix::of(value);
    if is_crypt(value) && value.len() <= 200 && form != Form::Prose {
        return true;
    }
    if !(6..=200).contains(&value.len()) || !may_be_secret(value, form) {
        return false;
    }
    let is_mixed_case = mix.n_lower > 0 && mix.n_upper > 0;
    match form {
        Form::Prose => {
            let has_both = mix.n_digits > 0 && mix.n_letters() > 0;
            let has_signs = value.bytes().any(|byte| b"!@#$%^&*?+=~".contains(&byte));
            value.len() >= 7 && (has_both || (has_signs && mix.n_letters() > 3))
        }
        // Digits with letters, or digits alone.
        _ if mix.n_digits > 0 => mix.n_letters() > 0 || mix.n_symbols == 0,
        // Letters with punctuation that names are not written with.
        _ if value.bytes().any(|byte| b"!@#$%^&*?+=~".contains(&byte)) => {
            mix.n_letters() > 0 && (is_mixed_case || value.len() >= 8)
        }
        // Letters alone: random ones change case often, or are longer than any word.
        _ if is_mixed_case => value.len() >= 14 && mix.n_switches * 3 >= value.len(),
        _ => value.len() >= 20 && mix.n_symbols == 0 && entropy(value) >= 3.3,
    }
}

/// True when the value of something called a key or token is likely one: long, mixed and irregular.
pub(super) fn is_key(value: &str, form: Form) -> bool {
    let mix = Mix::of(value);
    let least = if form == Form::Quoted { 14 } else { 16 };
    if !(least..=16_000).contains(&value.len()) || !may_be_secret(value, form) {
        return false;
    }
    let is_random_case = mix.n_lower > 0 && mix.n_upper > 0 && mix.n_switches * 3 >= value.len();
    let is_mixed = mix.n_digits > 0 && mix.n_letters() >= 2;
    // At most one character in six is a sign: keys consist of letters and digits.
    let is_plain = mix.n_symbols * 6 <= value.len();
    is_plain && (is_mixed || (is_random_case && value.len() >= 20)) && entropy(value) >= 3.0
}

/// True when a value is certainly a key: long and of capitals, lowercase letters and digits, or hexadecimal.
pub(super) fn is_sure_key(value: &str) -> bool {
    let mix = Mix::of(value);
    let is_random =
        mix.n_lower >= 3 && mix.n_upper >= 3 && mix.n_digits >= 2 && entropy(value) >= 3.8;
    let is_hex = value.len() >= 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    value.len() >= 20 && (is_random || is_hex) && is_key(value, Form::Bare)
}

/// True for letters alone, which may be a password where only one can be: `DB_PASSWORD=sunshine`.
pub(super) fn is_plain_word(value: &str) -> bool {
    (6..=64).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !PLAIN_VALUES.contains(&value.to_ascii_lowercase().as_str())
        && !is_placeholder(value)
}

/// True for the hash of a password in the format of `crypt`: `$id$…$hash`.
fn is_crypt(value: &str) -> bool {
    let mut parts = value.split('$');
    parts.next() == Some("")
        && parts.next().is_some_and(|id| {
            (1..=10).contains(&id.len())
                && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        })
        && parts.next_back().is_some_and(|hash| hash.len() >= 22)
}

/// False when a value looks like a placeholder, a reference, code, a date, a path, an address, or a name.
fn may_be_secret(value: &str, form: Form) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_code = match form {
        // Quoted values may contain brackets, so only patterns and templates count as code there.
        Form::Quoted => {
            ["\\d", "\\w", "[a-z", ".*", "{0}", "%s", "{}"].iter().any(|it| value.contains(it))
        }
        _ => {
            value.contains(['(', ')', '[', ']', '{', '}', '\\'])
                || ["::", "->", "=>"].iter().any(|it| value.contains(it))
        }
    };
    // A quoted password may begin with `$` or `!`, but `$name` is a variable in quotes, too.
    let is_reference = REFERENCES.iter().any(|it| lower.starts_with(it))
        && !(form == Form::Quoted && begins_like_password(value));
    !(is_code
        || is_reference
        || value.contains("://")
        || value.contains(char::is_whitespace)
        || PLAIN_VALUES.contains(&lower.as_str())
        || is_placeholder(value)
        || is_wordy(value)
        || is_date(value)
        || is_path(value)
        || is_email(value))
}

/// True for `!Xk9…` and `/9j4AA…`: a sign, followed by neither a name nor a path.
fn begins_like_password(value: &str) -> bool {
    let rest = value.get(1..).unwrap_or("");
    let is_sign = value.starts_with(['!', '#', '*', '@', '%', '&', '$', '/']);
    let has_both =
        rest.bytes().any(|b| b.is_ascii_digit()) && rest.bytes().any(|b| b.is_ascii_alphabetic());
    is_sign && has_both && !is_wordy(rest) && !is_path(value)
}

/// True for names and phrases: parts made of letters, or of letters and a number, joined by `-_./:`.
fn is_wordy(value: &str) -> bool {
    let mut n_parts = 0;
    let mut is_wordy = true;
    for part in
        value.split(['-', '_', '.', '/', ':', ',', '|', '\'']).filter(|part| !part.is_empty())
    {
        n_parts += 1;
        let n_letters = part.chars().take_while(|c| c.is_alphabetic()).count();
        let rest = part.chars().skip(n_letters).collect::<String>();
        let is_number = rest.len() <= 4 && rest.bytes().all(|byte| byte.is_ascii_digit());
        let letters = part.chars().take(n_letters).collect::<String>();
        let mix = Mix::of(&letters);
        // A word has one capital, only capitals, or few changes of case (`camelCase`).
        let is_word = mix.n_upper <= 1 || mix.n_lower == 0 || mix.n_switches * 3 < letters.len();
        is_wordy &= is_number && is_word;
    }
    // A single part must be short: many letters in a row may be random.
    is_wordy && (n_parts >= 2 || value.chars().all(char::is_alphabetic) && value.len() < 14)
}

/// True for `2024-01-31…` and `12:30:59`.
fn is_date(value: &str) -> bool {
    let shape: String =
        value.bytes().take(10).map(|b| if b.is_ascii_digit() { '0' } else { b as char }).collect();
    shape == "0000-00-00" || shape.starts_with("00:00:00") || shape == "0000/00/00"
}

/// True for a path: slashes, and between them nothing long and mixed.
fn is_path(value: &str) -> bool {
    let is_drive = value.get(1..3) == Some(":\\");
    let is_part = |part: &str| part.len() < 20 && !part.contains(['+', '=']);
    let ends_in_extension = value.rsplit_once('.').is_some_and(|(_, end)| {
        (2..=4).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase())
    });
    let has_slashes = value.matches('/').count() >= 2 || value.starts_with(['/', '~', '.']);
    is_drive
        || (value.contains('/') && has_slashes && value.split('/').all(is_part))
        || (value.contains('/') && ends_in_extension)
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
    use super::{Form, is_key, is_password};

    #[test]
    fn passwords_are_told_from_words_about_them() {
        for yes in
            ["hunter2", "S3cr3t!", "Pa$$word!x", "sup3r-s3cret-pass", "12345678", "zXkQmRtYpLwNbV"]
        {
            assert!(is_password(yes, Form::Bare), "{yes}");
        }
        for no in [
            "must",
            "required",
            "string",
            "user_password",
            "getPassword",
            "min:8",
            "sha256",
            "${DB_PASS}",
            "changeme1",
            "/run/secrets/db_pw1",
            "v1.2.3",
            "2024-01-31",
            "me@mail.org1.com",
            "config.pass1",
        ] {
            assert!(!is_password(no, Form::Bare), "{no}");
        }
        assert!(!is_password("8-characters", Form::Prose));
        assert!(is_password("!Xk9mQ2w", Form::Quoted));
    }

    #[test]
    fn keys_are_told_from_names() {
        for yes in [
            "0123456789abcdef0123456789abcdef",
            "9aF3kLmN2pQ7rS1t",
            "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==",
        ] {
            assert!(is_key(yes, Form::Bare), "{yes}");
        }
        for no in [
            "my-service-account-token-1",
            "2024-01-01T00:00:00Z",
            "short1",
            "projects/my-project/secrets/db",
            "xxxxxxxxxxxxxxxxxxxxxxx1",
            "your-api-key-goes-here-123",
            "AuthenticationTokenProvider",
        ] {
            assert!(!is_key(no, Form::Bare), "{no}");
        }
    }
}
