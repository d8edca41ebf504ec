//! Limits that sections share: what is left of each as a prompt is assembled.

pub(super) mod estimate;

use super::scope::TurnScope;
use crate::{
    profile::{Budget, OnOverflow, Unit},
    text::measure,
    tokens::Encoding,
};

/// What is left of every budget of a profile.
#[derive(Debug, Clone, Default)]
pub(super) struct Budgets(Vec<Left>);

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
        Self(scope.profile.budgets.iter().map(left).collect())
    }

    /// What is left of one, in its unit.
    #[must_use]
    pub(super) fn rest(&self, index: usize) -> u64 {
        self.0.get(index).map_or(u64::MAX, |left| left.rest)
    }

    /// How much of one an entry takes.
    #[must_use]
    pub(super) fn entry(&self, index: usize, text: &str) -> u64 {
        match self.0.get(index).map(|left| left.unit) {
            Some(Unit::Entries) => 1,
            _ => self.cost(index, text),
        }
    }

    /// How much of one the text around entries takes.
    #[must_use]
    pub(super) fn cost(&self, index: usize, text: &str) -> u64 {
        let cost = match self.0.get(index).map(|left| left.unit) {
            None | Some(Unit::Chars) => measure::chars(text),
            Some(Unit::Utf16) => measure::utf16(text),
            Some(Unit::Bytes) => text.len(),
            Some(Unit::Estimate) => return estimate::user_message(text),
            Some(Unit::Entries) => 0,
            Some(Unit::Tokens) => return Encoding::O200kBase.count(text),
        };
        cost as u64
    }

    /// Takes from one.
    pub(super) fn take(&mut self, index: usize, cost: u64) {
        if let Some(left) = self.0.get_mut(index) {
            left.rest = left.rest.saturating_sub(cost);
        }
    }

    /// An entry did not fit: takes what its section used, or all, so that nothing that comes after has its place.
    pub(super) fn overflow(&mut self, index: usize, used: u64) {
        match self.0.get(index).map(|left| left.on_overflow) {
            Some(OnOverflow::NextSection) => self.take(index, used),
            _ => self.take(index, u64::MAX),
        }
    }
}
