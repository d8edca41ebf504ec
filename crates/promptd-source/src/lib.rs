//! Files and watchers: the only code that touches them.
//!
//! [`Source::start`] loads every workspace and publishes it to the [`Store`]; from then on one thread picks up edits.
//! File events are hints that something may have changed, never more: see [`events`]. What counts is the read set of a
//! load, which is the list of everything it read; where the disk no longer matches it, the target is loaded again, whole,
//! and swapped in whole. A sweep compares all read sets now and then, for what no event reported.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![warn(unreachable_pub)]

mod clock;
mod disk;
pub mod events;
mod external;
#[cfg(feature = "faults")]
pub mod faults;
mod load;
mod options;
mod reload;
mod status;
pub mod store;
#[cfg(test)]
mod testing;

pub use external::{External, ExternalWorkspace, is_folder};
pub use load::{
    files::{Contents, FileSet, read as read_files},
    older_files::{OlderFile, read_older_files},
    profiles::load_first as first_profiles,
    served_file::{read_file_beside, read_workspace_file},
    workspace::layer_folders,
};
pub use options::{Options, WatchMode};
pub use status::{Mode, Status};

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread::JoinHandle,
};

use arc_swap::ArcSwap;
use promptd_core::{
    finding::Finding,
    id::Id,
    profile::ProfileSet,
    prompt::Prepared,
    settings::Settings,
    workspace::{ReadError, Tree},
};
use tokio::sync::watch;

use self::{
    events::{EventSender, OpenWatcher},
    load::{profiles, tree::DiskTree, workspace},
    reload::{Kind, Message, Publisher, Reload},
    store::Store,
};

/// What the log lines of this crate are filtered by, as in `log.level: info,promptd::source=debug`.
const LOG_TARGET: &str = "promptd::source";

/// The running source; dropping it stops it.
pub struct Source {
    inbox: Sender<Message>,
    thread: Option<JoinHandle<()>>,
    status: Arc<Status>,
    profiles: Arc<ArcSwap<ProfileSet>>,
}

impl Source {
    /// Loads everything, publishes it to `store`, and begins to pick up edits; `status` shows how that is going, also
    /// meanwhile. When it returns, every workspace that exists is served. Blocks; fails where profiles are invalid.
    pub fn start(options: Options, store: Arc<Store>, status: Arc<Status>) -> Result<Self, Vec<Finding>> {
        Self::start_with(options, store, status, Box::new(events::watch_folders))
    }

    /// The same with workspaces from elsewhere beside those in folders; of two with the same id the folder is served.
    pub fn start_beside(
        external: Arc<dyn External>,
        options: Options,
        store: Arc<Store>,
        status: Arc<Status>,
    ) -> Result<Self, Vec<Finding>> {
        Self::start_all(Some(external), options, store, status, Box::new(events::watch_folders))
    }

    /// The same with events from elsewhere, such as a test that loses them.
    pub fn start_with(
        options: Options,
        store: Arc<Store>,
        status: Arc<Status>,
        open_watcher: OpenWatcher,
    ) -> Result<Self, Vec<Finding>> {
        Self::start_all(None, options, store, status, open_watcher)
    }

    fn start_all(
        external: Option<Arc<dyn External>>,
        options: Options,
        store: Arc<Store>,
        status: Arc<Status>,
        open_watcher: OpenWatcher,
    ) -> Result<Self, Vec<Finding>> {
        let (inbox, messages) = mpsc::channel();
        let profiles = Arc::new(ArcSwap::from_pointee(first_profiles(&options)?));
        let events = inbox.clone();
        let events = EventSender::new(move |event| _ = events.send(Message::Event(event)));
        let watcher = match options.watch {
            WatchMode::Poll => Err(None),
            WatchMode::Auto | WatchMode::Events => open_watcher(events).map_err(Some),
        };
        if let Err(Some(error)) = watcher {
            status.watch_failed(error);
        }
        let wanted = inbox.clone();
        store.set_loader(move |id| _ = wanted.send(Message::Wanted(id.clone())));
        let followed = followed(&options, external.is_some());
        let publisher = Publisher::new(options, store, Arc::clone(&status), Arc::clone(&profiles), external);
        let mut reload = Reload::new(publisher, watcher, messages);
        for kind in followed {
            reload.follow(kind);
        }
        reload.start();
        let thread = std::thread::Builder::new().name("source".into()).spawn(move || reload.run());
        let thread = thread
            .inspect_err(|error| tracing::error!(target: LOG_TARGET, "edits are not picked up: no thread: {error}"))
            .ok();
        Ok(Self { inbox, thread, status, profiles })
    }

    /// How watching and reloading are doing.
    #[must_use]
    pub fn status(&self) -> &Arc<Status> {
        &self.status
    }

    /// The profiles in use.
    #[must_use]
    pub fn profiles(&self) -> Arc<ProfileSet> {
        self.profiles.load_full()
    }

    /// Loads everything again with new settings.
    pub fn set_settings(&self, settings: Settings) {
        let _ = self.inbox.send(Message::Settings(Arc::new(settings)));
    }

    /// Looks at everything again, whatever events say.
    pub fn rescan(&self) {
        let _ = self.inbox.send(Message::Rescan);
    }

    /// Loads these workspaces of [`External`] again.
    pub fn changed(&self, ids: Vec<Id>) {
        let _ = self.inbox.send(Message::Changed(ids));
    }

    /// Follows other files. The receiver has their contents now, and then after each change; a file that is being saved
    /// is waited for.
    #[must_use]
    pub fn follow(&self, set: FileSet) -> watch::Receiver<Arc<Contents>> {
        let (sender, receiver) = watch::channel(Arc::new(read_files(&set)));
        let _ = self.inbox.send(Message::Follow(Box::new(Kind::Files(set, sender))));
        receiver
    }

    /// Stops, and waits for it.
    pub fn stop(mut self) {
        let _ = self.inbox.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = self.inbox.send(Message::Stop);
    }
}

/// Loads one workspace once, without watching anything; fails with at least one error finding.
pub fn load_once(
    id: &Id,
    path: &Path,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Prepared, Vec<Finding>> {
    load_once_as(id, &path.to_string_lossy(), path, options, profiles)
}

/// The same for files that are not where the workspace is: prompts show `root` as its path.
pub fn load_once_as(
    id: &Id,
    root: &str,
    path: &Path,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Prepared, Vec<Finding>> {
    workspace::load_once(id, root, path, options, profiles).map(Prepared::from)
}

/// The same for a workspace that is not a folder, with layers from where the service has them.
pub fn load_external_once(
    id: &Id,
    external: &dyn External,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Prepared, Vec<Finding>> {
    workspace::load_external_once(id, external, options, profiles).map(Prepared::from)
}

/// A folder of files as [`load_once`] reads it. Links may lead inside it and to `allowed_link_targets`.
pub fn open_tree(path: &Path, allowed_link_targets: &[PathBuf]) -> Result<impl Tree + use<>, ReadError> {
    DiskTree::open(path, allowed_link_targets).map_err(|(error, _)| error)
}

fn followed(options: &Options, has_external: bool) -> Vec<Kind> {
    let profiles = options.profiles.iter().map(|path| Kind::Profiles(profiles::folder(path)));
    let single = options.workspaces.iter();
    let single = single.map(|(id, path)| Kind::Workspace { id: id.clone(), path: path.clone(), listed: false });
    let roots = options.roots.iter().cloned().map(Kind::Root);
    let external = has_external.then_some(Kind::Externals);
    profiles.chain(single).chain(roots).chain(external).collect()
}
