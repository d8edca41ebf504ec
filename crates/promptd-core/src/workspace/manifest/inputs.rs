//! `inputs` of `workspace.yaml`, checked against the profile that the workspace names.

use serde_json::{Map, Value as Json};

use crate::{
    finding::Code,
    profile::{Profile, check_inputs},
    yaml::{Fields, Node, Value},
};

/// Reads `inputs`; each fault is placed at its value. Without a profile they are not checked.
pub(super) fn read(root: &mut Fields<'_, '_>, profile: Option<&Profile>) -> Map<String, Json> {
    let faults = root.faults();
    let mut inputs = Map::new();
    for pair in root.pairs("inputs") {
        let one: Map<_, _> = [(pair.key.clone(), pair.value.to_json())].into_iter().collect();
        if let Some(Err(mismatch)) = profile.map(|profile| check_inputs(profile, &one)) {
            let rest = mismatch.path.strip_prefix('.').and_then(|path| path.strip_prefix(&pair.key));
            let is_known = profile.is_some_and(|p| p.inputs.iter().any(|input| input.field.name == pair.key));
            let (code, at) = match rest {
                Some(rest) if is_known => (Code::InvalidValue, find(&pair.value, rest).at),
                _ => (Code::UnknownKey, pair.at),
            };
            faults.add(code, at, format!("`inputs{}` {}", mismatch.path, mismatch.message));
        }
        inputs.extend(one);
    }
    inputs
}

/// The node at a path such as `.events[3]`, as far as there is one.
fn find<'n>(node: &'n Node, path: &str) -> &'n Node {
    let end = path.char_indices().skip(1).find(|(_, c)| matches!(c, '.' | '[')).map_or(path.len(), |(index, _)| index);
    let (step, rest) = path.split_at(end);
    let below = match &node.value {
        Value::Map(pairs) => {
            step.strip_prefix('.').and_then(|key| pairs.iter().find(|pair| pair.key == key)).map(|pair| &pair.value)
        }
        Value::List(items) => {
            let index = step.strip_prefix('[').and_then(|step| step.strip_suffix(']')).and_then(|n| n.parse().ok());
            index.and_then(|index: usize| items.get(index))
        }
        Value::Scalar(_) => None,
    };
    below.map_or(node, |below| find(below, rest))
}

#[cfg(test)]
mod tests {
    use crate::{
        profile,
        yaml::{self, Faults, Fields},
    };

    #[test]
    fn each_fault_stands_where_its_value_does() {
        let own = "inputs:\n  window: int\n  events: { type: list, of: { text: string, n: int } }\n\
                   messages:\n  - name: system\n    sections:\n      - { id: a, template: hello }\n";
        let (profiles, findings) = profile::load(&[("own.yaml".into(), own.into())], None);
        assert!(findings.is_empty(), "{findings:?}");
        let text = "inputs:\n  windw: 5\n  window: many\n  events:\n    - { text: a }\n    - text: b\n      n: 1.5\n\
                    \x20 user: x\n";
        let node = yaml::parse(text).unwrap();
        let faults = Faults::default();
        let inputs = super::read(&mut Fields::root(&node, &faults), profiles.get("own").map(|profile| &**profile));
        assert_eq!(inputs.len(), 4);
        let found: Vec<_> =
            faults.into_vec().into_iter().map(|f| format!("{}:{} {}", f.at.line, f.at.column, f.message)).collect();
        assert_eq!(
            found,
            [
                "2:3 `inputs.windw` is not known; did you mean `window`? (profile `own`)",
                "3:11 `inputs.window` must be a whole number, not a string",
                "7:10 `inputs.events[1].n` must be a whole number, not a number",
                "8:3 `inputs.user` is not known; known: window, events (profile `own`)",
            ]
        );
    }
}
