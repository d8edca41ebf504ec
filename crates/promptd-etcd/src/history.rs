//! What was published, and its files.

use std::collections::BTreeMap;

use promptd_core::{digest::Digest, id::Id};

use crate::{
    blobs,
    client::{Client, MAX_OPERATIONS},
    error::{Error, ErrorKind},
    layout::Prefix,
    manifest::Manifest,
    publish::digest,
};

/// A state of a workspace that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The SHA-256 of its manifest.
    pub revision: Digest,
    /// Its manifest.
    pub manifest: Manifest,
}

/// The newest `count` states of a workspace that are held, the newest first.
pub async fn list(client: &Client, prefix: &Prefix, id: &Id, count: usize) -> Result<Vec<Past>, Error> {
    let listed = client.list(&prefix.history_of(id)).await?;
    let keys: Vec<_> = listed.keys.into_iter().rev().take(count).map(|kv| kv.key).collect();
    let mut past = Vec::new();
    for keys in keys.chunks(MAX_OPERATIONS) {
        for kv in client.get_all(keys.to_vec(), listed.revision).await?.into_iter().flatten() {
            let key = String::from_utf8_lossy(&kv.key);
            let manifest = Manifest::read(&kv.value)
                .map_err(|why| Error::new(ErrorKind::Invalid, format!("{key} in etcd: {why}")))?;
            past.push(Past { revision: digest(&kv.value), manifest });
        }
    }
    Ok(past)
}

/// A held state by its number, or by the first digits of its revision.
pub async fn find(client: &Client, prefix: &Prefix, id: &Id, name: &str) -> Result<Past, Error> {
    let past = list(client, prefix, id, usize::MAX).await?;
    let is_meant = |past: &Past| match name.parse::<u64>() {
        Ok(sequence) if past.manifest.sequence == sequence => true,
        _ => name.len() >= MIN_DIGITS && past.revision.to_hex().starts_with(name),
    };
    let mut meant = past.into_iter().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some(past), None) => Ok(past),
        (Some(_), Some(_)) => {
            Err(Error::new(ErrorKind::Invalid, format!("{id}: `{name}` is the start of several revisions")))
        }
        (None, _) => {
            let message = format!(
                "{id} has no revision `{name}`: give a number, or {MIN_DIGITS} digits or more of a revision, as `promptd history` shows them"
            );
            Err(Error::new(ErrorKind::Invalid, message))
        }
    }
}

/// The fewest digits that name a revision.
const MIN_DIGITS: usize = 8;

/// The files of a state, by path.
pub async fn files(client: &Client, prefix: &Prefix, manifest: &Manifest) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    blobs::contents(manifest, client, prefix).await
}
