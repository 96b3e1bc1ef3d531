//! URLs: whether a whole word is a URL, by the tokenizer's rule.
//!
//! In: a word without white space. Out: yes or no. The rule is a Python pattern that backtracks:
//! `(scheme://)?(user(:password)?@)?(address|host)(:port)?([/?#]anything)?` to the end; read here from left to right.
//! Invariants: linear time: a host contains no `@`, so hosts tried after different ones do not overlap.

use super::super::characters::{is_decimal, is_word};
use super::super::data::LoadError;
use super::super::pattern::{CharSet, classes};

/// Longest label of a host, and longest last label, in characters.
const MAX_LABEL_CHARS: usize = 64;
const MAX_LAST_LABEL_CHARS: usize = 63;

#[derive(Debug)]
pub(super) struct UrlRule {
    /// Characters that a label begins and ends with.
    outer: CharSet,
    /// Characters inside a label.
    inner: CharSet,
    /// Characters of the last label.
    last: CharSet,
}

impl UrlRule {
    /// Takes the sets from the shipped pattern: those that contain letters beyond ASCII, in order.
    pub(super) fn new(pattern: &str) -> Result<Self, LoadError> {
        let mut sets = classes(pattern).into_iter().filter(|set| set.has('é'));
        // The third set with such letters is the same as the first: the end of a label.
        match (sets.next(), sets.next(), sets.next(), sets.next()) {
            (Some(outer), Some(inner), Some(_), Some(last)) => Ok(UrlRule { outer, inner, last }),
            _ => Err(LoadError::Pattern("url_match".to_owned())),
        }
    }

    pub(super) fn matches(&self, word: &str) -> bool {
        let after_scheme = word.split_once("://").filter(|(scheme, _)| is_scheme(scheme));
        // Without a user, with or without a scheme; then with a user, where a scheme would be part of the user's
        // name.
        if self.is_host_on(word) || after_scheme.is_some_and(|(_, rest)| self.is_host_on(rest)) {
            return true;
        }
        // A user has at least one character.
        let mut users = word.match_indices('@').filter(|(at, _)| *at > 0);
        users.any(|(at, _)| word.get(at + 1..).is_some_and(|rest| self.is_host_on(rest)))
    }

    /// Returns whether `text` is a host or address, with what may follow.
    fn is_host_on(&self, text: &str) -> bool {
        let is_inside = |c: char| c == '.' || self.inner.has(c) || self.last.has(c);
        let end = text.find(|c: char| !is_inside(c)).unwrap_or(text.len());
        let (host, rest) = text.split_at(end);
        is_tail(rest) && (self.is_name(host) || is_public_address(host))
    }

    fn is_name(&self, host: &str) -> bool {
        let Some((labels, last)) = host.rsplit_once('.') else { return false };
        let n_last = last.chars().count();
        (2..=MAX_LAST_LABEL_CHARS).contains(&n_last)
            && last.chars().all(|c| self.last.has(c))
            && labels.split('.').all(|label| self.is_label(label))
    }

    fn is_label(&self, label: &str) -> bool {
        let is_outer = |c: Option<char>| c.is_some_and(|c| self.outer.has(c));
        is_outer(label.chars().next())
            && is_outer(label.chars().next_back())
            && label.chars().count() <= MAX_LABEL_CHARS
            && label.chars().all(|c| self.inner.has(c))
    }
}

fn is_scheme(text: &str) -> bool {
    text.chars().nth(1).is_some()
        && text.chars().all(|c| is_word(c) || matches!(c, '+' | '-' | '.'))
}

/// `(:\d{2,5})?([/?#]\S*)?$`
fn is_tail(text: &str) -> bool {
    let is_path = |text: &str| text.is_empty() || text.starts_with(['/', '?', '#']);
    let Some(port) = text.strip_prefix(':') else { return is_path(text) };
    let end = port.find(|c: char| !is_decimal(c)).unwrap_or(port.len());
    let (digits, path) = port.split_at(end);
    (2..=5).contains(&digits.chars().count()) && is_path(path)
}

/// Returns whether a host is an IPv4 address outside of the private networks, as the pattern defines it.
fn is_public_address(host: &str) -> bool {
    let mut octets = [""; 4];
    let mut parts = host.split('.');
    for octet in &mut octets {
        let Some(part) = parts.next() else { return false };
        *octet = part;
    }
    let number = |text: &str| match text.len() {
        1..=3 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<u16>().ok(),
        _ => None,
    };
    let [first, second, third, fourth] = octets;
    let (Some(a), Some(b), Some(c), Some(d)) =
        (number(first), number(second), number(third), number(fourth))
    else {
        return false;
    };
    // The pattern lets the inner two begin with a zero, but only with at most two digits.
    let is_inner = |n: u16, text: &str| n <= 255 && !(text.len() == 3 && text.starts_with('0'));
    let is_own = matches!(a, 10 | 127)
        || (a == 169 && second == "254")
        || (a == 192 && second == "168")
        || (a == 172 && (16..=31).contains(&b));
    parts.next().is_none()
        && (1..=223).contains(&a)
        && !first.starts_with('0')
        && is_inner(b, second)
        && is_inner(c, third)
        && (1..=254).contains(&d)
        && !fourth.starts_with('0')
        && !is_own
}

#[cfg(test)]
mod tests {
    use super::UrlRule;
    use crate::data::Shipped;

    #[test]
    fn words_that_are_urls() {
        let shipped = Shipped::read().expect("the shipped files");
        let rule = UrlRule::new(&shipped.tokenizer.url_match).expect("the shipped pattern");
        for (word, is_url) in [
            ("example.com", true),
            ("http://example.com/a?b=c#d", true),
            ("user:pass@example.com:8080/x", true),
            ("a@b@c@example.org", true),
            ("8.8.8.8:53", true),
            ("172.15.0.1", true),
            ("172.16.0.1", false),
            ("10.0.0.1", false),
            ("224.0.0.1", false),
            ("0.0.0.0", false),
            ("example.COM", false),
            ("-a.com", false),
            ("a-.com", false),
            ("a_b.com", true),
            ("a..com", false),
            ("example.c", false),
            ("example.com:8", false),
            ("http://", false),
            ("kgd.md", true),
            ("@example.com", false),
            ("bücher.de", true),
            ("e.g", false),
        ] {
            assert_eq!(rule.matches(word), is_url, "{word}");
        }
    }
}
