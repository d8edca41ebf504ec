//! What Gemini refuses.

use promptd_core::render::RenderFormat;
use serde_json::Value;

use super::*;

pub(super) const RULES: &[Rule] = &[
    Rule {
        format: RenderFormat::Gemini,
        what: "the first content is the user's",
        holds: |f| begins(contents(f), "user"),
    },
    Rule { format: RenderFormat::Gemini, what: "roles alternate", holds: |f| alternate(contents(f)) },
    Rule { format: RenderFormat::Gemini, what: "no text and no content is empty", holds: texts },
    Rule { format: RenderFormat::Gemini, what: "all responses follow their calls directly, by name", holds: results },
];

fn texts(fragment: &Value) -> Broken {
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

fn results(fragment: &Value) -> Broken {
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
