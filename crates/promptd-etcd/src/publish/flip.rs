//! The transaction that makes states the newest, or what is tried out: all of them, or none.

use std::collections::BTreeMap;

use promptd_core::{canary::Canary, digest::Digest, id::Id};

use super::{Head, Note, Published, Trial};
use crate::{
    batch::OPERATION_BYTES,
    candidate::{Candidate, MAX_LINE_BYTES},
    client::{MAX_REQUEST_BYTES, put, unchanged},
    clock,
    error::{Error, ErrorKind},
    layout::Prefix,
    manifest::{FileEntry, MAX_MANIFEST_BYTES, Manifest},
    proto::{Compare, request_op::Request},
};

/// A state of a workspace that is to be published.
pub(crate) struct Next {
    pub(crate) id: Id,
    /// What it comes after.
    pub(crate) head: Option<Head>,
    pub(crate) manifest: Manifest,
}

impl Next {
    pub(crate) fn after(id: &Id, head: Option<Head>, files: BTreeMap<String, FileEntry>, note: &Note) -> Self {
        let before = head.as_ref().map(|head| (&head.manifest, head.revision));
        let manifest = manifest_after(before, files, note);
        Self { id: id.clone(), head, manifest }
    }
}

/// A manifest that is published now, behind another.
pub(crate) fn manifest_after(
    before: Option<(&Manifest, Digest)>,
    files: BTreeMap<String, FileEntry>,
    note: &Note,
) -> Manifest {
    let Note { author, message } = note.clone();
    let (sequence, parent) = before.map(|(before, revision)| (before.sequence + 1, revision)).unzip();
    Manifest { sequence: sequence.unwrap_or(1), parent, author, message, time: clock::timestamp(), again: None, files }
}

/// What is compared and written together, and what that gives where nothing has changed since.
pub(crate) struct Flip {
    pub(crate) compare: Vec<Compare>,
    pub(crate) operations: Vec<Request>,
    pub(crate) results: Vec<Published>,
}

impl Flip {
    /// `None`: nothing is to be published. The error is of what etcd does not take.
    pub(crate) fn of(prefix: &Prefix, next: &[Next], trial: Option<Trial>) -> Result<Option<Self>, Error> {
        let Some(first) = next.first() else { return Ok(None) };
        let canary = trial.map(|trial| canary_of(trial, &first.manifest)).transpose()?;
        let (mut compare, mut operations, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let mut size = 0;
        for Next { id, head, manifest } in next {
            let json = manifest.write();
            if json.len() > MAX_MANIFEST_BYTES {
                let message = format!(
                    "{id}: its manifest has {} bytes, of {MAX_MANIFEST_BYTES} at most: publish fewer files",
                    json.len()
                );
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            let (newest, past) = (prefix.workspace(id), prefix.history(id, manifest.sequence));
            size += 2 * (json.len() + newest.len() + past.len() + OPERATION_BYTES) + MAX_LINE_BYTES;
            compare.push(unchanged(newest.clone(), head.as_ref().map_or(0, |head| head.mod_revision)));
            compare.push(unchanged(prefix.canary(id), 0));
            let (revision, sequence) = (Digest::of(&json), manifest.sequence);
            results.push(Published { id: id.clone(), revision, sequence, is_new: true });
            operations.push(match &canary {
                Some(canary) => put(prefix.canary(id), Candidate::write(canary, &json)),
                None => put(newest, json.clone()),
            });
            operations.push(put(past, json));
        }
        if size > MAX_REQUEST_BYTES {
            let message = format!(
                "the manifests of these {} workspaces take {size} bytes of one transaction, and etcd takes {MAX_REQUEST_BYTES}: publish fewer together",
                next.len()
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(Some(Self { compare, operations, results }))
    }
}

/// The canary of all that is published together. The salt is of the first manifest, so that each canary has another one.
fn canary_of(trial: Trial, first: &Manifest) -> Result<Canary, Error> {
    const SALT_DIGITS: usize = 16;
    let salt = Digest::of(&first.write()).to_hex()[..SALT_DIGITS].to_owned();
    Canary::new(trial.share, trial.by, salt).map_err(|why| Error::new(ErrorKind::Invalid, why))
}
