//! What all prompts of one revision share, rendered once.

use std::{
    borrow::Cow,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use super::{
    block_counts::{BlockCount, SharedCounts},
    forecast::{forecast, may_lose},
    message::{JoinedMessage, Section},
};
use crate::{
    finding::Finding,
    profile::{MessageSpec, Part, Profile},
    prompt::{
        budget::Budgets,
        output::{Holder, Memo, SectionReport},
        scope::{Inputs, TurnScope},
        section::{self, RenderedSection},
    },
    time::Moment,
    tokens::Encoding,
    turn::Turn,
    workspace::Snapshot,
};

/// A snapshot with the parts of its profiles' prompts that depend on it alone.
///
/// Each profile's parts are rendered at its first use; reads take no lock. Made of a [`Snapshot`] by `from`, and read as
/// one by `deref`.
#[derive(Debug)]
pub struct Prepared {
    snapshot: Arc<Snapshot>,
    /// By the profile's place in its set; made at first use, since most workspaces of many are not asked for.
    profiles: OnceLock<Box<[OnceLock<PreparedProfile>]>>,
    forecast: OnceLock<Box<[Finding]>>,
}

/// A profile over a snapshot, for a turn that sets nothing.
#[derive(Debug)]
pub(super) struct PreparedProfile {
    /// Empty where a required one is missing.
    pub inputs: Inputs,
    /// By part.
    pub parts: Box<[PreparedPart]>,
    tokens: SharedCounts,
}

/// A part of a profile; the conversation's is empty.
#[derive(Debug, Default)]
pub(super) struct PreparedPart {
    pub sections: Box<[RenderedSection<'static>]>,
    pub message: Option<PreparedMessage>,
}

/// A message as it is in every turn that sets none of the fields that it depends on.
#[derive(Debug)]
pub(super) struct PreparedMessage {
    pub message: JoinedMessage,
    /// The reports of its sections, as if it were the first message of its prompt.
    pub sections: Box<[SectionReport<'static>]>,
    pub findings: Box<[Finding]>,
    /// A place for its encoded form.
    pub memo: Memo,
}

impl Prepared {
    /// The snapshot, to be shared.
    #[must_use]
    pub fn shared(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The findings that its plain prompts have besides its own: what limits cut. They are found at first use, by assembling where
    /// a limit may be reached.
    pub fn forecast(&self) -> &[Finding] {
        let find = || if may_lose(&self.snapshot) { forecast(&self.snapshot).into() } else { Box::default() };
        self.forecast.get_or_init(find)
    }

    /// With the forecast of the same snapshot, which was made before.
    #[must_use]
    pub fn with_forecast(self, forecast: &[Finding]) -> Self {
        Self { forecast: Box::<[Finding]>::from(forecast).into(), ..self }
    }

    /// The profile's parts; `None`: the snapshot was loaded without it.
    pub(super) fn profile(&self, profile: &Profile) -> Option<&PreparedProfile> {
        let all = self.profiles.get_or_init(|| self.snapshot.profiles.iter().map(|_| OnceLock::new()).collect());
        let index = self.snapshot.profiles.position(profile.name.as_str())?;
        Some(all.get(index)?.get_or_init(|| prepare(&self.snapshot, profile)))
    }
}

impl PreparedProfile {
    /// The token counts of all blocks, by the number in their reports.
    pub(super) fn counts(&self, profile: &Profile, encoding: Encoding) -> &[BlockCount] {
        let messages = profile.parts.iter().zip(&self.parts).filter_map(|(part, prepared)| match part {
            Part::Message(spec) => Some((spec, prepared)),
            Part::Conversation(_) => None,
        });
        let blocks = messages.flat_map(|(spec, prepared)| {
            let blocks = prepared.sections.iter().flat_map(|rendered| &*rendered.blocks);
            blocks.map(|block| (block.text(), spec.separator.as_str()))
        });
        self.tokens.get(encoding, blocks)
    }
}

impl From<Snapshot> for Prepared {
    fn from(snapshot: Snapshot) -> Self {
        Arc::new(snapshot).into()
    }
}

impl From<Arc<Snapshot>> for Prepared {
    fn from(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, profiles: OnceLock::new(), forecast: OnceLock::new() }
    }
}

impl Deref for Prepared {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

fn prepare(snapshot: &Snapshot, profile: &Profile) -> PreparedProfile {
    let turn = Turn::at(Moment::EPOCH);
    let inputs = Inputs::resolve(profile, snapshot, &turn).unwrap_or_default();
    let scope = TurnScope::new(snapshot, profile, &turn, Cow::Borrowed(&inputs), &mut Vec::new());
    let mut budgets = Budgets::new(&scope);
    let mut blocks = 0;
    let part = |part: &Part| match part {
        Part::Message(spec) => prepare_message(spec, &scope, &mut budgets, &mut blocks),
        Part::Conversation(_) => PreparedPart::default(),
    };
    let parts = profile.parts.iter().map(part).collect();
    PreparedProfile { inputs, parts, tokens: SharedCounts::default() }
}

/// The sections of a profile's messages for a turn that sets nothing, by part, rendered with spans.
pub(super) fn traced<'a>(
    snapshot: &'a Snapshot,
    profile: &'a Profile,
    turn: &'a Turn,
    inputs: &'a Inputs,
) -> Vec<Vec<RenderedSection<'a>>> {
    let mut scope = TurnScope::new(snapshot, profile, turn, Cow::Borrowed(inputs), &mut Vec::new());
    scope.traced = true;
    let mut budgets = Budgets::new(&scope);
    let part = |part: &'a Part| match part {
        Part::Message(spec) => {
            spec.sections.iter().map(|section| section::render(section, &scope, &mut budgets)).collect()
        }
        Part::Conversation(_) => Vec::new(),
    };
    profile.parts.iter().map(part).collect()
}

/// Renders a message; `blocks` counts those of the whole profile.
fn prepare_message(spec: &MessageSpec, scope: &TurnScope<'_>, budgets: &mut Budgets, blocks: &mut u32) -> PreparedPart {
    let render = |section| section::render(section, scope, budgets).into_owned();
    let mut sections: Box<[RenderedSection<'static>]> = spec.sections.iter().map(render).collect();
    for (rendered, section) in sections.iter_mut().zip(&spec.sections) {
        let separator = section.separator.as_deref().unwrap_or(&spec.separator);
        for block in rendered.blocks.iter_mut() {
            block.report.shared = Some(*blocks);
            *blocks += 1;
            block.hash(separator);
        }
    }
    let mut reports = Vec::new();
    let mut shared: Vec<_> = sections.iter().map(|rendered| Section::Shared(&rendered.blocks)).collect();
    let message = JoinedMessage::new(spec, &mut shared, Holder::Message(0), &mut reports);
    let message = PreparedMessage {
        message,
        sections: reports.into_iter().map(SectionReport::into_owned).collect(),
        findings: sections.iter().flat_map(|rendered| rendered.findings.iter().cloned()).collect(),
        memo: Memo::default(),
    };
    drop(shared);
    PreparedPart { sections, message: Some(message) }
}
