//! What of the history comes before the messages that are carried: the summaries in its place, and what is in none.

use super::{
    cut::Cut,
    segments::{Coverage, Selection, select},
    trim::{TrimBudget, position},
    units::Unit,
};
use crate::{
    finding::{Code, Finding, Place},
    prompt::{
        output::CarriedConversation,
        scope::{TrimmedHistory, TurnScope},
    },
    text::thousands,
    turn::Conversation,
};

/// What comes before the units that are carried. Only a profile that trims, and so has a budget, has anything in its place.
pub(super) fn before<'a>(
    scope: &TurnScope<'a>,
    units: &[Unit],
    cut: &Cut,
    budget: Option<&TrimBudget>,
) -> TrimmedHistory<'a> {
    let conversation = &scope.turn.conversation;
    let messages = match units.get(cut.start) {
        _ if cut.start == 0 => conversation.first_index,
        Some(unit) => position(scope, unit.message),
        None => position(scope, conversation.messages.len()),
    };
    let Some(budget) = budget else { return TrimmedHistory { messages, ..TrimmedHistory::default() } };
    let most = budget.summaries.filter(|_| scope.profile.shows_summaries());
    let selection = match most {
        Some(most) if most > 0 && messages > 0 => select(&conversation.segments, messages, most),
        _ => Selection::default(),
    };
    let coverage = Coverage::of(&selection.shown);
    let left_out = cut.left_out(units).flat_map(Unit::indices).map(|index| position(scope, index));
    let uncovered = left_out.filter(|&message| !coverage.has(message)).count() as u64;
    // Without summaries a caller that sends the end of a history alone has decided so.
    let never_sent =
        if most.is_some() || conversation.rest_is_stored { coverage.holes_before(conversation.first_index) } else { 0 };
    TrimmedHistory {
        messages,
        summaries: selection.shown,
        shadowed: selection.shadowed,
        uncovered: uncovered.saturating_add(never_sent),
    }
}

/// What a caller should know of a trimmed conversation.
pub(super) fn findings(conversation: &Conversation, carried: &CarriedConversation) -> Vec<Finding> {
    let CarriedConversation { cut, uncovered, estimated_tokens, token_budget, .. } = *carried;
    let mut findings = Vec::new();
    if uncovered > 0 {
        let (field, message) = if conversation.segments.is_empty() {
            ("turn.conversation", format!("{uncovered} messages were trimmed, and no summary takes their place"))
        } else {
            let message =
                format!("{uncovered} of the {cut} messages before the window are in no summary that is shown");
            ("turn.conversation.segments", message)
        };
        findings.push(Finding::new(Code::ConversationUncovered, Place::field(field), message));
    }
    if token_budget > 0 && estimated_tokens > token_budget {
        let message = format!(
            "the messages that are carried take {} estimated tokens, more than their budget of {}",
            thousands(estimated_tokens),
            thousands(token_budget)
        );
        findings.push(Finding::new(Code::ConversationOverBudget, Place::field("turn.conversation"), message));
    }
    findings
}
