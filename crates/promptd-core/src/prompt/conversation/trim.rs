//! Where a conversation begins once its oldest messages are trimmed.
//!
//! The cut is aimed at a place that stays the same for many turns, so that providers can keep the prefix: the end of
//! a summarised segment, else a multiple of twenty; and then it is walked back to a message of the user.

use super::{segments, tool_results, units::Unit};
use crate::{
    profile::TrimSpec,
    prompt::{
        budget::estimate,
        scope::{TrimmedHistory, TurnScope},
    },
    turn::{ConversationMessage, Role},
};

/// A cut without a segment's end to aim at is aimed at a multiple of this.
const STEP: u64 = 20;
/// A cut is aimed only where this many messages, or more, are left.
const LEFT: u64 = 4;

/// How many of the units are trimmed.
pub(super) fn trim_front(scope: &TurnScope<'_>, units: &[Unit], result_limit: u64, budget: u64) -> usize {
    let conversation = &scope.turn.conversation;
    let size = |message: &ConversationMessage| match tool_results::shortened(message, result_limit) {
        Some(cut) => estimate::message(message, &cut.text),
        None => estimate::message(message, &message.content),
    };
    let unit_size = |unit: &Unit| {
        let sizes = unit.indices().map(|index| size(&conversation.messages[index]));
        sizes.fold(0_u64, u64::saturating_add)
    };
    let sizes: Vec<u64> = units.iter().map(unit_size).collect();
    let users: Vec<bool> = units.iter().map(|unit| conversation.messages[unit.message].role == Role::User).collect();
    let positions: Vec<u64> = units.iter().map(|unit| position(scope, unit.message)).collect();
    let history = History {
        sizes: &sizes,
        users: &users,
        positions: &positions,
        length: position(scope, conversation.messages.len()),
        ends: &segments::ends(&conversation.segments),
    };
    history.start(budget)
}

/// A message's index in the whole history.
pub(super) fn position(scope: &TurnScope<'_>, index: usize) -> u64 {
    scope.turn.conversation.first_index.saturating_add(index as u64)
}

/// The estimated tokens that a profile has.
pub(super) struct TrimBudget {
    /// For messages.
    pub raw: u64,
    /// For summaries.
    pub summaries: u64,
}

impl TrimBudget {
    /// Without segments there is nothing to summarise with: all of it is for messages.
    pub(super) fn of(trim: &TrimSpec, scope: &TurnScope<'_>) -> Self {
        let max = scope.amount(&trim.max_tokens).unwrap_or(0);
        let share = scope.share(&trim.summary_budget);
        if scope.turn.conversation.segments.is_empty() || share == 0.0 {
            return Self { raw: max, summaries: 0 };
        }
        Self { raw: part(max, 1.0 - share), summaries: part(max, share) }
    }

    /// What summaries replace where `before` messages of the history come before those that are carried.
    pub(super) fn trimmed(&self, before: u64) -> Option<TrimmedHistory> {
        (before > 0 && self.summaries > 0)
            .then_some(TrimmedHistory { messages: before, summary_budget: self.summaries })
    }
}

/// A part of a whole, rounded half up.
fn part(whole: u64, share: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a budget beyond 2^53 tokens has no use for its last digits; neither factor is negative"
    )]
    let part = (whole as f64 * share + 0.5).floor() as u64;
    part
}

/// What the cut depends on. All slices but `ends` are by unit.
struct History<'h> {
    /// Estimated tokens.
    sizes: &'h [u64],
    /// Whether the user wrote it.
    users: &'h [bool],
    /// The index of its message in the whole history; ascending.
    positions: &'h [u64],
    /// How many messages the whole history has.
    length: u64,
    /// Where segments of level 0 end, in the whole history; ascending.
    ends: &'h [u64],
}

impl History<'_> {
    /// The index of the first unit to carry, so that at most `budget` tokens are; 0: all are. The last unit stays in any
    /// case. A budget of 0 means no limit.
    fn start(&self, budget: u64) -> usize {
        let mut rest = self.sizes.iter().fold(0_u64, |sum, &size| sum.saturating_add(size));
        if budget == 0 || rest <= budget {
            return 0;
        }
        let last = self.sizes.len() - 1;
        let mut cut = 0;
        while rest > budget && cut < last {
            rest = rest.saturating_sub(self.sizes[cut]);
            cut += 1;
        }
        while cut < last && !self.users[cut] {
            cut += 1;
        }
        let aimed = if cut == 0 { None } else { self.aim(self.positions[cut]) };
        let Some(aimed) = aimed else { return cut };
        let target = self.positions.partition_point(|&position| position < aimed).min(last);
        (cut + 1..=target).rev().find(|&index| self.users[index]).unwrap_or(cut)
    }

    /// The stable place after a cut. Only the first segment's end at or after it counts.
    fn aim(&self, cut: u64) -> Option<u64> {
        let before = self.length.saturating_sub(LEFT);
        let end = self.ends.get(self.ends.partition_point(|&end| end < cut)).copied();
        let end = end.filter(|&end| end < before && end != cut);
        end.or_else(|| cut.checked_next_multiple_of(STEP).filter(|&step| step > cut && step < before))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A history of sizes of 10 whose even messages are the user's.
    fn start(count: u64, first: u64, ends: &[u64], budget: u64) -> usize {
        let sizes = vec![10; usize::try_from(count).unwrap()];
        let users: Vec<bool> = (0..count).map(|i| i % 2 == 0).collect();
        let positions: Vec<u64> = (first..first + count).collect();
        History { sizes: &sizes, users: &users, positions: &positions, length: first + count, ends }.start(budget)
    }

    #[test]
    fn the_cut_is_aimed_forward_and_walked_back() {
        for (why, count, first, ends, budget, expected) in [
            ("all fits", 100, 0, &[][..], 1_000, 0),
            ("a budget of 0 is no limit", 100, 0, &[], 0, 0),
            ("forward to a user", 100, 0, &[], 70, 94),
            ("a multiple of twenty", 100, 0, &[], 500, 60),
            ("none before the last four", 100, 0, &[], 150, 86),
            ("a segment's end", 100, 0, &[20, 56, 80], 500, 56),
            ("walked back from an odd end", 100, 0, &[57], 500, 56),
            ("the end is the cut: the next multiple of twenty", 100, 0, &[50], 500, 60),
            ("the end is the cut, and so is the multiple", 100, 0, &[40], 600, 40),
            ("an end near the last messages is ignored", 100, 0, &[97], 500, 60),
            ("only the first end counts", 100, 0, &[51, 70], 500, 50),
            ("positions are of the whole history", 100, 10, &[], 500, 50),
            ("ends too", 100, 1_000, &[20, 1_058], 500, 58),
            ("an end right before the last four", 100, 0, &[95], 500, 94),
            ("an end at the last four is ignored", 100, 0, &[96], 500, 60),
            ("a multiple right before the last four", 85, 0, &[], 230, 80),
            ("a multiple at the last four is ignored", 84, 0, &[], 220, 62),
            ("exactly the budget is kept", 10, 0, &[], 100, 0),
            ("one token over the budget", 10, 0, &[], 99, 2),
            ("an end right behind the cut", 100, 0, &[52], 500, 52),
            ("the cut is a multiple already: no further one", 100, 0, &[], 600, 40),
            ("the last message stays", 3, 0, &[], 1, 2),
            ("one message", 1, 0, &[], 1, 0),
        ] {
            assert_eq!(start(count, first, ends, budget), expected, "{why}");
        }
    }

    #[test]
    fn a_cut_may_end_on_a_last_message_that_is_not_the_users() {
        let history =
            History { sizes: &[9, 9, 9], users: &[true, false, false], positions: &[0, 1, 2], length: 3, ends: &[] };
        assert_eq!(history.start(10), 2);
    }

    proptest! {
        #[test]
        fn the_cut_is_within_and_keeps_to_its_budget(
            messages in prop::collection::vec((0_u64..50, any::<bool>()), 1..60),
            first in prop_oneof![Just(0_u64), Just(u64::MAX - 70), 0_u64..100],
            mut ends in prop::collection::vec(any::<u64>(), 0..4),
            near in prop::collection::vec(0_u64..100, 0..4),
            budget in any::<u64>().prop_map(|b| b % 900),
        ) {
            ends.extend(near);
            ends.sort_unstable();
            let (sizes, users): (Vec<u64>, Vec<bool>) = messages.into_iter().unzip();
            let positions: Vec<u64> = (0..sizes.len() as u64).map(|i| first + i).collect();
            let length = first + sizes.len() as u64;
            let history = History { sizes: &sizes, users: &users, positions: &positions, length, ends: &ends };
            let start = history.start(budget);
            prop_assert!(start < sizes.len());
            let left: u64 = sizes[start..].iter().sum();
            prop_assert!(budget == 0 || left <= budget || start == sizes.len() - 1);
            prop_assert!(start == 0 || users[start] || !users[start..].contains(&true) || start == sizes.len() - 1);
        }
    }
}
