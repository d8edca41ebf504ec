//! A workspace in memory, and prompts of it.

use std::sync::Arc;

use promptd_core::{
    id::Id,
    profile::{self, ProfileSet},
    prompt::{Prepared, Prompt, assemble},
    settings::Settings,
    turn::Turn,
    workspace::{Load, MemoryTree, load},
};

/// A workspace of these files, with a profile `own` of that YAML.
pub fn workspace(files: &[(&str, &str)], own: &str) -> Prepared {
    let (profiles, findings) = profile::load(&[("own.yaml".into(), own.as_bytes().to_vec())], None);
    assert!(findings.is_empty(), "{own}\n{findings:?}");
    load_workspace(files, profiles)
}

/// A workspace of these files, with the built-in profiles.
pub fn built_in(files: &[(&str, &str)]) -> Prepared {
    load_workspace(files, ProfileSet::built_in())
}

fn load_workspace(files: &[(&str, &str)], profiles: ProfileSet) -> Prepared {
    let tree: MemoryTree = files.iter().map(|(path, text)| (*path, *text)).collect();
    let snapshot = load(&Load {
        id: &Id::parse("harbor").unwrap(),
        root: "/srv/harbor",
        tree: &tree,
        shared_skills: &[],
        profiles: Arc::new(profiles),
        settings: Arc::new(Settings::default()),
        previous: None,
    });
    snapshot.unwrap().into()
}

/// A turn that sets nothing but its clock.
pub fn turn() -> Turn {
    Turn::at("2026-02-28T10:30:00Z".parse().unwrap())
}

/// The prompt by a profile of the workspace.
pub fn prompt<'a>(workspace: &'a Prepared, profile: &str, turn: &'a Turn) -> Prompt<'a> {
    assemble(workspace, workspace.profiles.get(profile).unwrap(), turn).unwrap()
}
