//! From a workspace's bytes to a [`Snapshot`]: pure, given a [`Tree`] to read from.
//!
//! Loading never fails as a whole: one bad part keeps its last good version and leaves a finding. The one exception
//! is an invalid `workspace.yaml` with no good version before it, since defaults would lose its blocklist: then there
//! is no snapshot, only the findings.

mod clean;
mod document;
mod gathered;
mod hash;
mod heartbeat;
mod load;
mod manifest;
mod memory;
mod names;
#[cfg(test)]
mod properties;
mod revision;
mod risk;
mod skill;
mod snapshot;
#[cfg(test)]
mod testing;
mod tree;
mod unreadable;
mod wanted;

pub use document::Document;
pub use load::{Load, load};
pub use manifest::{AgentSettings, ContextSettings, ExtraFile, Lock, MANIFEST, Manifest};
pub use memory::MemoryTree;
pub use skill::{
    BundledFile, MAX_BUNDLE_DEPTH, MAX_BUNDLE_ENTRIES, SHARED_FOLDER, SKILL_FILE, SKILLS_FOLDER, Skill, Visibility,
};
pub use skill::{MAX_FOLDERS_SEARCHED, MAX_SKILL_BYTES, MAX_SKILL_DEPTH, MAX_SKILLS_FOUND};
pub use snapshot::{Revision, Snapshot};
pub use tree::{Entry, EntryKind, FileBytes, ReadError, Tree};
pub use wanted::{CONTEXT_FILES, HEARTBEAT_FILE};
