//! Loading a workspace: from a tree to a snapshot.

use std::sync::Arc;

use super::{Snapshot, Tree};
use crate::{finding::Finding, id::Id, profile::ProfileSet, settings::Settings};

/// All that a load depends on.
pub struct Load<'a> {
    /// The workspace's id.
    pub id: &'a Id,
    /// Its absolute path, as prompts may show it.
    pub root: &'a str,
    /// Its folder.
    pub tree: &'a dyn Tree,
    /// The server's shared skill folders: the absolute path as prompts may show it, and the folder. Their files are
    /// named `@shared/…` in findings and reports; where there are several, the first that has a skill wins.
    pub shared_skills: &'a [(&'a str, &'a dyn Tree)],
    /// The profiles.
    pub profiles: Arc<ProfileSet>,
    /// The server's settings.
    pub settings: Arc<Settings>,
    /// The last good snapshot: where a part is invalid now, its version from there stays.
    pub previous: Option<&'a Snapshot>,
}

/// Loads a workspace. The error case has at least one error finding: `workspace.yaml` is invalid and was never good.
pub fn load(input: &Load<'_>) -> Result<Snapshot, Vec<Finding>> {
    let _ = input;
    Err(Vec::new())
}
