//! From a workspace's bytes to a [`Snapshot`]: pure, given a [`Tree`] to read from.
//!
//! Loading never fails as a whole: one bad part keeps its last good version and leaves a finding. The one exception
//! is an invalid `workspace.yaml` with no good version before it, since defaults would lose its blocklist: then there
//! is no snapshot, only the findings.

mod document;
mod load;
mod manifest;
mod skill;
mod snapshot;
mod tree;

pub use document::Document;
pub use load::{Load, load};
pub use manifest::{AgentSettings, ContextSettings, ExtraFile, Lock, Manifest};
pub use skill::{Skill, Visibility};
pub use snapshot::{Revision, Snapshot};
pub use tree::{Entry, EntryKind, FileBytes, ReadError, Tree};
