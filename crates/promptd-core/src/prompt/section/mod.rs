//! Rendering one section: a file a kind.

mod active_skill;
mod context_files;
mod each;
mod facts;
mod skills;
mod summary_tree;
mod text;

pub use active_skill::check as check_active_skill;

use std::borrow::Cow;

use super::{
    block::{RenderedSection, TextBlock},
    budget::Budgets,
    scope::TurnScope,
};
use crate::{
    finding::{Code, Finding, Place},
    profile::{Body, Scope, SectionSpec},
};

/// Renders a section of the profile for a turn.
pub fn render<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, budgets: &mut Budgets) -> RenderedSection<'a> {
    if !spec.stages.is_empty() && !spec.stages.contains(&scope.turn.stage) {
        return TextBlock::omitted(&*spec.id, spec.stability, "It is left out of this stage of the turn.").into();
    }
    if spec.file.is_some() {
        return text::from_file(spec, scope);
    }
    if let Some(left_out) = gate(spec, scope, scope) {
        return left_out;
    }
    match &spec.body {
        Body::Text(template) => text::render(spec, template, scope, scope),
        Body::ActiveSkill(template) => active_skill::render(spec, template, scope),
        Body::SummaryTree(tree) => summary_tree::render(spec, tree, scope),
        Body::Each(each) => each::render(spec, each, scope, budgets),
        Body::ContextFiles { heading, entry, files } => context_files::render(spec, heading, entry, files, scope),
        Body::Skills(template) => skills::render(spec, template, scope),
        Body::Facts { header, facts } => facts::render(spec, header, facts, scope),
    }
}

/// What a section gives whose condition does not hold; `None`: it holds.
fn gate<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, names: &dyn Scope) -> Option<RenderedSection<'a>> {
    let when = spec.when.as_ref()?;
    match scope.profile.templates.holds(when, names) {
        Ok(true) => None,
        Ok(false) => Some(omitted(spec)),
        Err(error) => Some(failed(spec, scope, &error)),
    }
}

/// A section that has nothing to say.
fn omitted(spec: &SectionSpec) -> RenderedSection<'_> {
    let reason: Cow<'_, str> = if spec.omitted.is_empty() {
        format!("Its condition `{}` does not hold.", if spec.gate.is_empty() { "has text" } else { &spec.gate }).into()
    } else {
        Cow::Borrowed(&spec.omitted)
    };
    TextBlock::omitted(&*spec.id, spec.stability, reason).into()
}

/// A section whose template failed on this turn's values.
fn failed<'a>(spec: &'a SectionSpec, scope: &TurnScope<'a>, error: &str) -> RenderedSection<'a> {
    let message = format!("the section `{}` of the profile `{}` failed: {error}", spec.id, scope.profile.name);
    let reason = "Its template failed; a finding says how.";
    let block = TextBlock::dropped(&*spec.id, spec.stability, reason, super::Size::default());
    RenderedSection {
        blocks: vec![block],
        findings: vec![Finding::new(Code::TemplateFailed, Place::Unplaced, message)],
    }
}

/// A section of one block with that text; omitted where it is blank.
fn included(spec: &SectionSpec, text: String) -> RenderedSection<'_> {
    if text.trim().is_empty() { omitted(spec) } else { TextBlock::included(&*spec.id, spec.stability, text).into() }
}
