//! The contract's enums for the core's.

use crate::proto;
use promptd_core::{finding::Severity, profile::Stability, prompt::Outcome, turn::Role};

macro_rules! same_names {
    ($($name:ident: $from:ty { $($variant:ident),+ })+) => {$(
        impl From<$from> for proto::$name {
            fn from(value: $from) -> Self {
                match value { $(<$from>::$variant => Self::$variant,)+ }
            }
        }
    )+};
}

same_names! {
    Role: Role { System, User, Assistant, Tool }
    Outcome: Outcome { Included, Truncated, Omitted, Dropped }
    Stability: Stability { Stable, Session, Volatile }
    Severity: Severity { Info, Warning, Error }
}

/// An enum's number. None of the contract's is negative.
pub(super) fn number(value: impl Into<i32>) -> u64 {
    u64::from(value.into().unsigned_abs())
}
