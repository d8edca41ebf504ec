//! Rulesets of a match: which cards they keep out, and how large a team may be.

use super::card::{Card, NEUTRAL};

/// The names in a list that is separated by `|`.
pub(super) fn names(rulesets: &str) -> impl Iterator<Item = &str> {
    rulesets.split('|').map(str::trim).filter(|name| !name.is_empty())
}

/// The most monsters of a team: `most`, unless a ruleset admits fewer.
pub(crate) fn team_size(rulesets: &str, most: i64) -> i64 {
    let of = |name: &str| match name {
        "Four's a Crowd" | "FabFour" => Some(4),
        "High Five" | "FiveAlive" => Some(5),
        _ => None,
    };
    names(rulesets).filter_map(of).fold(most, i64::min)
}

/// Whether a ruleset admits a monster.
pub(super) fn admits_monster(ruleset: &str, card: &Card) -> bool {
    match ruleset {
        "Keep Your Distance" => card.attack_type != "melee",
        "Broken Arrows" => card.attack_type != "ranged",
        "Lost Magic" => card.attack_type != "magic",
        "Up Close & Personal" => card.attack_type == "melee",
        "Going the Distance" => card.attack_type == "ranged",
        "Wands Out" => card.attack_type == "magic",
        "Might Makes Right" => card.attack >= 3,
        "Shades of Gray" => card.color == NEUTRAL,
        "Need for Speed" => card.speed >= 3,
        "Heavy Metal" => card.armor > 0,
        "Beefcakes" => card.health >= 5,
        _ => admits(ruleset, card),
    }
}

/// Whether a ruleset admits a card, summoner or monster.
pub(super) fn admits(ruleset: &str, card: &Card) -> bool {
    const RARE: i64 = 2;
    const LEGENDARY: i64 = 4;
    let is_common = !(RARE..=LEGENDARY).contains(&card.rarity);
    match ruleset {
        "Lost Legendaries" => card.rarity != LEGENDARY,
        "Rise of the Commons" => is_common || card.rarity == RARE,
        "Elite Force" => !is_common,
        "Even Stevens" => card.mana % 2 == 0,
        "Odd Ones Out" => card.mana % 2 != 0,
        "Little League" => card.mana <= 4,
        "Junior Varsity" => card.mana <= 6,
        "Taking Sides" => card.color != NEUTRAL,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_team_wins() {
        for (rulesets, size) in [
            ("", 6),
            ("Standard", 6),
            (" High Five ", 5),
            ("FiveAlive|FabFour", 4),
            ("Four's a Crowd|High Five", 4),
            ("four's a crowd", 6),
        ] {
            assert_eq!(team_size(rulesets, 6), size, "{rulesets}");
        }
        assert_eq!(team_size("High Five", 3), 3);
    }
}
