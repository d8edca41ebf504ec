//! A limit on a whole prompt, and what its sections have of it.

use std::{collections::BTreeMap, fmt};

use crate::{
    text::{measure::chars, thousands},
    tokens::Encoding,
};

/// The most that a prompt may take, its conversation included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptBudget {
    /// How much, 1 or more.
    pub max: u32,
    /// Of what.
    pub unit: BudgetUnit,
}

/// What a budget counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetUnit {
    /// Tokens of an encoding.
    Tokens(Encoding),
    /// Unicode scalar values.
    Chars,
}

/// `budget` in `workspace.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceBudget {
    /// Absent: only a turn that brings a budget has one.
    pub limit: Option<PromptBudget>,
    /// By the id of a section, or `conversation`.
    pub sections: BTreeMap<String, SectionRule>,
}

/// What a section has of a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SectionRule {
    /// How much it gets before any other gets more than its own floor.
    pub floor: usize,
    /// The most that it gets.
    pub ceiling: Option<usize>,
    /// Sections of a higher number get what they need before the others.
    pub priority: Option<u32>,
    /// Whether it is never cut.
    pub is_pinned: bool,
}

impl SectionRule {
    /// The priority of a section that has none of its own.
    pub const PRIORITY: u32 = 50;
    /// The highest priority.
    pub const MAX_PRIORITY: u32 = 100;
}

impl BudgetUnit {
    /// How much a text takes.
    #[must_use]
    pub fn size(self, text: &str) -> usize {
        match self {
            Self::Chars => chars(text),
            Self::Tokens(encoding) => usize::try_from(encoding.count(text)).unwrap_or(usize::MAX),
        }
    }
}

impl fmt::Display for BudgetUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chars => f.write_str("characters"),
            Self::Tokens(encoding) => write!(f, "tokens of {}", encoding.as_str()),
        }
    }
}

impl fmt::Display for PromptBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", thousands(self.max.into()), self.unit)
    }
}

/// The limits that hold where a workspace and a turn each may have one: the smaller of two of one unit, else both, the
/// workspace's first. A turn's can only narrow.
#[must_use]
pub fn in_force(workspace: Option<PromptBudget>, turn: Option<PromptBudget>) -> Vec<PromptBudget> {
    match (workspace, turn) {
        (Some(own), Some(turn)) if own.unit == turn.unit => {
            vec![PromptBudget { max: own.max.min(turn.max), unit: own.unit }]
        }
        (own, turn) => own.into_iter().chain(turn).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_only_narrows() {
        let tokens = |max| PromptBudget { max, unit: BudgetUnit::Tokens(Encoding::O200kBase) };
        let chars = PromptBudget { max: 1, unit: BudgetUnit::Chars };
        for (workspace, turn, expected) in [
            (None, None, vec![]),
            (Some(tokens(5)), None, vec![tokens(5)]),
            (None, Some(tokens(5)), vec![tokens(5)]),
            (Some(tokens(5)), Some(tokens(9)), vec![tokens(5)]),
            (Some(tokens(9)), Some(tokens(5)), vec![tokens(5)]),
            (Some(tokens(9)), Some(chars), vec![tokens(9), chars]),
        ] {
            assert_eq!(in_force(workspace, turn), expected);
        }
    }
}
