//! Confidence: a degree of certainty in [0, 1].

/// A number in [0, 1]; anything outside is clamped, NaN becomes 0.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Confidence(f32);

impl Confidence {
    /// The confidence of an author's statement.
    pub const STATED: Confidence = Confidence(1.0);

    /// Clamps `value` into [0, 1].
    pub fn new(value: f32) -> Self {
        Confidence(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) })
    }

    /// Returns the number.
    pub fn get(self) -> f32 {
        self.0
    }

    /// Returns the confidence that both hold: the product.
    pub fn and(self, other: Confidence) -> Confidence {
        Confidence::new(self.0 * other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Confidence;

    #[test]
    fn values_outside_are_clamped() {
        assert_eq!(Confidence::new(1.7).get(), 1.0);
        assert_eq!(Confidence::new(-1.0).get(), 0.0);
        assert_eq!(Confidence::new(f32::NAN).get(), 0.0);
    }
}
