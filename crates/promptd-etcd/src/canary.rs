//! Canaries that run, and their end: all turns get the candidate, or again what they got before.
//!
//! Both ends are states of the workspace like any other, with who ended it and why. So the history has every state that was
//! live in its order, and the number of the candidate is not given to another.

use promptd_core::{digest::Digest, id::Id};

use crate::{
    candidate::Candidate,
    client::{Client, delete, put, unchanged},
    error::{Error, ErrorKind},
    layout::Prefix,
    manifest::Manifest,
    proto::KeyValue,
    publish::{Flip, Head, Note, Published, heads, manifest_after, published},
};

/// A canary that runs.
struct Running {
    /// What is tried out, or why that cannot be used.
    candidate: Result<Candidate, String>,
    mod_revision: i64,
}

/// How a canary ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All turns get the candidate.
    Promote,
    /// All turns get what they got before.
    Abort,
}

impl End {
    /// The reason, where nobody gives another.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Promote => "Promoted the canary.",
            Self::Abort => "Aborted the canary.",
        }
    }
}

/// Ends the canary of a workspace.
pub async fn end(client: &Client, prefix: &Prefix, end: End, id: &Id, note: &Note) -> Result<Published, Error> {
    match end {
        End::Promote => promote(client, prefix, id, note).await,
        End::Abort => abort(client, prefix, id, note).await,
    }
}

async fn promote(client: &Client, prefix: &Prefix, id: &Id, note: &Note) -> Result<Published, Error> {
    let (_, flip) = promotion(client, prefix, id, note).await?;
    commit(client, id, flip).await
}

/// The candidate of a canary, and what gives it to all turns.
pub(crate) async fn promotion(
    client: &Client,
    prefix: &Prefix,
    id: &Id,
    note: &Note,
) -> Result<(Candidate, Flip), Error> {
    let (head, running) = both(client, prefix, id).await?;
    let (Some(head), Ok(candidate)) = (&head, &running.candidate) else {
        let why = running.candidate.err().unwrap_or_else(|| "the workspace was removed".to_owned());
        return Err(Error::new(ErrorKind::Invalid, format!("{id}: {why}; abort the canary: `promptd abort {id}`")));
    };
    if candidate.manifest.parent != Some(head.revision) {
        let (author, sequence) = (&head.manifest.author, head.manifest.sequence);
        let message = format!(
            "{id}: {author} has published revision {sequence} since the canary began, so that no turn gets the candidate: abort it with `promptd abort {id}`"
        );
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let next = again(candidate, candidate.revision, &candidate.manifest, note);
    Ok((candidate.clone(), ending(prefix, id, Some(head), &running, Some(next))))
}

async fn abort(client: &Client, prefix: &Prefix, id: &Id, note: &Note) -> Result<Published, Error> {
    let (head, running) = both(client, prefix, id).await?;
    // Of what is not in use anyway nothing is left in the history.
    let next = match (&head, &running.candidate) {
        (Some(head), Ok(candidate)) if candidate.manifest.parent == Some(head.revision) => {
            Some(again(candidate, head.revision, &head.manifest, note))
        }
        _ => None,
    };
    commit(client, id, ending(prefix, id, head.as_ref(), &running, next)).await
}

/// The candidate that some turns get; `None`: no canary runs, or nothing of it is in use.
pub(crate) async fn in_use(client: &Client, prefix: &Prefix, id: &Id) -> Result<Option<Candidate>, Error> {
    let mut found = client.get_all(vec![prefix.workspace(id), prefix.canary(id)], 0).await?.into_iter();
    let (newest, canary) = (found.next().flatten(), found.next().flatten());
    let stable = newest.map(|kv| Digest::of(&kv.value));
    let candidate = canary.and_then(|kv| Candidate::read(&kv.value).ok());
    Ok(candidate.filter(|candidate| stable.is_some() && candidate.manifest.parent == stable))
}

/// Refuses to publish beside a canary.
pub(crate) async fn none_may_run(client: &Client, prefix: &Prefix, ids: &[Id]) -> Result<(), Error> {
    for (id, running) in ids.iter().zip(running(client, prefix, ids).await?) {
        let Some(Running { candidate, .. }) = running else { continue };
        let what = match candidate {
            Ok(Candidate { canary, manifest: Manifest { sequence, author, time, .. }, .. }) => {
                let (share, by) = (canary.share(), canary.by().name());
                format!("a canary runs since {time:.0}: {author} tries out revision {sequence} on {share} by {by}")
            }
            Err(why) => why,
        };
        let message = format!(
            "{id}: {what}\n  end it first: `promptd promote {id}` gives it to all turns, `promptd abort {id}` to none"
        );
        return Err(Error::new(ErrorKind::CanaryRuns, message));
    }
    Ok(())
}

/// The newest state of a workspace, and its canary.
async fn both(client: &Client, prefix: &Prefix, id: &Id) -> Result<(Option<Head>, Running), Error> {
    let ids = std::slice::from_ref(id);
    let running = running(client, prefix, ids).await?.pop().flatten();
    let running = running.ok_or_else(|| Error::new(ErrorKind::NoCanary, format!("{id}: no canary runs")))?;
    Ok((heads(client, prefix, ids).await?.pop().flatten(), running))
}

async fn running(client: &Client, prefix: &Prefix, ids: &[Id]) -> Result<Vec<Option<Running>>, Error> {
    let keys = ids.iter().map(|id| prefix.canary(id)).collect();
    let running = |kv: KeyValue| {
        let candidate =
            Candidate::read(&kv.value).map_err(|why| format!("{} in etcd: {why}", String::from_utf8_lossy(&kv.key)));
        Running { candidate, mod_revision: kv.mod_revision }
    };
    Ok(client.get_all(keys, 0).await?.into_iter().map(|kv| kv.map(running)).collect())
}

/// The manifest behind that of a candidate, with the files of a state again.
fn again(candidate: &Candidate, revision: Digest, state: &Manifest, note: &Note) -> Manifest {
    let before = Some((&candidate.manifest, candidate.revision));
    Manifest { again: Some(revision), ..manifest_after(before, state.files.clone(), note) }
}

/// What ends a canary, and makes `next` the newest state, if nothing of either has changed.
fn ending(prefix: &Prefix, id: &Id, head: Option<&Head>, running: &Running, next: Option<Manifest>) -> Flip {
    let compare = vec![
        unchanged(prefix.workspace(id), head.map_or(0, |head| head.mod_revision)),
        unchanged(prefix.canary(id), running.mod_revision),
    ];
    let mut operations = vec![delete(prefix.canary(id))];
    let mut result = head.map(|head| published(id, head, false));
    if let Some(manifest) = next {
        let json = manifest.write();
        result =
            Some(Published { id: id.clone(), revision: Digest::of(&json), sequence: manifest.sequence, is_new: true });
        operations.push(put(prefix.workspace(id), json.clone()));
        operations.push(put(prefix.history(id, manifest.sequence), json));
    }
    Flip { compare, operations, results: result.into_iter().collect() }
}

async fn commit(client: &Client, id: &Id, flip: Flip) -> Result<Published, Error> {
    let Flip { compare, operations, mut results } = flip;
    if !client.transact(compare, operations).await?.succeeded {
        return Err(ended_by_another(id));
    }
    let over = || Error::new(ErrorKind::Invalid, format!("{id}: the canary is over; the workspace was removed"));
    results.pop().ok_or_else(over)
}

pub(crate) fn ended_by_another(id: &Id) -> Error {
    let message = format!("{id}: someone else has ended the canary, or published: see `promptd history {id}`");
    Error::new(ErrorKind::Conflict, message)
}
