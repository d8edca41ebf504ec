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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::{Role, ToolCall};

    #[test]
    fn a_duplicate_that_says_something_else_is_a_loss() {
        let call = |arguments: &str| ToolCall { id: "c".into(), name: "t".into(), arguments_json: arguments.into() };
        let first = ConversationMessage {
            id: "m1".into(),
            tool_calls: vec![call("{}")],
            ..ConversationMessage::new(Role::Assistant, "I look.")
        };
        let of = |change: fn(&mut ConversationMessage)| {
            let mut other = first.clone();
            change(&mut other);
            other
        };
        for (why, second, kept, losses) in [
            ("the same", of(|_| {}), 1, 0),
            ("another content", of(|m| m.content = "I looked.".into()), 1, 1),
            ("another role", of(|m| m.role = Role::User), 1, 1),
            ("other calls", of(|m| m.tool_calls[0].arguments_json = "{\"a\":1}".into()), 1, 1),
            ("no calls", of(|m| m.tool_calls.clear()), 1, 1),
            ("another call answered", of(|m| m.tool_call_id = "c0".into()), 1, 1),
            ("another name", of(|m| m.name = "Ann".into()), 1, 0),
            ("another id", of(|m| m.id = "m2".into()), 2, 0),
            ("no id", of(|m| m.id.clear()), 2, 0),
        ] {
            let (mut lost, mut findings) = (Vec::new(), Vec::new());
            let all = [first.clone(), second];
            assert_eq!(distinct(&all, &mut lost, &mut findings).len(), kept, "{why}");
            assert_eq!((lost.len(), findings.len()), (losses, losses), "{why}");
        }
    }
}
