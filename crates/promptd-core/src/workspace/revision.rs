//! The name of a snapshot's content.

use std::{fmt, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::{Document, Nested, Snapshot, Visibility};
use crate::digest::Digest;

/// The name of a snapshot's content: 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub Arc<str>);

impl Revision {
    /// The hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Changes whenever assembly gives other bytes for the same inputs, so that no two versions share a revision.
pub const FORMAT: &str = "promptd 2";

/// The hash of all that assembly can see of a snapshot.
pub(super) fn of(snapshot: &Snapshot) -> Revision {
    if let Some(own) = &snapshot.own {
        return of_layers(snapshot, own);
    }
    let mut hash = FieldHash::default();
    hash.field(FORMAT).field(snapshot.id.as_str()).field(snapshot.shown_root());
    hash.field(format!("{:?}", snapshot.settings)).field(snapshot.profiles.hash()).field(&*snapshot.manifest_sha256);
    for (name, sha256) in &snapshot.inputs {
        hash.field(&**name).field(&**sha256);
    }
    // A last good version differs from the input that is on disk now; and of a long file only the head is an input.
    hash.field("documents");
    documents(&mut hash, snapshot.documents.values().map(|document| &**document));
    if !snapshot.manifest.context.nested.is_empty() {
        nested(&mut hash, &snapshot.nested);
    }
    hash.field("skills");
    for skill in &snapshot.skills {
        let hidden = if let Visibility::Hidden(why) = &skill.visibility { why } else { "" };
        hash.field(&*skill.name).field(&*skill.location).field(&*skill.folder).field(&*skill.sha256).field(hidden);
    }
    hash.field("findings");
    for finding in &snapshot.findings {
        hash.field(format!("{finding:?}"));
    }
    Revision(hash.finish())
}

/// What a workspace and its layers are together follows from what each of them is.
fn of_layers(snapshot: &Snapshot, own: &Snapshot) -> Revision {
    let mut hash = FieldHash::default();
    hash.field(FORMAT).field("layers").field(own.revision.as_str());
    for layer in &snapshot.layers {
        hash.field(layer.id().as_str()).field(layer.own().revision.as_str());
    }
    hash.field("extends");
    for id in &snapshot.manifest.extends {
        hash.field(id.as_str());
    }
    hash.field("findings");
    for finding in &snapshot.findings {
        hash.field(format!("{finding:?}"));
    }
    Revision(hash.finish())
}

fn documents<'d>(hash: &mut FieldHash, documents: impl Iterator<Item = &'d Document>) {
    for document in documents {
        hash.field(&*document.path).field(&*document.sha256).field(document.total_bytes.to_be_bytes());
    }
}

/// A folder that comes or goes changes what a turn there is told.
fn nested(hash: &mut FieldHash, nested: &Nested) {
    hash.field("nested");
    documents(hash, nested.documents());
    hash.field("folders").field([u8::from(nested.is_partial)]);
    for (folder, unsearched) in &nested.folders {
        hash.field(&**folder).field(format!("{unsearched:?}"));
    }
}

/// A placeholder until the hash is known.
pub(super) fn none() -> Revision {
    Revision("".into())
}

/// A hash over fields, each with its length before it, so that no two lists of fields look the same.
#[derive(Default)]
struct FieldHash(Sha256);

impl FieldHash {
    fn field(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        let field = field.as_ref();
        self.0.update((field.len() as u64).to_be_bytes());
        self.0.update(field);
        self
    }

    fn finish(self) -> Arc<str> {
        Digest(self.0.finalize().into()).to_hex().into()
    }
}
