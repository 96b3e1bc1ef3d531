//! E-mail addresses, IP addresses and hosts.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

use super::{Pattern, matches, pattern, stands_alone};

static EMAIL: Pattern = LazyLock::new(|| {
    pattern(r"[\p{L}\p{N}._%+'\-]{1,64}@(?:[\p{L}\p{N}](?:[\p{L}\p{N}\-]{0,62})\.)+\p{L}{2,24}")
});
static V4: Pattern = LazyLock::new(|| pattern(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}"));
static V6: Pattern =
    LazyLock::new(|| pattern(r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\.[0-9]{1,3}){0,3}"));
static URL: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r#"(?i)(?:https?|ftp)://[^\s<>"'`\])}|]{3,300}|\bwww\.[a-z0-9\-]{1,60}(?:\.[a-z0-9\-]{1,60}){1,4}(?:/[^"#,
        r#"\s<>"'`\])}|]{0,200})?"#,
    ))
});
static HOST: Pattern = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)(?:[a-z0-9](?:[a-z0-9\-]{0,61}[a-z0-9])?\.)+(?:com|org|net|edu|gov|mil|int|info|biz|io|",
        r"dev|app|ai|co|me|eu|uk|de|fr|es|it|nl|be|ch|at|pl|se|no|dk|fi|cz|hu|pt|gr|ro|ru|us|ca|au|nz|",
        r"br|mx|ar|jp|cn|in|kr|za|il|ie|tv|xyz|online|site|shop|store|blog|cloud)\b(?:/[^\s<>]{0,200})?",
    ))
});

/// Returns e-mail addresses, except the user of version control servers (`git@github.com:…`).
pub(super) fn emails(text: &str) -> Vec<Range<usize>> {
    let is_mail = |text: &str, range: &Range<usize>| {
        let shown = text.get(range.clone()).unwrap_or("");
        let is_remote = text.as_bytes().get(range.end) == Some(&b':') && shown.starts_with("git@");
        !is_remote && !shown.starts_with("git@github.") && !shown.starts_with("git@gitlab.")
    };
    let found = matches(text, &EMAIL, is_mail);
    // Signs at the beginning belong to the surrounding text.
    let trimmed = found.map(|range| {
        let shown = text.get(range.clone()).unwrap_or("");
        range.end - shown.trim_start_matches(['.', '\'', '-', '%', '+']).len()..range.end
    });
    trimmed.collect()
}

/// Returns IP addresses, except those that every machine has: loopback, unspecified, broadcast, masks.
pub(super) fn addresses(text: &str) -> Vec<Range<usize>> {
    let is_v4 = |text: &str, range: &Range<usize>| {
        let parsed = text.get(range.clone()).and_then(|it| it.parse::<Ipv4Addr>().ok());
        stands_alone(text, range, b".-")
            && !text.get(..range.start).is_some_and(|it| it.ends_with(['.', '-', '/']))
            && parsed.is_some_and(|it| {
                !(it.is_loopback()
                    || it.octets().first() == Some(&0)
                    || it.octets().first() == Some(&255))
            })
    };
    // Times match the pattern, too, so require three groups, one of them long, and a digit.
    let is_v6 = |text: &str, range: &Range<usize>| {
        let shown = text.get(range.clone()).unwrap_or("");
        let groups: Vec<&str> = shown.split(':').filter(|it| !it.is_empty()).collect();
        let is_long = groups.len() >= 3 && groups.iter().any(|group| group.len() >= 3);
        let has_digit = shown.bytes().any(|byte| byte.is_ascii_digit());
        is_long
            && has_digit
            && stands_alone(text, range, b":")
            && !text.get(..range.start).is_some_and(|it| it.ends_with(':'))
            && shown.parse::<Ipv6Addr>().is_ok_and(|it| !it.is_loopback())
    };
    let mut out: Vec<Range<usize>> = matches(text, &V4, is_v4).collect();
    out.extend(matches(text, &V6, is_v6));
    out
}

/// Returns URLs, and host names under common top-level domains.
pub(super) fn hosts(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = matches(text, &URL, |_, _| true)
        .map(|range| {
            let shown = text.get(range.clone()).unwrap_or("");
            range.start..range.start + shown.trim_end_matches(['.', ',', ';', ':', '!', '?']).len()
        })
        .collect();
    let is_host = |text: &str, range: &Range<usize>| {
        stands_alone(text, range, b"")
            && !text.get(..range.start).is_some_and(|it| it.ends_with(['@', '/', '.', '-']))
    };
    out.extend(matches(text, &HOST, is_host).map(|range| {
        let shown = text.get(range.clone()).unwrap_or("");
        range.start..range.start + shown.trim_end_matches(['.', ',', ';', ':', '!', '?']).len()
    }));
    out
}
