//! How much a prompt takes, as its budgets count.

use std::collections::BTreeMap;

use super::{prepared::Prepared, token_counts::counts};
use crate::{
    budget::{BudgetUnit, PromptBudget},
    profile::Profile,
    prompt::output::{Holder, Prompt, SectionReport},
    text::measure::chars,
};

/// The size of a prompt.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// In the unit of each limit.
    pub used: Vec<usize>,
    /// Of the conversation, in the unit of the first limit.
    pub conversation: usize,
    /// Of the profile's sections, by id, and of the blocks of those that have several; in the unit of the first limit.
    sections: BTreeMap<String, usize>,
}

impl Sizes {
    /// The size of a section, or of one of its blocks.
    pub(super) fn of(&self, id: &str) -> usize {
        self.sections.get(id).copied().unwrap_or(0)
    }

    /// The size of a section's first block, without those whose ids are below its own.
    pub(super) fn head(&self, id: &str) -> usize {
        let blocks = self.sections.iter().filter(|(block, _)| is_below(block, id)).map(|(_, size)| size);
        self.of(id).saturating_sub(blocks.sum())
    }
}

fn is_below(block: &str, id: &str) -> bool {
    block.strip_prefix(id).is_some_and(|rest| rest.starts_with('/'))
}

/// Measures a prompt. What is in no message, such as a card, takes nothing.
pub(super) fn measure(prompt: &Prompt<'_>, prepared: &Prepared, profile: &Profile, limits: &[PromptBudget]) -> Sizes {
    let mut sizes = Sizes::default();
    let own: Vec<&str> = profile.sections().map(|(_, spec)| &*spec.id).collect();
    for (index, limit) in limits.iter().enumerate() {
        let counts = match limit.unit {
            BudgetUnit::Tokens(encoding) => Some(counts(prompt, prepared, profile, encoding)),
            BudgetUnit::Chars => None,
        };
        let total = counts.as_ref().map_or(prompt.size.chars, |counts| counts.total);
        sizes.used.push(usize::try_from(total).unwrap_or(usize::MAX));
        if index > 0 {
            continue;
        }
        let carried = prompt.messages.iter().enumerate().filter(|(_, message)| message.origin.is_some());
        let carried = carried.map(|(index, message)| counts.as_ref().map_or(message.size.chars, |c| c.messages[index]));
        sizes.conversation = usize::try_from(carried.sum::<u64>()).unwrap_or(usize::MAX);
        for (index, section) in prompt.sections.iter().enumerate().filter(|(_, section)| is_in_message(section)) {
            let size = match &counts {
                Some(counts) => usize::try_from(counts.sections[index]).unwrap_or(usize::MAX),
                None => prompt.section_text(section).map_or(0, chars),
            };
            let owner =
                own.iter().filter(|id| **id == section.id || is_below(&section.id, id)).max_by_key(|id| id.len());
            let Some(owner) = owner else { continue };
            *sizes.sections.entry((*owner).to_owned()).or_default() += size;
            if *owner != section.id {
                *sizes.sections.entry(section.id.to_string()).or_default() += size;
            }
        }
    }
    sizes
}

fn is_in_message(section: &SectionReport<'_>) -> bool {
    section.position.as_ref().is_some_and(|position| matches!(position.holder, Holder::Message(_)))
}
