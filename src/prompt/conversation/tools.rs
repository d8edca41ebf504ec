//! Calls and results of tools: providers refuse a result without its call, and a call without its results.

use std::collections::HashMap;

use super::Spoken;
use crate::prompt::Role;

/// The messages at `kept`, without orphans: a call whose results are not all there goes with those that are, a result
/// without its call goes, and results stand directly after their call.
pub fn paired(all: &[Spoken], kept: &[usize]) -> Vec<usize> {
    let mut results: HashMap<&str, usize> = HashMap::new();
    for &index in kept {
        let message = &all[index];
        if message.role == Role::Tool && !message.tool_call_id.is_empty() {
            results.entry(&message.tool_call_id).or_insert(index);
        }
    }
    let mut order = Vec::with_capacity(kept.len());
    for &index in kept {
        let message = &all[index];
        if message.role == Role::Tool {
            continue;
        }
        let answers: Vec<Option<usize>> = message
            .tool_calls
            .iter()
            .map(|call| results.get(call.id.as_str()).copied().filter(|&at| at > index))
            .collect();
        if answers.iter().all(Option::is_some) {
            order.push(index);
            for answer in answers.into_iter().flatten() {
                results.remove(all[answer].tool_call_id.as_str());
                order.push(answer);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::ToolCall;

    fn spoken(role: Role, result_of: &str, calls: &[&str]) -> Spoken {
        let call = |id: &&str| ToolCall { id: (*id).into(), name: "t".into(), arguments_json: "{}".into() };
        Spoken {
            role,
            content: "x".into(),
            tool_call_id: result_of.into(),
            name: String::new(),
            time: None,
            tool_calls: calls.iter().map(call).collect(),
            id: String::new(),
        }
    }

    #[test]
    fn orphans_go_and_results_follow_their_call() {
        use Role::{Assistant, Tool, User};
        let all = [
            spoken(Tool, "lost", &[]),
            spoken(User, "", &[]),
            spoken(Assistant, "", &["a", "b"]),
            spoken(Tool, "b", &[]),
            spoken(User, "", &[]),
            spoken(Tool, "a", &[]),
            spoken(Assistant, "", &["never"]),
            spoken(Assistant, "", &["c"]),
            spoken(Tool, "c", &[]),
            spoken(Tool, "c", &[]),
        ];
        let kept: Vec<usize> = (0..all.len()).collect();
        assert_eq!(paired(&all, &kept), [1, 2, 5, 3, 4, 7, 8]);
    }
}
