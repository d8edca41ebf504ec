//! No byte before the first mark changes with anything that can change every turn: every built-in profile, every format.

use promptd_core::{
    profile::{Input, Profile, SectionSpec, Stability, Type},
    prompt::{Behind, Prepared, Prompt},
    render::{RenderFormat, render},
    turn::{Channel, Conversation, ConversationMessage, ResponseFormat, Role, Segment, Snippet, Turn, User},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{built_in, prompt};

fn workspace() -> Prepared {
    built_in(&[
        ("AGENTS.md", "Rules."),
        ("SOUL.md", "Tone."),
        ("HEARTBEAT.md", "- Look at the tide."),
        ("IDENTITY.md", "Harbor."),
        ("skills/tide/SKILL.md", "---\nname: tide\ndescription: Tides.\n---\nBody."),
    ])
}

/// What a session keeps: everything that is not volatile.
fn session() -> Turn {
    let said = |n: usize| {
        let role = if n.is_multiple_of(2) { Role::User } else { Role::Assistant };
        ConversationMessage::new(role, &format!("Message {n}."))
    };
    let segment = Segment { id: "one".into(), message_end: 4, summary: "They met.".into(), ..Segment::default() };
    Turn {
        persona: Some("Calm.".into()),
        user: Some(User { id: "u7".into(), name: "Dana".into() }),
        channel: Some(Channel { name: "sms".into(), ..Channel::default() }),
        conversation: Conversation {
            messages: (4..13).map(said).collect(),
            segments: vec![segment],
            first_index: 4,
            held_cut: Some(4),
            ..Conversation::default()
        },
        ..crate::support::turn()
    }
}

/// Whether a session keeps the input: it is declared as stable, or a section shows it that claims to stay the same.
fn is_held(profile: &Profile, input: &Input) -> bool {
    let name = input.field.name.as_str();
    let claims = |section: &SectionSpec| section.stability != Stability::Volatile && section.uses(name);
    // Some are not shown, and decide what is: which summaries there are.
    let decides = [
        "keep_unsummarised",
        "max_context_tokens",
        "max_tool_result_chars",
        "memory_budget",
        "summary_budget",
        "window",
    ];
    input.stability == Stability::Stable
        || profile.sections().any(|(_, section)| claims(section))
        || decides.contains(&name)
}

/// A value of the type, another one for each `n`.
fn value(ty: &Type, n: u32) -> Value {
    match ty {
        Type::Text | Type::Any => json!(format!("value {n}")),
        Type::Choice(words) => json!(words[n as usize % words.len()]),
        Type::Bool => json!(n.is_multiple_of(2)),
        Type::Int(range) | Type::Number(range) => {
            let (least, most) = (range.min.unwrap_or(0.0), range.max.unwrap_or(1000.0));
            json!((least + f64::from(n % 5)).min(most))
        }
        Type::Time => json!(format!("2026-02-28T10:{:02}:00Z", n % 60)),
        Type::Object(fields) => fields.iter().map(|field| (field.name.clone(), value(&field.ty, n))).collect(),
        Type::List(of) => (0..n % 4).map(|item| value(of, n + item)).collect(),
    }
}

/// The same turn with other values of all that is volatile, each of which may be absent.
fn varied(base: &Turn, profile: &Profile, bits: u16, n: u32) -> Turn {
    let is_set = |bit: u16| bits & (1 << bit) != 0;
    let text = |bit: u16, what: &str| if is_set(bit) { format!("{what} {n}.") } else { String::new() };
    let mut inputs: Map<String, Value> = base.inputs.clone();
    for (at, input) in profile.inputs.iter().enumerate() {
        let name = &input.field.name;
        if !is_held(profile, input) && name != "active_skill" && (n >> (at % 16)) & 1 == 1 {
            inputs.insert(name.clone(), value(&input.field.ty, n));
        }
    }
    let mut conversation = base.conversation.clone();
    for said in 0..n % 3 * 2 {
        let role = if said.is_multiple_of(2) { Role::User } else { Role::Assistant };
        conversation.messages.push(ConversationMessage::new(role, &format!("Newer {n} {said}.")));
    }
    let snippet = |at: u32| Snippet { content: format!("Snippet {n} {at}."), ..Snippet::default() };
    Turn {
        now: format!("2026-02-28T{:02}:{:02}:{:02}Z", n % 24, n % 60, n * 7 % 60).parse().unwrap(),
        heartbeat: is_set(0),
        variables: if is_set(1) { vec![("Berth".into(), json!(n))] } else { Vec::new() },
        knowledge: if is_set(2) { (0..=n % 3).map(snippet).collect() } else { Vec::new() },
        conversation_summary: text(3, "They spoke"),
        ephemeral_system_prompt: is_set(4).then(|| text(4, "Be brief")),
        conversation,
        inputs,
        ..base.clone()
    }
}

/// The blocks of a fragment as texts, in the order in which the provider reads them, and whether a mark follows each.
fn blocks(fragment: &Value, format: RenderFormat) -> Vec<(String, bool)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut items = list(&fragment["system"]);
    for message in list(&fragment["messages"]) {
        match (format, message["content"].as_array()) {
            (RenderFormat::OpenrouterChat, _) | (_, None) => items.push(message),
            (_, Some(content)) => items.extend(content.iter().cloned()),
        }
    }
    let mut found: Vec<(String, bool)> = Vec::new();
    for item in items {
        if item.get("cachePoint").is_some() {
            found.last_mut().unwrap().1 = true;
            continue;
        }
        let is_marked = item.to_string().contains(r#""cache_control":{"type":"ephemeral"}"#);
        let text = item["content"][0]["text"].as_str().or(item["text"].as_str()).or(item["content"].as_str());
        found.push((text.map_or_else(|| item.to_string(), ToOwned::to_owned), is_marked));
    }
    found
}

/// All blocks of a fragment in the order of the provider; and how many of these end with the first mark.
fn read(prompt: &Prompt<'_>, format: RenderFormat) -> (Vec<String>, usize) {
    let fragment = serde_json::from_str(&render(prompt, format).text).unwrap_or_default();
    let blocks = blocks(&fragment, format);
    let first = blocks.iter().position(|(_, is_marked)| *is_marked).map_or(0, |at| at + 1);
    (blocks.into_iter().map(|(text, _)| text).collect(), first)
}

/// The bytes of the stable front of a prompt.
fn stable_front(prompt: &Prompt<'_>) -> String {
    let all: String = prompt.messages.iter().map(|message| &*message.content).collect();
    all[..prompt.cache_plan.stable_bytes as usize].to_owned()
}

const MARKED: [RenderFormat; 3] =
    [RenderFormat::AnthropicMessages, RenderFormat::BedrockConverse, RenderFormat::OpenrouterChat];

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn no_byte_before_the_first_mark_changes_with_what_is_volatile(
        (one, other) in (any::<(u16, u16)>(), any::<(u16, u16)>()),
        json_format: bool,
    ) {
        let workspace = workspace();
        let response_format = if json_format { ResponseFormat::JsonObject } else { ResponseFormat::Text };
        let session = Turn { response_format, ..session() };
        for profile in workspace.profiles.iter() {
            let turns = [one, other].map(|(bits, n)| varied(&session, profile, bits, u32::from(n)));
            let [one, other] = turns.each_ref().map(|turn| prompt(&workspace, profile.name.as_str(), turn));
            prop_assert_eq!(stable_front(&one), stable_front(&other), "{}", profile.name);
            for format in MARKED {
                let ((blocks, first), (changed, _)) = (read(&one, format), read(&other, format));
                // Providers keep whole blocks: one that is longer in the other turn is another one.
                let kept = &blocks[..first];
                prop_assert!(changed.starts_with(kept), "{}, {format:?}:\n{kept:?}\n--\n{changed:?}", profile.name);
            }
            // Providers without marks keep what is the same: the stable front is, wherever it is in the fragment.
            for format in RenderFormat::ALL.into_iter().filter(|format| !MARKED.contains(format)) {
                let [text, changed] = [&one, &other].map(|prompt| render(prompt, format).text);
                let same = text.bytes().zip(changed.bytes()).take_while(|(one, other)| one == other).count();
                let front = stable_front(&one).len();
                prop_assert!(same >= front, "{}, {format:?}: {same} of {front}", profile.name);
            }
        }
    }
}

/// Otherwise the property would hold of prompts without marks.
#[test]
fn the_prompts_of_the_property_have_marks() {
    let (workspace, session) = (workspace(), session());
    for (profile, marks) in [("five-layer", 0), ("cache-first", 3), ("kern", 3), ("airi", 3), ("kai-remote", 0)] {
        let turn = varied(&session, workspace.profiles.get(profile).unwrap(), 0, 0);
        let prompt = prompt(&workspace, profile, &turn);
        for format in MARKED {
            let fragment = serde_json::from_str(&render(&prompt, format).text).unwrap();
            let found = blocks(&fragment, format).iter().filter(|(_, is_marked)| *is_marked).count();
            assert_eq!(found, marks, "{profile}, {format:?}");
        }
    }
}

/// The role of the last message of a fragment, and whether it has the clock.
fn last(fragment: &Value, list: &str) -> (String, bool) {
    let message = fragment[list].as_array().unwrap().last().unwrap();
    (message["role"].as_str().unwrap().to_owned(), message.to_string().contains("Current time"))
}

#[test]
fn what_is_volatile_is_behind_the_conversation_in_the_role_that_the_provider_allows() {
    let workspace = workspace();
    let profile = workspace.profiles.get("cache-first").unwrap();
    let turn = varied(&session(), profile, u16::MAX, 1);
    let formats = [
        (RenderFormat::OpenaiChat, "messages", "system", Behind::System),
        (RenderFormat::OpenaiResponses, "input", "system", Behind::System),
        (RenderFormat::AnthropicMessages, "messages", "user", Behind::User),
        (RenderFormat::BedrockConverse, "messages", "user", Behind::User),
        (RenderFormat::OpenrouterChat, "messages", "user", Behind::User),
        (RenderFormat::Gemini, "contents", "user", Behind::User),
    ];
    let front = |value: &Value| value.to_string().contains("Current time");
    for (format, list, role, behind) in formats {
        // The newest message is the model's, as when a timer starts the turn, or the user's.
        for last_message in [1, 0] {
            let mut turn = turn.clone();
            turn.conversation.messages.truncate(turn.conversation.messages.len() - last_message);
            let prompt = prompt(&workspace, "cache-first", &turn);
            let rendered = render(&prompt, format);
            let fragment: Value = serde_json::from_str(&rendered.text).unwrap();
            assert_eq!((last(&fragment, list), rendered.behind), ((role.to_owned(), true), Some(behind)), "{format:?}");
            assert!(!front(&fragment["system"]) && !front(&fragment["systemInstruction"]), "{format:?}");
        }
        // A conversation cannot begin with it.
        let alone = Turn { conversation: Conversation::default(), ..turn.clone() };
        let prompt_alone = prompt(&workspace, "cache-first", &alone);
        let rendered = render(&prompt_alone, format);
        assert_eq!(rendered.behind, Some(Behind::SystemPart), "{format:?}");
        let fragment: Value = serde_json::from_str(&rendered.text).unwrap();
        let is_apart = !fragment["system"].is_null() || !fragment["systemInstruction"].is_null();
        assert_eq!(front(&fragment["system"]) || front(&fragment["systemInstruction"]), is_apart, "{format:?}");
        let plain = Turn { inputs: Map::new(), ..turn.clone() };
        assert_eq!(render(&prompt(&workspace, "five-layer", &plain), format).behind, None, "{format:?}");
    }
}

/// The same sections with the same texts, in another order.
#[test]
fn cache_first_says_what_five_layer_says() {
    let workspace = workspace();
    let texts = |profile: &str| {
        let turn = varied(&session(), workspace.profiles.get(profile).unwrap(), u16::MAX, 2);
        let prompt = prompt(&workspace, profile, &turn);
        let own = prompt.sections.iter().filter(|section| !section.id.starts_with("conversation/"));
        let mut texts: Vec<_> = own
            .filter(|section| section.id != "conversation")
            .map(|section| (section.id.to_string(), prompt.section_text(section).map(str::to_owned)))
            .collect();
        texts.sort();
        texts
    };
    assert_eq!(texts("cache-first"), texts("five-layer"));
    let cache_first = workspace.profiles.get("cache-first").unwrap();
    let stabilities: Vec<Stability> = cache_first.sections().map(|(_, section)| section.stability).collect();
    assert!(stabilities.is_sorted(), "{stabilities:?}");
}

#[test]
fn the_clock_is_as_exact_as_the_input_says_in_the_zone_of_the_turn() {
    let workspace = workspace();
    for (clock, zone, now, expected) in [
        ("second", "Europe/Berlin", "2026-04-02T09:15:42Z", "2026-04-02T11:15:42+02:00"),
        ("minute", "Europe/Berlin", "2026-04-02T09:15:42.7Z", "2026-04-02T11:15:00+02:00"),
        ("hour", "Asia/Kolkata", "2026-04-02T09:15:42Z", "2026-04-02T14:00:00+05:30"),
        ("day", "America/Los_Angeles", "2026-04-02T05:15:42Z", "2026-04-01T00:00:00-07:00"),
        // The day begins before the clocks change.
        ("day", "Europe/Berlin", "2026-03-29T09:15:42Z", "2026-03-29T00:00:00+01:00"),
        // The hour is there twice.
        ("hour", "Europe/Berlin", "2026-10-25T01:15:42Z", "2026-10-25T02:00:00+01:00"),
        ("day", "UTC", "0001-01-01T00:00:07Z", "0001-01-01T00:00:00+00:00"),
    ] {
        let inputs = [("clock".to_owned(), json!(clock))].into_iter().collect();
        let time_zone = Some(jiff::tz::TimeZone::get(zone).unwrap());
        let turn = Turn { time_zone, inputs, ..Turn::at(now.parse().unwrap()) };
        let prompt = prompt(&workspace, "cache-first", &turn);
        let facts = prompt.sections.iter().find(|section| section.id == "runtime_facts").unwrap();
        let text = prompt.section_text(facts).unwrap();
        assert!(text.contains(&format!("- Current time: {expected}\n")), "{clock} {zone}:\n{text}");
    }
}
