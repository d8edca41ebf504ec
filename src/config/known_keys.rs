//! Keys that are not settings of this build, and have a better message than "unknown key".

use promptd_core::{
    finding::Code,
    yaml::{Faults, Node, Pair, Value},
};

use crate::features::FEATURES;

const OF_A_WORKSPACE: &str = "belongs in the workspace.yaml of a workspace";

/// Each other key with the rest of its message. A setting that is renamed or removed gets a row that says what to write
/// instead.
const KEYS: &[(&str, &str)] = &[
    ("agent", OF_A_WORKSPACE),
    ("context", OF_A_WORKSPACE),
    ("heartbeat", OF_A_WORKSPACE),
    ("inputs", OF_A_WORKSPACE),
    ("locked", OF_A_WORKSPACE),
    ("profile", OF_A_WORKSPACE),
    ("skills.allowlist", OF_A_WORKSPACE),
    ("skills.blocklist", OF_A_WORKSPACE),
    ("skills.enabled", OF_A_WORKSPACE),
];

/// Reports these keys, and takes them out of a config file's root node.
pub(super) fn report(root: &mut Node, faults: &Faults) {
    for feature in FEATURES.iter().filter(|feature| !feature.is_built) {
        report_key(root, faults, feature.setting, &format!("is {}", feature.lacking));
    }
    for (key, message) in KEYS {
        report_key(root, faults, key, message);
    }
}

fn report_key(root: &mut Node, faults: &Faults, key: &str, message: &str) {
    let (section, name) = key.split_once('.').map_or((None, key), |(section, name)| (Some(section), name));
    let Some(pairs) = pairs(root, section) else { return };
    if let Some(index) = pairs.iter().position(|pair| pair.key == name) {
        let pair = pairs.remove(index);
        faults.add(Code::UnknownKey, pair.at, format!("`{key}` {message}"));
    }
}

fn pairs<'n>(root: &'n mut Node, section: Option<&str>) -> Option<&'n mut Vec<Pair>> {
    let Value::Map(pairs) = &mut root.value else { return None };
    let Some(section) = section else { return Some(pairs) };
    match &mut pairs.iter_mut().find(|pair| pair.key == section)?.value.value {
        Value::Map(pairs) => Some(pairs),
        _ => None,
    }
}
