//! Publishing: blobs first, then every manifest in one transaction, which holds only if no one has published since.

use std::collections::{BTreeMap, BTreeSet};

use promptd_core::{
    canary::{Canary, Key, Share},
    digest::Digest,
    id::Id,
};

use crate::{
    batch::{Batch, OPERATION_BYTES},
    canary,
    candidate::{Candidate, MAX_LINE_BYTES},
    client::{Client, MAX_OPERATIONS, MAX_REQUEST_BYTES, put, unchanged},
    clock,
    error::{Error, ErrorKind},
    history,
    layout::Prefix,
    manifest::{
        FileEntry, MAX_FILE_BYTES, MAX_FILES, MAX_MANIFEST_BYTES, MAX_WORKSPACE_BYTES, Manifest, below_file, is_path,
    },
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
    let head = |(id, kv): (&Id, Option<crate::proto::KeyValue>)| {
        let Some(kv) = kv else { return Ok(None) };
        let manifest = Manifest::read(&kv.value)
            .map_err(|why| Error::new(ErrorKind::Invalid, format!("{prefix}/workspaces/{id} in etcd: {why}")))?;
        Ok(Some(Head { manifest, revision: digest(&kv.value), mod_revision: kv.mod_revision }))
    };
    ids.iter().zip(found).map(head).collect()
}

/// Publishes workspaces: all of them, or none. A reader sees the old state of each or the new one. With a trial only some
/// turns get what is published, until [`canary::promote`] or [`canary::abort`].
pub async fn publish(
    client: &Client,
    prefix: &Prefix,
    publications: &[Publication],
    note: &Note,
    trial: Option<Trial>,
) -> Result<Vec<Published>, Error> {
    check(publications)?;
    let ids: Vec<Id> = publications.iter().map(|publication| publication.id.clone()).collect();
    canary::none_may_run(client, prefix, &ids).await?;
    let heads = heads(client, prefix, &ids).await?;
    let mut results = Vec::new();
    let mut next = Vec::new();
    for (publication, head) in publications.iter().zip(&heads) {
        must_be_newest(publication, head.as_ref())?;
        if trial.is_some() && head.is_none() {
            let message =
                format!("{}: there is nothing to try it against: publish it without a canary", publication.id);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let files = entries(&publication.files);
        match head {
            Some(head) if head.manifest.files == files => results.push(published(&publication.id, head, false)),
            _ => next.push((publication, head.as_ref(), manifest(head.as_ref(), files, note))),
        }
    }
    write_blobs(client, prefix, &next).await?;
    results.extend(flip(client, prefix, &next, trial).await?);
    results.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(results)
}

/// What publishes an earlier state of a workspace again, by its number or first digits, and the reason, where nobody gives another.
pub async fn return_to(client: &Client, prefix: &Prefix, id: &Id, name: &str) -> Result<(Publication, String), Error> {
    let newest = history::newest(client, prefix, id).await?;
    let past = history::find(client, prefix, id, name).await?;
    let files = history::files(client, prefix, &past.manifest.files).await?;
    let message = format!("Back to revision {}.", past.manifest.sequence);
    Ok((Publication { id: id.clone(), files, base: Some(newest.revision) }, message))
}

type Next<'p> = (&'p Publication, Option<&'p Head>, Manifest);

fn check(publications: &[Publication]) -> Result<(), Error> {
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

fn must_be_newest(publication: &Publication, head: Option<&Head>) -> Result<(), Error> {
    match (publication.base, head) {
        (Some(base), Some(head)) if base != head.revision && Some(base) != head.manifest.again => {
            Err(conflict(&publication.id, Some(head)))
        }
        (Some(_), None) => Err(conflict(&publication.id, None)),
        _ => Ok(()),
    }
}

fn conflict(id: &Id, head: Option<&Head>) -> Error {
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
        (path.clone(), FileEntry { sha256: digest(bytes), bytes: bytes.len() as u64 })
    };
    files.iter().map(entry).collect()
}

fn manifest(head: Option<&Head>, files: BTreeMap<String, FileEntry>, note: &Note) -> Manifest {
    Manifest {
        sequence: head.map_or(1, |head| head.manifest.sequence + 1),
        parent: head.map(|head| head.revision),
        author: note.author.clone(),
        message: note.message.clone(),
        time: clock::timestamp(),
        again: None,
        files,
    }
}

/// Writes every file that the state before does not have, also those that are there already: so a file that nothing names any
/// more is young again, and `gc` spares it until it is named.
async fn write_blobs(client: &Client, prefix: &Prefix, next: &[Next<'_>]) -> Result<(), Error> {
    let mut blobs = BTreeMap::new();
    for (publication, head, manifest) in next {
        let before: BTreeSet<Digest> =
            head.iter().flat_map(|head| head.manifest.files.values()).map(|file| file.sha256).collect();
        let new = manifest.files.values().map(|file| file.sha256).zip(publication.files.values());
        blobs.extend(new.filter(|(sha256, _)| !before.contains(sha256)));
    }
    let mut batch = Batch::new(client);
    for (sha256, bytes) in blobs {
        batch.put(prefix.blob(sha256), bytes.clone()).await?;
    }
    batch.finish().await
}

/// Makes the manifests the newest, or what is tried out, all of them or none.
async fn flip(
    client: &Client,
    prefix: &Prefix,
    next: &[Next<'_>],
    trial: Option<Trial>,
) -> Result<Vec<Published>, Error> {
    let Some((_, _, first)) = next.first() else { return Ok(Vec::new()) };
    let canary = trial.map(|trial| canary_of(trial, first)).transpose()?;
    let (mut compare, mut operations, mut results) = (Vec::new(), Vec::new(), Vec::new());
    let mut size = 0;
    for (publication, head, manifest) in next {
        let (id, json) = (&publication.id, manifest.write());
        if json.len() > MAX_MANIFEST_BYTES {
            let message = format!(
                "{id}: its manifest has {} bytes, of {MAX_MANIFEST_BYTES} at most: publish fewer files",
                json.len()
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let (newest, past) = (prefix.workspace(id), prefix.history(id, manifest.sequence));
        size += 2 * (json.len() + newest.len() + past.len() + OPERATION_BYTES) + MAX_LINE_BYTES;
        compare.push(unchanged(newest.clone(), head.map_or(0, |head| head.mod_revision)));
        compare.push(unchanged(prefix.canary(id), 0));
        results.push(Published { id: id.clone(), revision: digest(&json), sequence: manifest.sequence, is_new: true });
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
    let answer = client.transact(compare, operations).await.map_err(|error| match error.kind {
        ErrorKind::Away => Error::new(
            ErrorKind::Away,
            format!("{error}\n  whether it is published is not known: see `promptd history`"),
        ),
        _ => error,
    })?;
    if answer.succeeded { Ok(results) } else { Err(lost_race(client, prefix, next).await?) }
}

/// The canary of all that is published together. The salt is of the first manifest, so that each canary has another one.
fn canary_of(trial: Trial, first: &Manifest) -> Result<Canary, Error> {
    const SALT_DIGITS: usize = 16;
    let salt = digest(&first.write()).to_hex()[..SALT_DIGITS].to_owned();
    Canary::new(trial.share, trial.by, salt).map_err(|why| Error::new(ErrorKind::Invalid, why))
}

/// Who was faster.
async fn lost_race(client: &Client, prefix: &Prefix, next: &[Next<'_>]) -> Result<Error, Error> {
    let ids: Vec<Id> = next.iter().map(|(publication, _, _)| publication.id.clone()).collect();
    canary::none_may_run(client, prefix, &ids).await?;
    let now = heads(client, prefix, &ids).await?;
    let revision = |head: Option<&Head>| head.map(|head| head.mod_revision);
    let mut pairs = next.iter().zip(&now);
    let changed = pairs.find(|((_, before, _), now)| revision(*before) != revision(now.as_ref()));
    Ok(changed.map_or_else(
        || Error::new(ErrorKind::Conflict, "someone else has published meanwhile: publish again"),
        |((publication, _, _), now)| conflict(&publication.id, now.as_ref()),
    ))
}

pub(crate) fn published(id: &Id, head: &Head, is_new: bool) -> Published {
    Published { id: id.clone(), revision: head.revision, sequence: head.manifest.sequence, is_new }
}

/// The SHA-256 of bytes.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::of(bytes)
}
