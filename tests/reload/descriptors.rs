//! A moment without file descriptors.

use std::{
    fs::{self, File},
    io::Write as _,
    sync::Arc,
};

use promptd_core::finding::Finding;
use promptd_source::{
    Contents, FileSet, Options,
    store::{Loaded, State},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{sync::watch::Receiver, time::timeout};

use crate::{
    child::isolated,
    service::{NEVER, Service, options, wait_until, waiting},
};

const FEW: u64 = 128;

/// Every descriptor that the process may still open.
struct Exhausted(Vec<File>);

impl Exhausted {
    fn new() -> Self {
        let limit = Rlimit { current: Some(FEW), ..getrlimit(Resource::Nofile) };
        setrlimit(Resource::Nofile, limit).unwrap();
        let mut all = Self(Vec::new());
        all.fill();
        all
    }

    /// Takes what another thread has closed meanwhile.
    fn fill(&mut self) {
        self.0.extend(std::iter::from_fn(|| File::open("/dev/null").ok()));
    }
}

/// A workspace, a profile and a file of tokens that are followed.
struct Followed {
    _folder: tempfile::TempDir,
    service: Service,
    tokens: Receiver<Arc<Contents>>,
    /// AGENTS.md, the profile and the tokens, open for writing.
    files: [File; 3],
}

impl Followed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, profiles) = (folder.path().join("root"), folder.path().join("profiles"));
        fs::create_dir_all(root.join("ws")).unwrap();
        fs::create_dir_all(&profiles).unwrap();
        let paths = [root.join("ws/AGENTS.md"), profiles.join("mine.yaml"), folder.path().join("tokens")];
        let texts = ["One.", "extends: five-layer\ndescription: One.\n", "one"];
        let files = std::array::from_fn(|i| {
            fs::write(&paths[i], texts[i]).unwrap();
            File::options().write(true).open(&paths[i]).unwrap()
        });
        let service = Service::start(Options { profiles: Some(profiles), ..options(&root) });
        let tokens = service.source.follow(FileSet::Paths(vec![paths[2].clone()]));
        Self { _folder: folder, service, tokens, files }
    }

    fn edit(&mut self) {
        let texts = ["Two.", "extends: five-layer\ndescription: Two.\n", "two"];
        for (file, text) in self.files.iter_mut().zip(texts) {
            file.set_len(0).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
    }

    fn loaded(&self) -> Arc<Loaded> {
        match self.service.store.get("ws").as_deref() {
            Some(State::Ready(loaded)) => Arc::clone(loaded),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until each of the three reports that it cannot be read.
    fn wait_for_failures(&self, mut between: impl FnMut()) {
        let reported = || {
            [
                ("the tokens", self.tokens.borrow().values().any(Result::is_err)),
                ("the workspace", self.loaded().snapshot.active.iter().any(Finding::is_error)),
                ("the profiles", self.service.source.status().problems().iter().any(|p| p.contains("profile"))),
            ]
        };
        let look = || {
            between();
            reported()
        };
        wait_until("reported", look, |reported| reported.iter().all(|(_, is_reported)| *is_reported));
    }

    /// Waits until each of the three is served as it was edited.
    fn wait_for_edits(mut self) {
        let edited = |now: &Arc<Contents>| now.values().all(|bytes| bytes.as_deref() == Ok(b"two"));
        let served = waiting().block_on(async { timeout(NEVER, self.tokens.wait_for(edited)).await.is_ok() });
        assert!(served, "{:?}", self.tokens.borrow());
        self.service.wait("ws", "as edited", |state| {
            matches!(state, State::Ready(loaded) if loaded.snapshot.active.is_empty()
                && loaded.snapshot.documents.get("AGENTS.md").is_some_and(|agents| &*agents.text == "Two.")
                && loaded.snapshot.profiles.get("mine").is_some_and(|profile| &*profile.description == "Two."))
        });
        wait_until("without problems", || self.service.source.status().problems(), |problems| problems.is_empty());
    }
}

/// What is followed, after each of it has reported that it cannot be read, since there is no descriptor left.
fn without_descriptors() -> (Followed, Exhausted) {
    let followed = Followed::new();
    let mut all = Exhausted::new();
    followed.service.source.rescan();
    followed.wait_for_failures(|| all.fill());
    (followed, all)
}

#[test]
fn what_was_edited_without_descriptors_is_served_once_there_are_some() {
    isolated("descriptors::what_was_edited_without_descriptors_is_served_once_there_are_some", || {
        let (mut followed, all) = without_descriptors();
        let kept = followed.service.source.profiles().get("mine").map(|profile| String::from(&*profile.description));
        assert_eq!(kept.as_deref(), Some("One."));
        followed.edit();
        drop(all);
        followed.wait_for_edits();
    });
}

/// A load needs two: its folder and the file. With one left nothing can be read, and that is said.
#[test]
fn a_single_descriptor_that_is_left_hides_no_failure() {
    isolated("descriptors::a_single_descriptor_that_is_left_hides_no_failure", || {
        let (mut followed, mut all) = without_descriptors();
        all.0.pop();
        let status = followed.service.source.status();
        let retries = status.retries.get();
        for _ in 0..2 {
            let before = status.loads.get();
            followed.service.source.rescan();
            wait_until("loaded again", || status.loads.get(), |loads| *loads >= before + 3);
        }
        assert_eq!(status.retries.get(), retries, "a load that failed was thrown away");
        followed.edit();
        drop(all);
        followed.wait_for_edits();
    });
}
