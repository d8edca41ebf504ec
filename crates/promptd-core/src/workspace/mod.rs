//! From a workspace's bytes to a [`Snapshot`]: pure, given a [`Tree`] to read from.
//!
//! Loading never fails as a whole: one bad part keeps its last good version and leaves a finding. The one exception
//! is an invalid `workspace.yaml` with no good version before it, since defaults would lose its blocklist: then there
//! are only findings, and no snapshot.

mod captured;
mod clean;
mod collector;
mod document;
mod file_map;
mod files;
mod heartbeat;
mod layers;
mod load;
mod manifest;
mod memory;
mod nested;
mod origin;
mod outline;
#[cfg(test)]
mod properties;
mod revision;
mod risk;
mod skill;
mod snapshot;
#[cfg(test)]
pub(crate) mod testing;
mod tree;

pub use captured::{Captured, CapturedFile, Capturing, MAX_CAPTURED_BYTES};
pub(crate) use document::JOINT;
pub use document::{Document, DocumentText};
pub use file_map::{FileMap, MAX_RUNS, Mapped};
pub use files::{CONTEXT_FILES, HEARTBEAT_FILE, join};
pub use layers::{
    HiddenLayers, LAYERS_FOLDER, Layer, MAX_LAYER_DEPTH, MAX_LAYERS, compose, file as layer_file, in_layer,
};
pub use load::{Load, load};
pub use manifest::{
    AgentSettings, ContextSettings, ExtraFile, FileRule, Lock, MANIFEST, MAX_EXTENDS, Manifest, Marks,
    schema as manifest_schema,
};
pub use memory::MemoryTree;
pub use nested::{
    MAX_NESTED_BYTES, MAX_NESTED_DEPTH, MAX_NESTED_FILES, MAX_NESTED_FOLDERS, Nested, NotFound, Unsearched,
};
pub use origin::{MAX_PREVIOUS, Origin};
pub use outline::{ContextSize, Outline};
pub use revision::{FORMAT, Revision};
pub use skill::{
    BundledFile, MAX_BUNDLE_DEPTH, MAX_BUNDLE_ENTRIES, MAX_FOLDERS_SEARCHED, MAX_SKILL_BYTES, MAX_SKILL_DEPTH,
    MAX_SKILLS_FOUND, SHARED_FOLDER, SKILL_FILE, SKILLS_FOLDER, Skill, SkillFile, Visibility, is_in_skills,
    percent_encode, schema as skill_schema,
};
pub use snapshot::Snapshot;
pub use tree::{Entry, EntryKind, FileBytes, ReadError, Tree, is_called_one_of};
