//! What each reader says of a file.

use std::{path::Path, sync::Arc, sync::LazyLock};

use jiff::Timestamp;
use promptd::{
    config::{self, Config, Overrides},
    turn_file,
};
use promptd_contract::decode;
use promptd_core::{
    finding::Finding,
    id::Id,
    profile::{self, ProfileSet},
    settings::Settings,
    workspace::{self, Load, MemoryTree},
};
use serde_json::Value;

/// A kind of file that has a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Workspace,
    Profile,
    Config,
    Turn,
    Skill,
}

static PROFILES: LazyLock<Arc<ProfileSet>> = LazyLock::new(|| Arc::new(ProfileSet::built_in()));

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Profile => "profile",
            Self::Config => "config",
            Self::Turn => "turn",
            Self::Skill => "skill",
        }
    }

    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Workspace => workspace::manifest_schema(),
            Self::Profile => profile::schema(),
            Self::Config => config::schema(),
            Self::Turn => turn_file::schema(),
            Self::Skill => workspace::skill_schema(),
        }
    }

    /// The errors that the reader has; JSON is YAML.
    pub(crate) fn faults(self, value: &Value) -> Vec<String> {
        let text = value.to_string();
        let messages = |findings: Vec<Finding>| {
            findings.into_iter().filter(Finding::is_error).map(|finding| finding.message).collect()
        };
        match self {
            Self::Workspace => messages(load("workspace.yaml", &text)),
            Self::Skill => messages(load("skills/a/SKILL.md", &format!("---\n{text}\n---\nbody\n"))),
            Self::Profile => messages(profile::load(&[("p.yaml".into(), text.into_bytes())], None).1),
            Self::Config => {
                let read = Config::read(&text, "promptd.yaml", Path::new("/etc"), &Overrides::default());
                read.map_or_else(messages, |_| Vec::new())
            }
            Self::Turn => match turn_file::read(&text, "turn.yaml", &PROFILES) {
                Err(findings) => messages(findings),
                Ok(file) => match decode::turn(file.turn, &decode::Limits::default(), Timestamp::UNIX_EPOCH) {
                    Ok(_) => Vec::new(),
                    Err(violations) => violations.iter().map(ToString::to_string).collect(),
                },
            },
        }
    }
}

fn load(path: &str, text: &str) -> Vec<Finding> {
    let loaded = workspace::load(&Load {
        id: &Id::parse("harbour").unwrap(),
        root: "/srv/harbour",
        tree: &MemoryTree::from_iter([(path, text)]),
        shared_skills: &[],
        profiles: Arc::clone(&PROFILES),
        settings: Arc::new(Settings::default()),
        previous: None,
    });
    loaded.map_or_else(|findings| findings, |snapshot| snapshot.findings.clone())
}
