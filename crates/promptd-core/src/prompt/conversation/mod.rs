//! The caller's conversation, as a profile carries it.
//!
//! In this order: duplicates are left out, calls of tools are joined with their results, the window is cut, the oldest
//! messages are trimmed, long results are cut, and each message is written in the profile's form.

mod cut;
mod duplicates;
mod message;
pub(crate) mod segments;
mod tool_results;
mod trim;
mod units;
mod window;

use super::{output::SectionReport, scope::TurnScope};
use crate::{profile::ConversationSpec, turn::Role};

use cut::Cut;
use units::Unit;
pub(crate) use window::ConversationWindow;
use window::{LeftOut, summary, system_message};

/// The report for a profile that has no place for a conversation.
pub(crate) fn not_carried() -> ConversationWindow<'static> {
    ConversationWindow::omitted("The profile has no place for a conversation: the caller adds it.")
}

/// Carries the turn's conversation.
pub(crate) fn carry<'a>(spec: &ConversationSpec, scope: &TurnScope<'a>) -> ConversationWindow<'a> {
    if let Some(reason) = omitted(spec, scope) {
        return ConversationWindow::omitted(reason);
    }
    let all = &scope.turn.conversation.messages;
    let mut window = ConversationWindow::default();
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
    if let Some(trim) = &spec.trim {
        let budget = trim::TrimBudget::of(trim, scope);
        let trimmed = trim::trim_front(scope, &units[cut.start..], result_limit, budget.raw);
        left_out.trimmed = cut.trim(&units, trimmed, is_users);
        left_out.budget = budget.raw;
        window.trimmed = budget.trimmed(units.get(cut.start).map_or(0, |unit| trim::position(scope, unit.message)));
    }
    let carried: Vec<usize> = cut.units(&units).flat_map(Unit::indices).collect();
    if let Some(&first) = carried.iter().find(|&&index| all[index].role == Role::System) {
        window.findings.push(system_message(first));
    }
    window.sections.push(summary(all.len(), carried.len(), &left_out));
    window.sections.append(&mut lost);
    for index in carried {
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
