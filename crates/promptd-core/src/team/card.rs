//! One card at its level.

use serde::{Deserialize, Serialize};

/// The edition whose cards are gladiators.
const GLADIATORS: i64 = 6;

/// Every colour of a card, and the splinter that it means.
const SPLINTERS: [(&str, &str); 7] = [
    ("Red", "Fire"),
    ("Blue", "Water"),
    ("Green", "Earth"),
    ("White", "Life"),
    ("Black", "Death"),
    ("Gold", "Dragon"),
    (NEUTRAL, "Neutral"),
];

/// The colour that goes with every other.
pub(super) const NEUTRAL: &str = "Gray";
/// The colour whose summoner takes allies of one colour.
pub(super) const DRAGON: &str = "Gold";
/// The ability of a summoner that admits a gladiator.
const CONSCRIPT: &str = "Conscript";

/// A card as the inputs have it; stats are lists by level.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RawCard {
    uid: String,
    detail_id: Option<i64>,
    name: Option<String>,
    color: String,
    rarity: i64,
    edition: i64,
    level: i64,
    mana: Vec<i64>,
    attack: Vec<i64>,
    ranged: Vec<i64>,
    magic: Vec<i64>,
    armor: Vec<i64>,
    health: Vec<i64>,
    speed: Vec<i64>,
    /// A monster's, by level.
    tiers: Vec<Vec<String>>,
    /// A summoner's.
    abilities: Vec<String>,
    buffs: Buffs,
}

/// What a summoner adds to every monster.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Buffs {
    attack: i64,
    ranged: i64,
    magic: i64,
    armor: i64,
    health: i64,
    speed: i64,
}

/// A card at its level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Card {
    pub uid: String,
    #[serde(skip)]
    pub detail_id: Option<i64>,
    pub name: String,
    pub color: String,
    pub splinter: String,
    #[serde(skip)]
    pub rarity: i64,
    pub mana: i64,
    /// `melee`, `ranged`, `magic` or `none`.
    pub attack_type: &'static str,
    pub attack: i64,
    pub speed: i64,
    pub armor: i64,
    pub health: i64,
    pub abilities: Vec<String>,
    /// Such as `+1 speed`; of a summoner.
    pub buffs: Vec<String>,
    pub is_gladiator: bool,
    pub is_conscript: bool,
}

impl From<RawCard> for Card {
    fn from(raw: RawCard) -> Self {
        let level = usize::try_from(raw.level.max(1)).unwrap_or(usize::MAX);
        let at = |by_level: &[i64]| by_level.get(level - 1).or(by_level.last()).copied().unwrap_or(0);
        let attacks = [("melee", at(&raw.attack)), ("ranged", at(&raw.ranged)), ("magic", at(&raw.magic))];
        let mut abilities = raw.abilities;
        for ability in raw.tiers.into_iter().take(level).flatten() {
            if !ability.trim().is_empty() && !abilities.contains(&ability) {
                abilities.push(ability);
            }
        }
        Self {
            uid: raw.uid,
            detail_id: raw.detail_id,
            name: raw.name.unwrap_or_else(|| "?".into()),
            splinter: twin(&raw.color).unwrap_or(&raw.color).to_owned(),
            color: raw.color,
            rarity: raw.rarity,
            mana: at(&raw.mana),
            attack_type: attacks.iter().find(|(_, power)| *power > 0).map_or("none", |(name, _)| name),
            attack: attacks.iter().map(|(_, power)| *power).max().unwrap_or(0),
            speed: at(&raw.speed),
            armor: at(&raw.armor),
            health: at(&raw.health),
            is_conscript: abilities.iter().any(|ability| ability == CONSCRIPT),
            abilities,
            buffs: raw.buffs.shown(),
            is_gladiator: raw.edition == GLADIATORS,
        }
    }
}

impl Buffs {
    fn shown(&self) -> Vec<String> {
        let Self { attack, ranged, magic, armor, health, speed } = *self;
        let all = [
            ("attack", attack),
            ("ranged", ranged),
            ("magic", magic),
            ("armor", armor),
            ("health", health),
            ("speed", speed),
        ];
        all.iter().filter(|(_, amount)| *amount != 0).map(|(name, amount)| format!("{amount:+} {name}")).collect()
    }
}

/// The splinter of a colour, or the colour of a splinter.
pub(super) fn twin(name: &str) -> Option<&'static str> {
    SPLINTERS.iter().find_map(|&(color, splinter)| match name {
        _ if name == color => Some(splinter),
        _ if name == splinter => Some(color),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card(raw: serde_json::Value) -> Card {
        serde_json::from_value::<RawCard>(raw).unwrap().into()
    }

    #[test]
    fn stats_are_those_of_the_level_or_of_the_last_that_is_given() {
        for (level, mana, abilities) in [(0, 3, 1), (1, 3, 1), (2, 4, 2), (3, 5, 3), (9, 5, 3)] {
            let tiers = json!([["Sneak"], ["", "Sneak", "Dodge"], ["Heal"]]);
            let card = card(json!({ "level": level, "mana": [3, 4, 5], "tiers": tiers }));
            assert_eq!((card.mana, card.abilities.len()), (mana, abilities), "{level}");
        }
        assert_eq!(card(json!({})).mana, 0);
    }

    #[test]
    fn an_attack_is_of_the_first_kind_and_of_the_greatest_power() {
        for (attack, ranged, magic, shown) in
            [(0, 0, 0, ("none", 0)), (2, 0, 3, ("melee", 3)), (0, 1, 4, ("ranged", 4)), (0, 0, 1, ("magic", 1))]
        {
            let card = card(json!({ "attack": [attack], "ranged": [ranged], "magic": [magic] }));
            assert_eq!((card.attack_type, card.attack), shown);
        }
    }

    #[test]
    fn colours_have_their_splinters() {
        for (color, splinter) in [("Red", "Fire"), ("Gray", "Neutral"), ("Pink", "Pink"), ("", "")] {
            assert_eq!(card(json!({ "color": color })).splinter, splinter);
        }
        assert_eq!((twin("Water"), twin("Blue"), twin("red")), (Some("Blue"), Some("Water"), None));
    }
}
