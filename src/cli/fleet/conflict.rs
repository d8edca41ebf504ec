//! Someone else has published: who, what they changed, and what the folder would have changed.

use std::fmt::Write as _;

use promptd_core::digest::Digest;
use promptd_etcd::history::Past;

use super::{
    difference::difference,
    one_line,
    place::{Connection, Files},
};
use crate::cli::{
    Failure,
    load::{Offline, WorkspaceArgument},
};

/// A workspace of which another revision is the newest than the one that a folder was made from.
pub(super) struct Conflict<'w> {
    workspace: &'w WorkspaceArgument,
    /// The files of the revision that the folder was made from; `None`: it is held no longer.
    before: Option<Files>,
    /// The newest one, with its files; `None`: the workspace was removed.
    newest: Option<(Past, Files)>,
}

/// The workspaces in conflict, of these with the revision that each folder was made from.
pub(super) async fn find<'w>(
    connection: &Connection,
    workspaces: impl Iterator<Item = (&'w WorkspaceArgument, Digest)>,
) -> Result<Vec<Conflict<'w>>, Failure> {
    let mut conflicts = Vec::new();
    for (workspace, base) in workspaces {
        let id = workspace.id_of();
        let newest = connection.newest(id).await?;
        // What a canary ended with again is what the folder was made from.
        if newest.as_ref().is_some_and(|newest| newest.revision == base || newest.manifest.again == Some(base)) {
            continue;
        }
        let before = match connection.find(id, &base.to_hex()).await? {
            Some(before) => Some(connection.files(id, &before).await?),
            None => None,
        };
        let newest = match newest {
            Some(newest) => {
                let files = connection.files(id, &newest).await?;
                Some((newest, files))
            }
            None => None,
        };
        conflicts.push(Conflict { workspace, before, newest });
    }
    Ok(conflicts)
}

/// Fails where there are conflicts, with all of them.
pub(super) fn must_be_none(offline: &Offline, conflicts: &[Conflict<'_>]) -> Result<(), Failure> {
    if conflicts.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for Conflict { workspace, before, newest } in conflicts {
        let id = workspace.id_of();
        let Some((Past { manifest, .. }, files)) = newest else {
            let _ = writeln!(text, "error: {id} was removed since");
            continue;
        };
        let (author, message) = (one_line(&manifest.author), one_line(&manifest.message));
        let _ = writeln!(
            text,
            "error: {id}: {author} has published revision {} since, at {:.0}: {message}",
            manifest.sequence, manifest.time
        );
        if let Some(before) = before {
            let theirs = difference(offline, workspace, before, Some(files))?;
            let yours = difference(offline, workspace, before, None)?;
            let _ = write!(text, "what {author} has changed:\n{theirs}what you have changed:\n{yours}");
        } else {
            let _ = writeln!(text, "  the revision that your folder was made from is held no longer");
        }
        let _ = writeln!(text, "  pull it, bring your edit into it, and publish again");
    }
    Err(Failure::input(format!("{text}nothing is published")))
}
