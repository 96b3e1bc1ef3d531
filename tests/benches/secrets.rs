//! What redaction finds, leaves and costs: recall on planted secrets, false alarms on decoys and on text in which
//! nobody planted any, personal data against gold, speed; beside it the peers, in the same run.
//!
//! ```text
//! cargo bench -p tests --bench secrets                                   planted, decoys, speed
//! cargo bench -p tests --bench secrets -- DATA                           also false alarms in DATA, PII of its dev set
//! KG_PEERS=/path/to/python cargo bench -p tests --bench secrets -- DATA  also detect-secrets and presidio-analyzer
//! ```
//! Predictions and tables are left in the folder `KG_OUT` (else a temporary one), for the scorer and the peers.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use daemon::pipeline::normalize::redact::{Kind, personal_data_in, places_of_secrets};
use serde_json::{Value, json};

#[path = "secrets/planted.rs"]
mod planted;

/// Bytes that the speed is measured on.
const SPEED_BYTES: usize = 50_000_000;

/// How the dev set calls our kinds.
const LABELS: [(Kind, &str); 10] = [
    (Kind::Email, "EMAIL_ADDRESS"),
    (Kind::Phone, "PHONE_NUMBER"),
    (Kind::Card, "CREDIT_CARD"),
    (Kind::Iban, "IBAN_CODE"),
    (Kind::NationalId, "US_SSN"),
    (Kind::Ip, "IP_ADDRESS"),
    (Kind::Domain, "DOMAIN_NAME"),
    (Kind::Address, "STREET_ADDRESS"),
    (Kind::Zip, "ZIP_CODE"),
    (Kind::Person, "PERSON"),
];

fn main() -> Result<()> {
    let data = std::env::args().skip(1).find(|it| !it.starts_with("--")).map(PathBuf::from);
    let scratch = tempfile::tempdir()?;
    let out =
        std::env::var_os("KG_OUT").map_or_else(|| scratch.path().to_path_buf(), PathBuf::from);
    fs::create_dir_all(&out)?;
    recall(&out)?;
    decoys(&out)?;
    let mut texts = Vec::new();
    if let Some(data) = &data {
        read_texts(data, &mut texts)?;
        texts.sort();
        false_alarms(&texts, data, &out)?;
        personal_data(data, &out)?;
    }
    speed(&texts);
    if let Some(python) = std::env::var_os("KG_PEERS") {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/secrets/peers.py");
        let status = Command::new(python).arg(script).arg(&out).args(&data).status();
        anyhow::ensure!(status.context("the peers' python")?.success(), "the peers failed");
    }
    Ok(())
}

/// Whether no byte of a secret but its known prefix is left outside of what is replaced.
fn is_removed(line: &str, secret: &str) -> bool {
    let Some(at) = line.find(secret) else { return true };
    let middle = at + secret.len() / 2;
    places_of_secrets(line)
        .iter()
        .any(|(range, _)| range.contains(&middle) && range.end >= at + secret.len())
}

fn recall(out: &Path) -> Result<()> {
    let planted = planted::secrets();
    let mut by_kind: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let mut table = String::new();
    let mut missed = Vec::new();
    for it in &planted {
        let is_found = is_removed(&it.line, &it.secret);
        let counts = by_kind.entry(it.kind).or_default();
        *counts = (counts.0 + u32::from(is_found), counts.1 + 1);
        writeln!(
            table,
            "{}\t{}\t{}",
            it.kind,
            it.line.replace('\n', "\\n"),
            it.secret.replace('\n', "\\n")
        )?;
        if !is_found {
            missed.push(&it.line);
        }
    }
    fs::write(out.join("planted.tsv"), table)?;
    let found: u32 = by_kind.values().map(|(found, _)| found).sum();
    println!(
        "planted: {found} of {} removed ({:.2} %)",
        planted.len(),
        100.0 * f64::from(found) / planted.len() as f64
    );
    for (kind, (found, all)) in by_kind.iter().filter(|(_, (found, all))| found < all) {
        println!("  {kind}: {found} of {all}");
    }
    missed.iter().take(12).for_each(|line| println!("  missed: {line}"));
    Ok(())
}

fn decoys(out: &Path) -> Result<()> {
    let decoys = planted::decoys();
    let hit: Vec<&String> =
        decoys.iter().filter(|line| !places_of_secrets(line).is_empty()).collect();
    println!("decoys: {} of {} lines redacted", hit.len(), decoys.len());
    hit.iter().take(12).for_each(|line| println!("  redacted: {line}"));
    fs::write(out.join("decoys.txt"), decoys.join("\n") + "\n")?;
    Ok(())
}

/// Every text file below a folder.
fn read_texts(folder: &Path, texts: &mut Vec<(PathBuf, String)>) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_texts(&path, texts)?;
        } else if let Ok(text) = fs::read_to_string(&path) {
            texts.push((path, text));
        }
    }
    Ok(())
}

fn false_alarms(texts: &[(PathBuf, String)], data: &Path, out: &Path) -> Result<()> {
    let mut by_set: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut list = String::new();
    for (path, text) in texts {
        let below = path.strip_prefix(data)?;
        let set = below.components().next().map(|it| it.as_os_str().to_string_lossy().into_owned());
        let counts = by_set.entry(set.unwrap_or_default()).or_default();
        let found = places_of_secrets(text);
        *counts = (counts.0 + text.len(), counts.1 + found.len());
        for (range, kind) in found {
            let line = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
            let shown: String = text[line..end].chars().take(200).collect();
            println!("  {} {kind}: {shown}", below.display());
        }
        writeln!(list, "{}", path.display())?;
    }
    fs::write(out.join("files.txt"), list)?;
    let n_bytes: usize = by_set.values().map(|it| it.0).sum();
    let n_found: usize = by_set.values().map(|it| it.1).sum();
    println!(
        "nothing planted: {n_found} redactions in {} files, {:.1} MB",
        texts.len(),
        n_bytes as f64 / 1e6
    );
    for (set, (_, n)) in by_set.iter().filter(|(_, (_, n))| *n > 0) {
        println!("  {set}: {n}");
    }
    Ok(())
}

/// Writes predictions for the dev set in the scorer's form and has it score them.
fn personal_data(data: &Path, out: &Path) -> Result<()> {
    let gold = data.join("pii_presidio/dev.jsonl");
    let Ok(lines) = fs::read_to_string(&gold) else { return Ok(()) };
    let mut predicted = String::new();
    for line in lines.lines() {
        let document: Value = serde_json::from_str(line)?;
        let text = document["text"].as_str().unwrap_or_default();
        let n_chars = |end: usize| text[..end].chars().count();
        let label = |kind| LABELS.iter().find(|(it, _)| *it == kind).map_or("", |(_, label)| label);
        let entities: Vec<Value> = personal_data_in(text, |_| true)
            .into_iter()
            .map(|(range, kind)| {
                let (start, end) = (n_chars(range.start), n_chars(range.end));
                json!({"start": start, "end": end, "label": label(kind)})
            })
            .collect();
        writeln!(predicted, "{}", json!({"id": document["id"], "entities": entities}))?;
    }
    let ours = out.join("pii.jsonl");
    fs::write(&ours, predicted)?;
    let scorer = data.join("score/ner_score.py");
    for (_, label) in LABELS {
        let scores = Command::new("python3")
            .arg(&scorer)
            .args([&gold, &ours])
            .args(["--only", label, "--ignore-gold-outside"])
            .output()?;
        let scores: Value = serde_json::from_slice(&scores.stdout).context("the scorer's reply")?;
        println!("{label:16} partial {}", scores["partial"]);
    }
    let structured =
        "EMAIL_ADDRESS,PHONE_NUMBER,CREDIT_CARD,IBAN_CODE,US_SSN,IP_ADDRESS,DOMAIN_NAME,ZIP_CODE";
    for only in [structured, &LABELS.map(|(_, label)| label).join(",")] {
        let scores = Command::new("python3")
            .arg(&scorer)
            .args([&gold, &ours])
            .args(["--only", only, "--ignore-gold-outside"])
            .output()?;
        let scores: Value = serde_json::from_slice(&scores.stdout).context("the scorer's reply")?;
        println!("{only}: partial_untyped {}", scores["partial_untyped"]);
    }
    Ok(())
}

/// Megabytes a second over mixed text, as many documents.
fn speed(texts: &[(PathBuf, String)]) {
    let own: Vec<String> = planted::decoys().chunks(200).map(|lines| lines.join("\n")).collect();
    let texts: Vec<&str> = match texts {
        [] => own.iter().map(String::as_str).collect(),
        texts => texts.iter().map(|(_, text)| text.as_str()).collect(),
    };
    let n_bytes: usize = texts.iter().map(|text| text.len()).sum();
    let n_rounds = SPEED_BYTES.div_ceil(n_bytes.max(1));
    let rate = |work: &dyn Fn(&str) -> usize| {
        // The best of three, because others use the machine.
        let best = (0..3).map(|_| {
            let begin = Instant::now();
            let n: usize = (0..n_rounds).flat_map(|_| &texts).map(|text| work(text)).sum();
            std::hint::black_box(n);
            begin.elapsed().as_secs_f64()
        });
        (n_rounds * n_bytes) as f64 / 1e6 / best.fold(f64::INFINITY, f64::min)
    };
    let mb = (n_rounds * n_bytes) as f64 / 1e6;
    println!(
        "speed over {mb:.0} MB: secrets {:.0} MB/s",
        rate(&|text| places_of_secrets(text).len())
    );
    println!("  personal data, every kind: {:.1} MB/s", rate_of_personal(&texts));
}

/// One round is enough: off by default, and slower.
fn rate_of_personal(texts: &[&str]) -> f64 {
    let begin = Instant::now();
    let n: usize = texts.iter().map(|text| personal_data_in(text, |_| true).len()).sum();
    std::hint::black_box(n);
    texts.iter().map(|text| text.len()).sum::<usize>() as f64 / 1e6 / begin.elapsed().as_secs_f64()
}
