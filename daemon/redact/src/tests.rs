use super::find::{ISSUERS, MIN_RUN_BYTES, TOKENS, next_run};
use super::label::n_unread;
use super::shape::{SHAPES, issuers, rows};
use super::{Redacted, Redactor, clean};
use config::settings::{PiiMode, Privacy};
use expect_test::{Expect, expect};
use proptest::prelude::*;

mod layouts;

fn redact(text: String) -> Redacted {
    Redactor::new(&Privacy::default()).redact(text)
}

fn allowing_marks() -> Redactor {
    Redactor::new(&Privacy { allow_marks: true, ..Privacy::default() })
}

fn check(lines: &[&str], expected: Expect) {
    let out: Vec<String> = lines.iter().map(|line| redact(line.to_string()).text).collect();
    expected.assert_eq(&(out.join("\n") + "\n"));
}

/// Checks that exactly what stands between `⟦` and `⟧` goes from each line.
fn check_marked(lines: &str) {
    for line in lines.lines().filter(|it| !it.is_empty()) {
        let line = &line.replace(r"\n", "\n");
        let shown = redact(line.replace(['⟦', '⟧'], "")).text;
        let outside = |text: &str, open: &str, close: char| {
            let parts = text.split(open).enumerate();
            let rest = |(i, it): (usize, &str)| match i {
                0 => it.to_string(),
                _ => it.split_once(close).map_or("", |it| it.1).to_string(),
            };
            parts.map(rest).collect::<Vec<_>>()
        };
        assert_eq!(outside(&shown, "[redacted:", ']'), outside(line, "⟦", '⟧'), "{line}");
    }
}

/// Joins the parts of a made-up secret, so that no scanner takes this file for a leak.
fn joined(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn the_tables_build() {
    assert!(ISSUERS.is_some() && TOKENS.is_some());
    assert_eq!(SHAPES.len(), rows().count(), "a row of `config/secrets.tsv` says no shape");
    assert!(SHAPES.len() > 600 && issuers().count() > 150, "{}", SHAPES.len());
    let lines = include_str!("../../../config/secrets.tsv").lines();
    let is_sourced =
        |line: &&str| line.ends_with(['b', 'k', 'v', 'd']) && line.matches('\t').count() == 5;
    let unsourced = lines
        .filter(|line| !line.starts_with('#') && !line.starts_with("issuers\t"))
        .filter(|it| !is_sourced(it));
    assert_eq!(
        unsourced.collect::<Vec<_>>(),
        [""; 0],
        "a row of `config/secrets.tsv` names no source"
    );
    assert_eq!(n_unread(), 0, "a line of `config/secret_labels.tsv` promises nothing");
    let is_kind = |kind: &str| {
        kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    assert!(SHAPES.iter().all(|shape| is_kind(shape.kind) && shape.literal.len() >= 2));
}

#[test]
fn a_change_of_the_tables_raises_the_version() {
    // After a change of what is found, increase `DETECTORS`, which rebuilds every index, then update this.
    let tables = [
        include_str!("../../../config/secrets.tsv"),
        include_str!("../../../config/secret_labels.tsv"),
        include_str!("../../../config/published_secrets.tsv"),
    ];
    let hash = xxhash_rust::xxh3::xxh3_64(tables.concat().as_bytes());
    expect!["8 4d9ef56e44245d47"].assert_eq(&format!("{} {hash:x}", super::DETECTORS));
}

#[test]
fn a_value_that_a_manual_prints_is_kept_and_one_like_it_is_not() {
    let rows = include_str!("../../../config/published_secrets.tsv").lines();
    let mut n = 0;
    for (value, _) in
        rows.filter(|row| !row.starts_with('#')).filter_map(|row| row.split_once('\t'))
    {
        n += 1;
        let last = if value.ends_with('c') { 'd' } else { 'c' };
        let text = format!("users:\n    admin: {value}\nAccountKey={value};\n\n{value}\n");
        assert_eq!(redact(text.clone()).text, text);
        let at = value.trim_end_matches('=').len() - 1;
        let other = format!("{}{last}{}", &value[..at], &value[at + 1..]);
        let text = text.replace(value, &other);
        let out = redact(text).text;
        assert!(!out.contains(&format!("AccountKey={other}")), "{out}");
    }
    assert!(n >= 4, "{n}");
}

#[test]
fn tokens_of_every_kind() {
    // `@` parts what a scanner of this file would take for a leak.
    let rows = r#"
id ⟦AK@IAQZ7XWV5NTRK3MPLD⟧.
⟦AS@IAQZ7XWV5NTRK3MPLD⟧,
aws_secret_access_key = "⟦{b40}⟧"
"SecretAccessKey": "⟦{b40}⟧"
⟦gh@p_{a36}⟧
x=⟦gh@s_{a36}⟧;
⟦github@_pat_{a22}_{a40}⟧
⟦gl@pat-{a20}⟧
⟦xo@xb-123456789012-{a24}⟧
⟦sk_@live_{a24}⟧
⟦AI@zaSy{a33}⟧
⟦sk-@ant-api03-{a40}-AA⟧
⟦sk-@proj-{a40}⟧
⟦np@m_{a36}⟧
⟦pypi-@AgEIcHlwaS5vcmc{a40}{a40}⟧
⟦ey@JhbGciOiJIUzI1NiJ9.ey@JzdWIiOiIxMjM0In0.{a40}⟧
⟦S@G.{a22}.{a40}xyz⟧
bot⟦123456789@:AA{a33}⟧/send
⟦S@K{h32}⟧
Account@Key=⟦{b40}{b40}abcdef==⟧;
⟦abc8@Q~{a33}⟧
⟦MT@12{a21}.G{a5}.{a38}⟧
https://⟦{h32}⟧@@o12.ingest.sentry.io/4
⟦2{a26}@_5{a20}⟧ and ⟦ns@ec1{h32}{h26}⟧ and ⟦*@{H32}{H8}⟧
postgres://app:⟦p@@ss:w0rd⟧@@db.example:5432/x
"#;
    let filled = rows.lines().map(|line| {
        let mut parts = line.split('{');
        let first = parts.next().unwrap_or_default().to_string();
        parts.fold(first, |text, part| {
            let Some((run, rest)) = part.split_once('}') else { return text + part };
            let letters = match &run[..1] {
                "a" => "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0",
                "b" => "wJalrXUtnFEMI/K7MDENG+bPxRfiCYq8Zt3mLwKY",
                "h" => "0123456789abcdef0123456789abcdef",
                _ => "0123456789ABCDEF0123456789ABCDEF",
            };
            text + &letters[..run[1..].parse().expect("a length")] + rest
        })
    });
    let text = filled.collect::<Vec<_>>().join("\n").replace("@@", "\0").replace('@', "");
    check_marked(&text.replace('\0', "@"));
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
fn only_the_allowed_line_is_left_alone_and_only_where_the_user_lets_it() {
    let token = joined(&["AK", "IAQZ7XWV5NTRK3MPLD"]);
    let text = format!("{token} # kg:allow {token}\n{token}\nkg:allow\n{token}");
    assert_eq!(redact(text.clone()).text.matches(&token).count(), 0);
    let redacted = allowing_marks().redact(text);
    assert_eq!(redacted.text.matches(&token).count(), 2);
    assert_eq!(redacted.findings.redacted.get("aws-access-key"), Some(&2));
    let redacted = allowing_marks().redact(format!("<!-- kg:allow-next -->\n{token}\n{token}\n"));
    assert_eq!(redacted.text.matches(&token).count(), 1);
    assert_eq!(redacted.allowed, vec![token]);
}

#[test]
fn marks_lead_back_to_the_secret() {
    let redacted = redact(joined(&["é AK", "IAQZ7XWV5NTRK3MPLD z"]));
    let map = redacted.map.expect("something was replaced");
    assert_eq!(redacted.text, "é [redacted:aws-access-key] z");
    assert_eq!(map.source_range(5, 8), 3..23);
    assert_eq!(map.source_range(29, 30), 24..25);
}

#[test]
fn assignments_in_many_syntaxes() {
    check_marked(
        r##"
DB_PASSWORD=⟦hunter2x⟧
export API_KEY='⟦9aF3kLmN2pQ7rS1tUv⟧'
password: "⟦S3cr3t!pw⟧" # why
  "client_secret": "⟦Zx8Kq2Lm9Pw4Rt7Y⟧",
api_key = "⟦0123456789abcdef0123456789abcdef⟧"
let secret = `⟦q9W8e7R6t5Y4u3I2⟧`;
config["token"] = '⟦mK7pL2qR9sT4vX6zB1⟧'
<password>⟦t0pS3cret⟧</password>
<add key="DbPassword" value="⟦Wint3r2024⟧"/>
Server=db;User Id=sa;Password=⟦Abc12345x⟧;Encrypt=yes
https://x.org/cb?token=⟦a8Kd93jfLq02mZx81⟧&page=2
tool --db-password '⟦p4ssw0rdX⟧' --verbose
tool --api-key=⟦Qw3rTy7uIo9pAs5d⟧
mysql -u root -p⟦S3cretPw1⟧ db
curl -u admin:⟦S3cretPw1⟧ http://h/
sshpass -p '⟦h8Kx2mQz⟧' ssh h
Authorization: Bearer ⟦9aF3kLmN2pQ7rS1tUvWx⟧
Authorization: Basic ⟦YWxpY2U6czNjcjN0UHc=⟧
the password is `⟦Xk29!qwe⟧`, keep it
| password | ⟦P4ssw0rd!x⟧ |
password := "⟦zq8XkW2m⟧"
private String dbPassword = "⟦Tr0ub4dor3⟧";
password: String = "⟦Tr0ub4dor3⟧"
{\"password\": \"⟦Tr0ub4dor3⟧\"}
CREATE USER ann IDENTIFIED BY '⟦Tr0ub4dor3⟧';
$p = ConvertTo-SecureString "⟦Tr0ub4dor3⟧" -AsPlainText
requirepass ⟦sunshine⟧
enable secret ⟦Tr0ub4dor3⟧
password: !vault ⟦Tr0ub4dor3⟧
password: &shared ⟦Tr0ub4dor3⟧
passwords: [⟦Tr0ub4dor3⟧, "⟦hunter2⟧"]
<dt>Password<dd>⟦Tr0ub4dor3⟧
<b>Password:</b> <code>⟦Tr0ub4dor3⟧</code>
Login: bob / ⟦Tr0ub4dor3⟧
"auths": {"h.example.net": {"auth": "⟦Ym9iOlRyMHViNGRvcjM=⟧"}}
Password: ⟦correct horse battery staple⟧
"password": "⟦a\"b,c'd⟧"
Password: ⟦"x`y'z|<w⟧
Password: ⟦sunshine⟧
"##,
    );
}

#[test]
fn labels_of_many_languages_and_layouts() {
    let rows = r#"
Secret access key: ⟦wJalrXUtnFEMI/K7MDENG+@bPxRfiCYq8Zt3mLwKY⟧
Signing key: KEY / Private-Key = KEY / access_key -> KEY
Kennwort: PASS, Passwort (WLAN): PASS
Das Passwort fürs WLAN lautet PASS.
Zugangsschlüssel: KEY
mot de passe NBSP: PASS
clé d'accès : « KEY »
La contraseña del wifi es PASS
La password è PASS; chiave segreta: KEY
A senha é PASS
wachtwoord voor de wifi: PASS
Hasło to PASS
ПАРОЛЬ = PASS; секретный ключ: KEY
密码：PASS。
パスワードは PASS です
the password for the wifi is ⟦hunter2@hunter2⟧
new password - PASS
password:\nPASS\nnext
passwords:\n  - PASS\n  - PASS
machine h.example login ann password PASS
db.example:5432:shop:ann:PASS
curl -H 'Authorization: SSWS KEY'
client-key-data: LONG
HEROKU=⟦9b1d4e6f-3a2c-4d5e-8f70-1a2b3c4d5e6f⟧
⟦legal winner thank year wave sausage worth useful legal winner thank yellow⟧
seed phrase: 1. ⟦wave 2. year 3. thank 4. wave 5. legal 6. use 7. worth 8. zoo 9. year 10. zoo 11. sea 12. ability⟧
| user | password |\n|---|---|\n| ann | PASS |\n| bob | ⟦Tr0ub4\|dor3⟧ |\n\n| x | y |
user,password\nann,PASS\nbob,⟦Tr0ub4dor3⟧\n
user,password\n"Doe, Ann",PASS\nbob,⟦Tr0ub4dor3⟧\n\na,round-thing7
Login: bob Password: PASS Port: 22
Login: bob Password: ⟦sunshine⟧ Port: 22
"#;
    let key = "q9W8e7R6t5Y4u3I2o1P0a9S8";
    let rows = rows.replace("PASS", "⟦Xk7!qMz2#pLw9⟧").replace("KEY", &format!("⟦{key}⟧"));
    let rows = rows.replace("LONG", &format!("⟦{}==⟧", key.repeat(40)));
    check_marked(&rows.replace(" NBSP", "\u{a0}").replace('@', ""));
    check_marked(&format!("root:⟦$6$a1b2c3d4${}x⟧:19700:0:99999:7:::", "aB3/.".repeat(17)));
}

#[test]
fn letters_of_full_width_and_hidden_characters_hide_nothing() {
    let token = joined(&["AK", "IAQZ7XWV5NTRK3MPLD"]);
    let wide = token.chars().filter_map(|c| char::from_u32(c as u32 + 0xfee0)).collect();
    for odd in [wide, joined(&["AK", "IAQZ7XWV\u{200b}5NTR\u{ad}K3MPLD"])] {
        let redacted = redact(format!("é {odd} end"));
        assert_eq!(redacted.text, "é [redacted:aws-access-key] end");
        let map = redacted.map.expect("something was replaced");
        assert_eq!(map.source_range(3, 20), 3..3 + odd.len());
    }
    let chinese = "用法：先登录，再查看（设置）。".to_string();
    assert_eq!(redact(chinese.clone()).text, chinese);
}

#[test]
fn what_is_said_about_secrets_stays() {
    let lines = [
        "password: must be 12 characters",
        "Password: 8-16 characters, one digit",
        "password: required|string|min:8",
        "password = get_password(user)",
        "token = response.headers['token']",
        "api_key = os.environ[\"API_KEY\"]",
        "secret: ${DB_SECRET}",
        "password: <your password>",
        "password: changeme",
        "password_file: /run/secrets/db_password",
        "max_tokens: 4096, token_count = 123456789012345678",
        "secretKeyRef: { name: my-secret, key: password }",
        "API_KEY=your-api-key-here",
        "token: xxxxxxxxxxxxxxxxxxxxxxxx",
        "integrity: sha512-oDTpR2sNk+0Cj0cWvVRNwbUR9Nl4Jm1wWZ7q9s0mQzY7Qd1mK4Hn6jc2yF1N5K8gk==",
        "checksum = \"9fceb02d0ae598e95dc970b74767f19372d61af89fceb02d0ae598e95dc97012\"",
        "Authorization: Bearer <token>",
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "the password is required, and the token is used for signing",
        "mkdir -p build && docker run -p 8080:80 img && mysql -u root -p",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhg==",
        "primary_key: id, public_key = ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7",
        "secret_name: projects/p1/secrets/db-password-1",
        "amqp://guest:<password>@h postgres://user:password@localhost:5432/db",
        "public_key: 9aF3kLmN2pQ7rS1tUvWx9aF3kLmN2pQ7, cache_key = 0123456789abcdef0123456789abcdef",
        "HEROKU_COMMIT=0123456789abcdef0123456789abcdef01234567",
        "the password column of the table is hashed with argon2id",
        "| Option | Password |\n|---|---|\n| required | yes |\n| length | 8-64 characters |",
        "Token::RecursiveZeroOrMore => aes_key = aes::Key::new(bytes[0..16])",
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
        "time like this when people come near that river they often stop there just once again",
        "Le mot de passe est obligatoire. Das Passwort ist erforderlich. La contraseña es obligatoria.",
        "密码是必填项。パスワードは必須です。Пароль обязателен.",
        "Password: must contain a digit Minimum length: 12",
        "Password: case sensitive Length: 12",
        "密码：至少十二个字符",
        "パスワード: 12文字以上で入力してください",
        "password=$(cat /run/secrets/db)",
        "| user | password |\n|---|---|\n\n| host | name |\n|---|---|\n| a | round-thing7 |",
        "The form asks for name, password, mail.\nThe report has blue77x, round-thing7, green.",
        "user,password\n\nblue,round-thing7,green\n",
        "user,password\nblue,round-thing7,green\n",
        "<thead><tr><th>user</th><th>password</th></tr></thead>\n<tr><td>web01x7</td></tr>",
        "<tr><th>user</th><th>password</th></tr>\n<tr><td>web01x7</td><td>b</td></tr>",
        "{&quot;user&quot;: 1, &quot;password&quot;: null\n{&quot;user&quot;: 1, &quot;Rocky3000!x&quot;: 2",
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
        "AKIAIOSFODNN7EXAMPLE your-api-key-here ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx <TOKEN>",
    ];
    for line in lines {
        let redacted = redact(line.to_string());
        assert_eq!(redacted.text, line);
        assert!(redacted.map.is_none());
    }
}

#[test]
fn allowed_paths_are_left_alone() {
    let allow_paths = vec!["fixtures/".to_string(), "*.sample.md".to_string()];
    let redactor = Redactor::new(&Privacy { allow_paths, ..Privacy::default() });
    for (path, is_allowed) in [
        ("fixtures/a/b.md", true),
        ("x/y.sample.md", true),
        ("a.md", false),
        ("my-fixtures.md", false),
    ] {
        assert_eq!(redactor.for_path(path).is_none(), is_allowed, "{path}");
    }
}

#[test]
fn personal_data_is_redacted_or_counted_as_the_settings_say() {
    let privacy = Privacy { pii: PiiMode::Redact, ..Privacy::default() };
    let text = "mail a.b@mail.org, host www.example.org".to_string();
    let (redacted, _, findings) = Redactor::new(&privacy).redact_again(text.clone(), &[]);
    assert_eq!(redacted, "mail [redacted:email], host www.example.org");
    assert_eq!(findings.redacted.get("email"), Some(&1));
    let privacy = Privacy { pii: PiiMode::Flag, ..Privacy::default() };
    let (kept, map, findings) = Redactor::new(&privacy).redact_again(text.clone(), &[]);
    assert!(kept == text && map.is_none());
    assert_eq!(findings.flagged.get("email"), Some(&1));
    let (kept, _, findings) = Redactor::new(&Privacy::default()).redact_again(text.clone(), &[]);
    assert!(kept == text && findings.is_empty());
}

#[test]
fn the_name_in_a_mark_announces_nothing() {
    let marked = "Authorization: Bearer [redacted:authorization],.atlasv1.00a0aaa0aAAAaBbB";
    assert_eq!(clean(marked), marked);
    // An incomplete mark is not a mark.
    let hidden = "[redacted: password=a8Kx2PqZ7wLm4Rt9";
    assert!(!clean(hidden).contains("a8Kx2PqZ7wLm4Rt9"));
}

#[test]
fn a_token_that_goes_on_after_a_line_end_is_gone_in_what_a_format_gives() {
    let token = joined(&["ghp_DNxril3RavGD5Mfv", "J7NScUykT8C8UBkkpdhi"]);
    let wrapped = format!("Use this:\n{}\n{}\nand go on.", &token[..20], &token[20..]);
    let redactor = Redactor::new(&Privacy::default());
    let (text, _, findings) = redactor.redact_again(wrapped, &[]);
    assert_eq!(text, "Use this:\n[redacted:github-token]\nand go on.");
    assert_eq!(findings.redacted.values().sum::<u32>(), 1);
    let (one, two) = (&token[..20], &token[20..]);
    for before in [format!("{one}\n{two}"), "the sk-\nlearn".to_string()] {
        let text = redactor.redact_again(format!("{before}\n{one}\n{two}\n"), &[]).0;
        assert!(!text.contains(one) && !text.contains(two), "{text}");
    }
    let prose = "a line that ends in sk-\nlearn and task-\nforce".to_string();
    assert_eq!(redactor.redact_again(prose.clone(), &[]).0, prose);
}

#[test]
fn a_key_that_was_cut_off_is_gone_also_where_its_lines_were_joined() {
    let line = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz";
    let begin = joined(&["-----BEGIN OPENSSH ", "PRIVATE KEY-----"]);
    for gap in [" ", "\n"] {
        let text =
            format!("Key: {begin}{gap}{line}{gap}{line}{gap}c2gtZWQyNTUxOQAAACDk\n\nThat was it.");
        assert_eq!(redact(text).text, "Key: [redacted:private-key]\n\nThat was it.", "{gap:?}");
    }
    let text = format!("A key begins with `{begin}` and lines of base64.");
    assert_eq!(redact(text.clone()).text, text);
}

proptest! {
    #[test]
    fn every_long_run_that_may_hold_a_token_is_found(
        text in "([a-z]{1,9}|[A1é@-]{1,40}|[ \n]{1,3}|[ \t\u{7f}!]){0,60}"
    ) {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(run) = next_run(text.as_bytes(), from) {
            from = run.end;
            found.push(run);
        }
        let mut expected = Vec::new();
        let mut start = 0;
        for run in text.split(|c: char| c <= ' ') {
            let n_capitals = run.bytes().filter(u8::is_ascii_uppercase).count();
            let may_hold_token = run.contains(|c: char| c.is_ascii_digit() || c == '@') || n_capitals >= 5;
            if run.len() >= MIN_RUN_BYTES && may_hold_token {
                expected.push(start..start + run.len());
            }
            start += run.len() + 1;
        }
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn any_text_is_redacted_without_panic(pieces in proptest::collection::vec(
        (0..SHAPES.len() + 8, "[A-Za-z0-9_.:/@ é\u{200b}\n=\"'-]{0,50}"), 0..8)) {
        let names = [
            "password=", "api_key: \"", "Authorization: Bearer ", "curl -u a:", "密码：", "| password |\n", "ｐ", "\u{a0}",
        ];
        let literal = |i: usize| SHAPES.get(i).map_or_else(|| names[i % 8], |shape| shape.literal);
        let text: String = pieces.iter().map(|(i, rest)| format!("{}{rest}", literal(*i))).collect();
        let redacted = redact(text.clone());
        if let Some(map) = redacted.map {
            let whole = map.source_range(0, redacted.text.len());
            prop_assert_eq!(whole, 0..text.len());
            // The text between the marks is unchanged.
            for segment in map.segments().iter().filter(|it| it.to_len == it.from_len) {
                let now = &redacted.text.as_bytes()[segment.to as usize..][..segment.to_len as usize];
                let was = &text.as_bytes()[segment.from as usize..][..segment.from_len as usize];
                let in_mark = redacted.text[..segment.to as usize].rfind("[redacted:").is_some_and(
                    |open| !redacted.text[open..segment.to as usize].contains(']'));
                prop_assert!(now == was || in_mark || now.starts_with(b"["));
            }
        }
    }

    #[test]
    fn what_is_redacted_once_stays_as_it_is(pieces in proptest::collection::vec(
        (0..SHAPES.len() + 4, "[A-Za-z0-9]{16,40}|[ \n\"':;.,=]{1,3}|[a-f0-9]{32}"), 0..6)) {
        let names = ["password=", "api_key: \"", "Authorization: Bearer ", "curl -u a:"];
        let literal = |i: usize| SHAPES.get(i).map_or_else(|| names[i % 4], |shape| shape.literal);
        let text: String = pieces.iter().map(|(i, rest)| format!("{}{rest}", literal(*i))).collect();
        let once = clean(&text).into_owned();
        let twice = clean(&once).into_owned();
        prop_assert_eq!(once, twice);
    }
}
