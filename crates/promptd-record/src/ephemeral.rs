//! `agent.ephemeral_system_prompt` of a `workspace.yaml`, which is not recorded.

use std::{iter, sync::Arc};

use promptd_core::{
    workspace::{Captured, CapturedFile, MANIFEST, Origin, ReadError},
    yaml::{self, Node, Value},
};

const KEY: &str = "ephemeral_system_prompt";
/// In place of a `workspace.yaml` that is not valid, and may have the text under another key: it is not valid either.
const INVALID: &[u8] = b"[";

/// A `workspace.yaml` as it was read, and what is kept of it.
struct Bared<'o> {
    file: &'o CapturedFile,
    rest: Vec<u8>,
}

/// The same without the ephemeral prompt of its `workspace.yaml`, of its layers' and of those that are behind these; and
/// whether one was removed. Every other file that is such a `workspace.yaml`, by a link, is replaced as well.
///
/// The rest of such a file is written as JSON, which YAML includes, since a node does not say where its text ends.
#[must_use]
pub fn without(origin: &Origin) -> (Origin, bool) {
    let layers: Vec<_> = origin.layers.iter().map(|layer| without_own(layer)).collect();
    let (own, removed) = without_own(origin);
    let removed = removed || layers.iter().any(|(_, removed)| *removed);
    (Origin { layers: layers.into_iter().map(|(layer, _)| Arc::new(layer)).collect(), ..own }, removed)
}

/// The same of its own files alone.
fn without_own(origin: &Origin) -> (Origin, bool) {
    let all = iter::successors(Some(origin), |one| one.previous.as_deref());
    let bared: Vec<_> = all.filter_map(bared).collect();
    if bared.is_empty() { (origin.clone(), false) } else { (with(origin, &bared), true) }
}

/// `None`: its `workspace.yaml` is kept as it is.
fn bared(origin: &Origin) -> Option<Bared<'_>> {
    let file = origin.tree.files.get(MANIFEST)?.as_ref().ok()?;
    let rest = if is_valid(origin, file) { rest(&file.bytes)? } else { INVALID.to_vec() };
    Some(Bared { file, rest })
}

/// Whether it can be loaded with no last good version behind it.
fn is_valid(origin: &Origin, manifest: &CapturedFile) -> bool {
    let mut tree = Captured::default();
    tree.files.insert(MANIFEST.to_owned(), Ok(manifest.clone()));
    Origin { tree, shared_skills: Vec::new(), previous: None, ..origin.clone() }.load_own().is_ok()
}

/// A valid file without its ephemeral prompt; `None`: neither its values nor its comments have one.
fn rest(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = yaml::utf8(bytes).ok()?;
    let mut node = yaml::parse(text).ok()?;
    (remove(&mut node) || text.contains(KEY)).then(|| node.to_json().to_string().into_bytes())
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

fn with(origin: &Origin, bared: &[Bared<'_>]) -> Origin {
    let shared = origin.shared_skills.iter();
    Origin {
        tree: replaced(&origin.tree, bared),
        shared_skills: shared.map(|(path, tree)| (path.clone(), replaced(tree, bared))).collect(),
        previous: origin.previous.as_ref().map(|previous| Arc::new(with(previous, bared))),
        ..origin.clone()
    }
}

fn replaced(tree: &Captured, bared: &[Bared<'_>]) -> Captured {
    let mut tree = tree.clone();
    for file in tree.files.values_mut() {
        let found = bared.iter().find(|bared| file.as_ref().is_ok_and(|file| is_same(file, bared.file)));
        if let Some(bared) = found {
            *file = replacement(file, &bared.rest);
        }
    }
    tree
}

/// Whether both are one file, of which one read may have wanted less than the other.
fn is_same(one: &CapturedFile, other: &CapturedFile) -> bool {
    let is_start = one.bytes.starts_with(&other.bytes) || other.bytes.starts_with(&one.bytes);
    one.total == other.total && !one.bytes.is_empty() && is_start
}

/// A file that was read in part, or is too large, stays so.
fn replacement(file: &Result<CapturedFile, ReadError>, rest: &[u8]) -> Result<CapturedFile, ReadError> {
    let file = file.as_ref().map_err(|error| *error)?;
    let is_whole = file.total == file.bytes.len() as u64;
    Ok(CapturedFile { bytes: rest.into(), total: if is_whole { rest.len() as u64 } else { file.total } })
}
