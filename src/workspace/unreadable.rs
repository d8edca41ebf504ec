//! What is said of a file or folder that is there and cannot be read.

use super::tree::ReadError;
use crate::finding::{Code, Finding, Place};

/// The finding for `what`, such as "the file", at `path`.
pub(super) fn finding(path: &str, error: ReadError, what: &str) -> Finding {
    let code = match error {
        ReadError::LinkOutside => Code::LinkOutside,
        ReadError::LinkDangling | ReadError::LinkLoop => Code::LinkBroken,
        ReadError::Missing | ReadError::WrongKind(_) | ReadError::Denied | ReadError::Failed(_) => Code::FileUnreadable,
    };
    Finding::new(code, Place::file(path), format!("{what} {error}"))
}

/// Whether the last good version stays in use: the file may well be as it was. Where something else has taken its
/// place, it is gone.
pub(super) fn keeps_last_good(error: ReadError) -> bool {
    matches!(error, ReadError::Denied | ReadError::Failed(_))
}
