//! Passages of 256 tokens a second, one thread: rust-bert, rten on float32, rten on int8, in turns in one run.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use support::minilm::load;

/// Passages a turn.
const N_PASSAGES: u32 = 8;
const N_TURNS: usize = 6;

fn main() {
    let models = load();
    // 254 one-piece words and two special tokens.
    let passage = |i: u32| {
        let words = ["river", "stone", "house", "green", "music", "paper", "night"];
        (0..254).map(|at| words[((at * (i + 3)) % 7) as usize]).collect::<Vec<_>>().join(" ")
    };
    let passages: Vec<String> = (0..N_PASSAGES).map(passage).collect();
    let runs: [(&str, &dyn Fn(&str) -> usize); 3] = [
        ("rust-bert 0.23, libtorch 2.4.0, float32", &|text| {
            models.torch.floats(text).expect("a vector").len()
        }),
        ("rten 0.27, float32", &|text| models.rten.embed(text).expect("a vector").len()),
        ("rten 0.27, int8", &|text| models.int8.embed(text).expect("a vector").len()),
    ];
    let mut best = [Duration::MAX; 3];
    for _ in 0..N_TURNS {
        for ((_, run), best) in runs.iter().zip(&mut best) {
            let start = Instant::now();
            assert!(passages.iter().all(|text| run(text) == 384));
            *best = start.elapsed().min(*best);
        }
    }
    for ((name, _), best) in runs.iter().zip(best) {
        println!(
            "{name}: {:.1} passages/s (best of {N_TURNS} turns)",
            f64::from(N_PASSAGES) / best.as_secs_f64()
        );
    }
}
