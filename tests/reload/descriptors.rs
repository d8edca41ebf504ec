//! A moment without file descriptors.

use std::{
    fs::{self, File},
    sync::Arc,
};

use promptd_core::finding::Finding;
use promptd_source::{Contents, FileSet, Options, store::State};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{sync::watch::Receiver, time::timeout};

use crate::{
    child::isolated,
    service::{NEVER, Service, options, waiting},
};

const FEW: u64 = 128;

/// Opens files until there are no more descriptors.
fn exhaust() -> Vec<File> {
    let limit = Rlimit { current: Some(FEW), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

fn wait_for(tokens: &mut Receiver<Arc<Contents>>, wanted: impl Fn(&Contents) -> bool) {
    let runtime = waiting();
    let found = runtime.block_on(async { timeout(NEVER, tokens.wait_for(|now| wanted(now))).await.is_ok() });
    assert!(found, "{:?}", tokens.borrow());
}

#[test]
fn what_was_edited_without_descriptors_is_served_once_there_are_some() {
    isolated("descriptors::what_was_edited_without_descriptors_is_served_once_there_are_some", || {
        let folder = tempfile::tempdir().unwrap();
        let (root, profiles, file) =
            (folder.path().join("root"), folder.path().join("profiles"), folder.path().join("tokens"));
        fs::create_dir_all(root.join("ws")).unwrap();
        fs::create_dir_all(&profiles).unwrap();
        let agents = root.join("ws/AGENTS.md");
        let profile = profiles.join("mine.yaml");
        fs::write(&agents, "One.").unwrap();
        fs::write(&profile, "extends: five-layer\ndescription: One.\n").unwrap();
        fs::write(&file, "one").unwrap();
        let service = Service::start(Options { profiles: Some(profiles), ..options(&root) });
        let mut tokens = service.source.follow(FileSet::Paths(vec![file.clone()]));
        let runtime = waiting();

        // What the edits are written by is opened before there are none left.
        let write = |path: &std::path::Path| File::options().write(true).truncate(false).open(path).unwrap();
        let (mut agents, mut profile, mut file) = (write(&agents), write(&profile), write(&file));
        let all = exhaust();
        let edit = |file: &mut File, text: &str| {
            use std::io::Write as _;
            file.set_len(0).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        edit(&mut agents, "Two.");
        edit(&mut profile, "extends: five-layer\ndescription: Two.\n");
        edit(&mut file, "two");
        drop((agents, profile, file));
        let refill: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        service.source.rescan();
        // Each of them reports it.
        wait_for(&mut tokens, |now| now.values().any(Result::is_err));
        let ws = |wanted: fn(&State) -> bool| {
            let mut states = service.store.watch("ws").unwrap();
            let found =
                runtime.block_on(async { timeout(NEVER, states.wait_for(|state| wanted(state))).await.is_ok() });
            assert!(found, "{:?}", states.borrow());
        };
        ws(|state| matches!(state, State::Ready(loaded) if loaded.snapshot.active.iter().any(Finding::is_error)));
        let began = std::time::Instant::now();
        while !service.source.status().problems().iter().any(|problem| problem.contains("profile")) {
            assert!(began.elapsed() < NEVER, "the profiles are not reported");
            std::thread::yield_now();
        }
        let kept = service.source.profiles().get("mine").map(|profile| String::from(&*profile.description));
        assert_eq!(kept.as_deref(), Some("One."));

        drop((all, refill));
        wait_for(&mut tokens, |now| now.values().all(|bytes| bytes.as_deref() == Ok(b"two")));
        ws(|state| {
            matches!(state, State::Ready(loaded) if loaded.snapshot.active.is_empty()
                && loaded.snapshot.documents.get("AGENTS.md").is_some_and(|agents| &*agents.text == "Two.")
                && loaded.snapshot.profiles.get("mine").is_some_and(|profile| &*profile.description == "Two."))
        });
        assert!(service.source.status().problems().is_empty(), "{:?}", service.source.status().problems());
    });
}
