//! Where a conversation begins once its oldest messages are trimmed.
//!
//! The cut is aimed at a place that stays the same for many turns, so that providers can keep the prefix: the end of
//! a summarised segment, else a multiple of twenty; and then it is walked back to a message of the user. A cut that an earlier
//! turn had is held while what follows it fits. Where a profile asks for it, no cut goes beyond what is summarised.

use super::{segments, tool_results, units::Unit};
use crate::{
    profile::TrimSpec,
    prompt::{budget::estimate, scope::TurnScope},
    turn::{ConversationMessage, Role},
};

/// A cut without a segment's end to aim at is aimed at a multiple of this.
const STEP: u64 = 20;
/// A cut is aimed only where this many messages, or more, are left.
const LEFT: u64 = 4;
/// The part of the budget that a new cut fills where it is to be held, so that the next turns have room.
const HELD_FILL: f64 = 0.6;

/// Where trimmed units begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TrimCut {
    /// The index of the first unit that is left.
    pub start: usize,
    /// Whether it is the cut of an earlier turn.
    pub held: bool,
}

/// Where the units begin after trimming; `sizes` are their estimated tokens.
pub(super) fn trim_front(
    spec: &TrimSpec,
    scope: &TurnScope<'_>,
    units: &[Unit],
    sizes: &[u64],
    budget: &TrimBudget,
) -> TrimCut {
    let conversation = &scope.turn.conversation;
    let users: Vec<bool> = units.iter().map(|unit| conversation.messages[unit.message].role == Role::User).collect();
    let positions: Vec<u64> = units.iter().map(|unit| position(scope, unit.message)).collect();
    let keep = spec.keep_unsummarised.as_ref().filter(|_| budget.summaries.is_some_and(|most| most > 0));
    let keeps = keep.is_some_and(|keep| scope.profile.templates.holds(keep, scope) == Ok(true));
    let history = History {
        sizes,
        users: &users,
        positions: &positions,
        length: position(scope, conversation.messages.len()),
        ends: &segments::ends(&conversation.segments),
        furthest: if keeps { segments::summarised_to(&conversation.segments) } else { u64::MAX },
    };
    history.cut(budget.raw, conversation.held_cut)
}

/// The estimated tokens of each unit, long results as they are cut.
pub(super) fn sizes(scope: &TurnScope<'_>, units: &[Unit], result_limit: u64) -> Vec<u64> {
    let size = |message| as_carried(message, result_limit);
    let unit_size = |unit: &Unit| {
        let sizes = unit.indices().map(|index| size(&scope.turn.conversation.messages[index]));
        sizes.fold(0_u64, u64::saturating_add)
    };
    units.iter().map(unit_size).collect()
}

/// The estimated tokens of a message, a long result as it is cut.
pub(super) fn as_carried(message: &ConversationMessage, result_limit: u64) -> u64 {
    match tool_results::shortened(message, result_limit) {
        Some(cut) => estimate::message(message, &cut.text),
        None => estimate::message(message, &message.content),
    }
}

/// A message's index in the whole history.
pub(super) fn position(scope: &TurnScope<'_>, index: usize) -> u64 {
    scope.turn.conversation.first_index.saturating_add(index as u64)
}

/// The estimated tokens that a profile has.
pub(super) struct TrimBudget {
    /// For messages; 0: no limit.
    pub raw: u64,
    /// For summaries; `None`: none are wanted. A small share of a small budget can be 0, and then none fits.
    pub summaries: Option<u64>,
}

impl TrimBudget {
    /// Without segments there is nothing to summarise with: all of it is for messages.
    pub(super) fn of(trim: &TrimSpec, scope: &TurnScope<'_>) -> Self {
        let max = scope.amount(&trim.max_tokens).unwrap_or(0);
        let share = scope.share(&trim.summary_budget);
        if scope.turn.conversation.segments.is_empty() || share == 0.0 {
            return Self { raw: max, summaries: None };
        }
        Self::shared(trim, scope)
    }

    /// What it is where there are segments.
    pub(super) fn shared(trim: &TrimSpec, scope: &TurnScope<'_>) -> Self {
        let (max, share) = (scope.amount(&trim.max_tokens).unwrap_or(0), scope.share(&trim.summary_budget));
        Self { raw: part(max, 1.0 - share), summaries: Some(part(max, share)) }
    }
}

impl TrimBudget {
    /// The same, with at most so many for messages.
    pub(super) fn within(self, most: Option<u64>) -> Self {
        match most {
            Some(most) if self.raw == 0 || most < self.raw => Self { raw: most.max(1), ..self },
            _ => self,
        }
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
    /// The greatest position that a new cut may have, in the whole history.
    furthest: u64,
}

impl History<'_> {
    /// Where the units to carry begin, so that at most `budget` tokens are; 0: all are. The last unit stays in any
    /// case, and so do those that must not be cut off. A budget of 0 means no limit.
    fn cut(&self, budget: u64, held: Option<u64>) -> TrimCut {
        let fits = |sizes: &[u64]| sizes.iter().fold(0_u64, |sum, &size| sum.saturating_add(size)) <= budget;
        if budget == 0 || fits(self.sizes) {
            return TrimCut { start: 0, held: false };
        }
        let last = self.sizes.len() - 1;
        let at = held.and_then(|held| self.positions.binary_search(&held).ok());
        if let Some(start) = at.filter(|&start| start < last && self.users[start] && fits(&self.sizes[start..])) {
            return TrimCut { start, held: true };
        }
        let fill = if held.is_some() { part(budget, HELD_FILL).max(1) } else { budget };
        TrimCut { start: self.hold_back(self.new_cut(fill)), held: false }
    }

    fn new_cut(&self, budget: u64) -> usize {
        let last = self.sizes.len() - 1;
        let mut rest = self.sizes.iter().fold(0_u64, |sum, &size| sum.saturating_add(size));
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

    /// The cut, or the last message of the user that is not beyond the furthest place.
    fn hold_back(&self, cut: usize) -> usize {
        if self.positions[cut] <= self.furthest {
            return cut;
        }
        let within = self.positions.partition_point(|&position| position <= self.furthest);
        (0..within).rev().find(|&index| self.users[index]).unwrap_or(0)
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
        let furthest = u64::MAX;
        let history =
            History { sizes: &sizes, users: &users, positions: &positions, length: first + count, ends, furthest };
        history.cut(budget, None).start
    }

    #[test]
    fn the_cut_is_aimed_forward_and_walked_back() {
        for (why, count, first, ends, budget, expected) in [
            ("all fits", 100, 0, &[][..], 1_000, 0),
            ("a budget of 0 is not a limit", 100, 0, &[], 0, 0),
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
        let (users, positions) = (&[true, false, false], &[0, 1, 2]);
        let history = History { sizes: &[9, 9, 9], users, positions, length: 3, ends: &[], furthest: u64::MAX };
        assert_eq!(history.cut(10, None).start, 2);
    }

    /// A hundred messages of 10, the even ones the user's, of a history that begins 1,000 earlier.
    #[test]
    fn a_held_cut_is_held_while_it_can_be() {
        let (sizes, positions): (Vec<u64>, Vec<u64>) = (0..100).map(|i| (10, 1_000 + i)).unzip();
        let users: Vec<bool> = (0..100).map(|i| i % 2 == 0).collect();
        let cut = |held, furthest, budget| {
            let history =
                History { sizes: &sizes, users: &users, positions: &positions, length: 1_100, ends: &[], furthest };
            let TrimCut { start, held } = history.cut(budget, held);
            (start, held)
        };
        let free = u64::MAX;
        for (why, held, furthest, budget, expected) in [
            ("it fits", Some(1_050), free, 500, (50, true)),
            ("what it carries is not summarised: it is held all the same", Some(1_050), 1_000, 500, (50, true)),
            ("one token too many: a new one to 0.6 of the budget", Some(1_050), free, 499, (80, false)),
            ("none yet: the same", Some(0), free, 500, (80, false)),
            ("no wish to hold: the whole budget", None, free, 500, (60, false)),
            ("not the user's", Some(1_051), free, 500, (80, false)),
            ("not sent", Some(999), free, 500, (80, false)),
            ("the last message", Some(1_099), free, 500, (80, false)),
            ("beyond the end", Some(5_000), free, 500, (80, false)),
            ("all fits", Some(1_050), free, 1_000, (0, false)),
            ("no limit", Some(1_050), free, 0, (0, false)),
            ("held back to what is summarised", None, 1_040, 500, (40, false)),
            ("and from there to the user", None, 1_041, 500, (40, false)),
            ("the summaries reach further", None, 1_080, 500, (60, false)),
            ("nothing that was sent is summarised", None, 900, 500, (0, false)),
            ("nothing but the first", None, 1_001, 500, (0, false)),
        ] {
            assert_eq!(cut(held, furthest, budget), expected, "{why}");
        }
    }

    proptest! {
        #[test]
        fn the_cut_is_within_and_keeps_to_its_budget(
            messages in prop::collection::vec((0_u64..50, any::<bool>()), 1..60),
            first in prop_oneof![Just(0_u64), Just(u64::MAX - 70), 0_u64..100],
            mut ends in prop::collection::vec(any::<u64>(), 0..4),
            near in prop::collection::vec(0_u64..100, 0..4),
            budget in any::<u64>().prop_map(|b| b % 900),
            held in prop::option::of(0_u64..100),
            furthest in prop_oneof![Just(u64::MAX), 0_u64..160],
        ) {
            ends.extend(near);
            ends.sort_unstable();
            let (sizes, users): (Vec<u64>, Vec<bool>) = messages.into_iter().unzip();
            let positions: Vec<u64> = (0..sizes.len() as u64).map(|i| first + i).collect();
            let length = first + sizes.len() as u64;
            let history = History { sizes: &sizes, users: &users, positions: &positions, length, ends: &ends, furthest };
            let TrimCut { start, held: is_held } = history.cut(budget, held);
            prop_assert!(start < sizes.len());
            let left: u64 = sizes[start..].iter().sum();
            let free = History { furthest: u64::MAX, ..history };
            let is_held_back = start < free.cut(budget, held).start;
            prop_assert!(budget == 0 || left <= budget || start == sizes.len() - 1 || is_held_back);
            prop_assert!(start == 0 || is_held || positions[start] <= furthest);
            prop_assert!(!is_held || (Some(positions[start]) == held && users[start] && left <= budget));
            prop_assert!(start == 0 || users[start] || !users[start..].contains(&true) || start == sizes.len() - 1);
        }
    }
}
