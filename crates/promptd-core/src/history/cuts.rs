//! Where segments begin and end.

use std::ops::Range;

use super::Thresholds;

/// Why a segment ends where it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The topic shifts.
    Topic,
    /// It would have more tokens than it should.
    Size,
    /// Nothing more was planned with it: the chunk ends, or a segment follows that there was already.
    End,
}

/// What is cut: for each message of a chunk, its tokens, its distance from what is before it, and whether a segment may
/// begin with it.
pub(super) struct Chunk<'c> {
    pub(super) tokens: &'c [u64],
    pub(super) distances: &'c [f32],
    pub(super) may_begin: &'c [bool],
}

impl Chunk<'_> {
    /// The segments, in order; together they are the chunk.
    pub(super) fn cut(&self, thresholds: &Thresholds) -> Vec<(Range<usize>, Cut)> {
        let mut segments = Vec::new();
        let (mut start, mut used) = (0, 0_u64);
        for (at, &tokens) in self.tokens.iter().enumerate() {
            if at > start && self.may_begin[at] && self.distances[at] > thresholds.topic_distance {
                segments.push((start..at, Cut::Topic));
                (start, used) = (at, 0);
            }
            while used.saturating_add(tokens) > thresholds.target_tokens && at > start + 1 {
                let Some(place) = self.farthest(start + 1..at + 1) else { break };
                segments.push((start..place, Cut::Size));
                start = place;
                if !thresholds.recount_carried {
                    used = 0;
                    break;
                }
                used = self.tokens[start..at].iter().sum();
            }
            used = used.saturating_add(tokens);
        }
        if start < self.tokens.len() {
            segments.push((start..self.tokens.len(), Cut::End));
        }
        segments
    }

    /// The first place of those that is farthest from what is before it; where all are alike, the last. `None`: no segment
    /// may begin there.
    fn farthest(&self, places: Range<usize>) -> Option<usize> {
        let mut found: Option<usize> = None;
        for place in places.filter(|&place| self.may_begin[place]) {
            let best = found.map_or(-1.0, |found| self.distances[found]);
            if self.distances[place] > best || best == 0.0 {
                found = Some(place);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(tokens: &[u64], distances: &[f32], thresholds: &Thresholds) -> Vec<(Range<usize>, Cut)> {
        let may_begin = vec![true; tokens.len()];
        Chunk { tokens, distances, may_begin: &may_begin }.cut(thresholds)
    }

    #[test]
    fn a_topic_ends_above_the_threshold_and_not_at_it() {
        let tokens = [10; 4];
        let kern = Thresholds::default();
        assert_eq!(cut(&tokens, &[0.0, 0.8, 0.81, 0.1], &kern), [(0..2, Cut::Topic), (2..4, Cut::End)]);
        assert_eq!(
            cut(&tokens, &[9.0, 0.8, 0.8, 0.8], &kern),
            [(0..4, Cut::End)],
            "a first message has nothing before it"
        );
    }

    #[test]
    fn a_large_segment_ends_at_its_farthest_place_the_first_of_equal_ones() {
        let tokens = [5_000; 5];
        let kern = Thresholds::default();
        let distances = [0.0, 0.3, 0.5, 0.5, 0.1];
        // 0, 1, 2 are full; the 2nd message goes on into the next segment without being counted there.
        assert_eq!(cut(&tokens, &distances, &kern), [(0..2, Cut::Size), (2..5, Cut::End)]);
        assert_eq!(cut(&tokens, &[0.0; 5], &kern), [(0..3, Cut::Size), (3..5, Cut::End)], "no place differs");
    }

    #[test]
    fn carried_messages_count_where_that_is_asked_for() {
        let tokens = [5_000; 8];
        let mut distances = [0.1; 8];
        distances[1] = 0.6;
        let kern = Thresholds::default();
        // Cut at 1 when 3 comes: 1 and 2 are not counted, so that five more messages fit.
        assert_eq!(cut(&tokens, &distances, &kern)[..2], [(0..1, Cut::Size), (1..2, Cut::Size)]);
        let counted = Thresholds { recount_carried: true, ..kern };
        for (segment, _) in cut(&tokens, &distances, &counted) {
            assert!(tokens[segment.clone()].iter().sum::<u64>() <= counted.target_tokens, "{segment:?}");
        }
    }

    #[test]
    fn one_message_beyond_the_target_is_not_divided() {
        let kern = Thresholds::default();
        assert_eq!(cut(&[90_000], &[0.0], &kern), [(0..1, Cut::End)]);
        assert_eq!(cut(&[u64::MAX, u64::MAX, 1], &[0.0; 3], &kern), [(0..2, Cut::Size), (2..3, Cut::End)]);
    }

    #[test]
    fn segments_begin_only_where_they_may() {
        let tokens = [9_000; 6];
        let distances = [0.0, 0.9, 0.1, 0.2, 0.9, 0.3];
        let chunk =
            Chunk { tokens: &tokens, distances: &distances, may_begin: &[true, false, true, true, false, false] };
        let kern = Thresholds::default();
        assert_eq!(chunk.cut(&kern), [(0..2, Cut::Size), (2..3, Cut::Size), (3..6, Cut::End)]);
    }
}
