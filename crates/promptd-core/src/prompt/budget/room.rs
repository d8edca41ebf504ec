//! What a prompt's own budget leaves for its sections.

use std::{cell::Cell, collections::BTreeMap};

use crate::budget::BudgetUnit;

/// What a section may take.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    pub max: usize,
    pub unit: BudgetUnit,
    /// How it was computed, for a person.
    pub reason: String,
    /// Whether the section's own ceiling is what limits it.
    pub is_ceiling: bool,
}

/// What the sections of a prompt may take; those that are not here have no limit.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    /// By section id.
    pub sections: BTreeMap<String, Room>,
    pub conversation: Option<Room>,
    /// The estimated tokens that keep the conversation within its room, once they are found.
    pub trim: Cell<Option<u64>>,
}
