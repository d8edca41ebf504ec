//! What all prompts of one revision share, rendered once.

use std::{borrow::Cow, ops::Deref, sync::OnceLock};

use jiff::Timestamp;
use minijinja::Value;

use super::{
    CachePrefix, Memo, SectionReport, Size,
    block::RenderedSection,
    budget::Budgets,
    draft::{BuiltMessage, build},
    inputs,
    scope::TurnScope,
    section,
    token_counts::SharedCounts,
};
use crate::{
    digest::Digest,
    finding::Finding,
    profile::{Part, Profile, Stability},
    turn::Turn,
    workspace::Snapshot,
};

/// A snapshot, and the parts of its profiles that depend on it alone. Each profile's are rendered at its first use; reads
/// take no lock.
#[derive(Debug)]
pub struct Prepared {
    snapshot: Snapshot,
    /// By the profile's place in its set; made at first use, since most workspaces of many are not asked for.
    profiles: OnceLock<Box<[OnceLock<PreparedProfile>]>>,
}

/// A profile over a snapshot, for a turn that sets nothing.
#[derive(Debug)]
pub struct PreparedProfile {
    /// The inputs' values; empty where a required one is missing.
    pub inputs: Vec<Value>,
    /// By part and section.
    pub sections: Vec<Vec<RenderedSection<'static>>>,
    /// By part; `None`: the conversation.
    pub messages: Vec<Option<PreparedMessage>>,
    /// The token counts of all blocks.
    pub(super) tokens: SharedCounts,
}

/// A message that no turn changes, as long as it sets none of what the message depends on.
#[derive(Debug)]
pub struct PreparedMessage {
    /// Its text; empty: no message.
    pub content: String,
    /// Its digest.
    pub digest: Digest,
    /// Its size.
    pub size: Size,
    /// The least stable of its sections.
    pub stability: Stability,
    /// The stable sections that it begins with.
    pub cache_prefix: CachePrefix,
    /// The reports of its sections. They say that the message stands first, at index 0; a prompt that shares them puts
    /// in where it stands there.
    pub sections: Vec<SectionReport<'static>>,
    /// What there is to tell.
    pub findings: Vec<Finding>,
    /// Where its encoded form is kept.
    pub memo: Memo,
}

impl Prepared {
    /// The profile's parts; `None`: the snapshot was loaded without it.
    pub(super) fn profile(&self, profile: &Profile) -> Option<&PreparedProfile> {
        let all = self.profiles.get_or_init(|| self.snapshot.profiles.iter().map(|_| OnceLock::new()).collect());
        let index = self.snapshot.profiles.position(profile.name.as_str())?;
        Some(all.get(index)?.get_or_init(|| prepare(&self.snapshot, profile)))
    }
}

impl From<Snapshot> for Prepared {
    fn from(snapshot: Snapshot) -> Self {
        Self { snapshot, profiles: OnceLock::new() }
    }
}

impl Deref for Prepared {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

fn prepare(snapshot: &Snapshot, profile: &Profile) -> PreparedProfile {
    let turn = Turn::at(Timestamp::UNIX_EPOCH);
    let inputs = inputs::resolve(profile, snapshot, &turn.inputs).unwrap_or_default();
    let scope = TurnScope::new(snapshot, profile, &turn, Cow::Borrowed(&inputs), &mut Vec::new());
    let mut budgets = Budgets::new(profile, &inputs);
    let mut sections = Vec::new();
    let mut messages = Vec::new();
    let mut blocks = 0;
    for part in &profile.parts {
        let Part::Message(spec) = part else {
            sections.push(Vec::new());
            messages.push(None);
            continue;
        };
        let mut rendered: Vec<RenderedSection<'static>> =
            spec.sections.iter().map(|section| section::render(section, &scope, &mut budgets).into_owned()).collect();
        for block in rendered.iter_mut().flat_map(|rendered| &mut rendered.blocks) {
            block.report.shared = Some(blocks);
            blocks += 1;
        }
        for (rendered, section) in rendered.iter_mut().zip(&spec.sections) {
            let separator = section.separator.as_deref().unwrap_or(&spec.separator);
            rendered.blocks.iter_mut().for_each(|block| block.hash(separator));
        }
        let mut reports = Vec::new();
        let shared = rendered.iter().map(|rendered| Cow::Borrowed(rendered.blocks.as_slice())).collect();
        let BuiltMessage { content, size, stability, digest, cache_prefix } = build(spec, shared, 0, &mut reports);
        let reports = reports.into_iter().map(SectionReport::into_owned).collect();
        let findings = rendered.iter().flat_map(|rendered| rendered.findings.iter().cloned()).collect();
        messages.push(Some(PreparedMessage {
            digest,
            size,
            stability,
            cache_prefix,
            sections: reports,
            findings,
            content,
            memo: Memo::default(),
        }));
        sections.push(rendered);
    }
    PreparedProfile { inputs, sections, messages, tokens: SharedCounts::default() }
}
