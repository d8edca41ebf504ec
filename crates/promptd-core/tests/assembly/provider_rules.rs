//! Random conversations keep the rules of each provider, in every profile that carries them.

use std::collections::{BTreeSet, HashSet};

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

const RULES: [Rule; 28] = [
    Rule {
        format: RenderFormat::AnthropicMessages,
        what: "the first message is the user's",
        holds: |f| begins(messages(f), "user"),
    },
    Rule { format: RenderFormat::AnthropicMessages, what: "roles alternate", holds: |f| alternate(messages(f)) },
    Rule { format: RenderFormat::AnthropicMessages, what: "no text and no message is empty", holds: anthropic_texts },
    Rule {
        format: RenderFormat::AnthropicMessages,
        what: "ids are of their form and unique",
        holds: |f| ids(&anthropic_calls(f), 64, true),
    },
    Rule {
        format: RenderFormat::AnthropicMessages,
        what: "all results follow their calls directly",
        holds: anthropic_results,
    },
    Rule {
        format: RenderFormat::AnthropicMessages,
        what: "the last message has no white space at its end",
        holds: anthropic_end,
    },
    Rule { format: RenderFormat::AnthropicMessages, what: "at most four breakpoints", holds: anthropic_breakpoints },
    Rule {
        format: RenderFormat::BedrockConverse,
        what: "the first message is the user's",
        holds: |f| begins(messages(f), "user"),
    },
    Rule { format: RenderFormat::BedrockConverse, what: "roles alternate", holds: |f| alternate(messages(f)) },
    Rule { format: RenderFormat::BedrockConverse, what: "a block is one of the union", holds: bedrock_union },
    Rule { format: RenderFormat::BedrockConverse, what: "no text and no message is blank", holds: bedrock_texts },
    Rule {
        format: RenderFormat::BedrockConverse,
        what: "ids are of their form and unique, and inputs objects",
        holds: bedrock_calls,
    },
    Rule {
        format: RenderFormat::BedrockConverse,
        what: "all results follow their calls directly, in one message",
        holds: bedrock_results,
    },
    Rule {
        format: RenderFormat::BedrockConverse,
        what: "the last message has no white space at its end",
        holds: bedrock_end,
    },
    Rule { format: RenderFormat::BedrockConverse, what: "at most four cache points", holds: bedrock_points },
    Rule { format: RenderFormat::OpenaiChat, what: "all results follow their calls directly", holds: chat_results },
    Rule {
        format: RenderFormat::OpenaiChat,
        what: "ids are of their form and unique",
        holds: |f| ids(&chat_calls(f), 40, false),
    },
    Rule { format: RenderFormat::OpenrouterChat, what: "all results follow their calls directly", holds: chat_results },
    Rule {
        format: RenderFormat::OpenrouterChat,
        what: "ids are of their form and unique",
        holds: |f| ids(&chat_calls(f), 40, true),
    },
    Rule { format: RenderFormat::OpenrouterChat, what: "at most four breakpoints", holds: anthropic_breakpoints },
    Rule {
        format: RenderFormat::OpenrouterChat,
        what: "the first message but the system's is the user's",
        holds: openrouter_begins,
    },
    Rule { format: RenderFormat::OpenrouterChat, what: "no text is blank", holds: openrouter_texts },
    Rule {
        format: RenderFormat::OpenrouterChat,
        what: "the last message has no white space at its end",
        holds: openrouter_end,
    },
    Rule {
        format: RenderFormat::OpenaiResponses,
        what: "all results follow their calls directly",
        holds: responses_results,
    },
    Rule {
        format: RenderFormat::Gemini,
        what: "the first content is the user's",
        holds: |f| begins(contents(f), "user"),
    },
    Rule { format: RenderFormat::Gemini, what: "roles alternate", holds: |f| alternate(contents(f)) },
    Rule { format: RenderFormat::Gemini, what: "no text and no content is empty", holds: gemini_texts },
    Rule {
        format: RenderFormat::Gemini,
        what: "all responses follow their calls directly, by name",
        holds: gemini_results,
    },
];

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

fn anthropic_calls(fragment: &Value) -> Vec<String> {
    messages(fragment).iter().flat_map(|m| of_type(m, "tool_use")).map(|call| text(call, "id").to_owned()).collect()
}

fn anthropic_texts(fragment: &Value) -> Broken {
    for message in messages(fragment) {
        check(!array(message, "content").is_empty(), || "an empty message".into())?;
        check(of_type(message, "text").all(|block| !text(block, "text").trim().is_empty()), || message.to_string())?;
    }
    check(array(fragment, "system").iter().all(|block| !text(block, "text").trim().is_empty()), || "system".into())
}

fn anthropic_results(fragment: &Value) -> Broken {
    let mut waiting: Vec<&str> = Vec::new();
    for message in messages(fragment) {
        let content = array(message, "content");
        let results: Vec<&str> = of_type(message, "tool_result").map(|result| text(result, "tool_use_id")).collect();
        let first = content.iter().take(results.len());
        check(first.clone().all(|block| block["type"] == "tool_result"), || format!("text before results: {message}"))?;
        check(results.iter().collect::<BTreeSet<_>>() == waiting.iter().collect(), || {
            format!("{waiting:?} {results:?}")
        })?;
        check(results.len() == waiting.len(), || format!("a result twice: {results:?}"))?;
        waiting = of_type(message, "tool_use").map(|call| text(call, "id")).collect();
    }
    check(waiting.is_empty(), || format!("no results: {waiting:?}"))
}

fn anthropic_end(fragment: &Value) -> Broken {
    let Some(last) = messages(fragment).last().filter(|last| last["role"] == "assistant") else { return Ok(()) };
    let last = text(&array(last, "content")[array(last, "content").len() - 1], "text");
    check(last.trim_end() == last, || format!("{last:?}"))
}

fn anthropic_breakpoints(fragment: &Value) -> Broken {
    let blocks = messages(fragment).iter().flat_map(|message| array(message, "content"));
    let marked = blocks
        .chain(messages(fragment))
        .chain(array(fragment, "system"))
        .filter(|block| block.get("cache_control").is_some());
    let count = marked.count();
    check(count <= 4, || count.to_string())
}

/// The blocks of the system, then those of the messages.
fn bedrock_blocks(fragment: &Value) -> impl Iterator<Item = &Value> {
    array(fragment, "system").iter().chain(messages(fragment).iter().flat_map(|message| array(message, "content")))
}

fn bedrock_union(fragment: &Value) -> Broken {
    const MEMBERS: [&str; 4] = ["text", "toolUse", "toolResult", "cachePoint"];
    bedrock_blocks(fragment).try_for_each(|block| {
        let members: Vec<&String> = block.as_object().into_iter().flat_map(|block| block.keys()).collect();
        let is_one = matches!(&members[..], [member] if MEMBERS.contains(&member.as_str()));
        check(is_one, || block.to_string())
    })
}

fn bedrock_texts(fragment: &Value) -> Broken {
    for message in messages(fragment) {
        check(!array(message, "content").is_empty(), || "an empty message".into())?;
        let is_point = |block: &Value| block.get("cachePoint").is_some();
        check(!is_point(&array(message, "content")[0]), || format!("a cache point behind nothing: {message}"))?;
    }
    let results = bedrock_blocks(fragment).flat_map(|block| array(&block["toolResult"], "content"));
    let mut texts = bedrock_blocks(fragment).chain(results).filter_map(|block| block.get("text"));
    texts.try_for_each(|text| check(text.as_str().is_some_and(|text| !text.trim().is_empty()), || text.to_string()))
}

fn bedrock_calls(fragment: &Value) -> Broken {
    let calls: Vec<&Value> = bedrock_blocks(fragment).filter_map(|block| block.get("toolUse")).collect();
    check(calls.iter().all(|call| call["input"].is_object()), || format!("{calls:?}"))?;
    let found: Vec<String> = calls.iter().map(|call| text(call, "toolUseId").to_owned()).collect();
    ids(&found, 64, true)
}

fn bedrock_results(fragment: &Value) -> Broken {
    let mut waiting: Vec<&str> = Vec::new();
    for message in messages(fragment) {
        let content: Vec<&Value> =
            array(message, "content").iter().filter(|block| block.get("cachePoint").is_none()).collect();
        let ids = |member: &str| -> Vec<&str> {
            content.iter().filter_map(|block| block.get(member)).map(|block| text(block, "toolUseId")).collect()
        };
        let results = ids("toolResult");
        let first = content.iter().take(results.len());
        check(first.clone().all(|block| block.get("toolResult").is_some()), || format!("text first: {message}"))?;
        check(results.iter().collect::<BTreeSet<_>>() == waiting.iter().collect(), || {
            format!("{waiting:?} {results:?}")
        })?;
        check(results.len() == waiting.len(), || format!("a result twice: {results:?}"))?;
        waiting = ids("toolUse");
    }
    check(waiting.is_empty(), || format!("no results: {waiting:?}"))
}

fn bedrock_end(fragment: &Value) -> Broken {
    let Some(last) = messages(fragment).last().filter(|last| last["role"] == "assistant") else { return Ok(()) };
    let last = array(last, "content").iter().rfind(|block| block.get("cachePoint").is_none());
    let last = last.map_or("", |block| text(block, "text"));
    check(last.trim_end() == last, || format!("{last:?}"))
}

fn bedrock_points(fragment: &Value) -> Broken {
    let count = bedrock_blocks(fragment).filter(|block| block.get("cachePoint").is_some()).count();
    check(count <= 4, || count.to_string())
}

fn chat_calls(fragment: &Value) -> Vec<String> {
    messages(fragment).iter().flat_map(|m| array(m, "tool_calls")).map(|call| text(call, "id").to_owned()).collect()
}

fn chat_results(fragment: &Value) -> Broken {
    let mut waiting: Vec<&str> = Vec::new();
    for message in messages(fragment) {
        if message["role"] == "tool" {
            let id = text(message, "tool_call_id");
            let at = waiting.iter().position(|waiting| *waiting == id);
            waiting.remove(at.ok_or_else(|| format!("no call waits for {id}"))?);
        } else {
            check(waiting.is_empty(), || format!("{message} before {waiting:?}"))?;
            waiting = array(message, "tool_calls").iter().map(|call| text(call, "id")).collect();
            check(waiting.is_empty() || message["role"] == "assistant", || message.to_string())?;
        }
    }
    check(waiting.is_empty(), || format!("no results: {waiting:?}"))
}

fn openrouter_begins(fragment: &Value) -> Broken {
    let first = messages(fragment).iter().find(|message| message["role"] != "system");
    check(first.is_none_or(|first| first["role"] == "user"), || format!("{first:?}"))
}

fn openrouter_texts(fragment: &Value) -> Broken {
    let spoken = messages(fragment).iter().filter(|message| message["role"] != "tool");
    spoken.clone().try_for_each(|message| {
        let content = &message["content"];
        let texts = content.as_str().into_iter().chain(array(message, "content").iter().map(|part| text(part, "text")));
        let calls = !array(message, "tool_calls").is_empty();
        check(!content.is_null() || calls, || message.to_string())?;
        check(texts.clone().all(|text| !text.trim().is_empty()), || message.to_string())
    })
}

fn openrouter_end(fragment: &Value) -> Broken {
    let Some(last) = messages(fragment).last().filter(|last| last["role"] == "assistant") else { return Ok(()) };
    let last = text(last, "content");
    check(last.trim_end() == last, || format!("{last:?}"))
}

fn responses_results(fragment: &Value) -> Broken {
    let mut waiting: Vec<&str> = Vec::new();
    let mut used = HashSet::new();
    for item in array(fragment, "input") {
        let id = text(item, "call_id");
        match text(item, "type") {
            "function_call" => {
                check((1..=64).contains(&id.len()) && used.insert(id), || format!("id {id:?}"))?;
                waiting.push(id);
            }
            "function_call_output" => {
                let at = waiting.iter().position(|waiting| *waiting == id);
                waiting.remove(at.ok_or_else(|| format!("no call waits for {id}"))?);
            }
            _ => check(waiting.is_empty(), || format!("{item} before {waiting:?}"))?,
        }
    }
    check(waiting.is_empty(), || format!("no results: {waiting:?}"))
}

fn gemini_texts(fragment: &Value) -> Broken {
    for content in contents(fragment) {
        check(!array(content, "parts").is_empty(), || "an empty content".into())?;
        check(
            array(content, "parts")
                .iter()
                .all(|part| part.get("text").is_none_or(|text| !text.as_str().unwrap().trim().is_empty())),
            || content.to_string(),
        )?;
    }
    Ok(())
}

fn gemini_results(fragment: &Value) -> Broken {
    let mut waiting: Vec<&str> = Vec::new();
    for content in contents(fragment) {
        let parts = array(content, "parts");
        let names = |key: &str| parts.iter().filter_map(|part| part.get(key)).map(|part| text(part, "name")).collect();
        let responses: Vec<&str> = names("functionResponse");
        let first = parts.iter().take(responses.len());
        check(first.clone().all(|part| part.get("functionResponse").is_some()), || content.to_string())?;
        check(responses == waiting, || format!("{waiting:?} {responses:?}"))?;
        waiting = names("functionCall");
    }
    check(waiting.is_empty(), || format!("no responses: {waiting:?}"))
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
        for Rule { what, holds, .. } in RULES.iter().filter(|rule| rule.format == format) {
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
