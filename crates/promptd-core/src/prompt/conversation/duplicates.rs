//! Messages that come twice.

use std::collections::HashMap;

use super::window::{cut_finding, message_id, report};
use crate::{
    finding::Finding,
    prompt::output::{Outcome, SectionReport, Size},
    turn::ConversationMessage,
};

/// The messages less those with the id of an earlier one. One that says something else than the earlier is a loss.
pub(super) fn distinct(
    all: &[ConversationMessage],
    lost: &mut Vec<SectionReport<'static>>,
    findings: &mut Vec<Finding>,
) -> Vec<usize> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut kept = Vec::with_capacity(all.len());
    for (index, message) in all.iter().enumerate() {
        let first = if message.id.is_empty() { index } else { *seen.entry(&message.id).or_insert(index) };
        if first == index {
            kept.push(index);
        } else if !same(message, &all[first]) {
            let reason = format!("It has the id of message {first}, which says something else and is kept.");
            findings.push(cut_finding(index, &reason));
            let dropped = SectionReport { original: Size::of(&message.content), ..report(Outcome::Dropped, reason) };
            lost.push(SectionReport { id: message_id(index), ..dropped });
        }
    }
    kept
}

fn same(one: &ConversationMessage, other: &ConversationMessage) -> bool {
    one.role == other.role
        && one.content == other.content
        && one.tool_call_id == other.tool_call_id
        && one.tool_calls == other.tool_calls
}
