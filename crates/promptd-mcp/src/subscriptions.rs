//! Telling clients that resources have changed.

use std::{
    collections::HashSet,
    future::Future,
    sync::{Mutex, PoisonError},
};

use promptd_contract::proto::WatchWorkspaceResponse;
use promptd_core::workspace::{MANIFEST, SHARED_FOLDER, SKILLS_FOLDER};
use rmcp::{
    Peer, RoleServer,
    model::{ResourceUpdatedNotificationParam, SubscriptionFilter},
    service::SubscriptionContext,
};

use crate::{Failure, address::Address, client::Client};

/// The most resources that one subscription is for.
pub const MAX_SUBSCRIBED: usize = 256;

/// What a client of the revision 2026-07-28 is told of, of what it asked for. Of too many resources it is told of none, which
/// the answer says.
pub(crate) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    let uris = requested.resource_subscriptions.iter().flatten();
    let known: HashSet<_> = uris.clone().take(MAX_SUBSCRIBED + 1).filter(|uri| Address::parse(uri).is_some()).collect();
    if requested.resource_subscriptions.as_ref().is_some_and(|uris| uris.len() <= MAX_SUBSCRIBED) && !known.is_empty() {
        accepted.resource_subscriptions = Some(known.into_iter().cloned().collect());
    }
    accepted
}

/// Tells a client of changes until it leaves, or the server or the workspace does.
pub(crate) async fn listen(client: &Client, context: &SubscriptionContext) -> Result<(), Failure> {
    let (sink, accepted) = (context.sink(), context.accepted());
    let told = async {
        let id = client.workspace().await?;
        let mut watch = client.watch(&id).await?;
        while let Some(state) = watch.next().await? {
            let uris = accepted.resource_subscriptions.iter().flatten();
            for uri in uris.filter(|uri| is_changed(uri, &id, &state)) {
                if sink.notify_resource_updated(uri).await.is_err() {
                    return Ok(());
                }
            }
            if accepted.resources_list_changed == Some(true) && sink.notify_resource_list_changed().await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    };
    until(context.cancelled(), told).await
}

/// The resources that a client on standard input and output subscribed to, by the revision 2025-11-25.
#[derive(Default)]
pub(crate) struct Subscribed(Mutex<HashSet<String>>);

impl Subscribed {
    pub(crate) fn add(&self, uri: String) -> Result<(), Failure> {
        let mut uris = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uris.len() == MAX_SUBSCRIBED && !uris.contains(&uri) {
            return Err(Failure::invalid(format!("at most {MAX_SUBSCRIBED} resources can be subscribed to at once")));
        }
        uris.insert(uri);
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }

    fn changed(&self, workspace: &str, state: &WatchWorkspaceResponse) -> Vec<String> {
        let uris = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        uris.iter().filter(|uri| is_changed(uri, workspace, state)).cloned().collect()
    }

    /// Tells the client of changes until it leaves.
    pub(crate) async fn tell(&self, client: &Client, peer: &Peer<RoleServer>) -> Result<(), Failure> {
        let id = client.workspace().await?;
        let mut watch = client.watch(&id).await?;
        while let Some(state) = watch.next().await? {
            for uri in self.changed(&id, &state) {
                if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                    return Ok(());
                }
            }
            if peer.notify_resource_list_changed().await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Whether a resource may be another one since the state before. The manifest decides what can be read at all.
fn is_changed(uri: &str, workspace: &str, state: &WatchWorkspaceResponse) -> bool {
    let Some(address) = Address::parse(uri).filter(|address| address.workspace() == workspace) else { return false };
    let mut paths = state.changed_paths.iter();
    state.deleted
        || paths.any(|changed| {
            changed == MANIFEST
                || match &address {
                    Address::Document { path, .. } => changed == path,
                    Address::Skill { path, .. } => is_of_a_skill(changed, path),
                }
        })
}

/// Whether a changed path may be that of a skill's file. The folder that a skill lies in need not have its name, so that a
/// file of another skill at the same place counts too.
fn is_of_a_skill(changed: &str, path: &str) -> bool {
    let in_skills = [SKILLS_FOLDER, SHARED_FOLDER]
        .iter()
        .any(|folder| changed.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
    in_skills && changed.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'))
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
    fn a_resource_changes_with_its_file_and_the_manifest() {
        let state = |paths: &[&str]| WatchWorkspaceResponse {
            changed_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            ..Default::default()
        };
        for (uri, paths, changed) in [
            ("workspace://home/AGENTS.md", &["AGENTS.md"][..], true),
            ("workspace://home/AGENTS.md", &["SOUL.md"], false),
            ("workspace://home/AGENTS.md", &["docs/AGENTS.md"], false),
            ("workspace://home/AGENTS.md", &["workspace.yaml"], true),
            ("workspace://other/AGENTS.md", &["AGENTS.md", "workspace.yaml"], false),
            ("skill://home/pdf/SKILL.md", &["skills/office/pdf/SKILL.md"], true),
            ("skill://home/pdf/SKILL.md", &["@shared/pdf/SKILL.md"], true),
            ("skill://home/pdf/a.md", &["skills/pdf/SKILL.md", "notes/a.md"], false),
            ("skill://home/pdf/SKILL.md", &[], false),
        ] {
            assert_eq!(is_changed(uri, "home", &state(paths)), changed, "{uri} {paths:?}");
        }
        let deleted = WatchWorkspaceResponse { deleted: true, ..Default::default() };
        assert!(is_changed("workspace://home/AGENTS.md", "home", &deleted));
    }

    #[test]
    fn subscriptions_are_bounded() {
        let uris = |count: usize| (0..count).map(|n| format!("workspace://home/{n}.md")).collect::<Vec<_>>();
        let of = |uris: Vec<String>| accepted(&SubscriptionFilter::builder().resource_subscriptions(uris).build());
        assert_eq!(of(uris(MAX_SUBSCRIBED)).resource_subscriptions.map(|uris| uris.len()), Some(MAX_SUBSCRIBED));
        assert_eq!(of(uris(MAX_SUBSCRIBED + 1)).resource_subscriptions, None);
        let one = "workspace://home/AGENTS.md".to_owned();
        let mixed = of(vec!["file:///etc/passwd".into(), one.clone(), one.clone()]);
        assert_eq!(mixed.resource_subscriptions, Some(vec![one]));

        let subscribed = Subscribed::default();
        for uri in uris(MAX_SUBSCRIBED) {
            subscribed.add(uri).unwrap();
        }
        subscribed.add("workspace://home/0.md".into()).unwrap();
        assert!(subscribed.add("workspace://home/x.md".into()).unwrap_err().message.contains("256"));
        subscribed.remove("workspace://home/0.md");
        subscribed.add("workspace://home/x.md".into()).unwrap();
    }
}
