//! Settings that have no effect, since another one that turns their part on is not set.

use std::collections::BTreeMap;

use promptd_core::{
    finding::Code,
    yaml::{Fault, Node, Pair, Value},
};
use serde_json::Value as Json;

/// Each section with the setting that its others need.
const SWITCHES: &[(&str, &str)] = &[
    ("memory", "memory.store"),
    ("memory.models.embed", "memory.models.embed.url"),
    ("memory.models.summarise", "memory.models.summarise.url"),
    ("memory.notes", "memory.models.summarise.url"),
    ("otlp", "otlp.endpoint"),
    ("record", "record.dir"),
    ("workspaces.etcd", "workspaces.etcd.endpoints"),
    ("workspaces.etcd.cache", "workspaces.etcd.cache.dir"),
];

/// A warning for each setting that `given`, a config file's root node, sets without effect. A section that is off as a whole has one
/// warning, in the section around it. `effective` also has what flags set.
pub(super) fn warnings(given: &Node, effective: &BTreeMap<&'static str, Json>) -> Vec<Fault> {
    let is_off = |(_, switch): &(&str, &str)| is_unset(effective.get(switch));
    let off: Vec<_> = SWITCHES.iter().filter(|switch| is_off(switch)).collect();
    let is_within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
    let mut warnings = Vec::new();
    for (section, switch) in &off {
        // What is around it is off too, and has its own warning.
        if off.iter().any(|(outer, _)| is_within(section, outer)) {
            continue;
        }
        for pair in pairs(given, section).iter().filter(|pair| has_value(&pair.value)) {
            let setting = format!("{section}.{}", pair.key);
            if setting == *switch {
                continue;
            }
            let message = format!("`{setting}` has no effect: `{switch}` is not set");
            warnings.push(Fault { code: Code::SettingUnused, at: pair.at, message });
        }
    }
    warnings.sort_by_key(|warning| warning.at);
    warnings
}

fn is_unset(value: Option<&Json>) -> bool {
    value.is_none_or(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty))
}

/// The settings of a section; none where it is not there.
fn pairs<'n>(root: &'n Node, section: &str) -> &'n [Pair] {
    let mut pairs = map(root);
    for name in section.split('.') {
        pairs = pairs.iter().find(|pair| pair.key == name).map_or(&[], |pair| map(&pair.value));
    }
    pairs
}

fn map(node: &Node) -> &[Pair] {
    match &node.value {
        Value::Map(pairs) => pairs,
        _ => &[],
    }
}

/// Whether something is set: a null, or a section of nothing else, sets nothing.
fn has_value(node: &Node) -> bool {
    match &node.value {
        Value::Map(pairs) => pairs.iter().any(|pair| has_value(&pair.value)),
        _ => !node.is_null(),
    }
}
