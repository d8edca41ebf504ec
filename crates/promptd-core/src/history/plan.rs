//! A plan of what is settled now.

use std::ops::Range;

use super::{
    Cut, History, HistoryMessage, Rollup, Thresholds,
    cuts::Chunk,
    lexical,
    merge::{Piece, merge},
    rollup::rollups,
    text::compared,
    vectors::{Vectors, distance},
};
use crate::{time::Moment, turn::Role};

/// What follows from a history's newest messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The new segments of level 0, in the order of their messages; each needs a summary.
    pub segments: Vec<PlannedSegment>,
    /// The new segments of the levels above, the lowest first; each needs a summary.
    pub rollups: Vec<Rollup>,
    /// Index, in the whole history, of the first message that is in no segment; the next plan begins there.
    pub settled_end: u64,
    /// What the messages wait for that were not settled; `None`: all were.
    pub waiting: Option<Waiting>,
}

/// A new segment of level 0.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSegment {
    /// The messages that it covers, by their index in the whole history.
    pub messages: Range<u64>,
    /// When the first of them was said that has a time.
    pub start_time: Option<Moment>,
    /// When the last of them was said that has a time.
    pub end_time: Option<Moment>,
    /// Their tokens.
    pub tokens: u64,
    /// How long its summary may be.
    pub target_tokens: u32,
    /// Why it ends.
    pub cut: Cut,
    /// The smaller segments that it was merged from, where it was.
    pub merged: Vec<Range<u64>>,
}

/// Messages that are too few or too short for a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many there are.
    pub messages: u64,
    /// Their tokens.
    pub tokens: u64,
    /// How many messages more there must be.
    pub messages_missing: u64,
    /// How many tokens more they must have.
    pub tokens_missing: u64,
}

/// Plans. It takes time in proportion to the messages that are settled, and the segments; the same inputs give the same
/// plan.
#[must_use]
pub fn plan(history: &History, thresholds: &Thresholds) -> Plan {
    let covered = covered(history);
    let mut plan = Plan { rollups: rollups(&history.segments, thresholds), ..Plan::default() };
    for Stretch { messages, is_open } in uncovered(history, &covered) {
        let first = history.first_index.saturating_add(messages.start as u64);
        let messages = &history.messages[messages];
        let settled = if is_open { plan.settle(messages, first, thresholds) } else { messages.len() };
        for chunk in chunks(settled, thresholds) {
            let start = first.saturating_add(chunk.start as u64);
            plan.segments.extend(segments(&messages[chunk], start, thresholds));
        }
    }
    plan.settled_end = settled_end(history.first_index, &covered, &plan.segments);
    plan
}

impl Plan {
    /// How many of the newest messages are settled; notes what the others wait for.
    fn settle(&mut self, messages: &[HistoryMessage], first: u64, thresholds: &Thresholds) -> usize {
        let count = messages.len();
        let chunk = thresholds.chunk_messages.max(1);
        let tokens = sum(messages);
        let (min_messages, min_tokens) = if first == 0 || count >= chunk {
            (thresholds.min_messages, 0)
        } else {
            (thresholds.min_messages.max(thresholds.min_new_messages), thresholds.min_new_tokens)
        };
        let (messages_missing, tokens_missing) =
            (min_messages.saturating_sub(count) as u64, min_tokens.saturating_sub(tokens));
        if messages_missing > 0 || tokens_missing > 0 {
            self.waiting = Some(Waiting { messages: count as u64, tokens, messages_missing, tokens_missing });
            return 0;
        }
        let rest = count % chunk;
        if rest == 0 || rest >= thresholds.min_messages {
            return count;
        }
        let messages_missing = (thresholds.min_messages - rest) as u64;
        let tokens = sum(&messages[count - rest..]);
        self.waiting = Some(Waiting { messages: rest as u64, tokens, messages_missing, tokens_missing: 0 });
        count - rest
    }
}

/// The segments of one chunk, whose first message has the index `first`.
fn segments(messages: &[HistoryMessage], first: u64, thresholds: &Thresholds) -> Vec<PlannedSegment> {
    let (vectors, distances) = vectors(messages, thresholds);
    let tokens: Vec<u64> = messages.iter().map(HistoryMessage::size).collect();
    let begins = |message: &HistoryMessage| !thresholds.user_bounds || message.role == Role::User;
    let may_begin: Vec<bool> = messages.iter().map(begins).collect();
    let chunk = Chunk { tokens: &tokens, distances: &distances, may_begin: &may_begin };
    let piece = |(messages, cut): (Range<usize>, Cut)| Piece {
        tokens: tokens[messages.clone()].iter().fold(0, |sum, tokens| sum.saturating_add(*tokens)),
        mean: vectors.mean(messages.clone()),
        parts: vec![messages.clone()],
        messages,
        cut,
    };
    let pieces = merge(chunk.cut(thresholds).into_iter().map(piece).collect(), thresholds);
    let index = |range: &Range<usize>| first.saturating_add(range.start as u64)..first.saturating_add(range.end as u64);
    let planned = pieces.into_iter().map(|piece| PlannedSegment {
        start_time: messages[piece.messages.clone()].iter().find_map(|message| message.time),
        end_time: messages[piece.messages.clone()].iter().rev().find_map(|message| message.time),
        tokens: piece.tokens,
        target_tokens: thresholds.summary_tokens(piece.tokens),
        cut: piece.cut,
        merged: if piece.parts.len() > 1 { piece.parts.iter().map(index).collect() } else { Vec::new() },
        messages: index(&piece.messages),
    });
    planned.collect()
}

/// What the messages say, and how far each is from what is before it.
fn vectors(messages: &[HistoryMessage], thresholds: &Thresholds) -> (Vectors, Vec<f32>) {
    let count = messages.len();
    if messages.iter().all(|message| message.embedding.is_empty()) {
        let texts: Vec<_> = messages.iter().map(|message| compared(message, thresholds)).collect();
        let vectors = lexical::vectors(&texts);
        let distances = lexical::distances(&vectors, count, thresholds.window_messages.max(1));
        return (vectors, distances);
    }
    let vectors = Vectors::of(messages.iter().map(|message| &*message.embedding));
    let apart = |at: usize| distance(vectors.of_message(at - 1), vectors.of_message(at));
    let distances = (0..count).map(|at| if at == 0 { 0.0 } else { apart(at) }).collect();
    (vectors, distances)
}

/// What is cut together. A rest that is too short goes with the chunk before it.
fn chunks(count: usize, thresholds: &Thresholds) -> impl Iterator<Item = Range<usize>> {
    let size = thresholds.chunk_messages.max(1);
    let min = thresholds.min_messages.clamp(1, size);
    let starts = (0..count).step_by(size).filter(move |&start| start == 0 || count - start >= min);
    starts.map(move |start| start..if count - start < size + min { count } else { start + size })
}

/// The messages that segments cover, of any level: ranges in order that do not touch.
fn covered(history: &History) -> Vec<Range<u64>> {
    let mut ranges: Vec<_> =
        history.segments.iter().map(super::HistorySegment::range).filter(|r| !r.is_empty()).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut covered: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match covered.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => covered.push(range),
        }
    }
    covered.retain(|range| range.end > history.first_index);
    covered
}

/// Messages that are in no segment, by their index in the request.
struct Stretch {
    messages: Range<usize>,
    /// Whether more can come: no segment follows.
    is_open: bool,
}

/// What of the history's messages is in no segment.
fn uncovered(history: &History, covered: &[Range<u64>]) -> Vec<Stretch> {
    let count = history.messages.len();
    let at = |index: u64| usize::try_from(index.saturating_sub(history.first_index)).unwrap_or(count).min(count);
    let last = history.first_index.saturating_add(count as u64);
    let mut stretches = Vec::new();
    let mut start = 0;
    for range in covered.iter().filter(|range| range.start <= last) {
        stretches.push(Stretch { messages: start..at(range.start), is_open: false });
        start = at(range.end);
    }
    let end_is_covered = covered.iter().any(|range| range.start == last);
    stretches.push(Stretch { messages: start..count, is_open: !end_is_covered });
    stretches.retain(|stretch| !stretch.messages.is_empty());
    stretches
}

/// Where the segments end that follow each other from the first message on.
fn settled_end(first_index: u64, covered: &[Range<u64>], new: &[PlannedSegment]) -> u64 {
    let mut ranges: Vec<_> = covered.iter().chain(new.iter().map(|segment| &segment.messages)).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.iter().fold(first_index, |end, range| if range.start <= end { end.max(range.end) } else { end })
}

fn sum(messages: &[HistoryMessage]) -> u64 {
    messages.iter().fold(0, |sum, message| sum.saturating_add(message.size()))
}
