//! Telling clients that resources have changed.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use promptd_contract::proto::WatchWorkspaceResponse;
use promptd_core::workspace::{MANIFEST, in_layer, is_in_skills};
use rmcp::{
    Peer, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::SubscriptionContext,
};
use tokio::{sync::Mutex, time::sleep};

use crate::{Failure, address::Address, client::Client, resources::Digests};

/// How often it is tried again to watch a workspace that is gone.
const WATCH_AGAIN: Duration = Duration::from_secs(1);

/// The most resources that one subscription is for.
pub(crate) const MAX_SUBSCRIBED: usize = 256;

/// What a client of the revision 2026-07-28 is told of, of what it asked for: the first resources, where there are too many. The
/// answer says which.
pub(crate) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    // The library answers with what was asked for as often as it was.
    let mut times = HashMap::<_, usize>::new();
    for uri in requested.resource_subscriptions.iter().flatten() {
        *times.entry(uri.as_str()).or_default() += 1;
    }
    let (mut uris, mut room) = (Vec::new(), MAX_SUBSCRIBED);
    for uri in requested.resource_subscriptions.iter().flatten() {
        let Some(times) = times.remove(uri.as_str()).filter(|times| *times <= room) else { continue };
        if Address::parse(uri).is_some() {
            room -= times;
            uris.push(uri.clone());
        }
    }
    accepted.resource_subscriptions = Some(uris).filter(|uris| !uris.is_empty());
    accepted
}

/// The revision that a workspace had when a request to listen arrived, among its extensions: the client is told that it listens
/// before the request is handed on, and must not miss what is saved in between.
#[derive(Debug, Clone)]
pub(crate) struct AtRevision(pub(crate) String);

/// Tells a client of changes since a revision until it leaves, or the server or the workspace does.
pub(crate) async fn listen(client: &Client, context: &SubscriptionContext, since: &str) -> Result<(), Failure> {
    let (sink, accepted) = (context.sink(), context.accepted());
    let told = async {
        let id = client.workspace().await?;
        let mut resources = Resources { revision: since.to_owned(), ..Resources::default() };
        let mut watch = client.watch(&id, since).await?;
        resources.add(client, &id, accepted.resource_subscriptions.as_deref().unwrap_or_default()).await?;
        let mut is_change = !since.is_empty();
        while let Some(state) = watch.next().await? {
            for uri in resources.changed(client, &id, &state).await {
                if sink.notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
            let tells = is_change && accepted.resources_list_changed == Some(true);
            if tells && sink.notify_resource_list_changed().await.is_err() {
                return Ok(());
            }
            // Without a revision the first state is that of the start.
            is_change = true;
        }
        Ok(())
    };
    until(context.cancelled(), told).await
}

/// The resources that a client on standard input and output subscribed to, by the revision 2025-11-25.
#[derive(Default)]
pub(crate) struct Subscribed {
    resources: Mutex<Resources>,
    began: AtomicBool,
}

impl Subscribed {
    /// Whether the client is not told of changes yet; from now on it is. It may say more than once that it is ready.
    pub(crate) fn begins(&self) -> bool {
        !self.began.swap(true, Ordering::Relaxed)
    }

    pub(crate) async fn add(&self, client: &Client, uri: String) -> Result<(), Failure> {
        let id = client.workspace().await?;
        let mut resources = self.resources.lock().await;
        if resources.known.len() == MAX_SUBSCRIBED && !resources.known.contains_key(&uri) {
            return Err(Failure::invalid(format!("at most {MAX_SUBSCRIBED} resources can be subscribed to at once")));
        }
        resources.add(client, &id, &[uri]).await
    }

    pub(crate) async fn remove(&self, uri: &str) {
        self.resources.lock().await.known.remove(uri);
    }

    /// Tells the client of changes until it leaves. A workspace that goes may come back.
    pub(crate) async fn tell(&self, client: &Client, peer: &Peer<RoleServer>) {
        // The first state is that of the start.
        let mut is_change = false;
        loop {
            match self.tell_of_one(client, peer, is_change).await {
                Ok(()) => return,
                Err(failure) => tracing::debug!(%failure, "the workspace cannot be watched now"),
            }
            is_change = true;
            // A workspace that is not there has no event that could be waited for.
            sleep(WATCH_AGAIN).await;
            if peer.is_transport_closed() {
                return;
            }
        }
    }

    /// The same while the workspace is there. The error says why it cannot be watched, or no longer.
    async fn tell_of_one(&self, client: &Client, peer: &Peer<RoleServer>, mut is_change: bool) -> Result<(), Failure> {
        let id = client.workspace().await?;
        let mut watch = client.watch(&id, "").await?;
        while let Some(state) = watch.next().await? {
            let changed = self.resources.lock().await.changed(client, &id, &state).await;
            for uri in changed {
                if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                    return Ok(());
                }
            }
            if is_change && peer.notify_resource_list_changed().await.is_err() {
                return Ok(());
            }
            is_change = true;
        }
        Err(Failure::internal("the workspace is gone"))
    }
}

/// Resources that a client wants to be told of.
///
/// What it cannot read it is never told of, so that it learns nothing of what is hidden from it, not even that it is there.
#[derive(Default)]
struct Resources {
    known: HashMap<String, Known>,
    /// The revision of the last state that the client was told of.
    revision: String,
}

/// What a client could read when it was last told, or at the start.
struct Known {
    /// Its hash; `None`: nothing could be read.
    digest: Option<String>,
    /// It may be from a later state than the last one that the client was told of, up to this revision's. Until that comes, an
    /// equal hash does not mean that the client has seen what it is of.
    ahead: Option<String>,
}

impl Resources {
    async fn add(&mut self, client: &Client, workspace: &str, uris: &[String]) -> Result<(), Failure> {
        let (mut digests, mut read) = (Vec::new(), Digests::new(client, workspace));
        for uri in uris.iter().collect::<HashSet<_>>() {
            digests.push((uri.clone(), read.of(uri).await?));
        }
        if digests.is_empty() {
            return Ok(());
        }
        let revision = client.revision(workspace).await?;
        let ahead = (revision != self.revision).then_some(revision);
        self.known.extend(digests.into_iter().map(|(uri, digest)| (uri, Known { digest, ahead: ahead.clone() })));
        Ok(())
    }

    /// Those that are others in a new state.
    async fn changed(&mut self, client: &Client, workspace: &str, state: &WatchWorkspaceResponse) -> Vec<String> {
        self.revision = state.workspace.as_ref().map(|workspace| workspace.revision.clone()).unwrap_or_default();
        let (mut changed, mut read) = (Vec::new(), Digests::new(client, workspace));
        for (uri, known) in &mut self.known {
            let is_ahead = known.ahead.is_some();
            if known.ahead.as_ref() == Some(&self.revision) {
                known.ahead = None;
            }
            let Some(change) = change(uri, workspace, state) else { continue };
            // Where it cannot be found out, because of a quota or while the server stops, whoever could read it looks again.
            let digest = read.of(uri).await.unwrap_or_default();
            let could_be_read = known.digest.is_some() || digest.is_some();
            let is_certain = change == Change::Certain || is_ahead;
            if (is_certain && could_be_read) || known.digest != digest {
                changed.push(uri.clone());
                // Told now, it reads what the hash is of, or something later.
                known.ahead = None;
            }
            known.digest = digest;
        }
        changed
    }
}

/// What a state says of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Its file is another.
    Certain,
    /// Its file may be another, or it can be read where it could not, or the other way round.
    Possible,
}

/// How a resource may have changed since the state before; `None`: not at all. The manifest decides what can be read,
/// and a layer may have any of its files.
fn change(uri: &str, workspace: &str, state: &WatchWorkspaceResponse) -> Option<Change> {
    let address = Address::parse(uri).filter(|address| address.workspace() == workspace)?;
    let has = |is: &dyn Fn(&str) -> bool| state.changed_paths.iter().any(|path| is(path));
    // Where no paths are given it is the first state, or no file made the difference.
    let possible = state.deleted
        || state.changed_paths.is_empty()
        || has(&|changed| changed == MANIFEST || in_layer(changed).is_some())
        // The folder that a skill lies in need not have its name.
        || (matches!(address, Address::Skill { .. }) && has(&is_in_skills));
    match &address {
        Address::Document { path, .. } if has(&|changed| changed == path) => Some(Change::Certain),
        _ => possible.then_some(Change::Possible),
    }
}

async fn until(
    cancelled: impl Future<Output = ()>,
    told: impl Future<Output = Result<(), Failure>>,
) -> Result<(), Failure> {
    tokio::select! {
        () = cancelled => Ok(()),
        told = told => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_changes_with_its_file_and_may_with_the_manifest() {
        let state = |paths: &[&str]| WatchWorkspaceResponse {
            changed_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            ..Default::default()
        };
        let (certain, possible) = (Some(Change::Certain), Some(Change::Possible));
        for (uri, paths, changed) in [
            ("workspace://home/AGENTS.md", &["AGENTS.md"][..], certain),
            ("workspace://home/AGENTS.md", &["SOUL.md"], None),
            ("workspace://home/AGENTS.md", &["docs/AGENTS.md"], None),
            ("workspace://home/AGENTS.md", &["workspace.yaml"], possible),
            ("workspace://home/workspace.yaml", &["workspace.yaml"], certain),
            ("workspace://other/AGENTS.md", &["AGENTS.md", "workspace.yaml"], None),
            ("skill://home/pdf/SKILL.md", &["skills/office/folder/SKILL.md"], possible),
            ("skill://home/pdf/SKILL.md", &["@shared/pdf/SKILL.md"], possible),
            ("skill://home/pdf/SKILL.md", &["workspace.yaml"], possible),
            ("skill://home/pdf/a.md", &["AGENTS.md", "notes/a.md", "skillset/a.md"], None),
            ("workspace://home/AGENTS.md", &["@layers/org/AGENTS.md"], possible),
            ("skill://home/pdf/SKILL.md", &["@layers/@1"], possible),
            ("skill://home/pdf/SKILL.md", &[], possible),
            ("workspace://other/AGENTS.md", &[], None),
        ] {
            assert_eq!(change(uri, "home", &state(paths)), changed, "{uri} {paths:?}");
        }
        let deleted = WatchWorkspaceResponse { deleted: true, ..Default::default() };
        assert_eq!(change("workspace://home/AGENTS.md", "home", &deleted), possible);
    }

    #[test]
    fn subscriptions_are_bounded() {
        let uris = |count: usize| (0..count).map(|n| format!("workspace://home/{n}.md")).collect::<Vec<_>>();
        let of = |uris: Vec<String>| accepted(&SubscriptionFilter::builder().resource_subscriptions(uris).build());
        assert_eq!(of(uris(MAX_SUBSCRIBED)).resource_subscriptions.map(|uris| uris.len()), Some(MAX_SUBSCRIBED));
        assert_eq!(of(uris(MAX_SUBSCRIBED + 1)).resource_subscriptions, Some(uris(MAX_SUBSCRIBED)));
        let one = "workspace://home/AGENTS.md".to_owned();
        let mixed = of(vec!["file:///etc/passwd".into(), one.clone(), one.clone()]);
        let often = SubscriptionFilter::builder().resource_subscriptions(vec![one.clone(); MAX_SUBSCRIBED + 1]).build();
        assert_eq!(often.intersection(&accepted(&often)), SubscriptionFilter::new());
        assert_eq!(mixed.resource_subscriptions, Some(vec![one]));
        assert_eq!(of(vec!["file:///etc/passwd".into()]).resource_subscriptions, None);
    }
}
