//! What is said of a file or folder that is there and cannot be read.

use super::tree::ReadError;
use crate::finding::{Code, Finding, Place};

/// What a finding calls a file.
pub(super) const FILE: &str = "the file";
/// What a finding calls a folder.
pub(super) const FOLDER: &str = "the folder";

/// The finding for `what`, one of [`FILE`] and [`FOLDER`], at `path`.
pub(super) fn finding(path: &str, error: ReadError, what: &str) -> Finding {
    let code = match error {
        ReadError::LinkOutside => Code::LinkOutside,
        ReadError::LinkDangling | ReadError::LinkLoop => Code::LinkBroken,
        ReadError::Missing | ReadError::WrongKind(_) | ReadError::Denied | ReadError::Failed(_) => Code::FileUnreadable,
    };
    let message = match error {
        ReadError::WrongKind(kind) if what == FOLDER => format!("{what} is {kind}, not a folder"),
        _ => format!("{what} {error}"),
    };
    Finding::new(code, Place::file(path), message)
}

/// Whether the last good version stays in use: the file may well be as it was. Where something else has taken its
/// place, it is gone.
pub(super) fn keeps_last_good(error: ReadError) -> bool {
    matches!(error, ReadError::Denied | ReadError::Failed(_))
}
