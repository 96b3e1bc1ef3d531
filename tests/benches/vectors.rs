//! Vectors: cost and recall of the scan in memory, for each value of `vectors.precision`, against
//! sqlite-vec's own scan and the exact floats.
//!
//! `cargo bench -p tests --bench vectors -- DATA_DIR [N...] [--model FOLDER] [--cache DIR]`
//! N chunks (10,000, 100,000 and 1,000,000 by default) are made by `support/shuffled.rs`: each
//! document has many near copies, which is where rounding shows most. Vectors are the built-in
//! model's, or those of an ONNX model in a folder (some chunks per second, so only for a small N;
//! `--cache` keeps them for the next run). Times are wall clock on one thread, and include other
//! work on the machine.

#![allow(clippy::print_stdout, reason = "a bench prints its table")]

mod support;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use embed::{StaticModel, WordPiece, unit_vector};
use index::vectors::{Apart, Form, Nearest, View, load, nearest_in_table};
use model::document::UnitVector;
use model::terms::Tick;
use rusqlite::{Connection, params};
use support::shuffled::Texts;

/// Questions that sqlite-vec is asked, because it is slow.
const N_SLOW: usize = 30;

/// Cutoff of recall.
const K: usize = 40;

/// Windows requested, as by a question with the default settings.
const WANTED: usize = 120;

/// Cosines this close are equal: floats are added in a different order.
const EQUAL: f32 = 1e-6;

fn main() -> Result<()> {
    let mut arguments = support::arguments();
    let model = support::option(&mut arguments, "--model");
    let cache = support::option(&mut arguments, "--cache").map(PathBuf::from);
    let mut arguments = arguments.into_iter();
    let data = arguments.next().context(
        "which data? hint: cargo bench -p tests --bench vectors -- DATA_DIR [N...] [--model FOLDER]",
    )?;
    let sizes: Vec<usize> = arguments.map(|n| n.parse()).collect::<Result<_, _>>()?;
    let sizes = if sizes.is_empty() { vec![10_000, 100_000, 1_000_000] } else { sizes };
    let texts = Texts::read(Path::new(&data))?;
    let space = match &model {
        Some(folder) => Space::Onnx(Box::new(onnx::SentenceModel::load(Path::new(folder))?)),
        None => Space::Static(Box::new(StaticModel::builtin(WordPiece::builtin()))),
    };
    for n in sizes {
        measure(&texts, &space, cache.as_deref(), n)?;
    }
    Ok(())
}

/// Returns the vectors of chunks, from the cache if it has them.
fn exact(texts: &Texts, space: &Space, cache: Option<&Path>, n: usize) -> Result<Vec<Vec<f32>>> {
    let name = if let Space::Onnx(_) = space { "onnx" } else { "static" };
    let Some(path) = cache.map(|it| it.join(format!("{name}-{n}.f32"))) else {
        return space.chunks(texts, n);
    };
    if !path.exists() {
        let made = space.chunks(texts, n)?;
        let bytes: Vec<u8> = made.iter().flatten().flat_map(|it| it.to_le_bytes()).collect();
        std::fs::write(&path, bytes)?;
    }
    let bytes = std::fs::read(&path)?;
    let numbers: Vec<f32> =
        bytes.as_chunks::<4>().0.iter().map(|it| f32::from_le_bytes(*it)).collect();
    Ok(numbers.chunks(numbers.len() / n).map(<[f32]>::to_vec).collect())
}

enum Space {
    Static(Box<StaticModel>),
    Onnx(Box<onnx::SentenceModel>),
}

impl Space {
    fn floats(&self, text: &str) -> Result<Vec<f32>> {
        Ok(match self {
            Space::Static(model) => model.unrounded(text),
            Space::Onnx(model) => model.embed(text)?,
        })
    }

    /// Returns the vectors of chunks, of length 1. The static model's are sums, so those of
    /// sentences can be added.
    fn chunks(&self, texts: &Texts, n: usize) -> Result<Vec<Vec<f32>>> {
        let mut known = std::collections::HashMap::new();
        let mut out = Vec::with_capacity(n);
        for sentences in texts.chunks(n) {
            let mut sum = vec![];
            if let Space::Static(model) = self {
                for sentence in sentences {
                    let add = known.entry(sentence).or_insert_with(|| model.unrounded(sentence));
                    sum.resize(add.len(), 0.0);
                    sum.iter_mut().zip(add).for_each(|(sum, add)| *sum += *add);
                }
            } else {
                sum = self.floats(&sentences.concat())?;
            }
            out.push(of_length_one(sum));
        }
        Ok(out)
    }
}

fn of_length_one(mut vector: Vec<f32>) -> Vec<f32> {
    let length = dot(&vector, &vector).sqrt();
    vector.iter_mut().for_each(|x| *x /= length.max(f32::MIN_POSITIVE));
    vector
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
    }
    lanes.iter().sum()
}

fn measure(texts: &Texts, space: &Space, cache: Option<&Path>, n: usize) -> Result<()> {
    let started = Instant::now();
    let exact = exact(texts, space, cache, n)?;
    println!("\n{n} chunks, made or read in {:.1} s", started.elapsed().as_secs_f64());
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("index.sqlite");
    let started = Instant::now();
    write(&path, &exact)?;
    let mib = std::fs::metadata(&path)?.len() as f64 / f64::from(1 << 20);
    println!("  int8 written in {:.2} s, {mib:.1} MiB on disk", started.elapsed().as_secs_f64());
    let db = index::store::open_for_reading(&path)?;
    let floats = |text: &String| Ok(of_length_one(space.floats(text)?));
    let questions: Vec<Vec<f32>> = texts.questions.iter().map(floats).collect::<Result<_>>()?;
    let rounded: Vec<UnitVector> = questions.iter().map(|it| unit_vector(it)).collect();
    let unrounded: Vec<UnitVector> = questions.iter().map(|it| kept(it)).collect();
    let apart = Apart::within(folder.path())?;
    let forms = [
        ("int8", Form::Int8, &rounded),
        ("bit", Form::Bit(apart), &rounded),
        ("float32", Form::Float32, &unrounded),
    ];
    for (name, form, asked) in forms {
        println!("  {name}");
        let view = copied(&db, form, &exact)?;
        let in_memory = |question: &UnitVector| {
            view.nearest(&question.0, Tick(1), WANTED, None);
            Ok(())
        };
        timed(&in_memory, asked.get(..N_SLOW).unwrap_or(asked))?;
        println!("    in memory, ms          {}", support::spread(&timed(&in_memory, asked)?));
        recall(&view, &exact, &questions, asked);
    }
    slow_times(&db, rounded.get(..N_SLOW).unwrap_or(&rounded))
}

/// Loads the vectors into memory.
fn copied(db: &Connection, form: Form, exact: &[Vec<f32>]) -> Result<View> {
    let before = support::memory_mib(std::process::id(), "VmRSS")?;
    let started = Instant::now();
    let view = match form {
        Form::Float32 => {
            // One block at a time, as from a file.
            let all = exact.iter().map(|it| bytes(&kept(it))).zip(1i64..);
            let all: Vec<(i64, Vec<u8>)> = all.map(|(row, id)| (id, row)).collect();
            View::of_rows(form, Tick(1), all.iter().map(|(id, row)| (*id, row.as_slice())))
        }
        form => load(db, Tick(1), form, || false)?.context("not called off")?,
    };
    let took = started.elapsed().as_secs_f64();
    let after = support::memory_mib(std::process::id(), "VmRSS")?;
    println!(
        "    copied into memory in {took:.3} s: {:.1} MiB more resident, {:.1} bytes a row",
        after - before,
        view.n_bytes() as f64 / exact.len() as f64
    );
    Ok(view)
}

/// Returns a vector of floats as its space stores it.
fn kept(vector: &[f32]) -> UnitVector {
    let bytes = vector.iter().flat_map(|number| number.to_le_bytes());
    UnitVector(bytes.map(u8::cast_signed).collect())
}

/// Writes the vectors, ids from 1 on, in order: as the index stores them, and into a table of sqlite-vec.
fn write(path: &Path, exact: &[Vec<f32>]) -> Result<()> {
    sys::register_sqlite_vec();
    let mut db = Connection::open(path)?;
    let width = exact.first().map_or(0, Vec::len);
    db.execute_batch(&format!(
        "CREATE TABLE windows(id INTEGER PRIMARY KEY, is_aside INTEGER NOT NULL, vector BLOB);
         CREATE VIRTUAL TABLE vec USING vec0(embedding int8[{width}] distance_metric=L2)"
    ))?;
    for (what, sql) in [
        ("in its window's row", "INSERT INTO windows VALUES(?1, 0, ?2)"),
        ("in `vec0`", "INSERT INTO vec(rowid, embedding) VALUES(?1, vec_int8(?2))"),
    ] {
        let before = support::cpu_of_process(std::process::id())?;
        let tx = db.transaction()?;
        let mut insert = tx.prepare(sql)?;
        for (row, vector) in exact.iter().enumerate() {
            insert.execute(params![row as i64 + 1, bytes(&unit_vector(vector))])?;
        }
        drop(insert);
        tx.commit()?;
        let took = support::cpu_of_process(std::process::id())? - before;
        println!("  written {what}: {:.1} CPU µs a vector", took * 1e6 / exact.len() as f64);
    }
    Ok(())
}

fn bytes(vector: &UnitVector) -> Vec<u8> {
    vector.0.iter().map(|component| component.cast_unsigned()).collect()
}

fn timed(work: &dyn Fn(&UnitVector) -> Result<()>, questions: &[UnitVector]) -> Result<Vec<f64>> {
    let one = |question: &UnitVector| -> Result<f64> {
        let started = Instant::now();
        work(question)?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    };
    questions.iter().map(one).collect()
}

/// Measures searches without a copy in memory.
fn slow_times(db: &Connection, few: &[UnitVector]) -> Result<()> {
    let in_rows = |question: &UnitVector| {
        nearest_in_table(db, &question.0, WANTED, None)?;
        Ok(())
    };
    println!("  from the table, ms       {}", support::spread(&timed(&in_rows, few)?));
    let sql =
        "SELECT rowid FROM vec WHERE embedding MATCH vec_int8(?1) AND k = ?2 ORDER BY distance";
    let by_sqlite_vec = |question: &UnitVector| {
        let mut statement = db.prepare_cached(sql)?;
        let rows =
            statement.query_map(params![bytes(question), WANTED as i64], |row| row.get(0))?;
        let _: Vec<i64> = rows.collect::<Result<_, _>>()?;
        Ok(())
    };
    println!("  sqlite-vec's scan, ms    {}", support::spread(&timed(&by_sqlite_vec, few)?));
    Ok(())
}

/// Prints the share of the exact nearest that are among the first found; any of several equally
/// near ones counts.
fn recall(view: &View, exact: &[Vec<f32>], questions: &[Vec<f32>], rounded: &[UnitVector]) {
    let mut shares = Vec::new();
    for (question, rounded) in questions.iter().zip(rounded) {
        let mut cosines: Vec<f32> = exact.iter().map(|chunk| dot(chunk, question)).collect();
        let found = view.nearest(&rounded.0, Tick(1), WANTED, None);
        let found: Vec<f32> =
            found.iter().take(K).map(|Nearest { id, .. }| cosines[*id as usize - 1]).collect();
        let (_, last, _) = cosines.select_nth_unstable_by(K - 1, |a, b| b.total_cmp(a));
        let n = found.iter().filter(|cosine| **cosine >= *last - EQUAL).count();
        shares.push(n as f64 / K as f64);
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!(
        "    recall@{K} against exact floats: {mean:.4} over {} questions, worst .05 of them {:.3}",
        shares.len(),
        support::percentile(&shares, 0.05)
    );
}
