//! The clocks: read here alone.

#![expect(clippy::disallowed_methods, reason = "this is where clocks are read")]

use std::time::Instant;

use jiff::Timestamp;

/// For measuring time.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// For what is old.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}
