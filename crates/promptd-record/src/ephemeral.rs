//! `agent.ephemeral_system_prompt` of a `workspace.yaml`, which is not recorded.

use std::sync::Arc;

use promptd_core::{
    workspace::{Captured, CapturedFile, MANIFEST, Origin},
    yaml::{self, Node, Value},
};

const KEY: &str = "ephemeral_system_prompt";
/// In place of a `workspace.yaml` that is no YAML, and may have an ephemeral prompt: it is not valid either.
const INVALID: &[u8] = b"[";

/// The same without the ephemeral prompt of its `workspace.yaml`, and of those that stand behind it; and whether there was one.
/// The rest of such a file is written as JSON, which YAML includes, since a node does not say where its text ends.
pub(crate) fn without(origin: &Origin) -> (Origin, bool) {
    let (tree, own) = without_own(&origin.tree);
    let previous = origin.previous.as_ref().map(|previous| without(previous));
    let any = own || previous.as_ref().is_some_and(|(_, any)| *any);
    let previous = previous.map(|(previous, _)| Arc::new(previous));
    (Origin { tree, previous, ..origin.clone() }, any)
}

fn without_own(tree: &Captured) -> (Captured, bool) {
    let found = tree.files.get(MANIFEST).and_then(|file| file.as_ref().ok());
    let Some((file, bytes)) = found.and_then(|file| Some((file, rest(&file.bytes)?))) else {
        return (tree.clone(), false);
    };
    // A file that was read in part, or is too large, stays so.
    let total = if file.total == file.bytes.len() as u64 { bytes.len() as u64 } else { file.total };
    let mut tree = tree.clone();
    tree.files.insert(MANIFEST.to_owned(), Ok(CapturedFile { bytes: bytes.into(), total }));
    (tree, true)
}

/// The file without its ephemeral prompt; `None`: it has none.
fn rest(bytes: &[u8]) -> Option<Vec<u8>> {
    // A key may be written with escapes, and a text may be in a comment: what does not parse is not searched.
    let parsed = yaml::utf8(bytes).ok().and_then(|text| yaml::parse(text).ok());
    let Some(mut node) = parsed else { return (!bytes.is_empty()).then(|| INVALID.to_vec()) };
    if !remove(&mut node) {
        return None;
    }
    Some(node.to_json().to_string().into_bytes())
}

fn remove(root: &mut Node) -> bool {
    let Value::Map(pairs) = &mut root.value else { return false };
    let mut removed = false;
    for agent in pairs.iter_mut().filter(|pair| pair.key == "agent") {
        if let Value::Map(pairs) = &mut agent.value.value {
            let before = pairs.len();
            pairs.retain(|pair| pair.key != KEY);
            removed |= pairs.len() < before;
        }
    }
    removed
}
