//! Planted secrets are found nowhere: not in the databases and their logs, nor in the ledger, the
//! daemon's log, backups, temporary files, or any reply on the socket. And a file whose name is on
//! the deny list is not read. Secrets of every kind that the bench plants are removed from what is
//! read of a file, in one place per kind; `benches/secrets.rs` has more places.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use formats::Normalizer;
use model::Stage;
use model::document::SourceDoc;
use model::terms::{ContentHash, RelPath};
use serde_json::{Value, json};
use tests::planted::evasions::evasions;
use tests::planted::formats::{FORMATS, file};
use tests::planted::people::{GENERATORS, shares};
use tests::planted::places::planted;
use tests::planted::{decoys, left_of};
use tests::{TestProject, papers};

/// A secret and the kind that should be reported.
type Secret = (&'static str, String);

/// Secrets of many shapes, made up here, in parts so that no scanner takes this file for a leak.
fn secrets() -> Vec<Secret> {
    let mixed = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0";
    let hex = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
    let join = |parts: &[&str]| parts.concat();
    vec![
        ("github-token", join(&["gh", "p_", &mixed[..36]])),
        ("aws-access-key", join(&["AK", "IAQZ7XWV5NTRK3MPLD"])),
        ("slack-token", join(&["xo", "xb-123456789012-", &mixed[..24]])),
        ("stripe-key", join(&["sk_", "live_", &mixed[..24]])),
        ("google-key", join(&["AI", "zaSy", &mixed[..33]])),
        ("openai-key", join(&["sk-", "proj-", mixed])),
        ("anthropic-key", join(&["sk-", "ant-api03-", mixed])),
        ("gitlab-token", join(&["gl", "pat-", &mixed[..20]])),
        ("jwt", join(&["ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiI5ODc2NTQzMjEwIn0.", mixed])),
        ("twilio-key", join(&["S", "K", hex])),
        ("shopify-token", join(&["shp", "at_", hex])),
        ("digitalocean-token", join(&["dop", "_v1_", hex, hex])),
    ]
}

/// A private key, which has several lines.
fn private_key() -> String {
    let lines: String = (0..20)
        .map(|i| format!("MIIEpAIBAAKCAQEA{i:04}u7Qx9vLkPz2TfWm8RsYbNc4Hd6GjXa1Ee3KoVi5Bn\n"))
        .collect();
    format!("-----BEGIN RSA PRIVATE KEY-----\n{lines}-----END RSA PRIVATE KEY-----")
}

/// Where a secret may be: a file's name, and its content around the secret.
fn places(secret: &str) -> Vec<(&'static str, Vec<u8>)> {
    let (head, tail) = secret.split_at(secret.len() / 2);
    let text = |text: String| text.into_bytes();
    vec![
        ("plain.txt", text(format!("The token is {secret}, they say.\n"))),
        ("letter.docx", papers::letter(&[(1, secret), (0, &format!("The token is {secret}."))])),
        ("report.pdf", papers::paged(&[&["Report.", &format!("The token is {secret}.")]])),
        ("heading.md", text(format!("# Vault `{secret}`\n\n**{secret}** and more.\n"))),
        (
            "frontmatter.md",
            text(format!(
                "---\ntitle: Of {secret}\ntags: [{secret}]\naliases: [{secret}]\n\
                 source_url: https://x.org/{secret}\nowner: {{ key: {secret} }}\n---\nBody.\n"
            )),
        ),
        (
            "broken.md",
            text(format!("---\ntitle: [{secret}\nx: : {secret}\n---\n# Broken\n\nText.\n")),
        ),
        (
            "link.md",
            text(format!(
                "See [here](https://x.org/?t={secret} \"{secret}\") and [[{secret}]] and #tag-{secret}.\n"
            )),
        ),
        (
            "code.md",
            text(format!(
                "```sh\nexport TOKEN={secret}\n```\n\n    curl -H 'X-Api-Key: {secret}' http://h\n"
            )),
        ),
        ("split.md", text(format!("It is {head}<!-- -->{tail} and {head}**{tail}** here.\n"))),
        ("hidden.md", text(format!("It is {head}\u{200b}{tail} and {head}\u{ad}{tail} here.\n"))),
        (
            "page.html",
            text(format!(
                "<html><head><title>{secret}</title><meta name=author content='{secret}'></head>\
                 <body><article><h1>{secret}</h1><p>A token={secret} and {head}<b></b>{tail} or {head}&shy;{tail}.</p>\
                 <pre>{secret}</pre><a href='/{secret}' title='{secret}'>x</a></article></body></html>"
            )),
        ),
        (
            "wide.txt",
            format!("It is {secret}.").encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
    ]
}

/// Writes every secret into every kind of place.
fn plant(project: &TestProject) {
    for (i, (_, secret)) in secrets().iter().enumerate() {
        for (name, content) in places(secret) {
            project.write(&format!("{i}/{name}"), content);
        }
        project.write(&format!("{i}/for {secret}.md"), "A file with a telling name.\n");
        project.write(&format!("{secret}/a.md"), "A folder with a telling name.\n");
    }
    let key = private_key();
    project.write("key.txt", format!("The key\n{key}\nend.\n"));
    project.write("key.md", format!("# Key\n\n```\n{key}\n```\n"));
    project.write("key.html", format!("<html><body><pre>{key}</pre></body></html>"));
}

/// Returns a request with the secret for every tool that takes words.
fn questions(secret: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("hybrid_query", json!({"q": format!("what is {secret}"), "k": 100, "max_chars": 90_000})),
        ("entity_lookup", json!({"q": secret})),
        ("explain_entity", json!({"name": secret})),
        ("explain_entity", json!({"name": secret, "why": true, "hops": 2})),
        ("graph", json!({"name": secret, "hops": 2})),
        ("ingest_docs", json!({"paths": [format!("{secret}/a.md"), format!("no/{secret}.md")]})),
        (
            "ingest_docs",
            json!({"paths": ["0/plain.txt"], "tags": [secret], "source_url": format!("https://u:{secret}@h.org/")}),
        ),
        ("review_links", json!({"below": 1.0, "limit": 100, "accept": [secret]})),
        ("review_links", json!({"below": 1.0, "limit": 100})),
        ("hybrid_query", json!({"q": "token", "path": secret, "formula": secret})),
        ("hybrid_query", json!({"q": 7, "unknown": secret})),
        ("dump", json!({"cursor": secret})),
        (Box::leak(format!("no {secret}").into_boxed_str()), json!({})),
    ]
}

#[test]
fn planted_secrets_are_nowhere() {
    let mut project = TestProject::empty();
    plant(&project);
    project.write("bystander.md", "# Bystander\n\nThe lighthouse keeper waters tomatoes.\n");
    project.start();
    rest(&mut project);
    let mut replies = String::new();
    for (_, secret) in secrets() {
        for (tool, arguments) in questions(&secret) {
            // Without the tool's name, since in one call the name is the secret.
            replies += &format!("{:?}\n", project.client().call_whole(tool, arguments));
        }
    }
    replies += &project.dump().text();
    for tool in ["status", "backup", "verify"] {
        replies += &format!("{tool}: {:?}\n", project.client().call_whole(tool, json!({})));
    }
    let found = project.call("hybrid_query", json!({"q": "lighthouse tomatoes"}));
    assert!(found.to_string().contains("bystander.md"), "{found}");
    let status = project.status();
    let mut leaks = leaks_in(replies.as_bytes(), "a reply");
    rest(&mut project);
    project.stop();
    leaks.extend(leaks_below(project.scratch(), project.root()));
    assert_eq!(leaks, BTreeMap::new());
    for (kind, _) in secrets() {
        assert!(status["redacted"][kind].as_u64() >= Some(10), "{kind}: {}", status["redacted"]);
    }
    let denied = &status["skipped"]["on the deny list: its name holds a secret"];
    assert_eq!(denied.as_u64(), Some(2 * secrets().len() as u64), "{}", status["skipped"]);
}

/// Waits until nothing is left to do. `settle` would look for every file by name, and some names
/// are secret.
fn rest(project: &mut TestProject) {
    let waited = project.call("wait", json!({"timeout_ms": 60_000}));
    assert_eq!(waited["reached"], true, "{waited}");
}

/// Counts each secret in some bytes, ignoring case.
fn leaks_in(bytes: &[u8], place: &str) -> BTreeMap<String, usize> {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let count = |needle: &str| text.matches(&needle.to_ascii_lowercase()).count();
    let key_line = private_key().lines().nth(3).map(|line| ("private-key", line.to_string()));
    // The last part alone would be as bad: a redaction that ends too early.
    let found = secrets().into_iter().chain(key_line).flat_map(|(kind, secret)| {
        let tail = &secret[secret.len() - 14..];
        [
            (format!("{kind} in {place}"), count(&secret)),
            (format!("end of {kind} in {place}"), count(tail)),
        ]
    });
    found.filter(|(_, n)| *n > 0).collect()
}

/// Counts the secrets in every file below a folder, except those of the project itself.
fn leaks_below(folder: &Path, project: &Path) -> BTreeMap<String, usize> {
    let mut leaks = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path == project {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                leaks.extend(leaks_in(&bytes, &path.display().to_string()));
            }
        }
    }
    leaks
}

#[test]
fn names_on_the_deny_list_are_never_read() {
    let mut project = TestProject::empty();
    let marker = "zanzibar marmalade";
    project
        .write("kg.yaml", "watch:\n  hidden: true\n  extensions: [md, pem, env, json, key, png]\n");
    for name in [
        ".env",
        ".env.local",
        "prod.env",
        "a/id_rsa",
        "server.pem",
        "tls.key",
        "credentials.json",
        "token.json",
        "credentials.md",
        "a/.ssh/notes.md",
        "picture.png",
        "a/.netrc",
    ] {
        project.write(name, format!("{marker}\n"));
    }
    project.write("open.md", "# Open\n\nThis one is read.\n");
    project.start();
    rest(&mut project);
    let graph = project.dump().text();
    assert!(graph.contains("open.md") && !graph.contains("marmalade"), "{graph}");
    let status = project.status();
    assert_eq!(status["skipped"]["on the deny list"], 11, "{}", status["skipped"]);
    assert!(project.left_out().contains("server.pem"), "{}", status["survey"]);
    let reply = project.call("ingest_docs", json!({"paths": ["server.pem", "open.md"]}));
    assert_eq!(reply["errors"][0]["path"], "server.pem", "{reply}");
    assert!(
        reply["errors"][0]["reason"].as_str().is_some_and(|it| it.contains("on the deny list")),
        "{reply}"
    );

    project.rename("open.md", "credentials.md");
    project.until_graph("the renamed file is gone", |project| {
        (!project.dump().text().contains("This one is read")).then_some(())
    });
}

#[test]
fn only_the_user_lifts_the_deny_list_and_redaction() {
    let token = secrets().remove(0).1;
    let mut project = TestProject::empty();
    project.write("fixtures/credentials.md", format!("Sample {token} here.\n"));
    project.write("fixtures/lines.md", format!("Another sample: {token}\n"));
    project.write("lines.md", format!("One {token} kg:allow\n"));
    project.write("other.md", format!("Two {token}\n"));
    project.set("privacy.allow_paths=fixtures/");
    project.set("privacy.allow_marks=true");
    project.start();
    project.settle();
    let mut hits = |question: &str| {
        project.call("hybrid_query", json!({"q": question, "k": 20}))["chunks"].to_string()
    };
    let (sample, one, two) = (hits("sample"), hits("one"), hits("two"));
    assert_eq!(sample.matches(&token).count(), 2, "{sample}");
    for words in [format!("Sample {token}"), format!("Another sample: {token}")] {
        assert!(sample.contains(&words), "{sample}");
    }
    assert!(one.contains(&format!("One {token}")), "{one}");
    assert!(two.contains("Two [redacted:github-token]"), "{two}");
    project.stop();

    for setting in ["allow_paths: ['**']", "allow_marks: true"] {
        project.write("kg.yaml", format!("privacy:\n  {setting}\n"));
        let why = project.try_start().expect_err("it must not start").log;
        assert!(why.contains("cannot be set by a folder"), "{why}");
    }
}

#[test]
fn a_mark_in_a_text_allows_nothing_by_itself() {
    let token = secrets().remove(0).1;
    let mut project = TestProject::empty();
    project.write("lines.md", format!("One {token} kg:allow\n\nkg:allow-next\nTwo {token}\n"));
    project.start();
    project.settle();
    let shown = project.call("read_passage", json!({"at": "lines.md"})).to_string();
    assert!(!shown.contains(&token), "{shown}");
    assert_eq!(shown.matches("[redacted:github-token]").count(), 2, "{shown}");
}

/// Returns everything that the reading stage extracts from a file.
fn read(normalizer: &mut Normalizer, name: &str, bytes: Vec<u8>) -> String {
    let source = SourceDoc {
        path: RelPath::new(name),
        bytes: bytes.into(),
        hash: ContentHash(0),
        mtime_ms: 0,
        pass: Default::default(),
    };
    normalizer.run(source).map_or_else(|fault| fault.reason, |doc| format!("{doc:?}"))
}

#[test]
fn every_kind_of_secret_is_removed_in_every_format() {
    let mut normalizer = Normalizer::new(&Default::default(), &Default::default());
    let (mut missed, mut n) = (Vec::new(), 0);
    for plant in planted(11, 1) {
        for format in FORMATS {
            let Some(bytes) = file(format, &plant.body) else { continue };
            let read = read(&mut normalizer, &format!("plant.{format}"), bytes);
            n += plant.secrets.len();
            let left = plant.secrets.iter().filter(|secret| left_of(secret, &read).is_some());
            missed.extend(
                left.map(|secret| format!("{} {format}: {secret} {:?}", plant.kind, plant.body)),
            );
        }
    }
    assert!(n > 1_200, "{n}");
    // A page may break a token where nothing marks the continuation; `benches/secrets.rs` counts
    // those.
    assert!(missed.iter().all(|it| it.contains(" pdf: ")), "{}", missed.join("\n"));
    assert!(missed.len() * 100 <= n, "{} of {n}:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn what_generators_and_people_write_after_a_label_is_gone() {
    let shares = shares(2_026, 100, |text| redact::clean(text).into_owned());
    let mean = |name: &str| {
        let of: Vec<f64> =
            shares.iter().filter(|it| it.0.starts_with(name)).map(|it| it.1).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    for (name, _) in GENERATORS {
        // The words of BIP-39 are short, and one in eighty is of those that sentences about passwords need.
        let least = if name.ends_with("blanks") { 0.9 } else { 0.98 };
        assert!(mean(&format!("{name},")) >= least, "{name}: {shares:#?}");
    }
    assert!(mean("human") >= 0.95, "{shares:#?}");
}

#[test]
fn nothing_hides_a_token_that_a_reader_sees() {
    let token = secrets().remove(0).1;
    let mut normalizer = Normalizer::new(&Default::default(), &Default::default());
    for (name, text) in evasions(&token) {
        let read = read(&mut normalizer, name, text.into_bytes());
        assert_eq!(left_of(&token, &read), None, "{name}: {read}");
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let found: Vec<String> =
        decoys().into_iter().filter(|line| redact::holds_secret(line)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn personal_data_is_counted_or_removed_and_a_change_rebuilds() {
    let mail = "grace.hopper@navy.example.org";
    let mut project = TestProject::empty();
    project.write("a.md", format!("# Contact\n\nWrite to {mail} or call +1 202 555 0147.\n"));
    project.start();
    project.settle();
    let shown = |project: &mut TestProject| {
        project.call("hybrid_query", json!({"q": "contact write call"}))["chunks"].to_string()
    };
    assert!(shown(&mut project).contains(mail));
    project.stop();

    project.set("privacy.pii=flag");
    project.start();
    project.settle();
    assert!(shown(&mut project).contains(mail));
    let status = project.status();
    assert_eq!(
        (&status["flagged"]["email"], &status["flagged"]["phone"]),
        (&json!(1), &json!(1)),
        "{status}"
    );
    project.stop();

    project.set("privacy.pii=redact");
    project.start();
    project.settle();
    let hits = shown(&mut project);
    assert!(
        !hits.contains(mail) && hits.contains("[redacted:email] or call [redacted:phone]"),
        "{hits}"
    );
}
