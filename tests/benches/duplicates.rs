//! Duplicates: how well edited copies of real paragraphs are distinguished from other paragraphs,
//! and what it costs and saves to index repeated text once.
//!
//! `cargo bench -p tests --bench duplicates -- DATA_DIR [--pairs N] [--notes N]`
//! Detection: paragraphs of the note sets, each in a file of its own, and an edited copy of each in
//! another folder; the measure is whether the index pairs the copy with its original. Cost: the
//! note sets, generated notes of which each second is a near copy, a page of 1 MB twice and a file
//! of 50,000 equal paragraphs, each with `dedup` on and off, in a child process of its own.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use config::Settings;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use support::{Scratch, median};

/// Runs per cost; the median counts.
const RUNS: usize = 3;

/// Range of paragraph lengths, words: nobody calls two of ten words a near copy.
const WORDS: std::ops::Range<usize> = 20..400;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    if support::flag(&mut arguments, "--child") {
        let [root, state, enabled] = arguments.as_slice() else { bail!("--child ROOT STATE ON") };
        return child(Path::new(root), Path::new(state), enabled == "true");
    }
    let pairs = support::option(&mut arguments, "--pairs").map_or(Ok(300), |n| n.parse())?;
    let notes = support::option(&mut arguments, "--notes").map_or(Ok(10_000), |n| n.parse())?;
    let [data] = arguments.as_slice() else {
        bail!("which data? hint: cargo bench -p tests --bench duplicates -- DATA_DIR")
    };
    detection(Path::new(data), pairs)?;
    costs(Path::new(data), notes)
}

/// A pseudorandom number generator with a fixed sequence.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides.max(1)
    }
}

/// An edit of a paragraph, and whether the result is still the same paragraph.
type Edit = (&'static str, bool, fn(&[&str], &[&str], &mut Dice) -> Vec<String>);

const EDITS: &[Edit] = &[
    ("nothing", true, |own, _, _| owned(own)),
    ("case, signs, line breaks", true, |own, _, _| {
        own.iter().map(|word| word.to_uppercase().replace(',', " ;")).collect()
    }),
    ("one word", true, |own, _, dice| replaced(own, 1, dice)),
    ("a date comes", true, |own, _, dice| {
        let mut words = owned(own);
        words.insert(dice.throw(own.len()), "2024-05-02".into());
        words
    }),
    ("1 word in 20", true, |own, _, dice| replaced(own, own.len().div_ceil(20), dice)),
    ("three words at the end", true, |own, _, _| {
        owned(own).into_iter().chain(["as", "decided", "yesterday"].map(String::from)).collect()
    }),
    ("the last two words go", true, |own, _, _| owned(own.split_at(own.len() - 2).0)),
    ("1 word in 4", false, |own, _, dice| replaced(own, own.len().div_ceil(4), dice)),
    ("half of another paragraph", false, |own, other, _| {
        let (half, rest) = (own.len() / 2, other.len() / 2);
        owned(&own[..half]).into_iter().chain(owned(&other[rest..])).collect()
    }),
    ("first quarter kept", false, |own, other, _| {
        let (first, _) = own.split_at(own.len() / 4);
        owned(first).into_iter().chain(owned(other).into_iter().rev()).collect()
    }),
    ("other words in the same order of lengths", false, |own, other, _| {
        own.iter().enumerate().map(|(n, _)| other[n % other.len()].to_string()).rev().collect()
    }),
];

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn replaced(own: &[&str], n: usize, dice: &mut Dice) -> Vec<String> {
    let mut words = owned(own);
    for at in 0..n {
        // Spread over the text, so that two edits do not hit the same word.
        let from = at * own.len() / n;
        let to = ((at + 1) * own.len() / n).max(from + 1);
        words[from + dice.throw(to - from)] = format!("changed{at}");
    }
    words
}

/// Returns paragraphs of running text from the note sets, each once.
fn paragraphs(data: &Path, most: usize) -> Result<Vec<String>> {
    let scratch = Scratch::with_notes(data)?;
    let mut found = std::collections::BTreeSet::new();
    for (path, _) in support::files_below(&scratch.notes())? {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for paragraph in text.split("\n\n") {
            let plain = paragraph.chars().next().is_some_and(char::is_alphabetic)
                && !paragraph
                    .contains(['`', '[', '|', '<', '{', '#', '*', '_', '\t', '\\', '>', '^', '~']);
            let n_words =
                paragraph.split(|c: char| !c.is_alphanumeric()).filter(|it| !it.is_empty()).count();
            if plain && WORDS.contains(&n_words) {
                found.insert(paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
            }
        }
    }
    let mut found: Vec<String> = found.into_iter().collect();
    let mut dice = Dice(7);
    for i in (1..found.len()).rev() {
        found.swap(i, dice.throw(i + 1));
    }
    found.truncate(most);
    Ok(found)
}

fn detection(data: &Path, pairs: usize) -> Result<()> {
    let paragraphs = paragraphs(data, pairs)?;
    println!(
        "detection: {} paragraphs of 20 words and more, from {}",
        paragraphs.len(),
        data.display()
    );
    let runtime = support::runtime()?;
    let (mut hits, mut misses, mut wrong) = (0, 0, 0);
    for (name, is_same, edit) in EDITS {
        let scratch = Scratch::new()?;
        let mut dice = Dice(11);
        for (i, paragraph) in paragraphs.iter().enumerate() {
            let other = &paragraphs[(i + 1) % paragraphs.len()];
            let words: Vec<&str> = paragraph.split_whitespace().collect();
            let others: Vec<&str> = other.split_whitespace().collect();
            let edited = edit(&words, &others, &mut dice).join(" ");
            write(
                &scratch.notes().join(format!("a/{i:05}.md")),
                &format!("# Note {i}\n\n{paragraph}\n"),
            )?;
            write(
                &scratch.notes().join(format!("b/{i:05}.md")),
                &format!("# Other {i}\n\n{edited}\n"),
            )?;
        }
        let project = runtime.block_on(support::open_settled(
            &scratch.notes(),
            &scratch.state(),
            Settings::default(),
        ))?;
        let pairs = duplicate_pairs(&scratch.state())?;
        runtime.block_on(project.drain(support::SETTLE_LIMIT));
        let found = pairs.iter().filter(|(a, b)| a == b).count();
        let elsewhere = pairs.len() - found;
        println!(
            "  {name:<42} {:<9} told by its original {found:>4} of {}, by another {elsewhere}",
            if *is_same { "same" } else { "different" },
            paragraphs.len()
        );
        if *is_same {
            hits += found;
            misses += paragraphs.len() - found;
            wrong += elsewhere;
        } else {
            wrong += pairs.len();
        }
    }
    let rate = |n: usize, of: usize| n as f64 / of.max(1) as f64;
    println!(
        "  recall {:.3}, precision {:.3}",
        rate(hits, hits + misses),
        rate(hits, hits + wrong)
    );
    Ok(())
}

/// Returns the names of files in `a/` and `b/` of which the second repeats a passage of the first.
fn duplicate_pairs(state: &Path) -> Result<Vec<(String, String)>> {
    let db =
        Connection::open_with_flags(state.join("index.sqlite"), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = db.prepare(
        "SELECT DISTINCT substr(one.path, 3), substr(two.path, 3)
         FROM chunks c JOIN chunks f ON f.id = c.same_as
         JOIN docs one ON one.id = f.doc_id JOIN docs two ON two.id = c.doc_id
         WHERE c.same_as <> c.id AND one.path LIKE 'a/%' AND two.path LIKE 'b/%'",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::create_dir_all(path.parent().context("a folder")?)?;
    Ok(std::fs::write(path, text)?)
}

/// Fills a folder of notes.
type Fill<'a> = Box<dyn Fn(&Path) -> Result<()> + 'a>;

fn costs(data: &Path, notes: usize) -> Result<()> {
    let page: String = paragraphs(data, 2_000)?.join("\n\n");
    let page = page.repeat(1_000_000 / page.len().max(1) + 1);
    let page: String = page.chars().take(1_000_000).collect();
    let copied = data.to_path_buf();
    let cases: Vec<(String, Fill<'_>)> = vec![
        ("note sets".into(), Box::new(move |root| notes_of(&copied, root))),
        (
            format!("{notes} notes, each second a near copy"),
            Box::new(move |root| near_copies(root, notes)),
        ),
        (
            "a page of 1 MB, twice".into(),
            Box::new(move |root| {
                write(&root.join("page.md"), &page)?;
                write(&root.join("copies/page.md"), &page)
            }),
        ),
        (
            "50,000 equal paragraphs".into(),
            Box::new(|root| write(&root.join("many.md"), &format!("{SHORT}\n\n").repeat(50_000))),
        ),
    ];
    for (what, fill) in cases {
        for enabled in [false, true] {
            let (mut cpu, mut peak, mut wall, mut size) = (vec![], vec![], vec![], vec![]);
            for _ in 0..RUNS {
                let scratch = Scratch::new()?;
                fill(&scratch.notes())?;
                let report = spawn(&scratch, enabled)?;
                let number = |key: &str| report[key].as_f64().with_context(|| format!("no {key}"));
                cpu.push(number("cpu_seconds")?);
                wall.push(number("wall_seconds")?);
                peak.push(number("peak_mib")?);
                size.push(
                    std::fs::metadata(scratch.state().join("index.sqlite"))?.len() as f64 / 1e6,
                );
            }
            println!(
                "{what}, dedup {}: {:.2} CPU s, {:.2} s, peak {:.1} MiB, index {:.1} MB",
                if enabled { "on " } else { "off" },
                median(&cpu),
                median(&wall),
                median(&peak),
                median(&size)
            );
        }
    }
    Ok(())
}

/// Twelve words in few bytes, so that 50,000 copies fit in a file.
const SHORT: &str = "a b c d e f g h i j k l";

fn near_copies(root: &Path, n: usize) -> Result<()> {
    let towns = ["harbor", "valley", "island", "market", "bridge", "forest", "castle", "meadow"];
    let mut dice = Dice(3);
    let mut words: Vec<String> = Vec::new();
    for i in 0..n {
        if i % 2 == 0 {
            let word =
                |dice: &mut Dice| format!("{}{}", towns[dice.throw(towns.len())], dice.throw(500));
            words = (0..120).map(|_| word(&mut dice)).collect();
        }
        let text = format!("# Note\n\n{} and note{i}\n", words.join(" "));
        write(&root.join(format!("{}/{i}.md", i / 200)), &text)?;
    }
    Ok(())
}

fn notes_of(data: &Path, root: &Path) -> Result<()> {
    let scratch = Scratch::with_notes(data)?;
    for (path, _) in support::files_below(&scratch.notes())? {
        let to = root.join(path.strip_prefix(scratch.notes())?);
        std::fs::create_dir_all(to.parent().context("a folder")?)?;
        std::fs::copy(&path, to)?;
    }
    Ok(())
}

fn spawn(scratch: &Scratch, enabled: bool) -> Result<Value> {
    let (root, state): (PathBuf, PathBuf) = (scratch.notes(), scratch.state());
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.arg("--child").arg(root).arg(state).arg(enabled.to_string()).output()?;
    if !output.status.success() {
        bail!("the child failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Indexes a folder and prints the cost of this process.
fn child(root: &Path, state: &Path, enabled: bool) -> Result<()> {
    let runtime = support::runtime()?;
    let mut settings = Settings::default();
    settings.dedup.enabled = enabled;
    let started = Instant::now();
    let project = runtime.block_on(support::open_settled(root, state, settings))?;
    let wall_seconds = started.elapsed().as_secs_f64();
    let me = std::process::id();
    let report = json!({
        "cpu_seconds": support::cpu_of_process(me)?,
        "wall_seconds": wall_seconds,
        "peak_mib": support::memory_mib(me, "VmHWM")?,
    });
    println!("{report}");
    runtime.block_on(project.drain(support::SETTLE_LIMIT));
    Ok(())
}
