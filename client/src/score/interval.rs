//! Interval: how far a score may be from that on other documents of the same kind.
//!
//! In: the counts of each document, or the score of each question. Out: the middle 95 % of the scores of sets that are
//! drawn from them with replacement (percentile bootstrap, Efron 1979).
//! Invariants: the same input gives the same interval: the generator has a fixed seed.

use super::{Counts, rounded};

/// Number of sets drawn.
const DRAWS: usize = 2_000;

/// Lowest and highest score of the middle 95 %.
pub type Interval = [f64; 2];

/// Returns the interval of F1, over documents.
pub fn of_f1(documents: &[Counts]) -> Interval {
    let f1 = |drawn: &mut dyn Iterator<Item = usize>| {
        drawn.fold(Counts::default(), |sum, at| sum.plus(documents[at])).f1()
    };
    interval(documents.len(), f1)
}

/// Returns the interval of a mean, over questions.
pub fn of_mean(scores: &[f64]) -> Interval {
    let mean = |drawn: &mut dyn Iterator<Item = usize>| {
        drawn.map(|at| scores[at]).sum::<f64>() / scores.len() as f64
    };
    interval(scores.len(), mean)
}

/// Returns the interval of a score of `n` documents, given how often each was drawn.
pub fn of_draws(n: usize, score: impl Fn(&[u64]) -> f64) -> Interval {
    interval(n, |drawn| {
        let mut times = vec![0; n];
        drawn.for_each(|at| times[at] += 1);
        score(&times)
    })
}

fn interval(n: usize, score: impl Fn(&mut dyn Iterator<Item = usize>) -> f64) -> Interval {
    if n == 0 {
        // Without documents, any score is possible.
        return [0.0, 1.0];
    }
    // Any fixed seed other than 0, at which the generator would stay.
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut scores: Vec<f64> =
        (0..DRAWS).map(|_| score(&mut (0..n).map(|_| random.below(n)))).collect();
    scores.sort_by(f64::total_cmp);
    // 2.5 % of the draws lie below the lower end and above the upper one.
    [DRAWS / 40, DRAWS - 1 - DRAWS / 40].map(|at| rounded(scores[at]))
}

/// `xorshift64*` (Vigna 2016): good enough for drawing, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        // The high half of the product: its bits are better than the low ones. The second shift scales it to `0..n`
        // without a division.
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * n as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_score_and_narrows_with_more_documents() {
        let counts = |n: usize| -> Vec<Counts> {
            (0..n)
                .map(|i| Counts { right: 8 + i as u64 % 5, wrong: 2, missed: i as u64 % 4 })
                .collect()
        };
        let width = |[low, high]: Interval| high - low;
        let f1 = counts(20).into_iter().fold(Counts::default(), Counts::plus).f1();
        let [low, high] = of_f1(&counts(20));
        assert!(low < f1 && f1 < high, "{low} {f1} {high}");
        assert!(width(of_f1(&counts(200))) < (high - low) / 2.0);
        assert_eq!(of_f1(&counts(20)), [low, high]);
        assert_eq!(of_mean(&[0.5; 9]), [0.5, 0.5]);
        assert_eq!(of_mean(&[]), [0.0, 1.0]);
    }
}
