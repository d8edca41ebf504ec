//! `*.expect.yaml`: many small cases over one workspace, each a turn and what holds of one message.

use std::{fmt::Write as _, path::Path};

use promptd_core::prompt::{self, Prepared};
use serde_json::{Map, Value};

use super::{Case, Workspace, check_invariants, text_of};

/// What a case may say besides its turn.
const KNOWN: [&str; 15] = [
    "name", "profile", "profiles", "turn", "inputs", "message", "messages", "exact", "starts", "contains", "absent",
    "order", "within", "sections", "refused",
];

/// Runs every case of a file; the error lists each that does not hold.
pub fn run(path: &Path) -> Result<usize, String> {
    let file: Value = serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut faults = String::new();
    let mut count = 0;
    let workspace = Workspace::lay_out(path.parent().unwrap());
    let snapshot = workspace.load(&Case::of(None, Value::Null)).unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
    for case in file["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap_or_else(|| panic!("a case without a name in {}", path.display()));
        let unknown = case.as_object().unwrap().keys().find(|key| !KNOWN.contains(&key.as_str()));
        assert_eq!(unknown, None, "{}: {name}", path.display());
        assert!(
            case.as_object().unwrap().keys().any(|key| KNOWN[6..].contains(&key.as_str())),
            "{name} expects nothing"
        );
        let own = case["profile"].as_str().or(file["profile"].as_str());
        let profiles = case["profiles"].as_array().map_or_else(
            || own.into_iter().collect::<Vec<_>>(),
            |all| all.iter().map(|profile| profile.as_str().unwrap()).collect(),
        );
        for profile in profiles {
            count += 1;
            for fault in check(&file, case, profile, &snapshot) {
                writeln!(faults, "{name} ({profile}): {fault}").unwrap();
            }
        }
    }
    if faults.is_empty() { Ok(count) } else { Err(faults) }
}

fn check(file: &Value, case: &Value, profile: &str, snapshot: &Prepared) -> Vec<String> {
    let mut turn = merged(&file["turn"], &case["turn"]);
    if !case["inputs"].is_null() {
        let inputs = merged(&turn["inputs"], &case["inputs"]);
        turn.as_object_mut().unwrap().insert("inputs".into(), inputs);
    }
    let turn = match Case::of(Some(profile.to_owned()), turn).turn() {
        Ok(turn) => turn,
        Err(violations) => return vec![format!("the turn is invalid: {violations}")],
    };
    let Some(profile) = snapshot.profiles.get(profile) else { return vec!["there is no such profile".into()] };
    let assembled = prompt::assemble(snapshot, profile, &turn);
    if let Some(refused) = case["refused"].as_str() {
        return match assembled {
            Err(error) if error.to_string() == refused => Vec::new(),
            Err(error) => vec![format!("refused, but with: {error}")],
            Ok(_) => vec!["not refused".into()],
        };
    }
    let prompt = match assembled {
        Ok(prompt) => prompt,
        Err(error) => return vec![format!("refused: {error}")],
    };
    check_invariants(snapshot, &prompt);
    let named = |message: &&prompt::Message<'_>| case["message"].as_str().is_none_or(|name| message.name == name);
    let text = prompt.messages.iter().chain(&prompt.cards).find(named).map_or("", |message| &*message.content);
    let mut faults = of_text(case, text);
    if let Some(expected) = case["messages"].as_array() {
        let told = |message: &prompt::Message<'_>| match message.name {
            "" => format!("{}: {}", message.role.as_str(), message.content),
            name => format!("{}: ({name})", message.role.as_str()),
        };
        let cards = prompt.cards.iter().map(|card| format!("card: ({})", card.name));
        let messages: Vec<_> = prompt.messages.iter().map(told).chain(cards).collect();
        let expected: Vec<_> = expected.iter().map(text_of).collect();
        if messages != expected {
            faults.push(format!("the messages are {messages:?}"));
        }
    }
    for (id, expected) in case["sections"].as_object().into_iter().flatten() {
        let section = prompt.sections.iter().find(|section| section.id == *id);
        let told = section.map_or("not there".to_owned(), |section| {
            let file = section.source.as_ref().map_or(String::new(), |source| format!(" from {}", source.path));
            let reason = if section.reason.is_empty() { String::new() } else { format!(": {}", section.reason) };
            format!("{:?}{file}{reason}", section.outcome)
        });
        if told != expected.as_str().unwrap() {
            faults.push(format!("the section `{id}` is {told:?}"));
        }
    }
    faults
}

fn of_text(case: &Value, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let texts = |key: &str| case[key].as_array().into_iter().flatten().map(text_of).collect::<Vec<_>>();
    if let Some(exact) = case.get("exact")
        && text_of(exact) != text
    {
        faults.push(format!("the text is {text:?}\n  not {:?}", text_of(exact)));
    }
    if let Some(start) = case.get("starts")
        && !text.starts_with(&text_of(start))
    {
        faults.push(format!("does not start with {start}"));
    }
    faults.extend(
        texts("contains")
            .iter()
            .filter(|part| !text.contains(&**part))
            .map(|part| format!("lacks {part:?} in {text:?}")),
    );
    faults.extend(texts("absent").iter().filter(|part| text.contains(&**part)).map(|part| format!("has {part:?}")));
    let mut at = 0;
    for part in texts("order") {
        match text[at..].find(&part) {
            Some(found) => at += found + 1,
            None => faults.push(format!("{part:?} is not after what comes before it")),
        }
        at = (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
    }
    if let Some(within) = case.get("within") {
        let place = |key: &str| text.find(within[key].as_str().unwrap());
        match (place("from"), place("to")) {
            (Some(from), Some(to)) => {
                let distance = text[from..to].encode_utf16().count();
                if distance > within["at_most"].as_u64().unwrap() as usize {
                    faults.push(format!("{distance} units lie between the two"));
                }
            }
            _ => faults.push(format!("one of the ends of {within} is not there")),
        }
    }
    faults
}

/// `over` laid over `base`, objects field by field; a null takes a field away.
pub fn merged(base: &Value, over: &Value) -> Value {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            let mut all: Map<String, Value> = base.clone();
            for (key, value) in over {
                match value {
                    Value::Null => drop(all.remove(key)),
                    value => {
                        let below = base.get(key).map_or_else(|| value.clone(), |old| merged(old, value));
                        all.insert(key.clone(), below);
                    }
                }
            }
            all.into()
        }
        (base, Value::Null) if base.is_null() => Value::Object(Map::new()),
        (base, Value::Null) => base.clone(),
        (_, over) => over.clone(),
    }
}
