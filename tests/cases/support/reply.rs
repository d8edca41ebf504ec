//! `*.reply.yaml`: replies, and what each is read as.

use std::{fmt::Write as _, path::Path};

use promptd_core::{
    profile,
    reply::{self, Reply},
};
use serde_json::{Value, json};

use super::{Case, Workspace, expect::merged, text_of};

/// What a case may say.
const KNOWN: [&str; 9] =
    ["name", "profile", "inputs", "reply", "heartbeat", "text", "acknowledges", "actions", "findings"];

/// Runs every case of a file; the error lists each that does not hold.
pub fn run(path: &Path) -> Result<usize, String> {
    let file: Value = serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let workspace = Workspace::lay_out(path.parent().unwrap());
    let snapshot = workspace.load(&Case::of(None, Value::Null)).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
    let cases = file["cases"].as_array().unwrap();
    let mut faults = String::new();
    for case in cases {
        let name = case["name"].as_str().unwrap_or_else(|| panic!("a case without a name in {}", path.display()));
        let unknown = case.as_object().unwrap().keys().find(|key| !KNOWN.contains(&key.as_str()));
        assert_eq!(unknown, None, "{}: {name}", path.display());
        let profile = case["profile"].as_str().or(file["profile"].as_str()).unwrap();
        let profile = snapshot.profiles.get(profile).unwrap_or_else(|| panic!("{name}: there is no profile {profile}"));
        let text = text_of(&case["reply"]);
        let inputs = match case.get("inputs") {
            Some(Value::Null) => None,
            Some(over) => Some(merged(&file["inputs"], over)),
            None => file.get("inputs").cloned(),
        };
        let own = &snapshot.manifest.inputs;
        let inputs = inputs.map(|given| profile::complete_inputs(profile, own, given.as_object().unwrap()).unwrap());
        let heartbeat = case["heartbeat"] == json!(true);
        let reply = reply::parse_with(&text, heartbeat, &profile.reply, inputs.as_ref());
        check_ranges(&text, &reply);
        for fault in check(case, &reply) {
            writeln!(faults, "{name}: {fault}").unwrap();
        }
    }
    if faults.is_empty() { Ok(cases.len()) } else { Err(faults) }
}

fn check(case: &Value, reply: &Reply) -> Vec<String> {
    let mut faults = Vec::new();
    let (text, ok) = (case.get("text").map(text_of).unwrap_or_default(), case["acknowledges"] == json!(true));
    if (reply.text.as_str(), reply.heartbeat_ok) != (text.as_str(), ok) {
        faults.push(format!("the text is {:?}, heartbeat_ok {}", reply.text, reply.heartbeat_ok));
    }
    let actions: Vec<Value> = reply.actions.iter().map(|action| json!({ &action.tag: action.payload })).collect();
    if json!(actions) != *case.get("actions").unwrap_or(&json!([])) {
        faults.push(format!("the actions are {}", json!(actions)));
    }
    let none = Vec::new();
    let findings = case.get("findings").map_or(&none, |findings| findings.as_array().unwrap());
    let found: Vec<_> =
        reply.findings.iter().map(|f| format!("{} {}: {}", f.severity.as_str(), f.code.as_str(), f.message)).collect();
    if found.len() != findings.len() || found.iter().zip(findings).any(|(found, part)| !found.contains(&text_of(part)))
    {
        faults.push(format!("the findings are {found:#?}"));
    }
    faults
}

/// Actions are where they are said to be, in order.
fn check_ranges(text: &str, reply: &Reply) {
    let mut end = 0;
    for action in &reply.actions {
        assert!(action.range.start >= end && text.get(action.range.clone()).is_some(), "{:?}", action.range);
        end = action.range.end;
    }
}
