//! What Chat Completions of OpenAI and OpenRouter refuse, and OpenAI's Responses.

use std::collections::HashSet;

use promptd_core::render::RenderFormat;
use serde_json::Value;

use super::*;

pub(super) const RULES: &[Rule] = &[
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
    Rule { format: RenderFormat::OpenrouterChat, what: "at most four breakpoints", holds: anthropic::breakpoints },
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
];

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
