//! Layers are independent: none takes another with it, and what comes later never moves what comes before.

use promptd_contract::proto;
use promptd_core::{prompt, settings::Settings};
use proptest::prelude::*;

use crate::arbitrary::{Files, checked, files, raw_turn, snapshot};

fn workspace() -> Files {
    [
        ("workspace.yaml", "agent: {time_zone: Europe/Berlin}\nexpose_paths: true\n"),
        ("AGENTS.md", "Rules."),
        ("SOUL.md", "Calm."),
        ("IDENTITY.md", "I am Harbor."),
        ("skills/tides/SKILL.md", "---\nname: tides\ndescription: Knows tides.\n---\n"),
    ]
    .into_iter()
    .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
    .collect()
}

fn messages(files: &Files, turn: proto::Turn) -> Vec<(String, String)> {
    let snapshot = snapshot(files, &Settings::default()).unwrap();
    let turn = checked(turn).unwrap();
    let prompt = prompt::assemble(&snapshot, snapshot.profiles.get("five-layer").unwrap(), &turn).unwrap();
    prompt.messages.iter().map(|message| (message.name.to_owned(), message.content.to_string())).collect()
}

/// Every one of 2^8 ways to set the optional parts: what is set appears once and in order, what is not, not at all.
#[test]
fn each_optional_part_comes_and_goes_alone() {
    let part = |bit: u32, ways: u32| ways & (1 << bit) != 0;
    for ways in 0..(1_u32 << 8) {
        let mut turn = proto::Turn::default();
        let mut files = workspace();
        let marks = [
            (0, "You are currently talking to: Dana"),
            (1, "## Persona"),
            (2, "## Skills"),
            (3, "## Knowledge Context"),
            (4, "## Conversation Summary"),
            (5, "## Response Format"),
            (6, "## Heartbeat"),
            (7, "Count the ducks."),
        ];
        if part(0, ways) {
            turn.user = Some(proto::User { id: String::new(), name: "Dana".into() });
        }
        if part(1, ways) {
            turn.persona = Some("Warm.".into());
        }
        if !part(2, ways) {
            files.remove("skills/tides/SKILL.md");
        }
        if part(3, ways) {
            turn.knowledge = vec![proto::KnowledgeSnippet { content: "Berth 4.".into(), ..Default::default() }];
        }
        if part(4, ways) {
            turn.conversation_summary = "They spoke.".into();
        }
        if part(5, ways) {
            turn.response_format = proto::ResponseFormat::JsonObject.into();
        }
        turn.heartbeat = part(6, ways);
        if part(7, ways) {
            turn.ephemeral_system_prompt = Some("Count the ducks.".into());
        }
        let all = messages(&files, turn);
        let text = all.iter().map(|(_, content)| content.as_str()).collect::<Vec<_>>().join("\n\n");
        let mut last = 0;
        for (bit, mark) in marks {
            assert_eq!(text.matches(mark).count(), usize::from(part(bit, ways)), "{mark} in {ways:b}");
            if let Some(at) = text.find(mark) {
                assert!(at > last, "{mark} out of order in {ways:b}");
                last = at;
            }
        }
        for file in ["Rules.", "Calm.", "I am Harbor."] {
            assert_eq!(text.matches(file).count(), 1, "{file} in {ways:b}");
        }
        assert!(!text.contains("\n\n\n"), "{ways:b}");
    }
}

#[test]
fn the_clock_moves_one_line_of_one_message() {
    let at = |seconds| proto::Turn { now: Some(prost_types::Timestamp { seconds, nanos: 0 }), ..Default::default() };
    let (one, other) = (messages(&workspace(), at(1_772_323_199)), messages(&workspace(), at(1_772_323_200)));
    for ((name, one), (_, other)) in one.iter().zip(&other) {
        let differing = one.lines().zip(other.lines()).filter(|(a, b)| a != b).count();
        assert_eq!(differing, usize::from(name == "runtime_facts"), "{name}");
    }
}

proptest! {
    #[test]
    fn later_layers_leave_earlier_ones_as_they_are(files in files(), raw in raw_turn(), later in raw_turn()) {
        let Some(snapshot) = snapshot(&files, &Settings::default()) else { return Ok(()) };
        let profile = snapshot.profiles.get("five-layer").unwrap();
        let changed = proto::Turn {
            ephemeral_system_prompt: later.ephemeral_system_prompt,
            heartbeat: raw.heartbeat,
            channel: later.channel,
            variables: later.variables,
            conversation: later.conversation,
            now: later.now,
            ..raw.clone()
        };
        let (Some(one), Some(other)) = (checked(raw), checked(changed)) else { return Ok(()) };
        let (Ok(one), Ok(other)) = (prompt::assemble(&snapshot, profile, &one), prompt::assemble(&snapshot, profile, &other)) else {
            return Ok(());
        };
        for name in ["skeleton", "workspace_context", "heartbeat"] {
            let of = |prompt: &prompt::Prompt<'_>| {
                prompt.messages.iter().find(|message| message.name == name).map(|m| (m.content.to_string(), m.digest))
            };
            prop_assert_eq!(of(&one), of(&other), "{}", name);
        }
        prop_assert_eq!(one.cache_plan, other.cache_plan);
    }
}
