//! Where files come from and how edits are found, already checked.

use std::{path::PathBuf, time::Duration};

use promptd_core::{id::Id, settings::Settings};

/// How edits are found: the setting `watch.mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WatchMode {
    /// Events, and polling where they fail.
    #[default]
    Auto,
    /// Events alone.
    Events,
    /// Polling alone.
    Poll,
}

/// All that the source depends on. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Folders in which each folder is a workspace.
    pub roots: Vec<PathBuf>,
    /// Single workspaces; they win over a root's folder of the same id.
    pub workspaces: Vec<(Id, PathBuf)>,
    /// Shared skill folders; the first that has a skill wins.
    pub shared_skills: Vec<PathBuf>,
    /// Folders outside a workspace that its links may lead to.
    pub allowed_link_targets: Vec<PathBuf>,
    /// The folder of operator's profiles (`*.yaml`); absent: only those built in.
    pub profiles: Option<PathBuf>,
    /// What loading and assembling depend on.
    pub settings: Settings,
    /// How edits are found.
    pub watch: WatchMode,
    /// How often what cannot be watched is looked at.
    pub poll_interval: Duration,
    /// How often everything else is looked at, at most.
    pub sweep_interval: Duration,
    /// Threads that load at the start and in bursts; default: as many as cores, at most 8.
    pub load_threads: usize,
    /// Keeps what each revision was loaded from, in memory, for as long as the revision is held.
    pub keep_origins: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            workspaces: Vec::new(),
            shared_skills: Vec::new(),
            allowed_link_targets: Vec::new(),
            profiles: None,
            settings: Settings::default(),
            watch: WatchMode::default(),
            poll_interval: Duration::from_secs(2),
            sweep_interval: Duration::from_secs(10),
            load_threads: std::thread::available_parallelism().map_or(2, usize::from).min(8),
            keep_origins: false,
        }
    }
}
