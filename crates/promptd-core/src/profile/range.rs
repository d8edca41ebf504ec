//! The range of a number: an input out of it is refused, so that a limit cannot switch itself off.

use std::fmt;

/// The least and the greatest number that a value may be, both inclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Range {
    /// Absent: no lower bound.
    pub min: Option<f64>,
    /// Absent: no upper bound.
    pub max: Option<f64>,
}

impl Range {
    /// What a limit or a window may be.
    pub const NOT_NEGATIVE: Self = Self { min: Some(0.0), max: None };
    /// What a part of a whole may be.
    pub const SHARE: Self = Self { min: Some(0.0), max: Some(1.0) };

    /// Whether no number is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        matches!((self.min, self.max), (Some(min), Some(max)) if min > max)
    }

    /// Whether a number is in it.
    #[must_use]
    pub fn contains(self, number: f64) -> bool {
        self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max)
    }

    /// What is in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let tighter = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(pick(a, b)),
            (one, other) => one.or(other),
        };
        Self { min: tighter(self.min, other.min, f64::max), max: tighter(self.max, other.max, f64::min) }
    }
}

/// `0 or more`, `at most 9`, `from 0 to 1`; nothing where there are no bounds.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (None, None) => Ok(()),
            (Some(min), None) => write!(f, "{min} or more"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (Some(min), Some(max)) => write!(f, "from {min} to {max}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive_and_the_tighter_one_holds() {
        let range = |min, max| Range { min, max };
        for (range, text, within, without) in [
            (Range::default(), "", &[f64::MIN, 0.0, f64::MAX][..], &[][..]),
            (Range::NOT_NEGATIVE, "0 or more", &[0.0, -0.0, 1e300], &[-0.1]),
            (range(None, Some(9.0)), "at most 9", &[9.0, -1.0], &[9.5]),
            (Range::SHARE, "from 0 to 1", &[0.0, 0.75, 1.0], &[-0.1, 1.1, 75.0]),
            (Range::SHARE.and(range(Some(0.5), Some(3.0))), "from 0.5 to 1", &[0.5, 1.0], &[0.4, 2.0]),
            (Range::NOT_NEGATIVE.and(range(Some(-5.0), Some(9.0))), "from 0 to 9", &[0.0, 9.0], &[-1.0, 10.0]),
        ] {
            assert_eq!(range.to_string(), text);
            assert!(within.iter().all(|&number| range.contains(number)), "{range}: {within:?}");
            assert!(!without.iter().any(|&number| range.contains(number)), "{range}: {without:?}");
        }
        assert!(range(Some(2.0), Some(1.0)).is_empty() && !range(Some(1.0), Some(1.0)).is_empty());
    }
}
