//! The tools that an answer names: those that the profile allows, in the order given.

use promptd_core::turn::Turn;
use serde_json::{Value, json};

use crate::support::{built_in, prompt, turn};

/// Kai's list for small models on the device, of 2026-05.
const KAI_LOCAL: [&str; 8] = [
    "get_local_time",
    "get_location_from_ip",
    "web_search",
    "open_url",
    "memory_store",
    "memory_forget",
    "memory_reinforce",
    "execute_shell_command",
];
/// kern's tools; `write` has all but the first, `read` those that change nothing.
const KERN: &str = "bash read write edit glob grep webfetch websearch kern message recall pdf image";
const KERN_READ: &str = "read glob grep webfetch websearch kern recall pdf image";

#[test]
fn the_answer_names_the_tools_that_are_allowed() {
    let workspace = built_in(&[]);
    let others = ["schedule_task", "list_tasks", "memory_learn", "send_email", "Open_Url", "mcp__files"];
    let all: Vec<&str> = others[..3].iter().chain(&KAI_LOCAL).chain(&others[3..]).copied().collect();
    let named = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Value>();
    for (profile, inputs, allowed) in [
        ("kai-local", json!({ "tools": named(&all) }), KAI_LOCAL.join(" ")),
        ("kai-remote", json!({ "tools": named(&all) }), all.join(" ")),
        ("kai-remote", json!({ "has_tools": true }), String::new()),
        ("kern", json!({}), KERN.to_owned()),
        ("kern", json!({ "tool_scope": "write" }), KERN.replacen("bash ", "", 1)),
        ("kern", json!({ "tool_scope": "read" }), KERN_READ.to_owned()),
        ("kern", json!({ "tool_scope": "everything" }), KERN.to_owned()),
        ("kern", json!({ "tool_scope": "read", "tools": named(&["tide", "read"]) }), "read".to_owned()),
        ("kern", json!({ "tools": [] }), String::new()),
        ("five-layer", json!({}), String::new()),
    ] {
        let turn = Turn { inputs: inputs.as_object().unwrap().clone(), ..turn() };
        assert_eq!(prompt(&workspace, profile, &turn).allowed_tools.join(" "), allowed, "{profile} {inputs}");
    }
}
