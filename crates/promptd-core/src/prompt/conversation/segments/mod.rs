//! Which summaries replace the trimmed part of a history: as detailed as their budget allows.
//!
//! The roots of the tree are shown in any case. While the budget is not spent, the segments of the highest level shown
//! are replaced by their children, the newest first; a level is only opened once all of the level above are.

use std::collections::{BTreeMap, HashMap};

use crate::{prompt::budget::estimate, turn::Segment};

/// The summaries to show.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Selection<'s> {
    /// In the order of the history.
    pub shown: Vec<&'s Segment>,
    /// Roots that lie wholly within another.
    pub shadowed: Vec<&'s Segment>,
}

/// Where segments of level 0 end; ascending. Segments without a summary do not count.
pub(super) fn ends(segments: &[Segment]) -> Vec<u64> {
    let leaves = segments.iter().filter(|segment| segment.level == 0 && is_summarised(segment));
    let mut ends: Vec<u64> = leaves.map(|segment| segment.message_end).collect();
    ends.sort_unstable();
    ends
}

/// Where the last segment of any level ends that has a summary; 0: there is none.
pub(super) fn summarised_to(segments: &[Segment]) -> u64 {
    segments.iter().filter(|segment| is_summarised(segment)).map(|segment| segment.message_end).max().unwrap_or(0)
}

/// Selects the summaries of the first `trimmed` messages of the history, for about `budget` tokens. One that reaches beyond
/// them is shown too: what it has of them is in no other.
pub(super) fn select(segments: &[Segment], trimmed: u64, budget: u64) -> Selection<'_> {
    let tree = Tree::new(segments);
    let (roots, shadowed) = tree.roots(trimmed);
    let expanded = tree.expand(&roots, i64::try_from(budget).unwrap_or(i64::MAX));
    let shown = tree.in_order(&roots, |node| expanded[node]).filter(|&node| !expanded[node]);
    let shown: Vec<&Segment> = shown.map(|node| tree.nodes[node]).collect();
    Selection { shown, shadowed: shadowed.into_iter().map(|node| tree.nodes[node]).collect() }
}

fn is_summarised(segment: &Segment) -> bool {
    !segment.summary.trim().is_empty()
}

/// The summarised segments, by start, the longest first. A child is of a lower level than its parent: a link that says
/// otherwise, or to an unknown segment, is ignored, so that every tree ends and every segment is in one.
struct Tree<'s> {
    nodes: Vec<&'s Segment>,
    tokens: Vec<i64>,
    children: Vec<Vec<usize>>,
    is_child: Vec<bool>,
}

impl<'s> Tree<'s> {
    fn new(segments: &'s [Segment]) -> Self {
        let mut nodes: Vec<&Segment> = segments.iter().filter(|segment| is_summarised(segment)).collect();
        nodes.sort_by(|a, b| {
            let key = |s: &'s Segment| (s.message_start, std::cmp::Reverse(s.message_end), &s.id);
            key(a).cmp(&key(b))
        });
        let mut by_id = HashMap::with_capacity(nodes.len());
        for (node, segment) in nodes.iter().enumerate() {
            by_id.entry(segment.id.as_str()).or_insert(node);
        }
        let mut children = vec![Vec::new(); nodes.len()];
        let mut is_child = vec![false; nodes.len()];
        for (node, segment) in nodes.iter().enumerate() {
            let parent = Some(&segment.parent_id).filter(|id| !id.is_empty()).and_then(|id| by_id.get(id.as_str()));
            if let Some(&parent) = parent.filter(|&&parent| nodes[parent].level > segment.level) {
                children[parent].push(node);
                is_child[node] = true;
            }
        }
        let tokens = nodes.iter().map(|segment| match segment.summary_tokens {
            0 => i64::try_from(estimate::summary(&segment.summary)).unwrap_or(i64::MAX),
            tokens => tokens.into(),
        });
        Self { tokens: tokens.collect(), nodes, children, is_child }
    }

    /// The roots that begin before `trimmed`; and of those, the ones that lie within another.
    fn roots(&self, trimmed: u64) -> (Vec<usize>, Vec<usize>) {
        let mut reach = None;
        (0..self.nodes.len())
            .filter(|&node| !self.is_child[node] && self.nodes[node].message_start < trimmed)
            .partition(|&node| {
                let end = self.nodes[node].message_end;
                let reaches_further = reach.is_none_or(|reach| end > reach);
                reach = reach.max(Some(end));
                reaches_further
            })
    }

    /// Which segments are replaced by their children.
    fn expand(&self, roots: &[usize], budget: i64) -> Vec<bool> {
        let mut rank = vec![0; self.nodes.len()];
        for (index, node) in self.in_order(roots, |_| true).enumerate() {
            rank[node] = index;
        }
        let mut used: i64 = roots.iter().map(|&node| self.tokens[node]).sum();
        let mut expanded = vec![false; self.nodes.len()];
        let mut levels: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for &root in roots {
            levels.entry(self.nodes[root].level).or_default().push(root);
        }
        while let Some((_, mut level)) = levels.pop_last() {
            level.sort_unstable_by_key(|&node| rank[node]);
            let mut costs = Costs::new(level.iter().map(|&node| self.cost(node)));
            let mut closed = level.len();
            while used < budget
                && let Some(at) = costs.rightmost(budget - used)
            {
                costs.remove(at);
                closed -= 1;
                let node = level[at];
                expanded[node] = true;
                used += self.cost(node).unwrap_or_default();
                for &child in &self.children[node] {
                    levels.entry(self.nodes[child].level).or_default().push(child);
                }
            }
            if closed > 0 {
                break;
            }
        }
        expanded
    }

    /// How many tokens more the children take than the segment itself; `None`: it has none.
    fn cost(&self, node: usize) -> Option<i64> {
        let children = &self.children[node];
        let sum: i64 = children.iter().map(|&child| self.tokens[child]).sum();
        (!children.is_empty()).then_some(sum - self.tokens[node])
    }

    /// The trees of `roots`, each segment before its children, below those that are `open`.
    fn in_order(&self, roots: &[usize], open: impl Fn(usize) -> bool) -> impl Iterator<Item = usize> {
        let mut next: Vec<usize> = roots.iter().rev().copied().collect();
        std::iter::from_fn(move || {
            let node = next.pop()?;
            if open(node) {
                next.extend(self.children[node].iter().rev());
            }
            Some(node)
        })
    }
}

/// What each of a row costs, so that the rightmost that can be paid for is found in logarithmic time.
struct Costs {
    /// A tree of minima as an array: the row is its second half.
    least: Vec<i64>,
    half: usize,
}

impl Costs {
    /// More than any budget.
    const NEVER: i64 = i64::MAX;

    fn new(row: impl ExactSizeIterator<Item = Option<i64>>) -> Self {
        let half = row.len().next_power_of_two();
        let mut least = vec![Self::NEVER; 2 * half];
        for (at, cost) in row.enumerate() {
            least[half + at] = cost.unwrap_or(Self::NEVER);
        }
        for at in (1..half).rev() {
            least[at] = least[2 * at].min(least[2 * at + 1]);
        }
        Self { least, half }
    }

    fn rightmost(&self, purse: i64) -> Option<usize> {
        let fits = |at: usize| self.least[at] <= purse && self.least[at] != Self::NEVER;
        let mut at = 1;
        if !fits(at) {
            return None;
        }
        while at < self.half {
            at = if fits(2 * at + 1) { 2 * at + 1 } else { 2 * at };
        }
        Some(at - self.half)
    }

    fn remove(&mut self, index: usize) {
        let mut at = self.half + index;
        self.least[at] = Self::NEVER;
        while at > 1 {
            at /= 2;
            self.least[at] = self.least[2 * at].min(self.least[2 * at + 1]);
        }
    }
}

/// The stretches of the history that segments cover.
pub(super) struct Coverage(Vec<(u64, u64)>);

impl Coverage {
    pub(super) fn of(segments: &[&Segment]) -> Self {
        let mut ranges: Vec<(u64, u64)> = segments.iter().map(|s| (s.message_start, s.message_end)).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, last| {
            let touches = next.0 <= last.1;
            if touches {
                last.1 = last.1.max(next.1);
            }
            touches
        });
        Self(ranges)
    }

    pub(super) fn has(&self, message: u64) -> bool {
        let next = self.0.partition_point(|&(start, _)| start <= message);
        next > 0 && message < self.0[next - 1].1
    }

    /// How many of the first `count` messages it does not cover.
    pub(super) fn holes_before(&self, count: u64) -> u64 {
        let covered = self.0.iter().map(|&(start, end)| end.min(count).saturating_sub(start));
        count - covered.sum::<u64>()
    }
}

#[cfg(test)]
mod tests;
