//! Requests kept in a folder with the files that they were answered from, so that they can be assembled again elsewhere.
//!
//! A [`Recorder`] takes copies of calls and writes them on a thread of its own: a call never waits for the disk, and no
//! failure of the disk reaches one. A [`Folder`] reads them: [`Folder::requests`], then [`Folder::revision`] and
//! [`Folder::request`] of each, and [`Recorded::assemble`] makes the prompt. `docs/recording.md` describes the format.
//!
//! The ephemeral prompt of a turn or of a workspace is never written, nor what [`Redaction`] names.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

mod clock;
mod disk;
mod ephemeral;
mod folder;
mod format;
mod origin;
mod recorder;
mod redact;
mod request;
mod sample;
mod status;
mod sweep;
#[cfg(test)]
mod tests;

pub use ephemeral::without as without_ephemeral;
pub use folder::{Damage, Folder, FolderError, RequestFile};
pub use origin::RecordedRevision;
pub use recorder::{MAX_QUEUED, MAX_QUEUED_BYTES, Options, Recorder};
pub use redact::Redaction;
pub use request::{Answered, Copy, Recorded, SectionOutline, outline};
pub use sample::Share;
pub use status::{Drop, DropLabels, Status};
pub use sweep::{Bounds, Deleted};

/// What the log lines of this crate are filtered by, as in `log.level: info,promptd::record=debug`.
const LOG_TARGET: &str = "promptd::record";
