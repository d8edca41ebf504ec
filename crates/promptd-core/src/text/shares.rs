//! Fair shares of a total: what small ones leave is divided again among the rest.

/// What each of `needs` gets, so that none gets more than it needs or than `per_item`, and all together at most
/// `total`.
///
/// Every item gets what it needs up to an equal share; what small ones leave is divided again. Where the rest does
/// not divide evenly, the first ones get one more, so that nothing of the total is wasted.
#[must_use]
pub fn fair_shares(needs: &[usize], per_item: usize, total: usize) -> Vec<usize> {
    let shares: Vec<usize> = needs.iter().map(|&need| need.min(per_item)).collect();
    let wanted = shares.iter().fold(0_usize, |sum, &want| sum.saturating_add(want));
    if wanted <= total {
        return shares;
    }
    // From the smallest want up: a want of at most an equal part of what is left is met in full.
    let mut by_want: Vec<usize> = (0..shares.len()).collect();
    by_want.sort_by_key(|&index| shares[index]);
    let mut left = total;
    for (done, &index) in by_want.iter().enumerate() {
        let waiting = by_want.len() - done;
        let equal = left / waiting;
        if shares[index] > equal {
            let mut short = by_want[done..].to_vec();
            short.sort_unstable();
            return divide(shares, &short, left);
        }
        left -= shares[index];
    }
    shares
}

/// Gives each of `short` an equal part of `left`, and one more to the first ones.
///
/// One more never exceeds a want: each of them wants more than the equal part.
fn divide(mut shares: Vec<usize>, short: &[usize], left: usize) -> Vec<usize> {
    let (equal, extra) = (left / short.len(), left % short.len());
    for (place, &index) in short.iter().enumerate() {
        shares[index] = equal + usize::from(place < extra);
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn divides_what_small_ones_leave() {
        for (needs, per_item, total, shares) in [
            (&[8_000, 8_000, 500][..], 8_000, 12_000, &[5_750, 5_750, 500][..]),
            (&[9_000, 9_000, 9_000], 4_000, 12_000, &[4_000, 4_000, 4_000]),
            (&[10, 10, 10], 10, 11, &[4, 4, 3]),
            (&[1, 10, 10], 10, 12, &[1, 6, 5]),
            (&[10, 1, 10], 10, 12, &[6, 1, 5]),
            (&[5, 5], 0, 10, &[0, 0]),
            (&[5, 5], 10, 0, &[0, 0]),
            (&[5, 5], 10, 1, &[1, 0]),
            (&[0, 0], 10, 1, &[0, 0]),
            (&[], 10, 10, &[]),
            (&[usize::MAX, usize::MAX], usize::MAX, 10, &[5, 5]),
        ] {
            assert_eq!(fair_shares(needs, per_item, total), shares, "{needs:?} in {total}");
        }
    }

    proptest! {
        #[test]
        fn fair_whole_and_within_the_total(
            needs in prop::collection::vec(0_usize..100, 0..8), per_item in 0_usize..120, total in 0_usize..500,
        ) {
            let shares = fair_shares(&needs, per_item, total);
            let wants: Vec<usize> = needs.iter().map(|&need| need.min(per_item)).collect();
            let given: usize = shares.iter().sum();
            prop_assert_eq!(given, total.min(wants.iter().sum()));
            for (share, want) in shares.iter().zip(&wants) {
                prop_assert!(share <= want);
                // Whoever is short of its want gets no less than any other, but for the odd one left over.
                prop_assert!(share == want || shares.iter().all(|other| *other <= share + 1));
            }
        }
    }
}
