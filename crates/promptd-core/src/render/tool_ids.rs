//! Calls of tools and their results, joined by ids that a provider accepts.
//!
//! A history may come from several providers, each with its own form of ids, and some number the calls of each message
//! from zero. An id that the provider of the fragment would refuse, or that an earlier call has, is rewritten in the call
//! and in its result alike.

use std::collections::{HashMap, HashSet, VecDeque};

use sha2::{Digest as _, Sha256};

use crate::{
    digest::Digest,
    finding::{Code, Finding, Place},
    prompt::Message,
    text::shorten,
    turn::Role,
};

/// The most characters of an id that a finding shows.
const SHOWN_CHARS: usize = 64;
/// How many hex digits of its digest the id of a long one ends with.
const DIGEST_DIGITS: usize = 8;

/// What a provider accepts as the id of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdRule {
    /// The provider, for a person.
    pub provider: &'static str,
    /// The most bytes.
    pub max_bytes: usize,
    /// The characters; `None`: any.
    pub characters: Option<fn(char) -> bool>,
}

/// The calls and results of a prompt's messages.
#[derive(Debug, Default)]
pub(super) struct ToolIds<'p> {
    /// By message and call.
    calls: Vec<Vec<String>>,
    /// By message.
    results: Vec<Option<ToolResult<'p>>>,
    /// The calls whose ids were rewritten: the field, and the old and the new id.
    rewritten: Vec<(String, &'p str, String)>,
}

/// What a result answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolResult<'p> {
    /// The id of the call.
    pub id: String,
    /// The tool; of a result without its call, the result's own name, else its id.
    pub name: &'p str,
}

impl<'p> ToolIds<'p> {
    pub(super) fn new(messages: &'p [Message<'p>], rule: IdRule) -> Self {
        let mut ids = Self::default();
        let mut used = UsedIds::default();
        // By the caller's id, of the newest message with it: the calls without a result yet.
        let mut open: HashMap<&str, (usize, VecDeque<ToolResult<'p>>)> = HashMap::new();
        for (at, message) in messages.iter().enumerate() {
            let Some(origin) = message.origin else {
                ids.calls.push(Vec::new());
                ids.results.push(None);
                continue;
            };
            let mut calls = Vec::with_capacity(origin.message.calls().len());
            for (slot, call) in origin.message.calls().iter().enumerate() {
                let id = used.unique(&rule.accepted(&call.id), rule.max_bytes);
                if id != call.id {
                    let field = format!("turn.conversation.messages[{}].tool_calls[{slot}].id", origin.index);
                    ids.rewritten.push((field, &call.id, id.clone()));
                }
                let (newest, waiting) = open.entry(&call.id).or_default();
                if *newest != at {
                    waiting.clear();
                    *newest = at;
                }
                waiting.push_back(ToolResult { id: id.clone(), name: &call.name });
                calls.push(id);
            }
            ids.calls.push(calls);
            let result = (message.role == Role::Tool).then(|| {
                let id = origin.message.tool_call_id.as_str();
                let answered = open.get_mut(id).and_then(|(_, waiting)| waiting.pop_front());
                answered.unwrap_or_else(|| {
                    let name = origin.message.name.as_str();
                    ToolResult { id: rule.accepted(id), name: if name.is_empty() { id } else { name } }
                })
            });
            ids.results.push(result);
        }
        ids
    }

    /// The ids of a message's calls, in order.
    pub(super) fn calls(&self, message: usize) -> &[String] {
        &self.calls[message]
    }

    /// What a message answers; `None`: it is not a result.
    pub(super) fn result(&self, message: usize) -> Option<&ToolResult<'p>> {
        self.results[message].as_ref()
    }

    /// The finding that names what was rewritten.
    pub(super) fn finding(&self, rule: IdRule) -> Option<Finding> {
        let (field, old, new) = self.rewritten.first()?;
        let others = match self.rewritten.len() - 1 {
            0 => String::new(),
            1 => ", and one more id is rewritten".to_owned(),
            count => format!(", and {count} more ids are rewritten"),
        };
        let message = format!(
            "`{}` is `{new}` in `rendered`, in the call and in its result: {} needs ids of its form that are unique{others}",
            shorten(old, SHOWN_CHARS),
            rule.provider
        );
        Some(Finding::new(Code::ToolCallIdRewritten, Place::field(field.clone()), message))
    }
}

/// The ids that a fragment has so far.
#[derive(Default)]
struct UsedIds {
    ids: HashSet<String>,
    /// By id, the last number that was added to it: the numbers below are taken.
    numbers: HashMap<String, usize>,
}

impl UsedIds {
    /// The id, with a number where an earlier call has it.
    fn unique(&mut self, id: &str, max_bytes: usize) -> String {
        let mut unique = id.to_owned();
        while !self.ids.insert(unique.clone()) {
            let number = self.numbers.entry(id.to_owned()).or_insert(1);
            *number += 1;
            let suffix = format!("_{number}");
            let kept = floor_char_boundary(id, max_bytes - suffix.len());
            unique = format!("{}{suffix}", &id[..kept]);
        }
        unique
    }
}

impl IdRule {
    /// The id itself where the provider accepts it; else one made of it.
    fn accepted(self, id: &str) -> String {
        let is_accepted = |c: char| self.characters.is_none_or(|accepts| accepts(c));
        let id: String = if id.is_empty() { "call".into() } else { id.into() };
        let replaced: String = id.chars().map(|c| if is_accepted(c) { c } else { '_' }).collect();
        if replaced.len() <= self.max_bytes {
            return replaced;
        }
        let digest = Digest(Sha256::digest(&id).into()).to_hex();
        let kept = floor_char_boundary(&replaced, self.max_bytes - DIGEST_DIGITS - 1);
        format!("{}_{}", &replaced[..kept], &digest[..DIGEST_DIGITS])
    }
}

/// The end of the longest prefix of at most `bytes` bytes.
fn floor_char_boundary(text: &str, bytes: usize) -> usize {
    (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{super::sample, *};
    use crate::turn::{ConversationMessage, ToolCall};

    const RULE: IdRule = IdRule {
        provider: "Test",
        max_bytes: 20,
        characters: Some(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')),
    };

    fn calls(ids: &[(&str, &str)]) -> ConversationMessage {
        let call =
            |(id, name): &(&str, &str)| ToolCall { id: (*id).into(), name: (*name).into(), ..ToolCall::default() };
        ConversationMessage {
            tool_calls: ids.iter().map(call).collect(),
            ..ConversationMessage::new(Role::Assistant, "")
        }
    }

    fn result(id: &str) -> ConversationMessage {
        ConversationMessage { tool_call_id: id.into(), ..ConversationMessage::new(Role::Tool, "x") }
    }

    #[test]
    fn an_id_is_kept_where_it_is_accepted() {
        for (id, accepted) in [
            ("toolu_01-a", "toolu_01-a"),
            ("functions.read:0", "functions_read_0"),
            ("", "call"),
            ("界", "_"),
            ("12345678901234567890", "12345678901234567890"),
            ("123456789012345678901", "12345678901_84ed10bc"),
        ] {
            assert_eq!(RULE.accepted(id), accepted, "{id}");
        }
        assert_ne!(RULE.accepted(&"a".repeat(30)), RULE.accepted(&"a".repeat(31)), "long ids stay different");
    }

    #[test]
    fn calls_and_results_have_one_id_and_no_two_calls_share_it() {
        let conversation = [
            calls(&[("call_0", "read")]),
            result("call_0"),
            calls(&[("call_0", "write"), ("call:0", "list")]),
            result("call:0"),
            result("call_0"),
            calls(&[("same", "f"), ("same", "g")]),
            result("same"),
            result("same"),
            calls(&[("call_0_2", "late")]),
            result("call_0_2"),
        ];
        let messages: Vec<_> = conversation.iter().map(sample::carried).collect();
        let ids = ToolIds::new(&messages, RULE);
        assert_eq!(ids.calls(0), ["call_0"]);
        assert_eq!(ids.calls(2), ["call_0_2", "call_0_3"]);
        assert_eq!(ids.calls(5), ["same", "same_2"]);
        assert_eq!(ids.calls(8), ["call_0_2_2"]);
        let answers: Vec<_> = [1, 3, 4, 6, 7, 9].map(|at| ids.result(at).unwrap()).map(|r| (&*r.id, r.name)).into();
        assert_eq!(
            answers,
            [
                ("call_0", "read"),
                ("call_0_3", "list"),
                ("call_0_2", "write"),
                ("same", "f"),
                ("same_2", "g"),
                ("call_0_2_2", "late"),
            ]
        );
        let finding = ids.finding(RULE).unwrap();
        assert_eq!(
            finding.message,
            "`call_0` is `call_0_2` in `rendered`, in the call and in its result: Test needs ids of its form that are \
             unique, and 3 more ids are rewritten"
        );
    }

    #[test]
    fn a_result_without_its_call_keeps_its_own_name() {
        let named = ConversationMessage { name: "tide".into(), ..result("lost") };
        let conversation = [named, result("gone")];
        let messages: Vec<_> = conversation.iter().map(sample::carried).collect();
        let ids = ToolIds::new(&messages, RULE);
        assert_eq!(ids.result(0), Some(&ToolResult { id: "lost".into(), name: "tide" }));
        assert_eq!(ids.result(1), Some(&ToolResult { id: "gone".into(), name: "gone" }));
        assert_eq!(ids.finding(RULE), None);
    }
}
