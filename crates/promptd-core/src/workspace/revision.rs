//! The name of a snapshot's content.

use super::{Revision, Snapshot, Visibility, hash::FieldHash};

/// Changes whenever assembly gives other bytes for the same inputs, so that no two versions share a revision.
const FORMAT: &str = "promptd 1";

/// The hash of all that assembly can see of a snapshot.
pub(super) fn of(snapshot: &Snapshot) -> Revision {
    let mut hash = FieldHash::default();
    hash.field(FORMAT).field(snapshot.id.as_str()).field(snapshot.shown_root());
    hash.field(format!("{:?}", snapshot.settings)).field(snapshot.profiles.hash()).field(&*snapshot.manifest_sha256);
    for (name, sha256) in &snapshot.inputs {
        hash.field(&**name).field(&**sha256);
    }
    // A last good version differs from the input that is on disk now; and of a long file only the head is an input.
    hash.field("documents");
    for document in snapshot.documents.values() {
        hash.field(&*document.path).field(&*document.sha256).field(document.total_bytes.to_be_bytes());
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

/// Stands in until the hash is known.
pub(super) fn none() -> Revision {
    Revision("".into())
}
