//! Connections to etcd, one after another, and what is done with each.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    io,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use promptd_core::{digest::Digest, id::InvalidId};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval, interval_at, sleep_until},
};

use super::state::{Published, State};
use crate::{
    LOG_TARGET,
    cache::Cache,
    client::{Client, MAX_OPERATIONS},
    clock,
    error::{Error, ErrorKind},
    layout::LiveKey,
    options::{Options, ReadCredentials},
    proto::{WatchResponse, event::EventType},
    status::Status,
};

/// How often it is looked whether etcd still answers.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// How often everything is compared with etcd, for what no event reported.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// How often the cache is told that it is the newest.
const CONFIRM_INTERVAL: Duration = Duration::from_secs(30);
/// How long it waits between two repairs of the cache: files may be damaged again as soon as they are read.
const REPAIR_INTERVAL: Duration = Duration::from_secs(5);
/// How soon the next member is tried; each further try waits twice as long.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(2);

pub(super) struct Session {
    pub(super) options: Options,
    pub(super) credentials: ReadCredentials,
    pub(super) state: Arc<State>,
    pub(super) status: Arc<Status>,
    pub(super) cache: Option<Arc<Cache>>,
    /// How far reading everything for the first time is.
    pub(super) first: watch::Sender<First>,
}

/// How far reading everything for the first time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    Connecting,
    Reading,
    Done,
}

impl Session {
    /// Follows etcd until it is dropped.
    pub(super) async fn run(self) {
        let mut retry = FIRST_RETRY;
        let mut member = 0;
        loop {
            let before = self.status.reconciles.get();
            let Err(error) = self.follow(member).await;
            self.advance(First::Connecting);
            if self.status.reconciles.get() > before {
                retry = FIRST_RETRY;
            }
            tracing::debug!(target: LOG_TARGET, %error, "the connection to etcd has ended");
            self.status.lose(&error, clock::timestamp());
            tokio::time::sleep(retry).await;
            retry = (retry * 2).min(LONGEST_RETRY);
            member += 1;
        }
    }

    /// One connection: everything by range, then by events.
    async fn follow(&self, member: usize) -> Result<Infallible, Error> {
        let client = Client::connect(&self.options, &self.credentials, member).await?;
        self.advance(First::Reading);
        let mut revision = self.reconcile(&client).await?;
        if self.advance(First::Done) {
            self.report_start(&client);
        } else {
            tracing::info!(target: LOG_TARGET, address = client.address(), "connected to etcd again");
        }
        let mut confirmed = self.confirm(None).await;
        // Events up to here are of what was read by range already.
        let mut read = revision;
        let mut next_repair = Instant::now();
        loop {
            let mut events = client.watch(&self.options.prefix.live(), revision + 1).await?;
            let mut probes = interval(PROBE_INTERVAL);
            probes.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut reconciles = interval_at(Instant::now() + RECONCILE_INTERVAL, RECONCILE_INTERVAL);
            loop {
                tokio::select! {
                    event = events.message() => match event {
                        Ok(Some(event)) if event.canceled => {
                            read = self.recover(&client, &event).await?;
                            revision = read;
                            break;
                        }
                        Ok(Some(event)) => revision = self.take_event(&client, event, read).await?.max(revision),
                        Ok(None) => return Err(Error::unreachable(client.address(), "it has ended the watch")),
                        Err(status) => return Err(client.ended(&status)),
                    },
                    _ = probes.tick() => {
                        client.probe(&self.options.prefix.workspaces()).await?;
                        confirmed = self.confirm(Some(confirmed)).await;
                    }
                    _ = reconciles.tick() => read = self.reconcile(&client).await?,
                    damaged = self.damaged(next_repair) => {
                        self.repair(&client, damaged).await?;
                        next_repair = Instant::now() + REPAIR_INTERVAL;
                    }
                }
            }
        }
    }

    /// Says how far the first reading is; false: it was done before.
    fn advance(&self, to: First) -> bool {
        self.first.send_if_modified(|first| {
            let is_open = *first != First::Done;
            if is_open {
                *first = to;
            }
            is_open
        })
    }

    fn report_start(&self, client: &Client) {
        let (address, prefix, workspaces) = (client.address(), &self.options.prefix, self.state.ids().len());
        tracing::info!(target: LOG_TARGET, address, %prefix, workspaces, "connected to etcd");
        if workspaces == 0 {
            tracing::warn!(target: LOG_TARGET, %prefix, "etcd has no workspace below the prefix: publish one, or correct `workspaces.etcd.prefix`");
        }
    }

    /// Compares everything with etcd, and takes over what differs: together, since one transaction may have changed all of it. Gives
    /// the revision that it is of.
    async fn reconcile(&self, client: &Client) -> Result<i64, Error> {
        let listed = client.list(&self.options.prefix.live()).await?;
        let now: BTreeMap<LiveKey, i64> =
            listed.keys.iter().filter_map(|kv| Some((self.live_key(&kv.key)?, kv.mod_revision))).collect();
        let removed = |key| Published { key, mod_revision: listed.revision, value: None };
        // Of nothing no half can be served; one part after the other takes less memory.
        let is_first = self.state.is_empty();
        let mut published = Vec::new();
        for keys in self.state.differing(&now).chunks(MAX_OPERATIONS) {
            published.extend(self.read(client, keys, listed.revision).await?);
            if is_first {
                self.take(client, std::mem::take(&mut published)).await?;
            }
        }
        published.extend(self.state.gone(&now).into_iter().map(removed));
        self.take(client, published).await?;
        // What a start has taken from the cache meanwhile.
        self.take(client, self.state.gone_at_last(&now).into_iter().map(removed).collect()).await?;
        self.status.reconciles.inc();
        self.state.blobs.purge();
        self.sweep(now.into_keys().collect()).await;
        Ok(listed.revision)
    }

    /// Reads what is live at a revision; 0: as it is now.
    async fn read(&self, client: &Client, keys: &[LiveKey], revision: i64) -> Result<Vec<Published>, Error> {
        let prefix = &self.options.prefix;
        let names = keys.iter().map(|key| prefix.live_key(key.kind, &key.id).into_bytes()).collect();
        let values = client.get_all(names, revision).await?;
        let published = keys.iter().zip(values).map(|(key, kv)| {
            let (mod_revision, value) = kv.map_or((revision, None), |kv| (kv.mod_revision, Some(kv.value)));
            Published { key: key.clone(), mod_revision, value }
        });
        Ok(published.collect())
    }

    /// The watch was ended by etcd: where what it should begin with is compacted, everything is compared.
    async fn recover(&self, client: &Client, event: &WatchResponse) -> Result<i64, Error> {
        if event.compact_revision == 0 {
            return Err(Error::new(
                ErrorKind::Away,
                format!("etcd at {} ends the watch: {}", client.address(), event.cancel_reason),
            ));
        }
        self.reconcile(client).await
    }

    /// Takes over what an answer of the watch has behind the revision that was `read`: whole revisions of etcd, and of each
    /// key the last of them.
    async fn take_event(&self, client: &Client, response: WatchResponse, read: i64) -> Result<i64, Error> {
        let mut newest = BTreeMap::new();
        for event in response.events {
            let is_removed = event.r#type() == EventType::Delete;
            let Some(kv) = event.kv.filter(|kv| kv.mod_revision > read) else { continue };
            let Some(key) = self.live_key(&kv.key) else { continue };
            let value = (!is_removed).then_some(kv.value);
            newest.insert(key.clone(), Published { key, mod_revision: kv.mod_revision, value });
        }
        self.take(client, newest.into_values().collect()).await?;
        Ok(response.header.map_or(0, |header| header.revision))
    }

    /// Waits until something in the cache is damaged, not before `from`.
    async fn damaged(&self, from: Instant) -> BTreeSet<Digest> {
        sleep_until(from).await;
        self.state.blobs.damaged().await
    }

    async fn repair(&self, client: &Client, damaged: BTreeSet<Digest>) -> Result<(), Error> {
        let repaired = async {
            for keys in self.state.with_files(&damaged).chunks(MAX_OPERATIONS) {
                let mut published = self.read(client, keys, 0).await?;
                // What is newer comes with its event, and all that was published with it.
                published.retain(|one| self.state.is_of(&one.key, one.mod_revision));
                self.take(client, published).await?;
            }
            Ok(())
        };
        let repaired = repaired.await;
        if repaired.is_err() {
            self.state.blobs.not_repaired(damaged);
        }
        repaired
    }

    async fn take(&self, client: &Client, published: Vec<Published>) -> Result<(), Error> {
        if published.is_empty() {
            return Ok(());
        }
        let count = published.len() as u64;
        self.state.take(published, Some(client), self.cache.as_ref()).await?;
        self.status.publishes.inc_by(count);
        self.state.report(&self.status);
        Ok(())
    }

    /// etcd has answered: all that is served is the newest. `last`: when the cache was told.
    async fn confirm(&self, last: Option<Timestamp>) -> Timestamp {
        let now = clock::timestamp();
        self.status.confirm(now);
        let age: Duration = last.and_then(|last| now.duration_since(last).try_into().ok()).unwrap_or(CONFIRM_INTERVAL);
        let Some(last) = last.filter(|_| age < CONFIRM_INTERVAL) else {
            self.with_cache(move |cache| cache.confirm(now)).await;
            return now;
        };
        last
    }

    /// Removes from the cache what is no longer in use, or live: it may have gone while nothing followed etcd.
    async fn sweep(&self, live: BTreeSet<LiveKey>) {
        if self.cache.is_some() {
            let files = self.state.files();
            let sweep = move |cache: &Cache| {
                let forgotten = cache.forget_others(&live);
                cache.sweep(&files).and(forgotten)
            };
            self.with_cache(sweep).await;
        }
    }

    async fn with_cache(&self, work: impl FnOnce(&Cache) -> io::Result<()> + Send + 'static) {
        let Some(cache) = self.cache.clone() else { return };
        let done = tokio::task::spawn_blocking(move || (work(&cache), cache.bytes())).await;
        let Ok((done, bytes)) = done else { return };
        self.status.cached.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        if let Err(error) = done {
            tracing::warn!(target: LOG_TARGET, %error, "the cache cannot be written");
        }
    }

    /// What a key is of. One that is neither, or whose name is not an id, is another program's.
    fn live_key(&self, key: &[u8]) -> Option<LiveKey> {
        let warn = |invalid: &InvalidId| {
            tracing::warn!(target: LOG_TARGET, key = %String::from_utf8_lossy(key), "not a workspace: its name {invalid}");
        };
        self.options.prefix.parse_live(key)?.inspect_err(warn).ok()
    }
}
