//! The clocks: read here alone, so that every decision about time takes the time as an argument.

#![expect(clippy::disallowed_methods, reason = "this is where clocks are read")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// For measuring time.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// For what is shown.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// How long ago a file's time is, given in nanoseconds since 1970: zero where it is ahead of the clock by less than a
/// second, and `None` where it is further ahead.
pub(crate) fn age(ns: i64) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    age_at(i64::try_from(now.as_nanos()).ok()?, ns)
}

fn age_at(now: i64, ns: i64) -> Option<Duration> {
    const SKEW: i64 = 1_000_000_000;
    let past = now.saturating_sub(ns);
    (past > -SKEW).then(|| Duration::from_nanos(past.max(0).unsigned_abs()))
}

/// Any number, for jitter.
pub(crate) fn noise() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_a_little_ahead_of_the_clock_is_now_and_one_further_ahead_has_no_age() {
        const NOW: i64 = 1_700_000_000_000_000_000;
        for (ns, age) in [
            (NOW - 5, Some(5)),
            (NOW, Some(0)),
            (NOW + 999_999_999, Some(0)),
            (NOW + 1_000_000_000, None),
            (i64::MAX, None),
            (i64::MIN, Some(i64::MAX.unsigned_abs())),
        ] {
            assert_eq!(age_at(NOW, ns), age.map(Duration::from_nanos), "{ns}");
        }
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let age = age(i64::try_from(before.as_nanos()).unwrap()).unwrap();
        assert!(before + age <= SystemTime::now().duration_since(UNIX_EPOCH).unwrap(), "{age:?}");
    }
}
