//! Fair shares of a total: what small ones leave is divided again among the rest.

/// One that wants a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Want {
    /// How much it needs: it never gets more.
    pub need: usize,
    /// How much it gets before any other gets more than its own floor; no more than it needs.
    pub floor: usize,
    /// Those of a higher priority get what they need before the others.
    pub priority: u32,
}

/// What each of `wants` gets, all together at most `total`.
///
/// First every one gets its floor. Then, from the highest priority down, those of one priority share what is left for them:
/// each gets what it needs up to an equal share; what small ones leave is divided again. Where it does not divide evenly, the
/// first ones get one more, so that nothing of the total is wasted. Floors that exceed the total are met from the highest
/// priority down.
#[must_use]
pub fn shares(wants: &[Want], total: usize) -> Vec<usize> {
    let mut shares = vec![0; wants.len()];
    let mut priorities: Vec<u32> = wants.iter().map(|want| want.priority).collect();
    priorities.sort_unstable();
    priorities.dedup();
    let floor = |want: &Want| want.floor.min(want.need);
    let mut left = total;
    for priority in priorities.into_iter().rev() {
        let below = wants.iter().filter(|want| want.priority < priority).map(floor);
        let own = wants.iter().filter(|want| want.priority == priority).map(floor);
        let own = own.fold(0_usize, usize::saturating_add).min(left);
        let mut room = left.saturating_sub(below.fold(0_usize, usize::saturating_add)).max(own);
        let mut open: Vec<usize> = (0..wants.len()).filter(|&index| wants[index].priority == priority).collect();
        // Where an equal share is less than a floor, that one gets its floor, and the others share what is then left.
        loop {
            let needs: Vec<usize> = open.iter().map(|&index| wants[index].need).collect();
            let equal = fair_shares(&needs, room);
            open.iter().zip(equal).for_each(|(&index, share)| shares[index] = share);
            let (short, rest): (Vec<_>, Vec<_>) = open.iter().partition(|&&index| shares[index] < floor(&wants[index]));
            if short.is_empty() || rest.is_empty() {
                break;
            }
            for index in short {
                shares[index] = floor(&wants[index]).min(room);
                room -= shares[index];
            }
            open = rest;
        }
        left -= wants
            .iter()
            .zip(&shares)
            .filter(|(want, _)| want.priority == priority)
            .map(|(_, share)| share)
            .sum::<usize>();
    }
    shares
}

/// What each of `needs` gets, so that none gets more than it needs, and all together at most `total`.
fn fair_shares(needs: &[usize], total: usize) -> Vec<usize> {
    let shares = needs.to_vec();
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
        for (needs, total, shares) in [
            (&[8_000, 8_000, 500][..], 12_000, &[5_750, 5_750, 500][..]),
            (&[4_000, 4_000, 4_000], 12_000, &[4_000, 4_000, 4_000]),
            (&[10, 10, 10], 11, &[4, 4, 3]),
            (&[1, 10, 10], 12, &[1, 6, 5]),
            (&[10, 1, 10], 12, &[6, 1, 5]),
            (&[5, 5], 0, &[0, 0]),
            (&[5, 5], 1, &[1, 0]),
            (&[0, 0], 1, &[0, 0]),
            (&[], 10, &[]),
            (&[usize::MAX, usize::MAX], 10, &[5, 5]),
        ] {
            assert_eq!(fair_shares(needs, total), shares, "{needs:?} in {total}");
        }
    }

    #[test]
    fn floors_come_first_then_priorities() {
        for (why, wants, total, expected) in [
            ("all fit", &[(5, 0, 1), (5, 0, 0)][..], 10, &[5, 5][..]),
            ("the higher priority first", &[(8, 0, 0), (8, 0, 1)], 10, &[2, 8]),
            ("a floor below an equal share changes nothing", &[(8, 3, 0), (8, 0, 0)], 10, &[5, 5]),
            ("a floor above it is met", &[(8, 7, 0), (8, 0, 0)], 10, &[7, 3]),
            ("before a higher priority", &[(8, 4, 0), (8, 0, 1)], 10, &[4, 6]),
            ("but no more than is needed", &[(2, 9, 0), (9, 0, 1)], 10, &[2, 8]),
            (
                "a floor lowers what others share",
                &[(90, 60, 0), (90, 0, 0), (15, 0, 0), (90, 12, 0)],
                100,
                &[60, 14, 13, 13],
            ),
            ("floors that exceed the total", &[(9, 9, 0), (9, 9, 1)], 10, &[1, 9]),
            ("equal ones share it", &[(9, 9, 0), (9, 9, 0)], 10, &[5, 5]),
            ("none is left", &[(9, 0, 0), (9, 0, 2), (9, 0, 1)], 10, &[0, 9, 1]),
        ] {
            let wants: Vec<Want> =
                wants.iter().map(|&(need, floor, priority)| Want { need, floor, priority }).collect();
            assert_eq!(shares(&wants, total), expected, "{why}");
        }
    }

    proptest! {
        #[test]
        fn fair_whole_and_within_the_total(
            wants in prop::collection::vec((0_usize..100, 0_usize..60, 0_u32..3), 0..8), total in 0_usize..500,
        ) {
            let wants: Vec<Want> = wants.into_iter().map(|(need, floor, priority)| Want { need, floor, priority }).collect();
            let given = shares(&wants, total);
            prop_assert_eq!(given.iter().sum::<usize>(), total.min(wants.iter().map(|want| want.need).sum()));
            let floors: usize = wants.iter().map(|want| want.floor.min(want.need)).sum();
            for (share, want) in given.iter().zip(&wants) {
                prop_assert!(*share <= want.need);
                prop_assert!(floors > total || *share >= want.floor.min(want.need));
                // What is short of its need gets no less than any other of its priority, except for a floor or the odd one
                // left over; and nothing of a lower priority gets more than its floor.
                for (other, wants_less) in given.iter().zip(&wants).filter(|_| share < &want.need && floors <= total) {
                    let floor = wants_less.floor.min(wants_less.need);
                    let is_fair = wants_less.priority > want.priority || *other <= floor
                        || wants_less.priority == want.priority && *other <= share + 1;
                    prop_assert!(is_fair, "{:?} of {:?}", given, wants);
                }
            }
        }
    }
}
