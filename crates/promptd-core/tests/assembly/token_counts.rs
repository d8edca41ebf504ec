//! Token counts: a message's is that of its whole content, however it is summed.

use promptd_core::{
    prompt::{Outcome, Prepared, count_tokens},
    tokens::Encoding,
    turn::{Conversation, ConversationMessage, Role, Snippet, Turn, User},
};
use serde_json::json;

use crate::support::{built_in, prompt, turn, workspace};

const FILES: [(&str, &str); 6] = [
    ("AGENTS.md", "Answer in one sentence.\n\n- Be exact: 12.5 m, 3 berths.\n"),
    ("SOUL.md", "Calm. Don't shout!"),
    ("KNOWLEDGE.md", "界面 and ünïcode 👍🏽"),
    ("HEARTBEAT.md", "- Look at the tide table."),
    ("skills/tide/SKILL.md", "---\nname: tide\ndescription: Tide windows, in local time.\n---\nRun `scripts/w.py`."),
    ("notes/2026-02-27.md", "Quiet day."),
];

/// A turn that makes some sections and leaves others to what the revision shares.
fn full_turn() -> Turn {
    Turn {
        user: Some(User { id: "7".into(), name: "Dana O'Neil".into() }),
        heartbeat: true,
        knowledge: vec![Snippet { content: "Dues rose by 3 %.".into(), source: "tariff".into(), ..Snippet::default() }],
        ephemeral_system_prompt: Some("Briefly.".into()),
        conversation: Conversation {
            messages: vec![
                ConversationMessage::new(Role::User, "When is high tide?\n"),
                ConversationMessage::new(Role::Assistant, "At 14:05."),
            ],
            ..Conversation::default()
        },
        ..turn()
    }
}

fn check(workspace: &Prepared, profile: &str, turn: &Turn) {
    for encoding in Encoding::ALL {
        let mut prompt = prompt(workspace, profile, turn);
        let recipe = workspace.profiles.get(profile).unwrap();
        count_tokens(&mut prompt, workspace, recipe, encoding);
        for message in &prompt.messages {
            let whole = encoding.count(&message.content);
            assert_eq!(message.size.tokens, Some(whole), "{profile}, {encoding:?}, {:?}", message.content);
        }
        let sum = prompt.messages.iter().filter_map(|message| message.size.tokens).sum();
        assert_eq!(prompt.size.tokens, Some(sum), "{profile}, {encoding:?}");
        for section in &prompt.sections {
            let alone = prompt.section_text(section).map_or(0, |text| encoding.count(text));
            if section.outcome == Outcome::Included && section.id != "conversation" {
                assert_eq!(section.included.tokens, Some(alone), "{profile}, {encoding:?}, {}", section.id);
            }
        }
    }
}

#[test]
fn a_message_has_the_count_of_its_whole_content_in_every_profile() {
    let workspace = built_in(&FILES);
    let names: Vec<_> = workspace.profiles.iter().map(|profile| profile.name.to_string()).collect();
    assert!(names.len() >= 8);
    for name in &names {
        check(&workspace, name, &turn());
        check(&workspace, name, &full_turn());
    }
}

/// What follows a separator may join with it into one token: then parts cannot be summed.
#[test]
fn a_message_has_the_count_of_its_whole_content_with_any_separator() {
    let texts = ["Done.", "/path", " spaced", "word", "123", "\nline"];
    for separator in ["", " ", "\n", "\n\n", "--", "/", "\n "] {
        let section = |(id, text): (usize, &&str)| {
            let text = if id % 2 == 0 { format!("{text}{{{{ persona }}}}") } else { (*text).to_owned() };
            json!({"id": id.to_string(), "stability": "stable", "template": text})
        };
        let sections: Vec<_> = texts.iter().enumerate().map(section).collect();
        let own = json!({"name": "own", "messages": [{"name": "m", "separator": separator, "sections": sections}]});
        let workspace = workspace(&FILES, &own.to_string());
        check(&workspace, "own", &turn());
        check(&workspace, "own", &Turn { persona: Some("s".into()), ..turn() });
    }
}
