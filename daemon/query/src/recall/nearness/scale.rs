//! Scale: maps a cosine of one vector space to another.
//!
//! In: windows whose cosines are known in both. Out: for a static cosine, the better cosine of
//! equal rank.
//! Invariants: the mapping is monotonic; beyond the known pairs it continues the line through the
//! first and last pair, within the bounds of a cosine.

/// Least number of pairs for which ranks are trusted; with fewer, only the ratio of the means is
/// used.
const ENOUGH: usize = 8;

/// The mapping from one space to the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    /// Each sorted ascending by itself; of equal length.
    from: Vec<f32>,
    to: Vec<f32>,
}

impl Scale {
    /// Builds the mapping from pairs of a static and a better cosine; `None` without pairs.
    pub(super) fn of(pairs: Vec<(f32, f32)>) -> Option<Self> {
        let (mut from, mut to): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
        if from.is_empty() {
            return None;
        }
        if from.len() < ENOUGH {
            let mean = |values: &[f32]| values.iter().sum::<f32>() / values.len() as f32;
            let (from, to) = (mean(&from), mean(&to));
            return Some(Scale { from: vec![0.0, from.max(0.01)], to: vec![0.0, to.max(0.0)] });
        }
        from.sort_by(f32::total_cmp);
        to.sort_by(f32::total_cmp);
        Some(Scale { from, to })
    }

    /// Returns the better cosine that corresponds to a static one.
    pub(super) fn place(&self, plain: f32) -> f32 {
        let above = self.from.partition_point(|known| *known < plain);
        let last = self.from.len().saturating_sub(1);
        let (low, high) = match above {
            // Outside the range of the pairs.
            0 => (0, last),
            above if above > last => (0, last),
            above => (above - 1, above),
        };
        let at = |values: &[f32], i: usize| values.get(i).copied().unwrap_or_default();
        let (x0, x1) = (at(&self.from, low), at(&self.from, high));
        let (y0, y1) = (at(&self.to, low), at(&self.to, high));
        let slope = if x1 > x0 { (y1 - y0) / (x1 - x0) } else { 0.0 };
        let base = if above > last { (x1, y1) } else { (x0, y0) };
        (base.1 + slope * (plain - base.0)).clamp(-1.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_are_kept_and_ends_go_on() {
        let pairs = (0..=10).map(|i| (i as f32 / 10.0, 0.5 + i as f32 / 50.0)).collect();
        let scale = Scale::of(pairs).expect("enough");
        for (plain, better) in [(0.0, 0.5), (0.55, 0.61), (1.0, 0.7), (-0.5, 0.4)] {
            assert!((scale.place(plain) - better).abs() < 1e-5, "{plain}: {}", scale.place(plain));
        }
        assert_eq!(Scale::of(Vec::new()), None);
        let few = Scale::of(vec![(0.4, 0.8)]).expect("a ratio");
        assert!((few.place(0.2) - 0.4).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn nearer_by_the_one_is_not_further_by_the_other(
            pairs in prop::collection::vec((-1.0f32..1.0, -1.0f32..1.0), 1..40),
            mut asked in prop::collection::vec(-1.0f32..1.0, 2..20),
        ) {
            let scale = Scale::of(pairs).expect("one at least");
            asked.sort_by(f32::total_cmp);
            let placed: Vec<f32> = asked.iter().map(|plain| scale.place(*plain)).collect();
            prop_assert!(placed.iter().all(|it| (-1.0..=1.0).contains(it)));
            prop_assert!(placed.windows(2).all(|two| two[0] <= two[1] + 1e-4), "{placed:?}");
        }
    }
}
