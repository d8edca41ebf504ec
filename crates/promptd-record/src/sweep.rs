//! Removing: what is too old, what is too much, what is a user's, and what nothing needs any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    time::Duration,
};

use jiff::Timestamp;
use promptd_core::digest::Digest;

use crate::{
    folder::{Damage, Folder, Locked, RequestFile},
    origin::digest,
};

/// How much a folder may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most that it takes of the disk, in bytes. Every file counts in blocks of 4 KiB.
    pub max_bytes: u64,
    /// The oldest that a request may be.
    pub max_age: Duration,
}

/// What a sweep has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Swept {
    /// What the folder takes of the disk now.
    pub(crate) bytes: u64,
    /// How many requests there are.
    pub(crate) requests: u64,
    /// How many requests were removed.
    pub(crate) removed: u64,
}

/// What was removed for a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deleted {
    /// How many requests.
    pub requests: u64,
    /// The requests that cannot be read, so that nobody knows whose they are.
    pub unread: Vec<Damage>,
}

impl Folder {
    /// Removes what is beyond the bounds, the oldest first, and what no request needs.
    pub(crate) fn sweep(&self, bounds: &Bounds, now: Timestamp) -> io::Result<Swept> {
        let locked = self.lock()?;
        let mut requests = self.requests()?;
        let all = requests.len();
        let age = i64::try_from(bounds.max_age.as_micros()).unwrap_or(i64::MAX);
        let oldest = u64::try_from(now.as_microsecond().saturating_sub(age)).unwrap_or_default();
        let too_old = requests.partition_point(|request| request.at < oldest);
        for request in requests.drain(..too_old) {
            locked.remove_request(&request)?;
        }
        let mut bytes = locked.collect(&requests)?;
        if bytes > bounds.max_bytes {
            // A tenth more, so that not every request is followed by a sweep.
            let target = bounds.max_bytes - bounds.max_bytes / 10;
            while bytes > target && !requests.is_empty() {
                let mut excess = bytes - target;
                let count = requests.iter().take_while(|request| {
                    let more = excess > 0;
                    excess = excess.saturating_sub(request.bytes);
                    more
                });
                let count = count.count();
                for request in requests.drain(..count) {
                    locked.remove_request(&request)?;
                }
                bytes = locked.collect(&requests)?;
            }
        }
        Ok(Swept { bytes, requests: requests.len() as u64, removed: (all - requests.len()) as u64 })
    }

    /// Removes every request of a user: those whose `turn.user.id` or `turn.channel.user_id` is the id. Waits until no other
    /// process writes.
    pub fn delete_user(&self, id: &str) -> io::Result<Deleted> {
        let locked = self.lock()?;
        let mut deleted = Deleted { requests: 0, unread: Vec::new() };
        let mut kept = Vec::new();
        for request in self.requests()? {
            match self.users(&request) {
                Ok(users) if users.iter().any(|user| user == id) => {
                    locked.remove_request(&request)?;
                    deleted.requests += 1;
                }
                Ok(_) => kept.push(request),
                Err(damage) => {
                    deleted.unread.push(damage);
                    kept.push(request);
                }
            }
        }
        locked.collect(&kept)?;
        Ok(deleted)
    }
}

impl Locked<'_> {
    /// Removes the revisions without a request, and the blobs that no revision needs; says what the rest takes of the disk.
    fn collect(&self, requests: &[RequestFile]) -> io::Result<u64> {
        let revisions: BTreeMap<Digest, u64> = self.revisions()?.into_iter().collect();
        let mut bytes: u64 = requests.iter().map(|request| request.bytes).sum();
        let mut needed: Vec<Digest> = requests.iter().map(|request| request.revision).collect();
        needed.sort_unstable();
        needed.dedup();
        let (mut kept, mut blobs) = (BTreeSet::new(), BTreeSet::new());
        while let Some(sha256) = needed.pop() {
            // One that is damaged needs nothing: none of its requests can be assembled.
            if !revisions.contains_key(&sha256) || !kept.insert(sha256) {
                continue;
            }
            if let Ok(revision) = self.folder.stored_revision(sha256) {
                blobs.extend(revision.blobs());
                needed.extend(revision.layers.iter().chain([&revision.previous]).filter_map(|sha256| digest(sha256)));
            }
        }
        for (sha256, size) in revisions {
            if kept.contains(&sha256) {
                bytes += size;
            } else {
                self.remove_revision(sha256)?;
            }
        }
        for (sha256, size) in self.blobs()? {
            if blobs.contains(&sha256) {
                bytes += size;
            } else {
                self.remove_blob(sha256)?;
            }
        }
        Ok(bytes)
    }
}
