//! Publishing: blobs first, then every manifest in one transaction, which holds only if no one has published since.

mod flip;
mod limits;

pub(crate) use flip::{Flip, Next, manifest_after};

use std::collections::{BTreeMap, BTreeSet};

use promptd_core::{
    canary::{Key, Share},
    digest::Digest,
    id::Id,
};

use self::limits::check;
use crate::{
    batch::Batch,
    canary,
    client::{Client, MAX_OPERATIONS},
    error::{Error, ErrorKind},
    history,
    layout::Prefix,
    manifest::{FileEntry, Manifest},
    proto::KeyValue,
};

/// The most workspaces that are published together: each takes two operations of a transaction.
pub const MAX_WORKSPACES: usize = MAX_OPERATIONS / 2;

/// A workspace to publish.
#[derive(Debug, Clone)]
pub struct Publication {
    /// Its id.
    pub id: Id,
    /// Its files, by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The revision that it was made from, which must be the newest; `None`: whichever is.
    pub base: Option<Digest>,
}

/// Which turns get what is published, where not all do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// How many of them.
    pub share: Share,
    /// What decides.
    pub by: Key,
}

/// Who publishes, and why.
#[derive(Debug, Clone)]
pub struct Note {
    /// Who.
    pub author: String,
    /// Why.
    pub message: String,
}

/// What became of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Its id.
    pub id: Id,
    /// The newest revision.
    pub revision: Digest,
    /// Its number.
    pub sequence: u64,
    /// Whether it is new: otherwise the files are what they were.
    pub is_new: bool,
}

/// The newest state of a workspace in etcd.
#[derive(Debug, Clone)]
pub struct Head {
    /// Its manifest.
    pub manifest: Manifest,
    /// The SHA-256 of that.
    pub revision: Digest,
    pub(crate) mod_revision: i64,
}

/// The newest states of workspaces, each `None` where there is none.
pub async fn heads(client: &Client, prefix: &Prefix, ids: &[Id]) -> Result<Vec<Option<Head>>, Error> {
    let keys = ids.iter().map(|id| prefix.workspace(id)).collect();
    let found = client.get_all(keys, 0).await?;
    let head = |kv: KeyValue| {
        let manifest = Manifest::read(&kv.value).map_err(|why| Error::unreadable(&kv.key, why))?;
        Ok(Head { manifest, revision: Digest::of(&kv.value), mod_revision: kv.mod_revision })
    };
    found.into_iter().map(|kv| kv.map(head).transpose()).collect()
}

/// Publishes workspaces: all of them, or none. A reader sees the old state of each or the new one. With a trial only some
/// turns get what is published, until [`canary::end`].
pub async fn publish(
    client: &Client,
    prefix: &Prefix,
    publications: &[Publication],
    note: &Note,
    trial: Option<Trial>,
) -> Result<Vec<Published>, Error> {
    let Prepared { unchanged: mut results, next } = prepare(client, prefix, publications, note, trial).await?;
    if let Some(Flip { compare, operations, results: new }) = Flip::of(prefix, &next, trial)? {
        if !client.transact(compare, operations).await.map_err(unknown)?.succeeded {
            return Err(lost_race(client, prefix, &next).await?);
        }
        results.extend(new);
    }
    results.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(results)
}

/// What is to be published, with its files in etcd, and what stays as it is.
pub(crate) struct Prepared {
    pub(crate) unchanged: Vec<Published>,
    pub(crate) next: Vec<Next>,
}

/// Checks publications against what is live, and writes their files.
pub(crate) async fn prepare(
    client: &Client,
    prefix: &Prefix,
    publications: &[Publication],
    note: &Note,
    trial: Option<Trial>,
) -> Result<Prepared, Error> {
    check(publications)?;
    let ids: Vec<Id> = publications.iter().map(|publication| publication.id.clone()).collect();
    canary::none_may_run(client, prefix, &ids).await?;
    let heads = heads(client, prefix, &ids).await?;
    let (mut unchanged, mut next) = (Vec::new(), Vec::new());
    for (publication, head) in publications.iter().zip(heads) {
        let Publication { id, base, .. } = publication;
        if let Some(base) = base {
            must_be_newest(id, *base, head.as_ref())?;
        }
        if trial.is_some() && head.is_none() {
            let message = format!("{id}: there is nothing to try it against: publish it without a canary");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let files = entries(&publication.files);
        match head {
            Some(head) if head.manifest.files == files => unchanged.push(published(id, &head, false)),
            head => next.push(Next::after(id, head, files, note)),
        }
    }
    write_blobs(client, prefix, publications, &next).await?;
    Ok(Prepared { unchanged, next })
}

/// What publishes an earlier state of a workspace again, by its number or first digits, and the reason, where nobody gives another.
pub async fn return_to(client: &Client, prefix: &Prefix, id: &Id, name: &str) -> Result<(Publication, String), Error> {
    let newest = history::newest(client, prefix, id).await?;
    let past = history::held(client, prefix, id, name).await?;
    let files = history::files(client, prefix, &past.manifest.files).await?;
    let message = format!("Back to revision {}.", past.manifest.sequence);
    Ok((Publication { id: id.clone(), files, base: Some(newest.revision) }, message))
}

/// Fails where the newest state is neither this one, nor has its files again.
pub(crate) fn must_be_newest(id: &Id, base: Digest, head: Option<&Head>) -> Result<(), Error> {
    let is_newest = |head: &Head| head.revision == base || head.manifest.again == Some(base);
    if head.is_some_and(is_newest) { Ok(()) } else { Err(conflict(id, head)) }
}

/// That someone has published since: this state, or none.
pub(crate) fn conflict(id: &Id, head: Option<&Head>) -> Error {
    let message = match head {
        Some(Head { manifest: Manifest { sequence, author, message, time, .. }, .. }) => {
            format!(
                "{id}: {author} has published revision {sequence} since, at {time:.0}: {message}\n  pull it, bring your edit into it, and publish again"
            )
        }
        None => format!("{id} was removed since"),
    };
    Error::new(ErrorKind::Conflict, message)
}

fn entries(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, FileEntry> {
    let entry = |(path, bytes): (&String, &Vec<u8>)| {
        (path.clone(), FileEntry { sha256: Digest::of(bytes), bytes: bytes.len() as u64 })
    };
    files.iter().map(entry).collect()
}

/// Writes every file that the state before does not have, also those that are there already: so a file that nothing names any
/// more is young again, and `gc` spares it until it is named.
async fn write_blobs(
    client: &Client,
    prefix: &Prefix,
    publications: &[Publication],
    next: &[Next],
) -> Result<(), Error> {
    let mut blobs = BTreeMap::new();
    for Next { id, head, manifest } in next {
        let before: BTreeSet<Digest> =
            head.iter().flat_map(|head| head.manifest.files.values()).map(|file| file.sha256).collect();
        let files = publications.iter().filter(|one| one.id == *id).flat_map(|one| one.files.values());
        let new = manifest.files.values().map(|file| file.sha256).zip(files);
        blobs.extend(new.filter(|(sha256, _)| !before.contains(sha256)));
    }
    let mut batch = Batch::new(client);
    for (sha256, bytes) in blobs {
        batch.put(prefix.blob(sha256), bytes.clone()).await?;
    }
    batch.finish().await
}

/// Of an error after which it is not known whether what was asked for is done.
pub(crate) fn unknown(error: Error) -> Error {
    match error.kind {
        ErrorKind::Away => {
            let message = format!("{error}\n  whether it is published is not known: see `promptd history`");
            Error::new(ErrorKind::Away, message)
        }
        _ => error,
    }
}

/// Who was faster.
pub(crate) async fn lost_race(client: &Client, prefix: &Prefix, next: &[Next]) -> Result<Error, Error> {
    let ids: Vec<Id> = next.iter().map(|next| next.id.clone()).collect();
    canary::none_may_run(client, prefix, &ids).await?;
    let now = heads(client, prefix, &ids).await?;
    let revision = |head: Option<&Head>| head.map(|head| head.mod_revision);
    let mut pairs = next.iter().zip(&now);
    let changed = pairs.find(|(next, now)| revision(next.head.as_ref()) != revision(now.as_ref()));
    Ok(changed.map_or_else(
        || Error::new(ErrorKind::Conflict, "someone else has published meanwhile: publish again"),
        |(next, now)| conflict(&next.id, now.as_ref()),
    ))
}

pub(crate) fn published(id: &Id, head: &Head, is_new: bool) -> Published {
    Published { id: id.clone(), revision: head.revision, sequence: head.manifest.sequence, is_new }
}
