//! Calls and results of tools: providers refuse a result without its call, and a call without its results.

use std::collections::{HashMap, VecDeque};

use crate::turn::{ConversationMessage, Role};

/// The messages at `kept`, without orphans: a call whose results are not all there goes with those that are, a result
/// without its call goes, and results follow their call directly. A result belongs to the newest call of its id
/// before it: some providers number the calls of each message from zero.
pub(super) fn paired(all: &[ConversationMessage], kept: &[usize]) -> Vec<usize> {
    // By call id, where it was made last: the message, and which of its calls still wait.
    let mut open: HashMap<&str, (usize, VecDeque<usize>)> = HashMap::new();
    let mut answers: HashMap<usize, Vec<Option<usize>>> = HashMap::new();
    for &index in kept {
        let message = &all[index];
        if message.role == Role::Tool {
            let waiting = open.get_mut(message.tool_call_id.as_str());
            let slot = waiting.and_then(|(call, slots)| Some((*call, slots.pop_front()?)));
            if let Some((call, slot)) = slot {
                answers.entry(call).and_modify(|answers| answers[slot] = Some(index));
            }
        } else if !message.tool_calls.is_empty() {
            answers.insert(index, vec![None; message.tool_calls.len()]);
            for (slot, call) in message.tool_calls.iter().enumerate() {
                let waiting = open.entry(&call.id).or_insert_with(|| (index, VecDeque::new()));
                if waiting.0 != index {
                    *waiting = (index, VecDeque::new());
                }
                waiting.1.push_back(slot);
            }
        }
    }
    let mut order = Vec::with_capacity(kept.len());
    for &index in kept.iter().filter(|&&index| all[index].role != Role::Tool) {
        let results: Option<Vec<usize>> = answers.remove(&index).unwrap_or_default().into_iter().collect();
        if let Some(results) = results {
            order.push(index);
            order.extend(results);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::ToolCall;

    fn message(role: Role, result_of: &str, calls: &[&str]) -> ConversationMessage {
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "t".into(), arguments_json: "{}".into() };
        let tool_calls = calls.iter().map(call).collect();
        ConversationMessage { tool_call_id: result_of.into(), tool_calls, ..ConversationMessage::new(role, "x") }
    }

    #[test]
    fn orphans_go_and_results_follow_their_call() {
        use Role::{Assistant, Tool, User};
        let all = [
            message(Tool, "lost", &[]),
            message(User, "", &[]),
            message(Assistant, "", &["a", "b"]),
            message(Tool, "b", &[]),
            message(User, "", &[]),
            message(Tool, "a", &[]),
            message(Assistant, "", &["never"]),
            message(Assistant, "", &["c"]),
            message(Tool, "c", &[]),
            message(Tool, "c", &[]),
        ];
        let kept: Vec<usize> = (0..all.len()).collect();
        assert_eq!(paired(&all, &kept), [1, 2, 5, 3, 4, 7, 8]);
    }
    #[test]
    fn ids_may_be_used_again_and_results_of_none_are_orphans() {
        use Role::{Assistant, Tool, User};
        let all = [
            message(Assistant, "", &["0"]),
            message(Tool, "0", &[]),
            message(User, "", &[]),
            message(Assistant, "", &["0"]),
            message(Assistant, "", &["0", "0"]),
            message(Tool, "0", &[]),
            message(Tool, "", &[]),
            message(Tool, "0", &[]),
            message(Tool, "0", &[]),
            message(Assistant, "", &["later"]),
        ];
        let kept: Vec<usize> = (0..all.len()).collect();
        assert_eq!(paired(&all, &kept), [0, 1, 2, 4, 5, 7]);
        assert_eq!(paired(&all, &kept[1..]), [2, 4, 5, 7], "a window that begins within a block");
    }
}
