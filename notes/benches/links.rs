//! Links, observations and typed relations of vaults: precision and recall of links against a gold list, the stated
//! relations and observations for a person to judge, and the speed of reading.
//!
//! `cargo bench -p notes --bench links -- [DATA] [--verbose]`: DATA holds the sets, each with `vault/` and
//! `links.tsv` (source, target, number); default: `../shared/data`. A missing set is skipped with a message.

#![allow(clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use notes::parse::{LinkKind, Note, RelationKind, parse};
use notes::resolve::{By, Candidate, Keys, choose, file_key, folder_keys, name_key};
use notes::slug::slug;

const SETS: [&str; 4] = ["vault_foam", "vault_obsidian_tasks", "docs_prometheus", "docs_rustbook"];
/// Number of runs; the best one is printed.
const N_RUNS: usize = 5;
/// Number of observations and typed relations shown per set.
const N_SHOWN: usize = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    let is_verbose = arguments.iter().any(|it| it == "--verbose");
    let data = arguments.iter().find(|it| !it.starts_with("--"));
    let data = data.map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let data = if data.is_dir() { data } else { Path::new("..").join(&data) };
    for set in SETS {
        let folder = data.join(set);
        if folder.join("links.tsv").is_file() {
            score(set, &folder, is_verbose);
        } else {
            println!("{set}: skipped, no `{}`", folder.join("links.tsv").display());
        }
    }
}

type Pairs = BTreeSet<(String, String)>;

fn score(set: &str, folder: &Path, is_verbose: bool) {
    let mut texts = BTreeMap::new();
    read_texts(&folder.join("vault"), "", &mut texts);
    let n_bytes: usize = texts.values().map(String::len).sum();
    let notes: BTreeMap<&str, Note> =
        texts.iter().map(|(path, text)| (path.as_str(), parse(text))).collect();
    let took = best_of(|| texts.values().map(|text| parse(text).links.len()).sum());
    let bare = best_of(|| {
        let options = pulldown_cmark::Options::all();
        texts.values().map(|text| pulldown_cmark::Parser::new_ext(text, options).count()).sum()
    });
    let found = pairs_of(&notes);
    let gold = gold_of(folder);
    let n_right = found.intersection(&gold).count();
    println!(
        "{set}: {} notes, {:.2} MB, {:.0} MB/s, {:.1} x the parser's bare events; links: found {}, gold {}, \
         precision {:.4}, recall {:.4}",
        notes.len(),
        n_bytes as f64 / 1e6,
        n_bytes as f64 / 1e6 / took,
        took / bare,
        found.len(),
        gold.len(),
        n_right as f64 / found.len().max(1) as f64,
        n_right as f64 / gold.len().max(1) as f64,
    );
    for (what, pairs) in [
        ("too many", found.difference(&gold).collect::<Vec<_>>()),
        ("missing", gold.difference(&found).collect()),
    ] {
        for (from, to) in pairs.iter().take(if is_verbose { usize::MAX } else { N_SHOWN }) {
            println!("  {what}: {from} -> {to}");
        }
    }
    show(
        "observations",
        notes.iter().flat_map(|(path, note)| {
            note.observations.iter().map(move |it| {
                format!("{path}:{} [{}] {:.60}", it.place.line, it.category, it.content)
            })
        }),
    );
    show(
        "typed relations",
        notes.iter().flat_map(|(path, note)| {
            note.relations.iter().filter(|it| it.kind == RelationKind::Typed).map(move |it| {
                format!(
                    "{path}:{} {} -> {}",
                    it.place.line, it.relation_type, note.links[it.link].target
                )
            })
        }),
    );
    show(
        "fields",
        notes.iter().flat_map(|(path, note)| {
            note.fields
                .iter()
                .map(move |it| format!("{path}:{} {}:: {:.40}", it.place.line, it.key, it.value))
        }),
    );
}

/// Returns the time of the fastest run, in seconds.
fn best_of(run: impl Fn() -> usize) -> f64 {
    let times = (0..N_RUNS).map(|_| {
        let started = Instant::now();
        std::hint::black_box(run());
        started.elapsed().as_secs_f64()
    });
    times.fold(f64::MAX, f64::min)
}

fn show(what: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    println!("  {what}: {}", lines.len());
    lines.iter().take(N_SHOWN).for_each(|line| println!("    {line}"));
}

/// Returns each pair of a note and a note that it links to.
fn pairs_of(notes: &BTreeMap<&str, Note>) -> Pairs {
    let mut bearers: BTreeMap<String, Vec<Candidate<'_>>> = BTreeMap::new();
    for (path, note) in notes {
        let mut add =
            |key: String, by: By| bearers.entry(key).or_default().push(Candidate { path, by });
        add(file_key(path), By::FileName);
        if let Some([folder, _]) = folder_keys(path) {
            add(folder, By::Folder);
        }
        let stem = Path::new(path)
            .file_stem()
            .map_or(String::new(), |it| it.to_string_lossy().into_owned());
        let title = note.title_or(&stem);
        add(name_key(title), By::Title);
        add(format!("={}", slug(title)), By::Permalink);
        let heading = note.headings.first().map_or("", |it| it.text.as_str());
        add(name_key(heading), By::Heading);
        note.aliases.iter().for_each(|alias| add(name_key(alias), By::Alias));
    }
    let mut pairs = Pairs::new();
    for (path, note) in notes {
        for link in note.links.iter().filter(|it| it.kind != LinkKind::Image) {
            let Some(keys) = Keys::of(path, link.kind, &link.target) else { continue };
            let mut candidates = Vec::new();
            let mut take = |key: &str, wanted: &[By]| {
                let all = bearers.get(key).into_iter().flatten();
                candidates.extend(all.filter(|it| wanted.contains(&it.by)).copied());
            };
            let parts = [Some(&keys.file), keys.name.as_ref(), keys.permalink.as_ref()];
            parts.iter().flatten().for_each(|key| take(key, &[By::FileName, By::Folder]));
            keys.name.iter().for_each(|key| take(key, &[By::Title, By::Heading, By::Alias]));
            keys.permalink.iter().for_each(|key| take(&format!("={key}"), &[By::Permalink]));
            if let Some(idx) = choose(path, link.kind, &link.target, &candidates) {
                let to = candidates[idx].path;
                if to != *path {
                    pairs.insert((path.to_string(), to.to_string()));
                }
            }
        }
    }
    pairs
}

fn gold_of(folder: &Path) -> Pairs {
    let gold = std::fs::read_to_string(folder.join("links.tsv")).unwrap_or_default();
    gold.lines()
        .skip(1)
        .filter_map(|line| {
            let mut columns = line.split('\t');
            Some((columns.next()?.to_string(), columns.next()?.to_string()))
        })
        .collect()
}

fn read_texts(folder: &Path, prefix: &str, out: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if entry.path().is_dir() {
            read_texts(&entry.path(), &path, out);
        } else if path.ends_with(".md")
            && let Ok(text) = std::fs::read_to_string(entry.path())
        {
            out.insert(path, text);
        }
    }
}
