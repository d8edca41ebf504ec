//! Teams of a card game, for the profile `kai-splinterlands`: which cards a match admits, how they are numbered, and what is
//! wrong with a team.
//!
//! The prompt and the reader of its replies number the same inputs by the same code, so that an id means the same card.

mod card;
mod roster;
mod rules;
mod rulesets;

pub(crate) use self::{
    card::{Card, RawCard},
    roster::{FIRST_MONSTER, Match, Roster},
    rules::Team,
    rulesets::team_size,
};
