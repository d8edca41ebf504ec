//! What Anthropic's Messages refuse.

use std::collections::BTreeSet;

use promptd_core::render::RenderFormat;
use serde_json::Value;

use super::*;

pub(super) const RULES: &[Rule] = &[
    Rule {
        format: RenderFormat::AnthropicMessages,
        what: "the first message is the user's",
        holds: |f| begins(messages(f), "user"),
    },
    Rule { format: RenderFormat::AnthropicMessages, what: "roles alternate", holds: |f| alternate(messages(f)) },
    Rule { format: RenderFormat::AnthropicMessages, what: "no text and no message is empty", holds: texts },
    Rule {
        format: RenderFormat::AnthropicMessages,
        what: "ids are of their form and unique",
        holds: |f| ids(&calls(f), 64, true),
    },
    Rule { format: RenderFormat::AnthropicMessages, what: "all results follow their calls directly", holds: results },
    Rule {
        format: RenderFormat::AnthropicMessages,
        what: "the last message has no white space at its end",
        holds: end,
    },
    Rule { format: RenderFormat::AnthropicMessages, what: "at most four breakpoints", holds: breakpoints },
];

fn calls(fragment: &Value) -> Vec<String> {
    messages(fragment).iter().flat_map(|m| of_type(m, "tool_use")).map(|call| text(call, "id").to_owned()).collect()
}

fn texts(fragment: &Value) -> Broken {
    for message in messages(fragment) {
        check(!array(message, "content").is_empty(), || "an empty message".into())?;
        check(of_type(message, "text").all(|block| !text(block, "text").trim().is_empty()), || message.to_string())?;
    }
    check(array(fragment, "system").iter().all(|block| !text(block, "text").trim().is_empty()), || "system".into())
}

fn results(fragment: &Value) -> Broken {
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

fn end(fragment: &Value) -> Broken {
    let Some(last) = messages(fragment).last().filter(|last| last["role"] == "assistant") else { return Ok(()) };
    let last = text(&array(last, "content")[array(last, "content").len() - 1], "text");
    check(last.trim_end() == last, || format!("{last:?}"))
}

pub(super) fn breakpoints(fragment: &Value) -> Broken {
    let blocks = messages(fragment).iter().flat_map(|message| array(message, "content"));
    let marked = blocks
        .chain(messages(fragment))
        .chain(array(fragment, "system"))
        .filter(|block| block.get("cache_control").is_some());
    let count = marked.count();
    check(count <= 4, || count.to_string())
}
