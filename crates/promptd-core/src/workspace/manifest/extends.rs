//! `extends` and `extendable_by`, and where a `workspace.yaml` sets what.

use std::collections::BTreeMap;

use crate::{
    finding::{Code, Place},
    globs::{Case, NameGlobs},
    id::Id,
    workspace::manifest::MANIFEST,
    yaml::{Fields, Mark, Node, Value},
};

/// The most entries of `extends`.
pub const MAX_EXTENDS: usize = 8;

/// Reads `extends`: ids of other workspaces, none twice.
pub(super) fn extends(root: &mut Fields<'_, '_>, own: &Id) -> Vec<Id> {
    let at = root.mark("extends");
    let entries = root.texts("extends").unwrap_or_default();
    if entries.len() > MAX_EXTENDS {
        root.faults().add(Code::InvalidValue, at, format!("`extends` has more than {MAX_EXTENDS} entries"));
    }
    let mut ids: Vec<Id> = Vec::new();
    for (index, (text, mark)) in entries.into_iter().enumerate() {
        let complaint = match Id::parse(text) {
            Err(invalid) => invalid.to_string(),
            Ok(id) if id == *own => "is this workspace itself".to_owned(),
            Ok(id) if ids.contains(&id) => "names a workspace that an entry above already names".to_owned(),
            Ok(id) => {
                ids.push(id);
                continue;
            }
        };
        root.faults().add(Code::InvalidValue, mark, format!("`extends[{index}]` {complaint}"));
    }
    ids
}

/// Reads `extendable_by`: globs over ids, with regard to case.
pub(super) fn extendable_by(root: &mut Fields<'_, '_>) -> NameGlobs {
    NameGlobs::read(root, "extendable_by", Case::Exact).unwrap_or_default()
}

/// Which settings a `workspace.yaml` has, and where: by their keys, such as `agent.persona`. One that is null is not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks(BTreeMap<String, Mark>);

impl Marks {
    /// Those of the whole file: its own keys, those below them, and the items of lists.
    pub(super) fn of(root: &Node) -> Self {
        let mut marks = BTreeMap::new();
        each(root, "", &mut |key, node| {
            marks.insert(key.clone(), node.at);
            each(node, &key, &mut |below, node| _ = marks.insert(below, node.at));
        });
        Self(marks)
    }

    /// Whether the file sets it.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The place of a setting in a file of this path.
    #[must_use]
    pub fn place(&self, key: &str, path: &str) -> Place {
        self.0.get(key).map_or_else(|| Place::file(path), |mark| Place::at(path, mark.line, mark.column))
    }

    /// The place in the workspace's own file.
    #[must_use]
    pub fn own_place(&self, key: &str) -> Place {
        self.place(key, MANIFEST)
    }
}

fn each(node: &Node, path: &str, found: &mut dyn FnMut(String, &Node)) {
    match &node.value {
        Value::Map(pairs) => {
            let dot = if path.is_empty() { "" } else { "." };
            for pair in pairs.iter().filter(|pair| !pair.value.is_null()) {
                found(format!("{path}{dot}{}", pair.key), &pair.value);
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                found(format!("{path}[{index}]"), item);
            }
        }
        Value::Scalar(_) => {}
    }
}
