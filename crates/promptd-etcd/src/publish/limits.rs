//! What can be published: so much that etcd takes it, and paths that a folder can have.

use std::collections::BTreeSet;

use super::{MAX_WORKSPACES, Publication};
use crate::{
    error::{Error, ErrorKind},
    manifest::{MAX_FILE_BYTES, MAX_FILES, MAX_WORKSPACE_BYTES, below_file, is_path},
};

/// Fails where something is too much, or no path.
pub(super) fn check(publications: &[Publication]) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::new(ErrorKind::Invalid, message));
    if publications.len() > MAX_WORKSPACES {
        let count = publications.len();
        return invalid(format!(
            "{count} workspaces cannot be published together: etcd takes {MAX_WORKSPACES} in one transaction"
        ));
    }
    let mut ids = BTreeSet::new();
    for Publication { id, files, .. } in publications {
        if !ids.insert(id) {
            return invalid(format!("{id} is given twice"));
        }
        if files.len() > MAX_FILES {
            return invalid(format!("{id} has {} files; a published workspace has {MAX_FILES} at most", files.len()));
        }
        let total = files.values().map(|bytes| bytes.len() as u64).sum::<u64>();
        if total > MAX_WORKSPACE_BYTES {
            return invalid(format!(
                "{id}: its files have {total} bytes; a published workspace has {MAX_WORKSPACE_BYTES} at most"
            ));
        }
        if let Some(path) = below_file(files) {
            return invalid(format!("{id}: `{}` is below a path that is a file", path.escape_debug()));
        }
        for (path, bytes) in files {
            if !is_path(path) {
                return invalid(format!("{id}: `{}` cannot be the path of a published file", path.escape_debug()));
            }
            if bytes.len() as u64 > MAX_FILE_BYTES {
                let size = bytes.len();
                return invalid(format!(
                    "{id}: {path} has {size} bytes; a published file has {MAX_FILE_BYTES} at most"
                ));
            }
        }
    }
    Ok(())
}
