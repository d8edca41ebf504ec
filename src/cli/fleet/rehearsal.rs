//! `promptd publish --replay`: what a publish would have done to the requests of the past.

use std::path::PathBuf;

use crate::cli::{
    Failure,
    load::WorkspaceArgument,
    replay::{Gate, passes},
    settings::ConfigFile,
};

/// The records that a publish is tried on, and how much it may change.
#[derive(clap::Args)]
pub(super) struct Rehearsal {
    /// Shows what it does to the requests that were recorded in this folder, as `promptd replay --against` does.
    #[arg(long, value_name = "RECORDS")]
    replay: Option<PathBuf>,
    /// Publishes nothing if more of these requests change, a number or in per cent: `20`, `1.5%`.
    #[arg(long, value_name = "N", requires = "replay")]
    max_changed: Option<Gate>,
    /// Publishes nothing if more of them lose more to limits than before, a number or in per cent.
    #[arg(long, value_name = "N", requires = "replay")]
    max_lost: Option<Gate>,
}

impl Rehearsal {
    /// Fails where a workspace changes more than is allowed. All are shown.
    pub(super) fn must_pass(&self, workspaces: &[WorkspaceArgument], config: &ConfigFile) -> Result<(), Failure> {
        let Some(records) = &self.replay else { return Ok(()) };
        let mut failed = Vec::new();
        for workspace in workspaces {
            let named = format!("{}={}", workspace.id_of(), workspace.path().display());
            if !passes(records, &named, [self.max_changed, self.max_lost], config)? {
                failed.push(workspace.id());
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        let ids = failed.join(", ");
        Err(Failure::input(format!(
            "error: {ids}: more of the recorded requests would change, or lose text, than is allowed\nnothing is published"
        )))
    }
}
