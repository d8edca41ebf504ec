//! Which summaries are rolled up into one of the level above.

use std::{collections::BTreeMap, ops::Range};

use super::{HistorySegment, Thresholds};
use crate::time::Moment;

/// Segments that become the children of a new one.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollup {
    /// The new segment's level.
    pub level: u32,
    /// Its children: indices into the history's segments, in the order of their messages.
    pub children: Vec<usize>,
    /// The messages that it covers.
    pub messages: Range<u64>,
    /// When the first of them was said.
    pub start_time: Option<Moment>,
    /// When the last of them was said.
    pub end_time: Option<Moment>,
    /// The sum of its children's tokens.
    pub tokens: u64,
    /// How long its summary may be.
    pub target_tokens: u32,
}

/// The rollups of all levels. One is made of a run of summarised segments without a parent, each of which begins where the
/// one before ends, or one message earlier: so many as [`Thresholds::rollup_size`], from the oldest. What is left of a run
/// waits for more, unless no more can come because a segment with a parent follows, and one is before it or it is the
/// first of its level: then the last rollup of the run takes it, or it is one by itself.
pub(super) fn rollups(segments: &[HistorySegment], thresholds: &Thresholds) -> Vec<Rollup> {
    let mut levels: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, segment) in segments.iter().enumerate() {
        levels.entry(segment.level).or_default().push(index);
    }
    let mut rollups = Vec::new();
    for (level, mut rows) in levels {
        let Some(above) = level.checked_add(1) else { continue };
        rows.sort_by_key(|&row| (segments[row].message_start, segments[row].message_end, &segments[row].id));
        let level = Level { rows: rows.iter().map(|&row| &segments[row]).collect() };
        for group in level.groups(thresholds.rollup_size.max(1)) {
            rollups.push(rollup(segments, &rows[group], above, thresholds));
        }
    }
    rollups
}

fn rollup(segments: &[HistorySegment], children: &[usize], level: u32, thresholds: &Thresholds) -> Rollup {
    let all = || children.iter().map(|&child| &segments[child]);
    Rollup {
        level,
        children: children.to_vec(),
        messages: all().map(|child| child.message_start).min().unwrap_or_default()
            ..all().map(|child| child.message_end).max().unwrap_or_default(),
        start_time: all().find_map(|child| child.start_time),
        end_time: all().rev().find_map(|child| child.end_time),
        tokens: all().fold(0, |sum, child| sum.saturating_add(child.tokens)),
        target_tokens: thresholds.rollup_tokens,
    }
}

/// The segments of one level, by their messages.
struct Level<'s> {
    rows: Vec<&'s HistorySegment>,
}

impl Level<'_> {
    fn groups(&self, size: usize) -> Vec<Range<usize>> {
        let mut groups = Vec::new();
        for run in self.runs() {
            let starts = run.clone().step_by(size).take(run.len() / size);
            let full = groups.len();
            groups.extend(starts.map(|start| start..start + size));
            let rest = run.end - run.len() % size..run.end;
            if rest.is_empty() || !self.is_interior(&run) {
                continue;
            }
            match groups[full..].last_mut() {
                Some(last) => last.end = rest.end,
                None => groups.push(rest),
            }
        }
        groups
    }

    /// The longest runs of segments that can be rolled up.
    fn runs(&self) -> Vec<Range<usize>> {
        let eligible = self.eligible();
        let mut runs: Vec<Range<usize>> = Vec::new();
        for at in (0..self.rows.len()).filter(|&at| eligible[at]) {
            match runs.last_mut() {
                Some(run) if run.end == at && self.follows(at) => run.end = at + 1,
                _ => runs.push(at..at + 1),
            }
        }
        runs
    }

    /// Whether a row begins where the one before ends, or one message earlier.
    fn follows(&self, at: usize) -> bool {
        let (end, start) = (self.rows[at - 1].message_end, self.rows[at].message_start);
        start == end || start.checked_add(1) == Some(end)
    }

    /// Which rows have a summary and no parent, and share no more than one message with one that has a parent, or with an
    /// earlier one.
    fn eligible(&self) -> Vec<bool> {
        let mut reach = 0;
        let mut eligible: Vec<bool> = (self.rows.iter())
            .map(|row| {
                let is_free =
                    row.is_summarised && row.parent_id.is_empty() && row.message_start.saturating_add(1) >= reach;
                reach = reach.max(row.message_end);
                is_free
            })
            .collect();
        let mut next_with_parent = u64::MAX;
        for (row, eligible) in self.rows.iter().zip(&mut eligible).rev() {
            *eligible &= row.message_end <= next_with_parent.saturating_add(1);
            if !row.parent_id.is_empty() {
                next_with_parent = row.message_start;
            }
        }
        eligible
    }

    /// Whether no segment can come to either end of a run.
    fn is_interior(&self, run: &Range<usize>) -> bool {
        let has_parent = |row: &&HistorySegment| !row.parent_id.is_empty();
        let before = run.start.checked_sub(1).is_none_or(|before| has_parent(&self.rows[before]));
        before && self.rows.get(run.end).is_some_and(has_parent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of ten messages each, by a letter: `o` can be rolled up, `p` has a parent, `u` has no summary, `.` leaves a
    /// hole, `1` begins one message early, `x` five.
    fn level(shape: &str) -> Vec<HistorySegment> {
        let row = |(index, kind): (usize, char)| {
            let start = 10 * index as u64;
            let early = match kind {
                '1' => 1,
                'x' => 5,
                _ => 0,
            };
            (kind != '.').then(|| HistorySegment {
                id: index.to_string(),
                parent_id: if kind == 'p' { "above".into() } else { String::new() },
                message_start: start - early,
                message_end: start + 10,
                tokens: 100,
                is_summarised: kind != 'u',
                ..HistorySegment::default()
            })
        };
        shape.chars().enumerate().filter_map(row).collect()
    }

    fn planned(shape: &str) -> Vec<(u64, u64, usize)> {
        let mut segments = level(shape);
        // The order in which they come does not matter.
        segments.reverse();
        let rollups = rollups(&segments, &Thresholds::default());
        rollups.iter().map(|r| (r.messages.start, r.messages.end, r.children.len())).collect()
    }

    #[test]
    fn runs_of_ten_are_rolled_up_and_the_rest_waits_or_is_closed_in() {
        for (shape, groups) in [
            ("ooooooooo", vec![]),
            ("oooooooooo", vec![(0, 100, 10)]),
            ("oooooooooooooo", vec![(0, 100, 10)]),
            ("oooooooooooooooooooo", vec![(0, 100, 10), (100, 200, 10)]),
            // A hole, and an overlap of one message, which is none.
            ("oooooooooooo.oooooooooooo", vec![(0, 100, 10), (130, 230, 10)]),
            ("ooooo1oooo", vec![(0, 100, 10)]),
            // Closed in on both sides.
            ("pooooooop", vec![(10, 80, 7)]),
            ("oooop", vec![(0, 40, 4)]),
            ("poooooooooooooop", vec![(10, 150, 14)]),
            ("p.oooooooooooooooooooooo.p", vec![(20, 120, 10), (120, 240, 12)]),
            // Closed in on one side only.
            ("poooooo", vec![]),
            ("uooooop", vec![]),
            ("ooooooooo.ooop", vec![]),
            // What breaks a run.
            ("oooooopoooooo", vec![(0, 60, 6)]),
            ("oooooooooouoooooooooo", vec![(0, 100, 10), (110, 210, 10)]),
            ("oooooxoooo", vec![]),
            // Overlaps one with a parent, before or after it.
            ("pxp", vec![]),
        ] {
            assert_eq!(planned(shape), groups, "{shape}");
        }
    }

    #[test]
    fn a_segment_that_reaches_into_one_with_a_parent_is_not_rolled_up() {
        let mut segments = level("opp");
        segments[0].message_end = 15;
        assert_eq!(rollups(&segments, &Thresholds::default()), []);
        segments[0].message_end = 11;
        assert_eq!(rollups(&segments, &Thresholds::default()).len(), 1);
    }

    #[test]
    fn a_rollup_covers_its_children_in_a_level_of_its_own() {
        let mut segments = level("oooooooooo");
        segments[0].start_time = None;
        segments[1].start_time = Some(Moment::EPOCH);
        segments[8].end_time = Some(Moment::MAX);
        segments.extend(level("ooooooooo").into_iter().map(|s| HistorySegment { level: 1, ..s }));
        segments.extend(level("oooooooooo").into_iter().map(|s| HistorySegment { level: u32::MAX, ..s }));
        let planned = rollups(&segments, &Thresholds::default());
        let expected = Rollup {
            level: 1,
            children: (0..10).collect(),
            messages: 0..100,
            start_time: Some(Moment::EPOCH),
            end_time: Some(Moment::MAX),
            tokens: 1_000,
            target_tokens: 1_500,
        };
        assert_eq!(planned, [expected]);
    }
}
