//! The caller's conversation, as a profile carries it: duplicates, window, trimming, tool messages, format.

mod duplicates;
pub mod estimate;
mod message;
pub mod segments;
mod tool_results;
mod tools;
mod trim;

use std::{borrow::Cow, fmt::Write as _};

use super::{Message, Outcome, SectionReport, Size, budget::amount, scope::TurnScope};
use crate::{
    finding::{Code, Finding, Place},
    profile::{ConversationSpec, Stability},
    text::thousands,
};

/// The messages that are carried, and what became of the rest.
#[derive(Debug, Default)]
pub struct ConversationWindow<'a> {
    /// In order.
    pub messages: Vec<Message<'a>>,
    /// One for the window, and one for each message that was cut; places count from the first carried message.
    pub sections: Vec<SectionReport<'static>>,
    /// What there is to tell.
    pub findings: Vec<Finding>,
    /// Set where the profile trims and messages of the history are left out.
    pub trimmed: Option<TrimmedHistory>,
}

/// What a profile that trims leaves out at the front of the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimmedHistory {
    /// How many messages of the whole history come before the first that is carried.
    pub messages: u64,
    /// How many tokens their summaries may take.
    pub summary_budget: u64,
}

/// What is told where the profile has no place for a conversation.
pub fn not_carried() -> ConversationWindow<'static> {
    without("The profile has no place for a conversation: the caller adds it.")
}

fn without(reason: &'static str) -> ConversationWindow<'static> {
    ConversationWindow { sections: vec![report(Outcome::Omitted, reason)], ..ConversationWindow::default() }
}

/// Carries the turn's conversation.
pub fn carry<'a>(spec: &ConversationSpec, scope: &TurnScope<'a>) -> ConversationWindow<'a> {
    let turn = scope.turn;
    let all = &turn.conversation.messages;
    let mut carried = ConversationWindow::default();
    if let Some(when) = &spec.when
        && scope.profile.templates.holds(when, scope) != Ok(true)
    {
        return without("The profile has another message in its place this turn.");
    }
    if !spec.stages.is_empty() && !spec.stages.contains(&turn.stage) {
        carried.sections.push(report(Outcome::Omitted, "It is left out of this stage of the turn."));
        return carried;
    }
    if all.is_empty() {
        carried.sections.push(report(Outcome::Omitted, "The turn brings no conversation."));
        return carried;
    }
    let number = |of: &Option<_>| of.as_ref().and_then(|of| amount(of, scope.profile, &scope.inputs));
    let mut left_out = LeftOut::default();
    let mut kept: Vec<usize> = (0..all.len()).collect();
    let mut lost = Vec::new();
    if spec.deduplicate {
        kept = duplicates::distinct(all, &mut lost, &mut carried.findings);
        left_out.duplicates = all.len() - kept.len();
    }
    if let Some(window) = number(&spec.window) {
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        kept.drain(..kept.len().saturating_sub(window));
    }
    let result_limit = number(&spec.max_tool_result_chars).unwrap_or(0);
    if let Some(trim) = &spec.trim {
        let budget = trim::TrimBudget::of(trim, scope);
        left_out.trimmed = trim::trim_front(scope, &kept, result_limit, budget.raw);
        left_out.budget = budget.raw;
        kept.drain(..left_out.trimmed);
        let before = kept.first().map_or(0, |&index| position(scope, index));
        carried.trimmed = (before > 0 && budget.summaries > 0)
            .then_some(TrimmedHistory { messages: before, summary_budget: budget.summaries });
    }
    if spec.paired_tools {
        let before = kept.len();
        kept = tools::paired(all, &kept);
        left_out.unpaired = before - kept.len();
    }
    if left_out.unpaired > 0 {
        let message =
            format!("{} tool messages were left out: their call or their result is missing", left_out.unpaired);
        carried.findings.push(Finding::new(Code::ConversationUnpaired, Place::field("turn.conversation"), message));
    }
    carried.sections.push(summary(all.len(), kept.len(), &left_out));
    carried.sections.append(&mut lost);
    for index in kept {
        message::carry(spec, scope, index, result_limit, &mut carried);
    }
    carried
}

/// A message's index in the whole history.
fn position(scope: &TurnScope<'_>, index: usize) -> u64 {
    scope.turn.conversation.first_index.saturating_add(index as u64)
}

fn message_id(index: usize) -> Cow<'static, str> {
    format!("conversation/{index}").into()
}

fn cut_finding(index: usize, reason: &str) -> Finding {
    let place = Place::field(format!("turn.conversation.messages[{index}]"));
    Finding::new(Code::ConversationTruncated, place, reason.trim_end_matches('.').to_owned())
}

fn report(outcome: Outcome, reason: impl Into<Cow<'static, str>>) -> SectionReport<'static> {
    SectionReport {
        id: Cow::Borrowed("conversation"),
        outcome,
        reason: reason.into(),
        place: None,
        source: None,
        original: Size::default(),
        included: Size::default(),
        stability: Stability::Volatile,
        shared: None,
    }
}

/// How many messages are left out, by why.
#[derive(Default)]
struct LeftOut {
    duplicates: usize,
    trimmed: usize,
    budget: u64,
    unpaired: usize,
}

fn summary(all: usize, kept: usize, left_out: &LeftOut) -> SectionReport<'static> {
    let LeftOut { duplicates, trimmed, budget, unpaired } = *left_out;
    if kept == all {
        return report(Outcome::Included, "");
    }
    let mut reason = format!("{kept} of {all} messages are carried");
    for (count, why) in [(duplicates, "duplicates"), (unpaired, "tool messages without their counterpart")] {
        if count > 0 {
            let _ = write!(reason, ", {count} {why} left out");
        }
    }
    if trimmed > 0 {
        let _ = write!(reason, ", the {trimmed} oldest trimmed to {} estimated tokens", thousands(budget));
    }
    report(Outcome::Included, reason + ".")
}

#[cfg(test)]
mod tests;
