//! The clocks: read here alone.

#![expect(clippy::disallowed_methods, reason = "this is where clocks are read")]

use jiff::Timestamp;

/// For what is old, and for what is shown.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}
