//! Which units of a conversation are carried: the newest, and always the newest message of the user. A window that leaves
//! something out never begins with a call of tools while it has anything else: its user's message is not there.

use super::units::Unit;

/// The units that are carried: those from `start` on, and before them the newest message of the user.
///
/// A reply to nothing is of no use, and providers refuse a request without a message of the user: where tools were called
/// more often than a window or a budget holds, that message stays and what lies between is left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub start: usize,
    /// A unit before `start`.
    pub users: Option<usize>,
}

impl Cut {
    /// The units of the `newest` messages; `None`: all. The newest unit is never divided, so that there may be more.
    pub(super) fn window(units: &[Unit], newest: Option<u64>, is_users: impl Fn(&Unit) -> bool) -> Self {
        let newest = newest.map_or(usize::MAX, |newest| usize::try_from(newest).unwrap_or(usize::MAX));
        // Only a profile that says so carries nothing.
        if newest == 0 {
            return Self { start: units.len(), users: None };
        }
        let start = starts_within(units, newest);
        let mut cut = Self { start, users: users_before(units, start, is_users) };
        if cut.users.is_some() {
            cut.start = starts_within(units, newest.saturating_sub(1).max(1));
        }
        cut.skip_calls(units);
        cut
    }

    /// Begins with a message that calls no tool, if there is one.
    fn skip_calls(&mut self, units: &[Unit]) {
        if self.start > 0 && self.users.is_none() {
            let others = units[self.start..].iter().position(|unit| unit.results.is_empty());
            self.start += others.unwrap_or(0);
        }
    }

    /// Leaves `count` more units out at the front, and returns how many messages that are.
    pub(super) fn trim(&mut self, units: &[Unit], count: usize, is_users: impl Fn(&Unit) -> bool) -> usize {
        let before = self.of(units).map(Unit::len).sum::<usize>();
        self.start += count;
        if self.users.is_none() && count > 0 {
            self.users = users_before(units, self.start, is_users);
            self.skip_calls(units);
        }
        before - self.of(units).map(Unit::len).sum::<usize>()
    }

    /// Of one value a unit, those of the units that are carried, in order.
    pub(super) fn of<'u, T>(&self, all: &'u [T]) -> impl Iterator<Item = &'u T> {
        self.users.map(|index| &all[index]).into_iter().chain(&all[self.start..])
    }

    /// The units before the first that is carried.
    pub(super) fn before<'u>(&self, units: &'u [Unit]) -> impl Iterator<Item = &'u Unit> {
        units[..self.users.unwrap_or(self.start)].iter()
    }

    /// The units between the newest message of the user and those that follow it here: a part of its own turn.
    pub(super) fn divided<'u>(&self, units: &'u [Unit]) -> &'u [Unit] {
        self.users.map_or(&[], |users| &units[users + 1..self.start])
    }

    /// Of one value a unit, those of the units that are not carried.
    pub(super) fn left_out<'u, T>(&self, all: &'u [T]) -> impl Iterator<Item = &'u T> {
        let users = self.users;
        all[..self.start].iter().enumerate().filter(move |(index, _)| Some(*index) != users).map(|(_, value)| value)
    }
}

/// Where the units begin of which all fit into `limit` messages; the last one counts as fitting.
fn starts_within(units: &[Unit], limit: usize) -> usize {
    let mut count = 0;
    let fits = |unit: &&Unit| {
        let is_last = count == 0;
        count += unit.len();
        is_last || count <= limit
    };
    units.len() - units.iter().rev().take_while(fits).count()
}

/// The newest message of the user, where none is at `start` or after it.
fn users_before(units: &[Unit], start: usize, is_users: impl Fn(&Unit) -> bool) -> Option<usize> {
    units.iter().rposition(is_users).filter(|&index| index < start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Units as a text: `u` is the user's message, `a` another one, a digit a call with that many results.
    fn units(text: &str) -> (Vec<Unit>, Vec<bool>) {
        let mut next = 0;
        let mut units = Vec::new();
        for c in text.chars() {
            let results = c.to_digit(10).map_or(0, |digit| digit as usize);
            units.push(Unit { message: next, results: (next + 1..=next + results).collect() });
            next += 1 + results;
        }
        (units, text.chars().map(|c| c == 'u').collect())
    }

    fn is_users<'u>(units: &'u [Unit], users: &'u [bool]) -> impl Fn(&Unit) -> bool + 'u {
        |unit| users[units.iter().position(|other| other == unit).unwrap()]
    }

    #[test]
    fn a_window_is_the_newest_units_with_the_newest_message_of_the_user() {
        for (why, text, newest, start, pinned) in [
            ("all", "uaua", None, 0, None),
            ("all fit", "uaua", Some(4), 0, None),
            ("one too many", "uauau", Some(4), 1, None),
            ("the last one", "uauau", Some(1), 4, None),
            ("none", "uau", Some(0), 3, None),
            ("a call is not divided from its results", "u2u", Some(3), 2, None),
            ("a call that fits, but not its user's message", "u2u", Some(4), 2, None),
            ("results larger than the window stay with the user's message", "u9", Some(5), 1, Some(0)),
            ("many calls after the user's message", "ua1111", Some(4), 5, Some(0)),
            ("many calls that fill the window with it", "ua1111", Some(5), 4, Some(0)),
            ("of two messages the newer", "uau11", Some(4), 4, Some(2)),
            ("a window of one holds the newest unit and the user's message", "ua", Some(1), 1, Some(0)),
            ("no message of the user", "a11", Some(2), 2, None),
            ("nothing", "", Some(2), 0, None),
            ("no call at the beginning", "u1a1ua", Some(4), 4, None),
            ("but another message", "u1a1ua", Some(5), 2, None),
            ("unless there is nothing else", "11", Some(2), 1, None),
            ("or all are carried", "1ua", Some(9), 0, None),
        ] {
            let (units, users) = units(text);
            assert_eq!(Cut::window(&units, newest, is_users(&units, &users)), Cut { start, users: pinned }, "{why}");
        }
    }

    #[test]
    fn trimming_keeps_the_newest_message_of_the_user() {
        for (why, text, count, pinned, left_out) in [
            ("nothing", "ua1", 0, None, 0),
            ("before it", "uau1", 2, None, 2),
            ("it and a call", "ua1", 2, Some(0), 1),
            ("another one", "uua11", 4, Some(1), 4),
            ("not to begin with a call", "u1u1", 1, None, 3),
        ] {
            let (units, users) = units(text);
            let mut cut = Cut::window(&units, None, is_users(&units, &users));
            assert_eq!(cut.trim(&units, count, is_users(&units, &users)), left_out, "{why}");
            let start = if why == "not to begin with a call" { 2 } else { count };
            assert_eq!(cut, Cut { start, users: pinned }, "{why}");
        }
    }

    #[test]
    fn what_a_turn_loses_lies_between_its_user_and_its_newest_calls() {
        for (text, newest, lost) in [("ua1111", 4, 4), ("ua1111", 5, 3), ("uau11", 4, 1), ("u1", 1, 0), ("uaua", 2, 0)]
        {
            let (units, users) = units(text);
            assert_eq!(
                Cut::window(&units, Some(newest), is_users(&units, &users)).divided(&units).len(),
                lost,
                "{text}"
            );
        }
    }
}
