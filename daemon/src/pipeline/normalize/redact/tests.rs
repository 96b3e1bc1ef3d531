use super::shape::SHAPES;
use super::{PREFILTER, redact};
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn check(lines: &[&str], expected: Expect) {
    let out: Vec<String> = lines.iter().map(|line| redact(line.to_string()).text).collect();
    expected.assert_eq(&(out.join("\n") + "\n"));
}

/// Joins the parts of a made-up secret, so that no scanner takes this file for a leak.
fn joined(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn the_table_builds() {
    assert!(PREFILTER.is_some());
    assert!(SHAPES.len() <= 64 && SHAPES.iter().all(|s| s.literal.len() >= 3));
    assert!(SHAPES.iter().all(|s| s.kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
}

#[test]
fn tokens_of_every_kind() {
    let alnum = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
    let hex = "0123456789abcdef0123456789abcdef";
    let base64 = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    let rows = [
        joined(&["id AK", "IAIOSFODNN7EXAMPLE."]),
        joined(&["AS", "IAIOSFODNN7EXAMPLE,"]),
        joined(&["aws_secret_", "access_key = \"", base64, "\""]),
        joined(&["\"Secret", "AccessKey\": \"", base64, "\""]),
        joined(&["gh", "p_", &alnum[..36]]),
        joined(&["x=gh", "s_", &alnum[..36], ";"]),
        joined(&["github", "_pat_", &alnum[..22], "_", alnum]),
        joined(&["gl", "pat-", &alnum[..20]]),
        joined(&["xo", "xb-123456789012-", &alnum[..24]]),
        joined(&["sk_", "live_", &alnum[..24]]),
        joined(&["AI", "zaSy", &alnum[..33]]),
        joined(&["sk-", "ant-api03-", alnum, "-AA"]),
        joined(&["sk-", "proj-", alnum]),
        joined(&["sk-", alnum, "abcdefgh"]),
        joined(&["np", "m_", &alnum[..36]]),
        joined(&["pypi-", "AgEIcHlwaS5vcmc", alnum, alnum]),
        joined(&["ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiIxMjM0In0.", alnum]),
        joined(&["S", "G.", &alnum[..22], ".", alnum, "xyz"]),
        joined(&["bot123456789", ":AA", &alnum[..33], "/send"]),
        joined(&["S", "K", hex]),
        joined(&["Account", "Key=", base64, base64, "abcdef==;"]),
        joined(&["abc8", "Q~", &alnum[..33]]),
        joined(&["postgres://app:", "p@ss:w0rd", "@db.example:5432/x"]),
    ];
    let lines: Vec<&str> = rows.iter().map(String::as_str).collect();
    check(
        &lines,
        expect![[r#"
            id [redacted:aws-access-key].
            [redacted:aws-access-key],
            aws_secret_access_key = "[redacted:aws-secret-key]"
            "SecretAccessKey": "[redacted:aws-secret-key]"
            [redacted:github-token]
            x=[redacted:github-token];
            [redacted:github-token]
            [redacted:gitlab-token]
            [redacted:slack-token]
            [redacted:stripe-key]
            [redacted:google-key]
            [redacted:anthropic-key]
            [redacted:openai-key]
            [redacted:openai-key]
            [redacted:npm-token]
            [redacted:pypi-token]
            [redacted:jwt]
            [redacted:sendgrid-key]
            bot[redacted:telegram-token]/send
            [redacted:twilio-key]
            AccountKey=[redacted:azure-key];
            [redacted:azure-key]
            postgres://app:[redacted:url-password]@db.example:5432/x
        "#]],
    );
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let lines = [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "550e8400-e29b-41d4-a716-446655440000",
        "sk-learn-model-selection-and-cross-validation-tools",
        "task-sk-something TASKSK SKU SKIP DESK",
        "ghp_short xoxb-your-token-here AKIAshort MAKIAABCDEFGHIJKLMNOPQ",
        "http://localhost:8080/@scope/pkg@1.0 https://x.org/a:b@c",
        "postgres://user:${PASSWORD}@db postgres://user:<password>@db git@github.com:a/b",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEF\n-----END PUBLIC KEY-----",
        "a file that begins with -----BEGIN RSA PRIVATE KEY----- is a key",
        "time 12:AA, key:AAAA",
        "AKIAABCDEFGHIJKLMNOP kg:allow",
    ];
    for line in lines {
        let redacted = redact(line.to_string());
        assert_eq!(redacted.text, line);
        assert!(redacted.map.is_none());
    }
}

#[test]
fn private_keys_go_as_a_whole() {
    let body = "MIIEpAIBAAKCAQEA7bq6Jxh3XJ0Hf1zQm8Yc5o0b\n\
                abcdefghijklmnopqrstuvwxyz0123456789+/AB\nshort==\n";
    let (begin, end) =
        (joined(&["-----BEGIN RSA ", "PRIVATE KEY-----\n"]), "-----END RSA PRIVATE KEY-----");
    let pgp = joined(&["-----BEGIN PGP ", "PRIVATE KEY BLOCK-----\nVersion: 1\n\n"]);
    let putty = joined(&[
        "PuTTY-",
        "User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\nAAAA\nPrivate-MAC: 12ab\nafter",
    ]);
    check(
        &[
            &format!("a\n{begin}{body}{end}\nb"),
            &format!("a\n{begin}Proc-Type: 4,ENCRYPTED\n\n{body}\nThis is prose again."),
            &format!("{begin}{}", body.replace('\n', "\\n")),
            &format!("{pgp}{body}=abcd\n-----END PGP PRIVATE KEY BLOCK-----\nz"),
            &putty,
        ],
        expect![[r#"
            a
            [redacted:private-key]
            b
            a
            [redacted:private-key]

            This is prose again.
            [redacted:private-key]
            [redacted:private-key]
            z
            [redacted:private-key]
            after
        "#]],
    );
}

#[test]
fn only_the_allowed_line_is_left_alone() {
    let token = joined(&["AK", "IAIOSFODNN7EXAMPLE"]);
    let text = format!("{token} # kg:allow {token}\n{token}\nkg:allow\n{token}");
    let redacted = redact(text);
    assert_eq!(redacted.text.matches(&token).count(), 2);
    assert_eq!(redacted.counts.get("aws-access-key"), Some(&2));
}

#[test]
fn marks_lead_back_to_the_secret() {
    let redacted = redact(joined(&["é AK", "IAIOSFODNN7EXAMPLE z"]));
    let map = redacted.map.expect("something was replaced");
    assert_eq!(redacted.text, "é [redacted:aws-access-key] z");
    assert_eq!(map.source_range(5, 8), 3..23);
    assert_eq!(map.source_range(29, 30), 24..25);
}

proptest! {
    #[test]
    fn any_text_is_redacted_without_panic(pieces in proptest::collection::vec(
        (0..SHAPES.len(), "[A-Za-z0-9_.:/@ é\n=-]{0,50}"), 0..8)) {
        let text: String = pieces.iter().map(|(i, rest)| format!("{}{rest}", SHAPES[*i].literal)).collect();
        let redacted = redact(text.clone());
        if let Some(map) = redacted.map {
            let whole = map.source_range(0, redacted.text.len());
            prop_assert_eq!(whole, 0..text.len());
        }
    }
}
