//! Digests, computed here as docs/rules.md has them.

use promptd_core::{
    digest::Digest,
    prompt::{Holder, Message, Prompt, count_tokens},
    render::{RenderFormat, render},
    tokens::Encoding,
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

const WITH_A_CARD: &str = r#"
name: own
messages:
  - name: card
    card: true
    sections:
      - { id: a, stability: stable, template: "A" }
      - { id: b, template: "{{ now.utc }}" }
  - name: message
    sections:
      - { id: c, stability: stable, template: "C" }
"#;

fn sha(parts: &[&[u8]]) -> [u8; 32] {
    Sha256::digest(parts.concat()).into()
}

/// The ends of a message's sections, in order; a message of the conversation is one piece.
fn chunks(prompt: &Prompt<'_>, message: &Message<'_>, holder: Holder) -> Vec<[u8; 32]> {
    let content = message.content.as_bytes();
    let positions = prompt.sections.iter().filter_map(|section| section.position.as_ref());
    let mut ends: Vec<usize> =
        positions.filter(|position| position.holder == holder).map(|position| position.range().end).collect();
    if message.origin.is_some() {
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
    let holders = (0..).map(Holder::Message).zip(&prompt.messages);
    let all: Vec<_> = holders.chain((0..).map(Holder::Card).zip(&prompt.cards)).collect();
    let messages: Vec<_> = all.iter().map(|(holder, each)| message(each, &chunks(prompt, each, *holder))).collect();
    for ((_, each), expected) in all.iter().zip(&messages) {
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
    check(&prompt(&self::workspace(&FILES, WITH_A_CARD), "own", &turn()));
}

#[test]
fn the_stable_digest_ends_within_a_message() {
    let workspace = workspace(&FILES, OWN);
    let turn = turn();
    let prompt = prompt(&workspace, "own", &turn);
    let whole = message(&prompt.messages[0], &chunks(&prompt, &prompt.messages[0], Holder::Message(0)));
    let parts = chunks(&prompt, &prompt.messages[1], Holder::Message(1));
    let plan = prompt.cache_plan;
    assert_eq!((plan.stable_messages, plan.stable_bytes), (1, ("A\n\nB".len() + "C--D".len()) as u64));
    assert_eq!(plan.stable_digest, Digest(sha(&[&whole, &parts[0], &parts[1]])));
}

#[test]
fn a_card_is_no_message() {
    let workspace = workspace(&FILES, WITH_A_CARD);
    let turn = turn();
    let mut prompt = prompt(&workspace, "own", &turn);
    let names = |messages: &[Message<'_>]| messages.iter().map(|message| message.name.to_owned()).collect::<Vec<_>>();
    assert_eq!((names(&prompt.messages), names(&prompt.cards)), (vec!["message".into()], vec!["card".into()]));
    assert_eq!((prompt.size.bytes, prompt.cache_plan.stable_messages), (1, 1));
    assert_eq!(prompt.sections[0].position.as_ref().unwrap().holder, Holder::Card(0));
    assert_eq!(prompt.section_text(&prompt.sections[0]), Some("A"));
    for format in RenderFormat::ALL {
        assert!(!render(&prompt, format).text.contains('A'), "{format:?}");
    }
    let profile = workspace.profiles.get("own").unwrap();
    count_tokens(&mut prompt, &workspace, profile, Encoding::O200kBase);
    assert_eq!(prompt.size.tokens, Some(1), "a card is not counted");
    assert_eq!(prompt.sections[0].included.tokens, Some(1));
    assert!(prompt.cards[0].size.tokens > Some(5));
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
