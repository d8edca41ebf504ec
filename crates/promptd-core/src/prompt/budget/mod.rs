//! Limits that sections share: what is left of each as a prompt is assembled.

pub(super) mod estimate;
mod room;

pub(super) use room::{Room, Rooms};

use super::scope::TurnScope;
use crate::{
    profile::{Budget, OnOverflow, Unit},
    text::measure,
    tokens::Encoding,
};

/// What is left of every budget of a profile, and what the prompt's own budget leaves for the section that is rendered.
#[derive(Debug, Clone, Default)]
pub(super) struct Budgets {
    left: Vec<Left>,
    /// The most characters of what the section shows; `None`: no limit.
    room: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Left {
    rest: u64,
    unit: Unit,
    on_overflow: OnOverflow,
}

impl Budgets {
    /// All of them, untouched.
    #[must_use]
    pub(super) fn new(scope: &TurnScope<'_>) -> Self {
        let left = |budget: &Budget| Left {
            rest: scope.amount(&budget.limit).unwrap_or(u64::MAX),
            unit: budget.unit,
            on_overflow: budget.on_overflow,
        };
        Self { left: scope.profile.budgets.iter().map(left).collect(), room: None }
    }

    /// The same, with a limit for the section that is rendered.
    #[must_use]
    pub(super) fn with_room(&self, chars: usize) -> Self {
        Self { left: self.left.clone(), room: Some(chars) }
    }

    /// The most characters of what the section shows, if it has a limit.
    #[must_use]
    pub(super) fn room(&self) -> Option<usize> {
        self.room
    }

    /// What is left of one, in its unit.
    #[must_use]
    pub(super) fn rest(&self, index: usize) -> u64 {
        self.left.get(index).map_or(u64::MAX, |left| left.rest)
    }

    /// How much of one an entry takes.
    #[must_use]
    pub(super) fn entry(&self, index: usize, text: &str) -> u64 {
        match self.left.get(index).map(|left| left.unit) {
            Some(Unit::Entries) => 1,
            _ => self.cost(index, text),
        }
    }

    /// How much of one the text around entries takes.
    #[must_use]
    pub(super) fn cost(&self, index: usize, text: &str) -> u64 {
        let cost = match self.left.get(index).map(|left| left.unit) {
            None | Some(Unit::Chars) => measure::chars(text),
            Some(Unit::Utf16) => measure::utf16(text),
            Some(Unit::Bytes) => text.len(),
            Some(Unit::Estimate) => return estimate::user_message(text),
            Some(Unit::Entries) => 0,
            Some(Unit::Tokens) => return Encoding::DEFAULT.count(text),
        };
        cost as u64
    }

    /// Takes from one.
    pub(super) fn take(&mut self, index: usize, cost: u64) {
        if let Some(left) = self.left.get_mut(index) {
            left.rest = left.rest.saturating_sub(cost);
        }
    }

    /// An entry did not fit: takes what its section used, or all, so that nothing that comes after has its place.
    pub(super) fn overflow(&mut self, index: usize, used: u64) {
        match self.left.get(index).map(|left| left.on_overflow) {
            Some(OnOverflow::NextSection) => self.take(index, used),
            _ => self.take(index, u64::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(unit: Unit, on_overflow: OnOverflow) -> Budgets {
        Budgets { left: vec![Left { rest: 10, unit, on_overflow }], room: None }
    }

    #[test]
    fn each_unit_has_its_own_cost() {
        for (unit, cost, entry) in [
            (Unit::Chars, 3, 3),
            (Unit::Utf16, 4, 4),
            (Unit::Bytes, 7, 7),
            (Unit::Entries, 0, 1),
            (Unit::Estimate, estimate::user_message("\u{e9}x\u{1f680}"), estimate::user_message("\u{e9}x\u{1f680}")),
            (
                Unit::Tokens,
                Encoding::O200kBase.count("\u{e9}x\u{1f680}"),
                Encoding::O200kBase.count("\u{e9}x\u{1f680}"),
            ),
        ] {
            let budgets = one(unit, OnOverflow::NextSection);
            let text = "\u{e9}x\u{1f680}";
            assert_eq!((budgets.cost(0, text), budgets.entry(0, text)), (cost, entry), "{unit:?}");
            assert!(cost > 0 || unit == Unit::Entries, "{unit:?}");
        }
        assert_eq!(Budgets::default().cost(0, "\u{e9}"), 1, "without a budget, characters");
    }

    #[test]
    fn what_is_taken_is_gone_and_an_overflow_takes_what_it_says() {
        let mut budgets = one(Unit::Chars, OnOverflow::NextSection);
        budgets.take(0, 4);
        assert_eq!(budgets.rest(0), 6);
        budgets.overflow(0, 1);
        assert_eq!(budgets.rest(0), 5);
        budgets.take(0, 6);
        assert_eq!(budgets.rest(0), 0);
        let mut budgets = one(Unit::Chars, OnOverflow::Close);
        budgets.overflow(0, 1);
        assert_eq!((budgets.rest(0), budgets.rest(1)), (0, u64::MAX));
    }
}
