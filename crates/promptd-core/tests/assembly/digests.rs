//! Digests, computed here as docs/rules.md has them.

use promptd_core::{
    digest::Digest,
    prompt::{Message, Prompt},
    turn::{Conversation, ConversationMessage, Role},
};
use sha2::{Digest as _, Sha256};

use crate::support::{built_in, prompt, turn, workspace};

const FILES: [(&str, &str); 2] = [("AGENTS.md", "Rules."), ("SOUL.md", "Tone.")];

const OWN: &str = r#"
name: own
messages:
  - name: whole
    sections:
      - { id: a, stability: stable, template: "A" }
      - { id: b, stability: stable, template: "B" }
  - name: parts
    role: user
    separator: "--"
    sections:
      - { id: c, stability: stable, template: "C" }
      - { id: d, stability: stable, template: "D" }
      - { id: e, stability: volatile, template: "{{ now.utc }}" }
      - { id: f, stability: stable, template: "F" }
"#;

fn sha(parts: &[&[u8]]) -> [u8; 32] {
    Sha256::digest(parts.concat()).into()
}

/// The ends of a message's sections, in order; a message of the conversation is one piece.
fn chunks(prompt: &Prompt<'_>, index: usize) -> Vec<[u8; 32]> {
    let content = prompt.messages[index].content.as_bytes();
    let positions = prompt.sections.iter().filter_map(|section| section.position.as_ref());
    let mut ends: Vec<usize> =
        positions.filter(|position| position.message as usize == index).map(|position| position.range().end).collect();
    if prompt.messages[index].origin.is_some() {
        ends = vec![content.len()];
    }
    let starts = [0].into_iter().chain(ends.iter().copied());
    starts.zip(&ends).map(|(start, &end)| sha(&[&content[start..end]])).collect()
}

fn role(role: Role) -> &'static [u8] {
    match role {
        Role::System => b"system",
        Role::User => b"user",
        Role::Assistant => b"assistant",
        Role::Tool => b"tool",
    }
}

fn message(message: &Message<'_>, chunks: &[[u8; 32]]) -> [u8; 32] {
    sha(&[role(message.role), b"\n", message.name.as_bytes(), b"\n", &chunks.concat()])
}

fn check(prompt: &Prompt<'_>) {
    let messages: Vec<[u8; 32]> =
        prompt.messages.iter().enumerate().map(|(index, each)| message(each, &chunks(prompt, index))).collect();
    for (each, expected) in prompt.messages.iter().zip(&messages) {
        assert_eq!(each.digest, Digest(*expected), "{} {}", each.name, each.content);
    }
    assert_eq!(prompt.digest, Digest(sha(&[&messages.concat()])));
}

#[test]
fn messages_and_prompts_are_hashed_as_the_rules_say() {
    let workspace = built_in(&FILES);
    for profile in ["five-layer", "kern", "airi", "kai-local", "kai-heartbeat", "lucidpal"] {
        let mut turn = turn();
        turn.heartbeat = true;
        turn.persona = Some("Warm.".into());
        turn.conversation = Conversation {
            messages: vec![
                ConversationMessage::new(Role::User, "When is high tide?"),
                ConversationMessage::new(Role::Assistant, "At 14:05."),
            ],
            ..Conversation::default()
        };
        check(&prompt(&workspace, profile, &turn));
    }
    check(&prompt(&self::workspace(&FILES, OWN), "own", &turn()));
}

#[test]
fn the_stable_digest_ends_within_a_message() {
    let workspace = workspace(&FILES, OWN);
    let turn = turn();
    let prompt = prompt(&workspace, "own", &turn);
    let whole = message(&prompt.messages[0], &chunks(&prompt, 0));
    let parts = chunks(&prompt, 1);
    let plan = prompt.cache_plan;
    assert_eq!((plan.stable_messages, plan.stable_bytes), (1, ("A\n\nB".len() + "C--D".len()) as u64));
    assert_eq!(plan.stable_digest, Digest(sha(&[&whole, &parts[0], &parts[1]])));
}

/// Known answers, from `printf` and `sha256sum`: the tests above could share a mistake with the code.
#[test]
fn known_digests() {
    let workspace = workspace(&FILES, OWN);
    let turn = turn();
    let prompt = prompt(&workspace, "own", &turn);
    assert_eq!(prompt.messages[0].digest.to_hex(), "6ea655c723d83dc13f8207d2da1d1a049c29ffd336a8e6ce4ac3a9421dfebf11");
    assert_eq!(prompt.messages[1].digest.to_hex(), "15457db324529a6d054c407242775d856d0a7ef7cc19a4087987aadb876ed2f1");
    assert_eq!(prompt.digest.to_hex(), "96149e5198d6b5b766e82a0fa222f36227281c2bb8bdd44721bc5fe482aa1792");
    assert_eq!(
        prompt.cache_plan.stable_digest.to_hex(),
        "8dd0c6aeee8a57b1645a68cd5c163ad81af5792b14db3088afd8bd2a05182b5d"
    );
}
