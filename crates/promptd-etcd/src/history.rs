//! What was published, and its files.

use std::collections::BTreeMap;

use promptd_core::{digest::Digest, id::Id};

use crate::{
    blobs, canary,
    candidate::Candidate,
    client::Client,
    error::{Error, ErrorKind},
    layout::Prefix,
    manifest::{FileEntry, Manifest},
    proposal::{Proposal, Proposed},
    proto::KeyValue,
    publish::{Trial, heads},
    review,
};

/// How many states are read at once: each may have a manifest of 640 KiB.
const STATES_AT_ONCE: usize = 16;
/// The fewest digits that name a revision.
pub(crate) const MIN_DIGITS: usize = 8;

/// The number of what is only proposed.
const PROPOSED: u64 = 0;

/// A state of a workspace that was published, or is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The SHA-256 of its manifest; of what is proposed, the proposal's id.
    pub revision: Digest,
    /// Its manifest.
    pub manifest: Manifest,
    /// Which turns get it, while a canary tries it out.
    pub trial: Option<Trial>,
}

impl Past {
    /// What a proposal would publish of a workspace: a state whose number is 0 and whose revision is the proposal's id.
    fn of_proposal(proposal: Proposal, id: &Id) -> Option<Self> {
        let Proposal { id: revision, author, message, time, mut workspaces, .. } = proposal;
        let Proposed { base: parent, files } = workspaces.remove(id)?;
        let manifest = Manifest { sequence: PROPOSED, parent, author, message, time, again: None, files };
        Some(Self { revision, manifest, trial: None })
    }

    /// Whether it is only proposed.
    #[must_use]
    pub fn is_proposed(&self) -> bool {
        self.manifest.sequence == PROPOSED
    }
}

/// The newest `count` states of a workspace that are held, the newest first; without their files.
pub async fn list(client: &Client, prefix: &Prefix, id: &Id, count: usize) -> Result<Vec<Past>, Error> {
    let candidate = canary::in_use(client, prefix, id).await?;
    let mut listed = Vec::new();
    let without_files = |past: Past| Manifest { files: BTreeMap::new(), ..past.manifest };
    walk(client, prefix, id, count, |past| {
        let trial = trial_of(candidate.as_ref(), past.revision);
        listed.push(Past { revision: past.revision, manifest: without_files(past), trial });
    })
    .await?;
    Ok(listed)
}

/// The newest state of a workspace.
pub async fn newest(client: &Client, prefix: &Prefix, id: &Id) -> Result<Past, Error> {
    let head = heads(client, prefix, std::slice::from_ref(id)).await?.pop().flatten();
    let past = head.map(|head| Past { revision: head.revision, manifest: head.manifest, trial: None });
    past.ok_or_else(|| Error::new(ErrorKind::Missing, format!("there is no workspace {id} below {prefix} in etcd")))
}

/// A held state by its number or by the first digits of its revision, or what an open proposal would publish, by the first
/// digits of its id.
pub async fn find(client: &Client, prefix: &Prefix, id: &Id, name: &str) -> Result<Past, Error> {
    let past = match held(client, prefix, id, name).await {
        Err(error) if error.kind == ErrorKind::Missing => match review::find(client, prefix, id, name).await {
            Ok(open) => return Past::of_proposal(open.proposal, id).ok_or(error),
            Err(other) if other.kind == ErrorKind::Missing => return Err(error),
            Err(other) => return Err(other),
        },
        past => past?,
    };
    let candidate = canary::in_use(client, prefix, id).await?;
    Ok(Past { trial: trial_of(candidate.as_ref(), past.revision), ..past })
}

fn trial_of(candidate: Option<&Candidate>, revision: Digest) -> Option<Trial> {
    let candidate = candidate.filter(|candidate| candidate.revision == revision)?;
    Some(Trial { share: candidate.canary.share(), by: candidate.canary.by() })
}

/// A held state, by its number or by the first digits of its revision.
pub(crate) async fn held(client: &Client, prefix: &Prefix, id: &Id, name: &str) -> Result<Past, Error> {
    if let Ok(sequence) = name.parse::<u64>()
        && let Some(kv) = client.get_all(vec![prefix.history(id, sequence)], 0).await?.pop().flatten()
    {
        return read(&kv);
    }
    let mut meant = Vec::new();
    if name.len() >= MIN_DIGITS {
        walk(client, prefix, id, usize::MAX, |past| {
            if past.revision.to_hex().starts_with(name) {
                meant.push(past);
            }
        })
        .await?;
    }
    let missing = |message: String| Err(Error::new(ErrorKind::Missing, message));
    match (meant.pop(), meant.is_empty()) {
        (Some(past), true) => Ok(past),
        (Some(_), false) => missing(format!("{id}: `{name}` is the start of several revisions: give more digits")),
        (None, _) => missing(format!(
            "{id} has no revision `{name}`: give a number, or {MIN_DIGITS} digits or more of a revision, as `promptd history` shows them"
        )),
    }
}

/// The bytes of files, by path.
pub async fn files(
    client: &Client,
    prefix: &Prefix,
    files: &BTreeMap<String, FileEntry>,
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    blobs::contents(files, client, prefix).await
}

/// Takes the newest `count` states, the newest first, and holds few of them at a time.
async fn walk(
    client: &Client,
    prefix: &Prefix,
    id: &Id,
    count: usize,
    mut take: impl FnMut(Past),
) -> Result<(), Error> {
    let listed = client.list(&prefix.history_of(id)).await?;
    let keys: Vec<_> = listed.keys.into_iter().rev().take(count).map(|kv| kv.key).collect();
    for keys in keys.chunks(STATES_AT_ONCE) {
        for kv in client.get_all(keys.to_vec(), listed.revision).await?.into_iter().flatten() {
            take(read(&kv)?);
        }
    }
    Ok(())
}

fn read(kv: &KeyValue) -> Result<Past, Error> {
    let manifest = Manifest::read(&kv.value).map_err(|why| Error::unreadable(&kv.key, why))?;
    Ok(Past { revision: Digest::of(&kv.value), manifest, trial: None })
}
