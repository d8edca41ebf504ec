//! The cards that a match admits, numbered.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    card::{Card, DRAGON, NEUTRAL, RawCard, twin},
    rulesets,
};

/// What the number of the first monster is in the list of all ids, less one.
pub(crate) const FIRST_MONSTER: u64 = 1000;

/// The inputs of a match.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Match {
    pub(super) summoners: Vec<RawCard>,
    pub(super) monsters: Vec<RawCard>,
    pub(super) ruleset: String,
    pub(super) inactive: String,
    pub(super) mana_cap: i64,
    pub(super) max_monsters: i64,
}

/// The cards that a team can be made of, each at the place that its number names, from 1.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    pub summoners: Vec<Card>,
    pub monsters: Vec<Card>,
}

impl Roster {
    pub(crate) fn new(summoners: Vec<RawCard>, monsters: Vec<RawCard>, ruleset: &str, inactive: &str) -> Self {
        let inactive: Vec<&str> = inactive.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let inactive: HashSet<&str> =
            inactive.iter().copied().chain(inactive.iter().filter_map(|name| twin(name))).collect();
        let rulesets: HashSet<&str> = rulesets::names(ruleset).collect();
        let is_active =
            |card: &Card| !inactive.contains(card.color.as_str()) && !inactive.contains(card.splinter.as_str());
        let cards = |raw: Vec<RawCard>| raw.into_iter().map(Card::from).filter(is_active);

        let admitted = |card: &Card| rulesets.iter().all(|ruleset| rulesets::admits(ruleset, card));
        let summoners: Vec<Card> = cards(summoners).filter(admitted).collect();
        let has_conscript = summoners.iter().any(|card| card.is_conscript);
        let summoners = first_of_each(summoners.into_iter());
        let colors: HashSet<&str> = summoners.iter().map(|card| card.color.as_str()).collect();
        let is_playable =
            |card: &Card| card.color == NEUTRAL || colors.contains(DRAGON) || colors.contains(card.color.as_str());
        let admitted = |card: &Card| rulesets.iter().all(|ruleset| rulesets::admits_monster(ruleset, card));
        let monsters = cards(monsters).filter(admitted).filter(|card| has_conscript || !card.is_gladiator);
        let mut monsters = first_of_each(monsters);
        monsters.retain(is_playable);
        Self { summoners, monsters }
    }

    /// Every id with its card's `uid`: the number of a summoner, and of a monster plus 1000.
    pub(crate) fn ids(&self) -> Map<String, Value> {
        let summoners = (1..).zip(&self.summoners);
        let monsters = (FIRST_MONSTER + 1..).zip(&self.monsters);
        summoners.chain(monsters).map(|(id, card): (u64, &Card)| (id.to_string(), card.uid.clone().into())).collect()
    }
}

impl Match {
    /// The roster; the cards are taken.
    pub(crate) fn take_roster(&mut self) -> Roster {
        let (summoners, monsters) = (std::mem::take(&mut self.summoners), std::mem::take(&mut self.monsters));
        Roster::new(summoners, monsters, &self.ruleset, &self.inactive)
    }
}

/// Of cards with one `detail_id` the first.
fn first_of_each(cards: impl Iterator<Item = Card>) -> Vec<Card> {
    let mut seen = HashSet::new();
    cards.filter(|card| card.detail_id.is_none_or(|id| seen.insert(id))).collect()
}
