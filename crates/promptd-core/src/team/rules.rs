//! What is wrong with a team.

use std::collections::HashSet;

use super::{
    card::{Card, DRAGON, NEUTRAL},
    roster::{Match, Roster},
    rulesets::team_size,
};

/// A team of cards of a roster.
#[derive(Debug)]
pub(crate) struct Team<'r> {
    /// With its number.
    pub summoner: (u64, &'r Card),
    /// As chosen, so perhaps one of them twice; with their numbers.
    pub monsters: Vec<(u64, &'r Card)>,
}

impl<'r> Team<'r> {
    /// The cards with these numbers, from 1; a monster without a card is left out. `None`: there is no such summoner, or no
    /// monster.
    pub(crate) fn of(roster: &'r Roster, summoner: u64, monsters: &[u64]) -> Option<Self> {
        let card = |cards: &'r [Card], number: u64| cards.get(usize::try_from(number.checked_sub(1)?).ok()?);
        let summoner = (summoner, card(&roster.summoners, summoner)?);
        let monsters = monsters.iter().filter_map(|&number| Some((number, card(&roster.monsters, number)?)));
        let monsters: Vec<_> = monsters.collect();
        (!monsters.is_empty()).then_some(Self { summoner, monsters })
    }

    pub(crate) fn mana(&self) -> i64 {
        self.cards().fold(self.summoner.1.mana, |sum, card| sum.saturating_add(card.mana))
    }

    fn cards(&self) -> impl Iterator<Item = &'r Card> {
        self.monsters.iter().map(|(_, card)| *card)
    }

    /// What the game would refuse, in the order in which the picker looks for it.
    pub(crate) fn issues(&self, of: &Match) -> Vec<String> {
        let mut issues = Vec::new();
        if self.mana() > of.mana_cap {
            issues.push(format!("the team takes {} mana of at most {}", self.mana(), of.mana_cap));
        }
        let (count, most) = (self.monsters.len(), team_size(&of.ruleset, of.max_monsters));
        if i64::try_from(count).is_ok_and(|count| count > most) {
            issues.push(format!("the team has {count} monsters of at most {most}"));
        }
        self.colors(&mut issues);
        let gladiators = self.cards().filter(|card| card.is_gladiator).count();
        let most = usize::from(self.summoner.1.is_conscript);
        if gladiators > most {
            issues.push(format!("the team has {gladiators} gladiators of at most {most}"));
        }
        let mut seen = HashSet::new();
        let twice = self.monsters.iter().filter(|(number, _)| !seen.insert(number)).count();
        if twice > 0 {
            issues.push(format!("the team has {twice} monsters twice"));
        }
        issues
    }

    /// A summoner goes with its own colour and Neutral; that of Dragon with Dragon, Neutral and one other colour.
    fn colors(&self, issues: &mut Vec<String>) {
        let mut allies: Vec<&str> = Vec::new();
        let mut seen = HashSet::from([NEUTRAL, DRAGON]);
        allies.extend(self.cards().map(|card| card.color.as_str()).filter(|color| seen.insert(*color)));
        let is_dragon = self.summoner.1.color == DRAGON;
        if is_dragon && allies.len() > 1 {
            issues.push(format!("a Dragon summoner has allies of one colour, not of {}", one_line(&allies.join(", "))));
        }
        let fits = |color: &str| match color {
            NEUTRAL => true,
            DRAGON if is_dragon => true,
            _ if is_dragon => allies.len() == 1,
            _ => color == self.summoner.1.color,
        };
        for card in self.cards().filter(|card| !fits(&card.color)) {
            issues.push(format!(
                "{} is of {}, which the summoner cannot lead",
                one_line(&card.name),
                one_line(&card.splinter)
            ));
        }
    }
}

/// A caller's text for a message.
fn one_line(text: &str) -> String {
    const MAX_CHARS: usize = 64;
    crate::text::shorten(text, MAX_CHARS).into()
}
