//! What Bedrock's Converse refuses.

use std::collections::BTreeSet;

use promptd_core::render::RenderFormat;
use serde_json::Value;

use super::*;

pub(super) const RULES: &[Rule] = &[
    Rule {
        format: RenderFormat::BedrockConverse,
        what: "the first message is the user's",
        holds: |f| begins(messages(f), "user"),
    },
    Rule { format: RenderFormat::BedrockConverse, what: "roles alternate", holds: |f| alternate(messages(f)) },
    Rule { format: RenderFormat::BedrockConverse, what: "a block is one of the union", holds: union },
    Rule { format: RenderFormat::BedrockConverse, what: "no text and no message is blank", holds: texts },
    Rule {
        format: RenderFormat::BedrockConverse,
        what: "ids are of their form and unique, and inputs objects",
        holds: calls,
    },
    Rule {
        format: RenderFormat::BedrockConverse,
        what: "all results follow their calls directly, in one message",
        holds: results,
    },
    Rule { format: RenderFormat::BedrockConverse, what: "the last message has no white space at its end", holds: end },
    Rule { format: RenderFormat::BedrockConverse, what: "at most four cache points", holds: points },
];

fn blocks(fragment: &Value) -> impl Iterator<Item = &Value> {
    array(fragment, "system").iter().chain(messages(fragment).iter().flat_map(|message| array(message, "content")))
}

fn union(fragment: &Value) -> Broken {
    const MEMBERS: [&str; 4] = ["text", "toolUse", "toolResult", "cachePoint"];
    blocks(fragment).try_for_each(|block| {
        let members: Vec<&String> = block.as_object().into_iter().flat_map(|block| block.keys()).collect();
        let is_one = matches!(&members[..], [member] if MEMBERS.contains(&member.as_str()));
        check(is_one, || block.to_string())
    })
}

fn texts(fragment: &Value) -> Broken {
    for message in messages(fragment) {
        check(!array(message, "content").is_empty(), || "an empty message".into())?;
        let is_point = |block: &Value| block.get("cachePoint").is_some();
        check(!is_point(&array(message, "content")[0]), || format!("a cache point behind nothing: {message}"))?;
    }
    let results = blocks(fragment).flat_map(|block| array(&block["toolResult"], "content"));
    let mut texts = blocks(fragment).chain(results).filter_map(|block| block.get("text"));
    texts.try_for_each(|text| check(text.as_str().is_some_and(|text| !text.trim().is_empty()), || text.to_string()))
}

fn calls(fragment: &Value) -> Broken {
    let calls: Vec<&Value> = blocks(fragment).filter_map(|block| block.get("toolUse")).collect();
    check(calls.iter().all(|call| call["input"].is_object()), || format!("{calls:?}"))?;
    let found: Vec<String> = calls.iter().map(|call| text(call, "toolUseId").to_owned()).collect();
    ids(&found, 64, true)
}

fn results(fragment: &Value) -> Broken {
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

fn end(fragment: &Value) -> Broken {
    let Some(last) = messages(fragment).last().filter(|last| last["role"] == "assistant") else { return Ok(()) };
    let last = array(last, "content").iter().rfind(|block| block.get("cachePoint").is_none());
    let last = last.map_or("", |block| text(block, "text"));
    check(last.trim_end() == last, || format!("{last:?}"))
}

fn points(fragment: &Value) -> Broken {
    let count = blocks(fragment).filter(|block| block.get("cachePoint").is_some()).count();
    check(count <= 4, || count.to_string())
}
