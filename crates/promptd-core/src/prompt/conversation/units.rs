//! Units of a conversation: a message, or a call of tools with its results. Providers refuse a result without its call, a
//! call without its results, and anything between the two, so that a conversation is only cut between units.

use std::collections::{HashMap, VecDeque};

use crate::turn::{ConversationMessage, Role};

/// A message with the results of the tools that it calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The message's index.
    pub message: usize,
    /// The indices of the results, in the order of the calls.
    pub results: Vec<usize>,
}

impl Unit {
    /// How many messages it has.
    pub(super) fn len(&self) -> usize {
        1 + self.results.len()
    }

    /// The indices of its messages, in order.
    pub(super) fn indices(&self) -> impl Iterator<Item = usize> {
        [self.message].into_iter().chain(self.results.iter().copied())
    }
}

/// The units of the messages at `kept`, and the messages that are in none, in order: a result without its call, a call
/// without all of its results, and the results that it has.
///
/// A result belongs to the newest call of its id before it: some providers number the calls of each message from zero.
pub(super) fn units(all: &[ConversationMessage], kept: &[usize]) -> (Vec<Unit>, Vec<usize>) {
    let mut answers = answers(all, kept);
    let mut units = Vec::with_capacity(kept.len());
    let mut is_in_unit = vec![false; all.len()];
    for &message in kept.iter().filter(|&&index| all[index].role != Role::Tool) {
        let results: Option<Vec<usize>> = answers.remove(&message).unwrap_or_default().into_iter().collect();
        if let Some(results) = results {
            let unit = Unit { message, results };
            unit.indices().for_each(|index| is_in_unit[index] = true);
            units.push(unit);
        }
    }
    let unpaired = kept.iter().copied().filter(|&index| !is_in_unit[index]).collect();
    (units, unpaired)
}

/// The result of each call, by the index of the message that calls; `None`: it has no result.
fn answers(all: &[ConversationMessage], kept: &[usize]) -> HashMap<usize, Vec<Option<usize>>> {
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
        } else if !message.calls().is_empty() {
            answers.insert(index, vec![None; message.calls().len()]);
            for (slot, call) in message.calls().iter().enumerate() {
                let waiting = open.entry(&call.id).or_insert_with(|| (index, VecDeque::new()));
                if waiting.0 != index {
                    *waiting = (index, VecDeque::new());
                }
                waiting.1.push_back(slot);
            }
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::ToolCall;

    fn paired(all: &[ConversationMessage], kept: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let (units, unpaired) = units(all, kept);
        (units.iter().flat_map(Unit::indices).collect(), unpaired)
    }

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
        assert_eq!(paired(&all, &kept), (vec![1, 2, 5, 3, 4, 7, 8], vec![0, 6, 9]));
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
        assert_eq!(paired(&all, &kept), (vec![0, 1, 2, 4, 5, 7], vec![3, 6, 8, 9]));
        assert_eq!(paired(&all, &kept[1..]), (vec![2, 4, 5, 7], vec![1, 3, 6, 8, 9]), "without the first call");
    }
}
