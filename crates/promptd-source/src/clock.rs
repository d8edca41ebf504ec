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
    const SKEW: i64 = 1_000_000_000;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let past = i64::try_from(now.as_nanos()).ok()? - ns;
    (past > -SKEW).then(|| Duration::from_nanos(past.max(0).unsigned_abs()))
}

/// Any number, for jitter.
pub(crate) fn noise() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.subsec_nanos())
}
