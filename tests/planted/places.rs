//! Places: texts in which a label, a layout or a command announces a secret, and every planted
//! text.
//!
//! `{{pass}}` in a text is a secret by the pattern inside ([`super::Dice::fill`]).

use std::collections::BTreeMap;

use super::kinds::{NAMED, TOKEN_PLACES, TOKENS};
use super::{Body, Dice, Planted};

/// Texts in which a label, a command or a layout announces a secret; each line has a kind and a
/// text.
const PLACES: &str = include_str!("places.tsv");

/// Tables with a column of secrets.
const TABLES: [(&str, &[&[&str]]); 6] = [
    (
        "table-password",
        &[
            &["User", "Password", "Note"],
            &["ann", "{{pass}}", "old"],
            &["bob", "{{strong}}", "new"],
        ],
    ),
    ("table-key", &[&["Service", "API key"], &["mail", "{{a32}}"], &["maps", "{{h40}}"]]),
    ("table-german", &[&["Benutzer", "Kennwort"], &["ann", "{{pass}}"], &["bob", "{{strong}}"]]),
    ("table-row", &[&["Field", "Value"], &["Password", "{{strong}}"], &["Host", "db1"]]),
    ("table-first", &[&["Passwort", "Dienst"], &["{{strong}}", "Mail"], &["{{pass}}", "VPN"]]),
    (
        "table-wide",
        &[
            &["Host", "Port", "Login", "Initial password", "Owner"],
            &["db1", "22", "root", "{{strong}}", "ann"],
        ],
    ),
];

/// Returns every kind in its places, `n` times each.
pub fn planted(seed: u64, n: usize) -> Vec<Planted> {
    let mut dice = Dice::new(seed);
    let mut out = Vec::new();
    for (i, (kind, pattern)) in TOKENS.iter().enumerate() {
        for round in 0..n {
            let place = TOKEN_PLACES[(i + round * 7) % TOKEN_PLACES.len()];
            out.push(lines(
                &mut dice,
                kind,
                &place.replacen("{}", &format!("{{{{{pattern}}}}}"), 1),
            ));
        }
    }
    for (kind, text) in NAMED {
        out.extend((0..n.div_ceil(4)).map(|_| lines(&mut dice, kind, text)));
    }
    for (kind, texts) in places() {
        for round in 0..if n > 1 { n.max(texts.len()) } else { 1 } {
            out.push(lines(&mut dice, kind, &texts[round % texts.len()]));
        }
    }
    for (kind, rows) in TABLES {
        out.extend((0..n.div_ceil(2)).map(|_| table(&mut dice, kind, rows)));
    }
    out
}

/// Returns the texts of each kind.
fn places() -> BTreeMap<&'static str, Vec<String>> {
    let mut out = BTreeMap::<_, Vec<String>>::new();
    for line in PLACES.lines().filter(|line| !line.starts_with('#')) {
        if let Some((kind, text)) = line.split_once('\t') {
            let text = text.replace("\\n", "\n").replace("\\t", "\t");
            out.entry(kind).or_default().push(text);
        }
    }
    out
}

fn lines(dice: &mut Dice, kind: &'static str, template: &str) -> Planted {
    let mut secrets = Vec::new();
    let text = filled(dice, template, &mut secrets);
    Planted { kind, body: Body::Lines(text), secrets }
}

fn table(dice: &mut Dice, kind: &'static str, rows: &[&[&str]]) -> Planted {
    let mut secrets = Vec::new();
    let mut rows_made = Vec::new();
    for cells in rows {
        rows_made.push(cells.iter().map(|cell| filled(dice, cell, &mut secrets)).collect());
    }
    let rows = rows_made;
    Planted { kind, body: Body::Table(rows), secrets }
}

/// Fills a template; adds its secrets to `secrets`.
fn filled(dice: &mut Dice, template: &str, secrets: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        // `{{a14}.x.{h64}}` ends at the first `}}` that no third brace follows.
        let end = after.find("}}").map(|at| at + usize::from(after[at + 2..].starts_with('}')));
        let (pattern, tail) = after.split_at(end.unwrap_or(after.len()));
        // A pattern of one run is written without its own braces.
        let is_bare = !pattern.contains('{');
        let pattern = if is_bare { format!("{{{pattern}}}") } else { pattern.to_string() };
        let made = dice.fill(&pattern);
        // Brackets mark the part that is secret.
        let (lead, secret) = made.split_once('[').unwrap_or(("", &made));
        let (secret, end) = secret.split_once(']').unwrap_or((secret, ""));
        out += &[lead, secret, end].concat();
        secrets.push(secret.to_string());
        rest = tail.get(2..).unwrap_or("");
    }
    (out + rest).replace("|PRIVATE", "PRIVATE").replace("-|User", "-User")
}
