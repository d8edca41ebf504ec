//! Canaries: two live revisions of a workspace, and which of them a turn gets.
//!
//! A share of the turns gets the candidate, the others what they got before, the stable side. It is decided by a key of the turn,
//! such as the user's id, so that whoever has begun on one side stays there.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::turn::Turn;

/// How many buckets keys are put into: a share is counted in them, so that one is 0.01 %.
pub const BUCKETS: u32 = 10_000;
/// The most characters of a salt.
pub const MAX_SALT_CHARS: usize = 64;

/// Which turns get the candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    share: Share,
    by: Key,
    salt: String,
}

/// One of two live revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What all turns got before the canary.
    Stable,
    /// What is tried out.
    Candidate,
}

impl Side {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stable, Self::Candidate];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Candidate => "candidate",
        }
    }
}

impl Canary {
    /// Checks the salt: 1 to 64 printable ASCII characters.
    pub fn new(share: Share, by: Key, salt: impl Into<String>) -> Result<Self, String> {
        let salt = salt.into();
        if salt.is_empty() || salt.len() > MAX_SALT_CHARS || !salt.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("a salt has 1 to {MAX_SALT_CHARS} printable ASCII characters, and no space"));
        }
        Ok(Self { share, by, salt })
    }

    /// The side of a turn; `session` is the stored session that it names. A turn without the key gets the stable side.
    #[must_use]
    pub fn side(&self, turn: &Turn, session: Option<&str>) -> Side {
        match self.by.of(turn, session) {
            Some(key) if bucket(&self.salt, key) < self.share.0 => Side::Candidate,
            _ => Side::Stable,
        }
    }

    /// How many of the buckets get the candidate.
    #[must_use]
    pub fn share(&self) -> Share {
        self.share
    }

    /// What decides.
    #[must_use]
    pub fn by(&self) -> Key {
        self.by
    }

    /// What keys are hashed with, so that each canary has other turns.
    #[must_use]
    pub fn salt(&self) -> &str {
        &self.salt
    }
}

/// The bucket of a key: the SHA-256 of `SALT:KEY`, read as one number, modulo [`BUCKETS`].
#[must_use]
pub fn bucket(salt: &str, key: &str) -> u32 {
    let digest = Sha256::new().chain_update(salt).chain_update(":").chain_update(key).finalize();
    digest.iter().fold(0, |rest, byte| (rest * 256 + u32::from(*byte)) % BUCKETS)
}

/// A share of all keys, in buckets: 1 to 10,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u32);

impl Share {
    /// `None`: there is no such share.
    #[must_use]
    pub fn of_buckets(buckets: u32) -> Option<Self> {
        (1..=BUCKETS).contains(&buckets).then_some(Self(buckets))
    }

    /// Reads a share such as `10%`, `2.5%` or `0.01%`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wanted = || "a share from 0.01% to 100% with two decimals at most, such as 10% or 2.5%".to_owned();
        let number = text.strip_suffix('%').ok_or_else(wanted)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |digits: &str, most: usize| {
            (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !is_number(whole, 3) || !is_number(decimals, 2) {
            return Err(wanted());
        }
        let buckets = format!("{whole}{decimals:0<2}").parse().map_err(|_| wanted())?;
        Self::of_buckets(buckets).ok_or_else(wanted)
    }

    /// In buckets.
    #[must_use]
    pub fn buckets(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:02}", self.0 / 100, self.0 % 100);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The field of a turn that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The user's id.
    UserId,
    /// The user's id on the channel.
    ChannelUserId,
    /// The group's id.
    ChannelGroupId,
    /// The id of the stored session.
    SessionId,
}

impl Key {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::UserId, Self::ChannelUserId, Self::ChannelGroupId, Self::SessionId];

    /// The key of this name: that of the field of a turn.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UserId => "user.id",
            Self::ChannelUserId => "channel.user_id",
            Self::ChannelGroupId => "channel.group_id",
            Self::SessionId => "session_id",
        }
    }

    /// What a turn has there; `None`: nothing.
    fn of<'t>(self, turn: &'t Turn, session: Option<&'t str>) -> Option<&'t str> {
        let channel = turn.channel.as_ref();
        let value = match self {
            Self::UserId => turn.user.as_ref().map(|user| user.id.as_str()),
            Self::ChannelUserId => channel.map(|channel| channel.user_id.as_str()),
            Self::ChannelGroupId => channel.map(|channel| channel.group_id.as_str()),
            Self::SessionId => session,
        };
        value.filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::{Channel, User};

    fn turn() -> Turn {
        Turn::at("2026-11-29T12:00:00Z".parse().unwrap())
    }

    fn of_user(id: &str) -> Turn {
        Turn { user: Some(User { id: id.to_owned(), name: String::new() }), ..turn() }
    }

    #[test]
    fn a_share_has_two_decimals_at_most_and_is_written_as_it_is_read() {
        for (text, buckets) in [("10%", 1_000), ("0.01%", 1), ("2.5%", 250), ("12.34%", 1_234), ("100%", 10_000)] {
            let share = Share::parse(text).unwrap();
            assert_eq!((share.buckets(), share.to_string().as_str()), (buckets, text));
        }
        assert_eq!(Share::parse("07.50%").unwrap().to_string(), "7.5%");
        for bad in
            ["", "%", "10", "0%", "0.00%", "100.01%", "0.001%", "-1%", "+1%", "1.%", ".5%", "1e1%", "10 %", "1000%"]
        {
            assert!(Share::parse(bad).is_err(), "{bad}");
        }
    }

    /// The buckets are part of what docs/fleet.md promises: they never change.
    #[test]
    fn a_bucket_is_the_hash_of_salt_and_key_as_a_number() {
        for (salt, key, number) in [
            ("s", "user-1", 4_293),
            ("5b4235468db4a0c1", "dana", 8_414),
            ("s", "", 8_335),
            ("salt:with", "k:ey", 695),
            ("s", "Zoë 🦀", 3_084),
        ] {
            assert_eq!(bucket(salt, key), number, "{salt}:{key}");
        }
    }

    #[test]
    fn about_as_many_keys_as_the_share_says_get_the_candidate_and_each_stays() {
        let canary = Canary::new(Share::parse("10%").unwrap(), Key::UserId, "s").unwrap();
        let wider = Canary::new(Share::parse("20%").unwrap(), Key::UserId, "s").unwrap();
        let mut candidates = 0;
        for number in 0..10_000 {
            let turn = of_user(&format!("user-{number}"));
            let side = canary.side(&turn, None);
            assert_eq!(
                side,
                canary.side(&Turn { heartbeat: true, ..turn.clone() }, Some("any")),
                "nothing else decides"
            );
            if side == Side::Candidate {
                candidates += 1;
                assert_eq!(wider.side(&turn, None), Side::Candidate, "a larger share has all of a smaller one");
            }
        }
        assert!((900..1_100).contains(&candidates), "{candidates}");
    }

    #[test]
    fn a_turn_without_the_key_gets_the_stable_side() {
        let channel = Channel { user_id: "a".to_owned(), group_id: "b".to_owned(), ..Channel::default() };
        let everything = Turn { channel: Some(channel), ..of_user("c") };
        for by in Key::ALL {
            assert_eq!(Key::parse(by.name()), Some(by));
            let canary = Canary::new(Share::of_buckets(BUCKETS).unwrap(), by, "s").unwrap();
            assert_eq!(canary.side(&everything, Some("d")), Side::Candidate, "{by:?}");
            assert_eq!(canary.side(&turn(), None), Side::Stable, "{by:?}");
        }
        let by_user = Canary::new(Share::of_buckets(BUCKETS).unwrap(), Key::UserId, "s").unwrap();
        assert_eq!(by_user.side(&of_user(""), None), Side::Stable);
    }

    #[test]
    fn a_salt_is_short_and_printable() {
        let of = |salt: &str| Canary::new(Share::of_buckets(1).unwrap(), Key::UserId, salt).is_ok();
        assert!(of("a") && of(&"x".repeat(64)));
        assert!(!of("") && !of("a b") && !of("ä") && !of(&"x".repeat(65)));
    }
}
