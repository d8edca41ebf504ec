//! Which calls are recorded, where not all are.

/// A share from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(f64);

impl Share {
    /// All.
    pub const ALL: Self = Self(1.0);

    /// `None`: not from 0 to 1.
    #[must_use]
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share))
    }

    /// Whether it takes the call of this number. The numbers are mixed, so that a pattern in the calls is not a pattern in the
    /// sample; the same number is always taken or never.
    #[must_use]
    pub(crate) fn takes(self, number: u64) -> bool {
        /// One more than the largest of 53 bits, all of which a double holds.
        const RANGE: f64 = 9_007_199_254_740_992.0;
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let place = (mixed(number) >> 11) as f64 / RANGE;
        place < self.0
    }
}

/// SplitMix64.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_takes_its_share_of_every_pattern() {
        let taken = |share: f64, every: usize| {
            let share = Share::new(share).unwrap();
            (0..100_000_u64).step_by(every).filter(|number| share.takes(*number)).count()
        };
        assert_eq!((taken(0.0, 1), taken(1.0, 1)), (0, 100_000));
        for (share, every, least, most) in [(0.25, 1, 24_500, 25_500), (0.5, 2, 24_500, 25_500), (0.1, 10, 900, 1_100)]
        {
            let count = taken(share, every);
            assert!((least..=most).contains(&count), "{share} of every {every}: {count}");
        }
        assert!(Share::new(1.1).is_none() && Share::new(-0.1).is_none() && Share::new(f64::NAN).is_none());
    }
}
