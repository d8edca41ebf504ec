//! The caller's conversation, as a profile carries it: duplicates, window, trimming, tool messages, format.

mod duplicates;
mod message;
pub(super) mod segments;
mod tool_pairs;
mod tool_results;
mod trim;
mod window;

use super::scope::{TrimmedHistory, TurnScope};
use crate::{
    finding::{Code, Finding, Place},
    profile::ConversationSpec,
};

pub(super) use window::ConversationWindow;
use window::{LeftOut, summary};

/// The report for a profile that has no place for a conversation.
pub(super) fn not_carried() -> ConversationWindow<'static> {
    ConversationWindow::omitted("The profile has no place for a conversation: the caller adds it.")
}

/// Carries the turn's conversation.
pub(super) fn carry<'a>(spec: &ConversationSpec, scope: &TurnScope<'a>) -> ConversationWindow<'a> {
    if let Some(reason) = omitted(spec, scope) {
        return ConversationWindow::omitted(reason);
    }
    let all = &scope.turn.conversation.messages;
    let mut window = ConversationWindow::default();
    let mut left_out = LeftOut::default();
    let mut kept: Vec<usize> = (0..all.len()).collect();
    let mut lost = Vec::new();
    if spec.deduplicate {
        kept = duplicates::distinct(all, &mut lost, &mut window.findings);
        left_out.duplicates = all.len() - kept.len();
    }
    if let Some(newest) = spec.window.as_ref().and_then(|window| scope.amount(window)) {
        let newest = usize::try_from(newest).unwrap_or(usize::MAX);
        kept.drain(..kept.len().saturating_sub(newest));
    }
    let result_limit = spec.max_tool_result_chars.as_ref().and_then(|limit| scope.amount(limit)).unwrap_or(0);
    if let Some(trim) = &spec.trim {
        let budget = trim::TrimBudget::of(trim, scope);
        left_out.trimmed = trim::trim_front(scope, &kept, result_limit, budget.raw);
        left_out.budget = budget.raw;
        kept.drain(..left_out.trimmed);
        let before = kept.first().map_or(0, |&index| trim::position(scope, index));
        window.trimmed = (before > 0 && budget.summaries > 0)
            .then_some(TrimmedHistory { messages: before, summary_budget: budget.summaries });
    }
    if spec.paired_tools {
        let before = kept.len();
        kept = tool_pairs::paired(all, &kept);
        left_out.unpaired = before - kept.len();
    }
    if left_out.unpaired > 0 {
        let message =
            format!("{} tool messages were left out: their call or their result is missing", left_out.unpaired);
        window.findings.push(Finding::new(Code::ConversationUnpaired, Place::field("turn.conversation"), message));
    }
    window.sections.push(summary(all.len(), kept.len(), &left_out));
    window.sections.append(&mut lost);
    for index in kept {
        message::carry(spec, scope, index, result_limit, &mut window);
    }
    window
}

/// Why the conversation is left out as a whole; `None`: it is carried.
fn omitted(spec: &ConversationSpec, scope: &TurnScope<'_>) -> Option<&'static str> {
    let holds = |when| scope.profile.templates.holds(when, scope) == Ok(true);
    if !spec.when.as_ref().is_none_or(holds) {
        return Some("The profile has another message in its place this turn.");
    }
    if !spec.stages.is_empty() && !spec.stages.contains(&scope.turn.stage) {
        return Some("It is left out of this stage of the turn.");
    }
    scope.turn.conversation.messages.is_empty().then_some("The turn brings no conversation.")
}

#[cfg(test)]
mod tests;
