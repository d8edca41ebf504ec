//! Files that are there before a workspace is published with them, for those who do not have them all at once.
//!
//! Each is marked with the workspace that it was uploaded for: who knows the hash of a file of another workspace cannot publish it,
//! and then read it, without having it.

use std::collections::{BTreeMap, BTreeSet};

use promptd_core::{digest::Digest, id::Id};

use crate::{
    batch::Batch,
    client::{Client, MAX_OPERATIONS},
    error::Error,
    layout::Prefix,
    publish::heads,
};

/// Writes files by their hashes, and that the workspace may be published with them. `gc` leaves them for an hour at least.
pub async fn upload(client: &Client, prefix: &Prefix, id: &Id, files: BTreeMap<Digest, Vec<u8>>) -> Result<(), Error> {
    let mut batch = Batch::new(client);
    for (sha256, bytes) in files {
        // The mark is not older than the file.
        batch.put(prefix.blob(sha256), bytes).await?;
        batch.put(prefix.upload(id, sha256), Vec::new()).await?;
    }
    batch.finish().await
}

/// Which of these files neither the newest state of the workspace has, nor were uploaded for it.
pub async fn missing(
    client: &Client,
    prefix: &Prefix,
    id: &Id,
    files: impl IntoIterator<Item = Digest>,
) -> Result<BTreeSet<Digest>, Error> {
    let head = heads(client, prefix, std::slice::from_ref(id)).await?.pop().flatten();
    let own: BTreeSet<Digest> =
        head.iter().flat_map(|head| head.manifest.files.values()).map(|file| file.sha256).collect();
    let asked: Vec<Digest> = files.into_iter().filter(|sha256| !own.contains(sha256)).collect();
    let mut missing = BTreeSet::new();
    for some in asked.chunks(MAX_OPERATIONS) {
        let marks = client.get_all(some.iter().map(|sha256| prefix.upload(id, *sha256)).collect(), 0).await?;
        missing.extend(some.iter().zip(marks).filter(|(_, mark)| mark.is_none()).map(|(sha256, _)| *sha256));
    }
    Ok(missing)
}
