//! Every look at a clock.

use std::time::{Duration, Instant, SystemTime};

#[expect(clippy::disallowed_methods, reason = "this is where clocks are read")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Milliseconds since 1970-01-01T00:00:00Z.
#[expect(clippy::disallowed_methods, reason = "this is where clocks are read")]
pub(crate) fn milliseconds() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
