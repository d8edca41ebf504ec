//! Files and watchers: the only code that touches them.
//!
//! [`Source::start`] loads every workspace and publishes it to the [`Store`]; from then on one thread picks up edits.
//! File events are hints that something may have changed, never more: see [`events`]. What counts is the trace of a
//! load, which is the list of everything it read; what the trace no longer matches is loaded again, whole, and swapped
//! in whole. A sweep looks at all traces now and then, for what no event told.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod events;
mod load;
mod options;
mod reload;
mod status;
pub mod store;

pub use load::{
    files::{Contents, FileSet, read as read_files},
    skill_file::read_skill_file,
};
pub use options::{Options, WatchMode};
pub use status::{LAG_BUCKETS, Mode, Status};

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread::JoinHandle,
};

use arc_swap::ArcSwap;
use tokio::sync::watch;

use self::{
    events::{HintSender, OpenFeed, system_feed},
    load::{files, profiles, tree::RealTree},
    reload::{
        Message, Reload,
        target::{self, Item, Sink, What},
    },
    store::Store,
};
use promptd_core::{finding::Finding, id::Id, profile::ProfileSet, prompt::Prepared, settings::Settings};

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
    /// Loads everything, publishes it to `store`, and begins to pick up edits. When it returns, every workspace that
    /// is there is served. Blocks; the error case is that profiles are invalid and were never good.
    pub fn start(options: Options, store: Arc<Store>) -> Result<Self, Vec<Finding>> {
        Self::start_with(options, store, Box::new(system_feed))
    }

    /// The same with events from elsewhere: tests lose them on purpose.
    pub fn start_with(options: Options, store: Arc<Store>, open_feed: OpenFeed) -> Result<Self, Vec<Finding>> {
        let (inbox, messages) = mpsc::channel();
        let status = Arc::new(Status::default());
        let profiles = Arc::new(ArcSwap::from_pointee(first_profiles(&options)?));
        let feed = match options.watch {
            WatchMode::Poll => Err(None),
            WatchMode::Auto | WatchMode::Events => open_feed(HintSender(inbox.clone())).map_err(Some),
        };
        if let Err(Some(error)) = feed {
            status.watch_failed(error);
        }
        let items = followed(&options);
        let mut reload = Reload::new(options, store, Arc::clone(&status), Arc::clone(&profiles), feed, messages);
        for item in items {
            reload.add(item);
        }
        reload.load_first();
        let thread = std::thread::Builder::new().name("source".into()).spawn(move || reload.run());
        let thread = thread
            .inspect_err(|error| tracing::error!(target: LOG_TARGET, "edits are not picked up: no thread: {error}"))
            .ok();
        Ok(Self { inbox, thread, status, profiles })
    }

    /// How it is doing.
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

    /// Follows other files. The receiver has what is there now, and then what is there after each change; a file that
    /// is being saved is waited for.
    #[must_use]
    pub fn follow(&self, set: FileSet) -> watch::Receiver<Arc<Contents>> {
        let (sender, receiver) = watch::channel(Arc::new(files::read(&set)));
        let item = Item::new(What::Files(set, Sink::Receivers(sender)));
        let _ = self.inbox.send(Message::Follow(Box::new(item)));
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

/// Loads one workspace once, without watching anything: what `render` and `check` use. The error case has at least
/// one error finding.
pub fn load_once(
    id: &Id,
    path: &Path,
    options: &Options,
    profiles: &Arc<ProfileSet>,
) -> Result<Prepared, Vec<Finding>> {
    target::load_once(id, path, options, profiles).map(Prepared::from)
}

/// A folder of files as loading sees it: what [`load_once`] reads from, under a root of the caller's choice. Links may
/// lead to `allowed_link_targets` besides.
pub fn open_tree(
    path: &Path,
    allowed_link_targets: &[PathBuf],
) -> Result<impl promptd_core::workspace::Tree + use<>, promptd_core::workspace::ReadError> {
    RealTree::open(path, allowed_link_targets).map_err(|(error, _)| error)
}

/// The profiles at the start: those built in, and those of the operator's folder.
pub fn first_profiles(options: &Options) -> Result<ProfileSet, Vec<Finding>> {
    profiles::load_first(options)
}

fn followed(options: &Options) -> Vec<Item> {
    let profiles = options.profiles.iter().map(|path| What::Files(profiles::folder(path), Sink::Profiles));
    let single = options.workspaces.iter().map(|(id, path)| What::Workspace {
        id: id.clone(),
        path: path.clone(),
        listed: false,
    });
    let roots = options.roots.iter().cloned().map(What::Root);
    profiles.chain(single).chain(roots).map(Item::new).collect()
}
