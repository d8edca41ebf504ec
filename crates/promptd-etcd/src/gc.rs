//! Removing what nothing needs: the oldest states of each workspace, proposals that have expired, and files that nothing which is
//! held names.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use promptd_core::digest::Digest;

use crate::{
    candidate::Candidate,
    client::{Client, MAX_OPERATIONS, delete, unchanged},
    clock,
    error::Error,
    layout::{self, Kind, LiveKey, Prefix},
    manifest::Manifest,
    proto::KeyValue,
    review,
};

/// How long a file is spared that no state names: whoever publishes writes files first.
const SPARED: Duration = Duration::from_secs(60 * 60);

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// States of workspaces.
    pub revisions: usize,
    /// Files.
    pub blobs: usize,
    /// Proposals.
    pub proposals: usize,
}

/// Removes all but the newest `keep` states of each workspace and the proposals that have expired, then the files that neither a
/// state nor a proposal names, and the marks of uploads, that are older than an hour. What someone else changes meanwhile stays.
pub async fn collect(client: &Client, prefix: &Prefix, keep: usize) -> Result<Removed, Error> {
    // First, since one that is published meanwhile is among the states that are read later.
    let (proposed, proposals) = proposed(client, prefix).await?;
    let histories = client.list(&prefix.histories()).await?;
    let (kept, surplus) = split(histories.keys, keep.max(1));
    let revisions = remove(client, surplus).await?;
    let mut held = read(client, kept, clock::timestamp()).await?;
    held.files.extend(live_files(client, prefix).await?);
    held.files.extend(proposed);
    let uploads = client.list(&prefix.uploads()).await?.keys;
    remove(client, uploads.into_iter().filter(|kv| kv.mod_revision <= held.old).collect()).await?;
    let blobs = client.list(&prefix.blobs()).await?.keys;
    let is_needless = |kv: &KeyValue| {
        let sha256 = layout::digest(&kv.key);
        kv.mod_revision <= held.old && sha256.is_some_and(|sha256| !held.files.contains(&sha256))
    };
    let blobs = remove(client, blobs.into_iter().filter(is_needless).collect()).await?;
    Ok(Removed { revisions, blobs, proposals })
}

/// The files of open proposals, and how many were removed because they have expired.
async fn proposed(client: &Client, prefix: &Prefix) -> Result<(BTreeSet<Digest>, usize), Error> {
    let (mut files, mut removed) = (BTreeSet::new(), 0);
    for id in client.list(&prefix.proposals()).await?.keys.iter().filter_map(|kv| layout::digest(&kv.key)) {
        let Some(open) = review::read(client, prefix, id).await? else { continue };
        if review::is_expired(&open.proposal) && open.reject(client, prefix).await? {
            removed += 1;
            continue;
        }
        files.extend(open.proposal.workspaces.values().flat_map(|one| one.files.values()).map(|file| file.sha256));
    }
    Ok((files, removed))
}

/// The newest keys of each workspace, and the others.
fn split(keys: Vec<KeyValue>, keep: usize) -> (Vec<KeyValue>, Vec<KeyValue>) {
    let mut by_workspace: BTreeMap<Vec<u8>, Vec<KeyValue>> = BTreeMap::new();
    for kv in keys {
        let folder = kv.key.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
        by_workspace.entry(kv.key[..folder].to_vec()).or_default().push(kv);
    }
    let (mut kept, mut surplus) = (Vec::new(), Vec::new());
    for mut keys in by_workspace.into_values() {
        let newest = keys.split_off(keys.len().saturating_sub(keep));
        kept.extend(newest);
        surplus.extend(keys);
    }
    (kept, surplus)
}

/// What the states that are held say.
#[derive(Default)]
struct Held {
    /// The files that they name.
    files: BTreeSet<Digest>,
    /// A revision of etcd that is an hour old: what was not written since is as old.
    old: i64,
}

async fn read(client: &Client, keys: Vec<KeyValue>, now: Timestamp) -> Result<Held, Error> {
    let (mut held, mut states) = (Held::default(), Vec::new());
    let keys: Vec<_> = keys.into_iter().map(|kv| kv.key).collect();
    for keys in keys.chunks(MAX_OPERATIONS) {
        for kv in client.get_all(keys.to_vec(), 0).await?.into_iter().flatten() {
            let manifest = Manifest::read(&kv.value).map_err(|why| Error::unreadable(&kv.key, why))?;
            states.push((kv.mod_revision, manifest.time));
            held.files.extend(manifest.files.values().map(|file| file.sha256));
        }
    }
    held.old = old_revision(&states, now);
    Ok(held)
}

/// The newest of these revisions of etcd that is old by what its state says and by what every state before it says, so that one
/// publisher's clock that is slow ages nobody's files. What is dated later than now says nothing.
fn old_revision(states: &[(i64, Timestamp)], now: Timestamp) -> i64 {
    let age = |time: Timestamp| Duration::try_from(now.duration_since(time)).ok();
    let revisions = |is_old: bool| {
        let is_so = move |(_, time): &&(i64, Timestamp)| age(*time).is_some_and(|age| (age >= SPARED) == is_old);
        states.iter().filter(is_so).map(|(revision, _)| *revision)
    };
    let young = revisions(false).min().unwrap_or(i64::MAX);
    revisions(true).filter(|revision| *revision < young).max().unwrap_or_default()
}

/// The files of what is live: while a canary runs, two states of a workspace are, whatever is kept of its history.
async fn live_files(client: &Client, prefix: &Prefix) -> Result<BTreeSet<Digest>, Error> {
    let mut files = BTreeSet::new();
    let keys: Vec<_> = client.list(&prefix.live()).await?.keys.into_iter().map(|kv| kv.key).collect();
    for keys in keys.chunks(MAX_OPERATIONS) {
        for kv in client.get_all(keys.to_vec(), 0).await?.into_iter().flatten() {
            let manifest = match prefix.parse_live(&kv.key) {
                Some(Ok(LiveKey { kind: Kind::Newest, .. })) => Manifest::read(&kv.value),
                Some(Ok(LiveKey { kind: Kind::Canary, .. })) => Candidate::read(&kv.value).map(|read| read.manifest),
                _ => continue,
            };
            let manifest = manifest.map_err(|why| Error::unreadable(&kv.key, why))?;
            files.extend(manifest.files.values().map(|file| file.sha256));
        }
    }
    Ok(files)
}

/// Removes the keys that are as they were listed.
async fn remove(client: &Client, keys: Vec<KeyValue>) -> Result<usize, Error> {
    let mut removed = 0;
    for batch in keys.chunks(MAX_OPERATIONS) {
        if remove_together(client, batch).await? {
            removed += batch.len();
            continue;
        }
        for one in batch {
            removed += usize::from(remove_together(client, std::slice::from_ref(one)).await?);
        }
    }
    Ok(removed)
}

async fn remove_together(client: &Client, keys: &[KeyValue]) -> Result<bool, Error> {
    let compare = keys.iter().map(|kv| unchanged(kv.key.clone(), kv.mod_revision)).collect();
    let operations = keys.iter().map(|kv| delete(kv.key.clone())).collect();
    Ok(client.transact(compare, operations).await?.succeeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_clock_makes_nothing_old_that_others_have_just_written() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let state =
            |(revision, age): &(i64, i64)| (revision.to_owned(), Timestamp::from_second(1_800_000_000 - age).unwrap());
        for (states, old) in [
            (&[][..], 0),
            (&[(3, 3_599)], 0),
            (&[(3, 3_600), (5, 9_000), (9, 60)], 5),
            // The newest says that it is of last year, and one before it is young.
            (&[(3, 3_600), (7, 60), (9, 31_536_000)], 3),
            (&[(9, 31_536_000), (7, 60), (3, 3_600)], 3),
            // A fast clock holds nothing up.
            (&[(3, -86_400), (5, 3_600)], 5),
        ] {
            let states: Vec<_> = states.iter().map(state).collect();
            assert_eq!(old_revision(&states, now), old, "{states:?}");
        }
    }
}
