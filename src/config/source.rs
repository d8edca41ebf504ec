//! The part of the config that the source runs on.

use super::Config;

impl Config {
    /// What the source runs on.
    #[must_use]
    pub fn source(&self) -> promptd_source::Options {
        promptd_source::Options {
            roots: self.workspaces.root.iter().cloned().collect(),
            workspaces: self.workspaces.single.iter().map(|one| (one.id.clone(), one.folder.clone())).collect(),
            shared_skills: self.shared_skills.clone(),
            allowed_link_targets: self.allowed_link_targets.clone(),
            profiles: Some(self.profiles.clone()),
            settings: self.settings.clone(),
            watch: self.watch.mode,
            poll_interval: self.watch.poll_interval,
            sweep_interval: self.watch.sweep_interval,
            ..promptd_source::Options::default()
        }
    }
}
