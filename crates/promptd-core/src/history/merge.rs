//! Segments that are too small join one beside them.

use std::{collections::VecDeque, ops::Range};

use super::{Cut, Thresholds, vectors::distance};

/// A segment of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) messages: Range<usize>,
    pub(super) tokens: u64,
    pub(super) cut: Cut,
    /// What it says.
    pub(super) mean: Vec<f32>,
    /// The segments that it was merged from.
    pub(super) parts: Vec<Range<usize>>,
}

/// Goes once over the segments, from the first to the last: one of few tokens or few messages joins the nearer of its
/// neighbours, the one before where both are as near. One of few tokens that has enough messages stays where both are far.
pub(super) fn merge(pieces: Vec<Piece>, thresholds: &Thresholds) -> Vec<Piece> {
    let mut left = VecDeque::from(pieces);
    let mut merged: Vec<Piece> = Vec::with_capacity(left.len());
    while let Some(piece) = left.pop_front() {
        let before = merged.last_mut();
        let next = left.front_mut();
        let to_before = before.as_ref().map_or(f32::INFINITY, |before| distance(&before.mean, &piece.mean));
        let to_next = next.as_ref().map_or(f32::INFINITY, |next| distance(&piece.mean, &next.mean));
        let is_far = to_before.min(to_next) > thresholds.merge_distance;
        let has_messages = piece.messages.len() >= thresholds.min_segment_messages;
        let stays = has_messages && (piece.tokens >= thresholds.min_segment_tokens || is_far);
        match (before, next) {
            (Some(before), _) if !stays && to_before <= to_next => before.append(piece),
            (_, Some(next)) if !stays => next.prepend(piece),
            _ => merged.push(piece),
        }
    }
    merged
}

impl Piece {
    fn append(&mut self, next: Self) {
        self.join(next.tokens, &next.mean);
        self.messages.end = next.messages.end;
        self.cut = next.cut;
        self.parts.extend(next.parts);
    }

    fn prepend(&mut self, before: Self) {
        self.join(before.tokens, &before.mean);
        self.messages.start = before.messages.start;
        self.parts.splice(0..0, before.parts);
    }

    /// Means are joined as equals, however long the segments are.
    fn join(&mut self, tokens: u64, mean: &[f32]) {
        self.tokens = self.tokens.saturating_add(tokens);
        for (own, other) in self.mean.iter_mut().zip(mean) {
            *own = f32::midpoint(*own, *other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of so many messages and tokens, each pointing in a direction, in degrees.
    fn pieces(rows: &[(usize, u64, f32)]) -> Vec<Piece> {
        let mut start = 0;
        let piece = |&(messages, tokens, degrees): &(usize, u64, f32)| {
            let range = start..start + messages;
            start = range.end;
            let (y, x) = degrees.to_radians().sin_cos();
            Piece { messages: range.clone(), tokens, cut: Cut::Topic, mean: vec![x, y], parts: vec![range] }
        };
        rows.iter().map(piece).collect()
    }

    fn merged(rows: &[(usize, u64, f32)]) -> Vec<(Range<usize>, u64, usize)> {
        let merged = merge(pieces(rows), &Thresholds::default());
        merged.into_iter().map(|piece| (piece.messages, piece.tokens, piece.parts.len())).collect()
    }

    #[test]
    fn small_segments_join_the_nearer_neighbour() {
        // Directions: 0 and 60 degrees are 0.5 apart, 0 and 90 are 1 apart.
        for (rows, expected) in [
            (&[(3, 9, 0.0)][..], vec![(0..3, 9, 1)]),
            (&[(20, 6_000, 0.0), (20, 6_000, 0.0)], vec![(0..20, 6_000, 1), (20..40, 6_000, 1)]),
            // Few messages: merged however far.
            (&[(20, 6_000, 0.0), (9, 6_000, 90.0)], vec![(0..29, 12_000, 2)]),
            (&[(9, 6_000, 90.0), (20, 6_000, 0.0)], vec![(0..29, 12_000, 2)]),
            // Few tokens: merged if near, kept if far.
            (&[(20, 6_000, 0.0), (10, 4_999, 60.0)], vec![(0..30, 10_999, 2)]),
            (&[(20, 6_000, 0.0), (10, 4_999, 90.0)], vec![(0..20, 6_000, 1), (20..30, 4_999, 1)]),
            // The nearer; the one before where both are as near.
            (&[(20, 6_000, 0.0), (5, 9, 70.0), (20, 6_000, 90.0)], vec![(0..20, 6_000, 1), (20..45, 6_009, 2)]),
            (&[(20, 6_000, 0.0), (5, 9, 45.0), (20, 6_000, 90.0)], vec![(0..25, 6_009, 2), (25..45, 6_000, 1)]),
            // One that joined the next is judged with it.
            (&[(2, 9, 0.0), (2, 9, 0.0), (20, 6_000, 0.0)], vec![(0..24, 6_018, 3)]),
        ] {
            assert_eq!(merged(rows), expected, "{rows:?}");
        }
    }
}
