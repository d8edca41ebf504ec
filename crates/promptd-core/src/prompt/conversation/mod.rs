//! The caller's conversation, as a profile carries it.
//!
//! In this order: duplicates are left out, calls of tools are joined with their results, the window is cut, the oldest
//! messages are trimmed, long results are cut, and each message is written in the profile's form.

mod cut;
mod duplicates;
mod history;
mod message;
mod segments;
mod tail;
mod tool_results;
mod trim;
mod units;
mod window;
mod within;

use super::{
    output::{CarriedConversation, Outcome, SectionReport},
    scope::TurnScope,
};
use crate::{
    finding::Severity,
    profile::{Body, ConversationSpec, Profile},
    turn::{Role, Turn},
};

use cut::Cut;
use message::CarriedSize;
pub use tail::{Tail, TailBounds, trimmed_messages};
use trim::TrimBudget;
use units::Unit;
pub(crate) use window::ConversationWindow;
use window::{LeftOut, limited_window, none_carried, report, summary, system_message, unread_messages};
pub(crate) use within::carry_within;

/// The report for a profile that has no place for a conversation.
pub(crate) fn not_carried<'a>(profile: &Profile, turn: &'a Turn) -> ConversationWindow<'a> {
    let reason = "The profile has no place for a conversation: the caller adds it.";
    let mut window = ConversationWindow::omitted(&turn.conversation, reason);
    // Whoever sends it so that a skill is activated knows that it is not carried.
    let is_read = profile.sections().any(|(_, section)| matches!(section.body, Body::ActiveSkill(_)));
    let severity = if is_read { Severity::Info } else { Severity::Warning };
    window.findings.push(none_carried(&turn.conversation, severity));
    window
}

/// Carries the turn's conversation.
pub(crate) fn carry<'a>(spec: &ConversationSpec, scope: &TurnScope<'a>) -> ConversationWindow<'a> {
    carry_trimmed(spec, scope, None)
}

/// The same, trimmed to `most` estimated tokens where the profile trims.
fn carry_trimmed<'a>(spec: &ConversationSpec, scope: &TurnScope<'a>, most: Option<u64>) -> ConversationWindow<'a> {
    let conversation = &scope.turn.conversation;
    if let Some(reason) = omitted(spec, scope) {
        return ConversationWindow::omitted(conversation, reason);
    }
    let all = &conversation.messages;
    let mut window = ConversationWindow::new(report(Outcome::Included, ""));
    let mut left_out = LeftOut::default();
    let mut lost: Vec<SectionReport<'static>> = Vec::new();
    let mut kept: Vec<usize> = (0..all.len()).collect();
    if spec.deduplicate {
        kept = duplicates::distinct(all, &mut lost, &mut window.findings);
        left_out.duplicates = all.len() - kept.len();
    }
    let (units, unpaired) = units::units(all, &kept);
    left_out.unpaired = unpaired.len();
    window.unpaired(all, &unpaired, &mut lost);

    let is_users = |unit: &Unit| all[unit.message].role == Role::User;
    let newest = spec.window.as_ref().and_then(|window| scope.amount(window));
    let mut cut = Cut::window(&units, newest, is_users);
    let result_limit = spec.max_tool_result_chars.as_ref().and_then(|limit| scope.amount(limit)).unwrap_or(0);
    let mut carried = CarriedConversation::default();
    let budget = spec.trim.as_ref().map(|trim| TrimBudget::of(trim, scope).within(most));
    if let (Some(trim), Some(budget)) = (&spec.trim, &budget) {
        let sizes = trim::sizes(scope, &units, result_limit);
        let trimmed = trim::trim_front(trim, scope, &units[cut.start..], &sizes[cut.start..], budget);
        left_out.trimmed = cut.trim(&units, trimmed.start, is_users);
        left_out.budget = budget.raw;
        carried.held = trimmed.held;
        carried.estimated_tokens = cut.of(&sizes).copied().fold(0, u64::saturating_add);
        carried.token_budget = budget.raw;
    }
    window.divided(all, cut.divided(&units), &mut lost);
    let unread = if conversation.rest_is_stored { conversation.first_index } else { 0 };
    let left_out_by_design = unread + cut.before(&units).map(Unit::len).sum::<usize>() as u64;
    let trims = budget.as_ref().is_some_and(|budget| budget.raw > 0);
    if newest.is_none() && !trims && unread > 0 {
        window.findings.push(unread_messages(unread));
    } else if left_out_by_design > 0 && newest != Some(0) {
        window.findings.push(limited_window(unread + all.len() as u64, left_out_by_design));
    }
    window.trimmed = history::before(scope, &units, &cut, budget.as_ref());
    carried.cut = window.trimmed.messages;
    carried.uncovered = window.trimmed.uncovered;
    carried.summaries = window.trimmed.summaries.iter().map(|segment| segment.id.clone()).collect();
    window.findings.extend(history::findings(conversation, &carried));
    let indices: Vec<usize> = cut.of(&units).flat_map(Unit::indices).collect();
    if let Some(&first) = indices.iter().find(|&&index| all[index].role == Role::System) {
        window.findings.push(system_message(first));
    }
    window.sections.append(&mut lost);
    let sizes: Vec<CarriedSize> =
        indices.iter().map(|&index| message::carry(spec, scope, index, result_limit, &mut window)).collect();
    window.report = summary(all, &indices, &sizes, &left_out);
    window.carried = (!indices.is_empty()).then_some(carried);
    if newest == Some(0) {
        window.findings.push(none_carried(conversation, Severity::Warning));
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
