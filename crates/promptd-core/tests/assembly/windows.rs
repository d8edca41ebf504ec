//! The window of a conversation, under every built-in profile: what a provider needs is in it, and what is lost is reported.

use std::collections::HashSet;

use promptd_core::{
    finding::Code,
    profile::Profile,
    prompt::{Outcome, Prompt},
    turn::{Conversation, ConversationMessage, Role, Turn},
};
use proptest::prelude::*;

use crate::{
    conversations::{conversation, inputs, part},
    support::{built_in, prompt, turn},
};

fn carried(prompt: &Prompt<'_>) -> Vec<usize> {
    prompt.messages.iter().filter_map(|message| Some(message.origin?.index as usize)).collect()
}

fn calls_or_answers(message: &ConversationMessage) -> bool {
    message.role == Role::Tool || !message.calls().is_empty()
}

fn check_window(profile: &Profile, prompt: &Prompt<'_>, sent: &[ConversationMessage]) {
    let carried = carried(prompt);
    let indices: HashSet<usize> = carried.iter().copied().collect();
    let has = |code| prompt.findings.iter().any(|finding| finding.code == code);
    let dropped = |index: usize| {
        let id = format!("conversation/{index}");
        prompt.sections.iter().any(|section| section.id == id && section.outcome == Outcome::Dropped)
    };
    assert_eq!(has(Code::ConversationNotCarried), profile.conversation().is_none() && !sent.is_empty());
    if profile.conversation().is_none() {
        assert!(carried.is_empty());
        return;
    }
    let newest = sent.iter().rposition(|message| message.role == Role::User);
    if let Some(newest) = newest {
        assert!(indices.contains(&newest), "the user's newest message");
        // A result may answer a call from before.
        for index in (newest..sent.len()).filter(|&index| sent[index].role != Role::Tool) {
            assert!(indices.contains(&index) || dropped(index), "message {index} of the newest turn is gone");
        }
    }
    let is_cut = (0..sent.len()).any(|index| !indices.contains(&index) && !dropped(index));
    let all_call = carried.iter().all(|&index| calls_or_answers(&sent[index]));
    let begins_with_call = carried.first().is_some_and(|&first| calls_or_answers(&sent[first]));
    assert!(!is_cut || all_call || !begins_with_call, "begins with a call: {carried:?}");
    let usable = (0..sent.len()).any(|index| !dropped(index));
    assert_eq!(carried.is_empty(), !usable, "empty without a reason");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]
    #[test]
    fn every_window_has_what_a_provider_needs(parts in prop::collection::vec(part(), 0..14), limit: u8) {
        let workspace = built_in(&[("AGENTS.md", "Rules.")]);
        let sent = conversation(&parts);
        for profile in workspace.profiles.iter() {
            let turn = Turn {
                conversation: Conversation { messages: sent.clone(), ..Conversation::default() },
                inputs: inputs(profile, limit),
                ..turn()
            };
            check_window(profile, &prompt(&workspace, profile.name.as_str(), &turn), &sent);
        }
    }
}
