//! Random conversations keep the rules of each provider, in every profile that carries them.

mod anthropic;
mod bedrock;
mod gemini;
mod openai;

use std::collections::HashSet;

use promptd_core::{
    finding::Code,
    prompt::{Outcome, Prepared, Prompt},
    render::{RenderFormat, render},
    turn::{Conversation, Role, Turn},
};
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    conversations::{Part, conversation, inputs, part},
    support::{built_in, prompt, turn},
};

type Broken = Result<(), String>;

/// What a provider refuses with status 400, over the parsed fragment.
struct Rule {
    format: RenderFormat,
    what: &'static str,
    holds: fn(&Value) -> Broken,
}

/// Those of all providers.
fn rules() -> impl Iterator<Item = &'static Rule> {
    [anthropic::RULES, bedrock::RULES, openai::RULES, gemini::RULES].into_iter().flatten()
}

fn array<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn messages(fragment: &Value) -> &[Value] {
    array(fragment, "messages")
}

fn contents(fragment: &Value) -> &[Value] {
    array(fragment, "contents")
}

fn check(holds: bool, broken: impl FnOnce() -> String) -> Broken {
    if holds { Ok(()) } else { Err(broken()) }
}

fn begins(messages: &[Value], role: &str) -> Broken {
    check(messages.first().is_none_or(|first| first["role"] == role), || format!("{}", messages[0]))
}

fn alternate(messages: &[Value]) -> Broken {
    check(messages.windows(2).all(|pair| pair[0]["role"] != pair[1]["role"]), || "two of one role".into())
}

fn ids(ids: &[String], max: usize, plain: bool) -> Broken {
    let is_plain = |id: &String| id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    check(ids.iter().collect::<HashSet<_>>().len() == ids.len(), || format!("twice: {ids:?}"))?;
    check(ids.iter().all(|id| (1..=max).contains(&id.len()) && (!plain || is_plain(id))), || format!("{ids:?}"))
}

fn of_type<'v>(message: &'v Value, kind: &'static str) -> impl Iterator<Item = &'v Value> {
    array(message, "content").iter().filter(move |block| block["type"] == kind)
}

fn workspace() -> Prepared {
    built_in(&[("AGENTS.md", "Rules."), ("SOUL.md", "Tone.")])
}

/// Checks a prompt's fragments against the rules, and that nothing is lost silently.
fn check_fragments(prompt: &Prompt<'_>, turn: &Turn) {
    let sent = &turn.conversation.messages;
    for format in RenderFormat::ALL {
        let rendered = render(prompt, format);
        let fragment: Value = serde_json::from_str(&rendered.text).unwrap_or_default();
        for Rule { what, holds, .. } in rules().filter(|rule| rule.format == format) {
            if let Err(broken) = holds(&fragment) {
                panic!("{format:?}: {what}: {broken}\n{:#?}\n{fragment:#}", turn.conversation.messages);
            }
        }
        let newest = sent.iter().rfind(|message| message.role == Role::User && !message.content.trim().is_empty());
        let is_newest = sent.iter().rfind(|message| message.role == Role::User) == newest;
        if let (Some(newest), true, true) = (newest, is_newest, format != RenderFormat::Text) {
            let shown = serde_json::to_string(newest.content.trim()).unwrap();
            assert!(rendered.text.contains(shown.trim_matches('"')), "{format:?}: the user's newest message is gone");
        }
    }
    let carried: HashSet<u32> = prompt.messages.iter().filter_map(|message| Some(message.origin?.index)).collect();
    let lost = prompt.sections.iter().filter(|s| s.id.starts_with("conversation/") && s.outcome == Outcome::Dropped);
    let lost = lost.count();
    let has = |code| prompt.findings.iter().any(|finding| finding.code == code);
    assert!(
        lost == 0 || has(Code::ConversationUnpaired) || has(Code::ConversationTruncated),
        "a loss without a finding"
    );
    assert!(lost > 0 || !has(Code::ConversationUnpaired), "a finding without a loss");
    if carried.len() < sent.len() {
        let window = prompt.sections.iter().find(|section| section.id == "conversation").unwrap();
        let counts = format!("{} of {} messages are carried", carried.len(), sent.len());
        assert!(window.reason.starts_with(&counts), "{}", window.reason);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn every_fragment_keeps_the_rules_of_its_provider(
        parts in prop::collection::vec(part(), 0..14),
        profile in prop::sample::select(vec!["five-layer", "cache-first", "kern", "airi", "lucidpal"]),
        limit: u8,
    ) {
        let workspace = workspace();
        let turn = Turn {
            conversation: Conversation { messages: conversation(&parts), ..Conversation::default() },
            inputs: inputs(workspace.profiles.get(profile).unwrap(), limit),
            ..turn()
        };
        check_fragments(&prompt(&workspace, profile, &turn), &turn);
    }
}

/// The reported conversations, one a row: each must keep the rules and the texts named.
#[test]
fn reported_conversations() {
    let call = |ids: &[&str]| {
        Part::Called(
            String::new(),
            ids.iter().enumerate().map(|(n, id)| ((*id).to_owned(), format!("t{n}"))).collect(),
            (0..ids.len()).map(Some).collect(),
            None,
        )
    };
    let user = |text: &str| Part::Said(Role::User, text.into());
    let many: Vec<String> = (0..13).map(|n| format!("c{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let rows: [(&str, Vec<Part>, &[&str]); 6] = [
        ("more parallel results than the window", vec![user("the request"), call(&many)], &["the request", "t12"]),
        (
            "an orphan, an unanswered call and text between results",
            vec![
                Part::Orphan("lost".into()),
                user("before"),
                Part::Called(
                    String::new(),
                    vec![("c1".into(), "t".into()), ("c2".into(), "t".into())],
                    vec![Some(1), Some(0), None, None],
                    Some("wait".into()),
                ),
            ],
            &["before", "wait", "found"],
        ),
        ("an id of another provider", vec![user("go"), call(&["functions.read:0"])], &["go", "functions"]),
        ("an id in two turns", vec![user("a"), call(&["call_0"]), user("b"), call(&["call_0"])], &["call_0"]),
        ("an id twice in a message", vec![user("a"), call(&["x", "x"])], &["t0", "t1"]),
        ("a greeting first", vec![Part::Said(Role::Assistant, "Welcome.".into()), user("hi \n")], &["hi"]),
    ];
    let workspace = workspace();
    for (why, parts, texts) in rows {
        for profile in ["five-layer", "cache-first", "kern", "airi", "lucidpal"] {
            let conversation = Conversation { messages: conversation(&parts), ..Conversation::default() };
            let turn = Turn { conversation, ..turn() };
            let prompt = prompt(&workspace, profile, &turn);
            check_fragments(&prompt, &turn);
            for format in RenderFormat::ALL.into_iter().filter(|format| *format != RenderFormat::Text) {
                let fragment = render(&prompt, format).text;
                assert!(texts.iter().all(|text| fragment.contains(text)), "{why}, {profile}: {fragment}");
            }
        }
    }
}
