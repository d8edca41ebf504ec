//! A rendered section.

use std::borrow::Cow;

use super::{block::TextBlock, blocks::Blocks};
use crate::{
    finding::{Code, Finding, Place},
    profile::{Scope, SectionSpec},
    prompt::{
        output::{Outcome, Size},
        scope::{InputLoss, TurnScope},
        trace::Text,
    },
};

/// A section rendered: one block, or several for a section of sections.
#[derive(Debug, Clone, Default)]
pub(crate) struct RenderedSection<'a> {
    /// In order; a block without text is reported and nothing more.
    pub blocks: Blocks<'a>,
    pub findings: Vec<Finding>,
}

impl<'a> RenderedSection<'a> {
    /// A section of one block with that text; omitted where it is blank.
    pub(crate) fn included(spec: &'a SectionSpec, text: Text) -> Self {
        if text.as_str().trim().is_empty() {
            Self::omitted(spec)
        } else {
            TextBlock::included(&*spec.id, spec.stability, text).into()
        }
    }

    /// A section without text.
    pub(crate) fn omitted(spec: &'a SectionSpec) -> Self {
        let reason: Cow<'_, str> = if spec.omitted.is_empty() {
            let condition = if spec.gate.is_empty() { "has text" } else { &spec.gate };
            format!("Its condition `{condition}` does not hold.").into()
        } else {
            Cow::Borrowed(&spec.omitted)
        };
        TextBlock::omitted(&*spec.id, spec.stability, reason).into()
    }

    /// A section whose template failed on this turn's values.
    pub(crate) fn failed(spec: &'a SectionSpec, scope: &TurnScope<'a>, error: &str) -> Self {
        let message = format!("the section `{}` of the profile `{}` failed: {error}", spec.id, scope.profile.name);
        let reason = "Its template failed; a finding says how.";
        let block = TextBlock::dropped(&*spec.id, spec.stability, reason, Size::default());
        Self { blocks: block.into(), findings: vec![Finding::new(Code::TemplateFailed, Place::Unplaced, message)] }
    }

    /// The section, omitted or failed, unless its condition holds; `None`: it holds.
    pub(crate) fn unless(spec: &'a SectionSpec, scope: &TurnScope<'a>, names: &dyn Scope) -> Option<Self> {
        let when = spec.when.as_ref()?;
        match scope.profile.templates.holds(when, names) {
            Ok(true) => None,
            Ok(false) => Some(Self::omitted(spec)),
            Err(error) => Some(Self::failed(spec, scope, &error)),
        }
    }

    /// The same, where it shows an input of which a part was kept out.
    pub(crate) fn with_loss(mut self, spec: &'a SectionSpec, loss: &InputLoss) -> Self {
        let Some(block) = self.blocks.pop() else { return self };
        let InputLoss { reason, original, included, finding, .. } = loss;
        let block = match block.report.outcome {
            Outcome::Included => {
                let said = block.report.included;
                let whole = Size {
                    bytes: said.bytes + original.bytes - included.bytes,
                    chars: said.chars + original.chars - included.chars,
                    tokens: None,
                };
                block.truncated(reason.clone(), whole, said)
            }
            Outcome::Omitted => TextBlock::dropped(&*spec.id, spec.stability, reason.clone(), *original),
            Outcome::Truncated | Outcome::Dropped => block,
        };
        self.blocks.push(block);
        self.findings.push(finding.clone());
        self
    }

    /// Its blocks, with the traces of the same section that was rendered with spans.
    pub(crate) fn traced_by(&self, other: &RenderedSection<'_>) -> Blocks<'a> {
        self.blocks.iter().cloned().zip(&*other.blocks).map(|(block, other)| block.traced_by(other)).collect()
    }

    /// The same, borrowing nothing.
    pub(crate) fn into_owned(self) -> RenderedSection<'static> {
        RenderedSection {
            blocks: self.blocks.into_iter().map(TextBlock::into_owned).collect(),
            findings: self.findings,
        }
    }
}

impl<'a> From<TextBlock<'a>> for RenderedSection<'a> {
    fn from(block: TextBlock<'a>) -> Self {
        Self { blocks: block.into(), findings: Vec::new() }
    }
}
