//! Loading a workspace in memory and assembling every profile over it.

use std::sync::{Arc, LazyLock};

use arbitrary::Arbitrary;
use promptd_core::{
    finding::Finding,
    id::Id,
    profile::{self, ProfileSet},
    prompt::{self},
    render::{self, RenderFormat},
    settings::Settings,
    turn::Turn,
    workspace::{Load, MemoryTree, load},
};

static PROFILES: LazyLock<Arc<ProfileSet>> = LazyLock::new(|| Arc::new(profile::load(&[], None).0));

/// The workspace, or its faults.
pub fn snapshot(tree: &MemoryTree, settings: Settings) -> Result<prompt::Prepared, Vec<Finding>> {
    let id = Id::parse("ws").expect("a good id");
    load(&Load {
        id: &id,
        root: "/srv/ws",
        tree,
        shared_skills: &[],
        profiles: Arc::clone(&PROFILES),
        settings: Arc::new(settings),
        previous: None,
    })
    .map(prompt::Prepared::from)
}

/// Assembles and renders with every profile: none may panic, and every byte must belong to one section.
#[allow(dead_code, reason = "not every target assembles")]
pub fn assemble_all(snapshot: &prompt::Prepared, turn: &Turn) {
    for profile in snapshot.profiles.iter() {
        let Ok(prompt) = prompt::assemble(snapshot, profile, turn) else { continue };
        let holders = (0..).map(prompt::Holder::Message).zip(&prompt.messages);
        let cards = (0..).map(prompt::Holder::Card).zip(&prompt.cards);
        for (holder, message) in holders.chain(cards).filter(|(_, m)| m.origin.is_none()) {
            let mut end = 0;
            for position in prompt.sections.iter().filter_map(|section| section.position.as_ref()) {
                if position.holder == holder {
                    let range = position.range();
                    assert!(range.start >= end && message.content.get(range.clone()).is_some());
                    end = range.end;
                }
            }
            assert_eq!(end, message.content.len());
        }
        for section in &prompt.sections {
            assert!(!section.outcome.is_loss() || !prompt.findings.is_empty());
        }
        for format in RenderFormat::ALL {
            let _ = render::render(&prompt, format);
        }
    }
}

/// A file of the workspace.
#[allow(dead_code, reason = "not every target writes files")]
#[derive(Arbitrary, Debug, Clone, Copy)]
pub enum Name {
    Agents,
    Soul,
    Identity,
    Heartbeat,
    FirstSkill,
    SecondSkill,
    Extra,
}

impl Name {
    #[allow(dead_code, reason = "not every target writes files")]
    pub fn path(self) -> &'static str {
        match self {
            Self::Agents => "AGENTS.md",
            Self::Soul => "SOUL.md",
            Self::Identity => "IDENTITY.md",
            Self::Heartbeat => "HEARTBEAT.md",
            Self::FirstSkill => "skills/one/SKILL.md",
            Self::SecondSkill => "skills/two/SKILL.md",
            Self::Extra => "docs/more.md",
        }
    }
}
